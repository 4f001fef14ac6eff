/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "driver_shim.h"

void shim_init(struct shim *sh, u32 slots)
{
	unsigned int i;

	memset(sh, 0, sizeof(*sh));
	pthread_mutex_init(&sh->mutex, NULL);
	pthread_rwlock_init(&sh->rcu, NULL);
	sh->slots = slots;
	for (i = 0; i < VKFD_SIGNAL_EVENT_LIMIT; i++)
		atomic_init(&sh->page[i], VKFD_UNSIGNALED_SLOT);
}

static enum vkfd_wait_result state_of(struct shim_wait *wait)
{
	return vkfd_wait_evaluate(wait->all, wait->num, wait->activated, wait->destroyed);
}

/* wake_up(): the condition has been changed before. */
static void wake(struct shim_wait *wait)
{
	pthread_mutex_lock(&wait->lock);
	pthread_cond_broadcast(&wait->wake);
	pthread_mutex_unlock(&wait->lock);
}

/* ---- the event, its lock held --------------------------------------------------- */

static bool activate_idle(struct shim_event *ev)
{
	struct shim_waiter *w;
	bool had_idle = false;

	for (w = ev->waiters; w; w = w->next) {
		if (w->state.activated)
			continue;
		had_idle = true;
		vkfd_waiter_activate(&ev->state, &w->state);
		w->wait->activated++;
		if (state_of(w->wait) != VKFD_WAIT_PENDING)
			wake(w->wait);
	}
	return had_idle;
}

static void signal_locked(struct shim_event *ev)
{
	bool had_idle = activate_idle(ev);

	vkfd_event_state_signal(&ev->state, had_idle);
}

static bool take_slot(struct shim *sh, struct shim_event *ev)
{
	bool taken = false;

	pthread_mutex_lock(&ev->lock);
	if (vkfd_event_state_takes(&ev->state, sh->page[ev->id])) {
		sh->page[ev->id] = VKFD_UNSIGNALED_SLOT;
		signal_locked(ev);
		sh->signals++;
		taken = true;
	}
	pthread_mutex_unlock(&ev->lock);
	return taken;
}

/* ---- the interrupt -------------------------------------------------------------- */

static struct shim_event *find_signaled(struct shim *sh, u32 id, u32 bits)
{
	struct vkfd_partial it;

	if (!vkfd_partial_begin(&it, id, bits, VKFD_SIGNAL_EVENT_LIMIT))
		return NULL;
	do {
		struct shim_event *ev = sh->table[it.next];

		if (ev && vkfd_slot_is_signaled(sh->page[it.next]))
			return ev;
	} while (vkfd_partial_advance(&it, VKFD_SIGNAL_EVENT_LIMIT));
	return NULL;
}

void shim_interrupt(struct shim *sh, u32 id, u32 bits)
{
	struct shim_event *ev;
	u32 i;

	pthread_rwlock_rdlock(&sh->rcu);
	ev = find_signaled(sh, id, bits);
	if (!ev || !take_slot(sh, ev)) {
		for (i = 1; i < VKFD_SIGNAL_EVENT_LIMIT; i++) {
			if (!sh->sleepers[i] || !vkfd_slot_is_signaled(sh->page[i]))
				continue;
			ev = sh->table[i];
			if (ev)
				take_slot(sh, ev);
		}
	}
	pthread_rwlock_unlock(&sh->rcu);
}

/* ---- the ioctls ----------------------------------------------------------------- */

u32 shim_create(struct shim *sh, bool auto_reset)
{
	struct shim_event *ev = calloc(1, sizeof(*ev));
	u32 first, last, id = 0;

	if (!ev)
		abort();
	pthread_mutex_init(&ev->lock, NULL);
	vkfd_event_state_init(&ev->state, auto_reset);
	pthread_mutex_lock(&sh->mutex);
	if (vkfd_event_id_range(true, sh->slots, &first, &last))
		for (id = first; id <= last && sh->table[id]; id++)
			;
	if (!id || id > last) {
		id = 0;
		free(ev);
	} else {
		ev->id = id;
		sh->page[id] = VKFD_UNSIGNALED_SLOT;
		sh->table[id] = ev;
	}
	pthread_mutex_unlock(&sh->mutex);
	return id;
}

bool shim_destroy(struct shim *sh, u32 id)
{
	struct shim_waiter *w, *next;
	struct shim_event *ev;

	pthread_mutex_lock(&sh->mutex);
	ev = id < VKFD_SIGNAL_EVENT_LIMIT ? sh->table[id] : NULL;
	if (ev) {
		sh->table[id] = NULL;
		pthread_mutex_lock(&ev->lock);
		vkfd_event_state_gone(&ev->state);
		for (w = ev->waiters; w; w = next) {
			next = w->next;
			w->event = NULL;
			if (w->state.activated)
				w->wait->activated--;
			w->wait->destroyed++;
			wake(w->wait);
		}
		ev->waiters = NULL;
		sh->sleepers[id] = false;
		pthread_mutex_unlock(&ev->lock);
	}
	pthread_mutex_unlock(&sh->mutex);
	if (!ev)
		return false;
	/* The grace period: whoever found the event before it went is done with it. */
	pthread_rwlock_wrlock(&sh->rcu);
	pthread_rwlock_unlock(&sh->rcu);
	pthread_mutex_destroy(&ev->lock);
	free(ev);
	return true;
}

