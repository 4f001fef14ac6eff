/* SPDX-License-Identifier: MIT */
/* SDMA packets that wait: parking, wake-ups, time-outs, dequeue and resume. */
#include "sdma-common.h"

#define Q               RLC(0, 1)

static Bus *start(void)
{
    Bus *b = sdma_start();

    sdma_load(b, Q);
    return b;
}

static void emit_poll(Bus *b, uint32_t func, uint64_t va, uint32_t v, uint32_t mask)
{
    SEMIT(b, Q, POLL_MEM(func, va, v, mask, 0xfff));
}

static void test_functions(void)
{
    static const struct {
        uint32_t func, v, ref;
        bool holds;
    } cases[] = {
        { WAIT_REG_MEM_ALWAYS, 1, 2, true }, { WAIT_REG_MEM_LT, 1, 2, true },
        { WAIT_REG_MEM_LT, 2, 2, false }, { WAIT_REG_MEM_LE, 2, 2, true },
        { WAIT_REG_MEM_LE, 3, 2, false }, { WAIT_REG_MEM_EQ, 2, 2, true },
        { WAIT_REG_MEM_EQ, 1, 2, false }, { WAIT_REG_MEM_NE, 1, 2, true },
        { WAIT_REG_MEM_NE, 2, 2, false }, { WAIT_REG_MEM_GE, 2, 2, true },
        { WAIT_REG_MEM_GE, 1, 2, false }, { WAIT_REG_MEM_GT, 0x80000000, 2, true },
        { WAIT_REG_MEM_GT, 2, 2, false },
    };
    unsigned i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bus *b = start();

        set_vram32(b, FLAG, cases[i].v);
        emit_poll(b, cases[i].func, FLAG_VA, cases[i].ref, ~0u);
        SEMIT(b, Q, FENCE(OUT_VA, 1));
        sdma_go(b, Q);
        CHECK_EQ(vram32(b, OUT), cases[i].holds);
        CHECK_EQ(counter(b, VKFD_CNT_PARKED), !cases[i].holds);
        CHECK_EQ(sdma_idle(b, Q), cases[i].holds);
        bus_free(b);
    }
}

/* The CPU's store is seen by timer, whose pace backs off; nothing runs meanwhile. */
static void test_cpu_write(void)
{
    Bus *b = start();
    unsigned writes;

    emit_poll(b, WAIT_REG_MEM_EQ, FLAG_VA, 0x50, 0xf0);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK(!b->scheduled);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], b->now + VKFD_WAIT_POLL_MIN_NS);
    writes = b->nlog;
    bus_advance(b, 100 * 1000 * 1000);
    CHECK_EQ(b->nlog, writes);          /* rptr is not reported again */
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(b->e->sdma[Q].wait_interval, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(b->e->sdma[Q].wait_deadline % VKFD_WAIT_POLL_MAX_NS, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 1);
    /* memory is looked at, the packet is not */
    b->now = b->timer[VKFD_TIMER_WAIT];
    vkfd_engine_timer(b->e, VKFD_TIMER_WAIT);
    CHECK(!b->scheduled);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], b->now + VKFD_WAIT_QUIET_MAX_NS);
    wr(b, mmSCRATCH_REG0, 1);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], b->now + VKFD_WAIT_POLL_MAX_NS);
    bus_advance(b, 100 * 1000 * 1000);
    set_vram32(b, FLAG, 0xab5c);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_advance(b, VKFD_WAIT_QUIET_MAX_NS);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    bus_free(b);
}

/* Released by another engine, by a compute queue, and the other way round. */
static void test_device_write(void)
{
    Bus *b = start();
    int64_t deadline;
    uint32_t p[8];

    sdma_load(b, RLC(1, 4));
    queue_load(b, 0);
    emit_poll(b, WAIT_REG_MEM_EQ, SYS_VA + 0x9000, 1, ~0u);
    emit_poll(b, WAIT_REG_MEM_EQ, FLAG_VA, 2, ~0u);
    SEMIT(b, Q, FENCE(FLAG_VA + 8, 3), FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    queue_emit(b, 0, p, pkt_wait_mem(p, FLAG_VA + 8, WAIT_REG_MEM_EQ, 3, ~0u));
    queue_emit(b, 0, p, pkt_write(p, OUT_VA + 4, 1));
    queue_kick(b, 0);
    bus_run(b);
    SEMIT(b, RLC(1, 4), FENCE(SYS_VA + 0x9000, 1));
    sdma_go(b, RLC(1, 4));              /* no time passes */
    CHECK_EQ(vram32(b, OUT), 0);
    queue_load(b, 1);
    queue_emit(b, 1, p, pkt_write(p, FLAG_VA, 2));
    queue_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 4), 1);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 3);
    /* a neighbour that is written is none of its business */
    emit_poll(b, WAIT_REG_MEM_EQ, FLAG_VA + 0x20, 5, ~0u);
    sdma_go(b, Q);
    queue_emit(b, 1, p, pkt_write(p, FLAG_VA + 0x28, 5));
    queue_emit(b, 1, p, pkt_write(p, FLAG_VA + 0x1c, 5));
    queue_kick(b, 1);
    deadline = b->e->sdma[Q].wait_deadline;
    b->now += 100;
    bus_run(b);
    CHECK_EQ(b->e->sdma[Q].wait_deadline, deadline);
    /* one that is in the middle of much is */
    set_vram32(b, SRC + 0x20, 5);
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    sdma_kick(b, Q, 0);
    SEMIT(b, RLC(1, 4), COPY(FLAG_VA, SRC_VA, 64));
    sdma_go(b, RLC(1, 4));
    CHECK_EQ(vram32(b, OUT), 2);
    bus_free(b);
}

