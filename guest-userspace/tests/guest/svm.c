// SPDX-License-Identifier: MIT
/*
 * Plain memory under the SVM interface: the GPU reads and writes what malloc() and mmap()
 * return, at the addresses the CPU uses, through fork, mprotect, madvise and munmap; parts
 * that are unmapped are no range any more. A process that faulted gets no work done any
 * more, so each such case is a child of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "driver.h"
#include "gem_bo.h"
#include "gpu.h"
#include "kfd_event.h"
#include "queue.h"
#include "sdma_queue.h"
#include "svm.h"
#include "tap.h"
#include "user.h"

#define LONG_MS	60000u
#define PAGES	16u
#define SIZE	(PAGES * GPU_PAGE)

static volatile uint64_t *word(char *mem, unsigned int page)
{
	return (volatile uint64_t *)(mem + (size_t)page * GPU_PAGE);
}

static bool stores(struct user *u, volatile uint64_t *at, uint64_t value)
{
	return user_store(u, at, value) && *at == value;
}

static bool loads(struct user *u, volatile uint64_t *at, uint64_t want)
{
	uint64_t value = ~want;

	if (!user_load(u, at, &value) || value != want)
		tap_diag("the GPU loads 0x%llx, not 0x%llx", (unsigned long long)value,
			 (unsigned long long)want);
	return value == want;
}

/* Pages the GPU has access to. */
static char *shared_pages(struct user *u, unsigned int n)
{
	char *mem = user_pages((size_t)n * GPU_PAGE);

	svm_share(&u->r.p, mem, (size_t)n * GPU_PAGE);
	return mem;
}

/* A counter, after the driver has taken note of what was unmapped. */
static int64_t count(struct user *u, const char *name)
{
	static char *page;

	if (!page)
		page = user_pages(GPU_PAGE);
	svm_value(&u->r.p, page, GPU_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY);
	return svm_counter(name);
}

static void test_heap(struct user *u)
{
	int64_t acquired = vmstat("nr_foll_pin_acquired"), released = vmstat("nr_foll_pin_released");
	size_t bytes = 5 * 1000 * 1000, i, wrong = 0;
	unsigned char *src = malloc(bytes + 2 * GPU_PAGE), *dst = malloc(bytes + 2 * GPU_PAGE);
	const uintptr_t in_page = GPU_PAGE - 1;

	if (!src || !dst)
		tap_bail("malloc: %m");
	for (i = 0; i < bytes; i++)
		src[i] = (unsigned char)(i * 7 + i / 251);
	/* The destination has never been touched. */
	svm_share(&u->r.p, src - ((uintptr_t)src & in_page), (bytes + 2 * in_page) & ~in_page);
	svm_share(&u->r.p, dst - ((uintptr_t)dst & in_page), (bytes + 2 * in_page) & ~in_page);
	for (i = 0; i < bytes; i += 1000 * 1000) {
		raw_put_copy(&u->sdma, dst + i, src + i, 1000 * 1000);
		raw_put_write(&u->sdma, u->sdma.word, ++u->seq);
		raw_submit(&u->sdma);
		if (!wait_word(u->sdma.word, u->seq, LONG_MS))
			tap_bail("a copy does not end");
	}
	for (i = 0; i < bytes; i++)
		wrong += src[i] != dst[i];
	tap_is((int64_t)wrong, 0, "heap: %zu bytes of malloc() copied by SDMA", bytes);
	tap_is(vmstat("nr_foll_pin_acquired") - acquired, vmstat("nr_foll_pin_released") - released,
	       "heap: no page is pinned");
	free(src);
	free(dst);
}

static void test_stack(struct user *u)
{
	volatile uint64_t local = 1;
	void *page = (void *)(gpu_va(&local) & ~(uint64_t)(GPU_PAGE - 1));

	svm_share(&u->r.p, page, GPU_PAGE);
	tap_ok(stores(u, &local, 2), "stack: a variable is written by the GPU");
	tap_is(svm_set_one(&u->r.p, page, GPU_PAGE, SVM_ATTR(NO_ACCESS, u->r.p.gpu_id)), 0,
	       "stack: and not any more");
}

