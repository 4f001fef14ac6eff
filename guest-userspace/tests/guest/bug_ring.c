// SPDX-License-Identifier: MIT
/*
 * Known bugs of the interrupt ring: bursts and overflows while nobody listens.
 * Interrupts are held back by MSI-X's function mask while the GPU fills the ring.
 * docs/known-bugs-coverage.md says what the numbers mean. At each test: the mutation of
 * the driver that it was seen to fail with.
 */
#include <sched.h>
#include <string.h>

#include "counters.h"
#include "gpu.h"
#include "kfd.h"
#include "msix.h"
#include "queue.h"
#include "tap.h"
#include "waiter.h"

#define LONG_MS		60000u
#define LIMIT		(KFD_SIGNAL_EVENT_LIMIT - 1)
#define RING_BYTES	65536u
#define IH_ENTRIES	8192u
#define FLOOD		(IH_ENTRIES + 500u)
#define SLEEPERS	32u

static struct gpu gpu;
static struct queue q;
static HsaEvent *event[LIMIT], *barrier;
static volatile uint64_t *word;
static uint64_t stamp;

static void submit_ib(const uint32_t *ib, const uint32_t *end)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_IB_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(&q, pm4_ib(p, gpu_va(ib), (uint32_t)(end - ib)));
	queue_submit(&q);
}

/* Returns when the GPU has executed all it was given; no interrupt takes part. */
static void finish(void)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_WRITE64_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(&q, pm4_write64(p, gpu_va(word), ++stamp));
	queue_submit(&q);
	if (!wait_word(word, stamp, LONG_MS))
		tap_bail("the queue stands still");
}

/*
 * The driver has read everything that was in the ring. Time-out 0 looks at no slot, so
 * only the interrupt can end this.
 */
static void pass_barrier(void)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);
	uint64_t end = now_ns() + LONG_MS * 1000000ull;

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(&q, pm4_signal(p, event_slot(barrier), barrier->EventId));
	queue_submit(&q);
	while (hsaKmtWaitOnEvent(barrier, 0) != HSAKMT_STATUS_SUCCESS) {
		if (now_ns() > end)
			tap_bail("no interrupt comes any more");
		sched_yield();
	}
}

static uint32_t *nameless(uint32_t *p, unsigned int n)
{
	while (n--)
		p = pm4_release_mem(p, 0, RELEASE_MEM_DATA_NONE, 0, RELEASE_MEM_INT_ONLY, 0);
	return p;
}

/*
 * Mutation: vkfd_ih_drain() throws away what is beyond its budget (rptr = wptr), as a
 * software fifo that is too short does.
 */
static void test_burst(uint32_t *ib)
{
	unsigned int i, created, missing = 0;
	uint32_t *p = ib;

	for (created = 0; created < LIMIT - 1; created++) {
		event[created] = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!event[created])
			tap_bail("no event");
	}
	/* As many as the ring takes; the last entries are those of the events. */
	p = nameless(p, IH_ENTRIES - 1 - created);
	for (i = 0; i < created; i++)
		p = pm4_signal(p, event_slot(event[i]), event[i]->EventId);
	msix_hold(true);
	submit_ib(ib, p);
	finish();
	msix_hold(false);
	pass_barrier();
	/* Time-out 0 looks at no slot: only the interrupt can have told. */
	for (i = 0; i < created; i++)
		missing += hsaKmtWaitOnEvent(event[i], 0) != HSAKMT_STATUS_SUCCESS;
	tap_is(missing, 0, "bug 12: a ring full to the last entry, and every event of it is signalled");
	for (i = SLEEPERS; i < created; i++)
		hsaKmtDestroyEvent(event[i]);
}

/* Mutation: vkfd_ih_clear_overflow() leaves the clear bit set. */
static void test_overflow_twice(uint32_t *ib)
{
	uint32_t *end = nameless(ib, FLOOD);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		int64_t before = kfd_counter("ih", "overflows");

		msix_hold(true);
		submit_ib(ib, end);
		finish();
		msix_hold(false);
		pass_barrier();
		/* A signal that comes while the ring is still full makes one of its own. */
		tap_ok(kfd_counter("ih", "overflows") - before >= 1, "bug 11: overflow %u is noticed", i + 1);
	}
}

/* Mutation: vkfd_ih_wptr() does not ask for a rescan. */
static void test_overflow_loses_nobody(uint32_t *ib)
{
	static struct waiter w[SLEEPERS];
	unsigned int i, round, lost = 0;
	uint32_t *p = ib;

	for (i = 0; i < SLEEPERS; i++)
		p = pm4_signal(p, event_slot(event[i]), event[i]->EventId);
	/* These overwrite the entries of the events. */
	p = nameless(p, FLOOD);
	for (round = 0; round < 2 && !lost; round++) {
		for (i = 0; i < SLEEPERS; i++) {
			w[i] = (struct waiter){ .events = &event[i], .n = 1, .ms = LONG_MS };
			waiter_start(&w[i]);
		}
		msix_hold(true);
		submit_ib(ib, p);
		finish();
		msix_hold(false);
		for (i = 0; i < SLEEPERS; i++)
			lost += waiter_join(&w[i]) != HSAKMT_STATUS_SUCCESS;
	}
	tap_is(lost, 0, "bug 12: %u sleepers whose entries were overwritten wake, twice", SLEEPERS);
}

int main(void)
{
	HSAKMT_STATUS s;
	uint32_t *ib;

	tap_begin(300);
	if (!msix_open())
		tap_skip_all("no MSI-X capability to be seen");
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	ib = mem_alloc(&gpu, MEM_SYSTEM, (FLOOD + SLEEPERS) * PM4_RELEASE_MEM_DW * 4);
	barrier = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!word || !ib || !barrier || queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no memory, event or queue");
	pass_barrier();
	test_burst(ib);
	test_overflow_twice(ib);
	test_overflow_loses_nobody(ib);
	queue_destroy(&q);
	gpu_close();
	return tap_done();
}
