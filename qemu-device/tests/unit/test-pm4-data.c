/* SPDX-License-Identifier: MIT */
/*
 * COPY_DATA, DMA_DATA, ATOMIC_MEM, COND_EXEC, WAIT_REG_MEM64, DISPATCH_*: effects;
 * wrapped at each place of the ring, in an IB, cut off; addresses that fault.
 */
#include "harness.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define IN              0x820000u
#define IN_VA           (VA0 + IN)
#define BAD_VA          0x700000000ull          /* not mapped */
#define LO(va)          ((uint32_t)(va))
#define HI(va)          ((uint32_t)((uint64_t)(va) >> 32))
#define MARK            0x6d61726bu
#define MARK_OFF        (OUT + 0x8000)

static Bus *start(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, 0);
    queue_load(b, 0);
    bus_run(b);
    return b;
}

static void go(Bus *b, unsigned hqd)
{
    queue_kick(b, hqd);
    bus_run(b);
}

static void emit_mark(Bus *b, unsigned hqd)
{
    uint32_t p[8];

    queue_emit(b, hqd, p, pkt_write(p, VA0 + MARK_OFF, MARK));
}

static bool marked(Bus *b)
{
    return vram32(b, MARK_OFF) == MARK;
}

/* ---- every packet in every place ---- */

typedef struct Packet {
    const char *name;
    uint32_t dw[9];
    unsigned n;
    uint32_t expect;            /* what it leaves in the first dword of OUT */
} Packet;

static const Packet packets[] = {
    { "COPY_DATA", { PACKET3(IT_COPY_DATA, 5), COPY_DATA_SRC_MEM | 5 << 8,
      LO(IN_VA), HI(IN_VA), LO(OUT_VA), HI(OUT_VA) }, 6, 0x11 },
    { "DMA_DATA", { PACKET3(IT_DMA_DATA, 6), 0, LO(IN_VA), HI(IN_VA), LO(OUT_VA),
      HI(OUT_VA), 4 }, 7, 0x11 },
    { "ATOMIC_MEM", { PACKET3(IT_ATOMIC_MEM, 8), TC_OP_ATOMIC_ADD, LO(OUT_VA),
      HI(OUT_VA), 5, 0, 0, 0, 0 }, 9, 5 },
    { "COND_EXEC", { PACKET3(IT_COND_EXEC, 4), LO(IN_VA), HI(IN_VA), 0, 5 }, 5, 0 },
    { "WAIT_REG_MEM64", { PACKET3(IT_WAIT_REG_MEM64, 8), WAIT_REG_MEM_EQ | 1 << 4,
      LO(IN_VA), HI(IN_VA), 0x11, 0x22, ~0u, ~0u, 4 }, 9, 0 },
    { "DISPATCH_DIRECT", { PACKET3(IT_DISPATCH_DIRECT, 4), 1, 1, 1, 0x21 }, 5, 0 },
    { "DISPATCH_INDIRECT", { PACKET3(IT_DISPATCH_INDIRECT, 3), LO(IN_VA), HI(IN_VA),
      0x21 }, 4, 0 },
};
#define NUM_PACKETS (sizeof(packets) / sizeof(packets[0]))

static void set_input(Bus *b)
{
    set_vram32(b, IN, 0x11);
    set_vram32(b, IN + 4, 0x22);
    set_vram32(b, IN + 8, 0x33);
}

static void check_good(Bus *b, const Packet *p)
{
    CHECK_EQ(vram32(b, OUT), p->expect);
    CHECK(marked(b));
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD) + counter(b, VKFD_CNT_VM_FAULT), 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_SKIPPED), 0);
    CHECK_EQ(vram32(b, RPTR_ADDR(0)), queue_wptr(0) & (RING_DW - 1));
}

