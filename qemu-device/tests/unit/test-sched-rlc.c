/* SPDX-License-Identifier: MIT */
/*
 * SDMA queues of run lists on the engines themselves: what they execute when there are
 * more of them than slots, when somebody takes a slot away, over a migration, and under
 * injected faults.
 */
#include "sched-common.h"
#include "sdma-priv.h"

#define MS              1000000u
#define LO(va)          ((uint32_t)(va))
#define HI(va)          ((uint32_t)((uint64_t)(va) >> 32))

static uint64_t bytes[SQ_MAX];          /* write pointers */
static List list;

static Bus *start(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    unsigned i;

    for (i = 0; i < VKFD_NUM_SDMA; i++) {
        wr(b, mmSDMA0_F32_CNTL + i * VKFD_SDMA_ENGINE_STRIDE, 0);
    }
    wr(b, mmBIF_SDMA0_DOORBELL_RANGE, SQ_DOORBELL(0) % 1024 << 2 | 31u << 16);
    memset(bytes, 0, sizeof(bytes));
    return b;
}

static void emit(Bus *b, unsigned n, const uint32_t *dw, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++, bytes[n] += 4) {
        set_vram32(b, SQ_RING(n) + (bytes[n] & (SQ_RING_DW * 4 - 1)), dw[i]);
    }
}

static void emit_fence(Bus *b, unsigned n, uint32_t val)
{
    uint64_t va = VA0 + SQ_OUT(n);
    const uint32_t p[] = { SDMA_OP_FENCE, LO(va), HI(va), val };

    emit(b, n, p, 4);
}

static void emit_poll(Bus *b, unsigned n, uint32_t ref, uint32_t retry)
{
    uint64_t va = VA0 + SQ_FLAG(n);
    const uint32_t p[] = {
        SDMA_OP_POLL_REGMEM | 3u << 28 | 1u << 31, LO(va), HI(va), ref, ~0u,
        retry << 16 | 10,
    };

    emit(b, n, p, 6);
}

/* Wait until the word at SQ_FLAG(n) is ref. */
static void emit_wait(Bus *b, unsigned n, uint32_t ref)
{
    emit_poll(b, n, ref, SDMA_POLL_REGMEM_RETRY_FOREVER);
}

/* The same, not quite for ever: such a queue needs a slot to wait, and takes turns. */
static void emit_wait_on_slot(Bus *b, unsigned n, uint32_t ref)
{
    emit_poll(b, n, ref, SDMA_POLL_REGMEM_RETRY_FOREVER - 1);
}

static void publish(Bus *b, unsigned n)
{
    set_vram64(b, SQ_WPTR(n), bytes[n]);
}

static void kick(Bus *b, unsigned n)
{
    publish(b, n);
    vkfd_doorbell_write(b->e, SQ_DOORBELL(n) * 4, bytes[n], 8);
    bus_run(b);
}

static void mqd_init(Bus *b, unsigned n)
{
    uint64_t ring = VA0 + SQ_RING(n), report = VA0 + SQ_RPTR(n);
    uint32_t at = SQ_MQD(n);

    memset(b->vram + at, 0, V9_SDMA_MQD_DW * 4);
    set_vram32(b, at + V9_SDMA_MQD_RB_CNTL_DW * 4,
               8 << SDMA0_GFX_RB_CNTL__RB_SIZE__SHIFT |
               SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE_MASK);
    set_vram32(b, at + V9_SDMA_MQD_RB_BASE_DW * 4, ring >> 8);
    set_vram32(b, at + V9_SDMA_MQD_RB_BASE_HI_DW * 4, ring >> 40);
    set_vram32(b, at + V9_SDMA_MQD_RB_RPTR_ADDR_LO_DW * 4, report);
    set_vram32(b, at + V9_SDMA_MQD_RB_RPTR_ADDR_HI_DW * 4, report >> 32);
}

/* Map queues 0 to n - 1 of process 0 on SDMA0, as they are in their MQDs. */
static void map(Bus *b, unsigned n)
{
    unsigned i;

    memset(&list, 0, sizeof(list));
    list_process(&list, 0, n);
    for (i = 0; i < n; i++) {
        list_queue(&list, i);
        list.dw[list.n - 6] |= (uint32_t)ENGINE_SEL_SDMA0 << 26;
    }
    list_send(b, &list);
}

