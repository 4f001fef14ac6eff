/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run list: all queues of all processes that are to run on a GPU, as the scheduler
 * firmware is told of them.
 */
#ifndef VKFD_RUNLIST_H
#define VKFD_RUNLIST_H

#include <linux/list.h>
#include <linux/types.h>

#include "vkfd_gart.h"

struct vkfd_device;
struct seq_file;

/* What the firmware keeps track of at a time; more is refused at creation. */
#define VKFD_RUNLIST_MAX_QUEUES		4096
#define VKFD_RUNLIST_MAX_PROCESSES	512

/**
 * struct vkfd_runlist
 * @pdds: processes with a queue in the list: vkfd_pdd.runlist.link
 * @processes, @compute, @sdma: how many processes and queues that is
 * @created: queues that exist, listed or not
 * @created_compute: compute queues of them
 * @owners: processes that have queues
 * @mapped: the firmware has a list
 * @ib: memory the list is written into
 * @ib_dw: length of what is in there
 * @maps, @unmaps: lists given to the firmware and taken back, for debugfs
 *
 * dev->queue_lock.
 */
struct vkfd_runlist {
	struct list_head pdds;
	unsigned int processes;
	unsigned int compute;
	unsigned int sdma;
	unsigned int created;
	unsigned int created_compute;
	unsigned int owners;
	bool mapped;
	struct vkfd_gart_buf ib;
	unsigned int ib_dw;
	u64 maps;
	u64 unmaps;
};

/**
 * struct vkfd_runlist_process - of a pdd; dev->queue_lock
 * @link: in vkfd_runlist.pdds while @queues is not empty
 * @queues: its queues in the list: vkfd_queue.runlist
 * @count: how many
 * @created: its queues that exist
 */
struct vkfd_runlist_process {
	struct list_head link;
	struct list_head queues;
	unsigned int count;
	unsigned int created;
};

/* Memory; in probe. -errno. */
int vkfd_runlist_init(struct vkfd_device *dev);

/*
 * Gives the firmware the list as it is now / takes from it every queue it has, whose state
 * is then in their MQDs in VRAM. Nothing happens if there is nothing to be done. Errors of
 * vkfd_hiq_run(). dev->queue_lock held; sleep.
 */
int vkfd_runlist_map(struct vkfd_device *dev);
int vkfd_runlist_unmap(struct vkfd_device *dev);

/* For debugfs: what the firmware was last given. */
void vkfd_runlist_show(struct seq_file *m, struct vkfd_device *dev);

#endif /* VKFD_RUNLIST_H */