static void test_places(void)
{
    unsigned i, k;

    for (i = 0; i < NUM_PACKETS; i++) {
        const Packet *p = &packets[i];
        uint32_t ib[16];
        Bus *b;

        printf("# %s\n", p->name);
        for (k = 0; k < p->n; k++) {            /* k dwords before the ring's end */
            b = bus_new();
            vm_setup(b);
            set_input(b);
            queue_set_wptr(0, 5 * RING_DW - k);
            queue_load(b, 0);
            queue_emit(b, 0, p->dw, p->n);
            emit_mark(b, 0);
            go(b, 0);
            check_good(b, p);
            bus_free(b);
        }
        b = start();
        set_input(b);
        memcpy(ib, p->dw, p->n * 4);
        k = p->n + pkt_write(ib + p->n, VA0 + MARK_OFF, MARK);
        memcpy(b->vram + IB_ADDR(0), ib, k * 4);
        queue_emit(b, 0, ib, pkt_ib(ib, VA0 + IB_ADDR(0), k, false));
        go(b, 0);
        check_good(b, p);
        bus_free(b);
        /* cut off by the end of the IB */
        b = start();
        set_input(b);
        queue_emit(b, 0, ib, pkt_ib(ib, VA0 + IB_ADDR(0), p->n - 1, false));
        memcpy(b->vram + IB_ADDR(0), p->dw, p->n * 4);
        emit_mark(b, 0);
        go(b, 0);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
        CHECK(!marked(b) && vram32(b, OUT) == 0);
        bus_free(b);
        /* a dword too short, a dword too long */
        for (k = 0; k < 2; k++) {
            uint32_t pad[2] = { 0 };

            b = start();
            set_input(b);
            EMIT(b, 0, PACKET3((p->dw[0] >> 8) & 0xff, p->n - 2 + 2 * k));
            queue_emit(b, 0, p->dw + 1, p->n - 1);
            queue_emit(b, 0, pad, 2);
            emit_mark(b, 0);
            go(b, 0);
            CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
            CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_RESERVED);
            CHECK(!marked(b) && vram32(b, OUT) == 0);
            bus_free(b);
        }
    }
}

/* Each address of each packet: the queue stops, the fault names the address. */
static void test_faults(void)
{
    static const struct {
        unsigned packet, dw;
        bool write;
    } cases[] = {
        { 0, 2, false }, { 0, 4, true }, { 1, 2, false }, { 1, 4, true },
        { 2, 2, false }, { 3, 1, false }, { 4, 2, false }, { 6, 1, false },
    };
    unsigned i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Packet p = packets[cases[i].packet];
        Bus *b = start();

        printf("# %s, address at %u\n", p.name, cases[i].dw);
        set_input(b);
        p.dw[cases[i].dw] = LO(BAD_VA);
        p.dw[cases[i].dw + 1] = HI(BAD_VA);
        queue_emit(b, 0, p.dw, p.n);
        emit_mark(b, 0);
        go(b, 0);
        CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
        CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_ADDR_LO32), BAD_VA >> 12);
        CHECK_EQ(VKFD_GET(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS),
                          VM_L2_PROTECTION_FAULT_STATUS__RW), cases[i].write);
        CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 0);
        CHECK(!marked(b) && vram32(b, OUT) == 0);
        CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
        bus_free(b);
    }
}

/* ---- selectors that are not valid ---- */

