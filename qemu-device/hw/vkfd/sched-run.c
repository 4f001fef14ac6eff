/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: giving slots to queues that want one. Runs before the command
 * processors, for queues that were rung, and after them, when others have become idle;
 * at most VKFD_SCHED_STEPS queues at a time. Whoever waits here for a
 * slot or a VMID is looked at again when one gets free or, by timer, when the quantum
 * of its holder is over; nobody spins.
 */
#include "sched-priv.h"

static bool stands_still(const VKFDEngine *e)
{
    /* The firmware runs on ME1. */
    return e->inject.device || vkfd_grbm_halted(e, 0);
}

/* Ready queues of one engine. Returns the steps used. */
static unsigned run_engine(VKFDEngine *e, unsigned engine, unsigned steps,
                           int64_t now)
{
    uint16_t i = e->sd.ready[engine].first, next;
    bool no_vmid = false;
    unsigned used = 0;

    for (; i != VKFD_SCHED_NONE; i = next) {
        uint16_t proc = vkfd_sched_q(e, i)->proc;
        unsigned vmid = e->sched.proc[proc].vmid;
        int slot;

        if (used == steps) {
            vkfd_kick(e);
            break;
        }
        if (!vmid && !no_vmid) {
            vmid = vkfd_sched_vmid(e, proc, now);
            no_vmid = !vmid;
        }
        /* Only now: what it took to get the VMID may have made more queues ready. */
        next = e->sd.link[i].next;
        if (!vmid) {
            continue;           /* a later one may be of a process that has one */
        }
        used++;
        if (vkfd_sched_is_idle(e, i, vmid)) {
            vkfd_sched_q(e, i)->flags &= ~VKFD_SCHED_F_RUNG;
            vkfd_sched_set_state(e, i, VKFD_SCHED_IDLE);
            continue;
        }
        slot = vkfd_sched_slot(e, engine, now);
        if (slot < 0) {
            break;
        }
        next = e->sd.link[i].next;
        vkfd_sched_load(e, i, slot, vmid);
    }
    return used;
}

void vkfd_sched_run(VKFDEngine *e)
{
    unsigned i, left = VKFD_SCHED_STEPS;
    int64_t now;

    if (!e->sched.queue_top && e->sd.deadline < 0) {
        return;
    }
    if (!stands_still(e)) {
        now = e->ops.now_ns(e->opaque);
        if (e->sd.unmapping) {
            vkfd_sched_check_unmaps(e, now);
        }
        for (i = 0; i < VKFD_SCHED_ENGINES && left; i++) {
            if (e->sd.ready[i].n) {
                left -= run_engine(e, i, left, now);
            }
        }
        if (!left) {
            vkfd_kick(e);
        }
    }
    vkfd_sched_rearm(e);
}

static void earlier(int64_t *deadline, int64_t t, int64_t now)
{
    /* What is over already is waiting for something else than time. */
    if (t > now && (*deadline < 0 || t < *deadline)) {
        *deadline = t;
    }
}

void vkfd_sched_rearm(VKFDEngine *e)
{
    VKFDSched *s = &e->sched;
    int64_t now = e->ops.now_ns(e->opaque), deadline = -1;
    bool ready = false;
    uint32_t i;

    for (i = 0; i < VKFD_SCHED_ENGINES; i++) {
        ready |= e->sd.ready[i].n;
    }
    if (ready && !stands_still(e)) {
        for (i = 0; i < VKFD_NUM_HQD; i++) {
            if (e->sd.hqd_owner[i] != VKFD_SCHED_NONE) {
                earlier(&deadline, vkfd_sched_expiry(e, e->sd.hqd_owner[i]), now);
            }
        }
        for (i = 0; i < VKFD_SCHED_SDMA * VKFD_SCHED_SDMA_RLC; i++) {
            uint16_t q = e->sd.rlc_owner[i / VKFD_SCHED_SDMA_RLC]
                                        [i % VKFD_SCHED_SDMA_RLC];

            if (q != VKFD_SCHED_NONE) {
                earlier(&deadline, vkfd_sched_expiry(e, q), now);
            }
        }
        for (i = 1; i < VKFD_NUM_VMID; i++) {
            if (e->sd.vmid_owner[i] != VKFD_SCHED_NONE) {
                earlier(&deadline, vkfd_sched_vmid_expiry(e, e->sd.vmid_owner[i]), now);
            }
        }
    }
    if (e->sd.unmapping) {
        earlier(&deadline, vkfd_sched_unmap_deadline(e), now);
    }
    if (e->sd.parked.n) {
        int64_t next = vkfd_wait_next(e, now);

        if (s->tick <= 0 || s->tick > next) {
            s->tick = next;
        }
        if (deadline < 0 || s->tick < deadline) {
            deadline = s->tick;
        }
    } else {
        s->tick = 0;
    }
    if (deadline != e->sd.deadline) {
        e->sd.deadline = deadline;
        e->ops.set_timer(e->opaque, VKFD_TIMER_SCHED, deadline);
    }
}

void vkfd_sched_timer(VKFDEngine *e)
{
    int64_t now = e->ops.now_ns(e->opaque);

    e->sd.deadline = -1;        /* it has fired */
    if (e->sd.parked.n && now >= e->sched.tick && !stands_still(e)) {
        vkfd_sched_poll(e);
    }
    if (now >= e->sched.tick) {
        e->sched.tick = 0;
    }
    for (unsigned i = 0; i < VKFD_SCHED_ENGINES; i++) {
        if (e->sd.ready[i].n) {
            vkfd_kick(e);
        }
    }
    if (e->sd.unmapping) {
        vkfd_kick(e);
    }
    vkfd_sched_rearm(e);
}

bool vkfd_sched_doorbell(VKFDEngine *e, uint32_t dw, uint64_t val)
{
    uint16_t i = VKFD_SCHED_NONE;
    bool found = false;

    while ((i = vkfd_sched_by_doorbell(e, dw, i)) != VKFD_SCHED_NONE) {
        VKFDSchedQueue *q = vkfd_sched_q(e, i);

        if (q->state == VKFD_SCHED_ON_SLOT) {
            continue;           /* its slot has the doorbell switched off */
        }
        found = true;
        if (q->state == VKFD_SCHED_STOPPED) {
            continue;
        }
        q->wptr = val;
        q->flags |= VKFD_SCHED_F_RUNG;
        if (q->state != VKFD_SCHED_READY) {
            e->counters[VKFD_CNT_DOORBELL_WAKE]++;
            vkfd_trace(e, VKFD_TRACE_SCHED_WAKE, i, VKFD_SCHED_BY_DOORBELL, 0, 0, 0, 0);
            vkfd_sched_set_state(e, i, VKFD_SCHED_READY);
        }
        vkfd_kick(e);
    }
    return found;
}
