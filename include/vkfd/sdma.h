/* SPDX-License-Identifier: MIT */
/*
 * Packets of the SDMA 4 engines. The first dword is the header; DWn is the n-th dword
 * behind it. Addresses are lo, hi pairs. Counts are one less than what is meant unless
 * it says otherwise. Names and fields are those of AMD's vega10_sdma_pkt_open.h.
 */
#ifndef VKFD_SDMA_H
#define VKFD_SDMA_H

/* Header: [7:0] op, [15:8] sub_op, [31:16] depends on the packet. */
#define SDMA_PKT_HEADER__OP_MASK		0x000000ffu
#define SDMA_PKT_HEADER__SUB_OP__SHIFT		8
#define SDMA_PKT_HEADER__SUB_OP_MASK		0x0000ff00u
#define SDMA_PKT_HEADER(op, sub_op)		((op) | (uint32_t)(sub_op) << 8)

#define SDMA_OP_NOP				0
#define SDMA_OP_COPY				1
#define SDMA_OP_WRITE				2
#define SDMA_OP_INDIRECT			4
#define SDMA_OP_FENCE				5
#define SDMA_OP_TRAP				6
#define SDMA_OP_SEM				7
#define SDMA_OP_POLL_REGMEM			8
#define SDMA_OP_COND_EXE			9
#define SDMA_OP_ATOMIC				10
#define SDMA_OP_CONST_FILL			11
#define SDMA_OP_PTEPDE				12
#define SDMA_OP_TIMESTAMP			13
#define SDMA_OP_SRBM_WRITE			14
#define SDMA_OP_PRE_EXE				15
#define SDMA_OP_DUMMY_TRAP			16

#define SDMA_SUBOP_COPY_LINEAR			0
#define SDMA_SUBOP_COPY_LINEAR_SUB_WIND		4
#define SDMA_SUBOP_WRITE_LINEAR			0
#define SDMA_SUBOP_POLL_REG_WRITE_MEM		1
#define SDMA_SUBOP_DATA_FILL_MULTI		1
#define SDMA_SUBOP_PTEPDE_GEN			0
#define SDMA_SUBOP_TIMESTAMP_SET		0
#define SDMA_SUBOP_TIMESTAMP_GET		1
#define SDMA_SUBOP_TIMESTAMP_GET_GLOBAL		2

/* Dwords of a packet, header included. */
#define SDMA_PKT_COPY_LINEAR_DW			7
#define SDMA_PKT_COPY_BROADCAST_LINEAR_DW	9
#define SDMA_PKT_COPY_LINEAR_SUBWIN_DW		13
#define SDMA_PKT_WRITE_DW			4	/* and the data */
#define SDMA_PKT_INDIRECT_DW			6
#define SDMA_PKT_FENCE_DW			4
#define SDMA_PKT_TRAP_DW			2
#define SDMA_PKT_SEMAPHORE_DW			3
#define SDMA_PKT_POLL_REGMEM_DW			6
#define SDMA_PKT_POLL_REG_WRITE_MEM_DW		4
#define SDMA_PKT_COND_EXE_DW			5
#define SDMA_PKT_ATOMIC_DW			8
#define SDMA_PKT_CONST_FILL_DW			5
#define SDMA_PKT_DATA_FILL_MULTI_DW		6
#define SDMA_PKT_PTEPDE_GEN_DW			10
#define SDMA_PKT_TIMESTAMP_DW			3
#define SDMA_PKT_SRBM_WRITE_DW			3
#define SDMA_PKT_PRE_EXE_DW			2

/* NOP: header [29:16] dwords that follow and are skipped. */
#define SDMA_PKT_NOP__COUNT__SHIFT		16
#define SDMA_PKT_NOP__COUNT_MASK		0x3fff0000u

/*
 * COPY linear: DW1 count of bytes, DW2 parameter, DW3/4 source, DW5/6 destination,
 * with BROADCAST DW7/8 a second destination.
 */
#define SDMA_PKT_COPY__BROADCAST		0x08000000u
#define SDMA_PKT_COPY__COUNT_MASK		0x003fffffu
#define SDMA_COPY_MAX_BYTES			0x400000u
/*
 * Sub-window: header [31:29] log2 of the element. DW1/2 source, DW3 x [13:0] y [29:16],
 * DW4 z [10:0] pitch [31:13], DW5 slice pitch [27:0], DW6..10 the same of the
 * destination, DW11 width [13:0] height [29:16], DW12 depth [10:0]. x, y, z are plain,
 * the rest is one less. In elements.
 */
#define SDMA_PKT_SUBWIN__ELEMENTSIZE__SHIFT	29
#define SDMA_PKT_SUBWIN__ELEMENTSIZE_MASK	0xe0000000u
#define SDMA_SUBWIN_ELEMENTSIZE_MAX		4
#define SDMA_PKT_SUBWIN__X_MASK			0x00003fffu
#define SDMA_PKT_SUBWIN__Y__SHIFT		16
#define SDMA_PKT_SUBWIN__Y_MASK			0x3fff0000u
#define SDMA_PKT_SUBWIN__Z_MASK			0x000007ffu
#define SDMA_PKT_SUBWIN__PITCH__SHIFT		13
#define SDMA_PKT_SUBWIN__PITCH_MASK		0xffffe000u
#define SDMA_PKT_SUBWIN__SLICE_PITCH_MASK	0x0fffffffu

/* WRITE linear: DW1/2 destination, DW3 count of dwords, then the data. */
#define SDMA_PKT_WRITE__COUNT_MASK		0x000fffffu

