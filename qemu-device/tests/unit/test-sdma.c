/* SPDX-License-Identifier: MIT */
/* SDMA queues: registers, load and destroy, doorbells, pointers, interrupts, budget. */
#include "sdma-common.h"

#define Q               RLC(0, 0)
#define RING_BYTES      (4u << SDMA_RING_LOG2)

static void test_reset_values(void)
{
    Bus *b = bus_new();
    unsigned n, q;

    for (n = 0; n < VKFD_NUM_SDMA; n++) {
        uint32_t base = n * VKFD_SDMA_ENGINE_STRIDE;

        CHECK_EQ(rd(b, mmSDMA0_F32_CNTL + base), 1);
        CHECK_EQ(rd(b, mmSDMA0_CNTL + base), 2);
        CHECK_EQ(rd(b, mmSDMA0_STATUS_REG + base), 0x46dee557);
        CHECK_EQ(rd(b, mmSDMA0_PHASE0_QUANTUM + base), 0x00010002);
        CHECK_EQ(rd(b, mmSDMA0_VERSION + base), 0x400);
        for (q = 0; q < VKFD_SDMA_QUEUES; q++) {
            unsigned id = SQ(n, q);

            CHECK_EQ(srd(b, id, RB_CNTL), 0x00040000);
            CHECK_EQ(srd(b, id, RB_WPTR_POLL_CNTL), 0x00401000);
            CHECK_EQ(srd(b, id, IB_CNTL), 0x100);
            CHECK_EQ(srd(b, id, CONTEXT_STATUS), q ? 4 : 5);
            CHECK_EQ(srd(b, id, DUMMY_REG), 0xf);
            CHECK_EQ(srd(b, id, MIDCMD_CNTL), 0);
        }
    }
    CHECK_EQ(counter(b, VKFD_CNT_UNMODELLED_READ), 0);
    /* offsets of amdgpu's headers: SDMA0 RLC0, RLC7; SDMA1 GFX, RLC7 */
    CHECK_EQ(vkfd_sdma_index(RLC(0, 0), mmSDMA0_GFX_RB_CNTL) * 4, 0x4e80);
    CHECK_EQ(vkfd_sdma_index(RLC(0, 7), mmSDMA0_GFX_RB_CNTL) * 4, 0x5900);
    CHECK_EQ(vkfd_sdma_index(SQ(1, 0), mmSDMA0_GFX_RB_CNTL) * 4, 0x6380);
    CHECK_EQ(vkfd_sdma_index(RLC(1, 7), mmSDMA0_GFX_MIDCMD_CNTL) * 4, 0x7224);
    /* gaps between the registers are none */
    rd(b, mmSDMA0_F32_COUNTER + 1);
    rd(b, mmSDMA0_GFX_CONTEXT_CNTL + 1);
    rd(b, mmSDMA0_GFX_MIDCMD_CNTL + 1);
    rd(b, mmSDMA0_PAGE_RB_CNTL + 0x13);
    CHECK_EQ(counter(b, VKFD_CNT_UNMODELLED_READ), 4);
    bus_free(b);
}

