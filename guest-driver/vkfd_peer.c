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
#include "vkfd_mem.h"
#include "vkfd_peer.h"
#include "vkfd_process.h"
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

static void revoke_in_process(struct vkfd_process *p, struct vkfd_device *dev)
{
	struct vkfd_mem *mem;
	unsigned long handle;
	unsigned int i;

	mutex_lock(&p->lock);
	for (i = 0; i < VKFD_MAX_GPUS; i++) {
		if (!p->pdds[i])
			continue;
		/* Entries are invalid now: vkfd_bo_pte(). */
		xa_for_each(&p->pdds[i]->mems, handle, mem)
			if (mem->bo->dev == dev && !vkfd_bo_in_system(mem->bo))
				vkfd_vm_refill_bo(mem->bo);
	}
	mutex_unlock(&p->lock);
}

void vkfd_peer_revoke(struct vkfd_device *dev)
{
	struct vkfd_process *p;
	unsigned long pasid = 0;

	/* Who maps from now on finds that it is unplugged: also under process->lock. */
	while ((p = vkfd_process_next(&pasid))) {
		revoke_in_process(p, dev);
		vkfd_process_put(p);
	}
}
