// SPDX-License-Identifier: MIT
/*
 * bench_queue: what many queues cost, what a packet costs, and how fast SDMA copies.
 *
 *   one N       with N queues on the run list, a batch of the one rung longest ago: from
 *               its doorbell until the program knows, by interrupt (both) or polling (-)
 *   all N       the same of a batch of each, all rung, then waited for
 *   released N, released late N
 *               N queues wait in a WAIT_REG_MEM; from a store by the CPU until the queue it
 *               is meant for has gone on, 5 and 150 ms after the last doorbell
 *   pm4 nop N, pm4 write N, pm4 release N, aql barrier N, aql signal N, sdma nop N,
 *   sdma write N, sdma fence N
 *               N packets of one submission, until the last is seen to be done
 *   sdma N, memcpy N, loop N
 *               copies in pieces of N KiB, by the GPU and by the CPU, of system memory;
 *               "to vram" and "from vram" between that and memory of the GPU
 *
 * A table on stdout; JSON to the file named by --json or VKFD_BENCH_JSON.
 * --rounds N: samples of a row; --only METHOD: rows of that method alone.
 * Exit status: 0; 1 something failed; 2 bad options.
 */
#include <stdio.h>

#include "driver.h"
#include "queue_bench.h"

#define BLOCKS	20u
#define SLOTS	24u	/* compute queues without run lists */

static const char *no_run_lists(const struct bench *b)
{
	(void)b;
	return driver_sched_policy() == 2 ? "more queues than slots: sched_policy is 2" : NULL;
}

#define ROUND(m, s, count, h, k, d, f) \
	{ .method = m, .n = count, .handler = h, .items = k, .set = s, .divide = d, \
	  .begin = many_begin, .one = f, .end = many_end, \
	  .unavailable = (count) > SLOTS ? no_run_lists : NULL }
#define MANY(s, count, d) \
	ROUND("one", s, count, HANDLER_BOTH, 1, 1, one_interrupt), \
	ROUND("one", s, count, HANDLER_NONE, 1, 1, one_poll), \
	ROUND("all", s, count, HANDLER_BOTH, count, d, all_interrupt), \
	ROUND("all", s, count, HANDLER_NONE, count, d, all_poll)

#define RELEASED(m, count, d, f) \
	{ .method = m, .n = count, .items = 1, .divide = d, .begin = waits_begin, .one = f, \
	  .end = waits_end, .unavailable = (count) > SLOTS ? no_run_lists : NULL }
#define PACKET_SET	7
#define PACKET(m, lang, f) \
	{ .method = m, .n = PACKETS, .items = PACKETS, .item = "packets", .set = PACKET_SET, \
	  .divide = 20, .begin = lang##_begin, .one = f, .end = lang##_end }
#define COPY(m, kib, h, b, f) \
	{ .method = m, .n = kib, .handler = h, .items = COPY_BYTES >> 20, .item = "MiB", \
	  .set = PACKET_SET, .divide = 20, .begin = b, .one = f, .end = copy_end }
#define COPIES(kib) \
	COPY("sdma", kib, HANDLER_BOTH, copy_begin, copy_sdma), \
	COPY("memcpy", kib, HANDLER_NONE, copy_begin, copy_memcpy), \
	COPY("loop", kib, HANDLER_NONE, copy_begin, copy_loop)

/* In the order of the table. */
static struct row row[] = {
	MANY(1, 1, 1),
	MANY(2, 8, 5),
	MANY(3, 24, 10),
	MANY(4, 64, 20),
	MANY(5, 256, 40),
	MANY(6, POOL_MAX, 40),
	RELEASED("released", 1, 20, released_soon),
	RELEASED("released", POOL_MAX, 20, released_soon),
	RELEASED("released late", 1, 100, released_late),
	RELEASED("released late", POOL_MAX, 100, released_late),
	PACKET("pm4 nop", pm4, pm4_nops),
	PACKET("pm4 write", pm4, pm4_writes),
	PACKET("pm4 release", pm4, pm4_releases),
	PACKET("aql barrier", aql, aql_barriers),
	PACKET("aql signal", aql, aql_signals),
	PACKET("sdma nop", sdma, sdma_nops),
	PACKET("sdma write", sdma, sdma_writes),
	PACKET("sdma fence", sdma, sdma_fences),
	COPIES(4),
	COPIES(64),
	COPIES(4096),
	COPY("sdma to vram", 4096, HANDLER_BOTH, copy_begin_to_vram, copy_sdma),
	COPY("memcpy to vram", 4096, HANDLER_NONE, copy_begin_to_vram, copy_memcpy),
	COPY("sdma from vram", 4096, HANDLER_BOTH, copy_begin_from_vram, copy_sdma),
	COPY("memcpy from vram", 4096, HANDLER_NONE, copy_begin_from_vram, copy_memcpy),
};
#define ROWS (sizeof(row) / sizeof(row[0]))
_Static_assert(ROWS <= BENCH_ROWS_MAX, "more rows than measure() takes");
_Static_assert(sizeof(struct aql_packet) * PACKETS <= 1u << 20, "an AQL ring of so many packets");

static const struct goal goals[] = {
	{ "latency by interrupt with 736 queues / with 1", { "one", POOL_MAX, HANDLER_BOTH },
	  { "one", 1, HANDLER_BOTH }, false, 1.5 },
	{ "latency by polling with 736 queues / with 1", { "one", POOL_MAX, HANDLER_NONE },
	  { "one", 1, HANDLER_NONE }, false, 1.5 },
	{ "SDMA copy / memcpy()", { "sdma", 4096, HANDLER_BOTH },
	  { "memcpy", 4096, HANDLER_NONE }, true, 3 },
	{ "SDMA copy / copy by a loop", { "sdma", 4096, HANDLER_BOTH },
	  { "loop", 4096, HANDLER_NONE }, true, 3 },
};

static bool set_up(struct bench *b)
{
	unsigned int i;

	if (!pool_open(&b->pool, &b->gpu))
		return false;
	b->word = mem_alloc(&b->gpu, MEM_SYSTEM, (POOL_MAX + 1) * sizeof(*b->word));
	b->gate = mem_alloc(&b->gpu, MEM_SYSTEM, POOL_MAX * sizeof(*b->gate));
	b->signal = mem_alloc(&b->gpu, MEM_SYSTEM, GPU_PAGE);
	for (i = 0; i < POOL_MAX; i++) {
		b->event[i] = event_new(&b->gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!b->event[i])
			return false;
	}
	return b->word && b->gate && b->signal;
}

int main(int argc, char **argv)
{
	const struct report rep = {
		.bench = "queue",
		.row = row,
		.rows = ROWS,
		.goal = goals,
		.goals = sizeof(goals) / sizeof(goals[0]),
	};
	struct bench_options o = { .rounds = 2000 };
	static struct bench b;
	HSAKMT_STATUS s;
	bool ok;

	if (!bench_options(&o, argc, argv))
		return 2;
	s = gpu_open(&b.gpu);
	if (s != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "bench_queue: no GPU: %s\n", status_name(s));
		return 1;
	}
	if (!set_up(&b)) {
		fprintf(stderr, "bench_queue: no memory or no events\n");
		return 1;
	}
	handlers_init();
	ok = measure(&b, row, ROWS, &o, BLOCKS) && pool_resize(&b.pool, 0);
	gpu_close();
	if (!ok) {
		fprintf(stderr, "bench_queue: not everything could be measured\n");
		return 1;
	}
	return report(&rep, o.json) ? 0 : 1;
}
