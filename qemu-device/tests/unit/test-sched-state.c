/* SPDX-License-Identifier: MIT */
/* The scheduler under injected faults, resets, and loads of good and hostile state. */
#include "sched-common.h"

static void arm(Bus *b, const char *text)
{
    VKFDInjectError err;

    if (!vkfd_inject_arm(b->e, text, &err)) {
        CHECK(!"the text is in the grammar");
    }
}

/* Two queues of process 0 parked on their slots. */
static Bus *start(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    unsigned i;

    for (i = 0; i < 2; i++) {
        sq_init(b, i);
        sq_wait(b, i, 1);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_publish(b, i);
    }
    list_simple(b, 0, 0, 2);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 2);
    return b;
}

static void unmap_query(Bus *b, uint32_t action)
{
    uint32_t p[32], n = pkt_unmap(p, action, UNMAP_QUEUES_SEL_NON_STATIC, 0);

    n += pkt_query(p + n, QUERY_STATUS_FENCE, MC(FENCE), 100);
    hiq_send(b, p, n);
}

static void test_hang(void)
{
    Bus *b = start();
    uint32_t p[8];

    arm(b, "preempt:hang@2");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 1);
    CHECK_EQ(vram64(b, FENCE), 0);
    CHECK_EQ(b->e->hqd[HIQ].parked, VKFD_PARKED_SCHED);
    CHECK(!b->scheduled);
    bus_advance(b, 100000000);
    CHECK_EQ(vram64(b, FENCE), 0);
    /* the HIQ answers nothing else either, but no queue runs that hangs */
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE, MC(FENCE + 8), 1));
    set_vram32(b, SQ_FLAG(0), 1);
    set_vram32(b, SQ_FLAG(1), 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram64(b, FENCE + 8), 0);
    CHECK_EQ(vram32(b, SQ_OUT(0)) + vram32(b, SQ_OUT(1)), 0);
    /* a state that was saved hangs on the other side too */
    {
        Bus *m = sched_migrate(b);

        CHECK(vkfd_engine_post_load(m->e));
        bus_advance(m, 10000000);
        CHECK_EQ(vram64(m, FENCE), 0);
        arm(m, "");
        bus_run(m);
        CHECK_EQ(vram64(m, FENCE), 100);
        CHECK_EQ(m->e->sched.queue_top, 0);
        bus_free(m);
    }
    /* disarmed, it comes through */
    arm(b, "");
    bus_run(b);
    CHECK_EQ(vram64(b, FENCE), 100);
    CHECK_EQ(vram64(b, FENCE + 8), 1);
    CHECK_EQ(b->e->sched.queue_top, 0);
    CHECK_EQ(vram32(b, SQ_MQD(1) + V9_MQD_DW_OF(mmCP_HQD_PQ_WPTR_LO) * 4), sq_wptr(1));
    check_derived(b);
    bus_free(b);

    /* the driver's way out: a soft reset, and everything anew */
    b = start();
    arm(b, "preempt:hang@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    wr(b, mmGRBM_SOFT_RESET, 0);
    CHECK_EQ(b->e->sched.queue_top, 0);
    CHECK_EQ(b->e->sched.vmid_mask[SET_RESOURCES_HIQ], 0);
    CHECK_EQ(rd(b, mmATC_VMID0_PASID_MAPPING + 8), 0);
    CHECK_EQ(b->e->active_mask, 0);
    hqd_wr(b, HIQ, mmCP_HQD_PQ_RPTR, 0);
    bus_run(b);
    CHECK_EQ(vram64(b, FENCE), 0);
    bus_free(b);
}

static void test_delay(void)
{
    Bus *b = start();

    arm(b, "preempt:delay:2ms@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    CHECK_EQ(vram64(b, FENCE), 0);
    bus_advance(b, 1900000);
    CHECK_EQ(vram64(b, FENCE), 0);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 1);
    bus_advance(b, 200000);
    CHECK_EQ(vram64(b, FENCE), 100);
    CHECK_EQ(b->e->sched.queue_top, 0);
    bus_free(b);
    /* preempted and not unmapped: it goes on afterwards */
    b = start();
    arm(b, "preempt:delay:2ms@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT_NO_UNMAP);
    CHECK_EQ(vram64(b, FENCE), 0);
    bus_advance(b, 3000000);
    CHECK_EQ(vram64(b, FENCE), 100);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 2);
    set_vram32(b, SQ_FLAG(0), 1);
    set_vram32(b, SQ_FLAG(1), 1);
    bus_advance(b, 3000000);
    CHECK_EQ(vram32(b, SQ_OUT(0)) + vram32(b, SQ_OUT(1)), 2);
    bus_free(b);
}

