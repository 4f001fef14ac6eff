// SPDX-License-Identifier: MIT
/*
 * Memory shared by handle, as ROCr does it: by the library's calls between two processes,
 * and by raw ioctls for how long a handle is good and for whom.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vkfd/kfd_ipc.h>

#include "copier.h"
#include "driver.h"
#include "gpu.h"
#include "pm4.h"
#include "sdma_queue.h"
#include "tap.h"

#define MIB	(1u << 20)
#define BYTES	(4 * MIB)
#define WORDS	(BYTES / 4)
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | RW)
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)
#define FLAGS	0x12345678u

static int share(struct copier *c, const struct buffer *b, uint32_t flags, uint32_t key[4])
{
	struct kfd_ioctl_ipc_export_handle_args a = {
		.handle = b->handle,
		.gpu_id = c->r.p.gpu_id,
		.flags = flags,
	};
	int err = kfd_call(c->r.p.kfd, AMDKFD_IOC_IPC_EXPORT_HANDLE, &a);

	if (!err)
		memcpy(key, a.share_handle, sizeof(a.share_handle));
	return err;
}

static int import(struct copier *c, struct buffer *b, const uint32_t key[4], uint32_t *flags)
{
	struct kfd_ioctl_ipc_import_handle_args a = { .gpu_id = c->r.p.gpu_id };
	int err;

	*b = (struct buffer) { .va = gpu_va(kfd_reserve_va(BYTES)), .size = BYTES };
	a.va_addr = b->va;
	memcpy(a.share_handle, key, sizeof(a.share_handle));
	err = kfd_call(c->r.p.kfd, AMDKFD_IOC_IPC_IMPORT_HANDLE, &a);
	if (flags)
		*flags = a.flags;
	if (!err) {
		b->handle = a.handle;
		b->offset = a.mmap_offset;
		err = kfd_map(&c->r.p, b->handle);
	}
	if (err)
		buffer_free(c, b);
	return err;
}

static void test_refused(struct copier *c)
{
	struct kfd_ioctl_ipc_import_handle_args i = { .gpu_id = c->r.p.gpu_id ^ 1 };
	struct kfd_ioctl_ipc_export_handle_args e = { 0 };
	void *page = mmap(NULL, 2 * GPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t key[4] = { 0 }, wrong[4];
	struct buffer b, other = { 0 };
	unsigned int bit;

	tap_is(import(c, &b, key, NULL), -EINVAL, "no handle");
	if (kfd_alloc(&c->r.p, gpu_va(page), GPU_PAGE, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | RW,
		      &other.handle, NULL))
		tap_bail("user memory");
	tap_is(share(c, &other, 0, key), -EPERM, "the program's own memory is not shared");
	kfd_free(&c->r.p, other.handle);
	tap_is(share(c, &other, 0, key), -EINVAL, "nor what was freed");
	if (kfd_alloc(&c->r.p, gpu_va(page), 2 * GPU_PAGE, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | RW,
		      &other.handle, NULL))
		tap_bail("doorbells");
	tap_is(share(c, &other, 0, key), -EPERM, "nor doorbells");
	kfd_free(&c->r.p, other.handle);

	if (buffer_alloc(c, &b, BYTES, VRAM))
		tap_bail("VRAM");
	e.handle = b.handle;
	e.gpu_id = c->r.p.gpu_id ^ 1;
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_IPC_EXPORT_HANDLE, &e), -EINVAL, "another GPU than the memory's");
	tap_is(share(c, &b, 0, key), 0, "VRAM is shared");
	memcpy(i.share_handle, key, sizeof(key));
	tap_is(kfd_call(c->r.p.kfd, AMDKFD_IOC_IPC_IMPORT_HANDLE, &i), -EINVAL, "import on an unknown GPU");
	for (bit = 0; bit < 128; bit++) {
		memcpy(wrong, key, sizeof(key));
		wrong[bit / 32] ^= 1u << bit % 32;
		if (import(c, &other, wrong, NULL) != -EINVAL)
			break;
	}
	tap_is(bit, 128, "a handle with one wrong bit is none, whichever it is");
	buffer_free(c, &b);
	munmap(page, 2 * GPU_PAGE);
}

/* Good while somebody has the memory by it, the first or another. */
static void test_lifetime(struct copier *c)
{
	int64_t before = (int64_t)copier_available(c);
	uint32_t key[4], again[4], flags = 0;
	struct buffer a, b, d;
	volatile uint32_t *p;

	if (buffer_alloc(c, &a, BYTES, VRAM) || buffer_alloc(c, &d, BYTES, VRAM))
		tap_bail("VRAM");
	tap_is(share(c, &a, FLAGS, key), 0, "shared");
	tap_is(share(c, &a, 1, again), 0, "and again");
	tap_ok(!memcmp(key, again, sizeof(key)), "by the same handle");
	tap_is(share(c, &d, 2, again), 0, "other memory");
	tap_ok(memcmp(key, again, sizeof(key)), "by another");
	buffer_free(c, &d);
	tap_is(import(c, &d, again, NULL), -EINVAL, "which ends with it");

	tap_is(import(c, &b, key, &flags), 0, "imported");
	tap_is(flags, FLAGS, "with the flags of the first export");
	tap_is(share(c, &b, 3, again), 0, "what is imported is shared");
	tap_ok(!memcmp(key, again, sizeof(key)), "by the same handle, too");
	p = buffer_map(c, &b);
	tap_ok(copier_fill(c, a.va, 41, MIB) && p[MIB / 4 - 1] == 41 && !p[MIB / 4],
	       "it is the same memory, for GPU and CPU");
	tap_is(buffer_free(c, &a), 0, "the first handle is freed");
	tap_is(import(c, &d, key, NULL), 0, "the share handle is good as long as there is another");
	tap_ok(copier_fill(c, d.va, 42, GPU_PAGE) && p[0] == 42, "for the same memory");
	tap_is(kfd_unmap(&c->r.p, d.handle), 0, "unmapped");
	tap_is(kfd_free(&c->r.p, d.handle), 0, "freed");
	tap_is((int64_t)copier_available(c), before - BYTES, "the memory is still there");
	buffer_free(c, &b);
	tap_is(import(c, &d, key, NULL), -EINVAL, "with the last, the handle ends");
	tap_ok(copier_given_back(c, before), "and the memory");
}

