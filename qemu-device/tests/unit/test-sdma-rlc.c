/* SPDX-License-Identifier: MIT */
/*
 * SDMA user queues under a scheduler: load, unload and go on elsewhere; migration;
 * saved state that lies; fault injection.
 */
#include "sdma-common.h"

#define STATE_FIRST     offsetof(VKFDEngine, regs)
#define STATE_END       offsetof(VKFDEngine, bar0)

/* An MQD as amdkfd makes it: nothing that is not needed. ring and wptr of slot n. */
static void make_mqd(Bus *b, unsigned n, uint32_t *mqd)
{
    uint64_t ring = VA0 + RING(n), rptr = VA0 + RPTR_ADDR(n), poll = VA0 + WPTR_ADDR(n);

    memset(mqd, 0, V9_SDMA_MQD_DW * 4);
    mqd[V9_SDMA_MQD_RB_CNTL_DW] = sdma_rb_cntl(3);
    mqd[V9_SDMA_MQD_RB_BASE_DW] = ring >> 8;
    mqd[V9_SDMA_MQD_RB_BASE_HI_DW] = ring >> 40;
    mqd[V9_SDMA_MQD_RB_RPTR_ADDR_LO_DW] = rptr;
    mqd[V9_SDMA_MQD_RB_RPTR_ADDR_HI_DW] = rptr >> 32;
    mqd[V9_SDMA_MQD_DOORBELL_OFFSET_DW] = SDMA_DB(n) << 2;
    mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW] = poll;
    mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW] = poll >> 32;
    mqd[27] = 0xf;
    set_vram64(b, WPTR_ADDR(n), sdma_wptrs[n]);
}

static void test_load(void)
{
    Bus *b = sdma_start();
    uint32_t mqd[V9_SDMA_MQD_DW];
    unsigned n = RLC(0, 0), i;

    SEMIT(b, n, FENCE(OUT_VA, 1), TRAP(5));
    make_mqd(b, n, mqd);
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 0), 0);
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 1), 0);
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 2), -1);
    CHECK(!vkfd_sdma_rlc_load(b->e, 2, 0, TEST_VMID, mqd));
    CHECK(!vkfd_sdma_rlc_load(b->e, 0, 8, TEST_VMID, mqd));
    CHECK(!vkfd_sdma_rlc_load(b->e, 0, 0, 16, mqd));
    CHECK(!vkfd_sdma_rlc_unload(b->e, 0, 0, mqd));
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 0, 0), VKFD_SDMA_OFF);
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 9, 9), VKFD_SDMA_OFF);
    CHECK(vkfd_sdma_rlc_load(b->e, 0, 0, TEST_VMID, mqd));
    CHECK(!vkfd_sdma_rlc_load(b->e, 0, 0, TEST_VMID, mqd));
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 0), 1);
    /* wptr was in memory: it runs without a doorbell, in the VMID it was given */
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 0, 0), VKFD_SDMA_BUSY);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(ih_dw(b, 0, 0), 0x8802e008);
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 0, 0), VKFD_SDMA_IDLE);
    /* and by its doorbell */
    SEMIT(b, n, FENCE(OUT_VA, 2));
    sdma_go(b, n);
    CHECK_EQ(vram32(b, OUT), 2);
    /* all eight, then none */
    for (i = 1; i < VKFD_SDMA_NUM_RLC; i++) {
        make_mqd(b, RLC(0, i), mqd);
        CHECK_EQ(vkfd_sdma_rlc_free(b->e, 0), (int)i);
        CHECK(vkfd_sdma_rlc_load(b->e, 0, i, TEST_VMID, mqd));
    }
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 0), -1);
    CHECK(vkfd_sdma_rlc_unload(b->e, 0, 5, NULL));
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 0), 5);
    /* off: its doorbell is nobody's */
    SEMIT(b, RLC(0, 5), FENCE(OUT_VA, 3));
    sdma_go(b, RLC(0, 5));
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 1);
    bus_free(b);

    /* wptr memory that is not there: loaded, and stopped by the fault */
    b = sdma_start();
    make_mqd(b, n, mqd);
    mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW] = BAD_VA >> 32;
    CHECK(vkfd_sdma_rlc_load(b->e, 1, 7, TEST_VMID, mqd));
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 1, 7), VKFD_SDMA_STOPPED);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
    CHECK_EQ(ih_dw(b, 0, 0), 0x88080012);
    CHECK_EQ(rd(b, mmMMHUB_VM_L2_PROTECTION_FAULT_STATUS) >> 9 & 0x1ff, 46);
    CHECK(vkfd_sdma_rlc_unload(b->e, 1, 7, mqd));
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 1, 7), VKFD_SDMA_OFF);
    /* no address: wptr of the MQD */
    make_mqd(b, n, mqd);
    mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW] = mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW] = 0;
    sdma_wptrs[n] = 0;
    SEMIT(b, n, FENCE(OUT_VA, 7));
    mqd[V9_SDMA_MQD_RB_WPTR_DW] = 16;
    CHECK(vkfd_sdma_rlc_load(b->e, 1, 7, TEST_VMID, mqd));
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 7);
    bus_free(b);
}

