// SPDX-License-Identifier: MIT
/*
 * Scratch: one address range per GPU whose start the kernel programs into the
 * hardware, backed by video memory slice by slice as queues need it.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"

#define SCRATCH_ALIGN 0x10000u	/* the register holds address bits 16 and up */

/* The GPU whose scratch range contains @addr; under mem.lock. */
struct hsakmt_gpu *hsakmt_scratch_owner_locked(uint64_t addr)
{
	for (uint32_t i = 0; i < hsakmt_ctx.mem.num_gpus; i++) {
		struct hsakmt_gpu *gpu = &hsakmt_ctx.mem.gpu[i];

		if (gpu->scratch_va.base && addr >= gpu->scratch_va.base &&
		    addr - gpu->scratch_va.base < gpu->scratch_va.size)
			return gpu;
	}
	return NULL;
}

/* Reserves the range; 0 when it exists already or the kernel refuses. */
uint64_t hsakmt_scratch_alloc(uint32_t gpu_id, uint64_t addr, uint64_t size)
{
	struct kfd_ioctl_set_scratch_backing_va_args args = { .gpu_id = gpu_id };
	uint64_t aligned = ALIGN_UP(size, SCRATCH_ALIGN), va = 0;
	struct hsakmt_gpu *gpu;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_gpu_by_id(gpu_id);
	if (!gpu || gpu->scratch_va.base || aligned < size)
		goto out;
	va = hsakmt_va_alloc(&hsakmt_ctx.mem.svm, addr, aligned, SCRATCH_ALIGN);
	if (!va)
		goto out;
	args.va_addr = va >> 16;
	if (hsakmt_ioctl(AMDKFD_IOC_SET_SCRATCH_BACKING_VA, &args)) {
		hsakmt_va_free(&hsakmt_ctx.mem.svm, va, aligned);
		va = 0;
		goto out;
	}
	gpu->scratch_va.base = va;
	gpu->scratch_va.size = aligned;
out:
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return va;
}

static HSAKMT_STATUS free_slice(struct hsakmt_gpu *gpu, struct hsakmt_bo *bo)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = bo->handle };
	HSAKMT_STATUS status = hsakmt_bo_unmap_locked(bo, NULL);

	/* Off the CPU, with the addresses still reserved. */
	mmap(hsakmt_ptr(bo->va), bo->size, PROT_NONE,
	     MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE | MAP_FIXED, -1, 0);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (hsakmt_ioctl(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args))
		return HSAKMT_STATUS_ERROR;
	hsakmt_boset_del(&gpu->scratch_bos, bo);
	hsakmt_bo_free(bo);
	return HSAKMT_STATUS_SUCCESS;
}

void hsakmt_scratch_release_locked(struct hsakmt_gpu *gpu)
{
	size_t stuck = 0;

	/* A slice the kernel keeps is forgotten: the process ends with it. */
	while (gpu->scratch_bos.count > stuck) {
		struct hsakmt_bo *bo = gpu->scratch_bos.bo[stuck];

		if (free_slice(gpu, bo) != HSAKMT_STATUS_SUCCESS)
			stuck++;
	}
	while (gpu->scratch_bos.count)
		hsakmt_bo_free(gpu->scratch_bos.bo[--gpu->scratch_bos.count]);
	hsakmt_va_free(&hsakmt_ctx.mem.svm, gpu->scratch_va.base, gpu->scratch_va.size);
	gpu->scratch_va.base = gpu->scratch_va.size = 0;
}

/* Backs [@addr, @addr + @size) with video memory and maps it to its GPU. */
HSAKMT_STATUS hsakmt_scratch_map_locked(struct hsakmt_gpu *gpu, uint64_t addr, uint64_t size)
{
	struct hsakmt_ids self = { .id = &gpu->gpu_id, .count = 1 };
	HsaMemFlags flags = { .ui32 = { .CoarseGrain = 1 } };
	uint64_t handle, offset = 0;
	struct hsakmt_bo *bo;

	if (size > gpu->scratch_va.size - (addr - gpu->scratch_va.base))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	handle = hsakmt_kfd_alloc(gpu->gpu_id, addr, size,
				  KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_MEM_WRITABLE,
				  &offset);
	if (!handle)
		return HSAKMT_STATUS_INVALID_HANDLE;
	bo = hsakmt_bo_new(HSAKMT_BO_SVM, addr, size, handle, flags);
	if (!bo || hsakmt_boset_add(&gpu->scratch_bos, bo)) {
		hsakmt_bo_free(bo);
		hsakmt_kfd_free(handle);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	if (hsakmt_sys_mmap(hsakmt_ptr(addr), size, PROT_NONE, MAP_SHARED | MAP_FIXED,
			    gpu->drm_fd, (off_t)offset) != MAP_FAILED) {
		madvise(hsakmt_ptr(addr), size, MADV_DONTFORK);
		if (hsakmt_bo_map_locked(bo, &self) == HSAKMT_STATUS_SUCCESS)
			return HSAKMT_STATUS_SUCCESS;
	}
	free_slice(gpu, bo);
	return HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsakmt_scratch_unmap_locked(struct hsakmt_gpu *gpu, uint64_t addr)
{
	struct hsakmt_bo *bo = hsakmt_boset_exact(&gpu->scratch_bos, addr, 0);

	return bo ? free_slice(gpu, bo) : HSAKMT_STATUS_ERROR;
}
