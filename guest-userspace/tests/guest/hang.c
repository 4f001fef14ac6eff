// SPDX-License-Identifier: MIT
/*
 * Queues that do not let themselves be preempted, with scheduler firmware: whoever changes
 * the run list finds out, the queue alone is reset, its process is told, and everybody else
 * goes on, other queues of that process too.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define MAX_PM4		8u
#define SLOTS		24u
#define PER_ENGINE	1	/* KFD's reset_type: not the whole GPU */

/* What a member of the party is told to do; its answer is a number. */
enum order {
	SETUP,		/* @arg PM4 queues and one of SDMA, all of them in a wait: 0 */
	OPEN,		/* end the waits; queues of mask @arg have to go on: mask of those that did */
	TOLD,		/* HW_EXCEPTION within @arg ms: NONE, or reset type, cause and loss */
	STATE,		/* whether a DEVICESTATECHANGE event fired */
	CREATE,		/* one more queue, which then runs something: 0 */
	UPDATE,		/* update PM4 queue @arg: its status */
	DESTROY,	/* destroy it: its status */
	FILL,		/* all slots at once are in use: how many queues run */
};

#define NONE		(-1)

struct message {
	enum order order;
	unsigned int arg;
};

struct member {
	pid_t pid;
	int ask, answer;
};

/* In a member: what it has. */
static struct gpu gpu;
static struct queue pm4[MAX_PM4], extra;
static struct sdma_queue sdma;
static unsigned int n_pm4;
static volatile uint64_t *word;	/* the gate, then one of each queue */
static HsaEvent *hw, *state;

static uint32_t *room(struct queue *q, uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(q, dw, LONG_MS);

	if (!p)
		tap_bail("a ring does not drain");
	return p;
}

