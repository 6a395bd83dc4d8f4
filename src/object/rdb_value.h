/* rdb_value.h -- a value as RDB writes it: one byte for its type, then what the type needs.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_VALUE_H
#define OBJECT_RDB_VALUE_H

#include "rdb_string.h"

/* The type's byte. What is written today is not marked; the others are of older servers. */
enum {
    RDB_TYPE_STRING = 0,
    RDB_TYPE_LIST = 1, /* old */
    RDB_TYPE_SET = 2,
    RDB_TYPE_ZSET = 3, /* old: scores as text */
    RDB_TYPE_HASH = 4,
    RDB_TYPE_ZSET_2 = 5,
    RDB_TYPE_MODULE_OLD = 6,    /* nobody reads it */
    RDB_TYPE_MODULE = 7,        /* a module's; nobody's here */
    RDB_TYPE_HASH_ZIPMAP = 9,   /* old */
    RDB_TYPE_LIST_ZIPLIST = 10, /* old */
    RDB_TYPE_SET_INTSET = 11,
    RDB_TYPE_ZSET_ZIPLIST = 12,   /* old */
    RDB_TYPE_HASH_ZIPLIST = 13,   /* old */
    RDB_TYPE_LIST_QUICKLIST = 14, /* old: of ziplists */
    RDB_TYPE_STREAM = 15,         /* old */
    RDB_TYPE_HASH_LISTPACK = 16,
    RDB_TYPE_ZSET_LISTPACK = 17,
    RDB_TYPE_LIST_QUICKLIST_2 = 18,
    RDB_TYPE_STREAM_2 = 19, /* old */
    RDB_TYPE_SET_LISTPACK = 20,
    RDB_TYPE_STREAM_3 = 21,
    RDB_TYPE_HASH_2 = 22, /* with times of fields */
    RDB_TYPES
};

/* What there is to know of a type by its byte. */
typedef struct rdbTypeRow {
    const char *name;   /* in reports; NULL if the byte is no type */
    const char *layout; /* of key and value in a file, in the letters of rdb_scan.c; NULL if it cannot be read */
    objectTypeId type;
} rdbTypeRow;
extern const rdbTypeRow rdb_types[RDB_TYPES];

#define RDB_VERSION 80     /* of what is written */
#define RDB_VERSION_OLD 11 /* the newest that servers before read: all but hashes whose fields have times */
/* Versions of others that went their own way after 11: their strings may be read, but nobody vouches for it. */
#define RDB_VERSION_FOREIGN_MIN 12
#define RDB_VERSION_FOREIGN_MAX 79

/* Whether a payload of this version is accepted; `relaxed` takes every version there can be. */
bool rdbVersionIsReadable(unsigned version, bool relaxed);

/* The type's byte of an object as it is now, and the value that follows it (in a file the key lies between them). */
uint8_t rdbTypeOf(const robj *o);
void rdbWriteValue(rdbWriter *w, const robj *o);
/* Type and value as bytes of their own. */
sds rdbValueBytes(const robj *o, bool compress);
/* An entry for `key` from type and value; NULL when the type is unknown or the bytes are malformed. */
robj *rdbReadValue(rdbReader *r, slice key, bool with_expire) must_check;
/* The same where the type does not stand before the value. */
robj *rdbReadValueOf(rdbReader *r, unsigned rdb_type, slice key, bool with_expire) must_check;
/* Whether it is a value that could not be read because nothing is in it: other servers have left such keys behind. A
 * stream may be empty, and what should never have been written so (an intset, a zipmap) is malformed. */
bool rdbValueIsEmpty(rdbReader r, unsigned rdb_type);

#endif
