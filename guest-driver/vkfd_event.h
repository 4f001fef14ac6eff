/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of a process: ids, the signal page, waiters, and the entry points of the
 * interrupt path. The pure part (ids, slots, state machine, age) is vkfd_event_core.
 */
#ifndef VKFD_EVENT_H
#define VKFD_EVENT_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "vkfd_device.h"

#include "vkfd_event_core.h"

struct file;
struct vkfd_bo;
struct vkfd_mapping;
struct vkfd_mem;
struct vkfd_device;
struct vkfd_pdd;
struct vkfd_process;
struct vm_area_struct;

/*
 * Most events one WAIT_EVENTS call may name; more is -ENOMEM, which is also what
 * upstream's unbounded allocation ends in. Twice the table: an event may be named
 * more than once.
 */
#define VKFD_WAIT_EVENTS_MAX	(2 * VKFD_SIGNAL_EVENT_LIMIT)

/**
 * struct vkfd_events - embedded in struct vkfd_process
 * @mutex: create, destroy, wait set-up, signal page
 * @xa: id -> struct vkfd_event, changed under @mutex, looked up under RCU
 * @link: in the list of all tables, which is walked under RCU
 * @page: kernel mapping of the slots, or NULL; set under @mutex, read under RCU
 * @page_mem: handle of the memory given as signal page, or NULL when there is no page or
 *            the page is the driver's own
 * @page_bo: its BO (reference and vmap held), or NULL likewise
 * @own_bo: memory of the driver's own page (reference and vmap held), or NULL when the
 *          process had no VM then and the page is plain kernel memory; @mutex
 * @own_map: where @own_bo is in the process's VM of each GPU, or NULL; @mutex
 * @own_va, @own_pages: address and length of the mapping of @own_bo by user space that the
 *                      GPUs follow; @mutex
 * @own_vmas: mappings of @own_bo by user space, parts count; @mutex
 * @slots: number of usable slots in @page; @mutex
 * @signal_count: events that have a slot; @mutex
 * @sleepers: bit per slot: a task waits for that event. Set and cleared under the
 *            event's lock.
 * @suspects: bit per slot: it was signalled at the last look of the recovery, which alone
 *            uses it
 * @device_lost: the GPUs this process used are gone; waits that cannot complete fail
 * @losses: GPUs that went while it has others; waits of before that cannot complete fail
 * @closed: vkfd_events_fini() has run; @mutex
 */
struct vkfd_events {
	struct mutex mutex;
	struct xarray xa;
	struct list_head link;
	u64 *page;
	struct vkfd_mem *page_mem;
	struct vkfd_bo *page_bo;
	struct vkfd_bo *own_bo;
	struct vkfd_mapping *own_map[VKFD_MAX_GPUS];
	u64 own_va;
	unsigned long own_pages;
	unsigned int own_vmas;
	unsigned int slots;
	unsigned int signal_count;
	DECLARE_BITMAP(sleepers, VKFD_SIGNAL_EVENT_LIMIT);
	DECLARE_BITMAP(suspects, VKFD_SIGNAL_EVENT_LIMIT);
	bool device_lost;
	atomic_t losses;
	bool closed;
};

/**
 * struct vkfd_event_counters - what the interrupt path did, for debugfs
 * @interrupts: calls of kfd_signal_event_interrupt()
 * @no_process: the PASID is nobody's (the process has exited)
 * @direct: the id named a signalled slot
 * @scans: it did not, so the slots of events with sleepers were looked at
 * @scan_hits: events found signalled by that
 * @wait_hits: events found signalled by WAIT_EVENTS before it slept or gave up
 * @recovered_slots: events a task slept for whose slot stayed signalled without an
 *                   interrupt that named it
 */
struct vkfd_event_counters {
	atomic64_t interrupts;
	atomic64_t no_process;
	atomic64_t direct;
	atomic64_t scans;
	atomic64_t scan_hits;
	atomic64_t wait_hits;
	atomic64_t recovered_slots;
};

