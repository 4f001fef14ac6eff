/* SPDX-License-Identifier: MIT */
/*
 * A KFD of a few hundred lines behind the thunk's seam: topology in a temporary
 * directory, buffers, queues and events as far as the library can tell the
 * difference. It counts what is alive, records calls in order, and fails or delays
 * on request. A scenario runs in a child of its own, so each starts afresh.
 */
#ifndef THUNK_FAKE_H
#define THUNK_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/kfd_ioctl.h>
#include <hsakmt/hsakmt.h>

#include "tap.h"

#define FAKE_GPU_ID 0x5a5a
#define FAKE_GPU_NODE 1
#define FAKE_GPU2_ID 0x5a5b	/* with fake.gpus == 2 */
#define FAKE_GPU2_NODE 2
#define FAKE_DMABUF 77		/* the descriptor of EXPORT_DMABUF, and the only one */
#define FAKE_SHARE 0x1234	/* first word of the only IPC handle */
#define FAKE_LOG 4096

/* A call at the seam: ioctl number, or mmap. */
struct fake_call {
	int nr;			/* _IOC_NR; FAKE_MMAP for mmap of a device */
	int size;		/* of an ioctl argument */
	uint64_t arg;		/* mmap: offset; ALLOC: flags; MAP: number of GPUs */
	uint64_t len;		/* mmap: length; ALLOC: size; MAP: the handle */
};

#define FAKE_MMAP 0x1000
#define FAKE_NR(request) ((int)_IOC_NR(request))

struct fake_kernel {
	/* set by a scenario before hsaKmtOpenKFD */
	uint32_t major, minor;
	uint64_t gpuvm_limit;
	const char *gpu_extra;	/* further lines of the GPU's properties */
	uint32_t device_id, gfx_target;
	int render_errno;	/* open of the render node fails with this */
	bool no_kfd;		/* no /dev/kfd */
	bool svm;		/* the GPU advertises SVM */
	uint32_t generation_changes;	/* reads of generation_id that differ */
	int gpus;		/* 1 or 2 */
	bool peers;		/* of two GPUs: linked to each other */
	uint64_t dmabuf_size;	/* of FAKE_DMABUF; 0: it is nobody's */
	uint32_t dmabuf_metadata;	/* bytes of it */
	uint64_t ipc_size;	/* of what the IPC handle stands for; 0: ENOTTY, as upstream */

	/* failure injection: the @fail_after-th call of @fail_nr from now on fails */
	int fail_nr;
	int fail_after;
	int fail_errno;
	bool fail_forever;
	int interrupts;		/* so many calls return EINTR or EAGAIN first */

	uint64_t doorbell_offset;	/* what CREATE_QUEUE returns */
	bool keep_event_page;	/* a failed CREATE_EVENT has taken the page */

	/* called for WAIT_EVENTS; fills the result */
	int (*wait)(struct kfd_ioctl_wait_events_args *args, struct kfd_event_data *data);
	/* called, without the fake's lock, before an ioctl is carried out */
	void (*hook)(int nr, void *arg);

	/* results */
	struct fake_call log[FAKE_LOG];
	int calls;
	int live_bos, live_queues, live_events, mapped_bos;
	int fds;		/* descriptors of /dev/kfd and render nodes open */
	int event_pages;	/* pages given to the kernel */
	uint64_t last_bo_flags;
	struct kfd_ioctl_create_queue_args last_queue;
	struct kfd_ioctl_update_queue_args last_update;
	struct kfd_ioctl_alloc_memory_of_gpu_args last_alloc;
	uint32_t last_map[2];	/* GPUs of the last MAP or UNMAP that worked */
	uint32_t last_map_count;
};

extern struct fake_kernel fake;

/* Runs @fn in a child with a fresh fake and checks for leaks at its end. */
void fake_scenario(const char *name, void (*fn)(void));

/* Open and acquire; bails out when that does not work. */
void fake_open(void);

/* Number of calls with @nr since @from; index of the first, -1 if none. */
int fake_count(int nr, int from);
int fake_find(int nr, int from);

/* Fails the @nth call of @nr from now (1 is the next) with @err. */
void fake_fail(int nr, int nth, int err);

/* "nr nr nr" of the calls since @from, for comparing an order. */
void fake_order(char *buf, size_t size, int from);

#endif
