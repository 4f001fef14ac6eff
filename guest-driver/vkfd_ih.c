// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt handler ring 0: set-up as upstream's vega20_ih, and draining.
 *
 * The device writes an entry, then the write pointer word, then sends the MSI-X
 * message; with RPTR_REARM the next message comes only after a new read pointer was
 * published, and at once if the ring is not empty then. So the read pointer is
 * published when a pass has emptied the ring, and not between hard handler and
 * thread: the interrupt stays quiet while the thread works.
 *
 * Module parameter ih_hard_entries, changed at any time by root: how many entries one
 * hard interrupt acts on before it leaves the rest to the thread. 0 leaves them all.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <vkfd/doorbell.h>
#include <vkfd/ih.h>
#include <vkfd/regs_ih.h>
#include <vkfd/regs_nbio.h>

#include "vkfd_device.h"
#include "vkfd_event.h"
#include "vkfd_ih.h"
#include "vkfd_reset.h"

/* Pointers name whole entries: other bits, or what a dead part reads as, must not count. */
#define VKFD_IH_PTR_MASK	(VKFD_IH_RING_SIZE - VKFD_IH_ENTRY_SIZE)
/* The write-back word has a cache line of its own behind the ring. */
#define VKFD_IH_ALLOC_SIZE	(VKFD_IH_RING_SIZE + 64)
#define VKFD_IH_MC_SPACE_BUS	1
#define VKFD_IH_DOORBELL	VKFD_DOORBELL_DW(AMDGPU_VEGA20_DOORBELL_IH)
#define VKFD_IH_DOORBELL_SIZE	8	/* dwords routed to IH, as upstream */
/* Room is given back at the latest after this many entries. */
#define VKFD_IH_PUBLISH_MAX	(VKFD_IH_RING_SIZE / VKFD_IH_ENTRY_SIZE / 4)

/*
 * Written under kernel_param_lock(), read by the hard handler without: any value of
 * before or after is as good. At most what may be read before room is given back,
 * which the hard handler only does at its end.
 */
static unsigned int vkfd_ih_hard_entries = VKFD_IH_PASS_BUDGET;

static int vkfd_ih_set_hard_entries(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, VKFD_IH_PUBLISH_MAX);
}

static const struct kernel_param_ops vkfd_ih_hard_entries_ops = {
	.set = vkfd_ih_set_hard_entries,
	.get = param_get_uint,
};
module_param_cb(ih_hard_entries, &vkfd_ih_hard_entries_ops, &vkfd_ih_hard_entries, 0644);
MODULE_PARM_DESC(ih_hard_entries,
		 "Interrupt entries a hard handler acts on before its thread does: 0 (none) to 2048, default 64");

/* 0 -> 1 -> 0: a bit that stayed set would hide every later overflow. */
static void vkfd_ih_clear_overflow(struct vkfd_device *dev)
{
	u32 cntl = vkfd_rreg(dev, mmIH_RB_CNTL) & ~IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK;

	vkfd_wreg(dev, mmIH_RB_CNTL, cntl | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK);
	vkfd_wreg(dev, mmIH_RB_CNTL, cntl);
}

/*
 * Where the device is, overflow dealt with. A word in memory that was found to be
 * behind the register says nothing until the device writes it again.
 */
