/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GPUVM: two hubs with 16 contexts each, page walk, TLB, faults, invalidation.
 *
 * The TLB caches what a walk found until an invalidate request names the VMID:
 * nothing else drops an entry, not even a new page table base, so a driver that
 * forgets a flush sees stale translations as on hardware. Misses and faults are
 * not cached.
 */
#include "engine-priv.h"

#include <vkfd/gpuvm.h>
#include <vkfd/regs_vm.h>

/* The MM hub's copies lie at a fixed distance, of two kinds. */
#define MMHUB_VM_DELTA          (mmMMHUB_VM_L2_CNTL - mmVM_L2_CNTL)
#define MMHUB_MC_DELTA          (mmMMHUB_MC_VM_FB_OFFSET - mmMC_VM_FB_OFFSET)
#define MMHUB_FIRST             mmMMHUB_VM_L2_CNTL

#define VA_BITS                 48
#define PAGE_MASK               (AMDGPU_GPU_PAGE_SIZE - 1)
#define PTE_SIZE                8
/* CONTEXT_CNTL of the four-level tables of Vega20; others are not modelled. */
#define PT_DEPTH                3
#define PT_BLOCK_SIZE           0

/* VM_L2_PROTECTION_FAULT_STATUS.PERMISSION_FAULTS */
#define PERM_VALID              1
#define PERM_READ               2
#define PERM_WRITE              4
/* VM_L2_PROTECTION_FAULT_STATUS.CID of the compute front end */
#define CID_CPC                 5
#define FAULT_CNTL__CLEAR       0x00000001u
#define FAULT_CNTL__UPDATE      0x00000002u     /* later faults replace the latch */

static uint32_t *vm_reg(VKFDEngine *e, unsigned hub, uint32_t dw)
{
    return &e->regs[dw + (hub == VKFD_HUB_MM ? MMHUB_VM_DELTA : 0)];
}

static uint32_t mc_reg(const VKFDEngine *e, unsigned hub, uint32_t dw)
{
    return e->regs[dw + (hub == VKFD_HUB_MM ? MMHUB_MC_DELTA : 0)];
}

/* LO/HI pair of a context. */
static uint64_t ctx_pair(VKFDEngine *e, unsigned hub, uint32_t lo_dw,
                         uint32_t vmid)
{
    const uint32_t *r = vm_reg(e, hub, lo_dw + 2 * vmid);

    return vkfd_pair(r[0], r[1]);
}

/* Framebuffer aperture of VMID 0; both registers 0 means not programmed. */
static bool fb_lookup(const VKFDEngine *e, unsigned hub, uint64_t va,
                      uint64_t *pa)
{
    uint64_t base = mc_reg(e, hub, mmMC_VM_FB_LOCATION_BASE);
    uint64_t top = mc_reg(e, hub, mmMC_VM_FB_LOCATION_TOP);

    if ((!base && !top) || va >> 24 < base || va >> 24 > top) {
        return false;
    }
    *pa = va - (base << 24);
    return true;
}

/* Entry of a table at pa; pa keeps VKFD_PA_SYS. */
static bool read_entry(VKFDEngine *e, uint64_t table, uint64_t index,
                       uint64_t *entry)
{
    uint64_t v;

    if (!vkfd_pa_read(e, table + index * PTE_SIZE, &v, sizeof(v))) {
        return false;
    }
    *entry = vkfd_le64(v);
    return true;
}

static uint64_t entry_pa(uint64_t entry, uint64_t mask)
{
    return (entry & mask) | (entry & AMDGPU_PTE_SYSTEM ? VKFD_PA_SYS : 0);
}

/* A leaf that maps 1 << shift bytes: the 4 KiB page of va in it. */
static VKFDFault leaf(uint64_t pte, uint64_t va, unsigned shift,
                      const VKFDInjectSpec *corrupt, VKFDTlbEntry *t)
{
    uint64_t size_mask = (1ull << shift) - 1;

    if (corrupt) {
        pte = vkfd_inject_value(corrupt, pte);
    }
    *t = (VKFDTlbEntry) { 0 };
    if (!(pte & AMDGPU_PTE_VALID)) {
        t->prt = 1;
        return pte & AMDGPU_PTE_PRT ? VKFD_FAULT_NONE : VKFD_FAULT_PTE;
    }
    t->pa = (entry_pa(pte, AMDGPU_PTE_ADDR_MASK) & ~size_mask) |
            (va & size_mask & ~(uint64_t)PAGE_MASK);
    t->readable = !!(pte & AMDGPU_PTE_READABLE);
    t->writeable = !!(pte & AMDGPU_PTE_WRITEABLE);
    return VKFD_FAULT_NONE;
}

