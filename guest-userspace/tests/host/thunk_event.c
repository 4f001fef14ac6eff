// SPDX-License-Identifier: MIT
/* Events: the page, its failures, waiting, payloads. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd_extra.h"
#include "thunk_fake.h"

#define NR_ALLOC FAKE_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU)
#define NR_CREATE FAKE_NR(AMDKFD_IOC_CREATE_EVENT)
#define PAGE_BYTES 32768

static HsaEvent *make(HSA_EVENTTYPE type)
{
	HsaEventDescriptor desc = { .EventType = type };
	HsaEvent *ev = NULL;

	hsaKmtCreateEvent(&desc, false, false, &ev);
	return ev;
}

static void first_event(void)
{
	HsaEvent *a, *b;
	char order[128];
	int from, alloc;

	fake_open();
	from = fake.calls;
	a = make(HSA_EVENTTYPE_SIGNAL);
	fake_order(order, sizeof(order), from);
	tap_ok(!strcmp(order, "16 mmap 18 08"), "first event: ALLOC, mmap, MAP, CREATE (%s)", order);
	alloc = fake_find(NR_ALLOC, from);
	tap_is((int64_t)fake.log[alloc].len, PAGE_BYTES, "the page is 32 KiB");
	tap_is((int64_t)fake.log[alloc].arg,
	       (uint32_t)(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_MEM_WRITABLE |
			  KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
			  KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE),
	       "with the flags of the stock library");
	from = fake.calls;
	b = make(HSA_EVENTTYPE_SIGNAL);
	fake_order(order, sizeof(order), from);
	tap_ok(!strcmp(order, "08"), "second event: CREATE only (%s)", order);
	tap_ok(a && b && a->EventData.HWData2 && b->EventData.HWData2 ==
	       a->EventData.HWData2 + 8 * (b->EventId - a->EventId), "slots lie by id");
	tap_ok(a->EventData.HWData1 == a->EventId && a->EventData.HWData3 == a->EventId,
	       "trigger data is the id");
	*(volatile uint64_t *)(uintptr_t)a->EventData.HWData2 = a->EventId;
	tap_is(hsaKmtDestroyEvent(a), HSAKMT_STATUS_SUCCESS, "destroy");
	hsaKmtDestroyEvent(b);
	tap_is(fake.live_events, 0, "no event left");
}

/* Two first events at once: the second ALLOC, if it comes, is waited for. */
#define THREADS 8
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static int pages_asked;
static pthread_barrier_t start;

static void page_gate(int nr, void *arg)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args *a = arg;
	struct timespec until;

	if (nr != NR_ALLOC || a->size != PAGE_BYTES)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 300000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&gate_lock);
	pages_asked++;
	pthread_cond_broadcast(&gate_cond);
	while (pages_asked < 2 && !pthread_cond_timedwait(&gate_cond, &gate_lock, &until))
		;
	pthread_mutex_unlock(&gate_lock);
}

static void *racer(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&start);
	return make(HSA_EVENTTYPE_SIGNAL);
}

static void first_race(void)
{
	pthread_t thread[THREADS];
	void *ev[THREADS];
	bool distinct = true, all = true;

	fake_open();
	fake.hook = page_gate;
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, racer, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], &ev[i]);
	fake.hook = NULL;
	tap_is(pages_asked, 1, "%d threads with their first event ask for one page", THREADS);
	tap_is(fake.event_pages, 1, "and give the kernel one");
	for (int i = 0; i < THREADS; i++) {
		all &= !!ev[i];
		for (int j = 0; all && j < i; j++)
			distinct &= ((HsaEvent *)ev[i])->EventData.HWData2 !=
				    ((HsaEvent *)ev[j])->EventData.HWData2;
	}
	tap_ok(all && distinct, "all have an event and a slot of their own");
	for (int i = 0; i < THREADS; i++)
		hsaKmtDestroyEvent(ev[i]);
}

