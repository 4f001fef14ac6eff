// SPDX-License-Identifier: MIT
/*
 * The three ways to wait. Each only reports that some batch may be done; the
 * caller looks at all fences afterwards.
 */
#include <sched.h>

#include "mq.h"

static bool wait_status(HSAKMT_STATUS s, struct mq_result *r, bool *timed_out)
{
	*timed_out = s == HSAKMT_STATUS_WAIT_TIMEOUT;
	if (s == HSAKMT_STATUS_SUCCESS || *timed_out)
		return true;
	mq_fail(r, "the wait failed: %s", status_name(s));
	return false;
}

/*
 * Looks at every slot once. A written slot is reset before the caller reads the
 * fences: a batch that completes after the reset writes the slot again, one
 * before it is seen in its fence.
 */
static bool poll_slots(struct mq *mq)
{
	bool news = false;
	uint32_t i;

	for (i = 0; i < mq->queues; i++) {
		uint64_t *slot = event_slot(mq->queue[i].event);

		if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == GPU_EVENT_UNSIGNALED)
			continue;
		__atomic_store_n(slot, GPU_EVENT_UNSIGNALED, __ATOMIC_SEQ_CST);
		news = true;
	}
	/* The resets are visible to the GPU before the fences are read. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return news;
}

static bool wait_poll(struct mq *mq, bool *timed_out)
{
	uint64_t end = now_ns() + MQ_STUCK_MS * 1000000ull;

	*timed_out = false;
	while (!poll_slots(mq)) {
		if (now_ns() > end) {
			*timed_out = true;
			return true;
		}
		/* On one CPU somebody else may have to run first. */
		sched_yield();
	}
	return true;
}

bool mq_wait(struct mq *mq, enum mq_method m, HsaEvent **events, uint64_t *ages,
	     struct mq_result *r, bool *timed_out)
{
	HSAuint32 n = mq->queues + 1;

	switch (m) {
	case MQ_INTERRUPT:
		return wait_status(events_wait(events, n, false, MQ_STUCK_MS, NULL), r, timed_out);
	case MQ_AGE:
		return wait_status(events_wait(events, n, false, MQ_STUCK_MS, ages), r, timed_out);
	case MQ_POLL:
		return wait_poll(mq, timed_out);
	default:
		mq_fail(r, "no such method");
		return false;
	}
}
