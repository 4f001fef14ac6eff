/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware queue slots: their register bank, activation, dequeue.
 *
 * The position of a queue is wholly in its registers: PQ_RPTR, PQ_WPTR and, in
 * an IB, IB_BASE, IB_RPTR, IB_CONTROL (size, PROCESSING_IB) and HQD_VMID.IB_VMID.
 * While an IB runs, PQ_RPTR stays at the INDIRECT_BUFFER packet. A dequeue leaves
 * them as they are (drain and save also write them to the MQD), and an activation
 * goes on there. HQ_STATUS1 tells how far the packet there has come, and
 * ATOMIC0_PREOP what the last atomic found.
 */
#include "engine-priv.h"

#include <vkfd/aql.h>
#include <vkfd/mqd.h>

uint8_t vkfd_hqd_ring_id(unsigned hqd)
{
    unsigned me = hqd / (VKFD_NUM_HQD / VKFD_NUM_ME) + 1;
    unsigned pipe = hqd / VKFD_QUEUES_PER_PIPE % VKFD_PIPES_PER_ME;
    unsigned queue = hqd % VKFD_QUEUES_PER_PIPE;

    return me << VKFD_IH_RING_ID__ME__SHIFT |
           pipe << VKFD_IH_RING_ID__PIPE__SHIFT |
           queue << VKFD_IH_RING_ID__QUEUE__SHIFT;
}

/* Bits of a bank register that can be written. */
static uint32_t hqd_mask(uint32_t dw)
{
    switch (dw) {
    case mmCP_MQD_BASE_ADDR:
    case mmCP_HQD_PQ_RPTR_REPORT_ADDR:
    case mmCP_HQD_IB_BASE_ADDR:
        return 0xfffffffc;
    case mmCP_HQD_PQ_WPTR_POLL_ADDR:
        return 0xfffffff8;
    case mmCP_MQD_BASE_ADDR_HI:
    case mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI:
    case mmCP_HQD_PQ_WPTR_POLL_ADDR_HI:
    case mmCP_HQD_IB_BASE_ADDR_HI:
        return 0x0000ffff;
    case mmCP_HQD_PQ_BASE_HI:
    case mmCP_HQD_EOP_BASE_ADDR_HI:
        return 0x000000ff;
    case mmCP_HQD_VMID:
        return CP_HQD_VMID__VMID_MASK | CP_HQD_VMID__IB_VMID_MASK;
    case mmCP_HQD_IB_RPTR:
        return CP_HQD_IB_RPTR__CONSUMED_OFFSET_MASK;
    case mmCP_HQD_PQ_DOORBELL_CONTROL:
        return CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_BIF_DROP_MASK |
               CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK |
               CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_SOURCE_MASK |
               CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK |
               CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT_MASK;
    default:
        return 0xffffffff;
    }
}

static bool is_sh(uint32_t dw)
{
    return dw >= mmCOMPUTE_DISPATCH_INITIATOR && dw <= mmCOMPUTE_NOWHERE;
}

uint32_t vkfd_hqd_read(VKFDEngine *e, uint32_t dw)
{
    int hqd = vkfd_grbm_hqd(e);

    if (hqd < 0) {
        vkfd_guest_error(e, "queue register read with no MEC selected");
        return 0;
    }
    if (is_sh(dw)) {
        return e->hqd[hqd].sh[dw - mmCOMPUTE_DISPATCH_INITIATOR];
    }
    return *vkfd_hqd_reg(&e->hqd[hqd], dw);
}

void vkfd_hqd_stop(VKFDEngine *e, unsigned hqd, VKFDStop why)
{
    VKFDHqd *q = &e->hqd[hqd];

    q->stop = why;
    vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
    q->poll_now = 0;
    vkfd_trace(e, VKFD_TRACE_HQD_STOP, hqd, why, q->rptr, 0, 0, 0);
}

/* wptr (dwords) from memory, in the address space of the ring; false: it faulted. */
static bool poll_wptr(VKFDEngine *e, unsigned hqd, uint64_t *wptr)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t va = vkfd_pair(HQD(q, CP_HQD_PQ_WPTR_POLL_ADDR),
                            HQD(q, CP_HQD_PQ_WPTR_POLL_ADDR_HI));
    uint64_t v;

    if (!vkfd_q_read(e, hqd, vkfd_hqd_vmid(q), va, &v, sizeof(v))) {
        return false;
    }
    *wptr = vkfd_le64(v) * (vkfd_hqd_is_aql(q) ? AQL_PACKET_DW : 1);
    return true;
}

