/* SPDX-License-Identifier: MIT */
/* Fault injection stops the VM at a counted point: what is done by then, and what after. */
#include "inject-common.h"
#include "sdma-common.h"

/* What a migration carries: the guest state between two markers of the struct. */
#define STATE_FIRST     offsetof(VKFDEngine, regs)
#define STATE_END       offsetof(VKFDEngine, bar0)

/* A second machine with the state, VRAM and memory of the first, and another clock. */
static Bus *migrate(const Bus *src)
{
    Bus *b = bus_new();

    memcpy((char *)b->e + STATE_FIRST, (const char *)src->e + STATE_FIRST,
           STATE_END - STATE_FIRST);
    memcpy(b->vram, src->vram, VRAM_SIZE);
    memcpy(b->sys, src->sys, SYS_SIZE);
    b->now = 5;
    b->irqs = src->irqs;
    CHECK(vkfd_engine_post_load(b->e));
    return b;
}

static uint32_t held(Bus *b)
{
    return vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_HELD);
}

/* Index in the log of the first write to addr, or of the message (0); LOG_MAX: none. */
static unsigned logged(const Bus *b, uint64_t addr)
{
    unsigned i;

    for (i = 0; i < b->nlog; i++) {
        if (addr ? b->log[i].kind == EV_DMA_WRITE && b->log[i].addr == addr
                 : b->log[i].kind == EV_IRQ) {
            return i;
        }
    }
    return LOG_MAX;
}

/* The order of a completion: slot, entry, wptr, message. */
static void check_order(const Bus *b)
{
    unsigned slot = logged(b, OUT), entry = logged(b, SYS_BASE + IH_RING_OFF),
             wptr = logged(b, SYS_BASE + IH_WPTR_OFF), irq = logged(b, 0);

    CHECK(slot < entry && entry < wptr && wptr < irq && irq < LOG_MAX);
}

/*
 * A completion, a packet behind it, and another queue's. Each point with what has been
 * done in front of it: doorbell, slot, entry, wptr.
 */
static const struct {
    const char *spec;
    bool rung, slot, entry, wptr;
} order[] = {
    { "doorbell:pause@1", false, false, false, false },
    { "fetch:pause@1", true, false, false, false },
    { "slot:pause@1", true, false, false, false },
    { "ih-entry:pause@1", true, true, false, false },
    { "ih-wptr:pause@1", true, true, true, false },
    { "msix:pause@1", true, true, true, true },
};

static void completion(Bus *b, const char *spec)
{
    arm(b, spec);
    emit_event(b, 0, 0, 1, 7);
    put(b, 1, 2);
    queue_kick(b, 0);
    bus_run(b);
}

static void check_done(Bus *b)
{
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    CHECK_EQ(wb(b), VKFD_IH_ENTRY_SIZE);
    CHECK_EQ(ih_dw(b, 0, 4), 7);
    CHECK_EQ(b->irqs, 1);
    CHECK_EQ(held(b), 0);
    CHECK_EQ(fired(b, 0), 1);
    CHECK_EQ(refused(b, 0), 0);
}

