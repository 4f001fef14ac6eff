// SPDX-License-Identifier: MIT
/*
 * What the library knows of memory: every type of pointer, on one GPU and on two, buffers
 * that come from elsewhere, and the status of each memory call when its arguments are wrong
 * or the device is not open. The statuses are those of the stock library, version 6.2.4.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd_extra.h"
#include "thunk_fake.h"

#define NR_MAP FAKE_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU)
#define NR_INFO FAKE_NR(AMDKFD_IOC_GET_DMABUF_INFO)
#define NR_IMPORT FAKE_NR(AMDKFD_IOC_IMPORT_DMABUF)
#define BYTES 16384ull
#define BIG_METADATA 100u	/* more than the library makes room for at first */

static const HsaMemFlags paged = { .ui32 = { .HostAccess = 1 } };
static const HsaMemFlags gtt = { .ui32 = { .HostAccess = 1, .NonPaged = 1 } };
static const HsaMemFlags vram = { .ui32 = { .HostAccess = 1, .NonPaged = 1, .CoarseGrain = 1 } };
static const HsaMemMapFlags no_flags;
static uint32_t both[2] = { FAKE_GPU_NODE, FAKE_GPU2_NODE };

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
	hsaKmtFreeMemory(mem, BYTES);
}

static uint64_t va_of(const void *mem)
{
	return (uintptr_t)mem;
}

/* Asks about the start of @mem and a byte in its midst; user data go in and come out. */
static HsaPointerInfo query(const char *what, void *mem, HSA_POINTER_TYPE type)
{
	HsaPointerInfo info = { 0 }, inside;
	char *middle = (char *)mem + BYTES / 2 + 1;

	tap_is(hsaKmtSetMemoryUserData(mem, &info), HSAKMT_STATUS_SUCCESS, "%s: user data are taken", what);
	tap_is(hsaKmtQueryPointerInfo(mem, &info), HSAKMT_STATUS_SUCCESS, "%s: is known", what);
	tap_is(info.Type, type, "%s: its type", what);
	tap_ok(info.UserData == &info, "%s: user data come back", what);
	hsaKmtQueryPointerInfo(middle, &inside);
	tap_ok(inside.Type == type && inside.GPUAddress == info.GPUAddress && inside.SizeInBytes == BYTES,
	       "%s: the same in its midst", what);
	return info;
}

