/* SPDX-License-Identifier: MIT */
/* AQL queues: positions, doorbells, INVALID slots, dequeue, budget, nonsense. */
#include "aql-common.h"

static void emit_barrier(Bus *b, unsigned q, unsigned dep, unsigned done)
{
    uint32_t p[16];

    aql_barrier(p, H_AND, dep, 0, done);
    aql_emit(b, q, p);
}

/* Ids are taken before slots are filled: it waits at the slot, without spinning. */
static void test_invalid(void)
{
    Bus *b = aql_start();
    uint32_t p[16], dw[8];
    uint64_t id;
    int by;

    queue_load(b, 1);
    aql_barrier(p, H_AND, 0, 0, 1);
    for (by = 0; by < 3; by++) {
        emit_barrier(b, 0, 0, 2);
        id = aql_claim(b, 0);
        emit_barrier(b, 0, 0, 3);
        aql_go(b, 0);
        CHECK_EQ(signal_value(b, 2), -1 - by);
        CHECK_EQ(signal_value(b, 3), -by);
        CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
        CHECK(!b->scheduled);
        bus_advance(b, 20000000);
        CHECK_EQ(b->e->hqd[0].wait_interval, VKFD_WAIT_POLL_MAX_NS);
        CHECK_EQ(aql_read_id(b, 0), id);
        if (by == 0) {                          /* the CPU, and no doorbell */
            aql_fill(b, 0, id, p);
            bus_run(b);
            CHECK_EQ(signal_value(b, 1), 0);
            bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
        } else if (by == 1) {                   /* the CPU, and rings for it */
            aql_fill(b, 0, id, p);
            aql_go(b, 0);
        } else {                                /* the device writes the header */
            aql_fill(b, 0, id, p);
            set_vram32(b, aql_slot(b, 0, id), AQL_PACKET_INVALID);
            queue_emit(b, 1, dw, pkt_write(dw, VA0 + aql_slot(b, 0, id), p[0]));
            queue_kick(b, 1);
            bus_run(b);
        }
        CHECK_EQ(signal_value(b, 1), -1 - by);
        CHECK_EQ(signal_value(b, 3), -1 - by);
        CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    }
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 3);
    /* what comes into the slot waits in its turn: that is a new wait */
    set_signal(b, 4, 1);
    id = aql_claim(b, 0);
    aql_go(b, 0);
    bus_advance(b, 20000000);
    aql_barrier(p, H_AND, 4, 0, 1);
    aql_fill(b, 0, id, p);
    aql_go(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 5);
    CHECK_EQ(b->e->hqd[0].wait_interval, VKFD_WAIT_POLL_MIN_NS);
    bus_free(b);
}

/* A doorbell's value is not believed: how far to go says memory. */
static void test_doorbell(void)
{
    Bus *b = aql_start();

    emit_barrier(b, 0, 0, 1);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 1000, 8);
    bus_run(b);
    CHECK_EQ(signal_value(b, 1), -1);
    CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_NO);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_WPTR_LO), 16);
    /* idle: a slot is not looked at before somebody rings */
    emit_barrier(b, 0, 0, 1);
    bus_advance(b, 10000000);
    CHECK_EQ(signal_value(b, 1), -1);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 0, 8);
    bus_run(b);
    CHECK_EQ(signal_value(b, 1), -2);
    /* the report of a PM4 queue does not come in between, also if it is on */
    hqd_wr(b, 0, mmCP_HQD_PQ_CONTROL, 9 | 2u << 25);
    emit_barrier(b, 0, 0, 2);
    aql_go(b, 0);
    CHECK_EQ(signal_value(b, 2), -1);
    CHECK_EQ(aql_read_id(b, 0), 3);
    /* a pointer that goes back, or far ahead, runs nothing twice */
    set_vram64(b, AQ(0) + AMD_QUEUE_WRITE_DISPATCH_ID, 0);
    aql_go(b, 0);
    CHECK_EQ(aql_read_id(b, 0), 3);
    CHECK(!b->scheduled);
    set_vram64(b, AQ(0) + AMD_QUEUE_WRITE_DISPATCH_ID, 1ull << 40);
    aql_go(b, 0);
    CHECK_EQ(aql_read_id(b, 0), 3);
    CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
    CHECK_EQ(signal_value(b, 1), -2);
    bus_free(b);

    /* without an address to poll the doorbell is the last packet's id */
    b = aql_start();
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 2);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, 0);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, 0);
    wr(b, mmCP_HQD_ACTIVE, 1);
    emit_barrier(b, 0, 0, 1);
    emit_barrier(b, 0, 0, 1);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 0, 8);
    bus_run(b);
    CHECK_EQ(signal_value(b, 1), -1);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 1, 8);
    bus_run(b);
    CHECK_EQ(signal_value(b, 1), -2);
    bus_free(b);
}

