/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd: a virtual AMD compute GPU (Vega20, gfx906) as a PCI Express function.
 *
 * This file is the front end: QOM, BARs, capabilities, MSI-X, reset and the bus
 * operations the engine asks for. What the hardware does is in the engine.
 *
 *   -device vkfd[,vram-size=SIZE][,visible-vram=SIZE][,cus=N][,memdev=ID]
 *                [,dispatch=skip|error][,inject=SPECS]
 *
 *   vram-size       64 MiB to 16 GiB, a power of two (default 1 GiB)
 *   visible-vram    part of it that drivers may offer as CPU-visible, whole MiB
 *                   (default: all). BAR0 maps all of it in any case.
 *   cus             compute units, 1 to 16 (default 4)
 *   memdev          memory backend of exactly vram-size to use as VRAM
 *   dispatch        a shader to be run: pass it over (default), or stop its queue
 *   inject          faults to inject (docs/injection.md)
 *   x-cp-budget     units of work a queue gets in one pass
 *
 * Read-only properties "counters" and "unmodelled-accesses" list what the
 * control page in BAR4 shows to the guest, "queues" what is on its slots.
 *
 * It belongs behind a pcie-root-port. On a conventional bus it works as well,
 * there without extended configuration space.
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci_bridge.h"
#include "hw/pci/pci_bus.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "system/runstate.h"
#include "trace.h"
#include "vkfd.h"

#define VKFD_VRAM_MIN       (64 * MiB)
#define VKFD_VRAM_MAX       (16 * GiB)

/* Capabilities sit where they do on the real part. */
#define VKFD_CAP_PM         0x50
#define VKFD_CAP_EXP        0x64
#define VKFD_CAP_MSIX       0xc0

/*
 * Let the engine know where our BARs are, so that its DMA to them stays inside.
 * Mappings change in several ways (config writes, reset, power state), so this
 * is called before anything that may do DMA rather than where they change.
 */
void vkfd_sync_bars(VKFDState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    pcibus_t vram = pci_get_bar_addr(pdev, VKFD_BAR_VRAM);
    pcibus_t doorbell = pci_get_bar_addr(pdev, VKFD_BAR_DOORBELL);
    bool valid = vram != PCI_BAR_UNMAPPED && doorbell != PCI_BAR_UNMAPPED;

    if (valid == s->engine.bars_valid &&
        (!valid || (vram == s->engine.bar0 && doorbell == s->engine.bar2))) {
        return;
    }
    trace_vkfd_pci_bars(s, vram, doorbell);
    vkfd_engine_set_bars(&s->engine, valid, valid ? vram : 0,
                         memory_region_size(s->vram),
                         valid ? doorbell : 0);
}

/* Running the engine */

static void vkfd_bh(void *opaque)
{
    VKFDState *s = opaque;
    bool running = runstate_is_running();

    trace_vkfd_cp_bh(s, running);
    /* Bottom halves run in a stopped VM too; run_wanted brings us back. */
    if (!running) {
        return;
    }
    s->run_wanted = false;
    vkfd_sync_bars(s);
    s->in_run = true;
    vkfd_engine_run(&s->engine);
    s->in_run = false;
    if (!s->run_wanted) {
        s->busy_since = 0;
    }
}

static void vkfd_yield_over(void *opaque)
{
    VKFDState *s = opaque;

    qemu_bh_schedule(s->bh);
}

static void vkfd_pause_bh(void *opaque)
{
    VKFDState *s = opaque;

    /* Somebody may have stopped it, or loaded another state, in between. */
    if (s->engine.inject_pause && runstate_is_running()) {
        vm_stop(RUN_STATE_PAUSED);
    }
}

static void vkfd_vm_change_state(void *opaque, bool running, RunState state)
{
    VKFDState *s = opaque;

    if (running) {
        vkfd_engine_resume(&s->engine);
    }
    if (running && s->run_wanted) {
        qemu_bh_schedule(s->bh);
    }
}

