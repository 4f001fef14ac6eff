/* SPDX-License-Identifier: MIT */
/*
 * The machine that inputs find: built once by the harness of the unit tests, then put
 * back page by page. VRAM lies between guard pages; where all queues are a user's, what
 * their VM does not map has no access rights, so that a stray access is a crash.
 */
#include "fuzz.h"

#include <stdarg.h>
#include <sys/mman.h>

#include "aql-common.h"

#define PAGE            4096u
#define VRAM_PAGES      (VRAM_SIZE / PAGE)
#define SYS_PAGES       (SYS_SIZE / PAGE)
#define DB_VA           0x310000000ull
#define ALIAS_VA        0x320000000ull
#define ODD_VA          0x330000000ull
#define SYS_LEN         0x10000u
#define DB_PAGE         (DOORBELL_DW(0) * 4 & ~(PAGE - 1))
#define MAX_WRITES      256
/* The longest copy, of which a piece of a page and a packet are shorter. */
#define MAX_DMA         (VKFD_SDMA_SLICE_UNITS * VKFD_SDMA_DIRECT_PER_UNIT)

Fuzz fz;

/* What TEST_VMID maps at VA0. */
static const struct {
    uint32_t off, len;
} windows[] = {
    { RING(0), 0x8000 }, { RPTR_ADDR(0), PAGE }, { WPTR_ADDR(0), PAGE },
    { AQ(0), PAGE }, { FUZZ_SIG, PAGE }, { MBOX(0), PAGE },
    { IB_ADDR(0), 0x2000 }, { IB_ADDR(1), 0x2000 }, { IB_ADDR(2), 0x2000 },
    { IB_ADDR(3), 0x2000 }, { FUZZ_OUT, 0x10000 },
};

static Bus clean_bus;
static VKFDEngine *clean, *fresh, *other;
static uint8_t *clean_vram, *clean_sys;
static uint8_t vram_dirty[VRAM_PAGES], sys_dirty[SYS_PAGES];
static bool sys_user[SYS_PAGES], sys_device[SYS_PAGES];
static VKFDBusOps under;
static struct { uint32_t off, val; } writes[MAX_WRITES];
static unsigned nwrites;
static bool recording;

void fuzz_fail(const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "vkfd-fuzz: %s: ", fz.t->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    abort();
}

/* ---- the bus: counts, and remembers what was written ---- */

static void event(uint64_t bytes)
{
    fz.bytes += bytes;
    if (++fz.events > FUZZ_CALL_EVENTS || fz.bytes > FUZZ_CALL_BYTES) {
        fuzz_fail("the engine does too much before it returns: %llu events, %llu bytes",
                  (unsigned long long)fz.events, (unsigned long long)fz.bytes);
    }
}

void fuzz_touch_vram(uint64_t off, uint64_t len)
{
    uint64_t i;

    for (i = off / PAGE; len && i <= (off + len - 1) / PAGE; i++) {
        vram_dirty[i] = 1;
    }
}

void fuzz_touch_sys(uint64_t off, uint64_t len)
{
    uint64_t i;

    for (i = off / PAGE; len && i <= (off + len - 1) / PAGE; i++) {
        sys_dirty[i] = 1;
    }
}

/* The contract of engine.h, and who may go where. */
static void check_dma(uint64_t addr, uint32_t len, bool write)
{
    uint64_t i, off = addr - SYS_BASE;

    FUZZ_CHECK(len && len <= MAX_DMA);
    if (!fz.t->confined || off >= SYS_SIZE || len > SYS_SIZE - off) {
        return;
    }
    for (i = off / PAGE; i <= (off + len - 1) / PAGE; i++) {
        if (!sys_user[i] && !(write && sys_device[i])) {
            fuzz_fail("%s of system memory at %llx that nobody mapped",
                      write ? "write" : "read", (unsigned long long)addr);
        }
    }
}

static bool op_dma_read(void *o, uint64_t addr, void *buf, uint32_t len)
{
    event(len);
    check_dma(addr, len, false);
    return under.dma_read(o, addr, buf, len);
}

