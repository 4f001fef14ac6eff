// SPDX-License-Identifier: MIT
/*
 * Memory of other drivers, imported by GEM and by KFD, read and written by the GPU and by CPUs
 * through the file it came as; and memory of the GPU's driver in the hands of another one
 * (vgem). The kernel's heap and udmabuf export.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>
#include <drm/drm.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "copier.h"
#include "driver.h"
#include "gem_bo.h"
#include "gpu_sysfs.h"
#include "tap.h"

#define SIZE	(1u << 20)
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)

/* A dma-buf of SIZE bytes of each exporter; -1: this kernel has none. */
static int from_heap(void)
{
	struct dma_heap_allocation_data a = { .len = SIZE, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), err;

	if (heap < 0)
		return -1;
	err = kfd_call(heap, DMA_HEAP_IOCTL_ALLOC, &a);
	close(heap);
	if (err)
		tap_bail("the heap: %d", err);
	return (int)a.fd;
}

static int from_udmabuf(void)
{
	struct udmabuf_create c = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), mem, fd;

	if (dev < 0)
		return -1;
	mem = memfd_create("vkfd-test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (mem < 0 || ftruncate(mem, SIZE) || fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK))
		tap_bail("memfd: %m");
	c.memfd = (uint32_t)mem;
	fd = ioctl(dev, UDMABUF_CREATE, &c);
	if (fd < 0)
		tap_bail("udmabuf: %m");
	close(mem);
	close(dev);
	return fd;
}

static const struct exporter {
	const char *name;
	int (*make)(void);
} exporters[] = { { "heap", from_heap }, { "udmabuf", from_udmabuf } };

static volatile uint32_t *map_fd(int fd)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		tap_bail("mmap of a dma-buf: %m");
	return p;
}

static ino_t inode(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		tap_bail("fstat: %m");
	return st.st_ino;
}

static int to_handle(int render, int fd, uint32_t *handle)
{
	struct drm_prime_handle p = { .fd = fd };
	int err = kfd_call(render, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p);

	*handle = p.handle;
	return err;
}

static int to_fd(int render, uint32_t handle)
{
	struct drm_prime_handle p = { .handle = handle, .flags = O_CLOEXEC | O_RDWR };
	int err = kfd_call(render, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p);

	return err ? err : p.fd;
}

static void close_handle(int render, uint32_t handle)
{
	struct drm_gem_close c = { .handle = handle };

	if (kfd_call(render, DRM_IOCTL_GEM_CLOSE, &c))
		tap_bail("GEM_CLOSE");
}

/* By KFD: both ways, through the GPU. */
static void kfd(void *arg)
{
	const struct exporter *e = arg;
	struct kfd_ioctl_get_dmabuf_info_args info = { 0 };
	volatile uint32_t *cpu, *look;
	struct buffer b, again, bounce;
	struct copier c;
	int fd = e->make(), out;

	copier_open(&c);
	cpu = map_fd(fd);
	pattern_put(cpu, SIZE, 1);
	if (buffer_alloc(&c, &bounce, SIZE, KFD_GTT))
		tap_bail("memory");
	look = buffer_map(&c, &bounce);
	if (!tap_is(buffer_import(&c, &b, fd, SIZE), 0, "%s: KFD imports and maps it", e->name))
		return;
	tap_ok(copier_copy(&c, bounce.va, b.va, SIZE) && !pattern_wrong(look, SIZE, 1),
	       "%s: the GPU reads all of it", e->name);
	pattern_put(look, SIZE, 2);
	tap_ok(copier_copy(&c, b.va, bounce.va, SIZE) && !pattern_wrong(cpu, SIZE, 2),
	       "%s: and writes", e->name);
	tap_is(buffer_import(&c, &again, fd, SIZE), 0, "%s: imported twice", e->name);
	tap_ok(copier_fill(&c, again.va, 4711, SIZE) && cpu[5] == 4711, "%s: it is the same", e->name);
	out = buffer_export(&c, &b);
	tap_ok(out >= 0 && inode(out) == inode(fd), "%s: exported it is what it was", e->name);
	close(out);
	info.dmabuf_fd = (uint32_t)fd;
	tap_is(kfd_call(c.r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), -EINVAL,
	       "%s: INFO does not know it, as upstream", e->name);
	close(fd);
	munmap((void *)cpu, SIZE);
	tap_ok(copier_copy(&c, bounce.va, b.va, SIZE) && look[5] == 4711,
	       "%s: it is there while we have it", e->name);
	tap_is(buffer_free(&c, &again), 0, "%s: freed", e->name);
	tap_ok(copier_copy(&c, bounce.va, b.va, SIZE), "%s: the other is still there", e->name);
	/* That one is left to the end of the process. */
	copier_close(&c);
}

