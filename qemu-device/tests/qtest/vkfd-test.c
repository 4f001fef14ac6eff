/* SPDX-License-Identifier: MIT */
/* vkfd: identity, registers, BARs, properties. */

#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "libqtest.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "block/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "hw/pci/pci_regs.h"
#include "libqos/vkfd.h"

/* A register of the video decoder, which a compute part does not need. */
#define UNMODELLED_OFF  0x1f900u

static void test_identity(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QPCIDevice *d = &q->dev;
    uint8_t exp = qpci_find_capability(d, PCI_CAP_ID_EXP, 0);
    uint8_t msix = qpci_find_capability(d, PCI_CAP_ID_MSIX, 0);
    uint32_t cap;

    g_assert_cmphex(qpci_config_readw(d, PCI_VENDOR_ID), ==, 0x1002);
    g_assert_cmphex(qpci_config_readw(d, PCI_DEVICE_ID), ==, 0x66a1);
    g_assert_cmphex(qpci_config_readw(d, PCI_CLASS_DEVICE), ==, 0x0380);
    g_assert_cmphex(qpci_config_readb(d, PCI_INTERRUPT_PIN), ==, 0);
    g_assert_cmphex(qpci_find_capability(d, PCI_CAP_ID_PM, 0), !=, 0);

    g_assert_cmphex(exp, !=, 0);
    g_assert_cmphex(qpci_config_readw(d, exp + PCI_EXP_FLAGS) &
                    PCI_EXP_FLAGS_VERS, ==, 2);
    cap = qpci_config_readl(d, exp + PCI_EXP_DEVCAP);
    g_assert_cmphex(cap & PCI_EXP_DEVCAP_FLR, !=, 0);
    cap = qpci_config_readl(d, exp + PCI_EXP_DEVCAP2);
    g_assert_cmphex(cap & 0x180, ==, 0x180);

    g_assert_cmphex(msix, !=, 0);
    g_assert_cmpuint(qpci_msix_table_size(d), ==, 1);
    g_assert_cmphex(qpci_config_readl(d, msix + PCI_MSIX_TABLE), ==, 4);
    g_assert_cmphex(qpci_config_readl(d, msix + PCI_MSIX_PBA), ==, 0x1000 | 4);

    /* 64-bit prefetchable: VRAM and doorbells; 32-bit: control, registers. */
    g_assert_cmphex(qpci_config_readl(d, PCI_BASE_ADDRESS_0) & 0xf, ==, 0xc);
    g_assert_cmphex(qpci_config_readl(d, PCI_BASE_ADDRESS_2) & 0xf, ==, 0xc);
    g_assert_cmphex(qpci_config_readl(d, PCI_BASE_ADDRESS_4) & 0xf, ==, 0);
    g_assert_cmphex(qpci_config_readl(d, PCI_BASE_ADDRESS_5) & 0xf, ==, 0);
    g_assert_cmphex(q->vram_size, ==, 256 * MiB);
}

