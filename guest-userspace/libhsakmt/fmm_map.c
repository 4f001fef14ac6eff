// SPDX-License-Identifier: MIT
/* Mapping to and unmapping from GPUs. The ioctls are issued under mem.lock. */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

/* Where an object goes when nobody says: registered nodes, peers, all. */
static const struct hsakmt_ids *default_ids(const struct hsakmt_bo *bo)
{
	struct hsakmt_gpu *gpu;

	if (bo->registered.count)
		return &bo->registered;
	gpu = hsakmt_gpu_by_node(bo->node_id);
	if (!bo->userptr && gpu && gpu->device_id)
		return &gpu->peers;
	return &hsakmt_ctx.mem.all_gpus;
}

static void mapping_changed(struct hsakmt_bo *bo)
{
	free(bo->mapped_nodes);
	bo->mapped_nodes = NULL;
}

HSAKMT_STATUS hsakmt_bo_map_locked(struct hsakmt_bo *bo, const struct hsakmt_ids *ids)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = { .handle = bo->handle };
	uint32_t *grown;
	int ret;

	/* The nodes of a user pointer cannot change while it is mapped. */
	if (bo->userptr && bo->mappings) {
		bo->mappings++;
		return HSAKMT_STATUS_SUCCESS;
	}
	if (!ids)
		ids = default_ids(bo);

	/* Room first: a mapping that cannot be recorded could not be undone. */
	grown = realloc(bo->mapped.id, (bo->mapped.count + ids->count + 1) * sizeof(*grown));
	if (!grown)
		return HSAKMT_STATUS_NO_MEMORY;
	bo->mapped.id = grown;

	args.device_ids_array_ptr = hsakmt_addr(ids->id);
	args.n_devices = ids->count;
	ret = hsakmt_ioctl(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args);
	if (args.n_success > ids->count)
		args.n_success = ids->count;
	/* Some may be mapped even so; unmap has to know them. */
	for (uint32_t i = 0; i < args.n_success; i++)
		if (!hsakmt_ids_has(&bo->mapped, ids->id[i]))
			bo->mapped.id[bo->mapped.count++] = ids->id[i];
	mapping_changed(bo);
	if (ret) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: mapping 0x%llx of %llu bytes failed\n",
			   (unsigned long long)bo->va, (unsigned long long)bo->size);
		return HSAKMT_STATUS_ERROR;
	}
	bo->mappings = 1;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsakmt_bo_unmap_locked(struct hsakmt_bo *bo, const struct hsakmt_ids *ids)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args args = { .handle = bo->handle };
	int ret;

	if (bo->userptr && bo->mappings > 1) {
		bo->mappings--;
		return HSAKMT_STATUS_SUCCESS;
	}
	if (!ids)
		ids = &bo->mapped;
	if (!ids->count)	/* not mapped: success, as the stock library says */
		return HSAKMT_STATUS_SUCCESS;

	args.device_ids_array_ptr = hsakmt_addr(ids->id);
	args.n_devices = ids->count;
	ret = hsakmt_ioctl(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &args);
	if (args.n_success > ids->count)
		args.n_success = ids->count;
	if (ids == &bo->mapped) {
		bo->mapped.count -= args.n_success;
		memmove(bo->mapped.id, bo->mapped.id + args.n_success,
			bo->mapped.count * sizeof(*bo->mapped.id));
	} else {
		for (uint32_t i = 0; i < args.n_success; i++)
			hsakmt_ids_del(&bo->mapped, ids->id[i]);
	}
	bo->mappings = 0;
	mapping_changed(bo);
	return ret ? HSAKMT_STATUS_ERROR : HSAKMT_STATUS_SUCCESS;
}

/* Plain memory of the process, under the SVM interface. */
static HSAKMT_STATUS map_svm(uint64_t addr, uint64_t size, const struct hsakmt_ids *ids,
			     uint64_t *gpu_va)
{
	uint64_t offset = addr & (hsakmt_ctx.page_size - 1);
	struct kfd_ioctl_svm_attribute *attrs;
	HSAKMT_STATUS status;

	if (!ids)
		ids = &hsakmt_ctx.mem.all_gpus;
	attrs = calloc(ids->count + 1, sizeof(*attrs));
	if (!attrs)
		return HSAKMT_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < ids->count; i++) {
		attrs[i].type = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
		attrs[i].value = ids->id[i];
	}
	status = hsakmt_svm_set(addr - offset, ALIGN_UP(offset + size, hsakmt_ctx.page_size),
				attrs, ids->count);
	free(attrs);
	if (status == HSAKMT_STATUS_SUCCESS && gpu_va)
		*gpu_va = addr;
	return status;
}

