// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an interrupt entry means: events, faults, bad packets. Runs in the hard
 * handler and in the IRQ thread, both with ih->lock held and interrupts off.
 *
 * Layouts: amdkfd's kfd_int_process_v9.c (context ids of EOP, SQ and SDMA) and
 * gmc_v9_0 (VM faults).
 */
#include <linux/compiler.h>
#include <uapi/linux/kfd_ioctl.h>

#include <vkfd/ih.h>
#include <vkfd/regs_vm.h>

#include "vkfd_device.h"
#include "vkfd_event.h"
#include "vkfd_hw.h"
#include "vkfd_ih.h"
#include "vkfd_queue.h"
#include "vkfd_trace.h"

/* Low bits of an event id that each kind of interrupt carries. */
#define VKFD_EOP_ID_BITS	32
#define VKFD_SDMA_ID_BITS	28
#define VKFD_SQ_ID_BITS		24

/* ivsrcid_gfx_9_0; what <vkfd/ih.h> does not have because no device sends it yet. */
#define VKFD_SRCID_CP_ECC_ERROR		197
#define VKFD_SRCID_UTCL2_POISON		1
/* The same of SDMA: docs/hw-spec.md says when they are sent, and with what. */
#define VKFD_SRCID_SDMA_ILLEGAL_INST	241
#define VKFD_IH_FAULT_RING__PROT_EXEC	0x40

/* SQ interrupt, context id 0: encoding and privilege of the wave. */
#define VKFD_SQ_CTX0__PRIV_MASK		0x00002000
#define VKFD_SQ_CTX0__ENCODING__SHIFT	26
#define VKFD_SQ_CTX0__ENCODING_MASK	0x0c000000
#define VKFD_SQ_ENCODING_AUTO		0
#define VKFD_SQ_ENCODING_INST		1
#define VKFD_SQ_ENCODING_ERROR		2
/* The 24 bits of data of an error: its type. */
#define VKFD_SQ_ERR_TYPE__SHIFT		20
#define VKFD_SQ_ERR_TYPE_EDC_FUE	0
#define VKFD_SQ_ERR_TYPE_EDC_FED	3
/*
 * s_sendmsg(MSG_INTERRUPT) with these upper bits of M0 signals SYSTEM_EVENT events. No
 * event's id looks like this; the lower 12 bits are the program's.
 */
#define VKFD_SQ_SYSTEM_EVENT		0x5e5000
#define VKFD_SQ_SYSTEM_EVENT_MASK	0xfff000

/* Bad data was consumed: no address is known. */
static void vkfd_route_poison(struct vkfd_device *dev, const struct vkfd_ih_entry *e, u32 pasid,
			      u32 error)
{
	const struct vkfd_vm_fault_info info = {
		.error = error,
		.imprecise = true,
		.vmid = e->vmid,
	};

	dev->ih.count[VKFD_IH_COUNT_POISON]++;
	vkfd_queue_vm_fault(dev, pasid, &info);
}

static void vkfd_route_sq(struct vkfd_device *dev, const struct vkfd_ih_entry *e, u32 pasid)
{
	u32 encoding = (e->ctx[0] & VKFD_SQ_CTX0__ENCODING_MASK) >>
		       VKFD_SQ_CTX0__ENCODING__SHIFT;
	u32 data = (e->ctx[0] & 0xfff) | (e->ctx[0] >> 28) << 12 | (e->ctx[1] & 0xff) << 16;
	u32 type = data >> VKFD_SQ_ERR_TYPE__SHIFT;

	dev->ih.count[VKFD_IH_COUNT_SQ]++;
	if (encoding == VKFD_SQ_ENCODING_ERROR) {
		dev_warn_ratelimited(dev->drm.dev, "wave error of pasid 0x%x: type %u, data 0x%06x%s\n",
				     pasid, type, data,
				     e->ctx[0] & VKFD_SQ_CTX0__PRIV_MASK ? ", in trap handler" : "");
		if (type == VKFD_SQ_ERR_TYPE_EDC_FUE || type == VKFD_SQ_ERR_TYPE_EDC_FED) {
			vkfd_route_poison(dev, e, pasid, KFD_MEM_ERR_POISON_CONSUMED);
			return;
		}
	} else if (encoding == VKFD_SQ_ENCODING_AUTO) {
		/* thread trace and the like: flags, no id */
		vkfd_queue_note(dev, pasid, KFD_IOC_EVENT_PROFILE_EVENT);
		return;
	} else if (encoding == VKFD_SQ_ENCODING_INST &&
		   (data & VKFD_SQ_SYSTEM_EVENT_MASK) == VKFD_SQ_SYSTEM_EVENT) {
		vkfd_queue_note(dev, pasid, KFD_IOC_EVENT_SYSTEM_EVENT);
		return;
	}
	kfd_signal_event_interrupt(pasid, data, VKFD_SQ_ID_BITS);
}

