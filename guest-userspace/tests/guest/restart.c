// SPDX-License-Identifier: MIT
/*
 * Signals in the middle of ioctls. Each ioctl of memory and queues is made once in peace,
 * and then with a signal at its first interruptible point, its second, and so on until it
 * has none left. Where the kernel starts system calls again, the program notices nothing.
 * Where it does not, it sees -EINTR, nothing else has changed but what the arguments count,
 * and the same call with the same arguments, made again, comes to the same end.
 *
 * What there is to see is what the driver lists of the process's memory and what is left of
 * VRAM; that it is the memory it says, the GPU shows.
 *
 * Needs root and debugfs. With two GPUs there is a point between them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"
#include "raw.h"
#include "tap.h"

#define AT		"/sys/kernel/debug/kfd/interrupt_at"
#define NODES		"/sys/devices/virtual/kfd/kfd/topology/nodes"
#define BYTES		(64u * 1024)
#define POINTS_MAX	64u	/* of one ioctl; there are far fewer */
#define MAX_GPUS	2u
#define RW		KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE

union args {
	struct kfd_ioctl_acquire_vm_args acquire;
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc;
	struct kfd_ioctl_free_memory_of_gpu_args free;
	struct kfd_ioctl_map_memory_to_gpu_args map;
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap;
	struct kfd_ioctl_get_available_memory_args available;
	struct kfd_ioctl_export_dmabuf_args export;
	struct kfd_ioctl_import_dmabuf_args import;
	struct kfd_ioctl_set_memory_policy_args policy;
	struct kfd_ioctl_create_queue_args create;
	struct kfd_ioctl_update_queue_args update;
	struct kfd_ioctl_destroy_queue_args destroy;
};

struct state {
	char memory[4096];
	uint64_t available;
};

/**
 * struct op - one ioctl
 * @prepare: what it needs, and its arguments
 * @undo: of a call that succeeded, and of @prepare
 * @counts: its arguments may tell of progress when it is interrupted
 */
struct op {
	const char *name;
	unsigned long request;
	void (*prepare)(union args *a);
	void (*undo)(const union args *a);
	bool counts;
};

static struct raw_proc r;
static struct raw_queue queue;
static uint32_t gpu_id[MAX_GPUS];
static unsigned int gpus;
static char *va, *user;
static uint64_t handle;
static int dmabuf = -1;
static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void set_handler(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &sa, NULL);
}

static void arm(unsigned int n)
{
	int fd = open(AT, O_WRONLY | O_CLOEXEC);
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		tap_bail(AT ": %m");
	close(fd);
}

