/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: queue 0 of a program is the HIQ, 1 the KIQ (packets into them are the
 * program's), 2 and 3 are loaded by register; queues that live in MQDs are made, listed
 * and rung by OWN.
 *   OWN: what (modulo 16), n, then per what:
 *     0 process into the list   1 queue into the list   2 list as a RUN_LIST, and anew
 *     3 UNMAP_QUEUES: how, arg  4 QUERY_STATUS: how     5 SET_RESOURCES: VMIDs, slots
 *     6 queue: a write          7 queue: a wait         8 its wptr in memory   9 and rung
 *     10 its flag is stored     11 its MQD anew         12 dwords into the list
 *     13 dwords into its MQD: offset   14 dwords into its ring   15 list packet MAP to HIQ
 */
#include "fuzz.h"
#include "sched-common.h"

#define QUEUES          12u             /* made by inputs, of processes 0 to 2 */
#define LIST_MAX        512u
#define SLOTS           (ALL_SLOTS & ~0xcull)
#define VMIDS           (KFD_VMIDS & ~(1u << TEST_VMID))

static List list;

static const unsigned hqds[FUZZ_QUEUES] = { HIQ, KIQ, 2, 3 };

static void setup_regs(void)
{
    Bus *b = fz.b;
    unsigned i;

    for (i = 1; i < VKFD_NUM_VMID; i++) {
        wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * i, 0xffffffff);
        wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 2 * i, 0xf);
        wr(b, mmVM_CONTEXT0_CNTL + i, 1 | 3 << 1 | 0x007ffe80);
        wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * i, 0xffffffff);
        wr(b, mmMMHUB_VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 2 * i, 0xf);
        wr(b, mmMMHUB_VM_CONTEXT0_CNTL + i, 1 | 3 << 1 | 0x007ffe80);
    }
    wr(b, mmRLC_CP_SCHEDULERS, (0x80 | 2 << 5 | (HIQ & 31)) << 8 | (0x80 | 2 << 5 | (KIQ & 31)));
}

static void load(unsigned q)
{
    Bus *b = fz.b;

    if (q > 1) {
        queue_load(b, q);
        return;
    }
    set_vram64(b, WPTR_ADDR(q), queue_wptr(q));
    select_hqd(b, hqds[q]);
    wr(b, mmCP_HQD_VMID, 0);
    wr(b, mmCP_HQD_PQ_BASE, MC(RING(q)) >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, MC(RING(q)) >> 40);
    wr(b, mmCP_HQD_PQ_RPTR, queue_wptr(q) & (RING_DW - 1));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, MC_LO(RPTR_ADDR(q)));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, MC(RPTR_ADDR(q)) >> 32);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, MC_LO(WPTR_ADDR(q)));
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, MC(WPTR_ADDR(q)) >> 32);
    wr(b, mmCP_HQD_PQ_CONTROL, 9);
    wr(b, mmCP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_DW(q) << 2 |
       CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
    wr(b, mmCP_HQD_ACTIVE, 1);
}

static void kick(unsigned q, uint64_t wptr)
{
    fuzz_touch_vram(WPTR_ADDR(q), 8);
    set_vram64(fz.b, WPTR_ADDR(q), wptr);
    vkfd_doorbell_write(fz.b->e, DOORBELL_DW(q) * 4, wptr, 8);
}

static void dequeue(unsigned q, unsigned how)
{
    hqd_wr(fz.b, hqds[q], mmCP_HQD_DEQUEUE_REQUEST, how);
}

static void to_hiq(const uint32_t *dw, unsigned n)
{
    fuzz_touch_vram(RING(0), RING_DW * 4);
    queue_emit(fz.b, 0, dw, n);
}

static void touch_queue(unsigned n)
{
    fuzz_touch_vram(SQ_RING(n), SQ_RING_DW * 4);
    fuzz_touch_vram(SQ_MQD(n), 0x800);
    fuzz_touch_vram(SQ_RPTR(n), 32);
    fuzz_touch_vram(SQ_FLAG(n), 64);
}

