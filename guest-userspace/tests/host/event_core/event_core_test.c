/* SPDX-License-Identifier: MIT */
/*
 * Host tests of guest-driver/vkfd_event_core.c: ages, the state machine against a
 * model, wait conditions, partial ids, time-outs.
 */
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "vkfd_event_core.h"

#include "model.h"

/* A small generator of our own: the same numbers on every host. */
static uint64_t rnd_state = 0x9e3779b97f4a7c15ull;

static uint32_t rnd(uint32_t below)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return (uint32_t)(rnd_state >> 16) % below;
}

static void test_age(void)
{
	struct vkfd_event_state ev;
	bool bad = false;
	int i;

	vkfd_event_state_init(&ev, true);
	tap_is((int64_t)ev.age, 1, "an age starts at 1");
	for (i = 0; i < 1000; i++) {
		vkfd_event_state_signal(&ev, i & 1);
		bad |= ev.age != (u64)i + 2;
	}
	tap_ok(!bad, "each signal adds one, waited for or not");
	vkfd_event_state_reset(&ev);
	tap_is((int64_t)ev.age, 1001, "reset leaves the age");
	ev.age = ~0ull - 1;
	vkfd_event_state_signal(&ev, false);
	tap_ok(ev.age == ~0ull, "the last age is used");
	vkfd_event_state_signal(&ev, false);
	tap_is((int64_t)ev.age, 2, "the age wraps to 2, not to 0 or 1");
}

/* Mutation: vkfd_event_state_takes() does not ask whether the event is gone. */
static void test_gone(void)
{
	struct vkfd_event_state ev;

	vkfd_event_state_init(&ev, true);
	tap_ok(!vkfd_event_state_takes(&ev, VKFD_UNSIGNALED_SLOT), "a slot nobody wrote is no signal");
	tap_ok(vkfd_event_state_takes(&ev, 1), "one that was written is");
	vkfd_event_state_gone(&ev);
	tap_ok(!vkfd_event_state_takes(&ev, 1), "but not of an event that is gone");
	vkfd_event_state_init(&ev, true);
	tap_ok(vkfd_event_state_takes(&ev, 1), "it is the signal of whoever has the id next");
}

/* The driver's event with its waiters, driven as the driver drives it. */
struct sut {
	struct vkfd_event_state ev;
	struct vkfd_waiter_state w[MODEL_WAITERS];
	bool present[MODEL_WAITERS];
};

static bool activate_idle(struct sut *s)
{
	bool had_idle = false;
	int i;

	for (i = 0; i < MODEL_WAITERS; i++) {
		if (!s->present[i] || s->w[i].activated)
			continue;
		vkfd_waiter_activate(&s->ev, &s->w[i]);
		had_idle = true;
	}
	return had_idle;
}

static void sut_end(struct sut *s, int i, bool reports)
{
	bool has_idle = false;
	int j;

	s->present[i] = false;
	if (reports && s->w[i].activated)
		return;
	for (j = 0; j < MODEL_WAITERS; j++)
		has_idle |= s->present[j] && !s->w[j].activated;
	if (vkfd_waiter_give_back(&s->ev, &s->w[i], has_idle))
		activate_idle(s);
}

static bool same(const struct sut *s, const struct model *m)
{
	int i;

	if (s->ev.signaled != m->pending || s->ev.age != model_age(m))
		return false;
	for (i = 0; i < MODEL_WAITERS; i++) {
		if (s->present[i] != (m->waiter[i] != MODEL_ABSENT))
			return false;
		if (s->present[i] && s->w[i].activated != (m->waiter[i] != MODEL_IDLE))
			return false;
	}
	return true;
}

/* One random step of both; false when they differ. */
static bool step(struct sut *s, struct model *m)
{
	int i = (int)rnd(MODEL_WAITERS);
	uint64_t age = 0;
	bool reports;

	switch (rnd(5)) {
	case 0:
	case 1:
		vkfd_event_state_signal(&s->ev, activate_idle(s));
		model_signal(m);
		break;
	case 2:
		vkfd_event_state_reset(&s->ev);
		model_reset(m);
		break;
	default:
		if (s->present[i]) {
			reports = rnd(2) && s->w[i].activated;
			sut_end(s, i, reports);
			model_end(m, i, reports);
			break;
		}
		/* No age, the current one, or the one before it. */
		if (rnd(2))
			age = model_age(m) - rnd(2);
		s->present[i] = true;
		vkfd_waiter_begin(&s->ev, &s->w[i], age);
		model_begin(m, i, age);
	}
	return same(s, m);
}

