// SPDX-License-Identifier: MIT
/* Memory: kinds, flags, registration, mapping, fork. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd_extra.h"
#include "thunk_fake.h"

#define NR_ALLOC FAKE_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU)
#define NR_FREE FAKE_NR(AMDKFD_IOC_FREE_MEMORY_OF_GPU)
#define NR_MAP FAKE_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU)
#define NR_UNMAP FAKE_NR(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU)
#define COMMON ((uint32_t)(KFD_MEM_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | \
			   KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE))

static const HsaMemFlags host = { .ui32 = { .HostAccess = 1 } };
static const HsaMemFlags gtt = { .ui32 = { .HostAccess = 1, .NonPaged = 1 } };
static const HsaMemFlags vram = { .ui32 = { .NonPaged = 1, .CoarseGrain = 1 } };

static void kinds(void)
{
	HsaMemFlags flags = vram;
	char order[64];
	void *mem;
	int from;

	fake_open();
	from = fake.calls;
	tap_is(hsaKmtAllocMemory(0, 8192, host, &mem), HSAKMT_STATUS_SUCCESS, "pageable memory");
	tap_is(fake.last_alloc.flags, COMMON | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR |
	       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT, "is a user pointer");
	tap_ok(fake.last_alloc.va_addr == (uintptr_t)mem && fake.last_alloc.mmap_offset == (uintptr_t)mem,
	       "at one address on both sides");
	memset(mem, 1, 8192);
	tap_is(hsaKmtFreeMemory(mem, 8192), HSAKMT_STATUS_SUCCESS, "free");
	fake_order(order, sizeof(order), from);
	tap_ok(!strcmp(order, "16 17"), "two calls (%s)", order);

	from = fake.calls;
	tap_is(hsaKmtAllocMemory(0, 4096, gtt, &mem), HSAKMT_STATUS_SUCCESS, "non-paged memory");
	tap_is(fake.last_alloc.flags, COMMON | KFD_IOC_ALLOC_MEM_FLAGS_GTT |
	       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT, "is GTT");
	tap_is(fake.log[fake_find(FAKE_MMAP, from)].size, 0, "mapped through the render node");
	memset(mem, 1, 4096);
	hsaKmtFreeMemory(mem, 4096);

	from = fake.calls;
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 4096, vram, &mem), HSAKMT_STATUS_SUCCESS, "video memory");
	tap_is(fake.last_alloc.flags, COMMON | KFD_IOC_ALLOC_MEM_FLAGS_VRAM, "flags");
	tap_is(fake_count(FAKE_MMAP, from), 1, "mapped without access as well");
	hsaKmtFreeMemory(mem, 4096);

	flags.ui32.HostAccess = 1;
	flags.ui32.CoarseGrain = 0;
	hsaKmtAllocMemory(FAKE_GPU_NODE, 4096, flags, &mem);
	tap_is(fake.last_alloc.flags, COMMON | KFD_IOC_ALLOC_MEM_FLAGS_VRAM |
	       KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT, "public, fine grain");
	memset(mem, 1, 4096);
	hsaKmtFreeMemory(mem, 4096);

	flags = vram;
	flags.ui32.NoAddress = 1;
	from = fake.calls;
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 4096, flags, &mem), HSAKMT_STATUS_SUCCESS,
	       "memory without address");
	tap_ok(!fake.last_alloc.va_addr && (uintptr_t)mem >> 47 && !fake_count(FAKE_MMAP, from),
	       "a token, no mapping");
	tap_is(hsaKmtMapMemoryToGPU(mem, 4096, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "cannot be mapped");
	hsaKmtFreeMemory(mem, 4096);

	flags = vram;
	flags.ui32.OnlyAddress = 1;
	from = fake.calls;
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 4096, flags, &mem), HSAKMT_STATUS_SUCCESS,
	       "address without memory");
	tap_is(fake.calls, from, "is none of the kernel's business");
	tap_is(hsaKmtMapMemoryToGPU(mem, 4096, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "cannot be mapped");
	hsaKmtFreeMemory(mem, 4096);
	tap_is(fake.live_bos, 1, "only the MMIO page is left");
}

static void arguments(void)
{
	HsaMemFlags flags = host;
	void *mem = NULL;

	fake_open();
	tap_is(hsaKmtAllocMemory(0, 100, host, &mem), HSAKMT_STATUS_INVALID_PARAMETER, "size 100");
	tap_is(hsaKmtAllocMemory(0, 0, host, &mem), HSAKMT_STATUS_INVALID_PARAMETER, "size 0");
	tap_is(hsaKmtAllocMemory(0, 4096, host, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "no result");
	tap_is(hsaKmtAllocMemory(9, 4096, host, &mem), HSAKMT_STATUS_INVALID_NODE_UNIT, "bad node");
	tap_is(hsaKmtAllocMemoryAlign(0, 4096, 3 * 4096, host, &mem), HSAKMT_STATUS_INVALID_PARAMETER,
	       "alignment no power of two");
	tap_is(hsaKmtAllocMemoryAlign(0, 4096, 1 << 21, host, &mem), HSAKMT_STATUS_SUCCESS, "2 MiB");
	tap_is((int64_t)((uintptr_t)mem & ((1 << 21) - 1)), 0, "is aligned");
	hsaKmtFreeMemory(mem, 4096);
	flags.ui32.CoarseGrain = flags.ui32.Uncached = 1;
	tap_is(hsaKmtAllocMemory(0, 4096, flags, &mem), HSAKMT_STATUS_INVALID_PARAMETER, "two coherences");
	flags = host;
	flags.ui32.FixedAddress = 1;
	mem = NULL;
	tap_is(hsaKmtAllocMemory(0, 4096, flags, &mem), HSAKMT_STATUS_INVALID_PARAMETER, "fixed at NULL");
	tap_is(hsaKmtFreeMemory(NULL, 0), HSAKMT_STATUS_ERROR, "free NULL");
	tap_is(hsaKmtFreeMemory(&mem, 0), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "free of foreign memory");
	fake_fail(NR_ALLOC, 1, ENOMEM);
	tap_is(hsaKmtAllocMemory(0, 4096, host, &mem), HSAKMT_STATUS_ERROR, "system memory runs out");
	fake_fail(NR_ALLOC, 1, ENOMEM);
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 4096, vram, &mem), HSAKMT_STATUS_NO_MEMORY,
	       "video memory runs out");
	fake_fail(FAKE_MMAP, 1, ENOMEM);
	tap_is(hsaKmtAllocMemory(0, 4096, gtt, &mem), HSAKMT_STATUS_ERROR, "mmap fails");
	tap_is(fake.live_bos, 1, "nothing leaks");
}

static void mapping(void)
{
	uint32_t node = FAKE_GPU_NODE, cpu = 0;
	HsaMemMapFlags none = { .Value = 0 };
	HSAuint64 va = 1;
	void *mem;
	int from;

	fake_open();
	hsaKmtAllocMemory(0, 4096, host, &mem);
	tap_is(hsaKmtMapMemoryToGPU(mem, 4096, &va), HSAKMT_STATUS_SUCCESS, "map");
	tap_is((int64_t)va, 0, "at no other address");
	tap_is(hsaKmtFreeMemory(mem, 4096), HSAKMT_STATUS_ERROR, "free while mapped");
	from = fake.calls;
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, 4096, &va, none, 1, &node), HSAKMT_STATUS_SUCCESS, "map to it");
	tap_is(fake_count(NR_MAP, from), 0, "again takes no call");
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, 4096, &va, none, 1, &cpu), HSAKMT_STATUS_ERROR, "map to a CPU");
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, 4096, &va, none, 0, &node), HSAKMT_STATUS_INVALID_PARAMETER,
	       "map to nobody");
	tap_is(hsaKmtUnmapMemoryToGPU(mem), HSAKMT_STATUS_SUCCESS, "unmap");
	from = fake.calls;
	tap_is(hsaKmtUnmapMemoryToGPU(mem), HSAKMT_STATUS_SUCCESS, "unmap what is not mapped");
	tap_is(fake.calls, from, "takes no call");
	fake_fail(NR_MAP, 1, ENOMEM);
	tap_is(hsaKmtMapMemoryToGPU(mem, 4096, &va), HSAKMT_STATUS_ERROR, "map fails");
	tap_is(hsaKmtFreeMemory(mem, 4096), HSAKMT_STATUS_SUCCESS, "free");
	tap_is(hsaKmtMapMemoryToGPU(mem, 4096, &va), HSAKMT_STATUS_INVALID_PARAMETER, "map freed memory");
	tap_is(hsaKmtMapMemoryToGPU(NULL, 4096, &va), HSAKMT_STATUS_ERROR, "map NULL");
	tap_is(hsaKmtUnmapMemoryToGPU(NULL), HSAKMT_STATUS_SUCCESS, "unmap NULL");
}

static void registration(void)
{
	uint32_t node = FAKE_GPU_NODE;
	HSAuint64 va = 0, va2 = 0;
	HsaPointerInfo info;
	char *buf;
	int bos, from;

	fake_open();
	bos = fake.live_bos;
	buf = malloc(20000);
	tap_is(hsaKmtRegisterMemory(buf + 100, 9000), HSAKMT_STATUS_SUCCESS, "register unaligned memory");
	tap_is(fake.last_alloc.flags, COMMON | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, "flags");
	tap_is((int64_t)fake.last_alloc.mmap_offset, (int64_t)((uintptr_t)(buf + 100) & ~4095ul), "whole pages");
	tap_ok(fake.last_alloc.va_addr != fake.last_alloc.mmap_offset, "at an address of its own");
	tap_is(hsaKmtRegisterMemory(buf + 100, 9000), HSAKMT_STATUS_SUCCESS, "register it again");
	tap_is(fake.live_bos, bos + 1, "makes no second buffer");
	tap_is(hsaKmtRegisterMemory(buf + 100, 500), HSAKMT_STATUS_SUCCESS, "a part of it");
	tap_is(fake.live_bos, bos + 2, "is a buffer of its own");

	tap_is(hsaKmtMapMemoryToGPU(buf + 100, 9000, &va), HSAKMT_STATUS_SUCCESS, "map");
	tap_is((int64_t)(va & 4095), (int64_t)((uintptr_t)(buf + 100) & 4095), "keeps the page offset");
	from = fake.calls;
	tap_is(hsaKmtMapMemoryToGPU(buf + 100, 9000, &va2), HSAKMT_STATUS_SUCCESS, "map again");
	tap_ok(va == va2 && !fake_count(NR_MAP, from), "counts only");
	tap_is(hsaKmtQueryPointerInfo(buf + 5000, &info), HSAKMT_STATUS_SUCCESS, "query the middle");
	tap_ok(info.Type == HSA_POINTER_REGISTERED_USER && info.CPUAddress == buf + 100 &&
	       info.SizeInBytes == 9000 && info.GPUAddress == va && info.NMappedNodes == 1 &&
	       info.MappedNodes[0] == FAKE_GPU_NODE, "says all about it");
	tap_is(hsaKmtDeregisterMemory(buf + 100), HSAKMT_STATUS_MEMORY_NOT_REGISTERED,
	       "two buffers at this address: which?");
	tap_is(hsaKmtUnmapMemoryToGPU((void *)(uintptr_t)va), HSAKMT_STATUS_SUCCESS, "unmap by GPU address");
	tap_is(fake_count(NR_UNMAP, from), 0, "the first only counts");
	tap_is(hsaKmtUnmapMemoryToGPU((void *)(uintptr_t)va), HSAKMT_STATUS_SUCCESS, "unmap");
	tap_is(fake_count(NR_UNMAP, from), 1, "the second unmaps");
	tap_is(hsaKmtDeregisterMemory((void *)(uintptr_t)va), HSAKMT_STATUS_SUCCESS, "deregister");
	tap_is(fake.live_bos, bos + 2, "once: still there");
	tap_is(hsaKmtDeregisterMemory((void *)(uintptr_t)va), HSAKMT_STATUS_SUCCESS, "deregister");
	tap_is(fake.live_bos, bos + 1, "twice: gone");
	tap_is(hsaKmtDeregisterMemory(buf + 100), HSAKMT_STATUS_SUCCESS, "the other one");
	tap_is(fake.live_bos, bos, "gone as well");
	tap_is(hsaKmtDeregisterMemory(buf + 100), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "no more");

	tap_is(hsaKmtRegisterMemoryToNodes(buf, 4096, 1, &node), HSAKMT_STATUS_SUCCESS, "to a node");
	tap_is(hsaKmtRegisterMemoryToNodes(buf, 4096, 1, &node), HSAKMT_STATUS_SUCCESS, "and again");
	hsaKmtQueryPointerInfo(buf, &info);
	tap_ok(info.NRegisteredNodes == 1 && info.RegisteredNodes[0] == FAKE_GPU_NODE, "known as such");
	hsaKmtDeregisterMemory(buf);
	hsaKmtDeregisterMemory(buf);
	tap_is(fake.live_bos, bos, "nothing leaks");
	free(buf);
}

/* Another registration of the same memory, finished while ours is in the kernel. */
static char raced[4096] __attribute__((aligned(4096)));

