// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffer objects: creation and release per kind of memory, page-table entries, kernel
 * mappings.
 */
#include <linux/bsearch.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/gpuvm.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_doorbell.h"
#include "vkfd_evict.h"
#include "vkfd_foreign.h"
#include "vkfd_gem.h"
#include "vkfd_peer.h"
#include "vkfd_userptr.h"
#include "vkfd_vram.h"

/*
 * System memory that BOs hold, of all processes. GTT is unevictable, and user memory is
 * counted as if it were: all of it has to be there for queues to run. So it is limited as
 * upstream limits it, see vkfd_sysmem_limit(); half of RAM for GTT, of which evicted VRAM is
 * a part.
 */
static DEFINE_SPINLOCK(vkfd_sysmem_lock);
static u64 vkfd_sysmem_used;
static u64 vkfd_sysmem_gtt_used;

/* Kept from GPUs, for those who run them and for the kernel. */
#define VKFD_SYSMEM_RESERVE	(3ULL << 29)

/* Of @ram bytes in all: 1/64 is for page tables; where the reserve would be most, half. */
static u64 vkfd_sysmem_limit(u64 ram)
{
	ram -= ram / 64;
	return ram < 2 * VKFD_SYSMEM_RESERVE ? ram / 2 : ram - VKFD_SYSMEM_RESERVE;
}

static int vkfd_sysmem_take(u64 size, bool gtt)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT;
	int err = 0;

	/* The use may be above the limit when RAM was unplugged meanwhile. */
	spin_lock(&vkfd_sysmem_lock);
	if (size > ram || vkfd_sysmem_used + size > vkfd_sysmem_limit(ram) ||
	    (gtt && vkfd_sysmem_gtt_used + size > ram / 2)) {
		err = -ENOMEM;
	} else {
		vkfd_sysmem_used += size;
		if (gtt)
			vkfd_sysmem_gtt_used += size;
	}
	spin_unlock(&vkfd_sysmem_lock);

	return err;
}

static void vkfd_sysmem_give(u64 size, bool gtt)
{
	spin_lock(&vkfd_sysmem_lock);
	vkfd_sysmem_used -= size;
	if (gtt)
		vkfd_sysmem_gtt_used -= size;
	spin_unlock(&vkfd_sysmem_lock);
}

int vkfd_bo_charge(struct vkfd_bo *bo, u64 size)
{
	int err = vkfd_sysmem_take(size, bo->kind != VKFD_BO_USERPTR);

	if (!err)
		bo->charged = size;
	return err;
}

void vkfd_bo_uncharge(struct vkfd_bo *bo)
{
	vkfd_sysmem_give(bo->charged, bo->kind != VKFD_BO_USERPTR);
	bo->charged = 0;
}

int vkfd_sysmem_reserve(u64 size)
{
	return vkfd_sysmem_take(size, false);
}

void vkfd_sysmem_unreserve(u64 size)
{
	vkfd_sysmem_give(size, false);
}

u64 vkfd_bo_gtt_used(void)
{
	u64 used;

	spin_lock(&vkfd_sysmem_lock);
	used = vkfd_sysmem_gtt_used;
	spin_unlock(&vkfd_sysmem_lock);
	return used;
}

u64 vkfd_bo_gtt_available(void)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT, all = vkfd_sysmem_limit(ram), gtt;

	spin_lock(&vkfd_sysmem_lock);
	all -= min(vkfd_sysmem_used, all);
	gtt = ram / 2 - min(vkfd_sysmem_gtt_used, ram / 2);
	spin_unlock(&vkfd_sysmem_lock);
	return min(all, gtt);
}

static unsigned long vkfd_bo_num_pages(struct vkfd_bo *bo)
{
	return vkfd_bo_size(bo) >> PAGE_SHIFT;
}

/* VRAM may hold what another process left there. */
static int vkfd_bo_zero_vram(struct vkfd_bo *bo)
{
	unsigned long i;
	u64 done, n;
	int idx;

	for (i = 0; i < bo->num_blocks; i++) {
		struct drm_mm_node *node = &bo->block[i]->node;

		for (done = 0; done < node->size; done += n) {
			if (fatal_signal_pending(current))
				return -EINTR;
			if (!vkfd_hw_enter(bo->dev, &idx))
				return -ENODEV;
			n = min_t(u64, node->size - done, SZ_32M);
			vkfd_vram_zero(bo->dev, node->start + done, n);
			vkfd_hw_exit(idx);
		}
	}
	/* Zeroes are in VRAM before anybody learns of the BO. */
	wmb();
	return 0;
}

