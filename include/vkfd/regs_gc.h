/* SPDX-License-Identifier: MIT */
/*
 * Graphics and compute block of gfx9 (GC 9.0/9.4): GRBM, CP, HQD bank, RLC, SH_MEM.
 *
 * Register indices are absolute DWORD indices in BAR5 (the SOC15 base is already
 * added), written as byte offset / 4, so WRITE_DATA, WAIT_REG_MEM and KFD ioctls
 * can use them as they are and a load or store uses index * 4.
 * Names, fields and offsets are those of AMD's asic_reg headers.
 */
#ifndef VKFD_REGS_GC_H
#define VKFD_REGS_GC_H

/* GRBM: bank selection and status */
#define mmGRBM_GFX_CNTL                               (0x08088 / 4)
#define GRBM_GFX_CNTL__PIPEID__SHIFT                               0
#define GRBM_GFX_CNTL__PIPEID_MASK                                0x00000003
#define GRBM_GFX_CNTL__MEID__SHIFT                                 2
#define GRBM_GFX_CNTL__MEID_MASK                                  0x0000000C
#define GRBM_GFX_CNTL__VMID__SHIFT                                 4
#define GRBM_GFX_CNTL__VMID_MASK                                  0x000000F0
#define GRBM_GFX_CNTL__QUEUEID__SHIFT                              8
#define GRBM_GFX_CNTL__QUEUEID_MASK                               0x00000700
#define mmGRBM_GFX_INDEX                              (0x30800 / 4)
#define GRBM_GFX_INDEX__INSTANCE_INDEX__SHIFT                      0
#define GRBM_GFX_INDEX__INSTANCE_INDEX_MASK                       0x000000FF
#define GRBM_GFX_INDEX__SH_INDEX__SHIFT                            8
#define GRBM_GFX_INDEX__SH_INDEX_MASK                             0x0000FF00
#define GRBM_GFX_INDEX__SE_INDEX__SHIFT                            16
#define GRBM_GFX_INDEX__SE_INDEX_MASK                             0x00FF0000
#define GRBM_GFX_INDEX__SH_BROADCAST_WRITES__SHIFT                 29
#define GRBM_GFX_INDEX__SH_BROADCAST_WRITES_MASK                  0x20000000
#define GRBM_GFX_INDEX__INSTANCE_BROADCAST_WRITES__SHIFT           30
#define GRBM_GFX_INDEX__INSTANCE_BROADCAST_WRITES_MASK            0x40000000
#define GRBM_GFX_INDEX__SE_BROADCAST_WRITES__SHIFT                 31
#define GRBM_GFX_INDEX__SE_BROADCAST_WRITES_MASK                  0x80000000
#define mmGRBM_STATUS                                 (0x08010 / 4)
#define GRBM_STATUS__GUI_ACTIVE__SHIFT                             31
#define GRBM_STATUS__GUI_ACTIVE_MASK                              0x80000000
#define GRBM_STATUS__CP_BUSY__SHIFT                                29
#define GRBM_STATUS__CP_BUSY_MASK                                 0x20000000
#define mmGRBM_STATUS2                                (0x08008 / 4)
#define GRBM_STATUS2__CPC_BUSY__SHIFT                              29
#define GRBM_STATUS2__CPC_BUSY_MASK                               0x20000000
#define GRBM_STATUS2__CPF_BUSY__SHIFT                              28
#define GRBM_STATUS2__CPF_BUSY_MASK                               0x10000000
#define mmGRBM_STATUS_SE0                             (0x08014 / 4)
#define mmGRBM_SOFT_RESET                             (0x08020 / 4)
#define GRBM_SOFT_RESET__SOFT_RESET_CP__SHIFT                      0
#define GRBM_SOFT_RESET__SOFT_RESET_CP_MASK                       0x00000001
#define GRBM_SOFT_RESET__SOFT_RESET_RLC__SHIFT                     2
#define GRBM_SOFT_RESET__SOFT_RESET_RLC_MASK                      0x00000004
#define GRBM_SOFT_RESET__SOFT_RESET_GFX__SHIFT                     16
#define GRBM_SOFT_RESET__SOFT_RESET_GFX_MASK                      0x00010000
#define GRBM_SOFT_RESET__SOFT_RESET_CPF__SHIFT                     17
#define GRBM_SOFT_RESET__SOFT_RESET_CPF_MASK                      0x00020000
#define GRBM_SOFT_RESET__SOFT_RESET_CPC__SHIFT                     18
#define GRBM_SOFT_RESET__SOFT_RESET_CPC_MASK                      0x00040000
#define GRBM_SOFT_RESET__SOFT_RESET_CPG__SHIFT                     19
#define GRBM_SOFT_RESET__SOFT_RESET_CPG_MASK                      0x00080000
#define GRBM_SOFT_RESET__SOFT_RESET_CAC__SHIFT                     20
#define GRBM_SOFT_RESET__SOFT_RESET_CAC_MASK                      0x00100000
#define GRBM_SOFT_RESET__SOFT_RESET_CPAXI__SHIFT                   21
#define GRBM_SOFT_RESET__SOFT_RESET_CPAXI_MASK                    0x00200000
#define GRBM_SOFT_RESET__SOFT_RESET_EA__SHIFT                      22
#define GRBM_SOFT_RESET__SOFT_RESET_EA_MASK                       0x00400000

