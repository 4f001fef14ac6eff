/* SPDX-License-Identifier: MIT */
/* vkfd: the scheduler firmware behind the PCI device: HIQ, run list, MSI-X, PASIDs. */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/module.h"
#include "libqtest.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "libqos/vkfd.h"

#include <vkfd/pm4_sched.h>

/*
 * Processes of the test: address spaces that libqos set up as VMIDs 8 and 9. The
 * firmware may use other VMIDs only, so what runs there it has set up itself.
 */
#define FIRMWARE_VMIDS  0x0c00
#define SLOTS           0x3
#define PROC_PASID(i)   (0x8100u + (i))
#define NUM_QUEUES      4

typedef struct Setup {
    QVkfdQueue hiq;
    QVkfdQueue u[NUM_QUEUES];   /* two of each process */
    uint64_t mqd[NUM_QUEUES];   /* guest physical */
    uint64_t mem[2];            /* a page of each process */
    uint64_t list, fence;
} Setup;

static void poke(QVkfd *q, uint64_t gpa, uint32_t val)
{
    qtest_writel(qvkfd_qts(q), gpa, val);
}

static void mqd_init(QVkfd *q, QVkfdQueue *u, uint64_t mqd)
{
    uint64_t ring = qvkfd_va(u->vmid, u->ring), rptr = qvkfd_va(u->vmid, u->rptr);

#define MQD(reg, val) poke(q, mqd + 4 * V9_MQD_DW_OF(reg), val)
    poke(q, mqd, V9_MQD_HEADER_VALUE);
    MQD(mmCP_HQD_PERSISTENT_STATE, 0x5301);
    MQD(mmCP_HQD_QUANTUM, 0x111);
    MQD(mmCP_HQD_PQ_BASE, ring >> 8);
    MQD(mmCP_HQD_PQ_BASE_HI, ring >> 40);
    MQD(mmCP_HQD_PQ_RPTR_REPORT_ADDR, rptr);
    MQD(mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, rptr >> 32);
    MQD(mmCP_HQD_PQ_CONTROL, ctz32(u->size_dw) - 1);
    MQD(mmCP_HQD_IB_CONTROL, 0x00300000);
#undef MQD
}

static void setup(QVkfd *q, Setup *s)
{
    unsigned i;

    qvkfd_start(q);
    qvkfd_wr_check(q, mmRLC_CP_SCHEDULERS, (0x80 | 2 << 5) << 8);
    qvkfd_queue_init(q, &s->hiq, 2, 0, 0, 0, 10);
    qvkfd_queue_load(&s->hiq);
    s->list = qvkfd_alloc(q, 0, 4096);
    s->fence = qvkfd_alloc(q, 0, 4096);
    for (i = 0; i < 2; i++) {
        s->mem[i] = qvkfd_alloc(q, 8 + i, 4096);
    }
    for (i = 0; i < NUM_QUEUES; i++) {
        qvkfd_queue_init(q, &s->u[i], 1, 0, i, 8 + i / 2, 8);
        s->mqd[i] = qvkfd_alloc(q, 0, V9_MQD_DW * 4);
        mqd_init(q, &s->u[i], s->mqd[i]);
    }
    qvkfd_emit(&s->hiq, PACKET3(IT_SET_RESOURCES, SET_RESOURCES_DW));
    qvkfd_emit(&s->hiq, FIRMWARE_VMIDS |
                        SET_RESOURCES_HIQ << SET_RESOURCES__QUEUE_TYPE__SHIFT);
    qvkfd_emit(&s->hiq, SLOTS);
    for (i = 0; i < 5; i++) {
        qvkfd_emit(&s->hiq, 0);
    }
    qvkfd_kick(&s->hiq);
}

static unsigned list_process(QVkfd *q, uint32_t *dw, unsigned i)
{
    const uint32_t v[1 + MAP_PROCESS_DW] = {
        PACKET3(IT_MAP_PROCESS, MAP_PROCESS_DW),
        PROC_PASID(i) | 10u << MAP_PROCESS__QUANTUM__SHIFT,
        q->root[8 + i] | AMDGPU_PTE_VALID, q->root[8 + i] >> 32,
        [13] = 2u << MAP_PROCESS__NUM_QUEUES__SHIFT,
    };

    memcpy(dw, v, sizeof(v));
    return ARRAY_SIZE(v);
}

static unsigned list_queue(uint32_t *dw, const Setup *s, unsigned i)
{
    const QVkfdQueue *u = &s->u[i];
    uint64_t mqd = qvkfd_va(0, s->mqd[i]), wptr = qvkfd_va(u->vmid, u->wptr_mem);
    const uint32_t v[1 + MAP_QUEUES_DW] = {
        PACKET3(IT_MAP_QUEUES, MAP_QUEUES_DW),
        MAP_QUEUES_SEL_HWS << MAP_QUEUES__QUEUE_SEL__SHIFT |
        1u << MAP_QUEUES__NUM_QUEUES__SHIFT,
        u->doorbell_dw << MAP_QUEUES__DOORBELL__SHIFT,
        mqd, mqd >> 32, wptr, wptr >> 32,
    };

    memcpy(dw, v, sizeof(v));
    return ARRAY_SIZE(v);
}

