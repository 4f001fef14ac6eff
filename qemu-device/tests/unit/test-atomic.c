/* SPDX-License-Identifier: MIT */
/* ATOMIC_MEM: every operation, in VRAM and in system memory, against real threads. */
#include "harness.h"

#include <pthread.h>
#include <sched.h>

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define LO(va)          ((uint32_t)(va))
#define HI(va)          ((uint32_t)((uint64_t)(va) >> 32))

static Bus *start(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, 0);
    queue_load(b, 0);
    bus_run(b);
    return b;
}

static void go(Bus *b, unsigned hqd)
{
    queue_kick(b, hqd);
    bus_run(b);
}

static void emit_atomic(Bus *b, unsigned hqd, uint32_t ctl, uint64_t va, uint64_t src,
                        uint64_t cmp)
{
    EMIT(b, hqd, PACKET3(IT_ATOMIC_MEM, 8), ctl, LO(va), HI(va), LO(src), HI(src),
         LO(cmp), HI(cmp), 0x80);
}

static uint64_t sys64(Bus *b, uint64_t off)
{
    return sys32(b, off) | (uint64_t)sys32(b, off + 4) << 32;
}

/* The low half of the 64-bit cases is chosen so that 32 bits alone differ. */
static const struct {
    uint32_t op;
    uint64_t old, src, cmp, want32, want64;
} cases[] = {
    { TC_OP_ATOMIC_SWAP, 1, 0x500000007ull, 0, 7, 0x500000007ull },
    { TC_OP_ATOMIC_CMPSWAP, 0x100000002ull, 9, 0x100000002ull, 9, 9 },
    { TC_OP_ATOMIC_CMPSWAP, 0x100000002ull, 9, 2, 9, 0x100000002ull },
    { TC_OP_ATOMIC_CMPSWAP, 3, 9, 2, 3, 3 },
    { TC_OP_ATOMIC_ADD, 0xffffffff, 2, 0, 1, 0x100000001ull },
    { TC_OP_ATOMIC_SUB, 0x100000000ull, 1, 0, 0xffffffff, 0xffffffff },
    { TC_OP_ATOMIC_SMIN, 0xffffffff, 1, 0, 0xffffffff, 1 },
    { TC_OP_ATOMIC_SMIN, ~0ull, 1, 0, 0xffffffff, ~0ull },
    { TC_OP_ATOMIC_UMIN, 0xffffffff, 1, 0, 1, 1 },
    { TC_OP_ATOMIC_UMIN, 5, 6, 0, 5, 5 },
    { TC_OP_ATOMIC_SMAX, 0xffffffff, 1, 0, 1, 0xffffffff },
    { TC_OP_ATOMIC_SMAX, ~0ull, 1, 0, 1, 1 },
    { TC_OP_ATOMIC_UMAX, 0xffffffff, 1, 0, 0xffffffff, 0xffffffff },
    { TC_OP_ATOMIC_UMAX, 5, 0x100000001ull, 0, 5, 0x100000001ull },
    { TC_OP_ATOMIC_AND, 0xf0f0f0f0f0ull, 0xff00ff00ffull, 0, 0xf000f0,
      0xf000f000f0ull },
    { TC_OP_ATOMIC_OR, 0xf000000001ull, 0x0f00000010ull, 0, 0x11, 0xff00000011ull },
    { TC_OP_ATOMIC_XOR, 0xff00000011ull, 0x0f00000001ull, 0, 0x10, 0xf000000010ull },
    { TC_OP_ATOMIC_INC, 4, 5, 0, 5, 5 },
    { TC_OP_ATOMIC_INC, 5, 5, 0, 0, 0 },
    { TC_OP_ATOMIC_INC, 0x100000002ull, 5, 0, 3, 0 },
    { TC_OP_ATOMIC_DEC, 4, 5, 0, 3, 3 },
    { TC_OP_ATOMIC_DEC, 0, 5, 0, 5, 5 },
    { TC_OP_ATOMIC_DEC, 6, 5, 0, 5, 5 },
};

