/* SPDX-License-Identifier: MIT */
/* vkfd: packets that move, compare and wait; queues of AQL packets. */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/module.h"
#include "qobject/qdict.h"
#include "libqtest.h"
#include "libqos/vkfd.h"

#include <vkfd/aql.h>

/* A queue of VMID 8, and 512 KiB of memory there. */
typedef struct Setup {
    QVkfdQueue u;
    uint64_t mem;       /* guest physical */
    uint64_t va;
} Setup;

#define MEM_SIZE        0x80000

static void setup(QVkfd *q, Setup *s)
{
    qvkfd_start(q);
    s->mem = qvkfd_alloc(q, 8, MEM_SIZE);
    s->va = qvkfd_va(8, s->mem);
    qvkfd_queue_init(q, &s->u, 1, 2, 3, 8, 10);
    qvkfd_queue_load(&s->u);
}

static uint64_t peek(QVkfd *q, uint64_t gpa)
{
    return qtest_readq(qvkfd_qts(q), gpa);
}

static void emit_copy(Setup *s, uint32_t src, uint64_t from, uint32_t dst,
                      uint64_t to)
{
    const uint32_t dw[] = {
        PACKET3_COMPUTE(IT_COPY_DATA, 5),
        src | dst << COPY_DATA__DST_SEL__SHIFT | COPY_DATA__COUNT_SEL,
        from, from >> 32, to, to >> 32,
    };

    qvkfd_emit_n(&s->u, dw, ARRAY_SIZE(dw));
}

static void emit_atomic(Setup *s, uint32_t ctl, uint64_t va, uint64_t src,
                        uint64_t cmp)
{
    const uint32_t dw[] = {
        PACKET3_COMPUTE(IT_ATOMIC_MEM, 8), ctl, va, va >> 32,
        src, src >> 32, cmp, cmp >> 32, 0x80,
    };

    qvkfd_emit_n(&s->u, dw, ARRAY_SIZE(dw));
}

static void test_copy_data(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    Setup s;

    setup(q, &s);
    qtest_clock_step(qvkfd_qts(q), 12340);
    qtest_writeq(qvkfd_qts(q), s.mem, 0x1122334455667788ull);
    emit_copy(&s, COPY_DATA_SRC_MEM, s.va, COPY_DATA_DST_MEM, s.va + 8);
    emit_copy(&s, COPY_DATA_SRC_MEM, s.va, COPY_DATA_DST_REG, mmSCRATCH_REG0);
    emit_copy(&s, COPY_DATA_SRC_GPU_CLOCK, 0, COPY_DATA_DST_MEM, s.va + 16);
    emit_copy(&s, COPY_DATA_SRC_IMM, 1, COPY_DATA_DST_L2, s.va + 24);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 24, 1);
    g_assert_cmphex(peek(q, s.mem + 8), ==, 0x1122334455667788ull);
    g_assert_cmphex(qvkfd_rd(q, mmSCRATCH_REG0), ==, 0x55667788);
    g_assert_cmphex(qvkfd_rd(q, mmSCRATCH_REG0 + 1), ==, 0x11223344);
    qvkfd_wr(q, mmRLC_CAPTURE_GPU_CLOCK_COUNT, 1);
    g_assert_cmphex((uint32_t)peek(q, s.mem + 16), ==,
                    qvkfd_rd(q, mmRLC_GPU_CLOCK_COUNT_LSB));
}

/* More than a queue's share of a run, so in turns; another queue gets its own. */
static void test_dma_data(void *obj, void *data, QGuestAllocator *alloc)
{
    const uint32_t size = 0x30004;
    g_autofree uint8_t *buf = g_malloc(size), *got = g_malloc(size);
    QVkfd *q = obj;
    uint64_t from, to;
    uint32_t i;
    Setup s;

    setup(q, &s);
    from = s.va + 0x1004;
    to = s.va + 0x40002;
    for (i = 0; i < size; i++) {
        buf[i] = i * 13 + (i >> 8);
    }
    qtest_memwrite(qvkfd_qts(q), s.mem + 0x1004, buf, size);
    qvkfd_emit(&s.u, PACKET3_COMPUTE(IT_DMA_DATA, 6));
    qvkfd_emit(&s.u, DMA_DATA__CP_SYNC);
    qvkfd_emit(&s.u, from);
    qvkfd_emit(&s.u, from >> 32);
    qvkfd_emit(&s.u, to);
    qvkfd_emit(&s.u, to >> 32);
    qvkfd_emit(&s.u, size);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    qtest_memread(qvkfd_qts(q), s.mem + 0x40002, got, size);
    g_assert_cmpmem(buf, size, got, size);
}

