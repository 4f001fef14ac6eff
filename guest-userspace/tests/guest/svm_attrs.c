// SPDX-License-Identifier: MIT
/*
 * AMDKFD_IOC_SVM: attributes of address ranges, what they are for several ranges together,
 * how ranges are split, and what is refused; and the XNACK mode. No queue runs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "pm4.h"
#include "raw.h"
#include "svm.h"
#include "tap.h"

#define NONE	KFD_IOCTL_SVM_LOCATION_UNDEFINED
#define SYSMEM	KFD_IOCTL_SVM_LOCATION_SYSMEM
#define FLAG(name)	((uint32_t)KFD_IOCTL_SVM_FLAG_##name)
#define FLAGS	(FLAG(HOST_ACCESS) | FLAG(COHERENT))
#define SVM_CAP	0x8000000u
#define PAGES	16u
#define SIZE	(PAGES * GPU_PAGE)

static char *pages(size_t size)
{
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		tap_bail("mmap: %m");
	return mem;
}

static uint32_t value(const struct kfd_proc *p, const char *mem, unsigned int first,
		      unsigned int n, uint32_t type)
{
	return svm_value(p, mem + first * GPU_PAGE, n * GPU_PAGE, type);
}

/* Of pages @first to @first + @n - 1. */
static int set(const struct kfd_proc *p, const char *mem, unsigned int first, unsigned int n,
	       struct kfd_ioctl_svm_attribute a)
{
	return svm_set_one(p, mem + first * GPU_PAGE, n * GPU_PAGE, a);
}

#define PREFERRED	KFD_IOCTL_SVM_ATTR_PREFERRED_LOC
#define PREFETCH	KFD_IOCTL_SVM_ATTR_PREFETCH_LOC
#define SET_FLAGS	KFD_IOCTL_SVM_ATTR_SET_FLAGS
#define CLR_FLAGS	KFD_IOCTL_SVM_ATTR_CLR_FLAGS
#define GRANULARITY	KFD_IOCTL_SVM_ATTR_GRANULARITY

static void test_single(const struct kfd_proc *p)
{
	char *mem = pages(SIZE);

	tap_is(value(p, mem, 0, 1, PREFERRED), NONE, "default: no preferred location");
	tap_is(value(p, mem, 0, 1, PREFETCH), NONE, "default: no prefetch location");
	tap_is(value(p, mem, 0, 1, SET_FLAGS), FLAGS, "default: flags");
	tap_is(value(p, mem, 0, 1, CLR_FLAGS), ~FLAGS, "default: flags that are not set");
	tap_is(value(p, mem, 0, 1, GRANULARITY), 9, "default: granularity");
	tap_is(svm_access(p, mem, SIZE), KFD_IOCTL_SVM_ATTR_NO_ACCESS, "default: no access");
	tap_is(svm_counter("ranges"), 0, "asking makes no ranges");

	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(PREFERRED_LOC, p->gpu_id)), 0, "preferred location");
	tap_is(value(p, mem, 3, 2, PREFERRED), p->gpu_id, "is what was set, also of a part");
	tap_is(value(p, mem, 3, 2, PREFETCH), NONE, "and the others are as they were");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(PREFERRED_LOC, SYSMEM)), 0, "system memory is one");
	tap_is(value(p, mem, 0, PAGES, PREFERRED), SYSMEM, "which is not none");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(PREFERRED_LOC, NONE)), 0, "and none is one");
	tap_is(value(p, mem, 0, PAGES, PREFERRED), NONE, "as before");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(PREFETCH_LOC, p->gpu_id)), 0, "prefetch location");
	tap_is(value(p, mem, 0, PAGES, PREFETCH), p->gpu_id, "is what was set");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(PREFETCH_LOC, SYSMEM)), 0, "back to system memory");
	tap_is(value(p, mem, 0, PAGES, PREFETCH), SYSMEM, "is what was set");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(SET_FLAGS, FLAG(GPU_RO))), 0, "a flag");
	tap_is(value(p, mem, 0, PAGES, SET_FLAGS), FLAGS | FLAG(GPU_RO), "more");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(CLR_FLAGS, FLAG(COHERENT))), 0, "a flag");
	tap_is(value(p, mem, 0, PAGES, SET_FLAGS),
	       FLAG(HOST_ACCESS) | FLAG(GPU_RO), "less");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(GRANULARITY, 0xff)), 0, "granularity");
	tap_is(value(p, mem, 0, PAGES, GRANULARITY), 0x3f, "is at most 63");
	tap_is(svm_counter("ranges"), 1, "it is one range");
	munmap(mem, SIZE);
	mem = pages(SIZE);
	tap_is(value(p, mem, 0, PAGES, GRANULARITY), 9, "new memory has nothing of the old");
	tap_is(svm_counter("ranges"), 0, "there is no range any more");
	munmap(mem, SIZE);
}

