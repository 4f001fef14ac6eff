/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: its packets. Only interface queues take them, that is, queues
 * of VMID 0 that RLC_CP_SCHEDULERS names (KIQ; also the HIQ of a driver that has no
 * KIQ), or that were mapped as HIQ. Anywhere else they are unknown opcodes.
 */
#include "sched-priv.h"

#include <vkfd/mqd.h>
#include <vkfd/pm4.h>
#include <vkfd/pm4_sched.h>
#include <vkfd/regs_sdma.h>
#include <vkfd/regs_vm.h>

/* One of the four bytes of RLC_CP_SCHEDULERS. */
#define SCHEDULER__VALID        0x80
#define SCHEDULER__ME__SHIFT    5
#define SCHEDULER__ME_MASK      0x60
#define SCHEDULER__SLOT_MASK    0x1f

static bool named(const VKFDEngine *e, unsigned hqd)
{
    uint32_t v = e->regs[mmRLC_CP_SCHEDULERS];

    for (; v; v >>= 8) {
        if ((v & SCHEDULER__VALID) &&
            VKFD_GET(v, SCHEDULER__ME) == hqd / (VKFD_NUM_HQD / VKFD_NUM_ME) + 1 &&
            (v & SCHEDULER__SLOT_MASK) == hqd % (VKFD_NUM_HQD / VKFD_NUM_ME)) {
            return true;
        }
    }
    return false;
}

static bool allowed(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op)
{
    uint16_t owner = e->sd.hqd_owner[c->hqd];

    if (!c->vmid && !vkfd_hqd_vmid(c->q) &&
        (named(e, c->hqd) || (owner != VKFD_SCHED_NONE &&
                              vkfd_sched_q(e, owner)->flags & VKFD_SCHED_F_HIQ))) {
        return true;
    }
    vkfd_pm4_bad(e, c->hqd, PACKET3(op, c->body_dw), VKFD_EC_PACKET_UNSUPPORTED);
    return false;
}

static VKFDPm4Result refuse(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op,
                            VKFDSchedBad why)
{
    vkfd_trace(e, VKFD_TRACE_SCHED_BAD, c->hqd, op, why, 0, 0, 0);
    vkfd_pm4_bad(e, c->hqd, PACKET3(op, c->body_dw), VKFD_EC_PACKET_RESERVED);
    return VKFD_PM4_STOP;
}

VKFDPm4Result vkfd_sched_set_resources(VKFDEngine *e, const VKFDPm4Ctx *c,
                                       const uint32_t *body)
{
    uint32_t type = VKFD_GET(body[0], SET_RESOURCES__QUEUE_TYPE);

    if (!allowed(e, c, IT_SET_RESOURCES)) {
        return VKFD_PM4_STOP;
    }
    if (type > SET_RESOURCES_HIQ) {
        return refuse(e, c, IT_SET_RESOURCES, VKFD_SCHED_BAD_FIELD);
    }
    e->sched.vmid_mask[type] = VKFD_GET(body[0], SET_RESOURCES__VMID_MASK);
    e->sched.unmap_latency[type] = VKFD_GET(body[0], SET_RESOURCES__UNMAP_LATENCY);
    e->sched.queue_mask[type] = vkfd_pair(body[1], body[2]);
    vkfd_kick(e);               /* there may be more slots now */
    return VKFD_PM4_DONE;
}

/* ---- mapping ---- */

