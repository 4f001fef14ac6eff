// SPDX-License-Identifier: MIT
/*
 * multi_queue: many user queues complete, end to end. See mq.h for what a batch
 * is. Exit status: 0 every batch was seen done exactly once and in order; 1 not;
 * 2 bad options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mq.h"

#define MAX_QUEUES	1024u
#define MAX_TOTAL	(8u << 20)	/* queues x batches: 192 MiB of proof and times */

static const char *const method_name[MQ_METHODS] = { "interrupt", "poll", "age" };

const char *mq_method_name(enum mq_method m)
{
	return method_name[m];
}

static int usage(const char *problem, const char *what)
{
	fprintf(stderr, "multi_queue: %s%s%s; usage: multi_queue [--queues N] [--batches M] "
		"[--method interrupt|poll|age|all]\n", problem, *what ? ": " : "", what);
	return 2;
}

static bool parse_count(const char *s, uint32_t max, uint32_t *out)
{
	unsigned long v;
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || *end || v == 0 || v > max)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* 0, or the exit status. @methods gets a bit per method to run. */
static int parse_options(int argc, char **argv, struct mq *mq, unsigned int *methods)
{
	int i, m;

	for (i = 1; i < argc; i++) {
		const char *name = argv[i];
		const char *value;
		char option[16];
		size_t len = strcspn(name, "=");

		/* Both --name value and --name=value. */
		if (len >= sizeof(option))
			return usage("unknown option", name);
		memcpy(option, name, len);
		option[len] = '\0';
		if (strcmp(option, "--queues") && strcmp(option, "--batches") &&
		    strcmp(option, "--method"))
			return usage("unknown option", name);
		value = name[len] ? name + len + 1 : argv[++i];
		if (!value)
			return usage("option without a value", option);

		if (!strcmp(option, "--queues")) {
			if (!parse_count(value, MAX_QUEUES, &mq->queues))
				return usage("--queues takes 1 to 1024", value);
		} else if (!strcmp(option, "--batches")) {
			if (!parse_count(value, MAX_TOTAL, &mq->batches))
				return usage("--batches takes 1 to 8388608", value);
		} else if (!strcmp(value, "all")) {
			*methods = (1u << MQ_METHODS) - 1;
		} else {
			*methods = 0;
			for (m = 0; m < MQ_METHODS; m++)
				if (!strcmp(value, method_name[m]))
					*methods = 1u << m;
			if (!*methods)
				return usage("--method takes interrupt, poll, age or all", value);
		}
	}
	if ((uint64_t)mq->queues * mq->batches > MAX_TOTAL)
		return usage("queues times batches must not exceed 8388608", "");
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_head(const struct mq *mq)
{
	printf("%u queues, %u batches each\n\n", mq->queues, mq->batches);
	printf("%-10s %12s %12s %12s %10s %10s %10s %6s %6s\n", "method", "completions",
	       "median us", "p99 us", "CPU ms", "wall ms", "wakes", "lost", "twice");
}

static void print_row(const struct mq *mq, enum mq_method m, struct mq_result *r)
{
	double median = 0, p99 = 0;

	if (r->completions) {
		qsort(r->latency, r->completions, sizeof(*r->latency), compare);
		median = (double)r->latency[r->completions / 2] / 1e3;
		p99 = (double)r->latency[(r->completions * 99) / 100] / 1e3;
	}
	printf("%-10s %12llu %12.1f %12.1f %10.1f %10.1f %10llu %6llu %6llu\n", mq_method_name(m),
	       (unsigned long long)r->completions, median, p99, (double)r->cpu_ns / 1e6,
	       (double)r->wall_ns / 1e6, (unsigned long long)r->wakes,
	       (unsigned long long)r->lost, (unsigned long long)r->repeated);
	fflush(stdout);
	if (r->error[0])
		fprintf(stderr, "multi_queue: %s: %s\n", mq_method_name(m), r->error);
	if (r->completions != (uint64_t)mq->queues * mq->batches)
		fprintf(stderr, "multi_queue: %s: %llu of %llu batches were seen done\n",
			mq_method_name(m), (unsigned long long)r->completions,
			(unsigned long long)mq->queues * mq->batches);
}

int main(int argc, char **argv)
{
	struct mq mq = { .queues = 8, .batches = 100 };
	unsigned int methods = (1u << MQ_METHODS) - 1;
	struct mq_result r;
	bool ok;
	int m, status;

	status = parse_options(argc, argv, &mq, &methods);
	if (status)
		return status;
	ok = mq_setup(&mq);
	if (ok)
		print_head(&mq);
	for (m = 0; ok && m < MQ_METHODS; m++) {
		if (!(methods & (1u << m)))
			continue;
		/* After a failed method batches of it may still run: stop there. */
		ok = mq_run(&mq, m, &r);
		print_row(&mq, m, &r);
		free(r.latency);
	}
	mq_teardown(&mq);
	if (ok)
		printf("\nevery batch was seen done exactly once and in order\n");
	return ok ? 0 : 1;
}
