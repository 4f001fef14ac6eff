// SPDX-License-Identifier: MIT
/*
 * GEM_VA: parts of objects where a program wants them, in a process's compute VM, beside
 * KFD's own mappings. A queue reads every page after each of many random changes, and a
 * model says what it must find. Also GEM_METADATA, which goes with the object.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <xf86drm.h>

#include "copier.h"
#include "driver.h"
#include "gpu.h"
#include "kfd_event.h"
#include "pm4.h"
#include "queue.h"
#include "tap.h"

#define RWX	(AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE)
#define VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define WINDOW	1100u		/* pages; more than two last-level tables */
#define PAGES	700u		/* of an object */
#define OBJECTS	3u
#define MAX_MAPS	64u
#define BATCH	64u		/* copies that fit into the ring */

static int va_op(int render, uint32_t op, uint32_t handle, uint64_t va, uint64_t offset,
		 uint64_t size, uint32_t flags)
{
	struct drm_amdgpu_gem_va args = {
		.handle = handle,
		.operation = op,
		.flags = flags,
		.va_address = va,
		.offset_in_bo = offset,
		.map_size = size,
	};

	return kfd_call(render, DRM_IOCTL_AMDGPU_GEM_VA, &args);
}

#define MAP(h, va, offset, size) va_op(render, AMDGPU_VA_OP_MAP, h, va, offset, size, RWX)
#define UNMAP(h, va, size) va_op(render, AMDGPU_VA_OP_UNMAP, h, va, 0, size, 0)
#define CLEAR(va, size) va_op(render, AMDGPU_VA_OP_CLEAR, 0, va, 0, size, 0)
#define REPLACE(h, va, offset, size) va_op(render, AMDGPU_VA_OP_REPLACE, h, va, offset, size, RWX)

static uint32_t create(int render, uint64_t domain, uint64_t size)
{
	union drm_amdgpu_gem_create c = { .in = { .bo_size = size, .domains = domain } };

	if (kfd_call(render, DRM_IOCTL_AMDGPU_GEM_CREATE, &c))
		tap_bail("GEM_CREATE");
	return c.out.handle;
}

static uint32_t *map_cpu(int render, uint32_t handle, uint64_t size)
{
	union drm_amdgpu_gem_mmap m = { .in.handle = handle };
	void *at;

	if (kfd_call(render, DRM_IOCTL_AMDGPU_GEM_MMAP, &m))
		tap_bail("GEM_MMAP");
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, render, (off_t)m.out.addr_ptr);
	if (at == MAP_FAILED)
		tap_bail("mmap: %m");
	return at;
}

