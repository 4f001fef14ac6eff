// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include <vkfd/gpuvm.h>

#include "vkfd_device.h"
#include "vkfd_gart.h"
#include "vkfd_hw.h"

static_assert(PAGE_SIZE == AMDGPU_GPU_PAGE_SIZE);

int vkfd_gart_alloc(struct vkfd_device *dev, unsigned int pages, struct vkfd_gart_buf *buf)
{
	struct device *d = &dev->pdev->dev;
	unsigned int i;

	if (pages > VKFD_GART_SIZE / PAGE_SIZE - dev->gart_used)
		return -ENOSPC;
	buf->cpu = devm_kcalloc(d, pages, sizeof(*buf->cpu), GFP_KERNEL);
	buf->dma = devm_kcalloc(d, pages, sizeof(*buf->dma), GFP_KERNEL);
	if (!buf->cpu || !buf->dma)
		return -ENOMEM;
	for (i = 0; i < pages; i++) {
		buf->cpu[i] = dmam_alloc_coherent(d, PAGE_SIZE, &buf->dma[i], GFP_KERNEL);
		if (!buf->cpu[i])
			return -ENOMEM;
	}
	buf->pages = pages;
	buf->va = VKFD_GART_START + (u64)dev->gart_used * PAGE_SIZE;
	dev->gart_used += pages;
	return 0;
}

int vkfd_gart_map(struct vkfd_device *dev, const struct vkfd_gart_buf *buf)
{
	const u64 flags = AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED |
			  AMDGPU_PTE_EXECUTABLE | AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE |
			  (u64)AMDGPU_MTYPE_UC << AMDGPU_PTE_MTYPE_VG10__SHIFT;
	u64 __iomem *pte = dev->vram.map + dev->gart.start;
	unsigned int i;
	int idx, err;

	if (!vkfd_hw_enter(dev, &idx))
		return -ENODEV;
	pte += (buf->va - VKFD_GART_START) / PAGE_SIZE;
	for (i = 0; i < buf->pages; i++)
		writeq(buf->dma[i] | flags, &pte[i]);
	err = vkfd_hw_flush_tlb(dev, 0);
	vkfd_hw_exit(idx);
	return err;
}
