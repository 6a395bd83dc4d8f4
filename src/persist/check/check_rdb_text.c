/* check_rdb_text.c -- bytes of a snapshot made fit for a line or for JSON.
 *
 * Not here    what the lines say (check_rdb_pass.c, check_rdb_report.c).
 * Threads     any.
 * Invariants  1. What comes out is ASCII without control characters, and at most four times TEXT_MAX bytes.
 * Tests       tests/unit/persist/check/check_rdb_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_text.h"

#include "rdb_value.h"

#define TEXT_MAX 4096 /* bytes of a key that are shown */

sds checkRdbText(slice bytes) {
    sds out = sdsEmpty();
    size_t n = bytes.len < TEXT_MAX ? bytes.len : TEXT_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned char ch = (unsigned char)bytes.ptr[i];
        switch (ch) {
        case '\\': out = sdsCat(out, "\\\\"); break;
        case '\n': out = sdsCat(out, "\\n"); break;
        case '\r': out = sdsCat(out, "\\r"); break;
        case '\t': out = sdsCat(out, "\\t"); break;
        default:
            if (ch >= ' ' && ch < 127) out = sdsCatLen(out, &bytes.ptr[i], 1);
            else out = sdsCatPrintf(out, "\\x%02x", ch);
        }
    }
    return n < bytes.len ? sdsCat(out, "...") : out;
}

const char *checkRdbTypeName(int rdb_type) {
    static const char *const names[] = {
        [RDB_TYPE_STRING] = "string",
        [RDB_TYPE_LIST] = "list-linked",
        [RDB_TYPE_SET] = "set-hashtable",
        [RDB_TYPE_ZSET] = "zset-v1",
        [RDB_TYPE_HASH] = "hash-hashtable",
        [RDB_TYPE_ZSET_2] = "zset-v2",
        [RDB_TYPE_MODULE_OLD] = "module-pre-release",
        [RDB_TYPE_MODULE] = "module-value",
        [RDB_TYPE_HASH_ZIPMAP] = "hash-zipmap",
        [RDB_TYPE_LIST_ZIPLIST] = "list-ziplist",
        [RDB_TYPE_SET_INTSET] = "set-intset",
        [RDB_TYPE_ZSET_ZIPLIST] = "zset-ziplist",
        [RDB_TYPE_HASH_ZIPLIST] = "hash-ziplist",
        [RDB_TYPE_LIST_QUICKLIST] = "quicklist",
        [RDB_TYPE_STREAM] = "stream",
        [RDB_TYPE_HASH_LISTPACK] = "hash-listpack",
        [RDB_TYPE_ZSET_LISTPACK] = "zset-listpack",
        [RDB_TYPE_LIST_QUICKLIST_2] = "quicklist-v2",
        [RDB_TYPE_STREAM_2] = "stream-v2",
        [RDB_TYPE_SET_LISTPACK] = "set-listpack",
        [RDB_TYPE_STREAM_3] = "stream-v3",
        [RDB_TYPE_HASH_2] = "hash-volatile-items",
    };
    bool known = rdb_type >= 0 && rdb_type < (int)array_len(names) && names[rdb_type];
    return known ? names[rdb_type] : "unknown";
}

void checkRdbPutJson(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\') fprintf(out, "\\%c", *p);
        else if (*p < ' ') fprintf(out, "\\u%04x", *p);
        else fputc(*p, out);
    }
    fputc('"', out);
}
