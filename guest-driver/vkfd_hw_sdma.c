// SPDX-License-Identifier: GPL-2.0-only
/*
 * SDMA engines at the level of registers: bring-up, user queues on and off.
 *
 * The sequences are amdgpu's for parts without a scheduler (amdgpu_amdkfd_gfx_v9.c),
 * with two differences. The write pointer is not read by the CPU but by the engine: it
 * polls the memory when the queue is enabled, through the queue's own VMID, and the
 * polling is switched off again. With the doorbell enabled before that, none gets lost. And
 * all of a queue's registers are saved and loaded, so that it goes on within an IB or
 * a long copy.
 *
 * The registers of a queue belong to whoever has its slot (dev->sdma_used); no lock is
 * taken for them here.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <drm/drm_print.h>

#include <vkfd/doorbell.h>
#include <vkfd/regs_nbio.h>
#include <vkfd/regs_sdma.h>

#include "vkfd_device.h"
#include "vkfd_hw.h"
#include "vkfd_reset.h"

/* Doorbells an engine owns in each 4 KiB page: a page ring's and RLC's, 64 bits each. */
#define SDMA_DOORBELLS		10
/* At start-up a queue of the previous owner gets this long to stop. */
#define SDMA_INIT_STOP_MS	500

/*
 * Where the dwords of an SDMA MQD are in the registers of a queue: three runs, as
 * include/vkfd/regs_sdma.h has them.
 */
static const struct sdma_run {
	u8 mqd_first, mqd_last;
	u32 reg;
} sdma_runs[] = {
	{ V9_SDMA_MQD_RB_CNTL_DW, V9_SDMA_MQD_DOORBELL_DW, mmSDMA0_GFX_RB_CNTL },
	{ V9_SDMA_MQD_STATUS_DW, V9_SDMA_MQD_IB_SUB_REMAIN_DW - 1, mmSDMA0_GFX_STATUS },
	{ V9_SDMA_MQD_IB_SUB_REMAIN_DW, V9_SDMA_MQD_MIDCMD_DATA0_DW - 1, mmSDMA0_GFX_IB_SUB_REMAIN },
	{ V9_SDMA_MQD_MIDCMD_DATA0_DW,
	  V9_SDMA_MQD_MIDCMD_DATA0_DW + mmSDMA0_GFX_MIDCMD_CNTL - mmSDMA0_GFX_MIDCMD_DATA0,
	  mmSDMA0_GFX_MIDCMD_DATA0 },
};

/* Register @reg, one of the GFX block of engine 0, of user queue @rlc of @engine. */
static u32 rlc_reg(unsigned int engine, unsigned int rlc, u32 reg)
{
	return reg + engine * VKFD_SDMA_ENGINE_STRIDE +
	       (VKFD_SDMA_BLOCK_RLC0 + rlc) * VKFD_SDMA_QUEUE_STRIDE;
}

static u32 rlc_rreg(struct vkfd_device *dev, unsigned int engine, unsigned int rlc, u32 reg)
{
	return vkfd_rreg(dev, rlc_reg(engine, rlc, reg));
}

static void rlc_wreg(struct vkfd_device *dev, unsigned int engine, unsigned int rlc, u32 reg,
		     u32 val)
{
	vkfd_wreg(dev, rlc_reg(engine, rlc, reg), val);
}

int vkfd_hw_sdma_init(struct vkfd_device *dev)
{
	static const u32 first_doorbell[VKFD_NUM_SDMA] = {
		AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0, AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE1,
	};
	unsigned int engine, rlc;
	u32 base, v;
	int ret;

	for (engine = 0; engine < VKFD_NUM_SDMA; engine++) {
		base = engine * VKFD_SDMA_ENGINE_STRIDE;
		vkfd_wreg(dev, mmBIF_SDMA0_DOORBELL_RANGE +
			  engine * (mmBIF_SDMA1_DOORBELL_RANGE - mmBIF_SDMA0_DOORBELL_RANGE),
			  VKFD_DOORBELL_DW(first_doorbell[engine]) <<
				BIF_SDMA0_DOORBELL_RANGE__OFFSET__SHIFT |
			  VKFD_DOORBELL_DW(SDMA_DOORBELLS) << BIF_SDMA0_DOORBELL_RANGE__SIZE__SHIFT);

		/* The kernel has no ring of its own here. */
		vkfd_wreg(dev, mmSDMA0_GFX_RB_CNTL + base, 0);
		vkfd_wreg(dev, mmSDMA0_PAGE_RB_CNTL + base, 0);
		v = vkfd_rreg(dev, mmSDMA0_CNTL + base);
		vkfd_wreg(dev, mmSDMA0_CNTL + base, v | SDMA0_CNTL__TRAP_ENABLE_MASK |
			  SDMA0_CNTL__UTC_L1_ENABLE_MASK | SDMA0_CNTL__AUTO_CTXSW_ENABLE_MASK);
		v = vkfd_rreg(dev, mmSDMA0_F32_CNTL + base);
		vkfd_wreg(dev, mmSDMA0_F32_CNTL + base, v & ~SDMA0_F32_CNTL__HALT_MASK);

		for (rlc = 0; rlc < VKFD_SDMA_NUM_RLC; rlc++) {
			if (!vkfd_hw_sdma_is_active(dev, engine, rlc))
				continue;
			ret = vkfd_hw_sdma_unload(dev, engine, rlc, SDMA_INIT_STOP_MS, NULL);
			if (ret)
				return ret;
		}
	}
	return 0;
}

