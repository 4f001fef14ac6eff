// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes: creation with the first open of /dev/kfd in an mm, look-up by mm and by
 * PASID, teardown when the mm dies.
 *
 * References: the MMU notifier holds one from creation until it is freed after the
 * death of the mm; each open file holds one; the teardown work holds one; interrupt
 * code takes them for a moment.
 *
 * Life: the mm dies -> teardown_work takes queues, events, BOs and VMs apart, although
 * files may still be open elsewhere (passed on by a socket): they answer -EBADF. The
 * last reference goes -> release_work frees the structure. The process holds a
 * reference on the module, for it can outlive all files.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "vkfd_debugfs_proc.h"
#include "vkfd_doorbell.h"
#include "vkfd_mem.h"
#include "vkfd_process.h"
#include "vkfd_vm.h"

#define VKFD_PASID_MAX	0xffff

/* Outermost: see vkfd_device.h. */
static DEFINE_MUTEX(vkfd_process_table_lock);
/* Live processes by mm; table lock. */
static DEFINE_HASHTABLE(vkfd_process_table, 6);
/* PASID -> process; updates in process context only, look-ups under RCU anywhere. */
static DEFINE_XARRAY_FLAGS(vkfd_pasids, XA_FLAGS_ALLOC1);
/* Cyclic, so that a late interrupt of a dead process does not meet a new one. */
static u32 vkfd_pasid_next;
static struct workqueue_struct *vkfd_process_wq;

int vkfd_process_init(void)
{
	vkfd_process_wq = alloc_workqueue("vkfd_process", WQ_UNBOUND, 0);
	return vkfd_process_wq ? 0 : -ENOMEM;
}

void vkfd_process_exit(void)
{
	/* The module goes only when no process is left, but callbacks may still return. */
	mmu_notifier_synchronize();
	destroy_workqueue(vkfd_process_wq);
	WARN_ON(!xa_empty(&vkfd_pasids));
}

/* Takes apart what the process owns. Nobody of the process runs any more. */
static void vkfd_process_teardown(struct work_struct *work)
{
	struct vkfd_process *p = container_of(work, struct vkfd_process, teardown_work);
	struct file *files[VKFD_MAX_GPUS] = {};
	unsigned int i;

	vkfd_debugfs_proc_remove(p);
	vkfd_userptrs_stop(p);
	/* Queues write events and memory, events hold the signal page: in this order. */
	vkfd_queues_fini(p);
	vkfd_events_fini(p);
	vkfd_svm_fini(p);

	mutex_lock(&p->lock);
	vkfd_mem_remove_all(p);
	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		struct vkfd_pdd *pdd = p->pdds[i];

		if (!pdd)
			continue;
		if (pdd->drm_file) {
			vkfd_vm_release(pdd->vm);
			files[i] = pdd->drm_file;
			pdd->vm = NULL;
			pdd->drm_file = NULL;
		}
		vkfd_slice_put(pdd);
	}
	mutex_unlock(&p->lock);

	for (i = 0; i < VKFD_MAX_GPUS; i++)
		if (files[i])
			fput(files[i]);

	vkfd_process_put(p);
}

static void vkfd_process_free(struct vkfd_process *p)
{
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		struct vkfd_pdd *pdd = p->pdds[i];

		if (!pdd)
			continue;
		WARN_ON(!xa_empty(&pdd->mems));
		xa_destroy(&pdd->mems);
		drm_dev_put(&pdd->dev->drm);
		kfree(pdd);
	}
	mutex_destroy(&p->svm.lock);
	vkfd_userptrs_free(p);
	put_task_struct(p->lead_thread);
	mutex_destroy(&p->lock);
	kfree_rcu(p, rcu);
}

static void vkfd_process_release(struct work_struct *work)
{
	struct vkfd_process *p = container_of(work, struct vkfd_process, release_work);

	xa_erase(&vkfd_pasids, p->pasid);
	vkfd_process_free(p);
	/* vkfd_process_exit() waits until this function has returned. */
	module_put(THIS_MODULE);
}

static void vkfd_process_ref_release(struct kref *ref)
{
	struct vkfd_process *p = container_of(ref, struct vkfd_process, ref);

	queue_work(vkfd_process_wq, &p->release_work);
}

void vkfd_process_put(struct vkfd_process *p)
{
	kref_put(&p->ref, vkfd_process_ref_release);
}

