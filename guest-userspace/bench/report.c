// SPDX-License-Identifier: MIT
/*
 * Table, goals and JSON. The goals are ratios of rows of the same run, since absolute
 * times drift; whether they are met is for the reader and decides no status.
 */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const char *const handler_name[] = {
	[HANDLER_NONE] = "-",
	[HANDLER_HARD] = "hard",
	[HANDLER_BOTH] = "both",
	[HANDLER_THREAD] = "thread",
};

/**
 * struct goal - a ratio of two rows
 * @method, @n, @handler: the row above the line and the one below it
 * @rate: of completions a second, at least @limit; otherwise of times, at most @limit
 */
struct goal {
	const char *name;
	struct {
		const char *method;
		unsigned int n;
		enum handler handler;
	} above, below;
	bool rate;
	double limit;
};

static const struct goal goals[] = {
	{ "interrupt path / NVMe read at depth 1", { "interrupt", 1, HANDLER_HARD },
	  { "nvme", 1, HANDLER_NONE }, false, 0.8 },
	{ "polling / interrupt path", { "poll", 1, HANDLER_NONE },
	  { "interrupt", 1, HANDLER_HARD }, false, 0.3 },
	{ "completions/s of one submission / NVMe reads/s at depth 32",
	  { "burst", BENCH_EVENTS, HANDLER_BOTH }, { "nvme", 32, HANDLER_NONE }, true, 3 },
	{ "wake-up with 4095 events / with 1", { "wake", BENCH_EVENTS, HANDLER_HARD },
	  { "wake", 1, HANDLER_HARD }, false, 1.2 },
};
#define GOALS (sizeof(goals) / sizeof(goals[0]))

static const struct row *find(const struct row *row, unsigned int rows, const char *method,
			      unsigned int n, enum handler handler)
{
	unsigned int i;

	for (i = 0; i < rows; i++)
		if (!strcmp(row[i].method, method) && row[i].n == n && row[i].handler == handler)
			return row[i].skipped ? NULL : &row[i];
	return NULL;
}

/* False: a row of it was not measured. */
static bool goal_ratio(const struct goal *g, const struct row *row, unsigned int rows,
		       double *ratio, bool *met)
{
	const struct row *a = find(row, rows, g->above.method, g->above.n, g->above.handler);
	const struct row *b = find(row, rows, g->below.method, g->below.n, g->below.handler);

	if (!a || !b)
		return false;
	*ratio = g->rate ? row_per_second(a) / row_per_second(b) : row_us(a, 50) / row_us(b, 50);
	*met = g->rate ? *ratio >= g->limit : *ratio <= g->limit;
	return true;
}

/* What runs the guest, as its CPUID says: nothing else tells a figure's worth as much. */
static const char *accelerator(void)
{
	char name[13] = "";
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return "none";
	__cpuid(0x40000000, a, b, c, d);
	memcpy(name, &b, 4);
	memcpy(name + 4, &c, 4);
	memcpy(name + 8, &d, 4);
	if (!strcmp(name, "TCGTCGTCGTCG"))
		return "tcg";
	return !strcmp(name, "KVMKVMKVM") ? "kvm" : "other";
}

static void clocksource(char *buf, size_t size)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	if (!f || !fgets(buf, (int)size, f))
		snprintf(buf, size, "unknown");
	buf[strcspn(buf, "\n")] = '\0';
	if (f)
		fclose(f);
}

static double cpu_us(const struct row *r)
{
	return (double)r->cpu_ns / 1e3 / r->samples / r->items;
}

static void table(const struct row *row, unsigned int rows)
{
	unsigned int i;

	printf("%-10s %5s %-7s %10s %10s %10s %8s %10s %8s\n", "method", "n", "handler",
	       "median us", "p99 us", "min us", "CPU us", "per s", "samples");
	for (i = 0; i < rows; i++) {
		const struct row *r = &row[i];

		printf("%-10s %5u %-7s ", r->method, r->n, handler_name[r->handler]);
		if (r->skipped)
			printf("skipped: %s\n", r->skipped);
		else
			printf("%10.1f %10.1f %10.1f %8.1f %10.0f %8u\n", row_us(r, 50),
			       row_us(r, 99), row_us(r, 0), cpu_us(r), row_per_second(r),
			       r->samples);
	}
}