static void vkfd_timer_wait(void *opaque)
{
    VKFDState *s = opaque;

    vkfd_sync_bars(s);
    vkfd_engine_timer(&s->engine, VKFD_TIMER_WAIT);
}

static void vkfd_timer_inject(void *opaque)
{
    VKFDState *s = opaque;

    vkfd_sync_bars(s);
    vkfd_engine_timer(&s->engine, VKFD_TIMER_INJECT);
}

static void vkfd_timer_sched(void *opaque)
{
    VKFDState *s = opaque;

    vkfd_sync_bars(s);
    vkfd_engine_timer(&s->engine, VKFD_TIMER_SCHED);
}

static QEMUTimerCB *const vkfd_timer_cb[VKFD_NUM_TIMERS] = {
    [VKFD_TIMER_WAIT] = vkfd_timer_wait,
    [VKFD_TIMER_INJECT] = vkfd_timer_inject,
    [VKFD_TIMER_SCHED] = vkfd_timer_sched,
};

/*
 * BARs. Regions accept every size and alignment, so that bad ones reach us and
 * are counted; one access is never split in two (a 64-bit doorbell carries one
 * value).
 */

static bool vkfd_dword(VKFDState *s, const char *bar, hwaddr off, unsigned size,
                       bool write)
{
    if (size == 4 && QEMU_IS_ALIGNED(off, 4)) {
        return true;
    }
    trace_vkfd_err_access(s, bar, off, size, write);
    qemu_log_mask(LOG_GUEST_ERROR, "vkfd: %u-byte access to %s at 0x%"
                  HWADDR_PRIx "\n", size, bar, off);
    vkfd_count(&s->engine, VKFD_CNT_BAD_ACCESS);
    return false;
}

static uint64_t vkfd_bar_mmio_read(void *opaque, hwaddr off, unsigned size)
{
    VKFDState *s = opaque;

    return vkfd_dword(s, "registers", off, size, false) ?
           vkfd_mmio_read(&s->engine, off) : 0;
}

static void vkfd_bar_mmio_write(void *opaque, hwaddr off, uint64_t val,
                                unsigned size)
{
    VKFDState *s = opaque;

    if (vkfd_dword(s, "registers", off, size, true)) {
        vkfd_sync_bars(s);
        vkfd_mmio_write(&s->engine, off, val);
    }
}

static uint64_t vkfd_bar_control_read(void *opaque, hwaddr off, unsigned size)
{
    VKFDState *s = opaque;

    return vkfd_dword(s, "control page", off, size, false) ?
           vkfd_ctrl_read(&s->engine, off) : 0;
}

static void vkfd_bar_control_write(void *opaque, hwaddr off, uint64_t val,
                                   unsigned size)
{
    VKFDState *s = opaque;

    if (vkfd_dword(s, "control page", off, size, true)) {
        vkfd_sync_bars(s);
        vkfd_ctrl_write(&s->engine, off, val);
    }
}

/* Sizes and alignment of doorbells are the engine's to check. */
static uint64_t vkfd_bar_doorbell_read(void *opaque, hwaddr off, unsigned size)
{
    VKFDState *s = opaque;

    return vkfd_doorbell_read(&s->engine, off, size);
}

static void vkfd_bar_doorbell_write(void *opaque, hwaddr off, uint64_t val,
                                    unsigned size)
{
    VKFDState *s = opaque;

    vkfd_sync_bars(s);
    vkfd_doorbell_write(&s->engine, off, val, size);
}

#define VKFD_ANY_ACCESS { \
        .min_access_size = 1, .max_access_size = 8, .unaligned = true, \
    }

static const MemoryRegionOps vkfd_bar_mmio_ops = {
    .read = vkfd_bar_mmio_read,
    .write = vkfd_bar_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = VKFD_ANY_ACCESS,
    .impl = VKFD_ANY_ACCESS,
};

static const MemoryRegionOps vkfd_bar_control_ops = {
    .read = vkfd_bar_control_read,
    .write = vkfd_bar_control_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = VKFD_ANY_ACCESS,
    .impl = VKFD_ANY_ACCESS,
};

