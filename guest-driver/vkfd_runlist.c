// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing the run list, as amdkfd's packet manager for gfx9 does
 * (kfd_packet_manager_v9.c): for each process MAP_PROCESS and a MAP_QUEUES for each of
 * its queues; if not all of them fit on the hardware the list ends with a RUN_LIST back to
 * its beginning.
 */
#include <linux/minmax.h>
#include <linux/seq_file.h>

#include <vkfd/pm4.h>
#include <vkfd/pm4_sched.h>

#include "vkfd_device.h"
#include "vkfd_doorbell.h"
#include "vkfd_hiq.h"
#include "vkfd_hw.h"
#include "vkfd_process.h"
#include "vkfd_queue_int.h"
#include "vkfd_runlist.h"
#include "vkfd_vm.h"

/* Time a process keeps its VMID while others want one, in ms; as upstream. */
#define RUNLIST_QUANTUM_MS	10

#define RUNLIST_MAX_DW		((1 + MAP_PROCESS_DW) * VKFD_RUNLIST_MAX_PROCESSES + \
				 (1 + MAP_QUEUES_DW) * VKFD_RUNLIST_MAX_QUEUES + 1 + RUN_LIST_DW)
#define DW_PER_PAGE		(PAGE_SIZE / sizeof(u32))

int vkfd_runlist_init(struct vkfd_device *dev)
{
	INIT_LIST_HEAD(&dev->runlist.pdds);
	return vkfd_gart_alloc(dev, DIV_ROUND_UP(RUNLIST_MAX_DW, DW_PER_PAGE),
			       &dev->runlist.ib);
}

static __le32 *ib_dw(struct vkfd_runlist *rl, unsigned int i)
{
	return (__le32 *)rl->ib.cpu[i / DW_PER_PAGE] + i % DW_PER_PAGE;
}

static void ib_put(struct vkfd_runlist *rl, const u32 *packet, unsigned int dw)
{
	while (dw--)
		*ib_dw(rl, rl->ib_dw++) = cpu_to_le32(*packet++);
}

static void put_process(struct vkfd_device *dev, struct vkfd_pdd *pdd)
{
	u32 p[1 + MAP_PROCESS_DW] = { PACKET3(IT_MAP_PROCESS, MAP_PROCESS_DW) };
	u64 pd = vkfd_hw_pd_base(dev, pdd->vm->pd_offset);
	u64 tba = READ_ONCE(pdd->tba_addr) >> 8, tma = READ_ONCE(pdd->tma_addr) >> 8;

	p[1] = pdd->process->pasid << MAP_PROCESS__PASID__SHIFT |
	       (u32)RUNLIST_QUANTUM_MS << MAP_PROCESS__QUANTUM__SHIFT;
	p[2] = lower_32_bits(pd);
	p[3] = upper_32_bits(pd);
	p[4] = vkfd_hw_sh_mem_bases();
	p[5] = vkfd_hw_sh_mem_config();
	p[6] = lower_32_bits(tba);
	p[7] = upper_32_bits(tba);
	p[8] = lower_32_bits(tma);
	p[9] = upper_32_bits(tma);
	p[13] = MAP_PROCESS__SDMA_ENABLE |
		pdd->runlist.count << MAP_PROCESS__NUM_QUEUES__SHIFT;
	ib_put(&dev->runlist, p, ARRAY_SIZE(p));
}

static void put_queue(struct vkfd_device *dev, const struct vkfd_queue *q)
{
	u32 p[1 + MAP_QUEUES_DW] = { PACKET3(IT_MAP_QUEUES, MAP_QUEUES_DW) };
	u64 mqd = vkfd_queue_mqd_addr(q);
	u32 engine = ENGINE_SEL_COMPUTE;

	if (vkfd_queue_is_sdma(&q->props))
		engine = ENGINE_SEL_SDMA0 + vkfd_sdma_engine(q->sdma);
	p[1] = EXT_ENGINE_LEGACY << MAP_QUEUES__EXT_ENGINE__SHIFT |
	       MAP_QUEUES_SEL_HWS << MAP_QUEUES__QUEUE_SEL__SHIFT |
	       MAP_QUEUES_TYPE_COMPUTE << MAP_QUEUES__QUEUE_TYPE__SHIFT |
	       engine << MAP_QUEUES__ENGINE_SEL__SHIFT |
	       1u << MAP_QUEUES__NUM_QUEUES__SHIFT;
	p[2] = q->doorbell_dw << MAP_QUEUES__DOORBELL__SHIFT;
	p[3] = lower_32_bits(mqd);
	p[4] = upper_32_bits(mqd);
	p[5] = lower_32_bits(q->props.wptr_va);
	p[6] = upper_32_bits(q->props.wptr_va);
	ib_put(&dev->runlist, p, ARRAY_SIZE(p));
}

