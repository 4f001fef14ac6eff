// SPDX-License-Identifier: MIT
/*
 * Clocks: the counters of the ioctl run, and the GPU's time stamps are taken
 * from the same counter the ioctl reads.
 */
#include <unistd.h>

#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define GPU_HZ		100000000.0

static struct gpu gpu;

static HsaClockCounters counters(void)
{
	HsaClockCounters c;

	if (hsaKmtGetClockCounters(gpu.node, &c) != HSAKMT_STATUS_SUCCESS)
		tap_bail("hsaKmtGetClockCounters failed");
	return c;
}

static void test_run(void)
{
	HsaClockCounters a = counters(), b = a, c;
	unsigned int i, back = 0;
	double ratio;

	tap_is((int64_t)a.SystemClockFrequencyHz, 1000000000, "the system clock counts ns");
	/* Until 200 ms have passed by the system's clock. */
	for (i = 0; b.SystemClockCounter - a.SystemClockCounter < 200000000; i++) {
		c = counters();
		back += c.GPUClockCounter < b.GPUClockCounter || c.CPUClockCounter < b.CPUClockCounter ||
			c.SystemClockCounter < b.SystemClockCounter;
		b = c;
	}
	tap_is(back, 0, "no clock runs backwards in %u readings", i);
	tap_ok(b.GPUClockCounter > a.GPUClockCounter, "the GPU clock runs");
	/*
	 * 100 MHz of virtual time. The guest's own clock is calibrated at boot and
	 * need not agree to better than a few per cent.
	 */
	ratio = (double)(b.GPUClockCounter - a.GPUClockCounter) /
		((double)(b.SystemClockCounter - a.SystemClockCounter) * GPU_HZ / 1e9);
	tap_ok(ratio > 0.8 && ratio < 1.25, "at 100 MHz (%.3f of it)", ratio);
}

static void test_stamps(void)
{
	volatile uint64_t *stamp = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	unsigned int i, early = 0, late = 0, order = 0;
	struct queue q;

	if (!stamp || queue_create(&q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	for (i = 0; i < 100; i++) {
		HsaClockCounters before = counters(), after;
		uint32_t *p = queue_reserve_wait(&q, 2 * PM4_RELEASE_MEM_DW, LONG_MS);

		if (!p)
			tap_bail("the ring does not drain");
		p = pm4_release_mem(p, gpu_va(&stamp[0]), RELEASE_MEM_DATA_GPU_CLOCK, 0,
				    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
		p = pm4_release_mem(p, gpu_va(&stamp[1]), RELEASE_MEM_DATA_GPU_CLOCK, 0,
				    RELEASE_MEM_INT_WRITE_CONFIRM, 0);
		queue_commit(&q, p);
		queue_submit(&q);
		if (!queue_wait_idle(&q, LONG_MS))
			tap_bail("time stamps do not come");
		after = counters();
		early += stamp[0] < before.GPUClockCounter;
		late += stamp[1] > after.GPUClockCounter;
		order += stamp[1] < stamp[0];
	}
	tap_is(early, 0, "no time stamp is older than a reading before its doorbell");
	tap_is(late, 0, "none is newer than a reading after it");
	tap_is(order, 0, "two in a row are in order");
	queue_destroy(&q);
}

int main(void)
{
	HsaClockCounters c;
	HSAKMT_STATUS s;

	tap_begin(300);
	s = gpu_open(&gpu);
	if (s != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU: %s", status_name(s));
	test_run();
	tap_is(hsaKmtGetClockCounters(0, &c), 0, "the CPU node has counters");
	tap_is((int64_t)c.GPUClockCounter, 0, "but no GPU clock");
	test_stamps();
	gpu_close();
	return tap_done();
}
