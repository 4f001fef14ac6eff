/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: slots. Loading a queue from its MQD, saving it there, and who
 * gives a slot away to whom.
 */
#include "sched-priv.h"

#include <vkfd/aql.h>
#include <vkfd/mqd.h>
#include <vkfd/pm4_sched.h>
#include <vkfd/regs_sdma.h>

/* Dwords of an MQD that are read: up to the last HQD register. */
#define MQD_DW          (V9_MQD_HQD_FIRST_DW + V9_MQD_HQD_DW)
#define MQD_REG(m, name) ((m)[V9_MQD_DW_OF(mm##name)])

static bool read_mqd(VKFDEngine *e, const VKFDSchedQueue *q, uint32_t *mqd,
                     unsigned dw)
{
    uint64_t fault_va;

    if (vkfd_vm_read(e, VKFD_HUB_GFX, 0, q->mqd, mqd, dw * 4, &fault_va) !=
        VKFD_FAULT_NONE) {
        vkfd_guest_error(e, "scheduler: an MQD cannot be read");
        return false;
    }
    for (unsigned i = 0; i < dw; i++) {
        mqd[i] = vkfd_le32(mqd[i]);
    }
    return true;
}

static bool write_mqd(VKFDEngine *e, const VKFDSchedQueue *q, unsigned first,
                      uint32_t *v, unsigned n)
{
    uint64_t fault_va;

    for (unsigned i = 0; i < n; i++) {
        v[i] = vkfd_le32(v[i]);
    }
    if (vkfd_vm_write(e, VKFD_HUB_GFX, 0, q->mqd + first * 4, v, n * 4,
                      &fault_va) != VKFD_FAULT_NONE) {
        vkfd_guest_error(e, "scheduler: an MQD cannot be written");
        return false;
    }
    return true;
}

/* What a dequeue by register leaves out: the SH registers and the read index. */
static bool save_extra(VKFDEngine *e, const VKFDSchedQueue *q)
{
    const VKFDHqd *hqd = &e->hqd[q->slot];
    uint32_t sh[V9_MQD_SH_DW], index[2] = { hqd->rptr, hqd->rptr >> 32 };

    memcpy(sh, hqd->sh, sizeof(sh));
    return write_mqd(e, q, V9_MQD_SH_FIRST_DW, sh, V9_MQD_SH_DW) &&
           write_mqd(e, q, V9_MQD_READINDEX_DW, index, 2);
}

bool vkfd_sched_save(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);

    return save_extra(e, q) && vkfd_hqd_save(e, q->slot);
}

static bool hqd_idle(VKFDHqd *q)
{
    if (vkfd_hqd_is_aql(q)) {
        return !q->parked && !vkfd_hqd_in_ib(q) && !vkfd_aql_avail(q);
    }
    return q->parked == VKFD_PARKED_SHORT ||
           (!q->parked && !vkfd_hqd_in_ib(q) && vkfd_hqd_wptr(q) == q->rptr);
}

static bool mqd_aql(const uint32_t *mqd)
{
    return MQD_REG(mqd, CP_HQD_AQL_CONTROL) ||
           VKFD_GET(MQD_REG(mqd, CP_HQD_PQ_CONTROL), CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR);
}

static bool load_hqd(VKFDEngine *e, VKFDSchedQueue *q, unsigned slot, uint32_t vmid)
{
    uint32_t mqd[MQD_DW];
    VKFDHqdLoad l = {
        .mqd_addr = q->mqd, .wptr_addr = q->wptr_addr, .doorbell = q->doorbell,
        .vmid = vmid,
    };

    if (!read_mqd(e, q, mqd, MQD_DW)) {
        return false;
    }
    l.index = vkfd_pair(mqd[V9_MQD_READINDEX_DW], mqd[V9_MQD_READINDEX_DW + 1]);
    if (!(q->flags & VKFD_SCHED_F_RUNG)) {
        l.wptr = vkfd_pair(MQD_REG(mqd, CP_HQD_PQ_WPTR_LO),
                           MQD_REG(mqd, CP_HQD_PQ_WPTR_HI));
    } else if (mqd_aql(mqd)) {
        /* The doorbell names the last packet. */
        l.wptr = (q->wptr + 1) * AQL_PACKET_DW;
    } else {
        l.wptr = q->wptr;
    }
    vkfd_hqd_load(e, slot, mqd, &l);
    return true;
}

