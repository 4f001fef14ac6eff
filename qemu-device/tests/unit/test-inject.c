/* SPDX-License-Identifier: MIT */
/* Fault injection on the way of a completion, from the doorbell to the message. */
#include "inject-common.h"

#define REARM           IH_RB_CNTL__RPTR_REARM_MASK

/* ---- doorbell ---- */

static void test_doorbell(void)
{
    Bus *b = start();

    arm(b, "doorbell:drop@2");
    put(b, 0, 1);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    put(b, 1, 2);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    CHECK_EQ(fired(b, 0), 1);
    CHECK_EQ(passages(b, 0), 2);
    /* not a doorbell that matched nothing */
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL_DROPPED), 0);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);

    arm(b, "doorbell:delay:10us@1");
    put(b, 2, 3);
    queue_kick(b, 0);
    bus_advance(b, 9999);
    CHECK_EQ(vram32(b, OUT + 16), 0);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_HELD), 1);
    bus_advance(b, 1);
    CHECK_EQ(vram32(b, OUT + 16), 3);
    CHECK_EQ(vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_HELD), 0);

    /* a later one of the same queue does not overtake, one of another does */
    arm(b, "doorbell:delay:10us@1");
    put(b, 3, 4);
    queue_kick(b, 0);
    put(b, 4, 5);
    queue_kick(b, 0);
    emit_event(b, 1, 5, 6, 1);
    queue_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 24), 0);
    CHECK_EQ(vram32(b, OUT + 32), 0);
    CHECK_EQ(vram32(b, OUT + 40), 6);
    CHECK_EQ(passages(b, 0), 3);
    bus_advance(b, 10000);
    CHECK_EQ(vram32(b, OUT + 24), 4);
    CHECK_EQ(vram32(b, OUT + 32), 5);
    CHECK_EQ(b->guest_errors, 0);

    /* two delays of one address: neither makes the other shorter */
    arm(b, "doorbell:delay:5us@1;doorbell:delay:10us@2;doorbell:delay:1us@3");
    queue_kick(b, 0);
    bus_advance(b, 1000);
    queue_kick(b, 0);
    put(b, 3, 40);
    queue_kick(b, 0);
    bus_advance(b, 9999);
    CHECK_EQ(vram32(b, OUT + 24), 4);
    bus_advance(b, 1);
    CHECK_EQ(vram32(b, OUT + 24), 40);
    CHECK_EQ(fired(b, 2), 1);

    arm(b, "doorbell:dup@1");
    put(b, 6, 7);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 48), 7);
    CHECK_EQ(fired(b, 0), 1);

    arm(b, "doorbell:corrupt:=0@1");
    put(b, 7, 8);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, queue_wptr(0), 8);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_WPTR_LO), 0);
    arm(b, "doorbell:corrupt:0x100@1");
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 0x120, 8);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_PQ_WPTR_LO), 0x20);
    bus_free(b);
}

/* Only doorbells of the compute engines pass. */
static void test_doorbell_ih(void)
{
    Bus *b = start();

    wr(b, mmBIF_IH_DOORBELL_RANGE, 0x2f0 << 2 | 8u << 16);
    wr(b, mmIH_DOORBELL_RPTR, 0x2f0 | IH_DOORBELL_RPTR__ENABLE_MASK);
    event(b, 0, 1, 1);
    arm(b, "doorbell:drop@1/1");
    vkfd_doorbell_write(b->e, 0x2f0 * 4, 32, 4);
    CHECK_EQ(rd(b, mmIH_RB_RPTR), 32);
    CHECK_EQ(passages(b, 0), 0);
    /* one that matches nothing does */
    vkfd_doorbell_write(b->e, 0x1ff000, 1, 8);
    CHECK_EQ(fired(b, 0), 1);
    bus_free(b);
}

/* ---- fetch ---- */

