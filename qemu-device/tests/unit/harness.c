/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdarg.h>

#define MAX_RUNS        10000

static unsigned tap_count, tap_failed;

void tap_ok(bool ok, const char *file, int line, const char *what)
{
    printf("%sok %u - %s:%d %s\n", ok ? "" : "not ", ++tap_count, file, line,
           what);
    tap_failed += !ok;
}

void check_eq(uint64_t a, uint64_t b, const char *file, int line,
              const char *what)
{
    tap_ok(a == b, file, line, what);
    if (a != b) {
        printf("# 0x%llx != 0x%llx\n", (unsigned long long)a,
               (unsigned long long)b);
    }
}

int tap_done(void)
{
    printf("1..%u\n", tap_count);
    return tap_failed ? 1 : 0;
}

/* ---- bus ---- */

static bool sys_ok(uint64_t addr, uint32_t len)
{
    return addr >= SYS_BASE && addr - SYS_BASE <= SYS_SIZE &&
           len <= SYS_SIZE - (addr - SYS_BASE);
}

static bool op_dma_read(void *o, uint64_t addr, void *buf, uint32_t len)
{
    Bus *b = o;

    b->reads++;
    if (!sys_ok(addr, len)) {
        return false;
    }
    memcpy(buf, b->sys + (addr - SYS_BASE), len);
    return true;
}

static void log_event(Bus *b, EventKind kind, uint64_t addr, uint32_t len)
{
    if (b->nlog < LOG_MAX) {
        b->log[b->nlog++] = (Event) { kind, addr, len };
    }
}

static bool op_dma_write(void *o, uint64_t addr, const void *buf, uint32_t len)
{
    Bus *b = o;

    if (!sys_ok(addr, len)) {
        return false;
    }
    memcpy(b->sys + (addr - SYS_BASE), buf, len);
    log_event(b, EV_DMA_WRITE, addr, len);
    return true;
}

static void *op_dma_map(void *o, uint64_t addr, uint32_t *len, bool write)
{
    Bus *b = o;

    (void)write;
    if (!sys_ok(addr, 1)) {
        *len = 0;
        return NULL;
    }
    if (!sys_ok(addr, *len)) {
        *len = SYS_BASE + SYS_SIZE - addr;
    }
    if (b->map_max && *len > b->map_max) {
        *len = b->map_max;
    }
    b->mapped++;
    return b->sys + (addr - SYS_BASE);
}

static void op_dma_unmap(void *o, void *host, uint32_t len, bool write, uint32_t written)
{
    Bus *b = o;
    uint64_t off = (uint8_t *)host - b->sys;

    if (!b->mapped || off >= SYS_SIZE || len > SYS_SIZE - off ||
        written > (write ? len : 0)) {
        abort();
    }
    b->mapped--;
    if (written) {
        log_event(b, EV_DMA_WRITE, SYS_BASE + off, written);
    }
}

static VKFDRmw op_dma_atomic(void *o, uint64_t addr, uint32_t len, VKFDAtomic *a)
{
    Bus *b = o;

    if (!sys_ok(addr, len) || (addr & (len - 1))) {
        return VKFD_RMW_REFUSED;
    }
    if (b->atomic_busy && !(len == 8 && a->op == VKFD_ATOMIC_ADD)) {
        b->atomic_busy--;
        return VKFD_RMW_BUSY;
    }
    if (!vkfd_atomic_apply(b->sys + (addr - SYS_BASE), len, a)) {
        return VKFD_RMW_BUSY;
    }
    log_event(b, EV_DMA_WRITE, addr, len);
    return VKFD_RMW_DONE;
}

static const void *op_dma_page(void *o, uint64_t addr)
{
    Bus *b = o;

    b->looked_up++;
    return !b->no_pages && sys_ok(addr, 4096) ? b->sys + (addr - SYS_BASE) : NULL;
}

static void op_raise_irq(void *o)
{
    Bus *b = o;

    b->irqs++;
    log_event(b, EV_IRQ, 0, 0);
}

static uint64_t op_now_ns(void *o)
{
    return ((Bus *)o)->now;
}

static void op_set_timer(void *o, unsigned which, int64_t deadline)
{
    ((Bus *)o)->timer[which] = deadline;
}

static void op_schedule(void *o)
{
    ((Bus *)o)->scheduled = true;
}

static void op_vram_dirty(void *o, uint64_t off, uint64_t len)
{
    Bus *b = o;

    /* Dirty tracking of a range outside VRAM would be memory corruption. */
    if (off > VRAM_SIZE || len > VRAM_SIZE - off) {
        abort();
    }
    log_event(b, EV_DMA_WRITE, off, len);
}