static void run_list(struct vkfd_runlist *rl, u32 *p, unsigned int dw, bool chain)
{
	p[0] = PACKET3(IT_RUN_LIST, RUN_LIST_DW);
	p[1] = lower_32_bits(rl->ib.va);
	p[2] = upper_32_bits(rl->ib.va);
	p[3] = dw << RUN_LIST__IB_SIZE__SHIFT | RUN_LIST__VALID | (chain ? RUN_LIST__CHAIN : 0) |
	       min_t(u32, rl->processes, VKFD_KFD_VMIDS) << RUN_LIST__PROCESS_CNT__SHIFT;
}

int vkfd_runlist_map(struct vkfd_device *dev)
{
	struct vkfd_runlist *rl = &dev->runlist;
	struct vkfd_pdd *pdd;
	struct vkfd_queue *q;
	u32 p[1 + RUN_LIST_DW];
	int idx, err;

	lockdep_assert_held(&dev->queue_lock);

	if (list_empty(&rl->pdds) || WARN_ON_ONCE(rl->mapped))
		return 0;
	/* The memory of the list ends with the part. */
	if (!vkfd_hw_enter(dev, &idx))
		return -ENODEV;
	rl->ib_dw = 0;
	list_for_each_entry(pdd, &rl->pdds, runlist.link) {
		put_process(dev, pdd);
		list_for_each_entry(q, &pdd->runlist.queues, runlist)
			put_queue(dev, q);
	}
	if (rl->processes > VKFD_KFD_VMIDS || rl->compute > VKFD_NUM_CP_QUEUES ||
	    rl->sdma > VKFD_NUM_SDMA_QUEUES) {
		run_list(rl, p, rl->ib_dw + ARRAY_SIZE(p), true);
		ib_put(rl, p, ARRAY_SIZE(p));
	}
	vkfd_hw_exit(idx);

	run_list(rl, p, rl->ib_dw, false);
	err = vkfd_hiq_run(dev, p, ARRAY_SIZE(p));
	rl->mapped = !err;
	rl->maps++;
	return err;
}

int vkfd_runlist_unmap(struct vkfd_device *dev)
{
	const u32 p[1 + UNMAP_QUEUES_DW] = {
		PACKET3(IT_UNMAP_QUEUES, UNMAP_QUEUES_DW),
		UNMAP_QUEUES_PREEMPT << UNMAP_QUEUES__ACTION__SHIFT |
		UNMAP_QUEUES_SEL_NON_STATIC << UNMAP_QUEUES__QUEUE_SEL__SHIFT,
	};
	struct vkfd_runlist *rl = &dev->runlist;

	lockdep_assert_held(&dev->queue_lock);

	if (!rl->mapped)
		return 0;
	/* One that fails leaves nothing running: the part is away, or halted for a reset. */
	rl->mapped = false;
	rl->unmaps++;
	return vkfd_hiq_run(dev, p, ARRAY_SIZE(p));
}

void vkfd_runlist_show(struct seq_file *m, struct vkfd_device *dev)
{
	struct vkfd_runlist *rl = &dev->runlist;
	unsigned int i;
	int idx;

	if (!rl->ib.pages) {
		seq_printf(m, "gpu_id %u\nnone\n", dev->gpu_id);
		return;
	}
	mutex_lock(&dev->queue_lock);
	seq_printf(m, "gpu_id %u\nmapped %d\nprocesses %u\ncompute %u\nsdma %u\ncreated %u\n",
		   dev->gpu_id, rl->mapped, rl->processes, rl->compute, rl->sdma, rl->created);
	seq_printf(m, "maps %llu\nunmaps %llu\ndwords %u\n", rl->maps, rl->unmaps, rl->ib_dw);
	if (vkfd_hw_enter(dev, &idx)) {
		for (i = 0; rl->mapped && i < rl->ib_dw && !seq_has_overflowed(m); i++) {
			if (i % 8 == 0)
				seq_printf(m, "%s%04x:", i ? "\n" : "", i);
			seq_printf(m, " %08x", le32_to_cpu(*ib_dw(rl, i)));
		}
		seq_puts(m, "\n");
		vkfd_hw_exit(idx);
	}
	mutex_unlock(&dev->queue_lock);
}
