// SPDX-License-Identifier: MIT
/*
 * Plain memory under the SVM interface and two GPUs: who has access and how is each one's own,
 * and memory is in the VRAM of one of them only while the other has no business there.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu.h"
#include "queue.h"
#include "sdma_queue.h"
#include "svm.h"
#include "tap.h"
#include "user.h"

#define GPUS	2u
#define LONG_MS	60000u
#define PAGES	600u
#define SIZE	((size_t)PAGES * GPU_PAGE)
#define SYSMEM	KFD_IOCTL_SVM_LOCATION_SYSMEM

/**
 * struct side - one GPU
 * @p: for ioctls about it
 * @bounce: memory both sides see: what is stored, what was loaded, and a fence
 * @seq: fences so far
 */
struct side {
	struct gpu gpu;
	struct kfd_proc p;
	struct sdma_queue q;
	HsaEvent *fault;
	volatile uint64_t *bounce;
	uint32_t seq;
};

static struct side sides[GPUS];

static volatile uint64_t *word(char *mem, size_t page)
{
	return (volatile uint64_t *)(mem + page * GPU_PAGE);
}

static void put_copy(struct side *s, volatile void *dst, volatile void *src)
{
	uint32_t *p = sdma_queue_reserve(&s->q, SDMA_PKT_COPY_LINEAR_DW);

	if (!p)
		tap_bail("no room in the ring");
	sdma_queue_commit(&s->q, sdma_copy(p, gpu_va(dst), gpu_va(src), 8));
	p = sdma_queue_reserve(&s->q, SDMA_PKT_FENCE_DW);
	if (!p)
		tap_bail("no room in the ring");
	sdma_queue_commit(&s->q, sdma_fence(p, gpu_va(s->bounce + 2), ++s->seq));
	sdma_queue_submit(&s->q);
}

static bool done(struct side *s)
{
	return wait_word32((volatile uint32_t *)(s->bounce + 2), s->seq, LONG_MS);
}

static bool stores(struct side *s, volatile uint64_t *at, uint64_t value)
{
	s->bounce[0] = value;
	put_copy(s, at, s->bounce);
	return done(s);
}

static bool loads(struct side *s, volatile uint64_t *at, uint64_t want)
{
	s->bounce[1] = ~want;
	put_copy(s, s->bounce + 1, at);
	return done(s) && s->bounce[1] == want;
}

static int set(struct side *s, const char *mem, uint32_t type)
{
	return svm_set_one(&s->p, mem, SIZE, (struct kfd_ioctl_svm_attribute) { type, s->p.gpu_id });
}

static int prefetch(struct side *s, const char *mem, uint32_t where)
{
	return svm_set_one(&s->p, mem, SIZE, SVM_ATTR(PREFETCH_LOC, where));
}

static void setup(void)
{
	unsigned int i;

	for (i = 0; i < GPUS; i++) {
		struct side *s = &sides[i];

		if (gpu_open_nth(&s->gpu, i) != HSAKMT_STATUS_SUCCESS ||
		    sdma_queue_create(&s->q, &s->gpu, GPU_PAGE) != HSAKMT_STATUS_SUCCESS)
			tap_bail("GPU %u", i);
		s->p = (struct kfd_proc) { .kfd = kfd_open(), .gpu_id = s->gpu.props.KFDGpuID };
		s->bounce = mem_alloc(&s->gpu, MEM_GTT, GPU_PAGE);
		s->fault = event_new(&s->gpu, HSA_EVENTTYPE_MEMORY, false);
		if (!s->bounce || !s->fault)
			tap_bail("memory or an event of GPU %u", i);
	}
}

