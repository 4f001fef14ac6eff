// SPDX-License-Identifier: MIT
/*
 * Errno of wrong memory and queue ioctls; nothing may be changed or leaked by
 * them, which the amount of available memory shows. Raw ioctls.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd.h"
#include "tap.h"

#define VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
		 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
		 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT)
#define MIB	(1ull << 20)
/* Nothing of the process lives there; far below the end of user addresses. */
#define FREE_VA		(1ull << 40)
#define KERNEL_ADDRESS	0xffff888000000000ull
/* What upstream returns for a queue type it does not know: ENOTSUPP of the kernel. */
#define KERNEL_ENOTSUPP	524

static uint64_t available(const struct kfd_proc *p)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = p->gpu_id };

	if (kfd_call(p->kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY failed");
	return a.available;
}

static void test_alloc(struct kfd_proc *p, uint64_t va)
{
	struct kfd_proc wrong = *p;
	uint64_t before = available(p);
	uint64_t handle = 0;

	wrong.gpu_id ^= 1;
	tap_is(kfd_alloc(p, va, 0, VRAM, &handle, NULL), -EINVAL, "ALLOC of 0 bytes");
	tap_is(kfd_alloc(&wrong, va, 4096, VRAM, &handle, NULL), -EINVAL, "ALLOC on an unknown GPU");
	tap_is(kfd_alloc(p, va, 4096, KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE, &handle, NULL), -EINVAL,
	       "ALLOC of no kind of memory");
	tap_is(kfd_alloc(p, va, 4096, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | (1u << 31), &handle, NULL),
	       -EINVAL, "ALLOC of half the doorbells");
	tap_is(kfd_alloc(p, va, 8192, KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | (1u << 31), &handle, NULL),
	       -EINVAL, "ALLOC of two MMIO pages");
	tap_is(kfd_alloc(p, 0, 4096, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | (1u << 31), &handle, NULL),
	       -EINVAL, "ALLOC of user memory at address 0");
	tap_ok(kfd_alloc(p, va, 4096, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | (1u << 31), &handle, NULL) < 0,
	       "ALLOC of user memory that nobody may touch");
	tap_is(kfd_alloc(p, FREE_VA, 1ull << 46, VRAM, &handle, NULL), -ENOMEM, "ALLOC of 64 TiB of VRAM");
	tap_is(kfd_alloc(p, FREE_VA, before + 256 * MIB, VRAM, &handle, NULL), -ENOMEM,
	       "ALLOC of more VRAM than there is");
	tap_is((int64_t)handle, 0, "no handle was given out");
	tap_is((int64_t)available(p), (int64_t)before, "no memory is gone");
}

static void test_map(struct kfd_proc *p, uint64_t va)
{
	struct kfd_ioctl_map_memory_to_gpu_args m = { 0 };
	struct kfd_ioctl_free_memory_of_gpu_args f = { 0 };
	uint32_t ids[2] = { p->gpu_id, p->gpu_id ^ 1 };
	uint64_t handle, before = available(p);

	if (!tap_is(kfd_alloc(p, va, 65536, VRAM, &handle, NULL), 0, "ALLOC of 64 KiB of VRAM"))
		return;
	tap_ok(available(p) <= before - 65536, "less memory is available");
	m.handle = handle;
	m.device_ids_array_ptr = (uint64_t)(uintptr_t)ids;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m), -EINVAL, "MAP on no device");
	m.n_devices = 1;
	m.n_success = 2;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m), -EINVAL,
	       "MAP with more successes than devices");
	m.n_success = 0;
	m.device_ids_array_ptr = 16;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m), -EFAULT, "MAP with a bad pointer");
	m.n_devices = 0xffffffff;
	tap_ok(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m) < 0, "MAP on 2^32 - 1 devices");
	m.device_ids_array_ptr = (uint64_t)(uintptr_t)ids;
	m.n_devices = 2;
	m.n_success = 0;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m), -EINVAL, "MAP on a GPU and an unknown one");
	tap_is(m.n_success, 1, "tells that the first succeeded, although the call failed");
	m.n_devices = 1;
	m.n_success = 0;
	m.handle = handle ^ 0x8000;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m), -ENOMEM, "MAP of an unknown handle");
	m.handle = handle ^ (1ull << 32);
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m), -EINVAL, "MAP of a handle of no GPU");

	tap_is(kfd_map(p, handle), 0, "MAP again of what is mapped");
	tap_is(kfd_free(p, handle), -EBUSY, "FREE of mapped memory");
	tap_is(kfd_unmap(p, handle), 0, "UNMAP");
	tap_is(kfd_unmap(p, handle), -EINVAL, "UNMAP of what is not mapped");
	tap_is(kfd_free(p, handle), 0, "FREE");
	tap_is(kfd_free(p, handle), -EINVAL, "FREE again");
	f.handle = 0;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &f), -EINVAL, "FREE of handle 0");
	tap_is((int64_t)available(p), (int64_t)before, "all memory is back");
}

