/* SPDX-License-Identifier: MIT */
#include "sched-common.h"

static uint64_t wptrs[SQ_MAX], hiq_wptr;

static void contexts(Bus *b)
{
    unsigned i;

    for (i = 1; i < VKFD_NUM_VMID; i++) {
        wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * i, 0xffffffff);
        wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 2 * i, 0xf);
        wr(b, mmVM_CONTEXT0_CNTL + i, 1 | 3 << 1 | 0x007ffe80);
        wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * i, 0xffffffff);
        wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 2 * i, 0xf);
        wr(b, mmMMHUB_VM_CONTEXT0_CNTL + i, 1 | 3 << 1 | 0x007ffe80);
    }
}

Bus *sched_start_bare(void)
{
    Bus *b = bus_new();
    unsigned i;

    vm_setup(b);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * TEST_VMID, 0);
    wr(b, mmIH_VMID_0_LUT + TEST_VMID, 0);
    contexts(b);
    memcpy(b->vram + ROOT2, b->vram + VM_ROOT, 4096);
    ih_setup(b, 12, 0);
    for (i = 0; i < 8; i++) {
        wr(b, mmCP_ME1_PIPE0_INT_CNTL + i, 0x07801000);
    }
    memset(wptrs, 0, sizeof(wptrs));
    hiq_wptr = 0;
    return b;
}

void hiq_load(Bus *b)
{
    wr(b, mmRLC_CP_SCHEDULERS, (0x80 | 2 << 5 | (HIQ & 31)) << 8);
    select_hqd(b, HIQ);
    wr(b, mmCP_HQD_VMID, 0);
    wr(b, mmCP_HQD_PQ_BASE, MC(HIQ_RING) >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, MC(HIQ_RING) >> 40);
    wr(b, mmCP_HQD_PQ_RPTR, 0);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, MC_LO(HIQ_RPTR));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, MC(HIQ_RPTR) >> 32);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, MC_LO(HIQ_WPTR));
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, MC(HIQ_WPTR) >> 32);
    wr(b, mmCP_HQD_PQ_CONTROL, 11);     /* 2^12 dwords */
    wr(b, mmCP_HQD_PQ_DOORBELL_CONTROL, 2 << 2 |
       CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
    wr(b, mmCP_HQD_ACTIVE, 1);
}

Bus *sched_start(uint32_t vmids, uint64_t slots)
{
    Bus *b = sched_start_bare();
    uint32_t p[8];

    hiq_load(b);
    hiq_send(b, p, pkt_set_resources(p, SET_RESOURCES_HIQ, vmids, slots));
    return b;
}

void hiq_emit(Bus *b, const uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        set_vram32(b, HIQ_RING + (hiq_wptr++ & (HIQ_RING_DW - 1)) * 4, dw[i]);
    }
}

void hiq_post(Bus *b, const uint32_t *dw, unsigned n)
{
    hiq_emit(b, dw, n);
    set_vram64(b, HIQ_WPTR, hiq_wptr);
    vkfd_doorbell_write(b->e, 2 * 4, hiq_wptr, 8);
}

void hiq_send(Bus *b, const uint32_t *dw, unsigned n)
{
    hiq_post(b, dw, n);
    bus_run(b);
}

bool hiq_stopped(Bus *b)
{
    return b->e->hqd[HIQ].stop == VKFD_STOP_BAD_PACKET;
}

unsigned pkt_set_resources(uint32_t *p, uint32_t type, uint32_t vmids, uint64_t slots)
{
    const uint32_t v[] = {
        PACKET3(IT_SET_RESOURCES, SET_RESOURCES_DW),
        vmids | 1 << SET_RESOURCES__UNMAP_LATENCY__SHIFT |
        type << SET_RESOURCES__QUEUE_TYPE__SHIFT, slots, slots >> 32, 0, 0, 0, 0,
    };

    memcpy(p, v, sizeof(v));
    return sizeof(v) / 4;
}

