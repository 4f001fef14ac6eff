/* SPDX-License-Identifier: MIT */
/*
 * AQL, the packets of HSA queues, as gfx9 firmware takes them, and the parts it
 * uses of what the runtime keeps with a queue: amd_queue_t and amd_signal_t of the
 * HSA AMD ABI, version 1. Offsets in bytes; packets also by dword.
 */
#ifndef VKFD_AQL_H
#define VKFD_AQL_H

#define AQL_PACKET_SIZE			64u
#define AQL_PACKET_DW			16u

/* Header, 16 bits */
#define AQL_HEADER__TYPE_MASK		0x00ffu
#define AQL_PACKET_VENDOR		0
#define AQL_PACKET_INVALID		1
#define AQL_PACKET_KERNEL_DISPATCH	2
#define AQL_PACKET_BARRIER_AND		3
#define AQL_PACKET_AGENT_DISPATCH	4
#define AQL_PACKET_BARRIER_OR		5
#define AQL_HEADER__BARRIER		0x0100u
/* Last two dwords of each kind: handle of the completion signal, or 0. */
#define AQL_COMPLETION_DW		14

/* KERNEL_DISPATCH: DW0 [17:16] dimensions, DW1 workgroup x y, DW2 workgroup z. */
#define AQL_DISPATCH__DIMS__SHIFT	16
#define AQL_DISPATCH__DIMS_MASK		0x00030000u
#define AQL_DISPATCH_GRID_DW		3	/* x, y, z in work-items */
#define AQL_DISPATCH_PRIVATE_DW		6	/* bytes a work-item */
#define AQL_DISPATCH_GROUP_DW		7	/* bytes of LDS a workgroup */
#define AQL_DISPATCH_KERNEL_DW		8	/* address of the kernel descriptor */
#define AQL_DISPATCH_MAX_GROUP		1024u	/* work-items a workgroup */
#define AQL_DISPATCH_MAX_LDS		65536u

/* BARRIER_AND, BARRIER_OR */
#define AQL_BARRIER_DEP_DW		2
#define AQL_BARRIER_DEPS		5

/* VENDOR: DW0 [23:16] format */
#define AQL_VENDOR__FORMAT__SHIFT	16
#define AQL_VENDOR__FORMAT_MASK		0x00ff0000u
#define AQL_VENDOR_PM4_IB		1	/* DW1-4 INDIRECT_BUFFER, DW5 dwords behind it */
#define AQL_VENDOR_PM4_IB_DW		1
#define AQL_VENDOR_PM4_IB_REMAIN_DW	5
#define AQL_VENDOR_PM4_IB_REMAIN	10
#define AQL_VENDOR_BARRIER_VALUE	2
#define AQL_BARRIER_VALUE_SIGNAL_DW	2
#define AQL_BARRIER_VALUE_VALUE_DW	4
#define AQL_BARRIER_VALUE_MASK_DW	6
#define AQL_BARRIER_VALUE_COND_DW	8
#define AQL_COND_EQ			0
#define AQL_COND_NE			1
#define AQL_COND_LT			2	/* signed */
#define AQL_COND_GTE			3

/* amd_signal_t: a handle is its address */
#define AMD_SIGNAL_ALIGN		8u
#define AMD_SIGNAL_VALUE		0x08	/* 64 bits */
#define AMD_SIGNAL_MAILBOX_PTR		0x10	/* 64 bits */
#define AMD_SIGNAL_EVENT_ID		0x18	/* 32 bits */
#define AMD_SIGNAL_START_TS		0x20
#define AMD_SIGNAL_END_TS		0x28

/*
 * amd_queue_t. The read pointer report address of the queue is that of
 * read_dispatch_id; the dword behind says how far into the structure that is.
 */
#define AMD_QUEUE_WRITE_DISPATCH_ID	0x38
#define AMD_QUEUE_READ_DISPATCH_ID	0x80
#define AMD_QUEUE_READ_ID_OFFSET	0x88	/* 32 bits: 0x80 */
#define AMD_QUEUE_PROPERTIES		0xb4
#define AMD_QUEUE_PROPERTY_PROFILING	0x8u
#define AMD_QUEUE_INACTIVE_SIGNAL	0xc0

/* What queue_inactive_signal becomes when a packet stops the queue. */
#define AQL_ERROR_DIMENSIONS		0x2u
#define AQL_ERROR_GROUP_MEMORY		0x4u
#define AQL_ERROR_CODE			0x8u
#define AQL_ERROR_PACKET		0x20u
#define AQL_ERROR_GROUP_SIZE		0x40u
#define AQL_ERROR_VENDOR_PACKET		0x100u
#define AQL_ERROR_ILLEGAL_INSTRUCTION	0x40000000u

#endif /* VKFD_AQL_H */