static void vkfd_route_cp(struct vkfd_device *dev, const struct vkfd_ih_entry *e, u32 pasid)
{
	struct vkfd_ih *ih = &dev->ih;

	switch (e->source_id) {
	case GFX_9_0__SRCID__CP_EOP_INTERRUPT:
		/* id 0 is nobody's event; a scan of all slots for it would be wasted */
		if (!e->ctx[0]) {
			ih->count[VKFD_IH_COUNT_NO_CONTEXT]++;
			return;
		}
		ih->count[VKFD_IH_COUNT_EOP]++;
		kfd_signal_event_interrupt(pasid, e->ctx[0], VKFD_EOP_ID_BITS);
		return;
	case GFX_9_0__SRCID__CP_CTX_BUSY_INTERRUPT:
		ih->count[VKFD_IH_COUNT_CTX]++;
		return;
	case GFX_9_0__SRCID__CP_CTX_EMPTY_INTERRUPT:
		ih->count[VKFD_IH_COUNT_CTX]++;
		vkfd_queue_note(dev, pasid, KFD_IOC_EVENT_QUEUE_EVENT);
		return;
	case VKFD_SRCID_CP_ECC_ERROR:
		vkfd_route_poison(dev, e, pasid, KFD_MEM_ERR_SRAM_ECC);
		return;
	case GFX_9_0__SRCID__CP_BAD_OPCODE_ERROR:
	case GFX_9_0__SRCID__CP_PRIV_REG_FAULT:
	case GFX_9_0__SRCID__CP_PRIV_INSTR_FAULT:
		ih->count[VKFD_IH_COUNT_BAD_PACKET]++;
		vkfd_queue_bad_opcode(dev, pasid, e->source_id, e->ring_id, e->ctx[0]);
		return;
	}
	atomic64_inc(&ih->unknown);
}

/* False for a source that nobody here knows. */
static bool vkfd_route_sdma(struct vkfd_device *dev, const struct vkfd_ih_entry *e, u32 pasid)
{
	struct vkfd_ih *ih = &dev->ih;

	switch (e->source_id) {
	case SDMA0_4_0__SRCID__SDMA_TRAP:
		ih->count[VKFD_IH_COUNT_SDMA]++;
		kfd_signal_event_interrupt(pasid, e->ctx[0] & GENMASK(VKFD_SDMA_ID_BITS - 1, 0),
					   VKFD_SDMA_ID_BITS);
		return true;
	case VKFD_SRCID_SDMA_ILLEGAL_INST:
	case VKFD_SRCID_SDMA_SRBM_WRITE:
		ih->count[VKFD_IH_COUNT_BAD_PACKET]++;
		vkfd_queue_bad_opcode(dev, pasid, e->source_id, VKFD_RING_ID_NONE, e->ctx[0]);
		return true;
	}
	return false;
}

