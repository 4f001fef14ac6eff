// SPDX-License-Identifier: MIT
/*
 * VRAM that the driver needs itself - page tables, MQDs - when its reserve is used up and VRAM
 * is full: memory of others makes room, by whatever call that comes to be, keeps its contents,
 * and a call for which nothing can go has changed nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "driver.h"
#include "gem_bo.h"
#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define MIB	(1u << 20)
#define BOS	12u
#define SIZE	(4u * MIB)
#define ARENA	(BOS * SIZE)
#define FILLERS	16u
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define GTT	AMDGPU_GEM_DOMAIN_GTT
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)
/* Each mapping is alone in its GiB, and takes two tables; more than any reserve has. */
#define SPARSE(i)	((uint64_t)(i) << 30)
#define SPARSE_MAX	8192u
/* Behind all of these; a directory more. */
#define KFD_VA		(1ull << 45)
#define WORKERS		4u
#define WORK		64u

static struct vram_base base;

/**
 * struct tables - VRAM that is full, and tables that have used up the reserve
 * @c: this process, with room for a second queue
 * @hog: KFD's memory, which stays
 * @bo, @view: memory that can go, and where the GPU sees it
 * @filler, @fillers: so can the rest
 * @render: a file with a VM of its own, which @maps mappings of @page are in
 */
struct tables {
	struct copier c;
	struct buffer hog, bounce, view[BOS];
	volatile uint32_t *look;
	struct gem_bo bo[BOS], filler[FILLERS], page;
	unsigned int fillers, maps;
	int render;
	int64_t outs;
};

static int va_op(int render, const struct gem_bo *g, uint64_t va, uint32_t op)
{
	struct drm_amdgpu_gem_va a = {
		.handle = g->handle,
		.operation = op,
		.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
		.va_address = va,
		.map_size = GPU_PAGE,
	};

	return kfd_call(render, DRM_IOCTL_AMDGPU_GEM_VA, &a);
}

/* What is left of VRAM is GEM's, too. Nothing that is away fits into it. */
static void full(struct tables *t)
{
	int64_t left;

	while ((left = vram_counter("free"))) {
		if (t->fillers == FILLERS)
			tap_bail("VRAM does not get full");
		if (gem_create(&t->filler[t->fillers++], base.render, (uint64_t)left, VRAM))
			tap_bail("the rest of VRAM, %lld bytes", (long long)left);
	}
	t->outs = vram_counter("outs");
}

/*
 * How many have gone since then. More than was needed may have: what is away may come back into
 * the room that was made, before it is taken.
 */
static int64_t gone(const struct tables *t)
{
	return vram_counter("outs") - t->outs;
}

static void open_all(struct tables *t)
{
	memset(t, 0, sizeof(*t));
	raw_open(&t->c.r, 2);
	if (raw_queue_create(&t->c.q, &t->c.r, KFD_IOC_QUEUE_TYPE_SDMA))
		tap_bail("no queue");
	hog_all_but(&t->c, &t->hog, ARENA);
	if (buffer_alloc(&t->c, &t->bounce, SIZE, KFD_GTT))
		tap_bail("system memory");
	t->look = buffer_map(&t->c, &t->bounce);
	t->render = gem_render_open();
	if (gem_create(&t->page, t->render, GPU_PAGE, GTT))
		tap_bail("a page");
}

static void fill(struct tables *t)
{
	unsigned int i;

	for (i = 0; i < BOS; i++) {
		if (gem_create(&t->bo[i], base.render, SIZE, VRAM) ||
		    gem_to_kfd(&t->bo[i], &t->c, &t->view[i]))
			tap_bail("GEM_CREATE");
		pattern_put(gem_map(&t->bo[i]), SIZE, i);
	}
	full(t);
}

/* Mappings, until their tables are outside of the reserve. */
static void use_up(struct tables *t)
{
	int err = 0;

	while (!err && !vram_counter("spilled") && t->maps < SPARSE_MAX)
		err = va_op(t->render, &t->page, SPARSE(++t->maps), AMDGPU_VA_OP_MAP);
	tap_is(err, 0, "%u mappings, until the reserve for their tables is used up", t->maps);
	tap_ok(vram_counter("spilled") > 0, "it is");
	tap_ok(gone(t) >= 1, "one BO went for the first table outside of it");
}

static void check_contents(struct tables *t, const char *when)
{
	uint64_t bad = 0;
	unsigned int i;

	for (i = 0; i < BOS; i++) {
		bad += pattern_wrong(t->bo[i].cpu, SIZE, i);
		bad += !copier_copy(&t->c, t->bounce.va, t->view[i].va, SIZE);
		bad += pattern_wrong(t->look, SIZE, i);
	}
	tap_is((int64_t)bad, 0, "%s: CPU and GPU find all contents", when);
}

