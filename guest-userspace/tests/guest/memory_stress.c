// SPDX-License-Identifier: MIT
/*
 * A process that does everything to its registered memory at once, while SDMA queues copy in
 * it: forks, mprotect, madvise, swap, compaction and mremap. Each thread makes a fixed number
 * of steps, each copier compares what it has copied, and in the end every byte is compared
 * with what it has to be.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "queue.h"
#include "swap.h"
#include "tap.h"
#include "user.h"

#define LONG_MS		120000u
#define COPIERS		2u
#define BYTES		(48u * GPU_PAGE)
#define SWAP_BYTES	(32u << 20)

/**
 * struct copier - a thread with a queue
 * @src, @dst: registered memory
 * @want: what @dst has to be
 * @vram: memory of the GPU, which every other copy passes through
 * @wrong: copies that were not right
 */
struct copier {
	struct raw_queue q;
	struct range src, dst;
	char *want;
	char *vram;
	unsigned int index;
	unsigned int wrong;
	uint32_t seq;
	pthread_t thread;
};

static struct user u;
static struct copier copier[COPIERS];
/* Copied from, too, and now and then not to be written by anybody. */
static struct range constant;
/* Moved away and back. */
static struct range moving;
static struct raw_queue moving_queue;
static unsigned int steps;
static unsigned int failed[4];

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void fill(char *mem, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		mem[i] = (char)next_random(&seed);
}

static bool finish(struct raw_queue *q, uint32_t *seq)
{
	raw_put_write(q, q->word, ++*seq);
	raw_submit(q);
	return wait_word(q->word, *seq, LONG_MS);
}

/* New contents, a copy of some of it to the same place of @dst, and a look at that. */
static bool copy_once(struct copier *c, uint32_t *rnd)
{
	uint32_t at = next_random(rnd) % BYTES, bytes = 1 + next_random(rnd) % (BYTES - at);
	bool from_constant = next_random(rnd) % 4 == 0;
	const char *gpu = (from_constant ? constant.gpu : c->src.gpu) + at;

	if (!from_constant)
		fill(c->src.cpu + at, bytes, next_random(rnd));
	memcpy(c->want + at, (from_constant ? constant.cpu : c->src.cpu) + at, bytes);
	if (next_random(rnd) % 2) {
		raw_put_copy(&c->q, c->vram + at, gpu, bytes);
		gpu = c->vram + at;
	}
	raw_put_copy(&c->q, c->dst.gpu + at, gpu, bytes);
	return finish(&c->q, &c->seq) && !memcmp(c->dst.cpu + at, c->want + at, bytes);
}

static void *copy_thread(void *arg)
{
	struct copier *c = arg;
	uint32_t rnd = c->index + 1;
	unsigned int i;

	/* One that does not end, or is wrong, is enough. */
	for (i = 0; i < steps && !c->wrong; i++)
		c->wrong += !copy_once(c, &rnd);
	if (c->wrong)
		tap_diag("copier %u fails at its copy %u", c->index, i);
	return NULL;
}

