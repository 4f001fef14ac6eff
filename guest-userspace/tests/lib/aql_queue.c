// SPDX-License-Identifier: MIT
#include <sched.h>
#include <string.h>

#include "aql_queue.h"
#include "tap.h"

#define ROOM_MS	60000u

HSAKMT_STATUS aql_queue_create(struct aql_queue *q, const struct gpu *g, uint32_t size)
{
	HSAKMT_STATUS s;
	uint32_t i;

	memset(q, 0, sizeof(*q));
	q->size = size;
	q->ring = mem_alloc(g, MEM_SYSTEM, size * AQL_PACKET_SIZE);
	q->desc = mem_alloc(g, MEM_SYSTEM, GPU_PAGE);
	if (!q->ring || !q->desc)
		return HSAKMT_STATUS_NO_MEMORY;
	for (i = 0; i < size; i++)
		q->ring[i].head = AQL_PACKET_INVALID;
	/* Behind the descriptor, in the same page. */
	q->error = (struct aql_signal *)(q->desc + 1);
	aql_signal_init(q->error, 0, NULL, 0);
	q->desc->read_id_offset = offsetof(struct aql_descriptor, read_id);
	q->desc->inactive_signal = aql_handle(q->error);

	q->res.QueueRptrValue = gpu_va(&q->desc->read_id);
	q->res.QueueWptrValue = gpu_va(&q->desc->write_id);
	s = hsaKmtCreateQueue(g->node, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL,
			      q->ring, size * AQL_PACKET_SIZE, NULL, &q->res);
	if (s != HSAKMT_STATUS_SUCCESS) {
		mem_free(q->ring, size * AQL_PACKET_SIZE);
		mem_free(q->desc, GPU_PAGE);
		q->ring = NULL;
	}
	return s;
}

HSAKMT_STATUS aql_queue_destroy(struct aql_queue *q)
{
	HSAKMT_STATUS s;

	if (!q->ring)
		return HSAKMT_STATUS_SUCCESS;
	s = hsaKmtDestroyQueue(q->res.QueueId);
	if (s != HSAKMT_STATUS_SUCCESS)
		return s;
	mem_free(q->desc, GPU_PAGE);
	s = mem_free(q->ring, q->size * AQL_PACKET_SIZE);
	q->ring = NULL;
	return s;
}

static uint64_t read_id(const struct aql_queue *q)
{
	return __atomic_load_n(&q->desc->read_id, __ATOMIC_ACQUIRE);
}

struct aql_packet *aql_queue_reserve(struct aql_queue *q)
{
	uint64_t id = __atomic_fetch_add(&q->desc->write_id, 1, __ATOMIC_ACQ_REL);
	uint64_t end = now_ns() + ROOM_MS * 1000000ull;

	while (id - read_id(q) >= q->size) {
		if (now_ns() > end)
			tap_bail("an AQL ring does not drain");
		sched_yield();
	}
	return &q->ring[id & (q->size - 1)];
}

void aql_queue_submit(struct aql_queue *q)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)q->res.Queue_DoorBell_aql = q->desc->write_id - 1;
}

bool aql_queue_wait_idle(const struct aql_queue *q, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (read_id(q) != q->desc->write_id) {
		if (now_ns() > end)
			return read_id(q) == q->desc->write_id;
		sched_yield();
	}
	return true;
}
