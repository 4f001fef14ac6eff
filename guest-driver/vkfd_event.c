// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: creation, destruction, set and reset, and the interrupt path.
 *
 * The interrupt path looks an event up under RCU and takes nothing but its lock, so
 * events come and go while interrupts flow. A slot is reset under the event's lock
 * by whoever finds it signalled - interrupt, scan or wait - so one GPU write is one
 * signal, however many of them look at it.
 */
#include <linux/bitops.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "vkfd_chardev.h"
#include "vkfd_event_int.h"
#include "vkfd_mem.h"
#include "vkfd_process.h"
#include "vkfd_queue_event.h"
#include "vkfd_trace.h"

struct vkfd_event_counters vkfd_event_counters;

LIST_HEAD(vkfd_events_list);
static DEFINE_SPINLOCK(vkfd_events_list_lock);

bool vkfd_event_activate_idle(struct vkfd_event *ev)
{
	struct vkfd_event_waiter *w;
	bool had_idle = false;

	lockdep_assert_held(&ev->lock);

	list_for_each_entry(w, &ev->waiters, node) {
		if (w->state.activated)
			continue;
		had_idle = true;
		vkfd_waiter_activate(&ev->state, &w->state);
		atomic_inc(&w->wait->activated);
		if (vkfd_wait_state(w->wait) != VKFD_WAIT_PENDING) {
			trace_event_wake(ev->id, w->wait->tgid);
			wake_up(&w->wait->wq);
		}
	}
	return had_idle;
}

void vkfd_event_signal_locked(struct vkfd_event *ev)
{
	bool had_idle = vkfd_event_activate_idle(ev);

	vkfd_event_state_signal(&ev->state, had_idle);
	trace_event_signal(ev->id, ev->type, ev->state.age, had_idle);
}

bool vkfd_event_take_slot(struct vkfd_events *evs, struct vkfd_event *ev)
{
	u64 *page = vkfd_signal_page(evs);
	unsigned long flags;
	bool taken = false;

	if (!page || !vkfd_event_has_slot(ev))
		return false;

	spin_lock_irqsave(&ev->lock, flags);
	if (vkfd_event_state_takes(&ev->state, READ_ONCE(page[ev->id]))) {
		/*
		 * Reset first: whoever is woken may have the GPU signal again, and
		 * that must not be erased. The unlock orders the two.
		 */
		vkfd_slot_reset(page, ev->id);
		vkfd_event_signal_locked(ev);
		taken = true;
	}
	spin_unlock_irqrestore(&ev->lock, flags);
	return taken;
}

/* Slots of the events that tasks wait for. RCU read lock held. */
static void scan_sleepers(struct vkfd_events *evs)
{
	u64 *page = vkfd_signal_page(evs);
	struct vkfd_event *ev;
	unsigned long id;

	if (!page)
		return;
	atomic64_inc(&vkfd_event_counters.scans);
	/*
	 * A bit that is set too late for us: its waiter looks at the slot after it set
	 * the bit (see vkfd_event_wait.c), and the slot was written before whatever
	 * brought us here.
	 */
	for_each_set_bit(id, evs->sleepers, VKFD_SIGNAL_EVENT_LIMIT) {
		if (!vkfd_slot_test(page, id))
			continue;
		ev = xa_load(&evs->xa, id);
		if (ev && vkfd_event_take_slot(evs, ev))
			atomic64_inc(&vkfd_event_counters.scan_hits);
	}
}

/* The event a completion interrupt means, if its slot is signalled. RCU read lock held. */
static struct vkfd_event *find_signaled(struct vkfd_events *evs, const u64 *page, u32 id,
					u32 bits)
{
	struct vkfd_partial it;
	struct vkfd_event *ev;

	if (!vkfd_partial_begin(&it, id, bits, VKFD_SIGNAL_EVENT_LIMIT))
		return NULL;
	do {
		if (!vkfd_slot_test(page, it.next))
			continue;
		ev = xa_load(&evs->xa, it.next);
		if (ev)
			return ev;
	} while (vkfd_partial_advance(&it, VKFD_SIGNAL_EVENT_LIMIT));
	return NULL;
}

