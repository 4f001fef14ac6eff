/* SPDX-License-Identifier: MIT */
/* vkfd: queues from ring to memory; waiting, parking, dequeue and resume. */

#include "qemu/osdep.h"
#include "qemu/module.h"
#include "libqtest.h"
#include "libqos/vkfd.h"

/* A queue of VMID 8, loaded, and two pages of memory in that VMID. */
typedef struct Setup {
    QVkfdQueue u;
    uint64_t mem;       /* guest physical */
    uint64_t va;
} Setup;

static void setup(QVkfd *q, Setup *s)
{
    qvkfd_start(q);
    s->mem = qvkfd_alloc(q, 8, 8192);
    s->va = qvkfd_va(8, s->mem);
    qvkfd_queue_init(q, &s->u, 1, 2, 3, 8, 8);
    qvkfd_queue_load(&s->u);
}

static uint32_t peek(QVkfd *q, uint64_t gpa)
{
    return qtest_readl(qvkfd_qts(q), gpa);
}

static void poke(QVkfd *q, uint64_t gpa, uint32_t val)
{
    qtest_writel(qvkfd_qts(q), gpa, val);
}

static void test_nop(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    Setup s;
    uint64_t n;
    unsigned i;

    setup(q, &s);
    n = qvkfd_counter(q, VKFD_CNT_PACKET);
    /* The one-dword form, a padded one, then something that shows. */
    qvkfd_emit(&s.u, 3u << 30 | PM4_NOP_COUNT_ONE_DW << PM4_HEADER__COUNT__SHIFT
                     | IT_NOP << PM4_HEADER__OPCODE__SHIFT);
    qvkfd_emit(&s.u, PACKET3_COMPUTE(IT_NOP, 5));
    for (i = 0; i < 5; i++) {
        qvkfd_emit(&s.u, 0xffffffff);
    }
    qvkfd_emit_write(&s.u, s.va, 0x11);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 0x11);
    qvkfd_wait_mem(q, s.u.rptr, s.u.wptr);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_PACKET), ==, n + 3);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_PQ_RPTR), ==, s.u.wptr);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_PQ_DOORBELL_CONTROL) &
                    CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT_MASK, !=, 0);
}

/* Three times round a ring of 64 dwords; packets of 5 straddle its end. */
static void test_ring_wrap(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    Setup s;
    unsigned i;

    setup(q, &s);
    qvkfd_queue_dequeue(&s.u, VKFD_DEQUEUE_RESET_WAVES);
    qvkfd_queue_init(q, &s.u, 1, 2, 3, 8, 6);
    qvkfd_queue_load(&s.u);
    for (i = 0; i < 40; i++) {
        qvkfd_emit_write(&s.u, s.va + 4 * i, 0x100 + i);
        if (i % 8 == 7) {
            qvkfd_kick(&s.u);
            qvkfd_wait_mem(q, s.mem + 4 * i, 0x100 + i);
            qvkfd_wait_mem(q, s.u.rptr, s.u.wptr % s.u.size_dw);
        }
    }
    for (i = 0; i < 40; i++) {
        g_assert_cmphex(peek(q, s.mem + 4 * i), ==, 0x100 + i);
    }
    g_assert_cmpuint(s.u.wptr, >, 3 * s.u.size_dw);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_PQ_WPTR_LO), ==, s.u.wptr);
}

static void test_write_data(void *obj, void *data, QGuestAllocator *alloc)
{
    static const uint32_t val[] = { 1, 2, 3 };
    QVkfd *q = obj;
    Setup s;
    unsigned i;

    setup(q, &s);
    for (i = 0; i < 2; i++) {
        uint64_t va = s.va + 4096 - 8 + i * 0x100;

        qvkfd_emit(&s.u, PACKET3_COMPUTE(IT_WRITE_DATA, 6));
        qvkfd_emit(&s.u, WRITE_DATA_DST_MEM << WRITE_DATA__DST_SEL__SHIFT |
                         (i ? WRITE_DATA__ADDR_INCR_DISABLE : 0));
        qvkfd_emit(&s.u, va);
        qvkfd_emit(&s.u, va >> 32);
        qvkfd_emit_n(&s.u, val, 3);
    }
    qvkfd_emit_write(&s.u, s.va, 0x22);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 0x22);
    /* Three dwords across a page boundary; then three to one address. */
    for (i = 0; i < 3; i++) {
        g_assert_cmphex(peek(q, s.mem + 4096 - 8 + 4 * i), ==, 1 + i);
    }
    g_assert_cmphex(peek(q, s.mem + 4096 - 8 + 0x100), ==, 3);
    g_assert_cmphex(peek(q, s.mem + 4096 - 8 + 0x104), ==, 0);
}

