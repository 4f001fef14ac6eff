/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a process, registered by address. Nothing is pinned: an MMU notifier tells when
 * the kernel takes pages away, to copy, move, swap or unmap them, and the pages that are
 * there afterwards are looked up again. docs/memory.md has the whole life of a range.
 *
 * What the notifier does it does inside reclaim, fork or munmap of anybody, with locks of
 * theirs held. So under vkfd_userptrs.lock, and all locks inside it (vkfd_device.h), no
 * memory is allocated that has to be reclaimed, and no user memory is touched.
 */
#ifndef VKFD_USERPTR_H
#define VKFD_USERPTR_H

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct seq_file;
struct vkfd_bo;
struct vkfd_process;

/**
 * struct vkfd_userptr - what a BO of user memory has besides bo->pages and bo->dma
 * @mni: notifier of the range, from creation to release
 * @bo: the BO
 * @process: whose memory it is; it outlives the BO
 * @link: in vkfd_userptrs.all
 * @fetch_lock: held while pages are looked up, and so while bo->pages and bo->dma change
 *              and @valid is not set. Outside mmap_lock and vkfd_userptrs.lock
 * @gpus: bit per GPU index: there is room for it in the page tables
 * @stale: of @gpus: entries that could not be taken out, since the part was away
 * @round: look of the restore work that came by last
 * @valid: bo->pages are the pages of the process, their addresses are in bo->dma, and in the
 *         page tables of @gpus
 * @lost: not @valid, and a look found no memory there: nothing is done about it before
 *        something changes. Entries in page tables are invalid
 * @written: the GPU may have written the pages, so they are dirty
 *
 * vkfd_userptrs.lock, if not said otherwise.
 */
struct vkfd_userptr {
	struct mmu_interval_notifier mni;
	struct vkfd_bo *bo;
	struct vkfd_process *process;
	struct list_head link;
	struct mutex fetch_lock;
	unsigned long gpus;
	unsigned long stale;
	u64 round;
	bool valid;
	bool lost;
	bool written;
};

/**
 * struct vkfd_userptrs - of a process
 * @lock: everything here and in struct vkfd_userptr; see vkfd_device.h
 * @all: vkfd_userptr.link
 * @mm: memory of the process. Keeps the structure only: users are counted by mmget_not_zero()
 * @evicted: bit per GPU index: the queues there are off, as pages are away
 * @work: looks up pages and puts queues back
 * @delay_ms: until @work tries again, if it has to
 * @round: number of the look of @work
 * @invalidations: calls of notifiers
 * @evictions: how often queues were taken off, GPUs counted one by one; ...
 * @restores: ... and put back
 * @attempts: runs of @work
 * @retries: of them those that did not succeed, and so are followed by another
 * @fetches: times that pages of a range were looked up
 * @faults: of them those that found no memory
 */
struct vkfd_userptrs {
	struct mutex lock;
	struct list_head all;
	struct mm_struct *mm;
	unsigned long evicted;
	struct delayed_work work;
	unsigned int delay_ms;
	u64 round;
	u64 invalidations;
	u64 evictions;
	u64 restores;
	u64 attempts;
	u64 retries;
	u64 fetches;
	u64 faults;
};

/* ---- vkfd_userptr.c: one range ---- */

/*
 * Registers the range of @bo and looks up its pages, which have to be there. Takes
 * mmap_lock, so no lock of the driver is held. -EFAULT: hole, device memory, no access;
 * -EINTR: fatal signal; -ENOMEM; -ENODEV. Fini: no GPU has it any more; also after failure.
 */
int vkfd_userptr_init(struct vkfd_bo *bo, struct vkfd_process *p);
void vkfd_userptr_fini(struct vkfd_bo *bo);

/*
 * Looks up the pages if they are away, and enters them into the page tables of all GPUs that
 * have the range. @mm: the process's, with a user. @patient: until it succeeds, else for
 * about a second. No lock of the driver is held. Errors as above; -EAGAIN: not @patient, and
 * pages went away as fast as they were found. -EFAULT and -ENODEV leave the range lost.
 */
int vkfd_userptr_fetch(struct vkfd_bo *bo, struct mm_struct *mm, bool patient);

/*
 * For vkfd_vm.c: the page tables of @gpu have, from now on, room for @bo, with invalid
 * entries / will lose it. process->lock held; take vkfd_userptrs.lock.
 */
void vkfd_userptr_attach(struct vkfd_bo *bo, unsigned int gpu);
void vkfd_userptr_detach(struct vkfd_bo *bo, unsigned int gpu);

/* See vkfd_bo_access(). */
int vkfd_userptr_read(struct vkfd_bo *bo, u64 offset, void *buf, size_t len);

/*
 * For vkfd_userptr_restore.c, with vkfd_userptrs.lock held: takes out the entries of @gpu
 * that are left over. False: not possible now.
 */
bool vkfd_userptr_clean(struct vkfd_userptr *up, unsigned int gpu);

/* ---- vkfd_userptr_restore.c: the process ---- */

int vkfd_userptr_module_init(void);
void vkfd_userptr_module_exit(void);

/* With the process. */
void vkfd_userptrs_init(struct vkfd_process *p, struct mm_struct *mm);
void vkfd_userptrs_free(struct vkfd_process *p);
/* The process ends: pages are not looked up any more. Sleeps; no lock held. */
void vkfd_userptrs_stop(struct vkfd_process *p);

/*
 * Pages of a range that @gpus have go away: takes the queues of the process off those and
 * has the pages looked up again. vkfd_userptrs.lock held; from notifiers.
 */
void vkfd_userptrs_evict(struct vkfd_process *p, unsigned long gpus, int trigger);
/* Has the work look, with no queue taken off. vkfd_userptrs.lock held. */
void vkfd_userptrs_kick(struct vkfd_process *p);

/* For debugfs. */
void vkfd_userptrs_show(struct seq_file *m, struct vkfd_process *p);

#endif /* VKFD_USERPTR_H */
