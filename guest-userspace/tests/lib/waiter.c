// SPDX-License-Identifier: MIT
#include <sched.h>
#include <unistd.h>

#include "asleep.h"
#include "tap.h"
#include "waiter.h"

#define ASLEEP_MS	60000u

static void *run(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	w->status = events_wait(w->events, w->n, w->all, w->ms, w->ages);
	w->done = true;
	return NULL;
}

void waiter_launch(struct waiter *w)
{
	w->done = false;
	w->tid = 0;
	if (pthread_create(&w->thread, NULL, run, w))
		tap_bail("no thread for a waiter");
}

void waiter_start(struct waiter *w)
{
	waiter_launch(w);
	while (!w->tid)
		sched_yield();
	if (!wait_asleep(w->tid, ASLEEP_MS))
		tap_bail("a waiter does not sleep%s", w->done ? ": its wait has returned" : "");
}

HSAKMT_STATUS waiter_join(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	return w->status;
}
