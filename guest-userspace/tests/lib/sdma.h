/* SPDX-License-Identifier: MIT */
/*
 * SDMA packets as clients write them. Each function writes one packet at @p and
 * returns where the next one goes; the *_DW constants of <vkfd/sdma.h> are the sizes.
 * Layouts: <vkfd/sdma.h>. Addresses are GPU virtual addresses.
 */
#ifndef VKFD_TEST_SDMA_H
#define VKFD_TEST_SDMA_H

#include <stdint.h>

#include <vkfd/sdma.h>

#include "pm4.h"

/* Dwords of sdma_signal(). */
#define SDMA_SIGNAL_DW		(SDMA_PKT_FENCE_DW + SDMA_PKT_TRAP_DW)

static inline uint32_t *sdma_va(uint32_t *p, uint64_t va)
{
	*p++ = pm4_lo(va);
	*p++ = pm4_hi(va);
	return p;
}

/* Skips the @dw dwords that follow it. */
static inline uint32_t *sdma_nop(uint32_t *p, uint32_t dw)
{
	*p++ = SDMA_OP_NOP | dw << SDMA_PKT_NOP__COUNT__SHIFT;
	return p;
}

/* @bytes: 1 to SDMA_COPY_MAX_BYTES. */
static inline uint32_t *sdma_copy(uint32_t *p, uint64_t dst, uint64_t src, uint32_t bytes)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR);
	*p++ = bytes - 1;
	*p++ = 0;
	p = sdma_va(p, src);
	return sdma_va(p, dst);
}

/* Whole dwords; @bytes as ROCr counts them, a multiple of 4. */
static inline uint32_t *sdma_fill(uint32_t *p, uint64_t dst, uint32_t value, uint32_t bytes)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_CONST_FILL, 0) |
	       (uint32_t)SDMA_FILLSIZE_DW << SDMA_PKT_CONST_FILL__FILLSIZE__SHIFT;
	p = sdma_va(p, dst);
	*p++ = value;
	*p++ = bytes - 4;
	return p;
}

static inline uint32_t *sdma_write32(uint32_t *p, uint64_t dst, uint32_t value)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR);
	p = sdma_va(p, dst);
	*p++ = 0;
	*p++ = value;
	return p;
}

static inline uint32_t *sdma_fence(uint32_t *p, uint64_t va, uint32_t value)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_FENCE, 0);
	p = sdma_va(p, va);
	*p++ = value;
	return p;
}

static inline uint32_t *sdma_trap(uint32_t *p, uint32_t ctx)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_TRAP, 0);
	*p++ = ctx & SDMA_PKT_TRAP__INT_CONTEXT_MASK;
	return p;
}

/*
 * Signals event @id as ROCr does: its id into the low half of @slot, then the interrupt that
 * names it. Only one write: of two, whoever looks between them would take the slot, which
 * the second then writes again.
 */
static inline uint32_t *sdma_signal(uint32_t *p, const volatile uint64_t *slot, uint32_t id)
{
	p = sdma_fence(p, gpu_va(slot), id);
	return sdma_trap(p, id);
}

/* Parks the queue until (*@va & @mask) compares with @ref as @func (of WAIT_REG_MEM) says. */
static inline uint32_t *sdma_poll_mem(uint32_t *p, uint64_t va, unsigned int func, uint32_t ref,
				      uint32_t mask)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_POLL_REGMEM, 0) | SDMA_PKT_POLL_REGMEM__MEM_POLL |
	       func << SDMA_PKT_POLL_REGMEM__FUNC__SHIFT;
	p = sdma_va(p, va);
	*p++ = ref;
	*p++ = mask;
	*p++ = 4 | SDMA_POLL_REGMEM_RETRY_FOREVER << SDMA_PKT_POLL_REGMEM__RETRY__SHIFT;
	return p;
}

/* Adds @value to the 64 bits at @va. */
static inline uint32_t *sdma_add64(uint32_t *p, uint64_t va, uint64_t value)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_ATOMIC, 0) |
	       (uint32_t)SDMA_ATOMIC_ADD64 << SDMA_PKT_ATOMIC__OP__SHIFT;
	p = sdma_va(p, va);
	p = sdma_va(p, value);
	*p++ = 0;
	*p++ = 0;
	*p++ = 0;
	return p;
}

/* The GPU's clock into 64 bits at @va, which is 32-byte aligned, as ROCr does. */
static inline uint32_t *sdma_timestamp(uint32_t *p, uint64_t va)
{
	*p++ = SDMA_PKT_HEADER(SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL);
	return sdma_va(p, va);
}

#endif /* VKFD_TEST_SDMA_H */
