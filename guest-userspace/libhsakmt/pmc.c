// SPDX-License-Identifier: MIT
/*
 * Performance counters: what blocks a gfx9 part has, and traces over them. The
 * kernel interface that would read a counter is gone, so a trace can be set up
 * but not started: UNAVAILABLE.
 */
#include <stdlib.h>

#include "hsakmt_int.h"

/* Index of a block, as callers see it in HsaCounter.BlockIndex. */
enum block_id {
	BLOCK_CB, BLOCK_CPC, BLOCK_CPF, BLOCK_CPG, BLOCK_DB, BLOCK_GDS, BLOCK_GRBM,
	BLOCK_GRBMSE, BLOCK_IA, BLOCK_MC, BLOCK_PASC, BLOCK_PASU, BLOCK_SPI, BLOCK_SRBM,
	BLOCK_SQ, BLOCK_SX, BLOCK_TA, BLOCK_TCA, BLOCK_TCC, BLOCK_TCP, BLOCK_TCS, BLOCK_TD,
	BLOCK_VGT, BLOCK_WD, BLOCK_COUNT
};

struct block {
	const HSA_UUID *uuid;
	uint16_t slots;			/* counters at once; 0: no such block */
	struct { uint16_t first, last; } ids[2];	/* second unused: 0, 0 */
};

static const struct block gfx9_blocks[BLOCK_COUNT] = {
	[BLOCK_CB] = { &HSA_PROFILEBLOCK_AMD_CB, 7, { { 0, 437 } } },
	[BLOCK_CPF] = { &HSA_PROFILEBLOCK_AMD_CPF, 5, { { 0, 31 } } },
	[BLOCK_CPG] = { &HSA_PROFILEBLOCK_AMD_CPG, 5, { { 0, 58 } } },
	[BLOCK_DB] = { &HSA_PROFILEBLOCK_AMD_DB, 12, { { 0, 327 } } },
	[BLOCK_GDS] = { &HSA_PROFILEBLOCK_AMD_GDS, 4, { { 0, 120 } } },
	[BLOCK_GRBM] = { &HSA_PROFILEBLOCK_AMD_GRBM, 2, { { 0, 37 } } },
	[BLOCK_GRBMSE] = { &HSA_PROFILEBLOCK_AMD_GRBMSE, 1, { { 0, 15 } } },
	[BLOCK_IA] = { &HSA_PROFILEBLOCK_AMD_IA, 7, { { 0, 31 } } },
	[BLOCK_PASC] = { &HSA_PROFILEBLOCK_AMD_PASC, 11, { { 0, 490 } } },
	[BLOCK_PASU] = { &HSA_PROFILEBLOCK_AMD_PASU, 10, { { 0, 291 } } },
	[BLOCK_SPI] = { &HSA_PROFILEBLOCK_AMD_SPI, 18, { { 0, 195 } } },
	[BLOCK_SQ] = { &HSA_PROFILEBLOCK_AMD_SQ, 16, { { 1, 183 }, { 255, 372 } } },
	[BLOCK_SX] = { &HSA_PROFILEBLOCK_AMD_SX, 4, { { 0, 207 } } },
	[BLOCK_TA] = { &HSA_PROFILEBLOCK_AMD_TA, 6, { { 0, 118 } } },
	[BLOCK_TCA] = { &HSA_PROFILEBLOCK_AMD_TCA, 10, { { 1, 34 } } },
	[BLOCK_TCC] = { &HSA_PROFILEBLOCK_AMD_TCC, 10, { { 0, 107 }, { 128, 255 } } },
	[BLOCK_TCP] = { &HSA_PROFILEBLOCK_AMD_TCP, 10, { { 0, 84 } } },
	[BLOCK_TD] = { &HSA_PROFILEBLOCK_AMD_TD, 6, { { 0, 56 } } },
	[BLOCK_VGT] = { &HSA_PROFILEBLOCK_AMD_VGT, 10, { { 0, 147 } } },
	[BLOCK_WD] = { &HSA_PROFILEBLOCK_AMD_WD, 4, { { 0, 57 } } },
};

#define TRACE_MAGIC 0x43525450u	/* "PTRC" */
#define MAX_COUNTERS 512

struct trace {
	uint32_t magic;
	uint32_t gpu_id;
};

/* Built once; all gfx9 parts share it, callers keep the pointer. */
static HsaCounterProperties *gfx9_props;
static pthread_mutex_t props_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t range_size(const struct block *b, int r)
{
	return b->slots && (!r || b->ids[r].last) ?
		(uint32_t)(b->ids[r].last - b->ids[r].first + 1) : 0;
}

static uint32_t block_size(const struct block *b)
{
	return range_size(b, 0) + range_size(b, 1);
}

