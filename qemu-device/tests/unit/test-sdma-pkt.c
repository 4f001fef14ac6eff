/* SPDX-License-Identifier: MIT */
/*
 * Each SDMA packet: right, across the end of the ring, in an IB, cut short, with
 * every bit that has to be 0 set, and with each of its addresses not mapped.
 */
#include "sdma-common.h"

#define MAX_DW          16
#define MAX_ADDR        3

typedef struct Packet {
    const char *name;
    uint32_t dw[MAX_DW];
    unsigned n;
    uint32_t header_ok;         /* header bits [31:16] that are no error */
    uint32_t rsv[MAX_DW];       /* bits that are one, by dword */
    unsigned addr[MAX_ADDR];    /* dwords where an address begins, 0: none */
    bool writes[MAX_ADDR];
    void (*setup)(Bus *b);
    bool (*done)(Bus *b);       /* its effect, and all of it, is there */
} Packet;

static bool nothing(Bus *b)
{
    (void)b;
    return true;
}

static void setup_src(Bus *b)
{
    fill_src(b, SRC, 0x4000);
}

/* 100 bytes at an odd address, their neighbours untouched. */
static bool copied(Bus *b)
{
    return pattern_len(b, OUT + 3, 100) == 100 && !b->vram[OUT + 2] &&
           !b->vram[OUT + 103];
}

static bool copied_twice(Bus *b)
{
    return copied(b) && pattern_len(b, OUT + 0x1003, 100) == 100 &&
           !b->vram[OUT + 0x1002] && !b->vram[OUT + 0x1067];
}

/*
 * Window of 3 x 2 x 2 elements of 4 bytes, from (1, 2, 1) of pitch 10, slice 50, to
 * (2, 1, 1) of pitch 8, slice 32.
 */
static bool window_copied(Bus *b)
{
    unsigned x, y, z, i, set = 0;

    for (z = 0; z < 2; z++) {
        for (y = 0; y < 2; y++) {
            for (x = 0; x < 3 * 4; x++) {
                uint32_t from = (1 + (2 + y) * 10 + (1 + z) * 50) * 4 + x;
                uint32_t to = (2 + (1 + y) * 8 + (1 + z) * 32) * 4 + x;

                if (b->vram[OUT + to] != b->vram[SRC + from] ||
                    b->vram[OUT + to] == 0) {
                    return false;
                }
            }
        }
    }
    for (i = 0; i < 0x1000; i++) {
        set += !!b->vram[OUT + i];
    }
    return set == 3 * 4 * 2 * 2;
}

static void setup_nonzero_src(Bus *b)
{
    memset(b->vram + SRC, 0x5a, 0x1000);
    fill_src(b, SRC, 0x1000);
    for (unsigned i = 0; i < 0x1000; i++) {
        b->vram[SRC + i] |= 1;
    }
}

static bool written(Bus *b)
{
    return vram32(b, OUT + 4) == 0x11111111 && vram32(b, OUT + 8) == 0x22222222 &&
           vram32(b, OUT + 12) == 0x33333333 && !vram32(b, OUT) &&
           !vram32(b, OUT + 16);
}

static bool fenced(Bus *b)
{
    return vram32(b, OUT) == 0xfe00ce && !vram32(b, OUT + 4);
}

static bool trapped(Bus *b)
{
    return rd(b, mmIH_RB_WPTR) == 32 && ih_dw(b, 0, 0) == 0x8802e008 &&
           ih_dw(b, 0, 3) == TEST_PASID && ih_dw(b, 0, 4) == 0xabcdef;
}

static bool no_trap(Bus *b)
{
    return rd(b, mmIH_RB_WPTR) == 0;
}

static bool skipped(Bus *b)
{
    return counter(b, VKFD_CNT_PACKET_SKIPPED) == 1;
}

static void setup_flag(Bus *b)
{
    set_vram32(b, FLAG, 0x50);
}

static void setup_scratch(Bus *b)
{
    wr(b, mmSCRATCH_REG2, 0x77);
}

static bool reg_stored(Bus *b)
{
    return vram32(b, OUT) == 0x77;
}

static void setup_atomic(Bus *b)
{
    set_vram64(b, OUT, 0x1ffffffff);
}

static bool added(Bus *b)
{
    return vram64(b, OUT) == 0x200000001 &&
           rd(b, mmSDMA0_ATOMIC_PREOP_LO) == 0xffffffff &&
           rd(b, mmSDMA0_ATOMIC_PREOP_HI) == 1;
}

