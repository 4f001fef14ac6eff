// SPDX-License-Identifier: MIT
/*
 * Time-outs of a wait, and what signals do to it: a wait that is restarted goes
 * on with the time that was left (bug 5), and an event that fires in between is
 * not lost. Bounds are counts of signals, not times.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd.h"
#include "tap.h"

#define LONG_MS		60000u
#define STORM_US	2000
#define STORM_LIMIT	10000	/* 20 s of signals: far more than any wait here needs */
#define ROUNDS		200

static struct gpu gpu;
static int kfd_fd;
static _Atomic unsigned int storm_signals;
static _Atomic bool storm_exceeded;

static void storm_stop(void)
{
	struct itimerval off = { 0 };

	setitimer(ITIMER_REAL, &off, NULL);
}

static void storm_signal(int sig)
{
	(void)sig;
	if (++storm_signals >= STORM_LIMIT) {
		storm_exceeded = true;
		storm_stop();
	}
}

static void storm_start(bool restart)
{
	struct sigaction sa = { .sa_handler = storm_signal, .sa_flags = restart ? SA_RESTART : 0 };
	struct itimerval on = {
		.it_interval = { .tv_usec = STORM_US },
		.it_value = { .tv_usec = STORM_US },
	};

	storm_signals = 0;
	storm_exceeded = false;
	if (sigaction(SIGALRM, &sa, NULL) || setitimer(ITIMER_REAL, &on, NULL))
		tap_bail("cannot start the signals");
}

static HsaEvent *event(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);

	if (!ev)
		tap_bail("no event");
	return ev;
}