/*
 * RELEASE_MEM end to end. Who was written last among two writes to one word
 * tells their order, so each step of the contract is aimed once at the word of
 * the next: data -> IH entry -> IH wptr -> MSI-X.
 */
static void test_release_mem(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t e[8], first_ts;
    Setup s;

    setup(q, &s);
    qtest_clock_step(qvkfd_qts(q), 1000);
    qvkfd_emit_release(&s.u, s.va, 0x1122334455667788ull,
                       RELEASE_MEM_INT_AFTER_WRITE, 0x77);
    qvkfd_kick(&s.u);
    qvkfd_wait_msi(q);
    g_assert_cmphex(qtest_readq(qvkfd_qts(q), s.mem), ==,
                    0x1122334455667788ull);
    g_assert_cmphex(peek(q, q->ih_wptr), ==, VKFD_IH_ENTRY_SIZE);
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_WPTR), ==, VKFD_IH_ENTRY_SIZE);
    qvkfd_ih_entry(q, 0, e);
    g_assert_cmphex(e[0], ==, SOC15_IH_CLIENTID_GRBM_CP |
                    GFX_9_0__SRCID__CP_EOP_INTERRUPT << 8 |
                    (1u << 2 | 2 | 3u << 4) << 16 | 8u << 24);
    g_assert_cmphex(e[3] & VKFD_IH_DW3__PASID_MASK, ==, QVKFD_PASID(8));
    g_assert_cmphex(e[4], ==, 0x77);
    g_assert_cmphex(e[5], ==, 0);
    first_ts = e[1];
    qvkfd_ih_set_rptr(q, VKFD_IH_ENTRY_SIZE);

    /* Data before entry: aim the data at the entry's context id. */
    qvkfd_map(q, 8, s.va, q->ih_ring, 1, AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM |
              AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE);
    qvkfd_flush(q, 8);
    qtest_clock_step(qvkfd_qts(q), 1000);
    qvkfd_emit_release(&s.u, s.va + VKFD_IH_ENTRY_SIZE + 16, 0xbadbad,
                       RELEASE_MEM_INT_AFTER_WRITE, 0x78);
    qvkfd_kick(&s.u);
    qvkfd_wait_msi(q);
    qvkfd_ih_entry(q, VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[4], ==, 0x78);
    g_assert_cmphex(e[1], ==, first_ts + 100);
    qvkfd_ih_set_rptr(q, 2 * VKFD_IH_ENTRY_SIZE);

    /* Entry before write-back: aim the wptr at the entry's context id. */
    qvkfd_wr_check(q, mmIH_RB_WPTR_ADDR_LO,
                   q->ih_ring + 2 * VKFD_IH_ENTRY_SIZE + 16);
    qvkfd_emit_release(&s.u, qvkfd_va(8, s.mem + 4096), 1,
                       RELEASE_MEM_INT_AFTER_WRITE, 0x79);
    qvkfd_kick(&s.u);
    qvkfd_wait_msi(q);
    qvkfd_ih_entry(q, 2 * VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[4], ==, 3 * VKFD_IH_ENTRY_SIZE);
    qvkfd_ih_set_rptr(q, 3 * VKFD_IH_ENTRY_SIZE);

    /* Write-back before MSI-X: aim it at the word of the message. */
    qvkfd_wr_check(q, mmIH_RB_WPTR_ADDR_LO, q->msi);
    qvkfd_emit_release(&s.u, qvkfd_va(8, s.mem + 4096), 2,
                       RELEASE_MEM_INT_AFTER_WRITE, 0x7a);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 4096, 2);
    qvkfd_wait_msi(q);
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_WPTR), ==, 4 * VKFD_IH_ENTRY_SIZE);
}

