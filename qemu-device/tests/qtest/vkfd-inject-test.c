/* SPDX-License-Identifier: MIT */
/*
 * vkfd: fault injection through its front ends (command line, QMP, control page)
 * and on QEMU's clock. What each action does is for the engine's unit tests.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "libqtest.h"
#include "libqos/vkfd.h"
#include "libqos/pci-pc.h"
#include "libqos/malloc-pc.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"

typedef struct Setup {
    QVkfdQueue u;
    uint64_t mem, va;
    uint32_t next;
} Setup;

static void setup(QVkfd *q, Setup *s)
{
    qvkfd_start(q);
    s->mem = qvkfd_alloc(q, 8, 4096);
    s->va = qvkfd_va(8, s->mem);
    s->next = 1;
    qvkfd_queue_init(q, &s->u, 1, 0, 0, 8, 10);
    qvkfd_queue_load(&s->u);
}

/* A completion with interrupt at mem, and a plain write behind it, awaited. */
static void event(QVkfd *q, Setup *s)
{
    qvkfd_emit_release(&s->u, s->va, s->next, RELEASE_MEM_INT_AFTER_WRITE,
                       s->next);
    qvkfd_emit_write(&s->u, s->va + 8, s->next);
    qvkfd_kick(&s->u);
    qvkfd_wait_mem(q, s->mem + 8, s->next);
    s->next++;
}

static uint32_t peek(QVkfd *q, uint64_t gpa)
{
    return qtest_readl(qvkfd_qts(q), gpa);
}

static void qom_set(QVkfd *q, const char *text)
{
    qtest_qmp_assert_success(qvkfd_qts(q), "{ 'execute': 'qom-set', 'arguments': "
        "{ 'path': 'vkfd0', 'property': 'inject', 'value': %s } }", text);
}

static void qom_set_fails(QVkfd *q, const char *text, const char *says)
{
    QDict *rsp = qtest_qmp(qvkfd_qts(q), "{ 'execute': 'qom-set', 'arguments': "
        "{ 'path': 'vkfd0', 'property': 'inject', 'value': %s } }", text);
    const char *desc;

    g_assert_true(qdict_haskey(rsp, "error"));
    desc = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    g_test_message("%s", desc);
    g_assert_nonnull(strstr(desc, says));
    qobject_unref(rsp);
}

static void qom_is(QTestState *qts, const char *id, const char *text)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': "
        "{ 'path': %s, 'property': 'inject' } }", id);

    g_assert_cmpstr(qdict_get_str(rsp, "return"), ==, text);
    qobject_unref(rsp);
}

/* Line i of inject-status. */
static void status_is(QTestState *qts, unsigned i, const char *text)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': "
        "{ 'path': 'vkfd0', 'property': 'inject-status' } }");
    QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));

    while (i-- && e) {
        e = qlist_next(e);
    }
    g_assert_nonnull(e);
    g_assert_cmpstr(qstring_get_str(qobject_to(QString, qlist_entry_obj(e))),
                    ==, text);
    qobject_unref(rsp);
}