static void close_all(struct tables *t)
{
	unsigned int i;

	for (i = 0; i < BOS; i++) {
		if (t->view[i].handle)
			buffer_free(&t->c, &t->view[i]);
		gem_free(&t->bo[i]);
	}
	for (i = 0; i < t->fillers; i++)
		gem_free(&t->filler[i]);
	t->fillers = 0;
}

/* In a process that has nothing so far: files, VM, memory, a queue. */
static void newcomer(void *unused)
{
	struct buffer b;
	struct copier c;

	(void)unused;
	copier_open(&c);
	tap_is(buffer_alloc(&c, &b, GPU_PAGE, KFD_GTT), 0, "another process maps memory");
	tap_ok(copier_fill(&c, b.va, 1, GPU_PAGE), "and works");
	copier_close(&c);
}

static void every_call(void *unused)
{
	struct raw_queue second;
	struct tables t;
	uint64_t handle;
	int fd;

	(void)unused;
	open_all(&t);
	fill(&t);
	use_up(&t);

	full(&t);
	tap_is(va_op(t.render, &t.page, SPARSE(++t.maps), AMDGPU_VA_OP_MAP), 0, "GEM_VA maps");
	tap_ok(gone(&t) >= 1, "for which one goes");
	full(&t);
	tap_is(va_op(t.render, &t.page, SPARSE(++t.maps), AMDGPU_VA_OP_REPLACE), 0, "and replaces");
	tap_ok(gone(&t) >= 1, "for which one goes");
	full(&t);
	fd = gem_render_open();
	tap_ok(gone(&t) >= 1, "the render node is opened, for which one goes");
	close(fd);

	if (kfd_alloc(&t.c.r.p, KFD_VA, GPU_PAGE, KFD_GTT, &handle, NULL))
		tap_bail("a page");
	full(&t);
	tap_is(kfd_map(&t.c.r.p, handle), 0, "KFD maps");
	tap_ok(gone(&t) >= 1, "for which one goes");
	tap_ok(copier_fill(&t.c, KFD_VA, 1, GPU_PAGE), "the GPU stores there");
	full(&t);
	tap_is(raw_queue_create(&second, &t.c.r, KFD_IOC_QUEUE_TYPE_SDMA), 0, "a queue is made");
	tap_ok(gone(&t) >= 1, "for which one goes");
	raw_put_write(&second, second.word, 1);
	raw_submit(&second);
	tap_ok(wait_word(second.word, 1, COPIER_MS), "it works");
	full(&t);
	tap_child("newcomer", newcomer, NULL);
	tap_ok(gone(&t) >= 1, "for which one goes");
	check_contents(&t, "with as much away");

	kfd_unmap(&t.c.r.p, handle);
	kfd_free(&t.c.r.p, handle);
	raw_queue_destroy(&second);
	close(t.render);
	for (; t.fillers; gem_free(&t.filler[t.fillers]))
		t.fillers--;
	tap_ok(vram_settle("away", 0), "tables and the rest go: all come back");
	tap_is(vram_counter("spilled"), 0, "no table is outside of the reserve");
	check_contents(&t, "back");
	tap_is(vram_process_counter(getpid(), "evictions"),
	       vram_process_counter(getpid(), "restores"), "queues came back as often as they went");
	close_all(&t);
	copier_close(&t.c);
}

/* Another process, which has the render node open from other_start() to other_end(). */
struct other {
	pid_t pid;
	int ready[2], end[2];
};

static void other_start(struct other *o)
{
	char byte = 0;

	if (pipe(o->ready) || pipe(o->end))
		tap_bail("pipe: %m");
	o->pid = fork();
	if (o->pid < 0)
		tap_bail("fork: %m");
	if (!o->pid) {
		close(o->end[1]);
		gem_render_open();
		if (write(o->ready[1], &byte, 1) == 1 && !read(o->end[0], &byte, 1))
			_exit(0);
		_exit(1);
	}
	if (read(o->ready[0], &byte, 1) != 1)
		tap_bail("the other process: %m");
}

static bool other_end(struct other *o)
{
	int status;

	close(o->end[1]);
	return waitpid(o->pid, &status, 0) == o->pid && !status;
}

