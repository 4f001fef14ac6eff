/* SPDX-License-Identifier: MIT */
/* Interrupt ring: wrap, overflow, rearm, write-back, routing of rptr. */
#include "harness.h"

#define LOG2DW          6               /* 64 dwords: 8 entries, 7 usable */
#define ENTRIES         8u
#define OVF_EN          IH_RB_CNTL__WPTR_OVERFLOW_ENABLE_MASK
#define REARM           IH_RB_CNTL__RPTR_REARM_MASK

static Bus *start(uint32_t flags)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, LOG2DW, flags);
    wr(b, mmBIF_IH_DOORBELL_RANGE,
       VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH) << 2 | 8 << 16);
    wr(b, mmIH_DOORBELL_RPTR, VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH) |
       IH_DOORBELL_RPTR__ENABLE_MASK);
    return b;
}

static void push(Bus *b, uint32_t ctx)
{
    VKFDIv iv = { .client = 0x14, .source = 181, .vmid = TEST_VMID, .ctx = { ctx } };

    vkfd_ih_push(b->e, &iv);
}

static void rptr_doorbell(Bus *b, uint32_t rptr)
{
    vkfd_doorbell_write(b->e, VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH) * 4,
                        rptr, 4);
}

static void test_wrap(void)
{
    Bus *b = start(OVF_EN);
    uint64_t last_ts = 0;
    unsigned i;
    bool order = true;

    for (i = 0; i < 3 * ENTRIES; i++) {
        uint64_t ts;

        push(b, 100 + i);
        CHECK_EQ(ih_dw(b, i % ENTRIES, 4), 100 + i);
        CHECK_EQ(sys32(b, IH_WPTR_OFF), (i + 1) % ENTRIES * 32);
        CHECK_EQ(rd(b, mmIH_RB_WPTR), (i + 1) % ENTRIES * 32);
        ts = ih_dw(b, i % ENTRIES, 1) | (uint64_t)ih_dw(b, i % ENTRIES, 2) << 32;
        order &= ts > last_ts;
        last_ts = ts;
        rptr_doorbell(b, (i + 1) % ENTRIES * 32);
        CHECK_EQ(rd(b, mmIH_RB_RPTR), (i + 1) % ENTRIES * 32);
    }
    CHECK(order);
    CHECK_EQ(b->irqs, 3 * ENTRIES);
    CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), 0);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 0);
    bus_free(b);
}

/* What a driver does about an overflow; returns the entries it got. */
static unsigned recover(Bus *b, uint32_t *first)
{
    uint32_t mask = ENTRIES * 32 - 1;
    uint32_t wptr = rd(b, mmIH_RB_WPTR), rptr, cntl = rd(b, mmIH_RB_CNTL);
    unsigned n = 0;

    CHECK_EQ(sys32(b, IH_WPTR_OFF) & 1, 1);
    CHECK_EQ(wptr & 1, 1);
    CHECK_EQ(rd(b, mmIH_STATUS), 0x21);
    rptr = (wptr + 32) & mask & ~1u;
    wr(b, mmIH_RB_CNTL, cntl | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK);
    wr(b, mmIH_RB_CNTL, cntl);
    CHECK_EQ(rd(b, mmIH_RB_WPTR) & 1, 0);
    *first = ih_dw(b, rptr / 32, 4);
    for (; rptr != (wptr & mask & ~1u); rptr = (rptr + 32) & mask) {
        n++;
    }
    rptr_doorbell(b, rptr);
    return n;
}

static void test_overflow_twice(void)
{
    Bus *b = start(OVF_EN);
    uint32_t first;
    unsigned round, i;

    for (round = 0; round < 2; round++) {
        for (i = 0; i < ENTRIES - 1; i++) {
            push(b, round * 100 + i);
        }
        CHECK_EQ(rd(b, mmIH_RB_WPTR) & 1, 0);
        CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), round);
        push(b, round * 100 + i++);
        CHECK_EQ(rd(b, mmIH_RB_WPTR) & 1, 1);
        CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), round + 1);
        push(b, round * 100 + i++);
        push(b, round * 100 + i++);
        CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), round + 1);
        CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), (round + 1) * 3);
        /* 10 pushed, 3 lost: 7 newest remain, oldest of them first */
        CHECK_EQ(recover(b, &first), ENTRIES - 1);
        CHECK_EQ(first, round * 100 + 3);
    }
    bus_free(b);
}