/**
 * kfd_signal_event_interrupt - signal the event a completion interrupt names
 * @pasid: process
 * @partial_id: context id of the interrupt; the event id if the program follows the
 *	convention
 * @valid_bits: how many low bits of it the source transports
 *
 * An id whose slot is not signalled may be one that was cut off, or any number a
 * program invented: then the slots of events with sleepers are looked at. Slots of
 * events nobody sleeps on are left alone, as a program may be polling them.
 */
void kfd_signal_event_interrupt(u32 pasid, u32 partial_id, u32 valid_bits)
{
	struct vkfd_process *p = vkfd_process_get_by_pasid(pasid);
	struct vkfd_events *evs;
	struct vkfd_event *ev;
	u64 *page;

	atomic64_inc(&vkfd_event_counters.interrupts);
	if (!p) {
		atomic64_inc(&vkfd_event_counters.no_process);
		return;
	}
	evs = &p->events;

	rcu_read_lock();
	page = vkfd_signal_page(evs);
	if (page) {
		ev = find_signaled(evs, page, partial_id, valid_bits);
		if (ev && vkfd_event_take_slot(evs, ev))
			atomic64_inc(&vkfd_event_counters.direct);
		else
			scan_sleepers(evs);
	}
	rcu_read_unlock();

	vkfd_process_put(p);
}

void vkfd_events_rescan_all(void)
{
	struct vkfd_events *evs;

	rcu_read_lock();
	list_for_each_entry_rcu(evs, &vkfd_events_list, link)
		scan_sleepers(evs);
	rcu_read_unlock();
}

bool vkfd_events_suspect_slots(void)
{
	struct vkfd_events *evs;
	bool any = false;
	unsigned long id;
	u64 *page;

	rcu_read_lock();
	list_for_each_entry_rcu(evs, &vkfd_events_list, link) {
		bitmap_zero(evs->suspects, VKFD_SIGNAL_EVENT_LIMIT);
		page = vkfd_signal_page(evs);
		if (!page)
			continue;
		for_each_set_bit(id, evs->sleepers, VKFD_SIGNAL_EVENT_LIMIT) {
			if (!vkfd_slot_test(page, id))
				continue;
			__set_bit(id, evs->suspects);
			any = true;
		}
	}
	rcu_read_unlock();
	return any;
}

void vkfd_events_recover_slots(void)
{
	struct vkfd_events *evs;
	struct vkfd_event *ev;
	unsigned long id;

	rcu_read_lock();
	list_for_each_entry_rcu(evs, &vkfd_events_list, link) {
		for_each_set_bit(id, evs->suspects, VKFD_SIGNAL_EVENT_LIMIT) {
			__clear_bit(id, evs->suspects);
			/* Who polls a slot has it for himself: only while somebody sleeps. */
			if (!test_bit(id, evs->sleepers))
				continue;
			ev = xa_load(&evs->xa, id);
			if (ev && vkfd_event_take_slot(evs, ev))
				atomic64_inc(&vkfd_event_counters.recovered_slots);
		}
	}
	rcu_read_unlock();
}

void vkfd_events_init(struct vkfd_process *p)
{
	struct vkfd_events *evs = &p->events;

	mutex_init(&evs->mutex);
	xa_init_flags(&evs->xa, XA_FLAGS_ALLOC1);
	evs->page = NULL;
	evs->page_mem = NULL;
	evs->page_bo = NULL;
	evs->own_bo = NULL;
	memset(evs->own_map, 0, sizeof(evs->own_map));
	evs->own_vmas = 0;
	evs->slots = 0;
	evs->signal_count = 0;
	bitmap_zero(evs->sleepers, VKFD_SIGNAL_EVENT_LIMIT);
	bitmap_zero(evs->suspects, VKFD_SIGNAL_EVENT_LIMIT);
	evs->device_lost = false;
	atomic_set(&evs->losses, 0);
	evs->closed = false;

	spin_lock(&vkfd_events_list_lock);
	list_add_rcu(&evs->link, &vkfd_events_list);
	spin_unlock(&vkfd_events_list_lock);
}

