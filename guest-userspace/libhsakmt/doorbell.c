// SPDX-License-Identifier: MIT
/*
 * Doorbells: one mapping per GPU and process, made with the first queue there
 * and kept until the snapshot is released. All under ctx.doorbell.lock.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "hsakmt_int.h"

/* 1024 doorbells of 8 bytes, as the gfx9 generation has them. */
#define DOORBELL_SLICE 8192u

/*
 * Bytes of a process's slice. A constant of the machine, not of the mapping: it
 * splits the kernel's offset of the very first queue too, when nothing is mapped.
 * With bigger pages a slice fills at least one page.
 */
static uint64_t slice_bytes(void)
{
	return hsakmt_ctx.page_size > DOORBELL_SLICE ? hsakmt_ctx.page_size : DOORBELL_SLICE;
}

HSAKMT_STATUS hsakmt_doorbell_init(uint32_t num_nodes)
{
	struct hsakmt_doorbell *node = calloc(num_nodes + 1, sizeof(*node));

	if (!node)
		return HSAKMT_STATUS_NO_MEMORY;
	pthread_mutex_lock(&hsakmt_ctx.doorbell.lock);
	hsakmt_ctx.doorbell.node = node;
	hsakmt_ctx.doorbell.count = num_nodes;
	pthread_mutex_unlock(&hsakmt_ctx.doorbell.lock);
	return HSAKMT_STATUS_SUCCESS;
}

static void drop_all(bool in_child)
{
	pthread_mutex_lock(&hsakmt_ctx.doorbell.lock);
	for (uint32_t i = 0; i < hsakmt_ctx.doorbell.count; i++) {
		struct hsakmt_doorbell *db = &hsakmt_ctx.doorbell.node[i];

		if (!db->page)
			continue;
		if (!db->on_gpu) {
			munmap(db->page, db->size);
		} else if (!in_child) {
			hsakmt_fmm_unmap(hsakmt_addr(db->page));
			hsakmt_fmm_release(hsakmt_addr(db->page));
		}
	}
	free(hsakmt_ctx.doorbell.node);
	hsakmt_ctx.doorbell.node = NULL;
	hsakmt_ctx.doorbell.count = 0;
	pthread_mutex_unlock(&hsakmt_ctx.doorbell.lock);
}

void hsakmt_doorbell_destroy(void)
{
	drop_all(false);
}

void hsakmt_doorbell_forget(void)
{
	drop_all(true);
}

/* Buffer object, mapped on both sides: the GPU can ring doorbells as well. */
static void *map_gpu(uint32_t gpu_id, uint64_t size, uint64_t offset)
{
	uint64_t va = hsakmt_fmm_alloc_doorbell(gpu_id, size, offset);

	if (va && hsakmt_fmm_map(va, size, NULL) != HSAKMT_STATUS_SUCCESS) {
		hsakmt_fmm_release(va);
		va = 0;
	}
	return hsakmt_ptr(va);
}

/*
 * Address of the doorbell at @kfd_offset, as CREATE_QUEUE returned it: the low
 * bits are the place in the slice, the rest is what mmap of /dev/kfd wants.
 */
HSAKMT_STATUS hsakmt_doorbell_map(uint32_t node_id, uint32_t gpu_id, uint64_t kfd_offset,
				  void **doorbell)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_ERROR;
	uint64_t size = slice_bytes();
	uint64_t base = kfd_offset & ~(size - 1);
	struct hsakmt_doorbell *db;

	pthread_mutex_lock(&hsakmt_ctx.doorbell.lock);
	if (node_id >= hsakmt_ctx.doorbell.count)	/* released meanwhile */
		goto out;
	db = &hsakmt_ctx.doorbell.node[node_id];
	if (!db->page) {
		void *page = hsakmt_ctx.is_dgpu ? map_gpu(gpu_id, size, base) : NULL;

		db->on_gpu = page;
		if (!page) {	/* kernels without doorbells in GPU address space */
			page = hsakmt_sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
					       hsakmt_ctx.kfd_fd, (off_t)base);
			if (page == MAP_FAILED)
				goto out;
		}
		db->page = page;
		db->size = size;
	}
	*doorbell = (char *)db->page + (kfd_offset - base);
	status = HSAKMT_STATUS_SUCCESS;
out:
	pthread_mutex_unlock(&hsakmt_ctx.doorbell.lock);
	return status;
}
