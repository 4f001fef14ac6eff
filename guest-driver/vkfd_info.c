// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM_IOCTL_AMDGPU_INFO: what libdrm_amdgpu's device initialisation and simple tools
 * ask for. Queries about what the part does not have answer -EINVAL, as upstream
 * does for a query it does not know.
 */
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <vkfd/gpuvm.h>
#include <vkfd/regs_gc.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_drv.h"
#include "vkfd_hw.h"

/* external_rev_id of Vega20 starts here. */
#define VKFD_EXTERNAL_REV_BASE	0x28
#define VKFD_VRAM_BIT_WIDTH	4096
#define VKFD_MMR_COUNT_MAX	128

/* Copies the answer, or as much of it as the caller has room for. */
static int vkfd_answer(const struct drm_amdgpu_info *info, const void *answer, size_t size)
{
	void __user *out = u64_to_user_ptr(info->return_pointer);

	return copy_to_user(out, answer, min_t(size_t, info->return_size, size)) ? -EFAULT : 0;
}

static int vkfd_answer_u32(const struct drm_amdgpu_info *info, u32 value)
{
	return vkfd_answer(info, &value, sizeof(value));
}

static int vkfd_answer_u64(const struct drm_amdgpu_info *info, u64 value)
{
	return vkfd_answer(info, &value, sizeof(value));
}

static u64 vkfd_vram_used(struct vkfd_device *dev)
{
	u64 used;

	mutex_lock(&dev->vram.lock);
	used = dev->vram.used;
	mutex_unlock(&dev->vram.lock);
	return used;
}

/* How much of that CPUs see. */
static u64 vkfd_vram_used_visible(struct vkfd_device *dev)
{
	u64 used;

	mutex_lock(&dev->vram.lock);
	used = dev->vram.used_visible;
	mutex_unlock(&dev->vram.lock);
	return used;
}

/* System memory GTT BOs may take: the limit vkfd_bo.c enforces, as upstream's default. */
static u64 vkfd_gtt_size(void)
{
	return (u64)totalram_pages() * PAGE_SIZE / 2;
}

static int vkfd_info_dev(struct vkfd_device *dev, const struct drm_amdgpu_info *info)
{
	struct drm_amdgpu_info_device *d;
	int ret;

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;

	d->device_id = dev->pdev->device;
	d->chip_rev = dev->rev_id;
	d->external_rev = dev->rev_id + VKFD_EXTERNAL_REV_BASE;
	d->pci_rev = dev->pdev->revision;
	d->family = AMDGPU_FAMILY_AI;
	d->num_shader_engines = 1;
	d->num_shader_arrays_per_engine = 1;
	d->gpu_counter_freq = VKFD_GPU_CLOCK_KHZ;
	d->max_engine_clock = VKFD_GPU_CLOCK_KHZ;
	d->min_engine_clock = VKFD_GPU_CLOCK_KHZ;
	d->max_memory_clock = VKFD_GPU_CLOCK_KHZ;
	d->min_memory_clock = VKFD_GPU_CLOCK_KHZ;
	d->cu_active_number = dev->num_cu;
	d->cu_bitmap[0][0] = dev->cu_mask;
	d->num_cu_per_sh = dev->num_cu;
	d->virtual_address_offset = VKFD_GPUVM_BASE;
	d->virtual_address_max = VKFD_GPUVM_LIMIT + 1;
	d->virtual_address_alignment = max_t(u32, PAGE_SIZE, AMDGPU_GPU_PAGE_SIZE);
	d->pte_fragment_size = AMDGPU_GPU_PAGE_SIZE;
	d->gart_page_size = max_t(u32, PAGE_SIZE, AMDGPU_GPU_PAGE_SIZE);
	d->vram_type = AMDGPU_VRAM_TYPE_HBM;
	d->vram_bit_width = VKFD_VRAM_BIT_WIDTH;
	d->wave_front_size = 64;
	d->num_shader_visible_vgprs = 256;

	ret = vkfd_answer(info, d, sizeof(*d));
	kfree(d);
	return ret;
}

/* Registers user space may read; all are of the one shader engine there is. */
static bool vkfd_mmr_allowed(u32 reg)
{
	switch (reg) {
	case mmGRBM_STATUS:
	case mmGRBM_STATUS2:
	case mmGRBM_STATUS_SE0:
	case mmCP_STAT:
	case mmCP_CPC_STATUS:
	case mmCP_CPF_STATUS:
	case mmGB_ADDR_CONFIG:
	case mmCC_RB_BACKEND_DISABLE:
	case mmGC_USER_RB_BACKEND_DISABLE:
		return true;
	}
	return false;
}

static int vkfd_info_mmr(struct vkfd_device *dev, const struct drm_amdgpu_info *info)
{
	u32 count = info->read_mmr_reg.count, first = info->read_mmr_reg.dword_offset;
	u32 se = info->read_mmr_reg.instance >> AMDGPU_INFO_MMR_SE_INDEX_SHIFT &
		 AMDGPU_INFO_MMR_SE_INDEX_MASK;
	u32 sh = info->read_mmr_reg.instance >> AMDGPU_INFO_MMR_SH_INDEX_SHIFT &
		 AMDGPU_INFO_MMR_SH_INDEX_MASK;
	u32 *regs, i;
	int ret, idx;

	/* all ones is broadcast; apart from that there is one of each */
	if ((se && se != AMDGPU_INFO_MMR_SE_INDEX_MASK) ||
	    (sh && sh != AMDGPU_INFO_MMR_SH_INDEX_MASK))
		return -EINVAL;
	if (!count || count > VKFD_MMR_COUNT_MAX || check_add_overflow(first, count, &i))
		return -EINVAL;

	regs = kmalloc_array(count, sizeof(*regs), GFP_KERNEL);
	if (!regs)
		return -ENOMEM;

	if (!vkfd_hw_enter(dev, &idx)) {
		ret = -ENODEV;
		goto out;
	}
	ret = 0;
	for (i = 0; i < count && !ret; i++) {
		u32 reg = first + i;

		if (!vkfd_mmr_allowed(reg)) {
			drm_dbg(&dev->drm, "register 0x%x is not for user space\n", reg);
			ret = -EFAULT;
		} else if (reg == mmGB_ADDR_CONFIG) {
			regs[i] = dev->gb_addr_config;
		} else {
			regs[i] = vkfd_rreg(dev, reg);
		}
	}
	vkfd_hw_exit(idx);
	if (!ret)
		ret = vkfd_answer(info, regs, count * sizeof(*regs));
out:
	kfree(regs);
	return ret;
}

