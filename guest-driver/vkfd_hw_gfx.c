// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compute side of the hardware: identification, bank selection, hardware queues,
 * GPU clock.
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <vkfd/doorbell.h>
#include <vkfd/mqd.h>
#include <vkfd/regs_gc.h>
#include <vkfd/regs_nbio.h>
#include <vkfd/regs_vm.h>

#include "vkfd_device.h"
#include "vkfd_hw.h"
#include "vkfd_reset.h"

#define VKFD_KFD_FIRST_QUEUE	2	/* queues 0 and 1 of each pipe are the kernel's */
#define VKFD_KFD_QUEUES_PER_PIPE (VKFD_QUEUES_PER_PIPE - VKFD_KFD_FIRST_QUEUE)
#define VKFD_CUS_PER_SH		16	/* of the full part */
/* At start-up a queue of the previous owner gets this long to stop. */
#define VKFD_INIT_DEQUEUE_MS	500

#define VKFD_CP_INT_ENABLES					\
	(CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE_MASK |	\
	 CP_ME1_PIPE0_INT_CNTL__PRIV_REG_INT_ENABLE_MASK |	\
	 CP_ME1_PIPE0_INT_CNTL__OPCODE_ERROR_INT_ENABLE_MASK)

struct vkfd_hqd_slot vkfd_hw_slot(unsigned int kfd_slot)
{
	return (struct vkfd_hqd_slot) {
		.me = 1,
		.pipe = kfd_slot / VKFD_KFD_QUEUES_PER_PIPE,
		.queue = VKFD_KFD_FIRST_QUEUE + kfd_slot % VKFD_KFD_QUEUES_PER_PIPE,
	};
}
static_assert(VKFD_NUM_CP_QUEUES == VKFD_PIPES_PER_ME * VKFD_KFD_QUEUES_PER_PIPE);

void vkfd_hw_select(struct vkfd_device *dev, unsigned int me, unsigned int pipe,
		    unsigned int queue, unsigned int vmid)
{
	lockdep_assert_held(&dev->srbm_lock);
	vkfd_wreg(dev, mmGRBM_GFX_CNTL,
		  pipe << GRBM_GFX_CNTL__PIPEID__SHIFT |
		  me << GRBM_GFX_CNTL__MEID__SHIFT |
		  vmid << GRBM_GFX_CNTL__VMID__SHIFT |
		  queue << GRBM_GFX_CNTL__QUEUEID__SHIFT);
}

static void vkfd_select_slot(struct vkfd_device *dev, struct vkfd_hqd_slot slot)
	__acquires(&dev->srbm_lock)
{
	spin_lock(&dev->srbm_lock);
	vkfd_hw_select(dev, slot.me, slot.pipe, slot.queue, 0);
}

static void vkfd_deselect(struct vkfd_device *dev)
	__releases(&dev->srbm_lock)
{
	vkfd_hw_select(dev, 0, 0, 0, 0);
	spin_unlock(&dev->srbm_lock);
}

