// SPDX-License-Identifier: MIT
/*
 * The transport rules of /dev/kfd, and the errno of ioctls that need no memory
 * or queue: each wrong call must fail as upstream fails it and change nothing.
 * Raw ioctls; the thunk takes no part.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd.h"
#include "tap.h"

#define BAD_PTR		((void *)16)
#define KFD_TYPE_DOORBELL_OFFSET	(3ull << 62)
/* An ioctl of /dev/kfd with any number. */
#define KFD_NR(nr)	_IOWR('K', nr, struct kfd_ioctl_get_version_args)

static void test_version(int fd)
{
	struct {
		struct kfd_ioctl_get_version_args v;
		uint8_t tail[56];
	} big;
	struct kfd_ioctl_get_version_args v = { 0 };
	unsigned int i, dirty = 0;

	tap_is(kfd_call(fd, AMDKFD_IOC_GET_VERSION, &v), 0, "GET_VERSION");
	tap_is(v.major_version, 1, "major version");
	tap_ok(v.minor_version == 15, "minor version is 15");
	tap_is(kfd_call(fd, AMDKFD_IOC_GET_VERSION, BAD_PTR), -EFAULT, "GET_VERSION to a bad pointer");

	memset(&v, 0xa5, sizeof(v));
	tap_is(kfd_call(fd, kfd_resized(AMDKFD_IOC_GET_VERSION, 4), &v), 0,
	       "GET_VERSION of a caller with a shorter structure");
	tap_is(v.major_version, 1, "the part it knows is filled");
	tap_is(v.minor_version, 0xa5a5a5a5u, "nothing is written behind it");

	memset(&big, 0xa5, sizeof(big));
	tap_is(kfd_call(fd, kfd_resized(AMDKFD_IOC_GET_VERSION, sizeof(big)), &big), 0,
	       "GET_VERSION of a caller with a longer structure");
	tap_is(big.v.major_version, 1, "the known part is filled");
	for (i = 0; i < sizeof(big.tail); i++)
		dirty += big.tail[i] != 0 && big.tail[i] != 0xa5;
	tap_is(dirty, 0, "no kernel memory leaks into the rest");
}

static void test_numbers(int fd)
{
	static const unsigned int unknown[] = { 0x00, 0x27, 0x7f, 0x82, 0x85, 0xff };
	struct kfd_ioctl_get_version_args v = { 0 };
	unsigned int i;

	for (i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		tap_is(kfd_call(fd, KFD_NR(unknown[i]), &v), -ENOTTY, "number 0x%02x is unknown",
		       unknown[i]);
	for (i = 0x0d; i <= 0x10; i++)
		tap_is(kfd_call(fd, KFD_NR(i), &v), -EPERM, "old debug ioctl 0x%02x", i);
	/* The number alone selects, not the direction bits. */
	tap_is(kfd_call(fd, _IOW('K', 0x01, struct kfd_ioctl_get_version_args), &v), 0,
	       "GET_VERSION with other direction bits");
}

static void test_apertures(const struct kfd_proc *p)
{
	struct kfd_process_device_apertures pa[2];
	struct kfd_ioctl_get_process_apertures_new_args a = { 0 };
	struct kfd_ioctl_get_process_apertures_args old;

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &a), 0,
	       "APERTURES_NEW with no room asks for the number");
	tap_is(a.num_of_nodes, 1, "one GPU");
	memset(pa, 0, sizeof(pa));
	a.kfd_process_device_apertures_ptr = (uint64_t)(uintptr_t)pa;
	a.num_of_nodes = 1;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &a), 0, "APERTURES_NEW");
	tap_is(a.num_of_nodes, 1, "one entry filled");
	tap_is(pa[0].gpu_id, p->gpu_id, "of the GPU in sysfs");
	tap_is((int64_t)pa[0].lds_base, 0x1000000000000, "LDS aperture of gfx9");
	tap_is((int64_t)pa[0].scratch_base, 0x2000000000000, "scratch aperture of gfx9");
	tap_ok(pa[0].gpuvm_base <= 0x10000 && pa[0].gpuvm_limit >= 0x7fffffffffffull,
	       "GPUVM covers every user address");
	a.kfd_process_device_apertures_ptr = 16;
	a.num_of_nodes = 1;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &a), -EFAULT,
	       "APERTURES_NEW to a bad pointer");
	a.num_of_nodes = 0xffffffff;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &a), -EINVAL,
	       "APERTURES_NEW with more room than nodes exist");
	memset(&old, 0, sizeof(old));
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_PROCESS_APERTURES, &old), 0, "the old APERTURES");
	tap_ok(old.num_of_nodes == 1 && old.process_apertures[0].gpu_id == p->gpu_id,
	       "fills the same GPU");
}

