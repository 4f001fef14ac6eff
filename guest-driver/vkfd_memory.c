// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory ioctls: VMs, BOs by handle, mapping.
 *
 * User memory is read and written, and its pages are looked up, with no lock held: see
 * vkfd_device.h on mmap_lock.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_vma_manager.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/doorbell.h>

#include "vkfd_bo.h"
#include "vkfd_chardev.h"
#include "vkfd_doorbell.h"
#include "vkfd_evict.h"
#include "vkfd_gem.h"
#include "vkfd_interrupt.h"
#include "vkfd_mem.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"
#include "vkfd_svm.h"
#include "vkfd_userptr.h"
#include "vkfd_vm.h"
#include "vkfd_vram.h"

#define VKFD_ALLOC_DOMAINS	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | \
				 KFD_IOC_ALLOC_MEM_FLAGS_GTT | \
				 KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | \
				 KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | \
				 KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)

int vkfd_ioctl_acquire_vm(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_acquire_vm_args *args = data;
	struct vkfd_pdd *pdd;
	struct file *drm_file;
	struct vkfd_vm *vm;
	int err;

	drm_file = fget(args->drm_fd);
	if (!drm_file)
		return -EINVAL;

	err = vkfd_process_lock(p);
	if (err)
		goto put;
	pdd = vkfd_process_get_pdd(p, args->gpu_id);
	if (IS_ERR(pdd)) {
		err = PTR_ERR(pdd);
		goto out;
	}
	if (pdd->drm_file) {
		err = pdd->drm_file == drm_file ? 0 : -EBUSY;
		goto out;
	}
	vm = vkfd_drm_file_vm(pdd->dev, drm_file);
	if (IS_ERR(vm)) {
		err = PTR_ERR(vm);
		goto out;
	}
	err = vkfd_vm_acquire(vm, p);
	if (err)
		goto out;
	/* Pairs with the acquire in vkfd_signal_page.c. */
	smp_store_release(&pdd->vm, vm);
	/* The pdd keeps the reference. */
	pdd->drm_file = drm_file;
	drm_file = NULL;
	err = vkfd_events_vm_acquired(pdd);
	while (err == -ENOBUFS) {
		mutex_unlock(&p->lock);
		err = vkfd_evict_make_room(pdd->dev, vkfd_events_vm_tables(), p, true);
		mutex_lock(&p->lock);
		err = err ?: vkfd_events_vm_acquired(pdd);
	}
out:
	mutex_unlock(&p->lock);
put:
	if (drm_file)
		fput(drm_file);
	return err;
}

/* What the flags of an allocation ask for; -EINVAL unless it is exactly one kind. */
static int vkfd_alloc_kind(u32 flags, enum vkfd_bo_kind *kind)
{
	switch (flags & VKFD_ALLOC_DOMAINS) {
	case KFD_IOC_ALLOC_MEM_FLAGS_VRAM:
		*kind = VKFD_BO_VRAM;
		return 0;
	case KFD_IOC_ALLOC_MEM_FLAGS_GTT:
		*kind = VKFD_BO_GTT;
		return 0;
	case KFD_IOC_ALLOC_MEM_FLAGS_USERPTR:
		*kind = VKFD_BO_USERPTR;
		return 0;
	case KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL:
		*kind = VKFD_BO_DOORBELL;
		return 0;
	case KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP:
		*kind = VKFD_BO_MMIO_REMAP;
		return 0;
	}
	return -EINVAL;
}

/*
 * Checks @args against @pdd and makes BO parameters of them. Caller holds
 * process->lock.
 */
static int vkfd_alloc_prepare(struct vkfd_pdd *pdd,
			      const struct kfd_ioctl_alloc_memory_of_gpu_args *args,
			      struct vkfd_bo_params *params)
{
	struct vkfd_device *dev = pdd->dev;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	err = vkfd_alloc_kind(args->flags, &params->kind);
	if (err)
		return err;
	params->size = args->size;
	params->alloc_flags = args->flags;

	switch (params->kind) {
	case VKFD_BO_VRAM:
		/* Host-visible VRAM is promised only if all of it is visible. */
		if ((args->flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) &&
		    dev->vram.visible < dev->vram.size)
			return -EINVAL;
		return 0;
	case VKFD_BO_GTT:
		return 0;
	case VKFD_BO_USERPTR:
		params->user_addr = untagged_addr(args->mmap_offset);
		params->process = pdd->process;
		return params->user_addr ? 0 : -EINVAL;
	case VKFD_BO_DOORBELL:
		if (args->size != VKFD_DOORBELL_SLICE_SIZE)
			return -EINVAL;
		return vkfd_slice_give(pdd) ? -ENOMEM : 0;
	case VKFD_BO_MMIO_REMAP:
		if (args->size != PAGE_SIZE)
			return -EINVAL;
		params->phys = pci_resource_start(dev->pdev, VKFD_BAR_MMIO) +
			       VKFD_MMIO_REMAP_OFFSET;
		return 0;
	case VKFD_BO_FOREIGN:
		/* Imported only. */
		break;
	}
	return -EINVAL;
}

