/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: preemption and the device, counting, limits, the control page
 * and saved state.
 */
#include "inject-common.h"

/* ---- preempt ---- */

static void test_preempt(void)
{
    Bus *b = start();

    /* a queue that is off has nothing to preempt */
    arm(b, "preempt:drop@1");
    request(b, 5);
    CHECK_EQ(passages(b, 0), 0);
    request(b, 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_DEQUEUE_REQUEST), 0);
    put(b, 0, 1);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);

    arm(b, "preempt:delay:6us@1");
    request(b, 0);
    put(b, 1, 2);
    queue_kick(b, 0);
    bus_advance(b, 5999);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_DEQUEUE_REQUEST), VKFD_DEQUEUE_DRAIN);
    CHECK_EQ(vram32(b, OUT + 8), 0);    /* nothing more is executed */
    request(b, 0);                      /* asking again changes nothing */
    CHECK_EQ(passages(b, 0), 1);
    bus_advance(b, 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_DEQUEUE_REQUEST), 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);

    arm(b, "preempt:hang@1");
    request(b, 0);
    bus_advance(b, 1000 * MS);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 0);   /* the hard way */
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_DEQUEUE_REQUEST), 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    arm(b, "preempt:hang@1");
    request(b, 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    arm(b, "");
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    /* off in mid-delay: the delay ends with it */
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    arm(b, "preempt:delay:6us@1");
    request(b, 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_advance(b, 10000);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    bus_free(b);
}

/* ---- device ---- */

static void test_device(void)
{
    Bus *b = start();

    arm(b, "device:hang@2");
    put(b, 0, 1);
    put(b, 1, 2);
    queue_kick(b, 0);
    emit_event(b, 1, 2, 3, 1);
    bus_run(b);
    queue_kick(b, 1);
    bus_advance(b, 100 * MS);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    CHECK_EQ(vram32(b, OUT + 16), 0);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_DEVICE), VKFD_INJECT_DEVICE_HUNG);
    CHECK_EQ(rd(b, mmRCC_CONFIG_MEMSIZE), VRAM_SIZE >> 20);
    /* no request completes, the hard way works */
    request(b, 1);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 1);
    hqd_wr(b, 1, mmCP_HQD_ACTIVE, 0);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    request(b, 0);
    arm(b, "");
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);

    arm(b, "device:delay:9us@1");
    put(b, 3, 4);
    queue_kick(b, 0);
    bus_advance(b, 8999);
    CHECK_EQ(vram32(b, OUT + 24), 0);
    request(b, 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    bus_advance(b, 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 24), 4);

    arm(b, "device:hang@0");
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_DEVICE), VKFD_INJECT_DEVICE_HUNG);
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_DEVICE), VKFD_INJECT_DEVICE_OK);
    bus_free(b);
}

/* A device that stands still, and requests that would wait anyway. */
static void test_device_preempt(void)
{
    Bus *b = start();

    /* one that hangs does so still when the device goes on */
    arm(b, "preempt:hang@1;device:delay:1us@1");
    request(b, 1);
    put(b, 0, 1);
    queue_kick(b, 0);
    bus_advance(b, 1000);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 1);
    arm(b, "");
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    hqd_wr(b, 1, mmCP_HQD_ACTIVE, 1);

    /* one that takes longer than the device */
    arm(b, "preempt:delay:5us@1;device:delay:1us@1");
    request(b, 1);
    put(b, 1, 2);
    queue_kick(b, 0);
    bus_advance(b, 4999);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 1);
    bus_advance(b, 1);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    hqd_wr(b, 1, mmCP_HQD_ACTIVE, 1);

    /* and one whose time comes while it stands still */
    arm(b, "preempt:delay:1us@1;device:delay:5us@1");
    request(b, 1);
    put(b, 2, 3);
    queue_kick(b, 0);
    bus_advance(b, 4999);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 1);
    bus_advance(b, 1);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    bus_free(b);
}

