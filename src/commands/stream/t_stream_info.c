/* t_stream_info.c -- XINFO: properties of streams, consumer groups and consumers.
 *
 * Threads     main.
 * Tests       tests/type/stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "stream_args.h"
#include "value_stream_idmp.h"
#include "typed_key.h"

#define FULL_COUNT 10

/* Returns the stream of argument 2. Returns NULL after an error reply. */
static const stream *infoStream(client *c) {
    robj *o = typedKeyReadOrReply(c, clientKeyAt(c, 2), OBJ_STREAM, addReplyNoKeyError);
    return o ? objectStructure(o) : NULL;
}

static void addIdField(client *c, const char *name, streamId id) {
    addReplyBulkCString(c, name);
    addReplyStreamId(c, id);
}

static void addNumberField(client *c, const char *name, uint64_t n) {
    addReplyBulkCString(c, name);
    addReplyLongLong(c, (long long)n);
}

/* Adds entries-read and lag; each may be unknown. */
static void addProgressFields(client *c, const stream *s, const streamGroup *g) {
    uint64_t lag;
    addReplyBulkCString(c, "entries-read");
    if (g->entries_read != STREAM_READ_UNKNOWN) addReplyLongLong(c, (long long)g->entries_read);
    else addReplyNull(c);
    addReplyBulkCString(c, "lag");
    if (streamGroupLag(s, g, &lag)) addReplyLongLong(c, (long long)lag);
    else addReplyNull(c);
}

/* ---- XINFO STREAM ------------------------------------------------------------------------------------------------ */

#define HEAD_FIELDS 7

#define IDMP_FIELDS 6

/* Adds the fields of Redis 8.6 about producers, to streams for which one was named: Valkey has none of them. */
static void addIdmpFields(client *c, const streamIdmp *m) {
    uint64_t producers, entries;
    if (!m) return;
    streamSentCount(m, storeNowMs(), &producers, &entries);
    addNumberField(c, "idmp-duration", m->duration_s);
    addNumberField(c, "idmp-maxsize", m->max_entries);
    addNumberField(c, "pids-tracked", producers);
    addNumberField(c, "iids-tracked", entries);
    addNumberField(c, "iids-added", m->added);
    addNumberField(c, "iids-duplicates", m->duplicates);
}

static void addHeadFields(client *c, const stream *s) {
    addNumberField(c, "length", s->length);
    addNumberField(c, "radix-tree-keys", streamNodeCount(s));
    addNumberField(c, "radix-tree-nodes", streamTreeNodes(s));
    addIdField(c, "last-generated-id", s->last_id);
    addIdField(c, "max-deleted-entry-id", s->max_deleted_id);
    addNumberField(c, "entries-added", s->entries_added);
    addIdField(c, "recorded-first-entry-id", s->first_id);
    addIdmpFields(c, s->idmp);
}

static long long headFields(const stream *s) { return HEAD_FIELDS + (s->idmp ? IDMP_FIELDS : 0); }

static void addEntryField(client *c, const char *name, const stream *s, bool last) {
    streamIterator it;
    addReplyBulkCString(c, name);
    streamFindBegin(&it, s);
    if (s->length == 0) addReplyNull(c);
    else addReplyStreamEntryOf(c, &it, last ? streamLastEntry(s) : s->first_id);
}

/* Adds at most `count` (0: all) pending entries of a consumer; if that is NULL, of the group, each with the name of its
 * consumer. */
static void addPendingField(client *c, const streamGroup *g, const streamConsumer *consumer, size_t count) {
    streamPendingWalk w;
    size_t pending = consumer ? consumer->pending : g->pending;
    size_t shown = count == 0 || count > pending ? pending : count;
    addReplyBulkCString(c, "pending");
    addReplyArrayLen(c, (long long)shown);
    streamPendingFrom(&w, g, consumer, STREAM_ID_MIN);
    for (; shown; shown--) {
        const streamPending *p = streamPendingNext(&w);
        addReplyArrayLen(c, consumer ? 3 : 4);
        addReplyStreamId(c, p->id);
        if (!consumer) addReplyBulk(c, streamConsumerName(p->consumer));
        addReplyLongLong(c, p->delivered_ms);
        addReplyLongLong(c, (long long)p->deliveries);
    }
}