static const MemoryRegionOps vkfd_bar_doorbell_ops = {
    .read = vkfd_bar_doorbell_read,
    .write = vkfd_bar_doorbell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = VKFD_ANY_ACCESS,
    .impl = VKFD_ANY_ACCESS,
};

/* A message sent now reaches the guest, or is kept as pending by MSI-X. */
static bool vkfd_irq_path(PCIDevice *pdev)
{
    return msix_enabled(pdev) && (pci_get_word(pdev->config + PCI_COMMAND) &
                                  PCI_COMMAND_MASTER);
}

static void vkfd_write_config(PCIDevice *pdev, uint32_t addr, uint32_t val,
                              int len)
{
    VKFDState *s = VKFD(pdev);
    bool had_path = vkfd_irq_path(pdev);

    pci_default_write_config(pdev, addr, val, len);
    pcie_cap_flr_write_config(pdev, addr, val, len);
    if (!had_path && vkfd_irq_path(pdev)) {
        vkfd_engine_irq_path_up(&s->engine);
    }
}

/* Reset */

/*
 * FLR and secondary bus reset arrive as a cold reset; the bit that caused them
 * is still set. They keep what the host or a test observes (counters).
 */
static bool vkfd_reset_is_warm(PCIDevice *pdev)
{
    PCIDevice *bridge = pci_bridge_get_device(pci_get_bus(pdev));

    return pci_get_word(pdev->config + pdev->exp.exp_cap + PCI_EXP_DEVCTL) &
           PCI_EXP_DEVCTL_BCR_FLR ||
           (bridge && pci_get_word(bridge->config + PCI_BRIDGE_CONTROL) &
                      PCI_BRIDGE_CTL_BUS_RESET);
}

/*
 * Local state only: nothing here touches memory or another device. The engine
 * cancels its timers. The PCI core unmaps the BARs later; vkfd_sync_bars() will
 * see that.
 */
static void vkfd_reset_enter(Object *obj, ResetType type)
{
    VKFDState *s = VKFD(obj);
    PCIDevice *pdev = PCI_DEVICE(obj);
    bool cold = !vkfd_reset_is_warm(pdev);

    trace_vkfd_pci_reset(s, cold);
    qemu_bh_cancel(s->bh);
    timer_del(&s->yield);
    s->busy_since = 0;
    s->run_wanted = false;
    vkfd_engine_reset(&s->engine, cold);
    /* Not reset by the PCI core. */
    pci_word_test_and_clear_mask(pdev->config + pdev->exp.exp_cap +
                                 PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_ATOMIC_REQ);
}

bool vkfd_post_load(VKFDState *s)
{
    vkfd_sync_bars(s);
    return vkfd_engine_post_load(&s->engine);
}

/* Realize and its reverse */

static bool vkfd_check_params(VKFDState *s, Error **errp)
{
    VKFDProps *p = &s->props;

    if (!is_power_of_2(p->vram_size) || p->vram_size < VKFD_VRAM_MIN ||
        p->vram_size > VKFD_VRAM_MAX) {
        error_setg(errp, "property 'vram-size' must be a power of two "
                   "from 64 MiB to 16 GiB");
        return false;
    }
    if (p->visible_vram != VKFD_VISIBLE_ALL &&
        (!QEMU_IS_ALIGNED(p->visible_vram, MiB) ||
         p->visible_vram > p->vram_size)) {
        error_setg(errp, "property 'visible-vram' must be whole MiB, "
                   "from 0 to vram-size");
        return false;
    }
    if (p->cus < 1 || p->cus > VKFD_CUS_MAX) {
        error_setg(errp, "property 'cus' must be from 1 to %d",
                   VKFD_CUS_MAX);
        return false;
    }
    if (p->cp_budget < 1 || p->cp_budget > VKFD_CP_BUDGET_MAX) {
        error_setg(errp, "property 'x-cp-budget' must be from 1 to %d",
                   VKFD_CP_BUDGET_MAX);
        return false;
    }
    if (p->memdev) {
        MemoryRegion *mr = host_memory_backend_get_memory(p->memdev);

        if (host_memory_backend_is_mapped(p->memdev)) {
            error_setg(errp, "property 'memdev': backend '%s' is "
                       "already in use",
                       object_get_canonical_path_component(OBJECT(p->memdev)));
            return false;
        }
        if (memory_region_size(mr) != p->vram_size) {
            error_setg(errp, "property 'memdev': backend '%s' has not "
                       "the size of 'vram-size'",
                       object_get_canonical_path_component(OBJECT(p->memdev)));
            return false;
        }
        if (memory_region_is_rom(mr)) {
            error_setg(errp, "property 'memdev': backend '%s' is "
                       "read-only",
                       object_get_canonical_path_component(OBJECT(p->memdev)));
            return false;
        }
    }
    return true;
}