static u32 vkfd_ih_wptr(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	u32 wptr = le32_to_cpu(READ_ONCE(*ih->wptr));

	lockdep_assert_held(&ih->lock);
	if (unlikely(ih->behind)) {
		if (wptr == ih->behind_word)
			return ih->rptr;
		ih->behind = false;
	}
	if (likely(!(wptr & IH_RB_WPTR__RB_OVERFLOW_MASK)))
		return wptr & VKFD_IH_PTR_MASK;

	/* the word in memory is only as new as the last entry: ask the register */
	wptr = vkfd_rreg(dev, mmIH_RB_WPTR);
	if (unlikely(wptr == VKFD_REG_GONE)) {
		vkfd_reset_request(dev, "the part does not answer");
		return ih->rptr;
	}
	if (!(wptr & IH_RB_WPTR__RB_OVERFLOW_MASK))
		return wptr & VKFD_IH_PTR_MASK;

	/*
	 * The entry at wptr is the oldest that may be half overwritten; the next
	 * one is whole. What was lost may have been any event's, so the thread
	 * looks at the slots of all that are waited for.
	 */
	wptr &= VKFD_IH_PTR_MASK;
	ih->rptr = (wptr + VKFD_IH_ENTRY_SIZE) & VKFD_IH_PTR_MASK;
	ih->rescan = true;
	ih->gap = true;
	atomic64_inc(&ih->overflows);
	vkfd_ih_clear_overflow(dev);
	dev_warn_ratelimited(dev->drm.dev, "interrupt ring overflow, wptr 0x%x\n", wptr);
	return wptr;
}

static void vkfd_ih_publish(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;

	lockdep_assert_held(&ih->lock);
	/*
	 * Full barrier: every entry has been read before the device hears that it
	 * may write there again. No counterpart here; the device orders by doorbell.
	 */
	mb();
	writel(ih->rptr, dev->doorbell_kernel + VKFD_IH_DOORBELL * 4);
	ih->unpublished = 0;
}

static void vkfd_ih_decode(const __le32 *raw, struct vkfd_ih_entry *e)
{
	u32 dw0 = le32_to_cpu(raw[0]);
	u32 dw3 = le32_to_cpu(raw[3]);
	unsigned int i;

	e->client_id = (dw0 & VKFD_IH_DW0__CLIENT_ID_MASK) >> VKFD_IH_DW0__CLIENT_ID__SHIFT;
	e->source_id = (dw0 & VKFD_IH_DW0__SOURCE_ID_MASK) >> VKFD_IH_DW0__SOURCE_ID__SHIFT;
	e->ring_id = (dw0 & VKFD_IH_DW0__RING_ID_MASK) >> VKFD_IH_DW0__RING_ID__SHIFT;
	e->vmid = (dw0 & VKFD_IH_DW0__VMID_MASK) >> VKFD_IH_DW0__VMID__SHIFT;
	e->mmhub = dw0 & VKFD_IH_DW0__VMID_TYPE_MASK;
	e->timestamp = le32_to_cpu(raw[1]) |
		(u64)(le32_to_cpu(raw[2]) & VKFD_IH_DW2__TIMESTAMP_HI_MASK) << 32;
	e->pasid = dw3 & VKFD_IH_DW3__PASID_MASK;
	for (i = 0; i < ARRAY_SIZE(e->ctx); i++)
		e->ctx[i] = le32_to_cpu(raw[4 + i]);
}

/*
 * For when memory says that there is nothing to read and there should be. If the
 * register is ahead, the entries up to it are acted on, all of them: what memory says
 * would not tell of the rest. True if it was.
 */
static bool vkfd_ih_drain_register(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	u32 word = le32_to_cpu(READ_ONCE(*ih->wptr));
	u32 wptr = vkfd_rreg(dev, mmIH_RB_WPTR);
	struct vkfd_ih_entry e;
	unsigned int done = 0;

	lockdep_assert_held(&ih->lock);
	if (wptr == VKFD_REG_GONE)
		vkfd_reset_request(dev, "the part does not answer");
	/* An overflow shows in memory, too. */
	if (wptr & ~(VKFD_IH_PTR_MASK) || wptr == ih->rptr)
		return false;
	/* Written just now: the normal way. */
	if (word != le32_to_cpu(READ_ONCE(*ih->wptr)))
		return false;

	/* The register was read before the entries, which the device wrote before it. */
	dma_rmb();
	while (ih->rptr != wptr) {
		vkfd_ih_decode(ih->ring + ih->rptr / 4, &e);
		ih->rptr = (ih->rptr + VKFD_IH_ENTRY_SIZE) & VKFD_IH_PTR_MASK;
		done++;
		vkfd_ih_route(dev, &e);
	}
	atomic64_add(done, &ih->entries);
	ih->unpublished += done;
	ih->behind = true;
	ih->behind_word = word;
	ih->count[VKFD_IH_COUNT_WPTR_LATE]++;
	return true;
}

