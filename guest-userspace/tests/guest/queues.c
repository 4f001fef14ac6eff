// SPDX-License-Identifier: MIT
/*
 * Queues as a resource: as many as the hardware has and, loaded directly, not one more;
 * taken off the hardware and put back, destroyed with work in them.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define MAX_QUEUES	64u

static struct gpu gpu;
static volatile uint64_t *word;

static void put_write(struct queue *q, volatile uint64_t *at, uint64_t value)
{
	uint32_t *p = queue_reserve_wait(q, PM4_WRITE64_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(q, pm4_write64(p, gpu_va(at), value));
}

/*
 * What a doorbell starts is done in order, so when a packet of @witness has run,
 * every doorbell rung before it was looked at.
 */
static bool device_saw_all(struct queue *witness)
{
	static uint64_t n;

	put_write(witness, &word[500], ++n);
	queue_submit(witness);
	return wait_word(&word[500], n, LONG_MS);
}

/* A process without a queue has no doorbells to map; rocm code relies on neither. */
static void no_doorbells_yet(void *arg)
{
	struct kfd_proc p;
	void *map;

	(void)arg;
	kfd_proc_open(&p);
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, p.kfd,
		   (off_t)(3ull << 62 | (uint64_t)p.gpu_id << 46));
	tap_ok(map == MAP_FAILED, "no doorbells before the first queue");
	kfd_proc_close(&p);
}