static void setup(void)
{
    uint32_t p[8];

    memcpy(fz.b->vram + ROOT2, fz.b->vram + VM_ROOT, 4096);
    queue_emit(fz.b, 0, p, pkt_set_resources(p, SET_RESOURCES_HIQ, VMIDS, SLOTS));
    kick(0, queue_wptr(0));
}

static void begin(FuzzInput *in)
{
    unsigned n;

    (void)in;
    list.n = 0;
    queue_set_wptr(0, SET_RESOURCES_DW + 1);
    for (n = 0; n < QUEUES; n++) {
        touch_queue(n);
        sq_init(fz.b, n);
    }
}

static void own(FuzzInput *in)
{
    Bus *b = fz.b;
    uint8_t what = in8(in) % 16, n = in8(in) % QUEUES, how;
    uint32_t p[64], off, dws, i;

    touch_queue(n);
    switch (what) {
    case 0:
        if (list.n < LIST_MAX) {
            list_process(&list, n % 3, n / 3);
        }
        break;
    case 1:
        if (list.n < LIST_MAX) {
            list_queue(&list, n);
        }
        break;
    case 2:
        for (i = 0; i < list.n; i++) {
            fuzz_touch_vram(LIST_IB + i * 4, 4);
            set_vram32(b, LIST_IB + i * 4, list.dw[i]);
        }
        to_hiq(p, pkt_run_list(p, MC(LIST_IB), list.n, n & 1));
        list.n = 0;
        break;
    case 3:
        how = in8(in);
        to_hiq(p, pkt_unmap(p, how & 3, how >> 2 & 3,
                            (how >> 2 & 3) == UNMAP_QUEUES_SEL_PASID ? PASID(n % 3)
                                                                     : SQ_DOORBELL(n)));
        break;
    case 4:
        how = in8(in);
        to_hiq(p, pkt_query(p, how & 3, MC(FUZZ_OUT + n * 8), how));
        break;
    case 5:
        off = in16(in);
        to_hiq(p, pkt_set_resources(p, n & 1, off, in32(in)));
        break;
    case 6:
        sq_write(b, n, SQ_FLAG(in8(in) % QUEUES), n & 1);
        break;
    case 7:
        sq_wait(b, n, in8(in) & 1);
        break;
    case 8:
        sq_publish(b, n);
        break;
    case 9:
        sq_kick(b, n);
        break;
    case 10:
        set_vram32(b, SQ_FLAG(n), in8(in) & 1);
        break;
    case 11:
        sq_init(b, n);
        break;
    case 12:
        dws = fuzz_dwords(in, true, p, in8(in) % 16, 64);
        for (i = 0; i < dws && list.n < LIST_MAX; i++) {
            list.dw[list.n++] = p[i];
        }
        break;
    case 13:
        off = in8(in) * 4u;
        dws = fuzz_dwords(in, false, p, in8(in) % 4, 8);
        for (i = 0; i < dws; i++) {
            set_vram32(b, SQ_MQD(n) + (off + i * 4) % 0x800, p[i]);
        }
        break;
    case 14:
        dws = fuzz_dwords(in, false, p, in8(in) % 16, 64);
        sq_emit(b, n, p, dws);
        break;
    default:
        to_hiq(p, pkt_map_queue(p, n));
        break;
    }
}

