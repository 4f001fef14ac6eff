// SPDX-License-Identifier: GPL-2.0-only
/*
 * The signal page of a process: 4096 slots of 64 bits. The GPU writes anything but
 * ~0 into the slot of an event before it interrupts; the driver writes ~0 back.
 *
 * On discrete GPUs the thunk allocates the page as a GTT buffer, maps it on every GPU
 * and hands over its handle; the driver keeps a reference and a kernel mapping. A
 * thunk that gives no handle gets a page of the driver's own, through mmap of
 * /dev/kfd, and may use as many slots as it has mapped.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "vkfd_bo.h"
#include "vkfd_event_int.h"
#include "vkfd_memory.h"
#include "vkfd_process.h"

#define VKFD_SIGNAL_PAGE_SIZE	(VKFD_SIGNAL_EVENT_LIMIT * sizeof(u64))

int vkfd_signal_page_map_bo(struct vkfd_process *p, u64 handle, struct vkfd_bo **bo, u64 **page)
{
	struct vkfd_pdd *pdd;
	struct vkfd_bo *b;
	void *addr;

	lockdep_assert_held(&p->lock);

	pdd = vkfd_process_get_pdd(p, vkfd_mem_handle_gpu_id(handle));
	if (IS_ERR(pdd))
		return PTR_ERR(pdd);
	b = vkfd_bo_lookup(pdd, vkfd_mem_handle_idr(handle));
	if (!b)
		return -EINVAL;
	/* All 4096 slots are written below, whatever user space intends to use. */
	if (vkfd_bo_size(b) < VKFD_SIGNAL_PAGE_SIZE) {
		drm_gem_object_put(&b->base);
		return -EINVAL;
	}
	addr = vkfd_bo_vmap(b);
	if (IS_ERR(addr)) {
		drm_gem_object_put(&b->base);
		return PTR_ERR(addr);
	}
	*bo = b;
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

int vkfd_signal_page_attach(struct vkfd_events *evs, struct vkfd_bo *bo, u64 *page)
{
	lockdep_assert_held(&evs->mutex);

	if (evs->page)
		return -EINVAL;
	bo->is_event_page = true;
	evs->page_bo = bo;
	publish(evs, page, VKFD_SIGNAL_EVENT_LIMIT);
	return 0;
}

int vkfd_signal_page_ensure(struct vkfd_events *evs)
{
	u64 *page;

	lockdep_assert_held(&evs->mutex);

	if (evs->page)
		return 0;
	page = vmalloc_user(VKFD_SIGNAL_PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	publish(evs, page, VKFD_SIGNAL_EVENT_UNMAPPED);
	return 0;
}

void vkfd_signal_page_detach(struct vkfd_events *evs)
{
	struct vkfd_bo *bo = evs->page_bo;
	u64 *page = evs->page;

	lockdep_assert_held(&evs->mutex);

	if (!page)
		return;
	WRITE_ONCE(evs->page, NULL);
	evs->page_bo = NULL;
	evs->slots = 0;
	/* The interrupt path reads slots under RCU. */
	synchronize_rcu();
	if (bo) {
		bo->is_event_page = false;
		vkfd_signal_page_unmap_bo(bo);
	} else {
		vfree(page);
	}
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
	vm_flags_set(vma, VM_DONTCOPY);
	err = remap_vmalloc_range(vma, evs->page, 0);
	if (!err && size / sizeof(u64) > evs->slots)
		evs->slots = size / sizeof(u64);
unlock:
	mutex_unlock(&evs->mutex);
	return err;
}
