// SPDX-License-Identifier: MIT
#include <sched.h>
#include <string.h>

#include "queue.h"

HSAKMT_STATUS queue_create(struct queue *q, const struct gpu *g, size_t ring_bytes)
{
	HSAKMT_STATUS s;

	memset(q, 0, sizeof(*q));
	q->ring = mem_alloc(g, MEM_SYSTEM, ring_bytes);
	if (!q->ring)
		return HSAKMT_STATUS_NO_MEMORY;
	q->ring_dw = (uint32_t)(ring_bytes / 4);
	s = hsaKmtCreateQueue(g->node, HSA_QUEUE_COMPUTE, 100, HSA_QUEUE_PRIORITY_NORMAL, q->ring,
			      ring_bytes, NULL, &q->res);
	if (s != HSAKMT_STATUS_SUCCESS) {
		mem_free(q->ring, ring_bytes);
		q->ring = NULL;
	}
	return s;
}

HSAKMT_STATUS queue_destroy(struct queue *q)
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

uint32_t queue_rptr(const struct queue *q)
{
	/* Acquire: what the GPU wrote before it moved on is read after this. */
	return __atomic_load_n(q->res.Queue_read_ptr, __ATOMIC_ACQUIRE);
}

static uint32_t used_dw(const struct queue *q)
{
	return ((uint32_t)q->wptr - queue_rptr(q)) & (q->ring_dw - 1);
}

uint32_t *queue_reserve(struct queue *q, uint32_t dw)
{
	uint32_t pos = (uint32_t)q->wptr & (q->ring_dw - 1);
	uint32_t pad = pos + dw > q->ring_dw ? q->ring_dw - pos : 0;
	uint32_t *p = q->ring + pos;

	/* A full ring would look like an empty one, so one dword stays free. */
	if (used_dw(q) + pad + dw > q->ring_dw - 1)
		return NULL;
	while (pad--) {
		p = pm4_nop1(p);
		q->wptr++;
	}
	return q->ring + ((uint32_t)q->wptr & (q->ring_dw - 1));
}

uint32_t *queue_reserve_wait(struct queue *q, uint32_t dw, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	uint32_t rptr = queue_rptr(q);
	uint32_t *p;

	while (!(p = queue_reserve(q, dw))) {
		if (queue_rptr(q) != rptr) {
			rptr = queue_rptr(q);
			end = now_ns() + ms * 1000000ull;
		} else if (now_ns() > end) {
			return NULL;
		}
		sched_yield();
	}
	return p;
}

void queue_commit(struct queue *q, const uint32_t *end)
{
	q->wptr += (uint64_t)(end - (q->ring + ((uint32_t)q->wptr & (q->ring_dw - 1))));
}

void queue_publish_wptr(struct queue *q)
{
	/* Release: ring data before the write pointer that makes it valid. */
	__atomic_store_n(q->res.Queue_write_ptr_aql, q->wptr, __ATOMIC_RELEASE);
}

void queue_submit(struct queue *q)
{
	queue_publish_wptr(q);
	/* The doorbell page is device memory: a full fence orders it behind the rest. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)q->res.Queue_DoorBell_aql = q->wptr;
}

bool queue_is_idle(const struct queue *q)
{
	return used_dw(q) == 0;
}

bool queue_wait_idle(const struct queue *q, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (!queue_is_idle(q)) {
		if (now_ns() > end)
			return queue_is_idle(q);
		sched_yield();
	}
	return true;
}

bool wait_word(const volatile uint64_t *word, uint64_t want, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != want) {
		if (now_ns() > end)
			return __atomic_load_n(word, __ATOMIC_ACQUIRE) == want;
		sched_yield();
	}
	return true;
}

bool wait_word32(const volatile uint32_t *word, uint32_t want, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != want) {
		if (now_ns() > end)
			return __atomic_load_n(word, __ATOMIC_ACQUIRE) == want;
		sched_yield();
	}
	return true;
}