static void test_limit(void)
{
	static struct queue q[MAX_QUEUES];
	unsigned int limit = gpu.props.NumCpQueues, round, i, n, wrong = 0, same = 0, j;
	uint64_t value = 0;

	tap_is(limit, 24, "the topology tells 24 compute queues");
	if (limit > MAX_QUEUES - 1)
		tap_bail("more queues than this test has room for");
	for (round = 0; round < 3; round++) {
		for (n = 0; n < limit; n++)
			if (queue_create(&q[n], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
				break;
		if (!tap_is(n, limit, "round %u: that many are created", round))
			tap_bail("the rest makes no sense");
		/* With scheduler firmware the hardware's slots are no limit (runlists.c). */
		if (driver_sched_policy() == 0)
			tap_skip("sched_policy is 0", "one more is refused");
		else
			tap_ok(queue_create(&q[limit], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS,
			       "one more is refused");
		for (i = 0; i < n; i++)
			for (j = 0; j < i; j++)
				same += q[i].res.Queue_DoorBell == q[j].res.Queue_DoorBell ||
					q[i].res.QueueId == q[j].res.QueueId;
		value++;
		for (i = 0; i < n; i++) {
			put_write(&q[i], &word[i], value << 8 | i);
			queue_submit(&q[i]);
		}
		for (i = 0; i < n; i++)
			wrong += !wait_word(&word[i], value << 8 | i, LONG_MS);
		for (i = 0; i < n; i++)
			wrong += queue_destroy(&q[i]) != HSAKMT_STATUS_SUCCESS;
	}
	tap_is(same, 0, "ids and doorbells are all different");
	tap_is(wrong, 0, "every queue ran and was destroyed");
}

/* Inactive: a doorbell does nothing. Active again: memory decides, no doorbell is needed. */
static void test_update(struct queue *witness, bool by_address)
{
	const char *how = by_address ? "no ring" : "0 percent";
	unsigned int i, ran = 0, moved = 0, late = 0;
	struct queue q;

	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	word[100] = 0;
	put_write(&q, &word[100], 1);
	queue_submit(&q);
	tap_ok(wait_word(&word[100], 1, LONG_MS) && queue_wait_idle(&q, LONG_MS), "%s: the queue runs", how);
	for (i = 2; i < 22; i++) {
		uint32_t rptr = queue_rptr(&q);
		HSAKMT_STATUS s;

		s = hsaKmtUpdateQueue(q.res.QueueId, by_address ? 100 : 0, HSA_QUEUE_PRIORITY_NORMAL,
				      by_address ? NULL : q.ring, RING_BYTES, NULL);
		if (s != HSAKMT_STATUS_SUCCESS)
			break;
		put_write(&q, &word[100], i);
		queue_submit(&q);
		if (!device_saw_all(witness))
			break;
		ran += word[100] != i - 1;
		moved += queue_rptr(&q) != rptr;
		s = hsaKmtUpdateQueue(q.res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, q.ring, RING_BYTES,
				      NULL);
		if (s != HSAKMT_STATUS_SUCCESS)
			break;
		/* No doorbell. */
		late += !wait_word(&word[100], i, LONG_MS) || !queue_wait_idle(&q, LONG_MS);
		if (late)
			break;
	}
	tap_is(i, 22, "%s: 20 times off and on", how);
	tap_is(ran, 0, "%s: nothing runs while it is off", how);
	tap_is(moved, 0, "%s: nor does the read pointer move", how);
	tap_is(late, 0, "%s: what was submitted runs without another doorbell", how);
	put_write(&q, &word[100], 1000);
	queue_submit(&q);
	tap_ok(wait_word(&word[100], 1000, LONG_MS), "%s: then doorbells work again", how);
	queue_destroy(&q);
}

/* The write pointer in memory is enough at re-activation, even if no doorbell rang at all. */
static void test_wptr_only(void)
{
	struct queue q;

	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	word[101] = 0;
	tap_is(hsaKmtUpdateQueue(q.res.QueueId, 0, HSA_QUEUE_PRIORITY_NORMAL, q.ring, RING_BYTES, NULL), 0,
	       "a new queue is switched off");
	put_write(&q, &word[101], 5);
	queue_publish_wptr(&q);
	tap_is(hsaKmtUpdateQueue(q.res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, q.ring, RING_BYTES, NULL), 0,
	       "and on again");
	tap_ok(wait_word(&word[101], 5, LONG_MS), "it runs what memory says, without any doorbell");
	queue_destroy(&q);
}

/* Destroying a parked queue ends it for good. */
static void test_destroy_parked(struct queue *witness)
{
	unsigned int i, wrong = 0;
	struct queue q;
	uint32_t *p;

	for (i = 0; i < 30; i++) {
		if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			break;
		word[102] = 0;
		word[103] = 0;
		p = queue_reserve_wait(&q, PM4_WAIT_MEM_DW, LONG_MS);
		queue_commit(&q, pm4_wait_mem(p, gpu_va(&word[102]), WAIT_REG_MEM_EQ, 1, ~0u));
		put_write(&q, &word[103], 1);
		queue_submit(&q);
		if (!device_saw_all(witness) || queue_destroy(&q) != HSAKMT_STATUS_SUCCESS)
			break;
		/* Now the gate opens for nobody. */
		put_write(witness, &word[102], 1);
		queue_submit(witness);
		wrong += !device_saw_all(witness) || word[103] != 0;
	}
	tap_is(i, 30, "30 queues are destroyed while they wait: none of their slots is lost");
	tap_is(wrong, 0, "and none of them goes on afterwards");
}

/* The same for one that is preempted and put back. */
static void test_preempt_parked(struct queue *witness)
{
	struct queue q;
	uint32_t *p;

	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	word[104] = 0;
	word[105] = 0;
	p = queue_reserve_wait(&q, PM4_WAIT_MEM_DW, LONG_MS);
	queue_commit(&q, pm4_wait_mem(p, gpu_va(&word[104]), WAIT_REG_MEM_EQ, 1, ~0u));
	put_write(&q, &word[105], 1);
	queue_submit(&q);
	tap_ok(device_saw_all(witness), "a queue is parked in a wait");
	tap_is(hsaKmtUpdateQueue(q.res.QueueId, 0, HSA_QUEUE_PRIORITY_NORMAL, q.ring, RING_BYTES, NULL), 0,
	       "it is switched off there");
	put_write(witness, &word[104], 1);
	queue_submit(witness);
	tap_ok(device_saw_all(witness) && word[105] == 0, "its condition comes true meanwhile");
	tap_is(hsaKmtUpdateQueue(q.res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, q.ring, RING_BYTES, NULL), 0,
	       "it is switched on");
	tap_ok(wait_word(&word[105], 1, LONG_MS), "and goes on behind the wait");
	queue_destroy(&q);
}

static void test_churn(void)
{
	unsigned int rounds = tap_full() ? 1000 : 100, i;
	struct queue q;

	for (i = 0; i < rounds; i++) {
		if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			break;
		put_write(&q, &word[106], i + 1);
		queue_submit(&q);
		if (!wait_word(&word[106], i + 1, LONG_MS) || queue_destroy(&q) != HSAKMT_STATUS_SUCCESS)
			break;
	}
	tap_is(i, rounds, "a queue is created, used and destroyed %u times", rounds);
}

int main(void)
{
	struct queue witness;
	HSAKMT_STATUS s;

	tap_begin(600);
	tap_child("no doorbells", no_doorbells_yet, NULL);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!word)
		tap_bail("no memory");
	test_limit();
	if (queue_create(&witness, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	test_update(&witness, false);
	test_update(&witness, true);
	test_wptr_only();
	test_destroy_parked(&witness);
	test_preempt_parked(&witness);
	test_churn();
	queue_destroy(&witness);
	gpu_close();
	return tap_done();
}
