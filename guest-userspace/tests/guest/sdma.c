// SPDX-License-Identifier: MIT
/*
 * SDMA user queues with the packets clients use: copies, fills, completion by fence
 * and trap, dependencies by polling; a queue off and on within them; how many there are
 * and which engines; bad packets and faults.
 */
#include <errno.h>
#include <string.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define BUF_BYTES	(1u << 20)
#define MAX_SDMA	16u
#define CIRCLE		4u

static struct gpu gpu;
static volatile uint64_t *word;	/* a page of words for the GPU */

static void put_write(struct sdma_queue *q, volatile uint64_t *at, uint32_t value)
{
	uint32_t *p = sdma_queue_reserve(q, SDMA_PKT_WRITE_DW + 1);

	sdma_queue_commit(q, sdma_write32(p, gpu_va(at), value));
}

static void put_gate(struct sdma_queue *q, volatile uint64_t *at, uint32_t value)
{
	uint32_t *p = sdma_queue_reserve(q, SDMA_PKT_POLL_REGMEM_DW);

	sdma_queue_commit(q, sdma_poll_mem(p, gpu_va(at), WAIT_REG_MEM_EQ, value, ~0u));
}

static void put_count(struct sdma_queue *q, volatile uint64_t *at)
{
	uint32_t *p = sdma_queue_reserve(q, SDMA_PKT_ATOMIC_DW);

	sdma_queue_commit(q, sdma_add64(p, gpu_va(at), 1));
}

static void put_signal(struct sdma_queue *q, const HsaEvent *ev)
{
	uint32_t *p = sdma_queue_reserve(q, SDMA_SIGNAL_DW);

	sdma_queue_commit(q, sdma_signal(p, event_slot(ev), ev->EventId));
}

