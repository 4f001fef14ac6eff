// SPDX-License-Identifier: MIT
/*
 * Garbage for /dev/kfd and the render node: every ioctl number and size, arguments from
 * random to almost right, mappings at any offset that are cut up and touched, forks,
 * signals, all at once from threads of several processes. What they do is the same in
 * each run, in what order is not. Afterwards the kernel must have nothing to complain
 * about, all VRAM must be back and a normal queue must work.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>
#include <drm/drm.h>

#include <vkfd/kfd_ipc.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define PROCESSES	3
#define THREADS		2
#define ARG_BYTES	16384u		/* more than an ioctl's size can be */
#define ARENA_BYTES	(64u * GPU_PAGE)	/* all valid pointers are into it */
#define KEEP		16		/* handles, ids and offsets remembered of each kind */
#define LONG_MS		60000u

/* What the threads of a process share; racing for it is part of the test. */
static struct kfd_proc proc;
static uint8_t *arena, *va_space;
static uint64_t handles[KEEP], offsets[KEEP];
static uint32_t queue_ids[KEEP], event_ids[KEEP], gem_handles[KEEP], share_keys[KEEP][4];
static int dmabufs[KEEP];	/* 0: none */

/* The argument of an ioctl, as words and as what it may be. */
union arg {
	uint64_t w[ARG_BYTES / 8];
	uint32_t w32[ARG_BYTES / 4];
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc;
	struct kfd_ioctl_map_memory_to_gpu_args map;
	struct kfd_ioctl_create_event_args event;
	struct kfd_ioctl_wait_events_args wait;
	struct kfd_ioctl_create_queue_args queue;
	struct kfd_ioctl_update_queue_args update;
	struct kfd_ioctl_import_dmabuf_args import;
	struct kfd_ioctl_export_dmabuf_args export;
	struct kfd_ioctl_get_dmabuf_info_args info;
	struct kfd_ioctl_ipc_import_handle_args ipc_import;
	struct kfd_ioctl_ipc_export_handle_args ipc_export;
	union drm_amdgpu_gem_create create;
	struct drm_amdgpu_gem_va va;
	struct drm_amdgpu_gem_metadata metadata;
	struct drm_prime_handle prime;
};

/* One thread. */
struct fuzz {
	uint64_t rng;
	union arg arg;
	uint8_t *map;
	size_t map_size;
};

static __thread sigjmp_buf on_bus_error;

static void bus_error(int sig)
{
	siglongjmp(on_bus_error, sig);
}

static void ignore(int sig)
{
	(void)sig;
}

/* xorshift64 */
static uint64_t rnd(struct fuzz *f)
{
	f->rng ^= f->rng << 13;
	f->rng ^= f->rng >> 7;
	f->rng ^= f->rng << 17;
	return f->rng;
}

static uint32_t below(struct fuzz *f, uint32_t n)
{
	return (uint32_t)(rnd(f) >> 32) % n;
}

static uint64_t pointer(struct fuzz *f)
{
	uint64_t p = (uintptr_t)(below(f, 2) ? arena : va_space) + below(f, ARENA_BYTES);

	return below(f, 4) ? p & ~(uint64_t)(GPU_PAGE - 1) : p;
}

static uint32_t word32(struct fuzz *f)
{
	switch (below(f, 10)) {
	case 0: return proc.gpu_id;
	case 1: return (uint32_t)rnd(f);
	case 2: return 1u << below(f, 32);
	case 3: return ~0u - below(f, 4);
	case 4: return (1u + below(f, 16)) * GPU_PAGE;
	case 5: return (uint32_t)proc.render;
	case 6: return queue_ids[below(f, KEEP)];
	case 7: return event_ids[below(f, KEEP)];
	default: return below(f, 9);
	}
}

static uint64_t word64(struct fuzz *f)
{
	switch (below(f, 8)) {
	case 0: return pointer(f);
	case 1: return rnd(f);
	case 2: return handles[below(f, KEEP)];
	case 3: return ~0ull - below(f, 2 * GPU_PAGE);
	case 4: return 0;
	default: return (uint64_t)word32(f) << 32 | word32(f);
	}
}

