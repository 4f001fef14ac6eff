// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory side of the hardware: the two VM hubs, VMID contexts, translation flushes,
 * PASID mapping. Both hubs have the same registers; those of the MM hub are a fixed
 * distance away, one for the VM_* and one for the MC_VM_* block.
 */
#include <linux/delay.h>
#include <linux/minmax.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <vkfd/gpuvm.h>
#include <vkfd/regs_gc.h>
#include <vkfd/regs_ih.h>
#include <vkfd/regs_nbio.h>
#include <vkfd/regs_vm.h>

#include "vkfd_device.h"
#include "vkfd_hw.h"
#include "vkfd_vram.h"

/* How long hardware may take to acknowledge, as upstream's usec_timeout. */
#define VKFD_HW_POLL_US		100000

#define VKFD_INV_ENGINE		17	/* the one upstream's CPU path uses */
#define VKFD_NUM_INV_ENGINES	18
/* What type upstream calls heavyweight: also waits for accesses under way. */
#define VKFD_INV_HEAVYWEIGHT	2

#define VKFD_GART_BYTES		(VKFD_GART_SIZE / AMDGPU_GPU_PAGE_SIZE * sizeof(u64))

/* The page of faulting accesses, and one that only the driver writes: for the mark. */
#define VKFD_SCRATCH_BYTES	(2 * AMDGPU_GPU_PAGE_SIZE)
#define VKFD_VRAM_MARK		0x4b524156u

#define VKFD_MAX_PFN		(1ull << 36)	/* 48-bit addresses */

enum vkfd_hub { VKFD_GFXHUB, VKFD_MMHUB, VKFD_NUM_HUBS };

static const u32 vkfd_vm_delta[VKFD_NUM_HUBS] = {
	[VKFD_MMHUB] = mmMMHUB_VM_L2_CNTL - mmVM_L2_CNTL,
};

static const u32 vkfd_mc_delta[VKFD_NUM_HUBS] = {
	[VKFD_MMHUB] = mmMMHUB_MC_VM_FB_OFFSET - mmMC_VM_FB_OFFSET,
};

/* VM_* of a hub, by its GFX hub index. */
static u32 vm_rreg(struct vkfd_device *dev, enum vkfd_hub hub, u32 reg)
{
	return vkfd_rreg(dev, reg + vkfd_vm_delta[hub]);
}

static void vm_wreg(struct vkfd_device *dev, enum vkfd_hub hub, u32 reg, u32 val)
{
	vkfd_wreg(dev, reg + vkfd_vm_delta[hub], val);
}

/* LO32/HI32 pair. */
static void vm_wreg64(struct vkfd_device *dev, enum vkfd_hub hub, u32 lo, u64 val)
{
	vm_wreg(dev, hub, lo, lower_32_bits(val));
	vm_wreg(dev, hub, lo + 1, upper_32_bits(val));
}

/* MC_VM_* of a hub, by its GFX hub index. */
static void mc_wreg(struct vkfd_device *dev, enum vkfd_hub hub, u32 reg, u32 val)
{
	vkfd_wreg(dev, reg + vkfd_mc_delta[hub], val);
}

/* Page directory base: a VRAM offset, as PTEs have it, and the valid bit. 0: none. */
static void vkfd_set_pd(struct vkfd_device *dev, unsigned int vmid, u64 pd)
{
	enum vkfd_hub hub;

	for (hub = 0; hub < VKFD_NUM_HUBS; hub++)
		vm_wreg64(dev, hub, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * vmid, pd);
}

