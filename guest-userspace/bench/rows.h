/* SPDX-License-Identifier: MIT */
/*
 * What the benchmarks share. A row of the table is one thing measured in one way; all
 * rows take turns in changing order, a block of samples each, so that what drifts -
 * clocks, other load of the host - hits all alike.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC until the report turns them into
 * microseconds. One thread; peers start threads of their own. What a row works on is a
 * struct bench, of which each benchmark has its own.
 */
#ifndef VKFD_BENCH_ROWS_H
#define VKFD_BENCH_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_ROWS_MAX	64u
#define BENCH_WAIT_MS	60000u
#define BENCH_WARM_UP	5u	/* samples at the start of a block that do not count; 1 of long ones */

/**
 * enum handler - who acts on the interrupt entries of a row
 * @HANDLER_NONE: there are none
 * @HANDLER_HARD: the hard handler alone
 * @HANDLER_BOTH: the driver's default: the hard handler up to 64, its thread the rest
 * @HANDLER_THREAD: the thread alone
 */
enum handler {
	HANDLER_NONE,
	HANDLER_HARD,
	HANDLER_BOTH,
	HANDLER_THREAD,
};

/**
 * struct stopwatch - one sample
 * @wall, @cpu: when it was started
 * @ns: how long the sample took
 * @cpu_ns: CPU time of the process in it, all threads
 */
struct stopwatch {
	uint64_t wall;
	uint64_t cpu;
	uint64_t ns;
	uint64_t cpu_ns;
};

/* CPU time is read outside of what the wall clock sees. */
void stopwatch_start(struct stopwatch *w);
void stopwatch_stop(struct stopwatch *w);

struct bench;

/**
 * struct row
 * @method: what is measured; with @n and @handler the name of the row
 * @n: how many, or how large: the benchmark's first comment says of what
 * @handler: see there
 * @items: completions in one sample, or what @item says
 * @item: NULL, or the unit of @items
 * @set: not 0: rows of the same set, which stand together in the table, take their turn
 *	together, in the order of the table
 * @divide: this row has 1/divide of the samples of others, and at least one
 * @begin, @one, @end: before, in and after a block; begin and end may be NULL. @one
 *	takes one sample. False: something failed, and the benchmark with it.
 * @unavailable: NULL, or why the row cannot be measured here; the pointer may be NULL
 * @skipped: NULL, or why the row was not measured
 * @sample, @samples: of all blocks; sorted in the end
 * @cpu_ns: CPU time of all samples: the process, and the driver's interrupt thread
 */
struct row {
	const char *method;
	unsigned int n;
	enum handler handler;
	unsigned int items;
	const char *item;
	unsigned int set;
	unsigned int divide;
	bool (*begin)(struct bench *b, const struct row *r);
	bool (*one)(struct bench *b, const struct row *r, struct stopwatch *w);
	bool (*end)(struct bench *b, const struct row *r);
	const char *(*unavailable)(const struct bench *b);
	const char *skipped;
	uint64_t *sample;
	unsigned int samples;
	uint64_t cpu_ns;
};

/* handlers.c: the driver's parameter ih_hard_entries */

/* Looks for the parameter, and has it restored when the program ends in whatever way. */
void handlers_init(void);

/* NULL, or why rows with @h and @items cannot be measured. */
const char *handlers_refuse(enum handler h, unsigned int items);

/* False: the driver did not take it. */
bool handlers_set(enum handler h, unsigned int items);

/* CPU time of the driver's interrupt threads in ns; 0 where nobody tells. */
uint64_t handlers_thread_ns(void);

/* What the parameter was at the start; -1: there is none. */
int handlers_original(void);

/* options.c */

/**
 * struct bench_options - what a benchmark is asked for
 * @rounds: samples of a row
 * @only: NULL, or the method of the rows that are measured
 * @json: file to write, or NULL
 */
struct bench_options {
	unsigned int rounds;
	const char *only;
	const char *json;
};

/* --rounds N, --only METHOD, --json FILE, VKFD_BENCH_JSON; false: stderr has been told what is wrong. */
bool bench_options(struct bench_options *o, int argc, char **argv);

/* measure.c */

/*
 * Takes as many samples of every row as @o says, in turns, in @blocks blocks; at most
 * BENCH_ROWS_MAX rows. Rows of one set stay together. False: out of memory, or a row
 * failed, which stderr has been told.
 */
bool measure(struct bench *b, struct row *row, unsigned int rows, const struct bench_options *o,
	     unsigned int blocks);

/* Value of a row that was measured: microseconds for one sample, items a second. */
double row_us(const struct row *r, unsigned int percentile);
double row_per_second(const struct row *r);

/* report.c */

/**
 * struct goal - a ratio of two rows
 * @method, @n, @handler: the row above the line and the one below it
 * @rate: of items a second, at least @limit; otherwise of times, at most @limit
 */
struct goal {
	const char *name;
	struct {
		const char *method;
		unsigned int n;
		enum handler handler;
	} above, below;
	bool rate;
	double limit;
};

/**
 * struct report - what is reported
 * @bench: name of the benchmark
 */
struct report {
	const char *bench;
	const struct row *row;
	unsigned int rows;
	const struct goal *goal;
	unsigned int goals;
};

/* Table and goals on stdout; JSON into file @json unless NULL. False: not written. */
bool report(const struct report *r, const char *json);

#endif /* VKFD_BENCH_ROWS_H */
