/* rdb_value.c -- maps RDB's type bytes to types of values; the payload of DUMP and RESTORE.
 *
 * Not here    the format of each type's value (value_*_rdb.c); files; payloads of libraries
 *             (script/functions/function_dump.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/object/rdb_value_test.c, rdb_string_test.c, tests/unit/commands/keyspace/keys_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_value.h"

#include "hash.h"
#include "endian.h"
#include "listpack.h"
#include "long_loop.h"
#include "object_internal.h"
#include "panic.h"
#include "zmalloc.h"

#define PACKED_NODE 2 /* one of the two kinds of nodes of a list */

#define STREAM_BEGIN "sv(ss)lll"
#define STREAM_MORE "lllll" /* of version 2: first id, largest deleted one, entries added */

const rdbTypeRow rdb_types[RDB_TYPES] = {
    [RDB_TYPE_STRING] = {"string", "svs", OBJ_STRING},
    [RDB_TYPE_LIST] = {"list-linked", "sv(s)", OBJ_LIST},
    [RDB_TYPE_SET] = {"set-hashtable", "sv(s)", OBJ_SET},
    [RDB_TYPE_ZSET] = {"zset-v1", "sv(st)", OBJ_ZSET},
    [RDB_TYPE_HASH] = {"hash-hashtable", "sv(ss)", OBJ_HASH},
    [RDB_TYPE_ZSET_2] = {"zset-v2", "sv(s8)", OBJ_ZSET},
    [RDB_TYPE_MODULE_OLD] = {"module-pre-release", NULL, OBJ_MODULE},
    [RDB_TYPE_MODULE] = {"module-value", "svlm", OBJ_MODULE},
    [RDB_TYPE_HASH_ZIPMAP] = {"hash-zipmap", "svs", OBJ_HASH},
    [RDB_TYPE_LIST_ZIPLIST] = {"list-ziplist", "svs", OBJ_LIST},
    [RDB_TYPE_SET_INTSET] = {"set-intset", "svs", OBJ_SET},
    [RDB_TYPE_ZSET_ZIPLIST] = {"zset-ziplist", "svs", OBJ_ZSET},
    [RDB_TYPE_HASH_ZIPLIST] = {"hash-ziplist", "svs", OBJ_HASH},
    [RDB_TYPE_LIST_QUICKLIST] = {"quicklist", "sv(s)", OBJ_LIST},
    [RDB_TYPE_STREAM] = {"stream", STREAM_BEGIN "(sll(i8l)(s8(i)))", OBJ_STREAM},
    [RDB_TYPE_HASH_LISTPACK] = {"hash-listpack", "svs", OBJ_HASH},
    [RDB_TYPE_ZSET_LISTPACK] = {"zset-listpack", "svs", OBJ_ZSET},
    [RDB_TYPE_LIST_QUICKLIST_2] = {"quicklist-v2", "sv(ls)", OBJ_LIST},
    [RDB_TYPE_STREAM_2] = {"stream-v2", STREAM_BEGIN STREAM_MORE "(slll(i8l)(s8(i)))", OBJ_STREAM},
    [RDB_TYPE_SET_LISTPACK] = {"set-listpack", "svs", OBJ_SET},
    [RDB_TYPE_STREAM_3] = {"stream-v3", STREAM_BEGIN STREAM_MORE "(slll(i8l)(s88(i)))", OBJ_STREAM},
    [RDB_TYPE_HASH_2] = {"hash-volatile-items", "sv(ss8)", OBJ_HASH},
    [RDB_TYPE_REDIS_HASH_LISTPACK_RC] = {"hash-listpack-ttl-rc", "svs", OBJ_HASH},
    [RDB_TYPE_REDIS_HASH] = {"hash-ttl", "sv8(lss)", OBJ_HASH},
    [RDB_TYPE_REDIS_HASH_LISTPACK] = {"hash-listpack-ttl", "sv8s", OBJ_HASH},
    [RDB_TYPE_REDIS_STREAM] = {"stream-v4", STREAM_BEGIN STREAM_MORE "(slll(i8l)(s88(i)))ll(s(sll))ll", OBJ_STREAM},
    [RDB_TYPE_REDIS_HASH_RC] = {"hash-ttl-rc", "sv(lss)", OBJ_HASH},
};

