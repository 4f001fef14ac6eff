// SPDX-License-Identifier: MIT
#include <string.h>
#include <sys/mman.h>

#include "gpu.h"
#include "pm4.h"
#include "queue.h"
#include "raw_queue.h"
#include "sdma.h"
#include "tap.h"

#define RING		1024u
#define WORDS		32u	/* bytes: write pointer, read pointer, word */
#define SLICE		0x2000u	/* of doorbells */
#define ROUND_UP(n)	(((n) + GPU_PAGE - 1) & ~(GPU_PAGE - 1))
#define HEAD		ROUND_UP(RAW_QUEUES * WORDS)
#define BYTES		(HEAD + ROUND_UP(RAW_QUEUES * RING))

static volatile uint64_t *words(struct raw_queues *r, unsigned int i)
{
	return (volatile uint64_t *)(r->mem + (size_t)i * WORDS);
}

void raw_open(struct raw_queues *r)
{
	uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	uint64_t handle, offset;

	memset(r, 0, sizeof(*r));
	kfd_proc_open(&r->p);
	r->mem = kfd_reserve_va(BYTES);
	if (kfd_alloc(&r->p, gpu_va(r->mem), BYTES, flags, &handle, &offset) ||
	    mmap(r->mem, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->p.render,
		 (off_t)offset) == MAP_FAILED || kfd_map(&r->p, handle))
		tap_bail("no memory");
}

void raw_close(struct raw_queues *r)
{
	kfd_proc_close(&r->p);
}

int raw_create(struct raw_queues *r, uint32_t type)
{
	/* Beyond the last it is only to be refused; the addresses of the last one will do. */
	unsigned int at = r->n < RAW_QUEUES ? r->n : RAW_QUEUES - 1;
	struct kfd_ioctl_create_queue_args c = {
		.ring_base_address = gpu_va(r->mem + HEAD + (size_t)at * RING),
		.ring_size = RING,
		.write_pointer_address = gpu_va(words(r, at)),
		.read_pointer_address = gpu_va(words(r, at) + 1),
		.gpu_id = r->p.gpu_id,
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	int err = kfd_call(r->p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c);

	if (err)
		return err;
	if (r->n == RAW_QUEUES)
		tap_bail("more queues than a process may have");
	if (!r->doorbell) {
		void *map = mmap(NULL, SLICE, PROT_READ | PROT_WRITE, MAP_SHARED, r->p.kfd,
				 (off_t)(c.doorbell_offset & ~(SLICE - 1ull)));

		if (map == MAP_FAILED)
			tap_bail("doorbells: %m");
		r->doorbell = map;
	}
	r->id[r->n] = c.queue_id;
	r->slot[r->n] = (uint32_t)(c.doorbell_offset & (SLICE - 1)) / 8;
	r->sdma[r->n] = type != KFD_IOC_QUEUE_TYPE_COMPUTE;
	r->n++;
	return 0;
}

int raw_destroy(struct raw_queues *r, unsigned int i)
{
	struct kfd_ioctl_destroy_queue_args d = { .queue_id = r->id[i] };

	return kfd_call(r->p.kfd, AMDKFD_IOC_DESTROY_QUEUE, &d);
}

void raw_submit(struct raw_queues *r, unsigned int i, uint32_t value)
{
	uint32_t *ring = (uint32_t *)(r->mem + HEAD + (size_t)i * RING);
	volatile uint64_t *w = words(r, i);
	uint32_t *p = ring + (r->sdma[i] ? w[0] / 4 : w[0]) % (RING / 4);
	uint64_t wptr;

	if (r->sdma[i])
		wptr = w[0] + (uint64_t)(sdma_write32(p, gpu_va(&w[2]), value) - p) * 4;
	else
		wptr = w[0] + (uint64_t)(pm4_write64(p, gpu_va(&w[2]), value) - p);
	/* Release: ring data before the write pointer that makes it valid. */
	__atomic_store_n(&w[0], wptr, __ATOMIC_RELEASE);
	/* The doorbell page is device memory: a full fence orders it behind the rest. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r->doorbell[r->slot[i]] = wptr;
}

bool raw_wait(struct raw_queues *r, unsigned int i, uint32_t value, unsigned int ms)
{
	return wait_word(&words(r, i)[2], value, ms);
}

unsigned int raw_all_run(struct raw_queues *r, uint32_t value, unsigned int ms)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < r->n; i++)
		raw_submit(r, i, value + i);
	for (i = 0; i < r->n; i++)
		wrong += !raw_wait(r, i, value + i, ms);
	return wrong;
}