/* The request is lost: its queue runs on, and the firmware waits for it. */
static void test_drop(void)
{
    Bus *b = start();
    unsigned first;

    arm(b, "preempt:drop@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 1);
    first = sq_entry(b, 0) ? 0 : 1;
    set_vram32(b, SQ_FLAG(first), 1);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, SQ_OUT(first)), 1);
    CHECK_EQ(vram64(b, FENCE), 0);
    /* a dequeue by register completes it */
    hqd_wr(b, sq_entry(b, first)->slot, mmCP_HQD_DEQUEUE_REQUEST, 1);
    bus_run(b);
    CHECK_EQ(vram64(b, FENCE), 100);
    CHECK_EQ(b->e->sched.queue_top, 0);
    bus_free(b);
}

/* A queue that stands still by injection keeps its slot: a swap would be a cure. */
static void test_fetch_hang(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);
    unsigned i;

    for (i = 0; i < 2; i++) {
        sq_init(b, i);
        sq_write(b, i, SQ_OUT(i), 1);
    }
    list_simple(b, 0, 0, 2);
    arm(b, "fetch:hang@1");
    sq_kick(b, 0);
    bus_run(b);
    sq_kick(b, 1);
    bus_advance(b, 20000000);
    CHECK_EQ(vram32(b, SQ_OUT(0)) + vram32(b, SQ_OUT(1)), 0);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_SWAP), 0);
    CHECK(!b->scheduled);
    arm(b, "");
    bus_advance(b, 2000000);
    CHECK_EQ(vram32(b, SQ_OUT(0)) + vram32(b, SQ_OUT(1)), 2);
    bus_free(b);
}

/* A slot that is dequeued behind the scheduler's back is free, its queue stopped. */
static void test_taken_off(void)
{
    Bus *b = start();
    unsigned slot = sq_entry(b, 0)->slot;

    hqd_wr(b, slot, mmCP_HQD_DEQUEUE_REQUEST, 2);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_STOPPED);
    check_derived(b);
    sq_init(b, 2);
    sq_write(b, 2, SQ_OUT(2), 1);
    sq_publish(b, 2);
    list_simple(b, 1, 2, 1);
    CHECK_EQ(vram32(b, SQ_OUT(2)), 1);
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    CHECK_EQ(vram64(b, FENCE), 100);
    bus_free(b);
}

static void test_reset(void)
{
    Bus *b = start();
    unsigned i;

    for (i = 0; i < 2; i++) {
        vkfd_engine_reset(b->e, i);
        b->scheduled = false;
        CHECK_EQ(b->e->sched.queue_top, 0);
        CHECK_EQ(b->e->sched.proc_top, 0);
        CHECK_EQ(b->e->sd.hqd_owner[sq_entry(b, 0) ? 0 : 2], VKFD_SCHED_NONE);
        CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
        sq_kick(b, 0);
        CHECK(!b->scheduled);
    }
    check_derived(b);
    bus_free(b);
}

/* 60 queues of 12 processes: on slots, parked, idle, ready, and in mid-IB. */
static Bus *busy(void)
{
    Bus *b = sched_start(KFD_VMIDS, 0xff);
    List *l = calloc(1, sizeof(*l));
    uint32_t p[32], i, n;

    for (i = 0; i < 60; i++) {
        sq_init(b, i);
        if (i % 5 == 0) {
            list_process(l, i / 5, 5);
        }
        list_queue(l, i);
        if (i % 3 == 0) {
            n = pkt_write(p, VA0 + SQ_OUT(i), 1);
            n += pkt_wait_mem(p + n, VA0 + SQ_FLAG(i), WAIT_REG_MEM_EQ, 1, ~0u);
            n += pkt_write(p + n, VA0 + SQ_OUT(i) + 4, 1);
            memcpy(b->vram + IB_ADDR(0) + i * 128, p, n * 4);
            sq_emit(b, i, p, pkt_ib(p, VA0 + IB_ADDR(0) + i * 128, n, false));
        } else if (i % 3 == 1) {
            sq_wait(b, i, 1);
        }
        sq_write(b, i, SQ_OUT(i) + 8, 1);
        if (i % 3 != 2) {
            sq_publish(b, i);
        }
    }
    list_send(b, l);
    bus_advance(b, 2000000);
    free(l);
    return b;
}

static void release(Bus *b)
{
    unsigned i;

    for (i = 0; i < 60; i++) {
        if (i % 3 != 2) {
            /* what ran before the wait must not run again */
            set_vram32(b, SQ_OUT(i), 0);
            set_vram32(b, SQ_FLAG(i), 1);
        } else {
            sq_kick(b, i);
        }
    }
    bus_advance(b, 100000000);
    for (i = 0; i < 60; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 0);
        CHECK_EQ(vram32(b, SQ_OUT(i) + 4), i % 3 == 0);
        CHECK_EQ(vram32(b, SQ_OUT(i) + 8), 1);
        CHECK_EQ(vram32(b, SQ_RPTR(i)), sq_wptr(i));
    }
    check_derived(b);
}