static void page_fails(void)
{
	static const struct {
		int nr;
		const char *what;
	} step[] = {
		{ NR_ALLOC, "ALLOC" },
		{ FAKE_MMAP, "mmap" },
		{ FAKE_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU), "MAP" },
		{ NR_CREATE, "CREATE_EVENT" },
	};
	HsaEvent *ev;
	int bos;

	fake_open();
	bos = fake.live_bos;
	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };

		fake_fail(step[i].nr, 1, ENOMEM);
		ev = (void *)1;
		tap_is(hsaKmtCreateEvent(&desc, false, false, &ev), HSAKMT_STATUS_ERROR,
		       "%s of the page fails: ERROR", step[i].what);
		tap_ok(!ev, "and no event");
		tap_is(fake.live_bos, bos, "the page is given back");
	}
	ev = make(HSA_EVENTTYPE_SIGNAL);
	tap_ok(ev && ev->EventData.HWData2, "the next first event works");
	tap_is(fake.event_pages, 1, "with a page");
	hsaKmtDestroyEvent(ev);
}

static void page_kept(void)
{
	HsaEvent *ev;
	int bos;

	fake_open();
	bos = fake.live_bos;
	fake.keep_event_page = true;
	fake_fail(NR_CREATE, 1, ENOSPC);
	tap_ok(!make(HSA_EVENTTYPE_SIGNAL), "the event fails after the kernel took the page");
	tap_is(fake.live_bos, bos + 1, "the page stays");
	tap_ok(fake.mapped_bos == fake.live_bos, "and is mapped again");
	ev = make(HSA_EVENTTYPE_SIGNAL);
	tap_ok(ev && ev->EventData.HWData2, "the next event uses it");
	tap_is(fake.event_pages, 1, "and brings no second one");
	hsaKmtDestroyEvent(ev);
}

static void arguments(void)
{
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_MAXID };
	HsaEvent *ev, *none[2] = { 0 };
	int from;

	fake_open();
	tap_is(hsaKmtCreateEvent(&desc, false, false, &ev), HSAKMT_STATUS_INVALID_PARAMETER, "bad type");
	tap_is(hsaKmtCreateEvent(NULL, false, false, &ev), HSAKMT_STATUS_INVALID_PARAMETER, "no type");
	tap_is(hsaKmtDestroyEvent(NULL), HSAKMT_STATUS_INVALID_HANDLE, "destroy NULL");
	tap_is(hsaKmtSetEvent(NULL), HSAKMT_STATUS_INVALID_HANDLE, "set NULL");
	tap_is(hsaKmtWaitOnEvent(NULL, 0), HSAKMT_STATUS_INVALID_HANDLE, "wait for NULL");
	tap_is(hsaKmtWaitOnMultipleEvents(NULL, 1, true, 0), HSAKMT_STATUS_INVALID_HANDLE, "no list");
	tap_is(hsaKmtWaitOnMultipleEvents(none, 2, true, 0), HSAKMT_STATUS_INVALID_HANDLE, "list of NULL");

	ev = make(HSA_EVENTTYPE_MEMORY);
	from = fake.calls;
	tap_is(hsaKmtSetEvent(ev), HSAKMT_STATUS_ERROR, "a system event cannot be set");
	tap_is(hsaKmtResetEvent(ev), HSAKMT_STATUS_ERROR, "nor reset");
	tap_is(fake.calls, from, "and the kernel is not asked");
	hsaKmtDestroyEvent(ev);
}

static void is_signaled(void)
{
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };
	HsaEvent *ev = NULL;

	fake_open();
	tap_is(hsaKmtCreateEvent(&desc, true, true, &ev), HSAKMT_STATUS_SUCCESS, "signaled from the start");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_SET_EVENT), 0), 1, "by SET_EVENT");
	hsaKmtDestroyEvent(ev);
	fake_fail(FAKE_NR(AMDKFD_IOC_SET_EVENT), 1, EINVAL);
	tap_is(hsaKmtCreateEvent(&desc, true, true, &ev), HSAKMT_STATUS_ERROR, "which may fail");
	tap_is(fake.live_events, 0, "and then there is no event");
	desc.EventType = HSA_EVENTTYPE_HW_EXCEPTION;
	hsaKmtCreateEvent(&desc, true, true, &ev);
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_SET_EVENT), 0), 2, "a system event is not set");
	hsaKmtDestroyEvent(ev);
}

