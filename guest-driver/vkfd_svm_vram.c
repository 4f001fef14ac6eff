// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of SVM ranges in VRAM, on kernels with CONFIG_DEVICE_PRIVATE.
 *
 * A page of memory that only the GPU can reach, as the kernel sees it: a CPU that touches it
 * faults, and it is copied back. Where a page is, is the kernel's to know; ranges do not
 * keep it, hmm_range_fault() tells. All copies are the CPU's, through BAR0. Queues are off
 * meanwhile: a migration begins with an MMU notifier.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/hmm.h>
#include <linux/ioport.h>
#include <linux/llist.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_device.h"
#include "vkfd_evict.h"
#include "vkfd_process.h"
#include "vkfd_smi.h"
#include "vkfd_svm.h"
#include "vkfd_svm_vram.h"
#include "vkfd_vram.h"

/* Pages that are copied at a time. */
#define BATCH	512

/**
 * struct vram_page - a page of VRAM that a process has, page->zone_device_data
 * @dev: whose VRAM
 * @block: where in it, in a list of one
 * @free: in vkfd_svm_vram.freed
 */
struct vram_page {
	struct vkfd_device *dev;
	struct list_head block;
	struct llist_node free;
};

/**
 * struct batch - pages that move
 * @src: as migrate_vma wants them
 * @dst: where to
 */
struct batch {
	unsigned long src[BATCH];
	unsigned long dst[BATCH];
};

u64 vkfd_svm_vram_offset(struct page *page)
{
	struct dev_pagemap *pgmap = page->pgmap;

	return PFN_PHYS(page_to_pfn(page)) - pgmap->range.start;
}

/* What is freed in any context is given back here. */
static void free_work(struct work_struct *work)
{
	struct vkfd_svm_vram *sv = container_of(work, struct vkfd_svm_vram, work);
	struct llist_node *freed = llist_del_all(&sv->freed);
	struct vram_page *vp, *next;

	llist_for_each_entry_safe(vp, next, freed, free) {
		vkfd_vram_free_blocks(vp->dev, &vp->block);
		vkfd_evict_kick(vp->dev);
		atomic_long_dec(&sv->pages);
		kfree(vp);
	}
}

/* Somebody's last reference, maybe under a page-table lock. */
static void svm_page_free(struct page *page)
{
	struct vram_page *vp = page->zone_device_data;
	struct vkfd_svm_vram *sv = &vp->dev->svm_vram;

	page->zone_device_data = NULL;
	llist_add(&vp->free, &sv->freed);
	queue_work(system_unbound_wq, &sv->work);
}

/* A page of VRAM, locked, with undefined contents; NULL: there is none. */
static struct page *vram_page_new(struct vkfd_device *dev)
{
	struct vkfd_vram_block *block;
	struct vram_page *vp;
	struct page *page;

	vp = kzalloc(sizeof(*vp), GFP_KERNEL_ACCOUNT);
	if (!vp)
		return NULL;
	vp->dev = dev;
	INIT_LIST_HEAD(&vp->block);
	if (vkfd_vram_alloc_blocks(dev, PAGE_SIZE, true, false, &vp->block)) {
		kfree(vp);
		return NULL;
	}
	block = list_first_entry(&vp->block, struct vkfd_vram_block, link);
	page = pfn_to_page(PHYS_PFN(dev->svm_vram.pgmap.range.start + block->node.start));
	atomic_long_inc(&dev->svm_vram.pages);
	page->zone_device_data = vp;
	zone_device_page_init(page);
	return page;
}

/* From RAM, or zeroes without @from. The part is there. */
static void copy_in(struct vkfd_device *dev, struct page *to, struct page *from)
{
	void __iomem *at = dev->vram.map + vkfd_svm_vram_offset(to);
	void *src;

	if (!from) {
		memset_io(at, 0, PAGE_SIZE);
		return;
	}
	src = kmap_local_page(from);
	memcpy_toio(at, src, PAGE_SIZE);
	kunmap_local(src);
}

