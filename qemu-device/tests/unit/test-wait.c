/* SPDX-License-Identifier: MIT */
/* WAIT_REG_MEM: parking, wake-ups, dequeue and resume of a parked queue. */
#include "harness.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define FLAG            0x810000u
#define FLAG_VA         (VA0 + FLAG)

static Bus *start(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, 0);
    queue_load(b, 0);
    queue_load(b, 1);
    bus_run(b);
    return b;
}

static void emit_write(Bus *b, unsigned hqd, uint64_t va, uint32_t val)
{
    uint32_t p[8];

    queue_emit(b, hqd, p, pkt_write(p, va, val));
}

static void emit_wait(Bus *b, unsigned hqd, uint64_t va, uint32_t func,
                      uint32_t ref, uint32_t mask)
{
    uint32_t p[8];

    queue_emit(b, hqd, p, pkt_wait_mem(p, va, func, ref, mask));
}

static void go(Bus *b, unsigned hqd)
{
    queue_kick(b, hqd);
    bus_run(b);
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
        emit_wait(b, 0, FLAG_VA, cases[i].func, cases[i].ref, ~0u);
        emit_write(b, 0, OUT_VA, 1);
        go(b, 0);
        CHECK_EQ(vram32(b, OUT), cases[i].holds);
        CHECK_EQ(counter(b, VKFD_CNT_PARKED), !cases[i].holds);
        bus_free(b);
    }
}

/* The CPU's store is seen by timer; nothing runs meanwhile. */
static void test_cpu_write(void)
{
    Bus *b = start();
    int64_t first;

    emit_wait(b, 0, FLAG_VA, WAIT_REG_MEM_EQ, 0x50, 0xf0);
    emit_write(b, 0, OUT_VA, 1);
    go(b, 0);
    CHECK(!b->scheduled);
    first = b->timer[VKFD_TIMER_WAIT];
    CHECK_EQ(first, b->now + VKFD_WAIT_POLL_MIN_NS);
    bus_advance(b, 100 * 1000 * 1000);
    CHECK_EQ(vram32(b, OUT), 0);
    /* the back-off has reached its end and stays there */
    CHECK_EQ(b->e->hqd[0].wait_interval, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 1);
    set_vram32(b, FLAG, 0xab5c);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_advance(b, VKFD_WAIT_QUIET_MAX_NS);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    bus_free(b);
}

/*
 * Waits that only the CPU can end cost one wake-up of the host a millisecond or two in
 * all, not one each; and a poll the device asked for is no reason to poll less.
 */
static void test_back_off(void)
{
    Bus *b = start();
    unsigned i, fired = 0;

    for (i = 0; i < 8; i++) {
        if (i > 1) {
            queue_load(b, i);
        }
        emit_wait(b, i, FLAG_VA + 8 * i, WAIT_REG_MEM_EQ, 1, ~0u);
        emit_write(b, i, OUT_VA + 8 * i, 1);
        go(b, i);
        bus_advance(b, 137000);         /* each at a time of its own */
    }
    bus_advance(b, 10000000);
    for (i = 0; i < 1000 && b->now < 31000000; i++) {
        b->now = b->timer[VKFD_TIMER_WAIT];
        b->timer[VKFD_TIMER_WAIT] = -1;
        vkfd_engine_timer(b->e, VKFD_TIMER_WAIT);
        bus_run(b);
        fired++;
    }
    CHECK(fired >= 10 && fired <= 16);  /* about 19 ms, most of them by two */
    for (i = 0; i < 8; i++) {
        CHECK_EQ(b->e->hqd[i].wait_interval, VKFD_WAIT_POLL_MAX_NS);
        set_vram32(b, FLAG + 8 * i, 1);
    }
    bus_advance(b, VKFD_WAIT_QUIET_MAX_NS);
    for (i = 0; i < 8; i++) {
        CHECK_EQ(vram32(b, OUT + 8 * i), 1);
    }

    emit_wait(b, 0, FLAG_VA, WAIT_REG_MEM_EQ, 9, ~0u);
    go(b, 0);
    for (i = 0; i < 20; i++) {
        emit_write(b, 1, FLAG_VA, i % 9);
        go(b, 1);
    }
    CHECK_EQ(b->e->hqd[0].parked, 1);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], b->now + VKFD_WAIT_POLL_MIN_NS);
    bus_free(b);
}

