/* SPDX-License-Identifier: MIT */
/*
 * PM4 packets for the scheduler firmware of gfx9 (amdkfd's pm4_mes_*): only the
 * kernel's interface queues, KIQ and HIQ, take them. DWn is the n-th dword after the
 * header. Addresses are of VMID 0 unless said otherwise.
 */
#ifndef VKFD_PM4_SCHED_H
#define VKFD_PM4_SCHED_H

/* IT_INVALIDATE_TLBS is in pm4.h. */
#define IT_SET_RESOURCES			0xa0
#define IT_MAP_PROCESS				0xa1
#define IT_MAP_QUEUES				0xa2
#define IT_UNMAP_QUEUES				0xa3
#define IT_QUERY_STATUS				0xa4
#define IT_RUN_LIST				0xa5

/* Dwords after the header. */
#define SET_RESOURCES_DW			7
#define MAP_PROCESS_DW				15
#define MAP_QUEUES_DW				6
#define UNMAP_QUEUES_DW				5
#define QUERY_STATUS_DW				6
#define RUN_LIST_DW				3
#define INVALIDATE_TLBS_DW			1

/*
 * SET_RESOURCES: DW1 control, DW2/3 queue mask (bit me * 32 + pipe * 8 + queue, me 0 is
 * ME1), DW4/5 GWS mask, DW6 OAC mask, DW7 GDS heap.
 */
#define SET_RESOURCES__VMID_MASK__SHIFT		0
#define SET_RESOURCES__VMID_MASK_MASK		0x0000ffffu
#define SET_RESOURCES__UNMAP_LATENCY__SHIFT	16	/* units of 100 ms */
#define SET_RESOURCES__UNMAP_LATENCY_MASK	0x00ff0000u
#define SET_RESOURCES__QUEUE_TYPE__SHIFT	29
#define SET_RESOURCES__QUEUE_TYPE_MASK		0xe0000000u
#define SET_RESOURCES_KIQ			0
#define SET_RESOURCES_HIQ			1

/*
 * MAP_PROCESS: DW1 control, DW2/3 page directory (address and flags, as in
 * VM_CONTEXTn_PAGE_TABLE_BASE), DW4 SH_MEM_BASES, DW5 SH_MEM_CONFIG, DW6/7 TBA >> 8,
 * DW8/9 TMA >> 8, DW11/12 GDS address, DW13 resources, DW14/15 completion signal.
 */
#define MAP_PROCESS__PASID__SHIFT		0
#define MAP_PROCESS__PASID_MASK			0x0000ffffu
#define MAP_PROCESS__QUANTUM__SHIFT		25	/* units of 1 ms */
#define MAP_PROCESS__QUANTUM_MASK		0xfe000000u
#define MAP_PROCESS__SDMA_ENABLE		0x00000080u
#define MAP_PROCESS__NUM_QUEUES__SHIFT		22	/* DW13; 0: not told */
#define MAP_PROCESS__NUM_QUEUES_MASK		0xffc00000u

/* MAP_QUEUES: DW1 control, DW2 doorbell, DW3/4 MQD, DW5/6 wptr (in the queue's VMID). */
#define MAP_QUEUES__EXT_ENGINE__SHIFT		2
#define MAP_QUEUES__EXT_ENGINE_MASK		0x0000000cu
#define MAP_QUEUES__QUEUE_SEL__SHIFT		4
#define MAP_QUEUES__QUEUE_SEL_MASK		0x00000030u
#define MAP_QUEUES_SEL_SLOT			0	/* in the slot that the packet names */
#define MAP_QUEUES_SEL_HWS			1	/* the firmware chooses */
#define MAP_QUEUES__VMID__SHIFT			8
#define MAP_QUEUES__VMID_MASK			0x00000f00u
#define MAP_QUEUES__QUEUE__SHIFT		13
#define MAP_QUEUES__QUEUE_MASK			0x0000e000u
#define MAP_QUEUES__PIPE__SHIFT			16
#define MAP_QUEUES__PIPE_MASK			0x00030000u
#define MAP_QUEUES__ME__SHIFT			18	/* 0 is ME1 */
#define MAP_QUEUES__ME_MASK			0x00040000u
#define MAP_QUEUES__QUEUE_TYPE__SHIFT		21
#define MAP_QUEUES__QUEUE_TYPE_MASK		0x00e00000u
#define MAP_QUEUES_TYPE_COMPUTE			0
#define MAP_QUEUES_TYPE_DIQ			1
#define MAP_QUEUES_TYPE_STATIC			2
#define MAP_QUEUES_TYPE_LOW_LATENCY		3
#define MAP_QUEUES__ENGINE_SEL__SHIFT		26
#define MAP_QUEUES__ENGINE_SEL_MASK		0x1c000000u
#define MAP_QUEUES__NUM_QUEUES__SHIFT		29
#define MAP_QUEUES__NUM_QUEUES_MASK		0xe0000000u
#define MAP_QUEUES__DOORBELL__SHIFT		2	/* DW2: dword index on BAR2 */
#define MAP_QUEUES__DOORBELL_MASK		0x0ffffffcu

