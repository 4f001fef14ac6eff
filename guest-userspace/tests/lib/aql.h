/* SPDX-License-Identifier: MIT */
/*
 * AQL packets, and the structures a runtime keeps for the command processor:
 * signals and the queue's descriptor (HSA and ROCr's amd_hsa_*.h).
 */
#ifndef VKFD_TEST_AQL_H
#define VKFD_TEST_AQL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pm4.h"

#define AQL_BYTES		64u

/* Header: type, barrier bit, acquire and release fences of system scope. */
#define AQL_TYPE_VENDOR		0u
#define AQL_TYPE_INVALID	1u
#define AQL_TYPE_BARRIER_AND	3u
#define AQL_TYPE_AGENT		4u
#define AQL_TYPE_BARRIER_OR	5u
#define AQL_BARRIER		(1u << 8)
#define AQL_FENCES		(2u << 9 | 2u << 11)
#define AQL_VENDOR_PM4		(1u << 16)

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

_Static_assert(sizeof(struct aql_packet) == AQL_BYTES, "packet");
_Static_assert(sizeof(struct aql_signal) == 64, "signal");
_Static_assert(offsetof(struct aql_descriptor, write_id) == 0x38, "write_id");
_Static_assert(offsetof(struct aql_descriptor, read_id) == 0x80, "read_id");
_Static_assert(offsetof(struct aql_descriptor, properties) == 0xb4, "properties");
_Static_assert(offsetof(struct aql_descriptor, inactive_signal) == 0xc0, "inactive_signal");

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

/* Passes once all (@type AQL_TYPE_BARRIER_AND), or any, of @n <= 5 signals are 0. */
static inline void aql_barrier(struct aql_packet *p, uint32_t type, struct aql_signal *const dep[],
			       unsigned int n, const struct aql_signal *done)
{
	memset(p->body, 0, sizeof(p->body));
	for (unsigned int i = 0; i < n; i++) {
		p->body[1 + 2 * i] = pm4_lo(aql_handle(dep[i]));
		p->body[2 + 2 * i] = pm4_hi(aql_handle(dep[i]));
	}
	p->completion = aql_handle(done);
	/* The header makes it valid: last. */
	__atomic_store_n(&p->head, type | AQL_BARRIER | AQL_FENCES, __ATOMIC_RELEASE);
}

/* Runs the @dw dwords of PM4 at @ib. */
static inline void aql_pm4_ib(struct aql_packet *p, uint64_t ib, uint32_t dw,
			      const struct aql_signal *done)
{
	memset(p->body, 0, sizeof(p->body));
	pm4_ib(p->body, ib, dw);
	p->body[PM4_IB_DW] = 0xa;
	p->completion = aql_handle(done);
	__atomic_store_n(&p->head, AQL_TYPE_VENDOR | AQL_BARRIER | AQL_FENCES | AQL_VENDOR_PM4,
			 __ATOMIC_RELEASE);
}

#endif /* VKFD_TEST_AQL_H */
