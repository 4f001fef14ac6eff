// SPDX-License-Identifier: MIT
/*
 * The GPU is reset, suspended and taken away while memory is out of VRAM, and in the middle of
 * its way there and back: what was stored is there afterwards, wherever that is, or is
 * refused; nobody hangs and nothing is lost. The driver stops where the test wants it
 * (point.h).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>
#include <linux/pci_regs.h>

#include "bus_error.h"
#include "driver.h"
#include "gem_bo.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "point.h"
#include "queue.h"
#include "suspended.h"
#include "tap.h"

#define SIZE	(2u << 20)
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)
#define UNBIND_MS	60000u

/**
 * struct place - this process, with room for one BO in VRAM
 * @bo: the BO of GEM that is there, with a pattern
 * @view: it in KFD's VM, if asked for
 * @kfd: what makes it go
 * @err: what became of that
 */
struct place {
	struct copier c;
	struct buffer hog, bounce, view, kfd;
	volatile uint32_t *look;
	struct gem_bo bo;
	int64_t ins, outs, failed;
	int err;
	pthread_t thread;
};

static void place_open(struct place *a)
{
	memset(a, 0, sizeof(*a));
	copier_open(&a->c);
	hog_all_but(&a->c, &a->hog, SIZE);
	if (buffer_alloc(&a->c, &a->bounce, SIZE, KFD_GTT))
		tap_bail("system memory");
	a->look = buffer_map(&a->c, &a->bounce);
	if (gem_create(&a->bo, a->c.r.p.render, SIZE, VRAM))
		tap_bail("GEM_CREATE");
	pattern_put(gem_map(&a->bo), SIZE, 1);
	a->outs = vram_counter("outs");
	a->ins = vram_counter("ins");
	a->failed = vram_counter("failed");
}

static void show_to_queues(struct place *a)
{
	if (gem_to_kfd(&a->bo, &a->c, &a->view))
		tap_bail("import");
}

static void *push(void *arg)
{
	struct place *a = arg;

	a->err = buffer_alloc(&a->c, &a->kfd, SIZE, KFD_VRAM);
	return NULL;
}

static void push_out(struct place *a)
{
	push(a);
	if (a->err)
		tap_bail("KFD's VRAM: %d", a->err);
	tap_is(vram_counter("outs") - a->outs, 1, "it is away");
}

/* The same, stopped at @point. */
static void push_until(struct place *a, const char *point)
{
	point_hold(point);
	if (pthread_create(&a->thread, NULL, push, a))
		tap_bail("no thread");
	point_wait();
}

static void push_on(struct place *a)
{
	point_go();
	pthread_join(a->thread, NULL);
}

static void make_room(struct place *a)
{
	if (buffer_free(&a->c, &a->kfd))
		tap_bail("FREE");
}

static void is_there(struct place *a, const char *what)
{
	tap_is((int64_t)pattern_wrong(a->bo.cpu, SIZE, 1), 0, "%s: contents", what);
}

static void queues_see(struct place *a, const char *what)
{
	tap_ok(copier_copy(&a->c, a->bounce.va, a->view.va, SIZE) && !pattern_wrong(a->look, SIZE, 1),
	       "%s: the GPU sees them, too", what);
}

static void comes_back(struct place *a, const char *what)
{
	tap_ok(vram_settle("away", 0), "%s: it comes back", what);
	tap_is(vram_counter("ins") - a->ins, 1, "%s: once", what);
	is_there(a, what);
}

/* ---- reset ---- */

static void reset_in_return(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	push_out(&a);
	point_hold("move-in");
	make_room(&a);
	point_wait();
	tap_ok(gpu_reset(), "a reset in the middle of the move back");
	tap_is(vram_counter("away"), 1, "it has not arrived");
	point_go();
	comes_back(&a, "then");
	tap_is(vram_counter("failed") - a.failed, 1, "at the second attempt");
}

static void reset_while_due(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	push_out(&a);
	point_fail("move-in");
	make_room(&a);
	point_wait();
	tap_ok(gpu_reset(), "a reset while a move back is due");
	is_there(&a, "away");
	tap_is(vram_counter("away"), 1, "as it still is");
	point_go();
	comes_back(&a, "then");
}

static void reset_in_leaving(void *point)
{
	struct place a;

	place_open(&a);
	push_until(&a, point);
	tap_ok(gpu_reset(), "a reset at %s", (const char *)point);
	push_on(&a);
	/* The process has lost its queues, but not what it allocates for CPUs. */
	tap_ok(!a.err || a.err == -ENODEV || a.err == -EIO, "who made it go is told: %d", a.err);
	/* Reset functions of this part keep VRAM. */
	is_there(&a, "wherever it is");
	if (!a.err)
		make_room(&a);
	tap_ok(vram_settle("away", 0), "it is in VRAM in the end");
	is_there(&a, "there");
}

/* ---- suspend ---- */

static void freeze_while_away(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_out(&a);
	tap_ok(suspend_once(), "suspend and resume while it is away");
	tap_is(vram_counter("away"), 1, "it still is");
	is_there(&a, "away");
	queues_see(&a, "away");
	make_room(&a);
	comes_back(&a, "then");
	queues_see(&a, "then");
}

static void freeze_while_due(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_out(&a);
	point_fail("move-in");
	make_room(&a);
	point_wait();
	tap_ok(suspend_once(), "suspend and resume while a move back is due");
	queues_see(&a, "away");
	point_go();
	comes_back(&a, "then");
	queues_see(&a, "then");
	tap_is(vram_process_counter(getpid(), "evictions"), vram_process_counter(getpid(), "restores"),
	       "queues came back as often as they went");
}

/* ---- unbind ---- */

