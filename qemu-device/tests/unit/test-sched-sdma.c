/* SPDX-License-Identifier: MIT */
/*
 * SDMA queues of run lists: which engine, which slot, what is loaded and saved. The
 * engines are stand-ins here, which note what the scheduler does with them.
 */
#include "sched-common.h"

#include <vkfd/regs_sdma.h>

static struct {
    bool loaded, look;          /* look: it was asked to */
    VKFDSdmaState state;
    unsigned wait_len;
    uint64_t wait_pa;
    uint32_t vmid;
    uint32_t mqd[V9_SDMA_MQD_DW];
} rlcs[VKFD_SCHED_SDMA][VKFD_SCHED_SDMA_RLC];

int vkfd_sdma_rlc_free(const VKFDEngine *e, unsigned engine)
{
    unsigned i;

    (void)e;
    for (i = 0; i < VKFD_SCHED_SDMA_RLC; i++) {
        if (!rlcs[engine][i].loaded) {
            return i;
        }
    }
    return -1;
}

bool vkfd_sdma_rlc_load(VKFDEngine *e, unsigned engine, unsigned rlc, uint32_t vmid,
                        const uint32_t *mqd)
{
    (void)e;
    if (rlcs[engine][rlc].loaded) {
        return false;
    }
    rlcs[engine][rlc].loaded = true;
    rlcs[engine][rlc].state = VKFD_SDMA_BUSY;
    rlcs[engine][rlc].vmid = vmid;
    memcpy(rlcs[engine][rlc].mqd, mqd, sizeof(rlcs[0][0].mqd));
    return true;
}

bool vkfd_sdma_rlc_unload(VKFDEngine *e, unsigned engine, unsigned rlc, uint32_t *mqd)
{
    (void)e;
    if (!rlcs[engine][rlc].loaded) {
        return false;
    }
    rlcs[engine][rlc].loaded = false;
    if (mqd) {
        memcpy(mqd, rlcs[engine][rlc].mqd, sizeof(rlcs[0][0].mqd));
    }
    return true;
}

bool vkfd_sdma_rlc_preempt(VKFDEngine *e, unsigned engine, unsigned rlc)
{
    (void)e;
    (void)engine;
    (void)rlc;
    return false;
}

void vkfd_sdma_rlc_take(VKFDEngine *e, unsigned engine, unsigned rlc, uint32_t *mqd)
{
    (void)e;
    (void)engine;
    (void)rlc;
    (void)mqd;
}

VKFDSdmaState vkfd_sdma_rlc_state(const VKFDEngine *e, unsigned engine, unsigned rlc)
{
    (void)e;
    return rlcs[engine][rlc].loaded ? rlcs[engine][rlc].state : VKFD_SDMA_OFF;
}

unsigned vkfd_sdma_rlc_wait(const VKFDEngine *e, unsigned engine, unsigned rlc,
                            uint64_t *pa)
{
    (void)e;
    if (!rlcs[engine][rlc].loaded || rlcs[engine][rlc].look) {
        return 0;
    }
    *pa = rlcs[engine][rlc].wait_pa;
    return rlcs[engine][rlc].wait_len;
}

void vkfd_sdma_rlc_look(VKFDEngine *e, unsigned engine, unsigned rlc)
{
    (void)e;
    rlcs[engine][rlc].look = true;
}

static List list;

/* n SDMA queues of process 0 from first on, on one engine; ext: the other form. */
static void map(Bus *b, unsigned engine, unsigned n, bool ext)
{
    unsigned i;

    memset(&list, 0, sizeof(list));
    list_process(&list, 0, n);
    for (i = 0; i < n; i++) {
        memset(b->vram + SQ_MQD(i), 0, 512);
        set_vram32(b, SQ_MQD(i) + V9_SDMA_MQD_RB_RPTR_DW * 4, 0x1000 + i);
        list_queue(&list, i);
        list.dw[list.n - 6] |= ext ? EXT_ENGINE_SDMA0_7 << 2 | engine << 26
                                   : (ENGINE_SEL_SDMA0 + engine) << 26;
    }
    list_send(b, &list);
}

static unsigned loaded(unsigned engine)
{
    unsigned i, n = 0;

    for (i = 0; i < VKFD_SCHED_SDMA_RLC; i++) {
        n += rlcs[engine][i].loaded;
    }
    return n;
}

static Bus *start(void)
{
    memset(rlcs, 0, sizeof(rlcs));
    return sched_start(KFD_VMIDS, ALL_SLOTS);
}

static void test_load(void)
{
    unsigned engine, ext;
    uint32_t p[16];

    for (engine = 0; engine < 2; engine++) {
        for (ext = 0; ext < 2; ext++) {
            Bus *b = start();

            map(b, engine, 2, ext);
            CHECK_EQ(loaded(engine), 2);
            CHECK_EQ(loaded(!engine), 0);
            CHECK_EQ(rlcs[engine][1].mqd[V9_SDMA_MQD_RB_RPTR_DW], 0x1001);
            CHECK_EQ(rlcs[engine][1].mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW],
                     (uint32_t)(VA0 + SQ_WPTR(1)));
            CHECK_EQ(rlcs[engine][1].mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW],
                     (VA0 + SQ_WPTR(1)) >> 32);
            CHECK_EQ(rlcs[engine][1].vmid, b->e->sched.proc[0].vmid);
            CHECK(rlcs[engine][1].vmid >= 8);
            /* unmapped with the rest, though the packet names compute; saved */
            rlcs[engine][1].mqd[V9_SDMA_MQD_RB_RPTR_DW] = 0x77;
            hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_NON_STATIC, 0));
            CHECK_EQ(loaded(engine), 0);
            CHECK_EQ(vram32(b, SQ_MQD(1) + V9_SDMA_MQD_RB_RPTR_DW * 4), 0x77);
            CHECK_EQ(b->e->sched.queue_top, 0);
            bus_free(b);
        }
    }
}

