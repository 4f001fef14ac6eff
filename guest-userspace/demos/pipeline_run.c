// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aql_queue.h"
#include "pipeline.h"
#include "queue.h"
#include "sdma_queue.h"

#define RING_BYTES	8192u
#define AQL_RING	128u
#define IB_DW		32u
#define MAX_SDMA	16u
/* In GPU memory, a stage each: its HSA signal, the stamp, the indirect buffer of AQL. */
#define STAGE_BYTES	512u
#define STAMP_AT	64u
#define IB_AT		128u

/**
 * struct pl_stage
 * @kind: of its queue
 * @pm4, @aql, @sdma: the queue
 * @dep, @deps: the stages it waits for
 * @event: whose slot it writes; the last stage also interrupts
 * @signal: becomes 0, for AQL
 * @stamp: the GPU's clock when it had what it waits for
 * @ib: AQL: what it does
 */
struct pl_stage {
	enum pl_kind kind;
	struct queue pm4;
	struct aql_queue aql;
	struct sdma_queue sdma;
	unsigned int dep[PL_MAX_DEPS];
	unsigned int deps;
	HsaEvent *event;
	struct aql_signal *signal;
	volatile uint64_t *stamp;
	uint32_t *ib;
};

const char *pl_kind_name(enum pl_kind k)
{
	static const char *const name[PL_KINDS] = { "pm4", "aql", "sdma" };

	return name[k];
}

const char *pl_shape_name(enum pl_shape s)
{
	static const char *const name[PL_SHAPES] = { "chain", "diamond", "fan-in" };

	return name[s];
}

unsigned int pl_count(const struct pipeline *pl, enum pl_kind kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < pl->n; i++)
		n += pl->stage[i].kind == kind;
	return n;
}

static bool fail(struct pipeline *pl, const char *what, unsigned int stage)
{
	snprintf(pl->error, sizeof(pl->error), "stage %u (%s): %s", stage,
		 pl_kind_name(pl->stage[stage].kind), what);
	return false;
}

static void add_dep(struct pl_stage *s, unsigned int on)
{
	s->dep[s->deps++] = on;
}

/* What stage @i of @n depends on. */
static void set_deps(struct pipeline *pl, enum pl_shape shape, unsigned int i)
{
	struct pl_stage *s = &pl->stage[i];
	unsigned int d;

	if (!i)
		return;
	switch (shape) {
	case PL_DIAMOND:
		/* 0; 1 and 2 on 0; 3 on 1 and 2; 4 and 5 on 3; ... */
		if (i % 3) {
			add_dep(s, (i - 1) / 3 * 3);
			/* A diamond that is not closed: all the same, nothing is behind the last. */
			if (i % 3 == 2 && i + 1 == pl->n)
				add_dep(s, i - 1);
		} else {
			add_dep(s, i - 2);
			add_dep(s, i - 1);
		}
		break;
	case PL_FAN_IN:
		if (i + 1 < pl->n)
			add_dep(s, 0);
		else
			for (d = 1; d < i; d++)
				add_dep(s, d);
		if (!s->deps)
			add_dep(s, 0);
		break;
	default:
		add_dep(s, i - 1);
		break;
	}
}

static bool open_queue(struct pipeline *pl, unsigned int i)
{
	struct pl_stage *s = &pl->stage[i];
	HSAKMT_STATUS status;

	switch (s->kind) {
	case PL_AQL:
		status = aql_queue_create(&s->aql, pl->gpu, AQL_RING);
		break;
	case PL_SDMA:
		status = sdma_queue_create(&s->sdma, pl->gpu, RING_BYTES);
		break;
	default:
		status = queue_create(&s->pm4, pl->gpu, RING_BYTES);
		break;
	}
	return status == HSAKMT_STATUS_SUCCESS || fail(pl, status_name(status), i);
}

bool pl_open(struct pipeline *pl, const struct gpu *gpu, enum pl_shape shape, unsigned int n,
	     enum pl_kind kind, bool mixed)
{
	unsigned int i, sdma = 0;
	char *mem;

	memset(pl, 0, sizeof(*pl));
	pl->gpu = gpu;
	pl->fault = -1;
	pl->stage = calloc(n, sizeof(*pl->stage));
	if (!pl->stage || n > PL_MAX_STAGES || (shape == PL_FAN_IN && n > PL_MAX_DEPS + 2)) {
		snprintf(pl->error, sizeof(pl->error), "no room for %u stages", n);
		return false;
	}
	pl->n = n;
	mem = mem_alloc(gpu, MEM_SYSTEM, (size_t)(n + 1) * STAGE_BYTES);
	pl->memory = event_new(gpu, HSA_EVENTTYPE_MEMORY, false);
	if (!mem || !pl->memory)
		return fail(pl, "no memory", 0);
	pl->gate = (uint64_t *)(mem + (size_t)n * STAGE_BYTES);
	for (i = 0; i < n; i++) {
		struct pl_stage *s = &pl->stage[i];

		s->kind = mixed ? (enum pl_kind)(i % PL_KINDS) : kind;
		if (s->kind == PL_SDMA && ++sdma > MAX_SDMA)
			s->kind = PL_PM4;
		s->signal = (struct aql_signal *)(mem + (size_t)i * STAGE_BYTES);
		s->stamp = (uint64_t *)((char *)s->signal + STAMP_AT);
		s->ib = (uint32_t *)((char *)s->signal + IB_AT);
		s->event = event_new(gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!s->event)
			return fail(pl, "no event", i);
		set_deps(pl, shape, i);
		if (!open_queue(pl, i))
			return false;
	}
	return true;
}

