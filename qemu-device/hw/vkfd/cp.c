/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command processor: which queue runs, for how long, and fetching PM4 packets.
 *
 * One run visits every slot once, starting one further each time; a visit
 * spends at most cp_budget units (a packet, plus one per VKFD_CP_DW_PER_UNIT
 * dwords of body), all visits about VKFD_CP_RUN_UNITS. So an endless chain of
 * IBs, or a ring that is always full, takes its share and no more, and the main
 * loop gets control between runs, soon enough also when every queue is busy.
 */
#include "engine-priv.h"

#include <vkfd/pm4.h>

/* An INDIRECT_BUFFER packet in a ring: what PQ_RPTR skips when the IB ends. */
#define IB_PACKET_DW            4

bool vkfd_cp_runnable(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];

    if (!((e->active_mask & ~e->inject_blocked) >> hqd & 1) || q->stop || vkfd_grbm_halted(e, hqd) ||
        q->parked == VKFD_PARKED_SHORT) {
        return false;
    }
    if (q->parked == VKFD_PARKED_WAIT || q->parked == VKFD_PARKED_SCHED) {
        return q->poll_now;
    }
    if (vkfd_hqd_in_ib(q)) {
        return true;
    }
    return vkfd_hqd_is_aql(q) ? vkfd_aql_avail(q) : vkfd_hqd_wptr(q) != q->rptr;
}

void vkfd_cp_set_rptr(VKFDHqd *q, uint64_t rptr)
{
    q->rptr = rptr;
    HQD(q, CP_HQD_PQ_RPTR) = rptr & (vkfd_hqd_ring_dw(q) - 1);
}

/*
 * Dwords the producer has published. A wptr more than a ring ahead, or behind,
 * is nonsense: it is taken modulo the ring, so the queue goes on at most one
 * ring's worth of dwords.
 */
static uint64_t ring_avail(VKFDEngine *e, VKFDHqd *q)
{
    uint64_t size = vkfd_hqd_ring_dw(q), wptr = vkfd_hqd_wptr(q);
    uint64_t avail = wptr - q->rptr;

    if (avail > size) {
        vkfd_guest_error(e, "queue write pointer is not within one ring of rptr");
        avail &= size - 1;
        vkfd_cp_set_rptr(q, wptr - avail);
    }
    return avail;
}

/* Read n dwords of the packet stream, off dwords behind the current position. */
static bool fetch(VKFDEngine *e, const VKFDPm4Ctx *c, uint64_t off,
                  uint32_t *dst, uint32_t n)
{
    VKFDHqd *q = c->q;
    uint64_t base, pos, first;
    uint32_t i, total = n;

    if (vkfd_hqd_in_ib(q)) {
        base = vkfd_pair(HQD(q, CP_HQD_IB_BASE_ADDR), HQD(q, CP_HQD_IB_BASE_ADDR_HI));
        pos = HQD(q, CP_HQD_IB_RPTR) + off;
        first = n;
    } else {
        uint64_t size = vkfd_hqd_ring_dw(q);

        base = vkfd_pair(HQD(q, CP_HQD_PQ_BASE), HQD(q, CP_HQD_PQ_BASE_HI)) << 8;
        pos = (q->rptr + off) & (size - 1);
        first = size - pos < n ? size - pos : n;
    }
    if (!vkfd_q_read(e, c->hqd, c->vmid, base + pos * 4, dst, first * 4)) {
        return false;
    }
    n -= first;
    if (n && !vkfd_q_read(e, c->hqd, c->vmid, base, dst + first, n * 4)) {
        return false;
    }
    for (i = 0; i < total; i++) {
        dst[i] = vkfd_le32(dst[i]);
    }
    return true;
}

static uint32_t packet_dw(uint32_t header)
{
    uint32_t count = VKFD_GET(header, PM4_HEADER__COUNT);

    if (header >> PM4_HEADER__TYPE__SHIFT == 2 ||
        (VKFD_GET(header, PM4_HEADER__OPCODE) == IT_NOP &&
         count == PM4_NOP_COUNT_ONE_DW)) {
        return 1;
    }
    return count + 2;
}

void vkfd_cp_advance(VKFDHqd *q, uint32_t n)
{
    if (vkfd_hqd_in_ib(q)) {
        HQD(q, CP_HQD_IB_RPTR) = (HQD(q, CP_HQD_IB_RPTR) + n) &
                                 CP_HQD_IB_RPTR__CONSUMED_OFFSET_MASK;
    } else {
        vkfd_cp_set_rptr(q, q->rptr + n);
    }
}

