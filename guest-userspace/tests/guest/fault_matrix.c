// SPDX-License-Identifier: MIT
/*
 * Every kind of bad address from every kind of queue: what is told of it (the page, the
 * reason, the GPU), that nothing of the process runs any more, and that another process
 * does. A process that faulted does not recover, so each case is a child of its own.
 *
 * Mutations it was seen to fail with: vkfd_route_fault() leaves out bits 47:44 of the page,
 * or takes prot_read for prot_valid; handle_vm_fault() evicts nothing; an unmap does not
 * flush the TLB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aql_queue.h"
#include "bystander.h"
#include "gpu.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define AQL_SIZE	64u
#define PAGE		4096u
#define VA_BITS		48
/* In the page: what accesses mean, all multiples of 64; and of IBs, at IB_AT, NOPs. */
#define SIGNAL_AT	0x40u
#define WRITE_AT	0x128u
#define READ_AT		0x200u
#define COPY_AT		0x400u
#define COPY_BYTES	64u
#define IB_AT		0x800u
#define IB_DW		16u

/* In ctx.word. */
enum { GATE, AT_GATE, BEHIND, OTHER, WORDS };

enum engine { PM4, AQL, SDMA };

struct ctx {
	struct gpu gpu;
	enum engine engine;
	struct queue q, other;
	struct aql_queue aql;
	struct sdma_queue sdma;
	HsaEvent *memory[2];
	HsaEvent *hw;
	volatile uint64_t *word;	/* also a source and destination of copies */
	struct aql_signal *gate;	/* 1: closed */
	uint32_t *ib;			/* of AQL: writes AT_GATE, BEHIND */
	void *mem;			/* of the place, mapped */
};

