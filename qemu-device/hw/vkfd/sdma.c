/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SDMA engines: their queues, which one runs and for how long, fetching packets.
 *
 * As in cp.c: one run visits every queue once, starting one further each time. A
 * visit spends at most cp_budget units (a packet, plus what it moves, sdma-move.c),
 * all visits about VKFD_SDMA_RUN_UNITS; a packet that moves much is interrupted after
 * a slice and goes on in the next turn.
 */
#include "sdma-priv.h"

/* VM_L2_PROTECTION_FAULT_STATUS.CID of engine 0 and 1 at the MM hub of Vega20 */
static const uint32_t cid[VKFD_NUM_SDMA] = { 15, 46 };

static bool halted(const VKFDEngine *e, unsigned id)
{
    return (SDMA_ENG(e, id, F32_CNTL) & SDMA0_F32_CNTL__HALT_MASK) ||
           (SDMA_ENG(e, id, FREEZE) & SDMA0_FREEZE__FREEZE_MASK);
}

static bool has_work(const VKFDEngine *e, unsigned id)
{
    return vkfd_sdma_in_ib(e, id) ||
           vkfd_sdma_wptr(e, id) != vkfd_sdma_rptr(e, id);
}

bool vkfd_sdma_runnable(const VKFDEngine *e, unsigned id)
{
    const VKFDSdmaQueue *q = &e->sdma[id];

    if (!vkfd_sdma_active(e, id) || q->stop || q->parked == VKFD_PARKED_SHORT ||
        (q->held & (VKFD_SDMA_HELD_STALLED | VKFD_SDMA_HELD_DEQUEUING)) ||
        e->inject.device != VKFD_INJECT_DEVICE_OK || e->inject_pause || halted(e, id) ||
        (SDMA(e, id, MINOR_PTR_UPDATE) & SDMA0_GFX_MINOR_PTR_UPDATE__ENABLE_MASK) ||
        !vkfd_sdma_selectable(e, id)) {
        return false;
    }
    return q->parked ? q->poll_now : has_work(e, id);
}

bool vkfd_sdma_idle(const VKFDEngine *e, unsigned id)
{
    const VKFDSdmaQueue *q = &e->sdma[id];

    if (!vkfd_sdma_active(e, id)) {
        return true;
    }
    return !q->stop && !(q->held & VKFD_SDMA_HELD_DEQUEUING) &&
           !(vkfd_sdma_selectable(e, id) && has_work(e, id));
}

static void kick(VKFDEngine *e, unsigned id)
{
    if (vkfd_sdma_runnable(e, id)) {
        vkfd_kick(e);
    }
}

void vkfd_sdma_stop(VKFDEngine *e, unsigned id, VKFDStop why)
{
    e->sdma[id].stop = why;
    vkfd_sdma_set_parked(e, id, VKFD_PARKED_NO);
    vkfd_trace(e, VKFD_TRACE_SDMA_STOP, id, why, vkfd_sdma_rptr(e, id), 0, 0, 0);
}

bool vkfd_sdma_access(VKFDEngine *e, unsigned id, uint32_t vmid, uint64_t va,
                      bool write, VKFDFault f)
{
    if (f == VKFD_FAULT_NONE) {
        return true;
    }
    vkfd_sdma_stop(e, id, VKFD_STOP_VM_FAULT);
    vkfd_vm_fault_of(e, VKFD_HUB_MM, cid[id / VKFD_SDMA_QUEUES], vmid, va, write, f);
    return false;
}

bool vkfd_sdma_read(VKFDEngine *e, unsigned id, uint32_t vmid, uint64_t va,
                    void *buf, uint32_t len)
{
    uint64_t fault_va = va;
    VKFDFault f = vkfd_vm_read(e, VKFD_HUB_MM, vmid, va, buf, len, &fault_va);

    return vkfd_sdma_access(e, id, vmid, fault_va, false, f);
}

