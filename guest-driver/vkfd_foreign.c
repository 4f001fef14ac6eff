// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma-bufs of other drivers as BOs. The exporter keeps the memory where it is as long as it is
 * attached, as we do not tell it that we could do without: entries of it are written once.
 * CPUs map it by the dma-buf; that is the exporter's business.
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_foreign.h"

/*
 * One import at a time, so that memory that is imported again is found. Outside of
 * dev->foreign_lock and of exporters' locks, inside the DRM core's of handles.
 */
static DEFINE_MUTEX(import_lock);

/* The BO that is @dmabuf's memory on @dev already, with a reference, or NULL. */
static struct vkfd_bo *find(struct vkfd_device *dev, const struct dma_buf *dmabuf)
{
	struct vkfd_bo *bo, *found = NULL;

	mutex_lock(&dev->foreign_lock);
	list_for_each_entry(bo, &dev->foreign_bos, foreign_link) {
		if (bo->dmabuf == dmabuf && kref_get_unless_zero(&bo->base.refcount)) {
			found = bo;
			break;
		}
	}
	mutex_unlock(&dev->foreign_lock);
	return found;
}

struct drm_gem_object *vkfd_foreign_import(struct vkfd_device *dev, struct dma_buf *dmabuf)
{
	struct vkfd_bo_params params = {
		.kind = VKFD_BO_FOREIGN,
		.size = dmabuf->size,
		.alloc_flags = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
		.gem = true,
		.dmabuf = dmabuf,
	};
	struct vkfd_bo *bo;

	if (!IS_ALIGNED(dmabuf->size, PAGE_SIZE))
		return ERR_PTR(-EINVAL);
	/* Pages are mapped for a device once: whose cachelines they are would be open else. */
	mutex_lock(&import_lock);
	bo = find(dev, dmabuf) ?: vkfd_bo_create(dev, &params);
	mutex_unlock(&import_lock);
	return IS_ERR(bo) ? ERR_CAST(bo) : &bo->base;
}

int vkfd_foreign_init(struct vkfd_bo *bo, struct dma_buf *dmabuf)
{
	struct vkfd_device *dev = bo->dev;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	int err, idx;

	/* Only while the driver is bound: it is unmapped by then. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return -ENODEV;
	attach = dma_buf_attach(dmabuf, dev->drm.dev);
	if (IS_ERR(attach)) {
		err = PTR_ERR(attach);
		goto exit;
	}
	get_dma_buf(dmabuf);
	bo->dmabuf = dmabuf;
	bo->attach = attach;
	sgt = dma_buf_map_attachment_unlocked(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt)) {
		err = PTR_ERR(sgt);
		goto exit;
	}
	mutex_lock(&dev->foreign_lock);
	bo->sgt = sgt;
	list_add(&bo->foreign_link, &dev->foreign_bos);
	mutex_unlock(&dev->foreign_lock);
	err = vkfd_bo_dma_import(bo, sgt);
exit:
	drm_dev_exit(idx);
	return err;
}

/* Detached, too: an exporter may keep pages mapped for who is attached. */
static void leave(struct vkfd_bo *bo)
{
	lockdep_assert_held(&bo->dev->foreign_lock);

	if (bo->sgt) {
		list_del(&bo->foreign_link);
		dma_buf_unmap_attachment_unlocked(bo->attach, bo->sgt, DMA_BIDIRECTIONAL);
		bo->sgt = NULL;
	}
	if (bo->attach)
		dma_buf_detach(bo->dmabuf, bo->attach);
	bo->attach = NULL;
}

void vkfd_foreign_fini(struct vkfd_bo *bo)
{
	mutex_lock(&bo->dev->foreign_lock);
	leave(bo);
	mutex_unlock(&bo->dev->foreign_lock);
	if (bo->dmabuf)
		dma_buf_put(bo->dmabuf);
}

void vkfd_foreign_revoke(struct vkfd_device *dev)
{
	struct vkfd_bo *bo, *next;

	mutex_lock(&dev->foreign_lock);
	list_for_each_entry_safe(bo, next, &dev->foreign_bos, foreign_link)
		leave(bo);
	mutex_unlock(&dev->foreign_lock);
}

MODULE_IMPORT_NS(DMA_BUF);
