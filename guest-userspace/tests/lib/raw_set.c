// SPDX-License-Identifier: MIT
#include "queue.h"
#include "raw_set.h"
#include "tap.h"

void raw_set_open(struct raw_set *s)
{
	s->n = 0;
	raw_open(&s->r, RAW_QUEUES + 1);
}

void raw_set_close(struct raw_set *s)
{
	raw_close(&s->r);
}

int raw_set_create(struct raw_set *s, uint32_t type)
{
	int err = raw_queue_create(&s->q[s->n], &s->r, type);

	if (err)
		return err;
	if (s->n++ == RAW_QUEUES)
		tap_bail("more queues than a process may have");
	return 0;
}

int raw_set_destroy(struct raw_set *s, unsigned int i)
{
	return raw_queue_destroy(&s->q[i]);
}

unsigned int raw_set_run(struct raw_set *s, uint32_t value, unsigned int ms)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < s->n; i++) {
		raw_put_write(&s->q[i], s->q[i].word, value + i);
		raw_submit(&s->q[i]);
	}
	for (i = 0; i < s->n; i++)
		wrong += !wait_word(s->q[i].word, value + i, ms);
	return wrong;
}