/* What the own queues can use does not go: nothing does. Another process makes it go. */
static void nothing_goes(void *unused)
{
	struct buffer kfd;
	struct other other;
	struct raw_queue second;
	struct tables t;
	volatile uint32_t *p;
	uint64_t handle;
	char path[64];
	int err = 0, minor, fd;

	(void)unused;
	open_all(&t);
	if (buffer_alloc(&t.c, &kfd, ARENA / 2, KFD_VRAM))
		tap_bail("VRAM");
	p = buffer_map(&t.c, &kfd);
	pattern_put(p, kfd.size, 7);
	/* Large, so it had better be the last to go. */
	if (kfd_unmap(&t.c.r.p, t.hog.handle) || kfd_map(&t.c.r.p, t.hog.handle))
		tap_bail("mapping again");
	/* But for some, which is for tables. */
	if (buffer_alloc(&t.c, &t.view[0], (uint64_t)vram_counter("free") - 64 * GPU_PAGE, KFD_VRAM) ||
	    kfd_alloc(&t.c.r.p, KFD_VA, GPU_PAGE, KFD_GTT, &handle, NULL))
		tap_bail("memory");
	t.outs = vram_counter("outs");
	while (!err && t.maps < SPARSE_MAX)
		err = va_op(t.render, &t.page, SPARSE(++t.maps), AMDGPU_VA_OP_MAP);
	tap_is(err, -ENOMEM, "GEM_VA maps %u times, then all is full of what the process uses", t.maps);
	/* The last single page, if there is one. */
	for (err = 0; !err && vram_counter("free");)
		err = va_op(t.render, &t.page, SPARSE(t.maps - 1) + (uint64_t)(++t.fillers) * 2 * MIB,
			    AMDGPU_VA_OP_MAP);
	t.fillers = 0;
	tap_is(vram_counter("free"), 0, "to the last page");
	tap_is(va_op(t.render, &t.page, SPARSE(t.maps), AMDGPU_VA_OP_REPLACE), -ENOMEM, "REPLACE");
	tap_is(kfd_map(&t.c.r.p, handle), -ENOMEM, "KFD's MAP");
	tap_is(raw_queue_create(&second, &t.c.r, KFD_IOC_QUEUE_TYPE_SDMA), -ENOMEM, "a queue");
	kfd_gpu_id(&minor);
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	tap_is(fd < 0 ? -errno : 0, -ENOMEM, "and opening the node fail alike");
	tap_is(gone(&t), 0, "nothing has gone for any of these");
	tap_is(vram_counter("free"), 0, "and no table was left behind");

	other_start(&other);
	tap_ok(gone(&t) >= 1, "another process can open the node: this one's memory goes for it");
	tap_is((int64_t)pattern_wrong(p, kfd.size, 7), 0, "and keeps its contents");
	t.outs = vram_counter("outs");
	tap_is(kfd_map(&t.c.r.p, handle), 0, "now there is room for KFD's MAP, too");
	tap_is(gone(&t), 0, "without anything else having gone");
	tap_ok(copier_fill(&t.c, KFD_VA, 1, GPU_PAGE), "the GPU stores there");
	tap_ok(other_end(&other), "the other process ends");
	tap_is(buffer_free(&t.c, &t.view[0]), 0, "memory is freed");
	tap_is(va_op(t.render, &t.page, SPARSE(t.maps), AMDGPU_VA_OP_MAP), 0, "GEM_VA maps what it could not");
	tap_ok(vram_settle("away", 0), "all is back");
	tap_is((int64_t)pattern_wrong(p, kfd.size, 7), 0, "with its contents");
	copier_close(&t.c);
}

/* Maps and unmaps; tables come and go. How many calls failed. */
static int work(unsigned int id)
{
	unsigned int i, round, bad = 0;
	struct gem_bo page;
	int render = gem_render_open();

	if (gem_create(&page, render, GPU_PAGE, GTT))
		return 1;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < WORK; i++)
			bad += !!va_op(render, &page, SPARSE(1 + i + id * WORK), AMDGPU_VA_OP_MAP);
		for (i = 0; i < WORK; i++)
			bad += !!va_op(render, &page, SPARSE(1 + i + id * WORK), AMDGPU_VA_OP_UNMAP);
	}
	gem_free(&page);
	close(render);
	return bad > 0;
}

static void many(void *unused)
{
	pid_t pid[WORKERS];
	unsigned int i, bad = 0;
	struct tables t;
	int status;

	(void)unused;
	open_all(&t);
	fill(&t);
	use_up(&t);
	full(&t);
	for (i = 0; i < WORKERS; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			tap_bail("fork: %m");
		if (!pid[i])
			_exit(work(i));
	}
	check_contents(&t, "meanwhile");
	for (i = 0; i < WORKERS; i++)
		bad += waitpid(pid[i], &status, 0) != pid[i] || status;
	tap_is(bad, 0, "%u processes make and drop tables: none is refused any", WORKERS);
	tap_ok(gone(&t) > 0, "memory went for that");
	check_contents(&t, "afterwards");
	close(t.render);
	close_all(&t);
	copier_close(&t.c);
}

int main(void)
{
	tap_begin(600);
	if (driver_sched_policy() < 0)
		tap_skip_all("another driver");
	vram_base_take(&base);
	tap_child("every call", every_call, NULL);
	vram_nothing_left(&base, "every call");
	tap_child("nothing goes", nothing_goes, NULL);
	vram_nothing_left(&base, "nothing goes");
	tap_child("many", many, NULL);
	vram_nothing_left(&base, "many");
	return tap_done();
}
