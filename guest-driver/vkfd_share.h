/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory handles that cross process boundaries: rows of the table in vkfd_chardev.c.
 */
#ifndef VKFD_SHARE_H
#define VKFD_SHARE_H

struct file;
struct vkfd_process;

int vkfd_ioctl_get_dmabuf_info(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_import_dmabuf(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_export_dmabuf(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_SHARE_H */