/* Blocks follow each other, each with as many counters as it has. */
static HsaCounterProperties *build_props(void)
{
	size_t bytes = offsetof(HsaCounterProperties, Blocks);
	HsaCounterBlockProperties *out;
	HsaCounterProperties *props;

	for (int i = 0; i < BLOCK_COUNT; i++)
		if (gfx9_blocks[i].slots)
			bytes += offsetof(HsaCounterBlockProperties, Counters) +
				 block_size(&gfx9_blocks[i]) * sizeof(HsaCounter);
	props = calloc(1, bytes);
	if (!props)
		return NULL;
	out = (void *)((char *)props + offsetof(HsaCounterProperties, Blocks));
	for (uint32_t i = 0; i < BLOCK_COUNT; i++) {
		const struct block *b = &gfx9_blocks[i];
		HsaCounter *c;

		if (!b->slots)
			continue;
		props->NumBlocks++;
		props->NumConcurrent += b->slots;
		out->BlockId = *b->uuid;
		out->NumCounters = block_size(b);
		out->NumConcurrent = b->slots;
		c = (void *)((char *)out + offsetof(HsaCounterBlockProperties, Counters));
		for (int r = 0; r < 2; r++)
			for (uint32_t n = 0; n < range_size(b, r); n++, c++) {
				c->Type = HSA_PROFILE_TYPE_NONPRIV_IMMEDIATE;
				c->CounterId = b->ids[r].first + n;
				c->CounterSizeInBits = 64;
				c->CounterMask = UINT64_MAX;
				c->Flags.ui32.Global = 1;
				c->BlockIndex = i;
			}
		out = (void *)c;
	}
	return props;
}

/* hsaKmtPmcGetCounterProperties - *@CounterProperties belongs to the library */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcGetCounterProperties(HSAuint32 NodeId,
							  HsaCounterProperties **CounterProperties)
{
	HSAKMT_STATUS status;
	uint32_t gpu_id;

	if (!CounterProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (hsakmt_node_gfxv(NodeId) >> 16 != 9)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&props_lock);
	if (!gfx9_props)
		gfx9_props = build_props();
	*CounterProperties = gfx9_props;
	pthread_mutex_unlock(&props_lock);
	return *CounterProperties ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
}

/*
 * hsaKmtPmcRegisterTrace - reserve counters for a trace
 *
 * Only privileged counters need it, the others are read by the queues themselves; a
 * list without any, or with more of one block than it has slots, is INVALID_PARAMETER.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcRegisterTrace(HSAuint32 NodeId, HSAuint32 NumberOfCounters,
						   HsaCounter *Counters, HsaPmcTraceRoot *TraceRoot)
{
	uint32_t used[BLOCK_COUNT] = { 0 }, gpu_id;
	HSAKMT_STATUS status;
	struct trace *trace;
	uint64_t bytes = 0;

	if (!Counters || !TraceRoot || !NumberOfCounters)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (NumberOfCounters > MAX_COUNTERS)
		return HSAKMT_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < NumberOfCounters; i++) {
		uint32_t block = Counters[i].BlockIndex;

		if (block >= BLOCK_COUNT)
			return HSAKMT_STATUS_INVALID_PARAMETER;
		if (Counters[i].Type > HSA_PROFILE_TYPE_PRIVILEGED_STREAMING)
			continue;
		if (++used[block] > gfx9_blocks[block].slots)
			return HSAKMT_STATUS_INVALID_PARAMETER;
		bytes += Counters[i].CounterSizeInBits / 8;
	}
	if (!bytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return HSAKMT_STATUS_NO_MEMORY;
	trace->magic = TRACE_MAGIC;
	trace->gpu_id = gpu_id;
	TraceRoot->NumberOfPasses = 1;
	TraceRoot->TraceBufferMinSizeBytes = ALIGN_UP(bytes, hsakmt_ctx.page_size);
	TraceRoot->TraceId = hsakmt_addr(trace);
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS check_trace(HSATraceId id)
{
	const struct trace *trace = hsakmt_ptr(id);

	if (!trace)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return trace->magic == TRACE_MAGIC ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcUnregisterTrace(HSAuint32 NodeId, HSATraceId TraceId)
{
	struct trace *trace = hsakmt_ptr(TraceId);
	HSAKMT_STATUS status;
	uint32_t gpu_id;

	if (!trace)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &gpu_id);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = check_trace(TraceId);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (trace->gpu_id != gpu_id)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	trace->magic = 0;
	free(trace);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcAcquireTraceAccess(HSAuint32 NodeId, HSATraceId TraceId)
{
	HSAKMT_STATUS status = check_trace(TraceId);
	uint32_t gpu_id;

	return status == HSAKMT_STATUS_SUCCESS ? hsakmt_node_gpu_id(NodeId, &gpu_id) : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcReleaseTraceAccess(HSAuint32 NodeId, HSATraceId TraceId)
{
	(void)NodeId;
	return check_trace(TraceId);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcStartTrace(HSATraceId TraceId, void *TraceBuffer,
						HSAuint64 TraceBufferSizeBytes)
{
	HSAKMT_STATUS status;

	if (!TraceId || !TraceBuffer || !TraceBufferSizeBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = check_trace(TraceId);
	return status == HSAKMT_STATUS_SUCCESS ? HSAKMT_STATUS_UNAVAILABLE : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcQueryTrace(HSATraceId TraceId)
{
	HSAKMT_STATUS status = check_trace(TraceId);

	return status == HSAKMT_STATUS_SUCCESS ? HSAKMT_STATUS_UNAVAILABLE : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPmcStopTrace(HSATraceId TraceId)
{
	HSAKMT_STATUS status = check_trace(TraceId);

	return status == HSAKMT_STATUS_SUCCESS ? HSAKMT_STATUS_UNAVAILABLE : status;
}
