/* SPDX-License-Identifier: MIT */
/* AQL queues: what each packet does, completion, errors. */
#include "aql-common.h"

static void test_completion(void)
{
    Bus *b = aql_start();
    uint32_t p[16];
    unsigned i, n;
    const uint64_t order[] = {
        RING(0), AQ(0) + 0x80, SIG(1) + 8, MBOX(1), SYS_BASE + IH_RING_OFF,
        SYS_BASE + IH_WPTR_OFF,
    };

    set_signal(b, 1, 7);
    set_mailbox(b, 1, 42);
    set_vram64(b, MBOX(1), ~0ull);
    aql_barrier(p, H_AND, 0, 0, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 1), 6);
    CHECK_EQ(vram64(b, MBOX(1)), 42);
    CHECK_EQ(vram32(b, RING(0)) & 0xffff, AQL_PACKET_INVALID);
    CHECK_EQ(aql_read_id(b, 0), 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 16);
    CHECK_EQ(b->irqs, 1);
    CHECK_EQ(ih_dw(b, 0, 0) & 0xffff, 0x14 | 181 << 8);
    CHECK_EQ(ih_dw(b, 0, 4), 42);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 1);
    /* each before the next, the message last */
    n = sizeof(order) / sizeof(order[0]);
    CHECK_EQ(b->nlog, n + 1);
    for (i = 0; i < n; i++) {
        CHECK_EQ(b->log[i].addr, order[i]);
    }
    CHECK_EQ(b->log[n].kind, EV_IRQ);
    CHECK_EQ(b->log[2].len, 8);
    /* no time stamps unless asked for, nothing else of the signal is touched */
    CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_START_TS), 0);
    CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_END_TS), 0);

    /* nobody sleeps: the value only; no signal: nothing; the pipe's enable */
    set_signal(b, 2, 1);
    aql_barrier(p, H_AND, 0, 0, 2);
    aql_emit(b, 0, p);
    aql_barrier(p, H_OR, 0, 0, 0);
    aql_emit(b, 0, p);
    wr(b, mmCP_ME1_PIPE0_INT_CNTL, 0);
    aql_barrier(p, H_AND, 0, 0, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 2), 0);
    CHECK_EQ(signal_value(b, 1), 5);
    CHECK_EQ(b->irqs, 1);
    CHECK_EQ(aql_read_id(b, 0), 4);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD) + counter(b, VKFD_CNT_VM_FAULT), 0);
    bus_free(b);
}

static void test_profiling(void)
{
    Bus *b = aql_start();
    uint64_t start = b->now / 10;
    uint32_t p[16];

    set_vram32(b, AQ(0) + AMD_QUEUE_PROPERTIES, AMD_QUEUE_PROPERTY_PROFILING | 2);
    set_signal(b, 1, 1);
    set_signal(b, 2, 1);
    aql_barrier(p, H_AND, 2, 0, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_START_TS), start);
    CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_END_TS), 0);
    bus_advance(b, 5000000);
    set_signal(b, 2, 0);
    bus_advance(b, 2000000);
    CHECK_EQ(signal_value(b, 1), 0);
    CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_START_TS), start);
    CHECK(vram64(b, SIG(1) + AMD_SIGNAL_END_TS) >= start + 500000);
    CHECK(vram64(b, SIG(1) + AMD_SIGNAL_END_TS) <= b->now / 10);
    bus_free(b);
}

