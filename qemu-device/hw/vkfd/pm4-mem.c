/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4: single words to and from memory, and the fence that announces work.
 */
#include "pm4-priv.h"

#include <vkfd/ih.h>

#define RELEASE_MEM__DST_SEL_MASK       0x00030000u
#define RELEASE_MEM_DST_L2              1

/* Body: control, addr_lo or register, addr_hi, data... */
VKFD_PM4_HANDLER(vkfd_pm4_write_data)
{
    bool incr = !(body[0] & WRITE_DATA__ADDR_INCR_DISABLE);
    uint32_t n = c->body_dw - 3, i;
    uint64_t va = vkfd_pair(body[1] & ~3u, body[2]);

    switch (VKFD_GET(body[0], WRITE_DATA__DST_SEL)) {
    case WRITE_DATA_DST_REG:
        return vkfd_pm4_write_regs(e, c, IT_WRITE_DATA,
                                   body[1] & WRITE_DATA__REG_MASK, incr,
                                   body + 3, n);
    case WRITE_DATA_DST_MEM_SYNC:
    case WRITE_DATA_DST_L2:
    case WRITE_DATA_DST_MEM:
        break;
    default:
        return vkfd_pm4_reserved(e, c, IT_WRITE_DATA);
    }

    /* The body is the local copy: swap it in place for the way out. */
    for (i = 0; i < n; i++) {
        e->pkt[3 + i] = vkfd_le32(e->pkt[3 + i]);
    }
    if (!incr) {
        /* Only the last value of a run to one address can be seen. */
        return vkfd_q_write(e, c->hqd, c->vmid, va, &e->pkt[3 + n - 1], 4)
               ? VKFD_PM4_DONE : VKFD_PM4_STOP;
    }
    return vkfd_q_write(e, c->hqd, c->vmid, va, &e->pkt[3], n * 4)
           ? VKFD_PM4_DONE : VKFD_PM4_STOP;
}

