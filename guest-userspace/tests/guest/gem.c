// SPDX-License-Identifier: MIT
/*
 * Objects by GEM handle, made with libdrm_amdgpu: memory, and slices of doorbells, which
 * count with those of KFD's processes but are never taken away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <amdgpu.h>
#include <amdgpu_drm.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "raw.h"
#include "tap.h"

#define LONG_MS	60000u

static int render;

static int create(uint64_t size, uint64_t alignment, uint64_t domains, uint64_t flags, uint32_t *handle)
{
	union drm_amdgpu_gem_create c = {
		.in = {
			.bo_size = size,
			.alignment = alignment,
			.domains = domains,
			.domain_flags = flags,
		},
	};
	int err = kfd_call(render, DRM_IOCTL_AMDGPU_GEM_CREATE, &c);

	if (!err)
		*handle = c.out.handle;
	return err;
}

static int offset_of(uint32_t handle, uint64_t *offset)
{
	union drm_amdgpu_gem_mmap m = { .in.handle = handle };
	int err = kfd_call(render, DRM_IOCTL_AMDGPU_GEM_MMAP, &m);

	if (!err)
		*offset = m.out.addr_ptr;
	return err;
}

static void destroy(uint32_t handle)
{
	struct drm_gem_close c = { .handle = handle };

	if (kfd_call(render, DRM_IOCTL_GEM_CLOSE, &c))
		tap_bail("GEM_CLOSE");
}

static void test_libdrm(void)
{
	static const struct {
		const char *name;
		uint32_t heap;
		bool memory;
	} heaps[] = {
		{ "VRAM", AMDGPU_GEM_DOMAIN_VRAM, true },
		{ "GTT", AMDGPU_GEM_DOMAIN_GTT, true },
		{ "doorbells", AMDGPU_GEM_DOMAIN_DOORBELL, false },
	};
	uint32_t major, minor;
	amdgpu_device_handle dev;
	unsigned int i, j;

	if (amdgpu_device_initialize(render, &major, &minor, &dev))
		tap_bail("amdgpu_device_initialize");
	for (i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		struct amdgpu_bo_alloc_request request = {
			.alloc_size = 2 * GPU_PAGE,
			.phys_alignment = GPU_PAGE,
			.preferred_heap = heaps[i].heap,
		};
		amdgpu_bo_handle bo;
		volatile uint64_t *p;
		unsigned int wrong = 0;
		void *map;

		if (!tap_is(amdgpu_bo_alloc(dev, &request, &bo), 0, "%s: allocated", heaps[i].name))
			continue;
		if (!tap_is(amdgpu_bo_cpu_map(bo, &map), 0, "%s: mapped", heaps[i].name))
			continue;
		p = map;
		for (j = 0; j < 2 * GPU_PAGE / 8; j++) {
			wrong += p[j] != 0;
			p[j] = j;
		}
		for (j = 0; j < 2 * GPU_PAGE / 8; j++)
			wrong += p[j] != (heaps[i].memory ? j : 0);
		tap_is(wrong, 0, "%s: %s", heaps[i].name,
		       heaps[i].memory ? "zero at first, keeps what is stored" :
					 "takes stores, reads as zero");
		amdgpu_bo_cpu_unmap(bo);
		tap_is(amdgpu_bo_free(bo), 0, "%s: freed", heaps[i].name);
	}
	amdgpu_device_deinitialize(dev);
}

static void test_refused(void)
{
	uint64_t offset;
	uint32_t h = 0;

	tap_is(create(0, 0, AMDGPU_GEM_DOMAIN_VRAM, 0, &h), -EINVAL, "no size");
	tap_is(create(GPU_PAGE, 0, 0, 0, &h), -EINVAL, "no domain");
	tap_is(create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_GDS, 0, &h), -EINVAL, "GDS");
	tap_is(create(GPU_PAGE, 0, 1ull << 40, 0, &h), -EINVAL, "an unknown domain");
	tap_is(create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_VRAM, 1ull << 40, &h), -EINVAL, "an unknown flag");
	tap_is(create(GPU_PAGE, 1 << 20, AMDGPU_GEM_DOMAIN_VRAM, 0, &h), -EINVAL, "large alignment");
	tap_is(create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_DOORBELL | AMDGPU_GEM_DOMAIN_VRAM, 0, &h), -EINVAL,
	       "doorbells or VRAM");
	tap_is(create(3 * GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_DOORBELL, 0, &h), -EINVAL,
	       "more than a slice of doorbells");
	tap_is(create(1ull << 45, 0, AMDGPU_GEM_DOMAIN_VRAM, 0, &h), -ENOMEM, "more VRAM than there is");
	tap_is(create(~0ull, 0, AMDGPU_GEM_DOMAIN_GTT, 0, &h), -ENOMEM, "more than an address space");
	tap_is(offset_of(12345, &offset), -ENOENT, "GEM_MMAP of no handle");
	tap_is(create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_NO_CPU_ACCESS, &h), 0,
	       "one the CPU is not to see");
	tap_is(offset_of(h, &offset), -EPERM, "GEM_MMAP of it");
	destroy(h);
	tap_is(offset_of(h, &offset), -ENOENT, "GEM_MMAP of it when it is closed");
}

static void runs(void *arg)
{
	struct raw_queue q;
	struct raw_proc r;
	bool ok;

	raw_open(&r, 1);
	ok = !raw_queue_create(&q, &r, KFD_IOC_QUEUE_TYPE_COMPUTE);
	if (ok) {
		raw_put_write(&q, q.word, 9);
		raw_submit(&q);
		ok = wait_word(q.word, 9, LONG_MS);
	}
	tap_ok(ok, "a queue runs %s", (const char *)arg);
	raw_close(&r);
}

/* The objects' slices count, and one is always left. */
static void test_slices(void)
{
	volatile uint64_t *first;
	uint64_t offset = 0;
	uint32_t h[4] = { 0 };
	unsigned int i;

	if (driver_set_parameter("doorbell_slices", "3"))
		tap_bail("doorbell_slices");
	for (i = 0; i < 4 && !create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_DOORBELL, 0, &h[i]); i++)
		;
	tap_is(i, 2, "of 3 slices, objects get two");
	tap_is(create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_DOORBELL, 0, &h[3]), -ENOMEM, "then ENOMEM");
	tap_is(kfd_counter("doorbells", "kept"), 2, "which are kept");
	offset_of(h[0], &offset);
	first = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, render, (off_t)offset);
	if (first == MAP_FAILED)
		tap_bail("mmap: %m");
	first[0] = 1;
	tap_child("beside them", runs, "beside them");
	first[0] = 2;
	destroy(h[0]);
	first[0] = 3;
	tap_is(kfd_counter("doorbells", "kept"), 2, "one that is still mapped stays when it is closed");
	munmap((void *)first, GPU_PAGE);
	tap_is(kfd_counter("doorbells", "kept"), 1, "and goes with its mapping");
	destroy(h[1]);
	tap_is(kfd_counter_settle("doorbells", "used", 0, LONG_MS), 0, "none is in use at the end");
	tap_is(create(GPU_PAGE, 0, AMDGPU_GEM_DOMAIN_DOORBELL, 0, &h[0]), 0, "and one may be had again");
	close(render);
	tap_is(kfd_counter_settle("doorbells", "used", 0, LONG_MS), 0, "which goes with the file");
	driver_set_parameter("doorbell_slices", "254");
}

int main(void)
{
	char path[64];
	int minor = -1;

	tap_begin(300);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	if (!kfd_gpu_id(&minor))
		tap_bail("no GPU");
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	render = open(path, O_RDWR | O_CLOEXEC);
	if (render < 0)
		tap_bail("%s: %m", path);
	test_libdrm();
	test_refused();
	test_slices();
	return tap_done();
}
