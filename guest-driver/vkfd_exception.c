// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trouble: VM faults, bad packets, a GPU that went away; the MEMORY and HW_EXCEPTION
 * events that tell of it.
 *
 * The interrupt path only notes what happened, with the first fault of a process on a
 * GPU and the first bad packet of a queue winning; a work item takes the queues off
 * the hardware, logs and signals, in this order, so that whoever is woken finds them
 * stopped. A storm of faults thus costs one note each.
 */
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>

#include <vkfd/ih.h>

#include "vkfd_event_int.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_smi.h"

static struct workqueue_struct *fault_wq;

int vkfd_queue_module_init(void)
{
	fault_wq = alloc_workqueue("vkfd-fault", WQ_UNBOUND, 0);
	return fault_wq ? 0 : -ENOMEM;
}

void vkfd_queue_module_exit(void)
{
	destroy_workqueue(fault_wq);
}

/*
 * Signals every event of @type with @payload, which is of that type's structure, or NULL
 * for a type that has none.
 */
static void signal_all_of(struct vkfd_events *evs, u32 type, const void *payload)
{
	unsigned long flags, id;
	struct vkfd_event *ev;

	rcu_read_lock();
	xa_for_each_start(&evs->xa, id, ev, VKFD_NONSIGNAL_ID_FIRST) {
		if (ev->type != type)
			continue;
		spin_lock_irqsave(&ev->lock, flags);
		if (type == KFD_IOC_EVENT_MEMORY)
			ev->memory = *(const struct kfd_hsa_memory_exception_data *)payload;
		else if (type == KFD_IOC_EVENT_HW_EXCEPTION)
			ev->hw = *(const struct kfd_hsa_hw_exception_data *)payload;
		vkfd_event_signal_locked(ev);
		spin_unlock_irqrestore(&ev->lock, flags);
	}
	rcu_read_unlock();
}

void vkfd_event_signal_vm_fault(struct vkfd_process *p, struct vkfd_device *dev,
				const struct vkfd_vm_fault_info *info)
{
	/* What the bits of the interrupt become is what amdkfd makes of them on gfx9. */
	const struct kfd_hsa_memory_exception_data data = {
		.failure = {
			.NotPresent = info->prot_valid,
			.ReadOnly = info->prot_write,
			.NoExecute = info->prot_exec,
			.imprecise = info->imprecise,
		},
		.va = info->va,
		.gpu_id = dev->gpu_id,
		.ErrorType = info->error,
	};

	signal_all_of(&p->events, KFD_IOC_EVENT_MEMORY, &data);
}

void vkfd_event_signal_hw_exception(struct vkfd_process *p, struct vkfd_device *dev,
				    u32 reset_type, u32 reset_cause, bool memory_lost)
{
	const struct kfd_hsa_hw_exception_data data = {
		.reset_type = reset_type,
		.reset_cause = reset_cause,
		.memory_lost = memory_lost,
		.gpu_id = dev->gpu_id,
	};

	signal_all_of(&p->events, KFD_IOC_EVENT_HW_EXCEPTION, &data);
}

void vkfd_event_signal_type(struct vkfd_process *p, u32 type)
{
	signal_all_of(&p->events, type, NULL);
}

void vkfd_events_broadcast(u32 type)
{
	struct vkfd_process *p;
	unsigned long pasid = 0;

	while ((p = vkfd_process_next(&pasid))) {
		vkfd_event_signal_type(p, type);
		vkfd_process_put(p);
	}
}

/* Everybody who waits for @ev looks at the state of the process again. */
static void wake_waiters(struct vkfd_event *ev)
{
	struct vkfd_event_waiter *w;
	unsigned long flags;

	spin_lock_irqsave(&ev->lock, flags);
	list_for_each_entry(w, &ev->waiters, node)
		wake_up(&w->wait->wq);
	spin_unlock_irqrestore(&ev->lock, flags);
}

