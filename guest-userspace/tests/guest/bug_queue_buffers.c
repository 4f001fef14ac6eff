// SPDX-License-Identifier: MIT
/*
 * Known bugs of queue creation: buffers that are not there. docs/known-bugs-coverage.md
 * says what the numbers mean. Mutation it was seen to fail with: check_buffers() says yes
 * to everything.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd.h"
#include "tap.h"

#define PAGE		4096ull
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
		 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | \
		 KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED)

enum part { RING, WPTR, RPTR, EOP, SAVE, PARTS };

static const struct {
	const char *name;
	size_t field;
} part[PARTS] = {
	[RING] = { "ring", offsetof(struct kfd_ioctl_create_queue_args, ring_base_address) },
	[WPTR] = { "write pointer", offsetof(struct kfd_ioctl_create_queue_args, write_pointer_address) },
	[RPTR] = { "read pointer", offsetof(struct kfd_ioctl_create_queue_args, read_pointer_address) },
	[EOP] = { "end-of-pipe buffer", offsetof(struct kfd_ioctl_create_queue_args, eop_buffer_address) },
	[SAVE] = { "save area", offsetof(struct kfd_ioctl_create_queue_args, ctx_save_restore_address) },
};

static struct kfd_proc p;

/* A page of its own, mapped to the GPU. */
static uint64_t buffer(uint64_t *handle)
{
	void *va = kfd_reserve_va(PAGE);
	uint64_t offset;

	if (kfd_alloc(&p, (uintptr_t)va, PAGE, GTT, handle, &offset) || kfd_map(&p, *handle))
		tap_bail("no buffer");
	return (uintptr_t)va;
}

static int create(struct kfd_ioctl_create_queue_args a, enum part which, uint64_t va)
{
	struct kfd_ioctl_destroy_queue_args d;
	int r;

	if (which < PARTS)
		memcpy((char *)&a + part[which].field, &va, sizeof(va));
	if (which == SAVE) {
		a.ctx_save_restore_size = 0x155000;
		a.ctl_stack_size = 0x1000;
	}
	r = kfd_call(p.kfd, AMDKFD_IOC_CREATE_QUEUE, &a);
	if (!r) {
		d = (struct kfd_ioctl_destroy_queue_args){ .queue_id = a.queue_id };
		kfd_call(p.kfd, AMDKFD_IOC_DESTROY_QUEUE, &d);
	}
	return r;
}

int main(void)
{
	struct kfd_ioctl_create_queue_args good;
	uint64_t handle[4], unmapped, never;
	unsigned int i;

	tap_begin(120);
	kfd_proc_open(&p);
	good = (struct kfd_ioctl_create_queue_args){
		.ring_base_address = buffer(&handle[0]),
		.ring_size = PAGE,
		.write_pointer_address = buffer(&handle[1]),
		.read_pointer_address = buffer(&handle[2]),
		.eop_buffer_address = buffer(&handle[3]),
		.eop_buffer_size = PAGE,
		.gpu_id = p.gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	tap_is(create(good, PARTS, 0), 0, "bug 41: a queue with good buffers");
	/* Memory of the process that the GPU was never given; an address nobody has. */
	unmapped = (uintptr_t)mmap(NULL, 0x200000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	never = (uintptr_t)kfd_reserve_va(0x200000);
	for (i = 0; i < PARTS; i++) {
		tap_is(create(good, i, unmapped), -EINVAL, "bug 41: %s in memory the GPU does not have",
		       part[i].name);
		tap_is(create(good, i, never), -EINVAL, "bug 41: %s at no memory", part[i].name);
	}
	tap_ok(create(good, RING, 0) < 0, "bug 41: no ring at all");
	tap_ok(create(good, WPTR, 0) < 0, "bug 41: no write pointer");
	tap_ok(create(good, RPTR, 0) < 0, "bug 41: no read pointer");
	for (i = 0; i < 4; i++) {
		if (kfd_unmap(&p, handle[i]))
			tap_bail("unmap");
		tap_is(create(good, PARTS, 0), -EINVAL, "bug 41: %s that was unmapped", part[i].name);
		if (kfd_map(&p, handle[i]))
			tap_bail("map");
	}
	tap_is(create(good, PARTS, 0), 0, "bug 41: the good ones are still good");
	kfd_proc_close(&p);
	return tap_done();
}
