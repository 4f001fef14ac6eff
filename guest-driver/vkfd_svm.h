/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SVM: plain memory of a process that its GPUs use at the addresses the CPU uses, by
 * attributes of address ranges instead of BOs. docs/svm.md.
 *
 * What a range is, is changed with svm.lock; what an MMU notifier may find, with
 * vkfd_userptrs.lock as well. So a notifier never waits for somebody who allocates or looks
 * up pages. A notifier that hears of an unmapping only notes which pages are gone: the tree
 * of ranges is trimmed later, by vkfd_svm_trim(), before anybody looks at it.
 */
#ifndef VKFD_SVM_H
#define VKFD_SVM_H

#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "vkfd_device.h"

struct file;
struct seq_file;
struct vkfd_pdd;
struct vkfd_process;

/* No range is longer, or crosses a multiple of it. As upstream with 1 GiB of VRAM. */
#define VKFD_SVM_CHUNK_PAGES	(SZ_32M >> PAGE_SHIFT)

/**
 * struct vkfd_svm_chunk - address space of VKFD_SVM_CHUNK_PAGES with ranges in it
 * @mni: notifier of all of it, so that ranges can be split without one
 * @process: whose it is
 * @index: in vkfd_svm.chunks
 * @ranges: how many there are; svm.lock
 */
struct vkfd_svm_chunk {
	struct mmu_interval_notifier mni;
	struct vkfd_process *process;
	unsigned long index;
	unsigned int ranges;
};

/**
 * struct vkfd_svm_attrs - what user space set; svm.lock, to change also vkfd_userptrs.lock
 * @preferred, @prefetch: GPU id, KFD_IOCTL_SVM_LOCATION_*
 * @flags: KFD_IOCTL_SVM_FLAG_*
 * @granularity: log2 of pages
 * @access, @in_place: bit per GPU index
 */
struct vkfd_svm_attrs {
	u32 preferred;
	u32 prefetch;
	u32 flags;
	u8 granularity;
	unsigned long access;
	unsigned long in_place;
};

/**
 * struct vkfd_svm_range
 * @node: first and last page number, in vkfd_svm.ranges
 * @process: whose it is
 * @chunk: where it is
 * @link: in lists of who holds svm.lock
 * @attrs: what user space wants
 * @gpus: bit per GPU index: its page tables have room for the range
 * @stale: of @gpus: entries that could not be written, since the part was away
 * @uptodate: pages that can be had have been looked up, and nothing has changed since
 * @missing: there was no memory for some of them, at the last look. Nobody looks again before
 *           something changes, or the program asks
 * @holes: there are bits in @gone
 * @gone: bit per page: the process has unmapped it. It is never looked up again, even if
 *        there is new memory now
 * @pfns: pages as hmm_range_fault() gave them, 0: none; NULL while no GPU has the range.
 *        A page is here only as long as it is the process's
 * @dma: by GPU index, for pages in @pfns: bus address, or DMA_MAPPING_ERROR
 *
 * From @gpus on: vkfd_userptrs.lock; the pointers and @gpus change under svm.lock only.
 */
struct vkfd_svm_range {
	struct interval_tree_node node;
	struct vkfd_process *process;
	struct vkfd_svm_chunk *chunk;
	struct list_head link;
	struct vkfd_svm_attrs attrs;
	unsigned long gpus;
	unsigned long stale;
	bool uptodate;
	bool missing;
	bool holes;
	unsigned long *gone;
	unsigned long *pfns;
	dma_addr_t *dma[VKFD_MAX_GPUS];
};

/**
 * struct vkfd_svm - of a process
 * @lock: ranges and attributes; outside process->lock, mmap_lock, vm->lock and
 *        vkfd_userptrs.lock
 * @ranges: struct vkfd_svm_range.node; both locks to change, either to read
 * @chunks: address / chunk size -> struct vkfd_svm_chunk; @lock
 * @untrimmed: some range has holes; vkfd_userptrs.lock, also read without
 * @unmappings: how often a notifier has noted some; vkfd_userptrs.lock
 * @invalidations: notifier calls that met a range
 * @fetches: look-ups of pages of a range that were not overtaken
 */
