// SPDX-License-Identifier: GPL-2.0-only
/*
 * WAIT_EVENTS.
 *
 * Every event of the call gets a waiter, whether it fired already or not, so that
 * its destruction is always noticed. A call that reports nothing - time-out, signal,
 * error - gives back the auto-reset signals it took.
 *
 * User memory is only touched while no lock is held: mmap of the signal page takes
 * events.mutex inside mmap_lock.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "vkfd_event_int.h"
#include "vkfd_process.h"
#include "vkfd_recovery.h"
#include "vkfd_trace.h"

static struct vkfd_wait *alloc_wait(u32 num, bool all)
{
	struct vkfd_wait *wait;
	u32 i;

	wait = kvzalloc(struct_size(wait, waiter, num), GFP_KERNEL_ACCOUNT);
	if (!wait)
		return NULL;
	wait->num = num;
	wait->all = all;
	wait->tgid = task_tgid_nr(current);
	init_waitqueue_head(&wait->wq);
	for (i = 0; i < num; i++) {
		INIT_LIST_HEAD(&wait->waiter[i].node);
		wait->waiter[i].wait = wait;
	}
	return wait;
}

/* @sleeps: the task may go to sleep, so the slot is ours to look at. */
static int enqueue(struct vkfd_events *evs, struct vkfd_event_waiter *w,
		   const struct kfd_event_data *data, bool sleeps)
{
	struct vkfd_event *ev = xa_load(&evs->xa, data->event_id);
	u64 last_age = 0;

	lockdep_assert_held(&evs->mutex);

	if (!ev)
		return -EINVAL;
	if (ev->type == KFD_IOC_EVENT_SIGNAL)
		last_age = data->signal_event_data.last_event_age;

	spin_lock_irq(&ev->lock);
	w->event = ev;
	w->use_age = last_age;
	vkfd_waiter_begin(&ev->state, &w->state, last_age);
	if (w->state.activated)
		atomic_inc(&w->wait->activated);
	list_add_tail(&w->node, &ev->waiters);
	if (sleeps && vkfd_event_has_slot(ev))
		set_bit(ev->id, evs->sleepers);
	spin_unlock_irq(&ev->lock);
	return 0;
}

static void dequeue(struct vkfd_events *evs, struct vkfd_event_waiter *w, bool give_back)
{
	struct vkfd_event *ev = w->event;
	struct vkfd_event_waiter *other;
	bool has_idle = false;

	lockdep_assert_held(&evs->mutex);

	if (!ev)
		return;
	spin_lock_irq(&ev->lock);
	list_del(&w->node);
	/* The search costs one look per waiter with interrupts off: only if it matters. */
	if (give_back && w->state.consumed) {
		list_for_each_entry(other, &ev->waiters, node) {
			has_idle = !other->state.activated;
			if (has_idle)
				break;
		}
		if (vkfd_waiter_give_back(&ev->state, &w->state, has_idle))
			vkfd_event_activate_idle(ev);
	}
	if (list_empty(&ev->waiters) && vkfd_event_has_slot(ev))
		clear_bit(ev->id, evs->sleepers);
	spin_unlock_irq(&ev->lock);
}

/*
 * Signals those events of the call whose slot is signalled: the GPU may have written
 * it while nobody waited, and an interrupt may have been lost.
 */
static void check_slots(struct vkfd_events *evs, struct vkfd_wait *wait)
{
	u32 i;

	lockdep_assert_held(&evs->mutex);

	/*
	 * Our bits in evs->sleepers before the slots. The other side is the GPU's
	 * write to the slot, its interrupt, and then scan_sleepers() reading the bits:
	 * if it misses our bit, we see the slot.
	 */
	smp_mb();
	for (i = 0; i < wait->num; i++) {
		struct vkfd_event *ev = wait->waiter[i].event;

		if (ev && vkfd_event_take_slot(evs, ev))
			atomic64_inc(&vkfd_event_counters.wait_hits);
	}
}

