/* SPDX-License-Identifier: MIT */
/*
 * A second, independent statement of what an event does, to compare the driver's
 * with: it keeps the whole history and derives every answer from it.
 */
#ifndef EVENT_CORE_MODEL_H
#define EVENT_CORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_WAITERS	3

/* How a call of WAIT_EVENTS on the event stands. */
enum model_waiter {
	MODEL_ABSENT,	/* no such call */
	MODEL_IDLE,	/* waits */
	MODEL_FIRED,	/* woken by a signal, or began after one */
	MODEL_BY_AGE,	/* began with an old age and took no signal */
};

/**
 * struct model - one event with up to MODEL_WAITERS calls waiting for it
 * @signals: signals so far
 * @pending: a signal nobody has been told about
 * @waiter: the calls
 */
struct model {
	bool auto_reset;
	uint64_t signals;
	bool pending;
	enum model_waiter waiter[MODEL_WAITERS];
};

void model_signal(struct model *m);
void model_reset(struct model *m);
/* @last_age: 0 if the call does not use ages. */
void model_begin(struct model *m, int i, uint64_t last_age);
/* The call returns; @reports: its caller is told that the event fired. */
void model_end(struct model *m, int i, bool reports);
uint64_t model_age(const struct model *m);

#endif /* EVENT_CORE_MODEL_H */
