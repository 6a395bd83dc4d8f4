/* command_record_test.c -- records outside of a request block: bytes, keys, hashes and value; slots; failing
 * allocations. Making records from requests: tests/unit/net/thread/request_block_test.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_record.h"

#include "command_table.h"
#include "hash.h"
#include "panic.h"
#include "sds.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

static void handler(client *c) { unused(c); }

#define KEYS(last_, step_)                                 \
    .specs = (const keySpec[]){{.begin = KEYS_BEGIN_INDEX, \
                                .begin_index = 1,          \
                                .find = KEYS_FIND_RANGE,   \
                                .last_key = (last_),       \
                                .key_step = (step_),       \
                                .flags = CMD_KEY_RW}},     \
    .nspecs = 1

static serverCommand commands[] = {
    {.name = "record-get", .proc = handler, .arity = 2, KEYS(0, 1)},
    {.name = "record-set", .proc = handler, .arity = -3, .flags = CMD_BUILDS_VALUE, .value_arg = 2, KEYS(0, 1)},
    {.name = "record-del", .proc = handler, .arity = -2, KEYS(-1, 1)},
    {.name = "record-hset", .proc = handler, .arity = -3, .element_arg = 2, .element_step = 2, KEYS(0, 1)},
    {.name = "record-rank", .proc = handler, .arity = -2, .element_arg = 2, KEYS(0, 1)},
};

static recordArena arena;
static recordCache cache;
static char first_piece[1024];

static void begin(void) {
    static bool registered;
    panicSetMainThread();
    if (!registered) commandTableRegister(commands, array_len(commands));
    registered = true;
    recordArenaInit(&arena, first_piece, sizeof(first_piece));
}

static parsedCommand *recordOf(size_t argc, const slice *argv) {
    parsedCommand *p = recordCreate(&arena, argc);
    memcpy(p->argv, argv, argc * sizeof(*argv));
    recordComplete(&arena, &cache, p, 3);
    return p;
}

/* Returns a record of the words of `text`, which refers to the literal. */
static parsedCommand *recordOfWords(const char *text) {
    slice argv[32];
    size_t argc = 0;
    for (; *text; text += text[argv[argc - 1].len] == ' ' ? argv[argc - 1].len + 1 : argv[argc - 1].len)
        argv[argc] = sliceOf(text, strcspn(text, " ")), argc++;
    return recordOf(argc, argv);
}

static sds wireOf(size_t argc, const slice *argv) {
    sds s = sdsCatPrintf(sdsEmpty(), "*%zu\r\n", argc);
    for (size_t i = 0; i < argc; i++) {
        s = sdsCatPrintf(s, "$%zu\r\n", argv[i].len);
        s = sdsCatLen(s, argv[i].ptr, argv[i].len);
        s = sdsCatLen(s, "\r\n", 2);
    }
    return s;
}

TEST(record_detached_stands_alone) {
    begin();
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 500; round++) {
        size_t argc = 2 + unitRandom(&seed) % 40;
        slice argv[64];
        sds bytes[64];
        argv[0] = sliceStr("record-del");
        bytes[0] = NULL;
        for (size_t i = 1; i < argc; i++) {
            bytes[i] = sdsEmpty();
            for (size_t n = unitRandom(&seed) % (round % 10 ? 30 : 3000); n; n--)
                bytes[i] = sdsCatPrintf(bytes[i], "%c", (char)unitRandom(&seed));
            argv[i] = sdsSlice(bytes[i]);
        }
        sds want = wireOf(argc, argv);
        parsedCommand *p = recordOf(argc, argv), *d = recordDetach(p);
        uint64_t hashes[64];
        for (uint32_t i = 0; i < p->nkeys; i++) hashes[i] = p->keys[i].hash;
        CHECK_EQ_INT(d->nkeys, argc - 1);
        memset(first_piece, 0xee, sizeof(first_piece)); /* overwrites the source */
        for (size_t i = 1; i < argc; i++) sdsFree(bytes[i]);
        recordArenaFree(&arena);
        recordArenaInit(&arena, first_piece, sizeof(first_piece));
        CHECK(sliceEq(sliceOf(d->wire, d->wire_len), sdsSlice(want)));
        CHECK_EQ_INT(d->argc, argc);
        for (uint32_t i = 0; i < d->nkeys; i++) {
            slice key = d->argv[d->keys[i].index];
            CHECK(key.ptr >= d->wire && key.ptr + key.len <= d->wire + d->wire_len);
            CHECK(d->keys[i].hash == hashes[i] && hashes[i] == hashBytes(key.ptr, key.len));
        }
        CHECK(recordMemory(d) >= sizeof(*d) + d->wire_len);
        sdsFree(want);
        recordFree(d);
    }
    recordFree(NULL);
}

