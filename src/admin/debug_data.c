/* debug_data.c -- DEBUG about keys and values: digests, tables, one object, many made-up keys.
 *
 * Digests say whether two servers hold the same data, whatever its order. They are part of what clients see:
 *
 *   xor(d, bytes)   d ^= SHA1(bytes)               of parts without order
 *   mix(d, bytes)   xor(d, bytes); d = SHA1(d)     of parts in order
 *   value           mix(type, 4 bytes big-endian); mix(text) for a string; xor("!!expire!!") if it has an expire
 *   dataset         per database with keys: mix(number, 4 bytes); then per key: xor(digest of mix(key) and value)
 *
 * Threads     main.
 * Cost        DIGEST: the whole dataset, once.
 * Tests       tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_internal.h"

#include "command_memory.h"
#include "db_walk.h"
#include "lru.h"
#include "reply.h"

#include <arpa/inet.h>
#include <limits.h>
#include <lzf.h>
#include <stdio.h>

/* ---- Digests --------------------------------------------------------------------------------------- */

#define DIGEST_BYTES 20

typedef struct digest {
    uint8_t bytes[DIGEST_BYTES];
} digest;

static int hexDigit(char ch) {
    return ch <= '9' ? ch - '0' : ch - 'a' + 10;
}

static digest sha1(const void *p, size_t len) {
    char hex[2 * DIGEST_BYTES + 1];
    digest d;
    sha1Hex(hex, p, len);
    for (int i = 0; i < DIGEST_BYTES; i++) d.bytes[i] = (uint8_t)(hexDigit(hex[2 * i]) << 4 | hexDigit(hex[2 * i + 1]));
    return d;
}

static void digestXor(digest *d, const void *p, size_t len) {
    digest other = sha1(p, len);
    for (int i = 0; i < DIGEST_BYTES; i++) d->bytes[i] ^= other.bytes[i];
}

static void digestMix(digest *d, const void *p, size_t len) {
    digestXor(d, p, len);
    *d = sha1(d->bytes, DIGEST_BYTES);
}

static void digestMixNumber(digest *d, uint32_t n) {
    uint32_t big_endian = htonl(n);
    digestMix(d, &big_endian, sizeof(big_endian));
}

static void digestMixValue(digest *d, const robj *o) {
    digestMixNumber(d, o->type);
    if (o->type == OBJ_STRING) {
        char buf[LONG_STR_SIZE];
        slice text = objectString(o, buf);
        digestMix(d, text.ptr, text.len);
    }
    if (objectExpire(o) != -1) digestXor(d, "!!expire!!", 10);
}

static void digestMixDb(digest *d, serverDb *db) {
    digestMixNumber(d, (uint32_t)dbId(db));
    dbIterator it;
    dbIterBegin(&it, db, false);
    const robj *o;
    while ((o = dbIterNext(&it)) != NULL) {
        digest of_key = {{0}};
        slice key = objectKey(o);
        digestMix(&of_key, key.ptr, key.len);
        digestMixValue(&of_key, o);
        digestXor(d, of_key.bytes, DIGEST_BYTES);
    }
    dbIterEnd(&it);
}

static void replyDigest(client *c, const digest *d) {
    char hex[2 * DIGEST_BYTES + 1];
    for (int i = 0; i < DIGEST_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", d->bytes[i]);
    addReplyStatus(c, hex);
}

bool debugDigest(client *c) {
    digest d = {{0}};
    for (int i = 0; i < dbCount(); i++)
        if (dbSize(dbGet(i))) digestMixDb(&d, dbGet(i));
    replyDigest(c, &d);
    return true;
}

/* The live entry, looked at without a trace in statistics, LRU or events. */
static robj *peekKey(client *c, uint32_t index) {
    return lookupKeyReadWithFlags(c->db, clientKeyAt(c, index), LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY);
}

bool debugDigestValue(client *c) {
    addReplyArrayLen(c, c->argc - 2);
    for (uint32_t i = 2; i < c->argc; i++) {
        digest d = {{0}};
        const robj *o = peekKey(c, i);
        if (o) digestMixValue(&d, o);
        replyDigest(c, &d);
    }
    return true;
}

/* ---- Tables ---------------------------------------------------------------------------------------- */

#define STATS_MAX 4096 /* of one table's text */

bool debugHtstats(client *c) {
    long long id;
    bool full = c->argc == 4 && sliceIs(c->argv[3], "full");
    if (!getLongLongFromArg(c, 2, &id, NULL)) return true;
    if (id < 0 || id >= dbCount()) {
        addReplyError(c, "Out of range database");
        return true;
    }
    const serverDb *db = dbGet((int)id);
    char table[STATS_MAX];
    sds text = sdsCat(sdsEmpty(), "[Dictionary HT]\n");
    text = sdsCatLen(text, table, dbTableStats(db, false, table, sizeof(table), full));
    text = sdsCat(text, "[Expires HT]\n");
    text = sdsCatLen(text, table, dbTableStats(db, true, table, sizeof(table), full));
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
    return true;
}

bool debugHtstatsKey(client *c) {
    /* Counts as a lookup, unlike the others here. */
    const robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 2), LOOKUP_NOTOUCH | LOOKUP_NONOTIFY);
    if (!o) addReplyNoKeyError(c);
    else if (o->encoding != OBJ_ENC_HASHTABLE)
        addReplyError(c, "The value stored at the specified key is not represented using an hash table");
    else {
        char text[STATS_MAX];
        bool full = c->argc == 4 && sliceIs(c->argv[3], "full");
        addReplyVerbatim(c, sliceOf(text, dictStats(objectStructure(o), text, sizeof(text), full)), "txt");
    }
    return true;
}

