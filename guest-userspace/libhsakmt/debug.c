// SPDX-License-Identifier: MIT
/* Debugger support: the old calls that kernels refuse now, and DBG_TRAP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hsakmt_int.h"

#define MINOR_DEBUG 13

/* ---- calls of the first debugger interface ---------------------------- */

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgRegister(HSAuint32 NodeId)
{
	struct kfd_ioctl_dbg_register_args args = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	return status == HSAKMT_STATUS_SUCCESS ?
		hsakmt_call(AMDKFD_IOC_DBG_REGISTER_DEPRECATED, &args) : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgUnregister(HSAuint32 NodeId)
{
	struct kfd_ioctl_dbg_unregister_args args = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	return status == HSAKMT_STATUS_SUCCESS ?
		hsakmt_call(AMDKFD_IOC_DBG_UNREGISTER_DEPRECATED, &args) : status;
}

static void *put(char **pos, const void *data, size_t size)
{
	memcpy(*pos, data, size);
	*pos += size;
	return *pos;
}

/* The kernel's argument is a fixed part whose content_ptr names packed fields. */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgWavefrontControl(HSAuint32 NodeId, HSA_DBG_WAVEOP Operand,
						      HSA_DBG_WAVEMODE Mode, HSAuint32 TrapId,
						      HsaDbgWaveMessage *DbgWaveMsgRing)
{
	struct kfd_ioctl_dbg_wave_control_args args = { 0 };
	char content[64], *pos = content;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!DbgWaveMsgRing)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	put(&pos, &Operand, sizeof(Operand));
	put(&pos, &Mode, sizeof(Mode));
	put(&pos, &TrapId, sizeof(TrapId));
	put(&pos, &DbgWaveMsgRing->DbgWaveMsg, sizeof(DbgWaveMsgRing->DbgWaveMsg));
	put(&pos, &DbgWaveMsgRing->MemoryVA, sizeof(DbgWaveMsgRing->MemoryVA));
	args.content_ptr = hsakmt_addr(content);
	args.buf_size_in_bytes = (uint32_t)(sizeof(args) + (size_t)(pos - content));
	return hsakmt_call(AMDKFD_IOC_DBG_WAVE_CONTROL_DEPRECATED, &args);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgAddressWatch(HSAuint32 NodeId, HSAuint32 NumWatchPoints,
						  HSA_DBG_WATCH_MODE WatchMode[],
						  void *WatchAddress[], HSAuint64 WatchMask[],
						  HsaEvent *WatchEvent[])
{
	struct kfd_ioctl_dbg_address_watch_args args = { 0 };
	uint32_t masks, events = WatchEvent ? NumWatchPoints : 0;
	HSAKMT_STATUS status;
	char *content, *pos;

	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (!NumWatchPoints || NumWatchPoints > MAX_ALLOWED_NUM_POINTS || !WatchMode ||
	    !WatchAddress || !WatchMask)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	masks = WatchMask[0] ? NumWatchPoints : 1;	/* a first mask of 0: one for all */
	content = malloc(sizeof(NumWatchPoints) +
			 NumWatchPoints * (sizeof(*WatchMode) + sizeof(*WatchAddress)) +
			 masks * sizeof(*WatchMask) + events * sizeof(*WatchEvent));
	if (!content)
		return HSAKMT_STATUS_ERROR;
	pos = content;
	put(&pos, &NumWatchPoints, sizeof(NumWatchPoints));
	put(&pos, WatchMode, NumWatchPoints * sizeof(*WatchMode));
	put(&pos, WatchAddress, NumWatchPoints * sizeof(*WatchAddress));
	put(&pos, WatchMask, masks * sizeof(*WatchMask));
	if (events)
		put(&pos, WatchEvent, events * sizeof(*WatchEvent));
	args.content_ptr = hsakmt_addr(content);
	args.buf_size_in_bytes = (uint32_t)(sizeof(args) + (size_t)(pos - content));
	status = hsakmt_call(AMDKFD_IOC_DBG_ADDRESS_WATCH_DEPRECATED, &args);
	free(content);
	return status;
}

/* ---- runtime enable ---------------------------------------------------- */

/*
 * hsaKmtCheckRuntimeDebugSupport - NOT_SUPPORTED unless all GPUs can be debugged
 *
 * Takes a snapshot of the topology if there is none.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtCheckRuntimeDebugSupport(void)
{
	HsaSystemProperties sys;
	HsaNodeProperties node;

	if (hsaKmtAcquireSystemProperties(&sys) != HSAKMT_STATUS_SUCCESS)
		return HSAKMT_STATUS_ERROR;
	for (uint32_t i = 0; i < sys.NumNodes; i++) {
		if (hsakmt_node_props(i, &node) != HSAKMT_STATUS_SUCCESS)
			return HSAKMT_STATUS_ERROR;
		if (!node.NumCPUCores && !node.Capability.ui32.DebugSupportedFirmware)
			return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	HSAKMT_CHECK_MINOR(MINOR_DEBUG);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRuntimeEnable(void *rDebug, bool setupTtmp)
{
	struct kfd_ioctl_runtime_enable_args args = {
		.r_debug = hsakmt_addr(rDebug),
		.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK |
			     (setupTtmp ? KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK : 0),
	};
	HSAKMT_STATUS status = hsaKmtCheckRuntimeDebugSupport();

	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	if (hsakmt_ioctl(AMDKFD_IOC_RUNTIME_ENABLE, &args))
		return errno == EBUSY ? HSAKMT_STATUS_UNAVAILABLE : HSAKMT_STATUS_ERROR;
	hsakmt_ctx.runtime_caps = args.capabilities_mask;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRuntimeDisable(void)
{
	struct kfd_ioctl_runtime_enable_args args = { 0 };
	HSAKMT_STATUS status = hsaKmtCheckRuntimeDebugSupport();

	return status == HSAKMT_STATUS_SUCCESS ?
		hsakmt_call(AMDKFD_IOC_RUNTIME_ENABLE, &args) : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *caps_mask)
{
	if (!caps_mask)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*caps_mask = hsakmt_ctx.runtime_caps;
	return HSAKMT_STATUS_SUCCESS;
}

/* ---- DBG_TRAP ---------------------------------------------------------- */

/* hsaKmtDbgEnable - this process debugs itself; caller frees *@runtime_info */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgEnable(void **runtime_info, HSAuint32 *data_size)
{
	struct kfd_ioctl_dbg_trap_args args = { 0 };

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(MINOR_DEBUG);
	if (!runtime_info || !data_size)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*data_size = sizeof(struct kfd_runtime_info);
	*runtime_info = calloc(1, *data_size);
	if (!*runtime_info)
		return HSAKMT_STATUS_NO_MEMORY;
	args.op = KFD_IOC_DBG_TRAP_ENABLE;
	args.pid = (uint32_t)getpid();
	args.enable.rinfo_ptr = hsakmt_addr(*runtime_info);
	args.enable.rinfo_size = *data_size;
	args.enable.dbg_fd = (uint32_t)hsakmt_ctx.kfd_fd;
	if (hsakmt_ioctl(AMDKFD_IOC_DBG_TRAP, &args)) {
		free(*runtime_info);
		*runtime_info = NULL;
		return HSAKMT_STATUS_ERROR;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgDisable(void)
{
	struct kfd_ioctl_dbg_trap_args args = { 0 };

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(MINOR_DEBUG);
	args.op = KFD_IOC_DBG_TRAP_DISABLE;
	args.pid = (uint32_t)getpid();
	args.enable.dbg_fd = (uint32_t)hsakmt_ctx.kfd_fd;
	return hsakmt_call(AMDKFD_IOC_DBG_TRAP, &args);
}

/* hsaKmtDbgGetDeviceData - one entry per GPU; caller frees *@data */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgGetDeviceData(void **data, HSAuint32 *n_entries,
						   HSAuint32 *entry_size)
{
	struct kfd_ioctl_dbg_trap_args args = { 0 };
	uint32_t room;

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(MINOR_DEBUG);
	if (!data || !n_entries || !entry_size)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* The kernel counts all GPUs, also those this process does not see. */
	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	room = hsakmt_ctx.topo ? hsakmt_ctx.topo->num_sysfs_nodes : 0;
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	*entry_size = sizeof(struct kfd_dbg_device_info_entry);
	*data = calloc((size_t)room + 1, *entry_size);
	if (!*data)
		return HSAKMT_STATUS_NO_MEMORY;
	args.op = KFD_IOC_DBG_TRAP_GET_DEVICE_SNAPSHOT;
	args.pid = (uint32_t)getpid();
	args.device_snapshot.snapshot_buf_ptr = hsakmt_addr(*data);
	args.device_snapshot.num_devices = room;
	args.device_snapshot.entry_size = *entry_size;
	if (hsakmt_ioctl(AMDKFD_IOC_DBG_TRAP, &args)) {
		free(*data);
		*data = NULL;
		return HSAKMT_STATUS_ERROR;
	}
	*n_entries = args.device_snapshot.num_devices < room ?
		args.device_snapshot.num_devices : room;
	return HSAKMT_STATUS_SUCCESS;
}

static int queue_snapshot(void *data, uint32_t *count)
{
	struct kfd_ioctl_dbg_trap_args args = { 0 };
	uint32_t room = *count;

	args.op = KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT;
	args.pid = (uint32_t)getpid();
	args.queue_snapshot.snapshot_buf_ptr = hsakmt_addr(data);
	args.queue_snapshot.num_queues = room;
	args.queue_snapshot.entry_size = sizeof(struct kfd_queue_snapshot_entry);
	args.queue_snapshot.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW);
	if (hsakmt_ioctl(AMDKFD_IOC_DBG_TRAP, &args))
		return -1;
	*count = args.queue_snapshot.num_queues;
	if (data && *count > room)	/* queues created since were not copied */
		*count = room;
	return 0;
}

static int suspend_all(const struct kfd_queue_snapshot_entry *entry, uint32_t count)
{
	struct kfd_ioctl_dbg_trap_args args = { 0 };
	uint32_t *ids = calloc((size_t)count + 1, sizeof(*ids));
	int ret;

	if (!ids)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		ids[i] = entry[i].queue_id;
	args.op = KFD_IOC_DBG_TRAP_SUSPEND_QUEUES;
	args.pid = (uint32_t)getpid();
	args.suspend_queues.queue_array_ptr = hsakmt_addr(ids);
	args.suspend_queues.num_queues = count;
	args.suspend_queues.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW);
	ret = hsakmt_ioctl(AMDKFD_IOC_DBG_TRAP, &args);
	free(ids);
	return ret < 0 ? -1 : 0;
}

/* hsaKmtDbgGetQueueData - one entry per queue; caller frees *@data */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDbgGetQueueData(void **data, HSAuint32 *n_entries,
						  HSAuint32 *entry_size, bool suspend_queues)
{
	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(MINOR_DEBUG);
	if (!data || !n_entries || !entry_size)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*entry_size = sizeof(struct kfd_queue_snapshot_entry);
	*n_entries = 0;
	if (queue_snapshot(NULL, n_entries))
		return HSAKMT_STATUS_ERROR;
	*data = calloc((size_t)*n_entries + 1, *entry_size);
	if (!*data)
		return HSAKMT_STATUS_NO_MEMORY;
	if (queue_snapshot(*data, n_entries) ||
	    (suspend_queues && *n_entries &&
	     (suspend_all(*data, *n_entries) || queue_snapshot(*data, n_entries)))) {
		free(*data);
		*data = NULL;
		return HSAKMT_STATUS_ERROR;
	}
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * hsaKmtDebugTrapIoctl - DBG_TRAP as it is, with queue ids translated
 *
 * @Queues: library ids for SUSPEND_QUEUES and RESUME_QUEUES, put into the array the
 * argument points to. *@DebugReturn: what the kernel returned, -1 on error; these
 * two operations return how many queues they did.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDebugTrapIoctl(struct kfd_ioctl_dbg_trap_args *arg,
						 HSA_QUEUEID *Queues, HSAuint64 *DebugReturn)
{
	bool suspend, resume;
	uint32_t count = 0;
	uint64_t array = 0;
	int ret;

	HSAKMT_CHECK_OPEN();
	if (!arg)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	suspend = arg->op == KFD_IOC_DBG_TRAP_SUSPEND_QUEUES;
	resume = arg->op == KFD_IOC_DBG_TRAP_RESUME_QUEUES;
	if (suspend) {
		count = arg->suspend_queues.num_queues;
		array = arg->suspend_queues.queue_array_ptr;
	} else if (resume) {
		count = arg->resume_queues.num_queues;
		array = arg->resume_queues.queue_array_ptr;
	}
	if (Queues && count && (!array || !hsakmt_queue_ids(Queues, count, hsakmt_ptr(array))))
		return HSAKMT_STATUS_INVALID_PARAMETER;

	ret = hsakmt_ioctl(AMDKFD_IOC_DBG_TRAP, arg);
	if (DebugReturn)
		*DebugReturn = (HSAuint64)(HSAint64)ret;
	if (!ret || ((suspend || resume) && ret > 0 && (uint32_t)ret <= count))
		return HSAKMT_STATUS_SUCCESS;
	return HSAKMT_STATUS_ERROR;
}
