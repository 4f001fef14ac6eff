/* SPDX-License-Identifier: MIT */
/* Register file: reset values, masks, banks, windows, unmodelled accesses. */
#include "harness.h"

static void test_reset_values(void)
{
    Bus *b = bus_new();

    vkfd_engine_reset(b->e, true);
    CHECK_EQ(rd(b, mmRCC_CONFIG_MEMSIZE), VRAM_SIZE >> 20);
    CHECK_EQ(rd(b, mmBIOS_SCRATCH_7), 0x200);
    CHECK_EQ(rd(b, mmBIOS_SCRATCH_8), 0);
    CHECK_EQ(rd(b, mmRCC_IOV_FUNC_IDENTIFIER), 0);
    CHECK_EQ(rd(b, mmMMHUB_MC_VM_FB_LOCATION_BASE), 0x8000);
    CHECK_EQ(rd(b, mmMMHUB_MC_VM_FB_LOCATION_TOP), 0x8000 + VRAM_SIZE / (1 << 24) - 1);
    CHECK_EQ(rd(b, mmMC_VM_FB_LOCATION_BASE), 0);
    CHECK_EQ(rd(b, mmCP_MEC_CNTL), 0x50000000);
    CHECK_EQ(rd(b, mmCC_GC_SHADER_ARRAY_CONFIG), 0xfff00000);
    CHECK_EQ(rd(b, mmGRBM_STATUS), 0x3028);
    CHECK_EQ(rd(b, mmVM_CONTEXT0_CNTL + 5), 0x007ffe80);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_CONTROL), 0x00308509);
    CHECK_EQ(hqd_rd(b, 63, mmCP_HQD_EOP_WPTR), 0x007f8000);
    bus_free(b);
}

static void test_hidden_vram(void)
{
    Bus *b = bus_new();
    VKFDBusOps ops = b->e->ops;
    VKFDParams p = { .vram = b->vram, .vram_size = VRAM_SIZE, .cus = 16,
                     .hidden_vram = 4 << 20 };

    CHECK(vkfd_engine_init(b->e, &p, &ops, b));
    CHECK_EQ(rd(b, mmBIOS_SCRATCH_8), 0x80000000 | 12);
    CHECK_EQ(rd(b, mmCC_GC_SHADER_ARRAY_CONFIG), 0);
    p.cus = 17;
    CHECK(!vkfd_engine_init(b->e, &p, &ops, b));
    p.cus = 4;
    p.hidden_vram = VRAM_SIZE + (1 << 20);
    CHECK(!vkfd_engine_init(b->e, &p, &ops, b));
    bus_free(b);
}