static void test_qmp(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    Setup s;

    setup(q, &s);
    qom_is(qts, "vkfd0", "");
    status_is(qts, 0, "held back 0, device works");
    qom_set(q, "msix:drop@1; slot:delay:3000us@2/1");
    qom_is(qts, "vkfd0", "msix:drop@1;slot:delay:3ms@2/1");
    status_is(qts, 0, "msix:drop@1 passages 0 fired 0 refused 0");

    /* Entry and wptr are there, and nobody is told. */
    event(q, &s);
    g_assert_cmphex(peek(q, q->ih_wptr), ==, VKFD_IH_ENTRY_SIZE);
    g_assert_cmphex(peek(q, q->msi), ==, 0);
    status_is(qts, 0, "msix:drop@1 passages 1 fired 1 refused 0");
    status_is(qts, 1, "slot:delay:3ms@2/1 passages 1 fired 0 refused 0");
    qvkfd_ih_set_rptr(q, VKFD_IH_ENTRY_SIZE);

    /* The interrupt comes at once, the data on QEMU's clock. */
    event(q, &s);
    qvkfd_wait_msi(q);
    g_assert_cmphex(peek(q, s.mem), ==, 1);
    status_is(qts, 2, "held back 1, device works");
    qtest_clock_step(qts, 2999999);
    g_assert_cmphex(peek(q, s.mem), ==, 1);
    qtest_clock_step(qts, 1);
    g_assert_cmphex(peek(q, s.mem), ==, 2);
    status_is(qts, 2, "held back 0, device works");

    /* A text that is refused changes nothing. */
    qom_set_fails(q, "msix:drop@1;mesix:drop@1", "no injection point 'mesix'");
    qom_set_fails(q, "page-walk:delay@1", "'delay' makes no sense at 'page-walk'");
    qom_is(qts, "vkfd0", "msix:drop@1;slot:delay:3ms@2/1");
    status_is(qts, 0, "msix:drop@1 passages 2 fired 1 refused 0");

    /* Disarming delivers what is held. */
    qvkfd_ih_set_rptr(q, 2 * VKFD_IH_ENTRY_SIZE);
    event(q, &s);
    g_assert_cmphex(peek(q, s.mem), ==, 2);
    qom_set(q, "");
    g_assert_cmphex(peek(q, s.mem), ==, 3);
    qom_is(qts, "vkfd0", "");
}

static void page_arm(QVkfd *q, const char *text)
{
    size_t i, len = strlen(text) + 1;

    for (i = 0; i < len; i += 4) {
        uint32_t v = 0;

        memcpy(&v, text + i, MIN(len - i, 4));
        qvkfd_ctrl_wr(q, VKFD_CTRL_INJECT_TEXT + i, le32_to_cpu(v));
    }
    qvkfd_ctrl_wr(q, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_ARM);
}

static void test_page(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    char text[VKFD_INJECT_TEXT_SIZE];
    uint32_t generation = qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_GENERATION);
    uint64_t injected = qvkfd_counter(q, VKFD_CNT_INJECTED);
    uint32_t e[8], v, i;
    Setup s;

    setup(q, &s);
    page_arm(q, "ih-entry:dup@1;msix:nap@1");
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_STATUS), ==,
                     VKFD_INJECT_BAD_ACTION);
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_ERROR_POS), ==, 20);
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_COUNT), ==, 0);

    page_arm(q, "ih-entry:dup@1;ih-entry:corrupt:3=0xdead@2");
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_STATUS), ==,
                     VKFD_INJECT_OK);
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_COUNT), ==, 2);
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_GENERATION), ==,
                     generation + 1);
    event(q, &s);
    event(q, &s);
    g_assert_cmphex(peek(q, q->ih_wptr), ==, 3 * VKFD_IH_ENTRY_SIZE);
    qvkfd_ih_entry(q, VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[4], ==, 1);
    g_assert_cmphex(e[3], ==, QVKFD_PASID(8));
    qvkfd_ih_entry(q, 2 * VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[4], ==, 2);
    g_assert_cmphex(e[3], ==, 0xdead);
    for (i = 0; i < 2; i++) {
        qvkfd_ctrl_wr(q, VKFD_CTRL_INJECT_SELECT, i);
        g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_PASSED_LO), ==, 2);
        g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_FIRED), ==, 1);
        g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_REFUSED), ==, 0);
    }
    g_assert_cmpuint(qvkfd_counter(q, VKFD_CNT_INJECTED), ==, injected + 2);

    /* What one front end arms, the others show. */
    qom_is(qvkfd_qts(q), "vkfd0", "ih-entry:dup@1;ih-entry:corrupt:3=0xdead@2");
    qom_set(q, "doorbell:drop@9");
    qvkfd_ctrl_wr(q, VKFD_CTRL_INJECT_GO, VKFD_INJECT_GO_READ);
    for (i = 0; i < 16; i += 4) {
        v = cpu_to_le32(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_TEXT + i));
        memcpy(text + i, &v, 4);
    }
    g_assert_cmpstr(text, ==, "doorbell:drop@9");
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_GENERATION), ==,
                     generation + 2);

    /* An entry of the test's own, at once. */
    page_arm(q, "ih-entry:insert:000000ef0000000000000000000080010000abcd"
             "000000000000000000000000@0");
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_STATUS), ==,
                     VKFD_INJECT_OK);
    g_assert_cmphex(peek(q, q->ih_wptr), ==, 4 * VKFD_IH_ENTRY_SIZE);
    qvkfd_ih_entry(q, 3 * VKFD_IH_ENTRY_SIZE, e);
    g_assert_cmphex(e[0], ==, 0xef);
    g_assert_cmphex(e[4], ==, 0xabcd);
    page_arm(q, "");
    g_assert_cmpuint(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_COUNT), ==, 0);
}

