/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ioctls of /dev/kfd about a GPU: what it is, its clock, and settings of a process on
 * it. See rows of the table in vkfd_chardev.c.
 */
#ifndef VKFD_GPU_IOCTL_H
#define VKFD_GPU_IOCTL_H

struct file;
struct vkfd_process;

int vkfd_ioctl_get_version(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_get_clock_counters(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_get_apertures(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_get_apertures_new(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_memory_policy(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_scratch_va(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_trap_handler(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_get_tile_config(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_runtime_enable(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_GPU_IOCTL_H */
