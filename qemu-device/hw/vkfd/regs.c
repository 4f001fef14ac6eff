/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The register file of BAR5: which block a register belongs to, what can be
 * written, reset values, and the one hook every access goes through, whether it
 * comes by MMIO or by a packet.
 *
 * A register is modelled (its block decides), storage (an image with a mask), or
 * not modelled: then it reads 0, ignores writes, and the access is counted and
 * listed. Offsets, names and reset values: AMD's asic_reg headers.
 */
#include "engine-priv.h"

#include <vkfd/gpuvm.h>
#include <vkfd/regs_ih.h>
#include <vkfd/regs_nbio.h>
#include <vkfd/regs_sdma.h>
#include <vkfd/regs_vm.h>

typedef enum RegKind {
    STORE,              /* image, mask says which bits can be written */
    RO,                 /* image, never written */
    NBIO,
    GRBM,
    HQD_BANK,
    IH,
    HUB,
    CLOCK,
    SDMA,
} RegKind;

typedef struct RegRange {
    uint32_t first, last;       /* dword indices, inclusive */
    RegKind kind;
    uint32_t mask;              /* writable bits (STORE) */
} RegRange;

#define ALL             0xffffffffu
#define REG(r, k, m)    { mm##r, mm##r, k, m }
#define REGS(a, b, k, m) { mm##a, mm##b, k, m }
#define CTX_PAIRS(n)    ((n) * 2 - 1)
/* Registers of SDMA engine n; of its queue block b, which have gaps in between. */
#define SDMA_REGS(n, first, last) \
    { mmSDMA0_##first + (n) * VKFD_SDMA_ENGINE_STRIDE, \
      mmSDMA0_##last + (n) * VKFD_SDMA_ENGINE_STRIDE, SDMA, 0 }
#define SDMA_QUEUE_REGS(n, b, first, last) \
    { mmSDMA0_GFX_##first + (n) * VKFD_SDMA_ENGINE_STRIDE + \
      (b) * VKFD_SDMA_QUEUE_STRIDE, \
      mmSDMA0_GFX_##last + (n) * VKFD_SDMA_ENGINE_STRIDE + \
      (b) * VKFD_SDMA_QUEUE_STRIDE, SDMA, 0 }
#define SDMA_QUEUE(n, b, last) \
    SDMA_QUEUE_REGS(n, b, RB_CNTL, last), \
    SDMA_QUEUE_REGS(n, b, STATUS, CSA_ADDR_HI), \
    SDMA_QUEUE_REGS(n, b, IB_SUB_REMAIN, MINOR_PTR_UPDATE), \
    SDMA_QUEUE_REGS(n, b, MIDCMD_DATA0, MIDCMD_CNTL)
#define SDMA_ENGINE(n) \
    SDMA_REGS(n, UCODE_ADDR, UCODE_DATA), \
    SDMA_REGS(n, VM_CNTL, MMHUB_CNTL), \
    SDMA_REGS(n, CONTEXT_GROUP_BOUNDARY, F32_COUNTER), \
    SDMA_REGS(n, PERFMON_CNTL, CRD_CNTL), \
    SDMA_REGS(n, GPU_IOV_VIOLATION_LOG, ULV_CNTL), \
    SDMA_REGS(n, EA_DBIT_ADDR_DATA, EA_DBIT_ADDR_INDEX), \
    SDMA_QUEUE(n, 0, CONTEXT_CNTL), SDMA_QUEUE(n, 1, DOORBELL), \
    SDMA_QUEUE(n, 2, DOORBELL), SDMA_QUEUE(n, 3, DOORBELL), \
    SDMA_QUEUE(n, 4, DOORBELL), SDMA_QUEUE(n, 5, DOORBELL), \
    SDMA_QUEUE(n, 6, DOORBELL), SDMA_QUEUE(n, 7, DOORBELL), \
    SDMA_QUEUE(n, 8, DOORBELL), SDMA_QUEUE(n, 9, DOORBELL)

/* Sorted by offset: looked up by bisection, checked by the unit tests. */
static const RegRange ranges[] = {
    REGS(MM_INDEX, MM_DATA, NBIO, 0),
    REG(MM_INDEX_HI, NBIO, 0),
    REGS(PCIE_INDEX, PCIE_DATA2, NBIO, 0),
    { mmBIOS_SCRATCH_0, mmBIOS_SCRATCH_0 + 15, STORE, ALL },
    REG(ATHUB_MISC_CNTL, STORE, ALL),
    REG(ATC_VMID_PASID_MAPPING_UPDATE_STATUS, HUB, 0),
    { mmATC_VMID0_PASID_MAPPING, mmATC_VMID0_PASID_MAPPING + 31, HUB, 0 },
    REG(RCC_DEV0_EPF0_STRAP0, RO, 0),
    REG(RCC_DOORBELL_APER_EN, STORE, ALL),
    REG(RCC_CONFIG_MEMSIZE, RO, 0),
    REG(RCC_IOV_FUNC_IDENTIFIER, RO, 0),
    REGS(INTERRUPT_CNTL, DOORBELL_SELFRING_GPA_APER_CNTL, STORE, ALL),
    REG(BIF_DOORBELL_INT_CNTL, STORE, ALL),
    REG(BIF_FB_EN, STORE, ALL),
    REG(GPU_HDP_FLUSH_REQ, NBIO, 0),
    REG(GPU_HDP_FLUSH_DONE, RO, 0),
    REGS(REMAP_HDP_MEM_FLUSH_CNTL, REMAP_HDP_REG_FLUSH_CNTL, STORE, ALL),
    REGS(BIF_SDMA0_DOORBELL_RANGE, BIF_MMSCH0_DOORBELL_RANGE, STORE,
         BIF_SDMA0_DOORBELL_RANGE__OFFSET_MASK |
         BIF_SDMA0_DOORBELL_RANGE__SIZE_MASK),
    REG(HDP_NONSURFACE_BASE, STORE, ALL),
    REG(HDP_NONSURFACE_BASE_HI, STORE, ALL),
    REG(HDP_HOST_PATH_CNTL, STORE, ALL),
    REG(HDP_READ_CACHE_INVALIDATE, STORE, ALL),
    REG(HDP_MISC_CNTL, STORE, ALL),
    { mmIH_VMID_0_LUT, mmIH_VMID_0_LUT_MM + 15, STORE, IH_VMID_0_LUT__PASID_MASK },
    REGS(IH_RB_CNTL, IH_DOORBELL_RPTR, IH, 0),
    REGS(IH_RB_CNTL_RING1, IH_RB_WPTR_RING1, STORE, ALL),
    REG(IH_DOORBELL_RPTR_RING1, STORE, ALL),
    REGS(IH_RB_CNTL_RING2, IH_RB_WPTR_RING2, STORE, ALL),
    REG(IH_DOORBELL_RPTR_RING2, STORE, ALL),
    REGS(IH_CNTL, IH_CNTL2, STORE, ALL),
    REG(IH_STATUS, IH, 0),
    REG(IH_INT_FLOOD_CNTL, STORE, ALL),
    REG(IH_STORM_CLIENT_LIST_CNTL, STORE, ALL),
    SDMA_ENGINE(0),
    SDMA_ENGINE(1),
    REG(GRBM_STATUS2, RO, 0),
    REG(GRBM_STATUS, RO, 0),
    { mmGRBM_STATUS_SE0, mmGRBM_STATUS_SE0 + 1, RO, 0 },
    REG(GRBM_SOFT_RESET, GRBM, 0),
    REG(GRBM_GFX_CNTL, STORE,
        GRBM_GFX_CNTL__PIPEID_MASK | GRBM_GFX_CNTL__MEID_MASK |
        GRBM_GFX_CNTL__VMID_MASK | GRBM_GFX_CNTL__QUEUEID_MASK),
    REG(CP_CPC_STATUS, RO, 0),
    REG(CP_CPF_STATUS, RO, 0),
    REG(CP_MEC_CNTL, GRBM, 0),
    REG(CP_STAT, RO, 0),
    REG(CC_GC_SHADER_ARRAY_CONFIG, GRBM, 0),
    REG(GC_USER_SHADER_ARRAY_CONFIG, STORE,
        CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS_MASK),
    REG(SH_MEM_BASES, GRBM, 0),
    REG(SH_MEM_CONFIG, GRBM, 0),
    REGS(SQ_SHADER_TBA_LO, SQ_SHADER_TMA_HI, GRBM, 0),
    REG(CC_RB_BACKEND_DISABLE, RO, 0),
    REG(GB_ADDR_CONFIG, STORE, ALL),
    REG(GC_USER_RB_BACKEND_DISABLE, STORE, ALL),
    /* GFX hub */
    REGS(VM_L2_CNTL, VM_L2_CNTL3, STORE, ALL),
    REG(VM_L2_PROTECTION_FAULT_CNTL, HUB, 0),
    REG(VM_L2_PROTECTION_FAULT_CNTL2, STORE, ALL),
    REGS(VM_L2_PROTECTION_FAULT_STATUS, VM_L2_PROTECTION_FAULT_ADDR_HI32, RO, 0),
    REGS(VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
         VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32, STORE, ALL),
    REG(VM_L2_CNTL4, STORE, ALL),
    { mmVM_CONTEXT0_CNTL, mmVM_CONTEXT0_CNTL + 15, STORE, 0x007fffff },
    REGS(VM_INVALIDATE_ENG0_SEM, VM_INVALIDATE_ENG17_REQ, HUB, 0),
    REGS(VM_INVALIDATE_ENG0_ACK, VM_INVALIDATE_ENG17_ACK, RO, 0),
    { mmVM_INVALIDATE_ENG0_ADDR_RANGE_LO32,
      mmVM_INVALIDATE_ENG0_ADDR_RANGE_LO32 + CTX_PAIRS(18), STORE, ALL },
    { mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
      mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + CTX_PAIRS(16), STORE, ALL },
    REG(MC_VM_FB_OFFSET, STORE, 0x00ffffff),
    REGS(MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB,
         MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB, STORE, ALL),
    REGS(MC_VM_XGMI_LFB_CNTL, MC_VM_XGMI_LFB_SIZE, RO, 0),
    REGS(MC_VM_FB_LOCATION_BASE, MC_VM_AGP_BASE, STORE, 0x00ffffff),
    REGS(MC_VM_SYSTEM_APERTURE_LOW_ADDR, MC_VM_MX_L1_TLB_CNTL, STORE, ALL),
    /* Compute SH registers: GRBM banks them by queue */
    { mmCOMPUTE_DISPATCH_INITIATOR, mmCOMPUTE_NOWHERE, HQD_BANK, 0 },
    REGS(CP_MEC_DOORBELL_RANGE_LOWER, CP_MEC_DOORBELL_RANGE_UPPER, STORE,
         0x0ffffffc),
    REG(CP_INT_CNTL_RING0, STORE, ALL),
    REG(CP_PQ_WPTR_POLL_CNTL, STORE, ALL),
    REG(CP_PQ_WPTR_POLL_CNTL1, GRBM, 0),
    REGS(CP_ME1_PIPE0_INT_CNTL, CP_ME2_PIPE3_INT_CNTL, STORE, ALL),
    REG(CPC_INT_CNTL, GRBM, 0),
    REG(CPC_INT_STATUS, STORE, ALL),
    REG(CP_PQ_STATUS, STORE,
        CP_PQ_STATUS__DOORBELL_UPDATED_MASK | CP_PQ_STATUS__DOORBELL_ENABLE_MASK),
    REG(SPI_COMPUTE_QUEUE_RESET, GRBM, 0),
    REGS(CP_MQD_BASE_ADDR, CP_HQD_PQ_WPTR_HI, HQD_BANK, 0),
    { mmSCRATCH_REG0, mmSCRATCH_REG7, STORE, ALL },
    REG(GRBM_GFX_INDEX, STORE, 0xe0ffffff),
    REG(RLC_CNTL, STORE, ALL),
    REG(RLC_STAT, RO, 0),
    REG(RLC_SAFE_MODE, GRBM, 0),
    REGS(RLC_GPU_CLOCK_COUNT_LSB, RLC_GPU_CLOCK_COUNT_MSB, RO, 0),
    REG(RLC_CAPTURE_GPU_CLOCK_COUNT, CLOCK, 0),
    REGS(RLC_SERDES_CU_MASTER_BUSY, RLC_SERDES_NONCU_MASTER_BUSY, RO, 0),
    REG(RLC_CP_SCHEDULERS, STORE, ALL),
    REGS(CP_MEC_ME1_UCODE_ADDR, CP_MEC_ME1_UCODE_DATA, STORE, ALL),
    /* MM hub: the same registers again */
    REGS(MMHUB_VM_L2_CNTL, MMHUB_VM_L2_CNTL3, STORE, ALL),
    REG(MMHUB_VM_L2_PROTECTION_FAULT_CNTL, HUB, 0),
    REG(MMHUB_VM_L2_PROTECTION_FAULT_CNTL2, STORE, ALL),
    REGS(MMHUB_VM_L2_PROTECTION_FAULT_STATUS,
         MMHUB_VM_L2_PROTECTION_FAULT_ADDR_HI32, RO, 0),
    REGS(MMHUB_VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
         MMHUB_VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32, STORE, ALL),
    REG(MMHUB_VM_L2_CNTL4, STORE, ALL),
    { mmMMHUB_VM_CONTEXT0_CNTL, mmMMHUB_VM_CONTEXT0_CNTL + 15, STORE, 0x007fffff },
    REGS(MMHUB_VM_INVALIDATE_ENG0_SEM, MMHUB_VM_INVALIDATE_ENG17_REQ, HUB, 0),
    REGS(MMHUB_VM_INVALIDATE_ENG0_ACK, MMHUB_VM_INVALIDATE_ENG17_ACK, RO, 0),
    { mmMMHUB_VM_INVALIDATE_ENG0_ADDR_RANGE_LO32,
      mmMMHUB_VM_INVALIDATE_ENG0_ADDR_RANGE_LO32 + CTX_PAIRS(18), STORE, ALL },
    { mmMMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
      mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + CTX_PAIRS(16), STORE, ALL },
    REG(MMHUB_MC_VM_FB_OFFSET, STORE, 0x00ffffff),
    REGS(MMHUB_MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB,
         MMHUB_MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB, STORE, ALL),
    REGS(MMHUB_MC_VM_XGMI_LFB_CNTL, MMHUB_MC_VM_XGMI_LFB_SIZE, RO, 0),
    REGS(MMHUB_MC_VM_FB_LOCATION_BASE, MMHUB_MC_VM_AGP_BASE, STORE, 0x00ffffff),
    REGS(MMHUB_MC_VM_SYSTEM_APERTURE_LOW_ADDR, MMHUB_MC_VM_MX_L1_TLB_CNTL,
         STORE, ALL),
    { VKFD_MMIO_REMAP_OFFSET / 4,
      (VKFD_MMIO_REMAP_OFFSET + VKFD_MMIO_REMAP_SIZE) / 4 - 1, NBIO, 0 },
};

#define NUM_RANGES      (sizeof(ranges) / sizeof(ranges[0]))

static const struct {
    uint32_t dw, val;
} reset_values[] = {
    { mmBIOS_SCRATCH_7, 0x200 },                /* ASIC_INIT_COMPLETE: posted */
    { mmGRBM_STATUS, 0x00003028 },              /* CB and DB clean, FIFO free */
    { mmGRBM_STATUS2, 0x00000008 },
    { mmCP_MEC_CNTL, CP_MEC_CNTL__MEC_ME1_HALT_MASK |
                     CP_MEC_CNTL__MEC_ME2_HALT_MASK },
    { mmGB_ADDR_CONFIG, 0x22014042 },           /* what amdgpu expects of Vega20 */
    { mmRLC_CNTL, RLC_CNTL__RLC_ENABLE_F32_MASK },
    { mmVM_L2_PROTECTION_FAULT_CNTL, 0x3ffffffc },
    { mmMMHUB_VM_L2_PROTECTION_FAULT_CNTL, 0x3ffffffc },
};

/* Reset value of VM_CONTEXTn_CNTL: all fault interrupts and default pages on. */
#define VM_CONTEXT_CNTL_RESET   0x007ffe80
/* Where the VBIOS leaves the framebuffer, in units of 16 MiB. */
#define FB_BASE                 (VKFD_FB_LOCATION_BASE >> 24)

static const RegRange *find_range(uint32_t dw)
{
    size_t lo = 0, hi = NUM_RANGES;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (dw < ranges[mid].first) {
            hi = mid;
        } else if (dw > ranges[mid].last) {
            lo = mid + 1;
        } else {
            return &ranges[mid];
        }
    }
    return NULL;
}

