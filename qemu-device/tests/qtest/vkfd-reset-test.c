/* SPDX-License-Identifier: MIT */
/* vkfd: reset and migration in the middle of work. */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "libqtest.h"
#include "hw/pci/pci_regs.h"
#include "libqos/pci-pc.h"
#include "libqos/malloc-pc.h"
#include "libqos/vkfd.h"

typedef struct Work {
    QVkfdQueue waiting, endless;
    uint64_t mem, va;
} Work;

static uint32_t peek(QVkfd *q, uint64_t gpa)
{
    return qtest_readl(qvkfd_qts(q), gpa);
}

/*
 * One queue parked in a wait, in an IB; one in an endless loop of IBs; an
 * interrupt pending behind the masked vector.
 */
static void start_work(QVkfd *q, Work *w)
{
    uint32_t ib[32], dw[4];
    uint64_t parked, ib_mem;
    unsigned n;

    qvkfd_start(q);
    w->mem = qvkfd_alloc(q, 8, 4096);
    w->va = qvkfd_va(8, w->mem);
    ib_mem = qvkfd_alloc(q, 8, 8192);
    qvkfd_queue_init(q, &w->waiting, 1, 0, 0, 8, 8);
    qvkfd_queue_load(&w->waiting);
    qvkfd_queue_init(q, &w->endless, 2, 0, 1, 8, 8);
    qvkfd_queue_load(&w->endless);

    qvkfd_msix_mask(q, true);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    n = qvkfd_pm4_release(ib, w->va, 1, RELEASE_MEM_DATA_64,
                          RELEASE_MEM_INT_AFTER_WRITE, 1);
    n += qvkfd_pm4_wait(ib + n, w->va + 64, 0x99, WAIT_REG_MEM_EQ);
    n += qvkfd_pm4_release(ib + n, w->va + 8, 2, RELEASE_MEM_DATA_64,
                           RELEASE_MEM_INT_AFTER_WRITE, 2);
    qtest_memwrite(qvkfd_qts(q), ib_mem, ib, 4 * n);
    /* Around it in the ring: a packet long done, and one to come. */
    qvkfd_emit_write(&w->waiting, w->va + 32, 4);
    qvkfd_emit_n(&w->waiting, dw, qvkfd_pm4_ib(dw, qvkfd_va(8, ib_mem), n, 8));
    qvkfd_emit_write(&w->waiting, w->va + 24, 5);
    qvkfd_kick(&w->waiting);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
    g_assert_cmphex(peek(q, w->mem), ==, 1);

    /* Each round of the loop stores 3. */
    n = qvkfd_pm4_write(ib, w->va + 16, 3);
    n += qvkfd_pm4_ib(ib + n, qvkfd_va(8, ib_mem + 4096), 9, 8);
    g_assert_cmpuint(n, ==, 9);
    ib[n - 1] |= INDIRECT_BUFFER__CHAIN;
    qtest_memwrite(qvkfd_qts(q), ib_mem + 4096, ib, 4 * n);
    qvkfd_emit_n(&w->endless, dw,
                 qvkfd_pm4_ib(dw, qvkfd_va(8, ib_mem + 4096), n, 8));
    qvkfd_kick(&w->endless);
    qvkfd_wait_mem(q, w->mem + 16, 3);

    g_assert_true(qvkfd_msix_pending(q));
    g_assert_cmphex(peek(q, q->msi), ==, 0);
}

/* After a reset nothing of the old work shows, and new work is done. */
static void check_fresh(QVkfd *q, Work *w)
{
    QTestState *qts = qvkfd_qts(q);
    uint64_t mem;
    QVkfdQueue u;

    qtest_writel(qts, w->mem + 64, 0x99);
    qtest_writel(qts, w->mem + 16, 0);
    qvkfd_map_bars(q);
    qvkfd_select(q, 1, 0, 0, 0);
    g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_ACTIVE), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_IB_BASE_ADDR), ==, 0);
    qvkfd_select(q, 2, 0, 1, 0);
    g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_ACTIVE), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_CNTL) & IH_RB_CNTL__RB_ENABLE_MASK, ==,
                    0);
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_WPTR), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmVM_CONTEXT0_CNTL) &
                    VM_CONTEXT0_CNTL__ENABLE_CONTEXT_MASK, ==, 0);
    g_assert_false(qvkfd_msix_pending(q));

    qvkfd_start(q);
    mem = qvkfd_alloc(q, 8, 64);
    qvkfd_queue_init(q, &u, 1, 0, 0, 8, 8);
    qvkfd_queue_load(&u);
    qvkfd_emit_release(&u, qvkfd_va(8, mem), 5, RELEASE_MEM_INT_AFTER_WRITE, 5);
    qvkfd_kick(&u);
    qvkfd_wait_mem(q, mem, 5);
    qvkfd_wait_msi(q);
    qtest_clock_step(qts, 5000000);
    qvkfd_settle(q);
    g_assert_cmphex(peek(q, w->mem + 8), ==, 0);
    g_assert_cmphex(peek(q, w->mem + 16), ==, 0);
}

