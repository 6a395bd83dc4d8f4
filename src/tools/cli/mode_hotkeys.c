/* mode_hotkeys.c -- --hotkeys: lists the keys that are used most.
 *
 * A server with the command HOTKEYS counts accesses itself, for a requested time. An older server has a counter in each
 * key if its eviction policy is LFU, which is read key by key. The same is done with the options --pattern and --count,
 * which HOTKEYS does not support.
 *
 *     HOTKEYS START .. DURATION | some seconds | GET | STOP | RESET
 *
 * If the program is ended early, the server continues to count until the DURATION is over. A count that another client
 * has started is shown as it is, and not stopped.
 *
 * Tests       tests/tools/cli_hotkeys.tcl, tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "terminal.h"
#include "key_walk.h"
#include "modes.h"
#include "numbers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT_S 10
#define COUNT_MAX_S 86400
#define SPARE_S 5           /* added to DURATION, so that GET may be late */
#define SERVER_COUNT_MAX 64 /* the server's limit of COUNT */
#define TICK_S 0.1

/* ---- Counting by HOTKEYS ---------------------------------------------------------------------------------------- */

static bool serverCounts(cliConnection *c) {
    replyValue *v = linkCall(c->link, "COMMAND", "INFO", "HOTKEYS", NULL);
    bool known = v && replyIsList(v) && v->count == 1 && replyIsList(&v->items[0]);
    replyValueFree(v);
    return known;
}

static const struct {
    const char *field, *all_field, *unit;
} metrics[] = {
    {"by-cpu-time-us", "all-commands-all-slots-us", "cpu us"},
    {"by-net-bytes", "net-bytes-all-commands-all-slots", "net bytes"},
};

static long long numberOf(const replyValue *map, const char *field) {
    const replyValue *v = replyLookup(map, field);
    return v && v->type == ':' ? v->integer : 0;
}

static void printMetric(const replyValue *map, size_t metric) {
    const replyValue *list = replyLookup(map, metrics[metric].field);
    long long all = numberOf(map, metrics[metric].all_field);
    if (!list || !replyIsList(list)) return;
    printf("\n");
    for (size_t i = 0; i + 1 < list->count; i += 2) {
        const replyValue *key = &list->items[i], *sum = &list->items[i + 1];
        if (!replyIsText(key) || sum->type != ':') continue;
        sds name = sdsCatRepr(sdsEmpty(), key->str, key->len);
        printf("hot key found with %s: %lld (%.2f%%)\tkeyname: %s\n", metrics[metric].unit, sum->integer,
               all > 0 ? 100.0 * (double)sum->integer / (double)all : 0, name);
        sdsFree(name);
    }
}

/* Prints the reply of HOTKEYS GET: an array of one map (pairs in RESP2). Returns the exit code. */
static int printCounts(const replyValue *v) {
    const replyValue *map = replyIsList(v) && v->count == 1 && replyIsList(&v->items[0]) ? &v->items[0] : v;
    if (!replyIsList(map)) {
        fprintf(stderr, "HOTKEYS has no result: another client has ended the count.\n");
        return 1;
    }
    printf("\n-------- Summary --------\n\n");
    printf("Counted for %.1f s: %lld us of CPU in commands, %lld bytes on the network\n",
           (double)numberOf(map, "collection-duration-ms") / 1000, numberOf(map, metrics[0].all_field),
           numberOf(map, metrics[1].all_field));
    for (size_t i = 0; i < array_len(metrics); i++) printMetric(map, i);
    return 0;
}

static void waitWhileCounting(double seconds) {
    progressLine progress;
    uint64_t begun_ms = clockMonotonicMs(), passed_ms = 0, wanted_ms = (uint64_t)(seconds * 1000);
    progressBegin(&progress, "s");
    interruptCatch();
    while (passed_ms < wanted_ms && !interruptCaught()) {
        double left_s = (double)(wanted_ms - passed_ms) / 1000;
        progressStep(&progress, passed_ms / 1000, wanted_ms / 1000);
        cliPause(left_s < TICK_S ? left_s : TICK_S);
        passed_ms = clockMonotonicMs() - begun_ms;
    }
    progressClear(&progress);
}

/* Starts a count. Returns false if a count of another client is in progress; ends the program on any other error. */
static bool startCount(cliConnection *c, double seconds, long long keys) {
    char count[LONG_STR_SIZE], duration[LONG_STR_SIZE];
    ll2string(count, keys);
    ll2string(duration, (long long)ceil(seconds) + SPARE_S);
    replyValue *v =
        linkCall(c->link, "HOTKEYS", "START", "METRICS", "2", "CPU", "NET", "COUNT", count, "DURATION", duration, NULL);
    bool started = v && !replyIsError(v);
    if (!started && !(v && strstr(v->str, "already in progress"))) {
        fprintf(stderr, "HOTKEYS START failed: %s\n", v ? v->str : linkError(c->link));
        exit(1);
    }
    replyValueFree(v);
    return started;
}

static int useServerCounts(cliConnection *c) {
    const cliOptions *o = c->options;
    double seconds = o->interval_s > 0 ? o->interval_s : COUNT_S;
    long long keys = o->hotkeys > SERVER_COUNT_MAX ? SERVER_COUNT_MAX : o->hotkeys;
    if (seconds > COUNT_MAX_S) seconds = COUNT_MAX_S;
    bool ours = startCount(c, seconds, keys);
    if (ours) printf("\n# Counting CPU time and network bytes of each key for %g s (-i sets the duration).\n", seconds);
    else printf("\n# A count of another client is in progress. These are its results so far.\n");
    fflush(stdout);
    if (ours) waitWhileCounting(seconds);
    replyValue *v = cliAsk(c, "HOTKEYS", "GET", NULL);
    int code = printCounts(v);
    replyValueFree(v);
    if (!ours) return code;
    replyValueFree(linkCall(c->link, "HOTKEYS", "STOP", NULL));
    replyValueFree(linkCall(c->link, "HOTKEYS", "RESET", NULL));
    return code;
}

/* ---- Reading LFU counters --------------------------------------------------------------------------------------- */

static int walkKeys(cliConnection *c) {
    static keyWalk walk;
    const keyFacts *facts;
    topKeys top = topKeysCreate(c->options->hotkeys);
    keyWalkPrint(c, "the hot keys");
    keyWalkBegin(&walk, c, NULL, KEY_FREQUENCY);
    for (size_t n; (n = keyWalkNext(&walk, &facts)) > 0;)
        for (size_t i = 0; i < n; i++) topKeysAdd(&top, &facts[i], facts[i].frequency);
    keyWalkClearLine(&walk);
    printf("\n-------- Summary --------\n\nSampled %lld keys in the keyspace!\n", walk.seen);
    for (size_t i = 0; i < top.count; i++)
        printf("hot key found with counter: %lld\tkeyname: %s\n", top.keys[i].value, top.keys[i].name);
    if (!keyWalkIsWhole(&walk)) printf("\nStopped by Ctrl-C: %lld of about %lld keys.\n", walk.seen, walk.all);
    keyWalkEnd(&walk);
    topKeysFree(&top);
    return 0;
}

int modeHotKeys(cliConnection *c) {
    bool walks = c->options->pattern || c->options->scan_count;
    return !walks && serverCounts(c) ? useServerCounts(c) : walkKeys(c);
}