static bool op_dma_write(void *o, uint64_t addr, const void *buf, uint32_t len)
{
    event(len);
    check_dma(addr, len, true);
    if (!under.dma_write(o, addr, buf, len)) {
        return false;
    }
    fuzz_touch_sys(addr - SYS_BASE, len);
    return true;
}

static const void *op_dma_page(void *o, uint64_t addr)
{
    event(0);
    check_dma(addr, PAGE, false);
    return under.dma_page(o, addr);
}

static void *op_dma_map(void *o, uint64_t addr, uint32_t *len, bool write)
{
    event(*len);
    check_dma(addr, *len, write);
    return under.dma_map(o, addr, len, write);
}

static void op_dma_unmap(void *o, void *host, uint32_t len, bool write, uint32_t written)
{
    fuzz_touch_sys((uint8_t *)host - fz.b->sys, written);
    under.dma_unmap(o, host, len, write, written);
}

static VKFDRmw op_dma_atomic(void *o, uint64_t addr, uint32_t len, VKFDAtomic *a)
{
    VKFDRmw how;

    event(len);
    FUZZ_CHECK((len == 4 || len == 8) && !(addr & (len - 1)));
    check_dma(addr, len, true);
    how = under.dma_atomic(o, addr, len, a);
    if (how == VKFD_RMW_DONE) {
        fuzz_touch_sys(addr - SYS_BASE, len);
    }
    return how;
}

static void op_vram_dirty(void *o, uint64_t off, uint64_t len)
{
    event(len);
    under.vram_dirty(o, off, len);
    fuzz_touch_vram(off, len);
}

static void op_raise_irq(void *o)
{
    event(0);
    under.raise_irq(o);
}

static void op_trace(void *o, VKFDTraceId id, const uint64_t *args)
{
    event(0);
    under.trace(o, id, args);
    if (id == VKFD_TRACE_CP_RUN) {
        fz.units += args[1];
    }
    /* A packet of a user reached a register: one that is free to users? */
    if (fz.t->confined && id == VKFD_TRACE_REG_WRITE && args[2]) {
        uint32_t dw = args[0] / 4;

        FUZZ_CHECK((dw >= mmCOMPUTE_DISPATCH_INITIATOR && dw <= mmCOMPUTE_NOWHERE) ||
                   vkfd_reg_user_ok(dw, true));
    }
    if (recording && id == VKFD_TRACE_REG_WRITE) {
        FUZZ_CHECK(nwrites < MAX_WRITES);
        writes[nwrites].off = args[0];
        writes[nwrites++].val = args[1];
    }
}

/* ---- addresses ---- */

/* Pages of the pool of odd ones, in TEST_VMID and in VMID 0 (0: none). */
static const struct {
    uint64_t user, kernel;
} odd[] = {
    { VA0 + AQ(0), VKFD_FB_LOCATION_BASE + AQ(0) },
    { VA0 + MBOX(0), VKFD_FB_LOCATION_BASE + MBOX(0) },
    { ODD_VA + 4 * PAGE, FUZZ_GART_VA + 0x22000 },              /* behind VRAM's end */
    { ODD_VA, VKFD_FB_LOCATION_BASE + VM_ROOT },                /* read only */
    { ODD_VA + PAGE, VKFD_FB_LOCATION_BASE + MQD_ADDR(0) },     /* write only */
    { ODD_VA + 2 * PAGE, FUZZ_GART_VA + 0x20000 },              /* PRT */
    { ODD_VA + 3 * PAGE, FUZZ_GART_VA + 0x21000 },              /* no page */
    { VA0 + VM_ROOT, VKFD_FB_LOCATION_BASE + VRAM_SIZE },       /* not the user's */
};

uint64_t fuzz_va(bool kernel, uint32_t pool, uint32_t off)
{
    uint64_t fb = kernel ? VKFD_FB_LOCATION_BASE : VA0;

    off &= 0xffff;
    switch (pool % FUZZ_POOLS) {
    case 0:
        return fb + FUZZ_OUT + off;
    case 1:
        return fb + FUZZ_SIG + off % PAGE;
    case 2:
        return fb + IB_ADDR(off >> 14) + (off & 0x1fff);
    case 3:
        return fb + RING(0) + (off & 0x7fff);
    case 4:
        return (kernel ? FUZZ_GART_VA : SYS_VA + FUZZ_SYS) + off;
    case 5:
        return (kernel ? FUZZ_GART_VA + 0x10000 : DB_VA) + off % PAGE;
    case 6:
        return (kernel ? odd[off >> 13].kernel : odd[off >> 13].user) + off % PAGE;
    default:
        return (kernel ? FUZZ_GART_VA + 0x11000 : ALIAS_VA) + off % PAGE;
    }
}

