// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject.h"

#define PCI_DEVICES	"/sys/bus/pci/devices"
/* A function reset takes a fraction of a second of the guest's time. */
#define AWAY_MAX_MS	30000u
/* Any value but 0, which is what a reset leaves, and all ones. */
#define MARK		0x4b52414du
/* The last dword of the text: used by no text that is not the longest possible. */
#define TEXT_END	(VKFD_CTRL_INJECT_TEXT + VKFD_INJECT_TEXT_SIZE - 4)

static volatile uint32_t *page;
static char error[128];

static uint32_t rd(uint32_t off)
{
	return page[off / 4];
}

static void wr(uint32_t off, uint32_t val)
{
	page[off / 4] = val;
}

/*
 * While the function is reset its BARs do not decode: reads give anything, writes go
 * nowhere, and what was written before is forgotten. So whoever uses several
 * registers first writes MARK to one that keeps it until then, and asks afterwards
 * whether it is still there; if not it does it all again. *gone: the page does not
 * come back, there is no answer.
 */
static bool again(uint32_t reg, bool *gone)
{
	unsigned int ms;

	*gone = false;
	if (rd(reg) == MARK)
		return false;
	for (ms = 0; ms < AWAY_MAX_MS; ms++) {
		if (rd(VKFD_CTRL_MAGIC) == VKFD_CTRL_MAGIC_VALUE)
			return true;
		usleep(1000);
	}
	*gone = true;
	return false;
}

static bool read_one(uint32_t reg, uint32_t *val)
{
	bool gone;

	do {
		wr(TEXT_END, MARK);
		*val = rd(reg);
	} while (again(TEXT_END, &gone));
	return !gone;
}

/* Number in a file of one device's directory; -1 when there is none. */
static long sysfs_number(const char *dev, const char *name)
{
	char path[PATH_MAX];
	long val = -1;
	FILE *f;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", dev, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%li", &val) != 1)
		val = -1;
	fclose(f);
	return val;
}

/*
 * Without a driver nobody has enabled the function, and its BARs do not decode:
 * turn memory on ourselves, as the kernel's own sysfs file does it.
 */
static void enable_function(const char *dev)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/enable", dev);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "1", 1) != 1)
		fprintf(stderr, "inject: cannot enable %s: %s\n", dev, strerror(errno));
	close(fd);
}

static int map_page(const char *dev)
{
	char path[PATH_MAX];
	void *map;
	int fd, err;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/resource%d", dev, VKFD_BAR_CONTROL);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	map = mmap(NULL, VKFD_CONTROL_BAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = errno;
	close(fd);
	if (map == MAP_FAILED)
		return -err;
	page = (volatile uint32_t *)((char *)map + VKFD_CONTROL_PAGE_OFFSET);
	if (rd(VKFD_CTRL_MAGIC) != VKFD_CTRL_MAGIC_VALUE)
		enable_function(dev);
	if (rd(VKFD_CTRL_MAGIC) == VKFD_CTRL_MAGIC_VALUE && rd(VKFD_CTRL_VERSION) >= 2)
		return 0;
	page = NULL;
	munmap(map, VKFD_CONTROL_BAR_SIZE);
	return -ENODEV;
}

static int is_vkfd(const struct dirent *d)
{
	return sysfs_number(d->d_name, "vendor") == VKFD_PCI_VENDOR_ID &&
	       sysfs_number(d->d_name, "device") == VKFD_PCI_DEVICE_ID;
}

