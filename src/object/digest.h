/* digest.h -- a digest of a value, 20 bytes, equal on all servers with the same data, whatever its order.
 *
 *   xor(d, bytes)   d ^= SHA1(bytes)               of unordered parts
 *   mix(d, bytes)   xor(d, bytes); d = SHA1(d)     of ordered parts
 *   value           mix(type, 4 bytes big-endian), its content, xor("!!expire!!") if it has an expire
 *
 * Each type digests its content by its own rule, which clients can see (DEBUG DIGEST, DIGEST-VALUE).
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_DIGEST_H
#define OBJECT_DIGEST_H

#include "object.h"

#define DIGEST_BYTES 20

typedef struct digest {
    uint8_t bytes[DIGEST_BYTES];
} digest;

void digestXor(digest *d, slice bytes);      /* for unordered parts */
void digestMix(digest *d, slice bytes);      /* for ordered parts */
void digestMixNumber(digest *d, uint32_t n); /* 4 bytes, big-endian */
/* Mixes in a value with its type and whether it has an expire. */
void digestMixValue(digest *d, const robj *o);

#endif
