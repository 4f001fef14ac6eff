// SPDX-License-Identifier: MIT
/* Topology: parsing, overrides, hidden GPUs, changes while reading. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "thunk_fake.h"

static void parse(void)
{
	HsaSystemProperties sys;
	HsaNodeProperties cpu, gpu;
	HsaMemoryProperties mem[8];
	HsaCacheProperties cache;
	HsaIoLinkProperties link;

	fake.gpu_extra = "num_sdma_engines 2\nunknown_key 12\nunique_id 18446744073709551615\n";
	hsaKmtOpenKFD();
	tap_is(hsaKmtGetNodeProperties(0, &cpu), HSAKMT_STATUS_INVALID_NODE_UNIT, "no snapshot yet");
	tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_SUCCESS, "acquire");
	tap_ok(sys.NumNodes == 2 && sys.PlatformOem == 7 && sys.PlatformId == 8 && sys.PlatformRev == 9,
	       "system");
	tap_is(hsaKmtGetNodeProperties(0, &cpu), HSAKMT_STATUS_SUCCESS, "CPU node");
	tap_ok(cpu.NumCPUCores == 2 && !cpu.NumFComputeCores && !cpu.KFDGpuID && cpu.NumMemoryBanks == 1 &&
	       cpu.NumIOLinks == 1, "values");
	tap_is(hsaKmtGetNodeProperties(1, &gpu), HSAKMT_STATUS_SUCCESS, "GPU node");
	tap_ok(gpu.NumFComputeCores == 16 && gpu.NumSIMDPerCU == 4 && gpu.NumShaderBanks == 1 &&
	       gpu.NumXcc == 1 && gpu.KFDGpuID == FAKE_GPU_ID && gpu.DrmRenderMinor == 128 &&
	       gpu.FComputeIdLo == 2147487744u && gpu.VendorId == 0x1002 && gpu.DeviceId == 0x66a1 &&
	       gpu.NumSdmaEngines == 2 && gpu.UniqueID == UINT64_MAX && gpu.NumCpQueues == 24, "values");
	tap_ok(gpu.EngineId.ui32.Major == 9 && gpu.EngineId.ui32.Minor == 0 &&
	       gpu.EngineId.ui32.Stepping == 6 && gpu.EngineId.ui32.uCode == 435 &&
	       gpu.uCodeEngineVersions.uCodeSDMA == 145, "engine and firmware");
	tap_ok(!strcmp((char *)gpu.AMDName, "Vega20") && gpu.FamilyID == 141, "name and family");
	tap_is(gpu.VGPRSizePerCU, 0x40000, "register size");
	tap_is(gpu.NumMemoryBanks, 5, "VRAM, LDS, scratch, SVM, MMIO");

	tap_is(hsaKmtGetNodeMemoryProperties(1, 8, mem), HSAKMT_STATUS_SUCCESS, "banks");
	tap_ok(mem[0].HeapType == HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC && mem[0].SizeInBytes == 1 << 30, "VRAM");
	tap_ok(mem[1].HeapType == HSA_HEAPTYPE_GPU_LDS && mem[1].SizeInBytes == 65536 &&
	       mem[1].VirtualBaseAddress == 1ull << 48, "LDS");
	tap_ok(mem[2].HeapType == HSA_HEAPTYPE_GPU_SCRATCH && mem[2].SizeInBytes == 1ull << 32, "scratch");
	tap_ok(mem[3].HeapType == HSA_HEAPTYPE_DEVICE_SVM &&
	       mem[3].VirtualBaseAddress + mem[3].SizeInBytes == 1ull << 47, "SVM");
	tap_ok(mem[4].HeapType == HSA_HEAPTYPE_MMIO_REMAP && mem[4].SizeInBytes == 4096, "MMIO");
	tap_ok(!mem[5].SizeInBytes, "the rest is zero");
	mem[1].HeapType = 99;
	tap_is(hsaKmtGetNodeMemoryProperties(1, 1, mem), HSAKMT_STATUS_SUCCESS, "room for one");
	tap_is(mem[1].HeapType, 99, "writes one");

	tap_is(hsaKmtGetNodeCacheProperties(1, 0, 1, &cache), HSAKMT_STATUS_SUCCESS, "cache");
	tap_ok(cache.CacheLevel == 1 && cache.CacheType.ui32.HSACU && cache.CacheType.ui32.Data &&
	       cache.SiblingMap[0] == 1 && cache.SiblingMap[1] == 0 && cache.SiblingMap[2] == 1, "values");
	tap_is(hsaKmtGetNodeCacheProperties(1, 0, 2, &cache), HSAKMT_STATUS_INVALID_PARAMETER, "too many");
	tap_is(hsaKmtGetNodeIoLinkProperties(1, 1, &link), HSAKMT_STATUS_SUCCESS, "link");
	tap_ok(link.NodeFrom == 1 && link.NodeTo == 0 && link.Weight == 20 && link.Flags.ui32.Override,
	       "values");
	tap_is(hsaKmtGetNodeProperties(2, &gpu), HSAKMT_STATUS_INVALID_NODE_UNIT, "no third node");
	tap_is(hsaKmtReleaseSystemProperties(), HSAKMT_STATUS_SUCCESS, "release");
	tap_is(hsaKmtGetNodeProperties(1, &gpu), HSAKMT_STATUS_INVALID_NODE_UNIT, "snapshot is gone");
}

/* The engine version of the GPU, 0xMMmmss, 0 if acquire fails. */
static uint32_t engine(void)
{
	HsaSystemProperties sys;
	HsaNodeProperties gpu;

	hsaKmtOpenKFD();
	if (hsaKmtAcquireSystemProperties(&sys) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtGetNodeProperties(1, &gpu) != HSAKMT_STATUS_SUCCESS)
		return 0;
	return gpu.EngineId.ui32.Major << 16 | gpu.EngineId.ui32.Minor << 8 | gpu.EngineId.ui32.Stepping;
}

