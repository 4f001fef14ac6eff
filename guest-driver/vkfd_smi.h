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

int vkfd_ioctl_smi_events(struct file *filep, struct vkfd_process *p, void *data);

/* Any context but hard interrupt. */
void vkfd_smi_vm_fault(struct vkfd_device *dev, struct vkfd_process *p);
/* @trigger: enum KFD_QUEUE_EVICTION_TRIGGERS */
void vkfd_smi_eviction(struct vkfd_device *dev, struct vkfd_process *p, int trigger);
void vkfd_smi_restore(struct vkfd_device *dev, struct vkfd_process *p);
/* It was tried and will be tried again. */
void vkfd_smi_restore_later(struct vkfd_device *dev, struct vkfd_process *p);
void vkfd_smi_reset(struct vkfd_device *dev, bool done, const char *cause);

#endif /* VKFD_SMI_H */
