/* SPDX-License-Identifier: MIT */
/* Packets: decoding, effects, errors, IBs, fairness. */
#include "harness.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)

static Bus *start(unsigned hqd)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, 0);
    queue_load(b, hqd);
    bus_run(b);
    b->nlog = 0;
    b->irqs = 0;
    return b;
}

static void emit_write(Bus *b, unsigned hqd, uint64_t va, uint32_t val)
{
    uint32_t p[8];

    queue_emit(b, hqd, p, pkt_write(p, va, val));
}

static void go(Bus *b, unsigned hqd)
{
    queue_kick(b, hqd);
    bus_run(b);
}

/* The queue stopped at the bad packet, said so, and stays stopped. */
static void check_bad(Bus *b, unsigned hqd, uint32_t rptr, uint32_t code)
{
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(hqd_rd(b, hqd, mmCP_HQD_ACTIVE), 1);
    CHECK_EQ(hqd_rd(b, hqd, mmCP_HQD_PQ_RPTR), rptr);
    CHECK_EQ(ih_dw(b, 0, 0) & 0xffff, 0x14 | 183 << 8);
    CHECK_EQ(ih_dw(b, 0, 4), ((DOORBELL_DW(hqd) / 2) & 0x3ff) | code << 10);
    emit_write(b, hqd, OUT_VA + 0x100, 0x55);
    go(b, hqd);
    CHECK_EQ(vram32(b, OUT + 0x100), 0);
}

static void test_basic(void)
{
    Bus *b = start(0);

    EMIT(b, 0, 0xffff1000);                             /* one-dword NOP */
    EMIT(b, 0, PACKET3(IT_NOP, 3), 1, 2, 3);
    EMIT(b, 0, 0x80000000);                             /* type 2 */
    EMIT(b, 0, PACKET3(IT_ACQUIRE_MEM, 6), 0x28c00000, 0xffffffff, 0xff, 0, 0, 4);
    EMIT(b, 0, PACKET3(IT_EVENT_WRITE, 1), CS_PARTIAL_FLUSH | 4 << 8);
    emit_write(b, 0, OUT_VA, 0x1234);
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 6), 5 << 8, (uint32_t)(OUT_VA + 8),
         OUT_VA >> 32, 1, 2, 3);
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 6), 5 << 8 | 1 << 16,
         (uint32_t)(OUT_VA + 0x40), OUT_VA >> 32, 1, 2, 3);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 0x1234);
    CHECK_EQ(vram32(b, OUT + 8), 1);
    CHECK_EQ(vram32(b, OUT + 16), 3);
    CHECK_EQ(vram32(b, OUT + 0x40), 3);
    CHECK_EQ(vram32(b, OUT + 0x44), 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 8);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_SKIPPED), 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
    CHECK_EQ(vram32(b, RPTR_ADDR(0)), queue_wptr(0));
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_DOORBELL_CONTROL) >> 31, 1);
    bus_free(b);
}

static void test_release_order(void)
{
    Bus *b = start(10);
    uint32_t p[8];

    queue_emit(b, 10, p, pkt_release(p, SYS_VA + 0x100, 0x1122334455667788ull,
                                     RELEASE_MEM_DATA_64,
                                     RELEASE_MEM_INT_AFTER_WRITE, 42));
    go(b, 10);
    /* slot, entry, wptr, MSI; then the rptr report */
    CHECK(b->nlog >= 4);
    CHECK_EQ(b->log[0].addr, SYS_BASE + 0x100);
    CHECK_EQ(b->log[0].len, 8);
    CHECK_EQ(b->log[1].addr, SYS_BASE + IH_RING_OFF);
    CHECK_EQ(b->log[1].len, 32);
    CHECK_EQ(b->log[2].addr, SYS_BASE + IH_WPTR_OFF);
    CHECK_EQ(b->log[3].kind, EV_IRQ);
    CHECK_EQ(b->irqs, 1);
    CHECK_EQ(sys32(b, 0x100), 0x55667788);
    CHECK_EQ(sys32(b, 0x104), 0x11223344);
    CHECK_EQ(ih_dw(b, 0, 0), 0x14 | 181 << 8 | (1 << 2 | 1 | 2 << 4) << 16 |
             TEST_VMID << 24);
    CHECK_EQ(ih_dw(b, 0, 3), TEST_PASID);
    CHECK_EQ(ih_dw(b, 0, 4), 42);
    CHECK_EQ(sys32(b, IH_WPTR_OFF), 32);
    bus_free(b);
}

