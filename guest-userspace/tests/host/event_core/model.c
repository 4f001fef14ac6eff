/* SPDX-License-Identifier: MIT */
#include "model.h"

/* Everybody who waits is told at once; an auto-reset event then forgets. */
static void tell(struct model *m)
{
	bool told = false;
	int i;

	for (i = 0; i < MODEL_WAITERS; i++) {
		if (m->waiter[i] != MODEL_IDLE)
			continue;
		m->waiter[i] = MODEL_FIRED;
		told = true;
	}
	m->pending = !(m->auto_reset && told);
}

void model_signal(struct model *m)
{
	m->signals++;
	tell(m);
}

void model_reset(struct model *m)
{
	m->pending = false;
}

void model_begin(struct model *m, int i, uint64_t last_age)
{
	if (m->pending) {
		m->waiter[i] = MODEL_FIRED;
		if (m->auto_reset)
			m->pending = false;
	} else if (last_age && last_age != model_age(m)) {
		m->waiter[i] = MODEL_BY_AGE;
	} else {
		m->waiter[i] = MODEL_IDLE;
	}
}

void model_end(struct model *m, int i, bool reports)
{
	bool untold = m->auto_reset && m->waiter[i] == MODEL_FIRED && !reports;

	m->waiter[i] = MODEL_ABSENT;
	/* A signal its caller never hears of is as if it had just come, but not new. */
	if (untold)
		tell(m);
}

uint64_t model_age(const struct model *m)
{
	return m->signals + 1;
}
