/* SPDX-License-Identifier: MIT */
/*
 * The inputs to begin with, made by the packet builders of the unit tests: each packet
 * once in a ring and once in an IB, each wait parked and let go, each action once.
 */
#include "fuzz.h"
#include "aql-common.h"

static const char *seed_dir;
static unsigned nseeds;

void seed8(Seed *s, unsigned v)
{
    FUZZ_CHECK(s->n < sizeof(s->buf));
    s->buf[s->n++] = v;
}

void seed16(Seed *s, unsigned v)
{
    seed8(s, v);
    seed8(s, v >> 8);
}

static void seed32(Seed *s, uint32_t v)
{
    seed16(s, v);
    seed16(s, v >> 16);
}

void seed_act(Seed *s, FuzzAct act)
{
    seed8(s, fuzz_act_code(fz.t, act));
}

/* Items of the tagged form of dwords; s NULL: only count. */
static unsigned tagged(Seed *s, bool kern, const uint32_t *dw, unsigned n)
{
    unsigned i, items = 0;
    uint32_t pool, off;

    for (i = 0; i < n; i++, items++) {
        if (i + 1 < n && dw[i + 1] &&
            fuzz_pool_of(kern, vkfd_pair(dw[i], dw[i + 1]), &pool, &off)) {
            i++;
            if (s) {
                seed8(s, TAG_VA + pool);
                seed16(s, off);
            }
        } else if (s && dw[i] < 0x80) {
            seed8(s, dw[i]);
        } else if (s && dw[i] == ~0u) {
            seed8(s, TAG_ONES);
        } else if (s) {
            seed8(s, TAG_32);
            seed32(s, dw[i]);
        }
    }
    return items;
}

void seed_dwords(Seed *s, const uint32_t *dw, unsigned n)
{
    seed8(s, tagged(NULL, s->kernel, dw, n));
    tagged(s, s->kernel, dw, n);
}

void seed_packet(Seed *s, const uint32_t *dw, unsigned n)
{
    seed_act(s, FUZZ_DWORDS);
    seed_dwords(s, dw, n);
}

static void seed_dest(Seed *s, unsigned dest)
{
    seed_act(s, FUZZ_DEST);
    seed8(s, dest);
}

void seed_kick(Seed *s, unsigned q)
{
    seed_act(s, FUZZ_KICK);
    seed8(s, q);
}

void seed_run(Seed *s, unsigned n)
{
    seed_act(s, FUZZ_RUN);
    seed8(s, n - 1);
}

static void seed_advance(Seed *s, unsigned log2ns)
{
    seed_act(s, FUZZ_ADVANCE);
    seed8(s, log2ns);
}

static void seed_store(Seed *s, unsigned pool, unsigned off, const uint32_t *dw, unsigned n)
{
    seed_act(s, FUZZ_STORE);
    seed8(s, pool);
    seed16(s, off);
    seed_dwords(s, dw, n);
}

void seed_done(Seed *s)
{
    char path[4096];
    FILE *f;
    bool kern = s->kernel;

    snprintf(path, sizeof(path), "%s/seed-%02u", seed_dir, nseeds++);
    f = fopen(path, "wb");
    if (!f || fwrite(s->buf, 1, s->n, f) != s->n || fclose(f)) {
        fuzz_fail("cannot write %s", path);
    }
    *s = (Seed) { .kernel = kern };
}

void fuzz_write_seeds(const char *dir)
{
    seed_dir = dir;
    fz.t->seeds();
    printf("%u\n", nseeds);
}

/* ---- PM4 ---- */

#define SELF(n)         (kern ? VKFD_FB_LOCATION_BASE : VA0) + (n)
#define WORDS(va)       LO(va), HI(va)