static void register_meanwhile(int nr, void *arg)
{
	(void)arg;
	if (nr != NR_ALLOC)
		return;
	fake.hook = NULL;
	if (hsaKmtRegisterMemory(raced, sizeof(raced)) != HSAKMT_STATUS_SUCCESS)
		tap_bail("the inner registration fails");
}

static void registration_race(void)
{
	int bos;

	fake_open();
	bos = fake.live_bos;
	fake.hook = register_meanwhile;
	tap_is(hsaKmtRegisterMemory(raced, sizeof(raced)), HSAKMT_STATUS_SUCCESS, "two at once");
	tap_is(fake.live_bos, bos + 1, "share a buffer");
	tap_is(hsaKmtDeregisterMemory(raced), HSAKMT_STATUS_SUCCESS, "one lets go");
	tap_is(fake.live_bos, bos + 1, "the other still has it");
	tap_is(hsaKmtDeregisterMemory(raced), HSAKMT_STATUS_SUCCESS, "the other lets go");
	tap_is(fake.live_bos, bos, "it is freed");
}

static void info(void)
{
	HsaPointerInfo info;
	int fd = 0, from;
	HSAuint64 off;
	char *mem;

	fake_open();
	hsaKmtAllocMemory(FAKE_GPU_NODE, 8192, gtt, (void **)&mem);
	tap_is(hsaKmtQueryPointerInfo(mem + 5000, &info), HSAKMT_STATUS_SUCCESS, "query");
	tap_ok(info.Type == HSA_POINTER_ALLOCATED && info.GPUAddress == (uintptr_t)mem &&
	       info.CPUAddress == mem && info.SizeInBytes == 8192 && info.Node == FAKE_GPU_NODE, "answer");
	tap_is(hsaKmtQueryPointerInfo(mem + 8192, &info), HSAKMT_STATUS_ERROR, "one byte behind");
	tap_is(info.Type, HSA_POINTER_UNKNOWN, "is unknown");
	tap_is(hsaKmtSetMemoryUserData(mem, &fd), HSAKMT_STATUS_SUCCESS, "user data");
	hsaKmtQueryPointerInfo(mem, &info);
	tap_ok(info.UserData == &fd, "comes back");
	from = fake.calls;
	tap_is(hsaKmtExportDMABufHandle(mem + 4096, 4096, &fd, &off), HSAKMT_STATUS_SUCCESS, "export");
	tap_ok(fd == 77 && off == 4096, "with its offset");
	tap_is(hsaKmtExportDMABufHandle(mem + 4096, 8192, &fd, &off), HSAKMT_STATUS_INVALID_PARAMETER,
	       "export beyond the end");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_EXPORT_DMABUF), from), 1, "is not tried");
	hsaKmtFreeMemory(mem, 8192);
}