static void test_release_selectors(void)
{
    Bus *b = start(0);
    uint32_t p[8];

    set_vram64(b, OUT, ~0ull);
    queue_emit(b, 0, p, pkt_release(p, OUT_VA, 5, RELEASE_MEM_DATA_32,
                                    RELEASE_MEM_INT_NONE, 1));
    queue_emit(b, 0, p, pkt_release(p, OUT_VA + 8, 5, RELEASE_MEM_DATA_GPU_CLOCK,
                                    RELEASE_MEM_INT_WRITE_CONFIRM, 1));
    queue_emit(b, 0, p, pkt_release(p, OUT_VA + 16, 5, RELEASE_MEM_DATA_NONE,
                                    RELEASE_MEM_INT_ONLY, 9));
    go(b, 0);
    CHECK_EQ(vram64(b, OUT), 0xffffffff00000005ull);
    CHECK_EQ(vram64(b, OUT + 8), b->now / 10);
    CHECK_EQ(vram64(b, OUT + 16), 0);
    CHECK_EQ(b->irqs, 1);
    CHECK_EQ(ih_dw(b, 0, 4), 9);
    /* The pipe's enable gates the interrupt, not the write. */
    wr(b, mmCP_ME1_PIPE0_INT_CNTL, 0);
    queue_emit(b, 0, p, pkt_release(p, OUT_VA + 16, 6, RELEASE_MEM_DATA_64,
                                    RELEASE_MEM_INT_AFTER_WRITE, 9));
    go(b, 0);
    CHECK_EQ(vram64(b, OUT + 16), 6);
    CHECK_EQ(b->irqs, 1);
    /* data_sel 5 is GDS */
    queue_emit(b, 0, p, pkt_release(p, OUT_VA + 16, 7, 5, 0, 9));
    go(b, 0);
    CHECK_EQ(vram64(b, OUT + 16), 6);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);

    b = start(0);
    queue_emit(b, 0, p, pkt_release(p, OUT_VA, 7, 5, 0, 9));
    go(b, 0);
    check_bad(b, 0, 0, VKFD_EC_PACKET_RESERVED);
    bus_free(b);
}

static void test_bad(void)
{
    static const struct {
        uint32_t header, code;
    } cases[] = {
        { PACKET3(0xee, 4), 20 },               /* no such opcode */
        { 0x00000000, 20 },                     /* type 0 */
        { 0x40000000, 20 },                     /* type 1 */
        { PACKET3(IT_RELEASE_MEM, 6), 19 },
        { PACKET3(IT_RELEASE_MEM, 8), 19 },
        { PACKET3(IT_WRITE_DATA, 3), 19 },
        { PACKET3(IT_WAIT_REG_MEM, 5), 19 },
        { PACKET3(IT_INDIRECT_BUFFER, 4), 19 },
        { PACKET3(IT_ACQUIRE_MEM, 5), 19 },
        { PACKET3(IT_SET_SH_REG, 1), 19 },
        { PACKET3(IT_WRITE_DATA, 0x1000), 19 }, /* longer than the ring */
    };
    unsigned i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bus *b = start(3);
        uint32_t body[9] = { 0 };

        printf("# header 0x%08x\n", cases[i].header);
        emit_write(b, 3, OUT_VA, 1);
        EMIT(b, 3, cases[i].header);
        queue_emit(b, 3, body, 9);
        go(b, 3);
        CHECK_EQ(vram32(b, OUT), 1);
        check_bad(b, 3, 5, cases[i].code);
        bus_free(b);
    }
}

