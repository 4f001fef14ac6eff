/* SPDX-License-Identifier: MIT */
/* libqos driver of the vkfd compute GPU; see vkfd.h. */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/host-utils.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "../libqtest.h"
#include "hw/pci/pci_regs.h"
#include "vkfd.h"

/* Round trips before a wait fails; a correct device needs a handful. */
#define QVKFD_SPIN          4000
#define QVKFD_CLOCK_STEP_NS 50000

#define QVKFD_GART_TABLE    (1 * MiB)   /* VRAM offset; 64 KiB long */
#define QVKFD_PT_FIRST      (2 * MiB)   /* VRAM offset; page tables from here */

#define PTE_SYSTEM_RW (AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM | \
                       AMDGPU_PTE_SNOOPED | AMDGPU_PTE_EXECUTABLE | \
                       AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE)

/* Registers */

uint32_t qvkfd_rd(QVkfd *q, uint32_t reg)
{
    return qpci_io_readl(&q->dev, q->mmio, reg * 4);
}

void qvkfd_wr(QVkfd *q, uint32_t reg, uint32_t val)
{
    qpci_io_writel(&q->dev, q->mmio, reg * 4, val);
}

void qvkfd_wr_check(QVkfd *q, uint32_t reg, uint32_t val)
{
    qvkfd_wr(q, reg, val);
    g_assert_cmphex(qvkfd_rd(q, reg), ==, val);
}

void qvkfd_select(QVkfd *q, unsigned me, unsigned pipe, unsigned queue,
                  unsigned vmid)
{
    qvkfd_wr_check(q, mmGRBM_GFX_CNTL,
                   pipe << GRBM_GFX_CNTL__PIPEID__SHIFT |
                   me << GRBM_GFX_CNTL__MEID__SHIFT |
                   vmid << GRBM_GFX_CNTL__VMID__SHIFT |
                   queue << GRBM_GFX_CNTL__QUEUEID__SHIFT);
}

uint32_t qvkfd_ctrl_rd(QVkfd *q, uint32_t off)
{
    return qpci_io_readl(&q->dev, q->ctrl, VKFD_CONTROL_PAGE_OFFSET + off);
}

void qvkfd_ctrl_wr(QVkfd *q, uint32_t off, uint32_t val)
{
    qpci_io_writel(&q->dev, q->ctrl, VKFD_CONTROL_PAGE_OFFSET + off, val);
}

uint64_t qvkfd_counter(QVkfd *q, unsigned which)
{
    uint64_t lo;

    qvkfd_ctrl_wr(q, VKFD_CTRL_CNT_SELECT, which);
    lo = qvkfd_ctrl_rd(q, VKFD_CTRL_CNT_LO);
    return lo | (uint64_t)qvkfd_ctrl_rd(q, VKFD_CTRL_CNT_HI) << 32;
}

int qvkfd_find_unmodelled(QVkfd *q, uint32_t byte_off, uint32_t *reads,
                          uint32_t *writes)
{
    unsigned i, n = qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_COUNT);

    for (i = 0; i < n; i++) {
        qvkfd_ctrl_wr(q, VKFD_CTRL_UNMOD_SELECT, i);
        if (qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_REG) == byte_off) {
            *reads = qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_READS);
            *writes = qvkfd_ctrl_rd(q, VKFD_CTRL_UNMOD_WRITES);
            return i;
        }
    }
    return -1;
}

void qvkfd_ring_doorbell(QVkfd *q, uint32_t dw_index, uint64_t val)
{
    qpci_io_writeq(&q->dev, q->doorbell, dw_index * 4ull, val);
}

/* GPU virtual memory */

static void vram_writeq(QVkfd *q, uint64_t off, uint64_t val)
{
    qpci_io_writeq(&q->dev, q->vram, off, val);
}