static void test_access(const struct kfd_proc *p)
{
	char *mem = pages(SIZE);

	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(ACCESS, p->gpu_id)), 0, "access");
	tap_is(svm_access(p, mem, SIZE), KFD_IOCTL_SVM_ATTR_ACCESS, "there is");
	tap_is(svm_counter("present"), PAGES, "and all pages with it");
	tap_is(set(p, mem, 4, 4, SVM_ATTR(ACCESS_IN_PLACE, p->gpu_id)), 0, "access in place of a part");
	tap_is(svm_access(p, mem + 4 * GPU_PAGE, 4 * GPU_PAGE), KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
	       "is another kind of it");
	tap_is(svm_access(p, mem, SIZE), KFD_IOCTL_SVM_ATTR_NO_ACCESS, "in common they have neither");
	tap_is(svm_access(p, mem + 8 * GPU_PAGE, GPU_PAGE), KFD_IOCTL_SVM_ATTR_ACCESS,
	       "what is behind it is as it was");
	tap_is(svm_counter("ranges"), 3, "in three ranges");
	tap_is(svm_counter("present"), PAGES, "with all pages still");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(NO_ACCESS, p->gpu_id)), 0, "no access");
	tap_is(svm_access(p, mem + 4 * GPU_PAGE, GPU_PAGE), KFD_IOCTL_SVM_ATTR_NO_ACCESS, "to any");
	tap_is(svm_counter("present"), 0, "and no page");
	munmap(mem, SIZE);
}

static void test_several(const struct kfd_proc *p)
{
	const struct kfd_ioctl_svm_attribute attrs[] = {
		SVM_ATTR(PREFERRED_LOC, p->gpu_id),
		SVM_ATTR(PREFETCH_LOC, SYSMEM),
		SVM_ATTR(SET_FLAGS, FLAG(GPU_EXEC)),
		SVM_ATTR(GRANULARITY, 5),
	};
	struct kfd_ioctl_svm_attribute got[5] = {
		{ GRANULARITY, 0 }, { CLR_FLAGS, 0 }, { SET_FLAGS, 0 }, { PREFETCH, 0 },
		{ PREFERRED, 0 },
	};
	char *mem = pages(SIZE);
	unsigned int i;

	tap_is(svm_set(p, mem, SIZE, attrs, 4), 0, "four attributes in one call");
	tap_is(svm_get(p, mem, SIZE, got, 5), 0, "five in one answer");
	tap_ok(got[0].value == 5 && got[1].value == ~(FLAGS | FLAG(GPU_EXEC)) &&
	       got[2].value == (FLAGS | FLAG(GPU_EXEC)) && got[3].value == SYSMEM &&
	       got[4].value == p->gpu_id, "each in its place");

	tap_is(set(p, mem, 2, 1, SVM_ATTR(SET_FLAGS, FLAG(GPU_RO))), 0, "one page differs");
	tap_is(value(p, mem, 0, PAGES, SET_FLAGS), FLAGS | FLAG(GPU_EXEC),
	       "flags: those that all have");
	tap_is(value(p, mem, 0, PAGES, CLR_FLAGS),
	       ~(FLAGS | FLAG(GPU_EXEC) | FLAG(GPU_RO)),
	       "flags that none has");
	tap_is(set(p, mem, 8, 1, SVM_ATTR(GRANULARITY, 3)), 0, "one page is finer");
	tap_is(value(p, mem, 0, PAGES, GRANULARITY), 3, "granularity: the finest");
	tap_is(set(p, mem, 0, 1, SVM_ATTR(PREFERRED_LOC, SYSMEM)), 0, "one page is preferred elsewhere");
	tap_is(value(p, mem, 0, PAGES, PREFERRED), NONE, "then there is no common place");
	tap_is(value(p, mem, 1, PAGES - 1, PREFERRED), p->gpu_id, "but for the others");
	tap_is(value(p, mem, 0, 1, PREFERRED), SYSMEM, "and for the one");
	tap_is(set(p, mem, PAGES - 1, 1, SVM_ATTR(PREFETCH_LOC, p->gpu_id)), 0, "one page, the last");
	tap_is(value(p, mem, 0, PAGES, PREFETCH), NONE, "prefetch: no common place");
	tap_is(value(p, mem, 0, PAGES - 1, PREFETCH), SYSMEM, "but for the others");
	/* 0 | 1 | 2 | 3-7 | 8 | 9-14 | 15 */
	tap_is(svm_counter("ranges"), 7, "seven ranges");
	for (i = 0; i < PAGES; i += 2)
		munmap(mem + i * GPU_PAGE, GPU_PAGE);
	tap_is(value(p, mem, 1, 1, GRANULARITY), 5, "every other page is gone, the others are not");
	tap_is(svm_counter("ranges"), PAGES / 2, "which are ranges of a page");
	tap_is(svm_counter("pages"), PAGES / 2, "each");
	munmap(mem, SIZE);
	mem = pages(SIZE);
	tap_is(value(p, mem, 0, 1, SET_FLAGS), FLAGS, "all are gone");
	tap_is(svm_counter("ranges") + svm_counter("chunks"), 0, "nothing is left of them");
	munmap(mem, SIZE);
}

