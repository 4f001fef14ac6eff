// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls about a GPU: version, clock, apertures, settings of a process on it.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/gpuvm.h>
#include <vkfd/regs_gc.h>

#include "vkfd_device.h"
#include "vkfd_gpu_ioctl.h"
#include "vkfd_hw.h"
#include "vkfd_interrupt.h"
#include "vkfd_process.h"

/* What is implemented, not what the headers describe: 1.15 needs GEM_VA. */
#define VKFD_KFD_MAJOR		1
#define VKFD_KFD_MINOR		15

/* gfx9 has this many entries in upstream's tables, and all of them read 0. */
#define VKFD_NUM_TILE_CONFIGS		32u
#define VKFD_NUM_MACRO_TILE_CONFIGS	16u

int vkfd_ioctl_get_version(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_version_args *args = data;

	args->major_version = VKFD_KFD_MAJOR;
	args->minor_version = VKFD_KFD_MINOR;
	return 0;
}

int vkfd_ioctl_get_clock_counters(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_clock_counters_args *args = data;
	struct vkfd_device *dev;
	int idx;

	/* The CPU node has gpu_id 0; like any other that is no GPU it has no GPU clock. */
	args->gpu_clock_counter = 0;
	dev = vkfd_device_get_by_gpu_id(args->gpu_id);
	if (dev) {
		if (vkfd_hw_enter(dev, &idx)) {
			args->gpu_clock_counter = vkfd_hw_gpu_clock(dev);
			vkfd_hw_exit(idx);
		}
		drm_dev_put(&dev->drm);
	}

	args->cpu_clock_counter = ktime_get_raw_ns();
	args->system_clock_counter = ktime_get_boottime_ns();
	args->system_clock_freq = NSEC_PER_SEC;
	return 0;
}

/*
 * Apertures of every GPU, at most @max; they are the same for every process and GPU
 * of this generation. Returns how many there are; @pa may be NULL. Makes the pdds.
 */
static int vkfd_fill_apertures(struct vkfd_process *p,
			       struct kfd_process_device_apertures *pa, unsigned int max)
{
	unsigned int i, n = 0;
	int err = 0;

	mutex_lock(&p->lock);
	for (i = 0; i < VKFD_MAX_GPUS && n < max; i++) {
		struct vkfd_device *dev = vkfd_device_get_by_index(i);
		struct vkfd_pdd *pdd;

		if (!dev)
			continue;
		pdd = vkfd_process_get_pdd(p, dev->gpu_id);
		drm_dev_put(&dev->drm);
		if (IS_ERR(pdd)) {
			err = PTR_ERR(pdd);
			break;
		}
		if (pa) {
			pa[n].gpu_id = pdd->dev->gpu_id;
			pa[n].lds_base = VKFD_LDS_APERTURE_BASE;
			pa[n].lds_limit = VKFD_LDS_APERTURE_BASE + VKFD_APERTURE_SIZE - 1;
			pa[n].scratch_base = VKFD_SCRATCH_APERTURE_BASE;
			pa[n].scratch_limit = VKFD_SCRATCH_APERTURE_BASE + VKFD_APERTURE_SIZE - 1;
			pa[n].gpuvm_base = VKFD_GPUVM_BASE;
			pa[n].gpuvm_limit = VKFD_GPUVM_LIMIT;
		}
		n++;
	}
	mutex_unlock(&p->lock);

	return err ?: n;
}

int vkfd_ioctl_get_apertures(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_process_apertures_args *args = data;
	int n;

	n = vkfd_fill_apertures(p, args->process_apertures, NUM_OF_SUPPORTED_GPUS);
	if (n < 0)
		return n;
	args->num_of_nodes = n;
	return 0;
}

int vkfd_ioctl_get_apertures_new(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_process_apertures_new_args *args = data;
	struct kfd_process_device_apertures pa[VKFD_MAX_GPUS] = {};
	int n;

	n = vkfd_fill_apertures(p, pa, VKFD_MAX_GPUS);
	if (n < 0)
		return n;
	if (!args->num_of_nodes) {
		/* A question for the size. */
		args->num_of_nodes = n;
		return 0;
	}
	/* More than the topology has nodes, and one of these is the CPU. */
	if (args->num_of_nodes > n + 1)
		return -EINVAL;

	n = min_t(unsigned int, n, args->num_of_nodes);
	args->num_of_nodes = n;
	if (copy_to_user(u64_to_user_ptr(args->kfd_process_device_apertures_ptr), pa,
			 array_size(n, sizeof(*pa))))
		return -EFAULT;
	return 0;
}

