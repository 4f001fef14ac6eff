// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"
#include "thunk_fake.h"

struct fake_kernel fake;

#define MAX_BOS 4096
#define MAX_EVENTS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* mapped: a bit a GPU */
static struct { uint64_t size; uint32_t flags, gpu_id; bool live; unsigned int mapped; } bos[MAX_BOS];
static bool events[MAX_EVENTS], queues[1024];
static uint64_t event_page;	/* handle, 0: none */
static pid_t owner;		/* process that opened /dev/kfd */
static int kfd_fd = -1, render_fd[2];
static char root[64];

static uint64_t handle_of(int i)
{
	return (uint64_t)bos[i].gpu_id << 32 | (uint32_t)i;
}

/* 0 or 1; -1: no such GPU. */
static int gpu_of(uint32_t id)
{
	return id == FAKE_GPU_ID ? 0 : id == FAKE_GPU2_ID && fake.gpus == 2 ? 1 : -1;
}

static int bo_of(uint64_t handle)
{
	uint32_t i = (uint32_t)handle;

	return i && i < MAX_BOS && bos[i].live && handle == handle_of((int)i) ? (int)i : -1;
}

static void record(int nr, int size, uint64_t arg, uint64_t len)
{
	if (fake.calls < FAKE_LOG)
		fake.log[fake.calls++] = (struct fake_call){ nr, size, arg, len };
}

static int fail(int err)
{
	errno = err;
	return -1;
}

/* ---- the driver's side of each call, under the lock -------------------- */

static int new_bo(uint32_t gpu_id, uint64_t size, uint32_t flags)
{
	for (int i = 1; i < MAX_BOS; i++)
		if (!bos[i].live) {
			bos[i].live = true;
			bos[i].mapped = 0;
			bos[i].size = size;
			bos[i].flags = flags;
			bos[i].gpu_id = gpu_id;
			fake.live_bos++;
			return i;
		}
	return -1;
}

static int do_alloc(struct kfd_ioctl_alloc_memory_of_gpu_args *a)
{
	int i;

	fake.last_alloc = *a;
	fake.last_bo_flags = a->flags;
	record(FAKE_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU), sizeof(*a), a->flags, a->size);
	if (gpu_of(a->gpu_id) < 0 || !a->size)
		return fail(EINVAL);
	i = new_bo(a->gpu_id, a->size, a->flags);
	if (i < 0)
		return fail(ENOMEM);
	a->handle = handle_of(i);
	if (!(a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR))
		a->mmap_offset = (uint64_t)i << 40;
	return 0;
}

static int do_free(const struct kfd_ioctl_free_memory_of_gpu_args *a)
{
	int i = bo_of(a->handle);

	if (i < 0)
		return fail(EINVAL);
	if (a->handle == event_page)
		return fail(EPERM);
	if (bos[i].mapped)
		return fail(EBUSY);
	bos[i].live = false;
	fake.live_bos--;
	return 0;
}

static int do_map(struct kfd_ioctl_map_memory_to_gpu_args *a, bool map)
{
	const uint32_t *ids = hsakmt_ptr(a->device_ids_array_ptr);
	int i = bo_of(a->handle);

	if (i < 0 || !a->n_devices)
		return fail(EINVAL);
	fake.mapped_bos -= !!bos[i].mapped;
	fake.last_map_count = 0;
	for (; a->n_success < a->n_devices; a->n_success++) {
		int gpu = gpu_of(ids[a->n_success]);

		if (gpu < 0)
			break;
		bos[i].mapped = map ? bos[i].mapped | 1u << gpu : bos[i].mapped & ~(1u << gpu);
		if (fake.last_map_count < 2)
			fake.last_map[fake.last_map_count++] = ids[a->n_success];
	}
	fake.mapped_bos += !!bos[i].mapped;
	return a->n_success == a->n_devices ? 0 : fail(EINVAL);
}

static int do_dmabuf_info(struct kfd_ioctl_get_dmabuf_info_args *a)
{
	uint32_t room = a->metadata_size;

	if (a->dmabuf_fd != FAKE_DMABUF || !fake.dmabuf_size)
		return fail(EINVAL);
	a->size = fake.dmabuf_size;
	a->gpu_id = FAKE_GPU_ID;
	a->flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_MEM_WRITABLE;
	a->metadata_size = fake.dmabuf_metadata;
	if (room < fake.dmabuf_metadata)
		return fail(EINVAL);
	memset(hsakmt_ptr(a->metadata_ptr), 0x5a, fake.dmabuf_metadata);
	return 0;
}

