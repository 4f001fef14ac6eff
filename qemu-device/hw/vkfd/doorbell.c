/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doorbell BAR: which block a doorbell belongs to, and its match.
 *
 * As on the real part the bus interface looks at the offset within a 4 KiB page
 * only to choose SDMA, IH or VCN; whatever is left goes to the compute engines.
 * The block then compares the full dword index. No match: dropped and counted;
 * nothing is kept for later, a queue reads its wptr memory when it is activated.
 */
#include "engine-priv.h"

#include <vkfd/regs_ih.h>
#include <vkfd/regs_nbio.h>

static bool in_range(uint32_t range, uint32_t dw)
{
    uint32_t first = VKFD_GET(range, BIF_SDMA0_DOORBELL_RANGE__OFFSET);
    uint32_t size = VKFD_GET(range, BIF_SDMA0_DOORBELL_RANGE__SIZE);
    uint32_t page_dw = dw & 0x3ff;

    return page_dw >= first && page_dw - first < size;
}

static bool ih_doorbell(VKFDEngine *e, uint32_t dw, uint64_t val)
{
    uint32_t ctl = e->regs[mmIH_DOORBELL_RPTR];

    if (!(ctl & IH_DOORBELL_RPTR__ENABLE_MASK) ||
        VKFD_GET(ctl, IH_DOORBELL_RPTR__OFFSET) != dw) {
        return false;
    }
    vkfd_ih_set_rptr(e, val, true);
    return true;
}

static bool cp_doorbell(VKFDEngine *e, uint32_t dw, uint64_t val)
{
    uint64_t mask = e->active_mask;
    bool hit = false;

    while (mask) {
        unsigned i = vkfd_mask_next(&mask);
        VKFDHqd *q = &e->hqd[i];
        uint32_t ctl = HQD(q, CP_HQD_PQ_DOORBELL_CONTROL);

        if ((ctl & CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK) &&
            VKFD_GET(ctl, CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET) == dw) {
            HQD(q, CP_HQD_PQ_DOORBELL_CONTROL) =
                ctl | CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT_MASK;
            vkfd_hqd_doorbell(e, i, val);
            hit = true;
        }
    }
    return hit;
}

/*
 * A doorbell of the engines that have queues; false if no queue matches, in a slot or
 * mapped without one.
 */
static bool queue_doorbell(VKFDEngine *e, uint32_t dw, uint64_t val)
{
    bool hit;

    if (in_range(e->regs[mmBIF_SDMA0_DOORBELL_RANGE], dw)) {
        hit = vkfd_sdma_doorbell(e, 0, dw, val);
    } else if (in_range(e->regs[mmBIF_SDMA1_DOORBELL_RANGE], dw)) {
        hit = vkfd_sdma_doorbell(e, 1, dw, val);
    } else {
        hit = cp_doorbell(e, dw, val);
    }
    return hit || vkfd_sched_doorbell(e, dw, val);
}

void vkfd_doorbell_deliver(VKFDEngine *e, uint32_t dw, uint64_t val)
{
    if (!queue_doorbell(e, dw, val)) {
        e->counters[VKFD_CNT_DOORBELL_DROPPED]++;
        vkfd_trace(e, VKFD_TRACE_DOORBELL_DROP, (uint64_t)dw * 4, val, 0, 0, 0, 0);
        return;
    }
    vkfd_wait_reg_written(e);
}

static bool route(VKFDEngine *e, uint32_t dw, uint64_t val)
{
    VKFDInjectResult how;

    if (in_range(e->regs[mmBIF_IH_DOORBELL_RANGE], dw)) {
        return ih_doorbell(e, dw, val);
    }
    if (in_range(e->regs[mmBIF_MMSCH0_DOORBELL_RANGE], dw)) {
        return false;           /* VCN is not modelled */
    }
    if (vkfd_inject_on(e, VKFD_INJECT_AT_DOORBELL)) {
        how = vkfd_inject_doorbell(e, dw, &val);
        if (how == VKFD_INJECT_SKIP) {
            return true;        /* it did arrive, as far as the bus can tell */
        }
        if (how == VKFD_INJECT_TWICE) {
            vkfd_doorbell_deliver(e, dw, val);
        }
    }
    return queue_doorbell(e, dw, val);
}

static bool bad_access(VKFDEngine *e, uint32_t off, unsigned size)
{
    if ((size == 4 || size == 8) && !(off & (size - 1)) &&
        off < VKFD_DOORBELL_BAR_SIZE) {
        return false;
    }
    e->counters[VKFD_CNT_BAD_ACCESS]++;
    return true;
}

/* Doorbells are write only. */
uint64_t vkfd_doorbell_read(VKFDEngine *e, uint32_t off, unsigned size)
{
    bad_access(e, off, size);
    return vkfd_inject_gone(e) ? UINT64_MAX : 0;
}

void vkfd_doorbell_write(VKFDEngine *e, uint32_t off, uint64_t val,
                         unsigned size)
{
    if (bad_access(e, off, size) || vkfd_inject_gone(e)) {
        return;
    }
    if (size == 4) {
        val = (uint32_t)val;
    }
    vkfd_heard(e);
    e->counters[VKFD_CNT_DOORBELL]++;
    vkfd_trace(e, VKFD_TRACE_DOORBELL, off, val, size, 0, 0, 0);
    if (!route(e, off / 4, val)) {
        e->counters[VKFD_CNT_DOORBELL_DROPPED]++;
        vkfd_trace(e, VKFD_TRACE_DOORBELL_DROP, off, val, 0, 0, 0, 0);
        return;
    }
    vkfd_wait_reg_written(e);
}
