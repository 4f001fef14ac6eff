// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd.h"
#include "queue_bench.h"
#include "vkfd/doorbell.h"

#define RING_BYTES	1024u
/* Write and read pointer: a line of their own. */
#define POINTER_WORDS	8u

static bool failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(err));
	return false;
}

bool pool_open(struct pool *p, const struct gpu *g)
{
	memset(p, 0, sizeof(*p));
	p->gpu_id = g->props.KFDGpuID;
	p->kfd = kfd_open();
	p->pointers = mem_alloc(g, MEM_SYSTEM, POOL_MAX * POINTER_WORDS * sizeof(uint64_t));
	p->rings = mem_alloc(g, MEM_SYSTEM, POOL_MAX * RING_BYTES);
	return (p->pointers && p->rings) || failed("queues", ENOMEM);
}

static bool add(struct pool *p)
{
	uint64_t *pointers = p->pointers + p->n * POINTER_WORDS;
	struct queue *q = &p->q[p->n];
	struct kfd_ioctl_create_queue_args c = {
		.ring_base_address = gpu_va(p->rings + p->n * (RING_BYTES / 4)),
		.ring_size = RING_BYTES,
		.write_pointer_address = gpu_va(pointers),
		.read_pointer_address = gpu_va(pointers + 1),
		.gpu_id = p->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	uint64_t in_slice = VKFD_DOORBELL_SLICE_SIZE - 1;
	int err;

	pointers[0] = pointers[1] = 0;
	err = kfd_call(p->kfd, AMDKFD_IOC_CREATE_QUEUE, &c);
	if (err)
		return failed("CREATE_QUEUE", -err);
	p->id[p->n++] = c.queue_id;
	if (!p->doorbell) {
		void *map = mmap(NULL, VKFD_DOORBELL_SLICE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				 p->kfd, (off_t)(c.doorbell_offset & ~in_slice));

		if (map == MAP_FAILED)
			return failed("doorbells", errno);
		p->doorbell = map;
	}
	*q = (struct queue) { .ring = p->rings + (p->n - 1) * (RING_BYTES / 4),
			      .ring_dw = RING_BYTES / 4 };
	q->res.Queue_write_ptr_aql = pointers;
	q->res.Queue_read_ptr_aql = pointers + 1;
	q->res.Queue_DoorBell_aql =
		(HSAuint64 *)(uintptr_t)(p->doorbell + (c.doorbell_offset & in_slice) / 8);
	return true;
}

bool pool_resize(struct pool *p, unsigned int n)
{
	while (p->n < n)
		if (!add(p))
			return false;
	while (p->n > n) {
		struct kfd_ioctl_destroy_queue_args d = { .queue_id = p->id[p->n - 1] };
		int err = kfd_call(p->kfd, AMDKFD_IOC_DESTROY_QUEUE, &d);

		if (err)
			return failed("DESTROY_QUEUE", -err);
		p->n--;
	}
	return true;
}