void pl_close(struct pipeline *pl)
{
	unsigned int i;

	for (i = 0; pl->stage && i < pl->n; i++) {
		struct pl_stage *s = &pl->stage[i];

		if (s->pm4.ring)
			queue_destroy(&s->pm4);
		if (s->aql.ring)
			aql_queue_destroy(&s->aql);
		if (s->sdma.ring)
			sdma_queue_destroy(&s->sdma);
		if (s->event)
			hsaKmtDestroyEvent(s->event);
	}
	if (pl->memory)
		hsaKmtDestroyEvent(pl->memory);
	if (pl->gate)
		mem_free((char *)pl->gate - (size_t)pl->n * STAGE_BYTES,
			 (size_t)(pl->n + 1) * STAGE_BYTES);
	free(pl->stage);
	pl->stage = NULL;
}

static bool is_last(const struct pipeline *pl, unsigned int i)
{
	return i + 1 == pl->n;
}

/* Where stage @i puts its stamp: nowhere, if it is to fault. */
static uint64_t stamp_va(const struct pipeline *pl, unsigned int i)
{
	/* Above what a program gets from mmap(), below the end of the GPU's space. */
	return (int)i == pl->fault ? 0x7ff000000000ull : gpu_va(pl->stage[i].stamp);
}

/* PM4 of stage @i once it may run. Last of all what others wait for. */
static uint32_t *put_work(const struct pipeline *pl, unsigned int i, uint32_t *p)
{
	const struct pl_stage *s = &pl->stage[i];

	p = pm4_release_mem(p, stamp_va(pl, i), RELEASE_MEM_DATA_GPU_CLOCK, 0,
			    RELEASE_MEM_INT_NONE, 0);
	if (s->kind == PL_PM4)
		p = pm4_release_mem(p, gpu_va(&s->signal->value), RELEASE_MEM_DATA_64, 0,
				    RELEASE_MEM_INT_NONE, 0);
	/* Of AQL the completion signal says it: it falls behind the indirect buffer. */
	if (is_last(pl, i))
		return s->kind == PL_AQL ? p :
		       pm4_signal(p, event_slot(s->event), s->event->EventId);
	return pm4_release_mem(p, gpu_va(event_slot(s->event)), RELEASE_MEM_DATA_64,
			       s->event->EventId, RELEASE_MEM_INT_NONE, 0);
}

/* What PM4 and SDMA wait for to know that @on has run: (address, value). */
static uint64_t slot_of(const struct pl_stage *on, uint32_t *value)
{
	*value = on->event->EventId;
	return gpu_va(event_slot(on->event));
}

static void submit_pm4(const struct pipeline *pl, unsigned int i, uint32_t gate)
{
	struct pl_stage *s = &pl->stage[i];
	unsigned int d;
	uint32_t value;
	uint64_t va;

	if (!s->deps)
		queue_commit(&s->pm4, pm4_wait_mem(queue_reserve_wait(&s->pm4, PM4_WAIT_MEM_DW, PL_WAIT_MS),
						   gpu_va(pl->gate), WAIT_REG_MEM_EQ, gate, ~0u));
	for (d = 0; d < s->deps; d++) {
		va = slot_of(&pl->stage[s->dep[d]], &value);
		queue_commit(&s->pm4, pm4_wait_mem(queue_reserve_wait(&s->pm4, PM4_WAIT_MEM_DW, PL_WAIT_MS),
						   va, WAIT_REG_MEM_EQ, value, ~0u));
	}
	queue_commit(&s->pm4, put_work(pl, i, queue_reserve_wait(&s->pm4, 3 * PM4_RELEASE_MEM_DW,
								 PL_WAIT_MS)));
	queue_submit(&s->pm4);
}

