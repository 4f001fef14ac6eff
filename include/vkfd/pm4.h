/* SPDX-License-Identifier: MIT */
/*
 * PM4 type-3 packets of gfx9 compute rings. Field offsets are within the dword
 * named: DW1 is the first dword after the header.
 */
#ifndef VKFD_PM4_H
#define VKFD_PM4_H

/* Header: [31:30] type, [29:16] count = dwords after the header - 1, [15:8] opcode. */
#define PM4_HEADER__TYPE__SHIFT		30
#define PM4_HEADER__COUNT__SHIFT	16
#define PM4_HEADER__COUNT_MASK		0x3fff0000u
#define PM4_HEADER__OPCODE__SHIFT	8
#define PM4_HEADER__OPCODE_MASK		0x0000ff00u
#define PM4_HEADER__SHADER_TYPE_MASK	0x00000002u
/* A NOP with this count is the header alone. */
#define PM4_NOP_COUNT_ONE_DW		0x3fff

/* body_dw: dwords after the header, at least 1. */
#define PACKET3(op, body_dw) \
	((3u << PM4_HEADER__TYPE__SHIFT) | \
	 ((((body_dw) - 1u) & 0x3fffu) << PM4_HEADER__COUNT__SHIFT) | \
	 (((op) & 0xffu) << PM4_HEADER__OPCODE__SHIFT))
#define PACKET3_COMPUTE(op, body_dw)	(PACKET3(op, body_dw) | PM4_HEADER__SHADER_TYPE_MASK)

#define IT_NOP				0x10
#define IT_SET_BASE			0x11
#define IT_CLEAR_STATE			0x12
#define IT_DISPATCH_DIRECT		0x15
#define IT_DISPATCH_INDIRECT		0x16
#define IT_ATOMIC_MEM			0x1e
#define IT_COND_EXEC			0x22
#define IT_PRED_EXEC			0x23
#define IT_WRITE_DATA			0x37
#define IT_WAIT_REG_MEM			0x3c
#define IT_INDIRECT_BUFFER		0x3f
#define IT_COPY_DATA			0x40
#define IT_PFP_SYNC_ME			0x42
#define IT_EVENT_WRITE			0x46
#define IT_RELEASE_MEM			0x49
#define IT_DMA_DATA			0x50
#define IT_ACQUIRE_MEM			0x58
#define IT_SET_CONFIG_REG		0x68
#define IT_SET_CONTEXT_REG		0x69
#define IT_SET_SH_REG			0x76
#define IT_SET_UCONFIG_REG		0x79
#define IT_WAIT_REG_MEM64		0x93
#define IT_INVALIDATE_TLBS		0x98

/* Dword index that offset 0 of SET_SH_REG means, and its end. */
#define PACKET3_SET_SH_REG_START	0x2c00
#define PACKET3_SET_SH_REG_END		0x3000

/* WRITE_DATA: DW1 control, DW2 addr_lo or register, DW3 addr_hi, then data. */
#define WRITE_DATA__DST_SEL__SHIFT	8
#define WRITE_DATA__DST_SEL_MASK	0x00000f00u
#define WRITE_DATA_DST_REG		0
#define WRITE_DATA_DST_MEM_SYNC		1
#define WRITE_DATA_DST_L2		2
#define WRITE_DATA_DST_MEM		5
#define WRITE_DATA__ADDR_INCR_DISABLE	0x00010000u
#define WRITE_DATA__WR_CONFIRM		0x00100000u
#define WRITE_DATA__REG_MASK		0x0003ffffu

