// SPDX-License-Identifier: MIT
/*
 * VRAM of one GPU in the page tables of another, its peer, while it moves: mapped there when it
 * is away, moving while it is mapped and in use, and away when its GPU goes. To the byte.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "driver.h"
#include "gem_bo.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"

#define MIB	(1u << 20)
#define BOS	4u
#define SIZE	(2u * MIB)
#define ARENA	(BOS * SIZE)
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define RING_BYTES	8192u
#define MOVES	8u
#define WORDS	64u
#define STRIDE	(SIZE / WORDS)
#define VALUE	0x5eed5eedu

/**
 * struct pair - this process on both GPUs
 * @near: the GPU whose memory it is
 * @far: its peer, with queues
 * @c: files and ids of the process on @near, for ioctls; no queue
 * @bo, @view: memory of GEM on @near, and where both GPUs would see it
 * @kfd: memory that makes @bo go
 * @sys: SIZE bytes of system memory
 */
struct pair {
	struct gpu near, far;
	struct queue q;
	struct sdma_queue sdma;
	struct copier c;
	struct buffer hog, kfd, view[BOS];
	struct gem_bo bo[BOS];
	uint32_t *sys;
	volatile uint64_t *word;
	uint64_t jobs;
};

static int map_on(struct pair *p, const struct gpu *g, const struct buffer *b)
{
	uint32_t id = g->props.KFDGpuID;
	struct kfd_ioctl_map_memory_to_gpu_args a = {
		.handle = b->handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&id,
		.n_devices = 1,
	};

	return kfd_call(p->c.r.p.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &a);
}

/* Nothing is left of VRAM of @near but what @bo take, which only the peer has mapped. */
static void pair_open(struct pair *p)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	if (gpu_open_nth(&p->near, 0) != HSAKMT_STATUS_SUCCESS ||
	    gpu_open_nth(&p->far, 1) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&p->q, &p->far, RING_BYTES) != HSAKMT_STATUS_SUCCESS ||
	    sdma_queue_create(&p->sdma, &p->far, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no two GPUs, or no queues on the second");
	p->sys = mem_alloc(&p->far, MEM_GTT, SIZE);
	p->word = mem_alloc(&p->far, MEM_GTT, GPU_PAGE);
	p->c.r.p = (struct kfd_proc) {
		.kfd = kfd_open(), .render = gem_render_open(), .gpu_id = p->near.props.KFDGpuID,
	};
	if (!p->sys || !p->word)
		tap_bail("system memory");
	hog_all_but(&p->c, &p->hog, ARENA);
	for (i = 0; i < BOS; i++) {
		if (gem_create(&p->bo[i], p->c.r.p.render, SIZE, VRAM) ||
		    gem_to_kfd(&p->bo[i], &p->c, &p->view[i]) ||
		    kfd_unmap(&p->c.r.p, p->view[i].handle))
			tap_bail("GEM_CREATE");
		pattern_put(gem_map(&p->bo[i]), SIZE, i);
	}
}

static void go(struct pair *p)
{
	int err = buffer_alloc(&p->c, &p->kfd, ARENA, KFD_VRAM);

	if (err)
		tap_bail("KFD's memory: %d", err);
}

static bool come_back(struct pair *p)
{
	return !buffer_free(&p->c, &p->kfd) && vram_settle("away", 0);
}

static bool finish(struct pair *p)
{
	uint32_t *at = sdma_queue_reserve(&p->sdma, SDMA_PKT_FENCE_DW);

	sdma_queue_commit(&p->sdma, sdma_fence(at, gpu_va(p->word), (uint32_t)++p->jobs));
	sdma_queue_submit(&p->sdma);
	return wait_word32((const volatile uint32_t *)p->word, (uint32_t)p->jobs, COPIER_MS);
}