static void scratch(void)
{
	HsaMemFlags flags = { .ui32 = { .Scratch = 1 } };
	void *mem, *other;
	int bos;

	fake_open();
	bos = fake.live_bos;
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 1 << 20, flags, &mem), HSAKMT_STATUS_SUCCESS, "scratch");
	tap_is((int64_t)((uintptr_t)mem & 0xffff), 0, "at 64 KiB");
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 1 << 20, flags, &other), HSAKMT_STATUS_NO_MEMORY, "once only");
	tap_is(hsaKmtMapMemoryToGPU((char *)mem + 0x10000, 0x10000, NULL), HSAKMT_STATUS_SUCCESS, "a slice");
	tap_is(fake.live_bos, bos + 1, "has memory");
	tap_is(hsaKmtMapMemoryToGPU((char *)mem + 0xf0000, 0x20000, NULL), HSAKMT_STATUS_INVALID_PARAMETER,
	       "a slice beyond the end");
	tap_is(hsaKmtUnmapMemoryToGPU((char *)mem + 0x10000), HSAKMT_STATUS_SUCCESS, "unmap");
	tap_is(fake.live_bos, bos, "frees it");
	hsaKmtMapMemoryToGPU(mem, 0x10000, NULL);
	tap_is(hsaKmtFreeMemory(mem, 1 << 20), HSAKMT_STATUS_SUCCESS, "free with a slice mapped");
	tap_is(fake.live_bos, bos, "frees the slice too");
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 1 << 20, flags, &mem), HSAKMT_STATUS_SUCCESS, "scratch again");
}

