/* SPDX-License-Identifier: MIT */
/*
 * Internal interface of libhsakmt.so.1, a drop-in for Debian's libhsakmt1.
 *
 * Locks, in the order they are taken (a later one never waits for an earlier):
 *
 *   ctx.lock          open count, fork state, snapshot life cycle, events page
 *   ctx.queue_lock    list of live queues
 *   ctx.doorbell.lock doorbell mappings, one per node
 *   ctx.mem.lock      GPU table, buffer objects, address space bookkeeping
 *   ctx.topo_lock     pointer to the topology snapshot (leaf)
 *
 * The fork handlers take all of them, so a child never inherits one that is
 * held nor data that is half changed. hsaKmtWaitOnMultipleEvents sleeps in the
 * kernel and holds none.
 */
#ifndef HSAKMT_INT_H
#define HSAKMT_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <linux/kfd_ioctl.h>
#include <hsakmt/hsakmt.h>

#define HSAKMT_EXPORT __attribute__((visibility("default")))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a) (((uint64_t)(x) + (uint64_t)(a) - 1) & ~((uint64_t)(a) - 1))

/* HSAKMT_DEBUG_LEVEL values; messages go to stderr, none by default. */
enum hsakmt_level {
	HSAKMT_ERR = 3,
	HSAKMT_WARN = 4,
	HSAKMT_INFO = 6,
	HSAKMT_DEBUG = 7,
};

#define hsakmt_log(level, ...)						\
	do {								\
		if ((int)(level) <= hsakmt_ctx.debug_level)		\
			fprintf(stderr, __VA_ARGS__);			\
	} while (0)

/* GFXIP version as one number, 0xMMmmss. */
#define HSAKMT_GFXV(major, minor, step) \
	(((uint32_t)(major) << 16) | ((uint32_t)(minor) << 8) | (uint32_t)(step))

#define HSAKMT_SGPR_BYTES_PER_CU 0x4000u

/* ---- topology (topology.c, gfxip.c, cpuinfo.c) ------------------------ */

struct hsakmt_node {
	HsaNodeProperties props;
	uint32_t sysfs_id;		/* directory name under nodes/ */
	HsaMemoryProperties *mem;	/* props.NumMemoryBanks */
	HsaCacheProperties *cache;	/* props.NumCaches */
	HsaIoLinkProperties *link;	/* props.NumIOLinks */
};

/* Immutable once published in ctx.topo. */
struct hsakmt_topology {
	HsaSystemProperties sys;
	struct hsakmt_node *nodes;	/* sys.NumNodes */
	uint32_t num_sysfs_nodes;	/* including those hidden from us */
};

/* ---- memory (bo.c, va.c, fmm_*.c) ------------------------------------- */

/*
 * How an aperture hands out addresses. MMAP takes them from the kernel, so
 * that a GPU address equals the CPU address; RESERVED carves them out of
 * [base, limit] with a first-fit list.
 */
enum hsakmt_va_mode { HSAKMT_VA_MMAP, HSAKMT_VA_RESERVED };

struct hsakmt_va_range {
	uint64_t start, end;		/* bytes, end exclusive, guard included */
	struct hsakmt_va_range *next;
};

struct hsakmt_aperture {
	uint64_t base, limit;		/* limit inclusive; 0,0: not set up */
	uint64_t align;			/* bytes */
	uint32_t guard_pages;
	enum hsakmt_va_mode mode;
	bool cpu_backed;		/* RESERVED only: the range is our mapping */
	struct hsakmt_va_range *ranges;
};

struct hsakmt_ids {
	uint32_t *id;
	uint32_t count;
};

enum hsakmt_bo_kind {
	HSAKMT_BO_SVM,			/* has a GPU address */
	HSAKMT_BO_HANDLE,		/* memory without address; va is a token */
	HSAKMT_BO_CPU,			/* system without GPU: plain memory */
};

