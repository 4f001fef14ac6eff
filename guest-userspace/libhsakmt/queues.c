// SPDX-License-Identifier: MIT
/*
 * User queues. A queue's own record stays out of reach of the GPU; what the GPU
 * writes to is a page with the two pointers. Live queues are listed, so that an
 * id that is none is refused instead of followed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hsakmt_int.h"
#include "kfd_extra.h"

/* The page the GPU shares; PM4 counts dwords, SDMA bytes. */
struct queue_page {
	uint64_t reserved;
	uint64_t wptr;
	uint64_t rptr;
};

/* Sizes of the context save area, all in bytes and for one XCC. */
struct cwsr_size {
	uint32_t ctl_stack;
	uint32_t save;		/* control stack and wave state */
	uint32_t debug;
	uint32_t xccs;
};

struct hsakmt_queue {
	struct hsakmt_queue *next;
	uint32_t kfd_id;
	struct queue_page *page;
	void *eop;
	void *cwsr;
	uint64_t cwsr_bytes;
	bool cwsr_is_svm;	/* plain memory under the SVM interface */
	struct cwsr_size size;
	uint32_t *cu_mask;
	uint32_t cu_bits;	/* multiple of 32 */
};

#define LDS_BYTES_PER_CU 0x10000u
#define HWREG_BYTES_PER_CU 0x1000u
#define DEBUG_BYTES_PER_WAVE 32u
#define HUGE_PAGE (2ull << 20)

static struct hsakmt_queue *find_locked(HSA_QUEUEID id)
{
	struct hsakmt_queue *q;

	for (q = hsakmt_ctx.queues; q; q = q->next)
		if (hsakmt_addr(q) == id)
			return q;
	return NULL;
}

static void enlist(struct hsakmt_queue *q)
{
	pthread_mutex_lock(&hsakmt_ctx.queue_lock);
	q->next = hsakmt_ctx.queues;
	hsakmt_ctx.queues = q;
	pthread_mutex_unlock(&hsakmt_ctx.queue_lock);
}

/* Takes a queue off the list, so that only one caller destroys it. */
static struct hsakmt_queue *delist(HSA_QUEUEID id)
{
	struct hsakmt_queue **link, *q = NULL;

	pthread_mutex_lock(&hsakmt_ctx.queue_lock);
	for (link = &hsakmt_ctx.queues; *link; link = &(*link)->next)
		if (hsakmt_addr(*link) == id) {
			q = *link;
			*link = q->next;
			break;
		}
	pthread_mutex_unlock(&hsakmt_ctx.queue_lock);
	return q;
}

static bool kfd_id_of(HSA_QUEUEID id, uint32_t *kfd_id)
{
	struct hsakmt_queue *q;

	pthread_mutex_lock(&hsakmt_ctx.queue_lock);
	q = find_locked(id);
	if (q)
		*kfd_id = q->kfd_id;
	pthread_mutex_unlock(&hsakmt_ctx.queue_lock);
	return q;
}

bool hsakmt_queue_ids(const HSA_QUEUEID *queues, uint32_t count, uint32_t *ids)
{
	for (uint32_t i = 0; i < count; i++)
		if (!kfd_id_of(queues[i], &ids[i]))
			return false;
	return true;
}

/* Child after fork: the queues are the parent's. */
void hsakmt_queues_forget(void)
{
	while (hsakmt_ctx.queues) {
		struct hsakmt_queue *q = hsakmt_ctx.queues;

		hsakmt_ctx.queues = q->next;
		free(q->cu_mask);
		free(q);
	}
}

static void free_queue(struct hsakmt_queue *q)
{
	if (q->eop)
		hsakmt_internal_free(q->eop);
	if (q->cwsr && q->cwsr_is_svm)
		munmap(q->cwsr, q->cwsr_bytes);
	else if (q->cwsr)
		hsakmt_internal_free(q->cwsr);
	if (q->page)
		hsakmt_internal_free(q->page);
	free(q->cu_mask);
	free(q);
}

/*
 * What the kernel wants to see, to the byte: it computes the same from the same
 * topology and refuses a queue that differs. False: no save area on this part.
 */
