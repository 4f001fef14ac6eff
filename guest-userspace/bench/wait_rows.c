// SPDX-License-Identifier: MIT
/*
 * How soon a store of the CPU ends a wait, of which it tells the GPU nothing. Each of the
 * queues waits for a word of its own. Before it is stored to, the CPU says nothing to the
 * GPU for some time, and sleeps: the device looks the less often, the longer that is.
 */
#include <time.h>

#include "queue_bench.h"

#define SOON_MS	5u
#define LATE_MS	150u

/* Queue @i waits for its gate, and then writes the number of the batch. */
static bool arm(struct bench *b, unsigned int i)
{
	struct queue *q = &b->pool.q[i];
	uint32_t *p = queue_reserve_wait(q, PM4_WAIT_MEM_DW + PM4_WRITE64_DW, BENCH_WAIT_MS);

	if (!p)
		return false;
	b->gate[i] = 0;
	b->due[i] = ++b->batch;
	p = pm4_wait_mem(p, gpu_va(&b->gate[i]), WAIT_REG_MEM_EQ, 1, ~0u);
	p = pm4_write64(p, gpu_va(&b->word[i]), b->due[i]);
	queue_commit(q, p);
	queue_submit(q);
	return true;
}

bool waits_begin(struct bench *b, const struct row *r)
{
	unsigned int i;

	if (!many_begin(b, r))
		return false;
	for (i = 0; i < r->n; i++)
		if (!arm(b, i))
			return false;
	return true;
}

static bool released(struct bench *b, const struct row *r, struct stopwatch *w, unsigned int ms)
{
	const struct timespec quiet = { .tv_nsec = (long)ms * 1000000 };
	unsigned int i = b->turn;
	bool ok;

	b->turn = (i + 1) % r->n;
	nanosleep(&quiet, NULL);
	stopwatch_start(w);
	__atomic_store_n(&b->gate[i], 1, __ATOMIC_RELEASE);
	ok = poll_word(&b->word[i], b->due[i]);
	stopwatch_stop(w);
	return ok && arm(b, i);
}

bool released_soon(struct bench *b, const struct row *r, struct stopwatch *w)
{
	return released(b, r, w, SOON_MS);
}

bool released_late(struct bench *b, const struct row *r, struct stopwatch *w)
{
	return released(b, r, w, LATE_MS);
}

bool waits_end(struct bench *b, const struct row *r)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		__atomic_store_n(&b->gate[i], 1, __ATOMIC_RELEASE);
	for (i = 0; i < r->n; i++)
		if (!poll_word(&b->word[i], b->due[i]))
			return false;
	return many_end(b, r);
}
