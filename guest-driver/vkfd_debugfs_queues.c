// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kfd: what of queues is where. hqds: the hardware's slots; mqds: the
 * queues of all processes; rls: the run lists. amdkfd has files of these names; the
 * format is ours: one slot or queue a line. doorbells: slices, and how often they changed
 * hands.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <drm/drm_drv.h>

#include <vkfd/regs_gc.h>

#include "vkfd_debugfs_queues.h"
#include "vkfd_device.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"

static void show_hqds(struct seq_file *m, struct vkfd_device *dev)
{
	u32 hqd[V9_MQD_HQD_DW];
	unsigned int i;

#define REG(name) hqd[(name) - mmCP_MQD_BASE_ADDR]
	seq_printf(m, "gpu_id %u\nslot vmid ring rptr wptr doorbell\n", dev->gpu_id);
	for (i = 0; i < VKFD_NUM_HQD; i++) {
		const struct vkfd_hqd_slot slot = {
			.me = 1 + i / (VKFD_PIPES_PER_ME * VKFD_QUEUES_PER_PIPE),
			.pipe = i / VKFD_QUEUES_PER_PIPE % VKFD_PIPES_PER_ME,
			.queue = i % VKFD_QUEUES_PER_PIPE,
		};

		if (!vkfd_hw_hqd_read(dev, slot, hqd))
			continue;
		seq_printf(m, "%u.%u.%u %u 0x%llx 0x%x 0x%llx 0x%x\n", slot.me, slot.pipe,
			   slot.queue, (u32)(REG(mmCP_HQD_VMID) & CP_HQD_VMID__VMID_MASK),
			   ((u64)REG(mmCP_HQD_PQ_BASE_HI) << 32 | REG(mmCP_HQD_PQ_BASE)) << 8,
			   REG(mmCP_HQD_PQ_RPTR),
			   (u64)REG(mmCP_HQD_PQ_WPTR_HI) << 32 | REG(mmCP_HQD_PQ_WPTR_LO),
			   (REG(mmCP_HQD_PQ_DOORBELL_CONTROL) &
			    CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK) >>
				CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET__SHIFT);
	}
#undef REG
	for (i = 0; i < VKFD_NUM_SDMA_QUEUES; i++)
		if (vkfd_hw_sdma_is_active(dev, vkfd_sdma_engine(i), vkfd_sdma_rlc(i)))
			seq_printf(m, "sdma%u.%u\n", vkfd_sdma_engine(i), vkfd_sdma_rlc(i));
}

static int hqds_show(struct seq_file *m, void *unused)
{
	vkfd_debugfs_each_gpu(m, show_hqds);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hqds);

static void show_queue(struct seq_file *m, const struct vkfd_queue *q)
{
	static const char * const kinds[] = {
		[VKFD_QUEUE_PM4] = "pm4", [VKFD_QUEUE_AQL] = "aql", [VKFD_QUEUE_SDMA] = "sdma",
	};

	seq_printf(m, "  %u %s gpu %u doorbell 0x%x mqd 0x%llx ring 0x%llx %u%s%s%s", q->id,
		   kinds[q->props.kind], q->dev->gpu_id, q->doorbell_dw, vkfd_queue_mqd_addr(q),
		   q->props.ring_va, q->props.ring_size, q->active ? " active" : "",
		   q->loaded ? " loaded" : "", q->stopped ? " stopped" : "");
	if (vkfd_queue_is_sdma(&q->props))
		seq_printf(m, " engine %u.%u\n", vkfd_sdma_engine(q->sdma), vkfd_sdma_rlc(q->sdma));
	else if (q->hqd == VKFD_HQD_NONE)
		seq_puts(m, "\n");
	else
		seq_printf(m, " slot %u\n", q->hqd);
}

static int mqds_show(struct seq_file *m, void *unused)
{
	struct vkfd_process *p;
	unsigned long pasid = 0, id;
	struct vkfd_queue *q;

	while ((p = vkfd_process_next(&pasid))) {
		mutex_lock(&p->lock);
		seq_printf(m, "process %d pasid 0x%x\n", p->tgid, p->pasid);
		xa_for_each(&p->queues.xa, id, q) {
			/* More is for a larger buffer, with which this is called again. */
			if (seq_has_overflowed(m))
				break;
			show_queue(m, q);
		}
		mutex_unlock(&p->lock);
		vkfd_process_put(p);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mqds);

static int rls_show(struct seq_file *m, void *unused)
{
	vkfd_debugfs_each_gpu(m, vkfd_runlist_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rls);

static int doorbells_show(struct seq_file *m, void *unused)
{
	vkfd_debugfs_each_gpu(m, vkfd_doorbells_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(doorbells);

void vkfd_debugfs_queues_init(struct dentry *kfd)
{
	debugfs_create_file("hqds", 0400, kfd, NULL, &hqds_fops);
	debugfs_create_file("mqds", 0400, kfd, NULL, &mqds_fops);
	debugfs_create_file("rls", 0400, kfd, NULL, &rls_fops);
	debugfs_create_file("doorbells", 0400, kfd, NULL, &doorbells_fops);
}