int vkfd_hw_identify(struct vkfd_device *dev)
{
	u32 memsize, scratch, v, off;

	memsize = vkfd_rreg(dev, mmRCC_CONFIG_MEMSIZE);
	if (memsize == ~0u || !memsize) {
		drm_err(&dev->drm, "the part does not answer (RCC_CONFIG_MEMSIZE 0x%x)\n", memsize);
		return -ENODEV;
	}
	/* nothing here can run a VBIOS: the part has to be posted already */
	if (!(vkfd_rreg(dev, mmBIOS_SCRATCH_7) & ATOM_S7_ASIC_INIT_COMPLETE_MASK)) {
		drm_err(&dev->drm, "the part was not initialised by its VBIOS\n");
		return -ENODEV;
	}
	dev->vram.size = (u64)memsize << 20;
	dev->vram.visible = dev->vram.size;
	scratch = vkfd_rreg(dev, mmBIOS_SCRATCH_8);
	if (scratch & VKFD_BIOS_SCRATCH_8__VALID_MASK)
		dev->vram.visible = min(dev->vram.size,
					(u64)(scratch & VKFD_BIOS_SCRATCH_8__VISIBLE_MIB_MASK) << 20);

	dev->fb_base = (u64)(vkfd_rreg(dev, mmMMHUB_MC_VM_FB_LOCATION_BASE) & 0xffffff) << 24;
	dev->fb_offset = (u64)(vkfd_rreg(dev, mmMC_VM_FB_OFFSET) & 0xffffff) << 24;

	v = vkfd_rreg(dev, mmRCC_DEV0_EPF0_STRAP0);
	dev->rev_id = (v & RCC_DEV0_EPF0_STRAP0__STRAP_ATI_REV_ID_DEV0_F0_MASK) >>
		      RCC_DEV0_EPF0_STRAP0__STRAP_ATI_REV_ID_DEV0_F0__SHIFT;
	dev->gb_addr_config = vkfd_rreg(dev, mmGB_ADDR_CONFIG);

	/* one shader engine with one array; both are broadcast to and read from it */
	vkfd_wreg(dev, mmGRBM_GFX_INDEX, 0);
	off = vkfd_rreg(dev, mmCC_GC_SHADER_ARRAY_CONFIG) |
	      vkfd_rreg(dev, mmGC_USER_SHADER_ARRAY_CONFIG);
	vkfd_wreg(dev, mmGRBM_GFX_INDEX,
		  GRBM_GFX_INDEX__SE_BROADCAST_WRITES_MASK |
		  GRBM_GFX_INDEX__SH_BROADCAST_WRITES_MASK |
		  GRBM_GFX_INDEX__INSTANCE_BROADCAST_WRITES_MASK);
	dev->cu_mask = ~(off >> CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS__SHIFT);
	static_assert(VKFD_CUS_PER_SH == BITS_PER_TYPE(dev->cu_mask));
	dev->num_cu = hweight16(dev->cu_mask);
	if (!dev->num_cu) {
		drm_err(&dev->drm, "the part has no active compute unit\n");
		return -ENODEV;
	}
	return 0;
}

static void vkfd_init_bif(struct vkfd_device *dev)
{
	vkfd_wreg(dev, mmBIF_FB_EN, BIF_FB_EN__FB_READ_EN_MASK | BIF_FB_EN__FB_WRITE_EN_MASK);
	vkfd_wreg(dev, mmRCC_DOORBELL_APER_EN, RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN_MASK);

	/* user space flushes HDP through the last page of BAR5 */
	vkfd_wreg(dev, mmREMAP_HDP_MEM_FLUSH_CNTL,
		  VKFD_MMIO_REMAP_OFFSET + VKFD_REMAP_HDP_MEM_FLUSH);
	vkfd_wreg(dev, mmREMAP_HDP_REG_FLUSH_CNTL,
		  VKFD_MMIO_REMAP_OFFSET + VKFD_REMAP_HDP_REG_FLUSH);
}

static int vkfd_init_mec(struct vkfd_device *dev)
{
	unsigned int me, pipe, queue;
	int ret;

	/* The whole doorbell BAR; upstream's wide form, which wakes a gated CP for any doorbell. */
	vkfd_wreg(dev, mmCP_MEC_DOORBELL_RANGE_LOWER, 0);
	vkfd_wreg(dev, mmCP_MEC_DOORBELL_RANGE_UPPER, VKFD_DOORBELL_BAR_SIZE - 4);
	vkfd_wreg(dev, mmCP_PQ_STATUS, CP_PQ_STATUS__DOORBELL_ENABLE_MASK);
	vkfd_wreg(dev, mmCP_MEC_CNTL, 0);

	for (me = 1; me <= VKFD_NUM_ME; me++) {
		for (pipe = 0; pipe < VKFD_PIPES_PER_ME; pipe++) {
			vkfd_wreg(dev, mmCP_ME1_PIPE0_INT_CNTL +
				  (me - 1) * VKFD_PIPES_PER_ME + pipe, VKFD_CP_INT_ENABLES);
			spin_lock(&dev->srbm_lock);
			vkfd_hw_select(dev, me, pipe, 0, 0);
			vkfd_wreg(dev, mmCPC_INT_CNTL, VKFD_CP_INT_ENABLES);
			vkfd_deselect(dev);

			for (queue = 0; queue < VKFD_QUEUES_PER_PIPE; queue++) {
				ret = vkfd_hw_hqd_unload(dev, (struct vkfd_hqd_slot) {
							me, pipe, queue
						}, VKFD_DEQUEUE_RESET_WAVES,
						VKFD_INIT_DEQUEUE_MS, NULL);
				if (ret)
					return ret;
			}
		}
	}
	return 0;
}

