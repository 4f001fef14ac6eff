/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KFD's memory handles. A handle is a process's own view of a BO: where it is mapped, as
 * what, and on which GPUs. Several handles, of several processes, may be of one BO, and
 * then share its memory and nothing else.
 */
#ifndef VKFD_MEM_H
#define VKFD_MEM_H

#include <linux/types.h>

#include "vkfd_device.h"

struct seq_file;
struct vkfd_bo;
struct vkfd_ipc;
struct vkfd_mapping;
struct vkfd_pdd;
struct vkfd_process;

/**
 * struct vkfd_mem - memory by KFD handle
 * @bo: the memory, with a reference
 * @va: GPU virtual address it gets (0: none)
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*: what the entries of its mappings allow
 * @map: its mapping on each GPU, NULL where it is not mapped
 * @ipc: how it is shared by handle, with a reference, or NULL
 * @is_event_page: signal page of the process: FREE is refused with -EPERM
 *
 * All of it, and that it exists: process->lock.
 */
struct vkfd_mem {
	struct vkfd_bo *bo;
	u64 va;
	u32 alloc_flags;
	struct vkfd_mapping *map[VKFD_MAX_GPUS];
	struct vkfd_ipc *ipc;
	bool is_event_page;
};

/* Of the following, those that do not say otherwise: caller holds process->lock. */

/*
 * Gives @bo a handle in @pdd, which takes over the caller's reference if this succeeds,
 * and lets the process map it through its render-node file. -ENOMEM.
 */
int vkfd_mem_add(struct vkfd_pdd *pdd, struct vkfd_bo *bo, u64 va, u32 alloc_flags,
		 u32 *idr_handle);
/*
 * The same for memory that comes from elsewhere, by @ipc, whose reference it takes over, too,
 * or NULL. -EINVAL: it is another GPU's.
 */
int vkfd_mem_import(struct vkfd_pdd *pdd, struct vkfd_bo *bo, u64 va, struct vkfd_ipc *ipc,
		    u32 *idr_handle);
/* Takes the handle away; the memory goes with its last user. Not mapped, no event page. */
void vkfd_mem_remove(struct vkfd_pdd *pdd, u32 idr_handle);

/* By handle in @pdd (low 32 bits of a KFD memory handle); NULL if there is none. */
struct vkfd_mem *vkfd_mem_lookup(struct vkfd_pdd *pdd, u32 idr_handle);
/*
 * By the handle user space has; also the pdd it is of, unless @pddp is NULL.
 * ERR_PTR(-EINVAL): no such GPU; NULL: no such memory.
 */
struct vkfd_mem *vkfd_mem_by_handle(struct vkfd_process *p, u64 handle, struct vkfd_pdd **pddp);
bool vkfd_mem_is_mapped(const struct vkfd_mem *mem);
/* How many pages of address space it takes. */
u64 vkfd_mem_npages(const struct vkfd_mem *mem);

/*
 * On the GPU of @pdd, which has its VM. Mapping twice is no error. The errors of
 * vkfd_vm_map(); -EBUSY: doorbells whose slice is somebody else's at the moment.
 * Unmap: -EINVAL if it is not mapped there.
 */
int vkfd_mem_map(struct vkfd_mem *mem, struct vkfd_pdd *pdd);
int vkfd_mem_unmap(struct vkfd_mem *mem, struct vkfd_pdd *pdd);

/* For debugfs: the handles of @p, one a line. Takes process->lock. */
void vkfd_mems_show(struct seq_file *m, struct vkfd_process *p);

/* Unmaps and removes all that @p has. */
void vkfd_mem_remove_all(struct vkfd_process *p);

#endif /* VKFD_MEM_H */
