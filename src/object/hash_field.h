/* hash_field.h -- a field of a hash in a table: name, value and, where it has one, time, in one allocation.
 *
 *   +-----------------+---------+---------+------------+---------------+------+---------+
 *   | [block, length] | T name  | B value | [name len] | [time]        | name | [value] |
 *   +-----------------+---------+---------+------------+---------------+------+---------+
 *    16                1 byte    1 byte    8            6, or 6 and 8
 *                      ^ the field's address
 *
 * Seven bits say how long the name is (127: see the eight bytes), seven how long the value is. T: there is room for a
 * time, of 48 bits, which go to the year 10889; all of them set say that the time is in the eight bytes behind.
 * B: the value, of 128 bytes and more, lies in a block of exactly its bytes, whose address stands before the header,
 * where it is aligned. From 16 KiB on (the seven bits say 1) that address is a string's (object.h), counted and without
 * a key: replies refer to it.
 *
 * Threads     any for reading; main makes and changes, or who alone knows the hash. Who frees a field drops its
 *             reference to the string: objectDropElement() knows how.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_HASH_FIELD_H
#define OBJECT_HASH_FIELD_H

#include "object.h"

#define HASH_NO_TIME ((int64_t)-1)
#define HASH_FIELD_WITHIN 24 /* bytes before the name at most */
#define HASH_FIELD_LONG 127
#define HASH_TIME_LONG (((uint64_t)1 << 48) - 1) /* of six bytes: the time is behind them */
#define HASH_TIME_NONE (HASH_TIME_LONG - 1)      /* room for a time, but none */
#define HASH_VALUE_BLOCK 128                     /* a value of so many bytes has a block of its own */
/* One of so many is a string object. That costs 32 bytes, here 0.2 %, and a line more to look at. What is shorter fits
 * one block of a reply, into which it is copied in less than a microsecond. */
#define HASH_VALUE_OBJECT 16384

#define HASH_IN_OBJECT 1 /* of the value's seven bits, beside B */

typedef unsigned char hashField; /* the first byte of the header */

hashField *hashFieldCreate(slice name, slice value, int64_t when_ms);
/* The same with a RAW string of HASH_VALUE_OBJECT bytes or more, which it takes. */
hashField *hashFieldCreateOfObject(slice name, robj *value, int64_t when_ms);
void hashFieldFree(hashField *f);
/* The field with another value or time: where it was, or at a new place, and then `f` is gone. */
hashField *hashFieldSetTake(hashField *f, slice value, int64_t when_ms);
hashField *hashFieldSetObjectTake(hashField *f, robj *value, int64_t when_ms); /* takes the value as well */
hashField *hashFieldSetTimeTake(hashField *f, int64_t when_ms);
/* Offer its blocks to `move`; where the field is now. */
hashField *hashFieldDefrag(hashField *f, blockMover *move);
void hashFieldCheck(const hashField *f); /* assert what holds of its value */
size_t hashFieldMemUsage(const hashField *f);

/* The six bytes of time of a field that has them. */
static inline uint64_t hashFieldShortTime(const hashField *f) {
    const hashField *at = f + 2 + ((f[0] & 0x7f) == HASH_FIELD_LONG ? 8 : 0);
    uint32_t low;
    uint16_t high;
    memcpy(&low, at, sizeof(low));
    memcpy(&high, at + sizeof(low), sizeof(high));
    return (uint64_t)high << 32 | low;
}

/* Bytes of its room for a time. */
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

static inline int64_t hashFieldTime(const hashField *f) {
    if (likely(!(f[0] & 0x80))) return HASH_NO_TIME;
    uint64_t time = hashFieldShortTime(f);
    if (likely(time < HASH_TIME_NONE)) return (int64_t)time;
    if (time == HASH_TIME_NONE) return HASH_NO_TIME;
    int64_t when_ms;
    memcpy(&when_ms, f + 2 + ((f[0] & 0x7f) == HASH_FIELD_LONG ? 8 : 0) + 6, sizeof(when_ms));
    return when_ms;
}

/* The string that is its value; NULL when the value is none. */
static inline robj *hashFieldObject(const hashField *f) {
    if (likely(f[1] != (0x80 | HASH_IN_OBJECT))) return NULL;
    robj *o;
    memcpy(&o, f - 16, sizeof(o));
    return o;
}

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
