// SPDX-License-Identifier: MIT
/*
 * Memory of the library itself: queue pages, end-of-pipe buffers, save areas,
 * the events page. Executable as far as the GPU is concerned, like all memory.
 */
#include "hsakmt_int.h"

static uint64_t alloc(uint64_t size, const struct hsakmt_mem_req *req)
{
	HsaMemFlags flags = { .ui32 = {
		.NonPaged = req->nonpaged,
		.HostAccess = !req->device,
		.ExecuteAccess = 1,
		.CoarseGrain = req->device,
		.Uncached = req->uncached,
	} };
	uint32_t cpu = 0;

	if (req->device && !hsakmt_ctx.zfb)
		return hsakmt_fmm_alloc_device(req->gpu_id, 0, size, 0, flags);
	/* Pageable memory comes from the CPU node the GPU hangs on. */
	if (!req->nonpaged) {
		cpu = hsakmt_node_nearest_cpu(req->node_id);
		if (cpu == INVALID_NODEID) {
			flags.ui32.NoNUMABind = 1;
			cpu = 0;
		}
	}
	return hsakmt_fmm_alloc_host(req->gpu_id, cpu, 0, size, 0, flags, true);
}

/* @size is rounded up to pages. Zeroed as far as it is system memory. */
void *hsakmt_internal_alloc(uint64_t size, const struct hsakmt_mem_req *req)
{
	struct hsakmt_ids one = { 0 };
	uint32_t gpu_id;
	HSAKMT_STATUS status;
	uint64_t va;

	size = ALIGN_UP(size, hsakmt_ctx.page_size);
	va = alloc(size, req);
	if (!va)
		return NULL;
	if (req->node_id) {
		status = hsakmt_node_gpu_id(req->node_id, &gpu_id);
		one.id = &gpu_id;
		one.count = 1;
		if (status == HSAKMT_STATUS_SUCCESS)
			status = hsakmt_fmm_map_nodes(va, size, &one, NULL);
	} else {
		status = hsakmt_fmm_map(va, size, NULL);
	}
	if (status != HSAKMT_STATUS_SUCCESS) {
		/* Some GPUs may have it already. */
		hsakmt_fmm_unmap(va);
		hsakmt_fmm_release(va);
		return NULL;
	}
	return hsakmt_ptr(va);
}

bool hsakmt_internal_free(void *addr)
{
	uint64_t va = hsakmt_addr(addr);

	if (hsakmt_fmm_unmap(va) != HSAKMT_STATUS_SUCCESS)
		return false;
	if (hsakmt_fmm_release(va) == HSAKMT_STATUS_SUCCESS)
		return true;
	hsakmt_fmm_map(va, 0, NULL);
	return false;
}