static void test_fetch(void)
{
    Bus *b = start();

    arm(b, "fetch:drop@2/2*2");
    put(b, 0, 1);
    put(b, 1, 2);
    put(b, 2, 3);
    put(b, 3, 4);
    put(b, 4, 5);
    put(b, 5, 6);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    CHECK_EQ(vram32(b, OUT + 16), 3);
    CHECK_EQ(vram32(b, OUT + 24), 0);
    CHECK_EQ(vram32(b, OUT + 32), 5);
    CHECK_EQ(vram32(b, OUT + 40), 6);   /* count exhausted */
    CHECK_EQ(passages(b, 0), 6);
    CHECK_EQ(fired(b, 0), 2);

    arm(b, "fetch:delay:5us@2");
    put(b, 6, 7);
    put(b, 7, 8);
    queue_kick(b, 0);
    bus_advance(b, 4999);
    CHECK_EQ(vram32(b, OUT + 48), 7);
    CHECK_EQ(vram32(b, OUT + 56), 0);
    bus_advance(b, 1);
    CHECK_EQ(vram32(b, OUT + 56), 8);
    CHECK_EQ(passages(b, 0), 2);        /* the delayed one counts once */

    /* delayed each time, and still it gets on */
    arm(b, "fetch:delay:1us@1/1");
    put(b, 8, 9);
    put(b, 9, 10);
    queue_kick(b, 0);
    bus_advance(b, 3000);
    CHECK_EQ(vram32(b, OUT + 72), 10);
    CHECK_EQ(fired(b, 0), 2);

    arm(b, "fetch:dup@1");
    event(b, 10, 1, 0x77);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 64);
    CHECK_EQ(ih_dw(b, 0, 4), 0x77);
    CHECK_EQ(ih_dw(b, 1, 4), 0x77);

    arm(b, "fetch:corrupt@1");
    put(b, 11, 11);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_BAD_PACKET);
    CHECK_EQ(counter(b, VKFD_CNT_PACKET_BAD), 1);
    bus_free(b);
}

static void test_fetch_hang(void)
{
    Bus *b = start();

    arm(b, "fetch:hang@2");
    put(b, 0, 1);
    put(b, 1, 2);
    queue_kick(b, 0);
    bus_advance(b, 100 * MS);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    /* the other queue goes on */
    emit_event(b, 1, 2, 3, 1);
    queue_kick(b, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 16), 3);
    /* until it is dequeued; it resumes with the packet it hung at */
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
    CHECK_EQ(hqd_rd(b, 0, mmCP_HQD_ACTIVE), 0);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 2);
    /* disarming ends it as well */
    arm(b, "fetch:hang@1");
    put(b, 3, 4);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 24), 0);
    arm(b, "");
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 24), 4);
    bus_free(b);
}

/* A wait passes once, however often it is polled; an IB dropped or doubled. */
static void test_fetch_ib_wait(void)
{
    Bus *b = start();
    uint32_t p[16];
    unsigned n, i;

    arm(b, "fetch:drop@9");
    queue_emit(b, 0, p, pkt_wait_mem(p, OUT_VA, WAIT_REG_MEM_EQ, 1, ~0u));
    queue_kick(b, 0);
    bus_advance(b, 20 * MS);
    CHECK_EQ(passages(b, 0), 1);
    set_vram32(b, OUT, 1);
    bus_advance(b, 2 * MS);
    CHECK_EQ(passages(b, 0), 1);

    n = pkt_write(p, OUT_VA + 8, 5);
    for (i = 0; i < n; i++) {
        set_vram32(b, IB_ADDR(0) + 4 * i, p[i]);
    }
    arm(b, "fetch:drop@1;fetch:dup@2");
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), n, false));
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 0);
    queue_emit(b, 0, p, pkt_ib(p, VA0 + IB_ADDR(0), n, false));
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT + 8), 5);
    CHECK_EQ(passages(b, 0), 3);        /* IB, IB, the packet in it */
    CHECK_EQ(b->e->hqd[0].stop, 0);
    bus_free(b);
}

/* ---- slot ---- */

