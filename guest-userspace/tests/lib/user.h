/* SPDX-License-Identifier: MIT */
/*
 * Memory of this process, registered by address at GPU addresses of its own, and queues
 * that read and write it. The queues' own memory is the kernel's, so that what happens to
 * registered ranges, and the driver's counters of it, is the test's doing alone.
 */
#ifndef VKFD_TEST_USER_H
#define VKFD_TEST_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "raw.h"

#define USER_FLAGS	(KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)

/**
 * struct user - this process
 * @r: its files and queues
 * @pm4, @sdma: a queue of each kind
 * @bounce: memory of the kernel's, both sides see it: 64 bits
 * @seq: work that has been waited for
 */
struct user {
	struct raw_proc r;
	struct raw_queue pm4, sdma;
	volatile uint64_t *bounce;
	uint32_t seq;
};

/**
 * struct range - registered memory
 * @cpu: where it is for the process
 * @gpu: where it is for the GPU
 */
struct range {
	char *cpu;
	char *gpu;
	size_t size;
	uint64_t handle;
};

/* Ends the program if there is no GPU. */
void user_open(struct user *u);
void user_close(struct user *u);

/* Pages of private memory, written once. Ends the program if there are none. */
void *user_pages(size_t size);

/* Registers / and maps; ends the program on failure. With other flags: 0 or -errno. */
void range_register(struct range *g, const struct user *u, void *cpu, size_t size);
void range_map(struct range *g, const struct user *u, void *cpu, size_t size);
int range_try(struct range *g, const struct user *u, void *cpu, size_t size, uint32_t flags);
void range_free(struct range *g, const struct user *u);

static inline volatile uint64_t *range_gpu(const struct range *g, size_t offset)
{
	return (volatile uint64_t *)(g->gpu + offset);
}

static inline volatile uint64_t *range_cpu(const struct range *g, size_t offset)
{
	return (volatile uint64_t *)(g->cpu + offset);
}

/*
 * A PM4 queue with its pointers in the first page of @g and its ring in the second; ends the
 * program on failure. raw_put_write() and its like serve it.
 */
void range_queue(struct raw_queue *q, struct user *u, const struct range *g);

/* PM4 stores 64 bits / SDMA loads them, and is done; false: not within a minute. */
bool user_store(struct user *u, volatile uint64_t *gpu, uint64_t value);
bool user_load(struct user *u, volatile uint64_t *gpu, uint64_t *value);
/* The same, not waited for: into the ring and rung. */
void user_store_async(struct user *u, volatile uint64_t *gpu, uint64_t value);
void user_load_async(struct user *u, volatile uint64_t *gpu);

/* Checks that the GPU loads @want. */
bool user_sees(struct user *u, const struct range *g, size_t offset, uint64_t want);

/* A counter of registered memory of this process, see docs/memory.md. */
int64_t user_counter(const char *name);
/* Waits until no queue is off as memory is away. */
bool user_settle(void);

/* A line of /proc/vmstat, -1 if there is none. */
int64_t vmstat(const char *name);

/* Page frame behind @cpu, 0 if there is none now. */
uint64_t page_frame(const void *cpu);

#endif /* VKFD_TEST_USER_H */
