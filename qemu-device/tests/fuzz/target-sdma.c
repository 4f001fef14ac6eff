/* SPDX-License-Identifier: MIT */
/*
 * SDMA engines: queues 0 to 3 of a program are queues of theirs, all a user's, or the
 * kernel's ring with one of users.
 */
#include "fuzz.h"
#include "sdma-common.h"

static const unsigned user_ids[FUZZ_QUEUES] = { RLC(0, 0), RLC(1, 1), RLC(0, 2), PAGE1 };
static const unsigned kernel_ids[FUZZ_QUEUES] = { GFX0, RLC(1, 1), RLC(0, 2), PAGE1 };

static unsigned id_of(unsigned q)
{
    return (fz.t->kernel ? kernel_ids : user_ids)[q];
}

static void setup_regs(void)
{
    Bus *b = fz.b;
    unsigned i;

    mmhub_setup(b);
    for (i = 0; i < VKFD_NUM_SDMA; i++) {
        wr(b, mmSDMA0_F32_CNTL + i * VKFD_SDMA_ENGINE_STRIDE, 0);
        wr(b, mmSDMA0_CNTL + i * VKFD_SDMA_ENGINE_STRIDE, 3);
        wr(b, mmBIF_SDMA0_DOORBELL_RANGE + i,
           ((AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0 << 1) + i * 20) << 2 | 20 << 16);
    }
}

/* As a driver does without the scheduler; the last one polls its wptr in memory. */
static void load(unsigned q)
{
    Bus *b = fz.b;
    unsigned id = id_of(q);
    uint32_t vmid = fz.t->kernel >> q & 1 ? 0 : TEST_VMID;
    uint64_t ring = sdma_va(vmid, RING(q)), report = sdma_va(vmid, RPTR_ADDR(q));
    uint64_t poll = sdma_va(vmid, WPTR_ADDR(q)), rptr = queue_wptr(q) * 4;

    swr(b, id, RB_CNTL, sdma_rb_cntl(vmid));
    swr(b, id, DOORBELL_OFFSET, SDMA_DB(id) << 2);
    swr(b, id, DOORBELL, SDMA0_GFX_DOORBELL__ENABLE_MASK);
    swr(b, id, RB_RPTR, rptr);
    swr(b, id, RB_RPTR_HI, rptr >> 32);
    swr(b, id, MINOR_PTR_UPDATE, 1);
    swr(b, id, RB_WPTR, rptr);
    swr(b, id, RB_WPTR_HI, rptr >> 32);
    swr(b, id, MINOR_PTR_UPDATE, 0);
    swr(b, id, RB_BASE, ring >> 8);
    swr(b, id, RB_BASE_HI, ring >> 40);
    swr(b, id, RB_RPTR_ADDR_LO, report);
    swr(b, id, RB_RPTR_ADDR_HI, report >> 32);
    swr(b, id, RB_WPTR_POLL_ADDR_LO, poll);
    swr(b, id, RB_WPTR_POLL_ADDR_HI, poll >> 32);
    set_vram64(b, WPTR_ADDR(q), rptr);
    swr(b, id, RB_WPTR_POLL_CNTL, q == FUZZ_QUEUES - 1 ? 4 : 0);
    swr(b, id, RB_CNTL, sdma_rb_cntl(vmid) | 1);
}

static void kick(unsigned q, uint64_t wptr)
{
    fuzz_touch_vram(WPTR_ADDR(q), 8);
    set_vram64(fz.b, WPTR_ADDR(q), wptr * 4);
    if (q != FUZZ_QUEUES - 1) {
        vkfd_doorbell_write(fz.b->e, SDMA_DB(id_of(q)) * 4, wptr * 4, 8);
    }
}

static void dequeue(unsigned q, unsigned how)
{
    Bus *b = fz.b;
    unsigned id = id_of(q);

    switch (how % 4) {
    case 0:
        swr(b, id, RB_CNTL, srd(b, id, RB_CNTL) & ~1u);
        break;
    case 1:
        swr(b, id, RB_CNTL, srd(b, id, RB_CNTL) | 1);
        break;
    case 2:
        swr(b, id, IB_CNTL, how >> 2);
        break;
    default:
        wr(b, mmSDMA0_F32_CNTL, how >> 2 & 1);
        break;
    }
}