static void types(void)
{
	HsaMemFlags flags = gtt;
	HsaPointerInfo info;
	HSAuint64 va = 0;
	void *mem;
	char *user;

	fake_open();
	tap_is(hsaKmtQueryPointerInfo((void *)0x123456789000, &info), HSAKMT_STATUS_ERROR, "unknown");
	tap_ok(info.Type == HSA_POINTER_UNKNOWN && !info.SizeInBytes && !info.MappedNodes, "and nothing said");
	tap_is(hsaKmtSetMemoryUserData((void *)0x123456789000, &info), HSAKMT_STATUS_ERROR, "nor kept for it");
	tap_is(hsaKmtQueryPointerInfo(&info, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "no room for the answer");

	mem = alloc(0, paged);
	info = query("pageable", mem, HSA_POINTER_ALLOCATED);
	tap_ok(info.CPUAddress == mem && info.GPUAddress == va_of(mem) && info.Node == 0 &&
	       info.MemFlags.Value == paged.Value, "pageable: where it is");
	tap_ok(!info.NMappedNodes && !info.NRegisteredNodes, "pageable: nowhere mapped");
	release(mem);

	mem = alloc(FAKE_GPU_NODE, vram);
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	info = query("VRAM", mem, HSA_POINTER_ALLOCATED);
	tap_ok(info.Node == FAKE_GPU_NODE && info.NMappedNodes == 1 &&
	       info.MappedNodes[0] == FAKE_GPU_NODE && info.MemFlags.Value == vram.Value,
	       "VRAM: whose it is, where it is mapped");
	hsaKmtUnmapMemoryToGPU(mem);
	hsaKmtQueryPointerInfo(mem, &info);
	tap_ok(!info.NMappedNodes && !info.MappedNodes, "VRAM: not mapped any more");
	release(mem);
	tap_is(hsaKmtQueryPointerInfo(mem, &info), HSAKMT_STATUS_ERROR, "VRAM: freed, unknown");

	flags.ui32.OnlyAddress = 1;
	mem = alloc(FAKE_GPU_NODE, flags);
	info = query("an address alone", mem, HSA_POINTER_RESERVED_ADDR);
	tap_ok(!info.CPUAddress && info.GPUAddress == va_of(mem), "an address alone: no CPU address");
	release(mem);

	flags = gtt;
	flags.ui32.NoAddress = 1;
	mem = alloc(FAKE_GPU_NODE, flags);
	query("memory without address", mem, HSA_POINTER_ALLOCATED);
	release(mem);

	user = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (user == MAP_FAILED || hsaKmtRegisterMemory(user + 24, BYTES) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtMapMemoryToGPU(user + 24, BYTES, &va) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no user pointer");
	info = query("registered", user + 24, HSA_POINTER_REGISTERED_USER);
	tap_ok(info.CPUAddress == user + 24 && info.GPUAddress == va && info.SizeInBytes == BYTES &&
	       info.MappedNodes[0] == FAKE_GPU_NODE, "registered: both addresses");
	hsaKmtQueryPointerInfo((void *)(uintptr_t)(va + 5000), &info);
	tap_ok(info.Type == HSA_POINTER_REGISTERED_USER && info.CPUAddress == user + 24,
	       "registered: found by the GPU's address, too");
	hsaKmtUnmapMemoryToGPU(user + 24);
	hsaKmtDeregisterMemory(user + 24);
	tap_is(hsaKmtQueryPointerInfo(user + 24, &info), HSAKMT_STATUS_ERROR, "registered: no more");
	munmap(user, 2 * BYTES);
}

static void graphics(void)
{
	HsaGraphicsResourceInfo res = { 0 };
	uint32_t node = FAKE_GPU_NODE;
	HsaPointerInfo info;
	unsigned int i, wrong = 0;
	int bos, from;

	fake.dmabuf_size = BYTES;
	fake.dmabuf_metadata = BIG_METADATA;
	fake_open();
	bos = fake.live_bos;
	from = fake.calls;
	tap_is(hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF, &res, 1, &node), HSAKMT_STATUS_SUCCESS,
	       "a dma-buf");
	tap_ok(fake_count(NR_INFO, from) == 2 && fake_count(NR_IMPORT, from) == 1,
	       "asked for twice, since it has much metadata");
	for (i = 0; i < BIG_METADATA; i++)
		wrong += ((const unsigned char *)res.Metadata)[i] != 0x5a;
	tap_ok(res.SizeInBytes == BYTES && res.MetadataSizeInBytes == BIG_METADATA && !wrong &&
	       res.NodeId == FAKE_GPU_NODE && !(va_of(res.MemoryAddress) & 0x3ffff), "all of it told");
	info = query("graphics", res.MemoryAddress, HSA_POINTER_REGISTERED_GRAPHICS);
	tap_ok(info.NRegisteredNodes == 1 && info.RegisteredNodes[0] == FAKE_GPU_NODE && !info.CPUAddress &&
	       info.MemFlags.ui32.CoarseGrain, "graphics: its nodes");
	tap_is(hsaKmtMapMemoryToGPU(res.MemoryAddress, BYTES, NULL), HSAKMT_STATUS_SUCCESS, "graphics: mapped");
	hsaKmtUnmapMemoryToGPU(res.MemoryAddress);
	tap_is(hsaKmtDeregisterMemory(res.MemoryAddress), HSAKMT_STATUS_SUCCESS, "graphics: let go");
	tap_is(fake.live_bos, bos, "graphics: freed");

	tap_is(hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF, &res, 0, NULL), HSAKMT_STATUS_SUCCESS,
	       "without nodes");
	query("a token", res.MemoryAddress, HSA_POINTER_REGISTERED_GRAPHICS);
	tap_is(hsaKmtMapMemoryToGPU(res.MemoryAddress, BYTES, NULL), HSAKMT_STATUS_INVALID_PARAMETER,
	       "a token: not to be mapped here");
	hsaKmtDeregisterMemory(res.MemoryAddress);

	tap_is(hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF + 1, &res, 1, &node), HSAKMT_STATUS_ERROR,
	       "no dma-buf of ours");
	tap_is(hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF, &res, 1, NULL),
	       HSAKMT_STATUS_INVALID_PARAMETER, "nodes that are not there");
	fake_fail(NR_IMPORT, 1, ENOMEM);
	tap_is(hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF, &res, 1, &node), HSAKMT_STATUS_ERROR,
	       "an import that fails");
	tap_is(fake.live_bos, bos, "nothing is left");
}

