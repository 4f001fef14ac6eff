/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files around the PCI driver offer each other.
 */
#ifndef VKFD_DRV_H
#define VKFD_DRV_H

struct drm_device;
struct drm_file;
struct seq_file;
struct vkfd_device;

/* DRM_IOCTL_AMDGPU_INFO (vkfd_info.c). errno as upstream: -EINVAL for an unknown query. */
int vkfd_info_ioctl(struct drm_device *drm, void *data, struct drm_file *filp);

/* DRM_IOCTL_AMDGPU_GEM_CREATE and _GEM_MMAP (vkfd_gem_ioctl.c). */
int vkfd_gem_create_ioctl(struct drm_device *drm, void *data, struct drm_file *filp);
int vkfd_gem_mmap_ioctl(struct drm_device *drm, void *data, struct drm_file *filp);

/* DRM_IOCTL_AMDGPU_GEM_VA and _GEM_METADATA (vkfd_gem_va.c). */
int vkfd_gem_va_ioctl(struct drm_device *drm, void *data, struct drm_file *filp);
int vkfd_gem_metadata_ioctl(struct drm_device *drm, void *data, struct drm_file *filp);

/* /sys/kernel/debug/kfd (vkfd_debugfs.c). Failures are not reported: it is optional. */
void vkfd_debugfs_init(void);
void vkfd_debugfs_exit(void);

#endif /* VKFD_DRV_H */