/* Of a page without memory nothing ever changes; and wptr may lie across two pages. */
static void test_nothing_to_watch(void)
{
    const uint64_t va = 0x400007000ull;
    Bus *b = sdma_start();
    uint32_t mqd[V9_SDMA_MQD_DW];
    unsigned n = RLC(0, 0);
    uint64_t pa;

    vm_map(b, va, AMDGPU_PTE_PRT);
    SEMIT(b, n, POLL_MEM(WAIT_REG_MEM_EQ, va, 1, ~0u, 0xfff));
    make_mqd(b, n, mqd);
    vkfd_sdma_rlc_load(b->e, 0, 0, TEST_VMID, mqd);
    bus_run(b);
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 0, 0), VKFD_SDMA_PARKED);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 0, 0, &pa), 0);
    vkfd_sdma_rlc_unload(b->e, 0, 0, NULL);

    sdma_wptrs[n] = 0;
    set_vram64(b, OUT + 0xffc, 0);
    make_mqd(b, n, mqd);
    mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW] = LO(OUT_VA + 0xffc);
    mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW] = HI(OUT_VA);
    mqd[V9_SDMA_MQD_RB_CNTL_DW + mmSDMA0_GFX_RB_WPTR_POLL_CNTL - mmSDMA0_GFX_RB_CNTL] =
        SDMA0_GFX_RB_WPTR_POLL_CNTL__ENABLE_MASK;
    vkfd_sdma_rlc_load(b->e, 0, 0, TEST_VMID, mqd);
    bus_run(b);
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 0, 0), VKFD_SDMA_PARKED);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 0, 0, &pa), 0);
    bus_free(b);
}

