// SPDX-License-Identifier: MIT
/*
 * The signal page that user space hands to the kernel with its first event, and
 * the two spaces of event ids. Raw ioctls, each case in a process of its own.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd.h"
#include "tap.h"

#define PAGE_BYTES	(KFD_SIGNAL_EVENT_LIMIT * 8u)
#define NONSIGNAL_FIRST	0x40000000u
#define GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | \
		 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | \
		 KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE)

struct page {
	uint64_t handle;
	volatile uint64_t *slots;
};

static struct page make_page(const struct kfd_proc *p, size_t size)
{
	void *va = kfd_reserve_va(size);
	struct page page;
	uint64_t offset;
	int r;

	r = kfd_alloc(p, (uint64_t)(uintptr_t)va, size, GTT, &page.handle, &offset);
	if (r)
		tap_bail("ALLOC of an events page: errno %d", -r);
	if (mmap(va, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->render,
		 (off_t)offset) == MAP_FAILED)
		tap_bail("mmap of an events page: %m");
	r = kfd_map(p, page.handle);
	if (r)
		tap_bail("MAP of an events page: errno %d", -r);
	memset(va, 0x5a, size);
	page.slots = va;
	return page;
}

static int create(const struct kfd_proc *p, uint32_t type, uint64_t page,
		  struct kfd_ioctl_create_event_args *out)
{
	*out = (struct kfd_ioctl_create_event_args){ .event_type = type, .auto_reset = 1,
						    .event_page_offset = page };
	return kfd_call(p->kfd, AMDKFD_IOC_CREATE_EVENT, out);
}

static void good_page(void *arg)
{
	struct kfd_ioctl_create_event_args c;
	struct page page, second;
	unsigned int i, wrong = 0;
	struct kfd_proc p;
	uint32_t id;

	(void)arg;
	kfd_proc_open(&p);
	page = make_page(&p, PAGE_BYTES);
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, page.handle, &c), 0, "first event with a page");
	for (i = 0; i < KFD_SIGNAL_EVENT_LIMIT; i++)
		wrong += page.slots[i] != ~0ull;
	tap_is(wrong, 0, "every slot of the page is unsignalled");
	tap_ok(c.event_page_offset >> 62 == 2, "a page offset of type events is returned");
	tap_ok(c.event_id >= 1 && c.event_id < KFD_SIGNAL_EVENT_LIMIT, "the id is not 0");
	tap_is(c.event_slot_index, c.event_id, "the slot has the number of the id");
	tap_is(c.event_trigger_data, c.event_id, "the trigger data is the id");
	tap_is(kfd_free(&p, page.handle), -EPERM, "the page cannot be freed");

	second = make_page(&p, PAGE_BYTES);
	id = c.event_id;
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, second.handle, &c), -EINVAL, "a second page is refused");
	tap_is((int64_t)second.slots[1], 0x5a5a5a5a5a5a5a5a, "and is not touched");
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, 0, &c), 0, "another event on the first page");
	tap_ok(c.event_id != id, "with another id");

	tap_is(create(&p, KFD_IOC_EVENT_MEMORY, 0, &c), 0, "a MEMORY event");
	tap_ok(c.event_id >= NONSIGNAL_FIRST, "has an id behind all signal ids");
	tap_is(create(&p, KFD_IOC_EVENT_HW_EXCEPTION, 0, &c), 0, "a HW_EXCEPTION event");
	tap_ok(c.event_id > NONSIGNAL_FIRST, "has another one");
	kfd_proc_close(&p);
}

/* bug 10: a page that is too small must not be cleared beyond its end. */
static void small_page(void *arg)
{
	struct kfd_ioctl_create_event_args c;
	struct page small, canary;
	struct kfd_proc p;

	(void)arg;
	kfd_proc_open(&p);
	small = make_page(&p, 4096);
	canary = make_page(&p, 4096);
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, small.handle, &c), -EINVAL, "a page of 4 KiB is refused");
	tap_is((int64_t)small.slots[0], 0x5a5a5a5a5a5a5a5a, "and is not touched");
	tap_is((int64_t)canary.slots[511], 0x5a5a5a5a5a5a5a5a, "nor is another buffer");
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, 1, &c), -EINVAL, "a handle of no GPU is refused");
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, (uint64_t)p.gpu_id << 32 | 0x7fff, &c), -EINVAL,
	       "an unknown handle is refused");
	tap_is(kfd_unmap(&p, small.handle), 0, "the refused page can be unmapped");
	tap_is(kfd_free(&p, small.handle), 0, "and freed: no reference is left");
	canary = make_page(&p, PAGE_BYTES);
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, canary.handle, &c), 0, "a good page is taken after that");
	kfd_proc_close(&p);
}

static void foreign_memory(void *arg)
{
	struct kfd_ioctl_create_event_args c;
	uint64_t handle, offset;
	struct kfd_proc p;
	void *va;

	(void)arg;
	kfd_proc_open(&p);
	va = kfd_reserve_va(PAGE_BYTES);
	if (kfd_alloc(&p, (uint64_t)(uintptr_t)va, PAGE_BYTES,
		      KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE, &handle, &offset))
		tap_bail("no VRAM");
	tap_is(create(&p, KFD_IOC_EVENT_SIGNAL, handle, &c), -EINVAL, "a page in VRAM is refused");
	kfd_proc_close(&p);
}

int main(void)
{
	tap_begin(300);
	tap_child("good page", good_page, NULL);
	tap_child("small page", small_page, NULL);
	tap_child("foreign memory", foreign_memory, NULL);
	return tap_done();
}
