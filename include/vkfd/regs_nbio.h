/* SPDX-License-Identifier: MIT */
/*
 * Bus interface (NBIO 7.4) and host data path.
 *
 * Register indices are absolute DWORD indices in BAR5 (the SOC15 base is already
 * added), written as byte offset / 4, so WRITE_DATA, WAIT_REG_MEM and KFD ioctls
 * can use them as they are and a load or store uses index * 4.
 * Names, fields and offsets are those of AMD's asic_reg headers.
 */
#ifndef VKFD_REGS_NBIO_H
#define VKFD_REGS_NBIO_H

/* Index/data windows */
#define mmMM_INDEX                                    (0x00000 / 4)
#define mmMM_DATA                                     (0x00004 / 4)
#define mmMM_INDEX_HI                                 (0x00018 / 4)
#define mmPCIE_INDEX                                  (0x00030 / 4)
#define mmPCIE_DATA                                   (0x00034 / 4)
#define mmPCIE_INDEX2                                 (0x00038 / 4)
#define mmPCIE_DATA2                                  (0x0003C / 4)

/* Scratch, straps, sizes */
#define mmBIOS_SCRATCH_0                              (0x00130 / 4)
#define mmBIOS_SCRATCH_7                              (0x0014C / 4)
#define ATOM_S7_ASIC_INIT_COMPLETE_MASK                           0x00000200
/* Scratch 8 is this project's use: visible VRAM in MiB, if bit 31 is set. */
#define mmBIOS_SCRATCH_8                              (0x00150 / 4)
#define VKFD_BIOS_SCRATCH_8__VISIBLE_MIB_MASK                     0x7FFFFFFF
#define VKFD_BIOS_SCRATCH_8__VALID_MASK                           0x80000000
#define mmRCC_DEV0_EPF0_STRAP0                        (0x034C4 / 4)
#define RCC_DEV0_EPF0_STRAP0__STRAP_ATI_REV_ID_DEV0_F0__SHIFT      24
#define RCC_DEV0_EPF0_STRAP0__STRAP_ATI_REV_ID_DEV0_F0_MASK       0x0F000000
#define mmRCC_DOORBELL_APER_EN                        (0x03780 / 4)
#define RCC_DOORBELL_APER_EN__BIF_DOORBELL_APER_EN_MASK           0x00000001
#define mmRCC_CONFIG_MEMSIZE                          (0x0378C / 4)
#define mmRCC_IOV_FUNC_IDENTIFIER                     (0x03794 / 4)

/* Interrupts, doorbell apertures */
#define mmINTERRUPT_CNTL                              (0x03844 / 4)
#define mmINTERRUPT_CNTL2                             (0x03848 / 4)
#define mmDOORBELL_SELFRING_GPA_APER_BASE_HIGH        (0x0384C / 4)
#define mmDOORBELL_SELFRING_GPA_APER_BASE_LOW         (0x03850 / 4)
#define mmDOORBELL_SELFRING_GPA_APER_CNTL             (0x03854 / 4)
#define mmBIF_DOORBELL_INT_CNTL                       (0x03874 / 4)
#define mmBIF_FB_EN                                   (0x0387C / 4)
#define BIF_FB_EN__FB_READ_EN_MASK                                0x00000001
#define BIF_FB_EN__FB_WRITE_EN_MASK                               0x00000002
#define mmBIF_SDMA0_DOORBELL_RANGE                    (0x03BC0 / 4)
#define BIF_SDMA0_DOORBELL_RANGE__OFFSET__SHIFT                    2
#define BIF_SDMA0_DOORBELL_RANGE__OFFSET_MASK                     0x00000FFC
#define BIF_SDMA0_DOORBELL_RANGE__SIZE__SHIFT                      16
#define BIF_SDMA0_DOORBELL_RANGE__SIZE_MASK                       0x001F0000
#define mmBIF_SDMA1_DOORBELL_RANGE                    (0x03BC4 / 4)
#define mmBIF_IH_DOORBELL_RANGE                       (0x03BC8 / 4)
#define BIF_IH_DOORBELL_RANGE__OFFSET__SHIFT                       2
#define BIF_IH_DOORBELL_RANGE__OFFSET_MASK                        0x00000FFC
#define BIF_IH_DOORBELL_RANGE__SIZE__SHIFT                         16
#define BIF_IH_DOORBELL_RANGE__SIZE_MASK                          0x001F0000
#define mmBIF_MMSCH0_DOORBELL_RANGE                   (0x03BCC / 4)

/* HDP flush */
#define mmGPU_HDP_FLUSH_REQ                           (0x03898 / 4)
#define mmGPU_HDP_FLUSH_DONE                          (0x0389C / 4)
#define mmREMAP_HDP_MEM_FLUSH_CNTL                    (0x03934 / 4)
#define mmREMAP_HDP_REG_FLUSH_CNTL                    (0x03938 / 4)

/* Host data path */
#define mmHDP_HOST_PATH_CNTL                          (0x03FB0 / 4)
#define mmHDP_NONSURFACE_BASE                         (0x03D80 / 4)
#define mmHDP_NONSURFACE_BASE_HI                      (0x03D88 / 4)
#define mmHDP_READ_CACHE_INVALIDATE                   (0x03FC4 / 4)
#define mmHDP_MISC_CNTL                               (0x03FCC / 4)

#endif /* VKFD_REGS_NBIO_H */
