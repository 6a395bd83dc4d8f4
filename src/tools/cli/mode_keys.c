/* mode_keys.c -- walks over the keyspace: --scan lists it, --bigkeys and --memkeys find the largest keys.
 *
 * Tests       tests/tools/cli.tcl, tests/tools/cli_progress.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_walk.h"
#include "modes.h"
#include "size_spread.h"
#include "terminal.h"
#include "zmalloc.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void printName(const cliConnection *c, const replyValue *key) {
    if (c->options->style == STYLE_PRETTY) {
        sds text = sdsCatRepr(sdsEmpty(), key->str, key->len);
        puts(text);
        sdsFree(text);
    } else {
        fwrite(key->str, key->len, 1, stdout);
        fputc('\n', stdout);
    }
}

/* Ctrl-C ends the list after a complete name. */
int modeScan(cliConnection *c) {
    char *cursor = zstrdup("0");
    interruptCatch();
    do {
        const replyValue *keys;
        replyValue *v = keyWalkStep(c, &cursor, &keys);
        for (size_t i = 0; i < keys->count && !interruptCaught(); i++) printName(c, &keys->items[i]);
        replyValueFree(v);
        if (c->options->interval_s > 0) fflush(stdout);
        cliPause(c->options->interval_s);
    } while (strcmp(cursor, "0") != 0 && !interruptCaught());
    zfree(cursor);
    fflush(stdout);
    if (interruptCaught()) raise(SIGINT); /* so that the shell sees that Ctrl-C has ended it */
    return 0;
}

/* ---- Big keys --------------------------------------------------------------------------------------------------- */

typedef struct typeSum {
    sds name; /* owns */
    const char *unit;
    long long count, total, biggest;
    sds biggest_key; /* owns; quoted, as printed */
} typeSum;

typedef struct keySurvey {
    typeSum *types; /* owns */
    int type_count;
    bool by_memory;
    long long sampled, key_bytes;
    sizeSpread spread; /* of memory per key */
} keySurvey;

static typeSum *typeNamed(keySurvey *survey, const char *name) {
    for (int i = 0; i < survey->type_count; i++)
        if (strcmp(survey->types[i].name, name) == 0) return &survey->types[i];
    survey->types = zrealloc(survey->types, sizeof(typeSum) * (size_t)(survey->type_count + 1));
    typeSum *t = &survey->types[survey->type_count++];
    *t = (typeSum){.name = sdsNew(name), .unit = survey->by_memory ? "bytes" : keyWalkUnit(name)};
    return t;
}

static void surveyKey(keyWalk *walk, keySurvey *survey, const keyFacts *key) {
    survey->sampled++;
    survey->key_bytes += (long long)key->name.len;
    if (!key->type) return;
    typeSum *t = typeNamed(survey, key->type);
    long long size = survey->by_memory ? key->bytes : key->elements;
    t->count++;
    t->total += size;
    if (survey->by_memory) sizeSpreadAdd(&survey->spread, size > 0 ? (uint64_t)size : 0);
    if (size <= t->biggest) return;
    t->biggest = size;
    sdsFree(t->biggest_key);
    t->biggest_key = sdsCatRepr(sdsEmpty(), key->name.ptr, key->name.len);
    double done = walk->all ? 100.0 * (double)walk->seen_before / (double)walk->all : 0;
    keyWalkClearLine(walk);
    printf("[%05.2f%%] Biggest %-6s found so far '%s' with %lld %s\n", done > 100 ? 100 : done, t->name, t->biggest_key,
           size, t->unit);
}

static void printSurvey(const keySurvey *survey) {
    printf("\n-------- Summary --------\n\n");
    printf("Sampled %lld keys in the keyspace!\n", survey->sampled);
    printf("Total key length in bytes is %lld (avg len %.2f)\n\n", survey->key_bytes,
           survey->sampled ? (double)survey->key_bytes / (double)survey->sampled : 0);
    for (int i = 0; i < survey->type_count; i++) {
        const typeSum *t = &survey->types[i];
        if (t->biggest_key)
            printf("Biggest %6s found '%s' has %lld %s\n", t->name, t->biggest_key, t->biggest, t->unit);
    }
    printf("\n");
    for (int i = 0; i < survey->type_count; i++) {
        const typeSum *t = &survey->types[i];
        printf("%lld %ss with %lld %s (%05.2f%% of keys, avg size %.2f)\n", t->count, t->name, t->total, t->unit,
               survey->sampled ? 100.0 * (double)t->count / (double)survey->sampled : 0,
               t->count ? (double)t->total / (double)t->count : 0);
    }
}

/* Draws the distribution at a terminal only: scripts parse the lines before it. */
static void drawSpread(const keySurvey *survey) {
    int columns, rows;
    if (!isatty(STDOUT_FILENO) || survey->spread.count == 0) return;
    terminalSize(&columns, &rows);
    sds drawn = sizeSpreadDraw(sdsEmpty(), &survey->spread, columns, terminalIsCapable());
    printf("\nMemory of a key\n%s", drawn);
    sdsFree(drawn);
}

int modeBigKeys(cliConnection *c, bool by_memory) {
    static const char *const usual[] = {"list", "hash", "stream", "string", "set", "zset"};
    static keySurvey survey;
    static keyWalk walk;
    const keyFacts *facts;
    survey.by_memory = by_memory;
    for (size_t i = 0; i < array_len(usual); i++) typeNamed(&survey, usual[i]);
    keyWalkPrint(c, by_memory ? "the keys that use most memory" : "the biggest keys");
    keyWalkBegin(&walk, c, NULL, by_memory ? KEY_BYTES : KEY_ELEMENTS);
    for (size_t n; (n = keyWalkNext(&walk, &facts)) > 0;)
        for (size_t i = 0; i < n; i++) surveyKey(&walk, &survey, &facts[i]);
    keyWalkClearLine(&walk);
    printSurvey(&survey);
    drawSpread(&survey);
    if (!keyWalkIsWhole(&walk)) printf("\nStopped by Ctrl-C: %lld of about %lld keys.\n", walk.seen, walk.all);
    keyWalkEnd(&walk);
    for (int i = 0; i < survey.type_count; i++) {
        sdsFree(survey.types[i].name);
        sdsFree(survey.types[i].biggest_key);
    }
    zfree(survey.types);
    return 0;
}
