// SPDX-License-Identifier: MIT
/*
 * What waking a thread costs without any device: two threads and two eventfds, on one
 * CPU or each on its own. A sample is there and back.
 */
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"

#define PING	1u
#define STOP	2u

/* The CPUs this program may use; filled in by the first begin. */
static cpu_set_t allowed;
static bool have_allowed;

static void *ping_thread(void *arg)
{
	struct peer_eventfd *p = arg;
	uint64_t v;

	while (read(p->there, &v, sizeof(v)) == sizeof(v) && v == PING)
		if (write(p->back, &v, sizeof(v)) != sizeof(v))
			break;
	return NULL;
}

/* The @i-th CPU of those allowed, alone. */
static void one_cpu(cpu_set_t *set, unsigned int i)
{
	int cpu;

	CPU_ZERO(set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || i--)
			continue;
		CPU_SET(cpu, set);
		return;
	}
}

const char *eventfd_unavailable_two(const struct bench *b)
{
	cpu_set_t set;

	(void)b;
	return sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2 ?
		"needs two CPUs" : NULL;
}

bool eventfd_begin(struct bench *b, const struct row *r)
{
	struct peer_eventfd *p = &b->eventfd;
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	if (!have_allowed && sched_getaffinity(0, sizeof(allowed), &allowed))
		return false;
	have_allowed = true;
	p->there = eventfd(0, EFD_CLOEXEC);
	p->back = eventfd(0, EFD_CLOEXEC);
	if (p->there < 0 || p->back < 0)
		return false;
	one_cpu(&set, r->n - 1);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	err = pthread_create(&p->thread, &attr, ping_thread, p);
	pthread_attr_destroy(&attr);
	one_cpu(&set, 0);
	return !err && !sched_setaffinity(0, sizeof(set), &set);
}

bool eventfd_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	struct peer_eventfd *p = &b->eventfd;
	uint64_t v = PING;
	bool ok;

	(void)r;
	stopwatch_start(w);
	ok = write(p->there, &v, sizeof(v)) == sizeof(v) && read(p->back, &v, sizeof(v)) == sizeof(v);
	stopwatch_stop(w);
	return ok && v == PING;
}

bool eventfd_end(struct bench *b, const struct row *r)
{
	struct peer_eventfd *p = &b->eventfd;
	uint64_t v = STOP;

	(void)r;
	if (write(p->there, &v, sizeof(v)) != sizeof(v) || pthread_join(p->thread, NULL))
		return false;
	close(p->there);
	close(p->back);
	return !sched_setaffinity(0, sizeof(allowed), &allowed);
}
