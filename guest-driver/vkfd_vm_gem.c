// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings by GEM_VA: parts of BOs, taken out again by address, or with whatever else is in
 * a range. They live in the same tree as KFD's, which are left alone: KFD keeps pointers to
 * its own.
 *
 * A mapping is split by making it shorter and a new one of the rest. The entries stay what
 * they are, so that whoever fails behind a split leaves the VM as it was.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include <vkfd/gpuvm.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_evict.h"
#include "vkfd_pt.h"
#include "vkfd_process.h"
#include "vkfd_svm.h"
#include "vkfd_vm_int.h"

static unsigned long first_page(const struct vkfd_mapping *m)
{
	return m->va >> AMDGPU_GPU_PAGE_SHIFT;
}

static unsigned long last_page(const struct vkfd_mapping *m)
{
	return first_page(m) + m->npages - 1;
}

/* -EBUSY: there is a mapping of KFD's in the range. */
static int check_range(struct vkfd_vm *vm, unsigned long first, unsigned long last)
{
	struct vkfd_mapping *m;

	lockdep_assert_held(&vm->lock);

	mt_for_each(&vm->mappings, m, first, last)
		if (!m->gem)
			return -EBUSY;
	return 0;
}

/* A mapping that goes on over page @pn from the one before ends there, and another begins. */
static int split_at(struct vkfd_vm *vm, unsigned long pn)
{
	struct vkfd_mapping *m = mtree_load(&vm->mappings, pn), *rest;
	struct vkfd_map_params params;
	u64 before;
	int err;

	lockdep_assert_held(&vm->lock);

	if (!m || first_page(m) == pn)
		return 0;
	before = pn - first_page(m);
	params = (struct vkfd_map_params) {
		.bo = m->bo,
		.va = (u64)pn << AMDGPU_GPU_PAGE_SHIFT,
		.npages = m->npages - before,
		.first = m->first + before,
		.flags = m->flags,
		.gem = true,
	};
	rest = vkfd_mapping_create(vm, &params);
	if (!rest)
		return -ENOMEM;
	err = mtree_store_range(&vm->mappings, pn, last_page(m), rest, GFP_KERNEL_ACCOUNT);
	if (err) {
		/* Not the last reference to the BO, so this frees nothing else. */
		vkfd_mapping_put(rest);
		return err;
	}
	rest->live = true;
	m->npages = before;
	return 0;
}

/* Afterwards no mapping is partly in the range. */
static int split_around(struct vkfd_vm *vm, unsigned long first, unsigned long last)
{
	int err = check_range(vm, first, last);

	return err ?: split_at(vm, first) ?: split_at(vm, last + 1);
}

/*
 * Takes @m out of the tree and invalidates its entries; @live and @empty as for
 * vkfd_pt_clear(). It is put by whoever gets @gone, after a flush.
 */
static void take_out(struct vkfd_vm *vm, struct vkfd_mapping *m, bool live,
		     struct list_head *empty, struct list_head *gone)
{
	lockdep_assert_held(&vm->lock);

	vkfd_pt_clear(vm->dev, vm->root, m->va, m->npages, true, live, empty);
	mtree_erase(&vm->mappings, first_page(m));
	m->live = false;
	list_add_tail(&m->link, gone);
}

/* Ends what take_out() began; @live: the hardware is there. */
static void flush_out(struct vkfd_vm *vm, bool live, struct list_head *empty)
{
	if (live)
		vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, empty);
}

int vkfd_vm_gem_clear(struct vkfd_vm *vm, u64 va, u64 npages)
{
	unsigned long first = va >> AMDGPU_GPU_PAGE_SHIFT, last = first + npages - 1, pn;
	struct vkfd_mapping *m;
	LIST_HEAD(empty);
	LIST_HEAD(gone);
	int err, idx;
	bool live;

	if (!vkfd_vm_range_ok(va, npages))
		return -EINVAL;
	live = vkfd_hw_enter(vm->dev, &idx);
	mutex_lock(&vm->lock);
	err = split_around(vm, first, last);
	if (err)
		goto unlock;
	pn = first;
	mt_for_each(&vm->mappings, m, pn, last)
		take_out(vm, m, live, &empty, &gone);
	flush_out(vm, live, &empty);
unlock:
	mutex_unlock(&vm->lock);
	if (live)
		vkfd_hw_exit(idx);
	vkfd_mapping_put_list(&gone);
	return err;
}

int vkfd_vm_gem_unmap(struct vkfd_vm *vm, struct vkfd_bo *bo, u64 va)
{
	struct vkfd_mapping *m;
	LIST_HEAD(empty);
	LIST_HEAD(gone);
	int err = 0, idx;
	bool live;

	live = vkfd_hw_enter(vm->dev, &idx);
	mutex_lock(&vm->lock);
	m = mtree_load(&vm->mappings, va >> AMDGPU_GPU_PAGE_SHIFT);
	if (m && m->gem && m->bo == bo && m->va == va) {
		take_out(vm, m, live, &empty, &gone);
		flush_out(vm, live, &empty);
	} else {
		err = -ENOENT;
	}
	mutex_unlock(&vm->lock);
	if (live)
		vkfd_hw_exit(idx);
	vkfd_mapping_put_list(&gone);
	return err;
}

