// SPDX-License-Identifier: MIT
/*
 * Memory as a program gets it from the thunk: every kind is written by the GPU
 * and read by the CPU at the same address, its size is taken and given back, and
 * what is still in use cannot be freed.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS	60000u
#define MIB	(1ull << 20)
#define HUGE	(2 * MIB)

static struct gpu gpu;
static struct queue q;

static uint64_t available(void)
{
	HSAuint64 bytes = 0;

	if (hsaKmtAvailableMemory(gpu.node, &bytes) != HSAKMT_STATUS_SUCCESS)
		tap_bail("hsaKmtAvailableMemory failed");
	return bytes;
}

/* The GPU stores @value at @va and is done when this returns. */
static bool gpu_store(uint64_t va, uint32_t value)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_WRITE32_DW, LONG_MS);

	if (!p)
		return false;
	queue_commit(&q, pm4_write32(p, va, value));
	queue_submit(&q);
	return queue_wait_idle(&q, LONG_MS);
}

/*
 * A debugger's way to the memory: it copies through the kernel and takes any length
 * at any address, also across pages.
 */
static void test_debugger(enum mem_kind kind)
{
	const char *name = mem_kind_name(kind);
	uint8_t *mem = mem_alloc(&gpu, kind, 3 * GPU_PAGE), *at;
	uint8_t seen[GPU_PAGE + 7];
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	unsigned int i, wrong = 0;

	if (!mem || fd < 0)
		tap_bail("%s: no memory or no /proc/self/mem", name);
	at = mem + GPU_PAGE - 3;
	for (i = 0; i < sizeof(seen); i++)
		at[i] = (uint8_t)(i * 7 + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	tap_is(pread(fd, seen, sizeof(seen), (off_t)(uintptr_t)at), (ssize_t)sizeof(seen),
	       "%s: a debugger reads over two page boundaries", name);
	for (i = 0; i < sizeof(seen); i++) {
		wrong += seen[i] != (uint8_t)(i * 7 + 1);
		seen[i] = (uint8_t)~i;
	}
	tap_is(wrong, 0, "%s: what is there", name);
	tap_is(pwrite(fd, seen, sizeof(seen), (off_t)(uintptr_t)at), (ssize_t)sizeof(seen),
	       "%s: and writes there", name);
	for (i = 0, wrong = 0; i < sizeof(seen); i++)
		wrong += ((volatile uint8_t *)at)[i] != (uint8_t)~i;
	tap_is(wrong + at[-1] + at[sizeof(seen)], 0, "%s: that and nothing else", name);
	close(fd);
	mem_free(mem, 3 * GPU_PAGE);
}

/* Every page of a buffer is its own: first and last word of each. */
static void test_kind(enum mem_kind kind)
{
	size_t size = kind == MEM_VRAM ? 3 * MIB : MIB;
	unsigned int pages = (unsigned int)(size / GPU_PAGE), i, wrong = 0, dirty = 0;
	const char *name = mem_kind_name(kind);
	volatile uint32_t *mem = mem_alloc(&gpu, kind, size);

	if (!tap_ok(mem, "%s: %zu bytes", name, size))
		return;
	for (i = 0; i < pages; i++) {
		volatile uint32_t *page = mem + i * (GPU_PAGE / 4);

		if (!gpu_store(gpu_va(page), i + 1) ||
		    !gpu_store(gpu_va(page + GPU_PAGE / 4 - 1), ~i)) {
			tap_ok(false, "%s: the GPU does not finish its stores", name);
			return;
		}
	}
	for (i = 0; i < pages; i++) {
		volatile uint32_t *page = mem + i * (GPU_PAGE / 4);

		wrong += page[0] != i + 1 || page[GPU_PAGE / 4 - 1] != ~i;
		dirty += page[1] != 0;
	}
	tap_is(wrong, 0, "%s: the CPU reads in every page what the GPU wrote there", name);
	tap_is(dirty, 0, "%s: and nothing else", name);
	tap_is(mem_free((void *)mem, size), 0, "%s: unmap and free", name);
}

/* KiB that are mapped as huge pages where @mem is. */
static unsigned long huge_kib(const void *mem)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to, n, kib = 0;
	bool here = false;
	char line[512];

	if (!f)
		tap_bail("smaps: %m");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= (uintptr_t)mem && (uintptr_t)mem < to;
		else if (here && (sscanf(line, "AnonHugePages: %lu", &n) == 1 ||
				  sscanf(line, "ShmemPmdMapped: %lu", &n) == 1))
			kib += n;
	}
	fclose(f);
	return kib;
}

/*
 * Host memory of some size is made of huge pages, where the kernel has such at the moment:
 * 512 times less work for it to find and to clear.
 */
static void test_huge_pages(void)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	bool huge = false;
	char *mem;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
		tap_skip("a kernel without huge pages", "huge pages");
		return;
	}
	do {
		mem = mem_alloc(&gpu, MEM_SYSTEM, 8 * HUGE);
		if (!mem)
			tap_bail("no system memory");
		huge = huge_kib(mem) > 0;
		mem_free(mem, 8 * HUGE);
	} while (!huge && now_ns() < end);
	tap_ok(huge, "host memory is in huge pages");
}

