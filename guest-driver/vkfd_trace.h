/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the life of an event: /sys/kernel/tracing/events/vkfd. Processes and
 * queues by number, never by address.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vkfd

#if !defined(VKFD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VKFD_TRACE_H

#include <linux/tracepoint.h>

#include "vkfd_ih.h"

/* An entry is taken from the ring. @timestamp: GPU clock of when the device made it. */
TRACE_EVENT(ih_entry,
	TP_PROTO(u32 gpu_id, const struct vkfd_ih_entry *e),
	TP_ARGS(gpu_id, e),
	TP_STRUCT__entry(
		__field(u64, timestamp)
		__field(u32, gpu_id)
		__field(u32, pasid)
		__field(u32, ctx0)
		__field(u32, ctx1)
		__field(u8, client)
		__field(u8, source)
		__field(u8, ring)
		__field(u8, vmid)
	),
	TP_fast_assign(
		__entry->timestamp = e->timestamp;
		__entry->gpu_id = gpu_id;
		__entry->pasid = e->pasid;
		__entry->ctx0 = e->ctx[0];
		__entry->ctx1 = e->ctx[1];
		__entry->client = e->client_id;
		__entry->source = e->source_id;
		__entry->ring = e->ring_id;
		__entry->vmid = e->vmid;
	),
	TP_printk("gpu %u client 0x%02x source %u ring 0x%02x vmid %u pasid 0x%x ctx 0x%x 0x%x ts %llu",
		  __entry->gpu_id, __entry->client, __entry->source, __entry->ring, __entry->vmid,
		  __entry->pasid, __entry->ctx0, __entry->ctx1, __entry->timestamp)
);

/* An event is signalled, by whomever; @age: after it. */
TRACE_EVENT(event_signal,
	TP_PROTO(u32 id, u32 type, u64 age, bool woke),
	TP_ARGS(id, type, age, woke),
	TP_STRUCT__entry(
		__field(u64, age)
		__field(u32, id)
		__field(u32, type)
		__field(bool, woke)
	),
	TP_fast_assign(
		__entry->age = age;
		__entry->id = id;
		__entry->type = type;
		__entry->woke = woke;
	),
	TP_printk("id 0x%x type %u age %llu waiters %d", __entry->id, __entry->type, __entry->age,
		  __entry->woke)
);

/* A task that waits for the event is woken: its wait is decided. */
TRACE_EVENT(event_wake,
	TP_PROTO(u32 id, u32 tgid),
	TP_ARGS(id, tgid),
	TP_STRUCT__entry(
		__field(u32, id)
		__field(u32, tgid)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->tgid = tgid;
	),
	TP_printk("id 0x%x process %u", __entry->id, __entry->tgid)
);

TRACE_EVENT(event_wait_begin,
	TP_PROTO(u32 num, bool all, u32 ms),
	TP_ARGS(num, all, ms),
	TP_STRUCT__entry(
		__field(u32, num)
		__field(u32, ms)
		__field(bool, all)
	),
	TP_fast_assign(
		__entry->num = num;
		__entry->ms = ms;
		__entry->all = all;
	),
	TP_printk("%s of %u, %u ms", __entry->all ? "all" : "any", __entry->num, __entry->ms)
);

/* @result: KFD_IOC_WAIT_RESULT_*; counts if @err is 0. */
TRACE_EVENT(event_wait_end,
	TP_PROTO(u32 num, int err, u32 result),
	TP_ARGS(num, err, result),
	TP_STRUCT__entry(
		__field(u32, num)
		__field(int, err)
		__field(u32, result)
	),
	TP_fast_assign(
		__entry->num = num;
		__entry->err = err;
		__entry->result = result;
	),
	TP_printk("of %u: error %d result %u", __entry->num, __entry->err, __entry->result)
);

/* @pasid, @queue: as in ih_entry and in CREATE_QUEUE; @hqd: the hardware slot. */
DECLARE_EVENT_CLASS(queue,
	TP_PROTO(u32 pasid, u32 queue, u32 hqd),
	TP_ARGS(pasid, queue, hqd),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, queue)
		__field(u32, hqd)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->queue = queue;
		__entry->hqd = hqd;
	),
	TP_printk("pasid 0x%x queue %u slot %u", __entry->pasid, __entry->queue, __entry->hqd)
);
DEFINE_EVENT(queue, queue_create, TP_PROTO(u32 pasid, u32 queue, u32 hqd),
	     TP_ARGS(pasid, queue, hqd));
DEFINE_EVENT(queue, queue_destroy, TP_PROTO(u32 pasid, u32 queue, u32 hqd),
	     TP_ARGS(pasid, queue, hqd));
DEFINE_EVENT(queue, queue_load, TP_PROTO(u32 pasid, u32 queue, u32 hqd),
	     TP_ARGS(pasid, queue, hqd));
DEFINE_EVENT(queue, queue_unload, TP_PROTO(u32 pasid, u32 queue, u32 hqd),
	     TP_ARGS(pasid, queue, hqd));

/* A doorbell slice is taken from a process, which has work to do if @busy. */
TRACE_EVENT(slice_evict,
	TP_PROTO(u32 pasid, u32 slice, bool busy),
	TP_ARGS(pasid, slice, busy),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, slice)
		__field(bool, busy)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->slice = slice;
		__entry->busy = busy;
	),
	TP_printk("pasid 0x%x slice %u%s", __entry->pasid, __entry->slice,
		  __entry->busy ? " busy" : "")
);

/* It is given to one that had to wait for it. */
TRACE_EVENT(slice_grant,
	TP_PROTO(u32 pasid, u32 slice),
	TP_ARGS(pasid, slice),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, slice)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->slice = slice;
	),
	TP_printk("pasid 0x%x slice %u", __entry->pasid, __entry->slice)
);

/* Pages of registered memory go away; @event: enum mmu_notifier_event. */
TRACE_EVENT(userptr_invalidate,
	TP_PROTO(u32 pasid, u64 start, u64 end, u32 event),
	TP_ARGS(pasid, start, end, event),
	TP_STRUCT__entry(
		__field(u64, start)
		__field(u64, end)
		__field(u32, pasid)
		__field(u32, event)
	),
	TP_fast_assign(
		__entry->start = start;
		__entry->end = end;
		__entry->pasid = pasid;
		__entry->event = event;
	),
	TP_printk("pasid 0x%x 0x%llx..0x%llx event %u", __entry->pasid, __entry->start,
		  __entry->end, __entry->event)
);

/* The queues of a process go off a GPU as memory is away, or are put back; @gpu: its index. */
DECLARE_EVENT_CLASS(process,
	TP_PROTO(u32 pasid, u32 gpu),
	TP_ARGS(pasid, gpu),
	TP_STRUCT__entry(
		__field(u32, pasid)
		__field(u32, gpu)
	),
	TP_fast_assign(
		__entry->pasid = pasid;
		__entry->gpu = gpu;
	),
	TP_printk("pasid 0x%x gpu %u", __entry->pasid, __entry->gpu)
);
DEFINE_EVENT(process, process_evict, TP_PROTO(u32 pasid, u32 gpu), TP_ARGS(pasid, gpu));
DEFINE_EVENT(process, process_restore, TP_PROTO(u32 pasid, u32 gpu), TP_ARGS(pasid, gpu));

#endif /* VKFD_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vkfd_trace
#include <trace/define_trace.h>
