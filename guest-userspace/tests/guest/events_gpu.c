// SPDX-License-Identifier: MIT
/*
 * Events signalled by queues: order of data and wake-up, all 4095 at once, ids
 * that name nobody, waits for all.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define LIMIT		(KFD_SIGNAL_EVENT_LIMIT - 1)
#define BIG_RING	(256u * 1024)

static struct gpu gpu;
static HsaEvent *event[LIMIT + 1];

static uint32_t *reserve(struct queue *q, uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(q, dw, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	return p;
}

static void signal_event(struct queue *q, const HsaEvent *ev)
{
	queue_commit(q, pm4_signal(reserve(q, PM4_RELEASE_MEM_DW), event_slot(ev), ev->EventId));
}

/* What was written before the signal is there when the wait returns, each time. */
static void test_order(struct queue *q, uint64_t *word)
{
	unsigned int i, rounds = tap_full() ? 10000 : 500, stale = 0, failed = 0;
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);

	for (i = 1; i <= rounds; i++) {
		uint32_t *p = reserve(q, PM4_WRITE64_DW);

		queue_commit(q, pm4_write64(p, gpu_va(word), (uint64_t)i << 32 | i));
		signal_event(q, ev);
		queue_submit(q);
		if (event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS) {
			failed++;
			break;
		}
		stale += __atomic_load_n(word, __ATOMIC_RELAXED) != ((uint64_t)i << 32 | i);
	}
	tap_is(failed, 0, "%u batches wake their waiter", rounds);
	tap_is(stale, 0, "never before their data is there");
	tap_ok(queue_wait_idle(q, LONG_MS), "the queue is idle");
	tap_is(*event_slot(ev) == GPU_EVENT_UNSIGNALED, 1, "the kernel has reset the slot");
	hsaKmtDestroyEvent(ev);
}

static void create_all(int fd)
{
	struct kfd_ioctl_create_event_args c = { .event_type = KFD_IOC_EVENT_SIGNAL, .auto_reset = 1 };
	struct kfd_ioctl_destroy_event_args d;
	static bool used[LIMIT + 1];
	unsigned int i, wrong = 0;

	memset(used, 0, sizeof(used));
	for (i = 0; i < LIMIT; i++) {
		event[i] = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!event[i])
			break;
		if (!event[i]->EventId || event[i]->EventId > LIMIT || used[event[i]->EventId])
			wrong++;
		else
			used[event[i]->EventId] = true;
	}
	if (!tap_is(i, LIMIT, "4095 events exist at once"))
		tap_bail("the rest makes no sense");
	tap_is(wrong, 0, "with ids 1 to 4095, each once");
	tap_is(kfd_call(fd, AMDKFD_IOC_CREATE_EVENT, &c), -ENOSPC, "one more is refused");
	tap_ok(!event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false), "by the thunk too");
	c.event_type = KFD_IOC_EVENT_DEBUG_EVENT;
	tap_is(kfd_call(fd, AMDKFD_IOC_CREATE_EVENT, &c), -ENOSPC, "a DEBUG event needs a slot as well");
	c.event_type = KFD_IOC_EVENT_MEMORY;
	tap_is(kfd_call(fd, AMDKFD_IOC_CREATE_EVENT, &c), 0, "a MEMORY event does not");
	d = (struct kfd_ioctl_destroy_event_args){ .event_id = c.event_id };
	kfd_call(fd, AMDKFD_IOC_DESTROY_EVENT, &d);
}

static void test_all_events(struct queue *q)
{
	unsigned int i, missing = 0, twice = 0;

	for (i = 0; i < LIMIT; i++)
		signal_event(q, event[i]);
	queue_submit(q);
	for (i = 0; i < LIMIT && !missing; i++)
		missing += event_wait(event[i], LONG_MS) != HSAKMT_STATUS_SUCCESS;
	tap_is(missing, 0, "all 4095, signalled in one submission, wake a waiter each");
	for (i = 0; i < LIMIT; i++)
		twice += hsaKmtWaitOnEvent(event[i], 0) != HSAKMT_STATUS_WAIT_TIMEOUT;
	tap_is(twice, 0, "none fires twice");
}

