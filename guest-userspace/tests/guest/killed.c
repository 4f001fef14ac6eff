// SPDX-License-Identifier: MIT
/*
 * A process is killed while its queues run, of PM4, AQL and SDMA, again and again: what
 * it held on the hardware - queue slots, VMIDs, doorbell slices, PASIDs, VRAM - is there
 * for the next one. A leak of any of them ends the series: there are 24 slots for compute
 * queues and 16 for SDMA, 8 VMIDs, and as many slices.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aql_queue.h"
#include "driver.h"
#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define PACKETS		64u	/* of an AQL ring */
#define COMPUTE		24u
#define SDMA		16u
#define VMIDS		8u
#define SLICES		"8"	/* what together() needs */
#define COPY_BYTES	(256u << 10)
#define IB_DW		8u	/* of a queue's IB */

enum how {
	PARKED,		/* every queue waits for a word that never changes */
	BUSY,		/* packets are executed while the process dies */
};

struct job {
	enum how how;
	unsigned int pm4, aql, sdma;	/* queues of each kind */
	int ready;	/* a byte is written when everything runs: 1 ok, 0 not */
};

/**
 * struct victim - what a process to be killed has
 * @word: for the GPU: the gate, and from 8 on one of each queue; 0 at first
 * @ib: for AQL queues, each writes 1 to the queue's word
 */
struct victim {
	const struct job *job;
	struct queue pm4[COMPUTE];
	struct aql_queue aql[COMPUTE];
	struct sdma_queue sdma[SDMA];
	volatile uint64_t *word;
	uint32_t *ib;
	char *from, *to;
};

static void say(int fd, char ok)
{
	if (write(fd, &ok, 1) != 1)
		_exit(3);
}

/* Something is missing: say so and wait to be killed like the others. */
static void give_up(int fd)
{
	say(fd, 0);
	for (;;)
		pause();
}

static unsigned int all_queues(const struct job *job)
{
	return job->pm4 + job->aql + job->sdma;
}

/* The words: of PM4 queues, then AQL, then SDMA. */
static volatile uint64_t *word_of(struct victim *v, unsigned int n)
{
	return &v->word[8 + n];
}