/* WAIT_REG_MEM: DW1 control, DW2 addr_lo/reg0, DW3 addr_hi/reg1, DW4 ref, DW5 mask, DW6 interval. */
#define WAIT_REG_MEM__FUNCTION_MASK	0x00000007u
#define WAIT_REG_MEM_ALWAYS		0
#define WAIT_REG_MEM_LT			1
#define WAIT_REG_MEM_LE			2
#define WAIT_REG_MEM_EQ			3
#define WAIT_REG_MEM_NE			4
#define WAIT_REG_MEM_GE			5
#define WAIT_REG_MEM_GT			6
#define WAIT_REG_MEM__MEM_SPACE_MASK	0x00000030u
#define WAIT_REG_MEM__MEM_SPACE__SHIFT	4
#define WAIT_REG_MEM_SPACE_REG		0
#define WAIT_REG_MEM_SPACE_MEM		1
#define WAIT_REG_MEM__OPERATION_MASK	0x000000c0u
#define WAIT_REG_MEM__OPERATION__SHIFT	6
#define WAIT_REG_MEM_OP_WAIT		0
#define WAIT_REG_MEM_OP_WRITE_WAIT	1	/* write reg0, then wait for reg1 */

/* INDIRECT_BUFFER: DW1 base_lo, DW2 base_hi, DW3 control. */
#define INDIRECT_BUFFER__SIZE_MASK	0x000fffffu
#define INDIRECT_BUFFER__CHAIN		0x00100000u
#define INDIRECT_BUFFER__VALID		0x00800000u
#define INDIRECT_BUFFER__VMID__SHIFT	24
#define INDIRECT_BUFFER__VMID_MASK	0x0f000000u
#define INDIRECT_BUFFER__BASE_HI_MASK	0x0000ffffu

/* COND_EXEC: DW1 addr_lo, DW2 addr_hi, DW3 0, DW4 dwords to skip where *addr is 0. */
#define COND_EXEC__EXEC_COUNT_MASK	0x00003fffu

/* WAIT_REG_MEM64: DW1 control, DW2/3 address, DW4/5 ref, DW6/7 mask, DW8 interval. */

/* COPY_DATA: DW1 control, DW2/3 source, DW4/5 destination (register: dword index). */
#define COPY_DATA__SRC_SEL__SHIFT	0
#define COPY_DATA__SRC_SEL_MASK		0x0000000fu
#define COPY_DATA_SRC_REG		0
#define COPY_DATA_SRC_MEM		1
#define COPY_DATA_SRC_L2		2
#define COPY_DATA_SRC_IMM		5
#define COPY_DATA_SRC_ATOMIC_RETURN	6
#define COPY_DATA_SRC_GPU_CLOCK		9
#define COPY_DATA_SRC_SYS_CLOCK		10
#define COPY_DATA__DST_SEL__SHIFT	8
#define COPY_DATA__DST_SEL_MASK		0x00000f00u
#define COPY_DATA_DST_REG		0
#define COPY_DATA_DST_L2		2
#define COPY_DATA_DST_MEM		5
#define COPY_DATA_DST_REG_DC		6	/* register, by the direct path */
#define COPY_DATA__COUNT_SEL		0x00010000u	/* 64 bits */
#define COPY_DATA__WR_CONFIRM		0x00100000u

/*
 * DMA_DATA: DW1 control, DW2/3 source or data, DW4/5 destination, DW6 command.
 * The compute engines know no register space (AMD's MEC definition).
 */
#define DMA_DATA__DST_SEL__SHIFT	20
#define DMA_DATA__DST_SEL_MASK		0x00300000u
#define DMA_DATA_DST_ADDR		0
#define DMA_DATA_DST_GDS		1
#define DMA_DATA_DST_NOWHERE		2
#define DMA_DATA_DST_L2			3
#define DMA_DATA__SRC_SEL__SHIFT	29
#define DMA_DATA__SRC_SEL_MASK		0x60000000u
#define DMA_DATA_SRC_ADDR		0
#define DMA_DATA_SRC_GDS		1
#define DMA_DATA_SRC_DATA		2
#define DMA_DATA_SRC_L2			3
#define DMA_DATA__CP_SYNC		0x80000000u
#define DMA_DATA__BYTE_COUNT_MASK	0x03ffffffu
#define DMA_DATA__SAS			0x04000000u	/* source in register space */
#define DMA_DATA__DAS			0x08000000u
#define DMA_DATA__SAIC			0x10000000u	/* source address stays */
#define DMA_DATA__DAIC			0x20000000u
#define DMA_DATA__RAW_WAIT		0x40000000u

