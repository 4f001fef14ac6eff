/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt handler ring: the hard handler drains a bounded number of entries (module
 * parameter ih_hard_entries) and signals events itself; an IRQ thread drains what is
 * left. There is no software fifo behind the ring, so nothing can be dropped between
 * the two.
 */
#ifndef VKFD_IH_H_DRIVER
#define VKFD_IH_H_DRIVER

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct vkfd_device;

#define VKFD_IH_RING_SIZE	(256 * 1024)	/* bytes, as upstream's ring 0 */
/* Entries acted on with interrupts off; for the hard handler it is the default. */
#define VKFD_IH_PASS_BUDGET	64

/**
 * struct vkfd_ih_entry - one decoded entry, host byte order
 */
struct vkfd_ih_entry {
	u8 client_id;
	u8 source_id;
	u8 ring_id;
	u8 vmid;
	bool mmhub;
	u64 timestamp;		/* GPU clock ticks, 48 bits */
	u32 pasid;
	u32 ctx[4];
};

enum vkfd_ih_count {
	VKFD_IH_COUNT_EOP,
	VKFD_IH_COUNT_SQ,
	VKFD_IH_COUNT_SDMA,
	VKFD_IH_COUNT_VM_FAULT,
	VKFD_IH_COUNT_BAD_PACKET,
	VKFD_IH_COUNT_POISON,		/* bad data consumed */
	VKFD_IH_COUNT_CTX,		/* CP context busy or empty */
	VKFD_IH_COUNT_NO_CONTEXT,	/* EOP with context id 0: dropped */
	VKFD_IH_COUNT_NO_PASID,		/* KFD VMID that nobody holds: dropped */
	VKFD_IH_COUNT_HARD_FULL,	/* hard interrupts that left work to the thread */
	VKFD_IH_COUNT_SPURIOUS,		/* hard interrupts with nothing to read */
	VKFD_IH_COUNT_WPTR_LATE,	/* write pointers that never reached memory */
	VKFD_IH_COUNT_RECOVERED,	/* times entries waited and no interrupt came */
	VKFD_IH_COUNT_MAX,
};

/**
 * struct vkfd_ih - ring 0
 * @lock: @rptr and draining; taken in hard interrupt context
 * @ring: coherent memory, VKFD_IH_RING_SIZE bytes, the write-back word behind it
 * @ring_dma: its bus address
 * @wptr: the write-back word inside @ring
 * @rptr: byte offset of the next entry to read
 * @unpublished: entries read since @rptr was last given to the device
 * @rescan: entries were lost; the thread has to look at the slots itself
 * @gap: entries were lost before those that are read now; until the ring was empty
 * @behind: a write pointer never reached memory: the word still has @behind_word, which
 *          means nothing until it changes
 * @behind_word: see @behind
 * @suspect: the last look found entries nobody had told of, while @rptr was
 *           @suspect_rptr and @entries @suspect_entries
 * @irq: Linux interrupt number
 * @entries, @overflows, @unknown: counters, for debugfs
 * @count: entries by what became of them; @lock
 *
 * @rptr, @unpublished, @rescan, @gap, @behind and @suspect: @lock.
 */
struct vkfd_ih {
	spinlock_t lock;
	__le32 *ring;
	dma_addr_t ring_dma;
	__le32 *wptr;
	u32 rptr;
	u32 unpublished;
	bool rescan;
	bool gap;
	bool behind;
	u32 behind_word;
	bool suspect;
	u32 suspect_rptr;
	s64 suspect_entries;
	int irq;
	atomic64_t entries;
	atomic64_t overflows;
	atomic64_t unknown;
	u64 count[VKFD_IH_COUNT_MAX];
};

/*
 * Ring, interrupt vector and handlers; interrupts may arrive from then on. -errno.
 * vkfd_ih_fini() turns the ring off and waits for the handlers; it may be called
 * when the hardware is gone already.
 */
int vkfd_ih_init(struct vkfd_device *dev);
void vkfd_ih_fini(struct vkfd_device *dev);

/*
 * Acts on every entry that is in the ring at the time of the call, at most a ring full.
 * Whatever was reported about a queue that has been stopped is noted when this returns.
 * May sleep; takes ih->lock.
 */
void vkfd_ih_sync(struct vkfd_device *dev);

/*
 * For vkfd_recovery.c. A look: whether entries wait to be read, also those whose write
 * pointer is only in the register if @ask_register. Recover: if what the last look
 * found still waits, acts on it as an interrupt would have. May sleep; take ih->lock.
 */
bool vkfd_ih_look(struct vkfd_device *dev, bool ask_register);
void vkfd_ih_recover(struct vkfd_device *dev);

/*
 * Off before the part goes away for a while, on again when it is back; the ring is
 * empty then. May sleep. No entry is read in between.
 */
void vkfd_ih_suspend(struct vkfd_device *dev);
void vkfd_ih_resume(struct vkfd_device *dev);

/* Acts on one entry. ih->lock held, interrupts off. vkfd_ih_route.c */
void vkfd_ih_route(struct vkfd_device *dev, const struct vkfd_ih_entry *e);

#endif /* VKFD_IH_H_DRIVER */
