// SPDX-License-Identifier: MIT
/*
 * SMI events of memory under the SVM interface: which, in which order, and what each line says.
 * Lines are read once everything that was to happen has, so what is not among them did not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "gem_bo.h"
#include "gpu.h"
#include "queue.h"
#include "svm.h"
#include "tap.h"
#include "user.h"

#define PAGES		1200u
#define SIZE		((size_t)PAGES * GPU_PAGE)
#define SYSMEM		KFD_IOCTL_SVM_LOCATION_SYSMEM
#define UNDEFINED	KFD_IOCTL_SVM_LOCATION_UNDEFINED
#define MAX_LINES	64u

/* A line; what its kind does not have is 0. */
struct line {
	unsigned int event;
	unsigned long long ns;
	int pid;
	unsigned long page, pages;
	unsigned int from, to, prefetch, preferred;
	int trigger;
	char how;
};

struct smi {
	struct user u;
	int fd;
	unsigned int n;
	struct line line[MAX_LINES];
};

static void smi_open(struct smi *s)
{
	struct kfd_ioctl_smi_events_args a = { .gpuid = s->u.r.p.gpu_id };
	uint64_t mask = ~KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_ALL_PROCESS);

	if (kfd_call(s->u.r.p.kfd, AMDKFD_IOC_SMI_EVENTS, &a) ||
	    write((int)a.anon_fd, &mask, sizeof(mask)) != (ssize_t)sizeof(mask))
		tap_bail("no SMI events");
	s->fd = (int)a.anon_fd;
	if (fcntl(s->fd, F_SETFL, O_NONBLOCK))
		tap_bail("fcntl: %m");
}

/* How many of the words of its kind a line has; 0: all of them. */
static int parse(const char *text, struct line *l)
{
	*l = (struct line) { 0 };
	if (sscanf(text, "%x ", &l->event) != 1)
		return -1;
	switch (l->event) {
	case KFD_SMI_EVENT_MIGRATE_START:
		return sscanf(text, "%*x %llu -%d @%lx(%lx) %x->%x %x:%x %d", &l->ns, &l->pid, &l->page,
			      &l->pages, &l->from, &l->to, &l->prefetch, &l->preferred, &l->trigger) - 9;
	case KFD_SMI_EVENT_MIGRATE_END:
		return sscanf(text, "%*x %llu -%d @%lx(%lx) %x->%x %d", &l->ns, &l->pid, &l->page,
			      &l->pages, &l->from, &l->to, &l->trigger) - 7;
	case KFD_SMI_EVENT_UNMAP_FROM_GPU:
		return sscanf(text, "%*x %llu -%d @%lx(%lx) %x %d", &l->ns, &l->pid, &l->page, &l->pages,
			      &l->from, &l->trigger) - 6;
	case KFD_SMI_EVENT_QUEUE_EVICTION:
		return sscanf(text, "%*x %llu -%d %x %d", &l->ns, &l->pid, &l->from, &l->trigger) - 4;
	case KFD_SMI_EVENT_QUEUE_RESTORE:
		return sscanf(text, "%*x %llu -%d %x %c", &l->ns, &l->pid, &l->from, &l->how) - 4;
	}
	return -1;
}

/* Reads all lines there are, after what takes its time has happened. */
static void read_lines(struct smi *s)
{
	char buf[MAX_LINES * KFD_SMI_EVENT_MSG_SIZE + 1], *line, *save = NULL;
	bool good = true, own = true;
	ssize_t len;

	user_settle();
	s->n = 0;
	len = read(s->fd, buf, sizeof(buf) - 1);
	buf[len > 0 ? len : 0] = 0;
	for (line = strtok_r(buf, "\n", &save); line && s->n < MAX_LINES;
	     line = strtok_r(NULL, "\n", &save)) {
		tap_diag("%s", line);
		good &= !parse(line, &s->line[s->n]);
		own &= s->line[s->n].pid == getpid() && s->line[s->n].ns;
		s->n++;
	}
	if (!good || !own)
		tap_ok(false, "every line is one of a kind that is known, and this process's");
}

