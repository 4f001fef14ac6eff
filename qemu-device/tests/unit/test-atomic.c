/* SPDX-License-Identifier: MIT */
/* Atomic operations: every opcode, both kinds of memory, races, faults. */
#include "harness.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define SYS_OFF         0x8000u
#define ALL64           UINT64_MAX

typedef struct Case {
    uint32_t kind;
    uint64_t old, src, cmp, want32, want64;
} Case;

static const Case cases[] = {
    { 0x07, 1, 0x500000002, 0, 2, 0x500000002 },        /* swap */
    { 0x08, 7, 9, 7, 9, 9 },                            /* compare and swap */
    { 0x08, 7, 9, 8, 7, 7 },
    { 0x08, 7, 9, 0x100000007, 9, 7 },
    { 0x0f, 0xffffffff, 2, 0, 1, 0x100000001 },         /* add */
    { 0x10, 1, 2, 0, 0xffffffff, ALL64 },               /* sub */
    { 0x11, 0x80000000, 3, 0, 0x80000000, 3 },          /* signed min */
    { 0x11, ALL64, 3, 0, 0xffffffff, ALL64 },
    { 0x12, 0x80000000, 3, 0, 3, 3 },                   /* unsigned min */
    { 0x12, 2, 3, 0, 2, 2 },
    { 0x13, 0x80000000, 3, 0, 3, 0x80000000 },          /* signed max */
    { 0x14, 0x80000000, 3, 0, 0x80000000, 0x80000000 }, /* unsigned max */
    { 0x14, ALL64, 3, 0, 0xffffffff, ALL64 },
    { 0x15, 0x0ff, 0xf0f, 0, 0x00f, 0x00f },            /* and */
    { 0x16, 0x0ff, 0xf0f, 0, 0xfff, 0xfff },            /* or */
    { 0x17, 0x0ff, 0xf0f, 0, 0xff0, 0xff0 },            /* xor */
    { 0x18, 4, 5, 0, 5, 5 },                            /* inc, wraps at src */
    { 0x18, 5, 5, 0, 0, 0 },
    { 0x18, 9, 5, 0, 0, 0 },
    { 0x19, 4, 5, 0, 3, 3 },                            /* dec, wraps to src */
    { 0x19, 0, 5, 0, 5, 5 },
    { 0x19, 9, 5, 0, 5, 5 },
};

static Bus *start(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    return b;
}

static VKFDFault run(Bus *b, uint64_t va, uint32_t op, uint64_t src, uint64_t cmp,
                     uint64_t *pre, bool *done)
{
    return vkfd_vm_atomic(b->e, VKFD_HUB_GFX, TEST_VMID, va, op, src, cmp, pre,
                          done);
}

static void test_opcodes(void)
{
    Bus *b = start();
    unsigned i, ok = 0, bits;

    for (i = 0; i < 256; i++) {
        ok += vkfd_tc_op_ok(i);
    }
    CHECK_EQ(ok, 13 * 4);
    CHECK(!vkfd_tc_op_ok(0) && !vkfd_tc_op_ok(0x21) && !vkfd_tc_op_ok(0x1a));
    CHECK(!vkfd_tc_op_ok(0x8f) && !vkfd_tc_op_ok(UINT32_MAX));
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const Case *c = &cases[i];

        for (bits = 0; bits < 4; bits++) {
            uint32_t op = c->kind | bits << 5;
            bool is64 = bits & 1, done;
            uint64_t pre;

            CHECK(vkfd_tc_op_ok(op));
            CHECK_EQ(vkfd_tc_op_len(op), is64 ? 8 : 4);
            CHECK_EQ(vkfd_tc_op_returns(op), !(bits & 2));
            set_vram64(b, OUT, is64 ? c->old
                                         : (uint32_t)c->old | 0xabcull << 32);
            CHECK_EQ(run(b, OUT_VA, op, c->src, c->cmp, &pre, &done),
                     VKFD_FAULT_NONE);
            CHECK(done);
            CHECK_EQ(pre, is64 ? c->old : (uint32_t)c->old);
            /* a 32-bit operation leaves the neighbour alone */
            CHECK_EQ(vram64(b, OUT), is64 ? c->want64
                                          : c->want32 | 0xabcull << 32);
        }
    }
    bus_free(b);
}

