// SPDX-License-Identifier: MIT
/*
 * What interrupt entry signals which event type, with which payload. The entries are
 * inserted into the ring by fault injection, as waves do not exist yet; they carry no
 * PASID where the driver knows whose VMID it is. After each, exactly the expected events
 * have fired. Ids cut off to 28 and 24 bits, entries of nobody, a flood of context id 0.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vkfd/ih.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "tap.h"

#define WAIT_MS		20000u
#define FLOOD		1000u
#define PROT_EXEC_BIT	0x40u
#define SRC_ECC		197u
#define SRC_POISON	1u
#define SQ_AUTO		0x00000000u
#define SQ_INST		0x04000000u
#define SQ_ERROR	0x08000000u

static struct gpu gpu;
static struct queue q;
static HsaEvent *ev[HSA_EVENTTYPE_MAXID];

/* A process with an event of every type but one, alone on the GPU: its VMID is the first. */
static void set_up(void)
{
	unsigned int t;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, 4 * GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("GPU or queue");
	for (t = 0; t < HSA_EVENTTYPE_MAXID; t++) {
		/* Every batch would fire it: queue_event.c has its tests. */
		if (t == HSA_EVENTTYPE_QUEUE_EVENT)
			continue;
		ev[t] = event_new(&gpu, (HSA_EVENTTYPE)t, false);
		if (!ev[t])
			tap_bail("event of type %u", t);
	}
}

static void insert(unsigned int client, unsigned int source, unsigned int ring, unsigned int vmid,
		   unsigned int pasid, uint32_t ctx0, uint32_t ctx1)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "ih-entry:insert:%08x_%08x_%08x_%08x_%08x_%08x_%08x_%08x@0",
		 client | source << 8 | ring << 16 | vmid << 24, 0, 0, pasid, ctx0, ctx1, 0, 0);
	if (inject_arm(spec))
		tap_bail("%s: %s", spec, inject_error());
}

static void insert_own(unsigned int client, unsigned int source, uint32_t ctx0, uint32_t ctx1)
{
	insert(client, source, 0, VKFD_KFD_VMID_FIRST, driver_entry_pasid(), ctx0, ctx1);
}

/*
 * A signal by the GPU behind the entry: what came before has been looked at. Time-out 0 looks
 * at no slot, so only the interrupt can end this.
 */
static void settle(void)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, WAIT_MS);
	uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	queue_commit(&q, pm4_signal(p, event_slot(ev[HSA_EVENTTYPE_SIGNAL]),
				    ev[HSA_EVENTTYPE_SIGNAL]->EventId));
	queue_submit(&q);
	while (hsaKmtWaitOnEvent(ev[HSA_EVENTTYPE_SIGNAL], 0) != HSAKMT_STATUS_SUCCESS) {
		if (now_ns() > end)
			tap_bail("interrupts do not work");
		sched_yield();
	}
}

/* Event types that fired, as bits, once all of @want have, and a little later. */
static unsigned int fired(unsigned int want)
{
	unsigned int t, mask = 0;

	for (t = 0; t < HSA_EVENTTYPE_MAXID; t++)
		if (want & 1u << t && event_wait(ev[t], WAIT_MS) == HSAKMT_STATUS_SUCCESS)
			mask |= 1u << t;
	for (t = 0; t < HSA_EVENTTYPE_MAXID; t++)
		if (ev[t] && hsaKmtWaitOnEvent(ev[t], 0) == HSAKMT_STATUS_SUCCESS)
			mask |= 1u << t;
	return mask;
}

static void test_types(void *unused)
{
	(void)unused;
	set_up();
	insert_own(SOC15_IH_CLIENTID_SE0SH, GFX_9_0__SRCID__SQ_INTERRUPT_ID, SQ_AUTO | 1, 0);
	tap_is(fired(1u << HSA_EVENTTYPE_PROFILE_EVENT), 1u << HSA_EVENTTYPE_PROFILE_EVENT,
	       "SQ automatic message: PROFILE_EVENT");
	/* 0x5e5 in the upper half of the 24 bits: [31:28] and context id 1. */
	insert_own(SOC15_IH_CLIENTID_SE1SH, GFX_9_0__SRCID__SQ_INTERRUPT_ID,
		   SQ_INST | 5u << 28 | 0x123, 0x5e);
	tap_is(fired(1u << HSA_EVENTTYPE_SYSTEM_EVENT), 1u << HSA_EVENTTYPE_SYSTEM_EVENT,
	       "SQ instruction message with the code: SYSTEM_EVENT");
	queue_destroy(&q);
	gpu_close();
}

