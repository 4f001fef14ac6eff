// SPDX-License-Identifier: GPL-2.0-only
/*
 * KFD's dma-buf ioctls: memory by handle becomes a file descriptor, and a file descriptor
 * a handle of whoever has it.
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/uaccess.h>
#include <drm/drm.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_dmabuf.h"
#include "vkfd_interrupt.h"
#include "vkfd_mem.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"
#include "vkfd_share.h"

/* A dma-buf of ours by file descriptor, to be put; ERR_PTR(-EINVAL) for others'. */
static struct dma_buf *get_ours(int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);

	if (!IS_ERR(dmabuf) && !vkfd_dmabuf_bo(dmabuf)) {
		dma_buf_put(dmabuf);
		return ERR_PTR(-EINVAL);
	}
	return dmabuf;
}

/**
 * vkfd_ioctl_get_dmabuf_info - AMDKFD_IOC_GET_DMABUF_INFO
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_get_dmabuf_info_args
 *
 * Return: 0; -EINVAL: not a dma-buf of this driver, or more metadata than there is room
 * for, and metadata_size says how much; -EBADF; -EFAULT.
 */
int vkfd_ioctl_get_dmabuf_info(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_dmabuf_info_args *args = data;
	u8 metadata[VKFD_BO_METADATA_MAX];
	u32 room = args->metadata_size;
	struct dma_buf *dmabuf;
	struct vkfd_bo *bo;
	int err = 0;

	dmabuf = get_ours(args->dmabuf_fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	bo = vkfd_dmabuf_bo(dmabuf);

	args->size = vkfd_bo_size(bo);
	args->flags = bo->kind == VKFD_BO_VRAM ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM :
						 KFD_IOC_ALLOC_MEM_FLAGS_GTT;
	args->flags |= bo->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
	args->gpu_id = bo->dev->gpu_id;

	mutex_lock(&bo->share_lock);
	args->metadata_size = bo->metadata_size;
	memcpy(metadata, bo->metadata, bo->metadata_size);
	mutex_unlock(&bo->share_lock);
	if (args->metadata_ptr && room < args->metadata_size)
		err = -EINVAL;
	else if (args->metadata_ptr &&
		 copy_to_user(u64_to_user_ptr(args->metadata_ptr), metadata, args->metadata_size))
		err = -EFAULT;
	dma_buf_put(dmabuf);
	return err;
}

/**
 * vkfd_ioctl_import_dmabuf - AMDKFD_IOC_IMPORT_DMABUF
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_import_dmabuf_args
 *
 * Return: 0 with the handle; -EINVAL: no such GPU, or memory of another one, or no memory;
 * -ENODEV: no VM there; -EBADF; -ENOMEM; what the exporter of others' memory says.
 */
int vkfd_ioctl_import_dmabuf(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_import_dmabuf_args *args = data;
	struct drm_gem_object *obj;
	struct dma_buf *dmabuf;
	struct vkfd_pdd *pdd;
	struct vkfd_bo *bo;
	u32 handle;
	int err;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	pdd = vkfd_process_get_bound_pdd(p, args->gpu_id);
	mutex_unlock(&p->lock);
	if (IS_ERR(pdd))
		return PTR_ERR(pdd);
	/* Putting a dma-buf may sleep for long: without the lock. */
	dmabuf = dma_buf_get(args->dmabuf_fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	obj = vkfd_gem_prime_import(&pdd->dev->drm, dmabuf);
	if (IS_ERR(obj)) {
		dma_buf_put(dmabuf);
		return PTR_ERR(obj);
	}
	bo = to_vkfd_bo(obj);
	mutex_lock(&p->lock);
	err = vkfd_mem_import(pdd, bo, args->va_addr, NULL, &handle);
	mutex_unlock(&p->lock);
	if (err)
		drm_gem_object_put(&bo->base);
	else
		args->handle = vkfd_mem_handle(args->gpu_id, handle);
	dma_buf_put(dmabuf);
	return err;
}

/**
 * vkfd_ioctl_export_dmabuf - AMDKFD_IOC_EXPORT_DMABUF
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_export_dmabuf_args
 *
 * Return: 0 with the file descriptor; -EINVAL: no such memory; -EPERM: user memory,
 * doorbells or registers; -EMFILE; -ENOMEM.
 */
int vkfd_ioctl_export_dmabuf(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_export_dmabuf_args *args = data;
	struct vkfd_bo *bo = NULL;
	struct dma_buf *dmabuf;
	struct vkfd_mem *mem;
	int fd, err, flags = 0;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	mem = vkfd_mem_by_handle(p, args->handle, NULL);
	if (!IS_ERR_OR_NULL(mem)) {
		bo = mem->bo;
		drm_gem_object_get(&bo->base);
		if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
			flags = DRM_RDWR;
	}
	mutex_unlock(&p->lock);
	if (!bo)
		return -EINVAL;

	dmabuf = vkfd_bo_export(bo, flags);
	drm_gem_object_put(&bo->base);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = dma_buf_fd(dmabuf, args->flags);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	args->dmabuf_fd = fd;
	return 0;
}

MODULE_IMPORT_NS(DMA_BUF);
