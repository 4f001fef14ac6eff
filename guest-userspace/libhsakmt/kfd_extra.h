/* SPDX-License-Identifier: MIT */
/*
 * Requests that ROCm's own kernel has and <linux/kfd_ioctl.h> has not. The
 * library issues them as the stock one does: vkfd.ko has the two of IPC, which are
 * in <vkfd/kfd_ipc.h>, and on an upstream kernel each fails with ENOTTY.
 */
#ifndef HSAKMT_KFD_EXTRA_H
#define HSAKMT_KFD_EXTRA_H

#include <linux/kfd_ioctl.h>

#include <vkfd/kfd_ipc.h>

struct kfd_extra_spm {
	__u64 dest_buf;
	__u32 buf_size;
	__u32 op;
	__u32 timeout;		/* in and out, ms */
	__u32 gpu_id;
	__u32 bytes_copied;	/* out */
	__u32 has_data_loss;	/* out */
};

enum { KFD_EXTRA_SPM_ACQUIRE, KFD_EXTRA_SPM_RELEASE, KFD_EXTRA_SPM_SET_DEST_BUF };

struct kfd_extra_pc_sample {
	__u64 sample_info_ptr;
	__u32 num_sample_info;	/* in and out */
	__u32 op;
	__u32 gpu_id;
	__u32 trace_id;		/* in and out */
	__u32 flags;
	__u32 reserved;
};

enum {
	KFD_EXTRA_PCS_QUERY_CAPABILITIES,
	KFD_EXTRA_PCS_CREATE,
	KFD_EXTRA_PCS_DESTROY,
	KFD_EXTRA_PCS_START,
	KFD_EXTRA_PCS_STOP,
};

#define KFD_EXTRA_IOC_SPM		AMDKFD_IOWR(0x84, struct kfd_extra_spm)
#define KFD_EXTRA_IOC_PC_SAMPLE		AMDKFD_IOWR(0x85, struct kfd_extra_pc_sample)

/* The header's own KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE shifts into a sign bit. */
#define KFD_MEM_WRITABLE (1u << 31)

/*
 * CREATE_QUEUE as the stock library of the 6.2 series sends it: interface 1.17
 * put sdma_engine_id behind this, which this library never sets.
 */
#define KFD_CREATE_QUEUE_STOCK						\
	_IOC(_IOC_READ | _IOC_WRITE, AMDKFD_IOCTL_BASE, 0x02,		\
	     offsetof(struct kfd_ioctl_create_queue_args, sdma_engine_id))

#endif
