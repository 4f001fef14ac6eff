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
 * @addr: its bus address
 * @count: in how many pages of BOs it is; dev->dma_lock
 */
struct vkfd_dma_page {
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

/* dev->dma_lock held. */
static int get_shared(struct vkfd_device *dev, struct page *page, dma_addr_t *addr)
{
	struct vkfd_dma_page *shared = xa_load(&dev->dma_pages, page_to_pfn(page));
	int err;

	lockdep_assert_held(&dev->dma_lock);

	if (!shared) {
		shared = kzalloc(sizeof(*shared), GFP_KERNEL_ACCOUNT);
		if (!shared)
			return -ENOMEM;
		err = map_page(dev, page, &shared->addr);
		if (err)
			goto free;
		err = xa_err(xa_store(&dev->dma_pages, page_to_pfn(page), shared,
				      GFP_KERNEL_ACCOUNT));
		if (err)
			goto unmap;
	}
	shared->count++;
	*addr = shared->addr;
	return 0;

unmap:
	unmap_page(dev, shared->addr);
free:
	kfree(shared);
	return err;
}

static void put_shared(struct vkfd_device *dev, struct page *page)
{
	struct vkfd_dma_page *shared = xa_load(&dev->dma_pages, page_to_pfn(page));

	lockdep_assert_held(&dev->dma_lock);

	if (WARN_ON(!shared) || --shared->count)
		return;
	xa_erase(&dev->dma_pages, page_to_pfn(page));
	unmap_page(dev, shared->addr);
	kfree(shared);
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

	if (!is_shared(bo)) {
		err = map_page(dev, page, addr);
	} else {
		mutex_lock(&dev->dma_lock);
		err = get_shared(dev, page, addr);
		mutex_unlock(&dev->dma_lock);
	}
	if (!err)
		bo->dma_count++;
	return err;
}

int vkfd_bo_dma_map(struct vkfd_bo *bo)
{
	unsigned long npages = vkfd_bo_size(bo) >> PAGE_SHIFT;
	struct vkfd_device *dev = bo->dev;
	int err = 0, idx;

	bo->dma = kvmalloc_array(npages, sizeof(*bo->dma), GFP_KERNEL_ACCOUNT);
	if (!bo->dma)
		return -ENOMEM;

	/* Only while the driver is bound: it is unmapped by then, see below. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return -ENODEV;
	while (!err && bo->dma_count < npages)
		err = map_next(bo);
	mutex_lock(&dev->dma_lock);
	if (err)
		unmap_pages(bo);
	else
		list_add(&bo->dma_link, &dev->dma_bos);
	mutex_unlock(&dev->dma_lock);
	drm_dev_exit(idx);
	return err;
}

void vkfd_bo_dma_unmap(struct vkfd_bo *bo)
{
	mutex_lock(&bo->dev->dma_lock);
	if (!list_empty(&bo->dma_link)) {
		list_del_init(&bo->dma_link);
		unmap_pages(bo);
	}
	mutex_unlock(&bo->dev->dma_lock);
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
