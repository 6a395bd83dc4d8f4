/* request_block_test.c -- compares records with a naive split: flags, keys, hashes, built values; overflow and reuse.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "command_table.h"
#include "lazyfree.h"
#include "net_fixture.h"
#include "unit.h"
#include "zmalloc.h"

#include <pthread.h>
#include <stdio.h>

static const requestLimits limits = {.args_max = INT32_MAX, .bulk_len_max = 1 << 30, .authenticated = true};

static bool grow(requestReader *r, size_t want) {
    size_t cap = r->args_cap * 2 > want ? r->args_cap * 2 : want;
    r->args = zrealloc(r->args, cap * sizeof(*r->args));
    r->args_cap = cap;
    return true;
}

/* Puts bytes into a block and makes records of all requests, as the connection does. Takes ownership of `bytes`. */
static requestBlock *blockOf(requestPool *pool, sds bytes, unsigned thread_id) {
    requestReader r = {.grow = grow};
    pool->thread_id = thread_id;
    requestBlock *b = requestBlockGet(pool);
    CHECK(requestBlockReserve(pool, b, sdsLen(bytes)));
    memcpy(b->buf, bytes, sdsLen(bytes));
    b->len = sdsLen(bytes);
    size_t start = 0;
    for (readerReset(&r, 0); start < b->len; readerReset(&r, start)) {
        if (!CHECK_EQ_INT(readerFeed(&r, &limits, b->buf, b->len), READ_DONE)) break;
        CHECK(requestBlockAddCommand(pool, b, &r, start));
        start = r.pos;
    }
    zfree(r.args);
    sdsFree(bytes);
    return b;
}

static requestBlock *blockOfWords(requestPool *pool, const char *words) {
    netFixtureInit();
    return blockOf(pool, catWords(sdsEmpty(), words), 0);
}

#define ONE(pool, words, body)                        \
    do {                                              \
        requestBlock *b_ = blockOfWords(pool, words); \
        const parsedCommand *p = b_->first;           \
        CHECK_EQ_INT(b_->commands, 1);                \
        body;                                         \
        requestBlockPut(pool, b_);                    \
    } while (0)

TEST(block_flags_say_what_is_wrong_with_a_request) {
    requestPool pool = {0};
    ONE(&pool, "GET k", CHECK_EQ_INT(p->flags, 0); CHECK_EQ_STR(p->cmd->name, "get"));
    ONE(&pool, "gEt", CHECK_EQ_INT(p->flags, REQ_BAD_ARITY); CHECK_EQ_INT(p->nkeys, 0));
    ONE(&pool, "GET a b", CHECK_EQ_INT(p->flags, REQ_BAD_ARITY); CHECK(p->value == NULL));
    ONE(&pool, "SET a", CHECK_EQ_INT(p->flags, REQ_BAD_ARITY); CHECK(p->value == NULL));
    ONE(&pool, "NOSUCH a", CHECK(p->cmd == NULL); CHECK_EQ_INT(p->flags, REQ_UNKNOWN_COMMAND);
        CHECK(sliceIs(p->argv[0], "nosuch")));
    ONE(&pool, "CONFIG RESETSTAT", CHECK_EQ_INT(p->flags, 0); CHECK_EQ_STR(p->cmd->fullname, "config|resetstat"));
    ONE(&pool, "CONFIG nosuch", CHECK_EQ_INT(p->flags, REQ_UNKNOWN_SUBCOMMAND); CHECK_EQ_STR(p->cmd->name, "config"));
    ONE(&pool, "CONFIG", CHECK_EQ_INT(p->flags, REQ_BAD_ARITY));
    ONE(&pool, "CONFIG GET", CHECK_EQ_INT(p->flags, REQ_BAD_ARITY));
    ONE(&pool, "PICKY bad", CHECK_EQ_INT(p->flags, REQ_KEYS_INVALID); CHECK_EQ_INT(p->nkeys, 0));
    ONE(&pool, "PING", CHECK_EQ_INT(p->slot, -1); CHECK_EQ_INT(p->argc, 1); CHECK_EQ_INT(p->wire_len, 14));
    requestPoolEmpty(&pool);
}