int inject_open(void)
{
	struct dirent **list;
	int i, n, ret = -ENODEV;

	if (page)
		return 0;
	n = scandir(PCI_DEVICES, &list, is_vkfd, alphasort);
	if (n < 0)
		return -ENODEV;
	if (n > 0)
		ret = map_page(list[0]->d_name);
	for (i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return ret;
}

static const char *status_text(uint32_t status)
{
	static const char *const text[] = {
		[VKFD_INJECT_OK] = "fine",
		[VKFD_INJECT_BAD_SYNTAX] = "syntax error",
		[VKFD_INJECT_BAD_POINT] = "no such point",
		[VKFD_INJECT_BAD_ACTION] = "no such action",
		[VKFD_INJECT_BAD_COMBINATION] = "this action makes no sense at this point",
		[VKFD_INJECT_BAD_ARGUMENT] = "bad argument",
		[VKFD_INJECT_BAD_COUNT] = "bad first, every or count",
		[VKFD_INJECT_TOO_MANY] = "too many specs",
		[VKFD_INJECT_TOO_LONG] = "text too long",
		[VKFD_INJECT_BAD_GO] = "no such command",
	};

	return status < sizeof(text) / sizeof(text[0]) ? text[status] : "unknown status";
}

/* Up to and with the NUL; the page takes whole dwords. True: it has the text. */
static bool put_text(const char *specs, size_t len)
{
	bool same = true;
	uint32_t dw;
	size_t i;

	for (i = 0; i <= len; i += 4) {
		dw = 0;
		memcpy(&dw, specs + i, len - i < 4 ? len - i : 4);
		wr(VKFD_CTRL_INJECT_TEXT + (uint32_t)i, dw);
		same &= rd(VKFD_CTRL_INJECT_TEXT + (uint32_t)i) == dw;
	}
	return same;
}

int inject_arm(const char *specs)
{
	size_t len = strlen(specs);
	uint32_t status, pos, before;
	int ret = inject_open();
	bool sent, gone;

	if (ret)
		return ret;
	if (len >= VKFD_INJECT_TEXT_SIZE) {
		snprintf(error, sizeof(error), "%s: %zu bytes, at most %u",
			 status_text(VKFD_INJECT_TOO_LONG), len, VKFD_INJECT_TEXT_SIZE - 1);
		return VKFD_INJECT_TOO_LONG;
	}
	do {
		wr(VKFD_CTRL_INJECT_SELECT, MARK);
		before = rd(VKFD_CTRL_INJECT_GENERATION);
		sent = put_text(specs, len);
		if (sent)
			wr(VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_ARM);
		status = rd(VKFD_CTRL_INJECT_STATUS);
		pos = rd(VKFD_CTRL_INJECT_ERROR_POS);
		/* A reset may also have come after it was armed: then it stays armed. */
		if (sent && rd(VKFD_CTRL_INJECT_GENERATION) == before + 1)
			return VKFD_INJECT_OK;
	} while (again(VKFD_CTRL_INJECT_SELECT, &gone));
	if (gone)
		return -ENODEV;
	if (!sent)
		return -EIO;
	snprintf(error, sizeof(error), "%s at %u ('%.32s')", status_text(status), pos,
		 pos < len ? specs + pos : "");
	return (int)status;
}

int inject_disarm(void)
{
	return inject_arm("");
}

const char *inject_error(void)
{
	return error;
}

int inject_count(void)
{
	uint32_t count;
	int ret = inject_open();

	if (ret)
		return ret;
	return read_one(VKFD_CTRL_INJECT_COUNT, &count) ? (int)count : -ENODEV;
}

bool inject_status(unsigned int i, struct inject_state *st)
{
	uint32_t lo, count;
	bool gone;

	if (inject_open())
		return false;
	do {
		wr(TEXT_END, MARK);
		wr(VKFD_CTRL_INJECT_SELECT, i);
		count = rd(VKFD_CTRL_INJECT_COUNT);
		lo = rd(VKFD_CTRL_INJECT_PASSED_LO);
		st->passages = (uint64_t)rd(VKFD_CTRL_INJECT_PASSED_HI) << 32 | lo;
		st->fired = rd(VKFD_CTRL_INJECT_FIRED);
		st->refused = rd(VKFD_CTRL_INJECT_REFUSED);
	} while (again(TEXT_END, &gone));
	return !gone && i < count;
}

uint32_t inject_fired(unsigned int i)
{
	struct inject_state st;

	return inject_status(i, &st) ? st.fired : 0;
}

uint32_t inject_held(void)
{
	uint32_t held;

	return !inject_open() && read_one(VKFD_CTRL_INJECT_HELD, &held) ? held : 0;
}

uint32_t inject_device(void)
{
	uint32_t state;

	return !inject_open() && read_one(VKFD_CTRL_INJECT_DEVICE, &state) ? state : VKFD_INJECT_DEVICE_OK;
}

int inject_text(char *buf, size_t size)
{
	int ret = inject_open();
	uint32_t status;
	bool gone;
	size_t i;

	if (ret)
		return ret;
	do {
		wr(VKFD_CTRL_INJECT_SELECT, MARK);
		wr(VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_READ);
		status = rd(VKFD_CTRL_INJECT_STATUS);
		for (i = 0; i < size && i < VKFD_INJECT_TEXT_SIZE; i++) {
			buf[i] = (char)(rd(VKFD_CTRL_INJECT_TEXT + (uint32_t)(i & ~(size_t)3)) >>
					(8 * (i & 3)));
			if (!buf[i])
				break;
		}
	} while (again(VKFD_CTRL_INJECT_SELECT, &gone));
	if (gone)
		return -ENODEV;
	if (status != VKFD_INJECT_OK)
		return -EIO;
	return i < size && i < VKFD_INJECT_TEXT_SIZE ? 0 : -EOVERFLOW;
}

uint64_t device_counter(unsigned int which)
{
	uint64_t val;
	bool gone;

	if (inject_open())
		return 0;
	do {
		wr(TEXT_END, MARK);
		wr(VKFD_CTRL_CNT_SELECT, which);
		val = rd(VKFD_CTRL_CNT_LO);
		val |= (uint64_t)rd(VKFD_CTRL_CNT_HI) << 32;
	} while (again(TEXT_END, &gone));
	return gone ? 0 : val;
}

bool device_unmodelled(unsigned int i, uint32_t *reg, uint32_t *reads, uint32_t *writes)
{
	bool gone;

	if (inject_open())
		return false;
	do {
		wr(TEXT_END, MARK);
		wr(VKFD_CTRL_UNMOD_SELECT, i);
		*reg = rd(VKFD_CTRL_UNMOD_REG);
		*reads = rd(VKFD_CTRL_UNMOD_READS);
		*writes = rd(VKFD_CTRL_UNMOD_WRITES);
	} while (again(TEXT_END, &gone));
	return !gone && *reg != UINT32_MAX;
}
