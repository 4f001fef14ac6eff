/* SPDX-License-Identifier: MIT */
/* GPUVM: walk, permissions, TLB, faults, own BARs, refused DMA. */
#include "harness.h"

#define DATA            0x900000u
#define VA              0x500000000ull

static uint32_t get(Bus *b, uint64_t va, VKFDFault *f)
{
    uint32_t v = 0xeeeeeeee;
    uint64_t fva;

    *f = vkfd_vm_read(b->e, VKFD_HUB_GFX, TEST_VMID, va, &v, 4, &fva);
    return v;
}

static VKFDFault put(Bus *b, uint64_t va, uint32_t v)
{
    uint64_t fva;

    return vkfd_vm_write(b->e, VKFD_HUB_GFX, TEST_VMID, va, &v, 4, &fva);
}

static Bus *start(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, 0);
    return b;
}

static uint64_t pde_at(Bus *b, uint64_t va, unsigned level)
{
    uint64_t at = VM_ROOT;
    unsigned l;

    for (l = 0; l < level; l++) {
        at = vram64(b, at + ((va >> VKFD_PT_SHIFT(l)) & 511) * 8) &
             AMDGPU_PDE_ADDR_MASK;
    }
    return at + ((va >> VKFD_PT_SHIFT(level)) & 511) * 8;
}

static void test_walk(void)
{
    Bus *b = start();
    VKFDFault f;
    uint64_t buf[2], fva = 0;

    set_vram32(b, DATA + 0x34, 0x1111);
    vm_map(b, VA, DATA | PTE_RW);
    CHECK_EQ(get(b, VA + 0x34, &f), 0x1111);
    CHECK_EQ(f, VKFD_FAULT_NONE);
    CHECK_EQ(put(b, VA + 0x38, 0x2222), VKFD_FAULT_NONE);
    CHECK_EQ(vram32(b, DATA + 0x38), 0x2222);
    /* S bit: a bus address */
    vm_map(b, VA + 0x1000, (SYS_BASE + 0x3000) | PTE_RW | AMDGPU_PTE_SYSTEM);
    CHECK_EQ(put(b, VA + 0x1010, 0x3333), VKFD_FAULT_NONE);
    CHECK_EQ(sys32(b, 0x3010), 0x3333);
    /* across both pages, unaligned; and the second missing */
    CHECK_EQ(vkfd_vm_read(b->e, 0, TEST_VMID, VA + 0xff9, buf, 16, &fva),
             VKFD_FAULT_NONE);
    CHECK_EQ(vkfd_vm_read(b->e, 0, TEST_VMID, VA + 0x1ff9, buf, 16, &fva),
             VKFD_FAULT_PTE);
    CHECK_EQ(fva, VA + 0x2000);
    /* kinds */
    get(b, VA + 0x2000, &f);
    CHECK_EQ(f, VKFD_FAULT_PTE);
    get(b, VA + (1ull << 30), &f);
    CHECK_EQ(f, VKFD_FAULT_PDE);
    get(b, 0x0001000000000000ull, &f);
    CHECK_EQ(f, VKFD_FAULT_RANGE);
    get(b, 0xffff800000000000ull, &f);          /* canonical, unmapped */
    CHECK_EQ(f, VKFD_FAULT_PDE);
    vm_map(b, VA + 0x3000, DATA | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE);
    CHECK_EQ(put(b, VA + 0x3000, 1), VKFD_FAULT_WRITE);
    get(b, VA + 0x3000, &f);
    CHECK_EQ(f, VKFD_FAULT_NONE);
    vm_map(b, VA + 0x4000, DATA | AMDGPU_PTE_VALID | AMDGPU_PTE_WRITEABLE);
    get(b, VA + 0x4000, &f);
    CHECK_EQ(f, VKFD_FAULT_READ);
    vm_map(b, VA + 0x5000, AMDGPU_PTE_PRT);
    CHECK_EQ(get(b, VA + 0x5000, &f), 0);
    CHECK_EQ(f, VKFD_FAULT_NONE);
    CHECK_EQ(put(b, VA + 0x5000, 9), VKFD_FAULT_NONE);
    /* past the end of VRAM; a table there */
    vm_map(b, VA + 0x6000, VRAM_SIZE | PTE_RW);
    CHECK_EQ(put(b, VA + 0x6000, 9), VKFD_FAULT_DMA);
    set_vram64(b, pde_at(b, VA + (1ull << 39), 0), VRAM_SIZE | AMDGPU_PTE_VALID);
    CHECK_EQ(put(b, VA + (1ull << 39), 9), VKFD_FAULT_DMA);
    bus_free(b);
}

