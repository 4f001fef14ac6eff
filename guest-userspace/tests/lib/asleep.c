// SPDX-License-Identifier: MIT
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "asleep.h"
#include "gpu.h"

static char thread_state(pid_t tid)
{
	char path[64], line[256], *end;
	char state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return state;
	/* "tid (name) S ...": the name may hold anything, so look from its end. */
	if (fgets(line, sizeof(line), f)) {
		end = strrchr(line, ')');
		if (end && end[1] == ' ')
			state = end[2];
	}
	fclose(f);
	return state;
}

bool wait_asleep(pid_t tid, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (thread_state(tid) != 'S') {
		if (now_ns() > end)
			return false;
		sched_yield();
	}
	return true;
}
