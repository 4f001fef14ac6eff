/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd: PCI front end of the emulated compute GPU. The engine (engine.h) is the
 * hardware; this connects it to QEMU's bus, memory, clock and migration.
 *
 * Everything runs under the BQL: MMIO handlers on vCPU threads, the bottom half
 * and the timers in the main loop.
 */
#ifndef HW_VKFD_VKFD_H
#define HW_VKFD_VKFD_H

#include "hw/pci/pci_device.h"
#include "migration/vmstate.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "system/hostmem.h"
#include "engine.h"

#define TYPE_VKFD "vkfd"
OBJECT_DECLARE_SIMPLE_TYPE(VKFDState, VKFD)

/* visible-vram not given: all of VRAM. */
#define VKFD_VISIBLE_ALL        UINT64_MAX

/* Host time only: which packets run, and in which order, is the same without. */
#define VKFD_BUSY_NS            200000
#define VKFD_YIELD_NS           20000

/* What becomes of a dispatch, whose shader is not run in any case. */
typedef enum VKFDDispatch {
    VKFD_DISPATCH_SKIP,
    VKFD_DISPATCH_ERROR,
} VKFDDispatch;

/* What the user chose; checked once, before anything is allocated. */
typedef struct VKFDProps {
    uint64_t vram_size;         /* bytes */
    uint64_t visible_vram;      /* bytes of VRAM in BAR0, or VKFD_VISIBLE_ALL */
    uint32_t cus;
    uint32_t cp_budget;         /* work units a queue gets in one pass */
    VKFDDispatch dispatch;
    HostMemoryBackend *memdev;  /* VRAM, or NULL: the device's own RAM */
    char *inject;               /* faults to arm when realized, or NULL */
} VKFDProps;

struct VKFDState {
    PCIDevice parent_obj;

    VKFDProps props;

    MemoryRegion vram_ram;      /* VRAM, when there is no memdev */
    MemoryRegion *vram;         /* BAR0, whoever owns it; NULL: not realized */
    MemoryRegion bar_doorbell;
    MemoryRegion bar_control;   /* container: MSI-X table, PBA, control page */
    MemoryRegion control_page;
    MemoryRegion bar_mmio;

    VKFDEngine engine;

    QEMUBH *bh;
    QEMUBH *pause_bh;           /* fault injection wants the VM stopped */
    QEMUTimer timer[VKFD_NUM_TIMERS];
    /*
     * A main loop that always has a bottom half to run hardly lets go of the
     * BQL, and vCPUs starve. So it sleeps shortly now and then.
     */
    QEMUTimer yield;
    bool in_run;                /* in vkfd_engine_run() */
    int64_t busy_since;         /* runs in a row left work since then, or 0 */
    VMChangeStateEntry *vm_change;
    /* A run was asked for and has not happened; the VM may be stopped. */
    bool run_wanted;
};

extern const VMStateDescription vmstate_vkfd;

/* bus.c; opaque is the VKFDState. */
extern const VKFDBusOps vkfd_bus_ops;

/* Tell the engine where the BARs are: before anything that may do DMA. */
void vkfd_sync_bars(VKFDState *s);

/* inject-qom.c: properties of fault injection. */
void vkfd_inject_class_init(ObjectClass *klass);
/* Arm what the command line says; the engine is ready. */
void vkfd_inject_realize(VKFDState *s);

/* queues-qom.c: property that lists them. */
void vkfd_queues_class_init(ObjectClass *klass);

/* vmstate.c calls this once all state is there; false: inconsistent. */
bool vkfd_post_load(VKFDState *s);

#endif /* HW_VKFD_VKFD_H */
