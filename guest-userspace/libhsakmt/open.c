// SPDX-License-Identifier: MIT
/* Opening and closing /dev/kfd, version, environment, fork. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hsakmt_int.h"

struct hsakmt_ctx hsakmt_ctx = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.queue_lock = PTHREAD_MUTEX_INITIALIZER,
	.topo_lock = PTHREAD_MUTEX_INITIALIZER,
	.doorbell.lock = PTHREAD_MUTEX_INITIALIZER,
	.mem.lock = PTHREAD_MUTEX_INITIALIZER,
	.mem.userptrs.by_userptr = true,
	.kfd_fd = -1,
	.page_size = 4096,
	.debug_level = -1,
};

bool hsakmt_is_open(void)
{
	return hsakmt_ctx.open_count && !hsakmt_ctx.forked;
}

/*
 * True in a child that still has its parent's state. pthread_atfork does not
 * see children made by clone() or by the bare system call; the process id does.
 */
bool hsakmt_detect_fork(void)
{
	pid_t pid = getpid();
	pid_t none = 0;

	if (hsakmt_ctx.forked)
		return true;
	if (atomic_compare_exchange_strong(&hsakmt_ctx.owner, &none, pid))
		return false;
	if (hsakmt_ctx.owner != pid)
		hsakmt_ctx.forked = true;
	return hsakmt_ctx.forked;
}

/* A child must not see a lock held by a thread that does not exist there. */
static void fork_prepare(void)
{
	pthread_mutex_lock(&hsakmt_ctx.lock);
	pthread_mutex_lock(&hsakmt_ctx.queue_lock);
	pthread_mutex_lock(&hsakmt_ctx.doorbell.lock);
	pthread_mutex_lock(&hsakmt_ctx.mem.lock);
	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	pthread_mutex_unlock(&hsakmt_ctx.mem.lock);
	pthread_mutex_unlock(&hsakmt_ctx.doorbell.lock);
	pthread_mutex_unlock(&hsakmt_ctx.queue_lock);
	pthread_mutex_unlock(&hsakmt_ctx.lock);
}

static void fork_child(void)
{
	pthread_mutex_init(&hsakmt_ctx.topo_lock, NULL);
	pthread_mutex_init(&hsakmt_ctx.mem.lock, NULL);
	pthread_mutex_init(&hsakmt_ctx.doorbell.lock, NULL);
	pthread_mutex_init(&hsakmt_ctx.queue_lock, NULL);
	pthread_mutex_init(&hsakmt_ctx.lock, NULL);
	hsakmt_ctx.forked = true;
}

/*
 * Drop everything copied from the parent without a word to the kernel, which
 * knows none of it in this process. Under ctx.lock, child only. The snapshot
 * goes too: a kept one would make AcquireSystemProperties skip the set-up of
 * the address space.
 */
static void forget_parent(void)
{
	struct hsakmt_topology *topo = hsakmt_ctx.topo;

	hsakmt_queues_forget();
	hsakmt_doorbell_forget();
	hsakmt_ctx.events_page = NULL;
	hsakmt_fmm_forget();
	hsakmt_drm_forget();

	pthread_mutex_lock(&hsakmt_ctx.topo_lock);
	hsakmt_ctx.topo = NULL;
	pthread_mutex_unlock(&hsakmt_ctx.topo_lock);
	hsakmt_topology_free(topo);

	if (hsakmt_ctx.kfd_fd >= 0)
		hsakmt_sys_close(hsakmt_ctx.kfd_fd);
	hsakmt_ctx.kfd_fd = -1;
	hsakmt_ctx.open_count = 0;
	hsakmt_ctx.runtime_caps = 0;
	hsakmt_ctx.owner = getpid();
	hsakmt_ctx.forked = false;
}