static void test_timeouts(HsaEvent *ev)
{
	static const unsigned int ms[] = { 1, 20, 150 };
	unsigned int i;
	uint64_t t;

	tap_is(hsaKmtWaitOnEvent(ev, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "time-out 0 returns");
	for (i = 0; i < 3; i++) {
		t = now_ns();
		tap_is(hsaKmtWaitOnEvent(ev, ms[i]), HSAKMT_STATUS_WAIT_TIMEOUT, "%u ms time out", ms[i]);
		tap_ok(now_ns() - t >= ms[i] * 1000000ull, "and not too early");
	}
	hsaKmtSetEvent(ev);
	tap_is(hsaKmtWaitOnEvent(ev, HSA_EVENTTIMEOUT_INFINITE), 0, "an infinite wait for a set event");
	hsaKmtSetEvent(ev);
	tap_is(hsaKmtWaitOnEvent(ev, 0xfffffffe), 0, "the longest finite wait for a set event");
}

static struct kfd_ioctl_wait_events_args wait_args(struct kfd_event_data *data, HsaEvent *ev,
						   uint32_t timeout)
{
	*data = (struct kfd_event_data){ .event_id = ev->EventId };
	return (struct kfd_ioctl_wait_events_args){
		.events_ptr = (uint64_t)(uintptr_t)data,
		.num_events = 1,
		.timeout = timeout,
	};
}

/* The kernel restarts the call by itself. */
static void test_restart(HsaEvent *ev)
{
	struct kfd_event_data data;
	struct kfd_ioctl_wait_events_args w = wait_args(&data, ev, 300);
	uint64_t t = now_ns();
	int r;

	storm_start(true);
	r = kfd_call(kfd_fd, AMDKFD_IOC_WAIT_EVENTS, &w);
	storm_stop();
	t = now_ns() - t;
	tap_is(r, 0, "a wait of 300 ms under a storm of restarting signals");
	tap_is(w.wait_result, KFD_IOC_WAIT_RESULT_TIMEOUT, "times out");
	tap_ok(!storm_exceeded, "before %u signals came (%u did)", STORM_LIMIT, storm_signals);
	tap_ok(storm_signals > 0, "and the signals did come");
	tap_ok(t >= 250 * 1000000ull, "its time was not cut short (%llu ms)",
	       (unsigned long long)t / 1000000);
	tap_ok(w.timeout < 300, "the time left was written back");
}

/* Without SA_RESTART the call ends with EINTR and the caller repeats it, as the thunk does. */
static void test_eintr(HsaEvent *ev)
{
	struct kfd_event_data data;
	struct kfd_ioctl_wait_events_args w = wait_args(&data, ev, 300);
	unsigned int repeats = 0;
	uint32_t last = 300;
	bool grew = false;
	int r;

	storm_start(false);
	while ((r = kfd_call(kfd_fd, AMDKFD_IOC_WAIT_EVENTS, &w)) == -EINTR && !storm_exceeded) {
		grew |= w.timeout > last;
		last = w.timeout;
		repeats++;
	}
	storm_stop();
	tap_is(r, 0, "a wait of 300 ms under a storm of interrupting signals");
	tap_is(w.wait_result, KFD_IOC_WAIT_RESULT_TIMEOUT, "times out");
	tap_ok(!storm_exceeded && repeats > 0, "after some repeats (%u)", repeats);
	tap_ok(!grew, "the time left never grows");

	w = wait_args(&data, ev, LONG_MS);
	storm_start(false);
	r = kfd_call(kfd_fd, AMDKFD_IOC_WAIT_EVENTS, &w);
	storm_stop();
	tap_is(r, -EINTR, "a long wait is interrupted");
	tap_ok(w.timeout > 0 && w.timeout <= LONG_MS, "with the time that is left");
	w = wait_args(&data, ev, HSA_EVENTTIMEOUT_INFINITE);
	storm_start(false);
	r = kfd_call(kfd_fd, AMDKFD_IOC_WAIT_EVENTS, &w);
	storm_stop();
	tap_is(r, -EINTR, "an infinite wait is interrupted");
	tap_is(w.timeout, HSA_EVENTTIMEOUT_INFINITE, "and stays infinite");
}

struct race {
	HsaEvent *ev;
	sem_t go;
	unsigned int rounds;
};

static void *setter(void *arg)
{
	struct race *race = arg;
	unsigned int i;

	for (i = 0; i < race->rounds; i++) {
		sem_wait(&race->go);
		hsaKmtSetEvent(race->ev);
	}
	return NULL;
}

/* An auto-reset event that is taken by an interrupted wait must come back. */
static void test_no_loss(HsaEvent *ev)
{
	struct race race = { .ev = ev, .rounds = ROUNDS };
	unsigned int i, lost = 0, twice = 0;
	sigset_t alrm;
	pthread_t t;

	sigemptyset(&alrm);
	sigaddset(&alrm, SIGALRM);
	sem_init(&race.go, 0, 0);
	/* The signals are for this thread, which waits. */
	pthread_sigmask(SIG_BLOCK, &alrm, NULL);
	if (pthread_create(&t, NULL, setter, &race))
		tap_bail("no thread");
	pthread_sigmask(SIG_UNBLOCK, &alrm, NULL);
	storm_start(true);
	for (i = 0; i < ROUNDS; i++) {
		sem_post(&race.go);
		if (event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS) {
			lost++;
			break;
		}
		twice += hsaKmtWaitOnEvent(ev, 0) != HSAKMT_STATUS_WAIT_TIMEOUT;
	}
	storm_stop();
	tap_is(lost, 0, "%u signals under the storm: none is lost", ROUNDS);
	tap_is(twice, 0, "and none comes twice");
	for (; i < ROUNDS - 1; i++)
		sem_post(&race.go);
	pthread_join(t, NULL);
}

int main(void)
{
	HSAKMT_STATUS s;
	HsaEvent *ev;

	tap_begin(300);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	kfd_fd = kfd_open();
	ev = event();
	test_timeouts(ev);
	test_restart(ev);
	test_eintr(ev);
	test_no_loss(ev);
	hsaKmtDestroyEvent(ev);
	close(kfd_fd);
	gpu_close();
	return tap_done();
}
