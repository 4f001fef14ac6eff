/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd: migration. Everything engine.h calls guest state, PCI and MSI-X first.
 * The bottom half and the timers are derived: vkfd_engine_post_load() asks for
 * them again from the state of the queues. New fields only as subsections.
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "hw/pci/msix.h"
#include "vkfd.h"

static const VMStateDescription vmstate_vkfd_hqd = {
    .name = "vkfd/hqd",
    .version_id = 2,            /* 2: waits on several addresses */
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(regs, VKFDHqd, VKFD_HQD_DW),
        VMSTATE_UINT32_ARRAY(sh, VKFDHqd, VKFD_SH_DW),
        VMSTATE_UINT64(rptr, VKFDHqd),
        VMSTATE_UINT64_ARRAY(wait_pa, VKFDHqd, VKFD_WAIT_ADDRS),
        VMSTATE_INT64(wait_deadline, VKFDHqd),
        VMSTATE_UINT32(wait_interval, VKFDHqd),
        VMSTATE_UINT32(reported_rptr, VKFDHqd),
        VMSTATE_UINT32(epoch, VKFDHqd),
        VMSTATE_UINT32(stop, VKFDHqd),
        VMSTATE_UINT8(parked, VKFDHqd),
        VMSTATE_UINT8(poll_now, VKFDHqd),
        VMSTATE_UINT8(wait_mem, VKFDHqd),
        VMSTATE_UINT8(wait_len, VKFDHqd),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_unmod = {
    .name = "vkfd/unmodelled",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(reg, VKFDUnmod),
        VMSTATE_UINT32(reads, VKFDUnmod),
        VMSTATE_UINT32(writes, VKFDUnmod),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_smn = {
    .name = "vkfd/smn",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(addr, VKFDSmn),
        VMSTATE_UINT32(val, VKFDSmn),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_inject_spec = {
    .name = "vkfd/inject/spec",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(passages, VKFDInjectSpec),
        VMSTATE_UINT64(arg, VKFDInjectSpec),
        VMSTATE_UINT32(first, VKFDInjectSpec),
        VMSTATE_UINT32(every, VKFDInjectSpec),
        VMSTATE_UINT32(count, VKFDInjectSpec),
        VMSTATE_UINT32(fired, VKFDInjectSpec),
        VMSTATE_UINT32(refused, VKFDInjectSpec),
        VMSTATE_UINT32_ARRAY(entry, VKFDInjectSpec, VKFD_IH_ENTRY_DW),
        VMSTATE_UINT8(point, VKFDInjectSpec),
        VMSTATE_UINT8(action, VKFDInjectSpec),
        VMSTATE_UINT8(set, VKFDInjectSpec),
        VMSTATE_UINT8(dw, VKFDInjectSpec),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_inject_held = {
    .name = "vkfd/inject/held",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(deadline, VKFDInjectHeld),
        VMSTATE_UINT64(addr, VKFDInjectHeld),
        VMSTATE_UINT64(data, VKFDInjectHeld),
        VMSTATE_UINT32_ARRAY(entry, VKFDInjectHeld, VKFD_IH_ENTRY_DW),
        VMSTATE_UINT8(point, VKFDInjectHeld),
        VMSTATE_UINT8(len, VKFDInjectHeld),
        VMSTATE_UINT8(hqd, VKFDInjectHeld),
        VMSTATE_UINT8(vmid, VKFDInjectHeld),
        VMSTATE_END_OF_LIST()
    }
};

/*
 * Sent once somebody armed something, or a text is being written. What is armed
 * then goes along, also if that is nothing any more: it is not what the command
 * line of the other end says.
 */
static bool vkfd_inject_needed(void *opaque)
{
    VKFDEngine *e = opaque;

    return e->inject.generation ||
           !buffer_is_zero(e->inject.text, sizeof(e->inject.text));
}

static const VMStateDescription vmstate_vkfd_inject = {
    .name = "vkfd/engine/inject",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = vkfd_inject_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(inject.nspecs, VKFDEngine),
        VMSTATE_UINT32(inject.nheld, VKFDEngine),
        VMSTATE_UINT32(inject.generation, VKFDEngine),
        VMSTATE_STRUCT_ARRAY(inject.spec, VKFDEngine, VKFD_INJECT_SPECS, 1,
                             vmstate_vkfd_inject_spec, VKFDInjectSpec),
        VMSTATE_STRUCT_ARRAY(inject.held, VKFDEngine, VKFD_INJECT_HELD_MAX, 1,
                             vmstate_vkfd_inject_held, VKFDInjectHeld),
        VMSTATE_UINT64(inject.stalled, VKFDEngine),
        VMSTATE_UINT64(inject.passed, VKFDEngine),
        VMSTATE_UINT64(inject.dequeuing, VKFDEngine),
        VMSTATE_UINT64(inject.dequeue_hung, VKFDEngine),
        VMSTATE_UINT32(inject.ctrl_status, VKFDEngine),
        VMSTATE_UINT32(inject.ctrl_pos, VKFDEngine),
        VMSTATE_UINT32(inject.ctrl_select, VKFDEngine),
        VMSTATE_UINT32(inject.ctrl_hi, VKFDEngine),
        VMSTATE_UINT8(inject.device, VKFDEngine),
        VMSTATE_UINT8_ARRAY(inject.text, VKFDEngine, VKFD_INJECT_TEXT_SIZE),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_sdma_queue = {
    .name = "vkfd/sdma/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(reported_rptr, VKFDSdmaQueue),
        VMSTATE_UINT64(wait_pa, VKFDSdmaQueue),
        VMSTATE_INT64(wait_deadline, VKFDSdmaQueue),
        VMSTATE_UINT32(wait_interval, VKFDSdmaQueue),
        VMSTATE_UINT32(epoch, VKFDSdmaQueue),
        VMSTATE_UINT32(stop, VKFDSdmaQueue),
        VMSTATE_UINT8(parked, VKFDSdmaQueue),
        VMSTATE_UINT8(poll_now, VKFDSdmaQueue),
        VMSTATE_UINT8(wait_mem, VKFDSdmaQueue),
        VMSTATE_UINT8(held, VKFDSdmaQueue),
        VMSTATE_END_OF_LIST()
    }
};

/* Sent once an SDMA queue was on; the registers go with all others. */
static bool vkfd_sdma_needed(void *opaque)
{
    VKFDEngine *e = opaque;

    return !buffer_is_zero(e->sdma, sizeof(e->sdma)) ||
           !buffer_is_zero(e->sdma_ts_offset, sizeof(e->sdma_ts_offset));
}

static const VMStateDescription vmstate_vkfd_sdma = {
    .name = "vkfd/engine/sdma",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = vkfd_sdma_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(sdma, VKFDEngine, VKFD_NUM_SDMA_QUEUES, 1,
                             vmstate_vkfd_sdma_queue, VKFDSdmaQueue),
        VMSTATE_UINT64_ARRAY(sdma_ts_offset, VKFDEngine, VKFD_NUM_SDMA),
        VMSTATE_UINT8(next_sdma, VKFDEngine),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_sched_proc = {
    .name = "vkfd/sched/process",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(pd_base, VKFDSchedProc),
        VMSTATE_UINT64(completion, VKFDSchedProc),
        VMSTATE_INT64(since, VKFDSchedProc),
        VMSTATE_UINT32(sh_mem_bases, VKFDSchedProc),
        VMSTATE_UINT32(sh_mem_config, VKFDSchedProc),
        VMSTATE_UINT32(tba_lo, VKFDSchedProc),
        VMSTATE_UINT32(tba_hi, VKFDSchedProc),
        VMSTATE_UINT32(tma_lo, VKFDSchedProc),
        VMSTATE_UINT32(tma_hi, VKFDSchedProc),
        VMSTATE_UINT16(pasid, VKFDSchedProc),
        VMSTATE_UINT8(used, VKFDSchedProc),
        VMSTATE_UINT8(vmid, VKFDSchedProc),
        VMSTATE_UINT8(quantum, VKFDSchedProc),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_sched_queue = {
    .name = "vkfd/sched/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(mqd, VKFDSchedQueue),
        VMSTATE_UINT64(wptr_addr, VKFDSchedQueue),
        VMSTATE_UINT64(wptr, VKFDSchedQueue),
        VMSTATE_INT64(since, VKFDSchedQueue),
        VMSTATE_UINT32(doorbell, VKFDSchedQueue),
        VMSTATE_UINT16(proc, VKFDSchedQueue),
        VMSTATE_UINT8(state, VKFDSchedQueue),
        VMSTATE_UINT8(engine, VKFDSchedQueue),
        VMSTATE_UINT8(slot, VKFDSchedQueue),
        VMSTATE_UINT8(flags, VKFDSchedQueue),
        VMSTATE_UINT8(vmid, VKFDSchedQueue),
        VMSTATE_UINT8(unmap, VKFDSchedQueue),
        VMSTATE_END_OF_LIST()
    }
};

/* Sent once an interface queue told the scheduler something. */
static bool vkfd_sched_needed(void *opaque)
{
    VKFDEngine *e = opaque;

    return e->sched.queue_top || e->sched.proc_top ||
           e->sched.vmid_mask[0] || e->sched.vmid_mask[1] ||
           e->sched.queue_mask[0] || e->sched.queue_mask[1];
}

/* Only as much of the tables as is used is sent: it must fit before it is read. */
static bool vkfd_sched_tops_ok(void *opaque, int version_id)
{
    VKFDEngine *e = opaque;

    return e->sched.queue_top <= VKFD_SCHED_QUEUES &&
           e->sched.proc_top <= VKFD_SCHED_PROCS;
}

static const VMStateDescription vmstate_vkfd_sched = {
    .name = "vkfd/engine/sched",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = vkfd_sched_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(sched.queue_top, VKFDEngine),
        VMSTATE_UINT32(sched.proc_top, VKFDEngine),
        VMSTATE_VALIDATE("tables of the scheduler too large", vkfd_sched_tops_ok),
        VMSTATE_UINT64_ARRAY(sched.queue_mask, VKFDEngine, 2),
        VMSTATE_UINT32_ARRAY(sched.vmid_mask, VKFDEngine, 2),
        VMSTATE_UINT32_ARRAY(sched.unmap_latency, VKFDEngine, 2),
        VMSTATE_UINT32(sched.ticks, VKFDEngine),
        VMSTATE_INT64(sched.tick, VKFDEngine),
        VMSTATE_UINT16(sched.map_proc, VKFDEngine),
        VMSTATE_STRUCT_VARRAY_UINT32(sched.proc, VKFDEngine, sched.proc_top, 1,
                                     vmstate_vkfd_sched_proc, VKFDSchedProc),
        VMSTATE_STRUCT_VARRAY_UINT32(sched.queue, VKFDEngine, sched.queue_top, 1,
                                     vmstate_vkfd_sched_queue, VKFDSchedQueue),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_vkfd_engine = {
    .name = "vkfd/engine",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        /* Guest-visible in reset values: both ends must agree. */
        VMSTATE_UINT32_EQUAL(cus, VKFDEngine, "property cus differs"),
        VMSTATE_UINT32_ARRAY(regs, VKFDEngine, VKFD_NUM_REGS),
        VMSTATE_UINT32_2DARRAY(vmid_regs, VKFDEngine, VKFD_NUM_VMID,
                               VKFD_VMID_BANK_DW),
        VMSTATE_STRUCT_ARRAY(hqd, VKFDEngine, VKFD_NUM_HQD, 1,
                             vmstate_vkfd_hqd, VKFDHqd),
        VMSTATE_UINT64(ih_last_ts, VKFDEngine),
        VMSTATE_UINT8(ih_armed, VKFDEngine),
        VMSTATE_UINT8(next_hqd, VKFDEngine),
        VMSTATE_UINT32(smn_count, VKFDEngine),
        VMSTATE_STRUCT_ARRAY(smn, VKFDEngine, VKFD_SMN_MAX, 1,
                             vmstate_vkfd_smn, VKFDSmn),
        VMSTATE_UINT32(unmod_count, VKFDEngine),
        VMSTATE_STRUCT_ARRAY(unmod, VKFDEngine, VKFD_UNMOD_MAX, 1,
                             vmstate_vkfd_unmod, VKFDUnmod),
        VMSTATE_UINT64_ARRAY(counters, VKFDEngine, VKFD_CNT_MAX),
        VMSTATE_UINT32(ctrl_cnt_select, VKFDEngine),
        VMSTATE_UINT32(ctrl_cnt_hi, VKFDEngine),
        VMSTATE_UINT32(ctrl_unmod_select, VKFDEngine),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_vkfd_inject,
        &vmstate_vkfd_sdma,
        &vmstate_vkfd_sched,
        NULL
    }
};

static int vkfd_vmstate_post_load(void *opaque, int version_id)
{
    return vkfd_post_load(opaque) ? 0 : -EINVAL;
}

const VMStateDescription vmstate_vkfd = {
    .name = "vkfd",
    .version_id = 3,            /* 3: counters of dispatches and the scheduler; 2: of injection */
    .minimum_version_id = 3,
    .post_load = vkfd_vmstate_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, VKFDState),
        VMSTATE_MSIX(parent_obj, VKFDState),
        VMSTATE_STRUCT(engine, VKFDState, 1, vmstate_vkfd_engine, VKFDEngine),
        VMSTATE_END_OF_LIST()
    }
};