static void table_wins(void)
{
	fake.gfx_target = 90010;	/* the driver says gfx90a, the table Vega20 */
	tap_is(engine(), 0x090006, "a listed device is what the table says");
}

static void driver_wins(void)
{
	fake.device_id = 0x1111;
	fake.gfx_target = 90402;
	tap_is(engine(), 0x090402, "any other is what the driver says");
}

static void override(void)
{
	setenv("HSA_OVERRIDE_GFX_VERSION", "9.0.10", 1);
	tap_is(engine(), 0x09000a, "HSA_OVERRIDE_GFX_VERSION beats both");
}

static void bad_override(void)
{
	setenv("HSA_OVERRIDE_GFX_VERSION", "9.0.10x", 1);
	tap_is(engine(), 0, "a bad HSA_OVERRIDE_GFX_VERSION is an error");
}

static void unknown_device(void)
{
	fake.device_id = 0x1111;
	fake.gfx_target = 0;
	tap_is(engine(), 0, "a GPU of unknown version is an error");
}

static void hidden(void)
{
	HsaSystemProperties sys;
	HsaNodeProperties cpu;
	HsaMemFlags flags = { .ui32 = { .HostAccess = 1 } };
	void *mem;

	fake.render_errno = ENOENT;
	hsaKmtOpenKFD();
	tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_SUCCESS, "acquire");
	tap_is(sys.NumNodes, 1, "a GPU without render node is left out");
	hsaKmtGetNodeProperties(0, &cpu);
	tap_is(cpu.NumIOLinks, 0, "and so is the link to it");
	tap_is(hsaKmtAllocMemory(0, 4096, flags, &mem), HSAKMT_STATUS_SUCCESS, "memory without GPU");
	memset(mem, 1, 4096);
	tap_is(hsaKmtFreeMemory(mem, 4096), HSAKMT_STATUS_SUCCESS, "and free");
}

static void changing(void)
{
	HsaSystemProperties sys;

	hsaKmtOpenKFD();
	/* Every path looked up counts as a change; the reader has to start over. */
	fake.generation_changes = 30;
	tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_SUCCESS, "acquire while it changes");
	tap_ok(!fake.generation_changes, "is repeated until it does not");
	tap_is(sys.NumNodes, 2, "and complete");
}

