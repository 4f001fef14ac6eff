// SPDX-License-Identifier: MIT
/*
 * More processes than doorbell slices: idle ones lose theirs, busy ones take turns, and
 * nobody notices: no doorbell is lost, none reaches another process, a queue with work to
 * do goes on without being rung again. How many slices there are is set for each test.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "pm4.h"
#include "queue.h"
#include "raw.h"
#include "tap.h"

#define LONG_MS		240000u
#define QUEUES		4u
#define MAX_PROCESSES	300u
#define ALL_SLICES	"254"

static const uint32_t types[QUEUES] = {
	KFD_IOC_QUEUE_TYPE_COMPUTE, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, KFD_IOC_QUEUE_TYPE_SDMA,
	KFD_IOC_QUEUE_TYPE_COMPUTE,
};

static struct member {
	pid_t pid;
	int go, told;
} members[MAX_PROCESSES];

static void set_slices(unsigned int n)
{
	char value[16];

	snprintf(value, sizeof(value), "%u", n);
	if (driver_set_parameter("doorbell_slices", value))
		tap_bail("doorbell_slices = %u", n);
}

/* Slice of process @pid as debugfs shows it, -1 for none. */
static int slice_of(pid_t pid)
{
	FILE *f = fopen("/sys/kernel/debug/kfd/doorbells", "re");
	int slice, owner, found = -1;
	char line[128];

	if (!f)
		tap_bail("no debugfs: %m");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %d process %d", &slice, &owner) == 2 && owner == pid)
			found = slice;
	fclose(f);
	return found;
}

static int64_t evictions(void)
{
	return kfd_counter("doorbells", "evicted_idle") + kfd_counter("doorbells", "evicted_busy");
}

/* ---- children: each waits for a byte, does something, and answers with one ---- */

static char hear(int fd)
{
	char c = 0;

	return read(fd, &c, 1) == 1 ? c : 0;
}

static void tell(int fd, char c)
{
	if (write(fd, &c, 1) != 1)
		_exit(10);
}

static char ask(struct member *m, char c)
{
	if (write(m->go, &c, 1) != 1)
		tap_bail("a child is gone");
	return hear(m->told);
}

static void start(struct member *m, void (*run)(int go, int told))
{
	int go[2], told[2];

	if (pipe(go) || pipe(told))
		tap_bail("pipe: %m");
	m->pid = fork();
	if (m->pid < 0)
		tap_bail("fork: %m");
	if (!m->pid) {
		close(go[1]);
		close(told[0]);
		run(go[0], told[1]);
		_exit(0);
	}
	close(go[0]);
	close(told[1]);
	m->go = go[1];
	m->told = told[0];
}

static int end(struct member *m)
{
	int status = -1;

	/* Children that were started later have the pipe, too: closing it would not do. */
	if (write(m->go, "q", 1) != 1)
		tap_bail("a child is gone");
	if (waitpid(m->pid, &status, 0) != m->pid)
		tap_bail("wait: %m");
	close(m->go);
	close(m->told);
	return status;
}

static void create_all(struct raw_proc *r, struct raw_queue *q)
{
	unsigned int i;
	int err;

	raw_open(r, QUEUES);
	for (i = 0; i < QUEUES; i++) {
		err = raw_queue_create(&q[i], r, types[i]);
		if (err)
			tap_bail("queue %u of process %d: errno %d", i, (int)getpid(), -err);
	}
}

static bool all_run(struct raw_queue *q, uint64_t value)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		raw_put_write(&q[i], q[i].word, value + i);
		raw_submit(&q[i]);
	}
	for (i = 0; i < QUEUES; i++)
		if (!wait_word(q[i].word, value + i, LONG_MS))
			return false;
	return true;
}

/* 'r': all queues run once. */
static void worker(int go, int told)
{
	struct raw_queue q[QUEUES];
	struct raw_proc r;
	uint64_t value = 0;

	create_all(&r, q);
	tell(told, 'y');
	while (hear(go) == 'r')
		tell(told, all_run(q, value += QUEUES) ? 'y' : 'n');
}