VKFDSchedBad vkfd_sched_map_process(VKFDEngine *e, const uint32_t *body,
                                    uint16_t *proc, uint32_t *told)
{
    uint32_t pasid = VKFD_GET(body[0], MAP_PROCESS__PASID);
    VKFDSchedProc *p;

    if (!pasid) {
        return VKFD_SCHED_BAD_FIELD;    /* its interrupts would be nobody's */
    }
    *proc = vkfd_sched_find_proc(e, pasid);
    if (*proc == VKFD_SCHED_NONE) {
        *proc = vkfd_sched_new_proc(e);
    }
    if (*proc == VKFD_SCHED_NONE) {
        return VKFD_SCHED_BAD_FULL;
    }
    p = &e->sched.proc[*proc];
    p->pasid = pasid;
    p->quantum = VKFD_GET(body[0], MAP_PROCESS__QUANTUM);
    p->pd_base = vkfd_pair(body[1], body[2]);
    p->sh_mem_bases = body[3];
    p->sh_mem_config = body[4];
    p->tba_lo = body[5];
    p->tba_hi = body[6];
    p->tma_lo = body[7];
    p->tma_hi = body[8];
    p->completion = vkfd_pair(body[13], body[14]);
    *told = VKFD_GET(body[12], MAP_PROCESS__NUM_QUEUES);
    if (p->vmid) {
        vkfd_sched_write_vmid(e, *proc);
    }
    e->sd.vm_gen[*proc]++;      /* what waits may wait elsewhere now */
    return VKFD_SCHED_OK;
}

/* Engine of MAP_QUEUES and UNMAP_QUEUES: 0 compute, 1 + n SDMA; -1: none of ours. */
static int engine_of(uint32_t ext, uint32_t sel)
{
    if (ext == EXT_ENGINE_SDMA0_7) {
        return sel < VKFD_SCHED_SDMA ? 1 + (int)sel : -1;
    }
    if (ext != EXT_ENGINE_LEGACY) {
        return -1;
    }
    switch (sel) {
    case ENGINE_SEL_COMPUTE:
    case ENGINE_SEL_HIQ:
        return 0;
    case ENGINE_SEL_SDMA0:
    case ENGINE_SEL_SDMA1:
        return 1 + sel - ENGINE_SEL_SDMA0;
    default:
        return -1;
    }
}

/* Can the firmware save a queue there? */
static bool mqd_ok(VKFDEngine *e, uint64_t mqd, uint32_t len)
{
    uint64_t pa;
    bool prt;

    return vkfd_vm_translate(e, VKFD_HUB_GFX, 0, mqd, true, &pa, &prt) ==
           VKFD_FAULT_NONE && !prt &&
           vkfd_vm_translate(e, VKFD_HUB_GFX, 0, mqd + len - 1, true, &pa, &prt) ==
           VKFD_FAULT_NONE && !prt;
}

/* What both forms of MAP_QUEUES have in common. */
static VKFDSchedBad parse_queue(VKFDEngine *e, const uint32_t *body,
                                VKFDSchedQueue *q)
{
    uint32_t type = VKFD_GET(body[0], MAP_QUEUES__QUEUE_TYPE);
    int engine = engine_of(VKFD_GET(body[0], MAP_QUEUES__EXT_ENGINE),
                           VKFD_GET(body[0], MAP_QUEUES__ENGINE_SEL));

    if (VKFD_GET(body[0], MAP_QUEUES__NUM_QUEUES) != 1 || engine < 0 ||
        type > MAP_QUEUES_TYPE_LOW_LATENCY) {
        return VKFD_SCHED_BAD_FIELD;
    }
    *q = (VKFDSchedQueue) {
        .mqd = vkfd_pair(body[2] & ~3u, body[3]),
        .wptr_addr = vkfd_pair(body[4] & ~7u, body[5]),
        .doorbell = VKFD_GET(body[1], MAP_QUEUES__DOORBELL),
        .proc = VKFD_SCHED_NONE,
        .engine = engine,
        .flags = type == MAP_QUEUES_TYPE_COMPUTE ? 0 : VKFD_SCHED_F_STATIC,
    };
    if (!mqd_ok(e, q->mqd, engine ? V9_SDMA_MQD_DW * 4 : V9_MQD_DW * 4)) {
        return VKFD_SCHED_BAD_MQD;
    }
    return vkfd_sched_has_mqd(e, q->mqd) ? VKFD_SCHED_BAD_TWICE : VKFD_SCHED_OK;
}