static void test_release_mem_select(void *obj, void *data,
                                    QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t entries;
    uint32_t dw[8];
    Setup s;

    setup(q, &s);
    qtest_memset(qvkfd_qts(q), s.mem, 0xff, 64);
    entries = qvkfd_counter(q, VKFD_CNT_IH_ENTRY);
    qtest_clock_step(qvkfd_qts(q), 5000);
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_release(dw, s.va, 0x1234567800000001ull,
                 RELEASE_MEM_DATA_32, RELEASE_MEM_INT_NONE, 1));
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_release(dw, s.va + 8, 5,
                 RELEASE_MEM_DATA_NONE, RELEASE_MEM_INT_WRITE_CONFIRM, 2));
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_release(dw, s.va + 16, 5,
                 RELEASE_MEM_DATA_GPU_CLOCK, RELEASE_MEM_INT_NONE, 3));
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_release(dw, s.va + 24, 5,
                 RELEASE_MEM_DATA_64, RELEASE_MEM_INT_ONLY, 4));
    qvkfd_emit_write(&s.u, s.va + 4096, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 4096, 1);
    g_assert_cmphex(qtest_readq(qvkfd_qts(q), s.mem), ==,
                    0xffffffff00000001ull);
    g_assert_cmphex(qtest_readq(qvkfd_qts(q), s.mem + 8), ==, ~0ull);
    qvkfd_wr(q, mmRLC_CAPTURE_GPU_CLOCK_COUNT, 1);
    g_assert_cmphex(peek(q, s.mem + 16), ==,
                    qvkfd_rd(q, mmRLC_GPU_CLOCK_COUNT_LSB));
    /* One of the four asked for an interrupt. */
    qvkfd_wait_counter(q, VKFD_CNT_IH_ENTRY, entries + 1);
}

static void test_two_queues(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QVkfdQueue other;
    uint64_t other_mem;
    uint32_t e[8];
    Setup s;

    setup(q, &s);
    qvkfd_queue_init(q, &other, 2, 1, 0, 9, 8);
    qvkfd_queue_load(&other);
    other_mem = qvkfd_alloc(q, 9, 64);
    qvkfd_emit_release(&s.u, s.va, 1, RELEASE_MEM_INT_AFTER_WRITE, 1);
    qvkfd_emit_release(&other, qvkfd_va(9, other_mem), 2,
                       RELEASE_MEM_INT_AFTER_WRITE, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    qvkfd_kick(&other);
    qvkfd_wait_mem(q, other_mem, 2);
    qvkfd_wait_mem(q, q->ih_wptr, 2 * VKFD_IH_ENTRY_SIZE);
    qvkfd_ih_entry(q, VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[0] >> 24, ==, 9);
    g_assert_cmphex(e[0] >> 16 & 0xff, ==, 2u << 2 | 1);
    g_assert_cmphex(e[3] & 0xffff, ==, QVKFD_PASID(9));
}

static void test_indirect(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t ib[16], dw[4];
    uint64_t ib_mem;
    unsigned n;
    Setup s;

    setup(q, &s);
    ib_mem = qvkfd_alloc(q, 8, 4096);
    n = qvkfd_pm4_write(ib, s.va, 0x31);
    n += qvkfd_pm4_write(ib + n, s.va + 4, 0x32);
    qtest_memwrite(qvkfd_qts(q), ib_mem, ib, 4 * n);
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_ib(dw, qvkfd_va(8, ib_mem), n, 8));
    qvkfd_emit_write(&s.u, s.va + 8, 0x33);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 8, 0x33);
    g_assert_cmphex(peek(q, s.mem), ==, 0x31);
    g_assert_cmphex(peek(q, s.mem + 4), ==, 0x32);
}

/* Only a timer can see a store by the CPU. */
static void test_wait_cpu(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t parked;
    Setup s;

    setup(q, &s);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_emit_wait(&s.u, s.va + 64, 0x55);
    qvkfd_emit_write(&s.u, s.va + 4, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    /* A queue that waits holds up nobody, and itself moves not a packet. */
    qvkfd_settle(q);
    qtest_clock_step(qvkfd_qts(q), 3000000);
    g_assert_cmphex(peek(q, s.mem + 4), ==, 0);
    /* Nobody spins: while the clock stands still the store is not seen. */
    poke(q, s.mem + 64, 0x55);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem + 4), ==, 0);
    qvkfd_wait_mem_clock(q, s.mem + 4, 2);
}