static void test_points(void)
{
    unsigned i;

    for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        Bus *b = start(), *to;

        printf("# %s\n", order[i].spec);
        completion(b, order[i].spec);
        CHECK_EQ(b->pauses, 1);
        CHECK_EQ(rd(b, mmIH_RB_WPTR), order[i].entry ? VKFD_IH_ENTRY_SIZE : 0);
        CHECK_EQ(vkfd_hqd_wptr(&b->e->hqd[0]) != 0, order[i].rung);
        CHECK_EQ(vram32(b, OUT), order[i].slot);
        CHECK_EQ(wb(b), order[i].wptr ? VKFD_IH_ENTRY_SIZE : 0);
        CHECK_EQ(b->irqs, 0);
        CHECK_EQ(vram32(b, OUT + 8), 0);

        /* Nothing runs, whoever asks and however late it is. */
        emit_event(b, 1, 2, 3, 8);
        vkfd_doorbell_write(b->e, DOORBELL_DW(1) * 4, queue_wptr(1), 8);
        bus_advance(b, 100 * MS);
        CHECK_EQ(vram32(b, OUT + 16), 0);
        CHECK_EQ(vram32(b, OUT + 8), 0);
        CHECK_EQ(b->irqs, 0);
        CHECK_EQ(b->pauses, 1);

        /* The other end of a migration: without a pause of its own. */
        to = migrate(b);
        bus_run(to);
        CHECK_EQ(to->pauses, 0);
        CHECK_EQ(vram32(to, OUT), 1);
        CHECK_EQ(vram32(to, OUT + 8), 2);
        CHECK_EQ(vram32(to, OUT + 16), 3);
        CHECK_EQ(wb(to), 2 * VKFD_IH_ENTRY_SIZE);
        CHECK_EQ(to->irqs, 2);
        /* Kept from before, so in front of all that is new. */
        CHECK(i < 2 || ih_dw(to, 0, 4) == 7);
        CHECK_EQ(held(to), 0);
        /* Counting goes on where it was; of two queues' packets there are three. */
        CHECK_EQ(passages(to, 0), i == 1 ? 3 : 2);
        CHECK_EQ(fired(to, 0), 1);
        bus_free(to);
        bus_free(b);

        /* The same machine runs again. */
        b = start();
        completion(b, order[i].spec);
        b->nlog = 0;
        memset(b->log, 0, sizeof(b->log));
        vkfd_engine_resume(b->e);
        CHECK(b->scheduled);
        bus_run(b);
        check_done(b);
        CHECK_EQ(passages(b, 0), i == 1 ? 2 : 1);
        if (!order[i].slot) {
            check_order(b);
        }
        vkfd_engine_resume(b->e);               /* no pause: no effect */
        CHECK(!b->scheduled);
        bus_free(b);
    }
}

/* One pause, and the next one at the passage it names. */
static void test_again(void)
{
    Bus *b = start();
    unsigned i;

    arm(b, "msix:pause@1/2;msix:pause@3");
    for (i = 1; i <= 3; i++) {
        event(b, i, i, i);
        CHECK_EQ(b->pauses, (i + 1) / 2);
        CHECK_EQ(b->irqs, i / 2 * 2);
        vkfd_engine_resume(b->e);
        bus_run(b);
        CHECK_EQ(b->irqs, i);
    }
    CHECK_EQ(fired(b, 0), 2);
    CHECK_EQ(refused(b, 1), 1);

    /* Two passages of one packet: the VM is stopped once, both are kept. */
    arm(b, "slot:pause@1;msix:pause@1");
    event(b, 9, 9, 9);
    CHECK_EQ(b->pauses, 3);
    CHECK_EQ(vram32(b, OUT + 72), 0);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 3 * VKFD_IH_ENTRY_SIZE);
    vkfd_engine_resume(b->e);
    bus_run(b);
    /* The message is one that was kept with its entry, and passes its point now. */
    CHECK_EQ(vram32(b, OUT + 72), 9);
    CHECK_EQ(b->pauses, 4);
    CHECK_EQ(b->irqs, 3);
    vkfd_engine_resume(b->e);
    bus_run(b);
    CHECK_EQ(b->irqs, 4);
    bus_free(b);
}

