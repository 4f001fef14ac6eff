// SPDX-License-Identifier: MIT
/*
 * ACQUIRE_VM: whose a render-node file's VM becomes. One that has mappings is nobody's, one
 * that is somebody's stays his, and of two who want it at the same time one gets it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <amdgpu_drm.h>
#include <xf86drm.h>

#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "pm4.h"
#include "tap.h"

#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define VA	(1ull << 32)
#define PENDING	1	/* no errno */

static uint32_t gpu_id;
static char node[64];

static int open_render(void)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		tap_bail("%s: %m", node);
	return fd;
}

static int acquire(int kfd, int render)
{
	struct kfd_ioctl_acquire_vm_args a = { .drm_fd = (uint32_t)render, .gpu_id = gpu_id };

	return kfd_call(kfd, AMDKFD_IOC_ACQUIRE_VM, &a);
}

/* Allocates a page and maps it: 0 if this process has a VM. */
static int use(int kfd, int render)
{
	struct kfd_proc p = { .kfd = kfd, .render = render, .gpu_id = gpu_id };
	uint64_t handle;
	int err = kfd_alloc(&p, VA, GPU_PAGE, GTT, &handle, NULL);

	return err ? err : kfd_map(&p, handle);
}

static int gem_va(int render, uint32_t op, uint32_t handle)
{
	struct drm_amdgpu_gem_va va = {
		.handle = handle,
		.operation = op,
		.flags = op == AMDGPU_VA_OP_MAP ? AMDGPU_VM_PAGE_READABLE : 0,
		.va_address = VA,
		.map_size = 2 * GPU_PAGE,
	};

	return kfd_call(render, DRM_IOCTL_AMDGPU_GEM_VA, &va);
}

static void with_mappings(void *arg)
{
	union drm_amdgpu_gem_create c = {
		.in = { .bo_size = 2 * GPU_PAGE, .domains = AMDGPU_GEM_DOMAIN_GTT },
	};
	int kfd = kfd_open(), render = open_render();

	(void)arg;
	if (kfd_call(render, DRM_IOCTL_AMDGPU_GEM_CREATE, &c) ||
	    gem_va(render, AMDGPU_VA_OP_MAP, c.out.handle))
		tap_bail("GEM_CREATE or GEM_VA");
	tap_is(acquire(kfd, render), -EINVAL, "a VM with a mapping is not acquired");
	tap_is(use(kfd, render), -ENODEV, "the process has none then");
	tap_is(gem_va(render, AMDGPU_VA_OP_UNMAP, c.out.handle), 0, "the mapping goes");
	tap_is(acquire(kfd, render), 0, "now it is acquired");
	tap_is(acquire(kfd, render), 0, "again with the same file");
	tap_is(gem_va(render, AMDGPU_VA_OP_MAP, c.out.handle), 0, "it can be mapped to, then");
	tap_is(acquire(kfd, render), 0, "and acquiring it again is still no error");
	tap_is(gem_va(render, AMDGPU_VA_OP_UNMAP, c.out.handle), 0, "unmapped");
	tap_is(use(kfd, render), 0, "it can be used");
	tap_is(acquire(kfd, open_render()), -EBUSY, "another file is refused");
}

struct passed {
	int render;
};

static void second_owner(void *arg)
{
	struct passed *with = arg;
	int kfd = kfd_open(), own = open_render();

	tap_is(acquire(kfd, with->render), -EINVAL, "another process's VM is not acquired");
	tap_is(use(kfd, with->render), -ENODEV, "nor used");
	tap_is(acquire(kfd, own), 0, "a file of its own is");
	tap_is(use(kfd, own), 0, "and used");
}

static void first_owner(void *arg)
{
	struct passed *with = arg;
	int kfd = kfd_open();

	tap_is(acquire(kfd, with->render), 0, "a file that was passed on");
	tap_is(use(kfd, with->render), 0, "is used");
	tap_child("second owner", second_owner, with);
}

static void heir(void *arg)
{
	struct passed *with = arg;
	int kfd = kfd_open();

	tap_is(acquire(kfd, with->render), 0, "when its owner has ended, the file can have another");
	tap_is(use(kfd, with->render), 0, "who finds it empty");
}

