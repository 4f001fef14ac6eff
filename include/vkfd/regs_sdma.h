/* SPDX-License-Identifier: MIT */
/*
 * System DMA engines (SDMA 4.2), two of them.
 *
 * Register indices are absolute DWORD indices in BAR5, written as byte offset / 4,
 * and those of engine 0; engine n is n * VKFD_SDMA_ENGINE_STRIDE further on. A queue
 * block (GFX, PAGE, RLC0..RLC7) has the same registers at the same distance from its
 * RB_CNTL. Names, fields and offsets are those of AMD's asic_reg headers.
 */
#ifndef VKFD_REGS_SDMA_H
#define VKFD_REGS_SDMA_H

#define VKFD_NUM_SDMA			2
#define VKFD_SDMA_ENGINE_STRIDE		((0x06180 - 0x04980) / 4)
/* Queue blocks of an engine: 0 GFX (the kernel's ring), 1 PAGE, 2.. RLC0..7 (users'). */
#define VKFD_SDMA_QUEUES		10
#define VKFD_SDMA_BLOCK_GFX		0
#define VKFD_SDMA_BLOCK_PAGE		1
#define VKFD_SDMA_BLOCK_RLC0		2
#define VKFD_SDMA_NUM_RLC		8
#define VKFD_SDMA_QUEUE_STRIDE		(0x180 / 4)

/* ---- registers of the engine ---- */

