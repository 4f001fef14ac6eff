// SPDX-License-Identifier: MIT
/*
 * The benchmarks at their smallest: each ends well, its JSON is JSON and has every row
 * and every goal once, each with figures or the reason why there are none; the driver's
 * parameter is afterwards what it was before, also when the benchmark is ended; and
 * queue_states comes to every state, and out of it.
 *
 * Mutations it was seen to fail with: a row left out of the table of bench_event.c or of
 * bench_queue.c; a comma behind the last row; restore() of handlers.c does nothing; SDMA
 * copies to another page; leave() of queue_states.c opens no gate.
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

struct name {
	const char *method, *handler;
	unsigned int n;
};

static const struct name event_rows[] = {
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

#define MANY(n) { "one", "both", n }, { "one", "-", n }, { "all", "both", n }, { "all", "-", n }
#define COPIES(n) { "sdma", "both", n }, { "memcpy", "-", n }, { "loop", "-", n }

static const struct name queue_rows[] = {
	MANY(1), MANY(8), MANY(24), MANY(64), MANY(256), MANY(736),
	{ "released", "-", 1 }, { "released", "-", 736 },
	{ "released late", "-", 1 }, { "released late", "-", 736 },
	{ "pm4 nop", "-", 1024 }, { "pm4 write", "-", 1024 }, { "pm4 release", "-", 1024 },
	{ "aql barrier", "-", 1024 }, { "aql signal", "-", 1024 },
	{ "sdma nop", "-", 1024 }, { "sdma write", "-", 1024 }, { "sdma fence", "-", 1024 },
	COPIES(4), COPIES(64), COPIES(4096),
	{ "sdma to vram", "both", 4096 }, { "memcpy to vram", "-", 4096 },
	{ "sdma from vram", "both", 4096 }, { "memcpy from vram", "-", 4096 },
};

#define ALL(m, n) { m, "-", n }

static const struct name memory_rows[] = {
	ALL("map", 4), ALL("unmap", 4), ALL("map", 64), ALL("unmap", 64),
	ALL("map", 2048), ALL("unmap", 2048),
	ALL("register", 1024), ALL("unregister", 1024), ALL("populate", 1024),
	ALL("register", 16384), ALL("unregister", 16384), ALL("populate", 16384),
	ALL("packet", 4), ALL("restore", 4), ALL("packet", 1024), ALL("restore", 1024),
	{ "fault", "both", 1 }, { "signal", "both", 1 },
	ALL("tlb hit", 1024), ALL("tlb miss", 1024),
	ALL("evict", 10), ALL("evict", 10000),
};

/**
 * struct expected - one benchmark
 * @must: skipped rows are failures: all that the row needs is here
 */
struct expected {
	const char *program;
	const struct name *row;
	unsigned int rows, goals;
	bool must;
};

static const struct expected event = {
	"bench_event", event_rows, sizeof(event_rows) / sizeof(event_rows[0]), 4, false,
};
static const struct expected queue = {
	"bench_queue", queue_rows, sizeof(queue_rows) / sizeof(queue_rows[0]), 4, true,
};

static const struct expected memory = {
	"bench_memory", memory_rows, sizeof(memory_rows) / sizeof(memory_rows[0]), 0, true,
};

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

/* A benchmark of so many rounds, its table nowhere. */
static pid_t start(const struct expected *x, const char *rounds)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork");
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		execlp(x->program, x->program, "--rounds", rounds, "--json", JSON_FILE, NULL);
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

/* Figures that can be, or a reason where there may be one. */
static bool row_is_good(const struct expected *x, const char *row)
{
	double median, p99, min, cpu, rate, samples, items;

	if (is_reason(json_member(row, "skipped")))
		return !x->must && !json_member(row, "median");
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

static void test_rows(const struct expected *x)
{
	const char *list = json_member(text, "rows"), *row;
	unsigned int i, k, hits;
	double n;

	for (i = 0; i < x->rows; i++) {
		const struct name *r = &x->row[i];

		for (k = 0, hits = 0; (row = json_element(list, k)); k++)
			if (json_is(json_member(row, "method"), r->method) &&
			    json_is(json_member(row, "handler"), r->handler) &&
			    json_number(json_member(row, "n"), &n) && n == r->n)
				hits += row_is_good(x, row) ? 1 : x->rows + 1;
		tap_is(hits, 1, "%s: row %s %u %s", x->program, r->method, r->n, r->handler);
	}
	tap_ok(!json_element(list, x->rows), "%s: and no others", x->program);
}

static void test_goals(const struct expected *x)
{
	const char *list = json_member(text, "goals"), *goal;
	unsigned int k, good = 0;
	double ratio;

	for (k = 0; (goal = json_element(list, k)); k++) {
		const char *met = json_member(goal, "met");

		if (is_reason(json_member(goal, "skipped")))
			good += !x->must && !met;
		else
			good += met && (*met == 't' || *met == 'f') &&
				json_number(json_member(goal, "ratio"), &ratio) && ratio > 0;
	}
	tap_is(good, x->goals, "%s: every goal has a ratio, or none and a reason", x->program);
	tap_is(k, x->goals, "%s: and there are no others", x->program);
}

static void test_bench(const struct expected *x)
{
	unlink(JSON_FILE);
	tap_is(status_of(start(x, "0")), 2, "%s: a bad option", x->program);
	tap_is(status_of(start(x, "2")), 0, "%s: two rounds", x->program);
	read_json();
	unlink(JSON_FILE);
	if (!tap_ok(json_valid(text), "%s: the JSON is well-formed", x->program))
		return;
	test_rows(x);
	test_goals(x);
}

/* Each state is told once it is there, and nothing more before it is asked to go on. */
static void test_states(void)
{
	static const char *const want[] = { "idle", "parked", "alone", "parked" };
	unsigned int i, right = 0;
	char line[64], expect[64];
	int in[2], out[2];
	FILE *from;
	pid_t pid;

	if (pipe(in) || pipe(out))
		tap_bail("pipe");
	pid = fork();
	if (pid < 0)
		tap_bail("fork");
	if (!pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		execlp("queue_states", "queue_states", want[0], want[1], want[2], want[3], NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	from = fdopen(out[0], "r");
	if (!from)
		tap_bail("fdopen");
	for (i = 0; i < 4 && fgets(line, sizeof(line), from); i++) {
		snprintf(expect, sizeof(expect), "state %s\n", want[i]);
		right += !strcmp(line, expect) && write(in[1], "\n", 1) == 1;
	}
	tap_is(right, 4, "queue_states: every state is told");
	tap_is(status_of(pid), 0, "queue_states: and left again");
	close(in[1]);
	fclose(from);
}

/* Ended in the middle, once it has changed the parameter. */
static void test_ended(int before)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	pid_t pid = start(&event, "20000");

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

	tap_begin(600);
	test_bench(&event);
	tap_is(entries(), before, "the parameter is as it was");
	if (before < 0)
		tap_skip("the driver has no ih_hard_entries", "ended by a signal");
	else
		test_ended(before);
	test_bench(&queue);
	test_bench(&memory);
	test_states();
	return tap_done();
}
