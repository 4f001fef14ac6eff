// SPDX-License-Identifier: MIT
/*
 * What an interrupt-driven device of the same machine achieves: random reads of one
 * sector from the first NVMe namespace, past the page cache, with the kernel's own
 * asynchronous calls. No library: Debian's would be one more package of the guest for
 * four system calls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define SECTOR		512u
#define MAX_DEPTH	32u
#define NAMESPACE	"nvme0n1"
#define SCAN_MS		30000	/* until a controller that is there has found its namespace */

static bool has_controller(void)
{
	DIR *d = opendir("/sys/class/nvme");
	struct dirent *e;
	bool any = false;

	while (d && (e = readdir(d)))
		any |= e->d_name[0] != '.';
	if (d)
		closedir(d);
	return any;
}

/* The node appears when the kernel has scanned the controller, some time after probe. */
static bool wait_for_node(void)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	uint64_t end = now_ns() + SCAN_MS * 1000000ull;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[4096];
	bool there = false;

	if (fd < 0)
		return false;
	/* Watch, then look: what comes in between is seen by one of them. */
	if (inotify_add_watch(fd, "/dev", IN_CREATE) >= 0)
		for (;;) {
			there = !access("/dev/" NAMESPACE, F_OK);
			if (there || now_ns() > end || poll(&p, 1, SCAN_MS) <= 0)
				break;
			while (read(fd, buf, sizeof(buf)) > 0)
				;
		}
	close(fd);
	return there;
}

static void give_up(struct peer_nvme *nvme, const char *what, int err)
{
	snprintf(nvme->why_not, sizeof(nvme->why_not), "%s%s%s", what, err ? ": " : "",
		 err ? strerror(err) : "");
}

void nvme_open(struct bench *b)
{
	struct peer_nvme *nvme = &b->nvme;
	uint64_t bytes = 0;

	nvme->fd = -1;
	nvme->random = 88172645463325252ull;
	if (!has_controller()) {
		give_up(nvme, "no NVMe device", 0);
		return;
	}
	if (!wait_for_node()) {
		give_up(nvme, "no /dev/" NAMESPACE, 0);
		return;
	}
	nvme->fd = open("/dev/" NAMESPACE, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (nvme->fd < 0) {
		give_up(nvme, "/dev/" NAMESPACE, errno);
		return;
	}
	nvme->buf = aligned_alloc(GPU_PAGE, MAX_DEPTH * SECTOR);
	if (!nvme->buf || ioctl(nvme->fd, BLKGETSIZE64, &bytes) || bytes < SECTOR ||
	    syscall(SYS_io_setup, MAX_DEPTH, &nvme->aio)) {
		give_up(nvme, "no memory, an empty device, or io_setup", errno);
		return;
	}
	nvme->sectors = bytes / SECTOR;
}

void nvme_close(struct bench *b)
{
	if (b->nvme.aio)
		syscall(SYS_io_destroy, b->nvme.aio);
	free(b->nvme.buf);
	if (b->nvme.fd >= 0)
		close(b->nvme.fd);
}

const char *nvme_unavailable(const struct bench *b)
{
	return b->nvme.why_not[0] ? b->nvme.why_not : NULL;
}

static uint64_t random_offset(struct peer_nvme *nvme)
{
	uint64_t x = nvme->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	nvme->random = x;
	return x % nvme->sectors * SECTOR;
}

static void fill(struct peer_nvme *nvme, struct iocb *cb, unsigned int slot)
{
	memset(cb, 0, sizeof(*cb));
	cb->aio_fildes = (uint32_t)nvme->fd;
	cb->aio_lio_opcode = IOCB_CMD_PREAD;
	cb->aio_buf = (uint64_t)(uintptr_t)(nvme->buf + slot * SECTOR);
	cb->aio_nbytes = SECTOR;
	cb->aio_offset = (int64_t)random_offset(nvme);
	cb->aio_data = slot;
}

bool nvme_read_one(struct bench *b, const struct row *r, struct stopwatch *w)
{
	struct peer_nvme *nvme = &b->nvme;
	struct iocb cb, *list = &cb;
	struct io_event ev;
	bool ok;

	(void)r;
	fill(nvme, &cb, 0);
	stopwatch_start(w);
	ok = syscall(SYS_io_submit, nvme->aio, 1, &list) == 1 &&
	     syscall(SYS_io_getevents, nvme->aio, 1, 1, &ev, NULL) == 1;
	stopwatch_stop(w);
	return ok && ev.res == SECTOR;
}

/* Submits reads of @n slots of @list; the kernel may take them in parts. */
static bool submit(struct peer_nvme *nvme, struct iocb **list, unsigned int n)
{
	while (n) {
		long k = syscall(SYS_io_submit, nvme->aio, (long)n, list);

		if (k <= 0)
			return false;
		list += k;
		n -= (unsigned int)k;
	}
	return true;
}

/* @r->items reads; as soon as some are done, as many are submitted. */
bool nvme_read_many(struct bench *b, const struct row *r, struct stopwatch *w)
{
	struct iocb cb[MAX_DEPTH], *list[MAX_DEPTH];
	unsigned int i, more, started = r->n, left = r->items;
	struct peer_nvme *nvme = &b->nvme;
	struct io_event ev[MAX_DEPTH];

	for (i = 0; i < r->n; i++) {
		fill(nvme, &cb[i], i);
		list[i] = &cb[i];
	}
	stopwatch_start(w);
	if (!submit(nvme, list, r->n))
		return false;
	while (left) {
		long k = syscall(SYS_io_getevents, nvme->aio, 1, MAX_DEPTH, ev, NULL);

		if (k <= 0)
			return false;
		for (i = 0, more = 0; i < (unsigned int)k; i++) {
			if (ev[i].res != SECTOR)
				return false;
			if (started == r->items)
				continue;
			started++;
			fill(nvme, &cb[ev[i].data], (unsigned int)ev[i].data);
			list[more++] = &cb[ev[i].data];
		}
		left -= (unsigned int)k;
		if (!submit(nvme, list, more))
			return false;
	}
	stopwatch_stop(w);
	return true;
}