static void test_system_reset(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    Work w;

    start_work(q, &w);
    qpci_io_writel(&q->dev, q->vram, 0x1000, 0x5afe);
    qtest_system_reset(qvkfd_qts(q));
    check_fresh(q, &w);
    g_assert_cmphex(qpci_io_readl(&q->dev, q->vram, 0x1000), ==, 0x5afe);
}

static void test_flr(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint8_t exp = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    uint64_t parked;
    uint16_t ctl;
    Work w;

    start_work(q, &w);
    parked = qvkfd_counter(q, VKFD_CNT_PARKED);
    ctl = qpci_config_readw(&q->dev, exp + PCI_EXP_DEVCTL);
    qpci_config_writew(&q->dev, exp + PCI_EXP_DEVCTL,
                       ctl | PCI_EXP_DEVCTL_BCR_FLR);
    g_assert_cmphex(qpci_config_readw(&q->dev, exp + PCI_EXP_DEVCTL) &
                    PCI_EXP_DEVCTL_BCR_FLR, ==, 0);
    g_assert_cmphex(qpci_config_readw(&q->dev, PCI_COMMAND) &
                    PCI_COMMAND_MEMORY, ==, 0);
    check_fresh(q, &w);
    /* An FLR keeps the counters. */
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_PARKED), >=, parked);
}

static void test_migration(void *obj, void *data, QGuestAllocator *unused)
{
    QTestState *from = qtest_init(QVKFD_MIGRATION_ARGS);
    QTestState *to = qtest_init(QVKFD_MIGRATION_ARGS " -incoming defer");
    QPCIBus *bus = qpci_new_pc(from, NULL), *to_bus = qpci_new_pc(to, NULL);
    QGuestAllocator alloc;
    QVkfd src = { 0 }, dst;
    uint64_t parked, irqs;
    uint32_t e[8];
    Work w;

    pc_alloc_init(&alloc, from, ALLOC_NO_FLAGS);
    qvkfd_attach(&src, bus, QPCI_DEVFN(4, 0), &alloc);
    start_work(&src, &w);
    qvkfd_rd(&src, 0x1f900 / 4);
    qpci_io_writel(&src.dev, src.vram, src.vram_size - 4, 0x5afe);
    parked = qvkfd_counter(&src, VKFD_CNT_PARKED);
    qvkfd_migrate(from, to);

    /* The same device as seen from the other QEMU. */
    dst = src;
    dst.dev.bus = to_bus;
    w.waiting.q = w.endless.q = &dst;
    g_assert_cmphex(qpci_io_readl(&dst.dev, dst.vram, dst.vram_size - 4), ==,
                    0x5afe);
    g_assert_cmpuint(qvkfd_counter(&dst, VKFD_CNT_PARKED), ==, parked);
    g_assert_cmpint(qvkfd_find_unmodelled(&dst, 0x1f900, &e[0], &e[1]), ==,
                    0);

    /* The loop runs on by itself. */
    qtest_writel(to, w.mem + 16, 0);
    qvkfd_wait_mem(&dst, w.mem + 16, 3);
    qvkfd_queue_dequeue(&w.endless, VKFD_DEQUEUE_RESET_WAVES);

    /* The pending interrupt is there when the vector is unmasked. */
    irqs = qvkfd_counter(&dst, VKFD_CNT_IRQ);
    g_assert_true(qvkfd_msix_pending(&dst));
    qvkfd_msix_mask(&dst, false);
    g_assert_cmphex(peek(&dst, dst.msi), ==, QVKFD_MSI_DATA);
    g_assert_cmpuint(qvkfd_counter(&dst, VKFD_CNT_IRQ), ==, irqs);
    qtest_writel(to, dst.msi, 0);

    /* The parked queue still waits, and goes on from there and only there. */
    g_assert_cmphex(qvkfd_hqd_rd(&w.waiting, mmCP_HQD_ACTIVE), ==, 1);
    qtest_clock_step(to, 5000000);
    qvkfd_settle(&dst);
    g_assert_cmphex(peek(&dst, w.mem + 8), ==, 0);
    qtest_writel(to, w.mem, 0);
    qtest_writel(to, w.mem + 32, 0);
    qtest_writel(to, w.mem + 64, 0x99);
    qvkfd_wait_mem_clock(&dst, w.mem + 8, 2);
    qvkfd_wait_mem(&dst, w.mem + 24, 5);
    qvkfd_wait_msi(&dst);
    g_assert_cmphex(peek(&dst, w.mem), ==, 0);
    g_assert_cmphex(peek(&dst, w.mem + 32), ==, 0);
    qvkfd_wait_mem(&dst, w.waiting.rptr, w.waiting.wptr);
    g_assert_cmphex(peek(&dst, dst.ih_wptr), ==, 2 * VKFD_IH_ENTRY_SIZE);
    qvkfd_ih_entry(&dst, VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[4], ==, 2);

    qtest_quit(from);
    qtest_quit(to);
    alloc_destroy(&alloc);
    qpci_free_pc(bus);
    qpci_free_pc(to_bus);
}