static int reads_in_child(const volatile char *p, char want)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);	/* the sanitizer's report is not wanted */
		_exit(*p != want);
	}
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %m");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void forking(void)
{
	HsaQueueResource res = { 0 };
	static char ring[4096];
	char *small, *big;

	fake_open();
	hsaKmtAllocMemory(0, 4096, host, (void **)&small);
	hsaKmtAllocMemory(0, 4 << 20, host, (void **)&big);
	small[5] = 'x';
	big[3 << 20] = 'y';
	tap_is(reads_in_child(small + 5, 'x'), 0, "a child reads the program's memory");
	tap_is(reads_in_child(big + (3 << 20), 'y'), 0, "also when it is big");
	hsaKmtCreateQueue(FAKE_GPU_NODE, HSA_QUEUE_COMPUTE, 100, 0, ring, 4096, NULL, &res);
	tap_is(reads_in_child((char *)(uintptr_t)fake.last_queue.ctx_save_restore_address, 0),
	       100 + SIGSEGV, "a child has no save area, which a copy would evict");
	tap_is(reads_in_child((char *)(uintptr_t)res.QueueWptrValue, 0), 100 + SIGSEGV,
	       "and no queue page");
	hsaKmtDestroyQueue(res.QueueId);
	hsaKmtFreeMemory(small, 4096);
	hsaKmtFreeMemory(big, 4 << 20);
}

