/* hot_keys_cmd.c -- HOTKEYS: one session at a time, its options and its results.
 *
 *     (none) --START--> active --STOP, the end of DURATION--> stopped --RESET--> (none)
 *                         ^                                      |
 *                         '----------------START-----------------'
 *
 * Options, errors, the order in which they are found and the fields of the reply are those of Redis 8.6, which had this
 * command first. docs/design/hot_keys.md says where the figures differ.
 *
 * Not here    how keys are found and counted (hot_keys.c).
 * Owns        the session.
 * Threads     main.
 * Tests       tests/server/hotkeys.tcl, tests/differential/hotkeys
 *
 * SPDX-License-Identifier: BSD-3-Clause */

#include "clock.h"
#include "hot_keys.h"
#include "panic.h"
#include "reply.h"

#include <limits.h>
#include <sys/resource.h>

#define TOP_MAX 64
#define TOP_DEFAULT 10
#define DURATION_MAX_S 1000000

typedef enum { NONE, ACTIVE, STOPPED } sessionState;

/* Processor time that the process has used, in milliseconds. */
typedef struct usedTime {
    long long user_ms, system_ms;
} usedTime;

static struct {
    sessionState state;
    hotKeysPlan plan;
    long long top;
    uint64_t duration_ms; /* 0: until STOP */
    int64_t began_wall_ms;
    uint64_t began_ms, took_ms; /* monotonic; took_ms is valid once the session is stopped */
    usedTime used;              /* at the beginning; once the session is stopped, since then */
} session;

static long long toMs(struct timeval t) { return t.tv_sec * 1000ll + t.tv_usec / 1000; }

static usedTime usedSince(usedTime before) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (usedTime){toMs(u.ru_utime) - before.user_ms, toMs(u.ru_stime) - before.system_ms};
}

static uint64_t tookMs(void) {
    return session.state == ACTIVE ? clockMonotonicMs() - session.began_ms : session.took_ms;
}

static void hotKeysStop(void) {
    session.took_ms = tookMs();
    session.used = usedSince(session.used);
    session.state = STOPPED;
    hotKeysEnd();
}

/* Each subcommand of HOTKEYS calls this, too, because cron runs only `hz` times a second. */
void hotkeysTick(void) {
    assertMainRole();
    if (session.state == ACTIVE && session.duration_ms && tookMs() >= session.duration_ms) hotKeysStop();
}

/* --- START -------------------------------------------------------------------------------------------- */

typedef struct startArgs {
    unsigned metrics;
    long long top, duration_s, ratio;
} startArgs;

static bool metricArg(client *c, slice word, unsigned *metrics) {
    static const char *const names[HOT_KEYS_METRICS] = {[HOT_KEYS_CPU] = "CPU", [HOT_KEYS_NET] = "NET"};
    for (unsigned i = 0; i < HOT_KEYS_METRICS; i++) {
        if (!sliceIs(word, names[i])) continue;
        if (*metrics & 1u << i) return addReplyErrorFormat(c, "METRICS %s defined more than once!", names[i]);
        *metrics |= 1u << i;
    }
    return true; /* an unknown metric is ignored, if a known one is given */
}

/* Parses METRICS count metric ... Returns the index of the options that follow, or 0 after an error. */
static uint32_t metricArgs(client *c, startArgs *out) {
    long long count;
    if (c->argc < 4 || !sliceIs(c->argv[2], "metrics")) {
        addReplyError(c, "METRICS parameter is required");
        return 0;
    }
    if (!getRangeLongFromArg(c, 3, 1, HOT_KEYS_METRICS, &count, "METRICS count must be > 0 and <= 2")) return 0;
    uint32_t end = 4 + (uint32_t)count;
    if (end > c->argc) {
        addReplyError(c, "METRICS count does not match number of metric types provided");
        return 0;
    }
    for (uint32_t i = 4; i < end; i++)
        if (!metricArg(c, c->argv[i], &out->metrics)) return 0;
    if (out->metrics) return end;
    addReplyError(c, "METRICS no valid metrics passed. Supported: CPU|NET");
    return 0;
}