VKFDSchedBad vkfd_sched_map_queue(VKFDEngine *e, const uint32_t *body,
                                  uint16_t proc, uint8_t flags)
{
    VKFDSchedQueue q;
    VKFDSchedBad bad;

    /* An HIQ has a slot of its own; with EXT_ENGINE the same value is SDMA1. */
    if (VKFD_GET(body[0], MAP_QUEUES__QUEUE_SEL) != MAP_QUEUES_SEL_HWS ||
        (VKFD_GET(body[0], MAP_QUEUES__EXT_ENGINE) == EXT_ENGINE_LEGACY &&
         VKFD_GET(body[0], MAP_QUEUES__ENGINE_SEL) == ENGINE_SEL_HIQ)) {
        return VKFD_SCHED_BAD_FIELD;
    }
    bad = parse_queue(e, body, &q);
    if (bad != VKFD_SCHED_OK) {
        return bad;
    }
    if (proc == VKFD_SCHED_NONE) {
        return VKFD_SCHED_BAD_NO_PROCESS;
    }
    q.proc = proc;
    q.flags |= flags;
    return vkfd_sched_add(e, &q) == VKFD_SCHED_NONE ? VKFD_SCHED_BAD_FULL
                                                    : VKFD_SCHED_OK;
}

/* MAP_QUEUES into the slot it names: queues of the kernel. */
static VKFDSchedBad map_fixed(VKFDEngine *e, const uint32_t *body)
{
    unsigned slot = (VKFD_GET(body[0], MAP_QUEUES__ME) * VKFD_PIPES_PER_ME +
                     VKFD_GET(body[0], MAP_QUEUES__PIPE)) * VKFD_QUEUES_PER_PIPE +
                    VKFD_GET(body[0], MAP_QUEUES__QUEUE);
    VKFDSchedQueue q;
    VKFDSchedBad bad = parse_queue(e, body, &q);
    uint16_t i;

    if (bad != VKFD_SCHED_OK) {
        return bad;
    }
    if (q.engine) {
        return VKFD_SCHED_BAD_FIELD;
    }
    if (e->active_mask >> slot & 1) {
        return VKFD_SCHED_BAD_SLOT;
    }
    q.vmid = VKFD_GET(body[0], MAP_QUEUES__VMID);
    q.flags |= VKFD_SCHED_F_FIXED;
    if (VKFD_GET(body[0], MAP_QUEUES__ENGINE_SEL) == ENGINE_SEL_HIQ) {
        q.flags |= VKFD_SCHED_F_HIQ;
    }
    i = vkfd_sched_add(e, &q);
    if (i == VKFD_SCHED_NONE) {
        return VKFD_SCHED_BAD_FULL;
    }
    if (!vkfd_sched_load(e, i, slot, q.vmid)) {
        vkfd_sched_remove(e, i);
        return VKFD_SCHED_BAD_MQD;
    }
    return VKFD_SCHED_OK;
}

VKFDPm4Result vkfd_sched_pm4_map_process(VKFDEngine *e, const VKFDPm4Ctx *c,
                                         const uint32_t *body)
{
    VKFDSchedBad bad;
    uint16_t proc;
    uint32_t told;

    if (!allowed(e, c, IT_MAP_PROCESS)) {
        return VKFD_PM4_STOP;
    }
    bad = vkfd_sched_map_process(e, body, &proc, &told);
    if (bad != VKFD_SCHED_OK) {
        return refuse(e, c, IT_MAP_PROCESS, bad);
    }
    e->sched.map_proc = proc;
    return VKFD_PM4_DONE;
}

VKFDPm4Result vkfd_sched_pm4_map_queues(VKFDEngine *e, const VKFDPm4Ctx *c,
                                        const uint32_t *body)
{
    VKFDSchedBad bad;

    if (!allowed(e, c, IT_MAP_QUEUES)) {
        return VKFD_PM4_STOP;
    }
    bad = VKFD_GET(body[0], MAP_QUEUES__QUEUE_SEL) == MAP_QUEUES_SEL_SLOT
          ? map_fixed(e, body)
          : vkfd_sched_map_queue(e, body, e->sched.map_proc, 0);
    if (bad != VKFD_SCHED_OK) {
        return refuse(e, c, IT_MAP_QUEUES, bad);
    }
    vkfd_kick(e);
    return VKFD_PM4_DONE;
}

