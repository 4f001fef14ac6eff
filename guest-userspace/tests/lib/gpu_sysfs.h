/* SPDX-License-Identifier: MIT */
/*
 * The GPU as a PCI device in sysfs: taking it away and resetting it. Needs root.
 */
#ifndef VKFD_TEST_GPU_SYSFS_H
#define VKFD_TEST_GPU_SYSFS_H

#include <stdbool.h>

/* Finds the first GPU of the topology and remembers its address. False if there is none. */
bool gpu_sysfs_find(void);
/* The same with GPU @which, counted from 0. */
bool gpu_sysfs_find_nth(unsigned int which);

/* After that: unbind and bind the driver; reset the function. Return after it is done. */
bool gpu_unbind(void);
bool gpu_bind(void);
bool gpu_reset(void);

/*
 * Any GPU, by what the topology says of its place (domain and location_id), is unplugged / what
 * there is on the bus is found again.
 */
bool gpu_remove(unsigned int domain, unsigned int location);
bool gpu_rescan(void);

/* Whether an IOMMU is between it and memory. */
bool gpu_has_iommu(void);

/* Its configuration space, for pread and pwrite; -1 and errno: not possible. */
int gpu_open_config(void);

/* Writes @text to the file @path. */
bool write_text(const char *path, const char *text);

#endif /* VKFD_TEST_GPU_SYSFS_H */