/* Takes the event out of the table and fails those who wait for it. */
static void destroy_event(struct vkfd_events *evs, struct vkfd_event *ev)
{
	struct vkfd_event_waiter *w, *next;
	unsigned long flags;

	lockdep_assert_held(&evs->mutex);

	xa_erase(&evs->xa, ev->id);
	if (vkfd_event_has_slot(ev))
		evs->signal_count--;

	spin_lock_irqsave(&ev->lock, flags);
	/*
	 * An interrupt on another CPU may have found it and come late to the slot, which
	 * is the next event's as soon as events.mutex is free.
	 */
	vkfd_event_state_gone(&ev->state);
	list_for_each_entry_safe(w, next, &ev->waiters, node) {
		list_del_init(&w->node);
		w->event = NULL;
		if (w->state.activated)
			atomic_dec(&w->wait->activated);
		atomic_inc(&w->wait->destroyed);
		wake_up(&w->wait->wq);
	}
	if (vkfd_event_has_slot(ev))
		clear_bit(ev->id, evs->sleepers);
	spin_unlock_irqrestore(&ev->lock, flags);

	if (ev->type == KFD_IOC_EVENT_QUEUE_EVENT)
		vkfd_queue_events_put();
	kfree_rcu(ev, rcu);
}

void vkfd_events_fini(struct vkfd_process *p)
{
	struct vkfd_events *evs = &p->events;
	struct vkfd_event *ev;
	unsigned long id;

	spin_lock(&vkfd_events_list_lock);
	list_del_rcu(&evs->link);
	spin_unlock(&vkfd_events_list_lock);

	mutex_lock(&evs->mutex);
	evs->closed = true;
	xa_for_each(&evs->xa, id, ev) {
		destroy_event(evs, ev);
		/* There are 4095 with a slot, but two thousand million ids for others. */
		cond_resched();
	}
	vkfd_signal_page_detach(evs);
	mutex_unlock(&evs->mutex);

	/* Walks of the list that still see this table end before the caller frees it. */
	synchronize_rcu();
	xa_destroy(&evs->xa);
}

/*
 * Gives @ev an id and makes it visible. The id is reserved first, so that the slot
 * it will own is clean before an interrupt can find the event.
 */
static int insert_event(struct vkfd_events *evs, struct vkfd_event *ev)
{
	bool has_slot = vkfd_event_has_slot(ev);
	u32 first, last, id;
	int err;

	lockdep_assert_held(&evs->mutex);

	if (evs->closed)
		return -ESRCH;
	if (has_slot) {
		err = vkfd_signal_page_ensure(evs);
		if (err)
			return err;
	}
	if (!vkfd_event_id_range(has_slot, evs->slots, &first, &last))
		return -ENOSPC;
	err = xa_alloc(&evs->xa, &id, NULL, XA_LIMIT(first, last), GFP_KERNEL_ACCOUNT);
	if (err)
		return err == -EBUSY ? -ENOSPC : err;
	ev->id = id;
	if (has_slot)
		vkfd_slot_reset(evs->page, id);
	err = xa_err(xa_store(&evs->xa, id, ev, GFP_KERNEL_ACCOUNT));
	if (err) {
		xa_erase(&evs->xa, id);
		return err;
	}
	if (has_slot)
		evs->signal_count++;
	return 0;
}

/**
 * vkfd_ioctl_create_event - AMDKFD_IOC_CREATE_EVENT
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_create_event_args
 *
 * A page offset that is not 0 is the handle of the buffer to use as signal page.
 *
 * Return: 0; -EINVAL: bad handle, buffer too small, or there is a page already;
 * -ENOSPC: no id left; -ENOMEM. A failed call leaves no page behind.
 */
