/* SPDX-License-Identifier: MIT */
/* More queues than slots, more processes than VMIDs; parking, saving, resuming. */
#include "sched-common.h"

static List list;

/* One step of a machine that is never at rest. */
static void tick(Bus *b, uint64_t ns)
{
    unsigned t;

    b->now += ns;
    for (t = 0; t < VKFD_NUM_TIMERS; t++) {
        if (b->timer[t] >= 0 && (uint64_t)b->timer[t] <= b->now) {
            b->timer[t] = -1;
            vkfd_engine_timer(b->e, t);
        }
    }
    if (b->scheduled) {
        b->scheduled = false;
        vkfd_engine_run(b->e);
    }
}

/* 40 queues that have a little to do share 24 slots without any time passing. */
static void test_short_work(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t i, p[8];

    for (i = 0; i < 40; i++) {
        sq_init(b, i);
        sq_write(b, i, SQ_OUT(i), i + 1);
        sq_publish(b, i);
    }
    map_many(b, 40, 40);
    for (i = 0; i < 40; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), i + 1);
        CHECK_EQ(vram32(b, SQ_RPTR(i)), sq_wptr(i));
    }
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 24);
    CHECK_EQ(sq_count(b, VKFD_SCHED_IDLE), 16);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_SWAP), 16);
    CHECK_EQ(b->e->active_mask, ALL_SLOTS | 1ull << HIQ);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    check_derived(b);
    /* each again, by doorbell */
    for (i = 0; i < 40; i++) {
        sq_write(b, i, SQ_OUT(i), i + 101);
        sq_kick(b, i);
    }
    bus_run(b);
    for (i = 0; i < 40; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), i + 101);
    }
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_WAKE), 16);
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
    for (i = 0; i < 40; i++) {
        CHECK_EQ(vram32(b, SQ_MQD(i) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), sq_wptr(i));
    }
    bus_free(b);
}

/* A doorbell of a queue without slot: one run gives it one and does its work. */
static void test_rung_runs_at_once(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    unsigned i, round;

    for (i = 0; i < 40; i++) {
        sq_init(b, i);
    }
    map_many(b, 40, 40);
    for (round = 1; round <= 3; round++) {
        for (i = 0; i < 40; i++) {
            b->scheduled = false;
            sq_write(b, i, SQ_OUT(i), round);
            sq_kick(b, i);
            CHECK(b->scheduled);
            b->scheduled = false;
            vkfd_engine_run(b->e);
            CHECK_EQ(vram32(b, SQ_OUT(i)), round);
            CHECK(!b->scheduled);
        }
    }
    check_derived(b);
    bus_free(b);
}

/* A queue that never ends: time stamps, by an IB that chains to itself. */
static void endless(Bus *b, unsigned n)
{
    uint32_t p[16], dw, at = 0xe00000 + n * 64;

    dw = pkt_release(p, VA0 + SQ_OUT(n), 0, RELEASE_MEM_DATA_GPU_CLOCK,
                     RELEASE_MEM_INT_NONE, 0);
    dw += pkt_ib(p + dw, VA0 + at, 12, true);
    memcpy(b->vram + at, p, dw * 4);
    sq_emit(b, n, p, pkt_ib(p, VA0 + at, 12, false));
    sq_publish(b, n);
}

/* 40 queues that are always busy: everyone gets its turn, by quantum. */
static void test_busy(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint64_t start, longest = 0, gap[40] = { 0 };
    unsigned i, k;

    for (i = 0; i < 40; i++) {
        sq_init(b, i);
        endless(b, i);
    }
    memset(&list, 0, sizeof(list));
    list_process(&list, 0, 40);
    for (i = 0; i < 40; i++) {
        list_queue(&list, i);
    }
    for (i = 0; i < list.n; i++) {
        set_vram32(b, LIST_IB + i * 4, list.dw[i]);
    }
    {
        uint32_t p[4];

        hiq_post(b, p, pkt_run_list(p, MC(LIST_IB), list.n, false));
    }
    start = b->now;
    for (k = 0; k < 400; k++) {
        tick(b, 50000);
        for (i = 0; i < 40; i++) {
            uint64_t at = vram64(b, SQ_OUT(i)) * 10;

            at = at > start ? at : start;
            gap[i] = b->now - at;
            longest = gap[i] > longest ? gap[i] : longest;
        }
        CHECK(sq_count(b, VKFD_SCHED_ON_SLOT) <= 24);
    }
    for (i = 0; i < 40; i++) {
        CHECK(vram64(b, SQ_OUT(i)) * 10 > start);
    }
    /* 24 slots of 1 ms each for 40: at most two quanta without, and the runs */
    CHECK(longest <= 5 * VKFD_SCHED_QUANTUM_NS);
    /* not more often than the quantum says */
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) >= 24 * 10);
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) <= 24 * 21);
    check_derived(b);
    {
        uint32_t p[16], n = pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0);

        n += pkt_query(p + n, QUERY_STATUS_FENCE, MC(FENCE), 5);
        hiq_post(b, p, n);
        for (k = 0; k < 40 && vram32(b, FENCE) != 5; k++) {
            tick(b, 1000);
        }
        CHECK_EQ(vram32(b, FENCE), 5);
        bus_run(b);
        CHECK_EQ(b->e->sched.queue_top, 0);
    }
    bus_free(b);
}

