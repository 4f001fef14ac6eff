/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The HIQ: the driver's ring to the scheduler firmware. It is loaded straight into an
 * HQD and named as an interface queue (RLC_CP_SCHEDULERS), so no KIQ is needed.
 */
#ifndef VKFD_HIQ_H
#define VKFD_HIQ_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "vkfd_gart.h"

struct vkfd_device;

/**
 * struct vkfd_hiq
 * @lock: everything here, and the ring; held while the firmware is waited for
 * @ring: one page of packets
 * @shared: one page: pointers, fence, MQD (struct hiq_shared)
 * @mqd: image of the MQD in @shared, to load it from; here, since nobody may allocate under
 *       dev->queue_lock
 * @wptr: dwords written, never wraps
 * @fence: value of the last fence asked for
 * @running: loaded, and the firmware has answered so far
 * @packets: packets sent, for debugfs
 */
struct vkfd_hiq {
	struct mutex lock;
	struct vkfd_gart_buf ring;
	struct vkfd_gart_buf shared;
	u32 *mqd;
	u64 wptr;
	u64 fence;
	bool running;
	u64 packets;
};

/* Memory; in probe. -errno. */
int vkfd_hiq_init(struct vkfd_device *dev);
/*
 * Loads the ring and tells the firmware what it may use: KFD's VMIDs and HQD slots. The
 * hardware is there. -errno.
 */
int vkfd_hiq_start(struct vkfd_device *dev);
/* The ring is no more: the part was reset, or is away. */
void vkfd_hiq_stop(struct vkfd_device *dev);

/*
 * Sends @dw dwords of packets and waits until the firmware is done with them; sleeps;
 * takes hiq->lock. -ENODEV: the part is away; -EIO: the firmware does not run; -ETIME: it
 * did not answer within VKFD_HIQ_TIMEOUT_MS. Then all engines have been halted, so that
 * nothing touches memory any more, and a reset is under way.
 */
int vkfd_hiq_run(struct vkfd_device *dev, const u32 *packets, unsigned int dw);

/*
 * After a batch that unmaps: whether the firmware has given up a compute queue, which may
 * still be in its slot. Told once. Takes hiq->lock.
 */
bool vkfd_hiq_preemption_failed(struct vkfd_device *dev);

/*
 * There is no telling what still runs: all engines are halted, so that nothing touches
 * memory any more, and a reset is under way. Takes hiq->lock.
 */
void vkfd_hiq_give_up(struct vkfd_device *dev);

/*
 * Flushes what the hardware remembers of the page tables of @pasid, on whatever VMID, or
 * none, its process is just now. The tables have been written. Sleeps.
 */
void vkfd_hiq_flush_tlb(struct vkfd_device *dev, u32 pasid);

/*
 * How long the firmware waits for a queue that is to be preempted, and how long it may be
 * silent; both as upstream (KFD_UNMAP_LATENCY_MS, queue_preemption_timeout_ms).
 */
#define VKFD_HIQ_LATENCY_MS	4000
#define VKFD_HIQ_TIMEOUT_MS	9000

#endif /* VKFD_HIQ_H */