int vkfd_ioctl_create_event(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_create_event_args *args = data;
	u64 handle = args->event_page_offset;
	struct vkfd_events *evs = &p->events;
	struct vkfd_mem *mem = NULL;
	struct vkfd_event *ev;
	u64 *page;
	int err;

	ev = kzalloc(sizeof(*ev), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return -ENOMEM;
	ev->type = args->event_type;
	spin_lock_init(&ev->lock);
	INIT_LIST_HEAD(&ev->waiters);
	vkfd_event_state_init(&ev->state, args->auto_reset);

	/* Until the page is attached FREE_MEMORY must not take the buffer away. */
	if (handle) {
		mutex_lock(&p->lock);
		err = vkfd_signal_page_map_mem(p, handle, &mem, &page);
		if (err)
			goto unlock_process;
	}

	mutex_lock(&evs->mutex);
	if (handle) {
		err = vkfd_signal_page_attach(evs, mem, page);
		if (err) {
			vkfd_signal_page_unmap_bo(mem->bo);
			goto unlock;
		}
	}
	err = insert_event(evs, ev);
	if (err) {
		if (handle)
			vkfd_signal_page_detach(evs);
		goto unlock;
	}

	if (ev->type == KFD_IOC_EVENT_QUEUE_EVENT)
		vkfd_queue_events_get();
	args->event_id = ev->id;
	args->event_trigger_data = ev->id;
	if (vkfd_event_has_slot(ev)) {
		args->event_page_offset = VKFD_MMAP_TYPE_EVENTS;
		args->event_slot_index = ev->id;
	} else {
		args->event_page_offset = 0;
	}
	ev = NULL;
unlock:
	mutex_unlock(&evs->mutex);
unlock_process:
	if (handle)
		mutex_unlock(&p->lock);
	/* Only an event that never became visible is still ours. */
	kfree(ev);
	return err;
}

/**
 * vkfd_ioctl_destroy_event - AMDKFD_IOC_DESTROY_EVENT
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_destroy_event_args
 *
 * Waits that name the event fail, unless they wait for any event and have another
 * one that fired.
 *
 * Return: 0; -EINVAL: no such event.
 */
int vkfd_ioctl_destroy_event(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_destroy_event_args *args = data;
	struct vkfd_events *evs = &p->events;
	struct vkfd_event *ev;

	mutex_lock(&evs->mutex);
	ev = xa_load(&evs->xa, args->event_id);
	if (ev)
		destroy_event(evs, ev);
	mutex_unlock(&evs->mutex);
	return ev ? 0 : -EINVAL;
}

static int set_or_reset(struct vkfd_process *p, u32 id, bool set)
{
	unsigned long flags;
	struct vkfd_event *ev;
	int err = -EINVAL;

	rcu_read_lock();
	ev = xa_load(&p->events.xa, id);
	if (ev && ev->type == KFD_IOC_EVENT_SIGNAL) {
		spin_lock_irqsave(&ev->lock, flags);
		if (set)
			vkfd_event_signal_locked(ev);
		else
			vkfd_event_state_reset(&ev->state);
		spin_unlock_irqrestore(&ev->lock, flags);
		err = 0;
	}
	rcu_read_unlock();
	return err;
}

/**
 * vkfd_ioctl_set_event - AMDKFD_IOC_SET_EVENT
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_set_event_args
 *
 * Return: 0; -EINVAL: no such event, or not one of type signal.
 */
int vkfd_ioctl_set_event(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_set_event_args *args = data;

	return set_or_reset(p, args->event_id, true);
}

/**
 * vkfd_ioctl_reset_event - AMDKFD_IOC_RESET_EVENT
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_reset_event_args
 *
 * Return: 0; -EINVAL: no such event, or not one of type signal.
 */
int vkfd_ioctl_reset_event(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_reset_event_args *args = data;

	return set_or_reset(p, args->event_id, false);
}
