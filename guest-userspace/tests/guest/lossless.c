// SPDX-License-Identifier: MIT
/*
 * No completion is lost and none is seen twice while the device loses every 1000th
 * MSI-X message, sends every 1500th twice, and writes every 2000th signal slot after its
 * interrupt. 24 queues, 16 threads that wait; 1,000,000 completions with VKFD_FULL.
 *
 * Every queue has one batch in flight, so each completion has a wake-up of its own:
 * a wake-up without the batch's fence would be one seen twice, a time-out is one lost.
 * Threads with two queues tell by age which event fired; there the age also counts:
 * after n completions it is exactly n + 1.
 *
 * Mutations it was seen to fail with: the driver's recovery never looks (lost);
 * vkfd_event_take_slot() leaves the slot as it is (twice).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "counters.h"
#include "driver.h"
#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define QUEUES		24u
#define THREADS		16u
#define RING_BYTES	4096u
#define FULL		1000000u
#define PART		(FULL / 20)
/* A fence of each queue on a cache line of its own. */
#define FENCE_STRIDE	8u

/**
 * struct lane - one queue with its event
 * @fence: the GPU writes the number of the batch here
 * @next: number of the batch in flight; the first is 1
 * @age: of the event, as the last wait returned it
 */
struct lane {
	struct queue q;
	HsaEvent *ev;
	volatile uint64_t *fence;
	uint64_t next, last, age;
};

struct worker {
	pthread_t thread;
	struct lane *lane[2];
	HsaEvent *ev[2];
	unsigned int n;
	uint64_t seen, lost, twice, wakes;
};

static struct gpu gpu;
static struct lane lane[QUEUES];

/* As many as are asked for, or the few more that give every queue the same number. */
static uint64_t completions(void)
{
	return (scaled(FULL, PART) + QUEUES - 1) / QUEUES * QUEUES;
}
static struct worker worker[THREADS];
static atomic_bool failed;

static bool submit(struct lane *l)
{
	uint32_t *p = queue_reserve_wait(&l->q, PM4_WRITE64_DW + PM4_RELEASE_MEM_DW, LONG_MS);

	if (!p)
		return false;
	p = pm4_write64(p, gpu_va(l->fence), ++l->next);
	queue_commit(&l->q, pm4_signal(p, event_slot(l->ev), l->ev->EventId));
	queue_submit(&l->q);
	return true;
}

/* The event of @l fired: its batch must be done, and is told by nothing else. */
static void fired(struct worker *w, struct lane *l)
{
	w->wakes++;
	if (__atomic_load_n(l->fence, __ATOMIC_ACQUIRE) != l->next || l->last == l->next) {
		w->twice++;
		return;
	}
	w->seen++;
	l->last = l->next;
}

static void *work(void *arg)
{
	uint64_t per_lane = completions() / QUEUES, ages[2], left;
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; i < w->n; i++)
		if (!submit(w->lane[i]))
			w->lost++;
	for (left = w->n * per_lane; left && !w->lost && !w->twice && !failed;) {
		HSAKMT_STATUS s;

		for (i = 0; i < w->n; i++)
			ages[i] = w->lane[i]->age;
		s = events_wait(w->ev, w->n, false, LONG_MS, w->n > 1 ? ages : NULL);
		if (s != HSAKMT_STATUS_SUCCESS) {
			w->lost++;
			break;
		}
		for (i = 0; i < w->n; i++) {
			struct lane *l = w->lane[i];

			if (w->n > 1 && ages[i] == l->age)
				continue;
			if (w->n > 1 && ages[i] != l->age + 1)
				w->twice++;
			l->age = ages[i];
			fired(w, l);
			if (l->last != l->next || l->next > per_lane)
				continue;
			left--;
			if (l->next < per_lane && !submit(l))
				w->lost++;
		}
	}
	if (w->lost || w->twice)
		failed = true;
	return NULL;
}