/* 12 processes of one queue on 8 VMIDs; then 12 that keep busy. */
static void test_processes(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[16], seen = 0, i, k;

    for (i = 0; i < 12; i++) {
        sq_init(b, i);
        sq_emit(b, i, p, pkt_release(p, VA0 + SQ_OUT(i), 1, RELEASE_MEM_DATA_32,
                                     RELEASE_MEM_INT_AFTER_WRITE, i + 1));
        sq_publish(b, i);
    }
    map_many(b, 12, 1);
    CHECK_EQ(counter(b, VKFD_CNT_IH_ENTRY), 12);
    for (i = 0; i < 12; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 1);
        CHECK_EQ(ih_dw(b, i, 3) & 0xffff, PASID(ih_dw(b, i, 4) - 1));
        seen |= 1u << ih_dw(b, i, 4);
    }
    CHECK_EQ(seen, 0x1ffe);
    CHECK(sq_count(b, VKFD_SCHED_ON_SLOT) <= 8);
    for (k = 0, i = 8; i < 16; i++) {
        k += rd(b, mmATC_VMID0_PASID_MAPPING + i) >> 31;
    }
    CHECK_EQ(k, 8);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    check_derived(b);

    for (i = 0; i < 12; i++) {
        endless(b, i);
        sq_kick(b, i);
    }
    for (k = 0; k < 1200; k++) {
        tick(b, 50000);
    }
    for (i = 0; i < 12; i++) {
        CHECK(vram64(b, SQ_OUT(i)) * 10 + 25000000 > b->now);
    }
    /* its quantum of 10 ms is kept: about 4 VMIDs change hands each */
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) < 80);
    hiq_post(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
    for (k = 0; k < 40; k++) {
        tick(b, 1000);
    }
    bus_run(b);
    CHECK_EQ(b->e->sched.proc_top, 0);
    bus_free(b);
}

/* Queues in a wait need no slot; 100 of them wait for the CPU, on 24 slots. */
static void test_parked(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint64_t loads, fired = 0;
    unsigned i;

    for (i = 0; i < 100; i++) {
        sq_init(b, i);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_wait(b, i, 1);
        sq_write(b, i, SQ_OUT(i), 2);
        sq_publish(b, i);
    }
    map_many(b, 100, 50);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 24);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 76);
    for (i = 0; i < 100; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 1);
    }
    check_derived(b);
    /* they cost a poll a millisecond, and hardly a load */
    bus_advance(b, 5000000);
    loads = counter(b, VKFD_CNT_QUEUE_LOAD);
    for (i = 0; i < 1000 && b->now < 106000000; i++) {
        bool wait = b->timer[VKFD_TIMER_WAIT] >= 0 &&
                    (b->timer[VKFD_TIMER_SCHED] < 0 ||
                     b->timer[VKFD_TIMER_WAIT] < b->timer[VKFD_TIMER_SCHED]);
        unsigned t = wait ? VKFD_TIMER_WAIT : VKFD_TIMER_SCHED;

        b->now = b->timer[t];
        b->timer[t] = -1;
        vkfd_engine_timer(b->e, t);
        bus_run(b);
        fired++;
    }
    CHECK(fired <= 350);
    CHECK(counter(b, VKFD_CNT_QUEUE_LOAD) - loads <= 100 / VKFD_SCHED_RECHECK + 2);
    /* stores of the CPU are seen, each queue goes on once, none is forgotten */
    for (i = 0; i < 100; i += 2) {
        set_vram32(b, SQ_FLAG(i), 1);
    }
    bus_advance(b, 4 * VKFD_WAIT_POLL_MAX_NS);
    for (i = 0; i < 100; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), i % 2 ? 1 : 2);
    }
    /* a write of the device wakes at once, without any timer */
    sq_init(b, 200);
    for (i = 1; i < 20; i += 2) {
        sq_write(b, 200, SQ_FLAG(i), 1);
    }
    list_simple(b, 9, 200, 1);
    sq_kick(b, 200);
    bus_run(b);
    for (i = 1; i < 20; i += 2) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 2);
    }
    CHECK_EQ(vram32(b, SQ_OUT(21)), 1);
    check_derived(b);
    /* unmapped while parked: at once, saved at the wait */
    {
        uint32_t p[16], n = pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0);

        n += pkt_query(p + n, QUERY_STATUS_FENCE, MC(FENCE), 1);
        hiq_send(b, p, n);
    }
    CHECK_EQ(vram64(b, FENCE), 1);
    for (i = 21; i < 100; i += 2) {
        CHECK_EQ(vram32(b, SQ_MQD(i) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), 5);
    }
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    bus_free(b);
}

