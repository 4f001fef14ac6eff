// SPDX-License-Identifier: MIT
/*
 * The GPU is reset, removed, added and suspended under processes that use it: who waits
 * is told by an error within a bounded time, HW_EXCEPTION, DEVICESTATECHANGE and
 * NODECHANGE events fire, a process that lost its queues gets no new ones, and the next
 * process finds a GPU that works.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "inject.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define WAIT_MS		30000u
#define PM_TEST		"/sys/power/pm_test"
#define PM_STATE	"/sys/power/state"
#define PM_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

static struct gpu gpu;

static void open_gpu(void)
{
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
}

static HsaEvent *event(HSA_EVENTTYPE type)
{
	HsaEvent *ev = event_new(&gpu, type, false);

	if (!ev)
		tap_bail("event of type %d", type);
	return ev;
}

static bool fired(HsaEvent *ev)
{
	return hsaKmtWaitOnEvent(ev, 0) == HSAKMT_STATUS_SUCCESS;
}

static void *waiter(void *ev)
{
	return (void *)(uintptr_t)hsaKmtWaitOnEvent(ev, HSA_EVENTTIMEOUT_INFINITE);
}

/* A signal by the GPU, through @q. */
static bool runs(struct queue *q, HsaEvent *ev)
{
	uint32_t *p = queue_reserve_wait(q, PM4_RELEASE_MEM_DW, WAIT_MS);

	if (!p)
		return false;
	queue_commit(q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(q);
	return event_wait(ev, WAIT_MS) == HSAKMT_STATUS_SUCCESS;
}

/* A new SDMA queue in a wait: it has passed what is before that. */
static bool parked(struct sdma_queue *q)
{
	volatile uint64_t *word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	uint32_t *p;

	if (!word || sdma_queue_create(q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		return false;
	p = sdma_queue_reserve(q, SDMA_PKT_WRITE_DW + 1 + SDMA_PKT_POLL_REGMEM_DW);
	p = sdma_write32(p, gpu_va(&word[0]), 1);
	sdma_queue_commit(q, sdma_poll_mem(p, gpu_va(&word[1]), WAIT_REG_MEM_EQ, 1, ~0u));
	sdma_queue_submit(q);
	return wait_word(&word[0], 1, WAIT_MS);
}

static void works(void *unused)
{
	struct queue q;
	HsaEvent *ev;

	(void)unused;
	open_gpu();
	ev = event(HSA_EVENTTYPE_SIGNAL);
	tap_ok(queue_create(&q, &gpu, GPU_PAGE) == HSAKMT_STATUS_SUCCESS, "a new queue");
	tap_ok(runs(&q, ev), "that works, with interrupts");
	queue_destroy(&q);
	gpu_close();
}

static void lose_by_reset(void *unused)
{
	HsaEvent *never, *hw, *state, *node, *mem;
	const HsaHwException *payload;
	struct queue q, other;
	pthread_t t;
	void *ret;

	(void)unused;
	open_gpu();
	never = event(HSA_EVENTTYPE_SIGNAL);
	hw = event(HSA_EVENTTYPE_HW_EXCEPTION);
	state = event(HSA_EVENTTYPE_DEVICESTATECHANGE);
	node = event(HSA_EVENTTYPE_NODECHANGE);
	mem = event(HSA_EVENTTYPE_MEMORY);
	if (queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("queue");
	tap_ok(runs(&q, never), "the queue works");
	if (pthread_create(&t, NULL, waiter, never))
		tap_bail("pthread_create");

	tap_ok(gpu_reset(), "reset by sysfs");
	pthread_join(t, &ret);
	tap_ok((uintptr_t)ret != HSAKMT_STATUS_SUCCESS, "an infinite wait is told");
	tap_ok(fired(hw), "HW_EXCEPTION");
	payload = &hw->EventData.EventData.HwException;
	tap_is(payload->NodeId, gpu.node, "of the GPU's node");
	tap_is(payload->ResetType, HSA_EVENTID_HW_EXCEPTION_GPU_HANG, "type: the whole GPU");
	tap_is(payload->ResetCause, HSA_EVENTID_HW_EXCEPTION_GPU_HANG, "cause: hang");
	tap_is(payload->MemoryLost, 0, "VRAM is kept");
	tap_ok(fired(state), "DEVICESTATECHANGE");
	tap_ok(!fired(node), "no NODECHANGE");
	tap_ok(!fired(mem), "no MEMORY");
	tap_ok(hsaKmtWaitOnEvent(never, WAIT_MS) == HSAKMT_STATUS_ERROR, "later waits fail too");
	tap_ok(hsaKmtSetEvent(never) == HSAKMT_STATUS_SUCCESS && fired(never),
	       "unless they are complete");
	tap_ok(queue_create(&other, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS,
	       "no new queue for a process whose page tables are of before");
	tap_is(queue_destroy(&q), HSAKMT_STATUS_SUCCESS, "the old queue can be destroyed");
	fflush(stdout);
	_exit(0);
}

static void watch_nodes(void *unused)
{
	HsaEvent *node, *state;

	(void)unused;
	open_gpu();
	node = event(HSA_EVENTTYPE_NODECHANGE);
	state = event(HSA_EVENTTYPE_DEVICESTATECHANGE);
	tap_ok(!fired(node) && !fired(state), "nothing has changed yet");
	tap_ok(gpu_unbind(), "the GPU is removed");
	tap_ok(fired(node), "NODECHANGE");
	tap_ok(gpu_bind(), "and added");
	tap_ok(fired(node), "NODECHANGE");
	tap_ok(!fired(state), "no DEVICESTATECHANGE");
	fflush(stdout);
	_exit(0);
}

static void sleep_and_go_on(void *unused)
{
	HsaEvent *state, *ev, *hw;
	struct queue q;

	(void)unused;
	open_gpu();
	ev = event(HSA_EVENTTYPE_SIGNAL);
	state = event(HSA_EVENTTYPE_DEVICESTATECHANGE);
	hw = event(HSA_EVENTTYPE_HW_EXCEPTION);
	if (queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("queue");
	tap_ok(runs(&q, ev), "before: the queue works");
	tap_ok(write_text(PM_STATE, "freeze"), "suspend and resume");
	tap_ok(fired(state), "DEVICESTATECHANGE");
	tap_ok(!fired(hw), "nothing was lost");
	tap_ok(runs(&q, ev), "after: the same queue works");
	queue_destroy(&q);
	gpu_close();
}

/**
 * struct fault - how a process loses its queues
 * @spec: what is injected
 * @destroy: that it happened shows when a queue is asked to stop: a compute queue, or SDMA
 */
struct fault {
	const char *spec;
	enum { NO, COMPUTE, SDMA } destroy;
};

/* Ends in an error within the time the driver gives a queue to stop, and some. */
static void lose_by_fault(void *arg)
{
	const struct fault *f = arg;
	const char *spec = f->spec;
	struct sdma_queue sdma;
	HsaEvent *never, *hw;
	struct queue q;
	uint64_t end;
	pthread_t t;
	void *ret;

	open_gpu();
	never = event(HSA_EVENTTYPE_SIGNAL);
	hw = event(HSA_EVENTTYPE_HW_EXCEPTION);
	if (queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("queue");
	tap_ok(runs(&q, never), "the queue works");
	if (f->destroy == SDMA && !parked(&sdma))
		tap_bail("SDMA queue");
	if (pthread_create(&t, NULL, waiter, never))
		tap_bail("pthread_create");
	if (inject_arm(spec))
		tap_bail("%s: %s", spec, inject_error());
	/*
	 * Something for the device to fail at. That a queue does not stop shows when it
	 * is asked to; that the device is gone has to be noticed without that.
	 */
	if (f->destroy != SDMA) {
		queue_commit(&q, pm4_nop1(queue_reserve(&q, PM4_NOP1_DW)));
		queue_submit(&q);
	}
	if (f->destroy == COMPUTE)
		tap_ok(queue_destroy(&q) != HSAKMT_STATUS_SUCCESS, "%s: DESTROY_QUEUE fails", spec);
	else if (f->destroy == SDMA)
		tap_ok(sdma_queue_destroy(&sdma) != HSAKMT_STATUS_SUCCESS,
		       "%s: DESTROY_QUEUE of an SDMA queue fails", spec);
	for (end = now_ns() + WAIT_MS * 1000000ull; !inject_fired(0) && now_ns() < end;)
		usleep(1000);
	tap_is(inject_fired(0), 1, "%s: fired", spec);
	pthread_join(t, &ret);
	tap_ok((uintptr_t)ret != HSAKMT_STATUS_SUCCESS, "%s: an infinite wait is told", spec);
	tap_ok(fired(hw), "%s: HW_EXCEPTION", spec);
	tap_is(hw->EventData.EventData.HwException.ResetType, 0, "%s: of the whole GPU", spec);
	inject_disarm();
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	/* Of a compute queue that hangs, scheduler firmware makes less (hang.c). */
	struct fault hang = { driver_sched_policy() == 2 ? "preempt:hang@1" : "device:hang@1", COMPUTE };
	struct fault sdma_hang = { "preempt:hang@1", SDMA }, gone = { "device:gone@1", NO };

	tap_begin(150);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	tap_child("a process loses its queues", lose_by_reset, NULL);
	tap_child("a new process", works, NULL);
	tap_ok(gpu_reset(), "reset with nobody there");
	tap_child("and one after that", works, NULL);
	tap_child("a process watches GPUs come and go", watch_nodes, NULL);
	tap_child("a new process", works, NULL);
	if (access(PM_TEST, W_OK) || !write_text(PM_TEST, "devices")) {
		tap_skip("this kernel cannot test suspend", "suspend and resume");
	} else {
		/* Otherwise the kernel spins for 5 s, which a busy host makes a lockup of. */
		write_text(PM_DELAY, "0");
		tap_child("a process sleeps through suspend", sleep_and_go_on, NULL);
		write_text(PM_DELAY, "5");
		write_text(PM_TEST, "none");
		tap_child("a new process", works, NULL);
	}
	if (inject_open()) {
		tap_skip("no fault injection in this device", "queues that do not stop");
	} else {
		tap_child("a queue does not stop", lose_by_fault, &hang);
		tap_child("a new process", works, NULL);
		tap_child("an SDMA queue does not stop", lose_by_fault, &sdma_hang);
		tap_child("a new process", works, NULL);
		tap_child("the device does not answer", lose_by_fault, &gone);
		gpu_unbind();
		gpu_bind();
		tap_child("a new process", works, NULL);
	}
	return tap_done();
}
