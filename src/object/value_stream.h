/* value_stream.h -- the stream type: a log of entries by ID, and groups of consumers that read it.
 *
 * Everything here works on a stream without a client: t_stream*.c has the commands. Groups and pending entries are
 * value_stream_groups.h.
 *
 * Runs on: main; what takes a const stream reads only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_H
#define OBJECT_VALUE_STREAM_H

#include "listpack.h"
#include "object.h"
#include "rax_iterator.h"

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
static inline bool streamIdIsZero(streamId id) {
    return id.ms == 0 && id.seq == 0;
}
/* The ID behind, or before, this one; false when it is the last, or the first. */
bool streamIdNext(streamId *id) must_check;
bool streamIdPrev(streamId *id) must_check;
/* "ms-seq" in `buf`. */
slice streamIdText(streamId id, char buf[STREAM_ID_TEXT_SIZE]);
/* In the order of sliceCmp(): the keys of nodes, and what RDB holds. */
void streamIdToBytes(streamId id, uint8_t out[STREAM_ID_BYTES]);
streamId streamIdFromBytes(const uint8_t in[STREAM_ID_BYTES]);

/* ---- The log ---- */

/* Readers may look at the fields; who changes them is value_stream*.c. */
typedef struct stream {
    uint8_t *tail;     /* owns: the node at the end, NULL: no entries */
    streamId tail_key; /* its first ID */
    streamId last_id;  /* of the last entry there ever was, or what XSETID said */
    uint64_t length, entries_added;
    streamId first_id; /* of the first entry; 0-0: none */
    streamId max_deleted_id;
    rax *nodes;          /* owns: the nodes before the tail by first ID; NULL: there were none yet */
    rax *groups;         /* owns: streamGroup by name; NULL: there were none yet */
    uint64_t tree_nodes; /* of the tree that XINFO describes, for the keys in `nodes` (value_stream_shape.c) */
} stream;

stream *streamCreate(void);
void streamFree(stream *s);
stream *streamDup(const stream *s);

/* Bytes of fields and values of one entry that a node may hold. */
#define STREAM_ENTRY_BYTES_MAX LISTPACK_BYTES_MAX

/* Append `count` / 2 fields and values, which stand in turns in `pairs`. The ID is above last_id. False: no memory, or
 * more than a node can hold; nothing has changed. */
bool streamAppend(stream *s, streamId id, const slice *pairs, size_t count) must_check;
/* What streamAppend() may allocate for an entry of so many bytes. */
size_t streamAppendNeeds(const stream *s, size_t bytes, size_t count);
/* False: there is no such entry. */
bool streamDelete(stream *s, streamId id);
/* The last entry; 0-0 when there is none. */
streamId streamLastEntry(const stream *s);

typedef enum { STREAM_TRIM_NONE, STREAM_TRIM_MAXLEN, STREAM_TRIM_MINID } streamTrimKind;
typedef struct streamTrimSpec {
    streamTrimKind kind;
    bool approximate; /* whole nodes only */
    uint64_t maxlen;
    streamId minid;
    uint64_t limit; /* entries at most; 0: no limit. Only with approximate */
} streamTrimSpec;
/* Drop entries from the front; how many have gone. */
uint64_t streamTrim(stream *s, const streamTrimSpec *spec);

/* XSETID; the caller has checked the values against what is there. */
void streamSetId(stream *s, streamId last, const uint64_t *entries_added, const streamId *max_deleted);

/* ---- Reading ---- */

/* Entries from start to end, both included, either way. The stream must not change meanwhile. */
typedef struct streamIterator {
    const stream *s;
    streamId start, end;
    bool backward;
    bool in_tail, walking; /* walking: `nodes` has been begun */
    bool bare;             /* the node */
    uint8_t *copy;         /* owns: the node, where it had to be made a listpack to be walked backwards */
    /* the node */
    streamId key;
    const uint8_t *lp, *fields, *entries; /* fields: the master's; entries: the first */
    size_t field_count;
    const uint8_t *next; /* entry to look at; NULL: none in this node */
    /* the entry */
    const uint8_t *at, *field_at, *value_at;
    bool same_fields;
    size_t left;
    raxIterator nodes;
} streamIterator;

void streamIterBegin(streamIterator *it, const stream *s, streamId start, streamId end, bool backward);
/* False behind the last. `fields`: how many fields the entry has. */
bool streamIterNext(streamIterator *it, streamId *id, size_t *fields);
/* A field and its value, in order, as often as the entry has fields. They lie in the stream, or in the buffers. */
void streamIterField(streamIterator *it, slice *field, slice *value, char field_buf[LONG_STR_SIZE],
                     char value_buf[LONG_STR_SIZE]);
void streamIterEnd(streamIterator *it);

/* Looks entries up by ID, from streamFindBegin() on and without an end. An ID above the one before is looked for from
 * where that was found, so entries that follow each other cost a step each; any other is looked for from the start of
 * its node. Returns false if there is no such entry; else its fields can be read by streamIterField(). The stream must
 * not change meanwhile. */
void streamFindBegin(streamIterator *it, const stream *s);
bool streamFind(streamIterator *it, streamId id, size_t *fields);

/* ---- What XINFO shows ---- */
size_t streamNodeCount(const stream *s);
/* Nodes of a tree of the kind that clients know, over the same keys. */
uint64_t streamTreeNodes(const stream *s);

extern const objectTypeOps stream_type_ops;

#endif
