/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits of queues: WAIT_REG_MEM, and whoever else calls vkfd_wait_park(). A wait
 * that does not hold parks its queue: the packet stays at rptr, and the queue is
 * polled again when
 *   the device itself writes a physical address it waits on, or any register or
 *   doorbell is written (register space), or its own doorbell is: at the next run;
 *   otherwise by timer, with back-off, for what the CPU stores in memory.
 * A parked queue costs nothing between polls and can be dequeued at any time. A long
 * wait is not evaluated again as long as memory is as it was (seen.c), and all long
 * waits are looked at together; the rarer, the longer nothing has happened.
 */
#include "pm4-priv.h"
#include "sched-priv.h"

bool vkfd_wait_holds(uint32_t func, uint64_t v, uint64_t ref)
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

void vkfd_wait_add(VKFDEngine *e, VKFDWait *w, uint32_t vmid, uint64_t va)
{
    uint64_t pa = UINT64_MAX;
    bool prt;

    /* Just read through it, so it translates. A PRT page never changes. */
    if (vkfd_vm_translate(e, VKFD_HUB_GFX, vmid, va, false, &pa, &prt) !=
        VKFD_FAULT_NONE || prt) {
        pa = UINT64_MAX;
    }
    w->pa[w->count++] = pa;
}

void vkfd_wait_park(VKFDEngine *e, unsigned hqd, const VKFDWait *w)
{
    VKFDHqd *q = &e->hqd[hqd];
    int64_t now = e->ops.now_ns(e->opaque);
    bool again = q->parked == VKFD_PARKED_WAIT;

    if (!again) {
        q->wait_interval = w->count ? vkfd_wait_first(e, now) : VKFD_WAIT_POLL_MIN_NS;
        e->counters[VKFD_CNT_PARKED]++;
    } else if (now < q->wait_deadline) {
        /* The device woke it: that says nothing about how soon the CPU will. */
    } else if (q->wait_interval < VKFD_WAIT_POLL_MAX_NS / 2) {
        q->wait_interval *= 2;
    } else {
        q->wait_interval = VKFD_WAIT_POLL_MAX_NS;
    }
    vkfd_hqd_set_parked(e, hqd, VKFD_PARKED_WAIT);
    q->poll_now = 0;
    q->wait_mem = w->count;
    q->wait_len = w->len;
    memcpy(q->wait_pa, w->pa, sizeof(q->wait_pa));
    q->wait_deadline = vkfd_wait_deadline(e, now, q->wait_interval, w->count);
    if (!again) {
        vkfd_trace(e, VKFD_TRACE_WAIT_PARK, hqd, w->count > 0, w->addr,
                   q->wait_deadline, 0, 0);
    }
}

/* Poll a word of len bytes in memory: DONE, PARK, or STOP after a fault. */
static VKFDPm4Result wait_mem(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t func,
                              uint64_t va, uint32_t len, uint64_t ref,
                              uint64_t mask)
{
    VKFDWait w = { .addr = va, .len = len };
    uint64_t v = 0;

    if (!vkfd_q_read(e, c->hqd, c->vmid, va, &v, len)) {
        return VKFD_PM4_STOP;
    }
    v = len == 4 ? vkfd_le32(*(uint32_t *)&v) : vkfd_le64(v);
    if (vkfd_wait_holds(func, v & mask, ref)) {
        return VKFD_PM4_DONE;
    }
    vkfd_wait_add(e, &w, c->vmid, va);
    vkfd_wait_park(e, c->hqd, &w);
    return VKFD_PM4_PARK;
}

/* Body: control, addr_lo or reg0, addr_hi or reg1, ref, mask, interval. */
VKFD_PM4_HANDLER(vkfd_pm4_wait_reg_mem)
{
    uint32_t func = body[0] & WAIT_REG_MEM__FUNCTION_MASK;
    uint32_t space = VKFD_GET(body[0], WAIT_REG_MEM__MEM_SPACE);
    uint32_t op = VKFD_GET(body[0], WAIT_REG_MEM__OPERATION);
    uint32_t ref = body[3], mask = body[4], v, dw;
    bool write_wait = op == WAIT_REG_MEM_OP_WRITE_WAIT;
    VKFDWait w = { 0 };

    if (op > WAIT_REG_MEM_OP_WRITE_WAIT || space > WAIT_REG_MEM_SPACE_MEM ||
        (write_wait && space != WAIT_REG_MEM_SPACE_REG)) {
        return vkfd_pm4_reserved(e, c, IT_WAIT_REG_MEM);
    }
    if (space == WAIT_REG_MEM_SPACE_MEM) {
        return wait_mem(e, c, func, vkfd_pair(body[1] & ~3u, body[2]), 4, ref, mask);
    }

    dw = (write_wait ? body[2] : body[1]) & WRITE_DATA__REG_MASK;
    if (!vkfd_pm4_reg_ok(e, c, dw, false)) {
        return VKFD_PM4_STOP;
    }
    if (write_wait && c->q->parked != VKFD_PARKED_WAIT) {
        uint32_t dst = body[1] & WRITE_DATA__REG_MASK, epoch = c->q->epoch;

        if (!vkfd_pm4_reg_ok(e, c, dst, true)) {
            return VKFD_PM4_STOP;
        }
        vkfd_pm4_reg_write(e, c, dst, ref);
        if (!vkfd_hqd_active(c->q) || c->q->epoch != epoch) {
            return VKFD_PM4_DONE;       /* the write took this queue off */
        }
    }
    v = vkfd_pm4_reg_read(e, c, dw);
    if (vkfd_wait_holds(func, v & mask, ref)) {
        return VKFD_PM4_DONE;
    }
    w.addr = (uint64_t)dw * 4;
    vkfd_wait_park(e, c->hqd, &w);
    return VKFD_PM4_PARK;
}

