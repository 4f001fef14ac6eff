// SPDX-License-Identifier: MIT
/*
 * Pipelines across queues and packet languages, as the demo of that name runs them: chains,
 * diamonds, fan-in; and one that breaks by a fault, told by an exception that is waited for
 * together with the signal.
 */
#include <stdio.h>

#include "driver.h"
#include "gpu.h"
#include "pipeline.h"
#include "tap.h"

/* What there are slots for without a scheduler. */
#define DIRECT_STAGES	24u
#define SDMA_STAGES	16u
/* Queues take long to make there. */
#define SLOW_STAGES	12u

static unsigned int most, rounds;

static void run(enum pl_shape shape, unsigned int n, enum pl_kind kind, bool mixed)
{
	const char *kinds = mixed ? "mixed" : pl_kind_name(kind);
	struct pl_result r = { 0 };
	struct pipeline pl;
	unsigned int i = 0;
	struct gpu gpu;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	if (pl_open(&pl, &gpu, shape, n, kind, mixed))
		while (i < rounds && pl_run(&pl, &r) && r.ok)
			i++;
	if (!tap_is(i, rounds, "%s of %u stages, %s: all stages in order, each time",
		    pl_shape_name(shape), n, kinds))
		tap_diag("%s", pl.error);
	pl_close(&pl);
	gpu_close();
}

/* One process for each: nothing of one is left for the next. */
static void run_shape(void *arg)
{
	enum pl_shape shape = *(enum pl_shape *)arg;
	unsigned int k;

	run(shape, most, PL_PM4, true);
	for (k = 0; k < PL_KINDS; k++)
		run(shape, k == PL_SDMA && most > SDMA_STAGES ? SDMA_STAGES : most, (enum pl_kind)k, false);
	run(shape, 2, PL_PM4, true);
}

static void break_it(void *arg)
{
	int stage = *(int *)arg;
	struct pl_result r;
	struct pipeline pl;
	struct gpu gpu;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	if (!pl_open(&pl, &gpu, PL_CHAIN, 12, PL_PM4, true) || !pl_run(&pl, &r) || !r.ok)
		tap_bail("%s", pl.error);
	pl.fault = stage;
	tap_ok(pl_run(&pl, &r) && r.faulted && !r.ok,
	       "stage %d faults: the MEMORY event ends a wait for it or the signal", stage);
	tap_is((int64_t)(r.va & ~0xfffull), 0x7ff000000000ll, "with the address");
	pl_close(&pl);
	gpu_close();
}

int main(void)
{
	/* PM4, AQL, SDMA. */
	int stages[] = { 3, 4, 5 };
	unsigned int i;

	tap_begin(900);
	most = kernel_is_slow() ? SLOW_STAGES : driver_sched_policy() == 2 ? DIRECT_STAGES : 64;
	rounds = scaled(200, 20);
	for (i = 0; i < PL_SHAPES; i++) {
		enum pl_shape shape = (enum pl_shape)i;

		tap_child(pl_shape_name(shape), run_shape, &shape);
	}
	for (i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		tap_child("a fault", break_it, &stages[i]);
	return tap_done();
}
