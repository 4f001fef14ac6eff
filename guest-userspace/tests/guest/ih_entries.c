// SPDX-License-Identifier: MIT
/*
 * Module parameter ih_hard_entries: what it takes, that it decides who acts on interrupt
 * entries, and that nothing is lost whoever does - nor by the recovery that would find it
 * 60 ms later, which is why what it had to do is counted.
 *
 * Mutations it was seen to fail with: the hard handler takes 64 whatever the parameter
 * says; the parameter has no upper bound; the hard handler does not wake the thread; the
 * thread does not publish the read pointer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "queue.h"
#include "tap.h"
#include "waiter.h"

#define LONG_MS		60000u
#define PARAMETER	"/sys/module/vkfd/parameters/ih_hard_entries"
#define MAX_ENTRIES	2048
#define EVENTS		4095u
#define RING_BYTES	(256u * 1024)
#define FULL		5000u
#define PART		500u
#define ASLEEP_FULL	500u
#define ASLEEP_PART	50u
/* The recovery may take an interrupt for lost on a host that is very slow. */
#define RECOVERED_PART	10u
/*
 * Entries pile up when the host stops the CPU that has the interrupt, while the other finds
 * its slots written and goes on.
 */
#define FULL_PART	10u

static struct gpu gpu;
static struct queue q;
static HsaEvent *event[EVENTS];
static volatile uint64_t *fence;
static char original[16];

/* 0 or the errno. */
static int set_entries(const char *value)
{
	int fd = open(PARAMETER, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, value, strlen(value)) < 0)
		err = errno;
	close(fd);
	return err;
}

static int entries(void)
{
	FILE *f = fopen(PARAMETER, "re");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void restore(void)
{
	set_entries(original);
}

static void test_values(void)
{
	static const char *const good[] = { "0", "1", "2048", "64" };
	static const char *const bad[] = { "2049", "4294967295", "4294967296", "-1", "x", "64x", "\n" };
	unsigned int i;
	struct stat st;

	tap_is(entries(), 64, "64 at first");
	tap_is(stat(PARAMETER, &st) ? 0 : st.st_mode & 0777, 0644, "all read it, root writes it");
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tap_is(set_entries(good[i]), 0, "%s is taken", good[i]);
		tap_is(entries(), atoi(good[i]), "and read back");
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tap_ok(set_entries(bad[i]) != 0, "%s is refused", bad[i][0] == '\n' ? "nothing" : bad[i]);
		tap_is(entries(), 64, "and changes nothing");
	}
}

/* One batch after the other; how many wake-ups came with their batch done. */
static unsigned int round_trips(unsigned int rounds)
{
	uint64_t first = *fence;
	unsigned int i;
	uint32_t *p;

	for (i = 0; i < rounds; i++) {
		p = queue_reserve_wait(&q, PM4_WRITE64_DW + PM4_RELEASE_MEM_DW, LONG_MS);
		if (!p)
			break;
		p = pm4_write64(p, gpu_va(fence), first + i + 1);
		queue_commit(&q, pm4_signal(p, event_slot(event[0]), event[0]->EventId));
		queue_submit(&q);
		if (event_wait(event[0], LONG_MS) != HSAKMT_STATUS_SUCCESS || *fence != first + i + 1)
			break;
	}
	return i;
}

/*
 * The same with a thread that is asleep before the doorbell, so that nothing but the
 * interrupt, or the recovery, wakes it.
 */
static unsigned int asleep_trips(unsigned int rounds)
{
	unsigned int i;
	uint32_t *p;

	for (i = 0; i < rounds; i++) {
		struct waiter w = { .events = event, .n = 1, .all = true, .ms = LONG_MS };

		waiter_start(&w);
		p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);
		if (!p)
			tap_bail("no room in the ring");
		queue_commit(&q, pm4_signal(p, event_slot(event[0]), event[0]->EventId));
		queue_submit(&q);
		if (waiter_join(&w) != HSAKMT_STATUS_SUCCESS)
			break;
	}
	return i;
}

