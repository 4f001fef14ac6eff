// SPDX-License-Identifier: MIT
/*
 * VRAM under pressure: who makes room for whom, that memory which moves keeps its contents for
 * CPUs and for the GPU, comes back, and is counted all the time. Most of VRAM is taken by
 * memory of KFD that does not move, so that there is little to fill.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "driver.h"
#include "gem_bo.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "tap.h"

#define MIB	(1u << 20)
#define BOS	8u
#define SIZE	(4u * MIB)
#define ARENA	(BOS * SIZE)
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)

static struct vram_base base;

/* This process with all but ARENA of VRAM, and GEM BOs there. */
struct arena {
	struct copier c;
	struct buffer hog, bounce;
	volatile uint32_t *look;
	struct gem_bo bo[BOS + 1];
	int64_t outs, ins;
};

static void arena_open(struct arena *a)
{
	memset(a, 0, sizeof(*a));
	copier_open(&a->c);
	hog_all_but(&a->c, &a->hog, ARENA);
	if (buffer_alloc(&a->c, &a->bounce, SIZE, KFD_GTT))
		tap_bail("system memory");
	a->look = buffer_map(&a->c, &a->bounce);
	a->outs = vram_counter("outs");
	a->ins = vram_counter("ins");
}

static int64_t outs(struct arena *a)
{
	return vram_counter("outs") - a->outs;
}

static int64_t ins(struct arena *a)
{
	return vram_counter("ins") - a->ins;
}

/* BO @i, with its pattern. */
static void put(struct arena *a, unsigned int i)
{
	int err = gem_create(&a->bo[i], a->c.r.p.render, SIZE, VRAM);

	if (err)
		tap_bail("GEM_CREATE %u: %d", i, err);
	pattern_put(gem_map(&a->bo[i]), SIZE, i);
}

static void fill(struct arena *a)
{
	unsigned int i;

	for (i = 0; i < BOS; i++)
		put(a, i);
}

static uint64_t wrong(struct arena *a, unsigned int n)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		sum += pattern_wrong(a->bo[i].cpu, SIZE, i);
	return sum;
}

static void free_all(struct arena *a)
{
	unsigned int i;

	for (i = 0; i <= BOS; i++)
		gem_free(&a->bo[i]);
}

/* What GEM has does not count as KFD's, and makes room for other GEM BOs. */
static void gem_for_gem(void *unused)
{
	uint64_t before;
	struct arena a;

	(void)unused;
	arena_open(&a);
	before = copier_available(&a.c);
	tap_is((int64_t)before, ARENA, "what is left is what is available");
	fill(&a);
	tap_is((int64_t)copier_available(&a.c), (int64_t)before, "GEM's memory does not count");
	tap_is((int64_t)gem_info(base.render, AMDGPU_INFO_VRAM_USAGE) - base.used,
	       (int64_t)(a.hog.size + ARENA), "but it is used");
	tap_is(outs(&a), 0, "so far there was room");
	put(&a, BOS);
	tap_is(outs(&a), 1, "one more: one goes");
	tap_is(vram_counter("away"), 1, "and is away");
	tap_is((int64_t)gem_info(base.render, AMDGPU_INFO_GTT_USAGE) - base.gtt - (int64_t)a.bounce.size -
	       (int64_t)(2 * GPU_PAGE), SIZE, "as system memory");
	tap_is((int64_t)wrong(&a, BOS + 1), 0, "all have their contents");
	pattern_put(a.bo[0].cpu, SIZE, 100);
	gem_free(&a.bo[4]);
	tap_ok(vram_settle("away", 0), "one is freed: the other comes back");
	tap_is(ins(&a), 1, "once");
	tap_is((int64_t)pattern_wrong(a.bo[0].cpu, SIZE, 100), 0, "with what was stored meanwhile");
	free_all(&a);
	copier_close(&a.c);
}