/* Ranges in between are filled; nothing is longer than a chunk. */
static void test_gaps(const struct kfd_proc *p)
{
	const size_t big = 96u << 20;
	char *mem = pages(big);

	tap_is(set(p, mem, 4, 2, SVM_ATTR(GRANULARITY, 1)), 0, "gaps: a range");
	tap_is(set(p, mem, 10, 2, SVM_ATTR(GRANULARITY, 2)), 0, "gaps: another");
	tap_is(set(p, mem, 0, PAGES, SVM_ATTR(PREFERRED_LOC, SYSMEM)), 0, "gaps: over both");
	tap_is(svm_counter("ranges"), 5, "gaps: and three more");
	tap_is(value(p, mem, 4, 2, GRANULARITY), 1, "gaps: the first is as it was");
	tap_is(value(p, mem, 10, 2, GRANULARITY), 2, "gaps: the second is");
	tap_is(value(p, mem, 6, 4, GRANULARITY), 9, "gaps: what is new is new");
	tap_is(value(p, mem, 0, PAGES, PREFERRED), SYSMEM, "gaps: they have in common what was set last");
	tap_is(svm_set_one(p, mem, big, SVM_ATTR(GRANULARITY, 7)), 0, "big: 96 MiB");
	tap_is(svm_value(p, mem, big, GRANULARITY), 7, "big: have one value");
	tap_ok(svm_counter("chunks") >= 3 && svm_counter("chunks") <= 4, "big: in chunks of 32 MiB");
	tap_is(svm_counter("pages"), (int64_t)(big / GPU_PAGE), "big: all of it");
	munmap(mem, big);
}

