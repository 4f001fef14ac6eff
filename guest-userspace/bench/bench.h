/* SPDX-License-Identifier: MIT */
/*
 * What bench_event is made of.
 */
#ifndef VKFD_BENCH_H
#define VKFD_BENCH_H

#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"
#include "queue.h"
#include "rows.h"

#define BENCH_EVENTS	4095u	/* as many as a process may have */

/**
 * struct peer_nvme - reads of QEMU's NVMe device
 * @why_not: NULL, or why there is none
 * @sectors: of 512 bytes
 * @random: state of the generator of sectors
 */
struct peer_nvme {
	int fd;
	char why_not[96];
	aio_context_t aio;
	uint8_t *buf;
	uint64_t sectors;
	uint64_t random;
};

/**
 * struct peer_eventfd - two threads that wake each other
 * @there, @back: written by this thread, and by the other
 */
struct peer_eventfd {
	int there;
	int back;
	pthread_t thread;
};

/**
 * struct bench
 * @q: the one queue; its ring holds a signal for every event
 * @event, @events: the table, and how many of it exist
 * @fence, @batch: the GPU writes the number of the batch here
 * @age: of the event that is waited for by age
 */
struct bench {
	struct gpu gpu;
	struct queue q;
	HsaEvent *event[BENCH_EVENTS];
	unsigned int events;
	volatile uint64_t *fence;
	uint64_t batch;
	uint64_t age;
	struct peer_nvme nvme;
	struct peer_eventfd eventfd;
};

/* gpu_rows.c: doorbell to return, by the three ways; wake-ups; one submission of all */

/* The queue of @b, at the start. */
bool gpu_queue(struct bench *b);
bool gpu_begin(struct bench *b, const struct row *r);
bool gpu_begin_age(struct bench *b, const struct row *r);
bool gpu_begin_poll(struct bench *b, const struct row *r);
bool gpu_interrupt(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_age(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_poll(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_any(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_burst(struct bench *b, const struct row *r, struct stopwatch *w);
bool gpu_end(struct bench *b, const struct row *r);

/* peer_nvme.c: random reads of 512 bytes past the page cache, @n in flight */

/* Finds the device; what is missing is said by nvme_unavailable(). */
void nvme_open(struct bench *b);
void nvme_close(struct bench *b);
const char *nvme_unavailable(const struct bench *b);
bool nvme_read_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool nvme_read_many(struct bench *b, const struct row *r, struct stopwatch *w);

/* peer_eventfd.c: there and back between two threads on @n CPUs */
const char *eventfd_unavailable_two(const struct bench *b);
bool eventfd_begin(struct bench *b, const struct row *r);
bool eventfd_one(struct bench *b, const struct row *r, struct stopwatch *w);
bool eventfd_end(struct bench *b, const struct row *r);

#endif /* VKFD_BENCH_H */
