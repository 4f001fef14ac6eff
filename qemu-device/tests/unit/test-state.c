/* SPDX-License-Identifier: MIT */
/* Loading of saved state, good and hostile; reset in mid-work. */
#include "harness.h"
#include "sdma-priv.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define FLAG_VA         (VA0 + 0x810000u)

/* What a migration carries: the guest state between two markers of the struct. */
#define STATE_FIRST     offsetof(VKFDEngine, regs)
#define STATE_END       offsetof(VKFDEngine, bar0)

static Bus *start(void)
{
    Bus *b = bus_new();
    uint32_t p[8];

    vm_setup(b);
    ih_setup(b, 10, IH_RB_CNTL__RPTR_REARM_MASK);
    queue_load(b, 0);
    queue_load(b, 1);
    queue_emit(b, 0, p, pkt_wait_mem(p, FLAG_VA, WAIT_REG_MEM_EQ, 1, ~0u));
    queue_emit(b, 0, p, pkt_write(p, OUT_VA, 1));
    queue_kick(b, 0);
    bus_run(b);
    /* queue 1 has work nobody has run yet */
    queue_emit(b, 1, p, pkt_write(p, OUT_VA + 4, 2));
    queue_kick(b, 1);
    return b;
}

/* A second machine with the state, VRAM and memory of the first. */
static Bus *migrate(const Bus *src)
{
    Bus *b = bus_new();

    memcpy((char *)b->e + STATE_FIRST, (const char *)src->e + STATE_FIRST,
           STATE_END - STATE_FIRST);
    memcpy(b->vram, src->vram, VRAM_SIZE);
    memcpy(b->sys, src->sys, SYS_SIZE);
    b->now = 5;                         /* another clock altogether */
    return b;
}

static void test_migrate(void)
{
    Bus *src = start(), *b = migrate(src);

    /* a deadline the receiver's clock never reaches loses no wake-up */
    b->e->hqd[0].wait_deadline = INT64_MAX;
    CHECK(vkfd_engine_post_load(b->e));
    CHECK(b->scheduled);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 4), 2);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(b->e->hqd[0].parked, VKFD_PARKED_WAIT);
    CHECK(b->timer[VKFD_TIMER_WAIT] > 0);
    set_vram32(b, 0x810000, 1);
    bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, OUT), 1);
    bus_free(b);
    bus_free(src);
}