/* ---- waiting ------------------------------------------------------------ */

static int signal_only(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	(void)d;
	a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return 0;
}

static int fault(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	for (uint32_t i = 0; i < a->num_events; i++)
		if (i == 1) {	/* the kernel writes the one that fired */
			d[i].memory_exception_data.va = 0x7f0012345000;
			d[i].memory_exception_data.gpu_id = FAKE_GPU_ID;
			d[i].memory_exception_data.failure.ReadOnly = 1;
			d[i].memory_exception_data.ErrorType = KFD_MEM_ERR_POISON_CONSUMED;
		}
	a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return 0;
}

static int reset(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	d[2].hw_exception_data.gpu_id = FAKE_GPU_ID;
	d[2].hw_exception_data.reset_type = KFD_HW_EXCEPTION_PER_ENGINE_RESET;
	d[2].hw_exception_data.reset_cause = KFD_HW_EXCEPTION_ECC;
	d[2].hw_exception_data.memory_lost = 1;
	a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return 0;
}

static int foreign_gpu(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	d[1].memory_exception_data.gpu_id = 0x1234;
	return reset(a, d);
}

static void payloads(void)
{
	HsaEvent *ev[3];
	HsaMemoryAccessFault *mem, before;
	HsaHwException *hw;

	fake_open();
	ev[0] = make(HSA_EVENTTYPE_SIGNAL);
	ev[1] = make(HSA_EVENTTYPE_MEMORY);
	ev[2] = make(HSA_EVENTTYPE_HW_EXCEPTION);
	mem = &ev[1]->EventData.EventData.MemoryAccessFault;
	hw = &ev[2]->EventData.EventData.HwException;

	before = *mem;
	fake.wait = signal_only;
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 3, false, 1), HSAKMT_STATUS_SUCCESS, "the signal fires");
	tap_ok(!memcmp(mem, &before, sizeof(before)) && !hw->MemoryLost,
	       "no fault and no reset is made up");

	fake.wait = fault;
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 3, false, 1), HSAKMT_STATUS_SUCCESS, "a fault");
	tap_is((int64_t)mem->VirtualAddress, 0x7f0012345000, "address");
	tap_is(mem->NodeId, FAKE_GPU_NODE, "node, not GPU id");
	tap_ok(mem->Failure.ReadOnly && !mem->Failure.NotPresent && !mem->Failure.NoExecute, "reason");
	tap_ok(mem->Failure.ECC && mem->Failure.ErrorType == 2, "RAS bits");
	tap_is(mem->Flags, HSA_EVENTID_MEMORY_FATAL_PROCESS, "fatal");
	tap_ok(!hw->MemoryLost && !hw->ResetType, "and still no reset");

	fake.wait = reset;
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 3, false, 1), HSAKMT_STATUS_SUCCESS, "a reset");
	tap_is(hw->NodeId, FAKE_GPU_NODE, "node");
	tap_is(hw->ResetType, KFD_HW_EXCEPTION_PER_ENGINE_RESET, "type");
	tap_is(hw->ResetCause, HSA_EVENTID_HW_EXCEPTION_ECC, "cause");
	tap_is(hw->MemoryLost, 1, "memory lost");

	hw->MemoryLost = 0;
	fake.wait = foreign_gpu;
	tap_is(hsaKmtWaitOnMultipleEvents(ev, 3, false, 1), HSAKMT_STATUS_INVALID_NODE_UNIT,
	       "a fault of a GPU that is not ours");
	tap_is(hw->MemoryLost, 1, "does not hide the reset");
	for (int i = 0; i < 3; i++)
		hsaKmtDestroyEvent(ev[i]);
}

