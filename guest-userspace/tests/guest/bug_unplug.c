// SPDX-License-Identifier: MIT
/*
 * Known bug 47: the GPU goes while processes wait. All of them are told, whatever they
 * wait for, and an exception event carries the reason. docs/known-bugs-coverage.md says
 * what the numbers mean. Mutation it was seen to fail with: vkfd_events_device_gone()
 * does not wake anybody.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "queue.h"
#include "tap.h"
#include "waiter.h"

#define PCI_DRIVER	"/sys/bus/pci/drivers/vkfd"
#define LONG_MS		30000u
#define PROCESSES	3u
#define RING_BYTES	4096u

static bool find_address(char *addr, size_t size)
{
	DIR *dir = opendir(PCI_DRIVER);
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		found = strlen(e->d_name) < size && strchr(e->d_name, ':');
		if (found)
			strcpy(addr, e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

enum kind { ONE, ANY, ALL, AGE, MEMORY, EXCEPTION, KINDS };

static const char *const kind_name[KINDS] = {
	"one event", "any of three", "all of three", "an age", "a memory fault", "an exception",
};

/* Exit status: a bit for each kind that was not told. */
static int waiting_process(int ready)
{
	HsaEvent *sig[3], *memory, *hw;
	struct waiter w[KINDS];
	struct queue q;
	uint64_t age = 1;
	struct gpu gpu;
	unsigned int i;
	int bad = 0;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		return 64;
	for (i = 0; i < 3; i++)
		if (!(sig[i] = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false)))
			return 65;
	memory = event_new(&gpu, HSA_EVENTTYPE_MEMORY, false);
	hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, true);
	if (!memory || !hw)
		return 66;
	for (i = 0; i < KINDS; i++)
		w[i] = (struct waiter){ .events = sig, .n = 1, .ms = HSA_EVENTTIMEOUT_INFINITE };
	w[ANY].n = w[ALL].n = 3;
	w[ALL].all = true;
	w[AGE].ages = &age;
	w[MEMORY].events = &memory;
	w[EXCEPTION].events = &hw;
	for (i = 0; i < KINDS; i++)
		waiter_start(&w[i]);
	if (write(ready, "", 1) != 1)
		return 67;
	for (i = 0; i < KINDS; i++) {
		HSAKMT_STATUS s = waiter_join(&w[i]);

		/* Who waits for it learns the reason; the others that it is over. */
		if (i == EXCEPTION ? s != HSAKMT_STATUS_SUCCESS : s == HSAKMT_STATUS_SUCCESS)
			bad |= 1 << i;
	}
	return bad;
}

/* Exit status of @pid, 255 when it has to be killed. */
static int ends(pid_t pid)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	int status;
	pid_t p;

	while (!(p = waitpid(pid, &status, WNOHANG)) && now_ns() < end)
		sched_yield();
	if (!p) {
		kill(pid, SIGKILL);
		p = waitpid(pid, &status, 0);
	}
	if (p != pid)
		tap_bail("waitpid: %m");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void round_of(const char *how, bool (*gone)(const char *), bool (*back)(const char *),
		     const char *addr)
{
	unsigned int i, k;
	pid_t pid[PROCESSES];
	int fds[2], missed = 0;
	char byte;

	if (pipe(fds))
		tap_bail("pipe: %m");
	fflush(NULL);
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			tap_bail("fork: %m");
		if (!pid[i])
			_exit(waiting_process(fds[1]));
	}
	for (i = 0; i < PROCESSES; i++)
		if (read(fds[0], &byte, 1) != 1)
			tap_bail("a process is not ready");
	tap_ok(gone(addr), "bug 47: the GPU is %s while %u processes wait", how, PROCESSES);
	for (i = 0; i < PROCESSES; i++) {
		missed |= ends(pid[i]);
	}
	for (k = 0; k < KINDS; k++)
		tap_ok(!(missed & 1 << k), "bug 47: %s: who waits for %s is told", how, kind_name[k]);
	tap_ok(!(missed & ~((1 << KINDS) - 1)), "bug 47: %s: all of them came to the wait", how);
	tap_ok(back(addr), "bug 47: %s: the GPU comes back", how);
	close(fds[0]);
	close(fds[1]);
}

static bool unbind(const char *addr)
{
	return write_file(PCI_DRIVER "/unbind", addr);
}

static bool bind(const char *addr)
{
	return write_file(PCI_DRIVER "/bind", addr);
}

static bool remove_device(const char *addr)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", addr);
	return write_file(path, "1");
}

static bool rescan(const char *addr)
{
	char path[128];

	/* The driver's probe is done when the write returns. */
	snprintf(path, sizeof(path), PCI_DRIVER "/%s", addr);
	return write_file("/sys/bus/pci/rescan", "1") && !access(path, F_OK);
}

static void works(void *arg)
{
	struct queue q;
	struct gpu gpu;
	uint32_t *p;
	HsaEvent *ev;

	(void)arg;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue on the GPU that came back");
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	p = queue_reserve(&q, PM4_RELEASE_MEM_DW);
	queue_commit(&q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&q);
	tap_is(event_wait(ev, LONG_MS), 0, "bug 47: the GPU that came back works");
}

int main(void)
{
	char addr[32] = "";

	tap_begin(200);
	if (!find_address(addr, sizeof(addr)))
		tap_skip_all("no GPU bound to vkfd");
	round_of("unbound", unbind, bind, addr);
	tap_child("bug 47", works, NULL);
	round_of("removed", remove_device, rescan, addr);
	tap_child("bug 47", works, NULL);
	return tap_done();
}
