/* SPDX-License-Identifier: MIT */
/*
 * libqos driver of the vkfd compute GPU: what a kernel driver does to the
 * hardware, reduced to what tests need.
 *
 * Memory as the tests see it. Guest RAM below QVKFD_GART_SIZE is mapped in
 * VMID 0 at QVKFD_GART_BASE + guest physical address. A buffer from qvkfd_alloc() is
 * mapped in its VMID at QVKFD_VA_BASE + guest physical address. Page tables are
 * in VRAM and written through BAR0.
 */
#ifndef LIBQOS_VKFD_H
#define LIBQOS_VKFD_H

#include "pci.h"
#include "libqos-malloc.h"
#include "qgraph.h"

#include <vkfd/pci.h>
#include <vkfd/regs_nbio.h>
#include <vkfd/regs_gc.h>
#include <vkfd/regs_ih.h>
#include <vkfd/regs_sdma.h>
#include <vkfd/regs_vm.h>
#include <vkfd/gpuvm.h>
#include <vkfd/ih.h>
#include <vkfd/mqd.h>
#include <vkfd/pm4.h>
#include <vkfd/sdma.h>
#include <vkfd/doorbell.h>

#define QVKFD_GART_BASE         0x4000000000ull
#define QVKFD_GART_SIZE         (32 * 1024 * 1024)
#define QVKFD_VA_BASE           0x200000000ull
#define QVKFD_MSI_DATA          0x564b4d53u
/* PASID that qvkfd_vmid_init() gives to a VMID. */
#define QVKFD_PASID(vmid)       (0x8000u + (vmid))
/* Register as the byte offset that the list of unmodelled accesses uses. */
#define QVKFD_BYTE(reg)         ((reg) * 4u)

typedef struct QVkfd {
    QOSGraphObject obj;
    QPCIDevice dev;
    QPCIBar vram, doorbell, ctrl, mmio;
    QGuestAllocator *alloc;
    uint64_t mmio_base;         /* where libqos may map our BARs */
    uint64_t vram_size;         /* bytes of BAR0 */
    uint64_t vram_next;         /* next free VRAM page for page tables */
    uint64_t root[VKFD_NUM_VMID]; /* VRAM offset of the PDB2, 0: none yet */
    uint64_t ih_ring;           /* guest physical */
    uint32_t ih_size;           /* bytes */
    uint64_t ih_wptr;           /* guest physical, write-back word */
    uint64_t msi;               /* guest physical, word that MSI-X writes */
} QVkfd;

typedef struct QVkfdQueue {
    QVkfd *q;
    unsigned me, pipe, queue, vmid;
    uint64_t ring, rptr, wptr_mem; /* guest physical */
    uint32_t size_dw;
    uint32_t doorbell_dw;       /* dword index in BAR2 */
    uint64_t wptr;              /* dwords ever written */
} QVkfdQueue;

/* A user queue of an SDMA engine; pointers count bytes. */
typedef struct QVkfdSdma {
    QVkfd *q;
    unsigned engine, rlc, vmid;
    uint64_t ring, rptr;        /* guest physical */
    uint32_t size;              /* bytes */
    uint32_t doorbell_dw;
    uint64_t wptr;              /* bytes ever written */
} QVkfdSdma;

/* Address, in VMID vmid, of guest physical address gpa. */
static inline uint64_t qvkfd_va(unsigned vmid, uint64_t gpa)
{
    return (vmid ? QVKFD_VA_BASE : QVKFD_GART_BASE) + gpa;
}

static inline QTestState *qvkfd_qts(QVkfd *q)
{
    return q->dev.bus->qts;
}

/* Bind to the function at devfn, enable it and map its BARs. */
void qvkfd_attach(QVkfd *q, QPCIBus *bus, int devfn, QGuestAllocator *alloc);
/* Enable the function and map the BARs again, as after a reset. */
void qvkfd_map_bars(QVkfd *q);

uint32_t qvkfd_rd(QVkfd *q, uint32_t reg);
void qvkfd_wr(QVkfd *q, uint32_t reg, uint32_t val);
/* Write, and fail unless the register reads the same afterwards. */
void qvkfd_wr_check(QVkfd *q, uint32_t reg, uint32_t val);
void qvkfd_select(QVkfd *q, unsigned me, unsigned pipe, unsigned queue,
                  unsigned vmid);
uint32_t qvkfd_ctrl_rd(QVkfd *q, uint32_t off);
void qvkfd_ctrl_wr(QVkfd *q, uint32_t off, uint32_t val);
uint64_t qvkfd_counter(QVkfd *q, unsigned which);
/* Index of a register in the list of unmodelled accesses, -1 if not there. */
int qvkfd_find_unmodelled(QVkfd *q, uint32_t byte_off, uint32_t *reads,
                          uint32_t *writes);
void qvkfd_ring_doorbell(QVkfd *q, uint32_t dw_index, uint64_t val);

/* FB location, GART in VMID 0, contexts of the KFD VMIDs, nothing mapped. */
void qvkfd_gpuvm_init(QVkfd *q);
void qvkfd_vmid_init(QVkfd *q, unsigned vmid);
void qvkfd_map(QVkfd *q, unsigned vmid, uint64_t va, uint64_t addr,
               unsigned pages, uint64_t pte_bits);