static void vkfd_init_apertures(struct vkfd_device *dev, enum vkfd_hub hub)
{
	u64 fb_end = dev->fb_base + dev->vram.size - 1;

	/*
	 * The VBIOS left the framebuffer location in the MM hub; the GFX hub gets a
	 * copy. AGP is off: bottom above top.
	 */
	if (hub == VKFD_GFXHUB) {
		mc_wreg(dev, hub, mmMC_VM_FB_LOCATION_BASE, dev->fb_base >> 24);
		mc_wreg(dev, hub, mmMC_VM_FB_LOCATION_TOP, fb_end >> 24);
	}
	mc_wreg(dev, hub, mmMC_VM_AGP_BASE, 0);
	mc_wreg(dev, hub, mmMC_VM_AGP_BOT, 0x00ffffff);
	mc_wreg(dev, hub, mmMC_VM_AGP_TOP, 0);

	mc_wreg(dev, hub, mmMC_VM_SYSTEM_APERTURE_LOW_ADDR, dev->fb_base >> 18);
	mc_wreg(dev, hub, mmMC_VM_SYSTEM_APERTURE_HIGH_ADDR, fb_end >> 18);
	mc_wreg(dev, hub, mmMC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB,
		lower_32_bits(dev->scratch.start >> 12));
	mc_wreg(dev, hub, mmMC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB,
		upper_32_bits(dev->scratch.start >> 12));
	vm_wreg64(dev, hub, mmVM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32,
		  dev->scratch.start >> 12);
}

static void vkfd_init_caches(struct vkfd_device *dev, enum vkfd_hub hub)
{
	u32 v;

	mc_wreg(dev, hub, mmMC_VM_MX_L1_TLB_CNTL,
		MC_VM_MX_L1_TLB_CNTL__ENABLE_L1_TLB_MASK |
		3 << MC_VM_MX_L1_TLB_CNTL__SYSTEM_ACCESS_MODE__SHIFT |
		MC_VM_MX_L1_TLB_CNTL__ENABLE_ADVANCED_DRIVER_MODEL_MASK |
		AMDGPU_MTYPE_UC << MC_VM_MX_L1_TLB_CNTL__MTYPE__SHIFT |
		MC_VM_MX_L1_TLB_CNTL__ATC_EN_MASK);

	v = vm_rreg(dev, hub, mmVM_L2_CNTL);
	v &= ~(VM_L2_CNTL__L2_PDE0_CACHE_TAG_GENERATION_MODE_MASK |
	       VM_L2_CNTL__PDE_FAULT_CLASSIFICATION_MASK |
	       VM_L2_CNTL__CONTEXT1_IDENTITY_ACCESS_MODE_MASK |
	       VM_L2_CNTL__IDENTITY_MODE_FRAGMENT_SIZE_MASK);
	v |= VM_L2_CNTL__ENABLE_L2_CACHE_MASK |
	     VM_L2_CNTL__ENABLE_L2_FRAGMENT_PROCESSING_MASK |
	     1 << VM_L2_CNTL__CONTEXT1_IDENTITY_ACCESS_MODE__SHIFT;
	vm_wreg(dev, hub, mmVM_L2_CNTL, v);

	v = vm_rreg(dev, hub, mmVM_L2_CNTL2);
	v |= VM_L2_CNTL2__INVALIDATE_ALL_L1_TLBS_MASK |
	     VM_L2_CNTL2__INVALIDATE_L2_CACHE_MASK;
	vm_wreg(dev, hub, mmVM_L2_CNTL2, v);

	v = mmVM_L2_CNTL3_DEFAULT & ~(VM_L2_CNTL3__BANK_SELECT_MASK |
				      VM_L2_CNTL3__L2_CACHE_BIGK_FRAGMENT_SIZE_MASK);
	v |= 9 << VM_L2_CNTL3__BANK_SELECT__SHIFT |
	     6 << VM_L2_CNTL3__L2_CACHE_BIGK_FRAGMENT_SIZE__SHIFT;
	vm_wreg(dev, hub, mmVM_L2_CNTL3, v);
	vm_wreg(dev, hub, mmVM_L2_CNTL4, mmVM_L2_CNTL4_DEFAULT);
}

