// SPDX-License-Identifier: MIT
/*
 * pipeline: work that depends on work, with no CPU in between. See pipeline.h for what a
 * stage is. Exit status: 0 every stage of every round ran in order; 1 not; 2 bad options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"

struct options {
	unsigned int shapes;	/* a bit each */
	unsigned int stages;
	unsigned int rounds;
	enum pl_kind kind;
	bool mixed;
	bool fault;
};

static int usage(const char *problem, const char *what)
{
	fprintf(stderr, "pipeline: %s%s%s; usage: pipeline [--shape chain|diamond|fan-in|all] "
		"[--stages N] [--rounds M] [--kind pm4|aql|sdma|mixed] [--fault]\n",
		problem, *what ? ": " : "", what);
	return 2;
}

static bool parse_count(const char *s, unsigned int min, unsigned int max, unsigned int *out)
{
	unsigned long v;
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*out = (unsigned int)v;
	return true;
}

static bool parse_shape(const char *s, struct options *o)
{
	unsigned int i;

	if (!strcmp(s, "all")) {
		o->shapes = (1u << PL_SHAPES) - 1;
		return true;
	}
	for (i = 0; i < PL_SHAPES; i++)
		if (!strcmp(s, pl_shape_name((enum pl_shape)i))) {
			o->shapes = 1u << i;
			return true;
		}
	return false;
}

static bool parse_kind(const char *s, struct options *o)
{
	unsigned int i;

	o->mixed = !strcmp(s, "mixed");
	for (i = 0; i < PL_KINDS; i++)
		if (!strcmp(s, pl_kind_name((enum pl_kind)i))) {
			o->kind = (enum pl_kind)i;
			return true;
		}
	return o->mixed;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *name = argv[i], *value;

		if (!strcmp(name, "--fault")) {
			o->fault = true;
			continue;
		}
		if (strcmp(name, "--shape") && strcmp(name, "--stages") && strcmp(name, "--rounds") &&
		    strcmp(name, "--kind"))
			return usage("unknown option", name);
		value = argv[++i];
		if (!value)
			return usage("option without a value", name);
		if (!strcmp(name, "--shape") && !parse_shape(value, o))
			return usage("--shape takes chain, diamond, fan-in or all", value);
		if (!strcmp(name, "--kind") && !parse_kind(value, o))
			return usage("--kind takes pm4, aql, sdma or mixed", value);
		if (!strcmp(name, "--stages") && !parse_count(value, 2, PL_MAX_STAGES, &o->stages))
			return usage("--stages takes 2 to 256", value);
		if (!strcmp(name, "--rounds") && !parse_count(value, 1, 1000000, &o->rounds))
			return usage("--rounds takes 1 to 1000000", value);
	}
	/* After it no queue of the process runs: once. */
	if (o->fault)
		o->shapes &= -o->shapes;
	if (!o->mixed && o->kind == PL_SDMA && o->stages > 16)
		return usage("there are 16 SDMA queues", "");
	if (o->shapes & 1u << PL_FAN_IN && o->stages > PL_MAX_DEPS + 2)
		return usage("fan-in takes up to 66 stages", "");
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

/* One shape, all rounds, one line of the table. */
static bool run_shape(const struct gpu *gpu, const struct options *o, enum pl_shape shape)
{
	uint64_t *ns = calloc(o->rounds, sizeof(*ns)), *gpu_us = calloc(o->rounds, sizeof(*gpu_us));
	uint64_t cpu = 0;
	struct pl_result r;
	struct pipeline pl;
	unsigned int i;
	bool ok;

	ok = ns && gpu_us && pl_open(&pl, gpu, shape, o->stages, o->kind, o->mixed);
	if (ok && o->fault)
		pl.fault = (int)o->stages / 2;
	for (i = 0; ok && i < o->rounds; i++) {
		ok = pl_run(&pl, &r);
		if (!ok || r.faulted)
			break;
		ns[i] = r.ns;
		gpu_us[i] = r.ticks / 100;
		cpu += r.cpu_ns;
	}
	if (!ok)
		fprintf(stderr, "pipeline: %s: %s\n", pl_shape_name(shape), pl.error);
	else if (r.faulted)
		printf("%-8s %6u  stage %d faulted at 0x%llx: told by the MEMORY event\n",
		       pl_shape_name(shape), pl.n, pl.fault, (unsigned long long)r.va);
	else
		printf("%-8s %6u %5u %5u %5u %8u %12.1f %12llu %10.1f\n", pl_shape_name(shape), pl.n,
		       pl_count(&pl, PL_PM4), pl_count(&pl, PL_AQL), pl_count(&pl, PL_SDMA), o->rounds,
		       (double)median(ns, o->rounds) / 1e3,
		       (unsigned long long)median(gpu_us, o->rounds), (double)cpu / o->rounds / 1e3);
	fflush(stdout);
	if (o->fault && ok && !r.faulted) {
		fprintf(stderr, "pipeline: the fault was not noticed\n");
		ok = false;
	}
	pl_close(&pl);
	free(ns);
	free(gpu_us);
	return ok;
}

int main(int argc, char **argv)
{
	struct options o = {
		.shapes = (1u << PL_SHAPES) - 1,
		.stages = 64,
		.rounds = 20,
		.mixed = true,
	};
	struct gpu gpu;
	unsigned int s;
	bool ok = true;
	int status;

	status = parse_options(argc, argv, &o);
	if (status)
		return status;
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS) {
		fprintf(stderr, "pipeline: no GPU\n");
		return 1;
	}
	printf("%-8s %6s %5s %5s %5s %8s %12s %12s %10s\n", "shape", "stages", "pm4", "aql", "sdma",
	       "rounds", "wall us", "GPU us", "CPU us");
	for (s = 0; s < PL_SHAPES && ok; s++)
		if (o.shapes & 1u << s)
			ok = run_shape(&gpu, &o, (enum pl_shape)s);
	gpu_close();
	return ok ? 0 : 1;
}
