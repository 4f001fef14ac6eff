// SPDX-License-Identifier: MIT
/*
 * Hundreds of events, tens of threads that create, wait, signal (by queue and by
 * SET_EVENT), reset and destroy what any of them made, in processes of which some are
 * killed at a counted operation. A fixed number of operations, the same sequence every
 * time for each thread. Meanwhile and afterwards: a thread's own event never loses a
 * signal, and all that was taken comes back.
 *
 * Mutations it was seen to fail with: destroy_event() leaves the id in the table;
 * vkfd_event_take_slot() without the event's lock.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define LIMIT		(KFD_SIGNAL_EVENT_LIMIT - 1)
#define PROCESSES	3u
#define THREADS		8u
#define QUEUES		4u	/* of a process; two threads share one */
#define EVENTS		250u	/* of a process */
#define OPS_FULL	40000u	/* of a thread */
#define VICTIMS_FULL	200u
#define WAIT_MAX	16u
#define RING_BYTES	16384u

/**
 * struct shared - of the threads of one process
 * @id: ids that may or may not exist: used by every thread without any lock
 * @page: the signal page, as this process sees it
 * @ops: operations of all threads so far
 * @kill_at: the process dies with this operation; 0: never
 * @lost: signals of private events that did not arrive
 * @odd: results no call may have
 */
struct shared {
	int fd;
	struct gpu gpu;
	_Atomic uint32_t id[EVENTS];
	volatile uint64_t *page;
	struct queue q[QUEUES];
	pthread_mutex_t queue_lock[QUEUES];
	_Atomic unsigned int ops, lost, odd;
	unsigned int kill_at, ops_per_thread;
};

struct worker {
	struct shared *sh;
	pthread_t thread;
	unsigned int number;
	uint64_t rnd;
};