/* Round a ring of one and of four slots, with ids beyond 32 bits. */
static void test_wrap(void)
{
    unsigned n, i;

    for (n = 3; n <= 5; n += 2) {
        Bus *b = bus_new();
        uint64_t id = (1ull << 33) - 3;
        unsigned slots = (2u << n) / 16;

        aql_size = n;
        vm_setup(b);
        set_vram64(b, AQ(0) + AMD_QUEUE_WRITE_DISPATCH_ID, id);
        set_vram64(b, AQ(0) + AMD_QUEUE_READ_DISPATCH_ID, id);
        aql_load(b, 0);
        for (i = 0; i < 10; i++) {
            emit_barrier(b, 0, 0, 1);
            if (i % slots == slots - 1) {       /* full to the last slot */
                aql_go(b, 0);
                CHECK_EQ(signal_value(b, 1), -(int)i - 1);
                CHECK_EQ(aql_read_id(b, 0), id + i + 1);
            }
        }
        /* more ids taken than there are slots, as producers do that wait for room */
        set_vram64(b, AQ(0) + AMD_QUEUE_WRITE_DISPATCH_ID,
                   aql_read_id(b, 0) + slots + 5);
        i = -signal_value(b, 1);
        aql_go(b, 0);
        CHECK(aql_read_id(b, 0) >= id + i);
        CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
        CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 0);
        bus_free(b);
    }
    aql_size = 9;
}

/* In a ring of one slot nothing of a packet is left for the next. */
static void test_one_slot(void)
{
    Bus *b = bus_new();
    uint32_t p[16];
    int i;

    aql_size = 3;
    vm_setup(b);
    set_vram32(b, RING(0), AQL_PACKET_INVALID);
    aql_load(b, 0);
    for (i = 0; i < 3; i++) {
        set_signal(b, 2, 0);
        set_signal(b, 3, 1);
        aql_barrier(p, H_AND, 2, 3, 1);
        aql_emit(b, 0, p);
        aql_go(b, 0);
        CHECK_EQ(signal_value(b, 1), -i);
        set_signal(b, 2, 1);
        set_signal(b, 3, i ? 0 : 1);
        bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
        CHECK_EQ(signal_value(b, 1), i ? -i - 1 : 0);
        set_signal(b, 3, 0);
        bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
        CHECK_EQ(signal_value(b, 1), -i - 1);
        /* the other of the two has not been seen yet */
        set_signal(b, 3, 0);
        set_signal(b, 2, 1);
        aql_emit(b, 0, p);
        aql_go(b, 0);
        CHECK_EQ(signal_value(b, 1), -i - 1);
        set_signal(b, 2, 0);
        bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
        CHECK_EQ(signal_value(b, 1), -i - 2);
        set_signal(b, 1, -i - 1);
    }
    aql_size = 9;
    bus_free(b);
}

/* What was published while the queue was off runs when it is on, exactly once. */
static void test_activation(void)
{
    Bus *b = aql_start();
    unsigned i;

    emit_barrier(b, 0, 0, 1);
    aql_go(b, 0);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
    CHECK_EQ(vram32(b, MQD_ADDR(0) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), 16);
    for (i = 0; i < SLOTS; i++) {               /* a whole ring of them */
        emit_barrier(b, 0, 0, 1);
    }
    aql_go(b, 0);
    bus_advance(b, 10000000);
    CHECK_EQ(signal_value(b, 1), -1);
    CHECK_EQ(aql_read_id(b, 0), 1);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(signal_value(b, 1), -1 - (int)SLOTS);
    CHECK_EQ(aql_read_id(b, 0), SLOTS + 1);
    /* taken off with the pointer report behind or ahead of what memory says */
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
    for (i = 0; i < 2; i++) {
        set_vram64(b, AQ(0) + AMD_QUEUE_READ_DISPATCH_ID, i ? SLOTS : SLOTS + 2);
        hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
        CHECK_EQ(b->e->hqd[0].rptr, (SLOTS + 1) * 16);
        hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
    }
    /* set up so that it cannot be run */
    wr(b, mmCP_HQD_PQ_CONTROL, 2 | 2u << 25);
    wr(b, mmCP_HQD_ACTIVE, 1);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_UNSUPPORTED);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    wr(b, mmCP_HQD_PQ_CONTROL, 9 | 2u << 25);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, 0);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, 0);
    wr(b, mmCP_HQD_ACTIVE, 1);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_UNSUPPORTED);
    CHECK_EQ(counter(b, VKFD_CNT_GUEST_ERROR), 2);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, LO(BAD_VA));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, HI(BAD_VA));
    wr(b, mmCP_HQD_ACTIVE, 1);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
    bus_run(b);
    bus_free(b);
}

