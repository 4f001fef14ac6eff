// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "point.h"
#include "tap.h"

#define POINT	"/sys/kernel/debug/kfd/point"

static int fd = -1;

static void ask(const char *what, const char *name)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%s %s", what, name);

	if (fd < 0)
		fd = open(POINT, O_RDWR | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		tap_bail(POINT ": %s: %m", text);
}

void point_hold(const char *name)
{
	ask("hold", name);
}

void point_fail(const char *name)
{
	ask("fail", name);
}

void point_wait(void)
{
	char text[16];

	if (read(fd, text, sizeof(text)) <= 0)
		tap_bail(POINT ": %m");
}

void point_go(void)
{
	/* Closed, so that the module can be unloaded. */
	close(fd);
	fd = -1;
}