static void test_large_pages(void)
{
    Bus *b = start();
    VKFDFault f;
    uint64_t va = 0x40000000ull * 600;

    vm_map(b, va, DATA | PTE_RW);
    /* 2 MiB at PDB0: offset within, low address bits ignored */
    set_vram64(b, pde_at(b, va, 2), 0x805000 | PTE_RW | AMDGPU_PDE_PTE);
    set_vram32(b, 0x800000 + 0x123458, 0x5555);
    CHECK_EQ(get(b, va + 0x123458, &f), 0x5555);
    CHECK_EQ(f, VKFD_FAULT_NONE);
    /* 1 GiB at PDB1 in bus addresses: only what exists can be reached */
    set_vram64(b, pde_at(b, va, 1),
               SYS_BASE | PTE_RW | AMDGPU_PDE_PTE | AMDGPU_PTE_SYSTEM);
    vm_flush(b, 1u << TEST_VMID);
    set_sys32(b, 0x80004, 0x6666);
    CHECK_EQ(get(b, va + 0x80004, &f), 0x6666);
    get(b, va + SYS_SIZE, &f);
    CHECK_EQ(f, VKFD_FAULT_DMA);
    /* not at PDB2 */
    set_vram64(b, pde_at(b, va, 0), PTE_RW | AMDGPU_PDE_PTE);
    vm_flush(b, 1u << TEST_VMID);
    get(b, va, &f);
    CHECK_EQ(f, VKFD_FAULT_FORMAT);
    bus_free(b);
}

static void test_context(void)
{
    Bus *b = start();
    VKFDFault f;
    uint32_t cntl = rd(b, mmVM_CONTEXT0_CNTL + TEST_VMID);
    uint32_t base = mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * TEST_VMID;

    wr(b, mmVM_CONTEXT0_CNTL + TEST_VMID, cntl & ~1u);
    get(b, VA0, &f);
    CHECK_EQ(f, VKFD_FAULT_RANGE);
    wr(b, mmVM_CONTEXT0_CNTL + TEST_VMID, (cntl & ~6u) | 2 << 1);
    get(b, VA0, &f);
    CHECK_EQ(f, VKFD_FAULT_FORMAT);
    wr(b, mmVM_CONTEXT0_CNTL + TEST_VMID, cntl | 9 << 3);
    get(b, VA0, &f);
    CHECK_EQ(f, VKFD_FAULT_FORMAT);
    wr(b, mmVM_CONTEXT0_CNTL + TEST_VMID, cntl);
    wr(b, base, VM_ROOT);
    get(b, VA0, &f);
    CHECK_EQ(f, VKFD_FAULT_PDE);
    wr(b, base, VM_ROOT | AMDGPU_PTE_VALID);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32 + 2 * TEST_VMID,
       (VA0 >> 12) + 1);
    get(b, VA0, &f);
    CHECK_EQ(f, VKFD_FAULT_RANGE);
    get(b, VA0 + 0x1000, &f);
    CHECK_EQ(f, VKFD_FAULT_NONE);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * TEST_VMID, (VA0 >> 12) + 2);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 2 * TEST_VMID, 0);
    get(b, VA0 + 0x2000, &f);           /* inclusive */
    CHECK_EQ(f, VKFD_FAULT_NONE);
    get(b, VA0 + 0x3000, &f);
    CHECK_EQ(f, VKFD_FAULT_RANGE);
    bus_free(b);
}

/* A forgotten flush shows; a flush of another VMID does not help. */
static void test_tlb(void)
{
    Bus *b = start();
    VKFDFault f;

    set_vram32(b, DATA, 1);
    set_vram32(b, DATA + 0x1000, 2);
    vm_map(b, VA, DATA | PTE_RW);
    CHECK_EQ(get(b, VA, &f), 1);
    vm_map(b, VA, (DATA + 0x1000) | PTE_RW);
    CHECK_EQ(get(b, VA, &f), 1);
    vm_flush(b, 0xffff & ~(1u << TEST_VMID));
    CHECK_EQ(get(b, VA, &f), 1);
    wr(b, mmMMHUB_VM_INVALIDATE_ENG17_REQ, 1u << TEST_VMID);
    CHECK_EQ(get(b, VA, &f), 1);
    wr(b, mmVM_INVALIDATE_ENG17_REQ, 1u << TEST_VMID);
    CHECK_EQ(get(b, VA, &f), 2);
    /* not present is not remembered */
    get(b, VA + 0x1000, &f);
    CHECK_EQ(f, VKFD_FAULT_PTE);
    vm_map(b, VA + 0x1000, DATA | PTE_RW);
    CHECK_EQ(get(b, VA + 0x1000, &f), 1);
    /* pages that share a slot of the TLB */
    vm_map(b, VA + 0x1000 * VKFD_TLB_SETS, DATA | PTE_RW);
    CHECK_EQ(get(b, VA + 0x1000 * VKFD_TLB_SETS, &f), 1);
    CHECK_EQ(get(b, VA, &f), 2);
    bus_free(b);
}

