/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BOs as dma-bufs, which any process may have that got the file descriptor.
 */
#ifndef VKFD_DMABUF_H
#define VKFD_DMABUF_H

#include <drm/drm_gem.h>

struct dma_buf;
struct drm_device;
struct vkfd_bo;

/*
 * The dma-buf of @bo with a reference; a new one if there is none at the moment, made with
 * @flags (DRM_RDWR) then. -EPERM: not memory of ours that may leave its process; -ENOMEM.
 * Takes bo->share_lock.
 */
struct dma_buf *vkfd_bo_export(struct vkfd_bo *bo, int flags);
/* What @dmabuf is of, without a reference of its own; NULL: not of this driver. */
struct vkfd_bo *vkfd_dmabuf_bo(const struct dma_buf *dmabuf);

/* drm_gem_object_funcs.export, .get_sg_table, .vmap, .vunmap; drm_driver.gem_prime_import */
struct dma_buf *vkfd_gem_object_export(struct drm_gem_object *obj, int flags);
struct sg_table *vkfd_gem_object_sg_table(struct drm_gem_object *obj);
int vkfd_gem_object_vmap(struct drm_gem_object *obj, struct iosys_map *map);
void vkfd_gem_object_vunmap(struct drm_gem_object *obj, struct iosys_map *map);
struct drm_gem_object *vkfd_gem_prime_import(struct drm_device *drm, struct dma_buf *dmabuf);

#endif /* VKFD_DMABUF_H */
