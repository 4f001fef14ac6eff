/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: the tables of mapped queues and processes, and what is derived
 * from them: lists, hashes, who owns which slot and VMID.
 */
#include "sched-priv.h"

static unsigned hash(uint64_t v)
{
    return (v * 0x9e3779b97f4a7c15ull) >> 52 & (VKFD_SCHED_HASH - 1);
}

/* ---- lists ---- */

static VKFDSchedList *list_of(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = &e->sched.queue[i];

    if (q->state == VKFD_SCHED_READY) {
        return &e->sd.ready[q->engine];
    }
    return q->state == VKFD_SCHED_PARKED ? &e->sd.parked : NULL;
}

static void list_add(VKFDEngine *e, uint16_t i)
{
    VKFDSchedList *l = list_of(e, i);
    VKFDSchedLink *k = &e->sd.link[i];

    if (!l) {
        return;
    }
    k->prev = l->last;
    k->next = VKFD_SCHED_NONE;
    *(l->n ? &e->sd.link[l->last].next : &l->first) = i;
    l->last = i;
    l->n++;
}

static void list_del(VKFDEngine *e, uint16_t i)
{
    VKFDSchedList *l = list_of(e, i);
    VKFDSchedLink *k = &e->sd.link[i];

    if (!l) {
        return;
    }
    *(k->prev != VKFD_SCHED_NONE ? &e->sd.link[k->prev].next : &l->first) = k->next;
    *(k->next != VKFD_SCHED_NONE ? &e->sd.link[k->next].prev : &l->last) = k->prev;
    l->n--;
}

static uint16_t *owner_of(VKFDEngine *e, const VKFDSchedQueue *q)
{
    return q->engine ? &e->sd.rlc_owner[q->engine - 1][q->slot]
                     : &e->sd.hqd_owner[q->slot];
}

void vkfd_sched_set_state(VKFDEngine *e, uint16_t i, VKFDSchedState state)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);

    list_del(e, i);
    if (q->state == VKFD_SCHED_PARKED) {
        vkfd_sched_unwatch(e, i);
    }
    q->state = state;
    list_add(e, i);
}

void vkfd_sched_take_slot(VKFDEngine *e, uint16_t i, unsigned slot)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);

    vkfd_sched_set_state(e, i, VKFD_SCHED_ON_SLOT);
    q->slot = slot;
    *owner_of(e, q) = i;
    vkfd_sched_seen(e, i)->n = 0;
    if (q->proc != VKFD_SCHED_NONE) {
        e->sd.proc_slots[q->proc]++;
    }
}

void vkfd_sched_leave_slot(VKFDEngine *e, uint16_t i, VKFDSchedState state)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);

    *owner_of(e, q) = VKFD_SCHED_NONE;
    if (q->proc != VKFD_SCHED_NONE) {
        e->sd.proc_slots[q->proc]--;
    }
    vkfd_sched_set_state(e, i, state);
    /* Somebody may wait for this slot. */
    vkfd_kick(e);
}

/* ---- hashes ---- */

void vkfd_sched_link(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    VKFDSchedLink *k = &e->sd.link[i];
    unsigned d = hash(q->doorbell), m = hash(q->mqd);

    k->doorbell_next = e->sd.by_doorbell[d];
    e->sd.by_doorbell[d] = i;
    k->mqd_next = e->sd.by_mqd[m];
    e->sd.by_mqd[m] = i;
    if (q->proc != VKFD_SCHED_NONE) {
        e->sd.proc_queues[q->proc]++;
    }
    e->sd.unmapping += !!q->unmap;
    list_add(e, i);
}

static void unhash(VKFDEngine *e, uint16_t i)
{
    const VKFDSchedQueue *q = vkfd_sched_q(e, i);
    uint16_t *p = &e->sd.by_doorbell[hash(q->doorbell)];

    while (*p != i) {
        p = &e->sd.link[*p].doorbell_next;
    }
    *p = e->sd.link[i].doorbell_next;
    p = &e->sd.by_mqd[hash(q->mqd)];
    while (*p != i) {
        p = &e->sd.link[*p].mqd_next;
    }
    *p = e->sd.link[i].mqd_next;
}

