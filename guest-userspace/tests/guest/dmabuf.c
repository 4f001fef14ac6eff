// SPDX-License-Identifier: MIT
/*
 * Memory as dma-bufs: exported from KFD's handles and from GEM's, imported into both, by
 * other processes, after the first owner has ended, and while it is freed. The GPU's copies
 * show that it is the same memory; what is available shows that nothing is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <amdgpu_drm.h>
#include <xf86drm.h>

#include "copier.h"
#include "driver.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "pm4.h"
#include "tap.h"

#define MIB	(1u << 20)
#define BYTES	(4 * MIB)
#define WORDS	(BYTES / 4)
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)

static int pair[2];

static void fill(volatile uint32_t *p, uint32_t seed)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		p[i] = seed + i * 2654435761u;
}

static unsigned int wrong_words(const volatile uint32_t *p, uint32_t seed)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < WORDS; i++)
		wrong += p[i] != seed + i * 2654435761u;
	return wrong;
}

static void *map_fd(int fd, int prot)
{
	return mmap(NULL, BYTES, prot, MAP_SHARED, fd, 0);
}

static void test_refused(struct copier *c)
{
	struct kfd_ioctl_export_dmabuf_args e = { 0 };
	struct kfd_ioctl_get_dmabuf_info_args info = { .dmabuf_fd = 1000 };
	struct kfd_ioctl_import_dmabuf_args i = { .gpu_id = c->r.p.gpu_id };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	struct buffer b, user = { .size = GPU_PAGE };
	void *page = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_EXPORT_DMABUF, &e), -EINVAL, "EXPORT of no GPU's memory");
	e.handle = (uint64_t)c->r.p.gpu_id << 32 | 4711;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_EXPORT_DMABUF, &e), -EINVAL, "EXPORT of no memory");
	if (kfd_alloc(&c->r.p, gpu_va(page), GPU_PAGE, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | RW,
		      &user.handle, NULL))
		tap_bail("user memory");
	tap_is(buffer_export(c, &user), -EPERM, "EXPORT of the program's own memory");
	kfd_free(&c->r.p, user.handle);
	if (kfd_alloc(&c->r.p, gpu_va(page), 2 * GPU_PAGE, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | RW,
		      &user.handle, NULL))
		tap_bail("doorbells");
	tap_is(buffer_export(c, &user), -EPERM, "EXPORT of doorbells");
	kfd_free(&c->r.p, user.handle);

	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), -EBADF, "INFO of no file");
	info.dmabuf_fd = (uint32_t)null;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), -EINVAL, "INFO of another file");
	i.dmabuf_fd = 1000;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_IMPORT_DMABUF, &i), -EBADF, "IMPORT of no file");
	i.dmabuf_fd = (uint32_t)null;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_IMPORT_DMABUF, &i), -EINVAL, "IMPORT of another file");

	if (buffer_alloc(c, &b, BYTES, VRAM))
		tap_bail("VRAM");
	fd = buffer_export(c, &b);
	i.dmabuf_fd = (uint32_t)fd;
	i.gpu_id ^= 1;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_IMPORT_DMABUF, &i), -EINVAL, "IMPORT on an unknown GPU");
	close(fd);
	buffer_free(c, &b);
	munmap(page, GPU_PAGE);
	close(null);
}

static void test_info(struct copier *c, uint32_t flags, uint32_t kind)
{
	struct kfd_ioctl_get_dmabuf_info_args info = { 0 };
	struct buffer b;
	int fd;

	if (buffer_alloc(c, &b, BYTES, flags))
		tap_bail("memory");
	fd = buffer_export(c, &b);
	info.dmabuf_fd = (uint32_t)fd;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), 0, "INFO");
	tap_is((int64_t)info.size, BYTES, "its size");
	tap_is(info.gpu_id, c->r.p.gpu_id, "its GPU");
	tap_is(info.flags, kind, "its kind");
	tap_is(info.metadata_size, 0, "no metadata");
	tap_is(lseek(fd, 0, SEEK_END), BYTES, "lseek() tells the size, too");
	close(fd);
	buffer_free(c, &b);
}

struct ends {
	uint32_t flags;
	const char *name;
};

/* Leaves everything as it is but the dma-buf, which it gives away. */
static void first_owner(void *arg)
{
	const struct ends *e = arg;
	struct copier c;
	struct buffer b;
	int fd;

	copier_open(&c);
	if (buffer_alloc(&c, &b, BYTES, e->flags))
		tap_bail("%s", e->name);
	fill(buffer_map(&c, &b), 7);
	fd = buffer_export(&c, &b);
	if (fd < 0 || !fd_send(pair[1], fd))
		tap_bail("%s is not exported: %d", e->name, fd);
}