static void test_model(bool auto_reset)
{
	const int runs = 20000, steps = 40;
	const char *kind = auto_reset ? "auto-reset" : "manual-reset";
	int run, n;

	for (run = 0; run < runs; run++) {
		struct model m = { .auto_reset = auto_reset };
		struct sut s = { 0 };

		vkfd_event_state_init(&s.ev, auto_reset);
		for (n = 0; n < steps; n++) {
			if (step(&s, &m))
				continue;
			tap_ok(false, "%s event does as the model (run %d, step %d)", kind, run, n);
			return;
		}
	}
	tap_ok(true, "%s event does as the model", kind);
}

/* Cases worth naming; the model covers them too, by chance. */
static void test_named(void)
{
	struct vkfd_event_state ev;
	struct vkfd_waiter_state a = { 0 }, b = { 0 };

	vkfd_event_state_init(&ev, true);
	vkfd_event_state_signal(&ev, false);
	tap_ok(ev.signaled, "a signal nobody waits for stays");
	vkfd_waiter_begin(&ev, &a, 0);
	vkfd_waiter_begin(&ev, &b, 0);
	tap_ok(a.activated && !b.activated, "the first of two waits takes it");
	tap_ok(!vkfd_waiter_give_back(&ev, &a, false) && ev.signaled && ev.age == 2,
	       "an interrupted wait gives it back, unaged");
	vkfd_event_state_reset(&ev);
	tap_ok(!vkfd_waiter_give_back(&ev, &a, false) && !ev.signaled, "and only once");

	vkfd_event_state_init(&ev, true);
	vkfd_waiter_begin(&ev, &a, 7);
	tap_ok(a.activated && !a.consumed, "another age completes a wait and takes nothing");
	vkfd_event_state_init(&ev, true);
	vkfd_waiter_begin(&ev, &a, 1);
	tap_ok(!a.activated, "the current age sleeps");

	vkfd_event_state_init(&ev, false);
	vkfd_event_state_signal(&ev, true);
	vkfd_waiter_begin(&ev, &a, 0);
	vkfd_waiter_begin(&ev, &b, 0);
	tap_ok(a.activated && b.activated && ev.signaled, "a manual-reset event wakes all comers");
}

static void test_evaluate(void)
{
	enum vkfd_wait_result want;
	unsigned int n, act, des, all;
	bool bad = false;

	for (all = 0; all < 2; all++)
		for (n = 0; n < 6; n++)
			for (act = 0; act <= n; act++)
				for (des = 0; des + act <= n; des++) {
					bool done = all ? act == n : act > 0 || !n;

					want = done ? VKFD_WAIT_COMPLETE :
					       des ? VKFD_WAIT_FAIL : VKFD_WAIT_PENDING;
					bad |= vkfd_wait_evaluate(all, n, act, des) != want;
				}
	tap_ok(!bad, "any, all, none and destroyed events");
	tap_is(vkfd_wait_evaluate(false, 0, 0, 0), VKFD_WAIT_COMPLETE, "no event: any is complete");
	tap_is(vkfd_wait_evaluate(true, 0, 0, 0), VKFD_WAIT_COMPLETE, "no event: all is complete");
}

/* Marks the candidates of @id in @seen; false if one comes twice or is out of range. */
static bool walk(unsigned char *seen, u32 id, u32 bits, u32 slots)
{
	struct vkfd_partial it;

	memset(seen, 0, slots);
	if (!vkfd_partial_begin(&it, id, bits, slots))
		return true;
	do {
		if (it.next >= slots || seen[it.next]++)
			return false;
	} while (vkfd_partial_advance(&it, slots));
	return true;
}

static void test_partial(void)
{
	static unsigned char seen[VKFD_SIGNAL_EVENT_LIMIT];
	const u32 slots = VKFD_SIGNAL_EVENT_LIMIT;
	bool bad = false, ok = true;
	u32 bits, id, i, mask;

	for (bits = 1; bits <= 32; bits++) {
		mask = bits < 12 ? (1u << bits) - 1 : ~0u;
		for (id = 0; id < slots + 8; id += 1 + rnd(17)) {
			ok &= walk(seen, id, bits, slots);
			for (i = 0; i < slots; i++) {
				bool want = i && id < slots && (i & mask) == (id & mask);

				bad |= seen[i] != want;
			}
		}
	}
	tap_ok(ok, "no candidate twice or out of range");
	tap_ok(!bad, "all ids with those low bits, slot 0 never, and no other");
	ok = walk(seen, 5, 0, slots);
	tap_ok(ok && !memchr(seen, 1, slots), "no valid bit: no candidate");
	ok = walk(seen, ~0u, 32, slots) && !memchr(seen, 1, slots);
	ok &= walk(seen, 0x0fffffff, 28, slots) && !memchr(seen, 1, slots);
	ok &= walk(seen, 0x00ffffff, 24, slots) && !memchr(seen, 1, slots);
	tap_ok(ok, "ids beyond the table: no candidate");
}

