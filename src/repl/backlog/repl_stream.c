/* repl_stream.c -- this server's replication stream: its ID, its offset and its last bytes.
 *
 * Not here    sending it (replicas.c), what is propagated (engine/propagate.h), the blocks (backlog.c).
 * Owns        the replication IDs, the backlog, the number of the selected database.
 * Threads     main.
 * Invariants  1. The backlog, if there is one, ends at the offset; on a replica it also has the commands that have run
 *                of a transaction that is not complete.
 *             2. The propagation sink is registered exactly while writes are appended and there is a backlog.
 *             3. The second ID is valid at most up to the offset; without one id2_until is -1.
 * Cost        a copy for each write.
 * Tests       tests/unit/repl/backlog/repl_stream_test.c, tests/repl/sync.tcl, tests/repl/partial.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl_stream.h"

#include "call.h"
#include "panic.h"
#include "propagate.h"
#include "repl_settings.h"
#include "resp_format.h"
#include "slot_stats.h"
#include "rng.h"

#define NO_ID "0000000000000000000000000000000000000000"

static struct {
    replIds names;
    uint64_t offset;
    backlog kept;
    bool is_kept;
    bool takes_writes; /* propagated commands are appended: this server is a primary */
    bool sink_is_set;
    int db;
    uint64_t alarm_at;
    void (*alarm)(void); /* const after boot */
} stream = {.db = -1, .alarm_at = UINT64_MAX};

static_assert(sizeof(NO_ID) == REPL_ID_BYTES + 1, "it takes the place of an ID");

/* Asserts the invariants. Call where no function of this file is in the middle of a change. */
static void streamCheck(void) {
    const replIds *n = &stream.names;
    debugAssert(!stream.is_kept || (stream.kept.end >= stream.offset && backlogBegin(&stream.kept) <= stream.offset));
    debugAssert(!stream.sink_is_set || stream.kept.end == stream.offset);
    debugAssert(stream.sink_is_set == (stream.is_kept && stream.takes_writes));
    debugAssert(stream.db >= -1);
    if (!*n->id) return; /* before replStreamInit() */
    debugAssert(strlen(n->id) == REPL_ID_BYTES && strlen(n->id2) == REPL_ID_BYTES);
    debugAssert(n->id2_until == -1 || (n->id2_until > 0 && (uint64_t)n->id2_until <= stream.offset + 1));
}

/* ---- Replication IDs ---- */

static void forgetSecond(void) {
    memcpy(stream.names.id2, NO_ID, sizeof(stream.names.id2));
    stream.names.id2_until = -1;
}

/* Makes the present ID the second one, valid up to the present offset. */
static void rememberAsSecond(void) {
    memcpy(stream.names.id2, stream.names.id, sizeof(stream.names.id2));
    stream.names.id2_until = (long long)stream.offset + 1;
}

void replStreamNewId(void) {
    rngSecureHex(stream.names.id, REPL_ID_BYTES);
    forgetSecond();
    streamCheck();
}

void replStreamInit(void) { replStreamNewId(); }

const replIds *replicationIds(void) { return &stream.names; }

void replStreamLeave(void) {
    rememberAsSecond();
    rngSecureHex(stream.names.id, REPL_ID_BYTES);
    stream.db = -1;
    streamCheck();
}

void replStreamContinueAs(const char *id) {
    rememberAsSecond();
    memcpy(stream.names.id, id, REPL_ID_BYTES);
    debugAssert(!stream.takes_writes);
    streamCheck();
}

/* ---- The backlog ---- */

uint64_t replStreamOffset(void) { return stream.offset; }

bool replStreamIsKept(void) { return stream.is_kept; }

backlog *replStreamBacklog(void) {
    debugAssert(stream.is_kept);
    return &stream.kept;
}

static void appendSelect(int db) {
    char text[RESP_SELECT_MAX];
    backlogAppend(&stream.kept, text, respSelect(text, db));
    stream.db = db;
}