static bool cwsr_sizes(const HsaNodeProperties *props, uint32_t gfxv, struct cwsr_size *size)
{
	uint64_t page = hsakmt_ctx.page_size;
	uint32_t cus, waves, per_array;

	if (gfxv < HSAKMT_GFXV(8, 0, 1) || !props->NumFComputeCores || !props->NumSIMDPerCU ||
	    !props->NumArrays)
		return false;
	size->xccs = props->NumXcc;
	cus = props->NumFComputeCores / props->NumSIMDPerCU / size->xccs;
	if (gfxv < HSAKMT_GFXV(10, 1, 0)) {
		per_array = props->NumShaderBanks / props->NumArrays * 512;
		waves = cus * 40 < per_array ? cus * 40 : per_array;
		size->ctl_stack = waves * 8 + 8;
	} else {
		waves = cus * 32;
		size->ctl_stack = waves * 12 + 8;
	}
	size->ctl_stack = (uint32_t)ALIGN_UP(sizeof(HsaUserContextSaveAreaHeader) +
					     size->ctl_stack, page);
	if (gfxv >> 16 == 10 && size->ctl_stack > 0x7000)	/* what that hardware takes */
		size->ctl_stack = 0x7000;
	size->debug = (uint32_t)ALIGN_UP(waves * DEBUG_BYTES_PER_WAVE, 64);
	size->save = size->ctl_stack +
		(uint32_t)ALIGN_UP(cus * (hsakmt_vgpr_bytes_per_cu(gfxv) +
					  HSAKMT_SGPR_BYTES_PER_CU + LDS_BYTES_PER_CU +
					  HWREG_BYTES_PER_CU), page);
	return true;
}

/* The header in front of each XCC's part says where exceptions are reported. */
static void cwsr_headers(const struct hsakmt_queue *q, void *area, const HsaEvent *event,
			 volatile HSAint64 *reason)
{
	for (uint32_t i = 0; i < q->size.xccs; i++) {
		HsaUserContextSaveAreaHeader *hdr =
			(void *)((char *)area + (uint64_t)i * q->size.save);

		hdr->ErrorEventId = event ? event->EventId : 0;
		hdr->ErrorReason = reason;
		hdr->DebugOffset = (q->size.xccs - i) * q->size.save;
		hdr->DebugSize = q->size.debug * q->size.xccs;
	}
}

static bool cwsr_svm(struct hsakmt_queue *q, uint32_t gpu_id, const HsaEvent *event,
		     volatile HSAint64 *reason)
{
	const uint32_t flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_GPU_EXEC |
			       KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED;
	const struct kfd_ioctl_svm_attribute attrs[] = {
		{ KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, gpu_id },
		{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, KFD_IOCTL_SVM_LOCATION_SYSMEM },
		{ KFD_IOCTL_SVM_ATTR_CLR_FLAGS, ~flags },
		{ KFD_IOCTL_SVM_ATTR_SET_FLAGS, flags },
		{ KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id },
		{ KFD_IOCTL_SVM_ATTR_GRANULARITY, 0xff },
	};
	uint64_t va;

	if (hsakmt_ctx.version.KernelInterfaceMinorVersion < 11)
		return false;
	va = hsakmt_va_mmap(PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, q->cwsr_bytes,
			    HUGE_PAGE, 0);
	if (!va)
		return false;
	/* A copy-on-write of these pages would evict the parent's queue. */
	madvise(hsakmt_ptr(va), q->cwsr_bytes, MADV_DONTFORK);
	cwsr_headers(q, hsakmt_ptr(va), event, reason);
	if (hsakmt_svm_set(va, q->cwsr_bytes, attrs, ARRAY_SIZE(attrs)) != HSAKMT_STATUS_SUCCESS) {
		munmap(hsakmt_ptr(va), q->cwsr_bytes);
		return false;
	}
	q->cwsr = hsakmt_ptr(va);
	q->cwsr_is_svm = true;
	return true;
}

/* End-of-pipe buffer, then save area: compute queues need both. */
static HSAKMT_STATUS compute_buffers(struct hsakmt_queue *q, const HsaNodeProperties *props,
				     uint32_t node_id, HSA_QUEUE_TYPE type, HsaEvent *event,
				     volatile HSAint64 *reason,
				     struct kfd_ioctl_create_queue_args *args)
{
	uint32_t gfxv = HSAKMT_GFXV(props->EngineId.ui32.Major, props->EngineId.ui32.Minor,
				    props->EngineId.ui32.Stepping);
	const struct hsakmt_mem_req eop = { .gpu_id = args->gpu_id, .node_id = node_id,
					    .nonpaged = true, .device = true };
	const struct hsakmt_mem_req save = { .gpu_id = args->gpu_id, .node_id = node_id };

