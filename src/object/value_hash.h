/* value_hash.h -- hashes: fields with values, some of which may have a TTL.
 *
 * An expired field (object_expire_cutoff_ms) stays in the hash until a write overwrites it or objectExpireElements()
 * removes it. hashLength() counts it; readers skip it (hashTimeExpired()).
 *
 * The hash of a field is that of dictHash(); it is ignored if hashNeedsHashes() is false.
 *
 * Runs on: main; functions that take a const robj change nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_HASH_H
#define OBJECT_VALUE_HASH_H

#include "dict.h"
#include "hash_field.h"
#include "object.h"

extern const objectTypeOps hash_type_ops;

#define HASH_KEEP_TIME ((int64_t)-2) /* for hashSet(): keep the field's present time */

/* Returns whether a field with this expiry is expired. */
static inline bool hashTimeExpired(int64_t when_ms) {
    return unlikely(when_ms != HASH_NO_TIME) && when_ms < object_expire_cutoff_ms;
}

robj *hashCreate(slice key);      /* an empty hash; add fields before it becomes visible to clients */
size_t hashLength(const robj *o); /* expired fields included */
bool hashHasTtls(const robj *o);  /* whether some field has a TTL */
/* Returns whether functions that take the hash of a field use it. */
static inline bool hashNeedsHashes(const robj *o) { return o->encoding == OBJ_ENC_HASHTABLE; }

typedef struct hashPair {
    slice name, value; /* borrowed: from the hash, or from this struct */
    robj *object;      /* borrowed: the string object that is the value (hashFieldObject), or NULL */
    int64_t when_ms;   /* expiry in milliseconds since 1970, or HASH_NO_TIME */
    char name_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
} hashPair;

/* Reads all before it writes anything, since to the compiler a field's bytes may alias `out`. */
static inline void hashPairOfField(hashPair *out, const hashField *f) {
    slice name = hashFieldName(f), value = hashFieldValue(f);
    robj *object = hashFieldObject(f);
    int64_t when_ms = hashFieldTime(f);
    out->name = name;
    out->value = value;
    out->object = object;
    out->when_ms = when_ms;
}

/* Finds a field; sets its value and time. Returns false if it is absent or expired. */
bool hashFind(const robj *o, slice field, uint64_t hash, hashPair *out);

/* The position of a field, for commands that read a field before they set it: hashFindSpot() sets it, hashSetAt() uses
 * it. Valid until the hash changes. */
typedef struct hashSpot {
    int encoding;         /* of the hash at that time; HASH_NO_SPOT: no search was made */
    const uint8_t *value; /* in a listpack; NULL: absent */
    void **field;         /* in a table, even if expired; NULL: absent */
} hashSpot;
#define HASH_NO_SPOT (-1)
/* Like hashFind(), and sets *spot. */
bool hashFindSpot(robj *o, slice field, uint64_t hash, hashPair *out, hashSpot *spot);

/* Prepares for adding `pairs` fields (0: unknown) whose longest part has `longest` bytes. */
void hashPrepare(robj *o, size_t pairs, size_t longest);
/* Returns the bytes that hashSet() may allocate for a new field, for commandMemoryReserve(). */
size_t hashSetBytes(slice field, slice value);
/* HASH_REPLACED_EXPIRED: the replaced field was expired. */
typedef enum { HASH_ADDED, HASH_REPLACED, HASH_REPLACED_EXPIRED } hashSetResult;
/* Sets a field to a copy of `value`, with that expiry, HASH_NO_TIME or HASH_KEEP_TIME. */
hashSetResult hashSet(robj *o, slice field, uint64_t hash, slice value, int64_t when_ms);
/* Like hashSet(), at a known position; searches again if the hash has become a table since. */
hashSetResult hashSetAt(robj *o, const hashSpot *spot, slice field, uint64_t hash, slice value, int64_t when_ms);
/* Like hashSet(), for a hash with a table: takes ownership of `value`, a RAW string without a key of at least
 * HASH_VALUE_OBJECT bytes. */
hashSetResult hashSetObjectTake(robj *o, slice field, uint64_t hash, robj *value, int64_t when_ms);
/* Removes a field, expired or not. Returns false if it is absent. */
bool hashDelete(robj *o, slice field, uint64_t hash);
/* Sets the time of a field, which must be present. */
void hashSetTime(robj *o, slice field, uint64_t hash, int64_t when_ms);

/* A walk over all fields, including expired ones. The hash must not change meanwhile. */
#define HASH_ITER_AHEAD 16
typedef struct hashIter {
    const uint8_t *at; /* of a listpack: the next field */
    dictIterator fields;
    const hashField *ahead[HASH_ITER_AHEAD]; /* of a table: prefetched fields */
    unsigned next, count;
    bool table, begun;
    hashPair pair;
} hashIter;
void hashIterBegin(hashIter *it, const robj *o);
const hashPair *hashIterNext(hashIter *it); /* valid until the next call; NULL at the end */
void hashIterEnd(hashIter *it);

/* Finds a random field that is not expired. Returns false if there is none. */
bool hashRandom(const robj *o, hashPair *out);

/* Returns the table of fields (hashField), NULL for a listpack. */
const dict *hashTable(const robj *o);

#endif
