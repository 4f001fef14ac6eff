/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4 packets of compute rings: the table, and what is wrong with one. The table
 * names every opcode of AMD's gfx9 compute list with the limits of its body and
 * where it may stand; cp.c checks them before a handler sees a local copy of the
 * body. To add a packet: its layout in vkfd/pm4.h, a handler in the file of its
 * kind (pm4-priv.h), its line here, its paragraph in docs/hw-spec.md, a test.
 */
#include "pm4-priv.h"

#include <vkfd/aql.h>
#include <vkfd/doorbell.h>
#include <vkfd/ih.h>
#include <vkfd/pm4_sched.h>

/* Opcodes the header does not name because nothing executes them. */
#define IT_CONTEXT_CONTROL              0x28
#define IT_PREAMBLE_CNTL                0x4a
#define IT_INCREMENT_DE_COUNTER         0x85
#define IT_WAIT_ON_CE_COUNTER           0x86
#define IT_SWITCH_BUFFER                0x8b
#define IT_FRAME_CONTROL                0x90
#define IT_RUN_CLEANER_SHADER           0xd2

#define BODY_MAX                        0x4000u

void vkfd_cp_interrupt(VKFDEngine *e, unsigned hqd, uint8_t source,
                       uint32_t enable, uint32_t ctx0)
{
    VKFDIv iv = {
        .client = SOC15_IH_CLIENTID_GRBM_CP,
        .source = source,
        .ring_id = vkfd_hqd_ring_id(hqd),
        .vmid = vkfd_hqd_vmid(&e->hqd[hqd]),
        .ctx = { ctx0 },
    };

    if (vkfd_grbm_int_cntl(e, hqd) & enable) {
        vkfd_ih_push(e, &iv);
    }
}

/* Doorbell id within its slice, as KFD names a queue. */
static uint32_t doorbell_id(VKFDHqd *q)
{
    uint32_t dw = VKFD_GET(HQD(q, CP_HQD_PQ_DOORBELL_CONTROL),
                           CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET);

    return dw / 2 & VKFD_CP_BAD_OP__DOORBELL_MASK;
}

void vkfd_cp_bad_op(VKFDEngine *e, unsigned hqd, uint32_t code)
{
    vkfd_cp_interrupt(e, hqd, GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR,
                      CP_ME1_PIPE0_INT_CNTL__OPCODE_ERROR_INT_ENABLE_MASK,
                      doorbell_id(&e->hqd[hqd]) |
                      code << VKFD_CP_BAD_OP__CODE__SHIFT);
}

void vkfd_pm4_bad(VKFDEngine *e, unsigned hqd, uint32_t header, uint32_t code)
{
    e->counters[VKFD_CNT_PACKET_BAD]++;
    vkfd_trace(e, VKFD_TRACE_PM4_BAD, hqd, header, code, 0, 0, 0);
    vkfd_hqd_stop(e, hqd, VKFD_STOP_BAD_PACKET);
    /* In an IB of an AQL queue: its runtime has another way to be told. */
    if (!vkfd_hqd_is_aql(&e->hqd[hqd]) ||
        !vkfd_aql_tell(e, hqd, AQL_ERROR_VENDOR_PACKET)) {
        vkfd_cp_bad_op(e, hqd, code);
    }
}

/* A user queue touched a register it may not. */
static void priv_reg(VKFDEngine *e, unsigned hqd, uint32_t dw)
{
    e->counters[VKFD_CNT_REG_FAULT]++;
    vkfd_trace(e, VKFD_TRACE_PM4_PRIV, hqd, (uint64_t)dw * 4, 0, 0, 0, 0);
    vkfd_hqd_stop(e, hqd, VKFD_STOP_PRIV_REG);
    vkfd_cp_interrupt(e, hqd, GFX_9_0__SRCID__CP_PRIV_REG_FAULT,
                      CP_ME1_PIPE0_INT_CNTL__PRIV_REG_INT_ENABLE_MASK,
                      doorbell_id(&e->hqd[hqd]));
}

bool vkfd_pm4_reg_ok(VKFDEngine *e, const VKFDPm4Ctx *c, uint32_t dw, bool write)
{
    if (dw < VKFD_NUM_REGS && (!c->vmid || vkfd_reg_user_ok(dw, write))) {
        return true;
    }
    priv_reg(e, c->hqd, dw);
    return false;
}

VKFDPm4Result vkfd_pm4_reserved(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op)
{
    vkfd_pm4_bad(e, c->hqd, PACKET3(op, c->body_dw), VKFD_EC_PACKET_RESERVED);
    return VKFD_PM4_STOP;
}

