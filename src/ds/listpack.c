/* listpack.c -- strings and integers one after another in one block.
 *
 *     0        4      6
 *     | bytes  | count| entry | entry | ... | ff |        bytes: the total, count: ffff if not known; little endian
 *
 *     entry    | first byte, rest of the head | text or integer | backlen |
 *
 *     first byte   then                         first byte   then
 *     0xxxxxxx     nothing: 0 to 127            f0           4 bytes of length, text
 *     10xxxxxx     text of 0 to 63 bytes        f1 f2 f3 f4  integer of 2, 3, 4, 8 bytes
 *     110xxxxx     1 byte: 13-bit integer       f5 .. fe     nothing that is known
 *     1110xxxx     1 byte: 12-bit length, text  ff           the end
 *
 * The backlen is the size of the entry up to it, in groups of seven bits, highest first; all its bytes
 * but the first have their top bit set, so that it can be read backwards.
 *
 * listpackNext() and listpackFind() look the first byte up in a table of sizes, which covers all entries but long
 * texts, and the end, without a branch on the kind of entry.
 *
 * Not here    which values a type keeps in it, how many, and when it becomes another structure.
 * Threads     one owner at a time.
 * Invariants  1. The header's bytes are the size; the last one is ff; the count is right, or ffff.
 *             2. Each entry's backlen has its size, in as few bytes as possible.
 *             3. Entries begin at offset 6, so the eight bytes that end with an entry's integer can be read.
 * Cost        next, prev, get: O(1). Index, find: entries walked. Changes: bytes after the position.
 * Tests       tests/unit/ds/listpack_test.c, tests/fuzz/listpack_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"
#include "endian.h"
#include "panic.h"
#include "zmalloc.h"

enum { HEADER = 6, COUNT_AT = 4, COUNT_UNKNOWN = 0xffff, END = 0xff, PAGE = 4096 };

/* First bytes of entries. */
enum {
    INT7_BELOW = 0x80,
    TEXT6_BELOW = 0xc0,
    INT13_BELOW = 0xe0,
    TEXT12_BELOW = 0xf0,
    TEXT32 = 0xf0,
    INT16 = 0xf1,
    INT24 = 0xf2,
    INT32 = 0xf3,
    INT64 = 0xf4
};
enum { TEXT6_MAX = 63, TEXT12_MAX = 4095 };

/* Size of an entry with its backlen, which is then one byte, by its first byte; 0: compute it. */
static const uint8_t spans[256] = {
    2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
    2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
    2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
    2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
    2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,
    19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,
    3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  3,  0,  0,  0,  0,  0,  0,  0,  0,
    0,  0,  0,  0,  0,  0,  0,  0,  0,  4,  5,  6,  10, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
};

static const uint8_t wide_bytes[] = {2, 3, 4, 8}; /* of INT16 .. INT64 */

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static inline size_t backlenBytes(uint64_t size) {
    return size < 1u << 7 ? 1 : size < 1u << 14 ? 2 : size < 1u << 21 ? 3 : size < 1u << 28 ? 4 : 5;
}

static void writeBacklen(uint8_t *out, size_t size) {
    size_t n = backlenBytes(size);
    for (size_t i = n; i-- > 0; size >>= 7) out[i] = (uint8_t)((size & 127) | (i ? 128 : 0));
}

static inline size_t text12Length(const uint8_t *at) { return (size_t)(at[0] & 15) << 8 | at[1]; }

/* Returns the size of a text entry with a head of two or five bytes. */
static __attribute__((noinline)) size_t longSpan(const uint8_t *at) {
    debugAssert(*at >= INT13_BELOW && *at <= TEXT32);
    size_t size = *at < TEXT12_BELOW ? 2 + text12Length(at) : 5 + (size_t)loadLe32(at + 1);
    return size + backlenBytes(size);
}

static inline size_t spanOf(const uint8_t *at) {
    size_t span = spans[*at];
    return likely(span) ? span : longSpan(at);
}

