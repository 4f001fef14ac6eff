/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SDMA packets that move or make data. They can be long, so each call does a slice of
 * about VKFD_SDMA_SLICE_UNITS and leaves in MIDCMD_DATA how far it got: the queue can
 * be taken off, saved and moved there, and goes on where it was. Progress is in the
 * guest's registers and is as hostile as the packet: past the end means done.
 *
 * Each piece is read, then written, in rising order: source and destination of a copy
 * that overlap give what that gives. A piece of a linear copy lies in one page on both
 * sides, or, where RAM is copied to other RAM, in one run of pages.
 */
#include "sdma-priv.h"

#define BUF_BYTES       ((uint32_t)sizeof(((VKFDEngine *)0)->sdma_buf))

/* Copies that are shorter are moved. */
#define DIRECT_MIN      256u

/* What a slice has cost so far. */
typedef struct Cost {
    uint32_t bytes, pieces;
} Cost;

static uint32_t units(const Cost *cost)
{
    return cost->bytes / VKFD_SDMA_BYTES_PER_UNIT +
           cost->pieces / VKFD_SDMA_PIECES_PER_UNIT;
}

static uint32_t at_most(uint64_t n, uint32_t max)
{
    return n < max ? n : max;
}

/* A piece of len bytes is done. Is the slice over? */
static bool spent(VKFDEngine *e, Cost *cost, uint32_t len)
{
    cost->bytes += len;
    cost->pieces++;
    e->extra_units = units(cost);
    return e->extra_units >= VKFD_SDMA_SLICE_UNITS;
}

static bool move(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t dst, uint64_t src,
                 uint32_t len)
{
    return vkfd_sdma_read(e, c->id, c->vmid, src, &e->sdma_buf, len) &&
           vkfd_sdma_write(e, c->id, c->vmid, dst, &e->sdma_buf, len);
}

/* Bytes to the end of the page of va: a piece that stays in it is one access. */
static uint32_t to_page_end(uint64_t va)
{
    return BUF_BYTES - (va & (BUF_BYTES - 1));
}

/* Bytes to the end of whichever page ends first. */
static uint32_t copy_piece(uint64_t src, uint64_t dst)
{
    return at_most(to_page_end(src), to_page_end(dst));
}

/* Physical address of va, if an access would find memory there. */
static bool translate(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t va, bool write,
                      uint64_t *pa)
{
    bool prt;

    return vkfd_vm_translate(e, VKFD_HUB_MM, c->vmid, va, write, pa, &prt) ==
           VKFD_FAULT_NONE && !prt;
}

/*
 * Copy what can be copied without a buffer, from the front. Returns the bytes; 0 if the
 * next piece has to be moved, or faults. Pages that come after one that faults are not
 * looked at, so the fault is found there again.
 */
static uint32_t copy_direct(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t dst,
                            uint64_t src, uint32_t len)
{
    uint64_t from = 0, to = 0, s, d;
    uint32_t n = 0, more;

    /* Injection counts walks, and one that it spoils is not found again. */
    if (len < DIRECT_MIN || vkfd_inject_on(e, VKFD_INJECT_AT_PAGE_WALK)) {
        return 0;
    }
    len = at_most(len, VKFD_SDMA_SLICE_UNITS * VKFD_SDMA_DIRECT_PER_UNIT);
    for (; n < len; n += more) {
        if (!translate(e, c, src + n, false, &s) ||
            !translate(e, c, dst + n, true, &d)) {
            break;
        }
        if (!n) {
            from = s;
            to = d;
        } else if (s != from + n || d != to + n) {
            break;
        }
        more = at_most(len - n, copy_piece(src + n, dst + n));
    }
    return n ? vkfd_pa_copy(e, to, from, n) : 0;
}

static VKFDSdmaResult copy_linear(VKFDEngine *e, const VKFDSdmaCtx *c,
                                  const uint32_t *body)
{
    uint32_t total = (body[0] & SDMA_PKT_COPY__COUNT_MASK) + 1, pos, unused;
    uint64_t src = vkfd_pair(body[2], body[3]), dst = vkfd_pair(body[4], body[5]);
    bool broadcast = c->header & SDMA_PKT_COPY__BROADCAST, direct = !broadcast;
    Cost cost = { 0 };

    vkfd_sdma_progress(e, c->id, &pos, &unused);
    while (pos < total) {
        uint32_t n = 0, cheap = VKFD_SDMA_DIRECT_PER_UNIT / VKFD_SDMA_BYTES_PER_UNIT;

        if (direct) {
            n = copy_direct(e, c, dst + pos, src + pos, total - pos);
        }
        if (!n) {
            /* What made it so is likely to lie ahead still: not tried in this slice. */
            direct = false;
            cheap = 1;
            n = at_most(total - pos, copy_piece(src + pos, dst + pos));
            if (!move(e, c, dst + pos, src + pos, n) ||
                (broadcast &&
                 !vkfd_sdma_write(e, c->id, c->vmid,
                                  vkfd_pair(body[6], body[7]) + pos, &e->sdma_buf,
                                  n))) {
                return VKFD_SDMA_STOP;
            }
        }
        pos += n;
        vkfd_sdma_set_progress(e, c->id, pos, 0);
        if (spent(e, &cost, n / cheap) && pos < total) {
            return VKFD_SDMA_MORE;
        }
    }
    return VKFD_SDMA_DONE;
}