static void test_registers(void)
{
    Bus *b = start();
    uint64_t hdp = counter(b, VKFD_CNT_HDP_FLUSH);

    /* ROCr's flush: always, of no register at all */
    SEMIT(b, Q, SDMA_OP_POLL_REGMEM, 0, 0x80000000, 0, 0, 0);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    /* amdgpu's: write REQ, poll DONE */
    SEMIT(b, Q, SDMA_OP_POLL_REGMEM | 1 << 26 | 3 << 28, mmGPU_HDP_FLUSH_DONE * 4,
          mmGPU_HDP_FLUSH_REQ * 4, 0x400, 0x400, 0xfffu << 16 | 10);
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(counter(b, VKFD_CNT_HDP_FLUSH), hdp + 1);
    /* a register a user may poll; woken by the write of any register */
    SEMIT(b, Q, SDMA_OP_POLL_REGMEM | 3 << 28, mmSCRATCH_REG1 * 4, 0, 7, ~0u,
          0xfffu << 16);
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 2);
    wr(b, mmSCRATCH_REG1, 7);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 3);
    /* and one he may not */
    SEMIT(b, Q, SDMA_OP_POLL_REGMEM | 3 << 28, mmIH_RB_CNTL * 4, 0, 0, 0,
          0xfffu << 16);
    sdma_go(b, Q);
    CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_PRIV_REG);
    sdma_load(b, RLC(1, 1));
    SEMIT(b, RLC(1, 1), SDMA_OP_POLL_REGMEM | 1 << 26 | 3 << 28,
          mmGPU_HDP_FLUSH_DONE * 4, mmIH_RB_CNTL * 4, 0, 0, 0);
    sdma_go(b, RLC(1, 1));
    CHECK_EQ(sdma_exception(b, RLC(1, 1)), VKFD_STOP_PRIV_REG);
    CHECK(rd(b, mmIH_RB_CNTL) & 1);
    CHECK_EQ(counter(b, VKFD_CNT_REG_FAULT), 2);
    bus_free(b);
}

/* The kernel's register waits: a flush of page tables, and a write that comes once. */
static void test_kernel_registers(void)
{
    Bus *b = start();
    uint32_t req = mmMMHUB_VM_INVALIDATE_ENG0_REQ + 5;

    sdma_load_vmid(b, GFX0, 0);
    SEMIT(b, GFX0, SDMA_OP_SRBM_WRITE | 0xfu << 28, req, 1 << TEST_VMID);
    SEMIT(b, GFX0, SDMA_OP_POLL_REGMEM | 3 << 28,
          (mmMMHUB_VM_INVALIDATE_ENG0_ACK + 5) * 4, 0, 1 << TEST_VMID, 1 << TEST_VMID,
          0xfffu << 16 | 10);
    SEMIT(b, GFX0, FENCE(VKFD_FB_LOCATION_BASE + OUT, 1));
    sdma_go(b, GFX0);
    CHECK_EQ(vram32(b, OUT), 1);
    SEMIT(b, GFX0, SDMA_OP_POLL_REGMEM | 1 << 26 | 3 << 28, mmSCRATCH_REG5 * 4,
          mmSCRATCH_REG4 * 4, 6, ~0u, 0xfffu << 16);
    sdma_go(b, GFX0);
    CHECK_EQ(rd(b, mmSCRATCH_REG4), 6);
    wr(b, mmSCRATCH_REG4, 1);
    bus_advance(b, 50000000);
    CHECK_EQ(rd(b, mmSCRATCH_REG4), 1);
    /* outside the BAR: reads 0 */
    SEMIT(b, GFX0, SDMA_OP_POLL_REGMEM | 3 << 28, 0xffffc, 0, 0, ~0u, 0xfffu << 16);
    wr(b, mmSCRATCH_REG5, 6);
    sdma_go(b, GFX0);
    CHECK_EQ(sdma_rptr(b, GFX0), sdma_wptrs[GFX0]);
    /* the write takes the ring itself off */
    SEMIT(b, GFX0, SDMA_OP_POLL_REGMEM | 1 << 26 | 3 << 28, mmSCRATCH_REG5 * 4,
          vkfd_sdma_index(GFX0, mmSDMA0_GFX_RB_CNTL) * 4, sdma_rb_cntl(0), ~0u,
          0xfffu << 16);
    sdma_go(b, GFX0);
    CHECK(sdma_idle(b, GFX0));
    CHECK_EQ(sdma_rptr(b, GFX0), sdma_wptrs[GFX0] - 24);
    CHECK_EQ(b->e->sdma_waiting, 0);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    bus_free(b);
}

