/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A KFD process: one per mm, shared by every open of /dev/kfd in it.
 */
#ifndef VKFD_PROCESS_H
#define VKFD_PROCESS_H

#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vkfd_device.h"
#include "vkfd_event.h"
#include "vkfd_queue.h"

struct vkfd_vm;
struct vkfd_bo;

/**
 * struct vkfd_pdd - a process on one GPU
 * @drm_file: render-node file given to ACQUIRE_VM (reference held), NULL before
 * @vm: its VM, valid while @drm_file is
 * @bos: idr handle -> struct vkfd_bo (one reference each); XA_FLAGS_ALLOC1
 * @slice: doorbell slice, -1 until the first queue on this GPU
 * @vmid: VMID, -1 while the process has no active queue here
 * @queue_count: queues created on this GPU
 * @evicted: > 0 while queues must stay off the hardware
 * All fields: process->lock.
 */
struct vkfd_pdd {
	struct vkfd_process *process;
	struct vkfd_device *dev;
	struct file *drm_file;
	struct vkfd_vm *vm;
	struct xarray bos;
	int slice;
	int vmid;
	unsigned int queue_count;
	unsigned int evicted;
};

/**
 * struct vkfd_process
 * @ref: references; the last put defers to @release_work, so it may happen in any context
 * @mm: identity only, no reference beyond what @mn holds
 * @mn: tells when the mm dies
 * @pasid: 1..65535, unique while the structure lives
 * @lock: see vkfd_device.h
 * @pdds: by GPU index, created when the process first meets the GPU
 * @events: events of the process, see vkfd_event.h
 * @queues: queues by id, see vkfd_queue.h
 */
struct vkfd_process {
	struct kref ref;
	struct rcu_head rcu;
	struct work_struct release_work;
	struct mm_struct *mm;
	struct mmu_notifier mn;
	struct task_struct *lead_thread;
	pid_t tgid;
	u32 pasid;
	struct mutex lock;
	struct vkfd_pdd *pdds[VKFD_MAX_GPUS];
	struct vkfd_events events;
	struct vkfd_process_queues queues;
};

/* Each ioctl handler: called with no lock held; @data is the kernel copy, copied back whatever is returned. */
typedef int (*vkfd_ioctl_fn)(struct file *filep, struct vkfd_process *p, void *data);

/* Process of @pasid with a reference, or NULL. Any context incl. hard irq. */
struct vkfd_process *vkfd_process_get_by_pasid(u32 pasid);
/* Any context. */
void vkfd_process_put(struct vkfd_process *p);

/* Caller holds p->lock. ERR_PTR(-EINVAL): no such GPU; ERR_PTR(-ENOMEM). */
struct vkfd_pdd *vkfd_process_get_pdd(struct vkfd_process *p, u32 gpu_id);

#endif /* VKFD_PROCESS_H */
