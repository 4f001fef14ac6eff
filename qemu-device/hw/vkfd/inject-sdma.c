/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection at the SDMA engines: the points of inject.c for their queues. What
 * stands still is noted in the queue (VKFDSdmaQueue.held), where the compute queues
 * have sets of slots.
 */
#include "inject-priv.h"
#include "sdma-priv.h"

VKFDInjectResult vkfd_inject_sdma_fetch(VKFDEngine *e, unsigned id,
                                        uint32_t *header)
{
    VKFDSdmaQueue *q = &e->sdma[id];
    VKFDInjectSpec *s, *dev;

    if (q->held & VKFD_SDMA_HELD_PASSED) {
        q->held &= ~VKFD_SDMA_HELD_PASSED;
        return VKFD_INJECT_GO;
    }
    s = vkfd_inject_pass(e, VKFD_INJECT_AT_FETCH);
    dev = vkfd_inject_pass(e, VKFD_INJECT_AT_DEVICE);
    if (dev && vkfd_inject_device_action(e, dev)) {
        if (s) {
            vkfd_inject_refused(e, s);
        }
        q->held |= VKFD_SDMA_HELD_PASSED;
        return VKFD_INJECT_STALL;
    }
    if (!s) {
        return VKFD_INJECT_GO;
    }
    switch (s->action) {
    case VKFD_INJECT_DO_PAUSE:
        vkfd_inject_pause(e, s);
        q->held |= VKFD_SDMA_HELD_PASSED;
        return VKFD_INJECT_STALL;
    case VKFD_INJECT_DO_DELAY:
        if (!vkfd_inject_hold(e, s, (VKFDInjectHeld) { .hqd = VKFD_INJECT_SDMA(id) })) {
            return VKFD_INJECT_GO;
        }
        break;
    case VKFD_INJECT_DO_HANG:
        vkfd_inject_fired(e, s);
        break;
    case VKFD_INJECT_DO_CORRUPT:
        *header = vkfd_inject_value(s, *header);
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_GO;
    case VKFD_INJECT_DO_DROP:
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_SKIP;
    default:
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_TWICE;
    }
    q->held |= VKFD_SDMA_HELD_STALLED | VKFD_SDMA_HELD_PASSED;
    return VKFD_INJECT_STALL;
}

/* SKIP: the request is lost. STALL: the queue goes off later, or never. */
VKFDInjectResult vkfd_inject_sdma_preempt(VKFDEngine *e, unsigned id)
{
    VKFDSdmaQueue *q = &e->sdma[id];
    bool waits = e->inject.device != VKFD_INJECT_DEVICE_OK;

    if (q->held & VKFD_SDMA_HELD_DEQUEUING) {
        return VKFD_INJECT_STALL;
    }
    if (vkfd_inject_on(e, VKFD_INJECT_AT_PREEMPT)) {
        VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_PREEMPT);

        if (s && s->action == VKFD_INJECT_DO_DROP) {
            vkfd_inject_fired(e, s);
            return VKFD_INJECT_SKIP;
        }
        if (s && s->action == VKFD_INJECT_DO_HANG) {
            vkfd_inject_fired(e, s);
            q->held |= VKFD_SDMA_HELD_HUNG;
            waits = true;
        } else if (s && s->action == VKFD_INJECT_DO_PAUSE) {
            vkfd_inject_pause(e, s);
            waits |= vkfd_inject_keep(e, VKFD_INJECT_AT_PREEMPT,
                                      (VKFDInjectHeld) { .hqd = VKFD_INJECT_SDMA(id) });
        } else if (s && vkfd_inject_hold(e, s, (VKFDInjectHeld) {
                                                   .hqd = VKFD_INJECT_SDMA(id) })) {
            waits = true;
        }
    }
    if (!waits) {
        return VKFD_INJECT_GO;
    }
    q->held |= VKFD_SDMA_HELD_DEQUEUING;
    return VKFD_INJECT_STALL;
}

void vkfd_inject_sdma_off(VKFDEngine *e, unsigned id)
{
    e->sdma[id].held = 0;
    vkfd_inject_forget(e, VKFD_INJECT_SDMA(id));
}

void vkfd_inject_sdma_deliver(VKFDEngine *e, unsigned point, unsigned id)
{
    if (point == VKFD_INJECT_AT_FETCH) {
        e->sdma[id].held &= ~VKFD_SDMA_HELD_STALLED;
        vkfd_kick(e);
    } else if (e->inject.device == VKFD_INJECT_DEVICE_OK) {
        vkfd_sdma_off(e, id);
    }
}

static bool preempt_held(const VKFDInject *in, unsigned id)
{
    uint32_t i;

    for (i = 0; i < in->nheld; i++) {
        if (in->held[i].point == VKFD_INJECT_AT_PREEMPT &&
            in->held[i].hqd == VKFD_INJECT_SDMA(id)) {
            return true;
        }
    }
    return false;
}

bool vkfd_inject_sdma_ok(const VKFDEngine *e)
{
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        bool dequeuing = e->sdma[id].held & VKFD_SDMA_HELD_DEQUEUING;
        bool hung = e->sdma[id].held & VKFD_SDMA_HELD_HUNG;

        if (hung ? !dequeuing
                 : dequeuing && e->inject.device == VKFD_INJECT_DEVICE_OK &&
                   !preempt_held(&e->inject, id)) {
            return false;
        }
    }
    return true;
}

void vkfd_inject_sdma_resume(VKFDEngine *e)
{
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        if ((e->sdma[id].held & VKFD_SDMA_HELD_DEQUEUING) &&
            !(e->sdma[id].held & VKFD_SDMA_HELD_HUNG) &&
            !preempt_held(&e->inject, id)) {
            vkfd_sdma_off(e, id);
        }
    }
}

void vkfd_inject_sdma_release(VKFDEngine *e)
{
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        VKFDSdmaQueue *q = &e->sdma[id];

        if (q->held & VKFD_SDMA_HELD_DEQUEUING) {
            vkfd_sdma_off(e, id);
        }
        q->held &= ~(VKFD_SDMA_HELD_STALLED | VKFD_SDMA_HELD_PASSED |
                     VKFD_SDMA_HELD_HUNG);
    }
}
