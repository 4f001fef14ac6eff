/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of a process: ids, the signal page, waiters, and the entry points of the
 * interrupt path. The pure part (ids, slots, state machine, age) is vkfd_event_core.
 */
#ifndef VKFD_EVENT_H
#define VKFD_EVENT_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct file;
struct vkfd_bo;
struct vkfd_device;
struct vkfd_process;

#define VKFD_SIGNAL_EVENT_LIMIT		4096	/* slots of the page; id 0 is never used */
#define VKFD_NONSIGNAL_ID_FIRST		0x40000000u
#define VKFD_UNSIGNALED_SLOT		(~0ull)

/**
 * struct vkfd_events - embedded in struct vkfd_process
 * @mutex: create, destroy, wait set-up, signal page
 * @xa: id -> struct vkfd_event, looked up under RCU from interrupt context
 * @page_bo: BO given as signal page (reference and vmap held), or NULL
 * @page: kernel mapping of the slots, or NULL
 * @slots: number of slots in @page
 * @signal_count: signal events alive
 */
struct vkfd_events {
	struct mutex mutex;
	struct xarray xa;
	struct vkfd_bo *page_bo;
	u64 *page;
	unsigned int slots;
	unsigned int signal_count;
};

void vkfd_events_init(struct vkfd_process *p);
/* Wakes every waiter with an error and frees all events. May sleep. */
void vkfd_events_fini(struct vkfd_process *p);

/*
 * Routing of a completion interrupt: finds the event of @partial_id (@valid_bits low
 * bits are valid) in the process of @pasid and signals it. Hard irq context.
 */
void kfd_signal_event_interrupt(u32 pasid, u32 partial_id, u32 valid_bits);

/**
 * struct vkfd_vm_fault_info - what a VM fault interrupt says
 * @va: byte address, page aligned
 */
struct vkfd_vm_fault_info {
	u64 va;
	bool write;
	bool prot_valid;	/* @prot_read/@prot_write tell what the PTE allowed */
	bool prot_read;
	bool prot_write;
	unsigned int vmid;
};

/* MEMORY events of @p, each with the payload. Any context. */
void vkfd_event_signal_vm_fault(struct vkfd_process *p, struct vkfd_device *dev,
				const struct vkfd_vm_fault_info *info);
/* HW_EXCEPTION events of @p. Any context. @reset_cause: KFD_HW_EXCEPTION_* */
void vkfd_event_signal_hw_exception(struct vkfd_process *p, struct vkfd_device *dev,
				    u32 reset_type, u32 reset_cause, bool memory_lost);
/* Every event of every process that waits on @dev: it is gone. */
void vkfd_events_device_gone(struct vkfd_device *dev);

int vkfd_ioctl_create_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_destroy_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_reset_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_wait_events(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_EVENT_H */
