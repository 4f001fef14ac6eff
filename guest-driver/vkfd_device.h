/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One GPU: the DRM device and the hardware state that outlives processes.
 *
 * Lock order of the whole driver, outermost first:
 *
 *   vkfd_process_table_lock        mm -> process; mmap_lock is taken inside it, when
 *                                  the MMU notifier is registered
 *   vkfd_topology_lock             node directories; none of the others with it
 *   svm.lock                       SVM ranges of a process; see below on mmap_lock
 *   process->lock                  pdds, memory handles, queues of a process
 *     dev->evict.lock              BOs move into and out of VRAM; mostly without
 *                                  process->lock. Memory is allocated under it
 *       bo->move_lock              where a VRAM BO is (rw_semaphore). To move it, for
 *                                  writing; who makes entries of it, or lets a CPU look,
 *                                  reads: also right under process->lock or mmap_lock.
 *                                  vm->lock, queues.lock and all below is taken inside it
 *     vm->lock                     page tables and mappings of one GPUVM
 *       userptrs.lock              registered memory of a process; also right under
 *                                  process->lock
 *         queues.lock              which queues of a process are on the hardware; also
 *                                  right under process->lock
 *           dev->queue_lock        VMIDs, slots, run list of a GPU; also without
 *                                  process->lock
 *             vm->bind_lock        which VMID a GPUVM has, TLB flushes; also right under
 *                                  vm->lock and userptrs.lock
 *               hiq->lock          ring to the scheduler firmware; held while it is
 *                                  waited for; also right under queue_lock
 *               dev->tlb_lock      invalidate engine 17 (spinlock); also under hiq->lock
 *             dev->srbm_lock       GRBM_GFX_CNTL select + banked access (spinlock);
 *                                  also right under process->lock and hiq->lock
 *         dev->dma_lock            DMA mappings; also without any of these
 *     process->events.mutex        create, destroy, wait set-up; also without
 *                                  process->lock; vm->lock and what is inside it, and
 *                                  nothing else of this list, is taken under it
 *       event->lock                one event's state and waiters (spinlock, irqsave)
 *         wait->wq.lock            queue a WAIT_EVENTS call sleeps on (wake_up()); the
 *                                  scheduler's locks inside it
 *     queues.fault_lock            noted faults (spinlock, irqsave); nothing inside it
 *
 * Below any of the mutexes, and without: bo->vmap_lock, bo->share_lock (the DRM core's locks of
 * handles and dma-bufs outside it), dev->foreign_lock, dev->vram.lock, dev->doorbells.lock, the lock
 * of vkfd_ipc.c (mutexes, none of the others inside) and the slots lock of vkfd_device.c, the
 * list lock of vkfd_event.c, the lists and clients of vkfd_smi.c, dev->clock_lock, the limit's
 * lock of vkfd_bo.c, bo->mappings_lock (spinlocks).
 *
 * MMU notifiers of registered memory are called with any locks held, also inside an
 * allocation that reclaims. They take userptrs.lock and all that is below it, but neither
 * vram.lock nor doorbells.lock. So under userptrs.lock, queues.lock, queue_lock, bind_lock,
 * hiq->lock and dma_lock nothing is allocated but what does not reclaim.
 *
 * mmap_lock: mmap and fault handlers and VMA close run under it, and so may notifiers. The
 * handlers take bo->move_lock, events.mutex, vm->lock, doorbells.lock inside it, and, when
 * the last reference to a BO goes, dma_lock and vram.lock. So under those nothing may touch user memory; under
 * process->lock nothing does either. userptr->fetch_lock is taken first of all, without any
 * of the above: mmap_lock and userptrs.lock are taken inside it. So is svm.lock, inside which
 * pages are looked up and moved: mmap_lock, and in it svm_vram.sem and vram.lock. Where svm.lock
 * is held process->lock may be outside of mmap_lock, to register a notifier; never inside.
 *
 * ih->lock (spinlock): taken by the hard interrupt handler, its thread, and below
 * process->lock by vkfd_ih_sync(); inside it RCU with event->lock or queues.fault_lock,
 * and the workqueue's locks, nothing else.
 */
