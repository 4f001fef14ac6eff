/* SPDX-License-Identifier: MIT */
/* The scheduler's packets: right, malformed, truncated, and from the wrong ring. */
#include "sched-common.h"

static List list;

static void fresh(void)
{
    memset(&list, 0, sizeof(list));
}

/* Two processes with two queues each: run, and interrupt with their PASIDs. */
static void test_run_list(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[8], vmid, i, k;

    fresh();
    for (i = 0; i < 4; i++) {
        sq_init(b, i);
        if (i % 2 == 0) {
            list_process(&list, i / 2, 2);
        }
        list_queue(&list, i);
        sq_write(b, i, SQ_OUT(i), 100 + i);
        sq_emit(b, i, p, pkt_release(p, VA0 + SQ_OUT(i) + 8, 7 + i, RELEASE_MEM_DATA_64,
                                     RELEASE_MEM_INT_AFTER_WRITE, 0x50 + i));
        sq_publish(b, i);               /* before the list: no doorbell needed */
    }
    list_send(b, &list);
    CHECK_EQ(counter(b, VKFD_CNT_RUNLIST), 1);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_MAP), 4);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_LOAD), 4);
    CHECK_EQ(vram32(b, HIQ_RPTR), 8 + 4);
    for (i = 0; i < 4; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 100 + i);
        CHECK_EQ(vram64(b, SQ_OUT(i) + 8), 7 + i);
        CHECK_EQ(vram32(b, SQ_RPTR(i)), sq_wptr(i));
        for (k = 0; k < 3 && ih_dw(b, k, 4) != 0x50 + i; k++) {
            /* in whatever order the queues ran */
        }
        CHECK_EQ(ih_dw(b, k, 4), 0x50 + i);
        CHECK_EQ(ih_dw(b, k, 3) & 0xffff, PASID(i / 2));
        CHECK_EQ(ih_dw(b, k, 0) & 0xffff, 0x14 | 181 << 8);
        vmid = ih_dw(b, k, 0) >> 24 & 0xf;
        CHECK(vmid >= 8);
        CHECK_EQ(rd(b, mmIH_VMID_0_LUT + vmid), PASID(i / 2));
        CHECK_EQ(rd(b, mmIH_VMID_0_LUT_MM + vmid), PASID(i / 2));
        CHECK_EQ(rd(b, mmATC_VMID0_PASID_MAPPING + vmid), 0x80000000 | PASID(i / 2));
        CHECK_EQ(rd(b, mmATC_VMID0_PASID_MAPPING + 16 + vmid),
                 0x80000000 | PASID(i / 2));
        CHECK_EQ(rd(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * vmid),
                 (i / 2 ? ROOT2 : VM_ROOT) | 1);
        CHECK_EQ(rd(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * vmid),
                 (i / 2 ? ROOT2 : VM_ROOT) | 1);
        wr(b, mmGRBM_GFX_CNTL, vmid << 4);
        CHECK_EQ(rd(b, mmSH_MEM_BASES), 0x20001);
        CHECK_EQ(rd(b, mmSH_MEM_CONFIG), 0xc0de0000 + i / 2);
        CHECK_EQ(rd(b, mmSQ_SHADER_TBA_LO), 0x100 + i / 2);
        CHECK_EQ(rd(b, mmSQ_SHADER_TMA_HI), 0x400);
    }
    CHECK_EQ(rd(b, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS), 0);
    check_derived(b);

    /* a doorbell of a queue on its slot, and all of them off again */
    sq_write(b, 2, SQ_OUT(2), 5);
    sq_kick(b, 2);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(2)), 5);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_WAKE), 0);
    vmid = b->e->sched.proc[sq_entry(b, 2)->proc].vmid;
    hiq_send(b, p, pkt_unmap(p, UNMAP_QUEUES_PREEMPT, UNMAP_QUEUES_SEL_NON_STATIC, 0));
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_UNMAP), 4);
    CHECK_EQ(b->e->sched.queue_top, 0);
    CHECK_EQ(b->e->sched.proc_top, 0);
    CHECK_EQ(rd(b, mmATC_VMID0_PASID_MAPPING + vmid), 0);
    CHECK_EQ(rd(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * vmid), 0);
    CHECK_EQ(b->e->active_mask, 1ull << HIQ);
    CHECK_EQ(vram32(b, SQ_MQD(2) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), sq_wptr(2));
    CHECK(!hiq_stopped(b));
    /* a doorbell of what is not mapped is dropped */
    sq_kick(b, 2);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 1);
    bus_free(b);
}