/* A copy in mid-flight and a parked wait of the SDMA engines. */
static void test_migration_sdma(void *obj, void *data, QGuestAllocator *unused)
{
    QTestState *from = qtest_init(QVKFD_MIGRATION_ARGS);
    QTestState *to = qtest_init(QVKFD_MIGRATION_ARGS " -incoming defer");
    QPCIBus *bus = qpci_new_pc(from, NULL), *to_bus = qpci_new_pc(to, NULL);
    uint32_t len = SDMA_COPY_MAX_BYTES, done;
    QGuestAllocator alloc;
    QVkfd src = { 0 }, dst;
    QVkfdSdma copy, wait;
    uint64_t mem, va;

    pc_alloc_init(&alloc, from, ALLOC_NO_FLAGS);
    qvkfd_attach(&src, bus, QPCI_DEVFN(4, 0), &alloc);
    qvkfd_start(&src);
    qvkfd_sdma_start(&src);
    mem = qvkfd_alloc(&src, 8, 2 * len + 4096);
    va = qvkfd_va(8, mem);
    qtest_memset(from, mem, 0x5a, len);
    qvkfd_sdma_init(&src, &copy, 0, 1, 8, 8);
    qvkfd_sdma_init(&src, &wait, 1, 0, 8, 8);
    qvkfd_sdma_load(&copy);
    qvkfd_sdma_load(&wait);
    {
        uint64_t flag = va + 2 * len, to_va = va + len;
        const uint32_t poll[] = {
            SDMA_OP_POLL_REGMEM | 3u << 28 | 1u << 31, flag, flag >> 32, 1, ~0u,
            SDMA_POLL_REGMEM_RETRY_FOREVER << 16,
            SDMA_OP_FENCE, flag + 8, flag >> 32, 2,
        };
        const uint32_t move[] = {
            SDMA_OP_COPY, len - 1, 0, va, va >> 32, to_va, to_va >> 32,
            SDMA_OP_FENCE, flag + 16, flag >> 32, 3,
        };

        qvkfd_sdma_emit(&wait, poll, ARRAY_SIZE(poll));
        qvkfd_sdma_emit(&copy, move, ARRAY_SIZE(move));
    }
    qvkfd_sdma_kick(&wait);
    qvkfd_wait_counter(&src, VKFD_CNT_PARKED, 1);
    /* An engine that is frozen in the middle of it. */
    qvkfd_sdma_kick(&copy);
    while (!(done = qvkfd_sdma_rd(&copy, mmSDMA0_GFX_MIDCMD_DATA0))) {
        g_assert_cmphex(peek(&src, mem + 2 * len + 16), ==, 0);
    }
    qvkfd_wr(&src, mmSDMA0_FREEZE, SDMA0_FREEZE__FREEZE_MASK);
    done = qvkfd_sdma_rd(&copy, mmSDMA0_GFX_MIDCMD_DATA0);
    g_assert_cmpuint(done, <, len);
    g_assert_cmphex(peek(&src, mem + 2 * len + 16), ==, 0);
    qvkfd_migrate(from, to);

    dst = src;
    dst.dev.bus = to_bus;
    copy.q = wait.q = &dst;
    g_assert_cmphex(qvkfd_sdma_rd(&copy, mmSDMA0_GFX_MIDCMD_DATA0), ==, done);
    g_assert_cmphex(qvkfd_rd(&dst, mmSDMA0_FREEZE), ==,
                    SDMA0_FREEZE__FREEZE_MASK | SDMA0_FREEZE__FROZEN_MASK);
    /* What is done is not done again. */
    qtest_writel(to, mem, 0);
    qvkfd_wr(&dst, mmSDMA0_FREEZE, 0);
    qvkfd_wait_mem(&dst, mem + 2 * len + 16, 3);
    g_assert_cmphex(peek(&dst, mem + len), ==, 0x5a5a5a5a);
    g_assert_cmphex(peek(&dst, mem + 2 * len - 4), ==, 0x5a5a5a5a);
    g_assert_cmphex(peek(&dst, mem + 2 * len + 8), ==, 0);
    qtest_writel(to, mem + 2 * len, 1);
    qvkfd_wait_mem_clock(&dst, mem + 2 * len + 8, 2);

    qtest_quit(from);
    qtest_quit(to);
    alloc_destroy(&alloc);
    qpci_free_pc(bus);
    qpci_free_pc(to_bus);
}

