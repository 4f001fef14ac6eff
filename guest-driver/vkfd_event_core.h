/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pure part of events: ids, signal slots, the signalled/auto-reset/age state
 * machine, the condition of a wait, time-outs. No kernel service is used, so the
 * same source is compiled and tested on the host. Callers provide the locking.
 */
#ifndef VKFD_EVENT_CORE_H
#define VKFD_EVENT_CORE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* Slots of a full signal page. Slot 0 belongs to no event: 4095 events can signal. */
#define VKFD_SIGNAL_EVENT_LIMIT		4096
/* Slots a process may use of a driver-owned page before it mapped more. */
#define VKFD_SIGNAL_EVENT_UNMAPPED	256
/* Ids of events without a slot. */
#define VKFD_NONSIGNAL_ID_FIRST		0x40000000u
#define VKFD_NONSIGNAL_ID_LAST		0x7fffffffu
/* Content of a slot nobody signalled. */
#define VKFD_UNSIGNALED_SLOT		(~0ull)

/* Time-outs of WAIT_EVENTS in milliseconds. */
#define VKFD_WAIT_IMMEDIATE		0u
#define VKFD_WAIT_INFINITE		0xffffffffu
/* Longer finite time-outs are cut to this (24 days). */
#define VKFD_WAIT_MS_MAX		0x7fffffffu

/**
 * struct vkfd_event_state - what an event remembers
 * @signaled: a signal is latched: nobody has consumed it yet
 * @auto_reset: a signal is consumed by those who wait for it
 * @gone: destroyed; who found it before may still look at it
 * @age: signals ever, plus one; never 0, and never again 1
 */
struct vkfd_event_state {
	bool signaled;
	bool auto_reset;
	bool gone;
	u64 age;
};

/**
 * struct vkfd_waiter_state - what became of one event for one wait
 * @activated: the event fired for this wait
 * @consumed: @activated took the signal of an auto-reset event
 */
struct vkfd_waiter_state {
	bool activated;
	bool consumed;
};

/* State of a whole wait; the values are those of KFD_IOC_WAIT_RESULT_*. */
enum vkfd_wait_result {
	VKFD_WAIT_COMPLETE = 0,
	VKFD_WAIT_PENDING = 1,	/* reported as time-out if it stays so */
	VKFD_WAIT_FAIL = 2,
};

/**
 * struct vkfd_partial - walk over the ids that match a truncated one
 * @next: candidate to look at
 * @step: distance to the one after it, 0 if there is only one
 */
struct vkfd_partial {
	u32 next;
	u32 step;
};

void vkfd_event_state_init(struct vkfd_event_state *ev, bool auto_reset);

/*
 * One signal. @has_idle: somebody waits for the event and has not been activated
 * yet; the caller activates all of those with vkfd_waiter_activate().
 */
void vkfd_event_state_signal(struct vkfd_event_state *ev, bool has_idle);
void vkfd_event_state_reset(struct vkfd_event_state *ev);

/* An idle waiter is woken by a signal. */
void vkfd_waiter_activate(const struct vkfd_event_state *ev, struct vkfd_waiter_state *w);

/*
 * A wait begins: takes a latched signal. @last_age: the age the caller has seen, 0
 * if it does not use ages; another age than the current one activates at once.
 */
void vkfd_waiter_begin(struct vkfd_event_state *ev, struct vkfd_waiter_state *w, u64 last_age);

/*
 * A wait ends without reporting: hands a consumed signal back, without a change of
 * age. @has_idle: as above, but not counting @w. Returns whether the caller has to
 * activate those idle waiters.
 */
bool vkfd_waiter_give_back(struct vkfd_event_state *ev, struct vkfd_waiter_state *w,
			   bool has_idle);

/*
 * Condition of a wait for @num events, of which @activated have fired and still
 * exist and @destroyed were destroyed. A wait for no event is complete.
 */
enum vkfd_wait_result vkfd_wait_evaluate(bool all, u32 num, u32 activated, u32 destroyed);

static inline bool vkfd_slot_is_signaled(u64 value)
{
	return value != VKFD_UNSIGNALED_SLOT;
}

/*
 * Whether @value in the slot of its id is a signal of @ev. Not when @ev is gone: the slot
 * then belongs to whoever got the id next, and what is taken from it here is lost there.
 */
bool vkfd_event_state_takes(const struct vkfd_event_state *ev, u64 value);
/* The event is destroyed, before its id can be used again. */
void vkfd_event_state_gone(struct vkfd_event_state *ev);

/* Range of ids an event may get when @slots slots are usable; false if there is none. */
bool vkfd_event_id_range(bool has_slot, u32 slots, u32 *first, u32 *last);

/*
 * Starts the walk for @id, of which the low @bits bits are valid. False if no slot
 * of @slots can be meant. vkfd_partial_advance() is false past the last candidate.
 */
bool vkfd_partial_begin(struct vkfd_partial *it, u32 id, u32 bits, u32 slots);
bool vkfd_partial_advance(struct vkfd_partial *it, u32 slots);

/*
 * Clock ticks, at @hz, to sleep for @ms milliseconds and never less; not for
 * VKFD_WAIT_INFINITE.
 */
u64 vkfd_wait_ms_to_ticks(u32 ms, u32 hz);
/*
 * Milliseconds to write back when a wait of @ms is interrupted with @ticks left, so
 * that any number of restarts neither extends the wait nor cuts it short by more
 * than a tick.
 */
u32 vkfd_wait_remainder_ms(u32 ms, u64 ticks, u32 hz);

#endif /* VKFD_EVENT_CORE_H */
