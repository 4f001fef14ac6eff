/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd: what the engine reaches of QEMU (VKFDBusOps of engine.h). Called under
 * the BQL, from MMIO handlers, the bottom half and timers.
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "hw/pci/msix.h"
#include "trace.h"
#include "vkfd.h"

/* .memory: only RAM may be the target, so DMA never re-enters a device. */
static const MemTxAttrs vkfd_dma_attrs = { .memory = true };

static bool vkfd_op_dma_read(void *opaque, uint64_t addr, void *buf,
                             uint32_t len)
{
    VKFDState *s = opaque;
    bool ok = pci_dma_rw(PCI_DEVICE(s), addr, buf, len,
                         DMA_DIRECTION_TO_DEVICE, vkfd_dma_attrs) == MEMTX_OK;

    trace_vkfd_dma_read(s, addr, len, ok);
    return ok;
}

/* pci_dma_rw() has a full barrier before each access: writes stay in order. */
static bool vkfd_op_dma_write(void *opaque, uint64_t addr, const void *buf,
                              uint32_t len)
{
    VKFDState *s = opaque;
    bool ok = pci_dma_rw(PCI_DEVICE(s), addr, (void *)buf, len,
                         DMA_DIRECTION_FROM_DEVICE, vkfd_dma_attrs) == MEMTX_OK;

    trace_vkfd_dma_write(s, addr, len, ok);
    return ok;
}

/* What is not RAM is mapped as a bounce buffer, which belongs to no region. */
static void *vkfd_op_dma_map(void *opaque, uint64_t addr, uint32_t *len, bool write)
{
    VKFDState *s = opaque;
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    dma_addr_t plen = *len;
    ram_addr_t off;
    void *host = address_space_map(as, addr, &plen, write, vkfd_dma_attrs);

    if (host && !memory_region_from_host(host, &off)) {
        address_space_unmap(as, host, plen, write, 0);
        host = NULL;
    }
    *len = host ? plen : 0;
    trace_vkfd_dma_map(s, addr, *len, write);
    return host;
}

static void vkfd_op_dma_unmap(void *opaque, void *host, uint32_t len, bool write,
                              uint32_t written)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(opaque));

    address_space_unmap(as, host, len, write, written);
}

/*
 * On the RAM itself, so that it is atomic for vCPUs. What is not RAM is mapped as
 * a bounce buffer, which belongs to no region; nothing of it was read or will be
 * written.
 */
static VKFDRmw vkfd_op_dma_atomic(void *opaque, uint64_t addr, uint32_t len,
                                  VKFDAtomic *a)
{
    VKFDState *s = opaque;
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    VKFDRmw how = VKFD_RMW_REFUSED;
    dma_addr_t plen = len;
    ram_addr_t off;
    void *host = address_space_map(as, addr, &plen, true, vkfd_dma_attrs);
    bool ram = host && memory_region_from_host(host, &off);

    if (ram && plen >= len && QEMU_PTR_IS_ALIGNED(host, len)) {
        how = vkfd_atomic_apply(host, len, a) ? VKFD_RMW_DONE : VKFD_RMW_BUSY;
    }
    if (host) {
        address_space_unmap(as, host, plen, true, how == VKFD_RMW_DONE ? len : 0);
    }
    trace_vkfd_dma_atomic(s, addr, len, a->op, how);
    return how;
}

/* The memory map stays as it is while the BQL is held, so also once RCU is let go. */
static const void *vkfd_op_dma_page(void *opaque, uint64_t addr)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(opaque));
    hwaddr off, len = AMDGPU_GPU_PAGE_SIZE;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(as, addr, &off, &len, false, vkfd_dma_attrs);
    if (len < AMDGPU_GPU_PAGE_SIZE || !memory_region_is_ram(mr) ||
        memory_region_is_ram_device(mr)) {
        return NULL;
    }
    return (uint8_t *)memory_region_get_ram_ptr(mr) + off;
}

static void vkfd_op_raise_irq(void *opaque)
{
    VKFDState *s = opaque;
    PCIDevice *pdev = PCI_DEVICE(s);

    trace_vkfd_msix_notify(s, msix_enabled(pdev));
    if (msix_enabled(pdev)) {
        msix_notify(pdev, 0);
    }
}

