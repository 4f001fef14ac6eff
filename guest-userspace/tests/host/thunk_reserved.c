// SPDX-License-Identifier: MIT
/*
 * GPUs that do not reach all of the process: addresses from a reserved range. Not
 * under a sanitizer, whose shadow memory lies just there.
 */
#include <stdlib.h>
#include <string.h>

#include "thunk_fake.h"

static const HsaMemFlags host = { .ui32 = { .HostAccess = 1 } };

static void reserved_range(void)
{
	void *a, *b;

	fake.gpuvm_limit = (1ull << 38) - 1;
	fake_open();
	tap_is(hsaKmtAllocMemory(0, 4096, host, &a), HSAKMT_STATUS_SUCCESS, "a GPU with 38 address bits");
	tap_ok((uintptr_t)a < 1ull << 38, "gets addresses it reaches");
	hsaKmtAllocMemory(0, 1 << 20, host, &b);
	tap_ok((uintptr_t)b < 1ull << 38 && (char *)b >= (char *)a + 4096, "each its own");
	memset(a, 1, 4096);
	memset(b, 1, 1 << 20);
	hsaKmtFreeMemory(a, 4096);
	hsaKmtFreeMemory(b, 1 << 20);
	hsaKmtAllocMemory(0, 4096, host, &b);
	tap_ok(a == b, "and takes freed ones again");
	tap_is(*(char *)b, 0, "zeroed");
	hsaKmtFreeMemory(b, 4096);
}

static void by_environment(void)
{
	void *a;

	setenv("HSA_RESERVE_SVM", "1", 1);
	fake_open();
	tap_is(hsaKmtAllocMemory(0, 4096, host, &a), HSAKMT_STATUS_SUCCESS, "HSA_RESERVE_SVM=1");
	tap_ok((uintptr_t)a < 1ull << 40, "reserves the low terabyte");
	hsaKmtFreeMemory(a, 4096);
}

int main(void)
{
	tap_begin(60);
	fake_scenario("short addresses", reserved_range);
	fake_scenario("by environment", by_environment);
	return tap_done();
}
