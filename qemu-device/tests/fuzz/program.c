/* SPDX-License-Identifier: MIT */
/*
 * Programs. Each action is a byte, taken modulo what the target may do, then its
 * operands:
 *   PACKET   opcode (index into the table, from 0xf0 on any), items, header mode, dwords
 *   DWORDS   items, dwords: as they are
 *   DEST     where packets go: ring 0..3, IB 4..7; bit 3 starts an IB anew
 *   KICK     queue; bit 2: with a wptr of 32 bits. Else to the end of what was written
 *   RUN      times        ADVANCE  log2 of ns        FLUSH  VMIDs (TLBs)
 *   STORE    pool, offset (16 bits), items, dwords: by a CPU
 *   DEQUEUE  queue, request        LOAD  queue (activates it)
 *   SAVE     state to another engine, the program goes on there
 *   RESET    1: cold; then registers as a driver sets them up
 *   AQL      header (16 bits), items, dwords: one packet, if the ring is one of AQL
 *   REG_WRITE / REG_READ  register: 16 bits, index or (bit 15) any; write: one dword
 *   DOORBELL dword index (16 bits), kind, one or two dwords
 *   CTRL     offset (16 bits), bit 0 write: one dword
 *   ARM      which text    FRONT  what else a front end may call
 *   PTE      index of the entry (16 bits), dwords of it
 *   OWN      as the target says
 * Dwords: items with tags, so that a mutation of a byte keeps an address an address.
 */
#include "fuzz.h"
#include "aql-common.h"

#define MAX_TIMERS      64      /* that expire in one ADVANCE */
#define MAX_RUNS        16      /* in one RUN */

static unsigned nops;
static uint8_t opcodes[256];

static const char *const arm_texts[] = {
    "", "doorbell:dup@1/3", "fetch:drop@2/3", "slot:delay:3us@1/2", "fetch:hang@2",
    "ih-entry:dup@1/2;msix:drop@1", "ih-wptr:delay@1/2;ih-wptr:corrupt@2/3",
    "page-walk:drop@3/5", "preempt:delay@1/2;preempt:hang@2/5", "fetch:delay:1us@1/2",
    "device:hang@3", "device:gone@4", "device:delay:20us@2/4", "fetch:corrupt@3/4",
    "slot:corrupt:=0@1/2;slot:dup:2us@2/3;doorbell:delay:4us@2/2", "fetch:dup@1/1",
    "doorbell:pause@2/3;fetch:pause@3/5;slot:pause@1/3;preempt:pause@1/2",
    "ih-entry:pause@1/3;ih-wptr:pause@2/3;msix:pause@2/2;page-walk:pause@2/3",
};

/* ---- dwords ---- */

static uint32_t one(FuzzInput *in, bool kernel)
{
    uint32_t dw[2];

    return fuzz_dwords(in, kernel, dw, 1, 2) ? dw[0] : 0;
}

unsigned fuzz_dwords(FuzzInput *in, bool kernel, uint32_t *dw, unsigned items, unsigned max)
{
    unsigned n = 0, pool;

    while (items-- && n + 1 < max && in->n) {
        uint8_t tag = in8(in);
        uint64_t va;

        if (tag >= TAG_VA && tag < TAG_VA + FUZZ_POOLS) {
            va = fuzz_va(kernel, tag - TAG_VA, in16(in));
            dw[n++] = va;
            dw[n++] = va >> 32;
            continue;
        }
        switch (tag) {
        case TAG_32:
            dw[n++] = in32(in);
            break;
        case TAG_REG:
            dw[n++] = fz.regs[in16(in) % fz.nregs];
            break;
        case TAG_ONES:
            dw[n++] = ~0u;
            break;
        case TAG_16:
            dw[n++] = in16(in);
            break;
        case TAG_BIT:
            dw[n++] = 1u << (in8(in) & 31);
            break;
        case TAG_REPEAT:
            for (pool = in8(in) * 8; n && pool && n < max; pool--, n++) {
                dw[n] = dw[n - 1];
            }
            break;
        case TAG_VA_LO:
            pool = in8(in);
            dw[n++] = fuzz_va(kernel, pool, in16(in));
            break;
        default:
            dw[n++] = tag & 0x7f;
            break;
        }
    }
    return n;
}