static int do_import(struct kfd_ioctl_import_dmabuf_args *a)
{
	int i;

	if (a->dmabuf_fd != FAKE_DMABUF || gpu_of(a->gpu_id) < 0)
		return fail(EINVAL);
	i = new_bo(a->gpu_id, fake.dmabuf_size, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
	if (i < 0)
		return fail(ENOMEM);
	a->handle = handle_of(i);
	return 0;
}

static int do_ipc_import(struct kfd_ioctl_ipc_import_handle_args *a)
{
	int i;

	if (!fake.ipc_size)
		return fail(ENOTTY);
	if (a->share_handle[0] != FAKE_SHARE || gpu_of(a->gpu_id) < 0)
		return fail(EINVAL);
	i = new_bo(a->gpu_id, fake.ipc_size, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
	if (i < 0)
		return fail(ENOMEM);
	a->handle = handle_of(i);
	a->mmap_offset = (uint64_t)i << 40;
	a->flags = (HsaMemFlags){ .ui32 = { .HostAccess = 1, .NonPaged = 1 } }.Value;
	return 0;
}

static int do_ipc_export(struct kfd_ioctl_ipc_export_handle_args *a)
{
	if (!fake.ipc_size)
		return fail(ENOTTY);
	if (bo_of(a->handle) < 0)
		return fail(EINVAL);
	a->share_handle[0] = FAKE_SHARE;
	return 0;
}

static int do_create_event(struct kfd_ioctl_create_event_args *a, bool failing)
{
	if (a->event_page_offset) {
		if (event_page || bo_of(a->event_page_offset) < 0)
			return fail(EINVAL);
		if (!failing || fake.keep_event_page) {
			event_page = a->event_page_offset;
			fake.event_pages++;
		}
	}
	if (failing)
		return fail(fake.fail_errno);
	for (uint32_t i = 1; i < MAX_EVENTS; i++)
		if (!events[i]) {
			events[i] = true;
			fake.live_events++;
			a->event_id = a->event_slot_index = a->event_trigger_data = i;
			a->event_page_offset = 2ull << 62 | (uint64_t)FAKE_GPU_ID << 46;
			return 0;
		}
	return fail(ENOSPC);
}

static int do_destroy_event(uint32_t id)
{
	if (id >= MAX_EVENTS || !events[id])
		return fail(EINVAL);
	events[id] = false;
	fake.live_events--;
	return 0;
}

static int do_queue(struct kfd_ioctl_create_queue_args *a, size_t size)
{
	memset(&fake.last_queue, 0, sizeof(fake.last_queue));
	memcpy(&fake.last_queue, a, size);
	for (uint32_t i = 0; i < 1024; i++)
		if (!queues[i]) {
			queues[i] = true;
			fake.live_queues++;
			a->queue_id = i;
			a->doorbell_offset = fake.doorbell_offset + i * 8;
			return 0;
		}
	return fail(ENOSPC);
}

static int do_destroy_queue(uint32_t id)
{
	if (id >= 1024 || !queues[id])
		return fail(EINVAL);
	queues[id] = false;
	fake.live_queues--;
	return 0;
}

static int do_apertures(struct kfd_ioctl_get_process_apertures_new_args *a)
{
	struct kfd_process_device_apertures *ap = hsakmt_ptr(a->kfd_process_device_apertures_ptr);

	if (a->num_of_nodes < (uint32_t)fake.gpus)
		return fail(EINVAL);
	a->num_of_nodes = (uint32_t)fake.gpus;
	for (int i = 0; i < fake.gpus; i++, ap++) {
		ap->gpu_id = i ? FAKE_GPU2_ID : FAKE_GPU_ID;
		ap->lds_base = 1ull << 48;
		ap->lds_limit = ap->lds_base | 0xffffffff;
		ap->scratch_base = 2ull << 48;
		ap->scratch_limit = ap->scratch_base | 0xffffffff;
		ap->gpuvm_base = 0x10000;
		ap->gpuvm_limit = fake.gpuvm_limit;
	}
	return 0;
}

static int dispatch(unsigned long request, void *arg, bool failing)
{
	int nr = FAKE_NR(request), size = _IOC_SIZE(request);

	if (nr == FAKE_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU) ||
	    nr == FAKE_NR(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU)) {
		const struct kfd_ioctl_map_memory_to_gpu_args *a = arg;

		record(nr, size, a->n_devices, a->handle);
	} else if (nr != FAKE_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU)) {
		record(nr, size, 0, 0);
	}
	if (nr == FAKE_NR(AMDKFD_IOC_CREATE_EVENT))
		return do_create_event(arg, failing);
	if (failing)
		return fail(fake.fail_errno);

	switch (request) {
	case AMDKFD_IOC_GET_VERSION:
		((struct kfd_ioctl_get_version_args *)arg)->major_version = fake.major;
		((struct kfd_ioctl_get_version_args *)arg)->minor_version = fake.minor;
		return 0;
	case AMDKFD_IOC_GET_PROCESS_APERTURES_NEW:
		return do_apertures(arg);
	case AMDKFD_IOC_ALLOC_MEMORY_OF_GPU:
		return do_alloc(arg);
	case AMDKFD_IOC_FREE_MEMORY_OF_GPU:
		return do_free(arg);
	case AMDKFD_IOC_MAP_MEMORY_TO_GPU:
		return do_map(arg, true);
	case AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU:
		return do_map(arg, false);
	case AMDKFD_IOC_DESTROY_EVENT:
		return do_destroy_event(((struct kfd_ioctl_destroy_event_args *)arg)->event_id);
	case AMDKFD_IOC_DESTROY_QUEUE:
		return do_destroy_queue(((struct kfd_ioctl_destroy_queue_args *)arg)->queue_id);
	case AMDKFD_IOC_UPDATE_QUEUE:
		fake.last_update = *(struct kfd_ioctl_update_queue_args *)arg;
		return 0;
	case AMDKFD_IOC_SET_XNACK_MODE:
		return fail(EPERM);
	case AMDKFD_IOC_AVAILABLE_MEMORY:
		((struct kfd_ioctl_get_available_memory_args *)arg)->available = 123456789;
		return 0;
	case AMDKFD_IOC_GET_CLOCK_COUNTERS:
		((struct kfd_ioctl_get_clock_counters_args *)arg)->gpu_clock_counter = 42;
		return 0;
	case AMDKFD_IOC_SET_EVENT:
	case AMDKFD_IOC_RESET_EVENT:
	case AMDKFD_IOC_ACQUIRE_VM:
	case AMDKFD_IOC_SET_MEMORY_POLICY:
	case AMDKFD_IOC_SET_SCRATCH_BACKING_VA:
	case AMDKFD_IOC_SET_CU_MASK:
	case AMDKFD_IOC_SET_TRAP_HANDLER:
		return 0;
	case AMDKFD_IOC_EXPORT_DMABUF:
		((struct kfd_ioctl_export_dmabuf_args *)arg)->dmabuf_fd = FAKE_DMABUF;
		return 0;
	case AMDKFD_IOC_GET_DMABUF_INFO:
		return do_dmabuf_info(arg);
	case AMDKFD_IOC_IMPORT_DMABUF:
		return do_import(arg);
	case AMDKFD_IOC_IPC_IMPORT_HANDLE:
		return do_ipc_import(arg);
	case AMDKFD_IOC_IPC_EXPORT_HANDLE:
		return do_ipc_export(arg);
	}
	if (nr == 0x02)
		return do_queue(arg, (size_t)size);
	if (nr == 0x20)
		return fake.svm ? 0 : fail(EPERM);
	return fail(ENOTTY);
}

