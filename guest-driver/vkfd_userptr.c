// SPDX-License-Identifier: GPL-2.0-only
/*
 * One range of user memory: its notifier, and the look-up of its pages.
 *
 * A look-up notes the notifier's sequence number, asks hmm_range_fault() for the pages and
 * maps them for DMA, without vkfd_userptrs.lock; then it takes the lock and publishes them,
 * page-table entries included, unless the number has changed. A notifier changes the number
 * under the same lock. So published pages are right, and the notifier that ends this finds
 * them: it stops queues, takes out the entries, marks what the GPU wrote as dirty, and undoes
 * the DMA mappings, before whoever called it does anything to the pages. No reference to a
 * page is ever held.
 */
#include <linux/hmm.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_process.h"
#include "vkfd_trace.h"
#include "vkfd_userptr.h"
#include "vkfd_vm.h"

/* Looked up at a time: bounds how long mmap_lock is held, and how late a fatal signal acts. */
#define FETCH_BYTES	SZ_16M
/* How long a look-up that does not have to succeed goes on. */
#define FETCH_MS	1000

static unsigned long range_size(const struct vkfd_bo *bo)
{
	return vkfd_bo_size(bo);
}

/* The pages as of @seq into @pfns. -EBUSY: that is over; -EPERM: some may not be written. */
static int look_up(struct vkfd_userptr *up, struct mm_struct *mm, unsigned long seq, bool write,
		   unsigned long *pfns)
{
	unsigned long start = up->bo->user_addr, end = start + range_size(up->bo);
	struct hmm_range range = {
		.notifier = &up->mni,
		.notifier_seq = seq,
		.default_flags = HMM_PFN_REQ_FAULT | (write ? HMM_PFN_REQ_WRITE : 0),
	};
	int err = 0;

	for (; !err && start < end; start = range.end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		range.start = start;
		range.end = start + min_t(unsigned long, end - start, FETCH_BYTES);
		range.hmm_pfns = pfns + ((start - up->bo->user_addr) >> PAGE_SHIFT);
		mmap_read_lock(mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(mm);
		cond_resched();
	}
	return err;
}

/*
 * Maps the pages for the GPU the range was registered on, and for those that have it and need
 * addresses of their own. One that goes does not matter unless it is the last: -ENODEV.
 */
static int map_pages(struct vkfd_userptr *up, unsigned long gpus)
{
	struct vkfd_bo *bo = up->bo;
	unsigned int gpu;
	bool any;
	int err;

	err = vkfd_bo_dma_map(bo, bo->dev);
	any = !err;
	if (err == -ENODEV)
		err = 0;
	for_each_set_bit(gpu, &gpus, VKFD_MAX_GPUS) {
		struct vkfd_device *dev = up->process->pdds[gpu]->dev;

		if (err)
			break;
		if (!vkfd_bo_dma_needed(bo, dev))
			continue;
		err = vkfd_bo_dma_map(bo, dev);
		any |= !err;
		if (err == -ENODEV)
			err = 0;
	}
	if (!err && !any)
		err = -ENODEV;
	if (err)
		vkfd_bo_dma_drop(bo);
	return err;
}

/* Whether a GPU that is there can use the pages, which are mapped. */
static bool is_mapped_for(struct vkfd_userptr *up, unsigned int gpu)
{
	struct vkfd_device *dev = up->process->pdds[gpu]->dev;

	return vkfd_bo_dma_mapped(up->bo, dev) || drm_dev_is_unplugged(&dev->drm);
}

/* Writes the entries of all GPUs that have the range. vkfd_userptrs.lock held. */
static void write_entries(struct vkfd_userptr *up)
{
	struct vkfd_bo *bo = up->bo;
	unsigned int gpu;

	lockdep_assert_held(&up->process->userptrs.lock);

	for_each_set_bit(gpu, &up->gpus, VKFD_MAX_GPUS) {
		/* A part that is away: its queues are off, and are not put back before clean(). */
		if (vkfd_vm_write_user(up->process->pdds[gpu]->vm, bo, up->valid))
			__set_bit(gpu, &up->stale);
		else
			__clear_bit(gpu, &up->stale);
	}
	if (up->valid && up->gpus && !bo->read_only &&
	    bo->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
		up->written = true;
}

bool vkfd_userptr_clean(struct vkfd_userptr *up, unsigned int gpu)
{
	struct vkfd_device *dev = up->process->pdds[gpu]->dev;

	lockdep_assert_held(&up->process->userptrs.lock);

	if (!test_bit(gpu, &up->stale))
		return true;
	if (vkfd_vm_write_user(up->process->pdds[gpu]->vm, up->bo, up->valid) &&
	    !READ_ONCE(dev->dead) && !drm_dev_is_unplugged(&dev->drm))
		return false;
	__clear_bit(gpu, &up->stale);
	return true;
}

/*
 * What the GPU wrote is dirty, whatever the process's own page tables say: they may be
 * writable and clean. The pages are still mapped by the process, since all who are going to
 * unmap them wait for the notifier, and thus for vkfd_userptrs.lock.
 */
static void mark_dirty(struct vkfd_userptr *up)
{
	unsigned long i, npages = range_size(up->bo) >> PAGE_SHIFT;
	struct folio *folio, *last = NULL;

	if (!up->written)
		return;
	up->written = false;
	for (i = 0; i < npages; i++) {
		folio = page_folio(up->bo->pages[i]);
		if (folio != last)
			folio_mark_dirty(folio);
		last = folio;
	}
}

/* The pages are not the range's any more. vkfd_userptrs.lock held; GPUs do not use them. */
static void forget_pages(struct vkfd_userptr *up)
{
	lockdep_assert_held(&up->process->userptrs.lock);

	up->valid = false;
	write_entries(up);
	mark_dirty(up);
	vkfd_bo_dma_drop(up->bo);
}

static bool userptr_invalidate(struct mmu_interval_notifier *mni,
			       const struct mmu_notifier_range *range, unsigned long cur_seq)
{
	struct vkfd_userptr *up = container_of(mni, struct vkfd_userptr, mni);
	struct vkfd_userptrs *us = &up->process->userptrs;

	/* Who cannot wait for the hardware, the OOM reaper, leaves such ranges alone. */
	if (!mmu_notifier_range_blockable(range))
		return false;

	mutex_lock(&us->lock);
	mmu_interval_set_seq(mni, cur_seq);
	us->invalidations++;
	trace_userptr_invalidate(up->process->pasid, range->start, range->end, range->event);
	/* What was not there may be now. */
	up->lost = false;
	/* No GPU has it: whoever maps it looks up its pages. */
	if (up->gpus)
		vkfd_userptrs_evict(up->process, up->gpus, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
	if (up->valid)
		forget_pages(up);
	mutex_unlock(&us->lock);
	return true;
}

static const struct mmu_interval_notifier_ops userptr_ops = {
	.invalidate = userptr_invalidate,
};

/* What a look-up came to, unless it is overtaken: -EBUSY. */
static int publish(struct vkfd_userptr *up, unsigned long seq, bool read_only, int err)
{
	struct vkfd_userptrs *us = &up->process->userptrs;
	unsigned int gpu;
	bool all = true;

	mutex_lock(&us->lock);
	/* One may have joined, or the one whose addresses others used may be gone. */
	for_each_set_bit(gpu, &up->gpus, VKFD_MAX_GPUS)
		all &= err || is_mapped_for(up, gpu);
	if (!all || mmu_interval_read_retry(&up->mni, seq)) {
		err = -EBUSY;
		goto unlock;
	}
	us->fetches++;
	if (!err) {
		up->bo->read_only = read_only;
		up->lost = false;
		up->valid = true;
		write_entries(up);
	} else if (err == -EFAULT || err == -ENODEV) {
		us->faults += err == -EFAULT;
		up->lost = true;
	}
unlock:
	mutex_unlock(&us->lock);
	return err;
}

/* fetch_lock held, and the pages are away. -EBUSY: they were taken away meanwhile. */
static int fetch_once(struct vkfd_userptr *up, struct mm_struct *mm, unsigned long *pfns)
{
	unsigned long i, npages = range_size(up->bo) >> PAGE_SHIFT;
	struct vkfd_bo *bo = up->bo;
	struct vkfd_userptrs *us = &up->process->userptrs;
	bool read_only = false, mapped = false;
	unsigned long seq, gpus;
	int err;

	seq = mmu_interval_read_begin(&up->mni);
	err = look_up(up, mm, seq, true, pfns);
	if (err == -EPERM) {
		/* The GPU gets no more than the process has: entries without W. */
		read_only = true;
		err = look_up(up, mm, seq, false, pfns);
	}
	if (err == -EBUSY || err == -EINTR)
		return err;
	if (!err) {
		for (i = 0; i < npages; i++)
			bo->pages[i] = hmm_pfn_to_page(pfns[i]);
		mutex_lock(&us->lock);
		gpus = up->gpus;
		mutex_unlock(&us->lock);
		err = map_pages(up, gpus);
		mapped = !err;
	}
	err = publish(up, seq, read_only, err);
	if (err && mapped)
		vkfd_bo_dma_drop(bo);
	return err;
}

int vkfd_userptr_fetch(struct vkfd_bo *bo, struct mm_struct *mm, bool patient)
{
	unsigned long npages = range_size(bo) >> PAGE_SHIFT;
	unsigned long end = jiffies + msecs_to_jiffies(FETCH_MS);
	struct vkfd_userptr *up = bo->userptr;
	struct vkfd_userptrs *us = &up->process->userptrs;
	unsigned long *pfns;
	int err = -EBUSY;
	bool valid;

	mutex_lock(&up->fetch_lock);
	mutex_lock(&us->lock);
	valid = up->valid;
	mutex_unlock(&us->lock);
	if (valid) {
		mutex_unlock(&up->fetch_lock);
		return 0;
	}
	pfns = kvcalloc(npages, sizeof(*pfns), GFP_KERNEL_ACCOUNT);
	if (!pfns)
		err = -ENOMEM;
	while (err == -EBUSY) {
		err = fetch_once(up, mm, pfns);
		if (err == -EBUSY && !patient && time_after(jiffies, end))
			err = -EAGAIN;
	}
	kvfree(pfns);
	mutex_unlock(&up->fetch_lock);
	return err;
}

void vkfd_userptr_attach(struct vkfd_bo *bo, unsigned int gpu)
{
	struct vkfd_userptr *up = bo->userptr;
	struct vkfd_userptrs *us = &up->process->userptrs;

	lockdep_assert_held(&up->process->lock);

	mutex_lock(&us->lock);
	__set_bit(gpu, &up->gpus);
	if (up->valid && !is_mapped_for(up, gpu)) {
		/* Not by this lock: looked up again, for all who have it. */
		vkfd_userptrs_evict(up->process, up->gpus, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
		forget_pages(up);
	} else if (up->valid) {
		write_entries(up);
	} else if (!up->lost) {
		/* Taken away since they were looked up: as if it had happened a moment later. */
		vkfd_userptrs_evict(up->process, BIT(gpu), KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
	}
	mutex_unlock(&us->lock);
}

void vkfd_userptr_detach(struct vkfd_bo *bo, unsigned int gpu)
{
	struct vkfd_userptr *up = bo->userptr;
	struct vkfd_userptrs *us = &up->process->userptrs;

	lockdep_assert_held(&up->process->lock);

	mutex_lock(&us->lock);
	__clear_bit(gpu, &up->gpus);
	__clear_bit(gpu, &up->stale);
	mutex_unlock(&us->lock);
}

int vkfd_userptr_read(struct vkfd_bo *bo, u64 offset, void *buf, size_t len)
{
	struct vkfd_userptr *up = bo->userptr;
	struct vkfd_userptrs *us = &up->process->userptrs;
	int err = -EAGAIN;
	void *page;

	mutex_lock(&us->lock);
	if (up->valid) {
		page = kmap_local_page(bo->pages[offset >> PAGE_SHIFT]);
		memcpy(buf, page + offset_in_page(offset), len);
		kunmap_local(page);
		err = 0;
	} else if (up->lost) {
		err = -EFAULT;
	}
	mutex_unlock(&us->lock);
	return err;
}

int vkfd_userptr_init(struct vkfd_bo *bo, struct vkfd_process *p)
{
	struct vkfd_userptrs *us = &p->userptrs;
	struct vkfd_userptr *up;
	int err;

	if (!access_ok((void __user *)(unsigned long)bo->user_addr, range_size(bo)))
		return -EFAULT;
	bo->pages = kvmalloc_array(range_size(bo) >> PAGE_SHIFT, sizeof(*bo->pages),
				   GFP_KERNEL_ACCOUNT);
	up = kzalloc(sizeof(*up), GFP_KERNEL_ACCOUNT);
	if (!bo->pages || !up) {
		kfree(up);
		return -ENOMEM;
	}
	up->bo = bo;
	up->process = p;
	mutex_init(&up->fetch_lock);
	err = mmu_interval_notifier_insert(&up->mni, current->mm, bo->user_addr, range_size(bo),
					   &userptr_ops);
	if (err) {
		mutex_destroy(&up->fetch_lock);
		kfree(up);
		return err;
	}
	bo->userptr = up;
	mutex_lock(&us->lock);
	list_add(&up->link, &us->all);
	mutex_unlock(&us->lock);

	return vkfd_userptr_fetch(bo, current->mm, true);
}

void vkfd_userptr_fini(struct vkfd_bo *bo)
{
	struct vkfd_userptr *up = bo->userptr;
	struct vkfd_userptrs *us = &up->process->userptrs;

	mutex_lock(&us->lock);
	WARN_ON(up->gpus);
	list_del(&up->link);
	if (up->valid)
		forget_pages(up);
	mutex_unlock(&us->lock);
	/* Waits for notifiers that are running. */
	mmu_interval_notifier_remove(&up->mni);
	mutex_destroy(&up->fetch_lock);
	kfree(up);
	bo->userptr = NULL;
}
