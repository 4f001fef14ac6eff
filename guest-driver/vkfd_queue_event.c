// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt that says that a queue has run empty. Every batch would cause one, so
 * it is enabled only while an event of type QUEUE_EVENT exists anywhere.
 */
#include <linux/mutex.h>
#include <drm/drm_drv.h>

#include <vkfd/regs_gc.h>

#include "vkfd_device.h"
#include "vkfd_hw.h"
#include "vkfd_queue_event.h"

/* Count and register change together. Inside: vkfd_hw_srcu. */
static DEFINE_MUTEX(vkfd_queue_events_lock);
static unsigned int vkfd_queue_events;

static void apply(struct vkfd_device *dev)
{
	int idx;

	lockdep_assert_held(&vkfd_queue_events_lock);

	/* A part that is away is told when it is back. */
	if (!vkfd_hw_enter(dev, &idx))
		return;
	vkfd_wreg(dev, mmCP_INT_CNTL_RING0,
		  vkfd_queue_events ? CP_INT_CNTL_RING0__CNTX_EMPTY_INT_ENABLE_MASK : 0);
	vkfd_hw_exit(idx);
}

static void apply_all(void)
{
	struct vkfd_device *dev;
	unsigned int i;

	vkfd_for_each_device(dev, i)
		apply(dev);
}

void vkfd_queue_events_get(void)
{
	mutex_lock(&vkfd_queue_events_lock);
	if (!vkfd_queue_events++)
		apply_all();
	mutex_unlock(&vkfd_queue_events_lock);
}

void vkfd_queue_events_put(void)
{
	mutex_lock(&vkfd_queue_events_lock);
	if (!--vkfd_queue_events)
		apply_all();
	mutex_unlock(&vkfd_queue_events_lock);
}

void vkfd_queue_events_device(struct vkfd_device *dev)
{
	mutex_lock(&vkfd_queue_events_lock);
	apply(dev);
	mutex_unlock(&vkfd_queue_events_lock);
}
