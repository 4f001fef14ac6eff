/* SPDX-License-Identifier: MIT */
/*
 * Interrupt handler block (OSSSYS 4.2): rings, write-back, doorbell, PASID look-up.
 *
 * Register indices are absolute DWORD indices in BAR5 (the SOC15 base is already
 * added), written as byte offset / 4, so WRITE_DATA, WAIT_REG_MEM and KFD ioctls
 * can use them as they are and a load or store uses index * 4.
 * Names, fields and offsets are those of AMD's asic_reg headers.
 */
#ifndef VKFD_REGS_IH_H
#define VKFD_REGS_IH_H

/* Ring 0 */
#define mmIH_RB_CNTL                                  (0x04480 / 4)
#define IH_RB_CNTL__RB_ENABLE__SHIFT                               0
#define IH_RB_CNTL__RB_ENABLE_MASK                                0x00000001
#define IH_RB_CNTL__RB_SIZE__SHIFT                                 1
#define IH_RB_CNTL__RB_SIZE_MASK                                  0x0000003E
#define IH_RB_CNTL__RB_GPU_TS_ENABLE__SHIFT                        7
#define IH_RB_CNTL__RB_GPU_TS_ENABLE_MASK                         0x00000080
#define IH_RB_CNTL__WPTR_WRITEBACK_ENABLE__SHIFT                   8
#define IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK                    0x00000100
#define IH_RB_CNTL__RB_FULL_DRAIN_ENABLE__SHIFT                    9
#define IH_RB_CNTL__RB_FULL_DRAIN_ENABLE_MASK                     0x00000200
#define IH_RB_CNTL__FULL_DRAIN_CLEAR__SHIFT                        10
#define IH_RB_CNTL__FULL_DRAIN_CLEAR_MASK                         0x00000400
#define IH_RB_CNTL__PAGE_RB_CLEAR__SHIFT                           11
#define IH_RB_CNTL__PAGE_RB_CLEAR_MASK                            0x00000800
#define IH_RB_CNTL__RB_USED_INT_THRESHOLD__SHIFT                   12
#define IH_RB_CNTL__RB_USED_INT_THRESHOLD_MASK                    0x0000F000
#define IH_RB_CNTL__WPTR_OVERFLOW_ENABLE__SHIFT                    16
#define IH_RB_CNTL__WPTR_OVERFLOW_ENABLE_MASK                     0x00010000
#define IH_RB_CNTL__ENABLE_INTR__SHIFT                             17
#define IH_RB_CNTL__ENABLE_INTR_MASK                              0x00020000
#define IH_RB_CNTL__MC_SWAP__SHIFT                                 18
#define IH_RB_CNTL__MC_SWAP_MASK                                  0x000C0000
#define IH_RB_CNTL__MC_SNOOP__SHIFT                                20
#define IH_RB_CNTL__MC_SNOOP_MASK                                 0x00100000
#define IH_RB_CNTL__RPTR_REARM__SHIFT                              21
#define IH_RB_CNTL__RPTR_REARM_MASK                               0x00200000
#define IH_RB_CNTL__MC_RO__SHIFT                                   22
#define IH_RB_CNTL__MC_RO_MASK                                    0x00400000
#define IH_RB_CNTL__MC_VMID__SHIFT                                 24
#define IH_RB_CNTL__MC_VMID_MASK                                  0x0F000000
#define IH_RB_CNTL__MC_SPACE__SHIFT                                28
#define IH_RB_CNTL__MC_SPACE_MASK                                 0x70000000
#define IH_RB_CNTL__WPTR_OVERFLOW_CLEAR__SHIFT                     31
#define IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK                      0x80000000
#define mmIH_RB_BASE                                  (0x04484 / 4)
#define mmIH_RB_BASE_HI                               (0x04488 / 4)
#define mmIH_RB_RPTR                                  (0x0448C / 4)
#define IH_RB_RPTR__OFFSET__SHIFT                                  2
#define IH_RB_RPTR__OFFSET_MASK                                   0x0003FFFC
#define mmIH_RB_WPTR                                  (0x04490 / 4)
#define IH_RB_WPTR__RB_OVERFLOW__SHIFT                             0
#define IH_RB_WPTR__RB_OVERFLOW_MASK                              0x00000001
#define IH_RB_WPTR__OFFSET__SHIFT                                  2
#define IH_RB_WPTR__OFFSET_MASK                                   0x0003FFFC
#define IH_RB_WPTR__RB_LEFT_NONE__SHIFT                            18
#define IH_RB_WPTR__RB_LEFT_NONE_MASK                             0x00040000
#define IH_RB_WPTR__RB_MAY_OVERFLOW__SHIFT                         19
#define IH_RB_WPTR__RB_MAY_OVERFLOW_MASK                          0x00080000
#define mmIH_RB_WPTR_ADDR_HI                          (0x04494 / 4)
#define mmIH_RB_WPTR_ADDR_LO                          (0x04498 / 4)
#define mmIH_DOORBELL_RPTR                            (0x0449C / 4)
#define IH_DOORBELL_RPTR__OFFSET__SHIFT                            0
#define IH_DOORBELL_RPTR__OFFSET_MASK                             0x03FFFFFF
#define IH_DOORBELL_RPTR__ENABLE__SHIFT                            28
#define IH_DOORBELL_RPTR__ENABLE_MASK                             0x10000000

/* Rings 1 and 2 */
#define mmIH_RB_CNTL_RING1                            (0x044B0 / 4)
#define mmIH_RB_BASE_RING1                            (0x044B4 / 4)
#define mmIH_RB_BASE_HI_RING1                         (0x044B8 / 4)
#define mmIH_RB_RPTR_RING1                            (0x044BC / 4)
#define mmIH_RB_WPTR_RING1                            (0x044C0 / 4)
#define mmIH_DOORBELL_RPTR_RING1                      (0x044CC / 4)
#define mmIH_RB_CNTL_RING2                            (0x044E0 / 4)
#define mmIH_RB_BASE_RING2                            (0x044E4 / 4)
#define mmIH_RB_BASE_HI_RING2                         (0x044E8 / 4)
#define mmIH_RB_RPTR_RING2                            (0x044EC / 4)
#define mmIH_RB_WPTR_RING2                            (0x044F0 / 4)
#define mmIH_DOORBELL_RPTR_RING2                      (0x044FC / 4)

/* PASID of a VMID as interrupt entries report it: GFX hub, MM hub; 16 registers each */
#define mmIH_VMID_0_LUT                               (0x04280 / 4)
#define IH_VMID_0_LUT__PASID__SHIFT                                0
#define IH_VMID_0_LUT__PASID_MASK                                 0x0000FFFF
#define mmIH_VMID_0_LUT_MM                            (0x042C0 / 4)

/* Control and status */
#define mmIH_CNTL                                     (0x04580 / 4)
#define mmIH_CNTL2                                    (0x04584 / 4)
#define mmIH_STATUS                                   (0x04588 / 4)
#define mmIH_INT_FLOOD_CNTL                           (0x045D4 / 4)
#define mmIH_STORM_CLIENT_LIST_CNTL                   (0x045E8 / 4)

#endif /* VKFD_REGS_IH_H */