/* Routes up to @budget entries. True if the ring is not empty after that. */
static bool vkfd_ih_drain(struct vkfd_device *dev, unsigned int budget)
{
	struct vkfd_ih *ih = &dev->ih;
	struct vkfd_ih_entry e;
	unsigned int done = 0;
	u32 wptr;

	lockdep_assert_held(&ih->lock);
	for (;;) {
		wptr = vkfd_ih_wptr(dev);
		/* pairs with the device's order: entry, then write pointer word */
		dma_rmb();
		while (ih->rptr != wptr && done < budget) {
			vkfd_ih_decode(ih->ring + ih->rptr / 4, &e);
			ih->rptr = (ih->rptr + VKFD_IH_ENTRY_SIZE) & VKFD_IH_PTR_MASK;
			done++;
			vkfd_ih_route(dev, &e);
		}
		if (ih->rptr != wptr)
			break;
		/* an empty pass means that nothing came in since the last look */
		if (vkfd_ih_wptr(dev) == ih->rptr)
			break;
	}
	atomic64_add(done, &ih->entries);
	ih->unpublished += done;
	if (ih->rptr == wptr)
		ih->gap = false;
	return ih->rptr != wptr;
}

static irqreturn_t vkfd_ih_hard(int irq, void *data)
{
	struct vkfd_device *dev = data;
	struct vkfd_ih *ih = &dev->ih;
	s64 before;
	bool more;

	spin_lock(&ih->lock);
	before = atomic64_read(&ih->entries);
	more = vkfd_ih_drain(dev, READ_ONCE(vkfd_ih_hard_entries));
	/*
	 * An empty ring is mostly the doing of a pass that came before the message. But
	 * a write pointer may have been lost, and the device would send again for ever.
	 */
	if (!more && atomic64_read(&ih->entries) == before && !vkfd_ih_drain_register(dev))
		ih->count[VKFD_IH_COUNT_SPURIOUS]++;
	if (more)
		ih->count[VKFD_IH_COUNT_HARD_FULL]++;
	else
		vkfd_ih_publish(dev);
	more |= ih->rescan;
	spin_unlock(&ih->lock);

	return more ? IRQ_WAKE_THREAD : IRQ_HANDLED;
}

/* One pass in process context. True if another one is needed. */
static bool vkfd_ih_pass(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	bool more, rescan;

	spin_lock_irq(&ih->lock);
	more = vkfd_ih_drain(dev, VKFD_IH_PASS_BUDGET);
	if (!more || ih->unpublished >= VKFD_IH_PUBLISH_MAX)
		vkfd_ih_publish(dev);
	rescan = ih->rescan;
	ih->rescan = false;
	spin_unlock_irq(&ih->lock);

	if (rescan)
		vkfd_events_rescan_all();
	cond_resched();
	return more || rescan;
}

static irqreturn_t vkfd_ih_thread(int irq, void *data)
{
	while (vkfd_ih_pass(data))
		;
	return IRQ_HANDLED;
}

void vkfd_ih_sync(struct vkfd_device *dev)
{
	unsigned int left = VKFD_IH_RING_SIZE / VKFD_IH_ENTRY_SIZE / VKFD_IH_PASS_BUDGET;
	int idx;

	/* Not through the interrupt: it may be on its way yet, or have been lost. */
	if (!vkfd_hw_enter(dev, &idx))
		return;
	while (vkfd_ih_pass(dev) && left--)
		;
	vkfd_hw_exit(idx);
}

