/* SPDX-License-Identifier: MIT */
/*
 * An AQL user queue with what a runtime keeps beside it. One thread a queue.
 */
#ifndef VKFD_TEST_AQL_QUEUE_H
#define VKFD_TEST_AQL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "aql.h"
#include "gpu.h"

/**
 * struct aql_queue
 * @res: what the thunk returned
 * @ring: the ring, mapped to the GPU
 * @size: packets in it, a power of two
 * @desc: descriptor with both dispatch ids, mapped to the GPU
 * @error: the queue's inactive signal: what the command processor says of a bad packet
 */
struct aql_queue {
	HsaQueueResource res;
	struct aql_packet *ring;
	uint32_t size;
	struct aql_descriptor *desc;
	struct aql_signal *error;
};

/* @size: power of two, at least 64. The thunk's status. */
HSAKMT_STATUS aql_queue_create(struct aql_queue *q, const struct gpu *g, uint32_t size);
HSAKMT_STATUS aql_queue_destroy(struct aql_queue *q);

/*
 * The next packet, which is invalid so far; the write index counts it already. Waits for
 * room; ends the program if there is none in a minute.
 */
struct aql_packet *aql_queue_reserve(struct aql_queue *q);
/* Rings the doorbell for all that was reserved. */
void aql_queue_submit(struct aql_queue *q);
/* Waits until the read index is the write index; false after @ms milliseconds. */
bool aql_queue_wait_idle(const struct aql_queue *q, unsigned int ms);

#endif /* VKFD_TEST_AQL_QUEUE_H */