static void create(struct sdma_queue *q)
{
	if (sdma_queue_create(q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no SDMA queue");
}

/* A copy and a fill of odd sizes between kinds of memory, with the event at their end. */
static void test_move(enum mem_kind from, enum mem_kind to)
{
	static const uint32_t sizes[] = { 1, 3, 4, 63, 4096, 4097, 65535, BUF_BYTES };
	uint32_t *src = mem_alloc(&gpu, from, BUF_BYTES), *dst = mem_alloc(&gpu, to, BUF_BYTES);
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	unsigned int i, j, wrong = 0, spilled = 0, late = 0;
	struct sdma_queue q;
	uint32_t *p;

	create(&q);
	if (!src || !dst || !ev)
		tap_bail("no memory");
	for (i = 0; i < BUF_BYTES / 4; i++)
		src[i] = i * 2654435761u;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(dst, 0xa5, BUF_BYTES);
		p = sdma_queue_reserve(&q, SDMA_PKT_COPY_LINEAR_DW);
		sdma_queue_commit(&q, sdma_copy(p, gpu_va(dst), gpu_va(src), sizes[i]));
		put_signal(&q, ev);
		sdma_queue_submit(&q);
		late += event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS;
		wrong += memcmp(dst, src, sizes[i]) != 0;
		spilled += sizes[i] < BUF_BYTES && ((uint8_t *)dst)[sizes[i]] != 0xa5;
	}
	p = sdma_queue_reserve(&q, SDMA_PKT_CONST_FILL_DW);
	sdma_queue_commit(&q, sdma_fill(p, gpu_va(dst), 0xfee1600d, BUF_BYTES / 2));
	put_signal(&q, ev);
	sdma_queue_submit(&q);
	late += event_wait(ev, LONG_MS) != HSAKMT_STATUS_SUCCESS;
	for (j = 0; j < BUF_BYTES / 8; j++)
		wrong += dst[j] != 0xfee1600d;
	spilled += dst[BUF_BYTES / 8] == 0xfee1600d;
	tap_is(late, 0, "%s to %s: each trap wakes its waiter", mem_kind_name(from), mem_kind_name(to));
	tap_is(wrong, 0, "%s to %s: the data is there by then", mem_kind_name(from), mem_kind_name(to));
	tap_is(spilled, 0, "%s to %s: and nothing behind it", mem_kind_name(from), mem_kind_name(to));
	tap_is(sdma_queue_destroy(&q), 0, "the queue is destroyed");
	hsaKmtDestroyEvent(ev);
	mem_free(src, BUF_BYTES);
	mem_free(dst, BUF_BYTES);
}

static void test_pointers(void)
{
	unsigned int i, bad = 0;
	struct sdma_queue q;

	create(&q);
	for (i = 1; i <= 3000; i++) {
		put_write(&q, &word[0], i);
		sdma_queue_submit(&q);
		if (i % 11)
			continue;
		if (!sdma_queue_wait_idle(&q, LONG_MS))
			break;
		bad += word[0] != i;
	}
	tap_is(i, 3001, "3000 packets through a ring of 200");
	tap_is(bad, 0, "each has run when the read pointer says so");
	tap_ok(sdma_queue_rptr(&q) > RING_BYTES, "which counts bytes and does not wrap");
	sdma_queue_destroy(&q);
}

/*
 * Four queues on two engines hand a token round in a circle, each waiting for the one
 * before it, the last submitted first. No CPU, no interrupt but at the end. bug 95
 */
static void test_circle(void)
{
	HsaEvent *ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	unsigned int i, k, rounds = 30;
	struct sdma_queue q[CIRCLE];
	uint32_t *p;

	for (k = 0; k < CIRCLE; k++) {
		word[8 + k] = 0;
		create(&q[k]);
	}
	for (i = 1; i <= rounds; i++) {
		for (k = 0; k < CIRCLE; k++) {
			put_gate(&q[k], &word[8 + k], k ? i : i - 1);
			if (k + 1 < CIRCLE) {
				put_write(&q[k], &word[8 + k + 1], i);
			} else {
				p = sdma_queue_reserve(&q[k], SDMA_PKT_ATOMIC_DW);
				sdma_queue_commit(&q[k], sdma_add64(p, gpu_va(&word[8]), 1));
			}
		}
	}
	put_signal(&q[CIRCLE - 1], ev);
	for (k = CIRCLE; k--;)
		sdma_queue_submit(&q[k]);
	tap_is(event_wait(ev, LONG_MS), 0, "bug 95: a token goes %u times round %u queues", rounds, CIRCLE);
	tap_is((int64_t)word[8], rounds, "bug 95: and is counted each time");
	for (k = 0; k < CIRCLE; k++)
		sdma_queue_destroy(&q[k]);
	hsaKmtDestroyEvent(ev);
}

static HSAKMT_STATUS set_share(struct sdma_queue *q, unsigned int percent)
{
	return hsaKmtUpdateQueue(q->res.QueueId, percent, HSA_QUEUE_PRIORITY_NORMAL, q->ring,
				 q->ring_dw * 4, NULL);
}

/* Inactive: nothing runs. Active again: memory decides, and it goes on in its wait. */
static void test_update(struct sdma_queue *witness)
{
	unsigned int i, early = 0, late = 0, failed = 0, again = 0;
	struct sdma_queue q;

	create(&q);
	word[20] = 0;
	for (i = 1; i <= 20; i++) {
		word[16] = word[17] = 0;
		put_count(&q, &word[20]);
		put_gate(&q, &word[16], 1);
		put_write(&q, &word[17], i);
		sdma_queue_submit(&q);
		put_write(witness, &word[18], i);
		sdma_queue_submit(witness);
		late += !sdma_queue_wait_idle(witness, LONG_MS);
		failed += set_share(&q, 0) != HSAKMT_STATUS_SUCCESS;
		/* The gate opens, and more is published, while it is off. */
		word[16] = 1;
		put_write(&q, &word[19], i);
		if (i & 1)
			sdma_queue_submit(&q);
		else
			sdma_queue_publish_wptr(&q);
		put_write(witness, &word[18], ~i);
		sdma_queue_submit(witness);
		late += !sdma_queue_wait_idle(witness, LONG_MS);
		early += word[17] == i;
		failed += set_share(&q, 100) != HSAKMT_STATUS_SUCCESS;
		late += !sdma_queue_wait_idle(&q, LONG_MS) || word[17] != i || word[19] != i;
		again += word[20] != i;
		if (late)
			break;
	}
	tap_is(failed, 0, "20 times off within a wait and on again");
	tap_is(early, 0, "nothing runs while it is off");
	tap_is(late, 0, "it goes on behind the wait, without another doorbell");
	tap_is(again, 0, "and does nothing again that it has done");
	sdma_queue_destroy(&q);
}

static void test_destroy_parked(struct sdma_queue *witness)
{
	unsigned int i, wrong = 0;
	struct sdma_queue q;

	for (i = 0; i < 2 * MAX_SDMA; i++) {
		if (sdma_queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			break;
		word[24] = word[25] = 0;
		put_gate(&q, &word[24], 1);
		put_write(&q, &word[25], 1);
		sdma_queue_submit(&q);
		put_write(witness, &word[26], i);
		sdma_queue_submit(witness);
		if (!sdma_queue_wait_idle(witness, LONG_MS) ||
		    sdma_queue_destroy(&q) != HSAKMT_STATUS_SUCCESS)
			break;
		put_write(witness, &word[24], 1);
		sdma_queue_submit(witness);
		wrong += !sdma_queue_wait_idle(witness, LONG_MS) || word[25] != 0;
	}
	tap_is(i, 2 * MAX_SDMA, "queues are destroyed while they wait: none of their slots is lost");
	tap_is(wrong, 0, "and none of them goes on afterwards");
}

/* Every queue there is, all at work; one more is ENOMEM, as upstream. */
static void test_limit(void)
{
	static struct sdma_queue q[MAX_SDMA + 1];
	unsigned int limit = gpu.props.NumSdmaEngines * gpu.props.NumSdmaQueuesPerEngine;
	unsigned int n, i, j, same = 0, wrong = 0, round;

	tap_is(gpu.props.NumSdmaEngines, 2, "the topology tells two engines");
	tap_is(gpu.props.NumSdmaQueuesPerEngine, 8, "with eight queues each");
	if (limit != MAX_SDMA)
		tap_bail("more queues than this test has room for");
	for (round = 0; round < 2; round++) {
		for (n = 0; n < limit; n++)
			if (sdma_queue_create(&q[n], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
				break;
		if (!tap_is(n, limit, "round %u: that many are created", round))
			tap_bail("the rest makes no sense");
		errno = 0;
		tap_ok(sdma_queue_create(&q[n], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS,
		       "one more is refused");
		for (i = 0; i < n; i++)
			for (j = 0; j < i; j++)
				same += q[i].res.Queue_DoorBell == q[j].res.Queue_DoorBell;
		for (i = 0; i < n; i++) {
			put_write(&q[i], &word[32 + i], round << 8 | i);
			sdma_queue_submit(&q[i]);
		}
		for (i = 0; i < n; i++)
			wrong += !wait_word(&word[32 + i], round << 8 | i, LONG_MS);
		for (i = 0; i < n; i++)
			wrong += sdma_queue_destroy(&q[i]) != HSAKMT_STATUS_SUCCESS;
	}
	tap_is(same, 0, "doorbells are all different");
	tap_is(wrong, 0, "every queue ran and was destroyed");
}

/* CREATE_QUEUE by hand, for the types and errors no thunk has. */
static void by_ioctl(void *arg)
{
	uint64_t va = gpu_va(kfd_reserve_va(4 * GPU_PAGE)), handle, offset;
	uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	struct kfd_ioctl_create_queue_args c = {
		.ring_base_address = va, .ring_size = GPU_PAGE,
		.write_pointer_address = va + GPU_PAGE, .read_pointer_address = va + GPU_PAGE + 64,
		.queue_percentage = 100, .queue_priority = 7,
	};
	struct kfd_ioctl_destroy_queue_args d;
	unsigned int i, n[2] = { 0, 0 };
	struct kfd_proc p;

	(void)arg;
	kfd_proc_open(&p);
	c.gpu_id = p.gpu_id;
	c.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	tap_is(kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c), -EINVAL, "a ring that is not mapped: EINVAL");
	if (kfd_alloc(&p, va, 4 * GPU_PAGE, flags, &handle, &offset) || kfd_map(&p, handle))
		tap_bail("no memory");
	c.queue_type = KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
	tap_is(kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c), -ENOMEM, "no engine is for XGMI: ENOMEM");
	c.queue_type = KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID;
	c.sdma_engine_id = 2;
	tap_is(kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c), -EINVAL, "a third engine: EINVAL");
	c.sdma_engine_id = ~0u;
	tap_is(kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c), -EINVAL, "engine ~0: EINVAL");
	c.sdma_engine_id = 1;
	while (n[1] < 20 && !kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c))
		n[1]++;
	tap_is(n[1], 8, "eight queues on engine 1");
	tap_is(kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c), -ENOMEM, "a ninth: ENOMEM");
	c.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	while (n[0] < 20 && !kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c))
		n[0]++;
	tap_is(n[0], 8, "eight more are on engine 0");
	tap_is(kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c), -ENOMEM, "then none is left: ENOMEM");
	for (i = 0; i < n[0] + n[1]; i++) {
		d = (struct kfd_ioctl_destroy_queue_args) { .queue_id = i };
		tap_is(kfd_call(p.kfd, AMDKFD_IOC_DESTROY_QUEUE, &d), 0, "queue %u is destroyed", i);
	}
	kfd_proc_close(&p);
}