/* Another queue's store needs no timer: the virtual clock stands still. */
static void test_wait_queue(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QVkfdQueue other;
    uint64_t parked;
    Setup s;

    setup(q, &s);
    qvkfd_queue_init(q, &other, 1, 0, 0, 8, 8);
    qvkfd_queue_load(&other);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    qvkfd_emit_wait(&s.u, s.va + 64, 0x56);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qvkfd_emit_write(&other, s.va + 64, 0x56);
    qvkfd_kick(&other);
    qvkfd_wait_mem(q, s.mem, 1);
}

/*
 * Dequeue finds the queue at its wait and leaves it there; what was done before
 * is not done again after the resume.
 */
static void test_dequeue_parked(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t parked;
    uint32_t at;
    Setup s;

    setup(q, &s);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    qvkfd_emit_write(&s.u, s.va, 1);
    at = s.u.wptr;
    qvkfd_emit_wait(&s.u, s.va + 64, 0x57);
    qvkfd_emit_write(&s.u, s.va + 4, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qvkfd_queue_dequeue(&s.u, VKFD_DEQUEUE_DRAIN);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_PQ_RPTR), ==, at);

    poke(q, s.mem, 0);
    poke(q, s.mem + 64, 0x57);
    qtest_clock_step(qvkfd_qts(q), 3000000);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem + 4), ==, 0);

    qvkfd_queue_activate(&s.u);
    qvkfd_wait_mem(q, s.mem + 4, 2);
    g_assert_cmphex(peek(q, s.mem), ==, 0);
}

static void test_dequeue_parked_ib(void *obj, void *data,
                                   QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t ib[32], dw[4];
    uint64_t parked, ib_mem;
    unsigned n, at;
    Setup s;

    setup(q, &s);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    ib_mem = qvkfd_alloc(q, 8, 4096);
    n = qvkfd_pm4_write(ib, s.va, 1);
    at = n;
    n += qvkfd_pm4_wait(ib + n, s.va + 64, 0x58, WAIT_REG_MEM_EQ);
    n += qvkfd_pm4_write(ib + n, s.va + 4, 2);
    qtest_memwrite(qvkfd_qts(q), ib_mem, ib, 4 * n);
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_ib(dw, qvkfd_va(8, ib_mem), n, 8));
    qvkfd_emit_write(&s.u, s.va + 8, 3);
    qvkfd_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qvkfd_queue_dequeue(&s.u, VKFD_DEQUEUE_RESET_WAVES);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_IB_RPTR) &
                    CP_HQD_IB_RPTR__CONSUMED_OFFSET_MASK, ==, at);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_IB_BASE_ADDR), ==,
                    (uint32_t)qvkfd_va(8, ib_mem));

    poke(q, s.mem, 0);
    poke(q, s.mem + 64, 0x58);
    qvkfd_queue_activate(&s.u);
    qvkfd_wait_mem(q, s.mem + 8, 3);
    g_assert_cmphex(peek(q, s.mem + 4), ==, 2);
    g_assert_cmphex(peek(q, s.mem), ==, 0);
}

/*
 * Translations are cached, for their own page only, until they are invalidated:
 * a driver that forgets the flush must see the old page.
 */
static void test_tlb(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t rw = AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM | AMDGPU_PTE_READABLE |
                  AMDGPU_PTE_WRITEABLE;
    uint64_t va = 0x7000000000ull;
    unsigned i;
    Setup s;

    setup(q, &s);
    /* Powers of two apart, so that any way to index a cache is hit. */
    for (i = 0; i < 24; i++) {
        qvkfd_map(q, 8, va + (0x1000ull << i), s.mem, 1, rw);
        if (i & 1) {
            qvkfd_map(q, 8, va + (0x1000ull << i), s.mem + 4096, 1, rw);
        }
    }
    qvkfd_flush(q, 8);
    for (i = 0; i < 24; i++) {
        qvkfd_emit_write(&s.u, va + (0x1000ull << i) + 4 * i, 0x40 + i);
    }
    qvkfd_emit_write(&s.u, s.va + 1024, 1);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 1024, 1);
    for (i = 0; i < 24; i++) {
        g_assert_cmphex(peek(q, s.mem + (i & 1) * 4096 + 4 * i), ==, 0x40 + i);
    }

    qvkfd_map(q, 8, s.va, s.mem + 4096, 1, rw);
    qvkfd_emit_write(&s.u, s.va + 1028, 2);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 1028, 2);
    qvkfd_flush(q, 9);
    qvkfd_emit_write(&s.u, s.va + 1032, 3);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 1032, 3);
    qvkfd_flush(q, 8);
    qvkfd_emit_write(&s.u, s.va + 1036, 4);
    qvkfd_kick(&s.u);
    qvkfd_wait_mem(q, s.mem + 4096 + 1036, 4);
    g_assert_cmphex(peek(q, s.mem + 1036), ==, 0);
}

