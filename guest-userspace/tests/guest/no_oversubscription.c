// SPDX-License-Identifier: MIT
/*
 * Run lists that must fit on the hardware, sched_policy 1: as many queues and processes as
 * there are slots and VMIDs run, without ever giving a slot away, and one more is EPERM;
 * what becomes free can be had again. The module is loaded anew for it, and back after it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "inject.h"
#include "raw_set.h"
#include "tap.h"

#define LONG_MS		60000u
#define COMPUTE		24u
#define SDMA		16u
#define VMIDS		8u

static struct raw_set r;

static unsigned int create(uint32_t type, unsigned int n)
{
	unsigned int i = 0;

	while (i < n && !raw_set_create(&r, type))
		i++;
	return i;
}

/**
 * struct other - another process, which does as it is told
 * @ask, @answer: pipes: a kind of queue to create, and what came of it
 */
struct other {
	pid_t pid;
	int ask, answer;
};

static void other_main(int ask, int answer)
{
	uint32_t type, runs = 0;
	int err;

	raw_set_open(&r);
	while (read(ask, &type, sizeof(type)) == sizeof(type)) {
		err = raw_set_create(&r, type);
		/* Whoever gets a queue uses it, and the others. */
		if (!err && raw_set_run(&r, ++runs << 16, LONG_MS))
			err = -ETIME;
		if (write(answer, &err, sizeof(err)) != sizeof(err))
			_exit(1);
	}
	_exit(0);
}

static void other_start(struct other *o)
{
	int ask[2], answer[2];

	if (pipe(ask) || pipe(answer))
		tap_bail("pipe: %m");
	o->pid = fork();
	if (o->pid < 0)
		tap_bail("fork: %m");
	if (!o->pid) {
		close(ask[1]);
		close(answer[0]);
		other_main(ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	o->ask = ask[1];
	o->answer = answer[0];
}

static int other_create(struct other *o, uint32_t type)
{
	int err;

	if (write(o->ask, &type, sizeof(type)) != sizeof(type) ||
	    read(o->answer, &err, sizeof(err)) != sizeof(err))
		tap_bail("a process is gone");
	return err;
}

static void other_end(struct other *o)
{
	int status;

	close(o->ask);
	kill(o->pid, SIGKILL);
	waitpid(o->pid, &status, 0);
	close(o->answer);
}

/* All slots are one process's, then one of them another's. */
static void queues(void *arg)
{
	const uint32_t compute = KFD_IOC_QUEUE_TYPE_COMPUTE, sdma = KFD_IOC_QUEUE_TYPE_SDMA;
	struct other *o = arg;
	uint64_t swaps;

	raw_set_open(&r);
	tap_is(create(compute, COMPUTE), COMPUTE, "%u compute queues", COMPUTE);
	tap_is(raw_set_create(&r, compute), -EPERM, "one more: EPERM");
	tap_is(create(sdma, SDMA), SDMA, "%u SDMA queues", SDMA);
	tap_is(other_create(o, compute), -EPERM, "a compute queue of another process: EPERM");
	tap_is(other_create(o, sdma), -EPERM, "an SDMA queue of another process: EPERM");
	swaps = device_counter(VKFD_CNT_QUEUE_SWAP);
	tap_is(raw_set_run(&r, 1 << 16, LONG_MS), 0, "all of them run");
	tap_is(raw_set_destroy(&r, 0), 0, "a compute queue is destroyed");
	tap_is(other_create(o, compute), 0, "the other process gets one, which runs");
	tap_is(raw_set_create(&r, compute), -EPERM, "and then none is left");
	tap_is(raw_set_destroy(&r, COMPUTE), 0, "an SDMA queue is destroyed");
	tap_is(other_create(o, sdma), 0, "the other process gets one, which runs");
	tap_is(other_create(o, sdma), -EPERM, "and then none is left");
	if (inject_open())
		tap_skip("no control page in this device", "no queue was pushed off its slot");
	else
		tap_is((int64_t)(device_counter(VKFD_CNT_QUEUE_SWAP) - swaps), 0,
		       "no queue was pushed off its slot");
	raw_set_close(&r);
}

static void processes(void)
{
	const uint32_t compute = KFD_IOC_QUEUE_TYPE_COMPUTE;
	struct other o[VMIDS + 1];
	unsigned int i, good = 0;

	for (i = 0; i <= VMIDS; i++)
		other_start(&o[i]);
	for (i = 0; i < VMIDS; i++)
		good += !other_create(&o[i], compute);
	tap_is(good, VMIDS, "%u processes have a queue that runs", VMIDS);
	tap_is(other_create(&o[VMIDS], compute), -EPERM, "one more: EPERM");
	tap_is(other_create(&o[0], compute), 0, "those that have one get more");
	other_end(&o[3]);
	/* Its queues are gone some time after it. */
	for (i = 0; i < 600 && other_create(&o[VMIDS], compute) == -EPERM; i++)
		usleep(100000);
	tap_ok(i < 600, "when one of them is killed the next gets a queue that runs");
	for (i = 0; i <= VMIDS; i++)
		if (i != 3)
			other_end(&o[i]);
}

int main(void)
{
	int policy = driver_sched_policy();
	struct other o;

	tap_begin(300);
	if (kernel_is_slow())
		tap_skip_all("leaks of a module that was unloaded are nobody's");
	if (policy < 0 || !driver_reload(1))
		tap_skip_all("vkfd is not a module that can be loaded again");
	tap_is(driver_sched_policy(), 1, "the module is loaded with sched_policy=1");
	other_start(&o);
	tap_child("all slots", queues, &o);
	other_end(&o);
	processes();
	tap_ok(driver_reload(policy), "the module is loaded as it was");
	tap_is(driver_sched_policy(), policy, "with sched_policy=%d", policy);
	return tap_done();
}