static void test_ids(void *unused)
{
	HsaEvent *e;
	uint32_t id;

	(void)unused;
	set_up();
	e = ev[HSA_EVENTTYPE_DEBUG_EVENT];
	id = e->EventId;

	*event_slot(e) = id;
	insert_own(SOC15_IH_CLIENTID_SDMA0, SDMA0_4_0__SRCID__SDMA_TRAP, 0xa0000000u | id, 0);
	tap_is(fired(1u << HSA_EVENTTYPE_DEBUG_EVENT), 1u << HSA_EVENTTYPE_DEBUG_EVENT,
	       "SDMA trap: 28 bits of the id");
	*event_slot(e) = id;
	insert_own(SOC15_IH_CLIENTID_SE0SH, GFX_9_0__SRCID__SQ_INTERRUPT_ID, SQ_INST | id, 0xff00);
	tap_is(fired(1u << HSA_EVENTTYPE_DEBUG_EVENT), 1u << HSA_EVENTTYPE_DEBUG_EVENT,
	       "SQ message: 24 bits of the id");
	*event_slot(e) = id;
	insert_own(SOC15_IH_CLIENTID_GRBM_CP, GFX_9_0__SRCID__CP_EOP_INTERRUPT, id, 0);
	tap_is(fired(1u << HSA_EVENTTYPE_DEBUG_EVENT), 1u << HSA_EVENTTYPE_DEBUG_EVENT,
	       "end of pipe: all 32");
	insert_own(SOC15_IH_CLIENTID_GRBM_CP, GFX_9_0__SRCID__CP_EOP_INTERRUPT, id, 0);
	settle();
	tap_is(fired(0), 0, "an id whose slot is not written signals nothing");
	queue_destroy(&q);
	gpu_close();
}

static void test_execute(void *unused)
{
	const HsaMemoryAccessFault *f;

	(void)unused;
	set_up();
	insert(SOC15_IH_CLIENTID_UTCL2, VMC_1_0__SRCID__VM_FAULT, PROT_EXEC_BIT,
	       VKFD_KFD_VMID_FIRST, driver_entry_pasid(), 0x12345, 0x1);
	tap_is(fired(1u << HSA_EVENTTYPE_MEMORY), 1u << HSA_EVENTTYPE_MEMORY,
	       "a fault of execution: MEMORY, and nothing else");
	f = &ev[HSA_EVENTTYPE_MEMORY]->EventData.EventData.MemoryAccessFault;
	tap_is(f->NodeId, gpu.node, "node");
	tap_is((int64_t)f->VirtualAddress, 0x100012345000, "address");
	tap_ok(f->Failure.NoExecute && !f->Failure.NotPresent && !f->Failure.ReadOnly, "NoExecute");
	tap_ok(!f->Failure.Imprecise && !f->Failure.ECC && !f->Failure.ErrorType, "and no more");
	queue_destroy(&q);
	gpu_close();
}

static void test_bad_data(void *arg)
{
	static const struct {
		unsigned int client, source, error;
		uint32_t ctx0, ctx1;
		const char *what;
	} kinds[] = {
		{ SOC15_IH_CLIENTID_GRBM_CP, SRC_ECC, 1, 0, 0, "ECC error of the CP" },
		{ SOC15_IH_CLIENTID_UTCL2, SRC_POISON, 2, 0, 0, "poison in a translation" },
		{ SOC15_IH_CLIENTID_SE2SH, GFX_9_0__SRCID__SQ_INTERRUPT_ID, 2, SQ_ERROR, 0,
		  "poison in a wave" },
	};
	unsigned int want = 1u << HSA_EVENTTYPE_MEMORY | 1u << HSA_EVENTTYPE_HW_EXCEPTION;
	const HsaMemoryAccessFault *f;
	const HsaHwException *hw;
	unsigned int i = *(unsigned int *)arg;

	set_up();
	insert_own(kinds[i].client, kinds[i].source, kinds[i].ctx0, kinds[i].ctx1);
	tap_is(fired(want), want, "%s: MEMORY and HW_EXCEPTION", kinds[i].what);
	f = &ev[HSA_EVENTTYPE_MEMORY]->EventData.EventData.MemoryAccessFault;
	tap_ok(f->NodeId == gpu.node && f->Failure.ECC && f->Failure.Imprecise &&
	       f->Failure.ErrorType == kinds[i].error, "%s: error type, imprecise", kinds[i].what);
	hw = &ev[HSA_EVENTTYPE_HW_EXCEPTION]->EventData.EventData.HwException;
	tap_ok(hw->NodeId == gpu.node && hw->MemoryLost &&
	       hw->ResetCause == HSA_EVENTID_HW_EXCEPTION_ECC, "%s: cause", kinds[i].what);
	queue_destroy(&q);
	gpu_close();
}