static bool filled_dw(Bus *b)
{
    return vram32(b, OUT) == 0x12345678 && vram32(b, OUT + 16) == 0x12345678 &&
           !vram32(b, OUT + 20) && vram32(b, OUT + 8) == 0x12345678;
}

static bool filled_bytes(Bus *b)
{
    unsigned i;

    for (i = 0; i < 9; i++) {
        if (b->vram[OUT + 3 + i] != 0x78) {
            return false;
        }
    }
    return !b->vram[OUT + 2] && !b->vram[OUT + 12];
}

static void setup_ones(Bus *b)
{
    memset(b->vram + OUT, 0xff, 0x3000);
}

/* Three blocks of 8 bytes, 0x1000 apart. */
static bool filled_blocks(Bus *b)
{
    unsigned i, zero = 0;

    for (i = 0; i < 0x3000; i++) {
        zero += !b->vram[OUT + i];
    }
    return zero == 24 && !vram64(b, OUT) && !vram64(b, OUT + 0x1000) &&
           !vram64(b, OUT + 0x2000);
}

static bool ptes(Bus *b)
{
    unsigned i;

    for (i = 0; i < 5; i++) {
        if (vram64(b, OUT + 8 * i) != (0x100000000ull + 0x1000 * i) + 0x71) {
            return false;
        }
    }
    return !vram64(b, OUT + 40);
}

static bool stamped(Bus *b)
{
    return vram64(b, OUT) == vkfd_clock_now(b->e) && vram64(b, OUT);
}

