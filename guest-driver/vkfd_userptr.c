// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned user memory.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "vkfd_userptr.h"

/* Pages asked for at once: bounds the time between two looks at fatal signals. */
#define VKFD_USERPTR_BATCH	1024

/* Whether all of the range is mapped but some of it may not be written. */
static bool vkfd_userptr_is_read_only(unsigned long addr, unsigned long npages)
{
	unsigned long end = addr + (npages << PAGE_SHIFT);
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool read_only = false;

	mmap_read_lock(mm);
	while (addr < end) {
		vma = vma_lookup(mm, addr);
		if (!vma || !(vma->vm_flags & VM_READ)) {
			read_only = false;
			break;
		}
		if (!(vma->vm_flags & VM_WRITE))
			read_only = true;
		addr = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return read_only;
}

static int vkfd_userptr_pin_flags(unsigned long addr, unsigned long npages,
				  unsigned int gup_flags, struct page **pages)
{
	unsigned long done = 0;
	long n;

	while (done < npages) {
		if (fatal_signal_pending(current)) {
			n = -EINTR;
			goto err_unpin;
		}
		n = min_t(unsigned long, npages - done, VKFD_USERPTR_BATCH);
		n = pin_user_pages_fast(addr + (done << PAGE_SHIFT), n, gup_flags,
					pages + done);
		if (n <= 0) {
			n = n ?: -EFAULT;
			goto err_unpin;
		}
		done += n;
		cond_resched();
	}
	return 0;

err_unpin:
	unpin_user_pages(pages, done);
	return n;
}

int vkfd_userptr_pin(unsigned long addr, unsigned long npages, struct page **pages,
		     bool *read_only)
{
	unsigned long size = npages << PAGE_SHIFT;
	int err;

	*read_only = false;
	if (!access_ok((void __user *)addr, size))
		return -EFAULT;

	err = vkfd_userptr_pin_flags(addr, npages, FOLL_WRITE | FOLL_LONGTERM, pages);
	if (err != -EFAULT || !vkfd_userptr_is_read_only(addr, npages))
		return err;

	/* The GPU gets no more than the process has: entries without W. */
	err = vkfd_userptr_pin_flags(addr, npages, FOLL_LONGTERM, pages);
	if (!err)
		*read_only = true;
	return err;
}

void vkfd_userptr_unpin(struct page **pages, unsigned long npages, bool read_only)
{
	/* The GPU may have written any of them. */
	unpin_user_pages_dirty_lock(pages, npages, !read_only);
}