bool vkfd_sdma_write(VKFDEngine *e, unsigned id, uint32_t vmid, uint64_t va,
                     const void *buf, uint32_t len)
{
    uint64_t fault_va = va;
    VKFDFault f = vkfd_vm_write(e, VKFD_HUB_MM, vmid, va, buf, len, &fault_va);

    return vkfd_sdma_access(e, id, vmid, fault_va, true, f);
}

/* ---- on, off, pointers ---- */

static void set_rptr(VKFDEngine *e, unsigned id, uint64_t rptr)
{
    SDMA(e, id, RB_RPTR) = rptr;
    SDMA(e, id, RB_RPTR_HI) = rptr >> 32;
}

static void store_wptr(VKFDEngine *e, unsigned id, uint64_t wptr)
{
    SDMA(e, id, RB_WPTR) = wptr & ~3ull;
    SDMA(e, id, RB_WPTR_HI) = wptr >> 32;
}

bool vkfd_sdma_read_wptr(VKFDEngine *e, unsigned id, uint64_t *wptr)
{
    uint64_t va = vkfd_pair(SDMA(e, id, RB_WPTR_POLL_ADDR_LO) & ~3u,
                            SDMA(e, id, RB_WPTR_POLL_ADDR_HI));
    uint64_t v;

    if (!vkfd_sdma_read(e, id, vkfd_sdma_vmid(e, id), va, &v, sizeof(v))) {
        return false;
    }
    *wptr = vkfd_le64(v);
    return true;
}

void vkfd_sdma_set_wptr(VKFDEngine *e, unsigned id, uint64_t wptr)
{
    uint8_t parked = e->sdma[id].parked;

    store_wptr(e, id, wptr);
    if (!vkfd_sdma_active(e, id)) {
        return;
    }
    vkfd_trace(e, VKFD_TRACE_SDMA_WPTR, id, wptr, vkfd_sdma_rptr(e, id), 0, 0, 0);
    if (parked == VKFD_PARKED_SHORT || parked == VKFD_PARKED_WPTR) {
        vkfd_sdma_set_parked(e, id, VKFD_PARKED_NO);
    }
    kick(e, id);
}

bool vkfd_sdma_doorbell(VKFDEngine *e, unsigned engine, uint32_t dw, uint64_t val)
{
    unsigned id = engine * VKFD_SDMA_QUEUES, end = id + VKFD_SDMA_QUEUES;
    bool hit = false;

    for (; id < end; id++) {
        if ((SDMA(e, id, DOORBELL) & SDMA0_GFX_DOORBELL__ENABLE_MASK) &&
            VKFD_GET(SDMA(e, id, DOORBELL_OFFSET),
                     SDMA0_GFX_DOORBELL_OFFSET__OFFSET) == dw) {
            SDMA(e, id, DOORBELL) |= SDMA0_GFX_DOORBELL__CAPTURED_MASK;
            SDMA(e, id, DOORBELL_LOG) = val & SDMA0_GFX_DOORBELL_LOG__DATA_MASK;
            vkfd_sdma_set_wptr(e, id, val);
            hit = true;
        }
    }
    return hit;
}

void vkfd_sdma_restart(VKFDEngine *e, unsigned id)
{
    SDMA(e, id, IB_SIZE) = 0;
    SDMA(e, id, IB_RPTR) = 0;
    SDMA(e, id, SKIP_CNTL) = 0;
    SDMA(e, id, MIDCMD_CNTL) = 0;
    e->sdma[id].epoch++;
    e->sdma[id].held &= ~(VKFD_SDMA_HELD_PASSED | VKFD_SDMA_HELD_TWICE);
    if (e->sdma[id].parked) {
        vkfd_sdma_set_parked(e, id, VKFD_PARKED_NO);
    }
    kick(e, id);
}