static void checkKeys(const char *words, const char *want) {
    requestPool pool = {0};
    requestBlock *b = blockOfWords(&pool, words);
    const parsedCommand *p = b->first;
    sds got = sdsEmpty();
    for (uint32_t i = 0; i < p->nkeys; i++) {
        slice key = p->argv[p->keys[i].index];
        got = sdsCatPrintf(got, "%s%.*s", i ? " " : "", (int)key.len, key.ptr);
        CHECK(p->keys[i].hash == hashBytes(key.ptr, key.len));
    }
    CHECK_EQ_STR(got, want);
    /* The general extraction finds the same keys. */
    requestKey keys[64];
    if (p->cmd && !p->flags) {
        int n = commandExtractKeys(p->cmd, p->argv, p->argc, keys, (int)array_len(keys));
        if (CHECK_EQ_INT(n, p->nkeys)) {
            for (int i = 0; i < n; i++) {
                CHECK_EQ_INT(keys[i].index, p->keys[i].index);
                if (!p->cmd->get_keys) CHECK_EQ_INT(keys[i].flags, p->keys[i].flags);
            }
        }
    }
    sdsFree(got);
    requestBlockPut(&pool, b);
    requestPoolEmpty(&pool);
}

TEST(block_keys_are_found_and_hashed) {
    checkKeys("GET k", "k");
    checkKeys("SET k v EX 10", "k");
    checkKeys("DEL a", "a");
    checkKeys("DEL a b c", "a b c");
    checkKeys("MSET a 1 b 2 c 3", "a b c");
    checkKeys("MSET a 1 b", "a b");
    checkKeys("BLPOP a b 0", "a b");
    checkKeys("BLPOP a 0", "a");
    checkKeys("RENAME a b", "a b");
    checkKeys("SPUBLISH ch m", "");
    checkKeys("EVAL x 2 a b c", "a b");
    checkKeys("EVAL x 0", "");
    checkKeys("PICKY a b", "a");
    checkKeys("PING", "");
    checkKeys("EVAL x 20 a b c d e f g h i j k l m n o p q r s t u v", "a b c d e f g h i j k l m n o p q r s t");
}

static void checkValue(const char *words, const char *value, int encoding, bool with_expire) {
    requestPool pool = {0};
    char buf[64];
    requestBlock *b = blockOfWords(&pool, words);
    const robj *o = b->first->value;
    if (CHECK(o != NULL)) {
        CHECK_EQ_INT(o->encoding, encoding);
        CHECK_EQ_INT(o->refcount, 1);
        if (encoding == OBJ_ENC_EMBSTR) CHECK_EQ_INT(o->has_expire_slot, with_expire);
        CHECK(objectExpire(o) == -1);
        CHECK(sliceEq(objectString(o, buf), sliceStr(value)));
        CHECK(sliceEq(objectKey(o), sliceStr("key")));
    }
    requestBlockPut(&pool, b); /* frees the value */
    requestPoolEmpty(&pool);
}

TEST(block_values_are_built_ahead) {
    checkValue("SET key value", "value", OBJ_ENC_EMBSTR, false);
    checkValue("SET key value EX 10", "value", OBJ_ENC_EMBSTR, true);
    checkValue("SET key 12345", "12345", OBJ_ENC_INT, true);
    checkValue("SET key 0123", "0123", OBJ_ENC_EMBSTR, false);
    char words[600] = "SET key ";
    memset(words + 8, 'x', 500);
    checkValue(words, words + 8, OBJ_ENC_RAW, true);
    requestPool pool = {0};
    requestBlock *b = blockOf(&pool, catWords(sdsEmpty(), "SET key value"), 5);
    CHECK_EQ_INT(b->first->value->owner, 5);
    requestBlockPut(&pool, b);
    requestPoolEmpty(&pool);
}

