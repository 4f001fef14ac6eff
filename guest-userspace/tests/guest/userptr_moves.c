// SPDX-License-Identifier: MIT
/*
 * Registered memory whose pages the kernel itself moves: into swap and back, from one frame
 * to another by compaction, into a huge page and apart again. The GPU finds them, and what
 * it wrote is never lost on the way.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "driver.h"
#include "gpu.h"
#include "queue.h"
#include "swap.h"
#include "tap.h"
#include "user.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif

#define PAGES		16u
#define SIZE		(PAGES * GPU_PAGE)
#define HUGE		(2u << 20)
#define COMPACTIONS	6u
#define FREES		8u
#define SWAP_BYTES	(32u << 20)

/* No look at memory by the CPU between what the GPU stores and what it reads. */
static void test_swap(struct user *u)
{
	unsigned int i, round, wrong = 0, rounds = scaled(200, 40);
	int64_t out = vmstat("pswpout"), evicted;
	struct range g;

	if (!swap_begin(SWAP_BYTES)) {
		tap_skip("no zram", "swap: registered memory goes out and comes back");
		return;
	}
	range_map(&g, u, user_pages(SIZE), SIZE);
	evicted = user_counter("evictions");
	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < PAGES; i++)
			user_store_async(u, range_gpu(&g, i * GPU_PAGE), round << 8 | i);
		wrong += !wait_word(u->pm4.word, u->seq, 60000);
		madvise(g.cpu, SIZE, MADV_PAGEOUT);
		for (i = 0; i < PAGES; i++)
			wrong += !user_sees(u, &g, i * GPU_PAGE, round << 8 | i);
		/* Read by the CPU before the GPU stores again, every other time. */
		for (i = 0; i < PAGES && round % 2; i++)
			wrong += *range_cpu(&g, i * GPU_PAGE) != (round << 8 | i);
	}
	tap_is(wrong, 0, "swap: what the GPU stored it reads, %u times out and back", rounds);
	out = vmstat("pswpout") - out;
	tap_ok(out > 0, "swap: %lld pages went out", (long long)out);
	tap_ok(user_counter("evictions") > evicted, "swap: which took queues off");
	range_free(&g, u);
	munmap(g.cpu, SIZE);
	tap_ok(swap_end(), "swap: off again");
}

/* Most of what is free, so that what is allocated next lies where nobody else's pages do. */
static char *hog_begin(size_t *size)
{
	struct sysinfo info;
	char *hog;

	if (sysinfo(&info))
		tap_bail("sysinfo: %m");
	*size = info.freeram / HUGE * 3 / 4 * HUGE;
	hog = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hog == MAP_FAILED)
		tap_bail("mmap: %m");
	madvise(hog, *size, MADV_HUGEPAGE);
	madvise(hog, *size, MADV_POPULATE_WRITE);
	return hog;
}

/*
 * Stores, has @move move the pages, and looks. How many frames are others then; -1: @move
 * failed.
 */
static int moved_by(struct user *u, bool (*move)(struct range *g), unsigned int *wrong)
{
	uint64_t frame[PAGES];
	struct range g;
	size_t hog_size;
	unsigned int i;
	int moved = 0;
	char *hog;

	hog = hog_begin(&hog_size);
	range_map(&g, u, user_pages(SIZE), SIZE);
	munmap(hog, hog_size);
	for (i = 0; i < PAGES; i++) {
		*wrong += !user_store(u, range_gpu(&g, i * GPU_PAGE), i + 1);
		frame[i] = page_frame(g.cpu + i * GPU_PAGE);
	}
	if (move(&g)) {
		for (i = 0; i < PAGES; i++) {
			*wrong += !user_sees(u, &g, i * GPU_PAGE, i + 1);
			*wrong += !user_store(u, range_gpu(&g, i * GPU_PAGE), i + 2);
			*wrong += *range_cpu(&g, i * GPU_PAGE) != i + 2;
			moved += page_frame(g.cpu + i * GPU_PAGE) != frame[i];
		}
	} else {
		moved = -1;
	}
	range_free(&g, u);
	munmap(g.cpu, SIZE);
	return moved;
}

static bool compact(struct range *g)
{
	(void)g;
	return file_put("/proc/sys/vm/compact_memory", "1");
}

/* What is compacted is the kernel's choice, so some times may be needed. */
static void test_compaction(struct user *u)
{
	unsigned int wrong = 0, i;
	int moved = 0;

	for (i = 0; i < COMPACTIONS && moved <= 0; i++)
		moved = moved_by(u, compact, &wrong);
	tap_is(wrong, 0, "compaction: the GPU finds what it stored");
	if (moved > 0)
		tap_ok(true, "compaction: %d of %u pages moved, the %u. time", moved, PAGES, i);
	else
		tap_skip("the kernel chose others", "compaction: pages moved");
}

