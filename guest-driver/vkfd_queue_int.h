/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the queue files share: the queue, and the operations behind the ioctls.
 */
#ifndef VKFD_QUEUE_INT_H
#define VKFD_QUEUE_INT_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <drm/drm_mm.h>

#include "vkfd_device.h"
#include "vkfd_mqd.h"
#include "vkfd_process.h"
#include "vkfd_queue.h"

/* How long a queue may take to stop, as upstream's default without a scheduler. */
#define VKFD_QUEUE_STOP_MS	4050

#define VKFD_HQD_NONE		(~0u)

/**
 * struct vkfd_queue - a user queue
 * @rcu: the interrupt path finds queues under RCU
 * @pdd: process and GPU
 * @dev: the GPU, for the interrupt path
 * @id: KFD's number of it in the process
 * @doorbell_id: in the slice of @pdd
 * @hqd: compute: slot number (0..VKFD_NUM_CP_QUEUES-1), VKFD_HQD_NONE if the firmware
 *       chooses one
 * @sdma: SDMA: slot number, see vkfd_sdma_engine()
 * @doorbell_dw: dword index of its doorbell on BAR2; changes while it is off the hardware
 * @runlist: in vkfd_runlist_process.queues; dev->queue_lock
 * @mqd: image, V9_MQD_DW dwords, of which an SDMA queue uses the first V9_SDMA_MQD_DW;
 *       current while the queue is off the hardware
 * @mqd_node: page of VRAM its address points to, a copy of @mqd
 * @props: what user space asked for
 * @active: wanted on the hardware by @props
 * @loaded: is on the hardware
 * @stopped: taken off for good after a bad packet, or because it did not stop
 * @lost: did not stop even by force: the slot is not given to anybody else
 * @bad, @bad_source, @bad_ctx0: a bad packet nobody has acted on; fault_lock
 * @was_reset: it was reset, and nobody has acted on that; fault_lock
 *
 * process->lock, except for @loaded and @mqd (vkfd_process_queues.lock), and what does not
 * change: @dev, @id, @doorbell_id, @hqd, @sdma, and of @props @kind and @wptr_va.
 */
struct vkfd_queue {
	struct rcu_head rcu;
	struct vkfd_pdd *pdd;
	struct vkfd_device *dev;
	u32 id;
	u32 doorbell_id;
	unsigned int hqd;
	unsigned int sdma;
	u32 doorbell_dw;
	struct list_head runlist;
	u32 *mqd;
	struct drm_mm_node mqd_node;
	struct vkfd_queue_props props;
	bool active;
	bool loaded;
	bool stopped;
	bool lost;
	bool bad;
	u32 bad_source;
	u32 bad_ctx0;
	bool was_reset;
};

static inline bool vkfd_queue_wanted(const struct vkfd_queue_props *props)
{
	return props->ring_va && props->ring_size && props->percent;
}

/* SDMA queues are spread over the engines, as upstream numbers them. */
static inline unsigned int vkfd_sdma_engine(unsigned int sdma)
{
	return sdma % VKFD_NUM_SDMA;
}

static inline unsigned int vkfd_sdma_rlc(unsigned int sdma)
{
	return sdma / VKFD_NUM_SDMA;
}

/* For the schedulers. process->lock and queues.lock held. */
static inline bool vkfd_queue_may_load(const struct vkfd_queue *q)
{
	return q->active && !q->stopped && !q->loaded && !q->pdd->evicted &&
	       q->pdd->slice.index >= 0;
}

/* MC address of the copy of the MQD in VRAM; the copy becomes what q->mqd is, and back. */
u64 vkfd_queue_mqd_addr(const struct vkfd_queue *q);
void vkfd_queue_write_mqd(struct vkfd_queue *q);
void vkfd_queue_read_mqd(struct vkfd_queue *q);
/*
 * Puts on the hardware, or takes off it, @only or all queues of @pdd that may be there: see
 * vkfd_sched.h. Take queues.lock.
 */
int vkfd_queues_load(struct vkfd_pdd *pdd, struct vkfd_queue *only);
int vkfd_queues_unload(struct vkfd_pdd *pdd, struct vkfd_queue *only, bool save);
/* In the image. */
void vkfd_queue_set_vmid(struct vkfd_queue *q, unsigned int vmid);
/* The process has got a slice while the queue was off the hardware. process->lock held. */
void vkfd_queue_set_doorbell(struct vkfd_queue *q);
/*
 * Whether the queue has not come to the end of its packets, as memory tells while it is
 * loaded, and its MQD when it is not. process->lock held; takes vm->lock.
 */
bool vkfd_queue_has_work(struct vkfd_queue *q);
/* For traces: the HQD slot, or VKFD_NUM_HQD and the number of the SDMA queue, or ~0. */
unsigned int vkfd_queue_slot(const struct vkfd_queue *q);

/*
 * All with process->lock held. @props were checked.
 *
 * Create: -ENOSPC: no doorbell slice or no VMID left; -EBUSY: no doorbell or HQD slot
 * left; -ENOMEM: no SDMA queue, queue id or memory left; -EPERM: as many queues as there
 * may be on the GPU; -ENODEV; -ENOBUFS: no VRAM for the MQD, see vkfd_vram_alloc(). Nothing
 * is kept on failure but the slice.
 */
int vkfd_queue_create(struct vkfd_pdd *pdd, const struct vkfd_queue_props *props,
		      struct vkfd_queue **queue);
/* -ETIME: the queue had to be abandoned; it is destroyed all the same. */
int vkfd_queue_destroy(struct vkfd_queue *q);
/*
 * Ring, percentage and priority become those of @props. -EACCES: the queue was
 * stopped; -ENOSPC: no VMID left (nothing changed); -ETIME: it does not stop.
 */
int vkfd_queue_update(struct vkfd_queue *q, const struct vkfd_queue_props *props);
int vkfd_queue_set_cu_mask(struct vkfd_queue *q, u32 mask);
/* Off the hardware for good. */
void vkfd_queue_stop(struct vkfd_queue *q);

/*
 * vkfd_exception.c: if a bad packet or a reset of @q was noted, stops it, logs and signals.
 * process->lock held.
 */
void vkfd_queue_act_on_bad(struct vkfd_queue *q);
/*
 * vkfd_exception.c: notes that @q, which hung, was reset and is off the hardware; for the
 * scheduler, which holds dev->queue_lock and may hold another process's lock.
 */
void vkfd_queue_note_reset(struct vkfd_queue *q);
/* vkfd_exception.c: process->queues.fault_work */
void vkfd_queue_fault_work(struct work_struct *work);

#endif /* VKFD_QUEUE_INT_H */
