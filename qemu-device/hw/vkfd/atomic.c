/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Atomic read-modify-write of memory, as packets name it: by the opcode of the
 * texture cache (TC_OP of AMD's vega10_enum.h). Bit 5 means 64 bits, bit 6 that the
 * old value is not returned, the rest the operation.
 *
 * They are built on compare-and-exchange, which is atomic against vCPUs; a value that
 * others keep changing is given up after VKFD_ATOMIC_TRIES, and tried again later.
 */
#include "engine-priv.h"

#define TC_OP__64               0x20
#define TC_OP__NORTN            0x40
#define TC_OP__KIND_MASK        0x1f

enum {
    TC_SWAP = 0x07,
    TC_CMPSWAP = 0x08,
    TC_ADD = 0x0f,
    TC_SUB = 0x10,
    TC_SMIN = 0x11,
    TC_UMIN = 0x12,
    TC_SMAX = 0x13,
    TC_UMAX = 0x14,
    TC_AND = 0x15,
    TC_OR = 0x16,
    TC_XOR = 0x17,
    TC_INC = 0x18,
    TC_DEC = 0x19,
};

bool vkfd_tc_op_ok(uint32_t op)
{
    uint32_t kind = op & TC_OP__KIND_MASK;

    return op <= (TC_OP__64 | TC_OP__NORTN | TC_OP__KIND_MASK) &&
           (kind == TC_SWAP || kind == TC_CMPSWAP ||
            (kind >= TC_ADD && kind <= TC_DEC));
}

uint32_t vkfd_tc_op_len(uint32_t op)
{
    return op & TC_OP__64 ? 8 : 4;
}

bool vkfd_tc_op_returns(uint32_t op)
{
    return !(op & TC_OP__NORTN);
}

bool vkfd_tc_op_is_cmpswap(uint32_t op)
{
    return (op & TC_OP__KIND_MASK) == TC_CMPSWAP;
}

static uint64_t apply(uint32_t kind, uint64_t old, uint64_t src, uint64_t cmp,
                      int64_t sold, int64_t ssrc)
{
    switch (kind) {
    case TC_SWAP:
        return src;
    case TC_CMPSWAP:
        return old == cmp ? src : old;
    case TC_ADD:
        return old + src;
    case TC_SUB:
        return old - src;
    case TC_SMIN:
        return sold < ssrc ? old : src;
    case TC_UMIN:
        return old < src ? old : src;
    case TC_SMAX:
        return sold > ssrc ? old : src;
    case TC_UMAX:
        return old > src ? old : src;
    case TC_AND:
        return old & src;
    case TC_OR:
        return old | src;
    case TC_XOR:
        return old ^ src;
    case TC_INC:                /* wraps to 0 at src */
        return old >= src ? 0 : old + 1;
    case TC_DEC:                /* wraps to src at 0 */
        return !old || old > src ? src : old - 1;
    default:
        return old;
    }
}

uint64_t vkfd_tc_apply(uint32_t op, uint64_t old, uint64_t src, uint64_t cmp)
{
    uint32_t kind = op & TC_OP__KIND_MASK;

    if (op & TC_OP__64) {
        return apply(kind, old, src, cmp, old, src);
    }
    old = (uint32_t)old, src = (uint32_t)src, cmp = (uint32_t)cmp;
    return (uint32_t)apply(kind, old, src, cmp, (int32_t)old, (int32_t)src);
}

VKFDFault vkfd_vm_atomic(VKFDEngine *e, unsigned hub, uint32_t vmid, uint64_t va,
                         uint32_t op, uint64_t src, uint64_t cmp, uint64_t *pre,
                         bool *done)
{
    uint32_t len = vkfd_tc_op_len(op);
    uint64_t pa, old, found, v64 = 0;
    uint32_t v32 = 0;
    bool prt;
    VKFDFault f;
    unsigned i;

    va &= ~(uint64_t)(len - 1);
    *done = false;
    f = vkfd_vm_translate(e, hub, vmid, va, false, &pa, &prt);
    if (f == VKFD_FAULT_NONE) {
        f = vkfd_vm_translate(e, hub, vmid, va, true, &pa, &prt);
    }
    if (f != VKFD_FAULT_NONE) {
        return f;
    }
    if (prt) {
        *pre = 0;
        *done = true;
        return VKFD_FAULT_NONE;
    }
    /* The first guess may be wrong: what is found then is the next one. */
    if (!vkfd_pa_read(e, pa, len == 4 ? (void *)&v32 : (void *)&v64, len)) {
        return VKFD_FAULT_DMA;
    }
    old = len == 4 ? vkfd_le32(v32) : vkfd_le64(v64);
    for (i = 0; i < VKFD_ATOMIC_TRIES; i++) {
        if (!vkfd_pa_cmpxchg(e, pa, len, old, vkfd_tc_apply(op, old, src, cmp),
                             &found)) {
            return VKFD_FAULT_DMA;
        }
        if (found == old) {
            *pre = old;
            *done = true;
            break;
        }
        old = found;
    }
    return VKFD_FAULT_NONE;
}
