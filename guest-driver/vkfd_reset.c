// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset, suspend, resume, and the end of a part that does not answer.
 *
 * A reset loses every queue and VMID. Processes that had a VM on the GPU get their
 * HW_EXCEPTION events, their waits fail from then on unless they can complete, and
 * they get no queues there any more (-EIO): page tables changed while the part was away
 * were not written. Everybody who made a DEVICESTATECHANGE event is told. Processes
 * that come later find a working GPU.
 *
 * Suspend evicts all queues and resume puts them back where they were, if VRAM still
 * has what was in it. If not, resume is a reset.
 *
 * The PCI core calls with the device lock held, so these do not overlap each other,
 * probe or remove.
 */
#include <linux/pci.h>
#include <linux/pm.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <uapi/linux/kfd_ioctl.h>

#include "vkfd_event.h"
#include "vkfd_hw.h"
#include "vkfd_ih.h"
#include "vkfd_process.h"
#include "vkfd_queue.h"
#include "vkfd_queue_event.h"
#include "vkfd_reset.h"
#include "vkfd_sched.h"
#include "vkfd_smi.h"

/* How often, and how far apart, a reset is tried while others hold the device lock. */
#define VKFD_RESET_TRIES	50
#define VKFD_RESET_RETRY_MS	100

/* Calls @fn with process->lock held for every process that has a VM on @dev. */
static void for_each_pdd(struct vkfd_device *dev, void (*fn)(struct vkfd_pdd *pdd))
{
	struct vkfd_process *p;
	unsigned long pasid = 0;

	while ((p = vkfd_process_next(&pasid))) {
		struct vkfd_pdd *pdd;

		mutex_lock(&p->lock);
		pdd = p->pdds[dev->index];
		if (pdd && pdd->dev == dev && pdd->vm)
			fn(pdd);
		mutex_unlock(&p->lock);
		vkfd_process_put(p);
	}
}

static void forget(struct vkfd_pdd *pdd)
{
	vkfd_queues_forget(pdd);
	pdd->suspended = false;
}

/* The part is away, and so is everything that ran on it. */
static void forget_all(struct vkfd_device *dev)
{
	if (dev->sched->stop)
		dev->sched->stop(dev);
	for_each_pdd(dev, forget);
	vkfd_queues_reclaim(dev);
}

/* The part does not come back. Whoever waits for it is told; it stays away. */
static void give_up(struct vkfd_device *dev)
{
	if (dev->dead)
		return;
	dev->dead = true;
	drm_err(&dev->drm, "the part is given up\n");
	vkfd_hw_take_away(dev);
	forget_all(dev);
	vkfd_events_device_gone(dev, true);
	vkfd_events_broadcast(KFD_IOC_EVENT_DEVICESTATECHANGE);
}

static void reset_prepare(struct pci_dev *pdev)
{
	struct vkfd_device *dev = pci_get_drvdata(pdev);

	if (dev->dead)
		return;
	drm_info(&dev->drm, "reset %u begins\n", ++dev->resets);
	vkfd_smi_reset(dev, false, "function reset");
	/* What the part has to say about queues is heard first. */
	vkfd_ih_sync(dev);
	vkfd_hw_take_away(dev);
	vkfd_ih_suspend(dev);
	vkfd_hw_halt(dev);
	vkfd_hw_vram_mark(dev);
	forget_all(dev);
}

/*
 * The part after it was away: up, and to be touched again, or given up. Nobody finds it
 * there and the scheduler not running yet.
 */
static bool bring_up(struct vkfd_device *dev)
{
	int err = -EIO;

	if (!vkfd_hw_answers(dev) || vkfd_hw_reinit(dev)) {
		give_up(dev);
		return false;
	}
	vkfd_ih_resume(dev);
	mutex_lock(&dev->queue_lock);
	vkfd_hw_give_back(dev);
	err = dev->sched->start ? dev->sched->start(dev) : 0;
	mutex_unlock(&dev->queue_lock);
	if (err) {
		drm_err(&dev->drm, "the scheduler firmware does not start: %d\n", err);
		give_up(dev);
		return false;
	}
	vkfd_queue_events_device(dev);
	return true;
}

