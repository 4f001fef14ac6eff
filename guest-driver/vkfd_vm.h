/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GPUVM: four levels of page tables in VRAM, written by the CPU through BAR0,
 * and the set of its mappings. Each open render-node file owns one; ACQUIRE_VM
 * makes it a process's compute VM.
 */
#ifndef VKFD_VM_H
#define VKFD_VM_H

#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "vkfd_pt.h"

struct vkfd_bo;
struct vkfd_device;
struct vkfd_process;

/**
 * struct vkfd_vm
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
 * @mappings: page numbers in use -> struct vkfd_bo (no reference: a mapped BO is not
 *            freed), to reject overlaps
 */
struct vkfd_vm {
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

/* ERR_PTR(-ENOMEM), ERR_PTR(-ENODEV): the hardware is gone. */
struct vkfd_vm *vkfd_vm_create(struct vkfd_device *dev);
/* No queue runs in it and no BO that lives on is mapped in it. */
void vkfd_vm_destroy(struct vkfd_vm *vm);

/*
 * Makes @vm the compute VM of @p / a graphics VM again. -EINVAL: it is a process's
 * already. Takes vm->lock.
 */
int vkfd_vm_acquire(struct vkfd_vm *vm, struct vkfd_process *p);
void vkfd_vm_release(struct vkfd_vm *vm);

/*
 * Maps the whole @bo at its VA (AQL queue memory: twice in a row) / removes the
 * mapping. Both flush the TLB of the VM's VMID before they return. On failure the VM
 * is as before. Map: -EINVAL for a misaligned, bad or overlapping range or a BO the
 * GPU cannot reach, -ENOMEM, -ENODEV. Unmap: -EINVAL if it is not mapped; works on
 * after the hardware is gone. The caller serialises calls for one BO (process->lock; events.mutex for the signal page).
 * Takes vm->lock.
 */
int vkfd_vm_map_bo(struct vkfd_vm *vm, struct vkfd_bo *bo);
int vkfd_vm_unmap_bo(struct vkfd_vm *vm, struct vkfd_bo *bo);

/*
 * Writes the entries of a mapped @bo again and flushes the TLB, after what
 * vkfd_bo_pte() says has changed. Nothing to do if the hardware is away. As above:
 * callers for one BO are serialised. Takes vm->lock.
 */
void vkfd_vm_refill_bo(struct vkfd_vm *vm, struct vkfd_bo *bo);

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
 * -ENODEV. Unreserve works on after the hardware is gone.
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