/* Memory apertures as shaders see them, banked by VMID */
#define mmSH_MEM_BASES                                (0x08C28 / 4)
#define SH_MEM_BASES__PRIVATE_BASE__SHIFT                          0
#define SH_MEM_BASES__PRIVATE_BASE_MASK                           0x0000FFFF
#define SH_MEM_BASES__SHARED_BASE__SHIFT                           16
#define SH_MEM_BASES__SHARED_BASE_MASK                            0xFFFF0000
#define mmSH_MEM_CONFIG                               (0x08C34 / 4)
#define SH_MEM_CONFIG__ADDRESS_MODE__SHIFT                         0
#define SH_MEM_CONFIG__ADDRESS_MODE_MASK                          0x00000001
#define SH_MEM_CONFIG__ALIGNMENT_MODE__SHIFT                       3
#define SH_MEM_CONFIG__ALIGNMENT_MODE_MASK                        0x00000018
#define SH_MEM_CONFIG__RETRY_DISABLE__SHIFT                        12
#define SH_MEM_CONFIG__RETRY_DISABLE_MASK                         0x00001000

/* SQ trap handler addresses, banked by VMID */
#define mmSQ_SHADER_TBA_LO                            (0x08C70 / 4)
#define mmSQ_SHADER_TBA_HI                            (0x08C74 / 4)
#define mmSQ_SHADER_TMA_LO                            (0x08C78 / 4)
#define mmSQ_SHADER_TMA_HI                            (0x08C7C / 4)

/* Shader array configuration */
#define mmGB_ADDR_CONFIG                              (0x098F8 / 4)
#define mmCC_GC_SHADER_ARRAY_CONFIG                   (0x089BC / 4)
#define CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS__SHIFT             16
#define CC_GC_SHADER_ARRAY_CONFIG__INACTIVE_CUS_MASK              0xFFFF0000
#define mmGC_USER_SHADER_ARRAY_CONFIG                 (0x089C0 / 4)
#define mmCC_RB_BACKEND_DISABLE                       (0x098F4 / 4)
#define mmGC_USER_RB_BACKEND_DISABLE                  (0x09B7C / 4)