static uint64_t new_table(QVkfd *q)
{
    uint64_t off = q->vram_next;

    g_assert_cmphex(off + AMDGPU_GPU_PAGE_SIZE, <=, q->vram_size);
    q->vram_next += AMDGPU_GPU_PAGE_SIZE;
    qtest_memset(qvkfd_qts(q), q->vram.addr + off, 0, AMDGPU_GPU_PAGE_SIZE);
    return off;
}

void qvkfd_map(QVkfd *q, unsigned vmid, uint64_t va, uint64_t addr,
               unsigned pages, uint64_t pte_bits)
{
    unsigned i, level;

    for (i = 0; i < pages; i++, va += AMDGPU_GPU_PAGE_SIZE,
                            addr += AMDGPU_GPU_PAGE_SIZE) {
        uint64_t table = q->root[vmid];

        g_assert_cmphex(table, !=, 0);
        for (level = 0; level < VKFD_PT_LEVELS - 1; level++) {
            uint64_t slot = table + 8 * (va >> VKFD_PT_SHIFT(level) &
                                         (VKFD_PT_ENTRIES - 1));
            uint64_t pde = qpci_io_readq(&q->dev, q->vram, slot);

            if (!(pde & AMDGPU_PTE_VALID)) {
                pde = new_table(q) | AMDGPU_PTE_VALID;
                vram_writeq(q, slot, pde);
            }
            table = pde & AMDGPU_PDE_ADDR_MASK;
        }
        vram_writeq(q, table + 8 * (va >> VKFD_PT_SHIFT(level) &
                                    (VKFD_PT_ENTRIES - 1)), addr | pte_bits);
    }
}

static void flush_hub(QVkfd *q, unsigned vmid, uint32_t sem, uint32_t req,
                      uint32_t ack)
{
    unsigned i;

    g_assert_cmphex(qvkfd_rd(q, sem) & 1, ==, 1);
    qvkfd_wr(q, req, 1u << vmid |
             VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PTES_MASK |
             VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PDE0_MASK |
             VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PDE1_MASK |
             VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PDE2_MASK |
             VM_INVALIDATE_ENG0_REQ__INVALIDATE_L1_PTES_MASK);
    for (i = 0; !(qvkfd_rd(q, ack) & 1u << vmid); i++) {
        g_assert_cmpuint(i, <, QVKFD_SPIN);
    }
    qvkfd_wr(q, sem, 0);
}

void qvkfd_flush(QVkfd *q, unsigned vmid)
{
    flush_hub(q, vmid, mmVM_INVALIDATE_ENG17_SEM, mmVM_INVALIDATE_ENG17_REQ,
              mmVM_INVALIDATE_ENG17_ACK);
    flush_hub(q, vmid, mmMMHUB_VM_INVALIDATE_ENG17_SEM,
              mmMMHUB_VM_INVALIDATE_ENG17_REQ, mmMMHUB_VM_INVALIDATE_ENG17_ACK);
}

static void wr_pair(QVkfd *q, uint32_t lo_reg, unsigned n, uint64_t val)
{
    qvkfd_wr_check(q, lo_reg + 2 * n, (uint32_t)val);
    qvkfd_wr_check(q, lo_reg + 2 * n + 1, val >> 32);
}

