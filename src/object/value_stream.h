/* value_stream.h -- the stream type: a log of entries by ID, and groups of consumers that read it.
 *
 * Functions here work on a stream without a client: t_stream*.c has the commands. Groups and pending entries are
 * value_stream_groups.h.
 *
 * Runs on: main; functions that take a const stream change nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_H
#define OBJECT_VALUE_STREAM_H

#include "listpack.h"
#include "object.h"
#include "rax.h"

/* ---- IDs ---- */

typedef struct streamId {
    uint64_t ms, seq;
} streamId;

#define STREAM_ID_MIN ((streamId){0, 0})
#define STREAM_ID_MAX ((streamId){UINT64_MAX, UINT64_MAX})
#define STREAM_ID_TEXT_SIZE 44 /* of "ms-seq", without NUL */
#define STREAM_ID_BYTES 16

static inline int streamIdCmp(streamId a, streamId b) {
    if (a.ms != b.ms) return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}
static inline bool streamIdIsZero(streamId id) { return id.ms == 0 && id.seq == 0; }
/* Change the ID to the next, or the previous, one. Return false if it is the last, or the first. */
bool streamIdNext(streamId *id) must_check;
bool streamIdPrev(streamId *id) must_check;
/* Writes "ms-seq" to `buf` and returns it. */
slice streamIdText(streamId id, char buf[STREAM_ID_TEXT_SIZE]);
/* Convert to and from STREAM_ID_BYTES bytes that sort like IDs: the keys of nodes, and the RDB format. The first writes
 * them to `buf` and returns them. */
slice streamIdBytes(streamId id, uint8_t buf[STREAM_ID_BYTES]);
streamId streamIdFromBytes(const void *bytes);

/* ---- The log ---- */

/* Other code may read the fields; only value_stream*.c changes them. */
typedef struct stream {
    uint8_t *tail;     /* owned: the last node, NULL: no entries */
    streamId tail_key; /* ID of its key */
    streamId last_id;  /* of the last entry ever added, or as set by XSETID */
    uint64_t length, entries_added;
    streamId first_id; /* of the first entry; 0-0: none */
    streamId max_deleted_id;
    rax *nodes;          /* owned: the nodes before the tail by first ID; NULL: there were none yet */
    rax *groups;         /* owned: streamGroup by name; NULL: there were none yet */
    uint64_t tree_nodes; /* nodes of the tree that XINFO describes, for the keys in `nodes` (value_stream_shape.c) */
    struct streamIdmp *idmp; /* owned: what producers have sent (value_stream_idmp.h); NULL: no producer was named */
} stream;

stream *streamCreate(void);         /* empty */
void streamFree(stream *s);         /* with its groups */
stream *streamDup(const stream *s); /* a deep copy, with its groups */

/* Maximum of bytes of fields and values of one entry. */
#define STREAM_ENTRY_BYTES_MAX LISTPACK_BYTES_MAX

/* Appends an entry of `count` / 2 fields and values, which alternate in `pairs`. The ID must be above last_id. Returns
 * false if there is no memory, or it is too large for a node; nothing has changed. */
bool streamAppend(stream *s, streamId id, const slice *pairs, size_t count) must_check;
/* Returns the bytes that streamAppend() may allocate for an entry of that size. */
size_t streamAppendNeeds(const stream *s, size_t bytes, size_t count);
/* Deletes an entry. Returns false if it is absent. */
bool streamDelete(stream *s, streamId id);
/* Returns the ID of the last entry, 0-0 if there is none. */
streamId streamLastEntry(const stream *s);

typedef enum { STREAM_TRIM_NONE, STREAM_TRIM_MAXLEN, STREAM_TRIM_MINID } streamTrimKind;
typedef struct streamTrimSpec {
    streamTrimKind kind;
    bool approximate; /* whole nodes only */
    uint64_t maxlen;
    streamId minid;
    uint64_t limit; /* most entries to delete; 0: no limit. Only with approximate */
} streamTrimSpec;
/* Deletes entries from the front. Returns their number. */
uint64_t streamTrim(stream *s, const streamTrimSpec *spec);

/* Sets the values of XSETID, which the caller has validated. */
void streamSetId(stream *s, streamId last, const uint64_t *entries_added, const streamId *max_deleted);

/* ---- Reading ---- */

/* A walk over entries from start to end, both included, in either direction. The stream must not change meanwhile. */
typedef struct streamIterator {
    const stream *s;
    streamId start, end;
    bool backward;
    bool in_tail, walking; /* walking: the iterator `nodes` is in use */
    bool bare;             /* the current node */
    uint8_t *copy;         /* owned: the node as a listpack, if it had to be converted for a backward walk */
    /* the current node */
    streamId key;
    const uint8_t *lp, *fields, *entries; /* fields: the master's; entries: the first entry */
    size_t field_count;
    const uint8_t *next; /* the next entry; NULL: none in this node */
    /* the current entry */
    const uint8_t *at, *field_at, *value_at;
    bool same_fields;
    size_t left;
    raxIterator nodes;
} streamIterator;

/* Begins a walk from `start` to `end` or, if `backward`, from `end` to `start`. */
void streamIterBegin(streamIterator *it, const stream *s, streamId start, streamId end, bool backward);
/* Moves to the next entry. Returns false at the end. *fields becomes the number of its fields. */
bool streamIterNext(streamIterator *it, streamId *id, size_t *fields);
/* Reads the next field and value of the current entry; call at most as often as it has fields. They are in the stream,
 * or in the buffers. */
void streamIterField(streamIterator *it, slice *field, slice *value, char field_buf[LONG_STR_SIZE],
                     char value_buf[LONG_STR_SIZE]);
void streamIterEnd(streamIterator *it);

/* Looks up entries by ID, after streamFindBegin(); there is no end to call. An ID above the previous one is searched
 * from there, so consecutive entries cost one step each; any other is searched from the start of its node. Returns
 * false if the entry is absent; otherwise streamIterField() reads its fields. The stream must not change meanwhile. */
void streamFindBegin(streamIterator *it, const stream *s);
bool streamFind(streamIterator *it, streamId id, size_t *fields);

/* ---- Figures for XINFO ---- */
size_t streamNodeCount(const stream *s);
/* Returns the number of nodes of Valkey's kind of tree over the same keys. */
uint64_t streamTreeNodes(const stream *s);

extern const objectTypeOps stream_type_ops;

#endif
