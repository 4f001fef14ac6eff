/* SPDX-License-Identifier: MIT */
/* vkfd: what guests do wrong. The queue at fault stops, the others go on. */

#include "qemu/osdep.h"
#include "qemu/module.h"
#include "libqtest.h"
#include "libqos/vkfd.h"

#define UNMAPPED_VA     0x7123456000ull

typedef struct Setup {
    QVkfdQueue bad, good;       /* VMID 8 and 9 */
    uint64_t mem8, va8, mem9, va9;
} Setup;

static void setup(QVkfd *q, Setup *s)
{
    qvkfd_start(q);
    s->mem8 = qvkfd_alloc(q, 8, 4096);
    s->va8 = qvkfd_va(8, s->mem8);
    s->mem9 = qvkfd_alloc(q, 9, 4096);
    s->va9 = qvkfd_va(9, s->mem9);
    qvkfd_queue_init(q, &s->bad, 1, 1, 5, 8, 8);
    qvkfd_queue_load(&s->bad);
    qvkfd_queue_init(q, &s->good, 1, 1, 6, 9, 8);
    qvkfd_queue_load(&s->good);
}

/*
 * The bad queue was kicked with something wrong after a write of 1 to mem8 and
 * before one of 2 to mem8 + 4: the first happens, the second never, not even on
 * another doorbell. The good queue works. Returns the interrupt entry.
 */
static void check_stopped(QVkfd *q, Setup *s, uint32_t e[8])
{
    qvkfd_wait_mem(q, s->mem8, 1);
    qvkfd_wait_msi(q);
    qvkfd_ih_entry(q, 0, e);
    qvkfd_emit_write(&s->good, s->va9, 3);
    qvkfd_kick(&s->good);
    qvkfd_wait_mem(q, s->mem9, 3);

    qvkfd_emit_write(&s->bad, s->va8 + 4, 2);
    qvkfd_kick(&s->bad);
    qtest_clock_step(qvkfd_qts(q), 3000000);
    qvkfd_settle(q);
    g_assert_cmphex(qtest_readl(qvkfd_qts(q), s->mem8 + 4), ==, 0);
    g_assert_cmphex(qvkfd_hqd_rd(&s->bad, mmCP_HQD_ACTIVE) & 1, ==, 1);

    /* One interrupt for one fault, and the driver can take the queue away. */
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_WPTR), ==, VKFD_IH_ENTRY_SIZE);
    qvkfd_queue_dequeue(&s->bad, VKFD_DEQUEUE_RESET_WAVES);
    qvkfd_queue_load(&s->bad);
    qvkfd_emit_write(&s->bad, s->va8 + 8, 4);
    qvkfd_kick(&s->bad);
    qvkfd_wait_mem(q, s->mem8 + 8, 4);
}

static void vm_fault(QVkfd *q, uint64_t va, bool mapped,
                     bool read)
{
    uint32_t e[8], dw[8], status;
    uint64_t faults;
    Setup s;

    setup(q, &s);
    if (mapped) {
        qvkfd_map(q, 8, va, s.mem8, 1, AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM |
                  AMDGPU_PTE_READABLE);
        qvkfd_flush(q, 8);
    }
    faults = qvkfd_counter(q, VKFD_CNT_VM_FAULT);
    qvkfd_emit_write(&s.bad, s.va8, 1);
    if (read) {
        qvkfd_emit_n(&s.bad, dw, qvkfd_pm4_ib(dw, va, 16, 8));
    } else {
        qvkfd_emit_write(&s.bad, va, 0xbad);
    }
    qvkfd_emit_write(&s.bad, s.va8 + 4, 2);
    qvkfd_kick(&s.bad);
    qvkfd_wait_counter(q, VKFD_CNT_VM_FAULT, faults + 1);
    status = qvkfd_rd(q, mmVM_L2_PROTECTION_FAULT_STATUS);
    g_assert_cmphex((status & VM_L2_PROTECTION_FAULT_STATUS__VMID_MASK) >>
                    VM_L2_PROTECTION_FAULT_STATUS__VMID__SHIFT, ==, 8);
    g_assert_cmphex(!!(status & VM_L2_PROTECTION_FAULT_STATUS__RW_MASK), ==,
                    !read);
    g_assert_cmphex(
        !!(status & VM_L2_PROTECTION_FAULT_STATUS__PERMISSION_FAULTS_MASK), ==,
        true);
    g_assert_cmphex(qvkfd_rd(q, mmVM_L2_PROTECTION_FAULT_ADDR_LO32), ==,
                    (uint32_t)(va >> 12));
    g_assert_cmphex(qvkfd_rd(q, mmVM_L2_PROTECTION_FAULT_ADDR_HI32), ==,
                    va >> 44);

    check_stopped(q, &s, e);
    g_assert_cmphex(e[0] & 0xffff, ==, SOC15_IH_CLIENTID_UTCL2 |
                    VMC_1_0__SRCID__VM_FAULT << 8);
    g_assert_cmphex(e[0] >> 24, ==, 8);
    g_assert_cmphex(e[3] & 0xffff, ==, QVKFD_PASID(8));
    g_assert_cmphex(e[4], ==, (uint32_t)(va >> 12));
    g_assert_cmphex(e[5] & VKFD_IH_FAULT_CTX1__VA_47_44_MASK, ==, va >> 44);
    g_assert_cmphex(!!(e[5] & VKFD_IH_FAULT_CTX1__WRITE_MASK), ==, !read);
    g_assert_cmphex(e[5] & VKFD_IH_FAULT_CTX1__RETRY_MASK, ==, 0);

    /* The status stands until it is cleared. */
    g_assert_cmphex(qvkfd_rd(q, mmVM_L2_PROTECTION_FAULT_STATUS), ==, status);
    qvkfd_wr(q, mmVM_L2_PROTECTION_FAULT_CNTL, 1);
    g_assert_cmphex(qvkfd_rd(q, mmVM_L2_PROTECTION_FAULT_STATUS), ==, 0);
}