/* A queue that has nothing to do gets no slot; its doorbell gives it one. */
static void test_doorbell_wake(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);

    sq_init(b, 0);
    list_simple(b, 0, 0, 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_IDLE);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_LOAD), 0);
    CHECK(!b->scheduled);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_kick(b, 0);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_WAKE), 1);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 0);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);
    bus_free(b);
}

/* Only masks of the HIQ's SET_RESOURCES count; they are what may be used. */
static void test_resources(void)
{
    Bus *b = sched_start(0x0200, 0x30);
    uint32_t p[32], i;

    for (i = 0; i < 3; i++) {
        sq_init(b, i);
        sq_wait(b, i, 1);
        sq_publish(b, i);
    }
    hiq_send(b, p, pkt_set_resources(p, SET_RESOURCES_KIQ, 0, 0xff));
    list_simple(b, 0, 0, 3);
    CHECK_EQ(b->e->active_mask & ~(1ull << HIQ) & ~0x30ull, 0);
    CHECK_EQ(b->e->sched.proc[0].vmid, 9);
    check_derived(b);
    /* a slot a driver uses itself is not touched */
    bus_free(b);
    b = sched_start(KFD_VMIDS, 1);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * 8, VM_ROOT | 1);
    queue_load(b, 0);
    sq_init(b, 0);
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_publish(b, 0);
    list_simple(b, 0, 0, 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_READY);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, 1);
    hiq_send(b, p, pkt_set_resources(p, SET_RESOURCES_HIQ, KFD_VMIDS, 1));
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    /* no such queue type */
    hiq_send(b, p, pkt_set_resources(p, 4, 0, 0));
    CHECK(hiq_stopped(b));
    bus_free(b);
}

/* Every scheduler packet is an unknown opcode outside an interface queue. */
static void test_wrong_ring(void)
{
    static const uint32_t ops[][2] = {
        { IT_SET_RESOURCES, 7 }, { IT_MAP_PROCESS, 15 }, { IT_MAP_QUEUES, 6 },
        { IT_UNMAP_QUEUES, 5 }, { IT_QUERY_STATUS, 6 }, { IT_RUN_LIST, 3 },
        { IT_INVALIDATE_TLBS, 1 },
    };
    unsigned i, k;

    for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
        uint32_t p[16] = { PACKET3(ops[i][0], ops[i][1]) };

        /* a user queue */
        wr(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * 8, VM_ROOT | 1);
        queue_load(b, 0);
        queue_emit(b, 0, p, ops[i][1] + 1);
        queue_kick(b, 0);
        bus_run(b);
        CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_BAD_PACKET);
        CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_UNSUPPORTED);
        /* the same named in RLC_CP_SCHEDULERS: still a VMID of a user */
        wr(b, mmRLC_CP_SCHEDULERS, 0x8000c0a0);
        queue_emit(b, 0, p, ops[i][1] + 1);
        hqd_wr(b, 0, mmCP_HQD_ACTIVE, 0);
        queue_kick(b, 0);
        hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
        bus_run(b);
        CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_BAD_PACKET);
        /* in an IB of another VMID, of the HIQ */
        wr(b, mmRLC_CP_SCHEDULERS, 0xc000);
        for (k = 0; k <= ops[i][1]; k++) {
            set_vram32(b, IB_ADDR(0) + k * 4, p[k]);
        }
        pkt_ib(p, VA0 + IB_ADDR(0), ops[i][1] + 1, false);
        p[3] |= 8 << INDIRECT_BUFFER__VMID__SHIFT;
        hiq_send(b, p, 4);
        CHECK(hiq_stopped(b));
        /* a kernel queue that nobody named */
        CHECK_EQ(counter(b, VKFD_CNT_RUNLIST) + counter(b, VKFD_CNT_QUEUE_MAP), 0);
        bus_free(b);
    }
    {
        Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
        uint32_t p[8];

        wr(b, mmRLC_CP_SCHEDULERS, 0);
        hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
        CHECK(hiq_stopped(b));
        bus_free(b);
    }
}

