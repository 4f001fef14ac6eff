// SPDX-License-Identifier: MIT
/*
 * bench_event: how long from the doorbell until the program knows that the work is done,
 * by the three ways to learn it and by who handles the interrupt, next to what the same
 * machine achieves with an NVMe device and with an eventfd.
 *
 *   interrupt, age, poll  one batch, doorbell to return
 *   wake N                the same by interrupt, with N events in the table
 *   any N                 the same with N events in the wait
 *   burst N               N events signalled by one submission and waited for in one call
 *   nvme N                512-byte reads, N in flight (a sample of 32 is 256 reads)
 *   eventfd N             there and back between threads on N CPUs
 *
 * A table on stdout; JSON to the file named by --json or VKFD_BENCH_JSON.
 * --rounds N: samples of a row; --only METHOD: rows of that method alone.
 * Exit status: 0; 1 something failed; 2 bad options.
 */
#include <stdio.h>

#include "bench.h"

#define NVME_SET	256u
#define BLOCKS		40u

#define ROUND_TRIP(m, h, b, o) \
	{ .method = m, .n = 1, .handler = h, .items = 1, .divide = 1, .begin = b, .one = o, .end = gpu_end }
#define WAKE(count, h) \
	{ .method = "wake", .n = count, .handler = h, .items = 1, .divide = 1, .begin = gpu_begin, \
	  .one = gpu_interrupt, .end = gpu_end }
#define ANY(count, d) \
	{ .method = "any", .n = count, .handler = HANDLER_HARD, .items = 1, .divide = d, \
	  .begin = gpu_begin, .one = gpu_any, .end = gpu_end }
#define BURST(h) \
	{ .method = "burst", .n = BENCH_EVENTS, .handler = h, .items = BENCH_EVENTS, .divide = 20, \
	  .begin = gpu_begin, .one = gpu_burst, .end = gpu_end }
#define EVENTFD(count, why) \
	{ .method = "eventfd", .n = count, .items = 1, .divide = 1, .begin = eventfd_begin, \
	  .one = eventfd_one, .end = eventfd_end, .unavailable = why }

/* In the order of the table. */
static struct row row[] = {
	ROUND_TRIP("interrupt", HANDLER_HARD, gpu_begin, gpu_interrupt),
	ROUND_TRIP("interrupt", HANDLER_THREAD, gpu_begin, gpu_interrupt),
	ROUND_TRIP("age", HANDLER_HARD, gpu_begin_age, gpu_age),
	ROUND_TRIP("age", HANDLER_THREAD, gpu_begin_age, gpu_age),
	ROUND_TRIP("poll", HANDLER_NONE, gpu_begin_poll, gpu_poll),
	{ .method = "nvme", .n = 1, .items = 1, .divide = 1, .one = nvme_read_one,
	  .unavailable = nvme_unavailable },
	{ .method = "nvme", .n = 32, .items = NVME_SET, .divide = 20, .one = nvme_read_many,
	  .unavailable = nvme_unavailable },
	EVENTFD(1, NULL),
	EVENTFD(2, eventfd_unavailable_two),
	WAKE(1, HANDLER_HARD),
	WAKE(1, HANDLER_THREAD),
	WAKE(256, HANDLER_HARD),
	WAKE(256, HANDLER_THREAD),
	ANY(256, 10),
	WAKE(BENCH_EVENTS, HANDLER_HARD),
	WAKE(BENCH_EVENTS, HANDLER_THREAD),
	ANY(BENCH_EVENTS, 10),
	BURST(HANDLER_HARD),
	BURST(HANDLER_BOTH),
	BURST(HANDLER_THREAD),
};
#define ROWS (sizeof(row) / sizeof(row[0]))
_Static_assert(ROWS <= BENCH_ROWS_MAX, "more rows than measure() takes");

static const struct goal goals[] = {
	{ "interrupt path / NVMe read at depth 1", { "interrupt", 1, HANDLER_HARD },
	  { "nvme", 1, HANDLER_NONE }, false, 0.8 },
	{ "polling / interrupt path", { "poll", 1, HANDLER_NONE },
	  { "interrupt", 1, HANDLER_HARD }, false, 0.3 },
	{ "completions/s of one submission / NVMe reads/s at depth 32",
	  { "burst", BENCH_EVENTS, HANDLER_BOTH }, { "nvme", 32, HANDLER_NONE }, true, 3 },
	{ "wake-up with 4095 events / with 1", { "wake", BENCH_EVENTS, HANDLER_HARD },
	  { "wake", 1, HANDLER_HARD }, false, 1.2 },
};

int main(int argc, char **argv)
{
	const struct report rep = {
		.bench = "event",
		.row = row,
		.rows = ROWS,
		.goal = goals,
		.goals = sizeof(goals) / sizeof(goals[0]),
	};
	struct bench_options o = { .rounds = 1000 };
	static struct bench b;
	HSAKMT_STATUS s;
	bool ok;

	if (!bench_options(&o, argc, argv))
		return 2;
	s = gpu_open(&b.gpu);
	if (s != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "bench_event: no GPU: %s\n", status_name(s));
		return 1;
	}
	b.fence = mem_alloc(&b.gpu, MEM_SYSTEM, GPU_PAGE);
	if (!b.fence || !gpu_queue(&b)) {
		fprintf(stderr, "bench_event: no memory or no queue\n");
		return 1;
	}
	handlers_init();
	nvme_open(&b);
	ok = measure(&b, row, ROWS, &o, BLOCKS);
	nvme_close(&b);
	if (queue_destroy(&b.q) != HSAKMT_STATUS_SUCCESS)
		ok = false;
	gpu_close();
	if (!ok) {
		fprintf(stderr, "bench_event: not everything could be measured\n");
		return 1;
	}
	return report(&rep, o.json) ? 0 : 1;
}
