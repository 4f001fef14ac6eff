/* SPDX-License-Identifier: MIT */
/*
 * Queues that do not let themselves be preempted: the firmware waits for the time the
 * driver gave it, tells of them in the MQD of the HIQ, and goes on; what the driver can do
 * with them then. The unmap latency is 100 ms.
 */
#include "sched-common.h"

#define MS              1000000u
#define REPORT(n)       vram32(b, HIQ_MQD + (V9_MQD_QUEUE_DOORBELL_ID0_DW + (n)) * 4)

static void arm(Bus *b, const char *text)
{
    VKFDInjectError err;

    CHECK(vkfd_inject_arm(b->e, text, &err));
}

static void hiq_mqd(Bus *b)
{
    memset(b->vram + HIQ_MQD, 0, V9_MQD_DW * 4);
    hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR, MC_LO(HIQ_MQD));
    hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR_HI, MC(HIQ_MQD) >> 32);
}

/* Queues 0 to n - 1 of a process each wait for their flag. */
static Bus *start(unsigned n)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    unsigned i;

    hiq_mqd(b);
    for (i = 0; i < n; i++) {
        sq_init(b, i);
        sq_wait(b, i, 1);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_publish(b, i);
        list_simple(b, i, i, 1);
    }
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), n);
    return b;
}

static void unmap_query(Bus *b, uint32_t action)
{
    uint32_t p[32], n = pkt_unmap(p, action, UNMAP_QUEUES_SEL_NON_STATIC, 0);

    set_vram64(b, FENCE, 0);
    n += pkt_query(p + n, QUERY_STATUS_FENCE, MC(FENCE), 100);
    hiq_send(b, p, n);
}

