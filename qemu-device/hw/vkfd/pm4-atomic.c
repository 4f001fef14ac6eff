/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4: ATOMIC_MEM. What was in memory before goes to ATOMIC0_PREOP of the queue,
 * for a COPY_DATA to fetch.
 */
#include "pm4-priv.h"

/* TC operation without the bits of width and return; false if it is none of ours. */
static bool atomic_op(uint32_t kind, VKFDAtomicOp *op)
{
    switch (kind) {
    case TC_OP_ATOMIC_SWAP:
        *op = VKFD_ATOMIC_SWAP;
        return true;
    case TC_OP_ATOMIC_CMPSWAP:
        *op = VKFD_ATOMIC_CMPSWAP;
        return true;
    case TC_OP_ATOMIC_ADD:
        *op = VKFD_ATOMIC_ADD;
        return true;
    case TC_OP_ATOMIC_SUB:
        *op = VKFD_ATOMIC_SUB;
        return true;
    case TC_OP_ATOMIC_SMIN:
        *op = VKFD_ATOMIC_SMIN;
        return true;
    case TC_OP_ATOMIC_UMIN:
        *op = VKFD_ATOMIC_UMIN;
        return true;
    case TC_OP_ATOMIC_SMAX:
        *op = VKFD_ATOMIC_SMAX;
        return true;
    case TC_OP_ATOMIC_UMAX:
        *op = VKFD_ATOMIC_UMAX;
        return true;
    case TC_OP_ATOMIC_AND:
        *op = VKFD_ATOMIC_AND;
        return true;
    case TC_OP_ATOMIC_OR:
        *op = VKFD_ATOMIC_OR;
        return true;
    case TC_OP_ATOMIC_XOR:
        *op = VKFD_ATOMIC_XOR;
        return true;
    case TC_OP_ATOMIC_INC:
        *op = VKFD_ATOMIC_INC;
        return true;
    case TC_OP_ATOMIC_DEC:
        *op = VKFD_ATOMIC_DEC;
        return true;
    default:
        return false;           /* floating point, cache maintenance, reserved */
    }
}

/*
 * Body: control, addr lo and hi, source lo and hi, compare lo and hi, interval. A
 * loop is one of compare and swap: it parks until the compare holds.
 */
VKFD_PM4_HANDLER(vkfd_pm4_atomic_mem)
{
    uint32_t tc = body[0] & ATOMIC_MEM__ATOMIC_MASK;
    uint32_t command = VKFD_GET(body[0], ATOMIC_MEM__COMMAND);
    uint32_t len = tc & TC_OP__64 ? 8 : 4;
    uint64_t va = vkfd_pair(body[1], body[2]) & ~(uint64_t)(len - 1);
    VKFDAtomic a = {
        .src = len == 8 ? vkfd_pair(body[3], body[4]) : body[3],
        .cmp = len == 8 ? vkfd_pair(body[5], body[6]) : body[5],
    };
    VKFDWait w = { .addr = va, .len = len };

    if (!atomic_op(tc & TC_OP__KIND_MASK, &a.op) ||
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
    if (!(tc & TC_OP__NO_RETURN)) {
        HQD(c->q, CP_HQD_ATOMIC0_PREOP_LO) = a.old;
        HQD(c->q, CP_HQD_ATOMIC0_PREOP_HI) = a.old >> 32;
    }
    return VKFD_PM4_DONE;
}