/* The memory of a process that has ended is its heir's. */
static void test_first_owner_ends(struct copier *c, uint32_t flags, const char *name)
{
	int64_t before = (int64_t)copier_available(c);
	int64_t with = before - (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? BYTES : 0);
	struct ends e = { .flags = flags, .name = name };
	struct buffer heir, own;
	volatile uint32_t *p, *shared;
	int fd;

	tap_child(name, first_owner, &e);
	fd = fd_receive(pair[0]);
	tap_is((int64_t)copier_available_settle(c, (uint64_t)with), with,
	       "%s: of its owner only this memory is left", name);
	if (!tap_is(buffer_import(c, &heir, fd, BYTES), 0, "%s: imported and mapped", name) ||
	    buffer_alloc(c, &own, BYTES, GTT))
		return;
	p = buffer_map(c, &own);
	tap_ok(copier_copy(c, own.va, heir.va, BYTES), "%s: the GPU copies", name);
	tap_is(wrong_words(p, 7), 0, "%s: what the owner stored", name);

	shared = map_fd(fd, PROT_READ | PROT_WRITE);
	if (!tap_ok(shared != MAP_FAILED, "%s: mmap of the dma-buf", name))
		return;
	tap_is(wrong_words(shared, 7), 0, "%s: shows it, too", name);
	fill(shared, 11);
	tap_ok(copier_copy(c, own.va, heir.va, BYTES) && !wrong_words(p, 11),
	       "%s: and what is stored there the GPU sees", name);
	tap_ok(copier_fill(c, heir.va + BYTES - GPU_PAGE, 99, GPU_PAGE) && shared[WORDS - 1] == 99,
	       "%s: and the other way", name);
	close(fd);
	tap_is(buffer_free(c, &heir), 0, "%s: freed", name);
	tap_is(shared[WORDS - 1], 99, "%s: while it is mapped it is there", name);
	tap_is((int64_t)copier_available(c), with, "%s: and counts", name);
	munmap((void *)shared, BYTES);
	buffer_free(c, &own);
	tap_ok(copier_given_back(c, before), "%s: and then it is given back",
	       name);
}

struct partner {
	int fd;
	uint32_t value;
};

static void partner(void *arg)
{
	const struct partner *with = arg;
	struct copier c;
	struct buffer b;

	copier_open(&c);
	tap_is(buffer_import(&c, &b, with->fd, BYTES), 0, "another process imports it");
	tap_ok(copier_fill(&c, b.va, with->value, MIB), "and its GPU queue writes");
	copier_close(&c);
}

static void test_two_processes(struct copier *c)
{
	struct partner with = { .value = 0x12345678 };
	struct buffer b, again, own;
	volatile uint32_t *p;

	if (buffer_alloc(c, &b, BYTES, VRAM) || buffer_alloc(c, &own, BYTES, GTT))
		tap_bail("memory");
	p = buffer_map(c, &own);
	with.fd = buffer_export(c, &b);
	tap_child("partner", partner, &with);
	tap_ok(copier_copy(c, own.va, b.va, BYTES), "the owner copies it");
	tap_ok(p[0] == with.value && p[MIB / 4 - 1] == with.value && !p[MIB / 4],
	       "and has what the other wrote");

	tap_is(buffer_import(c, &again, with.fd, BYTES), 0, "imported by its owner: a second address");
	tap_ok(copier_fill(c, again.va + MIB, 77, GPU_PAGE) &&
	       copier_copy(c, own.va, b.va, BYTES) && p[MIB / 4] == 77, "of the same memory");
	tap_is(buffer_free(c, &b), 0, "the first handle is freed");
	tap_ok(copier_copy(c, own.va, again.va, BYTES) && p[MIB / 4] == 77, "the second is not");
	close(with.fd);
	buffer_free(c, &again);
	buffer_free(c, &own);
}

static ino_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static int gem_create(int render, uint64_t domain, uint64_t flags, uint32_t *handle)
{
	union drm_amdgpu_gem_create create = {
		.in = { .bo_size = BYTES, .domains = domain, .domain_flags = flags },
	};
	int err = kfd_call(render, DRM_IOCTL_AMDGPU_GEM_CREATE, &create);

	*handle = err ? 0 : create.out.handle;
	return err;
}

