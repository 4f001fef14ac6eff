// SPDX-License-Identifier: MIT
#include <sched.h>

#include "queue_bench.h"

bool poll_word(const volatile uint64_t *word, uint64_t value)
{
	uint64_t end = now_ns() + BENCH_WAIT_MS * 1000000ull;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
		if (now_ns() > end)
			return false;
		sched_yield();
	}
	return true;
}
