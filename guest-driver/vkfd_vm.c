// SPDX-License-Identifier: GPL-2.0-only
/*
 * GPUVM: which BO is where, page tables and TLB in step with that.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_hiq.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_pt.h"
#include "vkfd_svm.h"
#include "vkfd_userptr.h"
#include "vkfd_vm.h"

struct vkfd_vm *vkfd_vm_create(struct vkfd_device *dev)
{
	struct vkfd_vm *vm;
	int idx;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);
	vm->dev = dev;
	vm->vmid = -1;
	mutex_init(&vm->lock);
	mutex_init(&vm->bind_lock);
	mt_init(&vm->mappings);

	if (vkfd_hw_enter(dev, &idx)) {
		vm->generation = READ_ONCE(dev->generation);
		vm->root = vkfd_pt_create_root(dev);
		vkfd_hw_exit(idx);
	} else {
		vm->root = ERR_PTR(-ENODEV);
	}
	if (IS_ERR(vm->root)) {
		int err = PTR_ERR(vm->root);

		mutex_destroy(&vm->bind_lock);
		mutex_destroy(&vm->lock);
		kfree(vm);
		return ERR_PTR(err);
	}
	vm->pd_offset = vm->root->node.start;
	return vm;
}

void vkfd_vm_destroy(struct vkfd_vm *vm)
{
	WARN_ON(vm->vmid >= 0 || vm->listed);

	mtree_destroy(&vm->mappings);
	vkfd_pt_destroy(vm->dev, vm->root);
	mutex_destroy(&vm->bind_lock);
	mutex_destroy(&vm->lock);
	kfree(vm);
}

int vkfd_vm_acquire(struct vkfd_vm *vm, struct vkfd_process *p)
{
	int err = 0;

	mutex_lock(&vm->lock);
	if (vm->process)
		err = -EINVAL;
	else
		vm->process = p;
	mutex_unlock(&vm->lock);

	return err;
}

void vkfd_vm_release(struct vkfd_vm *vm)
{
	mutex_lock(&vm->lock);
	vm->process = NULL;
	mutex_unlock(&vm->lock);
}

/*
 * Tables were changed; caller is in vkfd_hw_enter(). Who binds the VM from now on does so
 * after the changes, by bind_lock, and flushes itself.
 */
static void vkfd_vm_flush(struct vkfd_vm *vm)
{
	mutex_lock(&vm->bind_lock);
	/* Page-table writes before the register write that starts the invalidation. */
	wmb();
	/* A VM without VMID is flushed when it is bound to one, by whomever. */
	if (vm->listed)
		vkfd_hiq_flush_tlb(vm->dev, vm->process->pasid);
	else if (vm->vmid >= 0 && vkfd_hw_flush_tlb(vm->dev, vm->vmid))
		dev_err_ratelimited(vm->dev->drm.dev, "TLB of VMID %d not flushed\n", vm->vmid);
	mutex_unlock(&vm->bind_lock);
}

static u64 vkfd_vm_bo_pages(struct vkfd_bo *bo)
{
	u64 pages = vkfd_bo_size(bo) >> AMDGPU_GPU_PAGE_SHIFT;

	if (bo->gpu_pages)
		return bo->gpu_pages;
	return bo->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM ? pages * 2 : pages;
}

static bool vkfd_vm_range_ok(u64 va, u64 npages)
{
	u64 last;

	if (!IS_ALIGNED(va, AMDGPU_GPU_PAGE_SIZE) || va < VKFD_GPUVM_BASE ||
	    va > VKFD_GPUVM_LIMIT)
		return false;
	if (npages > (VKFD_GPUVM_LIMIT >> AMDGPU_GPU_PAGE_SHIFT))
		return false;
	last = va + (npages << AMDGPU_GPU_PAGE_SHIFT) - 1;
	return last <= VKFD_GPUVM_LIMIT;
}

struct vkfd_vm_map_ctx {
	struct vkfd_vm *vm;
	struct vkfd_bo *bo;
	u64 bo_pages;
	bool empty;
};