/*
 * Between the clear and the driver's next read pointer the ring is as full as
 * before: what comes then is announced as an overflow too, not lost in silence.
 */
static void test_overflow_before_rptr(void)
{
    Bus *b = start(OVF_EN);
    uint32_t cntl = rd(b, mmIH_RB_CNTL), wptr, i;

    for (i = 0; i < ENTRIES + 2; i++) {
        push(b, i);
    }
    wptr = rd(b, mmIH_RB_WPTR) & ~1u;
    wr(b, mmIH_RB_CNTL, cntl | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK);
    wr(b, mmIH_RB_CNTL, cntl);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), wptr);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), (wptr + 32) % (ENTRIES * 32));
    push(b, 50);
    CHECK_EQ(rd(b, mmIH_RB_WPTR) & 1, 1);
    CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), 2);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 4);

    /* A driver that starts anew: the pulse after its zeros changes nothing. */
    wr(b, mmIH_RB_CNTL, 0);
    wr(b, mmIH_RB_RPTR, 0);
    wr(b, mmIH_RB_WPTR, 0);
    b->irqs = 0;
    wr(b, mmIH_RB_CNTL, cntl | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK);
    wr(b, mmIH_RB_CNTL, cntl);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 0);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), 0);
    CHECK_EQ(b->irqs, 0);
    push(b, 60);
    CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), 2);
    CHECK_EQ(ih_dw(b, 0, 4), 60);
    bus_free(b);
}

/* Bug 11: the clear bit left at 1 hides every later overflow. */
static void test_clear_held(void)
{
    Bus *b = start(OVF_EN);
    uint32_t cntl = rd(b, mmIH_RB_CNTL);
    unsigned i;

    for (i = 0; i < ENTRIES; i++) {
        push(b, i);
    }
    wr(b, mmIH_RB_CNTL, cntl | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK);
    CHECK_EQ(rd(b, mmIH_RB_WPTR) & 1, 0);
    rptr_doorbell(b, rd(b, mmIH_RB_WPTR));
    for (i = 0; i < ENTRIES; i++) {
        push(b, i);
    }
    CHECK_EQ(rd(b, mmIH_RB_WPTR) & 1, 0);
    CHECK_EQ(counter(b, VKFD_CNT_IH_OVERFLOW), 2);
    bus_free(b);
}

static void test_no_overflow_enable(void)
{
    Bus *b = start(0);
    unsigned i;

    for (i = 0; i < ENTRIES + 2; i++) {
        push(b, i + 1);
    }
    CHECK_EQ(rd(b, mmIH_RB_WPTR), (ENTRIES - 1) * 32);
    CHECK_EQ(ih_dw(b, 0, 4), 1);        /* the oldest is intact */
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 3);
    bus_free(b);
}

static void test_rearm(void)
{
    Bus *b = start(OVF_EN | REARM);

    push(b, 1);
    push(b, 2);
    push(b, 3);
    CHECK_EQ(b->irqs, 1);
    rptr_doorbell(b, 64);               /* one is left: again at once */
    CHECK_EQ(b->irqs, 2);
    push(b, 4);
    CHECK_EQ(b->irqs, 2);
    wr(b, mmIH_RB_RPTR, 128);           /* all read: armed, silent */
    CHECK_EQ(b->irqs, 2);
    push(b, 5);
    CHECK_EQ(b->irqs, 3);
    bus_free(b);
}

/* A message that went nowhere (MSI-X or bus mastering off) is sent again. */
static void test_irq_path(void)
{
    Bus *b = start(OVF_EN | REARM);

    vkfd_engine_irq_path_up(b->e);
    CHECK_EQ(b->irqs, 0);               /* nothing to read */
    push(b, 1);
    push(b, 2);
    CHECK_EQ(b->irqs, 1);
    vkfd_engine_irq_path_up(b->e);
    CHECK_EQ(b->irqs, 2);
    push(b, 3);
    CHECK_EQ(b->irqs, 2);               /* one outstanding again */
    rptr_doorbell(b, 96);
    vkfd_engine_irq_path_up(b->e);
    CHECK_EQ(b->irqs, 2);
    wr(b, mmIH_RB_CNTL, 0);
    vkfd_engine_irq_path_up(b->e);
    CHECK_EQ(b->irqs, 2);
    bus_free(b);
}