void vkfd_hw_sdma_halt(struct vkfd_device *dev)
{
	unsigned int engine, rlc;
	u32 base;

	for (engine = 0; engine < VKFD_NUM_SDMA; engine++) {
		base = engine * VKFD_SDMA_ENGINE_STRIDE;
		vkfd_wreg(dev, mmSDMA0_F32_CNTL + base,
			  vkfd_rreg(dev, mmSDMA0_F32_CNTL + base) | SDMA0_F32_CNTL__HALT_MASK);
		for (rlc = 0; rlc < VKFD_SDMA_NUM_RLC; rlc++) {
			rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_DOORBELL, 0);
			rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_RB_CNTL, 0);
		}
	}
}

int vkfd_hw_sdma_load(struct vkfd_device *dev, unsigned int engine, unsigned int rlc,
		      const u32 *mqd)
{
	unsigned int i, dw;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return -ENODEV;
	if (rlc_rreg(dev, engine, rlc, mmSDMA0_GFX_RB_CNTL) &
	    SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK) {
		vkfd_hw_exit(idx);
		return -EBUSY;
	}

	/* Upwards: writing the read pointer forgets the IB, whose registers come later. */
	for (i = 0; i < ARRAY_SIZE(sdma_runs); i++) {
		for (dw = sdma_runs[i].mqd_first; dw <= sdma_runs[i].mqd_last; dw++) {
			u32 val = mqd[dw];

			switch (dw) {
			case V9_SDMA_MQD_RB_CNTL_DW:
				val &= ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
				break;
			case V9_SDMA_MQD_DOORBELL_DW:
				/* Not before its offset is there. */
				val = 0;
				break;
			}
			rlc_wreg(dev, engine, rlc,
				 sdma_runs[i].reg + dw - sdma_runs[i].mqd_first, val);
		}
	}
	rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_MINOR_PTR_UPDATE, 0);

	/*
	 * Doorbell before the poll: one that is rung between the two must not get lost,
	 * and memory is never behind a doorbell. Nothing runs before the poll is done.
	 */
	rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_DOORBELL, SDMA0_GFX_DOORBELL__ENABLE_MASK);
	rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_RB_WPTR_POLL_CNTL,
		 SDMA0_GFX_RB_WPTR_POLL_CNTL__ENABLE_MASK);
	rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_RB_CNTL,
		 mqd[V9_SDMA_MQD_RB_CNTL_DW] | SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
	rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_RB_WPTR_POLL_CNTL, 0);
	vkfd_hw_exit(idx);
	return 0;
}

/* What an inactive queue holds, in the form vkfd_hw_sdma_load() takes. */
static void sdma_save(struct vkfd_device *dev, unsigned int engine, unsigned int rlc, u32 *mqd)
{
	unsigned int i, dw;

	for (i = 0; i < ARRAY_SIZE(sdma_runs); i++)
		for (dw = sdma_runs[i].mqd_first; dw <= sdma_runs[i].mqd_last; dw++)
			mqd[dw] = rlc_rreg(dev, engine, rlc,
					   sdma_runs[i].reg + dw - sdma_runs[i].mqd_first);
	mqd[V9_SDMA_MQD_RB_CNTL_DW] &= ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
	mqd[V9_SDMA_MQD_DOORBELL_DW] = 0;
}

int vkfd_hw_sdma_unload(struct vkfd_device *dev, unsigned int engine, unsigned int rlc,
			unsigned int timeout_ms, u32 *mqd)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), timeout_ms);
	bool idle, late = false, first = true;
	int idx;
	u32 v;

	might_sleep();
	for (;;) {
		/* a queue of a part that is gone does not run any more */
		if (!vkfd_hw_enter(dev, &idx))
			return 0;
		if (first) {
			/* no doorbell may start it again, also if it does not stop */
			rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_DOORBELL, 0);
			v = rlc_rreg(dev, engine, rlc, mmSDMA0_GFX_RB_CNTL);
			rlc_wreg(dev, engine, rlc, mmSDMA0_GFX_RB_CNTL,
				 v & ~SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK);
			first = false;
		}
		v = rlc_rreg(dev, engine, rlc, mmSDMA0_GFX_CONTEXT_STATUS);
		idle = v & SDMA0_GFX_CONTEXT_STATUS__IDLE_MASK;
		if (idle && v != VKFD_REG_GONE && mqd)
			sdma_save(dev, engine, rlc, mqd);
		vkfd_hw_exit(idx);

		if (v == VKFD_REG_GONE) {
			vkfd_reset_request(dev, "the part does not answer");
			return -ETIME;
		}
		if (idle)
			return 0;
		/* the last look comes after the deadline, however long the sleep was */
		if (late)
			break;
		late = ktime_after(ktime_get(), deadline);
		if (!late)
			usleep_range(50, 200);
	}
	drm_err_ratelimited(&dev->drm, "SDMA queue %u.%u does not stop (%u ms)\n", engine, rlc,
			    timeout_ms);
	return -ETIME;
}

bool vkfd_hw_sdma_is_active(struct vkfd_device *dev, unsigned int engine, unsigned int rlc)
{
	bool active;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return false;
	active = rlc_rreg(dev, engine, rlc, mmSDMA0_GFX_RB_CNTL) &
		 SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK;
	vkfd_hw_exit(idx);
	return active;
}