static void run_list(QVkfd *q, Setup *s)
{
    uint64_t ib = qvkfd_va(0, s->list);
    uint32_t dw[128];
    unsigned n = 0, i;

    for (i = 0; i < NUM_QUEUES; i++) {
        if (i % 2 == 0) {
            n += list_process(q, dw + n, i / 2);
        }
        n += list_queue(dw + n, s, i);
    }
    for (i = 0; i < n; i++) {
        poke(q, s->list + 4 * i, dw[i]);
    }
    qvkfd_emit(&s->hiq, PACKET3(IT_RUN_LIST, RUN_LIST_DW));
    qvkfd_emit(&s->hiq, ib);
    qvkfd_emit(&s->hiq, ib >> 32);
    qvkfd_emit(&s->hiq, n | RUN_LIST__VALID);
    qvkfd_kick(&s->hiq);
}

static void unmap_all(QVkfd *q, Setup *s, uint32_t fence)
{
    uint64_t va = qvkfd_va(0, s->fence);

    qvkfd_emit(&s->hiq, PACKET3(IT_UNMAP_QUEUES, UNMAP_QUEUES_DW));
    qvkfd_emit(&s->hiq, UNMAP_QUEUES_SEL_NON_STATIC << UNMAP_QUEUES__QUEUE_SEL__SHIFT);
    qvkfd_emit(&s->hiq, 0);
    qvkfd_emit(&s->hiq, 0);
    qvkfd_emit(&s->hiq, 0);
    qvkfd_emit(&s->hiq, 0);
    qvkfd_emit(&s->hiq, PACKET3(IT_QUERY_STATUS, QUERY_STATUS_DW));
    qvkfd_emit(&s->hiq, (uint32_t)QUERY_STATUS_FENCE << QUERY_STATUS__COMMAND__SHIFT);
    qvkfd_emit(&s->hiq, 0);
    qvkfd_emit(&s->hiq, va);
    qvkfd_emit(&s->hiq, va >> 32);
    qvkfd_emit(&s->hiq, fence);
    qvkfd_emit(&s->hiq, 0);
    qvkfd_kick(&s->hiq);
    qvkfd_wait_mem(q, s->fence, fence);
}

/*
 * Two processes, four queues, two slots: every queue's interrupt comes with the PASID
 * of its process, from a VMID of the firmware's.
 */
static void test_run_list(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t e[8], seen = 0;
    Setup s;
    unsigned i, round;

    setup(q, &s);
    run_list(q, &s);
    for (round = 0; round < 2; round++) {
        uint32_t first = qvkfd_rd(q, mmIH_RB_WPTR);

        for (i = 0; i < NUM_QUEUES; i++) {
            uint64_t slot = s.mem[i / 2] + 64 * i;

            qvkfd_emit_release(&s.u[i], qvkfd_va(8 + i / 2, slot), 0x100 + round,
                               RELEASE_MEM_INT_AFTER_WRITE, 1 + i);
            qvkfd_kick(&s.u[i]);
        }
        for (i = 0; i < NUM_QUEUES; i++) {
            qvkfd_wait_mem(q, s.mem[i / 2] + 64 * i, 0x100 + round);
        }
        qvkfd_wait_msi(q);
        for (i = 0, seen = 0; i < NUM_QUEUES; i++) {
            unsigned who;

            qvkfd_ih_entry(q, first + i * VKFD_IH_ENTRY_SIZE, e);
            who = e[4] - 1;
            g_assert_cmpuint(who, <, NUM_QUEUES);
            seen |= 1u << who;
            g_assert_cmphex(e[0] & 0xffff, ==, SOC15_IH_CLIENTID_GRBM_CP |
                            GFX_9_0__SRCID__CP_EOP_INTERRUPT << 8);
            g_assert_cmphex(FIRMWARE_VMIDS >> (e[0] >> 24 & 0xf) & 1, ==, 1);
            g_assert_cmphex(e[3] & VKFD_IH_DW3__PASID_MASK, ==, PROC_PASID(who / 2));
        }
        g_assert_cmphex(seen, ==, 0xf);
        qvkfd_ih_set_rptr(q, first + NUM_QUEUES * VKFD_IH_ENTRY_SIZE);
    }
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_RUNLIST), ==, 1);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_QUEUE_MAP), ==, NUM_QUEUES);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DOORBELL_WAKE), >=, NUM_QUEUES);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_QUEUE_SWAP), >=, 2);
    unmap_all(q, &s, 100);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_QUEUE_UNMAP), ==, NUM_QUEUES);
    for (i = 0; i < NUM_QUEUES; i++) {
        g_assert_cmphex(qtest_readl(qvkfd_qts(q), s.mqd[i] +
                                    4 * V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR)), ==,
                        s.u[i].wptr);
    }
}