static uint64_t vkfd_op_now_ns(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void vkfd_op_set_timer(void *opaque, unsigned which, int64_t deadline)
{
    VKFDState *s = opaque;

    trace_vkfd_cp_timer(s, which, deadline);
    /* A message can unplug its sender: what comes after it starts nothing. */
    if (deadline < 0 || !s->vram) {
        timer_del(&s->timer[which]);
    } else {
        timer_mod(&s->timer[which], deadline);
    }
}

static void vkfd_op_schedule(void *opaque)
{
    VKFDState *s = opaque;

    if (!s->vram) {
        return;                 /* unplugged: the bottom half is no more */
    }
    s->run_wanted = true;
    if (s->in_run) {
        int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

        if (!s->busy_since) {
            s->busy_since = now;
        } else if (now - s->busy_since >= VKFD_BUSY_NS) {
            s->busy_since = 0;
            timer_mod(&s->yield, now + VKFD_YIELD_NS);
            return;
        }
    }
    qemu_bh_schedule(s->bh);
}

/* A vCPU that is in the device must come out before the VM stops: not from here. */
static void vkfd_op_pause(void *opaque)
{
    VKFDState *s = opaque;

    if (s->vram) {
        qemu_bh_schedule(s->pause_bh);
    }
}

static void vkfd_op_vram_dirty(void *opaque, uint64_t off, uint64_t len)
{
    VKFDState *s = opaque;

    memory_region_set_dirty(s->vram, off, len);
}

static void vkfd_op_log_guest_error(void *opaque, const char *msg)
{
    trace_vkfd_err_guest(opaque, msg);
    qemu_log_mask(LOG_GUEST_ERROR, "vkfd: %s\n", msg);
}

static void vkfd_op_trace(void *s, VKFDTraceId id, const uint64_t *a)
{
    switch (id) {
    case VKFD_TRACE_REG_READ:
        trace_vkfd_reg_read(s, a[0], a[1]);
        break;
    case VKFD_TRACE_REG_WRITE:
        trace_vkfd_reg_write(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_REG_UNMODELLED:
        trace_vkfd_reg_unmodelled(s, a[0], a[1], a[2]);
        qemu_log_mask(LOG_UNIMP, "vkfd: %s of register 0x%05" PRIx64
                      ", which is not modelled\n", a[2] ? "write" : "read",
                      a[0]);
        break;
    case VKFD_TRACE_DOORBELL:
        trace_vkfd_doorbell_write(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_DOORBELL_DROP:
        trace_vkfd_doorbell_drop(s, a[0], a[1]);
        break;
    case VKFD_TRACE_HQD_ACTIVATE:
        trace_vkfd_hqd_activate(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_HQD_DEQUEUE:
        trace_vkfd_hqd_dequeue(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_HQD_STOP:
        trace_vkfd_err_hqd_stop(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_HQD_WPTR:
        trace_vkfd_hqd_wptr(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_HQD_RPTR:
        trace_vkfd_hqd_rptr(s, a[0], a[1]);
        break;
    case VKFD_TRACE_CP_RUN:
        trace_vkfd_cp_run(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_PM4_PACKET:
        trace_vkfd_pm4_packet(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_PM4_SKIP:
        trace_vkfd_pm4_skip(s, a[0], a[1]);
        break;
    case VKFD_TRACE_PM4_BAD:
        trace_vkfd_err_pm4_bad(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_PM4_PRIV:
        trace_vkfd_err_pm4_priv(s, a[0], a[1]);
        break;
    case VKFD_TRACE_RELEASE_MEM:
        trace_vkfd_release_mem(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_WAIT_PARK:
        trace_vkfd_wait_park(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_WAIT_WAKE:
        trace_vkfd_wait_wake(s, a[0], a[1]);
        break;
    case VKFD_TRACE_IH_PUSH:
        trace_vkfd_ih_push(s, a[0], a[1], a[2], a[3], a[4], a[5]);
        break;
    case VKFD_TRACE_IH_LOST:
        trace_vkfd_err_ih_lost(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_IH_OVERFLOW:
        trace_vkfd_err_ih_overflow(s, a[0], a[1]);
        break;
    case VKFD_TRACE_IH_RPTR:
        trace_vkfd_ih_rptr(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_IH_IRQ:
        trace_vkfd_ih_irq(s, a[0], a[1]);
        break;
    case VKFD_TRACE_VM_FAULT:
        trace_vkfd_err_vm_fault(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_VM_INVALIDATE:
        trace_vkfd_vm_invalidate(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_DMA_REFUSED:
        trace_vkfd_err_dma(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_RESET:
        trace_vkfd_engine_reset(s, a[0]);
        break;
    case VKFD_TRACE_INJECT_ARM:
        trace_vkfd_inject_arm(s, a[0], a[1]);
        break;
    case VKFD_TRACE_INJECT_FIRE:
        trace_vkfd_inject_fire(s, a[0], vkfd_inject_point_name(a[1]),
                               vkfd_inject_action_name(a[2]), a[3]);
        break;
    case VKFD_TRACE_INJECT_REFUSE:
        trace_vkfd_inject_refuse(s, a[0], vkfd_inject_point_name(a[1]),
                                 vkfd_inject_action_name(a[2]), a[3]);
        break;
    case VKFD_TRACE_INJECT_DONE:
        trace_vkfd_inject_done(s, vkfd_inject_point_name(a[0]), a[1], a[2]);
        break;
    case VKFD_TRACE_DISPATCH:
        trace_vkfd_dispatch(s, a[0], a[1], a[2], a[3], a[4], a[5]);
        qemu_log_mask(LOG_UNIMP, "vkfd: dispatch of %" PRIu64 "x%" PRIu64 "x%"
                      PRIu64 " workgroups %s: shaders are not run\n", a[1], a[2],
                      a[3], a[5] ? "refused" : "skipped");
        break;
    case VKFD_TRACE_ATOMIC:
        trace_vkfd_atomic(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_AQL_PACKET:
        trace_vkfd_aql_packet(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_AQL_COMPLETE:
        trace_vkfd_aql_complete(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_AQL_ERROR:
        trace_vkfd_err_aql(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_SDMA_ENABLE:
        trace_vkfd_sdma_enable(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_SDMA_OFF:
        trace_vkfd_sdma_off(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_SDMA_STOP:
        trace_vkfd_err_sdma_stop(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_SDMA_WPTR:
        trace_vkfd_sdma_wptr(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_SDMA_RPTR:
        trace_vkfd_sdma_rptr(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SDMA_RUN:
        trace_vkfd_sdma_run(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_SDMA_PACKET:
        trace_vkfd_sdma_packet(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_SDMA_SKIP:
        trace_vkfd_sdma_skip(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SDMA_BAD:
        trace_vkfd_err_sdma_bad(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_SDMA_PRIV:
        trace_vkfd_err_sdma_priv(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SDMA_PARK:
        trace_vkfd_sdma_park(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_SDMA_WAKE:
        trace_vkfd_sdma_wake(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SDMA_TRAP:
        trace_vkfd_sdma_trap(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SCHED_MAP:
        trace_vkfd_sched_map(s, a[0], a[1], a[2], a[3], a[4], a[5]);
        break;
    case VKFD_TRACE_SCHED_UNMAP:
        trace_vkfd_sched_unmap(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SCHED_LOAD:
        trace_vkfd_sched_load(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_SCHED_SWAP:
        trace_vkfd_sched_swap(s, a[0], a[1], a[2], a[3], a[4]);
        break;
    case VKFD_TRACE_SCHED_WAKE:
        trace_vkfd_sched_wake(s, a[0], a[1]);
        break;
    case VKFD_TRACE_SCHED_VMID:
        trace_vkfd_sched_vmid(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_SCHED_RUNLIST:
        trace_vkfd_sched_runlist(s, a[0], a[1], a[2], a[3]);
        break;
    case VKFD_TRACE_SCHED_BAD:
        trace_vkfd_err_sched_bad(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_SCHED_GIVE_UP:
        trace_vkfd_err_sched_give_up(s, a[0], a[1], a[2]);
        break;
    case VKFD_TRACE_MAX:
        break;
    }
}

const VKFDBusOps vkfd_bus_ops = {
    .dma_read = vkfd_op_dma_read,
    .dma_write = vkfd_op_dma_write,
    .dma_map = vkfd_op_dma_map,
    .dma_unmap = vkfd_op_dma_unmap,
    .dma_atomic = vkfd_op_dma_atomic,
    .dma_page = vkfd_op_dma_page,
    .raise_irq = vkfd_op_raise_irq,
    .now_ns = vkfd_op_now_ns,
    .set_timer = vkfd_op_set_timer,
    .schedule = vkfd_op_schedule,
    .vram_dirty = vkfd_op_vram_dirty,
    .trace = vkfd_op_trace,
    .log_guest_error = vkfd_op_log_guest_error,
    .pause = vkfd_op_pause,
};
