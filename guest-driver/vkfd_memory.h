/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory ioctls of /dev/kfd: see rows of the table in vkfd_chardev.c.
 */
#ifndef VKFD_MEMORY_H
#define VKFD_MEMORY_H

#include <linux/types.h>
#include <linux/wordpart.h>

struct file;
struct vkfd_process;

/* A memory handle: gpu_id in the upper half, handle in the pdd in the lower. */
static inline u64 vkfd_mem_handle(u32 gpu_id, u32 idr_handle)
{
	return (u64)gpu_id << 32 | idr_handle;
}

static inline u32 vkfd_mem_handle_gpu_id(u64 handle)
{
	return upper_32_bits(handle);
}

static inline u32 vkfd_mem_handle_idr(u64 handle)
{
	return lower_32_bits(handle);
}

int vkfd_ioctl_acquire_vm(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_alloc_memory(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_free_memory(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_map_memory(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_unmap_memory(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_available_memory(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_MEMORY_H */
