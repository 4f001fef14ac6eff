// SPDX-License-Identifier: MIT
/*
 * Memory faults in words, for HSAKMT_DEBUG_LEVEL 3 and above: which buffer the address is
 * in, or was in, or is near to. So the last buffers that were freed are remembered.
 */
#include <stdarg.h>
#include <string.h>

#include "hsakmt_int.h"

/* Further away than this a buffer has nothing to do with the fault. */
#define NEAR_BYTES (16ull << 20)

struct text {
	char buf[512];
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, sizeof(t->buf) - t->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
	if (t->len >= sizeof(t->buf))
		t->len = sizeof(t->buf) - 1;
}

/* What a buffer is, or was. */
struct range {
	HSA_POINTER_TYPE type;
	uint64_t va, size, userptr;
	uint32_t node_id;
};

static struct range range_of(const struct hsakmt_bo *bo)
{
	return (struct range){ hsakmt_bo_type(bo), bo->va, bo->size, bo->userptr, bo->node_id };
}

static struct range range_of_freed(const struct hsakmt_freed *f)
{
	return (struct range){ f->type, f->va, f->size, f->userptr, f->node_id };
}

static void add_range(struct text *t, const struct range *r)
{
	static const char *const kind[] = {
		[HSA_POINTER_UNKNOWN] = "memory",
		[HSA_POINTER_ALLOCATED] = "allocated memory",
		[HSA_POINTER_REGISTERED_USER] = "a registered user pointer",
		[HSA_POINTER_REGISTERED_GRAPHICS] = "an imported graphics buffer",
		[HSA_POINTER_REGISTERED_SHARED] = "an imported shared buffer",
		[HSA_POINTER_RESERVED_ADDR] = "an address range without memory",
	};

	add(t, "%s at 0x%llx, %llu bytes, of node %u", kind[r->type], (unsigned long long)r->va,
	    (unsigned long long)r->size, r->node_id);
	if (r->userptr)
		add(t, ", CPU address 0x%llx", (unsigned long long)r->userptr);
}

/* Under mem.lock. */
static void add_live(struct text *t, const struct hsakmt_bo *bo, uint32_t gpu_id)
{
	struct range r = range_of(bo);
	uint32_t node_id = 0;

	add_range(t, &r);
	for (uint32_t i = 0; i < bo->mapped.count; i++) {
		hsakmt_gpu_node_id(bo->mapped.id[i], &node_id);
		add(t, i ? " %u" : ", mapped to node %u", node_id);
	}
	if (!hsakmt_ids_has(&bo->mapped, gpu_id))
		add(t, ", not mapped to this one");
	if (bo->flags.ui32.ReadOnly)
		add(t, ", read-only");
}

void hsakmt_fault_note_freed(const struct hsakmt_bo *bo)
{
	struct hsakmt_mem *mem = &hsakmt_ctx.mem;

	if (bo->kind != HSAKMT_BO_SVM)
		return;
	mem->freed[mem->frees++ % HSAKMT_FREED_KEPT] = (struct hsakmt_freed){
		.type = hsakmt_bo_type(bo),
		.va = bo->va,
		.size = bo->size,
		.userptr = bo->userptr,
		.node_id = bo->node_id,
	};
}

/* The @age-th last buffer that was freed, from 1; NULL when not so many are known. */
static const struct hsakmt_freed *freed_before(uint64_t age)
{
	const struct hsakmt_mem *mem = &hsakmt_ctx.mem;

	if (age > mem->frees || age > HSAKMT_FREED_KEPT)
		return NULL;
	return &mem->freed[(mem->frees - age) % HSAKMT_FREED_KEPT];
}

/* Bytes between @addr and @r, which does not contain it. */
static uint64_t distance(const struct range *r, uint64_t addr)
{
	return addr < r->va ? r->va - addr : addr - (r->va + r->size);
}

static bool nearer(struct range *best, const struct range *r, uint64_t addr)
{
	if (distance(r, addr) >= (best->size ? distance(best, addr) : NEAR_BYTES))
		return false;
	*best = *r;
	return true;
}

/* Under mem.lock. @addr is in no buffer, nor was it in one of the last. */
static void add_nearest(struct text *t, uint64_t addr)
{
	struct range best = { .size = 0 }, r;
	const struct hsakmt_bo *side[2];
	const struct hsakmt_freed *f;
	bool freed = false;

	hsakmt_boset_around(&hsakmt_ctx.mem.bos, addr, side);
	for (int i = 0; i < 2; i++) {
		if (!side[i] || side[i]->kind != HSAKMT_BO_SVM)
			continue;
		r = range_of(side[i]);
		nearer(&best, &r, addr);
	}
	for (uint64_t age = 1; (f = freed_before(age)); age++) {
		r = range_of_freed(f);
		freed |= nearer(&best, &r, addr);
	}
	if (!best.size) {
		add(t, "not in or near any buffer this library knows");
		return;
	}
	add(t, "%llu bytes %s ", (unsigned long long)distance(&best, addr),
	    addr < best.va ? "before" : "behind the end of");
	add_range(t, &best);
	if (freed)
		add(t, ", which was freed");
}

static void add_place(struct text *t, uint64_t addr, uint32_t gpu_id)
{
	const struct hsakmt_freed *f;
	const struct hsakmt_bo *bo;
	struct range r;

	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	bo = hsakmt_boset_containing(&hsakmt_ctx.mem.bos, addr);
	if (bo) {
		add(t, "in ");
		add_live(t, bo, gpu_id);
		goto out;
	}
	for (uint64_t age = 1; (f = freed_before(age)); age++) {
		if (addr - f->va >= f->size)
			continue;
		r = range_of_freed(f);
		add(t, "in what was ");
		add_range(t, &r);
		add(t, ", freed (%llu %s since)", (unsigned long long)age - 1,
		    age == 2 ? "other" : "others");
		goto out;
	}
	add_nearest(t, addr);
out:
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
}

static const char *reason(const struct kfd_hsa_memory_exception_data *data)
{
	if (data->ErrorType == KFD_MEM_ERR_SRAM_ECC)
		return "memory error";
	if (data->ErrorType == KFD_MEM_ERR_POISON_CONSUMED)
		return "poisoned data";
	if (data->failure.NotPresent)
		return "page not present";
	if (data->failure.ReadOnly)
		return "write to a read-only page";
	if (data->failure.NoExecute)
		return "execution of data";
	return "no reason given";
}

void hsakmt_fault_report(const struct kfd_hsa_memory_exception_data *data, uint32_t node_id)
{
	struct text t = { .len = 0 };

	if (hsakmt_ctx.debug_level < HSAKMT_ERR)
		return;
	/* Who consumed bad data is told, but not where they were. */
	if (data->ErrorType == KFD_MEM_ERR_SRAM_ECC ||
	    data->ErrorType == KFD_MEM_ERR_POISON_CONSUMED) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: memory fault, node %u: %s\n", node_id, reason(data));
		return;
	}
	add_place(&t, data->va, data->gpu_id);
	hsakmt_log(HSAKMT_ERR, "hsakmt: memory fault at 0x%llx, node %u: %s\nhsakmt:   %s\n",
		   (unsigned long long)data->va, node_id, reason(data), t.buf);
}
