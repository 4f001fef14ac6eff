// SPDX-License-Identifier: MIT
/*
 * VRAM under pressure while queues run: those of the process whose memory moves stop for the
 * move and lose nothing, those of others go on. Processes are killed in the middle, and many
 * of them compete at a time.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "driver.h"
#include "gem_bo.h"
#include "gpu.h"
#include "pm4.h"
#include "tap.h"
#include "user.h"

#define MIB	(1u << 20)
#define SIZE	(4u * MIB)
#define ARENA	(16u * MIB)
#define VRAM	AMDGPU_GEM_DOMAIN_VRAM
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)

static struct vram_base base;

/* What a process with a queue tells of itself, in shared memory. */
struct worker {
	pid_t pid;
	_Atomic uint32_t done, wrong;
	_Atomic bool stop;
};

static struct worker *workers;

/* One round of a worker: half of @b by GPU, half by CPU; how much is not what it was. */
static uint64_t work(struct copier *c, const struct buffer *b, volatile uint32_t *p,
		     const struct buffer *bounce, volatile uint32_t *look, uint32_t k)
{
	uint64_t i, bad = 0, words = b->size / 4;

	bad += !copier_copy(c, bounce->va, b->va, (uint32_t)b->size / 2);
	for (i = 0; i < words / 2; i += 16)
		bad += look[i] != k - 1;
	bad += !copier_fill(c, b->va, k, (uint32_t)b->size / 2);
	/* Each word right after it was looked at: a store that is lost is seen next time. */
	for (i = words / 2; i < words; i += 16) {
		bad += p[i] != k - 1;
		p[i] = k;
	}
	return bad;
}

static void worker(struct worker *w, uint32_t flags)
{
	struct buffer b, bounce;
	volatile uint32_t *p, *look;
	struct copier c;
	uint32_t k = 0;

	copier_open(&c);
	if (buffer_alloc(&c, &b, SIZE, flags) || buffer_alloc(&c, &bounce, SIZE / 2, KFD_GTT))
		_exit(1);
	p = buffer_map(&c, &b);
	look = buffer_map(&c, &bounce);
	while (!w->stop) {
		w->wrong += (uint32_t)work(&c, &b, p, &bounce, look, ++k);
		w->done++;
	}
	copier_close(&c);
	_exit(0);
}

/* Forks it; it has done something when this returns. */
static void worker_start(struct worker *w, uint32_t flags)
{
	pid_t pid;

	w->done = 0;
	w->wrong = 0;
	w->stop = false;
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid)
		worker(w, flags);
	/* Not by the child, whose 0 would be seen here, too. */
	w->pid = pid;
	while (!w->done)
		if (waitpid(w->pid, NULL, WNOHANG))
			tap_bail("a process does not come up");
}

/* Until it has done @n rounds; the watchdog ends this if it never does, its end at once. */
static void worker_reaches(struct worker *w, uint32_t n)
{
	while (w->done < n) {
		if (waitpid(w->pid, NULL, WNOHANG))
			tap_bail("a process ended after %u rounds", w->done);
		sched_yield();
	}
}

/* Until it has done @n more. */
static void worker_goes_on(struct worker *w, uint32_t n)
{
	worker_reaches(w, w->done + n);
}

static bool worker_end(struct worker *w)
{
	int status;

	w->stop = true;
	return waitpid(w->pid, &status, 0) == w->pid && !status;
}

static int smi_open(struct copier *c)
{
	struct kfd_ioctl_smi_events_args a = { .gpuid = c->r.p.gpu_id };
	uint64_t mask = 1ull << (KFD_SMI_EVENT_QUEUE_EVICTION - 1) |
			1ull << (KFD_SMI_EVENT_QUEUE_RESTORE - 1) |
			1ull << (KFD_SMI_EVENT_ALL_PROCESS - 1);

	if (kfd_call(c->r.p.kfd, AMDKFD_IOC_SMI_EVENTS, &a) ||
	    write((int)a.anon_fd, &mask, sizeof(mask)) != sizeof(mask))
		tap_bail("SMI events");
	return (int)a.anon_fd;
}