/* Parked in an IB; moved to the other engine, where it goes on in the wait. */
static void test_move_parked(void)
{
    const uint32_t ib[] = {
        FENCE(OUT_VA, 1), POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0xfff),
        FENCE(OUT_VA + 4, 2), TRAP(1),
    };
    Bus *b = sdma_start();
    uint32_t mqd[V9_SDMA_MQD_DW];
    unsigned i, n = RLC(0, 2), len = sizeof(ib) / 4;
    uint64_t pa;

    for (i = 0; i < len; i++) {
        set_vram32(b, IB_ADDR(0) + 4 * i, ib[i]);
    }
    SEMIT(b, n, SDMA_OP_NOP | 1 << 16, 0, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)),
          HI(VA0), len, 0, 0);
    SEMIT(b, n, FENCE(OUT_VA + 8, 3));
    make_mqd(b, n, mqd);
    vkfd_sdma_rlc_load(b->e, 0, 2, TEST_VMID, mqd);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vkfd_sdma_rlc_state(b->e, 0, 2), VKFD_SDMA_PARKED);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 0, 2, &pa), 4);
    CHECK_EQ(pa, FLAG);
    /* about to look again, then it has */
    vkfd_sdma_rlc_look(b->e, 0, 2);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 0, 2, &pa), 0);
    bus_run(b);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 0, 2, &pa), 4);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 0, 3, &pa), 0);
    CHECK_EQ(vkfd_sdma_rlc_wait(b->e, 2, 0, &pa), 0);
    vkfd_sdma_rlc_look(b->e, 2, 8);
    CHECK(vkfd_sdma_rlc_unload(b->e, 0, 2, mqd));
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    CHECK_EQ(mqd[V9_SDMA_MQD_RB_RPTR_DW], 8);
    CHECK_EQ(mqd[V9_SDMA_MQD_RB_CNTL_DW] & 1, 0);
    /* nobody's any more */
    set_vram32(b, OUT, 0);
    set_vram32(b, FLAG, 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    /* meanwhile the slot is used by somebody else */
    {
        uint32_t other[V9_SDMA_MQD_DW];

        sdma_wptrs[RLC(0, 3)] = 0;
        SEMIT(b, RLC(0, 3), FENCE(OUT_VA + 12, 4));
        make_mqd(b, RLC(0, 3), other);
        vkfd_sdma_rlc_load(b->e, 0, 2, TEST_VMID, other);
        bus_run(b);
        CHECK_EQ(vram32(b, OUT + 12), 4);
    }
    CHECK(vkfd_sdma_rlc_load(b->e, 1, 6, TEST_VMID, mqd));
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);        /* what was done is not done again */
    CHECK_EQ(vram32(b, OUT + 4), 2);
    CHECK_EQ(vram32(b, OUT + 8), 3);
    CHECK_EQ(ih_dw(b, 0, 0), 0x8802e009);
    CHECK_EQ(vram64(b, RPTR_ADDR(n)), sdma_wptrs[n]);
    bus_free(b);
}

/* Unloaded in the middle of a copy, again and again: each byte is copied once. */
static void test_move_copy(void)
{
    const uint32_t len = 0x200000;
    Bus *b = sdma_start();
    uint32_t mqd[V9_SDMA_MQD_DW], last = 0;
    unsigned n = RLC(0, 0), moves = 0, engine = 0;

    fill_src(b, SRC, len);
    SEMIT(b, n, COPY(VA0 + 0xc00001, SRC_VA, len), FENCE(OUT_VA, 1));
    make_mqd(b, n, mqd);
    b->e->cp_budget = VKFD_SDMA_SLICE_UNITS;
    while (moves < 100) {
        CHECK(vkfd_sdma_rlc_load(b->e, engine, 3, TEST_VMID, mqd));
        b->scheduled = false;
        vkfd_engine_run(b->e);
        CHECK(vkfd_sdma_rlc_unload(b->e, engine, 3, mqd));
        if (vram32(b, OUT)) {
            break;
        }
        CHECK(mqd[V9_SDMA_MQD_MIDCMD_DATA0_DW] > last);
        last = mqd[V9_SDMA_MQD_MIDCMD_DATA0_DW];
        /* what is behind must not be touched again, what is ahead not yet */
        CHECK_EQ(b->vram[0xc00001 + last - 1], pattern(last - 1));
        CHECK_EQ(b->vram[0xc00001 + last], 0);
        b->vram[SRC] = 0;
        moves++;
        engine ^= 1;
    }
    CHECK(moves >= 7 && moves < 12);
    b->vram[SRC] = pattern(0);
    CHECK_EQ(pattern_len(b, 0xc00001, len), len);
    bus_free(b);
}

static Bus *migrate(const Bus *src)
{
    Bus *b = bus_new();

    memcpy((char *)b->e + STATE_FIRST, (const char *)src->e + STATE_FIRST,
           STATE_END - STATE_FIRST);
    memcpy(b->vram, src->vram, VRAM_SIZE);
    memcpy(b->sys, src->sys, SYS_SIZE);
    b->now = 5;
    return b;
}

