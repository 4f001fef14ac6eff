// SPDX-License-Identifier: MIT
/*
 * Memory under the SVM interface that is prefetched into VRAM, on kernels that can do that:
 * nothing of it is lost on any way there and back, and VRAM is given back. Elsewhere it stays
 * where it is.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "gem_bo.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "svm.h"
#include "tap.h"
#include "user.h"

#define LONG_MS	60000u
#define PAGES	1200u	/* more than come back at a time, and no multiple of it */
#define SIZE	((size_t)PAGES * GPU_PAGE)
#define SYSMEM	KFD_IOCTL_SVM_LOCATION_SYSMEM

static volatile uint64_t *word(char *mem, size_t page)
{
	return (volatile uint64_t *)(mem + page * GPU_PAGE);
}

static uint64_t pattern(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull;
}

static void fill(char *mem, size_t size)
{
	size_t i;

	for (i = 0; i < size / 8; i++)
		((uint64_t *)mem)[i] = pattern(i);
}

/* Words that are not as they were; the first of page @but is @val. */
static int64_t wrong(const char *mem, size_t size, size_t but, uint64_t val)
{
	size_t i;
	int64_t n = 0;

	for (i = 0; i < size / 8; i++)
		n += ((const uint64_t *)mem)[i] != (i == but * (GPU_PAGE / 8) ? val : pattern(i));
	return n;
}

static int prefetch(struct user *u, const char *mem, size_t size, uint32_t where)
{
	return svm_set_one(&u->r.p, mem, size, SVM_ATTR(PREFETCH_LOC, where));
}

static uint64_t available(struct user *u)
{
	struct kfd_ioctl_get_available_memory_args a = { .gpu_id = u->r.p.gpu_id };

	if (kfd_call(u->r.p.kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &a))
		tap_bail("AVAILABLE_MEMORY");
	return a.available;
}

/*
 * Filled memory of @size in VRAM, where it can be there. A huge page that somebody else in the
 * kernel has in hand just now cannot be taken apart, and stays: so it is asked for again.
 */
static char *in_vram(struct user *u, size_t size)
{
	const int64_t want = svm_counter("migrates") == 1 ? (int64_t)(size / GPU_PAGE) : 0;
	const int64_t before = svm_counter("vram");
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	char *mem = user_pages(size);

	fill(mem, size);
	svm_share(&u->r.p, mem, size);
	do {
		if (prefetch(u, mem, size, u->r.p.gpu_id))
			tap_bail("prefetch");
		user_settle();
	} while (svm_counter("vram") - before < want && now_ns() < end);
	return mem;
}

static bool loads(struct user *u, volatile uint64_t *at, uint64_t want)
{
	uint64_t value = ~want;

	return user_load(u, at, &value) && value == want;
}

static void test_there_and_back(struct user *u)
{
	const int64_t pages = PAGES;
	char *mem = in_vram(u, SIZE), *ram = user_pages(SIZE);
	size_t done;

	svm_counter_is("vram", pages, "prefetch: all pages are in VRAM");
	svm_counter_is("present", pages, "prefetch: and mapped");
	tap_ok(loads(u, word(mem, 0), pattern(0)) &&
	       loads(u, word(mem, PAGES - 1), pattern((PAGES - 1) * (GPU_PAGE / 8))),
	       "prefetch: the GPU sees what was there");
	tap_ok(user_store(u, word(mem, 700), 5), "prefetch: and stores");
	svm_counter_is("vram", pages, "prefetch: the GPU moves nothing");
	svm_share(&u->r.p, ram, SIZE);
	for (done = 0; done < SIZE; done += SIZE / 4)
		raw_put_copy(&u->sdma, ram + done, mem + done, (uint32_t)(SIZE / 4));
	raw_put_write(&u->sdma, u->sdma.word, ++u->seq);
	raw_submit(&u->sdma);
	tap_ok(wait_word(u->sdma.word, u->seq, LONG_MS), "prefetch: SDMA copies it to RAM");
	tap_is(wrong(ram, SIZE, 700, 5), 0, "prefetch: every word of it");

	tap_is((int64_t)*word(mem, 700), 5, "CPU: sees what the GPU stored");
	user_settle();
	tap_ok(svm_counter("vram") < pages && svm_counter("vram") > 0, "CPU: some of it has come back");
	tap_ok(user_store(u, word(mem, 700), 6) && *word(mem, 700) == 6,
	       "CPU: both sides use that");
	tap_is(wrong(mem, SIZE, 700, 6), 0, "CPU: no word is lost");
	user_settle();
	svm_counter_is("vram", 0, "CPU: nothing is in VRAM any more");

	tap_is(prefetch(u, mem, SIZE, u->r.p.gpu_id), 0, "again: into VRAM");
	svm_counter_is("vram", pages, "again: all pages are there");
	tap_is(prefetch(u, mem, SIZE, SYSMEM), 0, "again: out of it");
	svm_counter_is("vram", 0, "again: no page is");
	svm_counter_is("present", 2 * pages, "again: all are mapped in RAM");
	tap_is(wrong(mem, SIZE, 700, 6), 0, "again: no word is lost");
	munmap(mem, SIZE);
	munmap(ram, SIZE);
}