unsigned pkt_map_process(uint32_t *p, unsigned proc, uint32_t queues)
{
    const uint32_t v[] = {
        PACKET3(IT_MAP_PROCESS, MAP_PROCESS_DW),
        PASID(proc) | 10u << MAP_PROCESS__QUANTUM__SHIFT,
        (proc & 1 ? ROOT2 : VM_ROOT) | AMDGPU_PTE_VALID, 0,
        0x20001, 0xc0de0000 + proc, 0x100 + proc, 0x200, 0x300, 0x400,
        0, 0, 0, queues << MAP_PROCESS__NUM_QUEUES__SHIFT, 0, 0,
    };

    memcpy(p, v, sizeof(v));
    return sizeof(v) / 4;
}

unsigned pkt_map_queue(uint32_t *p, unsigned n)
{
    const uint32_t v[] = {
        PACKET3(IT_MAP_QUEUES, MAP_QUEUES_DW),
        MAP_QUEUES_SEL_HWS << MAP_QUEUES__QUEUE_SEL__SHIFT |
        1u << MAP_QUEUES__NUM_QUEUES__SHIFT,
        SQ_DOORBELL(n) << MAP_QUEUES__DOORBELL__SHIFT,
        MC_LO(SQ_MQD(n)), MC(SQ_MQD(n)) >> 32,
        (uint32_t)(VA0 + SQ_WPTR(n)), (VA0 + SQ_WPTR(n)) >> 32,
    };

    memcpy(p, v, sizeof(v));
    return sizeof(v) / 4;
}

unsigned pkt_run_list(uint32_t *p, uint64_t addr, uint32_t dw, bool chain)
{
    const uint32_t v[] = {
        PACKET3(IT_RUN_LIST, RUN_LIST_DW), addr, addr >> 32,
        dw | RUN_LIST__VALID | (chain ? RUN_LIST__CHAIN : 0),
    };

    memcpy(p, v, sizeof(v));
    return sizeof(v) / 4;
}

unsigned pkt_unmap(uint32_t *p, uint32_t action, uint32_t sel, uint32_t arg)
{
    const uint32_t v[] = {
        PACKET3(IT_UNMAP_QUEUES, UNMAP_QUEUES_DW),
        action | sel << UNMAP_QUEUES__QUEUE_SEL__SHIFT |
        (sel ? 0 : 1u << UNMAP_QUEUES__NUM_QUEUES__SHIFT),
        sel ? arg : arg << UNMAP_QUEUES__DOORBELL__SHIFT, 0, 0, 0,
    };

    memcpy(p, v, sizeof(v));
    return sizeof(v) / 4;
}

unsigned pkt_query(uint32_t *p, uint32_t command, uint64_t va, uint64_t data)
{
    const uint32_t v[] = {
        PACKET3(IT_QUERY_STATUS, QUERY_STATUS_DW),
        0x123 | command << QUERY_STATUS__COMMAND__SHIFT, 0,
        va, va >> 32, data, data >> 32,
    };

    memcpy(p, v, sizeof(v));
    return sizeof(v) / 4;
}

void list_process(List *l, unsigned proc, uint32_t queues)
{
    l->n += pkt_map_process(l->dw + l->n, proc, queues);
}

void list_queue(List *l, unsigned n)
{
    l->n += pkt_map_queue(l->dw + l->n, n);
}

void list_send(Bus *b, const List *l)
{
    uint32_t p[4], i;

    for (i = 0; i < l->n; i++) {
        set_vram32(b, LIST_IB + i * 4, l->dw[i]);
    }
    hiq_send(b, p, pkt_run_list(p, MC(LIST_IB), l->n, false));
}

void list_simple(Bus *b, unsigned proc, unsigned first, unsigned n)
{
    List *l = calloc(1, sizeof(*l));
    unsigned i;

    list_process(l, proc, n);
    for (i = 0; i < n; i++) {
        list_queue(l, first + i);
    }
    list_send(b, l);
    free(l);
}