static bool load_rlc(VKFDEngine *e, VKFDSchedQueue *q, unsigned rlc, uint32_t vmid)
{
    uint32_t mqd[V9_SDMA_MQD_DW];

    if (!read_mqd(e, q, mqd, V9_SDMA_MQD_DW)) {
        return false;
    }
    mqd[V9_SDMA_MQD_DOORBELL_OFFSET_DW] =
        VKFD_PUT(mqd[V9_SDMA_MQD_DOORBELL_OFFSET_DW], SDMA0_GFX_DOORBELL_OFFSET__OFFSET,
                 q->doorbell);
    if (q->wptr_addr) {
        mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW] = q->wptr_addr;
        mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW] = q->wptr_addr >> 32;
    } else if (q->flags & VKFD_SCHED_F_RUNG) {
        mqd[V9_SDMA_MQD_RB_WPTR_DW] = q->wptr;
        mqd[V9_SDMA_MQD_RB_WPTR_HI_DW] = q->wptr >> 32;
    }
    return vkfd_sdma_rlc_load(e, q->engine - 1, rlc, vmid, mqd);
}

bool vkfd_sched_load(VKFDEngine *e, uint16_t i, unsigned slot, uint32_t vmid)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);

    if (!(q->engine ? load_rlc(e, q, slot, vmid) : load_hqd(e, q, slot, vmid))) {
        vkfd_sched_set_state(e, i, VKFD_SCHED_STOPPED);
        return false;
    }
    q->flags &= ~VKFD_SCHED_F_RUNG;
    q->since = e->ops.now_ns(e->opaque);
    vkfd_sched_take_slot(e, i, slot);
    e->counters[VKFD_CNT_QUEUE_LOAD]++;
    vkfd_trace(e, VKFD_TRACE_SCHED_LOAD, i, q->engine, slot, vmid, 0, 0);
    return true;
}

bool vkfd_sched_off(VKFDEngine *e, uint16_t i, bool save, VKFDSchedState state)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);
    uint32_t mqd[V9_SDMA_MQD_DW];
    bool ok = true;

    if (q->engine) {
        if (save && !read_mqd(e, q, mqd, V9_SDMA_MQD_DW)) {
            save = ok = false;
        }
        /* First, so that the switch-off is nobody's. */
        vkfd_sched_leave_slot(e, i, state);
        vkfd_sdma_rlc_unload(e, q->engine - 1, q->slot, save ? mqd : NULL);
        ok = ok && (!save || write_mqd(e, q, 0, mqd, V9_SDMA_MQD_DW));
        if (!ok) {
            vkfd_sched_set_state(e, i, VKFD_SCHED_STOPPED);
        }
        return ok;
    }
    if (save) {
        ok = save_extra(e, q);
    }
    /* First, so that the dequeue below is nobody's. */
    vkfd_sched_leave_slot(e, i, state);
    ok = vkfd_hqd_dequeue(e, q->slot, save && ok ? VKFD_DEQUEUE_SAVE_WAVES
                                                 : VKFD_DEQUEUE_RESET_WAVES) && ok;
    if (!ok) {
        /* What was not saved cannot go on where it was. */
        vkfd_sched_set_state(e, i, VKFD_SCHED_STOPPED);
    }
    return ok;
}

void vkfd_sched_hqd_off(VKFDEngine *e, unsigned hqd, uint32_t request)
{
    uint16_t i = e->sd.hqd_owner[hqd];
    bool saved = false;
    VKFDSchedQueue *q;

    if (i == VKFD_SCHED_NONE) {
        return;
    }
    q = vkfd_sched_q(e, i);
    if (request == VKFD_DEQUEUE_DRAIN || request == VKFD_DEQUEUE_SAVE_WAVES) {
        saved = save_extra(e, q);
    }
    vkfd_sched_leave_slot(e, i, VKFD_SCHED_STOPPED);
    if (q->unmap) {
        /* A preemption the firmware waited for: the packet can be completed. */
        vkfd_sched_unmapped(e, i, saved);
    } else if (q->flags & VKFD_SCHED_F_FIXED) {
        /* The driver took its own queue back. */
        vkfd_sched_remove(e, i);
    }
}

