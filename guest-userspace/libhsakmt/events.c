// SPDX-License-Identifier: MIT
/*
 * Events. The GPU signals an event by writing its id to the event's slot in the
 * events page, then raising an interrupt. On a discrete GPU the page is a buffer
 * the library allocates with the first event and hands to the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hsakmt_int.h"

#define EVENTS_PAGE_BYTES (KFD_SIGNAL_EVENT_LIMIT * 8ull)

/* Events the kernel signals on its own; programs may not. */
static bool is_system_event(HSA_EVENTTYPE type)
{
	return type != HSA_EVENTTYPE_SIGNAL && type != HSA_EVENTTYPE_DEBUG_EVENT;
}

/*
 * For tests of the kernel: VKFD_EVENT_PAGE=driver brings no page of ours, as on an APU.
 * The kernel maps its own to the GPUs where we map it.
 */
static bool driver_page(void)
{
	const char *val = getenv("VKFD_EVENT_PAGE");

	return val && !strcmp(val, "driver");
}

/*
 * CREATE_EVENT, with the events page if this is the first event. Under ctx.lock:
 * two first events must not bring two pages. A page the kernel did not take is
 * given back, so that a later first event can try again; one it did take cannot
 * be freed, and stays the events page although the event failed.
 */
static HSAKMT_STATUS create_locked(struct kfd_ioctl_create_event_args *args)
{
	const struct hsakmt_mem_req req = { .nonpaged = true, .uncached = true };
	bool first = hsakmt_ctx.is_dgpu && !hsakmt_ctx.events_page && !driver_page();
	uint64_t handle;

	if (first) {
		hsakmt_ctx.events_page = hsakmt_internal_alloc(EVENTS_PAGE_BYTES, &req);
		if (!hsakmt_ctx.events_page)
			return HSAKMT_STATUS_ERROR;
		if (hsakmt_fmm_handle(hsakmt_addr(hsakmt_ctx.events_page), &handle))
			args->event_page_offset = handle;
	}
	if (hsakmt_ioctl(AMDKFD_IOC_CREATE_EVENT, args)) {
		if (first && hsakmt_internal_free(hsakmt_ctx.events_page))
			hsakmt_ctx.events_page = NULL;
		return HSAKMT_STATUS_ERROR;
	}
	/* Without a discrete GPU, or on demand, the page is the kernel's. */
	if (!hsakmt_ctx.events_page && args->event_page_offset) {
		void *page = hsakmt_sys_mmap(NULL, EVENTS_PAGE_BYTES, PROT_READ | PROT_WRITE,
					     MAP_SHARED, hsakmt_ctx.kfd_fd,
					     (off_t)args->event_page_offset);

		if (page == MAP_FAILED) {
			struct kfd_ioctl_destroy_event_args undo = { .event_id = args->event_id };

			hsakmt_ioctl(AMDKFD_IOC_DESTROY_EVENT, &undo);
			return HSAKMT_STATUS_ERROR;
		}
		hsakmt_ctx.events_page = page;
	}
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * hsaKmtCreateEvent - new event of the process
 *
 * @ManualReset: stays signaled until reset, else one waiter consumes it.
 * HWData2 of the result is the address of the slot, HWData3 what to write there.
 * ERROR also when all 4095 ids are in use.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *EventDesc, bool ManualReset,
					      bool IsSignaled, HsaEvent **Event)
{
	struct kfd_ioctl_create_event_args args = { 0 };
	uint64_t *page;
	HSAKMT_STATUS status;
	HsaEvent *event;

	HSAKMT_CHECK_OPEN();
	if (!EventDesc || !Event || EventDesc->EventType >= HSA_EVENTTYPE_MAXID)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*Event = NULL;
	event = calloc(1, sizeof(*event));
	if (!event)
		return HSAKMT_STATUS_ERROR;

	args.event_type = EventDesc->EventType;
	args.node_id = EventDesc->NodeId;
	args.auto_reset = !ManualReset;
	pthread_mutex_lock(&hsakmt_ctx.lock);
	status = create_locked(&args);
	page = hsakmt_ctx.events_page;
	pthread_mutex_unlock(&hsakmt_ctx.lock);
	if (status != HSAKMT_STATUS_SUCCESS) {
		free(event);
		return status;
	}

	event->EventId = args.event_id;
	event->EventData.EventType = EventDesc->EventType;
	event->EventData.HWData1 = args.event_id;
	if (page && args.event_page_offset && args.event_slot_index < KFD_SIGNAL_EVENT_LIMIT)
		event->EventData.HWData2 = hsakmt_addr(&page[args.event_slot_index]);
	event->EventData.HWData3 = args.event_trigger_data;
	event->EventData.EventData.SyncVar.SyncVar.UserData = EventDesc->SyncVar.SyncVar.UserData;
	event->EventData.EventData.SyncVar.SyncVarSize = EventDesc->SyncVar.SyncVarSize;

	if (IsSignaled && !is_system_event(EventDesc->EventType)) {
		struct kfd_ioctl_set_event_args set = { .event_id = args.event_id };

		if (hsakmt_ioctl(AMDKFD_IOC_SET_EVENT, &set)) {
			hsaKmtDestroyEvent(event);
			return HSAKMT_STATUS_ERROR;
		}
	}
	*Event = event;
	return HSAKMT_STATUS_SUCCESS;
}

