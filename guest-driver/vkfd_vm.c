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
#include "vkfd_peer.h"
#include "vkfd_process.h"
#include "vkfd_pt.h"
#include "vkfd_svm.h"
#include "vkfd_userptr.h"
#include "vkfd_vm_int.h"

struct vkfd_vm *vkfd_vm_create(struct vkfd_device *dev)
{
	struct vkfd_vm *vm;
	int idx;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);
	refcount_set(&vm->ref, 1);
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

static void vkfd_vm_put(struct vkfd_vm *vm)
{
	if (!refcount_dec_and_test(&vm->ref))
		return;
	mutex_destroy(&vm->bind_lock);
	mutex_destroy(&vm->lock);
	kfree(vm);
}

void vkfd_mapping_put(struct vkfd_mapping *m)
{
	struct vkfd_bo *bo = m->bo;
	bool last;

	/* Under the lock, so that whoever finds it in the list finds it with references. */
	spin_lock(&bo->mappings_lock);
	last = refcount_dec_and_test(&m->ref);
	if (last)
		list_del(&m->bo_link);
	spin_unlock(&bo->mappings_lock);
	if (!last)
		return;
	vkfd_vm_put(m->vm);
	kfree(m);
	drm_gem_object_put(&bo->base);
}

void vkfd_mapping_put_list(struct list_head *list)
{
	struct vkfd_mapping *m, *next;

	list_for_each_entry_safe(m, next, list, link) {
		list_del(&m->link);
		vkfd_mapping_put(m);
	}
}

struct vkfd_mapping *vkfd_mapping_create(struct vkfd_vm *vm, const struct vkfd_map_params *params)
{
	struct vkfd_mapping *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return NULL;
	refcount_set(&m->ref, 1);
	refcount_inc(&vm->ref);
	drm_gem_object_get(&params->bo->base);
	m->vm = vm;
	m->bo = params->bo;
	m->va = params->va;
	m->npages = params->npages;
	m->first = params->first;
	m->flags = params->flags;
	m->gem = params->gem;
	if (vm->dev != m->bo->dev)
		vkfd_peer_note(m->bo);
	spin_lock(&m->bo->mappings_lock);
	list_add_tail(&m->bo_link, &m->bo->mappings);
	spin_unlock(&m->bo->mappings_lock);
	return m;
}

void vkfd_vm_destroy(struct vkfd_vm *vm)
{
	unsigned long pn = 0;
	struct vkfd_mapping *m;
	LIST_HEAD(gone);

	WARN_ON(vm->vmid >= 0 || vm->listed);

	/* Those who refill a BO may still come by. */
	mutex_lock(&vm->lock);
	mt_for_each(&vm->mappings, m, pn, ULONG_MAX) {
		m->live = false;
		list_add(&m->link, &gone);
	}
	mtree_destroy(&vm->mappings);
	vkfd_pt_destroy(vm->dev, vm->root);
	vm->root = NULL;
	mutex_unlock(&vm->lock);
	vkfd_mapping_put_list(&gone);
	vkfd_vm_put(vm);
}

int vkfd_vm_acquire(struct vkfd_vm *vm, struct vkfd_process *p)
{
	int err = 0;

	/* Who moves memory that the VM shows has to know whose queues may use it. */
	mutex_lock(&vm->dev->evict.lock);
	mutex_lock(&vm->lock);
	if (vm->process || !mtree_empty(&vm->mappings))
		err = -EINVAL;
	else
		WRITE_ONCE(vm->process, p);
	mutex_unlock(&vm->lock);
	mutex_unlock(&vm->dev->evict.lock);

	return err;
}

void vkfd_vm_release(struct vkfd_vm *vm)
{
	mutex_lock(&vm->lock);
	WRITE_ONCE(vm->process, NULL);
	mutex_unlock(&vm->lock);
}

/*
 * Tables were changed; caller is in vkfd_hw_enter(). Who binds the VM from now on does so
 * after the changes, by bind_lock, and flushes itself.
 */
void vkfd_vm_flush(struct vkfd_vm *vm)
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

bool vkfd_vm_range_ok(u64 va, u64 npages)
{
	u64 last;

	if (!IS_ALIGNED(va, AMDGPU_GPU_PAGE_SIZE) || va < VKFD_GPUVM_BASE ||
	    va > VKFD_GPUVM_LIMIT)
		return false;
	if (!npages || npages > (VKFD_GPUVM_LIMIT >> AMDGPU_GPU_PAGE_SHIFT))
		return false;
	last = va + (npages << AMDGPU_GPU_PAGE_SHIFT) - 1;
	return last <= VKFD_GPUVM_LIMIT;
}

static u64 vkfd_bo_pages(const struct vkfd_bo *bo)
{
	return vkfd_bo_size(bo) >> AMDGPU_GPU_PAGE_SHIFT;
}

