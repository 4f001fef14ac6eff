// SPDX-License-Identifier: MIT
/* Registration of memory the program owns (user pointers). */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"

/* A bad pointer dies here, where the debugger shows who passed it. */
static void touch_pages(uint64_t addr, uint64_t size)
{
	volatile const char *p = hsakmt_ptr(addr);

	for (uint64_t i = 0; i < size; i += hsakmt_ctx.page_size)
		(void)p[i];
	if (size)
		(void)p[size - 1];
}

static HSAKMT_STATUS register_svm(uint64_t addr, uint64_t size, bool coarse, bool ext_coherent)
{
	uint64_t offset = addr & (hsakmt_ctx.page_size - 1);
	const struct kfd_ioctl_svm_attribute attrs[] = {
		{ coarse ? KFD_IOCTL_SVM_ATTR_CLR_FLAGS : KFD_IOCTL_SVM_ATTR_SET_FLAGS,
		  KFD_IOCTL_SVM_FLAG_COHERENT },
		{ ext_coherent ? KFD_IOCTL_SVM_ATTR_SET_FLAGS : KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
		  KFD_IOCTL_SVM_FLAG_EXT_COHERENT },
	};

	return hsakmt_svm_set(addr - offset, ALIGN_UP(offset + size, hsakmt_ctx.page_size),
			      attrs, ARRAY_SIZE(attrs));
}

/*
 * Makes a user pointer of whole pages at a new GPU address. Without the lock
 * while the kernel looks at the pages; a second thread that registered the same
 * memory meanwhile wins, and its object comes back instead. Locked on success.
 */
static struct hsakmt_bo *register_user(uint64_t addr, uint64_t size, bool coarse,
				       bool ext_coherent)
{
	uint64_t offset = addr & (hsakmt_ctx.page_size - 1), cpu = addr - offset;
	uint32_t ioc = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_MEM_WRITABLE |
		       KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
		       (coarse ? 0 : KFD_IOC_ALLOC_MEM_FLAGS_COHERENT) |
		       (ext_coherent ? KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT : 0);
	HsaMemFlags flags = { .ui32 = { .CoarseGrain = coarse, .ExtendedCoherent = ext_coherent } };
	struct hsakmt_bo *bo, *other;
	uint32_t gpu_id = 0, node_id = 0;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	if (hsakmt_ctx.mem.num_gpus) {
		gpu_id = hsakmt_ctx.mem.gpu[0].gpu_id;
		node_id = hsakmt_ctx.mem.gpu[0].node_id;
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	if (!gpu_id)
		return NULL;
	if (hsakmt_ctx.mem.check_userptr)
		touch_pages(addr, size);

	bo = hsakmt_fmm_create(HSAKMT_BO_SVM, gpu_id, 0,
			       ALIGN_UP(offset + size, hsakmt_ctx.page_size), 0, ioc, flags,
			       node_id, &cpu);
	if (!bo)
		return NULL;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	other = hsakmt_boset_exact(&hsakmt_ctx.mem.userptrs, addr, size);
	if (other) {
		hsakmt_fmm_release_locked(bo);
		other->registrations++;
		return other;
	}
	bo->userptr = addr;
	bo->userptr_size = size;
	bo->registrations = 1;
	if (hsakmt_boset_add(&hsakmt_ctx.mem.userptrs, bo)) {
		bo->userptr = 0;
		hsakmt_fmm_release_locked(bo);
		pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
		return NULL;
	}
	return bo;
}

/* Attaches nodes; on success the object owns @ids. Under mem.lock. */
static HSAKMT_STATUS set_nodes(struct hsakmt_bo *bo, struct hsakmt_ids *ids)
{
	if (bo->registered.count) {
		/* Registering again is fine, with other nodes it is not. */
		if (ids->count != bo->registered.count ||
		    memcmp(ids->id, bo->registered.id, ids->count * sizeof(*ids->id)))
			return HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED;
		hsakmt_ids_clear(ids);
		return HSAKMT_STATUS_SUCCESS;
	}
	if (ids->count) {
		bo->registered = *ids;
		free(bo->registered_nodes);
		bo->registered_nodes = NULL;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsakmt_fmm_register(uint64_t addr, uint64_t size, struct hsakmt_ids *ids,
				  bool coarse, bool ext_coherent)
{
	HSAKMT_STATUS status;
	struct hsakmt_bo *bo;

	if (coarse && ext_coherent)
		return HSAKMT_STATUS_INVALID_PARAMETER;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_bo_find(addr, size);
	if (bo && !bo->userptr) {
		pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
		return HSAKMT_STATUS_INVALID_HANDLE;
	}
	if (bo) {
		bo->registrations++;
	} else {
		pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
		if (!hsakmt_ctx.is_dgpu)
			return HSAKMT_STATUS_SUCCESS;
		if (hsakmt_ctx.svm_api &&
		    register_svm(addr, size, coarse, ext_coherent) == HSAKMT_STATUS_SUCCESS) {
			hsakmt_ids_clear(ids);
			return HSAKMT_STATUS_SUCCESS;
		}
		bo = register_user(addr, size, coarse, ext_coherent);
		if (!bo)
			return HSAKMT_STATUS_ERROR;
	}
	status = set_nodes(bo, ids);
	if (status != HSAKMT_STATUS_SUCCESS)	/* counted above, not taken */
		bo->registrations--;
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

HSAKMT_STATUS hsakmt_fmm_deregister(uint64_t addr)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct hsakmt_bo *bo;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_bo_find(addr, 0);
	if (!bo) {
		if (hsakmt_ctx.is_dgpu && !hsakmt_ctx.svm_api)
			status = HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
	} else if (bo->kind == HSAKMT_BO_CPU) {
		/* nothing was registered */
	} else if (bo->userptr || bo->metadata || bo->imported) {
		/* For these the registration is the buffer. */
		hsakmt_fmm_release_locked(bo);
	} else if (!bo->registered.count) {
		status = HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
	} else {
		hsakmt_ids_clear(&bo->registered);
		free(bo->registered_nodes);
		bo->registered_nodes = NULL;
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}