	/* The gfx94x packet processor handles end-of-pipe of AQL itself. */
	if (gfxv >= HSAKMT_GFXV(8, 0, 0) &&
	    ((gfxv & ~0xffu) != HSAKMT_GFXV(9, 4, 0) || type == HSA_QUEUE_COMPUTE)) {
		q->eop = hsakmt_internal_alloc(4096, &eop);
		if (!q->eop)
			return HSAKMT_STATUS_NO_MEMORY;
		args->eop_buffer_address = hsakmt_addr(q->eop);
		args->eop_buffer_size = 4096;
	}

	if (!cwsr_sizes(props, gfxv, &q->size))
		return HSAKMT_STATUS_SUCCESS;
	args->ctx_save_restore_size = q->size.save;
	args->ctl_stack_size = q->size.ctl_stack;
	q->cwsr_bytes = ALIGN_UP(((uint64_t)q->size.save + q->size.debug) * q->size.xccs,
				 hsakmt_ctx.page_size);
	if (!hsakmt_ctx.svm_api || !cwsr_svm(q, args->gpu_id, event, reason)) {
		q->cwsr = hsakmt_internal_alloc(q->cwsr_bytes, &save);
		if (!q->cwsr)
			return HSAKMT_STATUS_NO_MEMORY;
		cwsr_headers(q, q->cwsr, event, reason);
	}
	args->ctx_save_restore_address = hsakmt_addr(q->cwsr);
	return HSAKMT_STATUS_SUCCESS;
}

/* All CUs on. Without memory for the mask GetQueueInfo reports none. */
static void init_cu_mask(struct hsakmt_queue *q, const HsaNodeProperties *props)
{
	uint32_t cus = props->NumSIMDPerCU ? props->NumFComputeCores / props->NumSIMDPerCU : 0;
	uint32_t words = (cus + 31) / 32;

	q->cu_mask = calloc(words + 1, sizeof(*q->cu_mask));
	if (!q->cu_mask)
		return;
	q->cu_bits = words * 32;
	for (uint32_t i = 0; i < cus; i++)
		q->cu_mask[i / 32] |= 1u << i % 32;
}

/* -1 for types the kernel has no queue for. */
static int kfd_type(HSA_QUEUE_TYPE type)
{
	switch (type) {
	case HSA_QUEUE_COMPUTE:
		return KFD_IOC_QUEUE_TYPE_COMPUTE;
	case HSA_QUEUE_SDMA:
		return KFD_IOC_QUEUE_TYPE_SDMA;
	case HSA_QUEUE_SDMA_XGMI:
		return KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
	case HSA_QUEUE_COMPUTE_AQL:
		return KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
	default:
		return -1;
	}
}

/* Kernel's 0..15 of the library's -3..3; -1 out of range. */
static int kfd_priority(HSA_QUEUE_PRIORITY priority)
{
	static const uint8_t map[] = { 0, 3, 5, 7, 9, 11, 15 };
	int i = (int)priority + 3;

	return i >= 0 && i < (int)ARRAY_SIZE(map) ? map[i] : -1;
}

