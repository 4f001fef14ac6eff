// SPDX-License-Identifier: MIT
/*
 * Address space. A GPU of this generation translates the whole of a process's
 * 47-bit range, so the kernel's mmap is the allocator and a buffer has one
 * address on both sides. Ranges of the library's own exist for two cases: tokens
 * for memory without an address, and GPUs that reach less than 47 bits.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hsakmt_int.h"

#define VA_47BIT_LIMIT ((1ull << 47) - 1)
#define RESERVE_LIMIT ((1ull << 40) - 1)	/* what older GPUs reach */
#define RESERVE_MIN (4ull << 30)
#define HUGE_PAGE (2ull << 20)

#define RESERVE_FLAGS (MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE)

uint64_t hsakmt_va_mmap(int prot, int flags, uint64_t size, uint64_t align, uint64_t guard)
{
	uint64_t padded, start, at, end;
	void *map;

	if (__builtin_add_overflow(size, 2 * guard + align - hsakmt_ctx.page_size, &padded))
		return 0;
	map = mmap(NULL, padded, PROT_NONE, flags, -1, 0);
	if (map == MAP_FAILED)
		return 0;

	/* Keep the aligned middle; what is cut off on both sides is the guard. */
	start = hsakmt_addr(map);
	at = ALIGN_UP(start + guard, align);
	end = start + padded;
	if (at > start)
		munmap(map, at - start);
	if (end > at + size)
		munmap(hsakmt_ptr(at + size), end - (at + size));
	if (prot != PROT_NONE &&
	    mmap(hsakmt_ptr(at), size, prot, flags | MAP_FIXED, -1, 0) == MAP_FAILED) {
		munmap(hsakmt_ptr(at), size);
		return 0;
	}
	return at;
}

static uint64_t mmap_alloc(const struct hsakmt_aperture *ap, uint64_t addr, uint64_t size,
			   uint64_t align)
{
	uint64_t max = hsakmt_ctx.page_size << hsakmt_ctx.mem.align_order;
	uint64_t at;

	if (addr) {
		void *map = mmap(hsakmt_ptr(addr), size, PROT_NONE,
				 RESERVE_FLAGS | MAP_FIXED_NOREPLACE, -1, 0);

		if (map == MAP_FAILED)
			return 0;
		if (hsakmt_addr(map) != addr) {	/* kernel older than the flag */
			munmap(map, size);
			return 0;
		}
		return addr;
	}
	/* Big buffers start at big pages: fewer translations on the GPU. */
	while (align < max && size >= align << 1)
		align <<= 1;
	at = hsakmt_va_mmap(PROT_NONE, RESERVE_FLAGS, size, align,
			    ap->guard_pages * hsakmt_ctx.page_size);
	if (at && (at < ap->base || at + size - 1 > ap->limit)) {
		munmap(hsakmt_ptr(at), size);
		return 0;
	}
	return at;
}

static uint64_t range_alloc(struct hsakmt_aperture *ap, uint64_t addr, uint64_t size,
			    uint64_t align)
{
	uint64_t guarded = size + ap->guard_pages * hsakmt_ctx.page_size;
	struct hsakmt_va_range **link, *r;
	uint64_t at = addr ? addr : ALIGN_UP(ap->base, align);

	if (guarded < size || at < ap->base)
		return 0;
	for (link = &ap->ranges; (r = *link); link = &r->next) {
		if (r->start >= at && r->start - at >= guarded)
			break;
		if (addr && r->end > at)
			return 0;
		if (!addr)
			at = ALIGN_UP(r->end, align);
	}
	if (at > ap->limit || ap->limit - at < guarded - 1)
		return 0;
	r = malloc(sizeof(*r));
	if (!r)
		return 0;
	r->start = at;
	r->end = at + guarded;
	r->next = *link;
	*link = r;
	return at;
}

