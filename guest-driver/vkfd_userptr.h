/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User memory for the GPU. For now it is pinned for the life of the BO; there is no
 * MMU notifier, so a later munmap or copy-on-write leaves the GPU on the old pages.
 */
#ifndef VKFD_USERPTR_H
#define VKFD_USERPTR_H

#include <linux/mm_types.h>
#include <linux/types.h>

/**
 * vkfd_userptr_pin() - pins the pages behind current's address range
 * @addr: first byte, page aligned
 * @npages: number of pages
 * @pages: gets them
 * @read_only: set if the range is not writable for the caller and was pinned for
 *             reading only
 *
 * Takes mmap_lock; long term pins. 0, -EFAULT (hole, device memory, no access),
 * -EINTR (fatal signal), -ENOMEM; nothing stays pinned on failure.
 */
int vkfd_userptr_pin(unsigned long addr, unsigned long npages, struct page **pages,
		     bool *read_only);
void vkfd_userptr_unpin(struct page **pages, unsigned long npages, bool read_only);

#endif /* VKFD_USERPTR_H */
