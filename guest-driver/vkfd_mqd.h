/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contents of a gfx9 compute MQD (include/vkfd/mqd.h). Works on an image in kernel
 * memory; nothing here touches hardware.
 */
#ifndef VKFD_MQD_H_DRIVER
#define VKFD_MQD_H_DRIVER

#include <linux/types.h>

#include <vkfd/mqd.h>

/**
 * struct vkfd_queue_props - what user space says about a PM4 compute queue
 * @ring_va: ring, 256-byte aligned; 0: inactive
 * @ring_size: bytes, a power of two of at least 1 KiB, or 0: inactive
 * @percent: 0: inactive; other values are the same
 * @priority: 0..15
 * @rptr_va: where rptr is reported: 32 bits, dwords modulo the ring
 * @wptr_va: where wptr is read: 64 bits, dwords, ever growing
 * @eop_va, @eop_size: end-of-pipe buffer, bytes, may be 0
 * @ctx_va, @ctx_size, @ctl_stack_size: context save area, bytes, may be 0
 */
struct vkfd_queue_props {
	u64 ring_va;
	u32 ring_size;
	u32 percent;
	u32 priority;
	u64 rptr_va;
	u64 wptr_va;
	u64 eop_va;
	u64 eop_size;
	u64 ctx_va;
	u32 ctx_size;
	u32 ctl_stack_size;
};

/* @mqd: V9_MQD_DW dwords; @mqd_addr: MC address of its copy in VRAM; @trap: a handler is set. */
void vkfd_mqd_init(u32 *mqd, const struct vkfd_queue_props *props, u64 mqd_addr, u32 doorbell_dw,
		   bool trap);
/* Ring, size and priority again; where the queue stands in the ring is kept. */
void vkfd_mqd_update(u32 *mqd, const struct vkfd_queue_props *props);
void vkfd_mqd_set_vmid(u32 *mqd, unsigned int vmid);
/* Bit i of @mask enables the i-th of the @num_cu active units of the only SE and SH. */
void vkfd_mqd_set_cu_mask(u32 *mqd, u32 mask, unsigned int num_cu);

#endif /* VKFD_MQD_H_DRIVER */
