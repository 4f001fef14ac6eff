// SPDX-License-Identifier: MIT
/*
 * A queue with a bad packet is destroyed while interrupts of the GPU are held back, and
 * another one gets its slot and its doorbell. The driver must hear of the bad packet
 * before it lets go of the queue, and when the interrupt comes at last it must not stop
 * the new one.
 */
#include "gpu.h"
#include "msix.h"
#include "queue.h"
#include "tap.h"

#define IT_UNKNOWN	0xff
#define BAD_DW		3u
#define ROUNDS		10u
#define LONG_MS		60000u

static struct gpu gpu;
static uint64_t *word, next = 1;

static void create(struct queue *q)
{
	if (queue_create(q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("queue");
}

/* A store by @q, seen by polling; what other queues were given before is then done too. */
static bool runs(struct queue *q)
{
	uint32_t *p = queue_reserve_wait(q, PM4_WRITE64_DW, LONG_MS);

	if (!p)
		return false;
	queue_commit(q, pm4_write64(p, gpu_va(word), next));
	queue_submit(q);
	return wait_word(word, next++, LONG_MS);
}

static void submit_bad(struct queue *q)
{
	uint32_t *p = queue_reserve(q, BAD_DW);

	p[0] = PACKET3_COMPUTE(IT_UNKNOWN, BAD_DW - 1);
	p[1] = 0;
	p[2] = 0;
	queue_commit(q, p + BAD_DW);
	queue_submit(q);
}

int main(void)
{
	unsigned int i, heard = 0, alive = 0;
	HsaEvent *hw, *done;
	struct queue q, other;

	tap_begin(300);
	if (!msix_open())
		tap_skip_all("no MSI-X capability to be seen");
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	done = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!word || !hw || !done)
		tap_bail("memory or events");
	create(&other);
	for (i = 0; i < ROUNDS; i++) {
		uint32_t *p;

		create(&q);
		msix_hold(true);
		submit_bad(&q);
		if (!runs(&other) || !runs(&other))
			tap_bail("the other queue does not run");
		queue_destroy(&q);
		heard += hsaKmtWaitOnEvent(hw, 0) == HSAKMT_STATUS_SUCCESS;
		create(&q);
		msix_hold(false);

		/* Behind this one the report has been acted on, whatever that was. */
		p = queue_reserve_wait(&other, PM4_RELEASE_MEM_DW, LONG_MS);
		queue_commit(&other, pm4_signal(p, event_slot(done), done->EventId));
		queue_submit(&other);
		if (hsaKmtWaitOnEvent(done, LONG_MS) != HSAKMT_STATUS_SUCCESS)
			tap_bail("interrupts do not come back");
		alive += runs(&q) && runs(&q) &&
			 /* one that was stopped refuses this */
			 hsaKmtUpdateQueue(q.res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, q.ring,
					   GPU_PAGE, NULL) == HSAKMT_STATUS_SUCCESS;
		queue_destroy(&q);
		if (alive <= i)
			break;
	}
	tap_is(heard, ROUNDS, "bad packets heard of before the queue was gone");
	tap_is(alive, ROUNDS, "new queues that go on");
	queue_destroy(&other);
	gpu_close();
	return tap_done();
}