/* Bits 0 to 2 of mode are the sub-op; the rest goes to the top, where flags are. */
static uint32_t header(uint8_t op, uint8_t mode, unsigned n)
{
    uint32_t h = SDMA_PKT_HEADER(op % 20, mode & 7) | (uint32_t)(mode >> 3) << 27;

    switch (op % 20) {
    case SDMA_OP_NOP:
        return h | (n - 1) << SDMA_PKT_NOP__COUNT__SHIFT;
    case SDMA_OP_INDIRECT:
        return (h & 0xffff) | (uint32_t)(mode & 0xf0) << 12;
    case SDMA_OP_ATOMIC:
        return SDMA_OP_ATOMIC | (uint32_t)(mode & 0x7f) << 25 | (mode & 0x80) << 9;
    default:
        return h;
    }
}

/* As check.c of compute queues. */
void fuzz_sdma_check(void)
{
    const Bus *b = fz.b;
    VKFDEngine *e = b->e;
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        const VKFDSdmaQueue *q = &e->sdma[id];
        bool waits = q->parked == VKFD_PARKED_WAIT || q->parked == VKFD_PARKED_WPTR;
        bool on = SDMA(e, id, RB_CNTL) & SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;

        FUZZ_CHECK(vkfd_sdma_active(e, id) ==
                   (on || (q->held & VKFD_SDMA_HELD_DEQUEUING)));
        FUZZ_CHECK((e->sdma_waiting >> id & 1) == waits);
        FUZZ_CHECK(!q->parked || (vkfd_sdma_active(e, id) && !q->stop));
        FUZZ_CHECK(!q->poll_now || waits);
        if (b->scheduled) {
            continue;
        }
        if (vkfd_sdma_runnable(e, id)) {
            fuzz_fail("SDMA queue %u could run, and nobody will", id);
        }
        FUZZ_CHECK(!waits || q->poll_now || (b->timer[VKFD_TIMER_WAIT] >= 0 &&
                   b->timer[VKFD_TIMER_WAIT] <= q->wait_deadline));
    }
}

void fuzz_sdma_off(void)
{
    unsigned id;

    for (id = 0; id < VKFD_NUM_SDMA_QUEUES; id++) {
        fuzz_call();
        swr(fz.b, id, RB_CNTL, 0);
        FUZZ_CHECK(!vkfd_sdma_active(fz.b->e, id));
    }
    FUZZ_CHECK(!fz.b->e->sdma_active && !fz.b->e->sdma_waiting);
}

#define BASE(n)         ((kern ? VKFD_FB_LOCATION_BASE : VA0) + (n))
#define WORDS(va)       LO(va), HI(va)

