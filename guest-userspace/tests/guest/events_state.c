// SPDX-License-Identifier: MIT
/*
 * The state machine of events without the GPU: set and reset, auto and manual
 * reset, wait any and all, ages, destruction under a waiter. The CPU signals.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "asleep.h"
#include "gpu.h"
#include "kfd.h"
#include "tap.h"

#define LONG_MS	60000u

static struct gpu gpu;

static HsaEvent *event(HSA_EVENTTYPE type, bool manual)
{
	HsaEvent *ev = event_new(&gpu, type, manual);

	if (!ev)
		tap_bail("no event");
	return ev;
}

static void test_reset_modes(void)
{
	HsaEvent *autoreset = event(HSA_EVENTTYPE_SIGNAL, false);
	HsaEvent *manual = event(HSA_EVENTTYPE_SIGNAL, true);
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL, .NodeId = gpu.node };
	HsaEvent *born = NULL;

	tap_is(hsaKmtWaitOnEvent(autoreset, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "a new event is not signalled");
	tap_is(hsaKmtSetEvent(autoreset), 0, "set an auto-reset event");
	tap_is(hsaKmtSetEvent(autoreset), 0, "set it again");
	tap_is(hsaKmtWaitOnEvent(autoreset, 0), 0, "it stays set until somebody waits");
	tap_is(hsaKmtWaitOnEvent(autoreset, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "one wait consumes it");
	tap_is(hsaKmtSetEvent(autoreset), 0, "set it once more");
	tap_is(hsaKmtResetEvent(autoreset), 0, "reset it");
	tap_is(hsaKmtWaitOnEvent(autoreset, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "it is not signalled any more");

	tap_is(hsaKmtSetEvent(manual), 0, "set a manual-reset event");
	tap_is(hsaKmtWaitOnEvent(manual, 0), 0, "a wait sees it");
	tap_is(hsaKmtWaitOnEvent(manual, 0), 0, "so does the next");
	tap_is(hsaKmtResetEvent(manual), 0, "reset it");
	tap_is(hsaKmtWaitOnEvent(manual, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "it is not signalled any more");

	tap_is(hsaKmtCreateEvent(&desc, true, true, &born), 0, "create an event that is born set");
	tap_is(hsaKmtWaitOnEvent(born, 0), 0, "it is signalled");
	hsaKmtDestroyEvent(born);
	hsaKmtDestroyEvent(manual);
	hsaKmtDestroyEvent(autoreset);
}

/* Only signal events can be set by a CPU. */
static void test_other_types(int fd)
{
	HsaEvent *mem = event(HSA_EVENTTYPE_MEMORY, true);
	struct kfd_ioctl_set_event_args set = { .event_id = mem->EventId };
	struct kfd_ioctl_reset_event_args reset = { .event_id = mem->EventId };

	tap_is(kfd_call(fd, AMDKFD_IOC_SET_EVENT, &set), -EINVAL, "a MEMORY event cannot be set");
	tap_is(kfd_call(fd, AMDKFD_IOC_RESET_EVENT, &reset), -EINVAL, "nor reset");
	tap_is(hsaKmtWaitOnEvent(mem, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "and was not signalled by that");
	hsaKmtDestroyEvent(mem);
}

static void test_any_all(int fd)
{
	HsaEvent *ev[4] = { 0 };
	HsaEvent *dup[3];
	struct kfd_ioctl_wait_events_args none = { .timeout = LONG_MS, .wait_result = 99 };
	int i;

	for (i = 0; i < 3; i++)
		ev[i] = event(HSA_EVENTTYPE_SIGNAL, false);
	ev[3] = event(HSA_EVENTTYPE_SIGNAL, true);
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 4, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "any of none set");
	hsaKmtSetEvent(ev[1]);
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 4, true, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "all with one set");
	/* Whether a wait that timed out gives back what was set is not tested. */
	hsaKmtResetEvent(ev[1]);
	hsaKmtSetEvent(ev[2]);
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 4, false, 0), 0, "any with one set");
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 4, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "has consumed it");
	for (i = 0; i < 4; i++)
		hsaKmtSetEvent(ev[i]);
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 4, true, 0), 0, "all with all set");
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 3, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT,
	       "has consumed the auto-reset ones");
	tap_is(hsaKmtWaitOnEvent(ev[3], 0), 0, "and left the manual one");

	dup[0] = dup[1] = dup[2] = ev[3];
	tap_is(hsaKmtWaitOnMultipleEvents(dup, 3, true, 0), 0, "all of one manual event, named three times");
	dup[0] = dup[1] = dup[2] = ev[0];
	hsaKmtSetEvent(ev[0]);
	tap_is(hsaKmtWaitOnMultipleEvents(dup, 3, false, 0), 0, "any of one auto event, named three times");
	tap_is(kfd_call(fd, AMDKFD_IOC_WAIT_EVENTS, &none), 0, "a wait for no events");
	tap_is(none.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE, "is complete");
	for (i = 0; i < 4; i++)
		hsaKmtDestroyEvent(ev[i]);
}

