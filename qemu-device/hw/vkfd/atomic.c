/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Atomic read-modify-write of guest memory that vCPUs access at the same time. One
 * access of the host each, sequentially consistent: what the CPU of the guest does
 * with a locked instruction neither splits it nor is split by it.
 */
#include "engine-priv.h"

#include <vkfd/pm4.h>

/* The new value, of which the low len bytes count. */
static uint64_t combine(const VKFDAtomic *a, uint64_t old, uint32_t len)
{
    uint64_t src = a->src;
    int64_t s_old = len == 4 ? (int32_t)old : (int64_t)old;
    int64_t s_src = len == 4 ? (int32_t)src : (int64_t)src;

    switch (a->op) {
    case VKFD_ATOMIC_SWAP:
        return src;
    case VKFD_ATOMIC_CMPSWAP:
        return old == a->cmp ? src : old;
    case VKFD_ATOMIC_ADD:
        return old + src;
    case VKFD_ATOMIC_SUB:
        return old - src;
    case VKFD_ATOMIC_SMIN:
        return s_old < s_src ? old : src;
    case VKFD_ATOMIC_UMIN:
        return old < src ? old : src;
    case VKFD_ATOMIC_SMAX:
        return s_old > s_src ? old : src;
    case VKFD_ATOMIC_UMAX:
        return old > src ? old : src;
    case VKFD_ATOMIC_AND:
        return old & src;
    case VKFD_ATOMIC_OR:
        return old | src;
    case VKFD_ATOMIC_XOR:
        return old ^ src;
    case VKFD_ATOMIC_INC:
        return old >= src ? 0 : old + 1;
    case VKFD_ATOMIC_DEC:
        return old == 0 || old > src ? src : old - 1;
    }
    return old;
}

static bool apply32(uint32_t *p, VKFDAtomic *a)
{
    uint32_t raw = __atomic_load_n(p, __ATOMIC_RELAXED);
    unsigned i;

    a->src = (uint32_t)a->src;
    a->cmp = (uint32_t)a->cmp;
    for (i = 0; i < VKFD_ATOMIC_TRIES; i++) {
        a->old = vkfd_le32(raw);
        if (__atomic_compare_exchange_n(p, &raw,
                                        vkfd_le32(combine(a, a->old, 4)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return true;
        }
    }
    return false;
}

static bool apply64(uint64_t *p, VKFDAtomic *a)
{
    uint64_t raw = __atomic_load_n(p, __ATOMIC_RELAXED);
    unsigned i;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (a->op == VKFD_ATOMIC_ADD) {
        a->old = __atomic_fetch_add(p, a->src, __ATOMIC_SEQ_CST);
        return true;
    }
#endif
    /* Completion signals are ADD: these never have to wait for their turn. */
    for (i = 0; i < VKFD_ATOMIC_TRIES || a->op == VKFD_ATOMIC_ADD; i++) {
        a->old = vkfd_le64(raw);
        if (__atomic_compare_exchange_n(p, &raw,
                                        vkfd_le64(combine(a, a->old, 8)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return true;
        }
    }
    return false;
}

bool vkfd_atomic_apply(void *host, uint32_t len, VKFDAtomic *a)
{
    return len == 4 ? apply32(host, a) : apply64(host, a);
}

bool vkfd_tc_op(uint32_t tc, VKFDAtomicOp *op)
{
    if (tc > (TC_OP__64 | TC_OP__NO_RETURN | TC_OP__KIND_MASK)) {
        return false;
    }
    switch (tc & TC_OP__KIND_MASK) {
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

uint32_t vkfd_tc_op_len(uint32_t tc)
{
    return tc & TC_OP__64 ? 8 : 4;
}

bool vkfd_tc_op_returns(uint32_t tc)
{
    return !(tc & TC_OP__NO_RETURN);
}