/* The same for memory that is shared. */
static void sensible_share(struct fuzz *f, unsigned int nr)
{
	uint64_t va = (uintptr_t)va_space + (uint64_t)below(f, 32) * GPU_PAGE;
	unsigned int slot = below(f, KEEP);

	switch (nr) {
	case _IOC_NR(AMDKFD_IOC_EXPORT_DMABUF):
		f->arg.export.handle = handles[slot];
		return;
	case _IOC_NR(AMDKFD_IOC_IMPORT_DMABUF):
		f->arg.import = (struct kfd_ioctl_import_dmabuf_args) {
			.va_addr = va,
			.gpu_id = proc.gpu_id,
			.dmabuf_fd = (uint32_t)dmabufs[slot],
		};
		return;
	case _IOC_NR(AMDKFD_IOC_GET_DMABUF_INFO):
		f->arg.info = (struct kfd_ioctl_get_dmabuf_info_args) {
			.metadata_ptr = (uintptr_t)arena,
			.metadata_size = below(f, 400),
			.dmabuf_fd = (uint32_t)dmabufs[slot],
		};
		return;
	case _IOC_NR(AMDKFD_IOC_IPC_EXPORT_HANDLE):
		f->arg.ipc_export = (struct kfd_ioctl_ipc_export_handle_args) {
			.handle = handles[slot],
			.gpu_id = proc.gpu_id,
		};
		return;
	case _IOC_NR(AMDKFD_IOC_IPC_IMPORT_HANDLE):
		f->arg.ipc_import = (struct kfd_ioctl_ipc_import_handle_args) {
			.va_addr = va,
			.gpu_id = proc.gpu_id,
		};
		memcpy(f->arg.ipc_import.share_handle, share_keys[slot], sizeof(share_keys[slot]));
		return;
	}
}

static void keep_dmabuf(unsigned int slot, int fd)
{
	int old = __atomic_exchange_n(&dmabufs[slot], fd, __ATOMIC_RELAXED);

	if (old)
		close(old);
}

/* Right arguments for those ioctls that random ones do not get far into. */
static void sensible(struct fuzz *f, unsigned int nr)
{
	static const uint32_t kinds[] = {
		KFD_IOC_ALLOC_MEM_FLAGS_VRAM, KFD_IOC_ALLOC_MEM_FLAGS_GTT,
		KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL,
		KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP,
	};
	uint64_t page = (uint64_t)below(f, 32) * GPU_PAGE;

	memset(&f->arg, 0, 512);
	switch (nr) {
	case _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU): {
		uint32_t kind = kinds[below(f, 5)];

		f->arg.alloc = (struct kfd_ioctl_alloc_memory_of_gpu_args) {
			.va_addr = (uintptr_t)(below(f, 2) ? arena : va_space) + page,
			.size = kind == KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL ? 2 * GPU_PAGE :
				kind == KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP ? GPU_PAGE :
				(1u + below(f, 16)) * GPU_PAGE,
			.gpu_id = proc.gpu_id,
			.mmap_offset = kind == KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ?
				       (uintptr_t)arena + page : 0,
			.flags = kind | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
				 (below(f, 4) ? 0 : KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM),
		};
		return;
	}
	case _IOC_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU):
	case _IOC_NR(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU):
		*(uint32_t *)arena = proc.gpu_id;
		f->arg.map = (struct kfd_ioctl_map_memory_to_gpu_args) {
			.handle = handles[below(f, KEEP)],
			.device_ids_array_ptr = (uintptr_t)arena,
			.n_devices = 1,
		};
		return;
	case _IOC_NR(AMDKFD_IOC_FREE_MEMORY_OF_GPU):
		f->arg.w[0] = handles[below(f, KEEP)];
		return;
	case _IOC_NR(AMDKFD_IOC_CREATE_EVENT):
		f->arg.event = (struct kfd_ioctl_create_event_args) {
			.event_page_offset = below(f, 4) ? 0 : handles[below(f, KEEP)],
			.event_type = below(f, 9),
			.auto_reset = below(f, 2),
		};
		return;
	case _IOC_NR(AMDKFD_IOC_WAIT_EVENTS):
		f->arg.wait = (struct kfd_ioctl_wait_events_args) {
			.events_ptr = (uintptr_t)arena,
			.num_events = below(f, 4),
			.wait_for_all = below(f, 2),
			.timeout = below(f, 3) ? below(f, 5) : ~0u,
		};
		return;
	case _IOC_NR(AMDKFD_IOC_CREATE_QUEUE):
		f->arg.queue = (struct kfd_ioctl_create_queue_args) {
			.ring_base_address = (uintptr_t)arena + page,
			.write_pointer_address = (uintptr_t)arena,
			.read_pointer_address = (uintptr_t)arena + 8,
			.ring_size = 1024u << below(f, 3),
			.gpu_id = proc.gpu_id,
			.queue_percentage = 100,
			.queue_priority = below(f, 16),
		};
		return;
	case _IOC_NR(AMDKFD_IOC_UPDATE_QUEUE):
		f->arg.update = (struct kfd_ioctl_update_queue_args) {
			.ring_base_address = (uintptr_t)arena + page,
			.queue_id = queue_ids[below(f, KEEP)],
			.ring_size = 1024,
			.queue_percentage = below(f, 2) * 100,
		};
		return;
	}
	sensible_share(f, nr);
}