/* A body one dword short or long is a bad packet. */
static void test_lengths(void)
{
    static const uint32_t ops[][2] = {
        { IT_SET_RESOURCES, 7 }, { IT_MAP_PROCESS, 15 }, { IT_MAP_QUEUES, 6 },
        { IT_UNMAP_QUEUES, 5 }, { IT_QUERY_STATUS, 6 }, { IT_RUN_LIST, 3 },
        { IT_INVALIDATE_TLBS, 1 },
    };
    unsigned i, k;

    for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        for (k = 0; k < 2; k++) {
            Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
            uint32_t p[32] = { 0 }, n = ops[i][1] - 1 + 2 * k;

            if (n) {
                p[0] = PACKET3(ops[i][0], n);
                hiq_send(b, p, n + 1);
                CHECK(hiq_stopped(b));
                CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_RESERVED);
            }
            bus_free(b);
        }
    }
}

/* MAP_PROCESS and MAP_QUEUES in the ring itself, without a list. */
static void test_direct_map(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[64], n;

    sq_init(b, 3);
    sq_write(b, 3, SQ_OUT(3), 9);
    sq_publish(b, 3);
    n = pkt_map_process(p, 1, 1);
    n += pkt_map_queue(p + n, 3);
    hiq_send(b, p, n);
    CHECK_EQ(vram32(b, SQ_OUT(3)), 9);
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_PASID, PASID(1)));
    CHECK_EQ(b->e->sched.proc_top, 0);
    /* the process went with its queue */
    sq_init(b, 4);
    hiq_send(b, p, pkt_map_queue(p, 4));
    CHECK(hiq_stopped(b));
    CHECK_EQ(sq_state(b, 4), VKFD_SCHED_FREE);
    bus_free(b);
}

