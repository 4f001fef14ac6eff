/* SPDX-License-Identifier: MIT */
/*
 * gfx9 GPU page tables: four levels of 512 entries of 8 bytes, 4 KiB pages,
 * 48-bit addresses (PDB2 va[47:39], PDB1 va[38:30], PDB0 va[29:21], PTB va[20:12]).
 */
#ifndef VKFD_GPUVM_H
#define VKFD_GPUVM_H

#define AMDGPU_GPU_PAGE_SHIFT		12
#define AMDGPU_GPU_PAGE_SIZE		4096u
#define VKFD_PT_ENTRIES			512u
#define VKFD_PT_LEVELS			4
#define VKFD_PT_SHIFT(level)		(39 - 9 * (level))	/* level 0 is PDB2 */

#define AMDGPU_PTE_VALID		(1ull << 0)
#define AMDGPU_PTE_SYSTEM		(1ull << 1)	/* bus address, else VRAM offset */
#define AMDGPU_PTE_SNOOPED		(1ull << 2)
#define AMDGPU_PTE_TMZ			(1ull << 3)
#define AMDGPU_PTE_EXECUTABLE		(1ull << 4)
#define AMDGPU_PTE_READABLE		(1ull << 5)
#define AMDGPU_PTE_WRITEABLE		(1ull << 6)
#define AMDGPU_PTE_FRAG__SHIFT		7
#define AMDGPU_PTE_ADDR_MASK		0x0000fffffffff000ull
#define AMDGPU_PTE_PRT			(1ull << 51)
#define AMDGPU_PDE_PTE			(1ull << 54)	/* this PDE maps a large page */
#define AMDGPU_PTE_LOG			(1ull << 55)
#define AMDGPU_PTE_TF			(1ull << 56)
#define AMDGPU_PTE_MTYPE_VG10__SHIFT	57
#define AMDGPU_PTE_MTYPE_VG10_MASK	(3ull << 57)
#define AMDGPU_MTYPE_NC			0
#define AMDGPU_MTYPE_WC			1
#define AMDGPU_MTYPE_CC			2
#define AMDGPU_MTYPE_UC			3
#define AMDGPU_PDE_ADDR_MASK		0x0000ffffffffffc0ull

/* KFD apertures of gfx9 (see SH_MEM_BASES). */
#define VKFD_LDS_APERTURE_BASE		0x0001000000000000ull
#define VKFD_SCRATCH_APERTURE_BASE	0x0002000000000000ull
#define VKFD_APERTURE_SIZE		0x0000000100000000ull
#define VKFD_GPUVM_BASE			0x0000000000010000ull
#define VKFD_GPUVM_LIMIT		0x00007fffffffffffull

/* Where the emulated VBIOS leaves the framebuffer in MC address space. */
#define VKFD_FB_LOCATION_BASE		0x8000000000ull

#endif /* VKFD_GPUVM_H */