/* Caller holds the table lock. No reference. */
static struct vkfd_process *vkfd_process_find_by_mm(struct mm_struct *mm)
{
	struct vkfd_process *p;

	lockdep_assert_held(&vkfd_process_table_lock);

	hash_for_each_possible(vkfd_process_table, p, hash, (unsigned long)mm)
		if (p->mm == mm)
			return p;
	return NULL;
}

/* Called from mmu_notifier_get() below: vkfd_process_create() holds the table lock. */
static struct mmu_notifier *vkfd_process_alloc_notifier(struct mm_struct *mm)
{
	struct vkfd_process *p = vkfd_process_find_by_mm(mm);

	return p ? &p->mn : ERR_PTR(-ESRCH);
}

static void vkfd_process_free_notifier(struct mmu_notifier *mn)
{
	vkfd_process_put(container_of(mn, struct vkfd_process, mn));
}

/*
 * The last user of the mm is gone: no ioctl is in flight and none will come. Runs in
 * exit_mmap() or exec, so the long part is left to the work.
 */
static void vkfd_process_mm_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct vkfd_process *p = container_of(mn, struct vkfd_process, mn);

	mutex_lock(&vkfd_process_table_lock);
	hash_del(&p->hash);
	WRITE_ONCE(p->mm, NULL);
	mutex_unlock(&vkfd_process_table_lock);

	kref_get(&p->ref);
	queue_work(vkfd_process_wq, &p->teardown_work);
	mmu_notifier_put(mn);
}

static const struct mmu_notifier_ops vkfd_process_mn_ops = {
	.release = vkfd_process_mm_release,
	.alloc_notifier = vkfd_process_alloc_notifier,
	.free_notifier = vkfd_process_free_notifier,
};

/* A new process of current's mm. Caller holds the table lock. */
static struct vkfd_process *vkfd_process_create(struct mm_struct *mm)
{
	struct vkfd_process *p;
	struct mmu_notifier *mn;
	int err;

	lockdep_assert_held(&vkfd_process_table_lock);

	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return ERR_PTR(-ENOMEM);
	kref_init(&p->ref);	/* the notifier's */
	INIT_WORK(&p->release_work, vkfd_process_release);
	INIT_WORK(&p->teardown_work, vkfd_process_teardown);
	mutex_init(&p->lock);
	vkfd_userptrs_init(p, mm);
	vkfd_svm_init(p);
	p->mm = mm;
	p->lead_thread = get_task_struct(current->group_leader);
	p->tgid = task_tgid_nr(current);

	/* Reserved only: interrupts do not find it before it is complete. */
	err = xa_alloc_cyclic(&vkfd_pasids, &p->pasid, NULL, XA_LIMIT(1, VKFD_PASID_MAX),
			      &vkfd_pasid_next, GFP_KERNEL);
	if (err < 0)
		goto err_free;

	hash_add(vkfd_process_table, &p->hash, (unsigned long)mm);
	/*
	 * Registration fails when a signal is pending, and then calls free_notifier,
	 * which puts: that must not be the last reference to half a process.
	 */
	kref_get(&p->ref);
	mn = mmu_notifier_get(&vkfd_process_mn_ops, mm);
	if (IS_ERR(mn)) {
		err = PTR_ERR(mn);
		goto err_hash;
	}
	vkfd_process_put(p);

	vkfd_events_init(p);
	vkfd_queues_init(p);
	__module_get(THIS_MODULE);
	/* The slot is reserved, so this neither allocates nor fails. */
	xa_store(&vkfd_pasids, p->pasid, p, GFP_KERNEL);
	vkfd_debugfs_proc_add(p);
	return p;

err_hash:
	hash_del(&p->hash);
	xa_erase(&vkfd_pasids, p->pasid);
err_free:
	vkfd_process_free(p);
	return ERR_PTR(err);
}

struct vkfd_process *vkfd_process_open(void)
{
	struct mm_struct *mm = current->mm;
	struct vkfd_process *p;

	if (!mm || READ_ONCE(current->group_leader->mm) != mm)
		return ERR_PTR(-EINVAL);

	/*
	 * After exec, and after a process that has just died, queues and memory may
	 * still be in the hands of the teardown: let it finish, so that whoever opens
	 * next finds them free.
	 */
	flush_workqueue(vkfd_process_wq);