/* --- random requests against what was sent ------------------------------------------------------------ */

#define REQUESTS_MAX 400
typedef struct naive {
    int argc;
    sds args[24];
} naive;

static sds randomRequest(sds wire, naive *n, uint64_t *seed) {
    static const char *const names[] = {"GET",    "SET",  "DEL",    "MSET", "PING",
                                        "nosuch", "Echo", "CONFIG", "EVAL", "blpop"};
    slice argv[24];
    n->argc = 1 + (int)(unitRandom(seed) % (unitRandom(seed) % 16 ? 5 : 23));
    for (int i = 0; i < n->argc; i++) {
        sds a = i ? sdsEmpty() : sdsNew(names[unitRandom(seed) % array_len(names)]);
        size_t len = i == 0 ? 0 : unitRandom(seed) % (unitRandom(seed) % 50 ? 20 : 3000);
        for (size_t k = 0; k < len; k++) {
            char byte = (char)unitRandom(seed);
            a = sdsCatLen(a, &byte, 1);
        }
        n->args[i] = a;
        argv[i] = sliceOf(a, sdsLen(a));
    }
    return catRequest(wire, n->argc, argv);
}

TEST(block_records_match_what_was_sent) {
    netFixtureInit();
    uint64_t seed = unitRandomSeed();
    requestPool pool = {0};
    static naive sent[REQUESTS_MAX];
    for (int round = 0; round < 60; round++) {
        size_t count = 1 + unitRandom(&seed) % (round % 8 ? 20 : REQUESTS_MAX);
        sds wire = sdsEmpty();
        for (size_t i = 0; i < count; i++) wire = randomRequest(wire, &sent[i], &seed);
        size_t bytes = sdsLen(wire);
        requestBlock *b = blockOf(&pool, wire, 3);
        CHECK_EQ_INT(b->commands, count);
        CHECK_EQ_INT(b->wire_bytes, bytes);
        CHECK(b->current == b->first);
        const parsedCommand *p = b->first;
        for (size_t i = 0; i < count && CHECK(p != NULL); i++, p = p->next) {
            CHECK_EQ_INT(p->argc, sent[i].argc);
            for (int k = 0; k < sent[i].argc; k++) {
                sds a = sent[i].args[k];
                if (k < (int)p->argc) CHECK(sliceEq(p->argv[k], sliceOf(a, sdsLen(a))));
            }
            bool arity_ok = p->cmd && commandArityOk(p->cmd, p->argc);
            if (p->cmd && !(p->flags & REQ_UNKNOWN_SUBCOMMAND)) CHECK_EQ_INT(!!(p->flags & REQ_BAD_ARITY), !arity_ok);
            CHECK_EQ_INT(p->value != NULL, arity_ok && p->cmd->flags & CMD_BUILDS_VALUE);
            for (uint32_t k = 0; k < p->nkeys; k++) {
                slice key = p->argv[p->keys[k].index];
                CHECK(p->keys[k].hash == hashBytes(key.ptr, key.len));
            }
        }
        CHECK(p == NULL || b->commands == 0);
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < sent[i].argc; k++) sdsFree(sent[i].args[k]);
        requestBlockPut(&pool, b);
    }
    CHECK_EQ_INT(pool.count, 1); /* the same block each time */
    requestPoolEmpty(&pool);
}

/* --- more than an ordinary block holds --------------------------------------------------------------- */

