/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VRAM BOs of a GPU by where they are, whose, and when they were used last: who is the next to
 * move (vkfd_evict.h).
 *
 * A round is one look at them by one who holds dev->evict.lock. It passes each BO once, from the
 * front of a list, and what it has passed waits aside until it ends. So a round costs what it
 * passes, however many moves it makes.
 */
#ifndef VKFD_LRU_H
#define VKFD_LRU_H

#include <linux/list.h>
#include <linux/types.h>

struct vkfd_bo;
struct vkfd_device;
struct vkfd_process;

/* Whose BOs, in the order in which they make room; they come back in the other. */
enum vkfd_lru_owner {
	VKFD_LRU_GEM,
	VKFD_LRU_KFD,
	VKFD_LRU_OWNERS
};

/**
 * struct vkfd_lru - BOs of one owner, in VRAM or away; vram.lock
 * @list: the one that was used, or left, longest ago first
 * @passed: those that the round under way has seen, which are before those of @list
 * @num, @bytes: of both
 */
struct vkfd_lru {
	struct list_head list;
	struct list_head passed;
	unsigned int num;
	u64 bytes;
};

/**
 * struct vkfd_lrus - all of a GPU; vram.lock
 * @resident: in VRAM
 * @away: in system memory
 * @round: number of the round; evict.lock as well
 */
struct vkfd_lrus {
	struct vkfd_lru resident[VKFD_LRU_OWNERS];
	struct vkfd_lru away[VKFD_LRU_OWNERS];
	u64 round;
};

void vkfd_lru_init(struct vkfd_lrus *l);

/*
 * vram.lock held. Place: @bo is where it says, as the last of those; it may have been elsewhere,
 * or nowhere. Touch: the last of those in VRAM, if it is one of them. Remove: nowhere.
 */
void vkfd_lru_place(struct vkfd_bo *bo, bool away);
void vkfd_lru_touch(struct vkfd_bo *bo);
void vkfd_lru_remove(struct vkfd_bo *bo);

/* A round, evict.lock held. Both take vram.lock, as do those below. */
void vkfd_lru_begin(struct vkfd_device *dev);
void vkfd_lru_end(struct vkfd_device *dev);

/*
 * The next to leave / to come back of the ones that are not larger than what is free; with a
 * reference; NULL: the round has seen all. @gem_only, @own, @visible: who stays, see
 * vkfd_lru_can_free().
 */
struct vkfd_bo *vkfd_lru_next_victim(struct vkfd_device *dev, bool gem_only,
				     const struct vkfd_process *own, bool visible);
struct vkfd_bo *vkfd_lru_next_away(struct vkfd_device *dev);

/*
 * Whether @size bytes are free if all move that may, and that is not more than there is room
 * for in @system bytes. @gem_only: KFD's memory stays. Else only that which queues of @own can
 * use does, if it is not NULL. @visible: what counts is what CPUs see of it; that takes a look at
 * all, so it is for when they do not see all. Not only in a round.
 */
bool vkfd_lru_can_free(struct vkfd_device *dev, u64 size, u64 system, bool gem_only,
		       const struct vkfd_process *own, bool visible);

/* Bytes that are away; without a lock, so it may be late. */
static inline u64 vkfd_lru_away_bytes(const struct vkfd_lrus *l)
{
	return READ_ONCE(l->away[VKFD_LRU_GEM].bytes) + READ_ONCE(l->away[VKFD_LRU_KFD].bytes);
}

#endif /* VKFD_LRU_H */