void vkfd_vm_gem_close(struct vkfd_vm *vm, struct vkfd_bo *bo)
{
	struct vkfd_mapping *m, *next;
	LIST_HEAD(victims);
	LIST_HEAD(empty);
	LIST_HEAD(gone);
	bool live;
	int idx;

	live = vkfd_hw_enter(vm->dev, &idx);
	mutex_lock(&vm->lock);
	spin_lock(&bo->mappings_lock);
	list_for_each_entry(m, &bo->mappings, bo_link)
		if (m->vm == vm && m->gem && m->live)
			list_add_tail(&m->link, &victims);
	spin_unlock(&bo->mappings_lock);
	list_for_each_entry_safe(m, next, &victims, link) {
		list_del(&m->link);
		take_out(vm, m, live, &empty, &gone);
	}
	if (!list_empty(&gone))
		flush_out(vm, live, &empty);
	mutex_unlock(&vm->lock);
	if (live)
		vkfd_hw_exit(idx);
	vkfd_mapping_put_list(&gone);
}

/*
 * Puts @m in the place of whatever is in its range, of which no mapping is only partly
 * there. The new entries are written over the old, so the GPU sees one or the other. On
 * failure nothing has changed.
 */
static int put_in_place(struct vkfd_vm *vm, struct vkfd_mapping *m, struct list_head *gone)
{
	unsigned long pn = first_page(m);
	struct vkfd_mapping *old, *next;
	LIST_HEAD(empty);
	int err;

	lockdep_assert_held(&vm->lock);

	err = vkfd_pt_prepare(vm->dev, vm->root, m->va, m->npages);
	if (err)
		goto prune;
	mt_for_each(&vm->mappings, old, pn, last_page(m))
		list_add_tail(&old->link, gone);
	err = mtree_store_range(&vm->mappings, first_page(m), last_page(m), m,
				GFP_KERNEL_ACCOUNT);
	if (err)
		goto forget;
	vkfd_pt_fill(vm->dev, vm->root, m->va, m->npages, vkfd_mapping_pte, m);
	m->live = true;
	/* Their places are counted twice by now: without touching the entries. */
	list_for_each_entry(old, gone, link) {
		vkfd_pt_clear(vm->dev, vm->root, old->va, old->npages, true, false, &empty);
		old->live = false;
	}
	WARN_ON(!list_empty(&empty));
	vkfd_vm_flush(vm);
	return 0;

forget:
	list_for_each_entry_safe(old, next, gone, link)
		list_del(&old->link);
prune:
	vkfd_pt_clear(vm->dev, vm->root, m->va, m->npages, false, true, &empty);
	vkfd_vm_flush(vm);
	vkfd_pt_free_list(vm->dev, &empty);
	return err;
}

void vkfd_vm_settle(struct vkfd_vm *vm)
{
	struct vkfd_process *p;

	/* Under the lock a process is not freed: its end waits there for vkfd_vm_release(). */
	mutex_lock(&vm->lock);
	p = vm->process;
	if (p && !kref_get_unless_zero(&p->ref))
		p = NULL;
	mutex_unlock(&vm->lock);
	if (!p)
		return;
	vkfd_svm_settle(p);
	vkfd_process_put(p);
}

int vkfd_vm_gem_replace(struct vkfd_vm *vm, const struct vkfd_map_params *params)
{
	struct vkfd_mapping *m;
	LIST_HEAD(gone);
	int err, idx;

	if (!vkfd_vm_range_ok(params->va, params->npages) ||
	    !vkfd_bo_reachable(params->bo, vm->dev))
		return -EINVAL;
	m = vkfd_mapping_create(vm, params);
	if (!m)
		return -ENOMEM;
	/* As in vkfd_vm_map(). */
	vkfd_bo_hold(params->bo);
	if (!vkfd_hw_enter(vm->dev, &idx)) {
		vkfd_bo_unhold(params->bo);
		vkfd_mapping_put(m);
		return -ENODEV;
	}
	mutex_lock(&vm->lock);
	if (vm->process &&
	    vkfd_svm_overlaps(vm->process, m->va, m->npages << AMDGPU_GPU_PAGE_SHIFT))
		err = -EINVAL;
	else
		err = split_around(vm, first_page(m), last_page(m));
	if (!err)
		err = put_in_place(vm, m, &gone);
	mutex_unlock(&vm->lock);
	vkfd_hw_exit(idx);
	vkfd_bo_unhold(params->bo);
	vkfd_mapping_put_list(&gone);
	if (err)
		vkfd_mapping_put(m);
	else
		vkfd_evict_touch(params->bo);
	return err;
}
