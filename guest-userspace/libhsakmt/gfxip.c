// SPDX-License-Identifier: MIT
/*
 * Which graphics core a device is. A device in the table is what the table
 * says, whatever the driver reports as gfx_target_version: that is the stock
 * library's rule. The table has the gfx9 generation; newer and older parts
 * follow the driver.
 */
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

struct gfxip {
	const char *name;
	uint8_t major, minor, step;
	uint16_t device_ids[16];	/* ends with 0 */
};

static const struct gfxip gfxip_table[] = {
	{ "Vega10", 9, 0, 0, { 0x6860, 0x6861, 0x6862, 0x6863, 0x6864, 0x6867, 0x6868, 0x6869,
			       0x686a, 0x686b, 0x686c, 0x686d, 0x686e, 0x687f } },
	{ "Vega12", 9, 0, 4, { 0x69a0, 0x69a1, 0x69a2, 0x69a3, 0x69af } },
	{ "Raven", 9, 0, 2, { 0x15dd, 0x15d8 } },
	{ "Vega20", 9, 0, 6, { 0x66a0, 0x66a1, 0x66a2, 0x66a3, 0x66a4, 0x66a7, 0x66af } },
	{ "Arcturus", 9, 0, 8, { 0x7388, 0x738c, 0x738e, 0x7390 } },
	{ "Aldebaran", 9, 0, 10, { 0x7408, 0x740c, 0x740f, 0x7410 } },
	{ "Renoir", 9, 0, 12, { 0x15e7, 0x1636, 0x1638, 0x164c } },
};

static const struct gfxip *find_device(uint16_t device_id)
{
	if (!device_id)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(gfxip_table); i++)
		for (const uint16_t *id = gfxip_table[i].device_ids; *id; id++)
			if (*id == device_id)
				return &gfxip_table[i];
	return NULL;
}

/* Vector registers of one CU in bytes; @gfxv 0xMMmmss. */
uint32_t hsakmt_vgpr_bytes_per_cu(uint32_t gfxv)
{
	switch (gfxv) {
	case HSAKMT_GFXV(9, 0, 8):
	case HSAKMT_GFXV(9, 0, 10):
		return 0x80000;
	case HSAKMT_GFXV(11, 0, 0):
	case HSAKMT_GFXV(11, 0, 1):
	case HSAKMT_GFXV(12, 0, 0):
	case HSAKMT_GFXV(12, 0, 1):
		return 0x60000;
	}
	return (gfxv & ~0xffu) == HSAKMT_GFXV(9, 4, 0) ? 0x80000 : 0x40000;
}

/*
 * Fills engine id, names and register sizes of a GPU node. @target is the
 * driver's gfx_target_version, decimal MMmmss. HSA_OVERRIDE_GFX_VERSION=M.m.s
 * beats both sources. ERROR for a bad override or a GPU of unknown version:
 * sizes derived from it would be wrong.
 */
HSAKMT_STATUS hsakmt_gfxip_describe(HsaNodeProperties *props, uint32_t target)
{
	unsigned int major = target / 10000 % 100;
	unsigned int minor = target / 100 % 100;
	unsigned int step = target % 100;
	const struct gfxip *known = major > 10 ? NULL : find_device(props->DeviceId);
	const char *override = getenv("HSA_OVERRIDE_GFX_VERSION");
	char junk;

	if (!known && !target) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: device 0x%x has no known graphics version\n",
			   props->DeviceId);
		return HSAKMT_STATUS_ERROR;
	}
	if (known) {
		major = known->major;
		minor = known->minor;
		step = known->step;
	}
	if (override &&
	    (sscanf(override, "%u.%u.%u%c", &major, &minor, &step, &junk) != 3 ||
	     major > 63 || minor > 255 || step > 255)) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: HSA_OVERRIDE_GFX_VERSION=%s is not M.m.s\n",
			   override);
		return HSAKMT_STATUS_ERROR;
	}
	if (!major) {
		hsakmt_log(HSAKMT_ERR, "hsakmt: graphics version 0 of device 0x%x; is HSA_OVERRIDE_GFX_VERSION needed?\n",
			   props->DeviceId);
		return HSAKMT_STATUS_ERROR;
	}
	props->EngineId.ui32.Major = major & 0x3f;
	props->EngineId.ui32.Minor = minor & 0xff;
	props->EngineId.ui32.Stepping = step & 0xff;

	if (known)
		snprintf((char *)props->AMDName, sizeof(props->AMDName), "%s", known->name);
	else
		snprintf((char *)props->AMDName, sizeof(props->AMDName), "GFX%06x",
			 HSAKMT_GFXV(major, minor, step));
	if (!hsakmt_drm_describe(props))
		hsakmt_log(HSAKMT_INFO, "hsakmt: libdrm does not know device 0x%x\n",
			   props->DeviceId);
	props->SGPRSizePerCU = HSAKMT_SGPR_BYTES_PER_CU;
	props->VGPRSizePerCU = hsakmt_vgpr_bytes_per_cu(HSAKMT_GFXV(major, minor, step));
	return HSAKMT_STATUS_SUCCESS;
}
