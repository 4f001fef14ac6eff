// SPDX-License-Identifier: GPL-2.0-only
/*
 * More processes than doorbell slices. A process gets a slice with its first queue while
 * there are free ones. After that a slice is had by whom needs it: who stores to a
 * doorbell, and who was taken off the hardware with work to do.
 *
 * One work item serves those who wait, in order. It takes the slice of an idle process, or,
 * if nobody is, that of whoever has had his the longest, once that is long enough. Taking
 * is done in an order in which no doorbell is lost: the mapping closes, so that stores
 * wait from now on; the queues come off the hardware, with what was stored before; and
 * what memory says after that decides whether the process has work to do and waits for a
 * slice itself. Giving is the reverse: doorbell offsets in the MQDs, queues loaded,
 * mapping open. The work never holds the locks of two processes.
 *
 * A process whose doorbells are mapped to another GPU keeps its slice: queues over there
 * would have to stop, too.
 */
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>
#include <drm/drm_print.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_doorbell.h"
#include "vkfd_mem.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_trace.h"
#include "vkfd_vm.h"

/* A slice is not taken sooner: whoever got it for a store must come to do that. */
#define SLICE_IDLE_MS	2
/* Nor sooner than this from a process that has work to do. */
#define SLICE_BUSY_MS	20
/* How often is looked for one, while somebody waits. */
#define SLICE_RETRY_MS	4

unsigned int vkfd_doorbell_slices = VKFD_DOORBELL_SLICES;
bool vkfd_doorbell_overcommit = true;

static int set_doorbell_slices(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, VKFD_DOORBELL_SLICES);
}

static const struct kernel_param_ops doorbell_slices_ops = {
	.set = set_doorbell_slices,
	.get = param_get_uint,
};
module_param_cb(doorbell_slices, &doorbell_slices_ops, &vkfd_doorbell_slices, 0644);
MODULE_PARM_DESC(doorbell_slices,
		 "doorbell slices of a GPU that are given to processes, 1..254 (default: all)");
module_param_named(doorbell_overcommit, vkfd_doorbell_overcommit, bool, 0644);
MODULE_PARM_DESC(doorbell_overcommit,
		 "processes share doorbell slices when there are too few (default: yes)");

static struct vkfd_pdd *pdd_of(struct vkfd_slice *slice)
{
	return container_of(slice, struct vkfd_pdd, slice);
}

static unsigned int limit(void)
{
	return READ_ONCE(vkfd_doorbell_slices);
}

static void kick(struct vkfd_doorbells *db)
{
	/* Not while the system is suspended: no queue may be loaded then. */
	mod_delayed_work(system_freezable_wq, &db->work, 0);
}

/* A free slice, which is taken then, or -1. */
static int take_free(struct vkfd_doorbells *db)
{
	unsigned int n = limit();
	unsigned long i;

	lockdep_assert_held(&db->lock);

	i = find_first_zero_bit(db->used, n);
	if (i >= n)
		return -1;
	__set_bit(i, db->used);
	return i;
}

/* Slices that are not taken away. */
static unsigned int kept(struct vkfd_doorbells *db)
{
	unsigned int n = db->kept;
	struct vkfd_slice *slice;

	lockdep_assert_held(&db->lock);

	list_for_each_entry(slice, &db->owners, link)
		n += slice->pinned;
	return n;
}

/* Whether somebody has a slice that may be taken, be it that it just is. */
static bool any_to_take(struct vkfd_doorbells *db)
{
	return kept(db) < bitmap_weight(db->used, VKFD_DOORBELL_SLICES);
}

static void request(struct vkfd_doorbells *db, struct vkfd_slice *slice)
{
	lockdep_assert_held(&db->lock);

	slice->requested = true;
	slice->refused = false;
	list_add_tail(&slice->link, &db->requests);
	kick(db);
}

void vkfd_slice_init(struct vkfd_slice *slice)
{
	slice->index = -1;
	INIT_LIST_HEAD(&slice->link);
}