void qvkfd_flush(QVkfd *q, unsigned vmid);
/* Zeroed guest memory, mapped at qvkfd_va() with all rights. */
uint64_t qvkfd_alloc(QVkfd *q, unsigned vmid, size_t size);

/*
 * Interrupt ring of 2^log2_dw dwords with write-back; extra is or-ed into
 * IH_RB_CNTL. The ring's rptr doorbell is the IH one of Vega20.
 */
void qvkfd_ih_init(QVkfd *q, unsigned log2_dw, uint32_t extra);
void qvkfd_ih_entry(QVkfd *q, uint32_t byte_off, uint32_t e[8]);
void qvkfd_ih_set_rptr(QVkfd *q, uint32_t byte_off);
void qvkfd_msix_init(QVkfd *q);
void qvkfd_msix_mask(QVkfd *q, bool masked);
bool qvkfd_msix_pending(QVkfd *q);
/* Unhalt both engines and enable the interrupts of all pipes. */
void qvkfd_cp_init(QVkfd *q);
/* All of the above with a ring of 4 KiB. VMIDs 8 and 9 are ready. */
void qvkfd_start(QVkfd *q);

void qvkfd_queue_init(QVkfd *q, QVkfdQueue *u, unsigned me, unsigned pipe,
                      unsigned queue, unsigned vmid, unsigned log2_dw);
/* Load the HQD from scratch and activate it, rptr and wptr 0. */
void qvkfd_queue_load(QVkfdQueue *u);
void qvkfd_queue_activate(QVkfdQueue *u);
void qvkfd_queue_dequeue(QVkfdQueue *u, unsigned how);
uint32_t qvkfd_hqd_rd(QVkfdQueue *u, uint32_t reg);
void qvkfd_hqd_wr(QVkfdQueue *u, uint32_t reg, uint32_t val);
void qvkfd_emit(QVkfdQueue *u, uint32_t dw);
/* Publish what was emitted: wptr memory, then the doorbell. */
void qvkfd_kick(QVkfdQueue *u);

/* Packet builders. dw must have room; they return the number of dwords. */
unsigned qvkfd_pm4_write(uint32_t *dw, uint64_t va, uint32_t val);
unsigned qvkfd_pm4_release(uint32_t *dw, uint64_t va, uint64_t data,
                           unsigned data_sel, unsigned int_sel, uint32_t ctx);
unsigned qvkfd_pm4_wait(uint32_t *dw, uint64_t va, uint32_t ref, unsigned func);
unsigned qvkfd_pm4_ib(uint32_t *dw, uint64_t va, uint32_t size_dw,
                      unsigned vmid);
void qvkfd_emit_n(QVkfdQueue *u, const uint32_t *dw, unsigned n);
void qvkfd_emit_write(QVkfdQueue *u, uint64_t va, uint32_t val);
void qvkfd_emit_release(QVkfdQueue *u, uint64_t va, uint64_t data,
                        unsigned int_sel, uint32_t ctx);
void qvkfd_emit_wait(QVkfdQueue *u, uint64_t va, uint32_t ref);

/* SDMA engines on, with their doorbells and traps; after qvkfd_start(). */
void qvkfd_sdma_start(QVkfd *q);
void qvkfd_sdma_init(QVkfd *q, QVkfdSdma *u, unsigned engine, unsigned rlc,
                     unsigned vmid, unsigned log2_dw);
/* Register of the queue, by its name in the GFX block of engine 0. */
uint32_t qvkfd_sdma_rd(QVkfdSdma *u, uint32_t gfx_reg);
void qvkfd_sdma_wr(QVkfdSdma *u, uint32_t gfx_reg, uint32_t val);
/* Load and destroy as amdkfd does without a scheduler. */
void qvkfd_sdma_load(QVkfdSdma *u);
void qvkfd_sdma_destroy(QVkfdSdma *u);
void qvkfd_sdma_emit(QVkfdSdma *u, const uint32_t *dw, unsigned n);
void qvkfd_sdma_kick(QVkfdSdma *u);

/*
 * Wait until something holds, for a bounded number of round trips through
 * QEMU's main loop, where the device does its work; fail otherwise. Only the
 * _clock form moves the virtual clock, so what the others see did not need a
 * timer.
 */
void qvkfd_wait_mem(QVkfd *q, uint64_t gpa, uint32_t val);
void qvkfd_wait_mem_clock(QVkfd *q, uint64_t gpa, uint32_t val);
void qvkfd_wait_counter(QVkfd *q, unsigned which, uint64_t val);
/* Wait for the MSI-X message and clear its word for the next. */
void qvkfd_wait_msi(QVkfd *q);
/* Of a QEMU with the device in slot 4, for tests that start two themselves. */
#define QVKFD_MIGRATION_ARGS "-machine pc -m 128M -vga none -nic none " \
                             "-device vkfd,addr=04.0,id=vkfd0,vram-size=64M"
/* Migrate one QEMU, which then stands still, to another that waits for it. */
void qvkfd_migrate(QTestState *from, QTestState *to);
/* Let the device finish: a marker through a queue of its own (ME2). */
void qvkfd_settle(QVkfd *q);

#endif
