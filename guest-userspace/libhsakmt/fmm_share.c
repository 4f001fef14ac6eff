// SPDX-License-Identifier: MIT
/* Buffers that cross process or driver boundaries: dma-buf and IPC handles. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"

#define METADATA_GUESS 64u
#define IMAGE_ALIGN (256u << 10)	/* what image surfaces may need */

static HsaMemFlags flags_of_ioc(uint32_t ioc)
{
	HsaMemFlags flags = { .Value = 0 };

	flags.ui32.ReadOnly = !(ioc & KFD_MEM_WRITABLE);
	flags.ui32.ExtendedCoherent = !!(ioc & KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT);
	flags.ui32.HostAccess = !!(ioc & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC);
	flags.ui32.CoarseGrain = 1;
	return flags;
}

/* Size, owner and metadata of a dma-buf; the caller frees the metadata. */
static HSAKMT_STATUS query_dmabuf(struct kfd_ioctl_get_dmabuf_info_args *args, uint64_t fd)
{
	uint32_t room = METADATA_GUESS;
	void *metadata;

	/* The kernel says how much room it needs even as it fails for want of it. */
	for (;;) {
		metadata = calloc(1, room);
		if (!metadata)
			return HSAKMT_STATUS_NO_MEMORY;
		memset(args, 0, sizeof(*args));
		args->dmabuf_fd = (uint32_t)fd;
		args->metadata_size = room;
		args->metadata_ptr = hsakmt_addr(metadata);
		if (!hsakmt_ioctl(AMDKFD_IOC_GET_DMABUF_INFO, args))
			return HSAKMT_STATUS_SUCCESS;
		free(metadata);
		if (room != METADATA_GUESS || args->metadata_size <= room)
			return HSAKMT_STATUS_ERROR;
		room = args->metadata_size;
	}
}

/*
 * Enters an object for memory the kernel has just imported; on failure both the
 * memory and the address are given back.
 */