static void test_ops(void)
{
    unsigned i, form;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (form = 0; form < 8; form++) {
            bool wide = form & 1, ret = form & 2, in_sys = form & 4;
            uint64_t want = wide ? cases[i].want64
                                 : cases[i].want32 | (cases[i].old >> 32 << 32);
            Bus *b = start();

            printf("# op 0x%x case %u form %u\n", cases[i].op, i, form);
            set_vram64(b, OUT, cases[i].old);
            set_vram64(b, OUT + 8, 0x123);
            set_sys32(b, 0x40, cases[i].old);
            set_sys32(b, 0x44, cases[i].old >> 32);
            /* the address bits a word cannot have are ignored */
            emit_atomic(b, 0, cases[i].op | (wide ? TC_OP__64 : 0) |
                        (ret ? 0 : TC_OP__NO_RETURN),
                        (in_sys ? SYS_VA + 0x40 : OUT_VA) + (wide ? 7 : 3),
                        cases[i].src, cases[i].cmp);
            EMIT(b, 0, PACKET3(IT_COPY_DATA, 5), COPY_DATA_SRC_ATOMIC_RETURN |
                 COPY_DATA_DST_MEM << 8 | COPY_DATA__COUNT_SEL, 0, 0, LO(OUT_VA + 16),
                 HI(OUT_VA));
            go(b, 0);
            CHECK_EQ(in_sys ? sys64(b, 0x40) : vram64(b, OUT), want);
            CHECK_EQ(in_sys ? vram64(b, OUT) : sys64(b, 0x40), cases[i].old);
            CHECK_EQ(vram64(b, OUT + 8), 0x123);
            CHECK_EQ(vram64(b, OUT + 16), !ret ? 0 : wide ? cases[i].old
                                                  : (uint32_t)cases[i].old);
            CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 0);
            bus_free(b);
        }
    }
}

/* Which opcodes there are, among all that fit and some that do not. */
static void test_opcodes(void)
{
    VKFDAtomicOp op;
    unsigned tc, ok = 0;

    for (tc = 0; tc < 256; tc++) {
        ok += vkfd_tc_op(tc, &op);
    }
    CHECK_EQ(ok, 13 * 4);
    CHECK(!vkfd_tc_op(0, &op) && !vkfd_tc_op(0x21, &op) && !vkfd_tc_op(0x1a, &op));
    CHECK(!vkfd_tc_op(0x8f, &op) && !vkfd_tc_op(UINT32_MAX, &op));
    CHECK(vkfd_tc_op(0x6f, &op));
    CHECK_EQ(op, VKFD_ATOMIC_ADD);
    CHECK_EQ(vkfd_tc_op_len(0x6f), 8);
    CHECK_EQ(vkfd_tc_op_len(0x4f), 4);
    CHECK(!vkfd_tc_op_returns(0x4f) && vkfd_tc_op_returns(0x2f));
}

/* A lock taken by compare and swap: parks while it is held, wakes when it is free. */
static void test_loop(void)
{
    uint32_t loop = TC_OP_ATOMIC_CMPSWAP | TC_OP__64 | ATOMIC_MEM_LOOP << 8, p[8];
    Bus *b = start();
    int by;

    queue_load(b, 1);
    for (by = 0; by < 2; by++) {
        set_vram64(b, OUT, 0x100000000ull);
        set_vram32(b, OUT + 8, 0);
        emit_atomic(b, 0, loop, OUT_VA, 0x77, 0);
        queue_emit(b, 0, p, pkt_write(p, OUT_VA + 8, 1));
        go(b, 0);
        CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
        CHECK(!b->scheduled);
        bus_advance(b, 3000000);
        CHECK_EQ(vram32(b, OUT + 8), 0);
        CHECK_EQ(vram64(b, OUT), 0x100000000ull);
        if (by) {
            set_vram64(b, OUT, 0);              /* the CPU: seen by timer */
            bus_run(b);
            CHECK_EQ(vram32(b, OUT + 8), 0);
            bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
        } else {
            queue_emit(b, 1, p, pkt_write(p, OUT_VA + 4, 0));
            go(b, 1);                           /* the device: at once */
        }
        CHECK_EQ(vram32(b, OUT + 8), 1);
        CHECK_EQ(vram64(b, OUT), 0x77);
    }
    CHECK_EQ(counter(b, VKFD_CNT_PARKED), 2);
    /* an atomic wakes waiters as a store does, in both kinds of memory */
    for (by = 0; by < 2; by++) {
        uint64_t va = by ? SYS_VA + 0x80 : OUT_VA + 0x80;

        queue_emit(b, 0, p, pkt_wait_mem(p, va + 4, WAIT_REG_MEM_EQ, 1, ~0u));
        queue_emit(b, 0, p, pkt_write(p, OUT_VA + 16, 1 + by));
        go(b, 0);
        CHECK_EQ(vram32(b, OUT + 16), by);
        emit_atomic(b, 1, TC_OP_ATOMIC_ADD | TC_OP__64 | TC_OP__NO_RETURN, va,
                    1ull << 32, 0);
        go(b, 1);
        CHECK_EQ(vram32(b, OUT + 16), 1 + by);
    }
    bus_free(b);
}

