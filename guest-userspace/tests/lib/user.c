// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counters.h"
#include "gpu.h"
#include "queue.h"
#include "tap.h"
#include "user.h"

#define LONG_MS		60000u
/* In the first page of a queue, behind what raw.c has there. */
#define BOUNCE_AT	3072u
#define SLICE		0x2000u	/* of doorbells */

void user_open(struct user *u)
{
	memset(u, 0, sizeof(*u));
	raw_open(&u->r, 4);
	if (raw_queue_create(&u->pm4, &u->r, KFD_IOC_QUEUE_TYPE_COMPUTE) ||
	    raw_queue_create(&u->sdma, &u->r, KFD_IOC_QUEUE_TYPE_SDMA))
		tap_bail("no queues");
	u->bounce = (volatile uint64_t *)(u->r.mem + BOUNCE_AT);
}

void user_close(struct user *u)
{
	raw_queue_destroy(&u->pm4);
	raw_queue_destroy(&u->sdma);
	raw_close(&u->r);
}

void *user_pages(size_t size)
{
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		tap_bail("mmap: %m");
	memset(mem, 0x5a, size);
	return mem;
}

int range_try(struct range *g, const struct user *u, void *cpu, size_t size, uint32_t flags)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.size = size,
		.gpu_id = u->r.p.gpu_id,
		.flags = flags,
		.mmap_offset = (uintptr_t)cpu,
	};
	int r;

	g->cpu = cpu;
	g->gpu = kfd_reserve_va(size);
	g->size = size;
	a.va_addr = gpu_va(g->gpu);
	r = kfd_call(u->r.p.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a);
	g->handle = a.handle;
	if (r)
		munmap(g->gpu, size);
	return r;
}

void range_register(struct range *g, const struct user *u, void *cpu, size_t size)
{
	int r = range_try(g, u, cpu, size, USER_FLAGS);

	if (r)
		tap_bail("%zu bytes are not registered: errno %d", size, -r);
}

void range_map(struct range *g, const struct user *u, void *cpu, size_t size)
{
	int r;

	range_register(g, u, cpu, size);
	r = kfd_map(&u->r.p, g->handle);
	if (r)
		tap_bail("%zu bytes are not mapped: errno %d", size, -r);
}

void range_free(struct range *g, const struct user *u)
{
	int r = kfd_unmap(&u->r.p, g->handle);

	r = r ? r : kfd_free(&u->r.p, g->handle);
	if (r)
		tap_bail("a range is not freed: errno %d", -r);
	munmap(g->gpu, g->size);
}

void range_queue(struct raw_queue *q, struct user *u, const struct range *g)
{
	struct kfd_ioctl_create_queue_args c = {
		.ring_base_address = gpu_va(g->gpu + GPU_PAGE),
		.ring_size = RAW_RING_BYTES,
		.write_pointer_address = gpu_va(g->gpu),
		.read_pointer_address = gpu_va(g->gpu + 8),
		.gpu_id = u->r.p.gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE,
		.queue_percentage = 100,
		.queue_priority = 7,
	};

	memset(g->cpu, 0, GPU_PAGE + RAW_RING_BYTES);
	*q = (struct raw_queue) {
		.r = &u->r,
		.type = c.queue_type,
		.ring = (uint32_t *)(g->cpu + GPU_PAGE),
		.wptr = range_cpu(g, 0),
		.rptr = range_cpu(g, 8),
	};
	if (kfd_call(u->r.p.kfd, AMDKFD_IOC_CREATE_QUEUE, &c))
		tap_bail("no queue in registered memory");
	q->id = c.queue_id;
	q->slot = (uint32_t)(c.doorbell_offset % SLICE / 8);
}

void user_store_async(struct user *u, volatile uint64_t *gpu, uint64_t value)
{
	raw_put_write(&u->pm4, gpu, value);
	raw_put_write(&u->pm4, u->pm4.word, ++u->seq);
	raw_submit(&u->pm4);
}

void user_load_async(struct user *u, volatile uint64_t *gpu)
{
	raw_put_copy(&u->sdma, u->bounce, gpu, sizeof(*gpu));
	raw_put_write(&u->sdma, u->sdma.word, ++u->seq);
	raw_submit(&u->sdma);
}

bool user_store(struct user *u, volatile uint64_t *gpu, uint64_t value)
{
	user_store_async(u, gpu, value);
	return wait_word(u->pm4.word, u->seq, LONG_MS);
}

bool user_load(struct user *u, volatile uint64_t *gpu, uint64_t *value)
{
	user_load_async(u, gpu);
	if (!wait_word(u->sdma.word, u->seq, LONG_MS))
		return false;
	*value = *u->bounce;
	return true;
}

bool user_sees(struct user *u, const struct range *g, size_t offset, uint64_t want)
{
	uint64_t value;

	if (!user_load(u, range_gpu(g, offset), &value)) {
		tap_diag("a load of the GPU does not end");
		return false;
	}
	if (value != want)
		tap_diag("the GPU loads 0x%llx, not 0x%llx", (unsigned long long)value,
			 (unsigned long long)want);
	return value == want;
}

static const char *counters(char *path, size_t size)
{
	snprintf(path, size, "proc/%d/userptr", (int)getpid());
	return path;
}

int64_t user_counter(const char *name)
{
	char path[64];

	return kfd_counter(counters(path, sizeof(path)), name);
}

bool user_settle(void)
{
	char path[64];

	return !kfd_counter_settle(counters(path, sizeof(path)), "evicted", 0, LONG_MS);
}

int64_t vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "re");
	char word[64];
	long long val;
	int64_t ret = -1;

	while (f && ret < 0 && fscanf(f, "%63s %lld", word, &val) == 2)
		if (!strcmp(word, name))
			ret = val;
	if (f)
		fclose(f);
	return ret;
}

uint64_t page_frame(const void *cpu)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (off_t)(gpu_va(cpu) / GPU_PAGE * 8)) !=
			      (ssize_t)sizeof(entry))
		tap_bail("pagemap: %m");
	close(fd);
	/* Bit 63: present; 0 to 54: the frame. */
	return entry >> 63 ? entry & ((1ull << 55) - 1) : 0;
}
