// SPDX-License-Identifier: MIT
/*
 * Latency with so many queues, and what they do together. All queues of the pool are on
 * the run list and idle, but those that were rung.
 *
 * One after another: the queue that is rung is always the one that was rung longest ago.
 * With more queues than slots that is the worst case: none that is rung has a slot. A
 * doorbell comes at least GAP_NS after the end of the sample before: how deep the host's
 * main loop sleeps by then is a large part of the latency, and to fill another ring each
 * time takes longer than to fill the same one.
 */
#include "queue_bench.h"

#define GAP_NS	50000u

bool many_begin(struct bench *b, const struct row *r)
{
	b->turn %= r->n;
	return pool_resize(&b->pool, r->n);
}

bool many_end(struct bench *b, const struct row *r)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		if (!queue_wait_idle(&b->pool.q[i], BENCH_WAIT_MS))
			return false;
	return true;
}

/* The number of the batch into the queue's word, then an event, or no interrupt at all. */
static bool prepare(struct bench *b, unsigned int i, bool interrupt)
{
	struct queue *q = &b->pool.q[i];
	uint32_t *p = queue_reserve_wait(q, PM4_WRITE64_DW + PM4_RELEASE_MEM_DW, BENCH_WAIT_MS);
	uint64_t word = gpu_va(&b->word[i]);

	if (!p)
		return false;
	if (interrupt) {
		p = pm4_write64(p, word, b->batch);
		p = pm4_signal(p, event_slot(b->event[i]), b->event[i]->EventId);
	} else {
		/* The same work; what is polled is written by the last packet. */
		p = pm4_write64(p, gpu_va(&b->word[POOL_MAX]), b->batch);
		p = pm4_release_mem(p, word, RELEASE_MEM_DATA_64, b->batch,
				    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
	}
	queue_commit(q, p);
	return true;
}

static unsigned int next_turn(struct bench *b, const struct row *r)
{
	unsigned int i = b->turn;

	b->turn = (i + 1) % r->n;
	b->batch++;
	return i;
}

static void gap(const struct bench *b)
{
	while (now_ns() - b->last < GAP_NS)
		;
}

bool one_interrupt(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int i = next_turn(b, r);
	HSAKMT_STATUS s;

	if (!prepare(b, i, true))
		return false;
	gap(b);
	stopwatch_start(w);
	queue_submit(&b->pool.q[i]);
	s = event_wait(b->event[i], BENCH_WAIT_MS);
	stopwatch_stop(w);
	b->last = now_ns();
	return s == HSAKMT_STATUS_SUCCESS && b->word[i] == b->batch;
}

bool one_poll(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int i = next_turn(b, r);
	bool ok;

	if (!prepare(b, i, false))
		return false;
	gap(b);
	stopwatch_start(w);
	queue_submit(&b->pool.q[i]);
	ok = poll_word(&b->word[i], b->batch);
	stopwatch_stop(w);
	b->last = now_ns();
	return ok;
}

static bool prepare_all(struct bench *b, const struct row *r, bool interrupt)
{
	unsigned int i;

	b->batch++;
	for (i = 0; i < r->n; i++)
		if (!prepare(b, i, interrupt))
			return false;
	return true;
}

bool all_interrupt(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int i, done = 0;
	HSAKMT_STATUS s;

	if (!prepare_all(b, r, true))
		return false;
	stopwatch_start(w);
	for (i = 0; i < r->n; i++)
		queue_submit(&b->pool.q[i]);
	s = events_wait(b->event, r->n, true, BENCH_WAIT_MS, NULL);
	stopwatch_stop(w);
	for (i = 0; i < r->n; i++)
		done += b->word[i] == b->batch;
	return s == HSAKMT_STATUS_SUCCESS && done == r->n;
}

bool all_poll(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int i;
	bool ok = true;

	if (!prepare_all(b, r, false))
		return false;
	stopwatch_start(w);
	for (i = 0; i < r->n; i++)
		queue_submit(&b->pool.q[i]);
	for (i = 0; i < r->n && ok; i++)
		ok = poll_word(&b->word[i], b->batch);
	stopwatch_stop(w);
	return ok;
}
