/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debugfs of one process.
 */
#ifndef VKFD_DEBUGFS_PROC_H
#define VKFD_DEBUGFS_PROC_H

struct dentry;
struct vkfd_process;

/* Module init, in the directory kfd, which removes it. Before the first process. */
void vkfd_debugfs_proc_init(struct dentry *kfd);

/*
 * Once each, in this order; remove at the begin of teardown, no lock held, as it waits
 * for readers, who take events.mutex.
 */
void vkfd_debugfs_proc_add(struct vkfd_process *p);
void vkfd_debugfs_proc_remove(struct vkfd_process *p);

#endif /* VKFD_DEBUGFS_PROC_H */