int vkfd_hw_init(struct vkfd_device *dev)
{
	int ret;

	vkfd_init_bif(dev);
	ret = vkfd_hw_gmc_init(dev);
	if (ret)
		return ret;
	ret = vkfd_init_mec(dev) ?: vkfd_hw_sdma_init(dev);
	if (ret)
		vkfd_hw_fini(dev);
	return ret;
}

int vkfd_hw_reinit(struct vkfd_device *dev)
{
	int ret;

	vkfd_init_bif(dev);
	ret = vkfd_hw_gmc_reinit(dev);
	return ret ?: vkfd_init_mec(dev) ?: vkfd_hw_sdma_init(dev);
}

bool vkfd_hw_answers(struct vkfd_device *dev)
{
	return vkfd_rreg(dev, mmRCC_CONFIG_MEMSIZE) == dev->vram.size >> 20 &&
	       vkfd_rreg(dev, mmBIOS_SCRATCH_7) & ATOM_S7_ASIC_INIT_COMPLETE_MASK;
}

void vkfd_hw_stop_engines(struct vkfd_device *dev)
{
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return;
	vkfd_wreg(dev, mmCP_MEC_CNTL,
		  CP_MEC_CNTL__MEC_ME1_HALT_MASK | CP_MEC_CNTL__MEC_ME2_HALT_MASK);
	vkfd_hw_sdma_halt(dev);
	vkfd_hw_exit(idx);
}

void vkfd_hw_halt(struct vkfd_device *dev)
{
	unsigned int me, pipe, queue;

	/* If the part is really gone, nobody hears these writes. */
	vkfd_wreg(dev, mmCP_MEC_CNTL,
		  CP_MEC_CNTL__MEC_ME1_HALT_MASK | CP_MEC_CNTL__MEC_ME2_HALT_MASK);
	vkfd_wreg(dev, mmCP_PQ_STATUS, 0);
	vkfd_hw_sdma_halt(dev);
	for (me = 1; me <= VKFD_NUM_ME; me++) {
		for (pipe = 0; pipe < VKFD_PIPES_PER_ME; pipe++) {
			for (queue = 0; queue < VKFD_QUEUES_PER_PIPE; queue++) {
				vkfd_select_slot(dev, (struct vkfd_hqd_slot) { me, pipe, queue });
				vkfd_wreg(dev, mmCP_HQD_PQ_DOORBELL_CONTROL, 0);
				if (vkfd_rreg(dev, mmCP_HQD_ACTIVE) & CP_HQD_ACTIVE__ACTIVE_MASK)
					vkfd_wreg(dev, mmCP_HQD_DEQUEUE_REQUEST,
						  VKFD_DEQUEUE_RESET_WAVES);
				vkfd_deselect(dev);
			}
		}
	}
	vkfd_wreg(dev, mmRCC_DOORBELL_APER_EN, 0);
	vkfd_hw_gmc_halt(dev);
}

void vkfd_hw_fini(struct vkfd_device *dev)
{
	vkfd_hw_halt(dev);
	vkfd_hw_gmc_fini(dev);
}

static u32 mqd_get(const u32 *mqd, u32 reg)
{
	return mqd[V9_MQD_DW_OF(reg)];
}

/*
 * The 64-bit write pointer a queue continues from: rptr has only the bits that count
 * within the ring, the rest comes from the saved wptr, which cannot be more than one
 * ring ahead. Equal to rptr modulo the ring, so that nothing is fetched before the
 * poll has read the real one.
 */
static u64 vkfd_wptr_at_rptr(const u32 *mqd)
{
	u64 ring_dw = 2ull << ((mqd_get(mqd, mmCP_HQD_PQ_CONTROL) &
				CP_HQD_PQ_CONTROL__QUEUE_SIZE_MASK) >>
			       CP_HQD_PQ_CONTROL__QUEUE_SIZE__SHIFT);
	u64 saved = mqd_get(mqd, mmCP_HQD_PQ_WPTR_LO) |
		    (u64)mqd_get(mqd, mmCP_HQD_PQ_WPTR_HI) << 32;
	u64 rptr = mqd_get(mqd, mmCP_HQD_PQ_RPTR) & (ring_dw - 1);

	if ((saved & (ring_dw - 1)) < rptr)
		rptr += ring_dw;
	return rptr + (saved & ~(ring_dw - 1));
}

