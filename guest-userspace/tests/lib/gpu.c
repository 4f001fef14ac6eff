// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

HSAKMT_STATUS gpu_open_nth(struct gpu *g, unsigned int which)
{
	HsaSystemProperties sys;
	HSAKMT_STATUS s;
	HSAuint32 i;

	s = hsaKmtOpenKFD();
	if (s != HSAKMT_STATUS_SUCCESS && s != HSAKMT_STATUS_KERNEL_ALREADY_OPENED)
		return s;
	s = hsaKmtAcquireSystemProperties(&sys);
	if (s != HSAKMT_STATUS_SUCCESS)
		goto err_close;
	for (i = 0; i < sys.NumNodes; i++) {
		s = hsaKmtGetNodeProperties(i, &g->props);
		if (s != HSAKMT_STATUS_SUCCESS)
			goto err_release;
		if (g->props.NumFComputeCores && !which--) {
			g->node = i;
			return HSAKMT_STATUS_SUCCESS;
		}
	}
	s = HSAKMT_STATUS_INVALID_NODE_UNIT;
err_release:
	hsaKmtReleaseSystemProperties();
err_close:
	hsaKmtCloseKFD();
	return s;
}

HSAKMT_STATUS gpu_open(struct gpu *g)
{
	return gpu_open_nth(g, 0);
}

void gpu_close(void)
{
	hsaKmtReleaseSystemProperties();
	hsaKmtCloseKFD();
}

const char *mem_kind_name(enum mem_kind kind)
{
	static const char *const name[] = {
		[MEM_SYSTEM] = "system memory",
		[MEM_GTT] = "GTT",
		[MEM_VRAM] = "VRAM",
	};

	return name[kind];
}

HsaMemFlags mem_flags(enum mem_kind kind)
{
	HsaMemFlags f = { .Value = 0 };

	f.ui32.PageSize = HSA_PAGE_SIZE_4KB;
	f.ui32.HostAccess = 1;
	f.ui32.ExecuteAccess = 1;
	/* Both sides read what the other wrote without a cache flush in between. */
	f.ui32.Uncached = 1;
	f.ui32.NonPaged = kind != MEM_SYSTEM;
	if (kind == MEM_VRAM)
		f.ui32.NoSubstitute = 1;
	return f;
}

static size_t page_align(size_t size)
{
	return (size + GPU_PAGE - 1) & ~(size_t)(GPU_PAGE - 1);
}

void *mem_alloc(const struct gpu *g, enum mem_kind kind, size_t size)
{
	HSAuint32 node = kind == MEM_VRAM ? g->node : 0;
	HSAuint64 alternate;
	void *mem = NULL;

	size = page_align(size);
	if (hsaKmtAllocMemory(node, size, mem_flags(kind), &mem) != HSAKMT_STATUS_SUCCESS)
		return NULL;
	if (hsaKmtMapMemoryToGPU(mem, size, &alternate) != HSAKMT_STATUS_SUCCESS) {
		hsaKmtFreeMemory(mem, size);
		return NULL;
	}
	memset(mem, 0, size);
	return mem;
}

HSAKMT_STATUS mem_free(void *mem, size_t size)
{
	HSAKMT_STATUS s;

	if (!mem)
		return HSAKMT_STATUS_SUCCESS;
	s = hsaKmtUnmapMemoryToGPU(mem);
	if (s != HSAKMT_STATUS_SUCCESS)
		return s;
	return hsaKmtFreeMemory(mem, page_align(size));
}

HsaEvent *event_new(const struct gpu *g, HSA_EVENTTYPE type, bool manual_reset)
{
	HsaEventDescriptor desc = { .EventType = type, .NodeId = g->node };
	HsaEvent *ev = NULL;

	if (hsaKmtCreateEvent(&desc, manual_reset, false, &ev) != HSAKMT_STATUS_SUCCESS)
		return NULL;
	return ev;
}

HSAKMT_STATUS events_wait(HsaEvent *events[], HSAuint32 n, bool all, unsigned int ms,
			  uint64_t *ages)
{
	uint64_t start = now_ns();
	HSAKMT_STATUS s;

	if (ages)
		s = hsaKmtWaitOnMultipleEvents_Ext(events, n, all, ms, ages);
	else
		s = hsaKmtWaitOnMultipleEvents(events, n, all, ms);
	if (s == HSAKMT_STATUS_SUCCESS && now_ns() - start >= ms * 1000000ull)
		return HSAKMT_STATUS_WAIT_TIMEOUT;
	return s;
}

HSAKMT_STATUS event_wait(HsaEvent *ev, unsigned int ms)
{
	return events_wait(&ev, 1, true, ms, NULL);
}

const char *status_name(HSAKMT_STATUS s)
{
	switch (s) {
	case HSAKMT_STATUS_SUCCESS: return "success";
	case HSAKMT_STATUS_ERROR: return "error";
	case HSAKMT_STATUS_DRIVER_MISMATCH: return "driver mismatch";
	case HSAKMT_STATUS_INVALID_PARAMETER: return "invalid parameter";
	case HSAKMT_STATUS_INVALID_HANDLE: return "invalid handle";
	case HSAKMT_STATUS_INVALID_NODE_UNIT: return "no such node";
	case HSAKMT_STATUS_NO_MEMORY: return "no memory";
	case HSAKMT_STATUS_BUFFER_TOO_SMALL: return "buffer too small";
	case HSAKMT_STATUS_NOT_IMPLEMENTED: return "not implemented";
	case HSAKMT_STATUS_NOT_SUPPORTED: return "not supported";
	case HSAKMT_STATUS_UNAVAILABLE: return "unavailable";
	case HSAKMT_STATUS_OUT_OF_RESOURCES: return "out of resources";
	case HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED: return "KFD cannot be opened";
	case HSAKMT_STATUS_KERNEL_COMMUNICATION_ERROR: return "communication error";
	case HSAKMT_STATUS_WAIT_FAILURE: return "wait failure";
	case HSAKMT_STATUS_WAIT_TIMEOUT: return "time-out";
	default: return "other status";
	}
}