static void test_bad_others_go_on(void)
{
    Bus *b = start(0);

    queue_load(b, 1);
    EMIT(b, 0, PACKET3(0xee, 1), 0);
    emit_write(b, 1, OUT_VA, 7);
    queue_kick(b, 0);
    go(b, 1);
    CHECK_EQ(vram32(b, OUT), 7);
    /* After a dequeue the slot is as good as new. */
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 1);
    CHECK_EQ(rd(b, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(rd(b, mmCP_HQD_DEQUEUE_REQUEST), 0);
    queue_set_wptr(0, 0);
    queue_load(b, 0);
    emit_write(b, 0, OUT_VA + 4, 8);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT + 4), 8);
    bus_free(b);
}

static void test_skip(void)
{
    Bus *b = start(0);

    EMIT(b, 0, PACKET3(IT_SET_CONTEXT_REG, 2), 1, 1);
    EMIT(b, 0, PACKET3(IT_PRED_EXEC, 1), 0);
    emit_write(b, 0, OUT_VA, 3);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 3);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_SKIPPED), 2);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
    bus_free(b);
}

/* With every queue busy a run is bounded all the same, and no queue is left out. */
static void test_run_limit(void)
{
    Bus *b = start(0);
    unsigned i, n, done;
    uint64_t before = 0;
    uint32_t p[5];

    for (i = 0; i < VKFD_NUM_HQD; i++) {
        if (i) {
            queue_load(b, i);
        }
        for (n = 0; n < 100; n++) {
            queue_emit(b, i, p, pkt_write(p, OUT_VA + 4 * i, n + 1));
        }
        queue_kick(b, i);
    }
    for (n = 0; n < 4; n++) {
        b->scheduled = false;
        vkfd_engine_run(b->e);
        CHECK(b->scheduled);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET) - before, VKFD_CP_RUN_UNITS);
        before = counter(b, VKFD_CNT_PACKET);
    }
    for (i = 0, done = 0; i < VKFD_NUM_HQD; i++) {
        done += vram32(b, OUT + 4 * i) >= VKFD_CP_BUDGET_DEFAULT;
    }
    CHECK_EQ(done, VKFD_NUM_HQD);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 100 * VKFD_NUM_HQD);
    bus_free(b);
}

/* Each register a packet writes is paid for, and one packet writes a few only. */
static void test_register_cost(void)
{
    Bus *b = start(0);
    uint32_t p[4 + VKFD_PM4_MAX_REG_WRITES + 1];
    unsigned n, i;

    for (n = VKFD_PM4_MAX_REG_WRITES; n <= VKFD_PM4_MAX_REG_WRITES + 1; n++) {
        p[0] = PACKET3_COMPUTE(IT_WRITE_DATA, 3 + n);
        p[1] = WRITE_DATA__ADDR_INCR_DISABLE;
        p[2] = mmSCRATCH_REG0;
        p[3] = 0;
        for (i = 0; i < n; i++) {
            p[4 + i] = n + i;
        }
        queue_emit(b, 0, p, 4 + n);
        emit_write(b, 0, OUT_VA, n);
    }
    queue_kick(b, 0);
    b->scheduled = false;
    vkfd_engine_run(b->e);              /* the registers have used the visit up */
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 2 * VKFD_PM4_MAX_REG_WRITES - 1);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), VKFD_PM4_MAX_REG_WRITES);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 2 * VKFD_PM4_MAX_REG_WRITES - 1);
    check_bad(b, 0, VKFD_PM4_MAX_REG_WRITES + 4 + 5, 19);
    bus_free(b);
}

static void test_truncated(void)
{
    Bus *b = start(0);
    uint32_t p[8];
    unsigned n = pkt_write(p, OUT_VA, 9);

    /* In a ring the rest may still come. */
    queue_emit(b, 0, p, n - 1);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 0);
    queue_emit(b, 0, p + n - 1, 1);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 9);

    /* In an IB nothing more comes. */
    n = pkt_write(p, OUT_VA + 4, 9);
    memcpy(b->vram + IB_ADDR(0), p, n * 4);
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), n - 1, false));
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    bus_free(b);
}

