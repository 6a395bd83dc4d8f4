/* backlog_test.c -- compares the chain with a plain array: random appends, reads, trims and steps back.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "backlog.h"

#include "panic.h"
#include "unit.h"
#include "zmalloc.h"

#define READERS 4
#define WANTED ((size_t)40 << 10)
#define STREAM_MAX ((size_t)4 << 20)

/* Initializes an empty backlog at offset `end`. */
static void init(backlog *b, uint64_t end) {
    panicSetMainThread();
    backlogInit(b, end, WANTED);
}

typedef struct model {
    backlog chain;
    char *bytes; /* owns; bytes of the replication stream from `from` on */
    uint64_t from;
    struct {
        bool there;
        backlogCursor at;
    } readers[READERS];
} model;

static uint64_t needed(const model *m) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READERS; i++)
        if (m->readers[i].there && m->readers[i].at.offset < least) least = m->readers[i].at.offset;
    return least;
}

static void append(model *m, uint64_t *seed) {
    size_t most = unitRandom(seed) % 16 ? 200 : 70000, len = unitRandom(seed) % most;
    if (m->chain.end - m->from + len > STREAM_MAX) return;
    char *at = m->bytes + (m->chain.end - m->from);
    for (size_t i = 0; i < len; i++) at[i] = (char)unitRandom(seed);
    backlogAppend(&m->chain, at, len);
    backlogExpect(&m->chain, unitRandom(seed) % most);
}

/* Returns the end of a block, at or after `from`. */
static uint64_t edge(const model *m, uint64_t from, uint64_t *seed) {
    uint64_t at = m->chain.end;
    for (const backlogBlock *b = m->chain.head; b; b = b->next)
        if (b->begin >= from && (at == m->chain.end || unitRandom(seed) % 2)) at = b->begin;
    return at;
}

static bool readSome(model *m, int i, uint64_t *seed) {
    backlogCursor *c = &m->readers[i].at;
    uint64_t limit = c->offset + unitRandom(seed) % (m->chain.end - c->offset + 1), from = c->offset;
    if (unitRandom(seed) % 4 == 0) limit = edge(m, c->offset, seed);
    slice piece;
    for (robj *text; (text = backlogRead(&m->chain, c, limit, &piece)) != NULL; from += piece.len)
        if (text->refcount != 1 || memcmp(piece.ptr, m->bytes + (from - m->from), piece.len)) return false;
    return from == limit && c->offset == limit;
}

static bool join(model *m, int i, uint64_t *seed) {
    uint64_t begin = backlogBegin(&m->chain);
    uint64_t offset = begin + unitRandom(seed) % (m->chain.end - begin + 1);
    if (unitRandom(seed) % 4 == 0) offset = edge(m, begin, seed);
    m->readers[i].there = backlogSeek(&m->chain, offset, &m->readers[i].at);
    backlogCursor none;
    bool beyond = backlogSeek(&m->chain, m->chain.end + 1, &none) ||
                  (begin && backlogSeek(&m->chain, begin - 1, &none));
    return m->readers[i].there && !beyond;
}

/* Takes back bytes that no reader has got. */
static void stepBack(model *m, uint64_t *seed) {
    uint64_t least = backlogBegin(&m->chain);
    for (int i = 0; i < READERS; i++)
        if (m->readers[i].there && m->readers[i].at.offset > least) least = m->readers[i].at.offset;
    uint64_t step = m->chain.end - least < 50000 ? m->chain.end - least : 50000;
    uint64_t to = unitRandom(seed) % 4 ? m->chain.end - unitRandom(seed) % (step + 1) : edge(m, least, seed);
    backlogTruncate(&m->chain, to);
}

static bool step(model *m, uint64_t *seed) {
    int i = (int)(unitRandom(seed) % READERS);
    switch (unitRandom(seed) % 8) {
    case 0: backlogTrim(&m->chain, needed(m)); return true;
    case 1: stepBack(m, seed); return true;
    case 2:
        if (!m->readers[i].there) return join(m, i, seed);
        m->readers[i].there = unitRandom(seed) % 4 != 0;
        return true;
    case 3:
    case 4: return !m->readers[i].there || readSome(m, i, seed);
    default: append(m, seed); return true;
    }
}

TEST(backlog_gives_what_it_was_given) {
    uint64_t seed = unitRandomSeed();
    model m = {.from = 77, .bytes = zmalloc(STREAM_MAX)};
    init(&m.chain, m.from);
    for (int i = 0; i < 20000 && CHECK(step(&m, &seed)); i++) backlogCheck(&m.chain);
    backlogClear(&m.chain);
    CHECK(m.chain.memory == 0 && backlogBegin(&m.chain) == m.chain.end);
    zfree(m.bytes);
}

