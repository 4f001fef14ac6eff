// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "counters.h"
#include "gem_bo.h"
#include "gpu.h"
#include "tap.h"

#define KFD_VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | \
			 KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)

int gem_create(struct gem_bo *g, int render, uint64_t size, uint64_t domains)
{
	union drm_amdgpu_gem_create create = { .in = { .bo_size = size, .domains = domains } };
	int err = kfd_call(render, DRM_IOCTL_AMDGPU_GEM_CREATE, &create);

	*g = (struct gem_bo) { .render = render, .size = size };
	if (!err)
		g->handle = create.out.handle;
	return err;
}

uint32_t *gem_map(struct gem_bo *g)
{
	union drm_amdgpu_gem_mmap at = { .in.handle = g->handle };
	void *cpu;

	if (kfd_call(g->render, DRM_IOCTL_AMDGPU_GEM_MMAP, &at))
		tap_bail("GEM_MMAP");
	cpu = mmap(NULL, g->size, PROT_READ | PROT_WRITE, MAP_SHARED, g->render,
		   (off_t)at.out.addr_ptr);
	if (cpu == MAP_FAILED)
		tap_bail("mmap of memory: %m");
	g->cpu = cpu;
	return g->cpu;
}

void gem_free(struct gem_bo *g)
{
	struct drm_gem_close close_args = { .handle = g->handle };

	if (g->cpu)
		munmap(g->cpu, g->size);
	if (g->handle && kfd_call(g->render, DRM_IOCTL_GEM_CLOSE, &close_args))
		tap_bail("GEM_CLOSE");
	*g = (struct gem_bo) { 0 };
}

int gem_to_kfd(struct gem_bo *g, struct copier *c, struct buffer *b)
{
	struct drm_prime_handle prime = { .handle = g->handle, .flags = O_CLOEXEC | O_RDWR };
	int err = kfd_call(g->render, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	if (err)
		return err;
	err = buffer_import(c, b, prime.fd, g->size);
	close(prime.fd);
	return err;
}

int gem_render_open(void)
{
	char path[64];
	int minor, fd;

	if (!kfd_gpu_id(&minor))
		tap_bail("no GPU");
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		tap_bail("%s: %m", path);
	return fd;
}

uint64_t gem_info(int render, uint32_t query)
{
	uint64_t value = 0;
	struct drm_amdgpu_info info = {
		.query = query,
		.return_pointer = (uintptr_t)&value,
		.return_size = sizeof(value),
	};

	if (kfd_call(render, DRM_IOCTL_AMDGPU_INFO, &info))
		tap_bail("INFO 0x%x", query);
	return value;
}

int64_t vram_counter(const char *name)
{
	return kfd_counter("vram", name);
}

bool vram_settle(const char *name, int64_t want)
{
	return kfd_counter_settle("vram", name, want, COPIER_MS) == want;
}

int64_t vram_process_counter(int pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/vram", pid);
	return kfd_counter(path, name);
}

void vram_base_take(struct vram_base *base)
{
	/* Who opens the device waits for what processes that have ended leave behind. */
	pid_t pid = fork();

	if (!pid) {
		close(kfd_open());
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		tap_bail("fork");
	base->render = gem_render_open();
	base->used = vram_counter("used");
	base->gtt = (int64_t)gem_info(base->render, AMDGPU_INFO_GTT_USAGE);
}

void vram_nothing_left(const struct vram_base *base, const char *what)
{
	uint64_t end = now_ns() + COPIER_MS * 1000000ull;
	int64_t gtt;

	tap_ok(vram_settle("kfd", 0), "%s: KFD has nothing left", what);
	tap_ok(vram_settle("used", base->used), "%s: nor has anybody VRAM", what);
	tap_ok(vram_settle("away_bytes", 0), "%s: or evicted VRAM", what);
	while ((gtt = (int64_t)gem_info(base->render, AMDGPU_INFO_GTT_USAGE)) != base->gtt &&
	       now_ns() < end)
		usleep(1000);
	tap_is(gtt, base->gtt, "%s: or system memory", what);
}

void pattern_put(volatile uint32_t *p, uint64_t bytes, uint32_t seed)
{
	uint64_t i;

	for (i = 0; i < bytes / 4; i++)
		p[i] = seed + (uint32_t)i * 2654435761u;
}

uint64_t pattern_wrong(const volatile uint32_t *p, uint64_t bytes, uint32_t seed)
{
	uint64_t i, wrong = 0;

	for (i = 0; i < bytes / 4; i++)
		wrong += p[i] != seed + (uint32_t)i * 2654435761u;
	return wrong;
}

void hog_all_but(struct copier *c, struct buffer *hog, uint64_t rest)
{
	uint64_t size = copier_available(c) - rest;
	int err = buffer_alloc(c, hog, size, KFD_VRAM);

	if (err)
		tap_bail("%llu MiB of VRAM: %d", (unsigned long long)size >> 20, err);
}
