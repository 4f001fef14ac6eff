// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process while pages of its memory are away: queues off, pages looked up, queues on.
 *
 * As upstream: the first notifier takes the queues off those GPUs that have the range, and a
 * work item follows it by a millisecond, by which time most of what is going to happen to
 * the range has happened. A range that has no memory any more is passed over; accesses to it
 * fault. It is looked at again when something happens to it, when the program maps it again,
 * and whenever the work looks at others. What fails for another reason is tried again, at
 * intervals that double.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_bo.h"
#include "vkfd_point.h"
#include "vkfd_process.h"
#include "vkfd_queue.h"
#include "vkfd_smi.h"
#include "vkfd_svm.h"
#include "vkfd_trace.h"
#include "vkfd_userptr.h"

#define RESTORE_MS	1
#define RESTORE_MAX_MS	256

/* Not while the system is suspended: no queue may be loaded then. */
static struct workqueue_struct *restore_wq;

int vkfd_userptr_module_init(void)
{
	restore_wq = alloc_workqueue("vkfd-userptr", WQ_UNBOUND | WQ_FREEZABLE, 0);
	return restore_wq ? 0 : -ENOMEM;
}

void vkfd_userptr_module_exit(void)
{
	destroy_workqueue(restore_wq);
}

static void kick(struct vkfd_userptrs *us)
{
	queue_delayed_work(restore_wq, &us->work, msecs_to_jiffies(us->delay_ms));
}

void vkfd_userptrs_kick(struct vkfd_process *p)
{
	lockdep_assert_held(&p->userptrs.lock);

	kick(&p->userptrs);
}

void vkfd_userptrs_evict(struct vkfd_process *p, unsigned long gpus, int trigger)
{
	struct vkfd_userptrs *us = &p->userptrs;
	unsigned int gpu;

	lockdep_assert_held(&us->lock);

	if (!us->evicted)
		us->delay_ms = RESTORE_MS;
	gpus &= ~us->evicted;
	us->evicted |= gpus;
	for_each_set_bit(gpu, &gpus, VKFD_MAX_GPUS) {
		struct vkfd_pdd *pdd = p->pdds[gpu];

		us->evictions++;
		trace_process_evict(p->pasid, gpu);
		vkfd_smi_eviction(pdd->dev, p, trigger);
		/* Queues that do not stop are stopped for good, which has been logged. */
		vkfd_queues_evict(pdd);
	}
	kick(us);
}

/*
 * The next range that this round has not seen and that is not complete; with a reference.
 * Those that were seen go to the end of the list, so it is walked once.
 */
static struct vkfd_bo *next_away(struct vkfd_userptrs *us)
{
	struct vkfd_userptr *up;
	struct vkfd_bo *bo = NULL;

	mutex_lock(&us->lock);
	while (!bo && !list_empty(&us->all)) {
		up = list_first_entry(&us->all, struct vkfd_userptr, link);
		if (up->round == us->round)
			break;
		up->round = us->round;
		list_move_tail(&up->link, &us->all);
		/* One that is just being freed needs no pages. */
		if (!up->valid && up->gpus && kref_get_unless_zero(&up->bo->base.refcount))
			bo = up->bo;
	}
	mutex_unlock(&us->lock);
	return bo;
}

/* Looks up what is away. False: something was not to be had and may be later. */
static bool fetch_all(struct vkfd_userptrs *us, struct mm_struct *mm)
{
	struct vkfd_bo *bo;
	bool done = true;
	int err;

	us->round++;
	while ((bo = next_away(us))) {
		err = vkfd_userptr_fetch(bo, mm, false);
		done &= !err || err == -EFAULT || err == -ENODEV;
		drm_gem_object_put(&bo->base);
		cond_resched();
	}
	return done;
}

/* Whether nothing is in the way of the queues. vkfd_userptrs.lock held. */
static bool all_there(struct vkfd_userptrs *us)
{
	struct vkfd_userptr *up;
	bool there = true;
	unsigned int gpu;

	list_for_each_entry(up, &us->all, link) {
		if (up->gpus && !up->valid && !up->lost)
			return false;
		for_each_set_bit(gpu, &up->stale, VKFD_MAX_GPUS)
			there &= vkfd_userptr_clean(up, gpu);
	}
	return there;
}