static uint32_t rnd(struct worker *w, uint32_t below)
{
	w->rnd ^= w->rnd << 13;
	w->rnd ^= w->rnd >> 7;
	w->rnd ^= w->rnd << 17;
	return (uint32_t)(w->rnd >> 16) % below;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* A result of an event that others may destroy, or have destroyed, at any time. */
static void expect(struct shared *sh, int r)
{
	if (r && r != -EINVAL && r != -EIO && r != -EINTR)
		sh->odd++;
}

static void gpu_signal(struct shared *sh, unsigned int thread, uint32_t id)
{
	unsigned int n = thread % QUEUES;
	uint32_t *p;

	pthread_mutex_lock(&sh->queue_lock[n]);
	p = queue_reserve_wait(&sh->q[n], PM4_RELEASE_MEM_DW, LONG_MS);
	if (p) {
		queue_commit(&sh->q[n], pm4_signal(p, &sh->page[id], id));
		queue_submit(&sh->q[n]);
	} else {
		sh->lost++;
	}
	pthread_mutex_unlock(&sh->queue_lock[n]);
}

static void do_create(struct worker *w, _Atomic uint32_t *id)
{
	struct kfd_ioctl_create_event_args c = {
		.event_type = rnd(w, 8) ? KFD_IOC_EVENT_SIGNAL : KFD_IOC_EVENT_MEMORY,
		.auto_reset = rnd(w, 2),
	};
	struct kfd_ioctl_destroy_event_args d;
	int r = kfd_call(w->sh->fd, AMDKFD_IOC_CREATE_EVENT, &c);

	if (r) {
		expect(w->sh, r);
		return;
	}
	/* What was there before is destroyed, by whoever gets it out. */
	d = (struct kfd_ioctl_destroy_event_args){ .event_id = atomic_exchange(id, c.event_id) };
	if (d.event_id)
		expect(w->sh, kfd_call(w->sh->fd, AMDKFD_IOC_DESTROY_EVENT, &d));
}

static void do_wait(struct worker *w)
{
	struct kfd_event_data data[WAIT_MAX];
	struct kfd_ioctl_wait_events_args a = {
		.events_ptr = (uint64_t)(uintptr_t)data,
		.num_events = 1 + rnd(w, rnd(w, 4) ? 3 : WAIT_MAX),
		.wait_for_all = !rnd(w, 4),
		.timeout = rnd(w, 3),
	};
	unsigned int i;

	memset(data, 0, sizeof(data));
	for (i = 0; i < a.num_events; i++) {
		data[i].event_id = w->sh->id[rnd(w, EVENTS)];
		data[i].signal_event_data.last_event_age = rnd(w, 3);
	}
	expect(w->sh, kfd_call(w->sh->fd, AMDKFD_IOC_WAIT_EVENTS, &a));
}

static void one_operation(struct worker *w)
{
	struct shared *sh = w->sh;
	_Atomic uint32_t *slot = &sh->id[rnd(w, EVENTS)];
	struct kfd_ioctl_destroy_event_args d;
	struct kfd_ioctl_set_event_args s;
	uint32_t id = *slot;

	switch (rnd(w, 16)) {
	case 0 ... 2:
		do_create(w, slot);
		break;
	case 3:
		d = (struct kfd_ioctl_destroy_event_args){ .event_id = atomic_exchange(slot, 0) };
		expect(sh, kfd_call(sh->fd, AMDKFD_IOC_DESTROY_EVENT, &d));
		break;
	case 4 ... 6:
		s = (struct kfd_ioctl_set_event_args){ .event_id = id };
		expect(sh, kfd_call(sh->fd, AMDKFD_IOC_SET_EVENT, &s));
		break;
	case 7:
		s = (struct kfd_ioctl_set_event_args){ .event_id = id };
		expect(sh, kfd_call(sh->fd, AMDKFD_IOC_RESET_EVENT, &s));
		break;
	case 8 ... 10:
		/* Also of an event that has just gone: its slot is nobody's then. */
		if (id && id <= LIMIT)
			gpu_signal(sh, w->number, id);
		break;
	default:
		do_wait(w);
	}
}

static void *stress(void *arg)
{
	struct worker *w = arg;
	struct shared *sh = w->sh;
	unsigned int i;
	HsaEvent *own;

	own = event_new(&sh->gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!own) {
		sh->odd++;
		return NULL;
	}
	for (i = 0; i < sh->ops_per_thread; i++) {
		if (sh->ops++ + 1 == sh->kill_at)
			kill(getpid(), SIGKILL);
		one_operation(w);
		if (i % 64 != w->number)
			continue;
		/* In the midst of it all, what is this thread's alone must work. */
		gpu_signal(sh, w->number, own->EventId);
		if (event_wait(own, LONG_MS) != HSAKMT_STATUS_SUCCESS) {
			sh->lost++;
			break;
		}
	}
	hsaKmtDestroyEvent(own);
	return NULL;
}

static bool prepare(struct shared *sh)
{
	struct sigaction sa = { .sa_handler = on_signal };
	HsaEvent *first;
	unsigned int i;

	sigaction(SIGUSR1, &sa, NULL);
	if (gpu_open(&sh->gpu) != HSAKMT_STATUS_SUCCESS)
		return false;
	sh->fd = kfd_open();
	first = event_new(&sh->gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!first)
		return false;
	sh->page = event_slot(first) - first->EventId;
	for (i = 0; i < QUEUES; i++) {
		pthread_mutex_init(&sh->queue_lock[i], NULL);
		if (queue_create(&sh->q[i], &sh->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			return false;
	}
	return true;
}

/* All ids can be had again: none is left behind. */
static bool ids_are_back(struct shared *sh)
{
	struct kfd_ioctl_create_event_args c;
	struct kfd_ioctl_destroy_event_args d;
	static uint32_t id[LIMIT];
	unsigned int i, n;

	for (i = 0; i < EVENTS; i++) {
		d = (struct kfd_ioctl_destroy_event_args){ .event_id = sh->id[i] };
		if (d.event_id)
			kfd_call(sh->fd, AMDKFD_IOC_DESTROY_EVENT, &d);
	}
	for (n = 0; n < LIMIT; n++) {
		c = (struct kfd_ioctl_create_event_args){ .event_type = KFD_IOC_EVENT_SIGNAL };
		if (kfd_call(sh->fd, AMDKFD_IOC_CREATE_EVENT, &c))
			break;
		id[n] = c.event_id;
	}
	for (i = 0; i < n; i++) {
		d = (struct kfd_ioctl_destroy_event_args){ .event_id = id[i] };
		if (kfd_call(sh->fd, AMDKFD_IOC_DESTROY_EVENT, &d))
			return false;
	}
	/* One is the first event of all. */
	return n == LIMIT - 1;
}

enum { FINE, CANNOT_START, LOST, ODD, IDS_GONE, QUEUE_DEAD };

static int stress_process(unsigned int number, unsigned int ops, unsigned int kill_at)
{
	static struct worker w[THREADS];
	static struct shared sh;
	unsigned int i, k;

	sh.kill_at = kill_at;
	sh.ops_per_thread = ops;
	if (!prepare(&sh))
		return CANNOT_START;
	for (i = 0; i < THREADS; i++) {
		w[i].sh = &sh;
		w[i].number = i;
		w[i].rnd = 0x9e3779b97f4a7c15ull * (1 + number * THREADS + i);
		if (pthread_create(&w[i].thread, NULL, stress, &w[i]))
			return CANNOT_START;
	}
	/* Waits are interrupted: one signal for every sixteenth operation. */
	for (k = 1; k < ops * THREADS / 16; k++) {
		while (sh.ops < k * 16 && !sh.lost && !sh.odd)
			sched_yield();
		pthread_kill(w[k % THREADS].thread, SIGUSR1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	for (i = 0; i < QUEUES; i++)
		if (!queue_wait_idle(&sh.q[i], LONG_MS) || queue_destroy(&sh.q[i]))
			return QUEUE_DEAD;
	if (sh.lost)
		return LOST;
	if (sh.odd)
		return ODD;
	return ids_are_back(&sh) ? FINE : IDS_GONE;
}

static pid_t start(unsigned int number, unsigned int ops, unsigned int kill_at)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid)
		_exit(stress_process(number, ops, kill_at));
	return pid;
}

static void test_run(unsigned int ops)
{
	static const char *const why[] = {
		"fine", "could not start", "a private signal was lost", "a call had an odd result",
		"event ids are gone", "a queue stands still",
	};
	unsigned int i, good = 0;
	pid_t pid[PROCESSES];
	int status;

	for (i = 0; i < PROCESSES; i++)
		pid[i] = start(i, ops, 0);
	for (i = 0; i < PROCESSES; i++) {
		if (waitpid(pid[i], &status, 0) != pid[i])
			tap_bail("waitpid: %m");
		good += !status;
		if (WIFEXITED(status) && WEXITSTATUS(status) && WEXITSTATUS(status) <= QUEUE_DEAD)
			tap_diag("process %u: %s", i, why[WEXITSTATUS(status)]);
		else if (status)
			tap_diag("process %u: status 0x%x", i, (unsigned int)status);
	}
	tap_is(good, PROCESSES, "%u processes of %u threads with %u events, %u operations a thread: nothing lost or left",
	       PROCESSES, THREADS, EVENTS, ops);
}

/* Killed with operation 1, 8, 15, ...: creating, waiting, with work on the queues. */
static void test_killed(unsigned int victims)
{
	unsigned int i, killed = 0;
	int status;
	pid_t pid;

	for (i = 0; i < victims; i++) {
		pid = start(i, 1000, 1 + i * 7);
		if (waitpid(pid, &status, 0) != pid)
			tap_bail("waitpid: %m");
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	}
	tap_is(killed, victims, "%u processes are killed in the midst of it, at a counted operation", victims);
}

static uint64_t available(void)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = kfd_gpu_id(NULL) };
	int fd = kfd_open(), r = kfd_call(fd, AMDKFD_IOC_AVAILABLE_MEMORY, &a);

	close(fd);
	if (r)
		tap_bail("AVAILABLE_MEMORY: errno %d", -r);
	return a.available;
}

static void all_is_well(void *arg)
{
	static struct queue q[24];
	unsigned int i, good = 0;
	struct gpu gpu;
	HsaEvent *ev;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS || !(ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false)))
		tap_bail("no GPU or event after the stress");
	for (i = 0; i < 24; i++) {
		uint32_t *p;

		if (queue_create(&q[i], &gpu, 4096) != HSAKMT_STATUS_SUCCESS)
			break;
		p = queue_reserve(&q[i], PM4_RELEASE_MEM_DW);
		queue_commit(&q[i], pm4_signal(p, event_slot(ev), ev->EventId));
		queue_submit(&q[i]);
		good += event_wait(ev, LONG_MS) == HSAKMT_STATUS_SUCCESS;
	}
	tap_is(good, 24, "all queues can be had after that, and complete");
}

int main(void)
{
	int64_t references, now;
	uint64_t memory, end;

	tap_begin(tap_full() ? 3500 : 290);
	memory = available();
	close(kfd_open());
	references = driver_references();
	test_run(scaled(OPS_FULL, OPS_FULL / 20));
	test_killed(scaled(VICTIMS_FULL, VICTIMS_FULL / 20));
	tap_child("afterwards", all_is_well, NULL);
	end = now_ns() + LONG_MS * 1000000ull;
	do {
		/* An open waits for the teardown of the dead. */
		close(kfd_open());
		now = driver_references();
	} while (now > references && now_ns() < end);
	tap_ok(now >= 0 && now <= references, "no process is left in the driver");
	tap_is((int64_t)available(), (int64_t)memory, "no memory of the GPU is gone");
	return tap_done();
}
