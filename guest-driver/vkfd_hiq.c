// SPDX-License-Identifier: GPL-2.0-only
/*
 * The HIQ. Packets: include/vkfd/pm4_sched.h. Every batch ends with a QUERY_STATUS that
 * writes a fence, and is waited for under hiq->lock; so the ring is empty when a batch
 * is written, and needs no check for room.
 */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <drm/drm_print.h>

#include <vkfd/doorbell.h>
#include <vkfd/mqd.h>
#include <vkfd/pm4.h>
#include <vkfd/pm4_sched.h>
#include <vkfd/regs_gc.h>

#include "vkfd_device.h"
#include "vkfd_hiq.h"
#include "vkfd_hw.h"
#include "vkfd_reset.h"

#define HIQ_RING_DW		(PAGE_SIZE / sizeof(u32))
/* ME2, as upstream's; the slots of ME1 are the users'. */
#define HIQ_ME			2
#define HIQ_PIPE		0
#define HIQ_QUEUE		0
/* One of the four bytes of RLC_CP_SCHEDULERS: valid, ME, pipe, queue. */
#define RLC_SCHEDULER(me, pipe, queue)	(0x80 | (me) << 5 | (pipe) << 3 | (queue))
#define HIQ_RPTR_BLOCK_SIZE	5
#define HIQ_PRELOAD_SIZE	0x53
/* In units of 100 ms. */
#define HIQ_UNMAP_LATENCY	(VKFD_HIQ_LATENCY_MS / 100)
/* Queues 2..7 of each of the four pipes of ME1. */
#define HIQ_QUEUE_MASK		0xfcfcfcfcu
#define HIQ_VMID_MASK		0xff00u

static_assert(HIQ_VMID_MASK == GENMASK(VKFD_KFD_VMID_LAST, VKFD_KFD_VMID_FIRST));

/*
 * struct hiq_shared - what is in hiq->shared: @rptr in dwords modulo the ring, @wptr in
 * dwords, @fence a count of batches; @mqd from half of the page on.
 */
struct hiq_shared {
	__le32 rptr;
	u32 reserved;
	__le64 wptr;
	__le64 fence;
	u8 pad[PAGE_SIZE / 2 - 24];
	__le32 mqd[V9_MQD_DW];
};
static_assert(sizeof(struct hiq_shared) == PAGE_SIZE);

static struct hiq_shared *shared_of(struct vkfd_hiq *hiq)
{
	return hiq->shared.cpu[0];
}

int vkfd_hiq_init(struct vkfd_device *dev)
{
	dev->hiq.mqd = devm_kcalloc(&dev->pdev->dev, V9_MQD_DW, sizeof(u32), GFP_KERNEL);
	if (!dev->hiq.mqd)
		return -ENOMEM;
	return vkfd_gart_alloc(dev, 1, &dev->hiq.ring) ?:
	       vkfd_gart_alloc(dev, 1, &dev->hiq.shared);
}

static void put(u32 *mqd, u32 reg, u32 val)
{
	mqd[V9_MQD_DW_OF(reg)] = val;
}

static void put64(u32 *mqd, u32 reg, u64 val)
{
	put(mqd, reg, lower_32_bits(val));
	put(mqd, reg + 1, upper_32_bits(val));
}

/* The ring's MQD, as amdkfd's init_mqd_hiq makes it. VMID 0. */
static void hiq_mqd(struct vkfd_hiq *hiq, u32 *mqd)
{
	u64 shared = hiq->shared.va;

	memset(mqd, 0, V9_MQD_DW * sizeof(*mqd));
	mqd[V9_MQD_HEADER_DW] = V9_MQD_HEADER_VALUE;
	put64(mqd, mmCP_MQD_BASE_ADDR, shared + offsetof(struct hiq_shared, mqd));
	put(mqd, mmCP_MQD_CONTROL, CP_MQD_CONTROL__PRIV_STATE_MASK);
	put(mqd, mmCP_HQD_PERSISTENT_STATE, CP_HQD_PERSISTENT_STATE__PRELOAD_REQ_MASK |
	    HIQ_PRELOAD_SIZE << CP_HQD_PERSISTENT_STATE__PRELOAD_SIZE__SHIFT);
	put64(mqd, mmCP_HQD_PQ_BASE, hiq->ring.va >> 8);
	put64(mqd, mmCP_HQD_PQ_RPTR_REPORT_ADDR, shared + offsetof(struct hiq_shared, rptr));
	put64(mqd, mmCP_HQD_PQ_WPTR_POLL_ADDR, shared + offsetof(struct hiq_shared, wptr));
	put(mqd, mmCP_HQD_PQ_DOORBELL_CONTROL,
	    VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_HIQ) <<
		CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET__SHIFT);
	put(mqd, mmCP_HQD_PQ_CONTROL,
	    (order_base_2(HIQ_RING_DW) - 1) << CP_HQD_PQ_CONTROL__QUEUE_SIZE__SHIFT |
	    HIQ_RPTR_BLOCK_SIZE << CP_HQD_PQ_CONTROL__RPTR_BLOCK_SIZE__SHIFT |
	    CP_HQD_PQ_CONTROL__PRIV_STATE_MASK | CP_HQD_PQ_CONTROL__KMD_QUEUE_MASK);
}

