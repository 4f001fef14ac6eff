/* SPDX-License-Identifier: MIT */
/*
 * The engine on a fake bus: VRAM, a piece of system memory, a settable clock,
 * and a log of what reached the outside, in order. Output is TAP.
 */
#ifndef VKFD_UNIT_HARNESS_H
#define VKFD_UNIT_HARNESS_H

#include <stdio.h>
#include <stdlib.h>

#include "engine-priv.h"
#include <vkfd/doorbell.h>
#include <vkfd/gpuvm.h>
#include <vkfd/mqd.h>
#include <vkfd/pm4.h>
#include <vkfd/regs_ih.h>
#include <vkfd/regs_nbio.h>
#include <vkfd/regs_vm.h>

#define VRAM_SIZE       (16u << 20)
#define SYS_BASE        0x100000000ull  /* bus address of the system memory */
#define SYS_SIZE        (1u << 20)
#define BAR0_ADDR       0x380000000000ull
#define BAR2_ADDR       0x388000000000ull
#define LOG_MAX         4096

typedef enum EventKind { EV_DMA_WRITE, EV_IRQ } EventKind;

typedef struct Event {
    EventKind kind;
    uint64_t addr;
    uint32_t len;
} Event;

typedef struct Bus {
    VKFDEngine *e;
    uint8_t *vram, *sys;
    uint64_t now;
    int64_t timer[VKFD_NUM_TIMERS];
    bool scheduled;
    unsigned irqs, guest_errors;
    unsigned pauses;            /* times the VM was to be stopped */
    uint32_t map_max;           /* system memory is mapped so many bytes at a time, 0: all */
    unsigned mapped;            /* mappings that are not undone yet */
    unsigned atomic_busy;       /* so many atomics find somebody faster */
    unsigned looked_up;         /* pages the engine wanted to look at by itself */
    bool no_pages;              /* it gets none */
    unsigned reads;             /* of system memory, other than that */
    unsigned nlog;
    Event log[LOG_MAX];
} Bus;

/* ---- TAP ---- */

void tap_ok(bool ok, const char *file, int line, const char *what);
int tap_done(void);
#define CHECK(cond)     tap_ok(!!(cond), __FILE__, __LINE__, #cond)
#define CHECK_EQ(a, b)  check_eq((uint64_t)(a), (uint64_t)(b), __FILE__, __LINE__, #a " == " #b)
void check_eq(uint64_t a, uint64_t b, const char *file, int line,
              const char *what);

/* ---- machine ---- */

/* A fresh engine on a fresh bus. BARs are mapped, both MEs run. */
Bus *bus_new(void);
void bus_free(Bus *b);
/* Run until nothing is scheduled; fails the test after too many runs. */
void bus_run(Bus *b);
/* Advance the clock, firing what is due, running in between. */
void bus_advance(Bus *b, uint64_t ns);

uint32_t rd(Bus *b, uint32_t dw);
void wr(Bus *b, uint32_t dw, uint32_t val);
uint64_t counter(Bus *b, unsigned c);

uint32_t vram32(Bus *b, uint64_t off);
uint64_t vram64(Bus *b, uint64_t off);
void set_vram32(Bus *b, uint64_t off, uint32_t v);
void set_vram64(Bus *b, uint64_t off, uint64_t v);
uint32_t sys32(Bus *b, uint64_t off);
void set_sys32(Bus *b, uint64_t off, uint32_t v);

/* Deterministic PRNG (xorshift64). */
uint32_t prng(uint64_t *state);

/* ---- the part, set up as a driver would ---- */

/*
 * Layout of VRAM in the tests: page directory of VMID 8 at VM_ROOT, its tables
 * behind it, ring of queue n at RING(n). GPU addresses of VMID 8 from VA0 on map
 * the whole VRAM one to one.
 */
#define VM_ROOT         0x100000u
#define VA0             0x200000000ull
#define SYS_VA          0x300000000ull  /* maps the system memory */
#define TEST_VMID       8
#define TEST_PASID      0x8001
#define RING_DW         1024u
#define RING(n)         (0x400000u + (n) * 0x2000u)
#define RPTR_ADDR(n)    (0x600000u + (n) * 64u)
#define WPTR_ADDR(n)    (0x610000u + (n) * 64u)
#define IB_ADDR(n)      (0x700000u + (n) * 0x10000u)
#define MQD_ADDR(n)     (0x680000u + (n) * 0x1000u)
#define DOORBELL_DW(n)  (0x1000u + 2 * (n))
#define PTE_RW          (AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE)

/* Tables of TEST_VMID: VRAM at VA0 (2 MiB pages), system memory at SYS_VA. */
void vm_setup(Bus *b);
/* Map one 4 KiB page of TEST_VMID (tables are made where needed). */
void vm_map(Bus *b, uint64_t va, uint64_t pte);
void vm_flush(Bus *b, uint32_t vmids);

#define IH_RING_OFF     0x10000u        /* in system memory */
#define IH_WPTR_OFF     0x0f000u
/* IH ring of 2^log2dw dwords in system memory, flags added to RB_CNTL. */
void ih_setup(Bus *b, unsigned log2dw, uint32_t flags);
uint32_t ih_dw(Bus *b, unsigned entry, unsigned dw);

void select_hqd(Bus *b, unsigned hqd);
uint32_t hqd_rd(Bus *b, unsigned hqd, uint32_t dw);
void hqd_wr(Bus *b, unsigned hqd, uint32_t dw, uint32_t val);
/* Load and activate slot hqd for TEST_VMID with ring RING(hqd), empty. */
void queue_load(Bus *b, unsigned hqd);
/* Takes it off and loads the same ring, from its start, as a queue of VMID 0. */
void queue_to_vmid0(Bus *b, unsigned hqd);
/* Append dwords to the ring; kick rings the doorbell. */
void queue_emit(Bus *b, unsigned hqd, const uint32_t *dw, unsigned n);
void queue_kick(Bus *b, unsigned hqd);
/* Producer's position. */
uint64_t queue_wptr(unsigned hqd);
void queue_set_wptr(unsigned hqd, uint64_t wptr);

/* Packets with addresses in TEST_VMID. Each returns the dwords written. */
unsigned pkt_write(uint32_t *p, uint64_t va, uint32_t val);
unsigned pkt_release(uint32_t *p, uint64_t va, uint64_t data, unsigned data_sel,
                     unsigned int_sel, uint32_t ctx);
unsigned pkt_ib(uint32_t *p, uint64_t va, uint32_t dw, bool chain);
unsigned pkt_wait_mem(uint32_t *p, uint64_t va, uint32_t func, uint32_t ref,
                      uint32_t mask);

#define EMIT(b, q, ...) do { \
        const uint32_t emit_[] = { __VA_ARGS__ }; \
        queue_emit(b, q, emit_, sizeof(emit_) / 4); \
    } while (0)

#endif /* VKFD_UNIT_HARNESS_H */
