// SPDX-License-Identifier: GPL-2.0-only
/*
 * BOs as dma-bufs.
 *
 * A BO has one dma-buf at a time, whoever asked for it by whatever handle, as the DRM core
 * wants to find the same again when it is imported. The BO only knows it; the dma-buf
 * holds the BO, the DRM device and the module. It ends with its last file descriptor,
 * mapping, or GEM handle that was exported or imported. User mappings of it are among those
 * of the render node, so drm_dev_unplug() finds them when the GPU goes.
 *
 * Importers that are not of this driver get at system pages only. VRAM would have to be
 * moved there, which this driver does not do, or be reached by peer-to-peer DMA, which
 * Debian's kernel does not do.
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_dmabuf.h"
#include "vkfd_foreign.h"

static int vkfd_dmabuf_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct vkfd_bo *bo = to_vkfd_bo(dmabuf->priv);

	return bo->kind == VKFD_BO_GTT ? drm_gem_map_attach(dmabuf, attach) : -EOPNOTSUPP;
}

static void vkfd_dmabuf_release(struct dma_buf *dmabuf)
{
	struct vkfd_bo *bo = to_vkfd_bo(dmabuf->priv);

	/* Unless the BO has got a new one since the last reference of this went. */
	cmpxchg(&bo->dmabuf_file, dmabuf->file, NULL);
	drm_gem_dmabuf_release(dmabuf);
}

static const struct dma_buf_ops vkfd_dmabuf_ops = {
	.attach = vkfd_dmabuf_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = drm_gem_map_dma_buf,
	.unmap_dma_buf = drm_gem_unmap_dma_buf,
	.release = vkfd_dmabuf_release,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

static struct dma_buf *create(struct vkfd_bo *bo, int flags)
{
	struct dma_buf *dmabuf = drm_gem_prime_export(&bo->base, flags);

	if (IS_ERR(dmabuf))
		return dmabuf;
	dmabuf->ops = &vkfd_dmabuf_ops;
	return dmabuf;
}

struct dma_buf *vkfd_bo_export(struct vkfd_bo *bo, int flags)
{
	struct dma_buf *dmabuf;
	struct file *file;

	if (bo->kind == VKFD_BO_FOREIGN) {
		get_dma_buf(bo->dmabuf);
		return bo->dmabuf;
	}
	if (bo->no_export || (bo->kind != VKFD_BO_VRAM && bo->kind != VKFD_BO_GTT))
		return ERR_PTR(-EPERM);

	mutex_lock(&bo->share_lock);
	/* NULL also for one whose last reference is gone already. */
	file = get_file_active(&bo->dmabuf_file);
	if (file) {
		dmabuf = file->private_data;
	} else {
		dmabuf = create(bo, flags);
		if (!IS_ERR(dmabuf))
			WRITE_ONCE(bo->dmabuf_file, dmabuf->file);
	}
	mutex_unlock(&bo->share_lock);
	return dmabuf;
}

struct vkfd_bo *vkfd_dmabuf_bo(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &vkfd_dmabuf_ops ? to_vkfd_bo(dmabuf->priv) : NULL;
}

struct dma_buf *vkfd_gem_object_export(struct drm_gem_object *obj, int flags)
{
	return vkfd_bo_export(to_vkfd_bo(obj), flags);
}

struct sg_table *vkfd_gem_object_sg_table(struct drm_gem_object *obj)
{
	return drm_prime_pages_to_sg(obj->dev, to_vkfd_bo(obj)->pages, obj->size >> PAGE_SHIFT);
}

int vkfd_gem_object_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	void *addr = vkfd_bo_vmap(to_vkfd_bo(obj));

	if (IS_ERR(addr))
		return PTR_ERR(addr);
	iosys_map_set_vaddr(map, addr);
	return 0;
}

void vkfd_gem_object_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	vkfd_bo_vunmap(to_vkfd_bo(obj));
}

struct drm_gem_object *vkfd_gem_prime_import(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct vkfd_bo *bo = vkfd_dmabuf_bo(dmabuf);

	if (!bo)
		return vkfd_foreign_import(to_vkfd_device(drm), dmabuf);
	/* Nor is another GPU's memory foreign. */
	if (bo->base.dev != drm)
		return ERR_PTR(-EINVAL);
	drm_gem_object_get(&bo->base);
	return &bo->base;
}

MODULE_IMPORT_NS(DMA_BUF);
