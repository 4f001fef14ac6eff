// SPDX-License-Identifier: MIT
/* Queues: what is allocated, in which order, sizes, doorbells, failures. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kfd_extra.h"
#include "thunk_fake.h"

#define NR_ALLOC FAKE_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU)
#define NR_CREATE 0x02

static char ring[4096] __attribute__((aligned(4096)));

static HSAKMT_STATUS make(HSA_QUEUE_TYPE type, HsaQueueResource *res)
{
	memset(res, 0, sizeof(*res));
	return hsaKmtCreateQueue(FAKE_GPU_NODE, type, 100, HSA_QUEUE_PRIORITY_NORMAL, ring,
				 sizeof(ring), NULL, res);
}

static void order_of_calls(void)
{
	static const uint32_t common = (uint32_t)(KFD_MEM_WRITABLE |
						  KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
						  KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE);
	HsaQueueResource res, second;
	char order[256];
	int from, i;

	fake_open();
	from = fake.calls;
	tap_is(make(HSA_QUEUE_COMPUTE, &res), HSAKMT_STATUS_SUCCESS, "compute queue");
	fake_order(order, sizeof(order), from);
	tap_ok(!strcmp(order, "16 mmap 18 16 mmap 18 16 18 02 16 mmap 18"),
	       "page, end-of-pipe, save area, CREATE, doorbells (%s)", order);

	i = fake_find(NR_ALLOC, from);
	tap_is((int64_t)fake.log[i].arg, common | KFD_IOC_ALLOC_MEM_FLAGS_GTT |
	       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED, "queue page flags");
	tap_is((int64_t)fake.log[i].len, 4096, "queue page size");
	i = fake_find(NR_ALLOC, i + 1);
	tap_is((int64_t)fake.log[i].arg, common | KFD_IOC_ALLOC_MEM_FLAGS_VRAM, "end-of-pipe flags");
	tap_is((int64_t)fake.log[i].len, 4096, "end-of-pipe size");
	i = fake_find(NR_ALLOC, i + 1);
	tap_is((int64_t)fake.log[i].arg, common | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR |
	       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT, "save area flags");
	/* 4 CUs, 160 waves: stack 40 + 8 * 160 + 8, state 4 * 0x55000, debug 32 * 160 */
	tap_is((int64_t)fake.log[i].len, 0x1000 + 0x154000 + 0x2000, "save area size");
	tap_is(fake.last_queue.ctl_stack_size, 0x1000, "control stack size");
	tap_is(fake.last_queue.ctx_save_restore_size, 0x1000 + 0x154000, "save size without debug part");
	tap_is((int64_t)fake.last_queue.eop_buffer_size, 4096, "end-of-pipe size in CREATE");

	i = fake_find(NR_CREATE, from);
	tap_is(fake.log[i].size, 88, "CREATE_QUEUE as the stock library sends it");
	tap_is(fake.last_queue.queue_type, KFD_IOC_QUEUE_TYPE_COMPUTE, "type");
	tap_is(fake.last_queue.queue_priority, 7, "priority");
	tap_is((int64_t)fake.last_queue.write_pointer_address, (int64_t)res.QueueWptrValue, "wptr");
	tap_is((int64_t)fake.last_queue.read_pointer_address, (int64_t)res.QueueRptrValue, "rptr");

	from = fake.calls;
	tap_is(make(HSA_QUEUE_SDMA, &second), HSAKMT_STATUS_SUCCESS, "SDMA queue");
	fake_order(order, sizeof(order), from);
	tap_ok(!strcmp(order, "16 mmap 18 02"), "page and CREATE only (%s)", order);
	tap_is((int64_t)(second.QueueDoorBell - res.QueueDoorBell), 8, "one doorbell mapping for both");
	hsaKmtDestroyQueue(second.QueueId);
	hsaKmtDestroyQueue(res.QueueId);
}

/* The first queue's offset: high bits for mmap, low bits within the slice. */
static void doorbell_base(void)
{
	const uint64_t base = 3ull << 62 | (uint64_t)FAKE_GPU_ID << 46 | 0x0000123456780000ull;
	HsaQueueResource res;
	int from, i;

	fake_open();
	fake.doorbell_offset = base + 0x1008;
	from = fake.calls;
	tap_is(make(HSA_QUEUE_SDMA, &res), HSAKMT_STATUS_SUCCESS, "first queue of the process");
	i = fake_find(FAKE_MMAP, fake_find(NR_CREATE, from));
	tap_is((int64_t)fake.log[i].arg, (int64_t)base, "mmap of the slice's start");
	tap_is((int64_t)fake.log[i].len, 8192, "of the whole slice");
	tap_is(fake.log[i].size, 1, "through /dev/kfd");
	tap_is((int64_t)(res.QueueDoorBell & 8191), 0x1008, "the doorbell is where the kernel said");
	*res.Queue_DoorBell_aql = 1;	/* and can be written */
	hsaKmtDestroyQueue(res.QueueId);

	tap_is(make(HSA_QUEUE_SDMA, &res), HSAKMT_STATUS_SUCCESS, "after all queues are gone");
	tap_is(fake_count(FAKE_MMAP, fake_find(NR_CREATE, i)), 0, "the mapping is still used");
	hsaKmtDestroyQueue(res.QueueId);
}