bool shim_set(struct shim *sh, u32 id, bool set)
{
	struct shim_event *ev;

	pthread_rwlock_rdlock(&sh->rcu);
	ev = sh->table[id];
	if (ev) {
		pthread_mutex_lock(&ev->lock);
		if (set)
			signal_locked(ev);
		else
			vkfd_event_state_reset(&ev->state);
		pthread_mutex_unlock(&ev->lock);
	}
	pthread_rwlock_unlock(&sh->rcu);
	return ev;
}

u64 shim_age(struct shim *sh, u32 id)
{
	struct shim_event *ev;
	u64 age = 0;

	pthread_rwlock_rdlock(&sh->rcu);
	ev = sh->table[id];
	if (ev) {
		pthread_mutex_lock(&ev->lock);
		age = ev->state.age;
		pthread_mutex_unlock(&ev->lock);
	}
	pthread_rwlock_unlock(&sh->rcu);
	return age;
}

void shim_wait_init(struct shim_wait *wait)
{
	memset(wait, 0, sizeof(*wait));
	pthread_mutex_init(&wait->lock, NULL);
	pthread_cond_init(&wait->wake, NULL);
}

void shim_wait_interrupt(struct shim_wait *wait)
{
	pthread_mutex_lock(&wait->lock);
	wait->interrupted = true;
	pthread_cond_broadcast(&wait->wake);
	pthread_mutex_unlock(&wait->lock);
}

/* mutex held */
static bool enqueue(struct shim *sh, struct shim_waiter *w, u32 id, u64 age, bool sleeps)
{
	struct shim_event *ev = sh->table[id];

	if (!ev)
		return false;
	pthread_mutex_lock(&ev->lock);
	w->event = ev;
	vkfd_waiter_begin(&ev->state, &w->state, age);
	if (w->state.activated)
		w->wait->activated++;
	w->next = ev->waiters;
	ev->waiters = w;
	if (sleeps)
		sh->sleepers[id] = true;
	pthread_mutex_unlock(&ev->lock);
	return true;
}

/* mutex held */
static void dequeue(struct shim *sh, struct shim_waiter *w, bool give_back)
{
	struct shim_event *ev = w->event;
	struct shim_waiter **link, *other;
	bool has_idle = false;

	if (!ev)
		return;
	pthread_mutex_lock(&ev->lock);
	for (link = &ev->waiters; *link != w; link = &(*link)->next)
		;
	*link = w->next;
	if (give_back && w->state.consumed) {
		for (other = ev->waiters; other; other = other->next)
			has_idle |= !other->state.activated;
		if (vkfd_waiter_give_back(&ev->state, &w->state, has_idle))
			activate_idle(ev);
	}
	if (!ev->waiters)
		sh->sleepers[ev->id] = false;
	pthread_mutex_unlock(&ev->lock);
}

/* mutex held */
static void check_slots(struct shim *sh, struct shim_wait *wait)
{
	u32 i;

	for (i = 0; i < wait->num; i++)
		if (wait->waiter[i].event)
			take_slot(sh, wait->waiter[i].event);
}

static bool sleep_on(struct shim_wait *wait)
{
	bool interrupted = false;

	pthread_mutex_lock(&wait->lock);
	while (state_of(wait) == VKFD_WAIT_PENDING && !interrupted) {
		interrupted = wait->interrupted;
		wait->interrupted = false;
		if (!interrupted)
			pthread_cond_wait(&wait->wake, &wait->lock);
	}
	pthread_mutex_unlock(&wait->lock);
	return interrupted;
}

struct shim_result shim_wait_events(struct shim *sh, struct shim_wait *wait, const u32 *ids,
				    u64 *ages, u32 num, bool all, bool sleeps)
{
	struct shim_result r = { .result = VKFD_WAIT_FAIL };
	bool ok = true;
	u32 i;

	wait->all = all;
	wait->num = num;
	wait->activated = 0;
	wait->destroyed = 0;
	memset(wait->waiter, 0, sizeof(wait->waiter));

	pthread_mutex_lock(&sh->mutex);
	for (i = 0; i < num && ok; i++) {
		wait->waiter[i].wait = wait;
		ok = enqueue(sh, &wait->waiter[i], ids[i], ages[i], sleeps);
	}
	if (ok && sleeps && state_of(wait) == VKFD_WAIT_PENDING)
		check_slots(sh, wait);
	pthread_mutex_unlock(&sh->mutex);

	if (ok && sleeps)
		r.interrupted = sleep_on(wait);

	pthread_mutex_lock(&sh->mutex);
	if (ok && !r.interrupted) {
		if (sleeps && state_of(wait) == VKFD_WAIT_PENDING)
			check_slots(sh, wait);
		r.result = state_of(wait);
	}
	for (i = 0; i < num && r.result == VKFD_WAIT_COMPLETE; i++) {
		struct shim_waiter *w = &wait->waiter[i];

		if (!w->event)
			continue;
		pthread_mutex_lock(&w->event->lock);
		w->reported = w->state.activated;
		if (w->reported) {
			r.fired |= 1u << i;
			ages[i] = w->event->state.age;
		}
		pthread_mutex_unlock(&w->event->lock);
	}
	for (i = 0; i < num; i++)
		dequeue(sh, &wait->waiter[i], !wait->waiter[i].reported);
	pthread_mutex_unlock(&sh->mutex);
	return r;
}
