/* rdb_string.c -- writes and reads lengths and strings in the RDB format.
 *
 * Input is not trusted (RESTORE, a file): every length is checked against the bytes that are left before
 * memory is allocated for it.
 *
 * Not here    value types (rdb_value.c); versions and checksums (rdb_value.c, and files).
 * Owns        nothing.
 * Threads     any.
 * Invariants  1. Uncompressed output equals that of the reference server to the byte.
 *             2. Reading allocates at most LZF_EXPANSION_MAX times the input, and lack of memory counts as bad input.
 * Tests       tests/unit/object/rdb_string_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_string.h"

#include "endian.h"
#include "listpack.h"
#include "lzf_encode.h"
#include "zmalloc.h"

#include <limits.h>
#include <lzf.h>
#include <math.h>

enum { LEN_6BIT = 0x00, LEN_14BIT = 0x40, LEN_32BIT = 0x80, LEN_64BIT = 0x81, LEN_ENCODED = 0xc0 };
enum { ENCODING_INT8, ENCODING_INT16, ENCODING_INT32, ENCODING_LZF };

#define INTEGER_DIGITS_MAX 11 /* "-2147483648" */
#define COMPRESS_ABOVE 20
#define COMPRESS_SAVES_MIN 4
#define LZF_EXPANSION_MAX 264 /* bytes: the longest match, which in fact takes three bytes of input */
#define OWN_BLOCK_ABOVE 1024  /* a decompressed value of this size is never an integer or embedded */

/* ---- Writing ---- */

#define LENGTH_BYTES_MAX 9
#define COMPRESSED_HEAD_MAX (1 + 5 + 5) /* LZF compresses less than 2^32 bytes */
#define IN_PLACE_MAX 65536              /* if the buffer grows: it should not become much larger than its content */
#define COPY_AT_ONCE_MAX 1024           /* strings up to this size are written after a single check of the space */
static_assert(LENGTH_BYTES_MAX + COPY_AT_ONCE_MAX <= RDB_WRITER_SIZE_MIN, "head and string fit the buffer");

/* Writes a length at `at`, which has space for the longest form; returns the position after it. */
static inline char *putLength(char *at, uint64_t len) {
    if (len < 1u << 6) {
        at[0] = (char)(LEN_6BIT | len);
        return at + 1;
    }
    if (len < 1u << 14) {
        at[0] = (char)(LEN_14BIT | len >> 8);
        at[1] = (char)len;
        return at + 2;
    }
    if (len <= UINT32_MAX) {
        at[0] = (char)LEN_32BIT;
        storeLe32(at + 1, __builtin_bswap32((uint32_t)len));
        return at + 5;
    }
    at[0] = (char)LEN_64BIT;
    storeLe64(at + 1, __builtin_bswap64(len));
    return at + 9;
}

void rdbWriteLength(rdbWriter *w, uint64_t len) { w->at = putLength(rdbWriterReserve(w, LENGTH_BYTES_MAX), len); }

static bool fitsInteger(long long value) { return value >= INT32_MIN && value <= INT32_MAX; }

static void writeInteger(rdbWriter *w, long long value) {
    char *at = rdbWriterReserve(w, 1 + sizeof(uint32_t));
    bool is_int8 = value >= INT8_MIN && value <= INT8_MAX, is_int16 = value >= INT16_MIN && value <= INT16_MAX;
    at[0] = (char)(LEN_ENCODED | (is_int8 ? ENCODING_INT8 : is_int16 ? ENCODING_INT16 : ENCODING_INT32));
    storeLe32(at + 1, (uint32_t)value);
    w->at = at + (is_int8 ? 2 : is_int16 ? 3 : 5);
}

static char *putCompressedHead(char *at, size_t packed_bytes, size_t raw_bytes) {
    *at = (char)(LEN_ENCODED | ENCODING_LZF);
    return putLength(putLength(at + 1, packed_bytes), raw_bytes);
}

void rdbWriteCompressed(rdbWriter *w, slice packed, size_t raw_bytes) {
    w->at = putCompressedHead(rdbWriterReserve(w, COMPRESSED_HEAD_MAX), packed.len, raw_bytes);
    rdbWriteBytes(w, packed);
}

/* Compresses into the writer's buffer, after the header of the worst case; if the header is shorter, the bytes are
 * moved. Returns false if compression does not pay; nothing was written. */