/* One page is going to be taken out of service, so what is in it moves. */
static bool offline(struct range *g)
{
	return !madvise(g->cpu + GPU_PAGE, GPU_PAGE, MADV_SOFT_OFFLINE);
}

static void test_migration(struct user *u)
{
	unsigned int wrong = 0;
	int moved = moved_by(u, offline, &wrong);

	if (moved < 0 && errno == EINVAL) {
		tap_skip("the kernel cannot take pages out of service", "migration: a page moves");
		return;
	}
	tap_is(moved, 1, "migration: a page moves");
	tap_is(wrong, 0, "migration: the GPU finds what it stored");
}

static void test_huge(struct user *u)
{
	char *map = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i, n = HUGE / GPU_PAGE, wrong = 0;
	struct range g;
	uint64_t first;
	char *mem;

	if (map == MAP_FAILED)
		tap_bail("mmap: %m");
	mem = map + (HUGE - gpu_va(map) % HUGE) % HUGE;
	madvise(mem, HUGE, MADV_HUGEPAGE);
	memset(mem, 0, HUGE);
	first = page_frame(mem);
	if (first % n || page_frame(mem + HUGE - GPU_PAGE) != first + n - 1) {
		tap_skip("no huge page to be had", "huge page: split and collapsed");
		munmap(map, 2 * HUGE);
		return;
	}
	range_map(&g, u, mem, HUGE);
	for (i = 0; i < n; i += 7)
		wrong += !user_store(u, range_gpu(&g, i * GPU_PAGE), i + 1);
	for (i = 0; i < n; i += 7)
		wrong += *range_cpu(&g, i * GPU_PAGE) != i + 1;
	tap_is(wrong, 0, "huge page: the GPU stores all over it");
	/* One page of it is given back: it is no huge page any more. */
	madvise(mem + GPU_PAGE, GPU_PAGE, MADV_DONTNEED);
	mprotect(mem + 2 * GPU_PAGE, GPU_PAGE, PROT_READ);
	mprotect(mem + 2 * GPU_PAGE, GPU_PAGE, PROT_READ | PROT_WRITE);
	for (i = 0; i < n; i += 7)
		wrong += !user_sees(u, &g, i * GPU_PAGE, i + 1);
	wrong += !user_sees(u, &g, GPU_PAGE, 0);
	tap_is(wrong, 0, "huge page: split, the GPU sees what is there");
	tap_is(madvise(mem, HUGE, MADV_COLLAPSE), 0, "huge page: collapsed");
	tap_ok(page_frame(mem) != first, "huge page: into another one");
	for (i = 0; i < n; i += 7) {
		wrong += !user_sees(u, &g, i * GPU_PAGE, i + 1);
		wrong += !user_store(u, range_gpu(&g, i * GPU_PAGE), i + 2);
		wrong += *range_cpu(&g, i * GPU_PAGE) != i + 2;
	}
	tap_is(wrong, 0, "huge page: the GPU reads and stores there");
	range_free(&g, u);
	munmap(map, 2 * HUGE);
}

/*
 * What the program does without (MADV_FREE) may go any time unless it is written again, by
 * the GPU too, though no page table of the CPU's says so.
 */
static void test_free(struct user *u)
{
	unsigned int i, round, wrong = 0;
	struct range g;

	range_map(&g, u, user_pages(SIZE), SIZE);
	for (round = 1; round <= FREES; round++) {
		memset(g.cpu, 0x5a, SIZE);
		madvise(g.cpu, SIZE, MADV_FREE);
		for (i = 0; i < PAGES; i++)
			wrong += !user_store(u, range_gpu(&g, i * GPU_PAGE), round << 8 | i);
		madvise(g.cpu, SIZE, MADV_PAGEOUT);
		for (i = 0; i < PAGES; i++)
			wrong += !user_sees(u, &g, i * GPU_PAGE, round << 8 | i);
	}
	tap_is(wrong, 0, "MADV_FREE: what the GPU stores after it is kept");
	range_free(&g, u);
	munmap(g.cpu, SIZE);
}

int main(void)
{
	struct user u;

	tap_begin(600);
	user_open(&u);
	test_huge(&u);
	test_free(&u);
	test_migration(&u);
	test_compaction(&u);
	test_swap(&u);
	tap_ok(user_settle(), "in the end all queues are on");
	tap_is(user_counter("evictions"), user_counter("restores"), "put back as often as taken off");
	tap_is(vmstat("nr_foll_pin_acquired"), vmstat("nr_foll_pin_released"), "nothing is pinned");
	user_close(&u);
	return tap_done();
}