/* A write of the device wakes at once, by physical address. */
static void test_device_write(void)
{
    Bus *b = start();

    /* another VA of the same page */
    vm_map(b, 0x400000000ull, FLAG | PTE_RW);
    emit_wait(b, 0, FLAG_VA + 8, WAIT_REG_MEM_EQ, 7, ~0u);
    emit_write(b, 0, OUT_VA, 1);
    go(b, 0);
    emit_write(b, 1, 0x400000004ull, 7);        /* the dword before */
    go(b, 1);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK(!b->e->hqd[0].poll_now);
    emit_write(b, 1, 0x400000008ull, 7);
    go(b, 1);
    CHECK_EQ(vram32(b, OUT), 1);

    /* in the middle of a longer write, in system memory */
    emit_wait(b, 0, SYS_VA + 0x108, WAIT_REG_MEM_EQ, 9, ~0u);
    emit_write(b, 0, OUT_VA, 2);
    go(b, 0);
    EMIT(b, 1, PACKET3(IT_WRITE_DATA, 7), 5 << 8, (uint32_t)(SYS_VA + 0x100),
         SYS_VA >> 32, 0, 0, 9, 0);
    go(b, 1);
    CHECK_EQ(vram32(b, OUT), 2);

    /* through our own BAR0 */
    vm_map(b, 0x400001000ull, (BAR0_ADDR + FLAG) | PTE_RW | AMDGPU_PTE_SYSTEM);
    emit_wait(b, 0, FLAG_VA + 0x20, WAIT_REG_MEM_EQ, 5, ~0u);
    emit_write(b, 0, OUT_VA, 3);
    go(b, 0);
    emit_write(b, 1, 0x400001020ull, 5);
    go(b, 1);
    CHECK_EQ(vram32(b, OUT), 3);
    bus_free(b);
}

static void test_register(void)
{
    Bus *b = start();

    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM, 6), WAIT_REG_MEM_EQ, mmSCRATCH_REG2, 0,
         3, ~0u, 4);
    emit_write(b, 0, OUT_VA, 1);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 0);
    wr(b, mmSCRATCH_REG2, 2);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);
    EMIT(b, 1, PACKET3(IT_WRITE_DATA, 4), 0, mmSCRATCH_REG2, 0, 3);
    go(b, 1);
    CHECK_EQ(vram32(b, OUT), 1);
    /* write, then wait: HDP flush as every ring does it */
    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM, 6),
         WAIT_REG_MEM_EQ | WAIT_REG_MEM_OP_WRITE_WAIT << 6, mmGPU_HDP_FLUSH_REQ,
         mmGPU_HDP_FLUSH_DONE, 4, 4, 4);
    emit_write(b, 0, OUT_VA, 2);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(counter(b, VKFD_CNT_HDP_FLUSH), 1);
    /* written once, however often it is polled */
    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM, 6),
         WAIT_REG_MEM_EQ | WAIT_REG_MEM_OP_WRITE_WAIT << 6, mmSCRATCH_REG4,
         mmSCRATCH_REG5, 6, ~0u, 4);
    go(b, 0);
    CHECK_EQ(rd(b, mmSCRATCH_REG4), 6);
    wr(b, mmSCRATCH_REG4, 1);
    bus_advance(b, 50000000);
    CHECK_EQ(rd(b, mmSCRATCH_REG4), 1);
    bus_free(b);
}

