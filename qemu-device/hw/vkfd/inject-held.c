/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection: what is held back, and queues and a device that stand still.
 *
 * What was held back goes round its own point: it was counted when it came.
 */
#include "inject-priv.h"

#include <vkfd/regs_ih.h>

void vkfd_inject_update_blocked(VKFDEngine *e)
{
    const VKFDInject *in = &e->inject;

    e->inject_blocked = in->device || e->inject_pause ? UINT64_MAX
                                                      : in->stalled | in->dequeuing;
}

/* Index of what is due first, the oldest of equals; nheld if there is none. */
static uint32_t earliest(const VKFDInject *in)
{
    uint32_t i, best = 0;

    for (i = 1; i < in->nheld; i++) {
        if (in->held[i].deadline < in->held[best].deadline) {
            best = i;
        }
    }
    return best;
}

void vkfd_inject_rearm(VKFDEngine *e)
{
    const VKFDInject *in = &e->inject;

    e->ops.set_timer(e->opaque, VKFD_TIMER_INJECT,
                     in->nheld ? in->held[earliest(in)].deadline : -1);
}

static int64_t deadline(VKFDEngine *e, const VKFDInjectSpec *s)
{
    return e->ops.now_ns(e->opaque) + s->arg;
}

bool vkfd_inject_hold(VKFDEngine *e, VKFDInjectSpec *s, VKFDInjectHeld h)
{
    VKFDInject *in = &e->inject;

    if (in->nheld == VKFD_INJECT_HELD_MAX) {
        vkfd_inject_refused(e, s);
        return false;
    }
    h.point = s->point;
    h.deadline = deadline(e, s);
    in->held[in->nheld++] = h;
    vkfd_inject_rearm(e);
    vkfd_inject_fired(e, s);
    return true;
}

void vkfd_inject_pause(VKFDEngine *e, VKFDInjectSpec *s)
{
    vkfd_inject_fired(e, s);
    if (!e->inject_pause) {
        e->inject_pause = true;
        vkfd_inject_update_hooks(e);
        vkfd_inject_update_blocked(e);
        e->ops.pause(e->opaque);
    }
}

bool vkfd_inject_keep(VKFDEngine *e, unsigned point, VKFDInjectHeld h)
{
    VKFDInject *in = &e->inject;

    if (in->nheld == VKFD_INJECT_HELD_MAX) {
        return false;
    }
    h.point = point;
    h.deadline = 0;             /* by any clock, and before what is late by a time */
    in->held[in->nheld++] = h;
    vkfd_inject_rearm(e);
    return true;
}

void vkfd_engine_resume(VKFDEngine *e)
{
    int64_t now = e->ops.now_ns(e->opaque);
    unsigned i;

    if (!e->inject_pause) {
        return;
    }
    e->inject_pause = false;
    vkfd_inject_update_hooks(e);
    vkfd_inject_update_blocked(e);
    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        if (e->late_timers >> i & 1) {
            e->ops.set_timer(e->opaque, i, now);
        }
    }
    e->late_timers = 0;
    vkfd_kick(e);
}

static VKFDInjectHeld take(VKFDInject *in, uint32_t i)
{
    VKFDInjectHeld h = in->held[i];

    in->nheld--;
    memmove(&in->held[i], &in->held[i + 1],
            (in->nheld - i) * sizeof(in->held[0]));
    return h;
}

VKFDInjectHeld *vkfd_inject_find_held(VKFDInject *in, unsigned point, uint64_t addr)
{
    uint32_t i;

    for (i = 0; i < in->nheld; i++) {
        if (in->held[i].point == point && in->held[i].addr == addr) {
            return &in->held[i];
        }
    }
    return NULL;
}

void vkfd_inject_hold_longer(VKFDEngine *e, VKFDInjectSpec *s, VKFDInjectHeld *h)
{
    int64_t d = deadline(e, s);

    if (h->deadline < d) {
        h->deadline = d;
    }
    vkfd_inject_rearm(e);
    vkfd_inject_fired(e, s);
}

