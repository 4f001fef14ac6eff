// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of GPUs. A slot is taken in probe and freed with the last reference
 * to the DRM device, so that an index kept by a process never means another GPU.
 */
#include <linux/bug.h>
#include <linux/jhash.h>
#include <drm/drm_drv.h>

#include "vkfd_device.h"

/* Readers are in vkfd_hw_enter(). */
DEFINE_SRCU(vkfd_hw_srcu);

/**
 * struct vkfd_slot
 * @dev: the GPU that has the slot; NULL if it is free
 * @live: look-ups by gpu_id find it
 */
struct vkfd_slot {
	struct vkfd_device *dev;
	bool live;
};

/*
 * Leaf lock; also taken when the last reference to a GPU goes, which may be in
 * any context that can sleep or not, hence a spinlock.
 */
static DEFINE_SPINLOCK(vkfd_slots_lock);
static struct vkfd_slot vkfd_slots[VKFD_MAX_GPUS];

static struct vkfd_device *vkfd_find_locked(u32 gpu_id, bool live_only)
{
	unsigned int i;

	lockdep_assert_held(&vkfd_slots_lock);
	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		struct vkfd_slot *s = &vkfd_slots[i];

		if (s->dev && s->dev->gpu_id == gpu_id && (s->live || !live_only))
			return s->dev;
	}
	return NULL;
}

struct vkfd_device *vkfd_device_by_gpu_id(u32 gpu_id)
{
	struct vkfd_device *dev;

	spin_lock(&vkfd_slots_lock);
	dev = vkfd_find_locked(gpu_id, true);
	spin_unlock(&vkfd_slots_lock);
	return dev;
}

struct vkfd_device *vkfd_device_get_by_gpu_id(u32 gpu_id)
{
	struct vkfd_device *dev;

	spin_lock(&vkfd_slots_lock);
	dev = vkfd_find_locked(gpu_id, true);
	/* a live GPU still has probe's reference */
	if (dev)
		drm_dev_get(&dev->drm);
	spin_unlock(&vkfd_slots_lock);
	return dev;
}

struct vkfd_device *vkfd_device_by_index(unsigned int index)
{
	struct vkfd_device *dev = NULL;

	if (index >= VKFD_MAX_GPUS)
		return NULL;
	spin_lock(&vkfd_slots_lock);
	if (vkfd_slots[index].live)
		dev = vkfd_slots[index].dev;
	spin_unlock(&vkfd_slots_lock);
	return dev;
}

struct vkfd_device *vkfd_device_get_by_index(unsigned int index)
{
	struct vkfd_device *dev = NULL;

	if (index >= VKFD_MAX_GPUS)
		return NULL;
	spin_lock(&vkfd_slots_lock);
	if (vkfd_slots[index].live) {
		dev = vkfd_slots[index].dev;
		drm_dev_get(&dev->drm);
	}
	spin_unlock(&vkfd_slots_lock);
	return dev;
}

struct vkfd_device *vkfd_device_get_next(unsigned int *index)
{
	struct vkfd_device *dev;

	for (; *index < VKFD_MAX_GPUS; (*index)++) {
		dev = vkfd_device_get_by_index(*index);
		if (dev)
			return dev;
	}
	return NULL;
}

/*
 * A 16-bit id that is stable over reboots and reloads: a hash of what tells one GPU
 * of a machine from another.
 */
static u16 vkfd_gpu_id_hash(struct vkfd_device *dev)
{
	struct pci_dev *pdev = dev->pdev;
	const u32 key[8] = {
		pdev->devfn,
		pdev->subsystem_vendor | (u32)pdev->subsystem_device << 16,
		pci_domain_nr(pdev->bus),
		pdev->device,
		pdev->bus->number,
		lower_32_bits(dev->vram.size),
		upper_32_bits(dev->vram.size),
		1 << 16,	/* one XCC, the first */
	};
	u32 hash = jhash2(key, ARRAY_SIZE(key), 0);

	return hash ^ hash >> 16;
}

int vkfd_device_take_slot(struct vkfd_device *dev)
{
	unsigned int i;
	u16 id;

	id = vkfd_gpu_id_hash(dev);

	spin_lock(&vkfd_slots_lock);
	for (i = 0; i < VKFD_MAX_GPUS && vkfd_slots[i].dev; i++)
		;
	if (i == VKFD_MAX_GPUS) {
		spin_unlock(&vkfd_slots_lock);
		return -ENOSPC;
	}
	/* 0 means CPU; ids of GPUs that processes still hold stay theirs, too */
	while (!id || vkfd_find_locked(id, false))
		id++;
	dev->gpu_id = id;
	dev->index = i;
	vkfd_slots[i].dev = dev;
	vkfd_slots[i].live = false;
	spin_unlock(&vkfd_slots_lock);
	return 0;
}

void vkfd_device_publish(struct vkfd_device *dev)
{
	spin_lock(&vkfd_slots_lock);
	vkfd_slots[dev->index].live = true;
	spin_unlock(&vkfd_slots_lock);
}

void vkfd_device_hide(struct vkfd_device *dev)
{
	spin_lock(&vkfd_slots_lock);
	vkfd_slots[dev->index].live = false;
	spin_unlock(&vkfd_slots_lock);
}

void vkfd_device_release_slot(struct vkfd_device *dev)
{
	spin_lock(&vkfd_slots_lock);
	/* probe may have failed before it took one */
	if (vkfd_slots[dev->index].dev == dev)
		vkfd_slots[dev->index] = (struct vkfd_slot){};
	spin_unlock(&vkfd_slots_lock);
}