/* Taken off at a barrier, at an INVALID slot, in an IB: goes on in another slot. */
static void test_dequeue(void)
{
    unsigned where, i;

    for (where = 0; where < 3; where++) {
        Bus *b = aql_start();
        uint32_t p[16], ib[16], saved[VKFD_HQD_DW];
        unsigned n;

        printf("# case %u\n", where);
        set_signal(b, 2, 1);
        set_signal(b, 3, 1);
        emit_barrier(b, 0, 0, 1);
        if (where == 0) {
            aql_barrier(p, H_AND, 2, 3, 4);
            aql_emit(b, 0, p);
        } else if (where == 1) {
            aql_claim(b, 0);
        } else {
            n = pkt_write(ib, OUT_VA, 1);
            n += pkt_wait_mem(ib + n, SIG_VA(3) + 8, WAIT_REG_MEM_EQ, 0, ~0u);
            memcpy(b->vram + IB_ADDR(0), ib, n * 4);
            aql_pm4_ib(p, VA0 + IB_ADDR(0), n, 4);
            aql_emit(b, 0, p);
        }
        aql_go(b, 0);
        if (where == 0) {                       /* half of it was seen */
            set_signal(b, 2, 0);
            bus_advance(b, 5000000);
        }
        CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
        hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_SAVE_WAVES);
        CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
        CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_RPTR), 16);
        CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
        set_signal(b, 2, 1);
        set_signal(b, 3, 0);
        set_vram32(b, OUT, 0);
        if (where == 1) {
            aql_barrier(p, H_AND, 0, 0, 4);
            aql_fill(b, 0, 1, p);
        }
        bus_advance(b, 5000000);
        CHECK_EQ(signal_value(b, 4), 0);
        for (i = 0; i < VKFD_HQD_DW; i++) {
            saved[i] = vram32(b, MQD_ADDR(0) + (V9_MQD_HQD_FIRST_DW + i) * 4);
            if (!saved[i]) {                    /* the driver's part of the MQD */
                saved[i] = hqd_rd(b, 0, mmCP_MQD_BASE_ADDR + i);
            }
        }
        for (i = 0; i < VKFD_HQD_DW; i++) {
            hqd_wr(b, 40, mmCP_MQD_BASE_ADDR + i, saved[i]);
        }
        wr(b, mmCP_HQD_ACTIVE, 1);
        bus_run(b);
        CHECK_EQ(signal_value(b, 4), -1);
        CHECK_EQ(signal_value(b, 1), -1);
        CHECK_EQ(vram32(b, OUT), 0);
        CHECK_EQ(aql_read_id(b, 0), 2);
        bus_free(b);
    }
}

/* A full ring takes its share of a run and no more. */
static void test_budget(void)
{
    Bus *b = aql_start();
    uint32_t dw[8];
    unsigned i;

    b->e->cp_budget = 8;
    for (i = 0; i < SLOTS; i++) {
        emit_barrier(b, 0, 0, 1);
    }
    queue_load(b, 1);
    queue_emit(b, 1, dw, pkt_write(dw, OUT_VA, 1));
    aql_ring(b, 0);
    queue_kick(b, 1);
    for (i = 1; i <= 3; i++) {
        CHECK(b->scheduled);
        b->scheduled = false;
        vkfd_engine_run(b->e);
        CHECK_EQ(aql_read_id(b, 0), 8 * i);
        CHECK_EQ(vram32(b, OUT), 1);
    }
    bus_run(b);
    CHECK_EQ(aql_read_id(b, 0), SLOTS);
    bus_free(b);
}

/* Another machine, in the middle of everything, with another clock. */
static void test_migrate(void)
{
    Bus *src = aql_start(), *b;
    uint32_t p[16];

    set_signal(src, 2, 1);
    set_signal(src, 3, 1);
    aql_barrier(p, H_AND, 2, 3, 1);
    aql_emit(src, 0, p);
    aql_go(src, 0);
    set_signal(src, 2, 0);
    bus_advance(src, 5000000);
    set_signal(src, 2, 1);

    b = bus_new();
    memcpy((char *)b->e + offsetof(VKFDEngine, regs),
           (char *)src->e + offsetof(VKFDEngine, regs),
           offsetof(VKFDEngine, bar0) - offsetof(VKFDEngine, regs));
    memcpy(b->vram, src->vram, VRAM_SIZE);
    memcpy(b->sys, src->sys, SYS_SIZE);
    b->now = 5;
    CHECK(vkfd_engine_post_load(b->e));
    bus_run(b);
    CHECK_EQ(signal_value(b, 1), 0);
    set_signal(b, 3, 0);
    bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(signal_value(b, 1), -1);
    CHECK_EQ(aql_read_id(b, 0), 1);
    bus_free(b);
    bus_free(src);
}