/* CP: engine control, doorbell window, interrupts */
#define mmCP_MEC_CNTL                                 (0x08234 / 4)
#define CP_MEC_CNTL__MEC_ME1_HALT__SHIFT                           30
#define CP_MEC_CNTL__MEC_ME1_HALT_MASK                            0x40000000
#define CP_MEC_CNTL__MEC_ME2_HALT__SHIFT                           28
#define CP_MEC_CNTL__MEC_ME2_HALT_MASK                            0x10000000
#define mmCP_CPC_STATUS                               (0x08210 / 4)
#define mmCP_CPF_STATUS                               (0x0821C / 4)
#define mmCP_STAT                                     (0x08680 / 4)
#define mmCP_MEC_DOORBELL_RANGE_LOWER                 (0x0C170 / 4)
#define mmCP_MEC_DOORBELL_RANGE_UPPER                 (0x0C174 / 4)
#define mmCP_PQ_WPTR_POLL_CNTL                        (0x0C20C / 4)
#define CP_PQ_WPTR_POLL_CNTL__EN__SHIFT                            31
#define CP_PQ_WPTR_POLL_CNTL__EN_MASK                             0x80000000
#define mmCP_PQ_WPTR_POLL_CNTL1                       (0x0C210 / 4)
#define mmCP_PQ_STATUS                                (0x0C2E0 / 4)
#define CP_PQ_STATUS__DOORBELL_UPDATED__SHIFT                      0
#define CP_PQ_STATUS__DOORBELL_UPDATED_MASK                       0x00000001
#define CP_PQ_STATUS__DOORBELL_ENABLE__SHIFT                       1
#define CP_PQ_STATUS__DOORBELL_ENABLE_MASK                        0x00000002
#define mmCPC_INT_CNTL                                (0x0C2D0 / 4)
#define mmCPC_INT_STATUS                              (0x0C2D4 / 4)
#define mmCP_INT_CNTL_RING0                           (0x0C1A8 / 4)
#define CP_INT_CNTL_RING0__CNTX_EMPTY_INT_ENABLE__SHIFT            20
#define CP_INT_CNTL_RING0__CNTX_EMPTY_INT_ENABLE_MASK             0x00100000
#define mmCP_ME1_PIPE0_INT_CNTL                       (0x0C214 / 4)
#define CP_ME1_PIPE0_INT_CNTL__CMP_QUERY_STATUS_INT_ENABLE_MASK   0x00001000
#define CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE__SHIFT        26
#define CP_ME1_PIPE0_INT_CNTL__TIME_STAMP_INT_ENABLE_MASK         0x04000000
#define CP_ME1_PIPE0_INT_CNTL__PRIV_REG_INT_ENABLE__SHIFT          23
#define CP_ME1_PIPE0_INT_CNTL__PRIV_REG_INT_ENABLE_MASK           0x00800000
#define CP_ME1_PIPE0_INT_CNTL__OPCODE_ERROR_INT_ENABLE__SHIFT      24
#define CP_ME1_PIPE0_INT_CNTL__OPCODE_ERROR_INT_ENABLE_MASK       0x01000000
#define mmCP_ME1_PIPE1_INT_CNTL                       (0x0C218 / 4)
#define mmCP_ME1_PIPE2_INT_CNTL                       (0x0C21C / 4)
#define mmCP_ME1_PIPE3_INT_CNTL                       (0x0C220 / 4)
#define mmCP_ME2_PIPE0_INT_CNTL                       (0x0C224 / 4)
#define mmCP_ME2_PIPE1_INT_CNTL                       (0x0C228 / 4)
#define mmCP_ME2_PIPE2_INT_CNTL                       (0x0C22C / 4)
#define mmCP_ME2_PIPE3_INT_CNTL                       (0x0C230 / 4)
#define mmCP_MEC_ME1_UCODE_ADDR                       (0x3E068 / 4)
#define mmCP_MEC_ME1_UCODE_DATA                       (0x3E06C / 4)

/* Waves of the queue that GRBM_GFX_CNTL selects: a pending dequeue request completes. */
#define mmSPI_COMPUTE_QUEUE_RESET                     (0x0C76C / 4)
#define SPI_COMPUTE_QUEUE_RESET__RESET_MASK                       0x00000001