/* By doorbell the engine counts; reset saves nothing. */
static void test_unmap(void)
{
    Bus *b = start();
    uint32_t p[16];

    map(b, 0, 2, false);
    hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_DOORBELL, SQ_DOORBELL(0)));
    CHECK_EQ(loaded(0), 2);
    pkt_unmap(p, UNMAP_QUEUES_RESET, UNMAP_QUEUES_SEL_DOORBELL, SQ_DOORBELL(0));
    p[1] |= ENGINE_SEL_SDMA0 << UNMAP_QUEUES__ENGINE_SEL__SHIFT;
    rlcs[0][0].mqd[V9_SDMA_MQD_RB_RPTR_DW] = 0x77;
    hiq_send(b, p, 6);
    CHECK_EQ(loaded(0), 1);
    CHECK_EQ(vram32(b, SQ_MQD(0) + V9_SDMA_MQD_RB_RPTR_DW * 4), 0x1000);
    /* a soft reset of the CP takes them off as well */
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    CHECK_EQ(loaded(0), 0);
    bus_free(b);
}

/* Ten queues on eight slots: idle ones give way, busy ones after their quantum. */
static void test_more_than_slots(void)
{
    Bus *b = start();
    unsigned i;

    map(b, 1, 10, false);
    CHECK_EQ(loaded(1), 8);
    CHECK_EQ(sq_count(b, VKFD_SCHED_READY), 2);
    rlcs[1][3].state = VKFD_SDMA_IDLE;
    rlcs[1][5].state = VKFD_SDMA_STOPPED;
    vkfd_engine_run(b->e);
    bus_run(b);
    CHECK_EQ(loaded(1), 8);
    CHECK_EQ(sq_count(b, VKFD_SCHED_READY), 0);
    CHECK_EQ(sq_count(b, VKFD_SCHED_IDLE), 1);
    CHECK_EQ(sq_count(b, VKFD_SCHED_STOPPED), 1);
    CHECK_EQ(b->timer[VKFD_TIMER_SCHED], -1);
    /* a doorbell in SDMA's range that no engine matched */
    for (i = 0; i < 10 && sq_state(b, i) != VKFD_SCHED_IDLE; i++) {
        /* which one is idle */
    }
    wr(b, mmBIF_SDMA1_DOORBELL_RANGE, SQ_DOORBELL(0) % 1024 << 2 | 20 << 16);
    sq_kick(b, i);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_WAKE), 1);
    bus_run(b);
    CHECK_EQ(sq_state(b, i), VKFD_SCHED_READY);
    CHECK(b->timer[VKFD_TIMER_SCHED] > 0);
    bus_advance(b, 2 * VKFD_SCHED_QUANTUM_NS);
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) >= 3);
    check_derived(b);
    bus_free(b);
}

/*
 * Nine queues on eight slots, of which one waits on memory. It gives its slot away only
 * after what is there was noted and it has looked again, and what is noted then counts.
 */
static void test_watch(void)
{
    Bus *b = start();
    unsigned i, n = 3;

    map(b, 0, 9, false);
    for (i = 0; i < 8; i++) {
        rlcs[0][i].look = false;
    }
    rlcs[0][n].state = VKFD_SDMA_PARKED;
    rlcs[0][n].wait_len = 4;
    rlcs[0][n].wait_pa = SQ_FLAG(0);
    set_vram32(b, SQ_FLAG(0), 5);
    vkfd_engine_run(b->e);
    for (i = 0; i < 8; i++) {
        CHECK_EQ(rlcs[0][i].look, i == n);
    }
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 0);
    /* before it has looked nothing goes on */
    vkfd_engine_run(b->e);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 0);
    /* a store between the note and the look that the look did not see */
    set_vram32(b, SQ_FLAG(0), 6);
    rlcs[0][n].look = false;
    vkfd_engine_run(b->e);
    CHECK_EQ(sq_count(b, VKFD_SCHED_PARKED), 1);
    CHECK_EQ(sq_state(b, n), VKFD_SCHED_PARKED);
    CHECK_EQ(sq_count(b, VKFD_SCHED_READY), 0);
    check_derived(b);
    /* the first poll finds that memory is not what was noted */
    rlcs[0][0].state = VKFD_SDMA_IDLE;
    bus_advance(b, VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(sq_state(b, n), VKFD_SCHED_ON_SLOT);
    check_derived(b);
    bus_free(b);
}

int main(void)
{
    test_watch();
    test_load();
    test_unmap();
    test_more_than_slots();
    return tap_done();
}
