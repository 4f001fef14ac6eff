// SPDX-License-Identifier: MIT
/*
 * Setting up and tearing down a process's address spaces: GPU table, apertures,
 * VM of each GPU, MMIO pages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hsakmt_int.h"

static bool env_on(const char *name, bool unset)
{
	const char *val = getenv(name);

	return val ? strcmp(val, "0") != 0 : unset;
}

static uint32_t env_u32(const char *name, uint32_t unset)
{
	const char *val = getenv(name);
	unsigned int n;

	return val && sscanf(val, "%u", &n) == 1 ? n : unset;
}

/* Both under mem.lock. The pointer is good as long as the lock is held. */
struct hsakmt_gpu *hsakmt_gpu_by_id(uint32_t gpu_id)
{
	for (uint32_t i = 0; i < hsakmt_ctx.mem.num_gpus; i++)
		if (hsakmt_ctx.mem.gpu[i].gpu_id == gpu_id)
			return &hsakmt_ctx.mem.gpu[i];
	return NULL;
}

struct hsakmt_gpu *hsakmt_gpu_by_node(uint32_t node_id)
{
	for (uint32_t i = 0; i < hsakmt_ctx.mem.num_gpus; i++)
		if (hsakmt_ctx.mem.gpu[i].node_id == node_id)
			return &hsakmt_ctx.mem.gpu[i];
	return NULL;
}

bool hsakmt_fmm_aperture(enum hsakmt_aperture_kind kind, uint32_t gpu_id,
			 uint64_t *base, uint64_t *limit)
{
	struct hsakmt_gpu *gpu;

	*base = *limit = 0;
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_gpu_by_id(gpu_id);
	if (gpu) {
		switch (kind) {
		case HSAKMT_AP_LDS:
			*base = gpu->lds.base;
			*limit = gpu->lds.limit;
			break;
		case HSAKMT_AP_SCRATCH:
			*base = gpu->scratch.base;
			*limit = gpu->scratch.limit;
			break;
		case HSAKMT_AP_MMIO:
			*base = gpu->mmio.base;
			*limit = gpu->mmio.limit;
			break;
		case HSAKMT_AP_SVM:
			*base = hsakmt_ctx.mem.svm.base;
			*limit = hsakmt_ctx.mem.svm.limit;
			break;
		}
	}
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	return *base && *base < *limit;
}

static void free_gpus(struct hsakmt_mem *mem)
{
	for (uint32_t i = 0; i < mem->num_gpus; i++) {
		hsakmt_ids_clear(&mem->gpu[i].peers);
		free(mem->gpu[i].scratch_bos.bo);
	}
	free(mem->gpu);
	mem->gpu = NULL;
	mem->num_gpus = 0;
	hsakmt_ids_clear(&mem->all_gpus);
}

/* The GPUs of @topo with their render nodes; under mem.lock. */
static HSAKMT_STATUS list_gpus(struct hsakmt_mem *mem, const struct hsakmt_topology *topo)
{
	bool svm_api = hsakmt_ctx.svm_api, is_dgpu = false;

	mem->gpu = calloc(topo->sys.NumNodes + 1, sizeof(*mem->gpu));
	if (!mem->gpu)
		return HSAKMT_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < topo->sys.NumNodes; i++) {
		const HsaNodeProperties *props = &topo->nodes[i].props;
		struct hsakmt_gpu *gpu = &mem->gpu[mem->num_gpus];

		/* One discrete GPU makes the whole system count as such. */
		if (!props->NumCPUCores && props->NumFComputeCores)
			is_dgpu = true;
		if (!props->KFDGpuID)
			continue;
		gpu->drm_fd = hsakmt_drm_open(props->DrmRenderMinor);
		if (gpu->drm_fd <= 0)
			return HSAKMT_STATUS_ERROR;
		gpu->drm_minor = props->DrmRenderMinor;
		gpu->gpu_id = props->KFDGpuID;
		gpu->node_id = i;
		gpu->device_id = props->DeviceId;
		mem->num_gpus++;
		if (hsakmt_ids_add(&gpu->peers, gpu->gpu_id))
			return HSAKMT_STATUS_NO_MEMORY;
		svm_api = svm_api && props->Capability.ui32.SVMAPISupported;
	}
	hsakmt_ctx.is_dgpu = is_dgpu;
	hsakmt_ctx.svm_api = svm_api;
	return HSAKMT_STATUS_SUCCESS;
}

