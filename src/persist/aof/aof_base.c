/* aof_base.c -- writes the whole dataset as commands that create it.
 *
 *   FUNCTION LOAD ..
 *   SELECT   SET | RPUSH .. | SADD .. | ZADD .. | HSETEX .. HMSET .. | XADD .. XSETID XGROUP .. XCLAIM ..   PEXPIREAT
 *
 * A large value becomes many commands of at most ITEMS elements, so that no reader needs to hold a large command.
 * Expired keys and fields are written like others: the increments after the base contain their removal.
 *
 * State that no command can set is lost, as in Valkey: the time when a consumer was last seen, and which pending
 * entries the stream no longer has.
 *
 * Not here    the walk over the keys, and the file (rdb_save.c).
 * Owns        nothing.
 * Threads     the thread that has the main role, or the only thread of a child.
 * Invariants  1. No memory of the dataset is written to.
 *             2. The argument count of a command is the number of arguments that follow.
 * Tests       tests/persist/rewrite.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_rewrite.h"

#include "clock.h"
#include "libraries.h"
#include "panic.h"
#include "persist_settings.h"
#include "resp_format.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_stream_groups.h"
#include "value_stream_idmp.h"
#include "value_zset.h"

#include <stdio.h>

#define ITEMS 64 /* elements of a value in one command */

/* ---- Commands ---- */

static void putHeader(rdbWriter *out, char prefix, size_t n) {
    char *at = rdbWriterReserve(out, RESP_HEADER_MAX);
    out->at = at + respHeader(at, prefix, (long long)n);
}

static void putArg(rdbWriter *out, slice bytes) {
    putHeader(out, '$', bytes.len);
    rdbWriteBytes(out, bytes);
    rdbWriteBytes(out, sliceOf("\r\n", 2));
}

static void putWord(rdbWriter *out, const char *word) { putArg(out, sliceStr(word)); }

static void putNumber(rdbWriter *out, long long n) {
    char digits[LONG_STR_SIZE];
    putArg(out, sliceOf(digits, ll2string(digits, n)));
}

static void putStreamId(rdbWriter *out, streamId id) {
    char text[STREAM_ID_TEXT_SIZE];
    putArg(out, streamIdText(id, text));
}

/* Begins a command with `argc` arguments, its name included. */
static void aofBaseBegin(rdbWriter *out, const char *name, size_t argc) {
    putHeader(out, '*', argc);
    putWord(out, name);
}

/* Call before each element of a value, when `done` of `total` elements are written. Begins a command after every ITEMS
 * elements; each element takes `parts` arguments. */
static void beginSome(rdbWriter *out, const char *name, slice key, size_t done, size_t total, size_t parts) {
    debugAssert(done < total && parts > 0);
    if (done % ITEMS) return;
    size_t some = total - done < ITEMS ? total - done : ITEMS;
    aofBaseBegin(out, name, 2 + some * parts);
    putArg(out, key);
}

/* ---- Values ---- */

static void writeString(rdbWriter *out, slice key, const robj *o) {
    char digits[LONG_STR_SIZE];
    aofBaseBegin(out, "SET", 3);
    putArg(out, key);
    putArg(out, objectString(o, digits));
}

static void writeList(rdbWriter *out, slice key, const robj *o) {
    size_t total = valueListCount(o);
    valueListIter it;
    listpackValue v;
    char digits[LONG_STR_SIZE];
    valueListIterBegin(&it, o, 0, false);
    for (size_t i = 0; valueListIterNext(&it, &v); i++) {
        beginSome(out, "RPUSH", key, i, total, 1);
        putArg(out, v.str ? sliceOf(v.str, v.len) : sliceOf(digits, ll2string(digits, v.num)));
    }
    valueListIterEnd(&it);
}

static void writeSet(rdbWriter *out, slice key, const robj *o) {
    size_t total = setSize(o);
    setIterator it;
    setMember m;
    char digits[LONG_STR_SIZE];
    setIterBegin(&it, o);
    for (size_t i = 0; setIterNext(&it, &m); i++) {
        beginSome(out, "SADD", key, i, total, 1);
        putArg(out, setMemberText(&m, digits));
    }
    setIterEnd(&it);
}

