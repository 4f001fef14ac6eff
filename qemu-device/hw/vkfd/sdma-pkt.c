/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SDMA packets: the table, and those that are done in one go. The table names every
 * packet that is accepted, with its length and the bits that have to be 0; sdma.c
 * checks them before a handler sees a local copy of the body. To add a packet: its
 * layout in vkfd/sdma.h, a handler, its line in the table, its paragraph in
 * docs/hw-spec.md, a test.
 */
#include "sdma-priv.h"

/* SDMA0_ATOMIC_CNTL */
#define ATOMIC_CNTL__RTN_INT_ENABLE     0x80000000u

void vkfd_sdma_interrupt(VKFDEngine *e, unsigned id, uint8_t source, uint32_t ctx0,
                         uint32_t ctx1)
{
    static const uint8_t ring_id[] = { VKFD_SDMA_RING_ID_GFX, VKFD_SDMA_RING_ID_PAGE };
    unsigned block = id % VKFD_SDMA_QUEUES;
    VKFDIv iv = {
        .client = id < VKFD_SDMA_QUEUES ? SOC15_IH_CLIENTID_SDMA0
                                        : SOC15_IH_CLIENTID_SDMA1,
        .source = source,
        .ring_id = block < VKFD_SDMA_BLOCK_RLC0 ? ring_id[block]
                                                : VKFD_SDMA_RING_ID_RLC,
        .vmid = vkfd_sdma_vmid(e, id),
        .mm_hub = true,
        .ctx = { ctx0, ctx1 },
    };

    vkfd_ih_push(e, &iv);
}

/* Doorbell id within its slice, as KFD names a queue. */
static uint32_t doorbell_id(const VKFDEngine *e, unsigned id)
{
    uint32_t dw = VKFD_GET(SDMA(e, id, DOORBELL_OFFSET),
                           SDMA0_GFX_DOORBELL_OFFSET__OFFSET);

    return dw / 2 & VKFD_CP_BAD_OP__DOORBELL_MASK;
}

VKFDSdmaResult vkfd_sdma_bad(VKFDEngine *e, const VKFDSdmaCtx *c, uint32_t code)
{
    e->counters[VKFD_CNT_PACKET_BAD]++;
    vkfd_trace(e, VKFD_TRACE_SDMA_BAD, c->id, c->header, code, 0, 0, 0);
    vkfd_sdma_stop(e, c->id, VKFD_STOP_BAD_PACKET);
    vkfd_sdma_interrupt(e, c->id, VKFD_SRCID__SDMA_ILLEGAL_INST,
                        doorbell_id(e, c->id) | code << VKFD_CP_BAD_OP__CODE__SHIFT,
                        c->header);
    return VKFD_SDMA_STOP;
}

VKFDSdmaResult vkfd_sdma_priv(VKFDEngine *e, const VKFDSdmaCtx *c, uint32_t dw)
{
    e->counters[VKFD_CNT_REG_FAULT]++;
    vkfd_trace(e, VKFD_TRACE_SDMA_PRIV, c->id, (uint64_t)dw * 4, 0, 0, 0, 0);
    vkfd_sdma_stop(e, c->id, VKFD_STOP_PRIV_REG);
    vkfd_sdma_interrupt(e, c->id, SDMA0_4_0__SRCID__SDMA_SRBMWRITE,
                        doorbell_id(e, c->id), c->header);
    return VKFD_SDMA_STOP;
}

static VKFDSdmaResult nop(VKFDEngine *e, const VKFDSdmaCtx *c, const uint32_t *body)
{
    (void)e;
    (void)c;
    (void)body;
    return VKFD_SDMA_DONE;
}

/* Only a ring enters an IB. CMD_VMID counts for the kernel's rings only (sdma.c). */
static VKFDSdmaResult indirect(VKFDEngine *e, const VKFDSdmaCtx *c,
                               const uint32_t *body)
{
    unsigned id = c->id;
    uint32_t vmid = VKFD_GET(c->header, SDMA_PKT_INDIRECT__VMID);
    uint32_t size = body[2] & SDMA_PKT_INDIRECT__SIZE_MASK;

    if (c->in_ib) {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    }
    if ((vkfd_sdma_rptr(e, id) / 4 + SDMA_PKT_INDIRECT_DW) % SDMA_PKT_INDIRECT__END_DW) {
        vkfd_guest_error(e, "SDMA INDIRECT does not end on a multiple of 8 dwords");
    }
    if (!size) {
        return VKFD_SDMA_DONE;
    }
    SDMA(e, id, IB_BASE_LO) = body[0];
    SDMA(e, id, IB_BASE_HI) = body[1];
    SDMA(e, id, IB_RPTR) = 0;
    SDMA(e, id, CSA_ADDR_LO) = body[3];
    SDMA(e, id, CSA_ADDR_HI) = body[4];
    SDMA(e, id, IB_CNTL) = VKFD_PUT(SDMA(e, id, IB_CNTL), SDMA0_GFX_IB_CNTL__CMD_VMID,
                                    vmid);
    SDMA(e, id, IB_SIZE) = size;
    return VKFD_SDMA_JUMP;
}