#ifndef VKFD_DEVICE_H
#define VKFD_DEVICE_H

#include <linux/io.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_mm.h>

#include <vkfd/pci.h>
#include <vkfd/regs_sdma.h>

#include "vkfd_doorbell.h"
#include "vkfd_evict.h"
#include "vkfd_hiq.h"
#include "vkfd_ih.h"
#include "vkfd_runlist.h"
#include "vkfd_svm_vram.h"

#define VKFD_MAX_GPUS		8
#define VKFD_NUM_CP_QUEUES	24	/* ME1: queues 2..7 of 4 pipes, as upstream leaves KFD on Vega20 */
#define VKFD_NUM_SDMA_QUEUES	(VKFD_NUM_SDMA * VKFD_SDMA_NUM_RLC)
#define VKFD_KFD_VMIDS		(VKFD_KFD_VMID_LAST - VKFD_KFD_VMID_FIRST + 1)

/*
 * Firmware versions user space is told. No firmware runs; these are values at
 * which ROCm expects counted NOPs, valid context ids in EOP interrupts and no GWS.
 */
#define VKFD_MEC_FW_VERSION	0x1a5
#define VKFD_MEC_FW_FEATURE	46
#define VKFD_SDMA_FW_VERSION	0x75

/**
 * struct vkfd_vram - the VRAM allocator of one GPU
 * @lock: protects @mm, @used, @used_visible, @kfd_used and @spilled, the lists of
 *        vkfd_lru.h, and @peer_bos of the GPU
 * @mm: offsets in bytes from the start of VRAM; nodes are page aligned
 * @base: bus address of BAR0
 * @size: VRAM in bytes
 * @visible: bytes reported to user space as FB_PUBLIC; BAR0 itself serves all of VRAM
 * @used: bytes taken below the driver's reserve: BOs that are in VRAM, and @spilled
 * @used_visible: how much of that is visible
 * @kfd_used: bytes of BOs that KFD allocated, in VRAM or evicted: what it may have is
 *            limited by that, whatever GEM has
 * @spilled: bytes of the driver's own that did not fit into its reserve
 * @map: write-combined mapping of the whole BAR0
 */
struct vkfd_vram {
	struct mutex lock;
	struct drm_mm mm;
	resource_size_t base;
	u64 size;
	u64 visible;
	u64 used;
	u64 used_visible;
	u64 kfd_used;
	u64 spilled;
	void __iomem *map;
};