/* Bodies of packets by kind; 0 ends. */
static unsigned pm4_packet(uint32_t *p, unsigned i, bool kern)
{
    uint64_t out = SELF(FUZZ_OUT), flag = SELF(FUZZ_OUT + 0x100);
    const struct {
        uint8_t op, n;
        uint32_t body[9];
    } packets[] = {
        { IT_NOP, 2, { 1, 2 } },
        { IT_WRITE_DATA, 5, { 5u << 8, WORDS(out), 1, 2 } },
        { IT_WRITE_DATA, 5, { 5u << 8 | WRITE_DATA__ADDR_INCR_DISABLE, WORDS(out + 8), 1, 2 } },
        { IT_WRITE_DATA, 4, { 0, mmSCRATCH_REG0, 0, 7 } },
        { IT_COPY_DATA, 5, { 1 | 5u << 8, WORDS(out), WORDS(out + 16) } },
        { IT_COPY_DATA, 5, { 5 | 2u << 8 | COPY_DATA__COUNT_SEL, 1, 2, WORDS(out + 24) } },
        { IT_COPY_DATA, 5, { 9 | 5u << 8 | COPY_DATA__COUNT_SEL, 0, 0, WORDS(out + 32) } },
        { IT_COPY_DATA, 5, { 6 | 0u << 8, 0, 0, mmSCRATCH_REG0 + 1, 0 } },
        { IT_COPY_DATA, 5, { 0 | 5u << 8, mmSCRATCH_REG0, 0, WORDS(out + 40) } },
        { IT_DMA_DATA, 6, { 0, WORDS(out), WORDS(out + 0x800), 0x100 } },
        { IT_DMA_DATA, 6, { 2u << 29, 5, 0, WORDS(out + 0x400), 0x9001 } },
        { IT_DMA_DATA, 6, { 0, WORDS(out), WORDS(out + 0x40), 0x40 | DMA_DATA__SAIC } },
        { IT_DMA_DATA, 6, { 2u << 20, WORDS(out), WORDS(out), 0x40 | DMA_DATA__DAIC } },
        { IT_ATOMIC_MEM, 8, { TC_OP_ATOMIC_ADD | TC_OP__64, WORDS(flag + 8), 1, 0, 0, 0, 4 } },
        { IT_ATOMIC_MEM, 8, { TC_OP_ATOMIC_CMPSWAP | 1u << 8, WORDS(flag + 16), 5, 0, 0, 0, 4 } },
        { IT_ATOMIC_MEM, 8, { TC_OP_ATOMIC_DEC, WORDS(flag + 24), 1, 0, 0, 0, 4 } },
        { IT_COND_EXEC, 4, { WORDS(flag + 0x20), 0, 3 } },
        { IT_NOP, 2, { 3, 4 } },
        { IT_SET_SH_REG, 3, { 0x20, 1, 2 } },
        { IT_SET_UCONFIG_REG, 2, { 0x40, 3 } },
        { IT_DISPATCH_DIRECT, 4, { 1, 1, 1, 1 } },
        { IT_DISPATCH_INDIRECT, 3, { WORDS(out), 1 } },
        { IT_EVENT_WRITE, 1, { CS_PARTIAL_FLUSH | 4u << 8 } },
        { IT_ACQUIRE_MEM, 6, { 0, ~0u, 0, 0, 0, 10 } },
        { IT_WAIT_REG_MEM, 6, { 3 | 1u << 4, WORDS(flag), 0, ~0u, 4 } },
        { IT_WAIT_REG_MEM64, 8, { 5 | 1u << 4, WORDS(flag), 0, 0, ~0u, ~0u, 4 } },
        { IT_WAIT_REG_MEM, 6, { 0, mmSCRATCH_REG0, 0, 1, 3, 4 } },
        { IT_RELEASE_MEM, 7, { 0x514, 2u << 29 | 2u << 24, WORDS(out + 48), 7, 0, 5 } },
        { IT_RELEASE_MEM, 7, { 0x514, 3u << 29 | 1u << 24, WORDS(out + 56), 0, 0, 6 } },
        { IT_RELEASE_MEM, 7, { 0x514, 1u << 29, WORDS(out + 60), 8, 0, 0 } },
    };
    unsigned k;

    if (i >= sizeof(packets) / sizeof(packets[0])) {
        return 0;
    }
    p[0] = PACKET3_COMPUTE(packets[i].op, packets[i].n);
    for (k = 0; k < packets[i].n; k++) {
        p[1 + k] = packets[i].body[k];
    }
    return packets[i].n + 1;
}

