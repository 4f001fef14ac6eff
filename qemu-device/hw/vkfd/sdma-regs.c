/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SDMA engines: their registers, reset and saved state.
 *
 * The image is in VKFDEngine.regs. Reset values are those of AMD's sdma0_4_0_default.h
 * (there is none for 4.2).
 */
#include "sdma-priv.h"

/* The first register of a queue block, relative to its engine. */
#define QUEUES_FIRST    (mmSDMA0_GFX_RB_CNTL - mmSDMA0_UCODE_ADDR)

static const struct {
    uint32_t dw, val;
} engine_reset[] = {
    { mmSDMA0_CONTEXT_REG_TYPE0, 0xfffdf79f },
    { mmSDMA0_CONTEXT_REG_TYPE1, 0x003fbcff },
    { mmSDMA0_CONTEXT_REG_TYPE2, 0x000003ff },
    { mmSDMA0_PUB_REG_TYPE0, 0x3c000000 },
    { mmSDMA0_PUB_REG_TYPE1, 0x30003882 },
    { mmSDMA0_PUB_REG_TYPE2, 0x0fc6e880 },
    { mmSDMA0_POWER_CNTL, 0x0003c000 },
    { mmSDMA0_CLK_CTRL, 0xff000100 },
    { mmSDMA0_CNTL, SDMA0_CNTL__UTC_L1_ENABLE_MASK },
    { mmSDMA0_CHICKEN_BITS, 0x00831f07 },
    { mmSDMA0_GB_ADDR_CONFIG, 0x00100012 },
    { mmSDMA0_GB_ADDR_CONFIG_READ, 0x00100012 },
    { mmSDMA0_STATUS_REG, 0x46dee557 },
    { mmSDMA0_STATUS1_REG, 0x000003ff },
    { mmSDMA0_RD_BURST_CNTL, 0x00000003 },
    { mmSDMA0_F32_CNTL, SDMA0_F32_CNTL__HALT_MASK },
    { mmSDMA0_PHASE0_QUANTUM, 0x00010002 },
    { mmSDMA0_PHASE1_QUANTUM, 0x00010002 },
    { mmSDMA0_EDC_CONFIG, 0x00000002 },
    { mmSDMA0_BA_THRESHOLD, 0x03ff03ff },
    { mmSDMA0_ID, 0x00000001 },
    { mmSDMA0_VERSION, 0x00000400 },
    { mmSDMA0_ATOMIC_CNTL, 0x00000200 },
    { mmSDMA0_UTCL1_CNTL, 0xd0003019 },
    { mmSDMA0_UTCL1_WATERMK, 0xfffbe1fe },
    { mmSDMA0_UTCL1_RD_STATUS, 0x201001ff },
    { mmSDMA0_UTCL1_WR_STATUS, 0x503001ff },
    { mmSDMA0_UTCL1_INV0, 0x00000600 },
    { mmSDMA0_UTCL1_TIMEOUT, 0x00010001 },
    { mmSDMA0_UTCL1_PAGE, 0x000003e0 },
    { mmSDMA0_POWER_CNTL_IDLE, 0x06060200 },
    { mmSDMA0_RELAX_ORDERING_LUT, 0xc0000006 },
    { mmSDMA0_CHICKEN_BITS_2, 0x00000005 },
    { mmSDMA0_STATUS3_REG, 0x00100000 },
    { mmSDMA0_PHASE2_QUANTUM, 0x00010002 },
    { mmSDMA0_ERROR_LOG, 0x0000000f },
    { mmSDMA0_PERFMON_CNTL, 0x000ff7fd },
    { mmSDMA0_PERFCOUNTER_TAG_DELAY_RANGE, 0x00640000 },
    { mmSDMA0_CRD_CNTL, 0x000085c0 },
};

void vkfd_sdma_reset(VKFDEngine *e)
{
    unsigned n, i, id;

    for (n = 0; n < VKFD_NUM_SDMA; n++) {
        for (i = 0; i < sizeof(engine_reset) / sizeof(engine_reset[0]); i++) {
            e->regs[engine_reset[i].dw + n * VKFD_SDMA_ENGINE_STRIDE] =
                engine_reset[i].val;
        }
    }
    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        SDMA(e, id, RB_CNTL) = 0x00040000;
        SDMA(e, id, RB_WPTR_POLL_CNTL) = 0x00401000;
        SDMA(e, id, IB_CNTL) = 0x00000100;
        SDMA(e, id, DUMMY_REG) = 0x0000000f;
        SDMA(e, id, RB_AQL_CNTL) = 0x00004000;
    }
    memset(e->sdma, 0, sizeof(e->sdma));
    memset(e->sdma_ts_offset, 0, sizeof(e->sdma_ts_offset));
    e->next_sdma = 0;
    e->sdma_active = 0;
    e->sdma_waiting = 0;
}

