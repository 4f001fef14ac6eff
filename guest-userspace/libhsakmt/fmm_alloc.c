// SPDX-License-Identifier: MIT
/*
 * Allocation and release of memory. Address first, then the kernel's buffer at
 * that address, then the CPU mapping over the reserved range.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"

#define MB2 (2ull << 20)

/* The kernel's buffer; handle, 0 on failure. *@mmap_offset in for USERPTR, else out. */
uint64_t hsakmt_kfd_alloc(uint32_t gpu_id, uint64_t va, uint64_t size, uint32_t ioc_flags,
			  uint64_t *mmap_offset)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = va,
		.size = size,
		.gpu_id = gpu_id,
		.flags = ioc_flags | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE,
	};

	if (ioc_flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)
		args.mmap_offset = *mmap_offset;
	if (hsakmt_ioctl(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args))
		return 0;
	if (mmap_offset)
		*mmap_offset = args.mmap_offset;
	return args.handle;
}

void hsakmt_kfd_free(uint64_t handle)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = handle };

	hsakmt_ioctl(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

static uint32_t ioc_flags_of(HsaMemFlags flags)
{
	/* No caller asks for execution explicitly, so everything gets it. */
	uint32_t ioc = KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;

	if (flags.ui32.AQLQueueMemory)
		ioc |= KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
	if (!flags.ui32.ReadOnly)
		ioc |= KFD_MEM_WRITABLE;
	if (!flags.ui32.CoarseGrain || hsakmt_ctx.mem.disable_cache)
		ioc |= KFD_IOC_ALLOC_MEM_FLAGS_COHERENT;
	if (flags.ui32.Uncached || hsakmt_ctx.mem.disable_cache)
		ioc |= KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
	return ioc;
}

/* Enters a finished object; NULL without memory. Takes mem.lock. */
static struct hsakmt_bo *enter(enum hsakmt_bo_kind kind, uint64_t va, uint64_t size,
			       uint64_t handle, HsaMemFlags flags, uint32_t node_id)
{
	struct hsakmt_bo *bo = hsakmt_bo_new(kind, va, size, handle, flags);

	if (!bo)
		return NULL;
	bo->node_id = node_id;
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	if (hsakmt_boset_add(&hsakmt_ctx.mem.bos, bo)) {
		hsakmt_bo_free(bo);
		bo = NULL;
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return bo;
}

static uint64_t take_va(struct hsakmt_aperture *ap, uint64_t addr, uint64_t size, uint64_t align)
{
	uint64_t va;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	va = hsakmt_va_alloc(ap, addr, size, align);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return va;
}

static void give_va(struct hsakmt_aperture *ap, uint64_t va, uint64_t size)
{
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	hsakmt_va_free(ap, va, size);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
}

/*
 * Address, kernel buffer and object in one go. The object is not known to
 * anybody but the caller yet, so it may be used without the lock until its address
 * is handed out. NULL on failure, with nothing left behind.
 */
struct hsakmt_bo *hsakmt_fmm_create(enum hsakmt_bo_kind kind, uint32_t gpu_id, uint64_t addr,
				    uint64_t size, uint64_t align, uint32_t ioc_flags,
				    HsaMemFlags flags, uint32_t node_id, uint64_t *mmap_offset)
{
	struct hsakmt_aperture *ap = kind == HSAKMT_BO_HANDLE ?
		&hsakmt_ctx.mem.handles : &hsakmt_ctx.mem.svm;
	struct hsakmt_bo *bo;
	uint64_t va, handle;

	va = take_va(ap, addr, size, align);
	if (!va)
		return NULL;
	handle = hsakmt_kfd_alloc(gpu_id, kind == HSAKMT_BO_HANDLE ? 0 : va, size, ioc_flags,
				  mmap_offset);
	if (!handle) {
		give_va(ap, va, size);
		return NULL;
	}
	bo = enter(kind, va, size, handle, flags, node_id);
	if (!bo) {
		hsakmt_kfd_free(handle);
		give_va(ap, va, size);
	}
	return bo;
}

static void drop(struct hsakmt_bo *bo)
{
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	hsakmt_fmm_release_locked(bo);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
}

/*
 * CPU mapping of a buffer over its address. Never inherited: a child's
 * reference would keep the memory after the parent frees it, and copying the
 * mapping on fork would disturb running queues.
 */
static bool map_cpu(uint64_t va, uint64_t size, bool access, int fd, uint64_t offset)
{
	int prot = access ? PROT_READ | PROT_WRITE : PROT_NONE;

	if (hsakmt_sys_mmap(hsakmt_ptr(va), size, prot, MAP_SHARED | MAP_FIXED, fd,
			    (off_t)offset) == MAP_FAILED)
		return false;
	madvise(hsakmt_ptr(va), size, MADV_DONTFORK);
	return true;
}

/* The render node of a GPU, gpu id 0 meaning the first; -1 when unknown. */
static int gpu_fd(uint32_t *gpu_id)
{
	struct hsakmt_gpu *gpu = NULL;
	int fd = -1;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	if (*gpu_id)
		gpu = hsakmt_gpu_by_id(*gpu_id);
	else if (hsakmt_ctx.mem.num_gpus)
		gpu = &hsakmt_ctx.mem.gpu[0];
	if (gpu) {
		*gpu_id = gpu->gpu_id;
		fd = gpu->drm_fd;
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return fd;
}

/* Video memory; @addr 0 lets the library choose. Address, or token, or 0. */
uint64_t hsakmt_fmm_alloc_device(uint32_t gpu_id, uint64_t addr, uint64_t size, uint64_t align,
				 HsaMemFlags flags)
{
	uint32_t ioc = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | ioc_flags_of(flags), node_id = 0;
	uint64_t gpu_size = flags.ui32.AQLQueueMemory ? size * 2 : size;
	struct hsakmt_bo *bo;
	uint64_t offset = 0, va;
	int fd = gpu_fd(&gpu_id);

	if (fd < 0)
		return 0;
	hsakmt_gpu_node_id(gpu_id, &node_id);

	if (flags.ui32.OnlyAddress) {
		va = take_va(&hsakmt_ctx.mem.svm, addr, gpu_size, align);
		if (va && !enter(HSAKMT_BO_SVM, va, gpu_size, 0, flags, node_id)) {
			give_va(&hsakmt_ctx.mem.svm, va, gpu_size);
			va = 0;
		}
		return va;
	}
	if (flags.ui32.HostAccess)
		ioc |= KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
	if (flags.ui32.ExtendedCoherent)
		ioc |= KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT;
	if (flags.ui32.Contiguous)
		ioc |= KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS;
	bo = hsakmt_fmm_create(flags.ui32.NoAddress ? HSAKMT_BO_HANDLE : HSAKMT_BO_SVM, gpu_id,
			       addr, gpu_size, align, ioc, flags, node_id, &offset);
	if (!bo)
		return 0;
	va = bo->va;
	/* Without host access too: a debugger goes through the mapping. */
	if (!flags.ui32.NoAddress && !map_cpu(va, size, flags.ui32.HostAccess, fd, offset)) {
		drop(bo);
		return 0;
	}
	return va;
}

/* Memory of a system without GPU: just an anonymous mapping. */
static uint64_t alloc_cpu_only(uint64_t addr, uint64_t size, uint64_t align, HsaMemFlags flags)
{
	int prot = PROT_READ | (flags.ui32.ExecuteAccess ? PROT_EXEC : 0) |
		   (flags.ui32.ReadOnly ? 0 : PROT_WRITE);
	void *map;

	if (addr || align)
		return 0;
	map = mmap(NULL, size, prot, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	if (map == MAP_FAILED)
		return 0;
	if (!enter(HSAKMT_BO_CPU, hsakmt_addr(map), size, 0, flags, 0)) {
		munmap(map, size);
		return 0;
	}
	return hsakmt_addr(map);
}

/*
 * Pageable system memory: pages of our own, given to the kernel as a user
 * pointer at the same address.
 *
 * Fork: memory of the library itself is left out of a child. Memory of the
 * program is shared with it instead, so a child may read what its parent put there,
 * and no copy-on-write moves the parent's pages under a running queue.
 */
static uint64_t alloc_paged(uint32_t gpu_id, uint32_t node_id, uint64_t addr, uint64_t size,
			    uint64_t gpu_size, uint64_t align, uint32_t ioc, HsaMemFlags flags,
			    bool internal)
{
	struct hsakmt_aperture *ap = &hsakmt_ctx.mem.svm;
	uint64_t va = take_va(ap, addr, gpu_size, align), handle, offset;
	int share = internal ? MAP_PRIVATE : MAP_SHARED;

	if (!va)
		return 0;
	if (mmap(hsakmt_ptr(va), size, PROT_READ | PROT_WRITE,
		 MAP_ANONYMOUS | MAP_FIXED | share, -1, 0) == MAP_FAILED)
		goto err_va;
	if (!flags.ui32.NoNUMABind &&
	    hsakmt_sys_bind_node(hsakmt_ptr(va), size, node_id, flags.ui32.NoSubstitute))
		goto err_va;
	/* The advice is a number, not a set of bits: one call for each. */
	if (internal)
		madvise(hsakmt_ptr(va), size, MADV_DONTFORK);
	if (size >= MB2)
		madvise(hsakmt_ptr(va), size, MADV_HUGEPAGE);

	offset = va;
	handle = hsakmt_kfd_alloc(gpu_id, va, gpu_size, ioc | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR,
				  &offset);
	if (!handle)
		goto err_va;
	if (!enter(HSAKMT_BO_SVM, va, gpu_size, handle, flags, node_id)) {
		hsakmt_kfd_free(handle);
		goto err_va;
	}
	return va;

err_va:
	give_va(ap, va, gpu_size);
	return 0;
}

/* System memory: pageable as user pointer, non-paged from the kernel (GTT). */
uint64_t hsakmt_fmm_alloc_host(uint32_t gpu_id, uint32_t node_id, uint64_t addr, uint64_t size,
			       uint64_t align, HsaMemFlags flags, bool internal)
{
	uint32_t ioc = ioc_flags_of(flags);
	uint64_t gpu_size = flags.ui32.AQLQueueMemory ? size * 2 : size, offset = 0, va;
	struct hsakmt_bo *bo;
	int fd;

	if (!hsakmt_ctx.is_dgpu)
		return alloc_cpu_only(addr, size, align, flags);
	fd = gpu_fd(&gpu_id);
	if (fd < 0)
		return 0;
	if (!flags.ui32.NonPaged && hsakmt_ctx.mem.userptr_for_paged)
		return alloc_paged(gpu_id, node_id, addr, size, gpu_size, align, ioc, flags,
				   internal);

	bo = hsakmt_fmm_create(HSAKMT_BO_SVM, gpu_id, addr, gpu_size, align,
			       ioc | KFD_IOC_ALLOC_MEM_FLAGS_GTT, flags, node_id, &offset);
	if (!bo)
		return 0;
	va = bo->va;
	if (flags.ui32.HostAccess && !map_cpu(va, size, true, fd, offset)) {
		drop(bo);
		return 0;
	}
	return va;
}

static const HsaMemFlags device_page_flags = { .ui32 = { .NonPaged = 1, .HostAccess = 1 } };

/* A process's doorbells of one GPU: @offset is for mmap of /dev/kfd. */
uint64_t hsakmt_fmm_alloc_doorbell(uint32_t gpu_id, uint64_t size, uint64_t offset)
{
	struct hsakmt_bo *bo;
	uint32_t node_id = 0;
	uint64_t va;

	hsakmt_gpu_node_id(gpu_id, &node_id);
	bo = hsakmt_fmm_create(HSAKMT_BO_SVM, gpu_id, 0, size, 0,
			       KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_MEM_WRITABLE |
			       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT,
			       device_page_flags, node_id, NULL);
	if (!bo)
		return 0;
	va = bo->va;
	if (hsakmt_sys_mmap(hsakmt_ptr(va), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    hsakmt_ctx.kfd_fd, (off_t)offset) == MAP_FAILED) {
		drop(bo);
		return 0;
	}
	return va;
}

/* The page with the HDP flush registers, mapped to CPU and GPUs; 0 on failure. */
uint64_t hsakmt_fmm_alloc_mmio(struct hsakmt_gpu *gpu)
{
	uint64_t size = hsakmt_ctx.page_size, offset = 0, va;
	struct hsakmt_bo *bo;

	bo = hsakmt_fmm_create(HSAKMT_BO_SVM, gpu->gpu_id, 0, size, 0,
			       KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP |
			       KFD_MEM_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT,
			       device_page_flags, gpu->node_id, &offset);
	if (!bo)
		return 0;
	va = bo->va;
	if (hsakmt_sys_mmap(hsakmt_ptr(va), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    hsakmt_ctx.kfd_fd, (off_t)offset) == MAP_FAILED ||
	    hsakmt_fmm_map(va, size, NULL) != HSAKMT_STATUS_SUCCESS) {
		drop(bo);
		return 0;
	}
	return va;
}

/*
 * Gives one registration back, and with the last one the memory. Under
 * mem.lock, so that two callers cannot release the same object. ERROR when the
 * kernel still needs the buffer (mapped, or the events page): it then stays.
 */
HSAKMT_STATUS hsakmt_fmm_release_locked(struct hsakmt_bo *bo)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = bo->handle };
	struct hsakmt_aperture *ap = hsakmt_bo_aperture(bo);

	if (bo->userptr && bo->registrations > 1) {
		bo->registrations--;
		return HSAKMT_STATUS_SUCCESS;
	}
	/* Before the pages: unmapping those of a live user pointer evicts queues. */
	if (bo->handle && hsakmt_ioctl(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args))
		return HSAKMT_STATUS_ERROR;
	if (ap)
		hsakmt_va_free(ap, bo->va, bo->size);
	else
		munmap(hsakmt_ptr(bo->va), bo->size);
	hsakmt_fault_note_freed(bo);
	hsakmt_boset_del(&hsakmt_ctx.mem.bos, bo);
	if (bo->userptr)
		hsakmt_boset_del(&hsakmt_ctx.mem.userptrs, bo);
	hsakmt_bo_free(bo);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsakmt_fmm_release(uint64_t addr)
{
	HSAKMT_STATUS status;
	struct hsakmt_gpu *gpu;
	struct hsakmt_bo *bo;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_scratch_owner_locked(addr);
	if (gpu) {
		hsakmt_scratch_release_locked(gpu);
		status = HSAKMT_STATUS_SUCCESS;
	} else {
		bo = hsakmt_bo_find(addr, 0);
		if (bo)
			status = hsakmt_fmm_release_locked(bo);
		else	/* with SVM any address may be meant and none is known */
			status = hsakmt_ctx.svm_api ? HSAKMT_STATUS_SUCCESS :
						      HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

/* The kernel's handle of the buffer at @addr. */
bool hsakmt_fmm_handle(uint64_t addr, uint64_t *handle)
{
	struct hsakmt_bo *bo;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_boset_exact(&hsakmt_ctx.mem.bos, addr, 0);
	if (bo)
		*handle = bo->handle;
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return bo;
}