/* Late by a time, and kept by a pause: the pause is over first. */
static void test_with_delay(void)
{
    Bus *b = start();

    arm(b, "slot:delay:1us@1;slot:pause@2");
    emit_event(b, 0, 0, 1, 1);
    emit_event(b, 0, 1, 2, 2);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(b->pauses, 1);
    CHECK_EQ(held(b), 3);                       /* with the second one's entry */
    bus_advance(b, MS);
    CHECK_EQ(vram32(b, OUT), 0);
    b->nlog = 0;
    vkfd_engine_resume(b->e);
    bus_advance(b, 0);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    CHECK(logged(b, OUT + 8) < logged(b, OUT));
    CHECK_EQ(b->irqs, 2);

    /* Doorbells of one address stay in order. */
    arm(b, "doorbell:pause@1");
    put(b, 2, 3);
    queue_kick(b, 0);
    put(b, 3, 4);
    queue_kick(b, 0);
    CHECK_EQ(held(b), 1);
    vkfd_engine_resume(b->e);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 16), 3);
    CHECK_EQ(vram32(b, OUT + 24), 4);

    /* No room to keep it: the VM is stopped all the same, behind the packet. */
    arm(b, "slot:delay:1ms@1*256;slot:pause@257");
    for (unsigned i = 0; i < VKFD_INJECT_HELD_MAX; i++) {
        event(b, 0, 1, 1);
        wr(b, mmIH_RB_RPTR, rd(b, mmIH_RB_WPTR) & IH_RB_WPTR__OFFSET_MASK);
    }
    event(b, 5, 6, 7);
    CHECK_EQ(b->pauses, 3);
    CHECK_EQ(vram32(b, OUT + 40), 6);
    CHECK_EQ(b->irqs, 2 + VKFD_INJECT_HELD_MAX + 1);
    bus_free(b);
}

/* A poll that was due while the VM was to stop is made when it runs. */
static void test_timers(void)
{
    Bus *b = start();
    uint32_t p[8];

    arm(b, "fetch:pause@2");
    queue_emit(b, 0, p, pkt_wait_mem(p, VA0 + 0x810000u, WAIT_REG_MEM_EQ, 1, ~0u));
    put(b, 0, 1);
    queue_kick(b, 0);
    bus_run(b);
    set_vram32(b, 0x810000, 1);
    emit_event(b, 1, 1, 2, 1);
    queue_kick(b, 1);
    bus_run(b);
    CHECK_EQ(b->pauses, 1);
    bus_advance(b, 10 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    /* One that nobody would set again: the scheduler counts on its own. */
    vkfd_engine_timer(b->e, VKFD_TIMER_SCHED);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    vkfd_engine_resume(b->e);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], b->now);
    bus_advance(b, 0);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    bus_free(b);
}

static void test_walk(void)
{
    Bus *b = start();

    arm(b, "page-walk:pause@1");
    vm_flush(b, 1u << TEST_VMID);
    put(b, 0, 1);
    put(b, 1, 2);
    queue_kick(b, 0);
    bus_run(b);
    /* The packet it was part of is done, the next one is not. */
    CHECK_EQ(b->pauses, 1);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    vkfd_engine_resume(b->e);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);

    /* A late write to where nothing is mapped faults at once. */
    arm(b, "slot:pause@1");
    vm_map(b, SYS_VA, 0);
    vm_flush(b, 1u << TEST_VMID);
    {
        uint32_t p[8];

        queue_emit(b, 0, p, pkt_release(p, SYS_VA, 1, RELEASE_MEM_DATA_64, 0, 0));
    }
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(b->pauses, 2);
    CHECK_EQ(held(b), 1);                       /* the interrupt of the fault */
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
    bus_free(b);
}

static void test_preempt(void)
{
    Bus *b = start(), *to;

    arm(b, "preempt:pause@1");
    request(b, 0);
    CHECK_EQ(b->pauses, 1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 1);
    /* Others go off as always. */
    request(b, 1);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    to = migrate(b);
    bus_run(to);
    CHECK_EQ(hqd_rd(to, 0, mmCP_HQD_ACTIVE), 0);
    bus_free(to);
    vkfd_engine_resume(b->e);
    bus_run(b);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_DEQUEUE_REQUEST), 0);
    bus_free(b);
}

