// SPDX-License-Identifier: MIT
/*
 * Known bugs of processes: what they take from the hardware and when it comes back, and
 * what fork, exec and munmap do to it. docs/known-bugs-coverage.md says what the numbers
 * mean. At each test: the mutation of the driver that it was seen to fail with.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "kfd.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define RING_BYTES	4096u
#define QUEUES		24u
#define IDLERS		300u	/* there are 254 doorbell slices */
#define CROWD		4u
#define CROWD_QUEUES	8u
#define EXECS		2
#define FORKS		20u
#define NOBODY		65534

static void setup(struct gpu *gpu)
{
	HSAKMT_STATUS s = gpu_open(gpu);

	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
}

static bool works(struct queue *q, HsaEvent *ev)
{
	uint32_t *p = queue_reserve_wait(q, PM4_RELEASE_MEM_DW, LONG_MS);

	if (!p)
		return false;
	queue_commit(q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(q);
	return event_wait(ev, LONG_MS) == HSAKMT_STATUS_SUCCESS;
}

static void one_queue(void *arg)
{
	const char *what = arg;
	struct queue q;
	struct gpu gpu;
	HsaEvent *ev;
	bool ok;

	setup(&gpu);
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	ok = ev && queue_create(&q, &gpu, RING_BYTES) == HSAKMT_STATUS_SUCCESS;
	tap_ok(ok && works(&q, ev), "%s", what);
}

/* Starts a child that says a byte when it is ready and dies by SIGKILL. */
static pid_t idler(int *ready)
{
	struct kfd_proc p;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		tap_bail("pipe: %m");
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		kfd_proc_open(&p);
		if (write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	*ready = fds[0];
	return pid;
}

/* Mutation: vkfd_process_get_pdd() takes a doorbell slice. */
static void test_lazy_doorbells(void)
{
	static pid_t pid[IDLERS];
	unsigned int i, started = 0;
	char byte;
	int fd;

	for (i = 0; i < IDLERS; i++) {
		pid[i] = idler(&fd);
		started += read(fd, &byte, 1) == 1;
		close(fd);
	}
	tap_is(started, IDLERS, "bug 45: %u processes have the GPU open", IDLERS);
	tap_child("bug 45", one_queue, "bug 45: and one more has a queue: idle ones take no doorbells");
	for (i = 0; i < IDLERS; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < IDLERS; i++)
		waitpid(pid[i], NULL, 0);
}

struct crowd {
	int ready[2], go[2];
};

static void crowd_member(const struct crowd *c, unsigned int rounds)
{
	struct queue q[CROWD_QUEUES];
	HsaEvent *ev[CROWD_QUEUES];
	unsigned int n, i, r;
	struct gpu gpu;
	char byte;

	setup(&gpu);
	for (n = 0; n < CROWD_QUEUES; n++) {
		ev[n] = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!ev[n] || queue_create(&q[n], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			break;
	}
	byte = (char)n;
	if (write(c->ready[1], &byte, 1) != 1 || read(c->go[0], &byte, 1) != 1)
		_exit(1);
	for (r = 0; r < rounds; r++)
		for (i = 0; i < n; i++)
			if (!works(&q[i], ev[i]))
				_exit(2);
	_exit(0);
}

/* Mutation: hqd_get() does not mark the slot as used. */
static void test_crowd(void)
{
	unsigned int i, queues = 0, good = 0, rounds = scaled(1000, 100);
	struct crowd c;
	pid_t pid[CROWD];
	int status;
	char n;

	if (pipe(c.ready) || pipe(c.go))
		tap_bail("pipe: %m");
	fflush(NULL);
	for (i = 0; i < CROWD; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			tap_bail("fork: %m");
		if (!pid[i])
			crowd_member(&c, rounds);
	}
	for (i = 0; i < CROWD; i++)
		queues += read(c.ready[0], &n, 1) == 1 ? (unsigned int)n : 0;
	tap_is(queues, driver_sched_policy() == 0 ? CROWD * CROWD_QUEUES : QUEUES, "bug 43: %u processes that want %u queues each get what there is", CROWD,
	       CROWD_QUEUES);
	if (write(c.go[1], "....", CROWD) != CROWD)
		tap_bail("pipe: %m");
	for (i = 0; i < CROWD; i++)
		good += waitpid(pid[i], &status, 0) == pid[i] && !status;
	tap_is(good, CROWD, "bug 43: and all of them get on");
	for (i = 0; i < 2; i++) {
		close(c.ready[i]);
		close(c.go[i]);
	}
}

/*
 * The image that exec starts: all queues of the one before are off the GPU when the
 * device is open, and can be had, @left times more.
 */
static int again(int left)
{
	unsigned int gone = (unsigned int)(EXECS - left) * QUEUES;
	static struct queue q[QUEUES];
	struct inject_state st;
	char arg[16];
	struct gpu gpu;
	HsaEvent *ev;
	unsigned int i;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		return 10;
	/*
	 * Each was asked to stop, once unless the run list changed meanwhile, and the
	 * device holds none back any more.
	 */
	if (inject_status(0, &st) &&
	    ((driver_sched_policy() == 2 && st.passages != gone) || inject_held()))
		return 14;
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!ev)
		return 11;
	for (i = 0; i < QUEUES; i++)
		if (queue_create(&q[i], &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS || !works(&q[i], ev))
			return 12;
	if (!left)
		return 0;
	snprintf(arg, sizeof(arg), "%d", left - 1);
	execl("/proc/self/exe", "bug_processes", "again", arg, NULL);
	return 13;
}

/*
 * The GPU takes its time to give up a queue, so that the teardown of what was before
 * the exec is under way when the new image opens the device.
 * Mutation: vkfd_process_open() does not wait for that.
 */
static void test_exec(void)
{
	int status;
	pid_t pid;

	if (inject_arm("preempt:delay:100ms@1/1"))
		tap_diag("no fault injection: exec is tried without slow queues");

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(again(EXECS));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		tap_bail("fork: %m");
	inject_disarm();
	tap_is(status, 0, "bug 23: a process that runs all queues execs, and has all of them again, %d times",
	       EXECS);
}

static void unmaps(void *arg)
{
	uint64_t *mem = mmap(NULL, GPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HSAuint64 alternate = 0;
	struct queue q;
	struct gpu gpu;
	uint32_t *p;

	(void)arg;
	setup(&gpu);
	memset(mem, 0, GPU_PAGE);
	if (queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtRegisterMemory(mem, GPU_PAGE) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtMapMemoryToGPU(mem, GPU_PAGE, &alternate) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue or no registered memory");
	/* The GPU may have it at another address than the process. */
	if (!alternate)
		alternate = gpu_va(mem);
	p = queue_reserve(&q, PM4_WRITE64_DW);
	queue_commit(&q, pm4_write64(p, alternate, 1));
	queue_submit(&q);
	if (!wait_word(mem, 1, LONG_MS))
		tap_bail("the queue does not run");
	/* It writes there while the memory goes, and then the process goes. */
	while ((p = queue_reserve(&q, PM4_WRITE64_DW)))
		queue_commit(&q, pm4_write64(p, alternate, 2));
	queue_submit(&q);
	munmap(mem, GPU_PAGE);
}

/* Mutation: vkfd_ioctl_alloc_memory_of_gpu() takes a reference to the process for user memory. */
static void test_munmap(void)
{
	int64_t before, now;
	uint64_t end;
	unsigned int i;

	/* Some of those that died before may still be in it: that hides less than ten. */
	close(kfd_open());
	before = driver_references();
	for (i = 0; i < 10; i++)
		tap_child("bug 27", unmaps, NULL);
	end = now_ns() + LONG_MS * 1000000ull;
	do {
		/* An open waits for the teardown of the dead. */
		close(kfd_open());
		now = driver_references();
	} while (now > before && now_ns() < end);
	tap_ok(before >= 0, "bug 27: the module's references can be read");
	tap_ok(now <= before, "bugs 27, 28: 10 processes unmapped registered memory under a running queue and are gone");
}

static void fork_child(volatile uint64_t *mem, int go)
{
	char byte;

	/* Holds the parent's pages shared until told, then ends without a trace. */
	(void)mem;
	if (read(go, &byte, 1) != 1)
		_exit(1);
	_exit(0);
}

/*
 * What is tried here is the thunk: memory of the program that is private and inherited
 * would be copied by the store. No mutation of the driver.
 */
static void forks(void *arg)
{
	unsigned int i, wrong = 0, lost = 0;
	volatile uint64_t *mem;
	struct queue q;
	struct gpu gpu;
	HsaEvent *ev;
	int go[2];
	pid_t pid;

	(void)arg;
	setup(&gpu);
	mem = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!mem || !ev || queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("memory, event or queue");
	for (i = 1; i <= FORKS; i++) {
		uint32_t *p;

		if (pipe(go))
			tap_bail("pipe: %m");
		pid = fork();
		if (pid < 0)
			tap_bail("fork: %m");
		if (!pid)
			fork_child(mem, go[0]);
		/* A copy made by this store would leave the GPU with the old page. */
		mem[1] = i;
		p = queue_reserve_wait(&q, PM4_WRITE64_DW, LONG_MS);
		queue_commit(&q, pm4_write64(p, gpu_va(mem), i));
		lost += !works(&q, ev);
		wrong += mem[0] != i;
		if (write(go[1], "", 1) != 1 || waitpid(pid, NULL, 0) != pid)
			tap_bail("child: %m");
		close(go[0]);
		close(go[1]);
		if (lost)
			break;
	}
	tap_is(lost, 0, "bug 62: a queue runs on through %u forks", FORKS);
	tap_is(wrong, 0, "bug 62: and writes where its process reads");
}

/* Mutation: vkfd_ioctl_set_trap_handler() does not look whether there is a VM. */
static void denied(void *arg)
{
	struct kfd_ioctl_set_trap_handler_args trap = { 0 };
	HsaSystemProperties sys;
	HSAKMT_STATUS s;
	HsaEvent *ev;
	struct gpu gpu = { 0 };
	int fd;

	(void)arg;
	trap.gpu_id = kfd_gpu_id(NULL);
	trap.tba_addr = 0x10000;
	fd = open("/dev/kfd", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		tap_ok(kfd_call(fd, AMDKFD_IOC_SET_TRAP_HANDLER, &trap) < 0,
		       "bug 54: a trap handler for a GPU that was not acquired is refused");
		close(fd);
	}
	if (setgid(NOBODY) || setuid(NOBODY))
		tap_bail("setuid: %m");
	fd = open("/dev/kfd", O_RDWR);
	if (!tap_ok(fd < 0 && errno == EACCES, "bug 54: another user may not open the device"))
		return;
	s = hsaKmtOpenKFD();
	tap_ok(s != HSAKMT_STATUS_SUCCESS, "bug 54: nor through the thunk");
	tap_ok(hsaKmtAcquireSystemProperties(&sys) != HSAKMT_STATUS_SUCCESS &&
	       hsaKmtSetTrapHandler(1, (void *)0x10000, 0x1000, NULL, 0) != HSAKMT_STATUS_SUCCESS,
	       "bug 54: what is called all the same fails");
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	tap_ok(!ev, "bug 54: and there are no events");
}

static void test_denied(void)
{
	struct stat st;

	if (stat("/dev/kfd", &st) || chmod("/dev/kfd", 0600))
		tap_bail("/dev/kfd: %m");
	tap_child("bug 54", denied, NULL);
	if (chmod("/dev/kfd", st.st_mode & 0777))
		tap_bail("/dev/kfd: %m");
	tap_child("bug 54", one_queue, "bug 54: the next process works");
}

int main(int argc, char *argv[])
{
	if (argc > 2 && !strcmp(argv[1], "again"))
		return again(atoi(argv[2]));
	tap_begin(300);
	test_exec();
	test_lazy_doorbells();
	test_crowd();
	test_munmap();
	tap_child("bug 62", forks, NULL);
	test_denied();
	return tap_done();
}