static void shared(void)
{
	uint32_t node = FAKE_GPU_NODE;
	HsaSharedMemoryHandle handle;
	HsaPointerInfo info;
	HSAuint64 size = 0;
	void *mem, *other = NULL;
	int bos;

	fake_open();
	mem = alloc(FAKE_GPU_NODE, vram);
	bos = fake.live_bos;
	tap_is(hsaKmtShareMemory(mem, BYTES, &handle), HSAKMT_STATUS_ERROR, "a kernel without IPC handles");
	fake.ipc_size = BYTES;
	tap_is(hsaKmtShareMemory(mem, BYTES, &handle), HSAKMT_STATUS_SUCCESS, "one with them");
	tap_is(hsaKmtShareMemory(&handle, BYTES, &handle), HSAKMT_STATUS_INVALID_PARAMETER, "not of any memory");
	tap_is(hsaKmtRegisterSharedHandleToNodes(&handle, &other, &size, 1, &node), HSAKMT_STATUS_SUCCESS,
	       "taken by its handle");
	tap_is((int64_t)size, BYTES, "of the size that was shared");
	info = query("shared", other, HSA_POINTER_REGISTERED_SHARED);
	tap_ok(info.Node == FAKE_GPU_NODE && info.NRegisteredNodes == 1 &&
	       info.RegisteredNodes[0] == FAKE_GPU_NODE && info.MemFlags.ui32.HostAccess, "shared: its nodes");
	memset(other, 1, BYTES);
	hsaKmtMapMemoryToGPU(other, BYTES, NULL);
	hsaKmtUnmapMemoryToGPU(other);
	tap_is(hsaKmtDeregisterMemory(other), HSAKMT_STATUS_SUCCESS, "shared: let go");
	tap_is(hsaKmtRegisterSharedHandle(&handle, &other, &size), HSAKMT_STATUS_SUCCESS, "without nodes");
	hsaKmtQueryPointerInfo(other, &info);
	tap_is(info.NRegisteredNodes, 0, "they are all");
	hsaKmtDeregisterMemory(other);
	tap_is(fake.live_bos, bos, "nothing is left");
	tap_is(hsaKmtRegisterSharedHandleToNodes(&handle, &other, &size, 1, NULL),
	       HSAKMT_STATUS_INVALID_PARAMETER, "nodes that are not there");
	memset(&handle, 0, sizeof(handle));
	tap_is(hsaKmtRegisterSharedHandle(&handle, &other, &size), HSAKMT_STATUS_INVALID_PARAMETER,
	       "a handle of nothing");
	tap_is(hsaKmtRegisterSharedHandle(NULL, &other, &size), HSAKMT_STATUS_INVALID_PARAMETER, "none at all");
	release(mem);
}

