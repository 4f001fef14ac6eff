/* SPDX-License-Identifier: MIT */
/* What the tests of the SDMA engines share: the engines as a driver sets them up. */
#ifndef VKFD_UNIT_SDMA_COMMON_H
#define VKFD_UNIT_SDMA_COMMON_H

#include "harness.h"
#include "sdma-priv.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define SRC             0xa00000u
#define SRC_VA          (VA0 + SRC)
#define FLAG            0x7f0000u
#define FLAG_VA         (VA0 + FLAG)
#define BAD_VA          0x700000000ull  /* no page */

/* Queues by the names used here: engine, block. */
#define SQ(engine, block)       ((engine) * VKFD_SDMA_QUEUES + (block))
#define GFX0            SQ(0, VKFD_SDMA_BLOCK_GFX)
#define PAGE1           SQ(1, VKFD_SDMA_BLOCK_PAGE)
#define RLC(engine, n)  SQ(engine, VKFD_SDMA_BLOCK_RLC0 + (n))

/* Doorbells in the fifth page: ranges repeat in each. */
#define SDMA_DB(id)     (0x1000u + (AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0 << 1) + \
                         (id) / VKFD_SDMA_QUEUES * 20 + (id) % VKFD_SDMA_QUEUES * 2)
#define SDMA_RING_LOG2  10

static uint64_t sdma_wptrs[VKFD_NUM_SDMA_QUEUES];       /* bytes */

static inline uint32_t srd_(Bus *b, unsigned id, uint32_t dw)
{
    return rd(b, vkfd_sdma_index(id, dw));
}

static inline void swr_(Bus *b, unsigned id, uint32_t dw, uint32_t val)
{
    wr(b, vkfd_sdma_index(id, dw), val);
}

#define srd(b, id, name)        srd_(b, id, mmSDMA0_GFX_##name)
#define swr(b, id, name, val)   swr_(b, id, mmSDMA0_GFX_##name, (uint32_t)(val))

static inline uint64_t sdma_rptr(Bus *b, unsigned id)
{
    return srd(b, id, RB_RPTR) | (uint64_t)srd(b, id, RB_RPTR_HI) << 32;
}

static inline bool sdma_idle(Bus *b, unsigned id)
{
    return srd(b, id, CONTEXT_STATUS) & SDMA0_GFX_CONTEXT_STATUS__IDLE_MASK;
}

static inline unsigned sdma_exception(Bus *b, unsigned id)
{
    return VKFD_GET(srd(b, id, CONTEXT_STATUS), SDMA0_GFX_CONTEXT_STATUS__EXCEPTION);
}

/* The MM hub gets the tables of the GFX hub, VMID 0 the framebuffer. */
static inline void mmhub_setup(Bus *b)
{
    wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * TEST_VMID,
       VM_ROOT | AMDGPU_PTE_VALID);
    wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * TEST_VMID, 0xffffffff);
    wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * TEST_VMID + 1, 0xf);
    wr(b, mmMMHUB_VM_CONTEXT0_CNTL + TEST_VMID, 1 | 3 << 1 | 0x007ffe80);
    wr(b, mmIH_VMID_0_LUT_MM + TEST_VMID, TEST_PASID);
}

static inline Bus *sdma_start(void)
{
    Bus *b = bus_new();
    unsigned i;

    vm_setup(b);
    mmhub_setup(b);
    ih_setup(b, 12, 0);
    for (i = 0; i < VKFD_NUM_SDMA; i++) {
        wr(b, mmSDMA0_F32_CNTL + i * VKFD_SDMA_ENGINE_STRIDE, 0);
        wr(b, mmSDMA0_CNTL + i * VKFD_SDMA_ENGINE_STRIDE, 3);
        wr(b, mmBIF_SDMA0_DOORBELL_RANGE + i,
           ((AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0 << 1) + i * 20) << 2 | 20 << 16);
    }
    memset(sdma_wptrs, 0, sizeof(sdma_wptrs));
    return b;
}

static inline uint32_t sdma_rb_cntl(uint32_t vmid)
{
    return SDMA_RING_LOG2 << SDMA0_GFX_RB_CNTL__RB_SIZE__SHIFT | 1 << 12 | 6 << 16 |
           vmid << 24;
}

/* Addresses of the queue: VMID 0 sees VRAM at the framebuffer. */
static inline uint64_t sdma_va(uint32_t vmid, uint32_t off)
{
    return (vmid ? VA0 : VKFD_FB_LOCATION_BASE) + off;
}

/* As amdkfd loads a queue without the scheduler. */
static inline void sdma_load_vmid(Bus *b, unsigned id, uint32_t vmid)
{
    uint64_t ring = sdma_va(vmid, RING(id)), report = sdma_va(vmid, RPTR_ADDR(id));
    uint64_t rptr = sdma_wptrs[id];

    swr(b, id, RB_CNTL, sdma_rb_cntl(vmid));
    CHECK(sdma_idle(b, id));
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
    swr(b, id, RB_CNTL, sdma_rb_cntl(vmid) | 1);
}

static inline void sdma_load(Bus *b, unsigned id)
{
    sdma_load_vmid(b, id, TEST_VMID);
}

static inline void sdma_emit(Bus *b, unsigned id, const uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        set_vram32(b, RING(id) + (sdma_wptrs[id] & ((4u << SDMA_RING_LOG2) - 1)),
                   dw[i]);
        sdma_wptrs[id] += 4;
    }
}

/* Ring the doorbell with what was emitted, less n dwords, and run. */
static inline void sdma_kick(Bus *b, unsigned id, unsigned less)
{
    vkfd_doorbell_write(b->e, SDMA_DB(id) * 4, sdma_wptrs[id] - less * 4, 8);
}

static inline void sdma_go(Bus *b, unsigned id)
{
    sdma_kick(b, id, 0);
    bus_run(b);
}

#define SEMIT(b, id, ...) do { \
        const uint32_t emit_[] = { __VA_ARGS__ }; \
        sdma_emit(b, id, emit_, sizeof(emit_) / 4); \
    } while (0)

#define LO(va)          ((uint32_t)(va))
#define HI(va)          ((uint32_t)((uint64_t)(va) >> 32))
#define FENCE(va, v)    SDMA_OP_FENCE, LO(va), HI(va), v
#define TRAP(ctx)       SDMA_OP_TRAP, ctx
#define COPY(dst, src, n)       SDMA_OP_COPY, (n) - 1, 0, LO(src), HI(src), LO(dst), HI(dst)
#define POLL_MEM(func, va, v, mask, retry) \
    SDMA_OP_POLL_REGMEM | (uint32_t)(func) << 28 | 1u << 31, LO(va), HI(va), v, mask, \
    (uint32_t)(retry) << 16 | 10

/* Bytes that tell where they came from. */
static inline uint8_t pattern(uint32_t i)
{
    return i * 7 + (i >> 8) * 13 + 1;
}

static inline void fill_src(Bus *b, uint32_t off, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        b->vram[off + i] = pattern(i);
    }
}

/* First difference of n bytes at off from the pattern; n if there is none. */
static inline uint32_t pattern_len(Bus *b, uint32_t off, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n && b->vram[off + i] == pattern(i); i++) {
    }
    return i;
}

#endif /* VKFD_UNIT_SDMA_COMMON_H */