/* One parked, one in the middle of a copy, one with work, one stopped. */
static Bus *busy_bus(void)
{
    Bus *b = sdma_start();

    fill_src(b, SRC, 0x100000);
    sdma_load(b, RLC(0, 0));
    sdma_load(b, RLC(0, 1));
    sdma_load(b, RLC(1, 2));
    sdma_load(b, PAGE1);
    SEMIT(b, RLC(0, 0), POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0xfff),
          FENCE(OUT_VA, 1));
    SEMIT(b, RLC(0, 1), COPY(VA0 + 0xc00000, SRC_VA, 0x100000), FENCE(OUT_VA + 4, 1));
    SEMIT(b, PAGE1, 0xff);
    sdma_go(b, RLC(0, 0));
    sdma_go(b, PAGE1);
    sdma_kick(b, RLC(0, 1), 0);
    vkfd_engine_run(b->e);
    SEMIT(b, RLC(1, 2), FENCE(OUT_VA + 8, 1));
    sdma_kick(b, RLC(1, 2), 0);
    b->e->sdma_ts_offset[1] = 77;
    return b;
}

static void test_migrate(void)
{
    Bus *src = busy_bus(), *b = migrate(src);

    CHECK(srd(b, RLC(0, 1), MIDCMD_DATA0) && !vram32(b, OUT + 4));
    b->e->sdma[RLC(0, 0)].wait_deadline = INT64_MAX;
    CHECK(vkfd_engine_post_load(b->e));
    CHECK(b->scheduled);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 4), 1);
    CHECK_EQ(pattern_len(b, 0xc00000, 0x100000), 0x100000);
    CHECK_EQ(vram32(b, OUT + 8), 1);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(sdma_exception(b, PAGE1), VKFD_STOP_BAD_PACKET);
    CHECK(b->timer[VKFD_TIMER_WAIT] > 0);
    set_vram32(b, FLAG, 1);
    bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(b->e->sdma_ts_offset[1], 77);
    bus_free(b);
    bus_free(src);
}

static void test_hostile_state(void)
{
    Bus *src = busy_bus();
    unsigned i;

    for (i = 0; i < 17; i++) {
        Bus *b = migrate(src);
        VKFDEngine *e = b->e;
        bool good = false;

        switch (i) {
        case 0: e->next_sdma = VKFD_NUM_SDMA_QUEUES; break;
        case 1: e->sdma[4].stop = VKFD_STOP_MAX; break;
        case 2: e->sdma[RLC(0, 0)].parked = VKFD_PARKED_WPTR + 1; break;
        case 3: e->sdma[7].parked = VKFD_PARKED_WAIT; break;    /* not on */
        case 4: e->sdma[RLC(0, 0)].wait_interval = 0; break;
        case 5: e->sdma[RLC(0, 0)].wait_interval = UINT32_MAX; break;
        case 6: e->sdma[RLC(0, 0)].stop = VKFD_STOP_BAD_PACKET; break;
        case 7: e->sdma[RLC(0, 1)].poll_now = 1; break;         /* not parked */
        case 8: e->sdma[RLC(0, 0)].poll_now = 2; break;
        case 9: e->sdma[RLC(0, 0)].wait_mem = 2; break;
        case 10: e->sdma[RLC(0, 0)].held = 0x80; break;
        case 11: e->sdma[9].held = VKFD_SDMA_HELD_STALLED; break;       /* not on */
        case 12: e->sdma[RLC(0, 0)].parked = VKFD_PARKED_WPTR;
                 e->sdma[RLC(0, 0)].wait_interval = 1; break;
        case 13:        /* progress past the end: it is done */
            SDMA(e, RLC(0, 1), MIDCMD_DATA0) = UINT32_MAX;
            good = true;
            break;
        case 14:        /* an IB that ends before it begins, a skip of anything */
            SDMA(e, RLC(0, 1), IB_SIZE) = UINT32_MAX;
            SDMA(e, RLC(0, 1), IB_RPTR) = UINT32_MAX;
            SDMA(e, RLC(0, 1), SKIP_CNTL) = UINT32_MAX;
            good = true;
            break;
        case 15:        /* on its way off, and nobody remembers why */
            e->sdma[RLC(0, 0)].held = VKFD_SDMA_HELD_DEQUEUING;
            SDMA(e, RLC(0, 0), RB_CNTL) &= ~1u;
            break;
        default:
            e->sdma[RLC(0, 0)].wait_pa = UINT64_MAX;
            e->sdma[RLC(0, 0)].wait_deadline = INT64_MIN;
            e->sdma[RLC(0, 1)].reported_rptr = UINT64_MAX;
            good = true;
            break;
        }
        printf("# case %u\n", i);
        CHECK_EQ(vkfd_engine_post_load(e), good);
        if (!good) {
            CHECK_EQ(srd(b, RLC(0, 0), RB_CNTL), 0x00040000);
            CHECK_EQ(e->sdma_active, 0);
        }
        bus_run(b);
        bus_advance(b, 10000000);
        bus_free(b);
    }
    bus_free(src);
}

