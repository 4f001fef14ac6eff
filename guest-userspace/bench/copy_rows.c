// SPDX-License-Identifier: MIT
/*
 * Bandwidth of copies of 4 MiB in pieces of so many KiB: by SDMA, a packet a piece and one
 * submission, from the doorbell until a wait for the interrupt behind the last returns; by
 * memcpy() as the C library chooses to do it on this CPU; and by a loop of 16-byte moves.
 * The buffers are used over and over.
 */
#include <string.h>

#include "queue_bench.h"

/* Room for pieces of 4 KiB, in one submission. */
#define RING_BYTES	(64u * 1024)

typedef uint64_t vec __attribute__((vector_size(16), may_alias));

static bool begin(struct bench *b, enum mem_kind from, enum mem_kind to)
{
	uint32_t *p;
	size_t i;

	if (!pool_resize(&b->pool, 0) ||
	    sdma_queue_create(&b->sdma, &b->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		return false;
	b->from = mem_alloc(&b->gpu, from, COPY_BYTES);
	b->to = mem_alloc(&b->gpu, to, COPY_BYTES);
	if (!b->from || !b->to)
		return false;
	p = (uint32_t *)b->from;
	for (i = 0; i < COPY_BYTES / 4; i++)
		p[i] = (uint32_t)i * 2654435761u + 1;
	return true;
}

bool copy_begin(struct bench *b, const struct row *r)
{
	(void)r;
	return begin(b, MEM_SYSTEM, MEM_SYSTEM);
}

bool copy_begin_to_vram(struct bench *b, const struct row *r)
{
	(void)r;
	return begin(b, MEM_SYSTEM, MEM_VRAM);
}

bool copy_begin_from_vram(struct bench *b, const struct row *r)
{
	(void)r;
	return begin(b, MEM_VRAM, MEM_SYSTEM);
}

bool copy_sdma(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int at, piece = r->n << 10;
	HsaEvent *ev = b->event[0];
	HSAKMT_STATUS s;
	uint32_t *p;

	for (at = 0; at < COPY_BYTES; at += piece) {
		p = sdma_queue_reserve(&b->sdma, SDMA_PKT_COPY_LINEAR_DW);
		sdma_queue_commit(&b->sdma, sdma_copy(p, gpu_va(b->to + at), gpu_va(b->from + at),
						      piece));
	}
	p = sdma_queue_reserve(&b->sdma, SDMA_SIGNAL_DW);
	sdma_queue_commit(&b->sdma, sdma_signal(p, event_slot(ev), ev->EventId));
	stopwatch_start(w);
	sdma_queue_submit(&b->sdma);
	s = event_wait(ev, BENCH_WAIT_MS);
	stopwatch_stop(w);
	return s == HSAKMT_STATUS_SUCCESS;
}

bool copy_memcpy(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int at, piece = r->n << 10;

	stopwatch_start(w);
	for (at = 0; at < COPY_BYTES; at += piece) {
		memcpy(b->to + at, b->from + at, piece);
		/* Each copy is done, whatever becomes of it. */
		__asm__ volatile("" : : : "memory");
	}
	stopwatch_stop(w);
	return true;
}

bool copy_loop(struct bench *b, const struct row *r, struct stopwatch *w)
{
	unsigned int i, at, piece = r->n << 10;

	stopwatch_start(w);
	for (at = 0; at < COPY_BYTES; at += piece) {
		const vec *from = (const vec *)(b->from + at);
		vec *to = (vec *)(b->to + at);

		for (i = 0; i < piece / sizeof(vec); i += 4) {
			to[i] = from[i];
			to[i + 1] = from[i + 1];
			to[i + 2] = from[i + 2];
			to[i + 3] = from[i + 3];
			/* Or the compiler makes a memcpy() of it. */
			__asm__ volatile("" : : : "memory");
		}
	}
	stopwatch_stop(w);
	return true;
}

bool copy_end(struct bench *b, const struct row *r)
{
	bool same = !memcmp(b->from, b->to, COPY_BYTES);

	(void)r;
	return mem_free(b->from, COPY_BYTES) == HSAKMT_STATUS_SUCCESS &&
	       mem_free(b->to, COPY_BYTES) == HSAKMT_STATUS_SUCCESS &&
	       sdma_queue_destroy(&b->sdma) == HSAKMT_STATUS_SUCCESS && same;
}
