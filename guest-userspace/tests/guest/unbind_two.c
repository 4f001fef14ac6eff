// SPDX-License-Identifier: MIT
/*
 * One of two GPUs is taken away by unbind, the one for which all memory of a process was
 * made: the other goes on to use what is system memory, also where the process's pages move
 * afterwards and where its peer's memory was out of VRAM, and finds nothing where VRAM was.
 * Behind an IOMMU each has addresses of its own; then they are no peers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/amdgpu_drm.h>

#include "copier.h"
#include "counters.h"
#include "driver.h"
#include "gem_bo.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "queue.h"
#include "tap.h"

#define SIZE	(1u << 20)
#define LONG_MS	60000u
#define RW	KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE
#define KFD_VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC | RW)
#define KFD_GTT	(KFD_IOC_ALLOC_MEM_FLAGS_GTT | RW)

/* This process on both GPUs: the one that goes, and the one that stays. */
static struct copier gone, stays;

static void open_both(void)
{
	copier_open_nth(&gone, 0);
	copier_open_nth(&stays, 1);
}

static int map_on_other(const struct buffer *b)
{
	uint32_t id = stays.r.p.gpu_id;
	struct kfd_ioctl_map_memory_to_gpu_args a = {
		.handle = b->handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&id,
		.n_devices = 1,
	};

	return kfd_call(stays.r.p.kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &a);
}

static int unmap_on_other(const struct buffer *b)
{
	uint32_t id = stays.r.p.gpu_id;
	struct kfd_ioctl_unmap_memory_from_gpu_args a = {
		.handle = b->handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&id,
		.n_devices = 1,
	};

	return kfd_call(stays.r.p.kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &a);
}

/* GPU @c stores all over @va, and @cpu shows it. */
static void stores(struct copier *c, uint64_t va, const volatile uint32_t *cpu, uint32_t value,
		   const char *what)
{
	tap_ok(copier_fill(c, va, value, SIZE) && cpu[0] == value && cpu[SIZE / 4 - 1] == value, "%s",
	       what);
}

/* Memory of this process, registered by the one that goes and mapped on both. */
static uint32_t *registered(struct buffer *b)
{
	uint32_t *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		tap_bail("mmap: %m");
	memset(mem, 0, SIZE);
	*b = (struct buffer) { .va = (uintptr_t)mem, .size = SIZE };
	if (kfd_alloc(&gone.r.p, b->va, SIZE, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | RW, &b->handle, NULL) ||
	    kfd_map(&gone.r.p, b->handle) || map_on_other(b))
		tap_bail("no registered memory on two GPUs");
	return mem;
}

static void system_memory(void *unused)
{
	volatile uint32_t *gtt, *user;
	struct buffer g, u;

	(void)unused;
	open_both();
	if (buffer_alloc(&gone, &g, SIZE, KFD_GTT) || map_on_other(&g))
		tap_bail("no GTT memory on two GPUs");
	gtt = buffer_map(&gone, &g);
	user = registered(&u);
	stores(&gone, g.va, gtt, 1, "GTT memory of two GPUs: the one for which it was made");
	stores(&stays, g.va, gtt, 2, "and the other");
	stores(&gone, u.va, user, 3, "registered memory: the same");
	stores(&stays, u.va, user, 4, "and the other");
	madvise((void *)(uintptr_t)u.va, SIZE, MADV_DONTNEED);
	stores(&stays, u.va, user, 5, "also when its pages have moved");

	tap_ok(gpu_unbind(), "the one for which it was made is unbound");
	tap_is(gtt[7], 2, "GTT memory is there");
	stores(&stays, g.va, gtt, 6, "and is the other's");
	stores(&stays, u.va, user, 7, "so is registered memory");
	madvise((void *)(uintptr_t)u.va, SIZE, MADV_DONTNEED);
	stores(&stays, u.va, user, 8, "and stays so when its pages move");
	tap_is(unmap_on_other(&u), 0, "it is unmapped there");
	tap_is(map_on_other(&u), -EINVAL, "and not mapped again");
	tap_is(kfd_free(&stays.r.p, u.handle), -EBUSY, "the lost GPU still has it");
	tap_is(kfd_unmap(&gone.r.p, u.handle), 0, "until it is unmapped");
	tap_is(kfd_free(&stays.r.p, u.handle), 0, "and freed");
	tap_is(unmap_on_other(&g), 0, "GTT memory, too");
}

