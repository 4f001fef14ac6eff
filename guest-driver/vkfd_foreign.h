/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of other drivers, which comes as a dma-buf and is reached where they have it.
 */
#ifndef VKFD_FOREIGN_H
#define VKFD_FOREIGN_H

struct dma_buf;
struct drm_gem_object;
struct vkfd_bo;
struct vkfd_device;

/*
 * The BO of @dev that is @dmabuf's memory, a new one if there is none, with a reference. ERR_PTR:
 * what the exporter says, -ENODEV, -ENOMEM.
 */
struct drm_gem_object *vkfd_foreign_import(struct vkfd_device *dev, struct dma_buf *dmabuf);

/* For vkfd_bo.c: makes @bo, which is of that size, @dmabuf's / gives it back, complete or not. */
int vkfd_foreign_init(struct vkfd_bo *bo, struct dma_buf *dmabuf);
void vkfd_foreign_fini(struct vkfd_bo *bo);

/* After drm_dev_unplug(), with the hardware stopped: no exporter has pages mapped for @dev. */
void vkfd_foreign_revoke(struct vkfd_device *dev);

#endif /* VKFD_FOREIGN_H */
