// SPDX-License-Identifier: MIT
/*
 * Set-up, submission and the count: the part that is the same for every method.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "mq.h"

/* The smallest ring KFD takes: a dozen batches in flight, then it wraps. */
#define RING_BYTES	1024u
#define BATCH_DW	(2 * PM4_WRITE64_DW + PM4_RELEASE_MEM_DW)
#define FENCE_STRIDE	64u	/* a cache line each */

void mq_fail(struct mq_result *r, const char *fmt, ...)
{
	va_list ap;

	if (r->error[0])
		return;
	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
}

bool mq_setup(struct mq *mq)
{
	size_t log_bytes = mq->batches * sizeof(uint64_t);
	HSAKMT_STATUS s;
	uint32_t i;

	s = gpu_open(&mq->gpu);
	if (s != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "multi_queue: no GPU: %s\n", status_name(s));
		return false;
	}
	mq->words_size = mq->queues * (FENCE_STRIDE + log_bytes);
	mq->words = mem_alloc(&mq->gpu, MEM_SYSTEM, mq->words_size);
	mq->memory = event_new(&mq->gpu, HSA_EVENTTYPE_MEMORY, true);
	mq->queue = calloc(mq->queues, sizeof(*mq->queue));
	if (!mq->words || !mq->memory || !mq->queue) {
		fprintf(stderr, "multi_queue: no memory for fences and events\n");
		return false;
	}
	for (i = 0; i < mq->queues; i++) {
		struct mq_queue *q = &mq->queue[i];
		char *logs = (char *)mq->words + mq->queues * FENCE_STRIDE;

		q->fence = (uint64_t *)((char *)mq->words + i * FENCE_STRIDE);
		q->log = (uint64_t *)(logs + i * log_bytes);
		q->rung = calloc(mq->batches, sizeof(*q->rung));
		if (!q->rung) {
			fprintf(stderr, "multi_queue: no memory for times\n");
			return false;
		}
		s = queue_create(&q->q, &mq->gpu, RING_BYTES);
		if (s != HSAKMT_STATUS_SUCCESS) {
			fprintf(stderr, "multi_queue: queue %u of %u: %s\n", i + 1, mq->queues,
				status_name(s));
			return false;
		}
	}
	return true;
}

void mq_teardown(struct mq *mq)
{
	uint32_t i;

	for (i = 0; mq->queue && i < mq->queues; i++) {
		struct mq_queue *q = &mq->queue[i];

		/* Queues first: nothing may be written any more when memory goes. */
		queue_destroy(&q->q);
		if (q->event)
			hsaKmtDestroyEvent(q->event);
		free(q->rung);
	}
	free(mq->queue);
	if (mq->memory)
		hsaKmtDestroyEvent(mq->memory);
	if (mq->words)
		mem_free(mq->words, mq->words_size);
	gpu_close();
}

/* Fresh numbers, logs and events for a method. */
static bool prepare(struct mq *mq, enum mq_method m, struct mq_result *r)
{
	uint32_t i, n;

	memset(r, 0, sizeof(*r));
	r->latency = calloc((size_t)mq->queues * mq->batches, sizeof(*r->latency));
	if (!r->latency) {
		mq_fail(r, "no memory for latencies");
		return false;
	}
	for (i = 0; i < mq->queues; i++) {
		struct mq_queue *q = &mq->queue[i];

		if (q->event && hsaKmtDestroyEvent(q->event) != HSAKMT_STATUS_SUCCESS) {
			mq_fail(r, "an event cannot be destroyed");
			return false;
		}
		q->event = event_new(&mq->gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!q->event) {
			mq_fail(r, "no event for queue %u", i);
			return false;
		}
		q->base = (uint64_t)(i + 1) << 48 | (uint64_t)(m + 1) << 40;
		q->submitted = 0;
		q->seen = 0;
		*q->fence = q->base;
		for (n = 0; n < mq->batches; n++)
			q->log[n] = MQ_LOG_EMPTY;
	}
	return true;
}

/* As many batches as the ring takes, each with a doorbell of its own. */
static void submit(struct mq *mq, struct mq_queue *q, enum mq_method m)
{
	while (q->submitted < mq->batches) {
		uint32_t *p = queue_reserve(&q->q, BATCH_DW);
		uint32_t id = q->event->EventId;
		uint32_t n = q->submitted;

		if (!p)
			return;
		p = pm4_write64(p, gpu_va(&q->log[n]), q->base + n + 1);
		p = pm4_write64(p, gpu_va(q->fence), q->base + n + 1);
		if (m == MQ_POLL)
			p = pm4_release_mem(p, gpu_va(event_slot(q->event)), RELEASE_MEM_DATA_64,
					    id, RELEASE_MEM_INT_WRITE_CONFIRM, 0);
		else
			p = pm4_signal(p, event_slot(q->event), id);
		queue_commit(&q->q, p);
		q->rung[n] = now_ns();
		q->submitted++;
		queue_submit(&q->q);
	}
}

