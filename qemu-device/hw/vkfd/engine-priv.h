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

/* VKFDHqd.parked, VKFDSdmaQueue.parked */
#define VKFD_PARKED_NO          0
#define VKFD_PARKED_WAIT        1       /* polled: an unsatisfied wait */
#define VKFD_PARKED_SHORT       2       /* wptr ends inside a packet */
#define VKFD_PARKED_SCHED       3       /* not SDMA: the scheduler has not done the packet yet */
#define VKFD_PARKED_WPTR        3       /* SDMA only: idle, its wptr memory is polled */

/* Largest QUEUE_SIZE field: a ring of 2^30 dwords, 4 GiB. */
#define VKFD_QUEUE_SIZE_MAX     29

/* CP_HQD_PQ_CONTROL.SLOT_BASED_WPTR: 0 dwords; others are not defined. */
#define VKFD_SLOT_BASED_WPTR_AQL        2

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

/* Its packets are AQL. */
static inline bool vkfd_hqd_is_aql(VKFDHqd *q)
{
    return HQD(q, CP_HQD_AQL_CONTROL) ||
           VKFD_GET(HQD(q, CP_HQD_PQ_CONTROL), CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR)
           == VKFD_SLOT_BASED_WPTR_AQL;
}

/*
 * How far the packet at the queue's position has come, for packets that are not
 * done in one go: kept in HQ_STATUS1, which is the firmware's own on the real part
 * too, so that it is saved with the position. It counts only while the position is
 * the one it was noted at. 1..0xffff, 0: not begun.
 */
#define VKFD_PROGRESS__VALID            0x80000000u
#define VKFD_PROGRESS__TAG__SHIFT       16
#define VKFD_PROGRESS__TAG_MASK         0x7fff0000u
#define VKFD_PROGRESS__VALUE_MASK       0x0000ffffu

static inline uint32_t vkfd_hqd_position_tag(VKFDHqd *q)
{
    uint32_t pos = vkfd_hqd_in_ib(q) ? HQD(q, CP_HQD_IB_RPTR)
                                     : HQD(q, CP_HQD_PQ_RPTR);

    return VKFD_PUT(VKFD_PROGRESS__VALID, VKFD_PROGRESS__TAG, pos);
}

static inline uint32_t vkfd_hqd_progress(VKFDHqd *q)
{
    uint32_t v = HQD(q, CP_HQD_HQ_STATUS1);

    return (v & ~VKFD_PROGRESS__VALUE_MASK) == vkfd_hqd_position_tag(q)
           ? v & VKFD_PROGRESS__VALUE_MASK : 0;
}