void vkfd_sdma_enable(VKFDEngine *e, unsigned id)
{
    VKFDSdmaQueue *q = &e->sdma[id];
    uint64_t wptr;

    SDMA(e, id, RB_CNTL) |= SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
    vkfd_sdma_set_active(e, id, true);
    vkfd_sdma_set_parked(e, id, VKFD_PARKED_NO);
    q->epoch++;
    q->stop = VKFD_STOP_NONE;
    q->reported_rptr = vkfd_sdma_rptr(e, id);
    if (vkfd_sdma_polls_wptr(e, id) && vkfd_sdma_read_wptr(e, id, &wptr)) {
        store_wptr(e, id, wptr);
    }
    vkfd_trace(e, VKFD_TRACE_SDMA_ENABLE, id, vkfd_sdma_vmid(e, id),
               vkfd_pair(SDMA(e, id, RB_BASE), SDMA(e, id, RB_BASE_HI)) << 8,
               vkfd_sdma_rptr(e, id), vkfd_sdma_wptr(e, id), 0);
    if (vkfd_sdma_polls_wptr(e, id)) {
        vkfd_kick(e);           /* a visit, which ends in waiting for wptr */
    }
    kick(e, id);
}

void vkfd_sdma_off(VKFDEngine *e, unsigned id)
{
    VKFDSdmaQueue *q = &e->sdma[id];

    SDMA(e, id, RB_CNTL) &= ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
    if (!vkfd_sdma_active(e, id)) {
        return;
    }
    vkfd_trace(e, VKFD_TRACE_SDMA_OFF, id, vkfd_sdma_rptr(e, id),
               SDMA(e, id, IB_RPTR), q->parked == VKFD_PARKED_WAIT,
               vkfd_sdma_midcmd(e, id) ? SDMA(e, id, MIDCMD_DATA0) : 0, 0);
    vkfd_inject_sdma_off(e, id);
    vkfd_sdma_set_parked(e, id, VKFD_PARKED_NO);
    q->stop = VKFD_STOP_NONE;
    vkfd_sdma_set_active(e, id, false);
    vkfd_sdma_tell_sched(e, id);
    vkfd_wait_rearm(e);
}

void vkfd_sdma_tell_sched(VKFDEngine *e, unsigned id)
{
    if (vkfd_sdma_is_rlc(id) && !vkfd_sdma_loaded(e, id)) {
        vkfd_sched_rlc_off(e, id / VKFD_SDMA_QUEUES,
                           id % VKFD_SDMA_QUEUES - VKFD_SDMA_BLOCK_RLC0);
    }
}

/* ---- fetching ---- */

/*
 * Dwords the producer has published. A wptr more than a ring ahead, or behind, is
 * nonsense: it is taken modulo the ring, where rptr stays where it is.
 */
static uint64_t ring_avail(VKFDEngine *e, unsigned id)
{
    uint64_t size = vkfd_sdma_ring_size(e, id), wptr = vkfd_sdma_wptr(e, id);
    uint64_t avail = wptr - vkfd_sdma_rptr(e, id);

    if (avail > size) {
        vkfd_guest_error(e, "SDMA write pointer is not within one ring of rptr");
        avail &= size - 1;
        set_rptr(e, id, wptr - avail);
    }
    return avail / 4;
}

bool vkfd_sdma_fetch(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t off,
                     uint32_t *dst, uint32_t n)
{
    unsigned id = c->id;
    uint64_t base, pos, first = n;

    if (c->in_ib) {
        base = vkfd_pair(SDMA(e, id, IB_BASE_LO) & ~3u, SDMA(e, id, IB_BASE_HI));
        pos = VKFD_GET(SDMA(e, id, IB_RPTR), SDMA0_GFX_IB_RPTR__OFFSET) + off;
    } else {
        uint64_t size = vkfd_sdma_ring_size(e, id) / 4;

        base = vkfd_pair(SDMA(e, id, RB_BASE), SDMA(e, id, RB_BASE_HI)) << 8;
        pos = (vkfd_sdma_rptr(e, id) / 4 + off) & (size - 1);
        first = size - pos < n ? size - pos : n;
    }
    return vkfd_sdma_read(e, id, c->vmid, base + pos * 4, dst, first * 4) &&
           (first == n || vkfd_sdma_read(e, id, c->vmid, base, dst + first,
                                         (n - first) * 4));
}