/* ---- fault injection ---- */

static void arm(Bus *b, const char *text)
{
    VKFDInjectError err;

    CHECK(vkfd_inject_arm(b->e, text, &err));
}

#define Q       RLC(1, 1)

static void test_inject_doorbell(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    arm(b, "doorbell:drop@1;doorbell:delay:5us@2;doorbell:corrupt:^0x10@3");
    SEMIT(b, Q, FENCE(OUT_VA, 1), FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_advance(b, 5000);
    CHECK_EQ(vram32(b, OUT), 2);
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    sdma_go(b, Q);                      /* 48 becomes 32: nothing */
    CHECK_EQ(vram32(b, OUT), 2);
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 3);
    bus_free(b);
}

static void test_inject_fetch(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    arm(b, "fetch:drop@1;fetch:dup@3;fetch:delay:5us@4;fetch:hang@6");
    set_vram64(b, FLAG, 10);
    fill_src(b, SRC, 0x100000);
    SEMIT(b, Q, FENCE(OUT_VA, 1), FENCE(OUT_VA + 4, 2));
    SEMIT(b, Q, SDMA_OP_ATOMIC | SDMA_ATOMIC_ADD64 << 25, LO(FLAG_VA), HI(FLAG_VA), 1, 0, 0,
          0, 0);
    SEMIT(b, Q, COPY(VA0 + 0xc00000, SRC_VA, 0x100000));
    SEMIT(b, Q, FENCE(OUT_VA + 8, 3), FENCE(OUT_VA + 12, 4), FENCE(OUT_VA + 16, 5));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 4), 2);
    CHECK_EQ(vram64(b, FLAG), 12);
    CHECK_EQ(b->vram[0xc00000], 0);
    bus_advance(b, 4999);
    CHECK_EQ(b->vram[0xc00000], 0);
    bus_advance(b, 1);
    /* the copy was one passage, in all its slices */
    CHECK_EQ(pattern_len(b, 0xc00000, 0x100000), 0x100000);
    CHECK_EQ(vram32(b, OUT + 8), 3);
    CHECK_EQ(vram32(b, OUT + 12), 0);
    bus_advance(b, 1000000000);
    CHECK_EQ(vram32(b, OUT + 12), 0);
    CHECK(!sdma_idle(b, Q));
    /* hangs until it is off; on again it goes on with the packet */
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    CHECK(sdma_idle(b, Q));
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 12), 4);
    CHECK_EQ(vram32(b, OUT + 16), 5);
    CHECK_EQ(counter(b, VKFD_CNT_INJECTED), 4);

    /* a wait is one passage; a doubled copy in slices comes twice; corrupt is bad */
    arm(b, "fetch:dup@2;fetch:corrupt@4");
    SEMIT(b, Q, POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0xfff));
    SEMIT(b, Q, COPY(VA0 + 0xc00000, SRC_VA, 0x80000), FENCE(OUT_VA, 6), FENCE(OUT_VA, 7));
    sdma_go(b, Q);
    bus_advance(b, 10000000);
    set_vram64(b, FLAG, 1);
    {
        uint64_t packets = counter(b, VKFD_CNT_PACKET);

        bus_advance(b, 10000000);
        CHECK_EQ(vram32(b, OUT), 6);
        CHECK_EQ(counter(b, VKFD_CNT_PACKET), packets + 4);
    }
    CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_BAD_PACKET);
    CHECK_EQ(counter(b, VKFD_CNT_INJECTED), 6);
    bus_free(b);
}

