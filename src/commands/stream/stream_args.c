/* stream_args.c -- helpers of the commands of streams: parsing IDs, replying with entries, propagation.
 *
 * Not here    the commands (t_stream*.c).
 * Threads     main.
 * Tests       tests/type/stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stream_args.h"

#include "slice.h"
#include "command_memory.h"
#include "propagate.h"
#include "typed_key.h"

#define ID_TEXT_MAX 127
#define INVALID_ID "Invalid stream ID specified as stream command argument"

/* Parses one part of an ID: digits of a 64-bit number, with leading zeros allowed, after optional blanks and a plus. */
static bool parsePart(const char *p, const char *end, uint64_t *out) {
    uint64_t n = 0;
    while (p < end && isBlank(*p)) p++;
    if (p < end && *p == '+') p++;
    if (p == end) return false;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') return false;
        unsigned digit = (unsigned)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

/* Cuts the text at its first NUL, as Valkey 9.1 does. */
static slice textOfId(slice arg) { return sliceOf(arg.ptr, arg.len ? strnlen(arg.ptr, arg.len) : 0); }

bool parseStreamId(slice arg, streamArgKind kind, uint64_t missing_seq, streamId *id) {
    if (arg.len > ID_TEXT_MAX) return false;
    slice text = textOfId(arg);
    if (kind == STREAM_ARG_ENDS && text.len == 1 && (*text.ptr == '-' || *text.ptr == '+')) {
        *id = *text.ptr == '-' ? STREAM_ID_MIN : STREAM_ID_MAX;
        return true;
    }
    const char *end = text.ptr + text.len, *dash = text.len ? memchr(text.ptr, '-', text.len) : NULL;
    if (!parsePart(text.ptr, dash ? dash : end, &id->ms)) return false;
    if (dash) return parsePart(dash + 1, end, &id->seq);
    id->seq = missing_seq;
    return true;
}

bool parseStreamIdAnySeq(slice arg, uint64_t *ms) {
    slice text = textOfId(arg);
    if (text.len < 3 || arg.len > ID_TEXT_MAX) return false;
    const char *end = text.ptr + text.len;
    return end[-1] == '*' && end[-2] == '-' && parsePart(text.ptr, end - 2, ms);
}

bool getStreamIdFromArg(client *c, uint32_t index, streamArgKind kind, uint64_t missing_seq, streamId *id) {
    if (parseStreamId(c->argv[index], kind, missing_seq, id)) return true;
    return addReplyError(c, INVALID_ID);
}

bool streamIdsCheck(client *c, uint32_t first) {
    streamId id;
    for (uint32_t i = first; i < c->argc; i++)
        if (!getStreamIdFromArg(c, i, STREAM_ARG_STRICT, 0, &id)) return false;
    return true;
}

/* Parses a bound of an interval; "(" excludes the ID. Sets *excluded to whether it is there. */
static bool getBound(client *c, uint32_t index, uint64_t missing_seq, streamId *id, bool *excluded) {
    slice text = c->argv[index];
    *excluded = text.len >= 2 && *text.ptr == '(';
    if (*excluded) text = sliceOf(text.ptr + 1, text.len - 1);
    if (parseStreamId(text, *excluded ? STREAM_ARG_STRICT : STREAM_ARG_ENDS, missing_seq, id)) return true;
    return addReplyError(c, INVALID_ID);
}

bool getStreamStartFromArg(client *c, uint32_t index, streamId *id) {
    bool excluded;
    if (!getBound(c, index, 0, id, &excluded)) return false;
    return !excluded || streamIdNext(id) || addReplyError(c, "invalid start ID for the interval");
}

bool getStreamEndFromArg(client *c, uint32_t index, streamId *id) {
    bool excluded;
    if (!getBound(c, index, UINT64_MAX, id, &excluded)) return false;
    return !excluded || streamIdPrev(id) || addReplyError(c, "invalid end ID for the interval");
}

/* ---- Replies ----------------------------------------------------------------------------------------------------- */

void addReplyStreamId(client *c, streamId id) {
    char buf[STREAM_ID_TEXT_SIZE];
    addReplyBulk(c, streamIdText(id, buf));
}

static void addIdAndFields(client *c, streamIterator *it, streamId id, size_t fields) {
    char field_buf[LONG_STR_SIZE], value_buf[LONG_STR_SIZE];
    slice field, value;
    addReplyStreamId(c, id);
    addReplyArrayLen(c, (long long)fields * 2);
    for (; fields && !replyIsDropped(c); fields--) {
        streamIterField(it, &field, &value, field_buf, value_buf);
        addReplyBulk(c, field);
        addReplyBulk(c, value);
    }
}

void addReplyStreamEntry(client *c, streamIterator *it, streamId id, size_t fields) {
    addReplyArrayLen(c, 2);
    addIdAndFields(c, it, id, fields);
}

void addReplyStreamClaimed(client *c, streamIterator *it, streamId id, size_t fields, int64_t idle_ms,
                           uint64_t deliveries) {
    addReplyArrayLen(c, 4);
    addIdAndFields(c, it, id, fields);
    addReplyLongLong(c, idle_ms);
    addReplyLongLong(c, (long long)deliveries);
}

size_t addReplyStreamRange(client *c, const stream *s, streamId start, streamId end, bool backward, size_t count) {
    streamIterator it;
    streamId id;
    size_t fields, shown = 0;
    void *deferred = addReplyDeferredLen(c);
    streamIterBegin(&it, s, start, end, backward);
    while ((count == 0 || shown < count) && !replyIsDropped(c) && streamIterNext(&it, &id, &fields)) {
        addReplyStreamEntry(c, &it, id, fields);
        shown++;
    }
    streamIterEnd(&it);
    setDeferredArrayLen(c, deferred, (long long)shown);
    return shown;
}

bool addReplyStreamEntryOf(client *c, streamIterator *it, streamId id) {
    size_t fields;
    bool found = streamFind(it, id, &fields);
    if (found) addReplyStreamEntry(c, it, id, fields);
    return found;
}

/* ---- Keys and consumers ------------------------------------------------------------------------------------------ */

bool streamRead(client *c, hashedKey key, stream **out) {
    robj *o;
    if (!typedKeyRead(c, key, OBJ_STREAM, &o)) return false;
    *out = o ? objectStructure(o) : NULL;
    return true;
}

bool streamWrite(client *c, hashedKey key, stream **out) {
    robj *o;
    if (!typedKeyWrite(c, key, OBJ_STREAM, &o)) return false;
    *out = o ? objectStructure(o) : NULL;
    return true;
}

streamGroup *streamGroupFromArg(client *c, const stream *s) {
    slice name = c->argv[3], key = c->argv[2];
    streamGroup *g = streamGroupFind(s, name);
    if (!g)
        addReplyErrorFormat(c, "-NOGROUP No such consumer group '%.*s' for key name '%.*s'", (int)name.len, name.ptr,
                            (int)key.len, key.ptr);
    return g;
}

streamConsumer *streamConsumerTry(client *c, hashedKey key, streamGroup *g, slice name) {
    streamConsumer *consumer = streamConsumerFind(g, name);
    if (consumer) return consumer;
    if (name.len >= COMMAND_MEMORY_LARGE && !commandMemoryTry(c, 2 * name.len)) return NULL;
    consumer = streamConsumerCreate(g, name, storeNowMs());
    if (consumer) keyGroupsChanged(c, key, NOTIFY_STREAM, "xgroup-createconsumer", 1);
    return consumer;
}

streamConsumer *streamConsumerOrReply(client *c, hashedKey key, streamGroup *g, slice name) {
    streamConsumer *consumer = streamConsumerTry(c, key, g, name);
    if (!consumer) addReplyNoMemory(c);
    return consumer;
}

/* ---- Propagation ------------------------------------------------------------------------------------------------- */

void propagateStreamId(streamId id) {
    char text[STREAM_ID_TEXT_SIZE];
    propagateCopied(streamIdText(id, text));
}

void propagateClaim(const client *c, slice key, slice group, const streamGroup *g, const streamPending *p) {
    if (!propagateInstead(c, "XCLAIM")) return;
    propagateArg(key);
    propagateArg(group);
    propagateCopied(streamConsumerName(p->consumer));
    propagateNumber(0);
    propagateStreamId(p->id);
    propagateWord("TIME");
    propagateNumber(p->delivered_ms);
    propagateWord("RETRYCOUNT");
    propagateNumber((long long)p->deliveries);
    propagateWord("FORCE");
    propagateWord("JUSTID");
    propagateWord("LASTID");
    propagateStreamId(g->last_id);
    propagateDone();
}

void propagateGroupId(const client *c, slice key, slice group, const streamGroup *g) {
    if (!propagateInstead(c, "XGROUP")) return;
    propagateWord("SETID");
    propagateArg(key);
    propagateArg(group);
    propagateStreamId(g->last_id);
    propagateWord("ENTRIESREAD");
    propagateNumber(g->entries_read == STREAM_READ_UNKNOWN ? -1 : (long long)g->entries_read);
    propagateDone();
}

void propagateConsumer(const client *c, slice key, slice group, slice consumer) {
    if (!propagateInstead(c, "XGROUP")) return;
    propagateWord("CREATECONSUMER");
    propagateArg(key);
    propagateArg(group);
    propagateArg(consumer);
    propagateDone();
}
