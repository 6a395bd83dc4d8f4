/* ziplist.c -- reads two old layouts: ziplist and zipmap.
 *
 *   ziplist  | size 4 | offset of last 4 | count 2 | entry | entry | ... | ff |             little endian
 *   entry    | size of the entry before: 1 byte below fe, or fe and 4 bytes | head | data |
 *
 *     head      data                              head       data
 *     00llllll  text of so many bytes             c0 d0 e0   integer of 2, 4, 8 bytes
 *     01llllll  1 more byte of length, text       f0 fe      integer of 3, 1 bytes
 *     10------  4 bytes of length, big endian;    f1 .. fd   nothing: 0 to 12
 *               text
 *
 *   zipmap   | pairs 1 | pair | pair | ... | ff |
 *   pair     | length | field | length | unused 1 | value | unused bytes |   length: 1 byte below fe, or fe and 4 bytes
 *
 * Each is read twice: once to validate it and to bound the size of the listpack, once to append the elements.
 *
 * Threads     any.
 * Cost        O(n); one block, and its shrinking.
 * Tests       tests/unit/ds/ziplist_test.c, tests/fuzz/ziplist_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"

#include "endian.h"
#include "panic.h"

enum { ZIPLIST_HEADER = 10, LAST_AT = 4, COUNT_AT = 8, COUNT_UNKNOWN = 0xffff, END = 0xff, WIDE = 0xfe };
enum { ZIPMAP_COUNT_UNKNOWN = 254, ZIPMAP_BYTES_MIN = 2 };

/* The bytes left to read, without the end byte. */
typedef struct byteReader {
    const uint8_t *p, *end;
} byteReader;

static bool ziplistTake(byteReader *r, size_t n, const uint8_t **out) {
    if ((size_t)(r->end - r->p) < n) return false;
    *out = r->p;
    r->p += n;
    return true;
}

/* Reads one byte, or fe and four: the size of the previous entry, or a length in a zipmap. */
static bool takeShortLength(byteReader *r, size_t *n) {
    const uint8_t *at;
    if (!ziplistTake(r, 1, &at) || *at == END) return false;
    *n = *at;
    if (*at != WIDE) return true;
    if (!ziplistTake(r, 4, &at)) return false;
    *n = loadLe32(at);
    return true;
}