static enum vkfd_wait_result wait_state(struct vkfd_events *evs, struct vkfd_wait *wait)
{
	enum vkfd_wait_result res = vkfd_wait_state(wait);

	if (res == VKFD_WAIT_PENDING &&
	    (READ_ONCE(evs->device_lost) || atomic_read(&evs->losses) != wait->losses))
		res = VKFD_WAIT_FAIL;
	return res;
}

/*
 * The CPU that counts ticks may be late with them and then count many at once, as on a
 * host that is busy: a sleep of so many ticks is over too early by the clock.
 */
static long ticks_until(ktime_t end)
{
	s64 left = ktime_to_ns(ktime_sub(end, ktime_get()));

	return left > 0 ? (long)nsecs_to_jiffies((u64)left) + 1 : 0;
}

/*
 * Sleeps until the wait is decided, @ticks have passed and @end is reached, or a signal
 * arrives. Returns 0, -ERESTARTSYS or -EINTR (the task is being killed), and what is
 * left of @ticks.
 */
static int sleep_on(struct vkfd_events *evs, struct vkfd_wait *wait, long *ticks, ktime_t end)
{
	int err = 0;

	for (;;) {
		DEFINE_WAIT(entry);

		/*
		 * Sets the task state before the condition is read; pairs with the
		 * wake_up() after the condition is changed.
		 */
		prepare_to_wait(&wait->wq, &entry, TASK_INTERRUPTIBLE);
		if (wait_state(evs, wait) == VKFD_WAIT_PENDING) {
			if (fatal_signal_pending(current))
				err = -EINTR;
			else if (signal_pending(current))
				err = -ERESTARTSYS;
			else if (*ticks || (*ticks = ticks_until(end))) {
				*ticks = schedule_timeout(*ticks);
				finish_wait(&wait->wq, &entry);
				continue;
			}
		}
		finish_wait(&wait->wq, &entry);
		return err;
	}
}

/*
 * Takes down what fired, with payload in @data. What fires later is not reported by
 * this call any more.
 */
static void collect(struct vkfd_events *evs, struct vkfd_wait *wait, struct kfd_event_data *data)
{
	u32 i;

	lockdep_assert_held(&evs->mutex);

	for (i = 0; i < wait->num; i++) {
		struct vkfd_event_waiter *w = &wait->waiter[i];
		struct vkfd_event *ev = w->event;

		if (!ev)
			continue;
		spin_lock_irq(&ev->lock);
		w->reported = w->state.activated;
		if (w->reported && ev->type == KFD_IOC_EVENT_MEMORY) {
			data[i].memory_exception_data = ev->memory;
			w->size = sizeof(ev->memory);
		} else if (w->reported && ev->type == KFD_IOC_EVENT_HW_EXCEPTION) {
			data[i].hw_exception_data = ev->hw;
			w->size = sizeof(ev->hw);
		} else if (w->reported && w->use_age) {
			data[i].signal_event_data.last_event_age = ev->state.age;
			w->size = sizeof(data[i].signal_event_data);
		}
		spin_unlock_irq(&ev->lock);
	}
}

/* All payloads begin the structure; nothing but them is written back. */
static int copy_out(const struct vkfd_wait *wait, const struct kfd_event_data *data,
		    struct kfd_event_data __user *user)
{
	u32 i;

	for (i = 0; i < wait->num; i++)
		if (wait->waiter[i].size &&
		    copy_to_user(&user[i], &data[i], wait->waiter[i].size))
			return -EFAULT;
	return 0;
}

/* Waits for @wait, filled in from @data, and reports to @user. @ms: see the ioctl. */
static int wait_on(struct vkfd_events *evs, struct vkfd_wait *wait, struct kfd_event_data *data,
		   struct kfd_event_data __user *user, u32 *ms, enum vkfd_wait_result *res)
{
	bool sleeps = *ms != VKFD_WAIT_IMMEDIATE;
	long ticks = MAX_SCHEDULE_TIMEOUT;
	ktime_t end = KTIME_MAX;
	int err = 0;
	u32 i;