void qvkfd_gpuvm_init(QVkfd *q)
{
    static const struct {
        uint32_t ctl, base, start, end;
    } hub[] = {
        { mmVM_CONTEXT0_CNTL, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
          mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32,
          mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 },
        { mmMMHUB_VM_CONTEXT0_CNTL,
          mmMMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
          mmMMHUB_VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32,
          mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 },
    };
    unsigned pages = QVKFD_GART_SIZE / AMDGPU_GPU_PAGE_SIZE, i, h;
    g_autofree uint64_t *gart = g_new(uint64_t, pages);
    uint32_t fb_base = qvkfd_rd(q, mmMMHUB_MC_VM_FB_LOCATION_BASE);
    uint32_t fb_top = qvkfd_rd(q, mmMMHUB_MC_VM_FB_LOCATION_TOP);
    uint32_t ctl1 = VM_CONTEXT0_CNTL__ENABLE_CONTEXT_MASK |
                    3u << VM_CONTEXT0_CNTL__PAGE_TABLE_DEPTH__SHIFT |
        VM_CONTEXT0_CNTL__RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
        VM_CONTEXT0_CNTL__DUMMY_PAGE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
        VM_CONTEXT0_CNTL__PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
        VM_CONTEXT0_CNTL__VALID_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
        VM_CONTEXT0_CNTL__READ_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
        VM_CONTEXT0_CNTL__WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
        VM_CONTEXT0_CNTL__EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK;

    q->vram_next = QVKFD_PT_FIRST;
    memset(q->root, 0, sizeof(q->root));

    /* As amdgpu: the MM hub has what the VBIOS left, the GC hub gets a copy. */
    qvkfd_wr_check(q, mmMC_VM_FB_LOCATION_BASE, fb_base);
    qvkfd_wr_check(q, mmMC_VM_FB_LOCATION_TOP, fb_top);

    for (i = 0; i < pages; i++) {
        gart[i] = cpu_to_le64((uint64_t)i * AMDGPU_GPU_PAGE_SIZE |
                              PTE_SYSTEM_RW);
    }
    qpci_memwrite(&q->dev, q->vram, QVKFD_GART_TABLE, gart, pages * 8);

    for (h = 0; h < ARRAY_SIZE(hub); h++) {
        wr_pair(q, hub[h].base, 0, QVKFD_GART_TABLE | AMDGPU_PTE_VALID);
        wr_pair(q, hub[h].start, 0, QVKFD_GART_BASE >> 12);
        wr_pair(q, hub[h].end, 0, (QVKFD_GART_BASE >> 12) + pages - 1);
        qvkfd_wr_check(q, hub[h].ctl, (ctl1 &
            ~VM_CONTEXT0_CNTL__PAGE_TABLE_DEPTH_MASK));
        for (i = VKFD_KFD_VMID_FIRST; i <= VKFD_KFD_VMID_LAST; i++) {
            wr_pair(q, hub[h].start, i, 0);
            wr_pair(q, hub[h].end, i, (1ull << 36) - 1);
            qvkfd_wr_check(q, hub[h].ctl + i, ctl1);
        }
    }
    qvkfd_flush(q, 0);
}

void qvkfd_vmid_init(QVkfd *q, unsigned vmid)
{
    static const uint32_t base[] = {
        mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
        mmMMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
    };
    unsigned h, i;

    q->root[vmid] = new_table(q);
    for (h = 0; h < ARRAY_SIZE(base); h++) {
        wr_pair(q, base[h], vmid, q->root[vmid] | AMDGPU_PTE_VALID);
        qvkfd_wr(q, mmATC_VMID0_PASID_MAPPING + vmid + 16 * h,
                 QVKFD_PASID(vmid) | ATC_VMID0_PASID_MAPPING__VALID_MASK);
        for (i = 0; !(qvkfd_rd(q, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS) &
                      1u << (vmid + 16 * h)); i++) {
            g_assert_cmpuint(i, <, QVKFD_SPIN);
        }
        qvkfd_wr(q, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS,
                 1u << (vmid + 16 * h));
    }
    qvkfd_wr_check(q, mmIH_VMID_0_LUT + vmid, QVKFD_PASID(vmid));
    qvkfd_wr_check(q, mmIH_VMID_0_LUT_MM + vmid, QVKFD_PASID(vmid));
    qvkfd_flush(q, vmid);
}