/* KFD's allocation moves GEM BOs, which CPU and GPU go on to use. */
static void kfd_for_gem(void *unused)
{
	struct buffer view[BOS], kfd;
	uint64_t bad = 0, failed = 0, system;
	struct arena a;
	unsigned int i;

	(void)unused;
	arena_open(&a);
	fill(&a);
	for (i = 0; i < BOS; i += 2)
		if (gem_to_kfd(&a.bo[i], &a.c, &view[i]))
			tap_bail("import");
	system = gem_info(base.render, AMDGPU_INFO_GTT_USAGE);
	tap_is(buffer_alloc(&a.c, &kfd, ARENA - 2 * SIZE, KFD_VRAM), 0, "KFD gets VRAM that is full");
	tap_is(outs(&a), BOS - 2, "so many went");
	tap_is((int64_t)copier_available(&a.c), 2 * SIZE, "and so much is available");
	tap_is((int64_t)wrong(&a, BOS), 0, "CPUs find their contents");
	for (i = 0; i < BOS; i += 2) {
		failed += !copier_copy(&a.c, a.bounce.va, view[i].va, SIZE);
		bad += pattern_wrong(a.look, SIZE, i);
	}
	tap_is((int64_t)failed, 0, "the GPU copies");
	tap_is((int64_t)bad, 0, "and finds them, too");
	/* One whose mapping is made while it is away. */
	if (gem_to_kfd(&a.bo[1], &a.c, &view[1]))
		tap_bail("import");
	tap_ok(copier_copy(&a.c, a.bounce.va, view[1].va, SIZE) && !pattern_wrong(a.look, SIZE, 1),
	       "also in one that it got while that was away");
	for (i = 0; i < BOS; i += 2)
		failed += !copier_fill(&a.c, view[i].va, 0xabcd0000 + i, SIZE);
	tap_is((int64_t)failed, 0, "the GPU stores all over them");
	tap_is(ins(&a), 0, "nothing has moved back");
	tap_is(buffer_free(&a.c, &kfd), 0, "KFD frees");
	tap_ok(vram_settle("away", 0), "and all come back");
	tap_is(ins(&a), BOS - 2, "each once");
	tap_is((int64_t)gem_info(base.render, AMDGPU_INFO_GTT_USAGE), (int64_t)system,
	       "and take no system memory any more");
	for (i = 0; i < BOS; i += 2) {
		bad += a.bo[i].cpu[0] != 0xabcd0000 + i;
		bad += a.bo[i].cpu[SIZE / 4 - 1] != 0xabcd0000 + i;
		failed += !copier_copy(&a.c, a.bounce.va, view[i].va, SIZE);
		bad += a.look[SIZE / 8] != 0xabcd0000 + i;
	}
	for (i = 1; i < BOS; i += 2)
		bad += pattern_wrong(a.bo[i].cpu, SIZE, i);
	tap_is((int64_t)(bad + failed), 0, "with what the GPU stored");
	tap_is(vram_process_counter(getpid(), "evictions"),
	       vram_process_counter(getpid(), "restores"), "queues came back as often as they went");
	free_all(&a);
	copier_close(&a.c);
}

/* What cannot succeed moves nothing. */
static void too_much(void *unused)
{
	struct buffer b;
	struct gem_bo g;
	struct arena a;
	int64_t before;

	(void)unused;
	arena_open(&a);
	fill(&a);
	tap_is(buffer_alloc(&a.c, &b, ARENA + 2 * MIB, KFD_VRAM), -ENOMEM,
	       "KFD asks for more than is available");
	tap_is(gem_create(&g, base.render, ARENA + 2 * MIB, VRAM), -ENOMEM,
	       "GEM asks for what KFD's memory of the same process would have to make room for");
	tap_is(outs(&a), 0, "nothing has moved");
	before = (int64_t)gem_info(base.render, AMDGPU_INFO_GTT_USAGE);
	tap_is(gem_create(&g, base.render, ARENA + 2 * MIB, VRAM | GTT), 0, "VRAM or system memory");
	tap_is((int64_t)gem_info(base.render, AMDGPU_INFO_GTT_USAGE) - before, ARENA + 2 * MIB,
	       "is system memory then");
	tap_is(outs(&a), 0, "and nothing has moved");
	gem_free(&g);
	tap_is(gem_create(&g, base.render, SIZE, VRAM | GTT), 0, "VRAM or system memory, of a size");
	tap_is(outs(&a), 1, "for which one moves");
	tap_is((int64_t)wrong(&a, BOS), 0, "all have their contents");
	gem_free(&g);
	free_all(&a);
	copier_close(&a.c);
}

/* As a debugger looks. */
static bool peek(const volatile uint32_t *at, uint32_t *value)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	bool ok = pread(fd, value, sizeof(*value), (off_t)(uintptr_t)at) == sizeof(*value);

	close(fd);
	return ok;
}

