// SPDX-License-Identifier: MIT
/*
 * Many faults at a time cost one event, one line in the log and no other process; and the
 * faults of the hardware itself, by injection: a page walk that fails or reads nonsense,
 * memory that is poisoned or has an error.
 *
 * Mutations it was seen to fail with: handle_vm_fault() does not look at fault_evicted;
 * vkfd_queue_vm_fault() keeps the last fault, not the first; vkfd_route_poison() is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vkfd/ih.h>

#include "bystander.h"
#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define PAGE		4096u
#define PM4_QUEUES	16u
#define SDMA_QUEUES	8u
#define QUEUES		(PM4_QUEUES + SDMA_QUEUES)
#define ROUNDS		10u
#define AT_A_TIME	16u	/* what the device takes in one list */
#define INSERTED_PAGE	0x12345u
#define SRC_ECC		197u
#define SRC_POISON	1u

static struct bystander bystander;

struct ctx {
	struct gpu gpu;
	struct queue q[PM4_QUEUES];
	struct sdma_queue sdma[SDMA_QUEUES];
	unsigned int pm4s, sdmas;
	HsaEvent *memory, *hw;
	uint64_t *mem;
	int kmsg;
};

static void setup(struct ctx *c, unsigned int pm4s, unsigned int sdmas)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->pm4s = pm4s;
	c->sdmas = sdmas;
	if (gpu_open(&c->gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	for (i = 0; i < pm4s; i++)
		if (queue_create(&c->q[i], &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no queue %u", i);
	for (i = 0; i < sdmas; i++)
		if (sdma_queue_create(&c->sdma[i], &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no SDMA queue %u", i);
	/* Auto-reset: each time it fires it can be waited for once. */
	c->memory = event_new(&c->gpu, HSA_EVENTTYPE_MEMORY, false);
	c->hw = event_new(&c->gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	c->mem = mem_alloc(&c->gpu, MEM_VRAM, 2 * PAGE);
	c->kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (!c->memory || !c->hw || !c->mem || c->kmsg < 0 || lseek(c->kmsg, 0, SEEK_END) < 0)
		tap_bail("event, memory or log");
}

static const HsaMemoryAccessFault *fault_of(const struct ctx *c)
{
	return &c->memory->EventData.EventData.MemoryAccessFault;
}

/*
 * Lines since setup() about faults of this process. There may be none: the kernel limits
 * them, and other tests fault, too.
 */
static unsigned int lines(struct ctx *c)
{
	char line[1024], process[32];
	unsigned int n = 0;
	ssize_t len;

	snprintf(process, sizeof(process), "process %d (", (int)getpid());
	while ((len = read(c->kmsg, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;	/* some were overwritten */
		line[len] = '\0';
		n += strstr(line, process) && strstr(line, "VM fault");
	}
	return n;
}

static uint64_t nowhere(void)
{
	void *va = mmap(NULL, 2 * QUEUES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	if (va == MAP_FAILED)
		tap_bail("no address");
	return gpu_va(va);
}

/* Every queue of the process faults, each at a page of its own. */
static void storm(void *arg)
{
	int64_t faults = kfd_counter("ih", "vm_fault");
	struct ctx c;
	unsigned int i;
	uint64_t va;
	uint32_t *p;

	(void)arg;
	setup(&c, PM4_QUEUES, SDMA_QUEUES);
	va = nowhere();
	for (i = 0; i < PM4_QUEUES; i++) {
		p = queue_reserve(&c.q[i], PM4_WRITE64_DW);
		queue_commit(&c.q[i], pm4_write64(p, va + i * PAGE, 1));
	}
	for (i = 0; i < SDMA_QUEUES; i++) {
		p = sdma_queue_reserve(&c.sdma[i], SDMA_PKT_FENCE_DW);
		sdma_queue_commit(&c.sdma[i], sdma_fence(p, va + (PM4_QUEUES + i) * PAGE, 1));
	}
	for (i = 0; i < PM4_QUEUES; i++)
		queue_submit(&c.q[i]);
	for (i = 0; i < SDMA_QUEUES; i++)
		sdma_queue_submit(&c.sdma[i]);
	tap_is(event_wait(c.memory, LONG_MS), 0, "%u queues fault: MEMORY fires", QUEUES);
	tap_ok(fault_of(&c)->VirtualAddress >= va && fault_of(&c)->VirtualAddress < va + QUEUES * PAGE,
	       "with one of their pages");
	for (i = 0; i < PM4_QUEUES; i++)
		hsaKmtDestroyQueue(c.q[i].res.QueueId);
	for (i = 0; i < SDMA_QUEUES; i++)
		hsaKmtDestroyQueue(c.sdma[i].res.QueueId);
	/* What they caused has been acted on: destruction waits for that. */
	tap_is(hsaKmtWaitOnEvent(c.memory, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "once");
	tap_ok(lines(&c) <= 1, "there is at most one line in the log");
	faults = kfd_counter("ih", "vm_fault") - faults;
	tap_ok(faults >= 1 && faults <= (int64_t)QUEUES, "a queue faults once at most (%lld)",
	       (long long)faults);
	tap_ok(bystander_runs(&bystander), "another process goes on");
}

static void insert(const char *many)
{
	if (inject_arm(many))
		tap_bail("%s: %s", many, inject_error());
}

/* @n entries of VM faults of this process at a time; the first at INSERTED_PAGE. */
static void insert_faults(unsigned int first, unsigned int n)
{
	char list[VKFD_INJECT_TEXT_SIZE];
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len,
			"%sih-entry:insert:%08x_00000000_00000000_%08x_%08x_00000001_00000000_00000000@0",
			i ? ";" : "",
			SOC15_IH_CLIENTID_UTCL2 | VMC_1_0__SRCID__VM_FAULT << 8 |
				VKFD_IH_FAULT_RING__PROT_VALID << 16 | (unsigned int)VKFD_KFD_VMID_FIRST << 24,
			driver_entry_pasid(), INSERTED_PAGE + first + i);
	insert(list);
}

/* Hardware that does not stop to complain. */
static void entries(void *arg)
{
	int64_t before = kfd_counter("ih", "vm_fault");
	struct ctx c;
	unsigned int i;

	(void)arg;
	setup(&c, 2, 0);
	for (i = 0; i < ROUNDS; i++)
		insert_faults(i * AT_A_TIME, AT_A_TIME);
	tap_ok(kfd_counter_wait("ih", "vm_fault", before + ROUNDS * AT_A_TIME, LONG_MS),
	       "%u faults of one process are taken", ROUNDS * AT_A_TIME);
	inject_disarm();
	tap_is(event_wait(c.memory, LONG_MS), 0, "MEMORY fires");
	tap_is((int64_t)fault_of(&c)->VirtualAddress, 0x100000000000 | (int64_t)INSERTED_PAGE << 12,
	       "with the first of them");
	hsaKmtDestroyQueue(c.q[0].res.QueueId);
	hsaKmtDestroyQueue(c.q[1].res.QueueId);
	tap_is(hsaKmtWaitOnEvent(c.memory, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "once");
	tap_ok(lines(&c) <= 1, "there is at most one line in the log");
	tap_ok(bystander_runs(&bystander), "another process goes on");
}

/* A write to memory that is mapped, with the page walk spoiled on its way. */
struct walk {
	const char *what;
	const char *spec;
	bool read_only;
};

/* Has @q write to the first page, which is mapped; what it needed is in the TLB then. */
static void run_once(struct ctx *c, struct queue *q, uint64_t value)
{
	uint32_t *p = queue_reserve(q, PM4_WRITE64_DW);

	queue_commit(q, pm4_write64(p, gpu_va(c->mem), value));
	queue_submit(q);
	if (!wait_word(c->mem, value, LONG_MS) || !queue_wait_idle(q, LONG_MS))
		tap_bail("the queue does not run");
}

/*
 * A queue whose own pages do not push each other out of the TLB, so that the next walk is
 * for what a packet names.
 */
static struct queue *quiet_queue(struct ctx *c)
{
	struct inject_state st;
	unsigned int i;

	for (i = 0; i < PM4_QUEUES; i++) {
		if (i && queue_create(&c->q[i], &c->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no queue");
		run_once(c, &c->q[i], 2 * i + 1);
		insert("page-walk:drop@4294967295");
		run_once(c, &c->q[i], 2 * i + 2);
		if (inject_status(0, &st) && !st.passages)
			return &c->q[i];
	}
	tap_bail("every queue needs page walks all the time");
}

static void spoiled_walk(void *arg)
{
	const struct walk *w = arg;
	struct queue *q;
	struct ctx c;
	uint32_t *p;

	setup(&c, 1, 0);
	q = quiet_queue(&c);
	insert(w->spec);
	p = queue_reserve(q, PM4_WRITE64_DW);
	queue_commit(q, pm4_write64(p, gpu_va(c.mem) + PAGE, 1));
	queue_submit(q);
	tap_is(event_wait(c.memory, LONG_MS), 0, "%s: MEMORY fires", w->what);
	tap_is(inject_fired(0), 1, "%s: it was one", w->what);
	inject_disarm();
	tap_is((int64_t)fault_of(&c)->VirtualAddress, (int64_t)gpu_va(c.mem) + PAGE, "%s: the page", w->what);
	tap_ok(fault_of(&c)->Failure.NotPresent == !w->read_only &&
	       fault_of(&c)->Failure.ReadOnly == w->read_only, "%s: the reason", w->what);
	tap_is((int64_t)c.mem[PAGE / 8], 0, "%s: nothing was written", w->what);
	tap_is(hsaKmtWaitOnEvent(c.hw, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "%s: no other event", w->what);
	tap_ok(bystander_runs(&bystander), "%s: another process goes on", w->what);
}

struct bad_data {
	const char *what;
	unsigned int client, source, error;
};

static void bad_data(void *arg)
{
	const struct bad_data *bad = arg;
	char spec[128];
	struct ctx c;
	uint32_t *p;

	setup(&c, 1, 1);
	snprintf(spec, sizeof(spec), "ih-entry:insert:%08x_%08x_%08x_%08x_%08x_%08x_%08x_%08x@0",
		 bad->client | bad->source << 8 | (unsigned int)VKFD_KFD_VMID_FIRST << 24, 0, 0,
		 driver_entry_pasid(), 0, 0, 0, 0);
	insert(spec);
	tap_is(event_wait(c.memory, LONG_MS), 0, "%s: MEMORY fires", bad->what);
	inject_disarm();
	tap_ok(fault_of(&c)->Failure.ErrorType == bad->error && fault_of(&c)->Failure.ECC &&
	       fault_of(&c)->Failure.Imprecise && fault_of(&c)->NodeId == c.gpu.node,
	       "%s: with the error", bad->what);
	tap_is(event_wait(c.hw, LONG_MS), 0, "%s: so does HW_EXCEPTION", bad->what);
	tap_ok(c.hw->EventData.EventData.HwException.ResetCause == HSA_EVENTID_HW_EXCEPTION_ECC &&
	       c.hw->EventData.EventData.HwException.MemoryLost, "%s: memory is lost", bad->what);
	/* Nobody goes on with such data. */
	p = queue_reserve(&c.q[0], PM4_WRITE64_DW);
	queue_commit(&c.q[0], pm4_write64(p, gpu_va(&c.mem[0]), 1));
	queue_submit(&c.q[0]);
	p = sdma_queue_reserve(&c.sdma[0], SDMA_PKT_FENCE_DW);
	sdma_queue_commit(&c.sdma[0], sdma_fence(p, gpu_va(&c.mem[1]), 1));
	sdma_queue_submit(&c.sdma[0]);
	tap_ok(bystander_runs(&bystander), "%s: another process goes on", bad->what);
	tap_ok(!c.mem[0] && !c.mem[1], "%s: the process's queues do not", bad->what);
	tap_ok(lines(&c) <= 1, "%s: at most one line in the log", bad->what);
}

int main(void)
{
	static const struct walk walks[] = {
		{ "a walk that finds nothing", "page-walk:drop@1*1", false },
		{ "an entry without its write bit", "page-walk:corrupt:^0x40@1*1", true },
		{ "an entry without access", "page-walk:corrupt:^0x60@1*1", true },
	};
	static const struct bad_data bad[] = {
		{ "an error of memory", SOC15_IH_CLIENTID_GRBM_CP, SRC_ECC, 1 },
		{ "poison", SOC15_IH_CLIENTID_UTCL2, SRC_POISON, 2 },
	};
	unsigned int i;

	tap_begin(200);
	if (inject_open())
		tap_skip_all("no fault injection in this device");
	bystander_start(&bystander);
	tap_child("storm", storm, NULL);
	for (i = 0; i < sizeof(walks) / sizeof(walks[0]); i++)
		tap_child(walks[i].what, spoiled_walk, (void *)&walks[i]);
	/* Entries name the process by its PASID; without, by a VMID that is not known here. */
	if (driver_sched_policy() == 2) {
		tap_skip("no run lists", "inserted entries");
	} else {
		tap_child("entries", entries, NULL);
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			tap_child(bad[i].what, bad_data, (void *)&bad[i]);
	}
	inject_disarm();
	tap_ok(bystander_end(&bystander), "the other process ended well");
	return tap_done();
}
