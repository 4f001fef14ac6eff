/* SPDX-License-Identifier: MIT */
/*
 * Linear copies between pages that lie anywhere: what they leave in memory, and where they
 * stop, is what moving one piece after the other leaves, however they are done.
 */
#include "sdma-common.h"

#define Q               RLC(0, 0)
#define WIN_VA          0x500000000ull  /* what the tables of the tests map */
#define WIN_PAGES       96u
#define PAGE            4096u
#define POOL            0xc00000u       /* pages in VRAM */
#define POOL_PAGES      64u
#define SYS_POOL        0x40000u        /* and in system memory */
#define SYS_POOL_PAGES  64u
#define CASES           400
#define NONE            (~0u)

/* Pages of both pools, by number: those of VRAM first. */
#define NUM_PAGES       (POOL_PAGES + SYS_POOL_PAGES)

/* What the window maps, and what memory ought to hold. */
typedef struct Model {
    unsigned page[WIN_PAGES];
    uint8_t mem[NUM_PAGES][PAGE];
} Model;

static uint8_t *page_mem(Bus *b, unsigned page)
{
    return page < POOL_PAGES ? b->vram + POOL + page * PAGE
                             : b->sys + SYS_POOL + (page - POOL_PAGES) * PAGE;
}

static void map_window(Bus *b, const Model *m)
{
    unsigned i;

    for (i = 0; i < WIN_PAGES; i++) {
        unsigned page = m->page[i];
        uint64_t pte = 0;

        if (page != NONE && page < POOL_PAGES) {
            pte = (POOL + page * PAGE) | PTE_RW;
        } else if (page != NONE) {
            pte = (SYS_BASE + SYS_POOL + (page - POOL_PAGES) * PAGE) | PTE_RW |
                  AMDGPU_PTE_SYSTEM;
        }
        vm_map(b, WIN_VA + i * PAGE, pte);
    }
    wr(b, mmMMHUB_VM_INVALIDATE_ENG0_REQ, 1u << TEST_VMID);
}

/* Runs of pages, forwards, of one pool; now and then one that is not there. */
static void random_window(Model *m, uint64_t *seed, bool holes)
{
    unsigned i = 0;

    while (i < WIN_PAGES) {
        unsigned run = 1 + prng(seed) % 24, page = prng(seed) % NUM_PAGES;

        if (holes && prng(seed) % 6 == 0) {
            m->page[i++] = NONE;
        }
        for (; run && i < WIN_PAGES && page < NUM_PAGES; run--) {
            m->page[i++] = page++;
        }
    }
}

static uint8_t *model_at(Model *m, uint64_t off)
{
    unsigned page = m->page[off / PAGE];

    return page == NONE ? NULL : &m->mem[page][off % PAGE];
}

/* As the engine says it: pieces in rising order, each read whole before it is written. */
static uint64_t model_copy(Model *m, uint64_t dst, uint64_t src, uint32_t len)
{
    uint8_t buf[PAGE];
    uint32_t pos, n, i;

    for (pos = 0; pos < len; pos += n) {
        n = PAGE - (dst + pos) % PAGE;
        if (n > PAGE - (src + pos) % PAGE) {
            n = PAGE - (src + pos) % PAGE;
        }
        n = n < len - pos ? n : len - pos;
        for (i = 0; i < n; i++) {
            const uint8_t *p = model_at(m, src + pos + i);

            if (!p) {
                return src + pos + i;
            }
            buf[i] = *p;
        }
        if (!model_at(m, dst + pos)) {
            return dst + pos;
        }
        memcpy(model_at(m, dst + pos), buf, n);
    }
    return UINT64_MAX;
}

static bool same_memory(Bus *b, const Model *m)
{
    unsigned i;

    for (i = 0; i < NUM_PAGES; i++) {
        if (memcmp(page_mem(b, i), m->mem[i], PAGE)) {
            return false;
        }
    }
    return true;
}

static void random_memory(Bus *b, Model *m, uint64_t *seed)
{
    unsigned i, k;

    for (i = 0; i < NUM_PAGES; i++) {
        for (k = 0; k < PAGE; k += 4) {
            uint32_t v = prng(seed);

            memcpy(&m->mem[i][k], &v, 4);
        }
        memcpy(page_mem(b, i), m->mem[i], PAGE);
    }
}