static void map_new(Bus *b, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        mqd_init(b, i);
    }
    map(b, n);
}

static void unmap_all(Bus *b)
{
    uint32_t p[16];

    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_NON_STATIC, 0));
    CHECK_EQ(b->e->sched.queue_top, 0);
}

static unsigned id_of(Bus *b, unsigned n)
{
    CHECK_EQ(sq_state(b, n), VKFD_SCHED_ON_SLOT);
    return VKFD_SDMA_BLOCK_RLC0 + sq_entry(b, n)->slot;
}

/* It runs in the process's VMID, with the packet's doorbell and write pointer. */
static void test_run(void)
{
    Bus *b = start();

    emit_fence(b, 1, 0x11);
    publish(b, 1);
    map_new(b, 2);
    CHECK_EQ(vram32(b, SQ_OUT(1)), 0x11);       /* without a doorbell */
    CHECK_EQ(vkfd_sdma_vmid(b->e, id_of(b, 1)), b->e->sched.proc[0].vmid);
    emit_fence(b, 0, 0x22);
    kick(b, 0);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0x22);
    CHECK_EQ(vram64(b, SQ_RPTR(0)), bytes[0]);
    /* unmapped in a wait, and mapped again: it goes on there */
    emit_wait(b, 0, 1);
    emit_fence(b, 0, 0x33);
    kick(b, 0);
    unmap_all(b);
    CHECK_EQ(b->e->sdma_active, 0);
    set_vram32(b, SQ_FLAG(0), 1);
    bus_advance(b, 10 * MS);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0x22);
    map(b, 2);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0x33);
    check_derived(b);
    bus_free(b);
}

static void run_for(Bus *b, unsigned ms)
{
    while (ms--) {
        bus_advance(b, MS);
    }
}

/* Twelve queues that wait, on eight slots: all see their word change, in no time. */
static void test_waits(void)
{
    Bus *b = start();
    uint64_t loads;
    unsigned i;

    map_new(b, 13);
    for (i = 0; i < 12; i++) {
        emit_wait(b, i, 1);
        emit_fence(b, i, 0x40 + i);
        kick(b, i);
    }
    /* nobody waits for a slot: four of them wait without one */
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), VKFD_SCHED_SDMA_RLC);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 4);
    CHECK_EQ(sq_count(b, VKFD_SCHED_READY), 0);
    check_derived(b);
    /* which costs one load in eight ticks, and one each until it was noted */
    loads = counter(b, VKFD_CNT_QUEUE_LOAD);
    run_for(b, 80);
    CHECK(counter(b, VKFD_CNT_QUEUE_LOAD) - loads <=
          80 / VKFD_SCHED_RECHECK + VKFD_SCHED_SDMA_RLC);
    /* the word beside the one that is polled is of no interest */
    loads = counter(b, VKFD_CNT_QUEUE_LOAD);
    for (i = 0; i < 12; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0);
        set_vram32(b, SQ_FLAG(i) + 4, 1);
    }
    run_for(b, VKFD_WAIT_QUIET_MAX_NS / MS);
    CHECK(counter(b, VKFD_CNT_QUEUE_LOAD) - loads <= 1);
    /* the CPU ends some of the waits, with or without a slot */
    for (i = 0; i < 12; i += 2) {
        set_vram32(b, SQ_FLAG(i), 1);
    }
    run_for(b, VKFD_WAIT_QUIET_MAX_NS / MS);
    for (i = 0; i < 12; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), i % 2 ? 0 : 0x40 + i);
    }
    /* the device the others, at once */
    for (i = 1; i < 12; i += 2) {
        uint64_t va = VA0 + SQ_FLAG(i);
        const uint32_t p[] = { SDMA_OP_FENCE, LO(va), HI(va), 1 };

        emit(b, 12, p, 4);
    }
    kick(b, 12);
    for (i = 0; i < 12; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0x40 + i);
    }
    /* All are idle: nobody waits for a slot, and no timer runs. */
    CHECK_EQ(sq_count(b, VKFD_SCHED_READY), 0);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    /* A doorbell finds each of them, in a slot or not. */
    CHECK(sq_count(b, VKFD_SCHED_IDLE) >= 4);
    for (i = 0; i < 12; i++) {
        emit_fence(b, i, 0x50 + i);
        kick(b, i);
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0x50 + i);
    }
    CHECK(counter(b, VKFD_CNT_DOORBELL_WAKE) >= 4);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 0);
    check_derived(b);
    bus_free(b);
}