/* VRAM of the one that goes, shown to its peer, in and out of it. */
static void peer_memory(void *unused)
{
	uint64_t rest = 2 * SIZE;
	struct buffer hog, in, out, kfd, bounce;
	volatile uint32_t *look;
	struct gem_bo bo;

	(void)unused;
	open_both();
	hog_all_but(&gone, &hog, rest + SIZE);
	if (buffer_alloc(&gone, &in, SIZE, KFD_VRAM) || map_on_other(&in) ||
	    gem_create(&bo, gone.r.p.render, SIZE, AMDGPU_GEM_DOMAIN_VRAM) ||
	    gem_to_kfd(&bo, &gone, &out) || map_on_other(&out) ||
	    buffer_alloc(&stays, &bounce, SIZE, KFD_GTT))
		tap_bail("no VRAM of a peer");
	look = buffer_map(&stays, &bounce);
	pattern_put(gem_map(&bo), SIZE, 1);
	if (buffer_alloc(&gone, &kfd, copier_available(&gone), KFD_VRAM))
		tap_bail("no VRAM");
	tap_ok(vram_counter("away") == 1, "memory of a peer is out of VRAM");
	tap_ok(copier_copy(&stays, bounce.va, out.va, SIZE) && !pattern_wrong(look, SIZE, 1),
	       "the other reads it there");
	tap_ok(copier_copy(&stays, bounce.va, in.va, SIZE) && !look[0], "and VRAM");
	tap_ok(gpu_unbind(), "it is unbound");
	tap_ok(copier_copy(&stays, bounce.va, out.va, SIZE) && !pattern_wrong(look, SIZE, 1),
	       "what was out of VRAM is there");
	tap_is((int64_t)pattern_wrong(bo.cpu, SIZE, 1), 0, "for CPUs, too");
	tap_ok(copier_fill(&stays, out.va, 4711, SIZE) && bo.cpu[3] == 4711, "both see one memory");
	/* A fault ends the queues, so it is the last. */
	raw_put_copy_va(&stays.q, bounce.va, in.va, SIZE);
	raw_put_write(&stays.q, stays.q.word, 0x777);
	raw_submit(&stays.q);
	tap_ok(kfd_counter_wait("ih", "vm_fault", 1, LONG_MS), "VRAM is no more");
	tap_ok(*stays.q.word != 0x777, "who reads it does not go on");
}

static void works(void *unused)
{
	volatile uint32_t *cpu;
	struct buffer g;

	(void)unused;
	open_both();
	if (buffer_alloc(&gone, &g, SIZE, KFD_GTT) || map_on_other(&g))
		tap_bail("no GTT memory on two GPUs");
	cpu = buffer_map(&gone, &g);
	stores(&gone, g.va, cpu, 9, "the one that is back works");
	stores(&stays, g.va, cpu, 10, "and the other");
}

int main(void)
{
	char parameters[64];

	tap_begin(300);
	if (!gpu_sysfs_find_nth(1))
		tap_skip_all("there is one GPU: ./run.sh exec --gpus 2");
	gpu_sysfs_find();
#ifdef BEHIND_IOMMU
	if (!gpu_has_iommu())
		tap_skip_all("no IOMMU: --qemu '-device intel-iommu' --append intel_iommu=on");
#endif
	tap_child("system memory", system_memory, NULL);
	tap_ok(gpu_bind(), "it is bound again");
	tap_child("works", works, NULL);
	if (gpu_has_iommu())
		return tap_done();
	/* An emulated bus passes accesses of a peer, whatever the kernel says. */
	snprintf(parameters, sizeof(parameters), "sched_policy=%d pcie_p2p=2", driver_sched_policy());
	if (!tap_ok(driver_reload_with(parameters), "the driver is told to make peers of them"))
		return tap_done();
	gpu_sysfs_find();
	tap_child("peer's memory", peer_memory, NULL);
	tap_ok(gpu_bind(), "it is bound again");
	tap_child("works", works, NULL);
	snprintf(parameters, sizeof(parameters), "sched_policy=%d", driver_sched_policy());
	tap_ok(driver_reload_with(parameters), "and as it was");
	return tap_done();
}
