/* SPDX-License-Identifier: MIT */
/*
 * Memory queue descriptor of gfx9 compute queues (v9_mqd): 512 dwords. Dwords
 * 128..183 are the image of the HQD bank, in register order.
 */
#ifndef VKFD_MQD_H
#define VKFD_MQD_H

#define V9_MQD_DW			512
#define V9_MQD_HEADER_VALUE		0xc0310800u
#define V9_MQD_HQD_FIRST_DW		128
#define V9_MQD_HQD_DW			56
/* MQD dword of an HQD register given by its dword index (regs_gc.h). */
#define V9_MQD_DW_OF(reg)		((reg) - mmCP_MQD_BASE_ADDR + V9_MQD_HQD_FIRST_DW)

#define V9_MQD_HEADER_DW		0
#define V9_MQD_COMPUTE_PIPELINESTAT_ENABLE_DW	11
#define V9_MQD_STATIC_THREAD_MGMT_SE0_DW	23
#define V9_MQD_STATIC_THREAD_MGMT_SE1_DW	24
#define V9_MQD_STATIC_THREAD_MGMT_SE2_DW	26
#define V9_MQD_STATIC_THREAD_MGMT_SE3_DW	27

/* Dwords 1..80 are the compute SH registers from COMPUTE_DISPATCH_INITIATOR on. */
#define V9_MQD_SH_FIRST_DW		1
#define V9_MQD_SH_DW			80
/* 64-bit read index: the monotonic rptr at the last save by the firmware. */
#define V9_MQD_READINDEX_DW		96
/*
 * MQD of an HIQ: doorbells (dword index on BAR2) of queues that did not let themselves
 * be preempted; the driver clears them.
 */
#define V9_MQD_QUEUE_DOORBELL_ID0_DW	240
#define V9_MQD_QUEUE_DOORBELL_IDS	16
/* SDMA queues: dwords, and where the address of their write pointer is. */
#define V9_SDMA_MQD_WPTR_POLL_DW	28

/* CP_HQD_DEQUEUE_REQUEST.DEQUEUE_REQ */
#define VKFD_DEQUEUE_DRAIN		1
#define VKFD_DEQUEUE_RESET_WAVES	2
#define VKFD_DEQUEUE_SAVE_WAVES		3

#endif /* VKFD_MQD_H */