static bool optionArgs(client *c, uint32_t at, startArgs *out) {
    for (; at < c->argc; at += 2) {
        slice word = c->argv[at];
        bool more = at + 1 < c->argc;
        if (more && sliceIs(word, "count")) {
            if (!getRangeLongFromArg(c, at + 1, 1, TOP_MAX, &out->top, "COUNT must be between 1 and 64")) return false;
        } else if (more && sliceIs(word, "duration")) {
            if (!getRangeLongFromArg(c, at + 1, 1, DURATION_MAX_S, &out->duration_s,
                                     "DURATION must be between 1 and 1000000"))
                return false;
        } else if (more && sliceIs(word, "sample")) {
            if (!getRangeLongFromArg(c, at + 1, 1, INT_MAX, &out->ratio, "SAMPLE ratio must be positive")) return false;
        } else if (more && sliceIs(word, "slots")) {
            return addReplyError(c, "SLOTS parameter cannot be used in non-cluster mode");
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

void hotkeysStartCommand(client *c) {
    assertMainRole();
    startArgs args = {.top = TOP_DEFAULT, .ratio = 1};
    hotkeysTick();
    if (session.state == ACTIVE) {
        addReplyError(c, "hotkey tracking session already in progress");
        return;
    }
    uint32_t at = metricArgs(c, &args);
    if (!at || !optionArgs(c, at, &args)) return;
    session.state = ACTIVE;
    session.plan = (hotKeysPlan){.metrics = args.metrics, .ratio = (uint64_t)args.ratio};
    session.top = args.top;
    session.duration_ms = (uint64_t)args.duration_s * 1000;
    session.began_wall_ms = clockWallMs();
    session.began_ms = clockMonotonicMs();
    session.used = usedSince((usedTime){0, 0});
    hotKeysBegin(&session.plan);
    addReplyOk(c);
}

/* --- the others ------------------------------------------------------------------------------------------ */

void hotkeysStopCommand(client *c) {
    assertMainRole();
    hotkeysTick();
    if (session.state != ACTIVE) {
        addReplyNull(c);
        return;
    }
    hotKeysStop();
    addReplyOk(c);
}

void hotkeysResetCommand(client *c) {
    assertMainRole();
    hotkeysTick();
    if (session.state == ACTIVE) {
        addReplyError(c, "hotkey tracking session in progress, stop tracking first");
        return;
    }
    session.state = NONE;
    hotKeysForget();
    addReplyOk(c);
}

static void replyField(client *c, const char *name, long long value) {
    addReplyBulkCString(c, name);
    addReplyLongLong(c, value);
}

/* Replies with the slot ranges; without a cluster there is one. */
static void replySlots(client *c) {
    addReplyBulkCString(c, "selected-slots");
    addReplyArrayLen(c, 1);
    addReplyArrayLen(c, 2);
    addReplyLongLong(c, 0);
    addReplyLongLong(c, 16383);
}

/* Replies with "key weight key weight ..."; omits keys whose weight is less than one unit of the reply. */
static void replyTopKeys(client *c, const char *name, hotKeysMetric metric, uint64_t unit) {
    heavyKey top[TOP_MAX];
    size_t n = hotKeysTop(metric, top, (size_t)session.top), shown = 0;
    while (shown < n && top[shown].weight >= unit) shown++; /* in descending order */
    addReplyBulkCString(c, name);
    addReplyArrayLen(c, 2 * (long long)shown);
    for (size_t i = 0; i < shown; i++) {
        addReplyBulk(c, sdsSlice(top[i].key));
        addReplyLongLong(c, (long long)(top[i].weight / unit));
    }
    heavyKeysFree(top, n);
}

void hotkeysGetCommand(client *c) {
    assertMainRole();
    hotkeysTick();
    if (session.state == NONE) {
        addReplyNull(c);
        return;
    }
    bool cpu = session.plan.metrics & 1u << HOT_KEYS_CPU, net = session.plan.metrics & 1u << HOT_KEYS_NET;
    usedTime used = session.state == ACTIVE ? usedSince(session.used) : session.used;
    addReplyArrayLen(c, 1);
    addReplyMapLen(c, 7 + (cpu ? 3 : 0) + (net ? 2 : 0));
    replyField(c, "tracking-active", session.state == ACTIVE);
    replyField(c, "sample-ratio", (long long)session.plan.ratio);
    replySlots(c);
    replyField(c, "all-commands-all-slots-us", (long long)(hot_keys_totals.ns / 1000));
    replyField(c, "net-bytes-all-commands-all-slots", (long long)hot_keys_totals.net_bytes);
    replyField(c, "collection-start-time-unix-ms", session.began_wall_ms);
    replyField(c, "collection-duration-ms", (long long)tookMs());
    if (cpu) replyField(c, "total-cpu-time-user-ms", used.user_ms);
    if (cpu) replyField(c, "total-cpu-time-sys-ms", used.system_ms);
    if (net) replyField(c, "total-net-bytes", (long long)hotKeysSum(HOT_KEYS_NET));
    if (cpu) replyTopKeys(c, "by-cpu-time-us", HOT_KEYS_CPU, 1000);
    if (net) replyTopKeys(c, "by-net-bytes", HOT_KEYS_NET, 1);
}
