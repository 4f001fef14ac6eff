// SPDX-License-Identifier: MIT
/*
 * Packets a second, by language: what a packet costs that does next to nothing, one that
 * writes memory, and one that completes something. The ring is filled before the clock
 * runs; then one doorbell, and the last packet is polled for. A write is of 4 bytes,
 * what completes is of 8.
 */
#include "queue_bench.h"

/* Of PACKETS of the largest kind, and the one that is polled for. */
#define RING_BYTES	(64u * 1024)

static uint64_t end_word(const struct bench *b)
{
	return gpu_va(&b->word[0]);
}

static bool pm4_run(struct bench *b, uint32_t *p, struct stopwatch *w)
{
	bool ok;

	queue_commit(&b->pm4, p);
	stopwatch_start(w);
	queue_submit(&b->pm4);
	ok = poll_word(&b->word[0], b->batch);
	stopwatch_stop(w);
	return ok;
}

bool pm4_begin(struct bench *b, const struct row *r)
{
	(void)r;
	/* A queue of this row needs a doorbell, and nobody beside it. */
	return pool_resize(&b->pool, 0) &&
	       queue_create(&b->pm4, &b->gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS;
}

/* Room for all. What fills up the end of the ring is done before the clock runs. */
static uint32_t *pm4_room(struct bench *b, const struct row *r, uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(&b->pm4, (r->n - 1) * dw + PM4_RELEASE_MEM_DW,
					 BENCH_WAIT_MS);

	queue_submit(&b->pm4);
	b->batch++;
	return queue_wait_idle(&b->pm4, BENCH_WAIT_MS) ? p : NULL;
}

static uint32_t *pm4_last(struct bench *b, uint32_t *p)
{
	return pm4_release_mem(p, end_word(b), RELEASE_MEM_DATA_64, b->batch, RELEASE_MEM_INT_NONE,
			       0);
}

bool pm4_nops(struct bench *b, const struct row *r, struct stopwatch *w)
{
	uint32_t *p = pm4_room(b, r, PM4_NOP1_DW);
	unsigned int i;

	if (!p)
		return false;
	for (i = 0; i + 1 < r->n; i++)
		p = pm4_nop1(p);
	return pm4_run(b, pm4_last(b, p), w);
}

bool pm4_writes(struct bench *b, const struct row *r, struct stopwatch *w)
{
	uint32_t *p = pm4_room(b, r, PM4_WRITE32_DW);
	unsigned int i;

	if (!p)
		return false;
	for (i = 0; i + 1 < r->n; i++)
		p = pm4_write32(p, gpu_va(&b->word[1 + i % 256]), i);
	return pm4_run(b, pm4_last(b, p), w);
}

bool pm4_releases(struct bench *b, const struct row *r, struct stopwatch *w)
{
	uint32_t *p = pm4_room(b, r, PM4_RELEASE_MEM_DW);
	unsigned int i;

	if (!p)
		return false;
	for (i = 0; i + 1 < r->n; i++)
		p = pm4_release_mem(p, gpu_va(&b->word[1 + i % 256]), RELEASE_MEM_DATA_64, i,
				    RELEASE_MEM_INT_NONE, 0);
	return pm4_run(b, pm4_last(b, p), w);
}

bool pm4_end(struct bench *b, const struct row *r)
{
	(void)r;
	return queue_destroy(&b->pm4) == HSAKMT_STATUS_SUCCESS;
}

bool aql_begin(struct bench *b, const struct row *r)
{
	return pool_resize(&b->pool, 0) &&
	       aql_queue_create(&b->aql, &b->gpu, r->n) == HSAKMT_STATUS_SUCCESS;
}

/* @all: every packet completes the signal, not the last alone. */
static bool aql_run(struct bench *b, const struct row *r, bool all, struct stopwatch *w)
{
	unsigned int i;
	bool ok;

	aql_signal_init(b->signal, all ? r->n : 1, NULL, 0);
	for (i = 0; i < r->n; i++)
		aql_barrier(aql_queue_reserve(&b->aql), AQL_PACKET_BARRIER_AND, NULL, 0,
			    all || i + 1 == r->n ? b->signal : NULL);
	stopwatch_start(w);
	aql_queue_submit(&b->aql);
	ok = poll_word((volatile uint64_t *)&b->signal->value, 0);
	stopwatch_stop(w);
	return ok;
}

bool aql_barriers(struct bench *b, const struct row *r, struct stopwatch *w)
{
	return aql_run(b, r, false, w);
}

bool aql_signals(struct bench *b, const struct row *r, struct stopwatch *w)
{
	return aql_run(b, r, true, w);
}

bool aql_end(struct bench *b, const struct row *r)
{
	(void)r;
	return aql_queue_destroy(&b->aql) == HSAKMT_STATUS_SUCCESS;
}

bool sdma_begin(struct bench *b, const struct row *r)
{
	(void)r;
	return pool_resize(&b->pool, 0) &&
	       sdma_queue_create(&b->sdma, &b->gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS;
}

static uint32_t *sdma_room(struct bench *b, const struct row *r, uint32_t dw)
{
	uint32_t *p = sdma_queue_reserve(&b->sdma, (r->n - 1) * dw + SDMA_PKT_FENCE_DW);

	sdma_queue_submit(&b->sdma);
	b->batch++;
	return sdma_queue_wait_idle(&b->sdma, BENCH_WAIT_MS) ? p : NULL;
}

static bool sdma_run(struct bench *b, uint32_t *p, struct stopwatch *w)
{
	bool ok;

	/* A fence writes 32 bits, and batches are never so many. */
	sdma_queue_commit(&b->sdma, sdma_fence(p, end_word(b), (uint32_t)b->batch));
	stopwatch_start(w);
	sdma_queue_submit(&b->sdma);
	ok = poll_word(&b->word[0], b->batch);
	stopwatch_stop(w);
	return ok;
}

bool sdma_nops(struct bench *b, const struct row *r, struct stopwatch *w)
{
	uint32_t *p = sdma_room(b, r, 1);
	unsigned int i;

	if (!p)
		return false;
	for (i = 0; i + 1 < r->n; i++)
		p = sdma_nop(p, 0);
	return sdma_run(b, p, w);
}

bool sdma_writes(struct bench *b, const struct row *r, struct stopwatch *w)
{
	uint32_t *p = sdma_room(b, r, SDMA_PKT_WRITE_DW + 1);
	unsigned int i;

	if (!p)
		return false;
	for (i = 0; i + 1 < r->n; i++)
		p = sdma_write32(p, gpu_va(&b->word[1 + i % 256]), i);
	return sdma_run(b, p, w);
}

bool sdma_fences(struct bench *b, const struct row *r, struct stopwatch *w)
{
	uint32_t *p = sdma_room(b, r, SDMA_PKT_FENCE_DW);
	unsigned int i;

	if (!p)
		return false;
	for (i = 0; i + 1 < r->n; i++)
		p = sdma_fence(p, gpu_va(&b->word[1 + i % 256]), i);
	return sdma_run(b, p, w);
}

bool sdma_end(struct bench *b, const struct row *r)
{
	(void)r;
	return sdma_queue_destroy(&b->sdma) == HSAKMT_STATUS_SUCCESS;
}
