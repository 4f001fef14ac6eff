/* SPDX-License-Identifier: MIT */
/* Fault injection: what the grammar takes, what it refuses and where, how it is shown. */
#include "harness.h"

#define ENTRY "00000000_11111111_22222222_33333333_44444444_55555555_66666666_77777777"

static void good(const char *text, const char *shown)
{
    VKFDInjectSpec specs[VKFD_INJECT_SPECS], again[VKFD_INJECT_SPECS];
    VKFDInjectError err;
    char buf[VKFD_INJECT_TEXT_SIZE] = "";
    uint32_t n, m, i;
    size_t at = 0;
    bool ok = vkfd_inject_parse(text, specs, &n, &err);

    printf("# %s\n", text);
    if (!ok) {
        printf("# %s\n", err.msg);
        CHECK(ok);
        return;
    }
    for (i = 0; i < n; i++) {
        CHECK(vkfd_inject_spec_ok(&specs[i]));
        at += snprintf(buf + at, i ? 2 : 1, ";");
        at = strlen(buf);
        vkfd_inject_spec_text(&specs[i], buf + at, sizeof(buf) - at);
        at = strlen(buf);
    }
    if (strcmp(buf, shown)) {
        printf("# shown as %s\n", buf);
    }
    CHECK(!strcmp(buf, shown));
    /* what is shown means the same */
    CHECK(vkfd_inject_parse(buf, again, &m, &err));
    CHECK_EQ(n, m);
    CHECK(!memcmp(specs, again, n * sizeof(specs[0])));
}

static void bad(const char *text, uint32_t status, uint32_t pos, const char *says)
{
    VKFDInjectSpec specs[VKFD_INJECT_SPECS];
    VKFDInjectError err;
    uint32_t n;

    printf("# %s\n", text);
    CHECK(!vkfd_inject_parse(text, specs, &n, &err));
    CHECK_EQ(err.status, status);
    CHECK_EQ(err.pos, pos);
    if (!strstr(err.msg, says)) {
        printf("# says: %s\n", err.msg);
    }
    CHECK(strstr(err.msg, says));
    CHECK(!strchr(err.msg, '\n'));
}

static void test_good(void)
{
    good("", "");
    good("  ", "");
    good("msix:drop@1", "msix:drop@1");
    good("msix:drop@1000/1000", "msix:drop@1000/1000");
    good("msix:drop@3/1", "msix:drop@3/1");
    good("msix:drop@3*4", "msix:drop@3*4");
    good("msix:drop@3/1*4", "msix:drop@3*4");
    good("msix:drop@3/7*1", "msix:drop@3/7*1");
    good("msix:drop@3*1", "msix:drop@3");
    good("msix:drop@4294967295/4294967295*4294967295",
         "msix:drop@4294967295/4294967295*4294967295");
    good(" slot:delay@1 ;\tfetch:hang@2 ", "slot:delay:1ms@1;fetch:hang@2");
    good("slot:delay:250@1;slot:delay:1500us@2;slot:delay:60s@3;slot:delay:2000ms@4",
         "slot:delay:250ns@1;slot:delay:1500us@2;slot:delay:60s@3;slot:delay:2s@4");
    good("msix:dup:5us@1;ih-entry:dup:1ns@1;slot:dup@1;doorbell:dup@1",
         "msix:dup:5us@1;ih-entry:dup:1ns@1;slot:dup@1;doorbell:dup@1");
    good("msix:pause@1000;fetch:pause@5/10*3", "msix:pause@1000;fetch:pause@5/10*3");
    good("doorbell:corrupt@1;doorbell:corrupt:17@1;doorbell:corrupt:^0x10@1",
         "doorbell:corrupt:^0x1@1;doorbell:corrupt:^0x11@1;doorbell:corrupt:^0x10@1");
    good("slot:corrupt:=0@1;slot:corrupt:=18446744073709551615@1",
         "slot:corrupt:=0x0@1;slot:corrupt:=0xffffffffffffffff@1");
    good("ih-entry:corrupt@1;ih-entry:corrupt:3=0@1;ih-entry:corrupt:0^0xff@1",
         "ih-entry:corrupt:4^0x1@1;ih-entry:corrupt:3=0x0@1;ih-entry:corrupt:0^0xff@1");
    good("ih-entry:insert:" ENTRY "@0", "ih-entry:insert:" ENTRY "@0");
    good("ih-entry:insert:00000000111111112222222233333333"
         "44444444555555556666666677777777@5/2*3",
         "ih-entry:insert:" ENTRY "@5/2*3");
    good("msix:insert@0;device:gone@0;device:hang@0;device:delay:1s@0",
         "msix:insert@0;device:gone@0;device:hang@0;device:delay:1s@0");
    good("preempt:hang@1;preempt:drop@1;preempt:delay@1",
         "preempt:hang@1;preempt:drop@1;preempt:delay:1ms@1");
    good("fetch:corrupt@1;ih-wptr:corrupt@1;page-walk:corrupt@1",
         "fetch:corrupt:^0xc0000000@1;ih-wptr:corrupt:^0x20@1;"
         "page-walk:corrupt:^0x60@1");
}

