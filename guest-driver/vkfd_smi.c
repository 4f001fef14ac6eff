// SPDX-License-Identifier: GPL-2.0-only
/*
 * SMI events, in the interface and line formats of amdkfd (uapi/linux/kfd_ioctl.h).
 *
 * Beyond amdkfd: a read returns whole lines, never a piece of one; what did not fit
 * into the fifo is counted and reported by a line of event 0 ("0 lost: N") as soon as
 * there is room. A client hears of its own process and of the GPU as such; of all
 * processes only if it was opened with CAP_SYS_ADMIN and asks for it.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_device.h"
#include "vkfd_process.h"
#include "vkfd_smi.h"

#define VKFD_SMI_LINES		64

/**
 * struct vkfd_smi_client - one descriptor
 * @link: in the list of clients
 * @dev: the GPU, with a reference
 * @tgid: process that opened it
 * @admin: it may hear of others
 * @wait: readers
 * @events: mask of KFD_SMI_EVENT_MASK_FROM_INDEX(); read and written without lock
 * @lock: everything below
 * @first: oldest line in the ring @line
 * @count: lines in it
 * @lost: events that did not fit, not reported yet
 * @line: whole lines with their newline
 */
struct vkfd_smi_client {
	struct list_head link;
	struct vkfd_device *dev;
	pid_t tgid;
	bool admin;
	wait_queue_head_t wait;
	u64 events;
	spinlock_t lock;
	unsigned int first;
	unsigned int count;
	unsigned int lost;
	char line[VKFD_SMI_LINES][KFD_SMI_EVENT_MSG_SIZE];
};

static LIST_HEAD(vkfd_smi_clients);
/* The list; client->lock and client->wait.lock inside it. */
static DEFINE_SPINLOCK(vkfd_smi_lock);

static char *next_line(struct vkfd_smi_client *c)
{
	lockdep_assert_held(&c->lock);
	if (c->count == VKFD_SMI_LINES)
		return NULL;
	return c->line[(c->first + c->count++) % VKFD_SMI_LINES];
}

static void add_line(struct vkfd_smi_client *c, const char *text)
{
	char *line;

	spin_lock(&c->lock);
	/* A loss is told in its place: two lines of room or none. */
	if (c->lost && c->count + 2 <= VKFD_SMI_LINES) {
		scnprintf(next_line(c), KFD_SMI_EVENT_MSG_SIZE, "%x lost: %u\n",
			  KFD_SMI_EVENT_NONE, c->lost);
		c->lost = 0;
	}
	line = c->lost ? NULL : next_line(c);
	if (line)
		strscpy(line, text, KFD_SMI_EVENT_MSG_SIZE);
	else
		c->lost++;
	spin_unlock(&c->lock);
	wake_up(&c->wait);
}

static bool wants(const struct vkfd_smi_client *c, pid_t tgid, unsigned int event)
{
	u64 events = READ_ONCE(c->events);

	if (tgid && c->tgid != tgid &&
	    !(c->admin && events & KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_ALL_PROCESS)))
		return false;
	return events & KFD_SMI_EVENT_MASK_FROM_INDEX(event);
}

/* @tgid: whom it is about; 0: the GPU. */
static __printf(4, 5) void add_event(struct vkfd_device *dev, pid_t tgid, unsigned int event,
				     const char *fmt, ...)
{
	char text[KFD_SMI_EVENT_MSG_SIZE];
	struct vkfd_smi_client *c;
	va_list args;
	int n;

	n = scnprintf(text, sizeof(text), "%x ", event);
	va_start(args, fmt);
	n += vscnprintf(text + n, sizeof(text) - n, fmt, args);
	va_end(args);
	/* However long a name is, a line ends. */
	text[n - 1] = '\n';

	spin_lock(&vkfd_smi_lock);
	list_for_each_entry(c, &vkfd_smi_clients, link)
		if (c->dev == dev && wants(c, tgid, event))
			add_line(c, text);
	spin_unlock(&vkfd_smi_lock);
}

void vkfd_smi_vm_fault(struct vkfd_device *dev, struct vkfd_process *p)
{
	add_event(dev, p->tgid, KFD_SMI_EVENT_VMFAULT,
		  KFD_EVENT_FMT_VMFAULT(p->tgid, p->lead_thread->comm));
}

void vkfd_smi_eviction(struct vkfd_device *dev, struct vkfd_process *p, int trigger)
{
	add_event(dev, p->tgid, KFD_SMI_EVENT_QUEUE_EVICTION,
		  KFD_EVENT_FMT_QUEUE_EVICTION(ktime_get_boottime_ns(), p->tgid, dev->gpu_id,
					       trigger));
}

void vkfd_smi_migrate_start(struct vkfd_device *dev, const struct vkfd_migration *m)
{
	add_event(dev, m->process->tgid, KFD_SMI_EVENT_MIGRATE_START,
		  KFD_EVENT_FMT_MIGRATE_START(ktime_get_boottime_ns(), m->process->tgid, m->start,
					      m->npages, m->in ? 0 : dev->gpu_id,
					      m->in ? dev->gpu_id : 0, m->prefetch, m->preferred,
					      m->trigger));
}

void vkfd_smi_migrate_end(struct vkfd_device *dev, const struct vkfd_migration *m)
{
	add_event(dev, m->process->tgid, KFD_SMI_EVENT_MIGRATE_END,
		  KFD_EVENT_FMT_MIGRATE_END(ktime_get_boottime_ns(), m->process->tgid, m->start,
					    m->npages, m->in ? 0 : dev->gpu_id,
					    m->in ? dev->gpu_id : 0, m->trigger));
}