static void test_device_gone(void)
{
    Bus *b = start();
    unsigned irqs;
    uint32_t rptr;

    arm(b, "slot:delay:1us@1;device:gone@3");
    event(b, 0, 1, 1);
    irqs = b->irqs;
    rptr = vram32(b, RPTR_ADDR(0));
    put(b, 1, 2);
    put(b, 2, 3);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    CHECK_EQ(vram32(b, OUT + 16), 0);
    CHECK_EQ(vram32(b, RPTR_ADDR(0)), rptr);
    b->nlog = 0;
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_DEVICE), VKFD_INJECT_DEVICE_GONE);
    CHECK_EQ(rd(b, mmRCC_CONFIG_MEMSIZE), UINT32_MAX);
    CHECK_EQ(vkfd_doorbell_read(b->e, 0, 4) & UINT32_MAX, UINT32_MAX);
    wr(b, mmSCRATCH_REG0, 5);
    queue_kick(b, 0);
    vkfd_engine_irq_path_up(b->e);
    bus_advance(b, 10 * MS);
    CHECK_EQ(b->nlog, 0);               /* no DMA, no message */
    CHECK_EQ(b->irqs, irqs);
    CHECK_EQ(vram32(b, OUT), 0);        /* what was held went with it */
    /* an FLR brings it back; the packet that did it is counted, so it stays */
    vkfd_engine_reset(b->e, false);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    CHECK_EQ(fired(b, 1), 1);
    /* a cold reset counts from the start */
    vkfd_engine_reset(b->e, true);
    CHECK_EQ(passages(b, 1), 0);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_COUNT), 2);
    arm(b, "device:gone@0");
    wr(b, mmSCRATCH_REG0, 6);
    arm(b, "");
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    arm(b, "device:gone@0");
    vkfd_engine_reset(b->e, false);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    vkfd_engine_reset(b->e, true);
    CHECK_EQ(rd(b, mmSCRATCH_REG0), UINT32_MAX);
    arm(b, "");
    CHECK_EQ(rd(b, mmSCRATCH_REG0), 0);
    bus_free(b);
}

/* ---- counting, limits ---- */

static void test_counting(void)
{
    Bus *b = start();
    unsigned i;

    arm(b, "msix:drop@3;msix:drop@5/5;msix:dup@10/10*1;msix:drop@2*3");
    for (i = 0; i < 20; i++) {
        event(b, 0, 1, i);
    }
    /* 3: first; 5, 10, 15, 20: second; 10: third refused; 2, 4: fourth, 3 refused */
    CHECK_EQ(fired(b, 0), 1);
    CHECK_EQ(fired(b, 1), 4);
    CHECK_EQ(fired(b, 2), 0);
    CHECK_EQ(refused(b, 2), 1);
    CHECK_EQ(fired(b, 3), 2);
    CHECK_EQ(refused(b, 3), 1);
    for (i = 0; i < 4; i++) {
        CHECK_EQ(passages(b, i), 20);
    }
    CHECK_EQ(b->irqs, 20 - 7);
    CHECK_EQ(counter(b, VKFD_CNT_INJECTED), 7);
    CHECK_EQ(counter(b, VKFD_CNT_INJECT_REFUSED), 2);
    CHECK_EQ(fired(b, 99), 0);
    b->e->inject.spec[0].passages = 0x500000007ull;
    CHECK_EQ(passages(b, 0), 0x500000007ull);
    bus_free(b);
}

static void test_held_full(void)
{
    Bus *b = start();
    unsigned i;

    arm(b, "slot:delay:1ms@1/1");
    for (i = 0; i < VKFD_INJECT_HELD_MAX + 3; i++) {
        event(b, i, 1, 1);
        wr(b, mmIH_RB_RPTR, rd(b, mmIH_RB_WPTR) & IH_RB_WPTR__OFFSET_MASK);
    }
    CHECK_EQ(fired(b, 0), VKFD_INJECT_HELD_MAX);
    CHECK_EQ(refused(b, 0), 3);
    CHECK_EQ(vram32(b, OUT), 0);
    /* the refused ones were written in time */
    CHECK_EQ(vram32(b, OUT + 8 * VKFD_INJECT_HELD_MAX), 1);
    bus_advance(b, MS);
    for (i = 0; i < VKFD_INJECT_HELD_MAX && vram32(b, OUT + 8 * i) == 1; i++) {
    }
    CHECK_EQ(i, VKFD_INJECT_HELD_MAX);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_HELD), 0);
    CHECK_EQ(b->timer[VKFD_TIMER_INJECT], -1);
    bus_free(b);
}