/* One register of every range of the table is found by the look-up. */
static void test_all_modelled(void)
{
    static const uint32_t regs[] = {
        mmMM_INDEX, mmMM_DATA, mmMM_INDEX_HI, mmPCIE_INDEX, mmPCIE_DATA2,
        mmBIOS_SCRATCH_0, mmBIOS_SCRATCH_0 + 15, mmATHUB_MISC_CNTL,
        mmATC_VMID_PASID_MAPPING_UPDATE_STATUS, mmATC_VMID0_PASID_MAPPING,
        mmATC_VMID0_PASID_MAPPING + 31, mmRCC_DEV0_EPF0_STRAP0,
        mmRCC_DOORBELL_APER_EN, mmRCC_CONFIG_MEMSIZE,
        mmRCC_IOV_FUNC_IDENTIFIER, mmINTERRUPT_CNTL,
        mmDOORBELL_SELFRING_GPA_APER_CNTL, mmBIF_DOORBELL_INT_CNTL, mmBIF_FB_EN,
        mmGPU_HDP_FLUSH_REQ, mmGPU_HDP_FLUSH_DONE, mmREMAP_HDP_REG_FLUSH_CNTL,
        mmBIF_SDMA0_DOORBELL_RANGE, mmBIF_IH_DOORBELL_RANGE,
        mmBIF_MMSCH0_DOORBELL_RANGE, mmHDP_NONSURFACE_BASE,
        mmHDP_NONSURFACE_BASE_HI, mmHDP_HOST_PATH_CNTL,
        mmHDP_READ_CACHE_INVALIDATE, mmHDP_MISC_CNTL, mmIH_VMID_0_LUT,
        mmIH_VMID_0_LUT_MM + 15, mmIH_RB_CNTL, mmIH_DOORBELL_RPTR,
        mmIH_RB_CNTL_RING1, mmIH_DOORBELL_RPTR_RING1, mmIH_RB_WPTR_RING2,
        mmIH_DOORBELL_RPTR_RING2, mmIH_CNTL2, mmIH_STATUS, mmIH_INT_FLOOD_CNTL,
        mmIH_STORM_CLIENT_LIST_CNTL, mmGRBM_STATUS2, mmGRBM_STATUS,
        mmGRBM_STATUS_SE0, mmGRBM_SOFT_RESET, mmGRBM_GFX_CNTL, mmCP_CPC_STATUS,
        mmCP_CPF_STATUS, mmCP_MEC_CNTL, mmCP_STAT, mmCC_GC_SHADER_ARRAY_CONFIG,
        mmGC_USER_SHADER_ARRAY_CONFIG, mmSH_MEM_BASES, mmSH_MEM_CONFIG,
        mmSQ_SHADER_TBA_LO, mmSQ_SHADER_TMA_HI, mmCC_RB_BACKEND_DISABLE,
        mmGB_ADDR_CONFIG, mmGC_USER_RB_BACKEND_DISABLE, mmVM_L2_CNTL,
        mmVM_L2_PROTECTION_FAULT_CNTL, mmVM_L2_PROTECTION_FAULT_CNTL2,
        mmVM_L2_PROTECTION_FAULT_STATUS, mmVM_L2_PROTECTION_FAULT_ADDR_HI32,
        mmVM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32, mmVM_L2_CNTL4,
        mmVM_CONTEXT0_CNTL, mmVM_CONTEXT0_CNTL + 15, mmVM_INVALIDATE_ENG0_SEM,
        mmVM_INVALIDATE_ENG17_SEM, mmVM_INVALIDATE_ENG17_REQ,
        mmVM_INVALIDATE_ENG17_ACK, mmVM_INVALIDATE_ENG0_ADDR_RANGE_LO32,
        mmVM_INVALIDATE_ENG0_ADDR_RANGE_LO32 + 35,
        mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
        mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 30, mmMC_VM_FB_OFFSET,
        mmMC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB, mmMC_VM_XGMI_LFB_CNTL,
        mmMC_VM_FB_LOCATION_TOP, mmMC_VM_AGP_BASE, mmMC_VM_MX_L1_TLB_CNTL,
        mmCP_MEC_DOORBELL_RANGE_UPPER, mmCP_PQ_WPTR_POLL_CNTL,
        mmCP_PQ_WPTR_POLL_CNTL1, mmCP_ME1_PIPE0_INT_CNTL,
        mmCP_ME2_PIPE3_INT_CNTL, mmCPC_INT_CNTL, mmCPC_INT_STATUS,
        mmCP_PQ_STATUS, mmSCRATCH_REG0, mmSCRATCH_REG7, mmGRBM_GFX_INDEX,
        mmRLC_CNTL, mmRLC_STAT, mmRLC_SAFE_MODE, mmRLC_GPU_CLOCK_COUNT_LSB,
        mmRLC_CAPTURE_GPU_CLOCK_COUNT, mmRLC_SERDES_NONCU_MASTER_BUSY,
        mmRLC_CP_SCHEDULERS, mmCP_MEC_ME1_UCODE_DATA, mmMMHUB_VM_L2_CNTL,
        mmMMHUB_VM_L2_PROTECTION_FAULT_STATUS, mmMMHUB_VM_CONTEXT0_CNTL + 15,
        mmMMHUB_VM_INVALIDATE_ENG0_SEM, mmMMHUB_VM_INVALIDATE_ENG17_ACK,
        mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 30,
        mmMMHUB_MC_VM_FB_LOCATION_BASE, mmMMHUB_MC_VM_MX_L1_TLB_CNTL,
        mmMMHUB_MC_VM_XGMI_LFB_SIZE, mmMMHUB_MC_VM_FB_OFFSET,
        VKFD_MMIO_REMAP_OFFSET / 4, VKFD_MMIO_SIZE / 4 - 1,
        mmCOMPUTE_DISPATCH_INITIATOR, mmCOMPUTE_NOWHERE, mmCP_MQD_BASE_ADDR,
        mmCP_HQD_PQ_WPTR_HI,
    };
    Bus *b = bus_new();
    unsigned i;

    for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
        rd(b, regs[i]);
        if (counter(b, VKFD_CNT_UNMODELLED_READ)) {
            printf("# register 0x%05x\n", regs[i] * 4);
            break;
        }
    }
    CHECK_EQ(counter(b, VKFD_CNT_UNMODELLED_READ), 0);
    bus_free(b);
}