static void doorbell_fallback(void)
{
	HsaQueueResource res;
	int bos, from;

	fake_open();
	bos = fake.live_bos;
	from = fake.calls;
	fake_fail(NR_ALLOC, 2, EINVAL);	/* page, then the doorbell object */
	tap_is(make(HSA_QUEUE_SDMA, &res), HSAKMT_STATUS_SUCCESS, "no doorbells in GPU address space");
	tap_ok(fake_count(FAKE_MMAP, fake_find(NR_CREATE, from)) == 1 && res.QueueDoorBell,
	       "a plain mapping serves");
	*res.Queue_DoorBell_aql = 1;
	hsaKmtDestroyQueue(res.QueueId);
	tap_is(fake.live_bos, bos, "nothing left");
}

static void failures(void)
{
	static const struct {
		int nr, nth;
		HSAKMT_STATUS status;
		const char *what;
	} step[] = {
		{ NR_ALLOC, 1, HSAKMT_STATUS_NO_MEMORY, "queue page" },
		{ NR_ALLOC, 2, HSAKMT_STATUS_NO_MEMORY, "end-of-pipe buffer" },
		{ NR_ALLOC, 3, HSAKMT_STATUS_NO_MEMORY, "save area" },
		{ FAKE_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU), 2, HSAKMT_STATUS_NO_MEMORY, "mapping" },
		{ NR_CREATE, 1, HSAKMT_STATUS_ERROR, "CREATE_QUEUE" },
	};
	HsaQueueResource res;
	int bos, mapped;

	fake_open();
	bos = fake.live_bos;
	mapped = fake.mapped_bos;
	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		fake_fail(step[i].nr, step[i].nth, ENOMEM);
		tap_is(make(HSA_QUEUE_COMPUTE, &res), step[i].status, "%s fails", step[i].what);
		tap_ok(fake.live_bos == bos && fake.mapped_bos == mapped && !fake.live_queues,
		       "and leaves nothing");
	}
	/* Both ways to the doorbells fail: the queue has to go again. */
	fake.fail_nr = FAKE_MMAP;
	fake.fail_after = 3;
	fake.fail_errno = ENOMEM;
	fake.fail_forever = false;
	tap_is(make(HSA_QUEUE_COMPUTE, &res), HSAKMT_STATUS_SUCCESS, "first doorbell mmap fails: fallback");
	hsaKmtDestroyQueue(res.QueueId);
	tap_is(fake.live_bos, bos, "destroy frees page, end-of-pipe buffer and save area");
	tap_is(fake.mapped_bos, mapped, "unmapped");
	tap_is(fake.live_queues, 0, "no queue left");
}