static void checkElements(const parsedCommand *p, uint32_t count, uint32_t step) {
    CHECK_EQ_INT(requestElementCount(p), count);
    CHECK_EQ_INT(p->nkeys, 1);
    CHECK(p->keys[0].hash == hashBytes(p->argv[1].ptr, p->argv[1].len));
    for (uint32_t i = 0; i < count; i++) {
        const requestKey *e = &requestElements(p)[i];
        CHECK_EQ_INT(e->index, 2 + i * step);
        CHECK(e->hash == hashBytes(p->argv[e->index].ptr, p->argv[e->index].len));
    }
}

TEST(record_hashes_elements_behind_the_keys) {
    begin();
    checkElements(recordOfWords("record-hset key f v"), 1, 2);
    checkElements(recordOfWords("record-hset key f v g w h"), 3, 2);
    checkElements(recordOfWords("record-rank key"), 0, 0);
    checkElements(recordOfWords("record-rank key m withscore"), 1, 0);
    parsedCommand *d = recordDetach(recordOfWords("record-hset key f v g w"));
    memset(first_piece, 0xee, sizeof(first_piece));
    checkElements(d, 2, 2);
    CHECK_EQ_INT(d->flags, REQ_ELEMENTS);
    recordFree(d);
    recordArenaFree(&arena);
    recordArenaInit(&arena, first_piece, sizeof(first_piece));

    slice many[2 * REQ_ELEMENTS_MAX + 40];
    many[0] = sliceStr("record-hset");
    for (size_t i = 1; i < array_len(many); i++) many[i] = sliceOf("abcdefghijklmnopqrstuvwxyz", i % 26);
    checkElements(recordOf(array_len(many), many), REQ_ELEMENTS_MAX, 2);
    recordArenaFree(&arena);
}

TEST(record_detached_takes_the_value) {
    begin();
    parsedCommand *p = recordOfWords("record-set key some-value");
    robj *value = p->value;
    CHECK_EQ_INT(value->owner, 3);
    zmallocFailAfter(1);
    parsedCommand *d = recordDetach(p);
    zmallocFailAfter(0);
    CHECK(d == NULL && p->value == value); /* failed: nothing has changed */
    p->flags |= REQ_INLINE | REQ_PREFETCHED;
    d = recordDetach(p);
    CHECK(p->value == NULL && d->value == value);
    CHECK_EQ_INT(d->flags, 0); /* it has a wire form now, and its keys are not prefetched */
    CHECK(recordMemory(d) > zmallocSize(d));
    recordFree(d); /* frees the value as well (checked by LeakSanitizer) */
    recordArenaFree(&arena);
}