/* Faults are injected where a packet passes, once a packet. */
static void test_inject(void)
{
    static const struct {
        const char *spec;
        int value;
        uint64_t read_id;
    } cases[] = {
        { "fetch:drop@2", -2, 3 },              /* consumed, not completed */
        { "fetch:dup@2", -4, 3 },
        { "fetch:hang@2", -1, 1 },
        { "fetch:corrupt:0x7@2", -1, 1 },       /* another type of packet: 4 */
        { "fetch:delay:1ms@2", -3, 3 },
    };
    unsigned i, k;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bus *b = aql_start();
        VKFDInjectError err;

        printf("# %s\n", cases[i].spec);
        CHECK(vkfd_inject_arm(b->e, cases[i].spec, &err));
        set_signal(b, 2, 1);
        emit_barrier(b, 0, 0, 1);
        emit_barrier(b, 0, 0, 1);
        aql_claim(b, 0);                        /* waits twice, passes once */
        aql_go(b, 0);
        bus_advance(b, 5000000);
        if (aql_read_id(b, 0) == 2) {
            uint32_t p[16];

            aql_barrier(p, AQL_PACKET_VENDOR | 2 << 16, 2, 0, 1);
            p[6] = p[7] = ~0u;
            aql_fill(b, 0, 2, p);
            aql_go(b, 0);
            for (k = 0; k < 5; k++) {
                bus_advance(b, 1000000);
            }
            CHECK_EQ(b->e->inject.spec[0].passages, 3);
            set_signal(b, 2, 0);
            bus_advance(b, 2000000);
        }
        CHECK_EQ(signal_value(b, 1), cases[i].value);
        CHECK_EQ(aql_read_id(b, 0), cases[i].read_id);
        bus_free(b);
    }
}

/* Random packets, signals, queue structures: whatever they do, it ends. */
static void test_random(void)
{
    uint64_t seed = 0x1234567890abcdefull;
    Bus *b = aql_start();
    unsigned round, i;

    for (round = 0; round < 2000; round++) {
        uint32_t p[16];

        for (i = 0; i < 16; i++) {
            uint32_t r = prng(&seed);

            p[i] = r & 1 ? r : r & 2 ? LO(SIG_VA(r >> 8 & 15)) : r & 4 ? HI(VA0) : 0;
        }
        p[0] = (p[0] & ~0xffu) | (prng(&seed) % 7);
        for (i = 0; i < 16; i += 4) {
            set_vram32(b, SIG(prng(&seed) & 15) + (prng(&seed) & 60), prng(&seed) & 1
                       ? prng(&seed) : LO(SIG_VA(1)));
            set_vram32(b, AQ(0) + (prng(&seed) & 0xfc), prng(&seed) % 300);
        }
        set_vram64(b, AQ(0) + AMD_QUEUE_WRITE_DISPATCH_ID, b->e->hqd[0].rptr / 16);
        aql_emit(b, 0, p);
        aql_go(b, 0);
        bus_advance(b, 1000000);
        if (b->e->hqd[0].stop || b->e->hqd[0].parked) {
            hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 1 + round % 3);
            wr(b, mmCP_HQD_IB_CONTROL, 0x00300000);
            wr(b, mmCP_HQD_ERROR, 0);
            aql_load(b, 0);
        }
    }
    CHECK(counter(b, VKFD_CNT_PACKET) > 10);
    CHECK(counter(b, VKFD_CNT_PACKET_BAD) > 10);
    bus_free(b);
}

/* Found by fuzzing: a kind that changes under an active queue leaves nothing undone. */
static void test_kind_changes(void)
{
    Bus *b = bus_new();
    uint32_t p[8];

    vm_setup(b);
    queue_load(b, 1);
    queue_emit(b, 1, p, pkt_write(p, OUT_VA, 7));
    queue_kick(b, 1);
    hqd_wr(b, 1, mmCP_HQD_AQL_CONTROL, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);        /* less than a packet of AQL */
    hqd_wr(b, 1, mmCP_HQD_AQL_CONTROL, 0);
    CHECK(b->scheduled);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 7);
    bus_free(b);
}

int main(void)
{
    test_invalid();
    test_doorbell();
    test_wrap();
    test_one_slot();
    test_activation();
    test_dequeue();
    test_budget();
    test_migrate();
    test_inject();
    test_random();
    test_kind_changes();
    return tap_done();
}
