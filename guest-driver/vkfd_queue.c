// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a user queue: HQD slot, VMID, MQD; on and off the hardware.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "vkfd_doorbell.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_reset.h"
#include "vkfd_trace.h"
#include "vkfd_vm.h"
#include "vkfd_vram.h"

static_assert(VKFD_QUEUE_MAX_GPUS == VKFD_MAX_GPUS);

#define VKFD_MQD_BYTES		(V9_MQD_DW * sizeof(u32))
#define VKFD_MQD_ALLOC		PAGE_ALIGN(VKFD_MQD_BYTES)

/* In dev->vmid_pasid: a VMID that a queue which does not stop may still use. No PASID is this. */
#define VKFD_PASID_LOST		(~0u)

static struct vkfd_process_queues *queues_of(struct vkfd_pdd *pdd)
{
	return &pdd->process->queues;
}

/* Slots in the order they are given out: one of each pipe, then the next of each. */
static int hqd_get(struct vkfd_device *dev)
{
	const unsigned int pipes = VKFD_PIPES_PER_ME, per_pipe = VKFD_NUM_CP_QUEUES / pipes;
	unsigned int i, slot;
	int ret = -EBUSY;

	mutex_lock(&dev->queue_lock);
	for (i = 0; i < VKFD_NUM_CP_QUEUES; i++) {
		slot = i % pipes * per_pipe + i / pipes;
		if (!__test_and_set_bit(slot, dev->hqd_used)) {
			ret = slot;
			break;
		}
	}
	mutex_unlock(&dev->queue_lock);
	return ret;
}

static void hqd_put(struct vkfd_device *dev, unsigned int slot, bool lost)
{
	mutex_lock(&dev->queue_lock);
	if (lost)
		__set_bit(slot, dev->hqd_lost);
	else
		__clear_bit(slot, dev->hqd_used);
	mutex_unlock(&dev->queue_lock);
}

/* Gives @pdd a VMID and binds it to its page tables, if it has none. */
static int vmid_get(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_vm *vm = pdd->vm;
	unsigned int i, vmid;
	int err = -ENOSPC;

	lockdep_assert_held(&pdd->process->lock);

	if (vm->generation != READ_ONCE(dev->generation))
		return -EIO;
	if (pdd->vmid >= 0)
		return 0;

	mutex_lock(&dev->queue_lock);
	for (i = 0; i < VKFD_KFD_VMIDS; i++)
		if (!dev->vmid_pasid[i])
			break;
	if (i == VKFD_KFD_VMIDS)
		goto unlock;

	vmid = VKFD_KFD_VMID_FIRST + i;
	/* Page table changes either come before the flush of the bind or see vm->vmid. */
	mutex_lock(&vm->lock);
	/* Read by the interrupt path without a lock. */
	WRITE_ONCE(dev->vmid_pasid[i], pdd->process->pasid);
	err = vkfd_hw_vmid_bind(dev, vmid, pdd->process->pasid, vm->pd_offset);
	if (err) {
		WRITE_ONCE(dev->vmid_pasid[i], 0);
	} else {
		vm->vmid = vmid;
		pdd->vmid = vmid;
	}
	mutex_unlock(&vm->lock);
unlock:
	mutex_unlock(&dev->queue_lock);
	if (err == -ENOSPC)
		drm_dbg(&dev->drm, "process %d: no VMID left\n", pdd->process->tgid);
	return err;
}

/* Takes the VMID back once no queue of @pdd is active. */
static void vmid_put_unused(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	unsigned long id;
	unsigned int i;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->vmid < 0)
		return;
	xa_for_each(&queues_of(pdd)->xa, id, q)
		if (q->pdd == pdd && q->active)
			return;

	i = pdd->vmid - VKFD_KFD_VMID_FIRST;
	mutex_lock(&dev->queue_lock);
	mutex_lock(&pdd->vm->lock);
	pdd->vm->vmid = -1;
	vkfd_hw_vmid_unbind(dev, pdd->vmid);
	/* Unbound, a queue that never stopped faults; it must not find other tables. */
	WRITE_ONCE(dev->vmid_pasid[i],
		   test_bit(dev->index, &queues_of(pdd)->lost) ? VKFD_PASID_LOST : 0);
	pdd->vmid = -1;
	mutex_unlock(&pdd->vm->lock);
	mutex_unlock(&dev->queue_lock);
	clear_bit(dev->index, &queues_of(pdd)->lost);
}