/* Its doorbell is off, or it is: what it was at is in its registers, for the driver. */
void vkfd_sched_rlc_off(VKFDEngine *e, unsigned engine, unsigned rlc)
{
    uint16_t i = e->sd.rlc_owner[engine][rlc];
    uint32_t mqd[V9_SDMA_MQD_DW];
    VKFDSchedQueue *q;
    bool saved = false;

    if (i == VKFD_SCHED_NONE) {
        return;
    }
    q = vkfd_sched_q(e, i);
    vkfd_sched_leave_slot(e, i, VKFD_SCHED_STOPPED);
    if (!q->unmap) {
        return;
    }
    /* A preemption the firmware waited for. */
    saved = q->unmap - 1 != UNMAP_QUEUES_RESET && read_mqd(e, q, mqd, V9_SDMA_MQD_DW);
    vkfd_sdma_rlc_take(e, engine, rlc, saved ? mqd : NULL);
    saved = saved && write_mqd(e, q, 0, mqd, V9_SDMA_MQD_DW);
    vkfd_sched_unmapped(e, i, saved);
}

void vkfd_sched_swap_out(VKFDEngine *e, uint16_t i)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);
    VKFDSchedState state = VKFD_SCHED_READY;
    VKFDSchedSeen seen = { .n = 0 };

    if (q->engine) {
        VKFDSdmaState s = vkfd_sdma_rlc_state(e, q->engine - 1, q->slot);

        if (s == VKFD_SDMA_IDLE) {
            state = VKFD_SCHED_IDLE;
        } else if (s == VKFD_SDMA_STOPPED) {
            state = VKFD_SCHED_STOPPED;
        }
    } else if (e->hqd[q->slot].stop) {
        state = VKFD_SCHED_STOPPED;
    } else if (hqd_idle(&e->hqd[q->slot])) {
        state = VKFD_SCHED_IDLE;
    }
    if (state == VKFD_SCHED_READY && vkfd_sched_noted(e, i)) {
        seen = *vkfd_sched_seen(e, i);
    }
    e->counters[VKFD_CNT_QUEUE_SWAP]++;
    vkfd_trace(e, VKFD_TRACE_SCHED_SWAP, i, q->engine, q->slot, state, seen.n, 0);
    if (vkfd_sched_off(e, i, true, state) && seen.n) {
        vkfd_sched_watch(e, i, &seen);
    }
}

int64_t vkfd_sched_expiry(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    uint32_t ms = 1;

    if (!q->engine) {
        uint32_t v = HQD(&e->hqd[q->slot], CP_HQD_QUANTUM);

        if (v & CP_HQD_QUANTUM__QUANTUM_EN_MASK) {
            ms = VKFD_GET(v, CP_HQD_QUANTUM__QUANTUM_DURATION);
        }
    }
    return q->since + (int64_t)(ms ? ms : 1) * VKFD_SCHED_QUANTUM_NS;
}

VKFDSchedHold vkfd_sched_hold(VKFDEngine *e, uint16_t i, int64_t now)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    bool expired = now < q->since || now >= vkfd_sched_expiry(e, i);
    VKFDHqd *hqd;

    if (q->unmap || (q->flags & VKFD_SCHED_F_FIXED)) {
        return VKFD_SCHED_HELD;
    }
    if (q->engine) {
        VKFDSdmaState s = vkfd_sdma_rlc_state(e, q->engine - 1, q->slot);

        if (s == VKFD_SDMA_IDLE || s == VKFD_SDMA_STOPPED || vkfd_sched_noted(e, i)) {
            return VKFD_SCHED_SPARE;
        }
        return expired && s != VKFD_SDMA_HELD ? VKFD_SCHED_EXPIRED : VKFD_SCHED_HELD;
    }
    hqd = &e->hqd[q->slot];
    if (e->inject_blocked >> q->slot & 1) {
        return VKFD_SCHED_HELD;         /* an injected hang is not cured by a swap */
    }
    if (hqd->stop || hqd_idle(hqd) || vkfd_sched_noted(e, i)) {
        return VKFD_SCHED_SPARE;
    }
    return expired ? VKFD_SCHED_EXPIRED : VKFD_SCHED_HELD;
}

/* Keep the better of two owners in *best: who holds less, then who is there longer. */
static void better(VKFDEngine *e, uint16_t i, int64_t now, uint16_t *best,
                   VKFDSchedHold *best_hold)
{
    VKFDSchedHold hold = vkfd_sched_hold(e, i, now);

    if (hold > *best_hold ||
        (*best != VKFD_SCHED_NONE && hold == *best_hold &&
         vkfd_sched_q(e, i)->since < vkfd_sched_q(e, *best)->since)) {
        *best_hold = hold;
        *best = i;
    }
}

/*
 * Queues that wait on memory can wait without a slot, once it is known what they saw:
 * note that, and let each look once more.
 */