static u64 vkfd_vm_pte(void *data, u64 index)
{
	struct vkfd_vm_map_ctx *ctx = data;

	if (ctx->empty)
		return 0;
	/* AQL queue memory: the second half is the first again. */
	if (index >= ctx->bo_pages)
		index -= ctx->bo_pages;
	return vkfd_bo_pte(ctx->bo, ctx->vm->dev, index);
}

int vkfd_vm_map_bo(struct vkfd_vm *vm, struct vkfd_bo *bo)
{
	u64 npages = vkfd_vm_bo_pages(bo), pn = bo->va >> AMDGPU_GPU_PAGE_SHIFT;
	struct vkfd_vm_map_ctx ctx = {
		.vm = vm,
		.bo = bo,
		.bo_pages = vkfd_bo_size(bo) >> AMDGPU_GPU_PAGE_SHIFT,
		/* Those of user memory are not this lock's: see vkfd_vm_write_user(). */
		.empty = bo->userptr,
	};
	LIST_HEAD(empty);
	int err, idx;

	if (!vkfd_vm_range_ok(bo->va, npages) || !vkfd_bo_reachable(bo, vm->dev))
		return -EINVAL;
	if (!vkfd_hw_enter(vm->dev, &idx))
		return -ENODEV;

	mutex_lock(&vm->lock);
	if (vm->process && vkfd_svm_overlaps(vm->process, bo->va, npages << AMDGPU_GPU_PAGE_SHIFT)) {
		err = -EINVAL;
		goto out;
	}
	err = mtree_insert_range(&vm->mappings, pn, pn + npages - 1, bo, GFP_KERNEL_ACCOUNT);
	if (err) {
		err = err == -EEXIST ? -EINVAL : err;
		goto out;
	}
	err = vkfd_pt_prepare(vm->dev, vm->root, bo->va, npages);
	if (err) {
		vkfd_pt_clear(vm->dev, vm->root, bo->va, npages, false, true, &empty);
		mtree_erase(&vm->mappings, pn);
	} else {
		vkfd_pt_fill(vm->dev, vm->root, bo->va, npages, vkfd_vm_pte, &ctx);
	}
	/* Also on failure: the walker may have cached an entry for a table that goes. */
	vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
out:
	mutex_unlock(&vm->lock);
	vkfd_hw_exit(idx);
	if (!err && bo->userptr)
		vkfd_userptr_attach(bo, vm->dev->index);
	return err;
}

void vkfd_vm_refill_bo(struct vkfd_vm *vm, struct vkfd_bo *bo)
{
	struct vkfd_vm_map_ctx ctx = {
		.vm = vm,
		.bo = bo,
		.bo_pages = vkfd_bo_size(bo) >> AMDGPU_GPU_PAGE_SHIFT,
	};
	int idx;

	if (!vkfd_hw_enter(vm->dev, &idx))
		return;
	mutex_lock(&vm->lock);
	if (!WARN_ON(mtree_load(&vm->mappings, bo->va >> AMDGPU_GPU_PAGE_SHIFT) != bo)) {
		vkfd_pt_refill(vm->dev, vm->root, bo->va, vkfd_vm_bo_pages(bo), vkfd_vm_pte, &ctx);
		vkfd_vm_flush(vm);
	}
	mutex_unlock(&vm->lock);
	vkfd_hw_exit(idx);
}

int vkfd_vm_write_user(struct vkfd_vm *vm, struct vkfd_bo *bo, bool valid)
{
	struct vkfd_vm_map_ctx ctx = {
		.vm = vm,
		.bo = bo,
		.bo_pages = vkfd_bo_size(bo) >> AMDGPU_GPU_PAGE_SHIFT,
		.empty = !valid,
	};
	int idx;

	if (!vkfd_hw_enter(vm->dev, &idx))
		return -ENODEV;
	/*
	 * Without vm->lock: the tables of a mapped BO stay, and who makes or frees others
	 * changes other entries of the directories.
	 */
	vkfd_pt_refill(vm->dev, vm->root, bo->va, vkfd_vm_bo_pages(bo), vkfd_vm_pte, &ctx);
	vkfd_vm_flush(vm);
	vkfd_hw_exit(idx);
	return 0;
}

