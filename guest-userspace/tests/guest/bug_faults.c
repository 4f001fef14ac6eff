// SPDX-License-Identifier: MIT
/*
 * Known bugs that begin with a fault of the hardware: a doorbell or a message that is
 * lost, a queue that does not stop, entries nobody expects. The faults are injected by
 * the device (docs/injection.md). docs/known-bugs-coverage.md says what the numbers mean.
 * At each test that is about the driver: the mutation that it was seen to fail with.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vkfd/ih.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "tap.h"
#include "waiter.h"

#define LONG_MS		20000u
#define RING_BYTES	4096u
#define ROUNDS		5u
#define QUEUES		24u
#define NO_RING		0xffu

static struct gpu gpu;
static struct queue q;
static HsaEvent *ev, *idle;
static volatile uint64_t *word;

static void arm(const char *specs)
{
	int r = inject_arm(specs);

	if (r)
		tap_bail("cannot arm '%s': %s", specs, r < 0 ? "no control page" : inject_error());
}

static void put_signal(struct queue *on, const HsaEvent *e)
{
	uint32_t *p = queue_reserve_wait(on, PM4_RELEASE_MEM_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(on, pm4_signal(p, event_slot(e), e->EventId));
}

static bool works(struct queue *on, HsaEvent *e)
{
	put_signal(on, e);
	queue_submit(on);
	return event_wait(e, LONG_MS) == HSAKMT_STATUS_SUCCESS;
}

/* Mutation: recovery_work() never looks. */
static void test_lost_message(void)
{
	struct waiter w = { .events = &ev, .n = 1, .ms = LONG_MS };
	int64_t before = kfd_counter("ih", "recovered_interrupts");
	unsigned int i, woken = 0, lost = 0;

	for (i = 0; i < ROUNDS; i++) {
		waiter_start(&w);
		arm("msix:drop@1*1");
		put_signal(&q, ev);
		queue_submit(&q);
		woken += waiter_join(&w) == HSAKMT_STATUS_SUCCESS;
		lost += inject_fired(0);
	}
	inject_disarm();
	tap_is(lost, ROUNDS, "bug 15: messages are lost");
	tap_is(woken, ROUNDS, "bug 15: and no other interrupt is needed to wake who waited");
	tap_ok(kfd_counter("ih", "recovered_interrupts") > before, "bug 15: users can see that it happened");
}

/* A doorbell is the program's: the next one makes up for it. The driver takes no part. */
static void test_lost_doorbell(void)
{
	unsigned int i, lost = 0, wrong = 0;
	uint32_t *p;

	for (i = 1; i <= ROUNDS; i++) {
		arm("doorbell:drop@1*1");
		p = queue_reserve_wait(&q, PM4_WRITE64_DW, LONG_MS);
		queue_commit(&q, pm4_write64(p, gpu_va(word), i));
		queue_submit(&q);
		lost += inject_fired(0);
		/* It carries the whole write pointer, not a step. */
		wrong += !works(&q, ev) || *word != i;
	}
	inject_disarm();
	tap_is(lost, ROUNDS, "bug 39: doorbells are lost");
	tap_is(wrong, 0, "bug 39: the next one brings what both were for, once");
}

/* No mutation: there is no debugger interface that could be forgotten to be checked. */
static void test_entries(void)
{
	static const struct {
		const char *what;
		unsigned int client, source;
	} entry[] = {
		{ "a trap of a wave", SOC15_IH_CLIENTID_SE0SH, GFX_9_0__SRCID__SQ_INTERRUPT_ID },
		{ "a bad packet of no queue", SOC15_IH_CLIENTID_GRBM_CP, GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR },
		{ "a source nobody has", SOC15_IH_CLIENTID_GRBM_CP, 7 },
		{ "a client nobody has", 0x1f, 0xff },
	};
	struct waiter w = { .events = &idle, .n = 1, .ms = LONG_MS };
	char text[128];
	unsigned int i;
	int ok = 0;

	waiter_start(&w);
	for (i = 0; i < sizeof(entry) / sizeof(entry[0]); i++) {
		/* VMID 8; without PASID where the driver finds the process by the VMID. */
		snprintf(text, sizeof(text),
			 "ih-entry:insert:%08x_00000000_00000000_%08x_000003ff_00000000_00000000_00000000@1*1",
			 entry[i].client | entry[i].source << 8 | NO_RING << 16 | 8u << 24,
			 driver_entry_pasid());
		arm(text);
		ok = works(&q, ev);
		tap_ok(ok && inject_fired(0) == 1, "bug 16: %s, of a process that is not debugged, does no harm",
		       entry[i].what);
	}
	inject_disarm();
	tap_ok(!w.done, "bug 16: and completes no wait");
	hsaKmtSetEvent(idle);
	waiter_join(&w);
}

static void *fork_meanwhile(void *arg)
{
	unsigned int *good = arg, i;
	int status;
	pid_t pid;

	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		*good += pid > 0 && waitpid(pid, &status, 0) == pid && !status;
	}
	return NULL;
}

/*
 * Mutation: queue_unload() waits for ever.
 * A child: a process whose queue did not stop may lose all of them.
 */
static void stuck(void *arg)
{
	struct queue victim;
	unsigned int forks = 0;
	HsaEvent *hw;
	struct waiter w = { .events = &hw, .n = 1, .ms = LONG_MS };
	pthread_t t;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS || !(word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE)) ||
	    !(hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, true)) ||
	    queue_create(&victim, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue or no event");
	p = queue_reserve(&victim, PM4_WAIT_MEM_DW);
	queue_commit(&victim, pm4_wait_mem(p, gpu_va(word), WAIT_REG_MEM_EQ, 1, ~0u));
	queue_submit(&victim);
	waiter_start(&w);
	arm("preempt:hang@1*1");
	if (pthread_create(&t, NULL, fork_meanwhile, &forks))
		tap_bail("no thread");
	hsaKmtDestroyQueue(victim.res.QueueId);
	tap_ok(inject_fired(0) == 1, "bug 37: a queue that does not stop, and its destruction returns");
	pthread_join(t, NULL);
	tap_is(forks, 5, "bug 38: a fork of another thread meanwhile is not held up");
	tap_is(waiter_join(&w), 0, "bug 37: who waits for exceptions is told");
	inject_disarm();
}

static void all_queues(void *arg)
{
	static struct queue all[QUEUES];
	unsigned int i, good = 0;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS || !(ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false)))
		tap_bail("no GPU or no event");
	for (i = 0; i < QUEUES; i++)
		good += queue_create(&all[i], &gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS && works(&all[i], ev);
	tap_is(good, QUEUES, "bug 37: the next process has all queues");
}

int main(void)
{
	tap_begin(200);
	if (inject_count() < 0)
		tap_skip_all("the device has no fault injection");
	tap_child("bug 37", stuck, NULL);
	tap_child("bug 37", all_queues, NULL);
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	idle = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!word || !ev || !idle || queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("memory, event or queue");
	test_lost_message();
	test_lost_doorbell();
	test_entries();
	queue_destroy(&q);
	gpu_close();
	return tap_done();
}
