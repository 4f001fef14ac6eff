// SPDX-License-Identifier: MIT
/*
 * PM4 as the command processor takes it from a user ring: NOPs, wrapping, read
 * pointer, indirect buffers, waits between queues.
 */
#include <string.h>

#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u

static struct gpu gpu;
static volatile uint64_t *word;	/* a page of words for the GPU */

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

static void test_nop(struct queue *q)
{
	uint32_t *p;

	tap_is(queue_rptr(q), 0, "the read pointer of a new queue is 0");
	queue_commit(q, pm4_nop1(reserve(q, 1)));
	queue_submit(q);
	tap_ok(queue_wait_idle(q, LONG_MS), "a one-dword NOP is consumed");
	tap_is(queue_rptr(q), 1, "as one dword");
	p = reserve(q, 6);
	p[0] = PACKET3_COMPUTE(IT_NOP, 5);
	/* The body must not be executed. */
	p[1] = p[2] = p[3] = p[4] = p[5] = 0xffffffff;
	queue_commit(q, p + 6);
	put_write(q, &word[0], 1);
	queue_submit(q);
	tap_ok(queue_wait_idle(q, LONG_MS) && word[0] == 1, "a long NOP is skipped whole");
	queue_commit(q, pm4_acquire_mem(reserve(q, PM4_ACQUIRE_MEM_DW)));
	put_write(q, &word[0], 2);
	queue_submit(q);
	tap_ok(queue_wait_idle(q, LONG_MS) && word[0] == 2, "ACQUIRE_MEM passes");
}

static void test_wrap(struct queue *q)
{
	unsigned int i, bad_data = 0, bad_rptr = 0;

	for (i = 1; i <= 2000; i++) {
		put_write(q, &word[1], i);
		queue_submit(q);
		if (i % 7)
			continue;
		if (!queue_wait_idle(q, LONG_MS))
			break;
		bad_data += word[1] != i;
		bad_rptr += queue_rptr(q) != ((uint32_t)q->wptr & (q->ring_dw - 1));
	}
	tap_is(i, 2001, "2000 packets through a ring of 170");
	tap_is(bad_data, 0, "each has run when the read pointer says so");
	tap_is(bad_rptr, 0, "the idle read pointer is the write pointer modulo the ring");
	tap_ok(q->wptr > q->ring_dw * 10ull, "the ring wrapped more than ten times");
}

/* A packet may begin at the end of the ring and go on at its start. */
static void test_split(struct queue *q)
{
	uint32_t packet[PM4_WRITE64_DW];
	unsigned int split, i, wrong = 0;

	for (split = 1; split < PM4_WRITE64_DW; split++) {
		pm4_write64(packet, gpu_va(&word[2]), split);
		while (((uint32_t)q->wptr & (q->ring_dw - 1)) != q->ring_dw - split)
			queue_commit(q, pm4_nop1(reserve(q, 1)));
		queue_submit(q);
		if (!queue_wait_idle(q, LONG_MS))
			tap_bail("padding is not consumed");
		for (i = 0; i < PM4_WRITE64_DW; i++)
			q->ring[(q->wptr + i) & (q->ring_dw - 1)] = packet[i];
		q->wptr += PM4_WRITE64_DW;
		queue_submit(q);
		wrong += !queue_wait_idle(q, LONG_MS) || word[2] != split;
	}
	tap_is(wrong, 0, "a packet split by the end of the ring at every dword");
}

/* What is in the ring behind the doorbell's value must not run. */
static void test_limit(struct queue *q, struct queue *other)
{
	word[3] = 0;
	put_write(q, &word[3], 1);
	queue_submit(q);
	put_write(q, &word[3], 2);
	tap_ok(wait_word(&word[3], 1, LONG_MS), "the packet before the doorbell's value runs");
	put_write(other, &word[7], 3);
	queue_submit(other);
	tap_ok(wait_word(&word[7], 3, LONG_MS), "then one of another queue");
	tap_is((int64_t)word[3], 1, "the one behind the value does not run");
	queue_submit(q);
	tap_ok(wait_word(&word[3], 2, LONG_MS), "until its doorbell rings");
}

static void test_ib(struct queue *q, enum mem_kind kind)
{
	uint32_t *ib = mem_alloc(&gpu, kind, GPU_PAGE);
	unsigned int i;
	uint32_t *p = ib;

	if (!ib)
		tap_bail("no memory for an IB");
	word[4] = 0;
	for (i = 0; i < 100; i++)
		p = pm4_write64(p, gpu_va(&word[8 + i]), 1000 + i);
	queue_commit(q, pm4_ib(reserve(q, PM4_IB_DW), gpu_va(ib), (uint32_t)(p - ib)));
	put_write(q, &word[4], 77);
	queue_submit(q);
	tap_ok(wait_word(&word[4], 77, LONG_MS), "an IB in %s returns to the ring", mem_kind_name(kind));
	for (i = 0; i < 100; i++)
		if (word[8 + i] != 1000 + i)
			break;
	tap_is(i, 100, "after it ran all its packets");
	memset((void *)&word[8], 0, 100 * sizeof(*word));
	queue_wait_idle(q, LONG_MS);
	mem_free(ib, GPU_PAGE);
}

