// SPDX-License-Identifier: MIT
/*
 * The signal page that the driver brings itself: how many ids a mapping gives, and that
 * the GPU reaches it where user space mapped it. By raw ioctls, and through our thunk.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * 8u)
#define WAIT_MS		20000u

static int create(const struct kfd_proc *p, struct kfd_ioctl_create_event_args *out)
{
	*out = (struct kfd_ioctl_create_event_args){ .event_type = KFD_IOC_EVENT_SIGNAL,
						    .auto_reset = 1 };
	return kfd_call(p->kfd, AMDKFD_IOC_CREATE_EVENT, out);
}

/* Creates events until that fails; the number there are then, and the errno. */
static uint32_t fill(const struct kfd_proc *p, uint32_t have, int *err)
{
	struct kfd_ioctl_create_event_args c;

	while (!(*err = create(p, &c)))
		have++;
	return have;
}

static void *map(const struct kfd_proc *p, uint64_t offset, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p->kfd, (off_t)offset);
}

static void ids(void *unused)
{
	struct kfd_ioctl_create_event_args c;
	struct kfd_proc p;
	uint32_t n;
	void *a;
	int err;

	(void)unused;
	kfd_proc_open(&p);
	tap_is(create(&p, &c), 0, "a first event without a page");
	n = fill(&p, 1, &err);
	tap_is(n, 255, "255 ids before anything is mapped");
	tap_is(err, -ENOSPC, "then ENOSPC");
	tap_ok(map(&p, c.event_page_offset, 2 * PAGE_BYTES) == MAP_FAILED, "no more than the page");
	a = map(&p, c.event_page_offset, 4096);
	tap_ok(a != MAP_FAILED, "one page is mapped");
	n = fill(&p, n, &err);
	tap_is(n, 511, "511 ids with one page");
	tap_is(err, -ENOSPC, "then ENOSPC");
	tap_ok(*(volatile uint64_t *)a == ~0ull && ((volatile uint64_t *)a)[511] == ~0ull,
	       "its slots are unsignalled");
	a = map(&p, c.event_page_offset, PAGE_BYTES);
	tap_ok(a != MAP_FAILED, "all of it is mapped");
	n = fill(&p, n, &err);
	tap_is(n, 4095, "4095 ids");
	tap_is(err, -ENOSPC, "then ENOSPC");
	kfd_proc_close(&p);
}

/* The address is free for the GPU again once it is for the CPU. */
static void address(void *unused)
{
	const uint32_t gtt = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
	struct kfd_ioctl_create_event_args c;
	struct kfd_proc p;
	uint64_t handle;
	void *a;

	(void)unused;
	kfd_proc_open(&p);
	if (create(&p, &c))
		tap_bail("event");
	a = map(&p, c.event_page_offset, PAGE_BYTES);
	if (a == MAP_FAILED)
		tap_bail("mmap: %m");
	if (kfd_alloc(&p, (uintptr_t)a, PAGE_BYTES, gtt, &handle, NULL))
		tap_bail("memory at an address of choice");
	tap_is(kfd_map(&p, handle), -EINVAL, "the address of the page is taken in the VM");
	munmap(a, 4096);
	tap_is(kfd_map(&p, handle), -EINVAL, "also when a part is unmapped");
	munmap((char *)a + 4096, PAGE_BYTES - 4096);
	tap_is(kfd_map(&p, handle), 0, "not when all of it is");
	/* The kernel is free to choose the same address again. */
	tap_is(kfd_unmap(&p, handle), 0, "and the page");
	tap_ok(map(&p, c.event_page_offset, PAGE_BYTES) != MAP_FAILED, "can be mapped again");
	kfd_proc_close(&p);
}

static void by_gpu(void *unused)
{
	struct gpu gpu;
	struct queue q;
	HsaEvent *ev;
	uint32_t *p;

	(void)unused;
	setenv("VKFD_EVENT_PAGE", "driver", 1);
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("GPU or queue");
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!ev || !event_slot(ev))
		tap_bail("event");
	p = queue_reserve(&q, PM4_RELEASE_MEM_DW);
	queue_commit(&q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&q);
	tap_is(event_wait(ev, WAIT_MS), HSAKMT_STATUS_SUCCESS, "the GPU signals through the page");
	tap_ok(*event_slot(ev) == GPU_EVENT_UNSIGNALED, "and the driver resets the slot");
	queue_destroy(&q);
	gpu_close();
}

int main(void)
{
	tap_begin(120);
	tap_child("how many ids", ids, NULL);
	tap_child("the address in the VM", address, NULL);
	tap_child("signals by the GPU", by_gpu, NULL);
	return tap_done();
}
