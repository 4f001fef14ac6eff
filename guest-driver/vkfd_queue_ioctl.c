// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue ioctls: what user space may ask for.
 *
 * Checks and errnos are amdkfd's, with these differences, all of them towards the
 * caller: ring, pointers and EOP buffer have to be mapped on the GPU, but may be part
 * of a larger buffer; a queue may do without a context save area.
 */
#include <linux/align.h>
#include <linux/log2.h>
#include <linux/maple_tree.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/gpuvm.h>

#include "vkfd_device.h"
#include "vkfd_doorbell.h"
#include "vkfd_evict.h"
#include "vkfd_interrupt.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_svm.h"
#include "vkfd_vm.h"

/* Bits 15:8 of a queue percentage name an XCC; there is only one here. */
#define QUEUE_PERCENTAGE_MASK	0xff
#define CU_MASK_BITS_MAX	1024
#define EOP_BUFFER_MIN		4096

/* Context save area as amdkfd sizes it for gfx9 parts like this one. */
#define CWSR_WAVES_PER_CU	40
#define CWSR_WAVES_MAX		512	/* per SE, and there is one */
#define CWSR_BYTES_PER_CU	(0x40000 + 0x4000 + 0x10000 + 0x1000)	/* VGPR, SGPR, LDS, HWREG */
#define CWSR_HEADER_BYTES	40
#define CWSR_STACK_PER_WAVE	8
#define CWSR_DEBUG_PER_WAVE	32
#define CWSR_DEBUG_ALIGN	64

static bool user_ok(u64 addr, size_t size)
{
	return access_ok(u64_to_user_ptr(addr), size);
}

/* Whether [@va, @va + @size) is mapped in @vm, by however many mappings. */
static bool is_mapped(struct vkfd_vm *vm, u64 va, u64 size)
{
	unsigned long pn = va >> AMDGPU_GPU_PAGE_SHIFT, last;
	bool mapped = true;
	u64 end;

	if (!size || check_add_overflow(va, size - 1, &end))
		return false;
	last = end >> AMDGPU_GPU_PAGE_SHIFT;
	mutex_lock(&vm->lock);
	/* mt_find() moves pn behind the entry it returns. */
	while (mapped && pn <= last)
		mapped = mt_find(&vm->mappings, &pn, pn);
	mutex_unlock(&vm->lock);
	return mapped;
}

/* What CREATE and UPDATE have in common. @ring_size is raised to the least there is. */
static int check_ring(u64 ring, u32 *ring_size, u32 percentage, u32 priority)
{
	if ((percentage & QUEUE_PERCENTAGE_MASK) > KFD_MAX_QUEUE_PERCENTAGE)
		return -EINVAL;
	if (priority > KFD_MAX_QUEUE_PRIORITY)
		return -EINVAL;
	if (ring && !user_ok(ring, sizeof(u64)))
		return -EFAULT;
	if (*ring_size && !is_power_of_2(*ring_size))
		return -EINVAL;
	if (*ring_size && *ring_size < KFD_MIN_QUEUE_RING_SIZE)
		*ring_size = KFD_MIN_QUEUE_RING_SIZE;
	return 0;
}

static int check_addresses(struct kfd_ioctl_create_queue_args *args)
{
	if (!user_ok(args->read_pointer_address, sizeof(u32)) ||
	    !user_ok(args->write_pointer_address, sizeof(u32)))
		return -EFAULT;
	if (args->eop_buffer_address && !user_ok(args->eop_buffer_address, sizeof(u32)))
		return -EFAULT;
	if (args->ctx_save_restore_address && !user_ok(args->ctx_save_restore_address, sizeof(u32)))
		return -EFAULT;
	/* The low bits of these have no place in the registers. */
	if (!IS_ALIGNED(args->ring_base_address, 256) ||
	    !IS_ALIGNED(args->eop_buffer_address, 256) ||
	    !IS_ALIGNED(args->read_pointer_address, sizeof(u32)) ||
	    !IS_ALIGNED(args->write_pointer_address, sizeof(u64)))
		return -EINVAL;
	return 0;
}

