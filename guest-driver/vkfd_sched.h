/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who decides which queue is on the hardware: scheduler firmware (vkfd_sched_runlist.c),
 * or the driver itself, which gives every queue a slot of its own (vkfd_sched_direct.c).
 * vkfd_queue.c decides which queues are to run and calls through this table.
 */
#ifndef VKFD_SCHED_H_DRIVER
#define VKFD_SCHED_H_DRIVER

#include <linux/types.h>

struct vkfd_device;
struct vkfd_pdd;
struct vkfd_queue;

/* Module parameter sched_policy, as upstream's of amdgpu. */
enum vkfd_sched_policy {
	VKFD_SCHED_HWS,				/* firmware, more queues than fit */
	VKFD_SCHED_HWS_NO_OVERSUBSCRIPTION,	/* firmware, only those that fit */
	VKFD_SCHED_NO_HWS,			/* no firmware */
};

extern int vkfd_sched_policy;

/**
 * struct vkfd_sched_ops - all with process->lock held, if not said otherwise; @load, @unload
 * and @forget with queues.lock, too, and @unload also with that alone: an MMU notifier takes
 * queues off. So nothing they do may allocate memory that has to be reclaimed, or take a
 * lock under which somebody does
 * @init: in probe: memory; it ends with the binding of the driver. -errno; may be NULL
 * @start: the part is up, without queues, and may be touched: in probe, after a reset and
 *         in resume; dev->queue_lock held, nothing else. -errno; may be NULL
 * @stop: the part is away; without process->lock. May be NULL
 * @attach: what the queue has from its creation to its end: fills in @hqd (compute) or
 *          @sdma. -EBUSY: no compute slot left; -ENOMEM: no SDMA queue left, none on the
 *          engine asked for; -EPERM: no more queues than these
 * @detach: gives that back
 * @get: makes sure that queues of @pdd can be loaded; a queue is going to be active.
 *       -ENOSPC: no VMID left; -EIO: its tables were lost in a reset; -errno
 * @put: an active queue of @pdd is gone or inactive; takes back what @get gave if it was
 *       the last
 * @load: puts on the hardware @only, or each of @pdd's if that is NULL, that is active,
 *        not stopped and not loaded yet, unless @pdd is evicted. First error; others are
 *        loaded all the same
 * @unload: takes off the hardware @only, or each of @pdd's that is loaded, and saves its
 *          state in its @mqd if @save. -ETIME: one had to be stopped by force and is
 *          stopped for good
 * @forget: the part was reset or is dead, and is away: nothing of @pdd is loaded
 * @reclaim: after @forget for all processes; without process->lock
 * @rebind: the part lost its registers and is back; nothing is loaded. -errno
 */
struct vkfd_sched_ops {
	int (*init)(struct vkfd_device *dev);
	int (*start)(struct vkfd_device *dev);
	void (*stop)(struct vkfd_device *dev);
	int (*attach)(struct vkfd_queue *q);
	void (*detach)(struct vkfd_queue *q);
	int (*get)(struct vkfd_pdd *pdd);
	void (*put)(struct vkfd_pdd *pdd);
	int (*load)(struct vkfd_pdd *pdd, struct vkfd_queue *only);
	int (*unload)(struct vkfd_pdd *pdd, struct vkfd_queue *only, bool save);
	void (*forget)(struct vkfd_pdd *pdd);
	void (*reclaim)(struct vkfd_device *dev);
	int (*rebind)(struct vkfd_pdd *pdd);
};

extern const struct vkfd_sched_ops vkfd_sched_runlist;
extern const struct vkfd_sched_ops vkfd_sched_direct;

/*
 * First number of an SDMA queue (engine: number % 2, queue there: number / 2) that is
 * not in @used and is on @engine, if that is not VKFD_SDMA_ENGINE_ANY. -ENOMEM, as
 * upstream, if there is none.
 */
int vkfd_sdma_find(const unsigned long *used, u32 engine);

#endif /* VKFD_SCHED_H_DRIVER */
