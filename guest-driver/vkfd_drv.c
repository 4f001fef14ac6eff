// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI driver, DRM device and module.
 *
 * Life of a GPU: probe takes what the hardware needs (devm, ends with the driver's
 * binding), makes the DRM device (ends with the last open file or process that uses
 * it) and shows it to user space last. remove does the reverse while files may be
 * open: user space loses sight of it, running accesses end (drm_dev_unplug()), the
 * hardware is stopped, then mappings go.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/doorbell.h>
#include <vkfd/pci.h>

#include "vkfd_bo.h"
#include "vkfd_chardev.h"
#include "vkfd_device.h"
#include "vkfd_dmabuf.h"
#include "vkfd_drv.h"
#include "vkfd_event.h"
#include "vkfd_foreign.h"
#include "vkfd_gem.h"
#include "vkfd_hw.h"
#include "vkfd_ih.h"
#include "vkfd_peer.h"
#include "vkfd_queue.h"
#include "vkfd_queue_event.h"
#include "vkfd_recovery.h"
#include "vkfd_reset.h"
#include "vkfd_sched.h"
#include "vkfd_svm.h"
#include "vkfd_topology.h"
#include "vkfd_userptr.h"
#include "vkfd_vram.h"

int vkfd_sched_policy = VKFD_SCHED_HWS;
module_param_named(sched_policy, vkfd_sched_policy, int, 0444);
MODULE_PARM_DESC(sched_policy,
		 "who schedules queues: 0 firmware (default), 1 firmware without oversubscription, 2 nobody");

/* Bus addresses of a Vega20 have 44 bits. */
#define VKFD_DMA_BITS	44

/*
 * libdrm wants major 3. Minor 54 is the first with all of the answers of
 * AMDGPU_INFO that ROCm reads; higher ones promise more.
 */
#define VKFD_DRM_MAJOR	3
#define VKFD_DRM_MINOR	54