TEST(block_arena_overflows_into_chunks) {
    netFixtureInit();
    requestPool pool = {0};
    sds wire = sdsCatPrintf(sdsEmpty(), "*10001\r\n$3\r\nDEL\r\n");
    for (int i = 0; i < 10000; i++) wire = sdsCatPrintf(wire, "$5\r\n%05d\r\n", i);
    wire = catWords(wire, "GET last");
    requestBlock *b = blockOf(&pool, wire, 0);
    const parsedCommand *p = b->first;
    CHECK_EQ_INT(p->argc, 10001);
    if (CHECK_EQ_INT(p->nkeys, 10000)) {
        CHECK(sliceIs(p->argv[p->keys[0].index], "00000"));
        CHECK(sliceIs(p->argv[p->keys[9999].index], "09999"));
        CHECK(p->keys[9999].hash == hashBytes("09999", 5));
    }
    CHECK(sliceIs(p->next->argv[1], "last"));
    CHECK(b->arena.chunks != NULL);
    requestBlockPut(&pool, b);
    b = requestBlockGet(&pool); /* the extra allocations are freed, the block is as new */
    CHECK(b->arena.chunks == NULL && b->buf == b->inline_buf && b->cap == REQUEST_BUF_BYTES && b->first == NULL);
    CHECK(b->arena.at == b->inline_arena && b->arena.left == REQUEST_ARENA_BYTES);
    requestBlockPut(&pool, b);
    requestPoolEmpty(&pool);
}

TEST(block_holds_thousands_of_inline_commands) {
    netFixtureInit();
    requestPool pool = {0};
    sds wire = sdsEmpty();
    for (int i = 0; i < 5000; i++) wire = sdsCatPrintf(wire, "SET k%d %d\n", i, i);
    requestBlock *b = blockOf(&pool, wire, 0);
    CHECK_EQ_INT(b->commands, 5000);
    int i = 0;
    char key[16];
    for (const parsedCommand *p = b->first; p; p = p->next, i++) {
        snprintf(key, sizeof(key), "k%d", i);
        CHECK(sliceIs(p->argv[1], key));
        CHECK(p->value && objectInteger(p->value) == i);
    }
    CHECK_EQ_INT(i, 5000);
    requestBlockPut(&pool, b);
    requestPoolEmpty(&pool);
}

TEST(block_errors_keep_their_bytes) {
    netFixtureInit();
    requestPool pool = {0};
    requestBlock *b = requestBlockGet(&pool);
    requestBlockAddError(b, sliceOf("expected '$', got '\0'", 22));
    const parsedCommand *p = b->first;
    CHECK_EQ_INT(p->flags, REQ_PROTOCOL_ERROR);
    CHECK(p->cmd == NULL && p->argc == 1 && p->nkeys == 0 && p->value == NULL);
    CHECK(sliceEq(p->argv[0], sliceOf("expected '$', got '\0'", 22)));
    requestBlockAddError(b, sliceOf("", 0));
    CHECK_EQ_INT(b->commands, 2);
    CHECK_EQ_INT(b->last->argv[0].len, 0);
    requestBlockPut(&pool, b);
    requestPoolEmpty(&pool);
}

TEST(block_pool_is_bounded_and_values_die_with_the_block) {
    netFixtureInit();
    requestPool pool = {0};
    requestBlock *blocks[REQUEST_POOL_MAX + 10];
    for (size_t i = 0; i < array_len(blocks); i++) blocks[i] = blockOf(&pool, catWords(sdsEmpty(), "SET key value"), 0);
    objectFree(blocks[3]->first->value); /* a handler has taken this value */
    blocks[3]->first->value = NULL;
    for (size_t i = 0; i < array_len(blocks); i++) requestBlockPut(&pool, blocks[i]);
    CHECK_EQ_INT(pool.count, REQUEST_POOL_MAX);
    requestPoolEmpty(&pool);
    CHECK(pool.free == NULL && pool.count == 0);
}

TEST(block_buffer_grows_with_what_it_holds) {
    requestPool pool = {0};
    uint64_t seed = unitRandomSeed();
    requestBlock *b = requestBlockGet(&pool);
    size_t len = 0;
    for (int i = 0; i < 200; i++) {
        size_t more = unitRandom(&seed) % 30000;
        CHECK(requestBlockReserve(&pool, b, more));
        CHECK(b->cap - b->len >= more);
        for (size_t k = 0; k < more; k++) b->buf[len + k] = (char)((len + k) % 251);
        b->len = len += more;
    }
    bool same = true;
    for (size_t k = 0; k < len; k++) same &= b->buf[k] == (char)(k % 251);
    CHECK(same);
    requestBlockPut(&pool, b);
    requestPoolEmpty(&pool);
}

