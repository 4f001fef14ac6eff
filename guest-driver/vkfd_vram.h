/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VRAM allocator of a GPU.
 *
 * The top of VRAM is kept for what the driver itself needs (page tables, MQDs), so
 * that user allocations cannot starve it and "available memory" is exact. When the
 * reserve is full the driver's allocations spill below it, and are then counted as
 * used, and as not available to KFD.
 */
#ifndef VKFD_VRAM_H
#define VKFD_VRAM_H

#include <linux/list.h>
#include <linux/types.h>
#include <drm/drm_mm.h>

struct vkfd_device;

/**
 * struct vkfd_vram_block - one contiguous piece of a user allocation
 * @link: in the list of the allocation, ordered
 * @first: byte offset in the allocation of its first byte
 * @node: its place
 */
struct vkfd_vram_block {
	struct list_head link;
	u64 first;
	struct drm_mm_node node;
};

/*
 * Sets up the allocator. The caller has filled dev->vram.{base,size,visible,map}.
 * It lives as long as the DRM device: BOs may outlive the hardware. -ENOMEM,
 * -EINVAL: less than 16 MiB of VRAM.
 */
int vkfd_vram_init(struct vkfd_device *dev);
/* After drm_dev_unplug(): nothing more is handed out. Idempotent. */
void vkfd_vram_fini(struct vkfd_device *dev);

/*
 * For the driver's own structures: @size and @align in bytes, multiples of 4 KiB;
 * contiguous; contents undefined. -ENOBUFS, which is nothing to tell user space: VRAM is full,
 * but vkfd_evict_make_room() may help whoever holds no lock; -ENODEV. Takes vram.lock.
 */
int vkfd_vram_alloc(struct vkfd_device *dev, u64 size, u64 align, struct drm_mm_node *node);
void vkfd_vram_free(struct vkfd_device *dev, struct drm_mm_node *node);

/*
 * For user BOs: @size bytes (multiple of 4 KiB) in as few blocks as possible, 2 MiB
 * aligned when a block is that large and there is such a place; contents undefined.
 * @contiguous: one block or failure; @visible: where CPUs see it. -ENOMEM, -ENODEV; takes
 * vram.lock.
 */
int vkfd_vram_alloc_blocks(struct vkfd_device *dev, u64 size, bool contiguous, bool visible,
			   struct list_head *blocks);
void vkfd_vram_free_blocks(struct vkfd_device *dev, struct list_head *blocks);

/*
 * What KFD allocates is charged, wherever it is then: -ENOMEM if it would have more than there
 * is. GEM's BOs do not count: they make room (vkfd_evict.h). Take vram.lock.
 */
int vkfd_vram_charge_kfd(struct vkfd_device *dev, u64 size);
void vkfd_vram_uncharge_kfd(struct vkfd_device *dev, u64 size);
/* Bytes that are free now, of all or of what CPUs see. vram.lock held. */
u64 vkfd_vram_free_bytes(struct vkfd_device *dev, bool visible);
/* How much of @node, which is below the driver's reserve, CPUs see. */
u64 vkfd_vram_node_visible(const struct vkfd_device *dev, const struct drm_mm_node *node);
/* Bytes KFD can still allocate, rounded down to 2 MiB. Takes vram.lock. */
u64 vkfd_vram_available(struct vkfd_device *dev);

/* Zeroes VRAM. Caller is in drm_dev_enter(). May sleep if @size is above 4 KiB. */
void vkfd_vram_zero(struct vkfd_device *dev, u64 offset, u64 size);

#endif /* VKFD_VRAM_H */