static void create(struct victim *v, const struct gpu *gpu)
{
	const struct job *job = v->job;
	unsigned int i, bad = 0;

	for (i = 0; i < job->pm4; i++)
		bad += queue_create(&v->pm4[i], gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS;
	for (i = 0; i < job->aql; i++)
		bad += aql_queue_create(&v->aql[i], gpu, PACKETS) != HSAKMT_STATUS_SUCCESS;
	for (i = 0; i < job->sdma; i++)
		bad += sdma_queue_create(&v->sdma[i], gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS;
	if (bad)
		give_up(job->ready);
}

/* Each queue writes 1 to its word. */
static void submit_writes(struct victim *v)
{
	const struct job *job = v->job;
	unsigned int i, n = 0;
	uint32_t *p;

	for (i = 0; i < job->pm4; i++, n++) {
		p = queue_reserve_wait(&v->pm4[i], PM4_WRITE64_DW, LONG_MS);
		if (!p)
			give_up(job->ready);
		queue_commit(&v->pm4[i], pm4_write64(p, gpu_va(word_of(v, n)), 1));
		queue_submit(&v->pm4[i]);
	}
	for (i = 0; i < job->aql; i++, n++) {
		p = v->ib + i * IB_DW;
		pm4_write64(p, gpu_va(word_of(v, n)), 1);
		aql_pm4_ib(aql_queue_reserve(&v->aql[i]), gpu_va(p), PM4_WRITE64_DW, NULL);
		aql_queue_submit(&v->aql[i]);
	}
	for (i = 0; i < job->sdma; i++, n++) {
		p = sdma_queue_reserve(&v->sdma[i], SDMA_PKT_WRITE_DW + 1);
		sdma_queue_commit(&v->sdma[i], sdma_write32(p, gpu_va(word_of(v, n)), 1));
		sdma_queue_submit(&v->sdma[i]);
	}
}

static void keep_busy(struct victim *v)
{
	const struct job *job = v->job;
	unsigned int i;
	uint32_t *p;

	/* Ends by SIGKILL. */
	for (;;) {
		submit_writes(v);
		for (i = 0; i < job->sdma; i++) {
			p = sdma_queue_reserve(&v->sdma[i], SDMA_PKT_COPY_LINEAR_DW);
			sdma_queue_commit(&v->sdma[i], sdma_copy(p, gpu_va(v->to), gpu_va(v->from),
								 COPY_BYTES));
			sdma_queue_submit(&v->sdma[i]);
		}
	}
}

/* Each queue waits for the gate, or the signal behind it, which stays as it is. */
static void park(struct victim *v)
{
	struct aql_signal *never = (struct aql_signal *)&v->word[256];
	const struct job *job = v->job;
	unsigned int i;
	uint32_t *p;

	aql_signal_init(never, 1, NULL, 0);
	for (i = 0; i < job->pm4; i++) {
		p = queue_reserve_wait(&v->pm4[i], PM4_WAIT_MEM_DW, LONG_MS);
		if (!p)
			give_up(job->ready);
		queue_commit(&v->pm4[i], pm4_wait_mem(p, gpu_va(v->word), WAIT_REG_MEM_EQ, 1, ~0u));
		queue_submit(&v->pm4[i]);
	}
	for (i = 0; i < job->aql; i++) {
		aql_barrier(aql_queue_reserve(&v->aql[i]), AQL_PACKET_BARRIER_AND, &never, 1, NULL);
		aql_queue_submit(&v->aql[i]);
	}
	for (i = 0; i < job->sdma; i++) {
		p = sdma_queue_reserve(&v->sdma[i], SDMA_PKT_POLL_REGMEM_DW);
		sdma_queue_commit(&v->sdma[i], sdma_poll_mem(p, gpu_va(v->word), WAIT_REG_MEM_EQ, 1,
							     ~0u));
		sdma_queue_submit(&v->sdma[i]);
	}
}

static void victim(const struct job *job)
{
	static struct victim v;
	struct gpu gpu;
	unsigned int i;

	v.job = job;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		give_up(job->ready);
	v.word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	v.ib = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	v.from = mem_alloc(&gpu, MEM_VRAM, COPY_BYTES);
	v.to = mem_alloc(&gpu, MEM_GTT, COPY_BYTES);
	if (!v.word || !v.ib || !v.from || !v.to || !event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false))
		give_up(job->ready);
	create(&v, &gpu);
	submit_writes(&v);
	for (i = 0; i < all_queues(job); i++)
		if (!wait_word(word_of(&v, i), 1, LONG_MS))
			give_up(job->ready);
	if (job->how == BUSY) {
		say(job->ready, 1);
		keep_busy(&v);
	}
	park(&v);
	say(job->ready, 1);
	for (;;)
		pause();
}

/* Starts a victim; true when it says that all its queues run. */
static bool start(struct job *job, pid_t *pid)
{
	int fds[2];
	char ok = 0;

	if (pipe(fds))
		tap_bail("pipe: %m");
	*pid = fork();
	if (*pid < 0)
		tap_bail("fork: %m");
	if (!*pid) {
		close(fds[0]);
		job->ready = fds[1];
		victim(job);
	}
	close(fds[1]);
	if (read(fds[0], &ok, 1) != 1)
		ok = 0;
	close(fds[0]);
	return ok;
}

static void finish(pid_t pid)
{
	int status;

	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		tap_bail("kill: %m");
}

static uint64_t available(int fd, uint32_t gpu_id)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = gpu_id };

	if (kfd_call(fd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY failed");
	return a.available;
}

/*
 * @n victims one after another. The kernel may finish cleaning up after wait()
 * has returned, so a victim that gets nothing is tried again; a leak makes every
 * try fail.
 */
static void series(const char *name, struct job job, unsigned int n)
{
	unsigned int i, retries = 0;
	pid_t pid;

	for (i = 0; i < n; i++) {
		uint64_t end = now_ns() + LONG_MS * 1000000ull;
		bool ok;

		while (!(ok = start(&job, &pid)) && now_ns() < end) {
			finish(pid);
			retries++;
		}
		finish(pid);
		if (!ok)
			break;
	}
	tap_is(i, n, "%s: %u processes killed one after another", name, n);
	if (retries)
		tap_diag("%s: %u starts had to be repeated", name, retries);
}

/* As many processes as there are VMIDs, killed together. */
static void together(unsigned int rounds)
{
	struct job job = { .how = PARKED, .pm4 = 1, .aql = COMPUTE / VMIDS - 1, .sdma = SDMA / VMIDS };
	unsigned int round, i, good = 0;
	pid_t pid[VMIDS];

	for (round = 0; round < rounds; round++) {
		uint64_t end = now_ns() + LONG_MS * 1000000ull;

		for (i = 0; i < VMIDS; i++) {
			bool ok;

			while (!(ok = start(&job, &pid[i])) && now_ns() < end)
				finish(pid[i]);
			good += ok;
		}
		for (i = 0; i < VMIDS; i++)
			finish(pid[i]);
	}
	tap_is(good, rounds * VMIDS, "%u times %u processes with %u queues each, killed together",
	       rounds, VMIDS, all_queues(&job));
}

/* One that is lost would else be missed only after very many processes. */
static void all_slices(void)
{
	driver_set_parameter("doorbell_overcommit", "1");
	driver_set_parameter("doorbell_slices", "254");
}

int main(void)
{
	unsigned int rounds = scaled(300, 50);
	uint32_t gpu_id;
	uint64_t before, end;
	int fd;

	tap_begin(1200);
	atexit(all_slices);
	if (driver_sched_policy() >= 0 &&
	    (driver_set_parameter("doorbell_slices", SLICES) ||
	     driver_set_parameter("doorbell_overcommit", "0")))
		tap_bail("doorbell slices");
	gpu_id = kfd_gpu_id(NULL);
	fd = kfd_open();
	before = available(fd, gpu_id);
	series("parked, all queues", (struct job){ .how = PARKED, .pm4 = 12, .aql = 12, .sdma = SDMA }, 5);
	series("busy, all queues", (struct job){ .how = BUSY, .pm4 = 12, .aql = 12, .sdma = SDMA }, 5);
	series("parked", (struct job){ .how = PARKED, .pm4 = 2 }, rounds);
	series("busy", (struct job){ .how = BUSY, .pm4 = 2 }, rounds / 5);
	series("parked, one of each kind", (struct job){ .how = PARKED, .pm4 = 1, .aql = 1, .sdma = 1 },
	       rounds / 5);
	series("busy, one of each kind", (struct job){ .how = BUSY, .pm4 = 1, .aql = 1, .sdma = 1 },
	       rounds / 5);
	together(tap_full() ? 10 : 3);
	end = now_ns() + LONG_MS * 1000000ull;
	while (available(fd, gpu_id) != before && now_ns() < end)
		sched_yield();
	tap_is((int64_t)available(fd, gpu_id), (int64_t)before, "all VRAM of the dead is back");
	close(fd);
	return tap_done();
}