/* ---- the seam ----------------------------------------------------------- */

int hsakmt_sys_ioctl(int fd, unsigned long request, void *arg)
{
	int nr = FAKE_NR(request), ret;
	bool failing = false;

	if (fd != kfd_fd || getpid() != owner)
		return fail(EBADF);
	if (fake.hook)
		fake.hook(nr, arg);
	pthread_mutex_lock(&lock);
	if (fake.interrupts > 0) {
		fake.interrupts--;
		record(nr, 0, 0, 0);
		pthread_mutex_unlock(&lock);
		return fail(fake.interrupts & 1 ? EAGAIN : EINTR);
	}
	if (fake.fail_nr == nr && fake.fail_after > 0 && !--fake.fail_after) {
		failing = true;
		if (fake.fail_forever)
			fake.fail_after = 1;
	}
	if (request == AMDKFD_IOC_WAIT_EVENTS && !failing) {
		struct kfd_ioctl_wait_events_args *a = arg;

		record(nr, _IOC_SIZE(request), a->timeout, a->num_events);
		pthread_mutex_unlock(&lock);	/* waiting does not block others */
		return fake.wait ? fake.wait(a, hsakmt_ptr(a->events_ptr)) : fail(EINVAL);
	}
	ret = dispatch(request, arg, failing);
	nr = errno;
	pthread_mutex_unlock(&lock);
	errno = nr;
	return ret;
}