/* CONTEXT0: one flat table. */
static VKFDFault walk_flat(VKFDEngine *e, unsigned hub, uint64_t va,
                           uint64_t index, uint64_t base, VKFDTlbEntry *t)
{
    uint32_t cntl = *vm_reg(e, hub, mmVM_CONTEXT0_CNTL);
    uint64_t pte;

    if (VKFD_GET(cntl, VM_CONTEXT0_CNTL__PAGE_TABLE_DEPTH)) {
        return VKFD_FAULT_FORMAT;
    }
    if (!read_entry(e, entry_pa(base, AMDGPU_PDE_ADDR_MASK), index, &pte)) {
        return VKFD_FAULT_DMA;
    }
    return leaf(pte, va, AMDGPU_GPU_PAGE_SHIFT, NULL, t);
}

static VKFDFault walk_levels(VKFDEngine *e, unsigned hub, uint32_t vmid,
                             uint64_t va, uint64_t pde,
                             const VKFDInjectSpec *corrupt, VKFDTlbEntry *t)
{
    uint32_t cntl = *vm_reg(e, hub, mmVM_CONTEXT0_CNTL + vmid);
    unsigned level;

    if (VKFD_GET(cntl, VM_CONTEXT0_CNTL__PAGE_TABLE_DEPTH) != PT_DEPTH ||
        VKFD_GET(cntl, VM_CONTEXT0_CNTL__PAGE_TABLE_BLOCK_SIZE) != PT_BLOCK_SIZE) {
        return VKFD_FAULT_FORMAT;
    }
    for (level = 0; level < VKFD_PT_LEVELS; level++) {
        unsigned shift = VKFD_PT_SHIFT(level);
        uint64_t index = (va >> shift) & (VKFD_PT_ENTRIES - 1);

        if (!read_entry(e, entry_pa(pde, AMDGPU_PDE_ADDR_MASK), index, &pde)) {
            return VKFD_FAULT_DMA;
        }
        if (level == VKFD_PT_LEVELS - 1) {
            break;
        }
        if (pde & AMDGPU_PDE_PTE) {
            /* PDB1 and PDB0 may map 1 GiB and 2 MiB; PDB2 maps nothing. */
            return level ? leaf(pde, va, shift, corrupt, t) : VKFD_FAULT_FORMAT;
        }
        if (!(pde & AMDGPU_PTE_VALID)) {
            return VKFD_FAULT_PDE;
        }
    }
    return leaf(pde, va, AMDGPU_GPU_PAGE_SHIFT, corrupt, t);
}

static VKFDFault walk(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                      VKFDTlbEntry *t)
{
    uint64_t page = va >> AMDGPU_GPU_PAGE_SHIFT;
    uint64_t start = ctx_pair(e, hub, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32,
                              vmid);
    uint64_t end = ctx_pair(e, hub, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32,
                            vmid);
    uint64_t base = ctx_pair(e, hub, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
                             vmid);
    const VKFDInjectSpec *corrupt = NULL;

    if (vmid && vkfd_inject_on(e, VKFD_INJECT_AT_PAGE_WALK) &&
        !vkfd_inject_walk(e, &corrupt)) {
        return VKFD_FAULT_PTE;
    }
    if (page < start || page > end) {
        return VKFD_FAULT_RANGE;
    }
    if (!(base & AMDGPU_PTE_VALID)) {
        return VKFD_FAULT_PDE;
    }
    return vmid ? walk_levels(e, hub, vmid, va, base, corrupt, t)
                : walk_flat(e, hub, va, page - start, base, t);
}