/* Engines of MAP_QUEUES and UNMAP_QUEUES; with EXT_ENGINE 1 the number of an SDMA. */
#define ENGINE_SEL_COMPUTE			0
#define ENGINE_SEL_HIQ				1
#define ENGINE_SEL_SDMA0			2
#define ENGINE_SEL_SDMA1			3
#define ENGINE_SEL_GFX				4
#define EXT_ENGINE_LEGACY			0
#define EXT_ENGINE_SDMA0_7			1

/* UNMAP_QUEUES: DW1 control, DW2 PASID or first doorbell, DW3..5 further doorbells. */
#define UNMAP_QUEUES__ACTION__SHIFT		0
#define UNMAP_QUEUES__ACTION_MASK		0x00000003u
#define UNMAP_QUEUES_PREEMPT			0	/* save, and off */
#define UNMAP_QUEUES_RESET			1	/* off, nothing is saved */
#define UNMAP_QUEUES_DISABLE_PROCESS		2
#define UNMAP_QUEUES_PREEMPT_NO_UNMAP		3	/* save, and go on */
#define UNMAP_QUEUES__EXT_ENGINE__SHIFT		2
#define UNMAP_QUEUES__EXT_ENGINE_MASK		0x0000000cu
#define UNMAP_QUEUES__QUEUE_SEL__SHIFT		4
#define UNMAP_QUEUES__QUEUE_SEL_MASK		0x00000030u
#define UNMAP_QUEUES_SEL_DOORBELL		0
#define UNMAP_QUEUES_SEL_PASID			1
#define UNMAP_QUEUES_SEL_ALL			2
#define UNMAP_QUEUES_SEL_NON_STATIC		3
#define UNMAP_QUEUES__ENGINE_SEL__SHIFT		26
#define UNMAP_QUEUES__ENGINE_SEL_MASK		0x1c000000u
#define UNMAP_QUEUES__NUM_QUEUES__SHIFT		29	/* doorbells, 1..4 */
#define UNMAP_QUEUES__NUM_QUEUES_MASK		0xe0000000u
#define UNMAP_QUEUES__PASID_MASK		0x0000ffffu
#define UNMAP_QUEUES__DOORBELL__SHIFT		2
#define UNMAP_QUEUES__DOORBELL_MASK		0x0ffffffcu
#define UNMAP_QUEUES_DOORBELLS			4

/* QUERY_STATUS: DW1 control, DW2 PASID or doorbell, DW3/4 address, DW5/6 data. */
#define QUERY_STATUS__CONTEXT_ID__SHIFT		0
#define QUERY_STATUS__CONTEXT_ID_MASK		0x0fffffffu
#define QUERY_STATUS__INTERRUPT_SEL__SHIFT	28
#define QUERY_STATUS__INTERRUPT_SEL_MASK	0x30000000u
#define QUERY_STATUS_INT_MAX			2	/* completion, process, queue */
#define QUERY_STATUS__COMMAND__SHIFT		30
#define QUERY_STATUS__COMMAND_MASK		0xc0000000u
#define QUERY_STATUS_INTERRUPT_ONLY		0
#define QUERY_STATUS_FENCE_NOW			1
#define QUERY_STATUS_FENCE			2	/* when all before it is done */
#define QUERY_STATUS_FENCE_INTERRUPT		3

/*
 * RUN_LIST: DW1/2 IB, DW3 control. The IB holds MAP_PROCESS and its MAP_QUEUES, again
 * and again; one RUN_LIST with CHAIN may end it, back to its beginning or on to another.
 */
#define RUN_LIST__IB_SIZE__SHIFT		0	/* dwords */
#define RUN_LIST__IB_SIZE_MASK			0x000fffffu
#define RUN_LIST__CHAIN				0x00100000u
#define RUN_LIST__VALID				0x00800000u
#define RUN_LIST__PROCESS_CNT__SHIFT		24
#define RUN_LIST__PROCESS_CNT_MASK		0x0f000000u

/* INVALIDATE_TLBS: DW1. */
#define INVALIDATE_TLBS__ALL_HUB		0x00000010u
#define INVALIDATE_TLBS__PASID__SHIFT		5
#define INVALIDATE_TLBS__PASID_MASK		0x001fffe0u

#endif /* VKFD_PM4_SCHED_H */
