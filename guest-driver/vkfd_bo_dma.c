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
#include <linux/scatterlist.h>
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

/**
 * struct vkfd_bo_dma - bus addresses of the pages of a BO for one GPU
 * @bo: the BO
 * @dev: the GPU; with a reference if it is not that of the BO
 * @addr: one for each page
 * @count: how many are mapped
 * @link: in dev->dma_bos from the last page mapped until they are unmapped: by release, or
 *        before that when the GPU goes
 *
 * dev->dma_lock. Who adds one to a BO, or writes @addr, is alone with that: it is being made, or
 * moves, or has its fetch_lock; a GPU that joins later makes one of its own, see join().
 */
struct vkfd_bo_dma {
	struct vkfd_bo *bo;
	struct vkfd_device *dev;
	dma_addr_t *addr;
	unsigned long count;
	struct list_head link;
};

static bool is_shared(const struct vkfd_bo *bo)
{
	return bo->kind == VKFD_BO_USERPTR;
}

static void unmap_pages(struct vkfd_bo_dma *d)
{
	lockdep_assert_held(&d->dev->dma_lock);

	while (d->count) {
		d->count--;
		if (is_shared(d->bo))
			put_shared(d->dev, d->bo->pages[d->count]);
		else
			unmap_page(d->dev, d->addr[d->count]);
	}
}

/* One page more; the lock is not held for longer, since there may be very many. */
static int map_next(struct vkfd_bo_dma *d)
{
	struct page *page = d->bo->pages[d->count];
	dma_addr_t *addr = &d->addr[d->count];
	int err;

	err = is_shared(d->bo) ? get_shared(d->dev, page, addr) : map_page(d->dev, page, addr);
	if (!err)
		d->count++;
	return err;
}

static struct vkfd_bo_dma *create(struct vkfd_bo *bo, struct vkfd_device *dev)
{
	struct vkfd_bo_dma *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);

	if (!d)
		return NULL;
	d->addr = kvmalloc_array(vkfd_bo_size(bo) >> PAGE_SHIFT, sizeof(*d->addr),
				 GFP_KERNEL_ACCOUNT);
	if (!d->addr) {
		kfree(d);
		return NULL;
	}
	d->bo = bo;
	d->dev = dev;
	INIT_LIST_HEAD(&d->link);
	/* A BO keeps its own GPU. */
	if (dev != bo->dev)
		drm_dev_get(&dev->drm);
	return d;
}

/* Nothing is mapped. */
static void destroy(struct vkfd_bo_dma *d)
{
	kvfree(d->addr);
	if (d->dev != d->bo->dev)
		drm_dev_put(&d->dev->drm);
	kfree(d);
}

static void drop(struct vkfd_bo_dma *d)
{
	mutex_lock(&d->dev->dma_lock);
	if (!list_empty(&d->link)) {
		list_del_init(&d->link);
		unmap_pages(d);
	}
	mutex_unlock(&d->dev->dma_lock);
}

static int map_all(struct vkfd_bo_dma *d)
{
	unsigned long npages = vkfd_bo_size(d->bo) >> PAGE_SHIFT;
	struct vkfd_device *dev = d->dev;
	int err = 0, idx;

	/* Only while the driver is bound: it is unmapped by then, see below. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return -ENODEV;
	while (!err && d->count < npages) {
		err = map_next(d);
		cond_resched();
	}
	mutex_lock(&dev->dma_lock);
	if (err)
		unmap_pages(d);
	else
		list_add(&d->link, &dev->dma_bos);
	mutex_unlock(&dev->dma_lock);
	drm_dev_exit(idx);
	return err;
}

/* Makes @d, which is mapped, the BO's for its GPU, unless another has been faster. */
static void join(struct vkfd_bo_dma *d)
{
	/* Pairs with the acquire of who finds it: then @addr is complete. */
	if (!cmpxchg(&d->bo->dma[d->dev->index], NULL, d))
		return;
	drop(d);
	destroy(d);
}

static bool is_mapped(struct vkfd_bo_dma *d)
{
	bool ret = false;

	if (d) {
		mutex_lock(&d->dev->dma_lock);
		ret = !list_empty(&d->link);
		mutex_unlock(&d->dev->dma_lock);
	}
	return ret;
}

int vkfd_bo_dma_map(struct vkfd_bo *bo, struct vkfd_device *dev)
{
	/* Pairs with join(). */
	struct vkfd_bo_dma *d = smp_load_acquire(&bo->dma[dev->index]);
	int err;

	/* Of pages that were dropped; or somebody else has mapped it for @dev. */
	if (d)
		return is_mapped(d) ? 0 : map_all(d);
	d = create(bo, dev);
	if (!d)
		return -ENOMEM;
	err = map_all(d);
	if (err)
		destroy(d);
	else
		join(d);
	return err;
}

int vkfd_bo_dma_import(struct vkfd_bo *bo, struct sg_table *sgt)
{
	unsigned long i = 0, npages = vkfd_bo_size(bo) >> PAGE_SHIFT;
	struct vkfd_bo_dma *d = create(bo, bo->dev);
	struct sg_dma_page_iter it;

	if (!d)
		return -ENOMEM;
	for_each_sgtable_dma_page(sgt, &it, 0)
		if (i < npages)
			d->addr[i++] = sg_page_iter_dma_address(&it);
	if (i < npages) {
		destroy(d);
		return -EINVAL;
	}
	/* Nothing is counted, so nothing is unmapped here. */
	join(d);
	return 0;
}

void vkfd_bo_dma_drop(struct vkfd_bo *bo)
{
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++)
		if (bo->dma[i])
			drop(bo->dma[i]);
}

void vkfd_bo_dma_unmap(struct vkfd_bo *bo)
{
	unsigned int i;

	vkfd_bo_dma_drop(bo);
	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		if (bo->dma[i])
			destroy(bo->dma[i]);
		bo->dma[i] = NULL;
	}
}

bool vkfd_bo_dma_needed(const struct vkfd_bo *bo, struct vkfd_device *dev)
{
	return dev != bo->dev &&
	       (device_iommu_mapped(dev->drm.dev) || device_iommu_mapped(bo->dev->drm.dev) ||
		drm_dev_is_unplugged(&bo->dev->drm));
}

bool vkfd_bo_dma_mapped(struct vkfd_bo *bo, struct vkfd_device *dev)
{
	/* Pairs with join(). */
	if (is_mapped(smp_load_acquire(&bo->dma[dev->index])))
		return true;
	return !vkfd_bo_dma_needed(bo, dev) && is_mapped(bo->dma[bo->dev->index]);
}

dma_addr_t vkfd_bo_dma_addr(const struct vkfd_bo *bo, struct vkfd_device *dev, u64 index)
{
	/* Pairs with join(). */
	struct vkfd_bo_dma *d = smp_load_acquire(&bo->dma[dev->index]);

	/* Of a GPU that is gone the addresses are still those of the pages: no IOMMU. */
	return (d && d->count ? d : bo->dma[bo->dev->index])->addr[index];
}

void vkfd_bo_dma_revoke(struct vkfd_device *dev)
{
	struct vkfd_bo_dma *d, *next;

	/* Nothing is added any more: drm_dev_enter() fails. */
	mutex_lock(&dev->dma_lock);
	list_for_each_entry_safe(d, next, &dev->dma_bos, link) {
		list_del_init(&d->link);
		unmap_pages(d);
	}
	mutex_unlock(&dev->dma_lock);
}
