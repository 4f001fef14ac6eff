// SPDX-License-Identifier: MIT
/*
 * The event benchmark at its smallest: it ends well, its JSON is JSON and has every row
 * and every goal once, each with figures or the reason why there are none; and the
 * driver's parameter is afterwards what it was before, also when the benchmark is ended.
 *
 * Mutations it was seen to fail with: a row left out of the table of bench_event.c; a
 * comma behind the last row; restore() of handlers.c does nothing.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"
#include "json.h"
#include "tap.h"

#define LONG_MS		60000u
#define JSON_FILE	"/tmp/bench_rows.json"
#define PARAMETER	"/sys/module/vkfd/parameters/ih_hard_entries"

static const struct {
	const char *method, *handler;
	unsigned int n;
} rows[] = {
	{ "interrupt", "hard", 1 }, { "interrupt", "thread", 1 },
	{ "age", "hard", 1 }, { "age", "thread", 1 },
	{ "poll", "-", 1 },
	{ "nvme", "-", 1 }, { "nvme", "-", 32 },
	{ "eventfd", "-", 1 }, { "eventfd", "-", 2 },
	{ "wake", "hard", 1 }, { "wake", "thread", 1 },
	{ "wake", "hard", 256 }, { "wake", "thread", 256 },
	{ "wake", "hard", 4095 }, { "wake", "thread", 4095 },
	{ "any", "hard", 256 }, { "any", "hard", 4095 },
	{ "burst", "hard", 4095 }, { "burst", "both", 4095 }, { "burst", "thread", 4095 },
};
#define ROWS	(sizeof(rows) / sizeof(rows[0]))
#define GOALS	4u

static char text[64 * 1024];

static int entries(void)
{
	FILE *f = fopen(PARAMETER, "re");
	int n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* bench_event with @args, its table nowhere. */
static pid_t start(const char *rounds)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork");
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		execlp("bench_event", "bench_event", "--rounds", rounds, "--json", JSON_FILE, NULL);
		_exit(127);
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int st;

	if (waitpid(pid, &st, 0) != pid)
		tap_bail("waitpid");
	return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

static void read_json(void)
{
	FILE *f = fopen(JSON_FILE, "re");
	size_t n;

	if (!f)
		tap_bail("no %s", JSON_FILE);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
}

static bool is_reason(const char *v)
{
	return v && *v == '"' && v[1] != '"';
}

/* Figures that can be, or a reason. */
static bool row_is_good(const char *row)
{
	double median, p99, min, cpu, rate, samples, items;

	if (is_reason(json_member(row, "skipped")))
		return !json_member(row, "median");
	return json_number(json_member(row, "median"), &median) &&
	       json_number(json_member(row, "p99"), &p99) &&
	       json_number(json_member(row, "min"), &min) &&
	       json_number(json_member(row, "cpu"), &cpu) &&
	       json_number(json_member(row, "per_second"), &rate) &&
	       json_number(json_member(row, "samples"), &samples) &&
	       json_number(json_member(row, "items"), &items) &&
	       min > 0 && median >= min && p99 >= median && cpu >= 0 && rate > 0 &&
	       samples >= 1 && items >= 1;
}

static void test_rows(void)
{
	const char *list = json_member(text, "rows"), *row;
	unsigned int i, k, hits;
	double n;

	for (i = 0; i < ROWS; i++) {
		for (k = 0, hits = 0; (row = json_element(list, k)); k++)
			if (json_is(json_member(row, "method"), rows[i].method) &&
			    json_is(json_member(row, "handler"), rows[i].handler) &&
			    json_number(json_member(row, "n"), &n) && n == rows[i].n)
				hits += row_is_good(row) ? 1 : ROWS + 1;
		tap_is(hits, 1, "row %s %u %s", rows[i].method, rows[i].n, rows[i].handler);
	}
	tap_ok(!json_element(list, ROWS), "and no others");
}

static void test_goals(void)
{
	const char *list = json_member(text, "goals"), *goal;
	unsigned int k, good = 0;
	double ratio;

	for (k = 0; (goal = json_element(list, k)); k++) {
		const char *met = json_member(goal, "met");

		if (is_reason(json_member(goal, "skipped")))
			good += !met;
		else
			good += met && (*met == 't' || *met == 'f') &&
				json_number(json_member(goal, "ratio"), &ratio) && ratio > 0;
	}
	tap_is(good, GOALS, "every goal has a ratio, or none and a reason");
	tap_is(k, GOALS, "and there are no others");
}

/* Ended in the middle, once it has changed the parameter. */
static void test_ended(int before)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	pid_t pid = start("20000");

	while (entries() == before && now_ns() < end)
		sched_yield();
	tap_ok(entries() != before, "the benchmark changes the parameter");
	kill(pid, SIGTERM);
	tap_is(status_of(pid), 128 + SIGTERM, "ended by a signal");
	tap_is(entries(), before, "it restores the parameter");
}

int main(void)
{
	int before = entries();

	tap_begin(300);
	unlink(JSON_FILE);
	tap_is(status_of(start("0")), 2, "a bad option");
	tap_is(status_of(start("2")), 0, "two rounds");
	read_json();
	unlink(JSON_FILE);
	if (!tap_ok(json_valid(text), "the JSON is well-formed"))
		return tap_done();
	test_rows();
	test_goals();
	tap_is(entries(), before, "the parameter is as it was");
	if (before < 0)
		tap_skip("the driver has no ih_hard_entries", "ended by a signal");
	else
		test_ended(before);
	return tap_done();
}
