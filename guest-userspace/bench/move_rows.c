// SPDX-License-Identifier: MIT
/*
 * What it costs a queue that memory moves: the kernel takes registered pages away, and the
 * queue that uses the process's memory is stopped, the pages are looked up again, mapped,
 * and the queue goes on. And what a look at the page tables costs.
 */
#include <stdio.h>
#include <sys/mman.h>

#include <vkfd/gpuvm.h>

#include "memory_bench.h"

#define RING_BYTES	(64u * 1024)
/* Pages with one number of these are in the same place of the device's TLB. */
#define TLB_SETS	64u

bool move_begin(struct bench *b, const struct row *r)
{
	/* Not by the thunk, whose host memory is shared: its pages would stay. */
	return register_begin(b, r) && register_mem(b) &&
	       queue_create(&b->q, &b->gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS;
}

/* One packet writes to memory that is registered, and its number to the word. */
static bool packet(struct bench *b)
{
	uint32_t *p = queue_reserve_wait(&b->q, PM4_WRITE32_DW + PM4_RELEASE_MEM_DW, BENCH_WAIT_MS);

	if (!p)
		return false;
	b->batch++;
	p = pm4_write32(p, gpu_va(b->va), (uint32_t)b->batch);
	p = pm4_release_mem(p, gpu_va(b->word), RELEASE_MEM_DATA_64, b->batch,
			    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
	queue_commit(&b->q, p);
	queue_submit(&b->q);
	return wait_word(b->word, b->batch, BENCH_WAIT_MS);
}

static bool written(const struct bench *b)
{
	return *(volatile uint32_t *)b->mem == (uint32_t)b->batch;
}

bool packet_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	stopwatch_start(w);
	ok = packet(b);
	stopwatch_stop(w);
	return ok && written(b);
}

bool restore_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	stopwatch_start(w);
	/* The pages go; the GPU gets new ones when the range is looked up again. */
	ok = !madvise(b->mem, b->size, MADV_DONTNEED) && packet(b);
	stopwatch_stop(w);
	return ok && written(b);
}

bool move_end(struct bench *b, const struct row *r)
{
	return queue_destroy(&b->q) == HSAKMT_STATUS_SUCCESS && unregister_mem(b) &&
	       register_end(b, r);
}

bool tlb_begin(struct bench *b, const struct row *r)
{
	(void)r;
	b->size = 4 * TLB_SETS * GPU_PAGE;
	b->mem = mem_alloc(&b->gpu, MEM_VRAM, b->size);
	return b->mem && queue_create(&b->q, &b->gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS;
}

/* The writes go to @pages pages in turn, which are in one place of the TLB. */
static bool writes(struct bench *b, unsigned int pages, struct stopwatch *w)
{
	uint32_t *p = queue_reserve_wait(&b->q, TLB_WRITES * PM4_WRITE32_DW + PM4_RELEASE_MEM_DW,
					 BENCH_WAIT_MS);
	/* Not where the pages of the ring, or of the word, are. */
	uint64_t set = (gpu_va(b->q.ring) / GPU_PAGE + TLB_SETS / 2) % TLB_SETS;
	uint64_t at = gpu_va(b->mem) / GPU_PAGE;
	unsigned int i;
	bool ok;

	if (!p)
		return false;
	at += (set - at) % TLB_SETS;
	for (i = 0; i < TLB_WRITES; i++)
		p = pm4_write32(p, (at + i % pages * TLB_SETS) * GPU_PAGE, i);
	p = pm4_release_mem(p, gpu_va(b->word), RELEASE_MEM_DATA_64, ++b->batch,
			    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
	queue_commit(&b->q, p);
	stopwatch_start(w);
	queue_submit(&b->q);
	ok = wait_word(b->word, b->batch, BENCH_WAIT_MS);
	stopwatch_stop(w);
	return ok;
}

bool tlb_hit(struct bench *b, const struct row *r, struct stopwatch *w)
{
	(void)r;
	return writes(b, 1, w);
}

bool tlb_miss(struct bench *b, const struct row *r, struct stopwatch *w)
{
	(void)r;
	return writes(b, 2, w);
}

bool tlb_end(struct bench *b, const struct row *r)
{
	(void)r;
	return queue_destroy(&b->q) == HSAKMT_STATUS_SUCCESS &&
	       mem_free(b->mem, b->size) == HSAKMT_STATUS_SUCCESS;
}