/* Page of its BO that page @index of @m shows. */
static u64 vkfd_mapping_page(const struct vkfd_mapping *m, u64 index)
{
	return (m->first + index) % vkfd_bo_pages(m->bo);
}

u64 vkfd_mapping_pte(void *data, u64 index)
{
	struct vkfd_mapping *m = data;

	return vkfd_bo_pte(m->bo, m->vm->dev, vkfd_mapping_page(m, index), m->flags);
}

static u64 vkfd_invalid_pte(void *data, u64 index)
{
	return 0;
}

struct vkfd_mapping *vkfd_vm_map(struct vkfd_vm *vm, const struct vkfd_map_params *params)
{
	u64 va = params->va, npages = params->npages, pn = va >> AMDGPU_GPU_PAGE_SHIFT;
	struct vkfd_mapping *m;
	LIST_HEAD(empty);
	int err, idx;

	if (!vkfd_vm_range_ok(va, npages) || !vkfd_bo_reachable(params->bo, vm->dev))
		return ERR_PTR(-EINVAL);
	if (params->bo->kind == VKFD_BO_GTT && vkfd_bo_dma_needed(params->bo, vm->dev)) {
		err = vkfd_bo_dma_map(params->bo, vm->dev);
		if (err)
			return ERR_PTR(err);
	}
	m = vkfd_mapping_create(vm, params);
	if (!m)
		return ERR_PTR(-ENOMEM);
	/* A move may have stopped queues already, and not those that use this mapping. */
	vkfd_bo_hold(params->bo);
	if (!vkfd_hw_enter(vm->dev, &idx)) {
		vkfd_bo_unhold(params->bo);
		vkfd_mapping_put(m);
		return ERR_PTR(-ENODEV);
	}

	mutex_lock(&vm->lock);
	if (vm->process && vkfd_svm_overlaps(vm->process, va, npages << AMDGPU_GPU_PAGE_SHIFT)) {
		err = -EINVAL;
		goto out;
	}
	err = mtree_insert_range(&vm->mappings, pn, pn + npages - 1, m, GFP_KERNEL_ACCOUNT);
	if (err) {
		err = err == -EEXIST ? -EINVAL : err;
		goto out;
	}
	err = vkfd_pt_prepare(vm->dev, vm->root, va, npages);
	if (err) {
		vkfd_pt_clear(vm->dev, vm->root, va, npages, false, true, &empty);
		mtree_erase(&vm->mappings, pn);
	} else {
		/* Entries of user memory are not this lock's: see vkfd_vm_write_user(). */
		vkfd_pt_fill(vm->dev, vm->root, va, npages,
			     m->bo->userptr ? vkfd_invalid_pte : vkfd_mapping_pte, m);
		m->live = true;
	}
	/* Also on failure: the walker may have cached an entry for a table that goes. */
	vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
out:
	mutex_unlock(&vm->lock);
	vkfd_hw_exit(idx);
	vkfd_bo_unhold(params->bo);
	if (err) {
		vkfd_mapping_put(m);
		return ERR_PTR(err);
	}
	if (m->bo->userptr)
		vkfd_userptr_attach(m->bo, vm->dev->index);
	else
		vkfd_evict_touch(params->bo);
	return m;
}

int vkfd_vm_make_room(struct vkfd_vm *vm, u64 va, u64 npages, const struct vkfd_process *own,
		      bool plain)
{
	u64 missing;

	mutex_lock(&vm->lock);
	missing = vkfd_pt_missing(vm->root, va, npages);
	mutex_unlock(&vm->lock);
	return vkfd_evict_make_room(vm->dev, missing * AMDGPU_GPU_PAGE_SIZE, own, plain);
}

static void vkfd_mapping_refill(struct vkfd_mapping *m, void *unused)
{
	struct vkfd_vm *vm = m->vm;
	int idx;

	mutex_lock(&vm->lock);
	/* The GPU of a VM that is no more may be no more itself. */
	if (m->live && vkfd_hw_enter(vm->dev, &idx)) {
		vkfd_pt_refill(vm->dev, vm->root, m->va, m->npages, vkfd_mapping_pte, m);
		vkfd_vm_flush(vm);
		vkfd_hw_exit(idx);
	}
	mutex_unlock(&vm->lock);
}

/* Calls @fn for all mappings of @bo, with a reference and without a lock. */
static void vkfd_mapping_for_each(struct vkfd_bo *bo,
				  void (*fn)(struct vkfd_mapping *m, void *data), void *data)
{
	struct vkfd_mapping *m, *last = NULL;

	/* What is added meanwhile comes last, or with the new entries. */
	spin_lock(&bo->mappings_lock);
	list_for_each_entry(m, &bo->mappings, bo_link) {
		refcount_inc(&m->ref);
		spin_unlock(&bo->mappings_lock);
		if (last)
			vkfd_mapping_put(last);
		fn(m, data);
		last = m;
		spin_lock(&bo->mappings_lock);
	}
	spin_unlock(&bo->mappings_lock);
	if (last)
		vkfd_mapping_put(last);
}