/* Returns an integer of more than seven bits. */
static inline int64_t wideInteger(const uint8_t *at) {
    if (at[0] < INT13_BELOW) return (int64_t)(((at[0] & 31) << 8 | at[1]) ^ 0x1000) - 0x1000;
    /* Loads the eight bytes that end with the integer's last byte, and shifts the other ones out. */
    size_t n = wide_bytes[at[0] - INT16];
    return (int64_t)loadLe64(at + 1 + n - 8) >> (64 - 8 * n);
}

static inline listpackValue valueOf(const uint8_t *at) {
    unsigned b = at[0];
    const char *text = (const char *)at;
    if (b < INT7_BELOW) return (listpackValue){NULL, 0, b};
    if (b < TEXT6_BELOW) return (listpackValue){text + 1, b & TEXT6_MAX, 0};
    if (b < INT13_BELOW || b > TEXT32) return (listpackValue){NULL, 0, wideInteger(at)};
    if (b < TEXT12_BELOW) return (listpackValue){text + 2, text12Length(at), 0};
    return (listpackValue){text + 5, loadLe32(at + 1), 0};
}

listpackValue listpackGet(const uint8_t *at) { return valueOf(at); }

slice listpackText(const uint8_t *at, char buf[LONG_STR_SIZE]) {
    listpackValue v = valueOf(at);
    if (v.str) return sliceOf(v.str, v.len);
    return sliceOf(buf, ll2string(buf, v.num));
}

static inline bool parseInteger(slice text, int64_t *num) {
    long long v;
    if (text.len == 0 || text.len > 20 || (unsigned char)text.ptr[0] > '9' || !string2ll(text.ptr, text.len, &v))
        return false;
    *num = v;
    return true;
}

bool listpackInteger(const uint8_t *at, int64_t *num) {
    listpackValue v = valueOf(at);
    if (v.str) return parseInteger(sliceOf(v.str, v.len), num);
    *num = v.num;
    return true;
}

bool listpackEquals(const uint8_t *at, slice value) {
    listpackValue v = valueOf(at);
    int64_t num;
    if (v.str) return sliceEq(sliceOf(v.str, v.len), value);
    return parseInteger(value, &num) && num == v.num;
}

/* ---- New entries ------------------------------------------------------------------------------------------------- */

/* An encoded value: the head (for an integer, all of it), the text and the backlen. */
typedef struct encoding {
    uint8_t head[9];
    uint8_t head_len;
    slice text;
    size_t span;
} encoding;

static inline void seal(encoding *e) {
    size_t size = e->head_len + e->text.len;
    e->span = size + backlenBytes(size);
}

static void encodeInteger(encoding *e, int64_t num) {
    uint64_t bits = (uint64_t)num;
    e->text = sliceOf(NULL, 0);
    if (num >= 0 && num < 128) {
        e->head[0] = (uint8_t)num;
        e->head_len = 1;
    } else if (num >= -4096 && num < 4096) {
        e->head[0] = (uint8_t)(0xc0 | (bits >> 8 & 31));
        e->head[1] = (uint8_t)bits;
        e->head_len = 2;
    } else {
        unsigned kind = num == (int16_t)num ? 0 : num >= -(1 << 23) && num < 1 << 23 ? 1 : num == (int32_t)num ? 2 : 3;
        e->head[0] = (uint8_t)(INT16 + kind);
        storeLe64(e->head + 1, bits);
        e->head_len = (uint8_t)(1 + wide_bytes[kind]);
    }
    seal(e);
}

static void encodeText(encoding *e, slice text) {
    e->text = text;
    if (text.len <= TEXT6_MAX) {
        e->head[0] = (uint8_t)(0x80 | text.len);
        e->head_len = 1;
    } else if (text.len <= TEXT12_MAX) {
        e->head[0] = (uint8_t)(0xe0 | text.len >> 8);
        e->head[1] = (uint8_t)text.len;
        e->head_len = 2;
    } else {
        e->head[0] = TEXT32;
        storeLe32(e->head + 1, (uint32_t)text.len);
        e->head_len = 5;
    }
    seal(e);
}

