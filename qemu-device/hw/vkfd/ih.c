/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt handler block, ring 0. Everything interrupts through it.
 *
 * Order of one event: whatever it announces, entry, wptr (register and
 * write-back), MSI-X. A full barrier stands between each two: the guest's
 * rmb between reading wptr and the entry pairs with the one before write-back.
 *
 * Overflow, with WPTR_OVERFLOW_ENABLE: the ring goes on and the oldest entries
 * are overwritten. The entry that makes wptr reach rptr latches RB_OVERFLOW in
 * WPTR and in the write-back word. The driver restarts at wptr + 32, the oldest
 * entry that is certainly intact, and clears the latch by a 0 -> 1 edge of
 * WPTR_OVERFLOW_CLEAR, which moves RPTR there too. While that bit stays 1
 * nothing is latched. Without WPTR_OVERFLOW_ENABLE a full ring drops the new
 * entry.
 */
#include "engine-priv.h"

#include <vkfd/regs_ih.h>

#define IH_SPACE_BUS            1       /* MC_SPACE: bus address */
#define IH_SPACE_GPU            4       /* MC_SPACE: GPU address in VMID 0 */
/* RB_SIZE is log2 of dwords; WPTR.OFFSET has no bits for more than 256 KiB. */
#define IH_SIZE_LOG2_MIN        3
#define IH_SIZE_LOG2_MAX        16
#define IH_STATUS_IDLE          0x01
#define IH_STATUS_OVERFLOW      0x20

/* Ring size in bytes, a power of two, or 0 when it can hold no entry. */
static uint32_t ring_size(const VKFDEngine *e)
{
    uint32_t n = VKFD_GET(e->regs[mmIH_RB_CNTL], IH_RB_CNTL__RB_SIZE);

    if (n < IH_SIZE_LOG2_MIN) {
        return 0;
    }
    return 4u << (n > IH_SIZE_LOG2_MAX ? IH_SIZE_LOG2_MAX : n);
}

/* Write to the space the ring lives in. IH is a client of the MM hub. */
static bool ih_write_mem(VKFDEngine *e, uint64_t addr, const void *buf,
                         uint32_t len)
{
    uint64_t fault_va;

    switch (VKFD_GET(e->regs[mmIH_RB_CNTL], IH_RB_CNTL__MC_SPACE)) {
    case IH_SPACE_BUS:
        return vkfd_pa_write(e, addr | VKFD_PA_SYS, buf, len);
    case IH_SPACE_GPU:
        return vkfd_vm_write(e, VKFD_HUB_MM, 0, addr, buf, len, &fault_va) ==
               VKFD_FAULT_NONE;
    default:
        vkfd_guest_error(e, "IH_RB_CNTL: MC_SPACE is not modelled");
        return false;
    }
}

static bool pending(const VKFDEngine *e)
{
    uint32_t wptr = e->regs[mmIH_RB_WPTR];

    return (wptr & IH_RB_WPTR__RB_OVERFLOW_MASK) ||
           (wptr & IH_RB_WPTR__OFFSET_MASK) != e->regs[mmIH_RB_RPTR];
}

