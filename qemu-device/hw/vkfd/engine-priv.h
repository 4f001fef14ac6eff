/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine's own files share. Not for the front end.
 */
#ifndef HW_VKFD_ENGINE_PRIV_H
#define HW_VKFD_ENGINE_PRIV_H

#include <string.h>

#include "engine.h"
#include <vkfd/ih.h>
#include <vkfd/regs_gc.h>

/* Field of a register or packet dword, by AMD's REG__FIELD name. */
#define VKFD_GET(v, field)      (((v) & field##_MASK) >> field##__SHIFT)
#define VKFD_PUT(v, field, x) \
    (((v) & ~(uint32_t)field##_MASK) | \
     (((uint32_t)(x) << field##__SHIFT) & field##_MASK))

#define VKFD_HUB_GFX            0
#define VKFD_HUB_MM             1

_Static_assert(VKFD_NUM_HQD == 64, "slots are bits of a uint64_t");

/* VKFDHqd.parked */
#define VKFD_PARKED_NO          0
#define VKFD_PARKED_WAIT        1       /* in an unsatisfied WAIT_REG_MEM */
#define VKFD_PARKED_SHORT       2       /* wptr ends inside a packet */

/* Largest QUEUE_SIZE field: a ring of 2^30 dwords, 4 GiB. */
#define VKFD_QUEUE_SIZE_MAX     29

/* ---- byte order of guest memory ---- */

static inline uint32_t vkfd_le32(uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(v);
#else
    return v;
#endif
}

static inline uint64_t vkfd_le64(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(v);
#else
    return v;
#endif
}

/* ---- engine.c ---- */

void vkfd_trace(VKFDEngine *e, VKFDTraceId id, uint64_t a0, uint64_t a1,
                uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
/* Count and log nonsense the guest programmed. */
void vkfd_guest_error(VKFDEngine *e, const char *msg);
/* Ask for a run, at most one request outstanding. */
void vkfd_kick(VKFDEngine *e);

/* ---- regs.c: the one read and the one write hook of every register ---- */

uint32_t vkfd_reg_read(VKFDEngine *e, uint32_t dw);
void vkfd_reg_write(VKFDEngine *e, uint32_t dw, uint32_t val);
/* May a packet of a queue outside VMID 0 touch it? */
bool vkfd_reg_user_ok(uint32_t dw, bool write);
void vkfd_regs_reset(VKFDEngine *e);

/* ---- nbio.c ---- */

uint32_t vkfd_nbio_read(VKFDEngine *e, uint32_t dw);
void vkfd_nbio_write(VKFDEngine *e, uint32_t dw, uint32_t val);

/* ---- grbm.c: bank selection, CP and RLC control ---- */

/* HQD selected by GRBM_GFX_CNTL, or -1 when its ME has none. */
int vkfd_grbm_hqd(const VKFDEngine *e);
uint32_t vkfd_grbm_read(VKFDEngine *e, uint32_t dw);
void vkfd_grbm_write(VKFDEngine *e, uint32_t dw, uint32_t val);
/* Is the micro engine of this HQD halted? */
bool vkfd_grbm_halted(const VKFDEngine *e, unsigned hqd);
/* Interrupt enable register of the HQD's pipe. */
uint32_t vkfd_grbm_int_cntl(const VKFDEngine *e, unsigned hqd);

/* ---- hqd.c ---- */

static inline uint32_t *vkfd_hqd_reg(VKFDHqd *q, uint32_t dw)
{
    return &q->regs[dw - mmCP_MQD_BASE_ADDR];
}

/* Read register NAME of a queue (an lvalue too). */
#define HQD(q, name)            (*vkfd_hqd_reg((q), mm##name))

static inline uint64_t vkfd_pair(uint32_t lo, uint32_t hi)
{
    return (uint64_t)hi << 32 | lo;
}

static inline bool vkfd_hqd_active(const VKFDHqd *q)
{
    return q->regs[mmCP_HQD_ACTIVE - mmCP_MQD_BASE_ADDR] &
           CP_HQD_ACTIVE__ACTIVE_MASK;
}

static inline uint64_t vkfd_hqd_wptr(VKFDHqd *q)
{
    return vkfd_pair(HQD(q, CP_HQD_PQ_WPTR_LO), HQD(q, CP_HQD_PQ_WPTR_HI));
}

/* Dwords in the ring, a power of two whatever the guest wrote. */
static inline uint64_t vkfd_hqd_ring_dw(VKFDHqd *q)
{
    uint32_t n = VKFD_GET(HQD(q, CP_HQD_PQ_CONTROL), CP_HQD_PQ_CONTROL__QUEUE_SIZE);

    return 2ull << (n > VKFD_QUEUE_SIZE_MAX ? VKFD_QUEUE_SIZE_MAX : n);
}

static inline uint32_t vkfd_hqd_vmid(VKFDHqd *q)
{
    return VKFD_GET(HQD(q, CP_HQD_VMID), CP_HQD_VMID__VMID);
}

static inline bool vkfd_hqd_in_ib(VKFDHqd *q)
{
    return HQD(q, CP_HQD_IB_CONTROL) & CP_HQD_IB_CONTROL__PROCESSING_IB_MASK;
}

/*
 * ACTIVE and parked change only here, so that the masks of the engine, which
 * spare a doorbell or a store the look at 64 slots, say the same.
 */
static inline void vkfd_hqd_set_active(VKFDEngine *e, unsigned hqd, bool active)
{
    HQD(&e->hqd[hqd], CP_HQD_ACTIVE) = active ? CP_HQD_ACTIVE__ACTIVE_MASK : 0;
    e->active_mask = (e->active_mask & ~(1ull << hqd)) |
                     (uint64_t)active << hqd;
}

static inline void vkfd_hqd_set_parked(VKFDEngine *e, unsigned hqd,
                                       uint8_t parked)
{
    e->hqd[hqd].parked = parked;
    e->waiting_mask = (e->waiting_mask & ~(1ull << hqd)) |
                      (uint64_t)(parked == VKFD_PARKED_WAIT) << hqd;
}

/* Lowest slot of a mask, which it leaves; the mask is not 0. */
static inline unsigned vkfd_mask_next(uint64_t *mask)
{
    unsigned hqd = __builtin_ctzll(*mask);

    *mask &= *mask - 1;
    return hqd;
}

uint8_t vkfd_hqd_ring_id(unsigned hqd);
uint32_t vkfd_hqd_read(VKFDEngine *e, uint32_t dw);
void vkfd_hqd_write(VKFDEngine *e, uint32_t dw, uint32_t val);
/* CP_PQ_WPTR_POLL_CNTL1: read wptr of the queues in mask from memory, once. */
void vkfd_hqd_poll_wptr(VKFDEngine *e, uint32_t mask);
/* A new write pointer from a doorbell or from memory. */
void vkfd_hqd_set_wptr(VKFDEngine *e, unsigned hqd, uint64_t wptr);
/* Nothing more is executed until the queue is dequeued. */
void vkfd_hqd_stop(VKFDEngine *e, unsigned hqd, VKFDStop why);
void vkfd_hqd_dequeue(VKFDEngine *e, unsigned hqd, uint32_t request);

/* ---- cp.c ---- */

bool vkfd_cp_runnable(VKFDEngine *e, unsigned hqd);
void vkfd_cp_run_all(VKFDEngine *e);

/* ---- pm4.c ---- */

typedef enum VKFDPm4Result {
    VKFD_PM4_DONE,              /* go on behind the packet */
    VKFD_PM4_JUMP,              /* position already changed (an IB was entered) */
    VKFD_PM4_PARK,              /* wait: the same packet again later */
    VKFD_PM4_STOP,              /* the queue was stopped, reason reported */
} VKFDPm4Result;

/* Where a packet runs. */
typedef struct VKFDPm4Ctx {
    unsigned hqd;
    VKFDHqd *q;
    uint32_t vmid;              /* of the ring, or of the IB in an IB */
    uint32_t body_dw;           /* dwords after the header */
} VKFDPm4Ctx;

typedef struct VKFDPm4Op {
    const char *name;
    uint32_t min_dw, max_dw;    /* limits of the body */
    /* NULL: known to the real part, not modelled, skipped by its length. */
    VKFDPm4Result (*handler)(VKFDEngine *e, const VKFDPm4Ctx *c,
                             const uint32_t *body);
} VKFDPm4Op;

/* Operation of an opcode, NULL if AMD's gfx9 compute list has none. */
const VKFDPm4Op *vkfd_pm4_op(uint8_t opcode);
void vkfd_pm4_bad(VKFDEngine *e, unsigned hqd, uint32_t header, uint32_t code);
/* A user queue touched a register it may not: report and stop it. */
void vkfd_pm4_priv(VKFDEngine *e, unsigned hqd, uint32_t dw);
/*
 * Register access by a packet (dw < VKFD_NUM_REGS): as MMIO, but the compute SH
 * registers are those of the packet's own queue.
 */
uint32_t vkfd_pm4_reg_read(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw);
void vkfd_pm4_reg_write(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw,
                        uint32_t val);

/* Error codes of a bad-opcode entry: kfd_dbg_trap_exception_code of the UAPI. */
#define VKFD_EC_PACKET_RESERVED         19
#define VKFD_EC_PACKET_UNSUPPORTED      20

/* ---- wait.c ---- */

VKFDPm4Result vkfd_wait_reg_mem(VKFDEngine *e, const VKFDPm4Ctx *c,
                                const uint32_t *body);
/* The device wrote len bytes at a physical address. */
void vkfd_wait_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len);
/* A register or doorbell was written. */
void vkfd_wait_reg_written(VKFDEngine *e);
/* Arm the timer for the earliest poll that is due, or cancel it. */
void vkfd_wait_rearm(VKFDEngine *e);
void vkfd_wait_timer(VKFDEngine *e);

/* ---- doorbell.c ---- */

/* A doorbell of the compute engines arrives that was held back. */
void vkfd_doorbell_deliver(VKFDEngine *e, uint32_t dw, uint64_t val);

/* ---- ih.c ---- */

typedef struct VKFDIv {
    uint8_t client, source, ring_id, vmid;
    bool mm_hub;
    uint32_t ctx[4];
} VKFDIv;

/* Write an entry, then wptr, then interrupt, in this order. */
void vkfd_ih_push(VKFDEngine *e, const VKFDIv *iv);
uint32_t vkfd_ih_read(VKFDEngine *e, uint32_t dw);
void vkfd_ih_write(VKFDEngine *e, uint32_t dw, uint32_t val);
void vkfd_ih_set_rptr(VKFDEngine *e, uint32_t rptr, bool doorbell);
/*
 * The parts of it, for entries that come by another way. put: write an entry of
 * eight dwords in host order, wptr, message. restamp: a new time stamp.
 * write_back: the word in memory, if it is enabled. send: the message, always.
 */
void vkfd_ih_put(VKFDEngine *e, const uint32_t *entry);
void vkfd_ih_restamp(VKFDEngine *e, uint32_t *entry);
void vkfd_ih_write_back(VKFDEngine *e, uint32_t wptr);
void vkfd_ih_send(VKFDEngine *e);
/* What was sent may have been lost: send again if there is something to read. */
void vkfd_ih_resend(VKFDEngine *e);

/* ---- sdma-rlc.c: user queues of the SDMA engines, for the scheduler ---- */

/* What a user queue is doing. */
typedef enum VKFDSdmaState {
    VKFD_SDMA_OFF,              /* no queue is loaded */
    VKFD_SDMA_IDLE,             /* nothing to do: rptr is wptr */
    VKFD_SDMA_BUSY,             /* runs, or will in a moment */
    VKFD_SDMA_PARKED,           /* in an unsatisfied wait */
    VKFD_SDMA_STOPPED,          /* bad packet or fault: until it is unloaded */
} VKFDSdmaState;

/* Lowest RLC queue of an engine (0, 1) that is not loaded, or -1. */
int vkfd_sdma_rlc_free(const VKFDEngine *e, unsigned engine);
/*
 * Load RLC queue rlc (0..7) and start it. mqd: V9_SDMA_MQD_DW dwords in host order.
 * The queue runs in vmid, whatever RB_CNTL says, with the doorbell of
 * DOORBELL_OFFSET enabled. Its write pointer is read, in vmid, from the poll address
 * (dwords 28, 29) if that is not 0: a scheduler puts that of MAP_QUEUES there, since
 * drivers leave these dwords 0. If it cannot be read the queue is loaded and stops
 * with a VM fault. False, with nothing changed: engine, rlc or vmid is out of range,
 * or the queue is loaded already.
 */
bool vkfd_sdma_rlc_load(VKFDEngine *e, unsigned engine, unsigned rlc,
                        uint32_t vmid, const uint32_t *mqd);
/*
 * Take a queue off in whatever state, at once, and write its registers into mqd
 * (same form), so that a later load goes on exactly there, in mid-IB and mid-copy
 * too. mqd NULL: the state is dropped. False: nothing was loaded.
 */
bool vkfd_sdma_rlc_unload(VKFDEngine *e, unsigned engine, unsigned rlc,
                          uint32_t *mqd);
/*
 * State of a queue. If it is parked on memory *wait_pa is the physical address (as
 * vkfd_vm_translate() gives it), else UINT64_MAX. wait_pa may be NULL.
 */
VKFDSdmaState vkfd_sdma_rlc_state(const VKFDEngine *e, unsigned engine,
                                  unsigned rlc, uint64_t *wait_pa);

/* ---- gpuvm.c ---- */

typedef enum VKFDFault {
    VKFD_FAULT_NONE,
    VKFD_FAULT_RANGE,           /* no context, or outside its range */
    VKFD_FAULT_PDE,             /* directory entry not valid */
    VKFD_FAULT_PTE,             /* page not present */
    VKFD_FAULT_READ,            /* no read permission */
    VKFD_FAULT_WRITE,           /* no write permission */
    VKFD_FAULT_FORMAT,          /* a table shape that is not modelled */
    VKFD_FAULT_DMA,             /* the bus refused the access, or VRAM ends before */
} VKFDFault;

/*
 * Access guest memory through a hub and VMID. On failure the bytes before the
 * failing page may have been transferred; *fault_va names the page.
 */
VKFDFault vkfd_vm_read(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                       void *buf, uint32_t len, uint64_t *fault_va);
VKFDFault vkfd_vm_write(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                        const void *buf, uint32_t len, uint64_t *fault_va);
/* Physical address of one byte, canonical (own BAR0 becomes VRAM). */
VKFDFault vkfd_vm_translate(VKFDEngine *e, unsigned hub, uint32_t vmid,
                            uint64_t va, bool write, uint64_t *pa, bool *prt);
/* Latch and report a fault. */
void vkfd_vm_fault(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                   bool write, VKFDFault kind);
/* The same for a queue: on failure report it and stop the queue. */
bool vkfd_q_read(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                 void *buf, uint32_t len);
bool vkfd_q_write(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                  const void *buf, uint32_t len);

uint32_t vkfd_hub_read(VKFDEngine *e, uint32_t dw);
void vkfd_hub_write(VKFDEngine *e, uint32_t dw, uint32_t val);

/* ---- engine-mem.c: physical memory ---- */

bool vkfd_pa_read(VKFDEngine *e, uint64_t pa, void *buf, uint32_t len);
bool vkfd_pa_write(VKFDEngine *e, uint64_t pa, const void *buf, uint32_t len);
/* Own BAR0 as seen from the bus becomes the VRAM offset. */
uint64_t vkfd_pa_canon(const VKFDEngine *e, uint64_t pa);
void vkfd_vram_read(VKFDEngine *e, uint64_t off, void *buf, uint32_t len);
void vkfd_vram_write(VKFDEngine *e, uint64_t off, const void *buf, uint32_t len);

/* ---- inject.c: one function a point, called if vkfd_inject_on() ---- */

typedef enum VKFDInjectResult {
    VKFD_INJECT_GO,             /* as usual */
    VKFD_INJECT_SKIP,           /* not, or not now */
    VKFD_INJECT_TWICE,
    VKFD_INJECT_STALL,          /* the queue stands still (fetch only) */
} VKFDInjectResult;

static inline bool vkfd_inject_on(const VKFDEngine *e, VKFDInjectPoint point)
{
    return __builtin_expect(e->inject_hooks & 1u << point, 0);
}

/* The device answers nothing: reads give all ones, writes go nowhere. */
static inline bool vkfd_inject_gone(const VKFDEngine *e)
{
    return __builtin_expect(e->inject.device == VKFD_INJECT_DEVICE_GONE, 0);
}

/* Pointed-to values may be corrupted on return. Values in host order. */
VKFDInjectResult vkfd_inject_doorbell(VKFDEngine *e, uint32_t dw, uint64_t *val);
VKFDInjectResult vkfd_inject_fetch(VKFDEngine *e, unsigned hqd, uint32_t *header);
VKFDInjectResult vkfd_inject_slot(VKFDEngine *e, unsigned hqd, uint32_t vmid,
                                  uint64_t va, uint64_t *data, uint32_t len);
VKFDInjectResult vkfd_inject_ih_entry(VKFDEngine *e, uint32_t *entry);
VKFDInjectResult vkfd_inject_ih_wptr(VKFDEngine *e, uint32_t *wptr);
VKFDInjectResult vkfd_inject_msix(VKFDEngine *e);
/* False: the walk finds no page. Else *corrupt, if any, changes the leaf entry. */
bool vkfd_inject_walk(VKFDEngine *e, const VKFDInjectSpec **corrupt);
/* True: the request is lost, or completes later. Also where the device hangs. */
bool vkfd_inject_preempt(VKFDEngine *e, unsigned hqd, uint32_t request);
/* v as a corrupt spec changes it. */
uint64_t vkfd_inject_value(const VKFDInjectSpec *s, uint64_t v);

/* ---- inject-held.c ---- */

/* A queue goes off: it stands still no longer, its late writes are done. */
void vkfd_inject_hqd_off(VKFDEngine *e, unsigned hqd);
/* Late writes of these VMIDs are done before an invalidation is. */
void vkfd_inject_invalidate(VKFDEngine *e, uint32_t vmids);
/* Soft reset of the front end: a device that stalls or hangs works again. */
void vkfd_inject_cp_reset(VKFDEngine *e);
void vkfd_inject_timer(VKFDEngine *e);

/* ---- inject-arm.c ---- */

void vkfd_inject_reset(VKFDEngine *e, bool cold);
bool vkfd_inject_state_ok(const VKFDEngine *e);
/* After active_mask is rebuilt. */
void vkfd_inject_post_load(VKFDEngine *e);
uint32_t vkfd_inject_ctrl_read(VKFDEngine *e, uint32_t off);
void vkfd_inject_ctrl_write(VKFDEngine *e, uint32_t off, uint32_t val);

/* ---- clock.c ---- */

/* Ticks of the 100 MHz GPU clock. */
uint64_t vkfd_clock_now(VKFDEngine *e);
uint64_t vkfd_clock_timestamp(VKFDEngine *e);
void vkfd_clock_capture(VKFDEngine *e, uint32_t val);

#endif /* HW_VKFD_ENGINE_PRIV_H */
