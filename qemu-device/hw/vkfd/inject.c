/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection: counting passages, and acting on them (docs/injection.md).
 *
 * A hand-over asks vkfd_inject_on() and then the function of its point, which
 * counts the passage and says how to go on. At most one spec acts on a passage,
 * the first of the list that is due; others that were due are counted as
 * refused, and so is a delay when too much is held back already.
 *
 * What is held back goes round its own point: it was counted when it came.
 *
 * A pause keeps the passage it is in front of, and what the packet at hand still hands
 * over behind it, so that nothing of it comes in another order; nothing else runs. The
 * front end stops the VM from a fresh stack. All of it is done, first of all, when the
 * VM runs again, on this end of a migration or on the other.
 */
#include "inject-priv.h"

void vkfd_inject_fired(VKFDEngine *e, VKFDInjectSpec *s)
{
    vkfd_saturating_inc(&s->fired);
    e->counters[VKFD_CNT_INJECTED]++;
    vkfd_trace(e, VKFD_TRACE_INJECT_FIRE, s - e->inject.spec, s->point,
               s->action, s->passages, 0, 0);
}

void vkfd_inject_refused(VKFDEngine *e, VKFDInjectSpec *s)
{
    vkfd_saturating_inc(&s->refused);
    e->counters[VKFD_CNT_INJECT_REFUSED]++;
    vkfd_trace(e, VKFD_TRACE_INJECT_REFUSE, s - e->inject.spec, s->point,
               s->action, s->passages, 0, 0);
}

static bool due(const VKFDInjectSpec *s)
{
    /* A refusal was a chance too: what is due on passage 5 is not due on 6. */
    return s->first && s->passages >= s->first &&
           (s->passages - s->first) % s->every == 0 &&
           (!s->count || (uint64_t)s->fired + s->refused < s->count);
}

VKFDInjectSpec *vkfd_inject_pass(VKFDEngine *e, unsigned point)
{
    VKFDInjectSpec *act = NULL;
    uint32_t i;

    for (i = 0; i < e->inject.nspecs; i++) {
        VKFDInjectSpec *s = &e->inject.spec[i];

        if (s->point != point) {
            continue;
        }
        s->passages++;
        if (!due(s)) {
            continue;
        }
        if (act) {
            vkfd_inject_refused(e, s);
        } else {
            act = s;
        }
    }
    return act;
}

uint64_t vkfd_inject_value(const VKFDInjectSpec *s, uint64_t v)
{
    return s->set ? s->arg : v ^ s->arg;
}

/* Is this passage, on which s acts if any, to be kept until the VM runs again? */
static bool pauses(VKFDEngine *e, VKFDInjectSpec *s)
{
    if (s && s->action == VKFD_INJECT_DO_PAUSE) {
        vkfd_inject_pause(e, s);
        return true;
    }
    return e->inject_pause && !s;
}

VKFDInjectResult vkfd_inject_doorbell(VKFDEngine *e, uint32_t dw, uint64_t *val)
{
    VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_DOORBELL);
    VKFDInjectHeld *h = vkfd_inject_find_held(&e->inject, VKFD_INJECT_AT_DOORBELL, dw);
    VKFDInjectResult res = VKFD_INJECT_GO;

    if (s) {
        switch (s->action) {
        case VKFD_INJECT_DO_DROP:
            vkfd_inject_fired(e, s);
            return VKFD_INJECT_SKIP;
        case VKFD_INJECT_DO_DELAY:
            if (h) {
                vkfd_inject_hold_longer(e, s, h);
            } else if (vkfd_inject_hold(e, s, (VKFDInjectHeld) { .addr = dw, .data = *val })) {
                return VKFD_INJECT_SKIP;
            }
            break;
        case VKFD_INJECT_DO_PAUSE:
            vkfd_inject_pause(e, s);
            if (!h && vkfd_inject_keep(e, VKFD_INJECT_AT_DOORBELL,
                                       (VKFDInjectHeld) { .addr = dw, .data = *val })) {
                return VKFD_INJECT_SKIP;
            }
            break;
        case VKFD_INJECT_DO_CORRUPT:
            *val = vkfd_inject_value(s, *val);
            vkfd_inject_fired(e, s);
            break;
        default:
            res = VKFD_INJECT_TWICE;
            vkfd_inject_fired(e, s);
            break;
        }
    }
    if (h) {
        /* Writes to one address stay in order: this one waits with the other. */
        h->data = *val;
        return VKFD_INJECT_SKIP;
    }
    return res;
}

