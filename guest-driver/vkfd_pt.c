// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables of gfx9 in VRAM, with a shadow tree in system memory, so that VRAM is
 * only ever written.
 */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "vkfd_device.h"
#include "vkfd_pt.h"
#include "vkfd_vram.h"

#define VKFD_PT_LEAF	(VKFD_PT_LEVELS - 1)

static unsigned int vkfd_pt_index(u64 va, unsigned int level)
{
	return (va >> VKFD_PT_SHIFT(level)) & (VKFD_PT_ENTRIES - 1);
}

/* Pages from @va to the end of its last-level table, at most @npages. */
static u64 vkfd_pt_span(u64 va, u64 npages)
{
	return min_t(u64, npages, VKFD_PT_ENTRIES - vkfd_pt_index(va, VKFD_PT_LEAF));
}

static void vkfd_pt_write(struct vkfd_device *dev, struct vkfd_pt *pt, unsigned int index,
			  u64 val)
{
	writeq(val, dev->vram.map + pt->node.start + index * sizeof(u64));
}

static void vkfd_pt_free(struct vkfd_device *dev, struct vkfd_pt *pt)
{
	vkfd_vram_free(dev, &pt->node);
	kfree(pt->child);
	kfree(pt);
}

/* A table of zeroes. */
static struct vkfd_pt *vkfd_pt_alloc(struct vkfd_device *dev, unsigned int level)
{
	struct vkfd_pt *pt = kzalloc(sizeof(*pt), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!pt)
		return ERR_PTR(err);
	INIT_LIST_HEAD(&pt->link);
	if (level != VKFD_PT_LEAF) {
		pt->child = kcalloc(VKFD_PT_ENTRIES, sizeof(*pt->child), GFP_KERNEL_ACCOUNT);
		if (!pt->child)
			goto err_free;
	}
	err = vkfd_vram_alloc(dev, AMDGPU_GPU_PAGE_SIZE, AMDGPU_GPU_PAGE_SIZE, &pt->node);
	if (err)
		goto err_free_child;
	vkfd_vram_zero(dev, pt->node.start, AMDGPU_GPU_PAGE_SIZE);
	return pt;

err_free_child:
	kfree(pt->child);
err_free:
	kfree(pt);
	return ERR_PTR(err);
}

struct vkfd_pt *vkfd_pt_create_root(struct vkfd_device *dev)
{
	return vkfd_pt_alloc(dev, 0);
}

static void vkfd_pt_destroy_level(struct vkfd_device *dev, struct vkfd_pt *pt)
{
	unsigned int i;

	/* At most VKFD_PT_LEVELS deep. */
	for (i = 0; pt->child && pt->used && i < VKFD_PT_ENTRIES; i++) {
		if (pt->child[i]) {
			vkfd_pt_destroy_level(dev, pt->child[i]);
			pt->used--;
		}
	}
	vkfd_pt_free(dev, pt);
}

void vkfd_pt_destroy(struct vkfd_device *dev, struct vkfd_pt *root)
{
	vkfd_pt_destroy_level(dev, root);
}

/* Makes the path to the last-level table of @va. */
static int vkfd_pt_prepare_one(struct vkfd_device *dev, struct vkfd_pt *root, u64 va)
{
	struct vkfd_pt *pt = root, *child;
	unsigned int level, i;

	for (level = 0; level < VKFD_PT_LEAF; level++) {
		i = vkfd_pt_index(va, level);
		child = pt->child[i];
		if (!child) {
			child = vkfd_pt_alloc(dev, level + 1);
			if (IS_ERR(child))
				return PTR_ERR(child);
			/*
			 * The walker may follow the entry as soon as it is written,
			 * and write-combining buffers drain in any order: the zeroes
			 * of the new table first.
			 */
			wmb();
			vkfd_pt_write(dev, pt, i, child->node.start | AMDGPU_PTE_VALID);
			pt->child[i] = child;
			pt->used++;
		}
		pt = child;
	}
	return 0;
}