/* ---- OBJECT ---------------------------------------------------------------------------------------- */

/* Bytes of a length in a dump file. */
static size_t lengthBytes(size_t n) {
    if (n < 1u << 6) return 1;
    if (n < 1u << 14) return 2;
    return n <= UINT32_MAX ? 5 : 9;
}

/* Bytes of an integer in a dump file; 0: it is kept as text. */
static size_t integerBytes(long long n) {
    if (n >= INT8_MIN && n <= INT8_MAX) return 2;
    if (n >= INT16_MIN && n <= INT16_MAX) return 3;
    return n >= INT32_MIN && n <= INT32_MAX ? 5 : 0;
}

#define INTEGER_TEXT_MAX 11 /* longer text is not looked at as a number */
#define COMPRESS_MIN 21     /* nor is shorter text compressed */

/* Bytes of a string's value in a dump file that is compressed. */
static size_t serializedString(const robj *o) {
    char buf[LONG_STR_SIZE];
    slice text = objectString(o, buf);
    long long n;
    if (text.len <= INTEGER_TEXT_MAX && string2ll(text.ptr, text.len, &n) && integerBytes(n)) return integerBytes(n);
    if (text.len >= COMPRESS_MIN && text.len <= UINT32_MAX) {
        sds packed = sdsGrowZero(sdsEmpty(), text.len);
        size_t len = lzf_compress(text.ptr, (unsigned)text.len, packed, (unsigned)text.len - 4);
        sdsFree(packed);
        if (len) return 1 + lengthBytes(len) + lengthBytes(text.len) + len;
    }
    return lengthBytes(text.len) + text.len;
}

bool debugObject(client *c) {
    const robj *o = peekKey(c, 2);
    if (!o) {
        addReplyNoKeyError(c);
        return true;
    }
    bool fast = c->argc == 4 && sliceIs(c->argv[3], "fast");
    if (!fast && !commandMemoryReserve(c, objectMemUsage(o, 0))) return true;
    char serialized[64] = "";
    if (!fast && o->type == OBJ_STRING)
        snprintf(serialized, sizeof(serialized), " serializedlength:%zu", serializedString(o));
    addReplyStatusFormat(c, "Value at:%p refcount:%u encoding:%s%s lru:%u lru_seconds_idle:%llu", (const void *)o,
                         (unsigned)o->refcount, objectEncodingName(o), serialized, (unsigned)o->lru,
                         (unsigned long long)(lruIdleMs(o) / 1000));
    return true;
}

/* ---- POPULATE -------------------------------------------------------------------------------------- */

static void populateOne(serverDb *db, slice prefix, long long number, size_t size) {
    sds name = sdsCatPrintf(sdsEmpty(), "%.*s:%lld", (int)prefix.len, prefix.ptr, number);
    hashedKey key = hashedKeyOf(sdsSlice(name));
    if (!lookupKeyWrite(db, key)) {
        sds value = sdsCatPrintf(sdsEmpty(), "value:%lld", number);
        if (size && size < sdsLen(value)) sdsRange(value, 0, (ptrdiff_t)size - 1);
        else if (size) value = sdsGrowZero(value, size);
        dbAddTake(db, objectCreateTextString(key.name, sdsSlice(value), false, object_main_owner), key);
        dbKeyChanged(db, key, 0, NULL, 0); /* watchers hear of it; it is no event and not propagated */
        sdsFree(value);
    }
    sdsFree(name);
}

bool debugPopulate(client *c) {
    long long keys, size = 0;
    if (!getPositiveLongFromArg(c, 2, &keys, NULL)) return true;
    if (c->argc == 5 && !getPositiveLongFromArg(c, 4, &size, NULL)) return true;
    if (keys && !commandMemoryReserve(c, size > LLONG_MAX / 4 ? SIZE_MAX / 2 : 3 * (size_t)size)) return true;
    if (!dbExpand(c->db, (size_t)keys)) {
        addReplyError(c, "OOM in dictTryExpand");
        return true;
    }
    slice prefix = c->argc > 3 ? c->argv[3] : sliceStr("key");
    for (long long i = 0; i < keys; i++) populateOne(c->db, prefix, i, (size_t)size);
    addReplyOk(c);
    return true;
}
