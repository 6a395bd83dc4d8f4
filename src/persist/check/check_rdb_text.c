/* check_rdb_text.c -- makes bytes of a snapshot printable, on a line or in JSON.
 *
 * Not here    the contents of lines (check_rdb_pass.c, check_rdb_report.c).
 * Threads     any.
 * Invariants  1. The text is ASCII without control characters. It has at most four times TEXT_MAX bytes, and "...".
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
    bool known = rdb_type >= 0 && rdb_type < RDB_TYPES && rdb_types[rdb_type].name;
    return known ? rdb_types[rdb_type].name : "unknown";
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