/* A doorbell while the queue has no HQD is lost; memory has the wptr. */
static void test_activate_reads_wptr(void *obj, void *data,
                                     QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t dropped;
    Setup s;

    setup(q, &s);
    qvkfd_queue_dequeue(&s.u, VKFD_DEQUEUE_DRAIN);
    dropped = qvkfd_counter(q, VKFD_CNT_DOORBELL_DROPPED);
    qvkfd_emit_write(&s.u, s.va, 9);
    qvkfd_kick(&s.u);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DOORBELL_DROPPED), ==,
                     dropped + 1);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem), ==, 0);
    qvkfd_queue_activate(&s.u);
    qvkfd_wait_mem(q, s.mem, 9);
}

static void test_halt(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QVkfdQueue other;
    Setup s;

    setup(q, &s);
    qvkfd_queue_init(q, &other, 2, 0, 0, 8, 8);
    qvkfd_queue_load(&other);
    qvkfd_wr_check(q, mmCP_MEC_CNTL, CP_MEC_CNTL__MEC_ME1_HALT_MASK);
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    qvkfd_emit_write(&other, s.va + 4, 2);
    qvkfd_kick(&other);
    qvkfd_wait_mem(q, s.mem + 4, 2);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, s.mem), ==, 0);
    qvkfd_wr_check(q, mmCP_MEC_CNTL, 0);
    qvkfd_wait_mem(q, s.mem, 1);
}

/* A queue with endless work does not starve another. */
static void test_endless_ib(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t ib[8], dw[4];
    uint64_t ib_mem;
    QVkfdQueue other;
    unsigned n;
    Setup s;

    setup(q, &s);
    qvkfd_queue_init(q, &other, 1, 0, 0, 8, 8);
    qvkfd_queue_load(&other);
    ib_mem = qvkfd_alloc(q, 8, 4096);
    n = qvkfd_pm4_ib(ib, qvkfd_va(8, ib_mem), 4, 8);
    ib[3] |= INDIRECT_BUFFER__CHAIN;
    qtest_memwrite(qvkfd_qts(q), ib_mem, ib, 4 * n);
    qvkfd_emit_n(&s.u, dw, qvkfd_pm4_ib(dw, qvkfd_va(8, ib_mem), n, 8));
    qvkfd_kick(&s.u);
    qvkfd_emit_write(&other, s.va, 1);
    qvkfd_kick(&other);
    qvkfd_wait_mem(q, s.mem, 1);
    qvkfd_queue_dequeue(&s.u, VKFD_DEQUEUE_RESET_WAVES);
}

static void register_vkfd_queue_test(void)
{
    qos_add_test("queue/nop", "vkfd", test_nop, NULL);
    qos_add_test("queue/ring-wrap", "vkfd", test_ring_wrap, NULL);
    qos_add_test("queue/write-data", "vkfd", test_write_data, NULL);
    qos_add_test("queue/release-mem", "vkfd", test_release_mem, NULL);
    qos_add_test("queue/release-mem-select", "vkfd", test_release_mem_select,
                 NULL);
    qos_add_test("queue/two-queues", "vkfd", test_two_queues, NULL);
    qos_add_test("queue/indirect", "vkfd", test_indirect, NULL);
    qos_add_test("queue/wait-cpu", "vkfd", test_wait_cpu, NULL);
    qos_add_test("queue/wait-queue", "vkfd", test_wait_queue, NULL);
    qos_add_test("queue/dequeue-parked", "vkfd", test_dequeue_parked, NULL);
    qos_add_test("queue/dequeue-parked-ib", "vkfd", test_dequeue_parked_ib,
                 NULL);
    qos_add_test("queue/activate-reads-wptr", "vkfd", test_activate_reads_wptr,
                 NULL);
    qos_add_test("queue/tlb", "vkfd", test_tlb, NULL);
    qos_add_test("queue/halt", "vkfd", test_halt, NULL);
    qos_add_test("queue/endless-ib", "vkfd", test_endless_ib, NULL);
}

libqos_init(register_vkfd_queue_test);