bool vkfd_ih_look(struct vkfd_device *dev, bool ask_register)
{
	struct vkfd_ih *ih = &dev->ih;
	u32 wptr;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return false;
	spin_lock_irq(&ih->lock);
	if (ask_register)
		wptr = vkfd_rreg(dev, mmIH_RB_WPTR);
	else if (ih->behind && le32_to_cpu(READ_ONCE(*ih->wptr)) == ih->behind_word)
		wptr = ih->rptr;
	else
		wptr = le32_to_cpu(READ_ONCE(*ih->wptr));
	if (wptr == VKFD_REG_GONE) {
		vkfd_reset_request(dev, "the part does not answer");
		wptr = ih->rptr;
	}
	ih->suspect = wptr & IH_RB_WPTR__RB_OVERFLOW_MASK ||
		      (wptr & VKFD_IH_PTR_MASK) != ih->rptr;
	ih->suspect_rptr = ih->rptr;
	ih->suspect_entries = atomic64_read(&ih->entries);
	spin_unlock_irq(&ih->lock);
	vkfd_hw_exit(idx);
	return ih->suspect;
}

void vkfd_ih_recover(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	bool lost;
	int idx;

	if (!vkfd_hw_enter(dev, &idx))
		return;
	spin_lock_irq(&ih->lock);
	lost = ih->suspect && ih->rptr == ih->suspect_rptr &&
	       atomic64_read(&ih->entries) == ih->suspect_entries;
	ih->suspect = false;
	if (lost) {
		vkfd_ih_drain(dev, VKFD_IH_PASS_BUDGET);
		if (atomic64_read(&ih->entries) == ih->suspect_entries)
			lost = vkfd_ih_drain_register(dev);
		if (lost)
			ih->count[VKFD_IH_COUNT_RECOVERED]++;
	}
	spin_unlock_irq(&ih->lock);
	/* The rest, and the read pointer, without which the device sends nothing more. */
	if (lost)
		while (vkfd_ih_pass(dev))
			;
	vkfd_hw_exit(idx);
}

static void vkfd_ih_ring_off(struct vkfd_device *dev)
{
	u32 cntl = vkfd_rreg(dev, mmIH_RB_CNTL);

	vkfd_wreg(dev, mmIH_RB_CNTL, cntl & ~(IH_RB_CNTL__RB_ENABLE_MASK |
					      IH_RB_CNTL__ENABLE_INTR_MASK));
	vkfd_wreg(dev, mmIH_RB_RPTR, 0);
	vkfd_wreg(dev, mmIH_RB_WPTR, 0);
}

static void vkfd_ih_ring_on(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	dma_addr_t wptr_dma = ih->ring_dma + VKFD_IH_RING_SIZE;
	u32 cntl;

	vkfd_wreg(dev, mmIH_RB_BASE, lower_32_bits(ih->ring_dma >> 8));
	vkfd_wreg(dev, mmIH_RB_BASE_HI, (ih->ring_dma >> 40) & 0xff);

	cntl = ilog2(VKFD_IH_RING_SIZE / 4) << IH_RB_CNTL__RB_SIZE__SHIFT |
	       IH_RB_CNTL__RB_GPU_TS_ENABLE_MASK |
	       IH_RB_CNTL__WPTR_WRITEBACK_ENABLE_MASK |
	       IH_RB_CNTL__WPTR_OVERFLOW_ENABLE_MASK |
	       IH_RB_CNTL__MC_SNOOP_MASK |
	       IH_RB_CNTL__RPTR_REARM_MASK |
	       VKFD_IH_MC_SPACE_BUS << IH_RB_CNTL__MC_SPACE__SHIFT;
	vkfd_wreg(dev, mmIH_RB_CNTL, cntl);
	vkfd_wreg(dev, mmIH_RB_WPTR_ADDR_LO, lower_32_bits(wptr_dma));
	vkfd_wreg(dev, mmIH_RB_WPTR_ADDR_HI, upper_32_bits(wptr_dma) & 0xffff);
	vkfd_wreg(dev, mmIH_RB_WPTR, 0);
	vkfd_wreg(dev, mmIH_RB_RPTR, 0);

	vkfd_wreg(dev, mmIH_DOORBELL_RPTR,
		  VKFD_IH_DOORBELL << IH_DOORBELL_RPTR__OFFSET__SHIFT |
		  IH_DOORBELL_RPTR__ENABLE_MASK);
	vkfd_wreg(dev, mmBIF_IH_DOORBELL_RANGE,
		  VKFD_IH_DOORBELL << BIF_IH_DOORBELL_RANGE__OFFSET__SHIFT |
		  VKFD_IH_DOORBELL_SIZE << BIF_IH_DOORBELL_RANGE__SIZE__SHIFT);

	/* an overflow of before is cleared by the pulse, then the ring goes live */
	cntl |= IH_RB_CNTL__RB_ENABLE_MASK;
	vkfd_wreg(dev, mmIH_RB_CNTL, cntl);
	vkfd_wreg(dev, mmIH_RB_CNTL, cntl | IH_RB_CNTL__WPTR_OVERFLOW_CLEAR_MASK);
	vkfd_wreg(dev, mmIH_RB_CNTL, cntl | IH_RB_CNTL__ENABLE_INTR_MASK);
}

