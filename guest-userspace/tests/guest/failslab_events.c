// SPDX-License-Identifier: MIT
/*
 * Every allocation of the event calls fails once. The kernel's fault injection
 * (fail-nth) lets the n-th allocation of one task fail; each call is made with
 * n = 1, 2, ... until it needs fewer than n. A call must do all of its work, or say
 * ENOMEM and leave everything as it was. Then the same with copies from and to user
 * memory, where EFAULT is right and the process must go on working.
 *
 * Needs a kernel with FAULT_INJECTION (the debug kernel). Each attempt has a process
 * of its own: the first event of a process is the one that allocates. What leaks is
 * for kmemleak to find, except ids, which are counted here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define NTH		"/proc/thread-self/fail-nth"
#define DEBUGFS		"/sys/kernel/debug"
#define NTH_MAX		2000u	/* no call allocates that often */
#define PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * 8u)
#define MANY		300u	/* events of one wait: more than fit in a page */
#define STACK_BYTES	65536u
#define LONG_MS		120000u
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
		 KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)

/* What an attempt works on; memory that no page fault is taken for. */
static struct {
	struct kfd_proc proc;
	int fd;
	uint32_t id;		/* event the call is about */
	uint64_t handle;	/* of the buffer for the signal page */
	uint64_t mmap_offset;	/* of the driver's own signal page */
	void *map;
	struct kfd_ioctl_create_event_args create;
	struct kfd_ioctl_wait_events_args wait;
	struct kfd_event_data data[MANY];
} ctx;

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		tap_bail("%s: %m", file);
	close(fd);
}

/* Which kinds of fault count. An address range no stack is in switches copies off. */
static void configure(bool copies)
{
	put(DEBUGFS "/failslab/verbose", "0");
	put(DEBUGFS "/failslab/ignore-gfp-wait", "N");
	put(DEBUGFS "/fail_page_alloc/verbose", "0");
	put(DEBUGFS "/fail_page_alloc/ignore-gfp-wait", "N");
	put(DEBUGFS "/fail_page_alloc/min-order", "0");
	put(DEBUGFS "/fail_usercopy/verbose", "0");
	put(DEBUGFS "/fail_usercopy/require-start", copies ? "0" : "1");
	put(DEBUGFS "/fail_usercopy/require-end", copies ? "0xffffffffffffffff" : "2");
}

/* fail-nth of this task: the n-th fault from now on. */
static bool arm(int nth_fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(nth_fd, text, (size_t)len, 0) == len;
}

/* Ends it; true if the fault happened. */
static bool disarm(int nth_fd)
{
	char text[16] = "";
	/* Fails if the copy of this very read is the n-th: then it was not reached. */
	ssize_t len = pread(nth_fd, text, sizeof(text) - 1, 0);

	while (!arm(nth_fd, 0))
		;
	return len > 0 && strtoul(text, NULL, 10) == 0;
}

static int create_event(uint32_t type, bool auto_reset, uint64_t page)
{
	int r;

	ctx.create = (struct kfd_ioctl_create_event_args){
		.event_type = type, .auto_reset = auto_reset, .event_page_offset = page };
	r = kfd_call(ctx.fd, AMDKFD_IOC_CREATE_EVENT, &ctx.create);
	if (!r)
		ctx.id = ctx.create.event_id;
	return r;
}

static int set_event(uint32_t id)
{
	struct kfd_ioctl_set_event_args a = { .event_id = id };

	return kfd_call(ctx.fd, AMDKFD_IOC_SET_EVENT, &a);
}

static int reset_event(uint32_t id)
{
	struct kfd_ioctl_reset_event_args a = { .event_id = id };

	return kfd_call(ctx.fd, AMDKFD_IOC_RESET_EVENT, &a);
}

static int destroy_event(uint32_t id)
{
	struct kfd_ioctl_destroy_event_args a = { .event_id = id };

	return kfd_call(ctx.fd, AMDKFD_IOC_DESTROY_EVENT, &a);
}