static void test_device(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    uint8_t exp = qpci_find_capability(&q->dev, PCI_CAP_ID_EXP, 0);
    Setup s;

    setup(q, &s);
    qom_set(q, "device:hang@3");
    event(q, &s);
    qvkfd_emit_write(&s.u, s.va, 0x77);
    qvkfd_kick(&s.u);
    qtest_clock_step(qvkfd_qts(q), 10000000);
    g_assert_cmphex(peek(q, s.mem), ==, 1);
    status_is(qvkfd_qts(q), 1, "held back 0, device hung");
    g_assert_cmphex(qvkfd_rd(q, mmRCC_CONFIG_MEMSIZE), ==, 256);
    qvkfd_hqd_wr(&s.u, mmCP_HQD_DEQUEUE_REQUEST, VKFD_DEQUEUE_DRAIN);
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_ACTIVE), ==, 1);
    qom_set(q, "");
    g_assert_cmphex(qvkfd_hqd_rd(&s.u, mmCP_HQD_ACTIVE), ==, 0);

    qom_set(q, "device:gone@0");
    g_assert_cmphex(qvkfd_rd(q, mmRCC_CONFIG_MEMSIZE), ==, 0xffffffff);
    g_assert_cmphex(qpci_io_readl(&q->dev, q->doorbell, 0), ==, 0xffffffff);
    g_assert_cmphex(qvkfd_ctrl_rd(q, VKFD_CTRL_INJECT_DEVICE), ==,
                    VKFD_INJECT_DEVICE_GONE);
    qpci_config_writew(&q->dev, exp + PCI_EXP_DEVCTL,
                       qpci_config_readw(&q->dev, exp + PCI_EXP_DEVCTL) |
                       PCI_EXP_DEVCTL_BCR_FLR);
    qvkfd_map_bars(q);
    g_assert_cmphex(qvkfd_rd(q, mmRCC_CONFIG_MEMSIZE), ==, 256);
    /* It is armed still, and a system reset is where it acts again. */
    qom_is(qvkfd_qts(q), "vkfd0", "device:gone@0");
    qtest_system_reset(qvkfd_qts(q));
    qvkfd_map_bars(q);
    g_assert_cmphex(qvkfd_rd(q, mmRCC_CONFIG_MEMSIZE), ==, 0xffffffff);
    qom_set(q, "");
    g_assert_cmphex(qvkfd_rd(q, mmRCC_CONFIG_MEMSIZE), ==, 256);
}

static void test_property(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj, other = { 0 };
    QTestState *qts = qvkfd_qts(q);
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': "
        "{ 'driver': 'vkfd', 'id': 'other', 'addr': '05.0', "
        "'vram-size': 67108864, 'inject': 'msix:corrupt@1' } }");
    const char *desc = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    Setup s;
    unsigned i;

    g_test_message("%s", desc);
    g_assert_nonnull(strstr(desc, "property 'inject': 'corrupt' makes no sense "
                            "at 'msix'"));
    qobject_unref(rsp);

    /* Unplugged while it holds something back, and again. */
    for (i = 0; i < 2; i++) {
        qtest_qmp_device_add(qts, "vkfd", "other", "{ 'addr': '05.0', "
                             "'vram-size': 67108864, "
                             "'inject': 'slot:delay@1/1' }");
        qom_is(qts, "other", "slot:delay:1ms@1/1");
        qom_is(qts, "vkfd0", "");
        qvkfd_attach(&other, q->dev.bus, QPCI_DEVFN(5, 0), alloc);
        q->dev.bus->mmio_alloc_ptr = other.mmio_base;
        setup(&other, &s);
        event(&other, &s);
        g_assert_cmphex(peek(&other, s.mem), ==, 0);
        g_assert_cmpuint(qvkfd_ctrl_rd(&other, VKFD_CTRL_INJECT_HELD), ==, 1);
        qpci_unplug_acpi_device_test(qts, "other", 5);
        qtest_clock_step(qts, 5000000);
        g_assert_cmphex(peek(q, s.mem), ==, 0);
    }
}

