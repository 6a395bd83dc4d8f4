/* value_hash.h -- hashes: fields with values, some of which may have a TTL.
 *
 * An expired field (object_expire_cutoff_ms) stays in the hash until a write overwrites it or objectExpireElements()
 * removes it. hashLength() counts it; readers skip it (hashHidden()).
 *
 * Hashes of fields are dictHash()'s; where hashNeedsHashes() is false they are not looked at.
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

#define HASH_KEEP_TIME ((int64_t)-2) /* for hashSet(): the time that the field has */

static inline bool hashHidden(int64_t when_ms) {
    return unlikely(when_ms != HASH_NO_TIME) && when_ms < object_expire_cutoff_ms;
}

robj *hashCreate(slice key); /* an empty one: whoever makes it fills it, or nobody sees it */
size_t hashLength(const robj *o);
bool hashHasTimes(const robj *o);
static inline bool hashNeedsHashes(const robj *o) {
    return o->encoding == OBJ_ENC_HASHTABLE;
}

typedef struct hashPair {
    slice name, value; /* borrowed: from the hash, or from this struct */
    robj *object;      /* borrowed: the string that is the value (hashFieldObject), or NULL */
    int64_t when_ms;   /* HASH_NO_TIME */
    char name_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
} hashPair;

/* All is read before anything is written: a field's bytes may be anything's to the compiler. */
static inline void hashPairOfField(hashPair *out, const hashField *f) {
    slice name = hashFieldName(f), value = hashFieldValue(f);
    robj *object = hashFieldObject(f);
    int64_t when_ms = hashFieldTime(f);
    out->name = name;
    out->value = value;
    out->object = object;
    out->when_ms = when_ms;
}

/* False when the field is not there, or its time is over. The value and its time are filled in. */
bool hashFind(const robj *o, slice field, uint64_t hash, hashPair *out);

/* The same for a command that looks at a field before it sets it; where it lies, or that it is nowhere, is kept for
 * hashSetAt(), and holds until the hash changes. */
typedef struct hashSpot {
    int encoding;         /* of the hash then; HASH_NO_SPOT: it was not looked for */
    const uint8_t *value; /* in a listpack; NULL: nowhere */
    void **field;         /* in a table, one whose time is over too; NULL: nowhere */
} hashSpot;
#define HASH_NO_SPOT (-1)
bool hashFindSpot(robj *o, slice field, uint64_t hash, hashPair *out, hashSpot *spot);

/* Make ready for `pairs` more (0: as many as there may come) whose longest part has so many bytes. */
void hashPrepare(robj *o, size_t pairs, size_t longest);
/* Bytes that hashSet() will take for a new field, for commandMemoryReserve(). */
size_t hashSetBytes(slice field, slice value);
typedef enum { HASH_ADDED, HASH_REPLACED, HASH_REPLACED_OVER } hashSetResult; /* OVER: one whose time was over */
hashSetResult hashSet(robj *o, slice field, uint64_t hash, slice value, int64_t when_ms);
/* The same at a spot; the field is looked for if the hash has become a table since. */
hashSetResult hashSetAt(robj *o, const hashSpot *spot, slice field, uint64_t hash, slice value, int64_t when_ms);
/* The same in a table with a RAW string without a key, of HASH_VALUE_OBJECT bytes or more, which it takes. */
hashSetResult hashSetObjectTake(robj *o, slice field, uint64_t hash, robj *value, int64_t when_ms);
/* Take a field out, whatever its time. False when it is not there. */
bool hashDelete(robj *o, slice field, uint64_t hash);
/* Give a field that is there another time. */
void hashSetTime(robj *o, slice field, uint64_t hash, int64_t when_ms);

/* All fields, those that are over too. The hash must not change meanwhile. */
#define HASH_ITER_AHEAD 16
typedef struct hashIter {
    const uint8_t *at; /* of a listpack: what comes next */
    dictIterator fields;
    const hashField *ahead[HASH_ITER_AHEAD]; /* of a table: asked for */
    unsigned next, count;
    bool table, begun;
    hashPair pair;
} hashIter;
void hashIterBegin(hashIter *it, const robj *o);
const hashPair *hashIterNext(hashIter *it); /* NULL: the end; the last pair is gone with the next call */
void hashIterEnd(hashIter *it);

/* A random field that is not over; false when there is none. */
bool hashRandom(const robj *o, hashPair *out);

/* The table of fields (hashField), NULL of a listpack. */
const dict *hashTable(const robj *o);

#endif
