// SPDX-License-Identifier: GPL-2.0-only
/*
 * Points at which a test makes the driver stop or fail. What is asked for is the open file's:
 * a test that dies lets go of whoever it has stopped.
 */
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "vkfd_point.h"

/*
 * The one request there is. @at is also read without @lock; under @lock nothing is taken, and
 * sleepers of @wq look without it.
 */
static struct {
	spinlock_t lock;
	wait_queue_head_t wq;
	struct file *file;	/* who may ask, NULL: nobody */
	enum vkfd_point at;	/* where something is to happen */
	bool fail;		/* it is a failure, each time */
	unsigned int passed;	/* how often it happened since it was asked for */
	unsigned int turn;	/* number of the request; who is stopped goes on when it is over */
} state = {
	.lock = __SPIN_LOCK_UNLOCKED(state.lock),
	.wq = __WAIT_QUEUE_HEAD_INITIALIZER(state.wq),
};

static const char * const names[] = {
	[VKFD_POINT_COPY_OUT] = "copy-out",
	[VKFD_POINT_MOVE_OUT] = "move-out",
	[VKFD_POINT_MOVE_IN] = "move-in",
	[VKFD_POINT_RESTORE] = "restore",
};

int vkfd_point(enum vkfd_point at)
{
	unsigned int turn;
	bool fail;

	if (likely(READ_ONCE(state.at) != at))
		return 0;
	spin_lock(&state.lock);
	/* One is stopped by each request. */
	if (state.at != at || (!state.fail && state.passed)) {
		spin_unlock(&state.lock);
		return 0;
	}
	fail = state.fail;
	turn = state.turn;
	state.passed++;
	spin_unlock(&state.lock);
	wake_up_all(&state.wq);
	if (fail)
		return -EAGAIN;
	/* A worker is no hung task, and has no signals. */
	if (current->flags & PF_KTHREAD)
		wait_event_idle(state.wq, READ_ONCE(state.turn) != turn);
	else
		wait_event_killable(state.wq, READ_ONCE(state.turn) != turn);
	return 0;
}

/* Whoever is stopped goes on; the next is at @at. */
static void ask(enum vkfd_point at, bool fail)
{
	spin_lock(&state.lock);
	WRITE_ONCE(state.turn, state.turn + 1);
	WRITE_ONCE(state.at, at);
	state.fail = fail;
	state.passed = 0;
	spin_unlock(&state.lock);
	wake_up_all(&state.wq);
}

static int point_open(struct inode *inode, struct file *file)
{
	bool mine;

	spin_lock(&state.lock);
	mine = !state.file;
	if (mine)
		state.file = file;
	spin_unlock(&state.lock);
	return mine ? nonseekable_open(inode, file) : -EBUSY;
}

static int point_release(struct inode *inode, struct file *file)
{
	ask(VKFD_POINT_NONE, false);
	spin_lock(&state.lock);
	state.file = NULL;
	spin_unlock(&state.lock);
	return 0;
}

/* "hold NAME", "fail NAME"; "go" ends either. */
static ssize_t point_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	enum vkfd_point at;
	char text[32];
	bool fail;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	text[len] = 0;
	if (!strcmp(text, "go")) {
		ask(VKFD_POINT_NONE, false);
		return len;
	}
	fail = !strncmp(text, "fail ", 5);
	if (!fail && strncmp(text, "hold ", 5))
		return -EINVAL;
	for (at = VKFD_POINT_NONE + 1; at < ARRAY_SIZE(names); at++)
		if (!strcmp(text + 5, names[at]))
			break;
	if (at == ARRAY_SIZE(names))
		return -EINVAL;
	ask(at, fail);
	return len;
}

/* How often it happened; waits for the first time. */
static ssize_t point_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	unsigned int passed;
	char text[16];
	size_t n;

	if (wait_event_interruptible(state.wq, READ_ONCE(state.passed)))
		return -ERESTARTSYS;
	passed = READ_ONCE(state.passed);
	n = min_t(size_t, len, scnprintf(text, sizeof(text), "%u\n", passed));
	return copy_to_user(buf, text, n) ? -EFAULT : n;
}

static const struct file_operations point_fops = {
	.owner = THIS_MODULE,
	.open = point_open,
	.release = point_release,
	.write = point_write,
	.read = point_read,
};

void vkfd_point_debugfs(struct dentry *dir)
{
	debugfs_create_file("point", 0600, dir, NULL, &point_fops);
}
