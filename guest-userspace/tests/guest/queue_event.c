// SPDX-License-Identifier: MIT
/*
 * QUEUE_EVENT: a queue of the process has run empty. The GPU says so only while
 * somebody has such an event.
 *
 * Mutations: the device sends it whatever the enable says, or for a parked queue; the
 * driver never switches it off, or not on again after a reset.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "tap.h"

#define WAIT_MS	20000u

static struct gpu gpu;
static struct queue q;
static HsaEvent *done;
static volatile uint64_t *word;

static void set_up(void)
{
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS ||
	    !(done = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false)) ||
	    !(word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE)))
		tap_bail("GPU, queue, event or memory");
}

static HsaEvent *queue_event(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_QUEUE_EVENT, false);

	if (!ev)
		tap_bail("no event");
	return ev;
}

static void tear_down(void)
{
	queue_destroy(&q);
	gpu_close();
}

static void batch(void)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, WAIT_MS);

	queue_commit(&q, pm4_signal(p, event_slot(done), done->EventId));
	queue_submit(&q);
	if (event_wait(done, WAIT_MS) != HSAKMT_STATUS_SUCCESS)
		tap_bail("a batch does not complete");
}

/*
 * Two batches: the interrupt of the first's end, if there is one, is in the ring before
 * the second's signal, so it has been counted when that is over.
 */
static int64_t interrupts_of_batches(void)
{
	int64_t before;

	batch();
	before = kfd_counter("ih", "ctx");
	batch();
	batch();
	return kfd_counter("ih", "ctx") - before;
}

static void test_on_and_off(void *unused)
{
	HsaEvent *ev, *second;

	(void)unused;
	set_up();
	tap_is(interrupts_of_batches(), 0, "without such an event no interrupt of it");
	ev = queue_event();
	second = queue_event();
	batch();
	tap_is(event_wait(ev, WAIT_MS), HSAKMT_STATUS_SUCCESS, "a queue that has run empty");
	tap_is(event_wait(second, WAIT_MS), HSAKMT_STATUS_SUCCESS, "and every such event of the process");
	hsaKmtDestroyEvent(second);
	batch();
	tap_is(event_wait(ev, WAIT_MS), HSAKMT_STATUS_SUCCESS, "one is enough to have it on");
	hsaKmtDestroyEvent(ev);
	tap_is(interrupts_of_batches(), 0, "with the last one it is off again");
	tear_down();
}

static void test_parked(void *unused)
{
	struct queue other;
	HsaEvent *ev;
	uint32_t *p;

	(void)unused;
	set_up();
	if (queue_create(&other, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	p = queue_reserve(&other, PM4_WAIT_MEM_DW);
	queue_commit(&other, pm4_wait_mem(p, gpu_va(word), WAIT_REG_MEM_EQ, 1, ~0u));
	ev = queue_event();
	queue_submit(&other);
	/* Everything in it but the wait is over once its read pointer stands there. */
	batch();
	tap_is(event_wait(ev, WAIT_MS), HSAKMT_STATUS_SUCCESS, "the queue that ran");
	tap_ok(event_wait(ev, 0) != HSAKMT_STATUS_SUCCESS, "not the one that waits");
	*word = 1;
	tap_is(event_wait(ev, WAIT_MS), HSAKMT_STATUS_SUCCESS, "when its wait is over it is empty too");
	queue_destroy(&other);
	tear_down();
}

/* Another process holds one event all the time, so nobody switches anything on. */
static void test_reset(void *unused)
{
	HsaEvent *ev;
	int ready[2], over[2], status;
	char c = 0;
	pid_t pid;

	(void)unused;
	if (pipe(ready) || pipe(over) || (pid = fork()) < 0)
		tap_bail("no process");
	if (!pid) {
		set_up();
		queue_event();
		close(over[1]);
		if (write(ready[1], &c, 1) != 1 || read(over[0], &c, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(over[0]);
	if (read(ready[0], &c, 1) != 1)
		tap_bail("the other process has no event");
	tap_ok(gpu_reset(), "a reset while another process has such an event");
	set_up();
	ev = queue_event();
	batch();
	tap_is(event_wait(ev, WAIT_MS), HSAKMT_STATUS_SUCCESS, "after it the interrupt is on");
	tear_down();
	close(over[1]);
	tap_ok(waitpid(pid, &status, 0) == pid && !status, "the other process ends");
}

static void test_killed(void *unused)
{
	int64_t interrupts;
	int status;
	uint64_t end;
	pid_t pid = fork();

	(void)unused;
	if (!pid) {
		set_up();
		queue_event();
		_exit(0);
	}
	tap_ok(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a process leaves its event behind");
	set_up();
	/* What a process leaves is cleared away a little later. */
	end = now_ns() + WAIT_MS * 1000000ull;
	while ((interrupts = interrupts_of_batches()) && now_ns() < end)
		;
	tap_is(interrupts, 0, "and it is off all the same");
	tear_down();
}

int main(void)
{
	tap_begin(180);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	tap_child("on and off", test_on_and_off, NULL);
	tap_child("parked", test_parked, NULL);
	tap_child("reset", test_reset, NULL);
	tap_child("killed", test_killed, NULL);
	return tap_done();
}