static bool has_poll_addr(VKFDHqd *q)
{
    return HQD(q, CP_HQD_PQ_WPTR_POLL_ADDR) ||
           HQD(q, CP_HQD_PQ_WPTR_POLL_ADDR_HI);
}

/* index: the monotonic rptr, if that is known; only a full ring needs it. */
static void activate(VKFDEngine *e, unsigned hqd, const uint64_t *index)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t mask, wptr = vkfd_hqd_wptr(q);
    uint32_t slots = VKFD_GET(HQD(q, CP_HQD_PQ_CONTROL),
                              CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR);
    bool aql = vkfd_hqd_is_aql(q);

    vkfd_hqd_set_active(e, hqd, true);
    HQD(q, CP_HQD_DEQUEUE_REQUEST) = 0;
    q->epoch++;
    q->stop = VKFD_STOP_NONE;
    vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
    q->poll_now = 0;

    if (VKFD_GET(HQD(q, CP_HQD_PQ_CONTROL), CP_HQD_PQ_CONTROL__QUEUE_SIZE) >
        VKFD_QUEUE_SIZE_MAX) {
        vkfd_guest_error(e, "CP_HQD_PQ_CONTROL: QUEUE_SIZE is out of range");
        vkfd_hqd_stop(e, hqd, VKFD_STOP_UNSUPPORTED);
    } else if (slots && slots != VKFD_SLOT_BASED_WPTR_AQL) {
        vkfd_guest_error(e, "CP_HQD_PQ_CONTROL: no such SLOT_BASED_WPTR");
        vkfd_hqd_stop(e, hqd, VKFD_STOP_UNSUPPORTED);
    } else if (aql && !vkfd_aql_activate(e, hqd)) {
        /* stopped, as was reported */
    } else if (aql && HQD(q, CP_HQD_ERROR)) {
        vkfd_hqd_stop(e, hqd, VKFD_STOP_BAD_PACKET);    /* by now it was reported */
    } else if (has_poll_addr(q)) {
        /* No doorbell of the time before activation is kept: memory has it. */
        poll_wptr(e, hqd, &wptr);
    }

    mask = vkfd_hqd_ring_dw(q) - 1;
    if (!aql || q->stop) {
        q->rptr = wptr - ((wptr - HQD(q, CP_HQD_PQ_RPTR)) & mask);
        if (index && wptr - *index == mask + 1 &&
            (*index & mask) == (q->rptr & mask)) {
            q->rptr = *index;
        }
    }
    q->reported_rptr = q->rptr & mask;
    HQD(q, CP_HQD_PQ_RPTR) = q->rptr & mask;
    HQD(q, CP_HQD_PQ_WPTR_LO) = wptr;
    HQD(q, CP_HQD_PQ_WPTR_HI) = wptr >> 32;
    vkfd_trace(e, VKFD_TRACE_HQD_ACTIVATE, hqd, vkfd_hqd_vmid(q),
               vkfd_pair(HQD(q, CP_HQD_PQ_BASE), HQD(q, CP_HQD_PQ_BASE_HI)) << 8,
               q->rptr, wptr, 0);
    if (vkfd_cp_runnable(e, hqd)) {
        vkfd_kick(e);
    }
}

/*
 * What a later load of the MQD needs to go on here. The MQD lies in VMID 0; one
 * that cannot be written is the driver's error, not a fault of the queue.
 */
bool vkfd_hqd_save(VKFDEngine *e, unsigned hqd)
{
    static const uint32_t saved[] = {
        mmCP_HQD_VMID, mmCP_HQD_PQ_RPTR, mmCP_HQD_IB_BASE_ADDR,
        mmCP_HQD_IB_BASE_ADDR_HI, mmCP_HQD_IB_RPTR, mmCP_HQD_IB_CONTROL,
        mmCP_HQD_ATOMIC0_PREOP_LO, mmCP_HQD_ATOMIC0_PREOP_HI,
        mmCP_HQD_HQ_STATUS1, mmCP_HQD_ERROR, mmCP_HQD_PQ_WPTR_LO,
        mmCP_HQD_PQ_WPTR_HI,
    };
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t fault_va, mqd = vkfd_pair(HQD(q, CP_MQD_BASE_ADDR),
                                       HQD(q, CP_MQD_BASE_ADDR_HI));
    unsigned i;

    if (!mqd) {
        return true;
    }
    for (i = 0; i < sizeof(saved) / sizeof(saved[0]); i++) {
        uint32_t v = vkfd_le32(*vkfd_hqd_reg(q, saved[i]));

        if (vkfd_vm_write(e, VKFD_HUB_GFX, 0,
                          mqd + V9_MQD_DW_OF(saved[i]) * 4, &v, sizeof(v),
                          &fault_va) != VKFD_FAULT_NONE) {
            vkfd_guest_error(e, "dequeue: the MQD cannot be written");
            return false;
        }
    }
    return true;
}