static bool fetch_swapped(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t off,
                          uint32_t *dst, uint32_t n)
{
    uint32_t i;

    if (!vkfd_sdma_fetch(e, c, off, dst, n)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        dst[i] = vkfd_le32(dst[i]);
    }
    return true;
}

static void advance(VKFDEngine *e, unsigned id, bool in_ib, uint32_t dw)
{
    if (in_ib) {
        uint32_t pos = VKFD_GET(SDMA(e, id, IB_RPTR), SDMA0_GFX_IB_RPTR__OFFSET) + dw;

        SDMA(e, id, IB_RPTR) = VKFD_PUT(0, SDMA0_GFX_IB_RPTR__OFFSET, pos);
    } else {
        set_rptr(e, id, vkfd_sdma_rptr(e, id) + (uint64_t)dw * 4);
    }
}

static void leave_ib(VKFDEngine *e, unsigned id)
{
    SDMA(e, id, IB_SIZE) = 0;
    SDMA(e, id, IB_RPTR) = 0;
    set_rptr(e, id, vkfd_sdma_rptr(e, id) + SDMA_PKT_INDIRECT_DW * 4);
}

/*
 * Find out what packet c->header begins, and get the fixed part of its body into
 * e->pkt. Returns true if all of it is there. Else the queue is stopped (bad packet,
 * fault) or, in a ring, waits for the rest.
 */
static bool look(VKFDEngine *e, VKFDSdmaCtx *c)
{
    const VKFDSdmaOp *op = vkfd_sdma_op(c->header);
    uint32_t i;

    if (!op) {
        vkfd_sdma_bad(e, c, VKFD_EC_PACKET_UNSUPPORTED);
        return false;
    }
    c->op = op;
    if (c->header & ~(op->header | SDMA_PKT_HEADER__OP_MASK |
                      SDMA_PKT_HEADER__SUB_OP_MASK)) {
        vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
        return false;
    }
    c->dw = op->dw;
    if (op->dw > 1 && op->dw <= c->avail) {
        if (!fetch_swapped(e, c, 1, e->pkt, op->dw - 1)) {
            return false;
        }
        for (i = 0; op->reserved && i < op->dw - 1u; i++) {
            if (e->pkt[i] & op->reserved[i]) {
                vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
                return false;
            }
        }
    }
    if (op->dw <= c->avail) {
        c->dw = vkfd_sdma_packet_dw(op, c->header, e->pkt);
        if (c->dw <= c->avail) {
            return true;
        }
    }
    if (c->in_ib || c->dw > vkfd_sdma_ring_size(e, c->id) / 4) {
        vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    } else {
        vkfd_sdma_set_parked(e, c->id, VKFD_PARKED_SHORT);
    }
    return false;
}

/* A parked queue that polls its wptr memory looks there. False: it waits on. */
static bool poll_wptr(VKFDEngine *e, unsigned id)
{
    uint64_t wptr;

    if (!vkfd_sdma_read_wptr(e, id, &wptr)) {
        return false;
    }
    if ((wptr & ~3ull) == vkfd_sdma_wptr(e, id)) {
        vkfd_sdma_park_wptr(e, id);
        return false;
    }
    vkfd_sdma_set_wptr(e, id, wptr);
    return true;
}

/* Position and VMID of the next packet. Returns false if there is none. */
static bool position(VKFDEngine *e, VKFDSdmaCtx *c)
{
    uint32_t pos, size;

    c->vmid = vkfd_sdma_vmid(e, c->id);
    c->in_ib = vkfd_sdma_in_ib(e, c->id);
    if (!c->in_ib) {
        c->avail = ring_avail(e, c->id);
        return c->avail;
    }
    size = vkfd_sdma_ib_size(e, c->id);
    pos = VKFD_GET(SDMA(e, c->id, IB_RPTR), SDMA0_GFX_IB_RPTR__OFFSET);
    c->avail = pos < size ? size - pos : 0;
    /* CMD_VMID counts for the kernel's rings only, whatever was loaded into it. */
    if (!c->vmid) {
        c->vmid = VKFD_GET(SDMA(e, c->id, IB_CNTL), SDMA0_GFX_IB_CNTL__CMD_VMID);
    }
    return true;
}

