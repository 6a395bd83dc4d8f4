/* mode_keys.c -- walks over the keyspace: list it, or find the keys that stand out.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "modes.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

#define PAUSE_EVERY 100 /* SCAN calls */

/* What is going to happen, and how to be gentle with a busy server. */
static void tellWalk(const cliSession *s, const char *question) {
    printf("\n# Asking the server key by key %s.\n", question);
    if (s->options->interval_s <= 0)
        printf("# It serves others meanwhile; with -i 0.1 it is left alone for 0.1 s now and then.\n");
    printf("\n");
}

/* One step of SCAN with the options' pattern and count. Returns the keys (in the reply) and moves the cursor. */
static replyValue *scanStep(cliSession *s, char **cursor, const replyValue **keys) {
    const cliOptions *o = s->options;
    slice words[6] = {sliceStr("SCAN"), sliceStr(*cursor)};
    char count[LONG_STR_SIZE];
    int argc = 2;
    if (o->pattern) {
        words[argc++] = sliceStr("MATCH");
        words[argc++] = sliceStr(o->pattern);
    }
    if (o->scan_count) {
        ll2string(count, o->scan_count);
        words[argc++] = sliceStr("COUNT");
        words[argc++] = sliceStr(count);
    }
    replyValue *v = linkCallWords(s->link, argc, words);
    if (!v || replyIsError(v)) {
        fprintf(stderr, v ? "ERROR: %s\n" : "Error: %s\n", v ? v->str : linkError(s->link));
        exit(1);
    }
    if (!replyIsList(v) || v->count != 2 || !replyIsText(&v->items[0]) || !replyIsList(&v->items[1])) {
        fprintf(stderr, "SCAN answered something else than a cursor with keys.\n");
        exit(1);
    }
    zfree(*cursor);
    *cursor = zstrdup(v->items[0].str);
    *keys = &v->items[1];
    return v;
}

int modeScan(cliSession *s) {
    char *cursor = zstrdup("0");
    do {
        const replyValue *keys;
        replyValue *v = scanStep(s, &cursor, &keys);
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
    const char *size_command, *unit;
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
    static const struct {
        const char *name, *command, *unit;
    } known[] = {
        {"string", "STRLEN", "bytes"}, {"list", "LLEN", "items"},    {"set", "SCARD", "members"},
        {"hash", "HLEN", "fields"},    {"zset", "ZCARD", "members"}, {"stream", "XLEN", "entries"},
    };
    for (int i = 0; i < survey->type_count; i++) {
        if (strcmp(survey->types[i].name, name) == 0) return &survey->types[i];
    }
    survey->types = zrealloc(survey->types, sizeof(typeSum) * (size_t)(survey->type_count + 1));
    typeSum *t = &survey->types[survey->type_count++];
    *t = (typeSum){.name = sdsNew(name), .unit = "?", .biggest_key = NULL};
    for (size_t i = 0; i < array_len(known); i++) {
        if (strcmp(known[i].name, name) != 0) continue;
        t->size_command = known[i].command;
        t->unit = known[i].unit;
    }
    if (survey->by_memory) t->unit = "bytes";
    return t;
}

static replyValue *askAboutKey(cliSession *s, int argc, slice *words) {
    replyValue *v = linkCallWords(s->link, argc, words);
    if (v) return v;
    fprintf(stderr, "Error: %s\n", linkError(s->link));
    exit(1);
}

static long long keySize(cliSession *s, const typeSum *t, slice key, bool by_memory) {
    char samples[LONG_STR_SIZE];
    slice by_usage[] = {sliceStr("MEMORY"), sliceStr("USAGE"), key, sliceStr("SAMPLES"), sliceStr(samples)};
    if (!by_memory && !t->size_command) return 0;
    slice by_count[] = {sliceStr(t->size_command ? t->size_command : ""), key};
    ll2string(samples, s->options->memory_samples);
    replyValue *v = by_memory ? askAboutKey(s, s->options->memory_samples >= 0 ? 5 : 3, by_usage)
                              : askAboutKey(s, 2, by_count);
    if (replyIsError(v) && by_memory) {
        fprintf(stderr, "MEMORY USAGE failed: %s\n", v->str);
        exit(1);
    }
    /* A key that has gone or changed its type meanwhile has no size. */
    long long size = v->type == ':' ? v->integer : 0;
    replyValueFree(v);
    return size;
}

static void surveyKey(cliSession *s, keySurvey *survey, slice key) {
    slice words[] = {sliceStr("TYPE"), key};
    replyValue *type = askAboutKey(s, 2, words);
    bool gone = !replyIsText(type) || strcmp(type->str, "none") == 0;
    typeSum *t = gone ? NULL : typeNamed(survey, type->str);
    replyValueFree(type);
    survey->sampled++;
    survey->key_bytes += (long long)key.len;
    if (!t) return;
    long long size = keySize(s, t, key, survey->by_memory);
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
    tellWalk(s, by_memory ? "which keys take most memory" : "which keys have most elements");
    do {
        const replyValue *keys;
        replyValue *v = scanStep(s, &cursor, &keys);
        survey.sampled_before = survey.sampled;
        for (size_t i = 0; i < keys->count; i++) surveyKey(s, &survey, sliceOf(keys->items[i].str, keys->items[i].len));
        replyValueFree(v);
        if (++steps % PAUSE_EVERY == 0) sessionPause(s->options->interval_s);
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
    tellWalk(s, "which keys are used most");
    do {
        const replyValue *keys;
        replyValue *v = scanStep(s, &cursor, &keys);
        for (size_t i = 0; i < keys->count; i++) {
            slice key = sliceOf(keys->items[i].str, keys->items[i].len);
            slice words[] = {sliceStr("OBJECT"), sliceStr("FREQ"), key};
            replyValue *freq = askAboutKey(s, 3, words);
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
        if (++steps % PAUSE_EVERY == 0) sessionPause(s->options->interval_s);
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