/**
 * struct vkfd_device - one GPU
 * @drm: the DRM device; lifetime of the whole structure (devm_drm_dev_alloc)
 * @pdev: its PCI function
 * @mmio: BAR5
 * @doorbell_base: bus address of BAR2
 * @doorbell_kernel: mapping of the kernel's own doorbell pages (VKFD_DOORBELL_KERNEL_SIZE)
 * @gpu_id: KFD's 16-bit id, never 0
 * @index: slot in the table of GPUs, also index of process->pdds
 * @num_cu: active compute units
 * @cu_mask: which of the 16 compute units of SE0/SH0 they are
 * @rev_id: revision strap of the part
 * @gb_addr_config: GB_ADDR_CONFIG as the part has it, for AMDGPU_INFO
 * @fb_base: MC address of the first byte of VRAM
 * @fb_offset: added to VRAM offsets in page directory addresses
 * @gart: VRAM range of the flat page table of VMID 0
 * @scratch: one zero page of VRAM, where faulting accesses are directed
 * @srbm_lock: GRBM_GFX_CNTL select and the banked accesses that follow it
 * @tlb_lock: invalidate engine 17
 * @clock_lock: capture of the GPU clock and the two reads that follow it
 * @dma_lock: @dma_bos, @dma_pages
 * @dma_bos: BOs whose pages are mapped for DMA by this GPU, struct vkfd_bo_dma
 * @dma_pages: pages of user memory by page frame, see vkfd_bo_dma.c
 * @peer_bos: BOs of its BARs that are, or have been, in page tables of other GPUs: struct
 *            vkfd_bo.peer_link; vram.lock
 * @foreign_lock: @foreign_bos; exporters' locks are taken inside it
 * @foreign_bos: BOs whose pages others have mapped for this GPU
 * @svm_vram: pages of processes in VRAM
 * @sched: how queues get onto the hardware
 * @gart_used: pages of VMID 0's address space that are given out; in probe only
 * @hiq: ring to the scheduler firmware
 * @runlist: what the firmware is to run
 * @doorbells: slices of its doorbells, and who has them
 * @evict: BOs that leave VRAM and come back
 * @queue_lock: @vmid_pasid, @hqd_used, @sdma_used, @runlist
 * @vmid_pasid: PASID that holds KFD VMID 8 + i, 0 if free
 * @hqd_used: one bit per KFD HQD slot (pipe * 6 + queue - 2)
 * @hqd_lost: those of @hqd_used whose queue did not stop and is gone; a reset gives
 *            them back
 * @sdma_used, @sdma_lost: the same of the user queues of the SDMA engines
 * @generation: resets that lost all queues; under @queue_lock, also read without
 * @away: the hardware must not be touched: reset, suspended, dead or removed
 * @dead: it will not come back before the driver is bound again
 * @resets: whole-GPU resets, for messages
 * @reset_tries: of @reset_work, which alone uses it
 * @reset_work: resets the part that does not stop a queue or does not answer
 *
 * Code that touches registers, VRAM or doorbells outside vkfd_hw_*() brackets the
 * access with vkfd_hw_enter()/vkfd_hw_exit(): the hardware goes away for a reset or
 * suspend, and the mappings end with remove(). The structure lives as long as somebody
 * holds a reference to @drm. The interrupt handlers need no bracket: the interrupt is
 * off while @away is set, or the part is dead and reads as ones.
 */
struct vkfd_device {
	struct drm_device drm;
	struct pci_dev *pdev;
	void __iomem *mmio;
	resource_size_t doorbell_base;
	void __iomem *doorbell_kernel;
	u32 gpu_id;
	unsigned int index;
	unsigned int num_cu;
	u16 cu_mask;
	u8 rev_id;
	u32 gb_addr_config;
	u64 fb_base;
	u64 fb_offset;
	struct drm_mm_node gart;
	struct drm_mm_node scratch;
	struct vkfd_vram vram;
	struct list_head peer_bos;
	struct vkfd_svm_vram svm_vram;
	struct vkfd_ih ih;

	spinlock_t srbm_lock;
	spinlock_t tlb_lock;
	spinlock_t clock_lock;

	struct mutex dma_lock;
	struct list_head dma_bos;
	struct rb_root dma_pages;
	struct mutex foreign_lock;
	struct list_head foreign_bos;

	unsigned int gart_used;
	const struct vkfd_sched_ops *sched;
	struct vkfd_hiq hiq;
	struct vkfd_runlist runlist;
	struct vkfd_doorbells doorbells;
	struct vkfd_evict evict;
	struct mutex queue_lock;
	u32 vmid_pasid[VKFD_KFD_VMIDS];
	DECLARE_BITMAP(hqd_used, VKFD_NUM_CP_QUEUES);
	DECLARE_BITMAP(hqd_lost, VKFD_NUM_CP_QUEUES);
	DECLARE_BITMAP(sdma_used, VKFD_NUM_SDMA_QUEUES);
	DECLARE_BITMAP(sdma_lost, VKFD_NUM_SDMA_QUEUES);
	u32 generation;

	bool away;
	bool dead;
	unsigned int resets;
	unsigned int reset_tries;
	struct delayed_work reset_work;
};

