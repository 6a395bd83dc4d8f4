/* value_stream_rdb.c -- streams in the RDB format.
 *
 *   nodes: (key 16 bytes, listpack) ...  length  last  [first  max deleted  added]  groups:
 *       name  last  [entries read]  pending: (ID 16 bytes, time, count) ...  consumers:
 *           name  seen  [active]  pending: ID ...
 *
 * Parts in brackets were added later: with type 19, and the active time with 21. Redis 8.6 writes type 26, which is 21
 * and what it needs to recognize an entry that a producer has sent twice:
 *
 *       duration  max size  producers: (name  entries: (name  ID) ...) ...  entries added  duplicates
 *
 * A stream for which a producer was named is written so as well, and only such a one: Valkey does not read type 26.
 *
 * Not here    lengths, strings (rdb_string.c), the layout of nodes (value_stream_node.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_settings.h"
#include "rdb_value.h"
#include "value_stream_groups.h"
#include "value_stream_idmp.h"
#include "value_stream_internal.h"
#include "value_stream_node.h"
#include "zmalloc.h"

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void writeId(rdbWriter *w, streamId id) {
    rdbWriteLength(w, id.ms);
    rdbWriteLength(w, id.seq);
}

static void writeRawId(rdbWriter *w, streamId id) {
    uint8_t bytes[STREAM_ID_BYTES];
    rdbWriteBytes(w, streamIdBytes(id, bytes));
}

static void writeNode(rdbWriter *w, streamId key, const uint8_t *lp) {
    uint8_t bytes[STREAM_ID_BYTES];
    rdbWriteString(w, streamIdBytes(key, bytes));
    rdbWriteString(w, sliceOf(lp, listpackBytes(lp)));
}

static void writeFullNode(rdbWriter *w, streamId key, const void *node) {
    bool bare;
    uint8_t *bytes = streamNodeBytes(node, &bare);
    if (!bare) {
        writeNode(w, key, bytes);
        return;
    }
    uint8_t *lp = listpackOfBare(bytes);
    writeNode(w, key, lp);
    listpackFree(lp);
}

static void writeNodes(rdbWriter *w, const stream *s) {
    rdbWriteLength(w, streamNodeCount(s));
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->nodes); on; on = raxIterNext(&it))
        writeFullNode(w, streamIdFromBytes(raxIterKey(&it).ptr), raxIterValue(&it));
    raxIterEnd(&it);
    if (s->tail) writeNode(w, s->tail_key, s->tail);
}

static void writeConsumer(rdbWriter *w, const streamGroup *g, const streamConsumer *c, unsigned rdb_type) {
    rdbWriteString(w, streamConsumerName(c));
    rdbWriteMs(w, c->seen_ms);
    if (rdb_type >= RDB_TYPE_STREAM_3) rdbWriteMs(w, c->active_ms);
    rdbWriteLength(w, c->pending);
    streamPendingWalk walk;
    streamPendingFrom(&walk, g, c, STREAM_ID_MIN);
    for (const streamPending *p; (p = streamPendingNext(&walk));) writeRawId(w, p->id);
}

static void writeGroup(rdbWriter *w, slice name, const streamGroup *g, unsigned rdb_type) {
    rdbWriteString(w, name);
    writeId(w, g->last_id);
    if (rdb_type >= RDB_TYPE_STREAM_2) rdbWriteLength(w, g->entries_read);
    rdbWriteLength(w, g->pending);
    streamPendingWalk walk;
    streamPendingFrom(&walk, g, NULL, STREAM_ID_MIN);
    for (const streamPending *p; (p = streamPendingNext(&walk));) {
        writeRawId(w, p->id);
        rdbWriteMs(w, p->delivered_ms);
        rdbWriteLength(w, p->deliveries);
    }
    rdbWriteLength(w, raxSize(g->consumers));
    raxIterator it;
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it))
        writeConsumer(w, g, raxIterValue(&it), rdb_type);
    raxIterEnd(&it);
}

static void writeProducer(rdbWriter *w, const streamProducer *p) {
    rdbWriteString(w, streamProducerName(p));
    rdbWriteLength(w, raxSize(p->sent));
    for (const streamSent *sent = p->list.first; sent; sent = sent->next[SENT_OF_PRODUCER]) {
        rdbWriteString(w, streamSentName(sent));
        writeId(w, sent->id);
    }
}

static void writeIdmp(rdbWriter *w, const streamIdmp *m) {
    rdbWriteLength(w, m->duration_s);
    rdbWriteLength(w, m->max_entries);
    rdbWriteLength(w, raxSize(m->producers));
    raxIterator it;
    for (bool on = raxIterFirst(&it, m->producers); on; on = raxIterNext(&it)) writeProducer(w, raxIterValue(&it));
    raxIterEnd(&it);
    rdbWriteLength(w, m->added);
    rdbWriteLength(w, m->duplicates);
}

uint8_t streamRdbType(const void *structure, int encoding) {
    unused(encoding);
    return ((const stream *)structure)->idmp ? RDB_TYPE_REDIS_STREAM : RDB_TYPE_STREAM_3;
}

void streamRdbWriteAs(rdbWriter *w, const stream *s, unsigned rdb_type) {
    writeNodes(w, s);
    rdbWriteLength(w, s->length);
    writeId(w, s->last_id);
    if (rdb_type >= RDB_TYPE_STREAM_2) {
        writeId(w, s->first_id);
        writeId(w, s->max_deleted_id);
        rdbWriteLength(w, s->entries_added);
    }
    rdbWriteLength(w, streamGroupCount(s));
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it))
        writeGroup(w, raxIterKey(&it), raxIterValue(&it), rdb_type);
    raxIterEnd(&it);
    if (rdb_type == RDB_TYPE_REDIS_STREAM) writeIdmp(w, s->idmp);
}

void streamRdbWrite(rdbWriter *w, const void *structure, int encoding) {
    streamRdbWriteAs(w, structure, streamRdbType(structure, encoding));
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static bool readId(rdbReader *r, streamId *id) { return rdbReadCount(r, &id->ms) && rdbReadCount(r, &id->seq); }

static bool readRawId(rdbReader *r, streamId *id) {
    if ((size_t)(r->end - r->p) < STREAM_ID_BYTES) return false;
    *id = streamIdFromBytes(r->p);
    r->p += STREAM_ID_BYTES;
    return true;
}

static bool readKey(rdbReader *r, streamId *key) {
    rdbText t;
    if (!rdbReadText(r, &t)) return false;
    bool good = t.text.len == STREAM_ID_BYTES;
    if (good) *key = streamIdFromBytes(t.text.ptr);
    rdbTextFree(&t);
    return good;
}

/* Reads the next node; *last is the last entry so far. */
static bool readNode(rdbReader *r, stream *s, streamId *last, bool first) {
    streamId key;
    rdbText t;
    if (!readKey(r, &key) || (!first && streamIdCmp(key, *last) <= 0)) return false;
    if (!rdbReadText(r, &t)) return false;
    uint8_t *lp = NULL;
    if (streamNodeValidate((const uint8_t *)t.text.ptr, t.text.len, key, last, true))
        lp = listpackDup((const uint8_t *)t.text.ptr);
    rdbTextFree(&t);
    if (!lp) return false;
    if (s->tail) streamKeepTail(s);
    s->tail = lp;
    s->tail_key = key;
    s->length += streamNodeLive(lp);
    return true;
}