static void test_masks(void)
{
    static const struct {
        uint32_t dw, mask;
    } regs[] = {
        { mmSDMA0_GFX_RB_BASE, 0xffffffff }, { mmSDMA0_GFX_RB_BASE_HI, 0x00ffffff },
        { mmSDMA0_GFX_RB_RPTR, 0xfffffffc }, { mmSDMA0_GFX_RB_RPTR_HI, 0xffffffff },
        { mmSDMA0_GFX_RB_WPTR, 0xfffffffc }, { mmSDMA0_GFX_RB_WPTR_HI, 0xffffffff },
        { mmSDMA0_GFX_RB_RPTR_ADDR_LO, 0xfffffffc },
        { mmSDMA0_GFX_IB_RPTR, 0x003ffffc }, { mmSDMA0_GFX_IB_SIZE, 0x000fffff },
        { mmSDMA0_GFX_IB_BASE_LO, 0xffffffe0 }, { mmSDMA0_GFX_SKIP_CNTL, 0x3fff },
        { mmSDMA0_GFX_DOORBELL, 0x50000000 },
        { mmSDMA0_GFX_DOORBELL_OFFSET, 0x0ffffffc },
        { mmSDMA0_GFX_DOORBELL_LOG, 0 }, { mmSDMA0_GFX_MINOR_PTR_UPDATE, 1 },
        { mmSDMA0_GFX_MIDCMD_DATA8, 0xffffffff },
        { mmSDMA0_GFX_RB_WPTR_POLL_ADDR_LO, 0xfffffffc },
    };
    static const uint32_t ro[] = {
        mmSDMA0_STATUS_REG, mmSDMA0_STATUS1_REG, mmSDMA0_STATUS3_REG, mmSDMA0_ID,
        mmSDMA0_VERSION, mmSDMA0_UTCL1_RD_STATUS, mmSDMA0_UTCL1_WR_STATUS,
        mmSDMA0_ATOMIC_PREOP_LO,
    };
    Bus *b = bus_new();
    unsigned i, id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id += 7) {
        for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
            swr_(b, id, regs[i].dw, 0);
            CHECK_EQ(srd_(b, id, regs[i].dw), 0);
            swr_(b, id, regs[i].dw, 0xffffffff);
            CHECK_EQ(srd_(b, id, regs[i].dw), regs[i].mask);
        }
    }
    for (i = 0; i < sizeof(ro) / sizeof(ro[0]); i++) {
        uint32_t old = rd(b, ro[i]);

        wr(b, ro[i], ~old);
        CHECK_EQ(rd(b, ro[i]), old);
    }
    wr(b, mmSDMA0_GB_ADDR_CONFIG, 0x22014042);
    CHECK_EQ(rd(b, mmSDMA0_GB_ADDR_CONFIG_READ), 0x22014042);
    wr(b, mmSDMA0_FREEZE, 0x10);
    CHECK_EQ(rd(b, mmSDMA0_FREEZE), 0x30);
    bus_free(b);
}

/* Every queue of both engines: its own ring, its own memory, its own ring_id. */
static void test_all_queues(void)
{
    Bus *b = sdma_start();
    unsigned id, n = 0;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        sdma_load(b, id);
        SEMIT(b, id, FENCE(OUT_VA + 4 * id, id + 1), TRAP(0x100 + id));
        sdma_kick(b, id, 0);
    }
    bus_run(b);
    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        CHECK_EQ(vram32(b, OUT + 4 * id), id + 1);
        CHECK_EQ(sdma_rptr(b, id), 24);
        CHECK_EQ(vram64(b, RPTR_ADDR(id)), 24);
        CHECK(srd(b, id, DOORBELL) & SDMA0_GFX_DOORBELL__CAPTURED_MASK);
        CHECK_EQ(srd(b, id, DOORBELL_LOG), 24);
    }
    CHECK_EQ(rd(b, mmIH_RB_WPTR), VKFD_NUM_SDMA_QUEUES * 32);
    for (n = 0; n < VKFD_NUM_SDMA_QUEUES; n++) {
        unsigned block, ring;

        id = ih_dw(b, n, 4) - 0x100;
        block = id % VKFD_SDMA_QUEUES;
        ring = block == 0 ? 0 : block == 1 ? 1 : 2;
        CHECK_EQ(ih_dw(b, n, 0),
                 0x8800e000 | ring << 16 | (id < VKFD_SDMA_QUEUES ? 8 : 9));
        CHECK_EQ(ih_dw(b, n, 3), TEST_PASID);
    }
    /* no trap without TRAP_ENABLE */
    wr(b, mmSDMA0_CNTL, 2);
    SEMIT(b, Q, TRAP(1));
    sdma_go(b, Q);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), VKFD_NUM_SDMA_QUEUES * 32);
    bus_free(b);
}