static void test_and(void)
{
    Bus *b = aql_start();
    uint32_t p[16], dw[8];
    unsigned i;

    queue_load(b, 1);
    aql_barrier(p, H_AND, 0, 0, 9);
    for (i = 0; i < 5; i++) {
        set_signal(b, 1 + i, 1);
        p[2 + 2 * i] = LO(SIG_VA(1 + i));
        p[3 + 2 * i] = HI(SIG_VA(1 + i));
    }
    set_signal(b, 9, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
    CHECK_EQ(b->e->hqd[0].wait_mem, 5);
    CHECK(!b->scheduled);
    CHECK_EQ(aql_read_id(b, 0), 0);
    /* the device writes them, in any order: woken by each, with the clock still */
    for (i = 5; i-- > 0; ) {
        CHECK_EQ(signal_value(b, 9), 1);
        queue_emit(b, 1, dw, pkt_release(dw, SIG_VA(1 + i) + 8, 0,
                                         RELEASE_MEM_DATA_64, 0, 0));
        queue_kick(b, 1);
        bus_run(b);
        CHECK_EQ(b->e->hqd[0].wait_mem, i ? i : 1);
        /* once seen it may change again */
        set_signal(b, 1 + i, 3);
    }
    CHECK_EQ(signal_value(b, 9), 0);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 1);
    CHECK_EQ(aql_read_id(b, 0), 1);
    CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_NO);
    /* -1 is not 0, nor is anything with a low half of 0 */
    set_signal(b, 1, 1ll << 32);
    set_signal(b, 2, 0);
    aql_barrier(p, H_AND, 1, 2, 9);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 9), 0);
    set_signal(b, 1, 0);                        /* the CPU: by timer */
    bus_run(b);
    CHECK_EQ(signal_value(b, 9), 0);
    bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(signal_value(b, 9), -1);
    bus_free(b);
}

static void test_or(void)
{
    Bus *b = aql_start();
    uint32_t p[16];

    set_signal(b, 1, 1);
    set_signal(b, 2, 2);
    aql_barrier(p, H_OR, 1, 2, 9);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
    CHECK_EQ(b->e->hqd[0].wait_mem, 2);
    set_signal(b, 2, 0);
    bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(signal_value(b, 9), -1);
    CHECK_EQ(signal_value(b, 1), 1);
    /* one of them holds at once */
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 9), -2);
    bus_free(b);
}

static void test_barrier_value(void)
{
    static const struct {
        uint32_t cond;
        int64_t v, mask, ref;
        bool holds;
    } cases[] = {
        { AQL_COND_EQ, 5, -1, 5, true }, { AQL_COND_EQ, 5, -1, 4, false },
        { AQL_COND_EQ, 0xf5, 0xf, 5, true }, { AQL_COND_EQ, 1ll << 40, 1ll << 40,
          1ll << 40, true },
        { AQL_COND_NE, 5, -1, 4, true }, { AQL_COND_NE, 5, -1, 5, false },
        { AQL_COND_LT, -1, -1, 0, true }, { AQL_COND_LT, 0, -1, 0, false },
        { AQL_COND_GTE, 0, -1, 0, true }, { AQL_COND_GTE, -1, -1, 0, false },
    };
    unsigned i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bus *b = aql_start();
        uint32_t p[16];

        printf("# case %u\n", i);
        set_signal(b, 1, cases[i].v);
        aql_barrier(p, AQL_PACKET_VENDOR | AQL_VENDOR_BARRIER_VALUE << 16, 1, 0, 9);
        p[4] = LO(cases[i].ref);
        p[5] = HI(cases[i].ref);
        p[6] = LO(cases[i].mask);
        p[7] = HI(cases[i].mask);
        p[8] = cases[i].cond;
        aql_emit(b, 0, p);
        aql_go(b, 0);
        CHECK_EQ(signal_value(b, 9), cases[i].holds ? -1 : 0);
        if (!cases[i].holds) {
            CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
            set_signal(b, 1, cases[i].cond == AQL_COND_GTE ? 0 :
                             cases[i].cond == AQL_COND_EQ ? cases[i].ref :
                             cases[i].ref - 1);
            bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
            CHECK_EQ(signal_value(b, 9), -1);
        }
        bus_free(b);
    }
}

