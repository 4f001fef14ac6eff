// SPDX-License-Identifier: MIT
/*
 * Registered memory stays the process's own: what fork, munmap, mprotect and madvise do to
 * it the GPU sees as the CPU does, without being told; queues that run go on in between;
 * nothing is pinned; and the driver does no more than it has to, by its counters.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "queue.h"
#include "tap.h"
#include "user.h"

#define LONG_MS		60000u
#define SIZE		(4 * GPU_PAGE)
#define OLD		0x5a5a5a5a5a5a5a5aull
#define SMI_LINE	128

/* A child that has the memory as it was when it was forked, until it is told to end. */
struct forked {
	pid_t pid;
	int go[2];
};

/* The child says whether word @at still is @want. */
static void fork_begin(struct forked *f, volatile uint64_t *at, uint64_t want)
{
	char byte;

	if (pipe(f->go))
		tap_bail("pipe: %m");
	fflush(NULL);
	f->pid = fork();
	if (f->pid < 0)
		tap_bail("fork: %m");
	if (!f->pid) {
		if (read(f->go[0], &byte, 1) != 1)
			_exit(2);
		_exit(*at != want);
	}
}

static int fork_end(struct forked *f)
{
	int status = -1;

	if (write(f->go[1], "", 1) != 1 || waitpid(f->pid, &status, 0) != f->pid)
		tap_bail("the child: %m");
	close(f->go[0]);
	close(f->go[1]);
	return status;
}

static void test_fork(struct user *u)
{
	struct range g, other;
	struct forked f;
	int64_t evicted;

	range_map(&g, u, user_pages(SIZE), SIZE);
	/* The same pages once more, but the first. */
	range_map(&other, u, g.cpu + GPU_PAGE, SIZE - GPU_PAGE);
	tap_ok(user_store(u, range_gpu(&g, 8), 1), "fork: the GPU stores before it");
	user_settle();
	evicted = user_counter("evictions");
	fork_begin(&f, range_cpu(&g, GPU_PAGE), OLD);
	tap_is(user_counter("evictions") - evicted, 1, "fork: takes the queues off once");
	*range_cpu(&g, GPU_PAGE) = 2;
	tap_ok(user_sees(u, &g, GPU_PAGE, 2), "fork: the GPU sees what the parent stores after it");
	tap_ok(user_sees(u, &other, 0, 2), "fork: by an overlapping range as well");
	tap_ok(user_store(u, range_gpu(&other, 8), 3) && *range_cpu(&g, GPU_PAGE + 8) == 3,
	       "fork: the parent sees what the GPU stores by that");
	tap_ok(user_store(u, range_gpu(&g, GPU_PAGE), 4) && *range_cpu(&g, GPU_PAGE) == 4,
	       "fork: and by the first");
	tap_is(fork_end(&f), 0, "fork: the child has its memory as it was");
	tap_ok(user_sees(u, &g, 8, 1), "fork: nothing is lost");
	tap_is(user_counter("evictions") - evicted, 1, "fork: it was once, for all of it");
	tap_ok(user_settle(), "fork: queues are put back");
	tap_is(user_counter("evictions"), user_counter("restores"), "fork: as often as they were taken off");
	range_free(&other, u);
	range_free(&g, u);
	munmap(g.cpu, SIZE);
}

/* A queue that waits for a word of registered memory waits for that of the parent. */
static void test_fork_waiting(struct user *u)
{
	struct forked f;
	struct range g;

	range_map(&g, u, user_pages(SIZE), SIZE);
	raw_put_gate(&u->pm4, range_gpu(&g, 0), 7);
	raw_put_write(&u->pm4, range_gpu(&g, 8), 8);
	user_store_async(u, range_gpu(&g, 16), 9);
	fork_begin(&f, range_cpu(&g, 0), OLD);
	*range_cpu(&g, 0) = 7;
	tap_ok(wait_word(u->pm4.word, u->seq, LONG_MS),
	       "waiting: a queue in the midst of a wait goes on with the parent's page");
	tap_ok(*range_cpu(&g, 8) == 8 && *range_cpu(&g, 16) == 9, "waiting: and stores there");
	tap_is(fork_end(&f), 0, "waiting: the child is not touched");
	range_free(&g, u);
	munmap(g.cpu, SIZE);
}