static void test_huge(struct kfd_proc *p)
{
	uint64_t handle = 0, before = available(p);
	unsigned int i, failed = 0;

	/* A hundred refusals must not do the work of a success each. */
	for (i = 0; i < 100; i++)
		failed += kfd_alloc(p, FREE_VA, 64ull << 30, i & 1 ? VRAM : GTT, &handle, NULL) == -ENOMEM;
	tap_is(failed, 100, "64 GiB are refused, a hundred times");
	tap_is((int64_t)available(p), (int64_t)before, "and cost nothing");
}

static int create_queue(const struct kfd_proc *p, struct kfd_ioctl_create_queue_args args)
{
	int r = kfd_call(p->kfd, AMDKFD_IOC_CREATE_QUEUE, &args);
	struct kfd_ioctl_destroy_queue_args d = { .queue_id = args.queue_id };

	if (!r)
		kfd_call(p->kfd, AMDKFD_IOC_DESTROY_QUEUE, &d);
	return r;
}

static void test_queue(struct kfd_proc *p, uint64_t va)
{
	struct kfd_ioctl_create_queue_args good = {
		.ring_base_address = va,
		.write_pointer_address = va + 4096,
		.read_pointer_address = va + 4104,
		.ring_size = 4096,
		.gpu_id = p->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	struct kfd_ioctl_create_queue_args c;
	struct kfd_ioctl_update_queue_args u = { .queue_id = 77, .ring_base_address = va,
						 .ring_size = 4096, .queue_percentage = 100 };
	struct kfd_ioctl_destroy_queue_args d = { .queue_id = 77 };
	struct kfd_ioctl_set_cu_mask_args m = { .queue_id = 77, .num_cu_mask = 32 };
	uint32_t mask = ~0u;

	c = good;
	c.queue_percentage = 101;
	tap_is(create_queue(p, c), -EINVAL, "CREATE_QUEUE with 101 percent");
	c = good;
	c.queue_priority = 16;
	tap_is(create_queue(p, c), -EINVAL, "with priority 16");
	c = good;
	c.ring_size = 4100;
	tap_is(create_queue(p, c), -EINVAL, "with a ring of 4100 bytes");
	c = good;
	c.gpu_id ^= 1;
	tap_is(create_queue(p, c), -EINVAL, "on an unknown GPU");
	c = good;
	c.queue_type = 99;
	tap_is(create_queue(p, c), -KERNEL_ENOTSUPP, "of type 99");
	c = good;
	c.ring_base_address = KERNEL_ADDRESS;
	tap_is(create_queue(p, c), -EFAULT, "with the ring in the kernel");
	c = good;
	c.write_pointer_address = KERNEL_ADDRESS;
	tap_is(create_queue(p, c), -EFAULT, "with the write pointer in the kernel");
	c = good;
	c.read_pointer_address = KERNEL_ADDRESS;
	tap_is(create_queue(p, c), -EFAULT, "with the read pointer in the kernel");

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_DESTROY_QUEUE, &d), -EINVAL, "DESTROY_QUEUE of an unknown id");
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_UPDATE_QUEUE, &u), -EFAULT, "UPDATE_QUEUE of an unknown id");
	u.queue_percentage = 101;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_UPDATE_QUEUE, &u), -EINVAL, "UPDATE_QUEUE to 101 percent");
	m.cu_mask_ptr = (uint64_t)(uintptr_t)&mask;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_CU_MASK, &m), -EFAULT, "SET_CU_MASK of an unknown queue");
	m.num_cu_mask = 33;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_CU_MASK, &m), -EINVAL, "SET_CU_MASK of 33 bits");
	m.num_cu_mask = 0;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_CU_MASK, &m), -EINVAL, "SET_CU_MASK of no bits");
	m.num_cu_mask = 32;
	m.cu_mask_ptr = 16;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_CU_MASK, &m), -EFAULT, "SET_CU_MASK from a bad pointer");
}

static void no_vm(void *arg)
{
	struct kfd_proc p = { .kfd = kfd_open(), .gpu_id = kfd_gpu_id(NULL) };
	uint64_t handle = 0;

	(void)arg;
	tap_is(kfd_alloc(&p, 0x100000, 4096, VRAM, &handle, NULL), -ENODEV,
	       "ALLOC before ACQUIRE_VM");
}

int main(void)
{
	struct kfd_proc p;
	uint64_t va;

	tap_begin(300);
	tap_child("no VM", no_vm, NULL);
	kfd_proc_open(&p);
	va = (uint64_t)(uintptr_t)kfd_reserve_va(1 << 20);
	test_alloc(&p, va);
	test_map(&p, va);
	test_huge(&p);
	test_queue(&p, va);
	kfd_proc_close(&p);
	return tap_done();
}