static VKFDSdmaResult fence(VKFDEngine *e, const VKFDSdmaCtx *c,
                            const uint32_t *body)
{
    uint64_t va = vkfd_pair(body[0], body[1]), data = body[2];
    VKFDInjectResult how = VKFD_INJECT_GO;
    uint32_t v;

    if (vkfd_inject_on(e, VKFD_INJECT_AT_SLOT)) {
        how = vkfd_inject_slot(e, VKFD_INJECT_SDMA(c->id), c->vmid, va, &data, 4);
        if (how == VKFD_INJECT_SKIP) {
            return VKFD_SDMA_DONE;
        }
    }
    v = vkfd_le32(data);
    /* What earlier packets wrote before the fence that says so. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!vkfd_sdma_write(e, c->id, c->vmid, va, &v, sizeof(v)) ||
        (how == VKFD_INJECT_TWICE &&
         !vkfd_sdma_write(e, c->id, c->vmid, va, &v, sizeof(v)))) {
        return VKFD_SDMA_STOP;
    }
    return VKFD_SDMA_DONE;
}

static VKFDSdmaResult trap(VKFDEngine *e, const VKFDSdmaCtx *c,
                           const uint32_t *body)
{
    vkfd_trace(e, VKFD_TRACE_SDMA_TRAP, c->id, body[0], 0, 0, 0, 0);
    if (SDMA_ENG(e, c->id, CNTL) & SDMA0_CNTL__TRAP_ENABLE_MASK) {
        vkfd_sdma_interrupt(e, c->id, SDMA0_4_0__SRCID__SDMA_TRAP, body[0], 0);
    }
    return VKFD_SDMA_DONE;
}

static VKFDSdmaResult poll_reg_write_mem(VKFDEngine *e, const VKFDSdmaCtx *c,
                                         const uint32_t *body)
{
    uint32_t dw = body[0] / 4, v = 0;

    if (c->vmid && !vkfd_reg_user_ok(dw, false)) {
        return vkfd_sdma_priv(e, c, dw);
    }
    if (dw < VKFD_NUM_REGS) {
        v = vkfd_le32(vkfd_reg_read(e, dw));
    }
    return vkfd_sdma_write(e, c->id, c->vmid, vkfd_pair(body[1], body[2]), &v,
                           sizeof(v)) ? VKFD_SDMA_DONE : VKFD_SDMA_STOP;
}

/* Skip n dwords behind the packet. In an IB they have to be in it. */
static VKFDSdmaResult skip_unless(VKFDEngine *e, const VKFDSdmaCtx *c, bool go,
                                  uint32_t n)
{
    if (c->in_ib && n > c->avail - c->dw) {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    }
    SDMA(e, c->id, SKIP_CNTL) = go ? 0 : n;
    return VKFD_SDMA_DONE;
}

static VKFDSdmaResult cond_exe(VKFDEngine *e, const VKFDSdmaCtx *c,
                               const uint32_t *body)
{
    uint32_t v;

    if (!vkfd_sdma_read(e, c->id, c->vmid, vkfd_pair(body[0], body[1]), &v,
                        sizeof(v))) {
        return VKFD_SDMA_STOP;
    }
    return skip_unless(e, c, vkfd_le32(v) == body[2], body[3]);
}

/* We are device 0. */
static VKFDSdmaResult pre_exe(VKFDEngine *e, const VKFDSdmaCtx *c,
                              const uint32_t *body)
{
    return skip_unless(e, c, VKFD_GET(c->header, SDMA_PKT_PRE_EXE__DEV_SEL) & 1,
                       body[0]);
}

static VKFDSdmaResult atomic(VKFDEngine *e, const VKFDSdmaCtx *c,
                             const uint32_t *body)
{
    uint32_t tc = VKFD_GET(c->header, SDMA_PKT_ATOMIC__OP);
    uint32_t len = vkfd_tc_op_len(tc);
    uint64_t va = vkfd_pair(body[0], body[1]);
    VKFDAtomic a = {
        .src = len == 8 ? vkfd_pair(body[2], body[3]) : body[2],
        .cmp = len == 8 ? vkfd_pair(body[4], body[5]) : body[4],
    };
    VKFDFault f;
    VKFDRmw how;
    bool write;

    if (!vkfd_tc_op(tc, &a.op)) {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_UNSUPPORTED);
    }
    if (va & (len - 1)) {
        return vkfd_sdma_bad(e, c, VKFD_EC_PACKET_RESERVED);
    }
    how = vkfd_vm_atomic(e, VKFD_HUB_MM, c->vmid, va, len, &a, &f, &write);
    if (!vkfd_sdma_access(e, c->id, c->vmid, va, write, f)) {
        return VKFD_SDMA_STOP;
    }
    if (how == VKFD_RMW_BUSY) {
        vkfd_sdma_set_progress(e, c->id, 0, 0);
        return VKFD_SDMA_MORE;
    }
    if ((c->header & SDMA_PKT_ATOMIC__LOOP) && a.op == VKFD_ATOMIC_CMPSWAP &&
        a.old != a.cmp) {
        return vkfd_sdma_park_mem(e, c, va, len);
    }
    if (vkfd_tc_op_returns(tc)) {
        SDMA_ENG(e, c->id, ATOMIC_PREOP_LO) = a.old;
        SDMA_ENG(e, c->id, ATOMIC_PREOP_HI) = a.old >> 32;
        if (SDMA_ENG(e, c->id, ATOMIC_CNTL) & ATOMIC_CNTL__RTN_INT_ENABLE) {
            vkfd_sdma_interrupt(e, c->id, SDMA0_4_0__SRCID__SDMA_ATOMIC_RTN_DONE,
                                0, 0);
        }
    }
    return VKFD_SDMA_DONE;
}

