/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scheduler firmware: state of the queues that KIQ and HIQ have mapped. Part of
 * the engine; no QEMU header. docs/hw-spec.md says what it does.
 *
 * A mapped queue is in a slot (an HQD, or a user queue of an SDMA engine) or waits
 * for one. Slots, VMIDs and the position of a queue are hardware state; what is here
 * is what the firmware of the real part keeps for itself.
 */
#ifndef HW_VKFD_SCHED_H
#define HW_VKFD_SCHED_H

#include <stdbool.h>
#include <stdint.h>

/* Queues and processes mapped at a time: 752 queues a process, five processes full. */
#define VKFD_SCHED_QUEUES       4096
#define VKFD_SCHED_PROCS        512
/* Dwords of all IBs of one RUN_LIST, each step of a chain included. */
#define VKFD_RUNLIST_MAX_DW     65536
/* Queues looked at in one pass, of two in a run: loaded, or found to be idle. */
#define VKFD_SCHED_STEPS        32
/* Addresses of those that wait without a slot a pass looks at. */
#define VKFD_SCHED_POLLS        1024
/* So many of them, at most, get a slot to wait in because their tables changed. */
#define VKFD_SCHED_STALE        4
/* Every so many passes one gets a slot in any case. */
#define VKFD_SCHED_RECHECK      8
/* Quantum of a queue that names none, and the unit of those that are named. */
#define VKFD_SCHED_QUANTUM_NS   1000000

/* Unit of SET_RESOURCES.UNMAP_LATENCY. */
#define VKFD_SCHED_LATENCY_NS   100000000ll

#define VKFD_SCHED_NONE         0xffff  /* no queue, no process */
#define VKFD_SCHED_SDMA         2       /* SDMA engines */
#define VKFD_SCHED_SDMA_RLC     8       /* user queues of each */
#define VKFD_SCHED_ENGINES      (1 + VKFD_SCHED_SDMA)
#define VKFD_SCHED_WAITS        5       /* addresses a queue waits on: VKFD_WAIT_ADDRS */

/* VKFDSchedQueue.state */
typedef enum VKFDSchedState {
    VKFD_SCHED_FREE,            /* no queue */
    VKFD_SCHED_IDLE,            /* no slot: its next doorbell makes it ready */
    VKFD_SCHED_READY,           /* no slot, wants one */
    VKFD_SCHED_ON_SLOT,
    VKFD_SCHED_PARKED,          /* no slot: its wait is polled by address */
    VKFD_SCHED_STOPPED,         /* no slot, and none until it is mapped again */
    VKFD_SCHED_STATES,
} VKFDSchedState;

/* VKFDSchedQueue.flags */
#define VKFD_SCHED_F_STATIC     1       /* "all non-static" leaves it */
#define VKFD_SCHED_F_FIXED      2       /* by KIQ into a slot it named, no process */
#define VKFD_SCHED_F_HIQ        4       /* takes scheduler packets */
#define VKFD_SCHED_F_RUNG       8       /* wptr is that of a doorbell */
#define VKFD_SCHED_F_NEW        16      /* of a run list that is still being read */
#define VKFD_SCHED_F_ALL        31

/* A mapped queue. Guest state. */
typedef struct VKFDSchedQueue {
    uint64_t mqd;               /* VMID 0 address */
    uint64_t wptr_addr;         /* in the queue's VMID; 0: what the MQD says */
    uint64_t wptr;              /* of the last doorbell it had without a slot */
    int64_t since;              /* on slot: since then (virtual ns) */
    uint32_t doorbell;          /* dword index on BAR2 */
    uint16_t proc;              /* its process, VKFD_SCHED_NONE if fixed */
    uint8_t state;              /* VKFDSchedState */
    uint8_t engine;             /* 0 compute, 1 + n SDMA engine n */
    uint8_t slot;               /* on slot: HQD, or number of the SDMA user queue */
    uint8_t flags;              /* VKFD_SCHED_F_* */
    uint8_t vmid;               /* fixed: VMID of the packet */
    uint8_t unmap;              /* 1 + action of an UNMAP_QUEUES that is not done, or 0 */
} VKFDSchedQueue;

/* A mapped process. Guest state. */
typedef struct VKFDSchedProc {
    uint64_t pd_base;           /* with flags */
    uint64_t completion;        /* stored only */
    int64_t since;              /* has its VMID since then (virtual ns) */
    uint32_t sh_mem_bases, sh_mem_config;
    uint32_t tba_lo, tba_hi, tma_lo, tma_hi;
    uint16_t pasid;             /* not 0 */
    uint8_t used;
    uint8_t vmid;               /* 0: none */
    uint8_t quantum;            /* ms */
} VKFDSchedProc;