int vkfd_bo_index_blocks(struct vkfd_bo *bo)
{
	struct vkfd_vram_block *block;
	unsigned long n = 0;

	list_for_each_entry(block, &bo->blocks, link)
		n++;
	bo->block = kvmalloc_array(n, sizeof(*bo->block), GFP_KERNEL_ACCOUNT);
	if (!bo->block)
		return -ENOMEM;
	bo->num_blocks = 0;
	list_for_each_entry(block, &bo->blocks, link)
		bo->block[bo->num_blocks++] = block;
	return 0;
}

static int vkfd_bo_init_vram(struct vkfd_bo *bo)
{
	bool contiguous = bo->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS;
	int err;

	err = vkfd_vram_alloc_blocks(bo->dev, vkfd_bo_size(bo), contiguous, vkfd_bo_visible(bo),
				     &bo->blocks);
	if (err == -ENOMEM)
		err = vkfd_evict_alloc(bo, contiguous);
	if (err)
		return err;

	return vkfd_bo_index_blocks(bo) ?: vkfd_bo_zero_vram(bo);
}

static int vkfd_bo_init_gtt(struct vkfd_bo *bo)
{
	struct page **pages;

	/* Pages of shmem: zeroed, and charged to the caller's memory cgroup. */
	pages = drm_gem_get_pages(&bo->base);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	bo->pages = pages;

	return vkfd_bo_dma_map(bo, bo->dev);
}

/* Releases what the memory of @bo consists of, complete or not. */
static void vkfd_bo_release_memory(struct vkfd_bo *bo)
{
	if (bo->userptr)
		vkfd_userptr_fini(bo);
	if (bo->kind == VKFD_BO_FOREIGN)
		vkfd_foreign_fini(bo);
	vkfd_evict_remove(bo);
	vkfd_peer_forget(bo);
	if (bo->evicted)
		vkfd_evict_free_pages(bo);
	vkfd_bo_dma_unmap(bo);

	if (bo->pages && bo->kind == VKFD_BO_GTT)
		drm_gem_put_pages(&bo->base, bo->pages, true, true);
	else
		kvfree(bo->pages);
	if (bo->charged)
		vkfd_bo_uncharge(bo);
	if (bo->slice >= 0)
		vkfd_slice_free(bo->dev, bo->slice);

	kvfree(bo->block);
	vkfd_vram_free_blocks(bo->dev, &bo->blocks);
	if (bo->kind == VKFD_BO_VRAM && !bo->gem)
		vkfd_vram_uncharge_kfd(bo->dev, vkfd_bo_size(bo));
	/* Somebody else's may come back. */
	if (bo->kind == VKFD_BO_VRAM)
		vkfd_evict_kick(bo->dev);
}

void vkfd_bo_free(struct drm_gem_object *obj)
{
	struct vkfd_bo *bo = to_vkfd_bo(obj);
	struct drm_device *drm = &bo->dev->drm;

	WARN_ON(bo->vmap_count || !list_empty(&bo->mappings));

	vkfd_bo_release_memory(bo);
	drm_gem_object_release(obj);
	mutex_destroy(&bo->share_lock);
	mutex_destroy(&bo->vmap_lock);
	kfree(bo);
	/* Memory that was passed on may be the last that keeps the GPU's structure. */
	drm_dev_put(drm);
}

/* The GEM part: no memory yet, but shmem to take it from for GTT. */
static int vkfd_bo_init_gem(struct vkfd_bo *bo, u64 size)
{
	struct drm_device *drm = &bo->dev->drm;

	if (bo->kind == VKFD_BO_GTT)
		return drm_gem_object_init(drm, &bo->base, size);

	drm_gem_private_object_init(drm, &bo->base, size);
	return 0;
}

static int vkfd_bo_init_doorbells(struct vkfd_bo *bo)
{
	int slice = vkfd_slice_keep(bo->dev);

	if (slice < 0)
		return slice;
	bo->slice = slice;
	bo->phys = vkfd_doorbell_addr(bo->dev, slice);
	return 0;
}

