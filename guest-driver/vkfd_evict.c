// SPDX-License-Identifier: GPL-2.0-only
/*
 * BOs leave VRAM and come back.
 *
 * A move is done in an order in which no store is lost: nobody makes new entries of the BO or
 * faults it in (move_lock); queues of the processes that have it in their VM go off, those of
 * others stay; mappings of CPUs go. Then it is copied, by the CPU, and from then on
 * vkfd_bo_pte() gives the other place. All page tables are written again and their TLBs
 * flushed before the old place is given to anybody. Queues come back after the last move of
 * an allocation, with no lock of this file held, as that is done under process->lock.
 *
 * Unlike upstream's, an evicted BO stays mapped, from system memory, so queues that use it
 * run; they only stop again when it moves back. That is tried a while after VRAM was freed.
 */
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/drm_vma_manager.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_evict.h"
#include "vkfd_hw.h"
#include "vkfd_point.h"
#include "vkfd_process.h"
#include "vkfd_queue.h"
#include "vkfd_smi.h"
#include "vkfd_svm_vram.h"
#include "vkfd_trace.h"
#include "vkfd_vm.h"
#include "vkfd_vram.h"

/* BOs do not come back sooner: who frees VRAM often wants some again. */
#define RETURN_MS	100
/* The longest between attempts at a part that is away. */
#define RETURN_MAX_MS	3200
/* Pages copied without a look at signals, or at whether the hardware is to go away. */
#define COPY_PAGES	256

/* Not while the system is suspended: no queue may be loaded then. */
static struct workqueue_struct *return_wq;

int vkfd_evict_module_init(void)
{
	return_wq = alloc_workqueue("vkfd-evict", WQ_UNBOUND | WQ_FREEZABLE, 0);
	return return_wq ? 0 : -ENOMEM;
}

void vkfd_evict_module_exit(void)
{
	destroy_workqueue(return_wq);
}

/* ---- queues ---- */

/* The queues of a process on a GPU, which go off for moves and come back behind them. */
struct stopped {
	struct list_head link;
	struct vkfd_process *process;
	unsigned int gpu;
	bool off;
};

/* Under vm->lock: only noted. */
static int note_user(struct vkfd_process *p, unsigned int gpu, void *data)
{
	struct list_head *all = data;
	struct stopped *s;

	list_for_each_entry(s, all, link)
		if (s->process == p && s->gpu == gpu)
			return 0;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	kref_get(&p->ref);
	s->process = p;
	s->gpu = gpu;
	list_add_tail(&s->link, all);
	return 0;
}

/* Takes off the queues that use @bo and are not in @all, and adds them. */
static int stop_users(struct vkfd_bo *bo, struct list_head *all)
{
	int err = vkfd_vm_for_each_user(bo, note_user, all);
	struct stopped *s;

	if (err)
		return err;
	list_for_each_entry(s, all, link) {
		struct vkfd_pdd *pdd = s->process->pdds[s->gpu];

		if (s->off)
			continue;
		s->off = true;
		atomic64_inc(&s->process->vram_evictions);
		trace_process_evict(s->process->pasid, s->gpu);
		vkfd_smi_eviction(pdd->dev, s->process, KFD_QUEUE_EVICTION_TRIGGER_TTM);
		/* Queues that do not stop are stopped for good, which has been logged. */
		vkfd_queues_evict(pdd);
	}
	return 0;
}

static void restart_users(struct list_head *all)
{
	struct stopped *s, *next;

	list_for_each_entry_safe(s, next, all, link) {
		struct vkfd_process *p = s->process;
		struct vkfd_pdd *pdd = p->pdds[s->gpu];
		int err = 0;

		if (s->off) {
			mutex_lock(&p->lock);
			err = vkfd_queues_restore(pdd);
			mutex_unlock(&p->lock);
			trace_process_restore(p->pasid, s->gpu);
			vkfd_smi_restore(pdd->dev, p);
			atomic64_inc(&p->vram_restores);
		}
		/* A part that is away, or about to be reset, runs nothing. */
		if (err && err != -ENODEV && err != -EIO)
			drm_err_ratelimited(&pdd->dev->drm,
					    "process %d: queues are not put back with VRAM: %d\n",
					    p->tgid, err);
		list_del(&s->link);
		kfree(s);
		vkfd_process_put(p);
	}
}