static bool vkfd_init_caps(PCIDevice *pdev, Error **errp)
{
    uint8_t *exp;

    if (pci_pm_init(pdev, VKFD_CAP_PM, errp) < 0) {
        return false;
    }
    /* The offset is ours and free, so this cannot fail. */
    pcie_endpoint_cap_init(pdev, VKFD_CAP_EXP);
    pcie_cap_flr_init(pdev);
    exp = pdev->config + pdev->exp.exp_cap;
    pci_long_test_and_set_mask(exp + PCI_EXP_DEVCAP2,
                               PCI_EXP_DEVCAP2_ATOMIC_COMP32 |
                               PCI_EXP_DEVCAP2_ATOMIC_COMP64);
    pci_word_test_and_set_mask(pdev->wmask + pdev->exp.exp_cap +
                               PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_ATOMIC_REQ);
    return true;
}

static void vkfd_init_bars(VKFDState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    Object *obj = OBJECT(s);
    uint8_t pref64 = PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH;

    memory_region_init_io(&s->bar_doorbell, obj, &vkfd_bar_doorbell_ops, s,
                          "vkfd.doorbell", VKFD_DOORBELL_BAR_SIZE);
    memory_region_init_io(&s->bar_mmio, obj, &vkfd_bar_mmio_ops, s,
                          "vkfd.mmio", VKFD_MMIO_SIZE);
    memory_region_init_io(&s->control_page, obj, &vkfd_bar_control_ops, s,
                          "vkfd.control-page",
                          VKFD_CONTROL_BAR_SIZE - VKFD_CONTROL_PAGE_OFFSET);
    memory_region_add_subregion(&s->bar_control, VKFD_CONTROL_PAGE_OFFSET,
                                &s->control_page);

    pci_register_bar(pdev, VKFD_BAR_VRAM, pref64, s->vram);
    pci_register_bar(pdev, VKFD_BAR_DOORBELL, pref64, &s->bar_doorbell);
    pci_register_bar(pdev, VKFD_BAR_CONTROL, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->bar_control);
    pci_register_bar(pdev, VKFD_BAR_MMIO, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->bar_mmio);
}

