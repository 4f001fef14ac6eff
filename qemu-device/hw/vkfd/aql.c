/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AQL queues: packets of 64 bytes, executed in order and one after the other, so
 * the barrier bit and the fences of a header have nothing left to do.
 *
 * Positions are dwords as those of PM4 rings; the runtime's dispatch ids are 16
 * dwords each. A doorbell only says that there is something new: the write pointer
 * comes from memory, and it may include slots the producer has not filled yet. At a
 * slot that is still INVALID the queue is parked, as at a barrier that waits.
 *
 * Order when a packet is done: header INVALID, read_dispatch_id, time stamp,
 * signal value, mailbox, interrupt; each is visible before the next.
 *
 * The queue and signal structures are user memory: read when they are needed,
 * believed in nothing.
 */
#include "pm4-priv.h"

#include <vkfd/aql.h>
#include <vkfd/ih.h>

/* vkfd_hqd_progress() of an AQL packet: begun, and dependencies seen at 0. */
#define AQL_BEGUN               0x20u
#define AQL_SEEN_MASK           0x1fu

_Static_assert(AQL_BARRIER_DEPS <= VKFD_WAIT_ADDRS, "a barrier can be parked");

static uint64_t report_va(VKFDHqd *q)
{
    return vkfd_pair(HQD(q, CP_HQD_PQ_RPTR_REPORT_ADDR),
                     HQD(q, CP_HQD_PQ_RPTR_REPORT_ADDR_HI)) & ~7ull;
}

static uint64_t packet_va(VKFDHqd *q)
{
    uint64_t pos = q->rptr & (vkfd_hqd_ring_dw(q) - AQL_PACKET_DW);

    return (vkfd_pair(HQD(q, CP_HQD_PQ_BASE), HQD(q, CP_HQD_PQ_BASE_HI)) << 8) +
           pos * 4;
}

static uint64_t packet_u64(const VKFDEngine *e, unsigned dw)
{
    return vkfd_pair(e->pkt[dw], e->pkt[dw + 1]);
}

/*
 * Producers take their ids before there is room, so the write pointer may be far
 * ahead. One that is behind is nonsense, and means nothing to do.
 */
uint64_t vkfd_aql_avail(VKFDHqd *q)
{
    int64_t ahead = vkfd_hqd_wptr(q) - q->rptr;

    return ahead < (int64_t)AQL_PACKET_DW ? 0 : ahead;
}

/*
 * The position in memory is the whole one, PQ_RPTR is what the hardware was taken
 * off with, modulo the ring: the nearest that fits both.
 */
bool vkfd_aql_activate(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t size = vkfd_hqd_ring_dw(q), id, pos, delta;

    if (!report_va(q) || size < AQL_PACKET_DW) {
        vkfd_guest_error(e, "an AQL queue needs a read pointer address and a slot");
        vkfd_hqd_stop(e, hqd, VKFD_STOP_UNSUPPORTED);
        return false;
    }
    if (!vkfd_q_read(e, hqd, vkfd_hqd_vmid(q), report_va(q), &id, sizeof(id))) {
        return false;
    }
    pos = vkfd_le64(id) * AQL_PACKET_DW;
    delta = (HQD(q, CP_HQD_PQ_RPTR) - pos) & (size - 1) & ~(AQL_PACKET_DW - 1ull);
    vkfd_cp_set_rptr(q, delta < size / 2 || size == AQL_PACKET_DW
                        ? pos + delta : pos + delta - size);
    return true;
}

/* Address of the amd_queue_t, or 0 if the runtime keeps none. Reports no fault. */
static uint64_t amd_queue(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t fault_va, va = report_va(q);
    uint32_t off;

    if (vkfd_vm_read(e, VKFD_HUB_GFX, vkfd_hqd_vmid(q),
                     va + AMD_QUEUE_READ_ID_OFFSET - AMD_QUEUE_READ_DISPATCH_ID,
                     &off, sizeof(off), &fault_va) != VKFD_FAULT_NONE ||
        vkfd_le32(off) != AMD_QUEUE_READ_DISPATCH_ID) {
        return 0;
    }
    return va - AMD_QUEUE_READ_DISPATCH_ID;
}