/* Take it off the queue's hands: executed, or skipped as if it were. */
static void finish(VKFDEngine *e, const VKFDSdmaCtx *c, uint32_t epoch)
{
    VKFDSdmaQueue *q = c->q;

    e->counters[VKFD_CNT_PACKET]++;
    /* It may have switched off, restarted or moved its own queue: leave that alone. */
    if (!vkfd_sdma_active(e, c->id) || q->epoch != epoch) {
        return;
    }
    vkfd_sdma_set_parked(e, c->id, VKFD_PARKED_NO);
    SDMA(e, c->id, MIDCMD_CNTL) = 0;
    if (q->held & VKFD_SDMA_HELD_TWICE) {
        q->held &= ~VKFD_SDMA_HELD_TWICE;
        q->held |= VKFD_SDMA_HELD_PASSED;
        return;
    }
    advance(e, c->id, c->in_ib, c->dw);
}

static VKFDSdmaResult execute(VKFDEngine *e, VKFDSdmaCtx *c)
{
    VKFDSdmaQueue *q = c->q;

    if (!q->parked && !vkfd_sdma_midcmd(e, c->id)) {
        vkfd_trace(e, VKFD_TRACE_SDMA_PACKET, c->id, c->header,
                   c->in_ib ? SDMA(e, c->id, IB_RPTR) : vkfd_sdma_rptr(e, c->id),
                   c->in_ib, 0, 0);
    }
    if (c->op->privileged && c->vmid) {
        return vkfd_sdma_priv(e, c, c->op->op == SDMA_OP_SRBM_WRITE ? e->pkt[0] : 0);
    }
    if (c->op->handler) {
        return c->op->handler(e, c, e->pkt);
    }
    e->counters[VKFD_CNT_PACKET_SKIPPED]++;
    vkfd_trace(e, VKFD_TRACE_SDMA_SKIP, c->id, c->header, 0, 0, 0, 0);
    return VKFD_SDMA_DONE;
}

/* Execute one packet. Returns the units used, 0 when the queue cannot go on. */
static unsigned step(VKFDEngine *e, unsigned id)
{
    VKFDSdmaQueue *q = &e->sdma[id];
    VKFDSdmaCtx c = { .id = id, .q = q };
    uint32_t epoch = q->epoch, skip;

    if (q->parked == VKFD_PARKED_WPTR) {
        return poll_wptr(e, id);
    }
    if (!position(e, &c)) {
        return 0;
    }
    if (c.in_ib && !c.avail) {
        leave_ib(e, id);
        return 1;
    }
    skip = SDMA(e, id, SKIP_CNTL) & SDMA0_GFX_SKIP_CNTL__SKIP_COUNT_MASK;
    if (skip) {
        uint32_t n = skip < c.avail ? skip : c.avail;

        advance(e, id, c.in_ib, n);
        SDMA(e, id, SKIP_CNTL) = skip - n;
        return 1;
    }

    if (!fetch_swapped(e, &c, 0, &c.header, 1) || !look(e, &c)) {
        return 0;
    }
    /* A packet passes once: not again from a wait, nor for its next slice. */
    if (vkfd_inject_on(e, VKFD_INJECT_AT_FETCH) && !q->parked &&
        !vkfd_sdma_midcmd(e, id)) {
        uint32_t header = c.header;

        switch (vkfd_inject_sdma_fetch(e, id, &c.header)) {
        case VKFD_INJECT_STALL:
            return 0;
        case VKFD_INJECT_SKIP:
            advance(e, id, c.in_ib, c.dw);
            return 1;
        case VKFD_INJECT_TWICE:
            q->held |= VKFD_SDMA_HELD_TWICE;
            break;
        case VKFD_INJECT_GO:
            break;
        }
        if (c.header != header && !look(e, &c)) {
            return 0;
        }
    }

    e->extra_units = 0;
    switch (execute(e, &c)) {
    case VKFD_SDMA_JUMP:
        q->held &= ~VKFD_SDMA_HELD_TWICE;       /* an IB is entered once */
        SDMA(e, id, MIDCMD_CNTL) = 0;
        e->counters[VKFD_CNT_PACKET]++;
        break;
    case VKFD_SDMA_DONE:
        finish(e, &c, epoch);
        break;
    case VKFD_SDMA_MORE:
        break;
    case VKFD_SDMA_PARK:
    case VKFD_SDMA_STOP:
        return 0;
    }
    return 1 + e->extra_units;
}

