/* value_stream_idmp.c -- what producers have sent to a stream, so that an entry which is sent twice is added once.
 *
 *   streamIdmp --- producers: name -> streamProducer --- sent: name -> streamSent
 *             \                                     \--- list: first ... last
 *              \-- list: first ... last of all producers
 *
 * A stream for which no producer was named has none of this. Entries are remembered for some seconds, and some of each
 * producer. They are forgotten when another one is remembered, so a stream that is no longer written keeps its last
 * ones.
 *
 * Not here    the commands (stream_idmp.c), RDB (value_stream_rdb.c).
 * Owns        nothing: a streamIdmp belongs to its stream.
 * Threads     as object.c.
 * Invariants  1. Each streamSent is in both lists and in its producer's tree; `count` is their number.
 *             2. No producer is without an entry.
 * Cost        one allocation an entry and its part of a tree. Lookups in two trees for each XADD that names a producer.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_stream_idmp.h"

#include "endian.h"
#include "hash.h"
#include "object_settings.h"
#include "panic.h"
#include "sds.h"
#include "zmalloc.h"

#include <stdlib.h>

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void append(streamSentList *list, streamSent *sent, int which) {
    sent->prev[which] = list->last;
    sent->next[which] = NULL;
    if (list->last) list->last->next[which] = sent;
    else list->first = sent;
    list->last = sent;
}

static void unlinkFrom(streamSentList *list, streamSent *sent, int which) {
    if (sent->prev[which]) sent->prev[which]->next[which] = sent->next[which];
    else list->first = sent->next[which];
    if (sent->next[which]) sent->next[which]->prev[which] = sent->prev[which];
    else list->last = sent->prev[which];
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static streamIdmp *create(uint64_t duration_s, uint64_t max_entries) {
    streamIdmp *m = zmalloc(sizeof(*m));
    *m = (streamIdmp){.duration_s = duration_s, .max_entries = max_entries, .producers = raxCreate()};
    return m;
}

/* Returns what the stream remembers; begins, with the settings' limits, if it has not remembered anything yet. */
static streamIdmp *idmpOf(stream *s) {
    if (!s->idmp)
        s->idmp = create((uint64_t)object_settings.stream_idmp_duration, (uint64_t)object_settings.stream_idmp_maxsize);
    return s->idmp;
}

static void freeProducer(void *producer) {
    streamProducer *p = producer;
    raxRelease(p->sent, zfree);
    zfree(p);
}

void streamIdmpFree(streamIdmp *m) {
    if (!m) return;
    raxRelease(m->producers, freeProducer);
    zfree(m);
}

