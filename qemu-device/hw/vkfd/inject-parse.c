/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection: the grammar.
 *
 *   list   = [ spec { ";" spec } ]
 *   spec   = point ":" action [ ":" arg ] "@" first [ "/" every ] [ "*" count ]
 *   arg    = time                     delay, dup: 250, 250ns, 50us, 3ms, 1s
 *          | [ "^" | "=" ] number     corrupt: xor mask or value
 *          | dword ("^" | "=") number corrupt at ih-entry: dword 0 to 7
 *          | 64 hex digits            insert at ih-entry: dwords 0 to 7, "_" between
 *
 * Blanks around a spec are skipped. Without /every and *count a spec acts once;
 * with *count only, on that many passages in a row; with /every only, without end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "inject.h"

#define BIT(n)          (1u << VKFD_INJECT_DO_##n)

static const char *const action_names[VKFD_INJECT_ACTIONS] = {
    [VKFD_INJECT_DO_DROP] = "drop",
    [VKFD_INJECT_DO_DELAY] = "delay",
    [VKFD_INJECT_DO_DUP] = "dup",
    [VKFD_INJECT_DO_CORRUPT] = "corrupt",
    [VKFD_INJECT_DO_HANG] = "hang",
    [VKFD_INJECT_DO_INSERT] = "insert",
    [VKFD_INJECT_DO_GONE] = "gone",
    [VKFD_INJECT_DO_PAUSE] = "pause",
};

static const struct {
    const char *name;
    uint32_t actions;           /* that make sense here */
    bool timed_dup;             /* dup may take a time */
    uint64_t max;               /* corrupt: largest mask or value */
    uint64_t mask;              /* corrupt: mask when none is given */
} points[VKFD_INJECT_POINTS] = {
    [VKFD_INJECT_AT_DOORBELL] = {
        "doorbell", BIT(DROP) | BIT(DELAY) | BIT(DUP) | BIT(CORRUPT) | BIT(PAUSE),
        false, UINT64_MAX, 1 },
    /* Both type bits of a header: a type 3 packet becomes a bad type 0. */
    [VKFD_INJECT_AT_FETCH] = {
        "fetch", BIT(DROP) | BIT(DELAY) | BIT(DUP) | BIT(CORRUPT) | BIT(HANG) |
        BIT(PAUSE), false, UINT32_MAX, 0xc0000000 },
    [VKFD_INJECT_AT_SLOT] = {
        "slot", BIT(DROP) | BIT(DELAY) | BIT(DUP) | BIT(CORRUPT) | BIT(PAUSE),
        true, UINT64_MAX, 1 },
    [VKFD_INJECT_AT_IH_ENTRY] = {
        "ih-entry", BIT(DROP) | BIT(DELAY) | BIT(DUP) | BIT(CORRUPT) |
        BIT(INSERT) | BIT(PAUSE), true, UINT32_MAX, 1 },
    /* One entry further than there is. */
    [VKFD_INJECT_AT_IH_WPTR] = {
        "ih-wptr", BIT(DROP) | BIT(DELAY) | BIT(CORRUPT) | BIT(PAUSE), false,
        UINT32_MAX, VKFD_IH_ENTRY_SIZE },
    [VKFD_INJECT_AT_MSIX] = {
        "msix", BIT(DROP) | BIT(DELAY) | BIT(DUP) | BIT(INSERT) | BIT(PAUSE), true,
        0, 0 },
    /* READABLE and WRITEABLE of the leaf. */
    [VKFD_INJECT_AT_PAGE_WALK] = {
        "page-walk", BIT(DROP) | BIT(CORRUPT) | BIT(PAUSE), false, UINT64_MAX, 0x60 },
    [VKFD_INJECT_AT_PREEMPT] = {
        "preempt", BIT(DROP) | BIT(DELAY) | BIT(HANG) | BIT(PAUSE), false, 0, 0 },
    [VKFD_INJECT_AT_DEVICE] = {
        "device", BIT(DELAY) | BIT(HANG) | BIT(GONE), false, 0, 0 },
};

