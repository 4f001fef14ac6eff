/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WAIT_REG_MEM. A wait that does not hold parks its queue: the packet stays at
 * rptr, and the queue is polled again when
 *   the device itself writes the physical address (memory), or any register or
 *   doorbell is written (register space): at the next run;
 *   otherwise by timer, with back-off, for what the CPU stores in memory.
 * A parked queue costs nothing between polls and can be dequeued at any time.
 */
#include "engine-priv.h"

#include <vkfd/pm4.h>

static bool compare(uint32_t func, uint32_t v, uint32_t ref)
{
    switch (func) {
    case WAIT_REG_MEM_LT:
        return v < ref;
    case WAIT_REG_MEM_LE:
        return v <= ref;
    case WAIT_REG_MEM_EQ:
        return v == ref;
    case WAIT_REG_MEM_NE:
        return v != ref;
    case WAIT_REG_MEM_GE:
        return v >= ref;
    case WAIT_REG_MEM_GT:
        return v > ref;
    default:
        return true;            /* ALWAYS, and the reserved value */
    }
}

static void park(VKFDEngine *e, const VKFDPm4Ctx *c, bool mem, uint64_t pa,
                 uint64_t addr)
{
    VKFDHqd *q = c->q;
    int64_t now = e->ops.now_ns(e->opaque);
    bool again = q->parked == VKFD_PARKED_WAIT;

    if (!again) {
        q->wait_interval = VKFD_WAIT_POLL_MIN_NS;
        e->counters[VKFD_CNT_PARKED]++;
    } else if (now < q->wait_deadline) {
        /* The device woke it: that says nothing about how soon the CPU will. */
    } else if (q->wait_interval < VKFD_WAIT_POLL_MAX_NS / 2) {
        q->wait_interval *= 2;
    } else {
        q->wait_interval = VKFD_WAIT_POLL_MAX_NS;
    }
    vkfd_hqd_set_parked(e, c->hqd, VKFD_PARKED_WAIT);
    q->poll_now = 0;
    q->wait_mem = mem;
    q->wait_pa = pa;
    q->wait_deadline = now + q->wait_interval;
    if (q->wait_interval == VKFD_WAIT_POLL_MAX_NS) {
        /* At whole multiples, so that all long waits wake the host together. */
        q->wait_deadline -= q->wait_deadline % VKFD_WAIT_POLL_MAX_NS;
    }
    if (!again) {
        vkfd_trace(e, VKFD_TRACE_WAIT_PARK, c->hqd, mem, addr,
                   q->wait_deadline, 0, 0);
    }
}

static bool user_reg_fault(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw,
                           bool write)
{
    if (!c->vmid || vkfd_reg_user_ok(dw, write)) {
        return false;
    }
    vkfd_pm4_priv(e, c->hqd, dw);
    return true;
}

