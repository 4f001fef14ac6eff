// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of SVM ranges: looked up, entered into page tables, and given back when the process
 * loses them. The way of vkfd_userptr.c, but page by page: what is not touched by a notifier
 * stays, and what there is no memory for does not keep the rest of the range away.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/gpuvm.h>

#include "vkfd_bo.h"
#include "vkfd_process.h"
#include "vkfd_smi.h"
#include "vkfd_svm.h"
#include "vkfd_svm_vram.h"
#include "vkfd_trace.h"
#include "vkfd_userptr.h"
#include "vkfd_vm.h"

/* How long a look-up that does not have to succeed goes on. */
#define FETCH_MS	1000

/**
 * struct entries - for svm_pte()
 * @r: range
 * @gpu: whose entries
 * @first: page of @r that the first entry is of
 * @empty: invalid ones, whatever is there
 */
struct entries {
	struct vkfd_svm_range *r;
	unsigned int gpu;
	unsigned long first;
	bool empty;
};

/* As upstream on Vega20: UC where coherence is asked for, else NC. */
static u64 svm_pte(void *data, u64 index)
{
	const u32 coherent = KFD_IOCTL_SVM_FLAG_COHERENT | KFD_IOCTL_SVM_FLAG_EXT_COHERENT;
	struct entries *e = data;
	unsigned long i = e->first + index;
	u32 flags = e->r->attrs.flags;
	unsigned long pfn = e->r->pfns[i];
	u64 pte;

	if (e->empty || !pfn)
		return 0;
	if (is_device_private_page(hmm_pfn_to_page(pfn)))
		pte = vkfd_svm_vram_offset(hmm_pfn_to_page(pfn));
	else if (e->r->dma[e->gpu][i] != DMA_MAPPING_ERROR)
		pte = e->r->dma[e->gpu][i] | AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED;
	else
		return 0;
	pte |= AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE;
	if (pfn & HMM_PFN_WRITE && !(flags & KFD_IOCTL_SVM_FLAG_GPU_RO))
		pte |= AMDGPU_PTE_WRITEABLE;
	if (flags & KFD_IOCTL_SVM_FLAG_GPU_EXEC)
		pte |= AMDGPU_PTE_EXECUTABLE;
	if (flags & coherent)
		pte |= (u64)AMDGPU_MTYPE_UC << AMDGPU_PTE_MTYPE_VG10__SHIFT;
	return pte;
}

/*
 * Entries of @n pages from @first on, of all GPUs that have the range. A part that is away
 * keeps those it has: its queues are off, and are not put back before they are mended.
 */
static void write_entries(struct vkfd_svm_range *r, unsigned long first, unsigned long n,
			  bool empty)
{
	struct entries e = { .r = r, .first = first, .empty = empty };
	unsigned long missed = 0;

	lockdep_assert_held(&r->process->userptrs.lock);

	for_each_set_bit(e.gpu, &r->gpus, VKFD_MAX_GPUS)
		if (vkfd_vm_write_range(r->process->pdds[e.gpu]->vm,
					(r->node.start + first) << PAGE_SHIFT, n, svm_pte, &e))
			__set_bit(e.gpu, &missed);
	if (missed) {
		r->stale |= missed;
		vkfd_userptrs_evict(r->process, missed, KFD_QUEUE_EVICTION_TRIGGER_SVM);
	}
}

void vkfd_svm_rewrite(struct vkfd_svm_range *r)
{
	if (r->pfns)
		write_entries(r, 0, vkfd_svm_npages(r), false);
}

/* Mends the entries of @gpu. False: not possible now. */
static bool clean(struct vkfd_svm_range *r, unsigned int gpu)
{
	struct vkfd_device *dev = r->process->pdds[gpu]->dev;
	struct entries e = { .r = r, .gpu = gpu };

	if (vkfd_vm_write_range(r->process->pdds[gpu]->vm, r->node.start << PAGE_SHIFT,
				vkfd_svm_npages(r), svm_pte, &e) &&
	    !READ_ONCE(dev->dead) && !drm_dev_is_unplugged(&dev->drm))
		return false;
	__clear_bit(gpu, &r->stale);
	return true;
}

static void dma_put(struct vkfd_svm_range *r, unsigned int gpu, unsigned long i,
		    unsigned long pfn)
{
	if (r->dma[gpu][i] == DMA_MAPPING_ERROR)
		return;
	vkfd_dma_page_put(r->process->pdds[gpu]->dev, hmm_pfn_to_page(pfn));
	r->dma[gpu][i] = DMA_MAPPING_ERROR;
}