bool vkfd_hqd_dequeue(VKFDEngine *e, unsigned hqd, uint32_t request)
{
    VKFDHqd *q = &e->hqd[hqd];
    bool ok = true;

    HQD(q, CP_HQD_DEQUEUE_REQUEST) = 0;
    if (!vkfd_hqd_active(q)) {
        return true;
    }
    vkfd_trace(e, VKFD_TRACE_HQD_DEQUEUE, hqd, request,
               HQD(q, CP_HQD_PQ_RPTR), HQD(q, CP_HQD_IB_RPTR),
               q->parked == VKFD_PARKED_WAIT, 0);
    vkfd_inject_hqd_off(e, hqd);
    vkfd_sched_hqd_off(e, hqd, request);
    vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
    q->poll_now = 0;
    q->stop = VKFD_STOP_NONE;
    if (request == VKFD_DEQUEUE_DRAIN || request == VKFD_DEQUEUE_SAVE_WAVES) {
        ok = vkfd_hqd_save(e, hqd);
    }
    vkfd_hqd_set_active(e, hqd, false);
    vkfd_wait_rearm(e);
    return ok;
}

void vkfd_hqd_reset_waves(VKFDEngine *e)
{
    int hqd = vkfd_grbm_hqd(e);

    /* A device that stands still answers nothing. */
    if (hqd >= 0 && e->inject.device == VKFD_INJECT_DEVICE_OK &&
        HQD(&e->hqd[hqd], CP_HQD_DEQUEUE_REQUEST)) {
        vkfd_hqd_dequeue(e, hqd, HQD(&e->hqd[hqd], CP_HQD_DEQUEUE_REQUEST));
    }
}

void vkfd_hqd_load(VKFDEngine *e, unsigned hqd, const uint32_t *mqd,
                   const VKFDHqdLoad *l)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint32_t i;

    for (i = 0; i < VKFD_HQD_DW; i++) {
        q->regs[i] = mqd[V9_MQD_HQD_FIRST_DW + i] & hqd_mask(mmCP_MQD_BASE_ADDR + i);
    }
    if (HQD(q, CP_HQD_PERSISTENT_STATE) & CP_HQD_PERSISTENT_STATE__PRELOAD_REQ_MASK) {
        memcpy(q->sh, &mqd[V9_MQD_SH_FIRST_DW], V9_MQD_SH_DW * 4);
    }
    HQD(q, CP_MQD_BASE_ADDR) = l->mqd_addr & hqd_mask(mmCP_MQD_BASE_ADDR);
    HQD(q, CP_MQD_BASE_ADDR_HI) = (l->mqd_addr >> 32) & hqd_mask(mmCP_MQD_BASE_ADDR_HI);
    HQD(q, CP_HQD_ACTIVE) = 0;
    HQD(q, CP_HQD_VMID) = VKFD_PUT(l->vmid, CP_HQD_VMID__IB_VMID, l->vmid);
    if (l->wptr_addr) {
        HQD(q, CP_HQD_PQ_WPTR_POLL_ADDR) = l->wptr_addr;
        HQD(q, CP_HQD_PQ_WPTR_POLL_ADDR_HI) =
            (l->wptr_addr >> 32) & hqd_mask(mmCP_HQD_PQ_WPTR_POLL_ADDR_HI);
    }
    HQD(q, CP_HQD_PQ_WPTR_LO) = l->wptr;
    HQD(q, CP_HQD_PQ_WPTR_HI) = l->wptr >> 32;
    HQD(q, CP_HQD_PQ_DOORBELL_CONTROL) =
        VKFD_PUT(HQD(q, CP_HQD_PQ_DOORBELL_CONTROL),
                 CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET, l->doorbell) |
        CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK;
    HQD(q, CP_HQD_PQ_DOORBELL_CONTROL) &= ~CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT_MASK;
    activate(e, hqd, &l->index);
}