bool fuzz_pool_of(bool kernel, uint64_t va, uint32_t *pool, uint32_t *off)
{
    for (*pool = 0; *pool < FUZZ_POOLS; ++*pool) {
        uint32_t page;

        for (page = 0; page < 0x10000; page += PAGE) {
            *off = page + va % PAGE;
            if (fuzz_va(kernel, *pool, *off) == va) {
                return true;
            }
        }
    }
    return false;
}

void fuzz_store(uint32_t pool, uint32_t off, const uint32_t *dw, unsigned n)
{
    uint32_t i;

    for (i = 0; i < n; i++, off += 4) {
        uint64_t at = fuzz_va(true, pool, off & ~3u);

        if (at - VKFD_FB_LOCATION_BASE < VRAM_SIZE) {
            at -= VKFD_FB_LOCATION_BASE;
            /* A user's CPU has no way to page tables and MQDs. */
            if (fz.t->confined && (at < RING(0) || at / PAGE == MQD_ADDR(0) / PAGE)) {
                continue;
            }
            fuzz_touch_vram(at, 4);
            set_vram32(fz.b, at, dw[i]);
        } else if (at - FUZZ_GART_VA < SYS_LEN) {
            at -= FUZZ_GART_VA;
            fuzz_touch_sys(FUZZ_SYS + at, 4);
            set_sys32(fz.b, FUZZ_SYS + at, dw[i]);
        }
    }
}

/* ---- set-up ---- */

static bool mapped(uint64_t off)
{
    unsigned i;

    for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        if (off >= windows[i].off && off - windows[i].off < windows[i].len) {
            return true;
        }
    }
    return false;
}

static void map_user(void)
{
    Bus *b = fz.b;
    uint64_t off;

    vm_setup(b);
    for (off = 0; off < VRAM_SIZE && fz.t->confined; off += PAGE) {
        if (!mapped(off)) {
            vm_map(b, VA0 + off, 0);
        }
    }
    for (off = 0; off < SYS_SIZE; off += PAGE) {
        sys_user[off / PAGE] = off >= FUZZ_SYS && off - FUZZ_SYS < SYS_LEN;
        if (!sys_user[off / PAGE]) {
            vm_map(b, SYS_VA + off, 0);
        }
    }
    vm_map(b, DB_VA, (BAR2_ADDR + DB_PAGE) | PTE_RW | AMDGPU_PTE_SYSTEM);
    vm_map(b, ALIAS_VA, (BAR0_ADDR + FUZZ_OUT) | PTE_RW | AMDGPU_PTE_SYSTEM);
    vm_map(b, ODD_VA, FUZZ_OUT | AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE);
    vm_map(b, ODD_VA + PAGE, FUZZ_OUT | AMDGPU_PTE_VALID | AMDGPU_PTE_WRITEABLE);
    vm_map(b, ODD_VA + 2 * PAGE, AMDGPU_PTE_PRT);
    vm_map(b, ODD_VA + 4 * PAGE, VRAM_SIZE | PTE_RW);
    vm_flush(b, 0xffff);
}

