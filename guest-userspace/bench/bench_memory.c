// SPDX-License-Identifier: MIT
/*
 * bench_memory: what memory costs.
 *
 *   map N, unmap N          N KiB of memory of the GPU, one ioctl
 *   register N, unregister N, populate N
 *                           N KiB of user memory: registered and mapped, the reverse of it,
 *                           and, to compare, faulted in by the kernel
 *   packet N, restore N     a packet of a queue; the same after the kernel has taken N KiB
 *                           of registered memory away, from that until it is done
 *   fault 1, signal 1       a packet that faults until its process is woken; one that
 *                           completes, by interrupt
 *   tlb hit N, tlb miss N   N writes in one submission, to one page or to two that take
 *                           each other's place in the TLB
 *   evict N                 pages are allocated in VRAM that is full, for which others leave
 *                           it, while N that do not have been there for longer
 *
 * A table on stdout; JSON to the file named by --json or VKFD_BENCH_JSON.
 * --rounds N: samples of a row; --only METHOD: rows of that method alone.
 * Exit status: 0; 1 something failed; 2 bad options.
 */
#include <stdio.h>

#include "memory_bench.h"

#define BLOCKS	20u

#define ROW(m, count, k, what, s, d, b, f, e) \
	{ .method = m, .n = count, .items = k, .item = what, .set = s, .divide = d, \
	  .begin = b, .one = f, .end = e }
#define MAPS(kib, s, d) \
	ROW("map", kib, 1, "calls", s, d, map_begin, map_one, map_end), \
	ROW("unmap", kib, 1, "calls", s, d, map_begin, unmap_one, map_end)
#define REGISTERS(kib, mib, s, d) \
	ROW("register", kib, mib, "MiB", s, d, register_begin, register_one, register_end), \
	ROW("unregister", kib, mib, "MiB", s, d, register_begin, unregister_one, register_end), \
	ROW("populate", kib, mib, "MiB", s, d, register_begin, populate_one, register_end)
#define MOVES(kib, s, d) \
	ROW("packet", kib, 1, "packets", s, d, move_begin, packet_one, move_end), \
	ROW("restore", kib, 1, "packets", s, d, move_begin, restore_one, move_end)

/* In the order of the table. */
static struct row row[] = {
	MAPS(4, 1, 1),
	MAPS(64, 1, 1),
	MAPS(2048, 1, 4),
	REGISTERS(1024, 1, 2, 4),
	REGISTERS(16384, 16, 2, 40),
	MOVES(4, 3, 4),
	MOVES(1024, 3, 4),
	{ .method = "fault", .n = 1, .items = 1, .handler = HANDLER_BOTH, .set = 4, .divide = 20,
	  .one = fault_one },
	{ .method = "signal", .n = 1, .items = 1, .handler = HANDLER_BOTH, .set = 4, .divide = 20,
	  .one = signal_one },
	ROW("tlb hit", TLB_WRITES, TLB_WRITES, "writes", 5, 10, tlb_begin, tlb_hit, tlb_end),
	ROW("tlb miss", TLB_WRITES, TLB_WRITES, "writes", 5, 10, tlb_begin, tlb_miss, tlb_end),
	ROW("evict", 10, EVICT_MOVES, "pages", 6, 100, evict_begin, evict_one, evict_end),
	ROW("evict", 10000, EVICT_MOVES, "pages", 6, 100, evict_begin, evict_one, evict_end),
};
#define ROWS (sizeof(row) / sizeof(row[0]))
_Static_assert(ROWS <= BENCH_ROWS_MAX, "more rows than measure() takes");

int main(int argc, char **argv)
{
	const struct report rep = { .bench = "memory", .row = row, .rows = ROWS };
	struct bench_options o = { .rounds = 1000 };
	static struct bench b;
	HSAKMT_STATUS s;
	bool ok;

	if (!bench_options(&o, argc, argv))
		return 2;
	if (!fault_server()) {
		fprintf(stderr, "bench_memory: no process: %m\n");
		return 1;
	}
	s = gpu_open(&b.gpu);
	if (s != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "bench_memory: no GPU: %s\n", status_name(s));
		return 1;
	}
	b.kfd = kfd_open();
	b.gpu_id = b.gpu.props.KFDGpuID;
	b.word = mem_alloc(&b.gpu, MEM_SYSTEM, GPU_PAGE);
	if (!b.word) {
		fprintf(stderr, "bench_memory: no memory\n");
		return 1;
	}
	handlers_init();
	ok = measure(&b, row, ROWS, &o, BLOCKS);
	gpu_close();
	if (!ok) {
		fprintf(stderr, "bench_memory: not everything could be measured\n");
		return 1;
	}
	return report(&rep, o.json) ? 0 : 1;
}