static void acquire_order(void)
{
	HsaSystemProperties sys;
	char order[128];
	int from;

	hsaKmtOpenKFD();
	tap_is(fake.fds, 2, "open has opened the render node");
	from = fake.calls;
	hsaKmtAcquireSystemProperties(&sys);
	fake_order(order, sizeof(order), from);
	tap_ok(!strcmp(order, "14 15 04 16 mmap 18"), "apertures, VM, policy, MMIO (%s)", order);
	from = fake.calls;
	tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_SUCCESS, "again");
	tap_is(fake.calls, from, "takes no call");
}

static void acquire_fails(void)
{
	static const int nr[] = { FAKE_NR(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW),
				  FAKE_NR(AMDKFD_IOC_ACQUIRE_VM),
				  FAKE_NR(AMDKFD_IOC_SET_MEMORY_POLICY) };
	HsaSystemProperties sys;
	HsaNodeProperties gpu;

	hsaKmtOpenKFD();
	for (size_t i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		fake_fail(nr[i], 1, EIO);
		tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_ERROR, "call 0x%02x fails", nr[i]);
		tap_is(hsaKmtGetNodeProperties(0, &gpu), HSAKMT_STATUS_INVALID_NODE_UNIT, "no snapshot");
	}
	for (int i = 0; i < 3; i++) {
		static const int mmio[] = { FAKE_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU), FAKE_MMAP,
					    FAKE_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU) };

		fake_fail(mmio[i], 1, EINVAL);
		tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_SUCCESS, "without MMIO page");
		hsaKmtGetNodeProperties(1, &gpu);
		tap_is(gpu.NumMemoryBanks, 4, "there is no MMIO bank");
		hsaKmtReleaseSystemProperties();
		tap_is(fake.live_bos, 0, "and nothing left");
	}
}

static void counters(void)
{
	HsaCounterProperties *props = NULL, *again = NULL;
	HsaCounterBlockProperties *b;
	HsaPmcTraceRoot root;
	HsaCounter counter;
	uint32_t total = 0;

	fake_open();
	tap_is(hsaKmtPmcGetCounterProperties(FAKE_GPU_NODE, &props), HSAKMT_STATUS_SUCCESS, "counters");
	tap_is(props->NumBlocks, 20, "20 blocks");
	b = props->Blocks;
	for (uint32_t i = 0; i < props->NumBlocks; i++) {
		total += b->NumCounters;
		b = (void *)&b->Counters[b->NumCounters];
	}
	tap_is(total, 3289, "3289 counters");
	hsaKmtPmcGetCounterProperties(FAKE_GPU_NODE, &again);
	tap_ok(again == props, "the list is kept");
	counter = props->Blocks[0].Counters[0];
	tap_is(hsaKmtPmcRegisterTrace(FAKE_GPU_NODE, 1, &counter, &root), HSAKMT_STATUS_INVALID_PARAMETER,
	       "a counter that needs no trace");
	counter.Type = HSA_PROFILE_TYPE_PRIVILEGED_IMMEDIATE;
	tap_is(hsaKmtPmcRegisterTrace(FAKE_GPU_NODE, 1, &counter, &root), HSAKMT_STATUS_SUCCESS, "one that does");
	tap_is(hsaKmtPmcStartTrace(root.TraceId, &root, 8), HSAKMT_STATUS_UNAVAILABLE, "nobody reads it");
	tap_is(hsaKmtPmcUnregisterTrace(FAKE_GPU_NODE, root.TraceId), HSAKMT_STATUS_SUCCESS, "unregister");
}

int main(void)
{
	tap_begin(120);
	fake_scenario("parse", parse);
	fake_scenario("device table", table_wins);
	fake_scenario("device not in the table", driver_wins);
	fake_scenario("override", override);
	fake_scenario("bad override", bad_override);
	fake_scenario("unknown device", unknown_device);
	fake_scenario("hidden GPU", hidden);
	fake_scenario("changing topology", changing);
	fake_scenario("order of acquire", acquire_order);
	fake_scenario("acquire fails", acquire_fails);
	fake_scenario("performance counters", counters);
	return tap_done();
}
