// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bus addresses of the system pages of BOs.
 *
 * A program may register one page in any number of BOs. The page is mapped for DMA once
 * then, since the DMA API takes many mappings of one page for a leak, and may run out of
 * them. GTT pages belong to one BO and need no such book-keeping.
 */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"

/*
 * CPU and GPU use the memory at the same time, which only works coherently, so there is
 * nothing to sync; and what is in several BOs would not bear it.
 */
#define VKFD_BO_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/**
 * struct vkfd_dma_page - a page of user memory, mapped for DMA
 * @node: in dev->dma_pages
 * @pfn: the page
 * @addr: its bus address
 * @count: in how many pages of BOs it is
 *
 * dev->dma_lock. A tree, since nothing may be allocated under that lock: an MMU notifier
 * takes it.
 */
struct vkfd_dma_page {
	struct rb_node node;
	unsigned long pfn;
	dma_addr_t addr;
	unsigned long count;
};

static int map_page(struct vkfd_device *dev, struct page *page, dma_addr_t *addr)
{
	*addr = dma_map_page_attrs(dev->drm.dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL,
				   VKFD_BO_DMA_ATTRS);
	return dma_mapping_error(dev->drm.dev, *addr) ? -ENOMEM : 0;
}

static void unmap_page(struct vkfd_device *dev, dma_addr_t addr)
{
	dma_unmap_page_attrs(dev->drm.dev, addr, PAGE_SIZE, DMA_BIDIRECTIONAL,
			     VKFD_BO_DMA_ATTRS);
}

static struct vkfd_dma_page *find_shared(struct vkfd_device *dev, unsigned long pfn)
{
	struct rb_node *node = dev->dma_pages.rb_node;

	lockdep_assert_held(&dev->dma_lock);

	while (node) {
		struct vkfd_dma_page *shared = rb_entry(node, struct vkfd_dma_page, node);

		if (pfn == shared->pfn)
			return shared;
		node = pfn < shared->pfn ? node->rb_left : node->rb_right;
	}
	return NULL;
}

static bool less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct vkfd_dma_page, node)->pfn <
	       rb_entry(b, struct vkfd_dma_page, node)->pfn;
}

/* One more user of a page that is mapped already; false: it is not. */
static bool use_shared(struct vkfd_device *dev, unsigned long pfn, dma_addr_t *addr)
{
	struct vkfd_dma_page *shared = find_shared(dev, pfn);

	if (!shared)
		return false;
	shared->count++;
	*addr = shared->addr;
	return true;
}

/* The bus address of @page, which is mapped if it was not. */
static int get_shared(struct vkfd_device *dev, struct page *page, dma_addr_t *addr)
{
	unsigned long pfn = page_to_pfn(page);
	struct vkfd_dma_page *fresh;
	int err = 0;
	bool found;

	mutex_lock(&dev->dma_lock);
	found = use_shared(dev, pfn, addr);
	mutex_unlock(&dev->dma_lock);
	if (found)
		return 0;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return -ENOMEM;
	fresh->pfn = pfn;
	fresh->count = 1;
	mutex_lock(&dev->dma_lock);
	/* Somebody else may have been faster. */
	found = use_shared(dev, pfn, addr);
	if (!found)
		err = map_page(dev, page, &fresh->addr);
	if (!found && !err) {
		*addr = fresh->addr;
		rb_add(&fresh->node, &dev->dma_pages, less);
		fresh = NULL;
	}
	mutex_unlock(&dev->dma_lock);
	kfree(fresh);
	return err;
}

static void put_shared(struct vkfd_device *dev, struct page *page)
{
	struct vkfd_dma_page *shared = find_shared(dev, page_to_pfn(page));

	if (WARN_ON(!shared) || --shared->count)
		return;
	rb_erase(&shared->node, &dev->dma_pages);
	unmap_page(dev, shared->addr);
	kfree(shared);
}

int vkfd_dma_page_get(struct vkfd_device *dev, struct page *page, dma_addr_t *addr)
{
	dma_addr_t found;
	int err;

	err = get_shared(dev, page, &found);
	if (!err)
		*addr = found;
	return err;
}

void vkfd_dma_page_put(struct vkfd_device *dev, struct page *page)
{
	mutex_lock(&dev->dma_lock);
	put_shared(dev, page);
	mutex_unlock(&dev->dma_lock);
}

static bool is_shared(const struct vkfd_bo *bo)
{
	return bo->kind == VKFD_BO_USERPTR;
}

static void unmap_pages(struct vkfd_bo *bo)
{
	lockdep_assert_held(&bo->dev->dma_lock);

	while (bo->dma_count) {
		bo->dma_count--;
		if (is_shared(bo))
			put_shared(bo->dev, bo->pages[bo->dma_count]);
		else
			unmap_page(bo->dev, bo->dma[bo->dma_count]);
	}
}

/* One page more; the lock is not held for longer, since there may be very many. */
static int map_next(struct vkfd_bo *bo)
{
	struct page *page = bo->pages[bo->dma_count];
	dma_addr_t *addr = &bo->dma[bo->dma_count];
	struct vkfd_device *dev = bo->dev;
	int err;

	err = is_shared(bo) ? get_shared(dev, page, addr) : map_page(dev, page, addr);
	if (!err)
		bo->dma_count++;
	return err;
}

int vkfd_bo_dma_map(struct vkfd_bo *bo)
{
	unsigned long npages = vkfd_bo_size(bo) >> PAGE_SHIFT;
	struct vkfd_device *dev = bo->dev;
	int err = 0, idx;

	if (!bo->dma)
		bo->dma = kvmalloc_array(npages, sizeof(*bo->dma), GFP_KERNEL_ACCOUNT);
	if (!bo->dma)
		return -ENOMEM;

	/* Only while the driver is bound: it is unmapped by then, see below. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return -ENODEV;
	while (!err && bo->dma_count < npages) {
		err = map_next(bo);
		cond_resched();
	}
	mutex_lock(&dev->dma_lock);
	if (err)
		unmap_pages(bo);
	else
		list_add(&bo->dma_link, &dev->dma_bos);
	mutex_unlock(&dev->dma_lock);
	drm_dev_exit(idx);
	return err;
}

void vkfd_bo_dma_drop(struct vkfd_bo *bo)
{
	mutex_lock(&bo->dev->dma_lock);
	if (!list_empty(&bo->dma_link)) {
		list_del_init(&bo->dma_link);
		unmap_pages(bo);
	}
	mutex_unlock(&bo->dev->dma_lock);
}

void vkfd_bo_dma_unmap(struct vkfd_bo *bo)
{
	vkfd_bo_dma_drop(bo);
	kvfree(bo->dma);
	bo->dma = NULL;
}

void vkfd_bo_dma_revoke(struct vkfd_device *dev)
{
	struct vkfd_bo *bo, *next;

	/* Nothing is added any more: drm_dev_enter() fails. */
	mutex_lock(&dev->dma_lock);
	list_for_each_entry_safe(bo, next, &dev->dma_bos, dma_link) {
		list_del_init(&bo->dma_link);
		unmap_pages(bo);
	}
	mutex_unlock(&dev->dma_lock);
}