/* Body: control, address, ref, mask (two dwords each), interval. Memory only. */
VKFD_PM4_HANDLER(vkfd_pm4_wait_reg_mem64)
{
    if (VKFD_GET(body[0], WAIT_REG_MEM__MEM_SPACE) != WAIT_REG_MEM_SPACE_MEM ||
        VKFD_GET(body[0], WAIT_REG_MEM__OPERATION) != WAIT_REG_MEM_OP_WAIT) {
        return vkfd_pm4_reserved(e, c, IT_WAIT_REG_MEM64);
    }
    return wait_mem(e, c, body[0] & WAIT_REG_MEM__FUNCTION_MASK,
                    vkfd_pair(body[1] & ~7u, body[2]), 8,
                    vkfd_pair(body[3], body[4]), vkfd_pair(body[5], body[6]));
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

void vkfd_wait_rung(VKFDEngine *e, unsigned hqd)
{
    if (e->waiting_mask >> hqd & 1) {
        wake(e, hqd, 1);
    }
}

void vkfd_wait_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len)
{
    uint64_t mask = e->waiting_mask;

    vkfd_sched_mem_written(e, pa, len);
    while (mask) {
        unsigned i = vkfd_mask_next(&mask), k;
        VKFDHqd *q = &e->hqd[i];

        for (k = 0; k < q->wait_mem; k++) {
            if (q->wait_pa[k] < pa + len && pa < q->wait_pa[k] + q->wait_len) {
                wake(e, i, 0);
                break;
            }
        }
    }
    vkfd_sdma_mem_written(e, pa, len);
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
    vkfd_sdma_reg_written(e);
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
    e->ops.set_timer(e->opaque, VKFD_TIMER_WAIT, vkfd_sdma_next_poll(e, next));
}

uint32_t vkfd_wait_first(VKFDEngine *e, int64_t now)
{
    bool quiet = !e->heard && now - e->quiet_since >=
                              2ll * VKFD_WAIT_QUIET_PART * VKFD_WAIT_POLL_MAX_NS;

    return quiet ? VKFD_WAIT_POLL_MAX_NS : VKFD_WAIT_POLL_MIN_NS;
}

int64_t vkfd_wait_deadline(VKFDEngine *e, int64_t now, uint32_t interval, bool mem)
{
    if (interval < VKFD_WAIT_POLL_MAX_NS) {
        return now + interval;
    }
    return mem ? vkfd_wait_next(e, now)
               : now - now % VKFD_WAIT_POLL_MAX_NS + VKFD_WAIT_POLL_MAX_NS;
}

int64_t vkfd_wait_next(VKFDEngine *e, int64_t now)
{
    int64_t period = VKFD_WAIT_POLL_MAX_NS;

    if (e->heard || now < e->quiet_since) {
        e->heard = false;
        e->quiet_since = now;
    }
    while (period < VKFD_WAIT_QUIET_MAX_NS &&
           (now - e->quiet_since) / VKFD_WAIT_QUIET_PART >= 2 * period) {
        period *= 2;
        e->unhurried = true;
    }
    /* At whole multiples, so that whatever is looked at wakes the host once. */
    return now - now % period + period;
}

void vkfd_wait_hurry(VKFDEngine *e)
{
    uint64_t mask = e->waiting_mask;
    int64_t next;

    e->unhurried = false;
    next = vkfd_wait_next(e, e->ops.now_ns(e->opaque));
    while (mask) {
        VKFDHqd *q = &e->hqd[vkfd_mask_next(&mask)];

        if (q->wait_deadline > next) {
            q->wait_deadline = next;
        }
    }
    vkfd_sdma_hurry(e, next);
    vkfd_wait_rearm(e);
    vkfd_sched_rearm(e);
}

void vkfd_wait_timer(VKFDEngine *e)
{
    int64_t now = e->ops.now_ns(e->opaque);
    uint64_t mask = e->waiting_mask;
    VKFDPeek peek = { 0 };

    while (mask) {
        unsigned i = vkfd_mask_next(&mask);
        VKFDHqd *q = &e->hqd[i];

        if (q->wait_deadline > now || q->poll_now) {
            continue;
        }
        if (q->wait_interval == VKFD_WAIT_POLL_MAX_NS) {
            if (vkfd_seen_unchanged(e, &peek, 0, i)) {
                q->wait_deadline = vkfd_wait_next(e, now);
                continue;
            }
            vkfd_seen_note(e, &peek, 0, i);
        }
        wake(e, i, 2);
    }
    vkfd_sdma_timer(e, &peek, now);
    vkfd_wait_rearm(e);
}
