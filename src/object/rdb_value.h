/* rdb_value.h -- values in the RDB format: one byte for the type, then the type's own format; DUMP payloads.
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_VALUE_H
#define OBJECT_RDB_VALUE_H

#include "rdb_string.h"

/* The type's byte. Types marked "old" are only read, from files of older servers. */
enum {
    RDB_TYPE_STRING = 0,
    RDB_TYPE_LIST = 1, /* old */
    RDB_TYPE_SET = 2,
    RDB_TYPE_ZSET = 3, /* old: scores as text */
    RDB_TYPE_HASH = 4,
    RDB_TYPE_ZSET_2 = 5,
    RDB_TYPE_MODULE_OLD = 6,    /* not supported */
    RDB_TYPE_MODULE = 7,        /* a module's; not supported */
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
    RDB_TYPE_HASH_2 = 22, /* with field TTLs */
    /* Of Redis 7.4 and later, which went its own way after version 11; all but 26 are only read. */
    RDB_TYPE_REDIS_HASH_LISTPACK_RC = 23, /* by release candidates of 7.4: 25 without the time before it */
    RDB_TYPE_REDIS_HASH = 24,             /* with field TTLs */
    RDB_TYPE_REDIS_HASH_LISTPACK = 25,    /* with field TTLs */
    RDB_TYPE_REDIS_STREAM = 26,           /* with what producers have sent; also written, where a stream has that */
    RDB_TYPE_REDIS_HASH_RC = 27,          /* by release candidates of 7.4, which wrote 22 */
    RDB_TYPES
};

/* A type of value in RDB, found by its byte. */
typedef struct rdbTypeRow {
    const char *name;   /* in reports; NULL if the byte is no type */
    const char *layout; /* of key and value in a file, in the letters of rdb_scan.c; NULL if it cannot be read */
    objectTypeId type;
} rdbTypeRow;
extern const rdbTypeRow rdb_types[RDB_TYPES];

#define RDB_VERSION 80     /* of files that are written */
#define RDB_VERSION_OLD 11 /* the newest version that older servers read: it lacks only hashes with field TTLs */
/* Versions of Redis since 7.4, which diverged after 11. Up to FOREIGN_KNOWN their types are known: what Redis 8.6
 * writes is read, unless it has no counterpart here. */
#define RDB_VERSION_FOREIGN_MIN 12
#define RDB_VERSION_FOREIGN_KNOWN 13
#define RDB_VERSION_FOREIGN_MAX 79

bool rdbVersionIsForeign(unsigned version);
/* Returns whether a payload of this version is accepted; `relaxed` accepts every possible version. */
bool rdbVersionIsReadable(unsigned version, bool relaxed);
/* Returns the RDB_TYPE_ that a type's byte means in files and payloads of this version; RDB_TYPES if it means none. */
unsigned rdbTypeOfByte(unsigned version, unsigned byte);

/* Return the type's byte of an object in its present encoding, and write the value that follows it (in a file, the key
 * is between them). */
uint8_t rdbTypeOf(const robj *o);
void rdbWriteValue(rdbWriter *w, const robj *o);
/* Returns type and value as a string. */
sds rdbValueBytes(const robj *o, bool compress);
/* Reads type and value as an entry for `key`. Returns NULL if the type is unknown or the bytes are malformed. */
robj *rdbReadValue(rdbReader *r, slice key, bool with_expire) must_check;
/* Like rdbReadValue(), if the type does not precede the value. */
robj *rdbReadValueOf(rdbReader *r, unsigned rdb_type, slice key, bool with_expire) must_check;
/* Returns whether the value could not be read because it has no elements: other servers have left such keys in files. A
 * stream may be empty; types that were never written empty (intset, zipmap) are malformed. */
bool rdbValueIsEmpty(rdbReader r, unsigned rdb_type);

/* --- The payload of DUMP and RESTORE --- */

/*   +----------------+------------------+------------------+
 *   | content in RDB | RDB version      | CRC-64 of all    |
 *   | format         | 2, little-endian | before, 8, l.-e. |
 *   +----------------+------------------+------------------+ */
#define DUMP_FOOTER_BYTES 10

/* Appends version and checksum to `content`, which it takes, and returns the payload. A value of a type of Redis has
 * the version of Redis, so that Redis restores it, too. */
sds dumpPayloadSealTake(sds content) must_check;
/* Writes version and checksum, for content that is not in one piece: its type is `rdb_type`, `crc` its crc64(). */
void dumpPayloadFooter(char footer[DUMP_FOOTER_BYTES], unsigned rdb_type, uint64_t crc);
/* Returns the payload of an entry's value, as RESTORE accepts it. */
sds dumpPayloadOf(const robj *o, bool compress) must_check;
/* Reads the value of a payload that dumpPayloadIsGood() has accepted, as an entry for `key`. Returns NULL if the type
 * is unknown or the bytes are malformed. The value may extend into the footer, as in Valkey. */
robj *dumpPayloadRead(slice payload, slice key, bool with_expire) must_check;
/* Returns whether version and checksum are valid. `relaxed` accepts every version, `unchecked` every checksum. If true,
 * the payload has at least DUMP_FOOTER_BYTES; the bytes before these may still be malformed. */
bool dumpPayloadIsGood(slice payload, bool relaxed, bool unchecked);

#endif