void vkfd_regs_reset(VKFDEngine *e)
{
    unsigned i;

    for (i = 0; i < sizeof(reset_values) / sizeof(reset_values[0]); i++) {
        e->regs[reset_values[i].dw] = reset_values[i].val;
    }
    for (i = 0; i < VKFD_NUM_VMID; i++) {
        e->regs[mmVM_CONTEXT0_CNTL + i] = VM_CONTEXT_CNTL_RESET;
        e->regs[mmMMHUB_VM_CONTEXT0_CNTL + i] = VM_CONTEXT_CNTL_RESET;
    }
    e->regs[mmRCC_CONFIG_MEMSIZE] = e->vram_size >> 20;
    if (e->hidden_vram) {
        e->regs[mmBIOS_SCRATCH_8] = VKFD_BIOS_SCRATCH_8__VALID_MASK |
            (uint32_t)((e->vram_size - e->hidden_vram) >> 20);
    }
    e->regs[mmMMHUB_MC_VM_FB_LOCATION_BASE] = FB_BASE;
    e->regs[mmMMHUB_MC_VM_FB_LOCATION_TOP] = FB_BASE + (e->vram_size >> 24) - 1;
    e->regs[mmCC_GC_SHADER_ARRAY_CONFIG] =
        (~((1u << e->cus) - 1) & 0xffff) <<
        CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS__SHIFT;
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        VKFDHqd *q = &e->hqd[i];

        HQD(q, CP_HQD_PERSISTENT_STATE) = 0x0be05301;
        HQD(q, CP_HQD_PQ_CONTROL) = 0x00308509;
        HQD(q, CP_HQD_IB_CONTROL) = 0x00300000;
        HQD(q, CP_HQD_HQ_STATUS0) = 0x40000000;
        HQD(q, CP_HQD_EOP_CONTROL) = 0x00000006;
        HQD(q, CP_HQD_EOP_RPTR) = 0x40000000;
        HQD(q, CP_HQD_EOP_WPTR) = 0x007f8000;
    }
}

