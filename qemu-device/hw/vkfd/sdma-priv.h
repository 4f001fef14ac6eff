/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the SDMA engines share with each other only.
 *
 * A queue is named by id, engine * VKFD_SDMA_QUEUES + block; blocks are GFX, PAGE and
 * RLC0..7 (regs_sdma.h). They differ in their ring_id and in that an RLC queue runs
 * only while its doorbell, or the polling of its wptr memory, is enabled.
 *
 * All of a queue's position is in its registers: RB_RPTR and RB_WPTR; in an IB, while
 * IB_SIZE is not 0, IB_BASE, IB_RPTR and IB_CNTL.CMD_VMID, and RB_RPTR is at the
 * INDIRECT packet; SKIP_CNTL, dwords to be skipped; and how far a packet got that takes
 * more than one turn: MIDCMD_DATA0, 1, with MIDCMD_CNTL.DATA_VALID.
 */
#ifndef HW_VKFD_SDMA_PRIV_H
#define HW_VKFD_SDMA_PRIV_H

#include "engine-priv.h"

#include <vkfd/regs_sdma.h>
#include <vkfd/sdma.h>

_Static_assert(VKFD_NUM_SDMA_QUEUES <= 32, "SDMA queues are bits of a uint32_t");
_Static_assert(VKFD_STOP_MAX <= 8, "CONTEXT_STATUS.EXCEPTION has three bits");

/* VKFDSdmaQueue.held */
#define VKFD_SDMA_HELD_STALLED          0x01    /* fetch:delay or fetch:hang */
#define VKFD_SDMA_HELD_PASSED           0x02    /* the packet at hand was counted already */
#define VKFD_SDMA_HELD_DEQUEUING        0x04    /* RB_ENABLE is 0, the queue is still on */
#define VKFD_SDMA_HELD_HUNG             0x08    /* ... and will not go off by itself */
#define VKFD_SDMA_HELD_TWICE            0x10    /* the packet at hand comes again */
#define VKFD_SDMA_HELD_ALL              0x1f

/* Most dwords a handler sees: the sub-window copy without its header. */
#define VKFD_SDMA_BODY_DW               (SDMA_PKT_COPY_LINEAR_SUBWIN_DW - 1)

typedef enum VKFDSdmaResult {
    VKFD_SDMA_DONE,             /* go on behind the packet */
    VKFD_SDMA_JUMP,             /* position already changed (an IB was entered) */
    VKFD_SDMA_MORE,             /* not finished: again, from its progress */
    VKFD_SDMA_PARK,             /* wait: the same packet again later */
    VKFD_SDMA_STOP,             /* the queue was stopped, reason reported */
} VKFDSdmaResult;

typedef struct VKFDSdmaOp VKFDSdmaOp;

/* Where a packet runs. */
typedef struct VKFDSdmaCtx {
    unsigned id;
    VKFDSdmaQueue *q;
    const VKFDSdmaOp *op;
    uint32_t header;
    uint32_t vmid;              /* of the ring, or of the IB in an IB */
    uint64_t avail;             /* dwords from the packet on, in its ring or IB */
    uint32_t dw;                /* of the packet, header included */
    bool in_ib;
} VKFDSdmaCtx;

struct VKFDSdmaOp {
    const char *name;
    uint8_t op, sub_op;
    uint8_t dw;                 /* fixed dwords, header included */
    bool privileged;            /* VMID 0 only */
    uint32_t header;            /* bits the header may have besides op and sub_op */
    const uint32_t *reserved;   /* bits of DW1.. that have to be 0; dw - 1 of them */
    /* NULL: known to the real part, not modelled, skipped and counted. */
    VKFDSdmaResult (*handler)(VKFDEngine *e, const VKFDSdmaCtx *c,
                              const uint32_t *body);
};

/* ---- registers of a queue ---- */

static inline uint32_t vkfd_sdma_index(unsigned id, uint32_t dw)
{
    return dw + id / VKFD_SDMA_QUEUES * VKFD_SDMA_ENGINE_STRIDE +
           id % VKFD_SDMA_QUEUES * VKFD_SDMA_QUEUE_STRIDE;
}