static void vkfd_init_contexts(struct vkfd_device *dev, enum vkfd_hub hub)
{
	/* every fault both interrupts and goes to the default page; no retries */
	const u32 faults =
		VM_CONTEXT0_CNTL__RANGE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__RANGE_PROTECTION_FAULT_ENABLE_DEFAULT_MASK |
		VM_CONTEXT0_CNTL__DUMMY_PAGE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__DUMMY_PAGE_PROTECTION_FAULT_ENABLE_DEFAULT_MASK |
		VM_CONTEXT0_CNTL__PDE0_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__PDE0_PROTECTION_FAULT_ENABLE_DEFAULT_MASK |
		VM_CONTEXT0_CNTL__VALID_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__VALID_PROTECTION_FAULT_ENABLE_DEFAULT_MASK |
		VM_CONTEXT0_CNTL__READ_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__READ_PROTECTION_FAULT_ENABLE_DEFAULT_MASK |
		VM_CONTEXT0_CNTL__WRITE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__WRITE_PROTECTION_FAULT_ENABLE_DEFAULT_MASK |
		VM_CONTEXT0_CNTL__EXECUTE_PROTECTION_FAULT_ENABLE_INTERRUPT_MASK |
		VM_CONTEXT0_CNTL__EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT_MASK;
	unsigned int i;

	/* context 0: one level, the GART */
	vm_wreg64(dev, hub, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32, VKFD_GART_START >> 12);
	vm_wreg64(dev, hub, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32,
		  (VKFD_GART_START + VKFD_GART_SIZE - 1) >> 12);
	vm_wreg(dev, hub, mmVM_CONTEXT0_CNTL, VM_CONTEXT0_CNTL__ENABLE_CONTEXT_MASK | faults);

	/* the others: four levels (depth counts from 0), block size field 0 */
	for (i = 1; i < VKFD_NUM_VMID; i++) {
		vm_wreg64(dev, hub, mmVM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32 + 2 * i, 0);
		vm_wreg64(dev, hub, mmVM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + 2 * i,
			  VKFD_MAX_PFN - 1);
		vm_wreg(dev, hub, mmVM_CONTEXT0_CNTL + i,
			VM_CONTEXT0_CNTL__ENABLE_CONTEXT_MASK |
			(VKFD_PT_LEVELS - 1) << VM_CONTEXT0_CNTL__PAGE_TABLE_DEPTH__SHIFT |
			faults);
	}

	for (i = 0; i < VKFD_NUM_INV_ENGINES; i++) {
		vm_wreg(dev, hub, mmVM_INVALIDATE_ENG0_ADDR_RANGE_LO32 + 2 * i, 0xffffffff);
		vm_wreg(dev, hub, mmVM_INVALIDATE_ENG0_ADDR_RANGE_HI32 + 2 * i, 0x1f);
	}
}

/* True once (reg & mask) == want; false after VKFD_HW_POLL_US. Atomic. */
static bool vkfd_poll(struct vkfd_device *dev, u32 reg, u32 mask, u32 want)
{
	unsigned int us;

	for (us = 0; us < VKFD_HW_POLL_US; us++) {
		if ((vkfd_rreg(dev, reg) & mask) == want)
			return true;
		udelay(1);
	}
	return (vkfd_rreg(dev, reg) & mask) == want;
}