static unsigned int count(const struct smi *s, unsigned int event)
{
	unsigned int i, n = 0;

	for (i = 0; i < s->n; i++)
		n += s->line[i].event == event;
	return n;
}

/* The first line of @event, or one that is all zero; @at: which it is. */
static const struct line *first(const struct smi *s, unsigned int event, unsigned int *at)
{
	static const struct line none;
	unsigned int i;

	for (i = 0; i < s->n && s->line[i].event != event; i++)
		;
	if (at)
		*at = i;
	return i < s->n ? &s->line[i] : &none;
}

/* Whether queues were off some time between lines @start and @end. */
static bool were_off(const struct smi *s, unsigned int start, unsigned int end)
{
	bool off = false;
	unsigned int i;

	for (i = 0; i < end && i < s->n; i++) {
		if (s->line[i].event == KFD_SMI_EVENT_QUEUE_EVICTION)
			off = true;
		else if (s->line[i].event == KFD_SMI_EVENT_QUEUE_RESTORE && i < start)
			off &= s->line[i].how != '0';
	}
	return off;
}

/* All of them for SVM, and each followed by a restore. */
static bool come_back(const struct smi *s)
{
	unsigned int i, off = 0, on = 0;

	for (i = 0; i < s->n; i++) {
		const struct line *l = &s->line[i];

		if (l->event == KFD_SMI_EVENT_QUEUE_EVICTION) {
			off++;
			if (l->trigger != KFD_QUEUE_EVICTION_TRIGGER_SVM || l->from != s->u.r.p.gpu_id)
				return false;
		}
		on += l->event == KFD_SMI_EVENT_QUEUE_RESTORE && l->how == '0' &&
		      l->from == s->u.r.p.gpu_id;
	}
	return off && off == on;
}

/* Lines that are not about queues: the kernel has reasons of its own to touch pages. */
static unsigned int others(const struct smi *s)
{
	return s->n - count(s, KFD_SMI_EVENT_QUEUE_EVICTION) - count(s, KFD_SMI_EVENT_QUEUE_RESTORE);
}

/* Exactly one migration, of @pages from @mem on, and queues that were off meanwhile. */
static void expect_migration(struct smi *s, const char *mem, size_t pages, bool in, int trigger,
			     uint32_t prefetch, const char *what)
{
	unsigned int at_start, at_end;
	const struct line *start, *end;
	uint32_t gpu = s->u.r.p.gpu_id, from = in ? 0 : gpu, to = in ? gpu : 0;
	unsigned long page = (unsigned long)(gpu_va(mem) / GPU_PAGE);

	read_lines(s);
	start = first(s, KFD_SMI_EVENT_MIGRATE_START, &at_start);
	end = first(s, KFD_SMI_EVENT_MIGRATE_END, &at_end);
	tap_ok(count(s, KFD_SMI_EVENT_MIGRATE_START) == 1 && count(s, KFD_SMI_EVENT_MIGRATE_END) == 1 &&
	       others(s) == 2, "%s: one migration is told of", what);
	tap_ok(start->page == page && start->pages == pages && end->page == page && end->pages == pages,
	       "%s: of that memory", what);
	tap_ok(start->from == from && start->to == to && end->from == from && end->to == to,
	       "%s: from where it was to where it is", what);
	tap_ok(start->trigger == trigger && end->trigger == trigger, "%s: with the reason", what);
	tap_ok(start->prefetch == prefetch && start->preferred == UNDEFINED, "%s: and the locations that are set",
	       what);
	tap_ok(at_start < at_end && start->ns <= end->ns && were_off(s, at_start, at_end),
	       "%s: queues are off between its begin and its end", what);
	tap_ok(come_back(s), "%s: for SVM, and come back", what);
}

