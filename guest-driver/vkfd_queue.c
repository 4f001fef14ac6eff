// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a user queue: ids, doorbell, MQD, and when it has to be on the hardware.
 * How it gets there is the scheduler's business (vkfd_sched.h).
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "vkfd_doorbell.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_sched.h"
#include "vkfd_trace.h"
#include "vkfd_vm.h"
#include "vkfd_vram.h"

static_assert(VKFD_QUEUE_MAX_GPUS == VKFD_MAX_GPUS);

#define VKFD_MQD_BYTES		(V9_MQD_DW * sizeof(u32))
#define VKFD_MQD_ALLOC		PAGE_ALIGN(VKFD_MQD_BYTES)
/* Else room for one may be in pieces: vkfd_evict_make_room(). */
static_assert(VKFD_MQD_ALLOC == PAGE_SIZE);

static struct vkfd_process_queues *queues_of(struct vkfd_pdd *pdd)
{
	return &pdd->process->queues;
}

u64 vkfd_queue_mqd_addr(const struct vkfd_queue *q)
{
	return q->dev->fb_base + q->mqd_node.start;
}

unsigned int vkfd_queue_slot(const struct vkfd_queue *q)
{
	return vkfd_queue_is_sdma(&q->props) ? VKFD_NUM_HQD + q->sdma : q->hqd;
}

void vkfd_queue_set_vmid(struct vkfd_queue *q, unsigned int vmid)
{
	if (vkfd_queue_is_sdma(&q->props))
		vkfd_mqd_sdma_set_vmid(q->mqd, vmid);
	else
		vkfd_mqd_set_vmid(q->mqd, vmid);
}

void vkfd_queue_write_mqd(struct vkfd_queue *q)
{
	int idx;

	if (!vkfd_hw_enter(q->dev, &idx))
		return;
	memcpy_toio(q->dev->vram.map + q->mqd_node.start, q->mqd, VKFD_MQD_BYTES);
	vkfd_hw_exit(idx);
}

void vkfd_queue_set_doorbell(struct vkfd_queue *q)
{
	q->doorbell_dw = vkfd_doorbell_dw_index(q->pdd, q->doorbell_id);
	if (vkfd_queue_is_sdma(&q->props))
		vkfd_mqd_sdma_set_doorbell(q->mqd, q->doorbell_dw);
	else
		vkfd_mqd_set_doorbell(q->mqd, q->doorbell_dw);
	vkfd_queue_write_mqd(q);
}

int vkfd_queues_load(struct vkfd_pdd *pdd, struct vkfd_queue *only)
{
	int err;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&queues_of(pdd)->lock);
	err = pdd->dev->sched->load(pdd, only);
	mutex_unlock(&queues_of(pdd)->lock);
	return err;
}

int vkfd_queues_unload(struct vkfd_pdd *pdd, struct vkfd_queue *only, bool save)
{
	int err;

	mutex_lock(&queues_of(pdd)->lock);
	err = pdd->dev->sched->unload(pdd, only, save);
	mutex_unlock(&queues_of(pdd)->lock);
	return err;
}

/* Not found any more by who takes queues off without process->lock. */
static void erase(struct vkfd_queue *q)
{
	mutex_lock(&queues_of(q->pdd)->lock);
	xa_erase(&queues_of(q->pdd)->xa, q->id);
	mutex_unlock(&queues_of(q->pdd)->lock);
}


/* How far the queue has come, as memory tells while it is loaded, else its MQD. */
static int read_rptr(struct vkfd_queue *q, u64 *rptr)
{
	struct vkfd_vm *vm = q->pdd->vm;
	u32 rptr32 = 0;
	int err;

	switch (q->props.kind) {
	case VKFD_QUEUE_PM4:
		if (!q->loaded) {
			*rptr = vkfd_mqd_rptr(q->mqd);
			return 0;
		}
		err = vkfd_vm_read(vm, q->props.rptr_va, &rptr32, sizeof(rptr32));
		*rptr = rptr32;
		return err;
	case VKFD_QUEUE_SDMA:
		if (!q->loaded) {
			*rptr = vkfd_mqd_sdma_rptr(q->mqd);
			return 0;
		}
		break;
	case VKFD_QUEUE_AQL:
		break;
	}
	return vkfd_vm_read(vm, q->props.rptr_va, rptr, sizeof(*rptr));
}

bool vkfd_queue_has_work(struct vkfd_queue *q)
{
	u64 wptr = 0, rptr = 0;
	int err;

	lockdep_assert_held(&q->pdd->process->lock);

	if (!q->active || q->stopped || !q->pdd->vm)
		return false;
	err = vkfd_vm_read(q->pdd->vm, q->props.wptr_va, &wptr, sizeof(wptr));
	if (!err)
		err = read_rptr(q, &rptr);
	/* Nobody can tell before the pages are back: who has work must not be forgotten. */
	if (err)
		return err == -EAGAIN;
	/*
	 * Of PM4 both are modulo the ring, which thus cannot be told full from empty: neither
	 * can hardware, and nobody fills a ring of PM4 up.
	 */
	if (q->props.kind == VKFD_QUEUE_PM4)
		wptr &= q->props.ring_size / sizeof(u32) - 1;
	return rptr != wptr;
}