/* Everybody's queues run, again and again, all processes at the same time. */
static void test_many(unsigned int processes, unsigned int slices, unsigned int rounds)
{
	unsigned int i, round, bad = 0;
	int64_t before = evictions();

	set_slices(slices);
	for (i = 0; i < processes; i++)
		start(&members[i], worker);
	for (i = 0; i < processes; i++)
		bad += hear(members[i].told) != 'y';
	tap_is(bad, 0, "%u processes create %u queues each on %u slices", processes, QUEUES, slices);
	if (bad)
		tap_bail("the rest makes no sense");
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < processes; i++)
			if (write(members[i].go, "r", 1) != 1)
				bad++;
		for (i = 0; i < processes; i++)
			bad += hear(members[i].told) != 'y';
	}
	tap_is(bad, 0, "all of them run %u times", rounds);
	tap_ok(kfd_counter("doorbells", "used") <= (int64_t)slices, "no more slices than that are in use");
	tap_ok(evictions() - before >= (int64_t)(processes - slices) * rounds,
	       "slices were taken %lld times", (long long)(evictions() - before));
	tap_diag("idle %lld, busy %lld, granted %lld, for work %lld, for stores %lld",
		 (long long)kfd_counter("doorbells", "evicted_idle"),
		 (long long)kfd_counter("doorbells", "evicted_busy"),
		 (long long)kfd_counter("doorbells", "grants"),
		 (long long)kfd_counter("doorbells", "restored"),
		 (long long)kfd_counter("doorbells", "faults"));
	for (i = 0; i < processes; i++)
		bad += end(&members[i]) != 0;
	tap_is(bad, 0, "and end");
	tap_is(kfd_counter_settle("doorbells", "used", 0, LONG_MS), 0, "their slices are free again");
}

/* 'g': a queue waits for memory; 'o': the CPU writes there, and rings nobody; 'w': it goes on. */
static void waiter(int go, int told)
{
	struct raw_queue q[QUEUES];
	struct raw_proc r;
	volatile uint64_t *gate;
	uint64_t value = 77;

	create_all(&r, q);
	gate = q[3].word;
	tell(told, 'y');
	for (;;) {
		switch (hear(go)) {
		case 'g':
			*gate = 0;
			raw_put_gate(&q[0], gate, 1);
			raw_put_write(&q[0], q[0].word, ++value);
			raw_submit(&q[0]);
			tell(told, 'y');
			break;
		case 'o':
			__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
			tell(told, 'y');
			break;
		case 'w':
			tell(told, wait_word(q[0].word, value, LONG_MS) ? 'y' : 'n');
			break;
		default:
			return;
		}
	}
}

/*
 * The gate of @m opens while @m has no slice, which somebody else may end at any time: again,
 * until it is sure that it did. False: it never came to that, or the queue did not go on.
 */
static bool opens_without(struct member *m)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	int64_t grants;
	bool without;

	for (;;) {
		do {
			if (now_ns() > end)
				return false;
			grants = kfd_counter("doorbells", "grants");
		} while (slice_of(m->pid) >= 0);
		ask(m, 'o');
		/* Had it got one since, and lost it again, there would be one grant more. */
		without = slice_of(m->pid) < 0 && kfd_counter("doorbells", "grants") == grants;
		if (ask(m, 'w') != 'y')
			return false;
		if (without)
			return true;
		ask(m, 'g');
	}
}

static void test_restored(void)
{
	struct member *a = &members[0], *b = &members[1], *c = &members[2];
	int64_t restored, busy;

	set_slices(1);
	start(a, waiter);
	hear(a->told);
	start(b, worker);
	hear(b->told);
	start(c, waiter);
	hear(c->told);
	busy = kfd_counter("doorbells", "evicted_busy");
	ask(a, 'g');
	tap_is(ask(b, 'r'), 'y', "a process runs beside one whose queue waits, and which has the only slice");
	tap_ok(kfd_counter("doorbells", "evicted_busy") > busy, "it was taken from a process with work to do");
	ask(c, 'g');
	/* Now the two take turns, and neither of them stores to a doorbell any more. */
	restored = kfd_counter("doorbells", "restored");
	tap_ok(kfd_counter_wait("doorbells", "restored", restored + 4, LONG_MS),
	       "two such processes take turns");
	tap_ok(opens_without(a), "what one waits for happens while it has no slice: it goes on");
	ask(c, 'o');
	tap_is(ask(c, 'w'), 'y', "so does the other");
	tap_is(end(a) | end(b) | end(c), 0, "all end");
}

