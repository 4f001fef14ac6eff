/* SPDX-License-Identifier: MIT */
/* Run lists: chains, and everything that can be wrong with one. */
#include "sched-common.h"
#include "sched-priv.h"

static List list;

/* A list that must be refused: nothing of it is mapped, and the HIQ says so. */
static void refused(Bus *b, const char *what)
{
    printf("# %s\n", what);
    list_send(b, &list);
    CHECK(hiq_stopped(b));
    CHECK_EQ(counter(b, VKFD_CNT_RUNLIST_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_MAP), 0);
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_UNMAP), 0);
    CHECK_EQ(b->e->sched.queue_top, 0);
    CHECK_EQ(b->e->sched.proc_top, 0);
    CHECK_EQ(ih_dw(b, 0, 0) & 0xffff, 0x14 | 183 << 8);
    CHECK_EQ(ih_dw(b, 0, 4) >> 10, VKFD_EC_PACKET_RESERVED);
    CHECK(!b->scheduled);
    check_derived(b);
    bus_free(b);
}

/* A list of one process and two queues, to be spoilt. */
static Bus *spoil(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);

    memset(&list, 0, sizeof(list));
    sq_init(b, 0);
    sq_init(b, 1);
    list_process(&list, 0, 2);
    list_queue(&list, 0);
    list_queue(&list, 1);
    return b;
}

#define Q0      16                      /* dwords of MAP_PROCESS */
#define Q1      (Q0 + 7)

static void test_bad(void)
{
    Bus *b = spoil();
    unsigned i;

    list.dw[Q1] = 0xdeadbeef;
    refused(b, "garbage");
    b = spoil();
    list.dw[Q1] = PACKET3(IT_WRITE_DATA, 6);
    refused(b, "a packet that is not of run lists");
    b = spoil();
    list.dw[Q1] = PACKET3(IT_MAP_QUEUES, 5);
    refused(b, "a wrong length");
    b = spoil();
    list.n--;
    refused(b, "cut off");
    /* what lies behind the end would make it a good one */
    b = spoil();
    pkt_run_list(list.dw + list.n, MC(LIST_IB), list.n, true);
    for (i = 0; i < 4; i++) {
        set_vram32(b, LIST_IB + (list.n + i) * 4, list.dw[list.n + i]);
    }
    list.n--;
    refused(b, "cut off, and more behind it");
    b = spoil();
    list.dw[list.n++] = PACKET3(IT_NOP, 2);
    refused(b, "cut off in a NOP");
    b = spoil();
    list.dw[Q1 + 3] = list.dw[Q0 + 3];
    refused(b, "a queue twice");
    b = spoil();
    list.dw[Q0 - 3] = 1u << MAP_PROCESS__NUM_QUEUES__SHIFT;
    refused(b, "more queues than told");
    b = spoil();
    memmove(list.dw, list.dw + Q1, 7 * 4);
    list.n = 7;
    refused(b, "a queue without a process");
    b = spoil();
    list.dw[1] &= ~MAP_PROCESS__PASID_MASK;
    refused(b, "no PASID");
    b = spoil();
    list.dw[Q1 + 3] = 0x1000;
    list.dw[Q1 + 4] = 0;
    refused(b, "an MQD that faults");
    b = spoil();
    list.dw[Q1 + 3] = MC_LO(VRAM_SIZE - 0x100);
    refused(b, "an MQD whose end faults");
    for (i = 0; i < 6; i++) {
        static const uint32_t bits[] = {
            2u << 29, 1u << 28, ENGINE_SEL_HIQ << 26, 1 << 4, 4 << 21, 2 << 2,
        };

        b = spoil();
        list.dw[Q1 + 1] ^= bits[i];
        refused(b, "a field of MAP_QUEUES");
    }
    b = spoil();
    list.n += pkt_run_list(list.dw + list.n, MC(LIST_IB), list.n + 4, false);
    refused(b, "a RUN_LIST that does not chain");
    b = spoil();
    list.n += pkt_run_list(list.dw + list.n, 0x2000, 8, true);
    refused(b, "a chain to nowhere");
}

/* The ways a list refers to itself. */
static void test_chain(void)
{
    Bus *b = spoil();
    uint32_t p[8], n, i;

    /* back to its beginning: that is how an over-subscribed list ends */
    n = list.n + 4;
    list.n += pkt_run_list(list.dw + list.n, MC(LIST_IB), n, true);
    list_send(b, &list);
    CHECK(!hiq_stopped(b));
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_MAP), 2);
    bus_free(b);

    /* two IBs, and back */
    b = spoil();
    sq_init(b, 2);
    list.n += pkt_run_list(list.dw + list.n, MC(LIST_IB + 0x1000), 16 + 7 + 4, true);
    {
        uint32_t dw[32];

        n = pkt_map_process(dw, 1, 1);
        n += pkt_map_queue(dw + n, 2);
        n += pkt_run_list(dw + n, MC(LIST_IB), list.n, true);
        for (i = 0; i < n; i++) {
            set_vram32(b, LIST_IB + 0x1000 + i * 4, dw[i]);
        }
    }
    list_send(b, &list);
    CHECK(!hiq_stopped(b));
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_MAP), 3);
    CHECK_EQ(b->e->sched.proc_top, 2);
    bus_free(b);

    /* for ever between two others: ends, and is refused */
    b = spoil();
    list.n += pkt_run_list(list.dw + list.n, MC(LIST_IB + 0x1000), 4, true);
    pkt_run_list(p, MC(LIST_IB + 0x2000), 4, true);
    memcpy(b->vram + LIST_IB + 0x1000, p, 16);
    pkt_run_list(p, MC(LIST_IB + 0x1000), 4, true);
    memcpy(b->vram + LIST_IB + 0x2000, p, 16);
    refused(b, "an endless chain");

    /* a list too long */
    b = spoil();
    memset(&list, 0, sizeof(list));
    n = 0;
    for (i = 0; i < 0x10000 - 4; i++) {
        list.dw[i] = PACKET3(IT_NOP, 0x4000);   /* one dword each */
    }
    list.n = i;
    n = pkt_run_list(list.dw + list.n, MC(LIST_IB + 4), 100, true);
    list.n += n;
    refused(b, "more dwords than a list may have");

    /* not valid; an empty one is */
    b = spoil();
    pkt_run_list(p, MC(LIST_IB), list.n, false);
    p[3] &= ~RUN_LIST__VALID;
    hiq_send(b, p, 4);
    CHECK(hiq_stopped(b));
    bus_free(b);
    b = spoil();
    hiq_send(b, p, pkt_run_list(p, 0x1000, 0, false));
    CHECK(!hiq_stopped(b));
    CHECK_EQ(counter(b, VKFD_CNT_RUNLIST), 1);
    bus_free(b);
}

