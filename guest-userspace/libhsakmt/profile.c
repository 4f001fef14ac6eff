// SPDX-License-Identifier: MIT
/* Streaming performance monitor and PC sampling: requests of ROCm's own kernel. */
#include <errno.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"

static HSAKMT_STATUS spm(uint32_t node, struct kfd_extra_spm *args)
{
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(node, &args->gpu_id);
	return status == HSAKMT_STATUS_SUCCESS ? hsakmt_call(KFD_EXTRA_IOC_SPM, args) : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSPMAcquire(HSAuint32 PreferredNode)
{
	struct kfd_extra_spm args = { .op = KFD_EXTRA_SPM_ACQUIRE };

	return spm(PreferredNode, &args);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSPMRelease(HSAuint32 PreferredNode)
{
	struct kfd_extra_spm args = { .op = KFD_EXTRA_SPM_RELEASE };

	return spm(PreferredNode, &args);
}

/* hsaKmtSPMSetDestBuffer - *@timeout in ms, in and out */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSPMSetDestBuffer(HSAuint32 PreferredNode, HSAuint32 SizeInBytes,
						   HSAuint32 *timeout, HSAuint32 *SizeCopied,
						   void *DestMemoryAddress, bool *isSPMDataLoss)
{
	struct kfd_extra_spm args = {
		.op = KFD_EXTRA_SPM_SET_DEST_BUF,
		.dest_buf = hsakmt_addr(DestMemoryAddress),
		.buf_size = SizeInBytes,
	};
	HSAKMT_STATUS status;

	if (!timeout || !SizeCopied || !isSPMDataLoss)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	args.timeout = *timeout;
	status = spm(PreferredNode, &args);
	*SizeCopied = args.bytes_copied;
	*isSPMDataLoss = args.has_data_loss;
	*timeout = args.timeout;
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPcSamplingSupport(void)
{
	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(16);
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS pc_sample(uint32_t node, struct kfd_extra_pc_sample *args)
{
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(node, &args->gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (!hsakmt_ioctl(KFD_EXTRA_IOC_PC_SAMPLE, args))
		return HSAKMT_STATUS_SUCCESS;
	switch (errno) {
	case EINVAL:
		return HSAKMT_STATUS_INVALID_PARAMETER;
	case ENOMEM:
		if (args->op == KFD_EXTRA_PCS_CREATE)
			return HSAKMT_STATUS_NO_MEMORY;
		return args->op == KFD_EXTRA_PCS_START ? HSAKMT_STATUS_OUT_OF_RESOURCES :
							 HSAKMT_STATUS_ERROR;
	case ENOSPC:
		return args->op == KFD_EXTRA_PCS_QUERY_CAPABILITIES ?
			HSAKMT_STATUS_BUFFER_TOO_SMALL : HSAKMT_STATUS_ERROR;
	case EOPNOTSUPP:
		return args->op == KFD_EXTRA_PCS_QUERY_CAPABILITIES ?
			HSAKMT_STATUS_NOT_SUPPORTED : HSAKMT_STATUS_ERROR;
	case EBUSY:
		return args->op == KFD_EXTRA_PCS_DESTROY || args->op == KFD_EXTRA_PCS_STOP ?
			HSAKMT_STATUS_ERROR : HSAKMT_STATUS_UNAVAILABLE;
	case EALREADY:
		return args->op == KFD_EXTRA_PCS_START || args->op == KFD_EXTRA_PCS_STOP ?
			HSAKMT_STATUS_KERNEL_ALREADY_OPENED : HSAKMT_STATUS_ERROR;
	}
	return HSAKMT_STATUS_ERROR;
}

/* hsaKmtPcSamplingQueryCapabilities - sizes are numbers of entries */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPcSamplingQueryCapabilities(HSAuint32 NodeId, void *sample_info,
							      HSAuint32 sample_info_sz,
							      HSAuint32 *sz_needed)
{
	struct kfd_extra_pc_sample args = {
		.op = KFD_EXTRA_PCS_QUERY_CAPABILITIES,
		.sample_info_ptr = hsakmt_addr(sample_info),
		.num_sample_info = sample_info_sz,
	};
	HSAKMT_STATUS status;

	if (!sz_needed)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(16);
	status = pc_sample(NodeId, &args);
	*sz_needed = args.num_sample_info;
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPcSamplingCreate(HSAuint32 node_id,
						   HsaPcSamplingInfo *sample_info,
						   HsaPcSamplingTraceId *traceId)
{
	struct kfd_extra_pc_sample args = {
		.op = KFD_EXTRA_PCS_CREATE,
		.sample_info_ptr = hsakmt_addr(sample_info),
		.num_sample_info = 1,
	};
	HSAKMT_STATUS status;

	if (!sample_info || !traceId)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*traceId = 0;
	status = pc_sample(node_id, &args);
	if (status == HSAKMT_STATUS_SUCCESS)
		*traceId = args.trace_id;
	return status;
}

static HSAKMT_STATUS pc_trace_op(uint32_t node, HsaPcSamplingTraceId trace, uint32_t op)
{
	struct kfd_extra_pc_sample args = { .op = op, .trace_id = trace };

	return trace ? pc_sample(node, &args) : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPcSamplingStart(HSAuint32 NodeId, HsaPcSamplingTraceId traceId)
{
	return pc_trace_op(NodeId, traceId, KFD_EXTRA_PCS_START);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPcSamplingStop(HSAuint32 NodeId, HsaPcSamplingTraceId traceId)
{
	return pc_trace_op(NodeId, traceId, KFD_EXTRA_PCS_STOP);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtPcSamplingDestroy(HSAuint32 NodeId, HsaPcSamplingTraceId traceId)
{
	/* A trace that is not running answers with an error that means nothing. */
	if (traceId)
		hsaKmtPcSamplingStop(NodeId, traceId);
	return pc_trace_op(NodeId, traceId, KFD_EXTRA_PCS_DESTROY);
}