static void test_pm4_ib(void)
{
    Bus *b = aql_start();
    uint32_t p[16], ib[32];
    unsigned n;

    n = pkt_write(ib, OUT_VA, 5);
    n += pkt_wait_mem(ib + n, OUT_VA + 8, WAIT_REG_MEM_EQ, 1, ~0u);
    n += pkt_write(ib + n, OUT_VA + 4, 6);
    memcpy(b->vram + IB_ADDR(0), ib, n * 4);
    aql_pm4_ib(p, VA0 + IB_ADDR(0), n, 1);
    aql_emit(b, 0, p);
    aql_barrier(p, H_AND, 0, 0, 2);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(vram32(b, OUT), 5);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    CHECK_EQ(signal_value(b, 1), 0);
    CHECK_EQ(signal_value(b, 2), 0);
    CHECK_EQ(aql_read_id(b, 0), 0);
    set_vram32(b, OUT + 8, 1);
    bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, OUT + 4), 6);
    CHECK_EQ(signal_value(b, 1), -1);
    CHECK_EQ(signal_value(b, 2), -1);
    CHECK_EQ(aql_read_id(b, 0), 2);
    CHECK_EQ(vram32(b, RING(0)) & 0xffff, AQL_PACKET_INVALID);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_IB_CONTROL) >> 31, 0);
    /* an empty IB */
    aql_pm4_ib(p, VA0 + IB_ADDR(0), 0, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 1), -2);
    bus_free(b);
}

/*
 * The progress of the packet around an IB is none of the first packet in it, though
 * both stand at position 0.
 */
static void test_pm4_ib_progress(void)
{
    Bus *b = aql_start();
    uint32_t p[16], ib[8];
    unsigned i = 0;

    ib[i++] = PACKET3(IT_DMA_DATA, 6);
    ib[i++] = DMA_DATA_SRC_DATA << 29;
    ib[i++] = 0x99;
    ib[i++] = 0;
    ib[i++] = LO(OUT_VA);
    ib[i++] = HI(OUT_VA);
    ib[i++] = 16;
    memcpy(b->vram + IB_ADDR(0), ib, i * 4);
    aql_pm4_ib(p, VA0 + IB_ADDR(0), i, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(vram32(b, OUT), 0x99);
    CHECK_EQ(signal_value(b, 1), -1);
    bus_free(b);
}

static void test_dispatch(void)
{
    Bus *b = aql_start();
    uint32_t p[16];
    unsigned i;

    /* an empty grid has been run once it was looked at */
    for (i = 3; i < 6; i++) {
        aql_dispatch(p, 100, 100, 100, 1);
        p[i] = 0;
        aql_emit(b, 0, p);
    }
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 1), -3);
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 0);
    /* a dimension that is not used does not count */
    aql_dispatch(p, 0, 0, 0, 1);
    p[0] = AQL_PACKET_KERNEL_DISPATCH | 1 << 16;
    p[1] = 64;
    p[3] = 64;
    aql_emit(b, 0, p);
    aql_dispatch(p, 100, 100, 1, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 2);
    CHECK_EQ(signal_value(b, 1), -5);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
    /* told to refuse: an empty one is no matter */
    b->e->dispatch_error = true;
    set_vram64(b, AQ(0) + AMD_QUEUE_INACTIVE_SIGNAL, SIG_VA(3));
    aql_dispatch(p, 100, 0, 1, 1);
    aql_emit(b, 0, p);
    aql_dispatch(p, 100, 100, 1, 1);
    aql_emit(b, 0, p);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 1), -6);
    CHECK_EQ(signal_value(b, 3), AQL_ERROR_ILLEGAL_INSTRUCTION);
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 3);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(aql_read_id(b, 0), 6);
    bus_free(b);
}