static void test_refused(struct copier *c)
{
	uint64_t size = 8 * GPU_PAGE, va = gpu_va(kfd_reserve_va(64 * GPU_PAGE));
	int render = c->r.p.render;
	uint32_t h = create(render, AMDGPU_GEM_DOMAIN_VRAM, size);

	tap_is(MAP(0, va, 0, size), -ENOENT, "MAP of no handle");
	tap_is(UNMAP(4711, va, size), -ENOENT, "UNMAP of no handle");
	tap_is(UNMAP(h, va, size), -ENOENT, "UNMAP of what is not mapped");
	tap_is(va_op(render, 0, h, va, 0, size, RWX), -EINVAL, "operation 0");
	tap_is(va_op(render, 5, h, va, 0, size, RWX), -EINVAL, "operation 5");
	tap_is(va_op(render, AMDGPU_VA_OP_MAP, h, va, 0, size, RWX | 1u << 31), -EINVAL, "an unknown flag");
	tap_is(va_op(render, AMDGPU_VA_OP_MAP, 0, va, 0, size, AMDGPU_VM_PAGE_PRT), -EINVAL, "PRT");
	tap_is(MAP(h, va + 8, 0, size), -EINVAL, "MAP at a bad address");
	tap_is(MAP(h, va, 8, GPU_PAGE), -EINVAL, "MAP from a bad offset");
	tap_is(MAP(h, va, 0, 100), -EINVAL, "MAP of parts of pages");
	tap_is(MAP(h, va, 0, 0), -EINVAL, "MAP of nothing");
	tap_is(MAP(h, va, GPU_PAGE, size), -EINVAL, "MAP beyond the object");
	tap_is(MAP(h, va, ~0ull - GPU_PAGE + 1, 2 * GPU_PAGE), -EINVAL, "MAP from an offset that wraps");
	tap_is(MAP(h, 0, 0, size), -EINVAL, "MAP at 0");
	tap_is(MAP(h, 1ull << 47, 0, size), -EINVAL, "MAP beyond the address space");
	tap_is(MAP(h, (1ull << 47) - GPU_PAGE, 0, size), -EINVAL, "MAP across its end");
	tap_is(MAP(h, ~0ull - size + 1, 0, size), -EINVAL, "MAP at the end of all addresses");
	tap_is(CLEAR(va, 0), -EINVAL, "CLEAR of nothing");
	tap_is(CLEAR(va + 1, size), -EINVAL, "CLEAR at a bad address");
	tap_is(CLEAR(va, 1ull << 60), -EINVAL, "CLEAR of more than there is");
	tap_is(CLEAR(va, size), 0, "CLEAR of what is empty");
	tap_is(REPLACE(h, va, GPU_PAGE, size), -EINVAL, "REPLACE beyond the object");

	tap_is(MAP(h, va, 0, size), 0, "MAP");
	tap_is(MAP(h, va, 0, size), -EINVAL, "and again");
	tap_is(MAP(h, va + size - GPU_PAGE, 0, GPU_PAGE), -EINVAL, "over its last page");
	tap_is(MAP(h, va + size, 0, GPU_PAGE), 0, "behind it: once more");
	tap_is(UNMAP(h, va + GPU_PAGE, GPU_PAGE), -ENOENT, "UNMAP of a page in the middle");
	tap_is(UNMAP(h, va, size), 0, "UNMAP of the first");
	tap_is(UNMAP(h, va, size), -ENOENT, "and again");
	tap_is(MAP(h, va, 0, size), 0, "its place is free");
	drmCloseBufferHandle(render, h);
	h = create(render, AMDGPU_GEM_DOMAIN_VRAM, size);
	tap_is(MAP(h, va + GPU_PAGE, 0, size), 0, "GEM_CLOSE has unmapped both");
	tap_is(va_op(render, AMDGPU_VA_OP_UNMAP, h, va + GPU_PAGE, 0, size, AMDGPU_VM_DELAY_UPDATE), 0,
	       "with delayed update, which is at once");
	drmCloseBufferHandle(render, h);
}

/* What should be mapped where, in pages of the window. */
struct map {
	unsigned int start, count, object, first;
};

struct model {
	struct copier *c;
	struct buffer result;
	volatile uint32_t *seen;
	uint64_t va;
	uint32_t handle[OBJECTS];
	struct map map[MAX_MAPS];
	unsigned int n;
	uint64_t rng;
};

/* xorshift64 */
static unsigned int below(struct model *m, unsigned int n)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 7;
	m->rng ^= m->rng << 17;
	return (unsigned int)((m->rng >> 32) % n);
}

static uint32_t word_of(unsigned int object, unsigned int page)
{
	return (object + 1) << 16 | page;
}

static bool overlaps(const struct model *m, const struct map *x)
{
	unsigned int i;

	for (i = 0; i < m->n; i++)
		if (m->map[i].start < x->start + x->count && x->start < m->map[i].start + m->map[i].count)
			return true;
	return false;
}

static void model_clear(struct model *m, unsigned int start, unsigned int count)
{
	unsigned int i, end = start + count, n = m->n;

	for (i = 0; i < n; i++) {
		struct map old = m->map[i];
		unsigned int old_end = old.start + old.count;

		if (old_end <= start || old.start >= end)
			continue;
		m->map[i].count = 0;
		if (old.start < start) {
			m->map[i] = old;
			m->map[i].count = start - old.start;
		}
		if (old_end > end)
			m->map[m->n++] = (struct map) { end, old_end - end, old.object,
							old.first + end - old.start };
	}
	for (i = 0, n = 0; i < m->n; i++)
		if (m->map[i].count)
			m->map[n++] = m->map[i];
	m->n = n;
}