/* A GPU may map the memory of every GPU it has a link to. Under mem.lock. */
static HSAKMT_STATUS add_peers(const struct hsakmt_topology *topo, const struct hsakmt_gpu *gpu)
{
	const struct hsakmt_node *node = &topo->nodes[gpu->node_id];

	for (uint32_t i = 0; i < node->props.NumIOLinks; i++) {
		struct hsakmt_gpu *to = hsakmt_gpu_by_node(node->link[i].NodeTo);

		if (to && hsakmt_ids_add(&to->peers, gpu->gpu_id))
			return HSAKMT_STATUS_NO_MEMORY;
	}
	return HSAKMT_STATUS_SUCCESS;
}

static bool overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	return b_end && a <= b_end && b <= a_end;
}

/*
 * Tokens for memory without address come from where no address can be: beyond
 * the 47-bit range, clear of the GPUs' own windows.
 */
static void init_handles(struct hsakmt_mem *mem, uint32_t guard_pages)
{
	const uint64_t step = 1ull << 47;
	struct hsakmt_aperture *ap = &mem->handles;

	if (ap->limit)
		return;
	for (uint64_t base = step; base < 0 - 2 * step; base += step) {
		uint64_t limit = base + step - 1;
		bool hit = false;

		for (uint32_t i = 0; i < mem->num_gpus; i++)
			hit |= overlap(base, limit, mem->gpu[i].lds.base, mem->gpu[i].lds.limit) ||
			       overlap(base, limit, mem->gpu[i].scratch.base,
				       mem->gpu[i].scratch.limit);
		if (hit)
			continue;
		ap->mode = HSAKMT_VA_RESERVED;
		ap->align = hsakmt_ctx.page_size;
		ap->guard_pages = guard_pages;
		ap->base = base;
		ap->limit = limit;
		return;
	}
}

static HSAKMT_STATUS set_policies(const struct kfd_process_device_apertures *ap, uint32_t count)
{
	const struct hsakmt_aperture *svm = &hsakmt_ctx.mem.svm;

	for (uint32_t i = 0; i < count; i++) {
		struct kfd_ioctl_set_memory_policy_args args = {
			.gpu_id = ap[i].gpu_id,
			.default_policy = hsakmt_ctx.mem.disable_cache ?
				KFD_IOC_CACHE_POLICY_COHERENT : KFD_IOC_CACHE_POLICY_NONCOHERENT,
			.alternate_policy = KFD_IOC_CACHE_POLICY_COHERENT,
			.alternate_aperture_base = svm->base,
			.alternate_aperture_size = svm->limit - svm->base + 1,
		};

		if (hsakmt_ioctl(AMDKFD_IOC_SET_MEMORY_POLICY, &args)) {
			hsakmt_log(HSAKMT_ERR, "hsakmt: SET_MEMORY_POLICY failed for GPU 0x%x\n",
				   ap[i].gpu_id);
			return HSAKMT_STATUS_ERROR;
		}
	}
	return HSAKMT_STATUS_SUCCESS;
}