static void test_masks(void)
{
    Bus *b = bus_new();

    wr(b, mmGRBM_GFX_CNTL, 0xffffffff);
    CHECK_EQ(rd(b, mmGRBM_GFX_CNTL), 0x7ff);
    wr(b, mmBIF_IH_DOORBELL_RANGE, 0xffffffff);
    CHECK_EQ(rd(b, mmBIF_IH_DOORBELL_RANGE), 0x001f0ffc);
    wr(b, mmIH_VMID_0_LUT + 3, 0xffff1234);
    CHECK_EQ(rd(b, mmIH_VMID_0_LUT + 3), 0x1234);
    wr(b, mmRCC_CONFIG_MEMSIZE, 7);
    CHECK_EQ(rd(b, mmRCC_CONFIG_MEMSIZE), VRAM_SIZE >> 20);
    wr(b, mmSCRATCH_REG0, 0xdeadbeef);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0xdeadbeef);
    wr(b, mmRLC_SAFE_MODE, 0x3);
    CHECK_EQ(rd(b, mmRLC_SAFE_MODE), 0x2);
    hqd_wr(b, 5, mmCP_HQD_VMID, 0xffffffff);
    CHECK_EQ(hqd_rd(b, 5, mmCP_HQD_VMID), 0xf0f);
    hqd_wr(b, 5, mmCP_HQD_PQ_BASE_HI, 0xffffffff);
    CHECK_EQ(hqd_rd(b, 5, mmCP_HQD_PQ_BASE_HI), 0xff);
    wr(b, mmMC_VM_XGMI_LFB_CNTL, 1);
    CHECK_EQ(rd(b, mmMC_VM_XGMI_LFB_CNTL), 0);
    bus_free(b);
}

static void test_banks(void)
{
    Bus *b = bus_new();
    unsigned i;
    bool ok = true;

    for (i = 0; i < VKFD_NUM_HQD; i++) {
        hqd_wr(b, i, mmCP_MQD_BASE_ADDR, 0x1000 * (i + 1));
        wr(b, mmCOMPUTE_USER_DATA_0, i + 7);
    }
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        ok &= hqd_rd(b, i, mmCP_MQD_BASE_ADDR) == 0x1000 * (i + 1);
        ok &= rd(b, mmCOMPUTE_USER_DATA_0) == i + 7;
    }
    CHECK(ok);
    for (i = 0; i < 16; i++) {
        wr(b, mmGRBM_GFX_CNTL, i << 4);
        wr(b, mmSH_MEM_CONFIG, i * 3);
        wr(b, mmSQ_SHADER_TMA_HI, i * 5);
    }
    for (i = 0, ok = true; i < 16; i++) {
        wr(b, mmGRBM_GFX_CNTL, i << 4);
        ok &= rd(b, mmSH_MEM_CONFIG) == i * 3 && rd(b, mmSQ_SHADER_TMA_HI) == i * 5;
    }
    CHECK(ok);
    /* ME 0 and 3 have no compute queues. */
    wr(b, mmGRBM_GFX_CNTL, 0);
    wr(b, mmCP_MQD_BASE_ADDR, 0x5000);
    CHECK_EQ(rd(b, mmCP_MQD_BASE_ADDR), 0);
    wr(b, mmGRBM_GFX_CNTL, 3 << 2);
    CHECK_EQ(rd(b, mmCP_MQD_BASE_ADDR), 0);
    CHECK(counter(b, VKFD_CNT_GUEST_ERROR) >= 3);
    /* CPC_INT_CNTL is the selected pipe's enable register. */
    select_hqd(b, 32 + 8);
    wr(b, mmCPC_INT_CNTL, 0x04000000);
    CHECK_EQ(rd(b, mmCP_ME2_PIPE1_INT_CNTL), 0x04000000);
    CHECK(rd(b, mmCP_ME1_PIPE1_INT_CNTL) != 0x04000000);
    /* Only SE 0, SH 0 has CUs. */
    wr(b, mmGRBM_GFX_INDEX, 1 << 16);
    CHECK_EQ(rd(b, mmCC_GC_SHADER_ARRAY_CONFIG), 0xffff0000);
    wr(b, mmGRBM_GFX_INDEX, 0xe0000000);
    CHECK_EQ(rd(b, mmCC_GC_SHADER_ARRAY_CONFIG), 0xfff00000);
    bus_free(b);
}