static void leave_ib(VKFDHqd *q)
{
    HQD(q, CP_HQD_IB_CONTROL) &= ~CP_HQD_IB_CONTROL__PROCESSING_IB_MASK;
    vkfd_cp_set_rptr(q, q->rptr + IB_PACKET_DW);
}

/*
 * Check a header against the opcode table and what is left of the stream.
 * Returns the operation, or NULL with the queue stopped (bad packet) or, in a
 * ring, waiting for the rest of the packet.
 */
static const VKFDPm4Op *check(VKFDEngine *e, const VKFDPm4Ctx *c,
                              uint32_t header)
{
    uint32_t type = header >> PM4_HEADER__TYPE__SHIFT;
    uint32_t body = packet_dw(header) - 1;
    const VKFDPm4Op *op;

    if (type == 2) {
        return vkfd_pm4_op(IT_NOP);
    }
    op = type == 3 ? vkfd_pm4_op(VKFD_GET(header, PM4_HEADER__OPCODE)) : NULL;
    if (!op || ((op->flags & VKFD_PM4_PRIV) && c->vmid) ||
        ((op->flags & VKFD_PM4_RING_ONLY) && vkfd_hqd_in_ib(c->q))) {
        vkfd_pm4_bad(e, c->hqd, header, VKFD_EC_PACKET_UNSUPPORTED);
        return NULL;
    }
    if (body < op->min_dw || body > op->max_dw) {
        vkfd_pm4_bad(e, c->hqd, header, VKFD_EC_PACKET_RESERVED);
        return NULL;
    }
    if (body < c->avail) {
        return op;
    }
    if (vkfd_hqd_in_ib(c->q) || body >= vkfd_hqd_ring_dw(c->q)) {
        vkfd_pm4_bad(e, c->hqd, header, VKFD_EC_PACKET_RESERVED);
    } else {
        vkfd_hqd_set_parked(e, c->hqd, VKFD_PARKED_SHORT);
        c->q->poll_now = 0;
    }
    return NULL;
}

/* Execute one packet. Returns the units used, 0 when the queue cannot go on. */
static unsigned step(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    VKFDPm4Ctx c = { .hqd = hqd, .q = q, .vmid = vkfd_hqd_vmid(q) };
    uint32_t header, epoch = q->epoch;
    const VKFDPm4Op *op;
    VKFDPm4Result res = VKFD_PM4_DONE;
    VKFDInjectResult how = VKFD_INJECT_GO;
    bool first;

    if (vkfd_hqd_in_ib(q)) {
        uint32_t size = VKFD_GET(HQD(q, CP_HQD_IB_CONTROL), CP_HQD_IB_CONTROL__IB_SIZE);
        uint32_t rptr = HQD(q, CP_HQD_IB_RPTR);

        if (rptr >= size) {
            if (vkfd_hqd_is_aql(q)) {
                return vkfd_aql_ib_done(e, hqd);
            }
            leave_ib(q);
            return 1;
        }
        c.avail = size - rptr;
        /*
         * IB_VMID counts for the kernel's rings only: a user queue that is loaded
         * in mid-IB with this field 0 must not run it in VMID 0.
         */
        if (!c.vmid) {
            c.vmid = VKFD_GET(HQD(q, CP_HQD_VMID), CP_HQD_VMID__IB_VMID);
        }
    } else if (vkfd_hqd_is_aql(q)) {
        return vkfd_aql_step(e, hqd);
    } else {
        c.avail = ring_avail(e, q);
        if (!c.avail) {
            return 0;
        }
    }

    if (!fetch(e, &c, 0, &header, 1)) {
        return 0;
    }
    /* A packet passes once: when it is complete, and not again in its middle. */
    first = !q->parked && !vkfd_hqd_progress(q);
    if (vkfd_inject_on(e, VKFD_INJECT_AT_FETCH) && first &&
        packet_dw(header) <= c.avail) {
        how = vkfd_inject_fetch(e, hqd, &header);
        if (how == VKFD_INJECT_STALL) {
            return 0;
        }
        if (how == VKFD_INJECT_SKIP) {
            vkfd_cp_advance(q, packet_dw(header));
            return 1;
        }
    }
    op = check(e, &c, header);
    if (!op) {
        return 0;
    }
    c.body_dw = packet_dw(header) - 1;
    if (first) {
        vkfd_trace(e, VKFD_TRACE_PM4_PACKET, hqd, header,
                   vkfd_hqd_in_ib(q) ? HQD(q, CP_HQD_IB_RPTR) : q->rptr,
                   vkfd_hqd_in_ib(q), 0, 0);
    }
    if (op->handler) {
        if (c.body_dw && !fetch(e, &c, 1, e->pkt, c.body_dw)) {
            return 0;
        }
        e->extra_units = c.body_dw / VKFD_CP_DW_PER_UNIT;
        res = op->handler(e, &c, e->pkt);
        /* Again, if it did not stop or restart its queue; an IB is entered once. */
        if (how == VKFD_INJECT_TWICE && res == VKFD_PM4_DONE && !q->stop &&
            vkfd_hqd_active(q) && q->epoch == epoch) {
            if (!fetch(e, &c, 1, e->pkt, c.body_dw)) {
                return 0;
            }
            res = op->handler(e, &c, e->pkt);
        }
    } else if (op != vkfd_pm4_op(IT_NOP)) {
        e->counters[VKFD_CNT_PACKET_SKIPPED]++;
        vkfd_trace(e, VKFD_TRACE_PM4_SKIP, hqd, header, 0, 0, 0, 0);
    }

    if (res == VKFD_PM4_PARK || res == VKFD_PM4_STOP) {
        return 0;
    }
    vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
    q->poll_now = 0;
    if (res == VKFD_PM4_AGAIN) {
        return 1 + e->extra_units;
    }
    e->counters[VKFD_CNT_PACKET]++;
    /* A packet may have dequeued and restarted its own queue: leave that alone. */
    if (res == VKFD_PM4_DONE && q->epoch == epoch) {
        vkfd_hqd_set_progress(q, 0);
        vkfd_cp_advance(q, c.body_dw + 1);
    }
    return 1 + (op->handler ? e->extra_units : 0);
}

