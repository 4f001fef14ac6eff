/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: queues that wait on memory and have no slot. No wake-up is lost:
 *
 *   note     what is at the addresses, while the queue still has its slot
 *   look     the queue evaluates its wait again, later than that, in vain
 *   park     only then it may lose the slot; its addresses are indexed
 *
 * A store by the CPU after the look differs from what was noted, which a poll sees;
 * one before it was seen by the look: seen.c. A write of the device finds the queue in
 * the index. Whatever wakes it, it gets a slot and evaluates the wait itself.
 */
#include "sched-priv.h"

/* Addresses fall in one bucket by lines of so many bytes. */
#define LINE_SHIFT      6

static unsigned bucket(uint64_t line)
{
    return (line * 0x9e3779b97f4a7c15ull) >> 52 & (VKFD_SCHED_HASH - 1);
}

VKFDSchedSeen *vkfd_sched_seen(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);

    return vkfd_seen(e, q->engine, q->slot);
}

bool vkfd_sched_noted(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);

    return vkfd_seen_noted(e, q->engine, q->slot);
}

void vkfd_sched_note(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    VKFDPeek peek = { 0 };

    /* False also of one that was noted and has not looked yet. */
    if (vkfd_sched_noted(e, i) || !vkfd_seen_note(e, &peek, q->engine, q->slot)) {
        return;
    }
    if (q->engine) {
        vkfd_sdma_rlc_look(e, q->engine - 1, q->slot);
    } else {
        e->hqd[q->slot].poll_now = 1;
        vkfd_kick(e);
    }
}

void vkfd_sched_watch(VKFDEngine *e, uint16_t i, const VKFDSchedSeen *seen)
{
    VKFDSchedDerived *d = &e->sd;

    vkfd_sched_set_state(e, i, VKFD_SCHED_PARKED);
    d->link[i].waits = seen->n;
    d->link[i].vm_gen = d->vm_gen[vkfd_sched_q(e, i)->proc];
    for (unsigned n = 0; n < seen->n; n++) {
        uint32_t node = i * VKFD_SCHED_WAITS + n;
        uint32_t *head = &d->by_pa[bucket(seen->pa[n] >> LINE_SHIFT)];

        d->wait[node] = (VKFDSchedWait) { seen->pa[n], 0, *head, d->looks };
        if (*head) {
            d->wait[*head - 1].prev = node + 1;
        }
        *head = node + 1;
        d->look[d->looks++] = (VKFDSchedLook) { seen->pa[n], seen->seen[n], node, seen->len };
    }
    vkfd_sched_rearm(e);
}

void vkfd_sched_unwatch(VKFDEngine *e, uint16_t i)
{
    VKFDSchedDerived *d = &e->sd;

    for (unsigned n = 0; n < d->link[i].waits; n++) {
        VKFDSchedWait *w = &d->wait[i * VKFD_SCHED_WAITS + n];

        *(w->prev ? &d->wait[w->prev - 1].next
                  : &d->by_pa[bucket(w->pa >> LINE_SHIFT)]) = w->next;
        if (w->next) {
            d->wait[w->next - 1].prev = w->prev;
        }
        d->look[w->look] = d->look[--d->looks];
        d->wait[d->look[w->look].node].look = w->look;
    }
    d->link[i].waits = 0;
}

static void wake(VKFDEngine *e, uint16_t i, unsigned why)
{
    vkfd_trace(e, VKFD_TRACE_SCHED_WAKE, i, why, 0, 0, 0, 0);
    vkfd_sched_set_state(e, i, VKFD_SCHED_READY);
    vkfd_kick(e);
}

/* A watched dword or qword starts at most 4 bytes before what was written. */
static bool hit(const VKFDSchedWait *w, uint64_t pa, uint64_t len)
{
    return w->pa + 8 > pa && w->pa < pa + len;
}

static void wake_line(VKFDEngine *e, uint64_t line, uint64_t pa, uint64_t len)
{
    uint32_t node = e->sd.by_pa[bucket(line)];

    while (node) {
        const VKFDSchedWait *w = &e->sd.wait[node - 1];

        if (hit(w, pa, len)) {
            /* That changes the chain; one queue less is in it. */
            wake(e, (node - 1) / VKFD_SCHED_WAITS, VKFD_SCHED_BY_WRITE);
            node = e->sd.by_pa[bucket(line)];
        } else {
            node = w->next;
        }
    }
}

void vkfd_sched_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len)
{
    uint64_t first = (pa & ~7ull) >> LINE_SHIFT, last = (pa + len - 1) >> LINE_SHIFT;

    if (!e->sd.parked.n || !len) {
        return;
    }
    if (last - first <= e->sd.parked.n) {
        for (; first <= last; first++) {
            wake_line(e, first, pa, len);
        }
        return;
    }
    /* A long write, few queues. */
    for (uint16_t i = e->sd.parked.first, next; i != VKFD_SCHED_NONE; i = next) {
        const VKFDSchedLink *k = &e->sd.link[i];

        next = k->next;
        for (unsigned n = 0; n < k->waits; n++) {
            if (hit(&e->sd.wait[i * VKFD_SCHED_WAITS + n], pa, len)) {
                wake(e, i, VKFD_SCHED_BY_WRITE);
                break;
            }
        }
    }
}

/* Queues whose tables have changed since they parked get a slot to look again in. */
static void wake_stale(VKFDEngine *e)
{
    VKFDSchedDerived *d = &e->sd;
    uint16_t i = d->parked.first, next;
    unsigned woken = 0;

    for (; i != VKFD_SCHED_NONE && woken < VKFD_SCHED_STALE; i = next) {
        next = d->link[i].next;
        if (d->link[i].vm_gen != d->vm_gen[vkfd_sched_q(e, i)->proc]) {
            woken++;
            wake(e, i, VKFD_SCHED_BY_TABLES);
        }
    }
    d->stale = woken == VKFD_SCHED_STALE;
}

void vkfd_sched_poll(VKFDEngine *e)
{
    VKFDSchedDerived *d = &e->sd;
    unsigned at = d->look_next, left = VKFD_SCHED_POLLS;
    VKFDPeek peek = { 0 };

    e->sched.ticks++;
    if (d->parked.n && e->sched.ticks % VKFD_SCHED_RECHECK == 0) {
        wake(e, d->parked.first, VKFD_SCHED_BY_TURN);
    }
    if (d->stale) {
        wake_stale(e);
    }
    /*
     * Downwards: what takes the place of an address that is removed comes from above,
     * so it was looked at already, and nothing is passed over.
     */
    if (!at || at > d->looks) {
        at = d->looks;
    }
    while (at && left) {
        const VKFDSchedLook *l = &d->look[--at];
        uint64_t v;

        left--;
        /* What cannot be read any more is for the queue to report. */
        if (!vkfd_peek(e, &peek, l->pa, l->len, &v) || v != l->seen) {
            vkfd_heard(e);
            wake(e, l->node / VKFD_SCHED_WAITS, VKFD_SCHED_BY_POLL);
            if (at > d->looks) {
                at = d->looks;
            }
        }
    }
    d->look_next = at;
}