/* Count an access nobody models; the first VKFD_UNMOD_MAX registers are listed. */
static void unmodelled(VKFDEngine *e, uint32_t dw, uint32_t val, bool write)
{
    VKFDUnmod *u = NULL;
    uint32_t i;

    e->counters[write ? VKFD_CNT_UNMODELLED_WRITE : VKFD_CNT_UNMODELLED_READ]++;
    vkfd_trace(e, VKFD_TRACE_REG_UNMODELLED, dw * 4, val, write, 0, 0, 0);
    for (i = 0; i < e->unmod_count && !u; i++) {
        if (e->unmod[i].reg == dw * 4) {
            u = &e->unmod[i];
        }
    }
    if (!u) {
        if (e->unmod_count == VKFD_UNMOD_MAX) {
            return;
        }
        u = &e->unmod[e->unmod_count++];
        *u = (VKFDUnmod) { .reg = dw * 4 };
    }
    if (write && u->writes != UINT32_MAX) {
        u->writes++;
    } else if (!write && u->reads != UINT32_MAX) {
        u->reads++;
    }
}

uint32_t vkfd_reg_read(VKFDEngine *e, uint32_t dw)
{
    const RegRange *r = find_range(dw);

    if (!r) {
        unmodelled(e, dw, 0, false);
        return 0;
    }
    switch (r->kind) {
    case NBIO:
        return vkfd_nbio_read(e, dw);
    case GRBM:
        return vkfd_grbm_read(e, dw);
    case HQD_BANK:
        return vkfd_hqd_read(e, dw);
    case IH:
        return vkfd_ih_read(e, dw);
    case HUB:
        return vkfd_hub_read(e, dw);
    case SDMA:
        return vkfd_sdma_reg_read(e, dw);
    case STORE:
    case RO:
    case CLOCK:
        break;
    }
    return e->regs[dw];
}