/* ---- running ---- */

/* Publish how far the ring was read, if it moved: 64 bits, in bytes, not wrapped. */
static void report_rptr(VKFDEngine *e, unsigned id)
{
    VKFDSdmaQueue *q = &e->sdma[id];
    uint64_t va = vkfd_pair(SDMA(e, id, RB_RPTR_ADDR_LO) & ~3u,
                            SDMA(e, id, RB_RPTR_ADDR_HI));
    uint64_t rptr = vkfd_sdma_rptr(e, id), v = vkfd_le64(rptr);

    /* After a fault the address may be what faulted; once off, it may be stale. */
    if (rptr == q->reported_rptr || q->stop == VKFD_STOP_VM_FAULT ||
        !vkfd_sdma_active(e, id) || vkfd_inject_gone(e)) {
        return;
    }
    q->reported_rptr = rptr;
    if (!va || !(SDMA(e, id, RB_CNTL) &
                 SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE_MASK)) {
        return;
    }
    vkfd_trace(e, VKFD_TRACE_SDMA_RPTR, id, rptr, 0, 0, 0, 0);
    vkfd_sdma_write(e, id, vkfd_sdma_vmid(e, id), va, &v, sizeof(v));
}

static unsigned run_queue(VKFDEngine *e, unsigned id)
{
    unsigned used = 0, n;

    do {
        n = step(e, id);
        used += n;
    } while (n && used < e->cp_budget && vkfd_sdma_runnable(e, id));
    if (used) {
        vkfd_heard(e);
    }
    report_rptr(e, id);
    vkfd_trace(e, VKFD_TRACE_SDMA_RUN, id, used, vkfd_sdma_runnable(e, id), 0, 0, 0);
    return used;
}

/* An idle queue that polls its wptr memory waits for it to change. */
static void poll_if_idle(VKFDEngine *e, unsigned id)
{
    if (vkfd_sdma_active(e, id) && vkfd_sdma_polls_wptr(e, id) &&
        !e->sdma[id].parked && vkfd_sdma_idle(e, id)) {
        vkfd_sdma_park_wptr(e, id);
    }
}

void vkfd_sdma_run_all(VKFDEngine *e)
{
    unsigned first = e->next_sdma, used = 0, i;
    uint32_t mask;
    bool more = false;

    if (!e->sdma_active) {
        return;
    }
    e->next_sdma = (first + 1) % VKFD_NUM_SDMA_QUEUES;
    for (i = 0; i < VKFD_NUM_SDMA_QUEUES; i++) {
        unsigned id = (first + i) % VKFD_NUM_SDMA_QUEUES;

        if (used >= VKFD_SDMA_RUN_UNITS) {
            e->next_sdma = id;
            break;
        }
        if (vkfd_sdma_runnable(e, id)) {
            used += run_queue(e, id);
        }
        poll_if_idle(e, id);
    }
    mask = e->sdma_active;
    while (mask && !more) {
        more = vkfd_sdma_runnable(e, vkfd_sdma_mask_next(&mask));
    }
    if (more) {
        vkfd_kick(e);
    }
}
