// SPDX-License-Identifier: MIT
/*
 * Known bugs of event ids: what an interrupt names, how it is found, and how many ids
 * there are. docs/known-bugs-coverage.md says what the numbers mean. At each test: the
 * mutation of the driver that it was seen to fail with.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"
#include "waiter.h"

#define LONG_MS		60000u
#define LIMIT		(KFD_SIGNAL_EVENT_LIMIT - 1)
#define FLOOD		10000u
#define RING_BYTES	65536u
#define ALIASES		10u

static struct gpu gpu;
static struct queue q;
static HsaEvent *a, *b, *barrier;

static HsaEvent *event(HSA_EVENTTYPE type)
{
	HsaEvent *ev = event_new(&gpu, type, false);

	if (!ev)
		tap_bail("no event");
	return ev;
}

/* @ev's slot is written, but the interrupt names @ctxid. */
static void signal_as(const HsaEvent *ev, uint32_t ctxid)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(&q, pm4_release_mem(p, gpu_va(event_slot(ev)), RELEASE_MEM_DATA_64, ev->EventId,
					 RELEASE_MEM_INT_AFTER_WRITE, ctxid));
	queue_submit(&q);
}

/*
 * Everything the queue was given before has been heard of by the driver. Time-out 0
 * looks at no slot, so only the interrupt can end this.
 */
static void pass_barrier(void)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;

	signal_as(barrier, barrier->EventId);
	while (hsaKmtWaitOnEvent(barrier, 0) != HSAKMT_STATUS_SUCCESS) {
		if (now_ns() > end)
			tap_bail("no interrupt comes any more");
		sched_yield();
	}
}

/*
 * Mutation: kfd_signal_event_interrupt() calls scan_sleepers() only when @partial_id
 * is no event's.
 */
static void test_alias(void)
{
	const struct {
		const char *what;
		uint32_t ctxid;
	} cases[] = {
		{ "an idle event", a->EventId },
		{ "no event", LIMIT },
		{ "an id beyond the table", KFD_SIGNAL_EVENT_LIMIT + b->EventId },
		{ "nonsense", 0x7fffffff },
	};
	struct waiter w = { .events = &b, .n = 1, .ms = LONG_MS };
	unsigned int i, round, missed;
	int64_t found;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		found = kfd_counter("events", "scan_hits");
		missed = 0;
		for (round = 0; round < ALIASES && !missed; round++) {
			waiter_start(&w);
			signal_as(b, cases[i].ctxid);
			missed += waiter_join(&w) != HSAKMT_STATUS_SUCCESS;
		}
		tap_is(missed, 0, "bug 1: an interrupt that names %s wakes whose slot is written",
		       cases[i].what);
		/* Not only because a timer looked at the slot much later. */
		found = kfd_counter("events", "scan_hits") - found;
		tap_ok(found > ALIASES / 2, "bug 1: because of the interrupt (%lld of %u)", (long long)found,
		       ALIASES);
		tap_is(hsaKmtWaitOnEvent(a, 0), HSAKMT_STATUS_WAIT_TIMEOUT,
		       "bug 1: and not the one it names");
	}
	signal_as(b, a->EventId);
	pass_barrier();
	tap_is((int64_t)*event_slot(b), b->EventId,
	       "bug 1: the slot of an event nobody waits for is left alone");
	tap_is(event_wait(b, LONG_MS), 0, "bug 1: and found by the wait that comes later");
}

/* An indirect buffer of @n interrupts that name @ctxid and write nothing. */
static uint32_t *make_flood(unsigned int n, uint32_t ctxid)
{
	uint32_t *ib = mem_alloc(&gpu, MEM_SYSTEM, n * PM4_RELEASE_MEM_DW * 4), *p = ib;

	if (!ib)
		tap_bail("no memory for an indirect buffer");
	while (n--)
		p = pm4_release_mem(p, 0, RELEASE_MEM_DATA_NONE, 0, RELEASE_MEM_INT_ONLY, ctxid);
	return ib;
}

static void flood(const uint32_t *ib, unsigned int n)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_IB_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(&q, pm4_ib(p, gpu_va(ib), n * PM4_RELEASE_MEM_DW));
	queue_submit(&q);
}

