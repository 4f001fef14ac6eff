// SPDX-License-Identifier: MIT
/*
 * Registered memory that the process has taken away from itself, or may not write: the GPU
 * faults at exactly that page, the program goes on, and the driver does not look for what is
 * gone for ever. Also memory of files. A process that faulted gets no work done any more, so
 * each case is a child of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd_event.h"
#include "queue.h"
#include "tap.h"
#include "user.h"

#define LONG_MS	60000u
#define SIZE	(4 * GPU_PAGE)

/* Waits for the fault: where it was, 0 if there is none, and whether the page was read-only. */
static uint64_t fault_at(struct user *u, uint32_t event, bool *read_only)
{
	struct kfd_event_data data;

	if (!kfd_event_wait(&u->r.p, event, LONG_MS, &data))
		return 0;
	*read_only = data.memory_exception_data.failure.ReadOnly;
	return data.memory_exception_data.va;
}

static void expect_fault(struct user *u, uint32_t event, const struct range *g, size_t page,
			 bool read_only, const char *what)
{
	bool ro = !read_only;
	uint64_t va = fault_at(u, event, &ro);

	tap_is((int64_t)va, (int64_t)gpu_va(g->gpu + page * GPU_PAGE), "%s: a fault at exactly the page",
	       what);
	tap_is(ro, read_only, "%s: which is %s", what, read_only ? "read-only" : "not there");
}

static void unmapped(void *arg)
{
	struct range g, other;
	int64_t attempts;
	uint32_t event;
	struct user u;
	unsigned int i;
	bool ok = true;

	(void)arg;
	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	range_map(&other, &u, user_pages(SIZE), SIZE);
	tap_ok(user_store(&u, range_gpu(&g, 0), 1), "munmap: the GPU stores before it");
	munmap(g.cpu, SIZE);
	tap_ok(user_settle(), "munmap: the queues are put back");
	tap_is(user_counter("lost"), 1, "munmap: the range is lost");
	attempts = user_counter("attempts");
	tap_is(user_counter("retries"), 0, "munmap: nothing is tried again");
	for (i = 1; ok && i <= 200; i++)
		ok = user_store(&u, range_gpu(&other, 0), i) && *range_cpu(&other, 0) == i;
	tap_ok(ok, "munmap: the other range is used");
	tap_is(user_counter("attempts"), attempts, "munmap: and nobody looks for the lost one");
	madvise(other.cpu, SIZE, MADV_DONTNEED);
	tap_ok(user_sees(&u, &other, 0, 0), "munmap: the other range changes");
	tap_is(user_counter("attempts"), attempts + 1, "munmap: for which one look is enough");
	tap_is(user_counter("retries"), 0, "munmap: nothing is tried again");
	user_store_async(&u, range_gpu(&g, 2 * GPU_PAGE), 1);
	expect_fault(&u, event, &g, 2, false, "munmap");
	*range_cpu(&other, 0) = 3;
	tap_is((int64_t)*range_cpu(&other, 0), 3, "munmap: the program goes on");
	range_free(&g, &u);
	range_free(&other, &u);
	user_close(&u);
}

/* A hole makes it no memory at all: the range is one. */
static void hole(void *arg)
{
	uint32_t event;
	struct range g;
	struct user u;

	(void)arg;
	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	munmap(g.cpu + GPU_PAGE, GPU_PAGE);
	user_load_async(&u, range_gpu(&g, GPU_PAGE));
	expect_fault(&u, event, &g, 1, false, "hole");
	user_close(&u);
}

static void read_only(void *arg)
{
	uint32_t event;
	struct range g;
	struct user u;

	(void)arg;
	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	*range_cpu(&g, GPU_PAGE) = 1;
	mprotect(g.cpu, SIZE, PROT_READ);
	tap_ok(user_sees(&u, &g, GPU_PAGE, 1), "mprotect: what may be read is");
	user_store_async(&u, range_gpu(&g, GPU_PAGE), 2);
	expect_fault(&u, event, &g, 1, true, "mprotect");
	tap_is((int64_t)*range_cpu(&g, GPU_PAGE), 1, "mprotect: nothing is stored");
	user_close(&u);
}

static void no_access(void *arg)
{
	uint32_t event;
	struct range g;
	struct user u;

	(void)arg;
	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	mprotect(g.cpu, SIZE, PROT_NONE);
	user_load_async(&u, range_gpu(&g, 3 * GPU_PAGE));
	expect_fault(&u, event, &g, 3, false, "PROT_NONE");
	tap_is(user_counter("retries"), 0, "PROT_NONE: nothing is tried again");
	user_close(&u);
}