static void test_prime(struct copier *c)
{
	int64_t before = (int64_t)copier_available(c);
	union drm_amdgpu_gem_mmap at = { 0 };
	uint32_t h = 0, again = 0, other;
	int render = c->r.p.render, fd, fd2 = -1;
	struct buffer b;
	volatile uint32_t *p, *q;

	if (buffer_alloc(c, &b, BYTES, VRAM))
		tap_bail("VRAM");
	p = buffer_map(c, &b);
	fill(p, 3);
	fd = buffer_export(c, &b);
	tap_is(drmPrimeFDToHandle(render, fd, &h), 0, "KFD's memory gets a GEM handle");
	tap_is(drmPrimeFDToHandle(render, fd, &again), 0, "and again");
	tap_is(again, h, "the same");
	at.in.handle = h;
	if (kfd_call(render, DRM_IOCTL_AMDGPU_GEM_MMAP, &at))
		tap_bail("GEM_MMAP");
	q = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, render, (off_t)at.out.addr_ptr);
	tap_ok(q != MAP_FAILED && !wrong_words(q, 3), "mapped by it, it has the same contents");
	munmap((void *)q, BYTES);
	tap_is(drmPrimeHandleToFD(render, h, DRM_CLOEXEC | DRM_RDWR, &fd2), 0, "exported by it");
	tap_ok(inode(fd2) && inode(fd) == inode(fd2), "it is the same dma-buf");
	close(fd);
	close(fd2);
	fd = buffer_export(c, &b);
	tap_is(drmPrimeFDToHandle(render, fd, &again), 0, "exported anew by KFD and imported");
	tap_is(again, h, "the same handle");
	close(fd);
	drmCloseBufferHandle(render, h);
	fd = buffer_export(c, &b);
	tap_is(drmPrimeFDToHandle(render, fd, &again), 0, "all closed, and both once more");
	drmCloseBufferHandle(render, again);
	close(fd);
	tap_is(buffer_free(c, &b), 0, "KFD's handle is freed");
	tap_ok(copier_given_back(c, before), "all is given back");

	if (gem_create(render, AMDGPU_GEM_DOMAIN_GTT, 0, &h))
		tap_bail("GEM_CREATE");
	tap_is(drmPrimeHandleToFD(render, h, DRM_CLOEXEC, &fd), 0, "GEM's memory is exported");
	tap_ok(map_fd(fd, PROT_READ | PROT_WRITE) == MAP_FAILED && errno == EACCES,
	       "read only unless one asks for more");
	tap_is(buffer_import(c, &b, fd, BYTES), 0, "and imported into KFD");
	drmCloseBufferHandle(render, h);
	p = map_fd(fd, PROT_READ);
	tap_ok(p != MAP_FAILED && copier_fill(c, b.va, 5, MIB) && p[MIB / 4 - 1] == 5 && !p[MIB / 4],
	       "where the GPU writes what the dma-buf shows");
	munmap((void *)p, BYTES);
	close(fd);
	buffer_free(c, &b);

	if (gem_create(render, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_VM_ALWAYS_VALID, &h) ||
	    gem_create(render, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_NO_CPU_ACCESS, &other))
		tap_bail("GEM_CREATE");
	tap_ok(drmPrimeHandleToFD(render, h, DRM_CLOEXEC, &fd) && errno == EPERM,
	       "what is to stay with its file is not exported");
	tap_is(drmPrimeHandleToFD(render, other, DRM_CLOEXEC | DRM_RDWR, &fd), 0,
	       "what the CPU is not to see is");
	tap_ok(map_fd(fd, PROT_READ) == MAP_FAILED && errno == EPERM, "but not mapped");
	close(fd);
	drmCloseBufferHandle(render, h);
	drmCloseBufferHandle(render, other);
	tap_ok(copier_given_back(c, before), "all is given back again");
}

/* Made without WRITABLE: who has the file cannot write either. */
static void test_read_only(struct copier *c)
{
	struct buffer b;
	int fd;

	if (buffer_alloc(c, &b, BYTES, KFD_IOC_ALLOC_MEM_FLAGS_GTT))
		tap_bail("GTT");
	fd = buffer_export(c, &b);
	tap_ok(map_fd(fd, PROT_READ | PROT_WRITE) == MAP_FAILED && errno == EACCES,
	       "a dma-buf of read-only memory is not mapped for writing");
	tap_ok(map_fd(fd, PROT_READ) != MAP_FAILED, "but for reading");
	close(fd);
	buffer_free(c, &b);
}

struct racer {
	struct copier *c;
	const struct buffer *b;
	unsigned int rounds;
	unsigned int failed;
};

static void *export_and_close(void *arg)
{
	struct racer *r = arg;
	unsigned int i;
	int fd;

	for (i = 0; i < r->rounds; i++) {
		fd = buffer_export(r->c, r->b);
		r->failed += fd < 0;
		close(fd);
	}
	return NULL;
}

