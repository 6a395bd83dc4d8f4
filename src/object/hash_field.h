/* hash_field.h -- a field of a hashtable-encoded hash: name, value and TTL, if it has one, in one allocation.
 *
 *   +-----------------+---------+---------+------------+---------------+------+---------+
 *   | [block, length] | T name  | B value | [name len] | [time]        | name | [value] |
 *   +-----------------+---------+---------+------------+---------------+------+---------+
 *    16                1 byte    1 byte    8            6, or 6 and 8
 *                      ^ the field's address
 *
 * Seven bits are the length of the name (127: see the eight bytes), seven that of the value. T: there is space for an
 * expiry time of 48 bits, enough until the year 10889; if all are set, the time is in the next eight bytes.
 * B: the value, of at least 128 bytes, is in a block of exactly its size, whose address is before the header,
 * where it is aligned. From 16 KiB on (the seven bits are 1) the address is that of a string (object.h),
 * reference-counted and without a key, so that replies can refer to it.
 *
 * Threads     any may read; main creates and changes fields, or a thread that alone knows the hash. Freeing a field
 *             drops its reference to the string by objectDropElement().
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_HASH_FIELD_H
#define OBJECT_HASH_FIELD_H

#include "object.h"

#define HASH_NO_TIME ((int64_t)-1)
#define HASH_FIELD_WITHIN 24 /* most bytes before the name */
#define HASH_FIELD_LONG 127
#define HASH_TIME_LONG (((uint64_t)1 << 48) - 1) /* in the six bytes: the time follows them */
#define HASH_TIME_NONE (HASH_TIME_LONG - 1)      /* there is space for a time, but no time */
#define HASH_VALUE_BLOCK 128                     /* a value of at least this many bytes has a block of its own */
/* A value of at least this many bytes is a string object, which costs 32 bytes, here 0.2 %, and reading one more cache
 * line. Shorter values fit into one block of a reply, to which they are copied in less than a microsecond. */
#define HASH_VALUE_OBJECT 16384

#define HASH_IN_OBJECT 1 /* in the value's seven bits, together with B */

typedef unsigned char hashField; /* the address of the header's first byte */

/* Returns a new field with copies of both; `when_ms` is its expiry, or HASH_NO_TIME. */
hashField *hashFieldCreate(slice name, slice value, int64_t when_ms);
/* Like hashFieldCreate(), with a RAW string of HASH_VALUE_OBJECT bytes or more as the value, which it takes. */
hashField *hashFieldCreateOfObject(slice name, robj *value, int64_t when_ms);
void hashFieldFree(hashField *f); /* with its block, and its reference to an object */
/* Sets value and time of the field and returns its address, which may be new; the old one is then freed. */
hashField *hashFieldSetTake(hashField *f, slice value, int64_t when_ms);
/* Like hashFieldSetTake(), with a RAW string of HASH_VALUE_OBJECT bytes or more as the value. */
hashField *hashFieldSetObjectTake(hashField *f, robj *value, int64_t when_ms); /* takes the value as well */
/* Sets only the expiry. */
hashField *hashFieldSetTimeTake(hashField *f, int64_t when_ms);
/* Offers its blocks to `move` and returns the field's address. */
hashField *hashFieldDefrag(hashField *f, blockMover *move);
void hashFieldCheck(const hashField *f); /* asserts the invariants of its value */
size_t hashFieldMemUsage(const hashField *f);

/* Returns the six bytes of time of a field that has them. */
static inline uint64_t hashFieldShortTime(const hashField *f) {
    const hashField *at = f + 2 + ((f[0] & 0x7f) == HASH_FIELD_LONG ? 8 : 0);
    uint32_t low;
    uint16_t high;
    memcpy(&low, at, sizeof(low));
    memcpy(&high, at + sizeof(low), sizeof(high));
    return (uint64_t)high << 32 | low;
}

/* Returns the bytes reserved for a time. */
static inline size_t hashFieldTimeBytes(const hashField *f) {
    if (likely(!(f[0] & 0x80))) return 0;
    return unlikely(hashFieldShortTime(f) == HASH_TIME_LONG) ? 14 : 6;
}

static inline slice hashFieldName(const hashField *f) {
    unsigned len = f[0] & 0x7f;
    const hashField *at = f + 2 + hashFieldTimeBytes(f);
    if (likely(len != HASH_FIELD_LONG)) return sliceOf(at, len);
    uint64_t long_len;
    memcpy(&long_len, f + 2, sizeof(long_len));
    return sliceOf(at + 8, long_len);
}

/* Returns the expiry in milliseconds since 1970, or HASH_NO_TIME. */
static inline int64_t hashFieldTime(const hashField *f) {
    if (likely(!(f[0] & 0x80))) return HASH_NO_TIME;
    uint64_t time = hashFieldShortTime(f);
    if (likely(time < HASH_TIME_NONE)) return (int64_t)time;
    if (time == HASH_TIME_NONE) return HASH_NO_TIME;
    int64_t when_ms;
    memcpy(&when_ms, f + 2 + ((f[0] & 0x7f) == HASH_FIELD_LONG ? 8 : 0) + 6, sizeof(when_ms));
    return when_ms;
}

/* Returns the string object that is its value; NULL if the value is not an object. */
static inline robj *hashFieldObject(const hashField *f) {
    if (likely(f[1] != (0x80 | HASH_IN_OBJECT))) return NULL;
    robj *o;
    memcpy(&o, f - 16, sizeof(o));
    return o;
}

/* Returns the value, wherever it is: valid until the field changes. */
static inline slice hashFieldValue(const hashField *f) {
    slice name = hashFieldName(f);
    if (likely(!(f[1] & 0x80))) return sliceOf(name.ptr + name.len, f[1]);
    const char *block;
    uint64_t len;
    memcpy(&block, f - 16, sizeof(block));
    memcpy(&len, f - 8, sizeof(len));
    if (unlikely(f[1] & HASH_IN_OBJECT)) return objectRawString((const robj *)(const void *)block);
    return sliceOf(block, len);
}

#endif
