/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VKFD_DEBUGFS_QUEUES_H
#define VKFD_DEBUGFS_QUEUES_H

struct dentry;

/* The files of queues and slots in @kfd; they go with it. */
void vkfd_debugfs_queues_init(struct dentry *kfd);

#endif /* VKFD_DEBUGFS_QUEUES_H */