static void test_vm_write(void *obj, void *data, QGuestAllocator *alloc)
{
    vm_fault(obj, UNMAPPED_VA, false, false);
}

static void test_vm_read(void *obj, void *data, QGuestAllocator *alloc)
{
    vm_fault(obj, UNMAPPED_VA, false, true);
}

static void test_vm_read_only(void *obj, void *data, QGuestAllocator *alloc)
{
    vm_fault(obj, UNMAPPED_VA, true, false);
}

static void bad_packet(QVkfd *q, const uint32_t *dw, unsigned n)
{
    uint32_t e[8];
    uint64_t bad;
    Setup s;

    setup(q, &s);
    bad = qvkfd_counter(q, VKFD_CNT_PACKET_BAD);
    qvkfd_emit_write(&s.bad, s.va8, 1);
    qvkfd_emit_n(&s.bad, dw, n);
    qvkfd_emit_write(&s.bad, s.va8 + 4, 2);
    qvkfd_kick(&s.bad);
    qvkfd_wait_counter(q, VKFD_CNT_PACKET_BAD, bad + 1);
    check_stopped(q, &s, e);
    g_assert_cmphex(e[0], ==, SOC15_IH_CLIENTID_GRBM_CP |
                    GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR << 8 |
                    (1u << 2 | 1 | 5u << 4) << 16 | 8u << 24);
    g_assert_cmphex(e[3] & 0xffff, ==, QVKFD_PASID(8));
    g_assert_cmphex(e[4] & VKFD_CP_BAD_OP__DOORBELL_MASK, ==,
                    s.bad.doorbell_dw / 2 & VKFD_CP_BAD_OP__DOORBELL_MASK);
}

static void test_bad_opcode(void *obj, void *data, QGuestAllocator *alloc)
{
    const uint32_t dw[] = { PACKET3_COMPUTE(0xff, 1), 0 };

    bad_packet(obj, dw, 2);
}

static void test_bad_length(void *obj, void *data, QGuestAllocator *alloc)
{
    const uint32_t dw[] = { PACKET3_COMPUTE(IT_RELEASE_MEM, 2), 0, 0 };

    bad_packet(obj, dw, 3);
}

static void test_bad_type(void *obj, void *data, QGuestAllocator *alloc)
{
    const uint32_t dw[] = { 0 };

    bad_packet(obj, dw, 1);
}

/* A user's queue must not program the page tables of the device. */
static void test_privileged(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t before, e[8];
    Setup s;

    setup(q, &s);
    before = qvkfd_rd(q, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32);
    qvkfd_emit_write(&s.bad, s.va8, 1);
    qvkfd_emit(&s.bad, PACKET3_COMPUTE(IT_WRITE_DATA, 4));
    qvkfd_emit(&s.bad, WRITE_DATA_DST_REG << WRITE_DATA__DST_SEL__SHIFT);
    qvkfd_emit(&s.bad, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32);
    qvkfd_emit(&s.bad, 0);
    qvkfd_emit(&s.bad, ~before);
    qvkfd_emit_write(&s.bad, s.va8 + 4, 2);
    qvkfd_kick(&s.bad);
    check_stopped(q, &s, e);
    g_assert_cmphex(e[0] & 0xffff, ==, SOC15_IH_CLIENTID_GRBM_CP |
                    GFX_9_0__SRCID__CP_PRIV_REG_FAULT << 8);
    g_assert_cmphex(qvkfd_rd(q, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32), ==,
                    before);
}

