// SPDX-License-Identifier: MIT
/*
 * One page of user memory registered many times, at many addresses of the GPU: all of them
 * are the page, and it stays one until the last of them is gone.
 */
#include <sys/mman.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "raw.h"
#include "tap.h"

#define LONG_MS		60000u
#define TIMES		24u

int main(void)
{
	const uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			       KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	uint64_t handle[TIMES] = { 0 }, bad = 0;
	volatile uint64_t *page, *at;
	struct raw_queue q;
	struct raw_proc r;
	unsigned int i;
	char *va;

	tap_begin(300);
	raw_open(&r, 1);
	if (raw_queue_create(&q, &r, KFD_IOC_QUEUE_TYPE_COMPUTE))
		tap_bail("no queue");
	page = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		tap_bail("mmap: %m");
	va = kfd_reserve_va(TIMES * GPU_PAGE);
	for (i = 0; i < TIMES; i++) {
		struct kfd_ioctl_alloc_memory_of_gpu_args a = {
			.va_addr = gpu_va(va + i * GPU_PAGE),
			.size = GPU_PAGE,
			.gpu_id = r.p.gpu_id,
			.flags = flags,
			.mmap_offset = (uintptr_t)page,
		};

		bad += kfd_call(r.p.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a) != 0 ||
		       kfd_map(&r.p, a.handle) != 0;
		handle[i] = a.handle;
	}
	tap_is((int64_t)bad, 0, "a page is registered and mapped %u times", TIMES);
	for (i = 0; i < TIMES; i++) {
		/* Every second one goes before it is written through the others. */
		if (i % 2)
			bad += kfd_unmap(&r.p, handle[i]) || kfd_free(&r.p, handle[i]);
	}
	tap_is((int64_t)bad, 0, "half of them go");
	for (i = 0; i < TIMES; i += 2) {
		at = (uint64_t *)(va + i * GPU_PAGE) + i;
		raw_put_write(&q, at, 1000 + i);
		raw_submit(&q);
		bad += !wait_word(&page[i], 1000 + i, LONG_MS);
	}
	tap_is((int64_t)bad, 0, "the GPU reaches the page by each of the others");
	for (i = 0; i < TIMES; i += 2) {
		raw_put_write(&q, (uint64_t *)(va + (TIMES - 2) * GPU_PAGE), i);
		raw_submit(&q);
		bad += !wait_word(&page[0], i, LONG_MS);
		bad += kfd_unmap(&r.p, handle[i]) || kfd_free(&r.p, handle[i]);
	}
	tap_is((int64_t)bad, 0, "until the last one goes");
	raw_close(&r);
	return tap_done();
}