/* For the whole engine, so not a user's business. */
static VKFDSdmaResult timestamp_set(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body)
{
    e->sdma_ts_offset[c->id / VKFD_SDMA_QUEUES] =
        vkfd_pair(body[0], body[1]) - vkfd_clock_now(e);
    return VKFD_SDMA_DONE;
}

static VKFDSdmaResult timestamp(VKFDEngine *e, const VKFDSdmaCtx *c,
                                const uint32_t *body, uint64_t offset)
{
    uint64_t v = vkfd_le64(vkfd_clock_now(e) + offset);

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return vkfd_sdma_write(e, c->id, c->vmid, vkfd_pair(body[0], body[1]), &v,
                           sizeof(v)) ? VKFD_SDMA_DONE : VKFD_SDMA_STOP;
}

static VKFDSdmaResult timestamp_get(VKFDEngine *e, const VKFDSdmaCtx *c,
                                    const uint32_t *body)
{
    return timestamp(e, c, body, e->sdma_ts_offset[c->id / VKFD_SDMA_QUEUES]);
}

static VKFDSdmaResult timestamp_get_global(VKFDEngine *e, const VKFDSdmaCtx *c,
                                           const uint32_t *body)
{
    return timestamp(e, c, body, 0);
}

/* Bytes that are not enabled keep what a read of the register gives. */
static VKFDSdmaResult srbm_write(VKFDEngine *e, const VKFDSdmaCtx *c,
                                 const uint32_t *body)
{
    uint32_t dw = body[0], val = body[1], mask = 0;
    uint32_t enabled = VKFD_GET(c->header, SDMA_PKT_SRBM_WRITE__BYTE_EN);
    unsigned i;

    if (dw >= VKFD_NUM_REGS) {
        return vkfd_sdma_priv(e, c, dw);
    }
    for (i = 0; i < 4; i++) {
        mask |= enabled & 1u << i ? 0xffu << 8 * i : 0;
    }
    if (!mask) {
        return VKFD_SDMA_DONE;
    }
    if (mask != UINT32_MAX) {
        val = (vkfd_reg_read(e, dw) & ~mask) | (val & mask);
    }
    vkfd_trace(e, VKFD_TRACE_REG_WRITE, (uint64_t)dw * 4, val, 1, 0, 0, 0);
    vkfd_reg_write(e, dw, val);
    return VKFD_SDMA_DONE;
}

