// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues without scheduler firmware: each has a slot, an HQD or a user queue of an SDMA
 * engine, from creation to destruction, and its process a VMID as long as one of its
 * queues is active, evicted or not. So putting queues back never fails for want of
 * either.
 */
#include <linux/bitmap.h>
#include <drm/drm_print.h>

#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_reset.h"
#include "vkfd_sched.h"
#include "vkfd_trace.h"
#include "vkfd_vm.h"

/* In dev->vmid_pasid: a VMID that a queue which does not stop may still use. No PASID is this. */
#define VKFD_PASID_LOST		(~0u)

/* Slots in the order they are given out: one of each pipe, then the next of each. */
static int hqd_find(const unsigned long *used)
{
	const unsigned int pipes = VKFD_PIPES_PER_ME, per_pipe = VKFD_NUM_CP_QUEUES / pipes;
	unsigned int i, slot;

	for (i = 0; i < VKFD_NUM_CP_QUEUES; i++) {
		slot = i % pipes * per_pipe + i / pipes;
		if (!test_bit(slot, used))
			return slot;
	}
	return -EBUSY;
}

static int direct_attach(struct vkfd_queue *q)
{
	struct vkfd_device *dev = q->dev;
	bool sdma = vkfd_queue_is_sdma(&q->props);
	unsigned long *used = sdma ? dev->sdma_used : dev->hqd_used;
	int slot;

	mutex_lock(&dev->queue_lock);
	slot = sdma ? vkfd_sdma_find(used, q->props.sdma_engine) : hqd_find(used);
	if (slot >= 0)
		__set_bit(slot, used);
	mutex_unlock(&dev->queue_lock);
	if (slot < 0)
		return slot;
	if (sdma)
		q->sdma = slot;
	else
		q->hqd = slot;
	return 0;
}

static void direct_detach(struct vkfd_queue *q)
{
	struct vkfd_device *dev = q->dev;
	bool sdma = vkfd_queue_is_sdma(&q->props);
	unsigned int slot = sdma ? q->sdma : q->hqd;

	mutex_lock(&dev->queue_lock);
	if (q->lost)
		__set_bit(slot, sdma ? dev->sdma_lost : dev->hqd_lost);
	else
		__clear_bit(slot, sdma ? dev->sdma_used : dev->hqd_used);
	mutex_unlock(&dev->queue_lock);
}

/* Gives @pdd a VMID and binds it to its page tables, if it has none. */
static int direct_get(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_vm *vm = pdd->vm;
	unsigned int i, vmid;
	int err = -ENOSPC;

	lockdep_assert_held(&pdd->process->lock);

	if (vm->generation != READ_ONCE(dev->generation))
		return -EIO;
	if (pdd->vmid >= 0)
		return 0;

	mutex_lock(&dev->queue_lock);
	for (i = 0; i < VKFD_KFD_VMIDS; i++)
		if (!dev->vmid_pasid[i])
			break;
	if (i == VKFD_KFD_VMIDS)
		goto unlock;

	vmid = VKFD_KFD_VMID_FIRST + i;
	/* Page table changes either come before the flush of the bind or see vm->vmid. */
	mutex_lock(&vm->bind_lock);
	/* Read by the interrupt path without a lock. */
	WRITE_ONCE(dev->vmid_pasid[i], pdd->process->pasid);
	err = vkfd_hw_vmid_bind(dev, vmid, pdd->process->pasid, vm->pd_offset);
	if (err) {
		WRITE_ONCE(dev->vmid_pasid[i], 0);
	} else {
		vm->vmid = vmid;
		pdd->vmid = vmid;
	}
	mutex_unlock(&vm->bind_lock);
unlock:
	mutex_unlock(&dev->queue_lock);
	if (err == -ENOSPC)
		drm_dbg(&dev->drm, "process %d: no VMID left\n", pdd->process->tgid);
	return err;
}

/* Takes the VMID back once no queue of @pdd is active. */
static void direct_put(struct vkfd_pdd *pdd)
{
	struct vkfd_process_queues *qs = &pdd->process->queues;
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	unsigned long id;
	unsigned int i;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->vmid < 0)
		return;
	xa_for_each(&qs->xa, id, q)
		if (q->pdd == pdd && q->active)
			return;

	i = pdd->vmid - VKFD_KFD_VMID_FIRST;
	mutex_lock(&dev->queue_lock);
	mutex_lock(&pdd->vm->bind_lock);
	pdd->vm->vmid = -1;
	vkfd_hw_vmid_unbind(dev, pdd->vmid);
	/* Unbound, a queue that never stopped faults; it must not find other tables. */
	WRITE_ONCE(dev->vmid_pasid[i], test_bit(dev->index, &qs->lost) ? VKFD_PASID_LOST : 0);
	pdd->vmid = -1;
	mutex_unlock(&pdd->vm->bind_lock);
	mutex_unlock(&dev->queue_lock);
	clear_bit(dev->index, &qs->lost);
}

static int load_one(struct vkfd_queue *q)
{
	int err;

	vkfd_queue_set_vmid(q, q->pdd->vmid);
	vkfd_queue_write_mqd(q);
	if (vkfd_queue_is_sdma(&q->props))
		err = vkfd_hw_sdma_load(q->dev, vkfd_sdma_engine(q->sdma),
					vkfd_sdma_rlc(q->sdma), q->mqd);
	else
		err = vkfd_hw_hqd_load(q->dev, vkfd_hw_slot(q->hqd), q->mqd);
	if (err)
		return err;
	q->loaded = true;
	trace_queue_load(q->pdd->process->pasid, q->id, vkfd_queue_slot(q));
	return 0;
}