static void test_nobody(void *unused)
{
	int64_t dead = kfd_counter("events", "no_process"), none = kfd_counter("ih", "no_pasid");
	int64_t unknown = kfd_counter("ih", "unknown");

	(void)unused;
	set_up();
	insert(SOC15_IH_CLIENTID_GRBM_CP, GFX_9_0__SRCID__CP_EOP_INTERRUPT, 0,
	       VKFD_KFD_VMID_FIRST, 0xfffe, 1, 0);
	insert(SOC15_IH_CLIENTID_UTCL2, VMC_1_0__SRCID__VM_FAULT, 0, VKFD_KFD_VMID_FIRST, 0xfffe, 1, 0);
	insert(SOC15_IH_CLIENTID_GRBM_CP, GFX_9_0__SRCID__CP_EOP_INTERRUPT, 0,
	       VKFD_KFD_VMID_LAST, 0, 1, 0);
	insert(0xff, 0xff, 0xff, 0xf, 0xffff, ~0u, ~0u);
	insert(SOC15_IH_CLIENTID_GRBM_CP, 0xff, 0, VKFD_KFD_VMID_FIRST, driver_entry_pasid(), 1, 0);
	insert(SOC15_IH_CLIENTID_GRBM_CP, GFX_9_0__SRCID__CP_EOP_INTERRUPT, 0, 1, 0, 1, 0);
	settle();
	tap_is(fired(0), 0, "entries of nobody, and nonsense, signal nothing");
	tap_is(kfd_counter("events", "no_process") - dead, 2, "a PASID of nobody is counted");
	tap_is(kfd_counter("ih", "no_pasid") - none, 1, "a VMID of nobody");
	tap_is(kfd_counter("ih", "unknown") - unknown, 3, "entries nobody knows");
	queue_destroy(&q);
	gpu_close();
}

static void test_flood(void *unused)
{
	int64_t scans, none;
	unsigned int i;

	(void)unused;
	set_up();
	scans = kfd_counter("events", "scans");
	none = kfd_counter("ih", "no_context");
	for (i = 0; i < FLOOD; i++) {
		uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, WAIT_MS);

		queue_commit(&q, pm4_release_mem(p, 0, RELEASE_MEM_DATA_NONE, 0,
						 RELEASE_MEM_INT_AFTER_WRITE, 0));
		queue_submit(&q);
	}
	settle();
	tap_is(kfd_counter("ih", "no_context") - none, FLOOD, "interrupts with id 0 are dropped");
	/* One may be settle()'s: its waiter can find the slot before the interrupt does. */
	scans = kfd_counter("events", "scans") - scans;
	tap_ok(scans <= 1, "and cost no scan of the slots: %lld", (long long)scans);
	queue_destroy(&q);
	gpu_close();
}

int main(void)
{
	unsigned int i;

	tap_begin(180);
	if (inject_open())
		tap_skip_all("no fault injection in this device");
	tap_child("events of the system", test_types, NULL);
	tap_child("ids of every width", test_ids, NULL);
	tap_child("a fault of execution", test_execute, NULL);
	for (i = 0; i < 3; i++)
		tap_child("bad data", test_bad_data, &i);
	tap_child("entries of nobody", test_nobody, NULL);
	tap_child("a flood of context id 0", test_flood, NULL);
	inject_disarm();
	return tap_done();
}