/* ---- control page, saved state ---- */

static uint32_t page_arm(Bus *b, const char *text)
{
    size_t i, len = strlen(text) + 1;

    for (i = 0; i < len; i += 4) {
        uint32_t v = 0;

        memcpy(&v, text + i, len - i < 4 ? len - i : 4);
        vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_TEXT + i, vkfd_le32(v));
    }
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_ARM);
    return vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_STATUS);
}

static void test_page(void)
{
    Bus *b = start();
    char text[VKFD_INJECT_TEXT_SIZE];
    uint32_t i, v;

    CHECK_EQ(page_arm(b, "msix:drop@1; slot:delay:3000ns@7/1"), VKFD_INJECT_OK);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_COUNT), 2);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_GENERATION), 1);
    /* refused text changes nothing */
    CHECK_EQ(page_arm(b, "msix:drop@1;nowhere:drop@1"), VKFD_INJECT_BAD_POINT);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_ERROR_POS), 12);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_COUNT), 2);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_GENERATION), 1);
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_READ);
    for (i = 0; i < VKFD_INJECT_TEXT_SIZE; i += 4) {
        v = vkfd_le32(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_TEXT + i));
        memcpy(text + i, &v, 4);
    }
    CHECK(!strcmp(text, "msix:drop@1;slot:delay:3us@7/1"));
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_GO, 77);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_STATUS), VKFD_INJECT_BAD_GO);
    for (i = 0; i < VKFD_INJECT_TEXT_SIZE; i += 4) {
        vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_TEXT + i, 0x20202020);
    }
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_ARM);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_STATUS), VKFD_INJECT_TOO_LONG);
    /* around the text there is nothing to write */
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_TEXT + VKFD_INJECT_TEXT_SIZE, 1);
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_TEXT - 4, 1);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_TEXT - 4), 0);
    CHECK_EQ(page_arm(b, ""), VKFD_INJECT_OK);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_COUNT), 0);
    bus_free(b);
}

/* A machine with the state of another, on another clock. */
static Bus *migrate(const Bus *src)
{
    Bus *b = bus_new();

    memcpy((char *)b->e + offsetof(VKFDEngine, regs),
           (const char *)src->e + offsetof(VKFDEngine, regs),
           offsetof(VKFDEngine, bar0) - offsetof(VKFDEngine, regs));
    memcpy(b->vram, src->vram, VRAM_SIZE);
    memcpy(b->sys, src->sys, SYS_SIZE);
    b->now = src->now;
    CHECK(vkfd_engine_post_load(b->e));
    bus_run(b);
    return b;
}

static void test_state(void)
{
    Bus *src = start(), *b;

    arm(src, "slot:delay:5us@1;fetch:hang@3;preempt:delay:8us@1;msix:drop@2/1");
    event(src, 0, 1, 1);
    put(src, 1, 2);
    put(src, 2, 3);
    queue_kick(src, 0);
    bus_run(src);
    request(src, 1);
    CHECK_EQ(vram32(src, OUT + 8), 2);
    CHECK_EQ(vram32(src, OUT + 16), 0);
    b = migrate(src);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_HELD), 2);
    CHECK_EQ(passages(b, 0), 1);
    CHECK_EQ(passages(b, 1), 3);
    bus_advance(b, 4999);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_advance(b, 1);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 1);
    bus_advance(b, 3000);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(vram32(b, OUT + 16), 0);   /* hangs here too */
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 16), 3);
    event(b, 3, 1, 1);
    CHECK_EQ(fired(b, 3), 1);
    bus_free(b);

    /* a deadline that never comes is brought near */
    src->e->inject.held[0].deadline = INT64_MAX;
    b = migrate(src);
    bus_advance(b, VKFD_INJECT_DELAY_MAX);
    CHECK_EQ(vram32(b, OUT), 1);
    bus_free(b);
    bus_free(src);
}

int main(void)
{
    test_preempt();
    test_device();
    test_device_preempt();
    test_device_gone();
    test_counting();
    test_held_full();
    test_page();
    test_state();
    return tap_done();
}