static void test_reserved(void)
{
    static const struct {
        unsigned packet, dw;
        uint32_t set;
    } cases[] = {
        { 0, 1, 3 | 5 << 8 }, { 0, 1, 4 | 5 << 8 }, { 0, 1, 7 | 5 << 8 },
        { 0, 1, 11 | 5 << 8 }, { 0, 1, 1 | 1 << 8 }, { 0, 1, 1 | 3 << 8 },
        { 0, 1, 1 | 7 << 8 },
        { 1, 1, 1u << 29 }, { 1, 1, 1u << 20 }, { 1, 6, 4 | DMA_DATA__SAS },
        { 1, 6, 4 | DMA_DATA__DAS },
        { 2, 1, 0 }, { 2, 1, 1 }, { 2, 1, 0x20 }, { 2, 1, 0x1a }, { 2, 1, 0x40 },
        { 2, 1, TC_OP_ATOMIC_ADD | 4 << 8 },
        { 2, 1, TC_OP_ATOMIC_ADD | ATOMIC_MEM_LOOP << 8 },
        { 3, 4, RING_DW - 4 },                  /* more than the ring holds */
        { 4, 1, WAIT_REG_MEM_EQ }, { 4, 1, WAIT_REG_MEM_EQ | 1 << 4 | 1 << 6 },
    };
    unsigned i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Packet p = packets[cases[i].packet];
        Bus *b = start();

        printf("# %s, dword %u 0x%x\n", p.name, cases[i].dw, cases[i].set);
        set_vram32(b, IN, 0);
        p.dw[cases[i].dw] = cases[i].set;
        queue_emit(b, 0, p.dw, p.n);
        emit_mark(b, 0);
        go(b, 0);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
        CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_RESERVED);
        CHECK(!marked(b) && vram32(b, OUT) == 0);
        bus_free(b);
    }
}

/* What belongs to the kernel's rings, or not into an IB. */
static void test_flags(void)
{
    uint32_t p[4];
    uint64_t flushes;
    Bus *b = start();

    EMIT(b, 0, PACKET3(0xd2, 1), 0);            /* RUN_CLEANER_SHADER */
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_UNSUPPORTED);
    /* the same ring as VMID 0's */
    queue_to_vmid0(b, 0);
    EMIT(b, 0, PACKET3(0xd2, 1), 0);            /* RUN_CLEANER_SHADER */
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_SKIPPED), 1);
    /* and it is an interface queue */
    wr(b, mmRLC_CP_SCHEDULERS, 0x80 | 1 << 5);
    flushes = counter(b, VKFD_CNT_TLB_FLUSH);
    EMIT(b, 0, PACKET3(IT_INVALIDATE_TLBS, 1), 0);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_TLB_FLUSH), flushes + 1);
    set_vram32(b, IB_ADDR(0), PACKET3(IT_INVALIDATE_TLBS, 1));
    queue_emit(b, 0, p, pkt_ib(p, VKFD_FB_LOCATION_BASE + IB_ADDR(0), 2, false));
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 2);
    CHECK_EQ(counter(b, VKFD_CNT_TLB_FLUSH), flushes + 1);
    bus_free(b);
}

/* ---- COPY_DATA ---- */

static void copy(Bus *b, uint32_t src, uint64_t s, uint32_t dst, uint64_t d,
                 bool wide)
{
    EMIT(b, 0, PACKET3(IT_COPY_DATA, 5), src | dst << 8 | COPY_DATA__WR_CONFIRM |
         (wide ? COPY_DATA__COUNT_SEL : 0), LO(s), HI(s), LO(d), HI(d));
}