/* Others are always faster: it comes back to it, others go on, nothing is lost. */
static void test_busy(void)
{
    Bus *b = start();
    uint32_t p[8];

    queue_load(b, 1);
    b->atomic_busy = 200;
    emit_atomic(b, 0, TC_OP_ATOMIC_OR, SYS_VA, 4, 0);
    queue_emit(b, 0, p, pkt_write(p, OUT_VA, 1));
    queue_emit(b, 1, p, pkt_write(p, OUT_VA + 4, 1));
    queue_kick(b, 0);
    queue_kick(b, 1);
    b->scheduled = false;
    vkfd_engine_run(b->e);
    CHECK_EQ(b->atomic_busy, 200 - VKFD_CP_BUDGET_DEFAULT);
    CHECK_EQ(vram32(b, OUT + 4), 1);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(sys32(b, 0), 4);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET), 3);
    bus_free(b);
}

/* Pages that may be read only, written only, not at all; PRT; doorbells. */
static void test_pages(void)
{
    static const struct {
        uint64_t pte;
        unsigned faults;
        bool write;
    } pages[] = {
        { OUT | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE, 1, true },
        { OUT | AMDGPU_PTE_VALID | AMDGPU_PTE_WRITEABLE, 1, false },
        { 0, 1, false },
        { AMDGPU_PTE_PRT, 0, false },
        { (SYS_BASE + SYS_SIZE) | PTE_RW | AMDGPU_PTE_SYSTEM, 1, true },
        { BAR2_ADDR | PTE_RW | AMDGPU_PTE_SYSTEM, 1, true },
        { VRAM_SIZE | PTE_RW, 1, true },
        { (BAR0_ADDR + OUT) | PTE_RW | AMDGPU_PTE_SYSTEM, 0, true },
    };
    unsigned i;

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        Bus *b = start();

        printf("# page %u\n", i);
        vm_map(b, 0x400000000ull, pages[i].pte);
        vm_flush(b, 0xffff);
        set_vram32(b, OUT, 3);
        emit_atomic(b, 0, TC_OP_ATOMIC_ADD, 0x400000000ull, 4, 0);
        go(b, 0);
        CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), pages[i].faults);
        if (pages[i].faults) {
            CHECK_EQ(VKFD_GET(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS),
                              VM_L2_PROTECTION_FAULT_STATUS__RW), pages[i].write);
        }
        CHECK_EQ(vram32(b, OUT), i == 7 ? 7 : 3);
        CHECK_EQ(vram32(b, 0), 0);
        bus_free(b);
    }
}

/* ---- against threads, which stand for vCPUs ---- */

#define ROUNDS          500000

static uint64_t word, added;
static bool started, stop;

/* Adds one, over and over, while the test does its rounds. */
static void *adder(void *p)
{
    (void)p;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&added, added + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void test_threads(void)
{
    static const VKFDAtomicOp ops[] = { VKFD_ATOMIC_ADD, VKFD_ATOMIC_SUB };
    unsigned i, k, done;

    for (k = 0; k < 2; k++) {
        pthread_t t;

        word = 1000;
        added = 0;
        started = stop = false;
        if (pthread_create(&t, NULL, adder, NULL)) {
            abort();
        }
        while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) {
            sched_yield();
        }
        /* Until both have done enough, however they share the processors. */
        for (i = 0, done = 0; i < ROUNDS ||
             __atomic_load_n(&added, __ATOMIC_RELAXED) < ROUNDS; i++) {
            VKFDAtomic a = { .op = ops[k], .src = 3 };

            done += vkfd_atomic_apply(&word, 8, &a);
        }
        __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
        pthread_join(t, NULL);
        CHECK(done > i / 2);
        CHECK_EQ(word, 1000 + added + (k ? -3ull : 3ull) * done);
    }
}

/* Four bytes are four bytes, whatever the rest of the operands says. */
static void test_width(void)
{
    uint32_t two[2] = { 5, 6 };
    VKFDAtomic a = { .op = VKFD_ATOMIC_UMIN, .src = 0x100000001ull };

    CHECK(vkfd_atomic_apply(two, 4, &a));
    CHECK_EQ(two[0], 1);
    CHECK_EQ(two[1], 6);
    CHECK_EQ(a.old, 5);
}

int main(void)
{
    test_opcodes();
    test_ops();
    test_loop();
    test_busy();
    test_pages();
    test_threads();
    test_width();
    return tap_done();
}
