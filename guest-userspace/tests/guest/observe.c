// SPDX-License-Identifier: MIT
/*
 * Watching events: tracepoints, the event table of a process in debugfs, and SMI event
 * descriptors - whole lines, only of what concerns the reader, losses reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "counters.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "tap.h"

#include <linux/kfd_ioctl.h>

#define WAIT_MS		20000
#define TRACING		"/sys/kernel/tracing"
#define RESETS		40u
#define BIT_OF(event)	(1ull << ((event) - 1))
#define ALL_PROCESSES	(1ull << 63)

static struct gpu gpu;
static struct queue q;

static void set_up(void)
{
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("GPU or queue");
}

static char *slurp(const char *path)
{
	static char buf[1 << 20];
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return NULL;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = 0;
	fclose(f);
	return buf;
}

static void signal_by_gpu(HsaEvent *ev)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, WAIT_MS);

	queue_commit(&q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&q);
	if (event_wait(ev, WAIT_MS) != HSAKMT_STATUS_SUCCESS)
		tap_bail("interrupts do not work");
}

/*
 * As signal_by_gpu(), but the interrupt's handler signals the event: nobody waits who could
 * find the slot written before. The counter is read under the lock that the handler holds.
 */
static void signal_by_interrupt(HsaEvent *ev)
{
	uint32_t *p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, WAIT_MS);
	int64_t before = kfd_counter("ih", "eop");

	queue_commit(&q, pm4_signal(p, event_slot(ev), ev->EventId));
	queue_submit(&q);
	if (!kfd_counter_wait("ih", "eop", before + 1, WAIT_MS) ||
	    event_wait(ev, WAIT_MS) != HSAKMT_STATUS_SUCCESS)
		tap_bail("interrupts do not work");
}

static void test_trace(void *unused)
{
	static const char * const names[] = {
		"queue_create", "queue_load", "event_wait_begin", "ih_entry", "event_signal",
		"event_wait_end", "queue_unload", "queue_destroy",
	};
	const char *text, *at;
	unsigned int i;
	char want[64];
	HsaEvent *ev;

	(void)unused;
	if (!write_text(TRACING "/events/vkfd/enable", "1"))
		tap_bail("no tracepoints of vkfd");
	write_text(TRACING "/trace", "\n");
	set_up();
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	signal_by_interrupt(ev);
	queue_destroy(&q);
	write_text(TRACING "/events/vkfd/enable", "0");
	text = slurp(TRACING "/trace");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(want, sizeof(want), " %s: ", names[i]);
		tap_ok(text && strstr(text, want), "%s is traced", names[i]);
	}
	snprintf(want, sizeof(want), "ih_entry: gpu %u client 0x14 source 181", gpu.props.KFDGpuID);
	at = strstr(text, want);
	tap_ok(at, "the entry says what it is");
	snprintf(want, sizeof(want), "event_signal: id 0x%x type 0 age 2", ev->EventId);
	tap_ok(at && strstr(at, want), "the signal of the event follows it");
	gpu_close();
}

static void *sleeper(void *ev)
{
	return (void *)(uintptr_t)hsaKmtWaitOnEvent(ev, HSA_EVENTTIMEOUT_INFINITE);
}

static void test_table(void *unused)
{
	char path[96], want[96];
	HsaEvent *ev, *set;
	const char *text;
	unsigned int i;
	pthread_t t;

	(void)unused;
	set_up();
	ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	set = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, true);
	signal_by_gpu(ev);
	hsaKmtSetEvent(set);
	if (pthread_create(&t, NULL, sleeper, ev))
		tap_bail("pthread_create");
	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/proc/%d/events", getpid());
	snprintf(want, sizeof(want), "\n%u 0 idle 2 1\n", ev->EventId);
	for (i = 0; i < 2000; i++) {
		text = slurp(path);
		if (!text || strstr(text, want))
			break;
		usleep(1000);
	}
	tap_ok(text && strstr(text, want), "an event somebody waits for: state, age, one waiter");
	snprintf(want, sizeof(want), "\n%u 0 signaled,manual 2 0\n", set->EventId);
	tap_ok(text && strstr(text, want), "a manual-reset event that is set");
	hsaKmtSetEvent(ev);
	pthread_join(t, NULL);
	queue_destroy(&q);
	gpu_close();
}