/* KIQ by register; HIQ and a compute queue of the kernel by its MAP_QUEUES. */
static void test_kiq(void)
{
    Bus *b = sched_start_bare();
    uint32_t p[64], n, i;
    uint64_t mqd;

    queue_load(b, KIQ);                 /* a ring, still in TEST_VMID ... */
    hqd_wr(b, KIQ, mmCP_HQD_ACTIVE, 0);
    wr(b, mmCP_HQD_VMID, 0);
    wr(b, mmCP_HQD_PQ_BASE, MC(KIQ_RING) >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, MC(KIQ_RING) >> 40);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, MC_LO(RPTR_ADDR(KIQ)));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, MC(RPTR_ADDR(KIQ)) >> 32);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, MC_LO(WPTR_ADDR(KIQ)));
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, MC(WPTR_ADDR(KIQ)) >> 32);
    wr(b, mmCP_HQD_ACTIVE, 1);
    CHECK_EQ(b->e->hqd[KIQ].stop, VKFD_STOP_NONE);
    wr(b, mmRLC_CP_SCHEDULERS, 0x80 | 2 << 5 | 1 << 3);

    /* the HIQ's MQD, as the one of a queue of the kernel */
    sq_init(b, 0);
    mqd = SQ_MQD(0);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_BASE) * 4, MC(HIQ_RING) >> 8);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_BASE_HI) * 4, MC(HIQ_RING) >> 40);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR_REPORT_ADDR) * 4, MC_LO(HIQ_RPTR));
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI) * 4,
               MC(HIQ_RPTR) >> 32);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_CONTROL) * 4, 11);
    n = pkt_set_resources(p, SET_RESOURCES_KIQ, 0, 1);
    n += pkt_map_queue(p + n, 0);
    p[n - 6] = ENGINE_SEL_HIQ << MAP_QUEUES__ENGINE_SEL__SHIFT | 1u << 29 |
               1 << MAP_QUEUES__ME__SHIFT;
    p[n - 5] = 2 << 2;
    p[n - 2] = MC_LO(HIQ_WPTR);
    p[n - 1] = MC(HIQ_WPTR) >> 32;
    n += pkt_write(p + n, MC(FENCE), 0x77);     /* the fence KIQ users poll */
    queue_emit(b, KIQ, p, n);
    queue_kick(b, KIQ);
    bus_run(b);
    CHECK_EQ(vram32(b, FENCE), 0x77);
    CHECK_EQ(b->e->active_mask, 1ull << HIQ | 1ull << KIQ);
    CHECK_EQ(hqd_rd(b, HIQ, mmCP_HQD_PQ_DOORBELL_CONTROL) & 0x4ffffffc, 0x40000008);
    CHECK_EQ(rd(b, mmCP_HQD_VMID), 0);

    /* and it is one */
    hiq_send(b, p, pkt_set_resources(p, SET_RESOURCES_HIQ, KFD_VMIDS, ALL_SLOTS));
    sq_init(b, 1);
    sq_write(b, 1, SQ_OUT(1), 1);
    sq_publish(b, 1);
    list_simple(b, 0, 1, 1);
    CHECK_EQ(vram32(b, SQ_OUT(1)), 1);

    /* a compute queue of the kernel, in VMID 0, takes none of these packets */
    sq_init(b, 2);
    mqd = SQ_MQD(2);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_BASE) * 4, MC(SQ_RING(2)) >> 8);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_BASE_HI) * 4, MC(SQ_RING(2)) >> 40);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR_REPORT_ADDR) * 4, 0);
    set_vram32(b, mqd + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI) * 4, 0);
    n = pkt_map_queue(p, 2);
    p[1] = 1u << 29 | 3 << MAP_QUEUES__QUEUE__SHIFT | 2 << MAP_QUEUES__PIPE__SHIFT;
    p[5] = MC_LO(SQ_WPTR(2));
    p[6] = MC(SQ_WPTR(2)) >> 32;
    queue_emit(b, KIQ, p, n);
    queue_kick(b, KIQ);
    n = pkt_write(p, MC(SQ_OUT(2)), 3);
    sq_emit(b, 2, p, n);
    n = pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0);
    sq_emit(b, 2, p, n);
    sq_kick(b, 2);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(2)), 3);
    CHECK_EQ(b->e->hqd[2 * 8 + 3].stop, VKFD_STOP_BAD_PACKET);

    /* "all" of the HIQ leaves queues of the kernel; KIQ unmaps them by doorbell */
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
    CHECK_EQ(b->e->active_mask, 1ull << HIQ | 1ull << KIQ | 1ull << 19);
    n = pkt_unmap(p, UNMAP_QUEUES_PREEMPT_NO_UNMAP, UNMAP_QUEUES_SEL_DOORBELL, 2);
    queue_emit(b, KIQ, p, n);
    queue_kick(b, KIQ);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_MQD(0) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4),
             hqd_rd(b, HIQ, mmCP_HQD_PQ_RPTR));
    CHECK(b->e->active_mask >> HIQ & 1);
    n = pkt_unmap(p, 0, UNMAP_QUEUES_SEL_DOORBELL, 2);
    p[1] |= ENGINE_SEL_HIQ << UNMAP_QUEUES__ENGINE_SEL__SHIFT;
    n += pkt_unmap(p + n, 0, UNMAP_QUEUES_SEL_DOORBELL, SQ_DOORBELL(2));
    queue_emit(b, KIQ, p, n);
    queue_kick(b, KIQ);
    bus_run(b);
    CHECK_EQ(b->e->active_mask, 1ull << KIQ);
    CHECK_EQ(b->e->sched.queue_top, 0);
    /* what is not there any more is an error that stops nobody */
    queue_emit(b, KIQ, p, n);
    queue_kick(b, KIQ);
    bus_run(b);
    CHECK_EQ(b->e->hqd[KIQ].stop, VKFD_STOP_NONE);
    CHECK(b->guest_errors >= 2);

    /* a slot that is taken */
    n = pkt_map_queue(p, 1);
    p[1] = 1u << 29 | 1 << MAP_QUEUES__ME__SHIFT | 1 << MAP_QUEUES__PIPE__SHIFT;
    queue_emit(b, KIQ, p, n);
    queue_kick(b, KIQ);
    bus_run(b);
    CHECK_EQ(b->e->hqd[KIQ].stop, VKFD_STOP_BAD_PACKET);
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        queue_set_wptr(i, 0);
    }
    bus_free(b);
}