static void remember(struct fuzz *f, unsigned int nr)
{
	unsigned int slot = below(f, KEEP);

	switch (nr) {
	case _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU):
		handles[slot] = f->arg.alloc.handle;
		offsets[slot] = f->arg.alloc.mmap_offset;
		break;
	case _IOC_NR(AMDKFD_IOC_EXPORT_DMABUF):
		keep_dmabuf(slot, (int)f->arg.export.dmabuf_fd);
		break;
	case _IOC_NR(AMDKFD_IOC_IMPORT_DMABUF):
		handles[slot] = f->arg.import.handle;
		break;
	case _IOC_NR(AMDKFD_IOC_IPC_EXPORT_HANDLE):
		memcpy(share_keys[slot], f->arg.ipc_export.share_handle, sizeof(share_keys[slot]));
		break;
	case _IOC_NR(AMDKFD_IOC_IPC_IMPORT_HANDLE):
		handles[slot] = f->arg.ipc_import.handle;
		offsets[slot] = f->arg.ipc_import.mmap_offset;
		break;
	case _IOC_NR(AMDKFD_IOC_CREATE_QUEUE):
		queue_ids[slot] = f->arg.queue.queue_id;
		offsets[slot] = f->arg.queue.doorbell_offset &
				~8191ull;
		break;
	case _IOC_NR(AMDKFD_IOC_CREATE_EVENT):
		event_ids[slot] = f->arg.event.event_id;
		offsets[slot] = f->arg.event.event_page_offset;
		break;
	}
}

static void fuzz_kfd(struct fuzz *f)
{
	unsigned int nr = below(f, 64) ? 1 + below(f, 0x29) : below(f, 256), i;
	unsigned int size = below(f, 8) ? 8 * (1 + below(f, 16)) : below(f, 1u << _IOC_SIZEBITS);
	unsigned int dir = below(f, 8) ? _IOC_READ | _IOC_WRITE : below(f, 4);

	/* Behind upstream's come the two of IPC. */
	if (nr == 0x28 || nr == 0x29)
		nr += 0x80 - 0x28;
	/* Random arguments of a wait for ever are cut short by the timer. */
	for (i = 0; i < 16; i++)
		f->arg.w[i] = word64(f);
	if (below(f, 2)) {
		sensible(f, nr);
		if (!below(f, 3))
			f->arg.w32[below(f, 24)] = word32(f);
		size = 128;
	}
	if (!ioctl(proc.kfd, _IOC(dir, 'K', nr, size), below(f, 64) ? (void *)&f->arg : (void *)word64(f)))
		remember(f, nr);
}