/* Lines so far: evictions of @pid for VRAM, its restores, and evictions of anybody else. */
struct smi_count {
	unsigned int evictions, restores, others;
};

static void smi_read(int fd, pid_t pid, struct smi_count *n)
{
	char buf[8192], *line, *save = NULL;
	ssize_t len = read(fd, buf, sizeof(buf) - 1);
	unsigned int event;
	int who, trigger;

	buf[len > 0 ? len : 0] = 0;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		trigger = -1;
		if (sscanf(line, "%x %*s -%d %*x %d", &event, &who, &trigger) < 2)
			continue;
		if (event == KFD_SMI_EVENT_QUEUE_RESTORE)
			n->restores += who == pid;
		else if (who == pid && trigger == KFD_QUEUE_EVICTION_TRIGGER_TTM)
			n->evictions++;
		else
			n->others++;
	}
}

/* All of VRAM that is left, but for ARENA, is this process's, and nobody moves that. */
static void pressure_open(struct copier *c, struct buffer *hog)
{
	copier_open(c);
	hog_all_but(c, hog, ARENA);
}

static void test_others_go_on(void *unused)
{
	unsigned int round, rounds = scaled(100, 20), refused = 0, starved = 0;
	struct worker *a = &workers[0], *b = &workers[1];
	int64_t outs = vram_counter("outs"), ins = vram_counter("ins");
	struct smi_count n = { 0 };
	struct copier c;
	struct buffer hog;
	struct gem_bo g;
	int smi;

	(void)unused;
	worker_start(a, KFD_VRAM);
	worker_start(b, KFD_GTT);
	pressure_open(&c, &hog);
	smi = smi_open(&c);
	for (round = 0; round < rounds; round++) {
		/* More than is free: memory of the first has to go. */
		refused += gem_create(&g, c.r.p.render, ARENA + MIB, VRAM) != 0;
		starved += vram_counter("away") != 1;
		worker_goes_on(a, 2);
		worker_goes_on(b, 2);
		gem_free(&g);
		/* Its queues are off again when it comes back. */
		starved += !vram_settle("away", 0);
		worker_goes_on(a, 1);
		worker_goes_on(b, 1);
		smi_read(smi, a->pid, &n);
	}
	tap_is(refused, 0, "GEM gets the memory of another process, %u times", rounds);
	tap_is(starved, 0, "which is away then, and comes back");
	tap_is(vram_counter("outs") - outs, rounds, "moved out each time");
	tap_is(vram_counter("ins") - ins, rounds, "and in");
	tap_is(vram_process_counter(a->pid, "evictions"), 2 * rounds, "its queues stop for each");
	tap_is(vram_process_counter(a->pid, "restores"), 2 * rounds, "and go on");
	tap_is(vram_process_counter(b->pid, "evictions"), 0, "those of a third never stop");
	tap_is(vram_process_counter(getpid(), "evictions"), 0, "nor those of who asked");
	tap_is(n.evictions, 2 * rounds, "SMI tells of it");
	tap_is(n.restores, 2 * rounds, "and of the end");
	tap_is(n.others, 0, "and of nobody else");
	tap_is(a->wrong, 0, "no store was lost, in %u rounds of queue and CPU", a->done);
	tap_is(b->wrong, 0, "nor of the third");
	tap_ok(worker_end(a) && worker_end(b), "both end well");
	close(smi);
	copier_close(&c);
}

/* Asks for all there is, over and over, until it is killed. */
static void greedy(void)
{
	struct gem_bo g;
	int fd = gem_render_open();

	for (;;) {
		if (!gem_create(&g, fd, ARENA, VRAM))
			gem_free(&g);
	}
}

