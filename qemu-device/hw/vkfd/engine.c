/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engine life cycle: init, reset, load check, run, counters, control page.
 */
#include "engine-priv.h"

#include <vkfd/regs_nbio.h>

static const char *const counter_names[VKFD_CNT_MAX] = {
    [VKFD_CNT_UNMODELLED_READ] = "unmodelled-read",
    [VKFD_CNT_UNMODELLED_WRITE] = "unmodelled-write",
    [VKFD_CNT_BAD_ACCESS] = "bad-access",
    [VKFD_CNT_DOORBELL] = "doorbell",
    [VKFD_CNT_DOORBELL_DROPPED] = "doorbell-dropped",
    [VKFD_CNT_PACKET] = "packet",
    [VKFD_CNT_PACKET_SKIPPED] = "packet-skipped",
    [VKFD_CNT_PACKET_BAD] = "packet-bad",
    [VKFD_CNT_IH_ENTRY] = "ih-entry",
    [VKFD_CNT_IH_LOST] = "ih-lost",
    [VKFD_CNT_IH_OVERFLOW] = "ih-overflow",
    [VKFD_CNT_IRQ] = "irq",
    [VKFD_CNT_VM_FAULT] = "vm-fault",
    [VKFD_CNT_DMA_REFUSED] = "dma-refused",
    [VKFD_CNT_PARKED] = "parked",
    [VKFD_CNT_TLB_FLUSH] = "tlb-flush",
    [VKFD_CNT_HDP_FLUSH] = "hdp-flush",
    [VKFD_CNT_GUEST_ERROR] = "guest-error",
    [VKFD_CNT_REG_FAULT] = "reg-fault",
    [VKFD_CNT_INJECTED] = "injected",
    [VKFD_CNT_INJECT_REFUSED] = "inject-refused",
    [VKFD_CNT_DISPATCH_SKIPPED] = "dispatch-skipped",
    [VKFD_CNT_RUNLIST] = "runlist",
    [VKFD_CNT_RUNLIST_BAD] = "runlist-bad",
    [VKFD_CNT_QUEUE_MAP] = "queue-map",
    [VKFD_CNT_QUEUE_UNMAP] = "queue-unmap",
    [VKFD_CNT_QUEUE_LOAD] = "queue-load",
    [VKFD_CNT_QUEUE_SWAP] = "queue-swap",
    [VKFD_CNT_DOORBELL_WAKE] = "doorbell-wake",
};

const char *vkfd_counter_name(unsigned counter)
{
    return counter < VKFD_CNT_MAX ? counter_names[counter] : NULL;
}

void vkfd_count(VKFDEngine *e, unsigned counter)
{
    if (counter < VKFD_CNT_MAX) {
        e->counters[counter]++;
    }
}

void vkfd_trace(VKFDEngine *e, VKFDTraceId id, uint64_t a0, uint64_t a1,
                uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    const uint64_t args[VKFD_TRACE_ARGS] = { a0, a1, a2, a3, a4, a5 };

    e->ops.trace(e->opaque, id, args);
}

void vkfd_guest_error(VKFDEngine *e, const char *msg)
{
    e->counters[VKFD_CNT_GUEST_ERROR]++;
    e->ops.log_guest_error(e->opaque, msg);
}

void vkfd_kick(VKFDEngine *e)
{
    if (!e->run_pending) {
        e->run_pending = true;
        e->ops.schedule(e->opaque);
    }
}

bool vkfd_engine_init(VKFDEngine *e, const VKFDParams *params,
                      const VKFDBusOps *ops, void *opaque)
{
    if (!params->vram || ((uintptr_t)params->vram & 7) ||
        !params->vram_size || (params->vram_size & 0xffffff) ||
        params->vram_size > 1ull << 40 ||
        params->cus < 1 || params->cus > VKFD_CUS_MAX ||
        params->cp_budget > VKFD_CP_BUDGET_MAX ||
        params->hidden_vram > params->vram_size ||
        (params->hidden_vram & 0xfffff)) {
        return false;
    }
    memset(e, 0, sizeof(*e));
    e->ops = *ops;
    e->opaque = opaque;
    e->vram = params->vram;
    e->vram_size = params->vram_size;
    e->cus = params->cus;
    e->cp_budget = params->cp_budget ? params->cp_budget
                                     : VKFD_CP_BUDGET_DEFAULT;
    e->hidden_vram = params->hidden_vram;
    e->dispatch_error = params->dispatch_error;
    vkfd_engine_reset(e, true);
    return true;
}

