/* stream_idmp.c -- producers of a stream: IDMP and IDMPAUTO of XADD, XCFGSET, XIDMPRECORD.
 *
 * A producer that got no reply sends its entry again, by the same name; then the reply is the ID of the entry that was
 * added the first time. Replicas and the log get the options as well, with the ID that was generated, as Redis 8.6
 * propagates them: after a failover or a restart the entry is still recognized. No version of Valkey knows them.
 *
 * Not here    what is remembered (value_stream_idmp.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. "*" with a producer is an entry that had been sent before, in commands from a primary or the log:
 *                a new one has its ID there. So none is added, whatever this server remembers.
 * Tests       tests/type/stream.tcl, tests/differential/redis8
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stream_idmp.h"

#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "object_settings.h"
#include "propagate.h"
#include "typed_key.h"

/* ---- Options of XADD --------------------------------------------------------------------------------------------- */

uint32_t streamIdmpParse(client *c, uint32_t at, streamIdmpArgs *idmp) {
    bool computed = sliceIs(c->argv[at], "idmpauto");
    uint32_t taken = computed ? 2 : 3;
    bool is_it = (computed || sliceIs(c->argv[at], "idmp")) && c->argc - at > taken;
    if (!is_it) return 0;
    if (idmp->producer_arg) {
        addReplyError(c, "syntax error, IDMP/IDMPAUTO specified multiple times");
        return STREAM_IDMP_BAD;
    }
    idmp->producer_arg = at + 1;
    idmp->name_arg = computed ? 0 : at + 2;
    if (c->argv[at + 1].len && (computed || c->argv[at + 2].len)) return taken;
    if (c->argv[at + 1].len) addReplyError(c, "syntax error, IDMP requires a non-empty idempotent ID");
    else if (computed) addReplyError(c, "syntax error, IDMPAUTO requires a non-empty producer ID");
    else addReplyError(c, "syntax error, IDMP requires a non-empty producer ID");
    return STREAM_IDMP_BAD;
}

static slice nameOf(const client *c, const streamIdmpArgs *idmp) {
    return idmp->name_arg ? c->argv[idmp->name_arg] : sliceOf(idmp->computed, sizeof(idmp->computed));
}

static bool isFollowed(const client *c) { return c->flags & (CLIENT_REPLAYS | CLIENT_PRIMARY); }

static void replyDuplicate(client *c, stream *s, const streamSent *sent) {
    if (sent) addReplyStreamId(c, sent->id);
    else addReplyNull(c);
    if (!s) return;
    streamSentDuplicate(s);
    keyGroupsChanged(c, clientKeyAt(c, 1), 0, NULL, 1);
}

bool streamIdmpBegin(client *c, stream *s, streamIdmpArgs *idmp, uint32_t fields_arg, bool auto_id) {
    if (!idmp->name_arg && !streamSentNameOf(c->argv + fields_arg, c->argc - fields_arg, idmp->computed)) {
        addReplyNoMemory(c);
        return false;
    }
    if (s) streamSentExpire(s, storeNowMs());
    if (isFollowed(c) && !auto_id) return true;
    const streamSent *sent = s ? streamSentFind(s, c->argv[idmp->producer_arg], nameOf(c, idmp)) : NULL;
    bool again = isFollowed(c) || (sent && !streamSentIsExpired(s->idmp, sent, storeNowMs()));
    if (again) replyDuplicate(c, s, sent);
    return !again;
}

size_t streamIdmpNeeds(const client *c, const streamIdmpArgs *idmp) {
    return idmp->producer_arg ? 2 * (c->argv[idmp->producer_arg].len + nameOf(c, idmp).len) : 0;
}

void streamIdmpRecord(const client *c, stream *s, const streamIdmpArgs *idmp, streamId id) {
    (void)!streamSentAdd(s, c->argv[idmp->producer_arg], nameOf(c, idmp), id); /* its memory is reserved */
}

void propagateStreamIdmp(const client *c, const streamIdmpArgs *idmp) {
    if (!idmp->producer_arg) return;
    propagateWord(idmp->name_arg ? "IDMP" : "IDMPAUTO");
    propagateArg(c->argv[idmp->producer_arg]);
    if (idmp->name_arg) propagateArg(c->argv[idmp->name_arg]);
}

/* ---- XCFGSET ----------------------------------------------------------------------------------------------------- */