/* What a queue of a user can do. Privileged ones have tests of their own. */
static const Packet packets[] = {
    { "NOP", { SDMA_OP_NOP | 3 << 16, 1, 2, 3 }, 4, 0x3fff0000, { 0 }, { 0 }, { 0 },
      NULL, nothing },
    { "COPY_LINEAR", { COPY(OUT_VA + 3, SRC_VA, 100) }, 7, 0x08000000,
      { 0, 0xffc00000, 0xffffffff }, { 3, 5 }, { false, true }, setup_src, copied },
    { "COPY_BROADCAST", { SDMA_OP_COPY | 1 << 27, 99, 0, LO(SRC_VA), HI(SRC_VA),
        LO(OUT_VA + 3), HI(OUT_VA), LO(OUT_VA + 0x1003), HI(OUT_VA) }, 9, 0x08000000,
      { 0, 0xffc00000, 0xffffffff }, { 3, 5, 7 }, { false, true, true }, setup_src,
      copied_twice },
    { "COPY_SUBWIN", { SDMA_PKT_HEADER(SDMA_OP_COPY, 4) | 2u << 29, LO(SRC_VA),
        HI(SRC_VA), 1 | 2 << 16, 1 | 9 << 13, 49, LO(OUT_VA), HI(OUT_VA), 2 | 1 << 16,
        1 | 7 << 13, 31, 2 | 1 << 16, 1 }, 13, 0xe0000000,
      { 0, 0, 0, 0xc000c000, 0x1800, 0xf0000000, 0, 0, 0xc000c000, 0x1800, 0xf0000000,
        0xc000c000, 0xfffff800 }, { 1, 6 }, { false, true }, setup_nonzero_src,
      window_copied },
    { "WRITE", { SDMA_OP_WRITE, LO(OUT_VA + 4), HI(OUT_VA), 2, 0x11111111, 0x22222222,
        0x33333333 }, 7, 0, { 0, 3, 0, 0xfff00000 }, { 1 }, { true }, NULL, written },
    { "FENCE", { FENCE(OUT_VA, 0xfe00ce) }, 4, 0, { 0, 3 }, { 1 }, { true }, NULL,
      fenced },
    { "TRAP", { TRAP(0xabcdef) }, 2, 0, { 0, 0xf0000000 }, { 0 }, { 0 }, NULL,
      trapped },
    { "SEMAPHORE", { SDMA_OP_SEM, 0, 0 }, 3, 0xe0000000, { 0 }, { 0 }, { 0 }, NULL,
      skipped },
    { "POLL_REGMEM", { POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 0x50, 0xff, 0xfff) }, 6,
      0xf4000000, { 0, 3, 0, 0, 0, 0xf0000000 }, { 1 }, { false }, setup_flag,
      nothing },
    { "POLL_REG_WRITE_MEM", { SDMA_PKT_HEADER(SDMA_OP_POLL_REGMEM, 1),
        mmSCRATCH_REG2 * 4, LO(OUT_VA), HI(OUT_VA) }, 4, 0, { 0, 3, 3 }, { 2 },
      { true }, setup_scratch, reg_stored },
    { "COND_EXE", { SDMA_OP_COND_EXE, LO(FLAG_VA), HI(FLAG_VA), 0x50, 0 }, 5, 0,
      { 0, 3, 0, 0, 0xffffc000 }, { 1 }, { false }, setup_flag, nothing },
    { "ATOMIC", { SDMA_OP_ATOMIC | SDMA_ATOMIC_ADD64 << 25, LO(OUT_VA), HI(OUT_VA), 2,
        0, 0, 0, 0 }, 8, 0xfe010000, { 0, 7, 0, 0, 0, 0, 0, 0xffffe000 }, { 1 },
      { false }, setup_atomic, added },       /* it reads first */
    { "CONST_FILL dw", { SDMA_OP_CONST_FILL | 2u << 30, LO(OUT_VA), HI(OUT_VA),
        0x12345678, 19 }, 5, 0xc0000000, { 0, 0, 0, 0, 0xffc00000 }, { 1 }, { true },
      NULL, filled_dw },
    { "CONST_FILL ROCr", { SDMA_OP_CONST_FILL | 2u << 30, LO(OUT_VA), HI(OUT_VA),
        0x12345678, 16 }, 5, 0xc0000000, { 0 }, { 1 }, { true }, NULL, filled_dw },
    { "CONST_FILL byte", { SDMA_OP_CONST_FILL, LO(OUT_VA + 3), HI(OUT_VA), 0x12345678,
        8 }, 5, 0xc0000000, { 0 }, { 1 }, { true }, NULL, filled_bytes },
    { "DATA_FILL_MULTI", { SDMA_PKT_HEADER(SDMA_OP_CONST_FILL, 1), 0x1000, 3,
        LO(OUT_VA), HI(OUT_VA), 7 }, 6, 0, { 0, 0, 0, 0, 0, 0xfc000000 }, { 3 },
      { true }, setup_ones, filled_blocks },
    { "PTEPDE_GEN", { SDMA_OP_PTEPDE, LO(OUT_VA), HI(OUT_VA), 0x71, 0, 0, 1, 0x1000, 0,
        4 }, 10, 0, { 0, 7, 0, 0, 0, 0, 0, 0, 0, 0xfff80000 }, { 1 }, { true }, NULL,
      ptes },
    { "TIMESTAMP_GET", { SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, 1), LO(OUT_VA),
        HI(OUT_VA) }, 3, 0, { 0, 7 }, { 1 }, { true }, NULL, stamped },
    { "TIMESTAMP_GET_GLOBAL", { SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, 2), LO(OUT_VA),
        HI(OUT_VA) }, 3, 0, { 0, 7 }, { 1 }, { true }, NULL, stamped },
    { "PRE_EXE", { SDMA_OP_PRE_EXE | 1 << 16, 0 }, 2, 0x00ff0000, { 0, 0xffffc000 },
      { 0 }, { 0 }, NULL, nothing },
    { "DUMMY_TRAP", { SDMA_OP_DUMMY_TRAP, 5 }, 2, 0, { 0, 0xf0000000 }, { 0 }, { 0 },
      NULL, no_trap },
};

#define NUM_PACKETS     (sizeof(packets) / sizeof(packets[0]))
#define Q               RLC(0, 3)
#define RING_BYTES      (4u << SDMA_RING_LOG2)

static Bus *start(const Packet *p)
{
    Bus *b = sdma_start();

    if (p->setup) {
        p->setup(b);
    }
    return b;
}

/* A NOP of n dwords in all. */
static void emit_nop(Bus *b, unsigned id, unsigned n)
{
    uint32_t nop[1 + 0x3fff] = { SDMA_OP_NOP | (n - 1) << 16 };

    sdma_emit(b, id, nop, n);
}

static void check_done(Bus *b, const Packet *p, bool fence)
{
    printf("# %s\n", p->name);
    CHECK(p->done(b));
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 0);
    CHECK_EQ(sdma_rptr(b, Q), sdma_wptrs[Q]);
    CHECK_EQ(vram64(b, RPTR_ADDR(Q)), sdma_wptrs[Q]);
    CHECK(sdma_idle(b, Q));
    CHECK_EQ(vram32(b, FLAG + 64), fence);
}