static void test_doorbells(void)
{
    Bus *b = sdma_start();
    uint64_t drops;

    sdma_load(b, Q);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    drops = counter(b, VKFD_CNT_DOORBELL_DROPPED);
    /* in the range, nobody's; the same offset in another page; the other engine's */
    vkfd_doorbell_write(b->e, (SDMA_DB(Q) + 2) * 4, 16, 8);
    vkfd_doorbell_write(b->e, (SDMA_DB(Q) + 0x400) * 4, 16, 8);
    vkfd_doorbell_write(b->e, SDMA_DB(RLC(1, 0)) * 4, 16, 8);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), drops + 3);
    CHECK_EQ(vram32(b, OUT), 0);
    /* a compute queue with that offset does not get it */
    queue_load(b, 5);
    hqd_wr(b, 5, mmCP_HQD_PQ_DOORBELL_CONTROL, SDMA_DB(Q) << 2 |
           CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(hqd_rd(b, 5, mmCP_HQD_PQ_WPTR_LO), 0);
    /* 4 bytes are the whole pointer */
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    vkfd_doorbell_write(b->e, SDMA_DB(Q) * 4, sdma_wptrs[Q], 4);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 2);
    /* not enabled, though the offset is right */
    swr(b, Q, DOORBELL, 0);
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), drops + 4);
    /* no range, no SDMA: it is the compute engines' then */
    swr(b, Q, DOORBELL, SDMA0_GFX_DOORBELL__ENABLE_MASK);
    wr(b, mmBIF_SDMA0_DOORBELL_RANGE, 0);
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(hqd_rd(b, 5, mmCP_HQD_PQ_WPTR_LO), sdma_wptrs[Q]);
    bus_free(b);
}

/* The kernel's ring as amdgpu starts it: the doorbell rings before RB_ENABLE. */
static void test_gfx_ring(void)
{
    Bus *b = sdma_start();
    uint64_t ring = VKFD_FB_LOCATION_BASE + RING(GFX0);

    swr(b, GFX0, RB_CNTL, sdma_rb_cntl(0));
    swr(b, GFX0, RB_RPTR_ADDR_LO, VKFD_FB_LOCATION_BASE + RPTR_ADDR(GFX0));
    swr(b, GFX0, RB_RPTR_ADDR_HI, VKFD_FB_LOCATION_BASE >> 32);
    swr(b, GFX0, RB_BASE, ring >> 8);
    swr(b, GFX0, RB_BASE_HI, ring >> 40);
    swr(b, GFX0, MINOR_PTR_UPDATE, 1);
    swr(b, GFX0, DOORBELL, SDMA0_GFX_DOORBELL__ENABLE_MASK);
    swr(b, GFX0, DOORBELL_OFFSET, SDMA_DB(GFX0) << 2);
    SEMIT(b, GFX0, FENCE(VKFD_FB_LOCATION_BASE + OUT, 0xdead), TRAP(0));
    sdma_go(b, GFX0);
    CHECK_EQ(vram32(b, OUT), 0);
    swr(b, GFX0, RB_CNTL, sdma_rb_cntl(0) | 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);        /* pointers are being changed */
    CHECK(!(rd(b, mmSDMA0_STATUS_REG) & 1));
    swr(b, GFX0, MINOR_PTR_UPDATE, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0xdead);
    CHECK_EQ(ih_dw(b, 0, 0), 0x8000e008);
    CHECK_EQ(rd(b, mmSDMA0_STATUS_REG), 0x46dee557);
    /* without doorbell, by the registers */
    swr(b, GFX0, DOORBELL, 0);
    SEMIT(b, GFX0, FENCE(VKFD_FB_LOCATION_BASE + OUT, 2));
    swr(b, GFX0, RB_WPTR, sdma_wptrs[GFX0]);
    swr(b, GFX0, RB_WPTR_HI, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 2);
    /* an IB of a process: data through its tables, the fence by the ring's */
    set_vram32(b, IB_ADDR(0), SDMA_OP_FENCE);
    set_vram32(b, IB_ADDR(0) + 4, LO(OUT_VA + 4));
    set_vram32(b, IB_ADDR(0) + 8, HI(OUT_VA));
    set_vram32(b, IB_ADDR(0) + 12, 0x1b);
    swr(b, GFX0, DOORBELL, SDMA0_GFX_DOORBELL__ENABLE_MASK);
    SEMIT(b, GFX0, SDMA_OP_INDIRECT | TEST_VMID << 16, LO(VA0 + IB_ADDR(0)), HI(VA0), 4,
          0, 0, SDMA_OP_INDIRECT, LO(BAD_VA), HI(BAD_VA), 0, 0, 0);
    sdma_go(b, GFX0);
    CHECK_EQ(vram32(b, OUT + 4), 0x1b);
    CHECK_EQ(sdma_rptr(b, GFX0), sdma_wptrs[GFX0]);
    /* the first ended at dword 16, the second, empty, at dword 22 */
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 1);
    bus_free(b);
}

