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

/*
 * Every function below that takes a device may be called after it was unplugged:
 * loads and binds return -ENODEV, the others succeed without touching anything.
 */

/*
 * Reads what the part is (VRAM size, framebuffer location, compute units) into @dev;
 * first thing after BAR5 is mapped. -ENODEV if it does not answer or was not posted.
 */
int vkfd_hw_identify(struct vkfd_device *dev);
/* Hubs, apertures, contexts, doorbell window, MEC: to a known state. -errno. */
int vkfd_hw_init(struct vkfd_device *dev);
/*
 * Halts the command processors and the SDMA engines: nothing is fetched or written any
 * more, until the part is reset. For one that does not give up its queues.
 */
void vkfd_hw_stop_engines(struct vkfd_device *dev);
/* Stops all queues and translation. Only after vkfd_hw_take_away(). */
void vkfd_hw_fini(struct vkfd_device *dev);

/*
 * The same for a part that will be back: halt keeps the tables in VRAM, reinit brings
 * the part up as vkfd_hw_init() did, without queues and with all VMIDs unbound. Both
 * only after vkfd_hw_take_away().
 */
void vkfd_hw_halt(struct vkfd_device *dev);
int vkfd_hw_reinit(struct vkfd_device *dev);

/* Whether the part is there, initialised, and has the memory it had. */
bool vkfd_hw_answers(struct vkfd_device *dev);

/* Marks VRAM before the part goes away; whether the mark is still there after that. */
void vkfd_hw_vram_mark(struct vkfd_device *dev);
bool vkfd_hw_vram_intact(struct vkfd_device *dev);

/* The memory half of those (vkfd_hw_gmc.c). */
int vkfd_hw_gmc_init(struct vkfd_device *dev);
int vkfd_hw_gmc_reinit(struct vkfd_device *dev);
void vkfd_hw_gmc_halt(struct vkfd_device *dev);
void vkfd_hw_gmc_fini(struct vkfd_device *dev);

/* Selects the bank of HQD registers (@me, @pipe, @queue) and of SH_MEM_* (@vmid). srbm_lock held. */
void vkfd_hw_select(struct vkfd_device *dev, unsigned int me, unsigned int pipe,
		    unsigned int queue, unsigned int vmid);

/* Reads and clears the latched fault of a hub, so that the next one latches. Any context. */
u32 vkfd_hw_clear_fault(struct vkfd_device *dev, bool mmhub);

/*
 * Binds @vmid to @pasid and the page directory at VRAM offset @pd_offset on both
 * hubs, programs SH_MEM_*, the ATC mapping and the IH look-up tables, and flushes
 * the VMID. Does not sleep; dev->queue_lock held. -ETIMEDOUT if the part does not
 * acknowledge in time; nothing is bound then.
 */
int vkfd_hw_vmid_bind(struct vkfd_device *dev, unsigned int vmid, u32 pasid, u64 pd_offset);
void vkfd_hw_vmid_unbind(struct vkfd_device *dev, unsigned int vmid);

/* For MAP_PROCESS, what vkfd_hw_vmid_bind() writes: page directory with flags, SH_MEM_*. */
u64 vkfd_hw_pd_base(struct vkfd_device *dev, u64 pd_offset);
u32 vkfd_hw_sh_mem_config(void);
u32 vkfd_hw_sh_mem_bases(void);

/*
 * VMID 0: a flat table for 8 MiB of MC addresses, 4 GiB below where the VBIOS puts
 * the framebuffer. The table takes 16 KiB of VRAM (dev->gart).
 */
#define VKFD_GART_START		0x7f00000000ull
#define VKFD_GART_SIZE		0x800000ull

/* Flushes translations of @vmid on both hubs by engine 17. 0 or -ETIMEDOUT. */
int vkfd_hw_flush_tlb(struct vkfd_device *dev, unsigned int vmid);

/*
 * Loads the HQD image in @mqd (V9_MQD_DW dwords, not changed) into the slot and
 * activates it: rptr from CP_HQD_PQ_RPTR of the image, wptr from the poll address.
 * -EBUSY if the slot is active.
 */
int vkfd_hw_hqd_load(struct vkfd_device *dev, struct vkfd_hqd_slot slot, const u32 *mqd);
/*
 * Dequeues the slot (VKFD_DEQUEUE_*), waits until it is inactive, and saves the
 * HQD image back to @mqd (may be NULL), ready to be loaded again. May sleep.
 * 0 or -ETIME; the slot stays active then and its doorbell off.
 */
int vkfd_hw_hqd_unload(struct vkfd_device *dev, struct vkfd_hqd_slot slot, u32 request,
		       unsigned int timeout_ms, u32 *mqd);
/* The same for one that does not let itself be preempted; its state is lost. */
int vkfd_hw_hqd_reset(struct vkfd_device *dev, struct vkfd_hqd_slot slot, unsigned int timeout_ms);
bool vkfd_hw_hqd_is_active(struct vkfd_device *dev, struct vkfd_hqd_slot slot);
/* The bank of the slot (V9_MQD_HQD_DW dwords); false, with nothing read, if it is inactive. */
bool vkfd_hw_hqd_read(struct vkfd_device *dev, struct vkfd_hqd_slot slot, u32 *hqd);

/*
 * SDMA engines (vkfd_hw_sdma.c). Init: both running, with their doorbells and without
 * queues; halt stops them and all of their queues. User queues are named by engine
 * (0, 1) and number (0..7); whoever calls has that slot. @mqd: V9_SDMA_MQD_DW dwords.
 * Load: -EBUSY if there is a queue already, -ENODEV; the write pointer is read from its
 * memory. Unload as vkfd_hw_hqd_unload(): @mqd (may be NULL) is what a later load goes
 * on from; 0 or -ETIME, may sleep.
 */
int vkfd_hw_sdma_init(struct vkfd_device *dev);
void vkfd_hw_sdma_halt(struct vkfd_device *dev);
int vkfd_hw_sdma_load(struct vkfd_device *dev, unsigned int engine, unsigned int rlc,
		      const u32 *mqd);
int vkfd_hw_sdma_unload(struct vkfd_device *dev, unsigned int engine, unsigned int rlc,
			unsigned int timeout_ms, u32 *mqd);
bool vkfd_hw_sdma_is_active(struct vkfd_device *dev, unsigned int engine, unsigned int rlc);

/* GPU clock, VKFD_GPU_CLOCK_KHZ. */
u64 vkfd_hw_gpu_clock(struct vkfd_device *dev);

#endif /* VKFD_HW_H */
