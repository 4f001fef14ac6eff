/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4: registers. A packet sees them as MMIO does, except the compute SH registers,
 * which are those of its own queue.
 */
#include "pm4-priv.h"

/* Start of the windows the SET_*_REG packets count from, dword index. */
#define PACKET3_SET_CONFIG_REG_START    0x2000
#define PACKET3_SET_UCONFIG_REG_START   0xc000
#define SET_REG__OFFSET_MASK            0x0000ffffu

static bool is_sh(uint32_t dw)
{
    return dw >= mmCOMPUTE_DISPATCH_INITIATOR && dw <= mmCOMPUTE_NOWHERE;
}

uint32_t vkfd_pm4_reg_read(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw)
{
    return is_sh(dw) ? c->q->sh[dw - mmCOMPUTE_DISPATCH_INITIATOR]
                     : vkfd_reg_read(e, dw);
}

void vkfd_pm4_reg_write(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw,
                        uint32_t val)
{
    vkfd_trace(e, VKFD_TRACE_REG_WRITE, (uint64_t)dw * 4, val, 1, 0, 0, 0);
    if (is_sh(dw)) {
        c->q->sh[dw - mmCOMPUTE_DISPATCH_INITIATOR] = val;
    } else {
        vkfd_reg_write(e, dw, val);
    }
}

/*
 * A register may have an effect that takes its time (a poll of 32 queues, a
 * flush), so they are limited and each is paid for.
 */
VKFDPm4Result vkfd_pm4_write_regs(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op,
                                  uint32_t first, uint32_t stride,
                                  const uint32_t *val, uint32_t n)
{
    uint32_t i;

    if (n > VKFD_PM4_MAX_REG_WRITES) {
        return vkfd_pm4_reserved(e, c, op);
    }
    e->extra_units += n;
    for (i = 0; i < n; i++) {
        uint32_t dw = first + i * stride;

        if (!vkfd_pm4_reg_ok(e, c, dw, true)) {
            return VKFD_PM4_STOP;
        }
        vkfd_pm4_reg_write(e, c, dw, val[i]);
    }
    return VKFD_PM4_DONE;
}

static VKFDPm4Result set_reg(VKFDEngine *e, const VKFDPm4Ctx *c,
                             const uint32_t *body, uint8_t op, uint32_t start)
{
    return vkfd_pm4_write_regs(e, c, op, start + (body[0] & SET_REG__OFFSET_MASK), 1,
                               body + 1, c->body_dw - 1);
}

/*
 * Stored per queue. What is outside the compute registers belongs to graphics:
 * a write there goes nowhere.
 */
VKFD_PM4_HANDLER(vkfd_pm4_set_sh_reg)
{
    uint32_t dw = PACKET3_SET_SH_REG_START + (body[0] & SET_REG__OFFSET_MASK);
    uint32_t i, n = c->body_dw - 1;

    if (dw + n > PACKET3_SET_SH_REG_END) {
        return vkfd_pm4_reserved(e, c, IT_SET_SH_REG);
    }
    for (i = 0; i < n; i++) {
        if (is_sh(dw + i)) {
            vkfd_pm4_reg_write(e, c, dw + i, body[1 + i]);
        }
    }
    return VKFD_PM4_DONE;
}

VKFD_PM4_HANDLER(vkfd_pm4_set_uconfig_reg)
{
    return set_reg(e, c, body, IT_SET_UCONFIG_REG, PACKET3_SET_UCONFIG_REG_START);
}

VKFD_PM4_HANDLER(vkfd_pm4_set_config_reg)
{
    return set_reg(e, c, body, IT_SET_CONFIG_REG, PACKET3_SET_CONFIG_REG_START);
}

