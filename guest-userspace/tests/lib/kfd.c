// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd.h"
#include "tap.h"

#define NODES "/sys/devices/virtual/kfd/kfd/topology/nodes"

int kfd_open(void)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		tap_bail("/dev/kfd: %m");
	return fd;
}

int kfd_call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

unsigned long kfd_resized(unsigned long request, unsigned int size)
{
	return (request & ~((unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
	       ((unsigned long)size << _IOC_SIZESHIFT);
}

static int node_minor(unsigned int node)
{
	char path[128], key[64];
	unsigned long long value;
	int minor = -1;
	FILE *f;

	snprintf(path, sizeof(path), NODES "/%u/properties", node);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fscanf(f, "%63s %llu\n", key, &value) == 2) {
		if (!__builtin_strcmp(key, "drm_render_minor"))
			minor = (int)value;
	}
	fclose(f);
	return minor;
}

uint32_t kfd_gpu_id_nth(unsigned int which, int *render_minor)
{
	unsigned int node;
	char path[128];
	uint32_t id;
	FILE *f;
	int n;

	for (node = 0;; node++) {
		snprintf(path, sizeof(path), NODES "/%u/gpu_id", node);
		f = fopen(path, "r");
		if (!f)
			return 0;
		n = fscanf(f, "%u", &id);
		fclose(f);
		if (n == 1 && id && !which--) {
			if (render_minor)
				*render_minor = node_minor(node);
			return id;
		}
	}
}

uint32_t kfd_gpu_id(int *render_minor)
{
	return kfd_gpu_id_nth(0, render_minor);
}

void kfd_proc_open_nth(struct kfd_proc *p, unsigned int which)
{
	struct kfd_ioctl_acquire_vm_args acquire = { 0 };
	char path[64];
	int minor = -1;
	int r;

	p->kfd = kfd_open();
	p->gpu_id = kfd_gpu_id_nth(which, &minor);
	if (!p->gpu_id)
		tap_bail("no GPU %u in the topology", which);
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	p->render = open(path, O_RDWR | O_CLOEXEC);
	if (p->render < 0)
		tap_bail("%s: %m", path);
	acquire.drm_fd = (uint32_t)p->render;
	acquire.gpu_id = p->gpu_id;
	r = kfd_call(p->kfd, AMDKFD_IOC_ACQUIRE_VM, &acquire);
	if (r)
		tap_bail("ACQUIRE_VM: errno %d", -r);
}

void kfd_proc_open(struct kfd_proc *p)
{
	kfd_proc_open_nth(p, 0);
}

void kfd_proc_close(struct kfd_proc *p)
{
	close(p->kfd);
	close(p->render);
}

int kfd_alloc(const struct kfd_proc *p, uint64_t va, uint64_t size, uint32_t flags,
	      uint64_t *handle, uint64_t *mmap_offset)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.va_addr = va,
		.size = size,
		.gpu_id = p->gpu_id,
		.flags = flags,
		/* For userptr memory this is the CPU address, here the same as the GPU's. */
		.mmap_offset = flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ? va : 0,
	};
	int r = kfd_call(p->kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a);

	if (!r) {
		*handle = a.handle;
		if (mmap_offset)
			*mmap_offset = a.mmap_offset;
	}
	return r;
}

int kfd_map(const struct kfd_proc *p, uint64_t handle)
{
	uint32_t id = p->gpu_id;
	struct kfd_ioctl_map_memory_to_gpu_args a = {
		.handle = handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&id,
		.n_devices = 1,
	};
	int r = kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &a);

	if (!r && a.n_success != 1)
		tap_bail("MAP succeeded on %u devices of 1", a.n_success);
	return r;
}

int kfd_unmap(const struct kfd_proc *p, uint64_t handle)
{
	uint32_t id = p->gpu_id;
	struct kfd_ioctl_unmap_memory_from_gpu_args a = {
		.handle = handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&id,
		.n_devices = 1,
	};

	return kfd_call(p->kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &a);
}

int kfd_free(const struct kfd_proc *p, uint64_t handle)
{
	struct kfd_ioctl_free_memory_of_gpu_args a = { .handle = handle };

	return kfd_call(p->kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &a);
}

void *kfd_reserve_va(size_t size)
{
	void *va = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (va == MAP_FAILED)
		tap_bail("no address space for %zu bytes", size);
	return va;
}