static void test_fork(struct user *u)
{
	char *mem = shared_pages(u, PAGES);
	int64_t evicted;
	int go[2], status = -1;
	char byte = 0;
	pid_t pid;

	tap_ok(stores(u, word(mem, 3), 1), "fork: the GPU stores before it");
	user_settle();
	evicted = user_counter("evictions");
	if (pipe(go))
		tap_bail("pipe: %m");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(*word(mem, 3) != 1);
	}
	tap_is(user_counter("evictions") - evicted, 1, "fork: takes the queues off once");
	*word(mem, 3) = 2;
	tap_ok(loads(u, word(mem, 3), 2), "fork: the GPU sees what the parent stores after it");
	tap_ok(stores(u, word(mem, 3) + 1, 3), "fork: and the parent what the GPU stores");
	if (write(go[1], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid)
		tap_bail("the child: %m");
	tap_is(status, 0, "fork: the child has its memory as it was");
	tap_ok(user_settle(), "fork: queues are put back");
	close(go[0]);
	close(go[1]);
	munmap(mem, SIZE);
}

static void test_madvise(struct user *u)
{
	char *mem = shared_pages(u, PAGES);

	*word(mem, 1) = 7;
	madvise(mem, 8 * GPU_PAGE, MADV_DONTNEED);
	tap_ok(loads(u, word(mem, 1), 0), "DONTNEED: the GPU sees zeroes");
	tap_ok(stores(u, word(mem, 1), 8), "DONTNEED: and the CPU what it stores then");
	tap_ok(loads(u, word(mem, 9), 0x5a5a5a5a5a5a5a5a), "DONTNEED: the other half is as it was");
	mprotect(mem, SIZE, PROT_READ);
	tap_ok(loads(u, word(mem, 1), 8), "mprotect: the GPU reads what may be read");
	mprotect(mem, SIZE, PROT_NONE);
	tap_ok(user_settle(), "mprotect: queues are put back without what is out of reach");
	tap_is(count(u, "present"), 0, "mprotect: none of which is there");
	mprotect(mem, SIZE, PROT_READ | PROT_WRITE);
	tap_ok(stores(u, word(mem, 1), 9), "mprotect: and it writes what may be written again");
	munmap(mem, SIZE);
}

