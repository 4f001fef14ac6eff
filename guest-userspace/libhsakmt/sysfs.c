// SPDX-License-Identifier: MIT
/* Reading of small sysfs files. No state, no locks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hsakmt_int.h"

/* A sysfs attribute is at most a page; caller frees. NULL and errno. */
char *hsakmt_sysfs_read(const char *path)
{
	const size_t size = 4096;
	size_t len = 0;
	char *buf;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	buf = malloc(size + 1);
	while (buf && len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int err = errno;

			free(buf);
			close(fd);
			errno = err;
			return NULL;
		}
		if (!n)
			break;
		len += (size_t)n;
	}
	close(fd);
	if (buf)
		buf[len] = '\0';
	else
		errno = ENOMEM;
	return buf;
}

int hsakmt_sysfs_props(const char *path, hsakmt_prop_fn set, void *arg)
{
	char key[64], *buf, *pos;
	uint64_t value;
	int used;

	buf = hsakmt_sysfs_read(path);
	if (!buf)
		return -1;
	if (!buf[0]) {
		free(buf);
		errno = ENODATA;
		return -1;
	}
	/* The first line that is not "word number" ends the list. */
	for (pos = buf; sscanf(pos, "%63s %" SCNu64 "%n", key, &value, &used) == 2; pos += used)
		if (!set(arg, key, value))
			break;
	free(buf);
	return 0;
}

int hsakmt_sysfs_u32(const char *path, uint32_t *value)
{
	char *buf = hsakmt_sysfs_read(path);
	int got;

	if (!buf)
		return -1;
	got = sscanf(buf, "%" SCNu32, value);
	free(buf);
	if (got != 1) {
		errno = ENODATA;
		return -1;
	}
	return 0;
}

int hsakmt_sysfs_word(const char *path, char *buf, size_t size)
{
	char *text = hsakmt_sysfs_read(path);

	if (!text)
		return -1;
	text[strcspn(text, " \t\n")] = '\0';
	snprintf(buf, size, "%s", text);
	free(text);
	return 0;
}

/* Entries of @dir whose name starts with @prefix; 0 when it does not exist. */
uint32_t hsakmt_sysfs_count(const char *dir, const char *prefix)
{
	struct dirent *ent;
	uint32_t count = 0;
	DIR *d = opendir(dir);

	if (!d)
		return 0;
	while ((ent = readdir(d))) {
		if (!strcmp(ent->d_name, ".") || !strcmp(ent->d_name, ".."))
			continue;
		if (!strncmp(ent->d_name, prefix, strlen(prefix)))
			count++;
	}
	closedir(d);
	return count;
}