/* A user queue cannot leave its VMID, neither by packet nor by what is loaded. */
static void test_user_ib(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    set_vram32(b, IB_ADDR(0), SDMA_OP_FENCE);
    set_vram32(b, IB_ADDR(0) + 4, LO(OUT_VA));
    set_vram32(b, IB_ADDR(0) + 8, HI(OUT_VA));
    set_vram32(b, IB_ADDR(0) + 12, 1);
    SEMIT(b, Q, SDMA_OP_NOP | 1 << 16, 0, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)),
          HI(VA0), 4, 0, 0);
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    set_vram32(b, OUT, 0);
    sdma_wptrs[Q] += 24;
    sdma_load(b, Q);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    swr(b, Q, IB_BASE_LO, VA0 + IB_ADDR(0));
    swr(b, Q, IB_BASE_HI, VA0 >> 32);
    swr(b, Q, IB_CNTL, 0);
    swr(b, Q, IB_SIZE, 4);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 0);
    /* an IB in an IB */
    set_vram32(b, IB_ADDR(0), SDMA_OP_INDIRECT);
    set_vram32(b, IB_ADDR(0) + 4, 0);
    sdma_wptrs[Q] = sdma_rptr(b, Q);
    SEMIT(b, Q, SDMA_OP_NOP | 1 << 16, 0, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)),
          HI(VA0), 6, 0, 0);
    sdma_go(b, Q);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);
}

/* hqd_sdma_destroy of amdkfd, and what it leaves: on again, but with no doorbell. */
static void test_destroy(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    SEMIT(b, Q, POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0xfff), FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK(!sdma_idle(b, Q));
    CHECK(b->timer[VKFD_TIMER_WAIT] > 0);
    swr(b, Q, RB_CNTL, srd(b, Q, RB_CNTL) & ~1u);
    CHECK(sdma_idle(b, Q));
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    swr(b, Q, DOORBELL, 0);
    swr(b, Q, RB_CNTL, srd(b, Q, RB_CNTL) | 1);
    CHECK_EQ(sdma_rptr(b, Q), 16);
    CHECK(sdma_idle(b, Q));
    set_vram32(b, FLAG, 1);
    sdma_go(b, Q);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vkfd_sdma_rlc_free(b->e, 0), 0);
    /* and loaded again: with the wait */
    set_vram32(b, FLAG, 0);
    sdma_wptrs[Q] = 16;
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    sdma_load(b, Q);
    sdma_wptrs[Q] = 16 + 24 + 16;
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    set_vram32(b, FLAG, 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT), 2);
    bus_free(b);
}

static void test_halt(void)
{
    Bus *b = sdma_start();

    wr(b, mmSDMA0_F32_CNTL, 1);
    sdma_load(b, Q);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK(!sdma_idle(b, Q));
    wr(b, mmSDMA0_F32_CNTL, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    wr(b, mmSDMA0_FREEZE, 0x10);
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    wr(b, mmSDMA0_FREEZE, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 2);
    /* the reset of the compute front end is not theirs */
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    sdma_kick(b, Q, 0);
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 3);
    vkfd_engine_reset(b->e, false);
    CHECK_EQ(srd(b, Q, RB_CNTL), 0x00040000);
    CHECK_EQ(b->e->sdma_active, 0);
    bus_free(b);
}