static void environment(void)
{
	void *mem;

	setenv("HSA_ZFB", "1", 1);
	setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 1);
	setenv("HSA_DISABLE_CACHE", "1", 1);
	fake_open();
	tap_is(hsaKmtAllocMemory(FAKE_GPU_NODE, 4096, vram, &mem), HSAKMT_STATUS_SUCCESS, "HSA_ZFB");
	tap_is(fake.last_alloc.flags, COMMON | KFD_IOC_ALLOC_MEM_FLAGS_GTT |
	       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED,
	       "video memory is system memory, HSA_DISABLE_CACHE makes it uncached");
	hsaKmtFreeMemory(mem, 4096);
	hsaKmtAllocMemory(0, 4096, host, &mem);
	tap_ok(fake.last_alloc.flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT, "HSA_USERPTR_FOR_PAGED_MEM=0 gives GTT");
	hsaKmtFreeMemory(mem, 4096);
}

int main(void)
{
	tap_begin(120);
	fake_scenario("kinds of memory", kinds);
	fake_scenario("arguments and failures", arguments);
	fake_scenario("mapping", mapping);
	fake_scenario("registration", registration);
	fake_scenario("registration race", registration_race);
	fake_scenario("pointer info and export", info);
	fake_scenario("scratch", scratch);
	fake_scenario("fork", forking);
	fake_scenario("environment", environment);
	return tap_done();
}
