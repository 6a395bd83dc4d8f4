/* key_walk.c -- visits all keys by SCAN, and asks the server for facts about each.
 *
 * Requests about many keys are sent in one write and their replies read afterwards, so that the walk waits for one
 * round trip per fact and batch instead of one per key:
 *
 *     SCAN | TYPE TYPE TYPE .. | MEMORY USAGE, LLEN, MEMORY USAGE, STRLEN ..
 *
 * Tests       tests/tools/cli.tcl, tests/tools/cli_progress.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_walk.h"
#include "terminal.h"
#include "numbers.h"
#include "resp_format.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

#define PAUSE_EVERY 100 /* calls of SCAN */

static const struct {
    const char *type, *command, *unit;
} known[] = {
    {"string", "STRLEN", "bytes"}, {"list", "LLEN", "items"},    {"set", "SCARD", "members"},
    {"hash", "HLEN", "fields"},    {"zset", "ZCARD", "members"}, {"stream", "XLEN", "entries"},
};

void keyWalkPrint(const cliConnection *c, const char *question) {
    printf("\n# Reading all keys to find %s.\n", question);
    if (c->options->interval_s <= 0)
        printf("# Other clients are served meanwhile. Use -i 0.1 to pause 0.1 s per 100 SCAN commands.\n");
    printf("\n");
}

const char *keyWalkUnit(const char *type) {
    for (size_t i = 0; i < array_len(known); i++)
        if (strcmp(known[i].type, type) == 0) return known[i].unit;
    return "?";
}