/* Large arguments are not copied: they move, or are the value already. */
TEST(record_detached_takes_large_arguments) {
    enum { LEN = 50000 };
    for (int set = 0; set < 2; set++) {
        begin();
        largeArg large[2];
        for (uint32_t i = 0; i < 2; i++) {
            large[i] =
                (largeArg){.next = &large[1 - i], .bytes = zmalloc(LEN), .len = LEN, .capacity = LEN, .have = LEN};
            memset(large[i].bytes, 'a' + (char)i, LEN);
            large[i].index = 2 + 2 * i;
        }
        char key[] = "key", word[] = "word";
        const slice argv[] = {sliceStr(set ? "record-set" : "record-del"), sliceStr(key), sliceOf(large[0].bytes, LEN),
                              sliceStr(word), sliceOf(large[1].bytes, LEN)};
        parsedCommand *p = recordCreate(&arena, array_len(argv));
        memcpy(p->argv, argv, sizeof(argv));
        p->flags |= REQ_SCATTERED;
        p->large = &large[0];
        recordComplete(&arena, &cache, p, 3);
        CHECK_EQ_INT(p->value != NULL, set);
        if (set) CHECK(objectRawString(p->value).ptr == argv[2].ptr);
        zmallocFailAfter(1);
        CHECK(recordDetach(p) == NULL);
        zmallocFailAfter(0);
        CHECK(large[1].bytes != NULL);
        parsedCommand *d = recordDetach(p);
        CHECK(p->value == NULL && large[0].bytes == NULL && large[1].bytes == NULL);
        memset(key, '#', 3);
        memset(word, '#', 4);
        recordArenaFree(&arena);
        CHECK(d->argv[2].ptr == argv[2].ptr && d->argv[4].ptr == argv[4].ptr);
        CHECK(sliceIs(d->argv[1], "key") && sliceIs(d->argv[3], "word"));
        CHECK_EQ_INT(d->argv[4].ptr[LEN - 1], 'b');
        CHECK(recordMemory(d) >= 2 * LEN && recordMemory(d) < 2 * LEN + 40000);
        CHECK((requestLargeArg(d, 2) != NULL) == !set);
        CHECK(requestLargeArg(d, 4) != NULL);
        recordFree(d);
    }
}

TEST(record_detached_keeps_what_is_wrong) {
    begin();
    parsedCommand *unknown = recordDetach(recordOfWords("no-such-command a")),
                  *arity = recordDetach(recordOfWords("record-get a b"));
    CHECK(unknown->cmd == NULL && unknown->nkeys == 0 && sliceIs(unknown->argv[0], "no-such-command"));
    CHECK_EQ_INT(arity->flags, REQ_BAD_ARITY);
    recordFree(unknown);
    recordFree(arity);
}

TEST(record_slots_when_they_are_on) {
    begin();
    CHECK_EQ_INT(recordOfWords("record-get foo")->slot, -1);
    keyHashSetSlots(true);
    recordSetSlots(true);
    CHECK_EQ_INT(recordOfWords("record-get foo")->slot, 12182);
    const parsedCommand *same = recordOfWords("record-del {foo}a {foo}b foo"),
                        *other = recordOfWords("record-del foo bar");
    CHECK_EQ_INT(same->slot, 12182);
    CHECK_EQ_INT(same->flags, 0);
    CHECK_EQ_INT(other->slot, 12182);
    CHECK_EQ_INT(other->flags, REQ_CROSS_SLOT);
    recordSetSlots(false);
    keyHashSetSlots(false);
    recordArenaFree(&arena);
}

/* Memory for many arguments, whose number the client chooses, is allocated before the record is made. */
TEST(record_of_many_arguments_takes_what_was_prepared) {
    enum { MANY = 20000 };
    begin();
    zmallocFailAfter(1);
    CHECK(!recordArenaPrepare(&arena, MANY));
    zmallocFailAfter(0);
    CHECK(recordArenaPrepare(&arena, MANY));
    size_t used = zmallocUsed();
    parsedCommand *p = recordCreate(&arena, MANY);
    p->argv[0] = sliceStr("record-del");
    for (size_t i = 1; i < MANY; i++) p->argv[i] = sliceStr("k");
    (void)recordComplete(&arena, &cache, p, 0);
    CHECK_EQ_INT(p->nkeys, MANY - 1);
    CHECK_EQ_INT(zmallocUsed(), used);
    recordArenaFree(&arena);
}
