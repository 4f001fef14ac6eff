// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kfd: counters of the interrupt path. ih: what came from the ring,
 * one block for each GPU; events: what the event code made of it, of all GPUs. vram: who
 * has it, and what moved.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <drm/drm_drv.h>

#include "vkfd_debugfs_proc.h"
#include "vkfd_debugfs_queues.h"
#include "vkfd_device.h"
#include "vkfd_drv.h"
#include "vkfd_event.h"
#include "vkfd_interrupt.h"
#include "vkfd_point.h"

static struct dentry *vkfd_debugfs_dir;

static const char * const vkfd_ih_count_names[VKFD_IH_COUNT_MAX] = {
	[VKFD_IH_COUNT_EOP] = "eop",
	[VKFD_IH_COUNT_SQ] = "sq",
	[VKFD_IH_COUNT_SDMA] = "sdma",
	[VKFD_IH_COUNT_VM_FAULT] = "vm_fault",
	[VKFD_IH_COUNT_BAD_PACKET] = "bad_packet",
	[VKFD_IH_COUNT_POISON] = "poison",
	[VKFD_IH_COUNT_CTX] = "ctx",
	[VKFD_IH_COUNT_NO_CONTEXT] = "no_context",
	[VKFD_IH_COUNT_NO_PASID] = "no_pasid",
	[VKFD_IH_COUNT_HARD_FULL] = "hard_full",
	[VKFD_IH_COUNT_SPURIOUS] = "spurious",
	[VKFD_IH_COUNT_WPTR_LATE] = "wptr_late",
	[VKFD_IH_COUNT_RECOVERED] = "recovered_interrupts",
};

static void vkfd_ih_show_one(struct seq_file *m, struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	u64 count[VKFD_IH_COUNT_MAX];
	unsigned int i;
	u32 rptr;

	spin_lock_irq(&ih->lock);
	memcpy(count, ih->count, sizeof(count));
	rptr = ih->rptr;
	spin_unlock_irq(&ih->lock);

	seq_printf(m, "gpu_id %u\n", dev->gpu_id);
	seq_printf(m, "rptr 0x%x\n", rptr);
	seq_printf(m, "entries %lld\n", (long long)atomic64_read(&ih->entries));
	seq_printf(m, "overflows %lld\n", (long long)atomic64_read(&ih->overflows));
	seq_printf(m, "unknown %lld\n", (long long)atomic64_read(&ih->unknown));
	for (i = 0; i < VKFD_IH_COUNT_MAX; i++)
		seq_printf(m, "%s %llu\n", vkfd_ih_count_names[i], count[i]);
}

void vkfd_debugfs_each_gpu(struct seq_file *m,
			   void (*fn)(struct seq_file *m, struct vkfd_device *dev))
{
	struct vkfd_device *dev;
	unsigned int i;

	vkfd_for_each_device(dev, i)
		fn(m, dev);
}

static int ih_show(struct seq_file *m, void *unused)
{
	vkfd_debugfs_each_gpu(m, vkfd_ih_show_one);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ih);

static int vram_show(struct seq_file *m, void *unused)
{
	vkfd_debugfs_each_gpu(m, vkfd_evict_show);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vram);

static int events_show(struct seq_file *m, void *unused)
{
	const struct vkfd_event_counters *c = &vkfd_event_counters;

	seq_printf(m, "interrupts %lld\n", (long long)atomic64_read(&c->interrupts));
	seq_printf(m, "no_process %lld\n", (long long)atomic64_read(&c->no_process));
	seq_printf(m, "direct %lld\n", (long long)atomic64_read(&c->direct));
	seq_printf(m, "scans %lld\n", (long long)atomic64_read(&c->scans));
	seq_printf(m, "scan_hits %lld\n", (long long)atomic64_read(&c->scan_hits));
	seq_printf(m, "wait_hits %lld\n", (long long)atomic64_read(&c->wait_hits));
	seq_printf(m, "recovered_slots %lld\n", (long long)atomic64_read(&c->recovered_slots));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(events);

void vkfd_debugfs_init(void)
{
	vkfd_debugfs_dir = debugfs_create_dir("kfd", NULL);
	vkfd_debugfs_proc_init(vkfd_debugfs_dir);
	vkfd_debugfs_queues_init(vkfd_debugfs_dir);
	vkfd_interrupt_debugfs(vkfd_debugfs_dir);
	vkfd_point_debugfs(vkfd_debugfs_dir);
	debugfs_create_file("ih", 0444, vkfd_debugfs_dir, NULL, &ih_fops);
	debugfs_create_file("vram", 0444, vkfd_debugfs_dir, NULL, &vram_fops);
	debugfs_create_file("events", 0444, vkfd_debugfs_dir, NULL, &events_fops);
}

void vkfd_debugfs_exit(void)
{
	debugfs_remove_recursive(vkfd_debugfs_dir);
}
