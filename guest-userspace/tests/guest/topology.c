// SPDX-License-Identifier: MIT
/*
 * What the system looks like: the sysfs files that clients read themselves, the
 * thunk's view of them, and the DRM device that libdrm must recognise.
 */
#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "gpu.h"
#include "tap.h"

#define TOPOLOGY	"/sys/devices/virtual/kfd/kfd/topology"
#define FAMILY_AI	141

static struct gpu gpu;

static bool read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* The value of @key in "key value" lines; -1 when it is not there. */
static long long value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (!strncmp(text, key, len) && text[len] == ' ')
			return strtoll(text + len + 1, NULL, 10);
	return -1;
}

static void node_file(unsigned int node, const char *file, char *buf, size_t size)
{
	char path[160];

	snprintf(path, sizeof(path), TOPOLOGY "/nodes/%u/%s", node, file);
	if (!read_file(path, buf, size))
		tap_bail("%s cannot be read", path);
}

static void test_sysfs(void)
{
	static const char *const keys[] = {
		"cpu_cores_count", "simd_count", "mem_banks_count", "caches_count",
		"io_links_count", "p2p_links_count", "cpu_core_id_base", "simd_id_base",
		"max_waves_per_simd", "lds_size_in_kb", "gds_size_in_kb", "num_gws",
		"wave_front_size", "array_count", "simd_arrays_per_engine",
		"cu_per_simd_array", "simd_per_cu", "max_slots_scratch_cu",
		"gfx_target_version", "vendor_id", "device_id", "location_id", "domain",
		"drm_render_minor", "hive_id", "num_sdma_engines",
		"num_sdma_xgmi_engines", "num_sdma_queues_per_engine", "num_cp_queues",
		"max_engine_clk_ccompute", "unique_id", "fw_version", "capability",
		"sdma_fw_version",
	};
	static char text[8192];
	unsigned int i, missing = 0;
	char id[32];

	tap_ok(read_file(TOPOLOGY "/generation_id", id, sizeof(id)) && atoi(id) > 0, "generation_id is a number");
	tap_ok(read_file(TOPOLOGY "/system_properties", text, sizeof(text)) && text[0], "system_properties");
	tap_ok(access("/sys/class/kfd/kfd/topology/nodes", R_OK) == 0, "the class link leads to the nodes");

	node_file(0, "gpu_id", id, sizeof(id));
	tap_is(atoi(id), 0, "node 0 is no GPU");
	node_file(0, "properties", text, sizeof(text));
	tap_is(value_of(text, "cpu_cores_count"), sysconf(_SC_NPROCESSORS_ONLN), "it has all CPUs");
	tap_is(value_of(text, "simd_count"), 0, "and no SIMD");
	tap_is(value_of(text, "device_id"), 0, "no device");
	tap_ok(value_of(text, "p2p_links_count") >= 0, "p2p_links_count is told on every node");

	node_file(1, "gpu_id", id, sizeof(id));
	tap_is(atoi(id), gpu.props.KFDGpuID, "node 1 is the GPU");
	node_file(1, "properties", text, sizeof(text));
	tap_ok(strlen(text) < 4096, "its properties fit the page that clients read");
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (value_of(text, keys[i]) < 0) {
			tap_diag("no %s", keys[i]);
			missing++;
		}
	tap_is(missing, 0, "all keys that clients look for are there");
	tap_is(value_of(text, "cpu_cores_count"), 0, "a GPU has no CPUs");
	tap_is(value_of(text, "vendor_id"), 0x1002, "vendor AMD");
	tap_is(value_of(text, "device_id"), 0x66a1, "device Vega20");
	tap_is(value_of(text, "gfx_target_version"), 90006, "gfx906");
	tap_is(value_of(text, "capability") >> 12 & 3, 2, "64-bit doorbells");
	node_file(1, "mem_banks/0/properties", text, sizeof(text));
	tap_is(value_of(text, "heap_type"), 1, "its memory is visible to the CPU");
	tap_ok(value_of(text, "size_in_bytes") > 0, "and not empty");
	node_file(1, "caches/0/properties", text, sizeof(text));
	tap_ok(value_of(text, "type") & 8 && value_of(text, "level") >= 1, "a data cache of the compute units");
	node_file(1, "io_links/0/properties", text, sizeof(text));
	tap_ok(value_of(text, "node_from") == 1 && value_of(text, "node_to") == 0, "a link from it to the CPU");
	node_file(1, "name", text, sizeof(text));
	tap_ok(text[0] && text[0] != '\n', "it has a name");
}

