/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PM4 packets of compute rings. The table names every opcode of AMD's gfx9
 * compute list with the limits of its body; cp.c checks them before a handler
 * sees a local copy of the body. To add a packet: its layout in vkfd/pm4.h, a
 * handler here, its line in the table, its paragraph in docs/hw-spec.md, a test.
 */
#include "engine-priv.h"

#include <vkfd/doorbell.h>
#include <vkfd/mqd.h>
#include <vkfd/pm4.h>
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
/* Start of the windows the SET_*_REG packets count from, dword index. */
#define PACKET3_SET_CONFIG_REG_START    0x2000
#define PACKET3_SET_UCONFIG_REG_START   0xc000
#define SET_REG__OFFSET_MASK            0x0000ffffu
#define RELEASE_MEM__DST_SEL_MASK       0x00030000u
#define RELEASE_MEM_DST_L2              1

static void cp_interrupt(VKFDEngine *e, unsigned hqd, uint8_t source,
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

void vkfd_pm4_bad(VKFDEngine *e, unsigned hqd, uint32_t header, uint32_t code)
{
    e->counters[VKFD_CNT_PACKET_BAD]++;
    vkfd_trace(e, VKFD_TRACE_PM4_BAD, hqd, header, code, 0, 0, 0);
    vkfd_hqd_stop(e, hqd, VKFD_STOP_BAD_PACKET);
    cp_interrupt(e, hqd, GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR,
                 CP_ME1_PIPE0_INT_CNTL__OPCODE_ERROR_INT_ENABLE_MASK,
                 doorbell_id(&e->hqd[hqd]) | code << VKFD_CP_BAD_OP__CODE__SHIFT);
}

void vkfd_pm4_priv(VKFDEngine *e, unsigned hqd, uint32_t dw)
{
    e->counters[VKFD_CNT_REG_FAULT]++;
    vkfd_trace(e, VKFD_TRACE_PM4_PRIV, hqd, (uint64_t)dw * 4, 0, 0, 0, 0);
    vkfd_hqd_stop(e, hqd, VKFD_STOP_PRIV_REG);
    cp_interrupt(e, hqd, GFX_9_0__SRCID__CP_PRIV_REG_FAULT,
                 CP_ME1_PIPE0_INT_CNTL__PRIV_REG_INT_ENABLE_MASK,
                 doorbell_id(&e->hqd[hqd]));
}

static VKFDPm4Result reserved(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op)
{
    vkfd_pm4_bad(e, c->hqd, PACKET3(op, c->body_dw), VKFD_EC_PACKET_RESERVED);
    return VKFD_PM4_STOP;
}

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
 * Write n registers from first on; stride 0 writes all to the first. A register
 * may have an effect that takes its time (a poll of 32 queues, a flush), so they
 * are limited and each is paid for.
 */
static VKFDPm4Result write_regs(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op,
                                uint32_t first, uint32_t stride,
                                const uint32_t *val, uint32_t n)
{
    uint32_t i;

    if (n > VKFD_PM4_MAX_REG_WRITES) {
        return reserved(e, c, op);
    }
    e->extra_units += n;
    for (i = 0; i < n; i++) {
        uint32_t dw = first + i * stride;

        if (dw >= VKFD_NUM_REGS || (c->vmid && !vkfd_reg_user_ok(dw, true))) {
            vkfd_pm4_priv(e, c->hqd, dw);
            return VKFD_PM4_STOP;
        }
        vkfd_pm4_reg_write(e, c, dw, val[i]);
    }
    return VKFD_PM4_DONE;
}

/* Body: control, addr_lo or register, addr_hi, data... */
static VKFDPm4Result write_data(VKFDEngine *e, const VKFDPm4Ctx *c,
                                const uint32_t *body)
{
    bool incr = !(body[0] & WRITE_DATA__ADDR_INCR_DISABLE);
    uint32_t n = c->body_dw - 3, i;
    uint64_t va = vkfd_pair(body[1] & ~3u, body[2]);

    switch (VKFD_GET(body[0], WRITE_DATA__DST_SEL)) {
    case WRITE_DATA_DST_REG:
        return write_regs(e, c, IT_WRITE_DATA, body[1] & WRITE_DATA__REG_MASK,
                          incr, body + 3, n);
    case WRITE_DATA_DST_MEM_SYNC:
    case WRITE_DATA_DST_L2:
    case WRITE_DATA_DST_MEM:
        break;
    default:
        return reserved(e, c, IT_WRITE_DATA);
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

/* The data write of a RELEASE_MEM, va aligned to len. False: the queue stopped. */
static bool write_fence(VKFDEngine *e, const VKFDPm4Ctx *c, uint64_t va,
                        uint64_t data, uint32_t len)
{
    VKFDInjectResult how = VKFD_INJECT_GO;
    uint64_t v64;
    uint32_t v32;
    bool ok;

    if (vkfd_inject_on(e, VKFD_INJECT_AT_SLOT)) {
        how = vkfd_inject_slot(e, c->hqd, c->vmid, va, &data, len);
        if (how == VKFD_INJECT_SKIP) {
            return true;
        }
    }
    v64 = vkfd_le64(data);
    v32 = vkfd_le32(data);
    /* What earlier packets wrote before the fence that says so. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ok = vkfd_q_write(e, c->hqd, c->vmid, va,
                      len == 4 ? (void *)&v32 : (void *)&v64, len);
    if (ok && how == VKFD_INJECT_TWICE) {
        ok = vkfd_q_write(e, c->hqd, c->vmid, va,
                          len == 4 ? (void *)&v32 : (void *)&v64, len);
    }
    return ok;
}

/* Body: event and cache ops, selectors, addr lo/hi, data lo/hi, context id. */
static VKFDPm4Result release_mem(VKFDEngine *e, const VKFDPm4Ctx *c,
                                 const uint32_t *body)
{
    uint32_t data_sel = VKFD_GET(body[1], RELEASE_MEM__DATA_SEL);
    uint32_t int_sel = VKFD_GET(body[1], RELEASE_MEM__INT_SEL);
    uint64_t va = vkfd_pair(body[2], body[3]);
    uint64_t data = vkfd_pair(body[4], body[5]);
    uint32_t len = data_sel == RELEASE_MEM_DATA_32 ? 4 : 8;

    if (data_sel > RELEASE_MEM_DATA_SYS_CLOCK ||
        int_sel > RELEASE_MEM_INT_WRITE_CONFIRM ||
        VKFD_GET(body[1], RELEASE_MEM__DST_SEL) > RELEASE_MEM_DST_L2) {
        return reserved(e, c, IT_RELEASE_MEM);
    }
    if (data_sel == RELEASE_MEM_DATA_GPU_CLOCK ||
        data_sel == RELEASE_MEM_DATA_SYS_CLOCK) {
        data = vkfd_clock_now(e);
    }
    vkfd_trace(e, VKFD_TRACE_RELEASE_MEM, c->hqd, va, data, body[6], int_sel, 0);

    if (data_sel != RELEASE_MEM_DATA_NONE &&
        !write_fence(e, c, va & ~(uint64_t)(len - 1), data, len)) {
        return VKFD_PM4_STOP;
    }
    if (int_sel == RELEASE_MEM_INT_ONLY || int_sel == RELEASE_MEM_INT_AFTER_WRITE) {
        cp_interrupt(e, c->hqd, GFX_9_0__SRCID__CP_EOP_INTERRUPT,
                     CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE_MASK, body[6]);
    }
    return VKFD_PM4_DONE;
}

/*
 * Body: base lo, base hi, control. From a ring it enters the IB, with CHAIN in
 * an IB it replaces it. There is no second level on compute rings.
 */
static VKFDPm4Result indirect_buffer(VKFDEngine *e, const VKFDPm4Ctx *c,
                                     const uint32_t *body)
{
    VKFDHqd *q = c->q;
    bool in_ib = vkfd_hqd_in_ib(q);
    uint32_t size = body[2] & INDIRECT_BUFFER__SIZE_MASK;

    if (in_ib && !(body[2] & INDIRECT_BUFFER__CHAIN)) {
        return reserved(e, c, IT_INDIRECT_BUFFER);
    }
    if (!in_ib) {
        /* Only the kernel's rings choose another address space. */
        uint32_t vmid = c->vmid ? c->vmid
                                : VKFD_GET(body[2], INDIRECT_BUFFER__VMID);

        HQD(q, CP_HQD_VMID) = VKFD_PUT(HQD(q, CP_HQD_VMID),
                                       CP_HQD_VMID__IB_VMID, vmid);
    }
    HQD(q, CP_HQD_IB_BASE_ADDR) = body[0] & ~3u;
    HQD(q, CP_HQD_IB_BASE_ADDR_HI) = body[1] & INDIRECT_BUFFER__BASE_HI_MASK;
    HQD(q, CP_HQD_IB_RPTR) = 0;
    HQD(q, CP_HQD_IB_CONTROL) =
        VKFD_PUT(HQD(q, CP_HQD_IB_CONTROL), CP_HQD_IB_CONTROL__IB_SIZE, size) |
        CP_HQD_IB_CONTROL__PROCESSING_IB_MASK;
    return VKFD_PM4_JUMP;
}

static VKFDPm4Result set_reg(VKFDEngine *e, const VKFDPm4Ctx *c,
                             const uint32_t *body, uint8_t op, uint32_t start)
{
    return write_regs(e, c, op, start + (body[0] & SET_REG__OFFSET_MASK), 1,
                      body + 1, c->body_dw - 1);
}

/*
 * Stored per queue. What is outside the compute registers belongs to graphics:
 * a write there goes nowhere.
 */
static VKFDPm4Result set_sh_reg(VKFDEngine *e, const VKFDPm4Ctx *c,
                                const uint32_t *body)
{
    uint32_t dw = PACKET3_SET_SH_REG_START + (body[0] & SET_REG__OFFSET_MASK);
    uint32_t i, n = c->body_dw - 1;

    if (dw + n > PACKET3_SET_SH_REG_END) {
        return reserved(e, c, IT_SET_SH_REG);
    }
    for (i = 0; i < n; i++) {
        if (is_sh(dw + i)) {
            vkfd_pm4_reg_write(e, c, dw + i, body[1 + i]);
        }
    }
    return VKFD_PM4_DONE;
}

static VKFDPm4Result set_uconfig_reg(VKFDEngine *e, const VKFDPm4Ctx *c,
                                     const uint32_t *body)
{
    return set_reg(e, c, body, IT_SET_UCONFIG_REG, PACKET3_SET_UCONFIG_REG_START);
}

static VKFDPm4Result set_config_reg(VKFDEngine *e, const VKFDPm4Ctx *c,
                                    const uint32_t *body)
{
    return set_reg(e, c, body, IT_SET_CONFIG_REG, PACKET3_SET_CONFIG_REG_START);
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

#define SKIP(op) [IT_##op] = { #op, 1, BODY_MAX, NULL }

static const VKFDPm4Op ops[256] = {
    [IT_NOP] = { "NOP", 0, BODY_MAX, NULL },
    [IT_WRITE_DATA] = { "WRITE_DATA", 4, BODY_MAX, write_data },
    [IT_WAIT_REG_MEM] = { "WAIT_REG_MEM", 6, 6, vkfd_wait_reg_mem },
    [IT_INDIRECT_BUFFER] = { "INDIRECT_BUFFER", 3, 3, indirect_buffer },
    [IT_EVENT_WRITE] = { "EVENT_WRITE", 1, 3, flush },
    [IT_RELEASE_MEM] = { "RELEASE_MEM", 7, 7, release_mem },
    [IT_ACQUIRE_MEM] = { "ACQUIRE_MEM", 6, 6, flush },
    [IT_SET_SH_REG] = { "SET_SH_REG", 2, BODY_MAX, set_sh_reg },
    [IT_SET_UCONFIG_REG] = { "SET_UCONFIG_REG", 2, BODY_MAX, set_uconfig_reg },
    [IT_SET_CONFIG_REG] = { "SET_CONFIG_REG", 2, BODY_MAX, set_config_reg },
    /* Interface queues of the kernel only: sched-pm4.c */
    [IT_SET_RESOURCES] = { "SET_RESOURCES", SET_RESOURCES_DW, SET_RESOURCES_DW, vkfd_sched_set_resources },
    [IT_MAP_PROCESS] = { "MAP_PROCESS", MAP_PROCESS_DW, MAP_PROCESS_DW, vkfd_sched_pm4_map_process },
    [IT_MAP_QUEUES] = { "MAP_QUEUES", MAP_QUEUES_DW, MAP_QUEUES_DW, vkfd_sched_pm4_map_queues },
    [IT_UNMAP_QUEUES] = { "UNMAP_QUEUES", UNMAP_QUEUES_DW, UNMAP_QUEUES_DW, vkfd_sched_unmap_queues },
    [IT_QUERY_STATUS] = { "QUERY_STATUS", QUERY_STATUS_DW, QUERY_STATUS_DW, vkfd_sched_query_status },
    [IT_RUN_LIST] = { "RUN_LIST", RUN_LIST_DW, RUN_LIST_DW, vkfd_sched_run_list },
    [IT_INVALIDATE_TLBS] = { "INVALIDATE_TLBS", INVALIDATE_TLBS_DW, INVALIDATE_TLBS_DW, vkfd_sched_invalidate_tlbs },
    /* Known, not modelled */
    SKIP(SET_BASE),
    SKIP(CLEAR_STATE),
    SKIP(DISPATCH_DIRECT),
    SKIP(DISPATCH_INDIRECT),
    SKIP(ATOMIC_MEM),
    SKIP(COND_EXEC),
    SKIP(PRED_EXEC),
    SKIP(CONTEXT_CONTROL),
    SKIP(COPY_DATA),
    SKIP(PFP_SYNC_ME),
    SKIP(PREAMBLE_CNTL),
    SKIP(DMA_DATA),
    SKIP(SET_CONTEXT_REG),
    SKIP(INCREMENT_DE_COUNTER),
    SKIP(WAIT_ON_CE_COUNTER),
    SKIP(SWITCH_BUFFER),
    SKIP(FRAME_CONTROL),
    SKIP(WAIT_REG_MEM64),
    SKIP(RUN_CLEANER_SHADER),
};

const VKFDPm4Op *vkfd_pm4_op(uint8_t opcode)
{
    return ops[opcode].name ? &ops[opcode] : NULL;
}