static inline void vkfd_hqd_set_progress(VKFDHqd *q, uint32_t value)
{
    HQD(q, CP_HQD_HQ_STATUS1) = value ? vkfd_hqd_position_tag(q) | value : 0;
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
    if (parked != VKFD_PARKED_WAIT) {
        e->sd.hqd_seen[hqd].n = 0;      /* the next wait may be for something else */
    }
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
/* A doorbell of the queue: a PM4 queue's write pointer, an AQL queue is to look. */
void vkfd_hqd_doorbell(VKFDEngine *e, unsigned hqd, uint64_t val);
/* A new write pointer, in dwords. */
void vkfd_hqd_set_wptr(VKFDEngine *e, unsigned hqd, uint64_t wptr);
/* Nothing more is executed until the queue is dequeued. */
void vkfd_hqd_stop(VKFDEngine *e, unsigned hqd, VKFDStop why);
/* False: the request was to save, and the MQD could not be written. */
bool vkfd_hqd_dequeue(VKFDEngine *e, unsigned hqd, uint32_t request);
/* SPI_COMPUTE_QUEUE_RESET: a pending dequeue of the selected queue completes. */
void vkfd_hqd_reset_waves(VKFDEngine *e);
/* Write the position to the MQD as a dequeue does. False: it cannot be written. */
bool vkfd_hqd_save(VKFDEngine *e, unsigned hqd);

/* A queue loaded from its MQD by the scheduler. */
typedef struct VKFDHqdLoad {
    uint64_t mqd_addr;          /* VMID 0 */
    uint64_t wptr_addr;         /* in vmid; 0: what the MQD says */
    uint64_t wptr;              /* if there is no such address at all */
    uint64_t index;             /* monotonic rptr of the last save, if it fits */
    uint32_t doorbell;          /* dword index */
    uint32_t vmid;
} VKFDHqdLoad;

/* Load slot hqd, which is not active, from an MQD in host order, and start it. */
void vkfd_hqd_load(VKFDEngine *e, unsigned hqd, const uint32_t *mqd,
                   const VKFDHqdLoad *l);

/* ---- cp.c ---- */

bool vkfd_cp_runnable(VKFDEngine *e, unsigned hqd);
void vkfd_cp_run_all(VKFDEngine *e);
/* Move the position (ring or IB) n dwords on. */
void vkfd_cp_advance(VKFDHqd *q, uint32_t n);
/* Position in the ring, in dwords since its beginning. */
void vkfd_cp_set_rptr(VKFDHqd *q, uint64_t rptr);

/* ---- aql.c ---- */

/* Dwords published and not executed. */
uint64_t vkfd_aql_avail(VKFDHqd *q);
/* Find the position of a queue that is activated. False: it was stopped. */
bool vkfd_aql_activate(VKFDEngine *e, unsigned hqd);
/* Execute one packet, or the end of the IB of one: units used, 0 to stop here. */
unsigned vkfd_aql_step(VKFDEngine *e, unsigned hqd);
unsigned vkfd_aql_ib_done(VKFDEngine *e, unsigned hqd);
/* Put an error code into the queue's inactive signal. False: it has none. */
bool vkfd_aql_tell(VKFDEngine *e, unsigned hqd, uint32_t code);

/* ---- pm4.c ---- */

typedef enum VKFDPm4Result {
    VKFD_PM4_DONE,              /* go on behind the packet */
    VKFD_PM4_JUMP,              /* position already changed (an IB was entered) */
    VKFD_PM4_PARK,              /* wait: the same packet again later */
    VKFD_PM4_AGAIN,             /* not done yet: the same packet again, in its turn */
    VKFD_PM4_STOP,              /* the queue was stopped, reason reported */
} VKFDPm4Result;

/* Where a packet runs. */
typedef struct VKFDPm4Ctx {
    unsigned hqd;
    VKFDHqd *q;
    uint32_t vmid;              /* of the ring, or of the IB in an IB */
    uint32_t body_dw;           /* dwords after the header */
    uint64_t avail;             /* dwords there are in the ring or IB, header included */
} VKFDPm4Ctx;

/* VKFDPm4Op.flags */
#define VKFD_PM4_PRIV           1       /* only in VMID 0: the kernel's rings */
#define VKFD_PM4_RING_ONLY      2       /* not in an IB */

typedef struct VKFDPm4Op {
    const char *name;
    uint32_t min_dw, max_dw;    /* limits of the body */
    uint32_t flags;             /* VKFD_PM4_* */
    /* NULL: known to the real part, not modelled, skipped by its length. */
    VKFDPm4Result (*handler)(VKFDEngine *e, const VKFDPm4Ctx *c,
                             const uint32_t *body);
} VKFDPm4Op;

/* Operation of an opcode, NULL if AMD's gfx9 compute list has none. */
const VKFDPm4Op *vkfd_pm4_op(uint8_t opcode);
void vkfd_pm4_bad(VKFDEngine *e, unsigned hqd, uint32_t header, uint32_t code);
/* Bad-opcode entry of a queue. */
void vkfd_cp_bad_op(VKFDEngine *e, unsigned hqd, uint32_t code);
/* Interrupt entry of a queue, if its pipe has this kind enabled. */
void vkfd_cp_interrupt(VKFDEngine *e, unsigned hqd, uint8_t source,
                       uint32_t enable, uint32_t ctx0);
/*
 * Register access by a packet (dw < VKFD_NUM_REGS): as MMIO, but the compute SH
 * registers are those of the packet's own queue.
 */
uint32_t vkfd_pm4_reg_read(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw);
void vkfd_pm4_reg_write(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw,
                        uint32_t val);

/* May this packet access the register? If not, it was reported, the queue stopped. */
bool vkfd_pm4_reg_ok(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw, bool write);
/* A store that announces what was done before it: len 4 or 8, va aligned to it. */
bool vkfd_q_write_fence(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                        uint64_t data, uint32_t len);
/*
 * Workgroups that cannot be run: count and trace them. False if the device is to
 * refuse them; the caller then reports it and stops its queue.
 */
bool vkfd_dispatch_skip(VKFDEngine *e, unsigned hqd, const uint32_t dim[3],
                        uint64_t code);

/* Error codes of a bad-opcode entry: kfd_dbg_trap_exception_code of the UAPI. */
#define VKFD_EC_PACKET_RESERVED         19
#define VKFD_EC_PACKET_UNSUPPORTED      20

/* ---- wait.c ---- */

/* A WAIT_REG_MEM function of masked values; SDMA has the same. True for 0 and 7. */
bool vkfd_wait_holds(uint32_t func, uint64_t v, uint64_t ref);
/* What a queue is parked on: count addresses of len bytes, or (0) registers. */
typedef struct VKFDWait {
    uint64_t addr;              /* for the trace */
    uint64_t pa[VKFD_WAIT_ADDRS];
    uint8_t count, len;
} VKFDWait;

/* Add an address, which was just read in this VMID, to what is waited for. */
void vkfd_wait_add(VKFDEngine *e, VKFDWait *w, uint32_t vmid, uint64_t va);
/* Park the queue at its packet, or park it again. */
void vkfd_wait_park(VKFDEngine *e, unsigned hqd, const VKFDWait *w);
/* The doorbell of a queue that may be parked. */
void vkfd_wait_rung(VKFDEngine *e, unsigned hqd);
/* The device wrote len bytes at a physical address. */
void vkfd_wait_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len);
/* A register or doorbell was written. */
void vkfd_wait_reg_written(VKFDEngine *e);
/* Arm the timer for the earliest poll that is due, or cancel it. */
void vkfd_wait_rearm(VKFDEngine *e);
void vkfd_wait_timer(VKFDEngine *e);
/*
 * Interval a wait for memory begins with: one that begins in quiet was there before,
 * and has only been loaded again.
 */