/* What racers tell: results of ACQUIRE, and of the use of what they got. */
struct race {
	int render;
	int go;
	int ready;
	int tried;
	int result[2];
	int used[2];
};

static void racer(struct race *r, int i)
{
	int kfd = kfd_open();

	__atomic_add_fetch(&r->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&r->go, __ATOMIC_SEQ_CST))
		sched_yield();
	r->result[i] = acquire(kfd, r->render);
	r->used[i] = use(kfd, r->render);
	/* Who ends gives the VM up. */
	__atomic_add_fetch(&r->tried, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&r->tried, __ATOMIC_SEQ_CST) < 2)
		sched_yield();
	_exit(0);
}

static void test_race(void)
{
	unsigned int i, j, rounds = scaled(2000, 100), one = 0, bad = 0, first = 0;
	struct race *r = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[2];

	if (r == MAP_FAILED)
		tap_bail("mmap: %m");
	for (i = 0; i < rounds; i++) {
		*r = (struct race) { .render = open_render(), .result = { PENDING, PENDING } };
		for (j = 0; j < 2; j++) {
			pid[j] = fork();
			if (pid[j] < 0)
				tap_bail("fork: %m");
			if (!pid[j])
				racer(r, (int)j);
		}
		while (__atomic_load_n(&r->ready, __ATOMIC_SEQ_CST) < 2)
			sched_yield();
		__atomic_store_n(&r->go, 1, __ATOMIC_SEQ_CST);
		waitpid(pid[0], NULL, 0);
		waitpid(pid[1], NULL, 0);
		j = r->result[0] != 0;	/* who won, if one did */
		first += !j;
		one += !r->result[j] && r->result[!j] == -EINVAL;
		bad += r->used[j] != 0 || r->used[!j] != -ENODEV;
		close(r->render);
	}
	tap_is(one, rounds, "of two processes one gets the VM and the other EINVAL");
	tap_is(bad, 0, "and only that one has it");
	tap_diag("the first of the two got it %u times of %u", first, rounds);
	munmap(r, GPU_PAGE);
}

struct thread {
	int kfd;
	int render;
	pthread_barrier_t *start;
	int result;
};

static void *acquire_thread(void *arg)
{
	struct thread *t = arg;

	pthread_barrier_wait(t->start);
	t->result = acquire(t->kfd, t->render);
	return NULL;
}

/* One process, two files. */
static void two_threads(void *arg)
{
	int kfd = kfd_open();
	pthread_barrier_t start;
	struct thread t[2];
	pthread_t id[2];
	unsigned int *wrong = arg, i;

	pthread_barrier_init(&start, NULL, 2);
	for (i = 0; i < 2; i++) {
		t[i] = (struct thread) { .kfd = kfd, .render = open_render(), .start = &start };
		if (pthread_create(&id[i], NULL, acquire_thread, &t[i]))
			tap_bail("pthread_create");
	}
	for (i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	i = t[0].result != 0;
	*wrong += t[i].result != 0 || t[!i].result != -EBUSY;
}

static void test_threads(void)
{
	unsigned int *wrong = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i, rounds = scaled(1000, 50);
	pid_t pid;

	if (wrong == MAP_FAILED)
		tap_bail("mmap: %m");
	for (i = 0; i < rounds; i++) {
		pid = fork();
		if (pid < 0)
			tap_bail("fork: %m");
		if (!pid) {
			two_threads(wrong);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	tap_is(*wrong, 0, "%u times two threads with a file each: one gets its VM, the other EBUSY", rounds);
	munmap(wrong, GPU_PAGE);
}

int main(void)
{
	struct passed with;
	int minor = -1;

	tap_begin(600);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	gpu_id = kfd_gpu_id(&minor);
	if (!gpu_id)
		tap_bail("no GPU");
	snprintf(node, sizeof(node), "/dev/dri/renderD%d", minor);
	tap_child("with mappings", with_mappings, NULL);
	with.render = open_render();
	tap_child("first owner", first_owner, &with);
	tap_child("heir", heir, &with);
	close(with.render);
	test_race();
	test_threads();
	return tap_done();
}
