// SPDX-License-Identifier: GPL-2.0-only
/*
 * GEM callbacks and the render node's file operations.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_vma_manager.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_dmabuf.h"
#include "vkfd_evict.h"
#include "vkfd_gem.h"
#include "vkfd_process.h"
#include "vkfd_vm.h"

/* Pages entered by one fault, as TTM does. */
#define VKFD_FAULT_PAGES	16

/* Page frame behind page @index of @bo, or 0: the CPU cannot reach it. */
static unsigned long vkfd_gem_pfn(struct vkfd_bo *bo, u64 index)
{
	u64 offset;

	if (vkfd_bo_in_system(bo))
		return page_to_pfn(bo->pages[index]);
	if (bo->kind == VKFD_BO_DOORBELL)
		return (bo->phys >> PAGE_SHIFT) + index;

	offset = vkfd_bo_vram_offset(bo, index);
	if (offset + PAGE_SIZE > bo->dev->vram.visible)
		return 0;
	return (bo->dev->vram.base + offset) >> PAGE_SHIFT;
}

static vm_fault_t vkfd_gem_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	struct vkfd_bo *bo = to_vkfd_bo(obj);
	u64 npages = vkfd_bo_size(bo) >> PAGE_SHIFT;
	u64 index = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	unsigned long addr = vmf->address & PAGE_MASK;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	pgprot_t prot = vma->vm_page_prot;
	unsigned int i;
	bool live;
	int idx;

	/*
	 * drm_dev_unplug() zaps all mappings of the device; the SRCU section keeps a
	 * fault from putting one of VRAM back. Pages of system memory are the BO's, not
	 * the GPU's, and what programs keep there they may need to wind up.
	 */
	live = drm_dev_enter(obj->dev, &idx);
	/* Until it is in the page tables VRAM stays where it is; a move takes it out of them. */
	vkfd_bo_hold(bo);
	if (!live && !vkfd_bo_in_system(bo)) {
		vkfd_bo_unhold(bo);
		return VM_FAULT_SIGBUS;
	}
	/* The mapping's is that of VRAM. */
	if (bo->kind == VKFD_BO_VRAM && vkfd_bo_in_system(bo))
		prot = vm_get_page_prot(vma->vm_flags);

	for (i = 0; i < VKFD_FAULT_PAGES; i++, index++, addr += PAGE_SIZE) {
		unsigned long pfn;
		vm_fault_t r;

		if (index >= npages || addr >= vma->vm_end)
			break;
		pfn = vkfd_gem_pfn(bo, index);
		if (!pfn)
			break;
		r = vmf_insert_pfn_prot(vma, addr, pfn, prot);
		/* What comes after the page that faulted is a bonus. */
		if (!i)
			ret = r;
		if (r != VM_FAULT_NOPAGE)
			break;
	}
	vkfd_bo_unhold(bo);
	if (live)
		drm_dev_exit(idx);
	return ret;
}

/*
 * What a debugger reads and writes by ptrace() or /proc/PID/mem, which cannot take
 * references to our pages. VRAM that the program itself cannot see is reached
 * too, and the mapping's protection does not matter: as with TTM. The caller
 * holds the mmap lock and comes again for what is left. Returns bytes, or -EIO.
 */
static int vkfd_gem_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
			   int write)
{
	struct drm_gem_object *obj = vma->vm_private_data;
	struct vkfd_bo *bo = to_vkfd_bo(obj);
	u64 offset = ((u64)(vma->vm_pgoff - drm_vma_node_start(&obj->vma_node)) << PAGE_SHIFT) +
		     (addr - vma->vm_start);
	int err;

	if (len < 1 || offset >= vkfd_bo_size(bo))
		return -EIO;
	/* Blocks of VRAM are contiguous in whole pages only. */
	len = min_t(unsigned long, len, PAGE_SIZE - offset_in_page(offset));
	vkfd_bo_hold(bo);
	err = vkfd_bo_access(bo, offset, buf, len, write);
	vkfd_bo_unhold(bo);
	return err ? -EIO : len;
}

static const struct vm_operations_struct vkfd_gem_vm_ops = {
	.access = vkfd_gem_access,
	.fault = vkfd_gem_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static int vkfd_gem_object_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct vkfd_bo *bo = to_vkfd_bo(obj);

	/* Doorbells of KFD are mapped through its own node. */
	if (bo->no_cpu || (bo->kind != VKFD_BO_VRAM && bo->kind != VKFD_BO_GTT && bo->slice < 0))
		return -EPERM;

	/*
	 * Entries by page frame exclude copy on write. Old thunks map invisible VRAM
	 * private and without access: that is all right as long as it stays so.
	 */
	if (is_cow_mapping(vma->vm_flags)) {
		if (vma->vm_flags & VM_ACCESS_FLAGS)
			return -EINVAL;
		vm_flags_clear(vma, VM_MAYWRITE);
	}

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	if (bo->kind == VKFD_BO_VRAM)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	else if (bo->kind == VKFD_BO_DOORBELL)
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return 0;
}

/* A file has one handle of an object; where it has that mapped by GEM_VA goes with it. */
static void vkfd_gem_object_close(struct drm_gem_object *obj, struct drm_file *file)
{
	vkfd_vm_gem_close(file->driver_priv, to_vkfd_bo(obj));
}

const struct drm_gem_object_funcs vkfd_gem_funcs = {
	.close = vkfd_gem_object_close,
	.export = vkfd_gem_object_export,
	.free = vkfd_bo_free,
	.get_sg_table = vkfd_gem_object_sg_table,
	.mmap = vkfd_gem_object_mmap,
	.vm_ops = &vkfd_gem_vm_ops,
	.vmap = vkfd_gem_object_vmap,
	.vunmap = vkfd_gem_object_vunmap,
};

/* Who opens the node may be a process of KFD, as whose its queues' memory stays. */
static int make_room_for_root(struct vkfd_device *dev)
{
	struct vkfd_process *own = vkfd_process_get_current();
	int err = vkfd_evict_make_room(dev, AMDGPU_GPU_PAGE_SIZE, own, true);

	if (own)
		vkfd_process_put(own);
	return err;
}

int vkfd_drm_open(struct drm_device *drm, struct drm_file *file)
{
	struct vkfd_device *dev = to_vkfd_device(drm);
	struct vkfd_vm *vm = vkfd_vm_create(dev);
	int err = 0;

	while (vm == ERR_PTR(-ENOBUFS) && !err) {
		err = make_room_for_root(dev);
		vm = err ? ERR_PTR(err) : vkfd_vm_create(dev);
	}
	if (IS_ERR(vm))
		return PTR_ERR(vm);
	file->driver_priv = vm;
	return 0;
}

void vkfd_drm_postclose(struct drm_device *drm, struct drm_file *file)
{
	vkfd_vm_destroy(file->driver_priv);
	file->driver_priv = NULL;
}

struct vkfd_vm *vkfd_drm_file_vm(struct vkfd_device *dev, struct file *filp)
{
	struct drm_file *file;

	if (filp->f_op != &vkfd_gem_fops)
		return ERR_PTR(-EINVAL);
	file = filp->private_data;
	if (file->minor->dev != &dev->drm)
		return ERR_PTR(-EINVAL);
	return file->driver_priv;
}

const struct file_operations vkfd_gem_fops = {
	.owner = THIS_MODULE,
	DRM_GEM_FOPS,
};