struct exporter {
	uint32_t flags;
	int out[2];
	int in[2];
};

static void exporter(void *arg)
{
	struct exporter *e = arg;
	struct copier c;
	struct buffer b;
	uint32_t key[4], i, *p;
	char byte;

	copier_open(&c);
	if (buffer_alloc(&c, &b, BYTES, e->flags) || share(&c, &b, FLAGS, key))
		tap_bail("memory");
	p = buffer_map(&c, &b);
	for (i = 0; i < WORDS; i++)
		p[i] = i * 3;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (write(e->out[1], key, sizeof(key)) != sizeof(key) || read(e->in[0], &byte, 1) != 1)
		tap_bail("pipe: %m");
	tap_is((int64_t)*(volatile uint32_t *)p, 77, "the exporter sees what the importer's queue wrote");
	/* All of it is left to the end of the process. */
}

static void importer(void *arg)
{
	struct exporter *e = arg;
	uint32_t key[4], flags = 0, i, wrong = 0;
	volatile uint32_t *p;
	struct buffer b, own;
	struct copier c;

	copier_open(&c);
	if (read(e->out[0], key, sizeof(key)) != sizeof(key))
		tap_bail("pipe: %m");
	tap_is(import(&c, &b, key, &flags), 0, "another process imports");
	tap_is(flags, FLAGS, "with the flags");
	if (buffer_alloc(&c, &own, BYTES, GTT))
		tap_bail("GTT");
	p = buffer_map(&c, &own);
	tap_ok(copier_copy(&c, own.va, b.va, BYTES), "its queue copies");
	for (i = 0; i < WORDS; i++)
		wrong += p[i] != i * 3;
	tap_is(wrong, 0, "what the exporter stored");
	tap_ok(copier_fill(&c, b.va, 77, 4), "and writes");
	if (write(e->in[1], "", 1) != 1)
		tap_bail("pipe: %m");
}

