/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Class and device "kfd", and the topology user space reads below it:
 * /sys/devices/virtual/kfd/kfd/topology.
 */
#ifndef VKFD_TOPOLOGY_H
#define VKFD_TOPOLOGY_H

#include <linux/types.h>

struct class;
struct device;
struct vkfd_device;

extern struct class *vkfd_class;
extern struct device *vkfd_class_device;

/*
 * Makes the class and the device with number @devt, and the topology with node 0,
 * the CPU. -EEXIST when another driver has the class.
 */
int vkfd_topology_init(dev_t devt);
void vkfd_topology_exit(void);

/*
 * A GPU comes, with its DRM device registered, or goes. generation_id changes either
 * way. add: -errno, nothing changed then.
 */
int vkfd_topology_add_device(struct vkfd_device *dev);
void vkfd_topology_remove_device(struct vkfd_device *dev);

#endif /* VKFD_TOPOLOGY_H */
