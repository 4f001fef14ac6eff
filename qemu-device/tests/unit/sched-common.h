/* SPDX-License-Identifier: MIT */
/*
 * Tests of the scheduler: an HIQ, run lists, and queues that live in MQDs. Queue n has
 * its ring, MQD, pointers and words of memory at places of its own in VRAM, which all
 * processes map at VA0. sched_start() sets the part up; then queues are made, listed
 * and sent.
 */
#ifndef VKFD_UNIT_SCHED_COMMON_H
#define VKFD_UNIT_SCHED_COMMON_H

#include "harness.h"

#include <vkfd/pm4_sched.h>

#define SQ_MAX          1024u
#define SQ_RING_DW      256u
#define SQ_RING(n)      (0x900000u + (n) * 0x400u)
#define SQ_MQD(n)       (0xa00000u + (n) * 0x800u)
#define SQ_RPTR(n)      (0xc00000u + (n) * 32u)
#define SQ_WPTR(n)      (0xc00010u + (n) * 32u)
#define SQ_OUT(n)       (0xc10000u + (n) * 64u)
#define SQ_FLAG(n)      (0xc20000u + (n) * 64u)
#define SQ_DOORBELL(n)  (0x2010u + 2 * (n))       /* HIQ: 2 */
#define LIST_IB         0xc40000u       /* up to 0x40000 bytes */
#define FENCE           0xc90000u
#define HIQ_RING        0xd00000u
#define HIQ_RING_DW     4096u
#define HIQ_MQD         0xd10000u
#define HIQ_RPTR        0xd18000u
#define HIQ_WPTR        0xd18010u
#define ROOT2           0xd20000u       /* a second page directory */
#define HIQ             32u             /* ME2 pipe 0 queue 0 */
#define KIQ             40u             /* ME2 pipe 1 queue 0 */
#define KIQ_RING        RING(KIQ)
#define ALL_SLOTS       0xfcfcfcfcu     /* 24 slots of ME1, as upstream leaves them */
#define KFD_VMIDS       0xff00u
#define PASID(p)        (0x8010u + (p))

/* GPU address of VMID 0, and its low half. */
#define MC(off)         (VKFD_FB_LOCATION_BASE + (off))
#define MC_LO(off)      ((uint32_t)MC(off))

typedef struct List {
    uint32_t dw[65536];
    uint32_t n;
} List;

/* The HIQ is loaded by register and named in RLC_CP_SCHEDULERS. */
Bus *sched_start(uint32_t vmids, uint64_t slots);
/* The same without resources and without an HIQ. */
Bus *sched_start_bare(void);
void hiq_load(Bus *b);
void hiq_emit(Bus *b, const uint32_t *dw, unsigned n);
/* Emit, ring and run. */
void hiq_send(Bus *b, const uint32_t *dw, unsigned n);
/* Like hiq_send(), without running. */
void hiq_post(Bus *b, const uint32_t *dw, unsigned n);
bool hiq_stopped(Bus *b);
#define HIQ_SEND(b, ...) do { \
        const uint32_t hiq_[] = { __VA_ARGS__ }; \
        hiq_send(b, hiq_, sizeof(hiq_) / 4); \
    } while (0)

unsigned pkt_set_resources(uint32_t *p, uint32_t type, uint32_t vmids, uint64_t slots);
unsigned pkt_map_process(uint32_t *p, unsigned proc, uint32_t queues);
unsigned pkt_map_queue(uint32_t *p, unsigned n);
unsigned pkt_run_list(uint32_t *p, uint64_t addr, uint32_t dw, bool chain);
unsigned pkt_unmap(uint32_t *p, uint32_t action, uint32_t sel, uint32_t arg);
unsigned pkt_query(uint32_t *p, uint32_t command, uint64_t va, uint64_t data);

void list_process(List *l, unsigned proc, uint32_t queues);
void list_queue(List *l, unsigned n);
/* Write it to LIST_IB; the RUN_LIST packet goes to the HIQ, and runs. */
void list_send(Bus *b, const List *l);
/* n queues from first on, of process proc, in one list of its own. */
void list_simple(Bus *b, unsigned proc, unsigned first, unsigned n);
/* Queues 0 to n - 1, per_proc of them a process, in one list. */
void map_many(Bus *b, unsigned n, unsigned per_proc);

/* A fresh MQD with an empty ring. */
void sq_init(Bus *b, unsigned n);
void sq_emit(Bus *b, unsigned n, const uint32_t *dw, unsigned dws);
void sq_write(Bus *b, unsigned n, uint64_t off, uint32_t val);
/* Wait until the word at SQ_FLAG(n) is ref. */
void sq_wait(Bus *b, unsigned n, uint32_t ref);
void sq_publish(Bus *b, unsigned n);    /* wptr memory, no doorbell */
void sq_kick(Bus *b, unsigned n);       /* and the doorbell */
uint64_t sq_wptr(unsigned n);
/* Entry of the scheduler's table; NULL: not mapped. */
VKFDSchedQueue *sq_entry(Bus *b, unsigned n);
/* VKFDSchedState, FREE if it is not mapped. */
unsigned sq_state(Bus *b, unsigned n);
unsigned sq_count(Bus *b, unsigned state);
/* Lists and owners say what the tables say. */
void check_derived(Bus *b);
/* A second machine with the state, VRAM and memory of the first. */
Bus *sched_migrate(const Bus *src);

#endif /* VKFD_UNIT_SCHED_COMMON_H */