bool rdbVersionIsForeign(unsigned version) {
    return version >= RDB_VERSION_FOREIGN_MIN && version <= RDB_VERSION_FOREIGN_MAX;
}

bool rdbVersionIsReadable(unsigned version, bool relaxed) {
    if (version < 1) return false;
    if (relaxed) return true;
    return version <= RDB_VERSION && (!rdbVersionIsForeign(version) || version <= RDB_VERSION_FOREIGN_KNOWN);
}

unsigned rdbTypeOfByte(unsigned version, unsigned byte) {
    if (likely(byte < RDB_TYPE_HASH_2)) return byte;
    if (!rdbVersionIsForeign(version)) {
        bool of_own = byte == RDB_TYPE_HASH_2 || (byte == RDB_TYPE_REDIS_STREAM && version >= RDB_VERSION);
        return of_own ? byte : RDB_TYPES;
    }
    if (byte == RDB_TYPE_HASH_2) return RDB_TYPE_REDIS_HASH_RC;
    return byte <= RDB_TYPE_REDIS_STREAM ? byte : RDB_TYPES;
}

static const objectTypeOps *writingOps(const robj *o) {
    const objectTypeOps *ops = objectOps(o->type);
    serverAssert(ops && ops->rdbType && ops->rdbWrite);
    return ops;
}

uint8_t rdbTypeOf(const robj *o) {
    if (o->type == OBJ_STRING) return RDB_TYPE_STRING;
    return writingOps(o)->rdbType(objectStructure(o), o->encoding);
}

void rdbWriteValue(rdbWriter *w, const robj *o) {
    if (o->type == OBJ_STRING) rdbWriteStringObject(w, o);
    else writingOps(o)->rdbWrite(w, objectStructure(o), o->encoding);
}

#define FIRST_CAPACITY 128

sds rdbValueBytes(const robj *o, bool compress) {
    rdbWriter w;
    rdbWriterBegin(&w, compress, FIRST_CAPACITY);
    rdbWriteByte(&w, rdbTypeOf(o));
    rdbWriteValue(&w, o);
    return rdbWriterTake(&w);
}

robj *rdbReadValueOf(rdbReader *r, unsigned rdb_type, slice key, bool with_expire) {
    int encoding = 0;
    if (rdb_type >= RDB_TYPES || !rdb_types[rdb_type].name) return NULL;
    objectTypeId type = rdb_types[rdb_type].type;
    if (type == OBJ_STRING) return rdbReadStringObject(r, key, with_expire);
    const objectTypeOps *ops = objectOps(type);
    if (!ops || !ops->rdbRead) return NULL;
    size_t before = zmallocReserved();
    void *structure = ops->rdbRead(r, rdb_type, &encoding);
    zmallocUnreserve(before);
    return structure ? objectCreateTake(key, type, encoding, structure) : NULL;
}

robj *rdbReadValue(rdbReader *r, slice key, bool with_expire) {
    if (r->p == r->end) return NULL;
    unsigned rdb_type = (unsigned char)*r->p++;
    return rdbReadValueOf(r, rdb_type, key, with_expire);
}

/* ---- Empty values ---- */

static bool readEmptyPacked(rdbReader *r, bool is_ziplist) {
    uint8_t *lp = rdbReadListpack(r, is_ziplist ? ziplistToListpack : NULL);
    bool empty = lp && !listpackFirst(lp);
    listpackFree(lp);
    return empty;
}

/* Returns whether a list has only nodes without elements. */
static bool nodesAreEmpty(rdbReader *r, bool with_container) {
    uint64_t count, container = PACKED_NODE;
    if (!rdbReadCount(r, &count)) return false;
    for (; count; count--) {
        if (with_container && (!rdbReadCount(r, &container) || container != PACKED_NODE)) return false;
        if (!readEmptyPacked(r, !with_container)) return false;
    }
    return true;
}

