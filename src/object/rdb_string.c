/* rdb_string.c -- RDB's lengths and strings, to bytes and back.
 *
 * What comes in crossed a trust line (RESTORE, a file): every length is checked against the bytes that are there before
 * anything is allocated for it.
 *
 * Not here    value types, versions, checksums (rdb_value.c and whoever frames a payload).
 * Owns        nothing.
 * Threads     any.
 * Invariants  1. Output equals the reference server's to the byte, compressed or not.
 *             2. Reading allocates at most LZF_EXPANSION_MAX times what was given, and what cannot be had is bad input.
 * Tests       tests/unit/object/rdb_string_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_string.h"

#include "endian.h"
#include "zmalloc.h"

#include <limits.h>
#include <lzf.h>
#include <math.h>

enum { LEN_6BIT = 0x00, LEN_14BIT = 0x40, LEN_32BIT = 0x80, LEN_64BIT = 0x81, LEN_ENCODED = 0xc0 };
enum { ENCODING_INT8, ENCODING_INT16, ENCODING_INT32, ENCODING_LZF };

#define INTEGER_DIGITS_MAX 11 /* "-2147483648" */
#define COMPRESS_ABOVE 20
#define COMPRESS_SAVES_MIN 4
#define LZF_EXPANSION_MAX 264 /* bytes that one byte of input can stand for; in fact 3 are needed */
#define OWN_BLOCK_ABOVE 1024  /* a decompressed value of this size is no integer and never embedded */

/* ---- Writing ---- */

sds rdbCatLength(sds out, uint64_t len) {
    unsigned char head[9];
    size_t size;
    if (len < 1u << 6) {
        head[0] = (unsigned char)(LEN_6BIT | len);
        size = 1;
    } else if (len < 1u << 14) {
        head[0] = (unsigned char)(LEN_14BIT | len >> 8);
        head[1] = (unsigned char)len;
        size = 2;
    } else if (len <= UINT32_MAX) {
        head[0] = LEN_32BIT;
        storeLe32(head + 1, __builtin_bswap32((uint32_t)len));
        size = 5;
    } else {
        head[0] = LEN_64BIT;
        storeLe64(head + 1, __builtin_bswap64(len));
        size = 9;
    }
    return sdsCatLen(out, head, size);
}

static bool fitsInteger(long long value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static sds catInteger(sds out, long long value) {
    unsigned char bytes[5];
    uint32_t bits = (uint32_t)value;
    storeLe32(bytes + 1, bits);
    if (value >= INT8_MIN && value <= INT8_MAX) {
        bytes[0] = LEN_ENCODED | ENCODING_INT8;
        return sdsCatLen(out, bytes, 2);
    }
    if (value >= INT16_MIN && value <= INT16_MAX) {
        bytes[0] = LEN_ENCODED | ENCODING_INT16;
        return sdsCatLen(out, bytes, 3);
    }
    bytes[0] = LEN_ENCODED | ENCODING_INT32;
    return sdsCatLen(out, bytes, 5);
}

sds rdbCatCompressed(sds out, slice packed, size_t raw_bytes) {
    unsigned char head = LEN_ENCODED | ENCODING_LZF;
    out = sdsCatLen(out, &head, 1);
    out = rdbCatLength(out, packed.len);
    out = rdbCatLength(out, raw_bytes);
    return sdsCatSlice(out, packed);
}

/* NULL when compression does not pay: nothing was appended then. */
static sds catCompressed(sds out, slice text) {
    if (text.len > UINT_MAX) return NULL;
    unsigned room = (unsigned)text.len - COMPRESS_SAVES_MIN;
    char *packed = zmalloc(room);
    unsigned packed_len = lzf_compress(text.ptr, (unsigned)text.len, packed, room);
    out = packed_len ? rdbCatCompressed(out, sliceOf(packed, packed_len), text.len) : NULL;
    zfree(packed);
    return out;
}

static sds catText(sds out, slice text) {
    return sdsCatSlice(rdbCatLength(out, text.len), text);
}

sds rdbCatString(sds out, slice text, bool compress) {
    long long number;
    if (text.len <= INTEGER_DIGITS_MAX && string2ll(text.ptr, text.len, &number) && fitsInteger(number))
        return catInteger(out, number);
    if (compress && text.len > COMPRESS_ABOVE) {
        sds packed = catCompressed(out, text);
        if (packed) return packed;
    }
    return catText(out, text);
}

sds rdbCatStringObject(sds out, const robj *o, bool compress) {
    char digits[LONG_STR_SIZE];
    if (o->encoding == OBJ_ENC_INT && fitsInteger(objectInteger(o))) return catInteger(out, objectInteger(o));
    return rdbCatString(out, objectString(o, digits), compress);
}

sds rdbCatMs(sds out, int64_t ms) {
    char bytes[sizeof(ms)];
    storeLe64(bytes, (uint64_t)ms);
    return sdsCatLen(out, bytes, sizeof(bytes));
}

sds rdbCatDouble(sds out, double d) {
    int64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return rdbCatMs(out, bits);
}

/* ---- Reading ---- */

static bool take(rdbReader *r, size_t n, const unsigned char **at) {
    if ((size_t)(r->end - r->p) < n) return false;
    *at = (const unsigned char *)r->p;
    r->p += n;
    return true;
}

bool rdbReadLength(rdbReader *r, uint64_t *len, bool *encoded) {
    const unsigned char *at;
    *encoded = false;
    if (!take(r, 1, &at)) return false;
    unsigned head = *at;
    switch (head & 0xc0) {
    case LEN_6BIT: *len = head & 0x3f; return true;
    case LEN_14BIT:
        if (!take(r, 1, &at)) return false;
        *len = (uint64_t)(head & 0x3f) << 8 | *at;
        return true;
    case LEN_ENCODED:
        *encoded = true;
        *len = head & 0x3f;
        return true;
    default: break;
    }
    if (head == LEN_32BIT) {
        if (!take(r, 4, &at)) return false;
        *len = __builtin_bswap32(loadLe32(at));
        return true;
    }
    if (head != LEN_64BIT || !take(r, 8, &at)) return false;
    *len = __builtin_bswap64(loadLe64(at));
    return true;
}

static bool readInteger(rdbReader *r, uint64_t encoding, rdbText *out) {
    const unsigned char *at;
    if (!take(r, (size_t)1 << encoding, &at)) return false;
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
    if (!take(r, packed_len, &packed)) return false;
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

/* Without the digits of an integer. */
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
    if (!take(r, len, &at)) return false;
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
    /* And what the allocator rounds up to: a quarter at most. */
    return likely(bytes < RESERVE_BYTES_MIN) || zmallocReserve(bytes + bytes / 4);
}

void rdbTextFree(rdbText *t) {
    zfree(t->block);
    t->block = NULL;
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
    if (!take(r, sizeof(*ms), &at)) return false;
    *ms = (int64_t)loadLe64(at);
    return true;
}

bool rdbReadDouble(rdbReader *r, double *d) {
    int64_t bits;
    if (!rdbReadMs(r, &bits)) return false;
    memcpy(d, &bits, sizeof(*d));
    return !isnan(*d);
}