static void copy_out(struct vkfd_device *dev, struct page *to, struct page *from)
{
	void *dst = kmap_local_page(to);

	memcpy_fromio(dst, dev->vram.map + vkfd_svm_vram_offset(from), PAGE_SIZE);
	kunmap_local(dst);
}

/* Pages for what is to move into VRAM, as far as there are any. */
static void fill(struct vkfd_device *dev, struct migrate_vma *m)
{
	unsigned long i, n = (m->end - m->start) >> PAGE_SHIFT;
	struct page *page;
	int idx;

	/* Under the lock none is made any more once the part is to go. */
	down_read(&dev->svm_vram.sem);
	if (!dev->svm_vram.on || !vkfd_hw_enter(dev, &idx)) {
		up_read(&dev->svm_vram.sem);
		return;
	}
	for (i = 0; i < n; i++) {
		if (!(m->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		page = vram_page_new(dev);
		if (!page)
			break;
		copy_in(dev, page, migrate_pfn_to_page(m->src[i]));
		m->dst[i] = migrate_pfn(page_to_pfn(page));
	}
	/* Write-combined stores are in VRAM before an entry points there. */
	wmb();
	vkfd_hw_exit(idx);
	up_read(&dev->svm_vram.sem);
}

/*
 * Pages of RAM for those of @src that are in VRAM and are to move. While the part is away they
 * stay, as do those for which there is no memory. Of one that is dead they come without their
 * contents.
 */
static void empty(struct vkfd_device *dev, unsigned long *src, unsigned long *dst, unsigned long n)
{
	struct page *page, *from;
	bool there, dead = READ_ONCE(dev->dead);
	unsigned long i;
	int idx;

	there = vkfd_hw_enter(dev, &idx);
	if (!there && !dead) {
		/* Whoever asks asks again. */
		usleep_range(1000, 2000);
		return;
	}
	for (i = 0; i < n; i++) {
		from = migrate_pfn_to_page(src[i]);
		if (!(src[i] & MIGRATE_PFN_MIGRATE) || !from || !is_device_private_page(from))
			continue;
		page = alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_ACCOUNT);
		if (!page)
			break;
		lock_page(page);
		if (there)
			copy_out(dev, page, from);
		else
			clear_highpage(page);
		dst[i] = migrate_pfn(page_to_pfn(page));
	}
	if (there)
		vkfd_hw_exit(idx);
}

/* Moves pages of one VMA, at most BATCH, into VRAM or back. mmap_lock held. */
static int move(struct vkfd_device *dev, struct migrate_vma *m, struct batch *b, bool in)
{
	unsigned long n = (m->end - m->start) >> PAGE_SHIFT;
	int err;

	memset(b, 0, sizeof(*b));
	m->src = b->src;
	m->dst = b->dst;
	m->pgmap_owner = dev;
	m->flags = in ? MIGRATE_VMA_SELECT_SYSTEM : MIGRATE_VMA_SELECT_DEVICE_PRIVATE;
	err = migrate_vma_setup(m);
	if (err)
		return err;
	if (m->cpages) {
		if (in)
			fill(dev, m);
		else
			empty(dev, b->src, b->dst, n);
	}
	migrate_vma_pages(m);
	migrate_vma_finalize(m);
	return 0;
}

/* All anonymous memory between @start and @end. No lock held, but svm.lock. */
static void move_range(struct vkfd_device *dev, struct mm_struct *mm, unsigned long start,
		       unsigned long end, bool in)
{
	struct batch *b = kvmalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	struct vm_area_struct *vma;

	while (b && start < end) {
		struct migrate_vma m = { .start = start };

		mmap_read_lock(mm);
		vma = find_vma(mm, start);
		if (!vma || vma->vm_start >= end) {
			mmap_read_unlock(mm);
			break;
		}
		m.vma = vma;
		m.start = max(start, vma->vm_start);
		m.end = min3(end, vma->vm_end, m.start + BATCH * PAGE_SIZE);
		/* What can be in VRAM; the rest stays where it is. */
		if (vma_is_anonymous(vma))
			move(dev, &m, b, in);
		start = m.end;
		mmap_read_unlock(mm);
		cond_resched();
	}
	kvfree(b);
}

/* The first part between @at and @end that can be in VRAM, into @from and @to. */
static bool next_anonymous(struct mm_struct *mm, unsigned long at, unsigned long end,
			   unsigned long *from, unsigned long *to)
{
	struct vm_area_struct *vma;
	bool found = false;

	mmap_read_lock(mm);
	while (!found && at < end && (vma = find_vma(mm, at)) && vma->vm_start < end) {
		found = vma_is_anonymous(vma);
		*from = max(at, vma->vm_start);
		*to = min(end, vma->vm_end);
		at = *to;
	}
	mmap_read_unlock(mm);
	return found;
}

/*
 * Whether some of @r is in VRAM of @dev. What does not have to move is left alone: to look for
 * pages that may, migrate_vma_setup() calls notifiers, which take queues off.
 */
static bool in_vram(struct vkfd_svm_range *r, struct mm_struct *mm, struct vkfd_device *dev)
{
	unsigned long at = r->node.start << PAGE_SHIFT, end = (r->node.last + 1) << PAGE_SHIFT;
	unsigned long *pfns, i;
	bool found = false;
	int err = 0;

	if (!atomic_long_read(&dev->svm_vram.pages))
		return false;
	pfns = kvmalloc_array(BATCH, sizeof(*pfns), GFP_KERNEL_ACCOUNT);
	/* Not known to be nowhere. */
	if (!pfns)
		return true;
	while (!found && !err && at < end) {
		struct hmm_range range = {
			.notifier = &r->chunk->mni,
			.notifier_seq = mmu_interval_read_begin(&r->chunk->mni),
			.start = at,
			.end = min(end, at + BATCH * PAGE_SIZE),
			.hmm_pfns = pfns,
			.dev_private_owner = dev,
		};

		memset(pfns, 0, BATCH * sizeof(*pfns));
		mmap_read_lock(mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(mm);
		for (i = 0; !err && !found && i < BATCH; i++)
			found = pfns[i] & HMM_PFN_VALID &&
				is_device_private_page(hmm_pfn_to_page(pfns[i]));
		at += BATCH * PAGE_SIZE;
	}
	kvfree(pfns);
	return found || err;
}

void vkfd_svm_vram_move(struct vkfd_svm_range *r, struct mm_struct *mm, struct vkfd_device *dev,
			bool in, int trigger)
{
	unsigned long at = r->node.start << PAGE_SHIFT, end = (r->node.last + 1) << PAGE_SHIFT;
	struct vkfd_migration m = {
		.process = r->process,
		.in = in,
		.prefetch = r->attrs.prefetch,
		.preferred = r->attrs.preferred,
		.trigger = trigger,
	};
	unsigned long from, to;
	int idx;

	lockdep_assert_held(&r->process->svm.lock);

	if (!drm_dev_enter(&dev->drm, &idx))
		return;
	if (dev->svm_vram.res && (in || in_vram(r, mm, dev))) {
		/* As upstream, one migration for each VMA. */
		while (next_anonymous(mm, at, end, &from, &to)) {
			m.start = from >> PAGE_SHIFT;
			m.npages = (to - from) >> PAGE_SHIFT;
			vkfd_smi_migrate_start(dev, &m);
			move_range(dev, mm, from, to, in);
			vkfd_smi_migrate_end(dev, &m);
			at = to;
		}
	}
	drm_dev_exit(idx);
}

/* ---- CPU faults ---- */

/*
 * What comes back with @pn: as much as the range's granularity says, as upstream. Memory that
 * is no range, as that of a child after a fork, has the default one. @m->process: NULL, or
 * with a reference.
 */
static void find_around(struct mm_struct *mm, unsigned long pn, struct vkfd_migration *m)
{
	struct vkfd_process *p = vkfd_process_get_by_mm(mm);
	struct vkfd_svm_range *r = NULL;
	struct vkfd_svm_attrs attrs;
	unsigned long n;

	vkfd_svm_default_attrs(&attrs);
	*m = (struct vkfd_migration){
		.process = p,
		.trigger = KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU,
	};
	if (p) {
		mutex_lock(&p->userptrs.lock);
		r = vkfd_svm_first(p, pn, pn);
		if (r)
			attrs = r->attrs;
	}
	n = min(1ul << attrs.granularity, VKFD_SVM_CHUNK_PAGES);
	m->start = ALIGN_DOWN(pn, n);
	m->npages = n;
	if (r) {
		m->start = max(m->start, r->node.start);
		m->npages = min(ALIGN_DOWN(pn, n) + n - 1, r->node.last) - m->start + 1;
	}
	m->prefetch = attrs.prefetch;
	m->preferred = attrs.preferred;
	if (p)
		mutex_unlock(&p->userptrs.lock);
}

/* A CPU touches a page in VRAM: that and what is around it come back. mmap_lock held. */
static vm_fault_t svm_migrate_to_ram(struct vm_fault *vmf)
{
	struct vram_page *vp = vmf->page->zone_device_data;
	struct vm_area_struct *vma = vmf->vma;
	struct vkfd_device *dev = vp->dev;
	unsigned long at, end, page = vmf->address & PAGE_MASK;
	struct vkfd_migration around;
	vm_fault_t ret = 0;
	struct batch *b;
	int err;

	b = kvmalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return VM_FAULT_OOM;
	find_around(vma->vm_mm, page >> PAGE_SHIFT, &around);
	at = max(around.start << PAGE_SHIFT, vma->vm_start);
	end = min((around.start + around.npages) << PAGE_SHIFT, vma->vm_end);
	around.start = at >> PAGE_SHIFT;
	around.npages = (end - at) >> PAGE_SHIFT;
	if (around.process)
		vkfd_smi_migrate_start(dev, &around);
	while (at < end) {
		struct migrate_vma m = {
			.vma = vma,
			.start = at,
			.end = min(end, at + BATCH * PAGE_SIZE),
		};
		bool here = page >= m.start && page < m.end;

		if (here)
			m.fault_page = vmf->page;
		err = move(dev, &m, b, false);
		/* The others have time. */
		if (err && here)
			ret = VM_FAULT_SIGBUS;
		at = m.end;
	}
	/* The contents are lost. A part that is away will be back: the CPU faults again. */
	if (READ_ONCE(dev->dead))
		ret = VM_FAULT_SIGBUS;
	if (around.process) {
		vkfd_smi_migrate_end(dev, &around);
		vkfd_process_put(around.process);
	}
	kvfree(b);
	return ret;
}

static const struct dev_pagemap_ops svm_pgmap_ops = {
	.page_free = svm_page_free,
	.migrate_to_ram = svm_migrate_to_ram,
};

/* ---- out of VRAM ---- */

/* Whether pages have to go on going out. What is free now is counted. */
static bool more(struct vkfd_device *dev, u64 size, bool all)
{
	bool full;

	flush_work(&dev->svm_vram.work);
	if (!atomic_long_read(&dev->svm_vram.pages))
		return false;
	mutex_lock(&dev->vram.lock);
	full = vkfd_vram_free_bytes(dev, false) < size;
	mutex_unlock(&dev->vram.lock);
	return full || all;
}

/* By where they are in VRAM, whoever's they are. */
static void evict_pages(struct vkfd_device *dev, u64 size, bool all)
{
	unsigned long pfn, first, end;
	struct batch *b;

	b = more(dev, size, all) ? kvmalloc(sizeof(*b), GFP_KERNEL) : NULL;
	if (!b)
		return;
	first = PHYS_PFN(dev->svm_vram.pgmap.range.start);
	end = first + PHYS_PFN(dev->vram.size);
	for (pfn = first; pfn < end && more(dev, size, all); pfn += BATCH) {
		memset(b, 0, sizeof(*b));
		if (migrate_device_range(b->src, pfn, BATCH))
			break;
		empty(dev, b->src, b->dst, BATCH);
		migrate_device_pages(b->src, b->dst, BATCH);
		migrate_device_finalize(b->src, b->dst, BATCH);
		cond_resched();
	}
	kvfree(b);
}

/* By the ranges of a process, so that it can be told which. */
static void evict_ranges(struct vkfd_process *p, struct vkfd_device *dev, u64 size, bool all)
{
	struct mm_struct *mm = p->userptrs.mm;
	struct vkfd_svm_range *r;

	if (!mmget_not_zero(mm))
		return;
	if (!mutex_lock_killable(&p->svm.lock)) {
		for (r = vkfd_svm_first(p, 0, ULONG_MAX); r && more(dev, size, all);
		     r = vkfd_svm_next(r, 0, ULONG_MAX))
			vkfd_svm_vram_move(r, mm, dev, false, KFD_MIGRATE_TRIGGER_TTM_EVICTION);
		mutex_unlock(&p->svm.lock);
	}
	mmput(mm);
}

void vkfd_svm_vram_make_room(struct vkfd_device *dev, u64 size, bool all)
{
	struct vkfd_svm_vram *sv = &dev->svm_vram;
	unsigned long pasid = 0;
	struct vkfd_process *p;

	while (more(dev, size, all) && (p = vkfd_process_next(&pasid))) {
		evict_ranges(p, dev, size, all);
		vkfd_process_put(p);
	}
	/* What is no range (any more), as of the children of a fork. */
	down_read(&sv->sem);
	if (sv->on)
		evict_pages(dev, size, all);
	up_read(&sv->sem);
}

int vkfd_svm_vram_init(struct vkfd_device *dev)
{
	struct vkfd_svm_vram *sv = &dev->svm_vram;
	struct resource *res;
	void *addr;

	init_llist_head(&sv->freed);
	INIT_WORK(&sv->work, free_work);
	init_rwsem(&sv->sem);
	if (!vkfd_svm_enabled)
		return 0;
	res = request_free_mem_region(&iomem_resource, dev->vram.size, "vkfd-svm");
	if (IS_ERR(res))
		return PTR_ERR(res);
	sv->pgmap.type = MEMORY_DEVICE_PRIVATE;
	sv->pgmap.range.start = res->start;
	sv->pgmap.range.end = res->end;
	sv->pgmap.nr_range = 1;
	sv->pgmap.ops = &svm_pgmap_ops;
	sv->pgmap.owner = dev;
	addr = memremap_pages(&sv->pgmap, dev_to_node(&dev->pdev->dev));
	if (IS_ERR(addr)) {
		release_mem_region(res->start, resource_size(res));
		return PTR_ERR(addr);
	}
	sv->res = res;
	sv->on = true;
	return 0;
}

void vkfd_svm_vram_fini(struct vkfd_device *dev)
{
	struct vkfd_svm_vram *sv = &dev->svm_vram;

	if (!sv->res)
		return;
	down_write(&sv->sem);
	sv->on = false;
	up_write(&sv->sem);
	/* What others have locked just now is tried again. */
	while (atomic_long_read(&sv->pages)) {
		evict_pages(dev, 0, true);
		flush_work(&sv->work);
		cond_resched();
	}
	memunmap_pages(&sv->pgmap);
	release_mem_region(sv->res->start, resource_size(sv->res));
	sv->res = NULL;
}