uint64_t hsakmt_va_alloc(struct hsakmt_aperture *ap, uint64_t addr, uint64_t size, uint64_t align)
{
	if (!ap->limit || !size)
		return 0;
	if (align < ap->align)
		align = ap->align;
	return ap->mode == HSAKMT_VA_MMAP ? mmap_alloc(ap, addr, size, align) :
					    range_alloc(ap, addr, size, align);
}

void hsakmt_va_free(struct hsakmt_aperture *ap, uint64_t addr, uint64_t size)
{
	struct hsakmt_va_range **link, *r;

	if (ap->mode == HSAKMT_VA_MMAP) {
		munmap(hsakmt_ptr(addr), size);
		return;
	}
	for (link = &ap->ranges; (r = *link); link = &r->next)
		if (r->start == addr) {
			*link = r->next;
			free(r);
			break;
		}
	if (ap->cpu_backed)	/* drop the contents, keep the reservation */
		mmap(hsakmt_ptr(addr), size, PROT_NONE, RESERVE_FLAGS | MAP_FIXED, -1, 0);
}

/* Child after fork: the bookkeeping goes, mappings stay as the kernel copied them. */
void hsakmt_va_forget(struct hsakmt_aperture *ap)
{
	while (ap->ranges) {
		struct hsakmt_va_range *r = ap->ranges;

		ap->ranges = r->next;
		free(r);
	}
}

/* The largest range below @limit that can be had, halving down to 4 GiB. */
static HSAKMT_STATUS reserve_svm(struct hsakmt_aperture *ap, uint64_t base, uint64_t limit)
{
	if (limit > RESERVE_LIMIT)
		limit = RESERVE_LIMIT;
	base = ALIGN_UP(base, HUGE_PAGE);
	for (uint64_t len = limit + 1 - base; base < limit && len >= RESERVE_MIN; len >>= 1)
		for (uint64_t at = base; at + len - 1 <= limit; at += RESERVE_MIN) {
			uint64_t size = len & ~(HUGE_PAGE - 1);
			void *map = mmap(hsakmt_ptr(at), size, PROT_NONE,
					 RESERVE_FLAGS | MAP_FIXED_NOREPLACE, -1, 0);

			if (map == MAP_FAILED)
				continue;
			if (hsakmt_addr(map) != at) {
				munmap(map, size);
				continue;
			}
			ap->mode = HSAKMT_VA_RESERVED;
			ap->cpu_backed = true;
			ap->base = at;
			ap->limit = at + size - 1;
			return HSAKMT_STATUS_SUCCESS;
		}
	hsakmt_log(HSAKMT_ERR, "hsakmt: no address range that all GPUs reach\n");
	return HSAKMT_STATUS_ERROR;
}

/* Sets up mem.svm for GPUs that all reach [@base, @limit]. */
HSAKMT_STATUS hsakmt_va_init_svm(uint64_t base, uint64_t limit, uint32_t guard_pages)
{
	struct hsakmt_aperture *ap = &hsakmt_ctx.mem.svm;
	uint64_t probe;

	/* Buffers outlive a Release, and a reserved range may hold some. */
	if (ap->limit && ap->mode == HSAKMT_VA_RESERVED)
		return HSAKMT_STATUS_SUCCESS;

	base = ALIGN_UP(base, HUGE_PAGE);
	limit = ((limit + 1) & ~(HUGE_PAGE - 1)) - 1;
	ap->align = hsakmt_ctx.page_size;
	ap->guard_pages = guard_pages;
	if (limit >= VA_47BIT_LIMIT && !hsakmt_ctx.mem.reserve_svm) {
		ap->mode = HSAKMT_VA_MMAP;
		ap->base = base;
		ap->limit = limit;
		probe = hsakmt_va_alloc(ap, 0, hsakmt_ctx.page_size, 0);
		if (probe) {
			hsakmt_va_free(ap, probe, hsakmt_ctx.page_size);
			return HSAKMT_STATUS_SUCCESS;
		}
		ap->base = ap->limit = 0;
	}
	return reserve_svm(ap, base, limit);
}