struct vkfd_svm {
	struct mutex lock;
	struct rb_root_cached ranges;
	struct xarray chunks;
	bool untrimmed;
	u64 unmappings;
	u64 invalidations;
	u64 fetches;
};

/* Module parameter svm: the interface is there. */
extern bool vkfd_svm_enabled;

static inline unsigned long vkfd_svm_npages(const struct vkfd_svm_range *r)
{
	return r->node.last - r->node.start + 1;
}

/* ---- vkfd_svm.c: ranges. svm.lock held where not said otherwise ---- */

void vkfd_svm_init(struct vkfd_process *p);
/* The process is dead and its queues are off. Takes svm.lock. */
void vkfd_svm_fini(struct vkfd_process *p);

void vkfd_svm_default_attrs(struct vkfd_svm_attrs *attrs);
/*
 * Makes ranges with default attributes for the pages from @start to @last that belong to
 * none. All or nothing: -ENOMEM, also for more memory than may be used; -EINTR.
 */
int vkfd_svm_add(struct vkfd_process *p, unsigned long start, unsigned long last);
/* Splits what contains both @at - 1 and @at between them. -ENOMEM. */
int vkfd_svm_split_at(struct vkfd_process *p, unsigned long at);
/* Takes out what the process has unmapped. -ENOMEM: not all of it. */
int vkfd_svm_trim(struct vkfd_process *p);
/* First range with pages from @start to @last, and the next one. */
struct vkfd_svm_range *vkfd_svm_first(struct vkfd_process *p, unsigned long start,
				      unsigned long last);
struct vkfd_svm_range *vkfd_svm_next(struct vkfd_svm_range *r, unsigned long start,
				     unsigned long last);

/*
 * For those who allocate memory: what has been unmapped is no range any more. No lock held.
 * Then, with process->lock or vm->lock held: whether bytes from @addr on are in a range.
 */
void vkfd_svm_settle(struct vkfd_process *p);
bool vkfd_svm_overlaps(struct vkfd_process *p, u64 addr, u64 size);

/*
 * Whether the GPU of @pdd has all of it, and keeps it: flag GPU_ALWAYS_MAPPED. Of what a
 * queue needs, upstream takes the save area from such memory. process->lock held.
 */
bool vkfd_svm_always_mapped(struct vkfd_pdd *pdd, u64 addr, u64 size);

/* For debugfs. Takes both locks. */
void vkfd_svm_show(struct seq_file *m, struct vkfd_process *p);

/* ---- vkfd_svm_map.c: pages ---- */

extern const struct mmu_interval_notifier_ops vkfd_svm_mn_ops;

/*
 * Makes room for the range in the page tables of @gpus, and in no others. svm.lock held; takes
 * vkfd_userptrs.lock. -ENOMEM, -ENODEV, -EINVAL: not for all of them.
 */
int vkfd_svm_set_gpus(struct vkfd_svm_range *r, unsigned long gpus);
/* Writes the entries anew, after attributes changed. vkfd_userptrs.lock held. */
void vkfd_svm_rewrite(struct vkfd_svm_range *r);
/*
 * Looks up the pages that are not there. svm.lock held, no other; takes mmap_lock. @patient:
 * until it is done, else for about a second. -EFAULT: some there is no memory for, the others
 * are there; -EINTR; -ENOMEM; -EAGAIN: not @patient.
 */
int vkfd_svm_fetch(struct vkfd_svm_range *r, struct mm_struct *mm, bool patient);

/*
 * For vkfd_userptr_restore.c: fetches what is away. True: nothing will be gained by trying
 * again. Takes svm.lock. / Whether nothing is in the way of queues. vkfd_userptrs.lock held.
 */
bool vkfd_svm_restore(struct vkfd_process *p, struct mm_struct *mm);
bool vkfd_svm_there(struct vkfd_process *p);

/* After drm_dev_unplug(): see vkfd_bo_dma_revoke(). Takes vkfd_userptrs.lock of processes. */
void vkfd_svm_dma_revoke(struct vkfd_device *dev);

/* ---- vkfd_svm_ioctl.c ---- */

int vkfd_ioctl_svm(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_svm_validate(void *data, unsigned int usize);
int vkfd_ioctl_set_xnack_mode(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_SVM_H */
