// SPDX-License-Identifier: GPL-2.0-only
/*
 * GEM_CREATE and GEM_MMAP of the render node: buffer objects by GEM handle. The memory is
 * that of vkfd_bo.c; doorbells are a slice of BAR2 of their own, which no queue of KFD
 * listens to. With no VM to map them into they are for the CPU.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/doorbell.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_doorbell.h"
#include "vkfd_drv.h"

/*
 * Most make no difference here: memory is always zeroed, and visible but where VRAM is not: then
 * CPU_ACCESS_REQUIRED says so.
 */
#define GEM_FLAGS	(AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | \
			 AMDGPU_GEM_CREATE_NO_CPU_ACCESS | AMDGPU_GEM_CREATE_CPU_GTT_USWC | \
			 AMDGPU_GEM_CREATE_VRAM_CLEARED | AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS | \
			 AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_EXPLICIT_SYNC | \
			 AMDGPU_GEM_CREATE_VRAM_WIPE_ON_RELEASE | AMDGPU_GEM_CREATE_DISCARDABLE)

/* -EINVAL: not a kind of memory there is here. */
static int bo_kind(u64 domains, enum vkfd_bo_kind *kind)
{
	if (domains & AMDGPU_GEM_DOMAIN_DOORBELL) {
		*kind = VKFD_BO_DOORBELL;
		return domains == AMDGPU_GEM_DOMAIN_DOORBELL ? 0 : -EINVAL;
	}
	if (!domains || domains & ~(u64)(AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT))
		return -EINVAL;
	/* The first of what would do, as upstream. */
	*kind = domains & AMDGPU_GEM_DOMAIN_VRAM ? VKFD_BO_VRAM : VKFD_BO_GTT;
	return 0;
}

/**
 * vkfd_gem_create_ioctl - DRM_IOCTL_AMDGPU_GEM_CREATE
 * @drm: the device
 * @data: union drm_amdgpu_gem_create
 * @filp: whose handle it becomes
 *
 * Return: 0; -EINVAL: size, alignment beyond a page, domains or flags, more than a slice of
 * doorbells; -ENOMEM: no memory, or no doorbell slice, is left; -ENODEV.
 */
int vkfd_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *filp)
{
	struct vkfd_device *dev = to_vkfd_device(drm);
	union drm_amdgpu_gem_create *args = data;
	struct vkfd_bo_params params = {
		.size = args->in.bo_size,
		.alloc_flags = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
		.gem = true,
	};
	struct vkfd_bo *bo;
	u32 handle;
	int err;

	err = bo_kind(args->in.domains, &params.kind);
	if (err)
		return err;
	if (!params.size || args->in.domain_flags & ~(u64)GEM_FLAGS ||
	    args->in.alignment > PAGE_SIZE ||
	    (params.kind == VKFD_BO_DOORBELL && params.size > VKFD_DOORBELL_SLICE_SIZE))
		return -EINVAL;
	if (args->in.domain_flags & AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS)
		params.alloc_flags |= KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS;
	if (args->in.domain_flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED)
		params.alloc_flags |= KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;

	bo = vkfd_bo_create(dev, &params);
	/* VRAM is full of what cannot make room: the other of what would do. */
	if (bo == ERR_PTR(-ENOMEM) && params.kind == VKFD_BO_VRAM &&
	    args->in.domains & AMDGPU_GEM_DOMAIN_GTT) {
		params.kind = VKFD_BO_GTT;
		bo = vkfd_bo_create(dev, &params);
	}
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bo->no_cpu = args->in.domain_flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS;
	bo->no_export = args->in.domain_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID;
	err = drm_gem_handle_create(filp, &bo->base, &handle);
	/* The handle has a reference of its own. */
	drm_gem_object_put(&bo->base);
	if (err)
		return err;
	*args = (union drm_amdgpu_gem_create) { .out.handle = handle };
	return 0;
}

/**
 * vkfd_gem_mmap_ioctl - DRM_IOCTL_AMDGPU_GEM_MMAP
 * @drm: the device
 * @data: union drm_amdgpu_gem_mmap
 * @filp: whose handle it is
 *
 * Return: 0 with the offset for mmap(); -ENOENT: no such handle; -EPERM: made without
 * access for the CPU.
 */
int vkfd_gem_mmap_ioctl(struct drm_device *drm, void *data, struct drm_file *filp)
{
	union drm_amdgpu_gem_mmap *args = data;
	struct drm_gem_object *obj = drm_gem_object_lookup(filp, args->in.handle);

	int err = 0;

	if (!obj)
		return -ENOENT;
	if (to_vkfd_bo(obj)->no_cpu)
		err = -EPERM;
	else
		*args = (union drm_amdgpu_gem_mmap) {
			.out.addr_ptr = drm_vma_node_offset_addr(&obj->vma_node),
		};
	drm_gem_object_put(obj);
	return err;
}