int hsakmt_sys_open(const char *path)
{
	if (strcmp(path, "/dev/kfd"))
		return fail(ENOENT);
	if (fake.no_kfd)
		return fail(ENOENT);
	kfd_fd = memfd_create("kfd", MFD_CLOEXEC);
	owner = getpid();
	fake.fds++;
	return kfd_fd;
}

void hsakmt_sys_close(int fd)
{
	fake.fds--;
	close(fd);
}

void *hsakmt_sys_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	pthread_mutex_lock(&lock);
	record(FAKE_MMAP, fd == kfd_fd, (uint64_t)offset, size);
	if (fake.fail_nr == FAKE_MMAP && fake.fail_after > 0 && !--fake.fail_after) {
		pthread_mutex_unlock(&lock);
		errno = fake.fail_errno;
		return MAP_FAILED;
	}
	pthread_mutex_unlock(&lock);
	return mmap(addr, size, prot, flags | MAP_ANONYMOUS, -1, 0);
}

int hsakmt_sys_bind_node(void *addr, size_t size, uint32_t node, bool strict)
{
	(void)addr;
	(void)size;
	(void)node;
	(void)strict;
	return 0;
}

int hsakmt_drm_open(int minor)
{
	if (fake.render_errno)
		return -fake.render_errno;
	if (minor < 128 || minor >= 128 + fake.gpus)
		return -ENOENT;
	minor -= 128;
	if (!render_fd[minor]) {
		render_fd[minor] = memfd_create("render", MFD_CLOEXEC);
		fake.fds++;
	}
	return render_fd[minor];
}

void *hsakmt_drm_device(int minor)
{
	(void)minor;
	return &fake;
}

void hsakmt_drm_forget(void)
{
	for (int i = 0; i < 2; i++) {
		if (render_fd[i]) {
			close(render_fd[i]);
			fake.fds--;
		}
		render_fd[i] = 0;
	}
}

bool hsakmt_drm_describe(HsaNodeProperties *props)
{
	props->FamilyID = 141;
	return true;
}

/* ---- topology ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3)))
static void put_file(const char *name, const char *fmt, ...)
{
	char path[256], *slash;
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	f = fopen(path, "w");
	if (!f)
		tap_bail("cannot write %s: %m", path);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static void put_link(unsigned int node, const char *kind, unsigned int n, unsigned int to)
{
	char name[64];

	snprintf(name, sizeof(name), "nodes/%u/%s/%u/properties", node, kind, n);
	put_file(name, "type 2\nversion_major 0\nversion_minor 0\n"
		 "node_from %u\nnode_to %u\nweight 20\nflags 1\n", node, to);
}

/* The second GPU; node 0 is told of it by make_topology(). */
static void make_second(void)
{
	put_file("nodes/2/gpu_id", "%d\n", FAKE_GPU2_ID);
	put_file("nodes/2/properties", "cpu_cores_count 0\nsimd_count 16\nmem_banks_count 0\n"
		 "caches_count 0\nio_links_count 1\np2p_links_count %d\nsimd_id_base 2147491840\n"
		 "capability %u\nlds_size_in_kb 64\ngfx_target_version %u\nvendor_id 4098\n"
		 "device_id %u\nlocation_id 512\ndrm_render_minor 129\n", fake.peers,
		 0x2000u | (fake.svm ? 1u << 27 : 0), fake.gfx_target, fake.device_id);
	put_link(0, "io_links", 1, 2);
	put_link(2, "io_links", 0, 0);
	if (fake.peers) {
		put_link(1, "p2p_links", 0, 2);
		put_link(2, "p2p_links", 0, 1);
	}
}

