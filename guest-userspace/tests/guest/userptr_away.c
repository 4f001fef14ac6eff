// SPDX-License-Identifier: MIT
/*
 * The GPU is suspended, reset and taken away, and processes end, while pages of registered
 * memory are away and about to be looked up: queues stay off until they are there, and come
 * back as often as they went. The driver stops where the test wants it (point.h).
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "kfd_event.h"
#include "point.h"
#include "queue.h"
#include "suspended.h"
#include "tap.h"
#include "user.h"

#define SIZE	(4 * GPU_PAGE)
#define LONG_MS	60000u

struct away {
	struct user u;
	struct range g;
	uint32_t fault;
};

/* Pages of the range go, and its queues are off, or about to be looked after, until point_go(). */
static void lose(struct away *a, void (*how)(const char *name))
{
	user_open(&a->u);
	a->fault = kfd_event_new(&a->u.r.p, KFD_IOC_EVENT_MEMORY);
	range_map(&a->g, &a->u, user_pages(SIZE), SIZE);
	how("restore");
	madvise(a->g.cpu, SIZE, MADV_DONTNEED);
	*range_cpu(&a->g, 0) = 4711;
	point_wait();
	tap_ok(user_counter("evicted") > 0, "queues are off");
}

static void balanced(const char *what)
{
	tap_ok(user_settle(), "%s: nothing is in the way of the queues", what);
	tap_is(user_counter("restores"), user_counter("evictions"), "%s: they came as often as they went",
	       what);
}

static void suspend(void *unused)
{
	struct away a;

	(void)unused;
	lose(&a, point_fail);
	user_store_async(&a.u, range_gpu(&a.g, GPU_PAGE), 1);
	tap_ok(suspend_once(), "suspend and resume");
	tap_ok(user_counter("evicted") > 0, "queues are still off");
	tap_is((int64_t)*a.u.pm4.word, 0, "and have not run");
	point_go();
	balanced("suspend");
	tap_ok(wait_word(a.u.pm4.word, a.u.seq, LONG_MS), "what was waiting is done");
	tap_is((int64_t)*range_cpu(&a.g, GPU_PAGE), 1, "where the pages are now");
	/* One that runs too early faults, but is put back with the others all the same. */
	tap_ok(!kfd_event_wait(&a.u.r.p, a.fault, 0, NULL), "and not before");
	user_sees(&a.u, &a.g, 0, 4711);
	range_free(&a.g, &a.u);
	user_close(&a.u);
}

static void reset(void *unused)
{
	struct away a;

	(void)unused;
	lose(&a, point_hold);
	tap_ok(gpu_reset(), "reset");
	point_go();
	balanced("reset");
	tap_is((int64_t)*range_cpu(&a.g, 0), 4711, "the memory is the process's");
	range_free(&a.g, &a.u);
}

static void unbind(struct away *a)
{
	tap_ok(gpu_unbind(), "unbind");
	point_go();
	balanced("unbind");
	tap_is((int64_t)*range_cpu(&a->g, 0), 4711, "the memory is the process's");
	munmap(a->g.cpu, SIZE);
	balanced("unmapped");
	range_free(&a->g, &a->u);
}

static void unbind_held(void *unused)
{
	struct away a;

	(void)unused;
	lose(&a, point_hold);
	unbind(&a);
}

static void unbind_due(void *unused)
{
	struct away a;

	(void)unused;
	lose(&a, point_fail);
	unbind(&a);
}

static void victim(int ready)
{
	static struct away a;

	user_open(&a.u);
	range_map(&a.g, &a.u, user_pages(SIZE), SIZE);
	madvise(a.g.cpu, SIZE, MADV_DONTNEED);
	if (write(ready, "", 1) != 1)
		_exit(1);
	pause();
}

/* The worker has the last reference to the memory of a process that is killed. */
static void killed(void)
{
	int64_t before = driver_references();
	int fds[2], status = 0;
	char byte;
	pid_t pid;

	point_hold("restore");
	if (pipe(fds))
		tap_bail("pipe: %m");
	pid = fork();
	if (!pid) {
		victim(fds[1]);
		_exit(1);
	}
	point_wait();
	if (read(fds[0], &byte, 1) != 1)
		tap_bail("no other process");
	kill(pid, SIGKILL);
	tap_ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "a process is killed meanwhile");
	point_go();
	tap_ok(driver_let_go(before), "and lets the driver go");
	close(fds[0]);
	close(fds[1]);
}

static void works(void *what)
{
	struct away a;

	user_open(&a.u);
	range_map(&a.g, &a.u, user_pages(SIZE), SIZE);
	madvise(a.g.cpu, SIZE, MADV_DONTNEED);
	tap_ok(user_store(&a.u, range_gpu(&a.g, 0), 1) && *range_cpu(&a.g, 0) == 1,
	       "%s: another process works", (const char *)what);
	range_free(&a.g, &a.u);
	user_close(&a.u);
}

int main(void)
{
	tap_begin(300);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	killed();
	tap_child("works", works, "killed");
	tap_child("reset", reset, NULL);
	tap_child("works", works, "reset");
	tap_child("unbind", unbind_held, NULL);
	tap_ok(gpu_bind(), "bound again");
	tap_child("works", works, "unbind");
	tap_child("unbind", unbind_due, NULL);
	tap_ok(gpu_bind(), "bound again");
	tap_child("works", works, "unbind");
	if (!suspend_begin()) {
		tap_skip("this kernel cannot test suspend", "suspend");
		return tap_done();
	}
	tap_child("suspend", suspend, NULL);
	suspend_end();
	return tap_done();
}