static void test_inject_slot(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    arm(b, "slot:drop@1;slot:delay:5us@2;slot:corrupt:=9@3;slot:delay:1s@4/1");
    SEMIT(b, Q, FENCE(OUT_VA, 1), FENCE(OUT_VA + 4, 2), FENCE(OUT_VA + 8, 3));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    CHECK_EQ(vram32(b, OUT + 8), 9);
    bus_advance(b, 5000);
    CHECK_EQ(vram32(b, OUT + 4), 2);
    /* no late write outlives the mapping, on its hub, or the queue */
    SEMIT(b, Q, FENCE(OUT_VA + 12, 4));
    sdma_go(b, Q);
    wr(b, mmVM_INVALIDATE_ENG0_REQ, 1 << TEST_VMID);
    CHECK_EQ(vram32(b, OUT + 12), 0);
    wr(b, mmMMHUB_VM_INVALIDATE_ENG0_REQ, 1 << TEST_VMID);
    CHECK_EQ(vram32(b, OUT + 12), 4);
    SEMIT(b, Q, FENCE(OUT_VA + 16, 5));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT + 16), 0);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    CHECK_EQ(vram32(b, OUT + 16), 5);
    CHECK_EQ(b->timer[VKFD_TIMER_INJECT], -1);
    bus_free(b);
}

static void off(Bus *b)
{
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
}

static void on(Bus *b)
{
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_run(b);
}

static void test_inject_preempt(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    arm(b, "preempt:drop@1;preempt:delay:5us@2;preempt:hang@3");
    SEMIT(b, Q, POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0xfff), FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    off(b);                             /* lost: it waits on */
    CHECK_EQ(srd(b, Q, RB_CNTL) & 1, 1);
    CHECK(!sdma_idle(b, Q));
    off(b);                             /* late */
    CHECK_EQ(srd(b, Q, RB_CNTL) & 1, 0);
    CHECK(!sdma_idle(b, Q));
    set_vram32(b, FLAG, 1);
    bus_advance(b, 4999);
    CHECK(!sdma_idle(b, Q));
    bus_advance(b, 1);
    CHECK(sdma_idle(b, Q));
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT), 0);
    on(b);
    CHECK_EQ(vram32(b, OUT), 1);
    off(b);                             /* never */
    off(b);
    bus_advance(b, 1000000000);
    CHECK(!sdma_idle(b, Q));
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    on(b);                              /* whoever waited has given up */
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(counter(b, VKFD_CNT_INJECTED), 3);
    bus_free(b);

    /* disarming ends it, migration does not */
    b = sdma_start();
    sdma_load(b, Q);
    arm(b, "preempt:hang@1");
    off(b);
    {
        Bus *c = migrate(b);

        CHECK(vkfd_engine_post_load(c->e));
        CHECK(!sdma_idle(c, Q));
        arm(c, "");
        CHECK(sdma_idle(c, Q));
        bus_free(c);
    }
    bus_free(b);
}

static void test_inject_device(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    arm(b, "device:delay:5us@2");
    SEMIT(b, Q, FENCE(OUT_VA, 1), FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    off(b);                             /* no request completes meanwhile */
    CHECK(!sdma_idle(b, Q));
    bus_advance(b, 5000);
    CHECK(sdma_idle(b, Q));
    on(b);
    CHECK_EQ(vram32(b, OUT), 2);
    /* ended by the reset of the front end, and so is a request that waited */
    arm(b, "device:hang@1");
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 2);
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 3);
    arm(b, "device:hang@1");
    SEMIT(b, Q, FENCE(OUT_VA, 4));
    sdma_go(b, Q);
    off(b);
    CHECK(!sdma_idle(b, Q));
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    CHECK(sdma_idle(b, Q));
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 3);
    bus_free(b);
}

int main(void)
{
    test_load();
    test_nothing_to_watch();
    test_move_parked();
    test_move_copy();
    test_migrate();
    test_hostile_state();
    test_inject_doorbell();
    test_inject_fetch();
    test_inject_slot();
    test_inject_preempt();
    test_inject_device();
    return tap_done();
}