static HsaEvent *exception_event(HSA_EVENTTYPE type)
{
	HsaEvent *ev = event_new(&gpu, type, false);

	if (!ev)
		tap_bail("no event");
	return ev;
}

/* A child of its own: its queues are of no use afterwards. */
static void open_again(void)
{
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU in the child");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!word)
		tap_bail("no memory");
}

static void bad_packet(void *arg)
{
	struct sdma_queue q, other;
	HsaEvent *ev;
	uint32_t *p;

	(void)arg;
	open_again();
	ev = exception_event(HSA_EVENTTYPE_HW_EXCEPTION);
	create(&q);
	create(&other);
	p = sdma_queue_reserve(&q, 1);
	*p++ = 0xee;
	sdma_queue_commit(&q, p);
	put_write(&q, &word[0], 1);
	sdma_queue_submit(&q);
	tap_is(event_wait(ev, LONG_MS), 0, "an opcode that is none fires HW_EXCEPTION");
	tap_is((int64_t)word[0], 0, "what is behind it does not run");
	tap_ok(set_share(&q, 100) != HSAKMT_STATUS_SUCCESS, "the queue cannot be started again");
	put_write(&other, &word[1], 1);
	sdma_queue_submit(&other);
	tap_ok(wait_word(&word[1], 1, LONG_MS), "another queue goes on");
	tap_is(sdma_queue_destroy(&q), 0, "the bad one is destroyed");
}

