/* SPDX-License-Identifier: MIT */
/*
 * Long waits: how often they are looked at while nothing happens, what that costs, what
 * ends the quiet, and that every store is found all the same. On slots and without.
 */
#include "sched-common.h"
#include "sched-priv.h"

#define MS              1000000ll
#define QUEUES          200u
#define OUT             0x800000u
#define FLAG            0x810000u
#define SYS_FLAG(n)     (0x20000u + (n) * 64u)
/* Until the pace is at its slowest, and more. */
#define LONG            (100 * MS)

typedef struct Cost {
    unsigned wakes;             /* of the host, by whatever number of timers */
    unsigned runs;
} Cost;

/* As bus_advance(), and says what it took. */
static Cost pass(Bus *b, int64_t ns)
{
    int64_t end = b->now + ns, t;
    Cost c = { 0 };
    unsigned i;

    while (true) {
        t = INT64_MAX;
        for (i = 0; i < VKFD_NUM_TIMERS; i++) {
            t = b->timer[i] >= 0 && b->timer[i] < t ? b->timer[i] : t;
        }
        if (t > end) {
            break;
        }
        c.wakes++;
        b->now = (uint64_t)t > b->now ? (uint64_t)t : b->now;
        for (i = 0; i < VKFD_NUM_TIMERS; i++) {
            if (b->timer[i] >= 0 && b->timer[i] <= t) {
                b->timer[i] = -1;
                vkfd_engine_timer(b->e, i);
            }
        }
        while (b->scheduled) {
            b->scheduled = false;
            vkfd_engine_run(b->e);
            c.runs++;
        }
    }
    b->now = end;
    return c;
}

/* When the engine looks next, in ns from now. */
static int64_t next(const Bus *b)
{
    int64_t t = b->timer[VKFD_TIMER_WAIT], s = b->timer[VKFD_TIMER_SCHED];

    t = t < 0 || (s >= 0 && s < t) ? s : t;
    return t < 0 ? INT64_MAX : t - (int64_t)b->now;
}

/* QUEUES of them on 24 slots, each waiting for a word of its own in system memory. */
static Bus *many(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[8];
    unsigned i;

    for (i = 0; i < QUEUES; i++) {
        sq_init(b, i);
        sq_emit(b, i, p, pkt_wait_mem(p, SYS_VA + SYS_FLAG(i), WAIT_REG_MEM_EQ, 1, ~0u));
        sq_write(b, i, SQ_OUT(i), 1);
        sq_publish(b, i);
    }
    map_many(b, QUEUES, 50);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 24);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), QUEUES - 24);
    return b;
}

/* In quiet: one wake-up in 8 ms, each queue looked at, none evaluated, no access of the bus. */
static void test_cost(void)
{
    Bus *b = many();
    uint64_t loads;
    Cost c;

    c = pass(b, 10 * MS);
    CHECK(c.wakes >= 10);
    pass(b, LONG);
    b->reads = b->looked_up = 0;
    loads = counter(b, VKFD_CNT_QUEUE_LOAD);
    c = pass(b, 1600 * MS);
    loads = counter(b, VKFD_CNT_QUEUE_LOAD) - loads;
    CHECK_EQ(c.wakes, 200);
    /* one of them gets a slot every eighth time, and there evaluates its wait */
    CHECK(loads <= 200 / VKFD_SCHED_RECHECK);
    CHECK(c.runs <= 4 * loads);
    CHECK(b->reads <= 20 * loads);
    /* four pages of words, by either timer */
    CHECK(b->looked_up <= 200 * 2 * 5);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), QUEUES - 24);
    check_derived(b);
    bus_free(b);
}

/* Every store is found, at the next look; also where pages cannot be looked at. */
static void test_stores(bool no_pages)
{
    Bus *b = many();
    unsigned i, round;

    b->no_pages = no_pages;
    pass(b, LONG);
    for (round = 0; round < 4; round++) {
        pass(b, LONG);
        for (i = round; i < QUEUES; i += 4) {
            set_sys32(b, SYS_FLAG(i), 1);
        }
        /* The look, and then slots for all of them. */
        pass(b, VKFD_WAIT_QUIET_MAX_NS);
        for (i = 0; i < QUEUES; i++) {
            CHECK_EQ(vram32(b, SQ_OUT(i)), i % 4 <= round);
        }
        check_derived(b);
    }
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 0);
    bus_free(b);
}

