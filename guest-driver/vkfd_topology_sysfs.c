// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories of read-only text files in sysfs.
 */
#include <linux/device_cgroup.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <drm/drm.h>
#include <drm/drm_ioctl.h>

#include "vkfd_topology_sysfs.h"

/**
 * struct vkfd_file
 * @attr: what sysfs knows; attr.name is a string literal
 * @link: in vkfd_dir.files
 * @minor: DRM minor whose access rights a reader needs, or -1
 * @text: contents, NUL terminated, shorter than a page
 */
struct vkfd_file {
	struct attribute attr;
	struct list_head link;
	int minor;
	char text[];
};

/**
 * struct vkfd_dir
 * @kobj: the directory; its reference count is the structure's
 * @link: in vkfd_tree.dirs
 * @files: struct vkfd_file, freed with the directory
 */
struct vkfd_dir {
	struct kobject kobj;
	struct list_head link;
	struct list_head files;
};

void vkfd_text_init(struct vkfd_text *t)
{
	t->len = 0;
	t->err = 0;
	t->buf = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!t->buf)
		t->err = -ENOMEM;
}

void vkfd_text_free(struct vkfd_text *t)
{
	kfree(t->buf);
	t->buf = NULL;
}

void vkfd_text_add(struct vkfd_text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	if (t->err)
		return;
	va_start(args, fmt);
	n = vsnprintf(t->buf + t->len, PAGE_SIZE - t->len, fmt, args);
	va_end(args);
	if (n >= PAGE_SIZE - t->len)
		t->err = -E2BIG;
	else
		t->len += n;
}

static ssize_t vkfd_file_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct vkfd_file *f = container_of(attr, struct vkfd_file, attr);

	if (f->minor >= 0 &&
	    devcgroup_check_permission(DEVCG_DEV_CHAR, DRM_MAJOR, f->minor,
				       DEVCG_ACC_READ | DEVCG_ACC_WRITE))
		return -EPERM;
	return sysfs_emit(buf, "%s", f->text);
}

static void vkfd_dir_release(struct kobject *kobj)
{
	struct vkfd_dir *dir = container_of(kobj, struct vkfd_dir, kobj);
	struct vkfd_file *f, *next;

	list_for_each_entry_safe(f, next, &dir->files, link)
		kfree(f);
	kfree(dir);
}

static const struct sysfs_ops vkfd_dir_sysfs_ops = {
	.show = vkfd_file_show,
};

static const struct kobj_type vkfd_dir_type = {
	.release = vkfd_dir_release,
	.sysfs_ops = &vkfd_dir_sysfs_ops,
};

struct kobject *vkfd_tree_mkdir(struct vkfd_tree *tree, struct kobject *parent,
				const char *fmt, ...)
{
	struct vkfd_dir *dir;
	va_list args;
	char *name;
	int ret;

	dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	if (!dir)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&dir->files);
	kobject_init(&dir->kobj, &vkfd_dir_type);

	va_start(args, fmt);
	name = kvasprintf(GFP_KERNEL, fmt, args);
	va_end(args);
	ret = name ? kobject_add(&dir->kobj, parent, "%s", name) : -ENOMEM;
	kfree(name);
	if (ret) {
		kobject_put(&dir->kobj);
		return ERR_PTR(ret);
	}
	list_add_tail(&dir->link, &tree->dirs);
	return &dir->kobj;
}

int vkfd_tree_file(struct kobject *kobj, const char *name, int minor, struct vkfd_text *t)
{
	struct vkfd_dir *dir = container_of(kobj, struct vkfd_dir, kobj);
	struct vkfd_file *f;
	int ret = t->err;

	if (ret)
		goto out;
	f = kzalloc(struct_size(f, text, t->len + 1), GFP_KERNEL);
	if (!f) {
		ret = -ENOMEM;
		goto out;
	}
	memcpy(f->text, t->buf, t->len);
	f->minor = minor;
	f->attr.name = name;
	f->attr.mode = 0444;
	sysfs_attr_init(&f->attr);
	ret = sysfs_create_file(kobj, &f->attr);
	if (ret)
		kfree(f);
	else
		list_add_tail(&f->link, &dir->files);
out:
	vkfd_text_free(t);
	return ret;
}

void vkfd_tree_remove(struct vkfd_tree *tree)
{
	struct vkfd_dir *dir, *next;

	list_for_each_entry_safe_reverse(dir, next, &tree->dirs, link) {
		list_del(&dir->link);
		kobject_del(&dir->kobj);
		kobject_put(&dir->kobj);
	}
}
