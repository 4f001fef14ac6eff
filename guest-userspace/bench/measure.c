// SPDX-License-Identifier: MIT
/*
 * Rows in turns, and what their samples come to.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu.h"
#include "rows.h"

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

/* How many of @total samples belong into the first @block of @blocks blocks. */
static unsigned int due(unsigned int total, unsigned int block, unsigned int blocks)
{
	return (unsigned int)((uint64_t)total * block / blocks);
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

/* The rows that take their turn together with row @first, the first of them. */
static unsigned int turn_rows(const struct row *row, unsigned int rows, unsigned int first)
{
	unsigned int n = 1;

	while (row[first].set && first + n < rows && row[first + n].set == row[first].set)
		n++;
	return n;
}

static bool prepare(struct bench *b, struct row *row, unsigned int rows,
		    const struct bench_options *o)
{
	unsigned int i;

	for (i = 0; i < rows; i++) {
		struct row *r = &row[i];

		r->skipped = handlers_refuse(r->handler, r->items);
		if (!r->skipped && r->unavailable)
			r->skipped = r->unavailable(b);
		if (o->only && strcmp(o->only, r->method))
			r->skipped = "not asked for";
		r->sample = calloc(wanted(r, o->rounds), sizeof(*r->sample));
		if (!r->sample)
			return false;
	}
	return true;
}

bool measure(struct bench *b, struct row *row, unsigned int rows, const struct bench_options *o,
	     unsigned int blocks)
{
	unsigned int turn[BENCH_ROWS_MAX];
	unsigned int i, k, block, turns = 0;
	uint64_t random = 1;

	if (!prepare(b, row, rows, o))
		return false;
	for (i = 0; i < rows; i += turn_rows(row, rows, i))
		turn[turns++] = i;
	for (block = 0; block < blocks; block++) {
		shuffle(turn, turns, &random);
		for (i = 0; i < turns; i++) {
			for (k = 0; k < turn_rows(row, rows, turn[i]); k++) {
				struct row *r = &row[turn[i] + k];
				unsigned int total = wanted(r, o->rounds);
				unsigned int n = due(total, block + 1, blocks) -
						 due(total, block, blocks);

				if (r->skipped || !n || run_block(b, r, n))
					continue;
				fprintf(stderr, "%s: %s %u failed in block %u\n",
					program_invocation_short_name, r->method, r->n, block);
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
