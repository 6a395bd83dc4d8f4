/* value_stream_idmp.h -- what producers have sent to a stream, so that an entry which is sent twice is added once
 * (XADD with IDMP or IDMPAUTO).
 *
 * Runs on: main; functions that take a const stream change nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_IDMP_H
#define OBJECT_VALUE_STREAM_IDMP_H

#include "value_stream.h"

#define STREAM_IDMP_DURATION_MAX 86400 /* seconds */
#define STREAM_IDMP_ENTRIES_MAX 10000
#define STREAM_IDMP_HASH_BYTES 16

typedef struct streamProducer streamProducer;

/* An entry that a producer has sent. */
typedef struct streamSent {
    struct streamSent *next[2], *prev[2]; /* in the order of arrival: of the stream, and of the producer */
    streamProducer *producer;             /* borrowed */
    streamId id;
    size_t name_len;
    char name[]; /* by which the producer recognizes the entry */
} streamSent;

enum { SENT_OF_STREAM, SENT_OF_PRODUCER };

typedef struct streamSentList {
    streamSent *first, *last;
} streamSentList;

struct streamProducer {
    rax *sent; /* owned: streamSent by name */
    streamSentList list;
    size_t name_len;
    char name[];
};

/* Other code may read the fields; only value_stream_idmp.c changes them. */
typedef struct streamIdmp {
    uint64_t duration_s;        /* for which an entry is remembered after its ID's time */
    uint64_t max_entries;       /* of one producer that are remembered */
    uint64_t added, duplicates; /* since the stream was created */
    size_t count;               /* entries that are remembered */
    rax *producers;             /* owned: streamProducer by name; none is without entries */
    streamSentList list;
} streamIdmp;

/* Sets the limits. Forgets all entries. */
void streamIdmpConfigure(stream *s, uint64_t duration_s, uint64_t max_entries);

/* Returns the entry that this producer has sent by this name; NULL if it is not remembered. It may have expired. */
const streamSent *streamSentFind(const stream *s, slice producer, slice name);
/* Remembers an entry, in place of another one by the same name. The oldest entry of a producer with too many is
 * forgotten. Returns false if there is no memory; nothing has changed. */
bool streamSentAdd(stream *s, slice producer, slice name, streamId id) must_check;
/* Forgets some entries that have expired, as far as these are the first that have arrived. */
void streamSentExpire(stream *s, int64_t now_ms);
bool streamSentIsExpired(const streamIdmp *m, const streamSent *sent, int64_t now_ms);
/* Counts what has not expired. */
void streamSentCount(const streamIdmp *m, int64_t now_ms, uint64_t *producers, uint64_t *entries);
/* Call after the last entry that was read from RDB, which has them by producer: sorts them by their IDs, and sets the
 * counters. Ends remembering if there is nothing but the settings' limits. */
void streamIdmpLoaded(stream *s, uint64_t added, uint64_t duplicates);
/* Counts an entry that was sent again. */
void streamSentDuplicate(stream *s);
static inline slice streamSentName(const streamSent *sent) { return sliceOf(sent->name, sent->name_len); }
static inline slice streamProducerName(const streamProducer *p) { return sliceOf(p->name, p->name_len); }

/* Computes a name for an entry from its fields and values, in any order. Returns false if there is no memory. */
bool streamSentNameOf(const slice *pairs, size_t count, uint8_t name[STREAM_IDMP_HASH_BYTES]) must_check;

/* For the operations of the type; NULL is nothing. */
void streamIdmpFree(streamIdmp *m);
streamIdmp *streamIdmpDup(const streamIdmp *m);
size_t streamIdmpBytes(const streamIdmp *m);
size_t streamIdmpFreeEffort(const streamIdmp *m);
void streamIdmpCheck(const streamIdmp *m); /* asserts the invariants */

#endif
