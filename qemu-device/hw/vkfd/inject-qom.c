/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vkfd: properties of fault injection (docs/injection.md).
 *
 *   inject         specs, ";" between them. On the command line checked at once
 *                  and armed when the device is realized; written later (qom-set)
 *                  they replace what is armed; reads give the shortest form.
 *   inject-status  read only: one line a spec, and what is held back
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "vkfd.h"

static char *vkfd_get_inject(Object *obj, Error **errp)
{
    VKFDState *s = VKFD(obj);
    char *text;

    if (!s->vram) {
        return g_strdup(s->props.inject ? s->props.inject : "");
    }
    text = g_malloc(VKFD_INJECT_TEXT_SIZE);
    vkfd_inject_text(&s->engine, text, VKFD_INJECT_TEXT_SIZE);
    return text;
}

static void vkfd_set_inject(Object *obj, const char *text, Error **errp)
{
    VKFDState *s = VKFD(obj);
    VKFDInjectSpec specs[VKFD_INJECT_SPECS];
    VKFDInjectError err;
    uint32_t n;

    if (!vkfd_inject_parse(text, specs, &n, &err)) {
        error_setg(errp, "property 'inject': %s", err.msg);
        return;
    }
    if (s->vram) {
        /* What was held back happens now, and may be DMA. */
        vkfd_sync_bars(s);
        vkfd_inject_arm(&s->engine, text, &err);
    } else {
        g_free(s->props.inject);
        s->props.inject = g_strdup(text);
    }
}

void vkfd_inject_realize(VKFDState *s)
{
    VKFDInjectError err;

    if (s->props.inject && *s->props.inject) {
        /* It was checked when it was set. */
        vkfd_inject_arm(&s->engine, s->props.inject, &err);
    }
}

static void vkfd_get_inject_status(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    static const char *const device[] = {
        [VKFD_INJECT_DEVICE_OK] = "works",
        [VKFD_INJECT_DEVICE_STALLED] = "stalled",
        [VKFD_INJECT_DEVICE_HUNG] = "hung",
        [VKFD_INJECT_DEVICE_GONE] = "gone",
    };
    VKFDState *s = VKFD(obj);
    const VKFDInject *in = &s->engine.inject;
    strList *list = NULL, **tail = &list;
    char text[160];
    uint32_t i;

    for (i = 0; s->vram && i < in->nspecs; i++) {
        const VKFDInjectSpec *p = &in->spec[i];

        vkfd_inject_spec_text(p, text, sizeof(text));
        QAPI_LIST_APPEND(tail, g_strdup_printf(
            "%s passages %" PRIu64 " fired %u refused %u", text, p->passages,
            p->fired, p->refused));
    }
    QAPI_LIST_APPEND(tail, g_strdup_printf("held back %u, device %s", in->nheld,
                                           device[in->device]));
    visit_type_strList(v, name, &list, errp);
    qapi_free_strList(list);
}

void vkfd_inject_class_init(ObjectClass *klass)
{
    object_class_property_add_str(klass, "inject", vkfd_get_inject,
                                  vkfd_set_inject);
    object_class_property_set_description(klass, "inject",
        "Counted faults: point:action[:arg]@first[/every][*count], ';' between");
    object_class_property_add(klass, "inject-status", "strList",
                              vkfd_get_inject_status, NULL, NULL, NULL);
    object_class_property_set_description(klass, "inject-status",
        "Faults that are armed, and what has fired");
}