static void test_sdma(void)
{
    static const char *const specs[] = {
        "doorbell:pause@1", "fetch:pause@2", "slot:pause@1", "slot:pause@2",
        "ih-entry:pause@1", "msix:pause@1",
    };
    unsigned i;

    for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        Bus *b = sdma_start(), *to;

        printf("# SDMA %s\n", specs[i]);
        sdma_load(b, RLC(0, 0));
        sdma_load(b, RLC(1, 0));
        arm(b, specs[i]);
        SEMIT(b, RLC(0, 0), FENCE(OUT_VA, 1), FENCE(OUT_VA + 4, 2), TRAP(5),
              FENCE(OUT_VA + 8, 3), COPY(VA0 + 0xc00000, SRC_VA, 256));
        fill_src(b, SRC, 256);
        sdma_go(b, RLC(0, 0));
        SEMIT(b, RLC(1, 0), FENCE(OUT_VA + 12, 4));
        sdma_go(b, RLC(1, 0));
        CHECK_EQ(b->pauses, 1);
        CHECK_EQ(vram32(b, OUT), i == 1 || i > 2);
        CHECK_EQ(vram32(b, OUT + 4), i > 3 ? 2 : 0);
        CHECK_EQ(vram32(b, OUT + 8), 0);
        CHECK_EQ(vram32(b, OUT + 12), 0);
        CHECK_EQ(pattern_len(b, 0xc00000, 256), 0);
        CHECK_EQ(b->irqs, 0);
        to = migrate(b);
        bus_run(to);
        CHECK_EQ(vram32(to, OUT), 1);
        CHECK_EQ(vram32(to, OUT + 4), 2);
        CHECK_EQ(vram32(to, OUT + 8), 3);
        CHECK_EQ(vram32(to, OUT + 12), 4);
        CHECK_EQ(pattern_len(to, 0xc00000, 256), 256);
        CHECK_EQ(to->irqs, 1);
        bus_free(to);
        vkfd_engine_resume(b->e);
        bus_run(b);
        CHECK_EQ(vram32(b, OUT), 1);
        CHECK_EQ(vram32(b, OUT + 4), 2);
        CHECK_EQ(vram32(b, OUT + 8), 3);
        CHECK_EQ(vram32(b, OUT + 12), 4);
        CHECK_EQ(b->irqs, 1);

        arm(b, "preempt:pause@1");
        swr(b, RLC(0, 0), RB_CNTL, sdma_rb_cntl(TEST_VMID));
        CHECK_EQ(b->pauses, 2);
        CHECK(!sdma_idle(b, RLC(0, 0)));
        vkfd_engine_resume(b->e);
        bus_run(b);
        CHECK(sdma_idle(b, RLC(0, 0)));
        bus_free(b);
    }
}

/* What goes on behind the pause's back: disarming, reset, a load. */
static void test_ended(void)
{
    Bus *b = start();

    /* Disarmed: what was kept happens now; the VM still stops. */
    completion(b, "slot:pause@1");
    arm(b, "");
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(b->irqs, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    vkfd_engine_resume(b->e);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    bus_free(b);

    /* A reset: what was kept is gone, and nothing runs before the VM does. */
    b = start();
    completion(b, "slot:pause@1");
    vkfd_engine_reset(b->e, false);
    CHECK_EQ(held(b), 0);
    CHECK(b->e->inject_pause && b->e->inject_blocked);
    vkfd_engine_resume(b->e);
    CHECK(!b->e->inject_blocked);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);
    bus_free(b);

    /* A state loaded into the stopped VM: not the pause of another. */
    b = start();
    completion(b, "msix:pause@1");
    CHECK(vkfd_engine_post_load(b->e));
    CHECK(!b->e->inject_pause && !b->e->inject_blocked);
    bus_run(b);
    check_done(b);
    bus_free(b);
}

int main(void)
{
    test_points();
    test_again();
    test_with_delay();
    test_timers();
    test_walk();
    test_preempt();
    test_sdma();
    test_ended();
    return tap_done();
}
