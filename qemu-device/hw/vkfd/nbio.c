/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bus interface: index/data windows onto registers, VRAM and SMN space, and the
 * host data path flushes. The model has no write-combining of its own between
 * BAR0 and VRAM, so a flush is complete when it is written; it is counted.
 */
#include "engine-priv.h"

#include <vkfd/regs_nbio.h>

#define MM_INDEX_VRAM           0x80000000u     /* MM_INDEX: address is in VRAM */

static uint64_t mm_vram_addr(const VKFDEngine *e)
{
    return (uint64_t)e->regs[mmMM_INDEX_HI] << 31 |
           (e->regs[mmMM_INDEX] & ~MM_INDEX_VRAM);
}

/*
 * Target of MM_DATA in register space, or ~0 if there is none. The window does
 * not reach itself: that would be an endless recursion.
 */
static uint32_t mm_reg_dw(const VKFDEngine *e)
{
    uint32_t off = e->regs[mmMM_INDEX];

    if ((off & 3) || off >= VKFD_MMIO_SIZE || off / 4 == mmMM_DATA) {
        return UINT32_MAX;
    }
    return off / 4;
}

static uint32_t mm_data_read(VKFDEngine *e)
{
    uint64_t addr = mm_vram_addr(e);
    uint32_t dw, v;

    if (e->regs[mmMM_INDEX] & MM_INDEX_VRAM) {
        if ((addr & 3) || addr >= e->vram_size) {
            vkfd_guest_error(e, "MM_DATA: VRAM address out of range");
            return 0;
        }
        vkfd_vram_read(e, addr, &v, 4);
        return vkfd_le32(v);
    }
    dw = mm_reg_dw(e);
    return dw == UINT32_MAX ? 0 : vkfd_reg_read(e, dw);
}

static void mm_data_write(VKFDEngine *e, uint32_t val)
{
    uint64_t addr = mm_vram_addr(e);
    uint32_t dw, v = vkfd_le32(val);

    if (e->regs[mmMM_INDEX] & MM_INDEX_VRAM) {
        if ((addr & 3) || addr >= e->vram_size) {
            vkfd_guest_error(e, "MM_DATA: VRAM address out of range");
            return;
        }
        vkfd_vram_write(e, addr, &v, 4);
        return;
    }
    dw = mm_reg_dw(e);
    if (dw != UINT32_MAX) {
        vkfd_reg_write(e, dw, val);
    }
}

/* SMN space: what was written is read back, the rest is 0. */
static uint32_t smn_read(const VKFDEngine *e, uint32_t addr)
{
    uint32_t i;

    for (i = 0; i < e->smn_count; i++) {
        if (e->smn[i].addr == addr) {
            return e->smn[i].val;
        }
    }
    return 0;
}

static void smn_write(VKFDEngine *e, uint32_t addr, uint32_t val)
{
    uint32_t i;

    for (i = 0; i < e->smn_count; i++) {
        if (e->smn[i].addr == addr) {
            e->smn[i].val = val;
            return;
        }
    }
    if (e->smn_count == VKFD_SMN_MAX) {
        vkfd_guest_error(e, "PCIE_DATA2: table of stored SMN addresses is full");
        return;
    }
    e->smn[e->smn_count++] = (VKFDSmn) { .addr = addr, .val = val };
}

uint32_t vkfd_nbio_read(VKFDEngine *e, uint32_t dw)
{
    switch (dw) {
    case mmMM_DATA:
        return mm_data_read(e);
    case mmPCIE_DATA:
        return smn_read(e, e->regs[mmPCIE_INDEX]);
    case mmPCIE_DATA2:
        return smn_read(e, e->regs[mmPCIE_INDEX2]);
    default:
        return e->regs[dw];
    }
}

void vkfd_nbio_write(VKFDEngine *e, uint32_t dw, uint32_t val)
{
    switch (dw) {
    case mmMM_DATA:
        mm_data_write(e, val);
        break;
    case mmPCIE_DATA:
        smn_write(e, e->regs[mmPCIE_INDEX], val);
        break;
    case mmPCIE_DATA2:
        smn_write(e, e->regs[mmPCIE_INDEX2], val);
        break;
    case mmMM_INDEX:
    case mmMM_INDEX_HI:
    case mmPCIE_INDEX:
    case mmPCIE_INDEX2:
        e->regs[dw] = val;
        break;
    case mmGPU_HDP_FLUSH_REQ:
        /* Done follows the request bits at once. */
        e->regs[mmGPU_HDP_FLUSH_REQ] = val;
        e->regs[mmGPU_HDP_FLUSH_DONE] = val;
        e->counters[VKFD_CNT_HDP_FLUSH]++;
        break;
    case (VKFD_MMIO_REMAP_OFFSET + VKFD_REMAP_HDP_MEM_FLUSH) / 4:
    case (VKFD_MMIO_REMAP_OFFSET + VKFD_REMAP_HDP_REG_FLUSH) / 4:
        e->counters[VKFD_CNT_HDP_FLUSH]++;
        break;
    default:
        /* The rest of the remap page is a hole user space can reach: ignored. */
        break;
    }
}
