/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd: read-only property "queues", for who stops the VM and looks: a line for each
 * queue that is on a slot of the hardware. A derived view, nothing is kept for it.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "vkfd.h"
#include "sdma-priv.h"

static const char *state_name(uint32_t stop, uint8_t parked, bool work)
{
    if (stop) {
        return "stopped";
    }
    return parked ? "waiting" : work ? "busy" : "idle";
}

static void vkfd_get_queues(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    VKFDState *s = VKFD(obj);
    VKFDEngine *e = &s->engine;
    strList *list = NULL, **tail = &list;
    unsigned i;

    for (i = 0; s->vram && i < VKFD_NUM_HQD; i++) {
        VKFDHqd *q = &e->hqd[i];
        bool in_ib = vkfd_hqd_in_ib(q);

        if (!vkfd_hqd_active(q)) {
            continue;
        }
        QAPI_LIST_APPEND(tail, g_strdup_printf(
            "compute %u vmid %u %s rptr %" PRIu64 " wptr %" PRIu64 "%s %s", i,
            vkfd_hqd_vmid(q), vkfd_hqd_is_aql(q) ? "AQL" : "PM4", q->rptr,
            vkfd_hqd_wptr(q), in_ib ? " in an IB" : "",
            state_name(q->stop, q->parked, in_ib || q->rptr != vkfd_hqd_wptr(q))));
    }
    for (i = 0; s->vram && i < VKFD_NUM_SDMA_QUEUES; i++) {
        VKFDSdmaQueue *q = &e->sdma[i];
        bool in_ib;

        if (!vkfd_sdma_active(e, i)) {
            continue;
        }
        in_ib = vkfd_sdma_in_ib(e, i);
        QAPI_LIST_APPEND(tail, g_strdup_printf(
            "SDMA%u %u vmid %u rptr %" PRIu64 " wptr %" PRIu64 "%s %s",
            i / VKFD_SDMA_QUEUES, i % VKFD_SDMA_QUEUES, vkfd_sdma_vmid(e, i),
            vkfd_sdma_rptr(e, i), vkfd_sdma_wptr(e, i), in_ib ? " in an IB" : "",
            state_name(q->stop, q->parked,
                       in_ib || vkfd_sdma_rptr(e, i) != vkfd_sdma_wptr(e, i))));
    }
    visit_type_strList(v, name, &list, errp);
    qapi_free_strList(list);
}

void vkfd_queues_class_init(ObjectClass *klass)
{
    object_class_property_add(klass, "queues", "strList", vkfd_get_queues, NULL,
                              NULL, NULL);
    object_class_property_set_description(klass, "queues",
        "Queues on a slot, and whether they wait");
}
