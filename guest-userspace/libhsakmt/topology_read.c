// SPDX-License-Identifier: MIT
/*
 * Reading the KFD topology from sysfs into a snapshot. No lock of its own; the
 * caller holds ctx.lock, because opening render nodes is part of it: a GPU whose
 * node cannot be opened for want of permission or existence (a container) is
 * left out, and the remaining nodes are numbered anew.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

void hsakmt_topology_path(char *buf, size_t size, const char *fmt, ...)
{
	int n = snprintf(buf, size, "%s/", hsakmt_sys_topology_root());
	va_list ap;

	if (n < 0 || (size_t)n >= size)
		return;
	va_start(ap, fmt);
	vsnprintf(buf + n, size - (size_t)n, fmt, ap);
	va_end(ap);
}

static bool set_system(void *arg, const char *key, uint64_t value)
{
	HsaSystemProperties *sys = arg;

	if (!strcmp(key, "platform_oem"))
		sys->PlatformOem = (uint32_t)value;
	else if (!strcmp(key, "platform_id"))
		sys->PlatformId = (uint32_t)value;
	else if (!strcmp(key, "platform_rev"))
		sys->PlatformRev = (uint32_t)value;
	return true;
}

static bool set_minor(void *arg, const char *key, uint64_t value)
{
	if (strcmp(key, "drm_render_minor"))
		return true;
	*(int *)arg = (int)value;
	return false;
}

/* SUCCESS and *usable; other errors make the whole scan fail. */
static HSAKMT_STATUS node_usable(uint32_t sysfs_id, bool *usable)
{
	char path[256];
	uint32_t gpu_id;
	int minor = 0, fd;

	*usable = false;
	hsakmt_topology_path(path, sizeof(path), "nodes/%u/gpu_id", sysfs_id);
	if (hsakmt_sysfs_u32(path, &gpu_id))
		return errno == EPERM ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
	if (!gpu_id) {
		*usable = true;
		return HSAKMT_STATUS_SUCCESS;
	}
	hsakmt_topology_path(path, sizeof(path), "nodes/%u/properties", sysfs_id);
	if (hsakmt_sysfs_props(path, set_minor, &minor) || !minor)
		return HSAKMT_STATUS_ERROR;
	fd = hsakmt_drm_open(minor);
	if (fd > 0)
		*usable = true;
	else if (fd != -ENOENT && fd != -EPERM)
		return HSAKMT_STATUS_ERROR;
	return HSAKMT_STATUS_SUCCESS;
}

/* Fills sys, num_sysfs_nodes and nodes[].sysfs_id; caller frees nodes. */
HSAKMT_STATUS hsakmt_topology_scan(struct hsakmt_topology *topo)
{
	char path[256];
	uint32_t i;

	memset(topo, 0, sizeof(*topo));
	hsakmt_topology_path(path, sizeof(path), "system_properties");
	if (hsakmt_sysfs_props(path, set_system, &topo->sys))
		return HSAKMT_STATUS_ERROR;

	hsakmt_topology_path(path, sizeof(path), "nodes");
	topo->num_sysfs_nodes = hsakmt_sysfs_count(path, "");
	topo->nodes = calloc(topo->num_sysfs_nodes + 1, sizeof(*topo->nodes));
	if (!topo->nodes)
		return HSAKMT_STATUS_NO_MEMORY;

	for (i = 0; i < topo->num_sysfs_nodes; i++) {
		HSAKMT_STATUS status;
		bool usable;

		status = node_usable(i, &usable);
		if (status != HSAKMT_STATUS_SUCCESS) {
			free(topo->nodes);
			topo->nodes = NULL;
			topo->sys.NumNodes = 0;
			return status;
		}
		if (usable)
			topo->nodes[topo->sys.NumNodes++].sysfs_id = i;
	}
	return HSAKMT_STATUS_SUCCESS;
}

/* One sysfs key and where its value goes. */
struct field {
	const char *key;
	uint16_t offset;
	uint16_t size;
};