/* The copy of the MQD that its address names. */
static void mqd_write(struct vkfd_queue *q)
{
	int idx;

	if (!vkfd_hw_enter(q->dev, &idx))
		return;
	memcpy_toio(q->dev->vram.map + q->mqd_node.start, q->mqd, VKFD_MQD_BYTES);
	vkfd_hw_exit(idx);
}

static int queue_load(struct vkfd_queue *q)
{
	int err;

	lockdep_assert_held(&q->pdd->process->lock);

	vkfd_mqd_set_vmid(q->mqd, q->pdd->vmid);
	mqd_write(q);
	err = vkfd_hw_hqd_load(q->dev, vkfd_hw_slot(q->hqd), q->mqd);
	if (err)
		return err;
	q->loaded = true;
	trace_queue_load(q->pdd->process->pasid, q->id, q->hqd);
	return 0;
}

/*
 * Takes the queue off the hardware, with its state in q->mqd if @save. One that does
 * not stop is forced to, and then is no good any more. 0 or -ETIME.
 */
static int queue_unload(struct vkfd_queue *q, bool save)
{
	struct vkfd_hqd_slot slot = vkfd_hw_slot(q->hqd);
	u32 request = VKFD_DEQUEUE_RESET_WAVES;
	int err;

	lockdep_assert_held(&q->pdd->process->lock);

	if (!q->loaded)
		return 0;
	if (save)
		request = q->props.ctx_va ? VKFD_DEQUEUE_SAVE_WAVES : VKFD_DEQUEUE_DRAIN;

	q->loaded = false;
	trace_queue_unload(q->pdd->process->pasid, q->id, q->hqd);
	err = vkfd_hw_hqd_unload(q->dev, slot, request, VKFD_QUEUE_STOP_MS, save ? q->mqd : NULL);
	if (!err) {
		if (save)
			mqd_write(q);
		return 0;
	}

	q->stopped = true;
	if (request != VKFD_DEQUEUE_RESET_WAVES &&
	    !vkfd_hw_hqd_unload(q->dev, slot, VKFD_DEQUEUE_RESET_WAVES, VKFD_QUEUE_STOP_MS, NULL)) {
		drm_err_ratelimited(&q->dev->drm, "process %d, queue %u: did not stop, was reset\n",
				    q->pdd->process->tgid, q->id);
		return -ETIME;
	}
	q->lost = true;
	vkfd_reset_request(q->dev, "a queue does not stop");
	set_bit(q->dev->index, &queues_of(q->pdd)->lost);
	drm_err_ratelimited(&q->dev->drm, "process %d, queue %u: does not stop, slot and VMID are lost\n",
			    q->pdd->process->tgid, q->id);
	return -ETIME;
}

static void queue_free(struct vkfd_queue *q)
{
	vkfd_vram_free(q->dev, &q->mqd_node);
	hqd_put(q->dev, q->hqd, q->lost);
	kfree(q->mqd);
	/* The interrupt path may just be looking at it. */
	kfree_rcu(q, rcu);
}

static int doorbell_get(struct vkfd_pdd *pdd)
{
	DECLARE_BITMAP(used, VKFD_DOORBELLS_PER_SLICE);
	struct vkfd_queue *q;
	unsigned long id;

	bitmap_zero(used, VKFD_DOORBELLS_PER_SLICE);
	xa_for_each(&queues_of(pdd)->xa, id, q)
		if (q->pdd == pdd)
			__set_bit(q->doorbell_id, used);
	return vkfd_doorbell_find_id(used);
}

int vkfd_queue_create(struct vkfd_pdd *pdd, const struct vkfd_queue_props *props,
		      struct vkfd_queue **queue)
{
	struct vkfd_process_queues *qs = queues_of(pdd);
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	int ret;

	lockdep_assert_held(&pdd->process->lock);

	ret = vkfd_doorbell_get_slice(pdd);
	if (ret)
		return ret;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return -ENOMEM;
	q->pdd = pdd;
	q->dev = dev;
	q->props = *props;

