/* SPDX-License-Identifier: MIT */
/*
 * The driver's event path around vkfd_event_core.c, with the locks of a host program in
 * the places of the kernel's:
 *
 *   event->lock (irqsave spinlock)	pthread mutex
 *   events.mutex			pthread mutex
 *   RCU read side, kfree_rcu()		read and write side of a rwlock
 *   wait queue				mutex and condition variable of the call
 *   signal page, sleepers		C11 atomics
 *
 * What is called and in which order is as in vkfd_event.c and vkfd_event_wait.c, so a
 * missing lock there is a missing lock here only if somebody keeps the two alike; the
 * point is the core: which of its functions need which lock.
 */
#ifndef EVENT_CORE_DRIVER_SHIM_H
#define EVENT_CORE_DRIVER_SHIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vkfd_event_core.h"

#define SHIM_WAIT_MAX	4

struct shim_wait;

struct shim_waiter {
	struct shim_waiter *next;
	struct shim_wait *wait;
	struct shim_event *event;
	struct vkfd_waiter_state state;
	bool reported;
};

struct shim_event {
	u32 id;
	pthread_mutex_t lock;
	struct vkfd_event_state state;
	struct shim_waiter *waiters;
};

/* One WAIT_EVENTS call; see struct vkfd_wait. */
struct shim_wait {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool all, interrupted;
	u32 num;
	_Atomic u32 activated, destroyed;
	struct shim_waiter waiter[SHIM_WAIT_MAX];
};

/**
 * struct shim - the event table of a process
 * @page: the signal page; anybody writes, under no lock
 * @signals: slots taken, by interrupt, scan or wait
 */
struct shim {
	pthread_mutex_t mutex;
	pthread_rwlock_t rcu;
	struct shim_event *_Atomic table[VKFD_SIGNAL_EVENT_LIMIT];
	_Atomic u64 page[VKFD_SIGNAL_EVENT_LIMIT];
	_Atomic bool sleepers[VKFD_SIGNAL_EVENT_LIMIT];
	_Atomic u64 signals;
	u32 slots;
};

void shim_init(struct shim *sh, u32 slots);

/* Lowest free id, or 0 when there is none. */
u32 shim_create(struct shim *sh, bool auto_reset);
bool shim_destroy(struct shim *sh, u32 id);
bool shim_set(struct shim *sh, u32 id, bool set);

/* kfd_signal_event_interrupt() for the low @bits bits of @id. */
void shim_interrupt(struct shim *sh, u32 id, u32 bits);

/* Age of event @id; 0: there is none. */
u64 shim_age(struct shim *sh, u32 id);

/**
 * struct shim_result - what a wait reports
 * @fired: bit i: event i of the list fired for this call
 * @interrupted: by shim_wait_interrupt(); nothing fired
 */
struct shim_result {
	enum vkfd_wait_result result;
	unsigned int fired;
	bool interrupted;
};

/*
 * Waits without time-out, or polls. @ages: of the events, 0 for none; the current ones
 * of those that fired are written back. @wait is the caller's, so that others can
 * interrupt it; it is set up here. An id that does not exist is a failure.
 */
struct shim_result shim_wait_events(struct shim *sh, struct shim_wait *wait, const u32 *ids,
				    u64 *ages, u32 num, bool all, bool sleeps);

/* A shim_wait for its first use, which may be interrupted before it is used. */
void shim_wait_init(struct shim_wait *wait);

/* The signal that interrupts a sleeping call; remembered if it does not sleep yet. */
void shim_wait_interrupt(struct shim_wait *wait);

#endif /* EVENT_CORE_DRIVER_SHIM_H */