static void make_topology(void)
{
	snprintf(root, sizeof(root), "/tmp/thunk-XXXXXX");
	if (!mkdtemp(root))
		tap_bail("mkdtemp: %m");
	put_file("generation_id", "2\n");
	put_file("system_properties", "platform_oem 7\nplatform_id 8\nplatform_rev 9\n");
	put_file("nodes/0/gpu_id", "0\n");
	put_file("nodes/0/properties", "cpu_cores_count 2\nsimd_count 0\nmem_banks_count 1\n"
		 "caches_count 0\nio_links_count %d\np2p_links_count 0\ncpu_core_id_base 0\n",
		 fake.gpus);
	put_file("nodes/0/mem_banks/0/properties", "heap_type 0\nsize_in_bytes 4294967296\n"
		 "flags 0\nwidth 64\nmem_clk_max 1600\n");
	put_link(0, "io_links", 0, 1);
	put_file("nodes/1/gpu_id", "%d\n", FAKE_GPU_ID);
	put_file("nodes/1/properties", "cpu_cores_count 0\nsimd_count 16\nmem_banks_count 1\n"
		 "caches_count 1\nio_links_count 1\np2p_links_count %d\nsimd_id_base 2147487744\n"
		 "capability %u\nmax_waves_per_simd 10\nlds_size_in_kb 64\nwave_front_size 64\n"
		 "array_count 1\nsimd_arrays_per_engine 1\ncu_per_simd_array 4\nsimd_per_cu 4\n"
		 "gfx_target_version %u\nvendor_id 4098\ndevice_id %u\nlocation_id 256\n"
		 "drm_render_minor 128\nfw_version 435\nsdma_fw_version 145\nnum_cp_queues 24\n%s",
		 fake.gpus == 2 && fake.peers, 0x2000u | (fake.svm ? 1u << 27 : 0), fake.gfx_target, fake.device_id,
		 fake.gpu_extra ? fake.gpu_extra : "");
	put_file("nodes/1/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 1073741824\n"
		 "flags 0\nwidth 4096\nmem_clk_max 1000\n");
	put_file("nodes/1/caches/0/properties", "processor_id_low 2147487744\nlevel 1\nsize 16\n"
		 "cache_line_size 64\ncache_lines_per_tag 1\nassociation 64\nlatency 140\ntype 9\n"
		 "sibling_map 1,0,1\n");
	put_link(1, "io_links", 0, 0);
	if (fake.gpus == 2)
		make_second();
}

const char *hsakmt_sys_topology_root(void)
{
	static int reads;

	if (!root[0])
		make_topology();
	/* Every look at the topology may see it change, for as long as asked. */
	if (fake.generation_changes) {
		fake.generation_changes--;
		put_file("generation_id", "%d\n", 3 + reads++);
	}
	return root;
}

/* ---- for the scenarios ---------------------------------------------------- */

int fake_count(int nr, int from)
{
	int n = 0;

	for (int i = from; i < fake.calls; i++)
		n += fake.log[i].nr == nr;
	return n;
}

int fake_find(int nr, int from)
{
	for (int i = from; i < fake.calls; i++)
		if (fake.log[i].nr == nr)
			return i;
	return -1;
}

void fake_fail(int nr, int nth, int err)
{
	fake.fail_nr = nr;
	fake.fail_after = nth;
	fake.fail_errno = err;
}

void fake_order(char *buf, size_t size, int from)
{
	size_t len = 0;

	buf[0] = '\0';
	for (int i = from; i < fake.calls && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, fake.log[i].nr == FAKE_MMAP ?
					"%smmap" : "%s%02x", len ? " " : "", fake.log[i].nr);
}

void fake_open(void)
{
	HsaSystemProperties sys;

	if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtAcquireSystemProperties(&sys) != HSAKMT_STATUS_SUCCESS)
		tap_bail("open and acquire do not work");
}

struct scenario {
	void (*fn)(void);
};

static void run(void *arg)
{
	struct scenario *s = arg;
	char cmd[96];

	s->fn();
	if (root[0]) {
		snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
		if (system(cmd))
			tap_diag("cannot remove %s", root);
	}
	fflush(stdout);
	exit(0);	/* not _exit: the leak check of ASan runs here */
}

void fake_scenario(const char *name, void (*fn)(void))
{
	struct scenario s = { fn };

	fake = (struct fake_kernel){
		.major = 1, .minor = 14,
		.gpuvm_limit = (1ull << 47) - 1,
		.gpus = 1,
		.device_id = 0x66a1, .gfx_target = 90006,
		.doorbell_offset = 3ull << 62 | (uint64_t)FAKE_GPU_ID << 46,
	};
	tap_diag("%s", name);
	tap_child(name, run, &s);
}
