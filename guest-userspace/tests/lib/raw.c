// SPDX-License-Identifier: MIT
#include <string.h>
#include <sys/mman.h>

#include "aql.h"
#include "pm4.h"
#include "raw.h"
#include "sdma.h"
#include "tap.h"

#define PAGE		4096u
#define PER_QUEUE	(PAGE + RAW_RING_BYTES)
#define SLICE		0x2000u
/* In the first page of a queue. */
#define WPTR_AT		0u
#define RPTR_AT		8u
#define WORD_AT		16u
#define DESC_AT		256u
#define IB_AT		1024u
#define IB_BYTES	32u

#define SDMA_WRITE32_DW	(SDMA_PKT_WRITE_DW + 1)
#define AQL_PACKETS	(RAW_RING_BYTES / AQL_PACKET_SIZE)

_Static_assert(IB_AT + AQL_PACKETS * IB_BYTES <= PAGE, "an IB for each packet");
_Static_assert(PM4_WRITE64_DW * 4 <= IB_BYTES, "of this size");

void raw_open(struct raw_proc *r, unsigned int queues)
{
	raw_open_nth(r, queues, 0);
}

void raw_open_nth(struct raw_proc *r, unsigned int queues, unsigned int which)
{
	uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	size_t size = (size_t)queues * PER_QUEUE;
	uint64_t handle, offset;

	memset(r, 0, sizeof(*r));
	r->max = queues;
	kfd_proc_open_nth(&r->p, which);
	r->mem = kfd_reserve_va(size);
	if (kfd_alloc(&r->p, gpu_va(r->mem), size, flags, &handle, &offset) ||
	    mmap(r->mem, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->p.render,
		 (off_t)offset) == MAP_FAILED || kfd_map(&r->p, handle))
		tap_bail("no memory for %u queues", queues);
}

void raw_close(struct raw_proc *r)
{
	kfd_proc_close(&r->p);
}

static void init_aql(struct raw_queue *q, char *head)
{
	struct aql_descriptor *desc = (struct aql_descriptor *)(head + DESC_AT);
	struct aql_signal *error = (struct aql_signal *)(desc + 1);
	struct aql_packet *ring = (struct aql_packet *)q->ring;
	unsigned int i;

	for (i = 0; i < AQL_PACKETS; i++)
		ring[i].head = AQL_PACKET_INVALID;
	aql_signal_init(error, 0, NULL, 0);
	desc->read_id_offset = offsetof(struct aql_descriptor, read_id);
	desc->inactive_signal = aql_handle(error);
	q->wptr = &desc->write_id;
	q->rptr = &desc->read_id;
}

