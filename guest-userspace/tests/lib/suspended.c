// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "gpu_sysfs.h"
#include "suspended.h"

#define PM_TEST		"/sys/power/pm_test"
#define PM_STATE	"/sys/power/state"
#define PM_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

bool suspend_begin(void)
{
	if (access(PM_TEST, W_OK) || !write_text(PM_TEST, "devices"))
		return false;
	/* Otherwise the kernel spins for 5 s each time, which a busy host makes a lockup of. */
	write_text(PM_DELAY, "0");
	return true;
}

bool suspend_once(void)
{
	return write_text(PM_STATE, "freeze");
}

void suspend_end(void)
{
	write_text(PM_DELAY, "5");
	write_text(PM_TEST, "none");
}
