/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler firmware: VMIDs of mapped processes. A process gets one, out of the mask
 * of SET_RESOURCES, when a queue of it gets a slot for the first time, and keeps it
 * until it is unmapped or somebody else needs it more.
 */
#include "sched-priv.h"

#include <vkfd/pm4_sched.h>
#include <vkfd/regs_ih.h>
#include <vkfd/regs_vm.h>

#define NS_PER_MS               1000000

/* Context base, as a register write of both hubs. Nothing stays in the TLBs. */
static void write_base(VKFDEngine *e, unsigned vmid, uint64_t base)
{
    static const uint32_t first[] = {
        mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
        mmMMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
    };

    for (unsigned hub = 0; hub < VKFD_NUM_HUB; hub++) {
        vkfd_reg_write(e, first[hub] + 2 * vmid, base);
        vkfd_reg_write(e, first[hub] + 2 * vmid + 1, base >> 32);
    }
    vkfd_vm_flush(e, 1u << vmid, true);
}

static void write_pasid(VKFDEngine *e, unsigned vmid, uint32_t pasid)
{
    uint32_t v = pasid ? pasid | ATC_VMID0_PASID_MAPPING__VALID_MASK : 0;

    /* The update status belongs to whoever writes through the register. */
    e->regs[mmATC_VMID0_PASID_MAPPING + vmid] = v;
    e->regs[mmATC_VMID0_PASID_MAPPING + VKFD_NUM_VMID + vmid] = v;
}

void vkfd_sched_write_vmid(VKFDEngine *e, uint16_t proc)
{
    const VKFDSchedProc *p = &e->sched.proc[proc];
    const uint32_t bank[VKFD_VMID_BANK_DW] = {
        p->sh_mem_bases, p->sh_mem_config, p->tba_lo, p->tba_hi, p->tma_lo, p->tma_hi,
    };

    write_base(e, p->vmid, p->pd_base);
    memcpy(e->vmid_regs[p->vmid], bank, sizeof(bank));
    write_pasid(e, p->vmid, p->pasid);
    vkfd_reg_write(e, mmIH_VMID_0_LUT + p->vmid, p->pasid);
    vkfd_reg_write(e, mmIH_VMID_0_LUT_MM + p->vmid, p->pasid);
    vkfd_trace(e, VKFD_TRACE_SCHED_VMID, p->vmid, p->pasid, p->pd_base, 0, 0, 0);
}

/*
 * The tables may go as soon as the process is unmapped, so nothing points to them any
 * more. The IH keeps the PASID until the VMID has another: what comes late is still
 * of this process.
 */
void vkfd_sched_free_vmid(VKFDEngine *e, uint16_t proc)
{
    VKFDSchedProc *p = &e->sched.proc[proc];

    if (!p->vmid) {
        return;
    }
    vkfd_trace(e, VKFD_TRACE_SCHED_VMID, p->vmid, 0, 0, 0, 0, 0);
    write_base(e, p->vmid, 0);
    write_pasid(e, p->vmid, 0);
    e->sd.vmid_owner[p->vmid] = VKFD_SCHED_NONE;
    p->vmid = 0;
    vkfd_kick(e);
}

/* When the quantum of a process is over (virtual ns). */
int64_t vkfd_sched_vmid_expiry(const VKFDEngine *e, uint16_t proc)
{
    const VKFDSchedProc *p = &e->sched.proc[proc];

    return p->since + (int64_t)p->quantum * NS_PER_MS;
}