static void test_slots_and_ids(void)
{
	u32 first, last;

	tap_ok(!vkfd_slot_is_signaled(~0ull), "~0 is not signalled");
	tap_ok(vkfd_slot_is_signaled(0), "0 is");
	tap_ok(vkfd_slot_is_signaled(0xffffffff00000001ull), "so is a 32-bit write of an id");

	tap_ok(vkfd_event_id_range(true, 4096, &first, &last) && first == 1 && last == 4095,
	       "4095 ids with a whole page");
	tap_ok(vkfd_event_id_range(true, 256, &first, &last) && first == 1 && last == 255,
	       "255 before a page of the driver's is mapped");
	tap_ok(vkfd_event_id_range(true, 100000, &first, &last) && last == 4095,
	       "a larger buffer gives no more");
	tap_ok(!vkfd_event_id_range(true, 1, &first, &last), "none with one slot");
	tap_ok(vkfd_event_id_range(false, 0, &first, &last) && first == 0x40000000 &&
	       last == 0x7fffffff, "ids without a slot start at 0x40000000");
}

static const u32 rates[] = { 100, 250, 300, 1000 };

static void test_ticks(void)
{
	bool early = false, late = false;
	unsigned int r;
	u32 ms;

	for (r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		for (ms = 1; ms < 100000; ms += 1 + rnd(50)) {
			/* Up to a whole tick has passed when the sleep begins. */
			u64 least = (vkfd_wait_ms_to_ticks(ms, rates[r]) - 1) * 1000;

			early |= least < (u64)ms * rates[r];
			late |= least >= (u64)ms * rates[r] + 1000;
		}
	}
	tap_ok(!early, "a wait is never short");
	tap_ok(!late, "nor longer than it has to be");
	tap_is((int64_t)vkfd_wait_ms_to_ticks(0, 250), 0, "0 polls");
	tap_ok(vkfd_wait_ms_to_ticks(0xfffffffe, 1000) == 0x80000000ull,
	       "long finite time-outs are cut, not infinite");
}

/* Ticks that pass in a wait of @ms that is interrupted again and again. */
static u64 restarted(u32 ms, u32 hz, u32 max_sleep)
{
	u64 total = 0;

	for (;;) {
		u64 ticks = vkfd_wait_ms_to_ticks(ms, hz), slept = rnd(max_sleep);

		if (slept >= ticks)
			return total + ticks;
		total += slept;
		ms = vkfd_wait_remainder_ms(ms, ticks - slept, hz);
		if (!ms)
			return total;
	}
}

static void test_restart(void)
{
	bool grew = false, cut = false, rose = false;
	unsigned int r;
	u32 ms, t;

	for (r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		for (ms = 1; ms < 3000; ms += 1 + rnd(30)) {
			u64 whole = vkfd_wait_ms_to_ticks(ms, rates[r]);
			u64 total = restarted(ms, rates[r], 2 + rnd(6));

			grew |= total > whole + 1;
			cut |= total + 1 < whole;
			for (t = 0; t <= whole; t++)
				rose |= vkfd_wait_remainder_ms(ms, t, rates[r]) > ms;
		}
	}
	tap_ok(!grew, "restarts do not extend a wait");
	tap_ok(!cut, "restarts do not cut it short by more than a tick");
	tap_ok(!rose, "a remainder is never more than the whole");
	tap_is((int64_t)vkfd_wait_remainder_ms(VKFD_WAIT_INFINITE, 5, 250), 0xffffffff,
	       "infinite stays infinite");
	tap_is((int64_t)vkfd_wait_remainder_ms(0, 0, 250), 0, "and polling polling");
	tap_ok(vkfd_wait_remainder_ms(0xfffffffe, ~0ull >> 12, 1000) != VKFD_WAIT_INFINITE,
	       "finite never becomes infinite");
}

int main(void)
{
	tap_begin(60);
	test_age();
	test_gone();
	test_named();
	test_model(true);
	test_model(false);
	test_evaluate();
	test_partial();
	test_slots_and_ids();
	test_ticks();
	test_restart();
	return tap_done();
}
