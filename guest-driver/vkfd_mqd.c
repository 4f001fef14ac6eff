// SPDX-License-Identifier: GPL-2.0-only
/*
 * MQDs as amdkfd fills them in for gfx9 user queues (kfd_mqd_manager_v9.c).
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include <vkfd/regs_gc.h>
#include <vkfd/regs_sdma.h>

#include "vkfd_mqd.h"

#define FIELD_OF(reg, field, val)	\
	(((u32)(val) << reg##__##field##__SHIFT) & reg##__##field##_MASK)

/* Values that work for every queue; meaning as in the register's description. */
#define MQD_PRELOAD_SIZE	0x53
#define MQD_RPTR_BLOCK_SIZE	5
#define MQD_MIN_IB_AVAIL_SIZE	3
#define MQD_HQ_STATUS0_DISPATCH_PTR	BIT(14)	/* CP sets up DISPATCH_PTR, for debuggers */
#define MQD_EOP_SIZE_MAX	0xa		/* 2^11 dwords: more overruns a counter of the CP */
#define MQD_COMPUTE_PGM_RSRC2_DW	20
#define MQD_RSRC2_TRAP_PRESENT	BIT(6)
#define MQD_STATIC_THREAD_MGMT_SE4_DW	39
/* CP_HQD_PIPE_PRIORITY */
#define PIPE_PRIORITY_LOW	0
#define PIPE_PRIORITY_MEDIUM	1
#define PIPE_PRIORITY_HIGH	2

/* CP_HQD_PQ_CONTROL.SLOT_BASED_WPTR and CP_HQD_AQL_CONTROL.CONTROL0 of AQL queues. */
#define MQD_SLOT_BASED_WPTR	2
#define MQD_AQL_CONTROL0	1

#define SDMA_MQD_DUMMY_REG_DW	27
#define SDMA_MQD_DUMMY_REG	0xf
#define SDMA_MQD_RPTR_TIMER	6

static void set(u32 *mqd, u32 reg, u32 val)
{
	mqd[V9_MQD_DW_OF(reg)] = val;
}

/* @reg and the register after it. */
static void set64(u32 *mqd, u32 reg, u64 val)
{
	set(mqd, reg, lower_32_bits(val));
	set(mqd, reg + 1, upper_32_bits(val));
}

static u32 pipe_priority(u32 priority)
{
	if (priority < 7)
		return PIPE_PRIORITY_LOW;
	return priority < 11 ? PIPE_PRIORITY_MEDIUM : PIPE_PRIORITY_HIGH;
}