static bool poke(volatile uint32_t *at, uint32_t value)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	bool ok = pwrite(fd, &value, sizeof(value), (off_t)(uintptr_t)at) == sizeof(value);

	close(fd);
	return ok;
}

static void child(void *arg)
{
	struct arena *a = arg;

	tap_is((int64_t)wrong(a, BOS), 0, "a forked child sees it, too");
	a->bo[0].cpu[1] = 4711;
}

static void other_eyes(void *unused)
{
	uint32_t value = 0;
	struct buffer b;
	struct arena a;

	(void)unused;
	arena_open(&a);
	fill(&a);
	if (buffer_alloc(&a.c, &b, ARENA, KFD_VRAM))
		tap_bail("VRAM");
	tap_is(outs(&a), BOS, "all are away");
	tap_child("child", child, &a);
	tap_is(a.bo[0].cpu[1], 4711, "and what it stores is there");
	tap_ok(peek(&a.bo[0].cpu[1], &value) && value == 4711, "a debugger reads it");
	tap_ok(poke(&a.bo[0].cpu[2], 4712), "and writes it");
	buffer_free(&a.c, &b);
	tap_ok(vram_settle("away", 0), "all are back");
	tap_is(a.bo[0].cpu[2], 4712, "with that");
	tap_ok(peek(&a.bo[7].cpu[3], &value) && value == a.bo[7].cpu[3], "a debugger reads it there");
	free_all(&a);
	copier_close(&a.c);
}

/* A reset does not reach what is away; that comes back all the same. */
static void reset(void *unused)
{
	struct buffer b;
	struct arena a;

	(void)unused;
	arena_open(&a);
	fill(&a);
	if (buffer_alloc(&a.c, &b, ARENA, KFD_VRAM))
		tap_bail("VRAM");
	tap_ok(gpu_reset(), "the GPU is reset");
	tap_is((int64_t)wrong(&a, BOS), 0, "what is away has its contents");
	buffer_free(&a.c, &b);
	tap_ok(vram_settle("away", 0), "and comes back");
	tap_is((int64_t)wrong(&a, BOS), 0, "with them");
	free_all(&a);
	copier_close(&a.c);
}

/* Freed where it is, and with entries of it. */
static void freed_away(void *unused)
{
	struct buffer view, b;
	struct arena a;

	(void)unused;
	arena_open(&a);
	fill(&a);
	if (gem_to_kfd(&a.bo[0], &a.c, &view) || buffer_alloc(&a.c, &b, ARENA, KFD_VRAM))
		tap_bail("VRAM");
	free_all(&a);
	tap_is(vram_counter("away"), 1, "all are freed while they are away but the one that is mapped");
	tap_ok(copier_copy(&a.c, a.bounce.va, view.va, SIZE) && !pattern_wrong(a.look, SIZE, 0),
	       "which is there");
	buffer_free(&a.c, &view);
	tap_is(vram_counter("away_bytes"), 0, "until it goes, too");
	tap_is(ins(&a), 0, "nothing came back");
	/* And who ends with everything as it is leaves nothing either. */
	buffer_free(&a.c, &b);
	fill(&a);
	if (buffer_alloc(&a.c, &b, ARENA, KFD_VRAM))
		tap_bail("VRAM");
}

/* What is left of VRAM is KFD's, mapped or not. */
static void kfd_takes_rest(struct arena *a, bool mapped, struct buffer *b)
{
	uint64_t left = (uint64_t)vram_counter("free");

	*b = (struct buffer) { 0 };
	if (!left)
		return;
	if (mapped ? buffer_alloc(&a->c, b, left, KFD_VRAM) :
		     kfd_alloc(&a->c.r.p, 1ull << 40, left, KFD_VRAM, &b->handle, NULL))
		tap_bail("the rest of VRAM");
}

/* How many bytes a page of KFD's makes go: sizes tell which BO it was. */
static int64_t page_moves(struct arena *a)
{
	int64_t before = vram_counter("out_bytes");
	uint64_t handle;

	if (kfd_alloc(&a->c.r.p, 1ull << 40, GPU_PAGE, KFD_VRAM, &handle, NULL))
		tap_bail("a page of VRAM");
	return vram_counter("out_bytes") - before;
}