/* No caches and no waves are modelled: everything before is already visible. */
static VKFDPm4Result flush(VKFDEngine *e, const VKFDPm4Ctx *c,
                           const uint32_t *body)
{
    (void)e;
    (void)c;
    (void)body;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return VKFD_PM4_DONE;
}

#define SKIP(op, flags) [IT_##op] = { #op, 1, BODY_MAX, flags, NULL }
#define SCHED(op, flags, handler) \
    [IT_##op] = { #op, op##_DW, op##_DW, VKFD_PM4_PRIV | (flags), handler }

static const VKFDPm4Op ops[256] = {
    [IT_NOP] = { "NOP", 0, BODY_MAX, 0, NULL },
    [IT_WRITE_DATA] = { "WRITE_DATA", 4, BODY_MAX, 0, vkfd_pm4_write_data },
    [IT_WAIT_REG_MEM] = { "WAIT_REG_MEM", 6, 6, 0, vkfd_pm4_wait_reg_mem },
    [IT_WAIT_REG_MEM64] = { "WAIT_REG_MEM64", 8, 8, 0, vkfd_pm4_wait_reg_mem64 },
    [IT_INDIRECT_BUFFER] = { "INDIRECT_BUFFER", 3, 3, 0, vkfd_pm4_indirect_buffer },
    [IT_COND_EXEC] = { "COND_EXEC", 4, 4, 0, vkfd_pm4_cond_exec },
    [IT_COPY_DATA] = { "COPY_DATA", 5, 5, 0, vkfd_pm4_copy_data },
    [IT_DMA_DATA] = { "DMA_DATA", 6, 6, 0, vkfd_pm4_dma_data },
    [IT_ATOMIC_MEM] = { "ATOMIC_MEM", 8, 8, 0, vkfd_pm4_atomic_mem },
    [IT_DISPATCH_DIRECT] = { "DISPATCH_DIRECT", 4, 4, 0, vkfd_pm4_dispatch_direct },
    [IT_DISPATCH_INDIRECT] = { "DISPATCH_INDIRECT", 3, 3, 0,
                               vkfd_pm4_dispatch_indirect },
    [IT_EVENT_WRITE] = { "EVENT_WRITE", 1, 3, 0, flush },
    [IT_RELEASE_MEM] = { "RELEASE_MEM", 7, 7, 0, vkfd_pm4_release_mem },
    [IT_ACQUIRE_MEM] = { "ACQUIRE_MEM", 6, 6, 0, flush },
    [IT_SET_SH_REG] = { "SET_SH_REG", 2, BODY_MAX, 0, vkfd_pm4_set_sh_reg },
    [IT_SET_UCONFIG_REG] = { "SET_UCONFIG_REG", 2, BODY_MAX, 0,
                             vkfd_pm4_set_uconfig_reg },
    [IT_SET_CONFIG_REG] = { "SET_CONFIG_REG", 2, BODY_MAX, 0,
                            vkfd_pm4_set_config_reg },
    /* Interface queues of the kernel only, which sched-pm4.c knows. */
    SCHED(SET_RESOURCES, 0, vkfd_sched_set_resources),
    SCHED(MAP_PROCESS, 0, vkfd_sched_pm4_map_process),
    SCHED(MAP_QUEUES, 0, vkfd_sched_pm4_map_queues),
    SCHED(UNMAP_QUEUES, 0, vkfd_sched_unmap_queues),
    SCHED(QUERY_STATUS, 0, vkfd_sched_query_status),
    SCHED(RUN_LIST, 0, vkfd_sched_run_list),
    SCHED(INVALIDATE_TLBS, VKFD_PM4_RING_ONLY, vkfd_sched_invalidate_tlbs),
    /* Known, not modelled; docs/hw-spec.md says why. */
    SKIP(SET_BASE, 0),
    SKIP(CLEAR_STATE, 0),
    SKIP(PRED_EXEC, 0),
    SKIP(CONTEXT_CONTROL, 0),
    SKIP(PFP_SYNC_ME, 0),
    SKIP(PREAMBLE_CNTL, 0),
    SKIP(SET_CONTEXT_REG, 0),
    SKIP(INCREMENT_DE_COUNTER, 0),
    SKIP(WAIT_ON_CE_COUNTER, 0),
    SKIP(SWITCH_BUFFER, 0),
    SKIP(FRAME_CONTROL, 0),
    SKIP(RUN_CLEANER_SHADER, VKFD_PM4_PRIV),
};

const VKFDPm4Op *vkfd_pm4_op(uint8_t opcode)
{
    return ops[opcode].name ? &ops[opcode] : NULL;
}
