/* SPDX-License-Identifier: MIT */
/*
 * What bench_queue and queue_states are made of.
 */
#ifndef VKFD_QUEUE_BENCH_H
#define VKFD_QUEUE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "aql_queue.h"
#include "gpu.h"
#include "queue.h"
#include "rows.h"
#include "sdma_queue.h"

#define POOL_MAX	736u	/* compute queues a process may have */
#define PACKETS		1024u	/* of one submission */
#define COPY_BYTES	(4u << 20)

/**
 * struct pool - compute queues made without the thunk
 *
 * Its save areas for so many would take more memory than there is, and these queues run
 * no shader that would have to be saved.
 *
 * @kfd: of our own; the queues belong to the process, not to a descriptor
 * @gpu_id: what CREATE_QUEUE wants
 * @pointers, @rings: of all queues, mapped to the GPU
 * @doorbell: the process's slice
 * @q: what queue.h works on; @id: for DESTROY_QUEUE
 */
struct pool {
	int kfd;
	uint32_t gpu_id;
	uint64_t *pointers;
	uint32_t *rings;
	volatile uint64_t *doorbell;
	unsigned int n;
	struct queue q[POOL_MAX];
	uint32_t id[POOL_MAX];
};

/* False: what is wrong has been told. */
bool pool_open(struct pool *p, const struct gpu *g);
/* Creates queues, or destroys the last ones, until there are @n. */
bool pool_resize(struct pool *p, unsigned int n);

/**
 * struct bench
 * @event: one for each queue
 * @word: the GPU writes numbers of batches here, one word for each queue
 * @batch: number of the last one
 * @gate, @due: what a queue waits for, and the batch it writes then
 * @turn: whose turn it is in the pool
 * @last: when the last sample of one after another ended
 * @pm4, @aql, @sdma: the queue of a row that measures packets or copies
 * @signal: what AQL packets complete
 * @from, @to: of a copy
 */
struct bench {
	struct gpu gpu;
	struct pool pool;
	HsaEvent *event[POOL_MAX];
	volatile uint64_t *word;
	uint64_t batch;
	volatile uint64_t *gate;
	uint64_t due[POOL_MAX];
	unsigned int turn;
	uint64_t last;
	struct queue pm4;
	struct aql_queue aql;
	struct sdma_queue sdma;
	struct aql_signal *signal;
	uint8_t *from, *to;
};

/* queue_rows.c: doorbell until the program knows, with @n queues on the run list */
bool many_begin(struct bench *b, const struct row *r);
/* One queue after another: */
bool one_interrupt(struct bench *b, const struct row *r, struct stopwatch *w);
bool one_poll(struct bench *b, const struct row *r, struct stopwatch *w);
/* All of them: */
bool all_interrupt(struct bench *b, const struct row *r, struct stopwatch *w);
bool all_poll(struct bench *b, const struct row *r, struct stopwatch *w);
bool many_end(struct bench *b, const struct row *r);

/* wait_rows.c: @n queues in a wait; from a store of the CPU until the queue has gone on */
bool waits_begin(struct bench *b, const struct row *r);
bool released_soon(struct bench *b, const struct row *r, struct stopwatch *w);
bool released_late(struct bench *b, const struct row *r, struct stopwatch *w);
bool waits_end(struct bench *b, const struct row *r);

/* packet_rows.c: @n packets in one submission to one queue, until the last is done */
bool pm4_begin(struct bench *b, const struct row *r);
bool pm4_nops(struct bench *b, const struct row *r, struct stopwatch *w);
bool pm4_writes(struct bench *b, const struct row *r, struct stopwatch *w);
bool pm4_releases(struct bench *b, const struct row *r, struct stopwatch *w);
bool pm4_end(struct bench *b, const struct row *r);
bool aql_begin(struct bench *b, const struct row *r);
bool aql_barriers(struct bench *b, const struct row *r, struct stopwatch *w);
bool aql_signals(struct bench *b, const struct row *r, struct stopwatch *w);
bool aql_end(struct bench *b, const struct row *r);
bool sdma_begin(struct bench *b, const struct row *r);
bool sdma_nops(struct bench *b, const struct row *r, struct stopwatch *w);
bool sdma_writes(struct bench *b, const struct row *r, struct stopwatch *w);
bool sdma_fences(struct bench *b, const struct row *r, struct stopwatch *w);
bool sdma_end(struct bench *b, const struct row *r);

/* copy_rows.c: pieces of @n KiB, by the GPU and by the CPU; each block checks the copy */
bool copy_begin(struct bench *b, const struct row *r);
bool copy_begin_to_vram(struct bench *b, const struct row *r);
bool copy_begin_from_vram(struct bench *b, const struct row *r);
bool copy_sdma(struct bench *b, const struct row *r, struct stopwatch *w);
bool copy_memcpy(struct bench *b, const struct row *r, struct stopwatch *w);
bool copy_loop(struct bench *b, const struct row *r, struct stopwatch *w);
bool copy_end(struct bench *b, const struct row *r);

/* Waits until *@word is @value, with as little between two looks as polling allows. */
bool poll_word(const volatile uint64_t *word, uint64_t value);

#endif /* VKFD_QUEUE_BENCH_H */
