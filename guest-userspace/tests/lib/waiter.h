/* SPDX-License-Identifier: MIT */
/*
 * Threads that sleep in a wait of the thunk, so that a test can act while they do.
 */
#ifndef VKFD_TEST_WAITER_H
#define VKFD_TEST_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"

/**
 * struct waiter - one thread with one wait
 * @events, @n, @all, @ms: the wait; set by the caller and kept until it is joined
 * @ages: ages of @events, NULL for a wait without
 * @status: what the wait returned; a wake-up that came only with the time-out is a
 *	time-out. Valid once @done.
 * @done: the wait has returned
 */
struct waiter {
	HsaEvent **events;
	HSAuint32 n;
	bool all;
	unsigned int ms;
	uint64_t *ages;
	HSAKMT_STATUS status;
	_Atomic bool done;
	_Atomic pid_t tid;
	pthread_t thread;
};

/* Starts the thread and returns when it sleeps in the wait; ends the program otherwise. */
void waiter_start(struct waiter *w);

/* Starts the thread; it need not have come to its wait when this returns. */
void waiter_launch(struct waiter *w);

/* Waits for the thread; @status. */
HSAKMT_STATUS waiter_join(struct waiter *w);

#endif /* VKFD_TEST_WAITER_H */