/*
 * A dependency chain through queues most of which have no slot, with stores of the CPU
 * and the clock at random points: every queue comes to its end.
 */
static void test_no_wake_up_lost(void)
{
    uint64_t seed = 0xfeedfacecafebeefull;
    unsigned round, i, k, ends;

    for (round = 0; round < 12; round++) {
        Bus *b = sched_start(KFD_VMIDS >> (round % 4) * 2 & 0xff00, 0xf >> (round % 3));
        const unsigned n = 30;
        uint32_t p[8];

        for (i = 0; i < n; i++) {
            sq_init(b, i);
            for (k = 1; k <= 4; k++) {
                sq_emit(b, i, p, pkt_wait_mem(p, VA0 + SQ_FLAG(i), WAIT_REG_MEM_GE,
                                              k, ~0u));
                sq_write(b, i, SQ_OUT(i), k);
                if (i % 5 != 4) {
                    sq_write(b, i, SQ_FLAG(i + 1), k);
                }
            }
            sq_publish(b, i);
        }
        map_many(b, n, 3);
        /* The CPU drives the first of each five, at its own pace. */
        for (k = 0, ends = 0; k < 100000 && ends < n; k++) {
            uint32_t r = prng(&seed), q = r / 64 % (n / 5) * 5;

            if (r % 64 == 0 && vram32(b, SQ_FLAG(q)) < 4) {
                set_vram32(b, SQ_FLAG(q), vram32(b, SQ_FLAG(q)) + 1);
            }
            tick(b, r % 3 ? 0 : r % 100000);
            for (ends = 0; ends < n && vram32(b, SQ_OUT(ends)) == 4; ends++) {
                /* count them */
            }
        }
        CHECK_EQ(ends, n);
        check_derived(b);
        bus_free(b);
    }
}

/* Pushed off its slot in mid-IB, and back: each packet runs once. */
static void test_mid_ib(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);
    uint32_t p[64], n, i;

    sq_init(b, 0);
    n = pkt_write(p, VA0 + SQ_OUT(0), 1);
    p[n++] = PACKET3(IT_SET_SH_REG, 2);
    p[n++] = mmCOMPUTE_USER_DATA_0 - PACKET3_SET_SH_REG_START;
    p[n++] = 0x5eed;
    n += pkt_wait_mem(p + n, VA0 + SQ_FLAG(0), WAIT_REG_MEM_EQ, 1, ~0u);
    n += pkt_write(p + n, VA0 + SQ_OUT(0) + 4, 1);
    memcpy(b->vram + IB_ADDR(0), p, n * 4);
    sq_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), n, false));
    sq_write(b, 0, SQ_OUT(0) + 8, 1);
    sq_publish(b, 0);
    sq_init(b, 1);
    map_many(b, 2, 2);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);
    set_vram32(b, SQ_OUT(0), 0);
    sq_emit(b, 1, p, 3);
    sq_write(b, 1, SQ_OUT(1), 1);
    sq_init(b, 1);
    /* the other sets the same register to something else */
    p[0] = PACKET3(IT_SET_SH_REG, 2);
    p[1] = mmCOMPUTE_USER_DATA_0 - PACKET3_SET_SH_REG_START;
    p[2] = 0xbad;
    sq_emit(b, 1, p, 3);
    sq_write(b, 1, SQ_OUT(1), 1);
    sq_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(1)), 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_PARKED);
    CHECK_EQ(hqd_rd(b, 0, mmCOMPUTE_USER_DATA_0), 0xbad);
    i = SQ_MQD(0) + V9_MQD_DW_OF(mmCP_HQD_IB_RPTR) * 4;
    CHECK_EQ(vram32(b, i), 8);
    set_vram32(b, SQ_FLAG(0), 1);
    bus_advance(b, 3000000);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0);          /* not run again */
    CHECK_EQ(vram32(b, SQ_OUT(0) + 4), 1);
    CHECK_EQ(vram32(b, SQ_OUT(0) + 8), 1);
    CHECK_EQ(hqd_rd(b, 0, mmCOMPUTE_USER_DATA_0), 0x5eed);
    CHECK_EQ(vram32(b, SQ_RPTR(0)), sq_wptr(0));
    bus_free(b);
}