/* HQD bank, selected by GRBM_GFX_CNTL (me, pipe, queue) */
#define mmCP_MQD_BASE_ADDR                            (0x0C914 / 4)
#define mmCP_MQD_BASE_ADDR_HI                         (0x0C918 / 4)
#define mmCP_HQD_ACTIVE                               (0x0C91C / 4)
#define CP_HQD_ACTIVE__ACTIVE__SHIFT                               0
#define CP_HQD_ACTIVE__ACTIVE_MASK                                0x00000001
#define mmCP_HQD_VMID                                 (0x0C920 / 4)
#define CP_HQD_VMID__VMID__SHIFT                                   0
#define CP_HQD_VMID__VMID_MASK                                    0x0000000F
#define CP_HQD_VMID__IB_VMID__SHIFT                                8
#define CP_HQD_VMID__IB_VMID_MASK                                 0x00000F00
#define mmCP_HQD_PERSISTENT_STATE                     (0x0C924 / 4)
#define CP_HQD_PERSISTENT_STATE__PRELOAD_REQ__SHIFT                0
#define CP_HQD_PERSISTENT_STATE__PRELOAD_REQ_MASK                 0x00000001
#define CP_HQD_PERSISTENT_STATE__PRELOAD_SIZE__SHIFT               8
#define CP_HQD_PERSISTENT_STATE__PRELOAD_SIZE_MASK                0x0003FF00
#define CP_HQD_PERSISTENT_STATE__QSWITCH_MODE__SHIFT               30
#define CP_HQD_PERSISTENT_STATE__QSWITCH_MODE_MASK                0x40000000
#define mmCP_HQD_PIPE_PRIORITY                        (0x0C928 / 4)
#define mmCP_HQD_QUEUE_PRIORITY                       (0x0C92C / 4)
#define mmCP_HQD_QUANTUM                              (0x0C930 / 4)
#define CP_HQD_QUANTUM__QUANTUM_EN__SHIFT                          0
#define CP_HQD_QUANTUM__QUANTUM_EN_MASK                           0x00000001
#define CP_HQD_QUANTUM__QUANTUM_SCALE__SHIFT                       4
#define CP_HQD_QUANTUM__QUANTUM_SCALE_MASK                        0x00000010
#define CP_HQD_QUANTUM__QUANTUM_DURATION__SHIFT                    8
#define CP_HQD_QUANTUM__QUANTUM_DURATION_MASK                     0x00003F00
#define mmCP_HQD_PQ_BASE                              (0x0C934 / 4)
#define mmCP_HQD_PQ_BASE_HI                           (0x0C938 / 4)
#define mmCP_HQD_PQ_RPTR                              (0x0C93C / 4)
#define mmCP_HQD_PQ_RPTR_REPORT_ADDR                  (0x0C940 / 4)
#define mmCP_HQD_PQ_RPTR_REPORT_ADDR_HI               (0x0C944 / 4)
#define mmCP_HQD_PQ_WPTR_POLL_ADDR                    (0x0C948 / 4)
#define mmCP_HQD_PQ_WPTR_POLL_ADDR_HI                 (0x0C94C / 4)
#define mmCP_HQD_PQ_DOORBELL_CONTROL                  (0x0C950 / 4)
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_BIF_DROP__SHIFT       1
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_BIF_DROP_MASK        0x00000002
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET__SHIFT         2
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK          0x0FFFFFFC
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_SOURCE__SHIFT         28
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_SOURCE_MASK          0x10000000
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN__SHIFT             30
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK              0x40000000
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT__SHIFT            31
#define CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_HIT_MASK             0x80000000
#define mmCP_HQD_PQ_CONTROL                           (0x0C958 / 4)
#define CP_HQD_PQ_CONTROL__QUEUE_SIZE__SHIFT                       0
#define CP_HQD_PQ_CONTROL__QUEUE_SIZE_MASK                        0x0000003F
#define CP_HQD_PQ_CONTROL__RPTR_BLOCK_SIZE__SHIFT                  8
#define CP_HQD_PQ_CONTROL__RPTR_BLOCK_SIZE_MASK                   0x00003F00
#define CP_HQD_PQ_CONTROL__PQ_EMPTY__SHIFT                         15
#define CP_HQD_PQ_CONTROL__PQ_EMPTY_MASK                          0x00008000
#define CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR__SHIFT                  25
#define CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR_MASK                   0x06000000
#define CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR__SHIFT                   27
#define CP_HQD_PQ_CONTROL__NO_UPDATE_RPTR_MASK                    0x08000000
#define CP_HQD_PQ_CONTROL__UNORD_DISPATCH__SHIFT                   28
#define CP_HQD_PQ_CONTROL__UNORD_DISPATCH_MASK                    0x10000000
#define CP_HQD_PQ_CONTROL__ROQ_PQ_IB_FLIP__SHIFT                   29
#define CP_HQD_PQ_CONTROL__ROQ_PQ_IB_FLIP_MASK                    0x20000000
#define CP_HQD_PQ_CONTROL__PRIV_STATE__SHIFT                       30
#define CP_HQD_PQ_CONTROL__PRIV_STATE_MASK                        0x40000000
#define CP_HQD_PQ_CONTROL__KMD_QUEUE__SHIFT                        31
#define CP_HQD_PQ_CONTROL__KMD_QUEUE_MASK                         0x80000000
#define CP_HQD_PQ_CONTROL__WPP_CLAMP_EN__SHIFT                     16
#define CP_HQD_PQ_CONTROL__WPP_CLAMP_EN_MASK                      0x00010000
#define CP_HQD_PQ_CONTROL__QUEUE_FULL_EN__SHIFT                    14
#define CP_HQD_PQ_CONTROL__QUEUE_FULL_EN_MASK                     0x00004000
#define mmCP_HQD_IB_BASE_ADDR                         (0x0C95C / 4)
#define mmCP_HQD_IB_BASE_ADDR_HI                      (0x0C960 / 4)
#define mmCP_HQD_IB_RPTR                              (0x0C964 / 4)
#define CP_HQD_IB_RPTR__CONSUMED_OFFSET__SHIFT                     0
#define CP_HQD_IB_RPTR__CONSUMED_OFFSET_MASK                      0x000FFFFF
#define mmCP_HQD_IB_CONTROL                           (0x0C968 / 4)
#define CP_HQD_IB_CONTROL__IB_SIZE__SHIFT                          0
#define CP_HQD_IB_CONTROL__IB_SIZE_MASK                           0x000FFFFF
#define CP_HQD_IB_CONTROL__MIN_IB_AVAIL_SIZE__SHIFT                20
#define CP_HQD_IB_CONTROL__MIN_IB_AVAIL_SIZE_MASK                 0x00300000
#define CP_HQD_IB_CONTROL__IB_EXE_DISABLE__SHIFT                   23
#define CP_HQD_IB_CONTROL__IB_EXE_DISABLE_MASK                    0x00800000
#define CP_HQD_IB_CONTROL__PROCESSING_IB__SHIFT                    31
#define CP_HQD_IB_CONTROL__PROCESSING_IB_MASK                     0x80000000
#define mmCP_HQD_IQ_TIMER                             (0x0C96C / 4)
#define mmCP_HQD_IQ_RPTR                              (0x0C970 / 4)
#define mmCP_HQD_DEQUEUE_REQUEST                      (0x0C974 / 4)
#define CP_HQD_DEQUEUE_REQUEST__DEQUEUE_REQ__SHIFT                 0
#define CP_HQD_DEQUEUE_REQUEST__DEQUEUE_REQ_MASK                  0x00000007
#define CP_HQD_DEQUEUE_REQUEST__IQ_REQ_PEND__SHIFT                 4
#define CP_HQD_DEQUEUE_REQUEST__IQ_REQ_PEND_MASK                  0x00000010
#define mmCP_HQD_ATOMIC0_PREOP_LO                     (0x0C984 / 4)
#define mmCP_HQD_ATOMIC0_PREOP_HI                     (0x0C988 / 4)
#define mmCP_HQD_HQ_STATUS0                           (0x0C994 / 4)
#define mmCP_HQD_HQ_CONTROL0                          (0x0C998 / 4)
#define mmCP_MQD_CONTROL                              (0x0C99C / 4)
#define CP_MQD_CONTROL__VMID__SHIFT                                0
#define CP_MQD_CONTROL__VMID_MASK                                 0x0000000F
#define CP_MQD_CONTROL__PRIV_STATE__SHIFT                          8
#define CP_MQD_CONTROL__PRIV_STATE_MASK                           0x00000100
#define mmCP_HQD_HQ_STATUS1                           (0x0C9A0 / 4)
#define mmCP_HQD_HQ_CONTROL1                          (0x0C9A4 / 4)
#define mmCP_HQD_EOP_BASE_ADDR                        (0x0C9A8 / 4)
#define mmCP_HQD_EOP_BASE_ADDR_HI                     (0x0C9AC / 4)
#define mmCP_HQD_EOP_CONTROL                          (0x0C9B0 / 4)
#define CP_HQD_EOP_CONTROL__EOP_SIZE__SHIFT                        0
#define CP_HQD_EOP_CONTROL__EOP_SIZE_MASK                         0x0000003F
#define mmCP_HQD_EOP_RPTR                             (0x0C9B4 / 4)
#define CP_HQD_EOP_RPTR__INIT_FETCHER__SHIFT                       31
#define CP_HQD_EOP_RPTR__INIT_FETCHER_MASK                        0x80000000
#define mmCP_HQD_EOP_WPTR                             (0x0C9B8 / 4)
#define mmCP_HQD_CTX_SAVE_BASE_ADDR_LO                (0x0C9C0 / 4)
#define mmCP_HQD_CTX_SAVE_BASE_ADDR_HI                (0x0C9C4 / 4)
#define mmCP_HQD_CTX_SAVE_CONTROL                     (0x0C9C8 / 4)
#define mmCP_HQD_CNTL_STACK_OFFSET                    (0x0C9CC / 4)
#define mmCP_HQD_CNTL_STACK_SIZE                      (0x0C9D0 / 4)
#define mmCP_HQD_WG_STATE_OFFSET                      (0x0C9D4 / 4)
#define mmCP_HQD_CTX_SAVE_SIZE                        (0x0C9D8 / 4)
#define mmCP_HQD_ERROR                                (0x0C9E0 / 4)
#define mmCP_HQD_AQL_CONTROL                          (0x0C9E8 / 4)
#define CP_HQD_AQL_CONTROL__CONTROL0__SHIFT                        0
#define CP_HQD_AQL_CONTROL__CONTROL0_MASK                         0x00007FFF
#define CP_HQD_AQL_CONTROL__CONTROL0_EN__SHIFT                     15
#define CP_HQD_AQL_CONTROL__CONTROL0_EN_MASK                      0x00008000
#define CP_HQD_AQL_CONTROL__CONTROL1__SHIFT                        16
#define CP_HQD_AQL_CONTROL__CONTROL1_MASK                         0x7FFF0000
#define CP_HQD_AQL_CONTROL__CONTROL1_EN__SHIFT                     31
#define CP_HQD_AQL_CONTROL__CONTROL1_EN_MASK                      0x80000000
#define mmCP_HQD_PQ_WPTR_LO                           (0x0C9EC / 4)
#define mmCP_HQD_PQ_WPTR_HI                           (0x0C9F0 / 4)