static void reset_queue(Bus *b, unsigned hqd)
{
    hqd_wr(b, hqd, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    wr(b, mmSPI_COMPUTE_QUEUE_RESET, 1);
}

static bool active(Bus *b, unsigned hqd)
{
    return b->e->active_mask >> hqd & 1;
}

static void test_report(void)
{
    Bus *b = start(3), *m;
    unsigned slot, vmid, i;

    arm(b, "preempt:hang@2");
    slot = sq_entry(b, 1)->slot;
    vmid = vkfd_hqd_vmid(&b->e->hqd[slot]);
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    CHECK_EQ(sq_state(b, 1), VKFD_SCHED_ON_SLOT);
    /* not before the time, by time alone, and on the other side of a migration too */
    bus_advance(b, 99 * MS);
    vkfd_engine_run(b->e);
    CHECK_EQ(vram64(b, FENCE), 0);
    CHECK_EQ(REPORT(0), 0);
    m = sched_migrate(b);
    CHECK(vkfd_engine_post_load(m->e));
    bus_run(m);
    bus_advance(m, 2 * MS);
    CHECK_EQ(vram64(m, FENCE), 100);
    bus_free(m);
    m = sched_migrate(b);
    m->e->hqd[HIQ].wait_deadline = INT64_MAX;   /* whoever sent that */
    CHECK(vkfd_engine_post_load(m->e));
    bus_run(m);
    bus_advance(m, 101 * MS);
    CHECK_EQ(vram64(m, FENCE), 100);
    bus_free(m);

    bus_advance(b, 2 * MS);
    CHECK_EQ(vram64(b, FENCE), 100);
    CHECK_EQ(REPORT(0), SQ_DOORBELL(1));
    CHECK_EQ(REPORT(1), 0);
    CHECK_EQ(b->e->sched.queue_top, 0);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    check_derived(b);
    /* its slot is taken and its VMID is nobody's else, until it is reset */
    CHECK(active(b, slot));
    set_vram32(b, SQ_FLAG(0), 1);
    list_simple(b, 0, 0, 1);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    for (i = 10; i < 18; i++) {
        sq_init(b, i);
        sq_wait(b, i, 1);
        sq_publish(b, i);
        list_simple(b, i, i, 1);
        CHECK(!sq_entry(b, i) || sq_state(b, i) != VKFD_SCHED_ON_SLOT ||
              sq_entry(b, i)->slot != slot);
    }
    CHECK_EQ(b->e->sd.vmid_owner[vmid], VKFD_SCHED_NONE);
    /* a dequeue request alone does not help; with a reset of its waves it completes */
    hqd_wr(b, slot, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    bus_run(b);
    CHECK(active(b, slot));
    wr(b, mmSPI_COMPUTE_QUEUE_RESET, 1);
    CHECK(!active(b, slot));
    CHECK_EQ(hqd_rd(b, slot, mmCP_HQD_DEQUEUE_REQUEST), 0);
    /* nothing was saved, and nothing runs */
    set_vram32(b, SQ_FLAG(1), 1);
    bus_advance(b, 10 * MS);
    CHECK_EQ(vram32(b, SQ_OUT(1)), 0);
    CHECK_EQ(vram32(b, SQ_MQD(1) + V9_MQD_DW_OF(mmCP_HQD_PQ_WPTR_LO) * 4), 0);
    check_derived(b);
    bus_free(b);
}

/* More than the MQD has room for: the others with the next packet that waits. */
static void test_many(void)
{
    Bus *b = start(0);
    unsigned i, n = 0;

    for (i = 0; i < 20; i++) {
        sq_init(b, i);
        sq_wait(b, i, 1);
        sq_publish(b, i);
    }
    list_simple(b, 0, 0, 20);
    arm(b, "preempt:hang@1/1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    bus_advance(b, 101 * MS);
    for (i = 0; i < V9_MQD_QUEUE_DOORBELL_IDS; i++) {
        n += REPORT(i) == SQ_DOORBELL(i);
    }
    CHECK_EQ(n, V9_MQD_QUEUE_DOORBELL_IDS);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 4);
    CHECK_EQ(vram64(b, FENCE), 0);
    bus_free(b);
}

/* Who cannot be told is not told: a ring without MQD, or whose MQD is not there. */
static void test_no_mqd(void)
{
    Bus *b = start(1);

    hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR, 0);
    hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR_HI, 0);
    arm(b, "preempt:hang@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    bus_advance(b, 1000 * MS);
    CHECK_EQ(vram64(b, FENCE), 0);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 1);
    bus_free(b);

    b = start(1);
    hqd_wr(b, HIQ, mmCP_MQD_BASE_ADDR_HI, 1);
    arm(b, "preempt:hang@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    bus_advance(b, 1000 * MS);
    CHECK_EQ(vram64(b, FENCE), 0);
    CHECK_EQ(b->guest_errors, 1);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    bus_free(b);
}

/* A request that was lost: the queue runs on, and goes off when asked again. */
static void test_lost(void)
{
    Bus *b = start(1);
    unsigned slot = sq_entry(b, 0)->slot;

    arm(b, "preempt:drop@1");
    unmap_query(b, UNMAP_QUEUES_PREEMPT);
    bus_advance(b, 101 * MS);
    CHECK_EQ(vram64(b, FENCE), 100);
    CHECK_EQ(REPORT(0), SQ_DOORBELL(0));
    CHECK(active(b, slot));
    hqd_wr(b, slot, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    CHECK(!active(b, slot));
    bus_free(b);
}

/* A reset of waves where nothing is pending, or the device stands still, does nothing. */
static void test_reset_waves(void)
{
    Bus *b = start(1);
    unsigned slot = sq_entry(b, 0)->slot;

    hqd_wr(b, slot, mmCP_HQD_PQ_WPTR_HI, 0);    /* selects it */
    wr(b, mmSPI_COMPUTE_QUEUE_RESET, 1);
    CHECK(active(b, slot));
    arm(b, "preempt:hang@1;device:hang@0");
    reset_queue(b, slot);
    CHECK(active(b, slot));
    arm(b, "");
    CHECK(!active(b, slot));
    bus_free(b);

    b = start(1);
    arm(b, "preempt:hang@1");
    hqd_wr(b, slot, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    wr(b, mmSPI_COMPUTE_QUEUE_RESET, 2);
    CHECK(active(b, slot));
    wr(b, mmGRBM_GFX_CNTL, 0);                  /* no queue is selected */
    wr(b, mmSPI_COMPUTE_QUEUE_RESET, 1);
    CHECK(active(b, slot));
    CHECK_EQ(rd(b, mmSPI_COMPUTE_QUEUE_RESET), 0);
    bus_free(b);
}

int main(void)
{
    test_report();
    test_many();
    test_no_mqd();
    test_lost();
    test_reset_waves();
    return tap_done();
}