/* A wait with an end: entry 246, and the next packet. */
static void test_retries(void)
{
    Bus *b = start();

    SEMIT(b, Q, POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0), FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(ih_dw(b, 0, 0), 0x8802f608);
    SEMIT(b, Q, POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 3), FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    /* what the device writes there is no retry */
    SEMIT(b, RLC(1, 1), FENCE(FLAG_VA, 7), FENCE(FLAG_VA, 7), FENCE(FLAG_VA, 7),
          FENCE(FLAG_VA, 7));
    sdma_load(b, RLC(1, 1));
    SEMIT(b, RLC(1, 1), FENCE(FLAG_VA, 8));
    sdma_go(b, RLC(1, 1));
    CHECK_EQ(srd(b, Q, MIDCMD_DATA0), 0);
    bus_advance(b, VKFD_WAIT_POLL_MIN_NS * 3);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(srd(b, Q, MIDCMD_DATA0), 2);
    /* retries survive being taken off */
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    bus_advance(b, 1000000);
    CHECK_EQ(vram32(b, OUT), 1);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_advance(b, VKFD_WAIT_POLL_MIN_NS);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(ih_dw(b, 1, 0), 0x8802f608);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    bus_free(b);
}

/* Compare-and-swap until it succeeds; an atomic vCPUs will not let through. */
static void test_atomic_loop(void)
{
    Bus *b = start();
    uint32_t p[8];

    set_vram64(b, FLAG, 5);
    SEMIT(b, Q, SDMA_OP_ATOMIC | 1 << 16 | 0x28u << 25, LO(FLAG_VA), HI(FLAG_VA), 9, 0, 6,
          0, 100);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK_EQ(vram64(b, FLAG), 5);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 1);
    /* the high half counts: woken, but it does not hold */
    queue_load(b, 0);
    queue_emit(b, 0, p, pkt_write(p, FLAG_VA + 4, 1));
    queue_kick(b, 0);
    bus_run(b);
    set_vram64(b, FLAG, 6);
    bus_advance(b, 10000000);
    CHECK_EQ(vram64(b, FLAG), 9);
    CHECK_EQ(vram32(b, OUT), 1);
    /* without LOOP it is tried once */
    SEMIT(b, Q, SDMA_OP_ATOMIC | 0x28u << 25, LO(FLAG_VA), HI(FLAG_VA), 1, 0, 6, 0, 100);
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    sdma_go(b, Q);
    CHECK_EQ(vram64(b, FLAG), 9);
    CHECK_EQ(vram32(b, OUT), 2);
    /* 32 bits, sources cut to them; returned, with an interrupt if asked for */
    wr(b, mmSDMA0_ATOMIC_CNTL, 0x80000200);
    SEMIT(b, Q, SDMA_OP_ATOMIC | 0x08u << 25, LO(FLAG_VA), HI(FLAG_VA), 0x33, 0x44, 9,
          0x55, 0);
    sdma_go(b, Q);
    CHECK_EQ(vram64(b, FLAG), 0x33);
    CHECK_EQ(rd(b, mmSDMA0_ATOMIC_PREOP_LO), 9);
    CHECK_EQ(ih_dw(b, 0, 0), 0x8802d908);
    SEMIT(b, Q, SDMA_OP_ATOMIC | 0x4fu << 25, LO(FLAG_VA), HI(FLAG_VA), 1, 0, 0, 0, 0);
    sdma_go(b, Q);
    CHECK_EQ(vram64(b, FLAG), 0x34);
    CHECK_EQ(rd(b, mmSDMA0_ATOMIC_PREOP_LO), 9);        /* not returned */
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 32);

    b->atomic_busy = 200;
    SEMIT(b, Q, SDMA_OP_ATOMIC | 0x0fu << 25, LO(SYS_VA + 0x8000), HI(SYS_VA), 0x10000,
          0, 0, 0, 0);
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    sdma_kick(b, Q, 0);
    vkfd_engine_run(b->e);              /* a bounded turn, and it is tried again */
    CHECK(b->scheduled);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(b->atomic_busy, 200 - VKFD_CP_BUDGET_DEFAULT);
    CHECK_EQ(sys32(b, 0x8000), 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 3);
    CHECK_EQ(sys32(b, 0x8000), 0x10000);
    bus_free(b);
}