/* The GPUs of the last MAP are exactly these nodes, in any order. */
static bool mapped_to(const void *mem, unsigned int n, const uint32_t *nodes)
{
	HsaPointerInfo info;
	unsigned int i, j, found = 0;

	if (hsaKmtQueryPointerInfo(mem, &info) != HSAKMT_STATUS_SUCCESS || info.NMappedNodes != n)
		return false;
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			found += info.MappedNodes[i] == nodes[j];
	return found == n;
}

static void two_gpus(void)
{
	HSAuint64 va;
	void *mem;
	int from;

	fake.gpus = 2;
	fake_open();
	mem = alloc(0, gtt);
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	tap_ok(mapped_to(mem, 2, both), "system memory is mapped to all GPUs");
	from = fake.calls;
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, BYTES, &va, no_flags, 1, &both[1]), HSAKMT_STATUS_SUCCESS,
	       "to one of them");
	tap_ok(mapped_to(mem, 1, &both[1]), "takes it from the other");
	tap_is(fake_count(NR_MAP, from), 0, "and maps nothing again");
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, BYTES, &va, no_flags, 2, both), HSAKMT_STATUS_SUCCESS, "to both");
	tap_ok(fake.last_map_count == 1 && fake.last_map[0] == FAKE_GPU_ID, "maps it to the one that is new");
	fake_fail(NR_MAP, 1, EINVAL);
	hsaKmtUnmapMemoryToGPU(mem);
	tap_is(hsaKmtMapMemoryToGPU(mem, BYTES, NULL), HSAKMT_STATUS_ERROR, "a map that fails");
	tap_ok(mapped_to(mem, 0, NULL), "maps nothing");
	release(mem);

	mem = alloc(FAKE_GPU2_NODE, vram);
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	tap_ok(mapped_to(mem, 1, &both[1]), "VRAM of a GPU without peers is its own");
	release(mem);

	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tap_is(hsaKmtRegisterMemoryToNodes(mem, BYTES, 1, &both[1]), HSAKMT_STATUS_SUCCESS, "user memory, one node");
	tap_is(hsaKmtRegisterMemoryToNodes(mem, BYTES, 2, both), HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED,
	       "not to others as well");
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	tap_ok(mapped_to(mem, 1, &both[1]), "mapped where it is registered");
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, BYTES, &va, no_flags, 2, both), HSAKMT_STATUS_SUCCESS,
	       "its nodes are not changed by a map");
	tap_ok(mapped_to(mem, 1, &both[1]), "as it says");
	hsaKmtUnmapMemoryToGPU(mem);
	hsaKmtUnmapMemoryToGPU(mem);
	tap_ok(mapped_to(mem, 0, NULL), "unmapped as often");
	hsaKmtDeregisterMemory(mem);
	munmap(mem, BYTES);
}

static void peers(void)
{
	HsaGraphicsResourceInfo res = { 0 };
	void *mem;

	fake.gpus = 2;
	fake.peers = true;
	fake.dmabuf_size = BYTES;
	fake_open();
	mem = alloc(FAKE_GPU2_NODE, vram);
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	tap_ok(mapped_to(mem, 2, both), "VRAM is mapped to a peer as well");
	tap_is(fake.last_map[0], FAKE_GPU2_ID, "first to its own GPU");
	release(mem);
	hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF, &res, 1, &both[1]);
	hsaKmtMapMemoryToGPU(res.MemoryAddress, BYTES, NULL);
	tap_ok(mapped_to(res.MemoryAddress, 1, &both[1]), "an import where it is registered");
	tap_is(hsaKmtMapMemoryToGPUNodes(res.MemoryAddress, BYTES, NULL, no_flags, 1, &both[0]),
	       HSAKMT_STATUS_ERROR, "and nowhere else");
	hsaKmtUnmapMemoryToGPU(res.MemoryAddress);
	hsaKmtDeregisterMemory(res.MemoryAddress);
}

