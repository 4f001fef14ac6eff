// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include "bystander.h"
#include "gpu.h"
#include "queue.h"
#include "tap.h"

#define LONG_MS		60000u
#define BATCHES		5u
#define RING_BYTES	4096u

/* Until the pipe ends: a byte in, whether all is well out. */
static void serve(struct bystander *b)
{
	HsaEvent *memory, *hw, *done;
	struct queue q;
	struct gpu gpu;
	unsigned int i;
	uint32_t *p;
	char byte;

	if (gpu_open(&gpu) != HSAKMT_STATUS_SUCCESS ||
	    queue_create(&q, &gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		_exit(1);
	memory = event_new(&gpu, HSA_EVENTTYPE_MEMORY, true);
	hw = event_new(&gpu, HSA_EVENTTYPE_HW_EXCEPTION, true);
	done = event_new(&gpu, HSA_EVENTTYPE_SIGNAL, false);
	if (!memory || !hw || !done)
		_exit(2);
	byte = 1;
	do {
		for (i = 0; i < BATCHES && byte; i++) {
			p = queue_reserve_wait(&q, PM4_RELEASE_MEM_DW, LONG_MS);
			if (!p)
				_exit(3);
			queue_commit(&q, pm4_signal(p, event_slot(done), done->EventId));
			queue_submit(&q);
			byte = event_wait(done, LONG_MS) == HSAKMT_STATUS_SUCCESS;
		}
		if (hsaKmtWaitOnEvent(memory, 0) != HSAKMT_STATUS_WAIT_TIMEOUT ||
		    hsaKmtWaitOnEvent(hw, 0) != HSAKMT_STATUS_WAIT_TIMEOUT)
			byte = 0;
	} while (write(b->from[1], &byte, 1) == 1 && read(b->to[0], &byte, 1) == 1);
	_exit(0);
}

void bystander_start(struct bystander *b)
{
	char byte = 0;

	if (pipe(b->to) || pipe(b->from))
		tap_bail("pipe: %m");
	b->pid = fork();
	if (b->pid < 0)
		tap_bail("fork: %m");
	if (!b->pid) {
		close(b->to[1]);
		close(b->from[0]);
		serve(b);
	}
	close(b->to[0]);
	close(b->from[1]);
	if (read(b->from[0], &byte, 1) != 1 || !byte)
		tap_bail("another process does not work");
}

bool bystander_runs(struct bystander *b)
{
	char byte = 1;

	return write(b->to[1], &byte, 1) == 1 && read(b->from[0], &byte, 1) == 1 && byte;
}

bool bystander_end(struct bystander *b)
{
	int status;

	close(b->to[1]);
	if (waitpid(b->pid, &status, 0) != b->pid)
		tap_bail("waitpid: %m");
	close(b->from[0]);
	return !status;
}