VKFDPm4Result vkfd_sched_run_list(VKFDEngine *e, const VKFDPm4Ctx *c,
                                  const uint32_t *body)
{
    VKFDSchedBad bad = VKFD_SCHED_BAD_FIELD;

    if (!allowed(e, c, IT_RUN_LIST)) {
        return VKFD_PM4_STOP;
    }
    if (body[2] & RUN_LIST__VALID) {
        bad = vkfd_runlist_read(e, vkfd_pair(body[0] & ~3u, body[1]),
                                VKFD_GET(body[2], RUN_LIST__IB_SIZE));
    }
    if (bad != VKFD_SCHED_OK) {
        e->counters[VKFD_CNT_RUNLIST_BAD]++;
        return refuse(e, c, IT_RUN_LIST, bad);
    }
    e->counters[VKFD_CNT_RUNLIST]++;
    vkfd_kick(e);
    return VKFD_PM4_DONE;
}

/* ---- unmapping ---- */

/* An unmap that could not be completed at once is: interface queues go on. */
static void wake_rings(VKFDEngine *e)
{
    uint64_t mask = e->active_mask;

    while (mask) {
        VKFDHqd *q = &e->hqd[vkfd_mask_next(&mask)];

        if (q->parked == VKFD_PARKED_SCHED) {
            q->poll_now = 1;
            vkfd_kick(e);
        }
    }
}

/* A queue without slot meets the end its packet had in mind. */
static void finish(VKFDEngine *e, uint16_t i, uint32_t action)
{
    if (action != UNMAP_QUEUES_PREEMPT_NO_UNMAP) {
        vkfd_sched_remove(e, i);
    } else if (vkfd_sched_q(e, i)->state != VKFD_SCHED_STOPPED) {
        vkfd_sched_set_state(e, i, VKFD_SCHED_READY);
        vkfd_kick(e);
    }
}

void vkfd_sched_unmapped(VKFDEngine *e, uint16_t i, bool saved)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);
    uint32_t action = q->unmap - 1;

    q->unmap = 0;
    e->sd.unmapping--;
    if (saved && action == UNMAP_QUEUES_PREEMPT_NO_UNMAP) {
        vkfd_sched_set_state(e, i, VKFD_SCHED_READY);
    }
    finish(e, i, action);
    if (!e->sd.unmapping) {
        wake_rings(e);
    }
}

static void unmap(VKFDEngine *e, uint16_t i, uint32_t action)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);
    bool save = action != UNMAP_QUEUES_RESET;

    if (q->unmap) {
        return;                 /* by an earlier packet, and not done */
    }
    if (q->state != VKFD_SCHED_ON_SLOT) {
        if (action != UNMAP_QUEUES_PREEMPT_NO_UNMAP) {
            vkfd_sched_remove(e, i);
        }
        return;
    }
    if ((q->flags & VKFD_SCHED_F_FIXED) && action == UNMAP_QUEUES_PREEMPT_NO_UNMAP) {
        vkfd_sched_save(e, i);  /* nobody else wants its slot */
        return;
    }
    if (q->engine ? vkfd_sdma_rlc_preempt(e, q->engine - 1, q->slot)
                  : (vkfd_inject_on(e, VKFD_INJECT_AT_PREEMPT) || e->inject_blocked) &&
                    vkfd_inject_preempt(e, q->slot, save ? VKFD_DEQUEUE_SAVE_WAVES
                                                         : VKFD_DEQUEUE_RESET_WAVES)) {
        /* Also one that was lost: the firmware waits for it as for the others. */
        q->unmap = 1 + action;
        e->sd.unmapping++;
        return;
    }
    if (vkfd_sched_off(e, i, save, VKFD_SCHED_READY) ||
        action != UNMAP_QUEUES_PREEMPT_NO_UNMAP) {
        finish(e, i, action);
    }
}