int raw_queue_create(struct raw_queue *q, struct raw_proc *r, uint32_t type)
{
	char *head = r->mem + (size_t)r->n * PER_QUEUE;
	struct kfd_ioctl_create_queue_args c = {
		.ring_base_address = gpu_va(head + PAGE),
		.ring_size = RAW_RING_BYTES,
		.gpu_id = r->p.gpu_id,
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	uint64_t at;
	int err;

	if (r->n == r->max)
		tap_bail("no memory for one more queue");
	*q = (struct raw_queue) {
		.r = r,
		.type = type,
		.ring = (uint32_t *)(head + PAGE),
		.wptr = (volatile uint64_t *)(head + WPTR_AT),
		.rptr = (volatile uint64_t *)(head + RPTR_AT),
		.word = (volatile uint64_t *)(head + WORD_AT),
	};
	if (type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
		init_aql(q, head);
	/* A queue before this one may have had the memory; the new one looks as soon as it is on. */
	*q->wptr = 0;
	*q->rptr = 0;
	c.write_pointer_address = gpu_va(q->wptr);
	c.read_pointer_address = gpu_va(q->rptr);
	err = kfd_call(r->p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c);
	if (err)
		return err;
	at = c.doorbell_offset % SLICE;
	if (!r->doorbell) {
		void *map = mmap(NULL, SLICE, PROT_READ | PROT_WRITE, MAP_SHARED, r->p.kfd,
				 (off_t)(c.doorbell_offset - at));

		if (map == MAP_FAILED)
			tap_bail("doorbells: %m");
		r->doorbell = map;
	}
	q->id = c.queue_id;
	q->slot = (uint32_t)(at / 8);
	r->n++;
	return 0;
}

int raw_queue_destroy(struct raw_queue *q)
{
	struct kfd_ioctl_destroy_queue_args d = { .queue_id = q->id };

	return kfd_call(q->r->p.kfd, AMDKFD_IOC_DESTROY_QUEUE, &d);
}

/* Room for @dw dwords in a row; the end of the ring is filled up if they would wrap. */
static uint32_t *room(struct raw_queue *q, unsigned int dw)
{
	bool sdma = q->type == KFD_IOC_QUEUE_TYPE_SDMA;
	uint64_t next = sdma ? q->next / 4 : q->next;
	unsigned int at = next % (RAW_RING_BYTES / 4);
	uint32_t *p = q->ring + at;

	for (; at + dw > RAW_RING_BYTES / 4 && at < RAW_RING_BYTES / 4; at++, next++)
		p = sdma ? sdma_nop(p, 0) : pm4_nop1(p);
	if (at == RAW_RING_BYTES / 4)
		p = q->ring;
	q->next = sdma ? next * 4 : next;
	return p;
}

void raw_put_write(struct raw_queue *q, volatile uint64_t *at, uint64_t value)
{
	struct aql_packet *packet;
	uint32_t *p, *ib;

	switch (q->type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
		packet = (struct aql_packet *)q->ring + q->next % AQL_PACKETS;
		ib = (uint32_t *)((char *)q->ring - PAGE + IB_AT +
				  q->next % AQL_PACKETS * IB_BYTES);
		pm4_write64(ib, gpu_va(at), value);
		aql_pm4_ib(packet, gpu_va(ib), PM4_WRITE64_DW, NULL);
		q->next++;
		break;
	case KFD_IOC_QUEUE_TYPE_SDMA:
		p = room(q, SDMA_WRITE32_DW);
		q->next += (uint64_t)(sdma_write32(p, gpu_va(at), (uint32_t)value) - p) * 4;
		break;
	default:
		p = room(q, PM4_WRITE64_DW);
		q->next += (uint64_t)(pm4_write64(p, gpu_va(at), value) - p);
		break;
	}
}

void raw_put_gate(struct raw_queue *q, volatile uint64_t *at, uint32_t value)
{
	uint32_t *p = room(q, PM4_WAIT_MEM_DW);

	q->next += (uint64_t)(pm4_wait_mem(p, gpu_va(at), WAIT_REG_MEM_EQ, value, ~0u) - p);
}

void raw_put_copy(struct raw_queue *q, volatile void *dst, const volatile void *src,
		  uint32_t bytes)
{
	uint32_t *p = room(q, SDMA_PKT_COPY_LINEAR_DW);

	q->next += (uint64_t)(sdma_copy(p, gpu_va(dst), gpu_va(src), bytes) - p) * 4;
}

void raw_put_copy_va(struct raw_queue *q, uint64_t dst, uint64_t src, uint32_t bytes)
{
	uint32_t *p = room(q, SDMA_PKT_COPY_LINEAR_DW);

	q->next += (uint64_t)(sdma_copy(p, dst, src, bytes) - p) * 4;
}

void raw_put_fill(struct raw_queue *q, uint64_t dst, uint32_t value, uint32_t bytes)
{
	uint32_t *p = room(q, SDMA_PKT_CONST_FILL_DW);

	q->next += (uint64_t)(sdma_fill(p, dst, value, bytes) - p) * 4;
}

void raw_publish(struct raw_queue *q)
{
	__atomic_store_n(q->wptr, q->next, __ATOMIC_RELEASE);
}

void raw_submit(struct raw_queue *q)
{
	raw_publish(q);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	q->r->doorbell[q->slot] = q->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL ? q->next - 1 : q->next;
}