static void seeds(bool kern)
{
    const uint64_t out = BASE(FUZZ_OUT), flag = BASE(FUZZ_OUT + 0x100);
    const struct {
        unsigned n;
        uint32_t dw[13];
    } packets[] = {
        { 4, { SDMA_OP_NOP | 3 << 16, 1, 2, 3 } },
        { 7, { SDMA_OP_COPY, 99, 0, WORDS(out), WORDS(out + 0x803) } },
        { 7, { SDMA_OP_COPY, 0x9000, 0, WORDS(out), WORDS(out + 0x10) } },
        { 9, { SDMA_OP_COPY | 1 << 27, 99, 0, WORDS(out), WORDS(out + 3), WORDS(out + 0x103) } },
        { 13, { SDMA_PKT_HEADER(SDMA_OP_COPY, 4) | 2u << 29, WORDS(out), 1 | 2 << 16,
                1 | 9 << 13, 49, WORDS(out + 0x800), 2 | 1 << 16, 1 | 7 << 13, 31,
                2 | 1 << 16, 1 } },
        { 7, { SDMA_OP_WRITE, WORDS(out), 2, 1, 2, 3 } },
        { 4, { FENCE(out + 8, 5) } },
        { 2, { TRAP(7) } },
        { 3, { SDMA_OP_SEM, WORDS(out) } },
        { 4, { SDMA_PKT_HEADER(SDMA_OP_POLL_REGMEM, 1), mmSCRATCH_REG2 * 4, WORDS(out) } },
        { 5, { SDMA_OP_COND_EXE, WORDS(flag), 1, 4 } },
        { 4, { FENCE(out + 16, 6) } },
        { 8, { SDMA_OP_ATOMIC | SDMA_ATOMIC_ADD64 << 25, WORDS(flag + 8), 2, 0, 0, 0, 0 } },
        { 8, { SDMA_OP_ATOMIC | TC_OP_ATOMIC_CMPSWAP << 25 | 1 << 16, WORDS(flag + 16), 5, 0,
               0, 0, 4 } },
        { 5, { SDMA_OP_CONST_FILL | 2u << 30, WORDS(out), 0x1234, 0x40 } },
        { 5, { SDMA_OP_CONST_FILL, WORDS(out + 3), 0x12, 0x33 } },
        { 6, { SDMA_PKT_HEADER(SDMA_OP_CONST_FILL, 1), 0x100, 3, WORDS(out), 7 } },
        { 10, { SDMA_OP_PTEPDE, WORDS(out), 0x71, 0, 0, 1, 0x1000, 0, 4 } },
        { 3, { SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, 1), WORDS(out) } },
        { 3, { SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, 2), WORDS(out + 8) } },
        { 3, { SDMA_OP_SRBM_WRITE | 0xfu << 28, mmSCRATCH_REG0, 1 } },
        { 2, { SDMA_OP_PRE_EXE | 1 << 16, 0 } },
        { 2, { SDMA_OP_DUMMY_TRAP, 5 } },
        { 6, { POLL_MEM(WAIT_REG_MEM_EQ, flag, 0, ~0u, 3) } },
        { 6, { SDMA_OP_POLL_REGMEM | 1 << 26, mmSCRATCH_REG0 * 4, mmSCRATCH_REG0 * 4 + 4, 1, 1,
               3 << 16 } },
        { 6, { POLL_MEM(WAIT_REG_MEM_EQ, flag, 1, ~0u, 0xfff) } },
    };
    const uint32_t one = 1;
    Seed s = { .kernel = kern };
    uint32_t total = 0;
    unsigned i, q;

    for (i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
        seed_packet(&s, packets[i].dw, packets[i].n);
        total += packets[i].n;
        if (i % 7 == 6) {
            seed_kick(&s, 0);
            seed_run(&s, 4);
            seed_done(&s);
        }
    }
    for (q = 0; q < 2; q++) {           /* the wait: a store ends it, or it is taken off */
        seed_kick(&s, 0);
        seed_run(&s, 4);
        seed_act(&s, FUZZ_SAVE);
        if (q) {
            seed_act(&s, FUZZ_DEQUEUE);
            seed8(&s, 0);
            seed_act(&s, FUZZ_LOAD);
            seed8(&s, 0);
        } else {
            seed_act(&s, FUZZ_STORE);
            seed8(&s, 0);
            seed16(&s, 0x100);
            seed_dwords(&s, &one, 1);
            seed_act(&s, FUZZ_ADVANCE);
            seed8(&s, 22);
        }
        seed_done(&s);
        seed_packet(&s, packets[25].dw, packets[25].n);
    }
    /* all in an IB, which has to end on a multiple of eight in the ring */
    seed_act(&s, FUZZ_DEST);
    seed8(&s, 8 | 4);
    for (i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
        seed_packet(&s, packets[i].dw, packets[i].n);
    }
    seed_act(&s, FUZZ_DEST);
    seed8(&s, 0);
    seed_packet(&s, (const uint32_t[]) { SDMA_OP_NOP | 1 << 16, 0, SDMA_OP_INDIRECT,
                WORDS(BASE(IB_ADDR(0))), total, 0, 0 }, 8);
    seed_kick(&s, 0);
    seed_run(&s, 8);
    seed_done(&s);
}

static void seeds_user(void)
{
    seeds(false);
}

static void seeds_kernel(void)
{
    seeds(true);
}

const FuzzTarget fuzz_sdma_user = {
    .name = "sdma-user",
    .acts = FUZZ_COMMON,
    .confined = true,
    .seeds = seeds_user,
    .setup_regs = setup_regs,
    .load = load,
    .kick = kick,
    .dequeue = dequeue,
    .header = header,
}, fuzz_sdma_kernel = {
    .name = "sdma-kernel",
    .acts = FUZZ_COMMON | ACT(REG_WRITE) | ACT(REG_READ) | ACT(PTE) | ACT(ARM),
    .kernel = 1,
    .seeds = seeds_kernel,
    .setup_regs = setup_regs,
    .load = load,
    .kick = kick,
    .dequeue = dequeue,
    .header = header,
};