/* ---- one move ---- */

static unsigned long num_pages(const struct vkfd_bo *bo)
{
	return vkfd_bo_size(bo) >> PAGE_SHIFT;
}

void vkfd_evict_free_pages(struct vkfd_bo *bo)
{
	unsigned long i, n = num_pages(bo);

	vkfd_bo_dma_unmap(bo);
	for (i = 0; bo->pages && i < n && bo->pages[i]; i++) {
		__free_page(bo->pages[i]);
		if (i % COPY_PAGES == 0)
			cond_resched();
	}
	kvfree(bo->pages);
	bo->pages = NULL;
	if (bo->charged)
		vkfd_bo_uncharge(bo);
}

/* System pages for @bo, with their bus addresses. On failure it has none. */
static int get_pages(struct vkfd_bo *bo)
{
	unsigned long i, n = num_pages(bo);
	int err;

	err = vkfd_bo_charge(bo, vkfd_bo_size(bo));
	if (err)
		return err;
	bo->pages = kvcalloc(n, sizeof(*bo->pages), GFP_KERNEL);
	for (i = 0; bo->pages && i < n; i++) {
		/* Others' memory is no reason to kill anybody. */
		bo->pages[i] = alloc_page(GFP_HIGHUSER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
		if (!bo->pages[i])
			break;
		if (i % COPY_PAGES == 0)
			cond_resched();
	}
	err = bo->pages && i == n ? vkfd_bo_dma_map(bo, bo->dev) : -ENOMEM;
	if (err)
		vkfd_evict_free_pages(bo);
	return err;
}

/* Hardware is there. */
static void copy_page_of(struct vkfd_bo *bo, unsigned long i, bool out)
{
	void __iomem *io = bo->dev->vram.map + vkfd_bo_vram_offset(bo, i);
	void *page = kmap_local_page(bo->pages[i]);

	if (out)
		memcpy_fromio(page, io, PAGE_SIZE);
	else
		memcpy_toio(io, page, PAGE_SIZE);
	kunmap_local(page);
}

/* From bo->block to bo->pages, or back. */
static int copy(struct vkfd_bo *bo, bool out)
{
	unsigned long i, end, n = num_pages(bo);
	bool there;
	int idx;

	/* What CPUs and queues stored before they were stopped is there. */
	mb();
	for (i = 0; i < n; cond_resched()) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!vkfd_hw_enter(bo->dev, &idx))
			return -ENODEV;
		for (end = min(n, i + COPY_PAGES); i < end; i++)
			copy_page_of(bo, i, out);
		/* What was read of a part that is not on the bus is not what was stored. */
		there = !out || vkfd_hw_answers(bo->dev);
		vkfd_hw_exit(idx);
		if (!there)
			return -ENODEV;
	}
	/* And the copy before anybody is led to it. */
	wmb();
	return 0;
}

/* Nobody makes entries or looks from now on, and nobody runs who could use those there are. */
static int begin_move(struct vkfd_bo *bo, struct list_head *all)
{
	int err;

	down_write(&bo->move_lock);
	err = stop_users(bo, all);
	if (!err)
		drm_vma_node_unmap(&bo->base.vma_node, bo->dev->drm.anon_inode->i_mapping);
	return err;
}

/* @bo is where it is to be; everybody learns of that, and nobody uses the old place. */
static void end_move(struct vkfd_bo *bo, bool evicted)
{
	/* Pairs with the acquire in vkfd_bo_in_system(). */
	smp_store_release(&bo->evicted, evicted);
	vkfd_vm_refill_bo(bo);
}