/* Who is on a slot says the same as who owns it; who is polled has a timer. */
static void check(void)
{
    VKFDEngine *e = fz.b->e;
    uint32_t i, on = 0, slots = 0, parked = 0, ready = 0, lists = 0;

    FUZZ_CHECK(e->sched.queue_top <= VKFD_SCHED_QUEUES);
    for (i = 0; i < e->sched.queue_top; i++) {
        const VKFDSchedQueue *q = &e->sched.queue[i];

        FUZZ_CHECK(q->state < VKFD_SCHED_STATES);
        on += q->state == VKFD_SCHED_ON_SLOT;
        parked += q->state == VKFD_SCHED_PARKED;
        ready += q->state == VKFD_SCHED_READY;
    }
    for (i = 0; i < VKFD_NUM_HQD; i++) {
        uint16_t q = e->sd.hqd_owner[i];

        if (q != VKFD_SCHED_NONE) {
            slots++;
            FUZZ_CHECK(q < e->sched.queue_top &&
                       e->sched.queue[q].state == VKFD_SCHED_ON_SLOT &&
                       !e->sched.queue[q].engine && e->sched.queue[q].slot == i &&
                       (e->active_mask >> i & 1));
        }
    }
    for (i = 0; i < VKFD_SCHED_SDMA * VKFD_SCHED_SDMA_RLC; i++) {
        slots += e->sd.rlc_owner[i / VKFD_SCHED_SDMA_RLC][i % VKFD_SCHED_SDMA_RLC] !=
                 VKFD_SCHED_NONE;
    }
    for (i = 0; i < VKFD_SCHED_ENGINES; i++) {
        lists += e->sd.ready[i].n;
    }
    FUZZ_CHECK(slots == on);
    FUZZ_CHECK(e->sd.parked.n == parked);
    FUZZ_CHECK(lists == ready);
    FUZZ_CHECK(!parked || fz.b->scheduled || fz.b->timer[VKFD_TIMER_SCHED] >= 0);
}

/* Each slot goes off at once; a reset of the front end forgets who had none. */
static void off(void)
{
    Bus *b = fz.b;
    uint32_t i;

    for (i = 0; i < VKFD_NUM_HQD; i++) {
        fuzz_call();
        hqd_wr(b, i, mmCP_HQD_DEQUEUE_REQUEST, i % 3 + 1);
        FUZZ_CHECK(!vkfd_hqd_active(&b->e->hqd[i]));
        fuzz_check();
    }
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    wr(b, mmGRBM_SOFT_RESET, 0);
    for (i = 0; i < VKFD_SCHED_QUEUES; i++) {
        FUZZ_CHECK(b->e->sched.queue[i].state == VKFD_SCHED_FREE);
    }
}

static void seed_own(Seed *s, unsigned what, unsigned n)
{
    seed_act(s, FUZZ_OWN);
    seed8(s, what);
    seed8(s, n);
}

/* Queues of two processes: written, rung, waiting on each other, in one list. */
static void seed_two(Seed *s)
{
    unsigned n;

    for (n = 0; n < 4; n++) {
        if (n % 2 == 0) {
            seed_own(s, 0, n / 2 + 6);
        }
        seed_own(s, 1, n);
        seed_own(s, 7, n);
        seed8(s, n & 1);
        seed_own(s, 6, n);
        seed8(s, n);
        seed_own(s, 9, n);
    }
    seed_own(s, 2, 0);
    seed_kick(s, 0);
    seed_run(s, 8);
}

static void seeds(void)
{
    Seed s = { .kernel = true };
    unsigned i, k;

    seed_two(&s);
    seed_done(&s);
    for (i = 0; i < 16; i++) {          /* each way to unmap, each status */
        seed_two(&s);
        seed_own(&s, 3, 1);
        seed8(&s, i);
        seed_own(&s, 4, 2);
        seed8(&s, i);
        seed_kick(&s, 0);
        seed_run(&s, 4);
        if (i % 4 == 3) {
            seed_done(&s);
        }
    }
    seed_two(&s);                       /* no slot but one; then time goes by */
    seed_own(&s, 5, 1);
    seed16(&s, 0x0200);
    seed16(&s, 0x10);
    seed16(&s, 0);
    seed_own(&s, 2, 0);
    seed_kick(&s, 0);
    seed_run(&s, 4);
    seed_two(&s);
    for (k = 0; k < 4; k++) {
        seed_own(&s, 10, k);
        seed8(&s, 1);
        seed_act(&s, FUZZ_ADVANCE);
        seed8(&s, 23);
    }
    seed_act(&s, FUZZ_SAVE);
    seed_run(&s, 8);
    seed_done(&s);
}

const FuzzTarget fuzz_sched = {
    .name = "sched",
    .acts = FUZZ_COMMON | ACT(OWN) | ACT(REG_READ) | ACT(ARM) | ACT(PTE),
    .kernel = 3,
    .seeds = seeds,
    .setup = setup,
    .setup_regs = setup_regs,
    .begin = begin,
    .own = own,
    .load = load,
    .kick = kick,
    .dequeue = dequeue,
    .check = check,
    .off = off,
};