/* An idle queue that polls its wptr memory costs no run, and misses nothing. */
static void test_wptr_poll(void)
{
    Bus *b = sdma_start();
    uint64_t va = VA0 + WPTR_ADDR(Q);
    uint32_t p[8];

    swr(b, Q, RB_WPTR_POLL_ADDR_LO, va);
    swr(b, Q, RB_WPTR_POLL_ADDR_HI, va >> 32);
    swr(b, Q, RB_WPTR_POLL_CNTL, 4);
    sdma_load(b, Q);
    swr(b, Q, DOORBELL, 0);
    bus_run(b);
    CHECK(sdma_idle(b, Q));
    CHECK(!b->scheduled);
    SEMIT(b, Q, FENCE(OUT_VA, 1));
    set_vram64(b, WPTR_ADDR(Q), sdma_wptrs[Q]);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_advance(b, VKFD_WAIT_POLL_MIN_NS);
    CHECK_EQ(vram32(b, OUT), 1);
    bus_advance(b, 100000000);
    CHECK_EQ(b->e->sdma[Q].wait_interval, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 0);
    /* the device writes it: at once */
    SEMIT(b, Q, FENCE(OUT_VA, 2));
    queue_load(b, 0);
    queue_emit(b, 0, p, pkt_write(p, va, sdma_wptrs[Q]));
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 2);
    /* what was stored while it was off is found when it is on again */
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    SEMIT(b, Q, FENCE(OUT_VA, 3));
    set_vram64(b, WPTR_ADDR(Q), sdma_wptrs[Q]);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 3);
    /* and memory that goes away is a fault */
    vm_map(b, va & ~0xfffull, 0);
    vm_flush(b, 0xffff);
    bus_advance(b, 10000000);
    CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_VM_FAULT);
    bus_free(b);
}

/* Off while parked is at once; the position is the packet; in an IB too. */
static void test_dequeue_in_ib(void)
{
    const uint32_t ib[] = {
        FENCE(OUT_VA, 1), POLL_MEM(WAIT_REG_MEM_EQ, FLAG_VA, 1, ~0u, 0xfff),
        FENCE(OUT_VA + 4, 2),
    };
    Bus *b = start();
    unsigned i, n = sizeof(ib) / 4;

    for (i = 0; i < n; i++) {
        set_vram32(b, IB_ADDR(0) + 4 * i, ib[i]);
    }
    SEMIT(b, Q, SDMA_OP_NOP | 1 << 16, 0, SDMA_OP_INDIRECT, LO(VA0 + IB_ADDR(0)),
          HI(VA0), n, 0, 0);
    SEMIT(b, Q, FENCE(OUT_VA + 8, 3));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    CHECK(sdma_idle(b, Q));
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    CHECK_EQ(sdma_rptr(b, Q), 8);
    CHECK_EQ(srd(b, Q, IB_RPTR), 16);
    CHECK_EQ(srd(b, Q, IB_SIZE), n);
    set_vram32(b, OUT, 0);
    set_vram32(b, FLAG, 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    /* on again, untouched: goes on in the IB */
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 4), 2);
    CHECK_EQ(vram32(b, OUT + 8), 3);
    /* with RB_RPTR written, as amdkfd does: the IB from its beginning */
    set_vram32(b, FLAG, 0);
    SEMIT(b, Q, SDMA_OP_NOP | 2 << 16, 0, 0, SDMA_OP_NOP, SDMA_OP_INDIRECT,
          LO(VA0 + IB_ADDR(0)), HI(VA0), n, 0, 0);
    while ((sdma_wptrs[Q] / 4) % 8) {
        sdma_wptrs[Q] += 4;
    }
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, OUT), 1);
    set_vram32(b, OUT, 0);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID));
    swr(b, Q, RB_RPTR, sdma_rptr(b, Q));
    CHECK_EQ(srd(b, Q, IB_SIZE), 0);
    set_vram32(b, FLAG, 1);
    swr(b, Q, RB_CNTL, sdma_rb_cntl(TEST_VMID) | 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    bus_free(b);
}

int main(void)
{
    test_functions();
    test_cpu_write();
    test_device_write();
    test_registers();
    test_kernel_registers();
    test_retries();
    test_atomic_loop();
    test_wptr_poll();
    test_dequeue_in_ib();
    return tap_done();
}
