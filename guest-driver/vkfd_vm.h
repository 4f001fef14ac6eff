/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GPUVM: four levels of page tables in VRAM, written by the CPU through BAR0,
 * and the set of its mappings. Each open render-node file owns one; ACQUIRE_VM
 * makes it a process's compute VM.
 */
#ifndef VKFD_VM_H
#define VKFD_VM_H

#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "vkfd_pt.h"

struct vkfd_bo;
struct vkfd_device;
struct vkfd_process;

/**
 * struct vkfd_vm
 * @ref: the open file's, and one of each mapping; what is left after vkfd_vm_destroy()
 *       is this structure only
 * @dev: the GPU; the open file keeps it
 * @lock: page tables, @mappings, @process; memory is allocated under it
 * @bind_lock: @vmid, @listed; held while the TLB is flushed. Inside @lock, and without it in
 *             what an MMU notifier calls
 * @root: root directory
 * @pd_offset: VRAM offset of the root directory
 * @process: the process that acquired this VM, NULL for a graphics VM; no reference
 *           (the process holds the file, the file holds the VM)
 * @vmid: hardware context while queues run, else -1. Set by the queue code under
 *        dev->queue_lock and @bind_lock.
 * @listed: queues that use it are in the run list: the firmware may have it on a VMID at
 *          any time. Set as @vmid.
 * @generation: of @dev when the VM was made: tables of before a reset are never used
 *              again, as changes to them were lost
 * @mappings: page numbers in use -> struct vkfd_mapping (one reference each)
 */
struct vkfd_vm {
	refcount_t ref;
	struct vkfd_device *dev;
	struct mutex lock;
	struct mutex bind_lock;
	struct vkfd_pt *root;
	u64 pd_offset;
	struct vkfd_process *process;
	int vmid;
	bool listed;
	u32 generation;
	struct maple_tree mappings;
};

/**
 * struct vkfd_mapping - a range of a VM that shows a BO
 * @ref: one of the VM while the mapping is in vm->mappings, others of who looks at it
 *       without vm->lock
 * @vm: with a reference
 * @bo: with a reference
 * @va: GPU address of its first page
 * @npages: length, in pages; vm->lock, as a mapping of GEM_VA's may become shorter
 * @first: page of @bo it begins with. Behind the last page of @bo comes the first again:
 *         AQL queue memory is there twice
 * @flags: AMDGPU_PTE_READABLE, _WRITEABLE, _EXECUTABLE and the memory type; what else an
 *         entry needs is a matter of the memory
 * @gem: GEM_VA's, not KFD's
 * @live: it is in vm->mappings; vm->lock
 * @bo_link: in bo->mappings until the last reference goes; bo->mappings_lock
 * @link: on its way out; of whoever took it out of vm->mappings
 */
struct vkfd_mapping {
	refcount_t ref;
	struct vkfd_vm *vm;
	struct vkfd_bo *bo;
	u64 va;
	u64 npages;
	u64 first;
	u64 flags;
	bool gem;
	bool live;
	struct list_head bo_link;
	struct list_head link;
};

/**
 * struct vkfd_map_params - what is to be mapped where
 * @bo: the memory
 * @va: GPU address
 * @npages: how much of it, in pages; up to twice as many as @bo has
 * @first, @flags, @gem: as in struct vkfd_mapping
 */
struct vkfd_map_params {
	struct vkfd_bo *bo;
	u64 va;
	u64 npages;
	u64 first;
	u64 flags;
	bool gem;
};

/*
 * ERR_PTR: -ENOMEM; -ENODEV: the hardware is gone; -ENOBUFS: there is no VRAM for its root
 * (vkfd_vram_alloc()), else the same again.
 */
struct vkfd_vm *vkfd_vm_create(struct vkfd_device *dev);
/* No queue runs in it. Mappings that are left go with it. */
void vkfd_vm_destroy(struct vkfd_vm *vm);

/*
 * Makes @vm the compute VM of @p / a graphics VM again. -EINVAL: it is a process's
 * already, or has mappings. Takes vm->lock.
 */
int vkfd_vm_acquire(struct vkfd_vm *vm, struct vkfd_process *p);
void vkfd_vm_release(struct vkfd_vm *vm);

/*
 * Maps memory / removes a mapping of vkfd_vm_map(), which is the VM's: the pointer is
 * good until then. Both flush the TLB of the VM's VMID before they return. On failure
 * the VM is as before. Map: ERR_PTR(-EINVAL) for a misaligned, bad or overlapping range
 * or a BO the GPU cannot reach, -ENOMEM, -ENODEV, -ENOBUFS: no VRAM for page tables, see
 * vkfd_vm_make_room(). Unmap works on after the hardware is gone. Take vm->lock.
 */
