/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the event files share: the event itself, its waiters, the signal page.
 */
#ifndef VKFD_EVENT_INT_H
#define VKFD_EVENT_INT_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_event.h"

/**
 * struct vkfd_event - one event
 * @rcu: the interrupt path finds events under RCU
 * @id: signal events: also the slot
 * @type: KFD_IOC_EVENT_*; user space may invent others, which nothing ever signals
 * @lock: everything below; irqsave
 * @state: signalled, age
 * @waiters: struct vkfd_event_waiter.node
 * @memory, @hw: payload of the last signal, by @type
 */
struct vkfd_event {
	struct rcu_head rcu;
	u32 id;
	u32 type;
	spinlock_t lock;
	struct vkfd_event_state state;
	struct list_head waiters;
	union {
		struct kfd_hsa_memory_exception_data memory;
		struct kfd_hsa_hw_exception_data hw;
	};
};

struct vkfd_wait;

/**
 * struct vkfd_event_waiter - one entry of the array of a WAIT_EVENTS call
 * @node: in event->waiters
 * @wait: the call it belongs to
 * @event: NULL once the event is destroyed. Changed under event->lock with
 *         events.mutex held, so either suffices to read it.
 * @state: event->lock
 * @use_age: the caller gave an age and gets the current one back
 * @reported: the call is going to report it; events.mutex
 * @size: bytes of payload to write back; events.mutex
 */
struct vkfd_event_waiter {
	struct list_head node;
	struct vkfd_wait *wait;
	struct vkfd_event *event;
	struct vkfd_waiter_state state;
	bool use_age;
	bool reported;
	u32 size;
};

/**
 * struct vkfd_wait - one WAIT_EVENTS call
 * @wq: where its task sleeps. Woken under the lock of an event that still has a
 *      waiter of this call, so the call cannot have returned by then.
 * @all: wait for all, not any
 * @tgid: of the task, for tracing
 * @losses: those of its process when it began
 * @num: entries of @waiter
 * @activated: entries that fired and whose event exists
 * @destroyed: entries whose event was destroyed
 */
struct vkfd_wait {
	wait_queue_head_t wq;
	bool all;
	pid_t tgid;
	int losses;
	u32 num;
	atomic_t activated;
	atomic_t destroyed;
	struct vkfd_event_waiter waiter[] __counted_by(num);
};

/* Signal and debug events own a slot; only they can be signalled by an interrupt. */
static inline bool vkfd_event_type_has_slot(u32 type)
{
	return type == KFD_IOC_EVENT_SIGNAL || type == KFD_IOC_EVENT_DEBUG_EVENT;
}

static inline bool vkfd_event_has_slot(const struct vkfd_event *ev)
{
	return vkfd_event_type_has_slot(ev->type);
}

static inline enum vkfd_wait_result vkfd_wait_state(const struct vkfd_wait *wait)
{
	return vkfd_wait_evaluate(wait->all, wait->num, atomic_read(&wait->activated),
				  atomic_read(&wait->destroyed));
}

/* ev->lock held, interrupts off. */
void vkfd_event_signal_locked(struct vkfd_event *ev);
/* Activates and wakes those who wait and have not been activated; tells if there were any. */
bool vkfd_event_activate_idle(struct vkfd_event *ev);

/*
 * Signals @ev if its slot is signalled, and resets the slot. Any context; the caller
 * holds events.mutex or the RCU read lock. False: the slot was not signalled, or @ev is
 * destroyed and the slot is another's.
 */
bool vkfd_event_take_slot(struct vkfd_events *evs, struct vkfd_event *ev);

/*
 * Signal page. Memory by handle first gets a kernel mapping (process->lock held), then it
 * is attached, and detached again if the call fails (both locks held); events.mutex alone
 * for the rest.
 */
int vkfd_signal_page_map_mem(struct vkfd_process *p, u64 handle, struct vkfd_mem **mem,
			     u64 **page);
void vkfd_signal_page_unmap_bo(struct vkfd_bo *bo);
/* -EINVAL: there is a page already. */
int vkfd_signal_page_attach(struct vkfd_events *evs, struct vkfd_mem *mem, u64 *page);
/* The driver's own page, if there is none yet. -ENOMEM. */
int vkfd_signal_page_ensure(struct vkfd_events *evs);
/* Waits until no interrupt uses the page, then lets go of it. */
void vkfd_signal_page_detach(struct vkfd_events *evs);

/* The slots, or NULL. RCU read lock or events.mutex. */
static inline u64 *vkfd_signal_page(struct vkfd_events *evs)
{
	/* Pairs with the release in vkfd_signal_page.c: the slots are initialised. */
	return smp_load_acquire(&evs->page);
}

static inline bool vkfd_slot_test(const u64 *page, u32 id)
{
	return vkfd_slot_is_signaled(READ_ONCE(page[id]));
}

static inline void vkfd_slot_reset(u64 *page, u32 id)
{
	WRITE_ONCE(page[id], VKFD_UNSIGNALED_SLOT);
}

/* All event tables; walk with list_for_each_entry_rcu(). */
extern struct list_head vkfd_events_list;

#endif /* VKFD_EVENT_INT_H */