/* Mutation: vkfd_route_cp() passes context id 0 on like any other. */
static void test_flood(void)
{
	unsigned int n = scaled(FLOOD, FLOOD);
	struct waiter w = { .events = &b, .n = 1, .ms = LONG_MS };
	uint32_t *ib = make_flood(n, 0);
	int64_t before, scans;

	pass_barrier();
	before = kfd_counter("events", "scans");
	waiter_start(&w);
	flood(ib, n);
	signal_as(b, b->EventId);
	tap_is(waiter_join(&w), 0, "bug 3: a signal behind %u interrupts without a name arrives", n);
	scans = kfd_counter("events", "scans") - before;
	/* The barrier may have caused one, an overflow one for each process. */
	tap_ok(before >= 0 && scans < 100, "bug 3: and they cost no look at the slots (%lld scans)",
	       (long long)scans);
	mem_free(ib, n * PM4_RELEASE_MEM_DW * 4);

	ib = make_flood(n, a->EventId);
	waiter_start(&w);
	flood(ib, n);
	signal_as(b, b->EventId);
	tap_is(waiter_join(&w), 0, "bug 3: nor do %u false ones keep it back", n);
	tap_is(hsaKmtWaitOnEvent(a, 0), HSAKMT_STATUS_WAIT_TIMEOUT,
	       "bug E16: an interrupt alone is no completion");
	mem_free(ib, n * PM4_RELEASE_MEM_DW * 4);
}

/* Mutation: destroy_event() leaves the id reserved. */
static void test_recycled(int fd)
{
	unsigned int i, wrong = 0, rounds = kernel_is_slow() ? LIMIT + 10 : 3 * LIMIT;
	struct kfd_ioctl_create_event_args c;
	struct kfd_ioctl_destroy_event_args d;

	for (i = 0; i < rounds && !wrong; i++) {
		c = (struct kfd_ioctl_create_event_args){ .event_type = KFD_IOC_EVENT_SIGNAL };
		wrong += kfd_call(fd, AMDKFD_IOC_CREATE_EVENT, &c) != 0 || !c.event_id || c.event_id > LIMIT;
		d = (struct kfd_ioctl_destroy_event_args){ .event_id = c.event_id };
		wrong += kfd_call(fd, AMDKFD_IOC_DESTROY_EVENT, &d) != 0;
	}
	tap_is(i, rounds, "bug E15: ids of destroyed events are given out again, for ever");
	tap_is(wrong, 0, "bug E15: and stay in range");
}

/* Mutation: insert_event() refuses every type once signal_count is 4095. */
static void test_exhausted(void *arg)
{
	HsaEvent *memory, *hw, *ev;
	unsigned int n = 0;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	while ((ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false)))
		n++;
	tap_is(n, LIMIT, "bug 4: 4095 events, and no 4096th");
	memory = event_new(&gpu, HSA_EVENTTYPE_MEMORY, false);
	hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	if (!tap_ok(memory && hw, "bug 81: events for faults can be had when all signal events are used up"))
		return;
	p = queue_reserve(&q, PM4_WRITE64_DW);
	queue_commit(&q, pm4_write64(p, 0x1000, 1));
	queue_submit(&q);
	tap_is(event_wait(memory, LONG_MS), 0, "bug 81: and a fault is told");
	tap_is((int64_t)memory->EventData.EventData.MemoryAccessFault.VirtualAddress, 0x1000,
	       "bug 81: with its address");
}

/* Mutation: vkfd_event_signal_vm_fault() does nothing for a process without signal events. */
static void test_fault_only(void *arg)
{
	struct waiter w = { .n = 1, .ms = LONG_MS };
	HsaEvent *memory;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	memory = event(HSA_EVENTTYPE_MEMORY);
	w.events = &memory;
	waiter_start(&w);
	p = queue_reserve(&q, PM4_WRITE64_DW);
	queue_commit(&q, pm4_write64(p, 0x1000, 1));
	queue_submit(&q);
	tap_is(waiter_join(&w), 0, "bug 86: a fault is told to who has no other event");
}

int main(void)
{
	HSAKMT_STATUS s;
	int fd;

	tap_begin(300);
	tap_child("bug 81", test_exhausted, NULL);
	tap_child("bug 86", test_fault_only, NULL);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	a = event(HSA_EVENTTYPE_SIGNAL);
	b = event(HSA_EVENTTYPE_SIGNAL);
	barrier = event(HSA_EVENTTYPE_SIGNAL);
	test_alias();
	test_flood();
	fd = kfd_open();
	test_recycled(fd);
	close(fd);
	queue_destroy(&q);
	gpu_close();
	return tap_done();
}