/* The peer copies @view[@i] to @sys, where seed @seed's pattern then is. */
static bool peer_reads(struct pair *p, unsigned int i, uint32_t seed)
{
	uint32_t *at = sdma_queue_reserve(&p->sdma, SDMA_PKT_COPY_LINEAR_DW);

	memset(p->sys, 0, SIZE);
	sdma_queue_commit(&p->sdma, sdma_copy(at, gpu_va(p->sys), p->view[i].va, SIZE));
	return finish(p) && !pattern_wrong(p->sys, SIZE, seed);
}

/* It copies @seed's pattern there. */
static bool peer_writes(struct pair *p, unsigned int i, uint32_t seed)
{
	uint32_t *at = sdma_queue_reserve(&p->sdma, SDMA_PKT_COPY_LINEAR_DW);

	pattern_put(p->sys, SIZE, seed);
	sdma_queue_commit(&p->sdma, sdma_copy(at, p->view[i].va, gpu_va(p->sys), SIZE));
	return finish(p);
}

static void at_rest(void *unused)
{
	struct pair p;

	(void)unused;
	pair_open(&p);
	go(&p);
	tap_is(vram_counter("away"), BOS, "memory of a GPU is away");
	tap_is(map_on(&p, &p.far, &p.view[0]), 0, "its peer maps it there");
	tap_ok(peer_reads(&p, 0, 0), "and reads it");
	tap_ok(peer_writes(&p, 0, 100), "and writes it");
	tap_is((int64_t)pattern_wrong(p.bo[0].cpu, SIZE, 100), 0, "where a CPU finds that");
	tap_ok(come_back(&p), "it moves back with the peer's mapping");
	tap_is((int64_t)pattern_wrong(p.bo[0].cpu, SIZE, 100), 0, "the CPU finds the same there");
	tap_ok(peer_reads(&p, 0, 100), "so does the peer");
	tap_ok(peer_writes(&p, 0, 200), "which writes again");
	tap_is(map_on(&p, &p.far, &p.view[1]), 0, "it maps another that is there");
	go(&p);
	tap_is(vram_counter("away"), BOS, "and both move away");
	tap_ok(peer_reads(&p, 0, 200) && peer_reads(&p, 1, 1), "the peer reads either");
	tap_is(map_on(&p, &p.near, &p.view[0]), 0, "its own GPU maps it, too");
	tap_ok(come_back(&p), "all move back");
	tap_ok(peer_reads(&p, 0, 200) && peer_reads(&p, 1, 1), "and the peer reads either");
	tap_is((int64_t)(pattern_wrong(p.bo[0].cpu, SIZE, 200) + pattern_wrong(p.bo[1].cpu, SIZE, 1) +
			 pattern_wrong(p.bo[2].cpu, SIZE, 2) + pattern_wrong(p.bo[3].cpu, SIZE, 3)), 0,
	       "CPUs find everything");
	tap_ok(vram_process_counter(getpid(), "evictions") > 0, "queues were off for that");
	tap_is(vram_process_counter(getpid(), "evictions"),
	       vram_process_counter(getpid(), "restores"), "and came back as often");
}

/* Adds 1 to each word of the first BO, again and again. */
struct adder {
	struct pair *p;
	pthread_t thread;
	_Atomic uint32_t laps;
	_Atomic bool stop, stuck;
};

static void *add(void *arg)
{
	struct adder *a = arg;
	struct queue *q = &a->p->q;
	unsigned int i;
	uint32_t *at;

	while (!a->stop && !a->stuck) {
		for (i = 0; i < WORDS; i++) {
			at = queue_reserve_wait(q, PM4_ADD64_DW, COPIER_MS);
			a->stuck |= !at;
			if (!at)
				return NULL;
			queue_commit(q, pm4_add64(at, a->p->view[0].va + i * STRIDE, 1));
			queue_submit(q);
		}
		a->laps++;
	}
	return NULL;
}

/* The watchdog ends this if it never does. */
static void adder_goes_on(struct adder *a)
{
	uint32_t laps = a->laps;

	while (a->laps < laps + 2 && !a->stuck)
		sched_yield();
}