static void test_slot(void)
{
    Bus *b = start();

    arm(b, "slot:drop@1");
    event(b, 0, 0x1111, 1);
    CHECK_EQ(vram64(b, OUT), 0);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 32);
    CHECK_EQ(b->irqs, 1);

    arm(b, "slot:delay:7us@1");
    event(b, 1, 0x222222222222ull, 2);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 64);
    CHECK_EQ(b->irqs, 2);
    CHECK_EQ(vram64(b, OUT + 8), 0);
    bus_advance(b, 6999);
    CHECK_EQ(vram64(b, OUT + 8), 0);
    bus_advance(b, 1);
    CHECK_EQ(vram64(b, OUT + 8), 0x222222222222ull);

    arm(b, "slot:dup@1");
    b->nlog = 0;
    event(b, 2, 3, 3);
    CHECK_EQ(b->log[0].addr, OUT + 16);
    CHECK_EQ(b->log[1].addr, OUT + 16);
    arm(b, "slot:dup:1us@1");
    event(b, 2, 4, 4);
    CHECK_EQ(vram64(b, OUT + 16), 4);
    set_vram64(b, OUT + 16, ~0ull);     /* the kernel resets the slot */
    bus_advance(b, 1000);
    CHECK_EQ(vram64(b, OUT + 16), 4);   /* and there it is again */

    arm(b, "slot:corrupt@1;slot:corrupt:=0x123456789abcdef0@2");
    event(b, 3, 6, 5);
    CHECK_EQ(vram64(b, OUT + 24), 7);
    event(b, 4, 6, 5);
    CHECK_EQ(vram64(b, OUT + 32), 0x123456789abcdef0ull);
    bus_free(b);
}

/* No late write outlives the queue or the mapping it belongs to. */
static void test_slot_late(void)
{
    Bus *b = start();

    arm(b, "slot:delay:1s@1/1");
    event(b, 0, 1, 1);
    CHECK_EQ(vram64(b, OUT), 0);
    hqd_wr(b, 0, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
    CHECK_EQ(vram64(b, OUT), 1);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);

    event(b, 1, 2, 1);
    vm_flush(b, 1u << 9);
    CHECK_EQ(vram64(b, OUT + 8), 0);
    vm_flush(b, 1u << TEST_VMID);
    CHECK_EQ(vram64(b, OUT + 8), 2);

    event(b, 2, 3, 1);
    wr(b, mmGRBM_SOFT_RESET, GRBM_SOFT_RESET__SOFT_RESET_CP_MASK);
    CHECK_EQ(vram64(b, OUT + 16), 3);
    hqd_wr(b, 0, mmCP_HQD_ACTIVE, 1);

    event(b, 3, 4, 1);
    arm(b, "");
    CHECK_EQ(vram64(b, OUT + 24), 4);

    /* a reset is the end of it */
    arm(b, "slot:delay:1s@1/1");
    event(b, 4, 5, 1);
    vkfd_engine_reset(b->e, false);
    bus_advance(b, 2000000000ull);
    CHECK_EQ(vram64(b, OUT + 32), 0);
    bus_free(b);

    /* what faults anyway is not held back */
    b = start();
    arm(b, "slot:delay@1");
    {
        uint32_t p[8];

        queue_emit(b, 0, p, pkt_release(p, 0x700000000ull, 1,
                                        RELEASE_MEM_DATA_64, 0, 0));
    }
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(refused(b, 0), 1);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 1);
    bus_free(b);
}

/* ---- ih-entry ---- */