/* Queue and GFX block index of a register behind the engine's own, or -1. */
static int queue_of(uint32_t dw, uint32_t *gfx_dw)
{
    uint32_t rel = dw - mmSDMA0_UCODE_ADDR;
    unsigned n = rel / VKFD_SDMA_ENGINE_STRIDE;

    rel %= VKFD_SDMA_ENGINE_STRIDE;
    if (rel < QUEUES_FIRST) {
        *gfx_dw = mmSDMA0_UCODE_ADDR + rel;
        return -1;
    }
    rel -= QUEUES_FIRST;
    *gfx_dw = mmSDMA0_GFX_RB_CNTL + rel % VKFD_SDMA_QUEUE_STRIDE;
    return n * VKFD_SDMA_QUEUES + rel / VKFD_SDMA_QUEUE_STRIDE;
}

static bool engine_idle(const VKFDEngine *e, unsigned n)
{
    unsigned i;

    for (i = 0; i < VKFD_SDMA_QUEUES; i++) {
        if (!vkfd_sdma_idle(e, n * VKFD_SDMA_QUEUES + i)) {
            return false;
        }
    }
    return true;
}

/* Why it stopped is our use of EXCEPTION: VKFDStop. */
static uint32_t context_status(const VKFDEngine *e, unsigned id)
{
    bool selected = vkfd_sdma_active(e, id) ||
                    id % VKFD_SDMA_QUEUES == VKFD_SDMA_BLOCK_GFX;

    return (selected ? SDMA0_GFX_CONTEXT_STATUS__SELECTED_MASK : 0) |
           (vkfd_sdma_idle(e, id) ? SDMA0_GFX_CONTEXT_STATUS__IDLE_MASK : 0) |
           VKFD_PUT(0, SDMA0_GFX_CONTEXT_STATUS__EXCEPTION, e->sdma[id].stop);
}

uint32_t vkfd_sdma_reg_read(VKFDEngine *e, uint32_t dw)
{
    uint32_t reg, val = e->regs[dw];
    int id = queue_of(dw, &reg);

    if (id >= 0) {
        return reg == mmSDMA0_GFX_CONTEXT_STATUS ? context_status(e, id) : val;
    }
    switch (reg) {
    case mmSDMA0_STATUS_REG:
        return engine_idle(e, (dw - mmSDMA0_UCODE_ADDR) / VKFD_SDMA_ENGINE_STRIDE)
               ? val : val & ~SDMA0_STATUS_REG__IDLE_MASK;
    case mmSDMA0_FREEZE:
        return val & SDMA0_FREEZE__FREEZE_MASK ? val | SDMA0_FREEZE__FROZEN_MASK
                                               : val;
    default:
        return val;
    }
}

/* Bits of a queue register that can be written. */
static uint32_t queue_mask(uint32_t reg)
{
    switch (reg) {
    case mmSDMA0_GFX_RB_BASE_HI:
        return 0x00ffffff;
    case mmSDMA0_GFX_RB_RPTR:
    case mmSDMA0_GFX_RB_WPTR:
    case mmSDMA0_GFX_RB_RPTR_ADDR_LO:
    case mmSDMA0_GFX_RB_WPTR_POLL_ADDR_LO:
    case mmSDMA0_GFX_CSA_ADDR_LO:
        return 0xfffffffc;
    case mmSDMA0_GFX_IB_RPTR:
    case mmSDMA0_GFX_IB_OFFSET:
        return SDMA0_GFX_IB_RPTR__OFFSET_MASK;
    case mmSDMA0_GFX_IB_BASE_LO:
        return 0xffffffe0;
    case mmSDMA0_GFX_IB_SIZE:
        return SDMA0_GFX_IB_SIZE__SIZE_MASK;
    case mmSDMA0_GFX_SKIP_CNTL:
    case mmSDMA0_GFX_IB_SUB_REMAIN:
        return SDMA0_GFX_SKIP_CNTL__SKIP_COUNT_MASK;
    case mmSDMA0_GFX_CONTEXT_STATUS:
    case mmSDMA0_GFX_STATUS:
    case mmSDMA0_GFX_DOORBELL_LOG:
        return 0;
    case mmSDMA0_GFX_DOORBELL:
        return SDMA0_GFX_DOORBELL__ENABLE_MASK | SDMA0_GFX_DOORBELL__CAPTURED_MASK;
    case mmSDMA0_GFX_DOORBELL_OFFSET:
        return SDMA0_GFX_DOORBELL_OFFSET__OFFSET_MASK;
    case mmSDMA0_GFX_MINOR_PTR_UPDATE:
        return SDMA0_GFX_MINOR_PTR_UPDATE__ENABLE_MASK;
    default:
        return 0xffffffff;
    }
}

static void write_rb_cntl(VKFDEngine *e, unsigned id, uint32_t val)
{
    bool on = val & SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;

    if (on && (e->sdma[id].held & VKFD_SDMA_HELD_DEQUEUING)) {
        vkfd_sdma_off(e, id);           /* who waited for that has given up */
    }
    if (!on && vkfd_sdma_active(e, id)) {
        VKFDInjectResult how = vkfd_inject_sdma_preempt(e, id);

        if (how == VKFD_INJECT_SKIP) {
            val |= SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
        } else if (how == VKFD_INJECT_GO) {
            vkfd_sdma_off(e, id);
        }
    }
    SDMA(e, id, RB_CNTL) = val;
    if (on && !vkfd_sdma_active(e, id)) {
        vkfd_sdma_enable(e, id);
    }
}