#define mmSDMA0_UCODE_ADDR                            (0x04980 / 4)
#define mmSDMA0_UCODE_DATA                            (0x04984 / 4)
#define mmSDMA0_VM_CNTL                               (0x04990 / 4)
#define mmSDMA0_CONTEXT_REG_TYPE0                     (0x049AC / 4)
#define mmSDMA0_CONTEXT_REG_TYPE1                     (0x049B0 / 4)
#define mmSDMA0_CONTEXT_REG_TYPE2                     (0x049B4 / 4)
#define mmSDMA0_PUB_REG_TYPE0                         (0x049BC / 4)
#define mmSDMA0_PUB_REG_TYPE1                         (0x049C0 / 4)
#define mmSDMA0_PUB_REG_TYPE2                         (0x049C4 / 4)
#define mmSDMA0_MMHUB_CNTL                            (0x049CC / 4)
#define mmSDMA0_CONTEXT_GROUP_BOUNDARY                (0x049E4 / 4)
#define mmSDMA0_POWER_CNTL                            (0x049E8 / 4)
#define mmSDMA0_CLK_CTRL                              (0x049EC / 4)
#define mmSDMA0_CNTL                                  (0x049F0 / 4)
#define SDMA0_CNTL__TRAP_ENABLE_MASK                              0x00000001
#define SDMA0_CNTL__UTC_L1_ENABLE_MASK                            0x00000002
#define SDMA0_CNTL__AUTO_CTXSW_ENABLE_MASK                        0x00040000
#define mmSDMA0_CHICKEN_BITS                          (0x049F4 / 4)
#define mmSDMA0_GB_ADDR_CONFIG                        (0x049F8 / 4)
#define mmSDMA0_GB_ADDR_CONFIG_READ                   (0x049FC / 4)
#define mmSDMA0_STATUS_REG                            (0x04A14 / 4)
#define SDMA0_STATUS_REG__IDLE_MASK                               0x00000001
#define mmSDMA0_STATUS1_REG                           (0x04A18 / 4)
#define mmSDMA0_RD_BURST_CNTL                         (0x04A1C / 4)
#define mmSDMA0_UCODE_CHECKSUM                        (0x04A24 / 4)
#define mmSDMA0_F32_CNTL                              (0x04A28 / 4)
#define SDMA0_F32_CNTL__HALT_MASK                                 0x00000001
#define mmSDMA0_FREEZE                                (0x04A2C / 4)
#define SDMA0_FREEZE__FREEZE_MASK                                 0x00000010
#define SDMA0_FREEZE__FROZEN_MASK                                 0x00000020
#define mmSDMA0_PHASE0_QUANTUM                        (0x04A30 / 4)
#define mmSDMA0_PHASE1_QUANTUM                        (0x04A34 / 4)
#define mmSDMA0_EDC_CONFIG                            (0x04A48 / 4)
#define mmSDMA0_BA_THRESHOLD                          (0x04A4C / 4)
#define mmSDMA0_ID                                    (0x04A50 / 4)
#define mmSDMA0_VERSION                               (0x04A54 / 4)
#define mmSDMA0_EDC_COUNTER                           (0x04A58 / 4)
#define mmSDMA0_EDC_COUNTER_CLEAR                     (0x04A5C / 4)
#define mmSDMA0_STATUS2_REG                           (0x04A60 / 4)
#define mmSDMA0_ATOMIC_CNTL                           (0x04A64 / 4)
#define mmSDMA0_ATOMIC_PREOP_LO                       (0x04A68 / 4)
#define mmSDMA0_ATOMIC_PREOP_HI                       (0x04A6C / 4)
#define mmSDMA0_UTCL1_CNTL                            (0x04A70 / 4)
#define mmSDMA0_UTCL1_WATERMK                         (0x04A74 / 4)
#define mmSDMA0_UTCL1_RD_STATUS                       (0x04A78 / 4)
#define mmSDMA0_UTCL1_WR_STATUS                       (0x04A7C / 4)
#define mmSDMA0_UTCL1_INV0                            (0x04A80 / 4)
#define mmSDMA0_UTCL1_TIMEOUT                         (0x04A9C / 4)
#define mmSDMA0_UTCL1_PAGE                            (0x04AA0 / 4)
#define mmSDMA0_POWER_CNTL_IDLE                       (0x04AA4 / 4)
#define mmSDMA0_RELAX_ORDERING_LUT                    (0x04AA8 / 4)
#define mmSDMA0_CHICKEN_BITS_2                        (0x04AAC / 4)
#define mmSDMA0_STATUS3_REG                           (0x04AB0 / 4)
#define mmSDMA0_PHYSICAL_ADDR_LO                      (0x04AB4 / 4)
#define mmSDMA0_PHASE2_QUANTUM                        (0x04ABC / 4)
#define mmSDMA0_ERROR_LOG                             (0x04AC0 / 4)
#define mmSDMA0_PUB_DUMMY_REG0                        (0x04AC4 / 4)
#define mmSDMA0_PUB_DUMMY_REG3                        (0x04AD0 / 4)
#define mmSDMA0_F32_COUNTER                           (0x04AD4 / 4)
#define mmSDMA0_PERFMON_CNTL                          (0x04ADC / 4)
#define mmSDMA0_PERFCOUNTER_TAG_DELAY_RANGE           (0x04AE8 / 4)
#define mmSDMA0_CRD_CNTL                              (0x04AEC / 4)
#define mmSDMA0_GPU_IOV_VIOLATION_LOG                 (0x04AF4 / 4)
#define mmSDMA0_ULV_CNTL                              (0x04AF8 / 4)
#define mmSDMA0_EA_DBIT_ADDR_DATA                     (0x04B00 / 4)
#define mmSDMA0_EA_DBIT_ADDR_INDEX                    (0x04B04 / 4)

/* ---- registers of a queue: the GFX block ---- */