static void replStreamTakeItem(const propagateItem *item) {
    assertMainRole();
    debugAssert(stream.sink_is_set && stream.kept.end == stream.offset);
    if (unlikely(item->dbid != stream.db) && item->dbid >= 0) appendSelect(item->dbid);
    uint64_t begin = stream.kept.end;
    for (uint32_t i = 0; i < item->count; i++) backlogAppend(&stream.kept, item->pieces[i].ptr, item->pieces[i].len);
    stream.offset = stream.kept.end;
    debugAssert(stream.offset - begin == item->bytes);
    unused(begin);
    backlogExpect(&stream.kept, item->bytes); /* the next write is usually as long as this one */
    client *writer = callCurrentClient();
    if (writer) propagateNoteWrite(writer, PROPAGATE_REPLICAS, stream.offset);
    if (writer && slotStatsAreOn()) slotStatsPropagated(item->bytes);
    if (unlikely(stream.offset > stream.alarm_at)) {
        stream.alarm_at = UINT64_MAX;
        stream.alarm();
    }
}

void replStreamOnAlarm(void (*fn)(void)) {
    debugAssert(!stream.alarm);
    stream.alarm = fn;
}

void replStreamSetAlarm(uint64_t offset) {
    debugAssert(offset >= stream.offset);
    stream.alarm_at = offset;
}

static void setSink(void) {
    static const propagateSink sink = {.target = PROPAGATE_REPLICAS, .take = replStreamTakeItem};
    bool wanted = stream.is_kept && stream.takes_writes;
    if (wanted == stream.sink_is_set) return;
    stream.sink_is_set = wanted;
    if (wanted) propagateAddSink(&sink);
    else propagateRemoveSink(&sink);
}

void replStreamTakeWrites(bool on) {
    assertMainRole();
    streamCheck();
    debugAssert(!on || !stream.is_kept || stream.kept.end == stream.offset); /* no open transaction of a primary */
    stream.takes_writes = on;
    stream.db = -1;
    setSink();
    streamCheck();
}

void replStreamKeep(void) {
    assertMainRole();
    if (stream.is_kept) return;
    backlogInit(&stream.kept, stream.offset, (size_t)repl_settings.backlog_size);
    stream.is_kept = true;
    setSink();
    streamCheck();
}

void replStreamDrop(void) {
    assertMainRole();
    if (!stream.is_kept) return;
    stream.is_kept = false;
    setSink();
    backlogClear(&stream.kept);
    streamCheck();
}

void replStreamApplySize(void) {
    if (stream.is_kept) stream.kept.keep_bytes = (size_t)repl_settings.backlog_size;
}

void replStreamFollow(const char *id, uint64_t offset) {
    assertMainRole();
    replStreamDrop();
    memcpy(stream.names.id, id, REPL_ID_BYTES);
    forgetSecond();
    stream.offset = offset;
    replStreamKeep();
    debugAssert(stream.kept.end == offset && !stream.kept.head);
}

void replStreamResume(const char *id, uint64_t offset) {
    assertMainRole();
    replStreamDrop();
    stream.offset = offset;
    memcpy(stream.names.id2, id, REPL_ID_BYTES);
    stream.names.id2_until = (long long)offset + 1;
    replStreamKeep();
    debugAssert(stream.kept.end == offset && !stream.kept.head);
}

/* ---- For a primary ---- */

void replStreamAppend(slice wire) {
    assertMainRole();
    if (!stream.sink_is_set) return;
    backlogAppend(&stream.kept, wire.ptr, wire.len);
    stream.offset = stream.kept.end;
}

void replStreamForgetDb(void) { stream.db = -1; }

int replStreamDb(void) { return stream.db; }

/* ---- For a replica ---- */

void replStreamForward(slice wire) {
    debugAssert(stream.is_kept && !stream.takes_writes);
    backlogAppend(&stream.kept, wire.ptr, wire.len);
    backlogExpect(&stream.kept, wire.len);
}

void replStreamCommit(uint64_t offset) {
    debugAssert(stream.kept.end == offset && offset >= stream.offset);
    stream.offset = offset;
    streamCheck();
}

void replStreamRollback(void) {
    assertMainRole();
    debugAssert(!stream.takes_writes);
    streamCheck();
    if (stream.is_kept && stream.kept.end > stream.offset) backlogTruncate(&stream.kept, stream.offset);
    debugAssert(!stream.is_kept || stream.kept.end == stream.offset);
}