static void test_bad(void)
{
    bad("drop", VKFD_INJECT_BAD_POINT, 0, "no injection point 'drop'");
    bad("mesix:drop@1", VKFD_INJECT_BAD_POINT, 0, "'mesix'");
    bad("msix", VKFD_INJECT_BAD_SYNTAX, 4, "':'");
    bad("msix:", VKFD_INJECT_BAD_ACTION, 5, "action");
    bad("msix:nap@1", VKFD_INJECT_BAD_ACTION, 5, "'nap'");
    bad("msix:drop", VKFD_INJECT_BAD_SYNTAX, 9, "'@'");
    bad("msix:drop@", VKFD_INJECT_BAD_COUNT, 10, "passage");
    bad("msix:drop@x", VKFD_INJECT_BAD_COUNT, 10, "'x'");
    bad("msix:drop@-1", VKFD_INJECT_BAD_COUNT, 10, "passage");
    bad("msix:drop@0x1", VKFD_INJECT_BAD_COUNT, 9, "@0");
    bad("msix:drop@1x", VKFD_INJECT_BAD_SYNTAX, 11, "';'");
    bad("msix:drop@4294967296", VKFD_INJECT_BAD_COUNT, 10, "passage");
    bad("msix:drop@99999999999999999999999", VKFD_INJECT_BAD_COUNT, 10, "passage");
    bad("msix:drop@0", VKFD_INJECT_BAD_COUNT, 9, "@0");
    bad("slot:delay@0", VKFD_INJECT_BAD_COUNT, 10, "@0");
    bad("device:hang@0/2", VKFD_INJECT_BAD_COUNT, 11, "@0");
    bad("msix:drop@1/0", VKFD_INJECT_BAD_COUNT, 12, "interval");
    bad("msix:drop@1*0", VKFD_INJECT_BAD_COUNT, 12, "count");
    bad("msix:drop@1*1/2", VKFD_INJECT_BAD_SYNTAX, 13, "';'");
    bad("msix:drop@1,slot:drop@1", VKFD_INJECT_BAD_SYNTAX, 11, "';'");
    bad("msix:drop@1;", VKFD_INJECT_BAD_POINT, 12, "point ''");
    bad(";msix:drop@1", VKFD_INJECT_BAD_POINT, 0, "point ''");
    bad("msix:drop@1;;msix:drop@2", VKFD_INJECT_BAD_POINT, 12, "point ''");
    bad("msix:drop:5@1", VKFD_INJECT_BAD_ARGUMENT, 10, "no argument");
    bad("fetch:hang:1s@1", VKFD_INJECT_BAD_ARGUMENT, 11, "no argument");
    bad("doorbell:dup:1us@1", VKFD_INJECT_BAD_ARGUMENT, 13, "no argument");
    bad("msix:insert:1@1", VKFD_INJECT_BAD_ARGUMENT, 12, "no argument");
    bad("slot:delay:0@1", VKFD_INJECT_BAD_ARGUMENT, 11, "'0'");
    bad("slot:delay:@1", VKFD_INJECT_BAD_ARGUMENT, 11, "time");
    bad("slot:delay:61s@1", VKFD_INJECT_BAD_ARGUMENT, 11, "'61s'");
    bad("slot:delay:1h@1", VKFD_INJECT_BAD_ARGUMENT, 11, "'1h'");
    bad("slot:corrupt:0@1", VKFD_INJECT_BAD_ARGUMENT, 13, "changes nothing");
    bad("slot:corrupt:=0x10000000000000000@1", VKFD_INJECT_BAD_ARGUMENT, 13, "up to");
    bad("fetch:corrupt:0x100000000@1", VKFD_INJECT_BAD_ARGUMENT, 14, "0xffffffff");
    bad("slot:corrupt:3=0@1", VKFD_INJECT_BAD_SYNTAX, 14, "'@'");
    bad("ih-entry:corrupt:8=0@1", VKFD_INJECT_BAD_ARGUMENT, 17, "dword 0 to 7");
    bad("ih-entry:corrupt:4^@1", VKFD_INJECT_BAD_ARGUMENT, 17, "dword");
    bad("msix:pause:1ms@1", VKFD_INJECT_BAD_ARGUMENT, 11, "takes no argument");
    bad("msix:pause@0", VKFD_INJECT_BAD_COUNT, 10, "when armed");
    bad("ih-entry:insert@1", VKFD_INJECT_BAD_ARGUMENT, 15, "8 dwords");
    bad("ih-entry:insert:12@1", VKFD_INJECT_BAD_ARGUMENT, 16, "8 dwords");
    bad("ih-entry:insert:" ENTRY "0@1", VKFD_INJECT_BAD_ARGUMENT, 16, "8 dwords");
}

