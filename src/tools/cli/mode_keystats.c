/* mode_keystats.c -- all keys at once: memory and elements, the heaviest keys, and how sizes are spread.
 *
 * Spread is kept as counts per size class, 16 to each power of two, so it is right to 6 % whatever the number of keys.
 * Ctrl-C ends the walk, not the program: what was seen until then is told, and where to go on (--cursor).
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_walk.h"
#include "modes.h"
#include "zmalloc.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { CLASS_BITS = 4, CLASSES = 64 << CLASS_BITS };

typedef struct heavyKey {
    sds name; /* owns; as it is shown */
    sds type; /* owns */
    long long bytes;
} heavyKey;

typedef struct typeStats {
    sds name; /* owns */
    const char *unit;
    long long count, bytes, elements;
    long long longest;
    sds longest_key; /* owns; as it is shown */
} typeStats;

typedef struct keyStats {
    long long keys, bytes, name_bytes, name_longest;
    long long classes[CLASSES];
    typeStats *types; /* owns */
    int type_count;
    heavyKey *top; /* owns; heaviest first */
    int top_count, top_room;
} keyStats;

static volatile sig_atomic_t interrupted;

static void onInterrupt(int sig) {
    (void)sig;
    interrupted = 1;
}

/* ---- Size classes ----------------------------------------------------------------------------------------------- */

/* 0 to 15 are classes of their own; then each power of two has 16. */
static int classOf(long long bytes) {
    uint64_t n = bytes < 0 ? 0 : (uint64_t)bytes;
    if (n < 1 << CLASS_BITS) return (int)n;
    int power = 63 - __builtin_clzll(n);
    return ((power - CLASS_BITS + 1) << CLASS_BITS) + (int)((n >> (power - CLASS_BITS)) & ((1 << CLASS_BITS) - 1));
}

/* The largest size of a class. */
static uint64_t classEnd(int number) {
    if (number < 1 << CLASS_BITS) return (uint64_t)number;
    int shift = (number >> CLASS_BITS) - 1;
    uint64_t low = (uint64_t)((1 << CLASS_BITS) + (number & ((1 << CLASS_BITS) - 1)));
    return ((low + 1) << shift) - 1;
}

/* ---- Gathering -------------------------------------------------------------------------------------------------- */

static typeStats *statsOf(keyStats *all, const char *type) {
    for (int i = 0; i < all->type_count; i++) {
        if (strcmp(all->types[i].name, type) == 0) return &all->types[i];
    }
    all->types = zrealloc(all->types, sizeof(typeStats) * (size_t)(all->type_count + 1));
    typeStats *t = &all->types[all->type_count++];
    *t = (typeStats){.name = sdsNew(type), .longest = -1};
    (void)keyWalkCount(NULL, type, sliceOf(NULL, 0), &t->unit);
    return t;
}

static void keepHeavy(keyStats *all, slice key, const char *type, long long bytes) {
    int at = all->top_count;
    while (at > 0 && all->top[at - 1].bytes < bytes) at--;
    if (at >= all->top_room) return;
    if (all->top_count == all->top_room) {
        heavyKey *last = &all->top[--all->top_count];
        sdsFree(last->name);
        sdsFree(last->type);
    }
    memmove(all->top + at + 1, all->top + at, sizeof(heavyKey) * (size_t)(all->top_count - at));
    all->top[at] = (heavyKey){sdsCatRepr(sdsEmpty(), key.ptr, key.len), sdsNew(type), bytes};
    all->top_count++;
}

static void lookAt(cliSession *s, keyStats *all, slice key) {
    const char *unit;
    sds type = keyWalkType(s, key);
    if (!type) return;
    long long bytes = keyWalkMemory(s, key), elements = keyWalkCount(s, type, key, &unit);
    all->keys++;
    all->bytes += bytes;
    all->name_bytes += (long long)key.len;
    if ((long long)key.len > all->name_longest) all->name_longest = (long long)key.len;
    all->classes[classOf(bytes)]++;
    keepHeavy(all, key, type, bytes);
    typeStats *t = statsOf(all, type);
    t->count++;
    t->bytes += bytes;
    t->elements += elements;
    if (elements > t->longest) {
        t->longest = elements;
        sdsFree(t->longest_key);
        t->longest_key = sdsCatRepr(sdsEmpty(), key.ptr, key.len);
    }
    sdsFree(type);
}