/* To where packets go at present. */
static void emit(const uint32_t *dw, unsigned n)
{
    unsigned q = fz.dest % FUZZ_QUEUES, i;

    if (fz.dest >= FUZZ_QUEUES) {
        for (i = 0; i < n; i++) {
            uint32_t at = IB_ADDR(q) + fz.ib_pos[q]++ % FUZZ_IB_DW * 4;

            fuzz_touch_vram(at, 4);
            set_vram32(fz.b, at, dw[i]);
        }
        return;
    }
    fuzz_touch_vram(RING(q), RING_DW * 4);
    queue_emit(fz.b, q, dw, n);
}

/* Every opcode of the table. */
void fuzz_find_opcodes(void)
{
    unsigned i;

    for (i = 0; i < 256; i++) {
        if (vkfd_pm4_op(i)) {
            opcodes[nops++] = i;
        }
    }
}

static void packet(FuzzInput *in)
{
    uint32_t dw[FUZZ_MAX_DW + 1];
    uint8_t op = in8(in), items = in8(in), mode = in8(in);
    unsigned n;

    op = fz.t->header ? op : op < 0xf0 ? opcodes[op % nops] : in8(in);
    n = fuzz_dwords(in, fuzz_kernel(fz.dest), dw + 1, items % 32, FUZZ_MAX_DW);
    if (fz.t->header) {
        dw[0] = fz.t->header(op, mode, n + 1);
        emit(dw, n + 1);
        return;
    }
    dw[0] = n ? PACKET3_COMPUTE(op, n) : PACKET3_COMPUTE(op, 1);
    if (mode & 0x80) {          /* says another length */
        dw[0] ^= 1u << (PM4_HEADER__COUNT__SHIFT + mode % 14);
    } else if (mode & 0x40) {   /* another type */
        dw[0] ^= (uint32_t)(mode & 3) << PM4_HEADER__TYPE__SHIFT;
    }
    emit(dw, n + 1);
}

static void dwords(FuzzInput *in)
{
    uint32_t dw[FUZZ_MAX_DW];

    emit(dw, fuzz_dwords(in, fuzz_kernel(fz.dest), dw, in8(in) % 64, FUZZ_MAX_DW));
}

static void aql(FuzzInput *in)
{
    uint32_t dw[AQL_PACKET_DW] = { 0 };
    unsigned q = fz.dest % FUZZ_QUEUES;
    uint16_t header = in16(in);

    fuzz_dwords(in, fuzz_kernel(q), dw, in8(in) % 16, AQL_PACKET_DW);
    dw[0] = (dw[0] & 0xffff0000) | header;
    if (fz.t->aql >> q & 1) {
        fuzz_touch_vram(AQ(q), 0x400);
        fuzz_touch_vram(RING(q), RING_DW * 4);
        aql_emit(fz.b, q, dw);
    }
}

/* ---- actions ---- */

void fuzz_run(unsigned n)
{
    Bus *b = fz.b;

    while (b->scheduled && n-- && fz.work < FUZZ_WORK_MAX) {
        fuzz_call();
        fz.units = 0;
        b->scheduled = false;
        vkfd_engine_run(b->e);
        /* One visit may begin with a unit left, and its last packet be the largest. */
        FUZZ_CHECK(fz.units < VKFD_CP_RUN_UNITS + b->e->cp_budget +
                   VKFD_PM4_MAX_DW / VKFD_CP_DW_PER_UNIT + VKFD_PM4_MAX_REG_WRITES + 2);
        fz.work += fz.events + fz.bytes / 64;
    }
}

