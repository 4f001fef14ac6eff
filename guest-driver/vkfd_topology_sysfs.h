/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories of read-only text files in sysfs. The text is written once, when the
 * file is made, so that reading one involves no device and no lock.
 */
#ifndef VKFD_TOPOLOGY_SYSFS_H
#define VKFD_TOPOLOGY_SYSFS_H

#include <linux/compiler_attributes.h>
#include <linux/kobject.h>
#include <linux/list.h>

/**
 * struct vkfd_text - text under construction
 * @buf: one page, or NULL if it could not be had
 * @len: bytes used
 * @err: first error; later additions do nothing
 */
struct vkfd_text {
	char *buf;
	int len;
	int err;
};

void vkfd_text_init(struct vkfd_text *t);
void vkfd_text_free(struct vkfd_text *t);
/* -E2BIG in @t->err when the page is full: libhsakmt reads one page at most. */
__printf(2, 3) void vkfd_text_add(struct vkfd_text *t, const char *fmt, ...);

/**
 * struct vkfd_tree - directories in the order of their making
 * @dirs: struct vkfd_dir; protected by whoever owns the tree
 */
struct vkfd_tree {
	struct list_head dirs;
};

/* Makes a directory below @parent. ERR_PTR; what is made goes with vkfd_tree_remove(). */
__printf(3, 4) struct kobject *vkfd_tree_mkdir(struct vkfd_tree *tree, struct kobject *parent,
					       const char *fmt, ...);
/*
 * Makes file @name with the contents of @t in @dir, a directory of a tree; frees @t
 * in any case. @minor: DRM minor whose access rights under device cgroups the reader
 * needs (-EPERM otherwise, as upstream), or -1. -errno, also that of @t.
 */
int vkfd_tree_file(struct kobject *dir, const char *name, int minor, struct vkfd_text *t);
/* Removes everything, last made first; waits for readers. */
void vkfd_tree_remove(struct vkfd_tree *tree);

#endif /* VKFD_TOPOLOGY_SYSFS_H */