void vkfd_mqd_init(u32 *mqd, const struct vkfd_queue_props *props, u64 mqd_addr, u32 doorbell_dw,
		   bool trap)
{
	u32 state = CP_HQD_PERSISTENT_STATE__PRELOAD_REQ_MASK |
		    FIELD_OF(CP_HQD_PERSISTENT_STATE, PRELOAD_SIZE, MQD_PRELOAD_SIZE);
	bool aql = props->kind == VKFD_QUEUE_AQL;
	unsigned int i;

	memset(mqd, 0, V9_MQD_DW * sizeof(*mqd));
	mqd[V9_MQD_HEADER_DW] = V9_MQD_HEADER_VALUE;
	mqd[V9_MQD_COMPUTE_PIPELINESTAT_ENABLE_DW] = 1;
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE0_DW] = ~0u;
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE1_DW] = ~0u;
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE2_DW] = ~0u;
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE3_DW] = ~0u;
	for (i = 0; i < 4; i++)
		mqd[MQD_STATIC_THREAD_MGMT_SE4_DW + i] = ~0u;
	if (trap)
		mqd[MQD_COMPUTE_PGM_RSRC2_DW] |= MQD_RSRC2_TRAP_PRESENT;

	set64(mqd, mmCP_MQD_BASE_ADDR, mqd_addr);
	set(mqd, mmCP_MQD_CONTROL, CP_MQD_CONTROL__PRIV_STATE_MASK);
	set(mqd, mmCP_HQD_QUANTUM, CP_HQD_QUANTUM__QUANTUM_EN_MASK |
		FIELD_OF(CP_HQD_QUANTUM, QUANTUM_SCALE, 1) |
		FIELD_OF(CP_HQD_QUANTUM, QUANTUM_DURATION, 1));
	set(mqd, mmCP_HQD_HQ_STATUS0, MQD_HQ_STATUS0_DISPATCH_PTR);
	/* IB_EXE_DISABLE is what amdkfd sets; PM4 indirect buffers run nevertheless. */
	set(mqd, mmCP_HQD_IB_CONTROL,
	    FIELD_OF(CP_HQD_IB_CONTROL, MIN_IB_AVAIL_SIZE, MQD_MIN_IB_AVAIL_SIZE) |
	    CP_HQD_IB_CONTROL__IB_EXE_DISABLE_MASK);

	set64(mqd, mmCP_HQD_PQ_RPTR_REPORT_ADDR, props->rptr_va);
	set64(mqd, mmCP_HQD_PQ_WPTR_POLL_ADDR, props->wptr_va);
	/* Loading the queue sets DOORBELL_EN. AQL: the value of a doorbell does not matter. */
	set(mqd, mmCP_HQD_PQ_DOORBELL_CONTROL,
	    FIELD_OF(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_OFFSET, doorbell_dw) |
	    (aql ? CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_BIF_DROP_MASK : 0));
	if (aql)
		set(mqd, mmCP_HQD_AQL_CONTROL,
		    FIELD_OF(CP_HQD_AQL_CONTROL, CONTROL0, MQD_AQL_CONTROL0));

	set64(mqd, mmCP_HQD_EOP_BASE_ADDR, props->eop_va >> 8);
	/* The field means 2^(n+1) dwords; a buffer of no size has none. */
	if (props->eop_size)
		set(mqd, mmCP_HQD_EOP_CONTROL,
		    min_t(u32, MQD_EOP_SIZE_MAX, order_base_2(props->eop_size / 8)));

	if (props->ctx_va) {
		state |= FIELD_OF(CP_HQD_PERSISTENT_STATE, QSWITCH_MODE, 1);
		set64(mqd, mmCP_HQD_CTX_SAVE_BASE_ADDR_LO, props->ctx_va);
		set(mqd, mmCP_HQD_CTX_SAVE_SIZE, props->ctx_size);
		/* The stack grows down from its end, where the wave state begins. */
		set(mqd, mmCP_HQD_CNTL_STACK_SIZE, props->ctl_stack_size);
		set(mqd, mmCP_HQD_CNTL_STACK_OFFSET, props->ctl_stack_size);
		set(mqd, mmCP_HQD_WG_STATE_OFFSET, props->ctl_stack_size);
	}
	set(mqd, mmCP_HQD_PERSISTENT_STATE, state);

	vkfd_mqd_update(mqd, props);
}

void vkfd_mqd_update(u32 *mqd, const struct vkfd_queue_props *props)
{
	u32 control = FIELD_OF(CP_HQD_PQ_CONTROL, RPTR_BLOCK_SIZE, MQD_RPTR_BLOCK_SIZE) |
		      CP_HQD_PQ_CONTROL__UNORD_DISPATCH_MASK;

	if (props->kind == VKFD_QUEUE_AQL)
		control |= CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR_MASK |
			   FIELD_OF(CP_HQD_PQ_CONTROL, SLOT_BASED_WPTR, MQD_SLOT_BASED_WPTR) |
			   CP_HQD_PQ_CONTROL__QUEUE_FULL_EN_MASK |
			   CP_HQD_PQ_CONTROL__WPP_CLAMP_EN_MASK;
	if (props->ring_size) {
		/* The field means 2^(n+1) dwords. */
		control |= FIELD_OF(CP_HQD_PQ_CONTROL, QUEUE_SIZE,
				    order_base_2(props->ring_size / 4) - 1);
		/* A ring that became smaller: rptr counts modulo its size. */
		mqd[V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR)] &= props->ring_size / 4 - 1;
	}
	set(mqd, mmCP_HQD_PQ_CONTROL, control);
	set64(mqd, mmCP_HQD_PQ_BASE, props->ring_va >> 8);
	set(mqd, mmCP_HQD_PIPE_PRIORITY, pipe_priority(props->priority));
	set(mqd, mmCP_HQD_QUEUE_PRIORITY, props->priority);
}

void vkfd_mqd_set_vmid(u32 *mqd, unsigned int vmid)
{
	set(mqd, mmCP_HQD_VMID, FIELD_OF(CP_HQD_VMID, VMID, vmid));
}