static void test_copy(void)
{
    Bus *b = start();

    set_vram64(b, IN, 0x1122334455667788ull);
    set_vram64(b, OUT, ~0ull);
    copy(b, COPY_DATA_SRC_MEM, IN_VA, COPY_DATA_DST_MEM, OUT_VA, false);
    copy(b, COPY_DATA_SRC_L2, IN_VA, COPY_DATA_DST_L2, OUT_VA + 8, true);
    copy(b, COPY_DATA_SRC_IMM, 0x99aabbccddeeff00ull, COPY_DATA_DST_MEM, OUT_VA + 16,
         true);
    copy(b, COPY_DATA_SRC_IMM, 0x99aabbccddeeff00ull, COPY_DATA_DST_MEM, OUT_VA + 24,
         false);
    copy(b, COPY_DATA_SRC_MEM, IN_VA, COPY_DATA_DST_REG, mmSCRATCH_REG0, true);
    copy(b, COPY_DATA_SRC_REG, mmSCRATCH_REG0 + 1, COPY_DATA_DST_REG_DC,
         mmSCRATCH_REG0 + 2, false);
    copy(b, COPY_DATA_SRC_REG, mmSCRATCH_REG0, COPY_DATA_DST_MEM, SYS_VA + 32, true);
    copy(b, COPY_DATA_SRC_GPU_CLOCK, 0, COPY_DATA_DST_MEM, OUT_VA + 40, true);
    copy(b, COPY_DATA_SRC_SYS_CLOCK, 0, COPY_DATA_DST_MEM, OUT_VA + 48, true);
    /* the low address bits a word cannot have */
    copy(b, COPY_DATA_SRC_MEM, IN_VA + 3, COPY_DATA_DST_MEM, OUT_VA + 56 + 7, true);
    go(b, 0);
    CHECK_EQ(vram64(b, OUT), 0xffffffff55667788ull);
    CHECK_EQ(vram64(b, OUT + 8), 0x1122334455667788ull);
    CHECK_EQ(vram64(b, OUT + 16), 0x99aabbccddeeff00ull);
    CHECK_EQ(vram64(b, OUT + 24), 0xddeeff00ull);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0x55667788);
    CHECK_EQ(rd(b, mmSCRATCH_REG0 + 1), 0x11223344);
    CHECK_EQ(rd(b, mmSCRATCH_REG0 + 2), 0x11223344);
    CHECK_EQ(sys32(b, 32), 0x55667788);
    CHECK_EQ(sys32(b, 36), 0x11223344);
    CHECK_EQ(vram64(b, OUT + 40), b->now / 10);
    CHECK_EQ(vram64(b, OUT + 48), b->now / 10);
    CHECK_EQ(vram64(b, OUT + 56), 0x1122334455667788ull);
    bus_free(b);

    /* what a user queue may not read or write, also as the high half of a pair */
    b = start();
    copy(b, COPY_DATA_SRC_REG, mmVM_CONTEXT0_CNTL, COPY_DATA_DST_MEM, OUT_VA, false);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_free(b);
    b = start();
    copy(b, COPY_DATA_SRC_IMM, 0, COPY_DATA_DST_REG, mmVM_CONTEXT0_CNTL, false);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    CHECK(rd(b, mmVM_CONTEXT0_CNTL) != 0);
    bus_free(b);
    b = start();
    copy(b, COPY_DATA_SRC_REG, mmSCRATCH_REG0 + 7, COPY_DATA_DST_MEM, OUT_VA, true);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    bus_free(b);
    b = start();
    copy(b, COPY_DATA_SRC_REG, VKFD_NUM_REGS, COPY_DATA_DST_MEM, OUT_VA, false);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    bus_free(b);
}

/* ---- DMA_DATA ---- */

static void dma(Bus *b, uint32_t ctl, uint64_t s, uint64_t d, uint32_t cmd)
{
    EMIT(b, 0, PACKET3(IT_DMA_DATA, 6), ctl, LO(s), HI(s), LO(d), HI(d), cmd);
}