static void test_reset_values(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint32_t fb = VKFD_FB_LOCATION_BASE >> 24;
    unsigned me, pipe, queue;

    g_assert_cmphex(qvkfd_rd(q, mmBIOS_SCRATCH_7), ==, 0x200);
    g_assert_cmphex(qvkfd_rd(q, mmRCC_CONFIG_MEMSIZE), ==, 256);
    g_assert_cmphex(qvkfd_rd(q, mmRCC_IOV_FUNC_IDENTIFIER), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmMMHUB_MC_VM_FB_LOCATION_BASE), ==, fb);
    g_assert_cmphex(qvkfd_rd(q, mmMMHUB_MC_VM_FB_LOCATION_TOP), ==, fb + 15);
    g_assert_cmphex(qvkfd_rd(q, mmMC_VM_FB_OFFSET), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmMC_VM_XGMI_LFB_CNTL), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmMMHUB_MC_VM_XGMI_LFB_SIZE), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmGRBM_STATUS) & GRBM_STATUS__GUI_ACTIVE_MASK,
                    ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmRLC_SERDES_CU_MASTER_BUSY), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmRLC_SERDES_NONCU_MASTER_BUSY), ==, 0);
    /* Four of sixteen CUs by default. */
    g_assert_cmphex(qvkfd_rd(q, mmCC_GC_SHADER_ARRAY_CONFIG) &
                    CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS_MASK, ==,
                    0xfff00000);
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_CNTL) &
                    (IH_RB_CNTL__RB_ENABLE_MASK | IH_RB_CNTL__ENABLE_INTR_MASK),
                    ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmIH_RB_WPTR), ==, 0);
    g_assert_cmphex(qvkfd_rd(q, mmCP_MEC_CNTL) &
                    (CP_MEC_CNTL__MEC_ME1_HALT_MASK |
                     CP_MEC_CNTL__MEC_ME2_HALT_MASK), ==, 0x50000000);
    for (me = 1; me <= VKFD_NUM_ME; me++) {
        for (pipe = 0; pipe < VKFD_PIPES_PER_ME; pipe++) {
            for (queue = 0; queue < VKFD_QUEUES_PER_PIPE; queue++) {
                qvkfd_select(q, me, pipe, queue, 0);
                g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_ACTIVE), ==, 0);
                g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_PQ_BASE), ==, 0);
            }
        }
    }
    g_assert_cmphex(qvkfd_ctrl_rd(q, VKFD_CTRL_MAGIC), ==,
                    VKFD_CTRL_MAGIC_VALUE);
    g_assert_cmphex(qvkfd_ctrl_rd(q, VKFD_CTRL_VERSION), ==,
                    VKFD_CTRL_VERSION_VALUE);
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_CNT_COUNT), ==, VKFD_CNT_MAX);
}

static void test_masks(void *obj, void *data, QGuestAllocator *alloc)
{
    static const struct {
        uint32_t reg, mask;
    } t[] = {
        /* Whole entries only. */
        { mmIH_RB_RPTR, IH_RB_RPTR__OFFSET_MASK & ~(VKFD_IH_ENTRY_SIZE - 1) },
        { mmIH_DOORBELL_RPTR, IH_DOORBELL_RPTR__OFFSET_MASK |
                              IH_DOORBELL_RPTR__ENABLE_MASK },
        { mmIH_VMID_0_LUT + 8, IH_VMID_0_LUT__PASID_MASK },
        { mmSCRATCH_REG0, 0xffffffff },
        { mmBIOS_SCRATCH_0, 0xffffffff },
        { mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32, 0xffffffff },
        /* Read only. */
        { mmRCC_CONFIG_MEMSIZE, 0 },
        { mmMC_VM_XGMI_LFB_CNTL, 0 },
        { mmGRBM_STATUS, 0 },
        { mmRLC_SERDES_CU_MASTER_BUSY, 0 },
        /* The command bit clears itself, the RLC having answered. */
        { mmRLC_SAFE_MODE, ~RLC_SAFE_MODE__CMD_MASK },
    };
    QVkfd *q = obj;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(t); i++) {
        uint32_t fixed = qvkfd_rd(q, t[i].reg) & ~t[i].mask;

        g_test_message("register 0x%05x", QVKFD_BYTE(t[i].reg));
        qvkfd_wr(q, t[i].reg, 0xffffffff);
        g_assert_cmphex(qvkfd_rd(q, t[i].reg), ==, t[i].mask | fixed);
        qvkfd_wr(q, t[i].reg, 0);
        g_assert_cmphex(qvkfd_rd(q, t[i].reg), ==, fixed);
    }
}