/* One random operation; true if its result is the model's. */
static bool step(struct model *m)
{
	struct map x = { .start = below(m, WINDOW), .object = below(m, OBJECTS) };
	uint32_t h = m->handle[x.object];
	int render = m->c->r.p.render, want, got;
	uint64_t va;
	unsigned int i;

	x.count = 1 + below(m, below(m, 3) ? 20 : PAGES);
	if (x.count > WINDOW - x.start)
		x.count = WINDOW - x.start;
	if (x.count > PAGES)
		x.count = PAGES;
	x.first = below(m, PAGES - x.count + 1);
	va = m->va + (uint64_t)x.start * GPU_PAGE;
	/* Room in the model for what a CLEAR or REPLACE leaves. */
	switch (m->n > MAX_MAPS - 3 ? 3 : below(m, 4)) {
	case 0:
		want = overlaps(m, &x) ? -EINVAL : 0;
		got = MAP(h, va, (uint64_t)x.first * GPU_PAGE, (uint64_t)x.count * GPU_PAGE);
		if (!want)
			m->map[m->n++] = x;
		break;
	case 1:
		got = REPLACE(h, va, (uint64_t)x.first * GPU_PAGE, (uint64_t)x.count * GPU_PAGE);
		want = 0;
		model_clear(m, x.start, x.count);
		m->map[m->n++] = x;
		break;
	case 2:
		got = CLEAR(va, (uint64_t)x.count * GPU_PAGE);
		want = 0;
		model_clear(m, x.start, x.count);
		break;
	default:
		/* Mostly of something that is there. */
		i = m->n ? below(m, m->n) : 0;
		want = -ENOENT;
		if (m->n && below(m, 4)) {
			x = m->map[i];
			m->map[i] = m->map[--m->n];
			want = 0;
		} else {
			for (i = 0; i < m->n && want; i++)
				if (m->map[i].start == x.start && m->map[i].object == x.object) {
					x = m->map[i];
					m->map[i] = m->map[--m->n];
					want = 0;
				}
		}
		got = UNMAP(m->handle[x.object], m->va + (uint64_t)x.start * GPU_PAGE, 0);
	}
	if (got != want)
		tap_diag("page %u, %u of them: got %d, want %d", x.start, x.count, got, want);
	return got == want;
}

/* First words of all mapped pages, read by the GPU: how many are not what they should be. */
static unsigned int look(struct model *m)
{
	unsigned int i, j, todo = 0, wrong = 0, n = 0;

	for (i = 0; i < m->n; i++) {
		for (j = 0; j < m->map[i].count; j++, n++) {
			raw_put_copy_va(&m->c->q, m->result.va + n * 4,
				     m->va + (uint64_t)(m->map[i].start + j) * GPU_PAGE, 4);
			if (++todo == BATCH) {
				if (!copier_fill(m->c, m->result.va + WINDOW * 4, n, 4))
					return ~0u;
				todo = 0;
			}
		}
	}
	if (!copier_fill(m->c, m->result.va + WINDOW * 4, n, 4))
		return ~0u;
	for (i = 0, n = 0; i < m->n; i++)
		for (j = 0; j < m->map[i].count; j++, n++)
			wrong += m->seen[n] != word_of(m->map[i].object, m->map[i].first + j);
	return wrong;
}