static const struct drm_ioctl_desc vkfd_drm_ioctls[] = {
	DRM_IOCTL_DEF_DRV(AMDGPU_GEM_CREATE, vkfd_gem_create_ioctl, DRM_AUTH | DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(AMDGPU_GEM_MMAP, vkfd_gem_mmap_ioctl, DRM_AUTH | DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(AMDGPU_GEM_VA, vkfd_gem_va_ioctl, DRM_AUTH | DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(AMDGPU_GEM_METADATA, vkfd_gem_metadata_ioctl, DRM_AUTH | DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(AMDGPU_INFO, vkfd_info_ioctl, DRM_AUTH | DRM_RENDER_ALLOW),
};

static void vkfd_drm_release(struct drm_device *drm)
{
	vkfd_device_release_slot(to_vkfd_device(drm));
}

static const struct drm_driver vkfd_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.open = vkfd_drm_open,
	.postclose = vkfd_drm_postclose,
	.gem_prime_import = vkfd_gem_prime_import,
	.release = vkfd_drm_release,
	.ioctls = vkfd_drm_ioctls,
	.num_ioctls = ARRAY_SIZE(vkfd_drm_ioctls),
	.fops = &vkfd_gem_fops,
	/* what ROCm's tools expect of a node that KFD belongs to */
	.name = "amdgpu",
	.desc = "virtual AMD compute GPU",
	.date = "20250101",
	.major = VKFD_DRM_MAJOR,
	.minor = VKFD_DRM_MINOR,
};

/* A memory BAR of at least @size bytes, requested. */
static int vkfd_claim_bar(struct pci_dev *pdev, int bar, resource_size_t size)
{
	int ret;

	if (!(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, bar) < size) {
		dev_err(&pdev->dev, "BAR%d: %pR, need %llu bytes of memory\n", bar,
			&pdev->resource[bar], (unsigned long long)size);
		return -ENODEV;
	}
	ret = pcim_request_region(pdev, bar, "vkfd");
	if (ret)
		dev_err(&pdev->dev, "BAR%d is in use: %d\n", bar, ret);
	return ret;
}

/* BAR4 (MSI-X table, control page) is left alone: the PCI core maps the table. */
static int vkfd_map_bars(struct vkfd_device *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int ret;

	ret = vkfd_claim_bar(pdev, VKFD_BAR_MMIO, VKFD_MMIO_SIZE);
	if (ret)
		return ret;
	dev->mmio = devm_ioremap(&pdev->dev, pci_resource_start(pdev, VKFD_BAR_MMIO),
				 VKFD_MMIO_SIZE);
	if (!dev->mmio)
		return -ENOMEM;

	ret = vkfd_hw_identify(dev);
	if (ret)
		return ret;

	ret = vkfd_claim_bar(pdev, VKFD_BAR_DOORBELL, VKFD_DOORBELL_BAR_SIZE);
	if (ret)
		return ret;
	dev->doorbell_base = pci_resource_start(pdev, VKFD_BAR_DOORBELL);
	dev->doorbell_kernel = devm_ioremap(&pdev->dev, dev->doorbell_base,
					    VKFD_DOORBELL_KERNEL_SIZE);
	if (!dev->doorbell_kernel)
		return -ENOMEM;

	/* page tables are written by CPU, so BAR0 has to reach all of VRAM */
	ret = vkfd_claim_bar(pdev, VKFD_BAR_VRAM, dev->vram.size);
	if (ret)
		return ret;
	dev->vram.base = pci_resource_start(pdev, VKFD_BAR_VRAM);
	dev->vram.map = devm_ioremap_wc(&pdev->dev, dev->vram.base, dev->vram.size);
	return dev->vram.map ? 0 : -ENOMEM;
}

/* Stops the part for good. Nobody but this touches it after vkfd_hw_take_away(). */
static void vkfd_stop(struct vkfd_device *dev)
{
	disable_delayed_work_sync(&dev->reset_work);
	disable_delayed_work_sync(&dev->doorbells.work);
	vkfd_evict_stop(dev);
	vkfd_hw_take_away(dev);
	drm_dev_unplug(&dev->drm);
	vkfd_doorbells_fini(dev);
	vkfd_ih_fini(dev);
	vkfd_hw_fini(dev);
	pci_clear_master(dev->pdev);
}

/*
 * Takes a published GPU away from whoever uses it: no new users, and those who wait for
 * something of it are told.
 */
static void vkfd_gone(struct vkfd_device *dev)
{
	vkfd_device_hide(dev);
	vkfd_svm_vram_fini(dev);
	vkfd_stop(dev);
	/* drm_dev_unplug() zapped what is mapped through the render node; this is the rest */
	vkfd_chardev_revoke(dev->gpu_id);
	vkfd_peer_revoke(dev);
	vkfd_events_device_gone(dev, true);
	vkfd_svm_dma_revoke(dev);
	vkfd_bo_dma_revoke(dev);
	vkfd_foreign_revoke(dev);
	vkfd_vram_fini(dev);
}

static int vkfd_start_sched(struct vkfd_device *dev)
{
	int ret;

	ret = dev->sched->init ? dev->sched->init(dev) : 0;
	if (ret || !dev->sched->start)
		return ret;
	mutex_lock(&dev->queue_lock);
	ret = dev->sched->start(dev);
	mutex_unlock(&dev->queue_lock);
	return ret;
}

static int vkfd_pci_probe(struct pci_dev *pdev, const struct pci_device_id *ent)
{
	struct vkfd_device *dev;
	int ret;

	dev = devm_drm_dev_alloc(&pdev->dev, &vkfd_drm_driver, struct vkfd_device, drm);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	dev->pdev = pdev;
	spin_lock_init(&dev->srbm_lock);
	spin_lock_init(&dev->tlb_lock);
	spin_lock_init(&dev->clock_lock);
	mutex_init(&dev->dma_lock);
	INIT_LIST_HEAD(&dev->peer_bos);
	INIT_LIST_HEAD(&dev->dma_bos);
	mutex_init(&dev->foreign_lock);
	INIT_LIST_HEAD(&dev->foreign_bos);
	dev->dma_pages = RB_ROOT;
	mutex_init(&dev->queue_lock);
	mutex_init(&dev->hiq.lock);
	dev->sched = vkfd_sched_policy == VKFD_SCHED_NO_HWS ? &vkfd_sched_direct :
							      &vkfd_sched_runlist;
	vkfd_doorbells_init(dev);
	vkfd_evict_init(dev);
	vkfd_reset_init(dev);
	pci_set_drvdata(pdev, dev);

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "cannot enable the device\n");
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(VKFD_DMA_BITS));
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "no %u-bit DMA\n", VKFD_DMA_BITS);
	ret = vkfd_map_bars(dev);
	if (ret)
		return ret;
	ret = vkfd_device_take_slot(dev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "more than %u GPUs\n", VKFD_MAX_GPUS);

	ret = vkfd_vram_init(dev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "VRAM allocator\n");
	ret = vkfd_svm_vram_init(dev);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "no struct pages for VRAM\n");

	pci_set_master(pdev);
	ret = vkfd_hw_init(dev);
	if (ret) {
		dev_err(&pdev->dev, "cannot bring up the hardware: %d\n", ret);
		goto err_master;
	}
	ret = vkfd_ih_init(dev);
	if (ret)
		goto err_hw;
	ret = vkfd_start_sched(dev);
	if (ret) {
		dev_err(&pdev->dev, "cannot start the scheduler firmware: %d\n", ret);
		goto err_ih;
	}

	/*
	 * User space can open the nodes, then look-ups by gpu_id find the GPU, then
	 * the topology tells of it. What a look-up may find ends by drm_dev_unplug().
	 */
	ret = drm_dev_register(&dev->drm, 0);
	if (ret)
		goto err_ih;
	vkfd_device_publish(dev);
	vkfd_queue_events_device(dev);
	ret = vkfd_topology_add_device(dev);
	if (ret)
		goto err_unplug;
	vkfd_events_broadcast(KFD_IOC_EVENT_NODECHANGE);

	drm_info(&dev->drm, "gpu_id %u: %llu MiB VRAM (%llu MiB visible), %u compute units\n",
		 dev->gpu_id, dev->vram.size >> 20, dev->vram.visible >> 20, dev->num_cu);
	return 0;

