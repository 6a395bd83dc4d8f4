/* heavy_hitters.h -- the keys with the most weight in a stream of keys with weights, in fixed memory.
 *
 * A key is known by its 64-bit hash; two keys of the same hash are one. What is told of a key is never less than its
 * true weight. It is exact while there have been no more than HEAVY_KEYS different keys; the .c file says how far it
 * may be off after that.
 *
 * Threads     one writer. Another thread may read meanwhile: one at a time, which is for the callers to see to.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HEAVY_HITTERS_H
#define DS_HEAVY_HITTERS_H

#include "sds.h"

typedef struct heavyHitters heavyHitters;

#define HEAVY_KEYS 128                    /* that are kept by name */
#define HEAVY_KEY_LEN_MAX (32 * 1024)     /* a longer key counts, and is not kept */
#define HEAVY_KEY_BYTES_MAX (1024 * 1024) /* all that are kept together: likewise */

/* Some 140 KB. NULL: no memory. */
heavyHitters *heavyHittersTryCreate(void) must_check;
/* No reader and no writer any more. NULL is fine. */
void heavyHittersFree(heavyHitters *h);
/* Writer: the key, whose hash is given, has so much weight more. */
void heavyHittersAdd(heavyHitters *h, uint64_t hash, slice key, uint64_t weight);
/* The writer of `into`: add all that `from` has counted, which nobody writes or reads any more. */
void heavyHittersFold(heavyHitters *into, const heavyHitters *from);
/* All weight that was added. Writer or reader. */
uint64_t heavyHittersTotal(const heavyHitters *h);
/* Bytes of memory. Writer or reader. */
size_t heavyHittersMemory(const heavyHitters *h);

typedef struct heavyKey {
    sds key; /* owns */
    uint64_t weight;
} heavyKey;
/* Reader: the keys with the most weight in all of `n` streams together, most first, keys of equal weight in the order
 * of their bytes; at most `max` of them. Their number. Takes time in proportion to n and max, not to what has been
 * counted. */
size_t heavyHittersTop(heavyHitters *const *of, size_t n, heavyKey *out, size_t max);
void heavyKeysFree(heavyKey *keys, size_t n);

#endif