static void test_munmap(struct user *u)
{
	int64_t ranges = count(u, "ranges"), others = count(u, "pages");
	char *mem = shared_pages(u, PAGES), *hole = mem + 4 * GPU_PAGE, *again;
	int64_t evicted;

	tap_ok(stores(u, word(mem, 4), 1), "munmap: the GPU stores before it");
	user_settle();
	evicted = user_counter("evictions");
	munmap(hole, 4 * GPU_PAGE);
	tap_ok(stores(u, word(mem, 3), 2) && stores(u, word(mem, 8), 3),
	       "munmap: the GPU uses what is before and behind the hole");
	tap_is(user_counter("evictions") - evicted, 0, "munmap: no queue was taken off for it");
	tap_is(svm_access(&u->r.p, mem, 4 * GPU_PAGE), KFD_IOCTL_SVM_ATTR_ACCESS,
	       "munmap: before the hole there is access");
	tap_is(count(u, "ranges") - ranges, 2, "munmap: two ranges are left");
	tap_is(count(u, "pages") - others, PAGES - 4, "munmap: without the hole");
	tap_is(count(u, "present"), PAGES - 4, "munmap: of which every page is there");
	again = mmap(hole, 4 * GPU_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	tap_is(svm_access(&u->r.p, again, 4 * GPU_PAGE), KFD_IOCTL_SVM_ATTR_NO_ACCESS,
	       "munmap: new memory there is no range");
	svm_share(&u->r.p, again, 4 * GPU_PAGE);
	tap_ok(stores(u, word(again, 1), 4), "munmap: before it is made one");
	munmap(mem, SIZE);
}

static int gem_va(const struct gem_bo *g, uint32_t op, const void *at)
{
	struct drm_amdgpu_gem_va a = {
		.handle = g->handle,
		.operation = op,
		.flags = AMDGPU_VM_PAGE_READABLE,
		.va_address = gpu_va(at),
		.map_size = SIZE,
	};

	return kfd_call(g->render, DRM_IOCTL_AMDGPU_GEM_VA, &a);
}

/* The driver takes note of what was unmapped a little later, but GEM_VA does not find it. */
static void test_gem_va(struct user *u)
{
	static const uint32_t ops[] = { AMDGPU_VA_OP_MAP, AMDGPU_VA_OP_REPLACE };
	unsigned int i, refused = 0;
	struct gem_bo g;
	char *mem;

	if (gem_create(&g, u->r.p.render, SIZE, AMDGPU_GEM_DOMAIN_GTT))
		tap_bail("GEM_CREATE");
	mem = shared_pages(u, PAGES);
	tap_is(gem_va(&g, AMDGPU_VA_OP_MAP, mem), -EINVAL, "GEM_VA: MAP over a range");
	tap_is(gem_va(&g, AMDGPU_VA_OP_REPLACE, mem), -EINVAL, "GEM_VA: REPLACE neither");
	munmap(mem, SIZE);
	for (i = 0; i < 40; i++) {
		mem = shared_pages(u, PAGES);
		munmap(mem, SIZE);
		refused += gem_va(&g, ops[i % 2], mem) != 0;
		gem_va(&g, AMDGPU_VA_OP_UNMAP, mem);
	}
	tap_is(refused, 0, "GEM_VA: but where it was, right behind munmap, 40 times");
	gem_free(&g);
}

static void test_mremap(struct user *u)
{
	int64_t ranges = count(u, "ranges");
	char *mem = shared_pages(u, PAGES), *to = kfd_reserve_va(SIZE);

	*word(mem, 2) = 21;
	if (mremap(mem, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		tap_bail("mremap: %m");
	tap_is(svm_access(&u->r.p, to, SIZE), KFD_IOCTL_SVM_ATTR_NO_ACCESS,
	       "mremap: attributes do not move with the memory");
	tap_is(count(u, "ranges"), ranges, "mremap: where it was is no range any more");
	svm_share(&u->r.p, to, SIZE);
	tap_ok(loads(u, word(to, 2), 21), "mremap: the GPU is given access to where it is now");
	munmap(to, SIZE);
}

/* What comes back has other pages: the GPU does not see the old ones. */
static void test_many(struct user *u)
{
	const unsigned int n = scaled(8192, 2048);
	int64_t ranges = count(u, "ranges"), others = count(u, "present");
	char *mem = shared_pages(u, n);
	unsigned int i, wrong = 0, every = n / 64;

	for (i = 0; i < n; i += 2)
		wrong += svm_set_one(&u->r.p, mem + (size_t)i * GPU_PAGE, GPU_PAGE,
				     SVM_ATTR(SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_EXEC)) != 0;
	tap_is(wrong, 0, "many: every other page of %u gets another flag", n);
	tap_ok(count(u, "ranges") - ranges >= (int64_t)n - 2, "many: %lld ranges",
	       (long long)count(u, "ranges"));
	tap_is(count(u, "present") - others, n, "many: all of whose pages are there");
	for (i = 0; i < n; i += every)
		wrong += !stores(u, word(mem, i), i + 1) || !stores(u, word(mem, i + 1), i + 2);
	tap_is(wrong, 0, "many: the GPU writes on both sides of 64 borders");
	madvise(mem, (size_t)n * GPU_PAGE, MADV_DONTNEED);
	for (i = 0; i < n; i += every)
		wrong += !loads(u, word(mem, i), 0);
	tap_is(wrong, 0, "many: and reads zeroes when all of them are new");
	tap_is(svm_set_one(&u->r.p, mem, (size_t)n * GPU_PAGE, SVM_ATTR(GRANULARITY, 4)), 0,
	       "many: all get an attribute at once");
	tap_is(svm_value(&u->r.p, mem, (size_t)n * GPU_PAGE, KFD_IOCTL_SVM_ATTR_GRANULARITY), 4,
	       "many: and have it");
	munmap(mem, (size_t)n * GPU_PAGE);
	tap_is(count(u, "ranges"), ranges, "many: none is left");
}

/* One page of a file of one, one behind its end. */
static void test_file(struct user *u)
{
	char path[] = "/tmp/svm-XXXXXX", *mem, *ro;
	int fd = mkstemp(path);
	uint64_t on_disk = 0;

	if (fd < 0 || unlink(path) || ftruncate(fd, GPU_PAGE))
		tap_bail("a file: %m");
	mem = mmap(NULL, 2 * GPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ro = mmap(NULL, GPU_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED || ro == MAP_FAILED)
		tap_bail("mmap: %m");
	tap_is(svm_set_one(&u->r.p, mem, 2 * GPU_PAGE, SVM_ATTR(ACCESS, u->r.p.gpu_id)), -EFAULT,
	       "file: behind its end there is no memory");
	tap_ok(stores(u, word(mem, 0), 31), "file: what there is the GPU writes");
	tap_ok(pread(fd, &on_disk, 8, 0) == 8 && on_disk == 31, "file: where read() finds it");
	svm_share(&u->r.p, ro, GPU_PAGE);
	tap_ok(loads(u, word(ro, 0), 31), "file: a mapping that is read-only may be read");
	if (ftruncate(fd, 2 * GPU_PAGE))
		tap_bail("ftruncate: %m");
	svm_share(&u->r.p, mem, 2 * GPU_PAGE);
	tap_ok(stores(u, word(mem, 1), 32), "file: it has grown, and is asked for again");
	munmap(mem, 2 * GPU_PAGE);
	munmap(ro, GPU_PAGE);
	close(fd);
}

/* Flags change what the GPU may do with pages that are there. */
static void test_prefetch(struct user *u)
{
	const struct kfd_ioctl_svm_attribute attrs[] = {
		SVM_ATTR(ACCESS, u->r.p.gpu_id),
		SVM_ATTR(PREFETCH_LOC, u->r.p.gpu_id),
		SVM_ATTR(SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED),
	};
	char *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		tap_bail("mmap: %m");
	tap_is(svm_set(&u->r.p, mem, SIZE, attrs, 3), 0, "prefetch: to the GPU");
	tap_is(count(u, "present"), PAGES, "prefetch: memory that was never touched is there");
	tap_is(svm_value(&u->r.p, mem, SIZE, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC), u->r.p.gpu_id,
	       "prefetch: the location is what was set");
	tap_ok(stores(u, word(mem, 5), 41), "prefetch: both sides use it");
	munmap(mem, SIZE);
}

static void plain(void *arg)
{
	struct user u;

	(void)arg;
	user_open(&u);
	test_heap(&u);
	test_stack(&u);
	test_fork(&u);
	test_madvise(&u);
	test_munmap(&u);
	test_gem_va(&u);
	test_mremap(&u);
	test_file(&u);
	test_prefetch(&u);
	test_many(&u);
	tap_ok(user_settle(), "at the end queues are where they belong");
	tap_is(user_counter("evictions"), user_counter("restores"), "put back as often as taken off");
	user_close(&u);
}

/* A store to @at faults there. */
static void expect_fault(struct user *u, uint32_t event, volatile uint64_t *at, bool read_only,
			 const char *what)
{
	struct kfd_event_data data;

	user_store_async(u, at, 1);
	tap_ok(kfd_event_wait(&u->r.p, event, LONG_MS, &data), "%s: the GPU faults", what);
	tap_is((int64_t)data.memory_exception_data.va, (int64_t)gpu_va(at), "%s: at that page", what);
	tap_is(data.memory_exception_data.failure.ReadOnly, read_only, "%s: which is %s", what,
	       read_only ? "read-only" : "not there");
}

/* How a page comes to be out of reach. */
enum fault {
	FAULT_NEVER,
	FAULT_HOLE,
	FAULT_NEW,
	FAULT_NO_ACCESS,
	FAULT_MOVED,
	FAULT_GPU_RO,
	FAULT_PROTECTED,
	FAULT_KINDS,
};

static const char *const fault_names[] = {
	"no range", "unmapped", "unmapped and new", "no access any more", "moved", "flag GPU_RO",
	"mprotect",
};

static void faults(void *arg)
{
	enum fault kind = *(enum fault *)arg;
	char *mem = user_pages(SIZE), *page = mem + 5 * GPU_PAGE;
	uint32_t event;
	struct user u;

	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	if (kind != FAULT_NEVER) {
		svm_share(&u.r.p, mem, SIZE);
		tap_ok(stores(&u, word(mem, 5), 2), "%s: the GPU stores before it", fault_names[kind]);
	}
	switch (kind) {
	case FAULT_NEVER:
	case FAULT_KINDS:
		break;
	case FAULT_HOLE:
		munmap(page, GPU_PAGE);
		break;
	case FAULT_NEW:
		if (mmap(page, GPU_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
			tap_bail("mmap: %m");
		break;
	case FAULT_NO_ACCESS:
		svm_set_one(&u.r.p, page, GPU_PAGE, SVM_ATTR(NO_ACCESS, u.r.p.gpu_id));
		break;
	case FAULT_MOVED:
		if (mremap(page, GPU_PAGE, GPU_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   kfd_reserve_va(GPU_PAGE)) == MAP_FAILED)
			tap_bail("mremap: %m");
		break;
	case FAULT_GPU_RO:
		svm_set_one(&u.r.p, page, GPU_PAGE,
			    SVM_ATTR(SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO));
		tap_ok(loads(&u, word(mem, 5), 2), "%s: the GPU still reads", fault_names[kind]);
		break;
	case FAULT_PROTECTED:
		mprotect(page, GPU_PAGE, PROT_READ);
		tap_ok(loads(&u, word(mem, 5), 2), "%s: the GPU still reads", fault_names[kind]);
		break;
	}
	if (kind != FAULT_NEVER)
		tap_ok(stores(&u, word(mem, 4), 3) && stores(&u, word(mem, 6), 4),
		       "%s: pages beside it are written", fault_names[kind]);
	expect_fault(&u, event, word(mem, 5), kind == FAULT_GPU_RO || kind == FAULT_PROTECTED,
		     fault_names[kind]);
	user_close(&u);
}

/* Two processes have memory of their own at one address. */
static void two(void *arg)
{
	char *mem = user_pages(SIZE);
	int to[2], from[2], status = -1;
	struct user u;
	char byte = 0;
	pid_t pid;

	(void)arg;
	if (pipe(to) || pipe(from))
		tap_bail("pipe: %m");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	user_open(&u);
	svm_share(&u.r.p, mem, SIZE);
	if (!pid) {
		bool ok = stores(&u, word(mem, 0), 0xc);

		/* The parent stores its own there. */
		ok &= write(from[1], &byte, 1) == 1 && read(to[0], &byte, 1) == 1;
		ok &= loads(&u, word(mem, 0), 0xc) && *word(mem, 0) == 0xc;
		_exit(!ok);
	}
	if (read(from[0], &byte, 1) != 1)
		tap_bail("the child: %m");
	tap_ok(stores(&u, word(mem, 0), 0xa), "two: each stores at the same address");
	tap_ok(write(to[1], &byte, 1) == 1 && waitpid(pid, &status, 0) == pid && !status,
	       "two: and the child's is its own");
	tap_ok(loads(&u, word(mem, 0), 0xa), "two: as is the parent's");
	user_close(&u);
}

/*
 * By the thunk, whose host memory and save areas of queues then are plain memory, and which
 * registers nothing by address.
 */
static void by_thunk(void *arg)
{
	volatile uint64_t *mem;
	struct sdma_queue sq;
	struct queue q;
	struct gpu g;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&g) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	tap_ok(g.props.Capability.ui32.SVMAPISupported, "thunk: it knows that there is SVM");
	tap_is(queue_create(&q, &g, GPU_PAGE), HSAKMT_STATUS_SUCCESS, "thunk: a compute queue");
	tap_is(sdma_queue_create(&sq, &g, GPU_PAGE), HSAKMT_STATUS_SUCCESS, "thunk: an SDMA queue");
	mem = (volatile uint64_t *)user_pages(SIZE);
	tap_is(hsaKmtRegisterMemory((void *)mem, SIZE), HSAKMT_STATUS_SUCCESS, "thunk: memory registered");
	tap_is(hsaKmtMapMemoryToGPU((void *)mem, SIZE, NULL), HSAKMT_STATUS_SUCCESS, "thunk: and mapped");
	p = queue_reserve_wait(&q, PM4_WRITE64_DW, LONG_MS);
	if (!p)
		tap_bail("no room in the ring");
	queue_commit(&q, pm4_write64(p, gpu_va(mem), 51));
	queue_submit(&q);
	tap_ok(wait_word(mem, 51, LONG_MS), "thunk: the compute queue writes it");
	p = sdma_queue_reserve(&sq, SDMA_PKT_COPY_LINEAR_DW);
	sdma_queue_commit(&sq, sdma_copy(p, gpu_va(mem + 1), gpu_va(mem), 8));
	sdma_queue_submit(&sq);
	tap_ok(wait_word(mem + 1, 51, LONG_MS), "thunk: the SDMA queue copies it");
	tap_ok(svm_counter("present") >= (int64_t)PAGES, "thunk: as plain memory");
	queue_destroy(&q);
	sdma_queue_destroy(&sq);
	gpu_close();
}

/* bug 29, 31: ends in the midst of what it does to its memory. */
static void die(unsigned int how)
{
	struct user u;
	char *mem;

	user_open(&u);
	mem = shared_pages(&u, 256);
	user_store_async(&u, word(mem, 0), 1);
	if (how & 1)
		munmap(mem + GPU_PAGE, 100 * GPU_PAGE);
	else
		madvise(mem, 256 * GPU_PAGE, MADV_DONTNEED);
	if (how & 2)
		kill(getpid(), SIGKILL);
	_exit(0);
}

/* @before: references to the module when no process used it. */
static void test_deaths(int64_t before)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < 16; i++) {
		fflush(NULL);
		pid = fork();
		if (pid < 0)
			tap_bail("fork: %m");
		if (!pid)
			die(i);
		waitpid(pid, NULL, 0);
	}
	tap_ok(driver_let_go(before), "bug 29, 31: 16 processes end as memory is away, and nothing of them is left");
}

int main(void)
{
	const char *why_not;
	enum fault kind;
	int64_t before;

	tap_begin(300);
	why_not = svm_begin();
	if (why_not)
		tap_skip_all(why_not);
	before = driver_references();
	tap_child("plain memory", plain, NULL);
	for (kind = FAULT_NEVER; kind < FAULT_KINDS; kind++)
		tap_child(fault_names[kind], faults, &kind);
	tap_child("two processes", two, NULL);
	tap_child("thunk", by_thunk, NULL);
	test_deaths(before);
	svm_end();
	return tap_done();
}
