// SPDX-License-Identifier: MIT
/*
 * The GPU is taken away by sysfs (unbind) from a process that has queues, memory,
 * mappings and a waiting thread, and comes back. Nobody may hang, nothing of the GPU may
 * be reachable, and the next process finds a GPU that works.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bus_error.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define BYTES	65536u
#define WAIT_MS	30000u

static void *waiter(void *ev)
{
	return (void *)(uintptr_t)hsaKmtWaitOnEvent(ev, HSA_EVENTTIMEOUT_INFINITE);
}

static void test_without(struct kfd_proc *p, HsaEvent *ev)
{
	const uint32_t rw = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
	struct kfd_ioctl_get_clock_counters_args clock = { .gpu_id = p->gpu_id };
	void *mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t va = (uintptr_t)mem, h;

	tap_is(kfd_gpu_id(NULL), 0, "the topology has no GPU");
	tap_is(kfd_alloc(p, va, BYTES, rw | KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &h, NULL), -ENODEV,
	       "no VRAM of a GPU that is gone");
	tap_is(kfd_alloc(p, va, BYTES, rw | KFD_IOC_ALLOC_MEM_FLAGS_GTT, &h, NULL), -ENODEV,
	       "no GTT memory");
	tap_is(kfd_alloc(p, va, BYTES, rw | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, &h, NULL), -ENODEV,
	       "no user memory for it");
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_CLOCK_COUNTERS, &clock), 0, "clocks are still told");
	tap_is((int64_t)clock.gpu_clock_counter, 0, "without that of the GPU");
	tap_ok(hsaKmtSetEvent(ev) == HSAKMT_STATUS_SUCCESS, "events can still be set");
	munmap(mem, BYTES);
}

static void user(void *unused)
{
	char *vram, *gtt, *sys;
	HsaEvent *ev, *never;
	struct kfd_proc p;
	struct queue q;
	struct gpu gpu;
	pthread_t t;
	void *ret;

	(void)unused;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	p.kfd = kfd_open();
	p.gpu_id = gpu.props.KFDGpuID;
	vram = mem_alloc(&gpu, MEM_VRAM, BYTES);
	gtt = mem_alloc(&gpu, MEM_GTT, BYTES);
	sys = mem_alloc(&gpu, MEM_SYSTEM, BYTES);
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	never = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!vram || !gtt || !sys || !ev || !never ||
	    queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("memory, events or queue");
	*q.res.Queue_DoorBell_aql = 0;
	if (pthread_create(&t, NULL, waiter, never))
		tap_bail("pthread_create");
	memset(gtt, 0x5a, BYTES);
	tap_ok(!bus_error_at(vram) && !bus_error_at(gtt), "memory can be read");

	tap_ok(gpu_unbind(), "unbind with everything in use");
	pthread_join(t, &ret);
	tap_ok((uintptr_t)ret != HSAKMT_STATUS_SUCCESS, "who waits for a GPU that is gone is told");
	tap_ok(bus_error_at(vram), "its VRAM is not mapped any more");
	tap_ok(!bus_error_at(gtt) && gtt[BYTES - 1] == 0x5a, "GTT memory is, and has what was in it");
	tap_ok(bus_error_at(q.res.Queue_DoorBell), "its doorbells are not");
	tap_ok(!bus_error_at(sys), "the process's own memory is");
	test_without(&p, ev);
	tap_is(queue_destroy(&q), HSAKMT_STATUS_SUCCESS, "the queue can be destroyed");
	tap_is(mem_free(vram, BYTES), HSAKMT_STATUS_SUCCESS, "VRAM can be freed");
	/* GTT and user memory are left to the end of the process. */

	tap_ok(gpu_bind(), "bind while the process is there");
	tap_ok(kfd_gpu_id(NULL) && kfd_gpu_id(NULL) != p.gpu_id,
	       "the GPU is back, with another id as long as somebody uses the old one");
	close(p.kfd);
	fflush(stdout);
	_exit(0);
}

static void again(void *arg)
{
	uint64_t *word;
	struct queue q;
	struct gpu gpu;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue on the GPU that came back");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	p = queue_reserve(&q, PM4_WRITE64_DW);
	if (!word || !p)
		tap_bail("memory");
	queue_commit(&q, pm4_write64(p, gpu_va(word), 42));
	queue_submit(&q);
	tap_ok(wait_word(word, 42, WAIT_MS), "the GPU that came back works");
	queue_destroy(&q);
	gpu_close();
}

int main(void)
{
	tap_begin(300);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	tap_child("a process loses its GPU", user, NULL);
	tap_child("a new process", again, NULL);
	tap_ok(gpu_unbind() && gpu_bind(), "unbind and bind with nobody there");
	tap_child("and one after that", again, NULL);
	return tap_done();
}
