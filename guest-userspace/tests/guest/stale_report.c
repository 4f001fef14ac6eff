// SPDX-License-Identifier: MIT
/*
 * A queue with a bad packet is destroyed while interrupts of the GPU are held back, and
 * another one gets its slot and its doorbell. The driver must hear of the bad packet
 * before it lets go of the queue, and when the interrupt comes at last it must not stop
 * the new one. Interrupts are held back by MSI-X's function mask, in PCI configuration
 * space.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define DRIVER		"/sys/bus/pci/drivers/vkfd"
#define CAP_LIST	0x34
#define CAP_MSIX	0x11
#define MSIX_CONTROL	2
#define MSIX_MASKALL	0x4000u

#define IT_UNKNOWN	0xff
#define BAD_DW		3u
#define ROUNDS		10u
#define LONG_MS		60000u

static struct gpu gpu;
static uint64_t *word, next = 1;

static int open_config(void)
{
	DIR *dir = opendir(DRIVER);
	const struct dirent *e;
	char path[320];
	int fd = -1;

	while (dir && fd < 0 && (e = readdir(dir))) {
		if (!strchr(e->d_name, ':'))
			continue;
		snprintf(path, sizeof(path), DRIVER "/%s/config", e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* Offset of MSI-X's message control, 0 if there is none. */
static off_t find_control(int fd)
{
	uint8_t pos = 0, cap[2];

	if (pread(fd, &pos, 1, CAP_LIST) != 1)
		return 0;
	while (pos && pread(fd, cap, 2, pos) == 2) {
		if (cap[0] == CAP_MSIX)
			return pos + MSIX_CONTROL;
		pos = cap[1];
	}
	return 0;
}

static void hold_interrupts(int fd, off_t control, bool hold)
{
	uint16_t v;

	if (pread(fd, &v, sizeof(v), control) != sizeof(v))
		tap_bail("PCI configuration space: %m");
	v = (uint16_t)(hold ? v | MSIX_MASKALL : v & ~MSIX_MASKALL);
	if (pwrite(fd, &v, sizeof(v), control) != sizeof(v))
		tap_bail("PCI configuration space: %m");
}

static void create(struct queue *q)
{
	if (queue_create(q, &gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
		tap_bail("queue");
}

/* A store by @q, seen by polling; what other queues were given before is then done too. */
static bool runs(struct queue *q)
{
	uint32_t *p = queue_reserve_wait(q, PM4_WRITE64_DW, LONG_MS);

	if (!p)
		return false;
	queue_commit(q, pm4_write64(p, gpu_va(word), next));
	queue_submit(q);
	return wait_word(word, next++, LONG_MS);
}

static void submit_bad(struct queue *q)
{
	uint32_t *p = queue_reserve(q, BAD_DW);

	p[0] = PACKET3_COMPUTE(IT_UNKNOWN, BAD_DW - 1);
	p[1] = 0;
	p[2] = 0;
	queue_commit(q, p + BAD_DW);
	queue_submit(q);
}

int main(void)
{
	unsigned int i, heard = 0, alive = 0;
	HsaEvent *hw, *done;
	struct queue q, other;
	off_t control;
	int config;

	tap_begin(300);
	config = open_config();
	control = config < 0 ? 0 : find_control(config);
	if (!control)
		tap_skip_all("no MSI-X capability to be seen");
	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no GPU");
	word = mem_alloc(&gpu, MEM_SYSTEM, GPU_PAGE);
	hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, false);
	done = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!word || !hw || !done)
		tap_bail("memory or events");
	create(&other);
	for (i = 0; i < ROUNDS; i++) {
		uint32_t *p;

		create(&q);
		hold_interrupts(config, control, true);
		submit_bad(&q);
		if (!runs(&other) || !runs(&other))
			tap_bail("the other queue does not run");
		queue_destroy(&q);
		heard += hsaKmtWaitOnEvent(hw, 0) == HSAKMT_STATUS_SUCCESS;
		create(&q);
		hold_interrupts(config, control, false);

		/* Behind this one the report has been acted on, whatever that was. */
		p = queue_reserve_wait(&other, PM4_RELEASE_MEM_DW, LONG_MS);
		queue_commit(&other, pm4_signal(p, event_slot(done), done->EventId));
		queue_submit(&other);
		if (hsaKmtWaitOnEvent(done, LONG_MS) != HSAKMT_STATUS_SUCCESS)
			tap_bail("interrupts do not come back");
		alive += runs(&q) && runs(&q) &&
			 /* one that was stopped refuses this */
			 hsaKmtUpdateQueue(q.res.QueueId, 100, HSA_QUEUE_PRIORITY_NORMAL, q.ring,
					   GPU_PAGE, NULL) == HSAKMT_STATUS_SUCCESS;
		queue_destroy(&q);
		if (alive <= i)
			break;
	}
	tap_is(heard, ROUNDS, "bad packets heard of before the queue was gone");
	tap_is(alive, ROUNDS, "new queues that go on");
	queue_destroy(&other);
	gpu_close();
	return tap_done();
}
