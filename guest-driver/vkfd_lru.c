// SPDX-License-Identifier: GPL-2.0-only
/*
 * VRAM BOs in the order in which they move.
 */
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/mutex.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_lru.h"
#include "vkfd_vm.h"
#include "vkfd_vram.h"

static void init_one(struct vkfd_lru *lru)
{
	INIT_LIST_HEAD(&lru->list);
	INIT_LIST_HEAD(&lru->passed);
}

void vkfd_lru_init(struct vkfd_lrus *l)
{
	unsigned int i;

	for (i = 0; i < VKFD_LRU_OWNERS; i++) {
		init_one(&l->resident[i]);
		init_one(&l->away[i]);
	}
}

static bool is_away(const struct vkfd_bo *bo)
{
	const struct vkfd_lrus *l = &bo->dev->evict.lrus;

	return bo->lru == &l->away[VKFD_LRU_GEM] || bo->lru == &l->away[VKFD_LRU_KFD];
}

void vkfd_lru_remove(struct vkfd_bo *bo)
{
	lockdep_assert_held(&bo->dev->vram.lock);

	if (!bo->lru)
		return;
	list_del_init(&bo->lru_link);
	bo->lru->num--;
	/* Read without the lock: vkfd_lru_away_bytes(). */
	WRITE_ONCE(bo->lru->bytes, bo->lru->bytes - vkfd_bo_size(bo));
	bo->lru = NULL;
}

void vkfd_lru_place(struct vkfd_bo *bo, bool away)
{
	struct vkfd_lrus *l = &bo->dev->evict.lrus;
	struct vkfd_lru *lru = away ? l->away : l->resident;

	vkfd_lru_remove(bo);
	bo->lru = &lru[bo->gem ? VKFD_LRU_GEM : VKFD_LRU_KFD];
	list_add_tail(&bo->lru_link, &bo->lru->list);
	bo->lru->num++;
	WRITE_ONCE(bo->lru->bytes, bo->lru->bytes + vkfd_bo_size(bo));
}

void vkfd_lru_touch(struct vkfd_bo *bo)
{
	lockdep_assert_held(&bo->dev->vram.lock);

	if (bo->lru && !is_away(bo))
		list_move_tail(&bo->lru_link, &bo->lru->list);
}

void vkfd_lru_begin(struct vkfd_device *dev)
{
	lockdep_assert_held(&dev->evict.lock);

	mutex_lock(&dev->vram.lock);
	dev->evict.lrus.round++;
	mutex_unlock(&dev->vram.lock);
}

void vkfd_lru_end(struct vkfd_device *dev)
{
	struct vkfd_lrus *l = &dev->evict.lrus;
	unsigned int i;

	lockdep_assert_held(&dev->evict.lock);

	mutex_lock(&dev->vram.lock);
	for (i = 0; i < VKFD_LRU_OWNERS; i++) {
		list_splice_init(&l->resident[i].passed, &l->resident[i].list);
		list_splice_init(&l->away[i].passed, &l->away[i].list);
	}
	mutex_unlock(&dev->vram.lock);
}

/* How much of @bo, which is in VRAM, CPUs see. vram.lock held. */
static u64 visible_bytes(const struct vkfd_bo *bo)
{
	struct vkfd_vram_block *block;
	u64 bytes = 0;

	list_for_each_entry(block, &bo->blocks, link)
		bytes += vkfd_vram_node_visible(bo->dev, &block->node);
	return bytes;
}

/*
 * The next of @lru that is not @own's and has at most @max bytes, some of which CPUs see if it is
 * for that; with a reference.
 */
static struct vkfd_bo *next(struct vkfd_device *dev, struct vkfd_lru *lru,
			    const struct vkfd_process *own, u64 max, bool visible)
{
	u64 round = dev->evict.lrus.round;
	struct vkfd_bo *bo;

	lockdep_assert_held(&dev->evict.lock);
	lockdep_assert_held(&dev->vram.lock);

	while ((bo = list_first_entry_or_null(&lru->list, struct vkfd_bo, lru_link))) {
		/* One that was touched after it was passed comes by again. */
		bool seen = bo->lru_round == round;

		bo->lru_round = round;
		list_move_tail(&bo->lru_link, &lru->passed);
		if (seen || vkfd_bo_size(bo) > max || (own && vkfd_vm_is_user(bo, own)) ||
		    (visible && !visible_bytes(bo)))
			continue;
		/* Else it is just being freed. */
		if (kref_get_unless_zero(&bo->base.refcount))
			return bo;
	}
	return NULL;
}