/*
 * hsaKmtCreateQueue - a user queue on a GPU
 *
 * @QueueSizeInBytes: of the ring at @QueueAddress, a power of two. @Event: gets
 * the queue's exceptions, may be NULL. @QueueResource: the caller gives the pointer
 * addresses of an AQL queue, the library fills those of all others.
 *
 * Order of calls as in the stock library: queue page, end-of-pipe buffer, save
 * area, CREATE_QUEUE, doorbells with the first queue. Any failure of the kernel
 * is ERROR, want of memory NO_MEMORY. Takes no lock but those of the parts.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 NodeId, HSA_QUEUE_TYPE Type,
					      HSAuint32 QueuePercentage,
					      HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
					      HSAuint64 QueueSizeInBytes, HsaEvent *Event,
					      HsaQueueResource *QueueResource)
{
	struct hsakmt_mem_req page = { .node_id = NodeId, .nonpaged = true, .uncached = true };
	struct kfd_ioctl_create_queue_args args = { 0 };
	int type = kfd_type(Type), priority = kfd_priority(Priority);
	HsaNodeProperties props;
	struct hsakmt_queue *q;
	HSAKMT_STATUS status;
	void *doorbell;

	HSAKMT_CHECK_OPEN();
	if (type < 0 || priority < 0 || !QueueResource)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = hsakmt_node_props(NodeId, &props);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	args.gpu_id = page.gpu_id = props.KFDGpuID;

	q = calloc(1, sizeof(*q));
	if (!q)
		return HSAKMT_STATUS_NO_MEMORY;
	init_cu_mask(q, &props);
	q->page = hsakmt_internal_alloc(sizeof(*q->page), &page);
	if (!q->page) {
		free_queue(q);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	memset(q->page, 0, sizeof(*q->page));
	if (Type != HSA_QUEUE_COMPUTE_AQL) {
		QueueResource->QueueRptrValue = hsakmt_addr(&q->page->rptr);
		QueueResource->QueueWptrValue = hsakmt_addr(&q->page->wptr);
	}
	if (Type == HSA_QUEUE_COMPUTE || Type == HSA_QUEUE_COMPUTE_AQL) {
		status = compute_buffers(q, &props, NodeId, Type, Event,
					 QueueResource->ErrorReason, &args);
		if (status != HSAKMT_STATUS_SUCCESS) {
			free_queue(q);
			return status;
		}
	}

	args.read_pointer_address = QueueResource->QueueRptrValue;
	args.write_pointer_address = QueueResource->QueueWptrValue;
	args.ring_base_address = hsakmt_addr(QueueAddress);
	args.ring_size = (uint32_t)QueueSizeInBytes;
	args.queue_type = (uint32_t)type;
	args.queue_percentage = QueuePercentage;
	args.queue_priority = (uint32_t)priority;
	if (hsakmt_ioctl(KFD_CREATE_QUEUE_STOCK, &args)) {
		free_queue(q);
		return HSAKMT_STATUS_ERROR;
	}
	q->kfd_id = args.queue_id;
	enlist(q);

	status = hsakmt_doorbell_map(NodeId, args.gpu_id, args.doorbell_offset, &doorbell);
	if (status != HSAKMT_STATUS_SUCCESS) {
		hsaKmtDestroyQueue(hsakmt_addr(q));
		return HSAKMT_STATUS_ERROR;
	}
	QueueResource->QueueId = hsakmt_addr(q);
	QueueResource->QueueDoorBell = hsakmt_addr(doorbell);
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * hsaKmtUpdateQueue - change ring, share or priority
 *
 * Ring NULL, size 0 or percentage 0 stops the queue; it goes on from the write
 * pointer in memory when they are set again.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID QueueId, HSAuint32 QueuePercentage,
					      HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
					      HSAuint64 QueueSize, HsaEvent *Event)
{
	struct kfd_ioctl_update_queue_args args = { 0 };
	int priority = kfd_priority(Priority);

	(void)Event;	/* set at creation; the kernel has no way to change it */
	HSAKMT_CHECK_OPEN();
	if (priority < 0 || !kfd_id_of(QueueId, &args.queue_id))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	args.ring_base_address = hsakmt_addr(QueueAddress);
	args.ring_size = (uint32_t)QueueSize;
	args.queue_percentage = QueuePercentage;
	args.queue_priority = (uint32_t)priority;
	return hsakmt_call(AMDKFD_IOC_UPDATE_QUEUE, &args);
}

/* hsaKmtDestroyQueue - the kernel has quiesced the queue before memory goes */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID QueueId)
{
	struct kfd_ioctl_destroy_queue_args args = { 0 };
	struct hsakmt_queue *q;

	HSAKMT_CHECK_OPEN();
	q = delist(QueueId);
	if (!q)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	args.queue_id = q->kfd_id;
	if (hsakmt_ioctl(AMDKFD_IOC_DESTROY_QUEUE, &args)) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: destroying queue %u: %s\n", q->kfd_id,
			   strerror(errno));
		enlist(q);
		return HSAKMT_STATUS_ERROR;
	}
	free_queue(q);
	return HSAKMT_STATUS_SUCCESS;
}

