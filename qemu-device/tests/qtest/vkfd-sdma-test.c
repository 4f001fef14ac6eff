/* SPDX-License-Identifier: MIT */
/* vkfd: SDMA queues through the PCI device: data, fence, trap; atomics; waiting. */

#include "qemu/osdep.h"
#include "qemu/module.h"
#include "libqtest.h"
#include "libqos/vkfd.h"

#define LEN     20000

/* A queue of VMID 8 on engine 1, loaded, and memory in that VMID. */
typedef struct Setup {
    QVkfdSdma u;
    uint64_t mem;       /* guest physical; 16 pages */
    uint64_t va;
} Setup;

static void setup(QVkfd *q, Setup *s)
{
    qvkfd_start(q);
    qvkfd_sdma_start(q);
    s->mem = qvkfd_alloc(q, 8, 16 * 4096);
    s->va = qvkfd_va(8, s->mem);
    qvkfd_sdma_init(q, &s->u, 1, 3, 8, 8);
    qvkfd_sdma_load(&s->u);
}

#define EMIT(s, ...) do { \
        const uint32_t emit_[] = { __VA_ARGS__ }; \
        qvkfd_sdma_emit(&(s)->u, emit_, ARRAY_SIZE(emit_)); \
    } while (0)
#define LO(va)          ((uint32_t)(va))
#define HI(va)          ((uint32_t)((va) >> 32))

static void emit_fence(Setup *s, uint32_t off, uint32_t val)
{
    EMIT(s, SDMA_OP_FENCE, LO(s->va + off), HI(s->va + off), val);
}

/*
 * A copy, its completion value, the event slot, the interrupt: what ROCr puts
 * behind each copy. Data is right when the message is there.
 */
static void test_copy(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    g_autofree uint8_t *src = g_malloc(LEN), *dst = g_malloc(LEN);
    uint64_t refused, packets;
    uint32_t e[8];
    unsigned i;
    Setup s;

    setup(q, &s);
    for (i = 0; i < LEN; i++) {
        src[i] = i * 7 + (i >> 8);
    }
    qtest_memwrite(qvkfd_qts(q), s.mem + 64, src, LEN);
    qtest_writeq(qvkfd_qts(q), s.mem, 1);
    packets = qvkfd_counter(q, VKFD_CNT_PACKET);
    refused = qvkfd_counter(q, VKFD_CNT_DMA_REFUSED);
    EMIT(&s, SDMA_OP_COPY, LEN - 1, 0, LO(s.va + 64), HI(s.va),
         LO(s.va + 0x8003), HI(s.va));
    EMIT(&s, SDMA_OP_ATOMIC | (uint32_t)SDMA_ATOMIC_ADD64 << 25, LO(s.va), HI(s.va),
         0xffffffff, 0xffffffff, 0, 0, 0);
    emit_fence(&s, 8, 0x123);
    EMIT(&s, SDMA_OP_TRAP, 0x123);
    qvkfd_sdma_kick(&s.u);
    qvkfd_wait_msi(q);
    qtest_memread(qvkfd_qts(q), s.mem + 0x8003, dst, LEN);
    g_assert_cmpmem(dst, LEN, src, LEN);
    g_assert_cmphex(qtest_readq(qvkfd_qts(q), s.mem), ==, 0);
    g_assert_cmphex(qtest_readl(qvkfd_qts(q), s.mem + 8), ==, 0x123);
    qvkfd_ih_entry(q, 0, e);
    g_assert_cmphex(e[0], ==, SOC15_IH_CLIENTID_SDMA1 |
                    SDMA0_4_0__SRCID__SDMA_TRAP << 8 |
                    VKFD_SDMA_RING_ID_RLC << 16 | 8u << 24 |
                    VKFD_IH_DW0__VMID_TYPE_MASK);
    g_assert_cmphex(e[3] & VKFD_IH_DW3__PASID_MASK, ==, QVKFD_PASID(8));
    g_assert_cmphex(e[4], ==, 0x123);
    /* 64 bits, in bytes, not wrapped */
    qvkfd_wait_mem(q, s.u.rptr, s.u.wptr);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_PACKET), ==, packets + 4);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DMA_REFUSED), ==, refused);
    qvkfd_sdma_destroy(&s.u);
    emit_fence(&s, 8, 0x456);
    qvkfd_sdma_kick(&s.u);
    qvkfd_settle(q);
    g_assert_cmphex(qtest_readl(qvkfd_qts(q), s.mem + 8), ==, 0x123);
}