static void read_environment(void)
{
	const char *val = getenv("HSAKMT_DEBUG_LEVEL");
	int level = val ? atoi(val) : -1;

	hsakmt_ctx.debug_level = -1;
	if (level >= HSAKMT_ERR && level <= HSAKMT_DEBUG)
		hsakmt_ctx.debug_level = level;

	val = getenv("HSA_ZFB");
	if (val)
		hsakmt_ctx.zfb = atoi(val) != 0;

	val = getenv("HSA_USE_SVM");
	hsakmt_ctx.svm_api = !(val && !strcmp(val, "0"));
}

static HSAKMT_STATUS read_version(void)
{
	struct kfd_ioctl_get_version_args args = { 0 };

	if (hsakmt_ioctl(AMDKFD_IOC_GET_VERSION, &args))
		return HSAKMT_STATUS_ERROR;
	hsakmt_ctx.version.KernelInterfaceMajorVersion = args.major_version;
	hsakmt_ctx.version.KernelInterfaceMinorVersion = args.minor_version;
	return args.major_version == KFD_IOCTL_MAJOR_VERSION ?
		HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_DRIVER_MISMATCH;
}

static HSAKMT_STATUS open_first(void)
{
	static bool atfork_done;
	struct hsakmt_topology probe = { 0 };
	HSAKMT_STATUS status;
	bool fresh = false;

	read_environment();
	hsakmt_ctx.page_size = (uint64_t)sysconf(_SC_PAGESIZE);

	/* CloseKFD keeps the descriptor: the kernel's process object hangs on it. */
	if (hsakmt_ctx.kfd_fd < 0) {
		hsakmt_ctx.kfd_fd = hsakmt_sys_open("/dev/kfd");
		if (hsakmt_ctx.kfd_fd < 0) {
			hsakmt_ctx.kfd_fd = -1;
			return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
		}
		fresh = true;
	}

	status = read_version();
	if (status == HSAKMT_STATUS_SUCCESS)
		status = hsakmt_topology_scan(&probe);	/* opens the render nodes */
	free(probe.nodes);
	if (status == HSAKMT_STATUS_SUCCESS && !atfork_done) {
		if (pthread_atfork(fork_prepare, fork_parent, fork_child))
			status = HSAKMT_STATUS_NO_MEMORY;
		else
			atfork_done = true;	/* cannot be taken back */
	}
	if (status != HSAKMT_STATUS_SUCCESS) {
		if (fresh) {
			hsakmt_sys_close(hsakmt_ctx.kfd_fd);
			hsakmt_ctx.kfd_fd = -1;
		}
		return status;
	}
	hsakmt_ctx.open_count = 1;
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * hsaKmtOpenKFD - open the driver, or count one more user
 *
 * SUCCESS for the first, KERNEL_ALREADY_OPENED for each further user;
 * KERNEL_IO_CHANNEL_NOT_OPENED without /dev/kfd, DRIVER_MISMATCH for another
 * major version. Takes ctx.lock.
 */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtOpenKFD(void)
{
	HSAKMT_STATUS status;

	pthread_mutex_lock(&hsakmt_ctx.lock);
	if (hsakmt_detect_fork())
		forget_parent();
	if (hsakmt_ctx.open_count) {
		hsakmt_ctx.open_count++;
		status = HSAKMT_STATUS_KERNEL_ALREADY_OPENED;
	} else {
		status = open_first();
	}
	pthread_mutex_unlock(&hsakmt_ctx.lock);
	return status;
}

/* hsaKmtCloseKFD - drop one user; the descriptor stays until the process ends */
HSAKMT_EXPORT HSAKMT_STATUS hsaKmtCloseKFD(void)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;

	pthread_mutex_lock(&hsakmt_ctx.lock);
	if (hsakmt_ctx.open_count) {
		hsakmt_ctx.open_count--;
		status = HSAKMT_STATUS_SUCCESS;
	}
	pthread_mutex_unlock(&hsakmt_ctx.lock);
	return status;
}

HSAKMT_EXPORT HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *VersionInfo)
{
	HSAKMT_CHECK_OPEN();
	if (!VersionInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*VersionInfo = hsakmt_ctx.version;
	return HSAKMT_STATUS_SUCCESS;
}