static const char *lengthCommand(const char *type) {
    for (size_t i = 0; i < array_len(known); i++)
        if (strcmp(known[i].type, type) == 0) return known[i].command;
    return NULL;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------ */

static bool areKeys(const replyValue *v) {
    if (!replyIsList(v)) return false;
    for (size_t i = 0; i < v->count; i++)
        if (!replyIsText(&v->items[i])) return false;
    return true;
}

replyValue *keyWalkStep(cliConnection *c, char **cursor, const replyValue **keys) {
    const cliOptions *o = c->options;
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
    replyValue *v = linkCallWords(c->link, argc, words);
    if (!v || replyIsError(v)) {
        fprintf(stderr, v ? "ERROR: %s\n" : "Error: %s\n", v ? v->str : linkError(c->link));
        exit(1);
    }
    if (!replyIsList(v) || v->count != 2 || !replyIsText(&v->items[0]) || !areKeys(&v->items[1])) {
        fprintf(stderr, "SCAN failed: unexpected reply\n");
        exit(1);
    }
    zfree(*cursor);
    *cursor = zstrdup(v->items[0].str);
    *keys = &v->items[1];
    return v;
}

/* ---- Facts ------------------------------------------------------------------------------------------------------ */

noreturn_fn static void quit(keyWalk *w, const char *what, const char *why) {
    progressClear(&w->progress);
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* Takes ownership of `bytes`. */
static void sendAll(keyWalk *w, sds bytes) {
    bool sent = linkSendBytes(w->connection->link, bytes, sdsLen(bytes));
    sdsFree(bytes);
    if (!sent) quit(w, "Error", linkError(w->connection->link));
}

static replyValue *nextReply(keyWalk *w) {
    replyValue *v;
    while ((v = linkRead(w->connection->link)) && v->type == '>') replyValueFree(v);
    if (!v) quit(w, "Error", linkError(w->connection->link));
    return v;
}

/* Reads an integer reply. Any other reply counts as 0: the key may be absent or of another type by now. With `needed`
 * (the name of a command) an error ends the program. */
static long long nextNumber(keyWalk *w, const char *needed) {
    replyValue *v = nextReply(w);
    if (needed && replyIsError(v) && strncmp(v->str, "ERR no such key", 15) != 0) quit(w, needed, v->str);
    long long number = v->type == ':' ? v->integer : 0;
    replyValueFree(v);
    return number;
}

static void requestTypes(keyWalk *w) {
    sds bytes = sdsEmpty();
    for (size_t i = 0; i < w->batch_len; i++) bytes = RESP_CAT_REQUEST(bytes, sliceStr("TYPE"), w->batch[i].name);
    sendAll(w, bytes);
    for (size_t i = 0; i < w->batch_len; i++) {
        replyValue *v = nextReply(w);
        if (replyIsError(v)) quit(w, "TYPE failed", v->str);
        w->batch[i].type = replyIsText(v) && strcmp(v->str, "none") != 0 ? sdsNew(v->str) : NULL;
        replyValueFree(v);
    }
}

/* Requests the memory use, with the samples of the options, and the number of elements of the keys that exist. */
static void requestSizes(keyWalk *w) {
    char samples[LONG_STR_SIZE];
    bool with_samples = w->connection->options->memory_samples >= 0;
    sds bytes = sdsEmpty();
    ll2string(samples, w->connection->options->memory_samples);
    for (size_t i = 0; i < w->batch_len; i++) {
        const keyFacts *f = &w->batch[i];
        const char *length = f->type && w->wanted & KEY_ELEMENTS ? lengthCommand(f->type) : NULL;
        const slice usage[] = {sliceStr("MEMORY"), sliceStr("USAGE"), f->name, sliceStr("SAMPLES"), sliceStr(samples)};
        if (f->type && w->wanted & KEY_BYTES) bytes = respCatRequest(bytes, with_samples ? 5 : 3, usage);
        if (length) bytes = RESP_CAT_REQUEST(bytes, sliceStr(length), f->name);
    }
    sendAll(w, bytes);
    for (size_t i = 0; i < w->batch_len; i++) {
        keyFacts *f = &w->batch[i];
        const char *length = f->type && w->wanted & KEY_ELEMENTS ? lengthCommand(f->type) : NULL;
        if (f->type && w->wanted & KEY_BYTES) f->bytes = nextNumber(w, "MEMORY USAGE failed");
        if (length) f->elements = nextNumber(w, NULL);
    }
}

static void requestFrequencies(keyWalk *w) {
    sds bytes = sdsEmpty();
    for (size_t i = 0; i < w->batch_len; i++)
        bytes = RESP_CAT_REQUEST(bytes, sliceStr("OBJECT"), sliceStr("FREQ"), w->batch[i].name);
    sendAll(w, bytes);
    for (size_t i = 0; i < w->batch_len; i++) w->batch[i].frequency = nextNumber(w, "Error");
}

/* ---- The walk --------------------------------------------------------------------------------------------------- */

void keyWalkBegin(keyWalk *w, cliConnection *c, const char *cursor, unsigned wanted) {
    *w = (keyWalk){.connection = c, .cursor = zstrdup(cursor ? cursor : "0"), .wanted = wanted};
    replyValue *size = cliAsk(c, "DBSIZE", NULL);
    w->all = size->integer;
    replyValueFree(size);
    progressBegin(&w->progress, "keys");
    interruptCatch();
}

bool keyWalkIsWhole(const keyWalk *w) {
    return w->steps > 0 && strcmp(w->cursor, "0") == 0 && (!w->step || w->next == w->step->items[1].count);
}

const char *keyWalkCursor(const keyWalk *w) {
    bool within = w->step && w->next < w->step->items[1].count;
    return within ? w->step_cursor : w->cursor;
}

/* Returns the number of keys to expect; 0 with a pattern, whose matches cannot be counted before. */
static uint64_t keyWalkExpected(const keyWalk *w) { return w->connection->options->pattern ? 0 : (uint64_t)w->all; }

static void keyWalkPause(keyWalk *w) {
    if (w->connection->options->interval_s <= 0) return;
    progressShow(&w->progress, (uint64_t)w->seen, keyWalkExpected(w));
    cliPause(w->connection->options->interval_s);
}

/* Provides keys for a batch, calling SCAN if necessary. Returns false at the end. */
static bool takeStep(keyWalk *w) {
    while (!w->step || w->next == w->step->items[1].count) {
        const replyValue *keys;
        if (keyWalkIsWhole(w) || interruptCaught()) return false;
        replyValueFree(w->step);
        w->step = NULL;
        zfree(w->step_cursor);
        w->step_cursor = zstrdup(w->cursor);
        if (w->steps > 0 && w->steps % PAUSE_EVERY == 0) keyWalkPause(w);
        w->step = keyWalkStep(w->connection, &w->cursor, &keys);
        w->steps++;
        w->next = 0;
        w->seen_before = w->seen;
        progressStep(&w->progress, (uint64_t)w->seen, keyWalkExpected(w));
    }
    return !interruptCaught();
}

static void freeBatch(keyWalk *w) {
    for (size_t i = 0; i < w->batch_len; i++) sdsFree(w->batch[i].type);
    w->batch_len = 0;
}

size_t keyWalkNext(keyWalk *w, const keyFacts **facts) {
    freeBatch(w);
    if (!takeStep(w)) return 0;
    const replyValue *keys = &w->step->items[1];
    for (; w->batch_len < KEY_WALK_BATCH && w->next < keys->count; w->next++) {
        const replyValue *key = &keys->items[w->next];
        w->batch[w->batch_len++] = (keyFacts){.name = sliceOf(key->str, key->len)};
    }
    if (w->wanted & (KEY_ELEMENTS | KEY_BYTES)) {
        requestTypes(w);
        requestSizes(w);
    }
    if (w->wanted & KEY_FREQUENCY) requestFrequencies(w);
    w->seen += (long long)w->batch_len;
    *facts = w->batch;
    return w->batch_len;
}

void keyWalkClearLine(keyWalk *w) { progressClear(&w->progress); }

void keyWalkEnd(keyWalk *w) {
    progressClear(&w->progress);
    freeBatch(w);
    replyValueFree(w->step);
    zfree(w->cursor);
    zfree(w->step_cursor);
    w->step = NULL;
    w->cursor = w->step_cursor = NULL;
}

/* ---- The largest keys ------------------------------------------------------------------------------------------- */

topKeys topKeysCreate(long long capacity) {
    return (topKeys){.keys = zcalloc((size_t)capacity, sizeof(topKey)), .capacity = (size_t)capacity};
}

void topKeysAdd(topKeys *t, const keyFacts *key, long long value) {
    size_t at = t->count;
    while (at > 0 && t->keys[at - 1].value < value) at--;
    if (at == t->capacity) return;
    if (t->count == t->capacity) {
        sdsFree(t->keys[--t->count].name);
        sdsFree(t->keys[t->count].type);
    }
    memmove(t->keys + at + 1, t->keys + at, sizeof(topKey) * (t->count - at));
    t->keys[at] = (topKey){.name = sdsCatRepr(sdsEmpty(), key->name.ptr, key->name.len),
                           .type = key->type ? sdsDup(key->type) : NULL,
                           .value = value};
    t->count++;
}

void topKeysFree(topKeys *t) {
    for (size_t i = 0; i < t->count; i++) {
        sdsFree(t->keys[i].name);
        sdsFree(t->keys[i].type);
    }
    zfree(t->keys);
}