/* Whether memory of the same addresses is under the SVM interface: as upstream, not both. */
static bool vkfd_is_svm(struct vkfd_process *p, const struct vkfd_bo_params *params, u64 va)
{
	if (params->user_addr && vkfd_svm_overlaps(p, params->user_addr, params->size))
		return true;
	/* VRAM may have no address. */
	return va && vkfd_svm_overlaps(p, va, params->size);
}

int vkfd_ioctl_alloc_memory(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args *args = data;
	struct vkfd_bo_params params = {};
	struct vkfd_pdd *pdd;
	struct vkfd_bo *bo;
	u64 mmap_offset;
	u32 handle;
	int err;

	if (!args->size)
		return -EINVAL;

	vkfd_svm_settle(p);
	err = vkfd_process_lock(p);
	if (err)
		return err;
	pdd = vkfd_process_get_bound_pdd(p, args->gpu_id);
	err = PTR_ERR_OR_ZERO(pdd);
	if (!err)
		err = vkfd_alloc_prepare(pdd, args, &params);
	if (!err && vkfd_is_svm(p, &params, args->va_addr))
		err = -EADDRINUSE;
	mutex_unlock(&p->lock);
	if (err)
		return err;

	/* The pdd and its drm_file stay as long as the caller's file does. */
	bo = vkfd_bo_create(pdd->dev, &params);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	/* Once the BO has a handle another thread may free it. */
	mmap_offset = drm_vma_node_offset_addr(&bo->base.vma_node);

	mutex_lock(&p->lock);
	/* From now on vkfd_slice.c keeps it right. */
	if (bo->kind == VKFD_BO_DOORBELL)
		bo->phys = vkfd_doorbell_slice_addr(pdd);
	err = vkfd_mem_add(pdd, bo, args->va_addr, args->flags, &handle);
	mutex_unlock(&p->lock);
	if (err) {
		drm_gem_object_put(&bo->base);
		return err;
	}

	args->handle = vkfd_mem_handle(args->gpu_id, handle);
	if (params.kind == VKFD_BO_MMIO_REMAP)
		args->mmap_offset = VKFD_MMAP_TYPE_MMIO | VKFD_MMAP_GPU_ID(args->gpu_id);
	else
		args->mmap_offset = mmap_offset;
	return 0;
}

int vkfd_ioctl_free_memory(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_free_memory_of_gpu_args *args = data;
	struct vkfd_pdd *pdd;
	struct vkfd_mem *mem;
	int err;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	mem = vkfd_mem_by_handle(p, args->handle, &pdd);
	if (IS_ERR_OR_NULL(mem))
		err = mem ? PTR_ERR(mem) : -EINVAL;
	else if (mem->is_event_page)
		err = -EPERM;
	else if (vkfd_mem_is_mapped(mem))
		err = -EBUSY;
	else
		vkfd_mem_remove(pdd, vkfd_mem_handle_idr(args->handle));
	mutex_unlock(&p->lock);
	return err;
}

/* Caller holds process->lock. */
static int vkfd_map_one(struct vkfd_process *p, struct vkfd_mem *mem, u32 gpu_id)
{
	struct vkfd_pdd *pdd = vkfd_process_get_bound_pdd(p, gpu_id);

	return IS_ERR(pdd) ? PTR_ERR(pdd) : vkfd_mem_map(mem, pdd);
}

/* Caller holds process->lock. */
static int vkfd_unmap_one(struct vkfd_process *p, struct vkfd_mem *mem, u32 gpu_id)
{
	struct vkfd_pdd *pdd = vkfd_process_get_pdd(p, gpu_id);

	return IS_ERR(pdd) ? PTR_ERR(pdd) : vkfd_mem_unmap(mem, pdd);
}

/*
 * For those who dropped process->lock: whether the handle is of the same memory still; it may
 * have been freed, and another may be where it was.
 */
static int vkfd_check_mem(struct vkfd_pdd *pdd, u32 idr_handle, const struct vkfd_bo *bo)
{
	struct vkfd_mem *mem = vkfd_mem_lookup(pdd, idr_handle);

	return mem && mem->bo == bo ? 0 : -ENOMEM;
}

/*
 * Maps. Where page tables find no VRAM memory of others goes, for which process->lock is
 * dropped: then *@mem, of handle @idr_handle, is another or NULL behind it.
 */