static void setup(struct ctx *c, enum engine engine)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->engine = engine;
	if (gpu_open(&c->gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	c->word = mem_alloc(&c->gpu, MEM_SYSTEM, PAGE);
	c->gate = mem_alloc(&c->gpu, MEM_SYSTEM, PAGE);
	c->ib = mem_alloc(&c->gpu, MEM_SYSTEM, PAGE);
	if (!c->word || !c->gate || !c->ib)
		tap_bail("no memory");
	aql_signal_init(c->gate, 1, NULL, 0);
	pm4_write64(pm4_write64(c->ib, gpu_va(&c->word[AT_GATE]), 1), gpu_va(&c->word[BEHIND]), 1);
	if (queue_create(&c->other, &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS ||
	    (engine == PM4 && queue_create(&c->q, &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS) ||
	    (engine == AQL && aql_queue_create(&c->aql, &c->gpu, AQL_SIZE) != HSAKMT_STATUS_SUCCESS) ||
	    (engine == SDMA && sdma_queue_create(&c->sdma, &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS))
		tap_bail("no queue");
	for (i = 0; i < 2; i++)
		c->memory[i] = event_new(&c->gpu, HSA_EVENTTYPE_MEMORY, i);
	c->hw = event_new(&c->gpu, HSA_EVENTTYPE_HW_EXCEPTION, true);
	if (!c->memory[0] || !c->memory[1] || !c->hw)
		tap_bail("no event");
}

/* ---- packets of each engine --------------------------------------------------- */

static uint32_t *pm4_room(struct ctx *c, uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(&c->q, dw, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	return p;
}

static void put_word(struct ctx *c, unsigned int word)
{
	uint64_t va = gpu_va(&c->word[word]);
	uint32_t *p;

	switch (c->engine) {
	case PM4:
		queue_commit(&c->q, pm4_write64(pm4_room(c, PM4_WRITE64_DW), va, 1));
		break;
	case AQL:
		aql_pm4_ib(aql_queue_reserve(&c->aql),
			   gpu_va(c->ib + (word == BEHIND) * PM4_WRITE64_DW), PM4_WRITE64_DW, NULL);
		break;
	case SDMA:
		p = sdma_queue_reserve(&c->sdma, SDMA_PKT_FENCE_DW);
		sdma_queue_commit(&c->sdma, sdma_fence(p, va, 1));
		break;
	}
}

/* The queue waits until open_gate(). */
static void put_gate(struct ctx *c)
{
	struct aql_signal *const dep[] = { c->gate };
	uint32_t *p;

	switch (c->engine) {
	case PM4:
		p = pm4_room(c, PM4_WAIT_MEM_DW);
		queue_commit(&c->q, pm4_wait_mem(p, gpu_va(&c->word[GATE]), WAIT_REG_MEM_EQ, 1, ~0u));
		break;
	case AQL:
		aql_barrier(aql_queue_reserve(&c->aql), AQL_PACKET_BARRIER_AND, dep, 1, NULL);
		break;
	case SDMA:
		p = sdma_queue_reserve(&c->sdma, SDMA_PKT_POLL_REGMEM_DW);
		sdma_queue_commit(&c->sdma, sdma_poll_mem(p, gpu_va(&c->word[GATE]), WAIT_REG_MEM_EQ, 1, ~0u));
		break;
	}
}

static void open_gate(struct ctx *c)
{
	__atomic_store_n(&c->gate->value, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->word[GATE], 1, __ATOMIC_SEQ_CST);
}

static void submit(struct ctx *c)
{
	switch (c->engine) {
	case PM4:
		queue_submit(&c->q);
		break;
	case AQL:
		aql_queue_submit(&c->aql);
		break;
	case SDMA:
		sdma_queue_submit(&c->sdma);
		break;
	}
}

static HSA_QUEUEID queue_id(const struct ctx *c)
{
	return c->engine == PM4 ? c->q.res.QueueId :
	       c->engine == AQL ? c->aql.res.QueueId : c->sdma.res.QueueId;
}

static void pm4_writes(struct ctx *c, uint64_t page)
{
	queue_commit(&c->q, pm4_write64(pm4_room(c, PM4_WRITE64_DW), page + WRITE_AT, 0));
}

/* Memory at rest is 0, and so the wait is over at once. */
static void pm4_reads(struct ctx *c, uint64_t page)
{
	queue_commit(&c->q, pm4_wait_mem(pm4_room(c, PM4_WAIT_MEM_DW), page + READ_AT, WAIT_REG_MEM_EQ,
					 0, ~0u));
}

static void pm4_fetches(struct ctx *c, uint64_t page)
{
	queue_commit(&c->q, pm4_ib(pm4_room(c, PM4_IB_DW), page + IB_AT, IB_DW));
}

static void pm4_adds(struct ctx *c, uint64_t page)
{
	queue_commit(&c->q, pm4_add64(pm4_room(c, PM4_ADD64_DW), page + WRITE_AT, 1));
}

static void aql_depends(struct ctx *c, uint64_t page)
{
	struct aql_signal *const dep[] = { (struct aql_signal *)(uintptr_t)(page + READ_AT) };

	aql_barrier(aql_queue_reserve(&c->aql), AQL_PACKET_BARRIER_AND, dep, 1, NULL);
}

static void aql_completes(struct ctx *c, uint64_t page)
{
	aql_barrier(aql_queue_reserve(&c->aql), AQL_PACKET_BARRIER_AND, NULL, 0,
		    (const struct aql_signal *)(uintptr_t)(page + SIGNAL_AT));
}

static void aql_fetches(struct ctx *c, uint64_t page)
{
	aql_pm4_ib(aql_queue_reserve(&c->aql), page + IB_AT, IB_DW, NULL);
}

static void sdma_writes(struct ctx *c, uint64_t page)
{
	uint32_t *p = sdma_queue_reserve(&c->sdma, SDMA_PKT_COPY_LINEAR_DW);

	sdma_queue_commit(&c->sdma, sdma_copy(p, page + COPY_AT, gpu_va(&c->word[WORDS]), COPY_BYTES));
}

static void sdma_reads(struct ctx *c, uint64_t page)
{
	uint32_t *p = sdma_queue_reserve(&c->sdma, SDMA_PKT_COPY_LINEAR_DW);

	sdma_queue_commit(&c->sdma, sdma_copy(p, gpu_va(&c->word[WORDS]), page + COPY_AT, COPY_BYTES));
}

static void sdma_fences(struct ctx *c, uint64_t page)
{
	uint32_t *p = sdma_queue_reserve(&c->sdma, SDMA_PKT_FENCE_DW);

	sdma_queue_commit(&c->sdma, sdma_fence(p, page + WRITE_AT, 0));
}

static void sdma_polls(struct ctx *c, uint64_t page)
{
	uint32_t *p = sdma_queue_reserve(&c->sdma, SDMA_PKT_POLL_REGMEM_DW);

	sdma_queue_commit(&c->sdma, sdma_poll_mem(p, page + READ_AT, WAIT_REG_MEM_EQ, 0, ~0u));
}

static const struct access {
	const char *name;
	enum engine engine;
	bool writes;
	void (*put)(struct ctx *c, uint64_t page);
} accesses[] = {
	{ "PM4 write", PM4, true, pm4_writes },
	{ "PM4 atomic", PM4, true, pm4_adds },
	{ "PM4 wait", PM4, false, pm4_reads },
	{ "PM4 IB", PM4, false, pm4_fetches },
	{ "AQL dependency", AQL, false, aql_depends },
	{ "AQL completion", AQL, true, aql_completes },
	{ "AQL IB", AQL, false, aql_fetches },
	{ "SDMA copy to it", SDMA, true, sdma_writes },
	{ "SDMA copy from it", SDMA, false, sdma_reads },
	{ "SDMA fence", SDMA, true, sdma_fences },
	{ "SDMA poll", SDMA, false, sdma_polls },
};

/* ---- places ---------------------------------------------------------------------- */

static uint64_t never_mapped(struct ctx *c)
{
	void *va = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)c;
	if (va == MAP_FAILED)
		tap_bail("no address");
	return gpu_va(va);
}

static uint64_t read_only(struct ctx *c)
{
	HsaMemFlags flags = mem_flags(MEM_GTT);
	HSAuint64 va;

	flags.ui32.ReadOnly = 1;
	if (hsaKmtAllocMemory(0, PAGE, flags, &c->mem) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtMapMemoryToGPU(c->mem, PAGE, &va) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no read-only memory");
	return gpu_va(c->mem);
}

/* The first page above what a process has; the same as the CPU writes addresses. */
static uint64_t beyond(struct ctx *c)
{
	(void)c;
	return 1ull << (VA_BITS - 1);
}

static uint64_t in_the_kernel(struct ctx *c)
{
	(void)c;
	return ~0ull << (VA_BITS - 1) | 0x123456000;
}

/* The queue has used it, so that a translation is at hand. */
static uint64_t in_use(struct ctx *c)
{
	uint32_t *p;
	unsigned int i;

	c->mem = mem_alloc(&c->gpu, MEM_VRAM, PAGE);
	if (!c->mem)
		tap_bail("no VRAM");
	p = (uint32_t *)((char *)c->mem + IB_AT);
	for (i = 0; i < IB_DW; i++)
		p = pm4_nop1(p);
	return gpu_va(c->mem);
}

static void unmap(struct ctx *c)
{
	if (hsaKmtUnmapMemoryToGPU(c->mem) != HSAKMT_STATUS_SUCCESS)
		tap_bail("unmap");
}

static void free_it(struct ctx *c)
{
	if (mem_free(c->mem, PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("free");
}

static const struct place {
	const char *name;
	bool read_only;		/* writes only fault */
	bool good_at_first;	/* until @spoil */
	uint64_t (*make)(struct ctx *c);
	void (*spoil)(struct ctx *c);
} places[] = {
	{ "never mapped", .make = never_mapped },
	{ "read only", .read_only = true, .make = read_only },
	{ "beyond the aperture", .make = beyond },
	{ "of the kernel", .make = in_the_kernel },
	{ "unmapped under the queue", .good_at_first = true, .make = in_use, .spoil = unmap },
	{ "freed under the queue", .good_at_first = true, .make = in_use, .spoil = free_it },
};

struct one_case {
	const struct place *place;
	const struct access *access;
	struct bystander *bystander;
};

static const HsaMemoryAccessFault *fault_of(const HsaEvent *ev)
{
	return &ev->EventData.EventData.MemoryAccessFault;
}

/* Leaves the queue behind the access, with the gate open. */
static uint64_t make_fault(struct ctx *c, const struct one_case *one)
{
	uint64_t page = one->place->make(c);

	if (one->place->good_at_first)
		one->access->put(c, page);
	put_word(c, AT_GATE);
	put_gate(c);
	one->access->put(c, page);
	put_word(c, BEHIND);
	submit(c);
	if (!wait_word32((const volatile uint32_t *)&c->word[AT_GATE], 1, LONG_MS))
		tap_bail("%s, %s: the queue does not run", one->access->name, one->place->name);
	if (one->place->spoil)
		one->place->spoil(c);
	open_gate(c);
	return page & ((1ull << VA_BITS) - 1);
}

static void run_case(void *arg)
{
	const struct one_case *one = arg;
	const char *what = one->access->name, *where = one->place->name;
	const HsaMemoryAccessFault *f;
	struct ctx c;
	unsigned int i;
	uint64_t page;

	setup(&c, one->access->engine);
	page = make_fault(&c, one);
	tap_is(events_wait(c.memory, 2, true, LONG_MS, NULL), 0, "%s, %s: MEMORY fires", what, where);
	for (i = 0; i < 2; i++) {
		f = fault_of(c.memory[i]);
		if (!tap_ok(f->VirtualAddress == page && f->NodeId == c.gpu.node &&
			    f->Flags == HSA_EVENTID_MEMORY_FATAL_PROCESS &&
			    f->Failure.NotPresent == !one->place->read_only &&
			    f->Failure.ReadOnly == one->place->read_only &&
			    !f->Failure.NoExecute && !f->Failure.Imprecise && !f->Failure.ECC,
			    "%s, %s: with the page, the GPU and the reason", what, where))
			tap_diag("page 0x%llx, wanted 0x%llx; node %u; not present %u, read only %u, no execute %u, imprecise %u, ECC %u",
				 (unsigned long long)f->VirtualAddress, (unsigned long long)page,
				 f->NodeId, f->Failure.NotPresent, f->Failure.ReadOnly,
				 f->Failure.NoExecute, f->Failure.Imprecise, f->Failure.ECC);
	}
	/* By the time they fire nothing of the process may start; another one witnesses it. */
	queue_commit(&c.other, pm4_write64(queue_reserve_wait(&c.other, PM4_WRITE64_DW, LONG_MS),
					   gpu_va(&c.word[OTHER]), 1));
	queue_submit(&c.other);
	tap_ok(bystander_runs(one->bystander), "%s, %s: another process goes on", what, where);
	tap_ok(!c.word[BEHIND] && !c.word[OTHER], "%s, %s: none of the process's queues does", what, where);
	tap_ok(hsaKmtDestroyQueue(queue_id(&c)) == HSAKMT_STATUS_SUCCESS &&
	       hsaKmtDestroyQueue(c.other.res.QueueId) == HSAKMT_STATUS_SUCCESS,
	       "%s, %s: both can be destroyed", what, where);
	tap_ok(hsaKmtWaitOnEvent(c.memory[0], 0) == HSAKMT_STATUS_WAIT_TIMEOUT &&
	       hsaKmtWaitOnEvent(c.hw, 0) == HSAKMT_STATUS_WAIT_TIMEOUT, "%s, %s: and nothing else fires",
	       what, where);
}

/* What our library has to say of the last place; it is asked by the environment. */
static void words(void *arg)
{
	int old = dup(2), fd = memfd_create("stderr", MFD_CLOEXEC);
	char want[128], said[2048];
	struct ctx c;
	uint64_t page;
	ssize_t n;

	setenv("HSAKMT_DEBUG_LEVEL", "3", 1);
	setup(&c, PM4);
	page = make_fault(&c, arg);
	fflush(stderr);
	if (old < 0 || fd < 0 || dup2(fd, 2) < 0)
		tap_bail("stderr: %m");
	event_wait(c.memory[0], LONG_MS);
	fflush(stderr);
	dup2(old, 2);
	n = pread(fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	snprintf(want, sizeof(want), "in what was allocated memory at 0x%llx, 4096 bytes",
		 (unsigned long long)page);
	if (!tap_ok(strstr(said, want) != NULL, "the library names the buffer that was freed"))
		tap_diag("said: %s", said);
}

int main(void)
{
	const char *thunk = getenv("VKFD_THUNK");
	struct bystander b;
	struct one_case one = { .bystander = &b };
	unsigned int i, j;

	tap_begin(280);
	bystander_start(&b);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (j = 0; j < sizeof(accesses) / sizeof(accesses[0]); j++) {
			one.place = &places[i];
			one.access = &accesses[j];
			if (one.place->read_only && !one.access->writes)
				continue;
			tap_child(one.access->name, run_case, &one);
		}
	}
	one.place = &places[sizeof(places) / sizeof(places[0]) - 1];
	one.access = &accesses[0];
	if (thunk && !strcmp(thunk, "own"))
		tap_child("words", words, &one);
	tap_ok(bystander_end(&b), "the other process ended well");
	return tap_done();
}