static void test_atomic_mem(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t parked;
    Setup s;

    setup(q, &s);
    qtest_writeq(qvkfd_qts(q), s.mem + 8, 0xfffffffffull);
    emit_atomic(&s, TC_OP_ATOMIC_ADD | TC_OP__64, s.va + 8, 1, 0);
    emit_copy(&s, COPY_DATA_SRC_ATOMIC_RETURN, 0, COPY_DATA_DST_MEM, s.va + 16);
    emit_atomic(&s, TC_OP_ATOMIC_SMAX, s.va + 24, 7, 0);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    g_assert_cmphex(peek(q, s.mem + 8), ==, 0x1000000000ull);
    g_assert_cmphex(peek(q, s.mem + 16), ==, 0xfffffffffull);
    g_assert_cmphex(peek(q, s.mem + 24), ==, 7);

    /* A lock that somebody holds: parked, until the CPU lets go of it. */
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    emit_atomic(&s, TC_OP_ATOMIC_CMPSWAP | TC_OP__64 | ATOMIC_MEM_LOOP <<
                ATOMIC_MEM__COMMAND__SHIFT, s.va + 24, 9, 0);
    qvkfd_emit_write(&s.u, s.va, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qtest_writeq(qvkfd_qts(q), s.mem + 24, 0);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem), ==, 1);
    qvkfd_wait_mem_clock(q, s.mem, 2);
    g_assert_cmphex(peek(q, s.mem + 24), ==, 9);
}

/* Registers are no memory: refused, a fault, and the register is as it was. */
static void test_atomic_mmio(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t refused, fault, va = 0x7000000000ull;
    Setup s;

    setup(q, &s);
    qvkfd_wr_check(q, mmSCRATCH_REG0, 5);
    qvkfd_map(q, 8, va, q->mmio.addr + 0xc000 * 4, 1, AMDGPU_PTE_VALID |
              AMDGPU_PTE_SYSTEM | AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE);
    qvkfd_flush(q, 8);
    refused = qvkfd_counter(q, VKFD_CNT_DMA_REFUSED);
    fault = qvkfd_counter(q, VKFD_CNT_VM_FAULT);
    emit_atomic(&s, TC_OP_ATOMIC_ADD, va + mmSCRATCH_REG0 * 4 % 4096, 1, 0);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_VM_FAULT, fault + 1);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem), ==, 0);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DMA_REFUSED), ==, refused + 1);
    g_assert_cmphex(qvkfd_rd(q, mmSCRATCH_REG0), ==, 5);
}

