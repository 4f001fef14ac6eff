/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part goes away and comes back: reset, suspend, resume; or does not.
 */
#ifndef VKFD_RESET_H
#define VKFD_RESET_H

struct dev_pm_ops;
struct pci_error_handlers;
struct vkfd_device;

/* First thing in probe. vkfd_drv.c turns the work off with the hardware. */
void vkfd_reset_init(struct vkfd_device *dev);

/*
 * @dev needs a reset, because of @why (for the log). The reset follows, or @dev is
 * given up: either way all who wait for its queues are told within a few seconds. Any
 * context.
 */
void vkfd_reset_request(struct vkfd_device *dev, const char *why);

/* Resets by others: sysfs, VFIO, AER. */
extern const struct pci_error_handlers vkfd_reset_handlers;
extern const struct dev_pm_ops vkfd_pm_ops;

#endif /* VKFD_RESET_H */
