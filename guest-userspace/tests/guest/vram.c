// SPDX-License-Identifier: MIT
/*
 * What there is of VRAM: AVAILABLE_MEMORY is exactly what can be had, in one piece or in
 * many, and memory that is to be contiguous is, or is refused. Raw ioctls.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <amdgpu_drm.h>
#include <xf86drm.h>

#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "tap.h"

#define VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define ONE	KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS
#define HUGE	(2ull << 20)
#define CHUNKS	16u
/* Nothing is mapped, so any address does. */
#define VA	(1ull << 40)

static struct kfd_proc p;

static uint64_t available(void)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = p.gpu_id };

	if (kfd_call(p.kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY");
	return a.available;
}

/* What is just moving when it is freed is given back when it has arrived. */
static int64_t settled(uint64_t want)
{
	uint64_t end = now_ns() + 60000000000ull, n;

	while ((n = available()) != want && now_ns() < end)
		usleep(1000);
	return (int64_t)n;
}

static int alloc(uint64_t size, uint32_t flags, uint64_t *handle)
{
	return kfd_alloc(&p, VA, size, VRAM | flags, handle, NULL);
}

/* Allocates and frees; 0 or the negative errno. */
static int try(uint64_t size, uint32_t flags)
{
	uint64_t handle;
	int err = alloc(size, flags, &handle);

	return err ? err : kfd_free(&p, handle);
}

static int try_gem(uint64_t size, uint64_t flags)
{
	union drm_amdgpu_gem_create c = {
		.in = { .bo_size = size, .domains = AMDGPU_GEM_DOMAIN_VRAM, .domain_flags = flags },
	};
	int err = kfd_call(p.render, DRM_IOCTL_AMDGPU_GEM_CREATE, &c);

	return err ? err : drmCloseBufferHandle(p.render, c.out.handle);
}

static void test_exact(void)
{
	uint64_t all = available(), handle, small;

	tap_is(try(all + HUGE, 0), -ENOMEM, "more than is available is refused");
	tap_is(alloc(all, 0, &handle), 0, "all %llu MiB can be had", (unsigned long long)all >> 20);
	tap_is((int64_t)available(), 0, "then nothing is left");
	tap_is(try(HUGE, 0), -ENOMEM, "really");
	tap_is(kfd_free(&p, handle), 0, "given back");
	tap_is(alloc(GPU_PAGE, 0, &small), 0, "a page");
	tap_is((int64_t)available(), (int64_t)(all - HUGE), "is told in the 2 MiB it is counted in");
	tap_is(try(all - HUGE, 0), 0, "and the rest can be had");
	kfd_free(&p, small);
	tap_is((int64_t)available(), (int64_t)all, "all is back");
}

/* Holes between chunks: together large enough, none of them alone. */
static void test_contiguous(void)
{
	uint64_t all = available(), chunk = all / CHUNKS & ~(HUGE - 1), handle[CHUNKS], rest = 0;
	unsigned int i;

	for (i = 0; i < CHUNKS; i++)
		if (alloc(chunk, ONE, &handle[i]))
			tap_bail("chunk %u", i);
	if (available() && alloc(available(), 0, &rest))
		tap_bail("the rest");
	for (i = 0; i < CHUNKS; i += 2)
		kfd_free(&p, handle[i]);
	tap_is((int64_t)available(), (int64_t)(chunk * CHUNKS / 2), "half of VRAM is free, with gaps");
	tap_is(try(chunk, ONE), 0, "a piece as large as a gap can be had");
	tap_is(try(2 * chunk, ONE), -ENOMEM, "a larger one cannot");
	tap_is((int64_t)available(), (int64_t)(chunk * CHUNKS / 2), "which costs nothing");
	tap_is(try(2 * chunk, 0), 0, "unless it may be in pieces");
	tap_is(try(chunk * CHUNKS / 2, 0), 0, "like all that is free");
	tap_is(try_gem(chunk, AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS), 0, "GEM: as large as a gap");
	tap_is(try_gem(2 * chunk, AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS), 0,
	       "GEM: a larger one makes others go, as nothing of these is mapped");
	tap_is(try_gem(2 * chunk, 0), 0, "GEM: in pieces");
	for (i = 1; i < CHUNKS; i += 2)
		kfd_free(&p, handle[i]);
	if (rest)
		kfd_free(&p, rest);
	tap_is(settled(all), (int64_t)all, "all is back");
	tap_is(try(chunk * CHUNKS, ONE), 0, "and in one piece again");
}

int main(void)
{
	tap_begin(600);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	kfd_proc_open(&p);
	test_exact();
	test_contiguous();
	kfd_proc_close(&p);
	return tap_done();
}