/* Write the GPU clock to a signal, if the queue is profiled. False: a fault. */
static bool time_stamp(VKFDEngine *e, unsigned hqd, uint64_t signal, unsigned at)
{
    uint32_t vmid = vkfd_hqd_vmid(&e->hqd[hqd]), props;
    uint64_t queue, now;

    queue = signal ? amd_queue(e, hqd) : 0;
    if (!queue) {
        return true;
    }
    if (!vkfd_q_read(e, hqd, vmid, queue + AMD_QUEUE_PROPERTIES, &props,
                     sizeof(props))) {
        return false;
    }
    if (!(vkfd_le32(props) & AMD_QUEUE_PROPERTY_PROFILING)) {
        return true;
    }
    now = vkfd_le64(vkfd_clock_now(e));
    return vkfd_q_write(e, hqd, vmid, signal + at, &now, sizeof(now));
}

/* What a change of a signal tells, besides its value. */
typedef struct Mailbox {
    uint64_t ptr;
    uint32_t event;
} Mailbox;

/* Before the value changes: then the signal may be gone. */
static bool read_mailbox(VKFDEngine *e, unsigned hqd, uint64_t signal, Mailbox *m)
{
    uint32_t dw[3];

    if (!vkfd_q_read(e, hqd, vkfd_hqd_vmid(&e->hqd[hqd]),
                     signal + AMD_SIGNAL_MAILBOX_PTR, dw, sizeof(dw))) {
        return false;
    }
    m->ptr = vkfd_pair(vkfd_le32(dw[0]), vkfd_le32(dw[1])) & ~7ull;
    m->event = vkfd_le32(dw[2]);
    return true;
}

static bool ring_mailbox(VKFDEngine *e, unsigned hqd, const Mailbox *m)
{
    if (!m->ptr) {
        return true;
    }
    if (!vkfd_q_write_fence(e, hqd, vkfd_hqd_vmid(&e->hqd[hqd]), m->ptr, m->event,
                            8)) {
        return false;
    }
    vkfd_cp_interrupt(e, hqd, GFX_9_0__SRCID__CP_EOP_INTERRUPT,
                      CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE_MASK, m->event);
    return true;
}

bool vkfd_aql_tell(VKFDEngine *e, unsigned hqd, uint32_t code)
{
    uint32_t vmid = vkfd_hqd_vmid(&e->hqd[hqd]);
    uint64_t queue = amd_queue(e, hqd), signal, value = vkfd_le64(code);
    Mailbox m;

    if (!queue) {
        return false;
    }
    if (!vkfd_q_read(e, hqd, vmid, queue + AMD_QUEUE_INACTIVE_SIGNAL, &signal,
                     sizeof(signal))) {
        return true;            /* the fault tells it */
    }
    signal = vkfd_le64(signal);
    if (!signal || signal % AMD_SIGNAL_ALIGN) {
        return false;
    }
    /* Told once: the driver does not know, and may load the queue again. */
    HQD(&e->hqd[hqd], CP_HQD_ERROR) = code;
    if (read_mailbox(e, hqd, signal, &m) &&
        vkfd_q_write(e, hqd, vmid, signal + AMD_SIGNAL_VALUE, &value,
                     sizeof(value))) {
        ring_mailbox(e, hqd, &m);
    }
    return true;
}

/* The packet is bad: stop, and say so to the runtime or, without one, the driver. */
static VKFDPm4Result bad(VKFDEngine *e, unsigned hqd, uint32_t code)
{
    e->counters[VKFD_CNT_PACKET_BAD]++;
    vkfd_trace(e, VKFD_TRACE_AQL_ERROR, hqd, e->pkt[0], code,
               e->hqd[hqd].rptr / AQL_PACKET_DW, 0, 0);
    vkfd_hqd_stop(e, hqd, VKFD_STOP_BAD_PACKET);
    if (!vkfd_aql_tell(e, hqd, code)) {
        vkfd_cp_bad_op(e, hqd, code == AQL_ERROR_PACKET ||
                               code == AQL_ERROR_ILLEGAL_INSTRUCTION
                               ? VKFD_EC_PACKET_UNSUPPORTED
                               : VKFD_EC_PACKET_RESERVED);
    }
    return VKFD_PM4_STOP;
}

