// SPDX-License-Identifier: MIT
/*
 * max_events: creates as many signal events as a process may have (4095),
 * signals them all from one queue in one submission, and waits for each. One
 * line says what happened. Exit status: 0 all came; 1 not; 2 bad options.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"
#include "queue.h"

#define MAX_EVENTS	4095u
#define RING_BYTES	(256u * 1024)
#define WAIT_MS		60000u

static HsaEvent *event[MAX_EVENTS + 1];

static int fail(const char *what, unsigned int n, HSAKMT_STATUS s)
{
	fprintf(stderr, "max_events: %s %u: %s\n", what, n, status_name(s));
	return 1;
}

int main(int argc, char **argv)
{
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };
	unsigned int i, n = 0;
	uint64_t t0, t1, t2;
	struct queue q;
	struct gpu g;
	HSAKMT_STATUS s;
	uint32_t *p;

	if (argc > 1) {
		fprintf(stderr, "max_events: unknown option: %s; it takes none\n", argv[1]);
		return 2;
	}
	s = gpu_open(&g);
	if (s != HSAKMT_STATUS_SUCCESS)
		return fail("opening GPU", 0, s);
	desc.NodeId = g.node;
	while (n <= MAX_EVENTS) {
		s = hsaKmtCreateEvent(&desc, false, false, &event[n]);
		if (s != HSAKMT_STATUS_SUCCESS)
			break;
		if (!event[n]->EventId || event[n]->EventId > MAX_EVENTS)
			return fail("event with impossible id", event[n]->EventId, s);
		n++;
	}
	if (n != MAX_EVENTS)
		return fail("creating 4095 events gave", n, s);

	s = queue_create(&q, &g, RING_BYTES);
	if (s != HSAKMT_STATUS_SUCCESS)
		return fail("creating queue", 0, s);
	for (i = 0; i < n; i++) {
		p = queue_reserve(&q, PM4_RELEASE_MEM_DW);
		if (!p)
			return fail("no room in the ring for event", i, HSAKMT_STATUS_ERROR);
		queue_commit(&q, pm4_signal(p, event_slot(event[i]), event[i]->EventId));
	}
	t0 = now_ns();
	queue_submit(&q);
	for (i = 0; i < n; i++) {
		s = event_wait(event[i], WAIT_MS);
		if (s != HSAKMT_STATUS_SUCCESS)
			return fail("waiting for event", event[i]->EventId, s);
	}
	t1 = now_ns();
	/* Each signal was consumed by its wait: none may be left. */
	for (i = 0; i < n; i++) {
		s = hsaKmtWaitOnEvent(event[i], 0);
		if (s != HSAKMT_STATUS_WAIT_TIMEOUT)
			return fail("second signal of event", event[i]->EventId, s);
	}
	if (!queue_wait_idle(&q, WAIT_MS))
		return fail("queue not idle", 0, HSAKMT_STATUS_ERROR);
	s = queue_destroy(&q);
	if (s != HSAKMT_STATUS_SUCCESS)
		return fail("destroying queue", 0, s);
	for (i = 0; i < n; i++) {
		s = hsaKmtDestroyEvent(event[i]);
		if (s != HSAKMT_STATUS_SUCCESS)
			return fail("destroying event", i, s);
	}
	t2 = now_ns();
	gpu_close();
	printf("%u events signalled by one queue and waited for, each once: %.1f ms, all in %.1f ms\n",
	       n, (double)(t1 - t0) / 1e6, (double)(t2 - t0) / 1e6);
	return 0;
}
