/* SPDX-License-Identifier: MIT */
/*
 * An SDMA user queue and its ring, as struct queue is one of PM4. One thread a queue.
 */
#ifndef VKFD_TEST_SDMA_QUEUE_H
#define VKFD_TEST_SDMA_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu.h"
#include "sdma.h"

/**
 * struct sdma_queue
 * @res: what the thunk returned
 * @ring: the ring, mapped to the GPU
 * @ring_dw: its size in dwords, a power of two
 * @wptr: bytes written so far, padding included; never wraps
 */
struct sdma_queue {
	HsaQueueResource res;
	uint32_t *ring;
	uint32_t ring_dw;
	uint64_t wptr;
};

/* @ring_bytes: power of two, at least 1024. The thunk's status. */
HSAKMT_STATUS sdma_queue_create(struct sdma_queue *q, const struct gpu *g, size_t ring_bytes);
HSAKMT_STATUS sdma_queue_destroy(struct sdma_queue *q);

/* Waits for room for @dw contiguous dwords; ends the program if there is none in a minute. */
uint32_t *sdma_queue_reserve(struct sdma_queue *q, uint32_t dw);
/* Counts the packets written at what sdma_queue_reserve() returned, up to @end. */
void sdma_queue_commit(struct sdma_queue *q, const uint32_t *end);
/* Write pointer and doorbell, in this order; the write pointer alone. */
void sdma_queue_submit(struct sdma_queue *q);
void sdma_queue_publish_wptr(struct sdma_queue *q);

/* Read pointer the GPU reported: bytes, never wraps. */
uint64_t sdma_queue_rptr(const struct sdma_queue *q);
/* Waits until the GPU has consumed all that was submitted; false after @ms milliseconds. */
bool sdma_queue_wait_idle(const struct sdma_queue *q, unsigned int ms);

#endif /* VKFD_TEST_SDMA_QUEUE_H */
