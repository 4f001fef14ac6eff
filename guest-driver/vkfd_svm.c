// SPDX-License-Identifier: GPL-2.0-only
/*
 * SVM ranges of a process: the tree of them, splitting, and what is left of them when parts
 * are unmapped.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_bo.h"
#include "vkfd_process.h"
#include "vkfd_svm.h"

void vkfd_svm_default_attrs(struct vkfd_svm_attrs *attrs)
{
	*attrs = (struct vkfd_svm_attrs){
		.preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED,
		.prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED,
		.flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT,
		.granularity = 9,
	};
}

struct vkfd_svm_range *vkfd_svm_first(struct vkfd_process *p, unsigned long start,
				      unsigned long last)
{
	struct interval_tree_node *node = interval_tree_iter_first(&p->svm.ranges, start, last);

	return node ? container_of(node, struct vkfd_svm_range, node) : NULL;
}

struct vkfd_svm_range *vkfd_svm_next(struct vkfd_svm_range *r, unsigned long start,
				     unsigned long last)
{
	struct interval_tree_node *node = interval_tree_iter_next(&r->node, start, last);

	return node ? container_of(node, struct vkfd_svm_range, node) : NULL;
}

/* The chunk of page @pn with one range more. */
static struct vkfd_svm_chunk *chunk_get(struct vkfd_process *p, unsigned long pn)
{
	unsigned long index = pn / VKFD_SVM_CHUNK_PAGES;
	struct vkfd_svm_chunk *chunk;
	int err;

	lockdep_assert_held(&p->svm.lock);

	chunk = xa_load(&p->svm.chunks, index);
	if (chunk) {
		chunk->ranges++;
		return chunk;
	}
	chunk = kzalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT);
	if (!chunk)
		return ERR_PTR(-ENOMEM);
	chunk->process = p;
	chunk->index = index;
	chunk->ranges = 1;
	err = xa_insert(&p->svm.chunks, index, chunk, GFP_KERNEL_ACCOUNT);
	if (err)
		goto err_free;
	err = mmu_interval_notifier_insert(&chunk->mni, p->userptrs.mm,
					   index * VKFD_SVM_CHUNK_PAGES << PAGE_SHIFT,
					   VKFD_SVM_CHUNK_PAGES << PAGE_SHIFT, &vkfd_svm_mn_ops);
	if (err)
		goto err_erase;
	return chunk;

err_erase:
	xa_erase(&p->svm.chunks, index);
err_free:
	kfree(chunk);
	return ERR_PTR(err);
}

static void chunk_put(struct vkfd_svm_chunk *chunk)
{
	lockdep_assert_held(&chunk->process->svm.lock);

	if (--chunk->ranges)
		return;
	xa_erase(&chunk->process->svm.chunks, chunk->index);
	/* Waits for notifiers that are running. */
	mmu_interval_notifier_remove(&chunk->mni);
	kfree(chunk);
}

/* Frees what was never in the tree, or is not any more. No GPU has it. */
static void range_free(struct vkfd_svm_range *r)
{
	unsigned int gpu;

	for (gpu = 0; gpu < VKFD_MAX_GPUS; gpu++)
		kvfree(r->dma[gpu]);
	kvfree(r->pfns);
	bitmap_free(r->gone);
	kfree(r);
}

static struct vkfd_svm_range *range_alloc(struct vkfd_process *p, unsigned long start,
					  unsigned long last)
{
	struct vkfd_svm_range *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->gone = bitmap_zalloc(last - start + 1, GFP_KERNEL_ACCOUNT);
	if (!r->gone) {
		kfree(r);
		return NULL;
	}
	r->node.start = start;
	r->node.last = last;
	r->process = p;
	INIT_LIST_HEAD(&r->link);
	vkfd_svm_default_attrs(&r->attrs);
	return r;
}

/* Takes the range out of page tables and tree, and frees it. */
static void range_remove(struct vkfd_svm_range *r)
{
	struct vkfd_process *p = r->process;

	/* Nothing is asked for, so nothing fails. */
	vkfd_svm_set_gpus(r, 0);
	mutex_lock(&p->userptrs.lock);
	interval_tree_remove(&r->node, &p->svm.ranges);
	mutex_unlock(&p->userptrs.lock);
	vkfd_sysmem_unreserve((u64)vkfd_svm_npages(r) << PAGE_SHIFT);
	chunk_put(r->chunk);
	range_free(r);
}