static bool is_there(struct vkfd_svm_range *r, unsigned long first, unsigned long n)
{
	unsigned long i;

	for (i = first; r->pfns && i < first + n; i++)
		if (r->pfns[i])
			return true;
	return false;
}

/*
 * Gives up those of @n pages from @first on that are there: invalid entries, no bus
 * addresses. What a GPU may have written is dirty, whatever the CPU's page tables say. The
 * pages are still the process's: who is going to take them waits for the notifier.
 */
static void forget(struct vkfd_svm_range *r, unsigned long first, unsigned long n)
{
	bool writes = !(r->attrs.flags & KFD_IOCTL_SVM_FLAG_GPU_RO);
	struct folio *folio, *last = NULL;
	unsigned long i, pfn;
	unsigned int gpu;

	lockdep_assert_held(&r->process->userptrs.lock);

	if (!is_there(r, first, n))
		return;
	write_entries(r, first, n, true);
	for (i = first; i < first + n; i++) {
		pfn = r->pfns[i];
		if (!pfn)
			continue;
		folio = page_folio(hmm_pfn_to_page(pfn));
		/* What is in VRAM is copied whenever it leaves. */
		if (pfn & HMM_PFN_WRITE && writes && folio != last &&
		    !folio_is_device_private(folio)) {
			folio_mark_dirty(folio);
			last = folio;
		}
		for_each_set_bit(gpu, &r->gpus, VKFD_MAX_GPUS)
			dma_put(r, gpu, i, pfn);
		r->pfns[i] = 0;
	}
}

/* A notifier has reached pages @first to @last of the address space, some of them of @r. */
static void invalidate(struct vkfd_svm_range *r, unsigned long first, unsigned long last,
		       enum mmu_notifier_event event)
{
	struct vkfd_process *p = r->process;
	unsigned int gpu;
	unsigned long n;

	first = max(first, r->node.start) - r->node.start;
	last = min(last, r->node.last) - r->node.start;
	n = last - first + 1;

	p->svm.invalidations++;
	if (event == MMU_NOTIFY_UNMAP) {
		/* Nothing will be put in its place: an access is a fault from now on. */
		for_each_set_bit(gpu, &r->gpus, VKFD_MAX_GPUS)
			vkfd_smi_unmap_from_gpu(p->pdds[gpu]->dev, p, r->node.start + first, n,
						KFD_SVM_UNMAP_TRIGGER_UNMAP_FROM_CPU);
		forget(r, first, n);
		bitmap_set(r->gone, first, n);
		r->holes = true;
		p->svm.unmappings++;
		p->svm.untrimmed = true;
		vkfd_userptrs_kick(p);
		return;
	}
	r->uptodate = false;
	/* Also if nothing is there: what was out of reach may not be, as of now. */
	if (r->gpus)
		vkfd_userptrs_evict(p, r->gpus, KFD_QUEUE_EVICTION_TRIGGER_SVM);
	forget(r, first, n);
}

static bool svm_invalidate(struct mmu_interval_notifier *mni,
			   const struct mmu_notifier_range *range, unsigned long cur_seq)
{
	struct vkfd_svm_chunk *chunk = container_of(mni, struct vkfd_svm_chunk, mni);
	unsigned long first = range->start >> PAGE_SHIFT, last = (range->end - 1) >> PAGE_SHIFT;
	struct vkfd_process *p = chunk->process;
	struct vkfd_svm_range *r;

	/* Who cannot wait for the hardware, the OOM reaper, leaves such ranges alone. */
	if (!mmu_notifier_range_blockable(range))
		return false;

	first = max(first, chunk->index * VKFD_SVM_CHUNK_PAGES);
	last = min(last, (chunk->index + 1) * VKFD_SVM_CHUNK_PAGES - 1);
	mutex_lock(&p->userptrs.lock);
	mmu_interval_set_seq(mni, cur_seq);
	for (r = vkfd_svm_first(p, first, last); r; r = vkfd_svm_next(r, first, last))
		invalidate(r, first, last, range->event);
	mutex_unlock(&p->userptrs.lock);
	return true;
}

const struct mmu_interval_notifier_ops vkfd_svm_mn_ops = {
	.invalidate = svm_invalidate,
};

/* How many pages from @i on are to be looked up; 0: @i is not. */
static unsigned long run_of_missing(struct vkfd_svm_range *r, unsigned long i)
{
	unsigned long n = vkfd_svm_npages(r), end = i;

	while (end < n && !READ_ONCE(r->pfns[end]) && !test_bit(end, r->gone))
		end++;
	return end - i;
}

/*
 * hmm_range_fault() takes a page in VRAM for good although the process may not write it, as
 * after a fork. Then it has to come back, by a fault, for the process to get one of its own.
 */
