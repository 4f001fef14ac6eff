/* SPDX-License-Identifier: MIT */
/*
 * AQL packets, and the structures a runtime keeps for the command processor:
 * signals and the queue's descriptor (HSA and ROCr's amd_hsa_*.h). Values and offsets:
 * vkfd/aql.h.
 */
#ifndef VKFD_TEST_AQL_H
#define VKFD_TEST_AQL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <vkfd/aql.h>

#include "pm4.h"

/* Acquire and release fences of system scope, in a header. */
#define AQL_FENCES		(2u << 9 | 2u << 11)

/**
 * struct aql_packet - any of them; only barriers and PM4-IB are used here
 * @head: header in the lower half
 * @body: dwords 1..13
 * @completion: handle of a signal, 0 for none
 */
struct aql_packet {
	uint32_t head;
	uint32_t body[13];
	uint64_t completion;
};

/**
 * struct aql_signal - amd_signal_t; its address is its handle
 * @mailbox: where @event_id is written when it becomes signalled, 0 for no interrupt
 */
struct aql_signal {
	int64_t kind;
	volatile int64_t value;
	uint64_t mailbox;
	uint32_t event_id;
	uint32_t reserved1;
	uint64_t start_ts;
	uint64_t end_ts;
	uint64_t reserved2[2];
} __attribute__((aligned(64)));

/* struct aql_descriptor - amd_queue_t, as far as the command processor looks at it */
struct aql_descriptor {
	uint32_t reserved1[14];
	volatile uint64_t write_id;		/* 0x38 */
	uint32_t aperture[2];
	uint32_t max_cu_id;
	uint32_t max_wave_id;
	uint64_t dispatch_id_base[2];
	uint32_t reserved2[8];
	volatile uint64_t read_id;		/* 0x80 */
	uint32_t read_id_offset;		/* of read_id in this structure */
	uint32_t compute_tmpring_size;
	uint32_t scratch[9];
	uint32_t properties;			/* 0xb4 */
	uint32_t reserved3[2];
	uint64_t inactive_signal;		/* 0xc0 */
	uint32_t reserved4[14];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct aql_packet) == AQL_PACKET_SIZE, "packet");
_Static_assert(offsetof(struct aql_packet, completion) == AQL_COMPLETION_DW * 4, "completion");
_Static_assert(sizeof(struct aql_signal) == 64, "signal");
_Static_assert(offsetof(struct aql_signal, value) == AMD_SIGNAL_VALUE, "value");
_Static_assert(offsetof(struct aql_signal, mailbox) == AMD_SIGNAL_MAILBOX_PTR, "mailbox");
_Static_assert(offsetof(struct aql_signal, event_id) == AMD_SIGNAL_EVENT_ID, "event_id");
_Static_assert(offsetof(struct aql_descriptor, write_id) == AMD_QUEUE_WRITE_DISPATCH_ID, "write_id");
_Static_assert(offsetof(struct aql_descriptor, read_id) == AMD_QUEUE_READ_DISPATCH_ID, "read_id");
_Static_assert(offsetof(struct aql_descriptor, read_id_offset) == AMD_QUEUE_READ_ID_OFFSET,
	       "read_id_offset");
_Static_assert(offsetof(struct aql_descriptor, properties) == AMD_QUEUE_PROPERTIES, "properties");
_Static_assert(offsetof(struct aql_descriptor, inactive_signal) == AMD_QUEUE_INACTIVE_SIGNAL,
	       "inactive_signal");

/* A signal of value @value; with @slot it also signals event @id when it is decremented. */
static inline void aql_signal_init(struct aql_signal *s, int64_t value, const volatile uint64_t *slot,
				   uint32_t id)
{
	memset(s, 0, sizeof(*s));
	s->kind = 1;
	s->value = value;
	s->mailbox = slot ? gpu_va(slot) : 0;
	s->event_id = slot ? id : 0;
}

static inline uint64_t aql_handle(const struct aql_signal *s)
{
	return s ? gpu_va(s) : 0;
}

/* Passes once all (@type AQL_PACKET_BARRIER_AND), or any, of @n <= AQL_BARRIER_DEPS signals are 0. */
static inline void aql_barrier(struct aql_packet *p, uint32_t type, struct aql_signal *const dep[],
			       unsigned int n, const struct aql_signal *done)
{
	memset(p->body, 0, sizeof(p->body));
	for (unsigned int i = 0; i < n; i++) {
		p->body[AQL_BARRIER_DEP_DW - 1 + 2 * i] = pm4_lo(aql_handle(dep[i]));
		p->body[AQL_BARRIER_DEP_DW + 2 * i] = pm4_hi(aql_handle(dep[i]));
	}
	p->completion = aql_handle(done);
	/* The header makes it valid: last. */
	__atomic_store_n(&p->head, type | AQL_HEADER__BARRIER | AQL_FENCES, __ATOMIC_RELEASE);
}

/* Runs the @dw dwords of PM4 at @ib. */
static inline void aql_pm4_ib(struct aql_packet *p, uint64_t ib, uint32_t dw,
			      const struct aql_signal *done)
{
	memset(p->body, 0, sizeof(p->body));
	pm4_ib(p->body, ib, dw);
	p->body[AQL_VENDOR_PM4_IB_REMAIN_DW - 1] = AQL_VENDOR_PM4_IB_REMAIN;
	p->completion = aql_handle(done);
	__atomic_store_n(&p->head, AQL_PACKET_VENDOR | AQL_HEADER__BARRIER | AQL_FENCES |
			 AQL_VENDOR_PM4_IB << AQL_VENDOR__FORMAT__SHIFT, __ATOMIC_RELEASE);
}

#endif /* VKFD_TEST_AQL_H */
