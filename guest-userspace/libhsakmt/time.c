// SPDX-License-Identifier: MIT
/* Clocks of a node, read together by the kernel. */
#include "hsakmt_int.h"

/*
 * hsaKmtGetClockCounters - GPU counter (0 on a CPU node), raw monotonic time and
 * boot time in ns
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 NodeId, HsaClockCounters *Counters)
{
	struct kfd_ioctl_get_clock_counters_args args = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!Counters)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = hsakmt_call(AMDKFD_IOC_GET_CLOCK_COUNTERS, &args);
	if (status == HSAKMT_STATUS_SUCCESS) {
		Counters->GPUClockCounter = args.gpu_clock_counter;
		Counters->CPUClockCounter = args.cpu_clock_counter;
		Counters->SystemClockCounter = args.system_clock_counter;
		Counters->SystemClockFrequencyHz = args.system_clock_freq;
	}
	return status;
}