static void test_dontfork(struct user *u)
{
	char *mem = user_pages(SIZE);
	struct forked f;
	struct range g;
	int64_t evicted;

	madvise(mem, SIZE, MADV_DONTFORK);
	range_map(&g, u, mem, SIZE);
	user_settle();
	evicted = user_counter("evictions");
	fork_begin(&f, u->pm4.word, *u->pm4.word);
	tap_ok(user_store(u, range_gpu(&g, 0), 1) && *range_cpu(&g, 0) == 1,
	       "bug 62: memory that is not forked goes on");
	kill(f.pid, SIGKILL);
	waitpid(f.pid, NULL, 0);
	tap_is(user_counter("evictions") - evicted, 0, "bug 62: no queue was taken off");
	range_free(&g, u);
	munmap(mem, SIZE);
}

static void test_unmapped(struct user *u)
{
	char *mem = user_pages(SIZE);
	int64_t evicted, calls;
	struct range g;

	range_register(&g, u, mem, SIZE);
	evicted = user_counter("evictions");
	calls = user_counter("invalidations");
	madvise(mem, SIZE, MADV_DONTNEED);
	tap_ok(user_counter("invalidations") > calls, "no GPU has it: pages that go are noticed");
	tap_is(user_counter("evictions") - evicted, 0, "no GPU has it: no queue is taken off");
	*range_cpu(&g, GPU_PAGE) = 5;
	tap_is(kfd_map(&u->r.p, g.handle), 0, "no GPU has it: it is mapped");
	tap_ok(user_sees(u, &g, GPU_PAGE, 5), "no GPU has it: and is what is there now");
	tap_is(user_counter("evictions") - evicted, 0, "no GPU has it: still no queue was");
	range_free(&g, u);
	munmap(mem, SIZE);
}

static void test_madvise(struct user *u)
{
	char *mem = user_pages(SIZE);
	struct range g;

	range_map(&g, u, mem, SIZE);
	madvise(mem, SIZE, MADV_DONTNEED);
	tap_ok(user_sees(u, &g, GPU_PAGE, 0), "DONTNEED: the GPU sees zeroes");
	tap_ok(user_store(u, range_gpu(&g, GPU_PAGE), 6) && *range_cpu(&g, GPU_PAGE) == 6,
	       "DONTNEED: and the CPU what it stores then");
	range_free(&g, u);
	munmap(mem, SIZE);
}