/* One allocation or registration. All fields under ctx.mem.lock. */
struct hsakmt_bo {
	enum hsakmt_bo_kind kind;
	uint64_t va;
	uint64_t size;			/* bytes of address space */
	uint64_t handle;		/* 0: address only */
	uint64_t userptr;		/* registered CPU address, 0: none */
	uint64_t userptr_size;
	uint32_t node_id;
	HsaMemFlags flags;
	struct hsakmt_ids registered;	/* gpu ids */
	struct hsakmt_ids mapped;	/* gpu ids */
	uint32_t *registered_nodes;	/* lent out by QueryPointerInfo */
	uint32_t *mapped_nodes;
	unsigned int registrations;
	unsigned int mappings;
	void *metadata;
	void *user_data;
	bool imported;
};

/* Pointers sorted by a key; va.start or userptr. */
struct hsakmt_boset {
	struct hsakmt_bo **bo;
	size_t count, room;
	bool by_userptr;
};

/* A GPU of the current snapshot. */
struct hsakmt_gpu {
	uint32_t gpu_id, node_id;
	uint16_t device_id;
	int drm_fd;
	int drm_minor;
	struct { uint64_t base, limit; } lds, scratch, mmio;
	struct { uint64_t base, size; } scratch_va;	/* backing, 0: none */
	struct hsakmt_boset scratch_bos;
	struct hsakmt_ids peers;	/* gpu ids that can map its VRAM */
};

/* A buffer that is no more, for whoever asks what an address was. */
struct hsakmt_freed {
	HSA_POINTER_TYPE type;
	uint32_t node_id;
	uint64_t va, size, userptr;
};

#define HSAKMT_FREED_KEPT 256u

struct hsakmt_mem {
	pthread_mutex_t lock;
	struct hsakmt_gpu *gpu;
	uint32_t num_gpus;
	struct hsakmt_ids all_gpus;
	struct hsakmt_aperture svm;
	struct hsakmt_aperture handles;
	struct hsakmt_boset bos;
	struct hsakmt_boset userptrs;
	struct hsakmt_freed freed[HSAKMT_FREED_KEPT];
	uint64_t frees;			/* ever; the last ones are in @freed */
	bool userptr_for_paged, check_userptr, reserve_svm, disable_cache;
	uint32_t align_order;		/* largest alignment: page << order */
};

/* ---- doorbells, queues ------------------------------------------------- */

struct hsakmt_doorbell {
	void *page;			/* NULL: not mapped yet */
	uint64_t size;			/* bytes */
	bool on_gpu;			/* a BO of ours, else a plain mmap */
};

struct hsakmt_queue;

/* Everything that upstream keeps in globals. */
struct hsakmt_ctx {
	pthread_mutex_t lock;
	pthread_mutex_t queue_lock;
	pthread_mutex_t topo_lock;

	int kfd_fd;
	_Atomic unsigned int open_count;
	atomic_bool forked;
	_Atomic pid_t owner;		/* process the state belongs to, 0: none */
	HsaVersionInfo version;
	uint64_t page_size;
	int debug_level;
	bool zfb;			/* HSA_ZFB: no VRAM, use system memory */
	atomic_bool is_dgpu;
	atomic_bool svm_api;		/* every GPU has it and it is not disabled */
	uint32_t runtime_caps;

	struct hsakmt_topology *topo;	/* topo_lock */
	uint64_t *events_page;		/* lock */

	struct {
		pthread_mutex_t lock;
		struct hsakmt_doorbell *node;
		uint32_t count;
	} doorbell;
	struct hsakmt_queue *queues;	/* queue_lock */
	struct hsakmt_mem mem;
};

extern struct hsakmt_ctx hsakmt_ctx;

/* Head of every call that needs the kernel. */
#define HSAKMT_CHECK_OPEN()						\
	do {								\
		if (!hsakmt_is_open())					\
			return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED; \
	} while (0)

#define HSAKMT_CHECK_MINOR(minor)					\
	do {								\
		if (hsakmt_ctx.version.KernelInterfaceMinorVersion < (minor)) \
			return HSAKMT_STATUS_NOT_SUPPORTED;		\
	} while (0)

/* open.c */
bool hsakmt_is_open(void);
bool hsakmt_detect_fork(void);

/*
 * ioctl.c: the only way to the kernel driver. Repeats on EINTR and EAGAIN; on
 * EBADF checks whether this is a forked child. 0 or more on success, -1 and
 * errno otherwise. @fd is ctx.kfd_fd.
 */
