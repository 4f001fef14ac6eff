// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doorbell slices of BAR2. A slice is 8 KiB, 1024 doorbells of 8 bytes; the kernel's
 * own pages come first.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <drm/drm_drv.h>

#include "vkfd_chardev.h"
#include "vkfd_doorbell.h"
#include "vkfd_process.h"

static_assert(VKFD_DOORBELL_KERNEL_SIZE + VKFD_DOORBELL_SLICES * VKFD_DOORBELL_SLICE_SIZE <=
	      VKFD_DOORBELL_BAR_SIZE);

int vkfd_doorbell_get_slice(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	unsigned long slice;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->slice >= 0)
		return 0;

	mutex_lock(&dev->queue_lock);
	slice = find_first_zero_bit(dev->slice_used, VKFD_DOORBELL_SLICES);
	if (slice < VKFD_DOORBELL_SLICES)
		__set_bit(slice, dev->slice_used);
	mutex_unlock(&dev->queue_lock);
	if (slice >= VKFD_DOORBELL_SLICES)
		return -ENOSPC;

	/* Pairs with READ_ONCE() in mmap and page faults, which take no lock. */
	WRITE_ONCE(pdd->slice, (int)slice);
	return 0;
}

void vkfd_doorbell_put_slice(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->slice < 0)
		return;
	mutex_lock(&dev->queue_lock);
	__clear_bit(pdd->slice, dev->slice_used);
	mutex_unlock(&dev->queue_lock);
	WRITE_ONCE(pdd->slice, -1);
}

static u32 slice_offset(int slice)
{
	return VKFD_DOORBELL_KERNEL_SIZE + slice * VKFD_DOORBELL_SLICE_SIZE;
}

phys_addr_t vkfd_doorbell_slice_addr(struct vkfd_pdd *pdd)
{
	lockdep_assert_held(&pdd->process->lock);

	return pdd->dev->doorbell_base + slice_offset(pdd->slice);
}

u32 vkfd_doorbell_dw_index(struct vkfd_pdd *pdd, unsigned int id)
{
	lockdep_assert_held(&pdd->process->lock);

	return slice_offset(pdd->slice) / sizeof(u32) + VKFD_DOORBELL_DW(id);
}

u64 vkfd_doorbell_mmap_offset(struct vkfd_pdd *pdd, unsigned int id)
{
	return VKFD_MMAP_TYPE_DOORBELL | VKFD_MMAP_GPU_ID(pdd->dev->gpu_id) | id * sizeof(u64);
}

/*
 * The ranges of SDMA, IH and VCN repeat in each 4 KiB page, since hardware compares
 * page offsets with them.
 */
static bool id_is_cp(unsigned int id)
{
	unsigned int in_page = id % VKFD_DOORBELL_MIRROR;

	return in_page < AMDGPU_VEGA20_DOORBELL64_FIRST_NON_CP ||
	       in_page > AMDGPU_VEGA20_DOORBELL64_LAST_NON_CP;
}

int vkfd_doorbell_find_id(const unsigned long *used)
{
	unsigned int id;

	for_each_clear_bit(id, used, VKFD_DOORBELLS_PER_SLICE)
		if (id_is_cp(id))
			return id;
	return -EBUSY;
}

unsigned int vkfd_doorbell_sdma_id(unsigned int engine, unsigned int rlc)
{
	/* Queues 2n and 2n + 1 share a number: they are in different pages of the slice. */
	return (engine ? AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE1 :
			 AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0) +
	       rlc % 2 * VKFD_DOORBELL_MIRROR + rlc / 2;
}

static vm_fault_t doorbell_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vkfd_pdd *pdd = vma->vm_private_data;
	struct vkfd_device *dev = pdd->dev;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	phys_addr_t addr;
	int slice, idx;

	/* The pdd outlives the mapping, which holds a reference to the open file. */
	slice = READ_ONCE(pdd->slice);
	if (slice < 0 || !drm_dev_enter(&dev->drm, &idx))
		return ret;
	/* By offset, not by distance from vm_start: munmap and mremap cut mappings up. */
	addr = dev->doorbell_base + slice_offset(slice) +
	       (vmf->pgoff << PAGE_SHIFT) % VKFD_DOORBELL_SLICE_SIZE;
	ret = vmf_insert_pfn(vma, vmf->address, PHYS_PFN(addr));
	drm_dev_exit(idx);
	return ret;
}

/* Unplug takes the pages away (unmap_mapping_range); the fault that follows is SIGBUS. */
static const struct vm_operations_struct doorbell_vm_ops = {
	.fault = doorbell_fault,
};

int vkfd_doorbell_mmap(struct vkfd_pdd *pdd, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != VKFD_DOORBELL_SLICE_SIZE)
		return -EINVAL;
	/* A private mapping would let the kernel copy a doorbell page. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (READ_ONCE(pdd->slice) < 0)
		return -EINVAL;

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP |
			  VM_NORESERVE);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_private_data = pdd;
	vma->vm_ops = &doorbell_vm_ops;
	/* Whatever byte of the slice the offset names, the mapping begins with the first. */
	vma->vm_pgoff = PFN_DOWN(vkfd_doorbell_mmap_offset(pdd, 0));
	return 0;
}