static void advance(unsigned log2ns)
{
    Bus *b = fz.b;
    uint64_t end = b->now + (1ull << log2ns % 34);
    unsigned fired;

    for (fired = 0; fired < MAX_TIMERS && fz.work < FUZZ_WORK_MAX; fired++) {
        unsigned i, next = VKFD_NUM_TIMERS;

        for (i = 0; i < VKFD_NUM_TIMERS; i++) {
            if (b->timer[i] >= 0 &&
                (next == VKFD_NUM_TIMERS || b->timer[i] < b->timer[next])) {
                next = i;
            }
        }
        if (next == VKFD_NUM_TIMERS || (uint64_t)b->timer[next] > end) {
            break;
        }
        if ((uint64_t)b->timer[next] > b->now) {
            b->now = b->timer[next];
        }
        b->timer[next] = -1;
        fuzz_call();
        vkfd_engine_timer(b->e, next);
        fuzz_check();
        fz.work += fz.events;
        fuzz_run(2);
    }
    b->now = end;
}

static void kick(FuzzInput *in)
{
    uint8_t q = in8(in);
    uint64_t wptr;

    wptr = q & 4 ? in32(in) : queue_wptr(q % FUZZ_QUEUES);
    if (fz.t->kick) {
        fz.t->kick(q % FUZZ_QUEUES, wptr);
        return;
    }
    if (q & 4) {
        vkfd_doorbell_write(fz.b->e, DOORBELL_DW(q % FUZZ_QUEUES) * 4, wptr, 8);
        return;
    }
    q %= FUZZ_QUEUES;
    if (fz.t->aql >> q & 1) {
        aql_ring(fz.b, q);
    } else {
        fuzz_touch_vram(WPTR_ADDR(q), 8);
        queue_kick(fz.b, q);
    }
}

static void save(void)
{
    VKFDEngine *e = fuzz_other_engine();

    FUZZ_CHECK(fuzz_load_state(e, fz.b->e));
    memcpy(fz.b->e, e, sizeof(*e));
}

static uint32_t reg(FuzzInput *in)
{
    uint16_t i = in16(in);

    return i & 0x8000 ? (i & 0x7fff) * 32u : fz.regs[i % fz.nregs] * 4;
}

static void doorbell(FuzzInput *in)
{
    uint32_t off = in16(in) * 4u, val;
    uint8_t kind = in8(in);

    val = one(in, false);
    if (kind & 1) {
        vkfd_doorbell_read(fz.b->e, off + (kind >> 6), kind & 2 ? 8 : 4);
    } else {
        vkfd_doorbell_write(fz.b->e, kind & 4 ? DOORBELL_DW(off % 8) * 4 : off + (kind >> 6),
                            val | (kind & 8 ? (uint64_t)val << 32 : 0),
                            kind & 2 ? 8 : kind & 0x10 ? 2 : 4);
    }
}

static void ctrl(FuzzInput *in)
{
    uint16_t off = in16(in);

    if (off & 1) {
        vkfd_ctrl_write(fz.b->e, off & 0xffe, one(in, false));
    } else {
        vkfd_ctrl_read(fz.b->e, off & 0xffe);
    }
}

static void arm(FuzzInput *in)
{
    VKFDInjectError err;

    FUZZ_CHECK(vkfd_inject_arm(fz.b->e,
                               arm_texts[in8(in) % (sizeof(arm_texts) / sizeof(arm_texts[0]))],
                               &err));
}

static void front(FuzzInput *in)
{
    VKFDEngine *e = fz.b->e;
    uint8_t what = in8(in);

    switch (what % 4) {
    case 0:
        vkfd_engine_irq_path_up(e);
        break;
    case 1:
        vkfd_engine_set_bars(e, what & 8, BAR0_ADDR + (what & 16 ? 1u << 20 : 0),
                             VRAM_SIZE, BAR2_ADDR);
        break;
    case 2:
        vkfd_count(e, what >> 2);
        break;
    default:
        vkfd_engine_timer(e, what >> 2 & 3);
        break;
    }
}