/* wptr that makes no sense; one that passes 4 GiB in two register writes. */
static void test_pointers(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    vkfd_doorbell_write(b->e, SDMA_DB(Q) * 4, sdma_wptrs[Q] + 8 * RING_BYTES, 8);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 1);
    CHECK_EQ(sdma_rptr(b, Q), sdma_wptrs[Q] + 8 * RING_BYTES);
    /* behind rptr, and not a multiple of 4 */
    vkfd_doorbell_write(b->e, SDMA_DB(Q) * 4, 3, 8);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 2);
    CHECK_EQ(srd(b, Q, RB_WPTR), 0);
    /* no write-back if it is off, or has no address */
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) & ~(1u << 12));
    sdma_wptrs[Q] = 0x100;
    set_vram64(b, RPTR_ADDR(Q), 0x5555);
    swr(b, Q, RB_RPTR, 0x100);
    swr(b, Q, RB_RPTR_HI, 0);
    swr(b, Q, RB_WPTR, 0x100);
    swr(b, Q, RB_WPTR_HI, 0);
    swr(b, Q, RB_CNTL, (sdma_rb_cntl(TEST_VMID) & ~(1u << 12)) | 1);
    SEMIT(b, Q, FENCE(OUT_VA, 4));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 4);
    CHECK_EQ(vram64(b, RPTR_ADDR(Q)), 0x5555);
    bus_free(b);

    /* a report address, and a ring, that do not exist */
    b = sdma_start();
    sdma_load(b, Q);
    swr(b, Q, RB_RPTR_ADDR_HI, BAD_VA >> 32);
    swr(b, Q, RB_RPTR_ADDR_LO, BAD_VA);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_VM_FAULT);
    sdma_load(b, RLC(1, 0));
    swr(b, RLC(1, 0), RB_BASE, BAD_VA >> 8);
    swr(b, RLC(1, 0), RB_BASE_HI, 0);
    sdma_wptrs[RLC(1, 0)] = 16;
    sdma_go(b, RLC(1, 0));
    CHECK_EQ(sdma_exception(b, RLC(1, 0)), VKFD_STOP_VM_FAULT);
    CHECK_EQ(rd(b, mmMMHUB_VM_L2_PROTECTION_FAULT_STATUS) >> 9 & 0x1ff, 15);
    bus_free(b);
}

/* Packets that touch their own queue, and end it or move it. */
static void test_own_registers(void)
{
    Bus *b = sdma_start();
    uint32_t rb_cntl = vkfd_sdma_index(GFX0, mmSDMA0_GFX_RB_CNTL);

    sdma_load_vmid(b, GFX0, 0);
    SEMIT(b, GFX0, SDMA_OP_SRBM_WRITE | 0xfu << 28, rb_cntl, sdma_rb_cntl(0),
          FENCE(VKFD_FB_LOCATION_BASE + OUT, 1));
    sdma_go(b, GFX0);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(sdma_rptr(b, GFX0), 0);
    CHECK(sdma_idle(b, GFX0));
    /* rptr behind the fence: it is not executed */
    swr(b, GFX0, RB_RPTR, sdma_wptrs[GFX0]);
    swr(b, GFX0, RB_CNTL, sdma_rb_cntl(0) | 1);
    SEMIT(b, GFX0, SDMA_OP_SRBM_WRITE | 0xfu << 28,
          vkfd_sdma_index(GFX0, mmSDMA0_GFX_RB_RPTR), sdma_wptrs[GFX0] + 12 + 16,
          FENCE(VKFD_FB_LOCATION_BASE + OUT, 2), FENCE(VKFD_FB_LOCATION_BASE + OUT + 4, 3));
    sdma_go(b, GFX0);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 4), 3);
    CHECK_EQ(sdma_rptr(b, GFX0), sdma_wptrs[GFX0]);
    bus_free(b);
}

