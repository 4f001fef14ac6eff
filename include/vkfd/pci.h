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
 * Control page: read only for now except where noted, 32-bit little endian.
 * It works under any driver; tests map it through sysfs (resource4).
 */
#define VKFD_CTRL_MAGIC			0x00	/* reads VKFD_CTRL_MAGIC_VALUE */
#define VKFD_CTRL_MAGIC_VALUE		0x44464b56	/* "VKFD" */
#define VKFD_CTRL_VERSION		0x04	/* layout version of this page */
#define VKFD_CTRL_VERSION_VALUE		1
#define VKFD_CTRL_CNT_SELECT		0x08	/* rw: index of the counter to read */
#define VKFD_CTRL_CNT_LO		0x0c	/* selected counter, low half; latches the high half */
#define VKFD_CTRL_CNT_HI		0x10
#define VKFD_CTRL_CNT_COUNT		0x14	/* number of counters */
#define VKFD_CTRL_UNMOD_SELECT		0x18	/* rw: index into the list of unmodelled accesses */
#define VKFD_CTRL_UNMOD_REG		0x1c	/* byte offset in BAR5, ~0 past the end */
#define VKFD_CTRL_UNMOD_READS		0x20
#define VKFD_CTRL_UNMOD_WRITES		0x24
#define VKFD_CTRL_UNMOD_COUNT		0x28	/* distinct registers listed */

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
#define VKFD_CNT_MAX			19

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