static int vkfd_map_with_room(struct vkfd_process *p, struct vkfd_pdd *pdd, struct vkfd_mem **mem,
			      u32 idr_handle, u32 gpu_id)
{
	struct vkfd_bo *bo = (*mem)->bo;
	u64 va, npages;
	int err;

	lockdep_assert_held(&p->lock);

	err = vkfd_map_one(p, *mem, gpu_id);
	if (err != -ENOBUFS)
		return err;
	drm_gem_object_get(&bo->base);
	do {
		struct vkfd_vm *vm = vkfd_process_get_pdd(p, gpu_id)->vm;

		va = (*mem)->va;
		npages = vkfd_mem_npages(*mem);
		mutex_unlock(&p->lock);
		err = vkfd_vm_make_room(vm, va, npages, p, true);
		mutex_lock(&p->lock);
		*mem = vkfd_mem_lookup(pdd, idr_handle);
		err = err ?: vkfd_check_mem(pdd, idr_handle, bo) ?: vkfd_map_one(p, *mem, gpu_id);
	} while (err == -ENOBUFS);
	drm_gem_object_put(&bo->base);
	return err;
}

/*
 * MAP and UNMAP have the same arguments. n_success counts the devices done; a failed
 * call may be repeated from there.
 */
static_assert(sizeof(struct kfd_ioctl_map_memory_to_gpu_args) ==
	      sizeof(struct kfd_ioctl_unmap_memory_from_gpu_args));
static_assert(offsetof(struct kfd_ioctl_map_memory_to_gpu_args, n_success) ==
	      offsetof(struct kfd_ioctl_unmap_memory_from_gpu_args, n_success));

/*
 * Has the pages of a userptr there, for which process->lock is dropped. Where there is no
 * memory any more, as upstream, the range is mapped all the same, and accesses fault.
 */
static int vkfd_map_user(struct vkfd_process *p, struct vkfd_pdd *pdd, struct vkfd_mem *mem,
			 u32 idr_handle)
{
	struct vkfd_bo *bo = mem->bo;
	int err;

	lockdep_assert_held(&p->lock);

	drm_gem_object_get(&bo->base);
	mutex_unlock(&p->lock);
	err = vkfd_userptr_fetch(bo, current->mm, true);
	mutex_lock(&p->lock);
	if (!err || err == -EFAULT)
		err = vkfd_check_mem(pdd, idr_handle, bo);
	/* If it was freed, this may be the last reference, for which the lock is no hindrance. */
	drm_gem_object_put(&bo->base);
	return err;
}

static int vkfd_map_unmap(struct vkfd_process *p,
			  struct kfd_ioctl_map_memory_to_gpu_args *args, bool map)
{
	u32 i, first = args->n_success, gpu_ids[VKFD_MAX_GPUS];
	u32 idr_handle = vkfd_mem_handle_idr(args->handle);
	struct vkfd_pdd *pdd;
	struct vkfd_mem *mem;
	int err;

	/* A list longer than there can be GPUs has duplicates or strangers in it. */
	if (!args->n_devices || args->n_devices > VKFD_MAX_GPUS ||
	    args->n_success > args->n_devices)
		return -EINVAL;
	if (copy_from_user(gpu_ids, u64_to_user_ptr(args->device_ids_array_ptr),
			   array_size(args->n_devices, sizeof(*gpu_ids))))
		return -EFAULT;

	vkfd_svm_settle(p);
	err = vkfd_process_lock(p);
	if (err)
		return err;
	mem = vkfd_mem_by_handle(p, args->handle, &pdd);
	if (IS_ERR(mem)) {
		err = PTR_ERR(mem);
	} else if (map && !pdd->drm_file) {
		err = -ENODEV;
	} else if (!mem) {
		/* Upstream's errno for a handle that is unknown. */
		err = -ENOMEM;
	} else if (map && mem->bo->userptr) {
		err = vkfd_map_user(p, pdd, mem, idr_handle);
		mem = vkfd_mem_lookup(pdd, idr_handle);
	}
	for (i = first; !err && i < args->n_devices; i++) {
		/* What is done is counted, and a call that is repeated goes on behind it. */
		err = i > first ? vkfd_interrupt_point() : 0;
		if (err)
			break;
		err = map ? vkfd_map_with_room(p, pdd, &mem, idr_handle, gpu_ids[i]) :
			    vkfd_unmap_one(p, mem, gpu_ids[i]);
		if (!err)
			args->n_success = i + 1;
	}
	mutex_unlock(&p->lock);
	return err;
}

int vkfd_ioctl_map_memory(struct file *filep, struct vkfd_process *p, void *data)
{
	return vkfd_map_unmap(p, data, true);
}

int vkfd_ioctl_unmap_memory(struct file *filep, struct vkfd_process *p, void *data)
{
	return vkfd_map_unmap(p, data, false);
}

int vkfd_ioctl_available_memory(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_available_memory_args *args = data;
	struct vkfd_pdd *pdd;
	int err;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	pdd = vkfd_process_get_pdd(p, args->gpu_id);
	mutex_unlock(&p->lock);
	if (IS_ERR(pdd))
		return PTR_ERR(pdd);

	args->available = vkfd_vram_available(pdd->dev);
	return 0;
}
