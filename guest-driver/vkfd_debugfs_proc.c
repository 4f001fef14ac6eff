// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kfd/proc/<pid>: events, the events of a process, one a line; userptr,
 * counters of its registered memory; vram, how often its queues were off as memory moved;
 * svm, counters of memory under the SVM interface; memory, its handles.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "vkfd_debugfs_proc.h"
#include "vkfd_event_int.h"
#include "vkfd_mem.h"
#include "vkfd_process.h"

static struct dentry *vkfd_proc_dir;

static void show_event(struct seq_file *m, struct vkfd_event *ev)
{
	struct vkfd_event_state state;
	unsigned int waiters = 0;
	struct list_head *pos;
	unsigned long flags;

	spin_lock_irqsave(&ev->lock, flags);
	state = ev->state;
	list_for_each(pos, &ev->waiters)
		waiters++;
	spin_unlock_irqrestore(&ev->lock, flags);
	seq_printf(m, "%u %u %s%s %llu %u\n", ev->id, ev->type,
		   state.signaled ? "signaled" : "idle", state.auto_reset ? "" : ",manual",
		   state.age, waiters);
}

static int events_show(struct seq_file *m, void *unused)
{
	struct vkfd_process *p = m->private;
	struct vkfd_events *evs = &p->events;
	struct vkfd_event *ev;
	unsigned long id;

	seq_printf(m, "pasid 0x%x\n", p->pasid);
	mutex_lock(&evs->mutex);
	seq_printf(m, "page %s slots %u used %u\n",
		   !evs->page ? "none" : evs->page_bo ? "user" : "driver", evs->slots,
		   evs->signal_count);
	seq_puts(m, "id type state age waiters\n");
	xa_for_each(&evs->xa, id, ev) {
		/* More is for a larger buffer, with which this is called again. */
		if (seq_has_overflowed(m))
			break;
		show_event(m, ev);
	}
	mutex_unlock(&evs->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(events);

static int userptr_show(struct seq_file *m, void *unused)
{
	vkfd_userptrs_show(m, m->private);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(userptr);

static int vram_show(struct seq_file *m, void *unused)
{
	struct vkfd_process *p = m->private;

	seq_printf(m, "evictions %lld\nrestores %lld\n",
		   (long long)atomic64_read(&p->vram_evictions),
		   (long long)atomic64_read(&p->vram_restores));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vram);

static int memory_show(struct seq_file *m, void *unused)
{
	vkfd_mems_show(m, m->private);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memory);

static int svm_show(struct seq_file *m, void *unused)
{
	vkfd_svm_show(m, m->private);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(svm);

void vkfd_debugfs_proc_add(struct vkfd_process *p)
{
	char name[16];

	/* The old process of an exec may still be there: then this one has no directory. */
	snprintf(name, sizeof(name), "%d", p->tgid);
	p->debugfs = debugfs_create_dir(name, vkfd_proc_dir);
	debugfs_create_file("events", 0400, p->debugfs, p, &events_fops);
	debugfs_create_file("memory", 0400, p->debugfs, p, &memory_fops);
	debugfs_create_file("userptr", 0400, p->debugfs, p, &userptr_fops);
	debugfs_create_file("vram", 0400, p->debugfs, p, &vram_fops);
	if (vkfd_svm_enabled)
		debugfs_create_file("svm", 0400, p->debugfs, p, &svm_fops);
}

void vkfd_debugfs_proc_remove(struct vkfd_process *p)
{
	/* Waits for readers. */
	debugfs_remove_recursive(p->debugfs);
	p->debugfs = NULL;
}

void vkfd_debugfs_proc_init(struct dentry *kfd)
{
	vkfd_proc_dir = debugfs_create_dir("proc", kfd);
}