/* hsaKmtDestroyEvent - waiters are woken and get ERROR */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *Event)
{
	struct kfd_ioctl_destroy_event_args args = { 0 };

	HSAKMT_CHECK_OPEN();
	if (!Event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	args.event_id = Event->EventId;
	if (hsakmt_ioctl(AMDKFD_IOC_DESTROY_EVENT, &args))
		return HSAKMT_STATUS_ERROR;
	free(Event);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *Event)
{
	struct kfd_ioctl_set_event_args args = { 0 };

	HSAKMT_CHECK_OPEN();
	if (!Event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	if (is_system_event(Event->EventData.EventType))
		return HSAKMT_STATUS_ERROR;
	args.event_id = Event->EventId;
	return hsakmt_call(AMDKFD_IOC_SET_EVENT, &args);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *Event)
{
	struct kfd_ioctl_reset_event_args args = { 0 };

	HSAKMT_CHECK_OPEN();
	if (!Event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	if (is_system_event(Event->EventData.EventType))
		return HSAKMT_STATUS_ERROR;
	args.event_id = Event->EventId;
	return hsakmt_call(AMDKFD_IOC_RESET_EVENT, &args);
}

/*
 * hsaKmtQueryEventState - whether the handle can be queried, nothing more
 *
 * The kernel has no query that leaves an auto-reset event signaled, so there is
 * no state to return: as in the stock library SUCCESS says only that the call is
 * valid. Wait with time-out 0 to poll.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *Event)
{
	HSAKMT_CHECK_OPEN();
	return Event ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

static HSAKMT_STATUS copy_fault(HsaMemoryAccessFault *out,
				const struct kfd_hsa_memory_exception_data *in)
{
	HSAuint32 node_id;
	HSAKMT_STATUS status = hsakmt_gpu_node_id(in->gpu_id, &node_id);

	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	memset(out, 0, sizeof(*out));
	out->NodeId = node_id;
	out->VirtualAddress = in->va;
	out->Failure.NotPresent = !!in->failure.NotPresent;
	out->Failure.ReadOnly = !!in->failure.ReadOnly;
	out->Failure.NoExecute = !!in->failure.NoExecute;
	out->Failure.Imprecise = !!in->failure.imprecise;
	out->Failure.ErrorType = in->ErrorType & 7;
	out->Failure.ECC = in->ErrorType == KFD_MEM_ERR_SRAM_ECC ||
			   in->ErrorType == KFD_MEM_ERR_POISON_CONSUMED;
	out->Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS;
	hsakmt_fault_report(in, node_id);
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS copy_exception(HsaHwException *out, const struct kfd_hsa_hw_exception_data *in)
{
	HSAuint32 node_id;
	HSAKMT_STATUS status = hsakmt_gpu_node_id(in->gpu_id, &node_id);

	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	out->NodeId = node_id;
	out->ResetType = in->reset_type;
	out->MemoryLost = in->memory_lost;
	out->ResetCause = in->reset_cause;
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * The kernel fills the payload of events that fired and leaves the others as
 * they were passed, zero; a GPU id is never zero. So a wait for any of many reports
 * a fault only if there was one. One bad payload does not hide the next.
 */
static HSAKMT_STATUS copy_payloads(HsaEvent *events[], const struct kfd_event_data *data,
				   uint32_t count)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;

	for (uint32_t i = 0; i < count; i++) {
		HsaEventData *ev = &events[i]->EventData;
		HSAKMT_STATUS one = HSAKMT_STATUS_SUCCESS;

		if (ev->EventType == HSA_EVENTTYPE_MEMORY &&
		    data[i].memory_exception_data.gpu_id)
			one = copy_fault(&ev->EventData.MemoryAccessFault,
					 &data[i].memory_exception_data);
		else if (ev->EventType == HSA_EVENTTYPE_HW_EXCEPTION &&
			 data[i].hw_exception_data.gpu_id)
			one = copy_exception(&ev->EventData.HwException,
					     &data[i].hw_exception_data);
		if (one != HSAKMT_STATUS_SUCCESS)
			status = one;
	}
	return status;
}

/*
 * hsaKmtWaitOnMultipleEvents_Ext - wait for any or all of several events
 *
 * @Milliseconds: 0 polls, 0xffffffff waits for ever. @event_age: NULL, or for
 * each event the last age seen (0: do not track); the kernel returns at once when
 * an age has moved on, and the current ages come back. Needs interface 1.14 for
 * ages to have meaning. SUCCESS, WAIT_TIMEOUT, or ERROR, also for an event that is
 * destroyed meanwhile. Holds no lock while it sleeps.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(HsaEvent *Events[], HSAuint32 NumEvents,
							   bool WaitOnAll, HSAuint32 Milliseconds,
							   uint64_t *event_age)
{
	struct kfd_ioctl_wait_events_args args = { 0 };
	struct kfd_event_data *data;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!Events)
		return HSAKMT_STATUS_INVALID_HANDLE;
	for (HSAuint32 i = 0; i < NumEvents; i++)
		if (!Events[i])
			return HSAKMT_STATUS_INVALID_HANDLE;
	data = calloc((size_t)NumEvents + 1, sizeof(*data));
	if (!data)
		return HSAKMT_STATUS_NO_MEMORY;
	for (HSAuint32 i = 0; i < NumEvents; i++) {
		data[i].event_id = Events[i]->EventId;
		if (event_age && Events[i]->EventData.EventType == HSA_EVENTTYPE_SIGNAL)
			data[i].signal_event_data.last_event_age = event_age[i];
	}
	args.events_ptr = hsakmt_addr(data);
	args.num_events = NumEvents;
	args.wait_for_all = WaitOnAll;
	args.timeout = Milliseconds;

	if (hsakmt_ioctl(AMDKFD_IOC_WAIT_EVENTS, &args))
		status = HSAKMT_STATUS_ERROR;
	else if (args.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT)
		status = HSAKMT_STATUS_WAIT_TIMEOUT;
	else if (args.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE)
		status = HSAKMT_STATUS_WAIT_FAILURE;
	else
		status = copy_payloads(Events, data, NumEvents);

	for (HSAuint32 i = 0; event_age && i < NumEvents; i++)
		if (Events[i]->EventData.EventType == HSA_EVENTTYPE_SIGNAL)
			event_age[i] = data[i].signal_event_data.last_event_age;
	free(data);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *Events[], HSAuint32 NumEvents,
						       bool WaitOnAll, HSAuint32 Milliseconds)
{
	return hsaKmtWaitOnMultipleEvents_Ext(Events, NumEvents, WaitOnAll, Milliseconds, NULL);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *Event, HSAuint32 Milliseconds,
						  uint64_t *event_age)
{
	if (!Event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	return hsaKmtWaitOnMultipleEvents_Ext(&Event, 1, true, Milliseconds, event_age);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *Event, HSAuint32 Milliseconds)
{
	return hsaKmtWaitOnEvent_Ext(Event, Milliseconds, NULL);
}

/* hsaKmtOpenSMI - descriptor with the system management events of a GPU */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtOpenSMI(HSAuint32 NodeId, int *fd)
{
	struct kfd_ioctl_smi_events_args args = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!fd)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &args.gpuid);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = hsakmt_call(AMDKFD_IOC_SMI_EVENTS, &args);
	if (status == HSAKMT_STATUS_SUCCESS)
		*fd = (int)args.anon_fd;
	return status;
}