/* Queues the packet names by doorbell. */
static bool unmap_doorbells(VKFDEngine *e, const uint32_t *body, uint32_t action)
{
    uint32_t n = VKFD_GET(body[0], UNMAP_QUEUES__NUM_QUEUES);
    int engine = engine_of(VKFD_GET(body[0], UNMAP_QUEUES__EXT_ENGINE),
                           VKFD_GET(body[0], UNMAP_QUEUES__ENGINE_SEL));

    if (!n || n > UNMAP_QUEUES_DOORBELLS || engine < 0) {
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t doorbell = VKFD_GET(body[1 + k], UNMAP_QUEUES__DOORBELL);
        uint16_t i = vkfd_sched_by_doorbell(e, doorbell, VKFD_SCHED_NONE), next;
        bool found = false;

        for (; i != VKFD_SCHED_NONE; i = next) {
            next = vkfd_sched_by_doorbell(e, doorbell, i);
            if (vkfd_sched_q(e, i)->engine == engine) {
                found = true;
                unmap(e, i, action);
            }
        }
        if (!found) {
            vkfd_guest_error(e, "UNMAP_QUEUES: no queue with that doorbell is mapped");
        }
    }
    return true;
}

/* Queues of run lists: of one process, all, or all but static ones. */
static void unmap_many(VKFDEngine *e, uint32_t sel, uint32_t pasid, uint32_t action)
{
    uint32_t i;

    for (i = 0; i < e->sched.queue_top; i++) {
        const VKFDSchedQueue *q = vkfd_sched_q(e, i);

        if (q->state == VKFD_SCHED_FREE || (q->flags & VKFD_SCHED_F_FIXED) ||
            (sel == UNMAP_QUEUES_SEL_PASID &&
             e->sched.proc[q->proc].pasid != pasid) ||
            (sel == UNMAP_QUEUES_SEL_NON_STATIC && (q->flags & VKFD_SCHED_F_STATIC))) {
            continue;
        }
        unmap(e, i, action);
    }
    if (action == UNMAP_QUEUES_PREEMPT_NO_UNMAP) {
        return;
    }
    for (i = 0; i < e->sched.proc_top; i++) {
        const VKFDSchedProc *p = &e->sched.proc[i];

        if (p->used && !e->sd.proc_queues[i] &&
            (sel != UNMAP_QUEUES_SEL_PASID || p->pasid == pasid)) {
            vkfd_sched_end_proc(e, i);
        }
    }
}

/*
 * The interface queue waits until every preemption is through, or for as long as the
 * driver said, if it can be told (wait_deadline; -1: without end).
 */
static VKFDPm4Result wait_unmapped(VKFDEngine *e, const VKFDPm4Ctx *c)
{
    int64_t latency = e->sched.unmap_latency[SET_RESOURCES_HIQ] * VKFD_SCHED_LATENCY_NS;
    int64_t end = (int64_t)e->ops.now_ns(e->opaque) + latency;
    VKFDHqd *q = c->q;

    if (!e->sd.unmapping) {
        return VKFD_PM4_DONE;
    }
    if (q->parked != VKFD_PARKED_SCHED) {
        q->wait_deadline = latency && (HQD(q, CP_MQD_BASE_ADDR) ||
                                       HQD(q, CP_MQD_BASE_ADDR_HI)) ? end : -1;
        vkfd_hqd_set_parked(e, c->hqd, VKFD_PARKED_SCHED);
    } else if (q->wait_deadline > end) {
        q->wait_deadline = end;         /* of another clock */
    }
    vkfd_sched_rearm(e);
    q->poll_now = 0;
    return VKFD_PM4_PARK;
}