void vkfd_ih_suspend(struct vkfd_device *dev)
{
	/* Waits for the handler and its thread. */
	disable_irq(dev->ih.irq);
	vkfd_ih_ring_off(dev);
}

void vkfd_ih_resume(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;

	vkfd_ih_ring_off(dev);
	spin_lock_irq(&ih->lock);
	WRITE_ONCE(*ih->wptr, 0);
	ih->rptr = 0;
	ih->unpublished = 0;
	ih->behind = false;
	ih->suspect = false;
	spin_unlock_irq(&ih->lock);
	vkfd_ih_ring_on(dev);
	enable_irq(ih->irq);
}

int vkfd_ih_init(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	struct pci_dev *pdev = dev->pdev;
	int ret;

	spin_lock_init(&ih->lock);
	ih->ring = dma_alloc_coherent(&pdev->dev, VKFD_IH_ALLOC_SIZE, &ih->ring_dma, GFP_KERNEL);
	if (!ih->ring)
		return -ENOMEM;
	ih->wptr = ih->ring + VKFD_IH_RING_SIZE / 4;
	ih->rptr = 0;
	ih->behind = false;
	ih->suspect = false;

	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (ret < 0) {
		drm_err(&dev->drm, "no MSI-X or MSI vector: %d\n", ret);
		goto err_ring;
	}
	ih->irq = pci_irq_vector(pdev, 0);

	vkfd_ih_ring_off(dev);
	ret = request_threaded_irq(ih->irq, vkfd_ih_hard, vkfd_ih_thread, 0, "vkfd", dev);
	if (ret) {
		drm_err(&dev->drm, "cannot get interrupt %d: %d\n", ih->irq, ret);
		goto err_vectors;
	}
	vkfd_ih_ring_on(dev);
	return 0;

err_vectors:
	pci_free_irq_vectors(pdev);
err_ring:
	dma_free_coherent(&pdev->dev, VKFD_IH_ALLOC_SIZE, ih->ring, ih->ring_dma);
	ih->ring = NULL;
	return ret;
}

void vkfd_ih_fini(struct vkfd_device *dev)
{
	struct vkfd_ih *ih = &dev->ih;
	struct pci_dev *pdev = dev->pdev;

	if (!ih->ring)
		return;
	vkfd_ih_ring_off(dev);
	free_irq(ih->irq, dev);
	pci_free_irq_vectors(pdev);
	/*
	 * A read flushes the write that turned the ring off: the device does not
	 * write to the memory any more when it is freed.
	 */
	vkfd_rreg(dev, mmIH_RB_CNTL);
	dma_free_coherent(&pdev->dev, VKFD_IH_ALLOC_SIZE, ih->ring, ih->ring_dma);
	ih->ring = NULL;
}