static void goal_table(const struct row *row, unsigned int rows)
{
	double ratio;
	unsigned int i;
	bool met;

	for (i = 0; i < GOALS; i++) {
		const struct goal *g = &goals[i];

		printf("goal: %s %s %g: ", g->name, g->rate ? ">=" : "<=", g->limit);
		if (goal_ratio(g, row, rows, &ratio, &met))
			printf("%.2f, %s\n", ratio, met ? "met" : "not met");
		else
			printf("not measured\n");
	}
}

/* No text of ours needs an escape but a reason, which may quote the system. */
static void json_text(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc((unsigned char)*s < 0x20 ? ' ' : *s, f);
	}
	fputc('"', f);
}

static void json_rows(FILE *f, const struct row *row, unsigned int rows)
{
	unsigned int i;

	for (i = 0; i < rows; i++) {
		const struct row *r = &row[i];

		fprintf(f, "    {\"method\": \"%s\", \"n\": %u, \"handler\": \"%s\", \"items\": %u, ",
			r->method, r->n, handler_name[r->handler], r->items);
		if (r->skipped) {
			fprintf(f, "\"skipped\": ");
			json_text(f, r->skipped);
		} else {
			fprintf(f, "\"median\": %.3f, \"p99\": %.3f, \"min\": %.3f, \"cpu\": %.3f, "
				"\"per_second\": %.1f, \"samples\": %u", row_us(r, 50), row_us(r, 99),
				row_us(r, 0), cpu_us(r), row_per_second(r), r->samples);
		}
		fprintf(f, "}%s\n", i + 1 < rows ? "," : "");
	}
}

static void json_goals(FILE *f, const struct row *row, unsigned int rows)
{
	double ratio;
	unsigned int i;
	bool met;

	for (i = 0; i < GOALS; i++) {
		const struct goal *g = &goals[i];

		fprintf(f, "    {\"goal\": \"%s\", \"%s\": %g, ", g->name,
			g->rate ? "at_least" : "at_most", g->limit);
		if (goal_ratio(g, row, rows, &ratio, &met))
			fprintf(f, "\"ratio\": %.4f, \"met\": %s", ratio, met ? "true" : "false");
		else
			fprintf(f, "\"skipped\": \"a row of it was not measured\"");
		fprintf(f, "}%s\n", i + 1 < GOALS ? "," : "");
	}
}

bool report(const struct row *row, unsigned int rows, const char *json)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char clock[64];
	bool ok;
	FILE *f;

	clocksource(clock, sizeof(clock));
	table(row, rows);
	goal_table(row, rows);
	printf("accelerator %s, clocksource %s, %ld CPUs\n", accelerator(), clock, cpus);
	if (handlers_original() < 0)
		printf("the driver has no ih_hard_entries: hard and both are what it does by itself\n");
	if (!json)
		return true;
	f = fopen(json, "we");
	if (!f) {
		fprintf(stderr, "bench_event: %s: %m\n", json);
		return false;
	}
	fprintf(f, "{\n  \"bench\": \"event\",\n  \"accelerator\": \"%s\",\n  \"clocksource\": ",
		accelerator());
	json_text(f, clock);
	fprintf(f, ",\n  \"cpus\": %ld,\n  \"ih_hard_entries\": %d,\n  \"unit\": \"us\",\n"
		"  \"rows\": [\n", cpus, handlers_original());
	json_rows(f, row, rows);
	fprintf(f, "  ],\n  \"goals\": [\n");
	json_goals(f, row, rows);
	fprintf(f, "  ]\n}\n");
	ok = !ferror(f);
	if (fclose(f) || !ok) {
		fprintf(stderr, "bench_event: %s: %m\n", json);
		return false;
	}
	return true;
}
