// SPDX-License-Identifier: MIT
/*
 * What the GPU does: one batch at a time, or a signal for every event of the table in
 * one submission. The event that is waited for is the last of the table.
 */
#include <sched.h>

#include "bench.h"

/* A signal for every event, and a dword that stays free. */
#define RING_BYTES	(256u * 1024)

bool gpu_queue(struct bench *b)
{
	return queue_create(&b->q, &b->gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS;
}

static bool table_resize(struct bench *b, unsigned int n)
{
	while (b->events > n)
		if (hsaKmtDestroyEvent(b->event[--b->events]) != HSAKMT_STATUS_SUCCESS)
			return false;
	while (b->events < n) {
		b->event[b->events] = event_new(&b->gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!b->event[b->events])
			return false;
		b->events++;
	}
	return true;
}

bool gpu_begin(struct bench *b, const struct row *r)
{
	return table_resize(b, r->n);
}

/* An event is born with age 1. */
bool gpu_begin_age(struct bench *b, const struct row *r)
{
	b->age = 1;
	return table_resize(b, 0) && table_resize(b, r->n);
}

/*
 * The slot has to be ours alone. A wait of before may have found its slot written ahead
 * of the interrupt, and if that is handled only now, the kernel resets the slot in our
 * place. What became of a queue's interrupts is settled when it has been destroyed.
 */
bool gpu_begin_poll(struct bench *b, const struct row *r)
{
	return queue_destroy(&b->q) == HSAKMT_STATUS_SUCCESS && gpu_queue(b) &&
	       table_resize(b, r->n);
}

bool gpu_end(struct bench *b, const struct row *r)
{
	(void)r;
	return queue_wait_idle(&b->q, BENCH_WAIT_MS);
}

static HsaEvent *last(const struct bench *b)
{
	return b->event[b->events - 1];
}

/* Fence and signal; the doorbell is rung by the caller. */
static bool prepare(struct bench *b, bool interrupt)
{
	uint32_t *p = queue_reserve_wait(&b->q, PM4_WRITE64_DW + PM4_RELEASE_MEM_DW, BENCH_WAIT_MS);
	HsaEvent *ev = last(b);

	if (!p)
		return false;
	p = pm4_write64(p, gpu_va(b->fence), ++b->batch);
	if (interrupt)
		p = pm4_signal(p, event_slot(ev), ev->EventId);
	else
		p = pm4_release_mem(p, gpu_va(event_slot(ev)), RELEASE_MEM_DATA_64, ev->EventId,
				    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
	queue_commit(&b->q, p);
	return true;
}

/* A wake-up is right when the batch is done. */
static bool done(const struct bench *b, HSAKMT_STATUS s)
{
	return s == HSAKMT_STATUS_SUCCESS && *b->fence == b->batch;
}

bool gpu_interrupt(struct bench *b, const struct row *r, struct stopwatch *w)
{
	HSAKMT_STATUS s;

	(void)r;
	if (!prepare(b, true))
		return false;
	stopwatch_start(w);
	queue_submit(&b->q);
	s = event_wait(last(b), BENCH_WAIT_MS);
	stopwatch_stop(w);
	return done(b, s);
}

bool gpu_age(struct bench *b, const struct row *r, struct stopwatch *w)
{
	HsaEvent *ev = last(b);
	HSAKMT_STATUS s;

	(void)r;
	if (!prepare(b, true))
		return false;
	stopwatch_start(w);
	queue_submit(&b->q);
	s = events_wait(&ev, 1, true, BENCH_WAIT_MS, &b->age);
	stopwatch_stop(w);
	return done(b, s);
}

bool gpu_poll(struct bench *b, const struct row *r, struct stopwatch *w)
{
	volatile uint64_t *slot = event_slot(last(b));
	uint64_t end = now_ns() + BENCH_WAIT_MS * 1000000ull;

	(void)r;
	if (!prepare(b, false))
		return false;
	stopwatch_start(w);
	queue_submit(&b->q);
	while (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == GPU_EVENT_UNSIGNALED) {
		if (now_ns() > end)
			return false;
		sched_yield();
	}
	__atomic_store_n(slot, GPU_EVENT_UNSIGNALED, __ATOMIC_SEQ_CST);
	stopwatch_stop(w);
	return done(b, HSAKMT_STATUS_SUCCESS);
}

bool gpu_any(struct bench *b, const struct row *r, struct stopwatch *w)
{
	HSAKMT_STATUS s;

	if (!prepare(b, true))
		return false;
	stopwatch_start(w);
	queue_submit(&b->q);
	s = events_wait(b->event, r->n, false, BENCH_WAIT_MS, NULL);
	stopwatch_stop(w);
	return done(b, s);
}

bool gpu_burst(struct bench *b, const struct row *r, struct stopwatch *w)
{
	HSAKMT_STATUS s;
	unsigned int i;
	uint32_t *p;

	for (i = 0; i < r->n; i++) {
		p = queue_reserve_wait(&b->q, PM4_RELEASE_MEM_DW, BENCH_WAIT_MS);
		if (!p)
			return false;
		queue_commit(&b->q, pm4_signal(p, event_slot(b->event[i]), b->event[i]->EventId));
	}
	stopwatch_start(w);
	queue_submit(&b->q);
	s = events_wait(b->event, r->n, true, BENCH_WAIT_MS, NULL);
	stopwatch_stop(w);
	return s == HSAKMT_STATUS_SUCCESS;
}
