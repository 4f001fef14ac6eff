// SPDX-License-Identifier: MIT
/* The exported memory calls: argument checks, then fmm_*.c. */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

static uint64_t page_bytes(HsaMemFlags flags)
{
	static const uint64_t bytes[] = { 4ull << 10, 64ull << 10, 2ull << 20, 1ull << 30 };

	return bytes[flags.ui32.PageSize];
}

static HSAKMT_STATUS check_alloc(uint64_t size, uint64_t align, HsaMemFlags flags, void **addr)
{
	uint64_t page = page_bytes(flags);

	if (align && (align < page || align & (align - 1)))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!addr || !size || size & (page - 1))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (flags.ui32.FixedAddress) {
		if (!*addr)
			return HSAKMT_STATUS_INVALID_PARAMETER;
	} else {
		*addr = NULL;
	}
	/* At most one kind of coherence. */
	if (flags.ui32.CoarseGrain + flags.ui32.ExtendedCoherent + flags.ui32.Uncached > 1)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * hsaKmtAllocMemoryAlign - memory near @PreferredNode
 *
 * @SizeInBytes is a multiple of the page size the flags name; @Alignment 0, or a
 * power of two of at least that. A CPU node, or pageable memory on any node,
 * gives system memory; NonPaged on a GPU node gives video memory. Returns ERROR
 * when system memory, NO_MEMORY when video memory runs out, as the stock library.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtAllocMemoryAlign(HSAuint32 PreferredNode, HSAuint64 SizeInBytes,
						   HSAuint64 Alignment, HsaMemFlags MemFlags,
						   void **MemoryAddress)
{
	HSAKMT_STATUS status;
	uint32_t gpu_id;
	uint64_t va;

	HSAKMT_CHECK_OPEN();
	if (MemFlags.ui32.Contiguous)
		HSAKMT_CHECK_MINOR(16);
	status = hsakmt_node_gpu_id(PreferredNode, &gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	status = check_alloc(SizeInBytes, Alignment, MemFlags, MemoryAddress);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;

	if (MemFlags.ui32.Scratch) {
		if (Alignment)
			return HSAKMT_STATUS_NOT_IMPLEMENTED;
		va = hsakmt_scratch_alloc(gpu_id, hsakmt_addr(*MemoryAddress), SizeInBytes);
		status = HSAKMT_STATUS_NO_MEMORY;
	} else if (!gpu_id || !MemFlags.ui32.NonPaged || hsakmt_ctx.zfb ||
		   MemFlags.ui32.GTTAccess) {
		if (hsakmt_ctx.zfb && gpu_id && MemFlags.ui32.NonPaged)
			MemFlags.ui32.CoarseGrain = 1;
		va = hsakmt_fmm_alloc_host(gpu_id, MemFlags.ui32.GTTAccess ? 0 : PreferredNode,
					   hsakmt_addr(*MemoryAddress), SizeInBytes, Alignment,
					   MemFlags, false);
		status = HSAKMT_STATUS_ERROR;
	} else {
		if (MemFlags.ui32.OnlyAddress && MemFlags.ui32.NoAddress)
			return HSAKMT_STATUS_INVALID_PARAMETER;
		va = hsakmt_fmm_alloc_device(gpu_id, hsakmt_addr(*MemoryAddress), SizeInBytes,
					     Alignment, MemFlags);
		status = HSAKMT_STATUS_NO_MEMORY;
	}
	*MemoryAddress = hsakmt_ptr(va);
	return va ? HSAKMT_STATUS_SUCCESS : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 PreferredNode, HSAuint64 SizeInBytes,
					      HsaMemFlags MemFlags, void **MemoryAddress)
{
	return hsaKmtAllocMemoryAlign(PreferredNode, SizeInBytes, 0, MemFlags, MemoryAddress);
}

/* hsaKmtFreeMemory - the library knows the size, @SizeInBytes is not used */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtFreeMemory(void *MemoryAddress, HSAuint64 SizeInBytes)
{
	(void)SizeInBytes;
	HSAKMT_CHECK_OPEN();
	if (!MemoryAddress)
		return HSAKMT_STATUS_ERROR;
	return hsakmt_fmm_release(hsakmt_addr(MemoryAddress));
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes)
{
	struct kfd_ioctl_get_available_memory_args args = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(9);
	if (!AvailableBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(Node, &args.gpu_id);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = hsakmt_call(AMDKFD_IOC_AVAILABLE_MEMORY, &args);
	if (status == HSAKMT_STATUS_SUCCESS)
		*AvailableBytes = args.available;
	return status;
}

/* Obsolete since GPUs have per-page policies; only the first one had this. */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSetMemoryPolicy(HSAuint32 Node, HSAuint32 DefaultPolicy,
						  HSAuint32 AlternatePolicy,
						  void *MemoryAddressAlternate,
						  HSAuint64 MemorySizeInBytes)
{
	HSAKMT_STATUS status;
	uint32_t gpu_id;

	(void)DefaultPolicy;
	(void)AlternatePolicy;
	(void)MemoryAddressAlternate;
	(void)MemorySizeInBytes;
	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(Node, &gpu_id);
	return status == HSAKMT_STATUS_SUCCESS ? HSAKMT_STATUS_NOT_IMPLEMENTED : status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRegisterMemory(void *MemoryAddress, HSAuint64 MemorySizeInBytes)
{
	struct hsakmt_ids none = { 0 };

	HSAKMT_CHECK_OPEN();
	if (!hsakmt_ctx.is_dgpu)
		return HSAKMT_STATUS_SUCCESS;
	return hsakmt_fmm_register(hsakmt_addr(MemoryAddress), MemorySizeInBytes, &none, true,
				   false);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(void *MemoryAddress,
							HSAuint64 MemorySizeInBytes,
							HSAuint64 NumberOfNodes,
							HSAuint32 *NodeArray)
{
	struct hsakmt_ids ids;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!hsakmt_ctx.is_dgpu)
		return HSAKMT_STATUS_NOT_SUPPORTED;
	status = hsakmt_nodes_to_ids(NodeArray, NumberOfNodes, &ids);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	status = hsakmt_fmm_register(hsakmt_addr(MemoryAddress), MemorySizeInBytes, &ids, true,
				     false);
	if (status != HSAKMT_STATUS_SUCCESS)
		hsakmt_ids_clear(&ids);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *MemoryAddress,
							  HSAuint64 MemorySizeInBytes,
							  HsaMemFlags MemFlags)
{
	struct hsakmt_ids none = { 0 };

	HSAKMT_CHECK_OPEN();
	if (MemFlags.ui32.ExtendedCoherent && MemFlags.ui32.CoarseGrain)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* Ordinary pageable memory is the only kind there is to register. */
	if (!MemFlags.ui32.HostAccess || MemFlags.ui32.NonPaged || !hsakmt_ctx.is_dgpu)
		return HSAKMT_STATUS_NOT_SUPPORTED;
	return hsakmt_fmm_register(hsakmt_addr(MemoryAddress), MemorySizeInBytes, &none,
				   MemFlags.ui32.CoarseGrain, MemFlags.ui32.ExtendedCoherent);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDeregisterMemory(void *MemoryAddress)
{
	HSAKMT_CHECK_OPEN();
	return hsakmt_fmm_deregister(hsakmt_addr(MemoryAddress));
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRegisterGraphicsHandleToNodes(
	HSAuint64 GraphicsResourceHandle, HsaGraphicsResourceInfo *GraphicsResourceInfo,
	HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	struct hsakmt_ids ids = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!GraphicsResourceInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeArray || NumberOfNodes) {
		status = hsakmt_nodes_to_ids(NodeArray, NumberOfNodes, &ids);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;
	}
	status = hsakmt_fmm_import_graphics(GraphicsResourceHandle, GraphicsResourceInfo, &ids);
	if (status != HSAKMT_STATUS_SUCCESS)
		hsakmt_ids_clear(&ids);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtExportDMABufHandle(void *MemoryAddress,
						     HSAuint64 MemorySizeInBytes,
						     int *DMABufFd, HSAuint64 *Offset)
{
	HSAKMT_CHECK_OPEN();
	HSAKMT_CHECK_MINOR(12);
	if (!DMABufFd || !Offset)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return hsakmt_fmm_export_dmabuf(hsakmt_addr(MemoryAddress), MemorySizeInBytes, DMABufFd,
					Offset);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtShareMemory(void *MemoryAddress, HSAuint64 SizeInBytes,
					      HsaSharedMemoryHandle *SharedMemoryHandle)
{
	HSAKMT_CHECK_OPEN();
	if (!SharedMemoryHandle)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return hsakmt_fmm_export_ipc(hsakmt_addr(MemoryAddress), SizeInBytes, SharedMemoryHandle);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(
	const HsaSharedMemoryHandle *SharedMemoryHandle, void **MemoryAddress,
	HSAuint64 *SizeInBytes, HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	struct hsakmt_ids ids = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!SharedMemoryHandle || !MemoryAddress || !SizeInBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeArray) {
		status = hsakmt_nodes_to_ids(NodeArray, NumberOfNodes, &ids);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;
	} else if (NumberOfNodes) {
		return HSAKMT_STATUS_INVALID_PARAMETER;
	}
	status = hsakmt_fmm_import_ipc(SharedMemoryHandle, MemoryAddress, SizeInBytes, &ids);
	if (status != HSAKMT_STATUS_SUCCESS)
		hsakmt_ids_clear(&ids);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtRegisterSharedHandle(
	const HsaSharedMemoryHandle *SharedMemoryHandle, void **MemoryAddress,
	HSAuint64 *SizeInBytes)
{
	return hsaKmtRegisterSharedHandleToNodes(SharedMemoryHandle, MemoryAddress, SizeInBytes, 0,
						 NULL);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
						 HSAuint64 *AlternateVAGPU)
{
	HSAuint64 va = 0;
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!MemoryAddress)
		return HSAKMT_STATUS_ERROR;
	status = hsakmt_fmm_map(hsakmt_addr(MemoryAddress), MemorySizeInBytes, &va);
	if (AlternateVAGPU)	/* 0 unless the GPU sees it at another address */
		*AlternateVAGPU = va;
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *MemoryAddress,
						      HSAuint64 MemorySizeInBytes,
						      HSAuint64 *AlternateVAGPU,
						      HsaMemMapFlags MemMapFlags,
						      HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	struct hsakmt_ids ids;
	HSAKMT_STATUS status;

	(void)MemMapFlags;
	HSAKMT_CHECK_OPEN();
	if (!MemoryAddress)
		return HSAKMT_STATUS_ERROR;
	if (!hsakmt_ctx.is_dgpu && NumberOfNodes == 1)
		return hsaKmtMapMemoryToGPU(MemoryAddress, MemorySizeInBytes, AlternateVAGPU);
	status = hsakmt_nodes_to_ids(NodeArray, NumberOfNodes, &ids);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	status = hsakmt_fmm_map_nodes(hsakmt_addr(MemoryAddress), MemorySizeInBytes, &ids,
				      AlternateVAGPU);
	hsakmt_ids_clear(&ids);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *MemoryAddress)
{
	HSAKMT_CHECK_OPEN();
	if (!MemoryAddress)	/* runtimes do it and expect no complaint */
		return HSAKMT_STATUS_SUCCESS;
	return hsakmt_fmm_unmap(hsakmt_addr(MemoryAddress));
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 NodeId, HsaGpuTileConfig *config)
{
	struct kfd_ioctl_get_tile_config_args args = { 0 };
	HSAKMT_STATUS status;

	HSAKMT_CHECK_OPEN();
	if (!config)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	/* The kernel may fill fewer than there is room for. */
	if (config->TileConfig)
		memset(config->TileConfig, 0,
		       config->NumTileConfigs * sizeof(*config->TileConfig));
	if (config->MacroTileConfig)
		memset(config->MacroTileConfig, 0,
		       config->NumMacroTileConfigs * sizeof(*config->MacroTileConfig));
	args.tile_config_ptr = hsakmt_addr(config->TileConfig);
	args.macro_tile_config_ptr = hsakmt_addr(config->MacroTileConfig);
	args.num_tile_configs = config->NumTileConfigs;
	args.num_macro_tile_configs = config->NumMacroTileConfigs;
	status = hsakmt_call(AMDKFD_IOC_GET_TILE_CONFIG, &args);
	if (status == HSAKMT_STATUS_SUCCESS) {
		config->NumTileConfigs = args.num_tile_configs;
		config->NumMacroTileConfigs = args.num_macro_tile_configs;
		config->GbAddrConfig = args.gb_addr_config;
		config->NumBanks = args.num_banks;
		config->NumRanks = args.num_ranks;
	}
	return status;
}

/* Calls that no kernel of today serves: the status is the stock library's. */

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtProcessVMRead(HSAuint32 Pid, HsaMemoryRange *LocalMemoryArray,
						HSAuint64 LocalMemoryArrayCount,
						HsaMemoryRange *RemoteMemoryArray,
						HSAuint64 RemoteMemoryArrayCount,
						HSAuint64 *SizeCopied)
{
	(void)Pid;
	(void)LocalMemoryArray;
	(void)LocalMemoryArrayCount;
	(void)RemoteMemoryArray;
	(void)RemoteMemoryArrayCount;
	(void)SizeCopied;
	return HSAKMT_STATUS_NOT_IMPLEMENTED;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtProcessVMWrite(HSAuint32 Pid, HsaMemoryRange *LocalMemoryArray,
						 HSAuint64 LocalMemoryArrayCount,
						 HsaMemoryRange *RemoteMemoryArray,
						 HSAuint64 RemoteMemoryArrayCount,
						 HSAuint64 *SizeCopied)
{
	return hsaKmtProcessVMRead(Pid, LocalMemoryArray, LocalMemoryArrayCount,
				   RemoteMemoryArray, RemoteMemoryArrayCount, SizeCopied);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtMapGraphicHandle(HSAuint32 NodeId, HSAuint64 GraphicDeviceHandle,
						   HSAuint64 GraphicResourceHandle,
						   HSAuint64 GraphicResourceOffset,
						   HSAuint64 GraphicResourceSize,
						   HSAuint64 *FlatMemoryAddress)
{
	(void)NodeId;
	(void)GraphicDeviceHandle;
	(void)GraphicResourceHandle;
	(void)GraphicResourceOffset;
	(void)GraphicResourceSize;
	(void)FlatMemoryAddress;
	return HSAKMT_STATUS_NOT_IMPLEMENTED;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtUnmapGraphicHandle(HSAuint32 NodeId, HSAuint64 FlatMemoryAddress,
						     HSAuint64 SizeInBytes)
{
	(void)NodeId;
	(void)SizeInBytes;
	HSAKMT_CHECK_OPEN();
	return hsaKmtUnmapMemoryToGPU(hsakmt_ptr(FlatMemoryAddress));
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtReplaceAsanHeaderPage(void *addr)
{
	(void)addr;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtReturnAsanHeaderPage(void *addr)
{
	(void)addr;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}
