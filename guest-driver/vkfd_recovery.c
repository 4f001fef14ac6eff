// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of completions nobody told us about: an MSI-X message that was lost or is
 * masked, a write pointer that did not reach memory, a slot written after its
 * interrupt.
 *
 * One delayed work for all GPUs. The first task that goes to sleep in WAIT_EVENTS
 * starts it, and it stops by itself when it finds that nobody sleeps. Each tick
 * compares what the device has written with what was read, every second one by
 * register, and notes the slots that are signalled although somebody sleeps for them.
 * Both are normal for the moment an interrupt is under way, so nothing is done before
 * a second look VKFD_RECOVERY_CONFIRM_MS later finds the same: then it is counted, the
 * ring is drained as an interrupt would have done it, which also gives the device its
 * read pointer and so makes it send messages again, and the slots are taken.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>

#include "vkfd_device.h"
#include "vkfd_event.h"
#include "vkfd_ih.h"
#include "vkfd_recovery.h"

#define VKFD_RECOVERY_MS		50
#define VKFD_RECOVERY_CONFIRM_MS	5

static void recovery_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(vkfd_recovery_dwork, recovery_work);
/* Tasks asleep in WAIT_EVENTS. */
static atomic_t vkfd_sleepers;
/* What the next look is. Only the work uses them, and it never runs twice at a time. */
static bool vkfd_recovery_confirms;
static unsigned int vkfd_recovery_ticks;

static bool look(bool ask_register)
{
	struct vkfd_device *dev;
	bool suspect = false;
	unsigned int i;

	vkfd_for_each_device(dev, i)
		suspect |= vkfd_ih_look(dev, ask_register);
	return vkfd_events_suspect_slots() || suspect;
}

static void confirm(void)
{
	struct vkfd_device *dev;
	unsigned int i;

	vkfd_for_each_device(dev, i)
		vkfd_ih_recover(dev);
	/* After the rings: what they say is the normal way, and counts as such. */
	vkfd_events_recover_slots();
}

static void recovery_work(struct work_struct *work)
{
	unsigned int ms = VKFD_RECOVERY_MS;

	/*
	 * Pairs with the increment before queue_delayed_work() in sleep_begin(): the
	 * work is not pending while it runs, so who sleeps too late for this look
	 * queues the next one.
	 */
	if (!atomic_read(&vkfd_sleepers)) {
		vkfd_recovery_confirms = false;
		return;
	}
	if (vkfd_recovery_confirms) {
		vkfd_recovery_confirms = false;
		confirm();
	} else if (look(vkfd_recovery_ticks++ & 1)) {
		vkfd_recovery_confirms = true;
		ms = VKFD_RECOVERY_CONFIRM_MS;
	}
	queue_delayed_work(system_unbound_wq, &vkfd_recovery_dwork, msecs_to_jiffies(ms));
}

void vkfd_recovery_sleep_begin(void)
{
	/* A full barrier; see recovery_work(). */
	if (atomic_inc_return(&vkfd_sleepers) == 1)
		queue_delayed_work(system_unbound_wq, &vkfd_recovery_dwork,
				   msecs_to_jiffies(VKFD_RECOVERY_MS));
}

void vkfd_recovery_sleep_end(void)
{
	atomic_dec(&vkfd_sleepers);
}

void vkfd_recovery_exit(void)
{
	cancel_delayed_work_sync(&vkfd_recovery_dwork);
}