uint32_t vkfd_wait_first(VKFDEngine *e, int64_t now);
/* When it is polled next, by its interval; mem: nothing but memory can end it. */
int64_t vkfd_wait_deadline(VKFDEngine *e, int64_t now, uint32_t interval, bool mem);
/* When long waits are looked at next, all of them. */
int64_t vkfd_wait_next(VKFDEngine *e, int64_t now);
/* Not as late as it is armed for: something has happened. */
void vkfd_wait_hurry(VKFDEngine *e);

/*
 * The CPU wrote to the part, or was found to have stored something, or a queue has gone
 * on. Reads do not count: drivers look at registers for want of anything else to do.
 */
static inline void vkfd_heard(VKFDEngine *e)
{
    e->heard = true;
    if (__builtin_expect(e->unhurried, 0)) {
        vkfd_wait_hurry(e);
    }
}

/* ---- seen.c: memory that queues wait for ---- */

#define VKFD_PEEK_PAGES         64      /* a power of two */

/* Pages found in one pass of looks, in which nothing else uses the bus; 0 to begin. */
typedef struct VKFDPeek {
    uint64_t page[VKFD_PEEK_PAGES];
    const uint8_t *host[VKFD_PEEK_PAGES];
} VKFDPeek;

/* The value of 4 or 8 bytes at a physical address, as it lies in memory. */
bool vkfd_peek(VKFDEngine *e, VKFDPeek *p, uint64_t pa, unsigned len, uint64_t *v);

