// SPDX-License-Identifier: MIT
/* The way to the kernel driver: retries and status mapping in one place. */
#include <errno.h>

#include "hsakmt_int.h"

int hsakmt_ioctl(unsigned long request, void *arg)
{
	int fd = hsakmt_ctx.kfd_fd;
	int ret;

	/*
	 * The driver answers EAGAIN when it needs the call made anew, and a
	 * restarted wait carries its remaining time in the argument, so the
	 * same argument is right both times.
	 */
	do {
		ret = hsakmt_sys_ioctl(fd, request, arg);
	} while (ret == -1 && (errno == EINTR || errno == EAGAIN));

	if (ret == -1 && errno == EBADF) {
		/*
		 * A child made without the fork handlers (raw clone) learns here
		 * that the descriptor is its parent's: later calls then fail at
		 * once instead of reaching the kernel.
		 */
		hsakmt_log(HSAKMT_ERR, "hsakmt: /dev/kfd is not open in this process\n");
		hsakmt_detect_fork();
		errno = EBADF;
	}
	return ret;
}

HSAKMT_STATUS hsakmt_call(unsigned long request, void *arg)
{
	return hsakmt_ioctl(request, arg) ? HSAKMT_STATUS_ERROR : HSAKMT_STATUS_SUCCESS;
}