/* 'p': packets in the ring that nobody has told the GPU of; 'c': have they run; 'u': tell. */
static void victim(int go, int told)
{
	struct raw_queue q[QUEUES];
	struct raw_proc r;

	create_all(&r, q);
	tell(told, 'y');
	for (;;) {
		switch (hear(go)) {
		case 'r':
			tell(told, all_run(q, 100) ? 'y' : 'n');
			break;
		case 'p':
			raw_put_write(&q[0], q[0].word, 55);
			tell(told, 'y');
			break;
		case 'c':
			tell(told, *q[0].word == 55 ? 'y' : 'n');
			break;
		case 'u':
			raw_submit(&q[0]);
			tell(told, wait_word(q[0].word, 55, LONG_MS) ? 'y' : 'n');
			break;
		default:
			return;
		}
	}
}

/*
 * Both have the same doorbell of their slice, and the same write pointer: were the mapping
 * of the first still there when the slice is the second's, its store would start packets
 * that the second has only written so far.
 */
static void test_isolation(void)
{
	struct member *a = &members[0], *b = &members[1];

	set_slices(1);
	start(a, victim);
	hear(a->told);
	start(b, victim);
	hear(b->told);
	tap_is(ask(a, 'r'), 'y', "the first runs");
	tap_is(ask(b, 'r'), 'y', "the second runs");
	tap_ok(slice_of(b->pid) == 0 && slice_of(a->pid) == -1, "and has the slice the first had");
	ask(b, 'p');
	ask(a, 'p');
	tap_is(ask(a, 'u'), 'y', "the first rings through its mapping, and its queue runs");
	tap_is(ask(b, 'c'), 'n', "the second's does not");
	tap_is(ask(b, 'u'), 'y', "before the second rings");
	tap_is(end(a) | end(b), 0, "both end");
}

/* 'r'; 'd': queue 3 rings the doorbell of queue 0 for the CPU. */
static void gpu_ringer(int go, int told)
{
	uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	struct raw_queue q[QUEUES];
	struct raw_proc r;
	uint64_t handle;
	char *bells;

	create_all(&r, q);
	bells = kfd_reserve_va(2 * GPU_PAGE);
	if (kfd_alloc(&r.p, gpu_va(bells), 2 * GPU_PAGE, flags, &handle, NULL) || kfd_map(&r.p, handle))
		tap_bail("no doorbells for the GPU");
	tell(told, 'y');
	for (;;) {
		switch (hear(go)) {
		case 'r':
			tell(told, all_run(q, 100) ? 'y' : 'n');
			break;
		case 'd':
			raw_put_write(&q[0], q[0].word, 66);
			raw_publish(&q[0]);
			raw_put_write(&q[3], (volatile uint64_t *)bells + q[0].slot, q[0].next);
			raw_submit(&q[3]);
			tell(told, wait_word(q[0].word, 66, LONG_MS) ? 'y' : 'n');
			break;
		case 'u':
			tell(told, kfd_unmap(&r.p, handle) || kfd_free(&r.p, handle) ? 'n' : 'y');
			break;
		default:
			return;
		}
	}
}

