// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "gpu.h"

int64_t kfd_counter(const char *file, const char *name)
{
	char path[128], word[64];
	int64_t ret = -1;
	long long val;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/%s", file);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (ret < 0 && fscanf(f, "%63s %lli", word, &val) == 2)
		if (!strcmp(word, name))
			ret = val;
	fclose(f);
	return ret;
}

bool kfd_counter_wait(const char *file, const char *name, int64_t want, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (kfd_counter(file, name) < want) {
		if (now_ns() > end)
			return false;
		usleep(1000);
	}
	return true;
}

int64_t kfd_counter_settle(const char *file, const char *name, int64_t want, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	int64_t got;

	while ((got = kfd_counter(file, name)) != want && now_ns() < end)
		usleep(1000);
	return got;
}