/* Windows and VM of each GPU the kernel lists; the shared range last. */
static HSAKMT_STATUS init_apertures(struct hsakmt_mem *mem, const struct hsakmt_topology *topo,
				    struct kfd_process_device_apertures *ap, uint32_t count,
				    uint32_t guard_pages)
{
	uint64_t svm_base = 0, svm_limit = 0;
	HSAKMT_STATUS status;

	for (uint32_t i = 0; i < count; i++) {
		struct hsakmt_gpu *gpu = hsakmt_gpu_by_id(ap[i].gpu_id);
		struct kfd_ioctl_acquire_vm_args args;

		if (!gpu)	/* hidden from this process */
			continue;
		if (ap[i].gpuvm_limit >> 47) {
			hsakmt_log(HSAKMT_ERR, "hsakmt: GPU 0x%x has no process address space\n",
				   gpu->gpu_id);
			return HSAKMT_STATUS_ERROR;
		}
		if (hsakmt_ids_add(&mem->all_gpus, gpu->gpu_id))
			return HSAKMT_STATUS_NO_MEMORY;
		status = add_peers(topo, gpu);
		if (status != HSAKMT_STATUS_SUCCESS)
			return status;
		gpu->lds.base = ap[i].lds_base;
		gpu->lds.limit = ap[i].lds_limit;
		gpu->scratch.base = ap[i].scratch_base;
		gpu->scratch.limit = ap[i].scratch_limit;
		if (ap[i].gpuvm_base > svm_base)
			svm_base = ap[i].gpuvm_base;
		if (!svm_limit || ap[i].gpuvm_limit < svm_limit)
			svm_limit = ap[i].gpuvm_limit;

		args.drm_fd = (uint32_t)gpu->drm_fd;
		args.gpu_id = gpu->gpu_id;
		if (hsakmt_ioctl(AMDKFD_IOC_ACQUIRE_VM, &args)) {
			hsakmt_log(HSAKMT_ERR, "hsakmt: ACQUIRE_VM failed for GPU 0x%x\n",
				   gpu->gpu_id);
			return HSAKMT_STATUS_ERROR;
		}
	}
	init_handles(mem, guard_pages);
	if (!svm_limit)
		return HSAKMT_STATUS_SUCCESS;
	status = hsakmt_va_init_svm(svm_base, svm_limit, guard_pages);
	return status == HSAKMT_STATUS_SUCCESS ? set_policies(ap, count) : status;
}

static HSAKMT_STATUS query_apertures(struct kfd_process_device_apertures **ap, uint32_t *count)
{
	struct kfd_ioctl_get_process_apertures_new_args args = { .num_of_nodes = *count };

	*ap = calloc(*count + 1, sizeof(**ap));
	if (!*ap)
		return HSAKMT_STATUS_NO_MEMORY;
	args.kfd_process_device_apertures_ptr = hsakmt_addr(*ap);
	if (hsakmt_ioctl(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &args) ||
	    args.num_of_nodes > *count) {
		free(*ap);
		*ap = NULL;
		return HSAKMT_STATUS_ERROR;
	}
	*count = args.num_of_nodes;
	return HSAKMT_STATUS_SUCCESS;
}

static void map_mmio(struct hsakmt_mem *mem)
{
	for (uint32_t i = 0; i < mem->num_gpus; i++) {
		struct hsakmt_gpu *gpu = &mem->gpu[i];
		uint64_t base = hsakmt_fmm_alloc_mmio(gpu);

		/* Without it callers have no way to flush writes, which they check. */
		if (!base) {
			hsakmt_log(HSAKMT_ERR, "hsakmt: no MMIO page of GPU 0x%x\n", gpu->gpu_id);
			continue;
		}
		pthread_mutex_lock(&mem->lock);
		gpu->mmio.base = base;
		gpu->mmio.limit = base + hsakmt_ctx.page_size - 1;
		pthread_mutex_unlock(&mem->lock);
	}
}

/*
 * Set-up after a snapshot was taken; under ctx.lock, takes mem.lock. May be
 * called again after hsakmt_fmm_destroy(): the kernel accepts ACQUIRE_VM with
 * the same file, and buffers of before stay valid.
 */
