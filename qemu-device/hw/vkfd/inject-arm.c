/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection: arming, reset, saved state, and the control page.
 */
#include "inject-priv.h"

void vkfd_inject_update_hooks(VKFDEngine *e)
{
    uint32_t i;

    e->inject_hooks = 0;
    for (i = 0; i < e->inject.nspecs; i++) {
        e->inject_hooks |= 1u << e->inject.spec[i].point;
    }
    if (e->inject_hooks & 1u << VKFD_INJECT_AT_DEVICE) {
        e->inject_hooks |= 1u << VKFD_INJECT_AT_FETCH;
    }
    if (e->inject_pause) {
        /* What the packet at hand still does waits behind what is kept. */
        e->inject_hooks |= 1u << VKFD_INJECT_AT_SLOT | 1u << VKFD_INJECT_AT_IH_ENTRY |
                           1u << VKFD_INJECT_AT_IH_WPTR | 1u << VKFD_INJECT_AT_MSIX;
    }
}

/* Specs with @0 act. After a reset only those of the device: no DMA is done. */
static void act_at_once(VKFDEngine *e, bool reset)
{
    uint32_t i;

    for (i = 0; i < e->inject.nspecs; i++) {
        VKFDInjectSpec *s = &e->inject.spec[i];

        if (s->first || (reset && s->point != VKFD_INJECT_AT_DEVICE)) {
            continue;
        }
        if (e->inject.device != VKFD_INJECT_DEVICE_OK) {
            vkfd_inject_refused(e, s);
        } else if (s->point == VKFD_INJECT_AT_DEVICE) {
            vkfd_inject_device_action(e, s);
        } else {
            vkfd_inject_fired(e, s);
            if (s->point == VKFD_INJECT_AT_IH_ENTRY) {
                vkfd_ih_put(e, s->entry);
            } else {
                vkfd_ih_send(e);
            }
        }
    }
}

bool vkfd_inject_arm(VKFDEngine *e, const char *text, VKFDInjectError *err)
{
    VKFDInjectSpec specs[VKFD_INJECT_SPECS];
    VKFDInject *in = &e->inject;
    uint32_t n;

    if (!vkfd_inject_parse(text, specs, &n, err)) {
        return false;
    }
    vkfd_inject_release(e);
    memcpy(in->spec, specs, n * sizeof(specs[0]));
    in->nspecs = n;
    vkfd_saturating_inc(&in->generation);
    vkfd_inject_update_hooks(e);
    vkfd_trace(e, VKFD_TRACE_INJECT_ARM, n, in->generation, 0, 0, 0, 0);
    act_at_once(e, false);
    return true;
}

void vkfd_inject_text(const VKFDEngine *e, char *buf, size_t size)
{
    size_t n = 0;
    uint32_t i;

    buf[0] = '\0';
    for (i = 0; i < e->inject.nspecs && n + 1 < size; i++) {
        if (i) {
            buf[n++] = ';';
        }
        n += vkfd_inject_spec_text(&e->inject.spec[i], buf + n, size - n);
    }
}

void vkfd_inject_reset(VKFDEngine *e, bool cold)
{
    VKFDInject *in = &e->inject;
    uint32_t i;

    in->nheld = 0;
    in->device = VKFD_INJECT_DEVICE_OK;
    in->stalled = 0;
    in->passed = 0;
    in->dequeuing = 0;
    in->dequeue_hung = 0;
    in->ctrl_status = VKFD_INJECT_OK;
    in->ctrl_pos = 0;
    in->ctrl_select = 0;
    in->ctrl_hi = 0;
    memset(in->text, 0, sizeof(in->text));
    vkfd_inject_update_hooks(e);
    vkfd_inject_update_blocked(e);
    if (cold) {
        for (i = 0; i < in->nspecs; i++) {
            in->spec[i].passages = 0;
            in->spec[i].fired = 0;
            in->spec[i].refused = 0;
        }
        act_at_once(e, true);
    }
}

static bool held_ok(const VKFDInjectHeld *h)
{
    return h->point < VKFD_INJECT_POINTS &&
           h->hqd < VKFD_INJECT_SDMA(VKFD_NUM_SDMA_QUEUES) &&
           h->vmid < VKFD_NUM_VMID &&
           (h->point != VKFD_INJECT_AT_SLOT || h->len == 4 || h->len == 8) &&
           (h->point != VKFD_INJECT_AT_DOORBELL ||
            h->addr < VKFD_DOORBELL_BAR_SIZE / 4);
}

