// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

#define ROUNDS_MAX	1000000u

static bool wrong(const char *what)
{
	fprintf(stderr, "%s: bad option: %s; usage: %s [--rounds N] [--only METHOD] [--json FILE]\n",
		program_invocation_short_name, what, program_invocation_short_name);
	return false;
}

bool bench_options(struct bench_options *o, int argc, char **argv)
{
	unsigned long v;
	char *end;
	int i;

	o->json = getenv("VKFD_BENCH_JSON");
	for (i = 1; i < argc; i += 2) {
		const char *value = argv[i + 1];

		if (!value)
			return wrong(argv[i]);
		if (!strcmp(argv[i], "--json")) {
			o->json = value;
		} else if (!strcmp(argv[i], "--only")) {
			o->only = value;
		} else if (!strcmp(argv[i], "--rounds")) {
			v = strtoul(value, &end, 10);
			if (*end || *value < '0' || *value > '9' || v < 1 || v > ROUNDS_MAX)
				return wrong(value);
			o->rounds = (unsigned int)v;
		} else {
			return wrong(argv[i]);
		}
	}
	return true;
}