static void test_vmid0(void)
{
    Bus *b = start();
    uint64_t fva, gart = 0x9000000000ull;
    uint32_t v = 0;

    set_vram32(b, DATA, 0x77);
    CHECK_EQ(vkfd_vm_read(b->e, 0, 0, VKFD_FB_LOCATION_BASE + DATA, &v, 4, &fva),
             VKFD_FAULT_NONE);
    CHECK_EQ(v, 0x77);
    CHECK(vkfd_vm_read(b->e, 0, 0, VKFD_FB_LOCATION_BASE + VRAM_SIZE, &v, 4,
                       &fva) != VKFD_FAULT_NONE);
    CHECK(vkfd_vm_read(b->e, 0, 0, 0, &v, 4, &fva) != VKFD_FAULT_NONE);
    /* CONTEXT0: flat GART of 4 pages */
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32, 0xa00000 | AMDGPU_PTE_VALID);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32, gart >> 12);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_HI32, gart >> 44);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32, (gart >> 12) + 3);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32, gart >> 44);
    wr(b, mmVM_CONTEXT0_CNTL, 1);
    set_vram64(b, 0xa00000 + 2 * 8, (SYS_BASE + 0x5000) | PTE_RW | AMDGPU_PTE_SYSTEM);
    set_sys32(b, 0x5008, 0x88);
    CHECK_EQ(vkfd_vm_read(b->e, 0, 0, gart + 0x2008, &v, 4, &fva), VKFD_FAULT_NONE);
    CHECK_EQ(v, 0x88);
    CHECK_EQ(vkfd_vm_read(b->e, 0, 0, gart + 0x1000, &v, 4, &fva), VKFD_FAULT_PTE);
    CHECK_EQ(vkfd_vm_read(b->e, 0, 0, gart + 0x4000, &v, 4, &fva), VKFD_FAULT_RANGE);
    /* the MM hub has its own registers: FB at reset, no GART */
    CHECK_EQ(vkfd_vm_read(b->e, 1, 0, VKFD_FB_LOCATION_BASE + DATA, &v, 4, &fva),
             VKFD_FAULT_NONE);
    CHECK(vkfd_vm_read(b->e, 1, 0, gart + 0x2008, &v, 4, &fva) != VKFD_FAULT_NONE);
    bus_free(b);
}

static void fault_by_queue(Bus *b, unsigned hqd, uint64_t va)
{
    uint32_t p[8];

    queue_load(b, hqd);
    queue_emit(b, hqd, p, pkt_write(p, va, 1));
    queue_emit(b, hqd, p, pkt_write(p, VA0 + DATA, 0x42));
    queue_kick(b, hqd);
    bus_run(b);
}

static void test_fault_report(void)
{
    Bus *b = start();
    uint64_t bad = 0x0000345678901234ull & ~3ull;
    uint32_t p[8], st;

    fault_by_queue(b, 2, bad);
    CHECK_EQ(vram32(b, DATA), 0);
    CHECK_EQ(b->e->hqd[2].stop, VKFD_STOP_VM_FAULT);
    CHECK_EQ(hqd_rd(b, 2, mmCP_HQD_ACTIVE), 1);
    CHECK_EQ(rd(b, mmCP_HQD_PQ_RPTR), 0);
    CHECK_EQ(ih_dw(b, 0, 0), 0x1b | 0 << 8 | 0x08 << 16 | TEST_VMID << 24);
    CHECK_EQ(ih_dw(b, 0, 3), TEST_PASID);
    CHECK_EQ(ih_dw(b, 0, 4), (uint32_t)(bad >> 12));
    CHECK_EQ(ih_dw(b, 0, 5), (bad >> 44) | 0x20);
    st = rd(b, mmVM_L2_PROTECTION_FAULT_STATUS);
    CHECK_EQ(VKFD_GET(st, VM_L2_PROTECTION_FAULT_STATUS__VMID), TEST_VMID);
    CHECK_EQ(VKFD_GET(st, VM_L2_PROTECTION_FAULT_STATUS__RW), 1);
    CHECK_EQ(VKFD_GET(st, VM_L2_PROTECTION_FAULT_STATUS__PERMISSION_FAULTS), 5);
    CHECK_EQ(st & 1, 0);
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_ADDR_LO32), (uint32_t)(bad >> 12));
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_ADDR_HI32), bad >> 44);

    /* a read-only page: second fault, the latch keeps the first */
    vm_map(b, VA, DATA | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE);
    fault_by_queue(b, 3, VA);
    CHECK_EQ(ih_dw(b, 1, 0) >> 16 & 0xff, 0x20);
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS), st | 1);
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_ADDR_LO32), (uint32_t)(bad >> 12));
    wr(b, mmVM_L2_PROTECTION_FAULT_CNTL, 0x3ffffffd);
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_CNTL), 0x3ffffffc);
    CHECK_EQ(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS), 0);

    /* the other queues of the part go on */
    queue_load(b, 4);
    queue_emit(b, 4, p, pkt_write(p, VA0 + DATA + 8, 0x43));
    queue_kick(b, 4);
    bus_run(b);
    CHECK_EQ(vram32(b, DATA + 8), 0x43);

    /* interrupt enable off: latched, not announced */
    wr(b, mmVM_CONTEXT0_CNTL + TEST_VMID, 1 | 3 << 1);
    fault_by_queue(b, 5, VA);
    CHECK(rd(b, mmVM_L2_PROTECTION_FAULT_STATUS) != 0);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 3);
    CHECK_EQ(counter(b, VKFD_CNT_IH_ENTRY), 2);
    bus_free(b);
}