#define FIELD(type, key, member) { key, offsetof(type, member), sizeof(((type *)0)->member) }
#define NODE(key, member) FIELD(HsaNodeProperties, key, member)
#define MEM(key, member) FIELD(HsaMemoryProperties, key, member)
#define CACHE(key, member) FIELD(HsaCacheProperties, key, member)
#define LINK(key, member) FIELD(HsaIoLinkProperties, key, member)

static const struct field node_fields[] = {
	NODE("cpu_cores_count", NumCPUCores),
	NODE("simd_count", NumFComputeCores),
	NODE("mem_banks_count", NumMemoryBanks),
	NODE("caches_count", NumCaches),
	NODE("io_links_count", NumIOLinks),
	NODE("cpu_core_id_base", CComputeIdLo),
	NODE("simd_id_base", FComputeIdLo),
	NODE("capability", Capability),
	NODE("debug_prop", DebugProperties),
	NODE("max_waves_per_simd", MaxWavesPerSIMD),
	NODE("lds_size_in_kb", LDSSizeInKB),
	NODE("gds_size_in_kb", GDSSizeInKB),
	NODE("wave_front_size", WaveFrontSize),
	NODE("simd_arrays_per_engine", NumArrays),
	NODE("cu_per_simd_array", NumCUPerArray),
	NODE("simd_per_cu", NumSIMDPerCU),
	NODE("max_slots_scratch_cu", MaxSlotsScratchCU),
	NODE("vendor_id", VendorId),
	NODE("device_id", DeviceId),
	NODE("location_id", LocationId),
	NODE("domain", Domain),
	NODE("max_engine_clk_fcompute", MaxEngineClockMhzFCompute),
	NODE("max_engine_clk_ccompute", MaxEngineClockMhzCCompute),
	NODE("local_mem_size", LocalMemSize),
	NODE("drm_render_minor", DrmRenderMinor),
	NODE("hive_id", HiveID),
	NODE("unique_id", UniqueID),
	NODE("num_sdma_engines", NumSdmaEngines),
	NODE("num_sdma_xgmi_engines", NumSdmaXgmiEngines),
	NODE("num_gws", NumGws),
	NODE("num_sdma_queues_per_engine", NumSdmaQueuesPerEngine),
	NODE("num_cp_queues", NumCpQueues),
	NODE("num_xcc", NumXcc),
};

static const struct field mem_fields[] = {
	MEM("heap_type", HeapType),
	MEM("size_in_bytes", SizeInBytes),
	MEM("flags", Flags),
	MEM("width", Width),
	MEM("mem_clk_max", MemoryClockMax),
};

static const struct field cache_fields[] = {
	CACHE("processor_id_low", ProcessorIdLow),
	CACHE("level", CacheLevel),
	CACHE("size", CacheSize),
	CACHE("cache_line_size", CacheLineSize),
	CACHE("cache_lines_per_tag", CacheLinesPerTag),
	CACHE("association", CacheAssociativity),
	CACHE("latency", CacheLatency),
	CACHE("type", CacheType),
};

/* node_from and node_to are sysfs numbers here, replaced by ours later. */
static const struct field link_fields[] = {
	LINK("type", IoLinkType),
	LINK("version_major", VersionMajor),
	LINK("version_minor", VersionMinor),
	LINK("node_from", NodeFrom),
	LINK("node_to", NodeTo),
	LINK("weight", Weight),
	LINK("min_latency", MinimumLatency),
	LINK("max_latency", MaximumLatency),
	LINK("min_bandwidth", MinimumBandwidth),
	LINK("max_bandwidth", MaximumBandwidth),
	LINK("recommended_transfer_size", RecTransferSize),
	LINK("flags", Flags),
};

static void store(const struct field *f, size_t count, void *base,
		  const char *key, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(f[i].key, key)) {
			/* little endian: the low bytes are the value */
			memcpy((char *)base + f[i].offset, &value, f[i].size);
			return;
		}
}

struct node_read {
	HsaNodeProperties *props;
	uint32_t arrays, p2p_links, gfx_target;
};

