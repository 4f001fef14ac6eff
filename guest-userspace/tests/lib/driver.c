// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "tap.h"

#define LET_GO_MS	60000u
#define RELOAD_TRIES	100	/* 10 s */

static int64_t module_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long long n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%lld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

int64_t driver_references(void)
{
	return module_number("/sys/module/vkfd/refcnt");
}

bool driver_let_go(int64_t before)
{
	uint64_t end = now_ns() + LET_GO_MS * 1000000ull;
	int64_t now;

	while ((now = driver_references()) > before && now_ns() < end)
		usleep(1000);
	if (now > before)
		tap_diag("%lld references, there were %lld", (long long)now, (long long)before);
	return before >= 0 && now <= before;
}

int driver_set_parameter(const char *name, const char *value)
{
	size_t len = strlen(value);
	char path[128];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/sys/module/vkfd/parameters/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, len) != (ssize_t)len)
		err = -errno;
	close(fd);
	return err;
}

bool driver_flag(const char *name)
{
	char path[128];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "/sys/module/vkfd/parameters/%s", name);
	f = fopen(path, "re");
	c = f ? fgetc(f) : EOF;
	if (f)
		fclose(f);
	return c == 'Y';
}

int driver_sched_policy(void)
{
	return (int)module_number("/sys/module/vkfd/parameters/sched_policy");
}

bool driver_reload(int policy)
{
	char parameters[32];

	snprintf(parameters, sizeof(parameters), "sched_policy=%d", policy);
	return driver_reload_with(parameters);
}

bool driver_reload_with(const char *parameters)
{
	const char *path = getenv("VKFD_DRIVER");
	unsigned int i;
	long err;
	int fd;

	fd = open(path ? path : "", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* What a process held is let go of some time after its end. */
	for (i = 0; i < RELOAD_TRIES; i++) {
		err = syscall(SYS_delete_module, "vkfd", O_NONBLOCK);
		if (!err || (errno != EWOULDBLOCK && errno != EBUSY))
			break;
		usleep(100000);
	}
	if (!err)
		err = syscall(SYS_finit_module, fd, parameters, 0);
	close(fd);
	return !err;
}

uint32_t driver_entry_pasid(void)
{
	unsigned int pasid = 0;
	char path[64];
	FILE *f;

	if (driver_sched_policy() == 2)
		return 0;
	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/proc/%d/events", (int)getpid());
	f = fopen(path, "re");
	if (!f || fscanf(f, "pasid %x", &pasid) != 1)
		tap_bail("%s has no PASID", path);
	fclose(f);
	return pasid;
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
