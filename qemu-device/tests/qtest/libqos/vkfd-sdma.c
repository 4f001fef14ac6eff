/* SPDX-License-Identifier: MIT */
/* libqos driver of the vkfd compute GPU: SDMA engines; see vkfd.h. */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "../libqtest.h"
#include "vkfd.h"

void qvkfd_sdma_start(QVkfd *q)
{
    unsigned i;

    for (i = 0; i < VKFD_NUM_SDMA; i++) {
        uint32_t first = VKFD_DOORBELL_DW(i ? AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE1
                                            : AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0);

        qvkfd_wr_check(q, mmBIF_SDMA0_DOORBELL_RANGE + i, first << 2 | 20u << 16);
        qvkfd_wr_check(q, mmSDMA0_CNTL + i * VKFD_SDMA_ENGINE_STRIDE,
                       SDMA0_CNTL__TRAP_ENABLE_MASK | SDMA0_CNTL__UTC_L1_ENABLE_MASK);
        qvkfd_wr_check(q, mmSDMA0_F32_CNTL + i * VKFD_SDMA_ENGINE_STRIDE, 0);
    }
}

void qvkfd_sdma_init(QVkfd *q, QVkfdSdma *u, unsigned engine, unsigned rlc,
                     unsigned vmid, unsigned log2_dw)
{
    uint32_t slice = VKFD_DOORBELL_KERNEL_SIZE +
                     (vmid - VKFD_KFD_VMID_FIRST) * VKFD_DOORBELL_SLICE_SIZE;
    uint32_t id = engine ? AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE1
                         : AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0;

    /* As amdkfd numbers them: odd queues are in the second page of the slice. */
    id += rlc / 2 + (rlc & 1) * VKFD_DOORBELL_MIRROR;
    *u = (QVkfdSdma) {
        .q = q, .engine = engine, .rlc = rlc, .vmid = vmid,
        .size = 4u << log2_dw, .doorbell_dw = slice / 4 + VKFD_DOORBELL_DW(id),
    };
    u->ring = qvkfd_alloc(q, vmid, u->size);
    u->rptr = qvkfd_alloc(q, vmid, 4096);
}

static uint32_t reg_of(const QVkfdSdma *u, uint32_t gfx_reg)
{
    return gfx_reg + u->engine * VKFD_SDMA_ENGINE_STRIDE +
           (VKFD_SDMA_BLOCK_RLC0 + u->rlc) * VKFD_SDMA_QUEUE_STRIDE;
}

uint32_t qvkfd_sdma_rd(QVkfdSdma *u, uint32_t gfx_reg)
{
    return qvkfd_rd(u->q, reg_of(u, gfx_reg));
}

void qvkfd_sdma_wr(QVkfdSdma *u, uint32_t gfx_reg, uint32_t val)
{
    qvkfd_wr(u->q, reg_of(u, gfx_reg), val);
}

static void wr_check(QVkfdSdma *u, uint32_t gfx_reg, uint32_t val)
{
    qvkfd_wr_check(u->q, reg_of(u, gfx_reg), val);
}

static bool idle(QVkfdSdma *u)
{
    return qvkfd_sdma_rd(u, mmSDMA0_GFX_CONTEXT_STATUS) &
           SDMA0_GFX_CONTEXT_STATUS__IDLE_MASK;
}

void qvkfd_sdma_load(QVkfdSdma *u)
{
    uint64_t ring = qvkfd_va(u->vmid, u->ring), rptr = qvkfd_va(u->vmid, u->rptr);
    uint32_t cntl = (ctz32(u->size) - 2) << SDMA0_GFX_RB_CNTL__RB_SIZE__SHIFT |
                    SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE_MASK |
                    u->vmid << SDMA0_GFX_RB_CNTL__RB_VMID__SHIFT;

    wr_check(u, mmSDMA0_GFX_RB_CNTL, cntl);
    g_assert_true(idle(u));
    wr_check(u, mmSDMA0_GFX_DOORBELL_OFFSET, u->doorbell_dw << 2);
    wr_check(u, mmSDMA0_GFX_DOORBELL, SDMA0_GFX_DOORBELL__ENABLE_MASK);
    wr_check(u, mmSDMA0_GFX_RB_RPTR, (uint32_t)u->wptr);
    wr_check(u, mmSDMA0_GFX_RB_RPTR_HI, u->wptr >> 32);
    wr_check(u, mmSDMA0_GFX_MINOR_PTR_UPDATE, 1);
    wr_check(u, mmSDMA0_GFX_RB_WPTR, (uint32_t)u->wptr);
    wr_check(u, mmSDMA0_GFX_RB_WPTR_HI, u->wptr >> 32);
    wr_check(u, mmSDMA0_GFX_MINOR_PTR_UPDATE, 0);
    wr_check(u, mmSDMA0_GFX_RB_BASE, ring >> 8);
    wr_check(u, mmSDMA0_GFX_RB_BASE_HI, ring >> 40);
    wr_check(u, mmSDMA0_GFX_RB_RPTR_ADDR_LO, (uint32_t)rptr);
    wr_check(u, mmSDMA0_GFX_RB_RPTR_ADDR_HI, rptr >> 32);
    wr_check(u, mmSDMA0_GFX_RB_CNTL, cntl | SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
}

void qvkfd_sdma_destroy(QVkfdSdma *u)
{
    uint32_t cntl = qvkfd_sdma_rd(u, mmSDMA0_GFX_RB_CNTL);

    wr_check(u, mmSDMA0_GFX_RB_CNTL, cntl & ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
    g_assert_true(idle(u));
    wr_check(u, mmSDMA0_GFX_DOORBELL, 0);
    wr_check(u, mmSDMA0_GFX_RB_CNTL, cntl | SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
}

void qvkfd_sdma_emit(QVkfdSdma *u, const uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        qtest_writel(qvkfd_qts(u->q), u->ring + u->wptr % u->size, dw[i]);
        u->wptr += 4;
    }
}

void qvkfd_sdma_kick(QVkfdSdma *u)
{
    qvkfd_ring_doorbell(u->q, u->doorbell_dw, u->wptr);
}
