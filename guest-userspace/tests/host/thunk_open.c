// SPDX-License-Identifier: MIT
/* Opening, version, retries, fork. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "thunk_fake.h"

static void open_close(void)
{
	HsaVersionInfo v;
	HsaClockCounters c;

	tap_is(hsaKmtGetVersion(&v), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED, "version before open");
	tap_is(hsaKmtGetClockCounters(0, &c), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED,
	       "counters before open");
	tap_is(hsaKmtCloseKFD(), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED, "close before open");
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS, "first open");
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_KERNEL_ALREADY_OPENED, "second open");
	tap_is(hsaKmtGetVersion(&v), HSAKMT_STATUS_SUCCESS, "version");
	tap_ok(v.KernelInterfaceMajorVersion == 1 && v.KernelInterfaceMinorVersion == 14,
	       "version is the kernel's");
	tap_is(hsaKmtGetVersion(NULL), HSAKMT_STATUS_INVALID_PARAMETER, "version into NULL");
	tap_is(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS, "first close");
	tap_is(hsaKmtGetVersion(&v), HSAKMT_STATUS_SUCCESS, "still open for the other user");
	tap_is(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS, "second close");
	tap_is(hsaKmtGetVersion(&v), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED, "closed");
	tap_is(fake.fds, 2, "the descriptors stay with the process");
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS, "open again");
	tap_is(fake.fds, 2, "and are used again");
}

static void open_fails(void)
{
	fake.no_kfd = true;
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED, "no /dev/kfd");
	fake.no_kfd = false;
	fake.major = 2;
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_DRIVER_MISMATCH, "other major version");
	tap_is(fake.fds, 0, "nothing stays open");
	fake.major = 1;
	fake_fail(FAKE_NR(AMDKFD_IOC_GET_VERSION), 1, EIO);
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_ERROR, "GET_VERSION fails");
	tap_is(fake.fds, 0, "nothing stays open");
	fake.render_errno = EACCES;
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_ERROR, "render node without permission");
	tap_is(fake.fds, 0, "nothing stays open");
	fake.render_errno = 0;
	tap_is(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS, "open works after all that");
}

static void retries(void)
{
	HsaClockCounters c = { 0 };
	int from;

	fake_open();
	from = fake.calls;
	fake.interrupts = 5;
	tap_is(hsaKmtGetClockCounters(FAKE_GPU_NODE, &c), HSAKMT_STATUS_SUCCESS,
	       "a call interrupted five times succeeds");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_GET_CLOCK_COUNTERS), from), 6, "after six attempts");
	tap_is((int64_t)c.GPUClockCounter, 42, "with the result of the last");
	fake_fail(FAKE_NR(AMDKFD_IOC_GET_CLOCK_COUNTERS), 1, EIO);
	from = fake.calls;
	tap_is(hsaKmtGetClockCounters(FAKE_GPU_NODE, &c), HSAKMT_STATUS_ERROR, "other errors are final");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_GET_CLOCK_COUNTERS), from), 1, "after one attempt");
}

static void statuses(void)
{
	HSAuint64 bytes = 0;
	HSAint32 mode = 5;
	HsaClockCounters c;

	fake_open();
	tap_is(hsaKmtGetClockCounters(7, &c), HSAKMT_STATUS_INVALID_NODE_UNIT, "unknown node");
	tap_is(hsaKmtAvailableMemory(FAKE_GPU_NODE, &bytes), HSAKMT_STATUS_SUCCESS, "available memory");
	tap_is((int64_t)bytes, 123456789, "is the kernel's number");
	tap_is(hsaKmtGetXNACKMode(&mode), HSAKMT_STATUS_NOT_SUPPORTED, "EPERM of XNACK is NOT_SUPPORTED");
	tap_is(hsaKmtRuntimeEnable(NULL, false), HSAKMT_STATUS_NOT_SUPPORTED, "no debug firmware");
	tap_is(hsaKmtPcSamplingSupport(), HSAKMT_STATUS_NOT_SUPPORTED, "PC sampling needs 1.16");
	tap_is(hsaKmtSPMAcquire(FAKE_GPU_NODE), HSAKMT_STATUS_ERROR, "ENOTTY of SPM is ERROR");
	tap_is(hsaKmtSetMemoryPolicy(FAKE_GPU_NODE, 0, 0, NULL, 0), HSAKMT_STATUS_NOT_IMPLEMENTED,
	       "memory policy");
	fake_fail(FAKE_NR(AMDKFD_IOC_ALLOC_QUEUE_GWS), 1, ENODEV);
	tap_is(hsaKmtAllocQueueGWS(1, 1, NULL), HSAKMT_STATUS_INVALID_PARAMETER, "GWS of no queue");
}

static void minor_gates(void)
{
	HSAuint64 bytes;
	HSAint32 mode;

	fake.minor = 4;
	fake_open();
	tap_is(hsaKmtAvailableMemory(FAKE_GPU_NODE, &bytes), HSAKMT_STATUS_NOT_SUPPORTED,
	       "available memory needs 1.9");
	tap_is(hsaKmtGetXNACKMode(&mode), HSAKMT_STATUS_NOT_SUPPORTED, "XNACK needs 1.5");
	tap_is(fake_count(FAKE_NR(AMDKFD_IOC_SET_XNACK_MODE), 0), 0, "and is not even tried");
}

/* 0: all well. What a child does to use the GPU on its own. */
static int child_life(void)
{
	HsaSystemProperties sys;
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };
	HsaVersionInfo v;
	HsaEvent *ev;

	if (hsaKmtGetVersion(&v) != HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED)
		return 1;
	if (hsaKmtCreateEvent(&desc, false, false, &ev) != HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED)
		return 2;
	if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS)
		return 3;
	if (hsaKmtAcquireSystemProperties(&sys) != HSAKMT_STATUS_SUCCESS || sys.NumNodes != 2)
		return 4;
	return 0;
}