static int check_ctx_save(struct vkfd_pdd *pdd, const struct vkfd_queue_props *props)
{
	u32 cus = pdd->dev->num_cu;
	u32 waves = min_t(u32, cus * CWSR_WAVES_PER_CU, CWSR_WAVES_MAX);
	u32 stack = PAGE_ALIGN(CWSR_HEADER_BYTES + waves * CWSR_STACK_PER_WAVE + 8);
	u32 size = stack + PAGE_ALIGN(cus * CWSR_BYTES_PER_CU);
	u32 debug = ALIGN(waves * CWSR_DEBUG_PER_WAVE, CWSR_DEBUG_ALIGN);

	if (!props->ctx_va)
		return 0;
	if (props->ctl_stack_size != stack || props->ctx_size < size)
		return -EINVAL;
	size = PAGE_ALIGN((u64)props->ctx_size + debug);
	if (!is_mapped(pdd->vm, props->ctx_va, size) &&
	    !vkfd_svm_always_mapped(pdd, props->ctx_va, size))
		return -EINVAL;
	return 0;
}

/* Whether the buffers of the queue are mapped; -EINVAL, as upstream, if not. */
static int check_buffers(struct vkfd_pdd *pdd, const struct vkfd_queue_props *props)
{
	struct vkfd_vm *vm = pdd->vm;

	size_t rptr_size = props->kind == VKFD_QUEUE_PM4 ? sizeof(u32) : sizeof(u64);

	if (!is_mapped(vm, props->wptr_va, sizeof(u64)) ||
	    !is_mapped(vm, props->rptr_va, rptr_size) ||
	    !is_mapped(vm, props->ring_va, props->ring_size))
		return -EINVAL;
	if (props->eop_va && (props->eop_size < EOP_BUFFER_MIN ||
			      !is_mapped(vm, props->eop_va, props->eop_size)))
		return -EINVAL;
	return check_ctx_save(pdd, props);
}

/* The part of CREATE_QUEUE that is under process->lock. -ENOBUFS: see vkfd_queue_create(). */
static int create(struct vkfd_pdd *pdd, struct kfd_ioctl_create_queue_args *args,
		  const struct vkfd_queue_props *props)
{
	struct vkfd_queue *q;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	if (!pdd->vm)
		return -ESRCH;
	if (args->queue_type == KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID &&
	    args->sdma_engine_id >= VKFD_NUM_SDMA)
		return -EINVAL;
	err = check_buffers(pdd, props);
	if (err)
		return err;
	/* As upstream where no engine is for XGMI: all of its queues are taken. */
	if (args->queue_type == KFD_IOC_QUEUE_TYPE_SDMA_XGMI)
		return -ENOMEM;
	err = vkfd_queue_create(pdd, props, &q);
	if (err)
		return err;
	args->queue_id = q->id;
	args->doorbell_offset = vkfd_doorbell_mmap_offset(pdd, q->doorbell_id);
	return 0;
}

/**
 * vkfd_ioctl_create_queue - AMDKFD_IOC_CREATE_QUEUE
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_create_queue_args
 *
 * Return: 0; -EINVAL: sizes, percentage, priority, unmapped buffers, no such GPU or SDMA
 * engine; -EFAULT: addresses that are not user space's; -ESRCH: no VM acquired;
 * -ENOTSUPP: unknown type; -ENOMEM: memory, queue ids or SDMA queues used up (those of
 * XGMI always are); -EBUSY: doorbells or HQD slots used up; -EPERM: as many queues on the
 * GPU as the scheduler takes; -ENOSPC: doorbell slices or VMIDs used up.
 */
int vkfd_ioctl_create_queue(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_create_queue_args *args = data;
	struct vkfd_queue_props props;
	struct vkfd_pdd *pdd;
	int err;

	err = check_ring(args->ring_base_address, &args->ring_size, args->queue_percentage,
			 args->queue_priority);
	if (err)
		return err;
	/* Here, unlike in UPDATE, no size at all is the least there is, too. */
	args->ring_size = max_t(u32, args->ring_size, KFD_MIN_QUEUE_RING_SIZE);
	err = check_addresses(args);
	if (err)
		return err;
	if (args->queue_type > KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID)
		return -ENOTSUPP;

	props = (struct vkfd_queue_props) {
		.sdma_engine = VKFD_SDMA_ENGINE_ANY,
		.ring_va = args->ring_base_address,
		.ring_size = args->ring_size,
		.percent = args->queue_percentage & QUEUE_PERCENTAGE_MASK,
		.priority = args->queue_priority,
		.rptr_va = args->read_pointer_address,
		.wptr_va = args->write_pointer_address,
	};
	switch (args->queue_type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE:
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
		props.kind = args->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE ? VKFD_QUEUE_PM4 :
									      VKFD_QUEUE_AQL;
		props.eop_va = args->eop_buffer_address;
		props.eop_size = args->eop_buffer_size;
		props.ctx_va = args->ctx_save_restore_address;
		props.ctx_size = args->ctx_save_restore_size;
		props.ctl_stack_size = args->ctl_stack_size;
		break;
	case KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID:
		props.sdma_engine = args->sdma_engine_id;
		fallthrough;
	default:
		/* Whoever makes these may leave what only compute queues have as it is. */
		props.kind = VKFD_QUEUE_SDMA;
		break;
	}

	for (;;) {
		err = vkfd_process_lock(p);
		if (err)
			return err;
		pdd = vkfd_process_get_pdd(p, args->gpu_id);
		err = IS_ERR(pdd) ? PTR_ERR(pdd) : create(pdd, args, &props);
		mutex_unlock(&p->lock);
		if (err != -ENOBUFS)
			return err;
		/* The MQD found no VRAM: memory of others goes. The pdd stays. */
		err = vkfd_evict_make_room(pdd->dev, PAGE_SIZE, p, true);
		if (err)
			return err;
	}
}

