// SPDX-License-Identifier: MIT
/*
 * Two GPUs in one process: what the topology says of them, one events page for both,
 * memory mapped to both, copies between them, and one of them failing or going while the
 * other works. All of it twice: as the kernel would have it, and with each other's memory
 * mapped whatever it says (vkfd.pcie_p2p=2).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "gpu.h"
#include "gpu_sysfs.h"
#include "kfd.h"
#include "queue.h"
#include "sdma_queue.h"
#include "tap.h"
#include "waiter.h"

#define TOPOLOGY	"/sys/devices/virtual/kfd/kfd/topology/nodes"
#define LONG_MS		60000u
#define RING_BYTES	8192u
#define GPUS		2u
#define EVENTS		4u
#define ROUNDS		20u
#define ADDS		500u
#define COPY_BYTES	(256u * 1024)
#define EVENTS_PAGE	32768u
#define NO_GPU		0xfffffu
#define LINK_PCIE	2
#define LINK_ENABLED	1
#define LINK_NON_COHERENT 2

/**
 * struct side - a GPU with what a process has there
 * @vram: COPY_BYTES of its memory
 */
struct side {
	struct gpu gpu;
	struct queue q;
	struct sdma_queue sdma;
	HsaEvent *ev[EVENTS];
	uint32_t *vram;
};

struct both {
	struct side side[GPUS];
	uint32_t *sys;			/* COPY_BYTES, mapped to both */
	volatile uint64_t *word;
	HsaEvent *memory, *hw;
};

/* "Property @key of node @node's @file", or -1. */
static long long node_value(unsigned int node, const char *file, const char *key)
{
	char path[160], name[64];
	unsigned long long value;
	long long found = -1;
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%u/%s/properties", node, file);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fscanf(f, "%63s %llu\n", name, &value) == 2)
		if (!strcmp(name, key))
			found = (long long)value;
	fclose(f);
	return found;
}

static bool are_peers(void)
{
	return node_value(1, ".", "p2p_links_count") == 1;
}