/* Engine 0 and an HQD, or 1 + n and a user queue of SDMA engine n. What was noted: */
VKFDSchedSeen *vkfd_seen(VKFDEngine *e, unsigned engine, unsigned slot);
/* Note it. True: the queue has to evaluate its wait after this. */
bool vkfd_seen_note(VKFDEngine *e, VKFDPeek *p, unsigned engine, unsigned slot);
/* Parked, and found unsatisfied since it was noted? */
bool vkfd_seen_noted(VKFDEngine *e, unsigned engine, unsigned slot);
/* That, and memory is as it was? */
bool vkfd_seen_unchanged(VKFDEngine *e, VKFDPeek *p, unsigned engine, unsigned slot);
/* Page tables, or where the BARs are, change. */
void vkfd_seen_forget(VKFDEngine *e);

/* ---- sched*.c, runlist.c: the scheduler firmware ---- */

void vkfd_sched_reset(VKFDEngine *e);
/* The same while the rest of the part goes on: VMIDs and SDMA queues are let go. */
void vkfd_sched_soft_reset(VKFDEngine *e);
/* Before post_load, when active_mask is rebuilt: is what was loaded consistent? */
bool vkfd_sched_state_ok(VKFDEngine *e);
void vkfd_sched_post_load(VKFDEngine *e);
/* Give slots to queues that want one; before and after the command processors run. */
void vkfd_sched_run(VKFDEngine *e);
void vkfd_sched_timer(VKFDEngine *e);
/* A doorbell no slot matched. False: no queue without a slot has it either. */
bool vkfd_sched_doorbell(VKFDEngine *e, uint32_t dw, uint64_t val);
/* The device wrote len bytes at a physical address. */
void vkfd_sched_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len);
/* Page tables of these VMIDs changed. */
void vkfd_sched_invalidated(VKFDEngine *e, uint32_t vmids);
/* An active slot is about to be dequeued by somebody else than the scheduler. */
void vkfd_sched_hqd_off(VKFDEngine *e, unsigned hqd, uint32_t request);
/* A user queue of an SDMA engine is off, or as good as: not by the scheduler. */
void vkfd_sched_rlc_off(VKFDEngine *e, unsigned engine, unsigned rlc);

/* Handlers of the PM4 table. */
VKFDPm4Result vkfd_sched_set_resources(VKFDEngine *e, const VKFDPm4Ctx *c,
                                       const uint32_t *body);
VKFDPm4Result vkfd_sched_pm4_map_process(VKFDEngine *e, const VKFDPm4Ctx *c,
                                         const uint32_t *body);
VKFDPm4Result vkfd_sched_pm4_map_queues(VKFDEngine *e, const VKFDPm4Ctx *c,
                                        const uint32_t *body);
VKFDPm4Result vkfd_sched_run_list(VKFDEngine *e, const VKFDPm4Ctx *c,
                                  const uint32_t *body);
VKFDPm4Result vkfd_sched_unmap_queues(VKFDEngine *e, const VKFDPm4Ctx *c,
                                      const uint32_t *body);
VKFDPm4Result vkfd_sched_query_status(VKFDEngine *e, const VKFDPm4Ctx *c,
                                      const uint32_t *body);
VKFDPm4Result vkfd_sched_invalidate_tlbs(VKFDEngine *e, const VKFDPm4Ctx *c,
                                         const uint32_t *body);

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

/* ---- sdma.c, sdma-regs.c, sdma-wait.c: the SDMA engines ---- */

