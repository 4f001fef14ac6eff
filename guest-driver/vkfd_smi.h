/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SMI events: lines of text about what happens to processes on a GPU, read from a
 * descriptor that AMDKFD_IOC_SMI_EVENTS gives.
 */
#ifndef VKFD_SMI_H
#define VKFD_SMI_H

#include <linux/types.h>

struct file;
struct vkfd_device;
struct vkfd_process;

/**
 * struct vkfd_migration - memory under the SVM interface that moves
 * @process: whose it is
 * @start, @npages: where, in pages
 * @in: into VRAM, else out of it
 * @prefetch, @preferred: locations that are set there
 * @trigger: enum KFD_MIGRATE_TRIGGERS
 */
struct vkfd_migration {
	struct vkfd_process *process;
	unsigned long start;
	unsigned long npages;
	bool in;
	u32 prefetch;
	u32 preferred;
	int trigger;
};

int vkfd_ioctl_smi_events(struct file *filep, struct vkfd_process *p, void *data);

/* Any context but hard interrupt. */
void vkfd_smi_vm_fault(struct vkfd_device *dev, struct vkfd_process *p);
/* @trigger: enum KFD_QUEUE_EVICTION_TRIGGERS */
void vkfd_smi_eviction(struct vkfd_device *dev, struct vkfd_process *p, int trigger);
void vkfd_smi_restore(struct vkfd_device *dev, struct vkfd_process *p);
/* It was tried and will be tried again. */
void vkfd_smi_restore_later(struct vkfd_device *dev, struct vkfd_process *p);
/* Before the first page moves / when no more will. */
void vkfd_smi_migrate_start(struct vkfd_device *dev, const struct vkfd_migration *m);
void vkfd_smi_migrate_end(struct vkfd_device *dev, const struct vkfd_migration *m);
/* @start and @npages as above; @trigger: enum KFD_SVM_UNMAP_TRIGGERS */
void vkfd_smi_unmap_from_gpu(struct vkfd_device *dev, struct vkfd_process *p, unsigned long start,
			     unsigned long npages, int trigger);
void vkfd_smi_reset(struct vkfd_device *dev, bool done, const char *cause);

#endif /* VKFD_SMI_H */