static void test_replaced(struct user *u)
{
	char *mem = user_pages(SIZE);
	struct range g, other;

	range_map(&g, u, mem, SIZE);
	if (mmap(mem, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    mem)
		tap_bail("mmap: %m");
	*range_cpu(&g, 0) = 11;
	tap_ok(user_sees(u, &g, 0, 11), "replaced: the GPU sees new memory at the old address");
	tap_ok(user_store(u, range_gpu(&g, GPU_PAGE), 12) && *range_cpu(&g, GPU_PAGE) == 12,
	       "replaced: and stores there");

	munmap(mem, SIZE);
	tap_ok(user_settle(), "gone: queues are put back");
	tap_is(user_counter("lost"), 1, "gone: without the range");
	tap_ok(user_store(u, u->bounce, 1) && *u->bounce == 1, "gone: and go on");
	if (mmap(mem, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    mem)
		tap_bail("mmap: %m");
	*range_cpu(&g, 0) = 13;
	tap_is(kfd_map(&u->r.p, g.handle), 0, "gone: mapped once more");
	tap_is(user_counter("lost"), 0, "gone: it is back");
	tap_ok(user_sees(u, &g, 0, 13), "gone: with what is there now");

	range_map(&other, u, user_pages(SIZE), SIZE);
	munmap(mem, SIZE);
	user_settle();
	if (mmap(mem, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    mem)
		tap_bail("mmap: %m");
	*range_cpu(&g, 0) = 14;
	madvise(other.cpu, SIZE, MADV_DONTNEED);
	tap_ok(user_sees(u, &other, 0, 0) && user_counter("lost") == 0,
	       "gone: looked for again along with another range");
	tap_ok(user_sees(u, &g, 0, 14), "gone: and found");
	range_free(&other, u);
	munmap(other.cpu, SIZE);
	range_free(&g, u);
	munmap(mem, SIZE);
}

static void test_protection(struct user *u)
{
	char *mem = user_pages(SIZE);
	struct range g;

	range_map(&g, u, mem, SIZE);
	*range_cpu(&g, 0) = 21;
	mprotect(mem, SIZE, PROT_READ);
	tap_ok(user_sees(u, &g, 0, 21), "mprotect: the GPU reads what may be read");
	mprotect(mem, SIZE, PROT_READ | PROT_WRITE);
	tap_ok(user_store(u, range_gpu(&g, 0), 22) && *range_cpu(&g, 0) == 22,
	       "mprotect: and writes what may be written again");
	mprotect(mem, SIZE, PROT_NONE);
	mprotect(mem, SIZE, PROT_READ | PROT_WRITE);
	tap_ok(user_sees(u, &g, 0, 22), "mprotect: what was out of reach is back");
	range_free(&g, u);
	munmap(mem, SIZE);
}

/*
 * A queue whose ring and pointers are registered memory: after a fork it fetches what the
 * parent writes, and reports there.
 */
static void test_ring(struct user *u)
{
	struct raw_queue q;
	struct forked f;
	struct range g;
	unsigned int i;
	bool ok = true;

	range_map(&g, u, user_pages(SIZE), SIZE);
	range_queue(&q, u, &g);
	for (i = 1; ok && i <= 40; i++) {
		fork_begin(&f, range_cpu(&g, 16), i - 1);
		raw_put_write(&q, range_gpu(&g, 16), i);
		raw_submit(&q);
		ok = wait_word(range_cpu(&g, 16), i, LONG_MS) &&
		     wait_word(q.rptr, q.next % (RAW_RING_BYTES / 4), LONG_MS);
		ok &= !fork_end(&f);
	}
	tap_ok(ok, "ring: 40 times a fork, and packets and pointers are the parent's (%u)", i - 1);
	tap_is(raw_queue_destroy(&q), 0, "ring: destroyed");
	range_free(&g, u);
	munmap(g.cpu, SIZE);
}

/* Memory of AQL queues is there twice, one behind the other: both follow. */
static void test_twice(struct user *u)
{
	char *mem = user_pages(SIZE);
	struct range g;

	tap_is(range_try(&g, u, mem, 2 * SIZE, USER_FLAGS | KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM), 0,
	       "twice: registered");
	tap_is(kfd_map(&u->r.p, g.handle), 0, "twice: mapped");
	madvise(mem, SIZE, MADV_DONTNEED);
	tap_ok(user_store(u, range_gpu(&g, SIZE + GPU_PAGE), 1) && *range_cpu(&g, GPU_PAGE) == 1,
	       "twice: the GPU stores to new pages by the second half");
	tap_ok(user_sees(u, &g, GPU_PAGE, 1), "twice: and loads by the first");
	range_free(&g, u);
	munmap(mem, SIZE);
}

/* Queues come, change and go while the process's are off. */
static void test_queues_meanwhile(struct user *u)
{
	unsigned int i, created = 0, updated = 0, stored = 0, destroyed = 0, n = scaled(200, 40);
	char *mem = user_pages(SIZE);
	struct kfd_ioctl_update_queue_args up = { 0 };
	struct raw_queue q;
	struct range g;

	range_map(&g, u, mem, SIZE);
	for (i = 0; i < n; i++) {
		madvise(mem, SIZE, MADV_DONTNEED);
		created += !raw_queue_create(&q, &u->r, i & 1 ? KFD_IOC_QUEUE_TYPE_SDMA :
								KFD_IOC_QUEUE_TYPE_COMPUTE);
		raw_put_write(&q, range_gpu(&g, 0), i + 1);
		raw_publish(&q);
		/* Not the page that is stored to: the queue may run already. */
		madvise(mem + GPU_PAGE, GPU_PAGE, MADV_DONTNEED);
		up.queue_id = q.id;
		up.ring_base_address = gpu_va(q.ring);
		up.ring_size = RAW_RING_BYTES;
		up.queue_percentage = 100;
		updated += !kfd_call(u->r.p.kfd, AMDKFD_IOC_UPDATE_QUEUE, &up);
		stored += wait_word32((volatile uint32_t *)range_cpu(&g, 0), i + 1, LONG_MS);
		madvise(mem, GPU_PAGE, MADV_DONTNEED);
		destroyed += !raw_queue_destroy(&q);
		u->r.n--;
	}
	tap_is(created, n, "meanwhile: queues are created as queues are off");
	tap_is(updated, n, "meanwhile: updated");
	tap_is(stored, n, "meanwhile: run");
	tap_is(destroyed, n, "meanwhile: and destroyed");
	range_free(&g, u);
	munmap(mem, SIZE);
}

static void test_not_pinned(struct user *u)
{
	int64_t acquired = vmstat("nr_foll_pin_acquired"), released = vmstat("nr_foll_pin_released");
	char *mem = user_pages(64 * GPU_PAGE);
	struct range g;

	if (acquired < 0)
		tap_bail("/proc/vmstat does not count pins");
	range_map(&g, u, mem, 64 * GPU_PAGE);
	tap_ok(user_store(u, range_gpu(&g, 0), 1), "64 pages are in use by the GPU");
	tap_is(vmstat("nr_foll_pin_acquired") - acquired, vmstat("nr_foll_pin_released") - released,
	       "and none of them is pinned");
	range_free(&g, u);
	munmap(mem, 64 * GPU_PAGE);
}

/* Reads a line of SMI events that begins with @event, or says so. */
static bool smi_line(int fd, unsigned int event, char *line)
{
	unsigned int got;
	ssize_t n = read(fd, line, SMI_LINE - 1);
	char *nl;

	if (n <= 0)
		return false;
	line[n] = 0;
	nl = strchr(line, '\n');
	if (nl)
		*nl = 0;
	return nl && sscanf(line, "%x ", &got) == 1 && got == event;
}

static void test_smi(struct user *u)
{
	uint64_t mask = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_QUEUE_EVICTION) |
			KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_QUEUE_RESTORE);
	struct kfd_ioctl_smi_events_args a = { .gpuid = u->r.p.gpu_id };
	char line[SMI_LINE] = "", want[SMI_LINE];
	char *mem = user_pages(SIZE);
	unsigned long long ns;
	struct range g;
	int pid, trigger;
	unsigned int gpu;

	range_map(&g, u, mem, SIZE);
	user_settle();
	if (kfd_call(u->r.p.kfd, AMDKFD_IOC_SMI_EVENTS, &a) ||
	    write((int)a.anon_fd, &mask, sizeof(mask)) != (ssize_t)sizeof(mask))
		tap_bail("no SMI events");
	madvise(mem, SIZE, MADV_DONTNEED);
	/* Into the descriptor before madvise() returns; one line fits, whatever follows. */
	tap_ok(smi_line((int)a.anon_fd, KFD_SMI_EVENT_QUEUE_EVICTION, line) &&
	       sscanf(line, "%*x %llu -%d %x %d", &ns, &pid, &gpu, &trigger) == 4,
	       "SMI: a line of the eviction: %s", line);
	tap_ok(pid == getpid() && gpu == u->r.p.gpu_id && trigger == KFD_QUEUE_EVICTION_TRIGGER_USERPTR,
	       "SMI: with process, GPU and reason");
	tap_ok(user_settle(), "SMI: queues are put back");
	snprintf(want, sizeof(want), "-%d %x 0", (int)getpid(), u->r.p.gpu_id);
	tap_ok(smi_line((int)a.anon_fd, KFD_SMI_EVENT_QUEUE_RESTORE, line) && strstr(line, want),
	       "SMI: and a line of that: %s", line);
	close((int)a.anon_fd);
	range_free(&g, u);
	munmap(mem, SIZE);
}

/* bug 35: another process, whose queues run meanwhile. */
static void bystander(int ready, int go)
{
	unsigned int i, wrong = 0;
	struct range g;
	struct user u;
	char byte = 0;

	user_open(&u);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	wrong += !user_store(&u, range_gpu(&g, 0), 1);
	user_settle();
	if (write(ready, &byte, 1) != 1)
		_exit(2);
	for (i = 2; i < 100; i++)
		wrong += !user_store(&u, range_gpu(&g, 0), i) || *range_cpu(&g, 0) != i;
	if (read(go, &byte, 1) != 1)
		_exit(2);
	_exit(wrong || user_counter("evictions"));
}

static void test_others(struct user *u)
{
	char *mem = user_pages(SIZE), byte;
	int ready[2], go[2], status = -1;
	unsigned int i, wrong = 0;
	struct range g;
	pid_t pid;

	range_map(&g, u, mem, SIZE);
	if (pipe(ready) || pipe(go))
		tap_bail("pipe: %m");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid)
		bystander(ready[1], go[0]);
	if (read(ready[0], &byte, 1) != 1)
		tap_bail("the other process does not start");
	for (i = 0; i < scaled(400, 50); i++) {
		madvise(mem, SIZE, MADV_DONTNEED);
		wrong += !user_store(u, range_gpu(&g, 0), i + 1) || *range_cpu(&g, 0) != i + 1;
	}
	tap_is(wrong, 0, "bug 35: queues go off and on %u times", i);
	if (write(go[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid)
		tap_bail("the other process: %m");
	tap_is(status, 0, "bug 35: and those of another process are not taken off");
	for (i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	range_free(&g, u);
	munmap(mem, SIZE);
}

/*
 * Three processes with one slice of doorbells between them, whose write pointers are away
 * again and again: as nobody can say then whether there is work, there is.
 */
static void slice_user(void)
{
	unsigned int i, n = scaled(2000, 150);
	struct raw_queue q;
	struct range g;
	struct user u;

	user_open(&u);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	range_queue(&q, &u, &g);
	for (i = 1; i <= n; i++) {
		madvise(g.cpu + 3 * GPU_PAGE, GPU_PAGE, MADV_DONTNEED);
		raw_put_write(&q, range_gpu(&g, 16), i);
		raw_submit(&q);
		if (!wait_word(range_cpu(&g, 16), i, LONG_MS))
			_exit(1);
	}
	_exit(0);
}

static void test_slices(void)
{
	unsigned int i, good = 0;
	pid_t pid[3];
	int status;

	if (driver_set_parameter("doorbell_slices", "1"))
		tap_bail("doorbell_slices: %m");
	fflush(NULL);
	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			tap_bail("fork: %m");
		if (!pid[i])
			slice_user();
	}
	for (i = 0; i < 3; i++)
		good += waitpid(pid[i], &status, 0) == pid[i] && !status;
	tap_is(good, 3, "slices: nobody's work is forgotten as his write pointer is away");
	tap_is(driver_set_parameter("doorbell_slices", "254"), 0, "slices: all of them again");
}

/* bug 27, 28: ends in the midst of what it does to its memory. */
static void die(unsigned int how)
{
	char *mem = user_pages(SIZE);
	struct range g;
	struct user u;

	user_open(&u);
	range_map(&g, &u, mem, SIZE);
	user_store_async(&u, range_gpu(&g, 0), 1);
	if (how & 1)
		munmap(mem, SIZE);
	else
		madvise(mem, SIZE, MADV_DONTNEED);
	if (how & 2)
		kill(getpid(), SIGKILL);
	_exit(0);
}

static void test_deaths(void)
{
	int64_t before = driver_references();
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
	tap_ok(driver_let_go(before), "bug 27, 28: 16 processes end as memory is away, and nothing of them is left");
}

int main(void)
{
	struct user u;

	tap_begin(600);
	test_deaths();
	test_slices();
	user_open(&u);
	test_fork(&u);
	test_fork_waiting(&u);
	test_dontfork(&u);
	test_unmapped(&u);
	test_madvise(&u);
	test_replaced(&u);
	test_protection(&u);
	test_ring(&u);
	test_twice(&u);
	test_queues_meanwhile(&u);
	test_not_pinned(&u);
	test_smi(&u);
	test_others(&u);
	tap_ok(user_settle(), "in the end all queues are on");
	tap_is(user_counter("evictions"), user_counter("restores"), "put back as often as taken off");
	tap_is(user_counter("ranges"), 0, "no range is left");
	user_close(&u);
	return tap_done();
}