static void setup(struct both *b)
{
	unsigned int i, j;

	memset(b, 0, sizeof(*b));
	for (i = 0; i < GPUS; i++) {
		struct side *s = &b->side[i];

		if (gpu_open_nth(&s->gpu, i) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no GPU %u", i);
	}
	for (i = 0; i < GPUS; i++) {
		struct side *s = &b->side[i];

		s->vram = mem_alloc(&s->gpu, MEM_VRAM, COPY_BYTES);
		if (!s->vram || queue_create(&s->q, &s->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS ||
		    sdma_queue_create(&s->sdma, &s->gpu, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
			tap_bail("no memory or queue on GPU %u", i);
		for (j = 0; j < EVENTS; j++)
			if (!(s->ev[j] = event_new(&s->gpu, HSA_EVENTTYPE_SIGNAL, false)))
				tap_bail("no event");
	}
	b->sys = mem_alloc(&b->side[0].gpu, MEM_GTT, COPY_BYTES);
	b->word = mem_alloc(&b->side[0].gpu, MEM_SYSTEM, GPU_PAGE);
	b->memory = event_new(&b->side[0].gpu, HSA_EVENTTYPE_MEMORY, false);
	b->hw = event_new(&b->side[0].gpu, HSA_EVENTTYPE_HW_EXCEPTION, true);
	if (!b->sys || !b->word || !b->memory || !b->hw)
		tap_bail("no system memory or event");
}

static uint32_t *reserve(struct queue *q, uint32_t dw)
{
	uint32_t *p = queue_reserve_wait(q, dw, LONG_MS);

	if (!p)
		tap_bail("a ring does not drain");
	return p;
}

static void put_write(struct queue *q, const volatile uint64_t *at, uint64_t value)
{
	queue_commit(q, pm4_write64(reserve(q, PM4_WRITE64_DW), gpu_va(at), value));
}

static void put_signal(struct queue *q, const HsaEvent *ev)
{
	queue_commit(q, pm4_signal(reserve(q, PM4_RELEASE_MEM_DW), event_slot(ev), ev->EventId));
}

static bool signals(struct side *s, HsaEvent *ev)
{
	put_signal(&s->q, ev);
	queue_submit(&s->q);
	return event_wait(ev, LONG_MS) == HSAKMT_STATUS_SUCCESS;
}

static void topology_links(unsigned int node)
{
	tap_is(node_value(0, node == 1 ? "io_links/0" : "io_links/1", "node_to"), node,
	       "a link leads from the CPU to node %u", node);
	tap_is(node_value(0, node == 1 ? "io_links/0" : "io_links/1", "flags") &
		       (LINK_ENABLED | LINK_NON_COHERENT),
	       LINK_ENABLED | LINK_NON_COHERENT, "it counts, and is not coherent");
	tap_ok(node_value(node, "io_links/0", "node_from") == node &&
		       node_value(node, "io_links/0", "node_to") == 0, "one back from node %u", node);
	tap_is(node_value(node, "io_links/0", "flags") & (LINK_ENABLED | LINK_NON_COHERENT),
	       LINK_ENABLED, "which is coherent");
	tap_is(node_value(node, ".", "io_links_count"), 1, "no other direct one");
}

static void peer_link(unsigned int from, unsigned int to)
{
	tap_ok(node_value(from, "p2p_links/0", "node_from") == from &&
		       node_value(from, "p2p_links/0", "node_to") == to,
	       "a peer link from node %u to %u", from, to);
	tap_is(node_value(from, "p2p_links/0", "type"), LINK_PCIE, "over PCIe");
	tap_is(node_value(from, "p2p_links/0", "weight"), 2 * node_value(from, "io_links/0", "weight"),
	       "twice as far as the CPU");
	tap_is(node_value(from, "p2p_links/0", "flags") & (LINK_ENABLED | LINK_NON_COHERENT),
	       LINK_ENABLED | LINK_NON_COHERENT, "not coherent");
}

static void topology(void *arg)
{
	bool *want_peers = arg;
	HsaIoLinkProperties link[4];
	struct gpu a, b;
	unsigned int i, to_gpu = 0;
	bool peers;

	if (gpu_open_nth(&a, 0) != HSAKMT_STATUS_SUCCESS || gpu_open_nth(&b, 1) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no two GPUs");
	tap_ok(a.props.KFDGpuID && b.props.KFDGpuID && a.props.KFDGpuID != b.props.KFDGpuID,
	       "two GPU ids");
	tap_ok(a.props.DrmRenderMinor != b.props.DrmRenderMinor, "two render nodes");
	tap_ok(a.props.LocationId != b.props.LocationId, "two places on the bus");
	tap_ok(node_value(1, ".", "simd_id_base") != node_value(2, ".", "simd_id_base"),
	       "two ranges of SIMDs");
	tap_is(node_value(0, ".", "io_links_count"), 2, "the CPU has a link to each");
	topology_links(1);
	topology_links(2);
	peers = are_peers();
	if (want_peers)
		tap_is(peers, *want_peers, "peers as the driver was told");
	tap_is(node_value(2, ".", "p2p_links_count"), peers, "both are peers or none is");
	if (peers) {
		peer_link(1, 2);
		peer_link(2, 1);
	}
	tap_is(a.props.NumIOLinks, peers ? 2 : 1, "the library counts the same links");
	if (a.props.NumIOLinks > 4 ||
	    hsaKmtGetNodeIoLinkProperties(a.node, a.props.NumIOLinks, link) != HSAKMT_STATUS_SUCCESS)
		tap_bail("links of node %u", a.node);
	for (i = 0; i < a.props.NumIOLinks; i++)
		to_gpu += link[i].NodeTo == b.node;
	tap_is(to_gpu, peers, "and leads to the other GPU if it is a peer");
}

/* Events are the process's: any GPU may signal any of them, all through one page. */
static void events(void *arg)
{
	unsigned int i, j, round, late = 0, crossed = 0, outside = 0;
	HsaEvent *all[GPUS * EVENTS + GPUS], *traps[GPUS];
	struct both b;
	uint64_t page;

	(void)arg;
	setup(&b);
	page = gpu_va(event_slot(b.side[0].ev[0])) & ~(uint64_t)(EVENTS_PAGE - 1);
	for (i = 0; i < GPUS; i++) {
		traps[i] = event_new(&b.side[i].gpu, HSA_EVENTTYPE_SIGNAL, false);
		all[GPUS * EVENTS + i] = traps[i];
		for (j = 0; j < EVENTS; j++) {
			all[i * EVENTS + j] = b.side[i].ev[j];
			outside += gpu_va(event_slot(b.side[i].ev[j])) - page >= EVENTS_PAGE;
		}
	}
	tap_is(outside, 0, "events of both GPUs have slots in one page");
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < GPUS; i++) {
			struct side *s = &b.side[i];
			uint32_t *p = sdma_queue_reserve(&s->sdma, SDMA_SIGNAL_DW);

			sdma_queue_commit(&s->sdma, sdma_signal(p, event_slot(traps[i]), traps[i]->EventId));
			for (j = 0; j < EVENTS; j++)
				put_signal(&s->q, s->ev[j]);
		}
		for (i = 0; i < GPUS; i++) {
			queue_submit(&b.side[i].q);
			sdma_queue_submit(&b.side[i].sdma);
		}
		late += events_wait(all, GPUS * EVENTS + GPUS, true, LONG_MS, NULL) != HSAKMT_STATUS_SUCCESS;
		crossed += !signals(&b.side[round & 1], b.side[~round & 1].ev[0]);
	}
	tap_is(late, 0, "one wait for completions of four queues of two GPUs");
	tap_is(crossed, 0, "either GPU signals an event that was made for the other");
}

static int map_list(int kfd, uint64_t handle, const uint32_t *ids, uint32_t n, uint32_t *done)
{
	struct kfd_ioctl_map_memory_to_gpu_args a = {
		.handle = handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)ids,
		.n_devices = n,
		.n_success = *done,
	};
	int r = kfd_call(kfd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &a);

	*done = a.n_success;
	return r;
}

static int unmap_one(int kfd, uint64_t handle, uint32_t id)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args a = {
		.handle = handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&id,
		.n_devices = 1,
	};

	return kfd_call(kfd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &a);
}

static uint32_t gpu_id_of(unsigned int node)
{
	char path[96];
	uint32_t id = 0;
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%u/gpu_id", node);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%u", &id) != 1)
		tap_bail("%s: %m", path);
	fclose(f);
	return id;
}