void vkfd_smi_unmap_from_gpu(struct vkfd_device *dev, struct vkfd_process *p, unsigned long start,
			     unsigned long npages, int trigger)
{
	add_event(dev, p->tgid, KFD_SMI_EVENT_UNMAP_FROM_GPU,
		  KFD_EVENT_FMT_UNMAP_FROM_GPU(ktime_get_boottime_ns(), p->tgid, start, npages,
					       dev->gpu_id, trigger));
}

static void restore(struct vkfd_device *dev, struct vkfd_process *p, char how)
{
	add_event(dev, p->tgid, KFD_SMI_EVENT_QUEUE_RESTORE,
		  KFD_EVENT_FMT_QUEUE_RESTORE(ktime_get_boottime_ns(), p->tgid, dev->gpu_id, how));
}

void vkfd_smi_restore(struct vkfd_device *dev, struct vkfd_process *p)
{
	restore(dev, p, '0');
}

void vkfd_smi_restore_later(struct vkfd_device *dev, struct vkfd_process *p)
{
	restore(dev, p, 'R');
}

void vkfd_smi_reset(struct vkfd_device *dev, bool done, const char *cause)
{
	add_event(dev, 0, done ? KFD_SMI_EVENT_GPU_POST_RESET : KFD_SMI_EVENT_GPU_PRE_RESET,
		  KFD_EVENT_FMT_UPDATE_GPU_RESET(dev->resets, cause));
}

static __poll_t smi_poll(struct file *filep, struct poll_table_struct *table)
{
	struct vkfd_smi_client *c = filep->private_data;

	poll_wait(filep, &c->wait, table);
	/* Pairs with the lock in add_line(): one of both sees the other. */
	smp_mb();
	return READ_ONCE(c->count) || READ_ONCE(c->lost) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* As many whole lines as fit. Never sleeps: -EAGAIN; -EINVAL: not even one fits. */
static ssize_t smi_read(struct file *filep, char __user *user, size_t size, loff_t *offset)
{
	struct vkfd_smi_client *c = filep->private_data;
	size_t done = 0;
	char *buf;

	size = min_t(size_t, size, sizeof(c->line));
	buf = kmalloc(size, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;

	spin_lock(&c->lock);
	if (!c->count && c->lost) {
		scnprintf(next_line(c), KFD_SMI_EVENT_MSG_SIZE, "%x lost: %u\n",
			  KFD_SMI_EVENT_NONE, c->lost);
		c->lost = 0;
	}
	while (c->count) {
		const char *line = c->line[c->first];
		size_t len = strlen(line);

		if (done + len > size)
			break;
		memcpy(buf + done, line, len);
		done += len;
		c->first = (c->first + 1) % VKFD_SMI_LINES;
		c->count--;
	}
	if (!done)
		size = c->count ? -EINVAL : -EAGAIN;
	spin_unlock(&c->lock);

	if (done && copy_to_user(user, buf, done))
		size = -EFAULT;
	else if (done)
		size = done;
	kfree(buf);
	return size;
}

static ssize_t smi_write(struct file *filep, const char __user *user, size_t size,
			 loff_t *offset)
{
	struct vkfd_smi_client *c = filep->private_data;
	u64 events;

	if (size < sizeof(events) || copy_from_user(&events, user, sizeof(events)))
		return -EFAULT;
	WRITE_ONCE(c->events, events);
	return sizeof(events);
}

static void client_free(struct vkfd_smi_client *c)
{
	drm_dev_put(&c->dev->drm);
	kvfree(c);
}

static int smi_release(struct inode *inode, struct file *filep)
{
	struct vkfd_smi_client *c = filep->private_data;

	spin_lock(&vkfd_smi_lock);
	list_del(&c->link);
	spin_unlock(&vkfd_smi_lock);
	client_free(c);
	return 0;
}

static const struct file_operations smi_fops = {
	.owner = THIS_MODULE,
	.poll = smi_poll,
	.read = smi_read,
	.write = smi_write,
	.release = smi_release,
};

/**
 * vkfd_ioctl_smi_events - AMDKFD_IOC_SMI_EVENTS
 * @filep: /dev/kfd
 * @p: calling process
 * @data: struct kfd_ioctl_smi_events_args
 *
 * Return: 0; -EINVAL: not a GPU of the process; -ENOMEM; -EMFILE.
 */
int vkfd_ioctl_smi_events(struct file *filep, struct vkfd_process *p, void *data)
{
	struct kfd_ioctl_smi_events_args *args = data;
	struct vkfd_smi_client *c;
	int fd;

	c = kvzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		return -ENOMEM;
	c->dev = vkfd_device_get_by_gpu_id(args->gpuid);
	if (!c->dev) {
		kvfree(c);
		return -EINVAL;
	}
	c->tgid = p->tgid;
	c->admin = capable(CAP_SYS_ADMIN);
	init_waitqueue_head(&c->wait);
	spin_lock_init(&c->lock);

	/* On the list before anybody can close the descriptor. */
	spin_lock(&vkfd_smi_lock);
	list_add(&c->link, &vkfd_smi_clients);
	spin_unlock(&vkfd_smi_lock);
	fd = anon_inode_getfd("kfd_smi_ev", &smi_fops, c, O_RDWR);
	if (fd < 0) {
		spin_lock(&vkfd_smi_lock);
		list_del(&c->link);
		spin_unlock(&vkfd_smi_lock);
		client_free(c);
		return fd;
	}
	args->anon_fd = fd;
	return 0;
}