/* Context id 0: what corrupt changes in an interrupt entry unless told. */
#define ENTRY_DW_DEFAULT        4

const char *vkfd_inject_point_name(unsigned point)
{
    return point < VKFD_INJECT_POINTS ? points[point].name : "?";
}

const char *vkfd_inject_action_name(unsigned action)
{
    return action < VKFD_INJECT_ACTIONS ? action_names[action] : "?";
}

typedef struct Parser {
    const char *text, *p;
    VKFDInjectError *err;
} Parser;

/* Note an error at a place of the text. Returns false. */
static bool __attribute__((format(printf, 4, 5)))
fail(Parser *ps, uint32_t status, const char *at, const char *fmt, ...)
{
    va_list ap;
    int n;

    ps->err->status = status;
    ps->err->pos = at - ps->text;
    va_start(ap, fmt);
    n = vsnprintf(ps->err->msg, sizeof(ps->err->msg), fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < sizeof(ps->err->msg)) {
        snprintf(ps->err->msg + n, sizeof(ps->err->msg) - n, " (at byte %u)",
                 ps->err->pos);
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Characters of a name or number at the cursor. */
static int word_len(const char *p)
{
    int n = 0;

    while (is_digit(p[n]) || (p[n] >= 'a' && p[n] <= 'z') ||
           (p[n] >= 'A' && p[n] <= 'Z') || p[n] == '-' || p[n] == '_') {
        n++;
    }
    return n;
}

/* For messages: what is there, without running away with the rest of the text. */
static int shown(const char *p)
{
    int n = word_len(p);

    return n > 24 ? 24 : n;
}

/* Index of the name at the cursor in a list, or -1. */
static int lookup(const Parser *ps, const char *(*name)(unsigned), unsigned n)
{
    int len = word_len(ps->p);
    unsigned i;

    for (i = 0; i < n; i++) {
        if (strlen(name(i)) == (size_t)len && !memcmp(name(i), ps->p, len)) {
            return i;
        }
    }
    return -1;
}

/* Decimal, or hexadecimal with 0x where hex says so, from 0 to max. */
static bool number(Parser *ps, bool hex, uint64_t max, uint64_t *val)
{
    unsigned base = 10;
    bool any = false;

    *val = 0;
    if (hex && ps->p[0] == '0' && (ps->p[1] == 'x' || ps->p[1] == 'X')) {
        base = 16;
        ps->p += 2;
    }
    for (;; ps->p++, any = true) {
        int d = hex_value(*ps->p);

        if (d < 0 || d >= (int)base) {
            return any;
        }
        if (*val > (max - d) / base || (unsigned)d > max) {
            return false;
        }
        *val = *val * base + d;
    }
}

/* Why an action that exists is not one of this point. */
static const char *reason(unsigned point, unsigned action)
{
    switch (action) {
    case VKFD_INJECT_DO_INSERT:
        return "only ih-entry and msix have something to insert";
    case VKFD_INJECT_DO_GONE:
        return "only the device can be gone";
    case VKFD_INJECT_DO_HANG:
        return point == VKFD_INJECT_AT_PAGE_WALK
               ? "a walk is part of its packet: fetch:hang"
               : "what never passes again is drop@N/1";
    case VKFD_INJECT_DO_PAUSE:
        return "it counts packets, as fetch:pause does";
    default:
        break;
    }
    switch (point) {
    case VKFD_INJECT_AT_PAGE_WALK:
        return action == VKFD_INJECT_DO_DELAY
               ? "a walk is part of its packet: fetch:delay"
               : "walking twice cannot be told from once";
    case VKFD_INJECT_AT_IH_WPTR:
        return "writing the word twice cannot be told from once";
    case VKFD_INJECT_AT_MSIX:
        return "the message would be another device's";
    case VKFD_INJECT_AT_PREEMPT:
        return "a request can be drop, delay or hang";
    default:
        return "the device can delay, hang or be gone";
    }
}

static bool parse_time(Parser *ps, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
    const char *at = ps->p;
    uint64_t unit = 1;
    int len;
    unsigned i;

    if (number(ps, false, VKFD_INJECT_DELAY_MAX, ns)) {
        len = word_len(ps->p);
        for (i = 0; len && i < 4; i++) {
            if (strlen(units[i].name) == (size_t)len &&
                !memcmp(units[i].name, ps->p, len)) {
                unit = units[i].ns;
                ps->p += len;
                len = 0;
            }
        }
        if (!len && *ns && *ns <= VKFD_INJECT_DELAY_MAX / unit) {
            *ns *= unit;
            return true;
        }
    }
    return fail(ps, VKFD_INJECT_BAD_ARGUMENT, at,
                "'%.*s' is not a time from 1ns to 60s", shown(at), at);
}

static bool parse_corrupt(Parser *ps, VKFDInjectSpec *s)
{
    const char *at = ps->p;

    if (s->point == VKFD_INJECT_AT_IH_ENTRY && is_digit(at[0]) &&
        (at[1] == '^' || at[1] == '=')) {
        s->dw = at[0] - '0';
        ps->p++;
    }
    if (*ps->p == '^' || *ps->p == '=') {
        s->set = *ps->p++ == '=';
    }
    if (s->dw >= VKFD_IH_ENTRY_DW ||
        !number(ps, true, points[s->point].max, &s->arg)) {
        return fail(ps, VKFD_INJECT_BAD_ARGUMENT, at, s->point ==
                    VKFD_INJECT_AT_IH_ENTRY
                    ? "corrupt takes [dword 0 to 7]^mask or =value of 32 bits"
                    : "corrupt takes ^mask or =value, up to 0x%llx",
                    (unsigned long long)points[s->point].max);
    }
    if (!s->set && !s->arg) {
        return fail(ps, VKFD_INJECT_BAD_ARGUMENT, at, "mask 0 changes nothing");
    }
    return true;
}

static bool parse_entry(Parser *ps, VKFDInjectSpec *s)
{
    const char *at = ps->p;
    unsigned i;

    for (i = 0; i < 8 * VKFD_IH_ENTRY_DW; i++, ps->p++) {
        if (i && i % 8 == 0 && *ps->p == '_') {
            ps->p++;
        }
        if (hex_value(*ps->p) < 0) {
            break;
        }
        s->entry[i / 8] = s->entry[i / 8] << 4 | hex_value(*ps->p);
    }
    if (i < 8 * VKFD_IH_ENTRY_DW || word_len(ps->p)) {
        return fail(ps, VKFD_INJECT_BAD_ARGUMENT, at,
                    "insert takes an entry: 8 dwords of 8 hex digits each");
    }
    return true;
}

/* Behind "action": the argument, given or not. */
static bool parse_arg(Parser *ps, VKFDInjectSpec *s)
{
    bool given = *ps->p == ':';

    ps->p += given;
    switch (s->action) {
    case VKFD_INJECT_DO_DELAY:
        s->arg = VKFD_INJECT_DELAY;
        return !given || parse_time(ps, &s->arg);
    case VKFD_INJECT_DO_DUP:
        if (!given || points[s->point].timed_dup) {
            return !given || parse_time(ps, &s->arg);
        }
        break;
    case VKFD_INJECT_DO_CORRUPT:
        s->arg = points[s->point].mask;
        s->dw = s->point == VKFD_INJECT_AT_IH_ENTRY ? ENTRY_DW_DEFAULT : 0;
        return !given || parse_corrupt(ps, s);
    case VKFD_INJECT_DO_INSERT:
        if (s->point == VKFD_INJECT_AT_IH_ENTRY) {
            return parse_entry(ps, s);
        }
        break;
    default:
        break;
    }
    if (given) {
        return fail(ps, VKFD_INJECT_BAD_ARGUMENT, ps->p,
                    "%s:%s takes no argument", points[s->point].name,
                    action_names[s->action]);
    }
    return true;
}

static bool at_arming_ok(const VKFDInjectSpec *s)
{
    return s->action == VKFD_INJECT_DO_INSERT ||
           s->point == VKFD_INJECT_AT_DEVICE;
}

static bool parse_count(Parser *ps, const char *what, uint32_t min,
                        uint32_t *val)
{
    const char *at = ps->p;
    uint64_t v;

    if (!number(ps, false, UINT32_MAX, &v) || v < min) {
        return fail(ps, VKFD_INJECT_BAD_COUNT, at,
                    "'%.*s' is no %s: a number from %u to %u", shown(at), at,
                    what, min, UINT32_MAX);
    }
    *val = v;
    return true;
}

static bool parse_when(Parser *ps, VKFDInjectSpec *s)
{
    const char *at = ps->p;
    bool every = false, count = false;

    if (*ps->p != '@') {
        return fail(ps, VKFD_INJECT_BAD_SYNTAX, ps->p,
                    "'@' and the first passage to act on expected");
    }
    ps->p++;
    if (!parse_count(ps, "passage", 0, &s->first)) {
        return false;
    }
    s->every = 1;
    if (*ps->p == '/') {
        every = true;
        ps->p++;
        if (!parse_count(ps, "interval", 1, &s->every)) {
            return false;
        }
    }
    if (*ps->p == '*') {
        count = true;
        ps->p++;
        if (!parse_count(ps, "count", 1, &s->count)) {
            return false;
        }
    }
    if (!every && !count) {
        s->count = 1;
    }
    if (!s->first && (every || count || !at_arming_ok(s))) {
        return fail(ps, VKFD_INJECT_BAD_COUNT, at,
                    "@0 (when armed) is for insert and device, once");
    }
    return true;
}

static bool parse_spec(Parser *ps, VKFDInjectSpec *s)
{
    int point = lookup(ps, vkfd_inject_point_name, VKFD_INJECT_POINTS), action;
    const char *at = ps->p;

    if (point < 0) {
        return fail(ps, VKFD_INJECT_BAD_POINT, at, "no injection point '%.*s'",
                    shown(at), at);
    }
    ps->p += word_len(ps->p);
    if (*ps->p != ':') {
        return fail(ps, VKFD_INJECT_BAD_SYNTAX, ps->p,
                    "':' and an action expected behind '%s'", points[point].name);
    }
    at = ++ps->p;
    action = lookup(ps, vkfd_inject_action_name, VKFD_INJECT_ACTIONS);
    if (action < 0) {
        return fail(ps, VKFD_INJECT_BAD_ACTION, at, "no injection action '%.*s'",
                    shown(at), at);
    }
    if (!(points[point].actions & 1u << action)) {
        return fail(ps, VKFD_INJECT_BAD_COMBINATION, at,
                    "'%s' makes no sense at '%s': %s", action_names[action],
                    points[point].name, reason(point, action));
    }
    ps->p += word_len(ps->p);
    *s = (VKFDInjectSpec) { .point = point, .action = action };
    return parse_arg(ps, s) && parse_when(ps, s);
}

static void skip_blanks(Parser *ps)
{
    while (*ps->p == ' ' || *ps->p == '\t') {
        ps->p++;
    }
}

bool vkfd_inject_parse(const char *text, VKFDInjectSpec *specs, uint32_t *n,
                       VKFDInjectError *err)
{
    Parser ps = { .text = text, .p = text, .err = err };

    *err = (VKFDInjectError) { .status = VKFD_INJECT_OK };
    *n = 0;
    if (strnlen(text, VKFD_INJECT_TEXT_SIZE) == VKFD_INJECT_TEXT_SIZE) {
        return fail(&ps, VKFD_INJECT_TOO_LONG, text + VKFD_INJECT_TEXT_SIZE - 1,
                    "at most %u bytes of injection specs",
                    VKFD_INJECT_TEXT_SIZE - 1);
    }
    skip_blanks(&ps);
    if (!*ps.p) {
        return true;
    }
    for (;;) {
        skip_blanks(&ps);
        if (*n == VKFD_INJECT_SPECS) {
            return fail(&ps, VKFD_INJECT_TOO_MANY, ps.p,
                        "at most %d injection specs", VKFD_INJECT_SPECS);
        }
        if (!parse_spec(&ps, &specs[*n])) {
            return false;
        }
        ++*n;
        skip_blanks(&ps);
        if (!*ps.p) {
            return true;
        }
        if (*ps.p != ';') {
            return fail(&ps, VKFD_INJECT_BAD_SYNTAX, ps.p,
                        "';' or the end expected behind a spec");
        }
        ps.p++;
    }
}

bool vkfd_inject_spec_ok(const VKFDInjectSpec *s)
{
    uint64_t max = 0, min = 0;

    if (s->point >= VKFD_INJECT_POINTS || s->action >= VKFD_INJECT_ACTIONS ||
        !(points[s->point].actions & 1u << s->action) || !s->every ||
        s->set > 1 || s->dw >= VKFD_IH_ENTRY_DW ||
        (s->dw && s->point != VKFD_INJECT_AT_IH_ENTRY)) {
        return false;
    }
    if (!s->first && (s->every != 1 || s->count != 1 || !at_arming_ok(s))) {
        return false;
    }
    switch (s->action) {
    case VKFD_INJECT_DO_DELAY:
        min = 1;
        max = VKFD_INJECT_DELAY_MAX;
        break;
    case VKFD_INJECT_DO_DUP:
        max = points[s->point].timed_dup ? VKFD_INJECT_DELAY_MAX : 0;
        break;
    case VKFD_INJECT_DO_CORRUPT:
        min = !s->set;
        max = points[s->point].max;
        break;
    default:
        break;
    }
    return s->arg >= min && s->arg <= max;
}

static int time_text(uint64_t ns, char *buf, size_t size)
{
    static const char *const names[] = { "ns", "us", "ms", "s" };
    unsigned i = 0;

    while (i < 3 && ns % 1000 == 0) {
        ns /= 1000;
        i++;
    }
    return snprintf(buf, size, ":%llu%s", (unsigned long long)ns, names[i]);
}

static int arg_text(const VKFDInjectSpec *s, char *buf, size_t size)
{
    char dw[4] = "";
    unsigned i;
    int n = 0;

    switch (s->action) {
    case VKFD_INJECT_DO_DELAY:
        return time_text(s->arg, buf, size);
    case VKFD_INJECT_DO_DUP:
        return s->arg ? time_text(s->arg, buf, size) : 0;
    case VKFD_INJECT_DO_CORRUPT:
        if (s->point == VKFD_INJECT_AT_IH_ENTRY) {
            snprintf(dw, sizeof(dw), "%u", s->dw % VKFD_IH_ENTRY_DW);
        }
        return snprintf(buf, size, ":%s%c0x%llx", dw, s->set ? '=' : '^',
                        (unsigned long long)s->arg);
    case VKFD_INJECT_DO_INSERT:
        for (i = 0; s->point == VKFD_INJECT_AT_IH_ENTRY && i < VKFD_IH_ENTRY_DW;
             i++) {
            n += snprintf(buf + n, size - n, "%c%08x", i ? '_' : ':', s->entry[i]);
        }
        return n;
    default:
        return 0;
    }
}

int vkfd_inject_spec_text(const VKFDInjectSpec *s, char *buf, size_t size)
{
    char arg[96] = "", every[16] = "", count[16] = "";

    arg_text(s, arg, sizeof(arg));
    if (s->every != 1 || !s->count) {
        snprintf(every, sizeof(every), "/%u", s->every);
    }
    if (s->count && (s->every != 1 || s->count != 1)) {
        snprintf(count, sizeof(count), "*%u", s->count);
    }
    return snprintf(buf, size, "%s:%s%s@%u%s%s", points[s->point].name,
                    action_names[s->action], arg, s->first, every, count);
}