/* Register NAME of queue id (an lvalue, if e is not const). */
#define SDMA(e, id, name)       ((e)->regs[vkfd_sdma_index((id), mmSDMA0_GFX_##name)])
/* Register NAME of the engine of queue id. */
#define SDMA_ENG(e, id, name) \
    ((e)->regs[mmSDMA0_##name + (id) / VKFD_SDMA_QUEUES * VKFD_SDMA_ENGINE_STRIDE])

static inline bool vkfd_sdma_active(const VKFDEngine *e, unsigned id)
{
    return e->sdma_active >> id & 1;
}

static inline uint64_t vkfd_sdma_rptr(const VKFDEngine *e, unsigned id)
{
    return vkfd_pair(SDMA(e, id, RB_RPTR) & ~3u, SDMA(e, id, RB_RPTR_HI));
}

static inline uint64_t vkfd_sdma_wptr(const VKFDEngine *e, unsigned id)
{
    return vkfd_pair(SDMA(e, id, RB_WPTR) & ~3u, SDMA(e, id, RB_WPTR_HI));
}

/* Bytes in the ring. */
static inline uint64_t vkfd_sdma_ring_size(const VKFDEngine *e, unsigned id)
{
    return 4ull << VKFD_GET(SDMA(e, id, RB_CNTL), SDMA0_GFX_RB_CNTL__RB_SIZE);
}

static inline uint32_t vkfd_sdma_vmid(const VKFDEngine *e, unsigned id)
{
    return VKFD_GET(SDMA(e, id, RB_CNTL), SDMA0_GFX_RB_CNTL__RB_VMID);
}

static inline uint32_t vkfd_sdma_ib_size(const VKFDEngine *e, unsigned id)
{
    return SDMA(e, id, IB_SIZE) & SDMA0_GFX_IB_SIZE__SIZE_MASK;
}

static inline bool vkfd_sdma_in_ib(const VKFDEngine *e, unsigned id)
{
    return vkfd_sdma_ib_size(e, id) != 0;
}

static inline bool vkfd_sdma_polls_wptr(const VKFDEngine *e, unsigned id)
{
    return (SDMA(e, id, RB_WPTR_POLL_CNTL) &
            (SDMA0_GFX_RB_WPTR_POLL_CNTL__ENABLE_MASK |
             SDMA0_GFX_RB_WPTR_POLL_CNTL__F32_POLL_ENABLE_MASK)) &&
           (SDMA(e, id, RB_WPTR_POLL_ADDR_LO) || SDMA(e, id, RB_WPTR_POLL_ADDR_HI));
}

static inline bool vkfd_sdma_is_rlc(unsigned id)
{
    return id % VKFD_SDMA_QUEUES >= VKFD_SDMA_BLOCK_RLC0;
}

/* Is it one the engine looks at while it is on? */
static inline bool vkfd_sdma_selectable(const VKFDEngine *e, unsigned id)
{
    return !vkfd_sdma_is_rlc(id) || vkfd_sdma_polls_wptr(e, id) ||
           (SDMA(e, id, DOORBELL) & SDMA0_GFX_DOORBELL__ENABLE_MASK);
}

/* A driver's queue that is off for good is left with RB_ENABLE and no doorbell. */
static inline bool vkfd_sdma_loaded(const VKFDEngine *e, unsigned id)
{
    return vkfd_sdma_active(e, id) && vkfd_sdma_selectable(e, id);
}

static inline bool vkfd_sdma_midcmd(const VKFDEngine *e, unsigned id)
{
    return SDMA(e, id, MIDCMD_CNTL) & SDMA0_GFX_MIDCMD_CNTL__DATA_VALID_MASK;
}

/* How far the packet at hand got: 0, 0 when it begins. */
static inline void vkfd_sdma_progress(const VKFDEngine *e, unsigned id,
                                      uint32_t *p0, uint32_t *p1)
{
    bool valid = vkfd_sdma_midcmd(e, id);

    *p0 = valid ? SDMA(e, id, MIDCMD_DATA0) : 0;
    *p1 = valid ? SDMA(e, id, MIDCMD_DATA1) : 0;
}

static inline void vkfd_sdma_set_progress(VKFDEngine *e, unsigned id, uint32_t p0,
                                          uint32_t p1)
{
    SDMA(e, id, MIDCMD_DATA0) = p0;
    SDMA(e, id, MIDCMD_DATA1) = p1;
    SDMA(e, id, MIDCMD_CNTL) |= SDMA0_GFX_MIDCMD_CNTL__DATA_VALID_MASK;
}

/* ---- sdma.c: queues ---- */

/* on and parked change only here, so that the masks of the engine say the same. */
static inline void vkfd_sdma_set_active(VKFDEngine *e, unsigned id, bool active)
{
    e->sdma_active = (e->sdma_active & ~(1u << id)) | (uint32_t)active << id;
}

static inline void vkfd_sdma_set_parked(VKFDEngine *e, unsigned id, uint8_t parked)
{
    bool polled = parked == VKFD_PARKED_WAIT || parked == VKFD_PARKED_WPTR;
    unsigned block = id % VKFD_SDMA_QUEUES;

    e->sdma[id].parked = parked;
    e->sdma[id].poll_now = 0;
    e->sdma_waiting = (e->sdma_waiting & ~(1u << id)) | (uint32_t)polled << id;
    if (!polled && block >= VKFD_SDMA_BLOCK_RLC0) {
        e->sd.rlc_seen[id / VKFD_SDMA_QUEUES][block - VKFD_SDMA_BLOCK_RLC0].n = 0;
    }
}

/* Lowest queue of a mask, which it leaves; the mask is not 0. */
static inline unsigned vkfd_sdma_mask_next(uint32_t *mask)
{
    unsigned id = __builtin_ctz(*mask);

    *mask &= *mask - 1;
    return id;
}

bool vkfd_sdma_runnable(const VKFDEngine *e, unsigned id);
/* Has it nothing to do and nothing in its way? */
bool vkfd_sdma_idle(const VKFDEngine *e, unsigned id);
/* RB_ENABLE goes to 1: the queue goes on where its registers say. */
void vkfd_sdma_enable(VKFDEngine *e, unsigned id);
/* The queue is off, at once; its registers tell where it was. */
void vkfd_sdma_off(VKFDEngine *e, unsigned id);
/* The scheduler may have loaded it: it is told if somebody else took it off. */
void vkfd_sdma_tell_sched(VKFDEngine *e, unsigned id);
/* Go on at RB_RPTR anew: what was begun there, an IB, a skip, is forgotten. */
void vkfd_sdma_restart(VKFDEngine *e, unsigned id);
void vkfd_sdma_set_wptr(VKFDEngine *e, unsigned id, uint64_t wptr);
/* Read wptr from memory; false if it faulted. */
bool vkfd_sdma_read_wptr(VKFDEngine *e, unsigned id, uint64_t *wptr);
/* Nothing more is executed until the queue is off. */
void vkfd_sdma_stop(VKFDEngine *e, unsigned id, VKFDStop why);

/* Memory of a VMID through the MM hub: on failure the queue stops, reported. */
bool vkfd_sdma_read(VKFDEngine *e, unsigned id, uint32_t vmid, uint64_t va,
                    void *buf, uint32_t len);
bool vkfd_sdma_write(VKFDEngine *e, unsigned id, uint32_t vmid, uint64_t va,
                     const void *buf, uint32_t len);
/* Report what an access came to: false and the queue stopped, if it is a fault. */
bool vkfd_sdma_access(VKFDEngine *e, unsigned id, uint32_t vmid, uint64_t va,
                      bool write, VKFDFault f);
/* n dwords of the packet stream, off behind the packet's header, as they lie there. */
bool vkfd_sdma_fetch(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t off,
                     uint32_t *dst, uint32_t n);

/* ---- sdma-pkt.c: packets ---- */

const VKFDSdmaOp *vkfd_sdma_op(uint32_t header);
/* Dwords of the packet, from its header and the fixed part of its body. */
uint32_t vkfd_sdma_packet_dw(const VKFDSdmaOp *op, uint32_t header,
                             const uint32_t *body);
/* Report and stop: a packet that is none (VKFD_EC_PACKET_*), a register not allowed. */
VKFDSdmaResult vkfd_sdma_bad(VKFDEngine *e, const VKFDSdmaCtx *c, uint32_t code);
VKFDSdmaResult vkfd_sdma_priv(VKFDEngine *e, const VKFDSdmaCtx *c, uint32_t dw);
/* An interrupt entry of the queue. */
void vkfd_sdma_interrupt(VKFDEngine *e, unsigned id, uint8_t source, uint32_t ctx0,
                         uint32_t ctx1);

/* ---- sdma-move.c: packets that move or make data, a slice at a time ---- */

VKFDSdmaResult vkfd_sdma_copy_linear(VKFDEngine *e, const VKFDSdmaCtx *c,
                                     const uint32_t *body);
VKFDSdmaResult vkfd_sdma_copy_subwin(VKFDEngine *e, const VKFDSdmaCtx *c,
                                     const uint32_t *body);
VKFDSdmaResult vkfd_sdma_write_linear(VKFDEngine *e, const VKFDSdmaCtx *c,
                                      const uint32_t *body);
VKFDSdmaResult vkfd_sdma_const_fill(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body);
VKFDSdmaResult vkfd_sdma_fill_multi(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body);
VKFDSdmaResult vkfd_sdma_ptepde_gen(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body);

/* ---- sdma-wait.c: packets that wait, and what ends a wait ---- */

VKFDSdmaResult vkfd_sdma_poll_regmem(VKFDEngine *e, const VKFDSdmaCtx *c,
                                     const uint32_t *body);
/* Wait for a change of the aligned len (4, 8) bytes of memory at va, just read. */
VKFDSdmaResult vkfd_sdma_park_mem(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t va,
                                  unsigned len);
/* The queue is idle and polls its wptr memory. */
void vkfd_sdma_park_wptr(VKFDEngine *e, unsigned id);

#endif /* HW_VKFD_SDMA_PRIV_H */