/* Parses the value after the word at argument `at`. Returns false after an error reply. */
static bool takeLimit(client *c, uint32_t at, const char *name, const char *unit, long long max, long long *value) {
    if (*value) return addReplyErrorFormat(c, "%s specified multiple times", name);
    if (!getLongLongFromArg(c, at + 1, value, NULL)) return false;
    if (*value >= 1 && *value <= max) return true;
    return addReplyErrorFormat(c, "%s must be between 1 and %lld %s", name, max, unit);
}

/* Returns false after an error reply. A value that was not given is 0. */
static bool parseConfigure(client *c, long long *duration_s, long long *max_entries) {
    if (c->argc == 2) return addReplyError(c, "At least one parameter must be specified");
    for (uint32_t at = 2; at < c->argc; at += 2) {
        bool taken;
        if (at + 1 == c->argc) return addReplySyntaxError(c);
        if (sliceIs(c->argv[at], "idmp-duration"))
            taken = takeLimit(c, at, "IDMP-DURATION", "seconds", STREAM_IDMP_DURATION_MAX, duration_s);
        else if (sliceIs(c->argv[at], "idmp-maxsize"))
            taken = takeLimit(c, at, "IDMP-MAXSIZE", "entries", STREAM_IDMP_ENTRIES_MAX, max_entries);
        else return addReplySyntaxError(c);
        if (!taken) return false;
    }
    return true;
}

/* Changes the limits. Other limits than before forget all entries that producers have sent, as in Redis. */
void xcfgsetCommand(client *c) {
    long long duration_s = 0, max_entries = 0;
    hashedKey key = clientKeyAt(c, 1);
    robj *o = typedKeyWriteOrReply(c, key, OBJ_STREAM, addReplyNoKeyError);
    if (!o || !parseConfigure(c, &duration_s, &max_entries)) return;
    stream *s = objectStructure(o);
    long long duration_before = s->idmp ? (long long)s->idmp->duration_s : object_settings.stream_idmp_duration;
    long long max_before = s->idmp ? (long long)s->idmp->max_entries : object_settings.stream_idmp_maxsize;
    if (!duration_s) duration_s = duration_before;
    if (!max_entries) max_entries = max_before;
    if (duration_s != duration_before || max_entries != max_before) {
        streamIdmpConfigure(s, (uint64_t)duration_s, (uint64_t)max_entries);
        keyGroupsChanged(c, key, 0, NULL, 1);
    }
    addReplyOk(c);
}

/* ---- XIDMPRECORD ------------------------------------------------------------------------------------------------- */

/* Remembers an entry that is in the stream. A log that has been rewritten as commands has this, also for entries that
 * were deleted since. */
void xidmprecordCommand(client *c) {
    streamId id;
    streamIterator it;
    size_t fields;
    slice producer = c->argv[2], name = c->argv[3];

    if (!getStreamIdFromArg(c, 4, STREAM_ARG_STRICT, 0, &id)) return;
    if (producer.len == 0) {
        addReplyError(c, "producer ID must be non-empty");
        return;
    }
    if (name.len == 0) {
        addReplyError(c, "idempotent ID must be non-empty");
        return;
    }
    hashedKey key = clientKeyAt(c, 1);
    robj *o = typedKeyWriteOrReply(c, key, OBJ_STREAM, addReplyNoKeyError);
    if (!o) return;
    stream *s = objectStructure(o);
    streamFindBegin(&it, s);
    if (!isFollowed(c) && !streamFind(&it, id, &fields)) {
        addReplyError(c, "No such message in stream");
        return;
    }
    const streamSent *sent = streamSentFind(s, producer, name);
    bool is_same = sent && streamIdCmp(sent->id, id) == 0;
    if (sent && !is_same && !isFollowed(c)) {
        addReplyError(c, "IID already exists for this producer with a different stream ID");
        return;
    }
    size_t bytes = 2 * (producer.len + name.len);
    if (is_same) {
        addReplyOk(c);
        return;
    }
    if (bytes >= COMMAND_MEMORY_LARGE && !commandMemoryReserve(c, bytes)) return;
    if (!streamSentAdd(s, producer, name, id)) {
        addReplyNoMemory(c);
        return;
    }
    keyGroupsChanged(c, key, 0, NULL, 1);
    addReplyOk(c);
}