static int vkfd_flush_hub(struct vkfd_device *dev, enum vkfd_hub hub, unsigned int vmid)
{
	const u32 sem = mmVM_INVALIDATE_ENG0_SEM + VKFD_INV_ENGINE + vkfd_vm_delta[hub];
	const u32 req = mmVM_INVALIDATE_ENG0_REQ + VKFD_INV_ENGINE + vkfd_vm_delta[hub];
	const u32 ack = mmVM_INVALIDATE_ENG0_ACK + VKFD_INV_ENGINE + vkfd_vm_delta[hub];
	int ret = 0;

	lockdep_assert_held(&dev->tlb_lock);

	/*
	 * On the MM hub a semaphore guards the engine against power gating: it is
	 * ours once it reads 1, and given back by writing 0.
	 */
	if (hub == VKFD_MMHUB && !vkfd_poll(dev, sem, 1, 1)) {
		drm_err_ratelimited(&dev->drm, "VM flush: no semaphore on the MM hub\n");
		return -ETIMEDOUT;
	}

	vkfd_wreg(dev, req,
		  1u << (vmid + VM_INVALIDATE_ENG0_REQ__PER_VMID_INVALIDATE_REQ__SHIFT) |
		  VKFD_INV_HEAVYWEIGHT << VM_INVALIDATE_ENG0_REQ__FLUSH_TYPE__SHIFT |
		  VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PTES_MASK |
		  VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PDE0_MASK |
		  VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PDE1_MASK |
		  VM_INVALIDATE_ENG0_REQ__INVALIDATE_L2_PDE2_MASK |
		  VM_INVALIDATE_ENG0_REQ__INVALIDATE_L1_PTES_MASK);
	/* gfx9 before 9.4.2: the ACK of the GFX hub is stale until REQ was read back */
	if (hub == VKFD_GFXHUB)
		vkfd_rreg(dev, req);

	if (!vkfd_poll(dev, ack, 1u << vmid, 1u << vmid)) {
		drm_err_ratelimited(&dev->drm, "VM flush of VMID %u on the %s hub not acknowledged\n",
				    vmid, hub == VKFD_GFXHUB ? "GFX" : "MM");
		ret = -ETIMEDOUT;
	}
	if (hub == VKFD_MMHUB)
		vkfd_wreg(dev, sem, 0);
	return ret;
}

static int vkfd_flush(struct vkfd_device *dev, unsigned int vmid)
{
	int gfx, mm;

	spin_lock(&dev->tlb_lock);
	gfx = vkfd_flush_hub(dev, VKFD_GFXHUB, vmid);
	mm = vkfd_flush_hub(dev, VKFD_MMHUB, vmid);
	spin_unlock(&dev->tlb_lock);
	return gfx ?: mm;
}

int vkfd_hw_flush_tlb(struct vkfd_device *dev, unsigned int vmid)
{
	int idx, ret;

	/* what is not there has nothing cached */
	if (!vkfd_hw_enter(dev, &idx))
		return 0;
	/*
	 * Page table writes through the write-combined BAR0 have to be on their way
	 * before the request that makes the device read them again.
	 */
	wmb();
	ret = vkfd_flush(dev, vmid);
	vkfd_hw_exit(idx);
	return ret;
}

/*
 * One half of the PASID mapping. The handshake is always: write, wait for the bit,
 * clear it; a 0 does not tell whether an update is under way or was never asked for.
 */
static bool vkfd_set_atc(struct vkfd_device *dev, unsigned int atc_vmid, u32 mapping)
{
	const u32 bit = 1u << atc_vmid;
	bool done;

	vkfd_wreg(dev, mmATC_VMID0_PASID_MAPPING + atc_vmid, mapping);
	done = vkfd_poll(dev, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS, bit, bit);
	vkfd_wreg(dev, mmATC_VMID_PASID_MAPPING_UPDATE_STATUS, bit);
	return done;
}

static int vkfd_set_pasid(struct vkfd_device *dev, unsigned int vmid, u32 pasid)
{
	u32 mapping = pasid ? pasid | ATC_VMID0_PASID_MAPPING__VALID_MASK : 0;
	bool gfx, mm;

	gfx = vkfd_set_atc(dev, vmid, mapping);
	vkfd_wreg(dev, mmIH_VMID_0_LUT + vmid, mapping);
	mm = vkfd_set_atc(dev, vmid + VKFD_NUM_VMID, mapping);
	vkfd_wreg(dev, mmIH_VMID_0_LUT_MM + vmid, mapping);

	if (gfx && mm)
		return 0;
	drm_err_ratelimited(&dev->drm, "PASID mapping of VMID %u not acknowledged by the %s hub\n",
			    vmid, gfx ? "MM" : "GFX");
	return -ETIMEDOUT;
}

