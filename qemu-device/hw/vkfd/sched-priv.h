/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the scheduler firmware share with each other only.
 */
#ifndef HW_VKFD_SCHED_PRIV_H
#define HW_VKFD_SCHED_PRIV_H

#include "engine-priv.h"

_Static_assert(VKFD_SCHED_SDMA == VKFD_NUM_SDMA, "SDMA engines");
_Static_assert(VKFD_SCHED_SDMA_RLC == VKFD_SDMA_NUM_RLC, "user queues of each");
_Static_assert(VKFD_SCHED_WAITS == VKFD_WAIT_ADDRS, "addresses a queue waits on");

/* Why a run list, or a packet of one, is refused (VKFD_TRACE_SCHED_BAD). */
typedef enum VKFDSchedBad {
    VKFD_SCHED_OK,
    VKFD_SCHED_BAD_FIELD,       /* of a packet: not valid, or not modelled */
    VKFD_SCHED_BAD_PACKET,      /* not a packet of run lists */
    VKFD_SCHED_BAD_SHORT,       /* cut off by the end of the IB */
    VKFD_SCHED_BAD_READ,        /* the IB cannot be read */
    VKFD_SCHED_BAD_LONG,        /* more than VKFD_RUNLIST_MAX_DW: an endless chain */
    VKFD_SCHED_BAD_MQD,         /* cannot be accessed */
    VKFD_SCHED_BAD_TWICE,       /* the queue is mapped already */
    VKFD_SCHED_BAD_MORE,        /* more queues than MAP_PROCESS said */
    VKFD_SCHED_BAD_NO_PROCESS,  /* a queue before its process */
    VKFD_SCHED_BAD_FULL,        /* the tables are full */
    VKFD_SCHED_BAD_SLOT,        /* the slot is taken */
} VKFDSchedBad;

static inline VKFDSchedQueue *vkfd_sched_q(VKFDEngine *e, unsigned i)
{
    return &e->sched.queue[i];
}

/* ---- sched.c: the tables ---- */

/* Find the process of a PASID, VKFD_SCHED_NONE if there is none. */
uint16_t vkfd_sched_find_proc(const VKFDEngine *e, uint32_t pasid);
/* A free entry, cleared and used; VKFD_SCHED_NONE if there is none. */
uint16_t vkfd_sched_new_proc(VKFDEngine *e);
/* A process that has no queues ends: its VMID becomes free. */
void vkfd_sched_end_proc(VKFDEngine *e, uint16_t proc);
/* Add a queue like *q, ready; VKFD_SCHED_NONE if there is no room. */
uint16_t vkfd_sched_add(VKFDEngine *e, const VKFDSchedQueue *q);
/* Remove a queue that is on no slot. Its process ends with its last queue. */
void vkfd_sched_remove(VKFDEngine *e, uint16_t i);
bool vkfd_sched_has_mqd(VKFDEngine *e, uint64_t mqd);
/* First queue with this doorbell, behind queue `from` of the same chain if not NONE. */
uint16_t vkfd_sched_by_doorbell(VKFDEngine *e, uint32_t doorbell, uint16_t from);
/* Change the state of a queue; keeps the lists. Not from or to ON_SLOT, FREE. */
void vkfd_sched_set_state(VKFDEngine *e, uint16_t i, VKFDSchedState state);
/* The queue takes slot, or leaves it for a state. */
void vkfd_sched_take_slot(VKFDEngine *e, uint16_t i, unsigned slot);
void vkfd_sched_leave_slot(VKFDEngine *e, uint16_t i, VKFDSchedState state);
/* A used entry, its state set, becomes known to lists and hashes. */
void vkfd_sched_link(VKFDEngine *e, uint16_t i);

/* ---- sched-vmid.c ---- */

/* VMID of a process, which gets one if it can; 0 if it cannot now. */
unsigned vkfd_sched_vmid(VKFDEngine *e, uint16_t proc, int64_t now);
void vkfd_sched_free_vmid(VKFDEngine *e, uint16_t proc);
int64_t vkfd_sched_vmid_expiry(const VKFDEngine *e, uint16_t proc);
/* What MAP_PROCESS said goes into the registers of its VMID. */
void vkfd_sched_write_vmid(VKFDEngine *e, uint16_t proc);