/* VMID 0 reaches VRAM by the framebuffer, the rest by a flat table. */
static void map_kernel(void)
{
    Bus *b = fz.b;
    unsigned i;

    for (i = 0; i < SYS_LEN / PAGE; i++) {
        set_vram64(b, FUZZ_GART + i * 8,
                   (SYS_BASE + FUZZ_SYS + i * PAGE) | PTE_RW | AMDGPU_PTE_SYSTEM);
    }
    set_vram64(b, FUZZ_GART + i++ * 8, (BAR2_ADDR + DB_PAGE) | PTE_RW | AMDGPU_PTE_SYSTEM);
    set_vram64(b, FUZZ_GART + i * 8, (BAR0_ADDR + FUZZ_OUT) | PTE_RW | AMDGPU_PTE_SYSTEM);
    set_vram64(b, FUZZ_GART + 0x20 * 8, AMDGPU_PTE_PRT);
    set_vram64(b, FUZZ_GART + 0x22 * 8, VRAM_SIZE | PTE_RW);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32, FUZZ_GART | AMDGPU_PTE_VALID);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32, FUZZ_GART_VA >> 12);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32, (FUZZ_GART_VA >> 12) + 0x3f);
    wr(b, mmVM_CONTEXT0_CNTL, 1);
}

static void load_kernel(unsigned q)
{
    Bus *b = fz.b;
    uint64_t fb = VKFD_FB_LOCATION_BASE;

    set_vram64(b, WPTR_ADDR(q), queue_wptr(q));
    select_hqd(b, q);
    wr(b, mmCP_MQD_BASE_ADDR, fb + MQD_ADDR(q));
    wr(b, mmCP_MQD_BASE_ADDR_HI, (fb + MQD_ADDR(q)) >> 32);
    wr(b, mmCP_HQD_VMID, 0);
    wr(b, mmCP_HQD_PQ_BASE, (fb + RING(q)) >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, (fb + RING(q)) >> 40);
    wr(b, mmCP_HQD_PQ_RPTR, queue_wptr(q) & (RING_DW - 1));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, fb + RPTR_ADDR(q));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, (fb + RPTR_ADDR(q)) >> 32);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, fb + WPTR_ADDR(q));
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, (fb + WPTR_ADDR(q)) >> 32);
    wr(b, mmCP_HQD_AQL_CONTROL, 0);
    wr(b, mmCP_HQD_PQ_CONTROL, 9);
    wr(b, mmCP_HQD_IB_CONTROL, 0x00300000);
    wr(b, mmCP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_DW(q) << 2 |
       CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
    wr(b, mmCP_HQD_ACTIVE, 1);
}

void fuzz_load(unsigned q)
{
    fuzz_touch_vram(WPTR_ADDR(q), 8);
    if (fz.t->load) {
        fz.t->load(q);
    } else if (fz.t->aql >> q & 1) {
        fuzz_touch_vram(AQ(q), 0x400);
        aql_load(fz.b, q);
    } else if (fz.t->kernel >> q & 1) {
        load_kernel(q);
    } else {
        queue_load(fz.b, q);
    }
}

void fuzz_setup_regs(void)
{
    unsigned i;

    for (i = 0; i < nwrites; i++) {
        vkfd_mmio_write(fz.b->e, writes[i].off, writes[i].val);
    }
}

/* Registers whose read is not counted as of something that is not modelled. */
static void find_regs(void)
{
    VKFDEngine *e = malloc(sizeof(*e));
    uint32_t i;

    memcpy(e, fz.b->e, sizeof(*e));
    for (i = 0; i < VKFD_NUM_REGS; i++) {
        uint64_t was = e->counters[VKFD_CNT_UNMODELLED_READ];

        e->unmod_count = 0;     /* it is searched */
        vkfd_mmio_read(e, i * 4);
        fz.events = 0;
        if (e->counters[VKFD_CNT_UNMODELLED_READ] == was) {
            fz.regs[fz.nregs++] = i;
        }
    }
    free(e);
    FUZZ_CHECK(fz.nregs > 100);
}

static uint8_t *guarded(size_t size)
{
    uint8_t *p = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);

    if (p == MAP_FAILED || mprotect(p + PAGE, size, PROT_READ | PROT_WRITE)) {
        fuzz_fail("no memory");
    }
    return p + PAGE;
}

/* Page tables can be read, by walks; what a user maps, and MQDs, is free. */
static void confine(void)
{
    uint64_t off;

    for (off = 0; off < VRAM_SIZE; off += PAGE) {
        bool tables = off >= VM_ROOT && off < FUZZ_GART;
        bool mqds = off >= MQD_ADDR(0) && off < MQD_ADDR(FUZZ_QUEUES);

        if (!mapped(off) && !mqds &&
            mprotect(fz.b->vram + off, PAGE, tables ? PROT_READ : PROT_NONE)) {
            fuzz_fail("mprotect failed");
        }
    }
}