static int mend_read_only(struct hmm_range *range, unsigned long addr, unsigned long *pfns)
{
	unsigned long i, n = (range->end - addr) >> PAGE_SHIFT;
	int err = 0;

	if (!(range->default_flags & HMM_PFN_REQ_WRITE) || !range->dev_private_owner)
		return 0;
	range->dev_private_owner = NULL;
	for (i = 0; i < n && !err; i++) {
		if (!(pfns[i] & HMM_PFN_VALID) || pfns[i] & HMM_PFN_WRITE)
			continue;
		range->start = addr + (i << PAGE_SHIFT);
		range->end = range->start + PAGE_SIZE;
		range->hmm_pfns = pfns + i;
		err = hmm_range_fault(range);
	}
	return err;
}

/*
 * Up to @n pages from @addr on, all of one VMA, into @pfns; what there is no memory for
 * stays 0. How many it were, or -EBUSY.
 */
static long look_up_some(struct vkfd_svm_range *r, struct mm_struct *mm, unsigned long seq,
			 unsigned long addr, unsigned long n, unsigned long *pfns)
{
	struct hmm_range range = {
		.notifier = &r->chunk->mni,
		.notifier_seq = seq,
		.start = addr,
		.end = addr + (n << PAGE_SHIFT),
		.hmm_pfns = pfns,
		.default_flags = HMM_PFN_REQ_FAULT,
	};
	unsigned int only = ffs(r->gpus) - 1;
	struct vm_area_struct *vma;
	unsigned long end;
	int err = 0;

	/* VRAM is reached by its own GPU only: for others it comes back, by a fault. */
	if (r->gpus == BIT(only))
		range.dev_private_owner = r->process->pdds[only]->dev;
	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	if (!vma || vma->vm_start > addr) {
		if (vma)
			range.end = min(range.end, vma->vm_start);
		goto unlock;
	}
	range.end = min(range.end, vma->vm_end);
	if (!(vma->vm_flags & VM_READ) || vma->vm_flags & (VM_IO | VM_PFNMAP))
		goto unlock;
	if (vma->vm_flags & VM_WRITE)
		range.default_flags |= HMM_PFN_REQ_WRITE;
	end = range.end;
	err = hmm_range_fault(&range);
	if (!err)
		err = mend_read_only(&range, addr, pfns);
	if (err == -EFAULT) {
		/* Somewhere there is nothing, as behind the end of a file: the rest as it is. */
		range.start = addr;
		range.end = end;
		range.hmm_pfns = pfns;
		range.default_flags = 0;
		err = hmm_range_fault(&range);
	}
	range.end = end;
unlock:
	mmap_read_unlock(mm);
	if (err == -EBUSY)
		return err;
	return (range.end - addr) >> PAGE_SHIFT;
}

/* Pages of @r that are not there, as of @seq, into @pfns. -EBUSY, -EINTR. */
static int look_up(struct vkfd_svm_range *r, struct mm_struct *mm, unsigned long seq,
		   unsigned long *pfns)
{
	unsigned long i, k, run, n = vkfd_svm_npages(r);
	long got;

	for (i = 0; i < n; i += run ?: 1) {
		run = run_of_missing(r, i);
		for (k = 0; k < run; k += got) {
			if (fatal_signal_pending(current))
				return -EINTR;
			got = look_up_some(r, mm, seq, (r->node.start + i + k) << PAGE_SHIFT,
					   run - k, pfns + i + k);
			if (got < 0)
				return got;
			cond_resched();
		}
	}
	for (i = 0; i < n; i++)
		if (!(pfns[i] & HMM_PFN_VALID) || pfns[i] & HMM_PFN_ERROR)
			pfns[i] = 0;
	return 0;
}

static void unmap_found(struct vkfd_svm_range *r, const unsigned long *pfns)
{
	unsigned long i, n = vkfd_svm_npages(r);
	unsigned int gpu;

	for_each_set_bit(gpu, &r->gpus, VKFD_MAX_GPUS)
		for (i = 0; i < n; i++)
			if (pfns[i])
				dma_put(r, gpu, i, pfns[i]);
}

/* Bus addresses of what was found, on the parts of @gpus. */
static int map_found(struct vkfd_svm_range *r, unsigned long gpus, const unsigned long *pfns)
{
	unsigned long i, n = vkfd_svm_npages(r);
	unsigned int gpu;
	int err = 0;

	for_each_set_bit(gpu, &gpus, VKFD_MAX_GPUS) {
		struct vkfd_device *dev = r->process->pdds[gpu]->dev;

		for (i = 0; i < n && !err; i++) {
			/* Not there, so nobody else looks at its address. */
			if (pfns[i] && !is_device_private_page(hmm_pfn_to_page(pfns[i])))
				err = vkfd_dma_page_get(dev, hmm_pfn_to_page(pfns[i]),
							&r->dma[gpu][i]);
			cond_resched();
		}
	}
	if (err)
		unmap_found(r, pfns);
	return err;
}

