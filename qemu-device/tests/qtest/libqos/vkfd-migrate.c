/* SPDX-License-Identifier: MIT */
/* Migration between two QEMUs of a test, through a file. */

#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "vkfd.h"

/* Events are on from the handshake; "completed" is the last one. */
static void wait_migrated(QTestState *qts)
{
    for (;;) {
        QDict *ev = qtest_qmp_eventwait_ref(qts, "MIGRATION");
        const char *status = qdict_get_str(qdict_get_qdict(ev, "data"),
                                           "status");
        bool done = g_str_equal(status, "completed");

        g_assert_cmpstr(status, !=, "failed");
        qobject_unref(ev);
        if (done) {
            return;
        }
    }
}

static void migration_events(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'migrate-set-capabilities', "
        "'arguments': { 'capabilities': [ "
        "{ 'capability': 'events', 'state': true } ] } }");
}

void qvkfd_migrate(QTestState *from, QTestState *to)
{
    g_autofree char *dir = g_dir_make_tmp("vkfd-test-XXXXXX", NULL);
    g_autofree char *uri = NULL, *path = NULL;

    g_assert_nonnull(dir);
    path = g_build_filename(dir, "state", NULL);
    uri = g_strdup_printf("file:%s", path);
    migration_events(from);
    migration_events(to);
    qtest_qmp_assert_success(from, "{ 'execute': 'migrate', 'arguments': "
                             "{ 'uri': %s } }", uri);
    wait_migrated(from);
    qtest_qmp_assert_success(to, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s } }", uri);
    wait_migrated(to);
    unlink(path);
    rmdir(dir);
}