static void put_back(struct vkfd_process *p)
{
	struct vkfd_userptrs *us = &p->userptrs;
	unsigned int gpu;
	int err;

	for_each_set_bit(gpu, &us->evicted, VKFD_MAX_GPUS) {
		struct vkfd_pdd *pdd = p->pdds[gpu];

		us->restores++;
		trace_process_restore(p->pasid, gpu);
		err = vkfd_queues_restore(pdd);
		/* A part that is away, or about to be reset, runs nothing. */
		if (err && err != -ENODEV && err != -EIO)
			drm_err_ratelimited(&pdd->dev->drm,
					    "process %d: queues are not put back with their memory: %d\n",
					    p->tgid, err);
		vkfd_smi_restore(pdd->dev, p);
	}
	us->evicted = 0;
}

static void restore_work(struct work_struct *work)
{
	struct vkfd_userptrs *us = container_of(work, struct vkfd_userptrs, work.work);
	struct vkfd_process *p = container_of(us, struct vkfd_process, userptrs);
	struct mm_struct *mm = us->mm;
	unsigned int gpu;
	bool done;

	/* The process has ended: so have its queues, or will. */
	if (!mmget_not_zero(mm))
		return;
	done = !vkfd_point(VKFD_POINT_RESTORE) && fetch_all(us, mm);
	done &= vkfd_svm_restore(p, mm);
	/*
	 * Maybe the last user, in which case all notifiers of the process run here. Who
	 * waits for this work is the teardown, for which nobody waits in here.
	 */
	mmput(mm);

	/* Queues are put back under process->lock, which is outside. */
	mutex_lock(&p->lock);
	mutex_lock(&us->lock);
	us->attempts++;
	done &= all_there(us);
	done &= vkfd_svm_there(p);
	if (done) {
		put_back(p);
	} else {
		us->retries++;
		for_each_set_bit(gpu, &us->evicted, VKFD_MAX_GPUS)
			vkfd_smi_restore_later(p->pdds[gpu]->dev, p);
		kick(us);
		us->delay_ms = min(us->delay_ms * 2, RESTORE_MAX_MS);
	}
	mutex_unlock(&us->lock);
	mutex_unlock(&p->lock);
}

void vkfd_userptrs_init(struct vkfd_process *p, struct mm_struct *mm)
{
	struct vkfd_userptrs *us = &p->userptrs;

	mutex_init(&us->lock);
	INIT_LIST_HEAD(&us->all);
	INIT_DELAYED_WORK(&us->work, restore_work);
	us->delay_ms = RESTORE_MS;
	mmgrab(mm);
	us->mm = mm;
}

void vkfd_userptrs_free(struct vkfd_process *p)
{
	WARN_ON(!list_empty(&p->userptrs.all));
	mmdrop(p->userptrs.mm);
	mutex_destroy(&p->userptrs.lock);
}

void vkfd_userptrs_stop(struct vkfd_process *p)
{
	disable_delayed_work_sync(&p->userptrs.work);
}

void vkfd_userptrs_show(struct seq_file *m, struct vkfd_process *p)
{
	struct vkfd_userptrs *us = &p->userptrs;
	unsigned int ranges = 0, mapped = 0, valid = 0, lost = 0;
	struct vkfd_userptr *up;

	mutex_lock(&us->lock);
	list_for_each_entry(up, &us->all, link) {
		ranges++;
		mapped += !!up->gpus;
		valid += up->valid;
		lost += up->lost;
	}
	seq_printf(m, "ranges %u\nmapped %u\nvalid %u\nlost %u\nevicted %lu\n", ranges, mapped, valid,
		   lost, us->evicted);
	seq_printf(m, "invalidations %llu\nevictions %llu\nrestores %llu\n", us->invalidations,
		   us->evictions, us->restores);
	seq_printf(m, "attempts %llu\nretries %llu\nfetches %llu\nfaults %llu\n", us->attempts,
		   us->retries, us->fetches, us->faults);
	mutex_unlock(&us->lock);
}
