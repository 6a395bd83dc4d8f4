/* repl_stream_test.c -- compares replication IDs, offsets and the backlog with a plain array: writes of a primary,
 * bytes that a replica applies or takes back, and changes of role.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl_stream.h"

#include "call.h"
#include "clock.h"
#include "log.h"
#include "panic.h"
#include "propagate.h"
#include "repl_settings.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <string.h>

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NO_ID "0000000000000000000000000000000000000000"
#define STREAM_MAX ((size_t)1 << 20)

static void setUp(void) {
    panicSetMainThread();
    clockInit();
    logSetLevel(LL_NOTHING);
    repl_settings.backlog_size = 16 << 10;
    replStreamTakeWrites(false);
    replStreamDrop();
    replStreamInit();
    replStreamFollow(ID_A, 0);
}

static bool isHex(const char *id) {
    return strlen(id) == REPL_ID_BYTES && strspn(id, "0123456789abcdef") == REPL_ID_BYTES;
}

TEST(stream_names_follow_the_role) {
    setUp();
    const replIds *n = replicationIds();
    replStreamFollow(ID_A, 100);
    CHECK_EQ_STR(n->id, ID_A);
    CHECK_EQ_STR(n->id2, NO_ID);
    CHECK_EQ_INT(n->id2_until, -1);
    CHECK_EQ_INT(replStreamOffset(), 100);

    replStreamContinueAs(ID_B); /* its primary has another replication ID */
    CHECK_EQ_STR(n->id, ID_B);
    CHECK_EQ_STR(n->id2, ID_A);
    CHECK_EQ_INT(n->id2_until, 101);

    replStreamForward(sliceStr("12345"));
    replStreamCommit(105);
    replStreamLeave(); /* it becomes a primary */
    CHECK(isHex(n->id) && strcmp(n->id, ID_B) != 0);
    CHECK_EQ_STR(n->id2, ID_B);
    CHECK_EQ_INT(n->id2_until, 106);
    CHECK_EQ_INT(replStreamOffset(), 105);
    CHECK(replStreamIsKept() && backlogBegin(replStreamBacklog()) == 100);

    replStreamNewId();
    CHECK_EQ_STR(n->id2, NO_ID);
    CHECK_EQ_INT(replStreamOffset(), 105);

    replStreamResume(ID_A, 7); /* a file has its offset */
    CHECK_EQ_STR(n->id2, ID_A);
    CHECK_EQ_INT(n->id2_until, 8);
    CHECK(isHex(n->id) && replStreamOffset() == 7 && backlogBegin(replStreamBacklog()) == 7);
}

TEST(stream_takes_what_is_said_only_as_a_primary_that_keeps_it) {
    setUp();
    replStreamAppend(sliceStr("nothing"));
    CHECK_EQ_INT(replStreamOffset(), 0);
    replStreamTakeWrites(true);
    replStreamAppend(sliceStr("12345"));
    CHECK_EQ_INT(replStreamOffset(), 5);
    replStreamDrop();
    replStreamAppend(sliceStr("nothing"));
    CHECK_EQ_INT(replStreamOffset(), 5);
    replStreamKeep();
    replStreamAppend(sliceStr("67"));
    CHECK_EQ_INT(replStreamOffset(), 7);
    CHECK_EQ_INT(backlogBegin(replStreamBacklog()), 5);
    CHECK_EQ_INT(replStreamDb(), -1);
}

typedef struct model {
    char *bytes; /* owns; the replication stream from offset 0 on */
    size_t len, committed;
    bool primary;
} model;

static void add(model *m, uint64_t *seed) {
    char bytes[300];
    size_t len = unitRandom(seed) % sizeof(bytes);
    if (m->len + len > STREAM_MAX) return;
    for (size_t i = 0; i < len; i++) bytes[i] = (char)unitRandom(seed);
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
    if (m->primary) replStreamAppend(sliceOf(bytes, len));
    else replStreamForward(sliceOf(bytes, len));
    if (m->primary) m->committed = m->len;
}

static void step(model *m, uint64_t *seed) {
    switch (unitRandom(seed) % 16) {
    case 0: /* the role changes */
        if (!m->primary) replStreamRollback();
        m->len = m->committed;
        m->primary = !m->primary;
        replStreamTakeWrites(m->primary);
        break;
    case 1:
        if (!m->primary) replStreamRollback();
        m->len = m->committed;
        break;
    case 2:
    case 3:
        if (!m->primary) replStreamCommit(m->len);
        m->committed = m->len;
        break;
    case 4: backlogTrim(replStreamBacklog(), unitRandom(seed) % (m->committed + 1)); break;
    default: add(m, seed); break;
    }
}

static bool isSame(const model *m) {
    backlogCursor c;
    slice piece;
    uint64_t at = backlogBegin(replStreamBacklog());
    if (replStreamOffset() != m->committed || replStreamBacklog()->end != m->len ||
        !backlogSeek(replStreamBacklog(), at, &c))
        return false;
    for (; backlogRead(replStreamBacklog(), &c, m->len, &piece); at += piece.len)
        if (memcmp(piece.ptr, m->bytes + at, piece.len)) return false;
    return at == m->len;
}

TEST(stream_is_what_was_written_applied_and_not_taken_back) {
    uint64_t seed = unitRandomSeed();
    setUp();
    model m = {.bytes = zmalloc(STREAM_MAX)};
    for (int i = 0; i < 20000; i++) {
        step(&m, &seed);
        if (i % 16 == 0 && !CHECK(isSame(&m))) break;
        backlogCheck(replStreamBacklog());
    }
    zfree(m.bytes);
    replStreamTakeWrites(false);
    replStreamDrop();
}
