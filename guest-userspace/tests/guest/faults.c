// SPDX-License-Identifier: MIT
/*
 * What a bad address and a bad packet do: who is told, with which payload, what
 * stops and who goes on. A process that faulted does not recover, so each case is
 * a child of its own.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
/* An opcode that no packet of gfx9 has. */
#define IT_UNKNOWN	0xff

struct ctx {
	struct gpu gpu;
	struct queue q[2];
	HsaEvent *memory[2];	/* both must be told */
	HsaEvent *hw;
	volatile uint64_t *word;
};

static void setup(struct ctx *c)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	if (gpu_open(&c->gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	c->word = mem_alloc(&c->gpu, MEM_SYSTEM, GPU_PAGE);
	for (i = 0; i < 2; i++) {
		c->memory[i] = event_new(&c->gpu, HSA_EVENTTYPE_MEMORY, true);
		if (!c->memory[i] ||
		    queue_create(&c->q[i], &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no event or no queue");
	}
	c->hw = event_new(&c->gpu, HSA_EVENTTYPE_HW_EXCEPTION, true);
	if (!c->word || !c->hw)
		tap_bail("no memory");
}

static void put_write(struct queue *q, uint64_t va, uint64_t value)
{
	uint32_t *p = queue_reserve_wait(q, PM4_WRITE64_DW, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	queue_commit(q, pm4_write64(p, va, value));
}

static bool runs(struct ctx *c, struct queue *q, uint64_t value)
{
	put_write(q, gpu_va(&c->word[0]), value);
	queue_submit(q);
	return wait_word(&c->word[0], value, LONG_MS);
}

/* Another process, told by @go to check that it still works. */
struct bystander {
	int go[2];
	int ready[2];
	pid_t pid;
};

static void bystander_run(void *arg)
{
	struct bystander *b = arg;
	unsigned int i, wrong = 0;
	struct ctx c;
	char byte = 0;

	setup(&c);
	wrong += !runs(&c, &c.q[0], 1);
	if (write(b->ready[1], &byte, 1) != 1 || read(b->go[0], &byte, 1) != 1)
		tap_bail("pipe: %m");
	for (i = 2; i < 100; i++)
		wrong += !runs(&c, &c.q[i & 1], i);
	tap_is(wrong, 0, "another process goes on");
	tap_is(hsaKmtWaitOnEvent(c.memory[0], 0), HSAKMT_STATUS_WAIT_TIMEOUT, "and is not told");
	tap_is(hsaKmtWaitOnEvent(c.hw, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "of anything");
	_exit(0);
}

static void bystander_start(struct bystander *b)
{
	char byte;

	if (pipe(b->go) || pipe(b->ready))
		tap_bail("pipe: %m");
	b->pid = fork();
	if (b->pid < 0)
		tap_bail("fork: %m");
	if (!b->pid)
		bystander_run(b);
	if (read(b->ready[0], &byte, 1) != 1)
		tap_bail("the other process did not start");
}

static const HsaMemoryAccessFault *fault_of(const HsaEvent *ev)
{
	return &ev->EventData.EventData.MemoryAccessFault;
}

static void expect_evicted(struct ctx *c)
{
	/* By the time the events fire, nothing may start any more on either queue. */
	put_write(&c->q[1], gpu_va(&c->word[1]), 1);
	queue_submit(&c->q[1]);
	tap_is(hsaKmtDestroyQueue(c->q[0].res.QueueId), 0, "the queue that faulted can be destroyed");
	tap_is(hsaKmtDestroyQueue(c->q[1].res.QueueId), 0, "and the process's other queue");
	tap_is((int64_t)c->word[2], 0, "the packet behind the bad one did not run");
}

static void not_present(void *arg)
{
	struct ctx c;
	uint64_t bad;

	(void)arg;
	setup(&c);
	tap_ok(runs(&c, &c.q[0], 1) && runs(&c, &c.q[1], 2), "both queues run");
	/* Was mapped, is not any more: a stale translation would let it through. */
	bad = gpu_va(mem_alloc(&c.gpu, MEM_VRAM, GPU_PAGE));
	put_write(&c.q[0], bad + 8, 1);
	queue_submit(&c.q[0]);
	if (!queue_wait_idle(&c.q[0], LONG_MS))
		tap_bail("the mapped page cannot be written");
	hsaKmtUnmapMemoryToGPU((void *)(uintptr_t)bad);
	put_write(&c.q[0], bad + 0x128, 1);
	put_write(&c.q[0], gpu_va(&c.word[2]), 1);
	queue_submit(&c.q[0]);
	tap_is(events_wait(c.memory, 2, true, LONG_MS, NULL), 0,
	       "a store to an unmapped page fires both MEMORY events");
	tap_is((int64_t)fault_of(c.memory[0])->VirtualAddress, (int64_t)bad, "with the address of the page");
	tap_is((int64_t)fault_of(c.memory[1])->VirtualAddress, (int64_t)bad, "to both");
	tap_is(fault_of(c.memory[0])->NodeId, c.gpu.node, "the node");
	tap_is(fault_of(c.memory[0])->Failure.NotPresent, 1, "and that the page is not present");
	tap_is(hsaKmtWaitOnEvent(c.hw, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "HW_EXCEPTION does not fire");
	expect_evicted(&c);
}

static void read_only(void *arg)
{
	HsaMemFlags flags = mem_flags(MEM_GTT);
	void *mem = NULL;
	HSAuint64 va;
	struct ctx c;

	(void)arg;
	setup(&c);
	flags.ui32.ReadOnly = 1;
	if (hsaKmtAllocMemory(0, GPU_PAGE, flags, &mem) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtMapMemoryToGPU(mem, GPU_PAGE, &va) != HSAKMT_STATUS_SUCCESS) {
		tap_ok(false, "read-only memory is allocated");
		return;
	}
	put_write(&c.q[0], gpu_va(mem), 1);
	put_write(&c.q[0], gpu_va(&c.word[2]), 1);
	queue_submit(&c.q[0]);
	tap_is(events_wait(c.memory, 2, true, LONG_MS, NULL), 0,
	       "a store to a read-only page fires the MEMORY events");
	tap_is((int64_t)fault_of(c.memory[0])->VirtualAddress, (int64_t)gpu_va(mem), "with its address");
	tap_is(fault_of(c.memory[0])->Failure.ReadOnly, 1, "and that it is read-only");
	tap_is(fault_of(c.memory[0])->Failure.NotPresent, 0, "not that it is absent");
	expect_evicted(&c);
}

/* A packet's own stores are checked like any; so is the fetch of an IB. */
static void bad_ib(void *arg)
{
	struct ctx c;
	uint32_t *p;
	uint64_t va;

	(void)arg;
	setup(&c);
	va = gpu_va(mem_alloc(&c.gpu, MEM_VRAM, GPU_PAGE));
	hsaKmtUnmapMemoryToGPU((void *)(uintptr_t)va);
	p = queue_reserve_wait(&c.q[0], PM4_IB_DW, LONG_MS);
	queue_commit(&c.q[0], pm4_ib(p, va, 16));
	put_write(&c.q[0], gpu_va(&c.word[2]), 1);
	queue_submit(&c.q[0]);
	tap_is(event_wait(c.memory[0], LONG_MS), 0, "an IB at an unmapped page fires MEMORY");
	tap_is((int64_t)fault_of(c.memory[0])->VirtualAddress, (int64_t)va, "with its address");
	expect_evicted(&c);
}

/* bug 57: a wait that ends for another reason carries no fault. */
static void no_phantom(void *arg)
{
	HsaEvent *list[2];
	struct ctx c;

	(void)arg;
	setup(&c);
	list[0] = event_new(&c.gpu, HSA_EVENTTYPE_SIGNAL, false);
	list[1] = c.memory[0];
	hsaKmtSetEvent(list[0]);
	tap_is(hsaKmtWaitOnMultipleEvents(list, 2, false, LONG_MS), 0, "a signal ends a wait for signal or fault");
	tap_is((int64_t)fault_of(c.memory[0])->VirtualAddress, 0, "without a fault being reported");
	tap_is(hsaKmtWaitOnEvent(c.memory[0], 0), HSAKMT_STATUS_WAIT_TIMEOUT, "none is pending");
}

struct bad_packet {
	const char *name;
	uint32_t dw[4];
	unsigned int count;
};

static void bad_packet(void *arg)
{
	const struct bad_packet *bad = arg;
	unsigned int i;
	struct ctx c;
	uint32_t *p;

	setup(&c);
	tap_ok(runs(&c, &c.q[0], 1) && runs(&c, &c.q[1], 2), "%s: both queues run", bad->name);
	p = queue_reserve_wait(&c.q[0], bad->count, LONG_MS);
	for (i = 0; i < bad->count; i++)
		*p++ = bad->dw[i];
	queue_commit(&c.q[0], p);
	put_write(&c.q[0], gpu_va(&c.word[2]), 1);
	queue_submit(&c.q[0]);
	tap_is(event_wait(c.hw, LONG_MS), 0, "%s: HW_EXCEPTION fires", bad->name);
	tap_is(c.hw->EventData.EventData.HwException.NodeId, c.gpu.node, "%s: with the node", bad->name);
	tap_is(c.hw->EventData.EventData.HwException.MemoryLost, 0, "%s: no memory is lost", bad->name);
	tap_is(hsaKmtWaitOnEvent(c.memory[0], 0), HSAKMT_STATUS_WAIT_TIMEOUT, "%s: MEMORY does not fire",
	       bad->name);
	tap_ok(runs(&c, &c.q[1], 3), "%s: the process's other queue goes on", bad->name);
	tap_is((int64_t)c.word[2], 0, "%s: the packet behind the bad one did not run", bad->name);
	tap_is(queue_destroy(&c.q[0]), 0, "%s: the stopped queue can be destroyed", bad->name);
	if (queue_create(&c.q[0], &c.gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_ok(false, "%s: a new queue is created", bad->name);
	else
		tap_ok(runs(&c, &c.q[0], 4), "%s: a new queue of the same process runs", bad->name);
}

static void with_bystander(const char *name, void (*fn)(void *), void *arg)
{
	struct bystander b;
	int status;
	char byte = 0;

	bystander_start(&b);
	tap_child(name, fn, arg);
	if (write(b.go[1], &byte, 1) != 1 || waitpid(b.pid, &status, 0) != b.pid)
		tap_bail("the other process: %m");
	tap_is(status, 0, "%s: the other process ended well", name);
	close(b.go[0]);
	close(b.go[1]);
	close(b.ready[0]);
	close(b.ready[1]);
}

int main(void)
{
	static struct bad_packet unknown = {
		.name = "unknown opcode",
		.dw = { PACKET3_COMPUTE(IT_UNKNOWN, 2), 0, 0 },
		.count = 3,
	};
	static struct bad_packet short_write = {
		.name = "WRITE_DATA without data",
		.dw = { PACKET3_COMPUTE(IT_WRITE_DATA, 2), WRITE_DATA_DST_MEM << WRITE_DATA__DST_SEL__SHIFT, 0 },
		.count = 3,
	};
	static struct bad_packet short_release = {
		.name = "RELEASE_MEM of two dwords",
		.dw = { PACKET3_COMPUTE(IT_RELEASE_MEM, 2), 0, 0 },
		.count = 3,
	};
	tap_begin(600);
	with_bystander("not present", not_present, NULL);
	with_bystander("read only", read_only, NULL);
	with_bystander("bad IB", bad_ib, NULL);
	tap_child("no phantom", no_phantom, NULL);
	with_bystander("unknown opcode", bad_packet, &unknown);
	with_bystander("short WRITE_DATA", bad_packet, &short_write);
	with_bystander("short RELEASE_MEM", bad_packet, &short_release);
	return tap_done();
}
