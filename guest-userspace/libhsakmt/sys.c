// SPDX-License-Identifier: MIT
/* System calls behind the seam; host tests replace this file and drm.c. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numa.h>
#include <numaif.h>

#include "hsakmt_int.h"

/* In <linux/mempolicy.h>, which cannot be included beside <numaif.h>. */
#ifndef MPOL_F_STATIC_NODES
#define MPOL_F_STATIC_NODES (1 << 15)
#endif

int hsakmt_sys_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg);
}

int hsakmt_sys_open(const char *path)
{
	return open(path, O_RDWR | O_CLOEXEC);
}

void hsakmt_sys_close(int fd)
{
	close(fd);
}

void *hsakmt_sys_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return mmap(addr, size, prot, flags, fd, offset);
}

const char *hsakmt_sys_topology_root(void)
{
	return "/sys/devices/virtual/kfd/kfd/topology";
}

int hsakmt_sys_bind_node(void *addr, size_t size, uint32_t node, bool strict)
{
	struct bitmask *mask;
	unsigned int nodes;
	long ret;
	int err;

	if (numa_available() < 0)
		return 0;
	nodes = (unsigned int)numa_max_node() + 1;
	if (node >= nodes || nodes <= 1)
		return 0;
	mask = numa_bitmask_alloc(nodes);
	if (!mask)
		return -1;
	numa_bitmask_setbit(mask, node);
	ret = mbind(addr, size, MPOL_F_STATIC_NODES | (strict ? MPOL_BIND : MPOL_PREFERRED),
		    mask->maskp, nodes + 1, 0);
	err = errno;
	numa_bitmask_free(mask);

	/* Container sandboxes refuse mbind altogether: memory then comes unbound. */
	if (ret && err != EPERM && strict) {
		hsakmt_log(HSAKMT_WARN, "hsakmt: cannot bind %p to node %u\n", addr, node);
		return -1;
	}
	return 0;
}