void vkfd_engine_reset(VKFDEngine *e, bool cold)
{
    unsigned i;

    vkfd_trace(e, VKFD_TRACE_RESET, cold, 0, 0, 0, 0, 0);
    memset(e->regs, 0, sizeof(e->regs));
    memset(e->vmid_regs, 0, sizeof(e->vmid_regs));
    memset(e->hqd, 0, sizeof(e->hqd));
    memset(e->tlb, 0, sizeof(e->tlb));
    e->active_mask = 0;
    e->waiting_mask = 0;
    memset(e->smn, 0, sizeof(e->smn));
    e->smn_count = 0;
    e->ih_last_ts = 0;
    e->ih_armed = 1;
    e->next_hqd = 0;
    e->run_pending = false;
    e->heard = true;
    e->unhurried = false;
    e->late_timers = 0;
    e->ctrl_cnt_select = 0;
    e->ctrl_cnt_hi = 0;
    e->ctrl_unmod_select = 0;
    if (cold) {
        memset(e->counters, 0, sizeof(e->counters));
        memset(e->unmod, 0, sizeof(e->unmod));
        e->unmod_count = 0;
    }
    vkfd_regs_reset(e);
    vkfd_sdma_reset(e);
    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        e->ops.set_timer(e->opaque, i, -1);
    }
    vkfd_inject_reset(e, cold);
    vkfd_sched_reset(e);
}

void vkfd_engine_set_bars(VKFDEngine *e, bool valid, uint64_t bar0_addr,
                          uint64_t bar0_size, uint64_t bar2_addr)
{
    e->bars_valid = valid;
    e->bar0 = bar0_addr;
    e->bar0_size = bar0_size < e->vram_size ? bar0_size : e->vram_size;
    e->bar2 = bar2_addr;
    vkfd_seen_forget(e);
}

void vkfd_engine_run(VKFDEngine *e)
{
    /*
     * First slots for queues that were rung without one, so that they need no second
     * run. All that this makes runnable is run below, and kicks for it are not needed.
     */
    e->run_pending = true;
    vkfd_sched_run(e);
    e->run_pending = false;
    if (e->inject_pause) {
        return;
    }
    /* What a pause kept comes before all that runs, also after a migration. */
    if (e->inject.nheld) {
        vkfd_inject_timer(e);
    }
    vkfd_cp_run_all(e);
    vkfd_sdma_run_all(e);
    if (e->inject_pause) {
        return;
    }
    vkfd_sched_run(e);
    vkfd_wait_rearm(e);
}

void vkfd_engine_timer(VKFDEngine *e, unsigned which)
{
    if (e->inject_pause) {
        e->late_timers |= 1u << which;
    } else if (which == VKFD_TIMER_WAIT) {
        vkfd_wait_timer(e);
    } else if (which == VKFD_TIMER_INJECT) {
        vkfd_inject_timer(e);
    } else if (which == VKFD_TIMER_SCHED) {
        vkfd_sched_timer(e);
    }
}

void vkfd_engine_irq_path_up(VKFDEngine *e)
{
    if (!vkfd_inject_gone(e)) {
        vkfd_ih_resend(e);
    }
}

/* State of one loaded queue: in range, and the flags agree with each other. */
static bool hqd_ok(const VKFDHqd *q)
{
    if (q->stop >= VKFD_STOP_MAX || q->parked > VKFD_PARKED_SCHED ||
        q->poll_now > 1 || q->wait_mem > VKFD_WAIT_ADDRS ||
        (q->wait_mem && q->wait_len != 4 && q->wait_len != 8)) {
        return false;
    }
    if (q->parked && (!vkfd_hqd_active(q) || q->stop)) {
        return false;
    }
    if (q->poll_now && q->parked != VKFD_PARKED_WAIT &&
        q->parked != VKFD_PARKED_SCHED) {
        return false;
    }
    return q->parked != VKFD_PARKED_WAIT ||
           (q->wait_interval >= VKFD_WAIT_POLL_MIN_NS &&
            q->wait_interval <= VKFD_WAIT_POLL_MAX_NS);
}