/* RLC */
#define mmRLC_CNTL                                    (0x3B000 / 4)
#define RLC_CNTL__RLC_ENABLE_F32__SHIFT                            0
#define RLC_CNTL__RLC_ENABLE_F32_MASK                             0x00000001
#define mmRLC_STAT                                    (0x3B010 / 4)
#define mmRLC_SAFE_MODE                               (0x3B014 / 4)
#define RLC_SAFE_MODE__CMD__SHIFT                                  0
#define RLC_SAFE_MODE__CMD_MASK                                   0x00000001
#define mmRLC_GPU_CLOCK_COUNT_LSB                     (0x3B090 / 4)
#define mmRLC_GPU_CLOCK_COUNT_MSB                     (0x3B094 / 4)
#define mmRLC_CAPTURE_GPU_CLOCK_COUNT                 (0x3B098 / 4)
#define RLC_CAPTURE_GPU_CLOCK_COUNT__CAPTURE__SHIFT                0
#define RLC_CAPTURE_GPU_CLOCK_COUNT__CAPTURE_MASK                 0x00000001
#define mmRLC_SERDES_CU_MASTER_BUSY                   (0x3B184 / 4)
#define mmRLC_SERDES_NONCU_MASTER_BUSY                (0x3B188 / 4)
#define mmRLC_CP_SCHEDULERS                           (0x3B2A8 / 4)