static void op_trace(void *o, VKFDTraceId id, const uint64_t *args)
{
    (void)o;
    (void)args;
    if (id >= VKFD_TRACE_MAX) {
        abort();
    }
}

static void op_log(void *o, const char *msg)
{
    (void)msg;
    ((Bus *)o)->guest_errors++;
}

static void op_pause(void *o)
{
    ((Bus *)o)->pauses++;
}

static const VKFDBusOps ops = {
    op_dma_read, op_dma_write, op_dma_map, op_dma_unmap, op_dma_atomic, op_dma_page,
    op_raise_irq, op_now_ns, op_set_timer, op_schedule, op_vram_dirty, op_trace, op_log, op_pause,
};

Bus *bus_new(void)
{
    Bus *b = calloc(1, sizeof(*b));
    VKFDParams p = { .vram_size = VRAM_SIZE, .cus = 4 };

    b->e = calloc(1, sizeof(*b->e));
    b->vram = aligned_alloc(4096, VRAM_SIZE);
    memset(b->vram, 0, VRAM_SIZE);
    b->sys = calloc(1, SYS_SIZE);
    b->now = 1000000;
    p.vram = b->vram;
    if (!vkfd_engine_init(b->e, &p, &ops, b)) {
        abort();
    }
    vkfd_engine_set_bars(b->e, true, BAR0_ADDR, VRAM_SIZE, BAR2_ADDR);
    wr(b, mmCP_MEC_CNTL, 0);
    for (unsigned i = 0; i < 8; i++) {
        wr(b, mmCP_ME1_PIPE0_INT_CNTL + i, 0x07000000 | 0x00800000);
    }
    bus_run(b);
    memset(b->log, 0, sizeof(b->log));
    b->nlog = 0;
    for (unsigned i = 0; i < VKFD_NUM_HQD; i++) {
        queue_set_wptr(i, 0);
    }
    return b;
}

void bus_free(Bus *b)
{
    free(b->e);
    free(b->vram);
    free(b->sys);
    free(b);
}

void bus_run(Bus *b)
{
    unsigned n = 0;

    while (b->scheduled && n++ < MAX_RUNS) {
        b->scheduled = false;
        vkfd_engine_run(b->e);
    }
    if (b->scheduled) {
        CHECK(!"the engine comes to rest");
    }
}

/* The timer that expires first, or VKFD_NUM_TIMERS. */
static unsigned next_timer(const Bus *b)
{
    unsigned i, next = VKFD_NUM_TIMERS;

    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        if (b->timer[i] >= 0 && (next == VKFD_NUM_TIMERS ||
                                 b->timer[i] < b->timer[next])) {
            next = i;
        }
    }
    return next;
}

void bus_advance(Bus *b, uint64_t ns)
{
    uint64_t end = b->now + ns;
    unsigned t;

    bus_run(b);
    while ((t = next_timer(b)) != VKFD_NUM_TIMERS &&
           (uint64_t)b->timer[t] <= end) {
        if ((uint64_t)b->timer[t] > b->now) {
            b->now = b->timer[t];
        }
        b->timer[t] = -1;
        vkfd_engine_timer(b->e, t);
        bus_run(b);
    }
    b->now = end;
}

uint32_t rd(Bus *b, uint32_t dw)
{
    return vkfd_mmio_read(b->e, dw * 4);
}

void wr(Bus *b, uint32_t dw, uint32_t val)
{
    vkfd_mmio_write(b->e, dw * 4, val);
}

uint64_t counter(Bus *b, unsigned c)
{
    uint64_t lo;

    vkfd_ctrl_write(b->e, VKFD_CTRL_CNT_SELECT, c);
    lo = vkfd_ctrl_read(b->e, VKFD_CTRL_CNT_LO);
    return lo | (uint64_t)vkfd_ctrl_read(b->e, VKFD_CTRL_CNT_HI) << 32;
}

uint32_t vram32(Bus *b, uint64_t off)
{
    uint32_t v;

    memcpy(&v, b->vram + off, 4);
    return vkfd_le32(v);
}

uint64_t vram64(Bus *b, uint64_t off)
{
    return vram32(b, off) | (uint64_t)vram32(b, off + 4) << 32;
}

void set_vram32(Bus *b, uint64_t off, uint32_t v)
{
    v = vkfd_le32(v);
    memcpy(b->vram + off, &v, 4);
}

void set_vram64(Bus *b, uint64_t off, uint64_t v)
{
    set_vram32(b, off, v);
    set_vram32(b, off + 4, v >> 32);
}