u64 vkfd_hw_pd_base(struct vkfd_device *dev, u64 pd_offset)
{
	return (dev->fb_offset + pd_offset) | AMDGPU_PTE_VALID;
}

/* Unaligned access allowed, no retry of faults. */
u32 vkfd_hw_sh_mem_config(void)
{
	return SH_MEM_CONFIG__ALIGNMENT_MODE_MASK | SH_MEM_CONFIG__RETRY_DISABLE_MASK;
}

/* Where shaders see LDS and scratch. */
u32 vkfd_hw_sh_mem_bases(void)
{
	return (u32)(VKFD_LDS_APERTURE_BASE >> 48) << SH_MEM_BASES__SHARED_BASE__SHIFT |
	       (u32)(VKFD_SCRATCH_APERTURE_BASE >> 48) << SH_MEM_BASES__PRIVATE_BASE__SHIFT;
}

static void vkfd_set_sh_mem(struct vkfd_device *dev, unsigned int vmid)
{
	spin_lock(&dev->srbm_lock);
	vkfd_hw_select(dev, 0, 0, 0, vmid);
	vkfd_wreg(dev, mmSH_MEM_CONFIG, vkfd_hw_sh_mem_config());
	vkfd_wreg(dev, mmSH_MEM_BASES, vkfd_hw_sh_mem_bases());
	vkfd_hw_select(dev, 0, 0, 0, 0);
	spin_unlock(&dev->srbm_lock);
}

static void vkfd_unbind(struct vkfd_device *dev, unsigned int vmid)
{
	vkfd_set_pasid(dev, vmid, 0);
	vkfd_set_pd(dev, vmid, 0);
	vkfd_flush(dev, vmid);
}

int vkfd_hw_vmid_bind(struct vkfd_device *dev, unsigned int vmid, u32 pasid, u64 pd_offset)
{
	int idx, ret;

	lockdep_assert_held(&dev->queue_lock);
	if (WARN_ON_ONCE(vmid < VKFD_KFD_VMID_FIRST || vmid > VKFD_KFD_VMID_LAST || !pasid))
		return -EINVAL;
	if (!vkfd_hw_enter(dev, &idx))
		return -ENODEV;

	vkfd_set_sh_mem(dev, vmid);
	vkfd_set_pd(dev, vmid, vkfd_hw_pd_base(dev, pd_offset));
	ret = vkfd_set_pasid(dev, vmid, pasid);
	if (!ret) {
		/* tables written through BAR0 before the first walk, see vkfd_hw_flush_tlb() */
		wmb();
		ret = vkfd_flush(dev, vmid);
	}
	if (ret)
		vkfd_unbind(dev, vmid);

	vkfd_hw_exit(idx);
	return ret;
}

void vkfd_hw_vmid_unbind(struct vkfd_device *dev, unsigned int vmid)
{
	int idx;

	lockdep_assert_held(&dev->queue_lock);
	if (!vkfd_hw_enter(dev, &idx))
		return;
	vkfd_unbind(dev, vmid);
	vkfd_hw_exit(idx);
}

u32 vkfd_hw_clear_fault(struct vkfd_device *dev, bool mmhub)
{
	enum vkfd_hub hub = mmhub ? VKFD_MMHUB : VKFD_GFXHUB;
	u32 status = vm_rreg(dev, hub, mmVM_L2_PROTECTION_FAULT_STATUS);
	u32 cntl = vm_rreg(dev, hub, mmVM_L2_PROTECTION_FAULT_CNTL);

	vm_wreg(dev, hub, mmVM_L2_PROTECTION_FAULT_CNTL,
		cntl | VM_L2_PROTECTION_FAULT_CNTL__CLEAR_PROTECTION_FAULT_STATUS_ADDR_MASK);
	return status;
}