/* RB_SIZE: log2 of the ring in dwords. BASE: address >> 8. Pointers: bytes. */
#define mmSDMA0_GFX_RB_CNTL                           (0x04B80 / 4)
#define SDMA0_GFX_RB_CNTL__RB_ENABLE_MASK                         0x00000001
#define SDMA0_GFX_RB_CNTL__RB_SIZE__SHIFT                          1
#define SDMA0_GFX_RB_CNTL__RB_SIZE_MASK                           0x0000003E
#define SDMA0_GFX_RB_CNTL__RB_SWAP_ENABLE_MASK                    0x00000200
#define SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE_MASK             0x00001000
#define SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_SWAP_ENABLE_MASK        0x00002000
#define SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_TIMER__SHIFT             16
#define SDMA0_GFX_RB_CNTL__RPTR_WRITEBACK_TIMER_MASK              0x001F0000
#define SDMA0_GFX_RB_CNTL__RB_PRIV_MASK                           0x00800000
#define SDMA0_GFX_RB_CNTL__RB_VMID__SHIFT                          24
#define SDMA0_GFX_RB_CNTL__RB_VMID_MASK                           0x0F000000
#define mmSDMA0_GFX_RB_BASE                           (0x04B84 / 4)
#define mmSDMA0_GFX_RB_BASE_HI                        (0x04B88 / 4)
#define mmSDMA0_GFX_RB_RPTR                           (0x04B8C / 4)
#define mmSDMA0_GFX_RB_RPTR_HI                        (0x04B90 / 4)
#define mmSDMA0_GFX_RB_WPTR                           (0x04B94 / 4)
#define mmSDMA0_GFX_RB_WPTR_HI                        (0x04B98 / 4)
#define mmSDMA0_GFX_RB_WPTR_POLL_CNTL                 (0x04B9C / 4)
#define SDMA0_GFX_RB_WPTR_POLL_CNTL__ENABLE_MASK                  0x00000001
#define SDMA0_GFX_RB_WPTR_POLL_CNTL__F32_POLL_ENABLE_MASK         0x00000004
#define mmSDMA0_GFX_RB_RPTR_ADDR_HI                   (0x04BA0 / 4)
#define mmSDMA0_GFX_RB_RPTR_ADDR_LO                   (0x04BA4 / 4)
#define mmSDMA0_GFX_IB_CNTL                           (0x04BA8 / 4)
#define SDMA0_GFX_IB_CNTL__IB_ENABLE_MASK                         0x00000001
#define SDMA0_GFX_IB_CNTL__CMD_VMID__SHIFT                         16
#define SDMA0_GFX_IB_CNTL__CMD_VMID_MASK                          0x000F0000
#define mmSDMA0_GFX_IB_RPTR                           (0x04BAC / 4)
#define SDMA0_GFX_IB_RPTR__OFFSET__SHIFT                           2
#define SDMA0_GFX_IB_RPTR__OFFSET_MASK                            0x003FFFFC
#define mmSDMA0_GFX_IB_OFFSET                         (0x04BB0 / 4)
#define mmSDMA0_GFX_IB_BASE_LO                        (0x04BB4 / 4)
#define mmSDMA0_GFX_IB_BASE_HI                        (0x04BB8 / 4)
#define mmSDMA0_GFX_IB_SIZE                           (0x04BBC / 4)
#define SDMA0_GFX_IB_SIZE__SIZE_MASK                              0x000FFFFF
#define mmSDMA0_GFX_SKIP_CNTL                         (0x04BC0 / 4)
#define SDMA0_GFX_SKIP_CNTL__SKIP_COUNT_MASK                      0x00003FFF
#define mmSDMA0_GFX_CONTEXT_STATUS                    (0x04BC4 / 4)
#define SDMA0_GFX_CONTEXT_STATUS__SELECTED_MASK                   0x00000001
#define SDMA0_GFX_CONTEXT_STATUS__IDLE_MASK                       0x00000004
#define SDMA0_GFX_CONTEXT_STATUS__EXCEPTION__SHIFT                 4
#define SDMA0_GFX_CONTEXT_STATUS__EXCEPTION_MASK                  0x00000070
#define mmSDMA0_GFX_DOORBELL                          (0x04BC8 / 4)
#define SDMA0_GFX_DOORBELL__ENABLE_MASK                           0x10000000
#define SDMA0_GFX_DOORBELL__CAPTURED_MASK                         0x40000000
#define mmSDMA0_GFX_CONTEXT_CNTL                      (0x04BCC / 4)
#define mmSDMA0_GFX_STATUS                            (0x04C20 / 4)
#define mmSDMA0_GFX_DOORBELL_LOG                      (0x04C24 / 4)
#define SDMA0_GFX_DOORBELL_LOG__DATA_MASK                         0xFFFFFFFC
#define mmSDMA0_GFX_WATERMARK                         (0x04C28 / 4)
#define mmSDMA0_GFX_DOORBELL_OFFSET                   (0x04C2C / 4)
#define SDMA0_GFX_DOORBELL_OFFSET__OFFSET__SHIFT                   2
#define SDMA0_GFX_DOORBELL_OFFSET__OFFSET_MASK                    0x0FFFFFFC
#define mmSDMA0_GFX_CSA_ADDR_LO                       (0x04C30 / 4)
#define mmSDMA0_GFX_CSA_ADDR_HI                       (0x04C34 / 4)
#define mmSDMA0_GFX_IB_SUB_REMAIN                     (0x04C3C / 4)
#define mmSDMA0_GFX_PREEMPT                           (0x04C40 / 4)
#define mmSDMA0_GFX_DUMMY_REG                         (0x04C44 / 4)
#define mmSDMA0_GFX_RB_WPTR_POLL_ADDR_HI              (0x04C48 / 4)
#define mmSDMA0_GFX_RB_WPTR_POLL_ADDR_LO              (0x04C4C / 4)
#define mmSDMA0_GFX_RB_AQL_CNTL                       (0x04C50 / 4)
#define mmSDMA0_GFX_MINOR_PTR_UPDATE                  (0x04C54 / 4)
#define SDMA0_GFX_MINOR_PTR_UPDATE__ENABLE_MASK                   0x00000001
#define mmSDMA0_GFX_MIDCMD_DATA0                      (0x04C80 / 4)
#define mmSDMA0_GFX_MIDCMD_DATA1                      (0x04C84 / 4)
#define mmSDMA0_GFX_MIDCMD_DATA2                      (0x04C88 / 4)
#define mmSDMA0_GFX_MIDCMD_DATA8                      (0x04CA0 / 4)
#define mmSDMA0_GFX_MIDCMD_CNTL                       (0x04CA4 / 4)
#define SDMA0_GFX_MIDCMD_CNTL__DATA_VALID_MASK                    0x00000001

