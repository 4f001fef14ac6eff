/* SPDX-License-Identifier: MIT */
/*
 * Memory by GEM handle, for tests of VRAM under pressure, and what the driver says of VRAM.
 */
#ifndef VKFD_TEST_GEM_BO_H
#define VKFD_TEST_GEM_BO_H

#include <stdbool.h>
#include <stdint.h>

#include "copier.h"

/**
 * struct gem_bo - memory of GEM_CREATE
 * @render: file it is of
 * @handle: GEM's
 * @size: bytes
 * @cpu: its mapping, NULL before gem_map()
 */
struct gem_bo {
	int render;
	uint32_t handle;
	uint64_t size;
	uint32_t *cpu;
};

/* @domains: AMDGPU_GEM_DOMAIN_*. 0 or the negative errno. */
int gem_create(struct gem_bo *g, int render, uint64_t size, uint64_t domains);
/* Maps it for the CPU; ends the program on failure. */
uint32_t *gem_map(struct gem_bo *g);
void gem_free(struct gem_bo *g);
/* Shows it in KFD's VM, at an address of its own: 0 or the negative errno. */
int gem_to_kfd(struct gem_bo *g, struct copier *c, struct buffer *b);

/* A render-node file of its own; ends the program if there is none. */
int gem_render_open(void);
/* A 64-bit answer of AMDGPU_INFO; ends the program if there is none. */
uint64_t gem_info(int render, uint32_t query);

/* A line of /sys/kernel/debug/kfd/vram; waits until it is @want. */
int64_t vram_counter(const char *name);
bool vram_settle(const char *name, int64_t want);
/* A line of proc/PID/vram there. */
int64_t vram_process_counter(int pid, const char *name);

/**
 * struct vram_base - what is taken before a test, and has to be taken after it
 * @render: a render-node file
 */
struct vram_base {
	int render;
	int64_t used, gtt;
};

void vram_base_take(struct vram_base *base);
/* Checks that nothing is left of processes that have ended, once they are taken apart. */
void vram_nothing_left(const struct vram_base *base, const char *what);

/* Each dword of @p gets a value of its own for @seed / how many have not. */
void pattern_put(volatile uint32_t *p, uint64_t bytes, uint32_t seed);
uint64_t pattern_wrong(const volatile uint32_t *p, uint64_t bytes, uint32_t seed);

/* KFD's VRAM of this process, mapped, but for @rest bytes; ends the program on failure. */
void hog_all_but(struct copier *c, struct buffer *hog, uint64_t rest);

#endif /* VKFD_TEST_GEM_BO_H */