/* Takes the queue off its slot by @request, which an SDMA engine does not know. */
static int off_slot(struct vkfd_queue *q, u32 request, u32 *mqd)
{
	if (vkfd_queue_is_sdma(&q->props))
		return vkfd_hw_sdma_unload(q->dev, vkfd_sdma_engine(q->sdma),
					   vkfd_sdma_rlc(q->sdma), VKFD_QUEUE_STOP_MS, mqd);
	return vkfd_hw_hqd_unload(q->dev, vkfd_hw_slot(q->hqd), request, VKFD_QUEUE_STOP_MS, mqd);
}

/*
 * With its state in q->mqd if @save. A queue that does not stop is forced to, and then
 * is no good any more. 0 or -ETIME.
 */
static int unload_one(struct vkfd_queue *q, bool save)
{
	u32 request = VKFD_DEQUEUE_RESET_WAVES;
	int err;

	if (save)
		request = q->props.ctx_va ? VKFD_DEQUEUE_SAVE_WAVES : VKFD_DEQUEUE_DRAIN;

	q->loaded = false;
	trace_queue_unload(q->pdd->process->pasid, q->id, vkfd_queue_slot(q));
	err = off_slot(q, request, save ? q->mqd : NULL);
	if (!err) {
		if (save)
			vkfd_queue_write_mqd(q);
		return 0;
	}

	q->stopped = true;
	if (request != VKFD_DEQUEUE_RESET_WAVES && !vkfd_queue_is_sdma(&q->props) &&
	    !off_slot(q, VKFD_DEQUEUE_RESET_WAVES, NULL)) {
		drm_err_ratelimited(&q->dev->drm, "process %d, queue %u: did not stop, was reset\n",
				    q->pdd->process->tgid, q->id);
		return -ETIME;
	}
	q->lost = true;
	vkfd_reset_request(q->dev, "a queue does not stop");
	set_bit(q->dev->index, &q->pdd->process->queues.lost);
	drm_err_ratelimited(&q->dev->drm, "process %d, queue %u: does not stop, slot and VMID are lost\n",
			    q->pdd->process->tgid, q->id);
	return -ETIME;
}

static int direct_load(struct vkfd_pdd *pdd, struct vkfd_queue *only)
{
	struct vkfd_queue *q;
	unsigned long id;
	int err, ret = 0;

	lockdep_assert_held(&pdd->process->queues.lock);

	xa_for_each(&pdd->process->queues.xa, id, q) {
		if (q->pdd != pdd || (only && q != only) || !vkfd_queue_may_load(q))
			continue;
		err = load_one(q);
		ret = ret ?: err;
	}
	return ret;
}

static int direct_unload(struct vkfd_pdd *pdd, struct vkfd_queue *only, bool save)
{
	struct vkfd_queue *q;
	unsigned long id;
	int err, ret = 0;

	lockdep_assert_held(&pdd->process->queues.lock);

	xa_for_each(&pdd->process->queues.xa, id, q) {
		if (q->pdd != pdd || (only && q != only) || !q->loaded)
			continue;
		err = unload_one(q, save);
		ret = ret ?: err;
	}
	return ret;
}

static void direct_forget(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;

	lockdep_assert_held(&pdd->process->lock);

	clear_bit(dev->index, &pdd->process->queues.lost);
	if (pdd->vmid < 0)
		return;
	mutex_lock(&dev->queue_lock);
	mutex_lock(&pdd->vm->bind_lock);
	pdd->vm->vmid = -1;
	WRITE_ONCE(dev->vmid_pasid[pdd->vmid - VKFD_KFD_VMID_FIRST], 0);
	pdd->vmid = -1;
	mutex_unlock(&pdd->vm->bind_lock);
	mutex_unlock(&dev->queue_lock);
}

static void direct_reclaim(struct vkfd_device *dev)
{
	unsigned int i;

	mutex_lock(&dev->queue_lock);
	bitmap_andnot(dev->hqd_used, dev->hqd_used, dev->hqd_lost, VKFD_NUM_CP_QUEUES);
	bitmap_zero(dev->hqd_lost, VKFD_NUM_CP_QUEUES);
	bitmap_andnot(dev->sdma_used, dev->sdma_used, dev->sdma_lost, VKFD_NUM_SDMA_QUEUES);
	bitmap_zero(dev->sdma_lost, VKFD_NUM_SDMA_QUEUES);
	for (i = 0; i < VKFD_KFD_VMIDS; i++)
		if (dev->vmid_pasid[i] == VKFD_PASID_LOST)
			WRITE_ONCE(dev->vmid_pasid[i], 0);
	mutex_unlock(&dev->queue_lock);
}

static int direct_rebind(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->vmid < 0)
		return 0;
	mutex_lock(&dev->queue_lock);
	mutex_lock(&pdd->vm->bind_lock);
	err = vkfd_hw_vmid_bind(dev, pdd->vmid, pdd->process->pasid, pdd->vm->pd_offset);
	mutex_unlock(&pdd->vm->bind_lock);
	mutex_unlock(&dev->queue_lock);
	return err;
}

const struct vkfd_sched_ops vkfd_sched_direct = {
	.attach = direct_attach,
	.detach = direct_detach,
	.get = direct_get,
	.put = direct_put,
	.load = direct_load,
	.unload = direct_unload,
	.forget = direct_forget,
	.reclaim = direct_reclaim,
	.rebind = direct_rebind,
};