static void submit_sdma(const struct pipeline *pl, unsigned int i, uint32_t gate)
{
	struct pl_stage *s = &pl->stage[i];
	uint32_t *p = sdma_queue_reserve(&s->sdma, 6 * (s->deps + 1) + 32);
	unsigned int d;
	uint32_t value;
	uint64_t va;

	if (!s->deps)
		p = sdma_poll_mem(p, gpu_va(pl->gate), WAIT_REG_MEM_EQ, gate, ~0u);
	for (d = 0; d < s->deps; d++) {
		va = slot_of(&pl->stage[s->dep[d]], &value);
		p = sdma_poll_mem(p, va, WAIT_REG_MEM_EQ, value, ~0u);
	}
	p = sdma_timestamp(p, stamp_va(pl, i));
	/* The upper half of the signal is 0 already. */
	p = sdma_fence(p, gpu_va(&s->signal->value), 0);
	if (is_last(pl, i)) {
		p = sdma_signal(p, event_slot(s->event), s->event->EventId);
	} else {
		p = sdma_fence(p, gpu_va(event_slot(s->event)), s->event->EventId);
		p = sdma_fence(p, gpu_va(event_slot(s->event)) + 4, 0);
	}
	sdma_queue_commit(&s->sdma, p);
	sdma_queue_submit(&s->sdma);
}

static void submit_aql(const struct pipeline *pl, unsigned int i, uint32_t gate)
{
	struct pl_stage *s = &pl->stage[i];
	struct aql_signal *dep[5];
	unsigned int d, n;
	uint32_t *p = s->ib;

	/* A signal cannot be waited for to have a number: the gate is PM4's affair. */
	if (!s->deps)
		p = pm4_wait_mem(p, gpu_va(pl->gate), WAIT_REG_MEM_EQ, gate, ~0u);
	p = put_work(pl, i, p);
	for (d = 0; d < s->deps; d += n) {
		for (n = 0; n < 5 && d + n < s->deps; n++)
			dep[n] = pl->stage[s->dep[d + n]].signal;
		aql_barrier(aql_queue_reserve(&s->aql), AQL_PACKET_BARRIER_AND, dep, n, NULL);
	}
	aql_pm4_ib(aql_queue_reserve(&s->aql), gpu_va(s->ib), (uint32_t)(p - s->ib), s->signal);
	aql_queue_submit(&s->aql);
}

/* Nothing of the run before is left. */
static void reset(struct pipeline *pl)
{
	unsigned int i;

	for (i = 0; i < pl->n; i++) {
		struct pl_stage *s = &pl->stage[i];

		if (s->kind == PL_AQL && is_last(pl, i))
			aql_signal_init(s->signal, 1, event_slot(s->event), s->event->EventId);
		else
			aql_signal_init(s->signal, 1, NULL, 0);
		*s->stamp = 0;
		/* The kernel does so for an event an interrupt named: nobody names these. */
		__atomic_store_n(event_slot(s->event), GPU_EVENT_UNSIGNALED, __ATOMIC_RELEASE);
	}
}

static bool check(struct pipeline *pl)
{
	unsigned int i, d;

	for (i = 0; i < pl->n; i++) {
		const struct pl_stage *s = &pl->stage[i];

		if (!*s->stamp)
			return fail(pl, "did not run", i);
		for (d = 0; d < s->deps; d++)
			if (*s->stamp < *pl->stage[s->dep[d]].stamp)
				return fail(pl, "ran before one it depends on", i);
		/* What waits for the slot may be done before the packet that wrote it is. */
		if (!wait_word((const volatile uint64_t *)&s->signal->value, 0, PL_WAIT_MS))
			return fail(pl, "its signal is not 0", i);
	}
	return true;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool pl_run(struct pipeline *pl, struct pl_result *r)
{
	static void (*const submit[PL_KINDS])(const struct pipeline *, unsigned int, uint32_t) = {
		submit_pm4, submit_aql, submit_sdma,
	};
	HsaEvent *events[2] = { pl->stage[pl->n - 1].event, pl->memory };
	uint32_t gate = (uint32_t)*pl->gate + 1;
	HSAKMT_STATUS status;
	uint64_t begin, cpu;
	unsigned int i;

	memset(r, 0, sizeof(*r));
	reset(pl);
	for (i = pl->n; i--;)
		submit[pl->stage[i].kind](pl, i, gate);
	cpu = cpu_ns();
	begin = now_ns();
	__atomic_store_n(pl->gate, gate, __ATOMIC_RELEASE);
	status = events_wait(events, 2, false, PL_WAIT_MS, NULL);
	r->ns = now_ns() - begin;
	r->cpu_ns = cpu_ns() - cpu;
	if (status != HSAKMT_STATUS_SUCCESS)
		return fail(pl, status_name(status), pl->n - 1);
	if (pl->memory->EventData.EventData.MemoryAccessFault.VirtualAddress) {
		r->faulted = true;
		r->va = pl->memory->EventData.EventData.MemoryAccessFault.VirtualAddress;
		return true;
	}
	if (!check(pl))
		return false;
	r->ok = true;
	r->ticks = *pl->stage[pl->n - 1].stamp - *pl->stage[0].stamp;
	return true;
}