/* A part of a mapping, with more of the same on either side. */
static void test_part(struct user *u)
{
	char *all = svm_pages(3 * SIZE), *mem = all + SIZE;

	fill(all, 3 * SIZE);
	svm_share(&u->r.p, mem, SIZE);
	tap_is(prefetch(u, mem, SIZE, u->r.p.gpu_id), 0, "part: of a mapping into VRAM");
	svm_counter_is("vram", PAGES, "part: that and no more");
	tap_is(prefetch(u, mem, SIZE, SYSMEM), 0, "part: and out of it");
	svm_counter_is("vram", 0, "part: all of it");
	tap_is(wrong(all, 3 * SIZE, 3 * PAGES, 0), 0, "part: no word is lost");
	munmap(all, 3 * SIZE);
}

static void test_untouched(struct user *u)
{
	char *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;
	bool ok = true;

	if (mem == MAP_FAILED)
		tap_bail("mmap: %m");
	tap_is(prefetch(u, mem, SIZE, u->r.p.gpu_id), 0, "untouched: prefetched before access");
	svm_share(&u->r.p, mem, SIZE);
	svm_counter_is("vram", PAGES, "untouched: it begins in VRAM");
	for (i = 0; ok && i < PAGES; i += 100)
		ok = loads(u, word(mem, i), 0) && user_store(u, word(mem, i), i + 1);
	tap_ok(ok, "untouched: zeroes, which the GPU writes over");
	for (i = 0; ok && i < PAGES; i++)
		ok = *word(mem, i) == (i % 100 ? 0 : i + 1);
	tap_ok(ok, "untouched: the CPU sees that");
	munmap(mem, SIZE);
}

static void test_fork(struct user *u)
{
	char *mem = in_vram(u, SIZE);
	int go[2], status = -1;
	char byte = 0;
	pid_t pid;

	if (pipe(go))
		tap_bail("pipe: %m");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(wrong(mem, SIZE, PAGES, 0) != 0);
	}
	tap_ok(user_store(u, word(mem, 9), 8), "fork: the GPU stores after it");
	*word(mem, 9) += 1;
	if (write(go[1], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid)
		tap_bail("the child: %m");
	tap_is(status, 0, "fork: the child has what was in VRAM as it was");
	tap_ok(loads(u, word(mem, 9), 9), "fork: the GPU sees what the parent stores");
	tap_is(wrong(mem, SIZE, 9, 9), 0, "fork: no word is lost");
	close(go[0]);
	close(go[1]);
	munmap(mem, SIZE);
}

static void test_given_back(struct user *u)
{
	const uint64_t before = available(u);
	const int64_t used = vram_counter("used");
	uint64_t handle;
	char *mem;
	pid_t pid;

	mem = in_vram(u, SIZE);
	tap_is(vram_counter("used") - used, SIZE, "VRAM: it counts as used");
	tap_is((int64_t)available(u), (int64_t)before, "VRAM: but KFD can have it");
	munmap(mem, SIZE);
	tap_ok(vram_settle("used", used), "VRAM: munmap gives it back");

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		struct user other;

		user_open(&other);
		mem = in_vram(&other, SIZE);
		user_store_async(&other, word(mem, 1), 1);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	tap_ok(vram_settle("used", used), "VRAM: so does a process that is killed");

	mem = in_vram(u, SIZE);
	tap_is(kfd_alloc(&u->r.p, gpu_va(kfd_reserve_va(before)), before,
			 KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE, &handle, NULL),
	       0, "VRAM: a BO gets all there was before");
	user_settle();
	svm_counter_is("vram", 0, "VRAM: since what may be in RAM moves there");
	tap_ok(user_store(u, word(mem, 3), 4), "VRAM: where the GPU uses it");
	tap_is(wrong(mem, SIZE, 3, 4), 0, "VRAM: no word is lost");
	kfd_free(&u->r.p, handle);
	munmap(mem, SIZE);
}

