/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counted fault injection (docs/injection.md): what is armed, what has fired, and
 * what is held back. Part of the engine; no QEMU header.
 *
 * A point is a hand-over of the event path. Every spec counts the passages of
 * its point since it was armed and acts on the passages it names. Nothing is
 * random, so the same run has the same faults.
 *
 * Off, a point costs one test of VKFDEngine.inject_hooks.
 */
#ifndef HW_VKFD_INJECT_H
#define HW_VKFD_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vkfd/ih.h>
#include <vkfd/pci.h>

/* Delayed actions held back at a time; one more is refused and counted. */
#define VKFD_INJECT_HELD_MAX    256
/* Longest delay, and the delay when none is given, in ns of the virtual clock. */
#define VKFD_INJECT_DELAY_MAX   60000000000ull
#define VKFD_INJECT_DELAY       1000000ull

typedef enum VKFDInjectPoint {
    VKFD_INJECT_AT_DOORBELL,    /* write to a compute doorbell */
    VKFD_INJECT_AT_FETCH,       /* a complete packet was fetched, not yet executed */
    VKFD_INJECT_AT_SLOT,        /* data write of a RELEASE_MEM */
    VKFD_INJECT_AT_IH_ENTRY,    /* entry on its way to a ring that is on */
    VKFD_INJECT_AT_IH_WPTR,     /* write-back of the ring's wptr */
    VKFD_INJECT_AT_MSIX,        /* message */
    VKFD_INJECT_AT_PAGE_WALK,   /* TLB miss of a VMID other than 0 */
    VKFD_INJECT_AT_PREEMPT,     /* DEQUEUE_REQUEST of an active queue */
    VKFD_INJECT_AT_DEVICE,      /* counts packets, as fetch */
    VKFD_INJECT_POINTS,
} VKFDInjectPoint;

typedef enum VKFDInjectAction {
    VKFD_INJECT_DO_DROP,
    VKFD_INJECT_DO_DELAY,
    VKFD_INJECT_DO_DUP,
    VKFD_INJECT_DO_CORRUPT,
    VKFD_INJECT_DO_HANG,
    VKFD_INJECT_DO_INSERT,
    VKFD_INJECT_DO_GONE,
    VKFD_INJECT_DO_PAUSE,
    VKFD_INJECT_ACTIONS,
} VKFDInjectAction;

typedef struct VKFDInjectSpec {
    uint64_t passages;          /* of the point, since arming */
    uint64_t arg;               /* delay, dup: ns; corrupt: mask or value */
    uint32_t first;             /* 1-based; 0: once, when it is armed */
    uint32_t every;             /* at least 1 */
    uint32_t count;             /* at most so often; 0: no limit */
    uint32_t fired;             /* acted; saturates */
    uint32_t refused;           /* was due and could not act; saturates */
    uint32_t entry[VKFD_IH_ENTRY_DW];   /* insert at ih-entry */
    uint8_t point;              /* VKFDInjectPoint */
    uint8_t action;             /* VKFDInjectAction */
    uint8_t set;                /* corrupt: 1 the value replaces, 0 it is xored */
    uint8_t dw;                 /* corrupt at ih-entry: which dword */
} VKFDInjectSpec;

/* A delayed action, or one kept over a pause. In the order they came. */
typedef struct VKFDInjectHeld {
    int64_t deadline;           /* virtual ns */
    uint64_t addr;              /* doorbell: dword index; slot: VKFD_PA_* address */
    uint64_t data;              /* doorbell, slot: value */
    uint32_t entry[VKFD_IH_ENTRY_DW];   /* ih-entry */
    uint8_t point;              /* VKFDInjectPoint */
    uint8_t len;                /* slot: 4 or 8 bytes */
    uint8_t hqd;                /* fetch, slot, preempt */
    uint8_t vmid;               /* slot */
} VKFDInjectHeld;

/*
 * Guest state, except that the engine derives inject_hooks and inject_blocked, and that
 * a pause is not part of it: what it keeps is, and where the VM runs the pause is over.
 */
typedef struct VKFDInject {
    uint32_t nspecs;
    uint32_t nheld;
    uint32_t generation;        /* armings since power on */
    VKFDInjectSpec spec[VKFD_INJECT_SPECS];
    VKFDInjectHeld held[VKFD_INJECT_HELD_MAX];
    /* Sets of queues, bit n is slot n. */
    uint64_t stalled;           /* fetch:delay or fetch:hang */
    uint64_t passed;            /* the packet at hand was counted before it stalled */
    uint64_t dequeuing;         /* a DEQUEUE_REQUEST has not completed */
    uint64_t dequeue_hung;      /* ... and will not by itself */
    uint32_t ctrl_status;       /* control page: INJECT_STATUS */
    uint32_t ctrl_pos;          /* INJECT_ERROR_POS */
    uint32_t ctrl_select;       /* INJECT_SELECT */
    uint32_t ctrl_hi;           /* latched high half of the passages */
    uint8_t device;             /* VKFD_INJECT_DEVICE_* */
    uint8_t text[VKFD_INJECT_TEXT_SIZE];        /* INJECT_TEXT */
} VKFDInject;

typedef struct VKFDInjectError {
    uint32_t status;            /* VKFD_INJECT_* of pci.h */
    uint32_t pos;               /* byte in the text */
    char msg[200];              /* one line */
} VKFDInjectError;

typedef struct VKFDEngine VKFDEngine;

/* ---- the grammar: inject-parse.c ---- */

/*
 * Parse text into at most VKFD_INJECT_SPECS specs with zero counts. False with
 * *err set if it is not in the grammar; specs and n are then undefined.
 */
bool vkfd_inject_parse(const char *text, VKFDInjectSpec *specs, uint32_t *n,
                       VKFDInjectError *err);
/* Is a spec from elsewhere (saved state) one the parser could have made? */
bool vkfd_inject_spec_ok(const VKFDInjectSpec *s);
/* A spec in its shortest form; returns the length, as snprintf(). */
int vkfd_inject_spec_text(const VKFDInjectSpec *s, char *buf, size_t size);
const char *vkfd_inject_point_name(unsigned point);
const char *vkfd_inject_action_name(unsigned action);

/* ---- for front ends ---- */

/*
 * Arm text in place of what is armed, which first ends: hangs are over and what
 * is held back happens now (DMA: the BARs must be in step). Empty text disarms.
 * False, with nothing changed, if the text is not in the grammar. Not from
 * within a run of the engine.
 */
bool vkfd_inject_arm(VKFDEngine *e, const char *text, VKFDInjectError *err);
/* What is armed, in the shortest form. VKFD_INJECT_TEXT_SIZE bytes are enough. */
void vkfd_inject_text(const VKFDEngine *e, char *buf, size_t size);

#endif /* HW_VKFD_INJECT_H */