static void test_ih_entry(void)
{
    Bus *b = start();

    arm(b, "ih-entry:drop@1");
    event(b, 0, 1, 0x10);
    CHECK_EQ(vram64(b, OUT), 1);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 0);
    CHECK_EQ(b->irqs, 0);
    CHECK_EQ(counter(b, VKFD_CNT_IH_LOST), 0);

    arm(b, "ih-entry:dup@1");
    event(b, 0, 1, 0x11);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 64);
    CHECK_EQ(ih_dw(b, 1, 4), 0x11);
    CHECK(ih_dw(b, 1, 1) > ih_dw(b, 0, 1));
    CHECK_EQ(b->irqs, 2);

    arm(b, "ih-entry:delay:3us@1");
    event(b, 0, 1, 0x12);
    event(b, 0, 1, 0x13);
    CHECK_EQ(ih_dw(b, 2, 4), 0x13);
    /* its PASID is of the time it came */
    wr(b, mmIH_VMID_0_LUT + TEST_VMID, 0);
    bus_advance(b, 3000);
    CHECK_EQ(ih_dw(b, 3, 4), 0x12);
    CHECK_EQ(ih_dw(b, 3, 3), TEST_PASID);
    CHECK(ih_dw(b, 3, 1) > ih_dw(b, 2, 1));
    CHECK_EQ(wb(b), 128);

    arm(b, "ih-entry:corrupt@1;ih-entry:corrupt:3=0xdead@2;"
        "ih-entry:corrupt:0^0xff00@3");
    event(b, 0, 1, 0x14);
    event(b, 0, 1, 0x15);
    event(b, 0, 1, 0x16);
    CHECK_EQ(ih_dw(b, 4, 4), 0x15);
    CHECK_EQ(ih_dw(b, 5, 3), 0xdead);
    CHECK_EQ(ih_dw(b, 5, 4), 0x15);
    CHECK_EQ(ih_dw(b, 6, 0) >> 8 & 0xff, 0xff ^ 181);
    bus_free(b);
}

static void test_ih_insert(void)
{
    Bus *b = start();

    arm(b, "ih-entry:insert:000000ef_11111111_00002222_00008001_"
        "44444444_55555555_66666666_77777777@2");
    event(b, 0, 1, 1);
    event(b, 0, 1, 2);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 96);
    CHECK_EQ(ih_dw(b, 0, 4), 1);
    CHECK_EQ(ih_dw(b, 1, 0), 0xef);
    CHECK_EQ(ih_dw(b, 1, 1), 0x11111111);
    CHECK_EQ(ih_dw(b, 1, 2), 0x2222);
    CHECK_EQ(ih_dw(b, 1, 3), 0x8001);
    CHECK_EQ(ih_dw(b, 1, 7), 0x77777777);
    CHECK_EQ(ih_dw(b, 2, 4), 2);
    CHECK_EQ(passages(b, 0), 2);
    CHECK_EQ(b->irqs, 3);

    arm(b, "ih-entry:insert:0000000000000000000000000000000000000000000000000000"
        "0000000000ab@0");
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 128);
    CHECK_EQ(ih_dw(b, 3, 7), 0xab);
    CHECK_EQ(b->irqs, 4);
    CHECK_EQ(fired(b, 0), 1);
    bus_free(b);
}

/* ---- ih-wptr ---- */

static void test_ih_wptr(void)
{
    Bus *b = start();

    arm(b, "ih-wptr:drop@1");
    event(b, 0, 1, 1);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 32);
    CHECK_EQ(wb(b), 0);
    CHECK_EQ(b->irqs, 1);
    event(b, 0, 1, 1);
    CHECK_EQ(wb(b), 64);

    arm(b, "ih-wptr:delay:4us@1");
    event(b, 0, 1, 1);
    event(b, 0, 1, 1);
    CHECK_EQ(wb(b), 64);
    CHECK_EQ(b->irqs, 4);
    CHECK_EQ(passages(b, 0), 2);
    bus_advance(b, 4000);
    CHECK_EQ(wb(b), 128);

    arm(b, "ih-wptr:corrupt@1;ih-wptr:corrupt:=3@2");
    event(b, 0, 1, 1);
    CHECK_EQ(wb(b), 160 ^ 32);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 160);
    event(b, 0, 1, 1);
    CHECK_EQ(wb(b), 3);
    bus_free(b);
}

/* ---- msix ---- */