int hsakmt_ioctl(unsigned long request, void *arg);
/* Status of a plain call: 0 is SUCCESS, any error is ERROR. */
HSAKMT_STATUS hsakmt_call(unsigned long request, void *arg);

/*
 * sys.c and drm.c: the seam. Host tests link their own versions of these and
 * nothing else of the two files.
 */
int hsakmt_sys_ioctl(int fd, unsigned long request, void *arg);
int hsakmt_sys_open(const char *path);
void hsakmt_sys_close(int fd);
/* mmap of a device file; anonymous mappings do not pass here. */
void *hsakmt_sys_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
const char *hsakmt_sys_topology_root(void);
/* 0, or -1 when the policy was asked for strictly and cannot be met. */
int hsakmt_sys_bind_node(void *addr, size_t size, uint32_t node, bool strict);
/* An open render node, kept for the life of the process; fd or -errno. */
int hsakmt_drm_open(int minor);
void *hsakmt_drm_device(int minor);
/* Child after fork: close and forget all render nodes. */
void hsakmt_drm_forget(void);
/* Marketing name, family, APU or not; false: libdrm does not know. */
bool hsakmt_drm_describe(HsaNodeProperties *props);

/* sysfs.c */
/* Reads "key value" lines; @set returns false to stop. -1 and errno. */
typedef bool (*hsakmt_prop_fn)(void *arg, const char *key, uint64_t value);
int hsakmt_sysfs_props(const char *path, hsakmt_prop_fn set, void *arg);
int hsakmt_sysfs_u32(const char *path, uint32_t *value);
int hsakmt_sysfs_word(const char *path, char *buf, size_t size);
char *hsakmt_sysfs_read(const char *path);
uint32_t hsakmt_sysfs_count(const char *dir, const char *prefix);

