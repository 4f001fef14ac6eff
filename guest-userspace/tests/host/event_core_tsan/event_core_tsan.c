/* SPDX-License-Identifier: MIT */
/*
 * guest-driver/vkfd_event_core.c under threads and TSan, locked as the driver locks it.
 * "GPU" threads do work, write slots and raise interrupts; host threads wait for that
 * work, which is plain memory: a wake-up that comes without the ordering it promises is
 * a data race that TSan reports. Others set, reset, create, destroy, and interrupt waits.
 *
 * Seen to fail: without the event's lock in take_slot() of driver_shim.c (TSan); with
 * vkfd_waiter_give_back() doing nothing (a lost signal: the watchdog); with a slot left
 * signalled (one seen twice).
 */
#include <sched.h>
#include <stdlib.h>

#include "driver_shim.h"
#include "tap.h"

#define LANES		12u
#define GPUS		3u
#define ROUNDS		1500u
#define CHURNERS	3u
#define CHURN_OPS	3000u
#define SHARED_EVENTS	24u

/**
 * struct lane - a thread that has work done, one at a time
 * @request: work asked for and not yet begun; the GPU threads poll it
 * @data: what the work writes: no atomic, no lock
 */
struct lane {
	pthread_t thread;
	struct shim *sh;
	unsigned int number;
	u32 id;
	_Atomic u64 request;
	u64 data, done;
	u64 lost, twice, wrong, interrupted;
	struct shim_wait wait;
};

static struct shim shim;
static struct lane lane[LANES];
static _Atomic bool stop;
static _Atomic u32 shared_id[SHARED_EVENTS];

static void *gpu(void *arg)
{
	unsigned int first = (unsigned int)(uintptr_t)arg, i;
	u64 n = 0;

	while (!stop) {
		for (i = first; i < LANES; i += GPUS) {
			u64 want = atomic_exchange(&lane[i].request, 0);

			if (!want)
				continue;
			lane[i].data = want;
			shim.page[lane[i].id] = lane[i].id;
			/* Named well, cut off, or by nonsense: then the slots tell. */
			n++;
			shim_interrupt(&shim, n % 3 == 1 ? lane[i].id & 0xf : n % 3 ? lane[i].id : 0x7fffffff,
				       n % 3 == 1 ? 4 : 32);
		}
		sched_yield();
	}
	return NULL;
}

/* Waits for its own event, by age or not, interrupted at times. */
static void *host(void *arg)
{
	struct lane *l = arg;
	bool by_age = l->number & 1;
	u64 last = 1;

	for (l->done = 0; l->done < ROUNDS;) {
		struct shim_result r;
		u64 age = by_age ? last : 0;

		l->request = l->done + 1;
		/* Interrupted waits are taken up again, as the kernel does it. */
		do {
			r = shim_wait_events(l->sh, &l->wait, &l->id, &age, 1, false, true);
			l->interrupted += r.interrupted;
		} while (r.interrupted);
		if (r.result != VKFD_WAIT_COMPLETE || !(r.fired & 1)) {
			l->lost++;
			break;
		}
		l->wrong += by_age && age != last + 1;
		last = by_age ? age : last;
		l->done++;
		if (l->data != l->done) {
			l->twice++;
			break;
		}
		/* Nothing is left for who looks again. */
		age = 0;
		r = shim_wait_events(l->sh, &l->wait, &l->id, &age, 1, false, false);
		l->twice += r.result != VKFD_WAIT_PENDING;
	}
	return NULL;
}

static void *interrupter(void *arg)
{
	u64 n;

	(void)arg;
	for (n = 0; !stop; n++) {
		shim_wait_interrupt(&lane[n % LANES].wait);
		sched_yield();
	}
	return NULL;
}