/* Four queues wait for the CPU on two slots; the clock is what finds its stores. */
static void test_parked(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    Setup s;
    unsigned i;

    setup(q, &s);
    run_list(q, &s);
    for (i = 0; i < NUM_QUEUES; i++) {
        uint64_t slot = qvkfd_va(8 + i / 2, s.mem[i / 2] + 64 * i);

        qvkfd_emit_write(&s.u[i], slot, 1);
        qvkfd_emit_wait(&s.u[i], slot + 8, 5);
        qvkfd_emit_write(&s.u[i], slot, 2);
        qvkfd_kick(&s.u[i]);
    }
    for (i = 0; i < NUM_QUEUES; i++) {
        qvkfd_wait_mem(q, s.mem[i / 2] + 64 * i, 1);
    }
    for (i = 0; i < NUM_QUEUES; i++) {
        poke(q, s.mem[i / 2] + 64 * i + 8, 5);
        qvkfd_wait_mem_clock(q, s.mem[i / 2] + 64 * i, 2);
    }
    unmap_all(q, &s, 101);
}

/* Queues with and without slots, parked and idle, go on in another QEMU. */
static void test_migration(void *obj, void *data, QGuestAllocator *unused)
{
    QTestState *from = qtest_init(QVKFD_MIGRATION_ARGS);
    QTestState *to = qtest_init(QVKFD_MIGRATION_ARGS " -incoming defer");
    QPCIBus *bus = qpci_new_pc(from, NULL), *to_bus = qpci_new_pc(to, NULL);
    QGuestAllocator alloc;
    QVkfd src = { 0 }, dst;
    uint64_t runlists;
    Setup s;
    unsigned i;

    pc_alloc_init(&alloc, from, ALLOC_NO_FLAGS);
    qvkfd_attach(&src, bus, QPCI_DEVFN(4, 0), &alloc);
    setup(&src, &s);
    run_list(&src, &s);
    for (i = 0; i < NUM_QUEUES; i++) {
        uint64_t slot = qvkfd_va(8 + i / 2, s.mem[i / 2] + 64 * i);

        qvkfd_emit_write(&s.u[i], slot, 1);
        if (i < 3) {
            qvkfd_emit_wait(&s.u[i], slot + 8, 5);
            qvkfd_emit_write(&s.u[i], slot + 16, 2);
        }
        qvkfd_kick(&s.u[i]);
    }
    for (i = 0; i < NUM_QUEUES; i++) {
        qvkfd_wait_mem(&src, s.mem[i / 2] + 64 * i, 1);
    }
    runlists = qvkfd_counter(&src, VKFD_CNT_RUNLIST);
    qvkfd_migrate(from, to);

    /* The same device as seen from the other QEMU. */
    dst = src;
    dst.dev.bus = to_bus;
    s.hiq.q = &dst;
    for (i = 0; i < NUM_QUEUES; i++) {
        s.u[i].q = &dst;
        poke(&dst, s.mem[i / 2] + 64 * i, 0);
    }
    g_assert_cmpuint(qvkfd_counter(&dst, VKFD_CNT_RUNLIST), ==, runlists);
    for (i = 0; i < 3; i++) {
        g_assert_cmphex(qtest_readl(to, s.mem[i / 2] + 64 * i + 16), ==, 0);
        poke(&dst, s.mem[i / 2] + 64 * i + 8, 5);
        qvkfd_wait_mem_clock(&dst, s.mem[i / 2] + 64 * i + 16, 2);
        /* what ran there has not run again */
        g_assert_cmphex(qtest_readl(to, s.mem[i / 2] + 64 * i), ==, 0);
    }
    qvkfd_emit_write(&s.u[3], qvkfd_va(9, s.mem[1] + 192), 7);
    qvkfd_kick(&s.u[3]);
    qvkfd_wait_mem(&dst, s.mem[1] + 192, 7);
    unmap_all(&dst, &s, 102);

    qtest_quit(from);
    qtest_quit(to);
    alloc_destroy(&alloc);
    qpci_free_pc(bus);
    qpci_free_pc(to_bus);
}

static void register_vkfd_sched_test(void)
{
    qos_add_test("sched/run-list", "vkfd", test_run_list, NULL);
    qos_add_test("sched/parked", "vkfd", test_parked, NULL);
    qos_add_test("sched/migration", "vkfd", test_migration, NULL);
}

libqos_init(register_vkfd_sched_test);