static void test_query_status(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[16], e0 = counter(b, VKFD_CNT_IH_ENTRY);

    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE, MC(FENCE), 0x1122334455667788ull));
    CHECK_EQ(vram64(b, FENCE), 0x1122334455667788ull);
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE_NOW, MC(FENCE), 2));
    CHECK_EQ(vram64(b, FENCE), 2);
    CHECK_EQ(counter(b, VKFD_CNT_IH_ENTRY), e0);
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE_INTERRUPT, MC(FENCE), 3));
    CHECK_EQ(vram64(b, FENCE), 3);
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_INTERRUPT_ONLY, MC(FENCE), 4));
    CHECK_EQ(vram64(b, FENCE), 3);
    CHECK_EQ(counter(b, VKFD_CNT_IH_ENTRY), e0 + 2);
    CHECK_EQ(ih_dw(b, 0, 0) & 0xffffff, 0x14 | 199 << 8 | vkfd_hqd_ring_id(HIQ) << 16);
    CHECK_EQ(ih_dw(b, 0, 4), 0x123);
    /* not if that is not enabled */
    wr(b, mmCP_ME2_PIPE0_INT_CNTL, 0x07800000);
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE_INTERRUPT, MC(FENCE), 5));
    CHECK_EQ(counter(b, VKFD_CNT_IH_ENTRY), e0 + 2);
    /* a bad selector; a bad address */
    pkt_query(p, QUERY_STATUS_FENCE, MC(FENCE), 6);
    p[1] |= 3u << QUERY_STATUS__INTERRUPT_SEL__SHIFT;
    hiq_send(b, p, 7);
    CHECK(hiq_stopped(b));
    CHECK_EQ(vram64(b, FENCE), 5);
    bus_free(b);
    b = sched_start(KFD_VMIDS, ALL_SLOTS);
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE, 0x1000, 6));
    CHECK_EQ(b->e->hqd[HIQ].stop, VKFD_STOP_VM_FAULT);
    bus_free(b);
}

