// SPDX-License-Identifier: MIT
/*
 * Rows in turns, and what their samples come to.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void stopwatch_start(struct stopwatch *w)
{
	w->cpu = process_cpu_ns();
	w->wall = now_ns();
}

void stopwatch_stop(struct stopwatch *w)
{
	w->ns = now_ns() - w->wall;
	w->cpu_ns = process_cpu_ns() - w->cpu;
}

/* @n samples of @r after some that warm up. */
static bool run_block(struct bench *b, struct row *r, unsigned int n)
{
	unsigned int i, warm_up = r->divide > 1 ? 1 : BENCH_WARM_UP;
	uint64_t thread_ns = 0;
	struct stopwatch w;

	if (!handlers_set(r->handler, r->items))
		return false;
	if (r->begin && !r->begin(b, r))
		return false;
	for (i = 0; i < n + warm_up; i++) {
		if (i == warm_up)
			thread_ns = handlers_thread_ns();
		if (!r->one(b, r, &w))
			return false;
		if (i < warm_up)
			continue;
		r->sample[r->samples++] = w.ns;
		r->cpu_ns += w.cpu_ns;
	}
	if (r->handler != HANDLER_NONE)
		r->cpu_ns += handlers_thread_ns() - thread_ns;
	return !r->end || r->end(b, r);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static unsigned int wanted(const struct row *r, unsigned int rounds)
{
	return rounds > r->divide ? rounds / r->divide : 1;
}

/* How many of @total samples belong into the first @block of BENCH_BLOCKS blocks. */
static unsigned int due(unsigned int total, unsigned int block)
{
	return (unsigned int)((uint64_t)total * block / BENCH_BLOCKS);
}

/*
 * A row finds the machine as the one before left it - on which CPU the thread runs, what
 * is in the caches - so the order differs from block to block, and is the same in every
 * run.
 */
static void shuffle(unsigned int *order, unsigned int n, uint64_t *random)
{
	unsigned int i, k, swap;

	for (i = n - 1; i > 0; i--) {
		*random = *random * 6364136223846793005ull + 1442695040888963407ull;
		k = (unsigned int)((*random >> 33) % (i + 1));
		swap = order[i];
		order[i] = order[k];
		order[k] = swap;
	}
}

bool measure(struct bench *b, struct row *row, unsigned int rows, unsigned int rounds)
{
	unsigned int order[BENCH_ROWS_MAX];
	unsigned int i, block;
	uint64_t random = 1;

	for (i = 0; i < rows; i++) {
		struct row *r = &row[i];

		order[i] = i;

		r->skipped = handlers_refuse(r->handler, r->items);
		if (!r->skipped && r->unavailable)
			r->skipped = r->unavailable(b);
		r->sample = calloc(wanted(r, rounds), sizeof(*r->sample));
		if (!r->sample)
			return false;
	}
	for (block = 0; block < BENCH_BLOCKS; block++) {
		shuffle(order, rows, &random);
		for (i = 0; i < rows; i++) {
			struct row *r = &row[order[i]];
			unsigned int total = wanted(r, rounds);
			unsigned int n = due(total, block + 1) - due(total, block);

			if (r->skipped || !n)
				continue;
			if (!run_block(b, r, n)) {
				fprintf(stderr, "bench_event: %s %u failed in block %u\n",
					r->method, r->n, block);
				return false;
			}
		}
	}
	for (i = 0; i < rows; i++)
		qsort(row[i].sample, row[i].samples, sizeof(*row[i].sample), compare);
	return true;
}

double row_us(const struct row *r, unsigned int percentile)
{
	return (double)r->sample[(uint64_t)r->samples * percentile / 100] / 1e3;
}

double row_per_second(const struct row *r)
{
	return r->items * 1e6 / row_us(r, 50);
}