static void test_acquire(const struct kfd_proc *p)
{
	struct kfd_ioctl_acquire_vm_args a = { .drm_fd = (uint32_t)p->render, .gpu_id = p->gpu_id };
	char path[64], link[32];
	int other, null;

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_ACQUIRE_VM, &a), 0, "ACQUIRE_VM again with the same file");
	a.drm_fd = 9999;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_ACQUIRE_VM, &a), -EINVAL, "with an fd that is not open");
	a.drm_fd = (uint32_t)p->render;
	a.gpu_id = p->gpu_id ^ 1;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_ACQUIRE_VM, &a), -EINVAL, "for an unknown GPU");
	a.gpu_id = p->gpu_id;

	__builtin_snprintf(link, sizeof(link), "/proc/self/fd/%d", p->render);
	memset(path, 0, sizeof(path));
	if (readlink(link, path, sizeof(path) - 1) < 0)
		tap_bail("%s: %m", link);
	other = open(path, O_RDWR | O_CLOEXEC);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (other < 0 || null < 0)
		tap_bail("open: %m");
	a.drm_fd = (uint32_t)other;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_ACQUIRE_VM, &a), -EBUSY, "with another file of the same GPU");
	a.drm_fd = (uint32_t)null;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_ACQUIRE_VM, &a), -EBUSY,
	       "with a foreign file, the VM being acquired already");
	close(other);
	close(null);
}

static void foreign_file(void *arg)
{
	struct kfd_ioctl_acquire_vm_args a = { .gpu_id = kfd_gpu_id(NULL) };
	int fd = kfd_open();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)arg;
	a.drm_fd = (uint32_t)null;
	tap_is(kfd_call(fd, AMDKFD_IOC_ACQUIRE_VM, &a), -EINVAL, "ACQUIRE_VM with /dev/null");
	a.drm_fd = (uint32_t)fd;
	tap_is(kfd_call(fd, AMDKFD_IOC_ACQUIRE_VM, &a), -EINVAL, "ACQUIRE_VM with /dev/kfd itself");
}

static void test_settings(const struct kfd_proc *p)
{
	struct kfd_ioctl_set_memory_policy_args m = {
		.gpu_id = p->gpu_id,
		.default_policy = KFD_IOC_CACHE_POLICY_NONCOHERENT,
		.alternate_policy = KFD_IOC_CACHE_POLICY_COHERENT,
	};
	struct kfd_ioctl_get_available_memory_args avail = { .gpu_id = p->gpu_id };
	struct kfd_ioctl_set_scratch_backing_va_args scratch = { .gpu_id = p->gpu_id };
	struct kfd_ioctl_set_xnack_mode_args xnack = { .xnack_enabled = -1 };
	struct kfd_ioctl_svm_args svm = { .start_addr = 0x100000, .size = 4096,
					  .op = KFD_IOCTL_SVM_OP_GET_ATTR };
	struct kfd_ioctl_get_tile_config_args tile = { .gpu_id = p->gpu_id };

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &m), 0, "SET_MEMORY_POLICY");
	m.default_policy = 2;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &m), -EINVAL, "with an unknown policy");
	m.default_policy = 1;
	m.gpu_id ^= 1;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_MEMORY_POLICY, &m), -EINVAL, "for an unknown GPU");

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &avail), 0, "AVAILABLE_MEMORY");
	tap_ok(avail.available > 0, "is not zero");
	avail.gpu_id ^= 1;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_AVAILABLE_MEMORY, &avail), -EINVAL, "for an unknown GPU");

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_SCRATCH_BACKING_VA, &scratch), 0, "SET_SCRATCH_BACKING_VA");
	scratch.gpu_id = 0;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_SCRATCH_BACKING_VA, &scratch), -EINVAL, "for no GPU");
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_TILE_CONFIG, &tile), 0, "GET_TILE_CONFIG");

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_XNACK_MODE, &xnack), -EPERM, "SET_XNACK_MODE without SVM");
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SVM, &svm), -EPERM, "SVM without SVM");
}

