// SPDX-License-Identifier: MIT
/*
 * A GPU of whose VRAM the CPU sees a part only: what has to be seen is there, also after it
 * was away, what need not be leaves that part to others as long as it can, and a program that
 * touches what is not there is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "bus_error.h"
#include "gem_bo.h"
#include "tap.h"

#define MIB	(1u << 20)
#define SIZE	(4u * MIB)
#define MAX	64u
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | RW)
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)
#define PUBLIC	KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC

static struct vram_base base;
static uint64_t visible;	/* bytes of VRAM that CPUs see */
static uint64_t total;

static int create(struct gem_bo *g, int render, uint64_t size, uint64_t flags)
{
	union drm_amdgpu_gem_create create = {
		.in = { .bo_size = size, .domains = AMDGPU_GEM_DOMAIN_VRAM, .domain_flags = flags },
	};
	int err = kfd_call(render, DRM_IOCTL_AMDGPU_GEM_CREATE, &create);

	*g = (struct gem_bo) { .render = render, .size = size };
	if (!err)
		g->handle = create.out.handle;
	return err;
}

static int64_t seen(void)
{
	return (int64_t)gem_info(base.render, AMDGPU_INFO_VIS_VRAM_USAGE);
}

/* As many BOs as have room where CPUs see them, each with a pattern. */
static unsigned int fill_visible(int render, struct gem_bo *bo)
{
	unsigned int n = (unsigned int)(visible / SIZE), i, bad = 0;

	for (i = 0; i < n; i++) {
		bad += create(&bo[i], render, SIZE, AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED) != 0;
		pattern_put(gem_map(&bo[i]), SIZE, i);
	}
	tap_is(bad, 0, "%u BOs for CPUs", n);
	return n;
}

static int64_t wrong(const struct gem_bo *bo, unsigned int n)
{
	int64_t sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		sum += (int64_t)pattern_wrong(bo[i].cpu, SIZE, i);
	return sum;
}

static void kfd(void *unused)
{
	struct buffer b, bounce;
	volatile uint32_t *look;
	struct copier c;

	(void)unused;
	copier_open(&c);
	tap_is(buffer_alloc(&c, &b, SIZE, KFD_VRAM | PUBLIC), -EINVAL,
	       "KFD: memory for CPUs is refused where not all is visible");
	if (buffer_alloc(&c, &b, SIZE, KFD_VRAM) || buffer_alloc(&c, &bounce, SIZE, KFD_GTT))
		tap_bail("memory");
	tap_is(seen(), 0, "KFD: other memory leaves what is visible");
	tap_ok(bus_error_at(buffer_map(&c, &b)), "KFD: CPUs do not see it");
	look = buffer_map(&c, &bounce);
	tap_ok(copier_fill(&c, b.va, 0x1234, SIZE) && copier_copy(&c, bounce.va, b.va, SIZE) &&
		       look[SIZE / 4 - 1] == 0x1234, "KFD: the GPU does");
	copier_close(&c);
}

static void places(void *unused)
{
	struct gem_bo bo[MAX], plain, more;
	int render = base.render;
	unsigned int i, n;
	int64_t outs;

	(void)unused;
	outs = vram_counter("outs");
	if (create(&plain, render, SIZE, 0))
		tap_bail("GEM_CREATE");
	tap_is(seen(), 0, "a BO that need not be seen is elsewhere");
	tap_ok(bus_error_at(gem_map(&plain)), "CPUs do not see it");
	n = fill_visible(render, bo);
	tap_is(seen(), n * (int64_t)SIZE, "they are where they have to be");
	tap_is(wrong(bo, n), 0, "and CPUs see them");
	tap_is(vram_counter("outs") - outs, 0, "there was room");
	tap_is(create(&more, render, visible + SIZE, AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED), -ENOMEM,
	       "more than is visible is refused");
	tap_is(vram_counter("outs") - outs, 0, "and nothing has moved");
	tap_is(create(&more, render, SIZE, AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED), 0, "one more");
	tap_is(vram_counter("outs") - outs, 1, "makes one go, although there is other room");
	tap_is(wrong(bo, n), 0, "CPUs see all of them");
	tap_ok(!bus_error_at(gem_map(&more)) && !more.cpu[0], "and the new one");
	gem_free(&more);
	tap_ok(vram_settle("away", 0), "what went comes back");
	tap_is(seen(), n * (int64_t)SIZE, "to where CPUs see it");
	tap_is(wrong(bo, n), 0, "and find what was there");
	for (i = 0; i < n; i++)
		gem_free(&bo[i]);
	gem_free(&plain);
	tap_is(seen(), 0, "all is free");
}

/* KFD takes all there is: what was for CPUs is away, and only comes back to where they see it. */
static void full(void *unused)
{
	struct buffer hidden, last;
	struct gem_bo bo[MAX], plain;
	struct copier c;
	unsigned int n;
	int64_t ins;

	(void)unused;
	copier_open(&c);
	if (buffer_alloc(&c, &hidden, total - visible - total / 4, KFD_VRAM))
		tap_bail("VRAM");
	n = fill_visible(c.r.p.render, bo);
	if (create(&plain, c.r.p.render, SIZE, 0))
		tap_bail("GEM_CREATE");
	ins = vram_counter("ins");
	tap_is(buffer_alloc(&c, &last, copier_available(&c), KFD_VRAM), 0, "KFD takes all there is");
	tap_is(vram_counter("away"), n + 1, "and all others go");
	tap_is(wrong(bo, n), 0, "CPUs see what was theirs");
	tap_is(buffer_free(&c, &hidden), 0, "KFD frees what CPUs do not see");
	tap_ok(vram_settle("away", n), "what need not be seen comes back");
	tap_is(vram_counter("ins") - ins, 1, "that alone");
	tap_is(buffer_free(&c, &last), 0, "KFD frees the rest");
	tap_ok(vram_settle("away", 0), "and all come back");
	tap_is(seen(), n * (int64_t)SIZE, "to where they have to be");
	tap_is(wrong(bo, n), 0, "and CPUs see them");
	copier_close(&c);
}

int main(void)
{
	struct drm_amdgpu_info_vram_gtt v;
	struct drm_amdgpu_info info = {
		.query = AMDGPU_INFO_VRAM_GTT,
		.return_pointer = (uintptr_t)&v,
		.return_size = sizeof(v),
	};

	tap_begin(300);
	vram_base_take(&base);
	if (kfd_call(base.render, DRM_IOCTL_AMDGPU_INFO, &info))
		tap_bail("INFO");
	visible = v.vram_cpu_accessible_size;
	total = v.vram_size;
	if (visible == total)
		tap_skip_all("all is visible: ./run.sh exec --vram 256M --qemu '-global vkfd.visible-vram=16M'");
	if (visible / SIZE > MAX || visible < 2 * SIZE || visible > total / 4)
		tap_bail("%llu bytes visible", (unsigned long long)visible);
	tap_child("kfd", kfd, NULL);
	vram_nothing_left(&base, "kfd");
	tap_child("places", places, NULL);
	vram_nothing_left(&base, "places");
	tap_child("full", full, NULL);
	vram_nothing_left(&base, "full");
	return tap_done();
}
