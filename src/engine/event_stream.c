/* event_stream.c -- keyspace events as entries of a stream (notify-keyspace-events-stream).
 *
 * Messages to subscribers are lost if nothing is subscribed; entries of a stream wait until a consumer group has
 * processed them. Each database has a stream of that name for the events of its keys, so that the log and replicas need
 * no other SELECT than for the command that caused them, and permissions of databases hold.
 *
 *   store: event --> collected --the command has ended, or the store has settled--> stream, XADD to log and replicas
 *
 * An observer must not change the keyspace: events are collected, and become entries when the command has ended, which
 * is a command of a transaction or a script, too. Entries and the command are one propagation unit. A removal by the
 * server itself, outside of commands, opens a unit that ends after its entries (propagateHold()): so neither the log
 * nor a replica ever has a removal without its entry.
 *
 * The stream is trimmed as by MAXLEN ~. The collected events are bounded as well: those that the trimming would remove
 * at once are dropped, the oldest first, so a DEL of a million keys collects no more than twice the bound.
 *
 * Not recorded: events of the stream itself; keymiss, since reading an absent key must not write; events of a dataset
 * that is a copy of another server's, which has recorded them, and those of a load.
 *
 * Not here    which classes are on (notify-keyspace-events), messages (pubsub/notifications.c).
 * Owns        the collected events.
 * Threads     main.
 * Invariants  1. No event is collected while no command runs and no unit is held.
 *             2. `dropped` <= `count`; the bytes of an event are in `bytes`.
 * Cost        off: nothing. On: commands are run as if there was a replica.
 * Tests       tests/engine/event_stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "event_stream.h"

#include "db.h"
#include "engine_settings.h"
#include "gates.h"
#include "key_check.h"
#include "log.h"
#include "lru.h"
#include "numbers.h"
#include "panic.h"
#include "propagate.h"
#include "sds.h"
#include "setting.h"
#include "value_stream.h"
#include "zmalloc.h"

#define KEY_BYTES_MAX ((size_t)1 << 20) /* of an event that is recorded */
#define KEPT_EVENTS 1024                /* capacity that is kept for the next command */
#define KEPT_BYTES ((size_t)64 << 10)
#define NO_VALUE UINT32_MAX
#define FIELDS_MAX 4

typedef struct collectedEvent {
    int dbid;
    const char *type; /* of the value that has expired, a name for good; NULL: another event */
    size_t at;        /* in `bytes`: event, key and value, one after the other */
    uint32_t event_len, key_len, value_len;
} collectedEvent;

static struct {
    bool on;
    hashedKey key;          /* its name is an sds, owned: entries may be due when the setting changes */
    collectedEvent *events; /* owns */
    size_t count, capacity;
    size_t dropped; /* the first ones */
    sds bytes;      /* owns */
    bool adding;
    bool complained; /* about the type of the key, since it was set */
} recorder;

eventStreamStats event_stream_stats;

static void eventStreamCheck(void) {
    debugAssert(recorder.dropped <= recorder.count && recorder.count <= recorder.capacity);
    debugAssert(recorder.on || recorder.count == 0);
    debugAssert(!recorder.on || recorder.key.name.len > 0);
}

/* ---- Collecting ---- */

/* Returns whether the dataset is a copy, or is being loaded: then its events are in the stream already. */
static bool isRecorded(void) { return store_following.on || gates_enabled & 1u << GATE_LOADING; }

static size_t bound(void) { return (size_t)engine_settings.event_stream_maxlen; }

/* Drops the events of which trimming would leave nothing, and their bytes. */
static void dropOldest(void) {
    size_t drop = recorder.count - bound();
    size_t from = recorder.events[drop].at;
    event_stream_stats.lost += (long long)drop;
    memmove(recorder.events, recorder.events + drop, bound() * sizeof(*recorder.events));
    recorder.count = bound();
    sdsRange(recorder.bytes, (ssize_t)from, -1);
    for (size_t i = 0; i < recorder.count; i++) recorder.events[i].at -= from;
}

static void collect(serverDb *db, int event_class, const char *event, slice key) {
    eventStreamCheck();
    if (!recorder.on || event_class == NOTIFY_KEY_MISS || sliceEq(key, recorder.key.name) || isRecorded()) return;
    if (key.len > KEY_BYTES_MAX) {
        event_stream_stats.lost++;
        return;
    }
    propagateHold();
    if (recorder.count / 2 >= bound()) dropOldest();
    recorder.events = zgrowArray(recorder.events, recorder.count, &recorder.capacity, sizeof(*recorder.events));
    collectedEvent *e = &recorder.events[recorder.count++];
    const robj *value = keyspaceExpiredValue();
    slice name = sliceStr(event);
    *e = (collectedEvent){.dbid = dbId(db),
                          .at = sdsLen(recorder.bytes),
                          .event_len = (uint32_t)name.len,
                          .key_len = (uint32_t)key.len,
                          .value_len = NO_VALUE};
    recorder.bytes = sdsCatLen(recorder.bytes, name.ptr, name.len);
    recorder.bytes = sdsCatLen(recorder.bytes, key.ptr, key.len);
    if (!value) return;
    e->type = objectTypeName(value);
    if (value->type != OBJ_STRING || objectStringLen(value) > (size_t)engine_settings.event_stream_value_max) return;
    char digits[LONG_STR_SIZE];
    slice text = objectString(value, digits);
    recorder.bytes = sdsCatLen(recorder.bytes, text.ptr, text.len);
    e->value_len = (uint32_t)text.len;
}

/* ---- Entries ---- */

/* Counts an event that gets no entry. */
static void lose(void) { event_stream_stats.lost++; }