/* Whether @p can go on without @dev: it has a VM on a GPU that is there. */
static bool has_other_gpu(struct vkfd_process *p, struct vkfd_device *dev)
{
	struct vkfd_pdd *pdd;
	unsigned int i;

	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		/* Pairs with the releases where they are set. */
		pdd = smp_load_acquire(&p->pdds[i]);
		if (pdd && pdd->dev != dev && smp_load_acquire(&pdd->vm) &&
		    !drm_dev_is_unplugged(&pdd->dev->drm) && !READ_ONCE(pdd->dev->dead))
			return true;
	}
	return false;
}

void vkfd_events_device_gone(struct vkfd_device *dev, bool memory_lost)
{
	struct vkfd_process *p;
	unsigned long id, pasid = 0;

	while ((p = vkfd_process_next(&pasid))) {
		struct vkfd_events *evs = &p->events;
		struct vkfd_pdd *pdd = vkfd_process_find_pdd(p, dev->gpu_id);
		/* Set with the first queue on the GPU and never taken back. */
		bool had_queues = test_bit(dev->index, &p->queues.gpus);
		struct vkfd_event *ev;

		if (!pdd || pdd->dev != dev || !(had_queues || READ_ONCE(pdd->vm)))
			goto put;
		vkfd_event_signal_hw_exception(p, dev, KFD_HW_EXCEPTION_WHOLE_GPU_RESET,
					       KFD_HW_EXCEPTION_GPU_HANG, memory_lost);
		/* An event is of no GPU: what another one will signal may be waited for again. */
		if (!has_other_gpu(p, dev))
			WRITE_ONCE(evs->device_lost, true);
		else if (had_queues)
			atomic_inc(&evs->losses);
		else
			goto put;
		/* Pairs with prepare_to_wait() in WAIT_EVENTS: wake_up() is a barrier. */
		rcu_read_lock();
		xa_for_each(&evs->xa, id, ev)
			wake_waiters(ev);
		rcu_read_unlock();
put:
		vkfd_process_put(p);
	}
}

/* Has the note of @p acted on; consumes the caller's reference. Any context. */
static void queue_fault_work(struct vkfd_process *p)
{
	if (!queue_work(fault_wq, &p->queues.fault_work))
		vkfd_process_put(p);
}

void vkfd_queue_vm_fault(struct vkfd_device *dev, u32 pasid,
			 const struct vkfd_vm_fault_info *info)
{
	struct vkfd_process *p = vkfd_process_get_by_pasid(pasid);
	struct vkfd_process_queues *qs;
	unsigned long flags;

	if (!p) {
		atomic64_inc(&vkfd_event_counters.no_process);
		dev_err_ratelimited(dev->drm.dev,
				    "VM fault at 0x%llx of a process that has exited (pasid 0x%x, VMID %u)\n",
				    info->va, pasid, info->vmid);
		return;
	}
	qs = &p->queues;
	spin_lock_irqsave(&qs->fault_lock, flags);
	if (!__test_and_set_bit(dev->index, &qs->faulted))
		qs->fault[dev->index] = *info;
	spin_unlock_irqrestore(&qs->fault_lock, flags);
	queue_fault_work(p);
}

void vkfd_queue_note(struct vkfd_device *dev, u32 pasid, u32 type)
{
	struct vkfd_process *p = vkfd_process_get_by_pasid(pasid);
	unsigned long flags;

	if (!p) {
		atomic64_inc(&vkfd_event_counters.no_process);
		return;
	}
	spin_lock_irqsave(&p->queues.fault_lock, flags);
	__set_bit(type, &p->queues.noted);
	spin_unlock_irqrestore(&p->queues.fault_lock, flags);
	queue_fault_work(p);
}

/*
 * The queue an interrupt entry of the CP means: by its doorbell, which stays the
 * queue's for its life; else by its slot. RCU read lock held.
 */