static void test_windows(void)
{
    Bus *b = bus_new();
    unsigned i;

    wr(b, mmMM_INDEX, 0x80000000 | 0x1230);
    wr(b, mmMM_INDEX_HI, 0);
    wr(b, mmMM_DATA, 0xcafe);
    CHECK_EQ(vram32(b, 0x1230), 0xcafe);
    CHECK_EQ(rd(b, mmMM_DATA), 0xcafe);
    wr(b, mmMM_INDEX_HI, 1);            /* 2 GiB: past the end */
    wr(b, mmMM_DATA, 1);
    CHECK_EQ(rd(b, mmMM_DATA), 0);
    CHECK_EQ(vram32(b, 0x1230), 0xcafe);
    wr(b, mmMM_INDEX, mmSCRATCH_REG3 * 4);
    wr(b, mmMM_DATA, 77);
    CHECK_EQ(rd(b, mmSCRATCH_REG3), 77);
    wr(b, mmMM_INDEX, mmMM_DATA * 4);   /* itself */
    CHECK_EQ(rd(b, mmMM_DATA), 0);
    wr(b, mmPCIE_INDEX2, 0x11180000);
    CHECK_EQ(rd(b, mmPCIE_DATA2), 0);
    wr(b, mmPCIE_DATA2, 5);
    CHECK_EQ(rd(b, mmPCIE_DATA2), 5);
    for (i = 0; i < VKFD_SMN_MAX + 10; i++) {
        wr(b, mmPCIE_INDEX2, i * 4);
        wr(b, mmPCIE_DATA2, i);
    }
    CHECK_EQ(b->e->smn_count, VKFD_SMN_MAX);
    wr(b, mmPCIE_INDEX2, 0x11180000);
    CHECK_EQ(rd(b, mmPCIE_DATA2), 5);
    bus_free(b);
}

static void test_flush_sem_atc_clock(void)
{
    Bus *b = bus_new();

    wr(b, mmGPU_HDP_FLUSH_REQ, 0x401);
    CHECK_EQ(rd(b, mmGPU_HDP_FLUSH_DONE), 0x401);
    wr(b, VKFD_MMIO_REMAP_OFFSET / 4, 0);
    wr(b, VKFD_MMIO_REMAP_OFFSET / 4 + 1, 0);
    CHECK_EQ(counter(b, VKFD_CNT_HDP_FLUSH), 3);

    CHECK_EQ(rd(b, mmMMHUB_VM_INVALIDATE_ENG17_SEM), 1);
    CHECK_EQ(rd(b, mmMMHUB_VM_INVALIDATE_ENG17_SEM), 0);
    wr(b, mmMMHUB_VM_INVALIDATE_ENG17_SEM, 0);
    CHECK_EQ(rd(b, mmMMHUB_VM_INVALIDATE_ENG17_SEM), 1);
    wr(b, mmVM_INVALIDATE_ENG17_REQ, 0x00f80100);
    CHECK_EQ(rd(b, mmVM_INVALIDATE_ENG17_ACK), 0x100);
    CHECK_EQ(rd(b, mmMMHUB_VM_INVALIDATE_ENG17_ACK), 0);

    wr(b, mmATC_VMID0_PASID_MAPPING + 9, 0x80000000 | 0x8009);
    wr(b, mmATC_VMID0_PASID_MAPPING + 25, 0x80000000 | 0x8009);
    CHECK_EQ(rd(b, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS), 1u << 9 | 1u << 25);
    wr(b, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS, 1 << 9);
    CHECK_EQ(rd(b, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS), 1u << 25);

    b->now = 0x123456789ab0ull;
    wr(b, mmRLC_CAPTURE_GPU_CLOCK_COUNT, 1);
    b->now += 1000000;
    CHECK_EQ(rd(b, mmRLC_GPU_CLOCK_COUNT_LSB) |
             (uint64_t)rd(b, mmRLC_GPU_CLOCK_COUNT_MSB) << 32,
             0x123456789ab0ull / 10);
    bus_free(b);
}

