// SPDX-License-Identifier: MIT
/*
 * Fault injection from the guest: the control page takes lists and refuses bad
 * ones with a place, says what has fired, and what it arms happens. Only faults
 * that the device alone shows: what the driver makes of others is tested with it.
 */
#include <string.h>

#include "gpu.h"
#include "inject.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS	60000u

static struct queue queue;

static uint32_t *reserve(uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(&queue, dw, LONG_MS);

	if (!p)
		tap_bail("the ring does not drain");
	return p;
}

static void write_word(uint64_t *word, uint64_t val)
{
	queue_commit(&queue, pm4_write64(reserve(PM4_WRITE64_DW), gpu_va(word), val));
	queue_submit(&queue);
}

/* A fence: the data write of a RELEASE_MEM, without interrupt. */
static void fence(uint64_t *word, uint64_t val)
{
	queue_commit(&queue, pm4_release_mem(reserve(PM4_RELEASE_MEM_DW), gpu_va(word),
					     RELEASE_MEM_DATA_64, val, RELEASE_MEM_INT_NONE, 0));
	queue_submit(&queue);
}

static void test_lists(void)
{
	char text[VKFD_INJECT_TEXT_SIZE];
	struct inject_state st;

	tap_is(inject_arm("msix:drop@1;msix:nap@2"), VKFD_INJECT_BAD_ACTION, "a bad list is refused");
	tap_ok(strstr(inject_error(), "at 17"), "with its place: %s", inject_error());
	tap_is(inject_count(), 0, "and nothing is armed");
	tap_is(inject_arm("slot:drop@1000000; fetch:delay:2000us@1000000/2"), VKFD_INJECT_OK,
	       "a list is taken");
	tap_is(inject_count(), 2, "both specs");
	tap_is(inject_text(text, sizeof(text)), 0, "the list is read back");
	tap_ok(!strcmp(text, "slot:drop@1000000;fetch:delay:2ms@1000000/2"), "in its shortest form: %s",
	       text);
	tap_ok(inject_status(1, &st) && !st.fired && !st.refused, "nothing has fired");
	tap_ok(!inject_status(2, &st), "there is no third spec");
	tap_is(inject_disarm(), 0, "disarmed");
	tap_is(inject_count(), 0, "nothing is armed");
}

static void test_faults(uint64_t *mem)
{
	uint64_t injected = device_counter(VKFD_CNT_INJECTED);
	struct inject_state st;

	inject_arm("slot:drop@1");
	fence(&mem[0], 1);
	fence(&mem[1], 2);
	tap_ok(wait_word(&mem[1], 2, LONG_MS), "the second fence is written");
	tap_is((int64_t)mem[0], 0, "the first one was dropped");
	tap_ok(inject_status(0, &st), "status");
	tap_is((int64_t)st.passages, 2, "two passages");
	tap_is(st.fired, 1, "one fault");

	/* A minute: it comes when the list is disarmed, not by itself. */
	inject_arm("slot:delay:60s@1");
	fence(&mem[2], 3);
	write_word(&mem[3], 4);
	tap_ok(wait_word(&mem[3], 4, LONG_MS), "a later packet is done");
	tap_is((int64_t)__atomic_load_n(&mem[2], __ATOMIC_ACQUIRE), 0, "before the delayed fence");
	tap_is(inject_held(), 1, "which is held back");
	inject_disarm();
	tap_is((int64_t)__atomic_load_n(&mem[2], __ATOMIC_ACQUIRE), 3, "disarming delivers it");
	tap_is(inject_held(), 0, "nothing is held any more");

	inject_arm("slot:delay:2ms@1");
	fence(&mem[4], 5);
	tap_ok(wait_word(&mem[4], 5, LONG_MS), "a short delay ends by itself");

	inject_arm("device:hang@1");
	write_word(&mem[5], 6);
	tap_ok(!wait_word(&mem[5], 6, 20), "a hung device executes nothing");
	tap_is(inject_device(), VKFD_INJECT_DEVICE_HUNG, "it says so");
	inject_disarm();
	tap_ok(wait_word(&mem[5], 6, LONG_MS), "disarmed, it goes on");
	tap_is(inject_device(), VKFD_INJECT_DEVICE_OK, "and says so");
	tap_is((int64_t)(device_counter(VKFD_CNT_INJECTED) - injected), 4, "four faults in all");
}

int main(void)
{
	struct gpu gpu;
	uint64_t *mem;
	int ret;

	tap_begin(300);
	ret = inject_open();
	if (ret)
		tap_bail("no control page: %s", strerror(-ret));
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	mem = mem_alloc(&gpu, MEM_GTT, GPU_PAGE);
	if (!mem || queue_create(&queue, &gpu, 4096) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no memory or no queue");
	test_lists();
	test_faults(mem);
	tap_is(queue_destroy(&queue), HSAKMT_STATUS_SUCCESS, "the queue is destroyed");
	tap_is(mem_free(mem, GPU_PAGE), HSAKMT_STATUS_SUCCESS, "the memory is freed");
	gpu_close();
	return tap_done();
}
