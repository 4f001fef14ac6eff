// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interruptible points of ioctls, and signals at them on a counted schedule.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "vkfd_interrupt.h"
#include "vkfd_process.h"

/* Whose points are counted, and how many are left; set in this order, so left is right first. */
static atomic_t vkfd_interrupt_left;
static pid_t vkfd_interrupt_tgid;

int vkfd_interrupt_point(void)
{
	/* Pairs with the release in interrupt_at_set(). */
	if (smp_load_acquire(&vkfd_interrupt_tgid) == task_tgid_nr(current) &&
	    !atomic_dec_return(&vkfd_interrupt_left))
		send_sig(SIGUSR1, current, 1);
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

int vkfd_process_lock(struct vkfd_process *p)
{
	int err = vkfd_interrupt_point();

	if (err)
		return err;
	return mutex_lock_interruptible(&p->lock) ? -ERESTARTSYS : 0;
}

static int interrupt_at_get(void *data, u64 *val)
{
	*val = atomic_read(&vkfd_interrupt_left);
	return 0;
}

static int interrupt_at_set(void *data, u64 val)
{
	if (val > INT_MAX)
		return -EINVAL;
	WRITE_ONCE(vkfd_interrupt_tgid, 0);
	atomic_set(&vkfd_interrupt_left, val);
	/* Pairs with the acquire in vkfd_interrupt_point(). */
	smp_store_release(&vkfd_interrupt_tgid, val ? task_tgid_nr(current) : 0);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE_SIGNED(interrupt_at_fops, interrupt_at_get, interrupt_at_set, "%lld\n");

void vkfd_interrupt_debugfs(struct dentry *dir)
{
	debugfs_create_file_unsafe("interrupt_at", 0600, dir, NULL, &interrupt_at_fops);
}