static void addConsumerInFull(client *c, const streamGroup *g, const streamConsumer *consumer, size_t count) {
    addReplyMapLen(c, 5);
    addReplyBulkCString(c, "name");
    addReplyBulk(c, streamConsumerName(consumer));
    addNumberField(c, "seen-time", (uint64_t)consumer->seen_ms);
    addNumberField(c, "active-time", (uint64_t)consumer->active_ms);
    addNumberField(c, "pel-count", consumer->pending);
    addPendingField(c, g, consumer, count);
}

static void addGroupInFull(client *c, const stream *s, slice name, const streamGroup *g, size_t count) {
    raxIterator it;
    addReplyMapLen(c, 7);
    addReplyBulkCString(c, "name");
    addReplyBulk(c, name);
    addIdField(c, "last-delivered-id", g->last_id);
    addProgressFields(c, s, g);
    addNumberField(c, "pel-count", g->pending);
    addPendingField(c, g, NULL, count);
    addReplyBulkCString(c, "consumers");
    addReplyArrayLen(c, (long long)raxSize(g->consumers));
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it))
        addConsumerInFull(c, g, raxIterValue(&it), count);
    raxIterEnd(&it);
}

static void infoFull(client *c, const stream *s, size_t count) {
    addReplyMapLen(c, headFields(s) + 2);
    addHeadFields(c, s);
    addReplyBulkCString(c, "entries");
    addReplyStreamRange(c, s, STREAM_ID_MIN, STREAM_ID_MAX, false, count);
    addReplyBulkCString(c, "groups");
    addReplyArrayLen(c, (long long)streamGroupCount(s));
    if (!s->groups) return;
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it))
        addGroupInFull(c, s, raxIterKey(&it), raxIterValue(&it), count);
    raxIterEnd(&it);
}

static void infoShort(client *c, const stream *s) {
    addReplyMapLen(c, headFields(s) + 3);
    addHeadFields(c, s);
    addNumberField(c, "groups", streamGroupCount(s));
    addEntryField(c, "first-entry", s, false);
    addEntryField(c, "last-entry", s, true);
}

void xinfoStreamCommand(client *c) {
    long long count = FULL_COUNT;
    bool full = c->argc > 3;

    const stream *s = infoStream(c);
    if (!s) return;
    if (full && (!sliceIs(c->argv[3], "full") || c->argc == 5 || c->argc > 6 ||
                 (c->argc == 6 && !sliceIs(c->argv[4], "count")))) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (c->argc == 6 && !getLongLongFromArg(c, 5, &count, NULL)) return;
    if (count < 0) count = FULL_COUNT;
    if (full) infoFull(c, s, (size_t)count);
    else infoShort(c, s);
}

/* ---- XINFO GROUPS, CONSUMERS ------------------------------------------------------------------------------------- */

void xinfoGroupsCommand(client *c) {
    const stream *s = infoStream(c);
    if (!s) return;
    addReplyArrayLen(c, (long long)streamGroupCount(s));
    if (!s->groups) return;
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it)) {
        const streamGroup *g = raxIterValue(&it);
        addReplyMapLen(c, 6);
        addReplyBulkCString(c, "name");
        addReplyBulk(c, raxIterKey(&it));
        addNumberField(c, "consumers", raxSize(g->consumers));
        addNumberField(c, "pending", g->pending);
        addIdField(c, "last-delivered-id", g->last_id);
        addProgressFields(c, s, g);
    }
    raxIterEnd(&it);
}

static long long sinceMs(int64_t then_ms, int64_t now_ms) { return then_ms < now_ms ? now_ms - then_ms : 0; }

void xinfoConsumersCommand(client *c) {
    const stream *s = infoStream(c);
    if (!s) return;
    const streamGroup *g = streamGroupFromArg(c, s);
    if (!g) return;
    int64_t now_ms = storeNowMs();
    addReplyArrayLen(c, (long long)raxSize(g->consumers));
    raxIterator it;
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it)) {
        const streamConsumer *consumer = raxIterValue(&it);
        addReplyMapLen(c, 4);
        addReplyBulkCString(c, "name");
        addReplyBulk(c, streamConsumerName(consumer));
        addNumberField(c, "pending", consumer->pending);
        addNumberField(c, "idle", (uint64_t)sinceMs(consumer->seen_ms, now_ms));
        addReplyBulkCString(c, "inactive");
        addReplyLongLong(c, consumer->active_ms == STREAM_NEVER ? -1 : sinceMs(consumer->active_ms, now_ms));
    }
    raxIterEnd(&it);
}