static void test_cond_wait64(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t cond, parked;
    Setup s;

    setup(q, &s);
    cond = s.va + 64;
    qvkfd_emit(&s.u, PACKET3_COMPUTE(IT_COND_EXEC, 4));
    qvkfd_emit(&s.u, cond);
    qvkfd_emit(&s.u, cond >> 32);
    qvkfd_emit(&s.u, 0);
    qvkfd_emit(&s.u, 5);
    qvkfd_emit_write(&s.u, s.va + 8, 1);        /* five dwords */
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    g_assert_cmphex(peek(q, s.mem + 8), ==, 0);

    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    qvkfd_emit(&s.u, PACKET3_COMPUTE(IT_WAIT_REG_MEM64, 8));
    qvkfd_emit(&s.u, WAIT_REG_MEM_GE | WAIT_REG_MEM_SPACE_MEM <<
               WAIT_REG_MEM__MEM_SPACE__SHIFT);
    qvkfd_emit(&s.u, cond);
    qvkfd_emit(&s.u, cond >> 32);
    qvkfd_emit(&s.u, 0);
    qvkfd_emit(&s.u, 1);
    qvkfd_emit(&s.u, ~0u);
    qvkfd_emit(&s.u, ~0u);
    qvkfd_emit(&s.u, 4);
    qvkfd_emit_write(&s.u, s.va, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qtest_writeq(qvkfd_qts(q), s.mem + 64, 0x100000000ull);
    qvkfd_wait_mem_clock(q, s.mem, 2);
}

static void set_dispatch(QVkfd *q, const char *what)
{
    qtest_qmp_assert_success(qvkfd_qts(q), "{ 'execute': 'qom-set', 'arguments': "
                             "{ 'path': 'vkfd0', 'property': 'dispatch', "
                             "'value': %s } }", what);
}

static void emit_dispatch(Setup *s)
{
    qvkfd_emit(&s->u, PACKET3_COMPUTE(IT_DISPATCH_DIRECT, 4));
    qvkfd_emit(&s->u, 2);
    qvkfd_emit(&s->u, 3);
    qvkfd_emit(&s->u, 4);
    qvkfd_emit(&s->u, 0x21);
}

/* Never run; passed over or an error, as the user said. */
static void test_dispatch(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t skipped, bad;
    QDict *rsp;
    Setup s;

    setup(q, &s);
    skipped = qvkfd_counter(q, VKFD_CNT_DISPATCH_SKIPPED);
    bad = qvkfd_counter(q, VKFD_CNT_PACKET_BAD);
    emit_dispatch(&s);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DISPATCH_SKIPPED), ==, skipped + 1);

    rsp = qtest_qmp(qvkfd_qts(q), "{ 'execute': 'qom-set', 'arguments': "
                    "{ 'path': 'vkfd0', 'property': 'dispatch', "
                    "'value': 'run' } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    set_dispatch(q, "error");
    emit_dispatch(&s);
    qvkfd_emit_write(&s.u, s.va, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PACKET_BAD, bad + 1);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem), ==, 1);
    set_dispatch(q, "skip");
}

/* AQL: the page of the pointers is the amd_queue_t, signals are in s->mem. */

#define SIGNAL(n)       (0x1000 + (n) * 64u)
#define MAILBOX         0x2000

static void aql_setup(QVkfd *q, Setup *s)
{
    unsigned i;

    qvkfd_start(q);
    s->mem = qvkfd_alloc(q, 8, MEM_SIZE);
    s->va = qvkfd_va(8, s->mem);
    qvkfd_queue_init(q, &s->u, 1, 2, 3, 8, 10);
    s->u.wptr_mem = s->u.rptr + AMD_QUEUE_WRITE_DISPATCH_ID;
    qtest_writel(qvkfd_qts(q), s->u.rptr + AMD_QUEUE_READ_ID_OFFSET,
                 AMD_QUEUE_READ_DISPATCH_ID);
    qtest_writeq(qvkfd_qts(q), s->u.rptr + AMD_QUEUE_INACTIVE_SIGNAL,
                 s->va + SIGNAL(9));
    s->u.rptr += AMD_QUEUE_READ_DISPATCH_ID;
    for (i = 0; i < s->u.size_dw; i += AQL_PACKET_DW) {
        qtest_writel(qvkfd_qts(q), s->u.ring + 4 * i, AQL_PACKET_INVALID);
    }
    qvkfd_queue_load(&s->u);
    qvkfd_queue_dequeue(&s->u, VKFD_DEQUEUE_RESET_WAVES);
    qvkfd_hqd_wr(&s->u, mmCP_HQD_PQ_CONTROL, (ctz32(s->u.size_dw) - 1) |
                 2u << CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR__SHIFT |
                 CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR_MASK);
    qvkfd_hqd_wr(&s->u, mmCP_HQD_AQL_CONTROL, 1);
    qvkfd_queue_activate(&s->u);
}

/* p into the next slot, header last, without ringing. */
static void aql_emit(Setup *s, const uint32_t p[AQL_PACKET_DW])
{
    QTestState *qts = qvkfd_qts(s->u.q);
    uint64_t id = qtest_readq(qts, s->u.wptr_mem);
    uint64_t slot = s->u.ring + id % (s->u.size_dw / AQL_PACKET_DW) * AQL_PACKET_SIZE;
    unsigned i;

    qtest_writeq(qts, s->u.wptr_mem, id + 1);
    for (i = AQL_PACKET_DW; i-- > 0; ) {
        qtest_writel(qts, slot + 4 * i, p[i]);
    }
}