void vkfd_vm_refill_bo(struct vkfd_bo *bo)
{
	vkfd_mapping_for_each(bo, vkfd_mapping_refill, NULL);
}

/* What vkfd_vm_for_each_user() was called with, and what came of it. */
struct vkfd_user_walk {
	int (*fn)(struct vkfd_process *p, unsigned int gpu, void *data);
	void *data;
	int err;
};

static void vkfd_mapping_user(struct vkfd_mapping *m, void *data)
{
	struct vkfd_user_walk *walk = data;
	struct vkfd_vm *vm = m->vm;

	mutex_lock(&vm->lock);
	/* The process of a VM is not taken apart before vkfd_vm_release(). */
	if (!walk->err && m->live && vm->process)
		walk->err = walk->fn(vm->process, vm->dev->index, walk->data);
	mutex_unlock(&vm->lock);
}

int vkfd_vm_for_each_user(struct vkfd_bo *bo,
			  int (*fn)(struct vkfd_process *p, unsigned int gpu, void *data), void *data)
{
	struct vkfd_user_walk walk = { .fn = fn, .data = data };

	vkfd_mapping_for_each(bo, vkfd_mapping_user, &walk);
	return walk.err;
}

bool vkfd_vm_is_user(struct vkfd_bo *bo, const struct vkfd_process *p)
{
	struct vkfd_mapping *m;
	bool found = false;

	spin_lock(&bo->mappings_lock);
	list_for_each_entry(m, &bo->mappings, bo_link)
		found |= READ_ONCE(m->vm->process) == p;
	spin_unlock(&bo->mappings_lock);
	return found;
}

/* The one mapping of a userptr in @vm. */
static struct vkfd_mapping *vkfd_vm_user_mapping(struct vkfd_vm *vm, struct vkfd_bo *bo)
{
	struct vkfd_mapping *m, *found = NULL;

	spin_lock(&bo->mappings_lock);
	list_for_each_entry(m, &bo->mappings, bo_link)
		if (m->vm == vm)
			found = m;
	spin_unlock(&bo->mappings_lock);
	return found;
}

int vkfd_vm_write_user(struct vkfd_vm *vm, struct vkfd_bo *bo, bool valid)
{
	struct vkfd_mapping *m = vkfd_vm_user_mapping(vm, bo);
	int idx;

	if (WARN_ON(!m) || !vkfd_hw_enter(vm->dev, &idx))
		return -ENODEV;
	/*
	 * Without vm->lock: the tables of a mapped BO stay, and who makes or frees others
	 * changes other entries of the directories.
	 */
	vkfd_pt_refill(vm->dev, vm->root, m->va, m->npages,
		       valid ? vkfd_mapping_pte : vkfd_invalid_pte, m);
	vkfd_vm_flush(vm);
	vkfd_hw_exit(idx);
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
		vkfd_pt_fill(vm->dev, vm->root, va, npages, vkfd_invalid_pte, NULL);
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
	struct vkfd_mapping *m;
	int err = -EFAULT;
	u64 index;

	mutex_lock(&vm->lock);
	m = mtree_load(&vm->mappings, va >> AMDGPU_GPU_PAGE_SHIFT);
	if (m && offset_in_page(va) + size <= PAGE_SIZE) {
		index = vkfd_mapping_page(m, (va - m->va) >> AMDGPU_GPU_PAGE_SHIFT);
		err = vkfd_bo_access(m->bo, (index << PAGE_SHIFT) + offset_in_page(va), buf, size,
				     false);
	}
	mutex_unlock(&vm->lock);
	return err;
}

void vkfd_vm_unmap(struct vkfd_mapping *m)
{
	struct vkfd_vm *vm = m->vm;
	LIST_HEAD(empty);
	bool live;
	int idx;

	if (m->bo->userptr)
		vkfd_userptr_detach(m->bo, vm->dev->index);
	live = vkfd_hw_enter(vm->dev, &idx);
	mutex_lock(&vm->lock);
	vkfd_pt_clear(vm->dev, vm->root, m->va, m->npages, true, live, &empty);
	if (live)
		vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
	mtree_erase(&vm->mappings, m->va >> AMDGPU_GPU_PAGE_SHIFT);
	m->live = false;
	mutex_unlock(&vm->lock);
	if (live)
		vkfd_hw_exit(idx);
	vkfd_mapping_put(m);
}
