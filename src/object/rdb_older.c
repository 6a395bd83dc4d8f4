/* rdb_older.c -- values in the forms of older versions of RDB, for servers and tools that read no newer one; and those
 * of Redis 8.
 *
 *   version        9            10           11             80                    13, of Redis 8
 *   hash           4            16 or 4                     22 with field TTLs    24 with field TTLs
 *   sorted set     5            17 or 5
 *   list           1            18
 *   set            2 or 11      2 or 11      20, 2 or 11
 *   stream         15           19           21             26 with producers     26 with producers
 *
 * Compact values have one block in memory, a listpack, which is copied into the file. Version 9 has ziplists in its
 * place: elements are written one by one instead, which every version reads.
 *
 * Not here    the newest forms (value_*_rdb.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/object/rdb_older_test.c, tests/persist/save_version.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_older.h"

#include "panic.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_stream_internal.h"
#include "value_zset.h"

#define VERSION_OF_LISTPACKS 10 /* but for sets */

unsigned rdbLowestVersion(const robj *o) {
    switch (rdbTypeOf(o)) {
    case RDB_TYPE_STREAM_3: return RDB_VERSION_OLD;
    case RDB_TYPE_HASH_2:
    case RDB_TYPE_REDIS_STREAM: return RDB_VERSION;
    default: return RDB_VERSION_OLDEST;
    }
}

unsigned rdbTypeInVersion(const robj *o, unsigned version) {
    unsigned newest = rdbTypeOf(o);
    debugAssert(version >= RDB_VERSION_OLDEST);
    if (version >= RDB_VERSION) return newest;
    if (version == RDB_VERSION_FOREIGN_KNOWN) return newest == RDB_TYPE_HASH_2 ? RDB_TYPE_REDIS_HASH : newest;
    if (newest >= RDB_TYPE_HASH_2) return RDB_TYPES;
    if (version >= RDB_VERSION_OLD) return newest;
    if (newest == RDB_TYPE_SET_LISTPACK) return RDB_TYPE_SET;
    if (newest == RDB_TYPE_STREAM_3) return version >= VERSION_OF_LISTPACKS ? RDB_TYPE_STREAM_2 : RDB_TYPE_STREAM;
    if (version >= VERSION_OF_LISTPACKS) return newest;
    switch (newest) {
    case RDB_TYPE_HASH_LISTPACK: return RDB_TYPE_HASH;
    case RDB_TYPE_ZSET_LISTPACK: return RDB_TYPE_ZSET_2;
    case RDB_TYPE_LIST_QUICKLIST_2: return RDB_TYPE_LIST;
    default: return newest;
    }
}

static void writeList(rdbWriter *w, const robj *o) {
    valueListIter it;
    listpackValue v;
    char digits[LONG_STR_SIZE];
    rdbWriteLength(w, valueListCount(o));
    valueListIterBegin(&it, o, 0, false);
    while (valueListIterNext(&it, &v))
        rdbWriteString(w, v.str ? sliceOf(v.str, v.len) : sliceOf(digits, ll2string(digits, v.num)));
    valueListIterEnd(&it);
}

static void writeSet(rdbWriter *w, const robj *o) {
    setIterator it;
    setMember m;
    char digits[LONG_STR_SIZE];
    rdbWriteLength(w, setSize(o));
    setIterBegin(&it, o);
    while (setIterNext(&it, &m)) rdbWriteString(w, setMemberText(&m, digits));
    setIterEnd(&it);
}

static void writeZset(rdbWriter *w, const robj *o) {
    zsetIter it = zsetIterAt(o, 0, false);
    zsetElement e;
    rdbWriteLength(w, zsetCount(o));
    while (zsetIterNext(&it, &e)) {
        rdbWriteString(w, e.member);
        rdbWriteDouble(w, e.score);
    }
}

static void writeHash(rdbWriter *w, const robj *o) {
    hashIter it;
    rdbWriteLength(w, hashLength(o));
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it)) != NULL;) {
        rdbWriteString(w, p->name);
        rdbWriteString(w, p->value);
    }
    hashIterEnd(&it);
}

/* Writes a hash with field TTLs as Redis does: the smallest time, and of each field the distance from it. */
static void writeHashOfRedis(rdbWriter *w, const robj *o) {
    hashIter it;
    int64_t smallest_ms = INT64_MAX;
    size_t count = 0;
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it)) != NULL; count++)
        if (p->when_ms != HASH_NO_TIME && p->when_ms < smallest_ms) smallest_ms = p->when_ms;
    hashIterEnd(&it);
    rdbWriteMs(w, smallest_ms);
    rdbWriteLength(w, count);
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it)) != NULL;) {
        rdbWriteLength(w, p->when_ms == HASH_NO_TIME ? 0 : (uint64_t)(p->when_ms - smallest_ms) + 1);
        rdbWriteString(w, p->name);
        rdbWriteString(w, p->value);
    }
    hashIterEnd(&it);
}

void rdbWriteValueAs(rdbWriter *w, const robj *o, unsigned rdb_type) {
    if (rdb_type == rdbTypeOf(o)) {
        rdbWriteValue(w, o);
        return;
    }
    switch (rdb_type) {
    case RDB_TYPE_LIST: writeList(w, o); break;
    case RDB_TYPE_SET: writeSet(w, o); break;
    case RDB_TYPE_ZSET_2: writeZset(w, o); break;
    case RDB_TYPE_HASH: writeHash(w, o); break;
    case RDB_TYPE_REDIS_HASH: writeHashOfRedis(w, o); break;
    case RDB_TYPE_STREAM:
    case RDB_TYPE_STREAM_2: streamRdbWriteAs(w, objectStructure(o), rdb_type); break;
    default: serverPanic("RDB type %u is not that of an older version", rdb_type);
    }
}
