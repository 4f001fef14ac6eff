/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SDMA user queues as the scheduler firmware loads and unloads them: an MQD is the
 * image of the registers of an RLC block (regs_sdma.h).
 */
#include "sdma-priv.h"

/* Runs of registers in the MQD. */
static const struct {
    uint32_t mqd_dw, first, last;
} runs[] = {
    { V9_SDMA_MQD_RB_CNTL_DW, mmSDMA0_GFX_RB_CNTL, mmSDMA0_GFX_DOORBELL },
    { V9_SDMA_MQD_STATUS_DW, mmSDMA0_GFX_STATUS, mmSDMA0_GFX_CSA_ADDR_HI },
    { V9_SDMA_MQD_IB_SUB_REMAIN_DW, mmSDMA0_GFX_IB_SUB_REMAIN,
      mmSDMA0_GFX_MINOR_PTR_UPDATE },
    { V9_SDMA_MQD_MIDCMD_DATA0_DW, mmSDMA0_GFX_MIDCMD_DATA0, mmSDMA0_GFX_MIDCMD_CNTL },
};

#define NUM_RUNS        (sizeof(runs) / sizeof(runs[0]))

static bool in_range(unsigned engine, unsigned rlc)
{
    return engine < VKFD_NUM_SDMA && rlc < VKFD_SDMA_NUM_RLC;
}

static unsigned rlc_id(unsigned engine, unsigned rlc)
{
    return engine * VKFD_SDMA_QUEUES + VKFD_SDMA_BLOCK_RLC0 + rlc;
}

int vkfd_sdma_rlc_free(const VKFDEngine *e, unsigned engine)
{
    unsigned rlc;

    for (rlc = 0; engine < VKFD_NUM_SDMA && rlc < VKFD_SDMA_NUM_RLC; rlc++) {
        if (!vkfd_sdma_loaded(e, rlc_id(engine, rlc))) {
            return rlc;
        }
    }
    return -1;
}

bool vkfd_sdma_rlc_load(VKFDEngine *e, unsigned engine, unsigned rlc,
                        uint32_t vmid, const uint32_t *mqd)
{
    unsigned id, i;
    uint64_t wptr;

    if (!in_range(engine, rlc) || vmid >= VKFD_NUM_VMID) {
        return false;
    }
    id = rlc_id(engine, rlc);
    if (vkfd_sdma_loaded(e, id)) {
        return false;
    }
    vkfd_sdma_off(e, id);
    for (i = 0; i < NUM_RUNS; i++) {
        uint32_t dw;

        for (dw = runs[i].first; dw <= runs[i].last; dw++) {
            e->regs[vkfd_sdma_index(id, dw)] = mqd[runs[i].mqd_dw + dw - runs[i].first];
        }
    }
    SDMA(e, id, RB_CNTL) = VKFD_PUT(SDMA(e, id, RB_CNTL), SDMA0_GFX_RB_CNTL__RB_VMID,
                                    vmid);
    SDMA(e, id, DOORBELL) = SDMA0_GFX_DOORBELL__ENABLE_MASK;
    SDMA(e, id, CONTEXT_STATUS) = 0;
    SDMA(e, id, MINOR_PTR_UPDATE) = 0;
    vkfd_sdma_enable(e, id);
    if ((SDMA(e, id, RB_WPTR_POLL_ADDR_LO) || SDMA(e, id, RB_WPTR_POLL_ADDR_HI)) &&
        !e->sdma[id].stop && vkfd_sdma_read_wptr(e, id, &wptr)) {
        vkfd_sdma_set_wptr(e, id, wptr);
    }
    return true;
}

bool vkfd_sdma_rlc_unload(VKFDEngine *e, unsigned engine, unsigned rlc,
                          uint32_t *mqd)
{
    unsigned id;

    if (!in_range(engine, rlc)) {
        return false;
    }
    id = rlc_id(engine, rlc);
    if (!vkfd_sdma_loaded(e, id)) {
        return false;
    }
    vkfd_sdma_off(e, id);
    vkfd_sdma_rlc_take(e, engine, rlc, mqd);
    return true;
}

void vkfd_sdma_rlc_take(VKFDEngine *e, unsigned engine, unsigned rlc, uint32_t *mqd)
{
    unsigned id = rlc_id(engine, rlc), i;

    for (i = 0; mqd && i < NUM_RUNS; i++) {
        uint32_t dw;

        for (dw = runs[i].first; dw <= runs[i].last; dw++) {
            mqd[runs[i].mqd_dw + dw - runs[i].first] = e->regs[vkfd_sdma_index(id, dw)];
        }
    }
    SDMA(e, id, DOORBELL) = 0;
}

bool vkfd_sdma_rlc_preempt(VKFDEngine *e, unsigned engine, unsigned rlc)
{
    unsigned id = rlc_id(engine, rlc);

    switch (vkfd_inject_sdma_preempt(e, id)) {
    case VKFD_INJECT_SKIP:
        return true;            /* lost: the queue goes on */
    case VKFD_INJECT_STALL:
        SDMA(e, id, RB_CNTL) &= ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
        return true;
    default:
        return false;
    }
}

VKFDSdmaState vkfd_sdma_rlc_state(const VKFDEngine *e, unsigned engine,
                                  unsigned rlc)
{
    const VKFDSdmaQueue *q;
    unsigned id;

    if (!in_range(engine, rlc)) {
        return VKFD_SDMA_OFF;
    }
    id = rlc_id(engine, rlc);
    q = &e->sdma[id];
    if (!vkfd_sdma_loaded(e, id)) {
        return VKFD_SDMA_OFF;
    }
    if (q->stop) {
        return VKFD_SDMA_STOPPED;
    }
    if (q->held & (VKFD_SDMA_HELD_STALLED | VKFD_SDMA_HELD_DEQUEUING)) {
        return VKFD_SDMA_HELD;
    }
    if (q->parked == VKFD_PARKED_WAIT || q->parked == VKFD_PARKED_WPTR) {
        return VKFD_SDMA_PARKED;
    }
    if (!vkfd_sdma_idle(e, id) && q->parked != VKFD_PARKED_SHORT) {
        return VKFD_SDMA_BUSY;
    }
    /* More to do may come without a doorbell. */
    return vkfd_sdma_polls_wptr(e, id) ? VKFD_SDMA_PARKED : VKFD_SDMA_IDLE;
}

unsigned vkfd_sdma_rlc_wait(const VKFDEngine *e, unsigned engine, unsigned rlc,
                            uint64_t *pa)
{
    unsigned id = rlc_id(engine, rlc), len;

    if (!in_range(engine, rlc) || e->sdma[id].poll_now ||
        vkfd_sdma_rlc_state(e, engine, rlc) != VKFD_SDMA_PARKED ||
        !(e->sdma_waiting >> id & 1)) {
        return 0;
    }
    *pa = e->sdma[id].wait_pa;
    len = e->sdma_wait_len[id];
    /* Not across two pages; nor of a page without memory, UINT64_MAX, which never changes. */
    return len && !(*pa & (len - 1)) ? len : 0;
}

void vkfd_sdma_rlc_look(VKFDEngine *e, unsigned engine, unsigned rlc)
{
    if (in_range(engine, rlc) && (e->sdma_waiting >> rlc_id(engine, rlc) & 1)) {
        e->sdma[rlc_id(engine, rlc)].poll_now = 1;
        vkfd_kick(e);
    }
}
