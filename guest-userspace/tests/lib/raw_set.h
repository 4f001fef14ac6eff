/* SPDX-License-Identifier: MIT */
/*
 * Many queues of one process at a time, made by ioctl (raw.h): as many as it may have. Each
 * can do one thing, write to a word of its own.
 */
#ifndef VKFD_TEST_RAW_SET_H
#define VKFD_TEST_RAW_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "raw.h"

#define RAW_COMPUTE	736u	/* a process's limits: its doorbells */
#define RAW_SDMA	16u
#define RAW_QUEUES	(RAW_COMPUTE + RAW_SDMA)

/**
 * struct raw_set - of this process
 * @q: its queues; room for one more, which is only to be refused
 * @n: queues there are; one that is destroyed counts and cannot be used
 */
struct raw_set {
	struct raw_proc r;
	struct raw_queue q[RAW_QUEUES + 1];
	unsigned int n;
};

/* Opens the device; ends the program on failure. */
void raw_set_open(struct raw_set *s);
void raw_set_close(struct raw_set *s);

/* KFD_IOC_QUEUE_TYPE_*. 0 or the negative errno. */
int raw_set_create(struct raw_set *s, uint32_t type);
int raw_set_destroy(struct raw_set *s, unsigned int i);

/* All queues write to their words, each another value from @value on. How many did not. */
unsigned int raw_set_run(struct raw_set *s, uint32_t value, unsigned int ms);

#endif /* VKFD_TEST_RAW_SET_H */