static int vkfd_info_memory(struct vkfd_device *dev, const struct drm_amdgpu_info *info)
{
	u64 used = vkfd_vram_used(dev);
	struct drm_amdgpu_memory_info m = {
		.vram.total_heap_size = dev->vram.size,
		.vram.usable_heap_size = dev->vram.size,
		.vram.heap_usage = used,
		.vram.max_allocation = dev->vram.size * 3 / 4,
		.cpu_accessible_vram.total_heap_size = dev->vram.visible,
		.cpu_accessible_vram.usable_heap_size = dev->vram.visible,
		.cpu_accessible_vram.heap_usage = vkfd_vram_used_visible(dev),
		.cpu_accessible_vram.max_allocation = dev->vram.visible * 3 / 4,
		.gtt.total_heap_size = vkfd_gtt_size(),
		.gtt.usable_heap_size = vkfd_gtt_size(),
		.gtt.heap_usage = vkfd_bo_gtt_used(),
		.gtt.max_allocation = vkfd_gtt_size() * 3 / 4,
	};

	return vkfd_answer(info, &m, sizeof(m));
}

static int vkfd_info_vram_gtt(struct vkfd_device *dev, const struct drm_amdgpu_info *info)
{
	const struct drm_amdgpu_info_vram_gtt v = {
		.vram_size = dev->vram.size,
		.vram_cpu_accessible_size = dev->vram.visible,
		.gtt_size = vkfd_gtt_size(),
	};

	return vkfd_answer(info, &v, sizeof(v));
}

static int vkfd_info_firmware(const struct drm_amdgpu_info *info)
{
	struct drm_amdgpu_info_firmware fw = {};

	if (info->query_fw.ip_instance)
		return -EINVAL;
	switch (info->query_fw.fw_type) {
	case AMDGPU_INFO_FW_GFX_MEC:
		/* one firmware for both MECs */
		if (info->query_fw.index > 1)
			return -EINVAL;
		fw.ver = VKFD_MEC_FW_VERSION;
		fw.feature = VKFD_MEC_FW_FEATURE;
		break;
	case AMDGPU_INFO_FW_SDMA:
		if (info->query_fw.index > 1)
			return -EINVAL;
		fw.ver = VKFD_SDMA_FW_VERSION;
		break;
	case AMDGPU_INFO_FW_VCE:
	case AMDGPU_INFO_FW_UVD:
	case AMDGPU_INFO_FW_GMC:
	case AMDGPU_INFO_FW_GFX_ME:
	case AMDGPU_INFO_FW_GFX_PFP:
	case AMDGPU_INFO_FW_GFX_CE:
	case AMDGPU_INFO_FW_GFX_RLC:
	case AMDGPU_INFO_FW_SMC:
		/* no such firmware: version 0, as upstream reports what is not loaded */
		break;
	default:
		return -EINVAL;
	}
	return vkfd_answer(info, &fw, sizeof(fw));
}

int vkfd_info_ioctl(struct drm_device *drm, void *data, struct drm_file *filp)
{
	struct vkfd_device *dev = to_vkfd_device(drm);
	const struct drm_amdgpu_info *info = data;

	if (!info->return_size || !info->return_pointer)
		return -EINVAL;

	switch (info->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		return vkfd_answer_u32(info, 1);
	case AMDGPU_INFO_DEV_INFO:
		return vkfd_info_dev(dev, info);
	case AMDGPU_INFO_READ_MMR_REG:
		return vkfd_info_mmr(dev, info);
	case AMDGPU_INFO_VRAM_GTT:
		return vkfd_info_vram_gtt(dev, info);
	case AMDGPU_INFO_MEMORY:
		return vkfd_info_memory(dev, info);
	case AMDGPU_INFO_VRAM_USAGE:
		return vkfd_answer_u64(info, vkfd_vram_used(dev));
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		return vkfd_answer_u64(info, vkfd_vram_used_visible(dev));
	case AMDGPU_INFO_GTT_USAGE:
		return vkfd_answer_u64(info, vkfd_bo_gtt_used());
	case AMDGPU_INFO_NUM_EVICTIONS:
		return vkfd_answer_u64(info, vkfd_evict_count(dev, NULL));
	case AMDGPU_INFO_NUM_BYTES_MOVED: {
		u64 bytes;

		vkfd_evict_count(dev, &bytes);
		return vkfd_answer_u64(info, bytes);
	}
	case AMDGPU_INFO_FW_VERSION:
		return vkfd_info_firmware(info);
	case AMDGPU_INFO_TIMESTAMP:
		return vkfd_answer_u64(info, vkfd_hw_gpu_clock(dev));
	case AMDGPU_INFO_RAS_ENABLED_FEATURES:
		return vkfd_answer_u64(info, 0);
	}
	drm_dbg(drm, "INFO query 0x%x is not answered\n", info->query);
	return -EINVAL;
}