/* The slot is the producer's again. */
static bool consume(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint32_t vmid = vkfd_hqd_vmid(q), header;
    uint64_t id;

    header = vkfd_le32((e->pkt[0] & 0xffff0000) | AQL_PACKET_INVALID);
    if (!vkfd_q_write(e, hqd, vmid, packet_va(q), &header, sizeof(header))) {
        return false;
    }
    vkfd_hqd_set_progress(q, 0);
    vkfd_cp_set_rptr(q, q->rptr + AQL_PACKET_DW);
    vkfd_trace(e, VKFD_TRACE_HQD_RPTR, hqd, q->rptr / AQL_PACKET_DW, 0, 0, 0, 0);
    id = vkfd_le64(q->rptr / AQL_PACKET_DW);
    return vkfd_q_write(e, hqd, vmid, report_va(q), &id, sizeof(id));
}

static bool complete(VKFDEngine *e, unsigned hqd, uint64_t signal)
{
    VKFDAtomic minus_one = { .op = VKFD_ATOMIC_ADD, .src = UINT64_MAX };
    Mailbox m;

    if (!signal) {
        return true;
    }
    if (!time_stamp(e, hqd, signal, AMD_SIGNAL_END_TS) ||
        !read_mailbox(e, hqd, signal, &m)) {
        return false;
    }
    /* Never BUSY, see dma_atomic of engine.h. */
    if (vkfd_q_atomic(e, hqd, vkfd_hqd_vmid(&e->hqd[hqd]),
                      signal + AMD_SIGNAL_VALUE, 8, &minus_one) != VKFD_RMW_DONE) {
        return false;
    }
    vkfd_trace(e, VKFD_TRACE_AQL_COMPLETE, hqd, signal, minus_one.old - 1, m.ptr,
               m.event, 0);
    return ring_mailbox(e, hqd, &m);
}

/* The packet in e->pkt is done. Returns the units used, 0 after a fault. */
static unsigned finish(VKFDEngine *e, unsigned hqd, VKFDInjectResult how)
{
    uint64_t signal = packet_u64(e, AQL_COMPLETION_DW);

    vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
    e->hqd[hqd].poll_now = 0;
    e->counters[VKFD_CNT_PACKET]++;
    if (!consume(e, hqd) || !complete(e, hqd, signal) ||
        (how == VKFD_INJECT_TWICE && !complete(e, hqd, signal))) {
        return 0;
    }
    return 1;
}

static bool read_signal(VKFDEngine *e, unsigned hqd, uint64_t signal,
                        uint64_t *value)
{
    if (!vkfd_q_read(e, hqd, vkfd_hqd_vmid(&e->hqd[hqd]),
                     signal + AMD_SIGNAL_VALUE, value, sizeof(*value))) {
        return false;
    }
    *value = vkfd_le64(*value);
    return true;
}

/*
 * AND holds once each signal has been seen at 0, not necessarily all at a time;
 * OR once one is. No signal at all holds nobody up.
 */
static VKFDPm4Result barrier(VKFDEngine *e, unsigned hqd, bool any)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint32_t seen = vkfd_hqd_progress(q) & AQL_SEEN_MASK, i;
    VKFDWait w = { .len = 8 };
    bool one = false;

    for (i = 0; i < AQL_BARRIER_DEPS; i++) {
        uint64_t signal = packet_u64(e, AQL_BARRIER_DEP_DW + 2 * i), value;

        if (!signal) {
            continue;
        }
        if (signal % AMD_SIGNAL_ALIGN) {
            return bad(e, hqd, AQL_ERROR_PACKET);
        }
        if (!(seen & 1u << i)) {
            if (!read_signal(e, hqd, signal, &value)) {
                return VKFD_PM4_STOP;
            }
            if (value) {
                w.addr = signal + AMD_SIGNAL_VALUE;
                vkfd_wait_add(e, &w, vkfd_hqd_vmid(q), w.addr);
                continue;
            }
        }
        seen |= 1u << i;
        one = true;
    }
    if (!w.count || (any && one)) {
        return VKFD_PM4_DONE;
    }
    vkfd_hqd_set_progress(q, AQL_BEGUN | (any ? 0 : seen));
    vkfd_wait_park(e, hqd, &w);
    return VKFD_PM4_PARK;
}

