// SPDX-License-Identifier: MIT
/*
 * What the library says on stderr of a memory fault, for every kind of buffer the address
 * is in, was in or is near to. Also that it says nothing unless asked.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "thunk_fake.h"

#define PAGE 4096ull
#define BYTES (4 * PAGE)
#define KEPT 256	/* buffers that are remembered */

static const HsaMemFlags gtt = { .ui32 = { .HostAccess = 1, .NonPaged = 1 } };
static struct kfd_hsa_memory_exception_data fault;
static HsaEvent *event;

static int wait_fault(struct kfd_ioctl_wait_events_args *args, struct kfd_event_data *data)
{
	data[0].memory_exception_data = fault;
	args->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
	return 0;
}

static void begin(const char *level)
{
	HsaEventDescriptor desc = { .EventType = HSA_EVENTTYPE_MEMORY };

	if (level)
		setenv("HSAKMT_DEBUG_LEVEL", level, 1);
	fake.wait = wait_fault;
	fake_open();
	if (hsaKmtCreateEvent(&desc, true, false, &event) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no event");
	fault = (struct kfd_hsa_memory_exception_data){
		.gpu_id = FAKE_GPU_ID, .failure.NotPresent = 1,
	};
}

static void end(void)
{
	hsaKmtDestroyEvent(event);
}

/* What a wait that ends with a fault at @va says. */
static const char *said(uint64_t va)
{
	static char text[2048];
	int old = dup(2), fd = memfd_create("stderr", MFD_CLOEXEC);
	ssize_t n;

	fflush(stderr);
	if (old < 0 || fd < 0 || dup2(fd, 2) < 0)
		tap_bail("stderr: %m");
	fault.va = va;
	if (hsaKmtWaitOnEvent(event, 0) != HSAKMT_STATUS_SUCCESS)
		tap_bail("the wait fails");
	fflush(stderr);
	dup2(old, 2);
	close(old);
	n = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

__attribute__((format(printf, 3, 4)))
static void expect(const char *text, const char *what, const char *fmt, ...)
{
	char want[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	if (!tap_ok(strstr(text, want) != NULL, "%s: '%s'", what, want))
		tap_diag("said: %s", text);
}

static void *alloc(HSAuint32 node, HsaMemFlags flags)
{
	void *mem;

	if (hsaKmtAllocMemory(node, BYTES, flags, &mem) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no memory");
	return mem;
}

static uint64_t va_of(const void *mem)
{
	return (uintptr_t)mem;
}

static void free_all(void *mem)
{
	hsaKmtUnmapMemoryToGPU(mem);
	hsaKmtFreeMemory(mem, BYTES);
}

static void reasons(void)
{
	uint64_t far = 0x123456789000;

	begin("3");
	expect(said(far), "reason", "fault at 0x123456789000, node 1: page not present\n");
	expect(said(far), "no buffer at all", "not in or near any buffer");
	memset(&fault.failure, 0, sizeof(fault.failure));
	fault.failure.ReadOnly = 1;
	expect(said(far), "reason", "write to a read-only page\n");
	memset(&fault.failure, 0, sizeof(fault.failure));
	fault.failure.NoExecute = 1;
	expect(said(far), "reason", "execution of data\n");
	fault.ErrorType = KFD_MEM_ERR_SRAM_ECC;
	expect(said(0), "reason", "memory fault, node 1: memory error\n");
	fault.ErrorType = KFD_MEM_ERR_POISON_CONSUMED;
	expect(said(0), "reason", "memory fault, node 1: poisoned data\n");
	end();
}

static void quiet(void)
{
	unsetenv("HSAKMT_DEBUG_LEVEL");
	begin(NULL);
	tap_ok(!said(0x123456789000)[0], "nothing is said unless asked");
	end();
}

static void live(void)
{
	HsaMemFlags flags = gtt;
	uint64_t va, gpu_va = 0;
	char *user;
	void *mem;

	begin("3");
	mem = alloc(0, gtt);
	va = va_of(mem);
	expect(said(va + PAGE), "allocated", "in allocated memory at 0x%llx, %llu bytes, of node 0, not mapped",
	       (unsigned long long)va, BYTES);
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	expect(said(va + BYTES - 1), "its last byte", "of node 0, mapped to node 1\n");
	free_all(mem);

	flags.ui32.ReadOnly = 1;
	mem = alloc(FAKE_GPU_NODE, flags);
	hsaKmtMapMemoryToGPU(mem, BYTES, NULL);
	expect(said(va_of(mem)), "video memory", "of node 1, mapped to node 1, read-only\n");
	free_all(mem);

	flags = gtt;
	flags.ui32.OnlyAddress = 1;
	mem = alloc(FAKE_GPU_NODE, flags);
	expect(said(va_of(mem)), "reserved", "in an address range without memory at 0x%llx",
	       (unsigned long long)va_of(mem));
	hsaKmtFreeMemory(mem, BYTES);

	user = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (user == MAP_FAILED || hsaKmtRegisterMemory(user + 8, PAGE) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtMapMemoryToGPU(user + 8, PAGE, &gpu_va) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no user pointer");
	gpu_va &= ~(PAGE - 1);
	expect(said(gpu_va + PAGE), "registered", "in a registered user pointer at 0x%llx",
	       (unsigned long long)gpu_va);
	expect(said(gpu_va), "registered", "CPU address 0x%llx, mapped to node 1\n",
	       (unsigned long long)va_of(user + 8));
	hsaKmtUnmapMemoryToGPU(user + 8);
	hsaKmtDeregisterMemory(user + 8);
	expect(said(gpu_va), "once registered", "in what was a registered user pointer at 0x%llx",
	       (unsigned long long)gpu_va);
	munmap(user, BYTES);
	end();
}

static void imported(void)
{
	HsaGraphicsResourceInfo res = { 0 };
	HsaSharedMemoryHandle handle = { 0 };
	uint32_t node = FAKE_GPU_NODE;
	HSAuint64 size;
	void *mem, *other = NULL;

	fake.dmabuf_size = fake.ipc_size = BYTES;
	begin("3");
	if (hsaKmtRegisterGraphicsHandleToNodes(FAKE_DMABUF, &res, 1, &node) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no import");
	expect(said(va_of(res.MemoryAddress)), "a dma-buf", "in an imported graphics buffer at 0x%llx",
	       (unsigned long long)va_of(res.MemoryAddress));
	hsaKmtDeregisterMemory(res.MemoryAddress);
	expect(said(va_of(res.MemoryAddress)), "let go", "in what was an imported graphics buffer");
	mem = alloc(FAKE_GPU_NODE, gtt);
	if (hsaKmtShareMemory(mem, BYTES, &handle) != HSAKMT_STATUS_SUCCESS ||
	    hsaKmtRegisterSharedHandle(&handle, &other, &size) != HSAKMT_STATUS_SUCCESS)
		tap_bail("no shared memory");
	expect(said(va_of(other) + PAGE), "shared", "in an imported shared buffer at 0x%llx",
	       (unsigned long long)va_of(other));
	hsaKmtDeregisterMemory(other);
	free_all(mem);
	end();
}

/* @off bytes into address space that is nobody's. */
static uint64_t somewhere(uint64_t off)
{
	static char *space;

	if (!space) {
		space = mmap(NULL, 256 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
		if (space == MAP_FAILED)
			tap_bail("no address space");
		munmap(space, 256 << 20);
	}
	return va_of(space) + (128 << 20) + off;
}

static void *alloc_at(uint64_t va)
{
	void *mem = (void *)(uintptr_t)va;
	HsaMemFlags flags = gtt;

	flags.ui32.FixedAddress = 1;
	if (hsaKmtAllocMemory(0, BYTES, flags, &mem) != HSAKMT_STATUS_SUCCESS || va_of(mem) != va)
		tap_bail("no memory at a fixed address");
	return mem;
}

static void freed(void)
{
	uint64_t va = somewhere(0), other = somewhere(1 << 20);
	void *mem;
	int i;

	begin("3");
	free_all(alloc_at(va));
	expect(said(va + PAGE), "freed", "in what was allocated memory at 0x%llx, %llu bytes, of node 0, freed (0 others since)",
	       (unsigned long long)va, BYTES);
	mem = alloc_at(va);
	expect(said(va), "used again", "in allocated memory at 0x%llx", (unsigned long long)va);
	free_all(mem);
	for (i = 0; i < KEPT - 1; i++)
		free_all(alloc_at(other));
	expect(said(va), "the oldest of those kept", "freed (%d others since)", KEPT - 1);
	free_all(alloc_at(other));
	expect(said(va), "one more", "before allocated memory at 0x%llx, %llu bytes, of node 0, which was freed",
	       (unsigned long long)other, BYTES);
	end();
}

static void near_to(void)
{
	uint64_t va = somewhere(0);
	void *mem;

	begin("3");
	mem = alloc_at(va);
	expect(said(va + BYTES), "behind", "  0 bytes behind the end of allocated memory at 0x%llx",
	       (unsigned long long)va);
	expect(said(va + BYTES + 2 * PAGE), "behind", "  8192 bytes behind the end of allocated memory at");
	expect(said(va - PAGE), "before", "  4096 bytes before allocated memory at 0x%llx",
	       (unsigned long long)va);
	expect(said(va + BYTES + (17 << 20)), "too far", "not in or near any buffer");
	free_all(mem);
	expect(said(va - PAGE), "freed", "  4096 bytes before allocated memory at 0x%llx, %llu bytes, of node 0, which was freed\n",
	       (unsigned long long)va, BYTES);
	end();
}

int main(void)
{
	tap_begin(120);
	fake_scenario("reasons", reasons);
	fake_scenario("quiet", quiet);
	fake_scenario("live", live);
	fake_scenario("imported", imported);
	fake_scenario("freed", freed);
	fake_scenario("near", near_to);
	return tap_done();
}