int vkfd_hw_gmc_reinit(struct vkfd_device *dev)
{
	const u64 gart_bytes = VKFD_GART_BYTES;
	enum vkfd_hub hub;
	unsigned int vmid;
	int ret;

	memset_io(dev->vram.map + dev->gart.start, 0, gart_bytes);
	memset_io(dev->vram.map + dev->scratch.start, 0, AMDGPU_GPU_PAGE_SIZE);

	for (hub = 0; hub < VKFD_NUM_HUBS; hub++) {
		vkfd_init_apertures(dev, hub);
		vkfd_init_caches(dev, hub);
		vkfd_init_contexts(dev, hub);
		vkfd_hw_clear_fault(dev, hub == VKFD_MMHUB);
	}
	vkfd_set_pd(dev, 0, (dev->fb_offset + dev->gart.start) | AMDGPU_PTE_VALID);
	for (vmid = 1; vmid < VKFD_NUM_VMID; vmid++)
		vkfd_set_pd(dev, vmid, 0);

	/* the tables above went through the write-combined BAR0 */
	wmb();
	for (vmid = 0; vmid < VKFD_NUM_VMID; vmid++) {
		ret = vkfd_flush(dev, vmid);
		if (ret)
			return ret;
	}
	/* whoever drove the part before may have left PASIDs behind */
	for (vmid = VKFD_KFD_VMID_FIRST; vmid <= VKFD_KFD_VMID_LAST; vmid++) {
		ret = vkfd_set_pasid(dev, vmid, 0);
		if (ret)
			return ret;
		vkfd_set_sh_mem(dev, vmid);
	}
	return 0;
}

int vkfd_hw_gmc_init(struct vkfd_device *dev)
{
	int ret;

	ret = vkfd_vram_alloc(dev, VKFD_GART_BYTES, AMDGPU_GPU_PAGE_SIZE, &dev->gart);
	if (ret)
		return ret;
	ret = vkfd_vram_alloc(dev, VKFD_SCRATCH_BYTES, AMDGPU_GPU_PAGE_SIZE, &dev->scratch);
	if (ret)
		goto err_gart;
	ret = vkfd_hw_gmc_reinit(dev);
	if (ret)
		goto err_scratch;
	return 0;

err_scratch:
	vkfd_vram_free(dev, &dev->scratch);
err_gart:
	vkfd_vram_free(dev, &dev->gart);
	return ret;
}

void vkfd_hw_vram_mark(struct vkfd_device *dev)
{
	iowrite32(VKFD_VRAM_MARK, dev->vram.map + dev->scratch.start + AMDGPU_GPU_PAGE_SIZE);
	/* Out of the write-combining buffers, and as far as the part. */
	wmb();
	ioread32(dev->vram.map + dev->scratch.start + AMDGPU_GPU_PAGE_SIZE);
}

bool vkfd_hw_vram_intact(struct vkfd_device *dev)
{
	return ioread32(dev->vram.map + dev->scratch.start + AMDGPU_GPU_PAGE_SIZE) ==
	       VKFD_VRAM_MARK;
}

void vkfd_hw_gmc_halt(struct vkfd_device *dev)
{
	enum vkfd_hub hub;
	unsigned int i;

	for (hub = 0; hub < VKFD_NUM_HUBS; hub++) {
		for (i = 0; i < VKFD_NUM_VMID; i++)
			vm_wreg(dev, hub, mmVM_CONTEXT0_CNTL + i, 0);
		vm_wreg(dev, hub, mmVM_L2_CNTL, vm_rreg(dev, hub, mmVM_L2_CNTL) &
			~VM_L2_CNTL__ENABLE_L2_CACHE_MASK);
	}
}

void vkfd_hw_gmc_fini(struct vkfd_device *dev)
{
	vkfd_vram_free(dev, &dev->scratch);
	vkfd_vram_free(dev, &dev->gart);
}
