// SPDX-License-Identifier: MIT
/*
 * More queues and processes than the hardware has slots and VMIDs, as scheduler firmware
 * serves them: all run, also while others wait; pipelines across more queues than slots;
 * limits; processes killed among others.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "queue.h"
#include "raw_set.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define QUEUES		64u
#define PROCESSES	12u
#define PER_PROCESS	3u

static struct gpu gpu;
static volatile uint64_t *word;	/* two pages of words for the GPU */

static void open_gpu(void)
{
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	word = mem_alloc(&gpu, MEM_SYSTEM, 2 * GPU_PAGE);
	if (!word)
		tap_bail("no memory");
}

static uint32_t *reserve(struct queue *q, uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(q, dw, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	return p;
}

static void put_write(struct queue *q, volatile uint64_t *at, uint64_t value)
{
	queue_commit(q, pm4_write64(reserve(q, PM4_WRITE64_DW), gpu_va(at), value));
}

static void put_gate(struct queue *q, volatile uint64_t *at, uint32_t value)
{
	queue_commit(q, pm4_wait_mem(reserve(q, PM4_WAIT_MEM_DW), gpu_va(at), WAIT_REG_MEM_EQ,
				     value, ~0u));
}

/* Released by the GPU: no interrupt, as pipelines do it. */
static void put_release(struct queue *q, volatile uint64_t *at, uint64_t value)
{
	queue_commit(q, pm4_release_mem(reserve(q, PM4_RELEASE_MEM_DW), gpu_va(at),
					RELEASE_MEM_DATA_64, value, RELEASE_MEM_INT_NONE, 0));
}

/* All at once; then with every queue but one in a wait, which that one ends. */
static void test_many(struct queue *q)
{
	unsigned int i, round, wrong = 0, early = 0;

	for (round = 1; round <= 5; round++) {
		for (i = 0; i < QUEUES; i++) {
			put_write(&q[i], &word[i], round << 8 | i);
			queue_submit(&q[i]);
		}
		for (i = 0; i < QUEUES; i++)
			wrong += !wait_word(&word[i], round << 8 | i, LONG_MS) ||
				 !queue_wait_idle(&q[i], LONG_MS);
	}
	tap_is(wrong, 0, "%u queues run, each time", QUEUES);

	word[100] = 0;
	for (i = 0; i + 1 < QUEUES; i++) {
		put_gate(&q[i], &word[100], 1);
		put_write(&q[i], &word[i], 7);
		queue_submit(&q[i]);
	}
	put_write(&q[i], &word[i], 7);
	queue_submit(&q[i]);
	tap_ok(wait_word(&word[i], 7, LONG_MS), "a queue runs though all others wait");
	for (i = 0; i + 1 < QUEUES; i++)
		early += word[i] == 7;
	tap_is(early, 0, "and they do wait");
	put_release(&q[QUEUES - 1], &word[100], 1);
	queue_submit(&q[QUEUES - 1]);
	for (i = 0, wrong = 0; i + 1 < QUEUES; i++)
		wrong += !wait_word(&word[i], 7, LONG_MS);
	tap_is(wrong, 0, "its RELEASE_MEM ends every wait");
}

/* Queue i is released by queue i - 1: the CPU begins it, and an event tells of its end. */
static void test_chain(struct queue *q)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	int64_t nobody = kfd_counter("events", "no_process");
	unsigned int i, round, rounds = 10, late = 0;

	for (round = 1; round <= rounds; round++) {
		for (i = QUEUES; i--;) {
			put_gate(&q[i], &word[200 + i], round);
			if (i + 1 < QUEUES)
				put_release(&q[i], &word[200 + i + 1], round);
			else
				queue_commit(&q[i], pm4_signal(reserve(&q[i], PM4_RELEASE_MEM_DW),
							       event_slot(ev), ev->EventId));
			queue_submit(&q[i]);
		}
		__atomic_store_n(&word[200], round, __ATOMIC_RELEASE);
		late += event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS;
		if (late)
			break;
	}
	tap_is(late, 0, "%u times down a chain of %u queues, the last first", rounds, QUEUES);
	/* A waiter would find out without interrupts, too, only later. */
	tap_ok(nobody >= 0 && kfd_counter("events", "no_process") == nobody,
	       "every interrupt names this process");
	hsaKmtDestroyEvent(ev);
}