static uint64_t age_in[2];
static uint32_t timeout_in, all_in;

static int ages(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	timeout_in = a->timeout;
	all_in = a->wait_for_all;
	for (uint32_t i = 0; i < a->num_events; i++)
		age_in[i] = d[i].signal_event_data.last_event_age;
	d[0].signal_event_data.last_event_age = 5;
	a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return 0;
}

static int timed_out(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	(void)d;
	a->wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
	return 0;
}

static int destroyed(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	(void)d;
	a->wait_result = KFD_IOC_WAIT_RESULT_FAIL;
	errno = EIO;
	return -1;
}

static int failed(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	(void)d;
	a->wait_result = KFD_IOC_WAIT_RESULT_FAIL;
	return 0;
}

static void waits(void)
{
	HsaEvent *ev[2];
	uint64_t age[2] = { 3, 7 };
	int from;

	fake_open();
	ev[0] = make(HSA_EVENTTYPE_SIGNAL);
	ev[1] = make(HSA_EVENTTYPE_MEMORY);
	fake.wait = ages;
	tap_is(hsaKmtWaitOnMultipleEvents_Ext(ev, 2, true, 0xffffffff, age), HSAKMT_STATUS_SUCCESS, "ages");
	tap_ok(age_in[0] == 3 && age_in[1] == 0, "an age goes in for signals only");
	tap_ok(age[0] == 5 && age[1] == 7, "and comes out for signals only");
	tap_ok(timeout_in == 0xffffffff && all_in == 1, "time-out and all are passed on");
	tap_is(hsaKmtWaitOnEvent(ev[0], 9), HSAKMT_STATUS_SUCCESS, "without ages");
	tap_ok(age_in[0] == 0 && timeout_in == 9, "age 0 goes in");
	fake.wait = timed_out;
	tap_is(hsaKmtWaitOnEvent(ev[0], 0), HSAKMT_STATUS_WAIT_TIMEOUT, "time-out");
	fake.wait = destroyed;
	tap_is(hsaKmtWaitOnEvent(ev[0], 0), HSAKMT_STATUS_ERROR, "event destroyed meanwhile");
	fake.wait = failed;
	tap_is(hsaKmtWaitOnEvent(ev[0], 0), HSAKMT_STATUS_WAIT_FAILURE, "wait result FAIL");
	fake.wait = timed_out;
	fake.interrupts = 3;
	from = fake.calls;
	tap_is(hsaKmtWaitOnEvent(ev[0], 100), HSAKMT_STATUS_WAIT_TIMEOUT, "a wait interrupted three times");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_WAIT_EVENTS), from), 4, "is repeated");
	hsaKmtDestroyEvent(ev[0]);
	hsaKmtDestroyEvent(ev[1]);
}

static void many(void)
{
	static HsaEvent *ev[4095];
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };
	HsaEvent *over = NULL;
	int made = 0;

	fake_open();
	while (made < 4095 && (ev[made] = make(HSA_EVENTTYPE_SIGNAL)))
		made++;
	tap_is(made, 4095, "4095 events");
	tap_is(hsaKmtCreateEvent(&desc, false, false, &over), HSAKMT_STATUS_ERROR, "and not one more");
	tap_ok(ev[4094]->EventData.HWData2 - ev[0]->EventData.HWData2 == 8 * 4094, "all in the page");
	while (made)
		hsaKmtDestroyEvent(ev[--made]);
	tap_is(fake.live_events, 0, "all destroyed");
}

int main(void)
{
	tap_begin(120);
	fake_scenario("first event", first_event);
	fake_scenario("race for the first event", first_race);
	fake_scenario("the page cannot be made", page_fails);
	fake_scenario("the page cannot be taken back", page_kept);
	fake_scenario("arguments", arguments);
	fake_scenario("IsSignaled", is_signaled);
	fake_scenario("payloads", payloads);
	fake_scenario("waits", waits);
	fake_scenario("all ids", many);
	return tap_done();
}