static bool readNodes(rdbReader *r, stream *s, streamId *last) {
    uint64_t count, length;
    if (!rdbReadCount(r, &count)) return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!readNode(r, s, last, i == 0)) return false;
    }
    return rdbReadCount(r, &length) && length == s->length;
}

static bool readPending(rdbReader *r, streamGroup *g) {
    uint64_t count;
    if (!rdbReadCount(r, &count)) return false;
    for (uint64_t i = 0; i < count; i++) {
        streamId id;
        int64_t delivered_ms;
        uint64_t deliveries;
        if (!readRawId(r, &id) || !rdbReadMs(r, &delivered_ms) || !rdbReadCount(r, &deliveries)) return false;
        if (streamPendingFind(g, id)) return false;
        streamPending *p = streamPendingAdd(g, id, NULL);
        streamPendingDeliver(g, p, delivered_ms);
        p->deliveries = deliveries;
    }
    return true;
}

static bool readConsumer(rdbReader *r, streamGroup *g, unsigned rdb_type) {
    rdbText name;
    int64_t seen_ms, active_ms;
    uint64_t count;
    if (!rdbReadText(r, &name)) return false;
    streamConsumer *c = streamConsumerCreate(g, name.text, 0);
    rdbTextFree(&name);
    if (!c || !rdbReadMs(r, &seen_ms)) return false;
    active_ms = seen_ms;
    if (rdb_type >= RDB_TYPE_STREAM_3 && !rdbReadMs(r, &active_ms)) return false;
    c->seen_ms = seen_ms;
    c->active_ms = active_ms;
    if (!rdbReadCount(r, &count)) return false;
    for (uint64_t i = 0; i < count; i++) {
        streamId id;
        streamPending *p;
        if (!readRawId(r, &id) || !(p = streamPendingFind(g, id)) || p->consumer) return false;
        streamPendingGive(g, p, c);
    }
    return true;
}

