/* SPDX-License-Identifier: MIT */
/*
 * SOC15 interrupt ring entry: eight little-endian dwords, 32 bytes.
 * Client and source ids are those of gfx9 (soc15_ih_clientid, ivsrcid).
 */
#ifndef VKFD_IH_H
#define VKFD_IH_H

#define VKFD_IH_ENTRY_DW		8
#define VKFD_IH_ENTRY_SIZE		32u

/* dword 0 */
#define VKFD_IH_DW0__CLIENT_ID__SHIFT	0
#define VKFD_IH_DW0__CLIENT_ID_MASK	0x000000ffu
#define VKFD_IH_DW0__SOURCE_ID__SHIFT	8
#define VKFD_IH_DW0__SOURCE_ID_MASK	0x0000ff00u
#define VKFD_IH_DW0__RING_ID__SHIFT	16
#define VKFD_IH_DW0__RING_ID_MASK	0x00ff0000u
#define VKFD_IH_DW0__VMID__SHIFT	24
#define VKFD_IH_DW0__VMID_MASK		0x0f000000u
#define VKFD_IH_DW0__VMID_TYPE__SHIFT	31
#define VKFD_IH_DW0__VMID_TYPE_MASK	0x80000000u	/* 1: MM hub */
/* dword 1: timestamp[31:0]; dword 2: timestamp[47:32] */
#define VKFD_IH_DW2__TIMESTAMP_HI_MASK	0x0000ffffu
#define VKFD_IH_DW2__TIMESTAMP_SRC_MASK	0x80000000u
/* dword 3 */
#define VKFD_IH_DW3__PASID_MASK		0x0000ffffu
#define VKFD_IH_DW3__NODE_ID__SHIFT	16
#define VKFD_IH_DW3__NODE_ID_MASK	0x00ff0000u
#define VKFD_IH_DW3__PASID_SRC_MASK	0x80000000u
/* dwords 4..7: context id 0..3 */

/* ring_id of CP entries */
#define VKFD_IH_RING_ID__PIPE__SHIFT	0
#define VKFD_IH_RING_ID__PIPE_MASK	0x03
#define VKFD_IH_RING_ID__ME__SHIFT	2
#define VKFD_IH_RING_ID__ME_MASK	0x0c
#define VKFD_IH_RING_ID__QUEUE__SHIFT	4
#define VKFD_IH_RING_ID__QUEUE_MASK	0x70

#define SOC15_IH_CLIENTID_IH		0x00
#define SOC15_IH_CLIENTID_VMC1		0x06
#define SOC15_IH_CLIENTID_RLC		0x07
#define SOC15_IH_CLIENTID_SDMA0		0x08
#define SOC15_IH_CLIENTID_SDMA1		0x09
#define SOC15_IH_CLIENTID_SE0SH		0x0a
#define SOC15_IH_CLIENTID_SE1SH		0x0b
#define SOC15_IH_CLIENTID_SE2SH		0x0c
#define SOC15_IH_CLIENTID_SE3SH		0x0d
#define SOC15_IH_CLIENTID_VMC		0x12
#define SOC15_IH_CLIENTID_GRBM_CP	0x14
#define SOC15_IH_CLIENTID_UTCL2		0x1b

#define GFX_9_0__SRCID__CP_IB2_INTERRUPT_PKT		178
#define GFX_9_0__SRCID__CP_EOP_INTERRUPT		181
#define GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR		183
#define GFX_9_0__SRCID__CP_PRIV_REG_FAULT		184
#define GFX_9_0__SRCID__CP_PRIV_INSTR_FAULT		185
#define GFX_9_0__SRCID__CP_CTX_EMPTY_INTERRUPT		187
#define GFX_9_0__SRCID__CP_CTX_BUSY_INTERRUPT		188
#define GFX_9_0__SRCID__CP_COMPUTE_QUERY_STATUS		199
#define GFX_9_0__SRCID__SQ_INTERRUPT_ID			239
#define SDMA0_4_0__SRCID__SDMA_TRAP			224
#define VMC_1_0__SRCID__VM_FAULT			0

/* Context ids of a bad-opcode entry: doorbell id and error code. */
#define VKFD_CP_BAD_OP__DOORBELL_MASK		0x000003ffu
#define VKFD_CP_BAD_OP__CODE__SHIFT		10
#define VKFD_CP_BAD_OP__CODE_MASK		0x03fffc00u

/* VM fault entry: context id 0 is va[43:12], context id 1 as below. */
#define VKFD_IH_FAULT_CTX1__VA_47_44_MASK	0x0000000fu
#define VKFD_IH_FAULT_CTX1__WRITE_MASK		0x00000020u
#define VKFD_IH_FAULT_CTX1__RETRY_MASK		0x00000080u
/* ring_id bits of a VM fault entry */
#define VKFD_IH_FAULT_RING__PROT_VALID		0x08
#define VKFD_IH_FAULT_RING__PROT_READ		0x10
#define VKFD_IH_FAULT_RING__PROT_WRITE		0x20

#endif /* VKFD_IH_H */
