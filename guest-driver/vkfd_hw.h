/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Register-level operations. Nothing here knows processes, BOs or ioctls.
 */
#ifndef VKFD_HW_H
#define VKFD_HW_H

#include <linux/types.h>

struct vkfd_device;

/**
 * struct vkfd_hqd_slot - coordinates of a hardware queue
 */
struct vkfd_hqd_slot {
	u8 me;		/* 1 or 2 */
	u8 pipe;
	u8 queue;
};

/* KFD slot number (0..VKFD_NUM_CP_QUEUES-1) to coordinates. */
struct vkfd_hqd_slot vkfd_hw_slot(unsigned int kfd_slot);

/* Hubs, apertures, contexts, doorbell window, MEC: to a known state. -errno. */
int vkfd_hw_init(struct vkfd_device *dev);
void vkfd_hw_fini(struct vkfd_device *dev);

/*
 * Binds @vmid to @pasid and the page directory at VRAM offset @pd_offset on both
 * hubs, programs SH_MEM_*, the ATC mapping and the IH look-up tables, and flushes
 * the VMID. Sleeps? No; -ETIMEDOUT if the part does not acknowledge in time.
 */
int vkfd_hw_vmid_bind(struct vkfd_device *dev, unsigned int vmid, u32 pasid, u64 pd_offset);
void vkfd_hw_vmid_unbind(struct vkfd_device *dev, unsigned int vmid);

/* Flushes translations of @vmid on both hubs by engine 17. 0 or -ETIMEDOUT. */
int vkfd_hw_flush_tlb(struct vkfd_device *dev, unsigned int vmid);

/* Loads the HQD image in @mqd (V9_MQD_DW dwords) into the slot and activates it. */
int vkfd_hw_hqd_load(struct vkfd_device *dev, struct vkfd_hqd_slot slot, const u32 *mqd);
/*
 * Dequeues the slot (VKFD_DEQUEUE_*), waits until it is inactive, and saves the
 * HQD image back to @mqd. May sleep. 0 or -ETIME.
 */
int vkfd_hw_hqd_unload(struct vkfd_device *dev, struct vkfd_hqd_slot slot, u32 request,
		       unsigned int timeout_ms, u32 *mqd);
bool vkfd_hw_hqd_is_active(struct vkfd_device *dev, struct vkfd_hqd_slot slot);

/* GPU clock, VKFD_GPU_CLOCK_KHZ. */
u64 vkfd_hw_gpu_clock(struct vkfd_device *dev);

#endif /* VKFD_HW_H */
