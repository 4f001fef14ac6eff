/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dispatches. There is no shader core: a dispatch that has workgroups is counted,
 * traced, and then either passed over or refused, as the device was told
 * (dispatch=skip or error). Its results are never invented.
 */
#include "pm4-priv.h"

bool vkfd_dispatch_skip(VKFDEngine *e, unsigned hqd, const uint32_t dim[3],
                        uint64_t code)
{
    e->counters[VKFD_CNT_DISPATCH_SKIPPED]++;
    vkfd_trace(e, VKFD_TRACE_DISPATCH, hqd, dim[0], dim[1], dim[2], code,
               e->dispatch_error);
    return !e->dispatch_error;
}

static VKFDPm4Result dispatch(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op,
                              const uint32_t dim[3], uint32_t initiator)
{
    uint32_t *sh = c->q->sh;
    uint64_t code;

    memcpy(&sh[mmCOMPUTE_DIM_X - mmCOMPUTE_DISPATCH_INITIATOR], dim, 3 * 4);
    sh[0] = initiator;
    if (!(initiator & DISPATCH_INITIATOR__COMPUTE_SHADER_EN) ||
        !dim[0] || !dim[1] || !dim[2]) {
        return VKFD_PM4_DONE;
    }
    code = vkfd_pair(sh[mmCOMPUTE_PGM_LO - mmCOMPUTE_DISPATCH_INITIATOR],
                     sh[mmCOMPUTE_PGM_HI - mmCOMPUTE_DISPATCH_INITIATOR]) << 8;
    if (!vkfd_dispatch_skip(e, c->hqd, dim, code)) {
        vkfd_pm4_bad(e, c->hqd, PACKET3(op, c->body_dw), VKFD_EC_PACKET_UNSUPPORTED);
        return VKFD_PM4_STOP;
    }
    return VKFD_PM4_DONE;
}

/* Body: x, y, z, initiator. */
VKFD_PM4_HANDLER(vkfd_pm4_dispatch_direct)
{
    return dispatch(e, c, IT_DISPATCH_DIRECT, body, body[3]);
}

/* Body: addr lo, addr hi, initiator. */
VKFD_PM4_HANDLER(vkfd_pm4_dispatch_indirect)
{
    uint32_t dim[3], i;

    if (!vkfd_q_read(e, c->hqd, c->vmid, vkfd_pair(body[0] & ~3u, body[1]), dim,
                     sizeof(dim))) {
        return VKFD_PM4_STOP;
    }
    for (i = 0; i < 3; i++) {
        dim[i] = vkfd_le32(dim[i]);
    }
    return dispatch(e, c, IT_DISPATCH_INDIRECT, dim, body[2]);
}
