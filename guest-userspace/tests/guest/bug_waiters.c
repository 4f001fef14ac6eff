// SPDX-License-Identifier: MIT
/*
 * Known bugs of waiting: signals of the system, several waiters of one event, wake-ups
 * that nobody asked for. docs/known-bugs-coverage.md says what the numbers mean. At each
 * test: the mutation of the driver that it was seen to fail with.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"
#include "waiter.h"

#define LONG_MS		60000u
#define WAITERS		16u
#define RESTARTS	50u
#define RING_BYTES	4096u

#define STORM_PROCESSES	4u
#define STORM_THREADS	4u
#define STORM_NS	3000000l

static struct gpu gpu;
static struct queue q;

static HsaEvent *event(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);

	if (!ev)
		tap_bail("no event");
	return ev;
}

static void gpu_signal(struct queue *on, const HsaEvent *ev)
{
	uint32_t *p = queue_reserve_wait(on, PM4_RELEASE_MEM_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(on, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(on);
}

/* ---- bug 5: a wait that is interrupted after it took something ---------------- */

struct all_wait {
	int fd;
	HsaEvent *ev[2];
	struct kfd_event_data data[2];
	struct kfd_ioctl_wait_events_args args;
	int result;
	_Atomic pid_t tid;
};

static _Atomic unsigned int handled;

static void count_signal(int sig)
{
	(void)sig;
	handled++;
}

static void *wait_all(void *arg)
{
	struct all_wait *w = arg;
	unsigned int i;

	for (i = 0; i < 2; i++)
		w->data[i] = (struct kfd_event_data){ .event_id = w->ev[i]->EventId };
	w->args = (struct kfd_ioctl_wait_events_args){
		.events_ptr = (uint64_t)(uintptr_t)w->data,
		.num_events = 2,
		.wait_for_all = 1,
		.timeout = LONG_MS,
	};
	w->tid = gettid();
	w->result = kfd_call(w->fd, AMDKFD_IOC_WAIT_EVENTS, &w->args);
	return NULL;
}

static pthread_t start_all(struct all_wait *w, int flags)
{
	struct sigaction sa = { .sa_handler = count_signal, .sa_flags = flags };
	pthread_t t;

	handled = 0;
	w->tid = 0;
	if (sigaction(SIGUSR1, &sa, NULL) || pthread_create(&t, NULL, wait_all, w))
		tap_bail("no thread");
	while (!w->tid)
		sched_yield();
	if (!wait_asleep(w->tid, LONG_MS))
		tap_bail("the wait does not sleep");
	return t;
}