/* Returns the stream of a database, or NULL if another type has its key; *is_new if it has to be added. */
static stream *streamOf(const serverDb *db, bool *is_new) {
    robj *o = dictFind(dbDict(db, recorder.key.hash), recorder.key.name, recorder.key.hash);
    *is_new = !o;
    if (!o) return streamCreate();
    if (o->type == OBJ_STREAM) {
        lruTouch(o);
        return objectStructure(o);
    }
    if (!recorder.complained)
        serverLog(LL_WARNING,
                  "Keyspace events of database %d are not recorded: the key of notify-keyspace-events-stream is not a "
                  "stream, but of type %s",
                  dbId(db), objectTypeName(o));
    recorder.complained = true;
    return NULL;
}

/* Sets *id to that of the next entry. Returns false if there is none. */
static bool nextId(const stream *s, streamId *id) {
    *id = (streamId){(uint64_t)storeNowMs(), 0};
    if (id->ms > s->last_id.ms) return true;
    *id = s->last_id;
    return streamIdNext(id);
}

/* Fills in the fields of an entry and their values, and returns their number. */
static size_t pairsOf(const collectedEvent *e, slice pairs[2 * FIELDS_MAX]) {
    const char *at = recorder.bytes + e->at;
    size_t n = 0;
    pairs[n++] = sliceStr("event");
    pairs[n++] = sliceOf(at, e->event_len);
    pairs[n++] = sliceStr("key");
    pairs[n++] = sliceOf(at += e->event_len, e->key_len);
    if (!e->type) return n;
    pairs[n++] = sliceStr("type");
    pairs[n++] = sliceStr(e->type);
    if (e->value_len == NO_VALUE) return n;
    pairs[n++] = sliceStr("value");
    pairs[n++] = sliceOf(at + e->key_len, e->value_len);
    return n;
}

/* Propagates the entry. After a trimming the bound is the number of entries that are left. */
static void propagateEntry(int dbid, streamId id, const slice *pairs, size_t count, const uint64_t *left) {
    char text[STREAM_ID_TEXT_SIZE];
    propagateServer(dbid, "XADD");
    propagateCopied(recorder.key.name);
    if (left) {
        propagateWord("MAXLEN");
        propagateWord("=");
        propagateNumber((long long)*left);
    }
    propagateCopied(streamIdText(id, text));
    for (size_t i = 0; i < count; i++) propagateCopied(pairs[i]);
    propagateDone();
}

static void addEntry(const collectedEvent *e) {
    slice pairs[2 * FIELDS_MAX];
    streamId id;
    bool is_new;
    serverDb *db = dbGet(e->dbid);
    stream *s = streamOf(db, &is_new);
    size_t count = pairsOf(e, pairs);
    if (!s || !nextId(s, &id) || !streamAppend(s, id, pairs, count)) {
        if (s && is_new) streamFree(s);
        lose();
        return;
    }
    if (is_new) dbAddTake(db, objectCreateTake(recorder.key.name, OBJ_STREAM, OBJ_ENC_STREAM, s), recorder.key);
    streamTrimSpec spec = {.kind = STREAM_TRIM_MAXLEN, .approximate = true, .maxlen = bound()};
    bool trimmed = streamTrim(s, &spec) > 0;
    keyspaceNotifyChanged(db, recorder.key, CHANGED_BY_RECORDER, 0, NULL);
    if (!is_new) dbKeyReady(db, recorder.key, OBJ_STREAM);
    if (propagateWanted()) propagateEntry(e->dbid, id, pairs, count, trimmed ? &s->length : NULL);
    event_stream_stats.added++;
}

static void clearCollected(void) {
    recorder.count = 0;
    sdsClear(recorder.bytes);
    if (unlikely(recorder.capacity > KEPT_EVENTS)) {
        zfree(recorder.events);
        recorder.events = NULL;
        recorder.capacity = 0;
    }
    if (unlikely(sdsAllocSize(recorder.bytes) > KEPT_BYTES)) {
        sdsFree(recorder.bytes);
        recorder.bytes = sdsEmpty();
    }
}

/* Adds the entries of the collected events. The keyspace may change now. */
static void addEntries(void) {
    keyMark mark; /* the stream is no key of the running command */
    eventStreamCheck();
    keyCheckPause(&mark);
    for (size_t i = 0; i < recorder.count; i++) addEntry(&recorder.events[i]);
    keyCheckEnd(&mark);
    clearCollected();
    propagateRelease();
    eventStreamCheck();
}

static void commandEnded(void) {
    if (recorder.count > 0) addEntries();
}

/* Called when the store has removed keys. In the middle of a command its end is awaited. */
static void storeSettled(void) {
    if (unlikely(recorder.count > 0) && propagateIsHeld()) addEntries();
}

/* ---- The option ---- */

static bool applyStream(const char **err) {
    sds before = (sds)recorder.key.name.ptr,
        name = engine_settings.event_stream ? sdsNew(engine_settings.event_stream) : NULL;
    unused(err);
    commandEnded(); /* what was collected belongs to the earlier stream */
    recorder.on = name != NULL;
    recorder.complained = false;
    recorder.key = name ? hashedKeyOf(sdsSlice(name)) : (hashedKey){.hash = 0};
    propagateOnCommandEnd(name ? commandEnded : NULL);
    sdsFree(before);
    return true;
}

void eventStreamInit(void) {
    const char *err;
    recorder.bytes = sdsEmpty();
    storeObserveEvents(collect);
    storeOnSettled(storeSettled);
    settingOnApply("notify-keyspace-events-stream", applyStream);
    (void)applyStream(&err);
}