/* A ring that is exactly full is not an empty one, also after save and load. */
static void test_full_ring(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[16], i;

    sq_init(b, 0);
    for (i = 0; i < 3; i++) {
        sq_write(b, 0, SQ_OUT(0), i);
    }
    sq_publish(b, 0);
    list_simple(b, 0, 0, 1);
    sq_wait(b, 0, 1);
    for (i = 0; i < 49; i++) {
        sq_write(b, 0, SQ_OUT(0) + 4, i + 1);
    }
    p[0] = PACKET3(IT_NOP, 2);
    sq_emit(b, 0, p, 3);
    p[0] = 2u << 30;
    sq_emit(b, 0, p, 1);
    CHECK_EQ(sq_wptr(0), 15 + SQ_RING_DW);
    sq_kick(b, 0);
    bus_run(b);
    CHECK_EQ(b->e->hqd[sq_entry(b, 0)->slot].parked, VKFD_PARKED_WAIT);
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
    list_simple(b, 0, 0, 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);
    set_vram32(b, SQ_FLAG(0), 1);
    bus_advance(b, 3000000);
    CHECK_EQ(vram32(b, SQ_OUT(0) + 4), 49);
    CHECK_EQ(vram32(b, SQ_RPTR(0)), sq_wptr(0) % SQ_RING_DW);
    bus_free(b);
}

/* A queue that faults or sends rubbish stops alone, and gives its slot away. */
static void test_stopped(void)
{
    Bus *b = sched_start(KFD_VMIDS, 3);
    uint32_t p[8] = { 0xdeadbeef }, i;

    for (i = 0; i < 6; i++) {
        sq_init(b, i);
    }
    sq_emit(b, 0, p, 1);
    sq_publish(b, 0);
    sq_emit(b, 1, p, pkt_write(p, 0x700000000ull, 1));
    sq_publish(b, 1);
    /* the MQD is gone when it is loaded */
    memset(&list, 0, sizeof(list));
    list_process(&list, 3, 3);
    list_queue(&list, 0);
    list_queue(&list, 1);
    list_queue(&list, 2);
    list.dw[list.n - 2] = 0x1000;               /* a wptr address that faults */
    list.dw[list.n - 1] = 0x7;
    list_send(b, &list);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 2);
    for (i = 0; i < 3; i++) {
        CHECK_EQ(ih_dw(b, i, 3) & 0xffff, PASID(3));
    }
    list_simple(b, 4, 3, 2);
    for (i = 3; i < 5; i++) {
        sq_write(b, i, SQ_OUT(i), 1);
        sq_wait(b, i, 1);
        sq_kick(b, i);
    }
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(3)), 1);
    CHECK_EQ(vram32(b, SQ_OUT(4)), 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_STOPPED);
    CHECK_EQ(sq_state(b, 1), VKFD_SCHED_STOPPED);
    CHECK_EQ(sq_state(b, 2), VKFD_SCHED_STOPPED);
    /* its doorbell is nobody's business any more */
    sq_kick(b, 0);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 0);
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_PASID, PASID(3)));
    CHECK(!sq_entry(b, 0));
    check_derived(b);
    bus_free(b);
}

/* An MQD that cannot be read or written any more: an error, no queue runs twice. */
static void test_mqd_gone(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);
    uint32_t fb = rd(b, mmMC_VM_FB_LOCATION_BASE), p[8];

    sq_init(b, 0);
    sq_init(b, 1);
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_publish(b, 0);
    list_simple(b, 0, 0, 2);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    set_vram32(b, SQ_OUT(0), 0);
    /* VMID 0 loses the framebuffer */
    wr(b, mmMC_VM_FB_LOCATION_BASE, 0);
    wr(b, mmMC_VM_FB_LOCATION_TOP, 0);
    sq_write(b, 1, SQ_OUT(1), 1);
    sq_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(1)), 0);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_STOPPED);
    CHECK_EQ(sq_state(b, 1), VKFD_SCHED_STOPPED);
    CHECK(counter(b, VKFD_CNT_GUEST_ERROR) >= 2);
    wr(b, mmMC_VM_FB_LOCATION_BASE, fb);
    wr(b, mmMC_VM_FB_LOCATION_TOP, fb + VRAM_SIZE / (1u << 24) - 1);
    sq_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0);
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
    CHECK_EQ(b->e->sched.queue_top, 0);
    bus_free(b);
}

int main(void)
{
    test_short_work();
    test_rung_runs_at_once();
    test_busy();
    test_processes();
    test_parked();
    test_no_wake_up_lost();
    test_mid_ib();
    test_full_ring();
    test_stopped();
    test_mqd_gone();
    return tap_done();
}
