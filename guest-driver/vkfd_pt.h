/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables of gfx9: four levels of 4 KiB tables in VRAM, written by the CPU
 * through BAR0 (include/vkfd/gpuvm.h). This layer knows tables and entries; which
 * ranges are in use, and when the TLB is flushed, is vkfd_vm's business.
 *
 * Every function: the caller holds vm->lock, but vkfd_pt_refill() needs only that the range
 * stays as it is. Those that touch VRAM say so; for them
 * the caller is in drm_dev_enter().
 */
#ifndef VKFD_PT_H
#define VKFD_PT_H

#include <linux/list.h>
#include <linux/types.h>
#include <drm/drm_mm.h>

#include <vkfd/gpuvm.h>

struct vkfd_device;

/**
 * struct vkfd_pt - one table
 * @node: its page of VRAM
 * @link: in a list of tables to be freed, see vkfd_pt_clear()
 * @used: directory: children; last level: entries that are taken
 * @child: children of a directory; NULL on the last level
 */
struct vkfd_pt {
	struct drm_mm_node node;
	struct list_head link;
	unsigned int used;
	struct vkfd_pt **child;
};

/* An empty root directory; touches VRAM. ERR_PTR: -ENOMEM; -ENOBUFS: see vkfd_vram_alloc(). */
struct vkfd_pt *vkfd_pt_create_root(struct vkfd_device *dev);
/* Frees the tree whatever is in it. Nothing may use it any more. Does not touch VRAM. */
void vkfd_pt_destroy(struct vkfd_device *dev, struct vkfd_pt *root);

/*
 * Makes sure that every table for [@va, @va + @npages * 4 KiB) exists; new ones are
 * zero before a parent points to them. -ENOMEM, -ENOBUFS: tables already made stay; take
 * them back with vkfd_pt_clear(). Touches VRAM.
 */
int vkfd_pt_prepare(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages);

/* How many tables that would make. */
u64 vkfd_pt_missing(struct vkfd_pt *root, u64 va, u64 npages);

/* Entry @index of a mapping for vkfd_pt_fill(). */
typedef u64 (*vkfd_pte_fn)(void *data, u64 index);

/*
 * Writes the entries of a range which vkfd_pt_prepare() made and which is empty. An
 * entry @fn returns may be invalid: its place is taken all the same. Touches VRAM.
 */
void vkfd_pt_fill(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
		  vkfd_pte_fn fn, void *data);
/* Writes the entries of a range which vkfd_pt_fill() wrote again. Touches VRAM. */
void vkfd_pt_refill(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
		    vkfd_pte_fn fn, void *data);

/*
 * Invalidates the entries of a range which vkfd_pt_fill() wrote (@filled), unlinks
 * tables of the range that have become empty and collects them in @empty. Without
 * @filled only the latter: it undoes a failed vkfd_pt_prepare(). Collected tables may
 * be freed only after the TLB was flushed. @live: false if the hardware is gone; then
 * VRAM is not touched.
 */
void vkfd_pt_clear(struct vkfd_device *dev, struct vkfd_pt *root, u64 va, u64 npages,
		   bool filled, bool live, struct list_head *empty);
void vkfd_pt_free_list(struct vkfd_device *dev, struct list_head *empty);

#endif /* VKFD_PT_H */
