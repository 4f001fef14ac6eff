/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The GPU clock: 100 MHz, counted from the virtual clock, one for everything
 * (register capture, RELEASE_MEM time stamps, interrupt entries).
 */
#include "engine-priv.h"

#define NS_PER_TICK             (1000000u / VKFD_GPU_CLOCK_KHZ)
#define TIMESTAMP_MASK          0xffffffffffffull

uint64_t vkfd_clock_now(VKFDEngine *e)
{
    return e->ops.now_ns(e->opaque) / NS_PER_TICK;
}

/*
 * Time stamp of an interrupt entry. Drivers compare 48 bits and expect them to
 * rise, so two entries within one tick still differ.
 */
uint64_t vkfd_clock_timestamp(VKFDEngine *e)
{
    uint64_t ts = vkfd_clock_now(e) & TIMESTAMP_MASK;

    if (ts <= e->ih_last_ts && e->ih_last_ts - ts < TIMESTAMP_MASK / 2) {
        ts = (e->ih_last_ts + 1) & TIMESTAMP_MASK;
    }
    e->ih_last_ts = ts;
    return ts;
}

void vkfd_clock_capture(VKFDEngine *e, uint32_t val)
{
    uint64_t now;

    if (!(val & RLC_CAPTURE_GPU_CLOCK_COUNT__CAPTURE_MASK)) {
        return;
    }
    now = vkfd_clock_now(e);
    e->regs[mmRLC_GPU_CLOCK_COUNT_LSB] = now;
    e->regs[mmRLC_GPU_CLOCK_COUNT_MSB] = now >> 32;
}