/* Each kind of nonsense: what is put at a dword of a packet, the code it gives. */
static const struct {
    enum { DISPATCH, BARRIER, PM4_IB, VALUE } kind;
    unsigned dw;
    uint32_t set, code;
} bad_packets[] = {
    { DISPATCH, 0, AQL_PACKET_KERNEL_DISPATCH, AQL_ERROR_DIMENSIONS },
    { DISPATCH, 1, 2 << 16, AQL_ERROR_DIMENSIONS },
    { DISPATCH, 2, 0, AQL_ERROR_DIMENSIONS },
    { DISPATCH, 1, 1024 | 2 << 16, AQL_ERROR_GROUP_SIZE },
    { DISPATCH, 7, 65537, AQL_ERROR_GROUP_MEMORY },
    { DISPATCH, 8, 0, AQL_ERROR_CODE },
    { DISPATCH, 14, LO(SIG_VA(1)) + 4, AQL_ERROR_PACKET },
    { BARRIER, 0, AQL_PACKET_AGENT_DISPATCH, AQL_ERROR_PACKET },
    { BARRIER, 0, 6, AQL_ERROR_PACKET },
    { BARRIER, 0, 0xff, AQL_ERROR_PACKET },
    { BARRIER, 4, 1, AQL_ERROR_PACKET },        /* a dependency's handle */
    { PM4_IB, 0, AQL_PACKET_VENDOR, AQL_ERROR_VENDOR_PACKET },
    { PM4_IB, 0, AQL_PACKET_VENDOR | 3 << 16, AQL_ERROR_VENDOR_PACKET },
    { PM4_IB, 1, PACKET3(IT_NOP, 3), AQL_ERROR_VENDOR_PACKET },
    { PM4_IB, 1, PACKET3(IT_INDIRECT_BUFFER, 2), AQL_ERROR_VENDOR_PACKET },
    { PM4_IB, 5, 9, AQL_ERROR_VENDOR_PACKET },
    { VALUE, 8, 4, AQL_ERROR_VENDOR_PACKET },
    { VALUE, 2, 0, AQL_ERROR_VENDOR_PACKET },
    { VALUE, 2, LO(SIG_VA(2)) + 1, AQL_ERROR_VENDOR_PACKET },
};

static void bad_packet(unsigned i, uint32_t p[16])
{
    switch (bad_packets[i].kind) {
    case DISPATCH:
        aql_dispatch(p, 100, 100, 100, 1);
        break;
    case BARRIER:
        aql_barrier(p, H_AND, 2, 0, 1);
        break;
    case PM4_IB:
        aql_pm4_ib(p, VA0 + IB_ADDR(0), 0, 1);
        break;
    case VALUE:
        aql_barrier(p, AQL_PACKET_VENDOR | AQL_VENDOR_BARRIER_VALUE << 16, 2, 0, 1);
        break;
    }
    p[bad_packets[i].dw] = bad_packets[i].set;
    if (bad_packets[i].kind == VALUE && bad_packets[i].dw == 2 && !p[2]) {
        p[3] = 0;
    }
}

static void test_errors(void)
{
    unsigned i, told;

    for (i = 0; i < sizeof(bad_packets) / sizeof(bad_packets[0]); i++) {
        for (told = 0; told < 2; told++) {
            Bus *b = aql_start();
            uint32_t p[16];

            printf("# case %u%s\n", i, told ? "" : ", no inactive signal");
            if (told) {
                set_vram64(b, AQ(0) + AMD_QUEUE_INACTIVE_SIGNAL, SIG_VA(3));
                set_mailbox(b, 3, 77);
            }
            aql_barrier(p, H_AND, 0, 0, 4);
            aql_emit(b, 0, p);
            bad_packet(i, p);
            aql_emit(b, 0, p);
            aql_barrier(p, H_AND, 0, 0, 4);
            aql_emit(b, 0, p);
            aql_go(b, 0);
            /* it stands at the bad packet, and what was before is done */
            CHECK_EQ(signal_value(b, 4), -1);
            CHECK_EQ(signal_value(b, 1), 0);
            CHECK_EQ(aql_read_id(b, 0), 1);
            CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 16);
            CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
            CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_BAD_PACKET);
            CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
            CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 0);
            CHECK_EQ(b->irqs, 1);
            CHECK_EQ(signal_value(b, 3), told ? bad_packets[i].code : 0);
            CHECK_EQ(vram64(b, MBOX(3)), told ? 77 : 0);
            CHECK_EQ(ih_dw(b, 0, 0) & 0xffff, 0x14 | (told ? 181 : 183) << 8);
            if (told) {
                CHECK_EQ(ih_dw(b, 0, 4), 77);
            } else {
                CHECK_EQ(ih_dw(b, 0, 4) & 0x3ff, (DOORBELL_DW(0) / 2) & 0x3ff);
            }
            /* and stays there, whatever rings */
            aql_go(b, 0);
            bus_advance(b, 5000000);
            CHECK_EQ(signal_value(b, 4), -1);
            bus_free(b);
        }
    }
}