void vkfd_ih_send(VKFDEngine *e)
{
    e->counters[VKFD_CNT_IRQ]++;
    vkfd_trace(e, VKFD_TRACE_IH_IRQ, e->regs[mmIH_RB_WPTR],
               e->regs[mmIH_RB_RPTR], 0, 0, 0, 0);
    /* Write-back before the message. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    e->ops.raise_irq(e->opaque);
}

/*
 * Send the MSI if there is something to read. With RPTR_REARM the next one is
 * held until the driver has written rptr.
 */
static void signal_irq(VKFDEngine *e)
{
    uint32_t cntl = e->regs[mmIH_RB_CNTL];

    if (!(cntl & IH_RB_CNTL__ENABLE_INTR_MASK) ||
        !(cntl & IH_RB_CNTL__RB_ENABLE_MASK) || !pending(e)) {
        return;
    }
    if (cntl & IH_RB_CNTL__RPTR_REARM_MASK) {
        if (!e->ih_armed) {
            return;
        }
        e->ih_armed = 0;
    }
    if (vkfd_inject_on(e, VKFD_INJECT_AT_MSIX)) {
        VKFDInjectResult how = vkfd_inject_msix(e);

        if (how == VKFD_INJECT_SKIP) {
            return;
        }
        if (how == VKFD_INJECT_TWICE) {
            vkfd_ih_send(e);
        }
    }
    vkfd_ih_send(e);
}

static void lost(VKFDEngine *e, const uint32_t *entry, unsigned why)
{
    e->counters[VKFD_CNT_IH_LOST]++;
    vkfd_trace(e, VKFD_TRACE_IH_LOST,
               VKFD_GET(entry[0], VKFD_IH_DW0__CLIENT_ID),
               VKFD_GET(entry[0], VKFD_IH_DW0__SOURCE_ID), why, 0, 0, 0);
}

static void latch_overflow(VKFDEngine *e)
{
    e->counters[VKFD_CNT_IH_OVERFLOW]++;
    vkfd_trace(e, VKFD_TRACE_IH_OVERFLOW, e->regs[mmIH_RB_WPTR],
               e->regs[mmIH_RB_RPTR], 0, 0, 0, 0);
    if (!(e->regs[mmIH_RB_CNTL] & IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK)) {
        e->regs[mmIH_RB_WPTR] |= IH_RB_WPTR__RB_OVERFLOW_MASK;
    }
}

void vkfd_ih_restamp(VKFDEngine *e, uint32_t *entry)
{
    uint64_t ts = vkfd_clock_timestamp(e);

    entry[1] = ts;
    entry[2] = (entry[2] & ~VKFD_IH_DW2__TIMESTAMP_HI_MASK) |
               ((ts >> 32) & VKFD_IH_DW2__TIMESTAMP_HI_MASK);
}

static void build_entry(VKFDEngine *e, const VKFDIv *iv, uint32_t *dw)
{
    uint32_t lut = (iv->mm_hub ? mmIH_VMID_0_LUT_MM : mmIH_VMID_0_LUT) + iv->vmid;
    unsigned i;

    dw[0] = (uint32_t)iv->client << VKFD_IH_DW0__CLIENT_ID__SHIFT |
            (uint32_t)iv->source << VKFD_IH_DW0__SOURCE_ID__SHIFT |
            (uint32_t)iv->ring_id << VKFD_IH_DW0__RING_ID__SHIFT |
            (uint32_t)iv->vmid << VKFD_IH_DW0__VMID__SHIFT |
            (iv->mm_hub ? VKFD_IH_DW0__VMID_TYPE_MASK : 0);
    dw[2] = 0;
    dw[3] = e->regs[lut] & VKFD_IH_DW3__PASID_MASK;
    for (i = 0; i < 4; i++) {
        dw[4 + i] = iv->ctx[i];
    }
    vkfd_ih_restamp(e, dw);
}

void vkfd_ih_write_back(VKFDEngine *e, uint32_t wptr)
{
    uint64_t addr = vkfd_pair(e->regs[mmIH_RB_WPTR_ADDR_LO],
                              e->regs[mmIH_RB_WPTR_ADDR_HI]);
    uint32_t v = vkfd_le32(wptr);

    if (!(e->regs[mmIH_RB_CNTL] & IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK)) {
        return;
    }
    /* Entry before the pointer that announces it. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!ih_write_mem(e, addr, &v, sizeof(v))) {
        vkfd_guest_error(e, "IH: wptr write-back failed");
    }
}

/* wptr moved: tell memory. */
static void publish_wptr(VKFDEngine *e)
{
    uint32_t wptr = e->regs[mmIH_RB_WPTR];

    if (vkfd_inject_on(e, VKFD_INJECT_AT_IH_WPTR) &&
        (e->regs[mmIH_RB_CNTL] & IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK) &&
        vkfd_inject_ih_wptr(e, &wptr) == VKFD_INJECT_SKIP) {
        return;
    }
    vkfd_ih_write_back(e, wptr);
}

void vkfd_ih_put(VKFDEngine *e, const uint32_t *entry)
{
    uint32_t cntl = e->regs[mmIH_RB_CNTL];
    uint32_t size = ring_size(e), mask = size - 1;
    uint32_t wptr, used, le[VKFD_IH_ENTRY_DW];
    uint64_t base = (uint64_t)e->regs[mmIH_RB_BASE] << 8 |
                    (uint64_t)(e->regs[mmIH_RB_BASE_HI] & 0xff) << 40;
    bool full, latched;
    unsigned i;

    if (!(cntl & IH_RB_CNTL__RB_ENABLE_MASK) || !size) {
        lost(e, entry, 0);
        return;
    }
    /* Both pointers are the guest's: whole entries inside the ring. */
    wptr = e->regs[mmIH_RB_WPTR] & IH_RB_WPTR__OFFSET_MASK & mask &
           ~(VKFD_IH_ENTRY_SIZE - 1);
    used = (wptr - e->regs[mmIH_RB_RPTR]) & mask;
    full = used + VKFD_IH_ENTRY_SIZE >= size;
    latched = e->regs[mmIH_RB_WPTR] & IH_RB_WPTR__RB_OVERFLOW_MASK;
    if (full && !(cntl & IH_RB_CNTL__WPTR_OVERFLOW_ENABLE_MASK)) {
        lost(e, entry, 1);
        return;
    }

    for (i = 0; i < VKFD_IH_ENTRY_DW; i++) {
        le[i] = vkfd_le32(entry[i]);
    }
    vkfd_trace(e, VKFD_TRACE_IH_PUSH,
               VKFD_GET(entry[0], VKFD_IH_DW0__CLIENT_ID),
               VKFD_GET(entry[0], VKFD_IH_DW0__SOURCE_ID),
               VKFD_GET(entry[0], VKFD_IH_DW0__RING_ID),
               VKFD_GET(entry[0], VKFD_IH_DW0__VMID),
               entry[3] & VKFD_IH_DW3__PASID_MASK, entry[4]);
    /* Work the entry announces before the entry. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!ih_write_mem(e, base + wptr, le, sizeof(le))) {
        lost(e, entry, 2);
        return;
    }
    e->counters[VKFD_CNT_IH_ENTRY]++;
    wptr = (wptr + VKFD_IH_ENTRY_SIZE) & mask;
    e->regs[mmIH_RB_WPTR] = (e->regs[mmIH_RB_WPTR] &
                             IH_RB_WPTR__RB_OVERFLOW_MASK) | wptr;
    if (latched || full) {
        lost(e, entry, 1);      /* an older one was overwritten */
    }
    if (full && !latched) {
        latch_overflow(e);
    }
    publish_wptr(e);
    signal_irq(e);
}

void vkfd_ih_push(VKFDEngine *e, const VKFDIv *iv)
{
    uint32_t entry[VKFD_IH_ENTRY_DW];
    VKFDInjectResult how;

    build_entry(e, iv, entry);
    /* An entry for a ring that is off passes nothing: it is lost anyway. */
    if (vkfd_inject_on(e, VKFD_INJECT_AT_IH_ENTRY) && ring_size(e) &&
        (e->regs[mmIH_RB_CNTL] & IH_RB_CNTL__RB_ENABLE_MASK)) {
        how = vkfd_inject_ih_entry(e, entry);
        if (how == VKFD_INJECT_SKIP) {
            return;
        }
        if (how == VKFD_INJECT_TWICE) {
            vkfd_ih_put(e, entry);
            vkfd_ih_restamp(e, entry);
        }
    }
    vkfd_ih_put(e, entry);
}

void vkfd_ih_set_rptr(VKFDEngine *e, uint32_t rptr, bool doorbell)
{
    uint32_t size = ring_size(e);

    if ((rptr & (VKFD_IH_ENTRY_SIZE - 1)) || (size && rptr >= size)) {
        vkfd_guest_error(e, "IH: rptr is not an entry of the ring");
    }
    e->regs[mmIH_RB_RPTR] = rptr & IH_RB_RPTR__OFFSET_MASK &
                            ~(VKFD_IH_ENTRY_SIZE - 1);
    if (size) {
        e->regs[mmIH_RB_RPTR] &= size - 1;
    }
    vkfd_trace(e, VKFD_TRACE_IH_RPTR, e->regs[mmIH_RB_RPTR],
               e->regs[mmIH_RB_WPTR], doorbell, 0, 0, 0);
    if (e->regs[mmIH_RB_CNTL] & IH_RB_CNTL__RPTR_REARM_MASK) {
        e->ih_armed = 1;
        signal_irq(e);
    }
}

void vkfd_ih_resend(VKFDEngine *e)
{
    e->ih_armed = 1;
    signal_irq(e);
}

static void write_cntl(VKFDEngine *e, uint32_t val)
{
    uint32_t old = e->regs[mmIH_RB_CNTL];
    uint32_t rise = val & ~old;

    e->regs[mmIH_RB_CNTL] = val;
    if ((rise & IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK) &&
        (e->regs[mmIH_RB_WPTR] & IH_RB_WPTR__RB_OVERFLOW_MASK)) {
        /*
         * The write-back word keeps its flag until the next entry. The driver
         * reads on at wptr + 32 and tells so only later: until then the ring
         * is full, not empty, and what comes overflows it again.
         */
        e->regs[mmIH_RB_WPTR] &= ~IH_RB_WPTR__RB_OVERFLOW_MASK;
        if (ring_size(e)) {
            e->regs[mmIH_RB_RPTR] = (e->regs[mmIH_RB_WPTR] + VKFD_IH_ENTRY_SIZE) &
                                    (ring_size(e) - 1);
        }
    }
    /* What came while interrupts were off is not forgotten. */
    if (rise & (IH_RB_CNTL__ENABLE_INTR_MASK | IH_RB_CNTL__RB_ENABLE_MASK |
                IH_RB_CNTL__RPTR_REARM_MASK)) {
        e->ih_armed = 1;
    }
    if (rise & (IH_RB_CNTL__ENABLE_INTR_MASK | IH_RB_CNTL__RB_ENABLE_MASK)) {
        signal_irq(e);
    }
}

uint32_t vkfd_ih_read(VKFDEngine *e, uint32_t dw)
{
    if (dw == mmIH_STATUS) {
        return IH_STATUS_IDLE |
               ((e->regs[mmIH_RB_WPTR] & IH_RB_WPTR__RB_OVERFLOW_MASK)
                ? IH_STATUS_OVERFLOW : 0);
    }
    return e->regs[dw];
}

void vkfd_ih_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    switch (dw) {
    case mmIH_RB_CNTL:
        write_cntl(e, val);
        break;
    case mmIH_RB_RPTR:
        vkfd_ih_set_rptr(e, val, false);
        break;
    case mmIH_RB_WPTR:
        /* A new position, so what happened at the old one does not matter. */
        e->regs[dw] = val & IH_RB_WPTR__OFFSET_MASK;
        break;
    case mmIH_RB_BASE:
        e->regs[dw] = val;
        break;
    case mmIH_RB_BASE_HI:
        e->regs[dw] = val & 0xff;
        break;
    case mmIH_RB_WPTR_ADDR_LO:
        e->regs[dw] = val & ~3u;
        break;
    case mmIH_RB_WPTR_ADDR_HI:
        e->regs[dw] = val & 0xffff;
        break;
    case mmIH_DOORBELL_RPTR:
        e->regs[dw] = val & (IH_DOORBELL_RPTR__OFFSET_MASK |
                             IH_DOORBELL_RPTR__ENABLE_MASK);
        break;
    default:
        break;
    }
}