static bool compressInPlace(rdbWriter *w, slice text) {
    char head[COMPRESSED_HEAD_MAX], *at = rdbWriterReserve(w, COMPRESSED_HEAD_MAX + text.len);
    size_t packed_max = text.len - COMPRESS_SAVES_MIN;
    size_t reserved = (size_t)(putCompressedHead(head, packed_max, text.len) - head);
    size_t packed_bytes = lzfEncode(text.ptr, text.len, at + reserved, packed_max);
    if (packed_bytes == 0) return false;
    size_t needed = (size_t)(putCompressedHead(head, packed_bytes, text.len) - head);
    if (needed < reserved) memmove(at + needed, at + reserved, packed_bytes);
    memcpy(at, head, needed);
    w->at = at + needed + packed_bytes;
    return true;
}

/* Like compressInPlace(), for strings too large for the writer's buffer. */
static bool compressInBlock(rdbWriter *w, slice text) {
    size_t packed_max = text.len - COMPRESS_SAVES_MIN;
    char *packed = ztrymalloc(packed_max);
    size_t packed_bytes = packed ? lzfEncode(text.ptr, text.len, packed, packed_max) : 0;
    if (packed_bytes) rdbWriteCompressed(w, sliceOf(packed, packed_bytes), text.len);
    zfree(packed);
    return packed_bytes > 0;
}

static bool writeCompressed(rdbWriter *w, slice text) {
    if (text.len > UINT_MAX) return false;
    size_t fits = w->flush ? rdbWriterReserveMax(w) : IN_PLACE_MAX;
    return text.len + COMPRESSED_HEAD_MAX <= fits ? compressInPlace(w, text) : compressInBlock(w, text);
}

static void writeText(rdbWriter *w, slice text) {
    if (unlikely(text.len > COPY_AT_ONCE_MAX)) {
        rdbWriteLength(w, text.len);
        rdbWriteBytes(w, text);
        return;
    }
    char *at = putLength(rdbWriterReserve(w, LENGTH_BYTES_MAX + text.len), text.len);
    memcpy(at, text.ptr, text.len);
    w->at = at + text.len;
}

void rdbWriteString(rdbWriter *w, slice text) {
    long long number;
    if (text.len <= INTEGER_DIGITS_MAX) {
        if (string2ll(text.ptr, text.len, &number) && fitsInteger(number)) {
            writeInteger(w, number);
            return;
        }
    } else if (w->compress && text.len > COMPRESS_ABOVE && writeCompressed(w, text)) {
        return;
    }
    writeText(w, text);
}

void rdbWriteStringObject(rdbWriter *w, const robj *o) {
    char digits[LONG_STR_SIZE];
    if (o->encoding == OBJ_ENC_INT && fitsInteger(objectInteger(o))) writeInteger(w, objectInteger(o));
    else rdbWriteString(w, objectString(o, digits));
}

void rdbWriteMs(rdbWriter *w, int64_t ms) {
    char *at = rdbWriterReserve(w, sizeof(ms));
    storeLe64(at, (uint64_t)ms);
    w->at = at + sizeof(ms);
}

void rdbWriteDouble(rdbWriter *w, double d) {
    int64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    rdbWriteMs(w, bits);
}

/* ---- Reading ---- */

static bool rdbStringTake(rdbReader *r, size_t n, const unsigned char **at) {
    if ((size_t)(r->end - r->p) < n) return false;
    *at = (const unsigned char *)r->p;
    r->p += n;
    return true;
}

bool rdbReadLength(rdbReader *r, uint64_t *len, bool *encoded) {
    const unsigned char *at;
    *encoded = false;
    if (!rdbStringTake(r, 1, &at)) return false;
    unsigned head = *at;
    switch (head & 0xc0) {
    case LEN_6BIT: *len = head & 0x3f; return true;
    case LEN_14BIT:
        if (!rdbStringTake(r, 1, &at)) return false;
        *len = (uint64_t)(head & 0x3f) << 8 | *at;
        return true;
    case LEN_ENCODED:
        *encoded = true;
        *len = head & 0x3f;
        return true;
    default: break;
    }
    if (head == LEN_32BIT) {
        if (!rdbStringTake(r, 4, &at)) return false;
        *len = __builtin_bswap32(loadLe32(at));
        return true;
    }
    if (head != LEN_64BIT || !rdbStringTake(r, 8, &at)) return false;
    *len = __builtin_bswap64(loadLe64(at));
    return true;
}