static void test_dma(void)
{
    Bus *b = start();
    unsigned i, bad = 0;

    for (i = 0; i < 0x2000; i++) {
        b->vram[IN + i] = i * 7 + (i >> 8);
    }
    dma(b, 0, IN_VA + 3, OUT_VA + 5, 0x1001);   /* odd, across pages */
    go(b, 0);
    for (i = 0; i < 0x1001; i++) {
        bad += b->vram[OUT + 5 + i] != b->vram[IN + 3 + i];
    }
    CHECK_EQ(bad, 0);
    CHECK_EQ(b->vram[OUT + 4], 0);
    CHECK_EQ(b->vram[OUT + 5 + 0x1001], 0);

    /* a fill, the last word of it cut; nothing at all; L2; to system memory */
    dma(b, DMA_DATA_SRC_DATA << 29, 0x44332211, OUT_VA + 0x4000, 10);
    dma(b, DMA_DATA_SRC_DATA << 29, 0x55555555, OUT_VA + 0x4100, 0);
    dma(b, 3u << 29 | 3 << 20, IN_VA, SYS_VA + 0x200, 64);
    dma(b, DMA_DATA_DST_NOWHERE << 20, IN_VA, BAD_VA, 64);
    go(b, 0);
    CHECK_EQ(vram64(b, OUT + 0x4000), 0x4433221144332211ull);
    CHECK_EQ(vram32(b, OUT + 0x4008), 0x2211);
    CHECK_EQ(vram32(b, OUT + 0x4100), 0);
    CHECK(!memcmp(b->sys + 0x200, b->vram + IN, 64));
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 0);

    /* one source word for all, and all to one destination word */
    dma(b, 0, IN_VA + 0x40, OUT_VA + 0x4200, 12 | DMA_DATA__SAIC);
    dma(b, 0, IN_VA, OUT_VA + 0x4300, 16 | DMA_DATA__DAIC);
    go(b, 0);
    for (i = 0; i < 3; i++) {
        CHECK_EQ(vram32(b, OUT + 0x4200 + 4 * i), vram32(b, IN + 0x40));
    }
    CHECK_EQ(vram32(b, OUT + 0x420c), 0);
    CHECK_EQ(vram32(b, OUT + 0x4300), vram32(b, IN + 12));
    CHECK_EQ(vram32(b, OUT + 0x4304), 0);
    bus_free(b);
}

#define BIG             (10u * VKFD_PM4_DMA_SLICE + 12)
#define BIG_SRC         0xa00000u
#define BIG_DST         0xc00000u

static Bus *start_big(void)
{
    Bus *b = start();
    uint64_t seed = 4711, mqd = VKFD_FB_LOCATION_BASE + MQD_ADDR(0);
    unsigned i;

    for (i = 0; i < BIG; i += 4) {
        set_vram32(b, BIG_SRC + i, prng(&seed));
    }
    hqd_wr(b, 0, mmCP_MQD_BASE_ADDR, mqd);
    wr(b, mmCP_MQD_BASE_ADDR_HI, mqd >> 32);
    dma(b, 0, VA0 + BIG_SRC, VA0 + BIG_DST, BIG);
    emit_mark(b, 0);
    queue_kick(b, 0);
    return b;
}

static void run_once(Bus *b)
{
    CHECK(b->scheduled);
    b->scheduled = false;
    vkfd_engine_run(b->e);
}

/* A big copy takes turns, is paid for, and counts as one packet. */
static void test_dma_slices(void)
{
    Bus *b = start_big();
    uint32_t p[8], per_run;

    queue_load(b, 1);
    queue_emit(b, 1, p, pkt_write(p, OUT_VA, 1));
    queue_kick(b, 1);
    run_once(b);
    CHECK_EQ(vram32(b, OUT), 1);                /* the other one had its turn */
    per_run = vkfd_hqd_progress(&b->e->hqd[0]);
    CHECK(per_run >= 1 && per_run <= 5);        /* 64 units, 16 dwords of 256 each */
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 0);
    CHECK(memcmp(b->vram + BIG_DST, b->vram + BIG_SRC, BIG));
    bus_run(b);
    CHECK(!memcmp(b->vram + BIG_DST, b->vram + BIG_SRC, BIG));
    CHECK_EQ(vram32(b, BIG_DST + BIG), 0);
    CHECK(marked(b));
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 3);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_HQ_STATUS1), 0);
    bus_free(b);
}

