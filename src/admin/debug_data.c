/* debug_data.c -- DEBUG subcommands about keys and values: digests, tables, one object, many generated keys.
 *
 * The digest of a dataset, with the operations of object/digest.h: for each database with keys mix(number, 4 bytes);
 * then for each of its keys xor(digest of mix(key) and value).
 *
 * Threads     main.
 * Cost        DIGEST: reads the whole dataset once.
 * Tests       tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_internal.h"

#include "command_memory.h"
#include "db_walk.h"
#include "digest.h"
#include "lru.h"
#include "object_settings.h"
#include "quicklist.h"
#include "rdb_value.h"
#include "reply.h"

#include <limits.h>
#include <stdio.h>

/* ---- Digests --------------------------------------------------------------------------------------- */

static void digestMixDb(digest *d, serverDb *db) {
    digestMixNumber(d, (uint32_t)dbId(db));
    dbIterator it;
    dbIterBegin(&it, db, false);
    const robj *o;
    while ((o = dbIterNext(&it)) != NULL) {
        digest of_key = {{0}};
        digestMix(&of_key, objectKey(o));
        digestMixValue(&of_key, o);
        digestXor(d, sliceOf(of_key.bytes, DIGEST_BYTES));
    }
    dbIterEnd(&it);
}

static void replyDigest(client *c, const digest *d) {
    char hex[2 * DIGEST_BYTES + 1];
    for (int i = 0; i < DIGEST_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", d->bytes[i]);
    addReplyStatus(c, hex);
}

void debugDigest(client *c) {
    digest d = {{0}};
    for (int i = 0; i < dbCount(); i++)
        if (dbSize(dbGet(i))) digestMixDb(&d, dbGet(i));
    replyDigest(c, &d);
}

/* Looks up a key that is not expired, without effect on statistics, LRU or events. */
static robj *peekKey(client *c, uint32_t index) {
    return lookupKeyReadWithFlags(c->db, clientKeyAt(c, index), LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY);
}

void debugDigestValue(client *c) {
    addReplyArrayLen(c, c->argc - 2);
    for (uint32_t i = 2; i < c->argc; i++) {
        digest d = {{0}};
        const robj *o = peekKey(c, i);
        if (o) digestMixValue(&d, o);
        replyDigest(c, &d);
    }
}

/* ---- Tables ---------------------------------------------------------------------------------------- */

#define STATS_MAX 4096 /* length of one table's text */

void debugHtstats(client *c) {
    long long id;
    bool full = c->argc == 4 && sliceIs(c->argv[3], "full");
    if (!getLongLongFromArg(c, 2, &id, NULL)) return;
    if (id < 0 || id >= dbCount()) {
        addReplyError(c, "Out of range database");
        return;
    }
    const serverDb *db = dbGet((int)id);
    char table[STATS_MAX];
    sds text = sdsCat(sdsEmpty(), "[Dictionary HT]\n");
    text = sdsCatLen(text, table, dbTableStats(db, false, table, sizeof(table), full));
    text = sdsCat(text, "[Expires HT]\n");
    text = sdsCatLen(text, table, dbTableStats(db, true, table, sizeof(table), full));
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}

void debugHtstatsKey(client *c) {
    /* Unlike the others here, this counts as a lookup. */
    const robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 2), LOOKUP_NOTOUCH | LOOKUP_NONOTIFY);
    if (!o) addReplyNoKeyError(c);
    else if (!objectElements(o))
        addReplyError(c, "The value stored at the specified key is not represented using an hash table");
    else {
        char text[STATS_MAX];
        bool full = c->argc == 4 && sliceIs(c->argv[3], "full");
        addReplyVerbatim(c, sliceOf(text, dictStats(objectElements(o), text, sizeof(text), full)), "txt");
    }
}

/* ---- OBJECT ---------------------------------------------------------------------------------------- */

/* Returns the length of the value in an RDB file. */
static size_t serializedLength(const robj *o) {
    sds value = rdbValueBytes(o, object_settings.compression);
    size_t len = sdsLen(value) - 1; /* without the byte of the type */
    sdsFree(value);
    return len;
}

#define NODES_TEXT_MAX 160

static void describeNodes(const quicklist *q, char out[NODES_TEXT_MAX]) {
    quicklistStats stats;
    quicklistGetStats(q, &stats);
    snprintf(out, NODES_TEXT_MAX,
             " ql_nodes:%zu ql_avg_node:%.2f ql_listpack_max:%d ql_compressed:%d ql_uncompressed_size:%zu", stats.nodes,
             (double)quicklistCount(q) / (double)stats.nodes, quicklistFill(q), quicklistDepth(q) > 0, stats.bytes);
}

