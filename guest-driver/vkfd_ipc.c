// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sharing by handle. A share handle is good as long as a memory handle it was made of or
 * that was imported by it, in whatever process: they have the references, the table has
 * none. It is never used again.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <drm/drm_vma_manager.h>

#include <vkfd/kfd_ipc.h>

#include "vkfd_bo.h"
#include "vkfd_ipc.h"
#include "vkfd_mem.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"

#define KEY_DW	4

/**
 * struct vkfd_ipc - memory that is shared by handle
 * @ref: of struct vkfd_mem.ipc; goes to 0 under ipc_lock
 * @node: in ipc_table
 * @key: the handle
 * @bo: the memory, which those who have a reference keep
 * @flags: the exporter's, for whoever imports it; no meaning here
 */
struct vkfd_ipc {
	refcount_t ref;
	struct hlist_node node;
	u32 key[KEY_DW];
	struct vkfd_bo *bo;
	u32 flags;
};

/* Inside process->lock; nothing is taken inside it. */
static DEFINE_MUTEX(ipc_lock);
static DEFINE_HASHTABLE(ipc_table, 6);

void vkfd_ipc_put(struct vkfd_ipc *ipc)
{
	bool last;

	mutex_lock(&ipc_lock);
	last = refcount_dec_and_test(&ipc->ref);
	if (last)
		hash_del(&ipc->node);
	mutex_unlock(&ipc_lock);
	if (last)
		kfree_sensitive(ipc);
}

/* By handle, with a reference, and one to the memory; NULL if it is not good. */
static struct vkfd_ipc *find(const u32 *key)
{
	struct vkfd_ipc *ipc;

	mutex_lock(&ipc_lock);
	hash_for_each_possible(ipc_table, ipc, node, key[0]) {
		if (memcmp(ipc->key, key, sizeof(ipc->key)))
			continue;
		refcount_inc(&ipc->ref);
		/* Who has the reference that is there anyway cannot let go of both now. */
		drm_gem_object_get(&ipc->bo->base);
		break;
	}
	mutex_unlock(&ipc_lock);
	return ipc;
}

/* The share handle of @mem, made if it has none. Caller holds process->lock. */
static struct vkfd_ipc *share(struct vkfd_mem *mem, u32 flags)
{
	struct vkfd_bo *bo = mem->bo;
	struct vkfd_ipc *ipc = mem->ipc;

	if (ipc)
		return ipc;
	if (bo->no_export || (bo->kind != VKFD_BO_VRAM && bo->kind != VKFD_BO_GTT))
		return ERR_PTR(-EPERM);
	ipc = kzalloc(sizeof(*ipc), GFP_KERNEL_ACCOUNT);
	if (!ipc)
		return ERR_PTR(-ENOMEM);
	refcount_set(&ipc->ref, 1);
	ipc->bo = bo;
	ipc->flags = flags;
	get_random_bytes(ipc->key, sizeof(ipc->key));
	mutex_lock(&ipc_lock);
	hash_add(ipc_table, &ipc->node, ipc->key[0]);
	mutex_unlock(&ipc_lock);
	mem->ipc = ipc;
	return ipc;
}

/**
 * vkfd_ioctl_ipc_export - AMDKFD_IOC_IPC_EXPORT_HANDLE
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_ipc_export_handle_args
 *
 * Memory that has a share handle, by an earlier call or because it was imported by it, gets
 * the same one, and keeps the flags of the first call.
 *
 * Return: 0; -EINVAL: no such memory, or not of that GPU; -EPERM: user memory, doorbells or
 * registers; -ENOMEM.
 */
int vkfd_ioctl_ipc_export(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_ipc_export_handle_args *args = data;
	struct vkfd_mem *mem;
	struct vkfd_ipc *ipc;
	int err = 0;

	if (args->gpu_id != vkfd_mem_handle_gpu_id(args->handle))
		return -EINVAL;
	mutex_lock(&p->lock);
	mem = vkfd_mem_by_handle(p, args->handle, NULL);
	if (IS_ERR_OR_NULL(mem)) {
		err = -EINVAL;
		goto unlock;
	}
	ipc = share(mem, args->flags);
	if (IS_ERR(ipc))
		err = PTR_ERR(ipc);
	else
		memcpy(args->share_handle, ipc->key, sizeof(args->share_handle));
unlock:
	mutex_unlock(&p->lock);
	return err;
}

/**
 * vkfd_ioctl_ipc_import - AMDKFD_IOC_IPC_IMPORT_HANDLE
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_ipc_import_handle_args
 *
 * Return: 0 with a handle of the caller's own and the offset for mmap(); -EINVAL: no such
 * GPU, or the share handle is not good, or not on that GPU; -ENODEV: no VM there; -ENOMEM.
 */
int vkfd_ioctl_ipc_import(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_ipc_import_handle_args *args = data;
	struct vkfd_pdd *pdd;
	struct vkfd_ipc *ipc;
	struct vkfd_bo *bo;
	u32 handle;
	int err;

	ipc = find(args->share_handle);
	if (!ipc)
		return -EINVAL;
	bo = ipc->bo;
	args->mmap_offset = drm_vma_node_offset_addr(&bo->base.vma_node);
	args->flags = ipc->flags;

	mutex_lock(&p->lock);
	pdd = vkfd_process_get_bound_pdd(p, args->gpu_id);
	err = PTR_ERR_OR_ZERO(pdd);
	if (!err)
		err = vkfd_mem_import(pdd, bo, args->va_addr, ipc, &handle);
	mutex_unlock(&p->lock);
	if (err) {
		args->mmap_offset = 0;
		args->flags = 0;
		vkfd_ipc_put(ipc);
		drm_gem_object_put(&bo->base);
		return err;
	}
	args->handle = vkfd_mem_handle(args->gpu_id, handle);
	return 0;
}