/* The one that was made or mapped longest ago goes first. */
static void oldest_first(void *unused)
{
	struct buffer view, rest;
	struct arena a;
	unsigned int i;

	(void)unused;
	arena_open(&a);
	for (i = 0; i < 4; i++)
		if (gem_create(&a.bo[i], a.c.r.p.render, (i + 1) * MIB, VRAM))
			tap_bail("GEM_CREATE");
	kfd_takes_rest(&a, false, &rest);
	tap_is(page_moves(&a), MIB, "the first of four goes first");
	if (gem_to_kfd(&a.bo[1], &a.c, &view))
		tap_bail("import");
	/* Into which the first does not fit. */
	kfd_takes_rest(&a, false, &rest);
	tap_is(page_moves(&a), 3 * MIB, "then the third, as the second has been mapped");
	free_all(&a);
	copier_close(&a.c);
}

/**
 * struct other - another process
 * @to, @from: a byte says go on, or that it has
 */
struct other {
	pid_t pid;
	int to[2], from[2];
};

static void tell(int fd)
{
	char byte = 0;

	if (write(fd, &byte, 1) != 1)
		tap_bail("pipe: %m");
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		tap_bail("the other process ends");
}

/* It has memory of KFD's; told to, it asks for GEM's, and keeps it until it is told again. */
static void other_run(struct other *o)
{
	struct buffer theirs;
	struct gem_bo g;
	struct copier c;

	copier_open(&c);
	if (buffer_alloc(&c, &theirs, 4 * MIB, KFD_VRAM))
		tap_bail("VRAM");
	tell(o->from[1]);
	hear(o->to[0]);
	if (gem_create(&g, c.r.p.render, 2 * MIB, VRAM))
		tap_bail("GEM_CREATE");
	tell(o->from[1]);
	hear(o->to[0]);
	_exit(0);
}

static void other_start(struct other *o)
{
	if (pipe(o->to) || pipe(o->from))
		tap_bail("pipe: %m");
	o->pid = fork();
	if (o->pid < 0)
		tap_bail("fork: %m");
	if (!o->pid)
		other_run(o);
	hear(o->from[0]);
}

/* Two ask in turn. What one has to leave alone is still there for the other. */
static void in_turn(void *unused)
{
	struct buffer mine, rest;
	struct other o;
	struct arena a;
	struct gem_bo g;
	int64_t before;
	int status;

	(void)unused;
	arena_open(&a);
	if (buffer_alloc(&a.c, &mine, 3 * MIB, KFD_VRAM))
		tap_bail("VRAM");
	other_start(&o);
	kfd_takes_rest(&a, true, &rest);
	/* Too large to go: the last one. */
	if (kfd_unmap(&a.c.r.p, a.hog.handle) || kfd_map(&a.c.r.p, a.hog.handle))
		tap_bail("mapping again");
	before = vram_counter("out_bytes");
	tap_is(gem_create(&g, a.c.r.p.render, 2 * MIB, VRAM), 0, "a process asks for VRAM");
	tap_is(vram_counter("out_bytes") - before, 4 * MIB, "the other's goes, not the older of its own");
	gem_free(&g);
	tap_ok(vram_settle("away", 0), "and comes back");
	before = vram_counter("out_bytes");
	tell(o.to[1]);
	hear(o.from[0]);
	tap_is(vram_counter("out_bytes") - before, 3 * MIB, "the other asks: then the older goes");
	before = vram_counter("out_bytes");
	tap_is(gem_create(&g, a.c.r.p.render, MIB + MIB / 2, VRAM), 0, "the first asks again");
	tap_is(vram_counter("out_bytes") - before, 2 * MIB, "and GEM's goes, before older memory of KFD's");
	gem_free(&g);
	tell(o.to[1]);
	tap_ok(waitpid(o.pid, &status, 0) == o.pid && !status, "the other ends");
	copier_close(&a.c);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*fn)(void *unused);
	} tests[] = {
		{ "GEM for GEM", gem_for_gem },
		{ "GEM for KFD", kfd_for_gem },
		{ "too much", too_much },
		{ "oldest first", oldest_first },
		{ "in turn", in_turn },
		{ "other eyes", other_eyes },
		{ "freed", freed_away },
		{ "reset", reset },
	};
	unsigned int i;

	tap_begin(600);
	if (!gpu_sysfs_find())
		tap_bail("no GPU in sysfs");
	vram_base_take(&base);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		tap_child(tests[i].name, tests[i].fn, NULL);
		vram_nothing_left(&base, tests[i].name);
	}
	return tap_done();
}
