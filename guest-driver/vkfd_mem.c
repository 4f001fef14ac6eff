// SPDX-License-Identifier: GPL-2.0-only
/*
 * KFD's memory handles: the table of a process, and mapping by handle.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <drm/drm_vma_manager.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/gpuvm.h>

#include "vkfd_bo.h"
#include "vkfd_doorbell.h"
#include "vkfd_ipc.h"
#include "vkfd_mem.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"
#include "vkfd_vm.h"

int vkfd_mem_add(struct vkfd_pdd *pdd, struct vkfd_bo *bo, u64 va, u32 alloc_flags,
		 u32 *idr_handle)
{
	struct drm_file *drm_file = pdd->drm_file->private_data;
	struct vkfd_mem *mem;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	mem->bo = bo;
	mem->va = va;
	mem->alloc_flags = alloc_flags;
	/* There is no GEM handle, so the right to mmap is given by itself. */
	err = drm_vma_node_allow(&bo->base.vma_node, drm_file);
	if (err)
		goto free;
	err = xa_alloc(&pdd->mems, idr_handle, mem, XA_LIMIT(1, INT_MAX), GFP_KERNEL_ACCOUNT);
	if (!err)
		return 0;
	drm_vma_node_revoke(&bo->base.vma_node, drm_file);
free:
	kfree(mem);
	return -ENOMEM;
}

/* What imported memory may be used for: its first owner's flags are not the importer's. */
static u32 import_flags(const struct vkfd_bo *bo)
{
	u32 kind = bo->kind == VKFD_BO_VRAM ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM :
					      KFD_IOC_ALLOC_MEM_FLAGS_GTT;

	/* What coherence it was made with is a property of the memory. */
	return kind | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
	       (bo->alloc_flags & (KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
				   KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT |
				   KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED));
}

int vkfd_mem_import(struct vkfd_pdd *pdd, struct vkfd_bo *bo, u64 va, struct vkfd_ipc *ipc,
		    u32 *idr_handle)
{
	int err;

	if (bo->dev != pdd->dev)
		return -EINVAL;
	err = vkfd_mem_add(pdd, bo, va, import_flags(bo), idr_handle);
	if (!err)
		vkfd_mem_lookup(pdd, *idr_handle)->ipc = ipc;
	return err;
}

void vkfd_mem_remove(struct vkfd_pdd *pdd, u32 idr_handle)
{
	struct vkfd_mem *mem = xa_erase(&pdd->mems, idr_handle);

	lockdep_assert_held(&pdd->process->lock);

	drm_vma_node_revoke(&mem->bo->base.vma_node, pdd->drm_file->private_data);
	if (mem->ipc)
		vkfd_ipc_put(mem->ipc);
	drm_gem_object_put(&mem->bo->base);
	kfree(mem);
}

struct vkfd_mem *vkfd_mem_lookup(struct vkfd_pdd *pdd, u32 idr_handle)
{
	lockdep_assert_held(&pdd->process->lock);

	return xa_load(&pdd->mems, idr_handle);
}

struct vkfd_mem *vkfd_mem_by_handle(struct vkfd_process *p, u64 handle, struct vkfd_pdd **pddp)
{
	struct vkfd_pdd *pdd;

	pdd = vkfd_process_get_pdd(p, vkfd_mem_handle_gpu_id(handle));
	if (IS_ERR(pdd))
		return ERR_CAST(pdd);
	if (pddp)
		*pddp = pdd;
	return vkfd_mem_lookup(pdd, vkfd_mem_handle_idr(handle));
}

bool vkfd_mem_is_mapped(const struct vkfd_mem *mem)
{
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++)
		if (mem->map[i])
			return true;
	return false;
}

u64 vkfd_mem_npages(const struct vkfd_mem *mem)
{
	bool aql = mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;

	return (vkfd_bo_size(mem->bo) >> AMDGPU_GPU_PAGE_SHIFT) << aql;
}

int vkfd_mem_map(struct vkfd_mem *mem, struct vkfd_pdd *pdd)
{
	struct vkfd_bo *bo = mem->bo;
	struct vkfd_map_params params = {
		.bo = bo,
		.va = mem->va,
		.npages = vkfd_mem_npages(mem),
		.flags = vkfd_bo_kfd_pte_flags(mem->alloc_flags),
	};
	struct vkfd_process *p = pdd->process;
	struct vkfd_mapping *m;
	int err;

	lockdep_assert_held(&p->lock);

	if (mem->map[pdd->dev->index])
		return 0;
	if (bo->kind == VKFD_BO_DOORBELL && pdd->dev != bo->dev) {
		err = vkfd_slice_pin(p->pdds[bo->dev->index]);
		if (err)
			return err;
	}
	m = vkfd_vm_map(pdd->vm, &params);
	if (IS_ERR(m))
		return PTR_ERR(m);
	mem->map[pdd->dev->index] = m;
	return 0;
}

int vkfd_mem_unmap(struct vkfd_mem *mem, struct vkfd_pdd *pdd)
{
	struct vkfd_mapping **m = &mem->map[pdd->dev->index];

	lockdep_assert_held(&pdd->process->lock);

	if (!*m)
		return -EINVAL;
	vkfd_vm_unmap(*m);
	*m = NULL;
	return 0;
}

static void show_handle(struct seq_file *m, const struct vkfd_pdd *pdd, u32 handle,
			const struct vkfd_mem *mem)
{
	static const char *const kind[] = {
		[VKFD_BO_VRAM] = "vram", [VKFD_BO_GTT] = "gtt", [VKFD_BO_USERPTR] = "userptr",
		[VKFD_BO_DOORBELL] = "doorbell", [VKFD_BO_MMIO_REMAP] = "mmio",
		[VKFD_BO_FOREIGN] = "foreign",
	};
	unsigned int i, gpus = 0;

	for (i = 0; i < VKFD_MAX_GPUS; i++)
		if (mem->map[i])
			gpus |= BIT(i);
	seq_printf(m, "%u %u %s 0x%llx 0x%llx 0x%x 0x%x\n", pdd->dev->gpu_id, handle,
		   kind[mem->bo->kind], mem->va, vkfd_bo_size(mem->bo), mem->alloc_flags, gpus);
}

void vkfd_mems_show(struct seq_file *m, struct vkfd_process *p)
{
	struct vkfd_mem *mem;
	unsigned long handle;
	unsigned int i;

	seq_puts(m, "gpu_id handle kind va size flags mapped\n");
	mutex_lock(&p->lock);
	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		if (!p->pdds[i])
			continue;
		xa_for_each(&p->pdds[i]->mems, handle, mem) {
			/* More is for a larger buffer, with which this is called again. */
			if (seq_has_overflowed(m))
				break;
			show_handle(m, p->pdds[i], handle, mem);
		}
	}
	mutex_unlock(&p->lock);
}

void vkfd_mem_remove_all(struct vkfd_process *p)
{
	struct vkfd_mem *mem;
	unsigned long handle;
	unsigned int i, gpu;

	lockdep_assert_held(&p->lock);

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		struct vkfd_pdd *pdd = p->pdds[i];

		if (!pdd)
			continue;
		xa_for_each(&pdd->mems, handle, mem) {
			for (gpu = 0; gpu < VKFD_MAX_GPUS; gpu++)
				if (mem->map[gpu])
					vkfd_mem_unmap(mem, p->pdds[gpu]);
			vkfd_mem_remove(pdd, handle);
		}
	}
}