/* hsaKmtSetQueueCUMask - @CUMaskCount in bits, a multiple of 32 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID QueueId, HSAuint32 CUMaskCount,
						 HSAuint32 *QueueCUMask)
{
	struct kfd_ioctl_set_cu_mask_args args = { .num_cu_mask = CUMaskCount };
	struct hsakmt_queue *q;
	uint32_t *copy;

	HSAKMT_CHECK_OPEN();
	if (!CUMaskCount || CUMaskCount % 32 || !QueueCUMask ||
	    !kfd_id_of(QueueId, &args.queue_id))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	copy = malloc(CUMaskCount / 8);
	if (!copy)
		return HSAKMT_STATUS_NO_MEMORY;
	memcpy(copy, QueueCUMask, CUMaskCount / 8);
	args.cu_mask_ptr = hsakmt_addr(QueueCUMask);
	if (hsakmt_ioctl(AMDKFD_IOC_SET_CU_MASK, &args)) {
		free(copy);
		return HSAKMT_STATUS_ERROR;
	}
	pthread_mutex_lock(&hsakmt_ctx.queue_lock);
	q = find_locked(QueueId);
	if (q) {
		uint32_t *old = q->cu_mask;

		q->cu_mask = copy;
		q->cu_bits = CUMaskCount;
		copy = old;
	}
	pthread_mutex_unlock(&hsakmt_ctx.queue_lock);
	free(copy);
	return HSAKMT_STATUS_SUCCESS;
}

/* hsaKmtGetQueueInfo - saved wave state; pointers are valid while the queue is */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetQueueInfo(HSA_QUEUEID QueueId, HsaQueueInfo *QueueInfo)
{
	struct kfd_ioctl_get_queue_wave_state_args args = { 0 };
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
	struct hsakmt_queue *q;
	char *stack;

	HSAKMT_CHECK_OPEN();
	if (!QueueInfo)
		return status;
	pthread_mutex_lock(&hsakmt_ctx.queue_lock);
	q = find_locked(QueueId);
	if (!q)
		goto out;
	status = HSAKMT_STATUS_ERROR;
	if (!q->cwsr)
		goto out;
	args.queue_id = q->kfd_id;
	args.ctl_stack_address = hsakmt_addr(q->cwsr);
	if (hsakmt_ioctl(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args))
		goto out;
	stack = hsakmt_ptr(args.ctl_stack_address);
	memset(QueueInfo, 0, sizeof(*QueueInfo));
	QueueInfo->ControlStackTop =
		(void *)(stack + q->size.ctl_stack - args.ctl_stack_used_size);
	QueueInfo->ControlStackUsedInBytes = args.ctl_stack_used_size;
	QueueInfo->UserContextSaveArea = (void *)(stack + q->size.ctl_stack);
	QueueInfo->SaveAreaSizeInBytes = args.save_area_used_size;
	QueueInfo->NumCUAssigned = q->cu_bits;
	QueueInfo->CUMaskInfo = q->cu_mask;
	QueueInfo->SaveAreaHeader = q->cwsr;
	status = HSAKMT_STATUS_SUCCESS;
out:
	pthread_mutex_unlock(&hsakmt_ctx.queue_lock);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID QueueId, HSAuint32 nGWS,
						HSAuint32 *firstGWS)
{
	struct kfd_ioctl_alloc_queue_gws_args args = { .num_gws = nGWS };

	HSAKMT_CHECK_OPEN();
	if (!kfd_id_of(QueueId, &args.queue_id))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!hsakmt_ioctl(AMDKFD_IOC_ALLOC_QUEUE_GWS, &args)) {
		if (firstGWS)
			*firstGWS = args.first_gws;
		return HSAKMT_STATUS_SUCCESS;
	}
	switch (errno) {
	case EINVAL:
		return HSAKMT_STATUS_INVALID_PARAMETER;
	case EBUSY:
		return HSAKMT_STATUS_OUT_OF_RESOURCES;
	case ENODEV:
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	return HSAKMT_STATUS_ERROR;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtSetTrapHandler(HSAuint32 NodeId, void *TrapHandlerBaseAddress,
						 HSAuint64 TrapHandlerSizeInBytes,
						 void *TrapBufferBaseAddress,
						 HSAuint64 TrapBufferSizeInBytes)
{
	struct kfd_ioctl_set_trap_handler_args args = { 0 };
	HSAKMT_STATUS status;

	(void)TrapHandlerSizeInBytes;
	(void)TrapBufferSizeInBytes;
	HSAKMT_CHECK_OPEN();
	status = hsakmt_node_gpu_id(NodeId, &args.gpu_id);
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	args.tba_addr = hsakmt_addr(TrapHandlerBaseAddress);
	args.tma_addr = hsakmt_addr(TrapBufferBaseAddress);
	return hsakmt_call(AMDKFD_IOC_SET_TRAP_HANDLER, &args);
}
