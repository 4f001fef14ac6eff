// SPDX-License-Identifier: MIT
/*
 * Who acts on interrupt entries: the driver's parameter ih_hard_entries, and what its
 * interrupt threads cost.
 *
 * A driver without the parameter (amdgpu) does as it likes: then the rows of HANDLER_HARD
 * with single completions and of HANDLER_BOTH are what it does by itself.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"

#define PARAMETER	"/sys/module/vkfd/parameters/ih_hard_entries"
#define DEFAULT_ENTRIES	64
#define MAX_ENTRIES	2048
#define MAX_THREADS	8	/* one for each GPU */

static int fd = -1;		/* writable */
static int original = -1;	/* -1: no parameter */
static int current = -1;
static char original_text[16];
static char stat_path[MAX_THREADS][64];
static unsigned int threads;

static bool write_entries(int entries)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", entries);

	if (entries == current)
		return true;
	if (pwrite(fd, text, (size_t)n, 0) != n)
		return false;
	current = entries;
	return true;
}

/* Also from a signal handler. */
static void restore(void)
{
	if (pwrite(fd, original_text, strlen(original_text), 0) < 0)
		(void)!write(STDERR_FILENO, PARAMETER " is not restored\n",
			     sizeof(PARAMETER " is not restored\n") - 1);
}

static void restore_and_die(int sig)
{
	restore();
	_exit(128 + sig);
}

/* Kernel threads of the name irq/NUMBER-vkfd. */
static void find_threads(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	char path[288], name[32];
	int number;
	FILE *f;

	while (proc && (d = readdir(proc)) && threads < MAX_THREADS) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "irq/%d-%31s", &number, name) == 2 && !strcmp(name, "vkfd"))
			snprintf(stat_path[threads++], sizeof(stat_path[0]), "/proc/%.32s/schedstat",
				 d->d_name);
		if (f)
			fclose(f);
	}
	if (proc)
		closedir(proc);
}

void handlers_init(void)
{
	const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	FILE *f = fopen(PARAMETER, "re");
	unsigned int i;

	find_threads();
	if (!f)
		return;
	if (fscanf(f, "%d", &original) != 1)
		original = -1;
	fclose(f);
	current = original;
	if (original >= 0)
		fd = open(PARAMETER, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(original_text, sizeof(original_text), "%d", original);
	atexit(restore);
	for (i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], restore_and_die);
}

/* What the parameter has to be. */
static int entries_of(enum handler h, unsigned int items)
{
	switch (h) {
	case HANDLER_HARD: return items > 1 ? MAX_ENTRIES : DEFAULT_ENTRIES;
	case HANDLER_BOTH: return DEFAULT_ENTRIES;
	default: return 0;
	}
}

const char *handlers_refuse(enum handler h, unsigned int items)
{
	if (h == HANDLER_NONE || fd >= 0 || original == entries_of(h, items))
		return NULL;
	if (original >= 0)
		return "ih_hard_entries cannot be written";
	return h == HANDLER_BOTH || (h == HANDLER_HARD && items == 1) ? NULL :
		"the driver has no ih_hard_entries";
}

bool handlers_set(enum handler h, unsigned int items)
{
	return h == HANDLER_NONE || fd < 0 || write_entries(entries_of(h, items));
}

uint64_t handlers_thread_ns(void)
{
	unsigned long long ns;
	uint64_t sum = 0;
	unsigned int i;
	FILE *f;

	for (i = 0; i < threads; i++) {
		f = fopen(stat_path[i], "re");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	return sum;
}

int handlers_original(void)
{
	return original;
}