/* Publish how far the ring was read, if it moved. */
static void report_rptr(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t va = vkfd_pair(HQD(q, CP_HQD_PQ_RPTR_REPORT_ADDR),
                            HQD(q, CP_HQD_PQ_RPTR_REPORT_ADDR_HI));
    uint32_t v, rptr = q->rptr & (vkfd_hqd_ring_dw(q) - 1);

    /* AQL packets report themselves. */
    if (vkfd_hqd_is_aql(q)) {
        return;
    }
    /* After a fault the address may be what faulted; after a dequeue, stale. */
    if (rptr == q->reported_rptr || q->stop == VKFD_STOP_VM_FAULT ||
        !vkfd_hqd_active(q) || vkfd_inject_gone(e)) {
        return;
    }
    q->reported_rptr = rptr;
    if (!va || (HQD(q, CP_HQD_PQ_CONTROL) & CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR_MASK)) {
        return;
    }
    vkfd_trace(e, VKFD_TRACE_HQD_RPTR, hqd, rptr, 0, 0, 0, 0);
    v = vkfd_le32(rptr);
    vkfd_q_write(e, hqd, vkfd_hqd_vmid(q), va, &v, sizeof(v));
}

/* The queue has just run empty: an interrupt for those who asked for it. */
static void report_empty(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    VKFDIv iv = {
        .client = SOC15_IH_CLIENTID_GRBM_CP,
        .source = GFX_9_0__SRCID__CP_CTX_EMPTY_INTERRUPT,
        .ring_id = vkfd_hqd_ring_id(hqd),
        .vmid = vkfd_hqd_vmid(q),
    };

    if (vkfd_hqd_active(q) && !q->stop && !q->parked && !vkfd_hqd_in_ib(q) &&
        vkfd_hqd_wptr(q) == q->rptr) {
        vkfd_ih_push(e, &iv);
    }
}

static unsigned run_queue(VKFDEngine *e, unsigned hqd)
{
    unsigned used = 0, n;

    do {
        n = step(e, hqd);
        used += n;
    } while (n && used < e->cp_budget && vkfd_cp_runnable(e, hqd));
    report_rptr(e, hqd);
    if (used) {
        vkfd_heard(e);
    }
    if (used && (e->regs[mmCP_INT_CNTL_RING0] &
                 CP_INT_CNTL_RING0__CNTX_EMPTY_INT_ENABLE_MASK)) {
        report_empty(e, hqd);
    }
    vkfd_trace(e, VKFD_TRACE_CP_RUN, hqd, used, vkfd_cp_runnable(e, hqd), 0, 0, 0);
    return used;
}

void vkfd_cp_run_all(VKFDEngine *e)
{
    unsigned first = e->next_hqd, used = 0, i;
    bool more = false;

    e->next_hqd = (first + 1) % VKFD_NUM_HQD;
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        unsigned hqd = (first + i) % VKFD_NUM_HQD;

        if (used >= VKFD_CP_RUN_UNITS) {
            e->next_hqd = hqd;
            break;
        }
        if (vkfd_cp_runnable(e, hqd)) {
            used += run_queue(e, hqd);
        }
    }
    for (i = 0; i < VKFD_NUM_HQD && !more; i++) {
        more = vkfd_cp_runnable(e, i);
    }
    if (more) {
        vkfd_kick(e);
    }
}
