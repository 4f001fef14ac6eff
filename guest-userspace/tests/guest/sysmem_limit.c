// SPDX-License-Identifier: MIT
/*
 * How much of the program's memory GPUs may have: KFD's limit for all processes, which leaves
 * the system enough to go on. The same pages are registered over and over; every registration
 * counts, so that this takes little memory. Raw ioctls.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "tap.h"

#define MIB	(1ull << 20)
#define CHUNK	(16 * MIB)
/* What others may have registered, and what the limit is rounded by. */
#define SLACK	(2 * CHUNK)
#define FLAGS	(KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
		 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)

static struct kfd_proc p;
static void *mem;

/* amdkfd's: 1/64 is for page tables; a reserve of 1.5 GiB, or half where that would be most. */
static uint64_t limit(void)
{
	struct sysinfo info;
	uint64_t ram;

	if (sysinfo(&info))
		tap_bail("sysinfo: %m");
	ram = (uint64_t)info.totalram * info.mem_unit;
	ram -= ram / 64;
	return ram < 3072 * MIB ? ram / 2 : ram - 1536 * MIB;
}

static int reg(uint64_t size, uint64_t *handle)
{
	return kfd_alloc(&p, (uint64_t)(uintptr_t)mem, size, FLAGS, handle, NULL);
}

/* Registers chunks until it is refused; how many there were, and the errno. */
static uint64_t fill(uint64_t *handles, uint64_t max, int *err)
{
	uint64_t n = 0;

	for (*err = 0; n < max; n++) {
		*err = reg(CHUNK, &handles[n]);
		if (*err)
			break;
	}
	return n;
}

static unsigned int give_back(const uint64_t *handles, uint64_t n)
{
	unsigned int failed = 0;

	while (n--)
		failed += kfd_free(&p, handles[n]) != 0;
	return failed;
}

/* A process that has ended gives back what it had a while later. */
static uint64_t fill_settled(uint64_t *handles, uint64_t max, uint64_t most, int *err)
{
	uint64_t end = now_ns() + 60000000000ull, n;

	while ((n = fill(handles, max, err)) * CHUNK + SLACK <= most && now_ns() < end) {
		give_back(handles, n);
		usleep(10000);
	}
	return n;
}

static void test_limit(void)
{
	uint64_t most = limit(), max = most / CHUNK + 64, n;
	uint64_t *handles = calloc(max, sizeof(*handles)), one;
	int err;

	if (!handles)
		tap_bail("no memory");
	n = fill_settled(handles, max, most, &err);
	tap_is(err, -ENOMEM, "registering is refused in the end");
	tap_ok(n * CHUNK <= most && n * CHUNK + SLACK > most,
	       "after %llu MiB, of a limit of %llu", (unsigned long long)(n * CHUNK / MIB),
	       (unsigned long long)(most / MIB));
	tap_is(kfd_free(&p, handles[--n]), 0, "one less");
	tap_is(reg(CHUNK, &handles[n]), 0, "and there is room for one");
	tap_is(reg(CHUNK, &one), -ENOMEM, "but no more");
	tap_is(give_back(handles, ++n), 0, "all is given back");
	tap_is((int64_t)fill(handles, max, &err), (int64_t)n, "as much can be had again");
	/* These are left to the end of the process. */
	free(handles);
}

static void child(void *arg)
{
	(void)arg;
	kfd_proc_open(&p);
	test_limit();
}

int main(void)
{
	tap_begin(280);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	mem = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || madvise(mem, CHUNK, MADV_POPULATE_WRITE))
		tap_bail("no memory: %m");
	tap_child("first", child, NULL);
	tap_child("after the first has ended", child, NULL);
	return tap_done();
}
