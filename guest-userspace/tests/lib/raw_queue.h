/* SPDX-License-Identifier: MIT */
/*
 * Queues made by ioctl, without a thunk, whose buffers would take more memory than there
 * is: as many as a process may have. Each can do one thing, write to a word of its own.
 */
#ifndef VKFD_TEST_RAW_QUEUE_H
#define VKFD_TEST_RAW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kfd.h"

#define RAW_COMPUTE	736u	/* a process's limits: its doorbells */
#define RAW_SDMA	16u
#define RAW_QUEUES	(RAW_COMPUTE + RAW_SDMA)

/**
 * struct raw_queues - of this process
 * @mem: write and read pointers and words (32 bytes a queue), then the rings
 * @doorbell: the slice, mapped with the first queue
 * @n: queues there are; one that is destroyed counts and cannot be used
 */
struct raw_queues {
	struct kfd_proc p;
	char *mem;
	volatile uint64_t *doorbell;
	unsigned int n;
	bool sdma[RAW_QUEUES];
	uint32_t id[RAW_QUEUES];
	uint32_t slot[RAW_QUEUES];
};

/* Opens the device; ends the program on failure. */
void raw_open(struct raw_queues *r);
void raw_close(struct raw_queues *r);

/* KFD_IOC_QUEUE_TYPE_COMPUTE or _SDMA. 0 or the negative errno. */
int raw_create(struct raw_queues *r, uint32_t type);
int raw_destroy(struct raw_queues *r, unsigned int i);

/* Queue @i writes @value to its word, up to 40 times; true when it is there. */
void raw_submit(struct raw_queues *r, unsigned int i, uint32_t value);
bool raw_wait(struct raw_queues *r, unsigned int i, uint32_t value, unsigned int ms);

/* All queues write, each another value from @value on. How many did not. */
unsigned int raw_all_run(struct raw_queues *r, uint32_t value, unsigned int ms);

#endif /* VKFD_TEST_RAW_QUEUE_H */
