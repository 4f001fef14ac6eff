/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Physical memory: VRAM, the device's own BARs, and the bus.
 *
 * VRAM is read and written by vCPUs without a lock, so runs of aligned dwords
 * and qwords are moved by single-copy atomic accesses: a fence or pointer is
 * never seen half written. Stores are releases and loads acquires, so that what
 * was written before a fence is visible to whoever reads the fence. Long copies are
 * memcpy()'s, and whoever makes them has the barriers.
 */
#include "engine-priv.h"

static bool vram_ok(const VKFDEngine *e, uint64_t off, uint64_t len)
{
    return off <= e->vram_size && len <= e->vram_size - off;
}

/* Caller has checked the range. */
void vkfd_vram_read(VKFDEngine *e, uint64_t off, void *buf, uint32_t len)
{
    uint8_t *dst = buf;
    const uint8_t *src = e->vram + off;

    if ((off | len) & 3) {
        memcpy(dst, src, len);
        return;
    }
    while (len) {
        if (len >= 8 && !((uintptr_t)src & 7)) {
            uint64_t v = __atomic_load_n((const uint64_t *)src,
                                         __ATOMIC_ACQUIRE);
            memcpy(dst, &v, 8);
            src += 8, dst += 8, len -= 8;
        } else {
            uint32_t v = __atomic_load_n((const uint32_t *)src,
                                         __ATOMIC_ACQUIRE);
            memcpy(dst, &v, 4);
            src += 4, dst += 4, len -= 4;
        }
    }
}

/* Caller has checked the range. */
void vkfd_vram_write(VKFDEngine *e, uint64_t off, const void *buf, uint32_t len)
{
    const uint8_t *src = buf;
    uint8_t *dst = e->vram + off;
    uint32_t left = len;

    if ((off | len) & 3) {
        memcpy(dst, src, len);
        left = 0;
    }
    while (left) {
        if (left >= 8 && !((uintptr_t)dst & 7)) {
            uint64_t v;

            memcpy(&v, src, 8);
            __atomic_store_n((uint64_t *)dst, v, __ATOMIC_RELEASE);
            src += 8, dst += 8, left -= 8;
        } else {
            uint32_t v;

            memcpy(&v, src, 4);
            __atomic_store_n((uint32_t *)dst, v, __ATOMIC_RELEASE);
            src += 4, dst += 4, left -= 4;
        }
    }
    e->ops.vram_dirty(e->opaque, off, len);
    vkfd_wait_mem_written(e, off, len);
}

static bool in_bar(const VKFDEngine *e, uint64_t base, uint64_t size,
                   uint64_t addr)
{
    return e->bars_valid && addr >= base && addr - base < size;
}

uint64_t vkfd_pa_canon(const VKFDEngine *e, uint64_t pa)
{
    uint64_t bus = pa & ~VKFD_PA_SYS;

    if ((pa & VKFD_PA_SYS) && in_bar(e, e->bar0, e->bar0_size, bus)) {
        return bus - e->bar0;
    }
    return pa;
}

static bool refused(VKFDEngine *e, uint64_t addr, uint32_t len, bool write)
{
    e->counters[VKFD_CNT_DMA_REFUSED]++;
    vkfd_trace(e, VKFD_TRACE_DMA_REFUSED, addr, len, write, 0, 0, 0);
    return false;
}

bool vkfd_pa_read(VKFDEngine *e, uint64_t pa, void *buf, uint32_t len)
{
    uint64_t addr;

    pa = vkfd_pa_canon(e, pa);
    if (!(pa & VKFD_PA_SYS)) {
        if (!vram_ok(e, pa, len)) {
            return refused(e, pa, len, false);
        }
        vkfd_vram_read(e, pa, buf, len);
        return true;
    }
    addr = pa & ~VKFD_PA_SYS;
    if (in_bar(e, e->bar2, VKFD_DOORBELL_BAR_SIZE, addr)) {
        memset(buf, 0, len);    /* as doorbells read */
        return true;
    }
    if (!e->ops.dma_read(e->opaque, addr, buf, len)) {
        return refused(e, addr, len, false);
    }
    return true;
}