TEST(backlog_keeps_what_is_wanted_and_little_more) {
    backlog b;
    char bytes[1000] = {0};
    init(&b, 0);
    for (int i = 0; i < 1000; i++) {
        backlogAppend(&b, bytes, sizeof(bytes));
        backlogTrim(&b, UINT64_MAX);
        CHECK(b.end - backlogBegin(&b) >= (b.end < WANTED ? b.end : WANTED));
        CHECK(b.end - backlogBegin(&b) < WANTED + (16 << 10));
    }
    backlogTrim(&b, 0);
    uint64_t begin = backlogBegin(&b);
    for (int i = 0; i < 500; i++) backlogAppend(&b, bytes, sizeof(bytes));
    backlogTrim(&b, begin); /* a reader is still there */
    CHECK(backlogBegin(&b) == begin);
    backlogClear(&b);
}

/* Bytes on their way to a socket outlive the chain. */
TEST(backlog_lets_readers_keep_their_bytes) {
    backlog b;
    backlogCursor c;
    slice piece;
    init(&b, 0);
    backlogAppend(&b, "hello", 5);
    CHECK(backlogSeek(&b, 1, &c));
    robj *text = backlogRead(&b, &c, 5, &piece);
    incrRefCount(text);
    backlogAppend(&b, " world", 6);
    backlogClear(&b);
    CHECK(piece.len == 4);
    CHECK_MEM(piece.ptr, "ello", 4);
    decrRefCount(text);
}

/* The case of a replica whose offset is the end of a block. */
TEST(backlog_trims_no_block_at_whose_end_somebody_stands) {
    backlog b;
    backlogCursor c;
    slice piece;
    char bytes[1000];
    memset(bytes, 'x', sizeof(bytes));
    init(&b, 0);
    backlogAppend(&b, bytes, sizeof(bytes));
    for (size_t room; (room = b.tail->capacity - b.tail->used) > 0;)
        backlogAppend(&b, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
    uint64_t at = b.end;
    CHECK(backlogSeek(&b, at, &c));
    for (int i = 0; i < 500; i++) {
        backlogAppend(&b, bytes, sizeof(bytes));
        backlogTrim(&b, at);
    }
    CHECK(backlogBegin(&b) <= at);
    CHECK(backlogRead(&b, &c, at + 10, &piece) != NULL);
    CHECK_EQ_INT(piece.len, 10);
    CHECK_MEM(piece.ptr, bytes, 10);
    backlogTrim(&b, UINT64_MAX);
    CHECK(backlogBegin(&b) > at);
    backlogClear(&b);
}

/* The case of a sub-replica that connects while a transaction is open, and the primary's link then breaks. */
TEST(backlog_takes_bytes_back_from_before_somebody) {
    backlog b;
    backlogCursor c;
    slice piece;
    init(&b, 100);
    backlogAppend(&b, "MULTI", 5);
    CHECK(backlogSeek(&b, 100, &c));
    backlogTruncate(&b, 100);
    backlogCheck(&b);
    backlogAppend(&b, "hello", 5);
    CHECK(backlogRead(&b, &c, 105, &piece) != NULL);
    CHECK_EQ_INT(piece.len, 5);
    CHECK_MEM(piece.ptr, "hello", 5);
    backlogTruncate(&b, 105);
    backlogCheck(&b);
    CHECK_EQ_INT(backlogBegin(&b), 100);
    backlogClear(&b);
    CHECK(b.memory == 0);
}

/* A replica's output refers to the blocks. When the backlog is dropped, these keep the unsent bytes and at most the
 * rest of the first and of the last block. */
TEST(backlog_references_hold_little_more_than_they_send) {
    enum { LARGE_BLOCK = 256 << 10 };
    static const size_t owed[] = {1, 1000, LARGE_BLOCK, 2 << 20};
    static char bytes[4 << 20];
    for (size_t i = 0; i < array_len(owed); i++) {
        panicSetMainThread();
        size_t before = zmallocUsed(), count = 0;
        robj *held[64];
        backlog b;
        backlogInit(&b, 0, (size_t)1 << 30);
        backlogAppend(&b, bytes, sizeof(bytes));
        backlogCursor at;
        CHECK(backlogSeek(&b, sizeof(bytes) / 2 - 1, &at));
        slice piece;
        for (robj *text; (text = backlogRead(&b, &at, sizeof(bytes) / 2 - 1 + owed[i], &piece)) != NULL;) {
            incrRefCount(text);
            held[count++] = text;
        }
        backlogClear(&b);
        size_t most = owed[i] + 2 * (LARGE_BLOCK + LARGE_BLOCK / 4);
        CHECK(zmallocUsed() - before >= owed[i] && zmallocUsed() - before <= most);
        while (count) decrRefCount(held[--count]);
        CHECK_EQ_INT(zmallocUsed(), before);
    }
}
