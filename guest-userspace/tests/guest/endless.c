// SPDX-License-Identifier: MIT
/*
 * A queue whose indirect buffer chains to itself never ends. It may keep the GPU
 * busy, but the rest of the machine goes on: other queues, interrupts, the CPU's
 * accesses to the device, and taking the queue off. How fast is printed, not judged:
 * on a busy host any figure can come out.
 */
#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define ROUNDS		50u

static struct gpu gpu;

/* Fills @ib with 64-bit stores to @word and a chain to its own start. */
static void make_endless(uint32_t *ib, volatile uint64_t *word)
{
	uint32_t *p = ib, *end;
	unsigned int i;

	for (i = 0; i < 64; i++)
		p = pm4_write64(p, gpu_va(word), i + 1);
	end = pm4_ib(p, gpu_va(ib), (uint32_t)(p - ib) + PM4_IB_DW);
	end[-1] |= INDIRECT_BUFFER__CHAIN;
}

/* Signals and waits ROUNDS times on @q; the slowest and the sum in ns. */
static unsigned int rounds(struct queue *q, HsaEvent *ev, uint64_t *worst, uint64_t *sum)
{
	unsigned int i, ok = 0;

	*worst = *sum = 0;
	for (i = 0; i < ROUNDS; i++) {
		uint64_t t = now_ns();
		uint32_t *p = queue_reserve_wait(q, PM4_RELEASE_MEM_DW, LONG_MS);

		if (!p)
			break;
		queue_commit(q, pm4_signal(p, event_slot(ev), ev->EventId));
		queue_submit(q);
		ok += hsaKmtWaitOnEvent(ev, LONG_MS) == HSAKMT_STATUS_SUCCESS;
		t = now_ns() - t;
		*sum += t;
		if (t > *worst)
			*worst = t;
	}
	return ok;
}

int main(void)
{
	struct queue endless, q;
	volatile uint64_t *word;
	uint64_t worst, sum, t;
	uint32_t *ib;
	HsaEvent *ev;

	tap_begin(600);
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	ib = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!word || !ib || !ev || queue_create(&q, &gpu, RING_BYTES) ||
	    queue_create(&endless, &gpu, RING_BYTES))
		tap_bail("no memory, event or queue");

	tap_is(rounds(&q, ev, &worst, &sum), ROUNDS, "every signal arrives on an idle GPU");
	tap_diag("idle: mean %llu us, worst %llu us", (unsigned long long)sum / ROUNDS / 1000,
		 (unsigned long long)worst / 1000);

	make_endless(ib, word);
	queue_commit(&endless, pm4_ib(queue_reserve_wait(&endless, PM4_IB_DW, LONG_MS),
				      gpu_va(ib), 64 * PM4_WRITE64_DW + PM4_IB_DW));
	queue_submit(&endless);
	tap_ok(wait_word(word, 64, LONG_MS), "a queue with an endless chain of IBs runs");
	tap_is(rounds(&q, ev, &worst, &sum), ROUNDS, "every signal of another queue arrives");
	tap_diag("beside it: mean %llu us, worst %llu us", (unsigned long long)sum / ROUNDS / 1000,
		 (unsigned long long)worst / 1000);
	t = now_ns();
	tap_is(queue_destroy(&endless), 0, "the endless queue is destroyed");
	tap_diag("in %llu us", (unsigned long long)(now_ns() - t) / 1000);
	*word = 0;
	tap_is(rounds(&q, ev, &worst, &sum), ROUNDS, "the other queue goes on");
	tap_is((int64_t)*word, 0, "and the destroyed one does not");
	tap_is(queue_destroy(&q), 0, "the other is destroyed");
	hsaKmtDestroyEvent(ev);
	gpu_close();
	return tap_done();
}
