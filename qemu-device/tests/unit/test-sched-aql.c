/* SPDX-License-Identifier: MIT */
/*
 * AQL queues of a run list: more than slots, waiting on signals without one. Waits of
 * other widths.
 */
#include "sched-common.h"

#include <vkfd/aql.h>

#define AQ(n)           (0xf00000u + (n) * 0x400u)
#define SIG(i)          (0xf80000u + (i) * 64u)
#define H_AND           (AQL_PACKET_BARRIER_AND | 0x1500u)
#define QUEUES          12u

static List list;

static void aql_init(Bus *b, unsigned n)
{
    uint64_t rptr = VA0 + AQ(n) + AMD_QUEUE_READ_DISPATCH_ID;

    sq_init(b, n);
    memset(b->vram + AQ(n), 0, 0x400);
    set_vram32(b, AQ(n) + AMD_QUEUE_READ_ID_OFFSET, AMD_QUEUE_READ_DISPATCH_ID);
#define MQD(reg, v) set_vram32(b, SQ_MQD(n) + V9_MQD_DW_OF(mm##reg) * 4, v)
    MQD(CP_HQD_PQ_RPTR_REPORT_ADDR, rptr);
    MQD(CP_HQD_PQ_RPTR_REPORT_ADDR_HI, rptr >> 32);
    MQD(CP_HQD_PQ_CONTROL, 7 | 2u << 25 | 1u << 27);
    MQD(CP_HQD_AQL_CONTROL, 1);
#undef MQD
    list_queue(&list, n);
    list.dw[list.n - 2] = VA0 + AQ(n) + AMD_QUEUE_WRITE_DISPATCH_ID;
}

/* A barrier that waits for signal dep to be 0 (none if it is 0) and completes c. */
static void aql_barrier(Bus *b, unsigned n, unsigned dep, unsigned c)
{
    uint64_t id = vram64(b, AQ(n) + AMD_QUEUE_WRITE_DISPATCH_ID);
    uint32_t at = SQ_RING(n) + id % 16 * 64;

    memset(b->vram + at, 0, 64);
    set_vram64(b, at + AQL_BARRIER_DEP_DW * 4, dep ? VA0 + SIG(dep) : 0);
    set_vram64(b, at + AQL_COMPLETION_DW * 4, VA0 + SIG(c));
    set_vram32(b, at, H_AND);
    set_vram64(b, AQ(n) + AMD_QUEUE_WRITE_DISPATCH_ID, id + 1);
}

static void aql_ring(Bus *b, unsigned n)
{
    vkfd_doorbell_write(b->e, SQ_DOORBELL(n) * 4,
                        vram64(b, AQ(n) + AMD_QUEUE_WRITE_DISPATCH_ID) - 1, 8);
}

/*
 * What a wait of 4 bytes saw is not what the next one, of 8 bytes at the same address,
 * sees: a queue that has just come from one to the other does not lose its slot.
 */
static void test_widths(void)
{
    const uint64_t va = VA0 + SQ_FLAG(0);
    const uint32_t wide[] = {
        PACKET3_COMPUTE(IT_WAIT_REG_MEM64, 8),
        WAIT_REG_MEM_EQ | WAIT_REG_MEM_SPACE_MEM << WAIT_REG_MEM__MEM_SPACE__SHIFT,
        (uint32_t)va, va >> 32, 0, 1, ~0u, ~0u, 4,
    };
    Bus *b = sched_start(KFD_VMIDS, 1);
    unsigned i;

    for (i = 0; i < 2; i++) {
        sq_init(b, i);
    }
    list_simple(b, 0, 0, 2);
    sq_wait(b, 0, 1);
    sq_emit(b, 0, wide, 9);
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_kick(b, 0);
    bus_run(b);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);
    /* The other wants the slot, so what the first waits for is noted; then it comes. */
    sq_wait(b, 1, 1);
    sq_kick(b, 1);
    vkfd_sched_run(b->e);
    CHECK_EQ(b->e->hqd[0].poll_now, 1);
    set_vram32(b, SQ_FLAG(0), 1);
    vkfd_engine_run(b->e);
    CHECK_EQ(b->e->hqd[0].wait_len, 8);
    /* 8 bytes it waits for, of which the low ones are as they were when noted. */
    set_vram64(b, SQ_FLAG(0), 0);
    bus_run(b);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_PARKED);
    CHECK_EQ(sq_state(b, 1), VKFD_SCHED_ON_SLOT);
    b->e->sched.ticks = 0;                      /* nobody's turn for a while */
    set_vram64(b, SQ_FLAG(0), 1ull << 32);
    bus_advance(b, 3 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    check_derived(b);
    bus_free(b);
}

/*
 * The runtime is told of a bad packet, not the driver, which may make a new list with the
 * queue in it: it stays where it is, and does not say it again.
 */