/* The only queue that is on. */
static void queue_is(QTestState *qts, const char *text)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': "
        "{ 'path': 'vkfd0', 'property': 'queues' } }");
    QListEntry *e = qlist_first(qdict_get_qlist(rsp, "return"));

    g_assert_nonnull(e);
    g_assert_cmpstr(qstring_get_str(qobject_to(QString, qlist_entry_obj(e))),
                    ==, text);
    g_assert_null(qlist_next(e));
    qobject_unref(rsp);
}

static void run_state_is(QTestState *qts, const char *state)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'query-status' }");

    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(rsp, "return"), "status"), ==,
                    state);
    qobject_unref(rsp);
}

/* A completion that stops the VM in front of its entry, and a packet behind it. */
static void paused_event(QVkfd *q, Setup *s)
{
    qvkfd_emit_release(&s->u, s->va, 1, RELEASE_MEM_INT_AFTER_WRITE, 1);
    qvkfd_emit_write(&s->u, s->va + 8, 1);
    qvkfd_kick(&s->u);
    qtest_qmp_eventwait(qvkfd_qts(q), "STOP");
    run_state_is(qvkfd_qts(q), "paused");
    g_assert_cmphex(peek(q, s->mem), ==, 1);
    g_assert_cmphex(peek(q, q->ih_wptr), ==, 0);
    g_assert_cmphex(peek(q, q->msi), ==, 0);
    g_assert_cmphex(peek(q, s->mem + 8), ==, 0);
    queue_is(qvkfd_qts(q), "compute 0 vmid 8 PM4 rptr 8 wptr 13 busy");
    status_is(qvkfd_qts(q), 0, "ih-entry:pause@1 passages 1 fired 1 refused 0");
    status_is(qvkfd_qts(q), 1, "held back 1, device works");
}

static void goes_on(QVkfd *q, Setup *s)
{
    qtest_qmp_assert_success(qvkfd_qts(q), "{ 'execute': 'cont' }");
    qvkfd_wait_msi(q);
    qvkfd_wait_mem(q, s->mem + 8, 1);
    g_assert_cmphex(peek(q, q->ih_wptr), ==, VKFD_IH_ENTRY_SIZE);
    queue_is(qvkfd_qts(q), "compute 0 vmid 8 PM4 rptr 13 wptr 13 idle");
    status_is(qvkfd_qts(q), 1, "held back 0, device works");
    run_state_is(qvkfd_qts(q), "running");
}

static void test_pause(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    Setup s;

    setup(q, &s);
    qom_set(q, "ih-entry:pause@1");
    paused_event(q, &s);
    goes_on(q, &s);
    qom_set(q, "");
}

/* Of a VM that stands: it is not stopped again, and what was kept is done. */
static void test_pause_stopped(void *obj, void *data, QGuestAllocator *alloc)
{
    QVkfd *q = obj;
    QTestState *qts = qvkfd_qts(q);
    Setup s;

    setup(q, &s);
    qom_set(q, "doorbell:pause@1");
    qtest_qmp_assert_success(qts, "{ 'execute': 'stop' }");
    qtest_qmp_eventwait(qts, "STOP");
    qvkfd_emit_write(&s.u, s.va, 1);
    qvkfd_kick(&s.u);
    status_is(qts, 0, "doorbell:pause@1 passages 1 fired 1 refused 0");
    status_is(qts, 1, "held back 1, device works");
    qtest_qmp_assert_success(qts, "{ 'execute': 'cont' }");
    qvkfd_wait_mem(q, s.mem, 1);
    run_state_is(qts, "running");
    g_assert_null(qtest_qmp_event_ref(qts, "STOP"));
    qom_set(q, "");
}