uint32_t sys32(Bus *b, uint64_t off)
{
    uint32_t v;

    memcpy(&v, b->sys + off, 4);
    return vkfd_le32(v);
}

void set_sys32(Bus *b, uint64_t off, uint32_t v)
{
    v = vkfd_le32(v);
    memcpy(b->sys + off, &v, 4);
}

uint32_t prng(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s >> 16;
}

/* ---- GPUVM ---- */

static uint64_t next_table;

void vm_map(Bus *b, uint64_t va, uint64_t pte)
{
    uint64_t table = VM_ROOT;
    unsigned level;

    for (level = 0; level < 3; level++) {
        uint64_t at = table + ((va >> VKFD_PT_SHIFT(level)) & 511) * 8;
        uint64_t pde = vram64(b, at);

        if (!(pde & AMDGPU_PTE_VALID)) {
            pde = next_table | AMDGPU_PTE_VALID;
            next_table += 4096;
            set_vram64(b, at, pde);
        }
        table = pde & AMDGPU_PDE_ADDR_MASK;
    }
    set_vram64(b, table + ((va >> 12) & 511) * 8, pte);
}

void vm_flush(Bus *b, uint32_t vmids)
{
    wr(b, mmVM_INVALIDATE_ENG0_REQ + 17, vmids);
    wr(b, mmMMHUB_VM_INVALIDATE_ENG0_REQ + 17, vmids);
}

void vm_setup(Bus *b)
{
    uint32_t cntl = 1 | 3 << 1 | 0x007ffe80;
    uint32_t fb = VKFD_FB_LOCATION_BASE >> 24;
    uint64_t off;

    next_table = VM_ROOT + 4096;
    for (off = 0; off < VRAM_SIZE; off += 4096) {
        vm_map(b, VA0 + off, off | PTE_RW);
    }
    for (off = 0; off < SYS_SIZE; off += 4096) {
        vm_map(b, SYS_VA + off, (SYS_BASE + off) | PTE_RW | AMDGPU_PTE_SYSTEM);
    }
    wr(b, mmMC_VM_FB_LOCATION_BASE, fb);
    wr(b, mmMC_VM_FB_LOCATION_TOP, fb + VRAM_SIZE / (1u << 24) - 1);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * TEST_VMID,
       VM_ROOT | AMDGPU_PTE_VALID);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * TEST_VMID, 0xffffffff);
    wr(b, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 + 2 * TEST_VMID, 0xf);
    wr(b, mmVM_CONTEXT0_CNTL + TEST_VMID, cntl);
    wr(b, mmIH_VMID_0_LUT + TEST_VMID, TEST_PASID);
    vm_flush(b, 0xffff);
}

/* ---- IH ---- */

void ih_setup(Bus *b, unsigned log2dw, uint32_t flags)
{
    uint64_t base = SYS_BASE + IH_RING_OFF, wb = SYS_BASE + IH_WPTR_OFF;

    wr(b, mmIH_RB_BASE, base >> 8);
    wr(b, mmIH_RB_BASE_HI, base >> 40);
    wr(b, mmIH_RB_WPTR_ADDR_LO, wb);
    wr(b, mmIH_RB_WPTR_ADDR_HI, wb >> 32);
    wr(b, mmIH_RB_RPTR, 0);
    wr(b, mmIH_RB_WPTR, 0);
    wr(b, mmIH_RB_CNTL, 1u << IH_RB_CNTL__MC_SPACE__SHIFT |
       log2dw << IH_RB_CNTL__RB_SIZE__SHIFT | IH_RB_CNTL__RB_ENABLE_MASK |
       IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK | IH_RB_CNTL__ENABLE_INTR_MASK |
       flags);
}

uint32_t ih_dw(Bus *b, unsigned entry, unsigned dw)
{
    return sys32(b, IH_RING_OFF + entry * 32 + dw * 4);
}

/* ---- queues ---- */

static uint64_t wptrs[VKFD_NUM_HQD];

uint64_t queue_wptr(unsigned hqd)
{
    return wptrs[hqd];
}

void queue_set_wptr(unsigned hqd, uint64_t wptr)
{
    wptrs[hqd] = wptr;
}

void select_hqd(Bus *b, unsigned hqd)
{
    wr(b, mmGRBM_GFX_CNTL, (hqd / 32 + 1) << 2 | (hqd / 8 % 4) |
       (hqd % 8) << 8);
}

uint32_t hqd_rd(Bus *b, unsigned hqd, uint32_t dw)
{
    select_hqd(b, hqd);
    return rd(b, dw);
}

