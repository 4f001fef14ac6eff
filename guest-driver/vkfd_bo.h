/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffer objects: memory, whoever has it by whatever handle (vkfd_mem.h for KFD's). All
 * are GEM objects, so that user space maps them through the render node at the offset
 * ALLOC_MEMORY_OF_GPU returned.
 */
#ifndef VKFD_BO_H
#define VKFD_BO_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <drm/drm_gem.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_device.h"

struct dma_buf;
struct dma_buf_attachment;
struct file;
struct sg_table;
struct vkfd_bo_dma;
struct vkfd_lru;
struct vkfd_process;
struct vkfd_userptr;
struct vkfd_vram_block;

/* What struct drm_amdgpu_gem_metadata has room for. */
#define VKFD_BO_METADATA_MAX	256

enum vkfd_bo_kind {
	VKFD_BO_VRAM,
	VKFD_BO_GTT,
	VKFD_BO_USERPTR,
	VKFD_BO_DOORBELL,
	VKFD_BO_MMIO_REMAP,
	VKFD_BO_FOREIGN,
};

/**
 * struct vkfd_bo
 * @base: GEM object; its reference count is the BO's
 * @kind: where the memory is
 * @dev: GPU it was allocated on, with a reference on its DRM device
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_* it was made with
 * @blocks: VRAM, list of struct vkfd_vram_block
 * @block, @num_blocks: the same as an array in the order of the BO
 * @pages: system pages, for GTT (shmem), evicted VRAM (the BO's own) and userptr, whose are
 *         the process's: see vkfd_userptr.h on when and how long they are right
 * @gem: made by GEM_CREATE, and not by KFD
 * @evicted: VRAM that is in @pages at the moment, not in @blocks. Changes under @move_lock,
 *           and is followed by vkfd_vm_refill_bo(): so who holds the lock of a VM that shows
 *           the BO may use what it says until he drops that
 * @move_lock: see vkfd_bo_hold()
 * @lru, @lru_link: VRAM, which of the lists of vkfd_lru.h it is in, or NULL; vram.lock
 * @lru_round: the round that passed it last; vram.lock
 * @peer_link: in dev->peer_bos from its first mapping on another GPU on; vram.lock
 * @dma: bus addresses of @pages for each GPU that has its own, by vkfd_device.index; see
 *       vkfd_bo_dma.c
 * @dmabuf: another driver's memory: what it came as, with a reference
 * @attach, @sgt: for that: as it has attached and mapped it, NULL once it has not;
 *                dev->foreign_lock
 * @foreign_link: in dev->foreign_bos while @sgt is set; dev->foreign_lock
 * @user_addr: first byte of a userptr range
 * @read_only: a userptr whose memory the process cannot write either; vkfd_userptrs.lock
 * @userptr: the rest of what a userptr is, see vkfd_userptr.h
 * @phys: bus address of the MMIO remap page, or of the doorbell slice, 0 while the process
 *        has none; process->lock
 * @no_cpu: made with AMDGPU_GEM_CREATE_NO_CPU_ACCESS: GEM_MMAP and mmap are refused
 * @no_export: made with AMDGPU_GEM_CREATE_VM_ALWAYS_VALID: it stays with its file
 * @slice: doorbells by GEM handle: the slice that is theirs, else -1
 * @charged: bytes of system memory charged against the limit
 * @vmap_lock: @vmap and @vmap_count
 * @vmap, @vmap_count: kernel mapping of GTT pages
 * @share_lock: @metadata and what goes with it, and that there is one dma-buf only
 * @dmabuf_file: file of the BO's dma-buf, without a reference; NULL, or on its way out, when
 *               there is none
 * @tiling, @metadata_flags, @metadata_size, @metadata: what GEM_METADATA set, for whoever imports it
 * @mappings_lock: @mappings; nothing is taken inside it
 * @mappings: struct vkfd_mapping.bo_link, of all VMs that show it; see vkfd_vm_refill_bo()
 *
 * Fields without a lock are constant after creation.
 */
struct vkfd_bo {
	struct drm_gem_object base;
	enum vkfd_bo_kind kind;
	struct vkfd_device *dev;
	u32 alloc_flags;
	struct list_head blocks;
	struct vkfd_vram_block **block;
	unsigned long num_blocks;
	struct page **pages;
	bool gem;
	bool evicted;
	struct rw_semaphore move_lock;
	struct vkfd_lru *lru;
	struct list_head lru_link;
	u64 lru_round;
	struct list_head peer_link;
	struct vkfd_bo_dma *dma[VKFD_MAX_GPUS];
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	struct list_head foreign_link;
	u64 user_addr;
	bool read_only;
	struct vkfd_userptr *userptr;
	phys_addr_t phys;
	int slice;
	bool no_cpu;
	bool no_export;
	u64 charged;
	struct mutex vmap_lock;
	void *vmap;
	unsigned int vmap_count;
	struct mutex share_lock;
	struct file *dmabuf_file;
	u64 tiling;
	u64 metadata_flags;
	u32 metadata_size;
	u8 metadata[VKFD_BO_METADATA_MAX];
	spinlock_t mappings_lock;
	struct list_head mappings;
};

static inline struct vkfd_bo *to_vkfd_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct vkfd_bo, base);
}