static VKFDPm4Result barrier_value(VKFDEngine *e, unsigned hqd)
{
    uint64_t signal = packet_u64(e, AQL_BARRIER_VALUE_SIGNAL_DW), value;
    int64_t ref = packet_u64(e, AQL_BARRIER_VALUE_VALUE_DW), v;
    uint32_t cond = e->pkt[AQL_BARRIER_VALUE_COND_DW];
    VKFDWait w = { .addr = signal + AMD_SIGNAL_VALUE, .len = 8 };

    if (!signal || signal % AMD_SIGNAL_ALIGN || cond > AQL_COND_GTE) {
        return bad(e, hqd, AQL_ERROR_VENDOR_PACKET);
    }
    if (!read_signal(e, hqd, signal, &value)) {
        return VKFD_PM4_STOP;
    }
    v = value & packet_u64(e, AQL_BARRIER_VALUE_MASK_DW);
    if (cond == AQL_COND_EQ ? v == ref : cond == AQL_COND_NE ? v != ref :
        cond == AQL_COND_LT ? v < ref : v >= ref) {
        return VKFD_PM4_DONE;
    }
    vkfd_wait_add(e, &w, vkfd_hqd_vmid(&e->hqd[hqd]), w.addr);
    vkfd_wait_park(e, hqd, &w);
    return VKFD_PM4_PARK;
}

/* Enter the IB; vkfd_aql_ib_done() ends the packet. */
static VKFDPm4Result pm4_ib(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    VKFDPm4Ctx c = { .hqd = hqd, .q = q, .vmid = vkfd_hqd_vmid(q), .body_dw = 3 };
    const uint32_t *ib = &e->pkt[AQL_VENDOR_PM4_IB_DW];

    if ((ib[0] & ~(PM4_HEADER__SHADER_TYPE_MASK | 0xffu)) !=
        (PACKET3(IT_INDIRECT_BUFFER, 3) & ~0xffu) ||
        e->pkt[AQL_VENDOR_PM4_IB_REMAIN_DW] != AQL_VENDOR_PM4_IB_REMAIN) {
        return bad(e, hqd, AQL_ERROR_VENDOR_PACKET);
    }
    return vkfd_pm4_indirect_buffer(e, &c, ib + 1);
}

static VKFDPm4Result dispatch(VKFDEngine *e, unsigned hqd)
{
    const uint32_t *grid = &e->pkt[AQL_DISPATCH_GRID_DW];
    uint32_t dims = VKFD_GET(e->pkt[0], AQL_DISPATCH__DIMS), i, groups[3];
    uint32_t size[3] = {
        e->pkt[1] & 0xffff, e->pkt[1] >> 16, e->pkt[2] & 0xffff,
    };
    uint64_t items = 1, code = packet_u64(e, AQL_DISPATCH_KERNEL_DW);

    if (!dims) {
        return bad(e, hqd, AQL_ERROR_DIMENSIONS);
    }
    for (i = 0; i < dims; i++) {
        if (!grid[i]) {
            return VKFD_PM4_DONE;       /* nothing to run */
        }
    }
    for (i = 0; i < 3; i++) {
        if (i < dims && !size[i]) {
            return bad(e, hqd, AQL_ERROR_DIMENSIONS);
        }
        items *= i < dims ? size[i] : 1;
        groups[i] = i < dims ? (grid[i] - 1) / size[i] + 1 : 1;
    }
    if (items > AQL_DISPATCH_MAX_GROUP) {
        return bad(e, hqd, AQL_ERROR_GROUP_SIZE);
    }
    if (e->pkt[AQL_DISPATCH_GROUP_DW] > AQL_DISPATCH_MAX_LDS) {
        return bad(e, hqd, AQL_ERROR_GROUP_MEMORY);
    }
    if (!code) {
        return bad(e, hqd, AQL_ERROR_CODE);
    }
    return vkfd_dispatch_skip(e, hqd, groups, code)
           ? VKFD_PM4_DONE : bad(e, hqd, AQL_ERROR_ILLEGAL_INSTRUCTION);
}