/* A wait for @n times event @id; @age: 0 for none. The result is in ctx.wait. */
static int wait_event(uint32_t id, unsigned int n, unsigned int ms, uint64_t age)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		ctx.data[i] = (struct kfd_event_data){
			.event_id = id, .signal_event_data.last_event_age = age };
	ctx.wait = (struct kfd_ioctl_wait_events_args){
		.events_ptr = (uint64_t)(uintptr_t)ctx.data, .num_events = n, .timeout = ms };
	return kfd_call(ctx.fd, AMDKFD_IOC_WAIT_EVENTS, &ctx.wait);
}

/* Whether @id is signalled; consumes it if it is auto-reset. */
static bool signaled(uint32_t id)
{
	return !wait_event(id, 1, 0, 0) && ctx.wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

static bool timed_out(void)
{
	return ctx.wait.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT;
}

static bool complete(void)
{
	return ctx.wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

/* An event of its own goes through its whole life. */
static bool works(void)
{
	uint32_t id;

	if (create_event(KFD_IOC_EVENT_SIGNAL, true, 0))
		return false;
	id = ctx.id;
	return !set_event(id) && signaled(id) && !signaled(id) && !destroy_event(id);
}

/* --- preparations ----------------------------------------------------------- */

static void prep_nothing(void)
{
}

static void prep_open(void)
{
	ctx.fd = kfd_open();
}

static void prep_vm(void)
{
	void *va;

	kfd_proc_open(&ctx.proc);
	ctx.fd = ctx.proc.kfd;
	va = kfd_reserve_va(PAGE_BYTES);
	if (kfd_alloc(&ctx.proc, (uint64_t)(uintptr_t)va, PAGE_BYTES, GTT, &ctx.handle, NULL) ||
	    kfd_map(&ctx.proc, ctx.handle))
		tap_bail("no buffer for the signal page");
}

static void prep_events(unsigned int n, bool auto_reset)
{
	prep_open();
	while (n--)
		if (create_event(KFD_IOC_EVENT_SIGNAL, auto_reset, 0))
			tap_bail("no event");
	ctx.mmap_offset = ctx.create.event_page_offset;
}

/* The next id is the first of another node of the table. */
static void prep_63(void)
{
	prep_events(63, true);
}

static void prep_auto(void)
{
	prep_events(1, true);
}

static void prep_auto_set(void)
{
	prep_auto();
	if (set_event(ctx.id))
		tap_bail("SET_EVENT");
}

static void prep_manual_set(void)
{
	prep_events(1, false);
	if (set_event(ctx.id))
		tap_bail("SET_EVENT");
}

/* --- the calls, what is true after them, and after they failed ------------------ */

static int run_open(void)
{
	ctx.fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	return ctx.fd < 0 ? -errno : 0;
}

static bool after_open_failed(void)
{
	return !run_open() && works();
}

static int run_create(void)
{
	return create_event(KFD_IOC_EVENT_SIGNAL, true, 0);
}

static int run_create_page(void)
{
	return create_event(KFD_IOC_EVENT_SIGNAL, true, ctx.handle);
}

static int run_create_memory(void)
{
	return create_event(KFD_IOC_EVENT_MEMORY, true, 0);
}

static bool after_create(void)
{
	uint32_t id = ctx.id;

	return !set_event(id) && signaled(id) && !destroy_event(id) && works();
}

static bool after_create_memory(void)
{
	uint32_t id = ctx.id;

	return !signaled(id) && !destroy_event(id) && works();
}

/* The failed call kept no id: this one gets the first. */
static bool after_create_failed(void)
{
	return !run_create() && ctx.id == 1 && after_create();
}

static bool after_create_64_failed(void)
{
	return !run_create() && ctx.id == 64 && after_create();
}

/* Nor did it attach the buffer. */
static bool after_create_page_failed(void)
{
	return !run_create_page() && ctx.id == 1 && after_create();
}

static bool after_create_memory_failed(void)
{
	return !run_create_memory() && ctx.id == 0x40000000 && after_create_memory();
}

static int run_set(void)
{
	return set_event(ctx.id);
}

static int run_reset(void)
{
	return reset_event(ctx.id);
}

static int run_destroy(void)
{
	return destroy_event(ctx.id);
}

static bool after_destroy(void)
{
	return destroy_event(ctx.id) == -EINVAL && works();
}

static bool is_set(void)
{
	return signaled(ctx.id) && works();
}

/* It is there and not signalled. */
static bool is_not_set(void)
{
	return !wait_event(ctx.id, 1, 0, 0) && timed_out() && works();
}

static int run_poll(void)
{
	return wait_event(ctx.id, 1, 0, 0);
}

static int run_poll_many(void)
{
	return wait_event(ctx.id, MANY, 0, 0);
}

static int run_sleep(void)
{
	return wait_event(ctx.id, 1, 1, 0);
}

static int run_age(void)
{
	return wait_event(ctx.id, 1, LONG_MS, 1);
}

static bool after_poll(void)
{
	return complete() && is_not_set();
}

static bool after_poll_many(void)
{
	return complete() && is_set();
}

static bool after_sleep(void)
{
	return timed_out() && is_not_set();
}

static bool after_age(void)
{
	return complete() && ctx.data[0].signal_event_data.last_event_age == 2 && works();
}

static int run_mmap(void)
{
	ctx.map = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ctx.fd,
		       (off_t)ctx.mmap_offset);
	return ctx.map == MAP_FAILED ? -errno : 0;
}

/* The GPU's side of event 1: a store that anybody who waits for it sees. */
static bool after_mmap(void)
{
	volatile uint64_t *slots = ctx.map;

	if (slots[1] != GPU_EVENT_UNSIGNALED)
		return false;
	slots[1] = 0;
	return !wait_event(1, 1, 1, 0) && complete() && slots[1] == GPU_EVENT_UNSIGNALED;
}

static bool after_mmap_failed(void)
{
	return works() && !run_mmap() && after_mmap();
}

/**
 * struct call - one call under test
 * @prep: what must exist; no faults yet
 * @run: the call: 0 or a negative errno
 * @done: it succeeded: true if it did what it should
 * @undone: it failed: true if nothing has changed
 * @allocs: it allocates, so that a walk without a fault walked nothing
 */
static const struct call {
	const char *name;
	void (*prep)(void);
	int (*run)(void);
	bool (*done)(void);
	bool (*undone)(void);
	bool allocs;
} calls[] = {
	{ "open", prep_nothing, run_open, works, after_open_failed, true },
	{ "CREATE_EVENT, the first", prep_open, run_create, after_create, after_create_failed, true },
	{ "CREATE_EVENT with a buffer", prep_vm, run_create_page, after_create,
	  after_create_page_failed, true },
	{ "CREATE_EVENT, the 64th", prep_63, run_create, after_create, after_create_64_failed, true },
	{ "CREATE_EVENT of type memory", prep_open, run_create_memory, after_create_memory,
	  after_create_memory_failed, true },
	{ "mmap of the signal page", prep_auto, run_mmap, after_mmap, after_mmap_failed, true },
	{ "SET_EVENT", prep_auto, run_set, is_set, is_not_set, false },
	{ "RESET_EVENT", prep_auto_set, run_reset, is_not_set, is_set, false },
	{ "DESTROY_EVENT", prep_auto, run_destroy, after_destroy, is_not_set, false },
	{ "WAIT_EVENTS, polling", prep_auto_set, run_poll, after_poll, is_set, true },
	{ "WAIT_EVENTS for 300", prep_manual_set, run_poll_many, after_poll_many, is_set, true },
	{ "WAIT_EVENTS, sleeping", prep_auto, run_sleep, after_sleep, is_not_set, true },
	{ "WAIT_EVENTS by age", prep_manual_set, run_age, after_age, is_set, true },
};

/* Exit status of an attempt. */
enum { FAULTED = 10, NO_FAULT, WRONG };

/* The stack that the call is going to use. */
static void __attribute__((noinline)) touch_stack(void)
{
	char stack[STACK_BYTES];

	explicit_bzero(stack, sizeof(stack));
}

static int attempt(const struct call *c, unsigned int n, bool copies)
{
	bool faulted, good;
	int nth, r;

	nth = open(NTH, O_RDWR | O_CLOEXEC);
	if (nth < 0)
		tap_bail(NTH ": %m");
	c->prep();
	/* A fault in the handling of a page fault would not be one of the call. */
	touch_stack();
	if (mlockall(MCL_CURRENT))
		tap_bail("mlockall: %m");

	if (!arm(nth, n))
		tap_bail(NTH ": %m");
	r = c->run();
	faulted = disarm(nth);

	if (!r)
		good = copies ? works() : c->done();
	else if (copies && r == -EFAULT && ctx.fd >= 0)
		/* Before the work or after it, when the result is copied: either is right. */
		good = works();
	else
		good = (r == -ENOMEM || (copies && r == -EFAULT)) && c->undone();
	good = good && (!r || faulted);
	if (!good)
		tap_diag("%s, fault %u: result %d, fault %s", c->name, n, r,
			 faulted ? "happened" : "did not happen");
	return !good ? WRONG : faulted ? FAULTED : NO_FAULT;
}

static void walk(const struct call *c, bool copies)
{
	unsigned int n, faults = 0;
	int status, result = FAULTED;
	pid_t pid;

	for (n = 1; n <= NTH_MAX && result == FAULTED; n++) {
		fflush(stdout);
		pid = fork();
		if (pid < 0)
			tap_bail("fork: %m");
		if (!pid)
			_exit(attempt(c, n, copies));
		if (waitpid(pid, &status, 0) != pid)
			tap_bail("waitpid: %m");
		result = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
		if (WIFSIGNALED(status))
			tap_diag("%s, fault %u: died of signal %d", c->name, n, WTERMSIG(status));
		faults += result == FAULTED;
	}
	tap_ok(result == NO_FAULT && (faults || (!copies && !c->allocs)), "%s: %u %s, each failed once",
	       c->name, faults, copies ? "allocations and copies" : "allocations");
}

/* All ids are there, so no failed call kept one. */
static void all_ids(void *arg)
{
	unsigned int n = 0;

	(void)arg;
	prep_vm();
	if (run_create_page())
		tap_bail("no event");
	do
		n++;
	while (n < KFD_SIGNAL_EVENT_LIMIT && !run_create());
	tap_is(n, KFD_SIGNAL_EVENT_LIMIT - 1, "a process still gets all its events");
}

static void completion(void *arg)
{
	struct queue q;
	struct gpu gpu;
	HsaEvent *ev;
	uint32_t *p;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!ev || queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no event or queue");
	p = queue_reserve(&q, 64);
	queue_commit(&q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&q);
	tap_is(event_wait(ev, LONG_MS), HSAKMT_STATUS_SUCCESS, "and the GPU still completes work");
	gpu_close();
}

int main(void)
{
	unsigned int i, copies;

	if (access(NTH, W_OK))
		tap_skip_all("the kernel has no fault injection; the debug kernel has");
	if (access(DEBUGFS "/fail_usercopy/require-start", W_OK))
		tap_skip_all("the kernel has no stack filter for fault injection");
	tap_begin(1800);
	for (copies = 0; copies < 2; copies++) {
		configure(copies);
		for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			walk(&calls[i], copies);
	}
	tap_child("all ids", all_ids, NULL);
	tap_child("completion", completion, NULL);
	return tap_done();
}
