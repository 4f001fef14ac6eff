/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User queues: MQD, doorbell, slot; create, update, destroy, evict. A queue has its
 * doorbell and MQD from creation to destruction; what else it holds depends on who
 * schedules (vkfd_sched.h). docs/queues.md has the whole life of one.
 */
#ifndef VKFD_QUEUE_H
#define VKFD_QUEUE_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vkfd_event.h"

struct file;
struct vkfd_device;
struct vkfd_pdd;
struct vkfd_process;

#define VKFD_MAX_QUEUES_PER_PROCESS	1024
#define VKFD_QUEUE_MAX_GPUS		8	/* VKFD_MAX_GPUS, which this header cannot see */

/**
 * struct vkfd_process_queues - embedded in struct vkfd_process
 * @lock: which queues are on the hardware: vkfd_pdd.evicted, and of struct vkfd_queue
 *        @loaded and, while that is set, @mqd. Taken by MMU notifiers, so no memory is
 *        allocated under it
 * @xa: queue id -> struct vkfd_queue; changed under process->lock, removals also under
 *      @lock, either of which serves to walk it; also read under RCU by the interrupt
 *      path; ids from 0
 * @gpus: bit per GPU index: the process has had a queue there
 * @lost: bit per GPU index: a queue there does not stop, so the VMID is not given to
 *        anybody else; process->lock
 * @noted: bit per event type without payload: the hardware sent one, nobody has acted on it
 * @fault_lock: @noted, @faulted, @fault, and the bad-packet note of each queue. irqsave;
 *              taken under ih->lock, nothing is taken under it
 * @faulted: bit per GPU index: @fault holds a VM fault nobody has acted on yet
 * @fault: the first of them
 * @fault_evicted: bit per GPU index: evicted for good after a VM fault; process->lock
 * @fault_work: acts on faults and bad packets; holds a reference to the process
 */
struct vkfd_process_queues {
	struct mutex lock;
	struct xarray xa;
	unsigned long gpus;
	unsigned long lost;
	spinlock_t fault_lock;
	unsigned long noted;
	unsigned long faulted;
	struct vkfd_vm_fault_info fault[VKFD_QUEUE_MAX_GPUS];
	unsigned long fault_evicted;
	struct work_struct fault_work;
};

/*
 * Module init and exit. Init before the first process can open the device; exit
 * after the last process is gone: waits for fault work that is just returning.
 */
int vkfd_queue_module_init(void);
void vkfd_queue_module_exit(void);

void vkfd_queues_init(struct vkfd_process *p);
/*
 * Takes every queue off the hardware and frees it. Process is dying; may sleep; takes
 * process->lock.
 */
void vkfd_queues_fini(struct vkfd_process *p);

/*
 * Takes the queues of @pdd off the hardware / puts them back; nests. Caller of restore holds
 * process->lock. Both take queues.lock, go through all queues and return the first error. -ETIME
 * (evict): one did not stop by itself and was reset, or lost its VMID; -ENODEV
 * (restore): the GPU is gone.
 */
int vkfd_queues_evict(struct vkfd_pdd *pdd);
int vkfd_queues_restore(struct vkfd_pdd *pdd);

/*
 * The part has been reset, or is dead, and is away: the queues of @pdd are no more,
 * though their ids and memory stay until they are destroyed. process->lock held.
 * Reclaim, after all processes: slots and VMIDs of queues that had not stopped are free,
 * and VMs of before are not used again. Rebind: the VMID of @pdd to its tables, after
 * the part lost its registers but no memory; process->lock held.
 */
void vkfd_queues_forget(struct vkfd_pdd *pdd);
void vkfd_queues_reclaim(struct vkfd_device *dev);
int vkfd_queues_rebind(struct vkfd_pdd *pdd);

/*
 * From the IH path, any context, ih->lock held: notes the fault; work then takes the
 * queues of the process on @dev (VM fault), or the one queue (bad packet), off the
 * hardware, logs one line and signals MEMORY or HW_EXCEPTION events.
 * @source_id, @ring_id, @ctx0: of the interrupt entry (vkfd/ih.h); @ring_id is
 * VKFD_RING_ID_NONE if that does not name a compute slot
 */
#define VKFD_RING_ID_NONE		0xff
/* The source of an SDMA queue that wrote a register it may not. */
#define VKFD_SRCID_SDMA_SRBM_WRITE	247

void vkfd_queue_vm_fault(struct vkfd_device *dev, u32 pasid,
			 const struct vkfd_vm_fault_info *info);
void vkfd_queue_bad_opcode(struct vkfd_device *dev, u32 pasid, u32 source_id,
			   u8 ring_id, u32 ctx0);

/*
 * From the IH path, as above: the hardware sent something to the process that events
 * of @type (without payload) tell of. Several before the work runs are one signal.
 */
void vkfd_queue_note(struct vkfd_device *dev, u32 pasid, u32 type);

int vkfd_ioctl_create_queue(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_destroy_queue(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_update_queue(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_cu_mask(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_QUEUE_H */