/* Every point with every action: taken, or refused by a message that names both. */
static void test_combinations(void)
{
    /* drop delay dup corrupt hang insert gone pause */
    static const char table[VKFD_INJECT_POINTS][VKFD_INJECT_ACTIONS + 1] = {
        [VKFD_INJECT_AT_DOORBELL]  = "yyyynnny",
        [VKFD_INJECT_AT_FETCH]     = "yyyyynny",
        [VKFD_INJECT_AT_SLOT]      = "yyyynnny",
        [VKFD_INJECT_AT_IH_ENTRY]  = "yyyynyny",
        [VKFD_INJECT_AT_IH_WPTR]   = "yynynnny",
        [VKFD_INJECT_AT_MSIX]      = "yyynnyny",
        [VKFD_INJECT_AT_PAGE_WALK] = "ynnynnny",
        [VKFD_INJECT_AT_PREEMPT]   = "yynnynny",
        [VKFD_INJECT_AT_DEVICE]    = "nynnynyn",
    };
    unsigned p, a;

    for (p = 0; p < VKFD_INJECT_POINTS; p++) {
        for (a = 0; a < VKFD_INJECT_ACTIONS; a++) {
            VKFDInjectSpec specs[VKFD_INJECT_SPECS];
            VKFDInjectError err;
            char text[128];
            uint32_t n;

            snprintf(text, sizeof(text), "%s:%s%s@1", vkfd_inject_point_name(p),
                     vkfd_inject_action_name(a),
                     p == VKFD_INJECT_AT_IH_ENTRY && a == VKFD_INJECT_DO_INSERT
                     ? ":" ENTRY : "");
            printf("# %s\n", text);
            if (table[p][a] == 'y') {
                CHECK(vkfd_inject_parse(text, specs, &n, &err));
                continue;
            }
            CHECK(!vkfd_inject_parse(text, specs, &n, &err));
            CHECK_EQ(err.status, VKFD_INJECT_BAD_COMBINATION);
            CHECK(strstr(err.msg, vkfd_inject_point_name(p)));
            CHECK(strstr(err.msg, vkfd_inject_action_name(a)));
        }
    }
}

static void test_limits(void)
{
    VKFDInjectSpec specs[VKFD_INJECT_SPECS];
    VKFDInjectError err;
    Bus *b = bus_new();
    char text[VKFD_INJECT_TEXT_SIZE + 1], shown[VKFD_INJECT_TEXT_SIZE];
    uint32_t n, i;
    size_t at = 0;

    /* sixteen of the longest specs fit, and fit when they are shown */
    for (i = 0; i < VKFD_INJECT_SPECS; i++) {
        at += sprintf(text + at, "%sih-entry:insert:" ENTRY
                      "@4294967295/4294967295*4294967295", i ? ";" : "");
    }
    CHECK(vkfd_inject_arm(b->e, text, &err));
    vkfd_inject_text(b->e, shown, sizeof(shown));
    CHECK(!strcmp(text, shown));
    strcpy(text + at, ";msix:drop@1");
    CHECK(!vkfd_inject_parse(text, specs, &n, &err));
    CHECK_EQ(err.status, VKFD_INJECT_TOO_MANY);
    CHECK_EQ(err.pos, at + 1);
    memset(text, ' ', VKFD_INJECT_TEXT_SIZE);
    text[VKFD_INJECT_TEXT_SIZE] = '\0';
    CHECK(!vkfd_inject_parse(text, specs, &n, &err));
    CHECK_EQ(err.status, VKFD_INJECT_TOO_LONG);
    bus_free(b);
}

/* No text of whatever bytes reads or writes where it should not (sanitizers). */
static void test_garbage(void)
{
    static const char alphabet[] = "msix:drop@1;/*0x^=_ihentrydelayfetch\x80\xff 9";
    VKFDInjectSpec specs[VKFD_INJECT_SPECS];
    VKFDInjectError err;
    uint64_t seed = 0x123456789abcdefull;
    char text[64];
    unsigned round, i, taken = 0;
    uint32_t n;

    for (round = 0; round < 20000; round++) {
        const char *base = "ih-entry:corrupt:4=0x10@1/2*3;slot:delay:5us@7";
        unsigned edits = prng(&seed) % 4;

        strcpy(text, base);
        for (i = 0; i < edits; i++) {
            text[prng(&seed) % strlen(base)] =
                alphabet[prng(&seed) % (sizeof(alphabet) - 1)];
        }
        if (vkfd_inject_parse(text, specs, &n, &err)) {
            taken++;
            for (i = 0; i < n && vkfd_inject_spec_ok(&specs[i]); i++) {
            }
            if (i != n) {
                CHECK(!"what is taken is valid");
            }
        } else if (err.status == VKFD_INJECT_OK || err.pos > strlen(text)) {
            CHECK(!"an error has a status and a place");
        }
    }
    CHECK(taken > 1000);
    CHECK(taken < 19000);
}

int main(void)
{
    test_good();
    test_bad();
    test_combinations();
    test_limits();
    test_garbage();
    return tap_done();
}
