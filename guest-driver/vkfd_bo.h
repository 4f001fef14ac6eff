/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffer objects. All are GEM objects, so that user space maps them through the
 * render node at the offset ALLOC_MEMORY_OF_GPU returned.
 */
#ifndef VKFD_BO_H
#define VKFD_BO_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <drm/drm_gem.h>

struct vkfd_device;
struct vkfd_pdd;
struct vkfd_process;
struct vkfd_userptr;
struct vkfd_vram_block;

enum vkfd_bo_kind {
	VKFD_BO_VRAM,
	VKFD_BO_GTT,
	VKFD_BO_USERPTR,
	VKFD_BO_DOORBELL,
	VKFD_BO_MMIO_REMAP,
};

/**
 * struct vkfd_bo
 * @base: GEM object; its reference count is the BO's
 * @kind: where the memory is
 * @dev: GPU it was allocated on; the owner of a reference to @base keeps it alive
 * @va: GPU virtual address (0: none); of the driver's own signal page like @gpu_pages
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @blocks: VRAM, list of struct vkfd_vram_block
 * @block, @num_blocks: the same as an array in the order of the BO
 * @pages: system pages, for GTT (shmem) and userptr, whose are the process's: see
 *         vkfd_userptr.h on when and how long they are right
 * @dma: bus address of each page of @pages
 * @dma_count: how many of them are mapped; dev->dma_lock once the BO is in @dma_link
 * @dma_link: in dev->dma_bos from the last page mapped until they are unmapped: by
 *            release, or before that when the GPU goes; dev->dma_lock
 * @user_addr: first byte of a userptr range
 * @read_only: a userptr whose memory the process cannot write either; vkfd_userptrs.lock
 * @userptr: the rest of what a userptr is, see vkfd_userptr.h
 * @phys: bus address of the MMIO remap page, or of the doorbell slice, 0 while the process
 *        has none; process->lock
 * @no_cpu: made with AMDGPU_GEM_CREATE_NO_CPU_ACCESS: GEM_MMAP is refused
 * @slice: doorbells by GEM handle: the slice that is theirs, else -1
 * @charged: bytes of system memory charged against the limit
 * @vmap_lock: @vmap and @vmap_count
 * @vmap, @vmap_count: kernel mapping of GTT pages
 * @gpu_pages: how many pages VMs show, 0 for all; the driver's own signal page, whose
 *             owner may have mapped less of it; under the events.mutex of its process
 * @mapped: bit per GPU index it is mapped on; process->lock
 * @is_event_page: signal page of a process: FREE is refused with -EPERM; process->lock
 *
 * Fields without a lock are constant after creation.
 */
struct vkfd_bo {
	struct drm_gem_object base;
	enum vkfd_bo_kind kind;
	struct vkfd_device *dev;
	u64 va;
	u32 alloc_flags;
	struct list_head blocks;
	struct vkfd_vram_block **block;
	unsigned long num_blocks;
	struct page **pages;
	dma_addr_t *dma;
	unsigned long dma_count;
	struct list_head dma_link;
	u64 user_addr;
	bool read_only;
	struct vkfd_userptr *userptr;
	phys_addr_t phys;
	int slice;
	bool no_cpu;
	u64 charged;
	struct mutex vmap_lock;
	void *vmap;
	unsigned int vmap_count;
	unsigned long gpu_pages;
	unsigned long mapped;
	bool is_event_page;
};

static inline struct vkfd_bo *to_vkfd_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct vkfd_bo, base);
}

static inline u64 vkfd_bo_size(const struct vkfd_bo *bo)
{
	return bo->base.size;
}

/**
 * struct vkfd_bo_params - what a new BO is made of
 * @kind: kind of memory
 * @va: GPU virtual address or 0
 * @size: bytes, not 0; rounded up to pages
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @user_addr: userptr: page-aligned address in current's mm, which is that of
 * @process
 * @phys: MMIO remap: bus address
 * @gem: it gets a GEM handle, not one of KFD: doorbells then are a slice of their own
 */