static void aql_ring(Setup *s)
{
    qvkfd_ring_doorbell(s->u.q, s->u.doorbell_dw,
                        qtest_readq(qvkfd_qts(s->u.q), s->u.wptr_mem) - 1);
}

/* A barrier on signals dep[0..1] (0: none) that completes signal done. */
static void aql_barrier(Setup *s, uint32_t type, unsigned a, unsigned b,
                        unsigned done)
{
    uint32_t p[AQL_PACKET_DW] = { type | AQL_HEADER__BARRIER };
    const unsigned dep[] = { a, b };
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (dep[i]) {
            p[AQL_BARRIER_DEP_DW + 2 * i] = s->va + SIGNAL(dep[i]);
            p[AQL_BARRIER_DEP_DW + 2 * i + 1] = (s->va + SIGNAL(dep[i])) >> 32;
        }
    }
    p[AQL_COMPLETION_DW] = s->va + SIGNAL(done);
    p[AQL_COMPLETION_DW + 1] = (s->va + SIGNAL(done)) >> 32;
    aql_emit(s, p);
}

static uint64_t signal_at(Setup *s, unsigned n)
{
    return s->mem + SIGNAL(n) + AMD_SIGNAL_VALUE;
}

static void test_aql_completion(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    uint32_t e[8];
    Setup s;

    aql_setup(q, &s);
    qtest_writeq(qts, signal_at(&s, 1), 1);
    qtest_writeq(qts, s.mem + SIGNAL(1) + AMD_SIGNAL_MAILBOX_PTR, s.va + MAILBOX);
    qtest_writel(qts, s.mem + SIGNAL(1) + AMD_SIGNAL_EVENT_ID, 0x123);
    aql_barrier(&s, AQL_PACKET_BARRIER_AND, 0, 0, 1);
    aql_ring(&s);
    qvkfd_wait_msi(q);
    g_assert_cmphex(peek(q, signal_at(&s, 1)), ==, 0);
    g_assert_cmphex(peek(q, s.mem + MAILBOX), ==, 0x123);
    g_assert_cmphex(peek(q, s.u.rptr), ==, 1);
    g_assert_cmphex(qtest_readl(qts, s.u.ring) & 0xffff, ==, AQL_PACKET_INVALID);
    qvkfd_ih_entry(q, 0, e);
    g_assert_cmphex(e[0] & 0xffff, ==, SOC15_IH_CLIENTID_GRBM_CP |
                    GFX_9_0__SRCID__CP_EOP_INTERRUPT << 8);
    g_assert_cmphex(e[4], ==, 0x123);
}

/* Dependencies the CPU and an AQL queue's own completions satisfy, in a chain. */
static void test_aql_barrier(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    uint64_t parked;
    Setup s;

    aql_setup(q, &s);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    qtest_writeq(qts, signal_at(&s, 1), 1);
    qtest_writeq(qts, signal_at(&s, 2), 1);
    qtest_writeq(qts, signal_at(&s, 3), 1);
    aql_barrier(&s, AQL_PACKET_BARRIER_AND, 0, 0, 1);
    aql_barrier(&s, AQL_PACKET_BARRIER_AND, 1, 2, 3);
    aql_ring(&s);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qtest_writeq(qts, signal_at(&s, 2), 0);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, signal_at(&s, 3)), ==, 1);
    qvkfd_wait_mem_clock(q, signal_at(&s, 3), 0);
    /* either of two */
    qtest_writeq(qts, signal_at(&s, 1), 1);
    qtest_writeq(qts, signal_at(&s, 4), 1);
    aql_barrier(&s, AQL_PACKET_BARRIER_OR, 1, 2, 4);
    aql_ring(&s);
    qvkfd_wait_mem(q, signal_at(&s, 4), 0);
}

