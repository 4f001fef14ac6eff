/* SPDX-License-Identifier: MIT */
/*
 * PM4 packets as the programs here need them. Each function writes one packet
 * at @p and returns where the next one goes; the *_DW constants are the sizes.
 * Layouts: <vkfd/pm4.h>. Addresses are GPU virtual addresses, 4-byte aligned
 * (8-byte for 64-bit data).
 */
#ifndef VKFD_TEST_PM4_H
#define VKFD_TEST_PM4_H

#include <stdint.h>

#include <vkfd/pm4.h>

#define PM4_NOP1_DW		1u
#define PM4_WRITE32_DW		5u
#define PM4_WRITE64_DW		6u
#define PM4_RELEASE_MEM_DW	8u
#define PM4_WAIT_MEM_DW		7u
#define PM4_IB_DW		4u
#define PM4_ACQUIRE_MEM_DW	7u
#define PM4_ADD64_DW		9u

static inline uint32_t pm4_lo(uint64_t v)
{
	return (uint32_t)v;
}

static inline uint32_t pm4_hi(uint64_t v)
{
	return (uint32_t)(v >> 32);
}

static inline uint64_t gpu_va(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* The NOP that is its header alone. */
static inline uint32_t *pm4_nop1(uint32_t *p)
{
	*p++ = PACKET3_COMPUTE(IT_NOP, PM4_NOP_COUNT_ONE_DW + 1u);
	return p;
}

static inline uint32_t *pm4_write_head(uint32_t *p, uint64_t va, unsigned int data_dw)
{
	*p++ = PACKET3_COMPUTE(IT_WRITE_DATA, 3u + data_dw);
	*p++ = (WRITE_DATA_DST_MEM << WRITE_DATA__DST_SEL__SHIFT) | WRITE_DATA__WR_CONFIRM;
	*p++ = pm4_lo(va);
	*p++ = pm4_hi(va);
	return p;
}

static inline uint32_t *pm4_write32(uint32_t *p, uint64_t va, uint32_t data)
{
	p = pm4_write_head(p, va, 1);
	*p++ = data;
	return p;
}

static inline uint32_t *pm4_write64(uint32_t *p, uint64_t va, uint64_t data)
{
	p = pm4_write_head(p, va, 2);
	*p++ = pm4_lo(data);
	*p++ = pm4_hi(data);
	return p;
}

/*
 * End-of-pipe: flush caches, write @data as @data_sel says, then interrupt as
 * @int_sel says (RELEASE_MEM_DATA_*, RELEASE_MEM_INT_*). @ctxid is the event id
 * the interrupt carries.
 */
static inline uint32_t *pm4_release_mem(uint32_t *p, uint64_t va, unsigned int data_sel,
					uint64_t data, unsigned int int_sel, uint32_t ctxid)
{
	*p++ = PACKET3_COMPUTE(IT_RELEASE_MEM, PM4_RELEASE_MEM_DW - 1);
	*p++ = CACHE_FLUSH_AND_INV_TS_EVENT | (EVENT_INDEX_EOP << EVENT__INDEX__SHIFT) |
	       RELEASE_MEM__TC_WB_ACTION | RELEASE_MEM__TC_ACTION;
	*p++ = (data_sel << RELEASE_MEM__DATA_SEL__SHIFT) | (int_sel << RELEASE_MEM__INT_SEL__SHIFT);
	*p++ = pm4_lo(va);
	*p++ = pm4_hi(va);
	*p++ = pm4_lo(data);
	*p++ = pm4_hi(data);
	*p++ = ctxid;
	return p;
}

/* Signals event @id: its id into @slot, then the interrupt that names it. */
static inline uint32_t *pm4_signal(uint32_t *p, const volatile uint64_t *slot, uint32_t id)
{
	return pm4_release_mem(p, gpu_va(slot), RELEASE_MEM_DATA_64, id,
			       RELEASE_MEM_INT_AFTER_WRITE, id);
}

/* Parks the queue until (*@va & @mask) compares with @ref as @func says. */
static inline uint32_t *pm4_wait_mem(uint32_t *p, uint64_t va, unsigned int func, uint32_t ref,
				     uint32_t mask)
{
	*p++ = PACKET3_COMPUTE(IT_WAIT_REG_MEM, PM4_WAIT_MEM_DW - 1);
	*p++ = func | (WAIT_REG_MEM_SPACE_MEM << WAIT_REG_MEM__MEM_SPACE__SHIFT);
	*p++ = pm4_lo(va);
	*p++ = pm4_hi(va);
	*p++ = ref;
	*p++ = mask;
	*p++ = 4;
	return p;
}

static inline uint32_t *pm4_ib(uint32_t *p, uint64_t va, uint32_t dw)
{
	*p++ = PACKET3_COMPUTE(IT_INDIRECT_BUFFER, PM4_IB_DW - 1);
	*p++ = pm4_lo(va);
	*p++ = pm4_hi(va) & INDIRECT_BUFFER__BASE_HI_MASK;
	*p++ = (dw & INDIRECT_BUFFER__SIZE_MASK) | INDIRECT_BUFFER__VALID;
	return p;
}

/* Adds @value to 64 bits at @va, atomically. */
static inline uint32_t *pm4_add64(uint32_t *p, uint64_t va, uint64_t value)
{
	*p++ = PACKET3_COMPUTE(IT_ATOMIC_MEM, PM4_ADD64_DW - 1);
	*p++ = TC_OP_ATOMIC_ADD | TC_OP__64 | TC_OP__NO_RETURN;
	*p++ = pm4_lo(va);
	*p++ = pm4_hi(va);
	*p++ = pm4_lo(value);
	*p++ = pm4_hi(value);
	*p++ = 0;
	*p++ = 0;
	*p++ = 0;
	return p;
}

static inline uint32_t *pm4_acquire_mem(uint32_t *p)
{
	*p++ = PACKET3_COMPUTE(IT_ACQUIRE_MEM, PM4_ACQUIRE_MEM_DW - 1);
	*p++ = 0x28c00000; /* texture caches, instruction and constant cache */
	*p++ = 0xffffffff;
	*p++ = 0xff;
	*p++ = 0;
	*p++ = 0;
	*p++ = 4;
	return p;
}

#endif /* VKFD_TEST_PM4_H */