/* Returns a little endian integer, sign extended. */
static int64_t integerOf(const uint8_t *at, size_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, at, bytes);
    return (int64_t)(LE64(bits) << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static bool takeInteger(byteReader *r, size_t bytes, listpackValue *v) {
    const uint8_t *at;
    if (!ziplistTake(r, bytes, &at)) return false;
    *v = (listpackValue){NULL, 0, integerOf(at, bytes)};
    return true;
}

static bool takeText(byteReader *r, size_t len, listpackValue *v) {
    const uint8_t *at;
    if (!ziplistTake(r, len, &at)) return false;
    *v = (listpackValue){(const char *)at, len, 0};
    return true;
}

/* Reads head and data of a ziplist's entry. */
static bool ziplistTakeValue(byteReader *r, listpackValue *v) {
    const uint8_t *at, *more;
    if (!ziplistTake(r, 1, &at)) return false;
    switch (*at) {
    case 0xc0: return takeInteger(r, 2, v);
    case 0xd0: return takeInteger(r, 4, v);
    case 0xe0: return takeInteger(r, 8, v);
    case 0xf0: return takeInteger(r, 3, v);
    case 0xfe: return takeInteger(r, 1, v);
    default: break;
    }
    if (*at < 0x40) return takeText(r, *at, v);
    if (*at < 0x80) return ziplistTake(r, 1, &more) && takeText(r, (size_t)(*at & 63) << 8 | *more, v);
    if (*at < 0xc0) return ziplistTake(r, 4, &more) && takeText(r, __builtin_bswap32(LE32(loadLe32(more))), v);
    *v = (listpackValue){NULL, 0, *at - 0xf1};
    return *at >= 0xf1 && *at <= 0xfd;
}

static size_t bytesFor(const listpackValue *v) {
    return v->str ? listpackEntryBytesMax(v->len) : 1 + sizeof(int64_t) + 1;
}

/* Appends a value; the listpack has the capacity. */
static uint8_t *ziplistAppend(uint8_t *lp, const listpackValue *v) {
    lp = v->str ? listpackAppend(lp, sliceOf(v->str, v->len)) : listpackAppendInteger(lp, v->num);
    serverAssert(lp);
    return lp;
}

/* ---- Ziplist ----------------------------------------------------------------------------------------------------- */

/* Returns whether the ziplist is valid; if so, *capacity is an upper bound of the listpack's size. */
static bool ziplistCheck(const uint8_t *bytes, size_t size, size_t *capacity) {
    if (size < ZIPLIST_HEADER + 1 || loadLe32(bytes) != size || bytes[size - 1] != END) return false;
    byteReader r = {bytes + ZIPLIST_HEADER, bytes + size - 1};
    size_t count = 0, before = 0, last = ZIPLIST_HEADER;
    *capacity = LISTPACK_BYTES_MIN;
    while (r.p < r.end) {
        listpackValue v;
        size_t announced;
        last = (size_t)(r.p - bytes);
        if (!takeShortLength(&r, &announced) || announced != before || !ziplistTakeValue(&r, &v)) return false;
        before = (size_t)(r.p - bytes) - last;
        *capacity += bytesFor(&v);
        count++;
    }
    size_t announced = loadLe16(bytes + COUNT_AT);
    return loadLe32(bytes + LAST_AT) == last && (announced == count || announced == COUNT_UNKNOWN);
}

uint8_t *ziplistToListpack(const uint8_t *bytes, size_t size) {
    size_t capacity, skipped;
    if (!ziplistCheck(bytes, size, &capacity)) return NULL;
    uint8_t *lp = listpackCreate(capacity);
    if (!lp) return NULL;
    byteReader r = {bytes + ZIPLIST_HEADER, bytes + size - 1};
    listpackValue v;
    while (r.p < r.end && takeShortLength(&r, &skipped) && ziplistTakeValue(&r, &v)) lp = ziplistAppend(lp, &v);
    return listpackShrinkToFit(lp);
}

/* ---- Zipmap ------------------------------------------------------------------------------------------------------ */

/* Rejects a 5-byte length where one byte would do, as older servers did. */
static bool takeMapLength(byteReader *r, size_t *len) {
    const uint8_t *at = r->p;
    return takeShortLength(r, len) && (*at < WIDE || *len >= WIDE);
}

static bool takePair(byteReader *r, listpackValue *field, listpackValue *value) {
    const uint8_t *unused_bytes, *skipped;
    size_t len;
    if (!takeMapLength(r, &len) || !takeText(r, len, field)) return false;
    return takeMapLength(r, &len) && ziplistTake(r, 1, &unused_bytes) && takeText(r, len, value) &&
           ziplistTake(r, *unused_bytes, &skipped);
}

static bool zipmapCheck(const uint8_t *bytes, size_t size, size_t *capacity) {
    if (size < ZIPMAP_BYTES_MIN || bytes[size - 1] != END) return false;
    byteReader r = {bytes + 1, bytes + size - 1};
    size_t pairs = 0;
    *capacity = LISTPACK_BYTES_MIN;
    for (; r.p < r.end; pairs++) {
        listpackValue field, value;
        if (!takePair(&r, &field, &value)) return false;
        *capacity += bytesFor(&field) + bytesFor(&value);
    }
    return pairs > 0 && (bytes[0] == pairs || bytes[0] == ZIPMAP_COUNT_UNKNOWN);
}

uint8_t *zipmapToListpack(const uint8_t *bytes, size_t size) {
    size_t capacity;
    if (!zipmapCheck(bytes, size, &capacity)) return NULL;
    uint8_t *lp = listpackCreate(capacity);
    if (!lp) return NULL;
    byteReader r = {bytes + 1, bytes + size - 1};
    listpackValue field, value;
    while (r.p < r.end && takePair(&r, &field, &value)) lp = ziplistAppend(ziplistAppend(lp, &field), &value);
    return listpackShrinkToFit(lp);
}
