// SPDX-License-Identifier: MIT
/*
 * Registered memory changes while the GPU is in trouble: a queue does not let itself be taken
 * off, the part is reset, the driver leaves it. Whoever changes the memory, which is a fork or
 * an munmap, gets through; the program is told; what comes next works.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "inject.h"
#include "kfd_event.h"
#include "queue.h"
#include "tap.h"
#include "user.h"

#define WAIT_MS	120000u
#define SIZE	(4 * GPU_PAGE)

static void works(void *arg)
{
	struct range g;
	struct user u;

	user_open(&u);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	madvise(g.cpu, SIZE, MADV_DONTNEED);
	tap_ok(user_store(&u, range_gpu(&g, 0), 1) && *range_cpu(&g, 0) == 1, "%s: another process works",
	       (const char *)arg);
	range_free(&g, &u);
	user_close(&u);
}

static void hang(void *arg)
{
	uint32_t event;
	struct range g;
	struct user u;
	int status;
	pid_t pid;

	(void)arg;
	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_HW_EXCEPTION);
	range_map(&g, &u, user_pages(SIZE), SIZE);
	raw_put_gate(&u.pm4, range_gpu(&g, 0), 1);
	raw_submit(&u.pm4);
	/* It has a slot by the time that another queue is done. */
	tap_ok(user_load(&u, range_gpu(&g, 8), &(uint64_t){ 0 }), "hang: the other queue works");
	if (inject_arm("preempt:hang@1*1"))
		tap_bail("inject: %s", inject_error());
	pid = fork();
	if (!pid)
		_exit(0);
	tap_ok(pid > 0 && waitpid(pid, &status, 0) == pid && !status,
	       "bug 38: a fork, for which a queue is to stop that does not");
	tap_is(inject_fired(0), 1, "bug 38: which was so");
	inject_disarm();
	tap_ok(kfd_event_wait(&u.r.p, event, WAIT_MS, NULL), "bug 37: the program is told");
	tap_ok(user_settle(), "hang: queues are put back");
	*range_cpu(&g, 0) = 1;
	/* Without firmware the queue keeps its slot, so the part is reset for it. */
	if (driver_sched_policy() == 2)
		tap_skip("sched_policy is 2", "hang: the other queue goes on");
	else
		tap_ok(user_sees(&u, &g, 0, 1), "hang: the other queue goes on");
	range_free(&g, &u);
	user_close(&u);
}

struct changer {
	struct range g;
	atomic_bool stop;
	atomic_uint rounds;
};

static void *change(void *arg)
{
	struct changer *c = arg;

	while (!atomic_load(&c->stop)) {
		madvise(c->g.cpu, SIZE, MADV_DONTNEED);
		*range_cpu(&c->g, 0) = 1;
		atomic_fetch_add(&c->rounds, 1);
	}
	return NULL;
}

static void wait_rounds(struct changer *c, unsigned int more)
{
	unsigned int want = atomic_load(&c->rounds) + more;
	uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	while (atomic_load(&c->rounds) < want)
		if (now_ns() > end)
			tap_bail("whoever changes memory does not get on");
}

static void while_changing(const char *what, bool (*trouble)(void))
{
	struct changer c = { 0 };
	uint32_t event;
	struct user u;
	pthread_t t;

	user_open(&u);
	event = kfd_event_new(&u.r.p, KFD_IOC_EVENT_HW_EXCEPTION);
	range_map(&c.g, &u, user_pages(SIZE), SIZE);
	tap_ok(user_store(&u, range_gpu(&c.g, 0), 1), "%s: the GPU stores before it", what);
	if (pthread_create(&t, NULL, change, &c))
		tap_bail("no thread");
	wait_rounds(&c, 20);
	tap_ok(trouble(), "%s: as memory changes", what);
	wait_rounds(&c, 20);
	tap_ok(kfd_event_wait(&u.r.p, event, WAIT_MS, NULL), "%s: the program is told", what);
	atomic_store(&c.stop, true);
	pthread_join(t, NULL);
	tap_ok(user_settle(), "%s: nothing is tried for ever", what);
	range_free(&c.g, &u);
	user_close(&u);
}

static void reset(void *arg)
{
	(void)arg;
	while_changing("bug 46: reset", gpu_reset);
}

/* Suspended and resumed, all but the last step, some times while memory changes. */
static void suspended(void *arg)
{
	unsigned int i, bad = 0, rounds = scaled(20, 4);
	struct changer c = { 0 };
	struct range other;
	struct user u;
	pthread_t t;

	(void)arg;
	user_open(&u);
	range_map(&c.g, &u, user_pages(SIZE), SIZE);
	range_map(&other, &u, user_pages(SIZE), SIZE);
	if (pthread_create(&t, NULL, change, &c))
		tap_bail("no thread");
	write_text("/sys/module/suspend/parameters/pm_test_delay", "0");
	for (i = 1; i <= rounds; i++) {
		wait_rounds(&c, 5);
		bad += !write_text("/sys/power/pm_test", "devices") ||
		       !write_text("/sys/power/state", "mem");
		bad += !user_store(&u, range_gpu(&other, 0), i) || *range_cpu(&other, 0) != i;
	}
	write_text("/sys/power/pm_test", "none");
	atomic_store(&c.stop, true);
	pthread_join(t, NULL);
	tap_is(bad, 0, "suspend: %u times as memory changes, and queues go on", rounds);
	tap_ok(user_settle(), "suspend: nothing is tried for ever");
	range_free(&other, &u);
	range_free(&c.g, &u);
	user_close(&u);
}

static bool unbind(void)
{
	return gpu_unbind();
}

static void unbound(void *arg)
{
	(void)arg;
	while_changing("unbind", unbind);
}

int main(void)
{
	tap_begin(280);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU of vkfd in sysfs");
	if (inject_open())
		tap_skip_all("no injection");
	tap_child("hang", hang, NULL);
	tap_child("after hang", works, "hang");
	tap_child("suspend", suspended, NULL);
	tap_child("reset", reset, NULL);
	tap_child("after reset", works, "reset");
	tap_child("unbind", unbound, NULL);
	tap_ok(gpu_bind(), "unbind: bound again");
	tap_child("after unbind", works, "unbind");
	return tap_done();
}
