// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which GPUs may be peers, and the end of that when one of them goes.
 *
 * Linux decides whether one PCI function may access another's memory: CONFIG_PCI_P2PDMA
 * and what it knows of the bridges between them. Where it says no, or was built without
 * that knowledge, GPUs exchange data through system memory. An emulated bus passes such
 * accesses in any case, which is what pcie_p2p=2 is for.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <drm/drm_drv.h>

#include "vkfd_bo.h"
#include "vkfd_device.h"
#include "vkfd_peer.h"
#include "vkfd_vm.h"

#define VKFD_P2P_NEVER	0
#define VKFD_P2P_ASK	1
#define VKFD_P2P_ALWAYS	2

/* The name of amdgpu's, whose 1 means the same. */
static int vkfd_pcie_p2p = VKFD_P2P_ASK;
module_param_named(pcie_p2p, vkfd_pcie_p2p, int, 0444);
MODULE_PARM_DESC(pcie_p2p,
		 "GPUs map each other's VRAM: 0 never, 1 where the kernel says they can (default), 2 always");

bool vkfd_peer_accessible(struct vkfd_device *dev, struct vkfd_device *peer)
{
	resource_size_t last = dev->vram.base + dev->vram.size - 1;

	if (vkfd_pcie_p2p == VKFD_P2P_NEVER)
		return false;
	/* Bus addresses are BAR addresses only without one. */
	if (device_iommu_mapped(dev->drm.dev) || device_iommu_mapped(peer->drm.dev))
		return false;
	/* As upstream: all of VRAM, by addresses the peer can put on the bus. */
	if (dev->vram.visible < dev->vram.size || last > dma_get_mask(peer->drm.dev))
		return false;
	return vkfd_pcie_p2p == VKFD_P2P_ALWAYS ||
	       pci_p2pdma_distance(dev->pdev, &peer->pdev->dev, false) >= 0;
}

void vkfd_peer_note(struct vkfd_bo *bo)
{
	struct vkfd_device *dev = bo->dev;

	/* System memory stays where it is when a GPU goes. */
	if (bo->kind == VKFD_BO_GTT || bo->kind == VKFD_BO_USERPTR || bo->kind == VKFD_BO_FOREIGN)
		return;
	mutex_lock(&dev->vram.lock);
	if (list_empty(&bo->peer_link))
		list_add_tail(&bo->peer_link, &dev->peer_bos);
	mutex_unlock(&dev->vram.lock);
}

void vkfd_peer_forget(struct vkfd_bo *bo)
{
	/* Nobody adds it any more: there is no reference left. */
	if (list_empty(&bo->peer_link))
		return;
	mutex_lock(&bo->dev->vram.lock);
	list_del_init(&bo->peer_link);
	mutex_unlock(&bo->dev->vram.lock);
}

void vkfd_peer_revoke(struct vkfd_device *dev)
{
	struct vkfd_bo *bo, *last = NULL;

	/*
	 * Who comes to vkfd_peer_note() or to the list of mappings only behind this finds that
	 * the GPU is unplugged when he makes entries. A BO with a reference stays in the list.
	 */
	mutex_lock(&dev->vram.lock);
	list_for_each_entry(bo, &dev->peer_bos, peer_link) {
		if (!kref_get_unless_zero(&bo->base.refcount))
			continue;
		mutex_unlock(&dev->vram.lock);
		if (last)
			drm_gem_object_put(&last->base);
		/* Entries of what is in a BAR are invalid now: vkfd_bo_pte(). */
		vkfd_vm_refill_bo(bo);
		last = bo;
		mutex_lock(&dev->vram.lock);
	}
	mutex_unlock(&dev->vram.lock);
	if (last)
		drm_gem_object_put(&last->base);
}