static void vkfd_realize(PCIDevice *pdev, Error **errp)
{
    VKFDState *s = VKFD(pdev);
    VKFDParams params;
    unsigned i;

    if (!vkfd_check_params(s, errp) || !vkfd_init_caps(pdev, errp)) {
        return;
    }

    memory_region_init(&s->bar_control, OBJECT(s), "vkfd.control",
                       VKFD_CONTROL_BAR_SIZE);
    if (msix_init(pdev, VKFD_MSIX_VECTORS, &s->bar_control, VKFD_BAR_CONTROL,
                  VKFD_MSIX_TABLE_OFFSET, &s->bar_control, VKFD_BAR_CONTROL,
                  VKFD_MSIX_PBA_OFFSET, VKFD_CAP_MSIX, errp) < 0) {
        return;
    }
    msix_vector_use(pdev, 0);

    if (s->props.memdev) {
        s->vram = host_memory_backend_get_memory(s->props.memdev);
        host_memory_backend_set_mapped(s->props.memdev, true);
        vmstate_register_ram(s->vram, DEVICE(s));
    } else if (memory_region_init_ram(&s->vram_ram, OBJECT(s), "vkfd.vram",
                                      s->props.vram_size, errp)) {
        s->vram = &s->vram_ram;
    } else {
        msix_uninit(pdev, &s->bar_control, &s->bar_control);
        return;
    }
    vkfd_init_bars(s);

    s->bh = qemu_bh_new_guarded(vkfd_bh, s, &DEVICE(s)->mem_reentrancy_guard);
    /* Not guarded: while it waits for the vCPUs they may still be in our registers. */
    s->pause_bh = qemu_bh_new(vkfd_pause_bh, s);
    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        timer_init_ns(&s->timer[i], QEMU_CLOCK_VIRTUAL, vkfd_timer_cb[i], s);
    }
    timer_init_ns(&s->yield, QEMU_CLOCK_REALTIME, vkfd_yield_over, s);
    s->vm_change = qdev_add_vm_change_state_handler(DEVICE(s),
                                                    vkfd_vm_change_state, s);
    params = (VKFDParams) {
        .vram = memory_region_get_ram_ptr(s->vram),
        .vram_size = s->props.vram_size,
        .hidden_vram = s->props.vram_size -
                       MIN(s->props.visible_vram, s->props.vram_size),
        .cus = s->props.cus,
        .cp_budget = s->props.cp_budget,
        .dispatch_error = s->props.dispatch == VKFD_DISPATCH_ERROR,
    };
    /* Parameters were checked against the same limits. */
    if (!vkfd_engine_init(&s->engine, &params, &vkfd_bus_ops, s)) {
        g_assert_not_reached();
    }
    vkfd_inject_realize(s);
}

static void vkfd_exit(PCIDevice *pdev)
{
    VKFDState *s = VKFD(pdev);
    unsigned i;

    /*
     * Nothing runs from here on. A guest can point an MSI-X message at what
     * unplugs its sender, so this may be under vkfd_engine_run().
     */
    vkfd_engine_reset(&s->engine, true);
    qemu_del_vm_change_state_handler(s->vm_change);
    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        timer_del(&s->timer[i]);
    }
    timer_del(&s->yield);
    qemu_bh_delete(s->bh);
    qemu_bh_delete(s->pause_bh);
    if (s->props.memdev) {
        vmstate_unregister_ram(s->vram, DEVICE(s));
        host_memory_backend_set_mapped(s->props.memdev, false);
    }
    s->vram = NULL;
    /* A subregion holds its owner, and the owner is this device. */
    memory_region_del_subregion(&s->bar_control, &s->control_page);
    msix_uninit(pdev, &s->bar_control, &s->bar_control);
    pcie_cap_exit(pdev);
}

/* QOM */

/* Lists of strings, so that qom-get shows them as they are. */
static void vkfd_get_unmodelled(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    VKFDState *s = VKFD(obj);
    strList *list = NULL, **tail = &list;
    VKFDUnmod u;
    uint32_t i;

    for (i = 0; s->vram && vkfd_unmod_get(&s->engine, i, &u); i++) {
        QAPI_LIST_APPEND(tail, g_strdup_printf("0x%05x reads %u writes %u",
                                               u.reg, u.reads, u.writes));
    }
    visit_type_strList(v, name, &list, errp);
    qapi_free_strList(list);
}

static void vkfd_get_counters(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    VKFDState *s = VKFD(obj);
    strList *list = NULL, **tail = &list;
    const char *counter;
    unsigned i;

    for (i = 0; (counter = vkfd_counter_name(i)); i++) {
        QAPI_LIST_APPEND(tail, g_strdup_printf("%s %" PRIu64, counter,
                                               s->engine.counters[i]));
    }
    visit_type_strList(v, name, &list, errp);
    qapi_free_strList(list);
}