void streamIdmpConfigure(stream *s, uint64_t duration_s, uint64_t max_entries) {
    streamIdmp *m = idmpOf(s);
    raxEmpty(m->producers, freeProducer);
    m->list = (streamSentList){NULL, NULL};
    m->count = 0;
    m->duration_s = duration_s;
    m->max_entries = max_entries;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static streamProducer *producerOf(const streamIdmp *m, slice name) {
    void *p;
    return raxFind(m->producers, name, &p) ? p : NULL;
}

static streamSent *sentOf(const streamProducer *p, slice name) {
    void *sent;
    return p && raxFind(p->sent, name, &sent) ? sent : NULL;
}

const streamSent *streamSentFind(const stream *s, slice producer, slice name) {
    return s->idmp ? sentOf(producerOf(s->idmp, producer), name) : NULL;
}

static void forget(streamIdmp *m, streamSent *sent) {
    streamProducer *p = sent->producer;
    unlinkFrom(&m->list, sent, SENT_OF_STREAM);
    unlinkFrom(&p->list, sent, SENT_OF_PRODUCER);
    raxRemove(p->sent, streamSentName(sent), NULL);
    zfree(sent);
    m->count--;
    if (raxSize(p->sent)) return;
    raxRemove(m->producers, streamProducerName(p), NULL);
    freeProducer(p);
}

/* Returns NULL if there is no memory. */
static streamProducer *producerCreate(streamIdmp *m, slice name) {
    streamProducer *p = ztrymalloc(sizeof(*p) + name.len);
    if (!p) return NULL;
    *p = (streamProducer){.name_len = name.len};
    if (name.len) memcpy(p->name, name.ptr, name.len);
    if (raxTryInsert(m->producers, name, p, NULL) != RAX_ADDED) {
        zfree(p);
        return NULL;
    }
    p->sent = raxCreate();
    return p;
}

bool streamSentAdd(stream *s, slice producer, slice name, streamId id) {
    streamIdmp *m = idmpOf(s);
    streamSent *sent = ztrymalloc(sizeof(*sent) + name.len), *old;
    if (!sent) return false;
    streamProducer *p = producerOf(m, producer);
    bool is_new = !p;
    if (is_new && !(p = producerCreate(m, producer))) {
        zfree(sent);
        return false;
    }
    *sent = (streamSent){.producer = p, .id = id, .name_len = name.len};
    if (name.len) memcpy(sent->name, name.ptr, name.len);
    if ((old = sentOf(p, name))) {
        unlinkFrom(&m->list, old, SENT_OF_STREAM);
        unlinkFrom(&p->list, old, SENT_OF_PRODUCER);
        raxInsert(p->sent, name, sent, NULL);
        zfree(old);
        m->count--;
    } else if (raxTryInsert(p->sent, name, sent, NULL) != RAX_ADDED) {
        zfree(sent);
        if (is_new) {
            raxRemove(m->producers, producer, NULL);
            freeProducer(p);
        }
        return false;
    }
    append(&m->list, sent, SENT_OF_STREAM);
    append(&p->list, sent, SENT_OF_PRODUCER);
    m->count++;
    m->added++;
    while (raxSize(p->sent) > m->max_entries) forget(m, p->list.first);
    return true;
}

void streamSentDuplicate(stream *s) { idmpOf(s)->duplicates++; }

/* ---- Expiry ------------------------------------------------------------------------------------------------------ */

bool streamSentIsExpired(const streamIdmp *m, const streamSent *sent, int64_t now_ms) {
    uint64_t now = (uint64_t)now_ms;
    return now > sent->id.ms && now - sent->id.ms > m->duration_s * 1000;
}

#define EXPIRE_MAX 64 /* of one call, so that an XADD after a long silence takes no longer than others */

void streamSentExpire(stream *s, int64_t now_ms) {
    streamIdmp *m = s->idmp;
    for (int n = 0; n < EXPIRE_MAX && m && m->list.first; n++) {
        if (!streamSentIsExpired(m, m->list.first, now_ms)) return;
        forget(m, m->list.first);
    }
}

void streamSentCount(const streamIdmp *m, int64_t now_ms, uint64_t *producers, uint64_t *entries) {
    raxIterator it;
    *producers = 0;
    *entries = m->count;
    for (bool on = raxIterFirst(&it, m->producers); on; on = raxIterNext(&it)) {
        const streamProducer *p = raxIterValue(&it);
        const streamSent *sent = p->list.first;
        for (; sent && streamSentIsExpired(m, sent, now_ms); sent = sent->next[SENT_OF_PRODUCER]) --*entries;
        *producers += sent != NULL;
    }
    raxIterEnd(&it);
}

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

static int byId(const void *a, const void *b) {
    return streamIdCmp((*(streamSent *const *)a)->id, (*(streamSent *const *)b)->id);
}

static void sortById(streamIdmp *m) {
    streamSent **all = zmalloc(m->count * sizeof(*all));
    size_t n = 0;
    for (streamSent *sent = m->list.first; sent; sent = sent->next[SENT_OF_STREAM]) all[n++] = sent;
    qsort(all, n, sizeof(*all), byId);
    m->list = (streamSentList){NULL, NULL};
    for (size_t i = 0; i < n; i++) append(&m->list, all[i], SENT_OF_STREAM);
    zfree(all);
}

void streamIdmpLoaded(stream *s, uint64_t added, uint64_t duplicates) {
    streamIdmp *m = idmpOf(s);
    m->added = added;
    m->duplicates = duplicates;
    if (m->count) sortById(m);
    bool as_set = m->duration_s == (uint64_t)object_settings.stream_idmp_duration &&
                  m->max_entries == (uint64_t)object_settings.stream_idmp_maxsize;
    if (!as_set || m->count || added || duplicates) return;
    streamIdmpFree(m);
    s->idmp = NULL;
}

/* ---- Names that are computed ------------------------------------------------------------------------------------- */

static unsigned digitOf(char c) { return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10); }