static void test_error_once(void)
{
    Bus *b = sched_start(KFD_VMIDS, 2);
    uint32_t p[32];
    unsigned i;

    memset(&list, 0, sizeof(list));
    list_process(&list, 0, 2);
    for (i = 0; i < 2; i++) {
        aql_init(b, i);
        set_vram64(b, SIG(1 + i) + AMD_SIGNAL_VALUE, 1);
    }
    set_vram64(b, AQ(0) + AMD_QUEUE_INACTIVE_SIGNAL, VA0 + SIG(9));
    set_vram64(b, SIG(9) + AMD_SIGNAL_VALUE, 0);
    list_send(b, &list);
    aql_barrier(b, 0, 0, 1);
    set_vram32(b, SQ_RING(0), AQL_PACKET_AGENT_DISPATCH);
    aql_ring(b, 0);
    bus_run(b);
    CHECK_EQ(vram64(b, SIG(9) + AMD_SIGNAL_VALUE), 0x20);

    set_vram64(b, SIG(9) + AMD_SIGNAL_VALUE, 0);
    set_vram32(b, SQ_RING(0), H_AND);           /* even if it were good now */
    hiq_send(b, p, pkt_unmap(p, UNMAP_QUEUES_PREEMPT, UNMAP_QUEUES_SEL_NON_STATIC, 0));
    list_send(b, &list);
    aql_ring(b, 0);
    aql_barrier(b, 1, 0, 2);
    aql_ring(b, 1);
    bus_run(b);
    CHECK(!hiq_stopped(b));
    CHECK_EQ(vram64(b, SIG(9) + AMD_SIGNAL_VALUE), 0);
    CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_VALUE), 1);
    CHECK_EQ(vram64(b, AQ(0) + AMD_QUEUE_READ_DISPATCH_ID), 0);
    CHECK_EQ(vram64(b, SIG(2) + AMD_SIGNAL_VALUE), 0);
    bus_free(b);
}

int main(void)
{
    Bus *b;
    unsigned i;

    test_widths();
    test_error_once();
    b = sched_start(KFD_VMIDS, 3);
    memset(&list, 0, sizeof(list));
    list_process(&list, 0, QUEUES);
    for (i = 0; i < QUEUES; i++) {
        aql_init(b, i);
        set_vram64(b, SIG(1 + i) + AMD_SIGNAL_VALUE, 1);
        set_vram64(b, SIG(101 + i) + AMD_SIGNAL_VALUE, 1);
        set_vram64(b, SIG(201 + i) + AMD_SIGNAL_VALUE, 1);
    }
    list_send(b, &list);
    CHECK(!hiq_stopped(b));
    /* what is there, then wait for a signal of one's own */
    for (i = 0; i < QUEUES; i++) {
        aql_barrier(b, i, 0, 201 + i);
        aql_barrier(b, i, 1 + i, 101 + i);
        aql_ring(b, i);
    }
    bus_run(b);
    for (i = 0; i < QUEUES; i++) {
        CHECK_EQ(vram64(b, SIG(201 + i) + AMD_SIGNAL_VALUE), 0);
        CHECK_EQ(vram64(b, SIG(101 + i) + AMD_SIGNAL_VALUE), 1);
        CHECK_EQ(vram64(b, AQ(i) + AMD_QUEUE_READ_DISPATCH_ID), 1);
    }
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 2);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), QUEUES - 2);
    check_derived(b);
    /* by the CPU: only the upper half of the value changes, and then it is 0 */
    set_vram64(b, SIG(1) + AMD_SIGNAL_VALUE, 1ull << 32);
    bus_advance(b, 3 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram64(b, SIG(101) + AMD_SIGNAL_VALUE), 1);
    for (i = 0; i < QUEUES / 2; i++) {
        set_vram64(b, SIG(1 + i) + AMD_SIGNAL_VALUE, 0);
    }
    bus_advance(b, 3 * VKFD_WAIT_POLL_MAX_NS);
    for (i = 0; i < QUEUES; i++) {
        CHECK_EQ(vram64(b, SIG(101 + i) + AMD_SIGNAL_VALUE), i >= QUEUES / 2);
    }
    /* by completion signals of others, at once */
    for (i = QUEUES / 2; i < QUEUES; i++) {
        aql_barrier(b, i - QUEUES / 2, 0, 1 + i);
        aql_ring(b, i - QUEUES / 2);
    }
    bus_run(b);
    for (i = 0; i < QUEUES; i++) {
        CHECK_EQ(vram64(b, SIG(101 + i) + AMD_SIGNAL_VALUE), 0);
        CHECK_EQ(vram64(b, AQ(i) + AMD_QUEUE_READ_DISPATCH_ID),
                 2 + (i < QUEUES / 2));
    }
    /* a slot that is published and not filled: the doorbell and then the CPU */
    for (i = 0; i < QUEUES; i++) {
        set_vram32(b, SQ_RING(i) + (2 + (i < QUEUES / 2)) * 64, AQL_PACKET_INVALID);
        set_vram64(b, AQ(i) + AMD_QUEUE_WRITE_DISPATCH_ID, 3 + (i < QUEUES / 2));
        aql_ring(b, i);
    }
    bus_run(b);
    for (i = 0; i < QUEUES; i++) {
        set_vram64(b, AQ(i) + AMD_QUEUE_WRITE_DISPATCH_ID, 2 + (i < QUEUES / 2));
        set_vram64(b, SIG(101 + i) + AMD_SIGNAL_VALUE, 1);
        aql_barrier(b, i, 0, 101 + i);
    }
    bus_advance(b, 4 * VKFD_WAIT_POLL_MAX_NS);
    for (i = 0; i < QUEUES; i++) {
        CHECK_EQ(vram64(b, SIG(101 + i) + AMD_SIGNAL_VALUE), 0);
    }
    check_derived(b);
    bus_free(b);
    return tap_done();
}
