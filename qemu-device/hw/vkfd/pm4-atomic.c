/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4: ATOMIC_MEM. What was in memory before goes to ATOMIC0_PREOP of the queue,
 * for a COPY_DATA to fetch.
 */
#include "pm4-priv.h"

/*
 * Body: control, addr lo and hi, source lo and hi, compare lo and hi, interval. A
 * loop is one of compare and swap: it parks until the compare holds.
 */
VKFD_PM4_HANDLER(vkfd_pm4_atomic_mem)
{
    uint32_t tc = body[0] & ATOMIC_MEM__ATOMIC_MASK;
    uint32_t command = VKFD_GET(body[0], ATOMIC_MEM__COMMAND);
    uint32_t len = vkfd_tc_op_len(tc);
    uint64_t va = vkfd_pair(body[1], body[2]) & ~(uint64_t)(len - 1);
    VKFDAtomic a = {
        .src = len == 8 ? vkfd_pair(body[3], body[4]) : body[3],
        .cmp = len == 8 ? vkfd_pair(body[5], body[6]) : body[5],
    };
    VKFDWait w = { .addr = va, .len = len };

    if (!vkfd_tc_op(tc, &a.op) ||
        command > ATOMIC_MEM_SEND_AND_CONTINUE ||
        (command == ATOMIC_MEM_LOOP && a.op != VKFD_ATOMIC_CMPSWAP)) {
        return vkfd_pm4_reserved(e, c, IT_ATOMIC_MEM);
    }
    switch (vkfd_q_atomic(e, c->hqd, c->vmid, va, len, &a)) {
    case VKFD_RMW_REFUSED:
        return VKFD_PM4_STOP;
    case VKFD_RMW_BUSY:
        return VKFD_PM4_AGAIN;
    case VKFD_RMW_DONE:
        break;
    }
    if (command == ATOMIC_MEM_LOOP && a.old != a.cmp) {
        vkfd_wait_add(e, &w, c->vmid, va);
        vkfd_wait_park(e, c->hqd, &w);
        return VKFD_PM4_PARK;
    }
    vkfd_trace(e, VKFD_TRACE_ATOMIC, c->hqd, va, tc, a.old, 0, 0);
    if (vkfd_tc_op_returns(tc)) {
        HQD(c->q, CP_HQD_ATOMIC0_PREOP_LO) = a.old;
        HQD(c->q, CP_HQD_ATOMIC0_PREOP_HI) = a.old >> 32;
    }
    return VKFD_PM4_DONE;
}