uint64_t qvkfd_alloc(QVkfd *q, unsigned vmid, size_t size)
{
    uint64_t gpa;

    size = QEMU_ALIGN_UP(size, AMDGPU_GPU_PAGE_SIZE);
    gpa = guest_alloc(q->alloc, size);
    g_assert_cmphex(gpa + size, <=, QVKFD_GART_SIZE);
    qtest_memset(qvkfd_qts(q), gpa, 0, size);
    if (vmid) {
        qvkfd_map(q, vmid, qvkfd_va(vmid, gpa), gpa,
                  size / AMDGPU_GPU_PAGE_SIZE, PTE_SYSTEM_RW);
        qvkfd_flush(q, vmid);
    }
    return gpa;
}

/* Interrupts */

void qvkfd_ih_init(QVkfd *q, unsigned log2_dw, uint32_t extra)
{
    uint64_t mem;
    uint32_t cntl;

    q->ih_size = 4u << log2_dw;
    mem = qvkfd_alloc(q, 0, q->ih_size + 4);
    q->ih_ring = mem;
    q->ih_wptr = mem + q->ih_size;

    qvkfd_wr_check(q, mmIH_RB_BASE, mem >> 8);
    qvkfd_wr_check(q, mmIH_RB_BASE_HI, mem >> 40);
    cntl = IH_RB_CNTL__RB_ENABLE_MASK | IH_RB_CNTL__ENABLE_INTR_MASK |
           log2_dw << IH_RB_CNTL__RB_SIZE__SHIFT |
           IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK |
           IH_RB_CNTL__WPTR_OVERFLOW_ENABLE_MASK |
           IH_RB_CNTL__MC_SNOOP_MASK |
           1u << IH_RB_CNTL__MC_SPACE__SHIFT | extra;
    qvkfd_wr_check(q, mmIH_RB_WPTR_ADDR_LO, (uint32_t)q->ih_wptr);
    qvkfd_wr_check(q, mmIH_RB_WPTR_ADDR_HI, q->ih_wptr >> 32);
    qvkfd_wr(q, mmIH_RB_RPTR, 0);
    qvkfd_wr(q, mmIH_RB_WPTR, 0);
    qvkfd_wr_check(q, mmIH_DOORBELL_RPTR,
                   VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH) |
                   IH_DOORBELL_RPTR__ENABLE_MASK);
    qvkfd_wr_check(q, mmBIF_IH_DOORBELL_RANGE,
                   VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH) << 2 | 8u << 16);
    qvkfd_wr_check(q, mmIH_RB_CNTL, cntl);
}

void qvkfd_ih_entry(QVkfd *q, uint32_t byte_off, uint32_t e[8])
{
    unsigned i;

    qtest_memread(qvkfd_qts(q), q->ih_ring + byte_off, e, VKFD_IH_ENTRY_SIZE);
    for (i = 0; i < VKFD_IH_ENTRY_DW; i++) {
        e[i] = le32_to_cpu(e[i]);
    }
}

void qvkfd_ih_set_rptr(QVkfd *q, uint32_t byte_off)
{
    qpci_io_writel(&q->dev, q->doorbell,
                   VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH) * 4, byte_off);
}