static void writeZset(rdbWriter *out, slice key, const robj *o) {
    size_t total = zsetCount(o);
    zsetIter it = zsetIterAt(o, 0, false);
    zsetElement e;
    char digits[DOUBLE_STR_SIZE];
    for (size_t i = 0; zsetIterNext(&it, &e); i++) {
        beginSome(out, "ZADD", key, i, total, 2);
        putArg(out, sliceOf(digits, d2string(digits, sizeof(digits), e.score)));
        putArg(out, e.member);
    }
}

/* Writes each field that has a TTL together with it. Returns how many fields have none. */
static size_t writeTimedFields(rdbWriter *out, slice key, const robj *o) {
    size_t others = 0;
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it)) != NULL;) {
        if (p->when_ms == HASH_NO_TIME) {
            others++;
            continue;
        }
        aofBaseBegin(out, "HSETEX", 8);
        putArg(out, key);
        putWord(out, "PXAT");
        putNumber(out, p->when_ms);
        putWord(out, "FIELDS");
        putNumber(out, 1);
        putArg(out, p->name);
        putArg(out, p->value);
    }
    hashIterEnd(&it);
    return others;
}

static void writeHash(rdbWriter *out, slice key, const robj *o) {
    size_t total = hashHasTtls(o) ? writeTimedFields(out, key, o) : hashLength(o), i = 0;
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it)) != NULL;) {
        if (p->when_ms != HASH_NO_TIME) continue;
        beginSome(out, "HMSET", key, i++, total, 2);
        putArg(out, p->name);
        putArg(out, p->value);
    }
    hashIterEnd(&it);
}

/* ---- Streams ---- */

static void writeEntries(rdbWriter *out, slice key, const stream *s) {
    streamIterator it;
    streamId id;
    size_t fields;
    char field_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
    streamIterBegin(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
    while (streamIterNext(&it, &id, &fields)) {
        aofBaseBegin(out, "XADD", 3 + 2 * fields);
        putArg(out, key);
        putStreamId(out, id);
        for (size_t i = 0; i < fields; i++) {
            slice field, value;
            streamIterField(&it, &field, &value, field_digits, value_digits);
            putArg(out, field);
            putArg(out, value);
        }
    }
    streamIterEnd(&it);
}

/* Creates a stream without entries by adding one that is trimmed at once. */
static void writeEmptyStream(rdbWriter *out, slice key) {
    aofBaseBegin(out, "XADD", 7);
    putArg(out, key);
    putWord(out, "MAXLEN");
    putWord(out, "0");
    putWord(out, "0-1");
    putWord(out, "x");
    putWord(out, "y");
}

static void writePending(rdbWriter *out, slice key, slice group, const streamPending *p) {
    aofBaseBegin(out, "XCLAIM", 12);
    putArg(out, key);
    putArg(out, group);
    putArg(out, streamConsumerName(p->consumer));
    putNumber(out, 0);
    putStreamId(out, p->id);
    putWord(out, "TIME");
    putNumber(out, p->delivered_ms);
    putWord(out, "RETRYCOUNT");
    putNumber(out, (long long)p->deliveries);
    putWord(out, "JUSTID");
    putWord(out, "FORCE");
}

static void writeConsumer(rdbWriter *out, slice key, slice group, const streamGroup *g, const streamConsumer *c) {
    if (c->pending == 0) {
        aofBaseBegin(out, "XGROUP", 5);
        putWord(out, "CREATECONSUMER");
        putArg(out, key);
        putArg(out, group);
        putArg(out, streamConsumerName(c));
        return;
    }
    streamPendingWalk w;
    streamPendingFrom(&w, g, c, STREAM_ID_MIN);
    for (const streamPending *p; (p = streamPendingNext(&w)) != NULL;) writePending(out, key, group, p);
}

static void writeGroup(rdbWriter *out, slice key, slice name, const streamGroup *g) {
    aofBaseBegin(out, "XGROUP", 7);
    putWord(out, "CREATE");
    putArg(out, key);
    putArg(out, name);
    putStreamId(out, g->last_id);
    putWord(out, "ENTRIESREAD");
    putNumber(out, g->entries_read == STREAM_READ_UNKNOWN ? -1 : (long long)g->entries_read);
    raxIterator it;
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it))
        writeConsumer(out, key, name, g, raxIterValue(&it));
    raxIterEnd(&it);
}