static void in_use(void *unused)
{
	struct adder a = { 0 };
	unsigned int i, wrong = 0, late = 0;
	struct pair p;

	(void)unused;
	pair_open(&p);
	for (i = 0; i < WORDS; i++)
		*(volatile uint64_t *)((char *)p.bo[0].cpu + i * STRIDE) = 0;
	if (map_on(&p, &p.far, &p.view[0]))
		tap_bail("no mapping on the peer");
	a.p = &p;
	if (pthread_create(&a.thread, NULL, add, &a))
		tap_bail("no thread");
	for (i = 0; i < MOVES; i++) {
		adder_goes_on(&a);
		go(&p);
		adder_goes_on(&a);
		late += !come_back(&p);
	}
	adder_goes_on(&a);
	a.stop = true;
	pthread_join(a.thread, NULL);
	tap_is(late, 0, "memory moves away and back %u times", MOVES);
	tap_ok(!a.stuck && queue_wait_idle(&p.q, COPIER_MS),
	       "while its peer adds to %u words of it, %u times", WORDS, a.laps);
	/* What has been read has not been done for sure: it has behind this. */
	queue_commit(&p.q, pm4_write64(queue_reserve_wait(&p.q, PM4_WRITE64_DW, COPIER_MS),
				       gpu_va(p.word), VALUE));
	queue_submit(&p.q);
	tap_ok(wait_word(p.word, VALUE, COPIER_MS), "all packets are done");
	for (i = 0; i < WORDS; i++)
		wrong += *(volatile uint64_t *)((char *)p.bo[0].cpu + i * STRIDE) != a.laps;
	tap_is(wrong, 0, "no addition is lost, and none is done twice");
	tap_is(vram_process_counter(getpid(), "evictions"),
	       vram_process_counter(getpid(), "restores"), "the peer's queues came back as often as they went");
	tap_ok(vram_process_counter(getpid(), "evictions") >= 2 * (int64_t)MOVES, "each time");
}

/* The GPU goes, and what was away from it is still there, for its peer as well. */
static void unplugged(void *unused)
{
	struct pair p;

	(void)unused;
	pair_open(&p);
	if (map_on(&p, &p.far, &p.view[0]))
		tap_bail("no mapping on the peer");
	go(&p);
	tap_ok(peer_writes(&p, 0, 300), "the peer writes memory that is away");
	tap_ok(gpu_remove(p.near.props.Domain, p.near.props.LocationId), "the GPU is unplugged");
	tap_is((int64_t)pattern_wrong(p.bo[0].cpu, SIZE, 300), 0, "a CPU finds the memory");
	tap_ok(peer_reads(&p, 0, 300), "and the peer does");
	tap_ok(gpu_rescan(), "the GPU is back");
	tap_ok(peer_writes(&p, 0, 400) && !pattern_wrong(p.bo[0].cpu, SIZE, 400),
	       "the memory is what it was");
}

int main(void)
{
	struct vram_base base;
	char parameters[64];

	tap_begin(300);
	/* Node 0 is the CPUs'. */
	if (access("/sys/devices/virtual/kfd/kfd/topology/nodes/2/gpu_id", F_OK))
		tap_skip_all("there is one GPU: ./run.sh exec --gpus 2");
	snprintf(parameters, sizeof(parameters), "sched_policy=%d pcie_p2p=2", driver_sched_policy());
	if (!tap_ok(driver_reload_with(parameters), "the driver is told to make peers of them"))
		return tap_done();
	vram_base_take(&base);
	tap_child("at rest", at_rest, NULL);
	vram_nothing_left(&base, "at rest");
	tap_child("in use", in_use, NULL);
	vram_nothing_left(&base, "in use");
	/* Or it could not be unplugged. */
	close(base.render);
	tap_child("unplugged", unplugged, NULL);
	return tap_done();
}
