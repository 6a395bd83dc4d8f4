/* rdb_decode.h -- keys of a piece of a snapshot as entries that can go into the keyspace.
 *
 * Runs on: any thread; what it makes belongs to the arena of the calling thread and to the owner that commands make
 * things for (object.h), which must not change meanwhile.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_DECODE_H
#define PERSIST_RDB_DECODE_H

#include "db.h"
#include "rdb_scan.h"

typedef struct rdbDecodeOptions {
    int64_t drop_before_ms; /* keys and fields whose time is before it are left out; INT64_MIN: none */
    bool lfu;               /* of idle and frequency the second counts */
} rdbDecodeOptions;

/* An item that main has to look at: none that is a key, or a key with nothing in it. */
typedef struct rdbMark {
    size_t item, keys; /* its number in the piece; keys that stand before it */
} rdbMark;

/* Zeros at first; used again for each piece. */
typedef struct rdbDecoded {
    loadedKey *keys; /* owns, and the entries of those from `taken` on */
    size_t count, taken, capacity;
    rdbMark *marks; /* owns */
    size_t mark_count, marks_capacity;
    long long expired, fields_expired; /* keys left out: by their own time, by those of all their fields */
    rdbFault fault;                    /* behind the keys; owns its key */
} rdbDecoded;

/* Decode all of a piece, in its order, up to a fault. `fresh` are the LRU bits of what has just been used. */
void rdbDecode(const rdbPiece *piece, const rdbDecodeOptions *options, uint32_t fresh, rdbDecoded *out);
/* Free entries that nobody has taken; the rest is kept for the next piece. */
void rdbDecodedReset(rdbDecoded *d);
void rdbDecodedFree(rdbDecoded *d);

/* Name the item as the place of a fault. */
void rdbFaultAt(rdbFault *f, rdbFaultKind kind, const rdbPiece *piece, const rdbItem *item);

#endif