static int acquire(int kfd, int render, uint32_t gpu_id)
{
	struct kfd_ioctl_acquire_vm_args a = { .drm_fd = (uint32_t)render, .gpu_id = gpu_id };

	return kfd_call(kfd, AMDKFD_IOC_ACQUIRE_VM, &a);
}

/* A process without a thunk, which would acquire a VM on every GPU. */
static void maps(void *arg)
{
	const uint32_t rw = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
	uint32_t list[3] = { gpu_id_of(1), gpu_id_of(2), NO_GPU }, done = 0;
	bool peers = are_peers();
	uint64_t gtt, vram;
	struct kfd_proc p;
	char path[64];
	int second;
	char *va;

	(void)arg;
	kfd_proc_open(&p);
	va = kfd_reserve_va(2 * COPY_BYTES);
	if (kfd_alloc(&p, gpu_va(va), COPY_BYTES, rw | KFD_IOC_ALLOC_MEM_FLAGS_GTT, &gtt, NULL) ||
	    kfd_alloc(&p, gpu_va(va + COPY_BYTES), COPY_BYTES, rw | KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &vram,
		      NULL))
		tap_bail("no memory");
	tap_is(map_list(p.kfd, gtt, list, 2, &done), -ENODEV, "a GPU on which the process has no VM");
	tap_is(done, 1, "ends the list behind the one before it");

	snprintf(path, sizeof(path), "/dev/dri/renderD%lld", node_value(2, ".", "drm_render_minor"));
	second = open(path, O_RDWR | O_CLOEXEC);
	if (second < 0)
		tap_bail("%s: %m", path);
	tap_is(acquire(p.kfd, p.render, list[1]), -EINVAL, "a render node is good for its own GPU only");
	tap_is(acquire(p.kfd, second, list[1]), 0, "a VM on the second GPU");

	tap_is(map_list(p.kfd, gtt, list, 3, &done), -EINVAL, "a stranger behind both");
	tap_is(done, 2, "leaves system memory mapped to both");
	tap_is(kfd_free(&p, gtt), -EBUSY, "which cannot be freed");
	tap_is(unmap_one(p.kfd, gtt, list[0]), 0, "unmapped from the GPU it was allocated for");
	tap_is(kfd_free(&p, gtt), -EBUSY, "it still cannot");
	tap_is(unmap_one(p.kfd, gtt, list[1]), 0, "unmapped from the other, too");
	tap_is(kfd_free(&p, gtt), 0, "it can");

	done = 0;
	tap_is(map_list(p.kfd, vram, list, 2, &done), peers ? 0 : -EINVAL,
	       "VRAM of one GPU is mapped to the other if they are peers");
	tap_is(done, peers ? 2 : 1, "and to its own in any case");
	tap_is(kfd_free(&p, vram), -EBUSY, "it cannot be freed");
	if (peers)
		tap_is(unmap_one(p.kfd, vram, list[1]), 0, "unmapped from the peer");
	tap_is(unmap_one(p.kfd, vram, list[1]), -EINVAL, "it is not mapped there");
	tap_is(unmap_one(p.kfd, vram, list[0]), 0, "unmapped from its own");
	tap_is(kfd_free(&p, vram), 0, "it can be freed");
	close(second);
	kfd_proc_close(&p);
}