/* GEM objects and their sharing, with arguments that are mostly right. */
static void fuzz_gem(struct fuzz *f)
{
	unsigned int slot = below(f, KEEP), pages = 1 + below(f, 16);
	struct drm_gem_close bye = { .handle = gem_handles[slot] };

	memset(&f->arg, 0, 512);
	switch (below(f, 7)) {
	case 0:
		f->arg.create.in.bo_size = (uint64_t)pages * GPU_PAGE;
		f->arg.create.in.domains = below(f, 2) ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
		if (!ioctl(proc.render, DRM_IOCTL_AMDGPU_GEM_CREATE, &f->arg))
			gem_handles[slot] = f->arg.create.out.handle;
		return;
	case 1:
		ioctl(proc.render, DRM_IOCTL_GEM_CLOSE, &bye);
		return;
	case 2:
		f->arg.prime.handle = gem_handles[slot];
		f->arg.prime.flags = below(f, 2) ? DRM_RDWR : 0;
		if (!ioctl(proc.render, DRM_IOCTL_PRIME_HANDLE_TO_FD, &f->arg))
			keep_dmabuf(slot, f->arg.prime.fd);
		return;
	case 3:
		f->arg.prime.fd = dmabufs[slot];
		if (!ioctl(proc.render, DRM_IOCTL_PRIME_FD_TO_HANDLE, &f->arg))
			gem_handles[slot] = f->arg.prime.handle;
		return;
	case 4:
		f->arg.metadata.handle = gem_handles[slot];
		f->arg.metadata.op = 1 + below(f, 2);
		f->arg.metadata.data.data_size_bytes = below(f, 260);
		ioctl(proc.render, DRM_IOCTL_AMDGPU_GEM_METADATA, &f->arg);
		return;
	default:
		f->arg.va = (struct drm_amdgpu_gem_va) {
			.handle = gem_handles[slot],
			.operation = 1 + below(f, 4),
			.flags = below(f, 16),
			.va_address = (uintptr_t)va_space + (uint64_t)below(f, 48) * GPU_PAGE,
			.offset_in_bo = (uint64_t)below(f, 4) * GPU_PAGE,
			.map_size = (uint64_t)pages * GPU_PAGE,
		};
		if (!below(f, 8))
			f->arg.w32[below(f, 10)] = word32(f);
		ioctl(proc.render, DRM_IOCTL_AMDGPU_GEM_VA, &f->arg);
	}
}

static void fuzz_render(struct fuzz *f)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		f->arg.w[i] = word64(f);
	if (below(f, 2)) {
		f->arg.w[0] = (uintptr_t)arena;
		f->arg.w[1] = (uint64_t)below(f, 0x30) << 32 | below(f, 512);
		ioctl(proc.render, DRM_IOCTL_AMDGPU_INFO, &f->arg);
	} else {
		ioctl(proc.render, _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE, below(f, 256),
					below(f, 256)), &f->arg);
	}
}

static void touch(struct fuzz *f)
{
	volatile uint64_t *p = (volatile uint64_t *)(f->map + below(f, (uint32_t)f->map_size / 8) * 8);

	if (sigsetjmp(on_bus_error, 1))
		return;
	if (below(f, 2))
		*p = rnd(f);
	else
		(void)*p;
}

/* One mapping a thread: made, touched, cut, moved, changed and removed. */
static void fuzz_map(struct fuzz *f)
{
	static const size_t sizes[] = { 4096, 8192, 16384, 32768, 65536, 1 << 20 };
	uint64_t offset = below(f, 4) ? offsets[below(f, KEEP)] : word64(f) & ~4095ull;
	int prot = below(f, 4) ? PROT_READ | PROT_WRITE : (int)below(f, 4);

	if (!f->map) {
		if (!below(f, 4))
			offset = (uint64_t)below(f, 4) << 62 | (uint64_t)proc.gpu_id << 46 |
				 below(f, 4) * 4096ull;
		f->map_size = sizes[below(f, 6)];
		f->map = mmap(NULL, f->map_size, prot, below(f, 4) ? MAP_SHARED : MAP_PRIVATE,
			      below(f, 2) ? proc.kfd : proc.render, (off_t)offset);
		if (f->map == MAP_FAILED)
			f->map = NULL;
		return;
	}
	switch (below(f, 8)) {
	case 0:
		munmap(f->map, f->map_size);
		f->map = NULL;
		break;
	case 1:
		if (f->map_size > GPU_PAGE && !munmap(f->map, GPU_PAGE)) {
			f->map += GPU_PAGE;
			f->map_size -= GPU_PAGE;
		}
		break;
	case 2:
		mprotect(f->map, GPU_PAGE, (int)below(f, 8));
		break;
	case 3:
		madvise(f->map, f->map_size, (int)below(f, 26));
		break;
	case 4: {
		void *p = mremap(f->map, f->map_size, f->map_size + below(f, 2) * GPU_PAGE,
				 MREMAP_MAYMOVE);

		/* Grown or not: what was there before is what we go on with. */
		if (p != MAP_FAILED)
			f->map = p;
		break;
	}
	default:
		touch(f);
	}
}

