// SPDX-License-Identifier: MIT
/* Buffer objects and the sorted sets they are found by. All under mem.lock. */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

bool hsakmt_ids_has(const struct hsakmt_ids *ids, uint32_t id)
{
	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->id[i] == id)
			return true;
	return false;
}

/* Adds @id once. -1 without memory. */
int hsakmt_ids_add(struct hsakmt_ids *ids, uint32_t id)
{
	uint32_t *grown;

	if (hsakmt_ids_has(ids, id))
		return 0;
	grown = realloc(ids->id, (ids->count + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	ids->id = grown;
	ids->id[ids->count++] = id;
	return 0;
}

void hsakmt_ids_del(struct hsakmt_ids *ids, uint32_t id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->id[i] != id)
			ids->id[kept++] = ids->id[i];
	ids->count = kept;
}

void hsakmt_ids_clear(struct hsakmt_ids *ids)
{
	free(ids->id);
	ids->id = NULL;
	ids->count = 0;
}

static uint64_t key_of(const struct hsakmt_boset *set, const struct hsakmt_bo *bo)
{
	return set->by_userptr ? bo->userptr : bo->va;
}

static uint64_t size_of(const struct hsakmt_boset *set, const struct hsakmt_bo *bo)
{
	return set->by_userptr ? bo->userptr_size : bo->size;
}

/* Index of the first entry above (@addr, @size). */
static size_t above(const struct hsakmt_boset *set, uint64_t addr, uint64_t size)
{
	size_t lo = 0, hi = set->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t key = key_of(set, set->bo[mid]);

		if (key > addr || (key == addr && size_of(set, set->bo[mid]) > size))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int hsakmt_boset_add(struct hsakmt_boset *set, struct hsakmt_bo *bo)
{
	size_t at;

	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 64;
		struct hsakmt_bo **grown = realloc(set->bo, room * sizeof(*grown));

		if (!grown)
			return -1;
		set->bo = grown;
		set->room = room;
	}
	at = above(set, key_of(set, bo), size_of(set, bo));
	memmove(&set->bo[at + 1], &set->bo[at], (set->count - at) * sizeof(*set->bo));
	set->bo[at] = bo;
	set->count++;
	return 0;
}

void hsakmt_boset_del(struct hsakmt_boset *set, struct hsakmt_bo *bo)
{
	size_t at = above(set, key_of(set, bo), size_of(set, bo));

	while (at-- > 0)
		if (set->bo[at] == bo) {
			set->count--;
			memmove(&set->bo[at], &set->bo[at + 1],
				(set->count - at) * sizeof(*set->bo));
			return;
		}
}

/*
 * The entry that starts at @addr and, unless @size is 0, has that size. With
 * size 0 it has to be the only one there: user pointers may overlap.
 */
struct hsakmt_bo *hsakmt_boset_exact(const struct hsakmt_boset *set, uint64_t addr, uint64_t size)
{
	size_t at = above(set, addr, size ? size : UINT64_MAX);
	struct hsakmt_bo *bo;

	if (!at)
		return NULL;
	bo = set->bo[at - 1];
	if (key_of(set, bo) != addr)
		return NULL;
	if (size)
		return size_of(set, bo) == size ? bo : NULL;
	if (at > 1 && key_of(set, set->bo[at - 2]) == addr)
		return NULL;
	return bo;
}

/*
 * The entry with the highest start that contains @addr. Addresses of the GPU
 * do not overlap, so one look is enough there; user pointers may, and a long one
 * can start far below.
 */
struct hsakmt_bo *hsakmt_boset_containing(const struct hsakmt_boset *set, uint64_t addr)
{
	size_t at = above(set, addr, UINT64_MAX);

	while (at-- > 0) {
		struct hsakmt_bo *bo = set->bo[at];

		if (addr - key_of(set, bo) < size_of(set, bo))
			return bo;
		if (!set->by_userptr)
			break;
	}
	return NULL;
}

/* The entries of @set that start at or below @addr and above it; NULL where there is none. */
void hsakmt_boset_around(const struct hsakmt_boset *set, uint64_t addr,
			 const struct hsakmt_bo *side[2])
{
	size_t at = above(set, addr, UINT64_MAX);

	side[0] = at ? set->bo[at - 1] : NULL;
	side[1] = at < set->count ? set->bo[at] : NULL;
}

struct hsakmt_bo *hsakmt_bo_new(enum hsakmt_bo_kind kind, uint64_t va, uint64_t size,
				uint64_t handle, HsaMemFlags flags)
{
	struct hsakmt_bo *bo = calloc(1, sizeof(*bo));

	if (!bo)
		return NULL;
	bo->kind = kind;
	bo->va = va;
	bo->size = size;
	bo->handle = handle;
	bo->flags = flags;
	return bo;
}

/* Frees an object that is in no set any more. */
void hsakmt_bo_free(struct hsakmt_bo *bo)
{
	if (!bo)
		return;
	hsakmt_ids_clear(&bo->registered);
	hsakmt_ids_clear(&bo->mapped);
	free(bo->registered_nodes);
	free(bo->mapped_nodes);
	free(bo->metadata);
	free(bo);
}

struct hsakmt_aperture *hsakmt_bo_aperture(const struct hsakmt_bo *bo)
{
	switch (bo->kind) {
	case HSAKMT_BO_SVM:
		return &hsakmt_ctx.mem.svm;
	case HSAKMT_BO_HANDLE:
		return &hsakmt_ctx.mem.handles;
	case HSAKMT_BO_CPU:
		break;
	}
	return NULL;
}

/*
 * The object a caller means by @addr: first a user pointer registered with
 * exactly this address (and @size, if given), then the object at this page of GPU
 * address space. A user pointer found by its GPU address has to agree in page
 * offset and size.
 */
struct hsakmt_bo *hsakmt_bo_find(uint64_t addr, uint64_t size)
{
	uint64_t offset = addr & (hsakmt_ctx.page_size - 1);
	struct hsakmt_bo *bo;

	bo = hsakmt_boset_exact(&hsakmt_ctx.mem.userptrs, addr, size);
	if (bo)
		return bo;
	bo = hsakmt_boset_exact(&hsakmt_ctx.mem.bos, addr - offset, 0);
	if (bo && bo->userptr &&
	    ((bo->userptr & (hsakmt_ctx.page_size - 1)) != offset ||
	     (size && size != bo->userptr_size)))
		return NULL;
	return bo;
}

struct hsakmt_bo *hsakmt_bo_find_containing(uint64_t addr)
{
	struct hsakmt_bo *bo = hsakmt_boset_containing(&hsakmt_ctx.mem.userptrs, addr);

	return bo ? bo : hsakmt_boset_containing(&hsakmt_ctx.mem.bos, addr);
}