static HSAKMT_STATUS map_userptr(struct hsakmt_bo *bo, uint64_t *gpu_va)
{
	HSAKMT_STATUS status = hsakmt_bo_map_locked(bo, NULL);

	if (status == HSAKMT_STATUS_SUCCESS && gpu_va)
		*gpu_va = bo->va + (bo->userptr & (hsakmt_ctx.page_size - 1));
	return status;
}

static HSAKMT_STATUS map_any(struct hsakmt_bo *bo, uint64_t addr, uint64_t size, uint64_t *gpu_va)
{
	if (!bo) {
		if (hsakmt_ctx.svm_api && hsakmt_ctx.mem.num_gpus)
			return map_svm(addr, size, NULL, gpu_va);
		/* Without a discrete GPU all memory is reachable as it is. */
		return hsakmt_ctx.is_dgpu ? HSAKMT_STATUS_INVALID_PARAMETER : HSAKMT_STATUS_SUCCESS;
	}
	if (bo->kind == HSAKMT_BO_CPU)
		return HSAKMT_STATUS_SUCCESS;
	/* An address without memory, or memory without an address. */
	if (!bo->handle || bo->kind == HSAKMT_BO_HANDLE)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return bo->userptr ? map_userptr(bo, gpu_va) : hsakmt_bo_map_locked(bo, NULL);
}

HSAKMT_STATUS hsakmt_fmm_map(uint64_t addr, uint64_t size, uint64_t *gpu_va)
{
	HSAKMT_STATUS status;
	struct hsakmt_gpu *gpu;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_scratch_owner_locked(addr);
	if (gpu)
		status = hsakmt_scratch_map_locked(gpu, addr, size);
	else
		status = map_any(hsakmt_bo_find(addr, size), addr, size, gpu_va);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

/* Leaves the object mapped to exactly @ids. */
static HSAKMT_STATUS remap(struct hsakmt_bo *bo, const struct hsakmt_ids *ids)
{
	const struct hsakmt_ids *allowed = bo->registered.count ?
		&bo->registered : &hsakmt_ctx.mem.all_gpus;
	struct hsakmt_ids drop = { 0 }, add = { 0 };
	HSAKMT_STATUS status = HSAKMT_STATUS_ERROR;

	for (uint32_t i = 0; i < ids->count; i++)
		if (!hsakmt_ids_has(allowed, ids->id[i]))
			return HSAKMT_STATUS_ERROR;

	for (uint32_t i = 0; i < bo->mapped.count; i++)
		if (!hsakmt_ids_has(ids, bo->mapped.id[i]) &&
		    hsakmt_ids_add(&drop, bo->mapped.id[i]))
			goto out;
	for (uint32_t i = 0; i < ids->count; i++)
		if (!hsakmt_ids_has(&bo->mapped, ids->id[i]) && hsakmt_ids_add(&add, ids->id[i]))
			goto out;
	if (drop.count && hsakmt_bo_unmap_locked(bo, &drop) != HSAKMT_STATUS_SUCCESS)
		goto out;
	if (add.count && hsakmt_bo_map_locked(bo, &add) != HSAKMT_STATUS_SUCCESS)
		goto out;
	status = HSAKMT_STATUS_SUCCESS;
out:
	hsakmt_ids_clear(&drop);
	hsakmt_ids_clear(&add);
	return status;
}

HSAKMT_STATUS hsakmt_fmm_map_nodes(uint64_t addr, uint64_t size, const struct hsakmt_ids *ids,
				   uint64_t *gpu_va)
{
	HSAKMT_STATUS status;
	struct hsakmt_bo *bo;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_bo_find(addr, size);
	if (!bo)
		status = hsakmt_ctx.svm_api && hsakmt_ctx.mem.num_gpus ?
			map_svm(addr, size, ids, gpu_va) : HSAKMT_STATUS_ERROR;
	else if (bo->kind == HSAKMT_BO_CPU)
		status = HSAKMT_STATUS_ERROR;
	else if (!bo->handle || bo->kind == HSAKMT_BO_HANDLE)
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	else if (bo->userptr)
		status = map_userptr(bo, gpu_va);
	else
		status = remap(bo, ids);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}

HSAKMT_STATUS hsakmt_fmm_unmap(uint64_t addr)
{
	HSAKMT_STATUS status;
	struct hsakmt_gpu *gpu;
	struct hsakmt_bo *bo;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_scratch_owner_locked(addr);
	if (gpu) {
		status = hsakmt_scratch_unmap_locked(gpu, addr);
	} else {
		bo = hsakmt_bo_find(addr, 0);
		if (!bo)
			status = !hsakmt_ctx.is_dgpu || hsakmt_ctx.svm_api ?
				HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
		else if (bo->kind == HSAKMT_BO_CPU)
			status = HSAKMT_STATUS_SUCCESS;
		else
			status = hsakmt_bo_unmap_locked(bo, NULL);
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return status;
}