static void test_thunk(void)
{
	HsaMemoryProperties bank[8];
	HsaVersionInfo v;
	HSAuint32 i, visible = 0;

	tap_ok(hsaKmtGetVersion(&v) == 0 && v.KernelInterfaceMajorVersion == 1, "the thunk tells version 1");
	tap_is(gpu.props.EngineId.ui32.Major, 9, "gfx 9");
	tap_is(gpu.props.EngineId.ui32.Stepping, 6, "stepping 6");
	tap_ok(gpu.props.EngineId.ui32.uCode > 0, "firmware version");
	tap_is(gpu.props.NumFComputeCores, 16, "16 SIMDs");
	tap_is(gpu.props.NumCpQueues, 24, "24 compute queues");
	tap_ok(gpu.props.LocationId != 0, "a PCI address");
	if (gpu.props.NumMemoryBanks > 8)
		tap_bail("%u memory banks", gpu.props.NumMemoryBanks);
	tap_is(hsaKmtGetNodeMemoryProperties(gpu.node, gpu.props.NumMemoryBanks, bank), 0, "memory banks");
	for (i = 0; i < gpu.props.NumMemoryBanks; i++)
		visible += bank[i].HeapType == HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC && bank[i].SizeInBytes;
	tap_is(visible, 1, "one of them is visible VRAM");
	tap_ok(hsaKmtGetNodeProperties(99, &gpu.props) != HSAKMT_STATUS_SUCCESS, "node 99 does not exist");
}

static void test_drm(int minor)
{
	struct amdgpu_gpu_info info;
	amdgpu_device_handle dev = NULL;
	uint32_t major_nr, minor_nr;
	char path[64], sys[96], *card;
	drmVersionPtr v;
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (!tap_ok(fd >= 0, "%s opens", path))
		return;
	v = drmGetVersion(fd);
	tap_ok(v && v->version_major == 3 && v->version_minor >= 54, "DRM version 3.54 or higher");
	tap_ok(v && !strcmp(v->name, "amdgpu"), "driver name amdgpu");
	drmFreeVersion(v);
	tap_is(drmGetNodeTypeFromFd(fd), DRM_NODE_RENDER, "a render node");
	card = drmGetPrimaryDeviceNameFromFd(fd);
	tap_ok(card && access(card, F_OK) == 0, "the card has its primary node");
	free(card);
	snprintf(sys, sizeof(sys), "/sys/class/drm/renderD%d/device/drm/renderD%d", minor, minor);
	tap_ok(access(sys, F_OK) == 0, "both below one PCI device");
	if (tap_is(amdgpu_device_initialize(fd, &major_nr, &minor_nr, &dev), 0, "libdrm takes the device")) {
		tap_is(amdgpu_query_gpu_info(dev, &info), 0, "its description");
		tap_is(info.asic_id, 0x66a1, "the ASIC");
		tap_ok(info.family_id >= FAMILY_AI, "the family");
		tap_is(info.gpu_counter_freq, 100000, "the counter frequency in kHz");
		tap_is(info.ids_flags & AMDGPU_IDS_FLAGS_FUSION, 0, "no APU");
		amdgpu_device_deinitialize(dev);
	}
	close(fd);
}

int main(void)
{
	HSAKMT_STATUS s;
	int minor;

	tap_begin(300);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	minor = gpu.props.DrmRenderMinor;
	test_sysfs();
	test_drm(minor);
	test_thunk();
	gpu_close();
	return tap_done();
}