/* Where a packet of n dwords is cut: behind its header, in the middle, before its end. */
static unsigned next_cut(unsigned at, unsigned n)
{
    return at < n / 2 ? n / 2 : at < n - 1 ? n - 1 : n;
}

/* The fence behind shows that the length is right. */
static void test_right(const Packet *p)
{
    Bus *b = start(p);

    sdma_load(b, Q);
    sdma_emit(b, Q, p->dw, p->n);
    SEMIT(b, Q, FENCE(FLAG_VA + 64, 1));
    sdma_go(b, Q);
    check_done(b, p, true);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 2);
    bus_free(b);
}

static void test_wrapped(const Packet *p)
{
    unsigned at;

    for (at = 1; at < p->n; at = next_cut(at, p->n)) {
        Bus *b = start(p);

        sdma_wptrs[Q] = 0x7ffffff000;   /* and the pointer passes 2^32 */
        sdma_load(b, Q);
        emit_nop(b, Q, RING_BYTES / 4 - at);
        sdma_go(b, Q);
        sdma_emit(b, Q, p->dw, p->n);
        SEMIT(b, Q, FENCE(FLAG_VA + 64, 1));
        sdma_go(b, Q);
        check_done(b, p, true);
        bus_free(b);
    }
}

static void put_ib(Bus *b, const Packet *p, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        set_vram32(b, IB_ADDR(0) + 4 * i, p->dw[i]);
    }
    emit_nop(b, Q, 2);
    SEMIT(b, Q, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)), HI(VA0), n, 0, 0);
}

static void test_in_ib(const Packet *p)
{
    Bus *b = start(p);

    sdma_load(b, Q);
    put_ib(b, p, p->n);
    SEMIT(b, Q, FENCE(FLAG_VA + 64, 1));
    sdma_go(b, Q);
    check_done(b, p, true);
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 0);
    bus_free(b);
}

/* The rest of a packet comes late: until then nothing of it is done. */
static void test_short(const Packet *p)
{
    unsigned less;

    for (less = 1; less < p->n; less = next_cut(less, p->n)) {
        Bus *b = start(p);

        sdma_load(b, Q);
        sdma_emit(b, Q, p->dw, p->n);
        sdma_kick(b, Q, less);
        bus_run(b);
        CHECK_EQ(sdma_rptr(b, Q), 0);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET), 0);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
        CHECK(!sdma_idle(b, Q));
        CHECK(p->done == nothing || p->done == no_trap || !p->done(b));
        sdma_go(b, Q);
        check_done(b, p, false);
        bus_free(b);
    }
}

static void check_bad(Bus *b, const Packet *p, uint32_t header, uint32_t code)
{
    printf("# %s\n", p->name);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 0);
    CHECK(p->done == nothing || p->done == no_trap || !p->done(b));
    CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_BAD_PACKET);
    CHECK(!sdma_idle(b, Q));
    CHECK_EQ(ih_dw(b, 0, 0), 0x8802f108);
    CHECK_EQ(ih_dw(b, 0, 3), TEST_PASID);
    CHECK_EQ(ih_dw(b, 0, 4), (SDMA_DB(Q) / 2 & 0x3ff) | code << 10);
    CHECK_EQ(ih_dw(b, 0, 5), header);
    /* and it stays there */
    sdma_go(b, Q);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
}

/* Cut off by the end of its IB. */
static void test_truncated(const Packet *p)
{
    unsigned n;

    for (n = 1; n < p->n; n = next_cut(n, p->n)) {
        Bus *b = start(p);

        sdma_load(b, Q);
        /* the ring goes straight to the IB: no packet is counted before */
        sdma_wptrs[Q] = 8;
        swr(b, Q, RB_RPTR, 8);
        for (unsigned i = 0; i < n; i++) {
            set_vram32(b, IB_ADDR(0) + 4 * i, p->dw[i]);
        }
        SEMIT(b, Q, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)), HI(VA0), n, 0, 0);
        sdma_go(b, Q);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET), 1);
        b->e->counters[VKFD_CNT_PACKET] = 0;
        check_bad(b, p, p->dw[0], VKFD_EC_PACKET_RESERVED);
        CHECK_EQ(srd(b, Q, IB_RPTR), 0);
        CHECK_EQ(sdma_rptr(b, Q), 8);
        bus_free(b);
    }
}