/* Nine queues of which the last has no slot: the others wait, by packet p for each. */
static Bus *nine(const uint32_t *p, unsigned n, unsigned addr_dw)
{
    Bus *b = start();
    unsigned i;

    map_new(b, 9);
    for (i = 0; i < 9; i++) {
        uint64_t va = VA0 + SQ_FLAG(i);
        uint32_t pkt[8];

        memcpy(pkt, p, n * 4);
        if (addr_dw) {
            pkt[addr_dw] = LO(va);
            pkt[addr_dw + 1] = HI(va);
        }
        emit(b, i, pkt, n);
        emit_fence(b, i, 0x70 + i);
        kick(b, i);
    }
    return b;
}

/* What ends by the number of polls, or by a register, has to be polled: in turns. */
static void test_not_watched(void)
{
    const uint32_t retries[] = {
        SDMA_OP_POLL_REGMEM | 3u << 28 | 1u << 31, 0, 0, 1, ~0u, 20 << 16 | 10,
    };
    const uint32_t reg[] = {
        SDMA_OP_POLL_REGMEM | 3u << 28, mmSCRATCH_REG1 * 4, 0, 1, ~0u,
        SDMA_POLL_REGMEM_RETRY_FOREVER << 16 | 10,
    };
    Bus *b = nine(retries, 6, 1);
    unsigned i;

    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 0);
    CHECK_EQ(sq_count(b, VKFD_SCHED_READY), 1);
    for (i = 0; i < 200; i++) {
        bus_advance(b, MS);
        CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 0);
    }
    for (i = 0; i < 9; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0x70 + i);       /* all gave up */
    }
    bus_free(b);

    b = nine(reg, 6, 0);
    run_for(b, 10);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 0);
    wr(b, mmSCRATCH_REG1, 1);
    run_for(b, 10);
    for (i = 0; i < 9; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0x70 + i);
    }
    bus_free(b);
}

/* An atomic that loops waits for eight bytes, or for four. */
static void test_watch_atomic(void)
{
    const uint32_t wide[] = {
        SDMA_OP_ATOMIC | 1 << 16 | 40u << 25, 0, 0, 7, 0, 0, 1, 10,
    };
    Bus *b = nine(wide, 8, 1);
    unsigned i;

    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 1);
    for (i = 0; i < 9; i++) {
        set_vram32(b, SQ_FLAG(i) + 4, 1);
    }
    run_for(b, 2);
    for (i = 0; i < 9; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0x70 + i);
        CHECK_EQ(vram64(b, SQ_FLAG(i)), 7);
    }
    bus_free(b);
}

/* As test_note_of_before() of compute queues. */
static void test_note_of_before(void)
{
    const uint32_t one[] = {
        SDMA_OP_POLL_REGMEM | 3u << 28 | 1u << 31, 0, 0, 1, ~0u,
        SDMA_POLL_REGMEM_RETRY_FOREVER << 16 | 10,
    };
    Bus *b = start();
    unsigned i;

    map_new(b, 9);
    for (i = 0; i < 8; i++) {
        emit_wait(b, i, 1);
        if (!i) {
            emit_wait(b, i, 0);
            emit_fence(b, i, 9);
        }
        kick(b, i);
    }
    emit(b, 8, one, 6);
    publish(b, 8);
    vkfd_doorbell_write(b->e, SQ_DOORBELL(8) * 4, bytes[8], 8);
    vkfd_sched_run(b->e);
    CHECK_EQ(b->e->sd.rlc_seen[0][sq_entry(b, 0)->slot].n, 1);
    set_vram32(b, SQ_FLAG(0), 1);
    bus_run(b);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);       /* another gave way */
    kick(b, 8);
    for (i = 1; i < 8; i++) {
        sq_entry(b, i)->since = b->now + MS;
    }
    bus_run(b);
    set_vram32(b, SQ_FLAG(0), 0);
    run_for(b, 2);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 9);
    bus_free(b);
}