static void mqd_set(Bus *b, unsigned n, uint32_t dw, uint32_t val)
{
    set_vram32(b, SQ_MQD(n) + dw * 4, val);
}

#define MQD_SET(b, n, reg, val) mqd_set(b, n, V9_MQD_DW_OF(mm##reg), val)

void map_many(Bus *b, unsigned n, unsigned per_proc)
{
    static List list;
    unsigned i;

    memset(&list, 0, sizeof(list));
    for (i = 0; i < n; i++) {
        if (i % per_proc == 0) {
            list_process(&list, i / per_proc, per_proc);
        }
        list_queue(&list, i);
    }
    list_send(b, &list);
}

void sq_init(Bus *b, unsigned n)
{
    memset(b->vram + SQ_MQD(n), 0, 0x800);
    wptrs[n] = 0;
    set_vram64(b, SQ_WPTR(n), 0);
    set_vram64(b, SQ_RPTR(n), 0);
    mqd_set(b, n, V9_MQD_HEADER_DW, V9_MQD_HEADER_VALUE);
    MQD_SET(b, n, CP_HQD_PERSISTENT_STATE, 0x5301);
    MQD_SET(b, n, CP_HQD_QUANTUM, 0x111);
    MQD_SET(b, n, CP_HQD_PQ_BASE, (VA0 + SQ_RING(n)) >> 8);
    MQD_SET(b, n, CP_HQD_PQ_BASE_HI, (VA0 + SQ_RING(n)) >> 40);
    MQD_SET(b, n, CP_HQD_PQ_RPTR_REPORT_ADDR, VA0 + SQ_RPTR(n));
    MQD_SET(b, n, CP_HQD_PQ_RPTR_REPORT_ADDR_HI, (VA0 + SQ_RPTR(n)) >> 32);
    MQD_SET(b, n, CP_HQD_PQ_CONTROL, 7);        /* 2^8 dwords */
    MQD_SET(b, n, CP_HQD_IB_CONTROL, 0x00300000);
    MQD_SET(b, n, CP_HQD_PQ_DOORBELL_CONTROL, SQ_DOORBELL(n) << 2);
}

void sq_emit(Bus *b, unsigned n, const uint32_t *dw, unsigned dws)
{
    unsigned i;

    for (i = 0; i < dws; i++) {
        set_vram32(b, SQ_RING(n) + (wptrs[n]++ & (SQ_RING_DW - 1)) * 4, dw[i]);
    }
}

void sq_write(Bus *b, unsigned n, uint64_t off, uint32_t val)
{
    uint32_t p[8];

    sq_emit(b, n, p, pkt_write(p, VA0 + off, val));
}

void sq_wait(Bus *b, unsigned n, uint32_t ref)
{
    uint32_t p[8];

    sq_emit(b, n, p, pkt_wait_mem(p, VA0 + SQ_FLAG(n), WAIT_REG_MEM_EQ, ref, ~0u));
}

void sq_publish(Bus *b, unsigned n)
{
    set_vram64(b, SQ_WPTR(n), wptrs[n]);
}

void sq_kick(Bus *b, unsigned n)
{
    sq_publish(b, n);
    vkfd_doorbell_write(b->e, SQ_DOORBELL(n) * 4, wptrs[n], 8);
}

uint64_t sq_wptr(unsigned n)
{
    return wptrs[n];
}

VKFDSchedQueue *sq_entry(Bus *b, unsigned n)
{
    uint32_t i;

    for (i = 0; i < b->e->sched.queue_top; i++) {
        VKFDSchedQueue *q = &b->e->sched.queue[i];

        if (q->state != VKFD_SCHED_FREE && q->mqd == MC(SQ_MQD(n))) {
            return q;
        }
    }
    return NULL;
}

unsigned sq_state(Bus *b, unsigned n)
{
    VKFDSchedQueue *q = sq_entry(b, n);

    return q ? q->state : VKFD_SCHED_FREE;
}

