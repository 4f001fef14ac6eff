/* SPDX-License-Identifier: MIT */
/*
 * What bench_event is made of. A row of the table is one thing measured in one way; all
 * rows take turns in changing order, a block of samples each, so that what drifts -
 * clocks, other load of the host - hits all alike.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC until the report turns them into
 * microseconds. One thread; the peers start threads of their own.
 */
#ifndef VKFD_BENCH_H
#define VKFD_BENCH_H

#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"
#include "queue.h"

#define BENCH_EVENTS	4095u	/* as many as a process may have */
#define BENCH_ROWS_MAX	64u
#define BENCH_WAIT_MS	60000u
#define BENCH_BLOCKS	40u
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
 * @n: events in the table, or requests in flight
 * @handler: see there
 * @items: completions in one sample
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

/**
 * struct peer_nvme - reads of QEMU's NVMe device
 * @why_not: NULL, or why there is none
 * @sectors: of 512 bytes
 * @random: state of the generator of sectors
 */
struct peer_nvme {
	int fd;
	char why_not[96];
	aio_context_t aio;
	uint8_t *buf;
	uint64_t sectors;
	uint64_t random;
};

/**
 * struct peer_eventfd - two threads that wake each other
 * @there, @back: written by this thread, and by the other
 */
struct peer_eventfd {
	int there;
	int back;
	pthread_t thread;
};

/**
 * struct bench
 * @q: the one queue; its ring holds a signal for every event
 * @event, @events: the table, and how many of it exist
 * @fence, @batch: the GPU writes the number of the batch here
 * @age: of the event that is waited for by age
 */
struct bench {
	struct gpu gpu;
	struct queue q;
	HsaEvent *event[BENCH_EVENTS];
	unsigned int events;
	volatile uint64_t *fence;
	uint64_t batch;
	uint64_t age;
	struct peer_nvme nvme;
	struct peer_eventfd eventfd;
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

/* gpu_rows.c: doorbell to return, by the three ways; wake-ups; one submission of all */

/* The queue of @b, at the start. */
bool gpu_queue(struct bench *b);
bool gpu_begin(struct bench *b, const struct row *r);
bool gpu_begin_age(struct bench *b, const struct row *r);
bool gpu_begin_poll(struct bench *b, const struct row *r);
bool gpu_interrupt(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_age(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_poll(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_any(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_burst(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_end(struct bench *b, const struct row *r);

/* peer_nvme.c: random reads of 512 bytes past the page cache, @n in flight */

/* Finds the device; what is missing is said by nvme_unavailable(). */
void nvme_open(struct bench *b);
void nvme_close(struct bench *b);
const char *nvme_unavailable(const struct bench *b);
bool nvme_read_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool nvme_read_many(struct bench *b, const struct row *r, struct stopwatch *w);

/* peer_eventfd.c: there and back between two threads on @n CPUs */
const char *eventfd_unavailable_two(const struct bench *b);
bool eventfd_begin(struct bench *b, const struct row *r);
bool eventfd_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool eventfd_end(struct bench *b, const struct row *r);

/* measure.c */

/*
 * Takes @rounds samples of every row, in turns; at most BENCH_ROWS_MAX rows. False: out of memory, or a row failed,
 * which stderr has been told.
 */
bool measure(struct bench *b, struct row *row, unsigned int rows, unsigned int rounds);

/* Value of a row that was measured: microseconds for one sample, completions a second. */
double row_us(const struct row *r, unsigned int percentile);
double row_per_second(const struct row *r);

/* report.c */

/* Table and goals on stdout; JSON into file @json unless NULL. False: not written. */
bool report(const struct row *row, unsigned int rows, const char *json);

#endif /* VKFD_BENCH_H */