/* 4 MiB goes in slices; others get their turn; nobody spins. */
static void test_budget(void)
{
    const uint32_t n = SDMA_COPY_MAX_BYTES;
    Bus *b = sdma_start();
    unsigned runs = 0, other = 0;

    fill_src(b, SRC, n);
    sdma_load(b, Q);
    sdma_load(b, RLC(1, 0));
    SEMIT(b, Q, COPY(0xb00000 + VA0, SRC_VA, n));
    SEMIT(b, RLC(1, 0), FENCE(OUT_VA, 1));
    sdma_kick(b, Q, 0);
    b->scheduled = false;
    vkfd_engine_run(b->e);
    CHECK(b->scheduled);
    CHECK_EQ(srd(b, Q, MIDCMD_CNTL), 1);
    /* a visit of 64 units: in slices of 16 and what each costs itself */
    CHECK(srd(b, Q, MIDCMD_DATA0) >= 48 * VKFD_SDMA_DIRECT_PER_UNIT);
    CHECK(srd(b, Q, MIDCMD_DATA0) <= 64 * VKFD_SDMA_DIRECT_PER_UNIT);
    CHECK_EQ(sdma_rptr(b, Q), 0);
    CHECK(!sdma_idle(b, Q));
    sdma_kick(b, RLC(1, 0), 0);
    while (b->scheduled && runs < 1000) {
        b->scheduled = false;
        vkfd_engine_run(b->e);
        other += !vram32(b, OUT);
        runs++;
    }
    CHECK_EQ(other, 0);
    CHECK(runs >= 3 && runs <= 6);
    CHECK_EQ(sdma_rptr(b, Q), 28);
    CHECK_EQ(srd(b, Q, MIDCMD_CNTL), 0);
    bus_free(b);
}

/* All queues full: a run ends after its units, and the next goes on behind. */
static void test_run_limit(void)
{
    Bus *b = sdma_start();
    unsigned id, i, served = 0;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        sdma_load(b, id);
        for (i = 0; i < 200; i++) {
            SEMIT(b, id, FENCE(OUT_VA + 4 * id, i + 1));
        }
        sdma_kick(b, id, 0);
    }
    b->scheduled = false;
    vkfd_engine_run(b->e);
    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        served += !!vram32(b, OUT + 4 * id);
    }
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), VKFD_SDMA_RUN_UNITS);
    CHECK_EQ(served, VKFD_SDMA_RUN_UNITS / VKFD_CP_BUDGET_DEFAULT);
    b->scheduled = false;
    vkfd_engine_run(b->e);
    vkfd_engine_run(b->e);
    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        CHECK(vram32(b, OUT + 4 * id));
    }
    b->scheduled = true;
    bus_run(b);
    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        CHECK_EQ(vram32(b, OUT + 4 * id), 200);
    }
    bus_free(b);
}

/* Data that takes many turns: every kind of mover, exact, and its neighbours intact. */
static void test_long(void)
{
    Bus *b = sdma_start();
    uint32_t i, bad = 0, n = 0x100005;

    fill_src(b, SRC, n);
    sdma_load(b, Q);
    SEMIT(b, Q, SDMA_OP_COPY | 1 << 27, n - 1, 0, LO(SRC_VA), HI(SRC_VA),
          LO(VA0 + 0xc00003), HI(VA0), LO(VA0 + 0xe00ffe), HI(VA0));
    sdma_go(b, Q);
    CHECK_EQ(pattern_len(b, 0xc00003, n), n);
    CHECK_EQ(pattern_len(b, 0xe00ffe, n), n);
    CHECK_EQ(b->vram[0xc00002] | b->vram[0xc00003 + n], 0);
    CHECK_EQ(b->vram[0xe00ffd] | b->vram[0xe00ffe + n], 0);

    SEMIT(b, Q, SDMA_OP_PTEPDE, LO(VA0 + 0xc00ff8), HI(VA0), 0x71, 0, 0, 0, 0x1000, 0,
          0x7ffff - 0x60000);
    sdma_go(b, Q);
    for (i = 0; i < 0x20000; i++) {
        bad += vram64(b, 0xc00ff8 + 8 * i) != (uint64_t)i * 0x1000 + 0x71;
    }
    CHECK_EQ(bad, 0);

    SEMIT(b, Q, SDMA_OP_CONST_FILL | 2u << 30, LO(VA0 + 0xc00004), HI(VA0), 0xaabbccdd,
          0x3fffff - 0x200000);
    sdma_go(b, Q);
    for (i = 0; i < 0x200000 / 4; i++) {
        bad += vram32(b, 0xc00004 + 4 * i) != 0xaabbccdd;
    }
    CHECK_EQ(bad, 0);
    CHECK_EQ(b->vram[0xc00003] == 0xdd || b->vram[0xe00004] == 0xdd, 0);

    /* a million blocks of a byte would be many turns: it can be taken off */
    memset(b->vram + 0xc00000, 0xff, 0x10000);
    SEMIT(b, Q, SDMA_PKT_HEADER(SDMA_OP_CONST_FILL, 1), 0, 0xffffffff, LO(VA0 + 0xc00000),
          HI(VA0), 0);
    sdma_kick(b, Q, 0);
    for (i = 0; i < 100; i++) {
        vkfd_engine_run(b->e);
    }
    CHECK(srd(b, Q, MIDCMD_DATA0) > 10000);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    CHECK(sdma_idle(b, Q));
    b->scheduled = false;
    CHECK_EQ(b->vram[0xc00000], 0);
    CHECK_EQ(b->vram[0xc00001], 0xff);
    bus_free(b);
}

