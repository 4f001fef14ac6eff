// SPDX-License-Identifier: GPL-2.0-only
/*
 * GEM_VA and GEM_METADATA of the render node: where GEM objects are in the VM of the open
 * file, a process's compute VM or not, and what their makers noted about them.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include <vkfd/gpuvm.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_drv.h"
#include "vkfd_process.h"
#include "vkfd_vm.h"

#define VA_FLAGS	(AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_READABLE | \
			 AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE | \
			 AMDGPU_VM_MTYPE_MASK | AMDGPU_VM_PAGE_NOALLOC)

/* Entry flags as GEM_VA has them; the memory types as on Vega20, where RW is none. */
static u64 va_pte_flags(u32 flags)
{
	u64 mtype, pte = 0;

	if (flags & AMDGPU_VM_PAGE_READABLE)
		pte |= AMDGPU_PTE_READABLE;
	if (flags & AMDGPU_VM_PAGE_WRITEABLE)
		pte |= AMDGPU_PTE_WRITEABLE;
	if (flags & AMDGPU_VM_PAGE_EXECUTABLE)
		pte |= AMDGPU_PTE_EXECUTABLE;
	switch (flags & AMDGPU_VM_MTYPE_MASK) {
	case AMDGPU_VM_MTYPE_WC:
		mtype = AMDGPU_MTYPE_WC;
		break;
	case AMDGPU_VM_MTYPE_CC:
		mtype = AMDGPU_MTYPE_CC;
		break;
	case AMDGPU_VM_MTYPE_UC:
		mtype = AMDGPU_MTYPE_UC;
		break;
	default:
		mtype = AMDGPU_MTYPE_NC;
		break;
	}
	return pte | mtype << AMDGPU_PTE_MTYPE_VG10__SHIFT;
}

/* What MAP and REPLACE are asked for. -EINVAL: not pages, or not in the object. */
static int map_params(struct vkfd_bo *bo, const struct drm_amdgpu_gem_va *args,
		      struct vkfd_map_params *params)
{
	u64 end;

	if (!IS_ALIGNED(args->offset_in_bo | args->map_size, AMDGPU_GPU_PAGE_SIZE) ||
	    check_add_overflow(args->offset_in_bo, args->map_size, &end) ||
	    end > vkfd_bo_size(bo))
		return -EINVAL;
	*params = (struct vkfd_map_params) {
		.bo = bo,
		.va = args->va_address,
		.npages = args->map_size >> AMDGPU_GPU_PAGE_SHIFT,
		.first = args->offset_in_bo >> AMDGPU_GPU_PAGE_SHIFT,
		.flags = va_pte_flags(args->flags),
		.gem = true,
	};
	return 0;
}

static int try_map(struct vkfd_vm *vm, const struct vkfd_map_params *params, bool replace)
{
	struct vkfd_mapping *m;

	vkfd_vm_settle(vm);
	if (replace)
		return vkfd_vm_gem_replace(vm, params);
	m = vkfd_vm_map(vm, params);
	return PTR_ERR_OR_ZERO(m);
}

static int map(struct vkfd_vm *vm, const struct vkfd_map_params *params, bool replace)
{
	int err = try_map(vm, params, replace);
	struct vkfd_process *own;

	if (err != -ENOBUFS)
		return err;
	own = vkfd_process_get_current();
	do {
		err = vkfd_vm_make_room(vm, params->va, params->npages, own, true);
		if (!err)
			err = try_map(vm, params, replace);
	} while (err == -ENOBUFS);
	if (own)
		vkfd_process_put(own);
	return err;
}

static int run_va(struct vkfd_vm *vm, struct vkfd_bo *bo, const struct drm_amdgpu_gem_va *args)
{
	struct vkfd_map_params params;
	int err;

	if (args->operation == AMDGPU_VA_OP_UNMAP)
		return vkfd_vm_gem_unmap(vm, bo, args->va_address);
	err = map_params(bo, args, &params);
	return err ?: map(vm, &params, args->operation == AMDGPU_VA_OP_REPLACE);
}