/* ---- sched-slot.c ---- */

/* How easily a queue gives its slot away. */
typedef enum VKFDSchedHold {
    VKFD_SCHED_HELD,            /* it does not, now */
    VKFD_SCHED_EXPIRED,         /* busy, but its quantum is over */
    VKFD_SCHED_SPARE,           /* nothing to do, or nothing it can do */
} VKFDSchedHold;

VKFDSchedHold vkfd_sched_hold(VKFDEngine *e, uint16_t i, int64_t now);
/* When the quantum of a queue on a slot is over (virtual ns). */
int64_t vkfd_sched_expiry(VKFDEngine *e, uint16_t i);
/*
 * Take a queue off its slot. False: it was to be saved and could not be, or not
 * wholly; then it is stopped.
 */
bool vkfd_sched_off(VKFDEngine *e, uint16_t i, bool save, VKFDSchedState state);
/* Write a queue on a slot to its MQD; it goes on. */
bool vkfd_sched_save(VKFDEngine *e, uint16_t i);
/* Save a queue and take it off its slot, for somebody else. */
void vkfd_sched_swap_out(VKFDEngine *e, uint16_t i);
/*
 * Load a queue into a slot that is free. False: its MQD cannot be read, or the slot
 * is not free after all; the queue is then stopped.
 */
bool vkfd_sched_load(VKFDEngine *e, uint16_t i, unsigned slot, uint32_t vmid);
/* A slot for a queue of this engine, freed if need be; -1 if none can be had now. */
int vkfd_sched_slot(VKFDEngine *e, unsigned engine, int64_t now);
/* Would a load of it do nothing, as far as memory tells? */
bool vkfd_sched_is_idle(VKFDEngine *e, uint16_t i, uint32_t vmid);

/* ---- sched-wait.c ---- */

/* What was noted of a queue on a slot. */
VKFDSchedSeen *vkfd_sched_seen(VKFDEngine *e, uint16_t i);
/* Note what a queue on a slot waits on, and let it look again, unless that is done. */
void vkfd_sched_note(VKFDEngine *e, uint16_t i);
/* Parked, and found unsatisfied since it was noted? */
bool vkfd_sched_noted(VKFDEngine *e, uint16_t i);
/* Into and out of the index of those that wait without a slot. */
void vkfd_sched_watch(VKFDEngine *e, uint16_t i, const VKFDSchedSeen *seen);
void vkfd_sched_unwatch(VKFDEngine *e, uint16_t i);
/* Look at what they wait for. */
void vkfd_sched_poll(VKFDEngine *e);

/* Why a queue gets ready (VKFD_TRACE_SCHED_WAKE). */
enum {
    VKFD_SCHED_BY_DOORBELL,
    VKFD_SCHED_BY_WRITE,        /* of the device */
    VKFD_SCHED_BY_POLL,         /* memory is not what it was */
    VKFD_SCHED_BY_TABLES,       /* its page tables changed */
    VKFD_SCHED_BY_TURN,         /* now and then */
};

/* ---- sched-run.c ---- */

/* The timer, for the earliest that time alone can change. */
void vkfd_sched_rearm(VKFDEngine *e);

/* ---- sched-pm4.c ---- */

/* Take over a MAP_PROCESS: its process in *proc, the queues it tells in *told. */
VKFDSchedBad vkfd_sched_map_process(VKFDEngine *e, const uint32_t *body,
                                    uint16_t *proc, uint32_t *told);
/* MAP_QUEUES of a queue whose slot the firmware chooses. */
VKFDSchedBad vkfd_sched_map_queue(VKFDEngine *e, const uint32_t *body,
                                  uint16_t proc, uint8_t flags);
/* A queue with unmap set left its slot; saved: it could go on. */
void vkfd_sched_unmapped(VKFDEngine *e, uint16_t i, bool saved);
/* Preemptions that take longer than the driver lets them; when to look next, or -1. */
void vkfd_sched_check_unmaps(VKFDEngine *e, int64_t now);
int64_t vkfd_sched_unmap_deadline(const VKFDEngine *e);

/* ---- runlist.c ---- */

VKFDSchedBad vkfd_runlist_read(VKFDEngine *e, uint64_t addr, uint32_t dw);

#endif /* HW_VKFD_SCHED_PRIV_H */