/* Body: control, addr_lo or reg0, addr_hi or reg1, ref, mask, interval. */
VKFDPm4Result vkfd_wait_reg_mem(VKFDEngine *e, const VKFDPm4Ctx *c,
                                const uint32_t *body)
{
    uint32_t func = body[0] & WAIT_REG_MEM__FUNCTION_MASK;
    uint32_t space = VKFD_GET(body[0], WAIT_REG_MEM__MEM_SPACE);
    uint32_t op = VKFD_GET(body[0], WAIT_REG_MEM__OPERATION);
    uint32_t ref = body[3], mask = body[4], v, dw;
    bool write_wait = op == WAIT_REG_MEM_OP_WRITE_WAIT;
    uint64_t va, pa = 0;
    bool prt;

    if (op > WAIT_REG_MEM_OP_WRITE_WAIT || space > WAIT_REG_MEM_SPACE_MEM ||
        (write_wait && space != WAIT_REG_MEM_SPACE_REG)) {
        vkfd_pm4_bad(e, c->hqd, PACKET3(IT_WAIT_REG_MEM, c->body_dw),
                     VKFD_EC_PACKET_RESERVED);
        return VKFD_PM4_STOP;
    }
    if (space == WAIT_REG_MEM_SPACE_MEM) {
        va = vkfd_pair(body[1] & ~3u, body[2]);
        if (!vkfd_q_read(e, c->hqd, c->vmid, va, &v, sizeof(v))) {
            return VKFD_PM4_STOP;
        }
        if (compare(func, vkfd_le32(v) & mask, ref)) {
            return VKFD_PM4_DONE;
        }
        /* Just read through it, so it translates. A PRT page never changes. */
        vkfd_vm_translate(e, VKFD_HUB_GFX, c->vmid, va, false, &pa, &prt);
        park(e, c, true, prt ? UINT64_MAX : pa, va);
        return VKFD_PM4_PARK;
    }

    dw = (write_wait ? body[2] : body[1]) & WRITE_DATA__REG_MASK;
    if (user_reg_fault(e, c, dw, false)) {
        return VKFD_PM4_STOP;
    }
    if (write_wait && c->q->parked != VKFD_PARKED_WAIT) {
        uint32_t dst = body[1] & WRITE_DATA__REG_MASK, epoch = c->q->epoch;

        if (user_reg_fault(e, c, dst, true)) {
            return VKFD_PM4_STOP;
        }
        if (dst < VKFD_NUM_REGS) {
            vkfd_pm4_reg_write(e, c, dst, ref);
        }
        if (!vkfd_hqd_active(c->q) || c->q->epoch != epoch) {
            return VKFD_PM4_DONE;       /* the write took this queue off */
        }
    }
    v = dw < VKFD_NUM_REGS ? vkfd_pm4_reg_read(e, c, dw) : 0;
    if (compare(func, v & mask, ref)) {
        return VKFD_PM4_DONE;
    }
    park(e, c, false, 0, (uint64_t)dw * 4);
    return VKFD_PM4_PARK;
}

static void wake(VKFDEngine *e, unsigned hqd, unsigned why)
{
    VKFDHqd *q = &e->hqd[hqd];

    if (q->poll_now) {
        return;
    }
    q->poll_now = 1;
    vkfd_trace(e, VKFD_TRACE_WAIT_WAKE, hqd, why, 0, 0, 0, 0);
    if (vkfd_cp_runnable(e, hqd)) {
        vkfd_kick(e);
    }
}

void vkfd_wait_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len)
{
    uint64_t mask = e->waiting_mask;

    vkfd_sched_mem_written(e, pa, len);
    while (mask) {
        unsigned i = vkfd_mask_next(&mask);
        VKFDHqd *q = &e->hqd[i];

        /* The dword polled is aligned, so it overlaps if it starts in range. */
        if (q->wait_mem && q->wait_pa >= (pa & ~3ull) && q->wait_pa < pa + len) {
            wake(e, i, 0);
        }
    }
}

void vkfd_wait_reg_written(VKFDEngine *e)
{
    uint64_t mask = e->waiting_mask;

    while (mask) {
        unsigned i = vkfd_mask_next(&mask);

        if (!e->hqd[i].wait_mem) {
            wake(e, i, 1);
        }
    }
}

void vkfd_wait_rearm(VKFDEngine *e)
{
    uint64_t mask = e->waiting_mask;
    int64_t next = -1;

    while (mask) {
        VKFDHqd *q = &e->hqd[vkfd_mask_next(&mask)];

        if (!q->poll_now && (next < 0 || q->wait_deadline < next)) {
            next = q->wait_deadline;
        }
    }
    e->ops.set_timer(e->opaque, VKFD_TIMER_WAIT, next);
}

void vkfd_wait_timer(VKFDEngine *e)
{
    int64_t now = e->ops.now_ns(e->opaque);
    uint64_t mask = e->waiting_mask;

    while (mask) {
        unsigned i = vkfd_mask_next(&mask);

        if (e->hqd[i].wait_deadline <= now) {
            wake(e, i, 2);
        }
    }
    vkfd_wait_rearm(e);
}