static bool set_node(void *arg, const char *key, uint64_t value)
{
	struct node_read *r = arg;

	if (!strcmp(key, "p2p_links_count"))
		r->p2p_links = (uint32_t)value;
	else if (!strcmp(key, "array_count"))
		r->arrays = (uint32_t)value;
	else if (!strcmp(key, "gfx_target_version"))
		r->gfx_target = (uint32_t)value;
	else if (!strcmp(key, "fw_version"))
		r->props->EngineId.Value = value & 0x3ff;
	else if (!strcmp(key, "sdma_fw_version"))
		r->props->uCodeEngineVersions.Value = value & 0x3ff;
	else
		store(node_fields, ARRAY_SIZE(node_fields), r->props, key, value);
	return true;
}

static bool set_mem(void *arg, const char *key, uint64_t value)
{
	store(mem_fields, ARRAY_SIZE(mem_fields), arg, key, value);
	return true;
}

static bool set_cache(void *arg, const char *key, uint64_t value)
{
	store(cache_fields, ARRAY_SIZE(cache_fields), arg, key, value);
	return true;
}

static bool set_link(void *arg, const char *key, uint64_t value)
{
	store(link_fields, ARRAY_SIZE(link_fields), arg, key, value);
	return true;
}

static HSAKMT_STATUS read_node(struct hsakmt_node *node, uint32_t *p2p_links)
{
	HsaNodeProperties *props = &node->props;
	struct node_read r = { .props = props };
	char path[256];

	hsakmt_topology_path(path, sizeof(path), "nodes/%u/gpu_id", node->sysfs_id);
	if (hsakmt_sysfs_u32(path, &props->KFDGpuID))
		return HSAKMT_STATUS_ERROR;
	hsakmt_topology_path(path, sizeof(path), "nodes/%u/properties", node->sysfs_id);
	if (hsakmt_sysfs_props(path, set_node, &r))
		return HSAKMT_STATUS_ERROR;

	*p2p_links = r.p2p_links;
	if (!hsakmt_ctx.svm_api)
		props->Capability.ui32.SVMAPISupported = 0;
	if (!props->NumFComputeCores)
		return HSAKMT_STATUS_SUCCESS;
	if (props->NumArrays)
		props->NumShaderBanks = r.arrays / props->NumArrays;
	if (!props->NumXcc)
		props->NumXcc = 1;
	return hsakmt_gfxip_describe(props, r.gfx_target);
}

static HSAKMT_STATUS read_mem(struct hsakmt_node *node)
{
	char path[256];

	node->mem = calloc(node->props.NumMemoryBanks + 1, sizeof(*node->mem));
	if (!node->mem)
		return HSAKMT_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < node->props.NumMemoryBanks; i++) {
		hsakmt_topology_path(path, sizeof(path), "nodes/%u/mem_banks/%u/properties",
				     node->sysfs_id, i);
		if (hsakmt_sysfs_props(path, set_mem, &node->mem[i]))
			return HSAKMT_STATUS_ERROR;
	}
	return HSAKMT_STATUS_SUCCESS;
}

/* "sibling_map 1,0,1,..." is the last line and no "word number" pair. */
static void read_siblings(const char *path, HsaCacheProperties *cache)
{
	char *buf = hsakmt_sysfs_read(path);
	char *pos = buf ? strstr(buf, "sibling_map ") : NULL;

	if (pos) {
		pos += strlen("sibling_map ");
		for (int i = 0; i < HSA_CPU_SIBLINGS; i++) {
			char *end;
			unsigned long val = strtoul(pos, &end, 10);

			if (end == pos)
				break;
			cache->SiblingMap[i] = (uint32_t)val;
			if (*end != ',')
				break;
			pos = end + 1;
		}
	}
	free(buf);
}

static HSAKMT_STATUS read_caches(struct hsakmt_node *node)
{
	char path[256];

	if (!node->props.NumCaches)
		return HSAKMT_STATUS_SUCCESS;
	node->cache = calloc(node->props.NumCaches, sizeof(*node->cache));
	if (!node->cache)
		return HSAKMT_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < node->props.NumCaches; i++) {
		hsakmt_topology_path(path, sizeof(path), "nodes/%u/caches/%u/properties",
				     node->sysfs_id, i);
		if (hsakmt_sysfs_props(path, set_cache, &node->cache[i]))
			return HSAKMT_STATUS_ERROR;
		read_siblings(path, &node->cache[i]);
	}
	return HSAKMT_STATUS_SUCCESS;
}