/* The packets in groups, in the ring, then all in one IB that others chain to. */
static void pm4_seeds(Seed *s, bool kern)
{
    uint32_t p[16], total = 0;
    unsigned i, n;

    s->kernel = kern;
    for (i = 0; (n = pm4_packet(p, i, kern)); i++) {
        seed_packet(s, p, n);
        if (i % 6 == 5) {
            seed_kick(s, 0);
            seed_run(s, 3);
            seed_done(s);
        }
    }

    seed_dest(s, 8 | 4);
    for (i = 0; (n = pm4_packet(p, i, kern)); i++) {
        seed_packet(s, p, n);
        total += n;
    }
    seed_packet(s, p, pkt_ib(p, SELF(IB_ADDR(1)), 5, true));
    seed_dest(s, 8 | 5);
    seed_packet(s, p, pkt_write(p, SELF(FUZZ_OUT), 9));
    seed_dest(s, 0);
    seed_packet(s, p, pkt_ib(p, SELF(IB_ADDR(0)), total + 4, false));
    seed_kick(s, 0);
    seed_run(s, 8);
    seed_done(s);
}

/* A wait; then the CPU, a packet of another queue, a doorbell or a dequeue. */
static void wait_seeds(Seed *s, bool kern)
{
    uint32_t p[16], one = 1, none = 0;
    unsigned how;

    for (how = 0; how < 6; how++) {
        seed_packet(s, p, pkt_wait_mem(p, SELF(FUZZ_OUT + 0x100), WAIT_REG_MEM_EQ, 1, ~0u));
        seed_packet(s, p, pkt_write(p, SELF(FUZZ_OUT + 0x110), 2));
        seed_kick(s, 0);
        seed_run(s, 2);
        seed_advance(s, 15);
        seed_act(s, FUZZ_SAVE);
        seed_run(s, 2);
        switch (how) {
        case 0:
            seed_store(s, 0, 0x100, &one, 1);
            seed_advance(s, 22);
            break;
        case 1:
            seed_dest(s, 1);
            seed_packet(s, p, pkt_write(p, SELF(FUZZ_OUT + 0x100), 1));
            seed_kick(s, 1);
            seed_run(s, 4);
            break;
        case 2:
            seed_act(s, FUZZ_DEQUEUE);
            seed8(s, 1 << 2);
            seed_store(s, 0, 0x100, &one, 1);
            seed_act(s, FUZZ_LOAD);
            seed8(s, 0);
            seed_run(s, 4);
            break;
        case 3:                 /* the packet it waits at becomes another */
            seed_store(s, 3, 0, &none, 1);
            seed_advance(s, 22);
            break;
        case 4:                 /* another waits too, since later */
            seed_dest(s, 1);
            seed_packet(s, p, pkt_wait_mem(p, SELF(FUZZ_OUT + 0x108), WAIT_REG_MEM_EQ, 1,
                                           ~0u));
            seed_kick(s, 1);
            seed_run(s, 4);
            seed_advance(s, 17);
            break;
        default:
            seed_act(s, FUZZ_RESET);
            seed8(s, 1);
            seed_act(s, FUZZ_LOAD);
            seed8(s, 0);
            seed_act(s, FUZZ_FLUSH);
            seed16(s, 0xffff);
            seed_run(s, 2);
            break;
        }
        seed_done(s);
    }
}