static void *import_and_close(void *arg)
{
	struct racer *r = arg;
	unsigned int i;
	uint32_t h;
	int fd;

	for (i = 0; i < r->rounds; i++) {
		fd = buffer_export(r->c, r->b);
		if (drmPrimeFDToHandle(r->c->r.p.render, fd, &h))
			r->failed++;
		close(fd);
		drmCloseBufferHandle(r->c->r.p.render, h);
	}
	return NULL;
}

/* The last reference of one dma-buf goes while the next is asked for. */
static void test_race(struct copier *c)
{
	int64_t before = (int64_t)copier_available(c);
	struct racer r[3];
	struct buffer b;
	pthread_t t[3];
	unsigned int i, failed = 0;

	if (buffer_alloc(c, &b, BYTES, VRAM))
		tap_bail("VRAM");
	for (i = 0; i < 3; i++) {
		r[i] = (struct racer) { .c = c, .b = &b, .rounds = scaled(20000, 2000) };
		if (pthread_create(&t[i], NULL, i ? export_and_close : import_and_close, &r[i]))
			tap_bail("pthread_create");
	}
	for (i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		failed += r[i].failed;
	}
	tap_is(failed, 0, "three threads export, import and close %u times", r[0].rounds);
	tap_is(buffer_free(c, &b), 0, "freed");
	tap_ok(copier_given_back(c, before), "nothing is lost");
}

/* Whether the kernel cannot read there, as there is nothing. */
static bool dead(const volatile void *p)
{
	int fds[2];
	bool ret;

	if (pipe2(fds, O_CLOEXEC))
		tap_bail("pipe: %m");
	ret = write(fds[1], (const void *)p, 4) != 4;
	close(fds[0]);
	close(fds[1]);
	return ret;
}

/* The GPU goes while its memory is in other hands, and these go after it has come back. */
static void without_gpu(void *arg)
{
	struct kfd_ioctl_get_dmabuf_info_args info = { 0 };
	volatile uint32_t *vram, *gtt;
	struct copier c;
	struct buffer v, g;
	int vfd, gfd;
	uint32_t h;

	(void)arg;
	copier_open(&c);
	if (buffer_alloc(&c, &v, BYTES, VRAM) || buffer_alloc(&c, &g, BYTES, GTT))
		tap_bail("memory");
	vfd = buffer_export(&c, &v);
	gfd = buffer_export(&c, &g);
	vram = map_fd(vfd, PROT_READ | PROT_WRITE);
	gtt = map_fd(gfd, PROT_READ | PROT_WRITE);
	if (vram == MAP_FAILED || gtt == MAP_FAILED || drmPrimeFDToHandle(c.r.p.render, vfd, &h))
		tap_bail("mmap or import");
	fill(vram, 1);
	fill(gtt, 2);
	tap_ok(gpu_unbind(), "unbind with dma-bufs in use");
	tap_ok(dead(vram), "the dma-buf of VRAM shows nothing any more");
	tap_is(wrong_words(gtt, 2), 0, "that of system memory shows what was there");
	info.dmabuf_fd = (uint32_t)gfd;
	tap_is(kfd_call(c.r.p.kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), 0, "and INFO still tells");
	if (!fd_send(pair[1], vfd) || !fd_send(pair[1], gfd))
		tap_bail("sendmsg");
}

static void test_unbind(void)
{
	volatile uint32_t *gtt;
	int vfd, gfd;

	if (!gpu_sysfs_find()) {
		tap_ok(false, "the GPU in sysfs");
		return;
	}
	tap_child("a process loses its GPU", without_gpu, NULL);
	vfd = fd_receive(pair[0]);
	gfd = fd_receive(pair[0]);
	gtt = map_fd(gfd, PROT_READ);
	tap_ok(gtt != MAP_FAILED && !wrong_words(gtt, 2), "and ends; its system memory is with its heir");
	tap_ok(map_fd(vfd, PROT_READ) == MAP_FAILED || dead(map_fd(vfd, PROT_READ)), "its VRAM is nowhere");
	tap_ok(gpu_bind(), "the GPU comes back");
	tap_ok(driver_references() > 0, "the module is in use by the dma-bufs");
	tap_is(wrong_words(gtt, 2), 0, "which are as they were");
	munmap((void *)gtt, BYTES);
	close(vfd);
	close(gfd);
}

int main(void)
{
	struct copier c;

	tap_begin(600);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		tap_bail("socketpair: %m");
	test_unbind();
	copier_open(&c);
	test_refused(&c);
	test_info(&c, VRAM, KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC);
	test_info(&c, GTT, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
	test_first_owner_ends(&c, VRAM, "VRAM");
	test_first_owner_ends(&c, GTT, "GTT");
	test_two_processes(&c);
	test_prime(&c);
	test_read_only(&c);
	test_race(&c);
	copier_close(&c);
	return tap_done();
}
