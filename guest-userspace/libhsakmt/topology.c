// SPDX-License-Identifier: MIT
/*
 * The topology snapshot: acquire, release, queries. The snapshot is immutable;
 * topo_lock guards the pointer, so queries copy out under it and a concurrent
 * release cannot pull it away.
 */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

/* Heaps the library adds to a GPU node: LDS, scratch, SVM. */
#define EXTRA_HEAPS 3

static void publish(struct hsakmt_topology *topo)
{
	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	hsakmt_ctx.topo = topo;
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
}

/*
 * hsaKmtAcquireSystemProperties - snapshot the topology, set up address spaces
 *
 * Repeated calls return the snapshot that exists. The order of system calls is
 * the stock library's: sysfs, GET_PROCESS_APERTURES_NEW, ACQUIRE_VM for each
 * GPU, one probing mmap, SET_MEMORY_POLICY for each GPU, MMIO page of each GPU.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *SystemProperties)
{
	struct hsakmt_topology *topo = NULL;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!SystemProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;

	pthread_mutex_lock(&hsakmt_ctx.lock);
	if (hsakmt_ctx.topo) {
		*SystemProperties = hsakmt_ctx.topo->sys;
		pthread_mutex_unlock(&hsakmt_ctx.lock);
		return HSAKMT_STATUS_SUCCESS;
	}
	status = hsakmt_topology_read(&topo);
	if (status != HSAKMT_STATUS_SUCCESS)
		goto out;
	/* Published first: setting up memory looks up nodes by GPU id. */
	publish(topo);
	status = hsakmt_fmm_init(topo);
	if (status != HSAKMT_STATUS_SUCCESS)
		goto err_drop;
	status = hsakmt_doorbell_init(topo->sys.NumNodes);
	if (status != HSAKMT_STATUS_SUCCESS)
		goto err_fmm;
	*SystemProperties = topo->sys;
	goto out;

err_fmm:
	hsakmt_fmm_destroy();
err_drop:
	publish(NULL);
	hsakmt_topology_free(topo);
out:
	pthread_mutex_unlock(&hsakmt_ctx.lock);
	return status;
}

/* hsaKmtReleaseSystemProperties - drop snapshot, doorbells and MMIO pages */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
	struct hsakmt_topology *topo;

	pthread_mutex_lock(&hsakmt_ctx.lock);
	/* A child still has its parent's state: hsaKmtOpenKFD clears it. */
	if (!hsakmt_detect_fork()) {
		hsakmt_doorbell_destroy();
		hsakmt_fmm_destroy();
		topo = hsakmt_ctx.topo;
		publish(NULL);
		hsakmt_topology_free(topo);
	}
	pthread_mutex_unlock(&hsakmt_ctx.lock);
	return HSAKMT_STATUS_SUCCESS;
}

/* Under topo_lock. */
static const struct hsakmt_node *node_locked(uint32_t node_id)
{
	const struct hsakmt_topology *topo = hsakmt_ctx.topo;

	return topo && node_id < topo->sys.NumNodes ? &topo->nodes[node_id] : NULL;
}

HSAKMT_STATUS hsakmt_node_gpu_id(uint32_t node_id, uint32_t *gpu_id)
{
	const struct hsakmt_node *node;

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	node = node_locked(node_id);
	if (node)
		*gpu_id = node->props.KFDGpuID;
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	return node ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

HSAKMT_STATUS hsakmt_gpu_node_id(uint32_t gpu_id, uint32_t *node_id)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_NODE_UNIT;
	const struct hsakmt_node *node;

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	for (uint32_t i = 0; (node = node_locked(i)); i++)
		if (node->props.KFDGpuID == gpu_id) {
			*node_id = i;
			status = HSAKMT_STATUS_SUCCESS;
			break;
		}
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	return status;
}

