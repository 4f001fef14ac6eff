// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

#include "bus_error.h"

static sigjmp_buf back;

static void handler(int sig)
{
	siglongjmp(back, sig);
}

bool bus_error_at(const volatile void *p)
{
	struct sigaction sa = { .sa_handler = handler }, old;
	volatile bool ret = true;

	sigaction(SIGBUS, &sa, &old);
	if (!sigsetjmp(back, 1)) {
		(void)*(const volatile uint32_t *)p;
		ret = false;
	}
	sigaction(SIGBUS, &old, NULL);
	return ret;
}
