// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues scheduled by the firmware: the driver keeps a run list of those that are to run,
 * and the firmware gives slots and VMIDs to whichever of them have work. A change of the
 * list takes all queues off, as upstream does, and gives the firmware the new list.
 *
 * An SDMA queue has its engine and its number, and so its doorbell, from creation to
 * destruction; numbers are the process's own. A compute queue has a doorbell only.
 */
#include <linux/bitmap.h>
#include <drm/drm_print.h>

#include <vkfd/mqd.h>
#include <vkfd/regs_gc.h>

#include "vkfd_hiq.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_runlist.h"
#include "vkfd_sched.h"
#include "vkfd_trace.h"
#include "vkfd_vm.h"
#include "vkfd_vram.h"

/* Every process with a queue in the list has a slice of doorbells, which are fewer. */
static_assert(VKFD_DOORBELL_SLICES <= VKFD_RUNLIST_MAX_PROCESSES);

static int runlist_init(struct vkfd_device *dev)
{
	return vkfd_hiq_init(dev) ?: vkfd_runlist_init(dev);
}

static int runlist_start(struct vkfd_device *dev)
{
	lockdep_assert_held(&dev->queue_lock);

	return vkfd_gart_map(dev, &dev->runlist.ib) ?: vkfd_hiq_start(dev);
}

static void runlist_stop(struct vkfd_device *dev)
{
	vkfd_hiq_stop(dev);
}

/* Upstream's check for a list that must fit: nothing is to wait for its turn. */
static bool fits(struct vkfd_pdd *pdd, bool sdma)
{
	struct vkfd_runlist *rl = &pdd->dev->runlist;

	return rl->owners + !pdd->runlist.created <= VKFD_KFD_VMIDS &&
	       (sdma ? rl->created - rl->created_compute < VKFD_NUM_SDMA_QUEUES :
		       rl->created_compute < VKFD_NUM_CP_QUEUES);
}

static int runlist_attach(struct vkfd_queue *q)
{
	bool sdma = vkfd_queue_is_sdma(&q->props);
	struct vkfd_device *dev = q->dev;
	struct vkfd_runlist *rl = &dev->runlist;
	struct vkfd_pdd *pdd = q->pdd;
	struct vkfd_queue *other;
	unsigned long id;
	int ret = 0;

	lockdep_assert_held(&pdd->process->lock);

	q->hqd = VKFD_HQD_NONE;
	INIT_LIST_HEAD(&q->runlist);
	if (sdma) {
		DECLARE_BITMAP(used, VKFD_NUM_SDMA_QUEUES);

		bitmap_zero(used, VKFD_NUM_SDMA_QUEUES);
		xa_for_each(&pdd->process->queues.xa, id, other)
			if (other->pdd == pdd && vkfd_queue_is_sdma(&other->props))
				__set_bit(other->sdma, used);
		ret = vkfd_sdma_find(used, q->props.sdma_engine);
		if (ret < 0)
			return ret;
		q->sdma = ret;
		ret = 0;
	}

	mutex_lock(&dev->queue_lock);
	if (rl->created >= VKFD_RUNLIST_MAX_QUEUES ||
	    (vkfd_sched_policy == VKFD_SCHED_HWS_NO_OVERSUBSCRIPTION && !fits(pdd, sdma))) {
		ret = -EPERM;
	} else {
		rl->created++;
		rl->created_compute += !sdma;
		rl->owners += !pdd->runlist.created++;
	}
	mutex_unlock(&dev->queue_lock);
	return ret;
}

static void runlist_detach(struct vkfd_queue *q)
{
	struct vkfd_runlist *rl = &q->dev->runlist;

	mutex_lock(&q->dev->queue_lock);
	rl->created--;
	rl->created_compute -= !vkfd_queue_is_sdma(&q->props);
	rl->owners -= !--q->pdd->runlist.created;
	mutex_unlock(&q->dev->queue_lock);
}

static int runlist_get(struct vkfd_pdd *pdd)
{
	lockdep_assert_held(&pdd->process->lock);

	return pdd->vm->generation == READ_ONCE(pdd->dev->generation) ? 0 : -EIO;
}

static void runlist_put(struct vkfd_pdd *pdd)
{
}