static uint64_t available(uint32_t id)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = id };

	if (kfd_call(r.p.kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY");
	return a.available;
}

static void look(struct state *s)
{
	char path[64];
	ssize_t n;
	int fd;

	memset(s, 0, sizeof(*s));
	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/proc/%d/memory", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, s->memory, sizeof(s->memory) - 1);
	if (n <= 0 || n == sizeof(s->memory) - 1)
		tap_bail("%s", path);
	close(fd);
	s->available = available(gpu_id[0]);
}

static bool same(const struct state *a, const struct state *b)
{
	return a->available == b->available && !strcmp(a->memory, b->memory);
}

/* ---- what the ioctls are made with, and what undoes them ---- */

static void need(int err, const char *what)
{
	if (err)
		tap_bail("%s: errno %d", what, -err);
}

static void alloc_args(union args *a, uint32_t flags)
{
	a->alloc = (struct kfd_ioctl_alloc_memory_of_gpu_args){
		.va_addr = (uintptr_t)va,
		.size = BYTES,
		.gpu_id = gpu_id[0],
		.flags = flags | RW,
		.mmap_offset = flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ? (uintptr_t)user : 0,
	};
}

static void prepare_acquire(union args *a)
{
	a->acquire.drm_fd = (uint32_t)r.p.render;
	a->acquire.gpu_id = gpu_id[0];
}

static void prepare_alloc_vram(union args *a)
{
	alloc_args(a, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
}

static void prepare_alloc_gtt(union args *a)
{
	alloc_args(a, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
}

static void prepare_alloc_user(union args *a)
{
	alloc_args(a, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
}

static void free_handle(uint64_t h)
{
	struct kfd_ioctl_free_memory_of_gpu_args f = { .handle = h };

	need(kfd_call(r.p.kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &f), "FREE");
}

static void undo_alloc(const union args *a)
{
	free_handle(a->alloc.handle);
}

static void alloc(uint32_t flags)
{
	union args a;

	alloc_args(&a, flags);
	need(kfd_call(r.p.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a.alloc), "ALLOC");
	handle = a.alloc.handle;
}

static void prepare_free(union args *a)
{
	alloc(KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
	a->free.handle = handle;
}

static void map_args(union args *a)
{
	a->map.handle = handle;
	a->map.device_ids_array_ptr = (uintptr_t)gpu_id;
	a->map.n_devices = gpus;
}

static void prepare_map(union args *a)
{
	/* Memory that all GPUs reach. */
	alloc(KFD_IOC_ALLOC_MEM_FLAGS_GTT);
	map_args(a);
}

static void prepare_map_user(union args *a)
{
	alloc(KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
	map_args(a);
}

static bool gpu_writes(uint64_t value)
{
	volatile uint64_t *word = queue.word;
	uint64_t marker = value + 1, end;

	/* To the memory under test, and then where it is waited for. */
	raw_put_write(&queue, (volatile uint64_t *)va, value);
	raw_put_write(&queue, word, marker);
	raw_submit(&queue);
	for (end = now_ns() + 60000000000ull; *word != marker && now_ns() < end;)
		;
	return *word == marker;
}

static void unmap(void)
{
	union args u = { .unmap = { .handle = handle,
				    .device_ids_array_ptr = (uintptr_t)gpu_id,
				    .n_devices = gpus } };

	need(kfd_call(r.p.kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &u.unmap), "UNMAP");
}

static void undo_map(const union args *a)
{
	static uint64_t value = 1000;

	(void)a;
	value += 2;
	if (!gpu_writes(value))
		tap_bail("the GPU does not reach what is mapped");
	unmap();
	free_handle(handle);
}

static void prepare_unmap(union args *a)
{
	union args m = { 0 };

	prepare_map(&m);
	need(kfd_call(r.p.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m.map), "MAP");
	map_args(a);
}

static void undo_unmap(const union args *a)
{
	(void)a;
	free_handle(handle);
}

static void prepare_available(union args *a)
{
	a->available.gpu_id = gpu_id[0];
}

static void prepare_export(union args *a)
{
	alloc(KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
	a->export.handle = handle;
	a->export.flags = O_CLOEXEC;
}

static void undo_export(const union args *a)
{
	close((int)a->export.dmabuf_fd);
	free_handle(handle);
}

static void prepare_import(union args *a)
{
	union args e = { 0 };

	prepare_export(&e);
	need(kfd_call(r.p.kfd, AMDKFD_IOC_EXPORT_DMABUF, &e.export), "EXPORT");
	dmabuf = (int)e.export.dmabuf_fd;
	a->import.va_addr = (uintptr_t)va;
	a->import.gpu_id = gpu_id[0];
	a->import.dmabuf_fd = (uint32_t)dmabuf;
}

static void undo_import(const union args *a)
{
	free_handle(a->import.handle);
	free_handle(handle);
	close(dmabuf);
}

static void prepare_policy(union args *a)
{
	a->policy.gpu_id = gpu_id[0];
	a->policy.default_policy = KFD_IOC_CACHE_POLICY_NONCOHERENT;
}

/* Beside the queue that there is, in its ring: it is never rung. */
static void prepare_create(union args *a)
{
	a->create = (struct kfd_ioctl_create_queue_args){
		.ring_base_address = (uintptr_t)queue.ring,
		.ring_size = RAW_RING_BYTES,
		.write_pointer_address = (uintptr_t)queue.wptr,
		.read_pointer_address = (uintptr_t)queue.rptr,
		.gpu_id = gpu_id[0],
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE,
		.queue_percentage = 0,
		.queue_priority = 7,
	};
}

static void undo_create(const union args *a)
{
	struct kfd_ioctl_destroy_queue_args d = { .queue_id = a->create.queue_id };

	need(kfd_call(r.p.kfd, AMDKFD_IOC_DESTROY_QUEUE, &d), "DESTROY_QUEUE");
}

static void prepare_update(union args *a)
{
	a->update = (struct kfd_ioctl_update_queue_args){
		.ring_base_address = (uintptr_t)queue.ring,
		.queue_id = queue.id,
		.ring_size = RAW_RING_BYTES,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
}

static void prepare_destroy(union args *a)
{
	union args c;

	prepare_create(&c);
	need(kfd_call(r.p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c.create), "CREATE_QUEUE");
	a->destroy.queue_id = c.create.queue_id;
}

static const struct op ops[] = {
	{ "ACQUIRE_VM", AMDKFD_IOC_ACQUIRE_VM, prepare_acquire, NULL, false },
	{ "ALLOC of VRAM", AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, prepare_alloc_vram, undo_alloc, false },
	{ "ALLOC of GTT", AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, prepare_alloc_gtt, undo_alloc, false },
	{ "ALLOC of user memory", AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, prepare_alloc_user, undo_alloc,
	  false },
	{ "FREE", AMDKFD_IOC_FREE_MEMORY_OF_GPU, prepare_free, NULL, false },
	{ "MAP", AMDKFD_IOC_MAP_MEMORY_TO_GPU, prepare_map, undo_map, true },
	{ "MAP of user memory", AMDKFD_IOC_MAP_MEMORY_TO_GPU, prepare_map_user, undo_map, true },
	{ "UNMAP", AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, prepare_unmap, undo_unmap, true },
	{ "AVAILABLE_MEMORY", AMDKFD_IOC_AVAILABLE_MEMORY, prepare_available, NULL, false },
	{ "EXPORT_DMABUF", AMDKFD_IOC_EXPORT_DMABUF, prepare_export, undo_export, false },
	{ "IMPORT_DMABUF", AMDKFD_IOC_IMPORT_DMABUF, prepare_import, undo_import, false },
	{ "SET_MEMORY_POLICY", AMDKFD_IOC_SET_MEMORY_POLICY, prepare_policy, NULL, false },
	{ "CREATE_QUEUE", AMDKFD_IOC_CREATE_QUEUE, prepare_create, undo_create, false },
	{ "UPDATE_QUEUE", AMDKFD_IOC_UPDATE_QUEUE, prepare_update, NULL, false },
	{ "DESTROY_QUEUE", AMDKFD_IOC_DESTROY_QUEUE, prepare_destroy, NULL, false },
};

/* ---- */

/**
 * struct found - what the rounds of one ioctl came to
 * @points: it can be interrupted at so many
 * @partial: at so many of these it had got somewhere, and said so
 */
struct found {
	unsigned int points, partial;
	unsigned int restarted_wrong, interrupted_wrong, repeated_wrong, left_over;
};

static void undo(const struct op *op, const union args *a)
{
	if (op->undo)
		op->undo(a);
}

/* The state after @op in peace; before it is the state after @prepare. */
static void peace(const struct op *op, struct state *after)
{
	union args a = { 0 };

	op->prepare(&a);
	need(kfd_call(r.p.kfd, op->request, &a), op->name);
	look(after);
	undo(op, &a);
}

/* A signal at point @n, with the kernel starting the call again. False: there is no such. */
static bool restarted(const struct op *op, unsigned int n, const struct state *want,
		      struct found *f)
{
	union args a = { 0 };
	struct state after;
	int before, err;

	set_handler(SA_RESTART);
	op->prepare(&a);
	before = signals;
	arm(n);
	err = kfd_call(r.p.kfd, op->request, &a);
	arm(0);
	look(&after);
	f->restarted_wrong += err || !same(&after, want);
	if (!err)
		undo(op, &a);
	return signals != before;
}

static void interrupted(const struct op *op, unsigned int n, const struct state *want,
			struct found *f)
{
	struct state before, after;
	union args a = { 0 }, asked;
	int err;

	set_handler(0);
	op->prepare(&a);
	asked = a;
	look(&before);
	arm(n);
	err = kfd_call(r.p.kfd, op->request, &a);
	arm(0);
	look(&after);
	if (op->counts && a.map.n_success) {
		f->partial++;
		f->interrupted_wrong += err != -EINTR || a.map.n_success >= gpus ||
					same(&after, &before);
	} else {
		f->interrupted_wrong += err != -EINTR || !same(&after, &before) ||
					memcmp(&a, &asked, sizeof(a));
	}
	/* As the thunk does. */
	err = kfd_call(r.p.kfd, op->request, &a);
	look(&after);
	f->repeated_wrong += err || !same(&after, want) ||
			     (op->counts && a.map.n_success != gpus);
	if (!err)
		undo(op, &a);
}

static void test_op(const struct op *op)
{
	struct found f = { 0 };
	struct state start, want, end;
	unsigned int n;

	look(&start);
	peace(op, &want);
	for (n = 1; n < POINTS_MAX && restarted(op, n, &want, &f); n++) {
		f.points++;
		interrupted(op, n, &want, &f);
	}
	look(&end);
	tap_ok(f.points && n < POINTS_MAX, "%s can be interrupted, at %u points", op->name, f.points);
	tap_is(f.restarted_wrong, 0, "%s: started again by the kernel, nobody notices", op->name);
	tap_is(f.interrupted_wrong, 0, "%s: interrupted, nothing has changed that is not counted",
	       op->name);
	tap_is(f.repeated_wrong, 0, "%s: made again, it comes to the same", op->name);
	if (op->counts)
		tap_is(f.partial, gpus - 1, "%s: between two GPUs it says how far it got", op->name);
	tap_ok(same(&start, &end), "%s: nothing is left behind", op->name);
}

/* Both GPUs of the topology, and a VM on each. */
static void find_gpus(void)
{
	struct kfd_ioctl_acquire_vm_args acquire;
	unsigned int node, minor;
	char path[128];
	FILE *f;

	for (node = 0; gpus < MAX_GPUS; node++) {
		snprintf(path, sizeof(path), NODES "/%u/gpu_id", node);
		f = fopen(path, "re");
		if (!f)
			break;
		if (fscanf(f, "%u", &gpu_id[gpus]) == 1 && gpu_id[gpus])
			gpus++;
		fclose(f);
	}
	/* The first is that of raw_open(); render nodes are numbered as the nodes are. */
	for (minor = 129; gpus > 1 && minor < 192; minor++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%u", minor);
		acquire.drm_fd = (uint32_t)open(path, O_RDWR | O_CLOEXEC);
		acquire.gpu_id = gpu_id[1];
		if ((int)acquire.drm_fd >= 0 && !kfd_call(r.p.kfd, AMDKFD_IOC_ACQUIRE_VM, &acquire))
			return;
	}
	if (gpus > 1)
		tap_bail("no VM on the second GPU");
}

int main(void)
{
	unsigned int i;

	tap_begin(300);
	raw_open(&r, 1);
	find_gpus();
	need(raw_queue_create(&queue, &r, KFD_IOC_QUEUE_TYPE_COMPUTE), "a queue");
	va = kfd_reserve_va(BYTES);
	user = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		    -1, 0);
	if (user == MAP_FAILED)
		tap_bail("no memory");
	tap_diag("%u GPUs", gpus);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		test_op(&ops[i]);
	need(raw_queue_destroy(&queue), "DESTROY_QUEUE");
	raw_close(&r);
	return tap_done();
}