static uint32_t our_node(const struct hsakmt_topology *topo, uint32_t sysfs_id)
{
	for (uint32_t i = 0; i < topo->sys.NumNodes; i++)
		if (topo->nodes[i].sysfs_id == sysfs_id)
			return i;
	return INVALID_NODEID;
}

/* Links to nodes that were left out are left out too. */
static HSAKMT_STATUS read_links(struct hsakmt_topology *topo, uint32_t id,
				const char *kind, uint32_t count, uint32_t *used)
{
	struct hsakmt_node *node = &topo->nodes[id];
	char path[256];

	for (uint32_t i = 0; i < count && *used < topo->sys.NumNodes - 1; i++) {
		HsaIoLinkProperties link = { 0 };

		hsakmt_topology_path(path, sizeof(path), "nodes/%u/%s/%u/properties",
				     node->sysfs_id, kind, i);
		if (hsakmt_sysfs_props(path, set_link, &link)) {
			if (errno == EPERM)
				continue;
			return HSAKMT_STATUS_ERROR;
		}
		if (link.NodeFrom != node->sysfs_id)
			return HSAKMT_STATUS_INVALID_NODE_UNIT;
		link.NodeFrom = id;
		link.NodeTo = our_node(topo, link.NodeTo);
		if (link.NodeTo == INVALID_NODEID)
			continue;
		node->link[(*used)++] = link;
	}
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS read_all(struct hsakmt_topology *topo)
{
	HSAKMT_STATUS status;

	for (uint32_t i = 0; i < topo->sys.NumNodes; i++) {
		struct hsakmt_node *node = &topo->nodes[i];
		uint32_t p2p_links, links = 0;

		status = read_node(node, &p2p_links);
		if (status == HSAKMT_STATUS_SUCCESS)
			status = read_mem(node);
		if (status == HSAKMT_STATUS_SUCCESS)
			status = read_caches(node);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;

		node->link = calloc(topo->sys.NumNodes, sizeof(*node->link));
		if (!node->link)
			return HSAKMT_STATUS_NO_MEMORY;
		status = read_links(topo, i, "io_links", node->props.NumIOLinks, &links);
		if (status == HSAKMT_STATUS_SUCCESS)
			status = read_links(topo, i, "p2p_links", p2p_links, &links);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;
		node->props.NumIOLinks = links;
	}
	return hsakmt_cpu_describe(topo);
}

/*
 * A consistent snapshot: the driver counts every change of the topology, so
 * equal counts before and after mean nothing changed in between.
 */
HSAKMT_STATUS hsakmt_topology_read(struct hsakmt_topology **out)
{
	struct hsakmt_topology *topo;
	uint32_t before, after;
	HSAKMT_STATUS status;
	char path[256];

	hsakmt_topology_path(path, sizeof(path), "generation_id");
	for (;;) {
		topo = calloc(1, sizeof(*topo));
		if (!topo)
			return HSAKMT_STATUS_NO_MEMORY;
		if (hsakmt_sysfs_u32(path, &before)) {
			free(topo);
			return HSAKMT_STATUS_ERROR;
		}
		status = hsakmt_topology_scan(topo);
		if (status == HSAKMT_STATUS_SUCCESS)
			status = read_all(topo);
		if (status == HSAKMT_STATUS_SUCCESS && hsakmt_sysfs_u32(path, &after))
			status = HSAKMT_STATUS_ERROR;
		if (status != HSAKMT_STATUS_SUCCESS) {
			hsakmt_topology_free(topo);
			return status;
		}
		if (before == after) {
			*out = topo;
			return HSAKMT_STATUS_SUCCESS;
		}
		hsakmt_topology_free(topo);
	}
}

void hsakmt_topology_free(struct hsakmt_topology *topo)
{
	if (!topo)
		return;
	for (uint32_t i = 0; topo->nodes && i < topo->sys.NumNodes; i++) {
		free(topo->nodes[i].mem);
		free(topo->nodes[i].cache);
		free(topo->nodes[i].link);
	}
	free(topo->nodes);
	free(topo);
}