static void test_banks(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    unsigned i, pass;
    uint64_t bad;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < VKFD_NUM_HQD; i++) {
            qvkfd_select(q, 1 + i / 32, i / 8 % 4, i % 8, 0);
            if (pass == 0) {
                qvkfd_wr(q, mmCP_HQD_PQ_BASE, 0x1000 + i);
            } else {
                g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_PQ_BASE), ==, 0x1000 + i);
            }
        }
        for (i = 0; i < VKFD_NUM_VMID; i++) {
            qvkfd_select(q, 0, 0, 0, i);
            if (pass == 0) {
                qvkfd_wr(q, mmSH_MEM_BASES, 0x10001 * i);
                qvkfd_wr(q, mmSQ_SHADER_TBA_LO, 0x2000 + i);
            } else {
                g_assert_cmphex(qvkfd_rd(q, mmSH_MEM_BASES), ==, 0x10001 * i);
                g_assert_cmphex(qvkfd_rd(q, mmSQ_SHADER_TBA_LO), ==,
                                0x2000 + i);
            }
        }
    }

    /* ME 0 is the graphics engine, ME 3 is none: no queue slots there. */
    bad = qvkfd_counter(q, VKFD_CNT_GUEST_ERROR);
    for (i = 0; i <= 3; i += 3) {
        qvkfd_select(q, i, 0, 0, 0);
        qvkfd_wr(q, mmCP_HQD_PQ_BASE, 0x77);
        g_assert_cmphex(qvkfd_rd(q, mmCP_HQD_PQ_BASE), ==, 0);
    }
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_GUEST_ERROR), ==, bad + 4);
}

static void test_bad_access(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QPCIDevice *d = &q->dev;
    uint64_t bad = qvkfd_counter(q, VKFD_CNT_BAD_ACCESS);
    uint64_t off = mmSCRATCH_REG0 * 4;
    uint64_t page = VKFD_CONTROL_PAGE_OFFSET;

    qvkfd_wr_check(q, mmSCRATCH_REG0, 0x12345678);
    qvkfd_wr_check(q, mmSCRATCH_REG1, 0x9abcdef0);

    g_assert_cmphex(qpci_io_readb(d, q->mmio, off), ==, 0);
    g_assert_cmphex(qpci_io_readw(d, q->mmio, off + 2), ==, 0);
    g_assert_cmphex(qpci_io_readq(d, q->mmio, off), ==, 0);
    g_assert_cmphex(qpci_io_readl(d, q->mmio, off + 1), ==, 0);
    qpci_io_writeb(d, q->mmio, off, 0xff);
    qpci_io_writew(d, q->mmio, off, 0xffff);
    qpci_io_writeq(d, q->mmio, off, ~0ull);
    qpci_io_writel(d, q->mmio, off + 2, ~0u);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_BAD_ACCESS), ==, bad + 8);
    g_assert_cmphex(qvkfd_rd(q, mmSCRATCH_REG0), ==, 0x12345678);
    g_assert_cmphex(qvkfd_rd(q, mmSCRATCH_REG1), ==, 0x9abcdef0);

    bad += 8;
    g_assert_cmphex(qpci_io_readb(d, q->ctrl, page), ==, 0);
    g_assert_cmphex(qpci_io_readq(d, q->ctrl, page), ==, 0);
    qpci_io_writew(d, q->ctrl, page + VKFD_CTRL_CNT_SELECT, 1);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_BAD_ACCESS), ==, bad + 3);

    /* A doorbell is one value of 4 or 8 bytes. */
    bad += 3;
    qpci_io_writeb(d, q->doorbell, 0x4000, 1);
    qpci_io_writew(d, q->doorbell, 0x4000, 1);
    qpci_io_writeq(d, q->doorbell, 0x4004, 1);
    qpci_io_writel(d, q->doorbell, 0x4002, 1);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_BAD_ACCESS), ==, bad + 4);
}

static void test_stray_doorbell(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t seen = qvkfd_counter(q, VKFD_CNT_DOORBELL);
    uint64_t dropped = qvkfd_counter(q, VKFD_CNT_DOORBELL_DROPPED);

    qvkfd_ring_doorbell(q, 0x4000 / 4, 5);
    qpci_io_writel(&q->dev, q->doorbell, VKFD_DOORBELL_BAR_SIZE - 4, 5);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DOORBELL), ==, seen + 2);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_DOORBELL_DROPPED), ==,
                     dropped + 2);
}