/* Reserved bits of DW1.. */
static const uint32_t copy_rsv[] = {
    ~SDMA_PKT_COPY__COUNT_MASK, ~0u, 0, 0, 0, 0, 0, 0,
};
static const uint32_t subwin_rsv[] = {
    0, 0, 0xc000c000, 0x00001800, ~SDMA_PKT_SUBWIN__SLICE_PITCH_MASK,
    0, 0, 0xc000c000, 0x00001800, ~SDMA_PKT_SUBWIN__SLICE_PITCH_MASK,
    0xc000c000, ~SDMA_PKT_SUBWIN__Z_MASK,
};
static const uint32_t write_rsv[] = { 3, 0, ~SDMA_PKT_WRITE__COUNT_MASK };
static const uint32_t indirect_rsv[] = {
    SDMA_PKT_INDIRECT__BASE_ALIGN - 1, 0, ~SDMA_PKT_INDIRECT__SIZE_MASK, 3, 0,
};
static const uint32_t fence_rsv[] = { 3, 0, 0 };
static const uint32_t trap_rsv[] = { ~SDMA_PKT_TRAP__INT_CONTEXT_MASK };
static const uint32_t poll_rsv[] = { 3, 0, 0, 0, 0xf0000000 };
static const uint32_t poll_write_rsv[] = { 3, 3, 0 };
static const uint32_t cond_rsv[] = { 3, 0, 0, ~SDMA_PKT_EXE__COUNT_MASK };
static const uint32_t pre_exe_rsv[] = { ~SDMA_PKT_EXE__COUNT_MASK };
static const uint32_t atomic_rsv[] = { 3, 0, 0, 0, 0, 0, 0xffffe000 };
static const uint32_t fill_rsv[] = { 0, 0, 0, ~SDMA_PKT_CONST_FILL__COUNT_MASK };
static const uint32_t multi_rsv[] = {
    0, 0, 0, 0, ~SDMA_PKT_DATA_FILL_MULTI__COUNT_MASK,
};
static const uint32_t ptepde_rsv[] = {
    7, 0, 0, 0, 0, 0, 0, 0, ~SDMA_PKT_PTEPDE_GEN__COUNT_MASK,
};
static const uint32_t timestamp_rsv[] = { 7, 0 };
static const uint32_t srbm_rsv[] = { ~SDMA_PKT_SRBM_WRITE__ADDR_MASK, 0 };

static const VKFDSdmaOp copy_broadcast = {
    "COPY_BROADCAST_LINEAR", SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR,
    SDMA_PKT_COPY_BROADCAST_LINEAR_DW, false, SDMA_PKT_COPY__BROADCAST, copy_rsv,
    vkfd_sdma_copy_linear,
};