	if (*ms != VKFD_WAIT_INFINITE) {
		ticks = vkfd_wait_ms_to_ticks(*ms, HZ);
		end = ktime_add_ms(ktime_get(), *ms);
	}

	mutex_lock(&evs->mutex);
	/* Whoever counts a loss then goes through the waiters, under the lock of each event. */
	wait->losses = atomic_read(&evs->losses);
	for (i = 0; i < wait->num && !err; i++)
		err = enqueue(evs, &wait->waiter[i], &data[i], sleeps);
	if (err)
		goto dequeue;
	if (sleeps && wait_state(evs, wait) == VKFD_WAIT_PENDING)
		check_slots(evs, wait);
	mutex_unlock(&evs->mutex);

	if (sleeps) {
		vkfd_recovery_sleep_begin();
		err = sleep_on(evs, wait, &ticks, end);
		vkfd_recovery_sleep_end();
	}
	if (err == -ERESTARTSYS)
		*ms = vkfd_wait_remainder_ms(*ms, ticks, HZ);

	mutex_lock(&evs->mutex);
	if (err)
		goto dequeue;
	/* Giving up although the work is done would be the worst of answers. */
	if (sleeps && wait_state(evs, wait) == VKFD_WAIT_PENDING)
		check_slots(evs, wait);
	*res = wait_state(evs, wait);
	if (*res == VKFD_WAIT_COMPLETE) {
		collect(evs, wait, data);
		mutex_unlock(&evs->mutex);
		err = copy_out(wait, data, user);
		mutex_lock(&evs->mutex);
	} else if (*res == VKFD_WAIT_FAIL) {
		err = -EIO;
	}
dequeue:
	for (i = 0; i < wait->num; i++)
		dequeue(evs, &wait->waiter[i], err || !wait->waiter[i].reported);
	mutex_unlock(&evs->mutex);
	return err;
}

/**
 * vkfd_ioctl_wait_events - AMDKFD_IOC_WAIT_EVENTS
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_wait_events_args; timeout in ms, 0 polls, 0xffffffff waits
 *	for ever
 *
 * wait_result: complete, time-out (both return 0) or fail. When a signal interrupts
 * a finite wait, timeout becomes what is left of it, for the restart.
 *
 * Return: 0; -ENOMEM: also for more than VKFD_WAIT_EVENTS_MAX events; -EFAULT;
 * -EINVAL: no such event; -EIO: an event was destroyed, or the GPU is gone;
 * -ERESTARTSYS; -EINTR when the task is being killed.
 */
int vkfd_ioctl_wait_events(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_wait_events_args *args = data;
	struct kfd_event_data __user *user = u64_to_user_ptr(args->events_ptr);
	enum vkfd_wait_result res = VKFD_WAIT_FAIL;
	struct kfd_event_data *events = NULL;
	struct vkfd_wait *wait;
	int err;

	args->wait_result = KFD_IOC_WAIT_RESULT_FAIL;
	if (args->num_events > VKFD_WAIT_EVENTS_MAX)
		return -ENOMEM;
	wait = alloc_wait(args->num_events, args->wait_for_all);
	if (!wait)
		return -ENOMEM;
	if (args->num_events) {
		events = vmemdup_array_user(user, args->num_events, sizeof(*events));
		if (IS_ERR(events)) {
			err = PTR_ERR(events);
			goto free_wait;
		}
	}

	trace_event_wait_begin(wait->num, wait->all, args->timeout);
	err = wait_on(&p->events, wait, events, user, &args->timeout, &res);
	trace_event_wait_end(wait->num, err, res);
	if (!err)
		args->wait_result = res;
	kvfree(events);
free_wait:
	kvfree(wait);
	return err;
}
