/* value_list_rdb.c -- lists in the RDB format.
 *
 *   type 18   nodes, each: 1 and a plain element, or 2 and a listpack
 *   read only:  1 elements; 10 one ziplist, of elements; 14 nodes, each a ziplist
 *
 * A node that is compressed in memory is written in its compressed form, whatever the value of rdbcompression.
 *
 * Threads     any.
 * Tests       tests/unit/object/value_list_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_list_internal.h"

#include "long_loop.h"
#include "object_settings.h"
#include "panic.h"
#include "listpack.h"
#include "zmalloc.h"

enum { CONTAINER_PLAIN = 1, CONTAINER_PACKED = 2 };

/* ---- Writing ---- */

static void writeNode(rdbWriter *w, const quicklistPart *part) {
    rdbWriteLength(w, part->plain ? CONTAINER_PLAIN : CONTAINER_PACKED);
    if (part->compressed) rdbWriteCompressed(w, part->bytes, part->raw_bytes);
    else rdbWriteString(w, part->bytes);
}

uint8_t valueListRdbType(const void *structure, int encoding) {
    unused(structure);
    unused(encoding);
    return RDB_TYPE_LIST_QUICKLIST_2;
}

void valueListRdbWrite(rdbWriter *w, const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK) {
        size_t bytes = listpackBytes(structure);
        quicklistPart all = {.bytes = sliceOf(structure, bytes), .raw_bytes = bytes};
        rdbWriteLength(w, 1);
        writeNode(w, &all);
        return;
    }
    rdbWriteLength(w, quicklistNodeCount(structure));
    quicklistPart part;
    for (const quicklistNode *n = NULL; (n = quicklistNextPart(structure, n, &part));) {
        writeNode(w, &part);
        longLoopStep();
    }
}

/* ---- Reading ---- */

static bool appendListpack(quicklist *q, uint8_t *lp) {
    if (!lp) return false;
    if (quicklistAppendListpackTake(q, lp)) return true;
    listpackFree(lp);
    return false;
}

static bool readElement(rdbReader *r, quicklist *q) {
    rdbText t;
    if (!rdbReadText(r, &t)) return false;
    bool good = true;
    if (quicklistIsPlain(quicklistFill(q), t.text.len)) good = quicklistAppendPlain(q, t.text);
    else quicklistPush(q, LIST_TAIL, t.text);
    rdbTextFree(&t);
    return good;
}

static bool readElementsOfZiplist(rdbReader *r, quicklist *q) {
    uint8_t *lp = rdbReadListpack(r, ziplistToListpack);
    bool good = lp && quicklistAppendEach(q, lp);
    listpackFree(lp);
    return good;
}

static bool readZiplistNode(rdbReader *r, quicklist *q) {
    return appendListpack(q, rdbReadListpack(r, ziplistToListpack));
}

static bool readNode(rdbReader *r, quicklist *q) {
    uint64_t container;
    rdbText t;
    if (!rdbReadCount(r, &container) || (container != CONTAINER_PLAIN && container != CONTAINER_PACKED)) return false;
    if (!rdbReadText(r, &t)) return false;
    bool good;
    if (t.text.len == 0) good = false;
    else if (container == CONTAINER_PLAIN) good = quicklistAppendPlain(q, t.text);
    else good = appendListpack(q, rdbTextTakeListpack(&t));
    rdbTextFree(&t);
    return good;
}

static bool readParts(rdbReader *r, quicklist *q, bool (*part)(rdbReader *r, quicklist *q)) {
    uint64_t n;
    if (!rdbReadCount(r, &n)) return false;
    for (; n; n--) {
        if (!part(r, q)) return false;
        longLoopStep();
    }
    return true;
}

static bool readList(rdbReader *r, unsigned rdb_type, quicklist *q) {
    switch (rdb_type) {
    case RDB_TYPE_LIST: return readParts(r, q, readElement);
    case RDB_TYPE_LIST_ZIPLIST: return readElementsOfZiplist(r, q);
    case RDB_TYPE_LIST_QUICKLIST: return readParts(r, q, readZiplistNode);
    case RDB_TYPE_LIST_QUICKLIST_2: return readParts(r, q, readNode);
    default: return false;
    }
}

void *valueListRdbRead(rdbReader *r, unsigned rdb_type, int *encoding) {
    quicklist *q = valueListQuicklist();
    if (!readList(r, rdb_type, q) || quicklistCount(q) == 0) {
        quicklistFree(q);
        return NULL;
    }
    uint8_t *lp = rdb_type == RDB_TYPE_LIST_ZIPLIST
                      ? NULL
                      : quicklistToListpackTake(q, (int)object_settings.list_max_listpack_size, false);
    *encoding = lp ? OBJ_ENC_LISTPACK : OBJ_ENC_QUICKLIST;
    return lp ? (void *)lp : (void *)q;
}