/* All events in one submission: how many fired, and how many fired twice. */
static void burst(unsigned int *once, unsigned int *twice)
{
	unsigned int i;
	uint32_t *p;

	*once = *twice = 0;
	for (i = 0; i < EVENTS; i++) {
		p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);
		if (!p)
			tap_bail("no room in the ring");
		queue_commit(&q, pm4_signal(p, event_slot(event[i]), event[i]->EventId));
	}
	queue_submit(&q);
	for (i = 0; i < EVENTS && event_wait(event[i], LONG_MS) == HSAKMT_STATUS_SUCCESS; i++)
		(*once)++;
	for (i = 0; i < EVENTS; i++)
		*twice += hsaKmtWaitOnEvent(event[i], 0) == HSAKMT_STATUS_SUCCESS;
}

/* When a queue has been destroyed, none of its entries is in the ring any more. */
static void new_queue(void)
{
	if (queue_destroy(&q) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("queue");
}

/* @thread: the thread has work, also from single completions. */
static void test_lossless(const char *value, bool thread)
{
	unsigned int rounds = scaled(FULL, PART), asleep = scaled(ASLEEP_FULL, ASLEEP_PART);
	unsigned int once, twice;
	int64_t full, recovered;

	new_queue();
	set_entries(value);
	tap_is(entries(), atoi(value), "%s entries for the hard handler", value);
	full = kfd_counter("ih", "hard_full");
	recovered = kfd_counter("ih", "recovered_interrupts");
	tap_is(asleep_trips(asleep), asleep, "%s: every sleeper is woken", value);
	recovered = kfd_counter("ih", "recovered_interrupts") - recovered;
	tap_ok(recovered <= asleep / RECOVERED_PART, "%s: by the interrupt (recovery: %lld)", value,
	       (long long)recovered);
	tap_is(round_trips(rounds), rounds, "%s: no completion is lost", value);
	full = kfd_counter("ih", "hard_full") - full;
	tap_ok(thread ? full > 0 : full <= rounds / FULL_PART, "%s: the thread is %s (%lld times)",
	       value, thread ? "needed" : "not needed", (long long)full);
	burst(&once, &twice);
	tap_is(once, EVENTS, "%s: nor one of %u at once", value, EVENTS);
	tap_is(twice, 0, "%s: and none comes twice", value);
}

static atomic_bool stop;

static void *switcher(void *arg)
{
	static const char *const value[] = { "0", "2048", "1", "64" };
	unsigned int *switches = arg;

	while (!stop) {
		if (set_entries(value[*switches % 4]))
			break;
		++*switches;
	}
	return NULL;
}

static void test_switched(void)
{
	unsigned int rounds = scaled(FULL, PART), asleep = scaled(ASLEEP_FULL, ASLEEP_PART);
	unsigned int switches = 0, once, twice;
	int64_t recovered;
	pthread_t t;

	if (pthread_create(&t, NULL, switcher, &switches))
		tap_bail("no thread");
	recovered = kfd_counter("ih", "recovered_interrupts");
	tap_is(asleep_trips(asleep), asleep, "switched all the time: every sleeper is woken");
	recovered = kfd_counter("ih", "recovered_interrupts") - recovered;
	tap_is(round_trips(rounds), rounds, "no completion is lost");
	burst(&once, &twice);
	stop = true;
	pthread_join(t, NULL);
	tap_is(once, EVENTS, "nor one of %u at once", EVENTS);
	tap_is(twice, 0, "and none comes twice");
	tap_ok(switches > 1, "it was switched (%u times)", switches);
	tap_ok(recovered <= asleep / RECOVERED_PART, "sleepers were woken by the interrupt (recovery: %lld)",
	       (long long)recovered);
}

int main(void)
{
	unsigned int i;

	tap_begin(300);
	if (access(PARAMETER, F_OK))
		tap_skip_all("the driver has no ih_hard_entries");
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	snprintf(original, sizeof(original), "%d", entries());
	atexit(restore);
	fence = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!fence || queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("memory or queue");
	for (i = 0; i < EVENTS; i++) {
		event[i] = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!event[i])
			tap_bail("event %u", i);
	}
	test_values();
	test_lossless("0", true);
	test_lossless("2048", false);
	test_lossless("64", false);
	test_switched();
	queue_destroy(&q);
	gpu_close();
	return tap_done();
}