/* Queues come, go and change while all others are at work or wait. */
static void test_busy_changes(struct queue *q)
{
	unsigned int i, round, rounds = scaled(200, 40), wrong = 0;
	struct queue extra;

	word[300] = 0;
	for (i = 0; i < QUEUES; i += 2) {
		put_gate(&q[i], &word[300], 1);
		put_write(&q[i], &word[i], 1000);
		queue_submit(&q[i]);
	}
	for (round = 0; round < rounds && !wrong; round++) {
		struct queue *busy = &q[(round * 2 + 1) % QUEUES];

		for (i = 1; i < QUEUES; i += 2) {
			put_write(&q[i], &word[400 + i], round + 1);
			queue_submit(&q[i]);
		}
		wrong += hsaKmtUpdateQueue(busy->res.QueueId, round % 2 ? 100 : 50,
					   HSA_QUEUE_PRIORITY_HIGH, busy->ring, RING_BYTES,
					   NULL) != HSAKMT_STATUS_SUCCESS;
		if (queue_create(&extra, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS) {
			wrong++;
			break;
		}
		put_gate(&extra, &word[300], 1);
		put_write(&extra, &word[301], 1);
		queue_submit(&extra);
		wrong += queue_destroy(&extra) != HSAKMT_STATUS_SUCCESS;
		for (i = 1; i < QUEUES; i += 2)
			wrong += !wait_word(&word[400 + i], round + 1, LONG_MS);
	}
	tap_is(wrong, 0, "%u updates, creations and destructions among queues that run and wait", rounds);
	put_release(&q[1], &word[300], 1);
	queue_submit(&q[1]);
	for (i = 0; i < QUEUES; i += 2)
		wrong += !wait_word(&word[i], 1000, LONG_MS);
	tap_is(wrong, 0, "those that waited go on where they were");
	tap_is((int64_t)word[301], 0, "those that were destroyed in a wait do not");
}

/* ---- processes ---- */

/**
 * struct member - one of many processes
 * @go, @told: pipes: from and to the parent
 */
struct member {
	pid_t pid;
	int go, told;
};

/* Each round: all queues of the process run once, and the event of the last one fires. */
static void member_run(int go, int told)
{
	struct queue q[PER_PROCESS];
	uint64_t round = 0;
	HsaEvent *ev;
	unsigned int i;
	char c = 1;

	open_gpu();
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	for (i = 0; i < PER_PROCESS; i++)
		if (queue_create(&q[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			c = 0;
	if (!ev || !c)
		_exit(1);
	do {
		if (write(told, &c, 1) != 1 || read(go, &c, 1) != 1)
			_exit(2);
		round++;
		for (i = 0; i < PER_PROCESS; i++) {
			put_gate(&q[i], &word[i], (uint32_t)round);
			if (i + 1 < PER_PROCESS)
				put_release(&q[i], &word[i + 1], round);
			else
				queue_commit(&q[i], pm4_signal(reserve(&q[i], PM4_RELEASE_MEM_DW),
							       event_slot(ev), ev->EventId));
			queue_submit(&q[i]);
		}
		__atomic_store_n(&word[0], round, __ATOMIC_RELEASE);
	} while (event_wait(ev, LONG_MS) == HSAKMT_STATUS_SUCCESS);
	_exit(3);
}

static bool hears(struct member *m)
{
	char c = 0;

	return read(m->told, &c, 1) == 1 && c == 1;
}

static void start(struct member *m)
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
		member_run(go[0], told[1]);
	}
	close(go[0]);
	close(told[1]);
	m->go = go[1];
	m->told = told[0];
	if (!hears(m))
		tap_bail("a process does not get its queues");
}

static unsigned int all_rounds(struct member *m, unsigned int n, unsigned int rounds)
{
	unsigned int i, round, bad = 0;
	char c = 1;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < n; i++)
			bad += write(m[i].go, &c, 1) != 1;
		for (i = 0; i < n; i++)
			bad += !hears(&m[i]);
	}
	return bad;
}

static void end(struct member *m)
{
	int status;

	kill(m->pid, SIGKILL);
	waitpid(m->pid, &status, 0);
	close(m->go);
	close(m->told);
}

