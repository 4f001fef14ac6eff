/* SPDX-License-Identifier: MIT */
/*
 * The least a program needs around the thunk: find the GPU, get memory that CPU
 * and GPU share, create events, measure time. Every function works on any
 * libhsakmt.so.1.
 */
#ifndef VKFD_GPU_H
#define VKFD_GPU_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <hsakmt/hsakmt.h>

#define GPU_PAGE		4096u
#define GPU_EVENT_UNSIGNALED	(~0ull)	/* content of a signal slot at rest */

/**
 * struct gpu - a GPU of the system
 * @node: topology node of the GPU
 * @props: its properties; KFDGpuID is the id the ioctls use
 */
struct gpu {
	HSAuint32 node;
	HsaNodeProperties props;
};

/*
 * Opens KFD, takes the topology snapshot and finds the first GPU. The thunk's
 * status; HSAKMT_STATUS_INVALID_NODE_UNIT when there is no GPU.
 */
HSAKMT_STATUS gpu_open(struct gpu *g);
/* The same with GPU @which, counted from 0. */
HSAKMT_STATUS gpu_open_nth(struct gpu *g, unsigned int which);
void gpu_close(void);

/**
 * enum mem_kind - where memory lives
 * @MEM_SYSTEM: anonymous memory of the process, registered as userptr
 * @MEM_GTT: system memory that the kernel allocates
 * @MEM_VRAM: memory of the GPU, visible to the CPU
 */
enum mem_kind {
	MEM_SYSTEM,
	MEM_GTT,
	MEM_VRAM,
};

const char *mem_kind_name(enum mem_kind kind);

/* Flags as hsaKmtAllocMemory() wants them for @kind, readable and writable by both sides. */
HsaMemFlags mem_flags(enum mem_kind kind);

/*
 * Allocates @size bytes (rounded up to pages), maps them to the GPU at the
 * address the CPU uses, and clears them. NULL on failure.
 */
void *mem_alloc(const struct gpu *g, enum mem_kind kind, size_t size);

/* Unmaps and frees what mem_alloc() returned; same @size. The thunk's status. */
HSAKMT_STATUS mem_free(void *mem, size_t size);

/* An event of @type that is not signalled; NULL on failure. */
HsaEvent *event_new(const struct gpu *g, HSA_EVENTTYPE type, bool manual_reset);

/* The 64-bit slot of a signal event, at the address the GPU uses too. */
static inline uint64_t *event_slot(const HsaEvent *ev)
{
	return (uint64_t *)(uintptr_t)ev->EventData.HWData2;
}

/*
 * hsaKmtWaitOnMultipleEvents_Ext(), but a wait that took all of @ms is a time-out
 * whatever it returned: a driver may notice at the end of a wait that the event
 * had fired, and a wake-up that was lost must not pass for one that was late.
 * @ages: NULL for none.
 */
HSAKMT_STATUS events_wait(HsaEvent *events[], HSAuint32 n, bool all, unsigned int ms,
			  uint64_t *ages);

/* The same for one event. */
HSAKMT_STATUS event_wait(HsaEvent *ev, unsigned int ms);

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Name of a thunk status, for messages. */
const char *status_name(HSAKMT_STATUS s);

#endif /* VKFD_GPU_H */