static struct vkfd_queue *find_queue(struct vkfd_process *p, struct vkfd_device *dev, u8 ring_id,
				     u32 doorbell)
{
	struct vkfd_queue *q, *by_slot = NULL;
	unsigned long id;

	xa_for_each(&p->queues.xa, id, q) {
		struct vkfd_hqd_slot slot;

		if (q->dev != dev)
			continue;
		if (q->doorbell_id == doorbell)
			return q;
		if (vkfd_queue_is_sdma(&q->props) || q->hqd == VKFD_HQD_NONE)
			continue;
		slot = vkfd_hw_slot(q->hqd);
		if (ring_id == (slot.pipe << VKFD_IH_RING_ID__PIPE__SHIFT |
				slot.me << VKFD_IH_RING_ID__ME__SHIFT |
				slot.queue << VKFD_IH_RING_ID__QUEUE__SHIFT))
			by_slot = q;
	}
	return by_slot;
}

void vkfd_queue_bad_opcode(struct vkfd_device *dev, u32 pasid, u32 source_id,
			   u8 ring_id, u32 ctx0)
{
	struct vkfd_process *p = vkfd_process_get_by_pasid(pasid);
	struct vkfd_process_queues *qs;
	struct vkfd_queue *q;
	unsigned long flags;

	if (!p) {
		atomic64_inc(&vkfd_event_counters.no_process);
		dev_err_ratelimited(dev->drm.dev,
				    "bad packet of a process that has exited (pasid 0x%x, source %u)\n",
				    pasid, source_id);
		return;
	}
	qs = &p->queues;
	rcu_read_lock();
	q = find_queue(p, dev, ring_id, ctx0 & VKFD_CP_BAD_OP__DOORBELL_MASK);
	if (q) {
		spin_lock_irqsave(&qs->fault_lock, flags);
		if (!q->bad) {
			q->bad = true;
			q->bad_source = source_id;
			q->bad_ctx0 = ctx0;
		}
		spin_unlock_irqrestore(&qs->fault_lock, flags);
	} else {
		dev_err_ratelimited(dev->drm.dev,
				    "process %d: bad packet in a queue that is gone (ring id 0x%x, doorbell 0x%x)\n",
				    p->tgid, ring_id, ctx0 & VKFD_CP_BAD_OP__DOORBELL_MASK);
	}
	rcu_read_unlock();

	if (q)
		queue_fault_work(p);
	else
		vkfd_process_put(p);
}

/*
 * The hardware does not say whose access faulted. Names the queue if there is only
 * one, else counts those that may have been it.
 */
static void describe_queues(struct vkfd_pdd *pdd, char *buf, size_t size)
{
	unsigned int count = 0;
	struct vkfd_queue *q;
	unsigned long id;
	u32 first = 0;

	xa_for_each(&pdd->process->queues.xa, id, q) {
		if (q->pdd != pdd || !q->loaded)
			continue;
		if (!count++)
			first = q->id;
	}
	if (count == 1)
		snprintf(buf, size, "queue %u", first);
	else
		snprintf(buf, size, "one of %u queues", count);
}

static void handle_vm_fault(struct vkfd_process *p, struct vkfd_pdd *pdd,
			    const struct vkfd_vm_fault_info *info)
{
	struct vkfd_device *dev = pdd->dev;
	char queues[32];

	lockdep_assert_held(&p->lock);

	/* What was in flight when the queues were taken off adds nothing. */
	if (__test_and_set_bit(dev->index, &p->queues.fault_evicted))
		return;
	describe_queues(pdd, queues, sizeof(queues));
	dev_err_ratelimited(dev->drm.dev,
			    "process %d (%s), %s: VM fault, %s of 0x%llx: %s; all its queues are stopped\n",
			    p->tgid, p->lead_thread->comm, queues,
			    info->write ? "write" : "read", info->va,
			    info->error == KFD_MEM_ERR_SRAM_ECC ? "memory error" :
			    info->error ? "poisoned data" :
			    info->prot_exec ? "not executable" :
			    info->prot_write ? "read only" : info->prot_read ? "not readable" :
			    "not mapped");
	vkfd_queues_evict(pdd);
	vkfd_smi_vm_fault(dev, p);
	vkfd_event_signal_vm_fault(p, dev, info);
	/* As amdkfd: who consumed bad data is told twice. */
	if (info->error)
		vkfd_event_signal_hw_exception(p, dev, KFD_HW_EXCEPTION_PER_ENGINE_RESET,
					       KFD_HW_EXCEPTION_ECC, true);
}

