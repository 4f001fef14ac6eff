/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contents of the MQDs of gfx9 queues: compute (include/vkfd/mqd.h), which PM4 and AQL
 * queues are, and SDMA (include/vkfd/regs_sdma.h). Works on an image in kernel memory;
 * nothing here touches hardware.
 */
#ifndef VKFD_MQD_H_DRIVER
#define VKFD_MQD_H_DRIVER

#include <linux/types.h>

#include <vkfd/mqd.h>

enum vkfd_queue_kind {
	VKFD_QUEUE_PM4,
	VKFD_QUEUE_AQL,
	VKFD_QUEUE_SDMA,
};

#define VKFD_SDMA_ENGINE_ANY	(~0u)

/**
 * struct vkfd_queue_props - what user space says about a queue
 * @kind: what its packets are
 * @sdma_engine: SDMA: the engine it has to be on, or VKFD_SDMA_ENGINE_ANY
 * @ring_va: ring, 256-byte aligned; 0: inactive
 * @ring_size: bytes, a power of two of at least 1 KiB, or 0: inactive
 * @percent: 0: inactive; other values are the same
 * @priority: 0..15
 * @rptr_va: where rptr is reported. PM4: 32 bits, dwords modulo the ring; AQL: 64 bits,
 *           packets (read_dispatch_id); SDMA: 64 bits, bytes
 * @wptr_va: where wptr is read: 64 bits, in the unit of rptr, ever growing
 * @eop_va, @eop_size: end-of-pipe buffer, bytes, may be 0; SDMA: 0
 * @ctx_va, @ctx_size, @ctl_stack_size: context save area, bytes, may be 0; SDMA: 0
 */
struct vkfd_queue_props {
	enum vkfd_queue_kind kind;
	u32 sdma_engine;
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

static inline bool vkfd_queue_is_sdma(const struct vkfd_queue_props *props)
{
	return props->kind == VKFD_QUEUE_SDMA;
}

/*
 * A compute queue. @mqd: V9_MQD_DW dwords; @mqd_addr: MC address of its copy in VRAM;
 * @trap: a handler is set.
 */
void vkfd_mqd_init(u32 *mqd, const struct vkfd_queue_props *props, u64 mqd_addr, u32 doorbell_dw,
		   bool trap);
/* Ring, size and priority again; where the queue stands in the ring is kept. */
void vkfd_mqd_update(u32 *mqd, const struct vkfd_queue_props *props);
void vkfd_mqd_set_vmid(u32 *mqd, unsigned int vmid);
void vkfd_mqd_set_doorbell(u32 *mqd, u32 doorbell_dw);
/* Where the queue stood when it was last saved: dwords modulo the ring. */
u32 vkfd_mqd_rptr(const u32 *mqd);
/* Bit i of @mask enables the i-th of the @num_cu active units of the only SE and SH. */
void vkfd_mqd_set_cu_mask(u32 *mqd, u32 mask, unsigned int num_cu);

/* The same for an SDMA queue; V9_SDMA_MQD_DW of the dwords count. @queue: 0..7. */
void vkfd_mqd_sdma_init(u32 *mqd, const struct vkfd_queue_props *props, u32 doorbell_dw,
			unsigned int engine, unsigned int queue);
void vkfd_mqd_sdma_update(u32 *mqd, const struct vkfd_queue_props *props);
void vkfd_mqd_sdma_set_vmid(u32 *mqd, unsigned int vmid);
void vkfd_mqd_sdma_set_doorbell(u32 *mqd, u32 doorbell_dw);
/* Bytes, never wraps. */
u64 vkfd_mqd_sdma_rptr(const u32 *mqd);

#endif /* VKFD_MQD_H_DRIVER */