static void test_processes(struct copier *c, uint32_t flags)
{
	int64_t before = (int64_t)copier_available(c);
	struct exporter e = { .flags = flags };
	pid_t pid;

	if (pipe(e.out) || pipe(e.in))
		tap_bail("pipe: %m");
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		importer(&e);
		_exit(0);
	}
	tap_child("exporter", exporter, &e);
	close(e.out[0]);
	close(e.out[1]);
	close(e.in[0]);
	close(e.in[1]);
	tap_ok(copier_given_back(c, before), "both end, nothing is lost");
}

/* The library's calls. Upstream's keeps the parent's state after a fork until released. */
static void library_child(void *arg)
{
	HsaSharedMemoryHandle *handle = arg;
	uint32_t *mem, *own, i, wrong = 0;
	HSAuint64 size = 0, va = 0;
	struct sdma_queue q;
	struct gpu gpu;
	void *addr = NULL;

	gpu_close();
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    sdma_queue_create(&q, &gpu, 65536) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU in the child");
	own = mem_alloc(&gpu, MEM_GTT, BYTES);
	tap_is(hsaKmtRegisterSharedHandle((const HsaSharedMemoryHandle *)handle, &addr, &size), HSAKMT_STATUS_SUCCESS,
	       "hsaKmtRegisterSharedHandle");
	tap_is((int64_t)size, BYTES, "its size");
	tap_is(hsaKmtMapMemoryToGPU(addr, size, &va), HSAKMT_STATUS_SUCCESS, "mapped");
	mem = addr;
	if (!own || !mem)
		tap_bail("memory");
	sdma_queue_commit(&q, sdma_copy(sdma_queue_reserve(&q, SDMA_PKT_COPY_LINEAR_DW), gpu_va(own),
					gpu_va(mem), BYTES));
	sdma_queue_commit(&q, sdma_write32(sdma_queue_reserve(&q, SDMA_PKT_WRITE_DW + 1), gpu_va(mem), 99));
	sdma_queue_submit(&q);
	tap_ok(sdma_queue_wait_idle(&q, COPIER_MS), "copied");
	for (i = 0; i < WORDS; i++)
		wrong += ((volatile uint32_t *)own)[i] != i + 5;
	tap_is(wrong, 0, "it is what the parent stored");
	tap_is(hsaKmtUnmapMemoryToGPU(addr), HSAKMT_STATUS_SUCCESS, "unmapped");
	tap_is(hsaKmtDeregisterMemory(addr), HSAKMT_STATUS_SUCCESS, "deregistered");
	sdma_queue_destroy(&q);
	gpu_close();
}

static void library(void *arg)
{
	HsaSharedMemoryHandle handle;
	struct gpu gpu;
	uint32_t *mem, i;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	mem = mem_alloc(&gpu, MEM_VRAM, BYTES);
	if (!mem)
		tap_bail("VRAM");
	for (i = 0; i < WORDS; i++)
		mem[i] = i + 5;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	tap_is(hsaKmtShareMemory(mem, BYTES, &handle), HSAKMT_STATUS_SUCCESS, "hsaKmtShareMemory");
	tap_child("library", library_child, &handle);
	tap_is(*(volatile uint32_t *)mem, 99, "the child's queue wrote to the parent's memory");
	tap_is(mem_free(mem, BYTES), HSAKMT_STATUS_SUCCESS, "freed");
	gpu_close();
}

int main(void)
{
	struct copier c;

	tap_begin(600);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	tap_child("library", library, NULL);
	copier_open(&c);
	test_refused(&c);
	test_lifetime(&c);
	test_processes(&c, VRAM);
	test_processes(&c, GTT);
	copier_close(&c);
	return tap_done();
}