VKFDFault vkfd_vm_translate(VKFDEngine *e, unsigned hub, uint32_t vmid,
                            uint64_t va, bool write, uint64_t *pa, bool *prt)
{
    uint64_t high = va >> (VA_BITS - 1), tag;
    VKFDTlbEntry *slot, t;
    VKFDFault f;

    *prt = false;
    if (!vmid && fb_lookup(e, hub, va, pa)) {
        return *pa < e->vram_size ? VKFD_FAULT_NONE : VKFD_FAULT_RANGE;
    }
    if (high && high != (1ull << (64 - VA_BITS + 1)) - 1) {
        return VKFD_FAULT_RANGE;        /* not sign extended from bit 47 */
    }
    va &= (1ull << VA_BITS) - 1;
    if (!(*vm_reg(e, hub, mmVM_CONTEXT0_CNTL + vmid) &
          VM_CONTEXT0_CNTL__ENABLE_CONTEXT_MASK)) {
        return VKFD_FAULT_RANGE;
    }

    tag = (va >> AMDGPU_GPU_PAGE_SHIFT) + 1;
    slot = &e->tlb[hub][vmid][(tag - 1) % VKFD_TLB_SETS];
    if (slot->vpn_tag == tag) {
        t = *slot;
    } else {
        f = walk(e, hub, vmid, va, &t);
        if (f != VKFD_FAULT_NONE) {
            return f;
        }
        t.vpn_tag = tag;
        *slot = t;
    }

    if (t.prt) {
        *prt = true;
        return VKFD_FAULT_NONE;
    }
    if (write ? !t.writeable : !t.readable) {
        return write ? VKFD_FAULT_WRITE : VKFD_FAULT_READ;
    }
    *pa = vkfd_pa_canon(e, t.pa | (va & PAGE_MASK));
    return VKFD_FAULT_NONE;
}

/* One access page by page. Exactly one of rbuf and wbuf is set. */
static VKFDFault vm_access(VKFDEngine *e, unsigned hub, uint32_t vmid,
                           uint64_t va, uint8_t *rbuf, const uint8_t *wbuf,
                           uint32_t len, uint64_t *fault_va)
{
    while (len) {
        uint32_t n = AMDGPU_GPU_PAGE_SIZE - (va & PAGE_MASK);
        uint64_t pa;
        bool prt, ok = true;
        VKFDFault f;

        if (n > len) {
            n = len;
        }
        f = vkfd_vm_translate(e, hub, vmid, va, wbuf != NULL, &pa, &prt);
        if (f == VKFD_FAULT_NONE) {
            if (!prt) {
                ok = wbuf ? vkfd_pa_write(e, pa, wbuf, n)
                          : vkfd_pa_read(e, pa, rbuf, n);
            } else if (rbuf) {
                memset(rbuf, 0, n);
            }
            f = ok ? VKFD_FAULT_NONE : VKFD_FAULT_DMA;
        }
        if (f != VKFD_FAULT_NONE) {
            *fault_va = va;
            return f;
        }
        va += n;
        len -= n;
        if (wbuf) {
            wbuf += n;
        } else {
            rbuf += n;
        }
    }
    return VKFD_FAULT_NONE;
}

VKFDFault vkfd_vm_read(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                       void *buf, uint32_t len, uint64_t *fault_va)
{
    return vm_access(e, hub, vmid, va, buf, NULL, len, fault_va);
}

VKFDFault vkfd_vm_write(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                        const void *buf, uint32_t len, uint64_t *fault_va)
{
    return vm_access(e, hub, vmid, va, NULL, buf, len, fault_va);
}