/* Room is taken before it is filled; the doorbell of the filling wakes the queue. */
static void test_aql_invalid(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    uint64_t parked;
    Setup s;

    aql_setup(q, &s);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    qtest_writeq(qts, s.u.wptr_mem, 1);
    qvkfd_ring_doorbell(q, s.u.doorbell_dw, 0);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qtest_writeq(qts, s.u.wptr_mem, 0);
    qtest_writeq(qts, signal_at(&s, 1), 1);
    aql_barrier(&s, AQL_PACKET_BARRIER_AND, 0, 0, 1);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, signal_at(&s, 1)), ==, 1);
    aql_ring(&s);
    qvkfd_wait_mem(q, signal_at(&s, 1), 0);
}

static void test_aql_pm4_ib(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t p[AQL_PACKET_DW] = {
        AQL_PACKET_VENDOR | AQL_VENDOR_PM4_IB << AQL_VENDOR__FORMAT__SHIFT
    }, ib[8];
    unsigned n;
    Setup s;

    aql_setup(q, &s);
    n = qvkfd_pm4_write(ib, s.va, 0x77);
    qtest_memwrite(qvkfd_qts(q), s.mem + 0x3000, ib, 4 * n);
    qvkfd_pm4_ib(p + AQL_VENDOR_PM4_IB_DW, s.va + 0x3000, n, 8);
    p[AQL_VENDOR_PM4_IB_REMAIN_DW] = AQL_VENDOR_PM4_IB_REMAIN;
    p[AQL_COMPLETION_DW] = s.va + SIGNAL(1);
    p[AQL_COMPLETION_DW + 1] = (s.va + SIGNAL(1)) >> 32;
    qtest_writeq(qvkfd_qts(q), signal_at(&s, 1), 5);
    aql_emit(&s, p);
    aql_ring(&s);
    qvkfd_wait_mem(q, signal_at(&s, 1), 4);
    g_assert_cmphex(peek(q, s.mem), ==, 0x77);
}

/* A bad packet is told by the queue's inactive signal, and ends the queue. */
static void test_aql_error(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    Setup s;

    aql_setup(q, &s);
    qtest_writeq(qts, s.mem + SIGNAL(9) + AMD_SIGNAL_MAILBOX_PTR, s.va + MAILBOX);
    qtest_writel(qts, s.mem + SIGNAL(9) + AMD_SIGNAL_EVENT_ID, 0x99);
    qtest_writeq(qts, signal_at(&s, 1), 1);
    aql_barrier(&s, AQL_PACKET_AGENT_DISPATCH, 0, 0, 1);
    aql_barrier(&s, AQL_PACKET_BARRIER_AND, 0, 0, 1);
    aql_ring(&s);
    qvkfd_wait_msi(q);
    g_assert_cmphex(peek(q, signal_at(&s, 9)), ==, AQL_ERROR_PACKET);
    g_assert_cmphex(peek(q, s.mem + MAILBOX), ==, 0x99);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, signal_at(&s, 1)), ==, 1);
    g_assert_cmphex(peek(q, s.u.rptr), ==, 0);
    qvkfd_queue_dequeue(&s.u, VKFD_DEQUEUE_RESET_WAVES);
}

static void register_vkfd_packet_test(void)
{
    qos_add_test("packet/copy-data", "vkfd", test_copy_data, NULL);
    qos_add_test("packet/dma-data", "vkfd", test_dma_data, NULL);
    qos_add_test("packet/atomic-mem", "vkfd", test_atomic_mem, NULL);
    qos_add_test("packet/atomic-mmio", "vkfd", test_atomic_mmio, NULL);
    qos_add_test("packet/cond-wait64", "vkfd", test_cond_wait64, NULL);
    qos_add_test("packet/dispatch", "vkfd", test_dispatch, NULL);
    qos_add_test("aql/completion", "vkfd", test_aql_completion, NULL);
    qos_add_test("aql/barrier", "vkfd", test_aql_barrier, NULL);
    qos_add_test("aql/invalid", "vkfd", test_aql_invalid, NULL);
    qos_add_test("aql/pm4-ib", "vkfd", test_aql_pm4_ib, NULL);
    qos_add_test("aql/error", "vkfd", test_aql_error, NULL);
}

libqos_init(register_vkfd_packet_test);