/* What is armed, counted and held back goes along. */
static void test_migration_inject(void *obj, void *data, QGuestAllocator *unused)
{
    QTestState *from = qtest_init(QVKFD_MIGRATION_ARGS);
    QTestState *to = qtest_init(QVKFD_MIGRATION_ARGS " -incoming defer");
    QPCIBus *bus = qpci_new_pc(from, NULL), *to_bus = qpci_new_pc(to, NULL);
    static const char text[] = "slot:delay:2ms@1;fetch:hang@4";
    QGuestAllocator alloc;
    QVkfd src = { 0 }, dst;
    QVkfdQueue u;
    uint64_t mem, va;
    uint32_t v;
    unsigned i;

    pc_alloc_init(&alloc, from, ALLOC_NO_FLAGS);
    qvkfd_attach(&src, bus, QPCI_DEVFN(4, 0), &alloc);
    qvkfd_start(&src);
    mem = qvkfd_alloc(&src, 8, 4096);
    va = qvkfd_va(8, mem);
    qvkfd_queue_init(&src, &u, 1, 0, 0, 8, 10);
    qvkfd_queue_load(&u);
    for (i = 0; i < sizeof(text); i += 4) {
        memcpy(&v, text + i, MIN(sizeof(text) - i, 4));
        qvkfd_ctrl_wr(&src, VKFD_CTRL_INJECT_TEXT + i, le32_to_cpu(v));
    }
    qvkfd_ctrl_wr(&src, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_ARM);
    g_assert_cmpuint(qvkfd_ctrl_rd(&src, VKFD_CTRL_INJECT_COUNT), ==, 2);
    qvkfd_emit_release(&u, va, 1, RELEASE_MEM_INT_AFTER_WRITE, 1);
    qvkfd_emit_write(&u, va + 8, 2);
    qvkfd_kick(&u);
    qvkfd_wait_mem(&src, mem + 8, 2);
    g_assert_cmphex(peek(&src, mem), ==, 0);
    qvkfd_migrate(from, to);

    dst = src;
    dst.dev.bus = to_bus;
    u.q = &dst;
    g_assert_cmpuint(qvkfd_ctrl_rd(&dst, VKFD_CTRL_INJECT_COUNT), ==, 2);
    g_assert_cmpuint(qvkfd_ctrl_rd(&dst, VKFD_CTRL_INJECT_HELD), ==, 1);
    g_assert_cmpuint(qvkfd_counter(&dst, VKFD_CNT_INJECTED), ==, 1);
    qvkfd_wait_mem_clock(&dst, mem, 1);
    /* Two packets were counted there: the second from now on hangs. */
    qvkfd_emit_write(&u, va + 16, 3);
    qvkfd_emit_write(&u, va + 24, 4);
    qvkfd_kick(&u);
    qvkfd_wait_mem(&dst, mem + 16, 3);
    qvkfd_settle(&dst);
    qtest_clock_step(to, 5000000);
    g_assert_cmphex(peek(&dst, mem + 24), ==, 0);
    /* Two here and two there, and the marker of qvkfd_settle(). */
    qvkfd_ctrl_wr(&dst, VKFD_CTRL_INJECT_SELECT, 1);
    g_assert_cmpuint(qvkfd_ctrl_rd(&dst, VKFD_CTRL_INJECT_PASSED_LO), ==, 5);
    qvkfd_ctrl_wr(&dst, VKFD_CTRL_INJECT_TEXT, 0);
    qvkfd_ctrl_wr(&dst, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_ARM);
    qvkfd_wait_mem(&dst, mem + 24, 4);

    qtest_quit(from);
    qtest_quit(to);
    alloc_destroy(&alloc);
    qpci_free_pc(bus);
    qpci_free_pc(to_bus);
}

