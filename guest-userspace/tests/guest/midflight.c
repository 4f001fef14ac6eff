// SPDX-License-Identifier: MIT
/*
 * Work that is under way at any moment, for a machine that is stopped, saved and moved
 * while it runs (lane snapshot), and that would show what is lost on the way.
 *
 * A round is: six PM4 queues, each waiting in memory for the one before it, log the round
 * in VRAM, count it and signal an event; two AQL queues wait for a signal, run an IB and
 * complete with an event; two SDMA queues wait for the last PM4 queue, copy from VRAM,
 * count and signal. Two rounds are always submitted and the CPU opens the gate of one, so
 * all ten queues have packets and stand in a wait when it does. Every eighth round maps
 * and unmaps one more queue beside them.
 *
 * Every event has to fire once a round: its age says so, and the number of interrupts,
 * which the driver's recovery of a late completion does not change.
 *
 *   midflight                 a few rounds
 *   midflight SPECS           arms SPECS and goes on until somebody outside disarms them
 */
#include <stdio.h>
#include <string.h>

#include "aql_queue.h"
#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define AQL_PACKETS	64u
#define PM4S		6u
#define AQLS		2u
#define SDMAS		2u
#define EVENTS		(PM4S + AQLS + SDMAS)
#define SHORT_ROUNDS	40u
#define MAX_ROUNDS	4000u
#define MAP_EVERY	8u
#define COPY_BYTES	8192u

static struct gpu gpu;
static struct queue pm4[PM4S];
static struct aql_queue aql[AQLS];
static struct sdma_queue sdma[SDMAS];
static HsaEvent *ev[EVENTS];
static uint64_t age[EVENTS];

/* What queues count in, a line each; fence EVENTS is the gate. */
#define LINE		8u
static volatile uint64_t *fence;
#define GATE		EVENTS

static volatile uint64_t *vlog;		/* VRAM: [PM4S][MAX_ROUNDS + 2] */
static uint64_t *src, *dst;		/* VRAM, system: [SDMAS][2] times COPY_BYTES */
static uint32_t *ib;			/* [AQLS][2] times 8 dwords */
static struct aql_signal *sig;		/* [AQLS][2][gate, done] */

static uint64_t number(unsigned int queue, unsigned int round)
{
	return (uint64_t)(queue + 1) << 32 | round;
}

static volatile uint64_t *log_word(unsigned int queue, unsigned int round)
{
	return &vlog[queue * (MAX_ROUNDS + 2) + round];
}

static uint64_t *half(uint64_t *buf, unsigned int queue, unsigned int round)
{
	return buf + (queue * 2 + round % 2) * (COPY_BYTES / 8);
}

static struct aql_signal *signal_of(unsigned int queue, unsigned int round, unsigned int which)
{
	return &sig[(queue * 2 + round % 2) * 2 + which];
}