static void test_dequeue_resume(void)
{
    Bus *b = start();
    uint32_t rptr;
    uint64_t mqd = VKFD_FB_LOCATION_BASE + MQD_ADDR(0);

    hqd_wr(b, 0, mmCP_MQD_BASE_ADDR, mqd);
    wr(b, mmCP_MQD_BASE_ADDR_HI, mqd >> 32);
    emit_write(b, 0, OUT_VA, 1);
    rptr = queue_wptr(0);
    emit_wait(b, 0, FLAG_VA, WAIT_REG_MEM_EQ, 1, ~0u);
    emit_write(b, 0, OUT_VA, 2);
    go(b, 0);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_SAVE_WAVES);
    CHECK_EQ(rd(b, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(rd(b, mmCP_HQD_PQ_RPTR), rptr);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    CHECK_EQ(vram32(b, RPTR_ADDR(0)), rptr);
    CHECK_EQ(vram32(b, MQD_ADDR(0) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), rptr);
    CHECK_EQ(vram32(b, MQD_ADDR(0) + V9_MQD_DW_OF(mmCP_HQD_PQ_WPTR_LO) * 4),
             queue_wptr(0));
    /* off is off */
    set_vram32(b, FLAG, 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT), 1);
    set_vram32(b, FLAG, 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 2);
    set_vram32(b, FLAG, 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT), 2);
    CHECK_EQ(vram32(b, RPTR_ADDR(0)), queue_wptr(0));
    /* a reset leaves the MQD alone, a missing one is no fault */
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    CHECK_EQ(vram32(b, MQD_ADDR(0) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), rptr);
    wr(b, mmCP_MQD_BASE_ADDR, 0x1000);
    wr(b, mmCP_MQD_BASE_ADDR_HI, 0);
    wr(b, mmCP_HQD_ACTIVE, 1);
    wr(b, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
    CHECK_EQ(rd(b, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 1);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 0);
    bus_free(b);
}

/* The same in an IB, moved to another slot by its registers alone. */
static void test_dequeue_in_ib(void)
{
    Bus *b = start();
    uint32_t p[32], saved[VKFD_HQD_DW];
    unsigned n, i;

    n = pkt_write(p, OUT_VA, 1);
    n += pkt_wait_mem(p + n, FLAG_VA, WAIT_REG_MEM_EQ, 1, ~0u);
    n += pkt_write(p + n, OUT_VA + 4, 1);
    memcpy(b->vram + IB_ADDR(0), p, n * 4);
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), n, false));
    emit_write(b, 0, OUT_VA + 8, 1);
    go(b, 0);
    CHECK_EQ(vram32(b, OUT), 1);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 1);
    CHECK_EQ(rd(b, mmCP_HQD_PQ_RPTR), 0);       /* at the IB packet */
    CHECK_EQ(rd(b, mmCP_HQD_IB_RPTR), 5);       /* at the wait */
    CHECK_EQ(rd(b, mmCP_HQD_IB_BASE_ADDR), (uint32_t)(VA0 + IB_ADDR(0)));
    CHECK_EQ(rd(b, mmCP_HQD_IB_CONTROL), 0x80300000 | n);
    for (i = 0; i < VKFD_HQD_DW; i++) {
        saved[i] = rd(b, mmCP_MQD_BASE_ADDR + i);
    }
    set_vram32(b, OUT, 0);
    set_vram32(b, FLAG, 1);
    for (i = 0; i < VKFD_HQD_DW; i++) {
        hqd_wr(b, 33, mmCP_MQD_BASE_ADDR + i, saved[i]);
    }
    /* IB_VMID as a driver leaves it: the IB of a user queue stays a user's */
    wr(b, mmCP_HQD_VMID, TEST_VMID);
    wr(b, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);                /* not run again */
    CHECK_EQ(vram32(b, OUT + 4), 1);
    CHECK_EQ(vram32(b, OUT + 8), 1);
    bus_free(b);
}

static void test_bad_wait(void)
{
    Bus *b = start();

    EMIT(b, 0, PACKET3(IT_WAIT_REG_MEM, 6), WAIT_REG_MEM_EQ | 1 << 4 | 1 << 6,
         0, 0, 0, 0, 4);
    go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    /* an unmapped address is a fault, not a wait */
    emit_wait(b, 1, 0x700000000ull, WAIT_REG_MEM_EQ, 1, ~0u);
    go(b, 1);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 0);
    bus_free(b);
}

int main(void)
{
    test_functions();
    test_cpu_write();
    test_back_off();
    test_device_write();
    test_register();
    test_dequeue_resume();
    test_dequeue_in_ib();
    test_bad_wait();
    return tap_done();
}
