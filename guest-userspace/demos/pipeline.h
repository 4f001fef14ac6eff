/* SPDX-License-Identifier: MIT */
/*
 * Dependency pipelines without the CPU: a graph of stages, each on a queue of its own.
 *
 * A stage waits for those it depends on, takes the time, and tells those that depend on it:
 *
 *   PM4    WAIT_REG_MEM for each, RELEASE_MEM of the clock, RELEASE_MEM to the signal slot
 *   SDMA   POLL_REGMEM for each, TIMESTAMP, FENCE
 *   AQL    barrier-AND of up to five, then PM4 as above in an indirect buffer
 *
 * A stage can be waited for in two ways, and says both: the slot of its event, which no
 * interrupt announces, for PM4 and SDMA; an HSA signal that becomes 0, for AQL. The CPU
 * releases the first stages and sleeps until the last one's interrupt.
 */
#ifndef VKFD_PIPELINE_H
#define VKFD_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"

#define PL_MAX_STAGES	256u
#define PL_MAX_DEPS	64u
#define PL_WAIT_MS	60000u

enum pl_kind {
	PL_PM4,
	PL_AQL,
	PL_SDMA,
	PL_KINDS,
};

enum pl_shape {
	PL_CHAIN,	/* each depends on the one before */
	PL_DIAMOND,	/* one, two that depend on it, one that depends on both, and so on */
	PL_FAN_IN,	/* all depend on the first, the last on all of them */
	PL_SHAPES,
};

const char *pl_kind_name(enum pl_kind k);
const char *pl_shape_name(enum pl_shape s);

struct pl_stage;

/**
 * struct pipeline
 * @gpu: where
 * @n: stages
 * @stage: of them, PL_MAX_STAGES at most
 * @gate: what the stages without dependencies wait for; the CPU writes it
 * @fault: the stage that writes where nothing is mapped, or -1
 * @memory: MEMORY event, waited on together with the last stage's
 * @error: what went wrong, for a person
 */
struct pipeline {
	const struct gpu *gpu;
	unsigned int n;
	struct pl_stage *stage;
	volatile uint64_t *gate;
	int fault;
	HsaEvent *memory;
	char error[160];
};

/**
 * struct pl_result - one run
 * @ok: every stage ran after those it depends on, and the last one's event fired
 * @faulted: the MEMORY event fired instead
 * @va: where
 * @ns: from the release of the first stage to the wake-up
 * @ticks: of the GPU's clock, from the first stage's stamp to the last one's
 * @cpu_ns: CPU time of the process meanwhile
 */
struct pl_result {
	bool ok;
	bool faulted;
	uint64_t va;
	uint64_t ns;
	uint64_t ticks;
	uint64_t cpu_ns;
};

/*
 * Queues, events and memory for @n stages of @shape. @mixed: the kinds in turn - as long as
 * there are SDMA queues - else all of @kind. false with pl->error.
 */
bool pl_open(struct pipeline *pl, const struct gpu *gpu, enum pl_shape shape, unsigned int n,
	     enum pl_kind kind, bool mixed);
void pl_close(struct pipeline *pl);

/* How many stages of @kind there are. */
unsigned int pl_count(const struct pipeline *pl, enum pl_kind kind);

/*
 * Once through: the packets of all stages, the last stage's first; then the gate. With
 * pl->fault the run is the last, as all queues of the process are stopped after it.
 * false: pl->error says why.
 */
bool pl_run(struct pipeline *pl, struct pl_result *r);

#endif /* VKFD_PIPELINE_H */
