/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffer objects. All are GEM objects, so that user space maps them through the
 * render node at the offset ALLOC_MEMORY_OF_GPU returned.
 */
#ifndef VKFD_BO_H
#define VKFD_BO_H

#include <linux/types.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>

struct vkfd_device;
struct vkfd_pdd;

enum vkfd_bo_kind {
	VKFD_BO_VRAM,
	VKFD_BO_GTT,
	VKFD_BO_USERPTR,
	VKFD_BO_DOORBELL,
	VKFD_BO_MMIO_REMAP,
};

/**
 * struct vkfd_bo
 * @base: GEM object; its reference count is the BO's
 * @va: GPU virtual address (0: none)
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @node: VRAM range, for VKFD_BO_VRAM
 * @pages: system pages, for GTT (shmem) and userptr (pinned)
 * @dma: bus address of each page of @pages
 * @user_addr: first byte of a userptr range
 * @vmap, @vmap_count: kernel mapping of GTT pages
 * @mapped: bit per GPU index it is mapped on; process->lock
 * @pin_events: signal page of a process: FREE is refused with -EPERM
 */
struct vkfd_bo {
	struct drm_gem_object base;
	enum vkfd_bo_kind kind;
	struct vkfd_device *dev;
	u64 va;
	u32 alloc_flags;
	struct drm_mm_node node;
	struct page **pages;
	dma_addr_t *dma;
	u64 user_addr;
	void *vmap;
	unsigned int vmap_count;
	unsigned long mapped;
	bool is_event_page;
};

static inline struct vkfd_bo *to_vkfd_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct vkfd_bo, base);
}

static inline u64 vkfd_bo_size(const struct vkfd_bo *bo)
{
	return bo->base.size;
}

/*
 * By handle in @pdd (low 32 bits of a KFD memory handle), with a reference
 * (drm_gem_object_put(&bo->base)); NULL if there is none.
 */
struct vkfd_bo *vkfd_bo_lookup(struct vkfd_pdd *pdd, u32 idr_handle);

/* Kernel mapping of a GTT BO; balanced by vkfd_bo_vunmap(). ERR_PTR(-EINVAL) for other kinds. */
void *vkfd_bo_vmap(struct vkfd_bo *bo);
void vkfd_bo_vunmap(struct vkfd_bo *bo);

#endif /* VKFD_BO_H */