static void test_unmodelled(void)
{
    Bus *b = bus_new();
    unsigned i;

    CHECK_EQ(rd(b, 0x58200 / 4), 0);
    rd(b, 0x58200 / 4);
    wr(b, 0x58200 / 4, 5);
    CHECK_EQ(rd(b, 0x58200 / 4), 0);
    CHECK_EQ(counter(b, VKFD_CNT_UNMODELLED_READ), 3);
    CHECK_EQ(counter(b, VKFD_CNT_UNMODELLED_WRITE), 1);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_UNMOD_COUNT), 1);
    vkfd_ctrl_write(b->e, VKFD_CTRL_UNMOD_SELECT, 0);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_UNMOD_REG), 0x58200);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_UNMOD_READS), 3);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_UNMOD_WRITES), 1);
    vkfd_ctrl_write(b->e, VKFD_CTRL_UNMOD_SELECT, 1);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_UNMOD_REG), UINT32_MAX);
    for (i = 0; i < 2 * VKFD_UNMOD_MAX; i++) {
        rd(b, 0x50000 / 4 + i);
    }
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_UNMOD_COUNT), VKFD_UNMOD_MAX);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_MAGIC), VKFD_CTRL_MAGIC_VALUE);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_CNT_COUNT), VKFD_CNT_MAX);
    CHECK_EQ(vkfd_ctrl_read(b->e, 0x500), 0);

    CHECK_EQ(vkfd_mmio_read(b->e, 2), 0);
    vkfd_mmio_write(b->e, VKFD_MMIO_SIZE, 0);
    vkfd_doorbell_write(b->e, 2, 0, 4);
    vkfd_doorbell_write(b->e, 4, 0, 8);
    vkfd_doorbell_write(b->e, 0, 0, 2);
    CHECK_EQ(counter(b, VKFD_CNT_BAD_ACCESS), 5);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL), 0);
    for (i = 0; i < VKFD_CNT_MAX; i++) {
        if (!vkfd_counter_name(i)) {
            break;
        }
    }
    CHECK_EQ(i, VKFD_CNT_MAX);
    CHECK(!vkfd_counter_name(VKFD_CNT_MAX));
    bus_free(b);
}

/* Garbage everywhere: the part still answers, and every run ends. */
static void test_garbage(void)
{
    Bus *b = bus_new();
    uint64_t seed = 0x9e3779b97f4a7c15ull;
    unsigned round, i;

    vm_setup(b);
    for (i = 0; i < VRAM_SIZE / 4; i += 3) {
        set_vram32(b, i * 4, prng(&seed));
    }
    for (round = 0; round < 4; round++) {
        for (i = 0; i < VKFD_NUM_REGS; i++) {
            wr(b, i, prng(&seed));
            rd(b, i);
            if (!(i & 0xff)) {
                vkfd_doorbell_write(b->e, prng(&seed) & 0x1ffff8, prng(&seed), 8);
                b->scheduled = false;
                vkfd_engine_run(b->e);
            }
        }
        /* Queues with random registers, all started. */
        for (i = 0; i < VKFD_NUM_HQD; i++) {
            uint32_t dw;

            select_hqd(b, i);
            for (dw = mmCP_MQD_BASE_ADDR; dw <= mmCP_HQD_PQ_WPTR_HI; dw++) {
                wr(b, dw, prng(&seed) & prng(&seed));
            }
            wr(b, mmCP_HQD_AQL_CONTROL, 0);
            wr(b, mmCP_HQD_VMID, round & 1 ? TEST_VMID : 0);
            wr(b, mmCP_HQD_ACTIVE, 0);
            wr(b, mmCP_HQD_ACTIVE, 1);
        }
        wr(b, mmCP_MEC_CNTL, 0);
        for (i = 0; i < 200; i++) {
            b->now += 1000;
            vkfd_engine_timer(b->e, VKFD_TIMER_WAIT);
            vkfd_engine_run(b->e);
        }
    }
    vkfd_engine_reset(b->e, false);
    CHECK_EQ(rd(b, mmRCC_CONFIG_MEMSIZE), VRAM_SIZE >> 20);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    CHECK(counter(b, VKFD_CNT_UNMODELLED_WRITE) > 0);
    vkfd_engine_reset(b->e, true);
    CHECK_EQ(counter(b, VKFD_CNT_UNMODELLED_WRITE), 0);
    bus_free(b);
}

int main(void)
{
    test_reset_values();
    test_hidden_vram();
    test_all_modelled();
    test_masks();
    test_banks();
    test_windows();
    test_flush_sem_atc_clock();
    test_unmodelled();
    test_garbage();
    return tap_done();
}