uint16_t vkfd_sched_by_doorbell(VKFDEngine *e, uint32_t doorbell, uint16_t from)
{
    uint16_t i = from == VKFD_SCHED_NONE ? e->sd.by_doorbell[hash(doorbell)]
                                         : e->sd.link[from].doorbell_next;

    while (i != VKFD_SCHED_NONE && vkfd_sched_q(e, i)->doorbell != doorbell) {
        i = e->sd.link[i].doorbell_next;
    }
    return i;
}

bool vkfd_sched_has_mqd(VKFDEngine *e, uint64_t mqd)
{
    uint16_t i = e->sd.by_mqd[hash(mqd)];

    while (i != VKFD_SCHED_NONE && vkfd_sched_q(e, i)->mqd != mqd) {
        i = e->sd.link[i].mqd_next;
    }
    return i != VKFD_SCHED_NONE;
}

/* ---- entries ---- */

uint16_t vkfd_sched_find_proc(const VKFDEngine *e, uint32_t pasid)
{
    uint32_t i;

    for (i = 0; i < e->sched.proc_top; i++) {
        if (e->sched.proc[i].used && e->sched.proc[i].pasid == pasid) {
            return i;
        }
    }
    return VKFD_SCHED_NONE;
}

uint16_t vkfd_sched_new_proc(VKFDEngine *e)
{
    VKFDSched *s = &e->sched;
    uint32_t i = e->sd.proc_hint;

    while (i < s->proc_top && s->proc[i].used) {
        i++;
    }
    e->sd.proc_hint = i;
    if (i == VKFD_SCHED_PROCS) {
        return VKFD_SCHED_NONE;
    }
    if (i == s->proc_top) {
        s->proc_top++;
    }
    s->proc[i] = (VKFDSchedProc) { .used = 1 };
    e->sd.proc_queues[i] = 0;
    e->sd.proc_slots[i] = 0;
    return i;
}

void vkfd_sched_end_proc(VKFDEngine *e, uint16_t proc)
{
    VKFDSched *s = &e->sched;

    vkfd_sched_free_vmid(e, proc);
    s->proc[proc] = (VKFDSchedProc) { 0 };
    if (s->map_proc == proc) {
        s->map_proc = VKFD_SCHED_NONE;
    }
    if (proc < e->sd.proc_hint) {
        e->sd.proc_hint = proc;
    }
    while (s->proc_top && !s->proc[s->proc_top - 1].used) {
        s->proc_top--;
    }
}

uint16_t vkfd_sched_add(VKFDEngine *e, const VKFDSchedQueue *q)
{
    VKFDSched *s = &e->sched;
    uint32_t i = e->sd.queue_hint;

    while (i < s->queue_top && s->queue[i].state != VKFD_SCHED_FREE) {
        i++;
    }
    e->sd.queue_hint = i;
    if (i == VKFD_SCHED_QUEUES) {
        return VKFD_SCHED_NONE;
    }
    if (i == s->queue_top) {
        s->queue_top++;
    }
    s->queue[i] = *q;
    s->queue[i].state = VKFD_SCHED_READY;
    vkfd_sched_link(e, i);
    /* Those of a run list count when it is read to its end. */
    e->counters[VKFD_CNT_QUEUE_MAP] += !(q->flags & VKFD_SCHED_F_NEW);
    vkfd_trace(e, VKFD_TRACE_SCHED_MAP, i, q->engine,
               q->proc == VKFD_SCHED_NONE ? 0 : s->proc[q->proc].pasid,
               q->doorbell, q->mqd, q->flags);
    return i;
}