/* A packet of which the ring ends in the middle, a length that lies, a wild wptr. */
static void broken_seeds(Seed *s, bool kern)
{
    uint32_t p[16];
    unsigned i, n = pkt_write(p, SELF(FUZZ_OUT), 3);

    s->kernel = kern;
    seed_packet(s, p, n - 2);
    seed_kick(s, 0);
    seed_run(s, 2);
    seed_packet(s, p + n - 2, 2);
    seed_kick(s, 0);
    seed_run(s, 2);
    for (i = 0; i < 2; i++) {
        seed_act(s, FUZZ_PACKET);
        seed8(s, i ? 0xf0 : 3);
        if (i) {
            seed8(s, 0xff);
        }
        seed8(s, 1);
        seed8(s, i ? 0 : 0x83);
        seed8(s, 1);
        seed_kick(s, 0);
        seed_run(s, 1);
    }
    seed_done(s);
    seed_act(s, FUZZ_KICK);
    seed8(s, 4);
    seed32(s, 0xfffff000);
    seed_run(s, 16);
    seed_done(s);
}

/* What a queue may not or cannot do: each in a ring of its own, as it stops that. */
static void refused_seeds(Seed *s, bool kern)
{
    const uint64_t out = SELF(FUZZ_OUT), ib = SELF(IB_ADDR(3));
    const unsigned rings = kern ? 2 : 4;        /* of the kernel's there are two */
    uint32_t p[16], i, n;

    for (i = 0; i < 24; i++) {
        uint64_t odd = fuzz_va(kern, 6, (i & 7) << 13), door = fuzz_va(kern, 5, DOORBELL_DW(1) * 4);

        n = pkt_write(p, odd, i);
        if (i >= 8 && i < 16) {
            const uint32_t copy[] = {
                PACKET3_COMPUTE(IT_COPY_DATA, 5), 1 | 5u << 8, WORDS(odd), WORDS(out),
            };

            memcpy(p, copy, sizeof(copy));
            n = 6;
        }
        switch (i) {
        case 16:
            p[1] = 0;                   /* a register of the kernel's */
            p[2] = mmGRBM_GFX_CNTL;
            p[3] = 0;
            break;
        case 17:
            n = pkt_write(p, door, 5);
            break;
        case 18:
            n = pkt_ib(p, out + 0x8000, 0, false);
            break;
        case 19:
            n = pkt_ib(p, ib, 4, false);        /* which enters itself for ever */
            break;
        case 20: {
            const uint32_t dma[] = {
                PACKET3_COMPUTE(IT_DMA_DATA, 6), 2u << 29, 7, 0, WORDS(out), 0x20000,
            };

            memcpy(p, dma, sizeof(dma));
            n = 7;
            break;
        }
        case 21:
            n = pkt_wait_mem(p, fuzz_va(kern, 6, 6 << 13), WAIT_REG_MEM_EQ, 1, ~0u);
            break;
        case 22:
            n = pkt_write(p, fuzz_va(kern, 7, 8), 5);
            break;
        case 23:
            n = pkt_release(p, fuzz_va(kern, 4, 0xfff8), 1, RELEASE_MEM_DATA_64,
                            RELEASE_MEM_INT_AFTER_WRITE, 1);
            break;
        }
        seed_dest(s, i % rings);
        seed_packet(s, p, n);
        seed_kick(s, i % rings);
        if (i == 19) {
            s->kernel = false;          /* IB 3 is written for a user's ring */
            seed_dest(s, 8 | 7);
            seed_packet(s, p, pkt_ib(p, ib, 4, true));
            s->kernel = kern;
        }
        if (i % rings == rings - 1) {
            seed_run(s, 8);
            seed_done(s);
        }
    }
}

void fuzz_seeds_user(void)
{
    Seed s = { 0 };

    pm4_seeds(&s, false);
    wait_seeds(&s, false);
    broken_seeds(&s, false);
    refused_seeds(&s, false);
}