static void hiq_write(struct vkfd_hiq *hiq, const u32 *packets, unsigned int dw)
{
	__le32 *ring = hiq->ring.cpu[0];

	while (dw--)
		ring[hiq->wptr++ % HIQ_RING_DW] = cpu_to_le32(*packets++);
}

/* A fence for all that was written so far; then the firmware is told. In vkfd_hw_enter(). */
static void hiq_ring(struct vkfd_device *dev)
{
	struct vkfd_hiq *hiq = &dev->hiq;
	u64 fence = hiq->shared.va + offsetof(struct hiq_shared, fence);
	u32 query[1 + QUERY_STATUS_DW] = { PACKET3(IT_QUERY_STATUS, QUERY_STATUS_DW) };

	hiq->fence++;
	query[1] = (u32)QUERY_STATUS_FENCE << QUERY_STATUS__COMMAND__SHIFT;
	query[3] = lower_32_bits(fence);
	query[4] = upper_32_bits(fence);
	query[5] = lower_32_bits(hiq->fence);
	query[6] = upper_32_bits(hiq->fence);
	hiq_write(hiq, query, ARRAY_SIZE(query));

	/* Packets, and page tables and MQDs through BAR0, before the write pointer. */
	wmb();
	WRITE_ONCE(shared_of(hiq)->wptr, cpu_to_le64(hiq->wptr));
	/* ... which is before the doorbell: writeq() is ordered behind it. */
	writeq(hiq->wptr, dev->doorbell_kernel + AMDGPU_VEGA20_DOORBELL_HIQ * sizeof(u64));
}

/* Until the fence of the last batch is there. */
static int hiq_wait(struct vkfd_device *dev)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), VKFD_HIQ_TIMEOUT_MS);
	struct vkfd_hiq *hiq = &dev->hiq;
	bool done, late = false;
	int idx;

	lockdep_assert_held(&hiq->lock);
	might_sleep();
	for (;;) {
		/* The memory, too, is there only as long as the part. */
		if (!vkfd_hw_enter(dev, &idx))
			return -ENODEV;
		done = le64_to_cpu(READ_ONCE(shared_of(hiq)->fence)) == hiq->fence;
		vkfd_hw_exit(idx);
		if (done) {
			/* What the firmware saved is read after the fence that says so. */
			rmb();
			return 0;
		}
		/* the last look comes after the deadline, however long the sleep was */
		if (late)
			return -ETIME;
		late = ktime_after(ktime_get(), deadline);
		if (!late)
			usleep_range(20, 100);
	}
}

static void give_up(struct vkfd_device *dev)
{
	lockdep_assert_held(&dev->hiq.lock);

	dev->hiq.running = false;
	vkfd_hw_stop_engines(dev);
	vkfd_reset_request(dev, "the scheduler firmware is stuck");
}

int vkfd_hiq_run(struct vkfd_device *dev, const u32 *packets, unsigned int dw)
{
	struct vkfd_hiq *hiq = &dev->hiq;
	int idx, err;

	mutex_lock(&hiq->lock);
	if (!vkfd_hw_enter(dev, &idx)) {
		err = -ENODEV;
		goto unlock;
	}
	if (!hiq->running) {
		vkfd_hw_exit(idx);
		err = -EIO;
		goto unlock;
	}
	hiq_write(hiq, packets, dw);
	hiq->packets++;
	hiq_ring(dev);
	vkfd_hw_exit(idx);

	err = hiq_wait(dev);
	if (err == -ETIME) {
		drm_err(&dev->drm, "the scheduler firmware does not answer (opcode 0x%x)\n",
			(packets[0] & PM4_HEADER__OPCODE_MASK) >> PM4_HEADER__OPCODE__SHIFT);
		give_up(dev);
	}
unlock:
	mutex_unlock(&hiq->lock);
	return err;
}