int vkfd_slice_give(struct vkfd_pdd *pdd)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;
	struct vkfd_slice *slice = &pdd->slice;
	int index, err = 0;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&db->lock);
	if (slice->given)
		goto unlock;
	index = take_free(db);
	if (index >= 0) {
		slice->index = index;
		slice->open = true;
		slice->since = ktime_get();
		list_add_tail(&slice->link, &db->owners);
	} else if (!READ_ONCE(vkfd_doorbell_overcommit) || !any_to_take(db)) {
		err = -ENOSPC;
		goto unlock;
	}
	/* Pairs with READ_ONCE() in mmap, which takes no lock. */
	WRITE_ONCE(slice->given, true);
unlock:
	mutex_unlock(&db->lock);
	if (err)
		drm_dbg(&pdd->dev->drm, "process %d: all %u doorbell slices are taken\n",
			pdd->process->tgid, limit());
	return err;
}

void vkfd_slice_put(struct vkfd_pdd *pdd)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;
	struct vkfd_slice *slice = &pdd->slice;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&db->lock);
	if (slice->index >= 0)
		__clear_bit(slice->index, db->used);
	list_del_init(&slice->link);
	slice->index = -1;
	slice->open = false;
	slice->requested = false;
	WRITE_ONCE(slice->given, false);
	if (!list_empty(&db->requests))
		kick(db);
	mutex_unlock(&db->lock);
}

int vkfd_slice_pin(struct vkfd_pdd *pdd)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;
	int err = 0;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&db->lock);
	if (pdd->slice.index >= 0)
		pdd->slice.pinned = true;
	else
		err = -EBUSY;
	mutex_unlock(&db->lock);
	return err;
}

int vkfd_slice_keep(struct vkfd_device *dev)
{
	struct vkfd_doorbells *db = &dev->doorbells;
	int index = -1;

	mutex_lock(&db->lock);
	if (kept(db) + 1 < limit())
		index = take_free(db);
	if (index >= 0)
		db->kept++;
	mutex_unlock(&db->lock);
	return index < 0 ? -ENOMEM : index;
}

void vkfd_slice_free(struct vkfd_device *dev, int index)
{
	struct vkfd_doorbells *db = &dev->doorbells;

	mutex_lock(&db->lock);
	__clear_bit(index, db->used);
	db->kept--;
	if (!list_empty(&db->requests))
		kick(db);
	mutex_unlock(&db->lock);
}

void vkfd_slice_want(struct vkfd_pdd *pdd)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&db->lock);
	if (pdd->slice.index < 0 && !pdd->slice.requested) {
		db->restored++;
		request(db, &pdd->slice);
	}
	mutex_unlock(&db->lock);
}

void vkfd_slice_fault(struct vkfd_pdd *pdd)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;

	lockdep_assert_held(&db->lock);

	/* One that is being taken away at the moment asks when it is gone. */
	if (pdd->slice.index >= 0 || pdd->slice.requested) {
		pdd->slice.stored = true;
		return;
	}
	db->faults++;
	request(db, &pdd->slice);
}

static bool has_work(struct vkfd_pdd *pdd)
{
	struct vkfd_process_queues *qs = &pdd->process->queues;
	struct vkfd_queue *q;
	unsigned long id;

	lockdep_assert_held(&pdd->process->lock);

	/* Stopped for good. */
	if (test_bit(pdd->dev->index, &qs->fault_evicted))
		return false;
	xa_for_each(&qs->xa, id, q)
		if (q->pdd == pdd && vkfd_queue_has_work(q))
			return true;
	return false;
}

/* What the GPU's page tables say of doorbells is what @pdd has now. */
static void update_bos(struct vkfd_pdd *pdd)
{
	struct vkfd_mem *mem;
	unsigned long handle;

	lockdep_assert_held(&pdd->process->lock);

	xa_for_each(&pdd->mems, handle, mem) {
		if (mem->bo->kind != VKFD_BO_DOORBELL)
			continue;
		mem->bo->phys = vkfd_doorbell_slice_addr(pdd);
		vkfd_vm_refill_bo(mem->bo);
	}
}

