/* memory_prefetch.h -- find many keys in many dicts at once, so that their cache misses overlap.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_MEMORY_PREFETCH_H
#define DS_MEMORY_PREFETCH_H

#include "dict.h"

/* Most lookups that one call may take. */
#define DICT_PREFETCH_MAX 128

/* One key to fetch. The caller fills the first block; the machine owns the second while it runs and leaves
 * `entry`: the entry found, NULL when there is none. It is a hint, valid until the dict changes. */
typedef struct dictLookup {
    const dict *d; /* borrowed; NULL or an empty dict is a miss */
    slice key;     /* borrowed until dictPrefetch() returns */
    uint64_t hash;
    bool skip_value; /* the caller will not touch the value (a reply by reference) */

    const void *entry;
    const void *bucket;
    uint8_t state, table, candidates;
} dictLookup;

/* Walk all `n` lookups (at most DICT_PREFETCH_MAX) through their dicts in turns. Changes nothing. */
void dictPrefetch(dictLookup *lookups, size_t n);

#endif