/* INDIRECT: header [19:16] VMID, DW1/2 base (32 bytes aligned), DW3 size in dwords, as it is. */
#define SDMA_PKT_INDIRECT__VMID__SHIFT		16
#define SDMA_PKT_INDIRECT__VMID_MASK		0x000f0000u
#define SDMA_PKT_INDIRECT__SIZE_MASK		0x000fffffu
#define SDMA_PKT_INDIRECT__BASE_ALIGN		32u
/* The packet has to end on a multiple of this in its ring. */
#define SDMA_PKT_INDIRECT__END_DW		8u

/* FENCE: DW1/2 address, DW3 data. TRAP, DUMMY_TRAP: DW1 interrupt context. */
#define SDMA_PKT_TRAP__INT_CONTEXT_MASK		0x0fffffffu

/* SEMAPHORE: header as below, DW1/2 address. */
#define SDMA_PKT_SEMAPHORE__WRITE_ONE		0x20000000u
#define SDMA_PKT_SEMAPHORE__SIGNAL		0x40000000u
#define SDMA_PKT_SEMAPHORE__MAILBOX		0x80000000u

/*
 * POLL_REGMEM: DW1/2 address, or register as a byte offset; for an HDP flush DW1 is
 * the register polled and DW2 the one DW3 is written to first. DW3 value, DW4 mask,
 * DW5 [15:0] interval, [27:16] retries. Functions as in WAIT_REG_MEM.
 */
#define SDMA_PKT_POLL_REGMEM__HDP_FLUSH		0x04000000u
#define SDMA_PKT_POLL_REGMEM__FUNC__SHIFT	28
#define SDMA_PKT_POLL_REGMEM__FUNC_MASK		0x70000000u
#define SDMA_PKT_POLL_REGMEM__MEM_POLL		0x80000000u
#define SDMA_PKT_POLL_REGMEM__RETRY__SHIFT	16
#define SDMA_PKT_POLL_REGMEM__RETRY_MASK	0x0fff0000u
#define SDMA_POLL_REGMEM_RETRY_FOREVER		0xfffu
#define SDMA_PKT_POLL_REGMEM__REG_MASK		0x000ffffcu
/* POLL_REG_WRITE_MEM: DW1 register (byte offset), DW2/3 address. */

/* COND_EXE: DW1/2 address, DW3 reference, DW4 dwords to execute only if they are equal. */
/* PRE_EXE: header [23:16] devices, DW1 dwords to execute only on these. */
#define SDMA_PKT_EXE__COUNT_MASK		0x00003fffu
#define SDMA_PKT_PRE_EXE__DEV_SEL__SHIFT	16
#define SDMA_PKT_PRE_EXE__DEV_SEL_MASK		0x00ff0000u

/* ATOMIC: DW1/2 address, DW3/4 source, DW5/6 compare, DW7 [12:0] loop interval. */
#define SDMA_PKT_ATOMIC__LOOP			0x00010000u
#define SDMA_PKT_ATOMIC__OP__SHIFT		25
#define SDMA_PKT_ATOMIC__OP_MASK		0xfe000000u
#define SDMA_ATOMIC_ADD64			0x2f

/* CONST_FILL: header [31:30] size, DW1/2 destination, DW3 data, DW4 count of bytes. */
#define SDMA_PKT_CONST_FILL__FILLSIZE__SHIFT	30
#define SDMA_PKT_CONST_FILL__FILLSIZE_MASK	0xc0000000u
#define SDMA_FILLSIZE_BYTE			0
#define SDMA_FILLSIZE_DW			2
#define SDMA_PKT_CONST_FILL__COUNT_MASK		0x003fffffu
/* DATA_FILL_MULTI: DW1 stride in bytes, DW2 blocks, as it is, DW3/4 destination, DW5 count of bytes. */
#define SDMA_PKT_DATA_FILL_MULTI__MEMLOG_CLR	0x80000000u
#define SDMA_PKT_DATA_FILL_MULTI__COUNT_MASK	0x03ffffffu

/*
 * PTEPDE generate: DW1/2 destination, DW3/4 mask (or-ed to each), DW5/6 first value,
 * DW7/8 increment, DW9 count of entries.
 */
#define SDMA_PKT_PTEPDE_GEN__COUNT_MASK		0x0007ffffu

/* TIMESTAMP: DW1/2 address, a multiple of 8, or for SET the new value. */
/* SRBM_WRITE: header [31:28] byte enables, DW1 [17:0] register (dword index), DW2 data. */
#define SDMA_PKT_SRBM_WRITE__BYTE_EN__SHIFT	28
#define SDMA_PKT_SRBM_WRITE__BYTE_EN_MASK	0xf0000000u
#define SDMA_PKT_SRBM_WRITE__ADDR_MASK		0x0003ffffu

/* ring_id of an SDMA interrupt entry, by the kind of queue. */
#define VKFD_SDMA_RING_ID_GFX			0
#define VKFD_SDMA_RING_ID_PAGE			1
#define VKFD_SDMA_RING_ID_RLC			2

/*
 * Sources of SDMA entries besides the trap. The real part has none for a bad packet:
 * 241 is the number its predecessors used. Context id 0 is the doorbell id and the
 * error code (VKFD_CP_BAD_OP__*), context id 1 the header.
 */
#define SDMA0_4_0__SRCID__SDMA_ATOMIC_RTN_DONE	217
#define SDMA0_4_0__SRCID__SDMA_POLL_TIMEOUT	246
#define SDMA0_4_0__SRCID__SDMA_SRBMWRITE	247
#define VKFD_SRCID__SDMA_ILLEGAL_INST		241

#endif /* VKFD_SDMA_H */
