// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "driver.h"
#include "tap.h"

int64_t driver_references(void)
{
	FILE *f = fopen("/sys/module/vkfd/refcnt", "re");
	long long n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%lld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

bool kernel_is_slow(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.release, "debug");
}

unsigned int scaled(unsigned int full, unsigned int part)
{
	unsigned int n = tap_full() ? full : part;

	if (kernel_is_slow())
		n /= 16;
	return n ? n : 1;
}
