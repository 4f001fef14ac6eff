/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of fault injection share with each other only.
 */
#ifndef HW_VKFD_INJECT_PRIV_H
#define HW_VKFD_INJECT_PRIV_H

#include "engine-priv.h"

static inline void vkfd_saturating_inc(uint32_t *n)
{
    *n += *n != UINT32_MAX;
}

/* ---- inject.c ---- */

/* Count and trace that a spec acted, or was due and could not. */
void vkfd_inject_fired(VKFDEngine *e, VKFDInjectSpec *s);
void vkfd_inject_refused(VKFDEngine *e, VKFDInjectSpec *s);

/* Count a passage; the spec that is to act on it, or NULL. */
VKFDInjectSpec *vkfd_inject_pass(VKFDEngine *e, unsigned point);

/* ---- inject-sdma.c ---- */

/* A queue goes on, or off, that was held back. */
void vkfd_inject_sdma_deliver(VKFDEngine *e, unsigned point, unsigned id);
/* Saved state: what keeps a queue on that was switched off exists. */
bool vkfd_inject_sdma_ok(const VKFDEngine *e);
/* The device works again: requests that waited for it alone complete. */
void vkfd_inject_sdma_resume(VKFDEngine *e);
/* All faults end. */
void vkfd_inject_sdma_release(VKFDEngine *e);

/* ---- inject-held.c ---- */

/*
 * A queue (VKFDInjectHeld.hqd) goes off: it is held back no longer, and its late
 * writes are done.
 */
void vkfd_inject_forget(VKFDEngine *e, unsigned hqd);

/*
 * Put h aside for the time of s, which has fired then. False, and counted as
 * refused, if there is no room.
 */
bool vkfd_inject_hold(VKFDEngine *e, VKFDInjectSpec *s, VKFDInjectHeld h);
/*
 * s pauses: the VM is going to be stopped, and until it runs again nothing else does.
 * What is kept meanwhile is done then, in its order; false: no room, so it is done now.
 */
void vkfd_inject_pause(VKFDEngine *e, VKFDInjectSpec *s);
bool vkfd_inject_keep(VKFDEngine *e, unsigned point, VKFDInjectHeld h);
/* The same again while one is held: that one happens no earlier than this would. */
void vkfd_inject_hold_longer(VKFDEngine *e, VKFDInjectSpec *s, VKFDInjectHeld *h);
/* The held action of a point and address, or NULL. */
VKFDInjectHeld *vkfd_inject_find_held(VKFDInject *in, unsigned point,
                                      uint64_t addr);
/* A spec of the device acts. False: it could not (counted as refused). */
bool vkfd_inject_device_action(VKFDEngine *e, VKFDInjectSpec *s);
/* End all faults: nothing is armed, what is held back happens now, in its order. */
void vkfd_inject_release(VKFDEngine *e);
/* The timer follows from what is held, inject_blocked from what stands still. */
void vkfd_inject_rearm(VKFDEngine *e);
void vkfd_inject_update_blocked(VKFDEngine *e);

/* ---- inject-arm.c ---- */

/* inject_hooks follows from the specs. */
void vkfd_inject_update_hooks(VKFDEngine *e);

#endif /* HW_VKFD_INJECT_PRIV_H */