HSAKMT_STATUS hsakmt_fmm_init(const struct hsakmt_topology *topo)
{
	struct kfd_process_device_apertures *ap = NULL;
	struct hsakmt_mem *mem = &hsakmt_ctx.mem;
	uint32_t count = topo->num_sysfs_nodes;
	uint32_t guard_pages = env_u32("HSA_SVM_GUARD_PAGES", 1);
	HSAKMT_STATUS status;

	pthread_mutex_lock(&mem->lock);
	mem->disable_cache = env_on("HSA_DISABLE_CACHE", false);
	mem->userptr_for_paged = env_on("HSA_USERPTR_FOR_PAGED_MEM", true);
	mem->check_userptr = env_on("HSA_CHECK_USERPTR", false);
	mem->reserve_svm = env_on("HSA_RESERVE_SVM", false);
	mem->align_order = env_u32("HSA_MAX_VA_ALIGN", 9);
	if (mem->align_order > 34)	/* beyond that nothing fits in 47 bits */
		mem->align_order = 34;

	status = list_gpus(mem, topo);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = query_apertures(&ap, &count);
	if (status == HSAKMT_STATUS_SUCCESS)
		status = init_apertures(mem, topo, ap, count, guard_pages);
	if (status != HSAKMT_STATUS_SUCCESS)
		free_gpus(mem);
	pthread_mutex_unlock(&mem->lock);
	free(ap);
	if (status == HSAKMT_STATUS_SUCCESS)
		map_mmio(mem);
	return status;
}

/* Under ctx.lock. Buffers of the program stay; those of the library go. */
void hsakmt_fmm_destroy(void)
{
	struct hsakmt_mem *mem = &hsakmt_ctx.mem;

	for (uint32_t i = 0; i < mem->num_gpus; i++) {
		if (!mem->gpu[i].mmio.base)
			continue;
		hsakmt_fmm_unmap(mem->gpu[i].mmio.base);
		hsakmt_fmm_release(mem->gpu[i].mmio.base);
	}
	pthread_mutex_lock(&mem->lock);
	for (uint32_t i = 0; i < mem->num_gpus; i++)
		if (mem->gpu[i].scratch_va.base)
			hsakmt_scratch_release_locked(&mem->gpu[i]);
	free_gpus(mem);
	pthread_mutex_unlock(&mem->lock);
}

/* Child after fork: forget the parent's buffers without touching the kernel. */
void hsakmt_fmm_forget(void)
{
	struct hsakmt_mem *mem = &hsakmt_ctx.mem;

	pthread_mutex_lock(&mem->lock);
	for (uint32_t i = 0; i < mem->num_gpus; i++)
		for (size_t j = 0; j < mem->gpu[i].scratch_bos.count; j++)
			hsakmt_bo_free(mem->gpu[i].scratch_bos.bo[j]);
	free_gpus(mem);
	/* Each user pointer is in both sets. */
	for (size_t i = 0; i < mem->bos.count; i++)
		hsakmt_bo_free(mem->bos.bo[i]);
	mem->bos.count = 0;
	mem->userptrs.count = 0;
	mem->frees = 0;
	hsakmt_va_forget(&mem->handles);
	hsakmt_va_forget(&mem->svm);
	if (mem->svm.cpu_backed)	/* close the holes left by MADV_DONTFORK */
		mmap(hsakmt_ptr(mem->svm.base), mem->svm.limit - mem->svm.base + 1, PROT_NONE,
		     MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE | MAP_FIXED, -1, 0);
	pthread_mutex_unlock(&mem->lock);
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 NodeId,
							HsaAMDGPUDeviceHandle *DeviceHandle)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct hsakmt_gpu *gpu;
	void *dev = NULL;

	HSAKMT_CHECK_OPEN();
	if (!DeviceHandle)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	gpu = hsakmt_gpu_by_node(NodeId);
	if (gpu)
		dev = hsakmt_drm_device(gpu->drm_minor);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	if (!gpu)
		status = HSAKMT_STATUS_INVALID_NODE_UNIT;
	else if (!dev)
		status = HSAKMT_STATUS_INVALID_HANDLE;
	else
		*DeviceHandle = dev;
	return status;
}