int vkfd_sdma_find(const unsigned long *used, u32 engine)
{
	unsigned int i;

	for_each_clear_bit(i, used, VKFD_NUM_SDMA_QUEUES)
		if (engine == VKFD_SDMA_ENGINE_ANY || vkfd_sdma_engine(i) == engine)
			return i;
	return -ENOMEM;
}

void vkfd_queue_read_mqd(struct vkfd_queue *q)
{
	int idx;

	if (!vkfd_hw_enter(q->dev, &idx))
		return;
	memcpy_fromio(q->mqd, q->dev->vram.map + q->mqd_node.start, VKFD_MQD_BYTES);
	vkfd_hw_exit(idx);
}

static void queue_free(struct vkfd_queue *q)
{
	vkfd_vram_free(q->dev, &q->mqd_node);
	q->dev->sched->detach(q);
	kfree(q->mqd);
	/* The interrupt path may just be looking at it. */
	kfree_rcu(q, rcu);
}

/* The doorbell of @q: compute any that is free, SDMA the one its slot has. */
static int doorbell_get(struct vkfd_queue *q)
{
	DECLARE_BITMAP(used, VKFD_DOORBELLS_PER_SLICE);
	struct vkfd_queue *other;
	unsigned long id;

	if (vkfd_queue_is_sdma(&q->props))
		return vkfd_doorbell_sdma_id(vkfd_sdma_engine(q->sdma), vkfd_sdma_rlc(q->sdma));
	bitmap_zero(used, VKFD_DOORBELLS_PER_SLICE);
	xa_for_each(&queues_of(q->pdd)->xa, id, other)
		if (other->pdd == q->pdd)
			__set_bit(other->doorbell_id, used);
	return vkfd_doorbell_find_id(used);
}

static void mqd_init(struct vkfd_queue *q)
{
	if (vkfd_queue_is_sdma(&q->props))
		vkfd_mqd_sdma_init(q->mqd, &q->props, q->doorbell_dw, vkfd_sdma_engine(q->sdma),
				   vkfd_sdma_rlc(q->sdma));
	else
		vkfd_mqd_init(q->mqd, &q->props, vkfd_queue_mqd_addr(q), q->doorbell_dw,
			      q->pdd->tba_addr);
	vkfd_queue_write_mqd(q);
}

int vkfd_queue_create(struct vkfd_pdd *pdd, const struct vkfd_queue_props *props,
		      struct vkfd_queue **queue)
{
	struct vkfd_process_queues *qs = queues_of(pdd);
	struct vkfd_device *dev = pdd->dev;
	struct vkfd_queue *q;
	int ret;

	lockdep_assert_held(&pdd->process->lock);

	ret = vkfd_slice_give(pdd);
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
	ret = dev->sched->attach(q);
	if (ret)
		goto free_mqd;
	ret = doorbell_get(q);
	if (ret < 0)
		goto detach;
	q->doorbell_id = ret;
	/* Without a slice the queue is not loaded before it has one. */
	if (pdd->slice.index >= 0)
		q->doorbell_dw = vkfd_doorbell_dw_index(pdd, q->doorbell_id);
	ret = vkfd_vram_alloc(dev, VKFD_MQD_ALLOC, PAGE_SIZE, &q->mqd_node);
	if (ret)
		goto detach;
	ret = xa_alloc(&qs->xa, &q->id, NULL, XA_LIMIT(0, VKFD_MAX_QUEUES_PER_PROCESS - 1),
		       GFP_KERNEL_ACCOUNT);
	if (ret) {
		ret = ret == -EBUSY ? -ENOMEM : ret;
		goto free_vram;
	}

	mqd_init(q);

	/* Visible before it runs: its first packet may be a bad one. */
	ret = xa_err(xa_store(&qs->xa, q->id, q, GFP_KERNEL_ACCOUNT));
	if (ret)
		goto erase_id;
	set_bit(dev->index, &qs->gpus);
	if (vkfd_queue_wanted(props)) {
		ret = dev->sched->get(pdd);
		if (ret)
			goto erase_id;
		q->active = true;
		/* An evicted process gets its queue, and the queue waits like the others. */
		ret = vkfd_queues_load(pdd, q);
		if (ret)
			goto put;
		vkfd_slice_want(pdd);
	}
	pdd->queue_count++;
	trace_queue_create(pdd->process->pasid, q->id, vkfd_queue_slot(q));
	*queue = q;
	return 0;

put:
	q->active = false;
	dev->sched->put(pdd);
erase_id:
	erase(q);
free_vram:
	vkfd_vram_free(dev, &q->mqd_node);
detach:
	dev->sched->detach(q);
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