static void test_refused(const struct kfd_proc *p)
{
	struct kfd_ioctl_svm_args a = { .size = GPU_PAGE };
	const size_t vast = 1ull << 40;
	char *mem = pages(SIZE), *large = pages(vast);
	struct kfd_ioctl_svm_attribute bad = { 8, 0 };
	int64_t ranges;

	tap_is(svm_value(p, mem, SIZE, GRANULARITY), 9, "refused: at the beginning");
	ranges = svm_counter("ranges");
	tap_is(set(p, mem + 1, 0, 1, SVM_ATTR(GRANULARITY, 1)), -EINVAL, "EINVAL: address");
	tap_is(svm_set_one(p, mem, 100, SVM_ATTR(GRANULARITY, 1)), -EINVAL, "EINVAL: size");
	tap_is(svm_set_one(p, mem, 0, SVM_ATTR(GRANULARITY, 1)), -EINVAL, "EINVAL: no size");
	tap_is(svm_set_one(p, NULL, SIZE, SVM_ATTR(GRANULARITY, 1)), -EINVAL, "EINVAL: no address");
	tap_is(svm_set_one(p, mem, SIZE, bad), -EINVAL, "EINVAL: type");
	tap_is(svm_get(p, mem, SIZE, &bad, 1), -EINVAL, "EINVAL: type asked for");
	bad.type = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
	tap_is(svm_get(p, mem, SIZE, &bad, 1), -EINVAL, "EINVAL: access in place is no question");
	bad.type = KFD_IOCTL_SVM_ATTR_NO_ACCESS;
	tap_is(svm_get(p, mem, SIZE, &bad, 1), -EINVAL, "EINVAL: nor is no access");
	tap_is(set(p, mem, 0, 1, SVM_ATTR(ACCESS, p->gpu_id ^ 1)), -EINVAL, "EINVAL: no such GPU");
	tap_is(set(p, mem, 0, 1, SVM_ATTR(ACCESS, 0)), -EINVAL, "EINVAL: system memory has no access");
	tap_is(set(p, mem, 0, 1, SVM_ATTR(PREFETCH_LOC, NONE)), -EINVAL, "EINVAL: prefetch to nowhere");
	tap_is(set(p, mem, 0, 1, SVM_ATTR(PREFERRED_LOC, p->gpu_id ^ 1)), -EINVAL,
	       "EINVAL: prefer no such GPU");
	bad = SVM_ATTR(ACCESS, p->gpu_id ^ 1);
	tap_is(svm_get(p, mem, SIZE, &bad, 1), -EINVAL, "EINVAL: access of no such GPU");

	a.start_addr = gpu_va(mem);
	a.op = 2;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SVM, &a), -EINVAL, "EINVAL: operation");
	a.op = KFD_IOCTL_SVM_OP_SET_ATTR;
	a.nattr = 1;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SVM, &a), -EINVAL, "EINVAL: an attribute that is not there");
	a.nattr = 0xffffffff;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SVM, &a), -EINVAL, "EINVAL: very many that are not there");
	tap_is(kfd_call(p->kfd, kfd_resized(AMDKFD_IOC_SVM, 8), &a), -EINVAL, "EINVAL: half a call");

	munmap(mem + 2 * GPU_PAGE, GPU_PAGE);
	tap_is(set(p, mem, 0, 4, SVM_ATTR(GRANULARITY, 1)), -EFAULT, "EFAULT: a hole");
	bad.type = GRANULARITY;
	tap_is(svm_get(p, mem, 4 * GPU_PAGE, &bad, 1), -EFAULT, "EFAULT: a hole that is asked for");
	a = (struct kfd_ioctl_svm_args){ .start_addr = gpu_va(mem), .size = -(uint64_t)GPU_PAGE };
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SVM, &a), -EFAULT, "EFAULT: around the end of all addresses");
	tap_is(svm_set_one(p, large, vast, SVM_ATTR(GRANULARITY, 1)), -ENOMEM,
	       "ENOMEM: more than there is memory");
	tap_is(svm_value(p, mem, GPU_PAGE, GRANULARITY), 9, "of all this nothing was set");
	tap_is(svm_counter("ranges"), ranges, "and no range made");
	a = (struct kfd_ioctl_svm_args){ .start_addr = gpu_va(mem), .size = GPU_PAGE };
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SVM, &a), 0, "no attribute is right");
	munmap(mem, SIZE);
	munmap(large, vast);
}