/* The setters answer -ESRCH before ACQUIRE_VM, as upstream. Caller holds p->lock. */
static struct vkfd_pdd *vkfd_pdd_for_setting(struct vkfd_process *p, u32 gpu_id)
{
	struct vkfd_pdd *pdd = vkfd_process_get_bound_pdd(p, gpu_id);

	return pdd == ERR_PTR(-ENODEV) ? ERR_PTR(-ESRCH) : pdd;
}

int vkfd_ioctl_set_memory_policy(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_set_memory_policy_args *args = data;
	struct vkfd_pdd *pdd;
	int err;

	if (args->default_policy > KFD_IOC_CACHE_POLICY_NONCOHERENT ||
	    args->alternate_policy > KFD_IOC_CACHE_POLICY_NONCOHERENT)
		return -EINVAL;

	/* gfx9 has no such apertures; coherence is a matter of each BO's entries. */
	err = vkfd_process_lock(p);
	if (err)
		return err;
	pdd = vkfd_pdd_for_setting(p, args->gpu_id);
	mutex_unlock(&p->lock);
	return PTR_ERR_OR_ZERO(pdd);
}

int vkfd_ioctl_set_scratch_va(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_set_scratch_backing_va_args *args = data;
	struct vkfd_pdd *pdd;
	int err;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	pdd = vkfd_process_get_bound_pdd(p, args->gpu_id);
	if (!IS_ERR(pdd))
		pdd->scratch_va = args->va_addr;
	mutex_unlock(&p->lock);
	return PTR_ERR_OR_ZERO(pdd);
}

int vkfd_ioctl_set_trap_handler(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_set_trap_handler_args *args = data;
	struct vkfd_pdd *pdd;
	int err;

	/* Kept for when waves are executed. */
	err = vkfd_process_lock(p);
	if (err)
		return err;
	pdd = vkfd_pdd_for_setting(p, args->gpu_id);
	if (!IS_ERR(pdd)) {
		pdd->tba_addr = args->tba_addr;
		pdd->tma_addr = args->tma_addr;
	}
	mutex_unlock(&p->lock);
	return PTR_ERR_OR_ZERO(pdd);
}

/* Fills the first *@num entries of a user array with zeroes, at most @max. */
static int vkfd_zero_configs(u64 ptr, u32 *num, u32 max)
{
	*num = min(*num, max);
	if (clear_user(u64_to_user_ptr(ptr), *num * sizeof(u32))) {
		*num = 0;
		return -EFAULT;
	}
	return 0;
}

int vkfd_ioctl_get_tile_config(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_get_tile_config_args *args = data;
	struct vkfd_device *dev;
	int err, idx;

	dev = vkfd_device_get_by_gpu_id(args->gpu_id);
	if (!dev)
		return -EINVAL;
	if (vkfd_hw_enter(dev, &idx)) {
		args->gb_addr_config = vkfd_rreg(dev, mmGB_ADDR_CONFIG);
		vkfd_hw_exit(idx);
	}
	drm_dev_put(&dev->drm);

	args->num_banks = 0;
	args->num_ranks = 0;
	err = vkfd_zero_configs(args->tile_config_ptr, &args->num_tile_configs,
				VKFD_NUM_TILE_CONFIGS);
	if (err)
		return err;
	return vkfd_zero_configs(args->macro_tile_config_ptr, &args->num_macro_tile_configs,
				 VKFD_NUM_MACRO_TILE_CONFIGS);
}

int vkfd_ioctl_runtime_enable(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_runtime_enable_args *args = data;
	unsigned int i;
	int err;

	/* There is no debugger to tell; what is left are the rules of when. */
	err = vkfd_process_lock(p);
	if (err)
		return err;
	if (!(args->mode_mask & KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK)) {
		p->runtime_enabled = false;
		goto out;
	}
	if (p->runtime_enabled) {
		err = -EBUSY;
		goto out;
	}
	for (i = 0; i < VKFD_MAX_GPUS; i++)
		if (p->pdds[i] && p->pdds[i]->queue_count)
			err = -EEXIST;
	if (!err)
		p->runtime_enabled = true;
out:
	mutex_unlock(&p->lock);
	return err;
}