/* Scratch */
#define mmSCRATCH_REG0                                (0x30100 / 4)
#define mmSCRATCH_REG1                                (0x30104 / 4)
#define mmSCRATCH_REG2                                (0x30108 / 4)
#define mmSCRATCH_REG3                                (0x3010C / 4)
#define mmSCRATCH_REG4                                (0x30110 / 4)
#define mmSCRATCH_REG5                                (0x30114 / 4)
#define mmSCRATCH_REG6                                (0x30118 / 4)
#define mmSCRATCH_REG7                                (0x3011C / 4)

/* Compute SH registers that queues carry in the MQD (first and last) */
#define mmCOMPUTE_DISPATCH_INITIATOR                  (0x0B800 / 4)
#define mmCOMPUTE_DIM_X                               (0x0B804 / 4)
#define mmCOMPUTE_PGM_LO                              (0x0B830 / 4)
#define mmCOMPUTE_PGM_HI                              (0x0B834 / 4)
#define mmCOMPUTE_STATIC_THREAD_MGMT_SE0              (0x0B858 / 4)
#define mmCOMPUTE_STATIC_THREAD_MGMT_SE1              (0x0B85C / 4)
#define mmCOMPUTE_STATIC_THREAD_MGMT_SE2              (0x0B864 / 4)
#define mmCOMPUTE_STATIC_THREAD_MGMT_SE3              (0x0B868 / 4)
#define mmCOMPUTE_USER_DATA_0                         (0x0B900 / 4)
#define mmCOMPUTE_USER_DATA_15                        (0x0B93C / 4)
#define mmCOMPUTE_NOWHERE                             (0x0B9FC / 4)

#endif /* VKFD_REGS_GC_H */
