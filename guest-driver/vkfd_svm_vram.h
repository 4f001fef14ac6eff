/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of SVM ranges in VRAM, where the kernel has CONFIG_DEVICE_PRIVATE: see docs/svm.md.
 * Elsewhere nothing ever is in VRAM.
 */
#ifndef VKFD_SVM_VRAM_H
#define VKFD_SVM_VRAM_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct vkfd_device;
struct vkfd_svm_range;

/**
 * struct vkfd_svm_vram - of a GPU
 * @pgmap: the kernel's struct pages for VRAM, by offset
 * @res: the address space they pretend to be in; NULL: there are none
 * @sem: held while pages move into VRAM; inside mmap_lock. To change @on: for writing
 * @on: they may
 * @pages: how many are in VRAM, or on their way out of @freed
 * @freed: no longer in use, VRAM not given back
 * @work: gives it back
 */
struct vkfd_svm_vram {
	struct dev_pagemap pgmap;
	struct resource *res;
	struct rw_semaphore sem;
	bool on;
	atomic_long_t pages;
	struct llist_head freed;
	struct work_struct work;
};

#ifdef CONFIG_DEVICE_PRIVATE

/* In probe, VRAM set up. Fini: while the part still answers; takes mmap_lock of others. */
int vkfd_svm_vram_init(struct vkfd_device *dev);
void vkfd_svm_vram_fini(struct vkfd_device *dev);

/*
 * Moves the anonymous memory of @r into VRAM of @dev, as far as there is room, or what is
 * there out of it. @trigger: enum KFD_MIGRATE_TRIGGERS. svm.lock held; takes mmap_lock.
 */
void vkfd_svm_vram_move(struct vkfd_svm_range *r, struct mm_struct *mm, struct vkfd_device *dev,
			bool in, int trigger);

/*
 * Pages of processes go out of VRAM until @size bytes are free there, or @all of them, as far
 * as that is possible now. No lock held; takes svm.lock of processes.
 */
void vkfd_svm_vram_make_room(struct vkfd_device *dev, u64 size, bool all);
/* What those pages take. */
static inline u64 vkfd_svm_vram_bytes(struct vkfd_svm_vram *sv)
{
	return (u64)atomic_long_read(&sv->pages) << PAGE_SHIFT;
}

/* Where in VRAM a page is that is_device_private_page(). */
u64 vkfd_svm_vram_offset(struct page *page);

#else

static inline int vkfd_svm_vram_init(struct vkfd_device *dev)
{
	return 0;
}

static inline void vkfd_svm_vram_fini(struct vkfd_device *dev)
{
}

static inline void vkfd_svm_vram_move(struct vkfd_svm_range *r, struct mm_struct *mm,
				      struct vkfd_device *dev, bool in, int trigger)
{
}

static inline void vkfd_svm_vram_make_room(struct vkfd_device *dev, u64 size, bool all)
{
}

static inline u64 vkfd_svm_vram_bytes(struct vkfd_svm_vram *sv)
{
	return 0;
}

static inline u64 vkfd_svm_vram_offset(struct page *page)
{
	return 0;
}

#endif

#endif /* VKFD_SVM_VRAM_H */