struct vkfd_bo_params {
	enum vkfd_bo_kind kind;
	u64 va;
	u64 size;
	u32 alloc_flags;
	u64 user_addr;
	struct vkfd_process *process;
	phys_addr_t phys;
	bool gem;
};

/*
 * A new BO with one reference, memory zeroed. Takes mmap_lock for a userptr, so no
 * lock of the driver may be held. ERR_PTR: -EINVAL, -ENOMEM (checked against free
 * VRAM or the system memory limit before anything is allocated), -EFAULT, -EINTR,
 * -ENODEV (hardware gone).
 */
struct vkfd_bo *vkfd_bo_create(struct vkfd_device *dev, const struct vkfd_bo_params *params);
/* drm_gem_object_funcs.free */
void vkfd_bo_free(struct drm_gem_object *obj);

/*
 * vkfd_bo_dma.c: bus addresses of bo->pages in bo->dma, / which are no more, and nor is the
 * array. Drop: the array stays, for other pages; nothing is allocated. Take dev->dma_lock.
 * -ENOMEM; -ENODEV: the driver is being unbound.
 */
int vkfd_bo_dma_map(struct vkfd_bo *bo);
void vkfd_bo_dma_drop(struct vkfd_bo *bo);
void vkfd_bo_dma_unmap(struct vkfd_bo *bo);
/*
 * A page of user memory, of whatever it is part of, mapped for DMA by @dev, once however
 * often this is called / one call less. Get: in drm_dev_enter(); -ENOMEM. Put allocates
 * nothing. Take dev->dma_lock.
 */
int vkfd_dma_page_get(struct vkfd_device *dev, struct page *page, dma_addr_t *addr);
void vkfd_dma_page_put(struct vkfd_device *dev, struct page *page);
/*
 * After drm_dev_unplug(), with the hardware stopped: unmaps all BOs of @dev for DMA,
 * since that is not allowed any more when the driver is unbound. The BOs live on.
 * Takes dev->dma_lock.
 */
void vkfd_bo_dma_revoke(struct vkfd_device *dev);

/*
 * Entry of page @index of @bo in page tables of @dev, complete with flags; 0 (invalid) for
 * doorbells that are not there at the moment. The BO has no page there if @index is beyond
 * its size: the caller checks.
 */
u64 vkfd_bo_pte(struct vkfd_bo *bo, struct vkfd_device *dev, u64 index);
/* VRAM offset of page @index of a VRAM BO. */
u64 vkfd_bo_vram_offset(struct vkfd_bo *bo, u64 index);
/* Whether @dev can reach @bo by the addresses vkfd_bo_pte() gives. */
bool vkfd_bo_reachable(struct vkfd_bo *bo, struct vkfd_device *dev);

/*
 * By handle in @pdd (low 32 bits of a KFD memory handle), with a reference
 * (drm_gem_object_put(&bo->base)); NULL if there is none. Caller holds process->lock.
 */
struct vkfd_bo *vkfd_bo_lookup(struct vkfd_pdd *pdd, u32 idr_handle);

/*
 * Copies @len bytes, all in one page of @bo, from it to @buf or back. -EFAULT: it is not
 * memory, or is not any more; -EIO: VRAM of a part that is away; userptr: takes
 * vkfd_userptrs.lock; -EAGAIN: its pages are away and will be looked up; writes are refused. Any context that may sleep.
 */
int vkfd_bo_access(struct vkfd_bo *bo, u64 offset, void *buf, size_t len, bool write);

/* Kernel mapping of a GTT BO; balanced by vkfd_bo_vunmap(). ERR_PTR(-EINVAL) for other kinds. */
void *vkfd_bo_vmap(struct vkfd_bo *bo);
void vkfd_bo_vunmap(struct vkfd_bo *bo);

/* User memory that GPUs may have without a BO, counted as that of BOs. -ENOMEM. */
int vkfd_sysmem_reserve(u64 size);
void vkfd_sysmem_unreserve(u64 size);

/* System memory in GTT BOs, of all processes and GPUs, in bytes. */
u64 vkfd_bo_gtt_used(void);

#endif /* VKFD_BO_H */