/* What was found becomes what is there, unless it is overtaken: -EBUSY. */
static int publish(struct vkfd_svm_range *r, unsigned long seq, const unsigned long *pfns)
{
	unsigned long i, n = vkfd_svm_npages(r), first = n, last = 0;
	struct vkfd_process *p = r->process;
	int err = 0;

	mutex_lock(&p->userptrs.lock);
	if (mmu_interval_read_retry(&r->chunk->mni, seq)) {
		mutex_unlock(&p->userptrs.lock);
		return -EBUSY;
	}
	p->svm.fetches++;
	for (i = 0; i < n; i++) {
		if (pfns[i]) {
			r->pfns[i] = pfns[i];
			first = min(first, i);
			last = i;
		} else if (!r->pfns[i] && !test_bit(i, r->gone)) {
			err = -EFAULT;
		}
	}
	r->uptodate = true;
	r->missing = err;
	if (first < n)
		write_entries(r, first, last - first + 1, false);
	mutex_unlock(&p->userptrs.lock);
	return err;
}

/* Maps and publishes, on those parts that are there: they do not go meanwhile. */
static int enter(struct vkfd_svm_range *r, unsigned long seq, const unsigned long *pfns)
{
	unsigned long gpus = 0;
	int idx[VKFD_MAX_GPUS];
	unsigned int gpu;
	int err;

	for_each_set_bit(gpu, &r->gpus, VKFD_MAX_GPUS)
		if (drm_dev_enter(&r->process->pdds[gpu]->dev->drm, &idx[gpu]))
			__set_bit(gpu, &gpus);
	err = map_found(r, gpus, pfns);
	if (!err) {
		err = publish(r, seq, pfns);
		if (err == -EBUSY)
			unmap_found(r, pfns);
	}
	for_each_set_bit(gpu, &gpus, VKFD_MAX_GPUS)
		drm_dev_exit(idx[gpu]);
	return err;
}

int vkfd_svm_fetch(struct vkfd_svm_range *r, struct mm_struct *mm, bool patient)
{
	unsigned long end = jiffies + msecs_to_jiffies(FETCH_MS);
	unsigned long seq, *pfns, n = vkfd_svm_npages(r);
	int err;

	lockdep_assert_held(&r->process->svm.lock);

	if (!r->gpus)
		return 0;
	pfns = kvmalloc_array(n, sizeof(*pfns), GFP_KERNEL_ACCOUNT);
	if (!pfns)
		return -ENOMEM;
	do {
		memset(pfns, 0, n * sizeof(*pfns));
		seq = mmu_interval_read_begin(&r->chunk->mni);
		err = look_up(r, mm, seq, pfns);
		if (!err)
			err = enter(r, seq, pfns);
		if (err == -EBUSY && !patient && time_after(jiffies, end))
			err = -EAGAIN;
	} while (err == -EBUSY);
	kvfree(pfns);
	return err;
}

/* Arrays for pages and for their addresses on @gpus. Nothing is there yet. */
static int make_arrays(struct vkfd_svm_range *r, unsigned long gpus)
{
	unsigned long i, n = vkfd_svm_npages(r);
	unsigned int gpu;

	if (!r->pfns)
		r->pfns = kvcalloc(n, sizeof(*r->pfns), GFP_KERNEL_ACCOUNT);
	if (!r->pfns)
		return -ENOMEM;
	for_each_set_bit(gpu, &gpus, VKFD_MAX_GPUS) {
		if (r->dma[gpu])
			continue;
		r->dma[gpu] = kvmalloc_array(n, sizeof(*r->dma[gpu]), GFP_KERNEL_ACCOUNT);
		if (!r->dma[gpu])
			return -ENOMEM;
		for (i = 0; i < n; i++)
			r->dma[gpu][i] = DMA_MAPPING_ERROR;
	}
	return 0;
}

