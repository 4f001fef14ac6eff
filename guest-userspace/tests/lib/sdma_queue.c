// SPDX-License-Identifier: MIT
#include <sched.h>
#include <string.h>

#include "sdma_queue.h"
#include "tap.h"

#define ROOM_MS	60000u

HSAKMT_STATUS sdma_queue_create(struct sdma_queue *q, const struct gpu *g, size_t ring_bytes)
{
	HSAKMT_STATUS s;

	memset(q, 0, sizeof(*q));
	q->ring = mem_alloc(g, MEM_SYSTEM, ring_bytes);
	if (!q->ring)
		return HSAKMT_STATUS_NO_MEMORY;
	q->ring_dw = (uint32_t)(ring_bytes / 4);
	s = hsaKmtCreateQueue(g->node, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_MAXIMUM, q->ring,
			      ring_bytes, NULL, &q->res);
	if (s != HSAKMT_STATUS_SUCCESS) {
		mem_free(q->ring, ring_bytes);
		q->ring = NULL;
	}
	return s;
}

HSAKMT_STATUS sdma_queue_destroy(struct sdma_queue *q)
{
	HSAKMT_STATUS s;

	if (!q->ring)
		return HSAKMT_STATUS_SUCCESS;
	s = hsaKmtDestroyQueue(q->res.QueueId);
	if (s != HSAKMT_STATUS_SUCCESS)
		return s;
	s = mem_free(q->ring, q->ring_dw * 4ul);
	q->ring = NULL;
	return s;
}

uint64_t sdma_queue_rptr(const struct sdma_queue *q)
{
	/* Acquire: what the GPU wrote before it moved on is read after this. */
	return __atomic_load_n(q->res.Queue_read_ptr_aql, __ATOMIC_ACQUIRE);
}

static uint32_t *at_wptr(const struct sdma_queue *q)
{
	return q->ring + ((q->wptr / 4) & (q->ring_dw - 1));
}

uint32_t *sdma_queue_reserve(struct sdma_queue *q, uint32_t dw)
{
	uint32_t pos = (uint32_t)(at_wptr(q) - q->ring);
	uint32_t pad = pos + dw > q->ring_dw ? q->ring_dw - pos : 0;
	uint64_t end = now_ns() + ROOM_MS * 1000000ull;

	while (q->wptr - sdma_queue_rptr(q) + (pad + dw) * 4ull > q->ring_dw * 4ull) {
		if (now_ns() > end)
			tap_bail("an SDMA ring does not drain");
		sched_yield();
	}
	/* A packet does not wrap: the end is filled with NOPs of one dword. */
	memset(at_wptr(q), 0, pad * 4ul);
	q->wptr += pad * 4ul;
	return at_wptr(q);
}

void sdma_queue_commit(struct sdma_queue *q, const uint32_t *end)
{
	q->wptr += (uint64_t)(end - at_wptr(q)) * 4;
}

void sdma_queue_publish_wptr(struct sdma_queue *q)
{
	/* Release: ring data before the write pointer that makes it valid. */
	__atomic_store_n(q->res.Queue_write_ptr_aql, q->wptr, __ATOMIC_RELEASE);
}

void sdma_queue_submit(struct sdma_queue *q)
{
	sdma_queue_publish_wptr(q);
	/* The doorbell page is device memory: a full fence orders it behind the rest. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)q->res.Queue_DoorBell_aql = q->wptr;
}

bool sdma_queue_wait_idle(const struct sdma_queue *q, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (sdma_queue_rptr(q) != q->wptr) {
		if (now_ns() > end)
			return sdma_queue_rptr(q) == q->wptr;
		sched_yield();
	}
	return true;
}
