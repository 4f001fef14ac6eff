// SPDX-License-Identifier: MIT
/* What the library knows about an address. */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

/* Node numbers of @ids; kept with the object until its nodes change. */
static uint32_t *nodes_of(const struct hsakmt_ids *ids, uint32_t **cache)
{
	if (!ids->count || *cache)
		return *cache;
	*cache = calloc(ids->count, sizeof(**cache));
	for (uint32_t i = 0; *cache && i < ids->count; i++)
		hsakmt_gpu_node_id(ids->id[i], &(*cache)[i]);
	return *cache;
}

HSA_POINTER_TYPE hsakmt_bo_type(const struct hsakmt_bo *bo)
{
	if (bo->imported)
		return HSA_POINTER_REGISTERED_SHARED;
	if (bo->metadata)
		return HSA_POINTER_REGISTERED_GRAPHICS;
	if (bo->userptr)
		return HSA_POINTER_REGISTERED_USER;
	return bo->handle || bo->kind == HSAKMT_BO_CPU ? HSA_POINTER_ALLOCATED :
							 HSA_POINTER_RESERVED_ADDR;
}

HSAKMT_STATUS hsakmt_fmm_info(uint64_t addr, HsaPointerInfo *info)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct hsakmt_bo *bo;

	memset(info, 0, sizeof(*info));
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_bo_find_containing(addr);
	if (!bo) {
		info->Type = HSA_POINTER_UNKNOWN;
		status = HSAKMT_STATUS_ERROR;
		goto out;
	}
	info->Type = hsakmt_bo_type(bo);
	info->Node = bo->node_id;
	info->MemFlags = bo->flags;
	info->GPUAddress = bo->va;
	info->SizeInBytes = bo->size;
	info->RegisteredNodes = nodes_of(&bo->registered, &bo->registered_nodes);
	info->NRegisteredNodes = info->RegisteredNodes ? bo->registered.count : 0;
	info->MappedNodes = nodes_of(&bo->mapped, &bo->mapped_nodes);
	info->NMappedNodes = info->MappedNodes ? bo->mapped.count : 0;
	info->UserData = bo->user_data;
	if (info->Type == HSA_POINTER_REGISTERED_USER) {
		info->CPUAddress = hsakmt_ptr(bo->userptr);
		info->SizeInBytes = bo->userptr_size;
		info->GPUAddress += bo->userptr & (hsakmt_ctx.page_size - 1);
	} else if (info->Type == HSA_POINTER_ALLOCATED) {
		info->CPUAddress = hsakmt_ptr(bo->va);
	}
out:
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

/*
 * hsaKmtQueryPointerInfo - describe the buffer that contains @Pointer
 *
 * The node arrays belong to the buffer: they are valid until it is mapped,
 * registered or released again.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *Pointer, HsaPointerInfo *PointerInfo)
{
	HSAKMT_CHECK_OPEN();
	if (!PointerInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return hsakmt_fmm_info(hsakmt_addr(Pointer), PointerInfo);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *Pointer, void *UserData)
{
	struct hsakmt_bo *bo;

	HSAKMT_CHECK_OPEN();
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_bo_find(hsakmt_addr(Pointer), 0);
	if (bo)
		bo->user_data = UserData;
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return bo ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}
