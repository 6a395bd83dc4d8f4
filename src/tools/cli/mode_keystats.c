/* mode_keystats.c -- --keystats: memory and elements of all keys, the heaviest keys, and the distribution of sizes.
 *
 * Ctrl-C ends the walk, not the program: the result up to then is printed, and the --cursor for continuing.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_walk.h"
#include "modes.h"
#include "size_spread.h"
#include "terminal.h"
#include "zmalloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

typedef struct typeStats {
    sds name; /* owns */
    const char *unit;
    long long count, bytes, elements;
    long long longest;
    sds longest_key; /* owns; quoted, as printed */
} typeStats;

typedef struct keyStats {
    long long keys, bytes, name_bytes, name_longest;
    sizeSpread spread;
    typeStats *types; /* owns */
    int type_count;
    topKeys top; /* by memory */
} keyStats;

/* ---- Gathering -------------------------------------------------------------------------------------------------- */

static typeStats *typeStatsOf(keyStats *all, const char *type) {
    for (int i = 0; i < all->type_count; i++)
        if (strcmp(all->types[i].name, type) == 0) return &all->types[i];
    all->types = zrealloc(all->types, sizeof(typeStats) * (size_t)(all->type_count + 1));
    typeStats *t = &all->types[all->type_count++];
    *t = (typeStats){.name = sdsNew(type), .unit = keyWalkUnit(type), .longest = -1};
    return t;
}

static void countKey(keyStats *all, const keyFacts *key) {
    if (!key->type) return;
    all->keys++;
    all->bytes += key->bytes;
    all->name_bytes += (long long)key->name.len;
    if ((long long)key->name.len > all->name_longest) all->name_longest = (long long)key->name.len;
    sizeSpreadAdd(&all->spread, key->bytes > 0 ? (uint64_t)key->bytes : 0);
    topKeysAdd(&all->top, key, key->bytes);
    typeStats *t = typeStatsOf(all, key->type);
    t->count++;
    t->bytes += key->bytes;
    t->elements += key->elements;
    if (key->elements <= t->longest) return;
    t->longest = key->elements;
    sdsFree(t->longest_key);
    t->longest_key = sdsCatRepr(sdsEmpty(), key->name.ptr, key->name.len);
}

/* ---- Printing --------------------------------------------------------------------------------------------------- */

static void printSpread(const keyStats *all) {
    static const unsigned per_mille[] = {250, 500, 750, 900, 990, 999, 1000};
    int columns, rows;
    printf("\nMemory of a key\n");
    for (size_t i = 0; i < array_len(per_mille); i++) {
        printf("%6.1f%% of keys: at most %" PRIu64 " bytes\n", per_mille[i] / 10.0,
               sizeSpreadBelow(&all->spread, per_mille[i]));
    }
    terminalSize(&columns, &rows);
    sds drawn = sizeSpreadDraw(sdsEmpty(), &all->spread, columns, isatty(STDOUT_FILENO) && terminalIsCapable());
    printf("\n%s", drawn);
    sdsFree(drawn);
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
    for (size_t i = 0; i < all->top.count; i++) {
        const topKey *key = &all->top.keys[i];
        printf("%3zu. %14lld bytes  %-6s  %s\n", i + 1, key->value, key->type, key->name);
    }
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
    zfree(all->types);
    topKeysFree(&all->top);
}

int modeKeyStats(cliConnection *c) {
    static keyStats all;
    static keyWalk walk;
    const keyFacts *facts;
    all.top = topKeysCreate(c->options->keystats_top);
    keyWalkPrint(c, "memory and elements of all keys (press Ctrl-C to stop early)");
    keyWalkBegin(&walk, c, c->options->cursor, KEY_BYTES | KEY_ELEMENTS);
    for (size_t n; (n = keyWalkNext(&walk, &facts)) > 0;)
        for (size_t i = 0; i < n; i++) countKey(&all, &facts[i]);
    keyWalkClearLine(&walk);
    printStats(&all);
    if (!keyWalkIsWhole(&walk))
        printf("\nNot all keys were scanned. Use --cursor %s to continue.\n", keyWalkCursor(&walk));
    keyWalkEnd(&walk);
    freeStats(&all);
    return 0;
}