static void gem(void *arg)
{
	const struct exporter *e = arg;
	union drm_amdgpu_gem_mmap at = { 0 };
	struct buffer view, bounce;
	volatile uint32_t *cpu, *look;
	int fd = e->make(), out;
	uint32_t handle, same;
	struct gem_bo g;
	struct copier c;

	copier_open(&c);
	cpu = map_fd(fd);
	pattern_put(cpu, SIZE, 3);
	if (buffer_alloc(&c, &bounce, SIZE, KFD_GTT))
		tap_bail("memory");
	look = buffer_map(&c, &bounce);
	if (!tap_is(to_handle(c.r.p.render, fd, &handle), 0, "%s: GEM imports it", e->name))
		return;
	tap_ok(!to_handle(c.r.p.render, fd, &same) && same == handle, "%s: once for each file", e->name);
	out = to_fd(c.r.p.render, handle);
	tap_ok(out >= 0 && inode(out) == inode(fd), "%s: GEM gives back what it was", e->name);
	close(out);
	at.in.handle = handle;
	if (kfd_call(c.r.p.render, DRM_IOCTL_AMDGPU_GEM_MMAP, &at))
		tap_bail("GEM_MMAP");
	tap_ok(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, c.r.p.render, (off_t)at.out.addr_ptr) == MAP_FAILED,
	       "%s: CPUs map it by its file only", e->name);
	g = (struct gem_bo) { .render = c.r.p.render, .handle = handle, .size = SIZE };
	tap_is(gem_to_kfd(&g, &c, &view), 0, "%s: and from GEM to KFD", e->name);
	tap_ok(copier_copy(&c, bounce.va, view.va, SIZE) && !pattern_wrong(look, SIZE, 3),
	       "%s: the GPU reads it", e->name);
	close_handle(c.r.p.render, handle);
	close(fd);
	tap_ok(copier_fill(&c, view.va, 17, SIZE) && cpu[7] == 17, "%s: KFD keeps it", e->name);
	tap_is(buffer_free(&c, &view), 0, "%s: freed", e->name);
	copier_close(&c);
}

/* The GPU goes, the memory does not. */
static void unbind(void *arg)
{
	const struct exporter *e = arg;
	volatile uint32_t *cpu;
	int fd = e->make();
	struct copier c;
	struct buffer b;
	uint32_t handle;

	copier_open(&c);
	cpu = map_fd(fd);
	if (buffer_import(&c, &b, fd, SIZE) || to_handle(c.r.p.render, fd, &handle) ||
	    !copier_fill(&c, b.va, 4711, SIZE))
		tap_bail("import");
	tap_ok(gpu_unbind(), "%s: unbind with it in use", e->name);
	tap_is(cpu[SIZE / 4 - 1], 4711, "%s: it is its exporter's", e->name);
	tap_is(buffer_free(&c, &b), 0, "%s: KFD lets go", e->name);
	tap_is(cpu[SIZE / 4 - 1], 4711, "%s: and it is still there", e->name);
}

/* ---- ours in the hands of another ---- */

/* The card of the driver vgem; -1: there is none. */
static int vgem_open(void)
{
	char name[8], path[32];
	unsigned int i;
	int fd;

	for (i = 0; i < 8; i++) {
		struct drm_version v = { .name = name, .name_len = sizeof(name) };

		snprintf(path, sizeof(path), "/dev/dri/card%u", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!kfd_call(fd, DRM_IOCTL_VERSION, &v) && v.name_len == 4 && !memcmp(name, "vgem", 4))
			return fd;
		close(fd);
	}
	return -1;
}

static void to_vgem(void *arg)
{
	int vgem = *(int *)arg, fd;
	volatile uint32_t *theirs;
	struct buffer gtt, vram;
	struct copier c;
	uint32_t handle;
	int64_t used;

	copier_open(&c);
	if (buffer_alloc(&c, &gtt, SIZE, KFD_GTT) || buffer_alloc(&c, &vram, SIZE, KFD_VRAM))
		tap_bail("memory");
	pattern_put(buffer_map(&c, &gtt), SIZE, 5);
	fd = buffer_export(&c, &gtt);
	used = (int64_t)gem_info(c.r.p.render, AMDGPU_INFO_GTT_USAGE);
	/* It attaches and maps at once, and has nothing to look with. */
	tap_is(to_handle(vgem, fd, &handle), 0, "vgem imports GTT");
	close(fd);
	tap_is(buffer_free(&c, &gtt), 0, "its owner frees it");
	tap_is((int64_t)gem_info(c.r.p.render, AMDGPU_INFO_GTT_USAGE), used, "and it is still there");
	fd = to_fd(vgem, handle);
	theirs = map_fd(fd);
	tap_is((int64_t)pattern_wrong(theirs, SIZE, 5), 0, "with what was stored");
	munmap((void *)theirs, SIZE);
	close(fd);
	close_handle(vgem, handle);
	fd = buffer_export(&c, &vram);
	tap_is(to_handle(vgem, fd, &handle), -EOPNOTSUPP, "VRAM it cannot have");
	close(fd);
	copier_close(&c);
}

int main(void)
{
	struct vram_base base;
	unsigned int i;
	int vgem;

	tap_begin(300);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	vram_base_take(&base);
	for (i = 0; i < sizeof(exporters) / sizeof(exporters[0]); i++) {
		const struct exporter *e = &exporters[i];
		int64_t refs;
		int fd = e->make();

		if (fd < 0) {
			tap_skip("this kernel has no such exporter", "%s", e->name);
			continue;
		}
		close(fd);
		refs = driver_references();
		tap_child(e->name, kfd, (void *)e);
		tap_child(e->name, gem, (void *)e);
		tap_child(e->name, unbind, (void *)e);
		close(base.render);
		tap_ok(gpu_bind(), "%s: bound again", e->name);
		base.render = gem_render_open();
		vram_nothing_left(&base, e->name);
		tap_ok(driver_let_go(refs), "%s: nobody holds the driver", e->name);
	}
	/* Not every kernel has it: no device is then told by a skip. */
	vgem = system("modprobe vgem 2>/dev/null") ? -1 : vgem_open();
	if (vgem < 0) {
		tap_skip("this kernel has no vgem", "another driver imports");
		return tap_done();
	}
	tap_child("vgem", to_vgem, &vgem);
	close(vgem);
	vram_nothing_left(&base, "vgem");
	return tap_done();
}
