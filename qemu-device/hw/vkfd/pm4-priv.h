/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handlers of PM4 packets, for the table in pm4.c. A handler gets a checked number
 * of body dwords in host order, in e->pkt, which it may use as scratch memory once
 * it has what it needs.
 */
#ifndef HW_VKFD_PM4_PRIV_H
#define HW_VKFD_PM4_PRIV_H

#include "engine-priv.h"

#include <vkfd/pm4.h>

#define VKFD_PM4_HANDLER(name) \
    VKFDPm4Result name(VKFDEngine *e, const VKFDPm4Ctx *c, const uint32_t *body)

/* The packet has a field that is not valid: report it, stop the queue. */
VKFDPm4Result vkfd_pm4_reserved(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op);

/* ---- pm4-reg.c ---- */

VKFD_PM4_HANDLER(vkfd_pm4_set_sh_reg);
VKFD_PM4_HANDLER(vkfd_pm4_set_uconfig_reg);
VKFD_PM4_HANDLER(vkfd_pm4_set_config_reg);
/*
 * Write n registers from first on; stride 0 writes all to the first. They are
 * limited in number, and each is paid for.
 */
VKFDPm4Result vkfd_pm4_write_regs(VKFDEngine *e, const VKFDPm4Ctx *c, uint8_t op,
                                  uint32_t first, uint32_t stride,
                                  const uint32_t *val, uint32_t n);

/* ---- pm4-mem.c ---- */

VKFD_PM4_HANDLER(vkfd_pm4_write_data);
VKFD_PM4_HANDLER(vkfd_pm4_release_mem);
VKFD_PM4_HANDLER(vkfd_pm4_copy_data);

/* ---- pm4-dma.c, pm4-atomic.c, pm4-dispatch.c, pm4-ib.c, wait.c ---- */

VKFD_PM4_HANDLER(vkfd_pm4_dma_data);
VKFD_PM4_HANDLER(vkfd_pm4_atomic_mem);
VKFD_PM4_HANDLER(vkfd_pm4_dispatch_direct);
VKFD_PM4_HANDLER(vkfd_pm4_dispatch_indirect);
VKFD_PM4_HANDLER(vkfd_pm4_indirect_buffer);
VKFD_PM4_HANDLER(vkfd_pm4_cond_exec);
VKFD_PM4_HANDLER(vkfd_pm4_wait_reg_mem);
VKFD_PM4_HANDLER(vkfd_pm4_wait_reg_mem64);

#endif /* HW_VKFD_PM4_PRIV_H */