/* On one bus after the other: nothing is done, so nothing is left behind. */
static void run_changed(Bus *b, const Packet *p, unsigned dw, uint32_t flip)
{
    Packet bad = *p;

    bad.dw[dw] ^= flip;
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    memset(b->e->counters, 0, sizeof(b->e->counters));
    wr(b, mmIH_RB_WPTR, 0);
    sdma_wptrs[Q] = 0;
    sdma_load(b, Q);
    sdma_emit(b, Q, bad.dw, bad.n);
    sdma_go(b, Q);
    printf("# dword %u bit 0x%08x\n", dw, flip);
    check_bad(b, p, bad.dw[0], VKFD_EC_PACKET_RESERVED);
}

static void test_reserved(const Packet *p)
{
    Bus *b = start(p);
    unsigned dw, bit;

    for (bit = 16; bit < 32; bit++) {
        if (!(p->header_ok & 1u << bit)) {
            run_changed(b, p, 0, 1u << bit);
        }
    }
    for (dw = 1; dw < p->n; dw++) {
        for (bit = 0; bit < 32; bit++) {
            if (p->rsv[dw] & 1u << bit) {
                run_changed(b, p, dw, 1u << bit);
            }
        }
    }
    bus_free(b);
}

static void test_fault(const Packet *p)
{
    unsigned i;

    for (i = 0; i < MAX_ADDR && p->addr[i]; i++) {
        Packet bad = *p;
        Bus *b = start(p);
        unsigned at = p->addr[i];

        bad.dw[at] = (LO(BAD_VA) & ~0xfffu) | (bad.dw[at] & 0xff8);
        bad.dw[at + 1] = HI(BAD_VA);
        sdma_load(b, Q);
        sdma_emit(b, Q, bad.dw, bad.n);
        sdma_go(b, Q);
        printf("# %s address %u\n", p->name, i);
        CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET), 0);
        CHECK(p->done == nothing || !p->done(b));
        CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_VM_FAULT);
        CHECK_EQ(sdma_rptr(b, Q), 0);
        /* client VMC, VMID of the MM hub, page, who it was */
        CHECK_EQ(ih_dw(b, 0, 0), 0x88080012);
        CHECK_EQ(ih_dw(b, 0, 3), TEST_PASID);
        CHECK_EQ(ih_dw(b, 0, 4), BAD_VA >> 12);
        CHECK_EQ(!!(ih_dw(b, 0, 5) & 0x20), p->writes[i]);
        CHECK_EQ(rd(b, mmMMHUB_VM_L2_PROTECTION_FAULT_STATUS) >> 9 & 0x1ff, 15);
        CHECK_EQ(rd(b, mmMMHUB_VM_L2_PROTECTION_FAULT_STATUS) >> 18 & 1, p->writes[i]);
        CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS), 0);
        bus_free(b);
    }
}

/* Opcodes that are none, and the forms of packets that are refused. */
static void test_unknown(void)
{
    static const uint32_t headers[] = {
        3, 17, 255, SDMA_PKT_HEADER(SDMA_OP_NOP, 1),
        SDMA_PKT_HEADER(SDMA_OP_COPY, 1), SDMA_PKT_HEADER(SDMA_OP_COPY, 3),
        SDMA_PKT_HEADER(SDMA_OP_COPY, 5), SDMA_PKT_HEADER(SDMA_OP_COPY, 6),
        SDMA_PKT_HEADER(SDMA_OP_COPY, 7), SDMA_PKT_HEADER(SDMA_OP_COPY, 8),
        SDMA_PKT_HEADER(SDMA_OP_WRITE, 1), SDMA_PKT_HEADER(SDMA_OP_POLL_REGMEM, 2),
        SDMA_PKT_HEADER(SDMA_OP_POLL_REGMEM, 3), SDMA_PKT_HEADER(SDMA_OP_PTEPDE, 1),
        SDMA_PKT_HEADER(SDMA_OP_PTEPDE, 2), SDMA_PKT_HEADER(SDMA_OP_PTEPDE, 3),
        SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, 3), SDMA_PKT_HEADER(SDMA_OP_CONST_FILL, 2),
    };
    static const Packet any = { "unknown", .done = nothing };
    unsigned i;

    for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        Bus *b = sdma_start();

        sdma_load(b, Q);
        SEMIT(b, Q, headers[i], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        sdma_go(b, Q);
        check_bad(b, &any, headers[i], VKFD_EC_PACKET_UNSUPPORTED);
        bus_free(b);
    }
}