/* GEM, for which as much goes as is needed, and comes when it is needed, too. */
static void test_gem(struct user *u)
{
	const uint64_t free_before = (uint64_t)vram_counter("free");
	char *a = in_vram(u, SIZE), *b = in_vram(u, SIZE);
	struct gem_bo g;
	int64_t left;

	tap_is(gem_create(&g, u->r.p.render, free_before + GPU_PAGE, AMDGPU_GEM_DOMAIN_VRAM), -ENOMEM,
	       "GEM: does not get more than there was");
	svm_counter_is("vram", 2 * PAGES, "GEM: and nothing moves for that");
	tap_is(gem_create(&g, u->r.p.render, free_before - 2 * SIZE + GPU_PAGE, AMDGPU_GEM_DOMAIN_VRAM),
	       0, "GEM: gets a page more than is free");
	user_settle();
	left = svm_counter("vram");
	tap_ok(left > 0 && left < 2 * PAGES, "GEM: some goes, and some stays: %lld pages",
	       (long long)left);
	tap_ok(user_store(u, word(a, 3), 4) && user_store(u, word(b, 3), 4), "GEM: the GPU uses both");
	gem_free(&g);
	tap_is(gem_create(&g, u->r.p.render, free_before, AMDGPU_GEM_DOMAIN_VRAM), 0,
	       "GEM: gets all there was");
	user_settle();
	svm_counter_is("vram", 0, "GEM: for which all goes");
	tap_is(wrong(a, SIZE, 3, 4) + wrong(b, SIZE, 3, 4), 0, "GEM: no word is lost");
	gem_free(&g);
	munmap(a, SIZE);
	munmap(b, SIZE);
}

/* How much comes back with a page that a CPU touches. */
static void test_granularity(struct user *u)
{
	static const struct {
		uint32_t granularity;
		int64_t pages;
		const char *what;
	} cases[] = {
		{ 0, 1, "granularity 0: it comes back alone" },
		{ 4, 16, "granularity 4: 16 pages come back" },
		{ 9, 512, "granularity 9: 512 pages come back" },
		{ 10, 1024, "granularity 10: 1024 pages come back" },
		{ 63, PAGES, "granularity 63: all of the range comes back" },
	};
	char *mem = svm_pages(SIZE);
	unsigned int i;

	fill(mem, SIZE);
	svm_share(&u->r.p, mem, SIZE);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		svm_set_one(&u->r.p, mem, SIZE, SVM_ATTR(GRANULARITY, cases[i].granularity));
		if (prefetch(u, mem, SIZE, u->r.p.gpu_id))
			tap_bail("prefetch");
		svm_counter_is("vram", PAGES, "granularity: all of it is in VRAM");
		tap_ok(*word(mem, 700) == pattern(700 * (GPU_PAGE / 8)), "granularity %u: a page is read",
		       cases[i].granularity);
		user_settle();
		svm_counter_is("vram", PAGES - cases[i].pages, cases[i].what);
	}
	munmap(mem, SIZE);
}

static void moves(void *arg)
{
	struct user u;

	(void)arg;
	user_open(&u);
	test_there_and_back(&u);
	test_part(&u);
	test_untouched(&u);
	test_fork(&u);
	test_given_back(&u);
	test_gem(&u);
	test_granularity(&u);
	user_close(&u);
}

static void stays(void *arg)
{
	struct user u;
	char *mem;

	(void)arg;
	user_open(&u);
	mem = in_vram(&u, SIZE);
	svm_counter_is("vram", 0, "prefetch: no page is in VRAM");
	svm_counter_is("present", PAGES, "prefetch: all are mapped in place");
	munmap(mem, SIZE);
	user_close(&u);
}

/* The GPU goes while a process has memory there, or mapped there; the memory does not. */
static void test_gone(void)
{
	int ready[2], go[2], status = -1;
	char byte = 0;
	pid_t pid;

	if (!gpu_sysfs_find() || pipe(ready) || pipe(go))
		tap_bail("no GPU in sysfs, or no pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		struct user u;
		char *mem;

		user_open(&u);
		mem = in_vram(&u, SIZE);
		if (!user_store(&u, word(mem, 1), 2) || write(ready[1], &byte, 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(2);
		status = wrong(mem, SIZE, 1, 2) != 0;
		munmap(mem, SIZE);
		_exit(status);
	}
	if (read(ready[0], &byte, 1) != 1)
		tap_bail("the child: %m");
	tap_ok(gpu_unbind(), "gone: the GPU is unbound");
	if (write(go[1], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid)
		tap_bail("the child: %m");
	tap_is(status, 0, "gone: a process that had memory there has all of it");
	tap_ok(gpu_bind(), "gone: it is bound again");
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
}

/* Of a process that uses KFD: not of this one, which would keep the module. */
static void ask(void)
{
	struct kfd_proc p;

	kfd_proc_open(&p);
	_exit(svm_counter("migrates") == 1);
}

int main(void)
{
	const char *why_not;
	int status;
	pid_t pid;

	tap_begin(300);
	why_not = svm_begin();
	if (why_not)
		tap_skip_all(why_not);
	fflush(NULL);
	pid = fork();
	if (!pid)
		ask();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		tap_bail("a child: %m");
	if (WEXITSTATUS(status))
		tap_child("into VRAM and back", moves, NULL);
	else
		tap_child("a kernel without DEVICE_PRIVATE", stays, NULL);
	test_gone();
	svm_end();
	return tap_done();
}
