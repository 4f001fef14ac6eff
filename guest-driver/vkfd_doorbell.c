// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doorbell slices of BAR2: where a doorbell is, and how it is mapped. A slice is 8 KiB,
 * 1024 doorbells of 8 bytes; the kernel's own pages come first.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <drm/drm_drv.h>

#include "vkfd_chardev.h"
#include "vkfd_doorbell.h"
#include "vkfd_process.h"

static_assert(VKFD_DOORBELL_KERNEL_SIZE + VKFD_DOORBELL_SLICES * VKFD_DOORBELL_SLICE_SIZE <=
	      VKFD_DOORBELL_BAR_SIZE);

static u32 slice_offset(int slice)
{
	return VKFD_DOORBELL_KERNEL_SIZE + slice * VKFD_DOORBELL_SLICE_SIZE;
}

phys_addr_t vkfd_doorbell_addr(struct vkfd_device *dev, int index)
{
	return dev->doorbell_base + slice_offset(index);
}

phys_addr_t vkfd_doorbell_slice_addr(struct vkfd_pdd *pdd)
{
	lockdep_assert_held(&pdd->process->lock);

	return pdd->slice.index < 0 ? 0 : vkfd_doorbell_addr(pdd->dev, pdd->slice.index);
}

u32 vkfd_doorbell_dw_index(struct vkfd_pdd *pdd, unsigned int id)
{
	lockdep_assert_held(&pdd->process->lock);

	return slice_offset(pdd->slice.index) / sizeof(u32) + VKFD_DOORBELL_DW(id);
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

/*
 * Offset of the mapping of a process's slice in the file all mappings of /dev/kfd share:
 * each process has its own, so that its pages can be taken away and nobody else's.
 */
static u64 mapping_offset(struct vkfd_pdd *pdd)
{
	return vkfd_doorbell_mmap_offset(pdd, 0) +
	       (u64)pdd->process->pasid * VKFD_DOORBELL_SLICE_SIZE;
}

void vkfd_doorbell_unmap(struct vkfd_pdd *pdd)
{
	vkfd_chardev_unmap(mapping_offset(pdd), VKFD_DOORBELL_SLICE_SIZE);
}

/* The page the fault wants, if the process has its slice. */
static vm_fault_t insert_page(struct vm_fault *vmf, struct vkfd_pdd *pdd)
{
	phys_addr_t addr;

	lockdep_assert_held(&pdd->dev->doorbells.lock);

	/* By offset, not by distance from vm_start: munmap and mremap cut mappings up. */
	addr = vkfd_doorbell_addr(pdd->dev, pdd->slice.index) +
	       (vmf->pgoff << PAGE_SHIFT) % VKFD_DOORBELL_SLICE_SIZE;
	return vmf_insert_pfn(vmf->vma, vmf->address, PHYS_PFN(addr));
}

/*
 * Waits without mmap_lock until the request of @pdd has had an answer since @turn; by the
 * time this task runs the slice may be somebody else's again. Signals are handled before the
 * store is tried again.
 */
static vm_fault_t wait_for_slice(struct vm_fault *vmf, struct vkfd_pdd *pdd, unsigned int turn)
{
	struct vkfd_doorbells *db = &pdd->dev->doorbells;
	struct vkfd_process *p = pdd->process;
	bool user = vmf->flags & FAULT_FLAG_USER;

	/* Nobody waits here: the store is tried again, and faults again. */
	if (!fault_flag_allow_retry_first(vmf->flags))
		return VM_FAULT_NOPAGE;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;

	/* The mapping, and with it the file, may go once mmap_lock is dropped. */
	kref_get(&p->ref);
	mmap_read_unlock(vmf->vma->vm_mm);
#define MAY_GO_ON (READ_ONCE(pdd->slice.turn) != turn || drm_dev_is_unplugged(&pdd->dev->drm))
	if (user)
		wait_event_interruptible(db->wait, MAY_GO_ON);
	else
		wait_event_killable(db->wait, MAY_GO_ON);
#undef MAY_GO_ON
	vkfd_process_put(p);
	return VM_FAULT_RETRY;
}

static vm_fault_t doorbell_fault(struct vm_fault *vmf)
{
	struct vkfd_pdd *pdd = vmf->vma->vm_private_data;
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_doorbells *db = &dev->doorbells;
	struct vkfd_slice *slice = &pdd->slice;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned int turn = 0;
	bool wait = false;
	int idx;

	/* The pdd outlives the mapping, which holds a reference to the open file. */
	if (!drm_dev_enter(&dev->drm, &idx))
		return ret;
	/* Who takes the slice away closes it under the lock, and takes out pages after that. */
	mutex_lock(&db->lock);
	if (slice->open) {
		ret = insert_page(vmf, pdd);
	} else if (slice->given && !(slice->refused && (vmf->flags & FAULT_FLAG_TRIED))) {
		vkfd_slice_fault(pdd);
		turn = slice->turn;
		wait = true;
	}
	mutex_unlock(&db->lock);
	drm_dev_exit(idx);
	return wait ? wait_for_slice(vmf, pdd, turn) : ret;
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
	/* Pairs with WRITE_ONCE() in vkfd_slice_give(); never taken back. */
	if (!READ_ONCE(pdd->slice.given))
		return -EINVAL;

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP |
			  VM_NORESERVE);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_private_data = pdd;
	vma->vm_ops = &doorbell_vm_ops;
	/* Whatever byte of the slice the offset names, the mapping begins with the first. */
	vma->vm_pgoff = PFN_DOWN(mapping_offset(pdd));
	return 0;
}