/* The page a queue without slot waits on is another now: the MM hub tells. */
static void test_tables(void)
{
    const uint64_t va = 0x400005000ull;
    const uint32_t p[] = {
        SDMA_OP_POLL_REGMEM | 3u << 28 | 1u << 31, LO(va), HI(va), 1, ~0u,
        SDMA_POLL_REGMEM_RETRY_FOREVER << 16 | 10,
    };
    Bus *b = start();
    unsigned i;

    vm_map(b, va, SQ_FLAG(0) | PTE_RW);
    map_new(b, 9);
    for (i = 0; i < 9; i++) {
        emit(b, i, p, 6);
        emit_fence(b, i, 3);
        kick(b, i);
    }
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 1);
    set_vram32(b, 0xf00000, 1);
    vm_map(b, va, 0xf00000 | PTE_RW);
    wr(b, mmMMHUB_VM_INVALIDATE_ENG0_REQ, 1u << b->e->sched.proc[0].vmid);
    run_for(b, 2);
    for (i = 0; i < 9; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 3);
    }
    bus_free(b);
}

/* One that is idle but polls its write pointer is not left without a slot for good. */
static void test_polls_wptr(void)
{
    Bus *b = start();
    unsigned i;

    for (i = 0; i < 9; i++) {
        mqd_init(b, i);
    }
    set_vram32(b, SQ_MQD(0) + (mmSDMA0_GFX_RB_WPTR_POLL_CNTL - mmSDMA0_GFX_RB_CNTL) * 4,
               SDMA0_GFX_RB_WPTR_POLL_CNTL__ENABLE_MASK);
    for (i = 1; i < 9; i++) {
        emit_wait_on_slot(b, i, 1);
        publish(b, i);
    }
    map(b, 9);
    run_for(b, 20);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_PARKED);
    emit_fence(b, 0, 7);
    publish(b, 0);                              /* no doorbell */
    run_for(b, 10);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 7);
    bus_free(b);
}

/* Off behind the firmware's back, in three ways. */
static void test_taken_off(void)
{
    unsigned how;

    for (how = 0; how < 3; how++) {
        Bus *b = start(), *m;
        unsigned id, i;

        printf("# how %u\n", how);
        map_new(b, 9);
        for (i = 0; i < 9; i++) {
            emit_wait_on_slot(b, i, 1);
            kick(b, i);
        }
        id = id_of(b, 0);
        CHECK_EQ(sq_state(b, 8), VKFD_SCHED_READY);
        if (how == 0) {
            wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_RB_CNTL),
               SDMA(b->e, id, RB_CNTL) & ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
        } else if (how == 1) {
            wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_DOORBELL), 0);
        } else {
            wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_RB_WPTR_POLL_CNTL),
               SDMA0_GFX_RB_WPTR_POLL_CNTL__ENABLE_MASK);
            wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_DOORBELL), 0);
            CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);       /* it polls */
            wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_RB_WPTR_POLL_ADDR_LO), 0);
            wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_RB_WPTR_POLL_ADDR_HI), 0);
        }
        CHECK_EQ(sq_state(b, 0), VKFD_SCHED_STOPPED);
        check_derived(b);
        /* such a state can be loaded */
        m = sched_migrate(b);
        CHECK(vkfd_engine_post_load(m->e));
        bus_free(m);
        /* who waited for a slot has this one */
        bus_run(b);
        CHECK_EQ(id_of(b, 8), id);
        check_derived(b);
        /* it stays stopped: its doorbell does nothing, an unmap ends it */
        kick(b, 0);
        bus_advance(b, 5 * MS);
        CHECK_EQ(sq_state(b, 0), VKFD_SCHED_STOPPED);
        unmap_all(b);
        CHECK_EQ(b->e->sdma_active & ~(1u << id), 0);
        bus_free(b);
    }
}