/* A write of whole dwords to the doorbell BAR rings, 64 bits wherever it can. */
static bool doorbell_dma(VKFDEngine *e, uint64_t addr, const uint8_t *buf,
                         uint32_t len)
{
    uint64_t off = addr - e->bar2;

    if (((off | len) & 3) || len > VKFD_DOORBELL_BAR_SIZE - off) {
        return refused(e, addr, len, true);
    }
    while (len) {
        if (len >= 8 && !(off & 7)) {
            uint64_t v;

            memcpy(&v, buf, 8);
            vkfd_doorbell_write(e, off, vkfd_le64(v), 8);
            off += 8, buf += 8, len -= 8;
        } else {
            uint32_t v;

            memcpy(&v, buf, 4);
            vkfd_doorbell_write(e, off, vkfd_le32(v), 4);
            off += 4, buf += 4, len -= 4;
        }
    }
    return true;
}

bool vkfd_pa_write(VKFDEngine *e, uint64_t pa, const void *buf, uint32_t len)
{
    uint64_t addr;

    pa = vkfd_pa_canon(e, pa);
    if (!(pa & VKFD_PA_SYS)) {
        if (!vram_ok(e, pa, len)) {
            return refused(e, pa, len, true);
        }
        vkfd_vram_write(e, pa, buf, len);
        return true;
    }
    addr = pa & ~VKFD_PA_SYS;
    if (in_bar(e, e->bar2, VKFD_DOORBELL_BAR_SIZE, addr)) {
        return doorbell_dma(e, addr, buf, len);
    }
    if (!e->ops.dma_write(e->opaque, addr, buf, len)) {
        return refused(e, addr, len, true);
    }
    vkfd_wait_mem_written(e, pa, len);
    return true;
}

/* For unmap_ram(); shortens *len to what is there in one piece. NULL: not RAM. */
static uint8_t *map_ram(VKFDEngine *e, uint64_t pa, uint32_t *len, bool write)
{
    if (!(pa & VKFD_PA_SYS)) {
        return vram_ok(e, pa, *len) ? e->vram + pa : NULL;
    }
    return e->ops.dma_map(e->opaque, pa & ~VKFD_PA_SYS, len, write);
}

static void unmap_ram(VKFDEngine *e, uint64_t pa, uint8_t *host, uint32_t len,
                      bool write, uint32_t written)
{
    if (pa & VKFD_PA_SYS) {
        e->ops.dma_unmap(e->opaque, host, len, write, written);
    } else if (written) {
        e->ops.vram_dirty(e->opaque, pa, written);
    }
}

uint32_t vkfd_pa_copy(VKFDEngine *e, uint64_t dst, uint64_t src, uint32_t len)
{
    uint32_t from_len = len, to_len = len, n = 0;
    uint8_t *from, *to;

    dst = vkfd_pa_canon(e, dst);
    src = vkfd_pa_canon(e, src);
    from = map_ram(e, src, &from_len, false);
    if (!from) {
        return 0;
    }
    to = map_ram(e, dst, &to_len, true);
    if (to) {
        n = from_len < to_len ? from_len : to_len;
        /* Two addresses may be the same RAM; of what overlaps the order shows. */
        if (from < to + n && to < from + n) {
            n = 0;
        }
        memcpy(to, from, n);
        unmap_ram(e, dst, to, to_len, true, n);
    }
    unmap_ram(e, src, from, from_len, false, 0);
    if (n) {
        vkfd_wait_mem_written(e, dst, n);
    }
    return n;
}

VKFDRmw vkfd_pa_atomic(VKFDEngine *e, uint64_t pa, uint32_t len, VKFDAtomic *a)
{
    VKFDRmw how;

    pa = vkfd_pa_canon(e, pa);
    if (!(pa & VKFD_PA_SYS)) {
        if (!vram_ok(e, pa, len)) {
            refused(e, pa, len, true);
            return VKFD_RMW_REFUSED;
        }
        if (!vkfd_atomic_apply(e->vram + pa, len, a)) {
            return VKFD_RMW_BUSY;
        }
        e->ops.vram_dirty(e->opaque, pa, len);
    } else {
        /* The bus refuses MMIO, and so our own doorbells. */
        how = e->ops.dma_atomic(e->opaque, pa & ~VKFD_PA_SYS, len, a);
        if (how == VKFD_RMW_REFUSED) {
            refused(e, pa & ~VKFD_PA_SYS, len, true);
        }
        if (how != VKFD_RMW_DONE) {
            return how;
        }
    }
    vkfd_wait_mem_written(e, pa, len);
    return VKFD_RMW_DONE;
}