static void put_copy(struct side *s, const void *dst, const void *src)
{
	uint32_t *p = sdma_queue_reserve(&s->sdma, SDMA_PKT_COPY_LINEAR_DW);

	sdma_queue_commit(&s->sdma, sdma_copy(p, gpu_va(dst), gpu_va(src), COPY_BYTES));
}

static void put_sdma_signal(struct side *s, const HsaEvent *ev)
{
	uint32_t *p = sdma_queue_reserve(&s->sdma, SDMA_SIGNAL_DW);

	sdma_queue_commit(&s->sdma, sdma_signal(p, event_slot(ev), ev->EventId));
}

static void fill(uint32_t *at, uint32_t seed)
{
	unsigned int i;

	for (i = 0; i < COPY_BYTES / 4; i++)
		at[i] = seed + i * 2654435761u;
}

static unsigned int wrong_words(const uint32_t *at, uint32_t seed)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < COPY_BYTES / 4; i++)
		wrong += at[i] != seed + i * 2654435761u;
	return wrong;
}

/* The second GPU waits for the first one's fence in system memory, not for the CPU. */
static void copies(void *arg)
{
	struct side *s;
	struct both b;
	unsigned int i, late = 0;
	uint32_t *p;

	(void)arg;
	setup(&b);
	s = b.side;
	fill(s[0].vram, 1);
	put_copy(&s[0], b.sys, s[0].vram);
	p = sdma_queue_reserve(&s[0].sdma, SDMA_PKT_FENCE_DW);
	sdma_queue_commit(&s[0].sdma, sdma_fence(p, gpu_va(b.word), 1));
	p = sdma_queue_reserve(&s[1].sdma, SDMA_PKT_POLL_REGMEM_DW);
	sdma_queue_commit(&s[1].sdma, sdma_poll_mem(p, gpu_va(b.word), WAIT_REG_MEM_EQ, 1, ~0u));
	put_copy(&s[1], s[1].vram, b.sys);
	put_sdma_signal(&s[1], s[1].ev[0]);
	sdma_queue_submit(&s[1].sdma);
	sdma_queue_submit(&s[0].sdma);
	tap_is(event_wait(s[1].ev[0], LONG_MS), 0, "from VRAM to VRAM through system memory");
	tap_is(wrong_words(s[1].vram, 1), 0, "all of it is there");

	if (!are_peers())
		return;
	for (i = 0; i < GPUS; i++) {
		struct side *from = &s[i], *to = &s[!i];

		fill(from->vram, 2 + i);
		put_copy(from, to->vram, from->vram);
		put_sdma_signal(from, from->ev[0]);
		sdma_queue_submit(&from->sdma);
		tap_is(event_wait(from->ev[0], LONG_MS), 0, "GPU %u writes into its peer's VRAM", i);
		tap_is(wrong_words(to->vram, 2 + i), 0, "all of it is there");
		memset(to->vram, 0, COPY_BYTES);
		put_copy(to, to->vram, from->vram);
		put_sdma_signal(to, to->ev[0]);
		sdma_queue_submit(&to->sdma);
		tap_is(event_wait(to->ev[0], LONG_MS), 0, "GPU %u reads its peer's VRAM", !i);
		tap_is(wrong_words(to->vram, 2 + i), 0, "all of it is there");
	}
	/* Both add to one word, which is the second one's own. */
	memset(s[1].vram, 0, 8);
	for (i = 0; i < ADDS; i++) {
		queue_commit(&s[0].q, pm4_add64(reserve(&s[0].q, PM4_ADD64_DW), gpu_va(s[1].vram), 1));
		queue_commit(&s[1].q, pm4_add64(reserve(&s[1].q, PM4_ADD64_DW), gpu_va(s[1].vram), 1));
		queue_submit(&s[i & 1].q);
	}
	for (i = 0; i < GPUS; i++)
		late += !signals(&s[i], s[i].ev[1]);
	tap_is(late, 0, "two GPUs add to a word at the same time");
	tap_is((int64_t)*(volatile uint64_t *)s[1].vram, 2 * ADDS, "no addition is lost");
}