static void test_gpu_rings(void)
{
	struct member *a = &members[0], *b = &members[1], *c = &members[2];
	int first;

	set_slices(2);
	start(a, gpu_ringer);
	hear(a->told);
	tap_is(ask(a, 'd'), 'y', "a queue rings the doorbell of another");
	first = slice_of(a->pid);
	start(b, worker);
	hear(b->told);
	start(c, worker);
	hear(c->told);
	/* c takes a's, which has had it the longest; a takes b's. */
	ask(c, 'r');
	tap_is(slice_of(a->pid), -1, "the process loses its slice");
	ask(a, 'r');
	tap_ok(slice_of(a->pid) >= 0 && slice_of(a->pid) != first, "and gets another one");
	tap_is(ask(a, 'd'), 'y', "where the GPU finds the doorbell, too");
	ask(b, 'r');
	ask(c, 'r');
	tap_is(ask(a, 'u'), 'y', "doorbells are unmapped from the GPU and freed while there is no slice");
	tap_is(end(a) | end(b) | end(c), 0, "all end");
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* As worker(), while signals interrupt whatever it waits in. */
static void interrupted(int go, int told)
{
	const struct itimerval t = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };
	const struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct raw_queue q[QUEUES];
	struct raw_proc r;
	uint64_t value = 0;

	/* Not before: the first open in a process fails when a signal is pending. */
	create_all(&r, q);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	tell(told, 'y');
	while (hear(go) == 'r')
		tell(told, all_run(q, value += QUEUES) ? 'y' : 'n');
}

static void test_signals(void)
{
	unsigned int i, round, bad = 0, n = 3, rounds = scaled(200, 20);

	set_slices(1);
	for (i = 0; i < n; i++) {
		start(&members[i], interrupted);
		bad += hear(members[i].told) != 'y';
	}
	for (round = 0; round < rounds && !bad; round++) {
		for (i = 0; i < n; i++)
			bad += write(members[i].go, "r", 1) != 1;
		for (i = 0; i < n; i++)
			bad += hear(members[i].told) != 'y';
	}
	tap_is(bad, 0, "%u times with signals all the while", rounds);
	/* One is killed where it may just be waiting. */
	for (i = 0; i < n; i++)
		bad += write(members[i].go, "r", 1) != 1;
	kill(members[0].pid, SIGKILL);
	for (i = 1; i < n; i++)
		bad += hear(members[i].told) != 'y';
	tap_is(bad, 0, "one is killed, the others go on");
	tap_is(end(&members[1]) | end(&members[2]), 0, "and end");
	waitpid(members[0].pid, NULL, 0);
	close(members[0].go);
	close(members[0].told);
}

static void one_too_many(void *arg)
{
	struct raw_queue q;
	struct raw_proc r;
	uint64_t handle;
	uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;

	raw_open(&r, 1);
	tap_is(raw_queue_create(&q, &r, KFD_IOC_QUEUE_TYPE_COMPUTE), -ENOSPC, "a queue: ENOSPC");
	tap_is(kfd_alloc(&r.p, gpu_va(kfd_reserve_va(2 * GPU_PAGE)), 2 * GPU_PAGE, flags, &handle,
			 NULL), -ENOMEM, "doorbells for the GPU: ENOMEM");
	raw_close(&r);
	(void)arg;
}

static void test_exhausted(void)
{
	static const char * const bad[] = { "0", "255", "-1", "x" };
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_is(driver_set_parameter("doorbell_slices", bad[i]), -EINVAL,
		       "doorbell_slices cannot be \"%s\"", bad[i]);
	set_slices(1);
	if (driver_set_parameter("doorbell_overcommit", "0"))
		tap_bail("doorbell_overcommit");
	start(&members[0], worker);
	hear(members[0].told);
	tap_child("one too many", one_too_many, NULL);
	tap_is(ask(&members[0], 'r'), 'y', "whoever has the slice runs");
	driver_set_parameter("doorbell_overcommit", "1");
	start(&members[1], worker);
	tap_is(hear(members[1].told), 'y', "with overcommit again, both can");
	tap_is(ask(&members[1], 'r'), 'y', "run");
	tap_is(end(&members[0]) | end(&members[1]), 0, "both end");
}

int main(void)
{
	unsigned int processes = scaled(MAX_PROCESSES, 40);
	bool direct;

	tap_begin(1800);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	direct = driver_sched_policy() == 2;
	test_exhausted();
	test_isolation();
	test_gpu_rings();
	test_restored();
	test_signals();
	/* Without run lists there are VMIDs for 8 processes and 24 slots for queues. */
	if (direct)
		test_many(6, 2, scaled(100, 20));
	else
		test_many(processes < 12 ? 12 : processes, 8, scaled(10, 5));
	driver_set_parameter("doorbell_slices", ALL_SLICES);
	return tap_done();
}