err_unplug:
	vkfd_gone(dev);
	return ret;
err_ih:
	vkfd_ih_fini(dev);
err_hw:
	vkfd_hw_fini(dev);
err_master:
	pci_clear_master(pdev);
	vkfd_svm_vram_fini(dev);
	vkfd_vram_fini(dev);
	return ret;
}

static void vkfd_pci_remove(struct pci_dev *pdev)
{
	struct vkfd_device *dev = pci_get_drvdata(pdev);

	vkfd_evict_leave(dev);
	vkfd_topology_remove_device(dev);
	vkfd_gone(dev);
	vkfd_events_broadcast(KFD_IOC_EVENT_NODECHANGE);
}

static void vkfd_pci_shutdown(struct pci_dev *pdev)
{
	/* the next kernel must not find the part writing to memory */
	vkfd_stop(pci_get_drvdata(pdev));
}

static const struct pci_device_id vkfd_pci_ids[] = {
	{ PCI_DEVICE(VKFD_PCI_VENDOR_ID, VKFD_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vkfd_pci_ids);

static struct pci_driver vkfd_pci_driver = {
	.name = "vkfd",
	.id_table = vkfd_pci_ids,
	.probe = vkfd_pci_probe,
	.remove = vkfd_pci_remove,
	.shutdown = vkfd_pci_shutdown,
	.err_handler = &vkfd_reset_handlers,
	.driver.pm = pm_sleep_ptr(&vkfd_pm_ops),
};

static int __init vkfd_module_init(void)
{
	int ret;

	if (vkfd_sched_policy < VKFD_SCHED_HWS || vkfd_sched_policy > VKFD_SCHED_NO_HWS) {
		pr_err("vkfd: sched_policy %d: not 0, 1 or 2\n", vkfd_sched_policy);
		return -EINVAL;
	}
	ret = vkfd_queue_module_init();
	if (ret)
		return ret;
	ret = vkfd_userptr_module_init();
	if (ret)
		goto err_queue;
	ret = vkfd_evict_module_init();
	if (ret)
		goto err_userptr;
	vkfd_debugfs_init();
	ret = vkfd_chardev_init();
	if (ret)
		goto err_debugfs;
	ret = vkfd_topology_init(vkfd_chardev_devt());
	if (ret)
		goto err_chardev;
	ret = pci_register_driver(&vkfd_pci_driver);
	if (ret)
		goto err_topology;
	return 0;

err_topology:
	vkfd_topology_exit();
err_chardev:
	vkfd_chardev_exit();
err_debugfs:
	vkfd_debugfs_exit();
	vkfd_evict_module_exit();
err_userptr:
	vkfd_userptr_module_exit();
err_queue:
	vkfd_queue_module_exit();
	return ret;
}
module_init(vkfd_module_init);

static void __exit vkfd_module_exit(void)
{
	pci_unregister_driver(&vkfd_pci_driver);
	vkfd_recovery_exit();
	vkfd_topology_exit();
	vkfd_chardev_exit();
	vkfd_debugfs_exit();
	vkfd_evict_module_exit();
	vkfd_userptr_module_exit();
	vkfd_queue_module_exit();
}
module_exit(vkfd_module_exit);

MODULE_DESCRIPTION("vkfd: compute driver for a virtual AMD GPU");
MODULE_LICENSE("GPL");