/* What was mapped before a bad list stays. */
static void test_keeps(void)
{
    Bus *b = spoil();
    uint32_t p[8];

    sq_init(b, 7);
    list_simple(b, 7, 7, 1);
    CHECK_EQ(sq_state(b, 7), VKFD_SCHED_IDLE);
    list.dw[Q1] = 0;
    list_send(b, &list);
    CHECK(hiq_stopped(b));
    CHECK(sq_entry(b, 7) && !sq_entry(b, 0) && !sq_entry(b, 1));
    CHECK_EQ(vkfd_sched_find_proc(b->e, PASID(0)), VKFD_SCHED_NONE);
    sq_write(b, 7, SQ_OUT(7), 1);
    sq_kick(b, 7);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(7)), 1);
    /* the HIQ goes on behind it once it was taken off and on */
    hqd_wr(b, HIQ, mmCP_HQD_ACTIVE, 0);
    wr(b, mmCP_HQD_PQ_RPTR, rd(b, mmCP_HQD_PQ_RPTR) + 4);
    wr(b, mmCP_HQD_ACTIVE, 1);
    hiq_send(b, p, pkt_query(p, QUERY_STATUS_FENCE, MC(FENCE), 1));
    CHECK_EQ(vram64(b, FENCE), 1);
    bus_free(b);
}

/* As many queues and processes as there may be; one more is refused. */
static void test_full(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);
    unsigned i;

    memset(&list, 0, sizeof(list));
    for (i = 0; i < VKFD_SCHED_QUEUES; i++) {
        if (i % 8 == 0) {
            list_process(&list, i / 8, 8);
        }
        list_queue(&list, i % SQ_MAX);
        /* any place will do for an MQD nobody loads */
        list.dw[list.n - 4] = MC_LO(0x200000 + i * 0x800);
    }
    list_send(b, &list);
    CHECK(!hiq_stopped(b));
    CHECK_EQ(counter(b, VKFD_CNT_QUEUE_MAP), VKFD_SCHED_QUEUES);
    CHECK_EQ(b->e->sched.proc_top, VKFD_SCHED_PROCS);
    list.n = 0;
    list_process(&list, 0, 0);
    list_queue(&list, 0);
    list.dw[list.n - 4] = MC_LO(0xe00000);
    list_send(b, &list);
    CHECK(hiq_stopped(b));
    CHECK_EQ(b->e->sched.queue_top, VKFD_SCHED_QUEUES);
    bus_free(b);
    b = sched_start(KFD_VMIDS, ALL_SLOTS);
    memset(&list, 0, sizeof(list));
    for (i = 0; i <= VKFD_SCHED_PROCS; i++) {
        list_process(&list, i, 0);
    }
    refused(b, "more processes than there may be");
}

/* Random dwords, and good lists with random dwords changed: it always ends. */
static void test_random(void)
{
    uint64_t seed = 0x123456789abcdefull;
    unsigned round, i, k;

    for (round = 0; round < 60; round++) {
        Bus *b = spoil();
        uint32_t p[8];

        for (i = 2; i < 40; i++) {
            sq_init(b, i);
            sq_write(b, i, SQ_OUT(i), i);
            sq_publish(b, i);
            if (i % 10 == 2) {
                list_process(&list, i / 10 + 1, 10);
            }
            list_queue(&list, i);
        }
        for (k = 0; k < round % 7; k++) {
            list.dw[prng(&seed) % list.n] ^= 1u << prng(&seed) % 32;
        }
        if (round > 50) {
            for (i = 0; i < list.n; i++) {
                list.dw[i] = prng(&seed);
            }
        }
        list_send(b, &list);
        CHECK(counter(b, VKFD_CNT_RUNLIST) + counter(b, VKFD_CNT_RUNLIST_BAD) == 1);
        bus_advance(b, 20000000);
        for (i = 0; i < 40; i++) {
            sq_kick(b, i);
        }
        bus_advance(b, 20000000);
        check_derived(b);
        if (!hiq_stopped(b)) {
            hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
            CHECK_EQ(b->e->sched.queue_top, 0);
        }
        bus_free(b);
    }
}

int main(void)
{
    test_bad();
    test_chain();
    test_keeps();
    test_full();
    test_random();
    return tap_done();
}
