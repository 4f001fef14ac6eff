// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event state machine without kernel services; see vkfd_event_core.h. Semantics are
 * those of KFD 1.14 (event age), observable through WAIT_EVENTS, with two exceptions
 * that make them exact: a wait that reports nothing gives back what it consumed, and
 * giving back is not counted as a signal.
 */
#include "vkfd_event_core.h"

void vkfd_event_state_init(struct vkfd_event_state *ev, bool auto_reset)
{
	ev->signaled = false;
	ev->auto_reset = auto_reset;
	ev->gone = false;
	ev->age = 1;
}

bool vkfd_event_state_takes(const struct vkfd_event_state *ev, u64 value)
{
	return !ev->gone && vkfd_slot_is_signaled(value);
}

void vkfd_event_state_gone(struct vkfd_event_state *ev)
{
	ev->gone = true;
}

void vkfd_event_state_signal(struct vkfd_event_state *ev, bool has_idle)
{
	ev->signaled = !ev->auto_reset || !has_idle;
	/* 0 means "no age" to user space and 1 "never signalled": skip both. */
	if (++ev->age < 2)
		ev->age = 2;
}

void vkfd_event_state_reset(struct vkfd_event_state *ev)
{
	ev->signaled = false;
}

void vkfd_waiter_activate(const struct vkfd_event_state *ev, struct vkfd_waiter_state *w)
{
	w->activated = true;
	w->consumed = ev->auto_reset;
}

void vkfd_waiter_begin(struct vkfd_event_state *ev, struct vkfd_waiter_state *w, u64 last_age)
{
	w->activated = ev->signaled;
	w->consumed = ev->signaled && ev->auto_reset;
	if (w->consumed)
		ev->signaled = false;
	if (last_age && last_age != ev->age)
		w->activated = true;
}

bool vkfd_waiter_give_back(struct vkfd_event_state *ev, struct vkfd_waiter_state *w,
			   bool has_idle)
{
	if (!w->consumed)
		return false;
	w->consumed = false;
	if (has_idle)
		return true;
	ev->signaled = true;
	return false;
}

enum vkfd_wait_result vkfd_wait_evaluate(bool all, u32 num, u32 activated, u32 destroyed)
{
	if (!num)
		return VKFD_WAIT_COMPLETE;
	if (!all && activated)
		return VKFD_WAIT_COMPLETE;
	if (destroyed)
		return VKFD_WAIT_FAIL;
	return activated == num ? VKFD_WAIT_COMPLETE : VKFD_WAIT_PENDING;
}

bool vkfd_event_id_range(bool has_slot, u32 slots, u32 *first, u32 *last)
{
	if (!has_slot) {
		*first = VKFD_NONSIGNAL_ID_FIRST;
		*last = VKFD_NONSIGNAL_ID_LAST;
		return true;
	}
	if (slots > VKFD_SIGNAL_EVENT_LIMIT)
		slots = VKFD_SIGNAL_EVENT_LIMIT;
	if (slots < 2)
		return false;
	*first = 1;
	*last = slots - 1;
	return true;
}

bool vkfd_partial_begin(struct vkfd_partial *it, u32 id, u32 bits, u32 slots)
{
	if (!bits || id >= slots)
		return false;
	it->step = 0;
	if (bits < 32 && (1u << bits) < slots) {
		it->step = 1u << bits;
		id &= it->step - 1;
	}
	it->next = id;
	/* Slot 0 is no event's, but a longer id may end in zeroes. */
	return id || vkfd_partial_advance(it, slots);
}

bool vkfd_partial_advance(struct vkfd_partial *it, u32 slots)
{
	if (!it->step || it->step >= slots - it->next)
		return false;
	it->next += it->step;
	return true;
}

u64 vkfd_wait_ms_to_ticks(u32 ms, u32 hz)
{
	if (ms == VKFD_WAIT_IMMEDIATE)
		return 0;
	if (ms > VKFD_WAIT_MS_MAX)
		ms = VKFD_WAIT_MS_MAX;
	/* The tick that is running already is not a whole one: one more. */
	return ((u64)ms * hz + 999) / 1000 + 1;
}

u32 vkfd_wait_remainder_ms(u32 ms, u64 ticks, u32 hz)
{
	u64 left;

	if (ms == VKFD_WAIT_IMMEDIATE || ms == VKFD_WAIT_INFINITE)
		return ms;
	/* Without the extra tick, which the restarted wait adds again. */
	left = ticks > 1 ? (ticks - 1) * 1000 / hz : 0;
	if (left > ms)
		left = ms;
	return left < VKFD_WAIT_MS_MAX ? (u32)left : VKFD_WAIT_MS_MAX;
}