static void test_model(struct copier *c)
{
	struct model m = { .c = c, .rng = 88172645463325252ull };
	unsigned int i, j, bad = 0, wrong = 0, rounds = scaled(4000, 400);
	int render = c->r.p.render;
	uint32_t *p;

	m.va = gpu_va(kfd_reserve_va((size_t)WINDOW * GPU_PAGE));
	if (buffer_alloc(c, &m.result, 2 * WINDOW * 4, GTT))
		tap_bail("GTT");
	m.seen = buffer_map(c, &m.result);
	for (i = 0; i < OBJECTS; i++) {
		m.handle[i] = create(render, i ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT,
				     PAGES * GPU_PAGE);
		p = map_cpu(render, m.handle[i], PAGES * GPU_PAGE);
		for (j = 0; j < PAGES; j++)
			p[j * GPU_PAGE / 4] = word_of(i, j);
		munmap(p, PAGES * GPU_PAGE);
	}
	for (i = 0; i < rounds && !bad && !wrong; i++) {
		bad += !step(&m);
		wrong += look(&m);
	}
	tap_is(bad, 0, "%u random operations end as they should", rounds);
	tap_is(wrong, 0, "and after each the GPU finds what it should on every page");
	tap_is(CLEAR(m.va, (uint64_t)WINDOW * GPU_PAGE), 0, "CLEAR of everything");
	tap_is(MAP(m.handle[1], m.va, 0, PAGES * GPU_PAGE), 0, "leaves room");
	for (i = 0; i < OBJECTS; i++)
		drmCloseBufferHandle(render, m.handle[i]);
	buffer_free(c, &m.result);
}

/* KFD's mappings and GEM_VA's leave each other alone. */
static void test_beside_kfd(struct copier *c)
{
	int64_t before = (int64_t)copier_available(c);
	uint64_t size = 4u << 20, va = gpu_va(kfd_reserve_va(size));
	int render = c->r.p.render, fd;
	struct buffer b, small;
	volatile uint32_t *p;
	uint32_t h;

	if (buffer_alloc(c, &b, size, VRAM))
		tap_bail("VRAM");
	p = buffer_map(c, &b);
	fd = buffer_export(c, &b);
	if (drmPrimeFDToHandle(render, fd, &h))
		tap_bail("import");
	close(fd);
	tap_is(MAP(h, b.va + GPU_PAGE, 0, GPU_PAGE), -EINVAL, "MAP over KFD's");
	tap_is(REPLACE(h, b.va, 0, GPU_PAGE), -EBUSY, "REPLACE of KFD's");
	tap_is(CLEAR(b.va, GPU_PAGE), -EBUSY, "CLEAR of KFD's");
	tap_is(UNMAP(h, b.va, size), -ENOENT, "UNMAP of KFD's");
	tap_is(MAP(h, va, size / 2, size / 2), 0, "MAP of the second half elsewhere");
	tap_ok(copier_fill(c, va, 0x77, GPU_PAGE) && p[size / 8] == 0x77 && !p[size / 8 + GPU_PAGE / 4],
	       "is the same memory");
	small = (struct buffer) { .va = va, .size = GPU_PAGE };
	if (kfd_alloc(&c->r.p, va, GPU_PAGE, GTT, &small.handle, NULL))
		tap_bail("GTT");
	tap_is(kfd_map(&c->r.p, small.handle), -EINVAL, "MAP of KFD's over GEM's");
	kfd_free(&c->r.p, small.handle);
	tap_is(buffer_free(c, &b), 0, "KFD's handle is freed");
	tap_is((int64_t)copier_available(c), before - (int64_t)size, "the memory stays");
	tap_ok(copier_fill(c, va, 0x78, GPU_PAGE), "and can be used");
	drmCloseBufferHandle(render, h);
	tap_ok(copier_given_back(c, before), "until its GEM handle is closed");
}