bool vkfd_q_write_fence(VKFDEngine *e, unsigned hqd, uint32_t vmid, uint64_t va,
                        uint64_t data, uint32_t len)
{
    VKFDInjectResult how = VKFD_INJECT_GO;
    uint64_t v64;
    uint32_t v32;
    bool ok;

    if (vkfd_inject_on(e, VKFD_INJECT_AT_SLOT)) {
        how = vkfd_inject_slot(e, hqd, vmid, va, &data, len);
        if (how == VKFD_INJECT_SKIP) {
            return true;
        }
    }
    v64 = vkfd_le64(data);
    v32 = vkfd_le32(data);
    /* What earlier packets wrote before the fence that says so. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ok = vkfd_q_write(e, hqd, vmid, va,
                      len == 4 ? (void *)&v32 : (void *)&v64, len);
    if (ok && how == VKFD_INJECT_TWICE) {
        ok = vkfd_q_write(e, hqd, vmid, va,
                          len == 4 ? (void *)&v32 : (void *)&v64, len);
    }
    return ok;
}

/* Body: event and cache ops, selectors, addr lo/hi, data lo/hi, context id. */
VKFD_PM4_HANDLER(vkfd_pm4_release_mem)
{
    uint32_t data_sel = VKFD_GET(body[1], RELEASE_MEM__DATA_SEL);
    uint32_t int_sel = VKFD_GET(body[1], RELEASE_MEM__INT_SEL);
    uint64_t va = vkfd_pair(body[2], body[3]);
    uint64_t data = vkfd_pair(body[4], body[5]);
    uint32_t len = data_sel == RELEASE_MEM_DATA_32 ? 4 : 8;

    if (data_sel > RELEASE_MEM_DATA_SYS_CLOCK ||
        int_sel > RELEASE_MEM_INT_WRITE_CONFIRM ||
        VKFD_GET(body[1], RELEASE_MEM__DST_SEL) > RELEASE_MEM_DST_L2) {
        return vkfd_pm4_reserved(e, c, IT_RELEASE_MEM);
    }
    if (data_sel == RELEASE_MEM_DATA_GPU_CLOCK ||
        data_sel == RELEASE_MEM_DATA_SYS_CLOCK) {
        data = vkfd_clock_now(e);
    }
    vkfd_trace(e, VKFD_TRACE_RELEASE_MEM, c->hqd, va, data, body[6], int_sel, 0);

    if (data_sel != RELEASE_MEM_DATA_NONE &&
        !vkfd_q_write_fence(e, c->hqd, c->vmid, va & ~(uint64_t)(len - 1), data,
                            len)) {
        return VKFD_PM4_STOP;
    }
    if (int_sel == RELEASE_MEM_INT_ONLY || int_sel == RELEASE_MEM_INT_AFTER_WRITE) {
        vkfd_cp_interrupt(e, c->hqd, GFX_9_0__SRCID__CP_EOP_INTERRUPT,
                          CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE_MASK,
                          body[6]);
    }
    return VKFD_PM4_DONE;
}

/*
 * The value a COPY_DATA copies, len bytes. DONE, or STOP with the queue stopped. A
 * 64-bit register is two neighbours, low half first.
 */
static VKFDPm4Result copy_source(VKFDEngine *e, const VKFDPm4Ctx *c,
                                 const uint32_t *body, uint32_t len, uint64_t *v)
{
    uint64_t va = vkfd_pair(body[1], body[2]) & ~(uint64_t)(len - 1);
    uint32_t reg = body[1] & WRITE_DATA__REG_MASK, i;

    *v = 0;
    switch (VKFD_GET(body[0], COPY_DATA__SRC_SEL)) {
    case COPY_DATA_SRC_REG:
        e->extra_units += len / 4;
        for (i = 0; i < len / 4; i++) {
            if (!vkfd_pm4_reg_ok(e, c, reg + i, false)) {
                return VKFD_PM4_STOP;
            }
            *v |= (uint64_t)vkfd_pm4_reg_read(e, c, reg + i) << (32 * i);
        }
        return VKFD_PM4_DONE;
    case COPY_DATA_SRC_MEM:
    case COPY_DATA_SRC_L2:
        if (!vkfd_q_read(e, c->hqd, c->vmid, va, v, len)) {
            return VKFD_PM4_STOP;
        }
        *v = len == 4 ? vkfd_le32(*(uint32_t *)v) : vkfd_le64(*v);
        return VKFD_PM4_DONE;
    case COPY_DATA_SRC_IMM:
        *v = vkfd_pair(body[1], body[2]);
        return VKFD_PM4_DONE;
    case COPY_DATA_SRC_ATOMIC_RETURN:
        *v = vkfd_pair(HQD(c->q, CP_HQD_ATOMIC0_PREOP_LO),
                       HQD(c->q, CP_HQD_ATOMIC0_PREOP_HI));
        return VKFD_PM4_DONE;
    case COPY_DATA_SRC_GPU_CLOCK:
    case COPY_DATA_SRC_SYS_CLOCK:
        *v = vkfd_clock_now(e);
        return VKFD_PM4_DONE;
    default:
        return vkfd_pm4_reserved(e, c, IT_COPY_DATA);
    }
}

/* Body: control, source lo and hi, destination lo and hi. */
VKFD_PM4_HANDLER(vkfd_pm4_copy_data)
{
    uint32_t len = body[0] & COPY_DATA__COUNT_SEL ? 8 : 4;
    uint32_t dst = VKFD_GET(body[0], COPY_DATA__DST_SEL), half[2];
    uint64_t va = vkfd_pair(body[3], body[4]) & ~(uint64_t)(len - 1), v;
    VKFDPm4Result res;

    /* Before anything is read: a bad packet has no effect. */
    if (dst != COPY_DATA_DST_REG && dst != COPY_DATA_DST_REG_DC &&
        dst != COPY_DATA_DST_L2 && dst != COPY_DATA_DST_MEM) {
        return vkfd_pm4_reserved(e, c, IT_COPY_DATA);
    }
    res = copy_source(e, c, body, len, &v);
    if (res != VKFD_PM4_DONE) {
        return res;
    }
    if (dst == COPY_DATA_DST_REG || dst == COPY_DATA_DST_REG_DC) {
        half[0] = v;
        half[1] = v >> 32;
        return vkfd_pm4_write_regs(e, c, IT_COPY_DATA,
                                   body[3] & WRITE_DATA__REG_MASK, 1, half, len / 4);
    }
    half[0] = vkfd_le32(v);
    v = vkfd_le64(v);
    return vkfd_q_write(e, c->hqd, c->vmid, va, len == 4 ? (void *)half : (void *)&v,
                        len) ? VKFD_PM4_DONE : VKFD_PM4_STOP;
}