static void setup(void)
{
	volatile uint64_t *fences;
	unsigned int i;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	fences = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	if (!fences)
		tap_bail("no memory");
	for (i = 0; i < QUEUES; i++) {
		lane[i].fence = &fences[i * FENCE_STRIDE];
		lane[i].age = 1;
		lane[i].ev = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
		if (!lane[i].ev || queue_create(&lane[i].q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("event or queue %u", i);
		worker[i % THREADS].lane[i / THREADS] = &lane[i];
		worker[i % THREADS].ev[i / THREADS] = lane[i].ev;
		worker[i % THREADS].n++;
	}
}

static const struct {
	const char *what;
	const char *spec;	/* %u: the period */
	unsigned int period;
} fault[] = {
	{ "messages dropped", "msix:drop@%u/%u", 1000 },
	{ "messages doubled", "msix:dup@%u/%u", 1500 },
	{ "slot writes delayed", "slot:delay:200us@%u/%u", 2000 },
};

#define FAULTS (sizeof(fault) / sizeof(fault[0]))

static void arm(void)
{
	char text[256], one[64];
	unsigned int i;
	int r;

	text[0] = 0;
	for (i = 0; i < FAULTS; i++) {
		/* A run that is short all the same has its share of faults. */
		unsigned int period = kernel_is_slow() ? fault[i].period / 10 : fault[i].period;

		snprintf(one, sizeof(one), fault[i].spec, period, period);
		strcat(text, i ? ";" : "");
		strcat(text, one);
	}
	r = inject_arm(text);
	if (r)
		tap_bail("cannot arm '%s': %s", text, r < 0 ? "no control page" : inject_error());
	tap_diag("armed: %s", text);
}

int main(void)
{
	int64_t recovered_irq, recovered_slots;
	uint64_t want, seen = 0, lost = 0, twice = 0, wakes = 0, t;
	unsigned int i, same = 0;
	struct inject_state st;

	tap_begin(tap_full() ? 3500 : 290);
	if (inject_count() < 0)
		tap_skip_all("the device has no fault injection");
	setup();
	recovered_irq = kfd_counter("ih", "recovered_interrupts");
	recovered_slots = kfd_counter("events", "recovered_slots");
	arm();
	t = now_ns();
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			tap_bail("no thread");
	for (i = 0; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		seen += worker[i].seen;
		lost += worker[i].lost;
		twice += worker[i].twice;
		wakes += worker[i].wakes;
	}
	t = now_ns() - t;
	want = completions();
	for (i = 0; i < FAULTS; i++) {
		if (!inject_status(i, &st))
			memset(&st, 0, sizeof(st));
		tap_ok(st.fired > 0, "%s", fault[i].what);
		tap_diag("%s: %u of %llu passages, %u more were due together with another", fault[i].what, st.fired,
			 (unsigned long long)st.passages, st.refused);
	}
	tap_is((int64_t)inject_held(), 0, "nothing is held back at the end");
	inject_disarm();
	recovered_irq = kfd_counter("ih", "recovered_interrupts") - recovered_irq;
	recovered_slots = kfd_counter("events", "recovered_slots") - recovered_slots;
	tap_diag("recovered: %lld interrupts, %lld slots; %llu wake-ups in %llu ms",
		 (long long)recovered_irq, (long long)recovered_slots, (unsigned long long)wakes,
		 (unsigned long long)t / 1000000);
	tap_is((int64_t)seen, (int64_t)want, "completions over %u queues, seen by %u threads", QUEUES, THREADS);
	tap_is((int64_t)lost, 0, "none is lost");
	tap_is((int64_t)twice, 0, "none is seen twice");
	tap_ok(recovered_irq > 0, "the driver has recovered interrupts");
	for (i = 0; i < QUEUES; i++)
		same += lane[i].last == want / QUEUES && *lane[i].fence == want / QUEUES &&
			hsaKmtWaitOnEvent(lane[i].ev, 0) == HSAKMT_STATUS_WAIT_TIMEOUT;
	tap_is(same, QUEUES, "every queue is at its end, and no event is left signalled");
	for (i = 0; i < QUEUES; i++)
		queue_destroy(&lane[i].q);
	gpu_close();
	return tap_done();
}