/* --- large arguments ---------------------------------------------------------------------------------- */

enum { MIB = 1024 * 1024 };

/* A request that is read into a block in pieces, as by a connection. */
typedef struct reading {
    requestPool pool;
    requestReader r;
    requestBlock *b;
    bool failed;
} reading;

static void readingBegin(reading *g) {
    netFixtureInit();
    *g = (reading){.r = {.grow = grow}};
    g->b = requestBlockGet(&g->pool);
    readerReset(&g->r, 0);
}

/* Waits until the background has freed everything. */
static void waitForFrees(void) {
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(lazyfreePendingBytes(), 0);
}

static void readingEnd(reading *g) {
    requestBlockPut(&g->pool, g->b);
    CHECK_EQ_INT(g->pool.memory_in, g->pool.memory_out);
    requestPoolEmpty(&g->pool);
    zfree(g->r.args);
}

/* Adds the bytes of one read. */
static void readPiece(reading *g, const char *p, size_t n) {
    while (n && !g->failed) {
        requestBlock *b = g->b;
        bool open = requestBlockLargeOpen(b);
        if (!open && requestBlockLargeDue(b, &g->r) && !requestBlockLargeBegin(&g->pool, b, &g->r, 0)) {
            g->failed = true;
        } else if (requestBlockLargeOpen(b)) {
            size_t room;
            char *to = requestBlockLargeReserve(b, &room);
            if (!to) {
                g->failed = true;
                continue;
            }
            if (room > n) room = n;
            memcpy(to, p, room);
            requestBlockLargeReceived(&g->pool, b, room);
            p += room;
            n -= room;
        } else {
            CHECK(requestBlockReserve(&g->pool, b, n));
            memcpy(b->buf + b->len, p, n);
            b->len += n;
            n = 0;
            readerFeed(&g->r, &limits, b->buf, b->len);
        }
    }
}

static bool readingAdd(reading *g) {
    if (!CHECK_EQ_INT(g->r.state, READ_DONE)) return false;
    return requestBlockAddCommand(&g->pool, g->b, &g->r, 0);
}

static sds pattern(size_t len, unsigned seed) {
    sds s = sdsGrowZero(sdsEmpty(), len);
    for (size_t i = 0; i < len; i++) s[i] = (char)((i * 7 + i / 251 + seed) % 253);
    return s;
}

static void checkReading(reading *g, int argc, const slice *argv, size_t wire_len) {
    if (!CHECK(readingAdd(g))) return;
    const parsedCommand *p = g->b->first;
    if (!CHECK_EQ_INT(p->argc, argc)) return;
    for (int i = 0; i < argc; i++) CHECK(sliceEq(p->argv[i], argv[i]));
    CHECK_EQ_INT(p->wire_len, wire_len);
    CHECK_EQ_INT(g->b->wire_bytes, wire_len);
    for (uint32_t k = 0; k < p->nkeys; k++) {
        slice key = p->argv[p->keys[k].index];
        CHECK(p->keys[k].hash == hashBytes(key.ptr, key.len));
    }
    if (p->value) CHECK(sliceEq(objectString(p->value, NULL), argv[2]));
}

/* Reads the request in two pieces, cut anywhere: at each byte near the beginning or end of something. */
static void checkEachCut(int argc, const slice *argv) {
    sds wire = catRequest(sdsEmpty(), argc, argv);
    size_t len = sdsLen(wire);
    for (size_t cut = 0; cut < len; cut++) {
        bool dense = false;
        for (size_t i = 0, at = 0; i < (size_t)argc && !dense; i++) {
            at += argv[i].len + 12;
            dense = cut < at + 40 && at < cut + 40;
        }
        if (cut > 60 && !dense && cut % 211) continue;
        reading g;
        readingBegin(&g);
        readPiece(&g, wire, cut);
        readPiece(&g, wire + cut, len - cut);
        checkReading(&g, argc, argv, len);
        readingEnd(&g);
    }
    sdsFree(wire);
}