unsigned sq_count(Bus *b, unsigned state)
{
    unsigned n = 0;
    uint32_t i;

    for (i = 0; i < b->e->sched.queue_top; i++) {
        n += b->e->sched.queue[i].state == state;
    }
    return n;
}

void check_derived(Bus *b)
{
    VKFDEngine *e = b->e;
    unsigned i, on = 0, watched = 0, ready = 0, slots[VKFD_SCHED_PROCS] = { 0 };
    static unsigned addresses[VKFD_SCHED_QUEUES];
    bool ok = true;

    memset(addresses, 0, sizeof(addresses));
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        uint16_t q = e->sd.hqd_owner[i];

        if (q != VKFD_SCHED_NONE) {
            on++;
            ok &= e->sched.queue[q].state == VKFD_SCHED_ON_SLOT &&
                  e->sched.queue[q].slot == i && (e->active_mask >> i & 1);
        }
    }
    for (i = 0; i < VKFD_SCHED_SDMA * VKFD_SCHED_SDMA_RLC; i++) {
        uint16_t q = e->sd.rlc_owner[i / VKFD_SCHED_SDMA_RLC][i % VKFD_SCHED_SDMA_RLC];

        if (q != VKFD_SCHED_NONE) {
            on++;
            ok &= e->sched.queue[q].state == VKFD_SCHED_ON_SLOT &&
                  e->sched.queue[q].engine == 1 + i / VKFD_SCHED_SDMA_RLC &&
                  e->sched.queue[q].slot == i % VKFD_SCHED_SDMA_RLC;
        }
    }
    for (i = 0; i < e->sched.queue_top; i++) {
        const VKFDSchedQueue *q = &e->sched.queue[i];

        if (q->state == VKFD_SCHED_ON_SLOT && q->proc != VKFD_SCHED_NONE) {
            slots[q->proc]++;
        }
    }
    for (i = 0; i < e->sched.proc_top; i++) {
        ok &= e->sd.proc_slots[i] == slots[i];
    }
    for (i = 0; i < VKFD_SCHED_HASH; i++) {
        uint32_t n = e->sd.by_pa[i];

        for (; n; n = e->sd.wait[n - 1].next) {
            watched++;
            ok &= e->sched.queue[(n - 1) / VKFD_SCHED_WAITS].state ==
                  VKFD_SCHED_PARKED;
            ok &= e->sd.wait[n - 1].look < e->sd.looks &&
                  e->sd.look[e->sd.wait[n - 1].look].node == n - 1 &&
                  e->sd.look[e->sd.wait[n - 1].look].pa == e->sd.wait[n - 1].pa;
            addresses[(n - 1) / VKFD_SCHED_WAITS]++;
        }
    }
    for (i = 0; i < VKFD_SCHED_ENGINES; i++) {
        ready += e->sd.ready[i].n;
    }
    CHECK(ok);
    CHECK_EQ(on, sq_count(b, VKFD_SCHED_ON_SLOT));
    CHECK_EQ(watched, e->sd.looks);
    for (i = 0; i < e->sched.queue_top; i++) {
        ok &= !addresses[i] == (e->sched.queue[i].state != VKFD_SCHED_PARKED) &&
              addresses[i] == e->sd.link[i].waits;
    }
    CHECK(ok);
    CHECK_EQ(e->sd.parked.n, sq_count(b, VKFD_SCHED_PARKED));
    CHECK_EQ(ready, sq_count(b, VKFD_SCHED_READY));
}

Bus *sched_migrate(const Bus *src)
{
    const size_t first = offsetof(VKFDEngine, regs), end = offsetof(VKFDEngine, bar0);
    Bus *b = bus_new();

    memcpy((char *)b->e + first, (const char *)src->e + first, end - first);
    memcpy(b->vram, src->vram, VRAM_SIZE);
    memcpy(b->sys, src->sys, SYS_SIZE);
    b->now = src->now;
    return b;
}