/* Memory is under one of the two interfaces. */
static void test_both(const struct kfd_proc *p)
{
	const uint32_t gtt = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
	const uint32_t user = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
	char *mem = pages(SIZE), *bo = pages(SIZE);
	uint64_t handle, other;

	tap_is(set(p, mem, 2, 2, SVM_ATTR(ACCESS, p->gpu_id)), 0, "both: two pages are a range");
	tap_is(kfd_alloc(p, gpu_va(mem), SIZE, gtt, &handle, NULL), -EADDRINUSE,
	       "EADDRINUSE: a BO at its address");
	tap_is(kfd_alloc(p, gpu_va(mem), SIZE, user, &handle, NULL), -EADDRINUSE,
	       "EADDRINUSE: registered by address");
	tap_is(kfd_alloc(p, gpu_va(mem) + 4 * GPU_PAGE, GPU_PAGE, user, &handle, NULL), 0,
	       "what is behind it may be");
	kfd_free(p, handle);
	tap_is(kfd_alloc(p, gpu_va(bo), SIZE, gtt, &handle, NULL), 0, "a BO elsewhere");
	tap_is(kfd_map(p, handle), 0, "mapped");
	tap_is(set(p, bo, 1, 1, SVM_ATTR(GRANULARITY, 1)), -EADDRINUSE, "EADDRINUSE: a range in it");
	tap_is(kfd_unmap(p, handle), 0, "not mapped");
	tap_is(set(p, bo, 1, 1, SVM_ATTR(ACCESS, p->gpu_id)), 0, "then it may be");
	tap_is(kfd_map(p, handle), -EINVAL, "and the BO is not mapped over it");
	munmap(bo + GPU_PAGE, GPU_PAGE);
	tap_is(kfd_map(p, handle), 0, "before that memory is gone");
	kfd_unmap(p, handle);
	kfd_free(p, handle);
	munmap(mem, SIZE);
	mem = mmap(mem, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	tap_is(kfd_alloc(p, gpu_va(mem), SIZE, user, &other, NULL), 0,
	       "new memory at an old address is nobody's");
	kfd_free(p, other);
	munmap(mem, SIZE);
	munmap(bo, SIZE);
}

static int xnack(const struct kfd_proc *p, int mode, int *is)
{
	struct kfd_ioctl_set_xnack_mode_args a = { .xnack_enabled = mode };
	int r = kfd_call(p->kfd, AMDKFD_IOC_SET_XNACK_MODE, &a);

	*is = a.xnack_enabled;
	return r;
}

static void attributes(void *arg)
{
	struct raw_queue q;
	struct raw_proc r;
	char *device;
	int is;

	(void)arg;
	raw_open(&r, 1);
	test_single(&r.p);
	test_access(&r.p);
	test_several(&r.p);
	test_gaps(&r.p);
	test_refused(&r.p);
	test_both(&r.p);

	tap_is(xnack(&r.p, -1, &is), 0, "XNACK: asked for");
	tap_is(is, 0, "XNACK: off, as on a Vega20");
	tap_is(xnack(&r.p, 0, &is), 0, "XNACK: may be set to what it is");
	tap_is(xnack(&r.p, 1, &is), -EPERM, "EPERM: XNACK on");
	if (raw_queue_create(&q, &r, KFD_IOC_QUEUE_TYPE_COMPUTE))
		tap_bail("no queue");
	tap_is(xnack(&r.p, 0, &is), -EBUSY, "EBUSY: XNACK with queues");
	tap_is(xnack(&r.p, -1, &is), 0, "XNACK: still may be asked for");
	device = (char *)(uintptr_t)r.doorbell;
	tap_is(svm_set_one(&r.p, device, GPU_PAGE, SVM_ATTR(GRANULARITY, 1)), -EFAULT,
	       "EFAULT: memory of a device");
	raw_queue_destroy(&q);
	raw_close(&r);
}

/* 0 if there is no node, or no line. */
static uint32_t capability(void)
{
	char key[64], path[128];
	unsigned long long v;
	uint32_t found = 0;
	FILE *f;

	/* The first GPU is behind the one CPU node. */
	snprintf(path, sizeof(path), "/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties");
	f = fopen(path, "re");
	while (f && fscanf(f, "%63s %llu\n", key, &v) == 2)
		if (!strcmp(key, "capability"))
			found = (uint32_t)v;
	if (f)
		fclose(f);
	return found;
}

static void off(void *arg)
{
	struct kfd_ioctl_svm_attribute a = SVM_ATTR(GRANULARITY, 1);
	struct kfd_proc p;
	char *mem = pages(SIZE);
	int is;

	(void)arg;
	kfd_proc_open(&p);
	tap_is(svm_set(&p, mem, SIZE, &a, 1), -EPERM, "off: SET_ATTR");
	tap_is(svm_get(&p, mem, SIZE, &a, 1), -EPERM, "off: GET_ATTR");
	tap_is(svm_get(&p, mem + 1, SIZE, &a, 1), -EINVAL, "off: a wrong address comes first");
	tap_is(xnack(&p, -1, &is), -EPERM, "off: XNACK");
	tap_is(capability() & SVM_CAP, 0, "off: the topology does not say that there is SVM");
	kfd_proc_close(&p);
}

int main(void)
{
	const char *why_not;

	tap_begin(300);
	if (!driver_flag("svm"))
		tap_child("without the parameter", off, NULL);
	why_not = svm_begin();
	if (why_not) {
		tap_skip(why_not, "with the parameter");
		return tap_done();
	}
	tap_is(capability() & SVM_CAP, SVM_CAP, "on: the topology says that there is SVM");
	tap_child("attributes", attributes, NULL);
	svm_end();
	return tap_done();
}