static int file_of(size_t size, uint64_t word)
{
	int fd = memfd_create("vkfd", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size) ||
	    pwrite(fd, &word, sizeof(word), GPU_PAGE) != (ssize_t)sizeof(word))
		tap_bail("no file: %m");
	return fd;
}

static void *map_file(int fd, int prot, int flags)
{
	void *mem = mmap(NULL, SIZE, prot, flags, fd, 0);

	if (mem == MAP_FAILED)
		tap_bail("mmap: %m");
	return mem;
}

static void file_read_only(void *arg)
{
	int fd = file_of(SIZE, 31), flags = *(int *)arg;
	const char *what = flags == MAP_SHARED ? "shared file" : "private file";
	uint32_t event;
	struct range g;
	struct user u;

	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&g, &u, map_file(fd, PROT_READ, flags), SIZE);
	tap_ok(user_sees(&u, &g, GPU_PAGE, 31), "%s, read-only: the GPU reads it", what);
	user_store_async(&u, range_gpu(&g, GPU_PAGE), 32);
	expect_fault(&u, event, &g, 1, true, what);
	user_close(&u);
}

static void file_shared(void *arg)
{
	int fd = file_of(SIZE, 41);
	uint64_t word = 0;
	uint32_t event;
	struct range g;
	struct user u;

	(void)arg;
	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&g, &u, map_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED), SIZE);
	tap_ok(user_sees(&u, &g, GPU_PAGE, 41), "file: the GPU reads it");
	tap_ok(user_store(&u, range_gpu(&g, 2 * GPU_PAGE), 42) &&
	       pread(fd, &word, sizeof(word), 2 * GPU_PAGE) == (ssize_t)sizeof(word) && word == 42,
	       "file: what it stores is in the file");
	word = 43;
	tap_ok(pwrite(fd, &word, sizeof(word), 0) == (ssize_t)sizeof(word) && user_sees(&u, &g, 0, 43),
	       "file: what is written into the file it reads");
	if (ftruncate(fd, GPU_PAGE))
		tap_bail("ftruncate: %m");
	user_load_async(&u, range_gpu(&g, GPU_PAGE));
	expect_fault(&u, event, &g, 1, false, "file that was cut off");
	user_close(&u);
}

/* A private mapping is the file's until somebody writes: the GPU is somebody. */
static void file_private(void *arg)
{
	int fd = file_of(SIZE, 51);
	uint64_t word = 0;
	struct range g;
	struct user u;

	(void)arg;
	user_open(&u);
	range_map(&g, &u, map_file(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE), SIZE);
	tap_ok(user_sees(&u, &g, GPU_PAGE, 51), "private file: the GPU reads it");
	tap_ok(user_store(&u, range_gpu(&g, GPU_PAGE), 52) && *range_cpu(&g, GPU_PAGE) == 52,
	       "private file: what it stores the process sees");
	tap_ok(pread(fd, &word, sizeof(word), GPU_PAGE) == (ssize_t)sizeof(word) && word == 51,
	       "private file: and the file does not");
	range_free(&g, &u);
	user_close(&u);
}

static void refused(void *arg)
{
	struct range g;
	struct user u;
	char *mem;

	(void)arg;
	user_open(&u);
	mem = user_pages(SIZE);
	munmap(mem + GPU_PAGE, GPU_PAGE);
	tap_is(range_try(&g, &u, mem, SIZE, USER_FLAGS), -EFAULT, "a range with a hole is refused");
	mprotect(mem, GPU_PAGE, PROT_NONE);
	tap_is(range_try(&g, &u, mem, GPU_PAGE, USER_FLAGS), -EFAULT, "and one without access");
	tap_is(range_try(&g, &u, (void *)u.r.doorbell, GPU_PAGE, USER_FLAGS), -EFAULT,
	       "and the registers of a device");
	tap_is(user_counter("ranges"), 0, "none of them is left registered");
	user_close(&u);
}

int main(void)
{
	int shared = MAP_SHARED, private = MAP_PRIVATE;

	tap_begin(600);
	tap_child("munmap", unmapped, NULL);
	tap_child("hole", hole, NULL);
	tap_child("mprotect", read_only, NULL);
	tap_child("PROT_NONE", no_access, NULL);
	tap_child("shared file, read-only", file_read_only, &shared);
	tap_child("private file, read-only", file_read_only, &private);
	tap_child("file", file_shared, NULL);
	tap_child("private file", file_private, NULL);
	tap_child("refused", refused, NULL);
	return tap_done();
}