static void test_enable(void)
{
    Bus *b = start(OVF_EN);
    uint32_t cntl = rd(b, mmIH_RB_CNTL);

    /* nothing that came while interrupts were off is forgotten */
    wr(b, mmIH_RB_CNTL, cntl & ~IH_RB_CNTL__ENABLE_INTR_MASK);
    push(b, 1);
    CHECK_EQ(b->irqs, 0);
    wr(b, mmIH_RB_CNTL, cntl);
    CHECK_EQ(b->irqs, 1);
    rptr_doorbell(b, 32);
    wr(b, mmIH_RB_CNTL, cntl & ~IH_RB_CNTL__RB_ENABLE_MASK);
    push(b, 2);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 1);
    CHECK_EQ(b->irqs, 1);
    /* no write-back: the register still tells */
    wr(b, mmIH_RB_CNTL, cntl & ~IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK);
    push(b, 3);
    CHECK_EQ(sys32(b, IH_WPTR_OFF), 32);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 64);
    CHECK_EQ(b->irqs, 2);
    bus_free(b);
}

static void test_bad_setup(void)
{
    Bus *b = start(OVF_EN);
    uint32_t cntl = rd(b, mmIH_RB_CNTL);
    unsigned i;

    wr(b, mmIH_RB_BASE, 0x12345678);    /* nowhere */
    push(b, 1);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 1);
    CHECK_EQ(counter(b, VKFD_CNT_DMA_REFUSED), 1);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 0);
    CHECK_EQ(b->irqs, 0);
    wr(b, mmIH_RB_CNTL, cntl & ~0x70000000u);   /* MC_SPACE 0 */
    push(b, 1);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 2);
    wr(b, mmIH_RB_CNTL, cntl & ~0x3eu);         /* too small for an entry */
    push(b, 1);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 3);
    /* the largest size there is, pointers anywhere */
    wr(b, mmIH_RB_CNTL, cntl | 0x3e);
    for (i = 0; i < 64; i++) {
        wr(b, mmIH_RB_WPTR, 0xffffffffu >> i % 32);
        wr(b, mmIH_RB_RPTR, 0x12345677u >> i % 32);
        push(b, i);
    }
    CHECK(counter(b, VKFD_CNT_GUEST_ERROR) > 0);
    bus_free(b);
}

/* MC_SPACE 4: a GPU address of VMID 0, through the MM hub. */
static void test_gpu_space(void)
{
    Bus *b = start(OVF_EN);
    uint64_t ring = VKFD_FB_LOCATION_BASE + 0xb00000, wb = ring + 0x1000;
    uint32_t cntl = rd(b, mmIH_RB_CNTL);

    wr(b, mmIH_RB_BASE, ring >> 8);
    wr(b, mmIH_RB_BASE_HI, ring >> 40);
    wr(b, mmIH_RB_WPTR_ADDR_LO, wb);
    wr(b, mmIH_RB_WPTR_ADDR_HI, wb >> 32);
    wr(b, mmIH_RB_CNTL, (cntl & ~0x70000000u) | 4u << 28);
    push(b, 0x321);
    CHECK_EQ(vram32(b, 0xb00010), 0x321);
    CHECK_EQ(vram32(b, 0xb01000), 32);
    bus_free(b);
}

static void test_doorbell_routing(void)
{
    Bus *b = start(OVF_EN);

    push(b, 1);
    /* the same offset in another 4 KiB page is in IH's range, but no match */
    vkfd_doorbell_write(b->e, 0x1bc0, 32, 4);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), 0);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 1);
    wr(b, mmIH_DOORBELL_RPTR, 0x2f0);   /* not enabled */
    vkfd_doorbell_write(b->e, 0xbc0, 32, 4);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), 0);
    wr(b, mmIH_DOORBELL_RPTR, 0x2f0 | IH_DOORBELL_RPTR__ENABLE_MASK);
    vkfd_doorbell_write(b->e, 0xbc0, 32, 8);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), 32);
    wr(b, mmBIF_IH_DOORBELL_RANGE, 0);  /* range of size 0 */
    vkfd_doorbell_write(b->e, 0xbc0, 64, 4);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), 32);
    bus_free(b);
}

int main(void)
{
    test_wrap();
    test_overflow_twice();
    test_overflow_before_rptr();
    test_clear_held();
    test_no_overflow_enable();
    test_rearm();
    test_irq_path();
    test_enable();
    test_bad_setup();
    test_gpu_space();
    test_doorbell_routing();
    return tap_done();
}