/* Waits for the gate, then writes. All are seen in their wait before this returns. */
static int setup(unsigned int n)
{
	unsigned int i, bad = 0;
	uint32_t *p;

	n_pm4 = n;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		return 1;
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	state = event_new(&gpu, HSA_EVENTTYPE_DEVICESTATECHANGE, false);
	if (!word || !hw || !state)
		return 2;
	for (i = 0; i < n; i++) {
		if (queue_create(&pm4[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			return 3;
		queue_commit(&pm4[i], pm4_write64(room(&pm4[i], PM4_WRITE64_DW),
						  gpu_va(&word[64 + i]), 1));
		queue_commit(&pm4[i], pm4_wait_mem(room(&pm4[i], PM4_WAIT_MEM_DW), gpu_va(word),
						   WAIT_REG_MEM_EQ, 1, ~0u));
		queue_commit(&pm4[i], pm4_write64(room(&pm4[i], PM4_WRITE64_DW),
						  gpu_va(&word[8 + i]), 1));
		queue_submit(&pm4[i]);
	}
	if (sdma_queue_create(&sdma, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		return 4;
	p = sdma_queue_reserve(&sdma, SDMA_PKT_WRITE_DW + 1);
	sdma_queue_commit(&sdma, sdma_write32(p, gpu_va(&word[64 + n]), 1));
	p = sdma_queue_reserve(&sdma, SDMA_PKT_POLL_REGMEM_DW);
	sdma_queue_commit(&sdma, sdma_poll_mem(p, gpu_va(word), WAIT_REG_MEM_EQ, 1, ~0u));
	p = sdma_queue_reserve(&sdma, SDMA_PKT_WRITE_DW + 1);
	sdma_queue_commit(&sdma, sdma_write32(p, gpu_va(&word[8 + n]), 1));
	sdma_queue_submit(&sdma);
	for (i = 0; i <= n; i++)
		bad += !wait_word(&word[64 + i], 1, LONG_MS);
	return bad ? 5 : 0;
}

static int open_gate(unsigned int expected)
{
	unsigned int i, done = 0;

	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	for (i = 0; i <= n_pm4; i++)
		if (expected >> i & 1)
			wait_word(&word[8 + i], 1, LONG_MS);
	for (i = 0; i <= n_pm4; i++)
		done |= (word[8 + i] == 1) << i;
	return (int)done;
}

/* Waits @ms for it: it comes when the driver gets to it, by a work item of the process. */
static int told(unsigned int ms)
{
	const HsaHwException *e = &hw->EventData.EventData.HwException;

	if (hsaKmtWaitOnEvent(hw, ms) != HSAKMT_STATUS_SUCCESS)
		return NONE;
	return (int)(e->ResetType | (unsigned int)e->ResetCause << 4 | e->MemoryLost << 8);
}

static bool runs(struct queue *q, uint64_t value)
{
	queue_commit(q, pm4_write64(room(q, PM4_WRITE64_DW), gpu_va(&word[200]), value));
	queue_submit(q);
	return wait_word(&word[200], value, LONG_MS);
}

static int create_one(void)
{
	HSAKMT_STATUS s = queue_create(&extra, &gpu, RING_BYTES);
	static uint64_t value;

	if (s != HSAKMT_STATUS_SUCCESS)
		return (int)s;
	return runs(&extra, ++value) ? 0 : NONE;
}

static int fill(void)
{
	static struct queue q[SLOTS];
	unsigned int i, n = 0;

	word[300] = 0;
	for (i = 0; i < SLOTS; i++) {
		if (queue_create(&q[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			break;
		queue_commit(&q[i], pm4_wait_mem(room(&q[i], PM4_WAIT_MEM_DW), gpu_va(&word[300]),
						 WAIT_REG_MEM_EQ, 1, ~0u));
		queue_commit(&q[i], pm4_write64(room(&q[i], PM4_WRITE64_DW), gpu_va(&word[301 + i]),
						1));
		queue_submit(&q[i]);
	}
	word[300] = 1;
	while (i--)
		n += wait_word(&word[301 + i], 1, LONG_MS);
	return (int)n;
}

static int obey(const struct message *m)
{
	struct queue *q = &pm4[m->arg % MAX_PM4];

	switch (m->order) {
	case SETUP:
		return setup(m->arg);
	case OPEN:
		return open_gate(m->arg);
	case TOLD:
		return told(m->arg);
	case STATE:
		return hsaKmtWaitOnEvent(state, 0) == HSAKMT_STATUS_SUCCESS;
	case CREATE:
		return create_one();
	case UPDATE:
		return (int)hsaKmtUpdateQueue(q->res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, q->ring,
					      RING_BYTES, NULL);
	case DESTROY:
		return (int)queue_destroy(q);
	case FILL:
		return fill();
	}
	return NONE;
}

static int tell(const struct member *m, enum order order, unsigned int arg)
{
	const struct message msg = { order, arg };
	int ret;

	if (write(m->ask, &msg, sizeof(msg)) != sizeof(msg) ||
	    read(m->answer, &ret, sizeof(ret)) != sizeof(ret))
		tap_bail("a process is gone");
	return ret;
}

/* A process with @n PM4 queues and one of SDMA in a wait; in the order of their start. */
static struct member start(unsigned int n)
{
	int ask[2], answer[2], ret;
	struct message msg;
	struct member m;

	if (pipe(ask) || pipe(answer))
		tap_bail("pipe: %m");
	fflush(stdout);
	m.pid = fork();
	if (m.pid < 0)
		tap_bail("fork: %m");
	if (!m.pid) {
		while (read(ask[0], &msg, sizeof(msg)) == sizeof(msg)) {
			ret = obey(&msg);
			if (write(answer[1], &ret, sizeof(ret)) != sizeof(ret))
				break;
		}
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
	m.ask = ask[1];
	m.answer = answer[0];
	ret = tell(&m, SETUP, n);
	if (ret)
		tap_bail("a process does not get its queues: step %d", ret);
	return m;
}

static void end(struct member *m)
{
	int status;

	kill(m->pid, SIGKILL);
	waitpid(m->pid, &status, 0);
	close(m->ask);
	close(m->answer);
}

static void arm(const char *spec)
{
	if (inject_arm(spec))
		tap_bail("%s: %s", spec, inject_error());
}

static void disarm(unsigned int fired)
{
	tap_is(inject_fired(0), fired, "%u preemptions hang", fired);
	inject_disarm();
}

/* Another process changes the list; the second queue of @a hangs. */
static void test_found_by_another(void)
{
	struct member a = start(3), b = start(2);

	arm("preempt:hang@2");
	tap_is(tell(&b, CREATE, 0), 0, "a queue is created while one of another process hangs");
	disarm(1);
	tap_is(tell(&a, TOLD, LONG_MS), PER_ENGINE, "HW_EXCEPTION: a queue, by a hang, no memory lost");
	tap_is(tell(&a, TOLD, 0), NONE, "once");
	tap_is(tell(&b, TOLD, 0), NONE, "not to the other process");
	tap_is(tell(&a, OPEN, 0xd), 0xd, "its other queues go on, the one that hung does not");
	tap_is(tell(&b, OPEN, 0x7), 0x7, "those of the other process go on");
	tap_ok(tell(&a, UPDATE, 1) != HSAKMT_STATUS_SUCCESS, "it cannot be started again");
	tap_is(tell(&a, DESTROY, 1), HSAKMT_STATUS_SUCCESS, "it can be destroyed");
	tap_is(tell(&a, CREATE, 0), 0, "a new queue of its process runs");
	tap_is(tell(&a, STATE, 0) + tell(&b, STATE, 0), 0, "the GPU was not reset");
	end(&a);
	end(&b);
}

/* The call that is about the queue fails, be it to destroy it or to change it. */
static void test_found_by_itself(void)
{
	struct member a = start(2);

	arm("preempt:hang@1");
	tap_ok(tell(&a, DESTROY, 0) != HSAKMT_STATUS_SUCCESS, "DESTROY_QUEUE of a queue that hangs fails");
	disarm(1);
	tap_is(tell(&a, TOLD, LONG_MS), PER_ENGINE, "HW_EXCEPTION");
	arm("preempt:hang@1");
	tap_ok(tell(&a, UPDATE, 1) != HSAKMT_STATUS_SUCCESS, "UPDATE_QUEUE too");
	disarm(1);
	tap_is(tell(&a, CREATE, 0), 0, "a new queue of the process runs");
	/* The work item that tells of it may only just run: the creation waited for its lock. */
	tap_is(tell(&a, TOLD, LONG_MS), PER_ENGINE, "HW_EXCEPTION");
	tap_is(tell(&a, OPEN, 0x4), 0x4, "its SDMA queue goes on, the others do not");
	tap_is(tell(&a, STATE, 0), 0, "the GPU was not reset");
	end(&a);
}

static void test_several(void)
{
	struct member a = start(2), b = start(2), c = start(1);

	/* Two of the first process; its SDMA queue is the third to be asked. */
	arm("preempt:hang@1*2;preempt:hang@4");
	tap_is(tell(&c, CREATE, 0), 0, "three queues of two processes hang at a time");
	tap_is(inject_fired(1), 1, "in the second, too");
	disarm(2);
	tap_is(tell(&a, TOLD, LONG_MS), PER_ENGINE, "HW_EXCEPTION to the first");
	tap_is(tell(&b, TOLD, LONG_MS), PER_ENGINE, "and to the second");
	tap_is(tell(&c, TOLD, 0), NONE, "not to the third");
	tap_is(tell(&a, OPEN, 0x4), 0x4, "what does not hang goes on: of the first");
	tap_is(tell(&b, OPEN, 0x6), 0x6, "of the second");
	tap_is(tell(&c, OPEN, 0x3), 0x3, "of the third");
	end(&a);
	end(&b);
	end(&c);
}

/* Its slot, VMID and the rest are there for others, though it ends while a queue hangs. */
static void test_killed(void)
{
	struct member a = start(2), b = start(1);

	arm("preempt:hang@1");
	end(&a);
	tap_is(tell(&b, CREATE, 0), 0, "a process is killed whose queue hangs; another one goes on");
	disarm(1);
	tap_is(tell(&b, FILL, 0), SLOTS, "%u queues at a time run", SLOTS);
	tap_is(tell(&b, TOLD, 0), NONE, "nobody else is told");
	tap_is(tell(&b, OPEN, 0x3), 0x3, "its queues go on");
	tap_is(tell(&b, STATE, 0), 0, "the GPU was not reset");
	end(&b);
}

int main(void)
{
	tap_begin(300);
	if (driver_sched_policy() == 2)
		tap_skip_all("no scheduler firmware: sched_policy is 2");
	if (inject_open())
		tap_skip_all("no fault injection in this device");
	test_found_by_another();
	test_found_by_itself();
	test_several();
	test_killed();
	return tap_done();
}