/* Selectors and actions of UNMAP_QUEUES. */
static void test_unmap(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[16], i;

    fresh();
    for (i = 0; i < 6; i++) {
        sq_init(b, i);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_wait(b, i, 1);
        sq_publish(b, i);
        if (i % 3 == 0) {
            list_process(&list, i / 3, 3);
        }
        list_queue(&list, i);
    }
    /* queue 5 is static */
    list.dw[list.n - 6] |= MAP_QUEUES_TYPE_STATIC << MAP_QUEUES__QUEUE_TYPE__SHIFT;
    list_send(b, &list);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 6);

    /* by doorbell, two at once; the others of the process stay */
    pkt_unmap(p, UNMAP_QUEUES_PREEMPT, UNMAP_QUEUES_SEL_DOORBELL, SQ_DOORBELL(0));
    p[1] = 2u << UNMAP_QUEUES__NUM_QUEUES__SHIFT;
    p[3] = SQ_DOORBELL(1) << UNMAP_QUEUES__DOORBELL__SHIFT;
    p[4] = SQ_DOORBELL(2) << UNMAP_QUEUES__DOORBELL__SHIFT;
    hiq_send(b, p, 6);
    CHECK(!sq_entry(b, 0) && !sq_entry(b, 1) && sq_entry(b, 2));
    /* it was parked: saved at its wait, at once */
    CHECK_EQ(vram32(b, SQ_MQD(0) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), 5);
    /* reset: nothing is saved */
    hiq_send(b, p, pkt_unmap(p, UNMAP_QUEUES_RESET, UNMAP_QUEUES_SEL_PASID, PASID(0)));
    CHECK(!sq_entry(b, 2));
    CHECK_EQ(vram32(b, SQ_MQD(2) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), 0);
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 3);
    /* a PASID nobody has */
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_PASID, 0x7777));
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 3);
    /* preempted and not unmapped: saved, and soon on a slot again */
    hiq_send(b, p, pkt_unmap(p, UNMAP_QUEUES_PREEMPT_NO_UNMAP,
                             UNMAP_QUEUES_SEL_DOORBELL, SQ_DOORBELL(3)));
    CHECK_EQ(vram32(b, SQ_MQD(3) + V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR) * 4), 5);
    CHECK_EQ(sq_state(b, 3), VKFD_SCHED_ON_SLOT);
    CHECK_EQ(b->e->hqd[sq_entry(b, 3)->slot].parked, VKFD_PARKED_WAIT);
    /* all but static ones; then those too */
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_NON_STATIC, 0));
    CHECK_EQ(sq_count(b, VKFD_SCHED_ON_SLOT), 1);
    CHECK(sq_entry(b, 5));
    hiq_send(b, p, pkt_unmap(p, UNMAP_QUEUES_DISABLE_PROCESS, UNMAP_QUEUES_SEL_ALL, 0));
    CHECK_EQ(b->e->sched.queue_top, 0);
    CHECK_EQ(b->e->sched.proc_top, 0);
    check_derived(b);
    /* what was unmapped goes on where it was, when it is mapped again */
    for (i = 0; i < 6; i++) {
        set_vram32(b, SQ_OUT(i), 0);
        set_vram32(b, SQ_FLAG(i), 1);
    }
    list_send(b, &list);
    for (i = 0; i < 6; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), i == 2);     /* that one was reset */
        CHECK_EQ(vram32(b, SQ_RPTR(i)), sq_wptr(i));
    }
    /* counts of doorbells that make no sense, an engine that is not there */
    pkt_unmap(p, 0, UNMAP_QUEUES_SEL_DOORBELL, SQ_DOORBELL(0));
    p[1] = 5u << UNMAP_QUEUES__NUM_QUEUES__SHIFT;
    hiq_send(b, p, 6);
    CHECK(hiq_stopped(b));
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);
}

/* In a set of the TLB that nothing else here uses. */
#define TLB_VA          0x400005000ull

static void test_invalidate_tlbs(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    uint32_t p[8];
    unsigned vmid;

    sq_init(b, 0);
    vm_map(b, TLB_VA, SQ_OUT(0) | PTE_RW);
    sq_emit(b, 0, p, pkt_write(p, TLB_VA, 1));
    sq_publish(b, 0);
    list_simple(b, 0, 0, 1);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    vmid = b->e->sched.proc[0].vmid;
    /* another PASID leaves the old translation, this one does not */
    vm_map(b, TLB_VA, FENCE | PTE_RW);
    HIQ_SEND(b, PACKET3(IT_INVALIDATE_TLBS, 1), 1 | PASID(1) << 5 | 1 << 4);
    sq_emit(b, 0, p, pkt_write(p, TLB_VA, 2));
    sq_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, FENCE), 0);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 2);
    b->e->tlb[VKFD_HUB_MM][vmid][3].vpn_tag = 5;
    HIQ_SEND(b, PACKET3(IT_INVALIDATE_TLBS, 1), 1 | PASID(0) << 5);
    CHECK_EQ(b->e->tlb[VKFD_HUB_MM][vmid][3].vpn_tag, 5);
    HIQ_SEND(b, PACKET3(IT_INVALIDATE_TLBS, 1), 1 | PASID(0) << 5 | 1 << 4);
    CHECK_EQ(b->e->tlb[VKFD_HUB_MM][vmid][3].vpn_tag, 0);
    sq_emit(b, 0, p, pkt_write(p, TLB_VA, 3));
    sq_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, FENCE), 3);
    bus_free(b);
}

