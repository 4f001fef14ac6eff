/* SPDX-License-Identifier: MIT */
/*
 * What bench_memory is made of.
 */
#ifndef VKFD_MEMORY_BENCH_H
#define VKFD_MEMORY_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "rows.h"

#define TLB_WRITES	1024u	/* packets of one submission */
#define EVICT_MOVES	32u	/* pages that leave VRAM in a sample */

/**
 * struct bench
 * @kfd: of our own: the ioctls without the thunk; the process is the same
 * @gpu_id: what ioctls want
 * @q, @event: a queue, and an event of it
 * @word: the GPU writes numbers of batches here
 * @batch: number of the last one
 * @va: address space of a row
 * @size: bytes of it
 * @mem: user memory of a row
 * @handle: of the memory a row maps
 */
struct bench {
	struct gpu gpu;
	int kfd;
	uint32_t gpu_id;
	struct queue q;
	HsaEvent *event;
	volatile uint64_t *word;
	uint64_t batch;
	uint8_t *va;
	size_t size;
	uint8_t *mem;
	uint64_t handle;
};

/* memory_rows.c: @n KiB. A map and an unmap of memory of the GPU; the two alone. */
bool map_begin(struct bench *b, const struct row *r);
bool map_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool unmap_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool map_end(struct bench *b, const struct row *r);
/* User memory: all that a registration is (allocate by address, map), and what ends it. */
bool register_begin(struct bench *b, const struct row *r);
bool register_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool unregister_one(struct bench *b, const struct row *r, struct stopwatch *w);
/* The two calls of either, of the private memory @mem at GPU address @va. */
bool register_mem(struct bench *b);
bool unregister_mem(struct bench *b);
/* What it is compared with: the kernel faulting in the same memory. */
bool populate_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool register_end(struct bench *b, const struct row *r);

/* move_rows.c: a packet, until its word is there; the same behind an invalidation of @n KiB */
bool move_begin(struct bench *b, const struct row *r);
bool packet_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool restore_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool move_end(struct bench *b, const struct row *r);
/* @n writes of one page, and of pages that take each other's place in the TLB */
bool tlb_begin(struct bench *b, const struct row *r);
bool tlb_hit(struct bench *b, const struct row *r, struct stopwatch *w);
bool tlb_miss(struct bench *b, const struct row *r, struct stopwatch *w);
bool tlb_end(struct bench *b, const struct row *r);

/* evict_rows.c: EVICT_MOVES pages leave VRAM for others, with @n that stay */
bool evict_begin(struct bench *b, const struct row *r);
bool evict_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool evict_end(struct bench *b, const struct row *r);

/* fault_rows.c. Before the thunk is opened: makes the process that forks others. */
bool fault_server(void);
/* From the doorbell of a packet that faults until the MEMORY event wakes */
bool fault_one(struct bench *b, const struct row *r, struct stopwatch *w);
/* The same of a process that is told of a completion. */
bool signal_one(struct bench *b, const struct row *r, struct stopwatch *w);

#endif /* VKFD_MEMORY_BENCH_H */