static void test_wrap(void)
{
    Bus *b = bus_new();
    unsigned i, k;

    vm_setup(b);
    /* Wrapping at every dword of the packet; a 64-bit position beyond 32 bits. */
    for (k = 1; k < 5; k++) {
        queue_set_wptr(0, 0x1000000000ull + RING_DW - k);
        queue_load(b, 0);
        emit_write(b, 0, OUT_VA + k * 4, 0x100 + k);
        go(b, 0);
        CHECK_EQ(vram32(b, OUT + k * 4), 0x100 + k);
        hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 1);
    }
    /* Many rings' worth, one packet a doorbell and then full rings. */
    queue_set_wptr(0, 0);
    queue_load(b, 0);
    for (i = 0; i < 1000; i++) {
        emit_write(b, 0, OUT_VA, i);
        go(b, 0);
    }
    CHECK_EQ(vram32(b, OUT), 999);
    for (i = 0; i < 5; i++) {
        for (k = 0; k < RING_DW / 5 - 1; k++) {
            emit_write(b, 0, OUT_VA + 0x100, i * 1000 + k);
        }
        go(b, 0);
        CHECK_EQ(vram32(b, OUT + 0x100), i * 1000 + k - 1);
        CHECK_EQ(vram32(b, RPTR_ADDR(0)), queue_wptr(0) & (RING_DW - 1));
    }
    /* Exactly full */
    k = queue_wptr(0);
    for (i = 0; i < RING_DW; i++) {
        EMIT(b, 0, 0xffff1000);
    }
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 0);
    CHECK_EQ(b->e->hqd[0].rptr, k + RING_DW);
    bus_free(b);
}

static void test_wptr_nonsense(void)
{
    Bus *b = start(0);

    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 0xdeadbeefcafe0010ull, 8);
    bus_run(b);
    CHECK(counter(b, VKFD_CNT_GUEST_ERROR) >= 1);
    /* The ring is zeros: a type 0 header stops it, nothing runs for ever. */
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);

    b = start(0);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4 + 8, 4, 8);
    vkfd_doorbell_write(b->e, 0x100000, 4, 8);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL), 2);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 2);
    CHECK(!b->scheduled);
    hqd_wr(b, 0, mmCP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_DW(0) << 2);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 4, 8);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 3);
    bus_free(b);
}

static void test_ib(void)
{
    Bus *b = start(0);
    uint32_t p[16];
    unsigned n;

    n = pkt_write(p, OUT_VA, 1);
    n += pkt_ib(p + n, VA0 + IB_ADDR(1), 5, true);
    memcpy(b->vram + IB_ADDR(0), p, n * 4);
    pkt_write(p, OUT_VA + 4, 2);
    memcpy(b->vram + IB_ADDR(1), p, 20);
    /* IB_EXE_DISABLE is set in every user MQD and stops nothing. */
    hqd_wr(b, 0, mmCP_HQD_IB_CONTROL, 0x00b00000);
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), n, false));
    emit_write(b, 0, OUT_VA + 8, 3);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 4), 2);
    CHECK_EQ(vram32(b, OUT + 8), 3);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_IB_CONTROL) >> 31, 0);
    CHECK_EQ(vram32(b, RPTR_ADDR(0)), queue_wptr(0));

    /* An empty IB is nothing; a second level is refused. */
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), 0, false));
    pkt_ib(p, VA0 + IB_ADDR(1), 5, false);
    memcpy(b->vram + IB_ADDR(2), p, 16);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(2), 4, false));
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);
}

