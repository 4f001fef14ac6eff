// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counters.h"
#include "driver.h"
#include "svm.h"
#include "tap.h"
#include "user.h"

#define SETTLE_MS	60000u
#define SVM_ALIGN	((size_t)16 << 20)

static int policy = -1;

const char *svm_begin(void)
{
	char parameters[64];

	if (driver_flag("svm"))
		return NULL;
	if (kernel_is_slow())
		return "vkfd.svm=1 is not on, and leaks of a module that was unloaded are nobody's";
	policy = driver_sched_policy();
	snprintf(parameters, sizeof(parameters), "sched_policy=%d svm=1", policy);
	if (policy < 0 || !driver_reload_with(parameters))
		return "vkfd is not a module that can be loaded again";
	if (!driver_flag("svm"))
		tap_bail("the module was loaded with svm=1, and does not have it");
	return NULL;
}

void svm_end(void)
{
	if (policy >= 0)
		tap_ok(driver_reload(policy) && !driver_flag("svm"), "the module is loaded as it was");
}

static int call(const struct kfd_proc *p, uint32_t op, const void *at, size_t size,
		struct kfd_ioctl_svm_attribute *attrs, uint32_t n)
{
	size_t bytes = n * sizeof(*attrs), all = sizeof(struct kfd_ioctl_svm_args) + bytes;
	struct kfd_ioctl_svm_args *a = calloc(1, all);
	int r;

	if (!a)
		tap_bail("no memory");
	a->start_addr = (uintptr_t)at;
	a->size = size;
	a->op = op;
	a->nattr = n;
	memcpy(a->attrs, attrs, bytes);
	r = kfd_call(p->kfd, kfd_resized(AMDKFD_IOC_SVM, (unsigned int)all), a);
	memcpy(attrs, a->attrs, bytes);
	free(a);
	return r;
}

int svm_set(const struct kfd_proc *p, const void *at, size_t size,
	    const struct kfd_ioctl_svm_attribute *attrs, uint32_t n)
{
	struct kfd_ioctl_svm_attribute copy[16];

	if (n > 16)
		tap_bail("more attributes than the test has room for");
	memcpy(copy, attrs, n * sizeof(*attrs));
	return call(p, KFD_IOCTL_SVM_OP_SET_ATTR, at, size, copy, n);
}

int svm_get(const struct kfd_proc *p, const void *at, size_t size,
	    struct kfd_ioctl_svm_attribute *attrs, uint32_t n)
{
	return call(p, KFD_IOCTL_SVM_OP_GET_ATTR, at, size, attrs, n);
}

int svm_set_one(const struct kfd_proc *p, const void *at, size_t size,
		struct kfd_ioctl_svm_attribute attr)
{
	return svm_set(p, at, size, &attr, 1);
}

uint32_t svm_value(const struct kfd_proc *p, const void *at, size_t size, uint32_t type)
{
	struct kfd_ioctl_svm_attribute a = { type, 0 };
	int r = svm_get(p, at, size, &a, 1);

	if (r)
		tap_bail("attribute %u: errno %d", type, -r);
	return a.value;
}

uint32_t svm_access(const struct kfd_proc *p, const void *at, size_t size)
{
	struct kfd_ioctl_svm_attribute a = { KFD_IOCTL_SVM_ATTR_ACCESS, p->gpu_id };
	int r = svm_get(p, at, size, &a, 1);

	if (r || a.value != p->gpu_id)
		tap_bail("access: errno %d", -r);
	return a.type;
}

char *svm_pages(size_t size)
{
	char *all = kfd_reserve_va(size + SVM_ALIGN), *at;

	at = (char *)(((uintptr_t)all + SVM_ALIGN - 1) & ~(uintptr_t)(SVM_ALIGN - 1));
	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		tap_bail("mmap: %m");
	madvise(at, size, MADV_NOHUGEPAGE);
	return at;
}

void svm_share(const struct kfd_proc *p, const void *at, size_t size)
{
	int r = svm_set_one(p, at, size, SVM_ATTR(ACCESS, p->gpu_id));

	if (r)
		tap_bail("no access to %zu bytes: errno %d", size, -r);
}

static const char *counters(char *path, size_t size)
{
	snprintf(path, size, "proc/%d/svm", (int)getpid());
	return path;
}

int64_t svm_counter(const char *name)
{
	char path[64];

	return kfd_counter(counters(path, sizeof(path)), name);
}

void svm_counter_is(const char *name, int64_t want, const char *what)
{
	char path[64];

	user_settle();
	kfd_counter_settle(counters(path, sizeof(path)), name, want, SETTLE_MS);
	tap_is(svm_counter(name), want, "%s", what);
}