static bool readInteger(rdbReader *r, uint64_t encoding, rdbText *out) {
    const unsigned char *at;
    if (!rdbStringTake(r, (size_t)1 << encoding, &at)) return false;
    out->is_integer = true;
    if (encoding == ENCODING_INT8) out->integer = (int8_t)*at;
    else if (encoding == ENCODING_INT16) out->integer = (int16_t)loadLe16(at);
    else out->integer = (int32_t)loadLe32(at);
    return true;
}

static bool readCompressed(rdbReader *r, rdbText *out) {
    uint64_t packed_len, len;
    bool encoded;
    const unsigned char *packed;
    if (!rdbReadLength(r, &packed_len, &encoded) || encoded) return false;
    if (!rdbReadLength(r, &len, &encoded) || encoded) return false;
    if (!rdbStringTake(r, packed_len, &packed)) return false;
    if (len == 0) {
        out->text = sliceOf("", 0);
        return true;
    }
    if (packed_len == 0 || packed_len > UINT_MAX || len > UINT_MAX) return false;
    if (len / LZF_EXPANSION_MAX > packed_len) return false;
    out->block = ztrymalloc(len);
    if (!out->block) return false;
    out->text = sliceOf(out->block, len);
    if (lzf_decompress(packed, (unsigned)packed_len, out->block, (unsigned)len) == len) return true;
    zfree(out->block);
    return false;
}

/* Reads a string other than the digits of an integer. */
static bool readString(rdbReader *r, rdbText *out) {
    uint64_t len;
    bool encoded;
    const unsigned char *at;
    out->block = NULL;
    out->is_integer = false;
    if (!rdbReadLength(r, &len, &encoded)) return false;
    if (encoded) {
        if (len <= ENCODING_INT32) return readInteger(r, len, out);
        return len == ENCODING_LZF && readCompressed(r, out);
    }
    if (!rdbStringTake(r, len, &at)) return false;
    out->text = sliceOf(at, len);
    return true;
}

bool rdbReadText(rdbReader *r, rdbText *out) {
    if (!readString(r, out)) return false;
    if (out->is_integer) out->text = sliceOf(out->digits, ll2string(out->digits, out->integer));
    return true;
}

#define RESERVE_BYTES_MIN ((size_t)1 << 20)

bool rdbReserveFor(size_t bytes) {
    /* Adds what the allocator may round up: at most a quarter. */
    return likely(bytes < RESERVE_BYTES_MIN) || zmallocReserve(bytes + bytes / 4);
}

void rdbTextFree(rdbText *t) {
    zfree(t->block);
    t->block = NULL;
}

uint8_t *rdbTextTakeListpack(rdbText *t) {
    const uint8_t *bytes = (const uint8_t *)t->text.ptr;
    uint8_t *lp = NULL;
    if (listpackValidate(bytes, t->text.len, true, NULL, NULL)) {
        lp = t->block ? listpackOfBlockTake(t->block) : listpackDup(bytes);
        t->block = NULL;
    }
    rdbTextFree(t);
    return lp;
}

uint8_t *rdbReadListpack(rdbReader *r, uint8_t *(*convert)(const uint8_t *bytes, size_t len)) {
    rdbText t;
    if (!rdbReadText(r, &t)) return NULL;
    if (!convert) return rdbTextTakeListpack(&t);
    uint8_t *lp = convert((const uint8_t *)t.text.ptr, t.text.len);
    rdbTextFree(&t);
    return lp;
}

robj *rdbReadStringObject(rdbReader *r, slice key, bool with_expire) {
    rdbText s;
    if (!readString(r, &s)) return NULL;
    if (s.is_integer) return objectCreateInteger(key, s.integer, with_expire, object_main_owner);
    if (s.block && s.text.len > OWN_BLOCK_ABOVE)
        return objectCreateFromBlockTake(key, s.block, s.text.len, object_main_owner);
    robj *o = objectCreateString(key, s.text, with_expire, object_main_owner);
    rdbTextFree(&s);
    return o;
}

bool rdbReadCount(rdbReader *r, uint64_t *count) {
    bool encoded;
    return rdbReadLength(r, count, &encoded) && !encoded;
}

bool rdbReadMs(rdbReader *r, int64_t *ms) {
    const unsigned char *at;
    if (!rdbStringTake(r, sizeof(*ms), &at)) return false;
    *ms = (int64_t)loadLe64(at);
    return true;
}

bool rdbReadDouble(rdbReader *r, double *d) {
    int64_t bits;
    if (!rdbReadMs(r, &bits)) return false;
    memcpy(d, &bits, sizeof(*d));
    return !isnan(*d);
}