extern struct vkfd_event_counters vkfd_event_counters;

void vkfd_events_init(struct vkfd_process *p);
/*
 * Wakes every waiter with an error and frees all events and the page. May sleep;
 * takes events.mutex. Events can be created no more. Once.
 */
void vkfd_events_fini(struct vkfd_process *p);

/*
 * mmap of /dev/kfd, type events: maps the driver's own signal page, and maps as much of
 * it into the process's GPU VMs at the same address, until the last part of it is
 * unmapped. A second mapping while there is one is the CPU's alone. -EINVAL if the
 * process has none (or gave a BO), for more than the page, or if the address is in use
 * in a VM; -ENOMEM. mmap_lock held; takes events.mutex and vm->lock.
 */
int vkfd_events_mmap(struct vkfd_process *p, struct vm_area_struct *vma);

/*
 * @pdd got its VM just now: the driver's own page, if mapped, goes there too. process->lock. The
 * errors of vkfd_vm_map(). Behind -ENOBUFS: the same again, with room for so many bytes.
 */
int vkfd_events_vm_acquired(struct vkfd_pdd *pdd);
u64 vkfd_events_vm_tables(void);

/*
 * Routing of a completion interrupt: finds the event of @partial_id (@valid_bits low
 * bits are valid) in the process of @pasid and signals it. Hard irq context.
 */
void kfd_signal_event_interrupt(u32 pasid, u32 partial_id, u32 valid_bits);

/*
 * Interrupts were lost: looks at the slots of every event a task waits for, in all
 * processes. Any context.
 */
void vkfd_events_rescan_all(void);

/*
 * For vkfd_recovery.c, which calls one after the other. Suspect: notes which slots are
 * signalled although a task sleeps for their events; whether there are any. Recover:
 * signals the events of those that still are.
 */
bool vkfd_events_suspect_slots(void);
void vkfd_events_recover_slots(void);

/**
 * struct vkfd_vm_fault_info - what a VM fault interrupt says
 * @va: byte address, page aligned; 0 for an error that has none
 * @error: KFD_MEM_ERR_*: not an access that was refused, but bad data
 * @imprecise: interrupts were lost before it, so it may not be the first; or no address
 */
struct vkfd_vm_fault_info {
	u64 va;
	u32 error;
	bool imprecise;
	bool write;
	bool prot_valid;	/* ring_id bit 3: the translation was not valid */
	bool prot_read;		/* bit 4: reading is what was not allowed */
	bool prot_write;	/* bit 5: writing is what was not allowed */
	bool prot_exec;		/* bit 6: executing is what was not allowed */
	unsigned int vmid;
};

/* MEMORY events of @p, each with the payload. Any context. */
void vkfd_event_signal_vm_fault(struct vkfd_process *p, struct vkfd_device *dev,
				const struct vkfd_vm_fault_info *info);
/* HW_EXCEPTION events of @p. Any context. @reset_cause: KFD_HW_EXCEPTION_* */
void vkfd_event_signal_hw_exception(struct vkfd_process *p, struct vkfd_device *dev,
				    u32 reset_type, u32 reset_cause, bool memory_lost);
/*
 * @dev is gone or was reset: processes that had queues or a VM on it get their
 * HW_EXCEPTION events, and their waits fail unless they can complete. Of a process with
 * another GPU those fail that it is in now, if it had queues on @dev. May sleep.
 */
void vkfd_events_device_gone(struct vkfd_device *dev, bool memory_lost);

/* Events of @type, which has no payload: of @p, or of all processes. May sleep. */
void vkfd_event_signal_type(struct vkfd_process *p, u32 type);
void vkfd_events_broadcast(u32 type);

int vkfd_ioctl_create_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_destroy_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_set_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_reset_event(struct file *filep, struct vkfd_process *p, void *data);
int vkfd_ioctl_wait_events(struct file *filep, struct vkfd_process *p, void *data);

#endif /* VKFD_EVENT_H */
