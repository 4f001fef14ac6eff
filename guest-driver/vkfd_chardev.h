/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev/kfd: open, the ioctl dispatcher and mmap.
 */
#ifndef VKFD_CHARDEV_H
#define VKFD_CHARDEV_H

#include <linux/types.h>

/* mmap offsets of /dev/kfd: type in bits 63:62, gpu_id in 61:46. */
#define VKFD_MMAP_TYPE_SHIFT		62
#define VKFD_MMAP_TYPE_MASK		(3ull << VKFD_MMAP_TYPE_SHIFT)
#define VKFD_MMAP_TYPE_DOORBELL		(3ull << VKFD_MMAP_TYPE_SHIFT)
#define VKFD_MMAP_TYPE_EVENTS		(2ull << VKFD_MMAP_TYPE_SHIFT)
#define VKFD_MMAP_TYPE_RESERVED_MEM	(1ull << VKFD_MMAP_TYPE_SHIFT)
#define VKFD_MMAP_TYPE_MMIO		(0ull << VKFD_MMAP_TYPE_SHIFT)
#define VKFD_MMAP_GPU_ID_SHIFT		46
#define VKFD_MMAP_GPU_ID(gpu_id)	(((u64)(gpu_id) & 0xffff) << VKFD_MMAP_GPU_ID_SHIFT)
#define VKFD_MMAP_GET_GPU_ID(offset)	(((u64)(offset) >> VKFD_MMAP_GPU_ID_SHIFT) & 0xffff)

/*
 * Registers the character device (and the process table). The device node appears
 * when the topology creates the class device "kfd" with vkfd_chardev_devt().
 */
int vkfd_chardev_init(void);
void vkfd_chardev_exit(void);
/* Its number, valid between init and exit. */
dev_t vkfd_chardev_devt(void);

/*
 * After drm_dev_unplug() of the GPU: takes its doorbells and registers out of all
 * mappings of /dev/kfd. The next access faults again, and then gets SIGBUS.
 */
void vkfd_chardev_revoke(u32 gpu_id);
/* Takes [@offset, @offset + @len) out of all mappings of /dev/kfd; the next access faults. */
void vkfd_chardev_unmap(u64 offset, u64 len);

#endif /* VKFD_CHARDEV_H */
