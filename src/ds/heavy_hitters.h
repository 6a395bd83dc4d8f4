/* heavy_hitters.h -- the keys with the most weight in a stream of keys with weights, in fixed memory.
 *
 * A key is identified by its 64-bit hash; two keys with the same hash count as one. The weight reported is never less
 * than the true one. It is exact while there have been no more than HEAVY_KEYS different keys; the .c file says how far
 * it may be off after that.
 *
 * Threads     one writer. One other thread at a time may read meanwhile; callers ensure that.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HEAVY_HITTERS_H
#define DS_HEAVY_HITTERS_H

#include "sds.h"

typedef struct heavyHitters heavyHitters;

#define HEAVY_KEYS 128                    /* keys that are kept by name */
#define HEAVY_KEY_LEN_MAX (32 * 1024)     /* a longer key is counted, but not kept by name */
#define HEAVY_KEY_BYTES_MAX (1024 * 1024) /* bytes of all keys kept; beyond it, new ones are only counted */

/* Allocates some 140 KB. Returns NULL if there is no memory. */
heavyHitters *heavyHittersTryCreate(void) must_check;
/* Frees it, when neither a reader nor a writer uses it. NULL is allowed. */
void heavyHittersFree(heavyHitters *h);
/* For the writer: adds `weight` to the key, whose hash is given. */
void heavyHittersAdd(heavyHitters *h, uint64_t hash, slice key, uint64_t weight);
/* For the writer of `into`: adds all that `from` has counted; no thread writes or reads `from` any more. */
void heavyHittersFold(heavyHitters *into, const heavyHitters *from);
/* Returns the weight of all keys. For the writer or the reader. */
uint64_t heavyHittersTotal(const heavyHitters *h);
/* Returns the bytes of memory used. For the writer or the reader. */
size_t heavyHittersMemory(const heavyHitters *h);

typedef struct heavyKey {
    sds key; /* owns */
    uint64_t weight;
} heavyKey;
/* For the reader: writes the keys with the most weight in all `n` structures together, heaviest first, keys of equal
 * weight in the order of their bytes, at most `max`; returns their number. Takes time in proportion to n and max. Free
 * them by heavyKeysFree(). */
size_t heavyHittersTop(heavyHitters *const *of, size_t n, heavyKey *out, size_t max);
void heavyKeysFree(heavyKey *keys, size_t n);

#endif