static u64 vkfd_vm_no_pte(void *data, u64 index)
{
	return 0;
}

int vkfd_vm_reserve(struct vkfd_vm *vm, u64 va, u64 npages)
{
	LIST_HEAD(empty);
	int err, idx;

	if (!vkfd_vm_range_ok(va, npages))
		return -EINVAL;
	if (!vkfd_hw_enter(vm->dev, &idx))
		return -ENODEV;
	mutex_lock(&vm->lock);
	err = vkfd_pt_prepare(vm->dev, vm->root, va, npages);
	if (err)
		vkfd_pt_clear(vm->dev, vm->root, va, npages, false, true, &empty);
	else
		vkfd_pt_fill(vm->dev, vm->root, va, npages, vkfd_vm_no_pte, NULL);
	/* The walker may have cached an entry for a table that goes. */
	if (!list_empty(&empty))
		vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
	mutex_unlock(&vm->lock);
	vkfd_hw_exit(idx);
	return err;
}

void vkfd_vm_unreserve(struct vkfd_vm *vm, u64 va, u64 npages)
{
	LIST_HEAD(empty);
	bool live;
	int idx;

	live = vkfd_hw_enter(vm->dev, &idx);
	mutex_lock(&vm->lock);
	vkfd_pt_clear(vm->dev, vm->root, va, npages, true, live, &empty);
	if (live)
		vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
	mutex_unlock(&vm->lock);
	if (live)
		vkfd_hw_exit(idx);
}

bool vkfd_vm_in_use(struct vkfd_vm *vm, u64 va, u64 npages)
{
	unsigned long pn = va >> AMDGPU_GPU_PAGE_SHIFT;
	bool found;

	mutex_lock(&vm->lock);
	found = mt_find(&vm->mappings, &pn, pn + npages - 1);
	mutex_unlock(&vm->lock);
	return found;
}

int vkfd_vm_write_range(struct vkfd_vm *vm, u64 va, u64 npages, vkfd_pte_fn fn, void *data)
{
	int idx;

	if (!vkfd_hw_enter(vm->dev, &idx))
		return -ENODEV;
	/* Without vm->lock, as vkfd_vm_write_user(). */
	vkfd_pt_refill(vm->dev, vm->root, va, npages, fn, data);
	vkfd_vm_flush(vm);
	vkfd_hw_exit(idx);
	return 0;
}

int vkfd_vm_read(struct vkfd_vm *vm, u64 va, void *buf, size_t size)
{
	struct vkfd_bo *bo;
	int err = -EFAULT;

	mutex_lock(&vm->lock);
	/* A mapped BO is not freed, and it cannot be unmapped now. */
	bo = mtree_load(&vm->mappings, va >> AMDGPU_GPU_PAGE_SHIFT);
	if (bo && offset_in_page(va) + size <= PAGE_SIZE)
		err = vkfd_bo_access(bo, (va - bo->va) % vkfd_bo_size(bo), buf, size, false);
	mutex_unlock(&vm->lock);
	return err;
}

int vkfd_vm_unmap_bo(struct vkfd_vm *vm, struct vkfd_bo *bo)
{
	u64 npages = vkfd_vm_bo_pages(bo), pn = bo->va >> AMDGPU_GPU_PAGE_SHIFT;
	LIST_HEAD(empty);
	int err = 0, idx;
	bool live;

	if (bo->userptr)
		vkfd_userptr_detach(bo, vm->dev->index);
	live = vkfd_hw_enter(vm->dev, &idx);
	mutex_lock(&vm->lock);
	if (mtree_load(&vm->mappings, pn) != bo) {
		err = -EINVAL;
		goto out;
	}
	vkfd_pt_clear(vm->dev, vm->root, bo->va, npages, true, live, &empty);
	if (live)
		vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
	mtree_erase(&vm->mappings, pn);
out:
	mutex_unlock(&vm->lock);
	if (live)
		vkfd_hw_exit(idx);
	return err;
}