static void test_migration(void)
{
    Bus *b = start(), *m;
    unsigned i;

    map_new(b, 10);
    for (i = 0; i < 10; i++) {
        emit_wait_on_slot(b, i, 1);
        emit_fence(b, i, 0x60 + i);
        kick(b, i);
    }
    m = sched_migrate(b);
    CHECK(vkfd_engine_post_load(m->e));
    check_derived(m);
    for (i = 0; i < 10; i++) {
        set_vram32(m, SQ_FLAG(i), 1);
    }
    for (i = 0; i < 10; i++) {
        bus_advance(m, MS);
    }
    for (i = 0; i < 10; i++) {
        CHECK_EQ(vram32(m, SQ_OUT(i)), 0x60 + i);
    }
    check_derived(m);
    bus_free(m);
    /* a slot that no queue of the engine is in */
    m = sched_migrate(b);
    m->e->regs[vkfd_sdma_index(id_of(b, 0), mmSDMA0_GFX_RB_CNTL)] &=
        ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
    m->e->sdma[id_of(b, 0)].parked = 0;
    CHECK(!vkfd_engine_post_load(m->e));
    bus_free(m);
    /* one that is on, but without a doorbell, as a driver leaves it */
    m = sched_migrate(b);
    m->e->regs[vkfd_sdma_index(id_of(b, 0), mmSDMA0_GFX_DOORBELL)] = 0;
    CHECK(!vkfd_engine_post_load(m->e));
    bus_free(m);
    bus_free(b);
}

/* An MQD that is not there any more: the queue is stopped, its slot is another's. */
static void test_lost_mqd(void)
{
    Bus *b = start();
    unsigned i, id;

    map_new(b, 9);
    for (i = 0; i < 9; i++) {
        emit_wait_on_slot(b, i, 1);
        kick(b, i);
    }
    id = id_of(b, 0);
    sq_entry(b, 0)->mqd = MC(VRAM_SIZE) - 4;    /* where there is memory for a part */
    bus_advance(b, 2 * MS);
    bus_run(b);
    CHECK_EQ(b->e->sched.queue[0].state, VKFD_SCHED_STOPPED);
    CHECK_EQ(b->guest_errors, 1);
    CHECK_EQ(id_of(b, 8), id);
    check_derived(b);
    bus_free(b);
}

static void arm(Bus *b, const char *text)
{
    VKFDInjectError err;

    CHECK(vkfd_inject_arm(b->e, text, &err));
}

static void test_inject(void)
{
    Bus *b = start();
    uint32_t p[16];
    unsigned i, id;

    /* one that stands still keeps its slot: a swap would be a cure */
    map_new(b, 10);
    arm(b, "fetch:hang@1");
    emit_fence(b, 3, 1);
    kick(b, 3);
    CHECK_EQ(vram32(b, SQ_OUT(3)), 0);
    for (i = 0; i < 10; i++) {
        if (i != 3) {
            emit_wait_on_slot(b, i, 1);
            kick(b, i);
        }
    }
    for (i = 0; i < 10; i++) {
        bus_advance(b, 2 * MS);
        CHECK_EQ(sq_state(b, 3), VKFD_SCHED_ON_SLOT);
    }
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) > 5);
    CHECK_EQ(vram32(b, SQ_OUT(3)), 0);
    /* an unmap takes it off all the same */
    unmap_all(b);
    CHECK_EQ(b->e->sdma_active, 0);
    bus_free(b);

    /* a switch-off that is late: the block is the queue's until then */
    b = start();
    map_new(b, 1);
    id = id_of(b, 0);
    arm(b, "preempt:delay:2ms@1");
    wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_RB_CNTL),
       SDMA(b->e, id, RB_CNTL) & ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
    bus_advance(b, MS);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);
    bus_advance(b, 2 * MS);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_STOPPED);
    check_derived(b);
    bus_free(b);

    /* INVALIDATE_TLBS: late writes of the hubs it is for are done first */
    for (i = 0; i < 2; i++) {
        b = start();
        map_new(b, 1);
        arm(b, "slot:delay:5ms@1");
        emit_fence(b, 0, 9);
        kick(b, 0);
        CHECK_EQ(vram32(b, SQ_OUT(0)), 0);
        p[0] = PACKET3(IT_INVALIDATE_TLBS, INVALIDATE_TLBS_DW);
        p[1] = PASID(0) << INVALIDATE_TLBS__PASID__SHIFT |
               (i ? INVALIDATE_TLBS__ALL_HUB : 0);
        hiq_send(b, p, 1 + INVALIDATE_TLBS_DW);
        CHECK_EQ(vram32(b, SQ_OUT(0)), i ? 9 : 0);
        bus_advance(b, 6 * MS);
        CHECK_EQ(vram32(b, SQ_OUT(0)), 9);
        bus_free(b);
    }
}

