// SPDX-License-Identifier: MIT
/*
 * bench_event: how long from the doorbell of a small batch until the program
 * knows that it is done, by the three ways to learn it, next to what the same
 * machine needs to wake a thread with an eventfd. One batch at a time.
 *
 * A table on stdout; JSON to the file named by --json or VKFD_BENCH_JSON.
 * Exit status: 0; 1 something failed; 2 bad options.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gpu.h"
#include "queue.h"

#define RING_BYTES	4096u
#define WAIT_MS		60000u
#define WARM_UP		20u

struct row {
	const char *name;
	double median_us;
	double p99_us;
	double min_us;
	unsigned int samples;
};

struct bench {
	struct gpu gpu;
	struct queue q;
	HsaEvent *event;
	volatile uint64_t *fence;
	uint64_t batch;
	uint64_t age;
	uint64_t *sample;
	unsigned int rounds;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static struct row summary(const char *name, uint64_t *sample, unsigned int n)
{
	struct row r = { .name = name, .samples = n };

	qsort(sample, n, sizeof(*sample), compare);
	r.median_us = (double)sample[n / 2] / 1e3;
	r.p99_us = (double)sample[n * 99ul / 100] / 1e3;
	r.min_us = (double)sample[0] / 1e3;
	return r;
}

/* Fence and signal; the doorbell is rung by the caller. */
static bool prepare_batch(struct bench *b, bool interrupt)
{
	uint32_t *p = queue_reserve_wait(&b->q, PM4_WRITE64_DW + PM4_RELEASE_MEM_DW, WAIT_MS);
	uint32_t id = b->event->EventId;

	if (!p)
		return false;
	p = pm4_write64(p, gpu_va(b->fence), ++b->batch);
	if (interrupt)
		p = pm4_signal(p, event_slot(b->event), id);
	else
		p = pm4_release_mem(p, gpu_va(event_slot(b->event)), RELEASE_MEM_DATA_64, id,
				    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
	queue_commit(&b->q, p);
	return true;
}

static bool wait_interrupt(struct bench *b)
{
	return event_wait(b->event, WAIT_MS) == HSAKMT_STATUS_SUCCESS;
}

static bool wait_age(struct bench *b)
{
	return events_wait(&b->event, 1, true, WAIT_MS, &b->age) == HSAKMT_STATUS_SUCCESS;
}

static bool wait_poll(struct bench *b)
{
	volatile uint64_t *slot = event_slot(b->event);
	uint64_t end = now_ns() + WAIT_MS * 1000000ull;

	while (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == GPU_EVENT_UNSIGNALED) {
		if (now_ns() > end)
			return false;
		sched_yield();
	}
	__atomic_store_n(slot, GPU_EVENT_UNSIGNALED, __ATOMIC_SEQ_CST);
	return true;
}

static bool run(struct bench *b, const char *name, bool interrupt, bool (*wait)(struct bench *),
		struct row *row)
{
	unsigned int i;
	uint64_t t;

	b->event = event_new(&b->gpu, HSA_EVENTTYPE_SIGNAL, false);
	b->age = 1;
	if (!b->event)
		return false;
	for (i = 0; i < b->rounds + WARM_UP; i++) {
		if (!prepare_batch(b, interrupt))
			return false;
		t = now_ns();
		queue_submit(&b->q);
		if (!wait(b))
			return false;
		t = now_ns() - t;
		if (*b->fence != b->batch)
			return false;
		if (i >= WARM_UP)
			b->sample[i - WARM_UP] = t;
	}
	if (!queue_wait_idle(&b->q, WAIT_MS))
		return false;
	*row = summary(name, b->sample, b->rounds);
	return hsaKmtDestroyEvent(b->event) == HSAKMT_STATUS_SUCCESS;
}

struct ping {
	int there;
	int back;
	unsigned int rounds;
};

static void *ping_thread(void *arg)
{
	struct ping *p = arg;
	uint64_t v;
	unsigned int i;

	for (i = 0; i < p->rounds; i++)
		if (read(p->there, &v, sizeof(v)) != sizeof(v) ||
		    write(p->back, &v, sizeof(v)) != sizeof(v))
			return arg;
	return NULL;
}

/* The peer: two threads wake each other; one sample is there and back. */
static bool run_eventfd(struct bench *b, struct row *row)
{
	struct ping p = { .there = eventfd(0, 0), .back = eventfd(0, 0),
			  .rounds = b->rounds + WARM_UP };
	pthread_t thread;
	uint64_t v, t;
	unsigned int i;
	void *failed;

	if (p.there < 0 || p.back < 0 || pthread_create(&thread, NULL, ping_thread, &p))
		return false;
	for (i = 0; i < p.rounds; i++) {
		v = 1;
		t = now_ns();
		if (write(p.there, &v, sizeof(v)) != sizeof(v) ||
		    read(p.back, &v, sizeof(v)) != sizeof(v))
			return false;
		if (i >= WARM_UP)
			b->sample[i - WARM_UP] = now_ns() - t;
	}
	if (pthread_join(thread, &failed) || failed)
		return false;
	close(p.there);
	close(p.back);
	*row = summary("eventfd", b->sample, b->rounds);
	return true;
}

static void clocksource(char *buf, size_t size)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");

	if (!f || !fgets(buf, (int)size, f))
		snprintf(buf, size, "unknown");
	buf[strcspn(buf, "\n")] = '\0';
	if (f)
		fclose(f);
}