static void pte(FuzzInput *in)
{
    uint64_t at = VM_ROOT + in16(in) * 8u;
    uint32_t dw[4];
    unsigned n = fuzz_dwords(in, true, dw, 2, 4), i;

    for (i = 0; i < n && i < 2; i++) {
        fuzz_touch_vram(at + i * 4, 4);
        set_vram32(fz.b, at + i * 4, dw[i]);
    }
}

static void store(FuzzInput *in)
{
    uint32_t dw[FUZZ_MAX_DW];
    uint8_t pool = in8(in);
    uint16_t off = in16(in);
    uint8_t items = in8(in);

    fuzz_store(pool, off, dw, fuzz_dwords(in, pool & 8, dw, items % 32, FUZZ_MAX_DW));
}

static void act(FuzzAct what, FuzzInput *in)
{
    Bus *b = fz.b;
    unsigned q;

    switch (what) {
    case FUZZ_PACKET:
        packet(in);
        break;
    case FUZZ_DWORDS:
        dwords(in);
        break;
    case FUZZ_DEST:
        q = in8(in);
        fz.dest = q % 8;
        if (q & 8) {
            fz.ib_pos[q % FUZZ_IBS] = 0;
        }
        break;
    case FUZZ_KICK:
        kick(in);
        break;
    case FUZZ_RUN:
        fuzz_run(in8(in) % MAX_RUNS + 1);
        break;
    case FUZZ_ADVANCE:
        advance(in8(in));
        break;
    case FUZZ_STORE:
        store(in);
        break;
    case FUZZ_DEQUEUE:
        q = in8(in);
        if (fz.t->dequeue) {
            fz.t->dequeue(q % FUZZ_QUEUES, q >> 2);
        } else {
            hqd_wr(b, q % FUZZ_QUEUES, mmCP_HQD_DEQUEUE_REQUEST, q >> 2);
        }
        break;
    case FUZZ_LOAD:
        fuzz_load(in8(in) % FUZZ_QUEUES);
        break;
    case FUZZ_SAVE:
        save();
        break;
    case FUZZ_RESET:
        vkfd_engine_reset(b->e, in8(in) & 1);
        fuzz_setup_regs();
        break;
    case FUZZ_FLUSH:
        vm_flush(b, in16(in));
        break;
    case FUZZ_AQL:
        aql(in);
        break;
    case FUZZ_REG_WRITE:
        q = reg(in);
        vkfd_mmio_write(b->e, q, one(in, true));
        break;
    case FUZZ_REG_READ:
        vkfd_mmio_read(b->e, reg(in));
        break;
    case FUZZ_DOORBELL:
        doorbell(in);
        break;
    case FUZZ_CTRL:
        ctrl(in);
        break;
    case FUZZ_ARM:
        arm(in);
        break;
    case FUZZ_FRONT:
        front(in);
        break;
    case FUZZ_PTE:
        pte(in);
        break;
    case FUZZ_OWN:
        fz.t->own(in);
        break;
    }
}

uint8_t fuzz_act_code(const FuzzTarget *t, FuzzAct act)
{
    FUZZ_CHECK(t->acts >> act & 1);
    return __builtin_popcount(t->acts & ((1u << act) - 1));
}

static FuzzAct nth_act(const FuzzTarget *t, unsigned n)
{
    uint32_t acts = t->acts;

    for (n %= __builtin_popcount(acts); n--; ) {
        acts &= acts - 1;
    }
    return __builtin_ctz(acts);
}

void fuzz_program(FuzzInput *in)
{
    unsigned i;

    for (i = 0; i < FUZZ_MAX_ACTS && in->n && fz.work < FUZZ_WORK_MAX; i++) {
        fuzz_call();
        act(nth_act(fz.t, in8(in)), in);
        fuzz_check();
    }
}
