/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SDMA packets that wait. As in wait.c a wait that does not hold parks its queue, with
 * the packet at its position; it is polled again when the device itself writes that
 * memory (or any register, for a wait on one), and by timer with back-off for what the
 * CPU stores. An idle queue that polls its wptr memory waits in the same way.
 */
#include "sdma-priv.h"

#include <vkfd/pm4.h>

/* Is this poll the one the timer was set for? */
static bool timer_poll(VKFDEngine *e, const VKFDSdmaQueue *q)
{
    return q->parked && (int64_t)e->ops.now_ns(e->opaque) >= q->wait_deadline;
}

/* len: bytes of memory that nothing but a change of ends the wait; else 0. */
static void park(VKFDEngine *e, unsigned id, uint8_t how, bool mem, uint64_t pa,
                 uint64_t addr, unsigned len)
{
    VKFDSdmaQueue *q = &e->sdma[id];
    int64_t now = e->ops.now_ns(e->opaque);
    bool again = q->parked == how;

    if (!again) {
        q->wait_interval = len ? vkfd_wait_first(e, now) : VKFD_WAIT_POLL_MIN_NS;
        e->counters[VKFD_CNT_PARKED] += how == VKFD_PARKED_WAIT;
    } else if (!timer_poll(e, q)) {
        /* The device woke it: that says nothing about how soon the CPU will. */
    } else if (q->wait_interval < VKFD_WAIT_POLL_MAX_NS / 2) {
        q->wait_interval *= 2;
    } else {
        q->wait_interval = VKFD_WAIT_POLL_MAX_NS;
    }
    vkfd_sdma_set_parked(e, id, how);
    q->wait_mem = mem;
    q->wait_pa = pa;
    e->sdma_wait_len[id] = len;
    q->wait_deadline = vkfd_wait_deadline(e, now, q->wait_interval, len);
    if (!again) {
        vkfd_trace(e, VKFD_TRACE_SDMA_PARK, id, mem, addr, q->wait_deadline, 0, 0);
    }
}

/* Physical address of what was just read, so it translates. A PRT page never changes. */
static uint64_t watched(VKFDEngine *e, uint32_t vmid, uint64_t va)
{
    uint64_t pa = UINT64_MAX;
    bool prt;

    return vkfd_vm_translate(e, VKFD_HUB_MM, vmid, va, false, &pa, &prt) ==
           VKFD_FAULT_NONE && !prt ? pa : UINT64_MAX;
}

VKFDSdmaResult vkfd_sdma_park_mem(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t va,
                                  unsigned len)
{
    uint32_t polls, unused;

    vkfd_sdma_progress(e, c->id, &polls, &unused);
    vkfd_sdma_set_progress(e, c->id, polls, 0);
    park(e, c->id, VKFD_PARKED_WAIT, true, watched(e, c->vmid, va), va, len);
    return VKFD_SDMA_PARK;
}

void vkfd_sdma_park_wptr(VKFDEngine *e, unsigned id)
{
    uint64_t va = vkfd_pair(SDMA(e, id, RB_WPTR_POLL_ADDR_LO) & ~3u,
                            SDMA(e, id, RB_WPTR_POLL_ADDR_HI));

    park(e, id, VKFD_PARKED_WPTR, true, watched(e, vkfd_sdma_vmid(e, id), va), va, 8);
}

/*
 * A wait that does not hold. Retries are counted by polls of the timer, whose pace is
 * ours and not the packet's interval; without end for 0xfff. Progress: polls so far.
 */
static VKFDSdmaResult wait(VKFDEngine *e, const VKFDSdmaCtx *c, bool mem,
                           uint64_t addr, uint32_t retry)
{
    uint32_t polls, unused;

    vkfd_sdma_progress(e, c->id, &polls, &unused);
    polls += timer_poll(e, c->q);
    if (retry != SDMA_POLL_REGMEM_RETRY_FOREVER && polls >= retry) {
        vkfd_sdma_interrupt(e, c->id, SDMA0_4_0__SRCID__SDMA_POLL_TIMEOUT, 0, 0);
        return VKFD_SDMA_DONE;
    }
    vkfd_sdma_set_progress(e, c->id, polls, 0);
    if (mem) {
        /* Polls that are counted have to be made. */
        return vkfd_sdma_park_mem(e, c, addr,
                                  retry == SDMA_POLL_REGMEM_RETRY_FOREVER ? 4 : 0);
    }
    park(e, c->id, VKFD_PARKED_WAIT, false, 0, addr, 0);
    return VKFD_SDMA_PARK;
}

static bool user_reg_fault(VKFDEngine *e, const VKFDSdmaCtx *c, uint32_t dw,
                           bool write)
{
    if (!c->vmid || vkfd_reg_user_ok(dw, write)) {
        return false;
    }
    vkfd_sdma_priv(e, c, dw);
    return true;
}