static int report(const struct row *row, unsigned int rows, const char *json)
{
	char clock[64];
	unsigned int i;
	FILE *f;

	clocksource(clock, sizeof(clock));
	printf("%-10s %10s %10s %10s %8s\n", "method", "median us", "p99 us", "min us", "samples");
	for (i = 0; i < rows; i++)
		printf("%-10s %10.1f %10.1f %10.1f %8u\n", row[i].name, row[i].median_us,
		       row[i].p99_us, row[i].min_us, row[i].samples);
	printf("clocksource %s, %ld CPUs\n", clock, sysconf(_SC_NPROCESSORS_ONLN));
	if (!json)
		return 0;
	f = fopen(json, "w");
	if (!f) {
		fprintf(stderr, "bench_event: %s: %m\n", json);
		return 1;
	}
	fprintf(f, "{\n  \"bench\": \"event\",\n  \"clocksource\": \"%s\",\n  \"cpus\": %ld,\n"
		"  \"unit\": \"us\",\n  \"rows\": [\n", clock, sysconf(_SC_NPROCESSORS_ONLN));
	for (i = 0; i < rows; i++)
		fprintf(f, "    {\"method\": \"%s\", \"median\": %.3f, \"p99\": %.3f, "
			"\"min\": %.3f, \"samples\": %u}%s\n", row[i].name, row[i].median_us,
			row[i].p99_us, row[i].min_us, row[i].samples, i + 1 < rows ? "," : "");
	fprintf(f, "  ]\n}\n");
	return fclose(f) ? 1 : 0;
}

static int usage(const char *what)
{
	fprintf(stderr, "bench_event: bad option: %s; usage: bench_event [--rounds N] [--json FILE]\n",
		what);
	return 2;
}

int main(int argc, char **argv)
{
	const char *json = getenv("VKFD_BENCH_JSON");
	struct bench b = { .rounds = 1000 };
	struct row row[4];
	HSAKMT_STATUS s;
	char *end;
	int i;

	for (i = 1; i < argc; i += 2) {
		if (i + 1 >= argc)
			return usage(argv[i]);
		if (!strcmp(argv[i], "--json")) {
			json = argv[i + 1];
		} else if (!strcmp(argv[i], "--rounds")) {
			unsigned long v = strtoul(argv[i + 1], &end, 10);

			if (*end || argv[i + 1][0] < '0' || argv[i + 1][0] > '9' || v < 1 ||
			    v > 10000000)
				return usage(argv[i + 1]);
			b.rounds = (unsigned int)v;
		} else {
			return usage(argv[i]);
		}
	}
	s = gpu_open(&b.gpu);
	if (s != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "bench_event: no GPU: %s\n", status_name(s));
		return 1;
	}
	b.fence = mem_alloc(&b.gpu, MEM_SYSTEM, GPU_PAGE);
	b.sample = calloc(b.rounds, sizeof(*b.sample));
	if (!b.fence || !b.sample || queue_create(&b.q, &b.gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "bench_event: no memory or no queue\n");
		return 1;
	}
	if (!run(&b, "interrupt", true, wait_interrupt, &row[0]) ||
	    !run(&b, "age", true, wait_age, &row[1]) ||
	    !run(&b, "poll", false, wait_poll, &row[2]) || !run_eventfd(&b, &row[3])) {
		fprintf(stderr, "bench_event: a batch did not complete\n");
		return 1;
	}
	if (queue_destroy(&b.q) != HSAKMT_STATUS_SUCCESS)
		return 1;
	gpu_close();
	return report(row, 4, json);
}
