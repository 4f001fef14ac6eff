/* SPDX-License-Identifier: MIT */
/*
 * The multi-queue demo: N queues, M batches each, three ways to learn that a
 * batch is done.
 *
 * A batch n (1..M) of queue i is three packets:
 *
 *   WRITE_DATA   number -> log[n - 1]     its own word, proof of this batch
 *   WRITE_DATA   number -> fence          the queue's progress
 *   RELEASE_MEM  event id -> signal slot  then, unless polled, an interrupt
 *
 * The number names queue, method and n, so that a word written by somebody else
 * is noticed. Completions are counted from fences and logs only; wake-ups say
 * that there is something to look at and may coalesce.
 */
#ifndef VKFD_MQ_H
#define VKFD_MQ_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"
#include "queue.h"

enum mq_method {
	MQ_INTERRUPT,	/* auto-reset events, hsaKmtWaitOnMultipleEvents() */
	MQ_POLL,	/* no interrupt: the program reads and resets the slots */
	MQ_AGE,		/* hsaKmtWaitOnMultipleEvents_Ext() with event ages */
	MQ_METHODS,
};

const char *mq_method_name(enum mq_method m);

/* What a log word holds before its batch ran and after the program counted it. */
#define MQ_LOG_EMPTY	0ull
#define MQ_LOG_COUNTED	(~0ull)

/* Without any progress for this long the run is stuck. */
#define MQ_STUCK_MS	60000u

/**
 * struct mq_queue - one queue and what is known of its batches
 * @q: the queue and its ring
 * @event: its signal event, of the method that runs
 * @fence: progress word, written by the GPU
 * @log: one word a batch, written by the GPU
 * @base: number of batch 0; batch n writes @base + n
 * @rung: when the doorbell of batch n was rung, by n - 1 (ns)
 * @submitted, @seen: batches published to the GPU, and counted
 */
struct mq_queue {
	struct queue q;
	HsaEvent *event;
	volatile uint64_t *fence;
	volatile uint64_t *log;
	uint64_t base;
	uint64_t *rung;
	uint32_t submitted;
	uint32_t seen;
};

/**
 * struct mq - the whole run
 * @gpu: the GPU
 * @queues, @batches: N and M
 * @queue: the queues
 * @memory: MEMORY event, waited for together with the queues' events
 * @words, @words_size: fences and logs of all queues, one allocation
 */
struct mq {
	struct gpu gpu;
	uint32_t queues;
	uint32_t batches;
	struct mq_queue *queue;
	HsaEvent *memory;
	void *words;
	size_t words_size;
};

/**
 * struct mq_result - of one method
 * @completions: batches counted
 * @lost: batches whose proof is missing
 * @repeated: words written again after they were counted, or progress that went back
 * @bad_waits: waits that timed out although work was complete
 * @wakes: waits that returned, or polling rounds that found a slot written
 * @latency: doorbell to seen, ns, @completions values
 * @cpu_ns: user and system time of the process
 * @wall_ns: elapsed time
 * @error: text of the first thing that went wrong; empty if nothing did
 */
struct mq_result {
	uint64_t completions;
	uint64_t lost;
	uint64_t repeated;
	uint64_t bad_waits;
	uint64_t wakes;
	uint64_t *latency;
	uint64_t cpu_ns;
	uint64_t wall_ns;
	char error[160];
};

/* Queues and memory; false with one line on stderr. mq_teardown() in any case. */
bool mq_setup(struct mq *mq);
void mq_teardown(struct mq *mq);

/* Submits and counts every batch by method @m; true if nothing went wrong. */
bool mq_run(struct mq *mq, enum mq_method m, struct mq_result *r);

/* Records the first error of a run. */
void mq_fail(struct mq_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Waits, as @m says, until some batch may have completed. False when the run
 * cannot go on (@r->error says why). @timed_out: nothing was reported in time.
 */
bool mq_wait(struct mq *mq, enum mq_method m, HsaEvent **events, uint64_t *ages,
	     struct mq_result *r, bool *timed_out);

#endif /* VKFD_MQ_H */