/* How a kind of fault shows: status fields, ring_id bits, its interrupt enable. */
static const struct {
    uint8_t walker_error, mapping_error, perm, ring;
    uint32_t enable;
} fault_info[] = {
    [VKFD_FAULT_RANGE] = { 1, 0, PERM_VALID, VKFD_IH_FAULT_RING__PROT_VALID,
        VM_CONTEXT0_CNTL__RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
    [VKFD_FAULT_PDE] = { 2, 0, PERM_VALID, VKFD_IH_FAULT_RING__PROT_VALID,
        VM_CONTEXT0_CNTL__PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
    [VKFD_FAULT_PTE] = { 0, 0, PERM_VALID, VKFD_IH_FAULT_RING__PROT_VALID,
        VM_CONTEXT0_CNTL__VALID_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
    [VKFD_FAULT_READ] = { 0, 0, 0, VKFD_IH_FAULT_RING__PROT_READ,
        VM_CONTEXT0_CNTL__READ_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
    [VKFD_FAULT_WRITE] = { 0, 0, 0, VKFD_IH_FAULT_RING__PROT_WRITE,
        VM_CONTEXT0_CNTL__WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
    [VKFD_FAULT_FORMAT] = { 3, 0, PERM_VALID, VKFD_IH_FAULT_RING__PROT_VALID,
        VM_CONTEXT0_CNTL__PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
    [VKFD_FAULT_DMA] = { 0, 1, PERM_VALID, VKFD_IH_FAULT_RING__PROT_VALID,
        VM_CONTEXT0_CNTL__VALID_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK },
};

static uint32_t fault_status(uint32_t cid, uint32_t vmid, bool write,
                             VKFDFault kind)
{
    uint32_t v = 0;

    v = VKFD_PUT(v, VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR,
                 fault_info[kind].walker_error);
    v = VKFD_PUT(v, VM_L2_PROTECTION_FAULT_STATUS__PERMISSION_FAULTS,
                 fault_info[kind].perm | (write ? PERM_WRITE : PERM_READ));
    v = VKFD_PUT(v, VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR,
                 fault_info[kind].mapping_error);
    v = VKFD_PUT(v, VM_L2_PROTECTION_FAULT_STATUS__CID, cid);
    v = VKFD_PUT(v, VM_L2_PROTECTION_FAULT_STATUS__RW, write);
    return VKFD_PUT(v, VM_L2_PROTECTION_FAULT_STATUS__VMID, vmid);
}

void vkfd_vm_fault_of(VKFDEngine *e, unsigned hub, uint32_t cid, uint32_t vmid,
                      uint64_t va, bool write, VKFDFault kind)
{
    uint32_t *status = vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_STATUS);
    uint32_t fault_cntl = *vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_CNTL);
    uint32_t new_status = fault_status(cid, vmid, write, kind);
    uint64_t page = (va & ((1ull << VA_BITS) - 1)) >> AMDGPU_GPU_PAGE_SHIFT;
    VKFDIv iv = {
        .client = hub == VKFD_HUB_MM ? SOC15_IH_CLIENTID_VMC
                                     : SOC15_IH_CLIENTID_UTCL2,
        .source = VMC_1_0__SRCID__VM_FAULT,
        .ring_id = fault_info[kind].ring,
        .vmid = vmid,
        .mm_hub = hub == VKFD_HUB_MM,
        .ctx = { page, (page >> 32 & VKFD_IH_FAULT_CTX1__VA_47_44_MASK) |
                       (write ? VKFD_IH_FAULT_CTX1__WRITE_MASK : 0) },
    };

    e->counters[VKFD_CNT_VM_FAULT]++;
    vkfd_trace(e, VKFD_TRACE_VM_FAULT, hub, vmid, va, write, new_status, 0);
    if (*status && !(fault_cntl & FAULT_CNTL__UPDATE)) {
        *status |= VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS_MASK;
    } else {
        *status = new_status;
        *vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_ADDR_LO32) = page;
        *vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_ADDR_HI32) = page >> 32;
    }
    if (*vm_reg(e, hub, mmVM_CONTEXT0_CNTL + vmid) & fault_info[kind].enable) {
        vkfd_ih_push(e, &iv);
    }
}

void vkfd_vm_fault(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                   bool write, VKFDFault kind)
{
    vkfd_vm_fault_of(e, hub, CID_CPC, vmid, va, write, kind);
}

static bool q_result(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                     bool write, VKFDFault f)
{
    if (f == VKFD_FAULT_NONE) {
        return true;
    }
    vkfd_hqd_stop(e, hqd, VKFD_STOP_VM_FAULT);
    vkfd_vm_fault(e, VKFD_HUB_GFX, vmid, va, write, f);
    return false;
}

bool vkfd_q_read(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                 void *buf, uint32_t len)
{
    uint64_t fault_va = va;
    VKFDFault f = vkfd_vm_read(e, VKFD_HUB_GFX, vmid, va, buf, len, &fault_va);

    return q_result(e, hqd, vmid, fault_va, false, f);
}

bool vkfd_q_write(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                  const void *buf, uint32_t len)
{
    uint64_t fault_va = va;
    VKFDFault f = vkfd_vm_write(e, VKFD_HUB_GFX, vmid, va, buf, len, &fault_va);

    return q_result(e, hqd, vmid, fault_va, true, f);
}

VKFDRmw vkfd_vm_atomic(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                       uint32_t len, VKFDAtomic *a, VKFDFault *f, bool *write)
{
    VKFDRmw how;
    uint64_t pa;
    bool prt;

    /* It reads and writes; an aligned word lies in one page. */
    *write = false;
    *f = vkfd_vm_translate(e, hub, vmid, va, false, &pa, &prt);
    if (*f == VKFD_FAULT_NONE) {
        *write = true;
        *f = vkfd_vm_translate(e, hub, vmid, va, true, &pa, &prt);
    }
    if (*f != VKFD_FAULT_NONE) {
        return VKFD_RMW_REFUSED;
    }
    if (prt) {
        a->old = 0;
        return VKFD_RMW_DONE;
    }
    how = vkfd_pa_atomic(e, pa, len, a);
    *f = how == VKFD_RMW_REFUSED ? VKFD_FAULT_DMA : VKFD_FAULT_NONE;
    return how;
}

VKFDRmw vkfd_q_atomic(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                      uint32_t len, VKFDAtomic *a)
{
    VKFDFault f;
    bool write;
    VKFDRmw how = vkfd_vm_atomic(e, VKFD_HUB_GFX, vmid, va, len, a, &f, &write);

    q_result(e, hqd, vmid, va, write, f);
    return how;
}

static void clear_fault(VKFDEngine *e, unsigned hub)
{
    *vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_STATUS) = 0;
    *vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_ADDR_LO32) = 0;
    *vm_reg(e, hub, mmVM_L2_PROTECTION_FAULT_ADDR_HI32) = 0;
}