/* ATOMIC_MEM: DW1 control, DW2/3 address, DW4/5 source, DW6/7 compare, DW8 interval. */
#define ATOMIC_MEM__ATOMIC_MASK		0x0000007fu
#define ATOMIC_MEM__COMMAND__SHIFT	8
#define ATOMIC_MEM__COMMAND_MASK	0x00000f00u
#define ATOMIC_MEM_SINGLE_PASS		0
#define ATOMIC_MEM_LOOP			1	/* until the compare is satisfied */
#define ATOMIC_MEM_WRITE_CONFIRM	2
#define ATOMIC_MEM_SEND_AND_CONTINUE	3
/* TC_OP_ATOMIC_*_RTN_32; with the bits below the other widths and forms. */
#define TC_OP_ATOMIC_SWAP		0x07
#define TC_OP_ATOMIC_CMPSWAP		0x08
#define TC_OP_ATOMIC_ADD		0x0f
#define TC_OP_ATOMIC_SUB		0x10
#define TC_OP_ATOMIC_SMIN		0x11
#define TC_OP_ATOMIC_UMIN		0x12
#define TC_OP_ATOMIC_SMAX		0x13
#define TC_OP_ATOMIC_UMAX		0x14
#define TC_OP_ATOMIC_AND		0x15
#define TC_OP_ATOMIC_OR			0x16
#define TC_OP_ATOMIC_XOR		0x17
#define TC_OP_ATOMIC_INC		0x18
#define TC_OP_ATOMIC_DEC		0x19
#define TC_OP__KIND_MASK		0x1f
#define TC_OP__64			0x20
#define TC_OP__NO_RETURN		0x40

/* DISPATCH_DIRECT: DW1-3 workgroups x, y, z, DW4 initiator. */
/* DISPATCH_INDIRECT: DW1/2 address of x, y, z, DW3 initiator. */
#define DISPATCH_INITIATOR__COMPUTE_SHADER_EN	0x00000001u

/* EVENT_WRITE and RELEASE_MEM: DW1. */
#define EVENT__TYPE_MASK		0x0000003fu
#define EVENT__INDEX__SHIFT		8
#define EVENT__INDEX_MASK		0x00000f00u
#define CS_PARTIAL_FLUSH		0x07
#define CACHE_FLUSH_AND_INV_TS_EVENT	0x14
#define EVENT_INDEX_EOP			5
#define EVENT_INDEX_SHADER_DONE		6
#define RELEASE_MEM__TC_WB_ACTION	0x00008000u
#define RELEASE_MEM__TC_ACTION		0x00020000u

/* RELEASE_MEM: DW2 selectors, DW3/4 address, DW5/6 data, DW7 context id. */
#define RELEASE_MEM__DST_SEL__SHIFT	16
#define RELEASE_MEM__INT_SEL__SHIFT	24
#define RELEASE_MEM__INT_SEL_MASK	0x07000000u
#define RELEASE_MEM_INT_NONE		0
#define RELEASE_MEM_INT_ONLY		1
#define RELEASE_MEM_INT_AFTER_WRITE	2
#define RELEASE_MEM_INT_WRITE_CONFIRM	3	/* no interrupt */
#define RELEASE_MEM__DATA_SEL__SHIFT	29
#define RELEASE_MEM__DATA_SEL_MASK	0xe0000000u
#define RELEASE_MEM_DATA_NONE		0
#define RELEASE_MEM_DATA_32		1
#define RELEASE_MEM_DATA_64		2
#define RELEASE_MEM_DATA_GPU_CLOCK	3
#define RELEASE_MEM_DATA_SYS_CLOCK	4

#endif /* VKFD_PM4_H */
