// SPDX-License-Identifier: MIT
/*
 * Table, goals and JSON. The goals are ratios of rows of the same run, since absolute
 * times drift; whether they are met is for the reader and decides no status.
 */
#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"

static const char *const handler_name[] = {
	[HANDLER_NONE] = "-",
	[HANDLER_HARD] = "hard",
	[HANDLER_BOTH] = "both",
	[HANDLER_THREAD] = "thread",
};

static const struct row *find(const struct report *rep, const char *method, unsigned int n,
			      enum handler handler)
{
	unsigned int i;

	for (i = 0; i < rep->rows; i++) {
		const struct row *r = &rep->row[i];

		if (!strcmp(r->method, method) && r->n == n && r->handler == handler)
			return r->skipped ? NULL : r;
	}
	return NULL;
}

/* False: a row of it was not measured. */
static bool goal_ratio(const struct report *rep, const struct goal *g, double *ratio, bool *met)
{
	const struct row *a = find(rep, g->above.method, g->above.n, g->above.handler);
	const struct row *b = find(rep, g->below.method, g->below.n, g->below.handler);

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

static void table(const struct report *rep)
{
	unsigned int i;

	printf("%-16s %5s %-7s %10s %10s %10s %8s %10s %8s\n", "method", "n", "handler",
	       "median us", "p99 us", "min us", "CPU us", "per s", "samples");
	for (i = 0; i < rep->rows; i++) {
		const struct row *r = &rep->row[i];

		printf("%-16s %5u %-7s ", r->method, r->n, handler_name[r->handler]);
		if (r->skipped)
			printf("skipped: %s\n", r->skipped);
		else
			printf("%10.1f %10.1f %10.1f %8.1f %10.0f %8u%s%s\n", row_us(r, 50),
			       row_us(r, 99), row_us(r, 0), cpu_us(r), row_per_second(r),
			       r->samples, r->item ? " " : "", r->item ? r->item : "");
	}
}

static void goal_table(const struct report *rep)
{
	double ratio;
	unsigned int i;
	bool met;

	for (i = 0; i < rep->goals; i++) {
		const struct goal *g = &rep->goal[i];

		printf("goal: %s %s %g: ", g->name, g->rate ? ">=" : "<=", g->limit);
		if (goal_ratio(rep, g, &ratio, &met))
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

static void json_rows(FILE *f, const struct report *rep)
{
	unsigned int i;

	for (i = 0; i < rep->rows; i++) {
		const struct row *r = &rep->row[i];

		fprintf(f, "    {\"method\": \"%s\", \"n\": %u, \"handler\": \"%s\", \"items\": %u, "
			"\"item\": \"%s\", ", r->method, r->n, handler_name[r->handler], r->items,
			r->item ? r->item : "completions");
		if (r->skipped) {
			fprintf(f, "\"skipped\": ");
			json_text(f, r->skipped);
		} else {
			fprintf(f, "\"median\": %.3f, \"p99\": %.3f, \"min\": %.3f, \"cpu\": %.3f, "
				"\"per_second\": %.1f, \"samples\": %u", row_us(r, 50), row_us(r, 99),
				row_us(r, 0), cpu_us(r), row_per_second(r), r->samples);
		}
		fprintf(f, "}%s\n", i + 1 < rep->rows ? "," : "");
	}
}

static void json_goals(FILE *f, const struct report *rep)
{
	double ratio;
	unsigned int i;
	bool met;

	for (i = 0; i < rep->goals; i++) {
		const struct goal *g = &rep->goal[i];

		fprintf(f, "    {\"goal\": \"%s\", \"%s\": %g, ", g->name,
			g->rate ? "at_least" : "at_most", g->limit);
		if (goal_ratio(rep, g, &ratio, &met))
			fprintf(f, "\"ratio\": %.4f, \"met\": %s", ratio, met ? "true" : "false");
		else
			fprintf(f, "\"skipped\": \"a row of it was not measured\"");
		fprintf(f, "}%s\n", i + 1 < rep->goals ? "," : "");
	}
}

bool report(const struct report *rep, const char *json)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char clock[64];
	bool ok;
	FILE *f;

	clocksource(clock, sizeof(clock));
	table(rep);
	goal_table(rep);
	printf("accelerator %s, clocksource %s, %ld CPUs\n", accelerator(), clock, cpus);
	if (handlers_original() < 0)
		printf("the driver has no ih_hard_entries: hard and both are what it does by itself\n");
	if (!json)
		return true;
	f = fopen(json, "we");
	if (!f) {
		fprintf(stderr, "%s: %s: %m\n", program_invocation_short_name, json);
		return false;
	}
	fprintf(f, "{\n  \"bench\": \"%s\",\n  \"accelerator\": \"%s\",\n  \"clocksource\": ",
		rep->bench, accelerator());
	json_text(f, clock);
	fprintf(f, ",\n  \"cpus\": %ld,\n  \"ih_hard_entries\": %d,\n  \"unit\": \"us\",\n"
		"  \"rows\": [\n", cpus, handlers_original());
	json_rows(f, rep);
	fprintf(f, "  ],\n  \"goals\": [\n");
	json_goals(f, rep);
	fprintf(f, "  ]\n}\n");
	ok = !ferror(f);
	if (fclose(f) || !ok) {
		fprintf(stderr, "%s: %s: %m\n", program_invocation_short_name, json);
		return false;
	}
	return true;
}