/* Whether page tables of @pdd may be in use: changes have to be followed by a flush. */
static void set_listed(struct vkfd_pdd *pdd, bool listed)
{
	mutex_lock(&pdd->vm->bind_lock);
	pdd->vm->listed = listed;
	mutex_unlock(&pdd->vm->bind_lock);
}

static void enlist(struct vkfd_queue *q)
{
	struct vkfd_runlist *rl = &q->dev->runlist;
	struct vkfd_pdd *pdd = q->pdd;

	lockdep_assert_held(&q->dev->queue_lock);

	if (!pdd->runlist.count++) {
		INIT_LIST_HEAD(&pdd->runlist.queues);
		list_add_tail(&pdd->runlist.link, &rl->pdds);
		rl->processes++;
		/* Changes before this are in memory before the firmware sees the list. */
		set_listed(pdd, true);
	}
	list_add_tail(&q->runlist, &pdd->runlist.queues);
	if (vkfd_queue_is_sdma(&q->props))
		rl->sdma++;
	else
		rl->compute++;
	q->loaded = true;
	trace_queue_load(pdd->process->pasid, q->id, vkfd_queue_slot(q));
}

/* Not in the list that the firmware gets next. */
static void unlist(struct vkfd_queue *q)
{
	struct vkfd_runlist *rl = &q->dev->runlist;
	struct vkfd_pdd *pdd = q->pdd;

	lockdep_assert_held(&q->dev->queue_lock);

	list_del_init(&q->runlist);
	if (vkfd_queue_is_sdma(&q->props))
		rl->sdma--;
	else
		rl->compute--;
	if (!--pdd->runlist.count) {
		list_del(&pdd->runlist.link);
		rl->processes--;
		set_listed(pdd, false);
	}
}

static void unloaded(struct vkfd_queue *q)
{
	lockdep_assert_held(&q->pdd->process->queues.lock);

	q->loaded = false;
	trace_queue_unload(q->pdd->process->pasid, q->id, vkfd_queue_slot(q));
}

/* The hardware has nothing of the queue. */
static void delist(struct vkfd_queue *q)
{
	unlist(q);
	unloaded(q);
}

/* Takes @only off the list, or all of @pdd's; with what the firmware saved if @save. */
static void delist_many(struct vkfd_pdd *pdd, struct vkfd_queue *only, bool save)
{
	struct vkfd_queue *q, *next;

	/* The pdd's own list is gone with its last queue, but not before the loop is. */
	list_for_each_entry_safe(q, next, &pdd->runlist.queues, runlist) {
		if (only && q != only)
			continue;
		delist(q);
		if (save)
			vkfd_queue_read_mqd(q);
	}
}

static struct vkfd_queue *find_listed(struct vkfd_device *dev, u32 doorbell_dw)
{
	struct vkfd_pdd *pdd;
	struct vkfd_queue *q;

	list_for_each_entry(pdd, &dev->runlist.pdds, runlist.link)
		list_for_each_entry(q, &pdd->runlist.queues, runlist)
			if (q->doorbell_dw == doorbell_dw)
				return q;
	return NULL;
}

/*
 * All compute queues should be off the hardware, but the firmware has given some up. As
 * upstream: those that are still in a slot hang, and are reset, each for itself. They may
 * be anybody's, whose lock is not held: they leave the list here and are noted; that they
 * are not loaded any more is for their processes, see settle().
 */
static int reset_hung(struct vkfd_device *dev)
{
	u32 hqd[V9_MQD_HQD_DW], doorbell;
	struct vkfd_queue *q;
	unsigned int i, n = 0;

	lockdep_assert_held(&dev->queue_lock);

	for (i = 0; i < VKFD_NUM_CP_QUEUES; i++) {
		if (!vkfd_hw_hqd_read(dev, vkfd_hw_slot(i), hqd))
			continue;
		doorbell = (hqd[mmCP_HQD_PQ_DOORBELL_CONTROL - mmCP_MQD_BASE_ADDR] &
			    CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK) >>
			   CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET__SHIFT;
		q = find_listed(dev, doorbell);
		if (!q || vkfd_hw_hqd_reset(dev, vkfd_hw_slot(i), VKFD_QUEUE_STOP_MS))
			goto fail;
		unlist(q);
		vkfd_queue_note_reset(q);
		n++;
	}
	if (n)
		return 0;
fail:
	drm_err(&dev->drm, "the queues that hang cannot be reset one by one\n");
	vkfd_hiq_give_up(dev);
	return -ETIME;
}

