// SPDX-License-Identifier: MIT
/*
 * Nobody tells the driver that an event was signalled, and it finds out: interrupts
 * that do not come while a task sleeps without time-out, slots written without any
 * interrupt, messages and pointers that the device loses (fault injection). And nothing
 * of this happens while nobody waits.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "asleep.h"
#include "counters.h"
#include "gpu.h"
#include "inject.h"
#include "msix.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		20000u
#define ROUNDS		5u

static struct gpu gpu;
static struct queue q;

/* A thread in an infinite wait, which ends or makes the watchdog bark. */
struct sleeper {
	pthread_t thread;
	HsaEvent *ev;
	atomic_int tid;
	HSAKMT_STATUS status;
};

static void *sleep_forever(void *arg)
{
	struct sleeper *s = arg;

	atomic_store(&s->tid, gettid());
	s->status = hsaKmtWaitOnEvent(s->ev, HSA_EVENTTIMEOUT_INFINITE);
	return NULL;
}

static void sleeper_start(struct sleeper *s, HsaEvent *ev)
{
	s->ev = ev;
	s->status = HSAKMT_STATUS_ERROR;
	atomic_store(&s->tid, 0);
	if (pthread_create(&s->thread, NULL, sleep_forever, s))
		tap_bail("pthread_create");
	while (!atomic_load(&s->tid))
		sched_yield();
	if (!wait_asleep(atomic_load(&s->tid), LONG_MS))
		tap_bail("the thread does not go to sleep");
}

/* Whether the wait ended, well, in time. Otherwise it is ended by other means. */
static bool sleeper_ends(struct sleeper *s)
{
	struct timespec t;
	bool late;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += LONG_MS / 1000;
	late = pthread_timedjoin_np(s->thread, NULL, &t);
	if (late) {
		hsaKmtSetEvent(s->ev);
		pthread_join(s->thread, NULL);
	}
	return !late && s->status == HSAKMT_STATUS_SUCCESS;
}

static void signal_by_gpu(HsaEvent *ev)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);

	if (!p)
		tap_bail("the queue does not run");
	queue_commit(&q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&q);
}

static void test_held_back(HsaEvent *ev)
{
	int64_t before = kfd_counter("ih", "recovered_interrupts");
	unsigned int i, woken = 0;
	struct sleeper s;

	if (!msix_open()) {
		tap_skip("no MSI-X to be seen", "interrupts held back");
		return;
	}
	for (i = 0; i < ROUNDS && woken == i; i++) {
		msix_hold(true);
		sleeper_start(&s, ev);
		signal_by_gpu(ev);
		woken += sleeper_ends(&s);
		msix_hold(false);
	}
	tap_is(woken, ROUNDS, "infinite waits end without interrupt");
	tap_ok(kfd_counter("ih", "recovered_interrupts") > before, "and that was counted");
	sleeper_start(&s, ev);
	signal_by_gpu(ev);
	tap_ok(sleeper_ends(&s), "interrupts work again after that");
}

static void test_slot_alone(HsaEvent *ev)
{
	int64_t before = kfd_counter("events", "recovered_slots");
	struct sleeper s;
	uint32_t *p;

	sleeper_start(&s, ev);
	p = queue_reserve_wait(&q, PM4_WRITE64_DW, LONG_MS);
	queue_commit(&q, pm4_write64(p, gpu_va(event_slot(ev)), ev->EventId));
	queue_submit(&q);
	tap_ok(sleeper_ends(&s), "a slot written without interrupt ends an infinite wait");
	tap_is(kfd_counter("events", "recovered_slots"), before + 1, "and is counted once");
}

/* A slot is its poller's while nobody sleeps for its event, whoever sleeps elsewhere. */
static void test_polled(HsaEvent *ev, HsaEvent *polled)
{
	int64_t before = kfd_counter("events", "recovered_slots");
	struct sleeper s;

	*event_slot(polled) = polled->EventId;
	sleeper_start(&s, ev);
	*event_slot(ev) = ev->EventId;
	tap_ok(sleeper_ends(&s), "a slot written by the CPU is found");
	tap_ok(*event_slot(polled) == polled->EventId, "the slot of a poller is left alone");
	tap_is(kfd_counter("events", "recovered_slots"), before + 1, "one slot recovered");
	*event_slot(polled) = GPU_EVENT_UNSIGNALED;
}

static void test_injected(HsaEvent *ev)
{
	static const struct {
		const char *spec, *what;
	} faults[] = {
		{ "msix:drop@1", "a message that is lost" },
		{ "msix:dup@1", "a message that comes twice" },
		{ "ih-wptr:drop@1", "a write pointer that does not reach memory" },
		{ "slot:delay:20ms@1", "a slot written after its interrupt" },
		{ "ih-entry:dup@1", "an entry that comes twice" },
		{ "ih-entry:drop@1", "an entry that is lost" },
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		unsigned int woken = 0, fired = 0;
		struct sleeper s;
		int err = 0;

		for (k = 0; k < ROUNDS && woken == k; k++) {
			sleeper_start(&s, ev);
			err = inject_arm(faults[i].spec);
			if (err) {
				hsaKmtSetEvent(ev);
				sleeper_ends(&s);
				break;
			}
			signal_by_gpu(ev);
			woken += sleeper_ends(&s);
			fired += inject_fired(0);
			inject_disarm();
			/* One that came late for the wait above is none for the next one. */
			queue_wait_idle(&q, LONG_MS);
			hsaKmtResetEvent(ev);
		}
		if (err < 0) {
			tap_skip("no fault injection in this device", "%s", faults[i].what);
			continue;
		}
		tap_is(err, 0, "%s: the device takes it", faults[i].spec);
		tap_is(fired, ROUNDS, "%s: fired", faults[i].spec);
		tap_is(woken, ROUNDS, "%s is survived", faults[i].what);
	}
}

static void test_idle(HsaEvent *ev)
{
	int64_t before, after;

	if (!msix_open()) {
		tap_skip("no MSI-X to be seen", "nothing is done while nobody waits");
		return;
	}
	before = kfd_counter("ih", "recovered_interrupts");
	msix_hold(true);
	signal_by_gpu(ev);
	/* Long enough for several looks, were there any. */
	usleep(300000);
	after = kfd_counter("ih", "recovered_interrupts");
	tap_is(after, before, "nothing is done while nobody waits");
	tap_is(event_wait(ev, LONG_MS), HSAKMT_STATUS_SUCCESS,
	       "a wait that comes later looks at the slot itself");
	msix_hold(false);
}

int main(void)
{
	HsaEvent *ev, *polled;

	tap_begin(300);
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	polled = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!ev || !polled || queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("events or queue");
	test_held_back(ev);
	test_slot_alone(ev);
	test_polled(ev, polled);
	test_idle(ev);
	test_injected(ev);
	queue_destroy(&q);
	gpu_close();
	return tap_done();
}