	err = vkfd_queues_unload(pdd, q, false);
	/*
	 * Its slot and doorbell are what interrupts name it by, and the next queue gets
	 * both: what the hardware has to say about this one is heard first.
	 */
	vkfd_ih_sync(q->dev);
	vkfd_queue_act_on_bad(q);
	trace_queue_destroy(pdd->process->pasid, q->id, vkfd_queue_slot(q));
	erase(q);
	pdd->queue_count--;
	q->dev->sched->put(pdd);
	queue_free(q);
	return err;
}

int vkfd_queue_update(struct vkfd_queue *q, const struct vkfd_queue_props *props)
{
	const struct vkfd_sched_ops *sched = q->dev->sched;
	bool wanted = vkfd_queue_wanted(props);
	struct vkfd_pdd *pdd = q->pdd;
	int err;

	lockdep_assert_held(&pdd->process->lock);

	if (q->stopped)
		return -EACCES;
	if (wanted) {
		err = sched->get(pdd);
		if (err)
			return err;
	}
	err = vkfd_queues_unload(pdd, q, true);
	if (err)
		return err;

	q->props.ring_va = props->ring_va;
	q->props.ring_size = props->ring_size;
	q->props.percent = props->percent;
	q->props.priority = props->priority;
	if (vkfd_queue_is_sdma(&q->props))
		vkfd_mqd_sdma_update(q->mqd, &q->props);
	else
		vkfd_mqd_update(q->mqd, &q->props);
	vkfd_queue_write_mqd(q);
	q->active = wanted;

	/* Loading reads wptr from memory: packets that came meanwhile need no doorbell. */
	err = vkfd_queues_load(pdd, q);
	sched->put(pdd);
	if (wanted)
		vkfd_slice_want(pdd);
	return err;
}

int vkfd_queue_set_cu_mask(struct vkfd_queue *q, u32 mask)
{
	int err;

	lockdep_assert_held(&q->pdd->process->lock);

	/* As upstream: an engine has no compute units, and none is an error. */
	if (vkfd_queue_is_sdma(&q->props))
		return 0;
	err = vkfd_queues_unload(q->pdd, q, true);
	if (err)
		return err;
	vkfd_mqd_set_cu_mask(q->mqd, mask, q->dev->num_cu);
	vkfd_queue_write_mqd(q);
	return vkfd_queues_load(q->pdd, q);
}

void vkfd_queue_stop(struct vkfd_queue *q)
{
	/* A failure has been logged; the queue is stopped either way. */
	vkfd_queues_unload(q->pdd, q, true);
	q->stopped = true;
}

int vkfd_queues_evict(struct vkfd_pdd *pdd)
{
	int err = 0;

	mutex_lock(&queues_of(pdd)->lock);
	if (!pdd->evicted++)
		err = pdd->dev->sched->unload(pdd, NULL, true);
	mutex_unlock(&queues_of(pdd)->lock);
	return err;
}

int vkfd_queues_restore(struct vkfd_pdd *pdd)
{
	int err = 0;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&queues_of(pdd)->lock);
	if (!WARN_ON_ONCE(!pdd->evicted) && !--pdd->evicted)
		err = pdd->dev->sched->load(pdd, NULL);
	mutex_unlock(&queues_of(pdd)->lock);
	return err;
}

void vkfd_queues_forget(struct vkfd_pdd *pdd)
{
	struct vkfd_queue *q;
	unsigned long id;

	lockdep_assert_held(&pdd->process->lock);

	mutex_lock(&queues_of(pdd)->lock);
	pdd->dev->sched->forget(pdd);
	xa_for_each(&queues_of(pdd)->xa, id, q) {
		if (q->pdd != pdd)
			continue;
		q->loaded = false;
		q->active = false;
		q->stopped = true;
		q->lost = false;
	}
	mutex_unlock(&queues_of(pdd)->lock);
}

void vkfd_queues_reclaim(struct vkfd_device *dev)
{
	dev->sched->reclaim(dev);
	mutex_lock(&dev->queue_lock);
	WRITE_ONCE(dev->generation, dev->generation + 1);
	mutex_unlock(&dev->queue_lock);
}

int vkfd_queues_rebind(struct vkfd_pdd *pdd)
{
	lockdep_assert_held(&pdd->process->lock);

	return pdd->dev->sched->rebind(pdd);
}

void vkfd_queues_init(struct vkfd_process *p)
{
	struct vkfd_process_queues *qs = &p->queues;

	mutex_init(&qs->lock);
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
	unsigned int i;

	mutex_lock(&p->lock);
	/* All at a time: the queues of one process off the hardware may take a while. */
	for (i = 0; i < VKFD_MAX_GPUS; i++)
		if (p->pdds[i])
			vkfd_queues_unload(p->pdds[i], NULL, false);
	xa_for_each(&p->queues.xa, id, q)
		vkfd_queue_destroy(q);
	mutex_unlock(&p->lock);
}
