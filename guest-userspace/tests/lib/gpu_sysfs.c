// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu_sysfs.h"

#define DRIVER	"/sys/bus/pci/drivers/vkfd"
#define NODES	"/sys/devices/virtual/kfd/kfd/topology/nodes"

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

/* A property of a node of the topology; -1: there is none of them. */
static long long node_value(unsigned int node, const char *key)
{
	unsigned long long value;
	char path[128], name[64];
	long long found = -1;
	FILE *f;

	snprintf(path, sizeof(path), NODES "/%u/properties", node);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (found < 0 && fscanf(f, "%63s %llu\n", name, &value) == 2)
		if (!strcmp(name, key))
			found = (long long)value;
	fclose(f);
	return found;
}

bool gpu_sysfs_find_nth(unsigned int which)
{
	long long simds, place;
	unsigned int node;

	for (node = 0; (simds = node_value(node, "simd_count")) >= 0; node++)
		if (simds > 0 && !which--)
			break;
	place = node_value(node, "location_id");
	if (simds <= 0 || place < 0)
		return false;
	snprintf(address, sizeof(address), "%04llx:%02llx:%02llx.%llx", node_value(node, "domain"),
		 place >> 8 & 0xff, place >> 3 & 0x1f, place & 7);
	return true;
}

bool gpu_sysfs_find(void)
{
	return gpu_sysfs_find_nth(0);
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

bool gpu_has_iommu(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu", address);
	return !access(path, F_OK);
}