/* Body: count, parameter, source, destination, second destination. */
VKFDSdmaResult vkfd_sdma_copy_linear(VKFDEngine *e, const VKFDSdmaCtx *c,
                                     const uint32_t *body)
{
    VKFDSdmaResult res;

    /* After what this queue waited for; before what tells that the copy is done. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    res = copy_linear(e, c, body);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return res;
}

/* One side of a sub-window copy: address of row y of slice z. */
typedef struct Window {
    uint64_t base, x, y, z, pitch, slice;
} Window;

static Window window(const uint32_t *dw)
{
    return (Window) {
        .base = vkfd_pair(dw[0], dw[1]),
        .x = dw[2] & SDMA_PKT_SUBWIN__X_MASK,
        .y = VKFD_GET(dw[2], SDMA_PKT_SUBWIN__Y),
        .z = dw[3] & SDMA_PKT_SUBWIN__Z_MASK,
        .pitch = (uint64_t)VKFD_GET(dw[3], SDMA_PKT_SUBWIN__PITCH) + 1,
        .slice = (uint64_t)(dw[4] & SDMA_PKT_SUBWIN__SLICE_PITCH_MASK) + 1,
    };
}

static uint64_t row_va(const Window *w, uint32_t y, uint32_t z, uint32_t shift)
{
    return w->base +
           ((w->x + (w->y + y) * w->pitch + (w->z + z) * w->slice) << shift);
}

/* Progress: row, counted through all slices, and bytes of it. */
VKFDSdmaResult vkfd_sdma_copy_subwin(VKFDEngine *e, const VKFDSdmaCtx *c,
                                     const uint32_t *body)
{
    uint32_t shift = VKFD_GET(c->header, SDMA_PKT_SUBWIN__ELEMENTSIZE);
    uint32_t height = VKFD_GET(body[10], SDMA_PKT_SUBWIN__Y) + 1;
    uint32_t rows = height * ((body[11] & SDMA_PKT_SUBWIN__Z_MASK) + 1);
    uint32_t row, pos, bytes;
    Window src = window(body), dst = window(body + 5);
    Cost cost = { 0 };

    if (shift > SDMA_SUBWIN_ELEMENTSIZE_MAX) {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    }
    bytes = ((body[10] & SDMA_PKT_SUBWIN__X_MASK) + 1) << shift;
    vkfd_sdma_progress(e, c->id, &row, &pos);
    while (row < rows) {
        uint64_t from = row_va(&src, row % height, row / height, shift) + pos;
        uint64_t to = row_va(&dst, row % height, row / height, shift) + pos;
        uint32_t n = pos < bytes ? at_most(bytes - pos, to_page_end(to)) : 0;

        if (n && !move(e, c, to, from, n)) {
            return VKFD_SDMA_STOP;
        }
        pos += n;
        if (pos >= bytes) {
            row++;
            pos = 0;
        }
        vkfd_sdma_set_progress(e, c->id, row, pos);
        if (spent(e, &cost, n) && row < rows) {
            return VKFD_SDMA_MORE;
        }
    }
    return VKFD_SDMA_DONE;
}

/* Body: destination, count; then the data, which stays where it is. */
VKFDSdmaResult vkfd_sdma_write_linear(VKFDEngine *e, const VKFDSdmaCtx *c,
                                      const uint32_t *body)
{
    uint32_t total = (body[2] & SDMA_PKT_WRITE__COUNT_MASK) + 1, pos, unused;
    uint64_t dst = vkfd_pair(body[0], body[1]);
    Cost cost = { 0 };

    vkfd_sdma_progress(e, c->id, &pos, &unused);
    while (pos < total) {
        uint64_t va = dst + (uint64_t)pos * 4;
        uint32_t n = at_most(total - pos, to_page_end(va) / 4);

        if (!vkfd_sdma_fetch(e, c, SDMA_PKT_WRITE_DW + (uint64_t)pos,
                             e->sdma_buf.dw, n) ||
            !vkfd_sdma_write(e, c->id, c->vmid, va, &e->sdma_buf, n * 4)) {
            return VKFD_SDMA_STOP;
        }
        pos += n;
        vkfd_sdma_set_progress(e, c->id, pos, 0);
        if (spent(e, &cost, n * 4) && pos < total) {
            return VKFD_SDMA_MORE;
        }
    }
    return VKFD_SDMA_DONE;
}

/* Fill total bytes from va on with what e->sdma_buf holds, from *pos. */
static VKFDSdmaResult fill(VKFDEngine *e, const VKFDSdmaCtx *c, uint64_t va,
                           uint32_t total, uint32_t *pos, Cost *cost)
{
    while (*pos < total) {
        uint32_t n = at_most(total - *pos, to_page_end(va + *pos));

        if (!vkfd_sdma_write(e, c->id, c->vmid, va + *pos, &e->sdma_buf, n)) {
            return VKFD_SDMA_STOP;
        }
        *pos += n;
        if (spent(e, cost, n) && *pos < total) {
            return VKFD_SDMA_MORE;
        }
    }
    return VKFD_SDMA_DONE;
}

/*
 * Body: destination, data, count of bytes. Of dwords the two low bits of count, and of
 * the address, do not count: clients send bytes - 1 as well as bytes - 4.
 */
VKFDSdmaResult vkfd_sdma_const_fill(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body)
{
    uint32_t size = VKFD_GET(c->header, SDMA_PKT_CONST_FILL__FILLSIZE);
    uint32_t total = (body[3] & SDMA_PKT_CONST_FILL__COUNT_MASK) + 1, pos, unused, i;
    uint64_t dst = vkfd_pair(body[0], body[1]);
    VKFDSdmaResult res;
    Cost cost = { 0 };

    if (size == SDMA_FILLSIZE_DW) {
        total = ((total - 1) & ~3u) + 4;
        dst &= ~3ull;
        for (i = 0; i < BUF_BYTES / 4; i++) {
            e->sdma_buf.dw[i] = vkfd_le32(body[2]);
        }
    } else if (size == SDMA_FILLSIZE_BYTE) {
        memset(&e->sdma_buf, body[2] & 0xff, BUF_BYTES);
    } else {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    }
    vkfd_sdma_progress(e, c->id, &pos, &unused);
    if (size == SDMA_FILLSIZE_DW) {
        pos &= ~3u;             /* loaded progress must not shift the pattern */
    }
    res = fill(e, c, dst, total, &pos, &cost);
    vkfd_sdma_set_progress(e, c->id, pos, 0);
    return res;
}

/* Body: stride, blocks, destination, count of bytes of a block. Progress: block, bytes. */
VKFDSdmaResult vkfd_sdma_fill_multi(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body)
{
    uint32_t total = (body[4] & SDMA_PKT_DATA_FILL_MULTI__COUNT_MASK) + 1;
    uint64_t dst = vkfd_pair(body[2], body[3]);
    uint32_t block, pos;
    VKFDSdmaResult res;
    Cost cost = { 0 };

    memset(&e->sdma_buf, 0, BUF_BYTES);
    vkfd_sdma_progress(e, c->id, &block, &pos);
    while (block < body[1]) {
        res = fill(e, c, dst + (uint64_t)block * body[0], total, &pos, &cost);
        if (res == VKFD_SDMA_DONE) {
            block++;
            pos = 0;
        }
        vkfd_sdma_set_progress(e, c->id, block, pos);
        if (res != VKFD_SDMA_DONE) {
            return res;
        }
        if (units(&cost) >= VKFD_SDMA_SLICE_UNITS && block < body[1]) {
            return VKFD_SDMA_MORE;
        }
    }
    return VKFD_SDMA_DONE;
}

/* Body: destination, mask, value, increment, count of entries. */
VKFDSdmaResult vkfd_sdma_ptepde_gen(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body)
{
    uint32_t total = (body[8] & SDMA_PKT_PTEPDE_GEN__COUNT_MASK) + 1, pos, unused, i;
    uint64_t dst = vkfd_pair(body[0], body[1]), mask = vkfd_pair(body[2], body[3]);
    uint64_t value = vkfd_pair(body[4], body[5]), incr = vkfd_pair(body[6], body[7]);
    Cost cost = { 0 };

    vkfd_sdma_progress(e, c->id, &pos, &unused);
    while (pos < total) {
        uint64_t va = dst + (uint64_t)pos * 8;
        uint32_t n = at_most(total - pos, to_page_end(va) / 8);

        for (i = 0; i < n; i++) {
            e->sdma_buf.qw[i] = vkfd_le64((value + incr * (pos + i)) | mask);
        }
        if (!vkfd_sdma_write(e, c->id, c->vmid, va, &e->sdma_buf, n * 8)) {
            return VKFD_SDMA_STOP;
        }
        pos += n;
        vkfd_sdma_set_progress(e, c->id, pos, 0);
        if (spent(e, &cost, n * 8) && pos < total) {
            return VKFD_SDMA_MORE;
        }
    }
    return VKFD_SDMA_DONE;
}