static void note_parked(VKFDEngine *e)
{
    uint64_t mask = e->waiting_mask & ~e->inject_blocked;

    while (mask) {
        unsigned hqd = vkfd_mask_next(&mask);
        uint16_t i = e->sd.hqd_owner[hqd];

        if (i != VKFD_SCHED_NONE && !(vkfd_sched_q(e, i)->flags & VKFD_SCHED_F_FIXED)) {
            vkfd_sched_note(e, i);
        }
    }
}

static int hqd_slot(VKFDEngine *e, uint16_t *best, VKFDSchedHold *hold, int64_t now)
{
    uint64_t mask = e->sched.queue_mask[SET_RESOURCES_HIQ];

    while (mask) {
        unsigned slot = vkfd_mask_next(&mask);
        uint16_t i = e->sd.hqd_owner[slot];

        if (i != VKFD_SCHED_NONE) {
            better(e, i, now, best, hold);
        } else if (!(e->active_mask >> slot & 1)) {
            return slot;
        }
    }
    if (*hold != VKFD_SCHED_SPARE) {
        note_parked(e);
    }
    return -1;
}

static int rlc_slot(VKFDEngine *e, unsigned engine, uint16_t *best, VKFDSchedHold *hold,
                    int64_t now)
{
    const uint16_t *owner = e->sd.rlc_owner[engine];
    int slot = vkfd_sdma_rlc_free(e, engine);
    unsigned n;

    for (n = 0; slot < 0 && n < VKFD_SCHED_SDMA_RLC; n++) {
        if (owner[n] != VKFD_SCHED_NONE) {
            better(e, owner[n], now, best, hold);
        }
    }
    for (n = 0; slot < 0 && *hold != VKFD_SCHED_SPARE && n < VKFD_SCHED_SDMA_RLC; n++) {
        if (owner[n] != VKFD_SCHED_NONE) {
            vkfd_sched_note(e, owner[n]);
        }
    }
    return slot;
}

int vkfd_sched_slot(VKFDEngine *e, unsigned engine, int64_t now)
{
    VKFDSchedHold hold = VKFD_SCHED_HELD;
    uint16_t best = VKFD_SCHED_NONE;
    int slot = engine ? rlc_slot(e, engine - 1, &best, &hold, now)
                      : hqd_slot(e, &best, &hold, now);

    if (slot < 0 && best != VKFD_SCHED_NONE) {
        slot = vkfd_sched_q(e, best)->slot;
        vkfd_sched_swap_out(e, best);
    }
    return slot;
}

/*
 * A queue whose write pointer in memory is its read pointer needs no slot to find
 * that out. What cannot be read is left to a load, which reports it.
 */
bool vkfd_sched_is_idle(VKFDEngine *e, uint16_t i, uint32_t vmid)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    uint64_t addr = q->wptr_addr, wptr, index, fault_va;
    uint32_t mqd[MQD_DW], n, mask;

    if (q->engine || !read_mqd(e, q, mqd, MQD_DW)) {
        return false;
    }
    n = VKFD_GET(MQD_REG(mqd, CP_HQD_PQ_CONTROL), CP_HQD_PQ_CONTROL__QUEUE_SIZE);
    if (mqd_aql(mqd) || n > VKFD_QUEUE_SIZE_MAX ||
        (MQD_REG(mqd, CP_HQD_IB_CONTROL) & CP_HQD_IB_CONTROL__PROCESSING_IB_MASK)) {
        return false;
    }
    if (!addr) {
        addr = vkfd_pair(MQD_REG(mqd, CP_HQD_PQ_WPTR_POLL_ADDR),
                         MQD_REG(mqd, CP_HQD_PQ_WPTR_POLL_ADDR_HI));
    }
    if (!addr || vkfd_vm_read(e, VKFD_HUB_GFX, vmid, addr & ~7ull, &wptr,
                              sizeof(wptr), &fault_va) != VKFD_FAULT_NONE) {
        return false;
    }
    wptr = vkfd_le64(wptr);
    mask = (2ull << n) - 1;
    index = vkfd_pair(mqd[V9_MQD_READINDEX_DW], mqd[V9_MQD_READINDEX_DW + 1]);
    /* A ring that is full looks the same: then the read index tells. */
    return !((wptr ^ MQD_REG(mqd, CP_HQD_PQ_RPTR)) & mask) &&
           wptr - index != (uint64_t)mask + 1;
}