static void test_processes(void)
{
	struct member m[PROCESSES];
	unsigned int i, round, bad = 0, rounds = scaled(100, 20);
	char c = 1;

	for (i = 0; i < PROCESSES; i++)
		start(&m[i]);
	tap_is(all_rounds(m, PROCESSES, rounds), 0, "%u processes with %u queues each, all at work %u times",
	       PROCESSES, PER_PROCESS, rounds);
	/* One after the other is killed at its work, and replaced, and nobody else notices. */
	for (round = 0; round < rounds && !bad; round++) {
		i = round % PROCESSES;
		bad += write(m[i].go, &c, 1) != 1;
		end(&m[i]);
		start(&m[i]);
		bad += all_rounds(m, PROCESSES, 1);
	}
	tap_is(bad, 0, "%u of them are killed at work, the others go on", rounds);
	for (i = 0; i < PROCESSES; i++)
		end(&m[i]);
}

/* ---- limits ---- */

static void limits(void *arg)
{
	static struct raw_set r;
	unsigned int i, bad = 0;
	int *pipe_fd = arg;
	char c = 1;

	raw_set_open(&r);
	while (r.n < RAW_COMPUTE && !raw_set_create(&r, KFD_IOC_QUEUE_TYPE_COMPUTE))
		;
	if (!tap_is(r.n, RAW_COMPUTE, "%u compute queues in one process", RAW_COMPUTE))
		tap_bail("the rest makes no sense");
	tap_is(raw_set_create(&r, KFD_IOC_QUEUE_TYPE_COMPUTE), -EBUSY, "one more: EBUSY, no doorbell is left");
	while (r.n < RAW_QUEUES && !raw_set_create(&r, KFD_IOC_QUEUE_TYPE_SDMA))
		;
	tap_is(r.n, RAW_QUEUES, "%u SDMA queues beside them", RAW_SDMA);
	tap_is(raw_set_create(&r, KFD_IOC_QUEUE_TYPE_SDMA), -ENOMEM, "one more: ENOMEM");
	tap_is(raw_set_run(&r, 1 << 16, LONG_MS), 0, "all of them run");
	/* The other process makes up the rest to 1024. */
	if (write(pipe_fd[1], &c, 1) != 1 || read(pipe_fd[2], &c, 1) != 1)
		tap_bail("the other process is gone");
	tap_is(raw_set_run(&r, 2 << 16, LONG_MS), 0, "and again beside another process's");
	for (i = 0; i < r.n; i += 37)
		bad += raw_set_destroy(&r, i) != 0;
	tap_is(bad, 0, "queues are destroyed; the exit takes the others");
	raw_set_close(&r);
}

static void test_limits(void)
{
	static struct raw_set r;
	const unsigned int rest = 1024 - RAW_QUEUES;
	int up[2], down[2], fds[4];
	unsigned int bad = 0;
	pid_t pid;
	char c;
	int status;

	if (pipe(up) || pipe(down))
		tap_bail("pipe: %m");
	fds[0] = up[0];
	fds[1] = up[1];
	fds[2] = down[0];
	fds[3] = down[1];
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		close(fds[1]);
		raw_set_open(&r);
		/* Only now are all queues of the first there. */
		if (read(fds[0], &c, 1) != 1)
			_exit(1);
		while (r.n < rest && !raw_set_create(&r, KFD_IOC_QUEUE_TYPE_COMPUTE))
			;
		bad = r.n != rest || raw_set_run(&r, 3 << 16, LONG_MS);
		if (write(fds[3], &c, 1) != 1)
			_exit(1);
		bad = bad || raw_set_run(&r, 4 << 16, LONG_MS);
		_exit(bad ? 2 : 0);
	}
	tap_child("limits", limits, fds);
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("wait: %m");
	tap_is(status, 0, "the other process had %u queues, 1024 together, and they ran", rest);
}

int main(void)
{
	static struct queue q[QUEUES];
	unsigned int i;

	tap_begin(1200);
	if (driver_sched_policy() != 0)
		tap_skip_all("no oversubscription: sched_policy is not 0");
	test_limits();
	/* Before this process has queues of its own: children must not inherit them. */
	test_processes();
	open_gpu();
	for (i = 0; i < QUEUES; i++)
		if (queue_create(&q[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			break;
	if (!tap_is(i, QUEUES, "%u queues are created in one process", QUEUES))
		tap_bail("the rest makes no sense");
	test_many(q);
	test_chain(q);
	test_busy_changes(q);
	for (i = 0; i < QUEUES; i++)
		queue_destroy(&q[i]);
	gpu_close();
	return tap_done();
}