static bool state_ok(VKFDEngine *e)
{
    unsigned i;

    if (e->next_hqd >= VKFD_NUM_HQD || e->ih_armed > 1 ||
        e->ih_last_ts >> 48 || e->smn_count > VKFD_SMN_MAX ||
        e->unmod_count > VKFD_UNMOD_MAX || !vkfd_inject_state_ok(e) ||
        !vkfd_sdma_state_ok(e)) {
        return false;
    }
    /* The sender's chip must be ours: size of VRAM, number of CUs. */
    if (e->regs[mmRCC_CONFIG_MEMSIZE] != e->vram_size >> 20 ||
        e->regs[mmCC_GC_SHADER_ARRAY_CONFIG] !=
        (~((1u << e->cus) - 1) & 0xffff) <<
        CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS__SHIFT) {
        return false;
    }
    for (i = 0; i < e->unmod_count; i++) {
        if (e->unmod[i].reg >= VKFD_MMIO_SIZE || (e->unmod[i].reg & 3)) {
            return false;
        }
    }
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        if (!hqd_ok(&e->hqd[i])) {
            return false;
        }
    }
    return vkfd_sched_state_ok(e);
}

bool vkfd_engine_post_load(VKFDEngine *e)
{
    unsigned i;

    memset(e->tlb, 0, sizeof(e->tlb));
    e->run_pending = false;
    e->inject_pause = false;            /* the VM that it stopped was another */
    e->late_timers = 0;
    e->heard = true;
    e->unhurried = false;
    if (!state_ok(e)) {
        e->inject.nspecs = 0;
        vkfd_engine_reset(e, true);
        return false;
    }
    /*
     * A parked queue polls again at once: whether memory changed on the way is
     * not known, and a deadline of the sender's clock is not trusted.
     */
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        VKFDHqd *q = &e->hqd[i];

        vkfd_hqd_set_active(e, i, vkfd_hqd_active(q));
        vkfd_hqd_set_parked(e, i, q->parked);
        if (q->parked == VKFD_PARKED_WAIT || q->parked == VKFD_PARKED_SCHED) {
            q->poll_now = 1;
        }
    }
    vkfd_sdma_post_load(e);
    vkfd_sched_post_load(e);
    vkfd_inject_post_load(e);
    vkfd_kick(e);
    return true;
}

bool vkfd_unmod_get(const VKFDEngine *e, uint32_t i, VKFDUnmod *out)
{
    if (i >= e->unmod_count) {
        return false;
    }
    *out = e->unmod[i];
    return true;
}

uint32_t vkfd_ctrl_read(VKFDEngine *e, uint32_t off)
{
    VKFDUnmod u = { .reg = UINT32_MAX };

    switch (off) {
    case VKFD_CTRL_MAGIC:
        return VKFD_CTRL_MAGIC_VALUE;
    case VKFD_CTRL_VERSION:
        return VKFD_CTRL_VERSION_VALUE;
    case VKFD_CTRL_CNT_SELECT:
        return e->ctrl_cnt_select;
    case VKFD_CTRL_CNT_LO:
        if (e->ctrl_cnt_select >= VKFD_CNT_MAX) {
            e->ctrl_cnt_hi = 0;
            return 0;
        }
        e->ctrl_cnt_hi = e->counters[e->ctrl_cnt_select] >> 32;
        return e->counters[e->ctrl_cnt_select];
    case VKFD_CTRL_CNT_HI:
        return e->ctrl_cnt_hi;
    case VKFD_CTRL_CNT_COUNT:
        return VKFD_CNT_MAX;
    case VKFD_CTRL_UNMOD_SELECT:
        return e->ctrl_unmod_select;
    case VKFD_CTRL_UNMOD_REG:
        vkfd_unmod_get(e, e->ctrl_unmod_select, &u);
        return u.reg;
    case VKFD_CTRL_UNMOD_READS:
        vkfd_unmod_get(e, e->ctrl_unmod_select, &u);
        return u.reads;
    case VKFD_CTRL_UNMOD_WRITES:
        vkfd_unmod_get(e, e->ctrl_unmod_select, &u);
        return u.writes;
    case VKFD_CTRL_UNMOD_COUNT:
        return e->unmod_count;
    default:
        return vkfd_inject_ctrl_read(e, off);
    }
}

void vkfd_ctrl_write(VKFDEngine *e, uint32_t off, uint32_t val)
{
    if (off == VKFD_CTRL_CNT_SELECT) {
        e->ctrl_cnt_select = val;
    } else if (off == VKFD_CTRL_UNMOD_SELECT) {
        e->ctrl_unmod_select = val;
    } else {
        vkfd_inject_ctrl_write(e, off, val);
    }
}