static void test_age(void)
{
	HsaEvent *ev = event(HSA_EVENTTYPE_SIGNAL, false);
	uint64_t age = 1, other = 1, zero = 0;
	unsigned int i;

	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &age), HSAKMT_STATUS_WAIT_TIMEOUT, "age 1 is that of a new event");
	tap_is((int64_t)age, 1, "and stays");
	for (i = 2; i <= 5; i++) {
		hsaKmtSetEvent(ev);
		if (hsaKmtWaitOnEvent_Ext(ev, 0, &age) != 0 || age != i)
			break;
	}
	tap_is(i, 6, "each signal is one age: 2, 3, 4, 5");
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &age), HSAKMT_STATUS_WAIT_TIMEOUT, "age 5 is current");
	/* bug 8: somebody who comes late still learns that the event fired. */
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &other), 0, "a second waiter with an old age returns at once");
	tap_is((int64_t)other, 5, "with the current age");
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &zero), HSAKMT_STATUS_WAIT_TIMEOUT, "age 0 asks for a signal");
	hsaKmtSetEvent(ev);
	hsaKmtSetEvent(ev);
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &zero), 0, "and gets one");
	tap_is((int64_t)zero, 0, "age 0 is left alone");
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &age), 0, "two signals later");
	tap_is((int64_t)age, 7, "the age is two higher");
	hsaKmtDestroyEvent(ev);
}

struct waiter {
	HsaEvent *ev;
	uint64_t age;
	_Atomic pid_t tid;	/* set last before the wait */
	HSAKMT_STATUS status;
};

static void *wait_plain(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	w->status = hsaKmtWaitOnEvent(w->ev, LONG_MS);
	return NULL;
}

static void *wait_age(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	w->status = hsaKmtWaitOnEvent_Ext(w->ev, LONG_MS, &w->age);
	return NULL;
}

static pthread_t start_waiter(struct waiter *w, void *(*fn)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, w))
		tap_bail("no thread");
	while (!w->tid)
		;
	if (!wait_asleep(w->tid, LONG_MS))
		tap_bail("the waiter does not sleep");
	return t;
}

static void test_waiters(int fd)
{
	struct kfd_ioctl_destroy_event_args d = { 0 };
	struct waiter a = { .ev = event(HSA_EVENTTYPE_SIGNAL, false), .age = 1 };
	struct waiter b = { .ev = a.ev, .age = 1 };
	struct waiter c = { .ev = event(HSA_EVENTTYPE_SIGNAL, false) };
	pthread_t ta, tb;
	uint64_t t;

	ta = start_waiter(&a, wait_age);
	tb = start_waiter(&b, wait_age);
	hsaKmtSetEvent(a.ev);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	tap_ok(a.status == 0 && b.status == 0, "one signal wakes both sleepers");
	tap_ok(a.age == 2 && b.age == 2, "with the new age");
	tap_is(hsaKmtWaitOnEvent(a.ev, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "and nothing stays latched");

	ta = start_waiter(&c, wait_plain);
	/* By ioctl: the thunk would free the structure the waiter still uses. */
	d.event_id = c.ev->EventId;
	t = now_ns();
	tap_is(kfd_call(fd, AMDKFD_IOC_DESTROY_EVENT, &d), 0, "destroy an event somebody waits for");
	pthread_join(ta, NULL);
	tap_is(c.status, HSAKMT_STATUS_ERROR, "the waiter returns with an error");
	tap_ok(now_ns() - t < LONG_MS / 2 * 1000000ull, "long before its time-out");
	hsaKmtDestroyEvent(a.ev);
}

int main(void)
{
	HSAKMT_STATUS s;
	int fd;

	tap_begin(300);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	fd = kfd_open();
	test_reset_modes();
	test_other_types(fd);
	test_any_all(fd);
	test_age();
	test_waiters(fd);
	close(fd);
	gpu_close();
	return tap_done();
}
