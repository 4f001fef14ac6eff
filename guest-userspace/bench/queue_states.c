// SPDX-License-Identifier: MIT
/*
 * queue_states: queues that do nothing, for somebody who watches the host.
 *
 *   queue_states [STATE...]
 *
 *   alone    no queue
 *   idle     64 queues, each has run a batch and waits for the next
 *   parked   736 queues, each in a WAIT_REG_MEM for memory that stays as it is
 *
 * For each it prints a line "state STATE" once the GPU has come so far, and then sleeps in
 * a read of stdin until a line comes. At the end of stdin it ends.
 * Exit status: 0; 1 something failed; 2 bad options.
 */
#include <stdio.h>
#include <string.h>

#include "queue_bench.h"

#define IDLE	64u

static struct gpu gpu;
static struct pool pool;
static volatile uint64_t *word;
static uint64_t batch;

static uint32_t *put_write(uint32_t *p, unsigned int i)
{
	return pm4_write64(p, gpu_va(&word[i]), batch);
}

/* Each of @n queues has written the number of the batch; then it is, or is not, in a wait. */
static bool settle(unsigned int n, bool park)
{
	volatile uint64_t *gate = &word[POOL_MAX];
	unsigned int i;
	uint32_t *p;

	batch++;
	if (!pool_resize(&pool, n))
		return false;
	*gate = 0;
	for (i = 0; i < n; i++) {
		p = queue_reserve_wait(&pool.q[i], PM4_WRITE64_DW + PM4_WAIT_MEM_DW, BENCH_WAIT_MS);
		if (!p)
			return false;
		p = put_write(p, i);
		if (park)
			p = pm4_wait_mem(p, gpu_va(gate), WAIT_REG_MEM_EQ, 1, ~0u);
		queue_commit(&pool.q[i], p);
		queue_submit(&pool.q[i]);
	}
	for (i = 0; i < n; i++)
		if (!poll_word(&word[i], batch) || (!park && !queue_wait_idle(&pool.q[i], BENCH_WAIT_MS)))
			return false;
	return true;
}

static bool enter(const char *state)
{
	if (!strcmp(state, "alone"))
		return settle(0, false);
	if (!strcmp(state, "idle"))
		return settle(IDLE, false);
	return settle(POOL_MAX, true);
}

/* Waits of before end, so that the queues can be taken away or used again. */
static bool leave(void)
{
	unsigned int i;

	word[POOL_MAX] = 1;
	for (i = 0; i < pool.n; i++)
		if (!queue_wait_idle(&pool.q[i], BENCH_WAIT_MS))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	char line[16];
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "alone") && strcmp(argv[i], "idle") && strcmp(argv[i], "parked")) {
			fprintf(stderr, "usage: queue_states [alone|idle|parked]...\n");
			return 2;
		}
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS || !pool_open(&pool, &gpu))
		return 1;
	word = mem_alloc(&gpu, MEM_SYSTEM, (POOL_MAX + 1) * sizeof(*word));
	if (!word)
		return 1;
	for (i = 1; i < argc; i++) {
		if (!enter(argv[i])) {
			fprintf(stderr, "queue_states: the GPU does not get as far as %s\n", argv[i]);
			return 1;
		}
		printf("state %s\n", argv[i]);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			break;
		if (!leave()) {
			fprintf(stderr, "queue_states: a queue stays in %s\n", argv[i]);
			return 1;
		}
	}
	return pool_resize(&pool, 0) ? 0 : 1;
}