static struct hsakmt_bo *enter_import(enum hsakmt_bo_kind kind, uint64_t va, uint64_t size,
				      uint64_t handle, HsaMemFlags flags)
{
	struct hsakmt_bo *bo = hsakmt_bo_new(kind, va, size, handle, flags);

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	if (!bo || hsakmt_boset_add(&hsakmt_ctx.mem.bos, bo)) {
		hsakmt_kfd_free(handle);
		hsakmt_va_free(kind == HSAKMT_BO_HANDLE ? &hsakmt_ctx.mem.handles :
			       &hsakmt_ctx.mem.svm, va, size);
		hsakmt_bo_free(bo);
		bo = NULL;
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return bo;
}

/*
 * Imports a dma-buf. Without nodes it gets a token instead of an address, for
 * callers that map it by other means.
 */
HSAKMT_STATUS hsakmt_fmm_import_graphics(uint64_t fd, HsaGraphicsResourceInfo *info,
					 struct hsakmt_ids *ids)
{
	enum hsakmt_bo_kind kind = ids->count ? HSAKMT_BO_SVM : HSAKMT_BO_HANDLE;
	struct hsakmt_aperture *ap = ids->count ? &hsakmt_ctx.mem.svm : &hsakmt_ctx.mem.handles;
	struct kfd_ioctl_get_dmabuf_info_args query;
	struct kfd_ioctl_import_dmabuf_args args = { 0 };
	uint32_t node_id = 0;
	struct hsakmt_bo *bo;
	HSAKMT_STATUS status;
	uint64_t va = 0;

	status = query_dmabuf(&query, fd);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	if (hsakmt_gpu_by_id(query.gpu_id))
		va = hsakmt_va_alloc(ap, 0, query.size, IMAGE_ALIGN);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	if (!va)
		goto err_metadata;

	args.va_addr = kind == HSAKMT_BO_SVM ? va : 0;
	args.gpu_id = query.gpu_id;
	args.dmabuf_fd = (uint32_t)fd;
	if (hsakmt_ioctl(AMDKFD_IOC_IMPORT_DMABUF, &args)) {
		pthread_mutex_lock(&hsakmt_ctx.mem.lock);
		hsakmt_va_free(ap, va, query.size);
		pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
		goto err_metadata;
	}
	bo = enter_import(kind, va, query.size, args.handle, flags_of_ioc(query.flags));
	if (!bo)
		goto err_metadata;

	hsakmt_gpu_node_id(query.gpu_id, &node_id);
	bo->node_id = node_id;
	bo->metadata = hsakmt_ptr(query.metadata_ptr);
	bo->registered = *ids;
	info->MemoryAddress = hsakmt_ptr(va);
	info->SizeInBytes = query.size;
	info->Metadata = bo->metadata;
	info->MetadataSizeInBytes = query.metadata_size;
	info->NodeId = node_id;
	return HSAKMT_STATUS_SUCCESS;

err_metadata:
	free(hsakmt_ptr(query.metadata_ptr));
	return HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsakmt_fmm_export_dmabuf(uint64_t addr, uint64_t size, int *fd, uint64_t *offset)
{
	struct kfd_ioctl_export_dmabuf_args args = { .flags = O_CLOEXEC };
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
	struct hsakmt_bo *bo;

	/* Under the lock, so that the buffer cannot go and its handle come anew. */
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_boset_containing(&hsakmt_ctx.mem.bos, addr);
	if (bo && bo->kind != HSAKMT_BO_CPU && size <= bo->size - (addr - bo->va)) {
		args.handle = bo->handle;
		status = hsakmt_call(AMDKFD_IOC_EXPORT_DMABUF, &args);
		if (status == HSAKMT_STATUS_SUCCESS) {
			*fd = (int)args.dmabuf_fd;
			*offset = addr - bo->va;
		}
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

/* What a HsaSharedMemoryHandle holds; both libraries read each other's. */
struct shared_handle {
	uint32_t share[4];
	uint32_t aperture;
	uint32_t aperture_index;
	uint32_t pages;
	uint32_t gpu_id;
};

enum { SHARED_SVM = 1, SHARED_SVM_ALT = 2, SHARED_HANDLE = 5 };

_Static_assert(sizeof(struct shared_handle) == sizeof(HsaSharedMemoryHandle),
	       "shared handle layout");

HSAKMT_STATUS hsakmt_fmm_export_ipc(uint64_t addr, uint64_t size, HsaSharedMemoryHandle *handle)
{
	struct kfd_ioctl_ipc_export_handle_args args = { 0 };
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
	struct shared_handle out = { 0 };
	struct hsakmt_bo *bo;

	if (size / hsakmt_ctx.page_size > UINT32_MAX)
		return status;
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_boset_exact(&hsakmt_ctx.mem.bos, addr, 0);
	if (!bo || bo->kind == HSAKMT_BO_CPU)
		goto out;
	hsakmt_node_gpu_id(bo->node_id, &args.gpu_id);
	if (!args.gpu_id && hsakmt_ctx.mem.num_gpus)	/* system memory: who allocated it */
		args.gpu_id = hsakmt_ctx.mem.gpu[0].gpu_id;
	args.handle = bo->handle;
	args.flags = bo->flags.Value;
	status = hsakmt_call(AMDKFD_IOC_IPC_EXPORT_HANDLE, &args);
	if (status != HSAKMT_STATUS_SUCCESS)
		goto out;
	memcpy(out.share, args.share_handle, sizeof(out.share));
	out.aperture = bo->kind == HSAKMT_BO_HANDLE ? SHARED_HANDLE : SHARED_SVM;
	out.pages = (uint32_t)(size / hsakmt_ctx.page_size);
	out.gpu_id = args.gpu_id;
	memcpy(handle, &out, sizeof(out));
out:
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

HSAKMT_STATUS hsakmt_fmm_import_ipc(const HsaSharedMemoryHandle *handle, void **addr,
				    uint64_t *size, struct hsakmt_ids *ids)
{
	struct kfd_ioctl_ipc_import_handle_args args = { 0 };
	enum hsakmt_bo_kind kind = HSAKMT_BO_SVM;
	struct hsakmt_aperture *ap = &hsakmt_ctx.mem.svm;
	struct shared_handle in;
	struct hsakmt_gpu *gpu;
	struct hsakmt_bo *bo;
	uint64_t bytes, va;
	int fd = -1;

	memcpy(&in, handle, sizeof(in));
	if (in.aperture == SHARED_HANDLE) {
		kind = HSAKMT_BO_HANDLE;
		ap = &hsakmt_ctx.mem.handles;
	} else if (in.aperture != SHARED_SVM && in.aperture != SHARED_SVM_ALT) {
		return HSAKMT_STATUS_INVALID_PARAMETER;
	}
	bytes = in.pages * hsakmt_ctx.page_size;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	va = hsakmt_va_alloc(ap, 0, bytes, 0);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	if (!va)
		return HSAKMT_STATUS_NO_MEMORY;

	memcpy(args.share_handle, in.share, sizeof(args.share_handle));
	args.gpu_id = in.gpu_id;
	args.va_addr = va;
	if (hsakmt_ioctl(AMDKFD_IOC_IPC_IMPORT_HANDLE, &args)) {
		pthread_mutex_lock(&hsakmt_ctx.mem.lock);
		hsakmt_va_free(ap, va, bytes);
		pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
		return HSAKMT_STATUS_ERROR;
	}
	bo = enter_import(kind, va, bytes, args.handle, (HsaMemFlags){ .Value = args.flags });
	if (!bo)
		return HSAKMT_STATUS_NO_MEMORY;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_gpu_by_id(args.gpu_id);
	if (gpu) {
		fd = gpu->drm_fd;
		bo->node_id = gpu->node_id;
	}
	if (args.mmap_offset && kind == HSAKMT_BO_SVM) {
		if (fd < 0 ||
		    hsakmt_sys_mmap(hsakmt_ptr(va), bytes, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_FIXED, fd,
				    (off_t)args.mmap_offset) == MAP_FAILED) {
			hsakmt_fmm_release_locked(bo);
			pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
			return HSAKMT_STATUS_ERROR;
		}
		madvise(hsakmt_ptr(va), bytes, MADV_DONTFORK);
	}
	bo->registered = *ids;
	bo->imported = true;
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	*addr = hsakmt_ptr(va);
	*size = bytes;
	return HSAKMT_STATUS_SUCCESS;
}