void vkfd_vm_flush(VKFDEngine *e, uint32_t vmids, bool mm)
{
    unsigned i;

    for (i = 0; i < VKFD_NUM_VMID; i++) {
        if (vmids & 1u << i) {
            memset(e->tlb[VKFD_HUB_GFX][i], 0, sizeof(e->tlb[0][i]));
            if (mm) {
                memset(e->tlb[VKFD_HUB_MM][i], 0, sizeof(e->tlb[0][i]));
            }
        }
    }
}

/* Complete at once. The address range is not looked at: a VMID goes as a whole. */
static void invalidate(VKFDEngine *e, unsigned hub, unsigned eng, uint32_t req)
{
    uint32_t vmids = VKFD_GET(req, VM_INVALIDATE_ENG0_REQ__PER_VMID_INVALIDATE_REQ);
    unsigned i;

    vkfd_inject_invalidate(e, hub, vmids);
    vkfd_sched_invalidated(e, vmids);
    for (i = 0; i < VKFD_NUM_VMID; i++) {
        if (vmids & 1u << i) {
            memset(e->tlb[hub][i], 0, sizeof(e->tlb[hub][i]));
        }
    }
    if (req & VM_INVALIDATE_ENG0_REQ__CLEAR_PROTECTION_FAULT_STATUS_ADDR_MASK) {
        clear_fault(e, hub);
    }
    *vm_reg(e, hub, mmVM_INVALIDATE_ENG0_ACK + eng) = vmids;
    e->counters[VKFD_CNT_TLB_FLUSH]++;
    vkfd_trace(e, VKFD_TRACE_VM_INVALIDATE, hub, eng, req, 0, 0, 0);
}

static bool is_sem(uint32_t gfx_dw)
{
    return gfx_dw >= mmVM_INVALIDATE_ENG0_SEM && gfx_dw <= mmVM_INVALIDATE_ENG17_SEM;
}

uint32_t vkfd_hub_read(VKFDEngine *e, uint32_t dw)
{
    uint32_t gfx_dw = dw >= MMHUB_FIRST ? dw - MMHUB_VM_DELTA : dw;

    if (is_sem(gfx_dw)) {
        /* Reading takes a free semaphore: 1 once, then 0 until it is released. */
        uint32_t got = !e->regs[dw];

        e->regs[dw] = 1;
        return got;
    }
    return e->regs[dw];
}

void vkfd_hub_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    unsigned hub = dw >= MMHUB_FIRST ? VKFD_HUB_MM : VKFD_HUB_GFX;
    uint32_t gfx_dw = hub == VKFD_HUB_MM ? dw - MMHUB_VM_DELTA : dw;

    if (dw == mmATC_VMID_PASID_MAPPING_UPDATE_STATUS) {
        e->regs[dw] &= ~val;            /* write 1 to clear */
    } else if (dw >= mmATC_VMID0_PASID_MAPPING &&
               dw < mmATC_VMID0_PASID_MAPPING + 32) {
        e->regs[dw] = val & (ATC_VMID0_PASID_MAPPING__PASID_MASK |
                             ATC_VMID0_PASID_MAPPING__VALID_MASK);
        e->regs[mmATC_VMID_PASID_MAPPING_UPDATE_STATUS] |=
            1u << (dw - mmATC_VMID0_PASID_MAPPING);
    } else if (gfx_dw == mmVM_L2_PROTECTION_FAULT_CNTL) {
        e->regs[dw] = val & ~FAULT_CNTL__CLEAR;
        if (val & FAULT_CNTL__CLEAR) {
            clear_fault(e, hub);
        }
    } else if (is_sem(gfx_dw)) {
        if (!(val & 1)) {
            e->regs[dw] = 0;
        }
    } else if (gfx_dw >= mmVM_INVALIDATE_ENG0_REQ &&
               gfx_dw <= mmVM_INVALIDATE_ENG17_REQ) {
        e->regs[dw] = val;
        invalidate(e, hub, gfx_dw - mmVM_INVALIDATE_ENG0_REQ, val);
    }
}