/* Each memory call of the library: what it says when it is not open, and of bad arguments. */
static void statuses(void)
{
	HsaMemoryRange range = { 0 };
	HsaGpuTileConfig tiles = { 0 };
	HsaGraphicsResourceInfo res;
	HsaSharedMemoryHandle handle;
	HsaPointerInfo info;
	HSAuint64 n = 0;
	void *mem = NULL;
	int fd;
	const struct {
		const char *name;
		HSAKMT_STATUS got, want;
	} closed[] = {
#define CLOSED(call) { #call, call, HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED }
		CLOSED(hsaKmtAllocMemory(0, BYTES, gtt, &mem)),
		CLOSED(hsaKmtAllocMemoryAlign(0, BYTES, 0, gtt, &mem)),
		CLOSED(hsaKmtFreeMemory(&n, BYTES)),
		CLOSED(hsaKmtAvailableMemory(1, &n)),
		CLOSED(hsaKmtSetMemoryPolicy(1, 0, 0, NULL, 0)),
		CLOSED(hsaKmtRegisterMemory(&n, 8)),
		CLOSED(hsaKmtRegisterMemoryToNodes(&n, 8, 1, both)),
		CLOSED(hsaKmtRegisterMemoryWithFlags(&n, 8, paged)),
		CLOSED(hsaKmtRegisterGraphicsHandleToNodes(1, &res, 1, both)),
		CLOSED(hsaKmtExportDMABufHandle(&n, 8, &fd, &n)),
		CLOSED(hsaKmtShareMemory(&n, 8, &handle)),
		CLOSED(hsaKmtRegisterSharedHandle(&handle, &mem, &n)),
		CLOSED(hsaKmtRegisterSharedHandleToNodes(&handle, &mem, &n, 1, both)),
		CLOSED(hsaKmtDeregisterMemory(&n)),
		CLOSED(hsaKmtMapMemoryToGPU(&n, 8, NULL)),
		CLOSED(hsaKmtMapMemoryToGPUNodes(&n, 8, NULL, no_flags, 1, both)),
		CLOSED(hsaKmtUnmapMemoryToGPU(&n)),
		CLOSED(hsaKmtUnmapGraphicHandle(1, 4096, 8)),
		CLOSED(hsaKmtGetTileConfig(1, &tiles)),
		CLOSED(hsaKmtQueryPointerInfo(&n, &info)),
		CLOSED(hsaKmtSetMemoryUserData(&n, &n)),
		/* These look at nothing. */
		{ "hsaKmtMapGraphicHandle", hsaKmtMapGraphicHandle(1, 0, 0, 0, 8, &n),
		  HSAKMT_STATUS_NOT_IMPLEMENTED },
		{ "hsaKmtProcessVMRead", hsaKmtProcessVMRead(1, &range, 1, &range, 1, &n),
		  HSAKMT_STATUS_NOT_IMPLEMENTED },
		{ "hsaKmtProcessVMWrite", hsaKmtProcessVMWrite(1, &range, 1, &range, 1, &n),
		  HSAKMT_STATUS_NOT_IMPLEMENTED },
		{ "hsaKmtReplaceAsanHeaderPage", hsaKmtReplaceAsanHeaderPage(&n), HSAKMT_STATUS_NOT_SUPPORTED },
		{ "hsaKmtReturnAsanHeaderPage", hsaKmtReturnAsanHeaderPage(&n), HSAKMT_STATUS_NOT_SUPPORTED },
	};
	HsaMemFlags flags = paged;
	uint32_t stranger = 9;
	unsigned int i;

	for (i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		tap_is(closed[i].got, closed[i].want, "not open: %s", closed[i].name);

	fake_open();
	tap_is(hsaKmtAllocMemory(9, BYTES, gtt, &mem), HSAKMT_STATUS_INVALID_NODE_UNIT, "memory of no node");
	tap_is(hsaKmtAvailableMemory(9, &n), HSAKMT_STATUS_INVALID_NODE_UNIT, "room on no node");
	tap_is(hsaKmtAvailableMemory(1, &n), HSAKMT_STATUS_SUCCESS, "room on a GPU");
	tap_is((int64_t)n, 123456789, "as the kernel says");
	tap_is(hsaKmtSetMemoryPolicy(1, 0, 0, NULL, 0), HSAKMT_STATUS_NOT_IMPLEMENTED, "a policy");
	tap_is(hsaKmtSetMemoryPolicy(9, 0, 0, NULL, 0), HSAKMT_STATUS_INVALID_NODE_UNIT, "of no node");
	tap_is(hsaKmtRegisterMemoryToNodes(&n, 8, 1, &stranger), HSAKMT_STATUS_INVALID_NODE_UNIT,
	       "registered to no node");
	tap_is(hsaKmtRegisterMemoryToNodes(&n, 8, 0, both), HSAKMT_STATUS_INVALID_PARAMETER, "to none");
	tap_is(hsaKmtRegisterMemoryWithFlags(&n, 8, gtt), HSAKMT_STATUS_NOT_SUPPORTED, "as non-paged memory");
	flags.ui32.CoarseGrain = flags.ui32.ExtendedCoherent = 1;
	tap_is(hsaKmtRegisterMemoryWithFlags(&n, 8, flags), HSAKMT_STATUS_INVALID_PARAMETER,
	       "as coarse and fine at once");
	mem = alloc(0, gtt);
	tap_is(hsaKmtRegisterMemory(mem, BYTES), HSAKMT_STATUS_INVALID_HANDLE, "what is memory of the GPU's");
	tap_is(hsaKmtDeregisterMemory(mem), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "what was not registered");
	tap_is(hsaKmtDeregisterMemory(&n), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "nor known");
	tap_is(hsaKmtMapMemoryToGPUNodes(mem, BYTES, NULL, no_flags, 1, &stranger),
	       HSAKMT_STATUS_INVALID_NODE_UNIT, "mapped to no node");
	tap_is(hsaKmtMapMemoryToGPUNodes(NULL, BYTES, NULL, no_flags, 1, both), HSAKMT_STATUS_ERROR,
	       "nothing mapped");
	tap_is(hsaKmtUnmapMemoryToGPU(&n), HSAKMT_STATUS_ERROR, "unmapped what is unknown");
	tap_is(hsaKmtFreeMemory(&n, 8), HSAKMT_STATUS_MEMORY_NOT_REGISTERED, "freed what is unknown");
	tap_is(hsaKmtFreeMemory(NULL, 8), HSAKMT_STATUS_ERROR, "freed nothing");
	tap_is(hsaKmtExportDMABufHandle(&n, 8, &fd, &n), HSAKMT_STATUS_INVALID_PARAMETER, "exported what is unknown");
	tap_is(hsaKmtGetTileConfig(9, &tiles), HSAKMT_STATUS_INVALID_NODE_UNIT, "tiles of no node");
	tap_is(hsaKmtGetTileConfig(1, &tiles), HSAKMT_STATUS_ERROR, "tiles of a kernel that knows none");
	release(mem);
}

static void old_kernel(void)
{
	HSAuint64 n;
	int fd;

	fake.minor = 8;
	fake_open();
	tap_is(hsaKmtAvailableMemory(1, &n), HSAKMT_STATUS_NOT_SUPPORTED, "room, before interface 1.9");
	tap_is(hsaKmtExportDMABufHandle(&n, 8, &fd, &n), HSAKMT_STATUS_NOT_SUPPORTED,
	       "an export, before interface 1.12");
}

int main(void)
{
	tap_begin(120);
	fake_scenario("types", types);
	fake_scenario("graphics", graphics);
	fake_scenario("shared", shared);
	fake_scenario("two GPUs", two_gpus);
	fake_scenario("peers", peers);
	fake_scenario("statuses", statuses);
	fake_scenario("an old kernel", old_kernel);
	return tap_done();
}
