// SPDX-License-Identifier: GPL-2.0-only
/*
 * VRAM allocator: one drm_mm over all of VRAM, the top kept for the driver.
 */
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "vkfd_device.h"
#include "vkfd_vram.h"

/* Bytes below the driver's reserve: all that user BOs may take. */
static u64 vkfd_vram_user_limit(const struct vkfd_vram *vram)
{
	u64 reserve = clamp_t(u64, vram->size / 32, SZ_4M, SZ_32M);

	return vram->size - round_up(reserve, SZ_2M);
}

/* The end of what CPUs see, of what user BOs may take. */
static u64 vkfd_vram_visible_limit(const struct vkfd_vram *vram)
{
	return min(vram->visible, vkfd_vram_user_limit(vram));
}

u64 vkfd_vram_node_visible(const struct vkfd_device *dev, const struct drm_mm_node *node)
{
	u64 limit = vkfd_vram_visible_limit(&dev->vram);

	return min(node->start + node->size, limit) - min(node->start, limit);
}

/* @node is one of those below the driver's reserve, and is new. vram.lock held. */
static void vkfd_vram_count_node(struct vkfd_vram *vram, const struct drm_mm_node *node)
{
	struct vkfd_device *dev = container_of(vram, struct vkfd_device, vram);

	vram->used += node->size;
	vram->used_visible += vkfd_vram_node_visible(dev, node);
}

/*
 * A place below the driver's reserve. What need not be seen by CPUs leaves them what they see
 * as long as there is any other.
 */
static int vkfd_vram_insert_user(struct vkfd_vram *vram, struct drm_mm_node *node, u64 size,
				 u64 align, bool visible)
{
	u64 limit = vkfd_vram_user_limit(vram), edge = vkfd_vram_visible_limit(vram);
	int err = -ENOSPC;

	if (visible)
		return drm_mm_insert_node_in_range(&vram->mm, node, size, align, 0, 0, edge,
						   DRM_MM_INSERT_BEST);
	if (edge < limit)
		err = drm_mm_insert_node_in_range(&vram->mm, node, size, align, 0, edge, limit,
						  DRM_MM_INSERT_BEST);
	if (err == -ENOSPC)
		err = drm_mm_insert_node_in_range(&vram->mm, node, size, align, 0, 0, limit,
						  DRM_MM_INSERT_BEST);
	return err;
}

static void vkfd_vram_release(struct drm_device *drm, void *data)
{
	struct vkfd_vram *vram = data;

	drm_mm_takedown(&vram->mm);
	mutex_destroy(&vram->lock);
}

int vkfd_vram_init(struct vkfd_device *dev)
{
	struct vkfd_vram *vram = &dev->vram;

	if (vram->size < SZ_16M || !IS_ALIGNED(vram->size, SZ_2M) || !vram->map)
		return -EINVAL;

	mutex_init(&vram->lock);
	drm_mm_init(&vram->mm, 0, vram->size);
	vram->used = 0;
	vram->used_visible = 0;
	vram->kfd_used = 0;
	vram->spilled = 0;

	return drmm_add_action_or_reset(&dev->drm, vkfd_vram_release, vram);
}

void vkfd_vram_fini(struct vkfd_device *dev)
{
	struct vkfd_vram *vram = &dev->vram;

	/* Users of the mapping are in vkfd_hw_enter(), and that fails by now. */
	mutex_lock(&vram->lock);
	vram->map = NULL;
	mutex_unlock(&vram->lock);
}

int vkfd_vram_alloc(struct vkfd_device *dev, u64 size, u64 align, struct drm_mm_node *node)
{
	struct vkfd_vram *vram = &dev->vram;
	u64 limit = vkfd_vram_user_limit(vram);
	int err;

	memset(node, 0, sizeof(*node));

	mutex_lock(&vram->lock);
	if (!vram->map) {
		err = -ENODEV;
		goto out;
	}
	err = drm_mm_insert_node_in_range(&vram->mm, node, size, align, 0,
					  limit, vram->size, DRM_MM_INSERT_BEST);
	if (err == -ENOSPC) {
		err = vkfd_vram_insert_user(vram, node, size, align, false);
		if (!err) {
			vkfd_vram_count_node(vram, node);
			vram->spilled += size;
		}
	}
out:
	mutex_unlock(&vram->lock);
	return err == -ENOSPC ? -ENOBUFS : err;
}

/* Caller holds vram->lock. */
static void vkfd_vram_remove_node(struct vkfd_device *dev, struct drm_mm_node *node)
{
	struct vkfd_vram *vram = &dev->vram;

	lockdep_assert_held(&vram->lock);

	if (node->start < vkfd_vram_user_limit(vram)) {
		vram->used -= node->size;
		vram->used_visible -= vkfd_vram_node_visible(dev, node);
	}
	drm_mm_remove_node(node);
}