	q->mqd = kzalloc(VKFD_MQD_BYTES, GFP_KERNEL_ACCOUNT);
	if (!q->mqd) {
		ret = -ENOMEM;
		goto free_queue;
	}
	ret = doorbell_get(pdd);
	if (ret < 0)
		goto free_mqd;
	q->doorbell_id = ret;
	ret = hqd_get(dev);
	if (ret < 0)
		goto free_mqd;
	q->hqd = ret;
	ret = vkfd_vram_alloc(dev, VKFD_MQD_ALLOC, PAGE_SIZE, &q->mqd_node);
	if (ret) {
		ret = ret == -ENOSPC ? -ENOMEM : ret;
		goto put_hqd;
	}
	ret = xa_alloc(&qs->xa, &q->id, NULL, XA_LIMIT(0, VKFD_MAX_QUEUES_PER_PROCESS - 1),
		       GFP_KERNEL_ACCOUNT);
	if (ret) {
		ret = ret == -EBUSY ? -ENOMEM : ret;
		goto free_vram;
	}

	vkfd_mqd_init(q->mqd, props, dev->fb_base + q->mqd_node.start,
		      vkfd_doorbell_dw_index(pdd, q->doorbell_id), pdd->tba_addr);
	mqd_write(q);

	/* Visible before it runs: its first packet may be a bad one. */
	ret = xa_err(xa_store(&qs->xa, q->id, q, GFP_KERNEL_ACCOUNT));
	if (ret)
		goto erase_id;
	set_bit(dev->index, &qs->gpus);
	if (vkfd_queue_wanted(props)) {
		ret = vmid_get(pdd);
		if (ret)
			goto erase_id;
		q->active = true;
		/* An evicted process gets its queue, and the queue waits like the others. */
		if (!pdd->evicted)
			ret = queue_load(q);
		if (ret)
			goto put_vmid;
	}
	pdd->queue_count++;
	trace_queue_create(pdd->process->pasid, q->id, q->hqd);
	*queue = q;
	return 0;

put_vmid:
	q->active = false;
	vmid_put_unused(pdd);
erase_id:
	xa_erase(&qs->xa, q->id);
free_vram:
	vkfd_vram_free(dev, &q->mqd_node);
put_hqd:
	hqd_put(dev, q->hqd, false);
free_mqd:
	kfree(q->mqd);
free_queue:
	kfree_rcu(q, rcu);
	return ret;
}

int vkfd_queue_destroy(struct vkfd_queue *q)
{
	struct vkfd_pdd *pdd = q->pdd;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	err = queue_unload(q, false);
	/*
	 * Its slot and doorbell are what interrupts name it by, and the next queue gets
	 * both: what the hardware has to say about this one is heard first.
	 */
	vkfd_ih_sync(q->dev);
	vkfd_queue_act_on_bad(q);
	trace_queue_destroy(pdd->process->pasid, q->id, q->hqd);
	xa_erase(&queues_of(pdd)->xa, q->id);
	pdd->queue_count--;
	vmid_put_unused(pdd);
	queue_free(q);
	return err;
}

int vkfd_queue_update(struct vkfd_queue *q, const struct vkfd_queue_props *props)
{
	bool wanted = vkfd_queue_wanted(props);
	struct vkfd_pdd *pdd = q->pdd;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	if (q->stopped)
		return -EACCES;
	if (wanted) {
		err = vmid_get(pdd);
		if (err)
			return err;
	}
	err = queue_unload(q, true);
	if (err)
		return err;

	q->props.ring_va = props->ring_va;
	q->props.ring_size = props->ring_size;
	q->props.percent = props->percent;
	q->props.priority = props->priority;
	vkfd_mqd_update(q->mqd, &q->props);
	mqd_write(q);
	q->active = wanted;

	/* Loading reads wptr from memory: packets that came meanwhile need no doorbell. */
	if (wanted && !pdd->evicted)
		err = queue_load(q);
	vmid_put_unused(pdd);
	return err;
}

