/* memory_prefetch.h -- find many keys in many dicts at once, so that their cache misses overlap.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_MEMORY_PREFETCH_H
#define DS_MEMORY_PREFETCH_H

#include "dict.h"

/* The maximum of lookups per call. */
#define DICT_PREFETCH_MAX 128

/* A key to look up. The caller sets the first group of fields; dictPrefetch() uses the second and sets `entry` to the
 * entry found, NULL if there is none. The result is a hint, valid until the dict changes. */
typedef struct dictLookup {
    const dict *d; /* borrowed; NULL or an empty dict is a miss */
    slice key;     /* borrowed until dictPrefetch() returns */
    uint64_t hash;
    bool skip_value; /* the caller will not read the value (a reply by reference) */

    const void *entry;
    const void *bucket;
    uint8_t state, table, candidates;
} dictLookup;

/* Looks up `n` keys (at most DICT_PREFETCH_MAX), interleaved. Changes nothing. */
void dictPrefetch(dictLookup *lookups, size_t n);

#endif
