/* SPDX-License-Identifier: MIT */
/* Waits of queues that have lost their slot: what is looked at for them, and when. */
#include "sched-common.h"

static List list;

/* Waits on registers cannot be watched: such queues take turns by quantum. */
static void test_register_waits(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);
    unsigned i;

    for (i = 0; i < 4; i++) {
        const uint32_t p[] = { PACKET3(IT_WAIT_REG_MEM, 6), WAIT_REG_MEM_EQ,
                               mmSCRATCH_REG2, 0, 5, ~0u, 4 };

        sq_init(b, i);
        sq_emit(b, i, p, 7);
        sq_write(b, i, SQ_OUT(i), 1);
        sq_publish(b, i);
    }
    map_many(b, 4, 4);
    CHECK(!b->scheduled);
    CHECK(b->timer[VKFD_TIMER_SCHED] > 0);
    bus_advance(b, 20000000);
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) >= 15);
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) <= 20);
    wr(b, mmSCRATCH_REG2, 5);
    bus_advance(b, 4000000);
    for (i = 0; i < 4; i++) {
        CHECK_EQ(vram32(b, SQ_OUT(i)), 1);
    }
    bus_free(b);
}

/* The page a queue waits on is another now: it looks again. */
static void tables_change(bool map)
{
    Bus *b = sched_start(KFD_VMIDS, 1);
    uint32_t p[16];

    sq_init(b, 0);
    sq_init(b, 1);
    vm_map(b, 0x400005000ull, SQ_FLAG(0) | PTE_RW);
    sq_emit(b, 0, p, pkt_wait_mem(p, 0x400005000ull, WAIT_REG_MEM_EQ, 1, ~0u));
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_publish(b, 0);
    map_many(b, 2, 2);
    sq_wait(b, 1, 1);
    sq_kick(b, 1);
    bus_run(b);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_PARKED);
    set_vram32(b, 0xf00000, 1);
    vm_map(b, 0x400005000ull, 0xf00000 | PTE_RW);
    if (map) {
        hiq_send(b, p, pkt_map_process(p, 0, 0));
    } else {
        HIQ_SEND(b, PACKET3(IT_INVALIDATE_TLBS, 1), 1 | PASID(0) << 5 | 1 << 4);
    }
    bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    bus_free(b);
}

static void test_tables_change(void)
{
    tables_change(false);
    tables_change(true);
}

/* The same of one that still has its slot, and is known to wait in vain at the old page. */
static void test_tables_before_swap(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);
    uint32_t p[16];

    sq_init(b, 0);
    sq_init(b, 1);
    vm_map(b, 0x400005000ull, SQ_FLAG(0) | PTE_RW);
    sq_emit(b, 0, p, pkt_wait_mem(p, 0x400005000ull, WAIT_REG_MEM_EQ, 1, ~0u));
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_publish(b, 0);
    map_many(b, 2, 2);
    bus_advance(b, 20 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(b->e->sd.hqd_seen[sq_entry(b, 0)->slot].n, 1);
    set_vram32(b, 0xf00000, 1);
    vm_map(b, 0x400005000ull, 0xf00000 | PTE_RW);
    HIQ_SEND(b, PACKET3(IT_INVALIDATE_TLBS, 1), 1 | PASID(0) << 5 | 1 << 4);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 0);
    sq_wait(b, 1, 1);
    sq_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    bus_free(b);
}

/* A store after a queue parked and before it loses its slot is seen, without a timer. */
static void test_store_before_swap(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);

    sq_init(b, 0);
    sq_init(b, 1);
    sq_wait(b, 0, 1);
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_publish(b, 0);
    map_many(b, 2, 2);
    set_vram32(b, SQ_FLAG(0), 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_ON_SLOT);
    sq_wait(b, 1, 1);
    sq_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_IDLE);
    CHECK_EQ(sq_state(b, 1), VKFD_SCHED_ON_SLOT);
    bus_free(b);
}

/*
 * Noted at 0 in a wait for 1, which came true before the look; now it waits at the same
 * address for 0. What was noted says nothing about this wait.
 */