/* Encodes a value whose length has been checked. */
static inline void encodeValue(encoding *e, slice value) {
    int64_t num;
    if (parseInteger(value, &num)) encodeInteger(e, num);
    else encodeText(e, value);
}

/* Encodes a value. Returns false if it is larger than any listpack. */
static bool encode(encoding *e, slice value) {
    if (value.len > LISTPACK_BYTES_MAX) return false;
    encodeValue(e, value);
    return true;
}

static inline void writeEntry(uint8_t *at, const encoding *e) {
    size_t size = e->head_len + e->text.len;
    at[0] = e->head[0];
    if (e->head_len > 1) memcpy(at + 1, e->head + 1, e->head_len - 1u);
    if (e->text.len) memcpy(at + e->head_len, e->text.ptr, e->text.len);
    if (likely(size < 128)) at[size] = (uint8_t)size;
    else writeBacklen(at + size, size);
}

size_t listpackEntryBytes(slice value) {
    encoding e;
    return encode(&e, value) ? e.span : listpackEntryBytesMax(value.len);
}

size_t listpackIntegerBytes(int64_t num) {
    if (num >= 0 && num < 128) return 2;
    encoding e;
    encodeInteger(&e, num);
    return e.span;
}

size_t listpackEntryBytesMax(size_t len) {
    size_t size = (len <= TEXT6_MAX ? 1 : len <= TEXT12_MAX ? 2 : 5) + len;
    return size + backlenBytes(size);
}

/* ---- The block --------------------------------------------------------------------------------------------------- */

/* Hides the requested size from the compiler, as all usable bytes of a block are used. */
static inline uint8_t *unknownSize(void *p) {
    __asm__("" : "+r"(p));
    return p;
}

static void setHeader(uint8_t *lp, size_t bytes, size_t count) {
    storeLe32(lp, (uint32_t)bytes);
    storeLe16(lp + COUNT_AT, (uint16_t)(count < COUNT_UNKNOWN ? count : COUNT_UNKNOWN));
}

static inline size_t knownCount(const uint8_t *lp) { return loadLe16(lp + COUNT_AT); }

/* Returns the count after removing `removed` and adding `added` entries. An unknown count stays unknown. */
static inline size_t countAfter(const uint8_t *lp, size_t removed, size_t added) {
    size_t count = knownCount(lp);
    return count == COUNT_UNKNOWN ? count : count - removed + added;
}

uint8_t *listpackCreate(size_t capacity) {
    if (capacity > LISTPACK_BYTES_MAX) return NULL;
    if (capacity < LISTPACK_BYTES_MIN) capacity = LISTPACK_BYTES_MIN;
    uint8_t *lp = unknownSize(capacity > PAGE ? ztrymalloc(capacity) : zmalloc(capacity));
    if (!lp) return NULL;
    setHeader(lp, LISTPACK_BYTES_MIN, 0);
    lp[HEADER] = END;
    return lp;
}

void listpackFree(uint8_t *lp) { zfree(lp); }

uint8_t *listpackDup(const uint8_t *lp) {
    size_t bytes = listpackBytes(lp);
    uint8_t *copy = unknownSize(ztrymalloc(bytes));
    if (copy) memcpy(copy, lp, bytes);
    return copy;
}

uint8_t *listpackOfBlockTake(void *block) { return unknownSize(block); }

/* Grows the block to at least `bytes` bytes. Returns NULL if that is too many; nothing has changed. */
static uint8_t *listpackReserve(uint8_t *lp, size_t bytes) {
    if (bytes > LISTPACK_BYTES_MAX) return NULL;
    if (bytes <= zmallocSize(lp)) return lp;
    return unknownSize(ztryrealloc(lp, bytes));
}

static uint8_t *shrinkAbove(uint8_t *lp, size_t bytes, size_t capacity_max) {
    size_t capacity = zmallocSize(lp);
    if (capacity <= capacity_max || zmallocGoodSize(bytes) >= capacity) return lp;
    uint8_t *smaller = unknownSize(ztryrealloc(lp, bytes));
    return smaller ? smaller : lp;
}