/* RELEASE_MEM in an IB changes a packet of the same IB that has not run yet. */
static void test_ib_patch(struct queue *q)
{
	uint32_t *ib = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	uint32_t *p, *nop;

	if (!ib)
		tap_bail("no memory for an IB");
	word[4] = 0;
	nop = ib + PM4_RELEASE_MEM_DW;
	p = pm4_release_mem(ib, gpu_va(nop + 1), RELEASE_MEM_DATA_32, 0xdeadbeef,
			    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
	*p++ = PACKET3_COMPUTE(IT_NOP, 1);
	*p++ = 0;
	p = pm4_wait_mem(p, gpu_va(nop + 1), WAIT_REG_MEM_EQ, 0xdeadbeef, 0xffffffff);
	queue_commit(q, pm4_ib(reserve(q, PM4_IB_DW), gpu_va(ib), (uint32_t)(p - ib)));
	put_write(q, &word[4], 78);
	queue_submit(q);
	tap_ok(wait_word(&word[4], 78, LONG_MS), "an IB that waits for what it wrote into itself");
	queue_wait_idle(q, LONG_MS);
	mem_free(ib, GPU_PAGE);
}

/* A parked queue lets others run, and goes on when one of them writes the word. */
static void test_wait(struct queue *q, struct queue *other)
{
	volatile uint64_t *gate = &word[5], *after = &word[6], *witness = &word[7];
	unsigned int func, wrong = 0;
	static const struct {
		unsigned int func;
		uint32_t closed, open;
	} t[] = {
		{ WAIT_REG_MEM_LT, 100, 99 }, { WAIT_REG_MEM_LE, 101, 100 },
		{ WAIT_REG_MEM_EQ, 0, 100 }, { WAIT_REG_MEM_NE, 100, 0 },
		{ WAIT_REG_MEM_GE, 99, 100 }, { WAIT_REG_MEM_GT, 100, 101 },
	};

	for (func = 0; func < sizeof(t) / sizeof(*t); func++) {
		*gate = t[func].closed;
		*after = 0;
		*witness = 0;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		queue_commit(q, pm4_wait_mem(reserve(q, PM4_WAIT_MEM_DW), gpu_va(gate), t[func].func,
					     100, 0xffffffff));
		put_write(q, after, 1);
		queue_submit(q);
		/* When the other queue's packet has run, this one's doorbell was seen. */
		put_write(other, witness, 1);
		queue_submit(other);
		wrong += !wait_word(witness, 1, LONG_MS) || *after != 0;
		put_write(other, gate, t[func].open);
		queue_submit(other);
		wrong += !wait_word(after, 1, LONG_MS);
	}
	tap_is(wrong, 0, "a queue waits for <, <=, ==, !=, >= and > of a word another queue writes");

	/* The mask selects; the CPU may open the gate too. */
	*gate = 0xf0;
	*after = 0;
	queue_commit(q, pm4_wait_mem(reserve(q, PM4_WAIT_MEM_DW), gpu_va(gate), WAIT_REG_MEM_EQ, 0x0a, 0x0f));
	put_write(q, after, 1);
	queue_submit(q);
	put_write(other, witness, 2);
	queue_submit(other);
	tap_ok(wait_word(witness, 2, LONG_MS) && *after == 0, "a masked wait is parked");
	__atomic_store_n(gate, 0xfa, __ATOMIC_SEQ_CST);
	tap_ok(wait_word(after, 1, LONG_MS), "and goes on after the CPU has written the word");
}

static void test_release(struct queue *q)
{
	uint64_t before;
	uint32_t *p;

	word[4] = ~0ull;
	p = reserve(q, PM4_RELEASE_MEM_DW);
	queue_commit(q, pm4_release_mem(p, gpu_va(&word[4]), RELEASE_MEM_DATA_32, 0x1122334455667788,
					RELEASE_MEM_INT_WRITE_CONFIRM, 0));
	queue_submit(q);
	tap_ok(queue_wait_idle(q, LONG_MS), "RELEASE_MEM with 32 bits");
	tap_is((int64_t)word[4], (int64_t)0xffffffff55667788, "writes 32 bits");
	p = reserve(q, PM4_RELEASE_MEM_DW);
	queue_commit(q, pm4_release_mem(p, gpu_va(&word[4]), RELEASE_MEM_DATA_64, 0x1122334455667788,
					RELEASE_MEM_INT_NONE, 0));
	before = q->wptr;
	queue_submit(q);
	tap_ok(queue_wait_idle(q, LONG_MS) && q->wptr == before, "RELEASE_MEM with 64 bits");
	tap_is((int64_t)word[4], 0x1122334455667788, "writes 64 bits");
}

int main(void)
{
	struct queue q, other;
	HSAKMT_STATUS s;

	tap_begin(600);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!word || queue_create(&q, &gpu, RING_BYTES) || queue_create(&other, &gpu, RING_BYTES))
		tap_bail("no memory or no queue");
	test_nop(&q);
	test_wrap(&q);
	test_split(&q);
	test_limit(&q, &other);
	test_ib(&q, MEM_SYSTEM);
	test_ib(&q, MEM_VRAM);
	test_ib_patch(&q);
	test_wait(&q, &other);
	test_release(&q);
	tap_is(queue_destroy(&q), 0, "a queue is destroyed");
	tap_is(queue_destroy(&other), 0, "and the other");
	gpu_close();
	return tap_done();
}