/* The firmware forgets a queue that did not stop; its slot is taken, and the driver's. */
static void forget(VKFDEngine *e, uint16_t i)
{
    VKFDSchedQueue *q = vkfd_sched_q(e, i);
    uint32_t action = q->unmap - 1;

    vkfd_sched_leave_slot(e, i, VKFD_SCHED_STOPPED);
    q->unmap = 0;
    e->sd.unmapping--;
    finish(e, i, action);
}

/* Tells the driver of compute queues that were not preempted in time, and forgets them. */
static void give_up(VKFDEngine *e, VKFDHqd *ring)
{
    uint64_t mqd = vkfd_pair(HQD(ring, CP_MQD_BASE_ADDR), HQD(ring, CP_MQD_BASE_ADDR_HI));
    uint32_t i, n = 0;

    ring->wait_deadline = -1;
    for (i = 0; i < e->sched.queue_top && n < V9_MQD_QUEUE_DOORBELL_IDS; i++) {
        const VKFDSchedQueue *q = vkfd_sched_q(e, i);
        uint32_t doorbell = vkfd_le32(q->doorbell);
        uint64_t fault_va;

        if (!q->unmap || q->engine) {
            continue;
        }
        if (vkfd_vm_write(e, VKFD_HUB_GFX, 0,
                          mqd + (V9_MQD_QUEUE_DOORBELL_ID0_DW + n) * 4, &doorbell,
                          sizeof(doorbell), &fault_va) != VKFD_FAULT_NONE) {
            vkfd_guest_error(e, "scheduler: the MQD of an HIQ cannot be written");
            return;             /* it waits on: nobody would know */
        }
        n++;
        vkfd_trace(e, VKFD_TRACE_SCHED_GIVE_UP, i, q->slot, q->doorbell, 0, 0, 0);
        forget(e, i);
    }
    if (!e->sd.unmapping) {
        wake_rings(e);
    }
}

void vkfd_sched_check_unmaps(VKFDEngine *e, int64_t now)
{
    uint64_t mask = e->active_mask;

    while (mask && e->sd.unmapping) {
        VKFDHqd *q = &e->hqd[vkfd_mask_next(&mask)];

        if (q->parked == VKFD_PARKED_SCHED && q->wait_deadline >= 0 &&
            q->wait_deadline <= now) {
            give_up(e, q);
        }
    }
}

/* When that is to be done next, -1: never. */
int64_t vkfd_sched_unmap_deadline(const VKFDEngine *e)
{
    uint64_t mask = e->sd.unmapping ? e->active_mask : 0;
    int64_t first = -1;

    while (mask) {
        const VKFDHqd *q = &e->hqd[vkfd_mask_next(&mask)];

        if (q->parked == VKFD_PARKED_SCHED && q->wait_deadline >= 0 &&
            (first < 0 || q->wait_deadline < first)) {
            first = q->wait_deadline;
        }
    }
    return first;
}

VKFDPm4Result vkfd_sched_unmap_queues(VKFDEngine *e, const VKFDPm4Ctx *c,
                                      const uint32_t *body)
{
    uint32_t action = VKFD_GET(body[0], UNMAP_QUEUES__ACTION);
    uint32_t sel = VKFD_GET(body[0], UNMAP_QUEUES__QUEUE_SEL);
    uint32_t epoch = c->q->epoch;

    if (c->q->parked == VKFD_PARKED_SCHED) {
        return wait_unmapped(e, c);     /* it did its work before */
    }
    if (!allowed(e, c, IT_UNMAP_QUEUES)) {
        return VKFD_PM4_STOP;
    }
    e->extra_units += e->sched.queue_top / VKFD_CP_DW_PER_UNIT;
    if (sel != UNMAP_QUEUES_SEL_DOORBELL) {
        unmap_many(e, sel, body[1] & UNMAP_QUEUES__PASID_MASK, action);
    } else if (!unmap_doorbells(e, body, action)) {
        return refuse(e, c, IT_UNMAP_QUEUES, VKFD_SCHED_BAD_FIELD);
    }
    if (!vkfd_hqd_active(c->q) || c->q->epoch != epoch) {
        return VKFD_PM4_DONE;           /* it unmapped itself */
    }
    return wait_unmapped(e, c);
}