void vkfd_sched_remove(VKFDEngine *e, uint16_t i)
{
    VKFDSched *s = &e->sched;
    uint16_t proc = s->queue[i].proc;

    vkfd_trace(e, VKFD_TRACE_SCHED_UNMAP, i, s->queue[i].state, 0, 0, 0, 0);
    e->counters[VKFD_CNT_QUEUE_UNMAP] += !(s->queue[i].flags & VKFD_SCHED_F_NEW);
    e->sd.unmapping -= !!s->queue[i].unmap;
    vkfd_sched_set_state(e, i, VKFD_SCHED_STOPPED);     /* off every list */
    unhash(e, i);
    s->queue[i] = (VKFDSchedQueue) { 0 };
    if (i < e->sd.queue_hint) {
        e->sd.queue_hint = i;
    }
    while (s->queue_top && s->queue[s->queue_top - 1].state == VKFD_SCHED_FREE) {
        s->queue_top--;
    }
    if (proc != VKFD_SCHED_NONE && !--e->sd.proc_queues[proc]) {
        vkfd_sched_end_proc(e, proc);
    }
}

/* ---- reset and load ---- */

static void derived_reset(VKFDEngine *e)
{
    memset(&e->sd, 0, sizeof(e->sd));
    memset(e->sd.by_doorbell, 0xff, sizeof(e->sd.by_doorbell));
    memset(e->sd.by_mqd, 0xff, sizeof(e->sd.by_mqd));
    memset(e->sd.hqd_owner, 0xff, sizeof(e->sd.hqd_owner));
    memset(e->sd.rlc_owner, 0xff, sizeof(e->sd.rlc_owner));
    memset(e->sd.vmid_owner, 0xff, sizeof(e->sd.vmid_owner));
    for (unsigned i = 0; i < VKFD_SCHED_ENGINES; i++) {
        e->sd.ready[i] = (VKFDSchedList) { VKFD_SCHED_NONE, VKFD_SCHED_NONE, 0 };
    }
    e->sd.parked = (VKFDSchedList) { VKFD_SCHED_NONE, VKFD_SCHED_NONE, 0 };
    e->sd.deadline = -1;
}

void vkfd_sched_reset(VKFDEngine *e)
{
    memset(&e->sched, 0, sizeof(e->sched));
    e->sched.map_proc = VKFD_SCHED_NONE;
    derived_reset(e);
    e->ops.set_timer(e->opaque, VKFD_TIMER_SCHED, -1);
}

/* The front end of the CP is reset: the firmware forgets, its processes lose all. */
void vkfd_sched_soft_reset(VKFDEngine *e)
{
    uint32_t i;

    for (i = 0; i < VKFD_SCHED_SDMA * VKFD_SCHED_SDMA_RLC; i++) {
        unsigned engine = i / VKFD_SCHED_SDMA_RLC, rlc = i % VKFD_SCHED_SDMA_RLC;

        if (e->sd.rlc_owner[engine][rlc] != VKFD_SCHED_NONE) {
            vkfd_sdma_rlc_unload(e, engine, rlc, NULL);
        }
    }
    for (i = 0; i < e->sched.proc_top; i++) {
        vkfd_sched_free_vmid(e, i);
    }
    vkfd_sched_reset(e);
}

static bool proc_ok(const VKFDSchedProc *p, uint32_t *vmids)
{
    if (!p->used) {
        return p->used == 0 && !p->vmid;
    }
    if (p->used > 1 || !p->pasid || p->vmid >= VKFD_NUM_VMID) {
        return false;
    }
    if (p->vmid && (*vmids & 1u << p->vmid)) {
        return false;           /* two in one VMID */
    }
    *vmids |= 1u << p->vmid;
    return true;
}

