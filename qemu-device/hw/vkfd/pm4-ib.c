/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4: where the stream goes on: indirect buffers and conditional execution.
 */
#include "pm4-priv.h"

/*
 * Body: base lo, base hi, control. From a ring it enters the IB, with CHAIN in
 * an IB it replaces it. There is no second level on compute rings.
 */
VKFD_PM4_HANDLER(vkfd_pm4_indirect_buffer)
{
    VKFDHqd *q = c->q;
    bool in_ib = vkfd_hqd_in_ib(q);
    uint32_t size = body[2] & INDIRECT_BUFFER__SIZE_MASK;

    if (in_ib && !(body[2] & INDIRECT_BUFFER__CHAIN)) {
        return vkfd_pm4_reserved(e, c, IT_INDIRECT_BUFFER);
    }
    if (!in_ib) {
        /* Only the kernel's rings choose another address space. */
        uint32_t vmid = c->vmid ? c->vmid
                                : VKFD_GET(body[2], INDIRECT_BUFFER__VMID);

        HQD(q, CP_HQD_VMID) = VKFD_PUT(HQD(q, CP_HQD_VMID),
                                       CP_HQD_VMID__IB_VMID, vmid);
    }
    vkfd_hqd_set_progress(q, 0);
    HQD(q, CP_HQD_IB_BASE_ADDR) = body[0] & ~3u;
    HQD(q, CP_HQD_IB_BASE_ADDR_HI) = body[1] & INDIRECT_BUFFER__BASE_HI_MASK;
    HQD(q, CP_HQD_IB_RPTR) = 0;
    HQD(q, CP_HQD_IB_CONTROL) =
        VKFD_PUT(HQD(q, CP_HQD_IB_CONTROL), CP_HQD_IB_CONTROL__IB_SIZE, size) |
        CP_HQD_IB_CONTROL__PROCESSING_IB_MASK;
    return VKFD_PM4_JUMP;
}

/*
 * Body: addr lo, addr hi, 0, count. What is skipped must be there: in a ring the
 * packet waits for the rest, as one does that is not complete.
 */
VKFD_PM4_HANDLER(vkfd_pm4_cond_exec)
{
    uint32_t n = c->body_dw + 1 + (body[3] & COND_EXEC__EXEC_COUNT_MASK), v;

    if (vkfd_hqd_in_ib(c->q) ? n > c->avail : n > vkfd_hqd_ring_dw(c->q)) {
        return vkfd_pm4_reserved(e, c, IT_COND_EXEC);
    }
    if (!vkfd_q_read(e, c->hqd, c->vmid, vkfd_pair(body[0] & ~3u, body[1]), &v,
                     sizeof(v))) {
        return VKFD_PM4_STOP;
    }
    if (v) {
        return VKFD_PM4_DONE;
    }
    if (n > c->avail) {
        vkfd_hqd_set_parked(e, c->hqd, VKFD_PARKED_SHORT);
        return VKFD_PM4_PARK;
    }
    vkfd_cp_advance(c->q, n);
    return VKFD_PM4_JUMP;
}