/* As ROCr's virtual memory calls: memory by KFD, its place by libdrm. */
static void test_rocr(struct copier *c)
{
	int64_t before = (int64_t)copier_available(c);
	uint64_t size = 2u << 20, va = gpu_va(kfd_reserve_va(2 * size));
	struct amdgpu_bo_import_result import;
	amdgpu_device_handle dev;
	struct buffer b = { 0 };
	uint32_t major, minor;
	uint32_t *p = NULL;
	int fd;

	if (amdgpu_device_initialize(c->r.p.render, &major, &minor, &dev))
		tap_bail("amdgpu_device_initialize");
	tap_is(kfd_alloc(&c->r.p, 0, size, VRAM, &b.handle, NULL), 0, "memory without an address");
	fd = buffer_export(c, &b);
	tap_is(amdgpu_bo_import(dev, amdgpu_bo_handle_type_dma_buf_fd, (uint32_t)fd, &import), 0,
	       "libdrm imports it");
	close(fd);
	tap_is((int64_t)import.alloc_size, (int64_t)size, "with its size");
	tap_is(amdgpu_bo_va_op_raw(dev, import.buf_handle, 0, size, va, RWX, AMDGPU_VA_OP_MAP), 0,
	       "maps it");
	tap_is(amdgpu_bo_va_op_raw(dev, import.buf_handle, 0, size, va + size, RWX, AMDGPU_VA_OP_MAP), 0,
	       "twice");
	tap_is(amdgpu_bo_cpu_map(import.buf_handle, (void **)&p), 0, "and for the CPU");
	tap_ok(copier_fill(c, va, 1, GPU_PAGE) && copier_fill(c, va + size + GPU_PAGE, 2, GPU_PAGE) &&
	       p[0] == 1 && p[GPU_PAGE / 4] == 2, "a queue writes to both");
	tap_is(amdgpu_bo_va_op_raw(dev, import.buf_handle, 0, size, va, 0, AMDGPU_VA_OP_UNMAP), 0,
	       "unmaps one");
	tap_ok(copier_fill(c, va + size, 3, GPU_PAGE) && p[0] == 3, "the other stays");
	tap_is(amdgpu_bo_va_op_raw(dev, import.buf_handle, 0, size, va + size, 0, AMDGPU_VA_OP_UNMAP), 0,
	       "and goes, too");
	amdgpu_bo_cpu_unmap(import.buf_handle);
	amdgpu_bo_free(import.buf_handle);
	kfd_free(&c->r.p, b.handle);
	amdgpu_device_deinitialize(dev);
	tap_ok(copier_given_back(c, before), "nothing is lost");
}

struct refused {
	uint32_t flags;
	bool unmapped;
	const char *name;
};

/* A store that the mapping does not allow is a fault at that page. */
static void refused_store(void *arg)
{
	const struct refused *f = arg;
	uint64_t size = 16 * GPU_PAGE, va = gpu_va(kfd_reserve_va(size));
	struct kfd_event_data data;
	struct copier c;
	uint32_t h, event;
	int render;

	copier_open(&c);
	render = c.r.p.render;
	h = create(render, AMDGPU_GEM_DOMAIN_VRAM, size);
	tap_is(va_op(render, AMDGPU_VA_OP_MAP, h, va, 0, size, RWX), 0, "%s: MAP", f->name);
	tap_ok(copier_fill(&c, va + 3 * GPU_PAGE, 1, 4), "%s: a store", f->name);
	if (f->unmapped)
		tap_is(UNMAP(h, va, size), 0, "%s: UNMAP", f->name);
	else
		tap_is(va_op(render, AMDGPU_VA_OP_REPLACE, h, va, 0, size, f->flags), 0,
		       "%s: REPLACE", f->name);
	event = kfd_event_new(&c.r.p, KFD_IOC_EVENT_MEMORY);
	raw_put_fill(&c.q, va + 3 * GPU_PAGE, 2, 4);
	raw_submit(&c.q);
	tap_ok(kfd_event_wait(&c.r.p, event, 60000, &data), "%s: a store after that faults", f->name);
	tap_is((int64_t)(data.memory_exception_data.va - va), 3 * GPU_PAGE, "%s: at its page", f->name);
	tap_is(map_cpu(render, h, size)[3 * GPU_PAGE / 4], 1, "%s: and does nothing", f->name);
	/* All of it is left to the end of the process. */
}