/* How easily a process gives its VMID away: as its most tenacious queue. */
static VKFDSchedHold proc_hold(VKFDEngine *e, uint16_t proc, int64_t now)
{
    const VKFDSchedProc *p = &e->sched.proc[proc];
    VKFDSchedHold hold = VKFD_SCHED_SPARE, h;
    unsigned i, n, left = e->sd.proc_slots[proc];

    for (i = 0; i < VKFD_NUM_HQD && left; i++) {
        uint16_t q = e->sd.hqd_owner[i];

        if (q != VKFD_SCHED_NONE && vkfd_sched_q(e, q)->proc == proc) {
            h = vkfd_sched_hold(e, q, now);
            hold = h < hold ? h : hold;
            left--;
        }
    }
    for (n = 0; n < VKFD_SCHED_SDMA && left; n++) {
        for (i = 0; i < VKFD_SCHED_SDMA_RLC; i++) {
            uint16_t q = e->sd.rlc_owner[n][i];

            if (q != VKFD_SCHED_NONE && vkfd_sched_q(e, q)->proc == proc) {
                h = vkfd_sched_hold(e, q, now);
                hold = h < hold ? h : hold;
            }
        }
    }
    if (hold == VKFD_SCHED_EXPIRED && now >= p->since &&
        now < vkfd_sched_vmid_expiry(e, proc)) {
        return VKFD_SCHED_HELD;
    }
    return hold;
}

static void evict(VKFDEngine *e, uint16_t proc)
{
    uint32_t i;

    for (i = 0; i < e->sched.queue_top && e->sd.proc_slots[proc]; i++) {
        const VKFDSchedQueue *q = vkfd_sched_q(e, i);

        if (q->state == VKFD_SCHED_ON_SLOT && q->proc == proc) {
            vkfd_sched_swap_out(e, i);
        }
    }
    vkfd_sched_free_vmid(e, proc);
}

/* Does a queue run in it that is not the scheduler's: one it gave up, say? */
static bool vmid_used(VKFDEngine *e, unsigned vmid)
{
    uint64_t mask = e->active_mask;

    while (mask) {
        unsigned hqd = vkfd_mask_next(&mask);

        if (e->sd.hqd_owner[hqd] == VKFD_SCHED_NONE &&
            vkfd_hqd_vmid(&e->hqd[hqd]) == vmid) {
            return true;
        }
    }
    return false;
}

/* A VMID that is nobody's; else take that of the process that needs it least. */
static unsigned get_vmid(VKFDEngine *e, int64_t now)
{
    uint32_t mask = e->sched.vmid_mask[SET_RESOURCES_HIQ] & 0xfffe;
    VKFDSchedHold best_hold = VKFD_SCHED_HELD;
    uint16_t best = VKFD_SCHED_NONE;
    unsigned i;

    for (i = 1; i < VKFD_NUM_VMID; i++) {
        uint16_t proc = e->sd.vmid_owner[i];
        VKFDSchedHold hold;

        if (!(mask & 1u << i)) {
            continue;
        }
        if (proc == VKFD_SCHED_NONE) {
            if (!vmid_used(e, i)) {
                return i;
            }
            continue;
        }
        hold = proc_hold(e, proc, now);
        if (hold > best_hold ||
            (best != VKFD_SCHED_NONE && hold == best_hold &&
             e->sched.proc[proc].since < e->sched.proc[best].since)) {
            best_hold = hold;
            best = proc;
        }
    }
    if (best == VKFD_SCHED_NONE) {
        return 0;
    }
    i = e->sched.proc[best].vmid;
    evict(e, best);
    return i;
}

unsigned vkfd_sched_vmid(VKFDEngine *e, uint16_t proc, int64_t now)
{
    VKFDSchedProc *p = &e->sched.proc[proc];

    if (!p->vmid) {
        p->vmid = get_vmid(e, now);
        if (p->vmid) {
            p->since = now;
            e->sd.vmid_owner[p->vmid] = proc;
            vkfd_sched_write_vmid(e, proc);
        }
    }
    return p->vmid;
}

void vkfd_sched_invalidated(VKFDEngine *e, uint32_t vmids)
{
    e->sd.stale = true;
    vkfd_seen_forget(e);
    for (unsigned i = 1; i < VKFD_NUM_VMID; i++) {
        if ((vmids & 1u << i) && e->sd.vmid_owner[i] != VKFD_SCHED_NONE) {
            e->sd.vm_gen[e->sd.vmid_owner[i]]++;
        }
    }
}