bool rdbValueIsEmpty(rdbReader r, unsigned rdb_type) {
    uint64_t count;
    int64_t skipped;
    switch (rdb_type) {
    case RDB_TYPE_LIST:
    case RDB_TYPE_SET:
    case RDB_TYPE_ZSET:
    case RDB_TYPE_HASH:
    case RDB_TYPE_ZSET_2:
    case RDB_TYPE_REDIS_HASH_RC:
    case RDB_TYPE_HASH_2: return rdbReadCount(&r, &count) && count == 0;
    case RDB_TYPE_LIST_ZIPLIST:
    case RDB_TYPE_ZSET_ZIPLIST:
    case RDB_TYPE_HASH_ZIPLIST: return readEmptyPacked(&r, true);
    case RDB_TYPE_REDIS_HASH: return rdbReadMs(&r, &skipped) && rdbReadCount(&r, &count) && count == 0;
    case RDB_TYPE_REDIS_HASH_LISTPACK: return rdbReadMs(&r, &skipped) && readEmptyPacked(&r, false);
    case RDB_TYPE_REDIS_HASH_LISTPACK_RC:
    case RDB_TYPE_HASH_LISTPACK:
    case RDB_TYPE_ZSET_LISTPACK:
    case RDB_TYPE_SET_LISTPACK: return readEmptyPacked(&r, false);
    case RDB_TYPE_LIST_QUICKLIST:
    case RDB_TYPE_LIST_QUICKLIST_2: return nodesAreEmpty(&r, rdb_type == RDB_TYPE_LIST_QUICKLIST_2);
    default: return false;
    }
}

/* ---- Payloads of DUMP ---- */

#define CRC_BYTES 8

#define CRC_PIECE ((size_t)1 << 18)

static uint64_t payloadCrc(slice bytes) {
    uint64_t crc = 0;
    for (size_t at = 0; at < bytes.len; at += CRC_PIECE) {
        crc = crc64(crc, bytes.ptr + at, bytes.len - at < CRC_PIECE ? bytes.len - at : CRC_PIECE);
        if (bytes.len > CRC_PIECE) longLoopPause();
    }
    return crc;
}

void dumpPayloadFooter(char footer[DUMP_FOOTER_BYTES], unsigned rdb_type, uint64_t crc) {
    storeLe16(footer, rdb_type == RDB_TYPE_REDIS_STREAM ? RDB_VERSION_FOREIGN_KNOWN : RDB_VERSION);
    storeLe64(footer + DUMP_FOOTER_BYTES - CRC_BYTES, crc64(crc, footer, DUMP_FOOTER_BYTES - CRC_BYTES));
}

sds dumpPayloadSealTake(sds content) {
    char footer[DUMP_FOOTER_BYTES];
    dumpPayloadFooter(footer, sdsLen(content) ? (uint8_t)*content : 0, payloadCrc(sdsSlice(content)));
    return sdsCatLen(content, footer, DUMP_FOOTER_BYTES);
}

static unsigned payloadVersion(slice payload) { return loadLe16(payload.ptr + payload.len - DUMP_FOOTER_BYTES); }

robj *dumpPayloadRead(slice payload, slice key, bool with_expire) {
    rdbReader r = {payload.ptr + 1, payload.ptr + payload.len};
    unsigned rdb_type = rdbTypeOfByte(payloadVersion(payload), (unsigned char)*payload.ptr);
    return rdbReadValueOf(&r, rdb_type, key, with_expire);
}

sds dumpPayloadOf(const robj *o, bool compress) { return dumpPayloadSealTake(rdbValueBytes(o, compress)); }

bool dumpPayloadIsGood(slice payload, bool relaxed, bool unchecked) {
    if (payload.len < DUMP_FOOTER_BYTES) return false;
    if (!rdbVersionIsReadable(payloadVersion(payload), relaxed)) return false;
    return unchecked ||
           payloadCrc(sliceOf(payload.ptr, payload.len - CRC_BYTES)) == loadLe64(payload.ptr + payload.len - CRC_BYTES);
}