static void test_hostile_fields(void)
{
    Bus *src = start();
    unsigned i;

    for (i = 0; i < 30; i++) {
        Bus *b = migrate(src);
        VKFDEngine *e = b->e;
        bool good = false;

        switch (i) {
        case 0: e->next_hqd = VKFD_NUM_HQD; break;
        case 1: e->ih_armed = 2; break;
        case 2: e->smn_count = VKFD_SMN_MAX + 1; break;
        case 3: e->unmod_count = VKFD_UNMOD_MAX + 1; break;
        case 4: e->hqd[5].stop = VKFD_STOP_MAX; break;
        case 5: e->hqd[5].parked = 3; break;
        case 6: e->hqd[5].parked = VKFD_PARKED_WAIT; break;     /* not active */
        case 7: e->hqd[0].wait_interval = 0; break;
        case 8: e->hqd[0].wait_interval = UINT32_MAX; break;
        case 9: e->hqd[0].stop = VKFD_STOP_BAD_PACKET; break;   /* and parked */
        case 10: e->hqd[1].poll_now = 1; break;                 /* not parked */
        case 11: e->regs[mmRCC_CONFIG_MEMSIZE] = 4096; break;
        case 12: e->regs[mmCC_GC_SHADER_ARRAY_CONFIG] = 0; break;
        case 13: e->ih_last_ts = 1ull << 48; break;
        case 14:
            e->unmod_count = 1;
            e->unmod[0].reg = VKFD_MMIO_SIZE;
            break;
        case 15: e->inject.nspecs = VKFD_INJECT_SPECS + 1; break;
        case 16: e->inject.nheld = VKFD_INJECT_HELD_MAX + 1; break;
        case 17: e->inject.device = VKFD_INJECT_DEVICE_GONE + 1; break;
        case 18: e->inject.nspecs = 1; break;                   /* every 0 */
        case 19:
            e->inject.nspecs = 1;
            e->inject.spec[0] = (VKFDInjectSpec) {
                .point = VKFD_INJECT_AT_MSIX, .first = 1, .every = 1,
                .action = VKFD_INJECT_DO_CORRUPT, .arg = 1,
            };
            break;
        case 20:
            e->inject.nspecs = 1;
            e->inject.spec[0] = (VKFDInjectSpec) {
                .point = VKFD_INJECT_AT_IH_ENTRY, .first = 1, .every = 1,
                .action = VKFD_INJECT_DO_CORRUPT, .arg = 1, .dw = 8,
            };
            break;
        case 21:
            e->inject.nspecs = 1;
            e->inject.spec[0] = (VKFDInjectSpec) {
                .point = VKFD_INJECT_AT_SLOT, .first = 1, .every = 1,
                .action = VKFD_INJECT_DO_DELAY, .arg = UINT64_MAX,
            };
            break;
        case 22:
            e->inject.nheld = 1;
            e->inject.held[0].point = VKFD_INJECT_POINTS;
            break;
        case 23:
            e->inject.nheld = 1;
            e->inject.held[0].hqd = VKFD_INJECT_SDMA(VKFD_NUM_SDMA_QUEUES);
            break;
        case 24:
            e->inject.nheld = 1;
            e->inject.held[0].point = VKFD_INJECT_AT_SLOT;
            e->inject.held[0].len = 200;
            break;
        case 25:
            e->inject.nheld = 1;
            e->inject.held[0].addr = VKFD_DOORBELL_BAR_SIZE / 4;
            break;
        case 26:
            e->inject.nheld = 1;
            e->inject.device = VKFD_INJECT_DEVICE_GONE;
            break;
        case 27: e->hqd[0].wait_mem = VKFD_WAIT_ADDRS + 1; break;
        case 28: e->hqd[0].wait_len = 5; break;
        default:
            e->hqd[0].wait_pa[0] = UINT64_MAX;
            e->hqd[0].wait_deadline = INT64_MAX;
            e->hqd[0].rptr = 0x123456789abcdefull;
            e->ctrl_cnt_select = UINT32_MAX;
            e->ctrl_unmod_select = UINT32_MAX;
            good = true;
            break;
        }
        printf("# case %u\n", i);
        CHECK_EQ(vkfd_engine_post_load(e), good);
        if (!good) {
            /* refused: as after a cold reset */
            CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
            CHECK_EQ(rd(b, mmRCC_CONFIG_MEMSIZE), VRAM_SIZE >> 20);
        }
        bus_run(b);
        bus_advance(b, 10000000);
        vkfd_ctrl_read(e, VKFD_CTRL_CNT_LO);
        vkfd_ctrl_read(e, VKFD_CTRL_UNMOD_REG);
        bus_free(b);
    }
    bus_free(src);
}