void fuzz_seeds_kernel(void)
{
    Seed s = { 0 };
    const bool kern = true;
    uint32_t p[16];

    pm4_seeds(&s, true);
    wait_seeds(&s, true);
    broken_seeds(&s, true);
    refused_seeds(&s, true);
    /* an IB in a user's VMID */
    seed_packet(&s, p, pkt_ib(p, VA0 + IB_ADDR(0), 5 | 8u << 24, false));
    s.kernel = false;
    seed_dest(&s, 8 | 6);
    seed_packet(&s, p, pkt_write(p, VA0 + FUZZ_OUT, 9));
    seed_kick(&s, 0);
    seed_run(&s, 3);
    seed_done(&s);
    /* a queue that takes itself off */
    s.kernel = true;
    p[0] = PACKET3_COMPUTE(IT_WRITE_DATA, 4);
    p[1] = 0;
    p[2] = mmCP_HQD_DEQUEUE_REQUEST;
    p[3] = 0;
    p[4] = 1;
    seed_packet(&s, p, 5);
    seed_packet(&s, p, pkt_write(p, SELF(FUZZ_OUT), 9));
    seed_kick(&s, 0);
    seed_run(&s, 3);
    seed_done(&s);
}

/* ---- AQL ---- */

static void seed_aql(Seed *s, const uint32_t p[16])
{
    unsigned n = AQL_PACKET_DW;

    while (n > 1 && !p[n - 1]) {
        n--;
    }
    seed_act(s, FUZZ_AQL);
    seed16(s, p[0]);
    seed_dwords(s, p, n);
}

static void seed_aql_go(Seed *s)
{
    seed_kick(s, 0);
    seed_run(s, 3);
}

void fuzz_seeds_aql(void)
{
    Seed s = { 0 };
    uint32_t p[16], dw[4] = { 0 }, one[2] = { 1, 0 };
    unsigned kind;

    for (kind = 0; kind < 3; kind++) {
        aql_barrier(p, kind == 1 ? H_OR : H_AND, 1, 2, 3);
        seed_store(&s, 1, 1 * 64 + AMD_SIGNAL_VALUE, one, 2);
        if (kind == 2) {        /* a mailbox, time stamps */
            dw[0] = LO(VA0 + MBOX(3));
            dw[1] = HI(VA0 + MBOX(3));
            dw[2] = 77;
            seed_store(&s, 1, 3 * 64 + AMD_SIGNAL_MAILBOX_PTR, dw, 3);
            dw[0] = AMD_QUEUE_PROPERTY_PROFILING;
            seed_store(&s, 6, AMD_QUEUE_PROPERTIES, dw, 1);
        }
        seed_aql(&s, p);
        seed_aql_go(&s);
        dw[0] = 0;
        seed_store(&s, 1, 1 * 64 + AMD_SIGNAL_VALUE, dw, 1);
        seed_advance(&s, 21);
        seed_done(&s);
    }
    /* all five wait, and what lies behind them is not one */
    aql_barrier(p, H_AND, 1, 1, 3);
    for (kind = 2; kind < 14; kind += 2) {
        p[kind] = LO(SIG_VA(1));
        p[kind + 1] = HI(SIG_VA(1));
    }
    seed_store(&s, 1, 1 * 64 + AMD_SIGNAL_VALUE, one, 2);
    seed_aql(&s, p);
    seed_aql_go(&s);
    seed_done(&s);
    aql_dispatch(p, 0, 1, 1, 1);
    seed_aql(&s, p);
    aql_dispatch(p, 64, 1, 1, 1);
    seed_aql(&s, p);
    seed_aql_go(&s);
    seed_done(&s);

    aql_barrier(p, AQL_PACKET_VENDOR | AQL_VENDOR_BARRIER_VALUE << 16, 0, 0, 4);
    p[AQL_BARRIER_VALUE_SIGNAL_DW] = LO(SIG_VA(2));
    p[AQL_BARRIER_VALUE_SIGNAL_DW + 1] = HI(SIG_VA(2));
    p[AQL_BARRIER_VALUE_VALUE_DW] = 1;
    p[AQL_BARRIER_VALUE_MASK_DW] = ~0u;
    p[AQL_BARRIER_VALUE_COND_DW] = AQL_COND_GTE;
    seed_aql(&s, p);
    seed_aql_go(&s);
    seed_store(&s, 1, 2 * 64 + AMD_SIGNAL_VALUE, one, 2);
    seed_act(&s, FUZZ_SAVE);
    seed_run(&s, 3);
    seed_done(&s);

    aql_pm4_ib(p, VA0 + IB_ADDR(0), 13, 1);
    seed_aql(&s, p);
    seed_dest(&s, 8 | 4);
    seed_packet(&s, p, pkt_release(p, VA0 + FUZZ_OUT, 1, RELEASE_MEM_DATA_32,
                                   RELEASE_MEM_INT_AFTER_WRITE, 9));
    seed_packet(&s, p, pkt_write(p, VA0 + FUZZ_OUT, 2));
    seed_aql_go(&s);
    seed_done(&s);

    /* an error, told by the inactive signal */
    dw[0] = LO(SIG_VA(5));
    dw[1] = HI(SIG_VA(5));
    seed_store(&s, 6, AMD_QUEUE_INACTIVE_SIGNAL, dw, 2);
    aql_barrier(p, AQL_PACKET_AGENT_DISPATCH, 0, 0, 0);
    seed_aql(&s, p);
    seed_aql_go(&s);
    seed_done(&s);

    /* a slot that its producer fills late */
    aql_barrier(p, AQL_PACKET_INVALID, 0, 0, 0);
    seed_aql(&s, p);
    seed_aql_go(&s);
    p[0] = H_AND;
    seed_store(&s, 3, 0, p, 1);
    seed_advance(&s, 21);
    seed_act(&s, FUZZ_DEQUEUE);
    seed8(&s, 1 << 2);
    seed_act(&s, FUZZ_LOAD);
    seed8(&s, 0);
    seed_aql(&s, p);
    seed_aql_go(&s);
    seed_done(&s);
}