/* Writes which entries producers have sent. The counters of XINFO begin again. */
static void writeIdmp(rdbWriter *out, slice key, const streamIdmp *m) {
    aofBaseBegin(out, "XCFGSET", 6);
    putArg(out, key);
    putWord(out, "IDMP-DURATION");
    putNumber(out, (long long)m->duration_s);
    putWord(out, "IDMP-MAXSIZE");
    putNumber(out, (long long)m->max_entries);
    for (const streamSent *sent = m->list.first; sent; sent = sent->next[SENT_OF_STREAM]) {
        aofBaseBegin(out, "XIDMPRECORD", 5);
        putArg(out, key);
        putArg(out, streamProducerName(sent->producer));
        putArg(out, streamSentName(sent));
        putStreamId(out, sent->id);
    }
}

static void writeStream(rdbWriter *out, slice key, const robj *o) {
    const stream *s = objectStructure(o);
    if (s->length) writeEntries(out, key, s);
    else writeEmptyStream(out, key);
    aofBaseBegin(out, "XSETID", 7);
    putArg(out, key);
    putStreamId(out, s->last_id);
    putWord(out, "ENTRIESADDED");
    putNumber(out, (long long)s->entries_added);
    putWord(out, "MAXDELETEDID");
    putStreamId(out, s->max_deleted_id);
    if (s->idmp) writeIdmp(out, key, s->idmp);
    if (!s->groups) return;
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it))
        writeGroup(out, key, raxIterKey(&it), raxIterValue(&it));
    raxIterEnd(&it);
}

/* ---- The dataset ---- */

static void writeLibrary(void *out, slice text) {
    aofBaseBegin(out, "FUNCTION", 3);
    putWord(out, "LOAD");
    putArg(out, text);
}

static void writeTime(rdbWriter *out) {
    char text[48];
    int n = snprintf(text, sizeof(text), "#TS:%lld\r\n", (long long)(clockWallMs() / 1000));
    rdbWriteBytes(out, sliceOf(text, (size_t)n));
}

static void writeHead(rdbWriter *out) {
    if (persist_settings.aof_timestamp_enabled) writeTime(out);
    librariesEach(writeLibrary, out);
}

static void writeDb(rdbWriter *out, int dbid) {
    aofBaseBegin(out, "SELECT", 2);
    putNumber(out, dbid);
}

static void writeValue(rdbWriter *out, slice key, const robj *o) {
    switch ((objectTypeId)o->type) {
    case OBJ_STRING: writeString(out, key, o); break;
    case OBJ_LIST: writeList(out, key, o); break;
    case OBJ_SET: writeSet(out, key, o); break;
    case OBJ_ZSET: writeZset(out, key, o); break;
    case OBJ_HASH: writeHash(out, key, o); break;
    case OBJ_STREAM: writeStream(out, key, o); break;
    case OBJ_MODULE:
    case OBJ_TYPES: serverPanic("no such type");
    }
}

static void writeKey(rdbWriter *out, const robj *o) {
    slice key = objectKey(o);
    int64_t when_ms = objectExpire(o);
    writeValue(out, key, o);
    if (when_ms == -1) return;
    aofBaseBegin(out, "PEXPIREAT", 3);
    putArg(out, key);
    putNumber(out, when_ms);
}

const rdbCommandForm aof_base_commands = {.head = writeHead, .db = writeDb, .key = writeKey};
