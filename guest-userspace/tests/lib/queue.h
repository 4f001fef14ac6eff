/* SPDX-License-Identifier: MIT */
/*
 * A PM4 user queue and its ring: reserve room, write packets, publish them.
 * One thread a queue.
 */
#ifndef VKFD_TEST_QUEUE_H
#define VKFD_TEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu.h"
#include "pm4.h"

/**
 * struct queue
 * @res: what the thunk returned: doorbell, write and read pointer
 * @ring: the ring, mapped to the GPU
 * @ring_dw: its size in dwords, a power of two
 * @wptr: dwords written so far, padding included; never wraps
 */
struct queue {
	HsaQueueResource res;
	uint32_t *ring;
	uint32_t ring_dw;
	uint64_t wptr;
};

/* @ring_bytes: power of two, at least 1024. The thunk's status. */
HSAKMT_STATUS queue_create(struct queue *q, const struct gpu *g, size_t ring_bytes);
HSAKMT_STATUS queue_destroy(struct queue *q);

/*
 * Room for @dw contiguous dwords, or NULL while the GPU has not consumed enough.
 * Fills up the end of the ring with one-dword NOPs when the packets would wrap.
 * Nothing is visible to the GPU before queue_submit().
 */
uint32_t *queue_reserve(struct queue *q, uint32_t dw);

/* Waits for room; NULL when the GPU consumes nothing for @ms milliseconds. */
uint32_t *queue_reserve_wait(struct queue *q, uint32_t dw, unsigned int ms);

/* Counts the packets written at what queue_reserve() returned, up to @end. */
void queue_commit(struct queue *q, const uint32_t *end);

/* Write pointer and doorbell, in this order. */
void queue_submit(struct queue *q);

/* The write pointer alone: for a queue that is inactive. */
void queue_publish_wptr(struct queue *q);

/* Read pointer the GPU reported: dwords modulo the ring. */
uint32_t queue_rptr(const struct queue *q);

/* The GPU has consumed all that was submitted. */
bool queue_is_idle(const struct queue *q);

/* Waits until queue_is_idle(); false after @ms milliseconds. */
bool queue_wait_idle(const struct queue *q, unsigned int ms);

/* Waits until *@word is @want; false after @ms milliseconds. */
bool wait_word(const volatile uint64_t *word, uint64_t want, unsigned int ms);
bool wait_word32(const volatile uint32_t *word, uint32_t want, unsigned int ms);

#endif /* VKFD_TEST_QUEUE_H */
