/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts of queues that have run empty, for events of type QUEUE_EVENT. All may
 * sleep and take a mutex of their own, the innermost but vkfd_hw_srcu.
 */
#ifndef VKFD_QUEUE_EVENT_H
#define VKFD_QUEUE_EVENT_H

struct vkfd_device;

/* One more event of that type, and one less; on all GPUs. */
void vkfd_queue_events_get(void);
void vkfd_queue_events_put(void);

/* To be called when @dev has come, or come back, and can be found by its index. */
void vkfd_queue_events_device(struct vkfd_device *dev);

#endif /* VKFD_QUEUE_EVENT_H */
