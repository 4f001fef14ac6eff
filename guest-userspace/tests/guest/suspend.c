// SPDX-License-Identifier: MIT
/*
 * Suspend and resume under queues of all kinds that have work: in waits, with and without
 * a slot, and in the middle of long lists of packets. All of it is done after resume, each
 * packet once, and nobody is told that anything was lost.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aql_queue.h"
#include "driver.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define LONG_RING	16384u
#define PACKETS		64u
#define IB_DW		16u		/* of an AQL queue's IB */
#define MAX_PM4		40u
#define MAX_AQL		20u
#define SDMA		15u		/* one more is a runner */
#define MAX_ALL		(MAX_PM4 + MAX_AQL + SDMA)
#define ROUNDS		3u
#define LONG_PM4	400u		/* packets of a long list */
#define LONG_AQL	60u
#define LONG_SDMA	200u
#define COPY_BYTES	(1u << 20)
#define PM_TEST		"/sys/power/pm_test"
#define PM_STATE	"/sys/power/state"
#define PM_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

/**
 * struct work - everything of this process
 * @count: what each queue has counted: PM4, AQL, SDMA, then the three runners
 * @gate: PM4 and SDMA wait until it is the round; AQL queues for @open to be 0
 */
static struct work {
	struct gpu gpu;
	unsigned int n_pm4, n_aql;
	struct queue pm4[MAX_PM4], run_pm4;
	struct aql_queue aql[MAX_AQL], run_aql;
	struct sdma_queue sdma[SDMA], run_sdma;
	volatile uint64_t *count, *gate;
	struct aql_signal *open;
	uint32_t *ib;
	char *from, *to;
} w;

