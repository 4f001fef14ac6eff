/* SPDX-License-Identifier: MIT */
/*
 * What has to hold whatever an input does. Everything here is a property the engine
 * promises in its comments, not a result of the program.
 */
#include "fuzz.h"

#define MAX_REST_RUNS   4

static bool waiting(const VKFDHqd *q)
{
    return q->parked == VKFD_PARKED_WAIT;
}

/* Parked, and polled: in a wait, or by the scheduler. */
static bool polled(const VKFDHqd *q)
{
    return waiting(q) || q->parked == VKFD_PARKED_SCHED;
}

void fuzz_call(void)
{
    fz.events = 0;
    fz.bytes = 0;
}

/* What is derived says what the queues say. */
static void check_masks(const VKFDEngine *e)
{
    unsigned i;

    for (i = 0; i < VKFD_NUM_HQD; i++) {
        const VKFDHqd *q = &e->hqd[i];

        FUZZ_CHECK((e->active_mask >> i & 1) == vkfd_hqd_active(q));
        FUZZ_CHECK((e->waiting_mask >> i & 1) == waiting(q));
        FUZZ_CHECK(!q->parked || (vkfd_hqd_active(q) && !q->stop));
        FUZZ_CHECK(!q->poll_now || polled(q));
    }
}

/* Who can go on is to be run; who waits is looked at in time. */
static void check_nothing_forgotten(VKFDEngine *e)
{
    const Bus *b = fz.b;
    unsigned i;

    FUZZ_CHECK(!e->run_pending || b->scheduled);
    if (b->scheduled) {
        return;
    }
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        const VKFDHqd *q = &e->hqd[i];

        if (vkfd_cp_runnable(e, i)) {
            fuzz_fail("queue %u could run, and nobody will", i);
        }
        if (waiting(q) && !q->poll_now &&
            (b->timer[VKFD_TIMER_WAIT] < 0 ||
             b->timer[VKFD_TIMER_WAIT] > q->wait_deadline)) {
            fuzz_fail("queue %u waits until %lld, the timer is at %lld", i,
                      (long long)q->wait_deadline,
                      (long long)b->timer[VKFD_TIMER_WAIT]);
        }
    }
    for (i = 0; i < e->inject.nheld; i++) {
        FUZZ_CHECK(b->timer[VKFD_TIMER_INJECT] >= 0 &&
                   b->timer[VKFD_TIMER_INJECT] <= e->inject.held[i].deadline);
    }
}

void fuzz_check(void)
{
    /* The VM stopped, and runs again. */
    vkfd_engine_resume(fz.b->e);
    check_masks(fz.b->e);
    check_nothing_forgotten(fz.b->e);
    if (fz.t->check) {
        fz.t->check();
    }
    fuzz_sdma_check();
}

bool fuzz_load_state(VKFDEngine *to, const VKFDEngine *from)
{
    memcpy((char *)to + STATE_FIRST, (const char *)from + STATE_FIRST,
           STATE_END - STATE_FIRST);
    vkfd_engine_set_bars(to, from->bars_valid, from->bar0, from->bar0_size, from->bar2);
    return vkfd_engine_post_load(to);
}

/*
 * A sanitizer's memcmp() goes byte by byte, and libFuzzer notes every comparison: of
 * half a megabyte that would be most of an input's time.
 */
__attribute__((no_sanitize("coverage", "address", "undefined")))
bool fuzz_same(const void *a, const void *b, size_t size)
{
    const uint32_t *x = a, *y = b;
    uint32_t diff = 0;
    size_t i;

    for (i = 0; i < size / 4; i++) {
        diff |= x[i] ^ y[i];
    }
    return !diff && !memcmp(x + i, y + i, size % 4);
}

void fuzz_check_saved(void)
{
    VKFDEngine *e = fz.b->e, *to = fuzz_other_engine();
    Bus was;
    unsigned i;

    memcpy(&was, fz.b, offsetof(Bus, log));
    fuzz_call();
    FUZZ_CHECK(fuzz_load_state(to, e));
    /* No DMA and no message: what happened is that a run and timers were asked for. */
    FUZZ_CHECK(!fz.bytes && fz.b->irqs == was.irqs);
    FUZZ_CHECK(fz.b->scheduled && to->run_pending);
    FUZZ_CHECK(to->active_mask == e->active_mask);
    FUZZ_CHECK(to->waiting_mask == e->waiting_mask);
    FUZZ_CHECK(to->inject_hooks == e->inject_hooks);
    FUZZ_CHECK(to->inject_blocked == e->inject_blocked);
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        FUZZ_CHECK(to->hqd[i].poll_now == polled(&e->hqd[i]));
        to->hqd[i].poll_now = e->hqd[i].poll_now;
    }
    FUZZ_CHECK(fuzz_same(to->regs, e->regs, sizeof(to->regs)));
    FUZZ_CHECK(fuzz_same(to->hqd, e->hqd, sizeof(to->hqd)));
    FUZZ_CHECK(fuzz_same(&to->inject, &e->inject, sizeof(to->inject)));
    memcpy(fz.b, &was, offsetof(Bus, log));
}

void fuzz_finish(void)
{
    Bus *b = fz.b;
    VKFDEngine *e = b->e;
    VKFDInjectError err;
    unsigned i;

    fuzz_check_saved();
    fuzz_call();
    FUZZ_CHECK(vkfd_inject_arm(e, "", &err));
    FUZZ_CHECK(!e->inject.nheld && !e->inject_blocked && !e->inject_hooks);
    fuzz_check();
    if (fz.t->off) {
        fz.t->off();
    }
    fuzz_sdma_off();
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        /* drain, reset, save: whatever the queue was doing */
        fuzz_call();
        hqd_wr(b, i, mmCP_HQD_DEQUEUE_REQUEST, i % 3 + 1);
        FUZZ_CHECK(!vkfd_hqd_active(&e->hqd[i]));
        FUZZ_CHECK(!HQD(&e->hqd[i], CP_HQD_DEQUEUE_REQUEST));
    }
    FUZZ_CHECK(!e->active_mask && !e->waiting_mask);
    fz.work = 0;
    fuzz_run(MAX_REST_RUNS);
    FUZZ_CHECK(!b->scheduled);
    FUZZ_CHECK(b->timer[VKFD_TIMER_WAIT] == -1 && b->timer[VKFD_TIMER_INJECT] == -1);
    fuzz_check();
}