static const HsaMemoryAccessFault *fault_of(const HsaEvent *ev)
{
	return &ev->EventData.EventData.MemoryAccessFault;
}

static void check_one_faulted(struct both *b, unsigned int bad, uint64_t page)
{
	struct side *s = b->side;

	tap_is(event_wait(b->memory, LONG_MS), 0, "MEMORY fires");
	tap_is((int64_t)fault_of(b->memory)->VirtualAddress, (int64_t)page, "with the page");
	tap_is(fault_of(b->memory)->NodeId, s[bad].gpu.node, "and the node of the GPU it was");
	tap_ok(signals(&s[!bad], s[!bad].ev[0]), "the process's queue on the other GPU goes on");
	/* What was evicted does not run, as that one has witnessed. */
	put_write(&s[bad].q, b->word, 7);
	queue_submit(&s[bad].q);
	tap_ok(signals(&s[!bad], s[!bad].ev[0]) && *b->word != 7, "that on the faulting one does not");
	tap_is(hsaKmtWaitOnEvent(b->memory, 0), HSAKMT_STATUS_WAIT_TIMEOUT, "and that is all");
	tap_is(hsaKmtDestroyQueue(s[bad].q.res.QueueId), 0, "it can be destroyed");
}

static void fault(void *arg)
{
	struct both b;
	void *gone;

	(void)arg;
	setup(&b);
	gone = mem_alloc(&b.side[1].gpu, MEM_VRAM, GPU_PAGE);
	if (!gone || hsaKmtUnmapMemoryToGPU(gone) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no memory");
	put_write(&b.side[1].q, gone, 1);
	queue_submit(&b.side[1].q);
	check_one_faulted(&b, 1, gpu_va(gone));
}

/* VRAM of one GPU in the other's hands, where they are no peers. */
static void strangers_fault(void *arg)
{
	struct both b;

	(void)arg;
	setup(&b);
	put_write(&b.side[0].q, (volatile uint64_t *)b.side[1].vram, 1);
	queue_submit(&b.side[0].q);
	check_one_faulted(&b, 0, gpu_va(b.side[1].vram));
	tap_is((int64_t)*(volatile uint64_t *)b.side[1].vram, 0, "and nothing is written");
}

/**
 * struct onlooker - a process with a VM on both GPUs and a queue on the first alone
 * @go: told when the second is gone
 */
struct onlooker {
	int go[2];
	int ready[2];
	pid_t pid;
};

static void onlooker_run(struct onlooker *o)
{
	struct waiter w = { .n = 1, .all = true, .ms = HSA_EVENTTIMEOUT_INFINITE };
	struct queue q;
	HsaEvent *ev;
	struct gpu g;
	char byte = 0;

	if (gpu_open(&g) != HSAKMT_STATUS_SUCCESS ||
	    !(ev = event_new(&g, HSA_EVENTTYPE_SIGNAL, false)) ||
	    queue_create(&q, &g, RING_BYTES) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no queue");
	w.events = &ev;
	waiter_start(&w);
	if (write(o->ready[1], &byte, 1) != 1 || read(o->go[0], &byte, 1) != 1)
		tap_bail("pipe: %m");
	tap_ok(!w.done, "a wait of a process without queues on the GPU that goes is not disturbed");
	put_signal(&q, ev);
	queue_submit(&q);
	tap_is(waiter_join(&w), 0, "and is completed by the other GPU");
	_exit(0);
}

static void onlooker_start(struct onlooker *o)
{
	char byte;

	if (pipe(o->go) || pipe(o->ready))
		tap_bail("pipe: %m");
	o->pid = fork();
	if (o->pid < 0)
		tap_bail("fork: %m");
	if (!o->pid)
		onlooker_run(o);
	if (read(o->ready[0], &byte, 1) != 1)
		tap_bail("the other process did not start");
}

static void unplug(void *arg)
{
	struct onlooker *o = arg;
	struct waiter w = { .n = 1, .all = true, .ms = HSA_EVENTTIMEOUT_INFINITE };
	bool peers = are_peers();
	struct side *s;
	struct both b;
	char byte = 0;
	int status;

	onlooker_start(o);
	setup(&b);
	s = b.side;
	w.events = &s[1].ev[0];
	waiter_start(&w);
	if (!gpu_remove(s[1].gpu.props.Domain, s[1].gpu.props.LocationId))
		tap_bail("unplugging: %m");
	tap_ok(waiter_join(&w) != HSAKMT_STATUS_SUCCESS, "a wait ends when a GPU of the process goes");
	tap_is(event_wait(b.hw, LONG_MS), 0, "HW_EXCEPTION fires");
	tap_is(b.hw->EventData.EventData.HwException.NodeId, s[1].gpu.node, "with the node that went");
	tap_ok(signals(&s[0], s[0].ev[0]), "the other GPU works, and is waited for");
	tap_ok(signals(&s[0], s[1].ev[1]), "also with an event made for the one that went");
	put_copy(&s[0], b.sys, s[0].vram);
	put_sdma_signal(&s[0], s[0].ev[2]);
	sdma_queue_submit(&s[0].sdma);
	tap_is(event_wait(s[0].ev[2], LONG_MS), 0, "and its SDMA");
	tap_is(node_value(2, ".", "simd_count"), -1, "the topology has one GPU");
	tap_is(node_value(1, ".", "p2p_links_count"), 0, "which is nobody's peer");

	if (write(o->go[1], &byte, 1) != 1 || waitpid(o->pid, &status, 0) != o->pid)
		tap_bail("the other process: %m");
	tap_is(status, 0, "the other process ended well");
	/* It comes back at its old addresses, and is somebody else's memory now. */
	tap_ok(gpu_rescan(), "the GPU comes back");
	put_write(&s[0].q, (volatile uint64_t *)s[1].vram, 1);
	queue_submit(&s[0].q);
	tap_is(event_wait(b.memory, LONG_MS), 0, "VRAM that went is no more%s",
	       peers ? ", for its peer either" : "");
	tap_is((int64_t)fault_of(b.memory)->VirtualAddress, (int64_t)gpu_va(s[1].vram), "a fault tells");
	tap_is(fault_of(b.memory)->NodeId, s[0].gpu.node, "of the GPU that is left");
	tap_is(fault_of(b.memory)->Failure.NotPresent, 1, "that nothing is there");
}

static void again(void *arg)
{
	struct both b;

	(void)arg;
	setup(&b);
	tap_ok(signals(&b.side[0], b.side[0].ev[0]) && signals(&b.side[1], b.side[1].ev[0]),
	       "both GPUs work when it is back");
}

static void everything(const char *how, bool *want_peers)
{
	struct onlooker o;

	tap_diag("%s", how);
	tap_child("topology", topology, want_peers);
	tap_child("maps", maps, NULL);
	tap_child("events", events, NULL);
	tap_child("copies", copies, NULL);
	tap_child("fault", fault, NULL);
	if (!are_peers())
		tap_child("strangers", strangers_fault, NULL);
	tap_child("unplug", unplug, &o);
	tap_child("topology", topology, want_peers);
	tap_child("again", again, NULL);
}

int main(void)
{
	bool yes = true;
	char parameters[64];

	tap_begin(200);
	if (node_value(2, ".", "simd_count") <= 0)
		tap_skip_all("there is one GPU: ./run.sh exec --gpus 2");
	everything("as the kernel would have it", NULL);
	snprintf(parameters, sizeof(parameters), "sched_policy=%d pcie_p2p=2", driver_sched_policy());
	if (!tap_ok(driver_reload_with(parameters), "the driver is told to make peers of them"))
		return tap_done();
	/* But not behind an IOMMU. */
	yes = !gpu_sysfs_find() || !gpu_has_iommu();
	everything("as peers", &yes);
	return tap_done();
}
