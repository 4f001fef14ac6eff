// SPDX-License-Identifier: MIT
/*
 * What it costs that memory of others leaves VRAM, with how much there is to choose from: KFD
 * allocates pages where GEM's are, while many others are KFD's, were used longer ago, and stay.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "gem_bo.h"
#include "memory_bench.h"

#define KFD_VRAM	(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)

/* One row at a time. */
static struct {
	struct kfd_proc p;
	uint64_t *stay;
	unsigned int staying;
	uint64_t hog;
	uint64_t taken[EVICT_MOVES];
	unsigned int n;
	struct gem_bo gem[EVICT_MOVES];
} state;

static bool take(uint64_t *handle, uint64_t size)
{
	/* Nothing is mapped, so any address does. */
	return !kfd_alloc(&state.p, 1ull << 40, size, KFD_VRAM, handle, NULL);
}

bool evict_begin(struct bench *b, const struct row *r)
{
	unsigned int i;

	state.p = (struct kfd_proc) {
		.kfd = b->kfd, .render = gem_render_open(), .gpu_id = b->gpu_id,
	};
	state.stay = calloc(r->n, sizeof(*state.stay));
	if (!state.stay)
		return false;
	for (state.staying = 0; state.staying < r->n; state.staying++)
		if (!take(&state.stay[state.staying], GPU_PAGE))
			return false;
	for (i = 0; i < EVICT_MOVES; i++)
		if (gem_create(&state.gem[i], state.p.render, GPU_PAGE, AMDGPU_GEM_DOMAIN_VRAM))
			return false;
	return take(&state.hog, (uint64_t)vram_counter("free"));
}

static bool give_back(void)
{
	for (; state.n; state.n--)
		if (kfd_free(&state.p, state.taken[state.n - 1]))
			return false;
	return vram_settle("away", 0);
}

bool evict_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	bool ok = give_back();

	(void)b;
	(void)r;
	stopwatch_start(w);
	while (ok && state.n < EVICT_MOVES) {
		ok = take(&state.taken[state.n], GPU_PAGE);
		state.n += ok;
	}
	stopwatch_stop(w);
	return ok && vram_counter("away") == EVICT_MOVES;
}

bool evict_end(struct bench *b, const struct row *r)
{
	bool ok = give_back() && !kfd_free(&state.p, state.hog);
	unsigned int i;

	(void)b;
	(void)r;
	for (i = 0; i < EVICT_MOVES; i++)
		gem_free(&state.gem[i]);
	while (state.staying)
		ok &= !kfd_free(&state.p, state.stay[--state.staying]);
	free(state.stay);
	close(state.p.render);
	return ok;
}