static void one_bad(const uint32_t *dw, unsigned n, uint32_t code)
{
    static const Packet any = { "refused", .done = nothing };
    Bus *b = sdma_start();

    sdma_load(b, Q);
    sdma_emit(b, Q, dw, n);
    sdma_go(b, Q);
    check_bad(b, &any, dw[0], code);
    CHECK_EQ(vram64(b, OUT), 0);
    bus_free(b);
}

#define BAD(code, ...) do { \
        const uint32_t dw_[] = { __VA_ARGS__ }; \
        one_bad(dw_, sizeof(dw_) / 4, code); \
    } while (0)

/* What only the handlers can see. */
static void test_refused(void)
{
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_OP_CONST_FILL | 1u << 30, LO(OUT_VA),
        HI(OUT_VA), 1, 3);
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_OP_CONST_FILL | 3u << 30, LO(OUT_VA),
        HI(OUT_VA), 1, 3);
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_PKT_HEADER(SDMA_OP_COPY, 4) | 5u << 29,
        LO(SRC_VA), HI(SRC_VA), 0, 0, 0, LO(OUT_VA), HI(OUT_VA), 0, 0, 0, 0, 0);
    /* atomics: floating point, unaligned for its size */
    BAD(VKFD_EC_PACKET_UNSUPPORTED, SDMA_OP_ATOMIC | 0x22u << 25, LO(OUT_VA),
        HI(OUT_VA), 1, 0, 0, 0, 0);
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_OP_ATOMIC | 0x2fu << 25, LO(OUT_VA + 4),
        HI(OUT_VA), 1, 0, 0, 0, 0);
    /* polls: function 7, flush of memory */
    BAD(VKFD_EC_PACKET_RESERVED, POLL_MEM(7, FLAG_VA, 0, 0, 0xfff));
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_OP_POLL_REGMEM | 1u << 31 | 1 << 26,
        LO(FLAG_VA), HI(FLAG_VA), 0, 0, 0xfffu << 16);
    /* longer than the ring can be */
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_OP_NOP | 1024u << 16);
    BAD(VKFD_EC_PACKET_RESERVED, SDMA_OP_WRITE, LO(OUT_VA), HI(OUT_VA), 1021);
}

/* A user's packet changes no register of the kernel, and not the engine's clock. */
static void test_privileged(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    SEMIT(b, Q, SDMA_OP_SRBM_WRITE | 0xfu << 28, mmSCRATCH_REG0, 5);
    sdma_go(b, Q);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_PRIV_REG);
    CHECK_EQ(ih_dw(b, 0, 0), 0x8802f708);
    sdma_load(b, RLC(1, 0));
    SEMIT(b, RLC(1, 0), SDMA_PKT_HEADER(SDMA_OP_POLL_REGMEM, 1), mmIH_RB_CNTL * 4,
          LO(OUT_VA), HI(OUT_VA));
    sdma_go(b, RLC(1, 0));
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 2);
    CHECK_EQ(ih_dw(b, 1, 0), 0x8802f709);
    sdma_load(b, RLC(1, 1));
    SEMIT(b, RLC(1, 1), SDMA_OP_TIMESTAMP, 0, 0);
    sdma_go(b, RLC(1, 1));
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 3);
    CHECK_EQ(b->e->sdma_ts_offset[1], 0);

    /* the kernel may, whole or by bytes, and in an IB of its own only */
    sdma_load_vmid(b, GFX0, 0);
    SEMIT(b, GFX0, SDMA_OP_SRBM_WRITE | 0xfu << 28, mmSCRATCH_REG0, 0x01020304,
          SDMA_OP_SRBM_WRITE | 0x5u << 28, mmSCRATCH_REG0, 0xa0b0c0d0,
          SDMA_OP_SRBM_WRITE, mmSCRATCH_REG0, 0xffffffff,
          SDMA_OP_TIMESTAMP, 1000, 2);
    sdma_go(b, GFX0);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0x01b003d0);
    b->now += 10000;                    /* 1000 ticks */
    SEMIT(b, GFX0, SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, 1),
          LO(VKFD_FB_LOCATION_BASE + OUT), HI(VKFD_FB_LOCATION_BASE));
    sdma_go(b, GFX0);
    CHECK_EQ(vram64(b, OUT), 0x200000000ull + 2000);
    SEMIT(b, GFX0, SDMA_OP_SRBM_WRITE | 0xfu << 28, VKFD_NUM_REGS, 1);
    sdma_go(b, GFX0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 4);
    bus_free(b);

    b = sdma_start();
    sdma_load_vmid(b, GFX0, 0);
    set_vram32(b, IB_ADDR(0), SDMA_OP_SRBM_WRITE | 0xfu << 28);
    set_vram32(b, IB_ADDR(0) + 4, mmSCRATCH_REG0);
    set_vram32(b, IB_ADDR(0) + 8, 7);
    emit_nop(b, GFX0, 2);
    SEMIT(b, GFX0, SDMA_OP_INDIRECT | TEST_VMID << 16, LO(VA0 + IB_ADDR(0)), HI(VA0),
          3, 0, 0);
    sdma_go(b, GFX0);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 1);
    /* the entry is of the ring, which is the kernel's */
    CHECK_EQ(ih_dw(b, 0, 0), 0x8000f708);
    bus_free(b);
}