/* A chain to itself takes its budget, no more, and the others finish. */
static void test_fairness(void)
{
    Bus *b = start(0);
    uint32_t p[8];
    unsigned i;

    queue_load(b, 1);
    pkt_ib(p, VA0 + IB_ADDR(0), 4, true);
    memcpy(b->vram + IB_ADDR(0), p, 16);
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), 4, false));
    for (i = 0; i < 150; i++) {
        emit_write(b, 1, OUT_VA, i + 1);
    }
    queue_kick(b, 0);
    queue_kick(b, 1);
    for (i = 0; i < 3; i++) {
        uint64_t before = counter(b, VKFD_CNT_PACKET);

        CHECK(b->scheduled);
        b->scheduled = false;
        vkfd_engine_run(b->e);
        CHECK(counter(b, VKFD_CNT_PACKET) - before <= 2 * VKFD_CP_BUDGET_DEFAULT);
    }
    CHECK_EQ(vram32(b, OUT), 150);
    CHECK(b->scheduled);
    /* and it can be taken off at any time */
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 2);
    bus_run(b);
    CHECK(!b->scheduled);
    bus_free(b);
}

static void test_registers(void)
{
    Bus *b = start(0);

    EMIT(b, 0, PACKET3(IT_SET_SH_REG, 3), 0x0240, 0x11, 0x22);
    EMIT(b, 0, PACKET3(IT_SET_SH_REG, 2), 0x0000, 0x33);       /* graphics */
    EMIT(b, 0, PACKET3(IT_SET_UCONFIG_REG, 2), 0x40, 0xdeadbeef);
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 4), 0, mmSCRATCH_REG1, 0, 0x77);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 0);
    CHECK_EQ(hqd_rd(b, 0, mmCOMPUTE_USER_DATA_0), 0x11);
    CHECK_EQ(hqd_rd(b, 0, mmCOMPUTE_USER_DATA_0 + 1), 0x22);
    CHECK_EQ(hqd_rd(b, 1, mmCOMPUTE_USER_DATA_0), 0);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0xdeadbeef);
    CHECK_EQ(rd(b, mmSCRATCH_REG1), 0x77);
    /* A user queue may not touch what belongs to the kernel. */
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 4), 0, mmVM_CONTEXT0_CNTL, 0, 0);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    CHECK_EQ(ih_dw(b, 0, 0) & 0xffff, 0x14 | 184 << 8);
    CHECK(rd(b, mmVM_CONTEXT0_CNTL) != 0);
    bus_free(b);

    b = start(0);
    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM, 6), WAIT_REG_MEM_EQ, mmIH_RB_WPTR, 0, 0, 0, 4);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    bus_free(b);

    /* The kernel's own queue, VMID 0, may: here through the FB aperture. */
    b = start(0);
    queue_to_vmid0(b, 0);
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 4), 0, mmINTERRUPT_CNTL2, 0, 0x99);
    /* ... even take itself off, and is left alone then */
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 4), 0, mmCP_HQD_DEQUEUE_REQUEST, 0, 1);
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 4), 0, mmINTERRUPT_CNTL, 0, 0x98);
    queue_kick(b, 0);
    select_hqd(b, 0);
    bus_run(b);
    CHECK_EQ(rd(b, mmINTERRUPT_CNTL2), 0x99);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(rd(b, mmINTERRUPT_CNTL), 0);
    /* behind the packet that did it */
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 10);
    wr(b, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(rd(b, mmINTERRUPT_CNTL), 0x98);
    /* a soft reset in mid-packet leaves the queue where it was */
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 4), 0, mmGRBM_SOFT_RESET, 0, 1);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(rd(b, mmCP_HQD_PQ_RPTR), 15);
    bus_free(b);
}