static void test_msix(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, REARM);
    queue_load(b, 0);
    arm(b, "msix:drop@1");
    event(b, 0, 1, 1);
    CHECK_EQ(b->irqs, 0);
    CHECK_EQ(wb(b), 32);
    CHECK_EQ(counter(b, VKFD_CNT_IRQ), 0);
    /* the ring believes it was sent */
    event(b, 0, 1, 2);
    CHECK_EQ(b->irqs, 0);
    CHECK_EQ(passages(b, 0), 1);
    wr(b, mmIH_RB_RPTR, 32);
    CHECK_EQ(b->irqs, 1);
    wr(b, mmIH_RB_RPTR, 64);

    arm(b, "msix:delay:2us@1");
    event(b, 0, 1, 3);
    CHECK_EQ(b->irqs, 1);
    bus_advance(b, 2000);
    CHECK_EQ(b->irqs, 2);
    wr(b, mmIH_RB_RPTR, 96);

    arm(b, "msix:dup@1;msix:dup:2us@2");
    event(b, 0, 1, 4);
    CHECK_EQ(b->irqs, 4);
    CHECK_EQ(counter(b, VKFD_CNT_IRQ), 4);
    wr(b, mmIH_RB_RPTR, 128);
    event(b, 0, 1, 4);
    CHECK_EQ(b->irqs, 5);
    bus_advance(b, 2000);
    CHECK_EQ(b->irqs, 6);
    wr(b, mmIH_RB_RPTR, 160);

    arm(b, "msix:insert@0");
    CHECK_EQ(b->irqs, 7);
    CHECK_EQ(rd(b, mmIH_RB_WPTR), 160);
    arm(b, "msix:insert@1");
    event(b, 0, 1, 5);
    CHECK_EQ(b->irqs, 9);
    bus_free(b);
}

/* ---- page-walk ---- */

static void test_page_walk(void)
{
    Bus *b = start();

    put(b, 0, 1);
    queue_kick(b, 0);
    bus_run(b);
    vm_flush(b, 1u << TEST_VMID);
    arm(b, "page-walk:drop@2");
    put(b, 0, 2);                       /* walks: ring, then OUT */
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 1);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
    CHECK_EQ(passages(b, 0), 2);
    CHECK_EQ(VKFD_GET(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS),
                      VM_L2_PROTECTION_FAULT_STATUS__VMID), TEST_VMID);
    bus_free(b);

    b = start();
    put(b, 0, 1);
    vm_flush(b, 1u << TEST_VMID);
    arm(b, "page-walk:corrupt@2");
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(ih_dw(b, 0, 0) >> 16 & 0xff, 0x20);        /* no write permission */
    bus_free(b);

    /* walks of VMID 0 do not pass */
    b = start();
    arm(b, "page-walk:drop@1/1");
    {
        uint64_t pa;
        bool prt;

        wr(b, mmVM_CONTEXT0_CNTL, 0x007ffe81);
        vkfd_vm_translate(b->e, VKFD_HUB_GFX, 0, 0x4000, false, &pa, &prt);
        CHECK_EQ(passages(b, 0), 0);
        vkfd_vm_translate(b->e, VKFD_HUB_GFX, TEST_VMID, OUT_VA, false, &pa, &prt);
        CHECK_EQ(passages(b, 0), 1);
    }
    bus_free(b);

    /* to another page */
    b = start();
    put(b, 0, 1);
    vm_flush(b, 1u << TEST_VMID);
    arm(b, "page-walk:corrupt:0x2000@2");
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, OUT), 0);
    CHECK_EQ(vram32(b, OUT ^ 0x2000), 1);
    bus_free(b);
}

int main(void)
{
    test_doorbell();
    test_doorbell_ih();
    test_fetch();
    test_fetch_hang();
    test_fetch_ib_wait();
    test_slot();
    test_slot_late();
    test_ih_entry();
    test_ih_insert();
    test_ih_wptr();
    test_msix();
    test_page_walk();
    return tap_done();
}
