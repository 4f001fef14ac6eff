/* SPDX-License-Identifier: MIT */
/* An AQL queue as a runtime sets it up: ring, amd_queue_t and signals in VRAM. */
#ifndef VKFD_UNIT_AQL_COMMON_H
#define VKFD_UNIT_AQL_COMMON_H

#include "harness.h"

#include <vkfd/aql.h>

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define BAD_VA          0x700000000ull          /* not mapped */
#define LO(va)          ((uint32_t)(va))
#define HI(va)          ((uint32_t)((uint64_t)(va) >> 32))
#define AQ(n)           (0x620000u + (n) * 0x400u)
#define SIG(i)          (0x630000u + (i) * 64u)
#define SIG_VA(i)       (VA0 + SIG(i))
#define MBOX(i)         (0x640000u + (i) * 8u)
#define SLOTS           64u                     /* RING_DW / 16 */
#define H_AND           (AQL_PACKET_BARRIER_AND | 0x1500u)
#define H_OR            (AQL_PACKET_BARRIER_OR | 0x1500u)

/* log2 of the dwords of the ring, less one; at least 3. */
static unsigned aql_size = 9;

static inline uint64_t aql_slot(Bus *b, unsigned q, uint64_t id)
{
    (void)b;
    return RING(q) + (id & ((2ull << aql_size) / 16 - 1)) * 64;
}

static inline void aql_load(Bus *b, unsigned q)
{
    uint64_t ring = VA0 + RING(q), rptr = VA0 + AQ(q) + AMD_QUEUE_READ_DISPATCH_ID;
    uint64_t poll = VA0 + AQ(q) + AMD_QUEUE_WRITE_DISPATCH_ID;
    uint64_t mqd = VKFD_FB_LOCATION_BASE + MQD_ADDR(q);

    set_vram32(b, AQ(q) + AMD_QUEUE_READ_ID_OFFSET, AMD_QUEUE_READ_DISPATCH_ID);
    select_hqd(b, q);
    wr(b, mmCP_MQD_BASE_ADDR, mqd);
    wr(b, mmCP_MQD_BASE_ADDR_HI, mqd >> 32);
    wr(b, mmCP_HQD_VMID, TEST_VMID);
    wr(b, mmCP_HQD_PQ_BASE, ring >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, ring >> 40);
    wr(b, mmCP_HQD_PQ_RPTR, (vram64(b, AQ(q) + 0x80) * 16) & ((2u << aql_size) - 1));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, rptr);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, rptr >> 32);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, poll);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, poll >> 32);
    wr(b, mmCP_HQD_PQ_CONTROL, aql_size | 2u << 25 | 1u << 27);
    wr(b, mmCP_HQD_IB_CONTROL, 0x00300000);
    wr(b, mmCP_HQD_AQL_CONTROL, 1);
    wr(b, mmCP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_DW(q) << 2 |
       CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
    wr(b, mmCP_HQD_ACTIVE, 1);
}

/* Take an id, leave the slot as it is. */
static inline uint64_t aql_claim(Bus *b, unsigned q)
{
    uint64_t id = vram64(b, AQ(q) + AMD_QUEUE_WRITE_DISPATCH_ID);

    set_vram64(b, AQ(q) + AMD_QUEUE_WRITE_DISPATCH_ID, id + 1);
    return id;
}

/* Fill a slot, the header last. */
static inline void aql_fill(Bus *b, unsigned q, uint64_t id, const uint32_t p[16])
{
    unsigned i;

    for (i = 16; i-- > 0; ) {
        set_vram32(b, aql_slot(b, q, id) + 4 * i, p[i]);
    }
}

static inline uint64_t aql_emit(Bus *b, unsigned q, const uint32_t p[16])
{
    uint64_t id = aql_claim(b, q);

    aql_fill(b, q, id, p);
    return id;
}

static inline void aql_ring(Bus *b, unsigned q)
{
    uint64_t id = vram64(b, AQ(q) + AMD_QUEUE_WRITE_DISPATCH_ID) - 1;

    vkfd_doorbell_write(b->e, DOORBELL_DW(q) * 4, id, 8);
}

static inline void aql_go(Bus *b, unsigned q)
{
    aql_ring(b, q);
    bus_run(b);
}

static inline uint64_t aql_read_id(Bus *b, unsigned q)
{
    return vram64(b, AQ(q) + AMD_QUEUE_READ_DISPATCH_ID);
}

static inline void set_signal(Bus *b, unsigned i, int64_t value)
{
    set_vram64(b, SIG(i) + AMD_SIGNAL_VALUE, value);
}

static inline int64_t signal_value(Bus *b, unsigned i)
{
    return vram64(b, SIG(i) + AMD_SIGNAL_VALUE);
}

/* A signal somebody sleeps on. */
static inline void set_mailbox(Bus *b, unsigned i, uint32_t event)
{
    set_vram64(b, SIG(i) + AMD_SIGNAL_MAILBOX_PTR, VA0 + MBOX(i));
    set_vram32(b, SIG(i) + AMD_SIGNAL_EVENT_ID, event);
}

/* A barrier on signals a and b (0: none) that completes c. */
static inline void aql_barrier(uint32_t p[16], uint32_t header, unsigned a,
                               unsigned b, unsigned c)
{
    unsigned i;

    for (i = 0; i < 16; i++) {
        p[i] = 0;
    }
    p[0] = header;
    if (a) {
        p[2] = LO(SIG_VA(a));
        p[3] = HI(SIG_VA(a));
    }
    if (b) {
        p[10] = LO(SIG_VA(b));
        p[11] = HI(SIG_VA(b));
    }
    if (c) {
        p[14] = LO(SIG_VA(c));
        p[15] = HI(SIG_VA(c));
    }
}

static inline void aql_pm4_ib(uint32_t p[16], uint64_t va, uint32_t dw, unsigned c)
{
    aql_barrier(p, AQL_PACKET_VENDOR | AQL_VENDOR_PM4_IB << 16, 0, 0, c);
    pkt_ib(p + 1, va, dw, false);
    p[5] = AQL_VENDOR_PM4_IB_REMAIN;
}

static inline void aql_dispatch(uint32_t p[16], uint32_t x, uint32_t y, uint32_t z,
                                unsigned c)
{
    aql_barrier(p, AQL_PACKET_KERNEL_DISPATCH | 3 << 16, 0, 0, c);
    p[1] = 64 | 2 << 16;
    p[2] = 1;
    p[3] = x;
    p[4] = y;
    p[5] = z;
    p[8] = 0x1000;
}

static inline Bus *aql_start(void)
{
    Bus *b = bus_new();
    unsigned i;

    aql_size = 9;
    vm_setup(b);
    ih_setup(b, 10, 0);
    for (i = 0; i < SLOTS; i++) {
        set_vram32(b, RING(0) + i * 64, AQL_PACKET_INVALID);
    }
    aql_load(b, 0);
    bus_run(b);
    b->nlog = 0;
    b->irqs = 0;
    return b;
}

#endif /* VKFD_UNIT_AQL_COMMON_H */