bool vkfd_hiq_preemption_failed(struct vkfd_device *dev)
{
	struct vkfd_hiq *hiq = &dev->hiq;
	unsigned int i;
	bool failed = false;
	int idx;

	mutex_lock(&hiq->lock);
	if (hiq->running && vkfd_hw_enter(dev, &idx)) {
		__le32 *id = shared_of(hiq)->mqd + V9_MQD_QUEUE_DOORBELL_ID0_DW;

		/* hiq_wait() has read the fence, before which the firmware wrote these. */
		for (i = 0; i < V9_MQD_QUEUE_DOORBELL_IDS; i++) {
			if (!id[i])
				continue;
			drm_err_ratelimited(&dev->drm,
					    "the queue of doorbell 0x%x does not let itself be preempted\n",
					    le32_to_cpu(id[i]));
			id[i] = 0;
			failed = true;
		}
		vkfd_hw_exit(idx);
	}
	mutex_unlock(&hiq->lock);
	return failed;
}

void vkfd_hiq_give_up(struct vkfd_device *dev)
{
	mutex_lock(&dev->hiq.lock);
	if (dev->hiq.running)
		give_up(dev);
	mutex_unlock(&dev->hiq.lock);
}

void vkfd_hiq_flush_tlb(struct vkfd_device *dev, u32 pasid)
{
	const u32 packet[1 + INVALIDATE_TLBS_DW] = {
		PACKET3(IT_INVALIDATE_TLBS, INVALIDATE_TLBS_DW),
		INVALIDATE_TLBS__ALL_HUB | pasid << INVALIDATE_TLBS__PASID__SHIFT,
	};

	/* On failure nothing runs any more, and what runs next starts with empty TLBs. */
	vkfd_hiq_run(dev, packet, ARRAY_SIZE(packet));
}

int vkfd_hiq_start(struct vkfd_device *dev)
{
	const struct vkfd_hqd_slot slot = { HIQ_ME, HIQ_PIPE, HIQ_QUEUE };
	/*
	 * Whoever drove the part before, an earlier binding of the driver say, may have
	 * left a run list; the registers of its queues have been taken away already.
	 */
	u32 packets[1 + UNMAP_QUEUES_DW + 1 + SET_RESOURCES_DW] = {
		PACKET3(IT_UNMAP_QUEUES, UNMAP_QUEUES_DW),
		UNMAP_QUEUES_RESET << UNMAP_QUEUES__ACTION__SHIFT |
		UNMAP_QUEUES_SEL_ALL << UNMAP_QUEUES__QUEUE_SEL__SHIFT,
	};
	u32 *resources = packets + 1 + UNMAP_QUEUES_DW;
	struct vkfd_hiq *hiq = &dev->hiq;
	int idx, err;

	mutex_lock(&hiq->lock);
	err = vkfd_gart_map(dev, &hiq->ring) ?: vkfd_gart_map(dev, &hiq->shared);
	if (err)
		goto unlock;
	if (!vkfd_hw_enter(dev, &idx)) {
		err = -ENODEV;
		goto unlock;
	}
	hiq_mqd(hiq, hiq->mqd);
	memset(shared_of(hiq), 0, sizeof(struct hiq_shared));
	hiq->wptr = 0;
	hiq->fence = 0;
	vkfd_wreg(dev, mmRLC_CP_SCHEDULERS, RLC_SCHEDULER(HIQ_ME, HIQ_PIPE, HIQ_QUEUE));
	vkfd_hw_exit(idx);
	err = vkfd_hw_hqd_load(dev, slot, hiq->mqd);
	hiq->running = !err;
unlock:
	mutex_unlock(&hiq->lock);
	if (err)
		return err;

	resources[0] = PACKET3(IT_SET_RESOURCES, SET_RESOURCES_DW);
	resources[1] = HIQ_VMID_MASK << SET_RESOURCES__VMID_MASK__SHIFT |
		       HIQ_UNMAP_LATENCY << SET_RESOURCES__UNMAP_LATENCY__SHIFT |
		       (u32)SET_RESOURCES_HIQ << SET_RESOURCES__QUEUE_TYPE__SHIFT;
	resources[2] = HIQ_QUEUE_MASK;
	return vkfd_hiq_run(dev, packets, ARRAY_SIZE(packets));
}

void vkfd_hiq_stop(struct vkfd_device *dev)
{
	mutex_lock(&dev->hiq.lock);
	dev->hiq.running = false;
	mutex_unlock(&dev->hiq.lock);
}