/* A child has the file but not the process; it must get nothing but EBADF. */
static void fuzz_fork(struct fuzz *f)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		sensible(f, _IOC_NR(AMDKFD_IOC_CREATE_EVENT));
		_exit(ioctl(proc.kfd, AMDKFD_IOC_CREATE_EVENT, &f->arg) && errno == EBADF ? 0 : 1);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			_exit(2);
	if (pid > 0 && status)
		_exit(3);
}

static void *fuzz_thread(void *data)
{
	const unsigned int steps = tap_full() ? 60000 : 6000;
	struct fuzz *f = data;
	unsigned int i;

	for (i = 0; i < steps; i++) {
		switch (below(f, 32)) {
		case 0 ... 19: fuzz_kfd(f); break;
		case 20: fuzz_render(f); break;
		case 21 ... 23: fuzz_gem(f); break;
		case 24 ... 30: fuzz_map(f); break;
		default:
			if (!below(f, 20))
				fuzz_fork(f);
		}
	}
	return NULL;
}

static int fuzz_process(unsigned int number)
{
	/* Ends every wait, and leaves signals pending anywhere. */
	const struct itimerval t = { { 0, 5000 }, { 0, 5000 } };
	struct sigaction sa = { .sa_handler = ignore };
	static struct fuzz f[THREADS];
	pthread_t thread[THREADS];
	unsigned int i;

	kfd_proc_open(&proc);
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	va_space = kfd_reserve_va(ARENA_BYTES);
	if (arena == MAP_FAILED)
		return 4;
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = bus_error;
	sigaction(SIGBUS, &sa, NULL);
	/* Reading what may only be written, and the like. */
	sigaction(SIGSEGV, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	for (i = 0; i < THREADS; i++) {
		f[i].rng = 0x9e3779b97f4a7c15ull * (number * THREADS + i + 1);
		if (pthread_create(&thread[i], NULL, fuzz_thread, &f[i]))
			return 5;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

/* Lines of the kernel's log from now on that report a fault of its own. */
static unsigned int kernel_faults(int kmsg)
{
	static const char * const bad[] = {
		"WARNING: ", "BUG: ", "Oops", "general protection", "refcount_t: ", "UBSAN: ",
		"INFO: task ", "self-detected stall", "list_add corruption", "list_del corruption",
	};
	unsigned int i, n = 0;
	char line[1024];
	ssize_t len;

	while ((len = read(kmsg, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		line[len] = 0;
		for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			if (strstr(line, bad[i])) {
				tap_diag("%s", strtok(line, "\n"));
				n++;
				break;
			}
		}
	}
	return n;
}

static uint64_t available(const struct kfd_proc *p)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = p->gpu_id };

	if (kfd_call(p->kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY failed");
	return a.available;
}

static void test_works(void *arg)
{
	struct queue q[4];
	uint64_t *word;
	struct gpu gpu;
	unsigned int i;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	for (i = 0; i < 4; i++) {
		if (!word || queue_create(&q[i], &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
			tap_bail("queue %u", i);
		p = queue_reserve(&q[i], PM4_WRITE64_DW);
		queue_commit(&q[i], pm4_write64(p, gpu_va(&word[i]), 42 + i));
		queue_submit(&q[i]);
		tap_ok(wait_word(&word[i], 42 + i, LONG_MS), "queue %u of a normal process works", i);
	}
	gpu_close();
}

int main(void)
{
	uint64_t before, end;
	struct kfd_proc p;
	pid_t pid[PROCESSES];
	unsigned int i, good = 0;
	int kmsg, status;

	tap_begin(1200);
	kfd_proc_open(&p);
	before = available(&p);
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		tap_bail("/dev/kmsg: %m");
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			tap_bail("fork: %m");
		if (!pid[i])
			_exit(fuzz_process(i));
	}
	for (i = 0; i < PROCESSES; i++) {
		if (waitpid(pid[i], &status, 0) != pid[i])
			tap_bail("waitpid: %m");
		good += !status;
		if (status)
			tap_diag("process %u: wait status 0x%x", i, (unsigned int)status);
	}
	tap_is(good, PROCESSES, "processes came to their end");
	end = now_ns() + LONG_MS * 1000000ull;
	while (available(&p) != before && now_ns() < end)
		sched_yield();
	tap_is((int64_t)available(&p), (int64_t)before, "all VRAM is back");
	tap_child("afterwards", test_works, NULL);
	tap_is(kernel_faults(kmsg), 0, "the kernel found no fault in itself");
	return tap_done();
}