/* A queue on a slot: the slot is in use, by it alone, in the VMID of its process. */
static bool slot_ok(VKFDEngine *e, const VKFDSchedQueue *q, uint64_t slots[])
{
    unsigned n = q->engine ? VKFD_SCHED_SDMA_RLC : VKFD_NUM_HQD;

    if (q->slot >= n || (slots[q->engine] >> q->slot & 1)) {
        return false;
    }
    slots[q->engine] |= 1ull << q->slot;
    if (q->proc != VKFD_SCHED_NONE && !e->sched.proc[q->proc].vmid) {
        return false;
    }
    if (q->engine) {
        return vkfd_sdma_rlc_on(e, q->engine - 1, q->slot);
    }
    return vkfd_hqd_active(&e->hqd[q->slot]);
}

static bool queue_ok(VKFDEngine *e, const VKFDSchedQueue *q, uint64_t slots[])
{
    if (q->state == VKFD_SCHED_FREE) {
        return true;
    }
    if (q->state >= VKFD_SCHED_STATES || q->engine >= VKFD_SCHED_ENGINES ||
        q->flags > VKFD_SCHED_F_ALL || (q->flags & VKFD_SCHED_F_NEW) ||
        q->vmid >= VKFD_NUM_VMID ||
        q->unmap > 4 || (q->unmap && q->state != VKFD_SCHED_ON_SLOT) ||
        q->doorbell >> 26) {
        return false;
    }
    if (q->flags & VKFD_SCHED_F_FIXED) {
        /* A fixed queue has its slot, or is stopped. */
        if (q->proc != VKFD_SCHED_NONE || q->engine ||
            (q->state != VKFD_SCHED_ON_SLOT && q->state != VKFD_SCHED_STOPPED)) {
            return false;
        }
    } else if (q->proc >= e->sched.proc_top || !e->sched.proc[q->proc].used ||
               (q->flags & VKFD_SCHED_F_HIQ)) {
        return false;
    }
    return q->state != VKFD_SCHED_ON_SLOT || slot_ok(e, q, slots);
}

bool vkfd_sched_state_ok(VKFDEngine *e)
{
    VKFDSched *s = &e->sched;
    uint64_t slots[VKFD_SCHED_ENGINES] = { 0 };
    uint32_t i, vmids = 0;

    if (s->queue_top > VKFD_SCHED_QUEUES || s->proc_top > VKFD_SCHED_PROCS ||
        (s->map_proc != VKFD_SCHED_NONE &&
         (s->map_proc >= s->proc_top || !s->proc[s->map_proc].used))) {
        return false;
    }
    for (i = 0; i < s->proc_top; i++) {
        if (!proc_ok(&s->proc[i], &vmids)) {
            return false;
        }
    }
    for (i = 0; i < s->queue_top; i++) {
        if (!queue_ok(e, &s->queue[i], slots)) {
            return false;
        }
    }
    return true;
}

/*
 * The state is consistent. What waits without a slot asks for one again: whether
 * memory changed on the way is not known.
 */
void vkfd_sched_post_load(VKFDEngine *e)
{
    VKFDSched *s = &e->sched;
    uint32_t i;

    derived_reset(e);
    for (i = 0; i < s->proc_top; i++) {
        if (s->proc[i].vmid) {
            e->sd.vmid_owner[s->proc[i].vmid] = i;
        }
    }
    for (i = 0; i < s->queue_top; i++) {
        VKFDSchedQueue *q = &s->queue[i];

        if (q->state == VKFD_SCHED_FREE) {
            continue;
        }
        if (q->state == VKFD_SCHED_PARKED) {
            q->state = VKFD_SCHED_READY;
        }
        vkfd_sched_link(e, i);
        if (q->state == VKFD_SCHED_ON_SLOT) {
            *owner_of(e, q) = i;
            if (q->proc != VKFD_SCHED_NONE) {
                e->sd.proc_slots[q->proc]++;
            }
        }
    }
    /* Entries behind the top carry nothing over. */
    memset(&s->queue[s->queue_top], 0,
           (VKFD_SCHED_QUEUES - s->queue_top) * sizeof(s->queue[0]));
    memset(&s->proc[s->proc_top], 0,
           (VKFD_SCHED_PROCS - s->proc_top) * sizeof(s->proc[0]));
}