static void open_all(void)
{
	bool direct = driver_sched_policy() == 2;
	unsigned int i, bad = 0;

	/* With run lists more than there are slots; two are runners. */
	w.n_pm4 = direct ? 14 : MAX_PM4;
	w.n_aql = direct ? 8 : MAX_AQL;
	if (gpu_open(&w.gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	w.count = mem_alloc(&w.gpu, MEM_SYSTEM, GPU_PAGE);
	w.gate = mem_alloc(&w.gpu, MEM_SYSTEM, GPU_PAGE);
	w.ib = mem_alloc(&w.gpu, MEM_SYSTEM, GPU_PAGE);
	w.from = mem_alloc(&w.gpu, MEM_VRAM, COPY_BYTES);
	w.to = mem_alloc(&w.gpu, MEM_GTT, COPY_BYTES);
	if (!w.count || !w.gate || !w.ib || !w.from || !w.to)
		tap_bail("no memory");
	w.open = (struct aql_signal *)&w.gate[64];
	for (i = 0; i < w.n_pm4; i++)
		bad += queue_create(&w.pm4[i], &w.gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS;
	for (i = 0; i < w.n_aql; i++)
		bad += aql_queue_create(&w.aql[i], &w.gpu, PACKETS) != HSAKMT_STATUS_SUCCESS;
	for (i = 0; i < SDMA; i++)
		bad += sdma_queue_create(&w.sdma[i], &w.gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS;
	bad += queue_create(&w.run_pm4, &w.gpu, LONG_RING) != HSAKMT_STATUS_SUCCESS;
	bad += aql_queue_create(&w.run_aql, &w.gpu, PACKETS) != HSAKMT_STATUS_SUCCESS;
	bad += sdma_queue_create(&w.run_sdma, &w.gpu, LONG_RING) != HSAKMT_STATUS_SUCCESS;
	if (bad)
		tap_bail("%u queues are missing", bad);
}

static void pm4_add(struct queue *q, unsigned int n)
{
	uint32_t *p = queue_reserve_wait(q, PM4_ADD64_DW, LONG_MS);

	if (!p)
		tap_bail("a ring does not drain");
	queue_commit(q, pm4_add64(p, gpu_va(&w.count[n]), 1));
}

static void aql_add(struct aql_queue *q, unsigned int n, unsigned int ib)
{
	uint32_t *p = w.ib + ib * IB_DW;

	pm4_add64(p, gpu_va(&w.count[n]), 1);
	aql_pm4_ib(aql_queue_reserve(q), gpu_va(p), PM4_ADD64_DW, NULL);
}

static void sdma_add(struct sdma_queue *q, unsigned int n)
{
	uint32_t *p = sdma_queue_reserve(q, SDMA_PKT_ATOMIC_DW);

	sdma_queue_commit(q, sdma_add64(p, gpu_va(&w.count[n]), 1));
}

/* Counts, waits for the gate of the round, counts: each queue but the runners. */
static void submit_gated(unsigned int round)
{
	unsigned int i, n = 0;
	uint32_t *p;

	for (i = 0; i < w.n_pm4; i++, n++) {
		pm4_add(&w.pm4[i], n);
		p = queue_reserve_wait(&w.pm4[i], PM4_WAIT_MEM_DW, LONG_MS);
		queue_commit(&w.pm4[i], pm4_wait_mem(p, gpu_va(w.gate), WAIT_REG_MEM_EQ, round, ~0u));
		pm4_add(&w.pm4[i], n);
		queue_submit(&w.pm4[i]);
	}
	for (i = 0; i < w.n_aql; i++, n++) {
		aql_add(&w.aql[i], n, i);
		aql_barrier(aql_queue_reserve(&w.aql[i]), AQL_PACKET_BARRIER_AND, &w.open, 1, NULL);
		aql_add(&w.aql[i], n, i);
		aql_queue_submit(&w.aql[i]);
	}
	for (i = 0; i < SDMA; i++, n++) {
		sdma_add(&w.sdma[i], n);
		p = sdma_queue_reserve(&w.sdma[i], SDMA_PKT_POLL_REGMEM_DW);
		sdma_queue_commit(&w.sdma[i], sdma_poll_mem(p, gpu_va(w.gate), WAIT_REG_MEM_EQ, round,
							    ~0u));
		sdma_add(&w.sdma[i], n);
		sdma_queue_submit(&w.sdma[i]);
	}
}

/* More than is done when the suspend begins. */
static void submit_long(unsigned int n)
{
	unsigned int i;
	uint32_t *p;

	for (i = 0; i < LONG_SDMA; i++) {
		p = sdma_queue_reserve(&w.run_sdma, SDMA_PKT_COPY_LINEAR_DW);
		sdma_queue_commit(&w.run_sdma, sdma_copy(p, gpu_va(w.to), gpu_va(w.from), COPY_BYTES));
		sdma_add(&w.run_sdma, n + 2);
	}
	for (i = 0; i < LONG_AQL; i++)
		aql_add(&w.run_aql, n + 1, MAX_AQL);
	for (i = 0; i < LONG_PM4; i++)
		pm4_add(&w.run_pm4, n);
	sdma_queue_submit(&w.run_sdma);
	aql_queue_submit(&w.run_aql);
	queue_submit(&w.run_pm4);
}

/* Once something is late, what else is late is not waited for. */
static unsigned int patience(unsigned int bad)
{
	return bad ? 100 : LONG_MS;
}

static unsigned int missing(unsigned int n, uint64_t want)
{
	unsigned int i, bad = 0;

	for (i = 0; i < n; i++)
		bad += !wait_word(&w.count[i], want, patience(bad));
	return bad;
}

static unsigned int unfinished(void)
{
	unsigned int i, bad = 0;

	for (i = 0; i < w.n_pm4; i++)
		bad += !queue_wait_idle(&w.pm4[i], patience(bad));
	for (i = 0; i < w.n_aql; i++)
		bad += !aql_queue_wait_idle(&w.aql[i], patience(bad));
	for (i = 0; i < SDMA; i++)
		bad += !sdma_queue_wait_idle(&w.sdma[i], patience(bad));
	bad += !queue_wait_idle(&w.run_pm4, patience(bad));
	bad += !aql_queue_wait_idle(&w.run_aql, patience(bad));
	return bad + !sdma_queue_wait_idle(&w.run_sdma, patience(bad));
}

static void test_round(unsigned int round, HsaEvent *ev)
{
	unsigned int n = w.n_pm4 + w.n_aql + SDMA, i, early = 0, wrong = 0;
	uint32_t *p;

	aql_signal_init(w.open, 1, NULL, 0);
	submit_gated(round);
	tap_is(missing(n, round * 2 - 1), 0, "round %u: %u queues are in a wait", round, n);
	submit_long(n);
	tap_ok(write_text(PM_STATE, "freeze"), "round %u: suspend and resume", round);
	for (i = 0; i < n; i++)
		early += w.count[i] != round * 2 - 1;
	tap_is(early, 0, "round %u: nobody has passed its wait", round);
	__atomic_store_n(w.gate, round, __ATOMIC_RELEASE);
	__atomic_store_n(&w.open->value, 0, __ATOMIC_RELEASE);
	tap_is(missing(n, round * 2), 0, "round %u: all go on behind it", round);
	tap_is(unfinished(), 0, "round %u: everything is done", round);
	for (i = 0; i < n; i++)
		wrong += w.count[i] != round * 2;
	tap_is(wrong, 0, "round %u: and nothing twice", round);
	tap_is((int64_t)w.count[n], round * LONG_PM4, "round %u: a long list of PM4, each packet once", round);
	tap_is((int64_t)w.count[n + 1], round * LONG_AQL, "round %u: of AQL", round);
	tap_is((int64_t)w.count[n + 2], round * LONG_SDMA, "round %u: of SDMA", round);
	p = queue_reserve_wait(&w.pm4[0], PM4_RELEASE_MEM_DW, LONG_MS);
	queue_commit(&w.pm4[0], pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&w.pm4[0]);
	tap_is(event_wait(ev, LONG_MS), 0, "round %u: doorbells and interrupts work", round);
}

static void work(void *unused)
{
	HsaEvent *ev, *hw, *state;
	unsigned int round;

	(void)unused;
	open_all();
	ev = event_new(&w.gpu, HSA_EVENTTYPE_SIGNAL, false);
	hw = event_new(&w.gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	state = event_new(&w.gpu, HSA_EVENTTYPE_DEVICESTATECHANGE, false);
	if (!ev || !hw || !state)
		tap_bail("no events");
	for (round = 1; round <= ROUNDS; round++)
		test_round(round, ev);
	tap_is(hsaKmtWaitOnEvent(state, 0), 0, "DEVICESTATECHANGE");
	tap_ok(hsaKmtWaitOnEvent(hw, 0) == HSAKMT_STATUS_WAIT_TIMEOUT, "no HW_EXCEPTION");
}

int main(void)
{
	tap_begin(300);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	if (access(PM_TEST, W_OK) || !write_text(PM_TEST, "devices"))
		tap_skip_all("this kernel cannot test suspend");
	/* Otherwise the kernel spins for 5 s each time, which a busy host makes a lockup of. */
	write_text(PM_DELAY, "0");
	tap_child("work of all kinds", work, NULL);
	write_text(PM_DELAY, "5");
	write_text(PM_TEST, "none");
	return tap_done();
}
