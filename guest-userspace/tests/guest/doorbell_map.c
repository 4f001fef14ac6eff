// SPDX-License-Identifier: MIT
/*
 * Mappings of the doorbell slice, also such that were cut up: the second page must never
 * show the doorbells of the first. Whether a doorbell reached its queue is told by the
 * queue; another queue, rung after it, tells when it would have.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define SLICE	(2 * GPU_PAGE)
#define ROUNDS	100u
#define LONG_MS	60000u

static int kfd;
static uint32_t gpu_id;
/* The queue that is rung through our own mappings, and the other one. */
static struct queue rung, other;
static uint64_t *word, next = 1;

static char *map(size_t size, int flags, uint64_t more)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, kfd,
		    (off_t)((3ull << 62 | (uint64_t)gpu_id << 46) + more));
}

static char *map_slice(uint64_t more)
{
	char *m = map(SLICE, MAP_SHARED, more);

	if (m == MAP_FAILED)
		tap_bail("mmap of the slice: %m");
	return m;
}

/*
 * Rings @rung through @page as if that were the first of the slice. Whether the queue
 * heard it; if not it is rung properly, so that it is idle in any case.
 */
static bool ring_through(char *page)
{
	volatile uint64_t *bell = (volatile uint64_t *)(page + (uintptr_t)rung.res.Queue_DoorBell %
							GPU_PAGE);
	uint64_t value = next++;
	bool heard;
	unsigned int i;
	uint32_t *p;

	p = queue_reserve_wait(&rung, PM4_WRITE64_DW, LONG_MS);
	if (!p)
		tap_bail("no room in the ring");
	queue_commit(&rung, pm4_write64(p, gpu_va(&word[0]), value));
	queue_publish_wptr(&rung);
	*bell = rung.wptr;
	for (i = 0; i < ROUNDS; i++) {
		p = queue_reserve_wait(&other, PM4_WRITE64_DW, LONG_MS);
		if (!p)
			tap_bail("no room in the other ring");
		queue_commit(&other, pm4_write64(p, gpu_va(&word[8]), next));
		queue_submit(&other);
		if (!wait_word(&word[8], next++, LONG_MS))
			tap_bail("the other queue does not run");
	}
	heard = *(volatile uint64_t *)word == value;
	queue_submit(&rung);
	if (!wait_word(word, value, LONG_MS))
		tap_bail("the queue does not run");
	return heard;
}

static void test_cut(void)
{
	char *m = map_slice(0), *moved;

	tap_ok(ring_through(m), "the first page has the queue's doorbell");
	tap_ok(!ring_through(m + GPU_PAGE), "the second has another");
	munmap(m, SLICE);

	/* Cut before the first access: page faults fill in what is asked for then. */
	m = map_slice(0);
	if (munmap(m, GPU_PAGE))
		tap_bail("munmap: %m");
	tap_ok(!ring_through(m + GPU_PAGE), "nor does it get the first's when that is unmapped");
	munmap(m + GPU_PAGE, GPU_PAGE);

	m = map_slice(0);
	moved = mremap(m + GPU_PAGE, GPU_PAGE, GPU_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		       kfd_reserve_va(GPU_PAGE));
	if (moved == MAP_FAILED)
		tap_bail("mremap: %m");
	tap_ok(!ring_through(moved), "nor when it is moved");
	tap_ok(ring_through(m), "the first stays where it was");
	munmap(m, GPU_PAGE);
	munmap(moved, GPU_PAGE);

	/* Programs may pass the offset of a doorbell, rounded down to pages. */
	m = map_slice(GPU_PAGE);
	tap_ok(ring_through(m) && !ring_through(m + GPU_PAGE),
	       "any offset in the slice maps all of it from its beginning");
	munmap(m, SLICE);
}

static void test_fork(void)
{
	char *m = map_slice(0);
	unsigned char vec;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid)
		_exit(mincore(m, GPU_PAGE, &vec) ? errno : 0);
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %m");
	tap_is(WIFEXITED(status) ? WEXITSTATUS(status) : -1, ENOMEM, "a child does not have the mapping");
	tap_ok(madvise(m, SLICE, MADV_DOFORK) && errno == EINVAL, "and cannot be made to");
	munmap(m, SLICE);
}

static void test_refused(void)
{
	tap_ok(map(GPU_PAGE, MAP_SHARED, 0) == MAP_FAILED && errno == EINVAL, "half a slice");
	tap_ok(map(2 * SLICE, MAP_SHARED, 0) == MAP_FAILED && errno == EINVAL, "two slices");
	tap_ok(map(SLICE, MAP_PRIVATE, 0) == MAP_FAILED && errno == EINVAL, "a private mapping");
}

int main(void)
{
	struct gpu gpu;

	tap_begin(120);
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	kfd = kfd_open();
	gpu_id = gpu.props.KFDGpuID;
	tap_ok(map(SLICE, MAP_SHARED, 0) == MAP_FAILED && errno == EINVAL,
	       "before the first queue there is no slice");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!word || queue_create(&rung, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&other, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("memory or queues");
	test_refused();
	test_cut();
	test_fork();
	queue_destroy(&rung);
	queue_destroy(&other);
	close(kfd);
	gpu_close();
	return tap_done();
}
