/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Doorbell slices of BAR2: given to a process when it first needs doorbells on a GPU, not
 * before. There may be more processes than slices: vkfd_slice.c takes a slice from one
 * process for another and gives it back. docs/queues.md has the rules.
 *
 * A process knows its doorbells by the offset in its slice, so it does not matter to it
 * which slice that is at the moment, or whether it has any: a store to a doorbell it has
 * not waits in a page fault until it has.
 */
#ifndef VKFD_DOORBELL_H_DRIVER
#define VKFD_DOORBELL_H_DRIVER

#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <vkfd/doorbell.h>

struct seq_file;
struct vkfd_device;
struct vkfd_pdd;
struct vm_area_struct;

#define VKFD_DOORBELL_SLICES	254	/* what fits behind the kernel's pages in 2 MiB */

/* In sysfs: module parameters doorbell_slices and doorbell_overcommit. */
extern unsigned int vkfd_doorbell_slices;
extern bool vkfd_doorbell_overcommit;

/**
 * struct vkfd_doorbells - the slices of one GPU
 * @lock: everything here, and struct vkfd_slice of all processes. Innermost of the
 *        driver's; also taken with mmap_lock held
 * @used: one bit per slice
 * @kept: how many of them are GEM objects
 * @owners: processes that have one, the one that got it first at the head
 * @requests: processes that wait for one, the first to be served at the head
 * @work: serves @requests
 * @round: of looking for an idle owner; of @work, which alone uses it
 * @wait: page faults that wait for a slice
 * @grants: slices given to processes that had to wait for them
 * @evicted_idle, @evicted_busy: slices taken from processes without and with work to do
 * @restored: of @requests those made because the process had work to do
 * @faults: of @requests those made by a store to a doorbell
 */
struct vkfd_doorbells {
	struct mutex lock;
	DECLARE_BITMAP(used, VKFD_DOORBELL_SLICES);
	unsigned int kept;
	struct list_head owners;
	struct list_head requests;
	struct delayed_work work;
	wait_queue_head_t wait;
	u64 round;
	u64 grants;
	u64 evicted_idle;
	u64 evicted_busy;
	u64 restored;
	u64 faults;
};

/**
 * struct vkfd_slice - what a process has of the doorbells of a GPU
 * @given: it has doorbells, that is, a slice whenever it needs one
 * @open: the slice may be mapped: @index is final and the queues know of it
 * @refused: the request cannot be met: every slice is held by somebody who keeps it
 * @pinned: not to be taken away, since the doorbells are mapped to another GPU, too
 * @stored: a store came while the slice was being taken away
 * @turn: counts answers to requests, be they slices or refusals
 * @index: its slice, -1 for none; changed with process->lock and doorbells.lock held
 * @link: in vkfd_doorbells.owners if @index >= 0, in @requests if @requested
 * @requested: waits for a slice
 * @looked: last round that looked at it
 * @since: when it became @open
 */
struct vkfd_slice {
	bool given;
	bool open;
	bool refused;
	bool pinned;
	bool stored;
	bool requested;
	unsigned int turn;
	int index;
	struct list_head link;
	u64 looked;
	ktime_t since;
};

/* ---- vkfd_doorbell.c: numbers and mappings ---- */

/* Bus address of the slice of @pdd, 0 if it has none at the moment; process->lock held. */
phys_addr_t vkfd_doorbell_slice_addr(struct vkfd_pdd *pdd);
/* Bus address of slice @index. */
phys_addr_t vkfd_doorbell_addr(struct vkfd_device *dev, int index);
/* Dword index on BAR2 of doorbell @id of the slice, as DOORBELL_OFFSET wants it. */
u32 vkfd_doorbell_dw_index(struct vkfd_pdd *pdd, unsigned int id);
/* mmap offset user space gets: type 3, gpu_id, byte offset in the slice. */
u64 vkfd_doorbell_mmap_offset(struct vkfd_pdd *pdd, unsigned int id);

/*
 * First doorbell that is not in @used and that a compute queue may have; sets no
 * bit. -EBUSY if all 736 are taken.
 */
int vkfd_doorbell_find_id(const unsigned long *used);
/* The doorbell in a slice that user queue @rlc (0..7) of SDMA @engine has on any part. */
unsigned int vkfd_doorbell_sdma_id(unsigned int engine, unsigned int rlc);

/*
 * mmap of the slice through /dev/kfd: exactly the slice, shared; -EINVAL otherwise or
 * if the process has no doorbells yet. Takes no lock (mmap_lock is held).
 */
int vkfd_doorbell_mmap(struct vkfd_pdd *pdd, struct vm_area_struct *vma);
/* Takes the pages of the slice out of the mappings of the process. */
void vkfd_doorbell_unmap(struct vkfd_pdd *pdd);

/* ---- vkfd_slice.c: who has which slice ---- */

void vkfd_doorbells_init(struct vkfd_device *dev);
/* The driver leaves the GPU: nobody gets a slice any more, and nobody waits for one. */
void vkfd_doorbells_fini(struct vkfd_device *dev);
void vkfd_slice_init(struct vkfd_slice *slice);

/*
 * Gives @pdd doorbells if it has none yet, and a slice too if one is free; process->lock
 * held. -ENOSPC: all are taken, and overcommit is off or nobody can do without his. The
 * doorbells stay until the process ends: user space may have mapped them.
 */
int vkfd_slice_give(struct vkfd_pdd *pdd);
/* process->lock held; the process ends and none of its tasks runs any more. */
void vkfd_slice_put(struct vkfd_pdd *pdd);
/*
 * The doorbells of @pdd are going to be mapped to another GPU: it keeps its slice from now
 * on. process->lock held. -EBUSY: it has none at the moment.
 */
int vkfd_slice_pin(struct vkfd_pdd *pdd);
/* @pdd has work to do: sees to it that it gets a slice, if it has none. process->lock held. */
void vkfd_slice_want(struct vkfd_pdd *pdd);
/*
 * The same for a store that found no slice; dev->doorbells.lock held, and @pdd has
 * doorbells but no open slice.
 */
void vkfd_slice_fault(struct vkfd_pdd *pdd);

/*
 * A slice that is nobody's, and is not taken away, / that is no more; any context that may
 * sleep. One is always left for processes to share. Slice number or -ENOMEM.
 */
int vkfd_slice_keep(struct vkfd_device *dev);
void vkfd_slice_free(struct vkfd_device *dev, int index);

/* For debugfs. */
void vkfd_doorbells_show(struct seq_file *m, struct vkfd_device *dev);

#endif /* VKFD_DOORBELL_H_DRIVER */
