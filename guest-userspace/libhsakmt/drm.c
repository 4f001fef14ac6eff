// SPDX-License-Identifier: MIT
/* Render nodes, by way of libdrm_amdgpu. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <xf86drm.h>

#include "hsakmt_int.h"

#define RENDER_FIRST 128
#define RENDER_LAST 255

/*
 * The kernel ties a process's GPU address space to the file given to
 * ACQUIRE_VM, so a render node once opened stays open until the process ends,
 * across Close and Open. Under ctx.lock (Open, Acquire); hsakmt_drm_device()
 * only reads what Acquire left.
 */
static struct {
	int fd;				/* 0: not open */
	amdgpu_device_handle dev;
} render[RENDER_LAST - RENDER_FIRST + 1];

int hsakmt_drm_open(int minor)
{
	int (*get_fd)(amdgpu_device_handle);
	uint32_t major, min;
	char path[64];
	int fd, i = minor - RENDER_FIRST;

	if (minor < RENDER_FIRST || minor > RENDER_LAST) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: render minor %d is not in %d..%d\n",
			   minor, RENDER_FIRST, RENDER_LAST);
		return -EINVAL;
	}
	if (render[i].fd)
		return render[i].fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	fd = hsakmt_sys_open(path);
	if (fd < 0) {
		int err = errno;

		if (err != ENOENT && err != EPERM)
			hsakmt_log(HSAKMT_ERR, "hsakmt: cannot open %s: %s\n", path, strerror(err));
		return -err;
	}
	render[i].fd = fd;
	if (amdgpu_device_initialize(fd, &major, &min, &render[i].dev)) {
		render[i].dev = NULL;
		return fd;
	}

	/*
	 * libdrm works on a duplicate of the descriptor. Using the same one here
	 * lets handles made through libdrm and buffers made through KFD meet.
	 * Old libdrm has no such call, hence the look-up at run time.
	 */
	get_fd = (int (*)(amdgpu_device_handle))dlsym(RTLD_DEFAULT, "amdgpu_device_get_fd");
	if (get_fd) {
		int dup = get_fd(render[i].dev);

		if (dup > 0) {
			hsakmt_sys_close(fd);
			render[i].fd = dup;
		} else {
			amdgpu_device_deinitialize(render[i].dev);
			render[i].dev = NULL;
		}
	}
	return render[i].fd;
}

void *hsakmt_drm_device(int minor)
{
	int i = minor - RENDER_FIRST;

	return i >= 0 && i < (int)ARRAY_SIZE(render) ? render[i].dev : NULL;
}

void hsakmt_drm_forget(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(render); i++) {
		if (render[i].dev)
			amdgpu_device_deinitialize(render[i].dev);	/* closes its fd */
		else if (render[i].fd)
			hsakmt_sys_close(render[i].fd);
		render[i].dev = NULL;
		render[i].fd = 0;
	}
}

bool hsakmt_drm_describe(HsaNodeProperties *props)
{
	struct amdgpu_gpu_info info;
	amdgpu_device_handle dev;
	uint32_t major, minor;
	const char *name;
	bool ok = false;
	int fd;

	fd = drmOpenRender(props->DrmRenderMinor);
	if (fd < 0)
		return false;
	if (!amdgpu_device_initialize(fd, &major, &minor, &dev)) {
		name = amdgpu_get_marketing_name(dev);
		for (int i = 0; name && i < HSA_PUBLIC_NAME_SIZE - 1; i++) {
			props->MarketingName[i] = (unsigned char)name[i];
			if (!name[i])
				break;
		}
		if (!amdgpu_query_gpu_info(dev, &info)) {
			props->FamilyID = info.family_id;
			props->Integrated = !!(info.ids_flags & AMDGPU_IDS_FLAGS_FUSION);
			ok = true;
		}
		amdgpu_device_deinitialize(dev);
	}
	drmClose(fd);
	return ok;
}