/* Memory of the program's own, registered; the GPU address may differ. */
static void test_userptr(void)
{
	static uint32_t statics[3 * GPU_PAGE / 4] __attribute__((aligned(64)));
	uint32_t *target = statics + GPU_PAGE / 4 + 16;
	HSAuint64 va = 0;

	tap_is(hsaKmtRegisterMemory(target, 256), 0, "register 256 bytes of static data");
	tap_is(hsaKmtMapMemoryToGPU(target, 256, &va), 0, "map them");
	if (!va)
		va = gpu_va(target);
	tap_ok((va & (GPU_PAGE - 1)) == (gpu_va(target) & (GPU_PAGE - 1)), "the offset in the page is kept");
	tap_ok(gpu_store(va + 4, 0xcafe), "the GPU stores there");
	tap_is(__atomic_load_n(target + 1, __ATOMIC_RELAXED), 0xcafe, "the program sees it");
	tap_is(hsaKmtUnmapMemoryToGPU(target), 0, "unmap");
	tap_is(hsaKmtDeregisterMemory(target), 0, "deregister");
}

static void test_available(void)
{
	uint64_t before = available(), with;
	void *mem;

	mem = mem_alloc(&gpu, MEM_VRAM, 16 * MIB);
	with = available();
	tap_ok(mem && before - with >= 16 * MIB && before - with < 20 * MIB,
	       "16 MiB of VRAM take 16 MiB (%llu KiB)", (unsigned long long)(before - with) >> 10);
	mem_free(mem, 16 * MIB);
	tap_is((int64_t)available(), (int64_t)before, "and give them back");
	mem = mem_alloc(&gpu, MEM_SYSTEM, 16 * MIB);
	tap_is((int64_t)available(), (int64_t)before, "system memory takes no VRAM");
	mem_free(mem, 16 * MIB);
}

static void test_fill_vram(void)
{
	uint64_t before = available(), size;
	HsaMemFlags flags = mem_flags(MEM_VRAM);
	void *mem = NULL;

	tap_ok(hsaKmtAllocMemory(gpu.node, before + 64 * MIB, flags, &mem) != HSAKMT_STATUS_SUCCESS,
	       "more than there is, is refused");
	tap_is((int64_t)available(), (int64_t)before, "at no cost");
	size = (before * 3 / 4) & ~(2 * MIB - 1);
	tap_is(hsaKmtAllocMemory(gpu.node, size, flags, &mem), 0, "3/4 of it in one piece (%llu MiB)",
	       (unsigned long long)size >> 20);
	if (mem)
		hsaKmtFreeMemory(mem, size);
	tap_is((int64_t)available(), (int64_t)before, "is given back");
}

/* VRAM that belonged to somebody else must arrive cleared. */
static void test_cleared(void)
{
	size_t size = 4 * MIB, i, dirty = 0;
	unsigned int round;
	void *mem;

	for (round = 0; round < 3; round++) {
		mem = NULL;
		if (hsaKmtAllocMemory(gpu.node, size, mem_flags(MEM_VRAM), &mem) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no VRAM");
		for (i = 0; i < size / 8; i++)
			dirty += ((uint64_t *)mem)[i] != 0;
		memset(mem, 0xee, size);
		hsaKmtFreeMemory(mem, size);
	}
	tap_is((int64_t)dirty, 0, "VRAM that is used again arrives cleared");
}

/* Contents stay while a buffer is unmapped and mapped again; so does the address. */
static void test_remap(void)
{
	volatile uint32_t *mem = mem_alloc(&gpu, MEM_VRAM, GPU_PAGE);
	HSAuint64 va;
	unsigned int i, wrong = 0;

	if (!mem)
		tap_bail("no VRAM");
	for (i = 1; i <= 100; i++) {
		wrong += hsaKmtUnmapMemoryToGPU((void *)mem) != HSAKMT_STATUS_SUCCESS;
		wrong += hsaKmtMapMemoryToGPU((void *)mem, GPU_PAGE, &va) != HSAKMT_STATUS_SUCCESS;
		wrong += !gpu_store(gpu_va(mem + i), i);
	}
	for (i = 1; i <= 100; i++)
		wrong += mem[i] != i;
	tap_is(wrong, 0, "100 times unmap, map and write: all contents are there");
	mem_free((void *)mem, GPU_PAGE);
}

/* Two processes have the same address and not the same memory. */
static void other_process(void *arg)
{
	volatile uint32_t *mem;

	(void)arg;
	/* Upstream's thunk keeps the parent's topology after a fork until it is released. */
	gpu_close();
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU in the child");
	mem = mem_alloc(&gpu, MEM_VRAM, GPU_PAGE);
	tap_ok(mem && mem[0] == 0 && gpu_store(gpu_va(mem), 42) && mem[0] == 42,
	       "a child has memory and a queue of its own");
	/* Left for the kernel to clean up. */
}

int main(void)
{
	uint64_t before, end;
	HSAKMT_STATUS s;
	int kind;

	tap_begin(600);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	s = queue_create(&q, &gpu, 16384);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue: %s", status_name(s));
	before = available();
	for (kind = MEM_SYSTEM; kind <= MEM_VRAM; kind++)
		test_kind(kind);
	for (kind = MEM_SYSTEM; kind <= MEM_VRAM; kind++)
		test_debugger(kind);
	test_huge_pages();
	test_userptr();
	test_available();
	test_fill_vram();
	test_cleared();
	test_remap();
	tap_child("other process", other_process, NULL);
	/* The kernel may clean up after a dead process a little later than wait() returns. */
	end = now_ns() + LONG_MS * 1000000ull;
	while (available() != before && now_ns() < end)
		sched_yield();
	tap_is((int64_t)available(), (int64_t)before, "no VRAM was lost, the dead child's included");
	tap_is(queue_destroy(&q), 0, "the queue is destroyed");
	gpu_close();
	return tap_done();
}
