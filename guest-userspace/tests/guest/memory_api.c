// SPDX-License-Identifier: MIT
/*
 * The memory calls of the library on a real kernel: what it knows of each type of pointer,
 * and what each call says of bad arguments. On Debian's library the same program says what
 * is right; host/thunk_pointers has more, with a kernel that does as it is told.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"
#include "pm4.h"
#include "tap.h"

#define BYTES		16384u
#define NO_NODE		9u

static const HsaMemMapFlags no_flags;
static struct gpu gpu;

static void *alloc(uint32_t node, HsaMemFlags flags)
{
	void *mem = NULL;

	if (hsaKmtAllocMemory(node, BYTES, flags, &mem) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no memory");
	return mem;
}

static void release(void *mem)
{
	hsaKmtUnmapMemoryToGPU(mem);
	tap_is(hsaKmtFreeMemory(mem, BYTES), 0, "freed");
}

static HsaPointerInfo query(const char *what, void *mem, HSA_POINTER_TYPE type)
{
	HsaPointerInfo info = { 0 }, inside;

	tap_is(hsaKmtSetMemoryUserData(mem, &info), 0, "%s: user data are taken", what);
	tap_is(hsaKmtQueryPointerInfo(mem, &info), 0, "%s: is known", what);
	tap_is(info.Type, type, "%s: its type", what);
	tap_ok(info.UserData == &info, "%s: user data come back", what);
	hsaKmtQueryPointerInfo((char *)mem + BYTES / 2 + 1, &inside);
	tap_ok(inside.Type == type && inside.GPUAddress == info.GPUAddress && inside.SizeInBytes == BYTES,
	       "%s: the same in its midst", what);
	return info;
}

static void test_allocated(void)
{
	static const enum mem_kind kind[] = { MEM_SYSTEM, MEM_GTT, MEM_VRAM };
	HsaPointerInfo info;
	unsigned int i;
	void *mem;

	for (i = 0; i < 3; i++) {
		const char *what = mem_kind_name(kind[i]);
		uint32_t node = kind[i] == MEM_VRAM ? gpu.node : 0;

		mem = alloc(node, mem_flags(kind[i]));
		info = query(what, mem, HSA_POINTER_ALLOCATED);
		tap_ok(info.CPUAddress == mem && info.GPUAddress == gpu_va(mem) && info.Node == node &&
		       info.MemFlags.Value == mem_flags(kind[i]).Value, "%s: where it is", what);
		tap_ok(!info.NMappedNodes && !info.NRegisteredNodes, "%s: nowhere mapped", what);
		tap_is(hsaKmtMapMemoryToGPUNodes(mem, BYTES, NULL, no_flags, 1, &gpu.node), 0, "%s: mapped", what);
		tap_is(hsaKmtFreeMemory(mem, BYTES), HSAKMT_STATUS_ERROR, "%s: not to be freed then", what);
		hsaKmtQueryPointerInfo(mem, &info);
		tap_ok(info.NMappedNodes == 1 && info.MappedNodes[0] == gpu.node, "%s: to the GPU", what);
		tap_is(hsaKmtUnmapMemoryToGPU(mem), 0, "%s: unmapped", what);
		hsaKmtQueryPointerInfo(mem, &info);
		tap_is(info.NMappedNodes, 0, "%s: nowhere any more", what);
		release(mem);
		tap_is(hsaKmtQueryPointerInfo(mem, &info), HSAKMT_STATUS_ERROR, "%s: unknown", what);
		tap_is(info.Type, HSA_POINTER_UNKNOWN, "%s: as it says", what);
	}
}

static void test_parts(void)
{
	HsaMemFlags flags = mem_flags(MEM_VRAM);
	HsaPointerInfo info;
	void *mem;

	flags.ui32.OnlyAddress = 1;
	mem = alloc(gpu.node, flags);
	info = query("an address alone", mem, HSA_POINTER_RESERVED_ADDR);
	tap_ok(!info.CPUAddress && info.GPUAddress == gpu_va(mem), "an address alone: no CPU address");
	tap_is(hsaKmtMapMemoryToGPU(mem, BYTES, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "nothing to map");
	release(mem);

	flags = mem_flags(MEM_VRAM);
	flags.ui32.NoAddress = 1;
	mem = alloc(gpu.node, flags);
	query("memory without address", mem, HSA_POINTER_ALLOCATED);
	tap_is(hsaKmtMapMemoryToGPU(mem, BYTES, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "nowhere to map it");
	release(mem);
}

static void test_registered(void)
{
	HsaPointerInfo info;
	HSAuint64 va = 0, again = 0;
	char *user;

	user = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (user == MAP_FAILED)
		tap_bail("mmap: %m");
	memset(user, 0, 2 * BYTES);
	tap_is(hsaKmtRegisterMemoryToNodes(user + 24, BYTES, 1, &gpu.node), 0, "user memory");
	tap_is(hsaKmtRegisterMemoryToNodes(user + 24, BYTES, 1, &gpu.node), 0, "once more");
	tap_is(hsaKmtMapMemoryToGPU(user + 24, BYTES, &va), 0, "mapped");
	tap_is(hsaKmtMapMemoryToGPU(user + 24, BYTES, &again), 0, "mapped again");
	tap_ok(va == again && (va & 4095) == (gpu_va(user) & 4095) + 24, "at one address of the GPU's");
	info = query("registered", user + 24, HSA_POINTER_REGISTERED_USER);
	tap_ok(info.CPUAddress == user + 24 && info.GPUAddress == va && info.NMappedNodes == 1 &&
	       info.NRegisteredNodes == 1 && info.RegisteredNodes[0] == gpu.node, "registered: all about it");
	hsaKmtQueryPointerInfo((void *)(uintptr_t)(va + 5000), &info);
	tap_ok(info.Type == HSA_POINTER_REGISTERED_USER && info.CPUAddress == user + 24,
	       "registered: found by the GPU's address, too");
	tap_is(hsaKmtUnmapMemoryToGPU(user + 24), 0, "unmapped");
	hsaKmtQueryPointerInfo(user + 24, &info);
	tap_is(info.NMappedNodes, 1, "once: still mapped");
	tap_is(hsaKmtUnmapMemoryToGPU(user + 24), 0, "unmapped");
	tap_is(hsaKmtDeregisterMemory(user + 24), 0, "let go");
	tap_is(hsaKmtQueryPointerInfo(user + 24, &info), 0, "once: still registered");
	tap_is(hsaKmtDeregisterMemory(user + 24), 0, "let go");
	tap_is(hsaKmtQueryPointerInfo(user + 24, &info), HSAKMT_STATUS_ERROR, "twice: unknown");
	munmap(user, 2 * BYTES);
}

static void test_graphics(void)
{
	HsaGraphicsResourceInfo res = { 0 };
	HsaPointerInfo info;
	HSAuint64 offset;
	void *mem = alloc(gpu.node, mem_flags(MEM_VRAM));
	int fd = -1;

	if (hsaKmtExportDMABufHandle((char *)mem + 4096, 4096, &fd, &offset) != HSAKMT_STATUS_SUCCESS) {
		tap_skip("the driver exports no memory", "an imported buffer");
		release(mem);
		return;
	}
	tap_is((int64_t)offset, 4096, "exported, with the offset");
	tap_is(hsaKmtExportDMABufHandle((char *)mem + 4096, BYTES, &fd, &offset),
	       HSAKMT_STATUS_INVALID_PARAMETER, "not beyond its end");
	tap_is(hsaKmtRegisterGraphicsHandleToNodes((HSAuint64)fd, &res, 1, &gpu.node), 0, "imported");
	tap_ok(res.SizeInBytes == BYTES && res.NodeId == gpu.node, "all of it");
	info = query("imported", res.MemoryAddress, HSA_POINTER_REGISTERED_GRAPHICS);
	tap_ok(info.NRegisteredNodes == 1 && info.RegisteredNodes[0] == gpu.node && !info.CPUAddress,
	       "imported: its nodes");
	tap_is(hsaKmtDeregisterMemory(res.MemoryAddress), 0, "let go");
	close(fd);
	release(mem);
}

static void test_statuses(void)
{
	uint32_t stranger = NO_NODE;
	HsaMemFlags flags = mem_flags(MEM_SYSTEM);
	HsaGpuTileConfig tiles = { 0 };
	HsaPointerInfo info;
	HSAuint64 n = 0;
	void *mem;
	int fd;

	tap_is(hsaKmtQueryPointerInfo(&n, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "no room for an answer");
	tap_is(hsaKmtQueryPointerInfo(&n, &info), HSAKMT_STATUS_ERROR, "memory of the stack");
	tap_is(hsaKmtSetMemoryUserData(&n, &n), HSAKMT_STATUS_ERROR, "user data for it");
	tap_is(hsaKmtAllocMemory(NO_NODE, BYTES, flags, &mem), HSAKMT_STATUS_INVALID_NODE_UNIT, "memory of no node");
	tap_is(hsaKmtAllocMemoryAlign(0, BYTES, 3 * 4096, flags, &mem), HSAKMT_STATUS_INVALID_PARAMETER,
	       "a bad alignment");
	tap_is(hsaKmtAllocMemoryAlign(0, BYTES, 1 << 21, flags, &mem), 0, "a good one");
	tap_is((int64_t)(gpu_va(mem) & ((1 << 21) - 1)), 0, "is kept");
	release(mem);
	tap_is(hsaKmtAvailableMemory(NO_NODE, &n), HSAKMT_STATUS_INVALID_NODE_UNIT, "room on no node");
	tap_is(hsaKmtAvailableMemory(gpu.node, &n), 0, "room on the GPU");
	tap_ok(n > 0, "there is some");
	tap_is(hsaKmtAvailableMemory(0, &n), HSAKMT_STATUS_ERROR, "room on a CPU");
	tap_is(hsaKmtSetMemoryPolicy(gpu.node, 0, 0, NULL, 0), HSAKMT_STATUS_NOT_IMPLEMENTED, "a policy");
	tap_is(hsaKmtRegisterMemoryToNodes(&n, 8, 1, &stranger), HSAKMT_STATUS_INVALID_NODE_UNIT,
	       "registered to no node");
	tap_is(hsaKmtRegisterMemoryToNodes(&n, 8, 0, &stranger), HSAKMT_STATUS_INVALID_PARAMETER, "to none");
	tap_is(hsaKmtRegisterMemoryWithFlags(&n, 8, mem_flags(MEM_GTT)), HSAKMT_STATUS_NOT_SUPPORTED,
	       "as non-paged memory");
	flags.ui32.CoarseGrain = flags.ui32.ExtendedCoherent = 1;
	tap_is(hsaKmtRegisterMemoryWithFlags(&n, 8, flags), HSAKMT_STATUS_INVALID_PARAMETER,
	       "as coarse and fine at once");
	mem = alloc(0, mem_flags(MEM_GTT));
	tap_is(hsaKmtRegisterMemory(mem, BYTES), HSAKMT_STATUS_INVALID_HANDLE, "what is memory of the GPU's");
	tap_is(hsaKmtDeregisterMemory(mem), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "what was not registered");
	tap_is(hsaKmtDeregisterMemory(&n), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "nor known");
	tap_is(hsaKmtMapMemoryToGPU(&n, 8, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "mapped what is unknown");
	tap_is(hsaKmtMapMemoryToGPUNodes(&n, 8, NULL, no_flags, 1, &gpu.node), HSAKMT_STATUS_ERROR,
	       "to nodes as well");
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, BYTES, NULL, no_flags, 1, &stranger),
	       HSAKMT_STATUS_INVALID_NODE_UNIT, "mapped to no node");
	tap_is(hsaKmtMapMemoryToGPU(NULL, BYTES, NULL), HSAKMT_STATUS_ERROR, "nothing mapped");
	tap_is(hsaKmtUnmapMemoryToGPU(NULL), 0, "nothing unmapped");
	tap_is(hsaKmtUnmapMemoryToGPU(&n), HSAKMT_STATUS_ERROR, "unmapped what is unknown");
	tap_is(hsaKmtUnmapMemoryToGPU(mem), 0, "unmapped what is not mapped");
	tap_is(hsaKmtFreeMemory(&n, 8), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "freed what is unknown");
	tap_is(hsaKmtFreeMemory(NULL, 8), HSAKMT_STATUS_ERROR, "freed nothing");
	tap_is(hsaKmtExportDMABufHandle(&n, 8, &fd, &n), HSAKMT_STATUS_INVALID_PARAMETER,
	       "exported what is unknown");
	tap_is(hsaKmtGetTileConfig(NO_NODE, &tiles), HSAKMT_STATUS_INVALID_NODE_UNIT, "tiles of no node");
	tap_is(hsaKmtGetTileConfig(gpu.node, &tiles), 0, "tiles of the GPU");
	tap_ok(tiles.GbAddrConfig != 0, "its address configuration");
	tap_is(hsaKmtReplaceAsanHeaderPage(mem), HSAKMT_STATUS_NOT_SUPPORTED, "no address sanitizer");
	tap_is(hsaKmtReturnAsanHeaderPage(mem), HSAKMT_STATUS_NOT_SUPPORTED, "neither way");
	tap_is(hsaKmtMapGraphicHandle(gpu.node, 0, 0, 0, 8, &n), HSAKMT_STATUS_NOT_IMPLEMENTED,
	       "graphics handles of old");
	release(mem);
}

int main(void)
{
	tap_begin(120);
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	test_allocated();
	test_parts();
	test_registered();
	test_graphics();
	test_statuses();
	gpu_close();
	return tap_done();
}