static void vkfd_route_fault(struct vkfd_device *dev, const struct vkfd_ih_entry *e, u32 pasid)
{
	const struct vkfd_vm_fault_info info = {
		.va = (u64)(e->ctx[1] & VKFD_IH_FAULT_CTX1__VA_47_44_MASK) << 44 |
		      (u64)e->ctx[0] << 12,
		.write = e->ctx[1] & VKFD_IH_FAULT_CTX1__WRITE_MASK,
		.prot_valid = e->ring_id & VKFD_IH_FAULT_RING__PROT_VALID,
		.prot_read = e->ring_id & VKFD_IH_FAULT_RING__PROT_READ,
		.prot_write = e->ring_id & VKFD_IH_FAULT_RING__PROT_WRITE,
		.prot_exec = e->ring_id & VKFD_IH_FAULT_RING__PROT_EXEC,
		.imprecise = dev->ih.gap,
		.vmid = e->vmid,
	};

	dev->ih.count[VKFD_IH_COUNT_VM_FAULT]++;
	vkfd_queue_vm_fault(dev, pasid, &info);
}

/* True for a VM fault; the hub latches the next one only after this. */
static bool vkfd_ack_fault(struct vkfd_device *dev, const struct vkfd_ih_entry *e)
{
	switch (e->client_id) {
	case SOC15_IH_CLIENTID_UTCL2:
	case SOC15_IH_CLIENTID_VMC:
	case SOC15_IH_CLIENTID_VMC1:
		break;
	default:
		return false;
	}
	if (e->source_id != VMC_1_0__SRCID__VM_FAULT)
		return false;
	vkfd_hw_clear_fault(dev, e->client_id != SOC15_IH_CLIENTID_UTCL2);
	return true;
}

void vkfd_ih_route(struct vkfd_device *dev, const struct vkfd_ih_entry *e)
{
	struct vkfd_ih *ih = &dev->ih;
	bool fault = vkfd_ack_fault(dev, e);
	u32 pasid = e->pasid;

	lockdep_assert_held(&ih->lock);
	trace_ih_entry(dev->gpu_id, e);

	if (e->vmid < VKFD_KFD_VMID_FIRST || e->vmid > VKFD_KFD_VMID_LAST) {
		atomic64_inc(&ih->unknown);
		if (fault)
			dev_err_ratelimited(dev->drm.dev,
					    "VM fault of VMID %u, which is no process's, at page 0x%x%08x\n",
					    e->vmid,
					    e->ctx[1] & VKFD_IH_FAULT_CTX1__VA_47_44_MASK,
					    e->ctx[0]);
		return;
	}

	/*
	 * Without a hardware scheduler gfx9 may leave the PASID out; the VMID tells it.
	 * Written under queue_lock, which interrupts cannot take: a value that is
	 * just changing belongs to a process that has no queue running.
	 */
	if (!pasid)
		pasid = READ_ONCE(dev->vmid_pasid[e->vmid - VKFD_KFD_VMID_FIRST]);
	if (!pasid) {
		ih->count[VKFD_IH_COUNT_NO_PASID]++;
		return;
	}

	if (fault) {
		vkfd_route_fault(dev, e, pasid);
		return;
	}

	switch (e->client_id) {
	case SOC15_IH_CLIENTID_UTCL2:
		if (e->source_id != VKFD_SRCID_UTCL2_POISON)
			break;
		vkfd_route_poison(dev, e, pasid, KFD_MEM_ERR_POISON_CONSUMED);
		return;
	case SOC15_IH_CLIENTID_GRBM_CP:
		vkfd_route_cp(dev, e, pasid);
		return;
	case SOC15_IH_CLIENTID_SE0SH:
	case SOC15_IH_CLIENTID_SE1SH:
	case SOC15_IH_CLIENTID_SE2SH:
	case SOC15_IH_CLIENTID_SE3SH:
		if (e->source_id != GFX_9_0__SRCID__SQ_INTERRUPT_ID)
			break;
		vkfd_route_sq(dev, e, pasid);
		return;
	case SOC15_IH_CLIENTID_SDMA0:
	case SOC15_IH_CLIENTID_SDMA1:
		if (vkfd_route_sdma(dev, e, pasid))
			return;
		break;
	}
	atomic64_inc(&ih->unknown);
}