static void test_events(const struct kfd_proc *p)
{
	struct kfd_ioctl_destroy_event_args d = { 0 };
	struct kfd_ioctl_set_event_args s = { 0 };
	struct kfd_event_data data = { .event_id = 4000 };
	struct kfd_ioctl_wait_events_args w = { .num_events = 1 };

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_DESTROY_EVENT, &d), -EINVAL, "DESTROY_EVENT of id 0");
	d.event_id = 4000;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_DESTROY_EVENT, &d), -EINVAL, "DESTROY_EVENT of an unknown id");
	d.event_id = 0xffffffff;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_DESTROY_EVENT, &d), -EINVAL, "DESTROY_EVENT of id ~0");
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_SET_EVENT, &s), -EINVAL, "SET_EVENT of id 0");
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_RESET_EVENT, &s), -EINVAL, "RESET_EVENT of id 0");

	w.events_ptr = 16;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_WAIT_EVENTS, &w), -EFAULT, "WAIT_EVENTS on a bad pointer");
	tap_is(w.wait_result, KFD_IOC_WAIT_RESULT_FAIL, "says that it failed");
	w.events_ptr = (uint64_t)(uintptr_t)&data;
	w.wait_result = 0;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_WAIT_EVENTS, &w), -EINVAL, "WAIT_EVENTS on an unknown id");
	tap_is(w.wait_result, KFD_IOC_WAIT_RESULT_FAIL, "says that it failed");
	w.num_events = 0xffffffff;
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_WAIT_EVENTS, &w), -ENOMEM, "WAIT_EVENTS on 2^32 - 1 events");
}

static void inherited_fd(void *arg)
{
	const struct kfd_proc *p = arg;
	struct kfd_ioctl_get_version_args v = { 0 };
	void *map;
	int fd;

	tap_is(kfd_call(p->kfd, AMDKFD_IOC_GET_VERSION, &v), -EBADF, "an inherited fd in a child");
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, p->kfd,
		   (off_t)(KFD_TYPE_DOORBELL_OFFSET | (uint64_t)p->gpu_id << 46));
	tap_ok(map == MAP_FAILED, "it maps no doorbells either");
	fd = kfd_open();
	tap_is(kfd_call(fd, AMDKFD_IOC_GET_VERSION, &v), 0, "the child's own open works");
	close(fd);
}

static void test_second_open(const struct kfd_proc *p)
{
	struct kfd_ioctl_create_event_args c = { .event_type = KFD_IOC_EVENT_MEMORY };
	struct kfd_ioctl_destroy_event_args d = { 0 };
	int fd = kfd_open();

	/* Both files are doors to the same process. */
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_CREATE_EVENT, &c), 0, "an event made through one file");
	d.event_id = c.event_id;
	tap_is(kfd_call(fd, AMDKFD_IOC_DESTROY_EVENT, &d), 0, "is destroyed through another");
	close(fd);
	tap_is(kfd_call(p->kfd, AMDKFD_IOC_DESTROY_EVENT, &d), -EINVAL,
	       "and is gone; closing one file keeps the process");
}

int main(void)
{
	struct kfd_proc p;

	tap_begin(300);
	/* Before this process has a VM, so that the child's own is the first. */
	tap_child("foreign file", foreign_file, NULL);
	kfd_proc_open(&p);
	test_version(p.kfd);
	test_numbers(p.kfd);
	test_apertures(&p);
	test_acquire(&p);
	test_settings(&p);
	test_events(&p);
	test_second_open(&p);
	tap_child("inherited fd", inherited_fd, &p);
	kfd_proc_close(&p);
	return tap_done();
}