static int smi_open(uint64_t events)
{
	int fd = -1;

	if (hsaKmtOpenSMI(gpu.node, &fd) != HSAKMT_STATUS_SUCCESS)
		tap_bail("hsaKmtOpenSMI");
	if (write(fd, &events, sizeof(events)) != sizeof(events))
		tap_bail("SMI mask: %m");
	return fd;
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* A bad address, and the MEMORY event that tells that the driver has acted on it. */
static void fault(void *unused)
{
	HsaEvent *mem;
	uint32_t *p;

	(void)unused;
	set_up();
	mem = event_new(&gpu, HSA_EVENTTYPE_MEMORY, false);
	p = queue_reserve(&q, PM4_WRITE64_DW);
	queue_commit(&q, pm4_write64(p, 0x10000000, 1));
	queue_submit(&q);
	if (event_wait(mem, WAIT_MS) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no MEMORY event");
	fflush(stdout);
	_exit(0);
}

static void test_smi(void *unused)
{
	int own, all, mask_only;
	char line[256], want[64];
	ssize_t n;

	(void)unused;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	own = smi_open(BIT_OF(KFD_SMI_EVENT_VMFAULT));
	all = smi_open(BIT_OF(KFD_SMI_EVENT_VMFAULT) | ALL_PROCESSES);
	mask_only = smi_open(ALL_PROCESSES);
	tap_ok(read(own, line, sizeof(line)) == -1 && errno == EAGAIN, "nothing yet");
	gpu_close();
	tap_child("another process faults", fault, NULL);
	tap_ok(readable(all, WAIT_MS), "who may and wants to, hears of it");
	tap_ok(read(all, line, 4) == -1 && errno == EINVAL, "no piece of a line");
	n = read(all, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = 0;
	snprintf(want, sizeof(want), ":%s\n", "observe");
	tap_ok(n > 2 && !strncmp(line, "1 ", 2) && strstr(line, want), "line: %.*s", (int)strcspn(line, "\n"),
	       line);
	tap_ok(!readable(own, 0), "others do not");
	tap_ok(!readable(mask_only, 0), "nor does who asked for no event");
	close(all);
	close(mask_only);
	close(own);
}

static void test_losses(void *unused)
{
	unsigned int lines = 0, lost = 0, i;
	char buf[16384], *p, *end;
	int fd;

	(void)unused;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS || !gpu_sysfs_find())
		tap_bail("no GPU");
	fd = smi_open(BIT_OF(KFD_SMI_EVENT_GPU_PRE_RESET) | BIT_OF(KFD_SMI_EVENT_GPU_POST_RESET));
	for (i = 0; i < RESETS; i++)
		if (!gpu_reset())
			tap_bail("reset");
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf) - 1);

		if (n <= 0)
			break;
		buf[n] = 0;
		for (p = buf; (end = strchr(p, '\n')); p = end + 1) {
			unsigned int k;

			if (sscanf(p, "0 lost: %u", &k) == 1)
				lost += k;
			else
				lines += *p == '3' || *p == '4';
		}
		if (*p)
			tap_bail("half a line: %s", p);
	}
	tap_ok(lost > 0, "events that did not fit are reported");
	tap_is(lines + lost, 2 * RESETS, "lines read and reported lost are all there were");
	close(fd);
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	tap_begin(180);
	tap_child("tracepoints", test_trace, NULL);
	tap_child("the table in debugfs", test_table, NULL);
	tap_child("SMI events of others", test_smi, NULL);
	tap_child("losses", test_losses, NULL);
	return tap_done();
}
