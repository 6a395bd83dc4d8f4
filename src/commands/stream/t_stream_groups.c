/* t_stream_groups.c -- XGROUP: consumer groups of a stream and their consumers.
 *
 * Not here    reading by consumers (t_stream_read.c), pending entries (t_stream_pending.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 * Tests       tests/type/stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "stream_args.h"
#include "typed_key.h"

/* Parses MKSTREAM (of CREATE) and ENTRIESREAD from argument 5 on. Returns false after an error reply. */
static bool parseGroupOptions(client *c, bool create, bool *mkstream, uint64_t *entries_read) {
    *mkstream = false;
    *entries_read = STREAM_READ_UNKNOWN;
    for (uint32_t at = 5; at < c->argc; at++) {
        long long n;
        if (create && sliceIs(c->argv[at], "mkstream")) {
            *mkstream = true;
        } else if (sliceIs(c->argv[at], "entriesread") && at + 1 < c->argc) {
            if (!getLongLongFromArg(c, ++at, &n, NULL)) return false;
            if (n < -1) return addReplyError(c, "value for ENTRIESREAD must be positive or -1");
            *entries_read = n == -1 ? STREAM_READ_UNKNOWN : (uint64_t)n;
        } else {
            return addReplySubcommandSyntaxError(c);
        }
    }
    return true;
}

/* Returns the stream of argument 2. Returns NULL after an error reply. */
static stream *streamOfGroup(client *c) {
    stream *s;
    if (!streamWrite(c, clientKeyAt(c, 2), &s)) return NULL;
    if (!s)
        addReplyError(c, "The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use "
                         "the MKSTREAM option to create an empty stream automatically.");
    return s;
}

/* Returns the group of argument 3. Returns NULL after an error reply. */
static streamGroup *groupOfStream(client *c) {
    const stream *s = streamOfGroup(c);
    return s ? streamGroupFromArg(c, s) : NULL;
}

/* Parses the ID in argument 4; "$" is the stream's last one. Returns false after an error reply. */
static bool getGroupId(client *c, streamArgKind kind, const stream *s, streamId *id) {
    slice text = c->argv[4];
    if (text.len != 1 || *text.ptr != '$') return getStreamIdFromArg(c, 4, kind, 0, id);
    *id = s ? s->last_id : STREAM_ID_MIN;
    return true;
}

void xgroupCreateCommand(client *c) {
    bool mkstream;
    uint64_t entries_read;
    streamId id;
    stream *s;

    if (!parseGroupOptions(c, true, &mkstream, &entries_read)) return;
    hashedKey key = clientKeyAt(c, 2);
    if (mkstream) {
        if (!streamWrite(c, key, &s)) return;
    } else if (!(s = streamOfGroup(c))) {
        return;
    }
    slice name = c->argv[3];
    if (!getGroupId(c, STREAM_ARG_STRICT, s, &id)) return;
    if (name.len >= COMMAND_MEMORY_LARGE && !commandMemoryReserve(c, 2 * name.len)) return;
    if (s && streamGroupFind(s, name)) {
        addReplyError(c, "-BUSYGROUP Consumer Group name already exists");
        return;
    }
    bool is_new = s == NULL;
    if (is_new) s = streamCreate();
    if (!streamGroupCreate(s, name, id, entries_read)) {
        if (is_new) streamFree(s);
        addReplyNoMemory(c);
        return;
    }
    if (is_new) dbAddTake(c->db, objectCreateTake(key.name, OBJ_STREAM, OBJ_ENC_STREAM, s), key);
    if (is_new) keyChanged(c, key, NOTIFY_STREAM, "xgroup-create", 1);
    else keyGroupsChanged(c, key, NOTIFY_STREAM, "xgroup-create", 1);
    addReplyOk(c);
}

void xgroupSetidCommand(client *c) {
    bool mkstream;
    uint64_t entries_read;
    streamId id;

    if (!parseGroupOptions(c, false, &mkstream, &entries_read)) return;
    stream *s = streamOfGroup(c);
    streamGroup *g = s ? streamGroupFromArg(c, s) : NULL;
    if (!g || !getGroupId(c, STREAM_ARG_ENDS, s, &id)) return;
    g->last_id = id;
    g->entries_read = entries_read;
    keyGroupsChanged(c, clientKeyAt(c, 2), NOTIFY_STREAM, "xgroup-setid", 1);
    addReplyOk(c);
}

/* Clients that are blocked on the group are woken, and get an error. */
void xgroupDestroyCommand(client *c) {
    stream *s = streamOfGroup(c);
    if (!s) return;
    hashedKey key = clientKeyAt(c, 2);
    if (!streamGroupDestroy(s, c->argv[3])) {
        addReplyZero(c);
        return;
    }
    keyGroupsChanged(c, key, NOTIFY_STREAM, "xgroup-destroy", 1);
    dbKeyReady(c->db, key, OBJ_STREAM);
    addReplyOne(c);
}

void xgroupCreateconsumerCommand(client *c) {
    streamGroup *g = groupOfStream(c);
    if (!g) return;
    bool is_new = !streamConsumerFind(g, c->argv[4]);
    if (streamConsumerOrReply(c, clientKeyAt(c, 2), g, c->argv[4])) addReplyLongLong(c, is_new);
}

void xgroupDelconsumerCommand(client *c) {
    streamGroup *g = groupOfStream(c);
    if (!g) return;
    streamConsumer *consumer = streamConsumerFind(g, c->argv[4]);
    if (!consumer) {
        addReplyZero(c);
        return;
    }
    size_t pending = streamConsumerDelete(g, consumer);
    keyGroupsChanged(c, clientKeyAt(c, 2), NOTIFY_STREAM, "xgroup-delconsumer", 1);
    addReplyLongLong(c, (long long)pending);
}
