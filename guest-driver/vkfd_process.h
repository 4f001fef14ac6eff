/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A KFD process: one per mm, shared by every open of /dev/kfd in it.
 */
#ifndef VKFD_PROCESS_H
#define VKFD_PROCESS_H

#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vkfd_device.h"
#include "vkfd_event.h"
#include "vkfd_queue.h"
#include "vkfd_runlist.h"
#include "vkfd_svm.h"
#include "vkfd_userptr.h"

struct vkfd_vm;

/**
 * struct vkfd_pdd - a process on one GPU
 * @process: the process; the pdd lives exactly as long as it does
 * @dev: the GPU, with a reference on its DRM device
 * @drm_file: render-node file given to ACQUIRE_VM (reference held), NULL before
 * @vm: its VM, valid while @drm_file is
 * @mems: idr handle -> struct vkfd_mem; XA_FLAGS_ALLOC1
 * @slice: its doorbells, see vkfd_doorbell.h
 * @vmid: VMID, -1 while the process has no active queue here, or the firmware schedules
 * @runlist: what of it is in the run list of @dev; dev->queue_lock
 * @queue_count: queues created on this GPU
 * @suspended: its queues were evicted for suspend
 * @evicted: > 0 while queues must stay off the hardware
 * @tba_addr, @tma_addr: trap handler and its data as SET_TRAP_HANDLER left them
 * @scratch_va: SET_SCRATCH_BACKING_VA, in units of 64 KiB
 *
 * All fields but @process, @dev and @slice: process->lock. The pdd itself may be found
 * without a lock (vkfd_process_find_pdd()).
 */
struct vkfd_pdd {
	struct vkfd_process *process;
	struct vkfd_device *dev;
	struct file *drm_file;
	struct vkfd_vm *vm;
	struct xarray mems;
	struct vkfd_slice slice;
	int vmid;
	struct vkfd_runlist_process runlist;
	unsigned int queue_count;
	unsigned int evicted;
	bool suspended;
	u64 tba_addr;
	u64 tma_addr;
	u64 scratch_va;
};

/**
 * struct vkfd_process
 * @ref: references; the last put defers to @release_work, so it may happen in any context
 * @rcu: frees the structure after the last RCU look-up
 * @release_work: frees the structure; what it owned is gone already
 * @teardown_work: takes everything the process owns apart once its mm is dead
 * @hash: in the table of processes by mm; table lock
 * @mm: identity only, no reference beyond what @mn holds; NULL once the mm is dead
 * @mn: tells when the mm dies
 * @lead_thread: thread-group leader of the opener (reference held)
 * @tgid: its id in the initial namespace, for messages
 * @pasid: 1..65535, unique while the structure lives
 * @lock: see vkfd_device.h. Never taken with mmap_lock held (mmap handlers), and
 *        user memory is not touched under it where that can be avoided
 * @pdds: by GPU index, created when the process first meets the GPU; set once with
 *        release semantics, freed with the process
 * @events: events of the process, see vkfd_event.h
 * @queues: queues by id, see vkfd_queue.h
 * @userptrs: registered memory, see vkfd_userptr.h
 * @vram_evictions, @vram_restores: how often queues were off while memory moved into or out
 *                                  of VRAM, GPUs counted one by one
 * @svm: memory by attributes, see vkfd_svm.h
 * @debugfs: its directory in debugfs, from creation to teardown
 * @runtime_enabled: RUNTIME_ENABLE is in force; @lock
 */
struct vkfd_process {
	struct kref ref;
	struct rcu_head rcu;
	struct work_struct release_work;
	struct work_struct teardown_work;
	struct hlist_node hash;
	struct mm_struct *mm;
	struct mmu_notifier mn;
	struct task_struct *lead_thread;
	pid_t tgid;
	u32 pasid;
	struct mutex lock;
	struct vkfd_pdd *pdds[VKFD_MAX_GPUS];
	struct vkfd_events events;
	struct vkfd_process_queues queues;
	struct vkfd_userptrs userptrs;
	atomic64_t vram_evictions;
	atomic64_t vram_restores;
	struct vkfd_svm svm;
	struct dentry *debugfs;
	bool runtime_enabled;
};

/* An ioctl handler: no lock held; @data is the kernel copy, copied back whatever is returned. */
typedef int (*vkfd_ioctl_fn)(struct file *filep, struct vkfd_process *p, void *data);

int vkfd_process_init(void);
/* After the character device is gone; waits until the last process is taken apart. */
void vkfd_process_exit(void);

/*
 * The process of current's mm with a reference, created if there is none.
 * ERR_PTR(-EINVAL): no mm, or one that another thread group opened the device for;
 * -ENOMEM; -EBUSY: no PASID left; -EINTR: a signal is pending. Sleeps, takes mmap_lock.
 */
struct vkfd_process *vkfd_process_open(void);

/* The process of current's mm with a reference, or NULL. Takes the table lock. */
struct vkfd_process *vkfd_process_get_current(void);

/* Whether current may use @p: same mm and same thread group. */
bool vkfd_process_is_current(const struct vkfd_process *p);

/* Process of @pasid with a reference, or NULL. Any context incl. hard irq. */
struct vkfd_process *vkfd_process_get_by_pasid(u32 pasid);
/*
 * The process with the lowest PASID from *@pasid on, with a reference, and *@pasid
 * becomes the next to ask for. NULL: no more. Those that come and go meanwhile may be
 * missed.
 */
struct vkfd_process *vkfd_process_next(unsigned long *pasid);
/* The process of @mm, which has a user, with a reference, or NULL. Takes no lock. */
struct vkfd_process *vkfd_process_get_by_mm(const struct mm_struct *mm);
/* Any context. */
void vkfd_process_put(struct vkfd_process *p);

/*
 * The pdd of a GPU, made if there is none; also of a GPU that has gone since it was
 * made. Caller holds p->lock. ERR_PTR(-EINVAL): no such GPU; ERR_PTR(-ENOMEM).
 */
struct vkfd_pdd *vkfd_process_get_pdd(struct vkfd_process *p, u32 gpu_id);
/* The same, but ERR_PTR(-ENODEV) until ACQUIRE_VM gave the pdd its VM. */
struct vkfd_pdd *vkfd_process_get_bound_pdd(struct vkfd_process *p, u32 gpu_id);
/*
 * Existing pdd or NULL; no lock, so mmap and fault handlers may use it. Valid while
 * the caller's reference to @p is.
 */
struct vkfd_pdd *vkfd_process_find_pdd(struct vkfd_process *p, u32 gpu_id);

#endif /* VKFD_PROCESS_H */