VKFDInjectResult vkfd_inject_fetch(VKFDEngine *e, unsigned hqd, uint32_t *header)
{
    VKFDInject *in = &e->inject;
    uint64_t bit = 1ull << hqd;
    VKFDInjectSpec *s, *dev;

    if (in->passed & bit) {
        in->passed &= ~bit;
        return VKFD_INJECT_GO;
    }
    s = vkfd_inject_pass(e, VKFD_INJECT_AT_FETCH);
    dev = vkfd_inject_pass(e, VKFD_INJECT_AT_DEVICE);
    if (dev && vkfd_inject_device_action(e, dev)) {
        if (s) {
            vkfd_inject_refused(e, s);
        }
        in->passed |= bit;
        return VKFD_INJECT_STALL;
    }
    if (!s) {
        return VKFD_INJECT_GO;
    }
    switch (s->action) {
    case VKFD_INJECT_DO_PAUSE:
        /* Nothing is to be kept: the packet is still there. */
        vkfd_inject_pause(e, s);
        in->passed |= bit;
        return VKFD_INJECT_STALL;
    case VKFD_INJECT_DO_DELAY:
        if (!vkfd_inject_hold(e, s, (VKFDInjectHeld) { .hqd = hqd })) {
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
    in->stalled |= bit;
    in->passed |= bit;
    vkfd_inject_update_blocked(e);
    return VKFD_INJECT_STALL;
}

/*
 * A write that comes late goes to the page it would have gone to. What may give
 * that page to somebody else, a dequeue or an invalidation, waits for it.
 */
VKFDInjectResult vkfd_inject_slot(VKFDEngine *e, unsigned hqd, uint32_t vmid,
                                  uint64_t va, uint64_t *data, uint32_t len)
{
    VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_SLOT);
    VKFDInjectHeld h = { .data = *data, .len = len, .hqd = hqd, .vmid = vmid };
    unsigned hub = hqd < VKFD_NUM_HQD ? VKFD_HUB_GFX : VKFD_HUB_MM;
    bool prt;

    if (pauses(e, s)) {
        /* What faults, or goes nowhere, does so at once. */
        return vkfd_vm_translate(e, hub, vmid, va, true, &h.addr, &prt) == VKFD_FAULT_NONE &&
               !prt && vkfd_inject_keep(e, VKFD_INJECT_AT_SLOT, h)
               ? VKFD_INJECT_SKIP : VKFD_INJECT_GO;
    }
    if (!s) {
        return VKFD_INJECT_GO;
    }
    switch (s->action) {
    case VKFD_INJECT_DO_DROP:
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_SKIP;
    case VKFD_INJECT_DO_CORRUPT:
        *data = vkfd_inject_value(s, *data);
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_GO;
    default:
        break;
    }
    if (s->action == VKFD_INJECT_DO_DUP && !s->arg) {
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_TWICE;
    }
    if (vkfd_vm_translate(e, hub, vmid, va, true, &h.addr, &prt) != VKFD_FAULT_NONE || prt) {
        vkfd_inject_refused(e, s);          /* it faults, or goes nowhere, as it should */
        return VKFD_INJECT_GO;
    }
    return vkfd_inject_hold(e, s, h) && s->action == VKFD_INJECT_DO_DELAY
           ? VKFD_INJECT_SKIP : VKFD_INJECT_GO;
}

VKFDInjectResult vkfd_inject_ih_entry(VKFDEngine *e, uint32_t *entry)
{
    VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_IH_ENTRY);
    VKFDInjectHeld h = { 0 };

    memcpy(h.entry, entry, sizeof(h.entry));
    if (pauses(e, s)) {
        return vkfd_inject_keep(e, VKFD_INJECT_AT_IH_ENTRY, h) ? VKFD_INJECT_SKIP
                                                               : VKFD_INJECT_GO;
    }
    if (!s) {
        return VKFD_INJECT_GO;
    }
    switch (s->action) {
    case VKFD_INJECT_DO_DROP:
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_SKIP;
    case VKFD_INJECT_DO_CORRUPT:
        entry[s->dw] = vkfd_inject_value(s, entry[s->dw]);
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_GO;
    case VKFD_INJECT_DO_INSERT:
        vkfd_inject_fired(e, s);
        vkfd_ih_put(e, s->entry);
        return VKFD_INJECT_GO;
    default:
        break;
    }
    if (s->action == VKFD_INJECT_DO_DUP && !s->arg) {
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_TWICE;
    }
    return vkfd_inject_hold(e, s, h) && s->action == VKFD_INJECT_DO_DELAY
           ? VKFD_INJECT_SKIP : VKFD_INJECT_GO;
}