static void fault(void *arg)
{
	struct sdma_queue q;
	HsaEvent *ev;
	uint32_t *p;
	void *bad;

	(void)arg;
	open_again();
	ev = exception_event(HSA_EVENTTYPE_MEMORY);
	create(&q);
	bad = mem_alloc(&gpu, MEM_VRAM, GPU_PAGE);
	p = sdma_queue_reserve(&q, SDMA_PKT_FENCE_DW);
	sdma_queue_commit(&q, sdma_fence(p, gpu_va(bad), 1));
	sdma_queue_submit(&q);
	if (!sdma_queue_wait_idle(&q, LONG_MS))
		tap_bail("the mapped page cannot be written");
	hsaKmtUnmapMemoryToGPU(bad);
	p = sdma_queue_reserve(&q, SDMA_PKT_FENCE_DW);
	sdma_queue_commit(&q, sdma_fence(p, gpu_va(bad) + 8, 1));
	put_write(&q, &word[0], 1);
	sdma_queue_submit(&q);
	tap_is(event_wait(ev, LONG_MS), 0, "a store to a page that was unmapped fires MEMORY");
	tap_is((int64_t)ev->EventData.EventData.MemoryAccessFault.VirtualAddress, (int64_t)gpu_va(bad),
	       "with its address");
	tap_is((int64_t)word[0], 0, "what is behind it does not run");
	tap_is(sdma_queue_destroy(&q), 0, "the queue is destroyed");
}

int main(void)
{
	struct sdma_queue witness;

	tap_begin(600);
	tap_child("by ioctl", by_ioctl, NULL);
	tap_child("bad packet", bad_packet, NULL);
	tap_child("fault", fault, NULL);
	open_again();
	test_move(MEM_SYSTEM, MEM_VRAM);
	test_move(MEM_VRAM, MEM_GTT);
	test_move(MEM_GTT, MEM_SYSTEM);
	test_pointers();
	test_circle();
	test_limit();
	create(&witness);
	test_update(&witness);
	test_destroy_parked(&witness);
	sdma_queue_destroy(&witness);
	gpu_close();
	return tap_done();
}
