/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VRAM under pressure: BOs move to system memory to make room, and back when there is some.
 * docs/memory.md has who makes room for whom.
 */
#ifndef VKFD_EVICT_H
#define VKFD_EVICT_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "vkfd_lru.h"

struct seq_file;
struct vkfd_bo;
struct vkfd_device;

/**
 * struct vkfd_evict - of a GPU
 * @lock: held while BOs move, so that one thing happens at a time; see vkfd_device.h
 * @work: brings BOs back
 * @leaving: nothing comes back any more, since the GPU is about to go; written in probe and
 *           remove, read without a lock
 * @delay_ms: until @work tries again what failed; of @work
 * @lrus: the BOs
 * @outs, @out_bytes: moves to system memory
 * @ins, @in_bytes: moves back
 * @failed: moves that were begun and could not be completed
 *
 * vram.lock, if not said otherwise.
 */
struct vkfd_evict {
	struct mutex lock;
	struct delayed_work work;
	bool leaving;
	unsigned int delay_ms;
	struct vkfd_lrus lrus;
	u64 outs;
	u64 out_bytes;
	u64 ins;
	u64 in_bytes;
	u64 failed;
};

int vkfd_evict_module_init(void);
void vkfd_evict_module_exit(void);

/*
 * In probe / when it is known that the GPU goes: what is away stays away, where CPUs reach it
 * afterwards / and nobody tries any more. Stop sleeps; no lock held.
 */
void vkfd_evict_init(struct vkfd_device *dev);
void vkfd_evict_leave(struct vkfd_device *dev);
void vkfd_evict_stop(struct vkfd_device *dev);

/*
 * VRAM for @bo, which is being made and has none: others move out until there is enough.
 * No lock of the driver is held, as queues are stopped and put back. -ENOMEM: that would not
 * do, or there is too little system memory; if it can be told, then nothing has moved;
 * -EINTR: fatal signal; -ENODEV.
 */
int vkfd_evict_alloc(struct vkfd_bo *bo, bool contiguous);
/*
 * Room for @size bytes of the driver's own, in single pages, after vkfd_vram_alloc() has found
 * none: 0, and that is to be tried again. Memory that queues of @own (or NULL) can use stays.
 * No lock is held; with svm.lock held @plain is false, and plain memory stays. Else as above.
 */
int vkfd_evict_make_room(struct vkfd_device *dev, u64 size, const struct vkfd_process *own,
			 bool plain);

/*
 * A VRAM BO is complete, and may move from now on / is used, so others move before it / is
 * being freed. Take vram.lock.
 */
void vkfd_evict_add(struct vkfd_bo *bo);
void vkfd_evict_touch(struct vkfd_bo *bo);
void vkfd_evict_remove(struct vkfd_bo *bo);
/* Frees the pages of an evicted BO nobody uses any more. */
void vkfd_evict_free_pages(struct vkfd_bo *bo);
/* VRAM was freed: others may come back. Any context. */
void vkfd_evict_kick(struct vkfd_device *dev);

/* Moves to system memory, and bytes moved either way if @bytes is not NULL. */
u64 vkfd_evict_count(struct vkfd_device *dev, u64 *bytes);
/* For debugfs. */
void vkfd_evict_show(struct seq_file *m, struct vkfd_device *dev);

#endif /* VKFD_EVICT_H */