void vkfd_hqd_set_wptr(VKFDEngine *e, unsigned hqd, uint64_t wptr)
{
    VKFDHqd *q = &e->hqd[hqd];

    HQD(q, CP_HQD_PQ_WPTR_LO) = wptr;
    HQD(q, CP_HQD_PQ_WPTR_HI) = wptr >> 32;
    if (!vkfd_hqd_active(q)) {
        return;
    }
    vkfd_trace(e, VKFD_TRACE_HQD_WPTR, hqd, wptr, q->rptr, 0, 0, 0);
    if (q->parked == VKFD_PARKED_SHORT) {
        vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
    }
    if (vkfd_cp_runnable(e, hqd)) {
        vkfd_kick(e);
    }
}

void vkfd_hqd_doorbell(VKFDEngine *e, unsigned hqd, uint64_t val)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t wptr = (val + 1) * AQL_PACKET_DW;

    if (!vkfd_hqd_is_aql(q)) {
        vkfd_hqd_set_wptr(e, hqd, val);
        return;
    }
    if (q->stop || (has_poll_addr(q) && !poll_wptr(e, hqd, &wptr))) {
        return;
    }
    vkfd_hqd_set_wptr(e, hqd, wptr);
    vkfd_wait_rung(e, hqd);
}

/*
 * Bit n is queue n of the selected ME, which is ME1 where none is selected. The
 * queue need not be active: upstream polls just before it activates.
 */
void vkfd_hqd_poll_wptr(VKFDEngine *e, uint32_t mask)
{
    int sel = vkfd_grbm_hqd(e);
    unsigned first = sel >= (int)(VKFD_NUM_HQD / 2) ? VKFD_NUM_HQD / 2 : 0;
    unsigned i;

    for (i = 0; i < VKFD_NUM_HQD / 2; i++) {
        VKFDHqd *q = &e->hqd[first + i];
        uint64_t wptr;

        if (!(mask & 1u << i) || !has_poll_addr(q) || q->stop) {
            continue;
        }
        /*
         * An inactive queue polls when it is activated: a fault now would name
         * a queue that does not run yet.
         */
        if (vkfd_hqd_active(q) && poll_wptr(e, first + i, &wptr)) {
            vkfd_hqd_set_wptr(e, first + i, wptr);
        }
    }
}

void vkfd_hqd_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    int hqd = vkfd_grbm_hqd(e);
    VKFDHqd *q;

    if (hqd < 0) {
        vkfd_guest_error(e, "queue register written with no MEC selected");
        return;
    }
    q = &e->hqd[hqd];
    if (is_sh(dw)) {
        q->sh[dw - mmCOMPUTE_DISPATCH_INITIATOR] = val;
        return;
    }
    switch (dw) {
    case mmCP_HQD_ACTIVE:
        if (!(val & CP_HQD_ACTIVE__ACTIVE_MASK)) {
            vkfd_hqd_dequeue(e, hqd, 0);
        } else if (!vkfd_hqd_active(q)) {
            activate(e, hqd, NULL);
        }
        break;
    case mmCP_HQD_DEQUEUE_REQUEST:
        /*
         * No waves exist, so drain, reset and save all complete at once, also
         * for a parked or stopped queue. Reset does not touch the MQD, which
         * may belong to somebody who is gone.
         */
        val &= CP_HQD_DEQUEUE_REQUEST__DEQUEUE_REQ_MASK;
        if (val && !((vkfd_inject_on(e, VKFD_INJECT_AT_PREEMPT) ||
                      e->inject_blocked) && vkfd_inject_preempt(e, hqd, val))) {
            vkfd_hqd_dequeue(e, hqd, val);
        }
        break;
    case mmCP_HQD_PQ_WPTR_LO:
        vkfd_hqd_set_wptr(e, hqd, vkfd_pair(val, HQD(q, CP_HQD_PQ_WPTR_HI)));
        break;
    case mmCP_HQD_PQ_WPTR_HI:
        vkfd_hqd_set_wptr(e, hqd, vkfd_pair(HQD(q, CP_HQD_PQ_WPTR_LO), val));
        break;
    default:
        *vkfd_hqd_reg(q, dw) = val & hqd_mask(dw);
        /* Of an active queue: what kind its packets are, or whether it is in an IB. */
        if (vkfd_cp_runnable(e, hqd)) {
            vkfd_kick(e);
        }
        break;
    }
}
