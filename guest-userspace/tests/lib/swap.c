// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

#include "swap.h"
#include "tap.h"

#define PAGE	4096u
#define ZRAM	"/dev/zram0"

bool file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* The header of a swap area, as mkswap(8) writes it. */
static bool make_swap(unsigned int bytes)
{
	static char page[PAGE];
	uint32_t info[3] = { 1, bytes / PAGE - 1, 0 };
	int fd = open(ZRAM, O_RDWR | O_CLOEXEC);
	bool ok;

	memcpy(page + 1024, info, sizeof(info));
	memcpy(page + PAGE - 10, "SWAPSPACE2", 10);
	ok = fd >= 0 && pwrite(fd, page, sizeof(page), 0) == (ssize_t)sizeof(page) && !fsync(fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool swap_begin(unsigned int bytes)
{
	char size[16];

	snprintf(size, sizeof(size), "%u", bytes);
	/* It may be there, or built in: what counts is the device. */
	if (system("modprobe zram 2>/dev/null"))
		tap_diag("zram is not loaded");
	return file_put("/sys/block/zram0/disksize", size) && make_swap(bytes) && !swapon(ZRAM, 0);
}

bool swap_end(void)
{
	return !swapoff(ZRAM) && file_put("/sys/block/zram0/reset", "1");
}