int vkfd_hw_hqd_load(struct vkfd_device *dev, struct vkfd_hqd_slot slot, const u32 *mqd)
{
	const u32 *hqd = mqd + V9_MQD_HQD_FIRST_DW;
	unsigned int i;
	u64 wptr;
	int idx, ret = 0;

	if (!vkfd_hw_enter(dev, &idx))
		return -ENODEV;

	vkfd_select_slot(dev, slot);
	if (vkfd_rreg(dev, mmCP_HQD_ACTIVE) & CP_HQD_ACTIVE__ACTIVE_MASK) {
		ret = -EBUSY;
		goto out;
	}

	for (i = 0; i < V9_MQD_HQD_DW; i++) {
		u32 reg = mmCP_MQD_BASE_ADDR + i;

		/* neither may act on a half-loaded queue, whatever the image says */
		if (reg == mmCP_HQD_ACTIVE || reg == mmCP_HQD_DEQUEUE_REQUEST)
			continue;
		vkfd_wreg(dev, reg, hqd[i]);
	}
	vkfd_wreg(dev, mmCP_HQD_DEQUEUE_REQUEST, 0);

	/* doorbell before the poll: one that is rung between the two must not get lost */
	vkfd_wreg(dev, mmCP_HQD_PQ_DOORBELL_CONTROL,
		  mqd_get(mqd, mmCP_HQD_PQ_DOORBELL_CONTROL) |
		  CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);

	if (mqd_get(mqd, mmCP_HQD_PQ_WPTR_POLL_ADDR) ||
	    mqd_get(mqd, mmCP_HQD_PQ_WPTR_POLL_ADDR_HI)) {
		wptr = vkfd_wptr_at_rptr(mqd);
		vkfd_wreg(dev, mmCP_HQD_PQ_WPTR_LO, lower_32_bits(wptr));
		vkfd_wreg(dev, mmCP_HQD_PQ_WPTR_HI, upper_32_bits(wptr));
		/* one-shot read of the poll address, through the queue's own VMID */
		vkfd_wreg(dev, mmCP_PQ_WPTR_POLL_CNTL1,
			  1u << (slot.pipe * VKFD_QUEUES_PER_PIPE + slot.queue));
	}

	vkfd_wreg(dev, mmCP_HQD_EOP_RPTR, mqd_get(mqd, mmCP_HQD_EOP_RPTR) |
		  CP_HQD_EOP_RPTR__INIT_FETCHER_MASK);
	vkfd_wreg(dev, mmCP_HQD_ACTIVE, CP_HQD_ACTIVE__ACTIVE_MASK);
out:
	vkfd_deselect(dev);
	vkfd_hw_exit(idx);
	return ret;
}

/* What the slot holds, in the form vkfd_hw_hqd_load() takes. Slot selected, inactive. */
static void vkfd_hqd_save(struct vkfd_device *dev, u32 *mqd)
{
	unsigned int i;

	lockdep_assert_held(&dev->srbm_lock);
	for (i = 0; i < V9_MQD_HQD_DW; i++)
		mqd[V9_MQD_HQD_FIRST_DW + i] = vkfd_rreg(dev, mmCP_MQD_BASE_ADDR + i);
	mqd[V9_MQD_DW_OF(mmCP_HQD_ACTIVE)] = 0;
	mqd[V9_MQD_DW_OF(mmCP_HQD_DEQUEUE_REQUEST)] = 0;
	mqd[V9_MQD_DW_OF(mmCP_HQD_PQ_DOORBELL_CONTROL)] &=
		~(CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK |
		  CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT_MASK);
}