const VKFDEngine *fuzz_fresh(void)
{
    return fresh;
}

VKFDEngine *fuzz_other_engine(void)
{
    return memcpy(other, fresh, sizeof(*other));
}

void fuzz_machine(void)
{
    Bus *b = bus_new();
    VKFDParams p = { .vram_size = VRAM_SIZE, .cus = 4 };
    VKFDBusOps ops;
    unsigned i;

    fz.b = b;
    free(b->vram);
    b->vram = guarded(VRAM_SIZE);
    b->e->vram = b->vram;
    under = b->e->ops;
    ops = under;
    ops.dma_read = op_dma_read;
    ops.dma_write = op_dma_write;
    ops.dma_map = op_dma_map;
    ops.dma_unmap = op_dma_unmap;
    ops.dma_atomic = op_dma_atomic;
    ops.dma_page = op_dma_page;
    ops.vram_dirty = op_vram_dirty;
    ops.raise_irq = op_raise_irq;
    ops.trace = op_trace;
    b->e->ops = ops;

    recording = true;
    wr(b, mmCP_MEC_CNTL, 0);
    for (i = 0; i < 8; i++) {
        wr(b, mmCP_ME1_PIPE0_INT_CNTL + i, 0x07800000);
    }
    map_user();
    if (!fz.t->confined) {
        map_kernel();
    }
    ih_setup(b, 10, 0);
    if (fz.t->setup_regs) {
        fz.t->setup_regs();
    }
    recording = false;
    for (i = IH_WPTR_OFF / PAGE; i <= IH_RING_OFF / PAGE; i++) {
        sys_device[i] = true;
    }
    find_regs();
    for (i = 0; i < FUZZ_QUEUES * RING_DW; i += AQL_PACKET_DW) {
        set_vram32(b, RING(i / RING_DW) + i % RING_DW * 4, AQL_PACKET_INVALID);
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        fuzz_load(i);
    }
    if (fz.t->setup) {
        fz.t->setup();
    }
    fuzz_run(8);

    fresh = malloc(sizeof(*fresh));
    other = malloc(sizeof(*other));
    p.vram = b->vram;
    FUZZ_CHECK(vkfd_engine_init(fresh, &p, &ops, &clean_bus));
    vkfd_engine_set_bars(fresh, true, BAR0_ADDR, VRAM_SIZE, BAR2_ADDR);
    fresh->opaque = b;
    clean = malloc(sizeof(*clean));
    memcpy(clean, b->e, sizeof(*clean));
    clean_vram = guarded(VRAM_SIZE);
    memcpy(clean_vram, b->vram, VRAM_SIZE);
    clean_sys = malloc(SYS_SIZE);
    memcpy(clean_sys, b->sys, SYS_SIZE);
    memcpy(&clean_bus, b, sizeof(*b));
    if (fz.t->confined) {
        confine();
    }
    memset(vram_dirty, 0, sizeof(vram_dirty));
    memset(sys_dirty, 0, sizeof(sys_dirty));
}

void fuzz_restore(void)
{
    unsigned i;

    for (i = 0; i < VRAM_PAGES; i++) {
        if (vram_dirty[i]) {
            memcpy(fz.b->vram + i * PAGE, clean_vram + i * PAGE, PAGE);
            vram_dirty[i] = 0;
        }
    }
    for (i = 0; i < SYS_PAGES; i++) {
        if (sys_dirty[i]) {
            memcpy(fz.b->sys + i * PAGE, clean_sys + i * PAGE, PAGE);
            sys_dirty[i] = 0;
        }
    }
    memcpy(fz.b->e, clean, sizeof(*clean));
    memcpy(fz.b, &clean_bus, offsetof(Bus, log));
    fz.b->nlog = 0;
    for (i = 0; i < FUZZ_QUEUES; i++) {
        queue_set_wptr(i, 0);
    }
    fz.dest = 0;
    memset(fz.ib_pos, 0, sizeof(fz.ib_pos));
    fz.work = 0;
}