bool vkfd_inject_state_ok(const VKFDEngine *e)
{
    const VKFDInject *in = &e->inject;
    uint32_t i;

    if (in->nspecs > VKFD_INJECT_SPECS || in->nheld > VKFD_INJECT_HELD_MAX ||
        in->device > VKFD_INJECT_DEVICE_GONE ||
        (in->device == VKFD_INJECT_DEVICE_GONE && in->nheld)) {
        return false;
    }
    for (i = 0; i < in->nspecs; i++) {
        if (!vkfd_inject_spec_ok(&in->spec[i])) {
            return false;
        }
    }
    for (i = 0; i < in->nheld; i++) {
        if (!held_ok(&in->held[i])) {
            return false;
        }
    }
    return vkfd_inject_sdma_ok(e);
}

void vkfd_inject_post_load(VKFDEngine *e)
{
    VKFDInject *in = &e->inject;
    int64_t last = e->ops.now_ns(e->opaque) + VKFD_INJECT_DELAY_MAX;
    uint32_t i;

    /* No deadline of another clock is waited for longer than any delay. */
    for (i = 0; i < in->nheld; i++) {
        if (in->held[i].deadline > last) {
            in->held[i].deadline = last;
        } else if (in->held[i].deadline < 0) {
            in->held[i].deadline = 0;
        }
    }
    in->stalled &= e->active_mask;
    in->passed &= e->active_mask;
    in->dequeuing &= e->active_mask;
    in->dequeue_hung &= in->dequeuing;
    vkfd_inject_update_hooks(e);
    vkfd_inject_update_blocked(e);
    vkfd_inject_rearm(e);
}

/* ---- control page ---- */

static void go(VKFDEngine *e, uint32_t command)
{
    VKFDInject *in = &e->inject;
    VKFDInjectError err = { .status = VKFD_INJECT_OK };

    if (command == VKFD_INJECT_GO_READ) {
        memset(in->text, 0, sizeof(in->text));
        vkfd_inject_text(e, (char *)in->text, sizeof(in->text));
    } else if (command != VKFD_INJECT_GO_ARM) {
        err.status = VKFD_INJECT_BAD_GO;
    } else if (!memchr(in->text, 0, sizeof(in->text))) {
        err.status = VKFD_INJECT_TOO_LONG;
        err.pos = sizeof(in->text) - 1;
    } else {
        vkfd_inject_arm(e, (const char *)in->text, &err);
    }
    in->ctrl_status = err.status;
    in->ctrl_pos = err.pos;
}

static bool text_dword(uint32_t off)
{
    return off >= VKFD_CTRL_INJECT_TEXT && !(off & 3) &&
           off - VKFD_CTRL_INJECT_TEXT < VKFD_INJECT_TEXT_SIZE;
}

uint32_t vkfd_inject_ctrl_read(VKFDEngine *e, uint32_t off)
{
    VKFDInject *in = &e->inject;
    static const VKFDInjectSpec none;
    const VKFDInjectSpec *s = in->ctrl_select < in->nspecs
                              ? &in->spec[in->ctrl_select] : &none;
    uint32_t v;

    if (text_dword(off)) {
        memcpy(&v, in->text + (off - VKFD_CTRL_INJECT_TEXT), 4);
        return vkfd_le32(v);
    }
    switch (off) {
    case VKFD_CTRL_INJECT_STATUS:
        return in->ctrl_status;
    case VKFD_CTRL_INJECT_ERROR_POS:
        return in->ctrl_pos;
    case VKFD_CTRL_INJECT_COUNT:
        return in->nspecs;
    case VKFD_CTRL_INJECT_SELECT:
        return in->ctrl_select;
    case VKFD_CTRL_INJECT_PASSED_LO:
        in->ctrl_hi = s->passages >> 32;
        return s->passages;
    case VKFD_CTRL_INJECT_PASSED_HI:
        return in->ctrl_hi;
    case VKFD_CTRL_INJECT_FIRED:
        return s->fired;
    case VKFD_CTRL_INJECT_REFUSED:
        return s->refused;
    case VKFD_CTRL_INJECT_HELD:
        return in->nheld;
    case VKFD_CTRL_INJECT_GENERATION:
        return in->generation;
    case VKFD_CTRL_INJECT_DEVICE:
        return in->device;
    default:
        return 0;
    }
}

void vkfd_inject_ctrl_write(VKFDEngine *e, uint32_t off, uint32_t val)
{
    uint32_t v = vkfd_le32(val);

    if (text_dword(off)) {
        memcpy(e->inject.text + (off - VKFD_CTRL_INJECT_TEXT), &v, 4);
    } else if (off == VKFD_CTRL_INJECT_GO) {
        go(e, val);
    } else if (off == VKFD_CTRL_INJECT_SELECT) {
        e->inject.ctrl_select = val;
    }
}