int vkfd_queue_set_cu_mask(struct vkfd_queue *q, u32 mask)
{
	bool was_loaded = q->loaded;
	int err;

	lockdep_assert_held(&q->pdd->process->lock);

	err = queue_unload(q, true);
	if (err)
		return err;
	vkfd_mqd_set_cu_mask(q->mqd, mask, q->dev->num_cu);
	mqd_write(q);
	return was_loaded ? queue_load(q) : 0;
}

void vkfd_queue_stop(struct vkfd_queue *q)
{
	/* A failure has been logged; the queue is stopped either way. */
	queue_unload(q, true);
	q->stopped = true;
}

int vkfd_queues_evict(struct vkfd_pdd *pdd)
{
	struct vkfd_queue *q;
	unsigned long id;
	int err, ret = 0;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->evicted++)
		return 0;
	xa_for_each(&queues_of(pdd)->xa, id, q) {
		if (q->pdd != pdd)
			continue;
		err = queue_unload(q, true);
		if (!ret)
			ret = err;
	}
	return ret;
}

int vkfd_queues_restore(struct vkfd_pdd *pdd)
{
	struct vkfd_queue *q;
	unsigned long id;
	int err, ret = 0;

	lockdep_assert_held(&pdd->process->lock);

	if (WARN_ON_ONCE(!pdd->evicted) || --pdd->evicted)
		return 0;
	xa_for_each(&queues_of(pdd)->xa, id, q) {
		if (q->pdd != pdd || !q->active || q->stopped)
			continue;
		err = queue_load(q);
		if (!ret)
			ret = err;
	}
	return ret;
}

void vkfd_queues_forget(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	unsigned long id;

	lockdep_assert_held(&pdd->process->lock);

	xa_for_each(&queues_of(pdd)->xa, id, q) {
		if (q->pdd != pdd)
			continue;
		q->loaded = false;
		q->active = false;
		q->stopped = true;
		q->lost = false;
	}
	clear_bit(dev->index, &queues_of(pdd)->lost);
	if (pdd->vmid < 0)
		return;
	mutex_lock(&dev->queue_lock);
	mutex_lock(&pdd->vm->lock);
	pdd->vm->vmid = -1;
	WRITE_ONCE(dev->vmid_pasid[pdd->vmid - VKFD_KFD_VMID_FIRST], 0);
	pdd->vmid = -1;
	mutex_unlock(&pdd->vm->lock);
	mutex_unlock(&dev->queue_lock);
}

void vkfd_queues_reclaim(struct vkfd_device *dev)
{
	unsigned int i;

	mutex_lock(&dev->queue_lock);
	bitmap_andnot(dev->hqd_used, dev->hqd_used, dev->hqd_lost, VKFD_NUM_CP_QUEUES);
	bitmap_zero(dev->hqd_lost, VKFD_NUM_CP_QUEUES);
	for (i = 0; i < VKFD_KFD_VMIDS; i++)
		if (dev->vmid_pasid[i] == VKFD_PASID_LOST)
			WRITE_ONCE(dev->vmid_pasid[i], 0);
	WRITE_ONCE(dev->generation, dev->generation + 1);
	mutex_unlock(&dev->queue_lock);
}

int vkfd_queues_rebind(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	if (pdd->vmid < 0)
		return 0;
	mutex_lock(&dev->queue_lock);
	mutex_lock(&pdd->vm->lock);
	err = vkfd_hw_vmid_bind(dev, pdd->vmid, pdd->process->pasid, pdd->vm->pd_offset);
	mutex_unlock(&pdd->vm->lock);
	mutex_unlock(&dev->queue_lock);
	return err;
}

void vkfd_queues_init(struct vkfd_process *p)
{
	struct vkfd_process_queues *qs = &p->queues;

	xa_init_flags(&qs->xa, XA_FLAGS_ALLOC);
	qs->gpus = 0;
	qs->lost = 0;
	qs->noted = 0;
	qs->faulted = 0;
	qs->fault_evicted = 0;
	spin_lock_init(&qs->fault_lock);
	INIT_WORK(&qs->fault_work, vkfd_queue_fault_work);
}

void vkfd_queues_fini(struct vkfd_process *p)
{
	struct vkfd_queue *q;
	unsigned long id;

	mutex_lock(&p->lock);
	xa_for_each(&p->queues.xa, id, q)
		vkfd_queue_destroy(q);
	mutex_unlock(&p->lock);
}
