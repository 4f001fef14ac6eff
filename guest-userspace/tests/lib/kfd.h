/* SPDX-License-Identifier: MIT */
/*
 * KFD without a thunk: ioctls on a file descriptor, with the errno as result.
 */
#ifndef VKFD_TEST_KFD_H
#define VKFD_TEST_KFD_H

#include <stddef.h>
#include <stdint.h>

#include <linux/kfd_ioctl.h>

/* An fd for /dev/kfd; ends the program when it cannot be opened. */
int kfd_open(void);

/* One ioctl: 0, or the negative errno. Restarts nothing. */
int kfd_call(int fd, unsigned long request, void *arg);

/* The same request with another size in its size field. */
unsigned long kfd_resized(unsigned long request, unsigned int size);

/* gpu_id of the first GPU in sysfs, and its render minor; 0 when there is none. */
uint32_t kfd_gpu_id(int *render_minor);
/* The same of GPU @which, counted from 0. */
uint32_t kfd_gpu_id_nth(unsigned int which, int *render_minor);

/**
 * struct kfd_proc - this process as KFD knows it, set up by hand
 * @kfd: fd of /dev/kfd
 * @render: fd of the render node, given to ACQUIRE_VM
 * @gpu_id: the GPU, the first one if not asked otherwise
 */
struct kfd_proc {
	int kfd;
	int render;
	uint32_t gpu_id;
};

/* Opens both nodes and acquires the VM; ends the program on failure. */
void kfd_proc_open(struct kfd_proc *p);
void kfd_proc_open_nth(struct kfd_proc *p, unsigned int which);
void kfd_proc_close(struct kfd_proc *p);

/*
 * Allocates @size bytes with KFD_IOC_ALLOC_MEM_FLAGS_* @flags at @va: 0 or the
 * negative errno. @handle and @mmap_offset are set on success.
 */
int kfd_alloc(const struct kfd_proc *p, uint64_t va, uint64_t size, uint32_t flags,
	      uint64_t *handle, uint64_t *mmap_offset);
int kfd_map(const struct kfd_proc *p, uint64_t handle);
int kfd_unmap(const struct kfd_proc *p, uint64_t handle);
int kfd_free(const struct kfd_proc *p, uint64_t handle);

/* Reserves address space of @size bytes for GPU addresses; ends the program on failure. */
void *kfd_reserve_va(size_t size);

#endif /* VKFD_TEST_KFD_H */
