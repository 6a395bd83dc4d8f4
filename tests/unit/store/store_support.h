/* store_support.h -- what the tests of this layer share: databases, keys, observers that count.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_STORE_SUPPORT_H
#define TESTS_STORE_SUPPORT_H

#include "db.h"
#include "unit.h"

#define TEST_DBS 4

/* What observers have heard since storeReset(). */
typedef struct heard {
    int modified, by_command, events, expired, evicted, new, miss, removed, removed_by_eviction;
    int flushed, flushed_id, swapped, swapped_ids;
    size_t swapped_first_size; /* before the swap */
    char last_key[64];
} heard;
extern heard ears;
/* The dataset stands still: false after storeReset(). */
extern bool stand_still;

/* Makes the databases at the first call; empties them, restores settings, time (1,000,000 ms) and counters at each. */
void storeReset(void);
/* A key "prefixN"; the text lives until the next call but seven. */
hashedKey keyN(const char *prefix, long n);
hashedKey keyOf(const char *name);
/* A string entry "valueN" padded to `len` bytes. */
robj *stringEntry(hashedKey key, long n, size_t len);

#endif