static bool survives(struct place *a)
{
	return tap_ok(!bus_error_at(a->bo.cpu), "CPUs reach it") &&
	       tap_is((int64_t)pattern_wrong(a->bo.cpu, SIZE, 1), 0, "and find what was stored");
}

/* Still there when the GPU goes, and given up as the process ends, or by hand. */
static void unbind_while_away(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_out(&a);
	tap_ok(gpu_unbind(), "unbind while it is away");
	survives(&a);
	a.bo.cpu[0] = 4711;
	tap_is(a.bo.cpu[0], 4711, "and store");
	tap_is(buffer_free(&a.c, &a.view), 0, "the queues' view of it is freed");
	tap_is(a.bo.cpu[0], 4711, "which it survives, too");
}

static void *unbinder(void *unused)
{
	(void)unused;
	return (void *)(uintptr_t)gpu_unbind();
}

static bool gpu_is_hidden(void)
{
	uint64_t end = now_ns() + UNBIND_MS * 1000000ull;

	while (kfd_gpu_id(NULL)) {
		if (now_ns() > end)
			return false;
		usleep(1000);
	}
	return true;
}

/* Unbind waits for the move, which therefore knows that it would be in vain. */
static void unbind_in_return(void *unused)
{
	pthread_t thread;
	struct place a;
	void *done;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_out(&a);
	point_hold("move-in");
	make_room(&a);
	point_wait();
	if (pthread_create(&thread, NULL, unbinder, NULL))
		tap_bail("no thread");
	tap_ok(gpu_is_hidden(), "unbind in the middle of the move back");
	point_go();
	pthread_join(thread, &done);
	tap_ok(done, "which ends");
	survives(&a);
}

static void unbind_while_due(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	push_out(&a);
	point_fail("move-in");
	make_room(&a);
	point_wait();
	tap_ok(gpu_unbind(), "unbind while a move back is due");
	point_go();
	survives(&a);
}

static void unbind_before_copy(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_until(&a, "copy-out");
	tap_ok(gpu_unbind(), "unbind before it is copied");
	push_on(&a);
	tap_is(a.err, -ENODEV, "who made it go gets nothing");
	tap_ok(bus_error_at(a.bo.cpu), "it was in VRAM, and is no more");
}

static void unbind_after_copy(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_until(&a, "move-out");
	tap_ok(gpu_unbind(), "unbind after it is copied");
	push_on(&a);
	tap_is(a.err, -ENODEV, "who made it go gets nothing");
	survives(&a);
}

/* ---- not on the bus ---- */

static void off_the_bus(void *unused)
{
	int config = gpu_open_config();
	uint16_t on, off;
	struct place a;

	(void)unused;
	place_open(&a);
	push_until(&a, "copy-out");
	if (pread(config, &on, 2, PCI_COMMAND) != 2)
		tap_bail("configuration space");
	off = on & (uint16_t)~PCI_COMMAND_MEMORY;
	if (pwrite(config, &off, 2, PCI_COMMAND) != 2)
		tap_bail("configuration space");
	push_on(&a);
	if (pwrite(config, &on, 2, PCI_COMMAND) != 2)
		tap_bail("configuration space");
	close(config);
	tap_is(a.err, -ENODEV, "a part that is not on the bus makes no room");
	is_there(&a, "when it is again");
	tap_is(vram_counter("away"), 0, "where it was");
}

static void works(void *unused)
{
	struct place a;

	(void)unused;
	place_open(&a);
	show_to_queues(&a);
	push_out(&a);
	queues_see(&a, "the next process");
}

struct test {
	const char *name;
	void (*fn)(void *arg);
	void *arg;
};

static const struct test resets[] = {
	{ "reset in return", reset_in_return, NULL },
	{ "reset while due", reset_while_due, NULL },
	{ "reset before copy", reset_in_leaving, "copy-out" },
	{ "reset after copy", reset_in_leaving, "move-out" },
	{ "off the bus", off_the_bus, NULL },
};

static const struct test freezes[] = {
	{ "freeze while away", freeze_while_away, NULL },
	{ "freeze while due", freeze_while_due, NULL },
};

static const struct test unbinds[] = {
	{ "unbind while away", unbind_while_away, NULL },
	{ "unbind in return", unbind_in_return, NULL },
	{ "unbind while due", unbind_while_due, NULL },
	{ "unbind before copy", unbind_before_copy, NULL },
	{ "unbind after copy", unbind_after_copy, NULL },
};

/* What is taken with nobody there, the same after each test. */
static struct vram_base base;

static void run(const struct test *t, bool bind)
{
	tap_child(t->name, t->fn, t->arg);
	if (bind) {
		/* The other was a file of a GPU that is gone. */
		close(base.render);
		tap_ok(gpu_bind(), "%s: bound again", t->name);
		base.render = gem_render_open();
	}
	vram_nothing_left(&base, t->name);
	tap_child("works", works, NULL);
	vram_nothing_left(&base, "works");
}

int main(void)
{
	unsigned int i;

	tap_begin(900);
	if (!gpu_sysfs_find())
		tap_skip_all("no GPU bound to vkfd");
	vram_base_take(&base);
	for (i = 0; i < sizeof(resets) / sizeof(resets[0]); i++)
		run(&resets[i], false);
	for (i = 0; i < sizeof(unbinds) / sizeof(unbinds[0]); i++)
		run(&unbinds[i], true);
	if (!suspend_begin()) {
		tap_skip("this kernel cannot test suspend", "suspend");
		return tap_done();
	}
	for (i = 0; i < sizeof(freezes) / sizeof(freezes[0]); i++)
		run(&freezes[i], false);
	suspend_end();
	return tap_done();
}
