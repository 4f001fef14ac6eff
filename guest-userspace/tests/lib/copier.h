/* SPDX-License-Identifier: MIT */
/*
 * This process with an SDMA queue and memory made by hand: what a test of memory needs to
 * see by the GPU's eyes. Raw ioctls, so that nothing depends on a thunk.
 */
#ifndef VKFD_TEST_COPIER_H
#define VKFD_TEST_COPIER_H

#include <stdbool.h>
#include <stdint.h>

#include "raw.h"

#define COPIER_MS	60000u

/**
 * struct copier
 * @r: the process
 * @q: its queue
 * @jobs: packets that were waited for
 */
struct copier {
	struct raw_proc r;
	struct raw_queue q;
	uint32_t jobs;
};

/**
 * struct buffer - memory by KFD handle
 * @handle: KFD's
 * @va: GPU address, reserved in the address space of the process
 * @size: bytes
 * @offset: for mmap of the render node; 0: not known
 */
struct buffer {
	uint64_t handle;
	uint64_t va;
	uint64_t size;
	uint64_t offset;
};

/* Open the device, make the queue; end the program on failure. */
void copier_open(struct copier *c);
/* The same with GPU @which, counted from 0; a process may have one of each. */
void copier_open_nth(struct copier *c, unsigned int which);
void copier_close(struct copier *c);

/* Both wait until it is done; false if it never is. */
bool copier_copy(struct copier *c, uint64_t dst, uint64_t src, uint32_t bytes);
bool copier_fill(struct copier *c, uint64_t dst, uint32_t value, uint32_t bytes);

/* AVAILABLE_MEMORY. */
uint64_t copier_available(const struct copier *c);
/* Waits until it is @want, as what ended processes had is given back a little later. */
uint64_t copier_available_settle(const struct copier *c, uint64_t want);
/*
 * Waits until no less than @before is available: may be more, as processes that have ended let go
 * a while later, also of what they had when @before was read.
 */
bool copier_given_back(const struct copier *c, int64_t before);

/* ALLOC with KFD_IOC_ALLOC_MEM_FLAGS_* and MAP; 0 or the negative errno. */
int buffer_alloc(struct copier *c, struct buffer *b, uint64_t size, uint32_t flags);
/* UNMAP and FREE, as far as @b got; 0 or the negative errno. */
int buffer_free(struct copier *c, struct buffer *b);
/* Maps it for the CPU, at its own address; ends the program on failure. */
uint32_t *buffer_map(struct copier *c, const struct buffer *b);

/* EXPORT_DMABUF: the fd or the negative errno. */
int buffer_export(struct copier *c, const struct buffer *b);
/* IMPORT_DMABUF at an address of its own, and MAP; 0 or the negative errno. */
int buffer_import(struct copier *c, struct buffer *b, int fd, uint64_t size);

/* One file descriptor over a socket; -1 on failure. */
bool fd_send(int sock, int fd);
int fd_receive(int sock);

#endif /* VKFD_TEST_COPIER_H */
