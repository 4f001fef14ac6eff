// SPDX-License-Identifier: GPL-2.0-only
/*
 * The signal page of a process: 4096 slots of 64 bits. The GPU writes anything but
 * ~0 into the slot of an event before it interrupts; the driver writes ~0 back.
 *
 * On discrete GPUs the thunk allocates the page as a GTT buffer, maps it on every GPU
 * and hands over its handle; the driver keeps a reference and a kernel mapping. A
 * thunk that gives no handle gets a page of the driver's own, through mmap of
 * /dev/kfd, and may use as many slots as it has mapped. The GPU sees it where user space
 * mapped it.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "vkfd_bo.h"
#include "vkfd_event_int.h"
#include "vkfd_mem.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"
#include "vkfd_vm.h"

#define VKFD_SIGNAL_PAGE_SIZE	(VKFD_SIGNAL_EVENT_LIMIT * sizeof(u64))

int vkfd_signal_page_map_mem(struct vkfd_process *p, u64 handle, struct vkfd_mem **mem,
			     u64 **page)
{
	struct vkfd_pdd *pdd;
	struct vkfd_mem *m;
	void *addr;

	lockdep_assert_held(&p->lock);

	pdd = vkfd_process_get_pdd(p, vkfd_mem_handle_gpu_id(handle));
	if (IS_ERR(pdd))
		return PTR_ERR(pdd);
	m = vkfd_mem_lookup(pdd, vkfd_mem_handle_idr(handle));
	/* All 4096 slots are written below, whatever user space intends to use. */
	if (!m || vkfd_bo_size(m->bo) < VKFD_SIGNAL_PAGE_SIZE)
		return -EINVAL;
	addr = vkfd_bo_vmap(m->bo);
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	drm_gem_object_get(&m->bo->base);
	*mem = m;
	*page = addr;
	return 0;
}

void vkfd_signal_page_unmap_bo(struct vkfd_bo *bo)
{
	vkfd_bo_vunmap(bo);
	drm_gem_object_put(&bo->base);
}

static void publish(struct vkfd_events *evs, u64 *page, unsigned int slots)
{
	memset(page, 0xff, VKFD_SIGNAL_PAGE_SIZE);
	evs->slots = slots;
	/* Pairs with the acquire in vkfd_signal_page(). */
	smp_store_release(&evs->page, page);
}

int vkfd_signal_page_attach(struct vkfd_events *evs, struct vkfd_mem *mem, u64 *page)
{
	lockdep_assert_held(&evs->mutex);

	if (evs->page)
		return -EINVAL;
	mem->is_event_page = true;
	evs->page_mem = mem;
	evs->page_bo = mem->bo;
	publish(evs, page, VKFD_SIGNAL_EVENT_LIMIT);
	return 0;
}

/* The VM of the process on GPU @i, or NULL. Set once, while the process lives. */
static struct vkfd_vm *vm_of(struct vkfd_process *p, unsigned int i)
{
	struct vkfd_pdd *pdd = smp_load_acquire(&p->pdds[i]);

	return pdd ? smp_load_acquire(&pdd->vm) : NULL;
}

int vkfd_signal_page_ensure(struct vkfd_events *evs)
{
	struct vkfd_process *p = container_of(evs, struct vkfd_process, events);
	const struct vkfd_bo_params params = {
		.kind = VKFD_BO_GTT,
		.size = VKFD_SIGNAL_PAGE_SIZE,
		.alloc_flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED,
	};
	struct vkfd_bo *bo = NULL;
	unsigned int i;
	u64 *page;

	lockdep_assert_held(&evs->mutex);

	if (evs->page)
		return 0;
	for (i = 0; i < VKFD_MAX_GPUS && !bo; i++) {
		if (!vm_of(p, i))
			continue;
		bo = vkfd_bo_create(p->pdds[i]->dev, &params);
		/* A GPU that is gone needs no page to write to. */
		if (IS_ERR(bo)) {
			if (PTR_ERR(bo) != -ENODEV)
				return PTR_ERR(bo);
			bo = NULL;
		}
	}
	if (bo) {
		page = vkfd_bo_vmap(bo);
		if (IS_ERR(page)) {
			drm_gem_object_put(&bo->base);
			return PTR_ERR(page);
		}
	} else {
		page = vmalloc_user(VKFD_SIGNAL_PAGE_SIZE);
		if (!page)
			return -ENOMEM;
	}
	evs->own_bo = bo;
	publish(evs, page, VKFD_SIGNAL_EVENT_UNMAPPED);
	return 0;
}

/* Takes the driver's own page out of the process's VMs. */
static void own_unmap(struct vkfd_events *evs)
{
	unsigned int i;

	lockdep_assert_held(&evs->mutex);

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		if (evs->own_map[i])
			vkfd_vm_unmap(evs->own_map[i]);
		evs->own_map[i] = NULL;
	}
}

static int own_map_one(struct vkfd_events *evs, unsigned int i)
{
	struct vkfd_process *p = container_of(evs, struct vkfd_process, events);
	const struct vkfd_map_params params = {
		.bo = evs->own_bo,
		.va = evs->own_va,
		.npages = evs->own_pages,
		.flags = vkfd_bo_kfd_pte_flags(evs->own_bo->alloc_flags),
	};
	struct vkfd_vm *vm = vm_of(p, i);
	struct vkfd_mapping *m;

	lockdep_assert_held(&evs->mutex);

	if (!vm || evs->own_map[i])
		return 0;
	m = vkfd_vm_map(vm, &params);
	/* Of a GPU that is gone nothing has to be mapped. */
	if (IS_ERR(m))
		return PTR_ERR(m) == -ENODEV ? 0 : PTR_ERR(m);
	evs->own_map[i] = m;
	return 0;
}