/* ---- Telling ---------------------------------------------------------------------------------------------------- */

static void printSpread(const keyStats *all) {
    static const int per_mille[] = {250, 500, 750, 900, 990, 999, 1000};
    printf("\nMemory of a key\n");
    long long seen = 0;
    int number = -1;
    for (size_t i = 0; i < array_len(per_mille); i++) {
        long long wanted = (all->keys * per_mille[i] + 999) / 1000;
        while (seen < wanted) seen += all->classes[++number];
        printf("%6.1f%% of keys: at most %" PRIu64 " bytes\n", per_mille[i] / 10.0, classEnd(number));
    }
}

static void printTypes(const keyStats *all) {
    printf("\n%-8s %10s %7s %14s %12s %14s %12s\n", "Type", "keys", "share", "bytes", "per key", "elements", "per key");
    for (int i = 0; i < all->type_count; i++) {
        const typeStats *t = &all->types[i];
        printf("%-8s %10lld %6.2f%% %14lld %12.2f %14lld %12.2f\n", t->name, t->count,
               100.0 * (double)t->count / (double)all->keys, t->bytes, (double)t->bytes / (double)t->count, t->elements,
               (double)t->elements / (double)t->count);
    }
}

static void printStats(const keyStats *all) {
    printf("\n-------- Summary --------\n\n");
    printf("Sampled %lld keys in the keyspace!\n", all->keys);
    if (all->keys == 0) return;
    printf("They take %lld bytes, %.2f each; their names are %.2f bytes long, the longest %lld\n", all->bytes,
           (double)all->bytes / (double)all->keys, (double)all->name_bytes / (double)all->keys, all->name_longest);
    printf("\nHeaviest keys\n");
    for (int i = 0; i < all->top_count; i++)
        printf("%3d. %14lld bytes  %-6s  %s\n", i + 1, all->top[i].bytes, all->top[i].type, all->top[i].name);
    printf("\nMost elements\n");
    for (int i = 0; i < all->type_count; i++) {
        const typeStats *t = &all->types[i];
        printf("%-8s %s has %lld %s\n", t->name, t->longest_key, t->longest, t->unit);
    }
    printSpread(all);
    printTypes(all);
}

static void freeStats(keyStats *all) {
    for (int i = 0; i < all->type_count; i++) {
        sdsFree(all->types[i].name);
        sdsFree(all->types[i].longest_key);
    }
    for (int i = 0; i < all->top_count; i++) {
        sdsFree(all->top[i].name);
        sdsFree(all->top[i].type);
    }
    zfree(all->types);
    zfree(all->top);
}

int modeKeyStats(cliSession *s) {
    static keyStats all;
    all.top_room = (int)s->options->keystats_top;
    all.top = zcalloc((size_t)all.top_room + 1, sizeof(heavyKey));
    char *cursor = zstrdup(s->options->cursor ? s->options->cursor : "0");
    long long steps = 0;
    bool tty = isatty(STDOUT_FILENO);
    signal(SIGINT, onInterrupt);
    keyWalkTell(s, "for memory and elements; Ctrl-C ends it early");
    replyValue *size = sessionAsk(s, "DBSIZE", NULL);
    do {
        const replyValue *keys;
        replyValue *v = keyWalkStep(s, &cursor, &keys);
        for (size_t i = 0; i < keys->count; i++) lookAt(s, &all, sliceOf(keys->items[i].str, keys->items[i].len));
        replyValueFree(v);
        if (++steps % KEY_WALK_PAUSE_EVERY != 0) continue;
        sessionPause(s->options->interval_s);
        if (tty) printf("\r%lld of about %lld keys", all.keys, size->integer), fflush(stdout);
    } while (strcmp(cursor, "0") != 0 && !interrupted);
    if (tty && steps >= KEY_WALK_PAUSE_EVERY) printf("\n");
    printStats(&all);
    if (strcmp(cursor, "0") != 0) printf("\nNot all keys were looked at: --cursor %s goes on from there.\n", cursor);
    replyValueFree(size);
    freeStats(&all);
    zfree(cursor);
    return 0;
}
