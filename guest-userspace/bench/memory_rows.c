// SPDX-License-Identifier: MIT
/*
 * What memory costs before anything uses it: mapping and unmapping memory of the GPU, and
 * registering user memory, by ioctl. A sample is one call, or the two that the thunk makes
 * to register; what undoes it is not in it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "memory_bench.h"

static bool call(struct bench *b, unsigned long request, void *arg, const char *name)
{
	int err = kfd_call(b->kfd, request, arg);

	if (err)
		fprintf(stderr, "bench_memory: %s: %s\n", name, strerror(-err));
	return !err;
}

static bool map(struct bench *b)
{
	struct kfd_ioctl_map_memory_to_gpu_args a = {
		.handle = b->handle,
		.device_ids_array_ptr = (uintptr_t)&b->gpu_id,
		.n_devices = 1,
	};

	return call(b, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &a, "MAP_MEMORY_TO_GPU");
}

static bool unmap(struct bench *b)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args a = {
		.handle = b->handle,
		.device_ids_array_ptr = (uintptr_t)&b->gpu_id,
		.n_devices = 1,
	};

	return call(b, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &a, "UNMAP_MEMORY_FROM_GPU");
}

static bool alloc(struct bench *b, uint32_t flags, const void *user)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.va_addr = gpu_va(b->va),
		.size = b->size,
		.gpu_id = b->gpu_id,
		.flags = flags | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE,
		.mmap_offset = (uintptr_t)user,
	};

	if (!call(b, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a, "ALLOC_MEMORY_OF_GPU"))
		return false;
	b->handle = a.handle;
	return true;
}

static bool release(struct bench *b)
{
	struct kfd_ioctl_free_memory_of_gpu_args a = { .handle = b->handle };

	return call(b, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &a, "FREE_MEMORY_OF_GPU");
}

static bool begin(struct bench *b, const struct row *r)
{
	b->size = (size_t)r->n << 10;
	b->va = kfd_reserve_va(b->size);
	return true;
}

bool map_begin(struct bench *b, const struct row *r)
{
	return begin(b, r) && alloc(b, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, NULL);
}

bool map_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	stopwatch_start(w);
	ok = map(b);
	stopwatch_stop(w);
	return ok && unmap(b);
}

bool unmap_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	if (!map(b))
		return false;
	stopwatch_start(w);
	ok = unmap(b);
	stopwatch_stop(w);
	return ok;
}

bool map_end(struct bench *b, const struct row *r)
{
	(void)r;
	return release(b) && !munmap(b->va, b->size);
}

/* Memory that is there, as of a program that has worked with it. */
bool register_begin(struct bench *b, const struct row *r)
{
	if (!begin(b, r))
		return false;
	b->mem = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return b->mem != MAP_FAILED;
}

bool register_mem(struct bench *b)
{
	return alloc(b, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, b->mem) && map(b);
}

bool unregister_mem(struct bench *b)
{
	return unmap(b) && release(b);
}

bool register_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	stopwatch_start(w);
	ok = register_mem(b);
	stopwatch_stop(w);
	return ok && unregister_mem(b);
}

bool unregister_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	if (!register_mem(b))
		return false;
	stopwatch_start(w);
	ok = unregister_mem(b);
	stopwatch_stop(w);
	return ok;
}

bool populate_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok;

	(void)r;
	if (madvise(b->mem, b->size, MADV_DONTNEED))
		return false;
	stopwatch_start(w);
	ok = !madvise(b->mem, b->size, MADV_POPULATE_WRITE);
	stopwatch_stop(w);
	return ok;
}

bool register_end(struct bench *b, const struct row *r)
{
	(void)r;
	return !munmap(b->mem, b->size) && !munmap(b->va, b->size);
}