static inline u64 vkfd_bo_size(const struct vkfd_bo *bo)
{
	return bo->base.size;
}

/* Whether it has to be where CPUs see it, when it is in VRAM, and not all of that is. */
static inline bool vkfd_bo_visible(const struct vkfd_bo *bo)
{
	return bo->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC &&
	       bo->dev->vram.visible < bo->dev->vram.size;
}

/* Whether it is in bo->pages: else it is not there, or in VRAM, or in BARs. */
static inline bool vkfd_bo_in_system(const struct vkfd_bo *bo)
{
	/* Pairs with the release in vkfd_evict.c: then pages and addresses are seen, too. */
	return bo->kind == VKFD_BO_VRAM ? smp_load_acquire(&bo->evicted) : !!bo->pages;
}

/*
 * Keeps VRAM where it is: no move begins, and none is under way. For who makes entries of it
 * that were not there before, or lets a CPU look. Short: an allocation may wait.
 */
static inline void vkfd_bo_hold(struct vkfd_bo *bo)
{
	down_read(&bo->move_lock);
}

static inline void vkfd_bo_unhold(struct vkfd_bo *bo)
{
	up_read(&bo->move_lock);
}

/**
 * struct vkfd_bo_params - what a new BO is made of
 * @kind: kind of memory
 * @size: bytes, not 0; rounded up to pages
 * @alloc_flags: KFD_IOC_ALLOC_MEM_FLAGS_*
 * @user_addr: userptr: page-aligned address in current's mm, which is that of
 * @process
 * @phys: MMIO remap: bus address
 * @gem: it gets a GEM handle, not one of KFD: doorbells then are a slice of their own
 * @dmabuf: of another driver: whose memory it is
 */
struct vkfd_bo_params {
	enum vkfd_bo_kind kind;
	u64 size;
	u32 alloc_flags;
	u64 user_addr;
	struct vkfd_process *process;
	phys_addr_t phys;
	bool gem;
	struct dma_buf *dmabuf;
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
 * vkfd_bo_dma.c: maps bo->pages for @dev, if they are not / unmaps them for all GPUs, and the
 * arrays are no more. Drop: the arrays stay, for other pages; nothing is allocated. Take
 * dev->dma_lock. -ENOMEM; -ENODEV: the driver is being unbound from @dev.
 */
int vkfd_bo_dma_map(struct vkfd_bo *bo, struct vkfd_device *dev);
/* The addresses are those in @sgt, and whoever made that unmaps them: -ENOMEM, -EINVAL: too few. */
int vkfd_bo_dma_import(struct vkfd_bo *bo, struct sg_table *sgt);
void vkfd_bo_dma_drop(struct vkfd_bo *bo);
void vkfd_bo_dma_unmap(struct vkfd_bo *bo);
/*
 * Whether @dev has to have its own: an IOMMU is in between, or the GPU it was allocated on, whose
 * addresses would do, is gone.
 */
bool vkfd_bo_dma_needed(const struct vkfd_bo *bo, struct vkfd_device *dev);
/* Whether pages are mapped such that @dev can use them. */
bool vkfd_bo_dma_mapped(struct vkfd_bo *bo, struct vkfd_device *dev);
/* Address of page @index for @dev, which has its own if it needs them. */
dma_addr_t vkfd_bo_dma_addr(const struct vkfd_bo *bo, struct vkfd_device *dev, u64 index);
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

/* The flags of entries that KFD's @alloc_flags ask for: see struct vkfd_mapping. */
u64 vkfd_bo_kfd_pte_flags(u32 alloc_flags);
/*
 * Entry of page @index of @bo in page tables of @dev, with @flags and those the memory
 * needs; 0 (invalid) for doorbells that are not there at the moment, or BARs of a GPU that
 * is gone. The BO has no page there if @index is beyond its size: the caller checks.
 */
u64 vkfd_bo_pte(struct vkfd_bo *bo, struct vkfd_device *dev, u64 index, u64 flags);
/* Makes bo->block of bo->blocks: -ENOMEM. */
int vkfd_bo_index_blocks(struct vkfd_bo *bo);
/* VRAM offset of page @index of a VRAM BO, which is not evicted. */
u64 vkfd_bo_vram_offset(struct vkfd_bo *bo, u64 index);
/* Whether @dev can be made to reach @bo by the addresses vkfd_bo_pte() gives. */
bool vkfd_bo_reachable(struct vkfd_bo *bo, struct vkfd_device *dev);

/*
 * Copies @len bytes, all in one page of @bo, from it to @buf or back. -EFAULT: it is not
 * memory, or is not any more; held (vkfd_bo_hold()), or under the lock of a VM that shows it;
 * -EIO: VRAM of a part that is away; userptr: takes vkfd_userptrs.lock; -EAGAIN: its pages
 * are away and will be looked up; writes are refused. Any context that may sleep.
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
/* How much more may be in GTT BOs and evicted VRAM. */
u64 vkfd_bo_gtt_available(void);
/* Charges @size bytes for system pages of @bo, which has none, by its kind: -ENOMEM. */
int vkfd_bo_charge(struct vkfd_bo *bo, u64 size);
void vkfd_bo_uncharge(struct vkfd_bo *bo);

#endif /* VKFD_BO_H */