/* Makes @r end before page @at of it, and a range of the rest, as @r is. */
static int range_split(struct vkfd_svm_range *r, unsigned long at)
{
	unsigned long i, n = vkfd_svm_npages(r), rest = n - at;
	struct vkfd_process *p = r->process;
	struct vkfd_svm_range *tail;
	unsigned int gpu;

	tail = range_alloc(p, r->node.start + at, r->node.last);
	if (!tail)
		return -ENOMEM;
	if (r->pfns) {
		tail->pfns = kvmalloc_array(rest, sizeof(*tail->pfns), GFP_KERNEL_ACCOUNT);
		if (!tail->pfns)
			goto err_free;
	}
	for (gpu = 0; gpu < VKFD_MAX_GPUS; gpu++) {
		if (!r->dma[gpu])
			continue;
		tail->dma[gpu] = kvmalloc_array(rest, sizeof(*tail->dma[gpu]), GFP_KERNEL_ACCOUNT);
		if (!tail->dma[gpu])
			goto err_free;
	}
	tail->chunk = r->chunk;
	tail->chunk->ranges++;
	tail->attrs = r->attrs;

	mutex_lock(&p->userptrs.lock);
	tail->gpus = r->gpus;
	tail->stale = r->stale;
	tail->uptodate = r->uptodate;
	tail->missing = r->missing;
	tail->holes = r->holes;
	for (i = find_next_bit(r->gone, n, at); i < n; i = find_next_bit(r->gone, n, i + 1))
		__set_bit(i - at, tail->gone);
	if (r->pfns)
		memcpy(tail->pfns, r->pfns + at, rest * sizeof(*r->pfns));
	for (gpu = 0; gpu < VKFD_MAX_GPUS; gpu++)
		if (r->dma[gpu])
			memcpy(tail->dma[gpu], r->dma[gpu] + at, rest * sizeof(*r->dma[gpu]));
	/* The arrays of @r stay as long as they are: what is behind its end is not looked at. */
	interval_tree_remove(&r->node, &p->svm.ranges);
	r->node.last = r->node.start + at - 1;
	interval_tree_insert(&r->node, &p->svm.ranges);
	interval_tree_insert(&tail->node, &p->svm.ranges);
	mutex_unlock(&p->userptrs.lock);
	return 0;

err_free:
	range_free(tail);
	return -ENOMEM;
}

int vkfd_svm_split_at(struct vkfd_process *p, unsigned long at)
{
	struct vkfd_svm_range *r;

	lockdep_assert_held(&p->svm.lock);

	r = vkfd_svm_first(p, at, at);
	if (!r || r->node.start == at)
		return 0;
	return range_split(r, at - r->node.start);
}

/* A range for pages that are in none and in one chunk, into @list. */
static int add_one(struct vkfd_process *p, unsigned long start, unsigned long last,
		   struct list_head *list)
{
	u64 size = (u64)(last - start + 1) << PAGE_SHIFT;
	struct vkfd_svm_range *r;
	int err;

	if (fatal_signal_pending(current))
		return -EINTR;
	err = vkfd_sysmem_reserve(size);
	if (err)
		return err;
	r = range_alloc(p, start, last);
	if (!r) {
		err = -ENOMEM;
		goto err_sysmem;
	}
	r->chunk = chunk_get(p, start);
	if (IS_ERR(r->chunk)) {
		err = PTR_ERR(r->chunk);
		goto err_range;
	}
	list_add_tail(&r->link, list);
	cond_resched();
	return 0;

err_range:
	range_free(r);
err_sysmem:
	vkfd_sysmem_unreserve(size);
	return err;
}

int vkfd_svm_add(struct vkfd_process *p, unsigned long start, unsigned long last)
{
	struct vkfd_svm_range *r, *next;
	unsigned long end;
	LIST_HEAD(fresh);
	int err = 0;

	lockdep_assert_held(&p->svm.lock);

	while (!err && start <= last) {
		r = vkfd_svm_first(p, start, last);
		if (r && r->node.start <= start) {
			start = r->node.last + 1;
			continue;
		}
		/* To the next range, or to the end of the chunk. */
		end = min(last, start | (VKFD_SVM_CHUNK_PAGES - 1));
		if (r)
			end = min(end, r->node.start - 1);
		err = add_one(p, start, end, &fresh);
		start = end + 1;
	}
	if (err) {
		list_for_each_entry_safe(r, next, &fresh, link) {
			vkfd_sysmem_unreserve((u64)vkfd_svm_npages(r) << PAGE_SHIFT);
			chunk_put(r->chunk);
			range_free(r);
		}
		return err;
	}
	mutex_lock(&p->userptrs.lock);
	list_for_each_entry_safe(r, next, &fresh, link) {
		list_del_init(&r->link);
		interval_tree_insert(&r->node, &p->svm.ranges);
	}
	mutex_unlock(&p->userptrs.lock);
	return 0;
}

/*
 * Where @r has to be split so that one side is all gone, or all not; 0: @r is all gone, its
 * size: nothing of it is.
 */
static unsigned long find_hole(struct vkfd_svm_range *r)
{
	unsigned long n = vkfd_svm_npages(r), at;

	mutex_lock(&r->process->userptrs.lock);
	at = find_first_bit(r->gone, n);
	if (!at) {
		at = find_next_zero_bit(r->gone, n, 0);
		if (at == n)
			at = 0;
	} else if (at == n) {
		r->holes = false;
	}
	mutex_unlock(&r->process->userptrs.lock);
	return at;
}

/* The first range from page @from on that has holes. */
static struct vkfd_svm_range *find_holed(struct vkfd_process *p, unsigned long from)
{
	struct vkfd_svm_range *r;

