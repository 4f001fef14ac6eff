// SPDX-License-Identifier: MIT
/*
 * A process is killed while its queues run, again and again: what it held on the
 * hardware - queue slots, VMIDs, doorbell slices, PASIDs, VRAM - is there for the
 * next one. A leak of any of them ends the series: there are 24 queue slots and
 * 8 VMIDs, and 254 slices (more rounds than that with VKFD_FULL).
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define QUEUES		24u
#define VMIDS		8u

enum how {
	PARKED,		/* every queue waits for a word that never changes */
	BUSY,		/* packets are executed while the process dies */
};

struct job {
	enum how how;
	unsigned int queues;
	int ready;	/* a byte is written when everything runs: 1 ok, 0 not */
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

static void keep_busy(struct queue *q, unsigned int n, volatile uint64_t *word)
{
	uint64_t value = 0;
	unsigned int i;

	/* Ends by SIGKILL. */
	for (;;) {
		for (i = 0; i < n; i++) {
			uint32_t *p = queue_reserve(&q[i], PM4_WRITE64_DW);

			if (!p)
				continue;
			queue_commit(&q[i], pm4_write64(p, gpu_va(word), ++value));
			queue_submit(&q[i]);
		}
	}
}

static void victim(const struct job *job)
{
	static struct queue q[QUEUES];
	volatile uint64_t *word;
	struct gpu gpu;
	unsigned int i;
	uint32_t *p;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		give_up(job->ready);
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!word || !mem_alloc(&gpu, MEM_VRAM, 1 << 20) ||
	    !event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false))
		give_up(job->ready);
	for (i = 0; i < job->queues; i++) {
		if (queue_create(&q[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			give_up(job->ready);
		p = queue_reserve(&q[i], PM4_WRITE64_DW);
		queue_commit(&q[i], pm4_write64(p, gpu_va(&word[8 + i]), 1));
		queue_submit(&q[i]);
	}
	for (i = 0; i < job->queues; i++)
		if (!wait_word(&word[8 + i], 1, LONG_MS))
			give_up(job->ready);
	if (job->how == BUSY) {
		say(job->ready, 1);
		keep_busy(q, job->queues, word);
	}
	for (i = 0; i < job->queues; i++) {
		p = queue_reserve(&q[i], PM4_WAIT_MEM_DW);
		queue_commit(&q[i], pm4_wait_mem(p, gpu_va(word), WAIT_REG_MEM_EQ, 1, ~0u));
		queue_submit(&q[i]);
	}
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
	struct job job = { .how = PARKED, .queues = QUEUES / VMIDS };
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
	       rounds, VMIDS, job.queues);
}

int main(void)
{
	unsigned int rounds = tap_full() ? 300 : 50;
	uint32_t gpu_id;
	uint64_t before, end;
	int fd;

	tap_begin(1200);
	gpu_id = kfd_gpu_id(NULL);
	fd = kfd_open();
	before = available(fd, gpu_id);
	series("parked, all queues", (struct job){ .how = PARKED, .queues = QUEUES }, 5);
	series("busy, all queues", (struct job){ .how = BUSY, .queues = QUEUES }, 5);
	series("parked", (struct job){ .how = PARKED, .queues = 2 }, rounds);
	series("busy", (struct job){ .how = BUSY, .queues = 2 }, rounds / 5);
	together(tap_full() ? 10 : 3);
	end = now_ns() + LONG_MS * 1000000ull;
	while (available(fd, gpu_id) != before && now_ns() < end)
		sched_yield();
	tap_is((int64_t)available(fd, gpu_id), (int64_t)before, "all VRAM of the dead is back");
	close(fd);
	return tap_done();
}
