// SPDX-License-Identifier: MIT
/*
 * The first open of /dev/kfd in a process registers an MMU notifier, which fails with
 * EINTR when a signal is pending. The open must then fail cleanly and work when it is
 * repeated. Also: a child that shares the memory of its parent is another process.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"
#include "tap.h"

#define WANTED		20	/* interrupted opens to see */
#define TRIES_MAX	20000
#define DELAY_MAX_US	400
#define STACK_BYTES	65536

/* Exit status of the child. */
enum { OPENED = 10, INTERRUPTED, BROKEN };

static void on_alarm(int sig)
{
	(void)sig;
}

static int usable(void)
{
	struct kfd_ioctl_get_version_args v = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	int r = fd < 0 ? -errno : kfd_call(fd, AMDKFD_IOC_GET_VERSION, &v);

	if (fd >= 0)
		close(fd);
	return r;
}

/* Opens with a timer running out after @us microseconds, somewhere in the system call. */
static int child(unsigned int us)
{
	const struct itimerval off = { 0 }, t = { .it_value.tv_usec = us };
	struct sigaction sa = { .sa_handler = on_alarm };
	int fd, err;

	if (sigaction(SIGALRM, &sa, NULL) || setitimer(ITIMER_REAL, &t, NULL))
		return BROKEN;
	fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	err = errno;
	setitimer(ITIMER_REAL, &off, NULL);
	if (fd < 0 && err != EINTR)
		return BROKEN;
	if (fd >= 0)
		close(fd);
	if (usable())
		return BROKEN;
	return fd < 0 ? INTERRUPTED : OPENED;
}

static int run_child(unsigned int us)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid)
		_exit(child(us));
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %m");
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

static int open_in_shared_memory(void *arg)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	(void)arg;
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void test_shared_memory(void)
{
	char *stack = malloc(STACK_BYTES);
	int fd = kfd_open(), status;
	pid_t pid;

	if (!stack)
		tap_bail("malloc: %m");
	/* As vfork(), which C programs may not do much in. */
	pid = clone(open_in_shared_memory, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	if (pid < 0)
		tap_bail("clone: %m");
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %m");
	tap_is(WIFEXITED(status) ? WEXITSTATUS(status) : -1, EINVAL,
	       "a process that shares the memory of another cannot open its device");
	tap_is(usable(), 0, "the other one still can");
	free(stack);
	close(fd);
}

int main(void)
{
	unsigned int i, broken = 0, opened = 0, interrupted = 0;

	tap_begin(300);
	for (i = 0; i < TRIES_MAX && interrupted < WANTED && !broken; i++) {
		int r = run_child(1 + i * 7 % DELAY_MAX_US);

		opened += r == OPENED;
		interrupted += r == INTERRUPTED;
		broken += r == BROKEN;
	}
	tap_diag("%u opens, %u of them interrupted", opened + interrupted, interrupted);
	tap_is(broken, 0, "an open fails with EINTR or not at all, and works the next time");
	tap_is(interrupted, WANTED, "opens were interrupted");
	test_shared_memory();
	return tap_done();
}