/* Mutation: dequeue() never gives back what the wait had consumed. */
static void test_given_back(int fd)
{
	struct all_wait w = { .fd = fd, .ev = { event(), event() } };
	unsigned int i;
	pthread_t t;

	/* The wait for both takes the first; then it is interrupted. */
	t = start_all(&w, 0);
	hsaKmtSetEvent(w.ev[0]);
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	tap_is(w.result, -EINTR, "bug 5: a wait for all is interrupted when it has half of them");
	tap_is(hsaKmtWaitOnEvent(w.ev[0], 0), 0, "bug 5: what it had taken is there for the next wait");
	tap_is(hsaKmtWaitOnEvent(w.ev[0], 0), HSAKMT_STATUS_WAIT_TIMEOUT, "bug 5: once");

	t = start_all(&w, SA_RESTART);
	hsaKmtSetEvent(w.ev[0]);
	for (i = 1; i <= RESTARTS; i++) {
		pthread_kill(t, SIGUSR1);
		while (handled < i)
			sched_yield();
	}
	hsaKmtSetEvent(w.ev[1]);
	pthread_join(t, NULL);
	tap_ok(!w.result && w.args.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE,
	       "bug 5: restarted %u times, it still has it and completes", RESTARTS);
	tap_ok(w.args.timeout <= LONG_MS, "bug 5: and the time left has not grown");
	tap_is(hsaKmtWaitOnMultipleEvents(w.ev, 2, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT,
	       "bug 5: neither is signalled after that");
	hsaKmtDestroyEvent(w.ev[0]);
	hsaKmtDestroyEvent(w.ev[1]);
}

/* ---- bugs 8 and 76: several waiters of one event ------------------------------ */

/* Mutations: vkfd_event_activate_idle() stops behind the first waiter; vkfd_waiter_begin()
 * does not look at ages. */
static void test_ages(void)
{
	struct waiter w[WAITERS];
	uint64_t age[WAITERS], late = 1;
	unsigned int i, missed = 0, wrong = 0;
	HsaEvent *ev = event();

	for (i = 0; i < WAITERS; i++) {
		age[i] = 1;
		w[i] = (struct waiter){ .events = &ev, .n = 1, .ms = LONG_MS, .ages = &age[i] };
		waiter_start(&w[i]);
	}
	gpu_signal(&q, ev);
	for (i = 0; i < WAITERS; i++) {
		missed += waiter_join(&w[i]) != HSAKMT_STATUS_SUCCESS;
		wrong += age[i] != 2;
	}
	tap_is(missed, 0, "bug 8: one interrupt wakes %u waiters by age", WAITERS);
	tap_is(wrong, 0, "bug 8: all with the next age");
	tap_is(hsaKmtWaitOnEvent_Ext(ev, 0, &late), 0, "bug 8: who looked before and sleeps after it learns of it");
	tap_is((int64_t)late, 2, "bug 8: with the same age");
	tap_is(hsaKmtWaitOnEvent(ev, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "bug 8: nothing is left");
	hsaKmtDestroyEvent(ev);
}

/* Mutation: vkfd_event_activate_idle() stops behind the first waiter. */
static void test_monitor(void)
{
	HsaEvent *ev = event(), *other = event(), *both[2] = { other, ev };
	struct waiter monitor = { .events = both, .n = 2, .ms = LONG_MS };
	struct waiter app = { .events = &ev, .n = 1, .ms = LONG_MS };
	unsigned int i, missed = 0, rounds = scaled(200, 50);

	for (i = 0; i < rounds && !missed; i++) {
		waiter_start(&monitor);
		waiter_start(&app);
		gpu_signal(&q, ev);
		missed += waiter_join(&app) != HSAKMT_STATUS_SUCCESS;
		missed += waiter_join(&monitor) != HSAKMT_STATUS_SUCCESS;
	}
	tap_is(missed, 0, "bug 76: the application and a monitor of all events, asleep on one, both hear");
	hsaKmtDestroyEvent(ev);
	hsaKmtDestroyEvent(other);
}

/* Mutation: vkfd_slot_is_signaled() is always true. */
static void test_nothing_made_up(void)
{
	HsaEvent *never = event(), *busy = event();
	struct waiter w = { .events = &never, .n = 1, .ms = LONG_MS };
	unsigned int i, failed = 0;
	uint32_t *p;

	waiter_start(&w);
	for (i = 0; i < 100; i++) {
		/* One that makes the driver look at everybody's slot, one that is real. */
		p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);
		queue_commit(&q, pm4_release_mem(p, 0, RELEASE_MEM_DATA_NONE, 0, RELEASE_MEM_INT_ONLY,
						 0x7fffffff));
		gpu_signal(&q, busy);
		failed += event_wait(busy, LONG_MS) != HSAKMT_STATUS_SUCCESS;
	}
	tap_is(failed, 0, "bug E16: 100 signals of another event arrive");
	tap_ok(!w.done, "bug E16: and do not complete a wait for one that never came");
	hsaKmtSetEvent(never);
	tap_is(waiter_join(&w), 0, "bug E16: which completes when it does");
	hsaKmtDestroyEvent(never);
	hsaKmtDestroyEvent(busy);
}

/* ---- bug 7: many processes wait under a storm of signals ---------------------- */

struct storm {
	struct queue q;
	HsaEvent *ev;
	unsigned int rounds, done;
	_Atomic unsigned int *hits;
	pthread_t thread;
};

static void storm_signal(int sig)
{
	(void)sig;
	handled++;
}

static void *storm_thread(void *arg)
{
	struct itimerspec when = { .it_interval = { .tv_nsec = STORM_NS }, .it_value = { .tv_nsec = STORM_NS } };
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	struct storm *s = arg;
	timer_t timer;

#ifdef sigev_notify_thread_id
	to.sigev_notify_thread_id = gettid();
#else
	to._sigev_un._tid = gettid();
#endif
	if (timer_create(CLOCK_MONOTONIC, &to, &timer) || timer_settime(timer, 0, &when, NULL))
		return NULL;
	while (s->done < s->rounds) {
		gpu_signal(&s->q, s->ev);
		if (event_wait(s->ev, LONG_MS) != HSAKMT_STATUS_SUCCESS)
			break;
		s->done++;
	}
	timer_delete(timer);
	return NULL;
}

static void storm_process(unsigned int rounds)
{
	struct sigaction sa = { .sa_handler = storm_signal, .sa_flags = SA_RESTART };
	static struct storm s[STORM_THREADS];
	unsigned int i, bad = 0;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS || sigaction(SIGUSR2, &sa, NULL))
		_exit(100);
	for (i = 0; i < STORM_THREADS; i++) {
		s[i].rounds = rounds;
		s[i].ev = event();
		if (queue_create(&s[i].q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			_exit(101);
	}
	for (i = 0; i < STORM_THREADS; i++)
		if (pthread_create(&s[i].thread, NULL, storm_thread, &s[i]))
			_exit(102);
	for (i = 0; i < STORM_THREADS; i++) {
		pthread_join(s[i].thread, NULL);
		bad += s[i].done != rounds;
	}
	/* A storm that never broke would prove nothing. */
	_exit(handled ? (int)bad : 103);
}

/* Mutation: sleep_on() looks for signals before it looks whether the wait is complete,
 * and dequeue() never gives back. */
static void test_storm(void)
{
	unsigned int rounds = scaled(2000, 200), i, good = 0;
	pid_t pid[STORM_PROCESSES];
	int status;

	fflush(NULL);
	for (i = 0; i < STORM_PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			tap_bail("fork: %m");
		if (!pid[i])
			storm_process(rounds);
	}
	for (i = 0; i < STORM_PROCESSES; i++) {
		if (waitpid(pid[i], &status, 0) != pid[i])
			tap_bail("waitpid: %m");
		if (!status)
			good++;
		else
			tap_diag("process %u: status 0x%x", i, (unsigned int)status);
	}
	tap_is(good, STORM_PROCESSES, "bug 7: %u processes with %u waiters each come through %u waits under signals",
	       STORM_PROCESSES, STORM_THREADS, rounds);
}

int main(void)
{
	HSAKMT_STATUS s;
	int fd;

	tap_begin(300);
	test_storm();
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	fd = kfd_open();
	test_given_back(fd);
	test_ages();
	test_monitor();
	test_nothing_made_up();
	close(fd);
	queue_destroy(&q);
	gpu_close();
	return tap_done();
}