static void arguments(void)
{
	HsaQueueResource res;
	HsaQueueInfo info;
	uint32_t mask[2] = { 5, 6 };
	int from;

	fake_open();
	from = fake.calls;
	tap_is(make(HSA_QUEUE_MULTIMEDIA_DECODE, &res), HSAKMT_STATUS_INVALID_PARAMETER, "bad type");
	tap_is(hsaKmtCreateQueue(FAKE_GPU_NODE, HSA_QUEUE_COMPUTE, 100, 4, ring, 4096, NULL, &res),
	       HSAKMT_STATUS_INVALID_PARAMETER, "bad priority");
	tap_is(hsaKmtCreateQueue(9, HSA_QUEUE_COMPUTE, 100, 0, ring, 4096, NULL, &res),
	       HSAKMT_STATUS_INVALID_NODE_UNIT, "bad node");
	tap_is(hsaKmtUpdateQueue(0, 100, 0, ring, 4096, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "update 0");
	tap_is(hsaKmtDestroyQueue(12345), HSAKMT_STATUS_INVALID_PARAMETER, "destroy of no queue");
	tap_is(fake.calls, from, "the kernel is not asked");

	make(HSA_QUEUE_COMPUTE, &res);
	tap_is(hsaKmtUpdateQueue(res.QueueId, 50, HSA_QUEUE_PRIORITY_MAXIMUM, NULL, 0, NULL),
	       HSAKMT_STATUS_SUCCESS, "update");
	tap_ok(!fake.last_update.ring_base_address && fake.last_update.queue_percentage == 50 &&
	       fake.last_update.queue_priority == 15, "values are passed on");
	tap_is(hsaKmtSetQueueCUMask(res.QueueId, 33, mask), HSAKMT_STATUS_INVALID_PARAMETER,
	       "mask of 33 bits");
	tap_is(hsaKmtSetQueueCUMask(res.QueueId, 64, mask), HSAKMT_STATUS_SUCCESS, "mask of 64 bits");
	tap_is(hsaKmtGetQueueInfo(res.QueueId, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "info into NULL");
	tap_is(hsaKmtGetQueueInfo(res.QueueId, &info), HSAKMT_STATUS_ERROR, "no wave state here");
	fake_fail(FAKE_NR(AMDKFD_IOC_DESTROY_QUEUE), 1, ETIME);
	tap_is(hsaKmtDestroyQueue(res.QueueId), HSAKMT_STATUS_ERROR, "a queue that cannot be stopped");
	tap_is(hsaKmtDestroyQueue(res.QueueId), HSAKMT_STATUS_SUCCESS, "can be destroyed later");
	tap_is(hsaKmtDestroyQueue(res.QueueId), HSAKMT_STATUS_INVALID_PARAMETER, "but once only");
}

static void aql(void)
{
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };
	HsaQueueResource res = { 0 };
	volatile HSAint64 reason = 0;
	HsaUserContextSaveAreaHeader *hdr;
	uint64_t ptrs[2];
	HsaEvent *ev;

	fake_open();
	hsaKmtCreateEvent(&desc, false, false, &ev);
	res.Queue_write_ptr_aql = &ptrs[0];
	res.Queue_read_ptr_aql = &ptrs[1];
	res.ErrorReason = &reason;
	tap_is(hsaKmtCreateQueue(FAKE_GPU_NODE, HSA_QUEUE_COMPUTE_AQL, 100, 0, ring, 4096, ev, &res),
	       HSAKMT_STATUS_SUCCESS, "AQL queue");
	tap_ok(fake.last_queue.write_pointer_address == (uintptr_t)&ptrs[0] &&
	       fake.last_queue.read_pointer_address == (uintptr_t)&ptrs[1], "with the caller's pointers");
	tap_is(fake.last_queue.queue_type, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, "type");
	hdr = (void *)(uintptr_t)fake.last_queue.ctx_save_restore_address;
	tap_is(hdr->ErrorEventId, ev->EventId, "the save area names the event");
	tap_ok(hdr->ErrorReason == &reason, "and where the reason goes");
	tap_is(hdr->DebugOffset, fake.last_queue.ctx_save_restore_size, "debug part behind the rest");
	tap_is(hdr->DebugSize, 160 * 32, "debug size");
	hsaKmtDestroyQueue(res.QueueId);
	hsaKmtDestroyEvent(ev);
}

static void cwsr_by_svm(void)
{
	HsaQueueResource res;
	int from;

	fake.svm = true;
	fake_open();
	from = fake.calls;
	tap_is(make(HSA_QUEUE_COMPUTE, &res), HSAKMT_STATUS_SUCCESS, "queue on a GPU with SVM");
	tap_is(fake_count(0x20, from), 1, "the save area is an SVM range");
	tap_is((int64_t)(fake.last_queue.ctx_save_restore_address & ((2 << 20) - 1)), 0, "at 2 MiB");
	hsaKmtDestroyQueue(res.QueueId);
	fake_fail(0x20, 1, EINVAL);
	tap_is(make(HSA_QUEUE_COMPUTE, &res), HSAKMT_STATUS_SUCCESS, "or, when that fails, a buffer");
	hsaKmtDestroyQueue(res.QueueId);
}

static void release(void)
{
	HsaQueueResource res;
	HsaSystemProperties sys;
	int from;

	fake_open();
	make(HSA_QUEUE_SDMA, &res);
	hsaKmtDestroyQueue(res.QueueId);
	tap_is(fake.live_bos, 2, "MMIO page and doorbells are alive");
	hsaKmtReleaseSystemProperties();
	tap_is(fake.live_bos, 0, "release frees both");
	from = fake.calls;
	tap_is(hsaKmtAcquireSystemProperties(&sys), HSAKMT_STATUS_SUCCESS, "acquire again");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_ACQUIRE_VM), from), 1, "with ACQUIRE_VM again");
	tap_is(make(HSA_QUEUE_SDMA, &res), HSAKMT_STATUS_SUCCESS, "and a queue");
	hsaKmtDestroyQueue(res.QueueId);
}

int main(void)
{
	tap_begin(120);
	fake_scenario("order of calls", order_of_calls);
	fake_scenario("doorbell of the first queue", doorbell_base);
	fake_scenario("doorbells without GPU mapping", doorbell_fallback);
	fake_scenario("failures", failures);
	fake_scenario("arguments", arguments);
	fake_scenario("AQL", aql);
	fake_scenario("save area by SVM", cwsr_by_svm);
	fake_scenario("release and acquire", release);
	return tap_done();
}