static void test_killed_asker(void *unused)
{
	unsigned int i, n = ARENA / SIZE, round, rounds = scaled(100, 20);
	struct gem_bo bo[ARENA / SIZE];
	struct copier c;
	struct buffer hog;
	uint64_t bad = 0;
	int64_t before, outs;
	pid_t pid;

	(void)unused;
	pressure_open(&c, &hog);
	for (i = 0; i < n; i++) {
		if (gem_create(&bo[i], c.r.p.render, SIZE, VRAM))
			tap_bail("GEM_CREATE");
		pattern_put(gem_map(&bo[i]), SIZE, i);
	}
	before = vram_counter("used");
	for (round = 0; round < rounds; round++) {
		outs = vram_counter("outs");
		pid = fork();
		if (!pid)
			greedy();
		/* It is in the middle of something, each time of something else. */
		while (vram_counter("outs") == outs)
			usleep(1 + round * 37 % 500);
		usleep(round * 997 % 20000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		for (i = 0; i < n; i++)
			bad += pattern_wrong(bo[i].cpu, SIZE, i);
		if (!vram_settle("away", 0))
			break;
	}
	tap_is(round, rounds, "who makes others' memory go is killed, it comes back");
	tap_is((int64_t)bad, 0, "with its contents");
	tap_is(vram_counter("used"), before, "and nothing is lost");
	for (i = 0; i < n; i++)
		gem_free(&bo[i]);
	copier_close(&c);
}

static void test_killed_owner(void *unused)
{
	unsigned int round, rounds = scaled(60, 12), refused = 0;
	struct worker *a = &workers[0];
	struct copier c;
	struct buffer hog;
	struct gem_bo g;
	int64_t kfd;

	(void)unused;
	pressure_open(&c, &hog);
	kfd = vram_counter("kfd");
	for (round = 0; round < rounds; round++) {
		worker_start(a, KFD_VRAM);
		/* Killed before, while or after its memory moves: by a child, at any time. */
		if (!fork()) {
			usleep(round * 1499 % 30000);
			kill(a->pid, SIGKILL);
			_exit(0);
		}
		refused += gem_create(&g, c.r.p.render, ARENA, VRAM) != 0;
		waitpid(-1, NULL, 0);
		waitpid(-1, NULL, 0);
		if (!vram_settle("kfd", kfd))
			break;
		gem_free(&g);
	}
	tap_is(round, rounds, "whose memory moves is killed, it is given back");
	tap_is(refused, 0, "who asked for it has it");
	copier_close(&c);
}

/* One thing a process of the stress has. */
struct thing {
	bool there, gem;
	uint32_t seed, rounds;
	struct gem_bo g;
	struct buffer b, view;
	volatile uint32_t *cpu;
};

#define THINGS	6u
#define PROCS	3u

static bool thing_make(struct copier *c, struct thing *t, uint32_t seed, uint64_t size)
{
	t->gem = seed & 1;
	if (t->gem) {
		if (gem_create(&t->g, c->r.p.render, size, VRAM))
			return false;
		t->cpu = gem_map(&t->g);
		if (gem_to_kfd(&t->g, c, &t->view))
			tap_bail("import");
	} else {
		if (buffer_alloc(c, &t->b, size, KFD_VRAM))
			return false;
		t->view = t->b;
		t->cpu = buffer_map(c, &t->b);
	}
	t->seed = seed;
	t->there = true;
	pattern_put(t->cpu, size, seed);
	return true;
}

static void thing_free(struct copier *c, struct thing *t)
{
	buffer_free(c, &t->view);
	if (t->gem)
		gem_free(&t->g);
	*t = (struct thing) { 0 };
}

/* Every byte of it by CPU, and what a queue makes of it. */
static uint64_t thing_check(struct copier *c, struct thing *t, const struct buffer *bounce,
			    const volatile uint32_t *look)
{
	uint64_t size = t->view.size;

	return pattern_wrong(t->cpu, size, t->seed) +
	       !copier_copy(c, bounce->va, t->view.va, (uint32_t)size) +
	       pattern_wrong(look, size, t->seed);
}

/* Memory that the kernel takes away now and then: queues are off for more than one reason. */
static void shake(char *user, uint32_t i)
{
	memset(user, (int)i, 4 * GPU_PAGE);
	madvise(user, 4 * GPU_PAGE, MADV_DONTNEED);
}

static void compete(struct worker *w, uint32_t seed)
{
	struct thing things[THINGS] = { 0 }, *t;
	struct buffer bounce, user = { .va = 0 };
	volatile uint32_t *look;
	unsigned int i;
	struct copier c;
	char *pages;

	copier_open(&c);
	if (buffer_alloc(&c, &bounce, SIZE, KFD_GTT))
		_exit(1);
	look = buffer_map(&c, &bounce);
	pages = user_pages(4 * GPU_PAGE);
	user.va = gpu_va(kfd_reserve_va(4 * GPU_PAGE));
	{
		struct kfd_ioctl_alloc_memory_of_gpu_args a = {
			.va_addr = user.va,
			.size = 4 * GPU_PAGE,
			.mmap_offset = gpu_va(pages),
			.gpu_id = c.r.p.gpu_id,
			.flags = USER_FLAGS,
		};

		if (kfd_call(c.r.p.kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a) ||
		    kfd_map(&c.r.p, a.handle))
			_exit(2);
	}
	srand(seed);
	for (i = 0; !w->stop; i++) {
		t = &things[rand() % THINGS];
		if (!t->there) {
			thing_make(&c, t, (uint32_t)rand(), (1 + rand() % 4) * MIB);
		} else {
			w->wrong += (uint32_t)thing_check(&c, t, &bounce, look);
			if (rand() % 2)
				thing_free(&c, t);
		}
		if (!(rand() % 8))
			shake(pages, i);
		w->done++;
	}
	for (i = 0; i < THINGS; i++)
		if (things[i].there)
			w->wrong += (uint32_t)thing_check(&c, &things[i], &bounce, look);
	/* Half of them end with everything as it is. */
	if (seed & 1)
		copier_close(&c);
	_exit(0);
}

static void test_stress(void *unused)
{
	int64_t moves = scaled(100, 10), outs = vram_counter("outs"), ins = vram_counter("ins");
	unsigned int i, bad = 0, wrong = 0, done = 0, rounds = scaled(400, 60);
	struct copier c;
	struct buffer hog;
	pid_t pid;
	int status;

	(void)unused;
	/* Fewer doorbells than processes: queues are off for that, too. */
	if (driver_set_parameter("doorbell_slices", "3"))
		tap_bail("doorbell_slices");
	memset(workers, 0, PROCS * sizeof(*workers));
	for (i = 0; i < PROCS; i++) {
		pid = fork();
		if (!pid) {
			/* Not before most of VRAM is taken. */
			while (!workers[PROCS].stop)
				usleep(1000);
			compete(&workers[i], i + 1);
		}
		workers[i].pid = pid;
	}
	pressure_open(&c, &hog);
	workers[PROCS].stop = true;
	/* Who gets ahead of whom decides how much moves, so that is waited for, too. */
	for (i = 0; i < PROCS; i++)
		worker_reaches(&workers[i], rounds);
	while (vram_counter("outs") < outs + moves || vram_counter("ins") < ins + moves) {
		for (i = 0; i < PROCS; i++)
			worker_goes_on(&workers[i], 1);
	}
	for (i = 0; i < PROCS; i++)
		workers[i].stop = true;
	for (i = 0; i < PROCS; i++) {
		bad += waitpid(workers[i].pid, &status, 0) != workers[i].pid || status;
		wrong += workers[i].wrong;
		done += workers[i].done;
	}
	workers[PROCS].stop = false;
	tap_is(bad, 0, "stress: %u processes end well after %u steps", PROCS, done);
	tap_is(wrong, 0, "stress: every byte was right");
	tap_diag("stress: memory moved, out %lld and in %lld times",
		 (long long)(vram_counter("outs") - outs), (long long)(vram_counter("ins") - ins));
	copier_close(&c);
	driver_set_parameter("doorbell_slices", "254");
}

int main(void)
{
	static const struct {
		const char *name;
		void (*fn)(void *unused);
	} tests[] = {
		{ "others go on", test_others_go_on },
		{ "asker killed", test_killed_asker },
		{ "owner killed", test_killed_owner },
		{ "stress", test_stress },
	};
	unsigned int i;

	tap_begin(900);
	workers = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		tap_bail("mmap: %m");
	vram_base_take(&base);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		tap_child(tests[i].name, tests[i].fn, NULL);
		vram_nothing_left(&base, tests[i].name);
	}
	return tap_done();
}