u64 vkfd_events_vm_tables(void)
{
	/* At worst it goes over the end of one on each level. */
	return 2 * (VKFD_PT_LEVELS - 1) * AMDGPU_GPU_PAGE_SIZE;
}

int vkfd_events_vm_acquired(struct vkfd_pdd *pdd)
{
	struct vkfd_events *evs = &pdd->process->events;
	int err = 0;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&evs->mutex);
	if (evs->own_bo && evs->own_vmas)
		err = own_map_one(evs, pdd->dev->index);
	mutex_unlock(&evs->mutex);
	return err;
}

void vkfd_signal_page_detach(struct vkfd_events *evs)
{
	struct vkfd_bo *bo = evs->page_bo, *own = evs->own_bo;
	u64 *page = evs->page;

	lockdep_assert_held(&evs->mutex);

	if (!page)
		return;
	if (own)
		own_unmap(evs);
	WRITE_ONCE(evs->page, NULL);
	/* FREE may take the handle away from now on: the BO is kept by itself. */
	if (evs->page_mem)
		evs->page_mem->is_event_page = false;
	evs->page_mem = NULL;
	evs->page_bo = NULL;
	evs->own_bo = NULL;
	evs->slots = 0;
	/* The interrupt path reads slots under RCU. */
	synchronize_rcu();
	if (bo) {
		vkfd_signal_page_unmap_bo(bo);
	} else if (own) {
		vkfd_signal_page_unmap_bo(own);
	} else {
		vfree(page);
	}
}

/*
 * A mapping keeps the BO, by a reference in vm_private_data, and through its file the
 * process; it may be there longer than what the process owns.
 */
static void own_vma_open(struct vm_area_struct *vma)
{
	struct vkfd_process *p = vma->vm_file->private_data;
	struct vkfd_bo *bo = vma->vm_private_data;

	drm_gem_object_get(&bo->base);
	mutex_lock(&p->events.mutex);
	p->events.own_vmas++;
	mutex_unlock(&p->events.mutex);
}

static void own_vma_close(struct vm_area_struct *vma)
{
	struct vkfd_process *p = vma->vm_file->private_data;
	struct vkfd_bo *bo = vma->vm_private_data;

	mutex_lock(&p->events.mutex);
	if (!--p->events.own_vmas && p->events.own_bo)
		own_unmap(&p->events);
	mutex_unlock(&p->events.mutex);
	drm_gem_object_put(&bo->base);
}

/* Elsewhere the GPU would not find it. */
static int own_vma_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct own_vm_ops = {
	.open = own_vma_open,
	.close = own_vma_close,
	.mremap = own_vma_mremap,
};

/*
 * mmap of a page that is a BO: by frame number, as the pages are shmem's and this is not
 * a mapping of that file. A failed mmap is not closed, and unmaps what it inserted.
 */
static int own_mmap(struct vkfd_process *p, struct vm_area_struct *vma)
{
	unsigned long i, pages = vma_pages(vma);
	struct vkfd_events *evs = &p->events;
	int err;

	lockdep_assert_held(&evs->mutex);

	/* Pages that are private to the mapping would not be those the GPU writes. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	for (i = 0; i < pages; i++) {
		err = remap_pfn_range(vma, vma->vm_start + i * PAGE_SIZE,
				      page_to_pfn(evs->own_bo->pages[i]), PAGE_SIZE,
				      vma->vm_page_prot);
		if (err)
			return err;
	}
	if (!evs->own_vmas) {
		evs->own_va = vma->vm_start;
		evs->own_pages = pages;
		for (i = 0; i < VKFD_MAX_GPUS; i++) {
			err = own_map_one(evs, i);
			if (err) {
				own_unmap(evs);
				/* Under mmap_lock nobody's memory can make room for page tables. */
				return err == -ENOBUFS ? -ENOMEM : err;
			}
		}
	}
	drm_gem_object_get(&evs->own_bo->base);
	vma->vm_private_data = evs->own_bo;
	vma->vm_ops = &own_vm_ops;
	evs->own_vmas++;
	return 0;
}

int vkfd_events_mmap(struct vkfd_process *p, struct vm_area_struct *vma)
{
	struct vkfd_events *evs = &p->events;
	unsigned long size = vma->vm_end - vma->vm_start;
	int err;

	if (size > VKFD_SIGNAL_PAGE_SIZE)
		return -EINVAL;

	/* mmap_lock is held: nothing under this mutex may touch user memory. */
	mutex_lock(&evs->mutex);
	if (!evs->page || evs->page_bo) {
		err = -EINVAL;
		goto unlock;
	}
	if (evs->own_bo) {
		err = own_mmap(p, vma);
	} else {
		vm_flags_set(vma, VM_DONTCOPY);
		err = remap_vmalloc_range(vma, evs->page, 0);
	}
	if (!err && size / sizeof(u64) > evs->slots)
		evs->slots = size / sizeof(u64);
unlock:
	mutex_unlock(&evs->mutex);
	return err;
}