struct vkfd_bo *vkfd_lru_next_victim(struct vkfd_device *dev, bool gem_only,
				     const struct vkfd_process *own, bool visible)
{
	struct vkfd_lru *lru = dev->evict.lrus.resident;
	struct vkfd_bo *bo;

	mutex_lock(&dev->vram.lock);
	bo = next(dev, &lru[VKFD_LRU_GEM], NULL, U64_MAX, visible);
	if (!bo && !gem_only)
		bo = next(dev, &lru[VKFD_LRU_KFD], own, U64_MAX, visible);
	mutex_unlock(&dev->vram.lock);
	return bo;
}

struct vkfd_bo *vkfd_lru_next_away(struct vkfd_device *dev)
{
	struct vkfd_lru *lru = dev->evict.lrus.away;
	struct vkfd_bo *bo = NULL;
	u64 free;

	mutex_lock(&dev->vram.lock);
	free = vkfd_vram_free_bytes(dev, false);
	if (free)
		bo = next(dev, &lru[VKFD_LRU_KFD], NULL, free, false);
	if (free && !bo)
		bo = next(dev, &lru[VKFD_LRU_GEM], NULL, free, false);
	mutex_unlock(&dev->vram.lock);
	return bo;
}

/* How many bytes in @list are not @own's, or @need if there are as many. */
static u64 others(const struct list_head *list, u64 need, const struct vkfd_process *own)
{
	struct vkfd_bo *bo;
	u64 found = 0;

	list_for_each_entry(bo, list, lru_link) {
		if (!vkfd_vm_is_user(bo, own))
			found += vkfd_bo_size(bo);
		if (found >= need)
			return need;
	}
	return found;
}

/* Whether there are @need bytes in @lru that are not @own's. */
static bool has_others(const struct vkfd_lru *lru, u64 need, const struct vkfd_process *own)
{
	if (!own || need > lru->bytes)
		return need <= lru->bytes;
	need -= others(&lru->list, need, own);
	return need == others(&lru->passed, need, own);
}

/* How much of @list CPUs see that is not @own's. */
static u64 others_visible(const struct list_head *list, const struct vkfd_process *own)
{
	struct vkfd_bo *bo;
	u64 found = 0;

	list_for_each_entry(bo, list, lru_link)
		if (!own || !vkfd_vm_is_user(bo, own))
			found += visible_bytes(bo);
	return found;
}

/* vram.lock held. */
static bool can_free_visible(struct vkfd_device *dev, u64 size, u64 system, bool gem_only,
			     const struct vkfd_process *own)
{
	struct vkfd_lru *lru = dev->evict.lrus.resident;
	u64 free = vkfd_vram_free_bytes(dev, true);
	u64 need = size - min(size, free);
	u64 found;

	found = others_visible(&lru[VKFD_LRU_GEM].list, NULL) +
		others_visible(&lru[VKFD_LRU_GEM].passed, NULL);
	if (!gem_only)
		found += others_visible(&lru[VKFD_LRU_KFD].list, own) +
			 others_visible(&lru[VKFD_LRU_KFD].passed, own);
	return need <= min(found, system);
}

bool vkfd_lru_can_free(struct vkfd_device *dev, u64 size, u64 system, bool gem_only,
		       const struct vkfd_process *own, bool visible)
{
	struct vkfd_lru *lru = dev->evict.lrus.resident;
	u64 free, need, gem;
	bool can;

	mutex_lock(&dev->vram.lock);
	if (visible) {
		can = can_free_visible(dev, size, system, gem_only, own);
		mutex_unlock(&dev->vram.lock);
		return can;
	}
	free = vkfd_vram_free_bytes(dev, false);
	need = size - min(size, free);
	gem = lru[VKFD_LRU_GEM].bytes;
	if (need <= gem || need > system)
		can = need <= system;
	else
		can = !gem_only && has_others(&lru[VKFD_LRU_KFD], need - gem, own);
	mutex_unlock(&dev->vram.lock);
	return can;
}
