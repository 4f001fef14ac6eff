/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The DRM side of memory: a GPUVM per open file, and CPU mappings of BOs through
 * the render node.
 */
#ifndef VKFD_GEM_H
#define VKFD_GEM_H

#include <linux/fs.h>
#include <drm/drm_gem.h>

struct drm_device;
struct drm_file;
struct vkfd_device;
struct vkfd_vm;

/* drm_driver.fops: also how ACQUIRE_VM recognises our files. */
extern const struct file_operations vkfd_gem_fops;
extern const struct drm_gem_object_funcs vkfd_gem_funcs;

/* drm_driver.open / .postclose: create and destroy the VM of the file. */
int vkfd_drm_open(struct drm_device *drm, struct drm_file *file);
void vkfd_drm_postclose(struct drm_device *drm, struct drm_file *file);

/* The VM of @filp if it is an open node of @dev, else ERR_PTR(-EINVAL). */
struct vkfd_vm *vkfd_drm_file_vm(struct vkfd_device *dev, struct file *filp);

#endif /* VKFD_GEM_H */