TEST(large_arguments_come_out_as_they_went_in_at_each_cut) {
    sds one = pattern(LARGE_ARG_BYTES, 1), two = pattern(LARGE_ARG_BYTES + 4000, 2),
        small = pattern(LARGE_ARG_BYTES - 1, 3);
    checkEachCut(3, (slice[]){sliceStr("SET"), sliceStr("key"), sdsSlice(one)});
    checkEachCut(5, (slice[]){sliceStr("SET"), sliceStr("key"), sdsSlice(two), sliceStr("EX"), sliceStr("10")});
    checkEachCut(3, (slice[]){sliceStr("SET"), sliceStr("key"), sdsSlice(small)});
    checkEachCut(3, (slice[]){sliceStr("SET"), sdsSlice(one), sliceStr("value")});
    checkEachCut(3, (slice[]){sliceStr("SET"), sdsSlice(one), sdsSlice(two)});
    checkEachCut(7, (slice[]){sliceStr("MSET"), sliceStr("a"), sdsSlice(one), sliceStr("b"), sliceStr("2"),
                              sliceStr("c"), sdsSlice(two)});
    checkEachCut(2, (slice[]){sdsSlice(one), sliceStr("no such command")});
    sdsFree(one);
    sdsFree(two);
    sdsFree(small);
}

TEST(large_arguments_byte_by_byte_and_at_random) {
    uint64_t seed = unitRandomSeed();
    sds one = pattern(LARGE_ARG_BYTES, 4), two = pattern(LARGE_ARG_TRUSTED + 99, 5);
    slice argv[] = {sliceStr("MSET"), sliceStr("a"), sdsSlice(one), sliceStr("b"),
                    sdsSlice(two),    sliceStr("c"), sliceStr("")};
    sds wire = catRequest(sdsEmpty(), array_len(argv), argv);
    for (int round = 0; round < 20; round++) {
        reading g;
        readingBegin(&g);
        for (size_t at = 0, n; at < sdsLen(wire); at += n) {
            n = round == 0 ? 1 : 1 + unitRandom(&seed) % (round < 10 ? 1000 : 200000);
            if (n > sdsLen(wire) - at) n = sdsLen(wire) - at;
            readPiece(&g, wire + at, n);
        }
        checkReading(&g, array_len(argv), argv, sdsLen(wire));
        readingEnd(&g);
    }
    sdsFree(one);
    sdsFree(two);
    sdsFree(wire);
}

/* An announced length costs no memory; received bytes are copied once, and the value is where it was read to. */
TEST(large_argument_is_not_copied_as_it_grows) {
    enum { LEN = 64 * MIB, PIECE = 100000 };
    sds part = pattern(PIECE, 6);
    reading g;
    readingBegin(&g);
    waitForFrees();
    size_t used = zmallocUsed();
    const char *head = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$67108864\r\n", *where = NULL;
    readPiece(&g, head, strlen(head));
    size_t come = 0, moves = 0;
    while (come < LEN) {
        size_t n = LEN - come < PIECE ? LEN - come : PIECE;
        readPiece(&g, part, n);
        come += n;
        if (g.b->large->bytes != where) moves++;
        where = g.b->large->bytes;
        CHECK_EQ_INT(g.b->large_bytes, come);
        if (come < LARGE_ARG_TRUSTED) CHECK(g.b->large->capacity <= LARGE_ARG_TRUSTED);
        if (come % (17 * PIECE) == 0) {
            waitForFrees();
            CHECK(zmallocUsed() < used + come + 32 * 1024); /* memory for bytes that have not come is not used */
        }
    }
    CHECK_EQ_INT(moves, 2);
    readPiece(&g, "\r\n", 2);
    used = zmallocUsed();
    CHECK(readingAdd(&g));
    const parsedCommand *p = g.b->first;
    CHECK(zmallocUsed() < used + 32 * 1024);
    CHECK(p->flags & REQ_SCATTERED);
    if (CHECK(p->value != NULL)) {
        CHECK(objectRawString(p->value).ptr == where);
        CHECK(p->value->block_exact);
        CHECK_EQ_INT(objectStringLen(p->value), LEN);
    }
    CHECK(p->argv[2].ptr == where); /* and can be read as an argument */
    readingEnd(&g);
    waitForFrees();
    sdsFree(part);
}