/* GPUs lose the range. */
static void leave(struct vkfd_svm_range *r, unsigned long gpus)
{
	struct vkfd_process *p = r->process;
	unsigned long i, n = vkfd_svm_npages(r), kept = r->gpus & ~gpus;
	unsigned int gpu;

	/* Emptied for the others as well, and filled again, if there are any. */
	mutex_lock(&p->userptrs.lock);
	if (kept && is_there(r, 0, n)) {
		r->uptodate = false;
		vkfd_userptrs_evict(p, kept, KFD_QUEUE_EVICTION_TRIGGER_SVM);
	}
	forget(r, 0, n);
	r->gpus = kept;
	r->stale &= kept;
	mutex_unlock(&p->userptrs.lock);

	for_each_set_bit(gpu, &gpus, VKFD_MAX_GPUS) {
		vkfd_vm_unreserve(p->pdds[gpu]->vm, r->node.start << PAGE_SHIFT, n);
		for (i = 0; i < n; i++)
			WARN_ON_ONCE(r->dma[gpu][i] != DMA_MAPPING_ERROR);
	}
}

/* Page tables, for which memory of others leaves VRAM if need be. */
static int reserve(struct vkfd_process *p, unsigned int gpu, struct vkfd_svm_range *r)
{
	u64 va = r->node.start << PAGE_SHIFT, npages = vkfd_svm_npages(r);
	struct vkfd_vm *vm = p->pdds[gpu]->vm;
	int err;

	for (;;) {
		err = vkfd_vm_reserve(vm, va, npages);
		if (err != -ENOBUFS)
			return err;
		err = vkfd_vm_make_room(vm, va, npages, p, false);
		if (err)
			return err;
	}
}

int vkfd_svm_set_gpus(struct vkfd_svm_range *r, unsigned long gpus)
{
	unsigned long lost = r->gpus & ~gpus, gained = gpus & ~r->gpus;
	struct vkfd_process *p = r->process;
	unsigned int gpu;
	int err = 0;

	lockdep_assert_held(&p->svm.lock);

	if (lost)
		leave(r, lost);
	if (!gained)
		return 0;
	err = make_arrays(r, gained);
	if (err)
		return err;
	for_each_set_bit(gpu, &gained, VKFD_MAX_GPUS) {
		int e = reserve(p, gpu, r);

		if (e) {
			err = err ?: e;
			__clear_bit(gpu, &gained);
		}
	}
	mutex_lock(&p->userptrs.lock);
	/* Pages that are there have no addresses on the new ones: all anew. */
	if (gained && is_there(r, 0, vkfd_svm_npages(r))) {
		vkfd_userptrs_evict(p, r->gpus, KFD_QUEUE_EVICTION_TRIGGER_SVM);
		forget(r, 0, vkfd_svm_npages(r));
	}
	if (gained)
		r->uptodate = false;
	r->gpus |= gained;
	mutex_unlock(&p->userptrs.lock);
	return err;
}

bool vkfd_svm_restore(struct vkfd_process *p, struct mm_struct *mm)
{
	struct vkfd_svm_range *r;
	bool done;
	int err;

	mutex_lock(&p->svm.lock);
	done = !vkfd_svm_trim(p);
	for (r = vkfd_svm_first(p, 0, ULONG_MAX); r; r = vkfd_svm_next(r, 0, ULONG_MAX)) {
		if (READ_ONCE(r->uptodate) || !r->gpus)
			continue;
		err = vkfd_svm_fetch(r, mm, false);
		done &= !err || err == -EFAULT;
		cond_resched();
	}
	mutex_unlock(&p->svm.lock);
	return done;
}

bool vkfd_svm_there(struct vkfd_process *p)
{
	struct vkfd_svm_range *r;
	bool there = true;
	unsigned int gpu;

	lockdep_assert_held(&p->userptrs.lock);

	for (r = vkfd_svm_first(p, 0, ULONG_MAX); r; r = vkfd_svm_next(r, 0, ULONG_MAX)) {
		if (r->gpus && !r->uptodate)
			return false;
		for_each_set_bit(gpu, &r->stale, VKFD_MAX_GPUS)
			there &= clean(r, gpu);
	}
	return there;
}

void vkfd_svm_dma_revoke(struct vkfd_device *dev)
{
	struct vkfd_svm_range *r;
	struct vkfd_process *p;
	unsigned long pasid = 0, i;

	while ((p = vkfd_process_next(&pasid))) {
		mutex_lock(&p->userptrs.lock);
		for (r = vkfd_svm_first(p, 0, ULONG_MAX); r; r = vkfd_svm_next(r, 0, ULONG_MAX)) {
			if (!test_bit(dev->index, &r->gpus) || p->pdds[dev->index]->dev != dev)
				continue;
			for (i = 0; i < vkfd_svm_npages(r); i++)
				if (r->pfns[i])
					dma_put(r, dev->index, i, r->pfns[i]);
		}
		mutex_unlock(&p->userptrs.lock);
		vkfd_process_put(p);
	}
}