static int vkfd_bo_init_memory(struct vkfd_bo *bo, const struct vkfd_bo_params *params)
{
	switch (bo->kind) {
	case VKFD_BO_VRAM:
		return vkfd_bo_init_vram(bo);
	case VKFD_BO_GTT:
		return vkfd_bo_init_gtt(bo);
	case VKFD_BO_USERPTR:
		return vkfd_userptr_init(bo, params->process);
	case VKFD_BO_DOORBELL:
		return params->gem ? vkfd_bo_init_doorbells(bo) : 0;
	case VKFD_BO_MMIO_REMAP:
		return 0;
	case VKFD_BO_FOREIGN:
		return vkfd_foreign_init(bo, params->dmabuf);
	}
	return -EINVAL;
}

struct vkfd_bo *vkfd_bo_create(struct vkfd_device *dev, const struct vkfd_bo_params *params)
{
	bool aql = params->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;
	u64 size = aql ? params->size / 2 : params->size;
	struct vkfd_bo *bo;
	int err;

	/* More than any address space: would overflow in the sums below. */
	if (size > VKFD_GPUVM_LIMIT)
		return ERR_PTR(-ENOMEM);
	size = PAGE_ALIGN(size);
	if (!size || !IS_ALIGNED(params->user_addr, PAGE_SIZE))
		return ERR_PTR(-EINVAL);

	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->base.funcs = &vkfd_gem_funcs;
	bo->kind = params->kind;
	bo->dev = dev;
	bo->alloc_flags = params->alloc_flags;
	bo->user_addr = params->user_addr;
	bo->phys = params->phys;
	bo->slice = -1;
	INIT_LIST_HEAD(&bo->blocks);
	mutex_init(&bo->vmap_lock);
	mutex_init(&bo->share_lock);
	spin_lock_init(&bo->mappings_lock);
	INIT_LIST_HEAD(&bo->mappings);
	INIT_LIST_HEAD(&bo->lru_link);
	INIT_LIST_HEAD(&bo->peer_link);
	init_rwsem(&bo->move_lock);
	bo->gem = params->gem;

	err = 0;
	if (bo->kind == VKFD_BO_GTT || bo->kind == VKFD_BO_USERPTR)
		err = vkfd_bo_charge(bo, size);
	else if (bo->kind == VKFD_BO_VRAM && !bo->gem)
		err = vkfd_vram_charge_kfd(dev, size);
	if (err)
		goto err_free;
	/* From here on vkfd_bo_free() takes it apart. */
	drm_dev_get(&dev->drm);
	err = vkfd_bo_init_gem(bo, size);
	if (!err)
		err = vkfd_bo_init_memory(bo, params);
	/* Last: it may fail for sizes of which there is no memory anyway. */
	if (!err)
		err = drm_gem_create_mmap_offset(&bo->base);
	if (err) {
		drm_gem_object_put(&bo->base);
		return ERR_PTR(err);
	}
	if (bo->kind == VKFD_BO_VRAM)
		vkfd_evict_add(bo);
	return bo;

err_free:
	mutex_destroy(&bo->share_lock);
	mutex_destroy(&bo->vmap_lock);
	kfree(bo);
	return ERR_PTR(err);
}

static int vkfd_bo_cmp_block(const void *key, const void *elt)
{
	const struct vkfd_vram_block *block = *(const struct vkfd_vram_block * const *)elt;
	u64 offset = *(const u64 *)key;

	if (offset < block->first)
		return -1;
	return offset >= block->first + block->node.size;
}

u64 vkfd_bo_vram_offset(struct vkfd_bo *bo, u64 index)
{
	u64 offset = index << PAGE_SHIFT;
	struct vkfd_vram_block **block;

	block = bsearch(&offset, bo->block, bo->num_blocks, sizeof(*bo->block),
			vkfd_bo_cmp_block);
	return (*block)->node.start + offset - (*block)->first;
}

/* System memory, whether there are pages at the moment or not; else it is in a BAR. */
static bool vkfd_bo_is_system(const struct vkfd_bo *bo)
{
	return bo->kind == VKFD_BO_GTT || bo->kind == VKFD_BO_USERPTR ||
	       bo->kind == VKFD_BO_FOREIGN;
}

bool vkfd_bo_reachable(struct vkfd_bo *bo, struct vkfd_device *dev)
{
	if (dev == bo->dev)
		return true;
	if (drm_dev_is_unplugged(&bo->dev->drm))
		return false;
	/* Evicted VRAM may come back. */
	if (!vkfd_bo_is_system(bo))
		return vkfd_peer_accessible(bo->dev, dev);
	/* Its exporter has been asked for one GPU. */
	return bo->kind != VKFD_BO_FOREIGN || !vkfd_bo_dma_needed(bo, dev);
}