/* ---- registers, state, injection ---- */

static void seed_reg(Seed *s, uint32_t dw, uint32_t val)
{
    uint32_t i;

    for (i = 0; i < fz.nregs && fz.regs[i] != dw; i++) {
    }
    FUZZ_CHECK(i < fz.nregs);
    seed_act(s, FUZZ_REG_WRITE);
    seed16(s, i);
    tagged(s, true, &val, 1);
}

static void seed_select(Seed *s, unsigned q)
{
    seed_reg(s, mmGRBM_GFX_CNTL, 1u << 2 | q << 8);
}

void fuzz_seeds_regs(void)
{
    Seed s = { .kernel = true };
    const bool kern = false;
    uint32_t p[16];
    unsigned i;

    /* each action once, around a queue that runs, stands still and goes on */
    seed_select(&s, 1);
    seed_reg(&s, mmCP_MEC_CNTL, 0x50000000);
    s.kernel = false;
    seed_dest(&s, 1);
    seed_packet(&s, p, pkt_write(p, SELF(FUZZ_OUT), 1));
    seed_kick(&s, 1);
    seed_run(&s, 1);
    seed_reg(&s, mmCP_MEC_CNTL, 0);
    seed_run(&s, 1);
    seed_done(&s);

    seed_select(&s, 2);
    seed_reg(&s, mmCP_HQD_ACTIVE, 0);
    seed_reg(&s, mmCP_HQD_PQ_CONTROL, 0x3f);
    seed_reg(&s, mmCP_HQD_ACTIVE, 1);
    seed_run(&s, 1);
    seed_reg(&s, mmCP_HQD_DEQUEUE_REQUEST, 2);
    seed_reg(&s, mmGRBM_SOFT_RESET, 1);
    seed_reg(&s, mmGRBM_SOFT_RESET, 0);
    seed_done(&s);

    seed_reg(&s, mmIH_RB_CNTL, 0);
    seed_reg(&s, mmIH_RB_WPTR, 32);
    seed_reg(&s, mmIH_RB_CNTL, 0x1ff);
    seed_reg(&s, mmVM_CONTEXT0_CNTL + TEST_VMID, 0);
    seed_reg(&s, mmVM_INVALIDATE_ENG0_REQ, 0x1ffff);
    for (i = 0; i < 4; i++) {
        seed_act(&s, FUZZ_FRONT);
        seed8(&s, i);
    }
    seed_done(&s);

    for (i = 0; i < 16; i++) {
        seed_act(&s, FUZZ_ARM);
        seed8(&s, i);
        seed_packet(&s, p, pkt_release(p, SELF(FUZZ_OUT), 7, RELEASE_MEM_DATA_64,
                                       RELEASE_MEM_INT_AFTER_WRITE, 3));
        seed_kick(&s, 1);
        seed_run(&s, 3);
        seed_advance(&s, 21);
    }
    seed_done(&s);

    seed_act(&s, FUZZ_DOORBELL);
    seed16(&s, DOORBELL_DW(1));
    seed8(&s, 2);
    seed8(&s, 5);
    seed_act(&s, FUZZ_CTRL);
    seed16(&s, VKFD_CTRL_INJECT_GO | 1);
    seed8(&s, VKFD_INJECT_GO_ARM);
    for (i = VKFD_CTRL_CNT_SELECT; i <= VKFD_CTRL_INJECT_SELECT; i += 4) {
        seed_act(&s, FUZZ_CTRL);        /* one behind the last, then what it selects */
        seed16(&s, i | 1);
        seed8(&s, i == VKFD_CTRL_CNT_SELECT ? VKFD_CNT_MAX : 1);
        seed_act(&s, FUZZ_CTRL);
        seed16(&s, i + 4);
    }
    seed_act(&s, FUZZ_PTE);
    seed16(&s, 512 * 4);
    tagged(&s, true, p, 2);
    seed_act(&s, FUZZ_REG_READ);
    seed16(&s, 0x8000);
    seed_done(&s);
}