static size_t pendingOfConsumers(const streamGroup *g) {
    size_t n = 0;
    raxIterator it;
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it))
        n += ((const streamConsumer *)raxIterValue(&it))->pending;
    raxIterEnd(&it);
    return n;
}

static bool readGroup(rdbReader *r, stream *s, unsigned rdb_type) {
    rdbText name;
    streamId last;
    uint64_t entries_read = 0, consumers;
    if (!rdbReadText(r, &name)) return false;
    streamGroup *g = streamGroupCreate(s, name.text, STREAM_ID_MIN, 0);
    rdbTextFree(&name);
    if (!g || !readId(r, &last)) return false;
    if (rdb_type < RDB_TYPE_STREAM_2) entries_read = streamEntriesUpTo(s, last);
    else if (!rdbReadCount(r, &entries_read)) return false;
    g->last_id = last;
    g->entries_read = entries_read;
    if (!readPending(r, g) || !rdbReadCount(r, &consumers)) return false;
    for (uint64_t i = 0; i < consumers; i++) {
        if (!readConsumer(r, g, rdb_type)) return false;
    }
    return pendingOfConsumers(g) == g->pending;
}

/* Reads an entry of a producer. One that is named twice is malformed. */
static bool readSent(rdbReader *r, stream *s, slice producer) {
    rdbText name;
    streamId id;
    if (!rdbReadText(r, &name)) return false;
    bool good = readId(r, &id) && !streamSentFind(s, producer, name.text) && streamSentAdd(s, producer, name.text, id);
    rdbTextFree(&name);
    return good;
}

static bool readProducer(rdbReader *r, stream *s) {
    rdbText name;
    uint64_t entries;
    if (!rdbReadText(r, &name)) return false;
    bool good = rdbReadCount(r, &entries);
    for (; good && entries; entries--) good = readSent(r, s, name.text);
    rdbTextFree(&name);
    return good;
}

static uint64_t bounded(uint64_t n, uint64_t max) { return n < 1 ? 1 : n > max ? max : n; }

/* Reads what producers have sent. A stream of Redis has this part always, so without any effect it is left out. */
static bool readIdmp(rdbReader *r, stream *s) {
    uint64_t duration_s, max_entries, producers, added, duplicates;
    if (!rdbReadCount(r, &duration_s) || !rdbReadCount(r, &max_entries) || !rdbReadCount(r, &producers)) return false;
    streamIdmpConfigure(s, bounded(duration_s, STREAM_IDMP_DURATION_MAX),
                        bounded(max_entries, STREAM_IDMP_ENTRIES_MAX));
    for (; producers; producers--)
        if (!readProducer(r, s)) return false;
    if (!rdbReadCount(r, &added) || !rdbReadCount(r, &duplicates)) return false;
    streamIdmpLoaded(s, added, duplicates);
    return true;
}

static bool readStream(rdbReader *r, stream *s, unsigned rdb_type) {
    streamId last_entry = STREAM_ID_MIN, first;
    uint64_t groups;
    if (!readNodes(r, s, &last_entry) || !readId(r, &s->last_id)) return false;
    if (s->length && streamIdCmp(s->last_id, last_entry) < 0) return false;
    streamFindFirst(s);
    if (rdb_type >= RDB_TYPE_STREAM_2) {
        if (!readId(r, &first) || !readId(r, &s->max_deleted_id) || !rdbReadCount(r, &s->entries_added)) return false;
    } else {
        s->entries_added = s->length;
    }
    if (!rdbReadCount(r, &groups)) return false;
    for (uint64_t i = 0; i < groups; i++) {
        if (!readGroup(r, s, rdb_type)) return false;
    }
    return rdb_type != RDB_TYPE_REDIS_STREAM || readIdmp(r, s);
}

void *streamRdbRead(struct rdbReader *r, unsigned rdb_type, int *encoding) {
    stream *s = streamCreate();
    *encoding = OBJ_ENC_STREAM;
    if (readStream(r, s, rdb_type)) return s;
    streamFree(s);
    return NULL;
}