static void test_access(struct side *a, struct side *b)
{
	const int64_t mapped = svm_counter("mapped");
	char *mem = svm_pages(SIZE);

	memset(mem, 0, SIZE);
	tap_is(set(a, mem, KFD_IOCTL_SVM_ATTR_ACCESS), 0, "access: of one");
	tap_is(svm_access(&a->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_ACCESS, "access: which has it");
	tap_is(svm_access(&b->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_NO_ACCESS, "access: the other has none");
	tap_ok(stores(a, word(mem, 1), 11), "access: it stores");
	tap_is(set(b, mem, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE), 0, "access: of the other, in place");
	tap_is(svm_access(&b->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, "access: which has that");
	tap_is(svm_access(&a->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_ACCESS, "access: the first as it had");
	tap_ok(loads(b, word(mem, 1), 11), "access: it loads what the first stored");
	tap_ok(stores(b, word(mem, PAGES - 1), 12) && loads(a, word(mem, PAGES - 1), 12),
	       "access: and the other way round");
	madvise(mem, SIZE, MADV_DONTNEED);
	tap_ok(loads(a, word(mem, 1), 0) && loads(b, word(mem, 1), 0), "access: both see new pages");

	tap_is(set(a, mem, KFD_IOCTL_SVM_ATTR_NO_ACCESS), 0, "access: none of the first any more");
	tap_is(svm_access(&a->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_NO_ACCESS, "access: it has none");
	tap_is(svm_access(&b->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
	       "access: the other as it had");
	tap_ok(stores(b, word(mem, 2), 13) && *word(mem, 2) == 13, "access: and uses it");
	tap_is(set(b, mem, KFD_IOCTL_SVM_ATTR_NO_ACCESS), 0, "access: none of it either");
	tap_is(svm_access(&b->p, mem, SIZE), KFD_IOCTL_SVM_ATTR_NO_ACCESS, "access: nor has it any");
	svm_counter_is("mapped", mapped, "access: the memory is mapped nowhere");
	munmap(mem, SIZE);
}

/* Where the kernel cannot have pages in VRAM, none is there, and all else is the same. */
static void test_prefetch(struct side *a, struct side *b)
{
	const int64_t pages = svm_counter("migrates") == 1 ? PAGES : 0;
	char *mem = svm_pages(SIZE);

	memset(mem, 0, SIZE);
	*word(mem, 3) = 20;
	set(a, mem, KFD_IOCTL_SVM_ATTR_ACCESS);
	set(b, mem, KFD_IOCTL_SVM_ATTR_ACCESS);
	tap_is(prefetch(a, mem, a->p.gpu_id), 0, "prefetch: to one, and both have access");
	svm_counter_is("vram", 0, "prefetch: it stays in RAM");
	tap_ok(loads(a, word(mem, 3), 20) && loads(b, word(mem, 3), 20), "prefetch: where both load it");

	set(b, mem, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	tap_is(prefetch(a, mem, a->p.gpu_id), 0, "prefetch: to the only one that has access");
	svm_counter_is("vram", pages, "prefetch: it goes there");
	tap_ok(loads(a, word(mem, 3), 20) && stores(a, word(mem, 3), 21), "prefetch: and is used");
	tap_is(set(b, mem, KFD_IOCTL_SVM_ATTR_ACCESS), 0, "prefetch: the other gets access");
	svm_counter_is("vram", 0, "prefetch: for that it comes back");
	tap_ok(loads(b, word(mem, 3), 21), "prefetch: the other loads what the first stored");
	tap_ok(stores(b, word(mem, 3), 22) && loads(a, word(mem, 3), 22), "prefetch: and it the other's");

	set(b, mem, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	prefetch(a, mem, a->p.gpu_id);
	svm_counter_is("vram", pages, "from one to the other: it is in the first's VRAM");
	set(a, mem, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
	set(b, mem, KFD_IOCTL_SVM_ATTR_ACCESS);
	tap_is(prefetch(b, mem, b->p.gpu_id), 0, "from one to the other: prefetched");
	svm_counter_is("vram", pages, "from one to the other: it is in VRAM");
	tap_ok(loads(b, word(mem, 3), 22) && stores(b, word(mem, 3), 23),
	       "from one to the other: in that of the other");
	tap_is(prefetch(b, mem, SYSMEM), 0, "from one to the other: and out of it");
	tap_ok(svm_counter("vram") == 0 && *word(mem, 3) == 23, "from one to the other: nothing is lost");
	munmap(mem, SIZE);
}

/* One that has no access faults, and the other goes on. The last of all. */
static void test_fault(struct side *a, struct side *b)
{
	char *mem = svm_pages(SIZE);

	memset(mem, 0, SIZE);
	set(b, mem, KFD_IOCTL_SVM_ATTR_ACCESS);
	put_copy(a, word(mem, 5), a->bounce);
	tap_is(event_wait(a->fault, LONG_MS), 0, "fault: of the one that has no access");
	tap_is((int64_t)a->fault->EventData.EventData.MemoryAccessFault.VirtualAddress,
	       (int64_t)gpu_va(word(mem, 5)), "fault: at the page");
	tap_is(a->fault->EventData.EventData.MemoryAccessFault.NodeId, a->gpu.node, "fault: by that GPU");
	tap_ok(stores(b, word(mem, 5), 31) && *word(mem, 5) == 31, "fault: the other goes on");
}

static void both(void *unused)
{
	(void)unused;
	setup();
	test_access(&sides[0], &sides[1]);
	test_access(&sides[1], &sides[0]);
	test_prefetch(&sides[0], &sides[1]);
	test_prefetch(&sides[1], &sides[0]);
	test_fault(&sides[0], &sides[1]);
}

int main(void)
{
	const char *why_not;

	tap_begin(300);
	if (access("/sys/devices/virtual/kfd/kfd/topology/nodes/2", F_OK))
		tap_skip_all("there is one GPU: ./run.sh exec --gpus 2");
	why_not = svm_begin();
	if (why_not)
		tap_skip_all(why_not);
	tap_child("two GPUs", both, NULL);
	svm_end();
	return tap_done();
}