	for (r = vkfd_svm_first(p, from, ULONG_MAX); r; r = vkfd_svm_next(r, from, ULONG_MAX))
		if (READ_ONCE(r->holes))
			break;
	return r;
}

int vkfd_svm_trim(struct vkfd_process *p)
{
	unsigned long at, from = 0;
	struct vkfd_svm_range *r;
	u64 unmappings;
	int err = 0;

	lockdep_assert_held(&p->svm.lock);

	if (!READ_ONCE(p->svm.untrimmed))
		return 0;
	mutex_lock(&p->userptrs.lock);
	unmappings = p->svm.unmappings;
	mutex_unlock(&p->userptrs.lock);

	while (!err && (r = find_holed(p, from))) {
		from = r->node.start;
		at = find_hole(r);
		if (!at)
			range_remove(r);
		else if (at < vkfd_svm_npages(r))
			err = range_split(r, at);
		cond_resched();
	}
	/*
	 * Only now: who finds it cleared does not wait for us. What has been noted meanwhile may
	 * be left to the next who trims.
	 */
	mutex_lock(&p->userptrs.lock);
	if (!err && p->svm.unmappings == unmappings)
		p->svm.untrimmed = false;
	mutex_unlock(&p->userptrs.lock);
	return err;
}

void vkfd_svm_settle(struct vkfd_process *p)
{
	if (!READ_ONCE(p->svm.untrimmed))
		return;
	mutex_lock(&p->svm.lock);
	/* What it has no memory for is seen as being in use. */
	vkfd_svm_trim(p);
	mutex_unlock(&p->svm.lock);
}

bool vkfd_svm_overlaps(struct vkfd_process *p, u64 addr, u64 size)
{
	u64 last = addr + size - 1;
	bool found;

	if (!vkfd_svm_enabled)
		return false;
	if (last < addr)
		last = ULONG_MAX;
	mutex_lock(&p->userptrs.lock);
	found = vkfd_svm_first(p, addr >> PAGE_SHIFT, last >> PAGE_SHIFT);
	mutex_unlock(&p->userptrs.lock);
	return found;
}

bool vkfd_svm_always_mapped(struct vkfd_pdd *pdd, u64 addr, u64 size)
{
	unsigned long at = addr >> PAGE_SHIFT, last = (addr + size - 1) >> PAGE_SHIFT;
	struct vkfd_process *p = pdd->process;
	struct vkfd_svm_range *r;
	bool mapped = true;

	if (!vkfd_svm_enabled)
		return false;
	mutex_lock(&p->userptrs.lock);
	while (mapped && at <= last) {
		r = vkfd_svm_first(p, at, at);
		mapped = r && test_bit(pdd->dev->index, &r->gpus) &&
			 r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED;
		at = mapped ? r->node.last + 1 : at;
	}
	mutex_unlock(&p->userptrs.lock);
	return mapped;
}

void vkfd_svm_show(struct seq_file *m, struct vkfd_process *p)
{
	unsigned long ranges = 0, pages = 0, present = 0, vram = 0, mapped = 0, i, chunks = 0;
	struct vkfd_svm_chunk *chunk;
	struct vkfd_svm_range *r;

	mutex_lock(&p->svm.lock);
	xa_for_each(&p->svm.chunks, i, chunk)
		chunks++;
	mutex_lock(&p->userptrs.lock);
	for (r = vkfd_svm_first(p, 0, ULONG_MAX); r; r = vkfd_svm_next(r, 0, ULONG_MAX)) {
		ranges++;
		pages += vkfd_svm_npages(r);
		mapped += !!r->gpus;
		for (i = 0; r->pfns && i < vkfd_svm_npages(r); i++) {
			if (!r->pfns[i])
				continue;
			present++;
			vram += is_device_private_page(hmm_pfn_to_page(r->pfns[i]));
		}
	}
	seq_printf(m, "ranges %lu\nchunks %lu\npages %lu\nmapped %lu\npresent %lu\nuntrimmed %d\n",
		   ranges, chunks, pages, mapped, present, p->svm.untrimmed);
	seq_printf(m, "migrates %d\nvram %lu\n", IS_ENABLED(CONFIG_DEVICE_PRIVATE), vram);
	seq_printf(m, "invalidations %llu\nfetches %llu\n", p->svm.invalidations, p->svm.fetches);
	mutex_unlock(&p->userptrs.lock);
	mutex_unlock(&p->svm.lock);
}

void vkfd_svm_init(struct vkfd_process *p)
{
	mutex_init(&p->svm.lock);
	p->svm.ranges = RB_ROOT_CACHED;
	xa_init(&p->svm.chunks);
}

void vkfd_svm_fini(struct vkfd_process *p)
{
	struct vkfd_svm_range *r;

	mutex_lock(&p->svm.lock);
	while ((r = vkfd_svm_first(p, 0, ULONG_MAX)))
		range_remove(r);
	mutex_unlock(&p->svm.lock);
	WARN_ON(!xa_empty(&p->svm.chunks));
}
