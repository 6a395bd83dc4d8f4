/* digest.c -- SHA-1 over ordered and unordered parts.
 *
 * Not here    the content of a type (its own file); the digest of a whole dataset (admin/debug_data.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "digest.h"

#include "slice.h"
#include "hash.h"
#include "object_internal.h"
#include "panic.h"

static digest sha1(slice bytes) {
    char hex[2 * DIGEST_BYTES + 1];
    digest d;
    sha1Hex(hex, bytes.ptr, bytes.len);
    for (int i = 0; i < DIGEST_BYTES; i++) d.bytes[i] = (uint8_t)(hexDigit(hex[2 * i]) << 4 | hexDigit(hex[2 * i + 1]));
    return d;
}

void digestXor(digest *d, slice bytes) {
    digest other = sha1(bytes);
    for (int i = 0; i < DIGEST_BYTES; i++) d->bytes[i] ^= other.bytes[i];
}

void digestMix(digest *d, slice bytes) {
    digestXor(d, bytes);
    *d = sha1(sliceOf(d->bytes, DIGEST_BYTES));
}

void digestMixNumber(digest *d, uint32_t n) {
    uint32_t big_endian = __builtin_bswap32(n);
    digestMix(d, sliceOf(&big_endian, sizeof(big_endian)));
}

void digestMixValue(digest *d, const robj *o) {
    digestMixNumber(d, o->type);
    if (o->type == OBJ_STRING) {
        char buf[LONG_STR_SIZE];
        digestMix(d, objectString(o, buf));
    } else {
        const objectTypeOps *ops = objectOps(o->type);
        serverAssert(ops && ops->digest);
        ops->digest(objectStructure(o), o->encoding, d);
    }
    if (objectExpire(o) != -1) digestXor(d, sliceStr("!!expire!!"));
}