/* topology_read.c */
HSAKMT_STATUS hsakmt_topology_scan(struct hsakmt_topology *topo);
HSAKMT_STATUS hsakmt_topology_read(struct hsakmt_topology **out);
void hsakmt_topology_free(struct hsakmt_topology *topo);
void hsakmt_topology_path(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* cpuinfo.c */
HSAKMT_STATUS hsakmt_cpu_describe(struct hsakmt_topology *topo);
/* gfxip.c */
HSAKMT_STATUS hsakmt_gfxip_describe(HsaNodeProperties *props, uint32_t target);
uint32_t hsakmt_vgpr_bytes_per_cu(uint32_t gfxv);

/* topology.c; all of these take topo_lock, none may be called under it */
HSAKMT_STATUS hsakmt_node_gpu_id(uint32_t node_id, uint32_t *gpu_id);
HSAKMT_STATUS hsakmt_gpu_node_id(uint32_t gpu_id, uint32_t *node_id);
HSAKMT_STATUS hsakmt_node_props(uint32_t node_id, HsaNodeProperties *props);
uint32_t hsakmt_node_gfxv(uint32_t node_id);
/* CPU node a GPU hangs on and which has memory, or INVALID_NODEID. */
uint32_t hsakmt_node_nearest_cpu(uint32_t node_id);
/* Allocates the gpu ids of @count nodes; caller frees ids->id. */
HSAKMT_STATUS hsakmt_nodes_to_ids(const uint32_t *nodes, uint64_t count,
				  struct hsakmt_ids *ids);

/* va.c; under mem.lock */
uint64_t hsakmt_va_alloc(struct hsakmt_aperture *ap, uint64_t addr,
			 uint64_t size, uint64_t align);
void hsakmt_va_free(struct hsakmt_aperture *ap, uint64_t addr, uint64_t size);
void hsakmt_va_forget(struct hsakmt_aperture *ap);
HSAKMT_STATUS hsakmt_va_init_svm(uint64_t base, uint64_t limit, uint32_t guard_pages);
/* Anonymous mapping aligned to @align, 0 on failure. Takes no lock. */
uint64_t hsakmt_va_mmap(int prot, int flags, uint64_t size, uint64_t align,
			uint64_t guard);

/* bo.c; under mem.lock */
int hsakmt_boset_add(struct hsakmt_boset *set, struct hsakmt_bo *bo);
void hsakmt_boset_del(struct hsakmt_boset *set, struct hsakmt_bo *bo);
struct hsakmt_bo *hsakmt_boset_exact(const struct hsakmt_boset *set,
				     uint64_t addr, uint64_t size);
struct hsakmt_bo *hsakmt_boset_containing(const struct hsakmt_boset *set, uint64_t addr);
void hsakmt_boset_around(const struct hsakmt_boset *set, uint64_t addr,
			 const struct hsakmt_bo *side[2]);
struct hsakmt_bo *hsakmt_bo_new(enum hsakmt_bo_kind kind, uint64_t va,
				uint64_t size, uint64_t handle, HsaMemFlags flags);
void hsakmt_bo_free(struct hsakmt_bo *bo);
struct hsakmt_bo *hsakmt_bo_find(uint64_t addr, uint64_t size);
struct hsakmt_bo *hsakmt_bo_find_containing(uint64_t addr);
bool hsakmt_ids_has(const struct hsakmt_ids *ids, uint32_t id);
int hsakmt_ids_add(struct hsakmt_ids *ids, uint32_t id);
void hsakmt_ids_del(struct hsakmt_ids *ids, uint32_t id);
void hsakmt_ids_clear(struct hsakmt_ids *ids);
struct hsakmt_aperture *hsakmt_bo_aperture(const struct hsakmt_bo *bo);

/* fmm_init.c */
HSAKMT_STATUS hsakmt_fmm_init(const struct hsakmt_topology *topo);
void hsakmt_fmm_destroy(void);
void hsakmt_fmm_forget(void);
struct hsakmt_gpu *hsakmt_gpu_by_id(uint32_t gpu_id);
struct hsakmt_gpu *hsakmt_gpu_by_node(uint32_t node_id);

enum hsakmt_aperture_kind { HSAKMT_AP_LDS, HSAKMT_AP_SCRATCH, HSAKMT_AP_SVM, HSAKMT_AP_MMIO };
bool hsakmt_fmm_aperture(enum hsakmt_aperture_kind kind, uint32_t gpu_id,
			 uint64_t *base, uint64_t *limit);

/* fmm_alloc.c; these take mem.lock unless the name says _locked */
uint64_t hsakmt_fmm_alloc_device(uint32_t gpu_id, uint64_t addr, uint64_t size,
				 uint64_t align, HsaMemFlags flags);
/* @internal: memory of the library itself, never inherited by a child */
uint64_t hsakmt_fmm_alloc_host(uint32_t gpu_id, uint32_t node_id, uint64_t addr,
			       uint64_t size, uint64_t align, HsaMemFlags flags,
			       bool internal);
uint64_t hsakmt_fmm_alloc_doorbell(uint32_t gpu_id, uint64_t size, uint64_t offset);
uint64_t hsakmt_fmm_alloc_mmio(struct hsakmt_gpu *gpu);
HSAKMT_STATUS hsakmt_fmm_release(uint64_t addr);
HSAKMT_STATUS hsakmt_fmm_release_locked(struct hsakmt_bo *bo);
bool hsakmt_fmm_handle(uint64_t addr, uint64_t *handle);
/* Reserves @addr space, asks the kernel for memory and enters the object. */
struct hsakmt_bo *hsakmt_fmm_create(enum hsakmt_bo_kind kind, uint32_t gpu_id,
				    uint64_t addr, uint64_t size, uint64_t align,
				    uint32_t ioc_flags, HsaMemFlags flags,
				    uint32_t node_id, uint64_t *mmap_offset);
uint64_t hsakmt_kfd_alloc(uint32_t gpu_id, uint64_t va, uint64_t size,
			  uint32_t ioc_flags, uint64_t *mmap_offset);
void hsakmt_kfd_free(uint64_t handle);

/* fmm_map.c */
HSAKMT_STATUS hsakmt_fmm_map(uint64_t addr, uint64_t size, uint64_t *gpu_va);
HSAKMT_STATUS hsakmt_fmm_map_nodes(uint64_t addr, uint64_t size,
				   const struct hsakmt_ids *ids, uint64_t *gpu_va);
HSAKMT_STATUS hsakmt_fmm_unmap(uint64_t addr);
/* @ids NULL: wherever this object belongs, or is mapped */
HSAKMT_STATUS hsakmt_bo_map_locked(struct hsakmt_bo *bo, const struct hsakmt_ids *ids);
HSAKMT_STATUS hsakmt_bo_unmap_locked(struct hsakmt_bo *bo, const struct hsakmt_ids *ids);

/* fmm_scratch.c */
uint64_t hsakmt_scratch_alloc(uint32_t gpu_id, uint64_t addr, uint64_t size);
struct hsakmt_gpu *hsakmt_scratch_owner_locked(uint64_t addr);
void hsakmt_scratch_release_locked(struct hsakmt_gpu *gpu);
HSAKMT_STATUS hsakmt_scratch_map_locked(struct hsakmt_gpu *gpu, uint64_t addr, uint64_t size);
HSAKMT_STATUS hsakmt_scratch_unmap_locked(struct hsakmt_gpu *gpu, uint64_t addr);

/* fmm_register.c; on success the ids belong to the object, else to the caller */
HSAKMT_STATUS hsakmt_fmm_register(uint64_t addr, uint64_t size, struct hsakmt_ids *ids,
				  bool coarse, bool ext_coherent);
HSAKMT_STATUS hsakmt_fmm_deregister(uint64_t addr);

/* fmm_share.c */
HSAKMT_STATUS hsakmt_fmm_import_graphics(uint64_t fd, HsaGraphicsResourceInfo *info,
					 struct hsakmt_ids *ids);
HSAKMT_STATUS hsakmt_fmm_import_ipc(const HsaSharedMemoryHandle *handle, void **addr,
				    uint64_t *size, struct hsakmt_ids *ids);
HSAKMT_STATUS hsakmt_fmm_export_ipc(uint64_t addr, uint64_t size,
				    HsaSharedMemoryHandle *handle);
HSAKMT_STATUS hsakmt_fmm_export_dmabuf(uint64_t addr, uint64_t size, int *fd,
				       uint64_t *offset);

/* fmm_info.c */
HSAKMT_STATUS hsakmt_fmm_info(uint64_t addr, HsaPointerInfo *info);
HSA_POINTER_TYPE hsakmt_bo_type(const struct hsakmt_bo *bo);

/* fault.c */
/* @bo is being freed. Under mem.lock. */
void hsakmt_fault_note_freed(const struct hsakmt_bo *bo);
/* Says on stderr what the address of a fault belongs to, at HSAKMT_ERR. Takes mem.lock. */
void hsakmt_fault_report(const struct kfd_hsa_memory_exception_data *data, uint32_t node_id);

/* svm.c: one SET_ATTR call with ready-made attributes (gpu ids, not nodes). */
HSAKMT_STATUS hsakmt_svm_set(uint64_t addr, uint64_t size,
			     const struct kfd_ioctl_svm_attribute *attrs, uint32_t count);

/* internal_mem.c: memory of the library itself, mapped to GPUs */
struct hsakmt_mem_req {
	uint32_t gpu_id;		/* 0: first GPU */
	uint32_t node_id;		/* 0: map to all GPUs */
	bool nonpaged, device, uncached;
};
void *hsakmt_internal_alloc(uint64_t size, const struct hsakmt_mem_req *req);
/* false: the kernel still uses it and it stays allocated and mapped */
bool hsakmt_internal_free(void *addr);

/* doorbell.c */
HSAKMT_STATUS hsakmt_doorbell_init(uint32_t num_nodes);
void hsakmt_doorbell_destroy(void);
void hsakmt_doorbell_forget(void);
HSAKMT_STATUS hsakmt_doorbell_map(uint32_t node_id, uint32_t gpu_id,
				  uint64_t kfd_offset, void **doorbell);

/* queues.c */
void hsakmt_queues_forget(void);
/* Kernel ids of user queue ids; false: one of them is not a queue. */
bool hsakmt_queue_ids(const HSA_QUEUEID *queues, uint32_t count, uint32_t *ids);

static inline void *hsakmt_ptr(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static inline uint64_t hsakmt_addr(const void *ptr)
{
	return (uint64_t)(uintptr_t)ptr;
}

#endif