void vkfd_reg_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    const RegRange *r = find_range(dw);

    if (!r) {
        unmodelled(e, dw, val, true);
        return;
    }
    switch (r->kind) {
    case STORE:
        e->regs[dw] = (e->regs[dw] & ~r->mask) | (val & r->mask);
        break;
    case RO:
        break;
    case NBIO:
        vkfd_nbio_write(e, dw, val);
        break;
    case GRBM:
        vkfd_grbm_write(e, dw, val);
        break;
    case HQD_BANK:
        vkfd_hqd_write(e, dw, val);
        break;
    case IH:
        vkfd_ih_write(e, dw, val);
        break;
    case HUB:
        vkfd_hub_write(e, dw, val);
        break;
    case CLOCK:
        vkfd_clock_capture(e, val);
        break;
    case SDMA:
        vkfd_sdma_reg_write(e, dw, val);
        break;
    }
    vkfd_wait_reg_written(e);
}

bool vkfd_reg_user_ok(uint32_t dw, bool write)
{
    if ((dw >= mmSCRATCH_REG0 && dw <= mmSCRATCH_REG7) ||
        (dw >= mmCOMPUTE_DISPATCH_INITIATOR && dw <= mmCOMPUTE_NOWHERE) ||
        dw == mmGPU_HDP_FLUSH_REQ) {
        return true;
    }
    return !write && (dw == mmGPU_HDP_FLUSH_DONE || dw == mmGRBM_STATUS ||
                      dw == mmGRBM_STATUS2);
}

uint32_t vkfd_mmio_read(VKFDEngine *e, uint32_t off)
{
    uint32_t val;

    if ((off & 3) || off >= VKFD_MMIO_SIZE) {
        e->counters[VKFD_CNT_BAD_ACCESS]++;
        return 0;
    }
    if (vkfd_inject_gone(e)) {
        return UINT32_MAX;
    }
    val = vkfd_reg_read(e, off / 4);
    vkfd_trace(e, VKFD_TRACE_REG_READ, off, val, 0, 0, 0, 0);
    return val;
}

void vkfd_mmio_write(VKFDEngine *e, uint32_t off, uint32_t val)
{
    if ((off & 3) || off >= VKFD_MMIO_SIZE) {
        e->counters[VKFD_CNT_BAD_ACCESS]++;
        return;
    }
    if (vkfd_inject_gone(e)) {
        return;
    }
    vkfd_heard(e);
    vkfd_trace(e, VKFD_TRACE_REG_WRITE, off, val, 0, 0, 0, 0);
    vkfd_reg_write(e, off / 4, val);
}