static void test_fault_sources(void)
{
    Bus *b = start();

    /* an unmapped ring, wptr address, report address */
    queue_load(b, 0);
    hqd_wr(b, 0, mmCP_HQD_PQ_BASE, 0x12345);
    vkfd_doorbell_write(b->e, DOORBELL_DW(0) * 4, 8, 8);
    bus_run(b);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
    hqd_wr(b, 1, mmCP_HQD_PQ_WPTR_POLL_ADDR, 0x1000);
    wr(b, mmCP_HQD_VMID, TEST_VMID);
    wr(b, mmCP_HQD_PQ_CONTROL, 9);
    wr(b, mmCP_HQD_ACTIVE, 1);
    CHECK_EQ(b->e->hqd[1].stop, VKFD_STOP_VM_FAULT);
    queue_load(b, 2);
    hqd_wr(b, 2, mmCP_HQD_PQ_RPTR_REPORT_ADDR, 0x1000);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, 0x77);
    EMIT(b, 2, 0xffff1000);
    queue_kick(b, 2);
    bus_run(b);
    CHECK_EQ(b->e->hqd[2].stop, VKFD_STOP_VM_FAULT);
    CHECK_EQ(counter(b, VKFD_CNT_VM_FAULT), 3);
    bus_free(b);
}

static void test_bars(void)
{
    Bus *b = start();
    uint32_t p[8];

    vm_map(b, VA, (BAR0_ADDR + DATA) | PTE_RW | AMDGPU_PTE_SYSTEM);
    CHECK_EQ(put(b, VA + 4, 0x99), VKFD_FAULT_NONE);
    CHECK_EQ(vram32(b, DATA + 4), 0x99);
    /* a doorbell rung by the device: one 64-bit store reaches queue 1 */
    queue_load(b, 0);
    queue_load(b, 1);
    queue_emit(b, 1, p, pkt_write(p, VA0 + DATA + 8, 0x98));
    vm_map(b, VA + 0x1000, (BAR2_ADDR + DOORBELL_DW(0) * 4 / 4096 * 4096) |
           PTE_RW | AMDGPU_PTE_SYSTEM);
    EMIT(b, 0, PACKET3(IT_WRITE_DATA, 5), 5 << 8,
         (uint32_t)(VA + 0x1000 + DOORBELL_DW(1) * 4 % 4096),
         VA >> 32, (uint32_t)queue_wptr(1), 0);
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(vram32(b, DATA + 8), 0x98);
    CHECK_EQ(counter(b, VKFD_CNT_DOORBELL), 2);
    /* anything else out there is refused, counted, and a fault of the queue */
    vm_map(b, VA + 0x2000, 0xfee00000 | PTE_RW | AMDGPU_PTE_SYSTEM);
    queue_emit(b, 0, p, pkt_write(p, VA + 0x2000, 1));
    queue_kick(b, 0);
    bus_run(b);
    CHECK_EQ(counter(b, VKFD_CNT_DMA_REFUSED), 1);
    CHECK_EQ(b->e->hqd[0].stop, VKFD_STOP_VM_FAULT);
    CHECK_EQ(ih_dw(b, 0, 0) & 0xff, 0x1b);
    /* BARs unmapped: no match */
    vkfd_engine_set_bars(b->e, false, 0, 0, 0);
    vm_flush(b, 0xffff);
    CHECK_EQ(put(b, VA + 4, 0x97), VKFD_FAULT_DMA);
    bus_free(b);
}

int main(void)
{
    test_walk();
    test_large_pages();
    test_context();
    test_tlb();
    test_vmid0();
    test_fault_report();
    test_fault_sources();
    test_bars();
    return tap_done();
}