static bool qom_lists(QVkfd *q, const char *property, const char *prefix)
{
    QDict *rsp = qtest_qmp(qvkfd_qts(q), "{ 'execute': 'qom-get', "
                           "'arguments': { 'path': 'vkfd0', 'property': %s } }",
                           property);
    QList *list = qdict_get_qlist(rsp, "return");
    bool found = false;
    QListEntry *e;

    g_assert_nonnull(list);
    QLIST_FOREACH_ENTRY(list, e) {
        const char *str = qstring_get_str(qobject_to(QString,
                                                     qlist_entry_obj(e)));

        found |= g_str_has_prefix(str, prefix);
    }
    qobject_unref(rsp);
    return found;
}

static void test_unmodelled(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t rd = qvkfd_counter(q, VKFD_CNT_UNMODELLED_READ);
    uint64_t wr = qvkfd_counter(q, VKFD_CNT_UNMODELLED_WRITE);
    uint32_t reads = 0, writes = 0, n;
    g_autofree char *line = NULL;

    g_assert_cmpint(qvkfd_find_unmodelled(q, UNMODELLED_OFF, &reads, &writes),
                    ==, -1);
    n = qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_COUNT);
    qvkfd_rd(q, UNMODELLED_OFF / 4);
    qvkfd_wr(q, UNMODELLED_OFF / 4, 1);
    qvkfd_rd(q, UNMODELLED_OFF / 4);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_UNMODELLED_READ), ==, rd + 2);
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_UNMODELLED_WRITE), ==, wr + 1);
    g_assert_cmpint(qvkfd_find_unmodelled(q, UNMODELLED_OFF, &reads, &writes),
                    >=, 0);
    g_assert_cmpuint(reads, ==, 2);
    g_assert_cmpuint(writes, ==, 1);
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_COUNT), ==, n + 1);
    qvkfd_ctrl_wr(q, VKFD_CTRL_UNMOD_SELECT, n + 1);
    g_assert_cmphex(qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_REG), ==, 0xffffffff);

    line = g_strdup_printf("0x%05x reads 2 writes 1", UNMODELLED_OFF);
    g_assert_true(qom_lists(q, "unmodelled-accesses", line));
    g_assert_false(qom_lists(q, "unmodelled-accesses", "0x30100"));
    g_assert_true(qom_lists(q, "counters", ""));
}

static void test_vram(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t last = q->vram_size - 8;

    qpci_io_writeq(&q->dev, q->vram, 0x1000, 0x1122334455667788ull);
    qpci_io_writeq(&q->dev, q->vram, last, 0xa1a2a3a4a5a6a7a8ull);
    g_assert_cmphex(qpci_io_readq(&q->dev, q->vram, last), ==,
                    0xa1a2a3a4a5a6a7a8ull);

    /* The same bytes through the index window. */
    qvkfd_wr(q, mmMM_INDEX_HI, 0);
    qvkfd_wr(q, mmMM_INDEX, 0x80000000u | 0x1004);
    g_assert_cmphex(qvkfd_rd(q, mmMM_DATA), ==, 0x11223344);
    qvkfd_wr(q, mmMM_INDEX, 0x80000000u | (uint32_t)last);
    qvkfd_wr(q, mmMM_DATA, 0xdeadbeef);
    g_assert_cmphex(qpci_io_readq(&q->dev, q->vram, last), ==,
                    0xa1a2a3a4deadbeefull);
    /* Past the end: nothing there, and nothing happens. */
    qvkfd_wr(q, mmMM_INDEX, 0x80000000u | (uint32_t)q->vram_size);
    qvkfd_wr(q, mmMM_DATA, 1);
    g_assert_cmphex(qvkfd_rd(q, mmMM_DATA), ==, 0);
}

static uint64_t gpu_clock(QVkfd *q)
{
    uint64_t lo;

    qvkfd_wr(q, mmRLC_CAPTURE_GPU_CLOCK_COUNT, 1);
    lo = qvkfd_rd(q, mmRLC_GPU_CLOCK_COUNT_LSB);
    return lo | (uint64_t)qvkfd_rd(q, mmRLC_GPU_CLOCK_COUNT_MSB) << 32;
}