void debugObject(client *c) {
    const robj *o = peekKey(c, 2);
    if (!o) {
        addReplyNoKeyError(c);
        return;
    }
    bool fast = c->argc == 4 && sliceIs(c->argv[3], "fast");
    if (!fast && !commandMemoryReserve(c, 3 * objectMemUsage(o, 0))) return; /* as DUMP does */
    char serialized[64] = "";
    if (!fast) snprintf(serialized, sizeof(serialized), " serializedlength:%zu", serializedLength(o));
    char nodes[NODES_TEXT_MAX] = "";
    if (o->encoding == OBJ_ENC_QUICKLIST) describeNodes(objectStructure(o), nodes);
    addReplyStatusFormat(c, "Value at:%p refcount:%u encoding:%s%s lru:%u lru_seconds_idle:%llu%s", (const void *)o,
                         (unsigned)o->refcount, objectEncodingName(o), serialized, (unsigned)o->lru,
                         (unsigned long long)(lruIdleMs(o) / 1000), nodes);
}

/* ---- Structures of lists --------------------------------------------------------------------------- */

#define SHOWN_MAX 64 /* bytes of an element */

static void printElements(const uint8_t *lp) {
    char digits[LONG_STR_SIZE];
    size_t number = 0;
    for (const uint8_t *at = listpackFirst(lp); at; at = listpackNext(at)) {
        slice text = listpackText(at, digits);
        printf("  %zu: %zu bytes at %zu: %.*s\n", number++, text.len, (size_t)(at - lp),
               (int)(text.len < SHOWN_MAX ? text.len : SHOWN_MAX), text.ptr);
    }
}

/* Returns the value of the key in argument 2 if it has this encoding. Returns NULL after an error reply. */
static const robj *peekEncoded(client *c, objectEncoding encoding) {
    const robj *o = peekKey(c, 2);
    if (!o) {
        addReplyNoKeyError(c);
    } else if ((objectEncoding)o->encoding != encoding) {
        addReplyErrorFormat(c, "Not a %s encoded object.", encoding == OBJ_ENC_LISTPACK ? "listpack" : "quicklist");
    } else {
        return o;
    }
    return NULL;
}

void debugListpack(client *c) {
    const robj *o = peekEncoded(c, OBJ_ENC_LISTPACK);
    if (!o) return;
    const uint8_t *lp = objectStructure(o);
    printf("listpack of %zu bytes, %zu elements\n", listpackBytes(lp), listpackCount(lp));
    printElements(lp);
    fflush(stdout);
    addReplyStatus(c, "Listpack structure printed on stdout");
}

void debugQuicklist(client *c) {
    long long full = 0;
    if (c->argc == 4 && !getLongLongFromArg(c, 3, &full, NULL)) return;
    const robj *o = peekEncoded(c, OBJ_ENC_QUICKLIST);
    if (!o) return;
    const quicklist *q = objectStructure(o);
    quicklistPart part;
    printf("quicklist of %zu nodes, %zu elements\n", quicklistNodeCount(q), quicklistCount(q));
    for (const quicklistNode *n = NULL; (n = quicklistNextPart(q, n, &part));) {
        printf("%s node of %zu bytes%s\n", part.plain ? "plain" : "packed", part.raw_bytes,
               part.compressed ? ", compressed" : "");
        if (full && !part.plain && !part.compressed) printElements((const uint8_t *)part.bytes.ptr);
    }
    fflush(stdout);
    addReplyStatus(c, "Quicklist structure printed on stdout");
}

void debugPlainThreshold(client *c) {
    unsigned long long bytes;
    if (!memory2ull(c->argv[2].ptr, c->argv[2].len, &bytes) || bytes >= UINT32_MAX) {
        addReplyError(c, "argument must be a memory value bigger than 1 and smaller than 4gb");
    } else {
        quicklistSetPlainFrom(bytes);
        addReplyOk(c);
    }
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
        dbKeyChanged(db, key, 0, NULL, 0); /* for WATCH only: no event, not propagated */
        sdsFree(value);
    }
    sdsFree(name);
}

void debugPopulate(client *c) {
    long long keys, size = 0;
    if (!getPositiveLongFromArg(c, 2, &keys, NULL)) return;
    if (c->argc == 5 && !getPositiveLongFromArg(c, 4, &size, NULL)) return;
    if (keys && !commandMemoryReserve(c, size > LLONG_MAX / 4 ? SIZE_MAX / 2 : 3 * (size_t)size)) return;
    if (!dbExpand(c->db, (size_t)keys)) {
        addReplyError(c, "OOM in dictTryExpand");
        return;
    }
    slice prefix = c->argc > 3 ? c->argv[3] : sliceStr("key");
    for (long long i = 0; i < keys; i++) populateOne(c->db, prefix, i, (size_t)size);
    addReplyOk(c);
}