static const char *const vkfd_dispatch_names[] = {
    [VKFD_DISPATCH_SKIP] = "skip",
    [VKFD_DISPATCH_ERROR] = "error",
};

static const QEnumLookup vkfd_dispatch_lookup = {
    .array = vkfd_dispatch_names,
    .size = ARRAY_SIZE(vkfd_dispatch_names),
};

static int vkfd_get_dispatch(Object *obj, Error **errp)
{
    return VKFD(obj)->props.dispatch;
}

/* Also while it runs: the next dispatch meets it. */
static void vkfd_set_dispatch(Object *obj, int value, Error **errp)
{
    VKFDState *s = VKFD(obj);

    s->props.dispatch = value;
    s->engine.dispatch_error = value == VKFD_DISPATCH_ERROR;
}

static const Property vkfd_properties[] = {
    DEFINE_PROP_SIZE("vram-size", VKFDState, props.vram_size, 1 * GiB),
    DEFINE_PROP_SIZE("visible-vram", VKFDState, props.visible_vram,
                     VKFD_VISIBLE_ALL),
    DEFINE_PROP_UINT32("cus", VKFDState, props.cus, 4),
    DEFINE_PROP_UINT32("x-cp-budget", VKFDState, props.cp_budget,
                       VKFD_CP_BUDGET_DEFAULT),
    DEFINE_PROP_LINK("memdev", VKFDState, props.memdev, TYPE_MEMORY_BACKEND,
                     HostMemoryBackend *),
};

static void vkfd_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    pc->realize = vkfd_realize;
    pc->exit = vkfd_exit;
    pc->config_write = vkfd_write_config;
    pc->vendor_id = VKFD_PCI_VENDOR_ID;
    pc->device_id = VKFD_PCI_DEVICE_ID;
    pc->revision = VKFD_PCI_REVISION;
    pc->class_id = VKFD_PCI_CLASS;
    pc->subsystem_vendor_id = VKFD_PCI_SUBSYS_VENDOR_ID;
    pc->subsystem_id = VKFD_PCI_SUBSYS_ID;

    rc->phases.enter = vkfd_reset_enter;

    dc->desc = "Virtual AMD compute GPU (Vega20)";
    dc->vmsd = &vmstate_vkfd;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, vkfd_properties);

    object_class_property_set_description(klass, "vram-size",
        "Size of VRAM: a power of two from 64 MiB to 16 GiB");
    object_class_property_set_description(klass, "visible-vram",
        "VRAM that drivers may report as CPU-visible: whole MiB, default all");
    object_class_property_set_description(klass, "cus",
        "Compute units, 1 to 16");
    object_class_property_set_description(klass, "memdev",
        "Memory backend of vram-size to use as VRAM");
    object_class_property_set_description(klass, "x-cp-budget",
        "Units of work a queue gets in one pass");
    object_class_property_add_enum(klass, "dispatch", "VKFDDispatch",
                                   &vkfd_dispatch_lookup, vkfd_get_dispatch,
                                   vkfd_set_dispatch);
    object_class_property_set_description(klass, "dispatch",
        "What becomes of a dispatch, whose shader is not run: skip or error");
    object_class_property_add(klass, "unmodelled-accesses", "strList",
                              vkfd_get_unmodelled, NULL, NULL, NULL);
    object_class_property_set_description(klass, "unmodelled-accesses",
        "Registers the guest used that are not modelled");
    object_class_property_add(klass, "counters", "strList", vkfd_get_counters,
                              NULL, NULL, NULL);
    object_class_property_set_description(klass, "counters",
        "Event counters, as in the control page");
    vkfd_inject_class_init(klass);
    vkfd_queues_class_init(klass);
}

static void vkfd_finalize(Object *obj)
{
    g_free(VKFD(obj)->props.inject);
}

static const TypeInfo vkfd_types[] = {
    {
        .name = TYPE_VKFD,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(VKFDState),
        .instance_finalize = vkfd_finalize,
        .class_init = vkfd_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { }
        },
    },
};

DEFINE_TYPES(vkfd_types)
