/* SPDX-License-Identifier: MIT */
/*
 * Doorbell assignment of Vega20. Indices count 64-bit doorbells; the dword index
 * on BAR2, which hardware compares, is twice that.
 */
#ifndef VKFD_DOORBELL_H
#define VKFD_DOORBELL_H

#define AMDGPU_VEGA20_DOORBELL_KIQ		0x000
#define AMDGPU_VEGA20_DOORBELL_HIQ		0x001
#define AMDGPU_VEGA20_DOORBELL_MEC_RING0	0x003
#define AMDGPU_VEGA20_DOORBELL_USERQUEUE_START	0x00b
#define AMDGPU_VEGA20_DOORBELL_USERQUEUE_END	0x08a
#define AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE0	0x100
#define AMDGPU_VEGA20_DOORBELL_SDMA_ENGINE1	0x10a
#define AMDGPU_VEGA20_DOORBELL_IH		0x178
#define AMDGPU_VEGA20_DOORBELL64_FIRST_NON_CP	0x100
#define AMDGPU_VEGA20_DOORBELL64_LAST_NON_CP	0x18f

/* Dword index on BAR2 of a 64-bit doorbell. */
#define VKFD_DOORBELL_DW(index64)		((index64) << 1)

/*
 * A process's slice: 1024 doorbells of 8 bytes. Ids 0x100..0x18f and their
 * mirror at + 512 fall into the ranges of SDMA, IH and VCN, because the range
 * check of hardware looks at the offset in a 4 KiB page only.
 */
#define VKFD_DOORBELLS_PER_SLICE		1024u
#define VKFD_DOORBELL_SLICE_SIZE		0x2000u
#define VKFD_DOORBELL_MIRROR			512u
/* Doorbell pages before the first process slice: amdgpu's, one spare, KFD's own. */
#define VKFD_DOORBELL_KERNEL_SIZE		0x4000u

#endif /* VKFD_DOORBELL_H */
