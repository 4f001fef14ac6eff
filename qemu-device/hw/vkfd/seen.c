/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in memory where queues wait, looked at without evaluating their waits.
 *
 * A queue on a slot is looked at by what was noted of it:
 *
 *   note     what is at the addresses of its wait
 *   look     the queue evaluates the wait again, later than that, in vain
 *   compare  memory that is as noted leaves the wait as it was, in vain
 *
 * So a store after the look is found by comparing, and one before it by the look. What
 * is noted is of physical addresses: it is forgotten when page tables or BARs change.
 */
#include "sched-priv.h"

static const uint8_t *host_page(VKFDEngine *e, VKFDPeek *p, uint64_t pa)
{
    uint64_t page = pa & ~(uint64_t)(AMDGPU_GPU_PAGE_SIZE - 1);
    unsigned i = page / AMDGPU_GPU_PAGE_SIZE % VKFD_PEEK_PAGES;

    /* Never 0: VKFD_PA_SYS is in it. */
    if (p->page[i] != page) {
        p->page[i] = page;
        p->host[i] = e->ops.dma_page(e->opaque, page & ~VKFD_PA_SYS);
    }
    return p->host[i];
}

bool vkfd_peek(VKFDEngine *e, VKFDPeek *p, uint64_t pa, unsigned len, uint64_t *v)
{
    const uint8_t *host = NULL;

    *v = 0;
    if (pa & (len - 1)) {
        /* It may lie in two pages. */
    } else if (pa & VKFD_PA_SYS) {
        host = host_page(e, p, pa);
        host = host ? host + pa % AMDGPU_GPU_PAGE_SIZE : NULL;
    } else if (pa < e->vram_size) {
        host = e->vram + pa;
    }
    if (!host) {
        return vkfd_pa_read(e, pa, v, len);
    }
    /* Against the CPU's release, as any load of VRAM: engine-mem.c. */
    if (len == 8) {
        *v = __atomic_load_n((const uint64_t *)host, __ATOMIC_ACQUIRE);
    } else {
        *v = __atomic_load_n((const uint32_t *)host, __ATOMIC_ACQUIRE);
    }
    return true;
}

VKFDSchedSeen *vkfd_seen(VKFDEngine *e, unsigned engine, unsigned slot)
{
    return engine ? &e->sd.rlc_seen[engine - 1][slot] : &e->sd.hqd_seen[slot];
}

/*
 * Addresses a queue on a slot polls, and how many bytes at each; 0 if there is none that
 * can be watched, or it is about to look there anyway.
 */
static unsigned wait_addrs(VKFDEngine *e, unsigned engine, unsigned slot, uint64_t *pa,
                           uint8_t *len)
{
    const VKFDHqd *q;
    unsigned k, n = 0;

    if (engine) {
        *len = vkfd_sdma_rlc_wait(e, engine - 1, slot, pa);
        return *len != 0;
    }
    q = &e->hqd[slot];
    *len = q->wait_len;
    if (q->parked != VKFD_PARKED_WAIT || q->poll_now) {
        return 0;
    }
    for (k = 0; k < q->wait_mem; k++) {
        /* Of a PRT page nothing ever changes. */
        if (q->wait_pa[k] != UINT64_MAX) {
            pa[n++] = q->wait_pa[k];
        }
    }
    return n;
}

bool vkfd_seen_note(VKFDEngine *e, VKFDPeek *p, unsigned engine, unsigned slot)
{
    VKFDSchedSeen now;
    unsigned k;

    now.n = wait_addrs(e, engine, slot, now.pa, &now.len);
    for (k = 0; k < now.n; k++) {
        if (!vkfd_peek(e, p, now.pa[k], now.len, &now.seen[k])) {
            return false;
        }
    }
    if (now.n) {
        *vkfd_seen(e, engine, slot) = now;
    }
    return now.n;
}

bool vkfd_seen_noted(VKFDEngine *e, unsigned engine, unsigned slot)
{
    const VKFDSchedSeen *s = vkfd_seen(e, engine, slot);
    uint64_t pa[VKFD_SCHED_WAITS];
    uint8_t len;

    return s->n && wait_addrs(e, engine, slot, pa, &len) == s->n && len == s->len &&
           !memcmp(pa, s->pa, s->n * sizeof(pa[0]));
}

bool vkfd_seen_unchanged(VKFDEngine *e, VKFDPeek *p, unsigned engine, unsigned slot)
{
    const VKFDSchedSeen *s = vkfd_seen(e, engine, slot);
    uint64_t v;

    if (!vkfd_seen_noted(e, engine, slot)) {
        return false;
    }
    for (unsigned k = 0; k < s->n; k++) {
        /* What cannot be read any more is for the queue to report. */
        if (!vkfd_peek(e, p, s->pa[k], s->len, &v)) {
            return false;
        }
        if (v != s->seen[k]) {
            vkfd_heard(e);
            return false;
        }
    }
    return true;
}

void vkfd_seen_forget(VKFDEngine *e)
{
    uint64_t mask = e->waiting_mask;
    unsigned i;

    while (mask) {
        e->sd.hqd_seen[vkfd_mask_next(&mask)].n = 0;
    }
    for (i = 0; e->sdma_waiting && i < VKFD_SCHED_SDMA * VKFD_SCHED_SDMA_RLC; i++) {
        e->sd.rlc_seen[i / VKFD_SCHED_SDMA_RLC][i % VKFD_SCHED_SDMA_RLC].n = 0;
    }
}
