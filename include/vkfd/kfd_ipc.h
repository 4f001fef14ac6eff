/* SPDX-License-Identifier: MIT */
/*
 * Two calls of /dev/kfd that ROCm's own kernel driver has and <linux/kfd_ioctl.h> has not:
 * memory shared by a handle of 128 bits. ROCr as Debian ships it uses them.
 */
#ifndef VKFD_KFD_IPC_H
#define VKFD_KFD_IPC_H

#include <linux/kfd_ioctl.h>

struct kfd_ioctl_ipc_import_handle_args {
	__u64 handle;		/* out */
	__u64 va_addr;
	__u64 mmap_offset;	/* out */
	__u32 share_handle[4];
	__u32 gpu_id;
	__u32 flags;		/* out: what the exporter gave */
};

struct kfd_ioctl_ipc_export_handle_args {
	__u64 handle;
	__u32 share_handle[4];	/* out */
	__u32 gpu_id;
	__u32 flags;
};

#define AMDKFD_IOC_IPC_IMPORT_HANDLE	\
	AMDKFD_IOWR(0x80, struct kfd_ioctl_ipc_import_handle_args)
#define AMDKFD_IOC_IPC_EXPORT_HANDLE	\
	AMDKFD_IOWR(0x81, struct kfd_ioctl_ipc_export_handle_args)

#endif /* VKFD_KFD_IPC_H */