static const VKFDSdmaOp ops[] = {
    { "NOP", SDMA_OP_NOP, 0, 1, false, SDMA_PKT_NOP__COUNT_MASK, NULL, nop },
    { "COPY_LINEAR", SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR, SDMA_PKT_COPY_LINEAR_DW,
      false, 0, copy_rsv, vkfd_sdma_copy_linear },
    { "COPY_LINEAR_SUBWIN", SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR_SUB_WIND,
      SDMA_PKT_COPY_LINEAR_SUBWIN_DW, false, SDMA_PKT_SUBWIN__ELEMENTSIZE_MASK,
      subwin_rsv, vkfd_sdma_copy_subwin },
    { "WRITE", SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR, SDMA_PKT_WRITE_DW, false, 0,
      write_rsv, vkfd_sdma_write_linear },
    { "INDIRECT", SDMA_OP_INDIRECT, 0, SDMA_PKT_INDIRECT_DW, false,
      SDMA_PKT_INDIRECT__VMID_MASK, indirect_rsv, indirect },
    { "FENCE", SDMA_OP_FENCE, 0, SDMA_PKT_FENCE_DW, false, 0, fence_rsv, fence },
    { "TRAP", SDMA_OP_TRAP, 0, SDMA_PKT_TRAP_DW, false, 0, trap_rsv, trap },
    /* No semaphore block: known, not modelled. */
    { "SEMAPHORE", SDMA_OP_SEM, 0, SDMA_PKT_SEMAPHORE_DW, false,
      SDMA_PKT_SEMAPHORE__WRITE_ONE | SDMA_PKT_SEMAPHORE__SIGNAL |
      SDMA_PKT_SEMAPHORE__MAILBOX, NULL, NULL },
    { "POLL_REGMEM", SDMA_OP_POLL_REGMEM, 0, SDMA_PKT_POLL_REGMEM_DW, false,
      SDMA_PKT_POLL_REGMEM__HDP_FLUSH | SDMA_PKT_POLL_REGMEM__FUNC_MASK |
      SDMA_PKT_POLL_REGMEM__MEM_POLL, poll_rsv, vkfd_sdma_poll_regmem },
    { "POLL_REG_WRITE_MEM", SDMA_OP_POLL_REGMEM, SDMA_SUBOP_POLL_REG_WRITE_MEM,
      SDMA_PKT_POLL_REG_WRITE_MEM_DW, false, 0, poll_write_rsv, poll_reg_write_mem },
    { "COND_EXE", SDMA_OP_COND_EXE, 0, SDMA_PKT_COND_EXE_DW, false, 0, cond_rsv,
      cond_exe },
    { "ATOMIC", SDMA_OP_ATOMIC, 0, SDMA_PKT_ATOMIC_DW, false,
      SDMA_PKT_ATOMIC__LOOP | SDMA_PKT_ATOMIC__OP_MASK, atomic_rsv, atomic },
    { "CONST_FILL", SDMA_OP_CONST_FILL, 0, SDMA_PKT_CONST_FILL_DW, false,
      SDMA_PKT_CONST_FILL__FILLSIZE_MASK, fill_rsv, vkfd_sdma_const_fill },
    { "DATA_FILL_MULTI", SDMA_OP_CONST_FILL, SDMA_SUBOP_DATA_FILL_MULTI,
      SDMA_PKT_DATA_FILL_MULTI_DW, false, 0, multi_rsv, vkfd_sdma_fill_multi },
    { "PTEPDE_GEN", SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN, SDMA_PKT_PTEPDE_GEN_DW,
      false, 0, ptepde_rsv, vkfd_sdma_ptepde_gen },
    { "TIMESTAMP_SET", SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_SET,
      SDMA_PKT_TIMESTAMP_DW, true, 0, NULL, timestamp_set },
    { "TIMESTAMP_GET", SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET,
      SDMA_PKT_TIMESTAMP_DW, false, 0, timestamp_rsv, timestamp_get },
    { "TIMESTAMP_GET_GLOBAL", SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL,
      SDMA_PKT_TIMESTAMP_DW, false, 0, timestamp_rsv, timestamp_get_global },
    { "SRBM_WRITE", SDMA_OP_SRBM_WRITE, 0, SDMA_PKT_SRBM_WRITE_DW, true,
      SDMA_PKT_SRBM_WRITE__BYTE_EN_MASK, srbm_rsv, srbm_write },
    { "PRE_EXE", SDMA_OP_PRE_EXE, 0, SDMA_PKT_PRE_EXE_DW, false,
      SDMA_PKT_PRE_EXE__DEV_SEL_MASK, pre_exe_rsv, pre_exe },
    { "DUMMY_TRAP", SDMA_OP_DUMMY_TRAP, 0, SDMA_PKT_TRAP_DW, false, 0, trap_rsv, nop },
};

const VKFDSdmaOp *vkfd_sdma_op(uint32_t header)
{
    uint32_t op = header & SDMA_PKT_HEADER__OP_MASK;
    uint32_t sub_op = VKFD_GET(header, SDMA_PKT_HEADER__SUB_OP);
    unsigned i;

    if (op == SDMA_OP_COPY && sub_op == SDMA_SUBOP_COPY_LINEAR &&
        (header & SDMA_PKT_COPY__BROADCAST)) {
        return &copy_broadcast;
    }
    for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (ops[i].op == op && ops[i].sub_op == sub_op) {
            return &ops[i];
        }
    }
    return NULL;
}

uint32_t vkfd_sdma_packet_dw(const VKFDSdmaOp *op, uint32_t header,
                             const uint32_t *body)
{
    switch (op->op) {
    case SDMA_OP_NOP:
        return op->dw + VKFD_GET(header, SDMA_PKT_NOP__COUNT);
    case SDMA_OP_WRITE:
        return op->dw + (body[2] & SDMA_PKT_WRITE__COUNT_MASK) + 1;
    default:
        return op->dw;
    }
}