/* Counts what the fence says is new; each batch must have left its own number. */
static uint32_t count_new(struct mq_queue *q, uint32_t index, struct mq_result *r)
{
	/* Acquire: the log words were written before the fence. */
	uint64_t fence = __atomic_load_n(q->fence, __ATOMIC_ACQUIRE);
	uint64_t done = fence - q->base;
	uint64_t t = now_ns();
	uint32_t first = q->seen;

	if (done > q->submitted) {
		mq_fail(r, "queue %u: fence 0x%llx was never submitted", index,
			(unsigned long long)fence);
		return 0;
	}
	if (done < q->seen) {
		r->repeated++;
		mq_fail(r, "queue %u: fence went back from %u to %u", index, q->seen,
			(uint32_t)done);
		return 0;
	}
	for (; q->seen < done; q->seen++) {
		uint64_t word = q->log[q->seen];

		if (word != q->base + q->seen + 1) {
			r->lost++;
			mq_fail(r, "queue %u: fence says batch %u is done, its log word is 0x%llx",
				index, q->seen + 1, (unsigned long long)word);
		}
		q->log[q->seen] = MQ_LOG_COUNTED;
		r->latency[r->completions++] = t - q->rung[q->seen];
	}
	return q->seen - first;
}

/* A word that changed after it was counted belongs to a batch that ran twice. */
static void check_logs(struct mq *mq, struct mq_result *r)
{
	uint32_t i, n;

	for (i = 0; i < mq->queues; i++) {
		struct mq_queue *q = &mq->queue[i];

		for (n = 0; n < q->seen; n++) {
			if (q->log[n] == MQ_LOG_COUNTED)
				continue;
			r->repeated++;
			mq_fail(r, "queue %u: batch %u ran again after it was done", i, n + 1);
		}
		if (*q->fence != q->base + q->seen) {
			r->repeated++;
			mq_fail(r, "queue %u: fence moved after the last batch", i);
		}
	}
}

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000u;
}

static uint32_t count_all(struct mq *mq, struct mq_result *r)
{
	uint32_t i, news = 0;

	for (i = 0; i < mq->queues; i++)
		news += count_new(&mq->queue[i], i, r);
	return news;
}

/* The MEMORY event is manual reset, so it still says whether a fault came in. */
static bool faulted(struct mq *mq, struct mq_result *r)
{
	const HsaMemoryAccessFault *f = &mq->memory->EventData.EventData.MemoryAccessFault;

	if (hsaKmtWaitOnEvent(mq->memory, 0) != HSAKMT_STATUS_SUCCESS)
		return false;
	mq_fail(r, "memory fault at 0x%llx", (unsigned long long)f->VirtualAddress);
	return true;
}

bool mq_run(struct mq *mq, enum mq_method m, struct mq_result *r)
{
	uint64_t total = (uint64_t)mq->queues * mq->batches;
	HsaEvent **events = calloc(mq->queues + 1, sizeof(*events));
	uint64_t *ages = calloc(mq->queues + 1, sizeof(*ages));
	uint64_t t0 = now_ns(), c0 = cpu_ns();
	bool timed_out;
	uint32_t i;

	if (!prepare(mq, m, r))
		goto out;
	if (!events || !ages) {
		mq_fail(r, "no memory for the wait list");
		goto out;
	}
	for (i = 0; i < mq->queues; i++) {
		events[i] = mq->queue[i].event;
		ages[i] = 1; /* the age every event is born with */
	}
	events[mq->queues] = mq->memory;

	t0 = now_ns();
	c0 = cpu_ns();
	while (r->completions < total && !r->error[0]) {
		for (i = 0; i < mq->queues; i++)
			submit(mq, &mq->queue[i], m);
		if (!mq_wait(mq, m, events, ages, r, &timed_out))
			break;
		if (!timed_out)
			r->wakes++;
		if (!count_all(mq, r)) {
			if (faulted(mq, r))
				break;
			if (timed_out)
				mq_fail(r, "no batch completed for %u s", MQ_STUCK_MS / 1000);
		} else if (timed_out) {
			r->bad_waits++;
			mq_fail(r, "a wait timed out although work was complete");
		}
	}
	r->cpu_ns = cpu_ns() - c0;
	r->wall_ns = now_ns() - t0;
	if (!r->error[0]) {
		/* Let the last RELEASE_MEM pass before its event goes away. */
		for (i = 0; i < mq->queues; i++)
			if (!queue_wait_idle(&mq->queue[i].q, MQ_STUCK_MS))
				mq_fail(r, "queue %u does not become idle", i);
		check_logs(mq, r);
	}
out:
	free(events);
	free(ages);
	return !r->error[0] && r->completions == total;
}