/* Body: address or registers, value, mask, interval and retries. */
VKFDSdmaResult vkfd_sdma_poll_regmem(VKFDEngine *e, const VKFDSdmaCtx *c,
                                     const uint32_t *body)
{
    uint32_t func = VKFD_GET(c->header, SDMA_PKT_POLL_REGMEM__FUNC);
    uint32_t retry = VKFD_GET(body[4], SDMA_PKT_POLL_REGMEM__RETRY);
    bool mem = c->header & SDMA_PKT_POLL_REGMEM__MEM_POLL;
    bool hdp = c->header & SDMA_PKT_POLL_REGMEM__HDP_FLUSH;
    uint32_t dw = (body[0] & SDMA_PKT_POLL_REGMEM__REG_MASK) / 4, v;
    uint64_t va = vkfd_pair(body[0], body[1]);

    if (func > WAIT_REG_MEM_GT || (hdp && mem)) {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    }
    if (mem) {
        if (!vkfd_sdma_read(e, c->id, c->vmid, va, &v, sizeof(v))) {
            return VKFD_SDMA_STOP;
        }
        return vkfd_wait_holds(func, vkfd_le32(v) & body[3], body[2])
               ? VKFD_SDMA_DONE : wait(e, c, true, va, retry);
    }
    if (hdp && !vkfd_sdma_midcmd(e, c->id)) {
        uint32_t req = (body[1] & SDMA_PKT_POLL_REGMEM__REG_MASK) / 4;
        uint32_t epoch = c->q->epoch;

        if (user_reg_fault(e, c, req, true)) {
            return VKFD_SDMA_STOP;
        }
        if (req < VKFD_NUM_REGS) {
            vkfd_trace(e, VKFD_TRACE_REG_WRITE, (uint64_t)req * 4, body[2], 1, 0, 0,
                       0);
            vkfd_reg_write(e, req, body[2]);
        }
        if (!vkfd_sdma_active(e, c->id) || c->q->epoch != epoch) {
            return VKFD_SDMA_DONE;      /* the write took this queue off */
        }
        vkfd_sdma_set_progress(e, c->id, 0, 0);         /* written once */
    }
    if (func == WAIT_REG_MEM_ALWAYS) {
        return VKFD_SDMA_DONE;          /* ROCr's flush: no register is meant */
    }
    if (user_reg_fault(e, c, dw, false)) {
        return VKFD_SDMA_STOP;
    }
    v = dw < VKFD_NUM_REGS ? vkfd_reg_read(e, dw) : 0;
    return vkfd_wait_holds(func, v & body[3], body[2])
           ? VKFD_SDMA_DONE : wait(e, c, false, (uint64_t)dw * 4, retry);
}

/* ---- wake-ups ---- */

static void wake(VKFDEngine *e, unsigned id, unsigned why)
{
    VKFDSdmaQueue *q = &e->sdma[id];

    if (q->poll_now) {
        return;
    }
    q->poll_now = 1;
    vkfd_trace(e, VKFD_TRACE_SDMA_WAKE, id, why, 0, 0, 0, 0);
    if (vkfd_sdma_runnable(e, id)) {
        vkfd_kick(e);
    }
}

void vkfd_sdma_mem_written(VKFDEngine *e, uint64_t pa, uint64_t len)
{
    uint32_t mask = e->sdma_waiting;

    while (mask) {
        unsigned id = vkfd_sdma_mask_next(&mask);
        const VKFDSdmaQueue *q = &e->sdma[id];

        /* Up to eight bytes are watched: an atomic, or the high half of wptr. */
        if (q->wait_mem && q->wait_pa + 8 > pa && q->wait_pa < pa + len) {
            wake(e, id, 0);
        }
    }
}

void vkfd_sdma_reg_written(VKFDEngine *e)
{
    uint32_t mask = e->sdma_waiting;

    while (mask) {
        unsigned id = vkfd_sdma_mask_next(&mask);

        if (!e->sdma[id].wait_mem) {
            wake(e, id, 1);
        }
    }
}

int64_t vkfd_sdma_next_poll(VKFDEngine *e, int64_t next)
{
    uint32_t mask = e->sdma_waiting;

    while (mask) {
        const VKFDSdmaQueue *q = &e->sdma[vkfd_sdma_mask_next(&mask)];

        if (!q->poll_now && (next < 0 || q->wait_deadline < next)) {
            next = q->wait_deadline;
        }
    }
    return next;
}

void vkfd_sdma_hurry(VKFDEngine *e, int64_t next)
{
    uint32_t mask = e->sdma_waiting;

    while (mask) {
        VKFDSdmaQueue *q = &e->sdma[vkfd_sdma_mask_next(&mask)];

        if (q->wait_deadline > next) {
            q->wait_deadline = next;
        }
    }
}

void vkfd_sdma_timer(VKFDEngine *e, VKFDPeek *peek, int64_t now)
{
    uint32_t mask = e->sdma_waiting;

    while (mask) {
        unsigned id = vkfd_sdma_mask_next(&mask);
        unsigned engine = 1 + id / VKFD_SDMA_QUEUES, block = id % VKFD_SDMA_QUEUES;
        VKFDSdmaQueue *q = &e->sdma[id];

        if (q->wait_deadline > now || q->poll_now) {
            continue;
        }
        if (q->wait_interval == VKFD_WAIT_POLL_MAX_NS && block >= VKFD_SDMA_BLOCK_RLC0) {
            if (vkfd_seen_unchanged(e, peek, engine, block - VKFD_SDMA_BLOCK_RLC0)) {
                q->wait_deadline = vkfd_wait_next(e, now);
                continue;
            }
            vkfd_seen_note(e, peek, engine, block - VKFD_SDMA_BLOCK_RLC0);
        }
        wake(e, id, 2);
    }
}