struct vkfd_mapping *vkfd_vm_map(struct vkfd_vm *vm, const struct vkfd_map_params *params);
void vkfd_vm_unmap(struct vkfd_mapping *m);

/*
 * vkfd_vm_gem.c, for mappings with @gem; take vm->lock. Clear: all that is in the range,
 * parts of mappings, too. Unmap: the one of @bo that begins at @va. Close: all of @bo.
 * Replace: maps over what is in the range. -EINVAL: a misaligned or bad range; -EBUSY: there
 * is a mapping of KFD's; -ENOENT: there is no such mapping; -ENOMEM; -ENODEV, -ENOBUFS
 * (replace). On failure the VM is as before.
 */
int vkfd_vm_gem_clear(struct vkfd_vm *vm, u64 va, u64 npages);
int vkfd_vm_gem_unmap(struct vkfd_vm *vm, struct vkfd_bo *bo, u64 va);
void vkfd_vm_gem_close(struct vkfd_vm *vm, struct vkfd_bo *bo);
int vkfd_vm_gem_replace(struct vkfd_vm *vm, const struct vkfd_map_params *params);
/* See vkfd_svm_settle(); of the process whose VM it is, if any. No lock held. */
void vkfd_vm_settle(struct vkfd_vm *vm);

/*
 * After -ENOBUFS of one of these: memory of others leaves VRAM until page tables for the range
 * fit, but not what queues of @own (or NULL) can use. 0: the same may be tried again, and may
 * fail again, if others were faster; -ENOMEM: there is nothing, or not enough, that can go;
 * -EINTR: fatal signal. @plain and locks as for vkfd_evict_make_room(). The VM is kept by the
 * caller's file.
 */
int vkfd_vm_make_room(struct vkfd_vm *vm, u64 va, u64 npages, const struct vkfd_process *own,
		      bool plain);

/*
 * Writes the entries of all mappings of @bo again, in whatever VM, and flushes the TLBs,
 * after what vkfd_bo_pte() says has changed. VMs whose hardware is away are left alone.
 * The caller has a reference to @bo. Takes the vm->lock of one after the other.
 */
void vkfd_vm_refill_bo(struct vkfd_bo *bo);

/*
 * Calls @fn for each compute VM that shows @bo, maybe more than once, until it fails: whose it
 * is and of which GPU, under vm->lock. The caller has a reference to @bo.
 */
int vkfd_vm_for_each_user(struct vkfd_bo *bo,
			  int (*fn)(struct vkfd_process *p, unsigned int gpu, void *data), void *data);
/* Whether one of them is @p's; no lock is taken but bo->mappings_lock, so only a hint. */
bool vkfd_vm_is_user(struct vkfd_bo *bo, const struct vkfd_process *p);

/*
 * For vkfd_userptr.c: writes the entries of a mapped userptr @bo, invalid ones unless @valid,
 * and flushes the TLB. -ENODEV: the hardware is away. Under vkfd_userptrs.lock, which keeps
 * @bo mapped; takes no other lock than bind_lock, and allocates nothing.
 */
int vkfd_vm_write_user(struct vkfd_vm *vm, struct vkfd_bo *bo, bool valid);

/*
 * For vkfd_svm_map.c: room in the page tables for @npages from @va on, with invalid entries /
 * which is given up. Between the two nothing else is mapped there: both sides look for the
 * other's, see vkfd_svm_overlaps() and vkfd_vm_in_use(). Takes vm->lock. -EINVAL, -ENOMEM,
 * -ENODEV, -ENOBUFS. Unreserve works on after the hardware is gone.
 */
int vkfd_vm_reserve(struct vkfd_vm *vm, u64 va, u64 npages);
void vkfd_vm_unreserve(struct vkfd_vm *vm, u64 va, u64 npages);
/* Whether a BO is mapped somewhere there. Takes vm->lock. */
bool vkfd_vm_in_use(struct vkfd_vm *vm, u64 va, u64 npages);
/*
 * Writes the entries of a part of what was reserved, and flushes the TLB: as
 * vkfd_vm_write_user(), under vkfd_userptrs.lock.
 */
int vkfd_vm_write_range(struct vkfd_vm *vm, u64 va, u64 npages, vkfd_pte_fn fn, void *data);

/*
 * What the GPU would read at @va, in one page. -EFAULT: not mapped, or not memory;
 * -EIO: VRAM of a part that is away; -EAGAIN: user memory whose pages are away. Takes
 * vm->lock, and for user memory vkfd_userptrs.lock.
 */
int vkfd_vm_read(struct vkfd_vm *vm, u64 va, void *buf, size_t size);

#endif /* VKFD_VM_H */