static void slot_write(VKFDEngine *e, const VKFDInjectHeld *h)
{
    uint64_t v64 = vkfd_le64(h->data);
    uint32_t v32 = vkfd_le32(h->data);

    /* As any fence: after all that was written before. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    vkfd_pa_write(e, h->addr, h->len == 4 ? (void *)&v32 : (void *)&v64, h->len);
}

/* The device works again: queues go on, requests that waited for it complete. */
static void device_resume(VKFDEngine *e)
{
    VKFDInject *in = &e->inject;
    uint64_t mask;
    uint32_t i;

    in->device = VKFD_INJECT_DEVICE_OK;
    mask = in->dequeuing & ~in->dequeue_hung;
    for (i = 0; i < in->nheld; i++) {
        if (in->held[i].point == VKFD_INJECT_AT_PREEMPT &&
            in->held[i].hqd < VKFD_NUM_HQD) {
            mask &= ~(1ull << in->held[i].hqd);
        }
    }
    while (mask) {
        unsigned hqd = vkfd_mask_next(&mask);

        vkfd_hqd_dequeue(e, hqd, HQD(&e->hqd[hqd], CP_HQD_DEQUEUE_REQUEST));
    }
    vkfd_inject_sdma_resume(e);
    vkfd_inject_update_blocked(e);
    vkfd_kick(e);
}

/* Do what was held back. Whatever it was, it passes its own point no more. */
static void deliver(VKFDEngine *e, VKFDInjectHeld *h)
{
    VKFDInject *in = &e->inject;

    vkfd_trace(e, VKFD_TRACE_INJECT_DONE, h->point, h->hqd, h->addr, 0, 0, 0);
    if (h->hqd >= VKFD_NUM_HQD && (h->point == VKFD_INJECT_AT_FETCH ||
                                   h->point == VKFD_INJECT_AT_PREEMPT)) {
        vkfd_inject_sdma_deliver(e, h->point, h->hqd - VKFD_NUM_HQD);
        return;
    }
    switch (h->point) {
    case VKFD_INJECT_AT_DOORBELL:
        vkfd_doorbell_deliver(e, h->addr, h->data);
        break;
    case VKFD_INJECT_AT_FETCH:
        in->stalled &= ~(1ull << h->hqd);
        vkfd_inject_update_blocked(e);
        vkfd_kick(e);
        break;
    case VKFD_INJECT_AT_SLOT:
        slot_write(e, h);
        break;
    case VKFD_INJECT_AT_IH_ENTRY:
        vkfd_ih_restamp(e, h->entry);
        vkfd_ih_put(e, h->entry);
        break;
    case VKFD_INJECT_AT_IH_WPTR:
        vkfd_ih_write_back(e, e->regs[mmIH_RB_WPTR]);
        break;
    case VKFD_INJECT_AT_MSIX:
        vkfd_ih_send(e);
        break;
    case VKFD_INJECT_AT_PREEMPT:
        /* A device that stands still answers when it goes on. */
        if (in->device == VKFD_INJECT_DEVICE_OK) {
            vkfd_hqd_dequeue(e, h->hqd,
                             HQD(&e->hqd[h->hqd], CP_HQD_DEQUEUE_REQUEST));
        }
        break;
    case VKFD_INJECT_AT_DEVICE:
        device_resume(e);
        break;
    default:
        break;
    }
}

/*
 * Nothing that is delivered here can be due again at once: a delay is at least
 * 1 ns, and now does not move; a pause ends it. So this ends.
 */
void vkfd_inject_timer(VKFDEngine *e)
{
    VKFDInject *in = &e->inject;
    int64_t now = e->ops.now_ns(e->opaque);

    while (in->nheld && !e->inject_pause) {
        uint32_t i = earliest(in);
        VKFDInjectHeld h;

        if (in->held[i].deadline > now) {
            break;
        }
        h = take(in, i);
        deliver(e, &h);
    }
    vkfd_inject_rearm(e);
}

/* Deliver the slot writes of a queue, oldest first. */
static void flush_queue(VKFDEngine *e, unsigned hqd)
{
    VKFDInject *in = &e->inject;
    uint32_t i = 0;

    while (i < in->nheld) {
        VKFDInjectHeld h = in->held[i];

        if (h.point == VKFD_INJECT_AT_SLOT && h.hqd == hqd) {
            take(in, i);
            deliver(e, &h);
        } else {
            i++;
        }
    }
}

/* Those that went through a hub in VMIDs of vmids. */
static void flush_vmids(VKFDEngine *e, unsigned hub, uint32_t vmids)
{
    VKFDInject *in = &e->inject;
    uint32_t i = 0;

    while (i < in->nheld) {
        VKFDInjectHeld h = in->held[i];

        if (h.point == VKFD_INJECT_AT_SLOT && (vmids >> h.vmid & 1) &&
            (h.hqd < VKFD_NUM_HQD ? VKFD_HUB_GFX : VKFD_HUB_MM) == hub) {
            take(in, i);
            deliver(e, &h);
        } else {
            i++;
        }
    }
}

void vkfd_inject_forget(VKFDEngine *e, unsigned hqd)
{
    VKFDInject *in = &e->inject;
    uint32_t i = 0;

    while (i < in->nheld) {
        const VKFDInjectHeld *h = &in->held[i];

        if (h->hqd == hqd && (h->point == VKFD_INJECT_AT_FETCH ||
                              h->point == VKFD_INJECT_AT_PREEMPT)) {
            take(in, i);
        } else {
            i++;
        }
    }
    flush_queue(e, hqd);
    vkfd_inject_rearm(e);
}

void vkfd_inject_hqd_off(VKFDEngine *e, unsigned hqd)
{
    VKFDInject *in = &e->inject;
    uint64_t bit = 1ull << hqd;

    if (!in->nheld &&
        !((in->stalled | in->passed | in->dequeuing | in->dequeue_hung) & bit)) {
        return;
    }
    in->stalled &= ~bit;
    in->passed &= ~bit;
    in->dequeuing &= ~bit;
    in->dequeue_hung &= ~bit;
    vkfd_inject_forget(e, hqd);
    vkfd_inject_update_blocked(e);
}

void vkfd_inject_invalidate(VKFDEngine *e, unsigned hub, uint32_t vmids)
{
    if (e->inject.nheld) {
        flush_vmids(e, hub, vmids);
        vkfd_inject_rearm(e);
    }
}

static void device_fail(VKFDEngine *e, unsigned state)
{
    VKFDInject *in = &e->inject;

    in->device = state;
    if (state == VKFD_INJECT_DEVICE_GONE) {
        /* What was on its way went with the device. */
        in->nheld = 0;
        vkfd_inject_rearm(e);
    }
    vkfd_inject_update_blocked(e);
}

void vkfd_inject_cp_reset(VKFDEngine *e)
{
    VKFDInject *in = &e->inject;
    uint32_t i = 0;

    if (in->device != VKFD_INJECT_DEVICE_STALLED &&
        in->device != VKFD_INJECT_DEVICE_HUNG) {
        return;
    }
    while (i < in->nheld) {
        if (in->held[i].point == VKFD_INJECT_AT_DEVICE) {
            take(in, i);
        } else {
            i++;
        }
    }
    in->device = VKFD_INJECT_DEVICE_OK;
    vkfd_inject_sdma_resume(e);
    vkfd_inject_update_blocked(e);
    vkfd_inject_rearm(e);
    if (e->sdma_active) {
        vkfd_kick(e);           /* the reset did not take the SDMA queues off */
    }
}

bool vkfd_inject_device_action(VKFDEngine *e, VKFDInjectSpec *s)
{
    switch (s->action) {
    case VKFD_INJECT_DO_DELAY:
        if (!vkfd_inject_hold(e, s, (VKFDInjectHeld) { 0 })) {
            return false;
        }
        device_fail(e, VKFD_INJECT_DEVICE_STALLED);
        return true;
    case VKFD_INJECT_DO_HANG:
        device_fail(e, VKFD_INJECT_DEVICE_HUNG);
        break;
    default:
        device_fail(e, VKFD_INJECT_DEVICE_GONE);
        break;
    }
    vkfd_inject_fired(e, s);
    return true;
}

void vkfd_inject_release(VKFDEngine *e)
{
    VKFDInject *in = &e->inject;
    uint64_t mask;

    /* First, so that what is delivered meets no fault any more. */
    in->nspecs = 0;
    vkfd_inject_update_hooks(e);
    while (in->nheld) {
        VKFDInjectHeld h = take(in, earliest(in));

        deliver(e, &h);
    }
    in->device = VKFD_INJECT_DEVICE_OK;
    in->stalled = 0;
    in->passed = 0;
    mask = in->dequeuing;
    while (mask) {
        unsigned hqd = vkfd_mask_next(&mask);

        vkfd_hqd_dequeue(e, hqd, HQD(&e->hqd[hqd], CP_HQD_DEQUEUE_REQUEST));
    }
    in->dequeuing = 0;
    in->dequeue_hung = 0;
    vkfd_inject_sdma_release(e);
    vkfd_inject_update_blocked(e);
    vkfd_inject_rearm(e);
    /* A message may have taken the device away: then nothing is active. */
    if (e->active_mask || e->sdma_active) {
        vkfd_kick(e);
    }
}
