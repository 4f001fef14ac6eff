// SPDX-License-Identifier: MIT
/*
 * How long until a process knows of a fault. Its queues are stopped for good then, so each
 * sample is a process of its own, which says by a pipe how long it took; what it compares
 * with is a process of the same kind that is told of a completion. They are forked by one
 * that never had a thunk open: not every thunk bears being forked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_bench.h"

/* Nothing is ever mapped in the first pages above the part the kernel keeps free. */
#define NOT_MAPPED	0x20000u

struct sample {
	uint64_t ns, cpu_ns;
};

static bool measure_child(bool fault, struct stopwatch *w)
{
	static struct gpu g;
	struct queue q;
	HsaEvent *ev;
	HSAKMT_STATUS s;
	uint32_t *p;

	if (gpu_open(&g) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &g, 4096) != HSAKMT_STATUS_SUCCESS)
		return false;
	ev = event_new(&g, fault ? HSA_EVENTTYPE_MEMORY : HSA_EVENTTYPE_SIGNAL, false);
	if (!ev)
		return false;
	p = queue_reserve(&q, PM4_RELEASE_MEM_DW);
	p = fault ? pm4_write32(p, NOT_MAPPED, 1) : pm4_signal(p, event_slot(ev), ev->EventId);
	queue_commit(&q, p);
	stopwatch_start(w);
	queue_submit(&q);
	s = event_wait(ev, BENCH_WAIT_MS);
	stopwatch_stop(w);
	return s == HSAKMT_STATUS_SUCCESS &&
	       (!fault || ev->EventData.EventData.MemoryAccessFault.VirtualAddress == NOT_MAPPED);
}

static int request[2], answer[2];

/* Forks a child for each request, and passes on what it measured; zeroes if it failed. */
static void serve(void)
{
	struct sample none = { 0 };
	struct stopwatch w;
	bool fault;
	int st;

	while (read(request[0], &fault, sizeof(fault)) == sizeof(fault)) {
		pid_t pid = fork();

		if (!pid) {
			struct sample s;

			/* The thunk says there what a fault is; here it is what was asked for. */
			if (!freopen("/dev/null", "w", stderr) || !measure_child(fault, &w))
				_exit(1);
			s = (struct sample) { w.ns, w.cpu_ns };
			_exit(write(answer[1], &s, sizeof(s)) != sizeof(s));
		}
		if (pid < 0 || waitpid(pid, &st, 0) != pid || !WIFEXITED(st) || WEXITSTATUS(st))
			if (write(answer[1], &none, sizeof(none)) != sizeof(none))
				_exit(1);
	}
	_exit(0);
}

bool fault_server(void)
{
	pid_t pid;

	if (pipe(request) || pipe(answer))
		return false;
	pid = fork();
	if (!pid) {
		close(request[1]);
		close(answer[0]);
		serve();
	}
	close(request[0]);
	close(answer[1]);
	return pid > 0;
}

static bool in_child(bool fault, struct stopwatch *w)
{
	struct sample s;

	if (write(request[1], &fault, sizeof(fault)) != sizeof(fault) ||
	    read(answer[0], &s, sizeof(s)) != sizeof(s))
		return false;
	w->ns = s.ns;
	w->cpu_ns = s.cpu_ns;
	return s.ns;
}

bool fault_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	(void)b;
	(void)r;
	return in_child(true, w);
}

bool signal_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	(void)b;
	(void)r;
	return in_child(false, w);
}