/* Random as well, within what is accepted: specs of every kind, much held back. */
static void fix_inject(VKFDInject *in)
{
    static const char *const texts[] = {
        "doorbell:dup@1/3", "fetch:drop@5/7", "slot:delay:3us@2/2",
        "ih-entry:dup@1/4", "ih-wptr:delay@3/2", "msix:dup:1us@1/5",
        "page-walk:corrupt:0x1@9/9", "preempt:delay@1/2", "fetch:delay:1us@3/50",
    };
    VKFDInjectError err;
    uint32_t i, n;

    in->nspecs = sizeof(texts) / sizeof(texts[0]);
    for (i = 0; i < in->nspecs; i++) {
        if (!vkfd_inject_parse(texts[i], &in->spec[i], &n, &err)) {
            abort();
        }
    }
    in->nheld %= VKFD_INJECT_HELD_MAX + 1;
    for (i = 0; i < in->nheld; i++) {
        VKFDInjectHeld *h = &in->held[i];

        h->point %= VKFD_INJECT_POINTS;
        h->hqd %= VKFD_INJECT_SDMA(VKFD_NUM_SDMA_QUEUES);
        h->vmid %= VKFD_NUM_VMID;
        h->len = h->len & 1 ? 4 : 8;
        if (h->point == VKFD_INJECT_AT_DOORBELL) {
            h->addr %= VKFD_DOORBELL_BAR_SIZE / 4;
        }
        h->deadline &= INT64_MAX;
        if (i & 1) {
            h->deadline %= 2000000;
        }
    }
    in->device %= VKFD_INJECT_DEVICE_GONE;
}

/* The SDMA queues: all on, half of them parked, half in an IB, progress anything. */
static void fix_sdma(VKFDEngine *e)
{
    unsigned i;

    e->next_sdma %= VKFD_NUM_SDMA_QUEUES;
    for (i = 0; i < VKFD_NUM_SDMA_QUEUES; i++) {
        VKFDSdmaQueue *q = &e->sdma[i];

        SDMA_ENG(e, i, F32_CNTL) = 0;
        SDMA_ENG(e, i, FREEZE) = 0;
        SDMA(e, i, RB_CNTL) |= SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
        SDMA(e, i, MINOR_PTR_UPDATE) = 0;
        SDMA(e, i, DOORBELL) |= SDMA0_GFX_DOORBELL__ENABLE_MASK;
        if (i & 2) {
            SDMA(e, i, IB_SIZE) = 0;
        }
        q->stop = 0;
        q->parked = i & 1 ? VKFD_PARKED_WAIT : VKFD_PARKED_NO;
        q->poll_now &= i & 1;
        q->wait_mem &= 1;
        q->held &= VKFD_SDMA_HELD_TWICE | VKFD_SDMA_HELD_PASSED;
        q->wait_interval = VKFD_WAIT_POLL_MIN_NS;
    }
}

/* Queues of every kind, with random addresses. */
static void fix_sched(VKFDEngine *e)
{
    VKFDSched *s = &e->sched;
    uint32_t i;

    s->queue_top %= 200;
    s->proc_top = 30;
    s->map_proc = 3;
    for (i = 0; i < s->proc_top; i++) {
        s->proc[i].used = 1;
        s->proc[i].pasid |= 1;
        s->proc[i].vmid = i < VKFD_NUM_VMID ? i : 0;
    }
    for (i = 0; i < s->queue_top; i++) {
        VKFDSchedQueue *q = &s->queue[i];

        q->state %= VKFD_SCHED_STATES;
        q->engine = 0;
        q->flags &= VKFD_SCHED_F_STATIC | VKFD_SCHED_F_RUNG;
        q->unmap = 0;
        q->doorbell %= VKFD_DOORBELL_BAR_SIZE / 4;
        q->vmid %= VKFD_NUM_VMID;
        q->proc = i % s->proc_top;
        if (q->state == VKFD_SCHED_ON_SLOT) {
            q->slot = i;
            q->proc = 1 + i % 15;
            q->unmap = i % 3;
            if (i >= VKFD_NUM_HQD) {
                q->state = VKFD_SCHED_READY;
                q->unmap = 0;
            }
        }
    }
}