static void test_clock(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint64_t t = gpu_clock(q);

    g_assert_cmpuint(gpu_clock(q), ==, t);
    qtest_clock_step(qvkfd_qts(q), 123450);
    g_assert_cmpuint(gpu_clock(q), ==, t + 12345);
    /* A captured value stands until the next capture. */
    qtest_clock_step(qvkfd_qts(q), 1000);
    g_assert_cmphex(qvkfd_rd(q, mmRLC_GPU_CLOCK_COUNT_LSB), ==,
                    (uint32_t)(t + 12345));
}

static void test_hdp_flush(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;

    qvkfd_wr(q, mmGPU_HDP_FLUSH_REQ, 0x5);
    g_assert_cmphex(qvkfd_rd(q, mmGPU_HDP_FLUSH_DONE) & 0x5, ==, 0x5);
    qpci_io_writel(&q->dev, q->mmio,
                   VKFD_MMIO_REMAP_OFFSET + VKFD_REMAP_HDP_MEM_FLUSH, 0);
    g_assert_cmphex(qpci_io_readl(&q->dev, q->mmio, VKFD_MMIO_REMAP_OFFSET),
                    ==, 0);
}

/* xorshift64: the same sequence every time. */
static uint64_t rnd(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void test_garbage(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    uint64_t s = 0x9e3779b97f4a7c15ull, mark;
    QVkfdQueue u;
    uint32_t i;

    qvkfd_start(q);
    for (i = 0; i < VKFD_MMIO_SIZE / 4; i++) {
        qvkfd_wr(q, i, rnd(&s));
    }
    for (i = 0; i < 20000; i++) {
        uint64_t r = rnd(&s);

        switch (r & 7) {
        case 0:
            qvkfd_wr(q, mmGRBM_GFX_CNTL, r >> 32);
            break;
        case 1:
        case 2:
            qvkfd_wr(q, mmCP_MQD_BASE_ADDR + (r >> 8) % V9_MQD_HQD_DW, r >> 32);
            break;
        case 3:
            qvkfd_wr(q, mmCP_HQD_ACTIVE, r >> 32 & 1);
            break;
        case 4:
            qvkfd_ring_doorbell(q, (r >> 8) % (VKFD_DOORBELL_BAR_SIZE / 4), r);
            break;
        case 5:
            qvkfd_ctrl_wr(q, r >> 8 & 0xffc, r >> 32);
            break;
        case 6:
            qvkfd_rd(q, (r >> 8) % (VKFD_MMIO_SIZE / 4));
            break;
        case 7:
            qvkfd_wr(q, mmIH_RB_CNTL + (r >> 8) % 64, r >> 32);
            break;
        }
        if (i % 256 == 0) {
            qtest_clock_step(qts, 100000);
        }
    }

    /* It answers, and a reset brings it back to work. */
    g_assert_cmphex(qvkfd_ctrl_rd(q, VKFD_CTRL_MAGIC), ==,
                    VKFD_CTRL_MAGIC_VALUE);
    qtest_system_reset(qts);
    qvkfd_map_bars(q);
    qvkfd_start(q);
    mark = qvkfd_alloc(q, 8, 8);
    qvkfd_queue_init(q, &u, 1, 0, 0, 8, 8);
    qvkfd_queue_load(&u);
    qvkfd_emit_release(&u, qvkfd_va(8, mark), 0x600d,
                       RELEASE_MEM_INT_AFTER_WRITE, 1);
    qvkfd_kick(&u);
    qvkfd_wait_mem(q, mark, 0x600d);
    qvkfd_wait_msi(q);
}

static void add_fails(QTestState *qts, const char *names, const char *args)
{
    QDict *dict = qdict_from_jsonf_nofail("{ 'driver': 'vkfd', 'id': 'bad', "
                                          "'addr': '05.0' }");
    QDict *more = qobject_to(QDict, qobject_from_json(args, &error_abort));
    QDict *rsp;
    const char *desc;

    qdict_join(dict, more, true);
    rsp = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': %p }", dict);
    g_assert_true(qdict_haskey(rsp, "error"));
    desc = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    g_test_message("%s", desc);
    g_assert_nonnull(strstr(desc, names));
    qobject_unref(more);
    qobject_unref(rsp);
}

/* A queue that waits, so that a timer is armed. */
static void park_one(QVkfd *q)
{
    uint64_t parked = qvkfd_counter(q, VKFD_CNT_PARKED), mem;
    QVkfdQueue u;

    qvkfd_start(q);
    mem = qvkfd_alloc(q, 8, 4);
    qvkfd_queue_init(q, &u, 1, 0, 0, 8, 8);
    qvkfd_queue_load(&u);
    qvkfd_emit_wait(&u, qvkfd_va(8, mem), 1);
    qvkfd_kick(&u);
    qvkfd_wait_counter(q, VKFD_CNT_PARKED, parked + 1);
}

static void test_properties(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    QVkfd other = { 0 };
    unsigned i;

    g_assert_cmphex(qvkfd_rd(q, mmBIOS_SCRATCH_8), ==, 0);
    qtest_qmp_assert_success(qts, "{ 'execute': 'object-add', 'arguments': "
        "{ 'qom-type': 'memory-backend-ram', 'id': 'm0', 'size': 67108864 } }");
    add_fails(qts, "vram-size", "{ 'vram-size': 67108865 }");
    add_fails(qts, "vram-size", "{ 'vram-size': 33554432 }");
    add_fails(qts, "vram-size", "{ 'vram-size': 34359738368 }");
    add_fails(qts, "visible-vram", "{ 'visible-vram': 2147483648 }");
    add_fails(qts, "visible-vram", "{ 'visible-vram': 1000000 }");
    add_fails(qts, "'cus'", "{ 'cus': 0 }");
    add_fails(qts, "'cus'", "{ 'cus': 17 }");
    add_fails(qts, "x-cp-budget", "{ 'x-cp-budget': 0 }");
    add_fails(qts, "memdev", "{ 'memdev': 'm0' }");
    add_fails(qts, "'none'", "{ 'memdev': 'none' }");

    /* Nothing was left behind: the same id and slot serve, and again. */
    for (i = 0; i < 2; i++) {
        qtest_qmp_device_add(qts, "vkfd", "bad", "{ 'addr': '05.0', "
                             "'vram-size': 67108864, 'memdev': 'm0', "
                             "'visible-vram': 33554432 }");
        qvkfd_attach(&other, q->dev.bus, QPCI_DEVFN(5, 0), alloc);
        g_assert_cmphex(other.vram_size, ==, 64 * MiB);
        g_assert_cmphex(qvkfd_rd(&other, mmBIOS_SCRATCH_8), ==,
                        VKFD_BIOS_SCRATCH_8__VALID_MASK | 32);
        q->dev.bus->mmio_alloc_ptr = other.mmio_base;
        park_one(&other);
        add_fails(qts, "memdev", "{ 'addr': '06.0', 'id': 'worse', "
                  "'vram-size': 67108864, 'memdev': 'm0' }");
        qpci_unplug_acpi_device_test(qts, "bad", 5);
        qtest_clock_step(qts, 5000000);
    }
    qtest_qmp_assert_success(qts, "{ 'execute': 'object-del', 'arguments': "
                             "{ 'id': 'm0' } }");
}

static void register_vkfd_test(void)
{
    qos_add_test("identity", "vkfd", test_identity, NULL);
    qos_add_test("reset-values", "vkfd", test_reset_values, NULL);
    qos_add_test("masks", "vkfd", test_masks, NULL);
    qos_add_test("banks", "vkfd", test_banks, NULL);
    qos_add_test("bad-access", "vkfd", test_bad_access, NULL);
    qos_add_test("stray-doorbell", "vkfd", test_stray_doorbell, NULL);
    qos_add_test("unmodelled", "vkfd", test_unmodelled, NULL);
    qos_add_test("vram", "vkfd", test_vram, NULL);
    qos_add_test("clock", "vkfd", test_clock, NULL);
    qos_add_test("hdp-flush", "vkfd", test_hdp_flush, NULL);
    qos_add_test("garbage", "vkfd", test_garbage, NULL);
    qos_add_test("properties", "vkfd", test_properties, NULL);
}

libqos_init(register_vkfd_test);