void qvkfd_msix_init(QVkfd *q)
{
    uint64_t entry = VKFD_MSIX_TABLE_OFFSET;
    uint8_t cap = qpci_find_capability(&q->dev, PCI_CAP_ID_MSIX, 0);
    uint16_t flags;

    g_assert_cmphex(cap, !=, 0);
    q->msi = qvkfd_alloc(q, 0, 4);
    qpci_io_writel(&q->dev, q->ctrl, entry + PCI_MSIX_ENTRY_LOWER_ADDR, q->msi);
    qpci_io_writel(&q->dev, q->ctrl, entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
    qpci_io_writel(&q->dev, q->ctrl, entry + PCI_MSIX_ENTRY_DATA,
                   QVKFD_MSI_DATA);
    qvkfd_msix_mask(q, false);
    flags = qpci_config_readw(&q->dev, cap + PCI_MSIX_FLAGS);
    flags = (flags | PCI_MSIX_FLAGS_ENABLE) & ~PCI_MSIX_FLAGS_MASKALL;
    qpci_config_writew(&q->dev, cap + PCI_MSIX_FLAGS, flags);
    g_assert_cmphex(qpci_config_readw(&q->dev, cap + PCI_MSIX_FLAGS), ==,
                    flags);
}

void qvkfd_msix_mask(QVkfd *q, bool masked)
{
    qpci_io_writel(&q->dev, q->ctrl,
                   VKFD_MSIX_TABLE_OFFSET + PCI_MSIX_ENTRY_VECTOR_CTRL,
                   masked ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

bool qvkfd_msix_pending(QVkfd *q)
{
    return qpci_io_readl(&q->dev, q->ctrl, VKFD_MSIX_PBA_OFFSET) & 1;
}

void qvkfd_cp_init(QVkfd *q)
{
    uint32_t ints = CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE_MASK |
                    CP_ME1_PIPE0_INT_CNTL__OPCODE_ERROR_INT_ENABLE_MASK |
                    CP_ME1_PIPE0_INT_CNTL__PRIV_REG_INT_ENABLE_MASK;
    unsigned i;

    for (i = 0; i < VKFD_NUM_ME * VKFD_PIPES_PER_ME; i++) {
        qvkfd_wr_check(q, mmCP_ME1_PIPE0_INT_CNTL + i, ints);
    }
    qvkfd_wr_check(q, mmCP_MEC_CNTL, 0);
}

void qvkfd_start(QVkfd *q)
{
    qvkfd_cp_init(q);
    qvkfd_gpuvm_init(q);
    qvkfd_vmid_init(q, 8);
    qvkfd_vmid_init(q, 9);
    qvkfd_msix_init(q);
    qvkfd_ih_init(q, 10, 0);
}

/* Queues */

uint32_t qvkfd_hqd_rd(QVkfdQueue *u, uint32_t reg)
{
    qvkfd_select(u->q, u->me, u->pipe, u->queue, 0);
    return qvkfd_rd(u->q, reg);
}

void qvkfd_hqd_wr(QVkfdQueue *u, uint32_t reg, uint32_t val)
{
    qvkfd_select(u->q, u->me, u->pipe, u->queue, 0);
    qvkfd_wr(u->q, reg, val);
}

void qvkfd_queue_init(QVkfd *q, QVkfdQueue *u, unsigned me, unsigned pipe,
                      unsigned queue, unsigned vmid, unsigned log2_dw)
{
    unsigned id = ((me - 1) * VKFD_PIPES_PER_ME + pipe) * VKFD_QUEUES_PER_PIPE
                  + queue;
    uint64_t slice = VKFD_DOORBELL_KERNEL_SIZE;
    uint64_t ptrs;

    if (vmid) {
        slice += (vmid - VKFD_KFD_VMID_FIRST) * VKFD_DOORBELL_SLICE_SIZE;
    } else {
        slice = 0;
        id += AMDGPU_VEGA20_DOORBELL_USERQUEUE_START;
    }
    *u = (QVkfdQueue) {
        .q = q, .me = me, .pipe = pipe, .queue = queue, .vmid = vmid,
        .size_dw = 1u << log2_dw,
        .doorbell_dw = slice / 4 + VKFD_DOORBELL_DW(id),
    };
    u->ring = qvkfd_alloc(q, vmid, 4u << log2_dw);
    ptrs = qvkfd_alloc(q, vmid, 4096);
    u->rptr = ptrs;
    u->wptr_mem = ptrs + 64;
}

void qvkfd_queue_activate(QVkfdQueue *u)
{
    qvkfd_hqd_wr(u, mmCP_HQD_ACTIVE, 1);
    g_assert_cmphex(qvkfd_rd(u->q, mmCP_HQD_ACTIVE) & 1, ==, 1);
}

void qvkfd_queue_load(QVkfdQueue *u)
{
    uint32_t hqd[V9_MQD_HQD_DW] = { 0 };
    uint64_t ring = qvkfd_va(u->vmid, u->ring);
    uint64_t rptr = qvkfd_va(u->vmid, u->rptr);
    uint64_t wptr = qvkfd_va(u->vmid, u->wptr_mem);
    unsigned i;

#define HQD(reg) hqd[(reg) - mmCP_MQD_BASE_ADDR]
    HQD(mmCP_HQD_VMID) = u->vmid;
    HQD(mmCP_HQD_PERSISTENT_STATE) =
        0x53u << CP_HQD_PERSISTENT_STATE__PRELOAD_SIZE__SHIFT;
    HQD(mmCP_HQD_QUANTUM) = 0x111;
    HQD(mmCP_HQD_PQ_BASE) = ring >> 8;
    HQD(mmCP_HQD_PQ_BASE_HI) = ring >> 40;
    HQD(mmCP_HQD_PQ_RPTR_REPORT_ADDR) = rptr;
    HQD(mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI) = rptr >> 32;
    HQD(mmCP_HQD_PQ_WPTR_POLL_ADDR) = wptr;
    HQD(mmCP_HQD_PQ_WPTR_POLL_ADDR_HI) = wptr >> 32;
    HQD(mmCP_HQD_PQ_DOORBELL_CONTROL) =
        u->doorbell_dw << CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET__SHIFT |
        CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK;
    HQD(mmCP_HQD_PQ_CONTROL) = (ctz32(u->size_dw) - 1) |
        5u << CP_HQD_PQ_CONTROL__RPTR_BLOCK_SIZE__SHIFT |
        CP_HQD_PQ_CONTROL__UNORD_DISPATCH_MASK;
    HQD(mmCP_HQD_IB_CONTROL) =
        3u << CP_HQD_IB_CONTROL__MIN_IB_AVAIL_SIZE__SHIFT |
        CP_HQD_IB_CONTROL__IB_EXE_DISABLE_MASK;
    HQD(mmCP_MQD_CONTROL) = CP_MQD_CONTROL__PRIV_STATE_MASK;
#undef HQD

    u->wptr = 0;
    qtest_writeq(qvkfd_qts(u->q), u->wptr_mem, 0);
    qvkfd_select(u->q, u->me, u->pipe, u->queue, 0);
    g_assert_cmphex(qvkfd_rd(u->q, mmCP_HQD_ACTIVE) & 1, ==, 0);
    for (i = 0; i < V9_MQD_HQD_DW; i++) {
        qvkfd_wr(u->q, mmCP_MQD_BASE_ADDR + i, hqd[i]);
    }
    qvkfd_queue_activate(u);
}

void qvkfd_queue_dequeue(QVkfdQueue *u, unsigned how)
{
    unsigned i;

    qvkfd_hqd_wr(u, mmCP_HQD_DEQUEUE_REQUEST, how);
    for (i = 0; qvkfd_rd(u->q, mmCP_HQD_ACTIVE) & 1; i++) {
        g_assert_cmpuint(i, <, QVKFD_SPIN);
    }
}

void qvkfd_emit(QVkfdQueue *u, uint32_t dw)
{
    qtest_writel(qvkfd_qts(u->q),
                 u->ring + (u->wptr & (u->size_dw - 1)) * 4, dw);
    u->wptr++;
}

void qvkfd_kick(QVkfdQueue *u)
{
    qtest_writeq(qvkfd_qts(u->q), u->wptr_mem, u->wptr);
    qvkfd_ring_doorbell(u->q, u->doorbell_dw, u->wptr);
}

/* Packets */

unsigned qvkfd_pm4_write(uint32_t *dw, uint64_t va, uint32_t val)
{
    dw[0] = PACKET3_COMPUTE(IT_WRITE_DATA, 4);
    dw[1] = WRITE_DATA_DST_MEM << WRITE_DATA__DST_SEL__SHIFT |
            WRITE_DATA__WR_CONFIRM;
    dw[2] = va;
    dw[3] = va >> 32;
    dw[4] = val;
    return 5;
}

unsigned qvkfd_pm4_release(uint32_t *dw, uint64_t va, uint64_t data,
                           unsigned data_sel, unsigned int_sel, uint32_t ctx)
{
    dw[0] = PACKET3_COMPUTE(IT_RELEASE_MEM, 7);
    dw[1] = CACHE_FLUSH_AND_INV_TS_EVENT |
            EVENT_INDEX_EOP << EVENT__INDEX__SHIFT |
            RELEASE_MEM__TC_WB_ACTION | RELEASE_MEM__TC_ACTION;
    dw[2] = data_sel << RELEASE_MEM__DATA_SEL__SHIFT |
            int_sel << RELEASE_MEM__INT_SEL__SHIFT;
    dw[3] = va;
    dw[4] = va >> 32;
    dw[5] = data;
    dw[6] = data >> 32;
    dw[7] = ctx;
    return 8;
}

unsigned qvkfd_pm4_wait(uint32_t *dw, uint64_t va, uint32_t ref, unsigned func)
{
    dw[0] = PACKET3_COMPUTE(IT_WAIT_REG_MEM, 6);
    dw[1] = func | WAIT_REG_MEM_SPACE_MEM << WAIT_REG_MEM__MEM_SPACE__SHIFT;
    dw[2] = va;
    dw[3] = va >> 32;
    dw[4] = ref;
    dw[5] = ~0u;
    dw[6] = 4;
    return 7;
}

unsigned qvkfd_pm4_ib(uint32_t *dw, uint64_t va, uint32_t size_dw,
                      unsigned vmid)
{
    dw[0] = PACKET3_COMPUTE(IT_INDIRECT_BUFFER, 3);
    dw[1] = va;
    dw[2] = va >> 32;
    dw[3] = size_dw | INDIRECT_BUFFER__VALID |
            vmid << INDIRECT_BUFFER__VMID__SHIFT;
    return 4;
}

void qvkfd_emit_n(QVkfdQueue *u, const uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        qvkfd_emit(u, dw[i]);
    }
}

void qvkfd_emit_write(QVkfdQueue *u, uint64_t va, uint32_t val)
{
    uint32_t dw[8];

    qvkfd_emit_n(u, dw, qvkfd_pm4_write(dw, va, val));
}

void qvkfd_emit_release(QVkfdQueue *u, uint64_t va, uint64_t data,
                        unsigned int_sel, uint32_t ctx)
{
    uint32_t dw[8];

    qvkfd_emit_n(u, dw, qvkfd_pm4_release(dw, va, data, RELEASE_MEM_DATA_64,
                                          int_sel, ctx));
}

void qvkfd_emit_wait(QVkfdQueue *u, uint64_t va, uint32_t ref)
{
    uint32_t dw[8];

    qvkfd_emit_n(u, dw, qvkfd_pm4_wait(dw, va, ref, WAIT_REG_MEM_EQ));
}

/* Waiting */

static void wait_mem(QVkfd *q, uint64_t gpa, uint32_t val, bool clock)
{
    uint32_t got = 0;
    unsigned i;

    for (i = 0; i < QVKFD_SPIN; i++) {
        got = qtest_readl(qvkfd_qts(q), gpa);
        if (got == val) {
            return;
        }
        if (clock) {
            qtest_clock_step(qvkfd_qts(q), QVKFD_CLOCK_STEP_NS);
        }
    }
    g_test_message("0x%" PRIx64 " holds 0x%x, not 0x%x", gpa, got, val);
    g_assert_cmphex(got, ==, val);
}

void qvkfd_wait_mem(QVkfd *q, uint64_t gpa, uint32_t val)
{
    wait_mem(q, gpa, val, false);
}

void qvkfd_wait_mem_clock(QVkfd *q, uint64_t gpa, uint32_t val)
{
    wait_mem(q, gpa, val, true);
}

void qvkfd_wait_counter(QVkfd *q, unsigned which, uint64_t val)
{
    uint64_t got = 0;
    unsigned i;

    for (i = 0; i < QVKFD_SPIN; i++) {
        got = qvkfd_counter(q, which);
        if (got >= val) {
            break;
        }
    }
    g_assert_cmpuint(got, ==, val);
}

void qvkfd_wait_msi(QVkfd *q)
{
    qvkfd_wait_mem(q, q->msi, QVKFD_MSI_DATA);
    qtest_writel(qvkfd_qts(q), q->msi, 0);
}

void qvkfd_settle(QVkfd *q)
{
    QVkfdQueue u;
    uint64_t mark = qvkfd_alloc(q, 0, 4);

    qvkfd_queue_init(q, &u, 2, 3, 7, 0, 8);
    qvkfd_queue_load(&u);
    qvkfd_emit_write(&u, qvkfd_va(0, mark), 1);
    qvkfd_kick(&u);
    qvkfd_wait_mem(q, mark, 1);
    qvkfd_queue_dequeue(&u, VKFD_DEQUEUE_RESET_WAVES);
    guest_free(q->alloc, mark);
    guest_free(q->alloc, u.ring);
    guest_free(q->alloc, u.rptr);
}

/* The node */

void qvkfd_map_bars(QVkfd *q)
{
    q->dev.bus->mmio_alloc_ptr = q->mmio_base;
    qpci_device_enable(&q->dev);
    q->vram = qpci_iomap(&q->dev, VKFD_BAR_VRAM, &q->vram_size);
    q->doorbell = qpci_iomap(&q->dev, VKFD_BAR_DOORBELL, NULL);
    q->mmio = qpci_iomap(&q->dev, VKFD_BAR_MMIO, NULL);
    q->ctrl = qpci_iomap(&q->dev, VKFD_BAR_CONTROL, NULL);
}

void qvkfd_attach(QVkfd *q, QPCIBus *bus, int devfn, QGuestAllocator *alloc)
{
    QPCIAddress addr = {
        .devfn = devfn,
        .vendor_id = VKFD_PCI_VENDOR_ID,
        .device_id = VKFD_PCI_DEVICE_ID,
    };

    qpci_device_init(&q->dev, bus, &addr);
    q->alloc = alloc;
    q->mmio_base = bus->mmio_alloc_ptr;
    qvkfd_map_bars(q);
}

static void *qvkfd_get_driver(void *obj, const char *interface)
{
    QVkfd *q = obj;

    if (!g_strcmp0(interface, "pci-device")) {
        return &q->dev;
    }
    fprintf(stderr, "%s not present in vkfd\n", interface);
    g_assert_not_reached();
}

static void *qvkfd_create(void *pci_bus, QGuestAllocator *alloc, void *addr)
{
    QVkfd *q = g_new0(QVkfd, 1);
    QPCIAddress *a = addr;

    qvkfd_attach(q, pci_bus, a->devfn, alloc);
    q->obj.get_driver = qvkfd_get_driver;
    return &q->obj;
}

static void qvkfd_register_nodes(void)
{
    QPCIAddress addr = {
        .devfn = QPCI_DEVFN(4, 0),
        .vendor_id = VKFD_PCI_VENDOR_ID,
        .device_id = VKFD_PCI_DEVICE_ID,
    };
    /*
     * 256 MiB: libqos maps BARs between 3.5 and 4 GiB. No other device, so no
     * option ROM of one is needed.
     */
    QOSGraphEdgeOptions opts = {
        .before_cmd_line = "-vga none -nic none",
        .extra_device_opts = "addr=04.0,id=vkfd0,vram-size=256M",
    };

    add_qpci_address(&opts, &addr);
    qos_node_create_driver("vkfd", qvkfd_create);
    qos_node_consumes("vkfd", "pci-bus", &opts);
    qos_node_produces("vkfd", "pci-device");
}

libqos_init(qvkfd_register_nodes);
