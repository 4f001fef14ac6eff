/* SPDX-License-Identifier: MIT */
/* The targets, and what inputs of two of them begin with: patches of state, a text. */
#include "fuzz.h"

#define DRIVER_ACTS     (FUZZ_COMMON | ACT(AQL) | ACT(REG_WRITE) | ACT(REG_READ) | \
                         ACT(DOORBELL) | ACT(CTRL) | ACT(ARM) | ACT(FRONT) | ACT(PTE))

/* ---- state: a good state with some of it replaced, which is then loaded ---- */

#define MAX_PATCHES     16

#define AREA(member)    { offsetof(VKFDEngine, member), sizeof(((VKFDEngine *)0)->member) }

static const struct {
    size_t off, size;
} areas[] = {
    AREA(hqd), AREA(inject), AREA(vmid_regs), AREA(next_hqd), AREA(ih_armed),
    AREA(ih_last_ts), AREA(smn_count), AREA(smn), AREA(unmod_count), AREA(unmod),
    AREA(inject.nspecs), AREA(inject.nheld), AREA(inject.spec), AREA(inject.held),
    AREA(inject.stalled), AREA(inject.dequeuing), AREA(inject.dequeue_hung),
    AREA(inject.device), AREA(regs),
    AREA(sdma), AREA(sdma_ts_offset), AREA(next_sdma),
    AREA(sched), AREA(sched.queue_top), AREA(sched.proc_top), AREA(sched.proc[0]),
    AREA(sched.queue[0]), AREA(sched.queue[1]),
};

/* Fields of one slot that a load has to look at, and their bytes. */
#define FIELD(member)   { offsetof(VKFDHqd, member), sizeof(((VKFDHqd *)0)->member) }
#define SLOT_REG(name)  { (mm##name - mmCP_MQD_BASE_ADDR) * 4, 4 }

static const struct {
    size_t off, size;
} fields[] = {
    FIELD(rptr), FIELD(wait_pa), FIELD(wait_deadline), FIELD(wait_interval),
    FIELD(reported_rptr), FIELD(epoch), FIELD(stop), FIELD(parked), FIELD(poll_now),
    FIELD(wait_mem), FIELD(wait_len), SLOT_REG(CP_HQD_ACTIVE), SLOT_REG(CP_HQD_VMID),
    SLOT_REG(CP_HQD_PQ_CONTROL), SLOT_REG(CP_HQD_IB_CONTROL), SLOT_REG(CP_HQD_IB_RPTR),
    SLOT_REG(CP_HQD_AQL_CONTROL), SLOT_REG(CP_HQD_PQ_RPTR), SLOT_REG(CP_HQD_PQ_WPTR_LO),
    SLOT_REG(CP_HQD_PQ_WPTR_HI), SLOT_REG(CP_HQD_HQ_STATUS1), SLOT_REG(CP_HQD_PQ_BASE),
};

static void patch(VKFDEngine *e, FuzzInput *in)
{
    uint8_t kind = in8(in), i;
    size_t off, size, n = 0;
    uint32_t dw[8], at;

    if (kind & 0x80) {
        i = kind % (sizeof(fields) / sizeof(fields[0]));
        off = offsetof(VKFDEngine, hqd) + in8(in) % VKFD_NUM_HQD * sizeof(e->hqd[0]) +
              fields[i].off;
        size = fields[i].size;
    } else if (kind & 0x40) {
        off = offsetof(VKFDEngine, regs) + fz.regs[in16(in) % fz.nregs] * 4;
        size = 4;
    } else {
        i = kind % (sizeof(areas) / sizeof(areas[0]));
        at = areas[i].size > 8 ? in32(in) % areas[i].size : 0;
        off = areas[i].off + at;
        size = areas[i].size - at;
    }
    n = fuzz_dwords(in, true, dw, in8(in) % 4, 8) * 4;
    memcpy((char *)e + off, dw, n < size ? n : size);
}

/* Refused: as after a cold reset, and nothing is on its way. */
static void check_refused(const VKFDEngine *e)
{
    const VKFDEngine *fresh = fuzz_fresh();
    unsigned i;

    FUZZ_CHECK(fuzz_same(e->regs, fresh->regs, sizeof(e->regs)));
    FUZZ_CHECK(fuzz_same(e->vmid_regs, fresh->vmid_regs, sizeof(e->vmid_regs)));
    FUZZ_CHECK(fuzz_same(e->hqd, fresh->hqd, sizeof(e->hqd)));
    FUZZ_CHECK(!e->active_mask && !e->waiting_mask && !e->inject_hooks &&
               !e->inject_blocked && !e->inject.nspecs && !e->inject.nheld &&
               !e->inject.device && !e->smn_count && !e->unmod_count && !e->next_hqd);
    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        FUZZ_CHECK(fz.b->timer[i] == -1);
    }
}

