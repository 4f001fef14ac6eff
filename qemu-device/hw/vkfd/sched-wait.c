/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: queues that wait on memory and have no slot. No wake-up is lost:
 *
 *   note     what is at the addresses, while the queue still has its slot
 *   look     the queue evaluates its wait again, later than that, in vain
 *   park     only then it may lose the slot; its addresses are indexed
 *
 * A store by the CPU after the look differs from what was noted, which a poll sees;
 * one before it was seen by the look. A write of the device finds the queue in the
 * index. Whatever wakes it, it gets a slot and evaluates the wait itself.
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

    return q->engine ? &e->sd.rlc_seen[q->engine - 1][q->slot] : &e->sd.hqd_seen[q->slot];
}

/*
 * Addresses a queue on a slot polls, and how many bytes at each; 0 if there is none that
 * can be watched, or it is about to look there anyway.
 */
static unsigned wait_addrs(VKFDEngine *e, uint16_t i, uint64_t *pa, uint8_t *len)
{
    const VKFDSchedQueue *sq = vkfd_sched_q(e, i);
    const VKFDHqd *q;
    unsigned k, n = 0;

    if (sq->engine) {
        *len = vkfd_sdma_rlc_wait(e, sq->engine - 1, sq->slot, pa);
        return *len != 0;
    }
    q = &e->hqd[sq->slot];
    *len = q->wait_len;
    if (q->parked != VKFD_PARKED_WAIT || q->poll_now) {
        return 0;
    }
    for (k = 0; k < q->wait_mem; k++) {
        /* Of a PRT page nothing ever changes. */
        if (q->wait_pa[k] != UINT64_MAX) {
            pa[n++] = q->wait_pa[k];
        }
    }
    return n;
}

/* The value of len bytes at an address, as it lies in memory. */
static bool peek(VKFDEngine *e, uint64_t pa, unsigned len, uint64_t *v)
{
    *v = 0;
    return vkfd_pa_read(e, pa, v, len == 8 ? 8 : 4);
}

void vkfd_sched_note(VKFDEngine *e, uint16_t i)
{
    VKFDSchedSeen *s = vkfd_sched_seen(e, i);
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    VKFDSchedSeen now;
    unsigned k;

    if (vkfd_sched_noted(e, i)) {
        return;
    }
    now.n = wait_addrs(e, i, now.pa, &now.len);
    if (!now.n) {
        return;                 /* also one that was noted and has not looked yet */
    }
    for (k = 0; k < now.n; k++) {
        if (!peek(e, now.pa[k], now.len, &now.seen[k])) {
            return;
        }
    }
    *s = now;
    if (q->engine) {
        vkfd_sdma_rlc_look(e, q->engine - 1, q->slot);
    } else {
        e->hqd[q->slot].poll_now = 1;
        vkfd_kick(e);
    }
}

bool vkfd_sched_noted(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedSeen *s = vkfd_sched_seen(e, i);
    uint64_t pa[VKFD_SCHED_WAITS];
    uint8_t len;

    return s->n && wait_addrs(e, i, pa, &len) == s->n && len == s->len &&
           !memcmp(pa, s->pa, s->n * sizeof(pa[0]));
}

void vkfd_sched_watch(VKFDEngine *e, uint16_t i, const VKFDSchedSeen *seen)
{
    VKFDSchedDerived *d = &e->sd;

    vkfd_sched_set_state(e, i, VKFD_SCHED_PARKED);
    d->link[i].waits = seen->n;
    d->link[i].wait_len = seen->len;
    d->link[i].vm_gen = d->vm_gen[vkfd_sched_q(e, i)->proc];
    for (unsigned n = 0; n < seen->n; n++) {
        uint32_t node = i * VKFD_SCHED_WAITS + n;
        uint32_t *head = &d->by_pa[bucket(seen->pa[n] >> LINE_SHIFT)];

        d->wait[node] = (VKFDSchedWait) { seen->pa[n], seen->seen[n], 0, *head };
        if (*head) {
            d->wait[*head - 1].prev = node + 1;
        }
        *head = node + 1;
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

static bool changed(VKFDEngine *e, uint16_t i)
{
    for (unsigned n = 0; n < e->sd.link[i].waits; n++) {
        const VKFDSchedWait *w = &e->sd.wait[i * VKFD_SCHED_WAITS + n];
        uint64_t v;

        /* What cannot be read any more is for the queue to report. */
        if (!peek(e, w->pa, e->sd.link[i].wait_len, &v) || v != w->seen) {
            return true;
        }
    }
    return false;
}

void vkfd_sched_poll(VKFDEngine *e)
{
    VKFDSchedDerived *d = &e->sd;
    unsigned i, n = d->parked.n, stale = 0;

    n = n < VKFD_SCHED_POLLS ? n : VKFD_SCHED_POLLS;
    e->sched.ticks++;
    if (n && e->sched.ticks % VKFD_SCHED_RECHECK == 0) {
        wake(e, d->parked.first, VKFD_SCHED_BY_TURN);
        n--;
    }
    for (i = 0; i < n; i++) {
        uint16_t q = d->parked.first;
        if (changed(e, q)) {
            wake(e, q, VKFD_SCHED_BY_POLL);
        } else if (stale < VKFD_SCHED_STALE &&
                   d->link[q].vm_gen != d->vm_gen[vkfd_sched_q(e, q)->proc]) {
            stale++;
            wake(e, q, VKFD_SCHED_BY_TABLES);
        } else {
            vkfd_sched_rotate_parked(e);
        }
    }
}