/**
 * vkfd_gem_va_ioctl - DRM_IOCTL_AMDGPU_GEM_VA
 * @drm: the device
 * @data: struct drm_amdgpu_gem_va
 * @filp: whose VM and whose handle
 *
 * Done when this returns, AMDGPU_VM_DELAY_UPDATE or not: no command submission is there to
 * delay it to. PRT is not offered.
 *
 * Return: 0; -EINVAL: flags, operation, alignment, a range that is not in the object or not
 * in the address space, or in use (MAP); -ENOENT: no such handle, or UNMAP of what is not
 * mapped just there; -EBUSY: REPLACE or CLEAR of a mapping of KFD's; -ENOMEM; -ENODEV.
 */
int vkfd_gem_va_ioctl(struct drm_device *drm, void *data, struct drm_file *filp)
{
	struct vkfd_vm *vm = filp->driver_priv;
	struct drm_amdgpu_gem_va *args = data;
	struct drm_gem_object *obj;
	int err;

	if (args->flags & ~(u32)VA_FLAGS)
		return -EINVAL;
	switch (args->operation) {
	case AMDGPU_VA_OP_CLEAR:
		if (!IS_ALIGNED(args->map_size, AMDGPU_GPU_PAGE_SIZE))
			return -EINVAL;
		return vkfd_vm_gem_clear(vm, args->va_address,
					 args->map_size >> AMDGPU_GPU_PAGE_SHIFT);
	case AMDGPU_VA_OP_MAP:
	case AMDGPU_VA_OP_UNMAP:
	case AMDGPU_VA_OP_REPLACE:
		break;
	default:
		return -EINVAL;
	}

	obj = drm_gem_object_lookup(filp, args->handle);
	if (!obj)
		return -ENOENT;
	err = run_va(vm, to_vkfd_bo(obj), args);
	drm_gem_object_put(obj);
	return err;
}

/**
 * vkfd_gem_metadata_ioctl - DRM_IOCTL_AMDGPU_GEM_METADATA
 * @drm: the device
 * @data: struct drm_amdgpu_gem_metadata
 * @filp: whose handle
 *
 * The data belong to the object: whoever imports it gets them.
 *
 * Return: 0; -ENOENT: no such handle; -EINVAL: operation, or more data than the structure
 * holds.
 */
int vkfd_gem_metadata_ioctl(struct drm_device *drm, void *data, struct drm_file *filp)
{
	struct drm_amdgpu_gem_metadata *args = data;
	struct drm_gem_object *obj;
	struct vkfd_bo *bo;
	int err = 0;

	static_assert(sizeof(args->data.data) == VKFD_BO_METADATA_MAX);

	obj = drm_gem_object_lookup(filp, args->handle);
	if (!obj)
		return -ENOENT;
	bo = to_vkfd_bo(obj);
	mutex_lock(&bo->share_lock);
	switch (args->op) {
	case AMDGPU_GEM_METADATA_OP_GET_METADATA:
		args->data.flags = bo->metadata_flags;
		args->data.tiling_info = bo->tiling;
		args->data.data_size_bytes = bo->metadata_size;
		memcpy(args->data.data, bo->metadata, bo->metadata_size);
		break;
	case AMDGPU_GEM_METADATA_OP_SET_METADATA:
		if (args->data.data_size_bytes > sizeof(args->data.data)) {
			err = -EINVAL;
			break;
		}
		bo->metadata_flags = args->data.flags;
		bo->tiling = args->data.tiling_info;
		bo->metadata_size = args->data.data_size_bytes;
		memcpy(bo->metadata, args->data.data, bo->metadata_size);
		break;
	default:
		err = -EINVAL;
	}
	mutex_unlock(&bo->share_lock);
	drm_gem_object_put(obj);
	return err;
}