void fuzz_seeds_state(void)
{
    Seed s = { 0 };
    unsigned kind;

    seed8(&s, 0);
    seed_run(&s, 4);
    seed_advance(&s, 22);
    seed_done(&s);
    /* one field of a slot a seed would be a hundred files: eleven of them in one */
    for (kind = 0; kind < 22; kind++) {
        if (kind % 11 == 0) {
            seed8(&s, 11);
        }
        seed8(&s, 0x80 + 22 * 3 + kind);
        seed8(&s, 1);
        seed8(&s, 1);
        seed8(&s, 1);
        if (kind % 11 == 10) {
            seed_run(&s, 4);
            seed_done(&s);
        }
    }
    for (kind = 0; kind < 19; kind += 3) {
        seed8(&s, 1);
        seed8(&s, kind + 19);
        seed32(&s, 0);
        seed8(&s, 1);
        seed8(&s, 1);
        seed_run(&s, 4);
        seed_advance(&s, 20);
        seed_done(&s);
    }
}

#define ENTRY   "00000000_11111111_22222222_33333333_44444444_55555555_66666666_77777777"

void fuzz_seeds_inject(void)
{
    static const char *const texts[] = {
        "doorbell:dup@1/3;fetch:drop@5/7*2\n", "slot:delay:3us@2/2;slot:corrupt:=17@1\n",
        "ih-entry:corrupt:3^0xff@1;ih-wptr:delay@3\n", "msix:dup:1ms@1/5\n",
        "page-walk:corrupt:^0x1@2;preempt:hang@1\n", "device:delay:1s@2;device:gone@4\n",
        "ih-entry:insert:" ENTRY "@0\n", "fetch:hang@1\n", "device:hang@0\n", "slot:drop@\n",
        "msix:drop@3*4;fetch:corrupt@1*2; slot:dup:5us@2/1*3\n",
    };
    Seed s = { 0 };
    const bool kern = false;
    uint32_t p[16];
    unsigned i, k;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (k = 0; texts[i][k]; k++) {
            seed8(&s, texts[i][k]);
        }
        for (k = 0; k < 3; k++) {
            seed_packet(&s, p, pkt_release(p, SELF(FUZZ_OUT), 7, RELEASE_MEM_DATA_64,
                                           RELEASE_MEM_INT_AFTER_WRITE, 3));
            seed_kick(&s, 0);
            seed_run(&s, 3);
        }
        seed_act(&s, FUZZ_DEQUEUE);
        seed8(&s, 1 << 2);
        seed_advance(&s, 23);
        seed_done(&s);
    }
}
