/* SPDX-License-Identifier: MIT */
/*
 * Queues made by ioctl, without a thunk and the buffers it needs for them: for programs
 * with very many of them. Each has a word that its packets write to.
 */
#ifndef VKFD_TEST_RAW_H
#define VKFD_TEST_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "kfd.h"

#define RAW_RING_BYTES	4096u

/**
 * struct raw_proc - this process with memory for a number of queues
 * @p: its files
 * @mem: two pages a queue, mapped on the GPU
 * @max: how many queues there is room for
 * @n: how many there are
 * @doorbell: the slice, mapped with the first queue
 */
struct raw_proc {
	struct kfd_proc p;
	char *mem;
	unsigned int max;
	unsigned int n;
	volatile uint64_t *doorbell;
};

/**
 * struct raw_queue
 * @r: the process
 * @type: KFD_IOC_QUEUE_TYPE_COMPUTE, _COMPUTE_AQL or _SDMA
 * @id: KFD's
 * @slot: of the doorbell in the slice, in units of 8 bytes
 * @ring: RAW_RING_BYTES of them
 * @wptr, @rptr: in the unit of @type, as the GPU sees them
 * @word: what the packets write to
 * @next: write pointer behind what has been written, published or not
 */
struct raw_queue {
	struct raw_proc *r;
	uint32_t type;
	uint32_t id;
	uint32_t slot;
	uint32_t *ring;
	volatile uint64_t *wptr, *rptr, *word;
	uint64_t next;
};

/* Opens both nodes and allocates memory; ends the program on failure. */
void raw_open(struct raw_proc *r, unsigned int queues);
/* The same with GPU @which, counted from 0; a process may have one of each. */
void raw_open_nth(struct raw_proc *r, unsigned int queues, unsigned int which);
void raw_close(struct raw_proc *r);

/* 0 or the negative errno. Ends the program if there is no room or no mapping of doorbells. */
int raw_queue_create(struct raw_queue *q, struct raw_proc *r, uint32_t type);
int raw_queue_destroy(struct raw_queue *q);

/*
 * Packets into the ring, unseen by the GPU; it must have room. Write @value (64 bits;
 * SDMA 32) to @at.
 */
void raw_put_write(struct raw_queue *q, volatile uint64_t *at, uint64_t value);
/* SDMA only: linear copy, at most SDMA_COPY_MAX_BYTES; whole dwords of @value. */
void raw_put_copy_va(struct raw_queue *q, uint64_t dst, uint64_t src, uint32_t bytes);
void raw_put_fill(struct raw_queue *q, uint64_t dst, uint32_t value, uint32_t bytes);
/* PM4 only: wait until the low half of @at is @value. */
void raw_put_gate(struct raw_queue *q, volatile uint64_t *at, uint32_t value);
/* SDMA only: that copies @bytes. */
void raw_put_copy(struct raw_queue *q, volatile void *dst, const volatile void *src,
		  uint32_t bytes);
/* The write pointer in memory; that and the doorbell. */
void raw_publish(struct raw_queue *q);
void raw_submit(struct raw_queue *q);

#endif /* VKFD_TEST_RAW_H */
