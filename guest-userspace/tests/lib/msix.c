// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "msix.h"
#include "tap.h"

#define DRIVER		"/sys/bus/pci/drivers/vkfd"
#define CAP_LIST	0x34
#define CAP_MSIX	0x11
#define MSIX_CONTROL	2
#define MSIX_MASKALL	0x4000u

static int config = -1;
static off_t control;

static int open_config(void)
{
	DIR *dir = opendir(DRIVER);
	const struct dirent *e;
	char path[320];
	int fd = -1;

	while (dir && fd < 0 && (e = readdir(dir))) {
		if (!strchr(e->d_name, ':'))
			continue;
		snprintf(path, sizeof(path), DRIVER "/%s/config", e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* Offset of MSI-X's message control, 0 if there is none. */
static off_t find_control(int fd)
{
	uint8_t pos = 0, cap[2];

	if (pread(fd, &pos, 1, CAP_LIST) != 1)
		return 0;
	while (pos && pread(fd, cap, 2, pos) == 2) {
		if (cap[0] == CAP_MSIX)
			return pos + MSIX_CONTROL;
		pos = cap[1];
	}
	return 0;
}

bool msix_open(void)
{
	config = open_config();
	control = config < 0 ? 0 : find_control(config);
	return control;
}

void msix_hold(bool hold)
{
	uint16_t v;

	if (pread(config, &v, sizeof(v), control) != sizeof(v))
		tap_bail("PCI configuration space: %m");
	v = (uint16_t)(hold ? v | MSIX_MASKALL : v & ~MSIX_MASKALL);
	if (pwrite(config, &v, sizeof(v), control) != sizeof(v))
		tap_bail("PCI configuration space: %m");
}