static void test_metadata(struct copier *c)
{
	struct drm_amdgpu_gem_metadata set = { .op = AMDGPU_GEM_METADATA_OP_SET_METADATA }, get;
	struct kfd_ioctl_get_dmabuf_info_args info = { 0 };
	uint32_t data[64], imported, h;
	int render = c->r.p.render, other, fd;
	char path[64];
	unsigned int i;

	h = create(render, AMDGPU_GEM_DOMAIN_VRAM, GPU_PAGE);
	get = (struct drm_amdgpu_gem_metadata) { .handle = h, .op = AMDGPU_GEM_METADATA_OP_GET_METADATA };
	tap_is(kfd_call(render, DRM_IOCTL_AMDGPU_GEM_METADATA, &get), 0, "GET_METADATA");
	tap_is(get.data.data_size_bytes, 0, "of none");
	set.handle = h;
	set.data.flags = 0x123456789a;
	set.data.tiling_info = 7;
	set.data.data_size_bytes = 257;
	tap_is(kfd_call(render, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), -EINVAL, "more than there is room for");
	set.data.data_size_bytes = 100;
	for (i = 0; i < 64; i++)
		set.data.data[i] = i * 3 + 1;
	tap_is(kfd_call(render, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), 0, "SET_METADATA");
	set.op = 3;
	tap_is(kfd_call(render, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), -EINVAL, "another operation");
	set.handle = 4711;
	tap_is(kfd_call(render, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), -ENOENT, "no handle");

	if (drmPrimeHandleToFD(render, h, DRM_CLOEXEC, &fd))
		tap_bail("export");
	info.dmabuf_fd = (uint32_t)fd;
	info.metadata_ptr = (uint64_t)(uintptr_t)data;
	info.metadata_size = 64;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), -EINVAL, "INFO with too little room");
	tap_is(info.metadata_size, 100, "says how much it takes");
	memset(data, 0xee, sizeof(data));
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), 0, "INFO with as much");
	tap_ok(!memcmp(data, set.data.data, 100) && data[25] == 0xeeeeeeee, "has the data and no more");
	info.metadata_ptr = 8;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), -EFAULT, "INFO to a bad pointer");

	snprintf(path, sizeof(path), "/proc/self/fd/%d", render);
	other = open(path, O_RDWR | O_CLOEXEC);
	if (other < 0 || drmPrimeFDToHandle(other, fd, &imported))
		tap_bail("import into another file");
	get.handle = imported;
	tap_is(kfd_call(other, DRM_IOCTL_AMDGPU_GEM_METADATA, &get), 0, "GET_METADATA where it is imported");
	tap_ok(get.data.data_size_bytes == 100 && get.data.flags == set.data.flags &&
	       get.data.tiling_info == 7 && !memcmp(get.data.data, set.data.data, 100), "has them all");
	close(other);
	close(fd);
	drmCloseBufferHandle(render, h);
}

/* A file that is no process's compute VM has a VM, too. */
static void test_graphics_vm(struct copier *c)
{
	int64_t before = (int64_t)copier_available(c);
	uint64_t size = 4u << 20, va = 1ull << 32;
	char path[64];
	uint32_t h;
	int render;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", c->r.p.render);
	render = open(path, O_RDWR | O_CLOEXEC);
	if (render < 0)
		tap_bail("%s: %m", path);
	h = create(render, AMDGPU_GEM_DOMAIN_VRAM, size);
	tap_is(MAP(h, va, 0, size), 0, "MAP in a graphics VM");
	tap_is(MAP(h, va + GPU_PAGE, 0, size), -EINVAL, "which has rules, too");
	tap_is(CLEAR(va + GPU_PAGE, GPU_PAGE), 0, "CLEAR there");
	tap_is(UNMAP(h, va + 2 * GPU_PAGE, 0), 0, "UNMAP of what is left behind it");
	close(render);
	tap_ok(copier_given_back(c, before), "what is left goes with the file");
}

int main(void)
{
	struct refused read_only = { .flags = AMDGPU_VM_PAGE_READABLE, .name = "read only" };
	struct refused gone = { .unmapped = true, .name = "unmapped" };
	struct copier c;

	tap_begin(600);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	tap_child("read only", refused_store, &read_only);
	tap_child("unmapped", refused_store, &gone);
	copier_open(&c);
	test_refused(&c);
	test_model(&c);
	test_beside_kfd(&c);
	test_rocr(&c);
	test_metadata(&c);
	test_graphics_vm(&c);
	copier_close(&c);
	return tap_done();
}