static int wait_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %m");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void fork_reopen(void)
{
	HsaVersionInfo v;
	HsaMemFlags flags = { .ui32 = { .HostAccess = 1 } };
	void *mem;
	pid_t pid;
	int acquired;

	fake_open();
	hsaKmtOpenKFD();	/* two users: the child inherits neither */
	hsaKmtAllocMemory(0, 4096, flags, &mem);
	acquired = fake_count(FAKE_NR(AMDKFD_IOC_ACQUIRE_VM), 0);
	pid = fork();
	if (!pid) {
		int ret = child_life();

		if (!ret && fake.fds != 2)
			ret = 10;	/* the parent's were closed, own ones opened */
		if (!ret && fake_count(FAKE_NR(AMDKFD_IOC_ACQUIRE_VM), 0) != acquired + 1)
			ret = 11;
		if (!ret && hsaKmtFreeMemory(mem, 4096) != HSAKMT_STATUS_MEMORY_NOT_REGISTERED)
			ret = 12;
		_exit(ret);
	}
	tap_is(wait_child(pid), 0, "a child is told to open, opens, and has a GPU of its own");
	tap_is(hsaKmtGetVersion(&v), HSAKMT_STATUS_SUCCESS, "the parent goes on");
	tap_is(hsaKmtFreeMemory(mem, 4096), HSAKMT_STATUS_SUCCESS, "with its memory");
}

static void fork_release(void)
{
	int from;
	pid_t pid;

	fake_open();
	from = fake.calls;
	pid = fork();
	if (!pid) {
		hsaKmtReleaseSystemProperties();
		_exit(fake.calls != from);
	}
	tap_is(wait_child(pid), 0, "release in a child does not touch the parent's GPU");
}

/*
 * A fork while another thread is in the kernel and holds the library's lock. The
 * thread leaves when the fork is seen to have happened, or after a while: the fork
 * has to wait for it, and the child must find the lock free.
 */
static _Atomic int in_kernel, forked;

static void hold_in_kernel(int nr, void *arg)
{
	(void)arg;
	if (nr != FAKE_NR(AMDKFD_IOC_CREATE_EVENT))
		return;
	in_kernel = 1;
	for (int i = 0; i < 200 && !forked; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void *create_one(void *arg)
{
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };
	HsaEvent *ev = NULL;

	(void)arg;
	hsaKmtCreateEvent(&desc, false, false, &ev);
	return ev;
}

static void fork_while_locked(void)
{
	pthread_t thread;
	void *ev;
	pid_t pid;

	fake_open();
	fake.hook = hold_in_kernel;
	pthread_create(&thread, NULL, create_one, NULL);
	while (!in_kernel)
		sched_yield();
	pid = fork();
	if (!pid) {
		fake.hook = NULL;
		alarm(10);	/* a dead-lock becomes a death by signal */
		_exit(child_life());
	}
	forked = 1;
	fake.hook = NULL;
	tap_is(wait_child(pid), 0, "a child of a fork in the midst of a call can open");
	pthread_join(thread, &ev);
	tap_ok(ev, "and the call in the parent succeeds");
	hsaKmtDestroyEvent(ev);
}

static void raw_fork(void)
{
	HsaClockCounters c;
	pid_t pid;

	fake_open();
	/* A child the fork handlers do not see: the kernel's EBADF tells. */
	pid = _Fork();
	if (!pid) {
		int ret = 0;

		if (hsaKmtGetClockCounters(FAKE_GPU_NODE, &c) != HSAKMT_STATUS_ERROR)
			ret = 1;
		else if (hsaKmtGetClockCounters(FAKE_GPU_NODE, &c) !=
			 HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED)
			ret = 2;
		else if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS)
			ret = 3;
		_exit(ret);
	}
	tap_is(wait_child(pid), 0, "a child without fork handlers learns it from EBADF");
}

int main(void)
{
	tap_begin(120);
	fake_scenario("open and close", open_close);
	fake_scenario("open fails", open_fails);
	fake_scenario("retries", retries);
	fake_scenario("status mapping", statuses);
	fake_scenario("old kernel", minor_gates);
	fake_scenario("fork and open", fork_reopen);
	fake_scenario("fork and release", fork_release);
	fake_scenario("fork under lock", fork_while_locked);
	fake_scenario("raw fork", raw_fork);
	return tap_done();
}
