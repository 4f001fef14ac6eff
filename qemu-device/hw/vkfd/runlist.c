/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: run lists. A list is read once, as a whole, into the tables;
 * the real firmware reads it again and again to the same effect. Either all of it is
 * mapped or, if anything is wrong with it, nothing.
 */
#include "sched-priv.h"

#include <vkfd/pm4.h>
#include <vkfd/pm4_sched.h>

typedef struct RunList {
    uint64_t first;             /* of the first IB: a chain to it is the end */
    uint64_t addr;              /* what is read next, VMID 0 */
    uint32_t left;              /* dwords of the IB */
    uint32_t total;             /* dwords read, of all IBs */
    uint32_t told, queues;      /* of the process at hand: announced, mapped */
    uint16_t proc;
    bool done;
} RunList;

static bool get(VKFDEngine *e, RunList *r, uint32_t *dst, uint32_t n)
{
    uint64_t fault_va;

    if (vkfd_vm_read(e, VKFD_HUB_GFX, 0, r->addr, dst, n * 4, &fault_va) !=
        VKFD_FAULT_NONE) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        dst[i] = vkfd_le32(dst[i]);
    }
    r->addr += n * 4;
    r->left -= n;
    return true;
}

static VKFDSchedBad queue(VKFDEngine *e, RunList *r, const uint32_t *body)
{
    VKFDSchedBad bad;

    /* 0: not told (amdkfd does so for a process that is debugged). */
    if (r->told && r->queues == r->told) {
        return VKFD_SCHED_BAD_MORE;
    }
    bad = vkfd_sched_map_queue(e, body, r->proc, VKFD_SCHED_F_NEW);
    if (bad == VKFD_SCHED_OK) {
        r->queues++;
    }
    return bad;
}

static VKFDSchedBad chain(RunList *r, const uint32_t *body)
{
    uint64_t addr = vkfd_pair(body[0] & ~3u, body[1]);

    if (!(body[2] & RUN_LIST__CHAIN) || !(body[2] & RUN_LIST__VALID)) {
        return VKFD_SCHED_BAD_FIELD;
    }
    r->addr = addr;
    r->left = VKFD_GET(body[2], RUN_LIST__IB_SIZE);
    r->done = addr == r->first;
    return VKFD_SCHED_OK;
}

/* One packet. Every packet costs at least a dword, so the whole is bounded. */
static VKFDSchedBad packet(VKFDEngine *e, RunList *r)
{
    uint32_t header, body[MAP_PROCESS_DW], want, n;
    uint8_t op;

    if (!get(e, r, &header, 1)) {
        return VKFD_SCHED_BAD_READ;
    }
    op = VKFD_GET(header, PM4_HEADER__OPCODE);
    n = VKFD_GET(header, PM4_HEADER__COUNT) + 1;
    if (op == IT_NOP && header >> PM4_HEADER__TYPE__SHIFT == 3) {
        n = n == PM4_NOP_COUNT_ONE_DW + 1 ? 0 : n;
        if (n > r->left) {
            return VKFD_SCHED_BAD_SHORT;
        }
        r->addr += (uint64_t)n * 4;
        r->left -= n;
        r->total += 1 + n;
        return VKFD_SCHED_OK;
    }
    want = op == IT_MAP_PROCESS ? MAP_PROCESS_DW :
           op == IT_MAP_QUEUES ? MAP_QUEUES_DW :
           op == IT_RUN_LIST ? RUN_LIST_DW : 0;
    if (header >> PM4_HEADER__TYPE__SHIFT != 3 || !want || n != want) {
        return VKFD_SCHED_BAD_PACKET;
    }
    if (n > r->left) {
        return VKFD_SCHED_BAD_SHORT;
    }
    if (!get(e, r, body, n)) {
        return VKFD_SCHED_BAD_READ;
    }
    r->total += 1 + n;
    switch (op) {
    case IT_MAP_PROCESS:
        r->queues = 0;
        return vkfd_sched_map_process(e, body, &r->proc, &r->told);
    case IT_MAP_QUEUES:
        return queue(e, r, body);
    default:
        return chain(r, body);
    }
}

/* Take over the queues that are new, or forget them and their processes. */
static void conclude(VKFDEngine *e, bool good)
{
    uint32_t i;

    for (i = 0; i < e->sched.queue_top; i++) {
        VKFDSchedQueue *q = vkfd_sched_q(e, i);

        if (!(q->flags & VKFD_SCHED_F_NEW)) {
            continue;
        }
        if (good) {
            q->flags &= ~VKFD_SCHED_F_NEW;
            e->counters[VKFD_CNT_QUEUE_MAP]++;
        } else {
            vkfd_sched_remove(e, i);
        }
    }
    for (i = 0; i < e->sched.proc_top; i++) {
        /* A process without queues has nothing to be unmapped later. */
        if (e->sched.proc[i].used && !e->sd.proc_queues[i] && i != e->sched.map_proc) {
            vkfd_sched_end_proc(e, i);
        }
    }
}

VKFDSchedBad vkfd_runlist_read(VKFDEngine *e, uint64_t addr, uint32_t dw)
{
    RunList r = { .first = addr, .addr = addr, .left = dw, .proc = VKFD_SCHED_NONE };
    VKFDSchedBad bad = VKFD_SCHED_OK;

    while (r.left && !r.done && bad == VKFD_SCHED_OK) {
        bad = r.total < VKFD_RUNLIST_MAX_DW ? packet(e, &r) : VKFD_SCHED_BAD_LONG;
    }
    conclude(e, bad == VKFD_SCHED_OK);
    e->extra_units += r.total / VKFD_CP_DW_PER_UNIT;
    vkfd_trace(e, VKFD_TRACE_SCHED_RUNLIST, addr, r.total, bad, r.addr, 0, 0);
    return bad;
}