/* As upstream's KFD mappings on Vega20: UC where coherence is asked for, else NC. */
u64 vkfd_bo_kfd_pte_flags(u32 alloc_flags)
{
	const u32 coherent = KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
			     KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT |
			     KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
	u64 flags = AMDGPU_PTE_READABLE;

	if (alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
		flags |= AMDGPU_PTE_WRITEABLE;
	if (alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
		flags |= AMDGPU_PTE_EXECUTABLE;
	if (alloc_flags & coherent)
		flags |= (u64)AMDGPU_MTYPE_UC << AMDGPU_PTE_MTYPE_VG10__SHIFT;
	return flags;
}

u64 vkfd_bo_pte(struct vkfd_bo *bo, struct vkfd_device *dev, u64 index, u64 flags)
{
	bool system = vkfd_bo_in_system(bo);
	u64 addr = 0;

	/* Its BARs are no more. */
	if (dev != bo->dev && !system && drm_dev_is_unplugged(&bo->dev->drm))
		return 0;
	flags |= AMDGPU_PTE_VALID;
	if (bo->read_only)
		flags &= ~(u64)AMDGPU_PTE_WRITEABLE;
	switch (bo->kind) {
	case VKFD_BO_VRAM:
		if (system) {
			addr = vkfd_bo_dma_addr(bo, dev, index);
			flags |= AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED;
			break;
		}
		addr = vkfd_bo_vram_offset(bo, index);
		if (dev != bo->dev) {
			addr += bo->dev->vram.base;
			flags |= AMDGPU_PTE_SYSTEM;
		}
		break;
	case VKFD_BO_GTT:
	case VKFD_BO_USERPTR:
	case VKFD_BO_FOREIGN:
		addr = vkfd_bo_dma_addr(bo, dev, index);
		flags |= AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED;
		break;
	case VKFD_BO_DOORBELL:
	case VKFD_BO_MMIO_REMAP:
		if (!bo->phys)
			return 0;
		addr = bo->phys + (index << PAGE_SHIFT);
		flags |= AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED;
		break;
	}
	return (addr & AMDGPU_PTE_ADDR_MASK) | flags;
}

int vkfd_bo_access(struct vkfd_bo *bo, u64 offset, void *buf, size_t len, bool write)
{
	u64 index = offset >> PAGE_SHIFT;
	void __iomem *io;
	void *page;
	int idx;

	if (bo->userptr)
		return write ? -EFAULT : vkfd_userptr_read(bo, offset, buf, len);
	if (vkfd_bo_in_system(bo)) {
		page = kmap_local_page(bo->pages[index]);
		if (write)
			memcpy(page + offset_in_page(offset), buf, len);
		else
			memcpy(buf, page + offset_in_page(offset), len);
		kunmap_local(page);
		return 0;
	}
	if (bo->kind != VKFD_BO_VRAM)
		return -EFAULT;

	if (!vkfd_hw_enter(bo->dev, &idx))
		return -EIO;
	io = bo->dev->vram.map + vkfd_bo_vram_offset(bo, index) + offset_in_page(offset);
	if (write)
		memcpy_toio(io, buf, len);
	else
		memcpy_fromio(buf, io, len);
	vkfd_hw_exit(idx);
	return 0;
}

void *vkfd_bo_vmap(struct vkfd_bo *bo)
{
	void *addr;

	if (bo->kind != VKFD_BO_GTT)
		return ERR_PTR(-EINVAL);

	mutex_lock(&bo->vmap_lock);
	if (!bo->vmap_count) {
		bo->vmap = vmap(bo->pages, vkfd_bo_num_pages(bo), VM_MAP, PAGE_KERNEL);
		if (!bo->vmap) {
			addr = ERR_PTR(-ENOMEM);
			goto out;
		}
	}
	bo->vmap_count++;
	addr = bo->vmap;
out:
	mutex_unlock(&bo->vmap_lock);
	return addr;
}

void vkfd_bo_vunmap(struct vkfd_bo *bo)
{
	mutex_lock(&bo->vmap_lock);
	if (!WARN_ON(!bo->vmap_count) && !--bo->vmap_count) {
		vunmap(bo->vmap);
		bo->vmap = NULL;
	}
	mutex_unlock(&bo->vmap_lock);
}