static uint32_t race_left;

static void race(Bus *b, uint64_t off)
{
    if (race_left) {
        race_left--;
        set_sys32(b, off, sys32(b, off) + 100);
    }
}

static void test_system_memory(void)
{
    Bus *b = start();
    uint64_t pre;
    bool done;

    set_sys32(b, SYS_OFF, 5);
    set_sys32(b, SYS_OFF + 4, 1);
    CHECK_EQ(run(b, SYS_VA + SYS_OFF, 0x2f, ALL64, 0, &pre, &done),
             VKFD_FAULT_NONE);
    CHECK_EQ(pre, 0x100000005ull);
    CHECK_EQ(sys32(b, SYS_OFF), 4);
    CHECK_EQ(sys32(b, SYS_OFF + 4), 1);
    /* a vCPU comes in between: nothing of either is lost */
    b->race = race;
    race_left = 3;
    CHECK_EQ(run(b, SYS_VA + SYS_OFF, 0x0f, 1, 0, &pre, &done), VKFD_FAULT_NONE);
    CHECK(done);
    CHECK_EQ(pre, 304);
    CHECK_EQ(sys32(b, SYS_OFF), 305);
    /* it never stops: given up, with nothing done */
    race_left = UINT32_MAX;
    CHECK_EQ(run(b, SYS_VA + SYS_OFF, 0x0f, 1, 0, &pre, &done), VKFD_FAULT_NONE);
    CHECK(!done);
    CHECK_EQ(sys32(b, SYS_OFF), 305 + 100 * VKFD_ATOMIC_TRIES);
    bus_free(b);
}

static void test_faults(void)
{
    Bus *b = start();
    uint64_t pre, va = 0x600000000ull;
    bool done;

    CHECK_EQ(run(b, 0x700000000ull, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_PDE);
    CHECK(!done);
    vm_map(b, va, OUT | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE);
    vm_map(b, va + 0x1000, OUT | AMDGPU_PTE_VALID | AMDGPU_PTE_WRITEABLE);
    vm_map(b, va + 0x2000, AMDGPU_PTE_PRT);
    vm_map(b, va + 0x3000, BAR2_ADDR | PTE_RW | AMDGPU_PTE_SYSTEM);
    vm_map(b, va + 0x4000, 0x1000 | PTE_RW | AMDGPU_PTE_SYSTEM);
    vm_map(b, va + 0x5000, VRAM_SIZE | PTE_RW);
    vm_flush(b, 0xffff);
    CHECK_EQ(run(b, va, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_WRITE);
    CHECK_EQ(run(b, va + 0x1000, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_READ);
    CHECK_EQ(vram64(b, OUT), 0);
    pre = 9;
    CHECK_EQ(run(b, va + 0x2000, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_NONE);
    CHECK(done);
    CHECK_EQ(pre, 0);
    /* doorbells are not memory, nor is what nobody owns */
    CHECK_EQ(run(b, va + 0x3000, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_DMA);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL), 0);
    CHECK_EQ(run(b, va + 0x4000, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_DMA);
    CHECK_EQ(run(b, va + 0x5000, 0x2f, 1, 0, &pre, &done), VKFD_FAULT_DMA);
    CHECK_EQ(counter(b, VKFD_CNT_DMA_REFUSED), 3);
    /* low bits of the address do not count */
    CHECK_EQ(run(b, OUT_VA + 7, 0x2f, 3, 0, &pre, &done), VKFD_FAULT_NONE);
    CHECK_EQ(vram64(b, OUT), 3);
    CHECK_EQ(run(b, OUT_VA + 7, 0x0f, 3, 0, &pre, &done), VKFD_FAULT_NONE);
    CHECK_EQ(vram32(b, OUT + 4), 3);
    bus_free(b);
}

int main(void)
{
    test_opcodes();
    test_system_memory();
    test_faults();
    return tap_done();
}