static void write_queue(VKFDEngine *e, unsigned id, uint32_t reg, uint32_t val)
{
    uint32_t *r = &e->regs[vkfd_sdma_index(id, reg)];
    uint32_t mask = queue_mask(reg);

    val = (*r & ~mask) | (val & mask);
    switch (reg) {
    case mmSDMA0_GFX_RB_CNTL:
        write_rb_cntl(e, id, val);
        return;
    case mmSDMA0_GFX_RB_RPTR:
    case mmSDMA0_GFX_RB_RPTR_HI:
        *r = val;
        vkfd_sdma_restart(e, id);
        return;
    case mmSDMA0_GFX_RB_WPTR:
        vkfd_sdma_set_wptr(e, id, vkfd_pair(val, SDMA(e, id, RB_WPTR_HI)));
        return;
    case mmSDMA0_GFX_RB_WPTR_HI:
        vkfd_sdma_set_wptr(e, id, vkfd_pair(SDMA(e, id, RB_WPTR), val));
        return;
    case mmSDMA0_GFX_DOORBELL:
    case mmSDMA0_GFX_MINOR_PTR_UPDATE:
    case mmSDMA0_GFX_RB_WPTR_POLL_CNTL:
        *r = val;
        vkfd_kick(e);                   /* it may be what the queue waited for */
        return;
    default:
        *r = val;
        return;
    }
}

void vkfd_sdma_reg_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    uint32_t reg;
    int id = queue_of(dw, &reg);

    if (id >= 0) {
        write_queue(e, id, reg, val);
        vkfd_sdma_tell_sched(e, id);
        return;
    }
    switch (reg) {
    case mmSDMA0_STATUS_REG:
    case mmSDMA0_STATUS1_REG:
    case mmSDMA0_STATUS2_REG:
    case mmSDMA0_STATUS3_REG:
    case mmSDMA0_UCODE_CHECKSUM:
    case mmSDMA0_ID:
    case mmSDMA0_VERSION:
    case mmSDMA0_EDC_COUNTER:
    case mmSDMA0_ATOMIC_PREOP_LO:
    case mmSDMA0_ATOMIC_PREOP_HI:
    case mmSDMA0_UTCL1_RD_STATUS:
    case mmSDMA0_UTCL1_WR_STATUS:
    case mmSDMA0_GB_ADDR_CONFIG_READ:
    case mmSDMA0_F32_COUNTER:
        break;                          /* read only */
    case mmSDMA0_GB_ADDR_CONFIG:
        e->regs[dw] = e->regs[dw + 1] = val;
        break;
    case mmSDMA0_FREEZE:
        e->regs[dw] = val & ~SDMA0_FREEZE__FROZEN_MASK;
        vkfd_kick(e);
        break;
    case mmSDMA0_F32_CNTL:
        e->regs[dw] = val;
        vkfd_kick(e);
        break;
    default:
        e->regs[dw] = val;
        break;
    }
}

/* ---- saved state ---- */

static bool on(const VKFDEngine *e, unsigned id)
{
    return (SDMA(e, id, RB_CNTL) & SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK) ||
           (e->sdma[id].held & VKFD_SDMA_HELD_DEQUEUING);
}

bool vkfd_sdma_rlc_on(const VKFDEngine *e, unsigned engine, unsigned rlc)
{
    unsigned id = engine * VKFD_SDMA_QUEUES + VKFD_SDMA_BLOCK_RLC0 + rlc;

    return on(e, id) && vkfd_sdma_selectable(e, id);
}

static bool queue_ok(const VKFDEngine *e, unsigned id)
{
    const VKFDSdmaQueue *q = &e->sdma[id];
    bool polled = q->parked == VKFD_PARKED_WAIT || q->parked == VKFD_PARKED_WPTR;

    if (q->stop >= VKFD_STOP_MAX || q->parked > VKFD_PARKED_WPTR ||
        q->poll_now > 1 || q->wait_mem > 1 || (q->held & ~VKFD_SDMA_HELD_ALL)) {
        return false;
    }
    if ((q->parked || q->held) && !on(e, id)) {
        return false;
    }
    if ((q->parked && q->stop) || (q->poll_now && !polled)) {
        return false;
    }
    return !polled || (q->wait_interval >= VKFD_WAIT_POLL_MIN_NS &&
                       q->wait_interval <= VKFD_WAIT_POLL_MAX_NS);
}

bool vkfd_sdma_state_ok(const VKFDEngine *e)
{
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        if (!queue_ok(e, id)) {
            return false;
        }
    }
    return e->next_sdma < VKFD_NUM_SDMA_QUEUES;
}

/* As for compute queues: what is parked polls again at once. */
void vkfd_sdma_post_load(VKFDEngine *e)
{
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        vkfd_sdma_set_active(e, id, on(e, id));
        vkfd_sdma_set_parked(e, id, e->sdma[id].parked);
        e->sdma[id].poll_now = e->sdma_waiting >> id & 1;
    }
}