/* Pages mapped to registers, of another device or our own: refused, a fault. */
static void dma_to_mmio(QVkfd *q, uint64_t reg)
{
    QTestState *qts = qvkfd_qts(q);
    uint64_t refused;
    uint32_t e[8], before;
    Setup s;

    setup(q, &s);
    before = qtest_readl(qts, reg);
    refused = qvkfd_counter(q, VKFD_CNT_DMA_REFUSED);
    qvkfd_map(q, 8, UNMAPPED_VA, reg & ~0xfffull, 1,
              AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM | AMDGPU_PTE_READABLE |
              AMDGPU_PTE_WRITEABLE);
    qvkfd_flush(q, 8);
    qvkfd_emit_write(&s.bad, s.va8, 1);
    qvkfd_emit_write(&s.bad, UNMAPPED_VA + (reg & 0xfff), before ^ 1);
    qvkfd_emit_write(&s.bad, s.va8 + 4, 2);
    qvkfd_kick(&s.bad);
    qvkfd_wait_counter(q, VKFD_CNT_DMA_REFUSED, refused + 1);
    check_stopped(q, &s, e);
    g_assert_cmphex(e[0] & 0xff, ==, SOC15_IH_CLIENTID_UTCL2);
    g_assert_cmphex(qtest_readl(qts, reg), ==, before);
    /* The CPU can do it: it was the device that was refused. */
    qtest_writel(qts, reg, before ^ 1);
    g_assert_cmphex(qtest_readl(qts, reg), ==, before ^ 1);
    qtest_writel(qts, reg, before);
}

static void test_dma_to_mmio(void *obj, void *data, QGuestAllocator *alloc)
{
    /* Command register of the HPET: bit 0 starts it. */
    dma_to_mmio(obj, 0xfed00010);
}

static void test_dma_to_own_mmio(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;

    dma_to_mmio(q, q->mmio.addr + mmSCRATCH_REG0 * 4);
}

/* System addresses inside our own BARs: VRAM, and another queue's doorbell. */
static void test_dma_to_own_bars(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t rw = AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM | AMDGPU_PTE_READABLE |
                  AMDGPU_PTE_WRITEABLE;
    uint64_t vram_off = 8 * 1024 * 1024;
    uint64_t db, db_off;
    uint32_t dw[8];
    Setup s;

    setup(q, &s);
    db_off = s.good.doorbell_dw * 4;
    db = q->doorbell.addr + (db_off & ~0xfffull);
    qvkfd_map(q, 8, UNMAPPED_VA, q->vram.addr + vram_off, 1, rw);
    qvkfd_map(q, 8, UNMAPPED_VA + 0x1000, db, 1, rw);
    qvkfd_flush(q, 8);

    qvkfd_emit_write(&s.good, s.va9, 7);
    qtest_writeq(qvkfd_qts(q), s.good.wptr_mem, s.good.wptr);
    qvkfd_emit_write(&s.bad, UNMAPPED_VA + 16, 0x1234);
    qvkfd_emit_n(&s.bad, dw, qvkfd_pm4_release(dw,
                 UNMAPPED_VA + 0x1000 + (db_off & 0xfff), s.good.wptr,
                 RELEASE_MEM_DATA_64, RELEASE_MEM_INT_NONE, 0));
    qvkfd_kick(&s.bad);
    qvkfd_wait_mem(q, s.mem9, 7);
    g_assert_cmphex(qpci_io_readl(&q->dev, q->vram, vram_off + 16), ==, 0x1234);
}

/* Opcodes of the part that are not modelled: stepped over, and reported. */
static void test_skipped(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t skipped;
    Setup s;

    setup(q, &s);
    skipped = qvkfd_counter(q, VKFD_CNT_PACKET_SKIPPED);
    qvkfd_emit(&s.bad, PACKET3_COMPUTE(IT_CLEAR_STATE, 1));
    qvkfd_emit(&s.bad, 0);
    qvkfd_emit_write(&s.bad, s.va8, 1);
    qvkfd_kick(&s.bad);
    qvkfd_wait_mem(q, s.mem8, 1);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_PACKET_SKIPPED), ==,
                     skipped + 1);
}

static void register_vkfd_fault_test(void)
{
    qos_add_test("fault/vm-write", "vkfd", test_vm_write, NULL);
    qos_add_test("fault/vm-read", "vkfd", test_vm_read, NULL);
    qos_add_test("fault/vm-read-only", "vkfd", test_vm_read_only, NULL);
    qos_add_test("fault/bad-opcode", "vkfd", test_bad_opcode, NULL);
    qos_add_test("fault/bad-length", "vkfd", test_bad_length, NULL);
    qos_add_test("fault/bad-type", "vkfd", test_bad_type, NULL);
    qos_add_test("fault/privileged", "vkfd", test_privileged, NULL);
    qos_add_test("fault/dma-to-mmio", "vkfd", test_dma_to_mmio, NULL);
    qos_add_test("fault/dma-to-own-mmio", "vkfd", test_dma_to_own_mmio, NULL);
    qos_add_test("fault/dma-to-own-bars", "vkfd", test_dma_to_own_bars, NULL);
    qos_add_test("fault/skipped", "vkfd", test_skipped, NULL);
}

libqos_init(register_vkfd_fault_test);
