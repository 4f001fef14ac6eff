/* SPDX-License-Identifier: MIT */
/*
 * PCI identity, BARs and fixed sizes of the emulated Vega20 (gfx906) part.
 *
 * BAR0 VRAM, BAR2 doorbells and BAR5 registers are laid out as on the real part.
 * BAR4 is this project's own: the MSI-X table and the control page.
 */
#ifndef VKFD_PCI_H
#define VKFD_PCI_H

#define VKFD_PCI_VENDOR_ID		0x1002
#define VKFD_PCI_DEVICE_ID		0x66a1
#define VKFD_PCI_REVISION		0x00
#define VKFD_PCI_SUBSYS_VENDOR_ID	0x1002
#define VKFD_PCI_SUBSYS_ID		0x0834
#define VKFD_PCI_CLASS			0x0380	/* display controller, other */

#define VKFD_BAR_VRAM			0
#define VKFD_BAR_DOORBELL		2
#define VKFD_BAR_CONTROL		4
#define VKFD_BAR_MMIO			5

#define VKFD_DOORBELL_BAR_SIZE		0x200000u
#define VKFD_MMIO_SIZE			0x80000u
#define VKFD_CONTROL_BAR_SIZE		0x4000u

/* BAR4 */
#define VKFD_MSIX_VECTORS		1
#define VKFD_MSIX_TABLE_OFFSET		0x0000
#define VKFD_MSIX_PBA_OFFSET		0x1000
#define VKFD_CONTROL_PAGE_OFFSET	0x2000

/* Last page of BAR5: no register; writes to its first two dwords flush HDP. */
#define VKFD_MMIO_REMAP_OFFSET		0x7f000u
#define VKFD_MMIO_REMAP_SIZE		0x1000u
#define VKFD_REMAP_HDP_MEM_FLUSH	0x0
#define VKFD_REMAP_HDP_REG_FLUSH	0x4

/*
 * Control page: 32-bit little endian, read only except where noted. It works
 * under any driver; tests map it through sysfs (resource4).
 */
#define VKFD_CTRL_MAGIC			0x00	/* reads VKFD_CTRL_MAGIC_VALUE */
#define VKFD_CTRL_MAGIC_VALUE		0x44464b56	/* "VKFD" */
#define VKFD_CTRL_VERSION		0x04	/* layout version of this page */
#define VKFD_CTRL_VERSION_VALUE		2	/* 2: fault injection */
#define VKFD_CTRL_CNT_SELECT		0x08	/* rw: index of the counter to read */
#define VKFD_CTRL_CNT_LO		0x0c	/* selected counter, low half; latches the high half */
#define VKFD_CTRL_CNT_HI		0x10
#define VKFD_CTRL_CNT_COUNT		0x14	/* number of counters */
#define VKFD_CTRL_UNMOD_SELECT		0x18	/* rw: index into the list of unmodelled accesses */
#define VKFD_CTRL_UNMOD_REG		0x1c	/* byte offset in BAR5, ~0 past the end */
#define VKFD_CTRL_UNMOD_READS		0x20
#define VKFD_CTRL_UNMOD_WRITES		0x24
#define VKFD_CTRL_UNMOD_COUNT		0x28	/* distinct registers listed */
/*
 * Fault injection (docs/injection.md). To arm: text with its NUL into
 * INJECT_TEXT, then INJECT_GO; the outcome is in INJECT_STATUS at once. Empty
 * text disarms.
 */
#define VKFD_CTRL_INJECT_GO		0x30	/* w: VKFD_INJECT_GO_*; reads 0 */
#define VKFD_INJECT_GO_ARM		1	/* arm what the text says, in place of what was armed */
#define VKFD_INJECT_GO_READ		2	/* fill the text with what is armed */
#define VKFD_CTRL_INJECT_STATUS		0x34	/* VKFD_INJECT_* of the last GO */
#define VKFD_CTRL_INJECT_ERROR_POS	0x38	/* byte of the text where the error is */
#define VKFD_CTRL_INJECT_COUNT		0x3c	/* specs armed, at most VKFD_INJECT_SPECS */
#define VKFD_CTRL_INJECT_SELECT		0x40	/* rw: index of the spec to read */
#define VKFD_CTRL_INJECT_PASSED_LO	0x44	/* its passages since arming; latches the high half */
#define VKFD_CTRL_INJECT_PASSED_HI	0x48
#define VKFD_CTRL_INJECT_FIRED		0x4c	/* how often it acted; saturates */
#define VKFD_CTRL_INJECT_REFUSED	0x50	/* was due and could not act; saturates */
#define VKFD_CTRL_INJECT_HELD		0x54	/* delayed actions not done yet, all specs */
#define VKFD_CTRL_INJECT_GENERATION	0x58	/* armings since power on, by any front end */
#define VKFD_CTRL_INJECT_DEVICE		0x5c	/* VKFD_INJECT_DEVICE_* */
#define VKFD_CTRL_INJECT_TEXT		0x800	/* rw: VKFD_INJECT_TEXT_SIZE bytes, as dwords */
#define VKFD_INJECT_TEXT_SIZE		2048u
#define VKFD_INJECT_SPECS		16

