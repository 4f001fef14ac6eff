/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Doorbell slices: given to a process with its first queue on a GPU, not before.
 */
#ifndef VKFD_DOORBELL_H_DRIVER
#define VKFD_DOORBELL_H_DRIVER

#include <linux/bitmap.h>
#include <linux/types.h>

#include <vkfd/doorbell.h>

struct vkfd_device;
struct vkfd_pdd;
struct vm_area_struct;

/*
 * Gives @pdd a slice if it has none; process->lock held. -ENOSPC when all are taken.
 * The slice stays until the process ends: user space may have mapped it.
 */
int vkfd_doorbell_get_slice(struct vkfd_pdd *pdd);
/* process->lock held; the process ends and none of its tasks runs any more. */
void vkfd_doorbell_put_slice(struct vkfd_pdd *pdd);

/* Bus address of the slice; process->lock held; the slice exists. */
phys_addr_t vkfd_doorbell_slice_addr(struct vkfd_pdd *pdd);
/* Dword index on BAR2 of doorbell @id of the slice, as DOORBELL_OFFSET wants it. */
u32 vkfd_doorbell_dw_index(struct vkfd_pdd *pdd, unsigned int id);
/* mmap offset user space gets: type 3, gpu_id, byte offset in the slice. */
u64 vkfd_doorbell_mmap_offset(struct vkfd_pdd *pdd, unsigned int id);

/*
 * First doorbell that is not in @used and that a compute queue may have; sets no
 * bit. -EBUSY if all 736 are taken.
 */
int vkfd_doorbell_find_id(const unsigned long *used);
/* The doorbell in a slice that user queue @rlc (0..7) of SDMA @engine has on any part. */
unsigned int vkfd_doorbell_sdma_id(unsigned int engine, unsigned int rlc);

/*
 * mmap of the slice through /dev/kfd: exactly the slice, shared; -EINVAL otherwise or
 * if there is no slice yet. Takes no lock (mmap_lock is held).
 */
int vkfd_doorbell_mmap(struct vkfd_pdd *pdd, struct vm_area_struct *vma);

#endif /* VKFD_DOORBELL_H_DRIVER */
