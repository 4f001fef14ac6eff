/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System memory in the address space of VMID 0: what the driver and the scheduler
 * firmware share. The flat table is in VRAM (dev->gart) and is lost with the registers:
 * whoever owns a buffer maps it again when the part comes back.
 */
#ifndef VKFD_GART_H
#define VKFD_GART_H

#include <linux/types.h>

struct vkfd_device;

/**
 * struct vkfd_gart_buf - pages, contiguous for the GPU only
 * @va: address in VMID 0
 * @pages: how many
 * @cpu: address of each page; coherent memory
 * @dma: bus address of each page
 */
struct vkfd_gart_buf {
	u64 va;
	unsigned int pages;
	void **cpu;
	dma_addr_t *dma;
};

/*
 * Memory and address range; not mapped yet. Lives until the driver is unbound. In probe
 * only. -ENOMEM; -ENOSPC: the address space is used up.
 */
int vkfd_gart_alloc(struct vkfd_device *dev, unsigned int pages, struct vkfd_gart_buf *buf);
/* Enters the pages into the table and flushes VMID 0. The hardware is there. -ETIMEDOUT. */
int vkfd_gart_map(struct vkfd_device *dev, const struct vkfd_gart_buf *buf);

#endif /* VKFD_GART_H */