/* VKFD_CTRL_INJECT_STATUS. Only ever append. */
#define VKFD_INJECT_OK			0
#define VKFD_INJECT_BAD_SYNTAX		1
#define VKFD_INJECT_BAD_POINT		2	/* no such point */
#define VKFD_INJECT_BAD_ACTION		3	/* no such action */
#define VKFD_INJECT_BAD_COMBINATION	4	/* the action makes no sense at the point */
#define VKFD_INJECT_BAD_ARGUMENT	5	/* of the action */
#define VKFD_INJECT_BAD_COUNT		6	/* @first, /every or *count */
#define VKFD_INJECT_TOO_MANY		7	/* more than VKFD_INJECT_SPECS */
#define VKFD_INJECT_TOO_LONG		8	/* no NUL in the text */
#define VKFD_INJECT_BAD_GO		9	/* no such command */

/* VKFD_CTRL_INJECT_DEVICE */
#define VKFD_INJECT_DEVICE_OK		0
#define VKFD_INJECT_DEVICE_STALLED	1	/* device:delay */
#define VKFD_INJECT_DEVICE_HUNG		2	/* device:hang */
#define VKFD_INJECT_DEVICE_GONE		3	/* device:gone */

/* Counters of VKFD_CTRL_CNT_SELECT. Only ever append. */
#define VKFD_CNT_UNMODELLED_READ	0
#define VKFD_CNT_UNMODELLED_WRITE	1
#define VKFD_CNT_BAD_ACCESS		2	/* wrong size or alignment */
#define VKFD_CNT_DOORBELL		3	/* doorbell writes seen */
#define VKFD_CNT_DOORBELL_DROPPED	4	/* matched no enabled queue */
#define VKFD_CNT_PACKET			5	/* packets executed */
#define VKFD_CNT_PACKET_SKIPPED		6	/* known opcode that is not modelled */
#define VKFD_CNT_PACKET_BAD		7	/* unknown opcode or bad length: queue stopped */
#define VKFD_CNT_IH_ENTRY		8	/* entries written to the ring */
#define VKFD_CNT_IH_LOST		9	/* entries lost because the ring was full or off */
#define VKFD_CNT_IH_OVERFLOW		10	/* times the ring went from not full to overflow */
#define VKFD_CNT_IRQ			11	/* MSI-X messages sent */
#define VKFD_CNT_VM_FAULT		12
#define VKFD_CNT_DMA_REFUSED		13	/* aimed at MMIO that is not ours, or failed */
#define VKFD_CNT_PARKED			14	/* times a queue was parked in a wait */
#define VKFD_CNT_TLB_FLUSH		15
#define VKFD_CNT_HDP_FLUSH		16	/* host data path flushes, by any register */
#define VKFD_CNT_GUEST_ERROR		17	/* nonsense programmed: logged as guest error */
#define VKFD_CNT_REG_FAULT		18	/* register a packet of a user queue may not touch */
#define VKFD_CNT_INJECTED		19	/* injected faults that acted */
#define VKFD_CNT_INJECT_REFUSED		20	/* that were due and could not act */
#define VKFD_CNT_RUNLIST		21	/* run lists taken over */
#define VKFD_CNT_RUNLIST_BAD		22	/* refused: nothing of them was mapped */
#define VKFD_CNT_QUEUE_MAP		23	/* queues mapped by the scheduler */
#define VKFD_CNT_QUEUE_UNMAP		24
#define VKFD_CNT_QUEUE_LOAD		25	/* loads of a mapped queue into a slot */
#define VKFD_CNT_QUEUE_SWAP		26	/* that gave their slot to another */
#define VKFD_CNT_DOORBELL_WAKE		27	/* doorbells of a mapped queue without slot */
#define VKFD_CNT_MAX			28

/* GPU clock, reported as this everywhere (kHz). */
#define VKFD_GPU_CLOCK_KHZ		100000u

/* VMIDs 8..15 belong to KFD, as on the real part. */
#define VKFD_KFD_VMID_FIRST		8
#define VKFD_KFD_VMID_LAST		15
#define VKFD_NUM_VMID			16

/* Compute pipes: ME1 has 4 pipes of 8 queues, so has ME2. */
#define VKFD_NUM_ME			2
#define VKFD_PIPES_PER_ME		4
#define VKFD_QUEUES_PER_PIPE		8
#define VKFD_NUM_HQD			(VKFD_NUM_ME * VKFD_PIPES_PER_ME * VKFD_QUEUES_PER_PIPE)

#endif /* VKFD_PCI_H */
