/* SPDX-License-Identifier: MIT */
/*
 * Fuzz targets of the engine. An input is a small program of actions (write a packet,
 * ring, run, let time pass, save and load, ...) for a machine that is set up once and
 * put back before each input. After every action the engine's state must be in itself
 * right, and at the end every queue must go off at once: program.c acts, check.c judges.
 */
#ifndef VKFD_FUZZ_H
#define VKFD_FUZZ_H

#include "harness.h"

/* ---- the input: bytes from its beginning, 0 behind its end ---- */

typedef struct FuzzInput {
    const uint8_t *p;
    size_t n;
} FuzzInput;

static inline uint8_t in8(FuzzInput *in)
{
    if (!in->n) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

static inline uint16_t in16(FuzzInput *in)
{
    uint16_t lo = in8(in);

    return lo | in8(in) << 8;
}

static inline uint32_t in32(FuzzInput *in)
{
    uint32_t lo = in16(in);

    return lo | (uint32_t)in16(in) << 16;
}

/* ---- actions; docs in program.c ---- */

typedef enum FuzzAct {
    FUZZ_PACKET,
    FUZZ_DWORDS,
    FUZZ_DEST,
    FUZZ_KICK,
    FUZZ_RUN,
    FUZZ_ADVANCE,
    FUZZ_STORE,
    FUZZ_DEQUEUE,
    FUZZ_LOAD,
    FUZZ_SAVE,
    FUZZ_RESET,
    FUZZ_FLUSH,
    FUZZ_AQL,
    FUZZ_REG_WRITE,
    FUZZ_REG_READ,
    FUZZ_DOORBELL,
    FUZZ_CTRL,
    FUZZ_ARM,
    FUZZ_FRONT,
    FUZZ_PTE,
    FUZZ_OWN,
} FuzzAct;

#define ACT(n)          (1u << FUZZ_##n)
/* What programs of all targets may do. */
#define FUZZ_COMMON     (ACT(PACKET) | ACT(DWORDS) | ACT(DEST) | ACT(KICK) | ACT(RUN) | \
                         ACT(ADVANCE) | ACT(STORE) | ACT(DEQUEUE) | ACT(LOAD) | \
                         ACT(SAVE) | ACT(RESET) | ACT(FLUSH))

#define FUZZ_QUEUES     4u              /* HQDs 0 to 3 */
#define FUZZ_IBS        4u
#define FUZZ_IB_DW      0x800u
#define FUZZ_MAX_ACTS   96u
#define FUZZ_MAX_DW     1024u           /* of one packet or store */
/*
 * What the engine may do before it returns. Events are calls of the bus and trace
 * points, bytes those that move: both far more than a run of full units can need.
 */
#define FUZZ_CALL_EVENTS        (1u << 18)
#define FUZZ_CALL_BYTES         (64u << 20)
/* A program ends when its runs have cost so much, to go on with the next one. */
#define FUZZ_WORK_MAX           200000u

typedef struct FuzzTarget {
    const char *name;
    uint32_t acts;              /* set of FuzzAct */
    uint32_t aql, kernel;       /* sets of queues: AQL; in VMID 0 */
    /* Only user queues: VRAM that no VM maps is not even readable. */
    bool confined;
    void (*seeds)(void);
    /* The rest may be NULL. setup: once, when the machine is there. */
    void (*setup)(void);
    /* More registers that a driver writes after a reset. */
    void (*setup_regs)(void);
    /* Takes what is its own from the input, before the program. */
    void (*begin)(FuzzInput *in);
    /* FUZZ_OWN: what only this target does. */
    void (*own)(FuzzInput *in);
    /* Where queues 0 to 3 are not HQDs 0 to 3; wptr in dwords. */
    void (*load)(unsigned q);
    void (*kick)(unsigned q, uint64_t wptr);
    void (*dequeue)(unsigned q, unsigned how);
    /* Header of a packet of n dwords, where it is not one of PM4. */
    uint32_t (*header)(uint8_t op, uint8_t mode, unsigned n);
    /* Queues other than HQDs: what has to hold; all off, at the end. */
    void (*check)(void);
    void (*off)(void);
} FuzzTarget;

typedef struct Fuzz {
    const FuzzTarget *t;
    Bus *b;
    unsigned dest;              /* packets go to: ring 0..3, IB 4..7 */
    uint32_t ib_pos[FUZZ_IBS];  /* dwords */
    uint64_t events, bytes;     /* of the call at hand */
    uint64_t units;             /* of the run at hand */
    uint64_t work;              /* of the program */
    uint32_t nregs;             /* modelled registers, dword indices */
    uint32_t regs[VKFD_NUM_REGS];
} Fuzz;

extern Fuzz fz;