/* Number the buses and open the port's windows, as firmware would. */
static void set_up_port(QPCIBus *bus, QPCIDevice *port)
{
    /* libqos maps from 3.5 GiB up: VRAM and doorbells, then the other BARs. */
    uint32_t pref = 0xe0000000, mem = 0xe4200000;

    g_assert_cmpint(qpci_secondary_buses_init(bus), ==, 1);
    qpci_config_writew(port, PCI_PREF_MEMORY_BASE, pref >> 16);
    qpci_config_writew(port, PCI_PREF_MEMORY_LIMIT, (mem - 1) >> 16);
    qpci_config_writew(port, PCI_MEMORY_BASE, mem >> 16);
    qpci_config_writew(port, PCI_MEMORY_LIMIT, mem >> 16);
    qpci_device_enable(port);
}

/* Where the device belongs: behind a root port, which can reset its bus. */
static void test_root_port(void *obj, void *data, QGuestAllocator *unused)
{
    QTestState *qts = qtest_init("-machine q35 -m 128M -vga none -nic none "
        "-device pcie-root-port,id=rp,addr=03.0,chassis=1 "
        "-device vkfd,bus=rp,id=vkfd0,vram-size=64M");
    QPCIBus *bus = qpci_new_pc(qts, NULL);
    QPCIDevice *port = qpci_device_find(bus, QPCI_DEVFN(3, 0));
    QGuestAllocator alloc;
    uint64_t parked;
    uint16_t ctl;
    QVkfd q = { 0 };
    uint8_t exp;
    Work w;

    g_assert_nonnull(port);
    set_up_port(bus, port);
    pc_alloc_init(&alloc, qts, ALLOC_NO_FLAGS);
    qvkfd_attach(&q, bus, QPCI_DEVFN(1 << 5, 0), &alloc);
    exp = qpci_find_capability(&q.dev, PCI_CAP_ID_EXP, 0);
    g_assert_cmphex(qpci_config_readw(&q.dev, exp + PCI_EXP_FLAGS) &
                    PCI_EXP_FLAGS_TYPE, ==, PCI_EXP_TYPE_ENDPOINT << 4);
    start_work(&q, &w);
    parked = qvkfd_counter(&q, VKFD_CNT_PARKED);

    ctl = qpci_config_readw(port, PCI_BRIDGE_CONTROL);
    qpci_config_writew(port, PCI_BRIDGE_CONTROL,
                       ctl | PCI_BRIDGE_CTL_BUS_RESET);
    qpci_config_writew(port, PCI_BRIDGE_CONTROL, ctl);
    g_assert_cmphex(qpci_config_readw(&q.dev, PCI_COMMAND) &
                    PCI_COMMAND_MEMORY, ==, 0);
    check_fresh(&q, &w);
    g_assert_cmpuint(qvkfd_counter(&q, VKFD_CNT_PARKED), >=, parked);

    qtest_quit(qts);
    alloc_destroy(&alloc);
    g_free(port);
    qpci_free_pc(bus);
}

/* A stopped VM's memory does not change, and nothing is forgotten. */
static void test_stopped(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    unsigned i;
    Work w;

    start_work(q, &w);
    qtest_qmp_assert_success(qts, "{ 'execute': 'stop' }");
    qtest_writel(qts, w.mem + 16, 0);
    for (i = 0; i < 200; i++) {
        g_assert_cmphex(peek(q, w.mem + 16), ==, 0);
    }
    qtest_qmp_assert_success(qts, "{ 'execute': 'cont' }");
    qvkfd_wait_mem(q, w.mem + 16, 3);
    qtest_writel(qts, w.mem + 64, 0x99);
    qvkfd_wait_mem_clock(q, w.mem + 8, 2);
}

static void register_vkfd_reset_test(void)
{
    qos_add_test("reset/system", "vkfd", test_system_reset, NULL);
    qos_add_test("reset/flr", "vkfd", test_flr, NULL);
    qos_add_test("reset/stopped", "vkfd", test_stopped, NULL);
    qos_add_test("reset/root-port", "vkfd", test_root_port, NULL);
    qos_add_test("migration", "vkfd", test_migration, NULL);
    qos_add_test("migration-sdma", "vkfd", test_migration_sdma, NULL);
    qos_add_test("migration-inject", "vkfd", test_migration_inject, NULL);
}

libqos_init(register_vkfd_reset_test);