/* bug 3: interrupts that name nobody are dropped, cheaply, and hide nobody else. */
static void test_nameless(struct queue *q)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < 2000; i++) {
		uint32_t *p = reserve(q, PM4_RELEASE_MEM_DW);

		queue_commit(q, pm4_release_mem(p, 0, RELEASE_MEM_DATA_NONE, 0, RELEASE_MEM_INT_ONLY, 0));
		if (i % 256 == 255)
			queue_submit(q);
	}
	signal_event(q, event[LIMIT / 2]);
	queue_submit(q);
	tap_is(event_wait(event[LIMIT / 2], LONG_MS), 0,
	       "a signal behind 2000 interrupts with id 0 arrives");
	/* An event's number without its slot written is not a signal. */
	for (i = 0; i < 64; i++) {
		uint32_t *p = reserve(q, PM4_RELEASE_MEM_DW);

		queue_commit(q, pm4_release_mem(p, 0, RELEASE_MEM_DATA_NONE, 0, RELEASE_MEM_INT_ONLY,
						event[i]->EventId));
	}
	signal_event(q, event[LIMIT / 2]);
	queue_submit(q);
	tap_is(event_wait(event[LIMIT / 2], LONG_MS), 0, "so does one behind 64 false ones");
	for (i = 0; i < LIMIT; i++)
		wrong += hsaKmtWaitOnEvent(event[i], 0) != HSAKMT_STATUS_WAIT_TIMEOUT;
	tap_is(wrong, 0, "nobody else was woken");
}

static void test_wait_all(struct queue *q)
{
	unsigned int i, round, failed = 0;

	for (round = 0; round < 10 && !failed; round++) {
		for (i = 0; i < 64; i++) {
			signal_event(q, event[i]);
			/* One submission each: signals and the wait overlap. */
			queue_submit(q);
		}
		failed += events_wait(event, 64, true, LONG_MS, NULL) != HSAKMT_STATUS_SUCCESS;
		failed += hsaKmtWaitOnMultipleEvents(event, 64, false, 0) != HSAKMT_STATUS_WAIT_TIMEOUT;
	}
	tap_is(failed, 0, "10 times a wait for all of 64 events");
	for (i = 0; i < LIMIT; i += 5)
		signal_event(q, event[i]);
	queue_submit(q);
	tap_is(events_wait(event, LIMIT, false, LONG_MS, NULL), 0, "a wait for any of 4095");
	if (!queue_wait_idle(q, LONG_MS))
		tap_bail("the queue is not idle");
}

static void test_age(struct queue *q)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	uint64_t age = 1;
	unsigned int i;

	for (i = 2; i <= 5; i++) {
		signal_event(q, ev);
		queue_submit(q);
		if (events_wait(&ev, 1, true, LONG_MS, &age) != HSAKMT_STATUS_SUCCESS || age != i)
			break;
	}
	tap_is(i, 6, "ages of GPU signals are 2, 3, 4, 5");
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &age), HSAKMT_STATUS_WAIT_TIMEOUT, "the last age is current");
	hsaKmtDestroyEvent(ev);
}

static void test_reuse(void)
{
	HsaEvent *again;
	HSAuint32 id = event[7]->EventId;
	unsigned int i;

	hsaKmtDestroyEvent(event[7]);
	again = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	tap_ok(again && again->EventId == id, "the id of a destroyed event is given out again");
	tap_is(again && hsaKmtWaitOnEvent(again, 0) == HSAKMT_STATUS_WAIT_TIMEOUT, 1, "unsignalled");
	event[7] = again;
	for (i = 0; i < LIMIT; i++)
		if (event[i] && hsaKmtDestroyEvent(event[i]) != HSAKMT_STATUS_SUCCESS)
			break;
	tap_is(i, LIMIT, "all are destroyed");
}

int main(void)
{
	HSAKMT_STATUS s;
	struct queue q;
	uint64_t *word;
	int fd;

	tap_begin(600);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	fd = kfd_open();
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	s = queue_create(&q, &gpu, BIG_RING);
	if (!word || s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue: %s", status_name(s));
	test_order(&q, word);
	test_age(&q);
	create_all(fd);
	test_all_events(&q);
	test_nameless(&q);
	test_wait_all(&q);
	tap_is(queue_destroy(&q), 0, "the queue is destroyed");
	test_reuse();
	close(fd);
	gpu_close();
	return tap_done();
}