/* Taken off in its middle it goes on there, in another slot loaded by the MQD. */
static void test_dma_dequeue(void)
{
    Bus *b = start_big();
    uint32_t done, first, i, saved[VKFD_HQD_DW];

    run_once(b);
    done = vkfd_hqd_progress(&b->e->hqd[0]);
    CHECK(done > 0);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_SAVE_WAVES);
    bus_run(b);
    CHECK_EQ(vram32(b, MQD_ADDR(0) + V9_MQD_DW_OF(mmCP_HQD_HQ_STATUS1) * 4),
             hqd_rd(b, 0, mmCP_HQD_HQ_STATUS1));
    /* what is done is not done again */
    first = vram32(b, BIG_DST);
    CHECK_EQ(first, vram32(b, BIG_SRC));
    set_vram32(b, BIG_DST, ~first);
    for (i = 0; i < VKFD_HQD_DW; i++) {
        saved[i] = hqd_rd(b, 0, mmCP_MQD_BASE_ADDR + i);
    }
    for (i = 0; i < VKFD_HQD_DW; i++) {
        hqd_wr(b, 35, mmCP_MQD_BASE_ADDR + i, saved[i]);
    }
    wr(b, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK(marked(b));
    CHECK_EQ(vram32(b, BIG_DST), ~first);
    set_vram32(b, BIG_DST, first);
    CHECK(!memcmp(b->vram + BIG_DST, b->vram + BIG_SRC, BIG));
    bus_free(b);

    /* a progress noted at another position, or beyond the end, is none */
    b = start_big();
    hqd_wr(b, 0, mmCP_HQD_HQ_STATUS1, VKFD_PROGRESS__VALID | 5 << 16 | 4);
    bus_run(b);
    CHECK(!memcmp(b->vram + BIG_DST, b->vram + BIG_SRC, BIG));
    bus_free(b);
    b = start_big();
    hqd_wr(b, 0, mmCP_HQD_HQ_STATUS1, VKFD_PROGRESS__VALID | 0xffff);
    bus_run(b);
    CHECK(marked(b));
    CHECK_EQ(vram32(b, BIG_DST), 0);
    bus_free(b);

    /* a page in the middle is missing: the copy ends there and says where */
    b = start_big();
    vm_map(b, VA0 + BIG_DST + 3 * VKFD_PM4_DMA_SLICE + 0x1000, 0);
    vm_flush(b, 0xffff);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_ADDR_LO32),
             (uint32_t)((VA0 + BIG_DST + 3 * VKFD_PM4_DMA_SLICE + 0x1000) >> 12));
    CHECK(!marked(b));
    bus_free(b);
}

/* ---- COND_EXEC ---- */

static void test_cond_exec(void)
{
    Bus *b = start();
    uint32_t p[16];
    unsigned n;

    /* zero: skipped; the rest of what is skipped comes later */
    EMIT(b, 0, PACKET3(IT_COND_EXEC, 4), LO(IN_VA), HI(IN_VA), 0, 5);
    n = pkt_write(p, OUT_VA, 7);
    queue_emit(b, 0, p, 2);
    go(b, 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 0);
    CHECK(!b->scheduled);
    queue_emit(b, 0, p + 2, n - 2);
    emit_mark(b, 0);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK(marked(b));
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 2);
    /* not zero: executed */
    set_vram32(b, IN, 0x80000000);
    EMIT(b, 0, PACKET3(IT_COND_EXEC, 4), LO(IN_VA), HI(IN_VA), 0, 5);
    queue_emit(b, 0, p, n);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 7);
    /* skipped across the end of the ring; to the exact end of an IB, and beyond */
    set_vram32(b, IN, 0);
    while (queue_wptr(0) < RING_DW - 7) {
        EMIT(b, 0, 0xffff1000);
    }
    pkt_write(p, OUT_VA, 8);
    EMIT(b, 0, PACKET3(IT_COND_EXEC, 4), LO(IN_VA), HI(IN_VA), 0, 5);
    queue_emit(b, 0, p, n);
    set_vram32(b, MARK_OFF, 0);
    emit_mark(b, 0);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 7);
    CHECK(marked(b));
    for (n = 5; n <= 6; n++) {
        const uint32_t ib[10] = {
            PACKET3(IT_COND_EXEC, 4), LO(IN_VA), HI(IN_VA), 0, n
        };

        memcpy(b->vram + IB_ADDR(0), ib, sizeof(ib));
        queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), 10, false));
        go(b, 0);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), n - 5);
    }
    bus_free(b);
}