void vkfd_vram_free(struct vkfd_device *dev, struct drm_mm_node *node)
{
	struct vkfd_vram *vram = &dev->vram;

	mutex_lock(&vram->lock);
	if (drm_mm_node_allocated(node)) {
		if (node->start < vkfd_vram_user_limit(vram))
			vram->spilled -= node->size;
		vkfd_vram_remove_node(dev, node);
	}
	mutex_unlock(&vram->lock);
}

/* Caller holds vram->lock. Large blocks are aligned for large pages if that is possible. */
static int vkfd_vram_insert_block(struct vkfd_vram *vram, struct vkfd_vram_block *block,
				  u64 size, bool visible)
{
	int err = -ENOSPC;

	lockdep_assert_held(&vram->lock);

	if (size >= SZ_2M)
		err = vkfd_vram_insert_user(vram, &block->node, size, SZ_2M, visible);
	if (err == -ENOSPC)
		err = vkfd_vram_insert_user(vram, &block->node, size, PAGE_SIZE, visible);
	return err;
}

int vkfd_vram_alloc_blocks(struct vkfd_device *dev, u64 size, bool contiguous, bool visible,
			   struct list_head *blocks)
{
	struct vkfd_vram *vram = &dev->vram;
	u64 want = size, done = 0;
	int err = 0;

	mutex_lock(&vram->lock);
	if (!vram->map) {
		err = -ENODEV;
		goto out;
	}
	/* Large requests that cannot succeed cost nothing but this. */
	if (size > vkfd_vram_free_bytes(dev, visible)) {
		err = -ENOMEM;
		goto out;
	}

	while (done < size) {
		struct vkfd_vram_block *block;

		block = kzalloc(sizeof(*block), GFP_KERNEL_ACCOUNT);
		if (!block) {
			err = -ENOMEM;
			break;
		}
		/* Halved until it fits; a page always does, the check above says so. */
		for (;;) {
			want = min(want, size - done);
			err = vkfd_vram_insert_block(vram, block, want, visible);
			if (err != -ENOSPC || contiguous || want <= PAGE_SIZE)
				break;
			want = round_up(want / 2, PAGE_SIZE);
		}
		if (err) {
			kfree(block);
			break;
		}
		block->first = done;
		list_add_tail(&block->link, blocks);
		vkfd_vram_count_node(vram, &block->node);
		done += want;
		/* Badly fragmented VRAM is handed out page by page. */
		cond_resched();
	}
out:
	mutex_unlock(&vram->lock);
	if (err) {
		vkfd_vram_free_blocks(dev, blocks);
		return err == -ENOSPC ? -ENOMEM : err;
	}
	return 0;
}

void vkfd_vram_free_blocks(struct vkfd_device *dev, struct list_head *blocks)
{
	struct vkfd_vram *vram = &dev->vram;
	struct vkfd_vram_block *block, *next;

	mutex_lock(&vram->lock);
	list_for_each_entry_safe(block, next, blocks, link) {
		list_del(&block->link);
		vkfd_vram_remove_node(dev, &block->node);
		kfree(block);
		cond_resched();
	}
	mutex_unlock(&vram->lock);
}

int vkfd_vram_charge_kfd(struct vkfd_device *dev, u64 size)
{
	struct vkfd_vram *vram = &dev->vram;
	int err = 0;

	mutex_lock(&vram->lock);
	/* What the driver spilled may have come after what KFD has. */
	if (vram->kfd_used + vram->spilled + size > vkfd_vram_user_limit(vram))
		err = -ENOMEM;
	else
		vram->kfd_used += size;
	mutex_unlock(&vram->lock);
	return err;
}

void vkfd_vram_uncharge_kfd(struct vkfd_device *dev, u64 size)
{
	mutex_lock(&dev->vram.lock);
	dev->vram.kfd_used -= size;
	mutex_unlock(&dev->vram.lock);
}

u64 vkfd_vram_free_bytes(struct vkfd_device *dev, bool visible)
{
	lockdep_assert_held(&dev->vram.lock);

	if (visible)
		return vkfd_vram_visible_limit(&dev->vram) - dev->vram.used_visible;
	return vkfd_vram_user_limit(&dev->vram) - dev->vram.used;
}

u64 vkfd_vram_available(struct vkfd_device *dev)
{
	struct vkfd_vram *vram = &dev->vram;
	u64 free, taken;

	mutex_lock(&vram->lock);
	taken = vram->kfd_used + vram->spilled;
	free = vkfd_vram_user_limit(vram) - min(taken, vkfd_vram_user_limit(vram));
	mutex_unlock(&vram->lock);

	return round_down(free, SZ_2M);
}

void vkfd_vram_zero(struct vkfd_device *dev, u64 offset, u64 size)
{
	while (size) {
		u64 n = min_t(u64, size, SZ_1M);

		memset_io(dev->vram.map + offset, 0, n);
		offset += n;
		size -= n;
		if (size)
			cond_resched();
	}
}