/* 32 and 64 bits in RAM and VRAM; what is no RAM is refused. */
static void test_atomic(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t vram_va = 0x500000000ull, off = q->vram_size - 4096, refused;
    Setup s;

    setup(q, &s);
    qvkfd_map(q, 8, vram_va, off, 1, AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE |
              AMDGPU_PTE_WRITEABLE);
    /* the page of our own registers: MMIO */
    qvkfd_map(q, 8, vram_va + 4096, q->mmio.addr, 1, AMDGPU_PTE_VALID |
              AMDGPU_PTE_SYSTEM | AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE);
    qvkfd_flush(q, 8);
    qtest_writeq(qvkfd_qts(q), s.mem + 4096 - 8, 0xffffffffull);
    qpci_io_writeq(&q->dev, q->vram, off, 0xffffffffull);
    EMIT(&s, SDMA_OP_ATOMIC | 0x2fu << 25, LO(s.va + 4096 - 8), HI(s.va), 1, 0, 0, 0, 0);
    EMIT(&s, SDMA_OP_ATOMIC | 0x4fu << 25, LO(vram_va), HI(vram_va), 2, 0, 0, 0, 0);
    EMIT(&s, SDMA_OP_ATOMIC | 0x28u << 25, LO(s.va + 4096 - 8), HI(s.va), 7, 0, 0, 1, 0);
    emit_fence(&s, 0, 1);
    qvkfd_sdma_kick(&s.u);
    qvkfd_wait_mem(q, s.mem, 1);
    g_assert_cmphex(qtest_readq(qvkfd_qts(q), s.mem + 4096 - 8), ==, 7);
    g_assert_cmphex(qpci_io_readq(&q->dev, q->vram, off), ==, 1);
    refused = qvkfd_counter(q, VKFD_CNT_DMA_REFUSED);
    EMIT(&s, SDMA_OP_ATOMIC | 0x2fu << 25, LO(vram_va + 4096), HI(vram_va), 1, 0, 0, 0, 0);
    qvkfd_sdma_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_DMA_REFUSED, refused + 1);
    qvkfd_settle(q);
    g_assert_cmphex(qvkfd_sdma_rd(&s.u, mmSDMA0_GFX_CONTEXT_STATUS) &
                    SDMA0_GFX_CONTEXT_STATUS__IDLE_MASK, ==, 0);
}

/* A wait for the CPU's store; nothing else of the device is held up by it. */
static void test_wait_cpu(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t parked;
    Setup s;

    setup(q, &s);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    EMIT(&s, SDMA_OP_POLL_REGMEM | 3u << 28 | 1u << 31, LO(s.va), HI(s.va), 0x77, 0xff,
         SDMA_POLL_REGMEM_RETRY_FOREVER << 16 | 10);
    emit_fence(&s, 16, 1);
    qvkfd_sdma_kick(&s.u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    qvkfd_settle(q);
    g_assert_cmphex(qtest_readl(qvkfd_qts(q), s.mem + 16), ==, 0);
    qtest_writel(qvkfd_qts(q), s.mem, 0x1177);
    qvkfd_wait_mem_clock(q, s.mem + 16, 1);
}

static void register_vkfd_sdma_test(void)
{
    qos_add_test("sdma/copy-fence-trap", "vkfd", test_copy, NULL);
    qos_add_test("sdma/atomic", "vkfd", test_atomic, NULL);
    qos_add_test("sdma/wait-cpu", "vkfd", test_wait_cpu, NULL);
}

libqos_init(register_vkfd_sdma_test);