/* What may be somebody's beginning to do something ends the quiet, what is not does not. */
static void test_hurry(void)
{
    Bus *b = many();
    unsigned i;

    pass(b, LONG);
    for (i = 0; i < 5; i++) {
        pass(b, LONG + VKFD_WAIT_QUIET_MAX_NS - (b->now + LONG) % VKFD_WAIT_QUIET_MAX_NS);
        CHECK(next(b) > 4 * MS);
        if (i == 0) {
            rd(b, mmSCRATCH_REG0);
            CHECK(next(b) > 4 * MS);
            wr(b, mmSCRATCH_REG0, 1);
        } else if (i == 1) {
            vkfd_doorbell_write(b->e, SQ_DOORBELL(500) * 4, 1, 8);
        } else if (i == 2) {
            set_sys32(b, SYS_FLAG(60), 1);      /* without a slot */
            pass(b, VKFD_WAIT_QUIET_MAX_NS);
            CHECK_EQ(vram32(b, SQ_OUT(60)), 1);
        } else {                                /* none that a queue waits for */
            set_sys32(b, SYS_FLAG(i == 3 ? 0 : 61), 7);
            pass(b, VKFD_WAIT_QUIET_MAX_NS);
        }
        CHECK(b->timer[VKFD_TIMER_WAIT] - (int64_t)b->now <= VKFD_WAIT_POLL_MAX_NS);
        CHECK(b->timer[VKFD_TIMER_SCHED] - (int64_t)b->now <= VKFD_WAIT_POLL_MAX_NS);
        /* an eighth of the time, then, in powers of two */
        CHECK(pass(b, 15 * MS).wakes >= 14);
        CHECK(pass(b, 15 * MS).wakes >= 7);
        CHECK(pass(b, 30 * MS).wakes <= 9);
    }
    bus_free(b);
}

/* A queue that goes on counts, one that only evaluates its wait again does not. */
static void test_packets(void)
{
    Bus *b = bus_new();
    uint32_t p[8];

    vm_setup(b);
    queue_load(b, 0);
    queue_load(b, 1);
    queue_emit(b, 0, p, pkt_wait_mem(p, VA0 + FLAG, WAIT_REG_MEM_EQ, 1, ~0u));
    queue_kick(b, 0);
    bus_run(b);
    pass(b, LONG);
    b->e->hqd[0].poll_now = 1;
    vkfd_kick(b->e);
    bus_run(b);
    CHECK(!b->e->heard);
    queue_emit(b, 1, p, pkt_write(p, VA0 + OUT, 1));
    set_vram64(b, WPTR_ADDR(1), queue_wptr(1));
    vkfd_hqd_set_wptr(b->e, 1, queue_wptr(1));
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK(next(b) <= VKFD_WAIT_POLL_MAX_NS);
    bus_free(b);
}

/*
 * What was noted of a queue on a slot is of memory: its page tables change, or where the
 * BARs are, and it looks itself; then that is noted.
 */
static void test_forget(bool bars)
{
    const uint64_t va = 0x400000000ull;
    Bus *b = bus_new();
    uint32_t p[8];

    vm_setup(b);
    vm_map(b, va, FLAG | PTE_RW);
    queue_load(b, 0);
    queue_emit(b, 0, p, pkt_wait_mem(p, va, WAIT_REG_MEM_EQ, 1, ~0u));
    queue_emit(b, 0, p, pkt_write(p, VA0 + OUT, 1));
    queue_kick(b, 0);
    bus_run(b);
    pass(b, LONG);
    CHECK_EQ(b->e->sd.hqd_seen[0].n, 1);
    if (bars) {
        vkfd_engine_set_bars(b->e, true, BAR0_ADDR + VRAM_SIZE, VRAM_SIZE, BAR2_ADDR);
        CHECK_EQ(b->e->sd.hqd_seen[0].n, 0);
    }
    set_vram32(b, FLAG + 0x2000, 1);
    vm_map(b, va, (FLAG + 0x2000) | PTE_RW);
    vm_flush(b, 1u << TEST_VMID);
    pass(b, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, OUT), 1);
    bus_free(b);
}