/* A quarter may stay unused: the allocator has four sizes per doubling, so that removing and adding one entry does not
 * move the block each time. */
static uint8_t *shrink(uint8_t *lp, size_t bytes) { return shrinkAbove(lp, bytes, bytes + bytes / 3); }

uint8_t *listpackShrinkToFit(uint8_t *lp) {
    size_t bytes = listpackBytes(lp);
    return shrinkAbove(lp, bytes, bytes);
}

/* Replaces the `removed` bytes at offset `at` by `added` bytes, which the caller then writes, as well as the count. */
static uint8_t *splice(uint8_t *lp, size_t at, size_t removed, size_t added) {
    size_t bytes = listpackBytes(lp), after = bytes - removed + added;
    if (added == removed) return lp;
    if (added > removed && !(lp = listpackReserve(lp, after))) return NULL;
    memmove(lp + at + added, lp + at + removed, bytes - at - removed);
    if (added < removed) lp = shrink(lp, after);
    storeLe32(lp, (uint32_t)after);
    return lp;
}

size_t listpackBytes(const uint8_t *lp) { return loadLe32(lp); }

static size_t walkCount(const uint8_t *lp) {
    size_t n = 0;
    for (const uint8_t *at = lp + HEADER; *at != END; at += spanOf(at)) n++;
    return n;
}

size_t listpackCount(const uint8_t *lp) {
    size_t count = knownCount(lp);
    return likely(count != COUNT_UNKNOWN) ? count : walkCount(lp);
}

size_t listpackRecount(uint8_t *lp) {
    size_t count = listpackCount(lp);
    setHeader(lp, listpackBytes(lp), count);
    return count;
}