/* Try the packet in e->pkt. PARK leaves the queue at it. */
static VKFDPm4Result execute(VKFDEngine *e, unsigned hqd)
{
    if (packet_u64(e, AQL_COMPLETION_DW) % AMD_SIGNAL_ALIGN) {
        return bad(e, hqd, AQL_ERROR_PACKET);
    }
    switch (e->pkt[0] & AQL_HEADER__TYPE_MASK) {
    case AQL_PACKET_KERNEL_DISPATCH:
        return dispatch(e, hqd);
    case AQL_PACKET_BARRIER_AND:
        return barrier(e, hqd, false);
    case AQL_PACKET_BARRIER_OR:
        return barrier(e, hqd, true);
    case AQL_PACKET_VENDOR:
        switch (VKFD_GET(e->pkt[0], AQL_VENDOR__FORMAT)) {
        case AQL_VENDOR_PM4_IB:
            return pm4_ib(e, hqd);
        case AQL_VENDOR_BARRIER_VALUE:
            return barrier_value(e, hqd);
        }
        return bad(e, hqd, AQL_ERROR_VENDOR_PACKET);
    default:                    /* AGENT_DISPATCH too: this is no such agent */
        return bad(e, hqd, AQL_ERROR_PACKET);
    }
}

static bool fetch(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    unsigned i;

    if (!vkfd_q_read(e, hqd, vkfd_hqd_vmid(q), packet_va(q), e->pkt,
                     AQL_PACKET_SIZE)) {
        return false;
    }
    for (i = 0; i < AQL_PACKET_DW; i++) {
        e->pkt[i] = vkfd_le32(e->pkt[i]);
    }
    return true;
}

unsigned vkfd_aql_step(VKFDEngine *e, unsigned hqd)
{
    VKFDHqd *q = &e->hqd[hqd];
    uint64_t va = packet_va(q);
    VKFDInjectResult how = VKFD_INJECT_GO;
    VKFDWait w = { .addr = va, .len = 4 };
    uint32_t header;

    /* The header before the rest, which its producer wrote in the other order. */
    if (!vkfd_aql_avail(q) ||
        !vkfd_q_read(e, hqd, vkfd_hqd_vmid(q), va, &header, sizeof(header))) {
        return 0;
    }
    header = vkfd_le32(header);
    if ((header & AQL_HEADER__TYPE_MASK) == AQL_PACKET_INVALID) {
        vkfd_wait_add(e, &w, vkfd_hqd_vmid(q), va);
        vkfd_wait_park(e, hqd, &w);
        return 0;
    }
    if (vkfd_hqd_progress(q)) {
        if (!fetch(e, hqd)) {
            return 0;
        }
    } else {
        /* A wait for the header ends here; one of the packet is another. */
        vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_NO);
        q->poll_now = 0;
        if (vkfd_inject_on(e, VKFD_INJECT_AT_FETCH)) {
            how = vkfd_inject_fetch(e, hqd, &header);
            if (how == VKFD_INJECT_STALL) {
                return 0;
            }
        }
        if (!fetch(e, hqd)) {
            return 0;
        }
        e->pkt[0] = header;
        if (how == VKFD_INJECT_SKIP) {
            return consume(e, hqd);
        }
        vkfd_trace(e, VKFD_TRACE_AQL_PACKET, hqd, header, q->rptr / AQL_PACKET_DW,
                   packet_u64(e, AQL_COMPLETION_DW), 0, 0);
        if (!(packet_u64(e, AQL_COMPLETION_DW) % AMD_SIGNAL_ALIGN) &&
            !time_stamp(e, hqd, packet_u64(e, AQL_COMPLETION_DW),
                        AMD_SIGNAL_START_TS)) {
            return 0;
        }
        vkfd_hqd_set_progress(q, AQL_BEGUN);
    }
    switch (execute(e, hqd)) {
    case VKFD_PM4_DONE:
        return finish(e, hqd, how);
    case VKFD_PM4_JUMP:
        return 1;
    default:
        return 0;
    }
}

unsigned vkfd_aql_ib_done(VKFDEngine *e, unsigned hqd)
{
    HQD(&e->hqd[hqd], CP_HQD_IB_CONTROL) &= ~CP_HQD_IB_CONTROL__PROCESSING_IB_MASK;
    return fetch(e, hqd) ? finish(e, hqd, VKFD_INJECT_GO) : 0;
}
