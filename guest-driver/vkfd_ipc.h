/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory shared by a handle of 128 random bits, which any process that knows it may import.
 */
#ifndef VKFD_IPC_H
#define VKFD_IPC_H

struct file;
struct vkfd_ipc;
struct vkfd_process;

/* A memory handle of KFD goes that shared memory by @ipc. Takes the table's lock. */
void vkfd_ipc_put(struct vkfd_ipc *ipc);

/* Rows of the table in vkfd_chardev.c. */
int vkfd_ioctl_ipc_import(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_ipc_export(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_IPC_H */