bool listpackMayGrow(const uint8_t *lp, size_t add, size_t limit) {
    if (limit > LISTPACK_BYTES_MAX) limit = LISTPACK_BYTES_MAX;
    size_t bytes = listpackBytes(lp);
    return bytes <= limit && add <= limit - bytes;
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

static inline const uint8_t *unlessEnd(const uint8_t *at) { return *at == END ? NULL : at; }

/* Returns the entry that ends at `end`. */
static inline const uint8_t *entryBefore(const uint8_t *end) {
    size_t size = end[-1] & 127, n = 1;
    for (const uint8_t *b = end - 1; unlikely(*b & 128); n++) size |= (size_t)(*--b & 127) << 7 * n;
    return end - n - size;
}

const uint8_t *listpackFirst(const uint8_t *lp) { return unlessEnd(lp + HEADER); }

const uint8_t *listpackLast(const uint8_t *lp) {
    const uint8_t *end = lp + listpackBytes(lp) - 1;
    return end == lp + HEADER ? NULL : entryBefore(end);
}

const uint8_t *listpackNext(const uint8_t *at) { return unlessEnd(at + spanOf(at)); }
const uint8_t *listpackPrev(const uint8_t *lp, const uint8_t *at) { return at == lp + HEADER ? NULL : entryBefore(at); }

static const uint8_t *forwards(const uint8_t *lp, size_t n) {
    const uint8_t *at = lp + HEADER;
    for (; n && *at != END; n--) at += spanOf(at);
    return unlessEnd(at);
}

/* Returns the n-th entry from the end; 1 is the last. */
static const uint8_t *backwards(const uint8_t *lp, size_t n) {
    const uint8_t *at = lp + listpackBytes(lp) - 1;
    for (; n; n--) {
        if (at == lp + HEADER) return NULL;
        at = entryBefore(at);
    }
    return at;
}

const uint8_t *listpackIndex(const uint8_t *lp, long index) {
    size_t count = knownCount(lp), n = (size_t)index;
    if (count == COUNT_UNKNOWN) return index < 0 ? backwards(lp, 0 - n) : forwards(lp, n);
    if (index < 0) n += count; /* still out of range if it was too low */
    if (n >= count) return NULL;
    return n <= count / 2 ? forwards(lp, n) : backwards(lp, count - n);
}

/* ---- Find -------------------------------------------------------------------------------------------------------- */

/* Steps over `n` entries; returns NULL at the end. The end byte's size in the table is 0 too, so that it needs no test
 * of its own. */
static inline const uint8_t *listpackStep(const uint8_t *at, size_t n) {
    do {
        size_t span = spans[*at];
        if (unlikely(span == 0)) {
            if (*at == END) return NULL;
            span = longSpan(at);
        }
        at += span;
    } while (--n);
    return unlessEnd(at);
}

/* For a text that is no integer: only texts can be equal, short ones only if their first byte is. The last byte is
 * compared first: names of the same length differ there more often than at their front. */
static const uint8_t *findText(const uint8_t *at, slice value, size_t skip) {
    unsigned head = value.len <= TEXT6_MAX ? 0x80 | (unsigned)value.len : END;
    uint8_t last = value.len ? (uint8_t)value.ptr[value.len - 1] : (uint8_t)head;
    for (; at; at = listpackStep(at, skip + 1)) {
        if (*at == head) {
            if (at[value.len] == last && bytesEq((const char *)at + 1, value.ptr, value.len)) return at;
        } else if (*at >= INT13_BELOW) {
            listpackValue v = valueOf(at);
            if (v.str && v.len == value.len && bytesEq(v.str, value.ptr, v.len)) return at;
        }
    }
    return NULL;
}

static const uint8_t *findInteger(const uint8_t *at, int64_t num, slice value, size_t skip) {
    for (; at; at = listpackStep(at, skip + 1)) {
        listpackValue v = valueOf(at);
        if (v.str ? sliceEq(sliceOf(v.str, v.len), value) : v.num == num) return at;
    }
    return NULL;
}

const uint8_t *listpackFind(const uint8_t *from, slice value, size_t skip) {
    int64_t num;
    return parseInteger(value, &num) ? findInteger(from, num, value, skip) : findText(from, value, skip);
}

/* ---- Iterator ---------------------------------------------------------------------------------------------------- */

listpackIter listpackIterBegin(const uint8_t *lp, bool backward) {
    return (listpackIter){lp, backward ? listpackLast(lp) : listpackFirst(lp), backward};
}

bool listpackIterNext(listpackIter *it, listpackValue *value, const uint8_t **at) {
    const uint8_t *here = it->at;
    if (!here) return false;
    *value = valueOf(here);
    if (at) *at = here;
    it->at = it->backward ? listpackPrev(it->lp, here) : listpackNext(here);
    return true;
}

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

/* Replaces the `removed` bytes, which are `entries` entries, at offset `at` by an entry. */
static uint8_t *listpackPut(uint8_t *lp, size_t at, size_t removed, size_t entries, const encoding *e) {
    if (!(lp = splice(lp, at, removed, e->span))) return NULL;
    writeEntry(lp + at, e);
    setHeader(lp, listpackBytes(lp), countAfter(lp, entries, 1));
    return lp;
}

static uint8_t *append(uint8_t *lp, const encoding *e) {
    size_t bytes = listpackBytes(lp);
    if (!(lp = listpackReserve(lp, bytes + e->span))) return NULL;
    writeEntry(lp + bytes - 1, e);
    lp[bytes + e->span - 1] = END;
    setHeader(lp, bytes + e->span, countAfter(lp, 0, 1));
    return lp;
}

uint8_t *listpackAppend(uint8_t *lp, slice value) {
    encoding e;
    return encode(&e, value) ? append(lp, &e) : NULL;
}

uint8_t *listpackAppendInteger(uint8_t *lp, int64_t num) {
    encoding e;
    encodeInteger(&e, num);
    return append(lp, &e);
}

uint8_t *listpackPrepend(uint8_t *lp, slice value) {
    encoding e;
    return encode(&e, value) ? listpackPut(lp, HEADER, 0, 0, &e) : NULL;
}

uint8_t *listpackAppendBatch(uint8_t *lp, const slice *values, size_t n) {
    size_t bytes = listpackBytes(lp), most = bytes, count = countAfter(lp, 0, n);
    for (size_t i = 0; i < n; i++) {
        if (values[i].len > LISTPACK_BYTES_MAX) return NULL;
        most += listpackEntryBytesMax(values[i].len);
        if (most > LISTPACK_BYTES_MAX) return NULL;
    }
    if (!(lp = listpackReserve(lp, most))) return NULL;
    for (size_t i = 0; i < n; i++) {
        encoding e;
        encodeValue(&e, values[i]);
        writeEntry(lp + bytes - 1, &e);
        bytes += e.span;
    }
    lp[bytes - 1] = END;
    setHeader(lp, bytes, count);
    return bytes < most ? shrink(lp, bytes) : lp;
}

bool listpackWriteBegin(listpackWriter *w, uint8_t *lp, size_t capacity) {
    size_t bytes = listpackBytes(lp);
    if (capacity > LISTPACK_BYTES_MAX || !(lp = listpackReserve(lp, bytes + capacity))) return false;
    *w = (listpackWriter){.lp = lp, .bytes = bytes, .most = bytes + capacity};
    return true;
}

static inline void writeNext(listpackWriter *w, const encoding *e) {
    debugAssert(w->bytes + e->span <= w->most);
    writeEntry(w->lp + w->bytes - 1, e);
    w->bytes += e->span;
    w->added++;
}

void listpackWriteText(listpackWriter *w, slice value) {
    encoding e;
    encodeValue(&e, value);
    writeNext(w, &e);
}

void listpackWriteInteger(listpackWriter *w, int64_t num) {
    if (num >= 0 && num < 128) {
        debugAssert(w->bytes + 2 <= w->most);
        w->lp[w->bytes - 1] = (uint8_t)num;
        w->lp[w->bytes] = 1;
        w->bytes += 2;
        w->added++;
        return;
    }
    encoding e;
    encodeInteger(&e, num);
    writeNext(w, &e);
}

uint8_t *listpackWriteEnd(const listpackWriter *w) {
    w->lp[w->bytes - 1] = END;
    setHeader(w->lp, w->bytes, countAfter(w->lp, 0, w->added));
    return w->lp;
}

static uint8_t *insert(uint8_t *lp, const uint8_t **at, listpackWhere where, const encoding *e) {
    size_t offset = (size_t)(*at - lp), span = spanOf(*at);
    bool replace = where == LISTPACK_REPLACE;
    if (where == LISTPACK_AFTER) offset += span;
    if (!(lp = listpackPut(lp, offset, replace ? span : 0, replace, e))) return NULL;
    *at = lp + offset;
    return lp;
}

uint8_t *listpackInsert(uint8_t *lp, const uint8_t **at, listpackWhere where, slice value) {
    encoding e;
    return encode(&e, value) ? insert(lp, at, where, &e) : NULL;
}

uint8_t *listpackInsertInteger(uint8_t *lp, const uint8_t **at, listpackWhere where, int64_t num) {
    encoding e;
    encodeInteger(&e, num);
    return insert(lp, at, where, &e);
}

uint8_t *listpackDelete(uint8_t *lp, const uint8_t **at, size_t n) {
    size_t offset = (size_t)(*at - lp), removed = 0;
    const uint8_t *to = *at;
    for (; removed < n && *to != END; removed++) to += spanOf(to);
    lp = splice(lp, offset, (size_t)(to - *at), 0);
    setHeader(lp, listpackBytes(lp), countAfter(lp, removed, 0));
    *at = unlessEnd(lp + offset);
    return lp;
}

uint8_t *listpackDeleteRange(uint8_t *lp, long index, size_t n) {
    const uint8_t *at = listpackIndex(lp, index);
    return at ? listpackDelete(lp, &at, n) : lp;
}

size_t listpackCountEqual(const uint8_t *lp, slice value) {
    size_t n = 0;
    for (const uint8_t *at = unlessEnd(lp + HEADER); at && (at = listpackFind(at, value, 0)); at = listpackNext(at))
        n++;
    return n;
}

/* Kept entries move down to `to` in runs; `from` is the start of the next run. */
uint8_t *listpackDeleteEqual(uint8_t *lp, slice value, size_t skip, size_t max, size_t *removed) {
    uint8_t *to = lp + HEADER;
    const uint8_t *from = to, *end = lp + listpackBytes(lp), *at = unlessEnd(from);
    *removed = 0;
    while (*removed < max && at && (at = listpackFind(at, value, 0))) {
        const uint8_t *after_match = at + spanOf(at);
        if (skip) {
            skip--;
        } else {
            memmove(to, from, (size_t)(at - from));
            to += at - from;
            from = after_match;
            ++*removed;
        }
        at = unlessEnd(after_match);
    }
    if (*removed == 0) return lp;
    memmove(to, from, (size_t)(end - from));
    size_t bytes = (size_t)(to - lp) + (size_t)(end - from);
    setHeader(lp, bytes, countAfter(lp, *removed, 0));
    return shrink(lp, bytes);
}

/* ---- Changes in place at either end ------------------------------------------------------------------------------ */

size_t listpackAppendWithin(uint8_t *lp, slice value, size_t capacity) {
    encoding e;
    if (!encode(&e, value)) return 0;
    if (e.span > capacity) return 0;
    size_t bytes = listpackBytes(lp);
    writeEntry(lp + bytes - 1, &e);
    lp[bytes + e.span - 1] = END;
    setHeader(lp, bytes + e.span, countAfter(lp, 0, 1));
    return e.span;
}

uint8_t *listpackPrependWithin(uint8_t *lp, slice value, size_t capacity) {
    encoding e;
    if (!encode(&e, value)) return NULL;
    if (e.span > capacity) return NULL;
    size_t bytes = listpackBytes(lp), count = countAfter(lp, 0, 1);
    uint8_t *first = lp - e.span;
    writeEntry(first + HEADER, &e); /* overwrites the old header */
    setHeader(first, bytes + e.span, count);
    return first;
}

uint8_t *listpackDropFirst(uint8_t *lp, size_t n) {
    size_t bytes = listpackBytes(lp), count = countAfter(lp, n, 0);
    const uint8_t *to = lp + HEADER;
    for (size_t i = 0; i < n; i++) to += spanOf(to);
    size_t dropped = (size_t)(to - lp) - HEADER;
    setHeader(lp + dropped, bytes - dropped, count);
    return lp + dropped;
}

void listpackDropLast(uint8_t *lp, size_t n) {
    const uint8_t *end = lp + listpackBytes(lp) - 1;
    for (size_t i = 0; i < n; i++) end = entryBefore(end);
    size_t bytes = (size_t)(end - lp);
    setHeader(lp, bytes + 1, countAfter(lp, n, 0));
    lp[bytes] = END;
}

/* ---- Bare -------------------------------------------------------------------------------------------------------- */

/* Returns the size of an entry without its backlen. The sizes in the table include one byte of it. */
static inline size_t bareSpan(const uint8_t *at) {
    size_t span = spans[*at];
    if (likely(span)) return span - 1;
    return *at < TEXT12_BELOW ? 2 + text12Length(at) : 5 + (size_t)loadLe32(at + 1);
}

const uint8_t *listpackBareNext(const uint8_t *at) { return unlessEnd(at + bareSpan(at)); }

uint8_t *listpackBare(const uint8_t *lp) {
    uint8_t scratch[LISTPACK_BARE_MAX], *to = scratch + HEADER;
    serverAssert(listpackBytes(lp) <= LISTPACK_BARE_MAX);
    for (const uint8_t *at = lp + HEADER; *at != END; at += spanOf(at)) {
        size_t n = bareSpan(at);
        memcpy(to, at, n);
        to += n;
    }
    *to++ = END;
    size_t bytes = (size_t)(to - scratch);
    setHeader(scratch, bytes, knownCount(lp));
    uint8_t *bare = zmalloc(bytes);
    memcpy(bare, scratch, bytes);
    return bare;
}

uint8_t *listpackOfBare(const uint8_t *bare) {
    size_t bytes = listpackBytes(bare), count = knownCount(bare);
    for (const uint8_t *at = bare + HEADER; *at != END; at += bareSpan(at)) bytes += backlenBytes(bareSpan(at));
    uint8_t *lp = unknownSize(zmalloc(bytes)), *to = lp + HEADER;
    for (const uint8_t *at = bare + HEADER; *at != END;) {
        size_t n = bareSpan(at);
        memcpy(to, at, n);
        writeBacklen(to + n, n);
        to += n + backlenBytes(n);
        at += n;
    }
    *to = END;
    setHeader(lp, bytes, count);
    return lp;
}

bool listpackBareSet(uint8_t *bare, const uint8_t *at, int64_t num) {
    encoding e;
    encodeInteger(&e, num);
    if (e.head_len != bareSpan(at)) return false;
    memcpy(bare + (at - bare), e.head, e.head_len);
    return true;
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

/* Returns the sum if both counts are known, else UNKNOWN. */
static size_t countOfBoth(const uint8_t *a, const uint8_t *b) {
    size_t m = knownCount(a), n = knownCount(b);
    return m == COUNT_UNKNOWN || n == COUNT_UNKNOWN ? COUNT_UNKNOWN : m + n;
}

/* Inserts the entries of `other` at offset `at`. */
static uint8_t *putAll(uint8_t *lp, size_t at, const uint8_t *other) {
    size_t added = listpackBytes(other) - LISTPACK_BYTES_MIN, count = countOfBoth(lp, other);
    if (!(lp = splice(lp, at, 0, added))) return NULL;
    memcpy(lp + at, other + HEADER, added);
    setHeader(lp, listpackBytes(lp), count);
    return lp;
}

uint8_t *listpackConcat(uint8_t *lp, const uint8_t *other) { return putAll(lp, listpackBytes(lp) - 1, other); }

uint8_t *listpackMergeTake(uint8_t *first, uint8_t *second) {
    bool grow_first = listpackBytes(first) >= listpackBytes(second);
    uint8_t *both = grow_first ? listpackConcat(first, second) : putAll(second, HEADER, first);
    if (both) listpackFree(grow_first ? second : first);
    return both;
}

/* ---- Trust ------------------------------------------------------------------------------------------------------- */

/* Returns the size of the entry, 0 if it is not complete within the `left` bytes before the end byte; left > 0. */
static size_t checkedSpan(const uint8_t *at, size_t left) {
    size_t span = spans[at[0]];
    if (likely(span)) return span <= left && at[span - 1] == span - 1 ? span : 0;
    uint64_t size;
    uint8_t backlen[5];
    if (at[0] >= INT13_BELOW && at[0] < TEXT12_BELOW) size = left < 2 ? UINT64_MAX : 2 + text12Length(at);
    else if (at[0] == TEXT32) size = left < 5 ? UINT64_MAX : 5 + (uint64_t)loadLe32(at + 1);
    else return 0;
    size_t back = backlenBytes(size);
    if (size > left || back > left - size) return 0;
    writeBacklen(backlen, (size_t)size);
    return memcmp(at + size, backlen, back) == 0 ? (size_t)size + back : 0;
}

bool listpackValidate(const uint8_t *bytes, size_t size, bool deep, listpackVisit *visit, void *arg) {
    if (size < LISTPACK_BYTES_MIN || loadLe32(bytes) != size || bytes[size - 1] != END) return false;
    if (!deep) return true;
    const uint8_t *at = bytes + HEADER, *end = bytes + size - 1;
    size_t count = 0;
    while (at < end) {
        size_t span = checkedSpan(at, (size_t)(end - at));
        if (span == 0 || (visit && !visit(arg, at))) return false;
        at += span;
        count++;
    }
    return knownCount(bytes) == COUNT_UNKNOWN || knownCount(bytes) == count;
}