uint32_t vkfd_sdma_reg_read(VKFDEngine *e, uint32_t dw);
void vkfd_sdma_reg_write(VKFDEngine *e, uint32_t dw, uint32_t val);
/* Reset values of the registers, all queues off. */
void vkfd_sdma_reset(VKFDEngine *e);
bool vkfd_sdma_state_ok(const VKFDEngine *e);
void vkfd_sdma_post_load(VKFDEngine *e);
/* A doorbell in the range of an engine; false if no queue matches. */
bool vkfd_sdma_doorbell(VKFDEngine *e, unsigned engine, uint32_t dw, uint64_t val);
/* One bounded pass over all queues of both engines. */
void vkfd_sdma_run_all(VKFDEngine *e);
/* What wait.c does for the compute queues. next: -1, or the earliest poll of theirs. */
void vkfd_sdma_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len);
void vkfd_sdma_reg_written(VKFDEngine *e);
int64_t vkfd_sdma_next_poll(VKFDEngine *e, int64_t next);
void vkfd_sdma_timer(VKFDEngine *e, VKFDPeek *peek, int64_t now);
/* No poll is later than this. */
void vkfd_sdma_hurry(VKFDEngine *e, int64_t next);

/* ---- sdma-rlc.c: user queues of the SDMA engines, for the scheduler ---- */

/* What a user queue is doing. */
typedef enum VKFDSdmaState {
    VKFD_SDMA_OFF,              /* no queue is loaded */
    VKFD_SDMA_IDLE,             /* nothing to do: rptr is wptr */
    VKFD_SDMA_BUSY,             /* runs, or will in a moment */
    VKFD_SDMA_PARKED,           /* in an unsatisfied wait, or idle and polls its wptr */
    VKFD_SDMA_HELD,             /* stands still by fault injection */
    VKFD_SDMA_STOPPED,          /* bad packet or fault: until it is unloaded */
} VKFDSdmaState;

/* Is it loaded? By registers alone: also of a state that is not checked yet. */
bool vkfd_sdma_rlc_on(const VKFDEngine *e, unsigned engine, unsigned rlc);
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
 * Before an unload that is asked for by the driver: true if, by fault injection, the
 * queue goes off later, or never; until then it executes nothing.
 */
bool vkfd_sdma_rlc_preempt(VKFDEngine *e, unsigned engine, unsigned rlc);
/* What unload leaves to be done of a queue that is off already. */
void vkfd_sdma_rlc_take(VKFDEngine *e, unsigned engine, unsigned rlc, uint32_t *mqd);
VKFDSdmaState vkfd_sdma_rlc_state(const VKFDEngine *e, unsigned engine,
                                  unsigned rlc);
/*
 * Bytes (4 or 8) of memory that a parked queue waits for to change, at *pa (as
 * vkfd_vm_translate() gives it). 0: it is not parked, is about to look again, or waits
 * for something else too, a register or a number of polls.
 */
unsigned vkfd_sdma_rlc_wait(const VKFDEngine *e, unsigned engine, unsigned rlc,
                            uint64_t *pa);
/* A parked queue evaluates its wait again, at the next run. */
void vkfd_sdma_rlc_look(VKFDEngine *e, unsigned engine, unsigned rlc);

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
/*
 * Read-modify-write at va, a multiple of len, which is 4 or 8. A page that does not
 * exist (PRT) reads 0 and stays so. REFUSED: *f says why, *write which access it was;
 * else *f is NONE.
 */
VKFDRmw vkfd_vm_atomic(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                       uint32_t len, VKFDAtomic *a, VKFDFault *f, bool *write);
/* Physical address of one byte, canonical (own BAR0 becomes VRAM). */
VKFDFault vkfd_vm_translate(VKFDEngine *e, unsigned hub, uint32_t vmid,
                            uint64_t va, bool write, uint64_t *pa, bool *prt);