/* A store that does not end the wait is noted: the queue looks once, not for ever. */
static void test_other_value(void)
{
    Bus *b = many();
    Cost c;

    pass(b, LONG);
    set_sys32(b, SYS_FLAG(0), 5);
    set_sys32(b, SYS_FLAG(100), 5);
    pass(b, 2 * LONG);
    b->e->sched.ticks = 0;
    c = pass(b, 7 * VKFD_WAIT_QUIET_MAX_NS);
    CHECK_EQ(c.wakes, 7);
    CHECK_EQ(c.runs, 0);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0);
    set_sys32(b, SYS_FLAG(0), 1);
    set_sys32(b, SYS_FLAG(100), 1);
    pass(b, VKFD_WAIT_QUIET_MAX_NS);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    CHECK_EQ(vram32(b, SQ_OUT(100)), 1);
    bus_free(b);
}

/* Waits that are not of memory alone keep their pace: registers. */
static void test_registers(void)
{
    const uint32_t p[] = { PACKET3(IT_WAIT_REG_MEM, 6), WAIT_REG_MEM_EQ, mmSCRATCH_REG2, 0,
                           5, ~0u, 4 };
    Bus *b = bus_new();

    vm_setup(b);
    queue_load(b, 0);
    queue_emit(b, 0, p, 7);
    queue_kick(b, 0);
    bus_run(b);
    pass(b, LONG);
    CHECK_EQ(pass(b, LONG).wakes, 100);
    bus_free(b);
}

/* More addresses than one look takes: all are looked at, whoever comes and goes meanwhile. */
static void test_rounds(void)
{
    enum { N = 1000 };
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    VKFDSchedDerived *d = &b->e->sd;
    unsigned i, k, late = 0;
    VKFDPeek peek = { 0 };
    uint64_t v;

    for (i = 0; i < N; i++) {
        sq_init(b, i);
        sq_wait(b, i, 1);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_publish(b, i);
    }
    map_many(b, N, 100);
    CHECK_EQ(d->looks, N - 24);
    CHECK(vkfd_peek(b->e, &peek, SQ_FLAG(0), 4, &v) && v == 0);
    /* As if each waited for more: 1952 addresses, one look takes 1024. */
    for (i = 0; i < N; i++) {
        uint32_t at = sq_entry(b, i) - b->e->sched.queue;

        if (sq_state(b, i) == VKFD_SCHED_PARKED) {
            VKFDSchedSeen s = { .n = 2, .len = 4, .pa = { SQ_FLAG(i), SQ_FLAG(i) + 8 } };

            vkfd_sched_unwatch(b->e, at);
            vkfd_sched_watch(b->e, at, &s);
        }
    }
    CHECK_EQ(d->looks, 2 * (N - 24));
    check_derived(b);
    /* One in seven at a time; those that are found leave the looks, from the middle. */
    for (k = 0; k < 7; k++) {
        for (i = k; i < N; i += 7) {
            set_vram32(b, SQ_FLAG(i), 1);
        }
        vkfd_sched_poll(b->e);
        check_derived(b);
        vkfd_sched_poll(b->e);
        for (i = k; i < N; i += 7) {
            late += sq_state(b, i) == VKFD_SCHED_PARKED;
        }
        pass(b, VKFD_WAIT_QUIET_MAX_NS);
        for (i = k; i < N; i += 7) {
            late += vram32(b, SQ_OUT(i)) != 1;
        }
        check_derived(b);
    }
    CHECK_EQ(late, 0);
    CHECK_EQ(d->looks, 0);
    bus_free(b);
}

int main(void)
{
    test_cost();
    test_stores(false);
    test_stores(true);
    test_hurry();
    test_packets();
    test_forget(false);
    test_forget(true);
    test_other_value();
    test_registers();
    test_rounds();
    return tap_done();
}