/* Events that come and go under waits, signals and interrupts of others. */
static void *churn(void *arg)
{
	u64 rnd = 0x9e3779b97f4a7c15ull * (1 + (uintptr_t)arg);
	struct shim_wait wait;
	unsigned int n;

	shim_wait_init(&wait);
	for (n = 0; n < CHURN_OPS; n++) {
		u32 ids[SHIM_WAIT_MAX], i;
		u64 ages[SHIM_WAIT_MAX] = { 0 };
		_Atomic u32 *slot;

		rnd ^= rnd << 13;
		rnd ^= rnd >> 7;
		rnd ^= rnd << 17;
		slot = &shared_id[(rnd >> 32) % SHARED_EVENTS];
		switch ((rnd >> 16) % 8) {
		case 0:
		case 1:
			i = atomic_exchange(slot, shim_create(&shim, rnd & 1));
			shim_destroy(&shim, i);
			break;
		case 2:
			shim_destroy(&shim, atomic_exchange(slot, 0));
			break;
		case 3:
			shim_set(&shim, *slot, rnd & 2);
			break;
		case 4:
			i = *slot;
			if (i)
				shim.page[i] = i;
			shim_interrupt(&shim, i, rnd & 1 ? 32 : 24);
			break;
		default:
			for (i = 0; i < SHIM_WAIT_MAX; i++) {
				ids[i] = shared_id[(rnd >> (8 * i)) % SHARED_EVENTS];
				ages[i] = rnd >> 60;
			}
			/* Sleeps at most until the next interruption, which is there already. */
			shim_wait_interrupt(&wait);
			shim_wait_events(&shim, &wait, ids, ages, SHIM_WAIT_MAX, rnd & 4, rnd & 8);
		}
	}
	return NULL;
}

int main(void)
{
	u64 seen = 0, lost = 0, twice = 0, wrong = 0, interrupted = 0;
	pthread_t gpus[GPUS], churns[CHURNERS], storm;
	unsigned int i, ages = 0, left = 0;

	tap_begin(240);
	shim_init(&shim, VKFD_SIGNAL_EVENT_LIMIT);
	for (i = 0; i < LANES; i++) {
		lane[i].sh = &shim;
		lane[i].number = i;
		lane[i].id = shim_create(&shim, true);
		shim_wait_init(&lane[i].wait);
	}
	for (i = 0; i < GPUS; i++)
		pthread_create(&gpus[i], NULL, gpu, (void *)(uintptr_t)i);
	for (i = 0; i < LANES; i++)
		pthread_create(&lane[i].thread, NULL, host, &lane[i]);
	for (i = 0; i < CHURNERS; i++)
		pthread_create(&churns[i], NULL, churn, (void *)(uintptr_t)i);
	pthread_create(&storm, NULL, interrupter, NULL);
	for (i = 0; i < LANES; i++) {
		pthread_join(lane[i].thread, NULL);
		seen += lane[i].done;
		lost += lane[i].lost;
		twice += lane[i].twice;
		wrong += lane[i].wrong;
		interrupted += lane[i].interrupted;
		ages += shim_age(&shim, lane[i].id) == ROUNDS + 1;
	}
	for (i = 0; i < CHURNERS; i++)
		pthread_join(churns[i], NULL);
	stop = true;
	pthread_join(storm, NULL);
	for (i = 0; i < GPUS; i++)
		pthread_join(gpus[i], NULL);

	tap_is((int64_t)seen, LANES * ROUNDS, "every piece of work is seen, with its data");
	tap_is((int64_t)lost, 0, "none is lost");
	tap_is((int64_t)twice, 0, "none is seen twice");
	tap_is((int64_t)wrong, 0, "each is one age");
	tap_is(ages, LANES, "and at the end there are as many ages as signals");
	tap_ok(interrupted > 0, "waits were interrupted meanwhile (%llu)", (unsigned long long)interrupted);
	for (i = 0; i < SHARED_EVENTS; i++)
		shim_destroy(&shim, shared_id[i]);
	for (i = 0; i < LANES; i++)
		shim_destroy(&shim, lane[i].id);
	for (i = 0; i < VKFD_SIGNAL_EVENT_LIMIT; i++)
		left += shim.table[i] || shim.sleepers[i];
	tap_is(left, 0, "no event and no sleeper is left");
	return tap_done();
}