/* Forget what the TLBs hold of these VMIDs: of the GFX hub, and of the MM hub if mm. */
void vkfd_vm_flush(VKFDEngine *e, uint32_t vmids, bool mm);
/* Latch and report a fault. */
void vkfd_vm_fault(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                   bool write, VKFDFault kind);
/* The same, with the client of the hub that the status register names. */
void vkfd_vm_fault_of(VKFDEngine *e, unsigned hub, uint32_t cid, uint32_t vmid,
                      uint64_t va, bool write, VKFDFault kind);
/* The same for a queue: on failure report it and stop the queue. */
bool vkfd_q_read(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                 void *buf, uint32_t len);
bool vkfd_q_write(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                  const void *buf, uint32_t len);
/* Likewise; REFUSED: the queue stopped. va is a multiple of len, 4 or 8. */
VKFDRmw vkfd_q_atomic(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                      uint32_t len, VKFDAtomic *a);

uint32_t vkfd_hub_read(VKFDEngine *e, uint32_t dw);
void vkfd_hub_write(VKFDEngine *e, uint32_t dw, uint32_t val);

/* ---- engine-mem.c: physical memory ---- */

bool vkfd_pa_read(VKFDEngine *e, uint64_t pa, void *buf, uint32_t len);
bool vkfd_pa_write(VKFDEngine *e, uint64_t pa, const void *buf, uint32_t len);
/*
 * Copy RAM to RAM, VRAM or the bus's, with nothing between. Returns how many of the len
 * bytes were copied: what lies in one piece on both sides; 0 if something is not RAM,
 * or is read and written. No barrier, unlike the other accesses.
 */
uint32_t vkfd_pa_copy(VKFDEngine *e, uint64_t dst, uint64_t src, uint32_t len);
VKFDRmw vkfd_pa_atomic(VKFDEngine *e, uint64_t pa, uint32_t len, VKFDAtomic *a);
/* Own BAR0 as seen from the bus becomes the VRAM offset. */
uint64_t vkfd_pa_canon(const VKFDEngine *e, uint64_t pa);
void vkfd_vram_read(VKFDEngine *e, uint64_t off, void *buf, uint32_t len);
void vkfd_vram_write(VKFDEngine *e, uint64_t off, const void *buf, uint32_t len);

/* ---- atomic.c: what packets name by the texture cache's opcodes, TC_OP_* of pm4.h ---- */

/*
 * The operation of an opcode of seven bits. False: it is none of the integer ones;
 * floating point is not modelled.
 */
bool vkfd_tc_op(uint32_t tc, VKFDAtomicOp *op);
/* Bytes it works on, 4 or 8. */
uint32_t vkfd_tc_op_len(uint32_t tc);
/* Does it return what was there before? */
bool vkfd_tc_op_returns(uint32_t tc);

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
/* hqd: an HQD, or VKFD_INJECT_SDMA(id), which writes through the MM hub. */
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

/* ---- inject-sdma.c: the same for SDMA queues, by their number 0..19 ---- */

VKFDInjectResult vkfd_inject_sdma_fetch(VKFDEngine *e, unsigned id,
                                        uint32_t *header);
/* As vkfd_inject_preempt(), for RB_ENABLE going to 0. */
VKFDInjectResult vkfd_inject_sdma_preempt(VKFDEngine *e, unsigned id);
/* As vkfd_inject_hqd_off(). */
void vkfd_inject_sdma_off(VKFDEngine *e, unsigned id);
/* Number of an SDMA queue where queues are counted through: VKFDInjectHeld.hqd. */
#define VKFD_INJECT_SDMA(id)    (VKFD_NUM_HQD + (id))

/* ---- inject-held.c ---- */

/* A queue goes off: it stands still no longer, its late writes are done. */
void vkfd_inject_hqd_off(VKFDEngine *e, unsigned hqd);
/* Late writes of these VMIDs are done before an invalidation on their hub is. */
void vkfd_inject_invalidate(VKFDEngine *e, unsigned hub, uint32_t vmids);
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