static void test_migrate(void)
{
    Bus *src = busy(), *b;
    uint32_t p[4];

    CHECK_EQ(sq_count(src, VKFD_SCHED_ON_SLOT), 8);
    CHECK_EQ(sq_count(src, VKFD_SCHED_PARKED), 32);
    CHECK_EQ(sq_count(src, VKFD_SCHED_IDLE), 20);
    b = sched_migrate(src);
    b->now = 5;
    CHECK(vkfd_engine_post_load(b->e));
    check_derived(b);
    bus_advance(b, 30000000);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED) + sq_count(b, VKFD_SCHED_ON_SLOT), 40);
    release(b);
    hiq_send(b, p, 0);
    bus_free(b);
    /* and the source, had it stayed */
    release(src);
    bus_free(src);
}

static void test_hostile(void)
{
    Bus *src = busy();
    unsigned i;

    for (i = 0; i < 27; i++) {
        Bus *b = sched_migrate(src);
        VKFDSched *s = &b->e->sched;
        VKFDSchedQueue *on = NULL, *off = NULL;
        bool good = false;
        uint32_t k;

        for (k = 0; k < s->queue_top; k++) {
            on = s->queue[k].state == VKFD_SCHED_ON_SLOT ? &s->queue[k] : on;
            off = s->queue[k].state == VKFD_SCHED_PARKED ? &s->queue[k] : off;
        }
        switch (i) {
        case 0: s->queue_top = VKFD_SCHED_QUEUES + 1; break;
        case 1: s->proc_top = VKFD_SCHED_PROCS + 1; break;
        case 2: s->map_proc = s->proc_top; break;
        case 3: on->slot = VKFD_NUM_HQD; break;
        case 4: off->state = VKFD_SCHED_ON_SLOT; off->slot = on->slot; break;
        case 5: off->state = VKFD_SCHED_ON_SLOT; off->slot = 63; break;
        case 6: on->state = VKFD_SCHED_STATES; break;
        case 7: on->engine = VKFD_SCHED_ENGINES; break;
        case 8: on->engine = 1; break;                  /* no SDMA, or no such queue */
        case 9: on->proc = s->proc_top; break;
        case 10: on->proc = VKFD_SCHED_NONE; break;     /* and not fixed */
        case 11: on->flags |= VKFD_SCHED_F_FIXED; break; /* and of a process */
        case 12: on->flags |= VKFD_SCHED_F_NEW; break;
        case 13: on->flags |= VKFD_SCHED_F_HIQ; break;
        case 14: on->flags |= 0x80; break;
        case 15: off->unmap = 1; break;
        case 16: on->unmap = 6; break;
        case 17: on->doorbell = 1u << 26; break;
        case 18: s->proc[on->proc].vmid = 0; break;
        case 19: s->proc[0].vmid = s->proc[1].vmid = 9; break;
        case 20: s->proc[on->proc].vmid = 16; break;
        case 21: s->proc[0].pasid = 0; break;
        case 22: s->proc[off->proc].used = 0; break;
        case 23: s->proc[0].used = 2; break;
        case 24: off->flags |= VKFD_SCHED_F_FIXED; off->proc = VKFD_SCHED_NONE; break;
        case 25: on->vmid = 16; break;
        default:
            on->since = INT64_MIN;
            off->since = INT64_MAX;
            s->proc[0].since = INT64_MAX;
            s->tick = INT64_MAX;
            s->ticks = UINT32_MAX;
            s->queue_mask[1] = UINT64_MAX;
            s->vmid_mask[1] = UINT32_MAX;
            off->mqd = UINT64_MAX;
            off->wptr_addr = UINT64_MAX;
            for (k = 0; k < s->queue_top; k++) {
                s->queue[k].doorbell = 7;
            }
            good = true;
            break;
        }
        printf("# case %u\n", i);
        CHECK_EQ(vkfd_engine_post_load(b->e), good);
        CHECK_EQ(b->e->sched.queue_top != 0, good);
        bus_advance(b, 50000000);
        vkfd_doorbell_write(b->e, 7 * 4, 1, 4);
        bus_advance(b, 50000000);
        check_derived(b);
        bus_free(b);
    }
    bus_free(src);
}

int main(void)
{
    test_hang();
    test_delay();
    test_drop();
    test_fetch_hang();
    test_taken_off();
    test_reset();
    test_migrate();
    test_hostile();
    return tap_done();
}