/* In the lists and the books. */
static void count_move(struct vkfd_bo *bo, bool out, bool done)
{
	struct vkfd_evict *ev = &bo->dev->evict;
	u64 size = vkfd_bo_size(bo);

	mutex_lock(&bo->dev->vram.lock);
	if (done)
		vkfd_lru_place(bo, out);
	if (!done) {
		ev->failed++;
	} else if (out) {
		ev->outs++;
		ev->out_bytes += size;
	} else {
		ev->ins++;
		ev->in_bytes += size;
	}
	mutex_unlock(&bo->dev->vram.lock);
}

static void drop_blocks(struct vkfd_bo *bo)
{
	kvfree(bo->block);
	bo->block = NULL;
	bo->num_blocks = 0;
	vkfd_vram_free_blocks(bo->dev, &bo->blocks);
}

static int move_out(struct vkfd_bo *bo, struct list_head *all)
{
	int err = get_pages(bo);

	lockdep_assert_held(&bo->dev->evict.lock);

	if (err)
		return err;
	err = begin_move(bo, all);
	if (!err)
		err = vkfd_point(VKFD_POINT_COPY_OUT);
	if (!err)
		err = copy(bo, true);
	if (!err)
		err = vkfd_point(VKFD_POINT_MOVE_OUT);
	if (!err) {
		end_move(bo, true);
		drop_blocks(bo);
	} else {
		vkfd_evict_free_pages(bo);
	}
	count_move(bo, true, !err);
	up_write(&bo->move_lock);
	return err;
}

/*
 * The last step of a move back: not if a reset came between, which may have lost the copy, and
 * not into VRAM that is about to go.
 */
static int arrive(struct vkfd_bo *bo, u32 generation)
{
	struct vkfd_device *dev = bo->dev;
	int idx, err = 0;

	if (!vkfd_hw_enter(dev, &idx))
		return -ENODEV;
	if (READ_ONCE(dev->evict.leaving))
		err = -ENODEV;
	else if (READ_ONCE(dev->generation) != generation)
		err = -EAGAIN;
	else
		end_move(bo, false);
	vkfd_hw_exit(idx);
	return err;
}

static int move_in(struct vkfd_bo *bo, struct list_head *all)
{
	bool contiguous = bo->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS;
	u32 generation = READ_ONCE(bo->dev->generation);
	int err;

	lockdep_assert_held(&bo->dev->evict.lock);

	/* Room first: there mostly is none. */
	err = vkfd_vram_alloc_blocks(bo->dev, vkfd_bo_size(bo), contiguous, vkfd_bo_visible(bo),
				     &bo->blocks);
	if (err)
		return err;
	err = vkfd_bo_index_blocks(bo);
	if (err) {
		drop_blocks(bo);
		return err;
	}
	err = begin_move(bo, all);
	if (!err)
		err = copy(bo, false);
	if (!err)
		err = vkfd_point(VKFD_POINT_MOVE_IN);
	if (!err)
		err = arrive(bo, generation);
	if (!err)
		vkfd_evict_free_pages(bo);
	else
		drop_blocks(bo);
	count_move(bo, false, !err);
	up_write(&bo->move_lock);
	return err;
}

/* ---- who moves ---- */

void vkfd_evict_add(struct vkfd_bo *bo)
{
	mutex_lock(&bo->dev->vram.lock);
	vkfd_lru_place(bo, false);
	mutex_unlock(&bo->dev->vram.lock);
}

void vkfd_evict_touch(struct vkfd_bo *bo)
{
	if (bo->kind != VKFD_BO_VRAM)
		return;
	mutex_lock(&bo->dev->vram.lock);
	vkfd_lru_touch(bo);
	mutex_unlock(&bo->dev->vram.lock);
}

