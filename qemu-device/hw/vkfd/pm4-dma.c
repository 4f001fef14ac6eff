/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4: DMA_DATA. Up to 64 MiB, so it is done in slices, each a turn of the queue
 * of its own and paid for by its size. How many are done is the progress of the
 * packet (vkfd_hqd_progress()): a dequeue or a migration in between loses nothing
 * and repeats nothing.
 */
#include "pm4-priv.h"

_Static_assert(VKFD_PM4_DMA_SLICE <= sizeof(((VKFDEngine *)0)->pkt) &&
               DMA_DATA__BYTE_COUNT_MASK / VKFD_PM4_DMA_SLICE <
               VKFD_PROGRESS__VALUE_MASK, "a slice fits, and the slices are countable");

/* Fill len bytes, which begin a multiple of 4 behind where the pattern began. */
static void fill(uint8_t *buf, uint32_t pattern, uint32_t len)
{
    uint32_t i, v = vkfd_le32(pattern);

    for (i = 0; i < len; i += 4) {
        memcpy(buf + i, &v, len - i < 4 ? len - i : 4);
    }
}

/*
 * Body: control, source lo (or data) and hi, destination lo and hi, command. With
 * SAIC the first dword of the source is all that is read, with DAIC the last
 * dword copied is all that can be seen of the destination.
 */
VKFD_PM4_HANDLER(vkfd_pm4_dma_data)
{
    uint32_t src_sel = VKFD_GET(body[0], DMA_DATA__SRC_SEL);
    uint32_t dst_sel = VKFD_GET(body[0], DMA_DATA__DST_SEL);
    uint64_t src = vkfd_pair(body[1], body[2]), dst = vkfd_pair(body[3], body[4]);
    uint32_t pattern = body[1], cmd = body[5];
    uint32_t count = cmd & DMA_DATA__BYTE_COUNT_MASK;
    uint32_t done = vkfd_hqd_progress(c->q), len, last;
    uint64_t off = (uint64_t)done * VKFD_PM4_DMA_SLICE;
    uint8_t *buf = (uint8_t *)e->pkt;

    if (src_sel == DMA_DATA_SRC_GDS || dst_sel == DMA_DATA_DST_GDS ||
        (cmd & (DMA_DATA__SAS | DMA_DATA__DAS))) {
        return vkfd_pm4_reserved(e, c, IT_DMA_DATA);
    }
    if (off >= count) {         /* nothing to do, or a progress nobody noted here */
        return VKFD_PM4_DONE;
    }
    len = count - off < VKFD_PM4_DMA_SLICE ? count - off : VKFD_PM4_DMA_SLICE;
    e->extra_units += len / 4 / VKFD_CP_DW_PER_UNIT;

    if (src_sel != DMA_DATA_SRC_DATA && (cmd & DMA_DATA__SAIC)) {
        if (!vkfd_q_read(e, c->hqd, c->vmid, src, &pattern, 4)) {
            return VKFD_PM4_STOP;
        }
        fill(buf, vkfd_le32(pattern), len);
    } else if (src_sel == DMA_DATA_SRC_DATA) {
        fill(buf, pattern, len);
    } else if (!vkfd_q_read(e, c->hqd, c->vmid, src + off, buf, len)) {
        return VKFD_PM4_STOP;
    }

    if (dst_sel == DMA_DATA_DST_NOWHERE) {
        /* Read for the sake of reading. */
    } else if (cmd & DMA_DATA__DAIC) {
        last = (len - 1) & ~3u;
        if (!vkfd_q_write(e, c->hqd, c->vmid, dst, buf + last, len - last)) {
            return VKFD_PM4_STOP;
        }
    } else if (!vkfd_q_write(e, c->hqd, c->vmid, dst + off, buf, len)) {
        return VKFD_PM4_STOP;
    }
    if (off + len == count) {
        return VKFD_PM4_DONE;
    }
    vkfd_hqd_set_progress(c->q, done + 1);
    return VKFD_PM4_AGAIN;
}