int vkfd_pt_prepare(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages)
{
	u64 n;
	int err;

	for (; npages; npages -= n, va += n << AMDGPU_GPU_PAGE_SHIFT) {
		n = vkfd_pt_span(va, npages);
		err = vkfd_pt_prepare_one(dev, root, va);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

/* Tables from the root (path[0]) down to that of @va; false if there is a gap. */
static bool vkfd_pt_walk(struct vkfd_pt *root, u64 va, struct vkfd_pt *path[VKFD_PT_LEVELS])
{
	unsigned int level;

	memset(path, 0, VKFD_PT_LEVELS * sizeof(*path));
	path[0] = root;
	for (level = 0; level < VKFD_PT_LEAF; level++) {
		path[level + 1] = path[level]->child[vkfd_pt_index(va, level)];
		if (!path[level + 1])
			return false;
	}
	return true;
}

u64 vkfd_pt_missing(struct vkfd_pt *root, u64 va, u64 npages)
{
	struct vkfd_pt *path[VKFD_PT_LEVELS];
	u64 n, first = va, missing = 0;
	unsigned int level;

	for (; npages; npages -= n, va += n << AMDGPU_GPU_PAGE_SHIFT) {
		n = vkfd_pt_span(va, npages);
		vkfd_pt_walk(root, va, path);
		/* Each where it begins, or the range in it. */
		for (level = 1; level < VKFD_PT_LEVELS; level++)
			missing += !path[level] &&
				   (va == first ||
				    IS_ALIGNED(va, 1ull << VKFD_PT_SHIFT(level - 1)));
		cond_resched();
	}
	return missing;
}

static void vkfd_pt_write_range(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
				vkfd_pte_fn fn, void *data, bool count)
{
	struct vkfd_pt *path[VKFD_PT_LEVELS];
	u64 n, i, index = 0;

	for (; npages; npages -= n, va += n << AMDGPU_GPU_PAGE_SHIFT) {
		unsigned int first = vkfd_pt_index(va, VKFD_PT_LEAF);

		n = vkfd_pt_span(va, npages);
		if (WARN_ON_ONCE(!vkfd_pt_walk(root, va, path)))
			continue;
		for (i = 0; i < n; i++)
			vkfd_pt_write(dev, path[VKFD_PT_LEAF], first + i, fn(data, index++));
		if (count)
			path[VKFD_PT_LEAF]->used += n;
		cond_resched();
	}
}

void vkfd_pt_fill(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
		  vkfd_pte_fn fn, void *data)
{
	vkfd_pt_write_range(dev, root, va, npages, fn, data, true);
}

void vkfd_pt_refill(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
		    vkfd_pte_fn fn, void *data)
{
	vkfd_pt_write_range(dev, root, va, npages, fn, data, false);
}

/* Unlinks the tables of @path that are empty, from the last level up. */
static void vkfd_pt_prune(struct vkfd_device *dev, struct vkfd_pt **path, u64 va, bool live,
			  struct list_head *empty)
{
	unsigned int level;

	for (level = VKFD_PT_LEAF; level > 0; level--) {
		unsigned int i = vkfd_pt_index(va, level - 1);
		struct vkfd_pt *pt = path[level];

		if (!pt)
			continue;
		if (pt->used)
			break;
		if (live)
			vkfd_pt_write(dev, path[level - 1], i, 0);
		path[level - 1]->child[i] = NULL;
		path[level - 1]->used--;
		list_add(&pt->link, empty);
	}
}

void vkfd_pt_clear(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
		   bool filled, bool live, struct list_head *empty)
{
	struct vkfd_pt *path[VKFD_PT_LEVELS];
	u64 n, i;

	for (; npages; npages -= n, va += n << AMDGPU_GPU_PAGE_SHIFT) {
		unsigned int first = vkfd_pt_index(va, VKFD_PT_LEAF);
		bool complete;

		n = vkfd_pt_span(va, npages);
		complete = vkfd_pt_walk(root, va, path);
		if (filled && !WARN_ON_ONCE(!complete)) {
			for (i = 0; live && i < n; i++)
				vkfd_pt_write(dev, path[VKFD_PT_LEAF], first + i, 0);
			path[VKFD_PT_LEAF]->used -= n;
		}
		vkfd_pt_prune(dev, path, va, live, empty);
		cond_resched();
	}
}

void vkfd_pt_free_list(struct vkfd_device *dev, struct list_head *empty)
{
	struct vkfd_pt *pt, *next;

	list_for_each_entry_safe(pt, next, empty, link) {
		list_del(&pt->link);
		vkfd_pt_free(dev, pt);
	}
}