VKFDInjectResult vkfd_inject_ih_wptr(VKFDEngine *e, uint32_t *wptr)
{
    VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_IH_WPTR);
    VKFDInjectHeld *h = vkfd_inject_find_held(&e->inject, VKFD_INJECT_AT_IH_WPTR, 0);

    if (pauses(e, s)) {
        return h || vkfd_inject_keep(e, VKFD_INJECT_AT_IH_WPTR, (VKFDInjectHeld) { 0 })
               ? VKFD_INJECT_SKIP : VKFD_INJECT_GO;
    }
    if (s) {
        switch (s->action) {
        case VKFD_INJECT_DO_DROP:
            vkfd_inject_fired(e, s);
            return VKFD_INJECT_SKIP;
        case VKFD_INJECT_DO_DELAY:
            if (h) {
                vkfd_inject_hold_longer(e, s, h);
            } else if (vkfd_inject_hold(e, s, (VKFDInjectHeld) { 0 })) {
                return VKFD_INJECT_SKIP;
            }
            break;
        default:
            if (h) {
                vkfd_inject_refused(e, s);  /* nothing is written now */
                break;
            }
            *wptr = vkfd_inject_value(s, *wptr);
            vkfd_inject_fired(e, s);
            break;
        }
    }
    /* In order, as doorbells: the held one writes what wptr is then. */
    return h ? VKFD_INJECT_SKIP : VKFD_INJECT_GO;
}

VKFDInjectResult vkfd_inject_msix(VKFDEngine *e)
{
    VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_MSIX);

    if (pauses(e, s)) {
        return vkfd_inject_keep(e, VKFD_INJECT_AT_MSIX, (VKFDInjectHeld) { 0 })
               ? VKFD_INJECT_SKIP : VKFD_INJECT_GO;
    }
    if (!s) {
        return VKFD_INJECT_GO;
    }
    switch (s->action) {
    case VKFD_INJECT_DO_DROP:
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_SKIP;
    case VKFD_INJECT_DO_DELAY:
        return vkfd_inject_hold(e, s, (VKFDInjectHeld) { 0 }) ? VKFD_INJECT_SKIP
                                                  : VKFD_INJECT_GO;
    default:
        if (s->arg) {
            vkfd_inject_hold(e, s, (VKFDInjectHeld) { 0 });
            return VKFD_INJECT_GO;
        }
        vkfd_inject_fired(e, s);
        return VKFD_INJECT_TWICE;
    }
}

bool vkfd_inject_walk(VKFDEngine *e, const VKFDInjectSpec **corrupt)
{
    VKFDInjectSpec *s = vkfd_inject_pass(e, VKFD_INJECT_AT_PAGE_WALK);

    *corrupt = NULL;
    if (!s) {
        return true;
    }
    if (s->action == VKFD_INJECT_DO_PAUSE) {
        vkfd_inject_pause(e, s);        /* behind the packet it is part of */
        return true;
    }
    vkfd_inject_fired(e, s);
    if (s->action == VKFD_INJECT_DO_DROP) {
        return false;
    }
    *corrupt = s;
    return true;
}

bool vkfd_inject_preempt(VKFDEngine *e, unsigned hqd, uint32_t request)
{
    VKFDInject *in = &e->inject;
    uint64_t bit = 1ull << hqd;
    VKFDInjectSpec *s;

    if (!(e->active_mask & bit)) {
        return false;
    }
    if (!(in->dequeuing & bit)) {
        bool waits = in->device != VKFD_INJECT_DEVICE_OK;

        s = vkfd_inject_pass(e, VKFD_INJECT_AT_PREEMPT);
        if (s && s->action == VKFD_INJECT_DO_DROP) {
            vkfd_inject_fired(e, s);
            return true;
        }
        if (s && s->action == VKFD_INJECT_DO_HANG) {
            vkfd_inject_fired(e, s);
            in->dequeue_hung |= bit;
            waits = true;
        } else if (s && s->action == VKFD_INJECT_DO_PAUSE) {
            vkfd_inject_pause(e, s);
            waits |= vkfd_inject_keep(e, VKFD_INJECT_AT_PREEMPT,
                                      (VKFDInjectHeld) { .hqd = hqd });
        } else if (s && vkfd_inject_hold(e, s, (VKFDInjectHeld) { .hqd = hqd })) {
            waits = true;
        }
        if (!waits) {
            return false;
        }
    }
    in->dequeuing |= bit;
    HQD(&e->hqd[hqd], CP_HQD_DEQUEUE_REQUEST) = request;
    vkfd_inject_update_blocked(e);
    return true;
}
