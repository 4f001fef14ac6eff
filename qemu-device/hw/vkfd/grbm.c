/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GRBM: which bank a banked register means; CP and RLC control around it.
 */
#include "engine-priv.h"

int vkfd_grbm_hqd(const VKFDEngine *e)
{
    uint32_t sel = e->regs[mmGRBM_GFX_CNTL];
    uint32_t me = VKFD_GET(sel, GRBM_GFX_CNTL__MEID);

    if (me < 1 || me > VKFD_NUM_ME) {
        return -1;
    }
    return ((me - 1) * VKFD_PIPES_PER_ME +
            VKFD_GET(sel, GRBM_GFX_CNTL__PIPEID)) * VKFD_QUEUES_PER_PIPE +
           VKFD_GET(sel, GRBM_GFX_CNTL__QUEUEID);
}

bool vkfd_grbm_halted(const VKFDEngine *e, unsigned hqd)
{
    return e->regs[mmCP_MEC_CNTL] &
           (hqd < VKFD_NUM_HQD / 2 ? CP_MEC_CNTL__MEC_ME1_HALT_MASK
                                   : CP_MEC_CNTL__MEC_ME2_HALT_MASK);
}

uint32_t vkfd_grbm_int_cntl(const VKFDEngine *e, unsigned hqd)
{
    return e->regs[mmCP_ME1_PIPE0_INT_CNTL + hqd / VKFD_QUEUES_PER_PIPE];
}

/* Register banked by VMID, NULL if dw is none. */
static uint32_t *vmid_reg(VKFDEngine *e, uint32_t dw)
{
    uint32_t *bank = e->vmid_regs[VKFD_GET(e->regs[mmGRBM_GFX_CNTL],
                                           GRBM_GFX_CNTL__VMID)];

    switch (dw) {
    case mmSH_MEM_BASES:
        return &bank[0];
    case mmSH_MEM_CONFIG:
        return &bank[1];
    case mmSQ_SHADER_TBA_LO:
    case mmSQ_SHADER_TBA_HI:
    case mmSQ_SHADER_TMA_LO:
    case mmSQ_SHADER_TMA_HI:
        return &bank[2 + dw - mmSQ_SHADER_TBA_LO];
    default:
        return NULL;
    }
}

/* CPC_INT_CNTL is the interrupt enable of the selected pipe; NULL without one. */
static uint32_t *selected_int_cntl(VKFDEngine *e)
{
    int hqd = vkfd_grbm_hqd(e);

    return hqd < 0 ? NULL :
           &e->regs[mmCP_ME1_PIPE0_INT_CNTL + hqd / VKFD_QUEUES_PER_PIPE];
}

/* Inactive CUs of the selected shader array: only SE 0, SH 0 exists. */
static uint32_t shader_array_config(const VKFDEngine *e)
{
    uint32_t idx = e->regs[mmGRBM_GFX_INDEX];
    bool se0 = (idx & GRBM_GFX_INDEX__SE_BROADCAST_WRITES_MASK) ||
               !VKFD_GET(idx, GRBM_GFX_INDEX__SE_INDEX);
    bool sh0 = (idx & GRBM_GFX_INDEX__SH_BROADCAST_WRITES_MASK) ||
               !VKFD_GET(idx, GRBM_GFX_INDEX__SH_INDEX);

    return se0 && sh0 ? e->regs[mmCC_GC_SHADER_ARRAY_CONFIG]
                      : CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS_MASK;
}

/* Resetting the compute front end drops every queue, without a dequeue. */
static void soft_reset(VKFDEngine *e, uint32_t val)
{
    unsigned i;

    e->regs[mmGRBM_SOFT_RESET] = val;
    if (!(val & (GRBM_SOFT_RESET__SOFT_RESET_CP_MASK |
                 GRBM_SOFT_RESET__SOFT_RESET_GFX_MASK |
                 GRBM_SOFT_RESET__SOFT_RESET_CPC_MASK))) {
        return;
    }
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        VKFDHqd *q = &e->hqd[i];

        vkfd_inject_hqd_off(e, i);
        vkfd_hqd_set_active(e, i, false);
        HQD(q, CP_HQD_DEQUEUE_REQUEST) = 0;
        q->stop = VKFD_STOP_NONE;
        vkfd_hqd_set_parked(e, i, VKFD_PARKED_NO);
        q->poll_now = 0;
        q->epoch++;
    }
    vkfd_inject_cp_reset(e);
    vkfd_sched_soft_reset(e);
    vkfd_wait_rearm(e);
}

uint32_t vkfd_grbm_read(VKFDEngine *e, uint32_t dw)
{
    uint32_t *reg = vmid_reg(e, dw);

    if (dw == mmCPC_INT_CNTL) {
        reg = selected_int_cntl(e);
        return reg ? *reg : 0;
    }
    if (dw == mmCC_GC_SHADER_ARRAY_CONFIG) {
        return shader_array_config(e);
    }
    return reg ? *reg : e->regs[dw];
}

void vkfd_grbm_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    uint32_t *reg = vmid_reg(e, dw);

    if (reg) {
        *reg = val;
        return;
    }
    switch (dw) {
    case mmCPC_INT_CNTL:
        reg = selected_int_cntl(e);
        if (reg) {
            *reg = val;
        } else {
            vkfd_guest_error(e, "CPC_INT_CNTL written with no MEC selected");
        }
        break;
    case mmGRBM_SOFT_RESET:
        soft_reset(e, val);
        break;
    case mmCP_MEC_CNTL:
        e->regs[dw] = val;
        vkfd_kick(e);
        break;
    case mmCP_PQ_WPTR_POLL_CNTL1:
        e->regs[dw] = val;
        vkfd_hqd_poll_wptr(e, val);
        break;
    case mmSPI_COMPUTE_QUEUE_RESET:
        if (val & SPI_COMPUTE_QUEUE_RESET__RESET_MASK) {
            vkfd_hqd_reset_waves(e);
        }
        break;
    case mmRLC_SAFE_MODE:
        /* The request is acknowledged by its own bit falling. */
        e->regs[dw] = val & ~RLC_SAFE_MODE__CMD_MASK;
        break;
    default:
        break;          /* CC_GC_SHADER_ARRAY_CONFIG: fuses */
    }
}