/* Takes the slice of @pdd, which has one; process->lock held. Still marked as used. */
static int take(struct vkfd_pdd *pdd)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;
	struct vkfd_slice *slice = &pdd->slice;
	bool busy;
	int index;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&db->lock);
	slice->open = false;
	slice->stored = false;
	list_del_init(&slice->link);
	mutex_unlock(&db->lock);
	vkfd_doorbell_unmap(pdd);
	/* Queues that do not stop are stopped for good, which has been logged. */
	vkfd_queues_unload(pdd, NULL, true);
	busy = has_work(pdd);

	mutex_lock(&db->lock);
	index = slice->index;
	slice->index = -1;
	if (busy)
		db->evicted_busy++;
	else
		db->evicted_idle++;
	if (busy)
		db->restored++;
	else if (slice->stored)
		db->faults++;
	if (busy || slice->stored)
		request(db, slice);
	mutex_unlock(&db->lock);
	update_bos(pdd);
	trace_slice_evict(pdd->process->pasid, index, busy);
	return index;
}

/* Gives slice @index to @pdd, unless it ended meanwhile. */
static void grant(struct vkfd_pdd *pdd, int index)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;
	struct vkfd_slice *slice = &pdd->slice;
	struct vkfd_process *p = pdd->process;
	struct vkfd_queue *q;
	unsigned long id;
	int err;

	mutex_lock(&p->lock);
	mutex_lock(&db->lock);
	if (!slice->requested) {
		__clear_bit(index, db->used);
		mutex_unlock(&db->lock);
		goto unlock;
	}
	slice->requested = false;
	slice->refused = false;
	slice->index = index;
	list_move_tail(&slice->link, &db->owners);
	mutex_unlock(&db->lock);

	xa_for_each(&p->queues.xa, id, q)
		if (q->pdd == pdd)
			vkfd_queue_set_doorbell(q);
	update_bos(pdd);
	err = vkfd_queues_load(pdd, NULL);
	/* A part that is away, or about to be reset, runs nothing. */
	if (err && err != -ENODEV && err != -EIO)
		drm_err_ratelimited(&pdd->dev->drm,
				    "process %d: queues are not put back with their doorbells: %d\n",
				    p->tgid, err);

	mutex_lock(&db->lock);
	slice->since = ktime_get();
	slice->open = true;
	WRITE_ONCE(slice->turn, slice->turn + 1);
	db->grants++;
	mutex_unlock(&db->lock);
	wake_up_all(&db->wait);
	trace_slice_grant(p->pasid, index);
unlock:
	mutex_unlock(&p->lock);
}

static bool had_for(struct vkfd_slice *slice, unsigned int ms)
{
	return ktime_ms_delta(ktime_get(), slice->since) >= ms;
}

/*
 * The next owner, in order of age, that may be asked for his slice and has not been looked
 * at in this round; or the oldest, for @force. With a reference to the process. NULL: none.
 */
static struct vkfd_pdd *next_owner(struct vkfd_doorbells *db, u64 round, bool force)
{
	struct vkfd_slice *slice;
	struct vkfd_pdd *pdd = NULL;

	mutex_lock(&db->lock);
	list_for_each_entry(slice, &db->owners, link) {
		if (slice->pinned || (!force && slice->looked == round))
			continue;
		if (!had_for(slice, force ? SLICE_BUSY_MS : SLICE_IDLE_MS))
			break;
		slice->looked = round;
		pdd = pdd_of(slice);
		/* It is in the list, so the process is not taken apart yet. */
		kref_get(&pdd->process->ref);
		break;
	}
	mutex_unlock(&db->lock);
	return pdd;
}