/* ---- WAIT_REG_MEM64 ---- */

static void test_wait64(void)
{
    Bus *b = start();
    uint32_t p[8];

    queue_load(b, 1);
    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM64, 8), WAIT_REG_MEM_EQ | 1 << 4, LO(IN_VA),
         HI(IN_VA), 2, 1, 0xff, ~0u, 4);
    emit_mark(b, 0);
    go(b, 0);
    set_vram64(b, IN, 0x100000003ull);
    bus_advance(b, 5000000);
    CHECK(!marked(b));
    set_vram64(b, IN, 0x1ff02ull);
    bus_advance(b, 5000000);
    CHECK(!marked(b));                          /* the high half counts */
    /* the device writes that half: woken without the timer */
    queue_emit(b, 1, p, pkt_write(p, IN_VA + 4, 1));
    go(b, 1);
    CHECK(marked(b));
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 1);
    /* unsigned, 64 bits wide */
    set_vram64(b, IN, 0x8000000000000000ull);
    set_vram32(b, MARK_OFF, 0);
    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM64, 8), WAIT_REG_MEM_GT | 1 << 4, LO(IN_VA),
         HI(IN_VA), ~0u, 0x7fffffff, ~0u, ~0u, 4);
    emit_mark(b, 0);
    go(b, 0);
    CHECK(marked(b));
    bus_free(b);
}

/* ---- DISPATCH ---- */

static void test_dispatch(void)
{
    Bus *b = start();

    set_vram32(b, IN, 2);
    set_vram32(b, IN + 4, 3);
    set_vram32(b, IN + 8, 4);
    EMIT(b, 0, PACKET3(IT_DISPATCH_DIRECT, 4), 5, 6, 7, 0x21);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 1);
    CHECK_EQ(hqd_rd(b, 0, mmCOMPUTE_DIM_X + 2), 7);
    EMIT(b, 0, PACKET3(IT_DISPATCH_INDIRECT, 3), LO(IN_VA), HI(IN_VA), 0x21);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 2);
    CHECK_EQ(hqd_rd(b, 0, mmCOMPUTE_DIM_X), 2);
    CHECK_EQ(rd(b, mmCOMPUTE_DIM_X + 1), 3);
    /* nothing to run: no grid, or not enabled */
    EMIT(b, 0, PACKET3(IT_DISPATCH_DIRECT, 4), 5, 0, 7, 0x21);
    EMIT(b, 0, PACKET3(IT_DISPATCH_DIRECT, 4), 5, 6, 7, 0x20);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 2);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_SKIPPED), 0);
    /* told to refuse: an empty one still is nothing to refuse */
    b->e->dispatch_error = true;
    EMIT(b, 0, PACKET3(IT_DISPATCH_DIRECT, 4), 5, 0, 7, 0x21);
    emit_mark(b, 0);
    go(b, 0);
    CHECK(marked(b));
    set_vram32(b, MARK_OFF, 0);
    EMIT(b, 0, PACKET3(IT_DISPATCH_DIRECT, 4), 1, 1, 1, 0x21);
    emit_mark(b, 0);
    go(b, 0);
    CHECK(!marked(b));
    CHECK_EQ(counter(b, VKFD_CNT_DISPATCH_SKIPPED), 3);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_UNSUPPORTED);
    bus_free(b);
}

int main(void)
{
    test_places();
    test_faults();
    test_reserved();
    test_flags();
    test_copy();
    test_dma();
    test_dma_slices();
    test_dma_dequeue();
    test_cond_exec();
    test_wait64();
    test_dispatch();
    return tap_done();
}