/* Scheduler packets with random fields, for as long as it takes to meet most checks. */
static void test_random_packets(void)
{
    static const struct {
        uint8_t op, dw;
    } ops[] = {
        { IT_SET_RESOURCES, SET_RESOURCES_DW }, { IT_MAP_PROCESS, MAP_PROCESS_DW },
        { IT_MAP_QUEUES, MAP_QUEUES_DW }, { IT_UNMAP_QUEUES, UNMAP_QUEUES_DW },
        { IT_QUERY_STATUS, QUERY_STATUS_DW }, { IT_RUN_LIST, RUN_LIST_DW },
        { IT_INVALIDATE_TLBS, INVALIDATE_TLBS_DW }, { IT_MAP_QUEUES, MAP_QUEUES_DW },
    };
    uint64_t seed = 0x0ddba11c0ffee123ull;
    Bus *b = sched_start(KFD_VMIDS, 0xff);
    unsigned i, k, good = 0;

    fresh();
    for (i = 0; i < 16; i++) {
        sq_init(b, i);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_wait(b, i, 1);
        sq_publish(b, i);
    }
    for (i = 0; i < 3000; i++) {
        unsigned which = prng(&seed) % 8, dw = ops[which].dw;
        uint32_t p[32], q = prng(&seed) % 16;

        for (k = 1; k <= dw; k++) {
            p[k] = prng(&seed);
        }
        if (ops[which].op == IT_MAP_QUEUES && prng(&seed) % 4) {
            pkt_map_queue(p, q);
            p[1] ^= prng(&seed) & (1u << prng(&seed) % 32);
        } else if (ops[which].op == IT_MAP_PROCESS && prng(&seed) % 4) {
            pkt_map_process(p, q % 12, 0);
        } else if (ops[which].op == IT_RUN_LIST) {
            pkt_run_list(p, MC(LIST_IB), prng(&seed) % 64, false);
            for (k = 0; k < 64; k++) {
                set_vram32(b, LIST_IB + 4 * k, prng(&seed));
            }
        }
        p[0] = PACKET3(ops[which].op, dw);
        hiq_post(b, p, dw + 1);
        bus_advance(b, 100000);
        sq_kick(b, q);
        bus_advance(b, prng(&seed) % 2000000);
        good += !b->e->hqd[HIQ].stop;
        /* behind what stopped it; or unmapped, or in a wait for good: anew */
        hqd_wr(b, HIQ, mmCP_HQD_ACTIVE, 0);
        wr(b, mmCP_HQD_PQ_RPTR, vram32(b, HIQ_WPTR) & (HIQ_RING_DW - 1));
        wr(b, mmCP_HQD_ACTIVE, 1);
        if (i % 100 == 0) {
            check_derived(b);
            hiq_send(b, p, pkt_set_resources(p, SET_RESOURCES_HIQ, KFD_VMIDS, 0xff));
        }
    }
    CHECK(good > 500);
    CHECK(counter(b, VKFD_CNT_QUEUE_LOAD) > 20);
    check_derived(b);
    bus_free(b);
}

int main(void)
{
    test_run_list();
    test_doorbell_wake();
    test_resources();
    test_wrong_ring();
    test_lengths();
    test_direct_map();
    test_kiq();
    test_query_status();
    test_unmap();
    test_invalidate_tlbs();
    test_random_packets();
    return tap_done();
}