/* Activation reads wptr from memory: a doorbell of before is not needed. */
static void test_activation(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    emit_write(b, 40, OUT_VA, 1);
    queue_emit(b, 40, NULL, 0);
    queue_kick(b, 40);                  /* dropped, not active */
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 1);
    /* queue_load starts at its wptr: put rptr back to 0 for it */
    {
        uint64_t w = queue_wptr(40);

        queue_set_wptr(40, 0);
        wr(b, mmCP_MEC_CNTL, 1u << 28);
        queue_load(b, 40);
        hqd_wr(b, 40, mmCP_HQD_DEQUEUE_REQUEST, 1);
        /* off, though its doorbell is still enabled: no match */
        vkfd_doorbell_write(b->e, DOORBELL_DW(40) * 4, 77, 8);
        CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 2);
        CHECK_EQ(rd(b, mmCP_HQD_PQ_WPTR_LO), 0);
        set_vram64(b, WPTR_ADDR(40), w);
        wr(b, mmCP_HQD_ACTIVE, 1);
        bus_run(b);
        CHECK_EQ(vram32(b, OUT), 0);    /* ME2 is halted */
        wr(b, mmCP_MEC_CNTL, 0);
        bus_run(b);
        CHECK_EQ(vram32(b, OUT), 1);
        /* one-shot poll, without a doorbell */
        queue_set_wptr(40, w);
        emit_write(b, 40, OUT_VA, 2);
        set_vram64(b, WPTR_ADDR(40), queue_wptr(40));
        select_hqd(b, 40);
        wr(b, mmCP_PQ_WPTR_POLL_CNTL1, 1u << 8);
        bus_run(b);
        CHECK_EQ(vram32(b, OUT), 2);
    }
    /* A kind of write pointer there is not: it stops and says so. */
    hqd_wr(b, 41, mmCP_HQD_PQ_CONTROL, 9 | 1u << 25);
    wr(b, mmCP_HQD_ACTIVE, 1);
    CHECK_EQ(b->e->hqd[41].stop, VKFD_STOP_UNSUPPORTED);
    bus_free(b);
}

/* The interrupt that says that a queue has run empty. */
static void test_run_empty(void)
{
    uint32_t p[16];
    unsigned i;

    for (i = 0; i < 2; i++) {
        Bus *b = bus_new();
        uint32_t wptr = 0;

        vm_setup(b);
        ih_setup(b, 8, 0);
        queue_load(b, 3);
        wr(b, mmCP_INT_CNTL_RING0,
           i ? CP_INT_CNTL_RING0__CNTX_EMPTY_INT_ENABLE_MASK : 0);
        queue_emit(b, 3, p, pkt_write(p, VA0 + 0x800000, 1));
        queue_emit(b, 3, p, pkt_write(p, VA0 + 0x800000, 2));
        queue_kick(b, 3);
        bus_run(b);
        wptr += i * 32;
        CHECK_EQ(rd(b, mmIH_RB_WPTR), wptr);
        if (i) {
            CHECK_EQ(ih_dw(b, 0, 0), SOC15_IH_CLIENTID_GRBM_CP |
                     GFX_9_0__SRCID__CP_CTX_EMPTY_INTERRUPT << 8 |
                     vkfd_hqd_ring_id(3) << 16 | TEST_VMID << 24);
            CHECK_EQ(ih_dw(b, 0, 3) & 0xffff, TEST_PASID);
        }
        /* A queue that waits has not run empty; one whose wait is over has. */
        queue_emit(b, 3, p, pkt_wait_mem(p, VA0 + 0x800000,
                                         WAIT_REG_MEM_EQ, 7, ~0u));
        queue_kick(b, 3);
        bus_run(b);
        CHECK_EQ(rd(b, mmIH_RB_WPTR), wptr);
        set_vram32(b, 0x800000, 7);
        bus_advance(b, 10000000);
        CHECK_EQ(rd(b, mmIH_RB_WPTR), wptr + i * 32);
        /* Nor has one that stands at a packet of which the end is missing. */
        EMIT(b, 3, PACKET3(IT_NOP, 3));
        queue_kick(b, 3);
        bus_run(b);
        CHECK_EQ(rd(b, mmIH_RB_WPTR), wptr + i * 32);
        bus_free(b);
    }
}

int main(void)
{
    test_run_empty();
    test_basic();
    test_release_order();
    test_release_selectors();
    test_bad();
    test_bad_others_go_on();
    test_skip();
    test_run_limit();
    test_register_cost();
    test_truncated();
    test_wrap();
    test_wptr_nonsense();
    test_ib();
    test_fairness();
    test_registers();
    test_activation();
    return tap_done();
}