/* Report and abort: the input is a finding. */
void fuzz_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define FUZZ_CHECK(cond) do { \
        if (!(cond)) { \
            fuzz_fail("%s:%d: %s", __FILE__, __LINE__, #cond); \
        } \
    } while (0)

/* ---- targets.c and target-*.c ---- */

extern const FuzzTarget *const fuzz_targets[];  /* NULL ends it */
extern const FuzzTarget fuzz_sdma_user, fuzz_sdma_kernel, fuzz_sched;
/* target-sdma.c: for any target, of which all may have such queues. */
void fuzz_sdma_check(void);
void fuzz_sdma_off(void);

/* ---- machine.c: the machine every input finds ---- */

/*
 * Layout: that of harness.h, of which TEST_VMID sees rings 0..3, their pointers, IBs
 * and AQL structures, OUT, and (FUZZ_SYS) a part of the system memory; besides, read
 * only, write only and PRT pages, its page of doorbells, and OUT again through BAR0.
 */
#define FUZZ_OUT        0x800000u
#define FUZZ_SIG        0x630000u
#define FUZZ_SYS        0x40000u        /* offset in the system memory */
#define FUZZ_GART       0x200000u       /* flat table of VMID 0 */
#define FUZZ_GART_VA    0x400000000ull

/* Set up for fz.t. */
void fuzz_machine(void);
/* Put everything back. */
void fuzz_restore(void);
/* Registers as a driver writes them after a reset. */
void fuzz_setup_regs(void);
/* Load and activate queue q (0..3) at the position its producer is at. */
void fuzz_load(unsigned q);
/* A page of VRAM or of the system memory is written by a CPU. */
void fuzz_touch_vram(uint64_t off, uint64_t len);
void fuzz_touch_sys(uint64_t off, uint64_t len);
/* An engine that was only initialized. */
const VKFDEngine *fuzz_fresh(void);
/* A copy of it, to load saved state into: the same one each time. */
VKFDEngine *fuzz_other_engine(void);
/* n dwords are stored by a CPU; pool and off as in fuzz_va(). */
void fuzz_store(uint32_t pool, uint32_t off, const uint32_t *dw, unsigned n);

/* Places that addresses in inputs name. */
#define FUZZ_POOLS      8u
/* Address of byte off (16 bits used) of a pool in VMID 0 or TEST_VMID. */
uint64_t fuzz_va(bool kernel, uint32_t pool, uint32_t off);
/* The reverse: false if va is in none. */
bool fuzz_pool_of(bool kernel, uint64_t va, uint32_t *pool, uint32_t *off);

/* ---- program.c ---- */

void fuzz_program(FuzzInput *in);
/* Once, before the first program. */
void fuzz_find_opcodes(void);
/* Byte that stands for an action in programs of the target. */
uint8_t fuzz_act_code(const FuzzTarget *t, FuzzAct act);
/* Run at most n times while the engine asks for it. */
void fuzz_run(unsigned n);
/* Up to max dwords in the tagged form; returns how many. */
unsigned fuzz_dwords(FuzzInput *in, bool kernel, uint32_t *dw, unsigned items, unsigned max);
/* A queue's packets, in VMID 0? */
static inline bool fuzz_kernel(unsigned dest)
{
    return fz.t->kernel >> (dest % FUZZ_QUEUES) & 1;
}

/* Tags of dwords: see program.c. */
#define TAG_VA          0x80            /* + pool, offset 16 bits: lo, hi */
#define TAG_32          0x88
#define TAG_REG         0x89            /* 16 bits: index into fz.regs */
#define TAG_ONES        0x8a
#define TAG_16          0x8b
#define TAG_BIT         0x8c
#define TAG_REPEAT      0x8d            /* the last dword n * 8 more times */
#define TAG_VA_LO       0x8e            /* pool, offset: lo alone */

/* ---- check.c ---- */

#define STATE_FIRST     offsetof(VKFDEngine, regs)
#define STATE_END       offsetof(VKFDEngine, bar0)

/* memcmp() == 0 for much memory. */
bool fuzz_same(const void *a, const void *b, size_t size);
/* A call into the engine begins: its costs count from here. */
void fuzz_call(void);
/* After each action: masks, and that nothing that could run is forgotten. */
void fuzz_check(void);
/* What was saved now would be loaded, unchanged. */
void fuzz_check_saved(void);
/* The guest state of an engine into one that was just initialized, and load it. */
bool fuzz_load_state(VKFDEngine *to, const VKFDEngine *from);
/* Nothing is armed any more, and every queue goes off at once. */
void fuzz_finish(void);

/* ---- seeds.c: inputs to begin with ---- */

typedef struct Seed {
    uint8_t buf[4096];
    size_t n;
    bool kernel;                /* addresses in packets are of VMID 0 */
} Seed;

/* Write the seeds of fz.t as files into an existing directory. */
void fuzz_write_seeds(const char *dir);
void seed8(Seed *s, unsigned v);
void seed16(Seed *s, unsigned v);
void seed_act(Seed *s, FuzzAct act);
/* Tagged form of dwords. */
void seed_dwords(Seed *s, const uint32_t *dw, unsigned n);
/* A packet as it is: header, body. */
void seed_packet(Seed *s, const uint32_t *dw, unsigned n);
void seed_kick(Seed *s, unsigned q);
void seed_run(Seed *s, unsigned n);
/* The seed is complete: write it, begin the next. */
void seed_done(Seed *s);

void fuzz_seeds_user(void);
void fuzz_seeds_kernel(void);
void fuzz_seeds_aql(void);
void fuzz_seeds_regs(void);
void fuzz_seeds_state(void);
void fuzz_seeds_inject(void);

#endif /* VKFD_FUZZ_H */