static inline struct vkfd_device *to_vkfd_device(struct drm_device *drm)
{
	return container_of(drm, struct vkfd_device, drm);
}

/* What registers of a part that is gone read as; IH_RB_WPTR and CP_HQD_ACTIVE never do. */
#define VKFD_REG_GONE		(~0u)

extern struct srcu_struct vkfd_hw_srcu;

/*
 * Whether the hardware may be touched until vkfd_hw_exit(), in any context but NMI.
 * Short: vkfd_hw_take_away() waits for it.
 */
static inline bool vkfd_hw_enter(struct vkfd_device *dev, int *idx)
{
	bool there;

	*idx = srcu_read_lock(&vkfd_hw_srcu);
	/* Ordered by SRCU: who reads false here is waited for. */
	there = !READ_ONCE(dev->away);
	/* For sparse, which cannot follow a lock that depends on a result. */
	if (there)
		__release(&vkfd_hw_srcu);
	else
		srcu_read_unlock(&vkfd_hw_srcu, *idx);
	return there;
}

static inline void vkfd_hw_exit(int idx)
{
	__acquire(&vkfd_hw_srcu);
	srcu_read_unlock(&vkfd_hw_srcu, idx);
}

/* Nobody touches the hardware any more when this returns. May sleep. */
static inline void vkfd_hw_take_away(struct vkfd_device *dev)
{
	WRITE_ONCE(dev->away, true);
	synchronize_srcu(&vkfd_hw_srcu);
}

static inline void vkfd_hw_give_back(struct vkfd_device *dev)
{
	/* What was set up is seen by whoever may touch it from now on. */
	smp_store_release(&dev->away, false);
}

/* @reg: absolute dword index (include/vkfd/regs_*.h). Any context. */
static inline u32 vkfd_rreg(struct vkfd_device *dev, u32 reg)
{
	return readl(dev->mmio + reg * 4);
}

static inline void vkfd_wreg(struct vkfd_device *dev, u32 reg, u32 val)
{
	writel(val, dev->mmio + reg * 4);
}

/*
 * GPUs known to KFD. Slots are stable; an index is never reused while somebody
 * still holds a reference to the GPU that had it.
 *
 * The plain look-ups return NULL for a GPU that is gone and take no reference; the
 * result is good for a comparison, or while the caller otherwise knows that the GPU
 * stays (it has a pdd for it). Whoever keeps the pointer (a pdd) takes
 * vkfd_device_get_by_gpu_id() or _get_by_index() and gives the reference back with drm_dev_put().
 */
struct vkfd_device *vkfd_device_by_gpu_id(u32 gpu_id);
struct vkfd_device *vkfd_device_by_index(unsigned int index);
struct vkfd_device *vkfd_device_get_by_gpu_id(u32 gpu_id);
struct vkfd_device *vkfd_device_get_by_index(unsigned int index);
/* The GPU with the lowest index from *@index on, with a reference; *@index is its own then. */
struct vkfd_device *vkfd_device_get_next(unsigned int *index);

/* Each GPU, with a reference while its turn lasts: it has to be left at the end of the body. */
#define vkfd_for_each_device(dev, i) \
	for ((i) = 0; ((dev) = vkfd_device_get_next(&(i))); drm_dev_put(&(dev)->drm), (i)++)

/*
 * Gives @dev its slot and gpu_id: -ENOSPC when all VKFD_MAX_GPUS slots are taken.
 * Look-ups find it from vkfd_device_publish() until vkfd_device_hide(). The slot is
 * free again after vkfd_device_release_slot(), called when the last reference goes.
 */
int vkfd_device_take_slot(struct vkfd_device *dev);
void vkfd_device_publish(struct vkfd_device *dev);
void vkfd_device_hide(struct vkfd_device *dev);
void vkfd_device_release_slot(struct vkfd_device *dev);

#endif /* VKFD_DEVICE_H */