/* WRITE with more data than a turn moves, wrapped at the end of its ring. */
static void test_long_write(void)
{
    Bus *b = sdma_start();
    unsigned i, bad = 0, n = 900;

    sdma_wptrs[Q] = RING_BYTES - 400;
    sdma_load(b, Q);
    SEMIT(b, Q, SDMA_OP_WRITE, LO(OUT_VA + 0xf04), HI(OUT_VA), n - 1);
    for (i = 0; i < n; i++) {
        SEMIT(b, Q, i * 3 + 1);
    }
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    for (i = 0; i < n; i++) {
        bad += vram32(b, OUT + 0xf04 + 4 * i) != i * 3 + 1;
    }
    CHECK_EQ(bad, 0);
    CHECK_EQ(vram32(b, OUT + 0xf04 + 4 * n), 0);
    CHECK_EQ(vram32(b, OUT), 1);
    bus_free(b);
}

/* System memory, atomics there too, and the own BARs seen from the bus. */
static void test_system_memory(void)
{
    Bus *b = sdma_start();
    unsigned i;

    for (i = 0; i < 0x2000; i++) {
        b->sys[0x20000 + i] = pattern(i);
    }
    sdma_load(b, Q);
    SEMIT(b, Q, COPY(OUT_VA, SYS_VA + 0x20000, 0x2000),
          COPY(SYS_VA + 0x40001, OUT_VA, 0x2000));
    SEMIT(b, Q, SDMA_OP_ATOMIC | SDMA_ATOMIC_ADD64 << 25, LO(SYS_VA + 0x8000),
          HI(SYS_VA), ~0u, ~0u, 0, 0, 0);
    set_sys32(b, 0x8000, 1);
    sdma_go(b, Q);
    CHECK_EQ(pattern_len(b, OUT, 0x2000), 0x2000);
    for (i = 0; i < 0x2000 && b->sys[0x40001 + i] == pattern(i); i++) {
    }
    CHECK_EQ(i, 0x2000);
    CHECK_EQ(sys32(b, 0x8000) | sys32(b, 0x8004), 0);
    /* a WRITE that rings the queue's own doorbell */
    vm_map(b, 0x500000000ull, (BAR2_ADDR + SDMA_DB(Q) * 4) / 4096 * 4096 | PTE_RW |
           AMDGPU_PTE_SYSTEM);
    vm_flush(b, 0xffff);
    SEMIT(b, Q, SDMA_OP_WRITE, LO(0x500000000ull + SDMA_DB(Q) * 4 % 4096), 5, 1,
          (uint32_t)sdma_wptrs[Q] + 24 + 16, 0);
    SEMIT(b, Q, FENCE(OUT_VA, 9));
    sdma_kick(b, Q, 4);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 9);
    bus_free(b);
}

int main(void)
{
    test_reset_values();
    test_masks();
    test_all_queues();
    test_doorbells();
    test_gfx_ring();
    test_user_ib();
    test_destroy();
    test_halt();
    test_pointers();
    test_own_registers();
    test_budget();
    test_run_limit();
    test_long();
    test_long_write();
    test_system_memory();
    return tap_done();
}
