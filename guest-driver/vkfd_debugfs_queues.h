/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VKFD_DEBUGFS_QUEUES_H
#define VKFD_DEBUGFS_QUEUES_H

struct dentry;
struct seq_file;
struct vkfd_device;

/* The files of queues and slots in @kfd; they go with it. */
void vkfd_debugfs_queues_init(struct dentry *kfd);

/* vkfd_debugfs.c: @fn shows each GPU that there is. */
void vkfd_debugfs_each_gpu(struct seq_file *m,
			   void (*fn)(struct seq_file *m, struct vkfd_device *dev));

#endif /* VKFD_DEBUGFS_QUEUES_H */