/* UNMAP_QUEUES of a queue that stops late, or never, or was not asked after all. */
static void test_preempt(void)
{
    static const char *const specs[] = {
        "preempt:delay:3ms@1", "preempt:hang@1", "preempt:drop@1",
    };
    uint32_t p[32];
    unsigned how, n, id;

    for (how = 0; how < 3; how++) {
        Bus *b = start(), *m;

        printf("# %s\n", specs[how]);
        hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR, MC_LO(HIQ_MQD));
        hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR_HI, MC(HIQ_MQD) >> 32);
        map_new(b, 2);
        emit_fence(b, 0, 0x7f);
        emit_wait(b, 0, 1);
        emit_fence(b, 0, 0x80);
        kick(b, 0);
        id = id_of(b, 0);
        arm(b, specs[how]);
        n = pkt_unmap(p, 0, UNMAP_QUEUES_SEL_NON_STATIC, 0);
        n += pkt_query(p + n, QUERY_STATUS_FENCE, MC(FENCE), 7);
        hiq_send(b, p, n);
        CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 1);
        CHECK_EQ(vram64(b, FENCE), 0);
        CHECK_EQ(SDMA(b->e, id, RB_CNTL) & SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK, how == 2);
        /* what is on its way off executes nothing; who was not asked goes on */
        set_vram32(b, SQ_FLAG(0), 1);
        bus_advance(b, 2 * MS);
        CHECK_EQ(vram32(b, SQ_OUT(0)), how == 2 ? 0x80 : 0x7f);
        CHECK_EQ(vram64(b, FENCE), 0);
        m = sched_migrate(b);
        CHECK(vkfd_engine_post_load(m->e));
        bus_free(m);
        if (how == 0) {
            bus_advance(b, 2 * MS);
        } else {
            /* not by the time of compute queues: nobody resets one of SDMA */
            run_for(b, 1000);
            CHECK_EQ(vram64(b, FENCE), 0);
            if (how == 1) {
                arm(b, "");
            } else {
                wr(b, vkfd_sdma_index(id, mmSDMA0_GFX_RB_CNTL),
                   SDMA(b->e, id, RB_CNTL) & ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
            }
            bus_run(b);
        }
        CHECK_EQ(vram64(b, FENCE), 7);
        CHECK_EQ(b->e->sched.queue_top, 0);
        CHECK_EQ(b->e->sdma_active, 0);
        CHECK_EQ(SDMA(b->e, id, DOORBELL), 0);
        check_derived(b);
        CHECK_EQ(vram32(b, SQ_MQD(0) + V9_SDMA_MQD_RB_RPTR_DW * 4),
                 how == 2 ? bytes[0] : SDMA_PKT_FENCE_DW * 4);
        /* it goes on where it was */
        map(b, 2);
        bus_run(b);
        CHECK_EQ(vram32(b, SQ_OUT(0)), 0x80);
        CHECK_EQ(vram64(b, SQ_RPTR(0)), bytes[0]);
        bus_free(b);
    }
}

int main(void)
{
    test_preempt();
    test_run();
    test_waits();
    test_not_watched();
    test_watch_atomic();
    test_note_of_before();
    test_tables();
    test_polls_wptr();
    test_taken_off();
    test_migration();
    test_lost_mqd();
    test_inject();
    return tap_done();
}
