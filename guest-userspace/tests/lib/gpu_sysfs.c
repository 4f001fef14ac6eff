// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu_sysfs.h"

#define DRIVER	"/sys/bus/pci/drivers/vkfd"

static char address[32];

bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

bool gpu_sysfs_find(void)
{
	DIR *dir = opendir(DRIVER);
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		found = strlen(e->d_name) < sizeof(address) && strchr(e->d_name, ':');
		if (found)
			strcpy(address, e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool gpu_unbind(void)
{
	return write_text(DRIVER "/unbind", address);
}

bool gpu_bind(void)
{
	return write_text(DRIVER "/bind", address);
}

bool gpu_reset(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", address);
	return write_text(path, "1");
}

bool gpu_remove(unsigned int domain, unsigned int location)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/remove", domain & 0xffff,
		 location >> 8 & 0xff, location >> 3 & 31, location & 7);
	return write_text(path, "1");
}

bool gpu_rescan(void)
{
	return write_text("/sys/bus/pci/rescan", "1");
}

int gpu_open_config(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", address);
	return open(path, O_RDWR | O_CLOEXEC);
}