#define mmSDMA0_PAGE_RB_CNTL                          (0x04D00 / 4)
#define mmSDMA0_RLC0_RB_CNTL                          (0x04E80 / 4)
#define mmSDMA1_UCODE_ADDR                            (0x06180 / 4)

/*
 * MQD of a user queue (v9_sdma_mqd): 128 dwords, the registers of its RLC block in
 * three runs, then who it is.
 */
#define V9_SDMA_MQD_DW			128
#define V9_SDMA_MQD_RB_CNTL_DW		0
#define V9_SDMA_MQD_RB_BASE_DW		1
#define V9_SDMA_MQD_RB_BASE_HI_DW	2
#define V9_SDMA_MQD_RB_RPTR_DW		3
#define V9_SDMA_MQD_RB_RPTR_HI_DW	4
#define V9_SDMA_MQD_RB_WPTR_DW		5
#define V9_SDMA_MQD_RB_WPTR_HI_DW	6
#define V9_SDMA_MQD_RB_RPTR_ADDR_HI_DW	8
#define V9_SDMA_MQD_RB_RPTR_ADDR_LO_DW	9
#define V9_SDMA_MQD_DOORBELL_DW		18	/* 0..18: RB_CNTL..DOORBELL */
#define V9_SDMA_MQD_STATUS_DW		19	/* 19..24: STATUS..CSA_ADDR_HI */
#define V9_SDMA_MQD_DOORBELL_OFFSET_DW	22
#define V9_SDMA_MQD_IB_SUB_REMAIN_DW	25	/* 25..31: IB_SUB_REMAIN..MINOR_PTR_UPDATE */
#define V9_SDMA_MQD_WPTR_POLL_ADDR_HI_DW	28
#define V9_SDMA_MQD_WPTR_POLL_ADDR_LO_DW	29
#define V9_SDMA_MQD_MIDCMD_DATA0_DW	32	/* 32..41: MIDCMD_DATA0..MIDCMD_CNTL */
#define V9_SDMA_MQD_ENGINE_ID_DW	126
#define V9_SDMA_MQD_QUEUE_ID_DW		127

#endif /* VKFD_REGS_SDMA_H */