static void test_pause_migration(void *obj, void *data, QGuestAllocator *unused)
{
    QTestState *from = qtest_init(QVKFD_MIGRATION_ARGS);
    QTestState *to = qtest_init(QVKFD_MIGRATION_ARGS " -incoming defer");
    QPCIBus *bus = qpci_new_pc(from, NULL), *to_bus = qpci_new_pc(to, NULL);
    QGuestAllocator alloc;
    QVkfd src = { 0 }, dst;
    Setup s;

    pc_alloc_init(&alloc, from, ALLOC_NO_FLAGS);
    qvkfd_attach(&src, bus, QPCI_DEVFN(4, 0), &alloc);
    setup(&src, &s);
    qom_set(&src, "ih-entry:pause@1");
    paused_event(&src, &s);
    qvkfd_migrate(from, to);

    dst = src;
    dst.dev.bus = to_bus;
    s.u.q = &dst;
    run_state_is(to, "paused");
    status_is(to, 0, "ih-entry:pause@1 passages 1 fired 1 refused 0");
    g_assert_cmphex(peek(&dst, dst.ih_wptr), ==, 0);
    goes_on(&dst, &s);
    g_assert_cmphex(peek(&src, src.ih_wptr), ==, 0);

    qtest_quit(from);
    qtest_quit(to);
    alloc_destroy(&alloc);
    qpci_free_pc(bus);
    qpci_free_pc(to_bus);
}

#define MACHINE "-machine q35 -m 64M -vga none -nic none "

static void test_command_line(void *obj, void *data, QGuestAllocator *unused)
{
    /* The second device ends it in any case. */
    const char *const bad[] = {
        g_getenv("QTEST_QEMU_BINARY"), "-machine", "q35", "-nodefaults", "-display",
        "none", "-accel", "qtest", "-device", "vkfd,inject=slot:drop@x",
        "-device", "no-such-device", NULL,
    };
    g_autofree char *err = NULL;
    QTestState *qts;
    QGuestAllocator alloc;
    QVkfd q = { 0 };
    QPCIBus *bus;
    int status;
    Setup s;

    g_assert_true(g_spawn_sync(NULL, (char **)bad, NULL,
                               G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                               &err, &status, NULL));
    g_test_message("%s", err);
    g_assert_cmpint(status, !=, 0);
    g_assert_nonnull(strstr(err, "property 'inject': 'x' is no passage"));

    /* Armed before the machine's first reset, and still after it. */
    qts = qtest_init(MACHINE "-device vkfd,id=vkfd0,addr=04.0,vram-size=64M,"
                     "inject='msix:drop@2;slot:drop@3'");
    bus = qpci_new_pc(qts, NULL);
    pc_alloc_init(&alloc, qts, ALLOC_NO_FLAGS);
    qvkfd_attach(&q, bus, QPCI_DEVFN(4, 0), &alloc);
    setup(&q, &s);
    event(&q, &s);
    qvkfd_wait_msi(&q);
    qvkfd_ih_set_rptr(&q, VKFD_IH_ENTRY_SIZE);
    event(&q, &s);
    g_assert_cmphex(peek(&q, q.msi), ==, 0);
    qvkfd_ih_set_rptr(&q, 2 * VKFD_IH_ENTRY_SIZE);
    event(&q, &s);
    qvkfd_wait_msi(&q);
    g_assert_cmphex(peek(&q, s.mem), ==, 2);
    status_is(qts, 0, "msix:drop@2 passages 3 fired 1 refused 0");
    status_is(qts, 1, "slot:drop@3 passages 3 fired 1 refused 0");
    qtest_quit(qts);
    alloc_destroy(&alloc);
    qpci_free_pc(bus);
}

static void register_vkfd_inject_test(void)
{
    qos_add_test("inject/qmp", "vkfd", test_qmp, NULL);
    qos_add_test("inject/page", "vkfd", test_page, NULL);
    qos_add_test("inject/device", "vkfd", test_device, NULL);
    qos_add_test("inject/pause", "vkfd", test_pause, NULL);
    qos_add_test("inject/pause-stopped", "vkfd", test_pause_stopped, NULL);
    qos_add_test("inject/pause-migration", "vkfd", test_pause_migration, NULL);
    qos_add_test("inject/property", "vkfd", test_property, NULL);
    qos_add_test("inject/command-line", "vkfd", test_command_line, NULL);
}

libqos_init(register_vkfd_inject_test);
