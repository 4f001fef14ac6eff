/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GPUs that reach each other's memory over the bus: VRAM and other BARs of one in page
 * tables of another.
 */
#ifndef VKFD_PEER_H
#define VKFD_PEER_H

#include <linux/types.h>

struct vkfd_bo;
struct vkfd_device;

/* Whether @peer can reach BARs of @dev, another GPU. Any context that may sleep. */
bool vkfd_peer_accessible(struct vkfd_device *dev, struct vkfd_device *peer);

/*
 * @bo is about to be in page tables of another GPU than its own, by whatever call / it is being
 * freed, and in none. Take vram.lock.
 */
void vkfd_peer_note(struct vkfd_bo *bo);
void vkfd_peer_forget(struct vkfd_bo *bo);

/*
 * After drm_dev_unplug() of @dev: its BARs leave the page tables of all other GPUs, since
 * their addresses may soon be somebody else's. Takes vm->lock of those.
 */
void vkfd_peer_revoke(struct vkfd_device *dev);

#endif /* VKFD_PEER_H */