void hqd_wr(Bus *b, unsigned hqd, uint32_t dw, uint32_t val)
{
    select_hqd(b, hqd);
    wr(b, dw, val);
}

void queue_load(Bus *b, unsigned hqd)
{
    uint64_t ring = VA0 + RING(hqd), rptr = VA0 + RPTR_ADDR(hqd);
    uint64_t poll = VA0 + WPTR_ADDR(hqd);

    set_vram64(b, WPTR_ADDR(hqd), wptrs[hqd]);
    select_hqd(b, hqd);
    wr(b, mmCP_HQD_VMID, TEST_VMID);
    wr(b, mmCP_HQD_PQ_BASE, ring >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, ring >> 40);
    wr(b, mmCP_HQD_PQ_RPTR, wptrs[hqd] & (RING_DW - 1));
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, rptr);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, rptr >> 32);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, poll);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, poll >> 32);
    wr(b, mmCP_HQD_PQ_CONTROL, 9);      /* 2^(9+1) dwords */
    wr(b, mmCP_HQD_IB_CONTROL, 0x00300000);
    wr(b, mmCP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_DW(hqd) << 2 |
       CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
    wr(b, mmCP_HQD_ACTIVE, 1);
}

void queue_to_vmid0(Bus *b, unsigned hqd)
{
    uint64_t ring = VKFD_FB_LOCATION_BASE + RING(hqd);

    hqd_wr(b, hqd, mmCP_HQD_DEQUEUE_REQUEST, 1);
    queue_set_wptr(hqd, 0);
    wr(b, mmCP_HQD_VMID, 0);
    wr(b, mmCP_HQD_PQ_BASE, ring >> 8);
    wr(b, mmCP_HQD_PQ_BASE_HI, ring >> 40);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR, 0);
    wr(b, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI, 0);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR, 0);
    wr(b, mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI, 0);
    wr(b, mmCP_HQD_PQ_WPTR_LO, 0);
    wr(b, mmCP_HQD_PQ_RPTR, 0);
    wr(b, mmCP_HQD_ACTIVE, 1);
}

void queue_emit(Bus *b, unsigned hqd, const uint32_t *dw, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        set_vram32(b, RING(hqd) + (wptrs[hqd]++ & (RING_DW - 1)) * 4, dw[i]);
    }
}

void queue_kick(Bus *b, unsigned hqd)
{
    set_vram64(b, WPTR_ADDR(hqd), wptrs[hqd]);
    vkfd_doorbell_write(b->e, DOORBELL_DW(hqd) * 4, wptrs[hqd], 8);
}

unsigned pkt_write(uint32_t *p, uint64_t va, uint32_t val)
{
    p[0] = PACKET3_COMPUTE(IT_WRITE_DATA, 4);
    p[1] = WRITE_DATA_DST_MEM << WRITE_DATA__DST_SEL__SHIFT |
           WRITE_DATA__WR_CONFIRM;
    p[2] = va;
    p[3] = va >> 32;
    p[4] = val;
    return 5;
}

unsigned pkt_release(uint32_t *p, uint64_t va, uint64_t data, unsigned data_sel,
                     unsigned int_sel, uint32_t ctx)
{
    p[0] = PACKET3_COMPUTE(IT_RELEASE_MEM, 7);
    p[1] = CACHE_FLUSH_AND_INV_TS_EVENT | EVENT_INDEX_EOP << EVENT__INDEX__SHIFT;
    p[2] = data_sel << RELEASE_MEM__DATA_SEL__SHIFT |
           int_sel << RELEASE_MEM__INT_SEL__SHIFT;
    p[3] = va;
    p[4] = va >> 32;
    p[5] = data;
    p[6] = data >> 32;
    p[7] = ctx;
    return 8;
}

unsigned pkt_ib(uint32_t *p, uint64_t va, uint32_t dw, bool chain)
{
    p[0] = PACKET3_COMPUTE(IT_INDIRECT_BUFFER, 3);
    p[1] = va;
    p[2] = va >> 32;
    p[3] = dw | INDIRECT_BUFFER__VALID | (chain ? INDIRECT_BUFFER__CHAIN : 0);
    return 4;
}

unsigned pkt_wait_mem(uint32_t *p, uint64_t va, uint32_t func, uint32_t ref,
                      uint32_t mask)
{
    p[0] = PACKET3_COMPUTE(IT_WAIT_REG_MEM, 6);
    p[1] = func | WAIT_REG_MEM_SPACE_MEM << WAIT_REG_MEM__MEM_SPACE__SHIFT;
    p[2] = va;
    p[3] = va >> 32;
    p[4] = ref;
    p[5] = mask;
    p[6] = 4;
    return 7;
}