	mutex_lock(&vkfd_process_table_lock);
	p = vkfd_process_find_by_mm(mm);
	if (!p)
		p = vkfd_process_create(mm);
	else if (p->lead_thread != current->group_leader)
		/* A vfork child, say, has the mm of its parent, but is another process. */
		p = ERR_PTR(-EINVAL);
	/* A process in the table has the notifier's reference. */
	if (!IS_ERR(p))
		kref_get(&p->ref);
	mutex_unlock(&vkfd_process_table_lock);

	return p;
}

struct vkfd_process *vkfd_process_get_current(void)
{
	struct vkfd_process *p;

	mutex_lock(&vkfd_process_table_lock);
	p = current->mm ? vkfd_process_find_by_mm(current->mm) : NULL;
	if (p)
		kref_get(&p->ref);
	mutex_unlock(&vkfd_process_table_lock);

	return p;
}

bool vkfd_process_is_current(const struct vkfd_process *p)
{
	/* p->mm is pinned by the notifier until it reads NULL: no other mm has its address. */
	return current->mm && current->mm == READ_ONCE(p->mm) &&
	       current->group_leader == p->lead_thread;
}

struct vkfd_process *vkfd_process_get_by_pasid(u32 pasid)
{
	struct vkfd_process *p;

	rcu_read_lock();
	p = xa_load(&vkfd_pasids, pasid);
	if (p && !kref_get_unless_zero(&p->ref))
		p = NULL;
	rcu_read_unlock();

	return p;
}

struct vkfd_process *vkfd_process_next(unsigned long *pasid)
{
	struct vkfd_process *p;

	rcu_read_lock();
	for (;;) {
		p = xa_find(&vkfd_pasids, pasid, ULONG_MAX, XA_PRESENT);
		if (!p)
			break;
		(*pasid)++;
		if (kref_get_unless_zero(&p->ref))
			break;
	}
	rcu_read_unlock();

	return p;
}

struct vkfd_process *vkfd_process_get_by_mm(const struct mm_struct *mm)
{
	struct vkfd_process *p;
	unsigned long pasid = 0;

	while ((p = vkfd_process_next(&pasid))) {
		if (READ_ONCE(p->mm) == mm)
			break;
		vkfd_process_put(p);
	}
	return p;
}

struct vkfd_pdd *vkfd_process_get_pdd(struct vkfd_process *p, u32 gpu_id)
{
	struct vkfd_device *dev;
	struct vkfd_pdd *pdd;

	lockdep_assert_held(&p->lock);

	/* First of all what the process has: also of a GPU that is gone by now. */
	pdd = vkfd_process_find_pdd(p, gpu_id);
	if (pdd)
		return pdd;

	dev = vkfd_device_get_by_gpu_id(gpu_id);
	if (!dev)
		return ERR_PTR(-EINVAL);
	/* The reference is the pdd's; it keeps the index from being given to another GPU. */
	pdd = kzalloc(sizeof(*pdd), GFP_KERNEL_ACCOUNT);
	if (!pdd) {
		drm_dev_put(&dev->drm);
		return ERR_PTR(-ENOMEM);
	}
	pdd->process = p;
	pdd->dev = dev;
	vkfd_slice_init(&pdd->slice);
	pdd->vmid = -1;
	xa_init_flags(&pdd->mems, XA_FLAGS_ALLOC1);
	/* Pairs with smp_load_acquire() in vkfd_process_find_pdd(). */
	smp_store_release(&p->pdds[dev->index], pdd);
	return pdd;
}

struct vkfd_pdd *vkfd_process_get_bound_pdd(struct vkfd_process *p, u32 gpu_id)
{
	struct vkfd_pdd *pdd = vkfd_process_get_pdd(p, gpu_id);

	if (!IS_ERR(pdd) && !pdd->drm_file)
		return ERR_PTR(-ENODEV);
	return pdd;
}

struct vkfd_pdd *vkfd_process_find_pdd(struct vkfd_process *p, u32 gpu_id)
{
	struct vkfd_pdd *pdd;
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		/* Pairs with smp_store_release() in vkfd_process_get_pdd(). */
		pdd = smp_load_acquire(&p->pdds[i]);
		if (pdd && pdd->dev->gpu_id == gpu_id)
			return pdd;
	}
	return NULL;
}
