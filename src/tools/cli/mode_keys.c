/* mode_keys.c -- walks over the keyspace: list it, or find the keys that stand out.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_walk.h"
#include "modes.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

int modeScan(cliSession *s) {
    char *cursor = zstrdup("0");
    do {
        const replyValue *keys;
        replyValue *v = keyWalkStep(s, &cursor, &keys);
        for (size_t i = 0; i < keys->count; i++) {
            const replyValue *key = &keys->items[i];
            if (s->options->style == STYLE_PRETTY) {
                sds text = sdsCatRepr(sdsEmpty(), key->str, key->len);
                puts(text);
                sdsFree(text);
            } else {
                fwrite(key->str, key->len, 1, stdout);
                fputs(s->options->reply_delimiter, stdout);
            }
        }
        replyValueFree(v);
        sessionPause(s->options->interval_s);
    } while (strcmp(cursor, "0") != 0);
    zfree(cursor);
    return 0;
}

/* ---- Big keys --------------------------------------------------------------------------------------------------- */

typedef struct typeSum {
    sds name; /* owns */
    const char *unit;
    long long count, total, biggest;
    sds biggest_key; /* owns; as it is shown */
} typeSum;

typedef struct keySurvey {
    typeSum *types;
    int type_count;
    bool by_memory;
    long long sampled, key_bytes, all;
    long long sampled_before; /* this step of the walk: what progress is told by */
} keySurvey;

static typeSum *typeNamed(keySurvey *survey, const char *name) {
    for (int i = 0; i < survey->type_count; i++) {
        if (strcmp(survey->types[i].name, name) == 0) return &survey->types[i];
    }
    survey->types = zrealloc(survey->types, sizeof(typeSum) * (size_t)(survey->type_count + 1));
    typeSum *t = &survey->types[survey->type_count++];
    *t = (typeSum){.name = sdsNew(name), .biggest_key = NULL};
    (void)keyWalkCount(NULL, name, sliceOf(NULL, 0), &t->unit);
    if (survey->by_memory) t->unit = "bytes";
    return t;
}

static void surveyKey(cliSession *s, keySurvey *survey, slice key) {
    const char *unit;
    sds type = keyWalkType(s, key);
    typeSum *t = type ? typeNamed(survey, type) : NULL;
    sdsFree(type);
    survey->sampled++;
    survey->key_bytes += (long long)key.len;
    if (!t) return;
    long long size = survey->by_memory ? keyWalkMemory(s, key) : keyWalkCount(s, t->name, key, &unit);
    t->count++;
    t->total += size;
    if (size <= t->biggest) return;
    t->biggest = size;
    sdsFree(t->biggest_key);
    t->biggest_key = sdsCatRepr(sdsEmpty(), key.ptr, key.len);
    double done = survey->all ? 100.0 * (double)survey->sampled_before / (double)survey->all : 0;
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
        if (t->biggest_key) {
            printf("Biggest %6s found '%s' has %lld %s\n", t->name, t->biggest_key, t->biggest, t->unit);
        }
    }
    printf("\n");
    for (int i = 0; i < survey->type_count; i++) {
        const typeSum *t = &survey->types[i];
        printf("%lld %ss with %lld %s (%05.2f%% of keys, avg size %.2f)\n", t->count, t->name, t->total, t->unit,
               survey->sampled ? 100.0 * (double)t->count / (double)survey->sampled : 0,
               t->count ? (double)t->total / (double)t->count : 0);
    }
}

int modeBigKeys(cliSession *s, bool by_memory) {
    static const char *const usual[] = {"list", "hash", "stream", "string", "set", "zset"};
    keySurvey survey = {.by_memory = by_memory};
    char *cursor = zstrdup("0");
    long long steps = 0;
    for (size_t i = 0; i < array_len(usual); i++) typeNamed(&survey, usual[i]);
    replyValue *size = sessionAsk(s, "DBSIZE", NULL);
    survey.all = size->integer;
    replyValueFree(size);
    keyWalkTell(s, by_memory ? "which keys take most memory" : "which keys have most elements");
    do {
        const replyValue *keys;
        replyValue *v = keyWalkStep(s, &cursor, &keys);
        survey.sampled_before = survey.sampled;
        for (size_t i = 0; i < keys->count; i++) surveyKey(s, &survey, sliceOf(keys->items[i].str, keys->items[i].len));
        replyValueFree(v);
        if (++steps % KEY_WALK_PAUSE_EVERY == 0) sessionPause(s->options->interval_s);
    } while (strcmp(cursor, "0") != 0);
    printSurvey(&survey);
    for (int i = 0; i < survey.type_count; i++) {
        sdsFree(survey.types[i].name);
        sdsFree(survey.types[i].biggest_key);
    }
    zfree(survey.types);
    zfree(cursor);
    return 0;
}

/* ---- Hot keys --------------------------------------------------------------------------------------------------- */

typedef struct hotKey {
    sds name;
    long long frequency;
} hotKey;

static void insertHotKey(hotKey *top, int *count, int room, sds name, long long frequency) {
    int at = *count;
    while (at > 0 && top[at - 1].frequency < frequency) at--;
    if (at >= room) {
        sdsFree(name);
        return;
    }
    if (*count == room) sdsFree(top[--*count].name);
    memmove(top + at + 1, top + at, sizeof(hotKey) * (size_t)(*count - at));
    top[at] = (hotKey){name, frequency};
    ++*count;
}

int modeHotKeys(cliSession *s) {
    int room = (int)s->options->hotkeys, count = 0;
    hotKey *top = zcalloc((size_t)room + 1, sizeof(hotKey));
    char *cursor = zstrdup("0");
    long long sampled = 0, steps = 0;
    keyWalkTell(s, "which keys are used most");
    do {
        const replyValue *keys;
        replyValue *v = keyWalkStep(s, &cursor, &keys);
        for (size_t i = 0; i < keys->count; i++) {
            slice key = sliceOf(keys->items[i].str, keys->items[i].len);
            slice words[] = {sliceStr("OBJECT"), sliceStr("FREQ"), key};
            replyValue *freq = keyWalkAsk(s, 3, words);
            if (replyIsError(freq)) {
                fprintf(stderr, "Error: %s\n", freq->str);
                exit(1);
            }
            sampled++;
            sds name = sdsCatRepr(sdsEmpty(), key.ptr, key.len);
            insertHotKey(top, &count, room, name, freq->type == ':' ? freq->integer : 0);
            replyValueFree(freq);
        }
        replyValueFree(v);
        if (++steps % KEY_WALK_PAUSE_EVERY == 0) sessionPause(s->options->interval_s);
    } while (strcmp(cursor, "0") != 0);
    printf("\n-------- Summary --------\n\nSampled %lld keys in the keyspace!\n", sampled);
    for (int i = 0; i < count; i++) {
        printf("hot key found with counter: %lld\tkeyname: %s\n", top[i].frequency, top[i].name);
        sdsFree(top[i].name);
    }
    zfree(top);
    zfree(cursor);
    return 0;
}