/* One copy of a random place to another, of a length from a byte to all there is. */
static void one_case(uint64_t *seed, bool holes, uint32_t map_max, unsigned *faults,
                     unsigned *long_writes)
{
    static Model m;
    Bus *b = sdma_start();
    uint64_t size = WIN_PAGES * PAGE, dst, src, stop;
    uint32_t len, max;
    unsigned i;

    random_window(&m, seed, holes);
    random_memory(b, &m, seed);
    map_window(b, &m);
    b->map_max = map_max;
    src = prng(seed) % size;
    dst = prng(seed) % size;
    if (prng(seed) % 2) {
        src &= ~(uint64_t)(PAGE - 1);
        dst &= ~(uint64_t)(PAGE - 1);
    }
    max = size - (src > dst ? src : dst);
    len = 1 + prng(seed) % max;
    stop = model_copy(&m, dst, src, len);

    sdma_load(b, Q);
    b->nlog = 0;
    SEMIT(b, Q, COPY(WIN_VA + dst, WIN_VA + src, len), FENCE(OUT_VA, 1));
    sdma_go(b, Q);
    CHECK(same_memory(b, &m));
    CHECK_EQ(b->mapped, 0);
    CHECK_EQ(vram32(b, OUT), stop == UINT64_MAX);
    for (i = 0; i < b->nlog && b->nlog < LOG_MAX; i++) {
        *long_writes += b->log[i].len > PAGE;
    }
    if (stop != UINT64_MAX) {
        ++*faults;
        CHECK_EQ(sdma_exception(b, Q), VKFD_STOP_VM_FAULT);
        CHECK_EQ(rd(b, mmMMHUB_VM_L2_PROTECTION_FAULT_ADDR_LO32),
                 (uint32_t)((WIN_VA + stop) >> 12));
    }
    bus_free(b);
}

static void test_random(void)
{
    uint64_t seed = 20261130;
    unsigned faults = 0, long_writes = 0, i;

    for (i = 0; i < CASES; i++) {
        one_case(&seed, i % 2, i % 3 ? 0 : 5000, &faults, &long_writes);
    }
    /* Both ways were gone, and both ends were met. */
    CHECK(faults > CASES / 10 && faults < CASES * 9 / 10);
    CHECK(long_writes > CASES / 4);
}

/* RAM that is one piece is copied as one, and who waits for it is told. */
static void test_wakes_waiter(void)
{
    const uint32_t n = 4 * PAGE;
    Bus *b = sdma_start();

    fill_src(b, SRC, n);
    memset(b->vram + OUT, 0, n);
    sdma_load(b, Q);
    sdma_load(b, RLC(1, 0));
    SEMIT(b, RLC(1, 0), POLL_MEM(WAIT_REG_MEM_EQ, OUT_VA + 2 * PAGE,
                                 vram32(b, SRC + 2 * PAGE), ~0u, 0xfff),
          FENCE(FLAG_VA, 1));
    sdma_go(b, RLC(1, 0));
    CHECK_EQ(vram32(b, FLAG), 0);
    SEMIT(b, Q, COPY(OUT_VA, SRC_VA, n));
    b->nlog = 0;
    sdma_go(b, Q);
    CHECK_EQ(b->log[0].len, n);
    CHECK_EQ(b->log[0].addr, OUT);
    CHECK_EQ(vram32(b, FLAG), 1);
    bus_free(b);
}

/* A copy to doorbells rings them, RAM or not what lies before. */
static void test_doorbells(void)
{
    const uint64_t off = SDMA_DB(RLC(1, 0)) * 4;
    Bus *b = sdma_start();

    vm_map(b, WIN_VA, (BAR2_ADDR + (off & ~(uint64_t)(PAGE - 1))) | PTE_RW |
                      AMDGPU_PTE_SYSTEM);
    wr(b, mmMMHUB_VM_INVALIDATE_ENG0_REQ, 1u << TEST_VMID);
    sdma_load(b, Q);
    sdma_load(b, RLC(1, 0));
    SEMIT(b, RLC(1, 0), FENCE(FLAG_VA, 1));
    memset(b->vram + SRC, 0, PAGE);
    set_vram64(b, SRC + off % PAGE, sdma_wptrs[RLC(1, 0)]);
    SEMIT(b, Q, COPY(WIN_VA + off % PAGE / 8 * 8, SRC_VA + off % PAGE / 8 * 8, 8),
          COPY(WIN_VA + off % PAGE / 256 * 256, SRC_VA + off % PAGE / 256 * 256, 256));
    sdma_go(b, Q);
    CHECK_EQ(vram32(b, FLAG), 1);
    CHECK_EQ(sdma_exception(b, Q), 0);
    bus_free(b);
}

int main(void)
{
    test_random();
    test_wakes_waiter();
    test_doorbells();
    return tap_done();
}
