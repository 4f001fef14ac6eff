/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd engine: the emulated Vega20 compute part behind a small bus interface.
 *
 * Registers, queues, command processor, interrupt ring and GPUVM. No QEMU
 * header is included, so the engine also compiles alone for tests, sanitizers
 * and fuzzing. docs/hw-spec.md says what it models and how exactly.
 *
 * Threading: single threaded. The caller holds its one lock (the BQL) around
 * every call. VRAM is shared with vCPU threads that take no lock; aligned 4 and
 * 8 byte accesses to it are single-copy atomic.
 *
 * Trust: every value that arrives by register, doorbell, packet or guest memory
 * is hostile. No call asserts on one, loops without a named limit on one, or
 * allocates anything.
 *
 * What a driver has to program before a queue runs and interrupts:
 *   CP_MEC_CNTL = 0 (both engines are halted at reset, as AMD's reset value says);
 *   CP_MEx_PIPEy_INT_CNTL (or CPC_INT_CNTL with that pipe selected) bits 26
 *   TIME_STAMP (end of pipe), 24 OPCODE_ERROR, 23 PRIV_REG;
 *   BIF_IH_DOORBELL_RANGE and IH_DOORBELL_RPTR for the read pointer doorbell;
 *   VM_CONTEXTn_CNTL with the fault interrupt enables.
 */
#ifndef HW_VKFD_ENGINE_H
#define HW_VKFD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vkfd/gpuvm.h>
#include <vkfd/pci.h>
#include <vkfd/regs_sdma.h>

#include "inject.h"
#include "sched.h"

/* ---- fixed sizes and limits (all named; docs/hw-spec.md lists them) ---- */

#define VKFD_NUM_REGS           (VKFD_MMIO_SIZE / 4)
#define VKFD_HQD_DW             56      /* CP_MQD_BASE_ADDR..CP_HQD_PQ_WPTR_HI */
#define VKFD_SH_DW              128     /* compute SH registers 0xb800..0xb9fc */
#define VKFD_VMID_BANK_DW       6       /* SH_MEM_* and SQ_SHADER_T*, per VMID */
#define VKFD_UNMOD_MAX          256     /* distinct unmodelled registers listed */
#define VKFD_SMN_MAX            64      /* SMN addresses stored by PCIE_DATA2 */
#define VKFD_PM4_MAX_DW         (1 + 0x4000)
#define VKFD_TLB_SETS           64      /* per hub and VMID, direct mapped */
#define VKFD_NUM_HUB            2       /* 0 GFX hub, 1 MM hub */

/* Units of work a queue may use in one vkfd_engine_run(). */
#define VKFD_CP_BUDGET_DEFAULT  64
#define VKFD_CP_BUDGET_MAX      4096
/* A run ends after this many units; the next one goes on with the next queue. */
#define VKFD_CP_RUN_UNITS       1024
/* Dwords of a packet body that cost one further unit of that budget. */
#define VKFD_CP_DW_PER_UNIT     256

/* Registers one packet may write; each costs one further unit. */
#define VKFD_PM4_MAX_REG_WRITES 256

/* Bytes of a DMA_DATA that are moved at a time; a multiple of 4. */
#define VKFD_PM4_DMA_SLICE      16384

/* Tries of an atomic that others keep disturbing, before it waits for its turn. */
#define VKFD_ATOMIC_TRIES       1024

/* Addresses a parked queue waits on, at most (barrier packets name five). */
#define VKFD_WAIT_ADDRS         5

/* Units an SDMA run spends before it begins no other visit. */
#define VKFD_SDMA_RUN_UNITS     512
/* Bytes an SDMA packet moves, and pieces it moves them in, for one further unit. */
#define VKFD_SDMA_BYTES_PER_UNIT        4096
#define VKFD_SDMA_PIECES_PER_UNIT       16
/* Bytes for one further unit where RAM is copied to RAM and nothing lies between. */
#define VKFD_SDMA_DIRECT_PER_UNIT       16384
/* After so many of these a packet is interrupted, to go on in its queue's next turn. */
#define VKFD_SDMA_SLICE_UNITS   16

/* Back-off of a parked wait that only the CPU can satisfy, in ns. */
#define VKFD_WAIT_POLL_MIN_NS   10000
#define VKFD_WAIT_POLL_MAX_NS   1000000
/* The longest there is between two looks while nothing happens at all. */
#define VKFD_WAIT_QUIET_MAX_NS  8000000
/* Looks come after so much of the time for which nothing has happened: one part in. */
#define VKFD_WAIT_QUIET_PART    8

#define VKFD_CUS_MAX            16

/* vkfd_engine_timer() and VKFDBusOps.set_timer(): which timer. */
enum {
    VKFD_TIMER_WAIT,            /* next poll of a parked queue */
    VKFD_TIMER_INJECT,          /* next delayed action of fault injection */
    VKFD_TIMER_SCHED,           /* quantum, or a poll of queues without a slot */
    VKFD_NUM_TIMERS,
};

/*
 * Trace points. args[] always has VKFD_TRACE_ARGS elements; unused ones are 0.
 * hqd is (me - 1) * 32 + pipe * 8 + queue.
 */
#define VKFD_TRACE_ARGS         6
typedef enum VKFDTraceId {
    VKFD_TRACE_REG_READ,        /* byte offset, value */
    VKFD_TRACE_REG_WRITE,       /* byte offset, value, 1 if by a packet */
    VKFD_TRACE_REG_UNMODELLED,  /* byte offset, value, 1 if a write */
    VKFD_TRACE_DOORBELL,        /* byte offset, value, size */
    VKFD_TRACE_DOORBELL_DROP,   /* byte offset, value */
    VKFD_TRACE_HQD_ACTIVATE,    /* hqd, vmid, ring base, rptr, wptr */
    VKFD_TRACE_HQD_DEQUEUE,     /* hqd, request, rptr, ib rptr, 1 if parked */
    VKFD_TRACE_HQD_STOP,        /* hqd, VKFDStop, ring rptr */
    VKFD_TRACE_HQD_WPTR,        /* hqd, wptr, rptr */
    VKFD_TRACE_HQD_RPTR,        /* hqd, reported rptr */
    VKFD_TRACE_CP_RUN,          /* hqd, units used, 1 if more is left */
    VKFD_TRACE_PM4_PACKET,      /* hqd, header, position, 1 if in an IB */
    VKFD_TRACE_PM4_SKIP,        /* hqd, header */
    VKFD_TRACE_PM4_BAD,         /* hqd, header, error code */
    VKFD_TRACE_PM4_PRIV,        /* hqd, byte offset of the register */
    VKFD_TRACE_RELEASE_MEM,     /* hqd, address, data, context id, int_sel */
    VKFD_TRACE_WAIT_PARK,       /* hqd, space, address, next poll (ns) */
    VKFD_TRACE_WAIT_WAKE,       /* hqd, 0 device write, 1 register, 2 timer */
    VKFD_TRACE_IH_PUSH,         /* client, source, ring id, vmid, pasid, context id 0 */
    VKFD_TRACE_IH_LOST,         /* client, source, 0 off, 1 full, 2 DMA failed */
    VKFD_TRACE_IH_OVERFLOW,     /* wptr, rptr */
    VKFD_TRACE_IH_RPTR,         /* rptr, wptr, 1 if by doorbell */
    VKFD_TRACE_IH_IRQ,          /* wptr, rptr */
    VKFD_TRACE_VM_FAULT,        /* hub, vmid, va, 1 if a write, status */
    VKFD_TRACE_VM_INVALIDATE,   /* hub, engine, request */
    VKFD_TRACE_DMA_REFUSED,     /* address, length, 1 if a write */
    VKFD_TRACE_RESET,           /* 1 if cold */
    VKFD_TRACE_INJECT_ARM,      /* specs, generation */
    VKFD_TRACE_INJECT_FIRE,     /* spec, point, action, passages */
    VKFD_TRACE_INJECT_REFUSE,   /* spec, point, action, passages */
    VKFD_TRACE_INJECT_DONE,     /* delayed action: point, hqd, address */
    VKFD_TRACE_DISPATCH,        /* hqd, x, y, z, code address, 1 if refused */
    VKFD_TRACE_ATOMIC,          /* hqd, address, TC operation, old value */
    VKFD_TRACE_AQL_PACKET,      /* hqd, header, dispatch id, completion signal */
    VKFD_TRACE_AQL_COMPLETE,    /* hqd, signal, its new value, mailbox, event */
    VKFD_TRACE_AQL_ERROR,       /* hqd, header, code, dispatch id */
    /* sdma is engine * 10 + block; blocks: 0 GFX, 1 PAGE, 2.. RLC0.. */
    VKFD_TRACE_SDMA_ENABLE,     /* sdma, vmid, ring base, rptr, wptr */
    VKFD_TRACE_SDMA_OFF,        /* sdma, rptr, ib rptr, 1 if parked, bytes or so done */
    VKFD_TRACE_SDMA_STOP,       /* sdma, VKFDStop, rptr */
    VKFD_TRACE_SDMA_WPTR,       /* sdma, wptr, rptr */
    VKFD_TRACE_SDMA_RPTR,       /* sdma, reported rptr */
    VKFD_TRACE_SDMA_RUN,        /* sdma, units used, 1 if more is left */
    VKFD_TRACE_SDMA_PACKET,     /* sdma, header, position, 1 if in an IB */
    VKFD_TRACE_SDMA_SKIP,       /* sdma, header */
    VKFD_TRACE_SDMA_BAD,        /* sdma, header, error code */
    VKFD_TRACE_SDMA_PRIV,       /* sdma, byte offset of the register */
    VKFD_TRACE_SDMA_PARK,       /* sdma, 1 memory 0 register, address, next poll (ns) */
    VKFD_TRACE_SDMA_WAKE,       /* sdma, 0 device write, 1 register, 2 timer */
    VKFD_TRACE_SDMA_TRAP,       /* sdma, context */
    VKFD_TRACE_SCHED_MAP,       /* queue, engine, pasid, doorbell, MQD, flags */
    VKFD_TRACE_SCHED_UNMAP,     /* queue, its state */
    VKFD_TRACE_SCHED_LOAD,      /* queue, engine, slot, vmid */
    VKFD_TRACE_SCHED_SWAP,      /* queue, engine, slot, VKFDSchedState, addresses */
    VKFD_TRACE_SCHED_WAKE,      /* queue, 0 doorbell, 1 device write, 2 poll, 3 tables, 4 turn */
    VKFD_TRACE_SCHED_VMID,      /* vmid, pasid or 0, page directory */
    VKFD_TRACE_SCHED_RUNLIST,   /* address, dwords read, VKFDSchedBad, where it ended */
    VKFD_TRACE_SCHED_BAD,       /* hqd, opcode, VKFDSchedBad */
    VKFD_TRACE_SCHED_GIVE_UP,   /* queue that does not stop, slot, doorbell */
    VKFD_TRACE_MAX,
} VKFDTraceId;

/* Why an active queue executes nothing until it is dequeued (VKFDHqd.stop). */
typedef enum VKFDStop {
    VKFD_STOP_NONE,
    VKFD_STOP_BAD_PACKET,
    VKFD_STOP_PRIV_REG,
    VKFD_STOP_VM_FAULT,         /* translation fault or failed DMA */
    VKFD_STOP_UNSUPPORTED,      /* set up in a way that cannot be run */
    VKFD_STOP_MAX,
} VKFDStop;

/* A read-modify-write of 4 or 8 bytes. Values in host order, low bytes for 4. */
typedef enum VKFDAtomicOp {
    VKFD_ATOMIC_SWAP,
    VKFD_ATOMIC_CMPSWAP,        /* src if it was cmp */
    VKFD_ATOMIC_ADD,
    VKFD_ATOMIC_SUB,
    VKFD_ATOMIC_SMIN,
    VKFD_ATOMIC_UMIN,
    VKFD_ATOMIC_SMAX,
    VKFD_ATOMIC_UMAX,
    VKFD_ATOMIC_AND,
    VKFD_ATOMIC_OR,
    VKFD_ATOMIC_XOR,
    VKFD_ATOMIC_INC,            /* 0 if it was at or above src */
    VKFD_ATOMIC_DEC,            /* src if it was 0 or above src */
} VKFDAtomicOp;

typedef struct VKFDAtomic {
    VKFDAtomicOp op;
    uint64_t src, cmp;
    uint64_t old;               /* out: what was there */
} VKFDAtomic;

typedef enum VKFDRmw {
    VKFD_RMW_DONE,
    VKFD_RMW_BUSY,              /* VKFD_ATOMIC_TRIES were in vain, nothing changed */
    VKFD_RMW_REFUSED,
} VKFDRmw;

/*
 * The outside world. Addresses are bus addresses (guest-physical or IOVA).
 * dma_*: at most VKFD_PM4_MAX_DW * 4 bytes; false if any byte failed or the
 * target is MMIO (the engine has already handled its own BARs). Called with
 * length 4 or 8 and natural alignment for pointers and fences: these should be
 * single-copy atomic, and each call ordered after those before it.
 *
 * dma_atomic: one read-modify-write of len 4 or 8 at a multiple of it, atomic
 * with respect to vCPUs and ordered as a full barrier: vkfd_atomic_apply() on the
 * host address. REFUSED if that is not RAM. An ADD of 8 bytes is never BUSY.
 */
typedef struct VKFDBusOps {
    bool (*dma_read)(void *opaque, uint64_t addr, void *buf, uint32_t len);
    bool (*dma_write)(void *opaque, uint64_t addr, const void *buf,
                      uint32_t len);
    /*
     * The host's address of RAM at addr, to be read or to be written, and at *len how
     * much of the length asked for is there in one piece. NULL if it is not RAM.
     * dma_unmap() with the same, and with how many bytes were written, before anything
     * else of the bus is used, but for a second dma_map().
     */
    void *(*dma_map)(void *opaque, uint64_t addr, uint32_t *len, bool write);
    void (*dma_unmap)(void *opaque, void *host, uint32_t len, bool write,
                      uint32_t written);
    VKFDRmw (*dma_atomic)(void *opaque, uint64_t addr, uint32_t len,
                          VKFDAtomic *a);
    /*
     * The host's address of the page of 4 KiB at addr, a multiple of that, to be read
     * until the engine returns. NULL if not all of it is RAM.
     */
    const void *(*dma_page)(void *opaque, uint64_t addr);
    /* MSI-X message, vector 0. All DMA before it is visible. */
    void (*raise_irq)(void *opaque);
    /* Virtual clock in ns, never going backwards. */
    uint64_t (*now_ns)(void *opaque);
    /* Arm (absolute virtual ns) or, with -1, cancel a timer. */
    void (*set_timer)(void *opaque, unsigned which, int64_t deadline_ns);
    /*
     * Call vkfd_engine_run() soon, once, from a fresh stack (a bottom half).
     * May be called again before that happened; one run then suffices. Runs
     * must not happen while the VM is stopped: keep the request until it runs.
     */
    void (*schedule)(void *opaque);
    /* The engine wrote these bytes of VRAM (dirty tracking). */
    void (*vram_dirty)(void *opaque, uint64_t off, uint64_t len);
    void (*trace)(void *opaque, VKFDTraceId id, const uint64_t *args);
    void (*log_guest_error)(void *opaque, const char *msg);
    /*
     * Stop the VM from a fresh stack, if it still runs then. Whatever stopped it,
     * vkfd_engine_resume() has to be called when it runs again.
     */
    void (*pause)(void *opaque);
} VKFDBusOps;

typedef struct VKFDParams {
    uint8_t *vram;              /* host address, 8-byte aligned; not owned */
    uint64_t vram_size;         /* bytes, a multiple of 16 MiB */
    uint32_t cus;               /* compute units, 1..VKFD_CUS_MAX */
    uint32_t cp_budget;         /* 1..VKFD_CP_BUDGET_MAX, 0: the default */
    uint64_t hidden_vram;       /* bytes of VRAM not to be reported as CPU visible,
                                   whole MiB, 0..vram_size */
    bool dispatch_error;        /* a dispatch stops its queue; else it is skipped */
} VKFDParams;

/* One hardware queue slot. Every field is guest state (to be migrated). */
typedef struct VKFDHqd {
    uint32_t regs[VKFD_HQD_DW]; /* register image, index = dword - CP_MQD_BASE_ADDR */
    uint32_t sh[VKFD_SH_DW];    /* compute SH registers, from SET_SH_REG */
    uint64_t rptr;              /* dwords, monotonic (AQL: 16 times the dispatch id);
                                   PQ_RPTR is rptr mod ring size */
    uint64_t wait_pa[VKFD_WAIT_ADDRS]; /* parked on memory: VKFD_PA_* addresses */
    int64_t wait_deadline;      /* parked: next poll, virtual ns */
    uint32_t wait_interval;     /* parked: ns between polls */
    uint32_t reported_rptr;     /* last value written to the report address */
    uint32_t epoch;             /* activations, so a packet sees its own queue restart */
    uint32_t stop;              /* VKFDStop */
    uint8_t parked;             /* VKFD_PARKED_*: the packet at rptr cannot go on */
    uint8_t poll_now;           /* 1: parked, but to be polled at the next run */
    uint8_t wait_mem;           /* parked on so many addresses, 0: on a register */
    uint8_t wait_len;           /* bytes looked at, at each address: 4 or 8 */
} VKFDHqd;

#define VKFD_NUM_SDMA_QUEUES    (VKFD_NUM_SDMA * VKFD_SDMA_QUEUES)

/*
 * A queue of an SDMA engine. Its position and its progress in a packet are wholly in
 * its registers (VKFDEngine.regs); this is the rest, guest state too.
 */
typedef struct VKFDSdmaQueue {
    uint64_t reported_rptr;     /* bytes; last value written to the report address */
    uint64_t wait_pa;           /* parked on memory: VKFD_PA_* address polled */
    int64_t wait_deadline;      /* parked: next poll, virtual ns */
    uint32_t wait_interval;     /* parked: ns between polls */
    uint32_t epoch;             /* enables, writes of rptr: for a packet to see */
    uint32_t stop;              /* VKFDStop */
    uint8_t parked;             /* VKFD_PARKED_* */
    uint8_t poll_now;           /* 1: parked, but to be polled at the next run */
    uint8_t wait_mem;           /* 1: parked on memory, 0: on a register */
    uint8_t held;               /* VKFD_SDMA_HELD_*: fault injection */
} VKFDSdmaQueue;

/* An access to a register that is not modelled. */
typedef struct VKFDUnmod {
    uint32_t reg;               /* byte offset in BAR5 */
    uint32_t reads;             /* saturating */
    uint32_t writes;            /* saturating */
} VKFDUnmod;

typedef struct VKFDSmn {
    uint32_t addr;
    uint32_t val;
} VKFDSmn;

/* Derived: a cached translation of one 4 KiB page. */
typedef struct VKFDTlbEntry {
    uint64_t vpn_tag;           /* (va >> 12) + 1, 0: empty */
    uint64_t pa;                /* VKFD_PA_* address of the page */
    uint8_t readable, writeable, prt;
} VKFDTlbEntry;

/* A physical address: offset in VRAM, or with this bit a bus address. */
#define VKFD_PA_SYS             (1ull << 63)

struct VKFDEngine {
    /* ---- set by vkfd_engine_init(), not migrated ---- */
    VKFDBusOps ops;
    void *opaque;
    uint8_t *vram;
    uint64_t vram_size;
    uint32_t cus;
    uint32_t cp_budget;
    uint64_t hidden_vram;
    bool dispatch_error;

    /* ---- guest state: migrate all of it ---- */
    uint32_t regs[VKFD_NUM_REGS];       /* unbanked registers, by dword index */
    uint32_t vmid_regs[VKFD_NUM_VMID][VKFD_VMID_BANK_DW];
    VKFDHqd hqd[VKFD_NUM_HQD];
    uint64_t ih_last_ts;                /* last IH time stamp, 48 bits used */
    uint8_t ih_armed;                   /* RPTR_REARM: the next entry may interrupt */
    uint8_t next_hqd;                   /* round robin: first slot of the next run */
    uint32_t smn_count;
    VKFDSmn smn[VKFD_SMN_MAX];
    uint32_t unmod_count;
    VKFDUnmod unmod[VKFD_UNMOD_MAX];
    uint64_t counters[VKFD_CNT_MAX];
    uint32_t ctrl_cnt_select;           /* control page: CNT_SELECT */
    uint32_t ctrl_cnt_hi;               /* latched high half */
    uint32_t ctrl_unmod_select;         /* UNMOD_SELECT */
    VKFDInject inject;
    VKFDSdmaQueue sdma[VKFD_NUM_SDMA_QUEUES];
    uint64_t sdma_ts_offset[VKFD_NUM_SDMA];     /* local time stamp - GPU clock */
    uint8_t next_sdma;                  /* round robin, as next_hqd */
    VKFDSched sched;

    /* ---- derived: not migrated, rebuilt by vkfd_engine_post_load() ---- */
    uint64_t bar0, bar0_size, bar2;     /* by vkfd_engine_set_bars() */
    bool bars_valid;
    bool run_pending;                   /* ops.schedule called, run not yet done */
    uint64_t active_mask;               /* bit n: slot n has ACTIVE set */
    uint64_t waiting_mask;              /* bit n: slot n is parked in a wait */
    uint32_t inject_hooks;              /* bit n: a spec is armed at VKFDInjectPoint n */
    uint64_t inject_blocked;            /* bit n: slot n stands still by injection */
    bool inject_pause;                  /* ops.pause called, vkfd_engine_resume() not yet */
    uint32_t late_timers;               /* bit n: timer n expired meanwhile */
    int64_t quiet_since;                /* nothing has happened since then (virtual ns) */
    bool heard;                         /* something has, since quiet_since was set */
    bool unhurried;                     /* a look is later than in VKFD_WAIT_POLL_MAX_NS */
    VKFDSchedDerived sd;
    uint32_t extra_units;               /* the packet at hand costs these more */
    uint32_t sdma_active;               /* bit n: SDMA queue n is on */
    uint32_t sdma_waiting;              /* bit n: SDMA queue n is parked for a poll */
    /* Of one parked on memory: bytes whose change ends the wait, 0: others do too. */
    uint8_t sdma_wait_len[VKFD_NUM_SDMA_QUEUES];
    union {
        uint32_t dw[AMDGPU_GPU_PAGE_SIZE / 4];
        uint64_t qw[AMDGPU_GPU_PAGE_SIZE / 8];
    } sdma_buf;                         /* what an SDMA packet is moving */
    VKFDTlbEntry tlb[VKFD_NUM_HUB][VKFD_NUM_VMID][VKFD_TLB_SETS];
    uint32_t pkt[VKFD_PM4_MAX_DW];      /* local copy of the packet at hand */
};

/*
 * Set up *e (any previous content is lost) and do a cold reset.
 * ops is copied; all its members are required. Returns false, changing nothing,
 * if a parameter is out of range.
 */
bool vkfd_engine_init(VKFDEngine *e, const VKFDParams *params,
                      const VKFDBusOps *ops, void *opaque);

/*
 * Registers to their reset values, all queues inactive, timers cancelled.
 * cold also clears counters and the list of unmodelled accesses; an FLR or bus
 * reset keeps them. Faults stay armed, what they hold back is gone, hangs end;
 * cold starts their counting again, and @0 of the device acts again. VRAM is not touched; no DMA is done. The BAR addresses are
 * kept: call vkfd_engine_set_bars() when the reset cleared them.
 */
void vkfd_engine_reset(VKFDEngine *e, bool cold);

/*
 * Where the guest mapped our BARs (bus addresses), so that DMA aimed at them is
 * handled inside. valid false: not mapped (no match).
 */
void vkfd_engine_set_bars(VKFDEngine *e, bool valid, uint64_t bar0_addr,
                          uint64_t bar0_size, uint64_t bar2_addr);

/* BAR5. off in bytes; a misaligned or outside one is counted, reads 0. */
uint32_t vkfd_mmio_read(VKFDEngine *e, uint32_t off);
void vkfd_mmio_write(VKFDEngine *e, uint32_t off, uint32_t val);

/* BAR2. size 4 or 8, naturally aligned; anything else is counted and dropped. */
uint64_t vkfd_doorbell_read(VKFDEngine *e, uint32_t off, unsigned size);
void vkfd_doorbell_write(VKFDEngine *e, uint32_t off, uint64_t val,
                         unsigned size);

/* Control page (offset in the page, see pci.h). */
uint32_t vkfd_ctrl_read(VKFDEngine *e, uint32_t off);
void vkfd_ctrl_write(VKFDEngine *e, uint32_t off, uint32_t val);

/* One bounded pass over all queues; calls ops.schedule() if work remains. */
void vkfd_engine_run(VKFDEngine *e);

/* A timer armed by ops.set_timer() expired. */
void vkfd_engine_timer(VKFDEngine *e, unsigned which);

/* The VM runs again: the end of a pause, if there was one. No DMA is done. */
void vkfd_engine_resume(VKFDEngine *e);

/*
 * Messages can reach the guest again (MSI-X enabled, bus mastering on). One that
 * was sent meanwhile went nowhere, so it is sent again if the ring has entries.
 */
void vkfd_engine_irq_path_up(VKFDEngine *e);

/*
 * After the guest state was loaded: check it as hostile data and rebuild what is
 * derived (this schedules a run and arms the timer where needed; no DMA).
 * Returns false, with the engine reset cold, if the state is inconsistent.
 */
bool vkfd_engine_post_load(VKFDEngine *e);

/* Count an event the front end saw (VKFD_CNT_BAD_ACCESS). */
void vkfd_count(VKFDEngine *e, unsigned counter);

/* Name of a counter, for listings; NULL past the end. */
const char *vkfd_counter_name(unsigned counter);

/*
 * Do a->op on len (4 or 8) bytes at host, naturally aligned guest memory, as one
 * atomic access and full barrier. False: others were always faster.
 */
bool vkfd_atomic_apply(void *host, uint32_t len, VKFDAtomic *a);

/* List entry i of unmodelled accesses; false past the end. */
bool vkfd_unmod_get(const VKFDEngine *e, uint32_t i, VKFDUnmod *out);

#endif /* HW_VKFD_ENGINE_H */