typedef struct VKFDSched {
    uint64_t queue_mask[2];     /* SET_RESOURCES of KIQ and HIQ */
    uint32_t vmid_mask[2];
    uint32_t unmap_latency[2];  /* in VKFD_SCHED_LATENCY_NS; KIQ's is stored only */
    uint32_t queue_top;         /* entries of queue[] behind it are free */
    uint32_t proc_top;
    uint32_t ticks;
    int64_t tick;               /* next poll of parked queues (virtual ns) */
    uint16_t map_proc;          /* process of a MAP_QUEUES outside a run list */
    VKFDSchedProc proc[VKFD_SCHED_PROCS];
    VKFDSchedQueue queue[VKFD_SCHED_QUEUES];
} VKFDSched;

/* ---- derived from the above by vkfd_sched_post_load() ---- */

#define VKFD_SCHED_HASH         4096    /* a power of two */
#define VKFD_SCHED_NODES        (VKFD_SCHED_QUEUES * VKFD_SCHED_WAITS)

/* Links of one queue. A queue is on at most one list: ready, or parked. */
typedef struct VKFDSchedLink {
    uint16_t prev, next;
    uint16_t doorbell_next, mqd_next;
    uint32_t vm_gen;            /* parked: VKFDSchedVm.gen of its process then */
    uint8_t waits;              /* parked: addresses in the wait index */
} VKFDSchedLink;

typedef struct VKFDSchedList {
    uint16_t first, last;
    uint32_t n;
} VKFDSchedList;

/* One address a queue without slot waits on. */
typedef struct VKFDSchedWait {
    uint64_t pa;                /* VKFD_PA_* address, a multiple of 4 */
    uint32_t prev, next;        /* in its bucket: node + 1, 0: none */
    uint32_t look;              /* where it is in VKFDSchedDerived.look */
} VKFDSchedWait;

/* The same address for who passes over all of them: these lie side by side. */
typedef struct VKFDSchedLook {
    uint64_t pa;
    uint64_t seen;              /* read before it was last found unsatisfied */
    uint32_t node;              /* of VKFDSchedWait */
    uint8_t len;                /* bytes looked at: 4 or 8 */
} VKFDSchedLook;

/* What a slot's queue waited on when that was last noted, by the scheduler. */
typedef struct VKFDSchedSeen {
    uint64_t pa[VKFD_SCHED_WAITS], seen[VKFD_SCHED_WAITS];
    uint8_t n;                  /* 0: not noted */
    uint8_t len;                /* bytes at each: 4 or 8 */
} VKFDSchedSeen;

typedef struct VKFDSchedDerived {
    VKFDSchedLink link[VKFD_SCHED_QUEUES];
    VKFDSchedList ready[VKFD_SCHED_ENGINES];
    VKFDSchedList parked;
    uint16_t by_doorbell[VKFD_SCHED_HASH], by_mqd[VKFD_SCHED_HASH];
    uint32_t by_pa[VKFD_SCHED_HASH];    /* node + 1, 0: none */
    VKFDSchedWait wait[VKFD_SCHED_NODES];
    VKFDSchedLook look[VKFD_SCHED_NODES];
    uint32_t looks;                     /* of them are used */
    uint32_t look_next;                 /* a pass goes on below this one; 0: from the top */
    bool stale;                         /* there may be some whose tables have changed */
    VKFDSchedSeen hqd_seen[64];
    VKFDSchedSeen rlc_seen[VKFD_SCHED_SDMA][VKFD_SCHED_SDMA_RLC];
    uint16_t hqd_owner[64];
    uint16_t rlc_owner[VKFD_SCHED_SDMA][VKFD_SCHED_SDMA_RLC];
    uint16_t vmid_owner[16];            /* process */
    uint16_t proc_queues[VKFD_SCHED_PROCS];
    uint16_t proc_slots[VKFD_SCHED_PROCS];      /* of them on slots */
    uint32_t vm_gen[VKFD_SCHED_PROCS];  /* counts invalidations of its tables */
    uint32_t unmapping;                 /* queues with unmap set */
    uint32_t queue_hint, proc_hint;     /* no free entry below */
    int64_t deadline;                   /* the timer is armed for, -1: it is not */
} VKFDSchedDerived;

#endif /* HW_VKFD_SCHED_H */