/* Everything off the hardware. Queues of @pdd, too, may have been reset. */
static int take_all_off(struct vkfd_device *dev)
{
	int err = vkfd_runlist_unmap(dev);

	if (!err && vkfd_hiq_preemption_failed(dev))
		err = reset_hung(dev);
	return err;
}

/*
 * Queues of @pdd that reset_hung() took off the list are no more. Whether @only, or any
 * if that is NULL, is one of them.
 */
static bool settle(struct vkfd_pdd *pdd, struct vkfd_queue *only)
{
	struct vkfd_queue *q;
	unsigned long id;
	bool any = false;

	lockdep_assert_held(&pdd->process->queues.lock);
	lockdep_assert_held(&pdd->dev->queue_lock);

	xa_for_each(&pdd->process->queues.xa, id, q) {
		if (q->pdd != pdd || !q->loaded || !list_empty(&q->runlist))
			continue;
		unloaded(q);
		q->stopped = true;
		any |= !only || q == only;
	}
	return any;
}

static int runlist_load(struct vkfd_pdd *pdd, struct vkfd_queue *only)
{
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	bool any = false;
	unsigned long id;
	int err;

	lockdep_assert_held(&pdd->process->queues.lock);

	xa_for_each(&pdd->process->queues.xa, id, q)
		any |= q->pdd == pdd && (!only || q == only) && vkfd_queue_may_load(q);
	if (!any)
		return 0;

	mutex_lock(&dev->queue_lock);
	err = take_all_off(dev);
	settle(pdd, NULL);
	if (!err) {
		xa_for_each(&pdd->process->queues.xa, id, q)
			if (q->pdd == pdd && (!only || q == only) && vkfd_queue_may_load(q))
				enlist(q);
		err = vkfd_runlist_map(dev);
		if (err)
			delist_many(pdd, only, false);
	}
	mutex_unlock(&dev->queue_lock);
	return err;
}

static int runlist_unload(struct vkfd_pdd *pdd, struct vkfd_queue *only, bool save)
{
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	unsigned long id;
	int err = 0, ret;
	bool lost;

	lockdep_assert_held(&pdd->process->queues.lock);

	mutex_lock(&dev->queue_lock);
	lost = settle(pdd, only);
	if (!pdd->runlist.count || (only && !only->loaded))
		goto unlock;
	err = take_all_off(dev);
	lost |= settle(pdd, only);
	if (err == -ETIME) {
		/* Nothing runs any more, but where they were is not known. */
		xa_for_each(&pdd->process->queues.xa, id, q)
			if (q->pdd == pdd && q->loaded && (!only || q == only))
				q->stopped = true;
		drm_err_ratelimited(&dev->drm, "process %d: queues do not stop\n",
				    pdd->process->tgid);
	}
	delist_many(pdd, only, save && !err);
	/* A part that is away, or about to be reset, runs nothing. */
	if (err == -ENODEV || err == -EIO)
		err = 0;
	ret = vkfd_runlist_map(dev);
	if (ret && ret != -ENODEV && ret != -EIO)
		drm_err_ratelimited(&dev->drm, "the other queues are not put back: %d\n", ret);
unlock:
	mutex_unlock(&dev->queue_lock);
	return lost ? -ETIME : err;
}

static void runlist_forget(struct vkfd_pdd *pdd)
{
	lockdep_assert_held(&pdd->process->queues.lock);

	mutex_lock(&pdd->dev->queue_lock);
	if (pdd->runlist.count)
		delist_many(pdd, NULL, false);
	mutex_unlock(&pdd->dev->queue_lock);
}

static void runlist_reclaim(struct vkfd_device *dev)
{
	mutex_lock(&dev->queue_lock);
	dev->runlist.mapped = false;
	mutex_unlock(&dev->queue_lock);
}

static int runlist_rebind(struct vkfd_pdd *pdd)
{
	return 0;
}

const struct vkfd_sched_ops vkfd_sched_runlist = {
	.init = runlist_init,
	.start = runlist_start,
	.stop = runlist_stop,
	.attach = runlist_attach,
	.detach = runlist_detach,
	.get = runlist_get,
	.put = runlist_put,
	.load = runlist_load,
	.unload = runlist_unload,
	.forget = runlist_forget,
	.reclaim = runlist_reclaim,
	.rebind = runlist_rebind,
};