static void reset_done(struct pci_dev *pdev)
{
	struct vkfd_device *dev = pci_get_drvdata(pdev);
	bool intact;

	if (dev->dead)
		return;
	intact = vkfd_hw_vram_intact(dev);
	if (!bring_up(dev))
		return;
	drm_info(&dev->drm, "reset %u done, VRAM %s\n", dev->resets, intact ? "kept" : "lost");
	vkfd_events_device_gone(dev, !intact);
	vkfd_smi_reset(dev, true, "function reset");
	vkfd_events_broadcast(KFD_IOC_EVENT_DEVICESTATECHANGE);
}

const struct pci_error_handlers vkfd_reset_handlers = {
	.reset_prepare = reset_prepare,
	.reset_done = reset_done,
};

static void reset_work(struct work_struct *work)
{
	struct vkfd_device *dev = container_of(work, struct vkfd_device, reset_work.work);
	int err;

	/* Only try: remove() holds the device lock and waits for this work. */
	err = pci_try_reset_function(dev->pdev);
	if (err == -EAGAIN && ++dev->reset_tries < VKFD_RESET_TRIES) {
		queue_delayed_work(system_unbound_wq, &dev->reset_work,
				   msecs_to_jiffies(VKFD_RESET_RETRY_MS));
		return;
	}
	dev->reset_tries = 0;
	if (err) {
		drm_err(&dev->drm, "the part cannot be reset: %d\n", err);
		give_up(dev);
	}
}

void vkfd_reset_request(struct vkfd_device *dev, const char *why)
{
	if (READ_ONCE(dev->away) || READ_ONCE(dev->dead))
		return;
	if (queue_delayed_work(system_unbound_wq, &dev->reset_work, 0))
		drm_err(&dev->drm, "%s: reset\n", why);
}

void vkfd_reset_init(struct vkfd_device *dev)
{
	INIT_DELAYED_WORK(&dev->reset_work, reset_work);
}

static void suspend_queues(struct vkfd_pdd *pdd)
{
	/* One that does not stop has been stopped for good. */
	vkfd_queues_evict(pdd);
	pdd->suspended = true;
	vkfd_smi_eviction(pdd->dev, pdd->process, KFD_QUEUE_EVICTION_TRIGGER_SUSPEND);
}

static void resume_queues(struct vkfd_pdd *pdd)
{
	struct vkfd_device *dev = pdd->dev;
	int err;

	if (!pdd->suspended)
		return;
	pdd->suspended = false;
	err = vkfd_queues_rebind(pdd);
	err = vkfd_queues_restore(pdd) ?: err;
	if (!err)
		vkfd_smi_restore(dev, pdd->process);
	else
		drm_err(&dev->drm, "process %d: queues not resumed: %d\n", pdd->process->tgid, err);
}

static int vkfd_suspend(struct device *device)
{
	struct vkfd_device *dev = dev_get_drvdata(device);

	if (dev->dead)
		return 0;
	for_each_pdd(dev, suspend_queues);
	vkfd_ih_sync(dev);
	vkfd_hw_take_away(dev);
	if (dev->sched->stop)
		dev->sched->stop(dev);
	vkfd_ih_suspend(dev);
	vkfd_hw_halt(dev);
	vkfd_hw_vram_mark(dev);
	vkfd_events_broadcast(KFD_IOC_EVENT_DEVICESTATECHANGE);
	return 0;
}

static int vkfd_resume(struct device *device)
{
	struct vkfd_device *dev = dev_get_drvdata(device);
	bool intact;

	if (dev->dead)
		return 0;
	intact = vkfd_hw_vram_intact(dev);
	if (!intact)
		forget_all(dev);
	if (!bring_up(dev))
		return 0;
	if (intact)
		for_each_pdd(dev, resume_queues);
	else
		vkfd_events_device_gone(dev, true);
	vkfd_events_broadcast(KFD_IOC_EVENT_DEVICESTATECHANGE);
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(vkfd_pm_ops, vkfd_suspend, vkfd_resume);