void vkfd_evict_remove(struct vkfd_bo *bo)
{
	if (bo->kind != VKFD_BO_VRAM)
		return;
	mutex_lock(&bo->dev->vram.lock);
	vkfd_lru_remove(bo);
	mutex_unlock(&bo->dev->vram.lock);
}

/**
 * struct want - somebody wants VRAM, for which others go
 * @dev: of which GPU
 * @size: bytes
 * @gem_only: KFD's memory stays: it is KFD who wants it
 * @own: whose queues' memory stays, or NULL
 * @contiguous: in one piece
 * @visible: where CPUs see it, and not all of VRAM is
 * @plain: plain memory (vkfd_svm_vram.h) goes as well, and first; svm.lock is not held
 * @stopped: queues that went off for it
 */
struct want {
	struct vkfd_device *dev;
	u64 size;
	bool gem_only;
	const struct vkfd_process *own;
	bool contiguous;
	bool visible;
	bool plain;
	struct list_head stopped;
};

static bool can_have(const struct want *w)
{
	u64 size = w->size;

	if (w->plain)
		size -= min(size, vkfd_svm_vram_bytes(&w->dev->svm_vram));
	return vkfd_lru_can_free(w->dev, size, vkfd_bo_gtt_available(), w->gem_only, w->own,
				 w->visible);
}

/* 0: others may move from now on, until want_end(). -ENOMEM: that would not do; -EINTR. */
static int want_begin(struct want *w)
{
	struct vkfd_device *dev = w->dev;
	int err;

	INIT_LIST_HEAD(&w->stopped);
	/* Not for what cannot be had anyway. */
	if (w->plain && vkfd_svm_vram_bytes(&dev->svm_vram) && can_have(w))
		vkfd_svm_vram_make_room(dev, w->size, w->contiguous);
	err = mutex_lock_killable(&dev->evict.lock);
	if (err)
		return err;
	vkfd_lru_begin(dev);
	if (can_have(w))
		return 0;
	vkfd_lru_end(dev);
	mutex_unlock(&dev->evict.lock);
	return -ENOMEM;
}

static void want_end(struct want *w)
{
	vkfd_lru_end(w->dev);
	mutex_unlock(&w->dev->evict.lock);
	restart_users(&w->stopped);
	/* What is left over, or all if this failed. */
	vkfd_evict_kick(w->dev);
}

/* One more goes, or stays as there is no memory for it: 0. -ENOMEM: there is none left. */
static int move_one(struct want *w)
{
	struct vkfd_bo *victim = vkfd_lru_next_victim(w->dev, w->gem_only, w->own,
						     w->visible);
	int err;

	if (!victim)
		return -ENOMEM;
	err = move_out(victim, &w->stopped);
	drm_gem_object_put(&victim->base);
	/* Another may be smaller. */
	return err == -ENOMEM ? 0 : err;
}

int vkfd_evict_alloc(struct vkfd_bo *bo, bool contiguous)
{
	struct vkfd_process *own = bo->gem ? vkfd_process_get_current() : NULL;
	struct want w = {
		.dev = bo->dev,
		.size = vkfd_bo_size(bo),
		.gem_only = !bo->gem,
		.own = own,
		.contiguous = contiguous,
		.visible = vkfd_bo_visible(bo),
		.plain = true,
	};
	int err = want_begin(&w);

	if (err)
		goto put;
	do {
		err = vkfd_vram_alloc_blocks(w.dev, w.size, contiguous, w.visible, &bo->blocks);
		if (err != -ENOMEM)
			break;
		err = move_one(&w);
	} while (!err);
	want_end(&w);
put:
	if (own)
		vkfd_process_put(own);
	return err;
}

int vkfd_evict_make_room(struct vkfd_device *dev, u64 size, const struct vkfd_process *own,
			 bool plain)
{
	struct want w = { .dev = dev, .size = size, .own = own, .plain = plain };
	int err = want_begin(&w);
	bool enough;

	if (err)
		return err;
	for (;;) {
		mutex_lock(&dev->vram.lock);
		enough = vkfd_vram_free_bytes(dev, false) >= size;
		mutex_unlock(&dev->vram.lock);
		if (enough)
			break;
		err = move_one(&w);
		if (err)
			break;
	}
	want_end(&w);
	return err;
}

