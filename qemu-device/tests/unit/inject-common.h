/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of fault injection: two queues, an armed engine, completions. */
#ifndef VKFD_UNIT_INJECT_COMMON_H
#define VKFD_UNIT_INJECT_COMMON_H

#include "harness.h"

#define OUT             0x800000u
#define OUT_VA          (VA0 + OUT)
#define MS              1000000u

static inline Bus *start(void)
{
    Bus *b = bus_new();

    vm_setup(b);
    ih_setup(b, 10, 0);
    queue_load(b, 0);
    queue_load(b, 1);
    return b;
}

static inline void arm(Bus *b, const char *text)
{
    VKFDInjectError err;

    if (!vkfd_inject_arm(b->e, text, &err)) {
        printf("# %s\n", err.msg);
        CHECK(!"armed");
    }
}

static inline uint32_t fired(Bus *b, unsigned i)
{
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_SELECT, i);
    return vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_FIRED);
}

static inline uint32_t refused(Bus *b, unsigned i)
{
    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_SELECT, i);
    return vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_REFUSED);
}

static inline uint64_t passages(Bus *b, unsigned i)
{
    uint64_t lo;

    vkfd_ctrl_write(b->e, VKFD_CTRL_INJECT_SELECT, i);
    lo = vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_PASSED_LO);
    return lo | (uint64_t)vkfd_ctrl_read(b->e, VKFD_CTRL_INJECT_PASSED_HI) << 32;
}

/* One completion: val to OUT + 8 * n, interrupt with context id ctx. */
static inline void emit_event(Bus *b, unsigned hqd, unsigned n, uint64_t val, uint32_t ctx)
{
    uint32_t p[8];

    queue_emit(b, hqd, p, pkt_release(p, OUT_VA + 8 * n, val,
                                      RELEASE_MEM_DATA_64,
                                      RELEASE_MEM_INT_AFTER_WRITE, ctx));
}

static inline void event(Bus *b, unsigned n, uint64_t val, uint32_t ctx)
{
    emit_event(b, 0, n, val, ctx);
    queue_kick(b, 0);
    bus_run(b);
}

static inline void put(Bus *b, unsigned n, uint32_t val)
{
    uint32_t p[8];

    queue_emit(b, 0, p, pkt_write(p, OUT_VA + 8 * n, val));
}

static inline uint32_t wb(Bus *b)
{
    return sys32(b, IH_WPTR_OFF);
}

static inline void request(Bus *b, unsigned hqd)
{
    hqd_wr(b, hqd, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
}

#endif /* VKFD_UNIT_INJECT_COMMON_H */