static void setup(void)
{
	unsigned int i;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	fence = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	vlog = mem_alloc(&gpu, MEM_VRAM, PM4S * (MAX_ROUNDS + 2) * 8);
	src = mem_alloc(&gpu, MEM_VRAM, SDMAS * 2 * COPY_BYTES);
	dst = mem_alloc(&gpu, MEM_SYSTEM, SDMAS * 2 * COPY_BYTES);
	ib = mem_alloc(&gpu, MEM_GTT, GPU_PAGE);
	sig = mem_alloc(&gpu, MEM_GTT, GPU_PAGE);
	if (!fence || !vlog || !src || !dst || !ib || !sig)
		tap_bail("no memory");
	for (i = 0; i < EVENTS; i++) {
		ev[i] = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
		age[i] = 1;
		if (!ev[i])
			tap_bail("no event");
	}
	for (i = 0; i < PM4S; i++)
		if (queue_create(&pm4[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no PM4 queue");
	for (i = 0; i < AQLS; i++)
		if (aql_queue_create(&aql[i], &gpu, AQL_PACKETS) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no AQL queue");
	for (i = 0; i < SDMAS; i++)
		if (sdma_queue_create(&sdma[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no SDMA queue");
}

static void submit_pm4(unsigned int i, unsigned int round)
{
	volatile uint64_t *before = &fence[(i ? i - 1 : GATE) * LINE];
	uint32_t *p = queue_reserve_wait(&pm4[i], PM4_WAIT_MEM_DW + 2 * PM4_WRITE64_DW + PM4_RELEASE_MEM_DW,
					 LONG_MS);

	if (!p)
		tap_bail("queue %u stands still", i);
	p = pm4_wait_mem(p, gpu_va(before), WAIT_REG_MEM_GE, round, ~0u);
	p = pm4_write64(p, gpu_va(log_word(i, round)), number(i, round));
	p = pm4_write64(p, gpu_va(&fence[i * LINE]), round);
	queue_commit(&pm4[i], pm4_signal(p, event_slot(ev[i]), ev[i]->EventId));
	queue_submit(&pm4[i]);
}

static void submit_aql(unsigned int i, unsigned int round)
{
	struct aql_signal *gate = signal_of(i, round, 0), *done = signal_of(i, round, 1);
	uint32_t *p = ib + (i * 2 + round % 2) * 8;
	HsaEvent *e = ev[PM4S + i];

	aql_signal_init(gate, 1, NULL, 0);
	aql_signal_init(done, 1, event_slot(e), e->EventId);
	pm4_write64(p, gpu_va(&fence[(PM4S + i) * LINE]), round);
	aql_barrier(aql_queue_reserve(&aql[i]), AQL_PACKET_BARRIER_AND, &gate, 1, NULL);
	aql_pm4_ib(aql_queue_reserve(&aql[i]), gpu_va(p), PM4_WRITE64_DW, done);
	aql_queue_submit(&aql[i]);
}

static void submit_sdma(unsigned int i, unsigned int round)
{
	uint64_t *from = half(src, i, round);
	HsaEvent *e = ev[PM4S + AQLS + i];
	unsigned int k;
	uint32_t *p;

	for (k = 0; k < COPY_BYTES / 8; k++)
		from[k] = number(i, round) << 16 | k;
	p = sdma_queue_reserve(&sdma[i], 64);
	p = sdma_poll_mem(p, gpu_va(&fence[(PM4S - 1) * LINE]), WAIT_REG_MEM_GE, round, ~0u);
	p = sdma_copy(p, gpu_va(half(dst, i, round)), gpu_va(from), COPY_BYTES);
	p = sdma_add64(p, gpu_va(&fence[(PM4S + AQLS + i) * LINE]), 1);
	sdma_queue_commit(&sdma[i], sdma_signal(p, event_slot(e), e->EventId));
	sdma_queue_submit(&sdma[i]);
}

static void submit(unsigned int round)
{
	unsigned int i;

	/* The last of the chain first, so that all of them have to wait. */
	for (i = 0; i < SDMAS; i++)
		submit_sdma(i, round);
	for (i = PM4S; i--;)
		submit_pm4(i, round);
	for (i = 0; i < AQLS; i++)
		submit_aql(i, round);
}

static void open_gate(unsigned int round)
{
	unsigned int i;

	__atomic_store_n(&fence[GATE * LINE], round, __ATOMIC_SEQ_CST);
	for (i = 0; i < AQLS; i++)
		__atomic_store_n(&signal_of(i, round, 0)->value, 0, __ATOMIC_SEQ_CST);
}

/* One queue more, for the time of a completion. */
static bool map_one_more(HsaEvent *e, unsigned int round)
{
	volatile uint64_t *word = &fence[(GATE + 1) * LINE];
	struct queue q;
	uint32_t *p;
	bool ok;

	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		return false;
	p = queue_reserve(&q, PM4_WRITE64_DW + PM4_RELEASE_MEM_DW);
	p = pm4_write64(p, gpu_va(word), round);
	queue_commit(&q, pm4_signal(p, event_slot(e), e->EventId));
	queue_submit(&q);
	ok = event_wait(e, LONG_MS) == HSAKMT_STATUS_SUCCESS && *word == round;
	return queue_destroy(&q) == HSAKMT_STATUS_SUCCESS && ok;
}

/* What went wrong, by kind. */
static struct {
	unsigned int late, ages, early, counts, copies, maps;
} bad;

static bool check_round(unsigned int round)
{
	unsigned int i, k;

	for (i = 0; i < EVENTS; i++) {
		uint64_t was = age[i];

		if (events_wait(&ev[i], 1, false, LONG_MS, &age[i]) != HSAKMT_STATUS_SUCCESS) {
			tap_diag("round %u: event %u does not fire", round, i);
			bad.late++;
			return false;
		}
		if (age[i] != was + 1) {
			tap_diag("round %u: event %u is %llu times older", round, i,
				 (unsigned long long)(age[i] - was));
			bad.ages++;
		}
		/* The next round is submitted, and its gate is closed. */
		bad.counts += __atomic_load_n(&fence[i * LINE], __ATOMIC_ACQUIRE) != round;
	}
	for (i = 0; i < AQLS; i++) {
		bad.counts += signal_of(i, round, 1)->value != 0;
		bad.early += signal_of(i, round + 1, 1)->value != 1;
	}
	for (i = 0; i < PM4S; i++)
		bad.early += *log_word(i, round + 1) != 0;
	for (i = 0; i < SDMAS; i++)
		for (k = 0; k < COPY_BYTES / 8; k++)
			bad.copies += half(dst, i, round)[k] != (number(i, round) << 16 | k);
	return !bad.ages && !bad.early && !bad.counts && !bad.copies;
}

int main(int argc, char **argv)
{
	const char *specs = argc > 1 ? argv[1] : NULL;
	unsigned int round = 0, i, n, wrong = 0, left = 0;
	int64_t irqs, slots, ints;
	unsigned int maps = 0;
	HsaEvent *extra;
	bool ok = true;

	tap_begin(specs ? 1700 : 120);
	setup();
	extra = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!extra)
		tap_bail("no event");
	irqs = kfd_counter("ih", "recovered_interrupts");
	slots = kfd_counter("events", "recovered_slots");
	ints = kfd_counter("events", "interrupts");
	if (specs && inject_arm(specs))
		tap_bail("cannot arm '%s': %s", specs, inject_error());
	submit(1);
	while (ok && round + 1 < MAX_ROUNDS && (specs ? inject_count() > 0 : round < SHORT_ROUNDS)) {
		round++;
		submit(round + 1);
		if (round % MAP_EVERY == 0) {
			bad.maps += !map_one_more(extra, round);
			maps++;
		}
		open_gate(round);
		ok = check_round(round) && !bad.maps;
	}
	if (specs) {
		tap_is(inject_count(), 0, "whoever stopped the machine is done");
		tap_is(inject_held(), 0, "nothing is held back");
		inject_disarm();
	}
	/* The one that is submitted still. */
	if (ok) {
		round++;
		open_gate(round);
		for (i = 0; i < AQLS; i++)
			aql_signal_init(signal_of(i, round + 1, 1), 1, NULL, 0);
		check_round(round);
	}
	tap_diag("%u rounds, %u events each", round, EVENTS);
	tap_is(bad.late, 0, "every event fires");
	tap_is(bad.ages, 0, "once a round");
	tap_is(bad.early, 0, "no queue is ahead of its gate");
	tap_is(bad.counts, 0, "every queue has counted the round when its event fires");
	tap_is(bad.copies, 0, "what was copied is what was there");
	tap_is(bad.maps, 0, "queues come and go beside them");
	for (i = 0; i < PM4S; i++)
		for (n = 1; n <= round; n++)
			wrong += *log_word(i, n) != number(i, n);
	tap_is(wrong, 0, "the whole log in VRAM is as it was written");
	for (i = 0; i < EVENTS; i++)
		left += hsaKmtWaitOnEvent(ev[i], 0) != HSAKMT_STATUS_WAIT_TIMEOUT;
	tap_is(left, 0, "no event is left signalled");
	/* The last ones may have been taken from their slots, on the way to a wait. */
	kfd_counter_wait("events", "interrupts", ints + (int64_t)round * EVENTS + maps, LONG_MS);
	tap_is(kfd_counter("events", "interrupts") - ints, (int64_t)round * EVENTS + maps,
	       "every completion had its interrupt, once");
	/* Not 0 for certain: where the host is busy a message may look lost. */
	tap_diag("recovered: %lld interrupts, %lld slots",
		 (long long)(kfd_counter("ih", "recovered_interrupts") - irqs),
		 (long long)(kfd_counter("events", "recovered_slots") - slots));
	for (i = 0; i < PM4S; i++)
		queue_destroy(&pm4[i]);
	for (i = 0; i < AQLS; i++)
		aql_queue_destroy(&aql[i]);
	for (i = 0; i < SDMAS; i++)
		sdma_queue_destroy(&sdma[i]);
	gpu_close();
	return tap_done();
}