static void test_unmap(struct smi *s)
{
	char *mem = svm_pages(SIZE);
	const struct line *l;

	memset(mem, 1, SIZE);
	munmap(mem + SIZE - GPU_PAGE, GPU_PAGE);
	read_lines(s);
	tap_is(others(s), 0, "unmap: nothing is told of what is no range");
	svm_share(&s->u.r.p, mem, SIZE - GPU_PAGE);
	read_lines(s);
	munmap(mem + 3 * GPU_PAGE, 4 * GPU_PAGE);
	read_lines(s);
	l = first(s, KFD_SMI_EVENT_UNMAP_FROM_GPU, NULL);
	tap_is(others(s), 1, "unmap: one line");
	tap_ok(l->page == gpu_va(mem) / GPU_PAGE + 3 && l->pages == 4, "unmap: of the pages that are gone");
	tap_ok(l->from == s->u.r.p.gpu_id && l->trigger == KFD_SVM_UNMAP_TRIGGER_UNMAP_FROM_CPU,
	       "unmap: with the GPU and the reason");
	madvise(mem, GPU_PAGE, MADV_DONTNEED);
	read_lines(s);
	tap_is(others(s), 0, "DONTNEED: that unmaps nothing");
	tap_ok(come_back(s), "DONTNEED: queues go off for it, and come back");
	svm_set_one(&s->u.r.p, mem, 3 * GPU_PAGE, SVM_ATTR(NO_ACCESS, s->u.r.p.gpu_id));
	read_lines(s);
	munmap(mem, 3 * GPU_PAGE);
	read_lines(s);
	tap_is(others(s), 0, "unmap: nothing is told of what no GPU has");
	munmap(mem, SIZE);
	read_lines(s);
}

static void test_migrate(struct smi *s)
{
	const uint64_t room = (uint64_t)vram_counter("free");
	char *mem = svm_pages(SIZE);
	uint32_t gpu = s->u.r.p.gpu_id;
	const struct kfd_proc *p = &s->u.r.p;
	struct gem_bo g;

	memset(mem, 1, SIZE);
	svm_share(p, mem, SIZE);
	read_lines(s);
	svm_set_one(p, mem, SIZE, SVM_ATTR(PREFETCH_LOC, SYSMEM));
	read_lines(s);
	tap_is(others(s), 0, "prefetch: to where it is: nothing moves");
	svm_set_one(p, mem, SIZE, SVM_ATTR(PREFETCH_LOC, gpu));
	expect_migration(s, mem, PAGES, true, KFD_MIGRATE_TRIGGER_PREFETCH, gpu, "prefetch");
	svm_set_one(p, mem, SIZE, SVM_ATTR(PREFETCH_LOC, SYSMEM));
	expect_migration(s, mem, PAGES, false, KFD_MIGRATE_TRIGGER_PREFETCH, SYSMEM, "back");

	svm_set_one(p, mem, SIZE, SVM_ATTR(PREFETCH_LOC, gpu));
	read_lines(s);
	*(volatile char *)(mem + 600 * GPU_PAGE) = 2;
	expect_migration(s, mem + 512 * GPU_PAGE, 512, false, KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU, gpu,
			 "CPU");
	/* There is no room for this without what is left of it in VRAM. */
	if (gem_create(&g, p->render, room, AMDGPU_GEM_DOMAIN_VRAM))
		tap_bail("GEM_CREATE");
	expect_migration(s, mem, PAGES, false, KFD_MIGRATE_TRIGGER_TTM_EVICTION, gpu, "room for GEM");
	gem_free(&g);
	munmap(mem, SIZE);
}

static void events(void *unused)
{
	static struct smi s;

	(void)unused;
	user_open(&s.u);
	smi_open(&s);
	test_unmap(&s);
	if (svm_counter("migrates") == 1)
		test_migrate(&s);
	close(s.fd);
	user_close(&s.u);
}

int main(void)
{
	const char *why_not;

	tap_begin(300);
	why_not = svm_begin();
	if (why_not)
		tap_skip_all(why_not);
	tap_child("SMI events", events, NULL);
	svm_end();
	return tap_done();
}