/* What is wrong in an IB is told in the same way; a runtime without amd_queue_t. */
static void test_ib_errors(void)
{
    unsigned told;

    for (told = 0; told < 2; told++) {
        Bus *b = aql_start();
        uint32_t p[16];

        set_vram64(b, AQ(0) + AMD_QUEUE_INACTIVE_SIGNAL, SIG_VA(3));
        if (!told) {
            set_vram32(b, AQ(0) + AMD_QUEUE_READ_ID_OFFSET, 0);
            set_vram32(b, AQ(0) + AMD_QUEUE_PROPERTIES, AMD_QUEUE_PROPERTY_PROFILING);
            aql_barrier(p, H_AND, 0, 0, 1);
            aql_emit(b, 0, p);
            aql_go(b, 0);
            CHECK_EQ(signal_value(b, 1), -1);
            CHECK_EQ(vram64(b, SIG(1) + AMD_SIGNAL_END_TS), 0);
        }
        set_vram32(b, IB_ADDR(0), PACKET3(0xee, 1));
        aql_pm4_ib(p, VA0 + IB_ADDR(0), 2, 1);
        aql_emit(b, 0, p);
        aql_go(b, 0);
        CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_BAD_PACKET);
        CHECK_EQ(signal_value(b, 3), told ? AQL_ERROR_VENDOR_PACKET : 0);
        CHECK_EQ(b->irqs, !told);
        bus_free(b);
    }
}

/* Every address a packet leads to, not mapped. */
static void test_faults(void)
{
    unsigned i;

    for (i = 0; i < 8; i++) {
        Bus *b = aql_start();
        uint32_t p[16], rptr = 0;

        printf("# case %u\n", i);
        aql_barrier(p, H_AND, 0, 0, 1);
        switch (i) {
        case 0:                                 /* dependency */
            p[2] = LO(BAD_VA);
            p[3] = HI(BAD_VA);
            break;
        case 1:                                 /* completion signal */
            p[14] = LO(BAD_VA);
            p[15] = HI(BAD_VA);
            rptr = 16;
            break;
        case 2:                                 /* mailbox: after the value */
            set_mailbox(b, 1, 5);
            set_vram64(b, SIG(1) + AMD_SIGNAL_MAILBOX_PTR, BAD_VA);
            rptr = 16;
            break;
        case 3:                                 /* signal of a barrier-value */
            aql_barrier(p, AQL_PACKET_VENDOR | 2 << 16, 1, 0, 1);
            p[2] = LO(BAD_VA);
            p[3] = HI(BAD_VA);
            break;
        case 4:                                 /* IB */
            aql_pm4_ib(p, BAD_VA, 4, 1);
            break;
        case 5:                                 /* inactive signal */
            p[0] = AQL_PACKET_AGENT_DISPATCH;
            set_vram64(b, AQ(0) + AMD_QUEUE_INACTIVE_SIGNAL, BAD_VA);
            break;
        case 6:                                 /* the ring may not be written */
            vm_map(b, VA0 + RING(0), RING(0) | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE);
            vm_flush(b, 0xffff);
            break;
        case 7:                                 /* nor the read id */
            vm_map(b, VA0 + AQ(0), AQ(0) | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE);
            vm_flush(b, 0xffff);
            rptr = 16;
            break;
        }
        aql_emit(b, 0, p);
        aql_go(b, 0);
        CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
        CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
        CHECK_EQ(signal_value(b, 1), i == 2 ? -1 : 0);
        CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), rptr);
        bus_free(b);
    }
}

int main(void)
{
    test_completion();
    test_profiling();
    test_and();
    test_or();
    test_barrier_value();
    test_pm4_ib();
    test_pm4_ib_progress();
    test_dispatch();
    test_errors();
    test_ib_errors();
    test_faults();
    return tap_done();
}