/* The other outcome of conditions. */
static void test_conditions(void)
{
    Bus *b = sdma_start();

    set_vram32(b, FLAG, 1);
    sdma_load(b, Q);
    SEMIT(b, Q, SDMA_OP_COND_EXE, LO(FLAG_VA), HI(FLAG_VA), 2, 8, FENCE(OUT_VA, 1),
          FENCE(OUT_VA + 4, 2), FENCE(OUT_VA + 8, 3));
    SEMIT(b, Q, SDMA_OP_COND_EXE, LO(FLAG_VA), HI(FLAG_VA), 1, 4, FENCE(OUT_VA + 12, 4),
          FENCE(OUT_VA + 16, 5));
    SEMIT(b, Q, SDMA_OP_PRE_EXE | 0xfe << 16, 4, FENCE(OUT_VA + 20, 6),
          FENCE(OUT_VA + 24, 7));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    CHECK_EQ(vram32(b, OUT + 8), 3);
    CHECK_EQ(vram32(b, OUT + 12), 4);
    CHECK_EQ(vram32(b, OUT + 16), 5);
    CHECK_EQ(vram32(b, OUT + 20), 0);
    CHECK_EQ(vram32(b, OUT + 24), 7);
    /* what is skipped comes later, in pieces; the queue is taken off in between */
    SEMIT(b, Q, SDMA_OP_COND_EXE, LO(FLAG_VA), HI(FLAG_VA), 2, 8, FENCE(OUT_VA, 8),
          FENCE(OUT_VA, 9), FENCE(OUT_VA + 28, 10));
    sdma_kick(b, Q, 10);
    bus_run(b);
    CHECK_EQ(srd(b, Q, SKIP_CNTL), 6);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 28), 10);
    CHECK_EQ(sdma_rptr(b, Q), sdma_wptrs[Q]);
    /* who writes rptr begins anew */
    SEMIT(b, Q, SDMA_OP_PRE_EXE, 4);
    sdma_go(b, Q);
    CHECK_EQ(srd(b, Q, SKIP_CNTL), 4);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    sdma_load(b, Q);
    CHECK_EQ(srd(b, Q, SKIP_CNTL), 0);

    /* in an IB it has to end there */
    set_vram32(b, IB_ADDR(0), SDMA_OP_PRE_EXE);
    set_vram32(b, IB_ADDR(0) + 4, 3);
    while ((sdma_wptrs[Q] / 4 + 6) % 8) {
        emit_nop(b, Q, 1);
    }
    SEMIT(b, Q, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)), HI(VA0), 4, 0, 0);
    sdma_go(b, Q);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);
}

int main(void)
{
    unsigned i;

    for (i = 0; i < NUM_PACKETS; i++) {
        test_right(&packets[i]);
        test_wrapped(&packets[i]);
        test_in_ib(&packets[i]);
        test_short(&packets[i]);
        test_truncated(&packets[i]);
        test_reserved(&packets[i]);
        test_fault(&packets[i]);
    }
    test_unknown();
    test_refused();
    test_privileged();
    test_conditions();
    return tap_done();
}