/* Every byte random, except what makes the check pass: it runs and ends. */
static void test_random_state(void)
{
    uint64_t seed = 0xdeadbeefcafef00dull;
    Bus *src = start();
    unsigned round, i, good = 0;

    for (round = 0; round < 20; round++) {
        Bus *b = migrate(src);
        VKFDEngine *e = b->e;
        uint32_t *w = (uint32_t *)((char *)e + STATE_FIRST);

        for (i = 0; i < (STATE_END - STATE_FIRST) / 4; i++) {
            w[i] = prng(&seed);
        }
        if (round) {
            e->regs[mmRCC_CONFIG_MEMSIZE] = VRAM_SIZE >> 20;
            e->regs[mmCC_GC_SHADER_ARRAY_CONFIG] = 0xfff00000;
            e->regs[mmCP_MEC_CNTL] = 0;
            e->next_hqd %= VKFD_NUM_HQD;
            e->ih_armed &= 1;
            e->ih_last_ts &= (1ull << 48) - 1;
            e->smn_count %= VKFD_SMN_MAX + 1;
            e->unmod_count %= VKFD_UNMOD_MAX + 1;
            fix_inject(&e->inject);
            fix_sched(e);
            for (i = 0; i < VKFD_UNMOD_MAX; i++) {
                e->unmod[i].reg &= (VKFD_MMIO_SIZE - 1) & ~3u;
            }
            for (i = 0; i < VKFD_NUM_HQD; i++) {
                VKFDHqd *q = &e->hqd[i];

                HQD(q, CP_HQD_ACTIVE) = 1;
                q->stop = 0;
                q->parked = i & 1;
                q->poll_now = i & 1;
                q->wait_mem %= VKFD_WAIT_ADDRS + 1;
                q->wait_len = q->wait_len & 1 ? 4 : 8;
                q->wait_interval = VKFD_WAIT_POLL_MIN_NS;
            }
            fix_sdma(e);
        }
        good += vkfd_engine_post_load(e);
        for (i = 0; i < 100; i++) {
            b->now += 10000;
            vkfd_engine_timer(e, VKFD_TIMER_WAIT);
            vkfd_engine_timer(e, VKFD_TIMER_INJECT);
            vkfd_engine_timer(e, VKFD_TIMER_SCHED);
            vkfd_engine_run(e);
        }
        for (i = 0; i < VKFD_NUM_REGS; i++) {
            vkfd_mmio_read(e, i * 4);
        }
        bus_free(b);
    }
    CHECK_EQ(good, 19);
    bus_free(src);
}

static void test_reset(void)
{
    Bus *b = start();

    rd(b, 0x58200 / 4);
    vkfd_engine_reset(b->e, false);
    b->scheduled = false;
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(rd(b, mmIH_RB_CNTL), 0);
    CHECK_EQ(rd(b, mmCP_MEC_CNTL), 0x50000000);
    CHECK_EQ(rd(b, mmVM_CONTEXT0_CNTL + TEST_VMID) & 1, 0);
    CHECK_EQ(b->e->unmod_count, 1);
    CHECK(counter(b, VKFD_CNT_DOORBELL) > 0);
    /* a run that was asked for before the reset finds nothing to do */
    vkfd_engine_run(b->e);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    bus_advance(b, 10000000);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(b->irqs, 0);
    vkfd_engine_reset(b->e, true);
    CHECK_EQ(b->e->unmod_count, 0);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL), 0);
    /* and it can be set up again */
    wr(b, mmCP_MEC_CNTL, 0);
    vm_setup(b);
    queue_set_wptr(1, 0);
    queue_load(b, 1);
    {
        uint32_t p[8];

        queue_emit(b, 1, p, pkt_write(p, OUT_VA + 4, 3));
    }
    queue_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 4), 3);
    bus_free(b);
}

static void test_soft_reset(void)
{
    Bus *b = start();

    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    CHECK_EQ(rd(b, mmGRBM_SOFT_RESET), 1);
    wr(b, mmGRBM_SOFT_RESET, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 4), 0);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(hqd_rd(b, 1, mmCP_HQD_ACTIVE), 0);
    CHECK_EQ(b->timer[VKFD_TIMER_WAIT], -1);
    bus_free(b);
}

int main(void)
{
    test_migrate();
    test_hostile_fields();
    test_random_state();
    test_reset();
    test_soft_reset();
    return tap_done();
}
