/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User queues: MQD, HQD slot, doorbell, VMID; create, update, destroy, evict.
 * Queues are loaded straight into HQDs.
 */
#ifndef VKFD_QUEUE_H
#define VKFD_QUEUE_H

#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct file;
struct vkfd_device;
struct vkfd_pdd;
struct vkfd_process;
struct vkfd_vm_fault_info;

#define VKFD_MAX_QUEUES_PER_PROCESS	1024

/**
 * struct vkfd_process_queues - embedded in struct vkfd_process
 * @xa: queue id -> struct vkfd_queue, process->lock; ids from 0
 * @fault_work: evicts the queues of the process after a fault
 */
struct vkfd_process_queues {
	struct xarray xa;
	struct work_struct fault_work;
};

void vkfd_queues_init(struct vkfd_process *p);
/* Takes every queue off the hardware and frees it. Process is dying; may sleep. */
void vkfd_queues_fini(struct vkfd_process *p);

/*
 * Takes the queues of @pdd off the hardware / puts them back; nests. Caller holds
 * process->lock.
 */
int vkfd_queues_evict(struct vkfd_pdd *pdd);
int vkfd_queues_restore(struct vkfd_pdd *pdd);

/* From the IH path, hard irq context: one log line, MEMORY/HW_EXCEPTION events, eviction by work. */
void vkfd_queue_vm_fault(struct vkfd_device *dev, u32 pasid,
			 const struct vkfd_vm_fault_info *info);
void vkfd_queue_bad_opcode(struct vkfd_device *dev, u32 pasid, u32 source_id,
			   u8 ring_id, u32 ctx0);

int vkfd_ioctl_create_queue(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_destroy_queue(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_update_queue(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_cu_mask(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_QUEUE_H */