/* Something of everything is under way: waits, an IB, what is held back. */
static void state_setup(void)
{
    Bus *b = fz.b;
    VKFDInjectError err;
    uint32_t p[8];
    unsigned i, n = 0;

    FUZZ_CHECK(vkfd_inject_arm(b->e, "slot:delay:50us@1/2;preempt:delay@5/7", &err));
    for (i = 0; i < 2; i++) {
        queue_emit(b, i, p, pkt_release(p, VA0 + FUZZ_OUT + 64 * i, 7, RELEASE_MEM_DATA_64,
                                        RELEASE_MEM_INT_AFTER_WRITE, 3));
        queue_emit(b, i, p, pkt_ib(p, VA0 + IB_ADDR(i), 12, false));
        n = pkt_wait_mem(p, VA0 + FUZZ_OUT + 0x100, WAIT_REG_MEM_EQ, 1, ~0u);
        memcpy(b->vram + IB_ADDR(i), p, n * 4);
        n = pkt_write(p, VA0 + FUZZ_OUT + 0x200, 1);
        memcpy(b->vram + IB_ADDR(i) + 7 * 4, p, n * 4);
        queue_kick(b, i);
    }
}

static void state_begin(FuzzInput *in)
{
    VKFDEngine *e = fz.b->e, *to = fuzz_other_engine();
    unsigned n = in8(in) % MAX_PATCHES, i;
    bool ok;

    for (i = 0; i < n; i++) {
        patch(e, in);
    }
    fz.b->scheduled = false;
    for (i = 0; i < VKFD_NUM_TIMERS; i++) {
        fz.b->timer[i] = -1;
    }
    fuzz_call();
    ok = fuzz_load_state(to, e);
    memcpy(e, to, sizeof(*e));
    FUZZ_CHECK(!fz.bytes);
    if (!ok) {
        check_refused(e);
        fuzz_setup_regs();
    }
}

/* ---- inject: a text up to the end of its line, then a program ---- */

/* What was taken is shown in a form that means the same. */
static void check_shown(const VKFDInjectSpec *specs, uint32_t n)
{
    VKFDInjectSpec again[VKFD_INJECT_SPECS];
    char text[VKFD_INJECT_TEXT_SIZE], show[VKFD_INJECT_TEXT_SIZE] = "";
    VKFDInjectError err;
    size_t len = 0;
    uint32_t i, m;

    for (i = 0; i < n; i++) {
        int k;

        FUZZ_CHECK(vkfd_inject_spec_ok(&specs[i]));
        k = vkfd_inject_spec_text(&specs[i], text, sizeof(text));
        FUZZ_CHECK(k > 0 && len + k + 2 < sizeof(show));
        len += snprintf(show + len, sizeof(show) - len, "%s%s", i ? ";" : "", text);
    }
    FUZZ_CHECK(vkfd_inject_parse(show, again, &m, &err));
    FUZZ_CHECK(n == m && !memcmp(specs, again, n * sizeof(specs[0])));
    FUZZ_CHECK(vkfd_inject_arm(fz.b->e, show, &err));
    vkfd_inject_text(fz.b->e, text, sizeof(text));
    FUZZ_CHECK(!strcmp(text, show));
}

static void inject_begin(FuzzInput *in)
{
    VKFDInjectSpec specs[VKFD_INJECT_SPECS];
    char *text = malloc(in->n + 1);     /* exactly, so that a read behind it is seen */
    VKFDInjectError err = { 0 };
    size_t len = 0;
    uint32_t n;
    bool ok;

    while (in->n) {
        char c = in8(in);

        if (!c || c == '\n') {
            break;
        }
        text[len++] = c;
    }
    text[len++] = 0;
    text = realloc(text, len);
    ok = vkfd_inject_parse(text, specs, &n, &err);
    if (ok) {
        FUZZ_CHECK(n <= VKFD_INJECT_SPECS);
        check_shown(specs, n);
    } else {
        uint32_t was = fz.b->e->inject.generation;

        FUZZ_CHECK(err.status > VKFD_INJECT_OK && err.status <= VKFD_INJECT_BAD_GO);
        FUZZ_CHECK(err.pos < len);
        FUZZ_CHECK(memchr(err.msg, 0, sizeof(err.msg)) && err.msg[0] &&
                   !strchr(err.msg, '\n'));
        FUZZ_CHECK(!vkfd_inject_arm(fz.b->e, text, &err) &&
                   fz.b->e->inject.generation == was);
    }
    free(text);
}

static const FuzzTarget user = {
    .name = "pm4-user",
    .acts = FUZZ_COMMON,
    .confined = true,
    .seeds = fuzz_seeds_user,
}, kernel = {
    .name = "pm4-kernel",
    .acts = FUZZ_COMMON | ACT(PTE) | ACT(REG_WRITE),
    .kernel = 3,
    .seeds = fuzz_seeds_kernel,
}, aql = {
    .name = "aql",
    .acts = FUZZ_COMMON | ACT(AQL),
    .aql = 7,
    .confined = true,
    .seeds = fuzz_seeds_aql,
}, regs = {
    .name = "regs",
    .acts = DRIVER_ACTS,
    .aql = 8,
    .kernel = 1,
    .seeds = fuzz_seeds_regs,
}, state = {
    .name = "state",
    .acts = DRIVER_ACTS,
    .aql = 8,
    .kernel = 4,
    .setup = state_setup,
    .begin = state_begin,
    .seeds = fuzz_seeds_state,
}, inject = {
    .name = "inject",
    .acts = FUZZ_COMMON | ACT(AQL),
    .aql = 8,
    .begin = inject_begin,
    .seeds = fuzz_seeds_inject,
};

const FuzzTarget *const fuzz_targets[] = {
    &user, &kernel, &aql, &regs, &state, &inject,
    &fuzz_sdma_user, &fuzz_sdma_kernel,
    &fuzz_sched,
    NULL,
};
