// SPDX-License-Identifier: MIT
/*
 * AQL user queues as runtimes use them, without kernels: barrier packets with
 * completion signals and their events, slots reserved before they are written, PM4 in
 * indirect buffers, dependencies over several queues, a queue off and on, bad packets.
 */
#include <string.h>

#include "aql_queue.h"
#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_PACKETS	64u
#define CHAIN		8u
#define CHAIN_ROUNDS	20u
#define IB_DW		1024u

static struct gpu gpu;
static volatile uint64_t *word;	/* a page of words for the GPU */
static struct aql_signal *sig;	/* a page of signals */
static uint32_t *ib;
static uint32_t ib_used;

static void create(struct aql_queue *q)
{
	if (aql_queue_create(q, &gpu, RING_PACKETS) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no AQL queue");
}

static bool wait_signal(struct aql_signal *s, int64_t want, unsigned int ms)
{
	return wait_word((volatile uint64_t *)&s->value, (uint64_t)want, ms);
}

/* PM4 that writes @value to @at, as an AQL packet. */
static void put_write(struct aql_queue *q, volatile uint64_t *at, uint64_t value,
		      const struct aql_signal *done)
{
	uint32_t *p = ib + ib_used;

	/* A ring of IBs: as many as packets in flight fit many times. */
	pm4_write64(p, gpu_va(at), value);
	aql_pm4_ib(aql_queue_reserve(q), gpu_va(p), PM4_WRITE64_DW, done);
	ib_used = (ib_used + 8) % IB_DW;
}

static void put_barrier(struct aql_queue *q, uint32_t type, struct aql_signal *dep,
			const struct aql_signal *done)
{
	aql_barrier(aql_queue_reserve(q), type, &dep, dep ? 1 : 0, done);
}

static void test_completion(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	unsigned int i, late = 0, wrong = 0;
	struct aql_queue q;

	create(&q);
	for (i = 1; i <= 5 * RING_PACKETS; i++) {
		aql_signal_init(&sig[0], 1, event_slot(ev), ev->EventId);
		put_write(&q, &word[0], i, NULL);
		put_barrier(&q, AQL_PACKET_BARRIER_AND, NULL, &sig[0]);
		aql_queue_submit(&q);
		late += event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS;
		wrong += sig[0].value != 0 || word[0] != i;
		if (late)
			break;
	}
	tap_is(late, 0, "the event of each completion signal fires");
	tap_is(wrong, 0, "by then the signal is 0, and what came before it is done");
	tap_ok(aql_queue_wait_idle(&q, LONG_MS), "the read index is the write index");
	for (i = 0; i < RING_PACKETS; i++)
		wrong += (q.ring[i].head & 0xff) != AQL_PACKET_INVALID;
	tap_is(wrong, 0, "every slot of the ring is invalid again");
	tap_is(aql_queue_destroy(&q), 0, "the queue is destroyed");
	hsaKmtDestroyEvent(ev);
}

/* Producers reserve slots and fill them in any order. */
static void test_reserved(void)
{
	struct aql_packet *first, *second;
	struct aql_queue q, witness;
	unsigned int i, early = 0, late = 0;

	create(&q);
	create(&witness);
	for (i = 1; i <= 2 * RING_PACKETS; i++) {
		aql_signal_init(&sig[0], 1, NULL, 0);
		aql_signal_init(&sig[1], 1, NULL, 0);
		aql_signal_init(&sig[2], 1, NULL, 0);
		first = aql_queue_reserve(&q);
		second = aql_queue_reserve(&q);
		aql_barrier(second, AQL_PACKET_BARRIER_AND, NULL, 0, &sig[1]);
		aql_queue_submit(&q);
		put_barrier(&witness, AQL_PACKET_BARRIER_AND, NULL, &sig[2]);
		aql_queue_submit(&witness);
		late += !wait_signal(&sig[2], 0, LONG_MS);
		early += sig[1].value != 1;
		aql_barrier(first, AQL_PACKET_BARRIER_AND, NULL, 0, &sig[0]);
		aql_queue_submit(&q);
		late += !wait_signal(&sig[1], 0, LONG_MS) || sig[0].value != 0;
		if (late)
			break;
	}
	tap_is(early, 0, "nothing passes a slot that is reserved and not written");
	tap_is(late, 0, "when it is, both run");
	aql_queue_destroy(&q);
	aql_queue_destroy(&witness);
}

/* Queue i waits for the signal of queue i - 1 and completes the next. No CPU in between. */
static void test_chain(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	static struct aql_queue q[CHAIN];
	unsigned int i, round, late = 0, wrong = 0;

	for (i = 0; i < CHAIN; i++)
		create(&q[i]);
	for (round = 1; round <= CHAIN_ROUNDS; round++) {
		for (i = 0; i < CHAIN; i++)
			aql_signal_init(&sig[i], 1, NULL, 0);
		aql_signal_init(&sig[CHAIN], 1, event_slot(ev), ev->EventId);
		/* The last first, so that all of them have to wait. */
		for (i = CHAIN; i--;) {
			put_barrier(&q[i], AQL_PACKET_BARRIER_AND, &sig[i], NULL);
			put_write(&q[i], &word[i], round, &sig[i + 1]);
			aql_queue_submit(&q[i]);
		}
		late += event_wait(ev, 0) == HSAKMT_STATUS_SUCCESS;
		__atomic_store_n(&sig[0].value, 0, __ATOMIC_RELEASE);
		late += event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS;
		for (i = 0; i < CHAIN; i++)
			wrong += word[i] != round;
		if (late)
			break;
	}
	tap_is(late, 0, "%u times down a chain of %u queues", CHAIN_ROUNDS, CHAIN);
	tap_is(wrong, 0, "each has done its part");
	for (i = 0; i < CHAIN; i++)
		aql_queue_destroy(&q[i]);
	hsaKmtDestroyEvent(ev);
}

/* Fan-in: AND of four queues, OR of four; a diamond with PM4's RELEASE_MEM and WAIT_REG_MEM. */
static void test_fan(void)
{
	struct aql_signal *dep[4] = { &sig[1], &sig[2], &sig[3], &sig[4] };
	static struct aql_queue q[5];
	struct queue pm4;
	unsigned int i, n;
	uint32_t *p;

	for (i = 0; i < 5; i++)
		create(&q[i]);
	if (queue_create(&pm4, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no PM4 queue");
	for (i = 0; i < 8; i++)
		aql_signal_init(&sig[i], 1, NULL, 0);

	/* sig[0], a PM4 queue's word, opens all four; the fifth waits for them. */
	aql_barrier(aql_queue_reserve(&q[4]), AQL_PACKET_BARRIER_OR, dep, 4, &sig[6]);
	aql_barrier(aql_queue_reserve(&q[4]), AQL_PACKET_BARRIER_AND, dep, 4, &sig[5]);
	aql_queue_submit(&q[4]);
	for (i = 0; i < 4; i++) {
		put_barrier(&q[i], AQL_PACKET_BARRIER_AND, &sig[0], dep[i]);
		aql_queue_submit(&q[i]);
	}
	word[64] = 1;
	p = queue_reserve_wait(&pm4, PM4_WAIT_MEM_DW + PM4_RELEASE_MEM_DW, LONG_MS);
	p = pm4_wait_mem(p, gpu_va(&sig[5].value), WAIT_REG_MEM_EQ, 0, ~0u);
	queue_commit(&pm4, pm4_release_mem(p, gpu_va(&word[64]), RELEASE_MEM_DATA_64, 2,
					   RELEASE_MEM_INT_NONE, 0));
	queue_submit(&pm4);
	for (n = 0, i = 1; i < 7; i++)
		n += sig[i].value != 1;
	tap_is(n, 0, "nothing has passed before the source is ready");
	__atomic_store_n(&sig[0].value, 0, __ATOMIC_RELEASE);
	tap_ok(wait_word(&word[64], 2, LONG_MS), "one opens four, the four one, and that one a PM4 queue");
	for (n = 0, i = 0; i < 7; i++)
		n += sig[i].value != 0;
	tap_is(n, 0, "all signals are 0");
	queue_destroy(&pm4);
	for (i = 0; i < 5; i++)
		aql_queue_destroy(&q[i]);
}

/* One of two: enough for OR, not for AND. */
static void test_one_of_two(void)
{
	struct aql_signal *dep[2] = { &sig[0], &sig[1] };
	struct aql_queue all, any, witness;
	unsigned int i;

	create(&all);
	create(&any);
	create(&witness);
	for (i = 0; i < 5; i++)
		aql_signal_init(&sig[i], 1, NULL, 0);
	aql_barrier(aql_queue_reserve(&all), AQL_PACKET_BARRIER_AND, dep, 2, &sig[2]);
	aql_queue_submit(&all);
	aql_barrier(aql_queue_reserve(&any), AQL_PACKET_BARRIER_OR, dep, 2, &sig[3]);
	aql_queue_submit(&any);
	/* Completed by the device, which so looks at both waits again at once. */
	put_barrier(&witness, AQL_PACKET_BARRIER_AND, NULL, &sig[1]);
	aql_queue_submit(&witness);
	tap_ok(wait_signal(&sig[3], 0, LONG_MS), "OR passes with one of two");
	/* A doorbell later it has visited every queue. */
	put_barrier(&witness, AQL_PACKET_BARRIER_AND, NULL, &sig[4]);
	aql_queue_submit(&witness);
	tap_ok(wait_signal(&sig[4], 0, LONG_MS) && sig[2].value == 1, "AND does not");
	__atomic_store_n(&sig[0].value, 0, __ATOMIC_RELEASE);
	tap_ok(wait_signal(&sig[2], 0, LONG_MS), "but with both");
	aql_queue_destroy(&all);
	aql_queue_destroy(&any);
	aql_queue_destroy(&witness);
}

static HSAKMT_STATUS set_share(struct aql_queue *q, unsigned int percent)
{
	return hsaKmtUpdateQueue(q->res.QueueId, percent, HSA_QUEUE_PRIORITY_NORMAL, q->ring,
				 q->size * AQL_PACKET_SIZE, NULL);
}

/* Off in a barrier that waits, on again after it came true and without a doorbell. */
static void test_update(void)
{
	unsigned int i, failed = 0, early = 0, late = 0;
	struct aql_queue q, witness;

	create(&q);
	create(&witness);
	for (i = 1; i <= 20; i++) {
		aql_signal_init(&sig[0], 1, NULL, 0);
		aql_signal_init(&sig[1], 1, NULL, 0);
		aql_signal_init(&sig[2], 1, NULL, 0);
		put_barrier(&q, AQL_PACKET_BARRIER_AND, &sig[0], &sig[1]);
		put_write(&q, &word[80], i, &sig[3]);
		aql_signal_init(&sig[3], 1, NULL, 0);
		aql_queue_submit(&q);
		failed += set_share(&q, 0) != HSAKMT_STATUS_SUCCESS;
		__atomic_store_n(&sig[0].value, 0, __ATOMIC_RELEASE);
		put_barrier(&witness, AQL_PACKET_BARRIER_AND, NULL, &sig[2]);
		aql_queue_submit(&witness);
		late += !wait_signal(&sig[2], 0, LONG_MS);
		early += sig[1].value != 1;
		failed += set_share(&q, 100) != HSAKMT_STATUS_SUCCESS;
		late += !wait_signal(&sig[3], 0, LONG_MS) || word[80] != i;
		late += !aql_queue_wait_idle(&q, LONG_MS);
		if (late)
			break;
	}
	tap_is(failed, 0, "20 times off within a barrier and on again");
	tap_is(early, 0, "nothing runs while it is off");
	tap_is(late, 0, "it goes on without another doorbell");
	aql_queue_destroy(&q);
	aql_queue_destroy(&witness);
}

/*
 * The command processor is no agent: it says so in the queue's own signal, with its event
 * as ROCr has it, and stops. That is all that is said: KFD has no part in it, so there is
 * no HW_EXCEPTION.
 */
static void test_error(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	HsaEvent *hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	struct aql_queue q, other;
	struct aql_packet *p;

	if (!ev || !hw)
		tap_bail("no events");
	create(&q);
	create(&other);
	aql_signal_init(q.error, 0, event_slot(ev), ev->EventId);
	aql_signal_init(&sig[0], 1, NULL, 0);
	aql_signal_init(&sig[1], 1, NULL, 0);
	p = aql_queue_reserve(&q);
	memset(p->body, 0, sizeof(p->body));
	p->completion = 0;
	__atomic_store_n(&p->head, AQL_PACKET_AGENT_DISPATCH, __ATOMIC_RELEASE);
	put_barrier(&q, AQL_PACKET_BARRIER_AND, NULL, &sig[0]);
	aql_queue_submit(&q);
	tap_is(event_wait(ev, LONG_MS), 0, "an agent dispatch: the event of the queue's error signal fires");
	tap_is(q.error->value, AQL_ERROR_PACKET, "which says what is wrong");
	put_barrier(&other, AQL_PACKET_BARRIER_AND, NULL, &sig[1]);
	aql_queue_submit(&other);
	tap_ok(wait_signal(&sig[1], 0, LONG_MS), "another queue goes on");
	tap_is(sig[0].value, 1, "what is behind it does not run");
	tap_is(aql_queue_destroy(&q), 0, "the queue is destroyed");
	/* Before the queue ends all that the hardware said of it is acted on. */
	tap_is(hsaKmtWaitOnEvent(hw, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "no HW_EXCEPTION");
	aql_queue_destroy(&other);
	hsaKmtDestroyEvent(ev);
	hsaKmtDestroyEvent(hw);
}

/* A queue of a runtime that keeps no error signal: there it is HW_EXCEPTION. */
static void test_error_untold(void)
{
	HsaEvent *hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	struct aql_packet *p;
	struct aql_queue q;

	if (!hw)
		tap_bail("no event");
	create(&q);
	q.desc->inactive_signal = 0;
	p = aql_queue_reserve(&q);
	memset(p->body, 0, sizeof(p->body));
	p->completion = 0;
	__atomic_store_n(&p->head, AQL_PACKET_AGENT_DISPATCH, __ATOMIC_RELEASE);
	aql_queue_submit(&q);
	tap_is(event_wait(hw, LONG_MS), 0, "without error signal: HW_EXCEPTION");
	tap_ok(set_share(&q, 100) != HSAKMT_STATUS_SUCCESS, "the queue cannot be started again");
	tap_is(aql_queue_destroy(&q), 0, "the queue is destroyed");
	hsaKmtDestroyEvent(hw);
}

int main(void)
{
	HSAKMT_STATUS s;

	tap_begin(600);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	sig = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	ib = mem_alloc(&gpu, MEM_SYSTEM, IB_DW * 4);
	if (!word || !sig || !ib)
		tap_bail("no memory");
	test_completion();
	test_reserved();
	test_chain();
	test_fan();
	test_one_of_two();
	test_update();
	test_error();
	test_error_untold();
	gpu_close();
	return tap_done();
}