/* Adds the digest of one field and its value, each with its length, to the sum. The order of fields is without effect,
 * and a message of any sender cannot be made to look like another one, as it could by a digest that is not of
 * cryptography. */
bool streamSentNameOf(const slice *pairs, size_t count, uint8_t name[STREAM_IDMP_HASH_BYTES]) {
    uint64_t sum[2] = {0, 0};
    char hex[65];
    for (size_t i = 0; i < count; i += 2) {
        size_t bytes = 16 + pairs[i].len + pairs[i + 1].len;
        char *text = ztrymalloc(bytes);
        if (!text) return false;
        storeLe64(text, pairs[i].len);
        storeLe64(text + 8, pairs[i + 1].len);
        if (pairs[i].len) memcpy(text + 16, pairs[i].ptr, pairs[i].len);
        if (pairs[i + 1].len) memcpy(text + 16 + pairs[i].len, pairs[i + 1].ptr, pairs[i + 1].len);
        sha256Hex(hex, text, bytes);
        zfree(text);
        for (int half = 0; half < 2; half++) {
            uint64_t part = 0;
            for (int digit = 0; digit < 16; digit++) part = part << 4 | digitOf(hex[half * 16 + digit]);
            sum[half] += part;
        }
    }
    storeLe64(name, sum[0]);
    storeLe64(name + 8, sum[1]);
    return true;
}

/* ---- Operations of the type -------------------------------------------------------------------------------------- */

static void dupProducer(stream *copy, const streamProducer *p) {
    for (const streamSent *sent = p->list.first; sent; sent = sent->next[SENT_OF_PRODUCER])
        serverAssert(streamSentAdd(copy, streamProducerName(p), streamSentName(sent), sent->id));
}

streamIdmp *streamIdmpDup(const streamIdmp *m) {
    if (!m) return NULL;
    streamIdmp *copy = create(m->duration_s, m->max_entries);
    stream s = {.idmp = copy};
    raxIterator it;
    for (bool on = raxIterFirst(&it, m->producers); on; on = raxIterNext(&it)) dupProducer(&s, raxIterValue(&it));
    raxIterEnd(&it);
    copy->list = (streamSentList){NULL, NULL};
    for (const streamSent *sent = m->list.first; sent; sent = sent->next[SENT_OF_STREAM])
        append(&copy->list, sentOf(producerOf(copy, streamProducerName(sent->producer)), streamSentName(sent)),
               SENT_OF_STREAM);
    copy->added = m->added;
    copy->duplicates = m->duplicates;
    return copy;
}

size_t streamIdmpBytes(const streamIdmp *m) {
    if (!m) return 0;
    size_t bytes = zmallocSize(m) + raxMemUsage(m->producers);
    raxIterator it;
    for (bool on = raxIterFirst(&it, m->producers); on; on = raxIterNext(&it)) {
        const streamProducer *p = raxIterValue(&it);
        bytes += zmallocSize(p) + raxMemUsage(p->sent);
    }
    raxIterEnd(&it);
    for (const streamSent *sent = m->list.first; sent; sent = sent->next[SENT_OF_STREAM]) bytes += zmallocSize(sent);
    return bytes;
}

size_t streamIdmpFreeEffort(const streamIdmp *m) { return m ? 1 + m->count + raxSize(m->producers) : 0; }

void streamIdmpCheck(const streamIdmp *m) {
    if (!m) return;
    size_t count = 0, of_producers = 0;
    raxIterator it;
    for (const streamSent *sent = m->list.first; sent; sent = sent->next[SENT_OF_STREAM], count++)
        serverAssert(sentOf(producerOf(m, streamProducerName(sent->producer)), streamSentName(sent)) == sent);
    for (bool on = raxIterFirst(&it, m->producers); on; on = raxIterNext(&it)) {
        const streamProducer *p = raxIterValue(&it);
        size_t sent_by = 0;
        for (const streamSent *sent = p->list.first; sent; sent = sent->next[SENT_OF_PRODUCER]) sent_by++;
        serverAssert(sent_by == raxSize(p->sent) && sent_by > 0);
        of_producers += sent_by;
    }
    raxIterEnd(&it);
    serverAssert(count == m->count && of_producers == count);
}
