/* key_walk.c -- SCAN step by step, and what is asked about a key on the way.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_walk.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

void keyWalkTell(const cliSession *s, const char *question) {
    printf("\n# Asking the server key by key %s.\n", question);
    if (s->options->interval_s <= 0)
        printf("# It serves others meanwhile; with -i 0.1 it is left alone for 0.1 s now and then.\n");
    printf("\n");
}

replyValue *keyWalkStep(cliSession *s, char **cursor, const replyValue **keys) {
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

replyValue *keyWalkAsk(cliSession *s, int argc, slice *words) {
    replyValue *v = linkCallWords(s->link, argc, words);
    if (v) return v;
    fprintf(stderr, "Error: %s\n", linkError(s->link));
    exit(1);
}

long long keyWalkCount(cliSession *s, const char *type, slice key, const char **unit) {
    static const struct {
        const char *type, *command, *unit;
    } known[] = {
        {"string", "STRLEN", "bytes"}, {"list", "LLEN", "items"},    {"set", "SCARD", "members"},
        {"hash", "HLEN", "fields"},    {"zset", "ZCARD", "members"}, {"stream", "XLEN", "entries"},
    };
    *unit = "?";
    for (size_t i = 0; i < array_len(known); i++) {
        if (strcmp(known[i].type, type) != 0) continue;
        *unit = known[i].unit;
        if (!key.ptr) return 0;
        slice words[] = {sliceStr(known[i].command), key};
        replyValue *v = keyWalkAsk(s, 2, words);
        /* A key that has gone or changed its type meanwhile has no size. */
        long long count = v->type == ':' ? v->integer : 0;
        replyValueFree(v);
        return count;
    }
    return 0;
}

long long keyWalkMemory(cliSession *s, slice key) {
    char samples[LONG_STR_SIZE];
    ll2string(samples, s->options->memory_samples);
    slice words[] = {sliceStr("MEMORY"), sliceStr("USAGE"), key, sliceStr("SAMPLES"), sliceStr(samples)};
    replyValue *v = keyWalkAsk(s, s->options->memory_samples >= 0 ? 5 : 3, words);
    if (replyIsError(v)) {
        fprintf(stderr, "MEMORY USAGE failed: %s\n", v->str);
        exit(1);
    }
    long long bytes = v->type == ':' ? v->integer : 0;
    replyValueFree(v);
    return bytes;
}

sds keyWalkType(cliSession *s, slice key) {
    slice words[] = {sliceStr("TYPE"), key};
    replyValue *v = keyWalkAsk(s, 2, words);
    sds type = replyIsText(v) && strcmp(v->str, "none") != 0 ? sdsNew(v->str) : NULL;
    replyValueFree(v);
    return type;
}
