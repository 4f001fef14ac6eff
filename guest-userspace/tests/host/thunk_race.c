// SPDX-License-Identifier: MIT
/*
 * Threads in everything at once; the sanitizers judge. The checks are that
 * nothing is lost or left.
 */
#include <stdlib.h>
#include <string.h>

#include "thunk_fake.h"

#define THREADS 8
#define ROUNDS 40

static pthread_barrier_t start;
static _Atomic int errors;
static char shared_buf[16384] __attribute__((aligned(4096)));
static char ring[4096] __attribute__((aligned(4096)));

static int signal_now(struct kfd_ioctl_wait_events_args *a, struct kfd_event_data *d)
{
	d[0].signal_event_data.last_event_age++;
	a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return 0;
}

#define CHECK(call) do { if ((call) != HSAKMT_STATUS_SUCCESS) errors++; } while (0)

static void *worker(void *arg)
{
	HsaMemFlags flags = { .ui32 = { .HostAccess = 1 } };
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_SIGNAL };

	(void)arg;
	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++) {
		HsaQueueResource res = { 0 };
		HsaNodeProperties props;
		HsaPointerInfo info;
		uint64_t age = 1;
		HsaEvent *ev;
		void *mem;

		CHECK(hsaKmtCreateEvent(&desc, false, false, &ev));
		CHECK(hsaKmtWaitOnEvent_Ext(ev, 0, &age));
		CHECK(hsaKmtAllocMemory(0, 4096, flags, &mem));
		CHECK(hsaKmtMapMemoryToGPU(mem, 4096, NULL));
		CHECK(hsaKmtRegisterMemory(shared_buf, sizeof(shared_buf)));
		CHECK(hsaKmtQueryPointerInfo(mem, &info));
		CHECK(hsaKmtGetNodeProperties(FAKE_GPU_NODE, &props));
		CHECK(hsaKmtCreateQueue(FAKE_GPU_NODE, HSA_QUEUE_SDMA, 100, 0, ring, sizeof(ring), NULL,
					&res));
		CHECK(hsaKmtUpdateQueue(res.QueueId, 50, 0, ring, sizeof(ring), NULL));
		CHECK(hsaKmtDestroyQueue(res.QueueId));
		CHECK(hsaKmtDeregisterMemory(shared_buf));
		CHECK(hsaKmtUnmapMemoryToGPU(mem));
		CHECK(hsaKmtFreeMemory(mem, 4096));
		CHECK(hsaKmtDestroyEvent(ev));
		if (hsaKmtOpenKFD() != HSAKMT_STATUS_KERNEL_ALREADY_OPENED)
			errors++;
		CHECK(hsaKmtCloseKFD());
	}
	return NULL;
}

static void everything(void)
{
	pthread_t thread[THREADS];

	fake_open();
	fake.wait = signal_now;
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	tap_is(errors, 0, "%d threads, %d rounds: no call fails", THREADS, ROUNDS);
	tap_is(fake.event_pages, 1, "one events page");
	tap_is(fake.live_bos, 3, "left: MMIO page, doorbells, events page");
	tap_is(fake.live_queues, 0, "no queue left");
	tap_is(fake.live_events, 0, "no event left");
}

/* Snapshots come and go under readers. */
static _Atomic int stop;

static void *reader(void *arg)
{
	HsaMemoryProperties mem[8];
	HsaNodeProperties props;
	HsaClockCounters c;

	(void)arg;
	while (!stop) {
		hsaKmtGetNodeProperties(FAKE_GPU_NODE, &props);
		hsaKmtGetNodeMemoryProperties(FAKE_GPU_NODE, 8, mem);
		hsaKmtGetClockCounters(FAKE_GPU_NODE, &c);
	}
	return NULL;
}

static void snapshots(void)
{
	HsaSystemProperties sys;
	pthread_t thread[2];
	int bad = 0;

	fake_open();
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, reader, NULL);
	for (int i = 0; i < 50; i++) {
		hsaKmtReleaseSystemProperties();
		bad += hsaKmtAcquireSystemProperties(&sys) != HSAKMT_STATUS_SUCCESS;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	tap_is(bad, 0, "snapshots are taken and released under readers");
	tap_is(fake.live_bos, 1, "left: the MMIO page");
}

int main(void)
{
	tap_begin(240);
	fake_scenario("everything at once", everything);
	fake_scenario("snapshots under readers", snapshots);
	return tap_done();
}
