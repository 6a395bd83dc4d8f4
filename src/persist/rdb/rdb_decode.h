/* rdb_decode.h -- decodes the keys of a piece of a snapshot into entries for the keyspace, and reads AUX fields.
 *
 * Runs on: any thread. The entries belong to the arena of the calling thread; their owner is object_main_owner
 * (object.h), which must not change meanwhile.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_DECODE_H
#define PERSIST_RDB_DECODE_H

#include "db.h"
#include "rdb_scan.h"

typedef struct rdbDecodeOptions {
    int64_t drop_before_ms; /* keys and fields that expired before it are left out; INT64_MIN: none */
    bool lfu;               /* take the frequency of a key, not its idle time */
    bool leave_out;         /* in files of Redis 7.4 and later, mark values of modules; otherwise they are faults */
} rdbDecodeOptions;

/* An item that main has to handle: not a key, or a key with an empty value, or one that is left out. */
typedef struct rdbMark {
    size_t item, keys; /* its index in the piece; decoded keys before it */
} rdbMark;

/* Zero it before its first use; it is used again for each piece. */
typedef struct rdbDecoded {
    loadedKey *keys; /* owns; also the entries from `taken` on */
    size_t count, taken, capacity;
    rdbMark *marks; /* owns */
    size_t mark_count, marks_capacity;
    long long expired, fields_expired; /* keys left out because they, or all of their fields, expired */
    rdbFault fault;                    /* met after the decoded keys; owns its key */
} rdbDecoded;

/* Decodes a piece in order, up to a fault. `fresh` are the LRU bits of a key that was used just now. */
void rdbDecode(const rdbPiece *piece, const rdbDecodeOptions *options, uint32_t fresh, rdbDecoded *out);
/* Frees entries that were not taken; keeps the arrays for the next piece. */
void rdbDecodedReset(rdbDecoded *d);
void rdbDecodedFree(rdbDecoded *d);

/* Fills in the fault: its kind, and the item as its location. */
void rdbFaultAt(rdbFault *f, rdbFaultKind kind, const rdbPiece *piece, const rdbItem *item);

/* An AUX field of a snapshot: metadata of the file. */
typedef struct rdbAux {
    sds name, value; /* owns */
} rdbAux;

/* Reads the field of an RDB_ITEM_AUX. Returns false, with nothing to free, if a string is malformed. */
bool rdbAuxRead(const rdbPiece *piece, const rdbItem *item, rdbAux *out) must_check;
void rdbAuxFree(rdbAux *f);
/* Parses the value of a field slot-info: the keys that follow for a slot. Returns false if it is malformed. */
bool rdbSlotInfoRead(const char *text, uint64_t *slot, uint64_t *keys) must_check;
/* Returns false if the loader relies on the field (slot-info) and its value is malformed. */
bool rdbAuxIsGood(const rdbAux *f);

#endif