static void *fork_thread(void *arg)
{
	unsigned int *bad = arg, i;
	int status;
	pid_t pid;

	for (i = 0; i < steps / 4 + 1; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		*bad += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	return NULL;
}

static void *protect_thread(void *arg)
{
	unsigned int *bad = arg, i;
	uint32_t rnd = 77;

	for (i = 0; i < steps; i++) {
		char *at = constant.cpu + next_random(&rnd) % (BYTES / GPU_PAGE) * GPU_PAGE;

		*bad += mprotect(at, GPU_PAGE, PROT_READ) != 0;
		*bad += mprotect(at, GPU_PAGE, PROT_READ | PROT_WRITE) != 0;
	}
	return NULL;
}

static void *advise_thread(void *arg)
{
	const int advice[] = { MADV_PAGEOUT, MADV_COLD, MADV_NOHUGEPAGE };
	unsigned int *bad = arg, i;
	uint32_t rnd = 99;

	for (i = 0; i < steps; i++) {
		struct copier *c = &copier[next_random(&rnd) % COPIERS];
		char *mem = i % 3 ? i % 3 == 1 ? c->src.cpu : c->dst.cpu : constant.cpu;
		char *at = mem + next_random(&rnd) % (BYTES / GPU_PAGE) * GPU_PAGE;

		*bad += madvise(at, (size_t)(mem + BYTES - at), advice[i % 4 % 3]) != 0;
		if (i % 256 == 0)
			*bad += !file_put("/proc/sys/vm/compact_memory", "1");
	}
	return NULL;
}

/* What comes back to where it was is not noticed by itself: it is mapped again. */
static void *move_thread(void *arg)
{
	unsigned int *bad = arg, i;
	char *away = kfd_reserve_va(BYTES), *dst = moving.gpu + BYTES;
	char *dst_cpu = moving.cpu + BYTES;
	uint32_t seq = 0;

	for (i = 0; i < steps / 8 + 1 && !*bad; i++) {
		if (mremap(moving.cpu, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, away) != away) {
			++*bad;
			break;
		}
		fill(away, BYTES, i);
		if (mremap(away, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, moving.cpu) != moving.cpu) {
			++*bad;
			break;
		}
		*bad += kfd_map(&u.r.p, moving.handle) != 0;
		raw_put_copy(&moving_queue, dst, moving.gpu, BYTES);
		*bad += !finish(&moving_queue, &seq) || memcmp(dst_cpu, moving.cpu, BYTES);
	}
	if (*bad)
		tap_diag("mremap fails in round %u", i);
	return NULL;
}

static char *vram_new(void)
{
	uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	char *va = kfd_reserve_va(BYTES);
	uint64_t handle;

	if (kfd_alloc(&u.r.p, gpu_va(va), BYTES, flags, &handle, NULL) || kfd_map(&u.r.p, handle))
		tap_bail("no VRAM");
	return va;
}

static void copier_init(struct copier *c, unsigned int index)
{
	c->index = index;
	range_map(&c->src, &u, user_pages(BYTES), BYTES);
	range_map(&c->dst, &u, user_pages(BYTES), BYTES);
	c->want = malloc(BYTES);
	if (!c->want)
		tap_bail("no memory");
	memcpy(c->want, c->dst.cpu, BYTES);
	c->vram = vram_new();
	if (raw_queue_create(&c->q, &u.r, KFD_IOC_QUEUE_TYPE_SDMA))
		tap_bail("no queue");
}

int main(void)
{
	void *(*const disturb[])(void *) = { fork_thread, protect_thread, advise_thread, move_thread };
	const char *const name[] = { "fork", "mprotect", "madvise", "mremap" };
	pthread_t thread[4];
	uint64_t differ = 0;
	unsigned int i, b;
	bool swap;

	tap_begin(tap_full() ? 3000 : 280);
	steps = scaled(4000, 200);
	swap = swap_begin(SWAP_BYTES);
	raw_open(&u.r, COPIERS + 1);
	range_map(&constant, &u, user_pages(BYTES), BYTES);
	fill(constant.cpu, BYTES, 4711);
	/* The second half is where the first is copied to; only that moves. */
	range_map(&moving, &u, user_pages(2 * BYTES), 2 * BYTES);
	if (raw_queue_create(&moving_queue, &u.r, KFD_IOC_QUEUE_TYPE_SDMA))
		tap_bail("no queue");
	for (i = 0; i < COPIERS; i++)
		copier_init(&copier[i], i);

	for (i = 0; i < COPIERS; i++)
		if (pthread_create(&copier[i].thread, NULL, copy_thread, &copier[i]))
			tap_bail("no thread");
	for (i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, disturb[i], &failed[i]))
			tap_bail("no thread");
	for (i = 0; i < COPIERS; i++) {
		pthread_join(copier[i].thread, NULL);
		tap_is(copier[i].wrong, 0, "copier %u: %u copies are right", i, steps);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		tap_is(failed[i], 0, "%s meanwhile", name[i]);
	}
	for (i = 0; i < COPIERS; i++)
		for (b = 0; b < BYTES; b++)
			differ += copier[i].dst.cpu[b] != copier[i].want[b];
	tap_is((int64_t)differ, 0, "every byte is what it has to be");
	tap_ok(user_settle(), "queues are put back");
	tap_is(user_counter("evictions"), user_counter("restores"), "as often as they were taken off");
	tap_diag("%lld evictions, %lld retries, swap %s", (long long)user_counter("evictions"),
		 (long long)user_counter("retries"), swap ? "on" : "not there");
	raw_close(&u.r);
	if (swap)
		tap_ok(swap_end(), "swap is off again");
	return tap_done();
}