VKFDPm4Result vkfd_sched_query_status(VKFDEngine *e, const VKFDPm4Ctx *c,
                                      const uint32_t *body)
{
    uint32_t command = VKFD_GET(body[0], QUERY_STATUS__COMMAND);
    uint64_t va = vkfd_pair(body[2] & ~7u, body[3]);
    uint64_t data = vkfd_le64(vkfd_pair(body[4], body[5]));
    VKFDIv iv = {
        .client = SOC15_IH_CLIENTID_GRBM_CP,
        .source = GFX_9_0__SRCID__CP_COMPUTE_QUERY_STATUS,
        .ring_id = vkfd_hqd_ring_id(c->hqd),
        .ctx = { VKFD_GET(body[0], QUERY_STATUS__CONTEXT_ID) },
    };

    if (!allowed(e, c, IT_QUERY_STATUS)) {
        return VKFD_PM4_STOP;
    }
    if (VKFD_GET(body[0], QUERY_STATUS__INTERRUPT_SEL) > QUERY_STATUS_INT_MAX) {
        return refuse(e, c, IT_QUERY_STATUS, VKFD_SCHED_BAD_FIELD);
    }
    if (command != QUERY_STATUS_FENCE_NOW &&
        wait_unmapped(e, c) == VKFD_PM4_PARK) {
        return VKFD_PM4_PARK;
    }
    if (command != QUERY_STATUS_INTERRUPT_ONLY) {
        /* All that was saved and reported, before the word that says so. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!vkfd_q_write(e, c->hqd, 0, va, &data, sizeof(data))) {
            return VKFD_PM4_STOP;
        }
    }
    if ((command == QUERY_STATUS_INTERRUPT_ONLY ||
         command == QUERY_STATUS_FENCE_INTERRUPT) &&
        (vkfd_grbm_int_cntl(e, c->hqd) &
         CP_ME1_PIPE0_INT_CNTL__CMP_QUERY_STATUS_INT_ENABLE_MASK)) {
        vkfd_ih_push(e, &iv);
    }
    return VKFD_PM4_DONE;
}

/* All VMIDs that ATC maps to the PASID, however they got there. */
VKFDPm4Result vkfd_sched_invalidate_tlbs(VKFDEngine *e, const VKFDPm4Ctx *c,
                                         const uint32_t *body)
{
    uint32_t pasid = VKFD_GET(body[0], INVALIDATE_TLBS__PASID), vmids = 0, i;
    uint16_t proc;

    if (!allowed(e, c, IT_INVALIDATE_TLBS)) {
        return VKFD_PM4_STOP;
    }
    for (i = 1; i < VKFD_NUM_VMID; i++) {
        uint32_t v = e->regs[mmATC_VMID0_PASID_MAPPING + i];

        if ((v & ATC_VMID0_PASID_MAPPING__VALID_MASK) &&
            VKFD_GET(v, ATC_VMID0_PASID_MAPPING__PASID) == pasid) {
            vmids |= 1u << i;
        }
    }
    vkfd_inject_invalidate(e, VKFD_HUB_GFX, vmids);
    if (body[0] & INVALIDATE_TLBS__ALL_HUB) {
        vkfd_inject_invalidate(e, VKFD_HUB_MM, vmids);
    }
    vkfd_vm_flush(e, vmids, body[0] & INVALIDATE_TLBS__ALL_HUB);
    vkfd_sched_invalidated(e, vmids);
    /* One without a VMID has nothing in a TLB, but waits that were translated. */
    proc = vkfd_sched_find_proc(e, pasid);
    if (proc != VKFD_SCHED_NONE && !e->sched.proc[proc].vmid) {
        e->sd.vm_gen[proc]++;
    }
    e->counters[VKFD_CNT_TLB_FLUSH]++;
    return VKFD_PM4_DONE;
}