void vkfd_mqd_set_doorbell(u32 *mqd, u32 doorbell_dw)
{
	u32 *control = &mqd[V9_MQD_DW_OF(mmCP_HQD_PQ_DOORBELL_CONTROL)];

	*control &= ~CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK;
	*control |= FIELD_OF(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_OFFSET, doorbell_dw);
}

u32 vkfd_mqd_rptr(const u32 *mqd)
{
	return mqd[V9_MQD_DW_OF(mmCP_HQD_PQ_RPTR)];
}

void vkfd_mqd_set_cu_mask(u32 *mqd, u32 mask, unsigned int num_cu)
{
	unsigned int i;

	/* Enabled units come first, whichever of the chip's are fused off. */
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE0_DW] = mask & (BIT(num_cu) - 1);
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE1_DW] = 0;
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE2_DW] = 0;
	mqd[V9_MQD_STATIC_THREAD_MGMT_SE3_DW] = 0;
	for (i = 0; i < 4; i++)
		mqd[MQD_STATIC_THREAD_MGMT_SE4_DW + i] = 0;
}

void vkfd_mqd_sdma_init(u32 *mqd, const struct vkfd_queue_props *props, u32 doorbell_dw,
			unsigned int engine, unsigned int queue)
{
	memset(mqd, 0, V9_SDMA_MQD_DW * sizeof(*mqd));
	mqd[V9_SDMA_MQD_RB_RPTR_ADDR_HI_DW] = upper_32_bits(props->rptr_va);
	mqd[V9_SDMA_MQD_RB_RPTR_ADDR_LO_DW] = lower_32_bits(props->rptr_va);
	mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW] = upper_32_bits(props->wptr_va);
	mqd[V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW] = lower_32_bits(props->wptr_va);
	mqd[V9_SDMA_MQD_DOORBELL_OFFSET_DW] =
		FIELD_OF(SDMA0_GFX_DOORBELL_OFFSET, OFFSET, doorbell_dw);
	mqd[SDMA_MQD_DUMMY_REG_DW] = SDMA_MQD_DUMMY_REG;
	mqd[V9_SDMA_MQD_ENGINE_ID_DW] = engine;
	mqd[V9_SDMA_MQD_QUEUE_ID_DW] = queue;
	vkfd_mqd_sdma_update(mqd, props);
}

void vkfd_mqd_sdma_update(u32 *mqd, const struct vkfd_queue_props *props)
{
	u32 cntl = SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE_MASK |
		   FIELD_OF(SDMA0_GFX_RB_CNTL, RPTR_WRITEBACK_TIMER, SDMA_MQD_RPTR_TIMER);

	/* Pointers count bytes and never wrap: rptr holds for a ring of any size. */
	if (props->ring_size)
		cntl |= FIELD_OF(SDMA0_GFX_RB_CNTL, RB_SIZE, order_base_2(props->ring_size / 4));
	mqd[V9_SDMA_MQD_RB_CNTL_DW] = cntl;
	mqd[V9_SDMA_MQD_RB_BASE_DW] = lower_32_bits(props->ring_va >> 8);
	mqd[V9_SDMA_MQD_RB_BASE_HI_DW] = upper_32_bits(props->ring_va >> 8);
}

void vkfd_mqd_sdma_set_vmid(u32 *mqd, unsigned int vmid)
{
	mqd[V9_SDMA_MQD_RB_CNTL_DW] &= ~SDMA0_GFX_RB_CNTL__RB_VMID_MASK;
	mqd[V9_SDMA_MQD_RB_CNTL_DW] |= FIELD_OF(SDMA0_GFX_RB_CNTL, RB_VMID, vmid);
}

void vkfd_mqd_sdma_set_doorbell(u32 *mqd, u32 doorbell_dw)
{
	mqd[V9_SDMA_MQD_DOORBELL_OFFSET_DW] =
		FIELD_OF(SDMA0_GFX_DOORBELL_OFFSET, OFFSET, doorbell_dw);
}

u64 vkfd_mqd_sdma_rptr(const u32 *mqd)
{
	return (u64)mqd[V9_SDMA_MQD_RB_RPTR_HI_DW] << 32 | mqd[V9_SDMA_MQD_RB_RPTR_DW];
}