HSAKMT_STATUS hsakmt_node_props(uint32_t node_id, HsaNodeProperties *props)
{
	const struct hsakmt_node *node;

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	node = node_locked(node_id);
	if (node)
		*props = node->props;
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	return node ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

/* 0xMMmmss, 0 for a node that does not exist. */
uint32_t hsakmt_node_gfxv(uint32_t node_id)
{
	HsaNodeProperties props;

	if (hsakmt_node_props(node_id, &props) != HSAKMT_STATUS_SUCCESS)
		return 0;
	return HSAKMT_GFXV(props.EngineId.ui32.Major, props.EngineId.ui32.Minor,
			   props.EngineId.ui32.Stepping);
}

uint32_t hsakmt_node_nearest_cpu(uint32_t node_id)
{
	const struct hsakmt_node *node, *cpu;
	uint32_t found = INVALID_NODEID;

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	node = node_locked(node_id);
	for (uint32_t i = 0; node && node->props.KFDGpuID && i < node->props.NumIOLinks; i++) {
		const HsaIoLinkProperties *link = &node->link[i];
		uint64_t size = 0;

		/* A weight above 20 is a way through another node. */
		if (link->IoLinkType != HSA_IOLINKTYPE_PCIEXPRESS || link->Weight > 20)
			continue;
		cpu = node_locked(link->NodeTo);
		for (uint32_t m = 0; cpu && m < cpu->props.NumMemoryBanks; m++)
			size += cpu->mem[m].SizeInBytes;
		if (size)
			found = link->NodeTo;
		break;
	}
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	return found;
}

HSAKMT_STATUS hsakmt_nodes_to_ids(const uint32_t *nodes, uint64_t count, struct hsakmt_ids *ids)
{
	memset(ids, 0, sizeof(*ids));
	if (!count || !nodes || count > UINT32_MAX)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	ids->id = calloc(count, sizeof(*ids->id));
	if (!ids->id)
		return HSAKMT_STATUS_NO_MEMORY;
	for (ids->count = 0; ids->count < count; ids->count++) {
		HSAKMT_STATUS status = hsakmt_node_gpu_id(nodes[ids->count], &ids->id[ids->count]);

		if (status != HSAKMT_STATUS_SUCCESS) {
			hsakmt_ids_clear(ids);
			return status;
		}
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 NodeId,
						    HsaNodeProperties *NodeProperties)
{
	HSAKMT_STATUS status;
	uint64_t base, limit;

	if (!NodeProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_props(NodeId, NodeProperties);
	if (status == HSAKMT_STATUS_SUCCESS && NodeProperties->KFDGpuID) {
		NodeProperties->NumMemoryBanks += EXTRA_HEAPS;
		if (hsakmt_fmm_aperture(HSAKMT_AP_MMIO, NodeProperties->KFDGpuID, &base, &limit))
			NodeProperties->NumMemoryBanks++;
	}
	return status;
}

/*
 * hsaKmtGetNodeMemoryProperties - the driver's banks, then the library's heaps
 *
 * At most @NumBanks entries are written; the rest of the array is zeroed.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 NodeId, HSAuint32 NumBanks,
							  HsaMemoryProperties *MemoryProperties)
{
	static const struct {
		enum hsakmt_aperture_kind kind;
		HSA_HEAPTYPE heap;
	} heaps[] = {
		{ HSAKMT_AP_LDS, HSA_HEAPTYPE_GPU_LDS },
		{ HSAKMT_AP_SCRATCH, HSA_HEAPTYPE_GPU_SCRATCH },
		{ HSAKMT_AP_SVM, HSA_HEAPTYPE_DEVICE_SVM },
		{ HSAKMT_AP_MMIO, HSA_HEAPTYPE_MMIO_REMAP },
	};
	const struct hsakmt_node *node;
	uint32_t n = 0, gpu_id = 0, lds_kb = 0;

	if (!MemoryProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	HSAKMT_CHECK_OPEN();

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	node = node_locked(NodeId);
	if (node) {
		memset(MemoryProperties, 0, NumBanks * sizeof(*MemoryProperties));
		for (; n < NumBanks && n < node->props.NumMemoryBanks; n++)
			MemoryProperties[n] = node->mem[n];
		gpu_id = node->props.KFDGpuID;
		lds_kb = node->props.LDSSizeInKB;
	}
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	if (!node)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;

	for (size_t i = 0; gpu_id && i < ARRAY_SIZE(heaps) && n < NumBanks; i++) {
		uint64_t base, limit;

		if (!hsakmt_fmm_aperture(heaps[i].kind, gpu_id, &base, &limit))
			continue;
		MemoryProperties[n].HeapType = heaps[i].heap;
		MemoryProperties[n].VirtualBaseAddress = base;
		MemoryProperties[n].SizeInBytes = heaps[i].kind == HSAKMT_AP_LDS ?
			(uint64_t)lds_kb * 1024 : limit - base + 1;
		n++;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 NodeId, HSAuint32 ProcessorId,
							 HSAuint32 NumCaches,
							 HsaCacheProperties *CacheProperties)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	const struct hsakmt_node *node;

	(void)ProcessorId;	/* the stock library does not filter either */
	if (!CacheProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	HSAKMT_CHECK_OPEN();

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	node = node_locked(NodeId);
	if (!node)
		status = HSAKMT_STATUS_INVALID_NODE_UNIT;
	else if (NumCaches > node->props.NumCaches)
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	else if (NumCaches)
		memcpy(CacheProperties, node->cache, NumCaches * sizeof(*CacheProperties));
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 NodeId, HSAuint32 NumIoLinks,
							  HsaIoLinkProperties *IoLinkProperties)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	const struct hsakmt_node *node;

	if (!IoLinkProperties)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	HSAKMT_CHECK_OPEN();

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	node = node_locked(NodeId);
	if (!node)
		status = HSAKMT_STATUS_INVALID_NODE_UNIT;
	else if (NumIoLinks > node->props.NumIOLinks)
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	else if (NumIoLinks)
		memcpy(IoLinkProperties, node->link, NumIoLinks * sizeof(*IoLinkProperties));
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	return status;
}