static void test_note_of_before(void)
{
    Bus *b = sched_start(KFD_VMIDS, 1);

    sq_init(b, 0);
    sq_init(b, 1);
    sq_wait(b, 0, 1);
    sq_wait(b, 0, 0);
    sq_write(b, 0, SQ_OUT(0), 1);
    sq_publish(b, 0);
    map_many(b, 2, 2);
    sq_wait(b, 1, 1);
    sq_kick(b, 1);
    vkfd_sched_run(b->e);
    CHECK_EQ(b->e->sd.hqd_seen[sq_entry(b, 0)->slot].n, 1);
    set_vram32(b, SQ_FLAG(0), 1);
    bus_run(b);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_PARKED);
    set_vram32(b, SQ_FLAG(0), 0);
    bus_advance(b, 2 * VKFD_WAIT_POLL_MAX_NS);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    bus_free(b);
}

/* Two processes that share a VMID, with different pages at one address. */
static void test_address_spaces(void)
{
    const uint64_t va = 1ull << 39;             /* second entry of the root */
    Bus *b = sched_start(0x0100, ALL_SLOTS);
    unsigned i, round;

    set_vram64(b, VM_ROOT + 8, 0xd30000 | AMDGPU_PTE_VALID);
    set_vram64(b, 0xd30000, 0xd31000 | AMDGPU_PTE_VALID);
    set_vram64(b, ROOT2 + 8, 0xd32000 | AMDGPU_PTE_VALID);
    set_vram64(b, 0xd32000, 0xd33000 | AMDGPU_PTE_VALID);
    set_vram64(b, 0xd31000, 0xa00000 | AMDGPU_PDE_PTE | PTE_RW);
    set_vram64(b, 0xd33000, 0xe00000 | AMDGPU_PDE_PTE | PTE_RW);
    sq_init(b, 0);
    sq_init(b, 1);
    map_many(b, 2, 1);
    for (round = 1; round < 4; round++) {
        for (i = 0; i < 2; i++) {
            uint32_t p[8];

            sq_emit(b, i, p, pkt_write(p, va + 0x1ff000, 10 * round + i));
            sq_kick(b, i);
            bus_run(b);
        }
        CHECK_EQ(vram32(b, 0xa00000 + 0x1ff000), 10 * round);
        CHECK_EQ(vram32(b, 0xe00000 + 0x1ff000), 10 * round + 1);
    }
    CHECK(counter(b, VKFD_CNT_QUEUE_SWAP) >= 5);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 0);
    bus_free(b);
}

/* A queue without a poll address: the value of its doorbell is all there is. */
static void test_no_poll_address(void)
{
    Bus *b = sched_start(KFD_VMIDS, ALL_SLOTS);

    sq_init(b, 0);
    memset(&list, 0, sizeof(list));
    list_process(&list, 0, 1);
    list_queue(&list, 0);
    list.dw[list.n - 2] = list.dw[list.n - 1] = 0;
    list_send(b, &list);
    hqd_wr(b, sq_entry(b, 0)->slot, mmCP_HQD_DEQUEUE_REQUEST, 1);
    {
        uint32_t p[8];

        hiq_send(b, p, pkt_unmap(p, 0, UNMAP_QUEUES_SEL_ALL, 0));
    }
    /* it got a slot, since nothing told that it is idle; the next one does not */
    wr(b, mmCP_MEC_CNTL, CP_MEC_CNTL__MEC_ME1_HALT_MASK);
    list_send(b, &list);
    CHECK_EQ(sq_state(b, 0), VKFD_SCHED_READY);
    sq_write(b, 0, SQ_OUT(0), 1);
    vkfd_doorbell_write(b->e, SQ_DOORBELL(0) * 4, sq_wptr(0), 8);
    wr(b, mmCP_MEC_CNTL, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, SQ_OUT(0)), 1);
    bus_free(b);
}

int main(void)
{
    test_store_before_swap();
    test_note_of_before();
    test_address_spaces();
    test_no_poll_address();
    test_register_waits();
    test_tables_change();
    test_tables_before_swap();
    return tap_done();
}