static const char *bad_packet_reason(u32 source_id)
{
	switch (source_id) {
	case GFX_9_0__SRCID__CP_PRIV_REG_FAULT:
	case VKFD_SRCID_SDMA_SRBM_WRITE:
		return "access to a privileged register";
	case GFX_9_0__SRCID__CP_PRIV_INSTR_FAULT:
		return "privileged packet";
	default:
		return "bad packet";
	}
}

void vkfd_queue_note_reset(struct vkfd_queue *q)
{
	struct vkfd_process *p = vkfd_process_get_by_pasid(q->pdd->process->pasid);
	unsigned long flags;

	/* One that ends takes its queues down itself, and nobody is left to be told. */
	if (!p)
		return;
	spin_lock_irqsave(&p->queues.fault_lock, flags);
	q->was_reset = true;
	spin_unlock_irqrestore(&p->queues.fault_lock, flags);
	queue_fault_work(p);
}

void vkfd_queue_act_on_bad(struct vkfd_queue *q)
{
	struct vkfd_process *p = q->pdd->process;
	bool pending, was_reset;
	u32 source_id, ctx0;

	lockdep_assert_held(&p->lock);

	spin_lock_irq(&p->queues.fault_lock);
	pending = q->bad;
	q->bad = false;
	was_reset = q->was_reset;
	q->was_reset = false;
	source_id = q->bad_source;
	ctx0 = q->bad_ctx0;
	spin_unlock_irq(&p->queues.fault_lock);
	if (was_reset) {
		dev_err_ratelimited(q->dev->drm.dev,
				    "process %d (%s), queue %u: did not stop, was reset\n",
				    p->tgid, p->lead_thread->comm, q->id);
		vkfd_queue_stop(q);
		vkfd_event_signal_hw_exception(p, q->dev, KFD_HW_EXCEPTION_PER_ENGINE_RESET,
					       KFD_HW_EXCEPTION_GPU_HANG, false);
		return;
	}
	if (!pending || q->stopped)
		return;

	dev_err_ratelimited(q->dev->drm.dev,
			    "process %d (%s), queue %u: %s (code %u); the queue is stopped\n",
			    p->tgid, p->lead_thread->comm, q->id, bad_packet_reason(source_id),
			    (ctx0 & VKFD_CP_BAD_OP__CODE_MASK) >> VKFD_CP_BAD_OP__CODE__SHIFT);
	vkfd_queue_stop(q);
	vkfd_event_signal_hw_exception(p, q->dev, KFD_HW_EXCEPTION_PER_ENGINE_RESET,
				       KFD_HW_EXCEPTION_GPU_HANG, false);
}

void vkfd_queue_fault_work(struct work_struct *work)
{
	struct vkfd_process *p = container_of(work, struct vkfd_process, queues.fault_work);
	struct vkfd_process_queues *qs = &p->queues;
	struct vkfd_vm_fault_info info;
	unsigned long id, noted;
	struct vkfd_queue *q;
	unsigned int i;
	bool pending;

	spin_lock_irq(&qs->fault_lock);
	noted = qs->noted;
	qs->noted = 0;
	spin_unlock_irq(&qs->fault_lock);
	for_each_set_bit(i, &noted, BITS_PER_LONG)
		vkfd_event_signal_type(p, i);

	mutex_lock(&p->lock);
	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		spin_lock_irq(&qs->fault_lock);
		pending = __test_and_clear_bit(i, &qs->faulted);
		info = qs->fault[i];
		spin_unlock_irq(&qs->fault_lock);
		if (pending && p->pdds[i])
			handle_vm_fault(p, p->pdds[i], &info);
	}
	xa_for_each(&qs->xa, id, q)
		vkfd_queue_act_on_bad(q);
	mutex_unlock(&p->lock);
	vkfd_process_put(p);
}