/* process->lock held. */
static struct vkfd_queue *queue_by_id(struct vkfd_process *p, u32 id)
{
	lockdep_assert_held(&p->lock);

	return xa_load(&p->queues.xa, id);
}

/**
 * vkfd_ioctl_destroy_queue - AMDKFD_IOC_DESTROY_QUEUE
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_destroy_queue_args
 *
 * When it returns the queue does not touch memory any more.
 *
 * Return: 0; -EINVAL: no such queue; -ETIME: the queue did not stop and was cut off
 * from memory, or reset; it is gone all the same.
 */
int vkfd_ioctl_destroy_queue(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_destroy_queue_args *args = data;
	struct vkfd_queue *q;
	int err;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	q = queue_by_id(p, args->queue_id);
	err = q ? vkfd_queue_destroy(q) : -EINVAL;
	mutex_unlock(&p->lock);
	return err;
}

/**
 * vkfd_ioctl_update_queue - AMDKFD_IOC_UPDATE_QUEUE
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_update_queue_args
 *
 * A ring at 0, of size 0 or with percentage 0 makes the queue inactive. An active
 * queue goes on where it was, with the write pointer in memory, no doorbell needed.
 *
 * Return: 0; -EINVAL: size, percentage, priority, alignment; -EFAULT: not user
 * space's address, ring not mapped, or no such queue; -EACCES: the queue was stopped
 * after a bad packet; -ENOSPC: no VMID left; -ETIME: the queue does not stop.
 */
int vkfd_ioctl_update_queue(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_update_queue_args *args = data;
	struct vkfd_queue_props props;
	struct vkfd_queue *q;
	int err;

	err = check_ring(args->ring_base_address, &args->ring_size, args->queue_percentage,
			 args->queue_priority);
	if (err)
		return err;
	if (!IS_ALIGNED(args->ring_base_address, 256))
		return -EINVAL;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	q = queue_by_id(p, args->queue_id);
	if (!q) {
		err = -EFAULT;
		goto unlock;
	}
	props = q->props;
	props.ring_va = args->ring_base_address;
	props.ring_size = args->ring_size;
	props.percent = args->queue_percentage & QUEUE_PERCENTAGE_MASK;
	props.priority = args->queue_priority;
	if (props.ring_va && props.ring_size &&
	    !is_mapped(q->pdd->vm, props.ring_va, props.ring_size)) {
		err = -EFAULT;
		goto unlock;
	}
	err = vkfd_queue_update(q, &props);
unlock:
	mutex_unlock(&p->lock);
	return err;
}

/**
 * vkfd_ioctl_set_cu_mask - AMDKFD_IOC_SET_CU_MASK
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_set_cu_mask_args
 *
 * Bits beyond the compute units there are do not matter, and at most 1024 are read.
 *
 * Return: 0; -EINVAL: number of bits is 0 or not a multiple of 32; -EFAULT: mask not
 * readable, or no such queue; -ETIME: the queue does not stop.
 */
int vkfd_ioctl_set_cu_mask(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_set_cu_mask_args *args = data;
	u32 mask[CU_MASK_BITS_MAX / 32];
	struct vkfd_queue *q;
	u32 bits;
	int err;

	if (!args->num_cu_mask || args->num_cu_mask % 32)
		return -EINVAL;
	bits = min_t(u32, args->num_cu_mask, CU_MASK_BITS_MAX);
	if (copy_from_user(mask, u64_to_user_ptr(args->cu_mask_ptr), bits / 8))
		return -EFAULT;

	err = vkfd_process_lock(p);
	if (err)
		return err;
	q = queue_by_id(p, args->queue_id);
	/* No more than 16 units: the first word is all that counts. */
	err = q ? vkfd_queue_set_cu_mask(q, mask[0]) : -EFAULT;
	mutex_unlock(&p->lock);
	return err;
}
