/* digest.h -- a value as 20 bytes that are the same on every server that holds the same data, whatever its order.
 *
 *   xor(d, bytes)   d ^= SHA1(bytes)               of parts without order
 *   mix(d, bytes)   xor(d, bytes); d = SHA1(d)     of parts in order
 *   value           mix(type, 4 bytes big-endian), its content, xor("!!expire!!") if it has an expire
 *
 * A type digests its content by its own rule, which is part of what clients see (DEBUG DIGEST, DIGEST-VALUE).
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_DIGEST_H
#define OBJECT_DIGEST_H

#include "object.h"

#define DIGEST_BYTES 20

typedef struct digest {
    uint8_t bytes[DIGEST_BYTES];
} digest;

void digestXor(digest *d, slice bytes);
void digestMix(digest *d, slice bytes);
void digestMixNumber(digest *d, uint32_t n); /* 4 bytes, big-endian */
/* Mix in a value with its type and whether it has an expire. */
void digestMixValue(digest *d, const robj *o);

#endif