int vkfd_hw_hqd_unload(struct vkfd_device *dev, struct vkfd_hqd_slot slot, u32 request,
		       unsigned int timeout_ms, u32 *mqd)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), timeout_ms);
	bool active, late = false, first = true;
	u32 doorbell, v;
	int idx;

	might_sleep();
	for (;;) {
		/* a queue of a part that is gone does not run any more */
		if (!vkfd_hw_enter(dev, &idx))
			return 0;
		vkfd_select_slot(dev, slot);
		if (first) {
			/* no doorbell may start it again, also if it does not stop */
			doorbell = vkfd_rreg(dev, mmCP_HQD_PQ_DOORBELL_CONTROL);
			vkfd_wreg(dev, mmCP_HQD_PQ_DOORBELL_CONTROL, doorbell &
				  ~CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK);
			if (vkfd_rreg(dev, mmCP_HQD_ACTIVE) & CP_HQD_ACTIVE__ACTIVE_MASK)
				vkfd_wreg(dev, mmCP_HQD_DEQUEUE_REQUEST, request);
			first = false;
		}
		v = vkfd_rreg(dev, mmCP_HQD_ACTIVE);
		active = v & CP_HQD_ACTIVE__ACTIVE_MASK;
		if (!active && mqd)
			vkfd_hqd_save(dev, mqd);
		vkfd_deselect(dev);
		vkfd_hw_exit(idx);

		if (v == VKFD_REG_GONE) {
			vkfd_reset_request(dev, "the part does not answer");
			return -ETIME;
		}
		if (!active)
			return 0;
		/* the last look comes after the deadline, however long the sleep was */
		if (late)
			break;
		late = ktime_after(ktime_get(), deadline);
		if (!late)
			usleep_range(50, 200);
	}
	drm_err_ratelimited(&dev->drm, "queue %u.%u.%u does not stop (request %u, %u ms)\n",
			    slot.me, slot.pipe, slot.queue, request, timeout_ms);
	return -ETIME;
}

int vkfd_hw_hqd_reset(struct vkfd_device *dev, struct vkfd_hqd_slot slot, unsigned int timeout_ms)
{
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return 0;
	vkfd_select_slot(dev, slot);
	/* The reset of the waves lets a request complete that was made before it. */
	vkfd_wreg(dev, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_RESET_WAVES);
	vkfd_wreg(dev, mmSPI_COMPUTE_QUEUE_RESET, SPI_COMPUTE_QUEUE_RESET__RESET_MASK);
	vkfd_deselect(dev);
	vkfd_hw_exit(idx);
	return vkfd_hw_hqd_unload(dev, slot, VKFD_DEQUEUE_RESET_WAVES, timeout_ms, NULL);
}

bool vkfd_hw_hqd_is_active(struct vkfd_device *dev, struct vkfd_hqd_slot slot)
{
	bool active;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return false;
	vkfd_select_slot(dev, slot);
	active = vkfd_rreg(dev, mmCP_HQD_ACTIVE) & CP_HQD_ACTIVE__ACTIVE_MASK;
	vkfd_deselect(dev);
	vkfd_hw_exit(idx);
	return active;
}

bool vkfd_hw_hqd_read(struct vkfd_device *dev, struct vkfd_hqd_slot slot, u32 *hqd)
{
	unsigned int i;
	bool active;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return false;
	vkfd_select_slot(dev, slot);
	active = vkfd_rreg(dev, mmCP_HQD_ACTIVE) & CP_HQD_ACTIVE__ACTIVE_MASK;
	for (i = 0; active && i < V9_MQD_HQD_DW; i++)
		hqd[i] = vkfd_rreg(dev, mmCP_MQD_BASE_ADDR + i);
	vkfd_deselect(dev);
	vkfd_hw_exit(idx);
	return active;
}

u64 vkfd_hw_gpu_clock(struct vkfd_device *dev)
{
	u64 clock;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return 0;
	spin_lock(&dev->clock_lock);
	vkfd_wreg(dev, mmRLC_CAPTURE_GPU_CLOCK_COUNT,
		  RLC_CAPTURE_GPU_CLOCK_COUNT__CAPTURE_MASK);
	clock = vkfd_rreg(dev, mmRLC_GPU_CLOCK_COUNT_LSB);
	clock |= (u64)vkfd_rreg(dev, mmRLC_GPU_CLOCK_COUNT_MSB) << 32;
	spin_unlock(&dev->clock_lock);
	vkfd_hw_exit(idx);
	return clock;
}