/* A slice somebody had, or -1: nobody can be asked at the moment. */
static int reclaim(struct vkfd_doorbells *db)
{
	struct vkfd_pdd *pdd;
	int index = -1;

	db->round++;
	while (index < 0 && (pdd = next_owner(db, db->round, false))) {
		struct vkfd_process *p = pdd->process;

		/* Held for long by whoever waits for a queue to stop: not idle, then. */
		if (mutex_trylock(&p->lock)) {
			if (pdd->slice.index >= 0 && !has_work(pdd))
				index = take(pdd);
			mutex_unlock(&p->lock);
		}
		vkfd_process_put(p);
	}
	if (index >= 0)
		return index;
	pdd = next_owner(db, 0, true);
	if (!pdd)
		return -1;
	mutex_lock(&pdd->process->lock);
	if (pdd->slice.index >= 0)
		index = take(pdd);
	mutex_unlock(&pdd->process->lock);
	vkfd_process_put(pdd->process);
	return index;
}

/* Nobody gives his slice up: stores fail, and what is to run waits until a process ends. */
static void refuse_all(struct vkfd_doorbells *db)
{
	struct vkfd_slice *slice;

	lockdep_assert_held(&db->lock);

	list_for_each_entry(slice, &db->requests, link) {
		slice->refused = true;
		WRITE_ONCE(slice->turn, slice->turn + 1);
	}
	wake_up_all(&db->wait);
}

/* Serves the first who waits. False: there is nobody, or there is nothing to be had now. */
static bool serve(struct vkfd_doorbells *db, bool *again)
{
	struct vkfd_pdd *pdd;
	int index;

	mutex_lock(&db->lock);
	if (list_empty(&db->requests)) {
		mutex_unlock(&db->lock);
		return false;
	}
	pdd = pdd_of(list_first_entry(&db->requests, struct vkfd_slice, link));
	kref_get(&pdd->process->ref);
	index = take_free(db);
	if (index < 0 && !any_to_take(db))
		refuse_all(db);
	else
		*again = index < 0;
	mutex_unlock(&db->lock);

	while (index < 0 && *again) {
		index = reclaim(db);
		if (index < 0 || (unsigned int)index < limit())
			break;
		/* There are to be fewer. */
		mutex_lock(&db->lock);
		__clear_bit(index, db->used);
		mutex_unlock(&db->lock);
		index = -1;
	}
	if (index >= 0)
		grant(pdd, index);
	vkfd_process_put(pdd->process);
	return index >= 0;
}

static void slice_work(struct work_struct *work)
{
	struct vkfd_doorbells *db = container_of(work, struct vkfd_doorbells, work.work);
	bool again = false;

	while (serve(db, &again))
		cond_resched();
	if (again)
		queue_delayed_work(system_freezable_wq, &db->work,
				   msecs_to_jiffies(SLICE_RETRY_MS));
}

void vkfd_doorbells_init(struct vkfd_device *dev)
{
	struct vkfd_doorbells *db = &dev->doorbells;

	mutex_init(&db->lock);
	INIT_LIST_HEAD(&db->owners);
	INIT_LIST_HEAD(&db->requests);
	INIT_DELAYED_WORK(&db->work, slice_work);
	init_waitqueue_head(&db->wait);
}

void vkfd_doorbells_fini(struct vkfd_device *dev)
{
	wake_up_all(&dev->doorbells.wait);
}

void vkfd_doorbells_show(struct seq_file *m, struct vkfd_device *dev)
{
	struct vkfd_doorbells *db = &dev->doorbells;
	struct vkfd_slice *slice;
	unsigned int waiting = 0;

	mutex_lock(&db->lock);
	list_for_each_entry(slice, &db->requests, link)
		waiting++;
	seq_printf(m, "gpu_id %u\nslices %u\nused %u\nkept %u\nwaiting %u\n", dev->gpu_id, limit(),
		   bitmap_weight(db->used, VKFD_DOORBELL_SLICES), kept(db), waiting);
	seq_printf(m, "grants %llu\nevicted_idle %llu\nevicted_busy %llu\nrestored %llu\nfaults %llu\n",
		   db->grants, db->evicted_idle, db->evicted_busy, db->restored, db->faults);
	list_for_each_entry(slice, &db->owners, link)
		seq_printf(m, "  %d process %d pasid 0x%x%s\n", slice->index,
			   pdd_of(slice)->process->tgid, pdd_of(slice)->process->pasid,
			   slice->pinned ? " pinned" : "");
	mutex_unlock(&db->lock);
}