/* A client that closes in the middle of the argument. */
TEST(large_argument_cut_off_leaves_nothing) {
    static const size_t comes[] = {
        0, 1, LARGE_ARG_BYTES, LARGE_ARG_TRUSTED - 1, LARGE_ARG_TRUSTED, LARGE_ARG_TRUSTED + 1, 5 * MIB};
    for (size_t i = 0; i < array_len(comes); i++) {
        sds part = pattern(comes[i] + 1, 7);
        reading g;
        readingBegin(&g);
        waitForFrees();
        size_t used = zmallocUsed();
        const char *head = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$104857600\r\n";
        readPiece(&g, head, strlen(head));
        CHECK(zmallocUsed() < used + 64 * 1024);
        readPiece(&g, part, comes[i] + 1);
        waitForFrees();
        CHECK(zmallocUsed() < used + comes[i] + 64 * 1024);
        readingEnd(&g);
        waitForFrees();
        CHECK(zmallocUsed() <= used);
        sdsFree(part);
    }
}

TEST(large_argument_without_memory_is_an_error) {
    sds big = pattern(3 * MIB, 8);
    slice argv[] = {sliceStr("SET"), sliceStr("key"), sdsSlice(big)};
    sds wire = catRequest(sdsEmpty(), array_len(argv), argv);
    int refused = 0;
    for (long n = 1; n < 10; n++) {
        reading g;
        readingBegin(&g);
        readPiece(&g, wire, 10000);
        zmallocFailAfter(n);
        for (size_t at = 10000; at < sdsLen(wire); at += 50000)
            readPiece(&g, wire + at, sdsLen(wire) - at < 50000 ? sdsLen(wire) - at : 50000);
        zmallocFailAfter(0);
        if (g.failed) refused++;
        else checkReading(&g, array_len(argv), argv, sdsLen(wire));
        readingEnd(&g);
    }
    CHECK_EQ_INT(refused, 2); /* for its first piece, and for the whole */
    sdsFree(big);
    sdsFree(wire);
}

/* While the gate is closed the background thread waits at it. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void passGate(void *arg) {
    unused(arg);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

/* The value of a request that was never executed must not delay the thread that returns its block. */
TEST(large_values_nobody_took_are_freed_in_the_background) {
    sds big = pattern(2 * MIB, 9);
    slice argv[] = {sliceStr("MSET"), sliceStr("key"), sdsSlice(big)};
    for (int taken = 0; taken < 2; taken++) {
        argv[0] = sliceStr(taken ? "SET" : "MSET");
        sds wire = catRequest(sdsEmpty(), array_len(argv), argv);
        reading g;
        readingBegin(&g);
        readPiece(&g, wire, 100);
        readPiece(&g, wire + 100, sdsLen(wire) - 100);
        waitForFrees();
        checkReading(&g, array_len(argv), argv, sdsLen(wire));
        CHECK_EQ_INT(g.b->first->value != NULL, taken);
        pthread_mutex_lock(&gate);
        bioSubmit(BIO_LAZY_FREE, passGate, NULL);
        readingEnd(&g);
        CHECK(lazyfreePendingBytes() >= 2 * MIB);
        pthread_mutex_unlock(&gate);
        waitForFrees();
        sdsFree(wire);
    }
    sdsFree(big);
}