/* ---- back ---- */

static void return_work(struct work_struct *work)
{
	struct vkfd_device *dev = container_of(work, struct vkfd_device, evict.work.work);
	struct vkfd_evict *ev = &dev->evict;
	bool again = false;
	struct vkfd_bo *bo;
	LIST_HEAD(all);
	int err;

	mutex_lock(&ev->lock);
	vkfd_lru_begin(dev);
	while (!READ_ONCE(ev->leaving) && (bo = vkfd_lru_next_away(dev))) {
		err = move_in(bo, &all);
		drm_gem_object_put(&bo->base);
		/* Who does not fit waits until something is freed. */
		again |= err && err != -ENOMEM;
		cond_resched();
	}
	vkfd_lru_end(dev);
	mutex_unlock(&ev->lock);
	restart_users(&all);

	if (!again || READ_ONCE(dev->dead)) {
		ev->delay_ms = RETURN_MS;
		return;
	}
	queue_delayed_work(return_wq, &ev->work, msecs_to_jiffies(ev->delay_ms));
	ev->delay_ms = min(ev->delay_ms * 2, RETURN_MAX_MS);
}

void vkfd_evict_kick(struct vkfd_device *dev)
{
	/* One that is leaving just now is looked at by whoever makes it leave. */
	if (vkfd_lru_away_bytes(&dev->evict.lrus))
		queue_delayed_work(return_wq, &dev->evict.work, msecs_to_jiffies(RETURN_MS));
}

void vkfd_evict_init(struct vkfd_device *dev)
{
	struct vkfd_evict *ev = &dev->evict;

	mutex_init(&ev->lock);
	INIT_DELAYED_WORK(&ev->work, return_work);
	vkfd_lru_init(&ev->lrus);
	ev->delay_ms = RETURN_MS;
}

void vkfd_evict_leave(struct vkfd_device *dev)
{
	WRITE_ONCE(dev->evict.leaving, true);
}

void vkfd_evict_stop(struct vkfd_device *dev)
{
	vkfd_evict_leave(dev);
	disable_delayed_work_sync(&dev->evict.work);
}

/* ---- to look at ---- */

u64 vkfd_evict_count(struct vkfd_device *dev, u64 *bytes)
{
	struct vkfd_evict *ev = &dev->evict;
	u64 outs;

	mutex_lock(&dev->vram.lock);
	outs = ev->outs;
	if (bytes)
		*bytes = ev->out_bytes + ev->in_bytes;
	mutex_unlock(&dev->vram.lock);
	return outs;
}

void vkfd_evict_show(struct seq_file *m, struct vkfd_device *dev)
{
	struct vkfd_evict *ev = &dev->evict;
	const struct vkfd_lrus *l = &ev->lrus;

	mutex_lock(&dev->vram.lock);
	seq_printf(m, "gpu_id %u\nused %llu\nfree %llu\nkfd %llu\nspilled %llu\n", dev->gpu_id,
		   dev->vram.used, vkfd_vram_free_bytes(dev, false), dev->vram.kfd_used,
		   dev->vram.spilled);
	seq_printf(m, "resident %u\naway %u\naway_bytes %llu\n",
		   l->resident[VKFD_LRU_GEM].num + l->resident[VKFD_LRU_KFD].num,
		   l->away[VKFD_LRU_GEM].num + l->away[VKFD_LRU_KFD].num, vkfd_lru_away_bytes(l));
	seq_printf(m, "outs %llu\nout_bytes %llu\nins %llu\nin_bytes %llu\nfailed %llu\n", ev->outs,
		   ev->out_bytes, ev->ins, ev->in_bytes, ev->failed);
	mutex_unlock(&dev->vram.lock);
}
